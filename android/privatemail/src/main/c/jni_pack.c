/* SPDX-License-Identifier: Apache-2.0
 * Packs: opened once, read by everybody. */
#include "jni_shim.h"

#include "privatemail_platform.h"

#include <string.h>

static jint packSize(JNIEnv *env, jclass native)
{
    (void)env, (void)native;
    return (jint)sizeof(pml_pack) + PML_JNI_SLACK;
}

static jint packOpen(JNIEnv *env, jclass native, jobject view, jobject bytes, jint size, jbyteArray pinned_id)
{
    (void)native;
    jbyte id[PML_ID_SIZE];
    if (pinned_id)
        (*env)->GetByteArrayRegion(env, pinned_id, 0, sizeof id, id);
    /* Java compares the model's name: it has both as text, and its texts may hold what a C string cannot. */
    return pml_pack_open_with(pml_jni_aligned(env, view), (*env)->GetDirectBufferAddress(env, bytes), (size_t)size,
                              pinned_id ? (const uint8_t *)id : NULL, NULL, pml_platform_kernels());
}

static void packDescribe(JNIEnv *env, jclass native, jobject view, jbyteArray id, jintArray out)
{
    (void)native;
    pml_pack_info info;
    if (pml_pack_describe(pml_jni_aligned(env, view), &info) != PML_OK)
        return;
    const jint numbers[] = {(jint)info.features, (jint)info.slots,   (jint)info.dimensions,
                            (jint)info.cells,    (jint)info.classes, (jint)info.labels};
    (*env)->SetByteArrayRegion(env, id, 0, PML_ID_SIZE, (const jbyte *)info.id);
    (*env)->SetIntArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
}

/* As bytes: what JNI calls UTF-8 has another form of the characters above U+FFFF. */
static jbyteArray packModel(JNIEnv *env, jclass native, jobject view)
{
    (void)native;
    const char *name = pml_pack_model(pml_jni_aligned(env, view));
    jsize length = (jsize)strlen(name);
    jbyteArray bytes = (*env)->NewByteArray(env, length);
    if (bytes)
        (*env)->SetByteArrayRegion(env, bytes, 0, length, (const jbyte *)name);
    return bytes;
}

/* Modalities have names in ASCII. */
static jstring packModality(JNIEnv *env, jclass native, jobject view, jint index, jintArray out)
{
    (void)native;
    pml_modality modality;
    if (pml_pack_modality(pml_jni_aligned(env, view), (size_t)index, &modality) != PML_OK)
        return NULL;
    const jint numbers[] = {(jint)modality.features, (jint)modality.kind, modality.root};
    (*env)->SetIntArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
    return (*env)->NewStringUTF(env, modality.name);
}

static jint rows(JNIEnv *env, jclass native, jobject pack, jobject view, jobject release, jint size, jobject floats,
                 jint capacity)
{
    (void)native, (void)pack;
    return pml_release_rows(pml_jni_aligned(env, view), (*env)->GetDirectBufferAddress(env, release), (size_t)size,
                            (*env)->GetDirectBufferAddress(env, floats), (size_t)capacity);
}

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(packSize, "()I")},
    {PML_JNI_METHOD(packOpen, "(Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;I[B)I")},
    {PML_JNI_METHOD(packDescribe, "(Ljava/nio/ByteBuffer;[B[I)V")},
    {PML_JNI_METHOD(packModel, "(Ljava/nio/ByteBuffer;)[B")},
    {PML_JNI_METHOD(packModality, "(Ljava/nio/ByteBuffer;I[I)Ljava/lang/String;")},
    {PML_JNI_METHOD(rows,
                    "(Lorg/privatemail/Pack;Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;ILjava/nio/FloatBuffer;I)I")},
};

jint pml_jni_register_pack(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
