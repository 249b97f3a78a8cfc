/* SPDX-License-Identifier: Apache-2.0
 * Errors, paths and what there is, for system.h by Windows. */
#include "windows_system.h"

#include <errno.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
enum { TRIES = 200, PAUSE = 10 /* milliseconds */ };

/* ---- errors ---- */

int pml_system_error(int number)
{
    static const struct {
        DWORD code;
        int error;
    } known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_BAD_NET_NAME, ENOENT},
        {ERROR_INVALID_NAME, EINVAL},
        {ERROR_BAD_PATHNAME, EINVAL},
        {ERROR_INVALID_PARAMETER, EINVAL},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES},
        {ERROR_DELETE_PENDING, EACCES},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_IO_PENDING, EWOULDBLOCK},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_DISK_QUOTA_EXCEEDED, ENOSPC},
        {ERROR_FILE_TOO_LARGE, EFBIG},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].code == (DWORD)number)
            return known[i].error;
    return number == 0 ? 0 : EIO;
}

int pml_windows_error(void)
{
    return pml_system_error((int)GetLastError());
}

bool pml_windows_wait(int error, int tried)
{
    if (error != EACCES || tried >= TRIES)
        return false;
    Sleep(PAUSE);
    return true;
}

/* ---- paths ---- */

HANDLE pml_windows_handle(int file)
{
    return (HANDLE)_get_osfhandle(file);
}

/* The path of what is open, with room for so many more characters, to be freed; NULL with *error. */
static wchar_t *path_of(HANDLE handle, size_t more, int *error)
{
    const DWORD length = GetFinalPathNameByHandleW(handle, NULL, 0, FILE_NAME_NORMALIZED); /* with its zero */
    wchar_t *path = length > 0 ? malloc((length + more + 1) * sizeof *path) : NULL;
    *error = length == 0 ? pml_windows_error() : path ? 0 : ENOMEM;
    const DWORD got = path ? GetFinalPathNameByHandleW(handle, path, length + 1, FILE_NAME_NORMALIZED) : 0;
    if (path && (got == 0 || got > length)) { /* it was removed, or got a longer name, meanwhile */
        free(path);
        path = NULL;
        *error = ENOENT;
    }
    return path;
}

/* Windows would drop these and make a file of another name, whose lock has a name of its own. Behind the mark of long
 * paths, as in a folder that is open, it drops nothing. */
static bool ends_in_what_is_dropped(const char *path)
{
    const char *name = pml_system_last_name(path);
    const size_t length = strlen(name);
    return length > 0 && (name[length - 1] == '.' || name[length - 1] == ' ') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

wchar_t *pml_windows_path(int folder, const char *name, int *error)
{
    const bool refused = folder == PML_HERE && ends_in_what_is_dropped(name);
    wchar_t *wide = refused ? NULL : pml_windows_wide(name);
    *error = wide ? 0 : refused ? EINVAL : errno;
    if (!wide || folder == PML_HERE)
        return wide;
    wchar_t *path = path_of(pml_windows_handle(folder), wcslen(wide) + 1, error);
    if (path) {
        wcscat(path, path[wcslen(path) - 1] == L'\\' ? L"" : L"\\"); /* the root of a disk has one */
        wcscat(path, wide);
    }
    free(wide);
    return path;
}

bool pml_system_is_separator(char letter)
{
    return letter == '/' || letter == '\\';
}

const char *pml_system_last_name(const char *path)
{
    const char *name = path[0] != 0 && path[1] == ':' ? path + 2 : path;
    for (const char *at = name; *at != 0; at++)
        name = pml_system_is_separator(*at) ? at + 1 : name;
    return name;
}

bool pml_system_is_absolute(const char *path)
{
    return pml_system_is_separator(path[0]) || (path[0] != 0 && path[1] == ':');
}

/* ---- what there is ---- */

/* Whether what was opened without following it leads elsewhere. What a service keeps in the cloud is a reparse point too,
 * but no link: then only `marked` is true. */
static bool is_link(HANDLE handle, bool *marked)
{
    FILE_ATTRIBUTE_TAG_INFO tag;
    *marked = GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) &&
              (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    return *marked && IsReparseTagNameSurrogate(tag.ReparseTag);
}

int pml_windows_tell(HANDLE handle, struct pml_found *found)
{
    BY_HANDLE_FILE_INFORMATION about;
    bool marked;
    *found = (struct pml_found){.kind = PML_KIND_OTHER, .names = 1};
    if (GetFileType(handle) != FILE_TYPE_DISK)
        return 0;
    if (!GetFileInformationByHandle(handle, &about))
        return pml_windows_error();
    const uint64_t ticks = (uint64_t)about.ftLastWriteTime.dwHighDateTime << 32 | about.ftLastWriteTime.dwLowDateTime;
    const int64_t since_1970 = (int64_t)ticks - 116444736000000000; /* of 100 nanoseconds; Windows counts from 1601 */
    found->kind = is_link(handle, &marked)                                   ? PML_KIND_LINK
                  : (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? PML_KIND_FOLDER
                                                                             : PML_KIND_FILE;
    found->size = (uint64_t)about.nFileSizeHigh << 32 | about.nFileSizeLow;
    found->names = about.nNumberOfLinks;
    found->device = about.dwVolumeSerialNumber;
    found->number = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    found->changed_seconds = since_1970 / 10000000;
    found->changed_nanoseconds = (uint32_t)(since_1970 % 10000000 * 100);
    return 0;
}

int pml_windows_open(const wchar_t *path, DWORD access, DWORD how, bool follow, SECURITY_ATTRIBUTES *for_whom,
                     HANDLE *handle)
{
    const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT); /* folders too */
    bool marked;
    *handle = CreateFileW(path, access, SHARED, for_whom, how, flags, NULL);
    if (*handle == INVALID_HANDLE_VALUE)
        return pml_windows_error();
    if (follow)
        return 0;
    const bool refused = is_link(*handle, &marked);
    if (!marked)
        return 0;
    CloseHandle(*handle);
    *handle = INVALID_HANDLE_VALUE;
    return refused ? ELOOP : pml_windows_open(path, access, OPEN_EXISTING, true, NULL, handle);
}

int pml_system_look(int folder, const char *name, bool follow, struct pml_found *found)
{
    const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    if (!path)
        return error;
    const HANDLE handle = CreateFileW(path, FILE_READ_ATTRIBUTES, SHARED, NULL, OPEN_EXISTING, flags, NULL);
    error = handle == INVALID_HANDLE_VALUE ? pml_windows_error() : pml_windows_tell(handle, found);
    if (handle != INVALID_HANDLE_VALUE)
        CloseHandle(handle);
    free(path);
    return error;
}

int pml_system_look_open(int file, struct pml_found *found)
{
    return pml_windows_tell(pml_windows_handle(file), found);
}

bool pml_system_exists(const char *path)
{
    struct pml_found found;
    return pml_system_look(PML_HERE, path, true, &found) == 0;
}

int pml_system_may_write(const char *path)
{
    HANDLE handle;
    int error;
    wchar_t *wide = pml_windows_path(PML_HERE, path, &error);
    if (!wide)
        return error;
    error = pml_windows_open(wide, FILE_WRITE_DATA, OPEN_EXISTING, true, NULL, &handle); /* in a folder: to add files */
    if (error == 0)
        CloseHandle(handle);
    free(wide);
    return error;
}

/* Takes away the mark of long paths, which not every program understands. */
static wchar_t *without_mark(wchar_t *path)
{
    static const wchar_t mark[] = L"\\\\?\\", network[] = L"\\\\?\\UNC\\";
    const size_t length = wcslen(mark), longer = wcslen(network);
    if (wcsncmp(path, network, longer) == 0)
        memmove(path + 1, path + longer - 1, (wcslen(path) - longer + 2) * sizeof *path);
    else if (wcsncmp(path, mark, length) == 0)
        memmove(path, path + length, (wcslen(path) - length + 1) * sizeof *path);
    return path;
}

const bool pml_system_spells_names_in_many_ways = true;
const bool pml_system_ignores_case = true;

char *pml_system_real_path(const char *path)
{
    HANDLE handle;
    int error;
    wchar_t *wide = pml_windows_path(PML_HERE, path, &error), *found = NULL;
    char *real = NULL;
    if (wide)
        error = pml_windows_open(wide, FILE_READ_ATTRIBUTES, OPEN_EXISTING, true, NULL, &handle);
    if (error == 0) {
        found = path_of(handle, 0, &error);
        CloseHandle(handle);
    }
    if (found) {
        real = pml_windows_narrow(without_mark(found));
        error = real ? 0 : errno;
    }
    free(wide);
    free(found);
    errno = error;
    return real;
}
