/* SPDX-License-Identifier: Apache-2.0
 * The folders of system.h by Windows. */
#include "windows_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* What is hidden inherits too: a store makes its files in one folder and moves them to another, and they keep the access
 * list that they inherited from the first. Files that are hidden say so themselves. */
int pml_system_make_folder(int folder, const char *name, bool hidden)
{
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    (void)hidden;
    if (error == 0)
        error = CreateDirectoryW(path, NULL) ? 0 : pml_windows_error();
    free(path);
    return error;
}

int pml_system_open_folder(int folder, const char *name, bool follow, int *opened)
{
    HANDLE handle = INVALID_HANDLE_VALUE;
    struct pml_found found;
    int error;
    wchar_t *path = pml_windows_path(folder, name, &error);
    if (error == 0)
        error = pml_windows_open(path, FILE_LIST_DIRECTORY, OPEN_EXISTING, follow, NULL, &handle);
    if (error == 0 && (pml_windows_tell(handle, &found) != 0 || found.kind != PML_KIND_FOLDER)) {
        CloseHandle(handle);
        error = ENOTDIR;
    }
    free(path);
    return pml_windows_give(error, handle, _O_RDONLY, opened);
}

static int take_entry(const WIN32_FIND_DATAW *entry, pml_entry_fn take, void *context)
{
    if (wcscmp(entry->cFileName, L".") == 0 || wcscmp(entry->cFileName, L"..") == 0)
        return 0;
    char *name = pml_windows_narrow(entry->cFileName);
    const int outcome = name ? take(context, name) : errno;
    free(name);
    return outcome;
}

int pml_system_list(int folder, pml_entry_fn take, void *context)
{
    WIN32_FIND_DATAW entry;
    int outcome;
    wchar_t *pattern = pml_windows_path(folder, "*", &outcome);
    if (!pattern)
        return outcome;
    const HANDLE search = FindFirstFileW(pattern, &entry);
    free(pattern);
    if (search == INVALID_HANDLE_VALUE)
        return GetLastError() == ERROR_FILE_NOT_FOUND ? 0 : pml_windows_error();
    bool more = true;
    while (more && (outcome = take_entry(&entry, take, context)) == 0) {
        more = FindNextFileW(search, &entry);
        if (!more && GetLastError() != ERROR_NO_MORE_FILES)
            outcome = pml_windows_error();
    }
    FindClose(search);
    return outcome;
}

int pml_system_move_folder(const char *from, const char *path)
{
    struct pml_found found;
    int error;
    wchar_t *old = pml_windows_path(PML_HERE, from, &error);
    wchar_t *fresh = old ? pml_windows_path(PML_HERE, path, &error) : NULL;
    if (error == 0) {
        if (pml_system_look(PML_HERE, path, false, &found) == 0 && found.kind == PML_KIND_FOLDER)
            (void)RemoveDirectoryW(fresh); /* removes an empty folder, and a link to any */
        error = pml_windows_move(old, fresh, false);
    }
    free(old);
    free(fresh);
    return error;
}

/* `context` is the folder's descriptor. */
static int remove_entry(void *context, const char *name)
{
    const int folder = *(const int *)context;
    struct pml_found found;
    int error, inner;
    if (pml_system_look(folder, name, false, &found) == 0 && found.kind == PML_KIND_FOLDER &&
        pml_system_open_folder(folder, name, false, &inner) == 0) {
        (void)pml_system_list(inner, remove_entry, &inner);
        pml_system_close(inner);
    }
    wchar_t *path = pml_windows_path(folder, name, &error);
    if (path && !DeleteFileW(path))
        (void)RemoveDirectoryW(path);
    free(path);
    return 0;
}

void pml_system_remove_folder(const char *path)
{
    int here = PML_HERE;
    (void)remove_entry(&here, path);
}
