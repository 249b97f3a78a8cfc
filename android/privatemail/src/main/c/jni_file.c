/* SPDX-License-Identifier: Apache-2.0
 * The file of a budget: replaced as a whole, durably, and only if it still holds what it is believed to hold. And the
 * flush of a folder. In C, as Java on old phones can neither flush a folder nor lock against other processes without
 * holes. */
#define _XOPEN_SOURCE 700
#include "jni_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, NAME_SIZE = 256, SUFFIX_SIZE = 5 };

/* The folder, and the names of the budget, of its successor and of its lock within it. */
struct place {
    int folder;
    char name[NAME_SIZE], fresh[NAME_SIZE], lock[NAME_SIZE];
};

static int text_of(JNIEnv *env, jbyteArray bytes, char *out, jsize room)
{
    jsize size = (*env)->GetArrayLength(env, bytes);
    if (size >= room)
        return ENAMETOOLONG;
    (*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte *)out);
    out[size] = 0;
    return 0;
}

static int open_place(JNIEnv *env, jbyteArray folder, jbyteArray name, struct place *place)
{
    char path[PATH_SIZE];
    int error = text_of(env, folder, path, PATH_SIZE);
    if (error == 0)
        error = text_of(env, name, place->name, NAME_SIZE - SUFFIX_SIZE);
    if (error != 0)
        return error;
    size_t length = strlen(place->name);
    memcpy(place->fresh, place->name, length);
    memcpy(place->fresh + length, ".new", sizeof ".new");
    memcpy(place->lock, place->name, length);
    memcpy(place->lock + length, ".lock", sizeof ".lock");
    place->folder = open(path, O_RDONLY | O_CLOEXEC);
    return place->folder < 0 ? errno : 0;
}

/* ---- read ---- */

/* How many bytes of the file fit `out`, or a negative errno. */
static int read_file(const struct place *place, jbyte *out, size_t room)
{
    int file = openat(place->folder, place->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return -errno;
    size_t got = 0;
    int error = 0;
    while (got < room && error == 0) {
        ssize_t count = read(file, out + got, room - got);
        if (count == 0)
            break;
        if (count > 0)
            got += (size_t)count;
        else if (errno != EINTR)
            error = errno;
    }
    close(file);
    return error != 0 ? -error : (int)got;
}

static jint fileLoad(JNIEnv *env, jclass native, jbyteArray folder, jbyteArray name, jbyteArray out)
{
    (void)native;
    struct place place;
    jbyte bytes[PML_BUDGET_SIZE + 1];
    int error = open_place(env, folder, name, &place);
    if (error != 0)
        return -error;
    int size = read_file(&place, bytes, sizeof bytes);
    close(place.folder);
    if (size > 0)
        (*env)->SetByteArrayRegion(env, out, 0, size, bytes);
    return size;
}

/* ---- replace ---- */

static int write_all(int file, const jbyte *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count = write(file, bytes + done, size - done);
        if (count > 0)
            done += (size_t)count;
        else if (count == 0 || errno != EINTR)
            return count == 0 ? EIO : errno;
    }
    return fsync(file) == 0 ? 0 : errno;
}

/* What an earlier process left under the new name is overwritten: the lock is held. */
static int write_fresh(const struct place *place, const jbyte *bytes)
{
    int file = openat(place->folder, place->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return errno;
    int error = write_all(file, bytes, PML_BUDGET_SIZE);
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
}

static int flush(int folder)
{
    return fsync(folder) == 0 ? 0 : errno;
}

/* `before` has `size` bytes; negative: there must be no file. */
static int replace(const struct place *place, const jbyte *before, int size, const jbyte *next)
{
    jbyte found[PML_BUDGET_SIZE + 1];
    int there = read_file(place, found, sizeof found);
    if (there < 0 && there != -ENOENT)
        return -there;
    if (size < 0 ? there >= 0 : there != size || memcmp(found, before, (size_t)size) != 0)
        return ESTALE;
    int error = write_fresh(place, next);
    if (error == 0 && renameat(place->folder, place->fresh, place->folder, place->name) != 0)
        error = errno;
    if (error != 0) {
        unlinkat(place->folder, place->fresh, 0);
        return error;
    }
    return flush(place->folder);
}

/* The lock stays when all is done, empty: if it were removed, two processes could hold two of them. */
static int take_lock(const struct place *place)
{
    int lock = openat(place->folder, place->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0)
        return -errno;
    while (flock(lock, LOCK_EX) != 0) {
        int error = errno;
        if (error != EINTR) {
            close(lock);
            return -error;
        }
    }
    return lock;
}

static jint fileReplace(JNIEnv *env, jclass native, jbyteArray folder, jbyteArray name, jbyteArray before,
                        jbyteArray next)
{
    (void)native;
    struct place place;
    jbyte old[PML_BUDGET_SIZE + 1], bytes[PML_BUDGET_SIZE];
    jsize size = before ? (*env)->GetArrayLength(env, before) : -1;
    if (size > (jsize)sizeof old || (*env)->GetArrayLength(env, next) != (jsize)sizeof bytes)
        return EINVAL;
    if (before)
        (*env)->GetByteArrayRegion(env, before, 0, size, old);
    (*env)->GetByteArrayRegion(env, next, 0, sizeof bytes, bytes);
    int error = open_place(env, folder, name, &place);
    if (error != 0)
        return error;
    int lock = take_lock(&place);
    error = lock < 0 ? -lock : replace(&place, old, size, bytes);
    if (lock >= 0)
        close(lock);
    close(place.folder);
    return error;
}

/* ---- folders ---- */

static jint folderFlush(JNIEnv *env, jclass native, jbyteArray folder)
{
    (void)native;
    char path[PATH_SIZE];
    int error = text_of(env, folder, path, PATH_SIZE);
    if (error != 0)
        return error;
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        return errno;
    error = flush(opened);
    close(opened);
    return error;
}

/* ---- errors ---- */

static jboolean fileIsMissing(JNIEnv *env, jclass native, jint error)
{
    (void)env, (void)native;
    return error == ENOENT ? JNI_TRUE : JNI_FALSE;
}

/* Not strerror: of that, neither threads nor the encoding can be relied on. */
static jstring errorText(JNIEnv *env, jclass native, jint error)
{
    (void)native;
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        {EACCES, "permission denied"},
        {EDQUOT, "the quota of the disk is used up"},
        {EFBIG, "the file would be larger than allowed"},
        {EINVAL, "not a budget"},
        {EIO, "the disk failed"},
        {EISDIR, "it is a folder"},
        {ELOOP, "it is a link"},
        {ENAMETOOLONG, "the name is too long"},
        {ENOENT, "there is no such folder"},
        {ENOSPC, "the disk is full"},
        {EROFS, "the disk is read-only"},
        {ESTALE, "it was changed by somebody else"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].error == error)
            return (*env)->NewStringUTF(env, texts[i].text);
    return (*env)->NewStringUTF(env, "the system refused");
}

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(fileLoad, "([B[B[B)I")},
    {PML_JNI_METHOD(fileReplace, "([B[B[B[B)I")},
    {PML_JNI_METHOD(folderFlush, "([B)I")},
    {PML_JNI_METHOD(fileIsMissing, "(I)Z")},
    {PML_JNI_METHOD(errorText, "(I)Ljava/lang/String;")},
};

jint pml_jni_register_file(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
