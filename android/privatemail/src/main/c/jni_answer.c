/* SPDX-License-Identifier: Apache-2.0
 * Answers: begun, fed and finished under the client's lock, each call for itself. */
#include "jni_shim.h"

#include "privatemail_platform.h"

static jint matchesSize(JNIEnv *env, jclass native, jint capacity)
{
    (void)env, (void)native;
    return (jint)((size_t)capacity * sizeof(pml_match)) + PML_JNI_SLACK;
}

static jint answerBegin(JNIEnv *env, jclass native, jobject client, jobject memory, jobject features, jint first,
                        jint count, jint label, jint modality, jint scope, jobject matches, jint capacity)
{
    (void)native, (void)client;
    struct pml_jni_client *state = pml_jni_aligned(env, memory);
    const pml_query query = pml_jni_query(env, features, first, count, label, modality);
    const pml_ranking_config config = {.matches = pml_jni_aligned(env, matches),
                                       .capacity = (size_t)capacity,
                                       .scope = (pml_scope)scope,
                                       .substitute = state->substitute,
                                       .crowd = state->crowd,
                                       .kernels = pml_platform_kernels()};
    return pml_ranking_begin(&state->ranking, state + 1, state->ranking_size, state->pack, &query, &config);
}

/* By pieces through the stack: an array's own bytes could be had only by stopping the garbage collector. A range that
 * the array does not have leaves an exception pending: nothing is fed then, and the virtual machine is not called. */
static jint answerFeed(JNIEnv *env, jclass native, jobject client, jobject memory, jbyteArray bytes, jint first,
                       jint count)
{
    (void)native, (void)client;
    jbyte piece[4096];
    int status = PML_OK;
    while (count > 0 && status == PML_OK) {
        jint size = count < (jint)sizeof piece ? count : (jint)sizeof piece;
        (*env)->GetByteArrayRegion(env, bytes, first, size, piece);
        if ((*env)->ExceptionCheck(env))
            break;
        status = pml_ranking_feed(pml_jni_ranking_of(env, memory), piece, (size_t)size);
        first += size;
        count -= size;
    }
    return status;
}

static jint answerFinish(JNIEnv *env, jclass native, jobject client, jobject memory, jlongArray out, jdoubleArray share)
{
    (void)native, (void)client;
    pml_answer_summary summary;
    int status = pml_ranking_finish(pml_jni_ranking_of(env, memory), &summary);
    if (status == PML_OK) {
        const jlong numbers[] = {(jlong)summary.found, (jlong)summary.carried, (jlong)summary.gallery,
                                 (jlong)summary.bytes};
        const jdouble part = (jdouble)summary.carried / (jdouble)summary.gallery;
        (*env)->SetLongArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
        (*env)->SetDoubleArrayRegion(env, share, 0, 1, &part);
    }
    return status;
}

static void answerMatch(JNIEnv *env, jclass native, jobject matches, jint index, jlongArray out)
{
    (void)native;
    const pml_match *match = (const pml_match *)pml_jni_aligned(env, matches) + index;
    const jlong numbers[] = {(jlong)match->item,           match->label,       match->slot, match->score,
                             (jlong)match->payload_offset, match->payload_size};
    (*env)->SetLongArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
}

#define CLIENT "(Lorg/privatemail/Client;Ljava/nio/ByteBuffer;"

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(matchesSize, "(I)I")},
    {PML_JNI_METHOD(answerBegin, CLIENT "Ljava/nio/FloatBuffer;IIIIILjava/nio/ByteBuffer;I)I")},
    {PML_JNI_METHOD(answerFeed, CLIENT "[BII)I")},
    {PML_JNI_METHOD(answerFinish, CLIENT "[J[D)I")},
    {PML_JNI_METHOD(answerMatch, "(Ljava/nio/ByteBuffer;I[J)V")},
};

jint pml_jni_register_answer(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
