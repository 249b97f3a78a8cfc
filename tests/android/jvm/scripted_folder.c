/* SPDX-License-Identifier: Apache-2.0
 * Stands before fsync in the tests' library alone: sees what a folder holds when it is flushed, and fails to order. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <jni.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Changed and looked at by one thread. */
static struct {
    char name[256];
    long flushed; /* bytes that the file had when its folder was last flushed; -1: there was none, or no flush */
    bool fails;
} script;

int __real_fsync(int file);
int __wrap_fsync(int file);

int __wrap_fsync(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISDIR(status.st_mode))
        return __real_fsync(file);
    if (script.fails) {
        errno = EIO;
        return -1;
    }
    script.flushed = fstatat(file, script.name, &status, 0) == 0 ? (long)status.st_size : -1;
    return __real_fsync(file);
}

JNIEXPORT void JNICALL Java_org_privatemail_ScriptedFolder_watch(JNIEnv *env, jclass type, jbyteArray name,
                                                                 jboolean fails);
JNIEXPORT jlong JNICALL Java_org_privatemail_ScriptedFolder_flushed(JNIEnv *env, jclass type);

JNIEXPORT void JNICALL Java_org_privatemail_ScriptedFolder_watch(JNIEnv *env, jclass type, jbyteArray name,
                                                                 jboolean fails)
{
    (void)type;
    jsize size = (*env)->GetArrayLength(env, name);
    (*env)->GetByteArrayRegion(env, name, 0, size, (jbyte *)script.name);
    script.name[size] = 0;
    script.flushed = -1;
    script.fails = fails == JNI_TRUE;
}

JNIEXPORT jlong JNICALL Java_org_privatemail_ScriptedFolder_flushed(JNIEnv *env, jclass type)
{
    (void)env, (void)type;
    return script.flushed;
}
