/* SPDX-License-Identifier: Apache-2.0
 * Entry of the library, and the calls that need no object. */
#include "jni_shim.h"

#include <string.h>

jmethodID pml_jni_persist;

static jstring version(JNIEnv *env, jclass native)
{
    (void)native;
    return (*env)->NewStringUTF(env, pml_version());
}

static jstring statusText(JNIEnv *env, jclass native, jint status)
{
    (void)native;
    return (*env)->NewStringUTF(env, pml_status_text(status));
}

static jdouble curve(JNIEnv *env, jclass native, jdouble epsilon, jdouble share)
{
    (void)env, (void)native;
    return pml_recall_ceiling(epsilon, share);
}

static jdouble curveEpsilon(JNIEnv *env, jclass native, jdouble share, jdouble probability)
{
    (void)env, (void)native;
    return pml_epsilon_for(probability, share);
}

static void wipe(JNIEnv *env, jclass native, jobject buffer, jint bytes)
{
    (void)native;
    void *address = (*env)->GetDirectBufferAddress(env, buffer);
    memset(address, 0, (size_t)bytes);
    __asm__ volatile("" : : "r"(address) : "memory"); /* the zeros are read, for all the compiler knows */
}

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(version, "()Ljava/lang/String;")},
    {PML_JNI_METHOD(statusText, "(I)Ljava/lang/String;")},
    {PML_JNI_METHOD(curve, "(DD)D")},
    {PML_JNI_METHOD(curveEpsilon, "(DD)D")},
    {PML_JNI_METHOD(wipe, "(Ljava/nio/Buffer;I)V")},
};

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    void *pointer = NULL;
    if ((*vm)->GetEnv(vm, &pointer, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    JNIEnv *env = pointer;
    jclass native = (*env)->FindClass(env, "org/privatemail/Native");
    if (!native)
        return JNI_ERR;
    pml_jni_persist = (*env)->GetStaticMethodID(env, native, "persist", "(Lorg/privatemail/Budget;[B)V");
    bool complete = pml_jni_persist && PML_JNI_REGISTER(env, native, methods) == 0 &&
                    pml_jni_register_pack(env, native) == 0 && pml_jni_register_budget(env, native) == 0 &&
                    pml_jni_register_client(env, native) == 0 && pml_jni_register_answer(env, native) == 0 &&
                    pml_jni_register_crowd(env, native) == 0 && pml_jni_register_file(env, native) == 0 &&
                    pml_jni_register_seal(env, native) == 0 && pml_jni_register_head(env, native) == 0;
    (*env)->DeleteLocalRef(env, native);
    return complete ? JNI_VERSION_1_6 : JNI_ERR;
}
