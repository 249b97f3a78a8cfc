/* SPDX-License-Identifier: Apache-2.0
 * Sealed messages and their answers, for systems whose javax.crypto lacks a part of it. Arrays have the lengths that
 * NativeSealer gives them. */
#include "jni_shim.h"

#include "privatemail_transport.h"

#include <string.h>

/* ---- messages ---- */

static int given(void *context, uint8_t *out, size_t size)
{
    memcpy(out, context, size);
    return 0;
}

static void wipe(void *bytes, size_t size)
{
    memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static jint messageSeal(JNIEnv *env, jclass native, jbyte id, jbyteArray public_key, jlong epoch, jbyteArray pack,
                        jbyteArray release, jbyteArray ephemeral, jbyteArray message, jbyteArray secret,
                        jbyteArray encapsulated)
{
    (void)native;
    enum { LONGEST = 1024 }; /* messages of a crowd are far shorter */
    pml_seal_key key = {.id = (uint8_t)id, .aead = PML_AEAD_CHACHA20_POLY1305};
    uint8_t pack_id[PML_ID_SIZE], random[PML_KEY_SIZE], in[LONGEST], out[LONGEST];
    pml_opener opener;
    jsize in_size = (*env)->GetArrayLength(env, release), size = (*env)->GetArrayLength(env, message);
    if (in_size > LONGEST || size > LONGEST)
        return PML_ERROR_BUFFER;
    (*env)->GetByteArrayRegion(env, public_key, 0, sizeof key.public_key, (jbyte *)key.public_key);
    (*env)->GetByteArrayRegion(env, pack, 0, sizeof pack_id, (jbyte *)pack_id);
    (*env)->GetByteArrayRegion(env, release, 0, in_size, (jbyte *)in);
    (*env)->GetByteArrayRegion(env, ephemeral, 0, sizeof random, (jbyte *)random);
    pml_status status = pml_message_seal(pml_crypto_bearssl(), &key, (uint64_t)epoch, pack_id, in, (size_t)in_size,
                                         given, random, out, (size_t)size, &opener);
    (*env)->SetByteArrayRegion(env, message, 0, size, (const jbyte *)out);
    (*env)->SetByteArrayRegion(env, secret, 0, sizeof opener.secret, (const jbyte *)opener.secret);
    (*env)->SetByteArrayRegion(env, encapsulated, 0, sizeof opener.enc, (const jbyte *)opener.enc);
    pml_opener_wipe(&opener);
    wipe(random, sizeof random);
    wipe(in, sizeof in);
    return status;
}

/* ---- answers ---- */

struct opening {
    pml_open open;
    uint8_t buffer[PML_OPEN_BUFFER];
};

static jint openSize(JNIEnv *env, jclass native)
{
    (void)env, (void)native;
    return (jint)sizeof(struct opening) + PML_JNI_SLACK;
}

static jint openBegin(JNIEnv *env, jclass native, jobject memory, jbyteArray secret, jbyteArray encapsulated,
                      jlong size)
{
    (void)native;
    struct opening *opening = pml_jni_aligned(env, memory);
    pml_opener opener = {.aead = PML_AEAD_CHACHA20_POLY1305};
    (*env)->GetByteArrayRegion(env, secret, 0, sizeof opener.secret, (jbyte *)opener.secret);
    (*env)->GetByteArrayRegion(env, encapsulated, 0, sizeof opener.enc, (jbyte *)opener.enc);
    pml_status status = pml_open_begin(&opening->open, pml_crypto_bearssl(), &opener, opening->buffer,
                                       sizeof opening->buffer, (uint64_t)size);
    pml_opener_wipe(&opener);
    return status;
}

enum { PIECE = 4096 }; /* OPEN_PIECE; with the end of one chunk and the whole of the next twice as much comes out */

struct content {
    size_t size;
    uint8_t bytes[2 * PIECE];
};

static pml_status keep(void *context, const uint8_t *bytes, size_t size)
{
    struct content *content = context;
    if (size > sizeof content->bytes - content->size)
        return PML_ERROR_BUFFER;
    memcpy(content->bytes + content->size, bytes, size);
    content->size += size;
    return PML_OK;
}

static jint openFeed(JNIEnv *env, jclass native, jobject memory, jbyteArray bytes, jint count, jbyteArray out)
{
    (void)native;
    struct opening *opening = pml_jni_aligned(env, memory);
    struct content content = {.size = 0};
    jbyte piece[PIECE];
    if (count < 0 || count > PIECE)
        return PML_ERROR_ARGUMENT;
    (*env)->GetByteArrayRegion(env, bytes, 0, count, piece);
    pml_status status = pml_open_feed(&opening->open, piece, (size_t)count, keep, &content);
    if (status == PML_OK)
        (*env)->SetByteArrayRegion(env, out, 0, (jsize)content.size, (const jbyte *)content.bytes);
    return status == PML_OK ? (jint)content.size : status;
}

static jint openStatus(JNIEnv *env, jclass native, jobject memory)
{
    (void)native;
    return (jint)pml_open_status(&((struct opening *)pml_jni_aligned(env, memory))->open);
}

static jint openEnd(JNIEnv *env, jclass native, jobject memory)
{
    (void)native;
    unsigned status;
    return pml_open_end(&((struct opening *)pml_jni_aligned(env, memory))->open, &status);
}

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(messageSeal, "(B[BJ[B[B[B[B[B[B)I")},
    {PML_JNI_METHOD(openSize, "()I")},
    {PML_JNI_METHOD(openBegin, "(Ljava/nio/ByteBuffer;[B[BJ)I")},
    {PML_JNI_METHOD(openFeed, "(Ljava/nio/ByteBuffer;[BI[B)I")},
    {PML_JNI_METHOD(openStatus, "(Ljava/nio/ByteBuffer;)I")},
    {PML_JNI_METHOD(openEnd, "(Ljava/nio/ByteBuffer;)I")},
};

jint pml_jni_register_seal(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
