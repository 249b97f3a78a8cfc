/* SPDX-License-Identifier: Apache-2.0
 * What the files of common/windows share. They are system.h by Windows. A descriptor is one of the C library that holds a
 * handle of Windows, so that callers have an int as on POSIX. Functions return 0 or an errno, unless they say something
 * else. */
#ifndef PML_WINDOWS_SYSTEM_H
#define PML_WINDOWS_SYSTEM_H

#define WIN32_LEAN_AND_MEAN
#include "common/system.h"

#include <windows.h>

/* UTF-8 to what Windows has, and back; to be freed. NULL with errno. */
wchar_t *pml_windows_wide(const char *text);
char *pml_windows_narrow(const wchar_t *text);

/* The errno of the last call. */
int pml_windows_error(void);

/* Somebody's virus scanner, or a reader that is about to close a file, may be in the way for a moment. Waits and returns true
 * when it is worth another try: after EACCES, for two seconds in all. */
bool pml_windows_wait(int error, int tried);

/* The name as Windows wants it, to be freed; NULL with *error. */
wchar_t *pml_windows_path(int folder, const char *name, int *error);

HANDLE pml_windows_handle(int file);

/* Opens a file or a folder; all share reading, writing and deleting: what is open may be removed or renamed, as on POSIX.
 * Without `follow` a link is ELOOP. `for_whom` may be NULL: a new file then inherits the access list of its folder. */
int pml_windows_open(const wchar_t *path, DWORD access, DWORD how, bool follow, SECURITY_ATTRIBUTES *for_whom,
                     HANDLE *handle);

/* Puts a handle into a descriptor, or closes it; after an error, which is returned, there is none. */
int pml_windows_give(int error, HANDLE handle, int flags, int *file);

int pml_windows_tell(HANDLE handle, struct pml_found *found);

/* Renames a file or a folder, durably. */
int pml_windows_move(const wchar_t *from, const wchar_t *to, bool replace);

/* Who may use a new file: `for_whom` is what CreateFileW wants. */
struct pml_windows_access {
    SECURITY_ATTRIBUTES attributes, *for_whom;
    void *descriptor, *list;
};

/* The access list of the plain file at `like`, if there is one; or a list of its owner alone, if `hidden`; or none, and
 * the file inherits. `like` may be NULL. A list that cannot be had is EACCES: no file is better than one for everybody. */
int pml_windows_access(struct pml_windows_access *access, bool hidden, const wchar_t *like);
void pml_windows_access_free(struct pml_windows_access *access);

#endif
