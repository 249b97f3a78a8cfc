/* SPDX-License-Identifier: Apache-2.0
 * system.h by POSIX, and what Linux has beyond it. */
#define _GNU_SOURCE /* syncfs, flock, nftw */
#include "system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#define st_mtim st_mtimespec
#endif

#define CHUNK ((size_t)1 << 30) /* systems refuse larger reads and writes, or cut them */

static int at(int folder)
{
    return folder == PML_HERE ? AT_FDCWD : folder;
}

/* The descriptor that a call returned, which is −1 with errno when it failed. */
static int give(int descriptor, int *out)
{
    *out = descriptor;
    return descriptor >= 0 ? 0 : errno;
}

/* ---- what there is ---- */

static void tell(const struct stat *status, struct pml_found *found)
{
    *found = (struct pml_found){
        .kind = S_ISREG(status->st_mode)   ? PML_KIND_FILE
                : S_ISDIR(status->st_mode) ? PML_KIND_FOLDER
                : S_ISLNK(status->st_mode) ? PML_KIND_LINK
                                           : PML_KIND_OTHER,
        .size = (uint64_t)status->st_size,
        .names = (uint64_t)status->st_nlink,
        .device = (uint64_t)status->st_dev,
        .number = (uint64_t)status->st_ino,
        .changed_seconds = (int64_t)status->st_mtim.tv_sec,
        .changed_nanoseconds = (uint32_t)status->st_mtim.tv_nsec,
    };
}

int pml_system_look(int folder, const char *name, bool follow, struct pml_found *found)
{
    struct stat status;
    if (fstatat(at(folder), name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    tell(&status, found);
    return 0;
}

int pml_system_look_open(int file, struct pml_found *found)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return errno;
    tell(&status, found);
    return 0;
}

bool pml_system_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int pml_system_may_write(const char *path)
{
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

const bool pml_system_spells_names_in_many_ways = false;

#ifdef __APPLE__
const bool pml_system_ignores_case = true;
#else
const bool pml_system_ignores_case = false;
#endif

char *pml_system_real_path(const char *path)
{
    return realpath(path, NULL);
}

const char *pml_system_last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool pml_system_is_separator(char letter)
{
    return letter == '/';
}

bool pml_system_is_absolute(const char *path)
{
    return path[0] == '/';
}

/* ---- files ---- */

int pml_system_open(int folder, const char *name, bool follow, int *file)
{
    return give(openat(at(folder), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW)), file);
}

int pml_system_create(int folder, const char *name, bool hidden, const char *like, int *file)
{
    struct stat other;
    const bool taken_over = like && lstat(like, &other) == 0 && S_ISREG(other.st_mode);
    const mode_t mode = taken_over ? other.st_mode & 0777 : hidden ? 0600 : 0666;
    const mode_t first = taken_over ? mode & 0700 : mode; /* what others may do waits for the group */
    const int error = give(openat(at(folder), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, first), file);
    if (error == 0 && taken_over) { /* where one of these fails, the file has fewer permissions, never more */
        const bool same_group = fchown(*file, (uid_t)-1, other.st_gid) == 0;
        (void)!fchmod(*file, same_group ? mode : mode & 0707);
    }
    return error;
}

int pml_system_open_lock(int folder, const char *name, int *file)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    return give(openat(at(folder), name, flags, 0600), file);
}

int pml_system_lock(int file, enum pml_lock kind, bool wait)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int done;
    do
        done = kind == PML_LOCK_OF_FILE ? flock(file, LOCK_EX | (wait ? 0 : LOCK_NB))
                                        : fcntl(file, wait ? F_SETLKW : F_SETLK, &whole);
    while (done != 0 && errno == EINTR);
    return done == 0 ? 0 : kind == PML_LOCK_OF_PROCESS && (errno == EACCES || errno == EAGAIN) ? EWOULDBLOCK : errno;
}

int pml_system_read(int file, void *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        const size_t left = size - *got;
        const ssize_t count = read(file, (uint8_t *)bytes + *got, left < CHUNK ? left : CHUNK);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno;
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    return 0;
}

int pml_system_write(int file, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    while (size > 0) {
        const ssize_t written = write(file, from, size < CHUNK ? size : CHUNK);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        from += written;
        size -= (size_t)written;
    }
    return 0;
}

int pml_system_close(int file)
{
    return close(file) == 0 ? 0 : errno;
}

/* A folder that cannot be flushed, as on some file systems, needs no flush. A file that cannot is not on the disk. */
int pml_system_flush(int file)
{
    struct stat status;
#ifdef F_FULLFSYNC /* of Apple's systems, whose fsync leaves bytes in the disk's own memory */
    if (fcntl(file, F_FULLFSYNC) == 0)
        return 0;
#endif
    if (fsync(file) == 0)
        return 0;
    const int error = errno;
    const bool folder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
    return folder && (error == EINVAL || error == ENOTSUP) ? 0 : error;
}

#ifdef __linux__
const bool pml_system_flushes_together = true;

int pml_system_flush_together(int folder)
{
    return syncfs(folder) == 0 ? 0 : errno;
}
#else
const bool pml_system_flushes_together = false;

int pml_system_flush_together(int folder)
{
    (void)folder;
    return 0;
}
#endif

int pml_system_rename(int folder, const char *name, int other_folder, const char *other)
{
    return renameat(at(folder), name, at(other_folder), other) == 0 ? 0 : errno;
}

static int flush_folder_of(const char *path)
{
    const char *name = pml_system_last_name(path);
    char *text = strdup(path);
    int folder;
    if (!text)
        return ENOMEM;
    text[name - path] = 0;
    int error = give(open(name > path ? text : ".", O_RDONLY | O_CLOEXEC), &folder);
    free(text);
    if (error == 0) {
        error = pml_system_flush(folder);
        close(folder);
    }
    return error == EACCES ? 0 : error; /* a folder may be writable but not readable */
}

/* link refuses to replace, rename does not. Some file systems have no links; there we look before we rename. */
static int move(const char *from, const char *path, bool exclusive)
{
    if (exclusive) {
        if (link(from, path) == 0)
            return unlink(from) == 0 ? 0 : errno;
        if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK)
            return errno;
        if (pml_system_exists(path))
            return EEXIST;
    }
    return rename(from, path) == 0 ? 0 : errno;
}

int pml_system_commit(const char *from, const char *path, bool exclusive)
{
    const int error = move(from, path, exclusive);
    return error == 0 ? flush_folder_of(path) : error;
}

int pml_system_remove(int folder, const char *name)
{
    return unlinkat(at(folder), name, 0) == 0 ? 0 : errno;
}

/* ---- folders ---- */

int pml_system_make_folder(int folder, const char *name, bool hidden)
{
    return mkdirat(at(folder), name, hidden ? 0700 : 0777) == 0 ? 0 : errno;
}

int pml_system_open_folder(int folder, const char *name, bool follow, int *opened)
{
    return give(openat(at(folder), name, O_RDONLY | O_CLOEXEC | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW)), opened);
}

int pml_system_list(int folder, pml_entry_fn take, void *context)
{
    const int copy = openat(at(folder), ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY); /* closedir closes it */
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    int error = stream ? 0 : errno;
    if (!stream && copy >= 0)
        close(copy);
    errno = 0;
    for (struct dirent *entry; error == 0 && (entry = readdir(stream)); errno = 0) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            error = take(context, entry->d_name);
    }
    if (error == 0)
        error = errno;
    if (stream)
        closedir(stream);
    return error;
}

int pml_system_move_folder(const char *from, const char *path)
{
    return rename(from, path) == 0 ? 0 : errno; /* which refuses files, and folders with something in them */
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    (void)kind;
    (void)position;
    (void)remove(path);
    return 0; /* what cannot be removed does not keep the rest */
}

void pml_system_remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the process ---- */

int pml_system_error(int number)
{
    return number;
}

void pml_system_start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
}

uint64_t pml_system_seed(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^ (uint64_t)getpid() << 32;
}

static void (*tidy_up)(void);

static void interrupted(int number)
{
    tidy_up();
    raise(number); /* has its usual effect as soon as this returns: SA_RESETHAND */
}

void pml_system_on_interrupt(void (*tidy)(void))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;
    tidy_up = tidy;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupted;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error like a full disk */
    signal(SIGPIPE, SIG_IGN); /* and so is a reader that is gone */
}

void pml_system_hold_interrupts(bool held)
{
    (void)held;
}

bool pml_system_is_terminal(enum pml_stream stream)
{
    return isatty((int)stream) == 1;
}

void pml_system_print(enum pml_stream stream, const char *text)
{
    (void)!write((int)stream, text, strlen(text));
}

unsigned pml_system_processors(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (unsigned)online;
}

void *pml_system_allocate(size_t alignment, size_t size)
{
    return size > SIZE_MAX - alignment ? NULL : aligned_alloc(alignment, (size / alignment + 1) * alignment);
}

void pml_system_free(void *memory)
{
    free(memory);
}
