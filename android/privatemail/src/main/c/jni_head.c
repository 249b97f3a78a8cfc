/* SPDX-License-Identifier: Apache-2.0
 * Guesses of labels, and several looks at one photo. */
#include "jni_shim.h"

#include "privatemail_platform.h"

#include <string.h>

static jint guessSize(JNIEnv *env, jclass native, jobject pack, jobject view)
{
    (void)native, (void)pack;
    return (jint)pml_guess_size(pml_jni_aligned(env, view));
}

/* `out` gets label and score of each guess; the copies on the way are wiped. */
static jint guess(JNIEnv *env, jclass native, jobject pack, jobject view, jobject features, jint first, jint count,
                  jint modality, jobject memory, jint size, jlongArray out, jint wanted)
{
    (void)native, (void)pack;
    struct {
        pml_guess guesses[PML_GUESSES_MAX];
        jlong numbers[2 * PML_GUESSES_MAX];
    } copies;
    const pml_query query = pml_jni_query(env, features, first, count, 0, modality);
    int status =
        pml_pack_guess(pml_jni_aligned(env, view), pml_platform_kernels(), &query,
                       (*env)->GetDirectBufferAddress(env, memory), (size_t)size, copies.guesses, (size_t)wanted);
    for (jint i = 0; i < wanted && status == PML_OK; i++) {
        copies.numbers[2 * i] = copies.guesses[i].label;
        copies.numbers[2 * i + 1] = copies.guesses[i].score;
    }
    if (status == PML_OK)
        (*env)->SetLongArrayRegion(env, out, 0, 2 * wanted, copies.numbers);
    memset(&copies, 0, sizeof copies);
    __asm__ volatile("" : : "r"(&copies) : "memory"); /* the zeros are read, for all the compiler knows */
    return status;
}

/* The looks' memory: this, then what the library asks for. */
struct state {
    pml_looks *looks;
};

static pml_looks *looks_of(JNIEnv *env, jobject memory)
{
    return ((struct state *)pml_jni_aligned(env, memory))->looks;
}

static jint looksSize(JNIEnv *env, jclass native, jint features)
{
    (void)env, (void)native;
    const size_t size = pml_looks_size((size_t)features);
    return size == 0 ? 0 : (jint)(sizeof(struct state) + size) + PML_JNI_SLACK;
}

static jint looksBegin(JNIEnv *env, jclass native, jobject memory, jint features)
{
    (void)native;
    struct state *state = pml_jni_aligned(env, memory);
    return pml_looks_begin(&state->looks, state + 1, pml_looks_size((size_t)features), (size_t)features);
}

static jint looksAdd(JNIEnv *env, jclass native, jobject looks, jobject memory, jobject features, jint count)
{
    (void)native, (void)looks;
    return pml_looks_add(looks_of(env, memory), (*env)->GetDirectBufferAddress(env, features), (size_t)count);
}

static jint looksMean(JNIEnv *env, jclass native, jobject looks, jobject memory, jobject mean, jint count)
{
    (void)native, (void)looks;
    return pml_looks_mean(looks_of(env, memory), (*env)->GetDirectBufferAddress(env, mean), (size_t)count);
}

#define PACK "(Lorg/privatemail/Pack;Ljava/nio/ByteBuffer;"
#define LOOKS "(Lorg/privatemail/Looks;Ljava/nio/ByteBuffer;Ljava/nio/FloatBuffer;I)I"

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(guessSize, PACK ")I")},
    {PML_JNI_METHOD(guess, PACK "Ljava/nio/FloatBuffer;IIILjava/nio/ByteBuffer;I[JI)I")},
    {PML_JNI_METHOD(looksSize, "(I)I")},
    {PML_JNI_METHOD(looksBegin, "(Ljava/nio/ByteBuffer;I)I")},
    {PML_JNI_METHOD(looksAdd, LOOKS)},
    {PML_JNI_METHOD(looksMean, LOOKS)},
};

jint pml_jni_register_head(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
