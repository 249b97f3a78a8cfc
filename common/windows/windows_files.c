/* SPDX-License-Identifier: Apache-2.0
 * The files of system.h by Windows. A file is flushed by FlushFileBuffers, and a name by MOVEFILE_WRITE_THROUGH; folders
 * need no flush. */
#include "windows_system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#define CHUNK ((size_t)1 << 30)

int pml_windows_give(int error, HANDLE handle, int flags, int *file)
{
    *file = error == 0 ? _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT) : -1;
    if (error == 0 && *file < 0) {
        error = EMFILE;
        CloseHandle(handle);
    }
    return error;
}

int pml_system_open(int folder, const char *name, bool follow, int *file)
{
    HANDLE handle = INVALID_HANDLE_VALUE;
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    if (path)
        error = pml_windows_open(path, GENERIC_READ, OPEN_EXISTING, follow, NULL, &handle);
    free(path);
    return pml_windows_give(error, handle, _O_RDONLY, file);
}

int pml_system_create(int folder, const char *name, bool hidden, const char *like, int *file)
{
    HANDLE handle = INVALID_HANDLE_VALUE;
    struct pml_windows_access access;
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    wchar_t *other = path && like ? pml_windows_path(PML_HERE, like, &error) : NULL;
    if (error == 0) {
        error = pml_windows_access(&access, hidden, other);
        if (error == 0)
            error = pml_windows_open(path, GENERIC_WRITE, CREATE_NEW, false, access.for_whom, &handle);
        pml_windows_access_free(&access);
    }
    free(path);
    free(other);
    return pml_windows_give(error, handle, _O_WRONLY, file);
}

/* A lock that was removed while somebody still waits for it is in the way until that one has looked. */
int pml_system_open_lock(int folder, const char *name, int *file)
{
    HANDLE handle = INVALID_HANDLE_VALUE;
    struct pml_windows_access access;
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    const int refused = pml_windows_access(&access, true, NULL);
    if (path && refused != 0)
        error = refused;
    for (int tried = 0; path && refused == 0; tried++) {
        error = pml_windows_open(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, false, access.for_whom, &handle);
        if (!pml_windows_wait(error, tried))
            break;
    }
    pml_windows_access_free(&access);
    free(path);
    return pml_windows_give(error, handle, _O_RDWR, file);
}

int pml_system_lock(int file, enum pml_lock kind, bool wait)
{
    OVERLAPPED begin = {0};
    const DWORD how = LOCKFILE_EXCLUSIVE_LOCK | (wait ? 0 : LOCKFILE_FAIL_IMMEDIATELY);
    (void)kind; /* there is one: it belongs to the handle */
    return LockFileEx(pml_windows_handle(file), how, 0, MAXDWORD, MAXDWORD, &begin) ? 0 : pml_windows_error();
}

int pml_system_read(int file, void *bytes, size_t size, size_t *got)
{
    for (*got = 0; *got < size;) {
        const size_t left = size - *got;
        const DWORD most = (DWORD)(left < CHUNK ? left : CHUNK);
        DWORD count = 0;
        if (!ReadFile(pml_windows_handle(file), (uint8_t *)bytes + *got, most, &count, NULL))
            return GetLastError() == ERROR_HANDLE_EOF ? 0 : pml_windows_error();
        if (count == 0)
            break;
        *got += count;
    }
    return 0;
}

int pml_system_write(int file, const void *bytes, size_t size)
{
    for (const uint8_t *from = bytes; size > 0;) {
        DWORD written = 0;
        if (!WriteFile(pml_windows_handle(file), from, (DWORD)(size < CHUNK ? size : CHUNK), &written, NULL))
            return pml_windows_error();
        if (written == 0)
            return ENOSPC;
        from += written;
        size -= written;
    }
    return 0;
}

int pml_system_close(int file)
{
    return _close(file) == 0 ? 0 : errno;
}

int pml_system_flush(int file)
{
    struct pml_found found;
    if (pml_system_look_open(file, &found) == 0 && found.kind == PML_KIND_FOLDER)
        return 0;
    return FlushFileBuffers(pml_windows_handle(file)) ? 0 : pml_windows_error();
}

const bool pml_system_flushes_together = false;

int pml_system_flush_together(int folder)
{
    (void)folder;
    return 0;
}

int pml_windows_move(const wchar_t *from, const wchar_t *to, bool replace)
{
    const DWORD there = replace ? GetFileAttributesW(to) : INVALID_FILE_ATTRIBUTES;
    const DWORD how = MOVEFILE_WRITE_THROUGH | (replace ? MOVEFILE_REPLACE_EXISTING : 0);
    if (there != INVALID_FILE_ATTRIBUTES && (there & FILE_ATTRIBUTE_DIRECTORY) != 0)
        return EISDIR;
    for (int tried = 0;; tried++) {
        const int error = MoveFileExW(from, to, how) ? 0 : pml_windows_error();
        if (!pml_windows_wait(error, tried))
            return error;
    }
}

static int move(int folder, const char *name, int other_folder, const char *other, bool replace)
{
    int error;
    wchar_t *from = pml_windows_path(folder, name, &error);
    wchar_t *to = from ? pml_windows_path(other_folder, other, &error) : NULL;
    if (error == 0)
        error = pml_windows_move(from, to, replace);
    free(from);
    free(to);
    return error;
}

int pml_system_rename(int folder, const char *name, int other_folder, const char *other)
{
    return move(folder, name, other_folder, other, true);
}

int pml_system_commit(const char *from, const char *path, bool exclusive)
{
    return move(PML_HERE, from, PML_HERE, path, !exclusive);
}

int pml_system_remove(int folder, const char *name)
{
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    if (error == 0)
        error = DeleteFileW(path) ? 0 : pml_windows_error();
    free(path);
    return error;
}
