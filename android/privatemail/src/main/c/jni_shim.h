/* SPDX-License-Identifier: Apache-2.0
 *
 * Between org.privatemail.Native and the C library: what the files of this folder share. Nothing is computed here and
 * nothing is allocated; all memory is in direct buffers that Java objects own, and which Java has measured. Statuses go
 * to Java as they are. Exceptions are those that a budget store threw, and those of the virtual machine: out of memory,
 * or a range that an array does not have. While one is pending, the virtual machine is called for nothing but the
 * release of a reference.
 */
#ifndef JNI_SHIM_H
#define JNI_SHIM_H

#include "privatemail.h"

#include <jni.h>

/* The parts of a method's entry in a table. ISO C knows no conversion of a function to void *, POSIX does. */
#define PML_JNI_METHOD(name, signature) #name, signature, __extension__(void *) name

/* Each file registers its own methods; 0, or negative with an exception pending. */
jint pml_jni_register_pack(JNIEnv *env, jclass native);
jint pml_jni_register_budget(JNIEnv *env, jclass native);
jint pml_jni_register_client(JNIEnv *env, jclass native);
jint pml_jni_register_answer(JNIEnv *env, jclass native);
jint pml_jni_register_crowd(JNIEnv *env, jclass native);
jint pml_jni_register_file(JNIEnv *env, jclass native);
jint pml_jni_register_seal(JNIEnv *env, jclass native);
jint pml_jni_register_head(JNIEnv *env, jclass native);

#define PML_JNI_REGISTER(env, native, methods)                                                                         \
    (*(env))->RegisterNatives(env, native, methods, (jint)(sizeof(methods) / sizeof *(methods)))

/* Room that makes up for a buffer's alignment, which may be any. */
enum { PML_JNI_SLACK = 7 };

static inline void *pml_jni_aligned(JNIEnv *env, jobject buffer)
{
    uintptr_t address = (uintptr_t)(*env)->GetDirectBufferAddress(env, buffer);
    return (void *)((address + PML_JNI_SLACK) & ~(uintptr_t)PML_JNI_SLACK);
}

/* A query whose features begin at element `first` of a buffer; they are NULL, which the library refuses, when no float
 * can lie there or there is no buffer. */
static inline pml_query pml_jni_query(JNIEnv *env, jobject buffer, jint first, jint count, jint label, jint modality)
{
    uintptr_t address = buffer ? (uintptr_t)(*env)->GetDirectBufferAddress(env, buffer) : 0;
    bool usable = address % _Alignof(float) == 0 && address != 0;
    return (pml_query){.features = usable ? (const float *)address + first : NULL,
                       .count = (size_t)count,
                       .label = label,
                       .modality = (uint32_t)modality};
}

/* The state of a client and of the answer it ranks: this, then the ranking's memory, then the client's. */
struct pml_jni_client {
    pml_client *client;
    pml_ranking *ranking; /* NULL before the first answer, and after one that did not begin */
    const pml_pack *pack;
    size_t ranking_size; /* 0 when the pack has no sketches */
    bool substitute, crowd;
    /* who to tell of a charge; set while arm or disarm runs */
    JNIEnv *env;
    jclass native;
    jobject budget;
};

static inline pml_client *pml_jni_client_of(JNIEnv *env, jobject memory)
{
    return ((struct pml_jni_client *)pml_jni_aligned(env, memory))->client;
}

static inline pml_ranking *pml_jni_ranking_of(JNIEnv *env, jobject memory)
{
    return ((struct pml_jni_client *)pml_jni_aligned(env, memory))->ranking;
}

/* Native.persist, looked up when the library is loaded. Valid as long as the class, and that as long as the library. */
extern jmethodID pml_jni_persist;

#endif
