/* SPDX-License-Identifier: Apache-2.0
 * The process of system.h by Windows: arguments, streams, interrupts, memory, and who it runs for. */
#include "common/system.h"
#include "windows_system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <shellapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

wchar_t *pml_windows_wide(const char *text)
{
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
    else
        errno = length > 0 ? ENOMEM : EILSEQ;
    return wide;
}

char *pml_windows_narrow(const wchar_t *text)
{
    const DWORD strictly = WC_ERR_INVALID_CHARS; /* or two names could become one */
    const int length = WideCharToMultiByte(CP_UTF8, strictly, text, -1, NULL, 0, NULL, NULL);
    char *narrow = length > 0 ? malloc((size_t)length) : NULL;
    if (narrow)
        WideCharToMultiByte(CP_UTF8, strictly, text, -1, narrow, length, NULL, NULL);
    else
        errno = length > 0 ? ENOMEM : EILSEQ;
    return narrow;
}

/* ---- who may use a file ---- */

static bool is_plain(const wchar_t *path)
{
    const DWORD there = GetFileAttributesW(path);
    return there != INVALID_FILE_ATTRIBUTES && (there & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) == 0;
}

/* The descriptor of a file, with its access list; NULL when it cannot be read. */
static void *read_access(const wchar_t *path)
{
    DWORD size = 0;
    (void)GetFileSecurityW(path, DACL_SECURITY_INFORMATION, NULL, 0, &size);
    void *descriptor = size > 0 ? malloc(size) : NULL;
    if (descriptor && GetFileSecurityW(path, DACL_SECURITY_INFORMATION, descriptor, size, &size))
        return descriptor;
    free(descriptor);
    return NULL;
}

/* The user of this process, to be freed. */
static TOKEN_USER *find_user(void)
{
    HANDLE token;
    DWORD size = 0;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return NULL;
    (void)GetTokenInformation(token, TokenUser, NULL, 0, &size);
    TOKEN_USER *user = size > 0 ? malloc(size) : NULL;
    if (user && !GetTokenInformation(token, TokenUser, user, size, &size)) {
        free(user);
        user = NULL;
    }
    CloseHandle(token);
    return user;
}

/* A list of this user alone. On failure there is none, and nothing is allocated. */
static void allow_owner(struct pml_windows_access *access)
{
    TOKEN_USER *user = find_user();
    if (!user)
        return;
    const DWORD size = (DWORD)(sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE)) + GetLengthSid(user->User.Sid);
    SECURITY_DESCRIPTOR *descriptor = malloc(sizeof *descriptor);
    ACL *list = malloc(size);
    if (descriptor && list && InitializeAcl(list, size, ACL_REVISION) &&
        AddAccessAllowedAce(list, ACL_REVISION, FILE_ALL_ACCESS, user->User.Sid) &&
        InitializeSecurityDescriptor(descriptor, SECURITY_DESCRIPTOR_REVISION) &&
        SetSecurityDescriptorDacl(descriptor, TRUE, list, FALSE) &&
        SetSecurityDescriptorControl(descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED)) {
        access->descriptor = descriptor;
        access->list = list;
    } else {
        free(descriptor);
        free(list);
    }
    free(user);
}

int pml_windows_access(struct pml_windows_access *access, bool hidden, const wchar_t *like)
{
    const bool taken_over = like && is_plain(like);
    *access = (struct pml_windows_access){.attributes = {sizeof access->attributes, NULL, FALSE}};
    if (taken_over)
        access->descriptor = read_access(like);
    else if (hidden)
        allow_owner(access);
    access->attributes.lpSecurityDescriptor = access->descriptor;
    access->for_whom = access->descriptor ? &access->attributes : NULL;
    return access->descriptor || !(taken_over || hidden) ? 0 : EACCES;
}

void pml_windows_access_free(struct pml_windows_access *access)
{
    free(access->descriptor);
    free(access->list);
}

/* ---- beginning ---- */

static UINT code_page_before; /* 0: not changed */

static void restore_code_page(void)
{
    if (code_page_before != 0)
        SetConsoleOutputCP(code_page_before);
}

/* Windows gives a program its arguments in the code page of the system, in which not every name can be written; so they are
 * asked for again. */
static void read_arguments(int *argc, char ***argv)
{
    int count = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **narrow = wide ? calloc((size_t)count + 1, sizeof *narrow) : NULL;
    bool complete = narrow != NULL;
    for (int i = 0; complete && i < count; i++) {
        narrow[i] = pml_windows_narrow(wide[i]);
        complete = narrow[i] != NULL;
    }
    LocalFree(wide);
    if (!complete && narrow && errno == EILSEQ) { /* the code page would make another name of it */
        fputs("privatemail: an argument is no Unicode text. Rename the file that it names.\n", stderr);
        exit(2);
    }
    if (!complete)
        return; /* what main was given serves for plain names */
    *argc = count;
    *argv = narrow; /* to the end of the process */
}

void pml_system_start(int *argc, char ***argv)
{
    read_arguments(argc, argv);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    if (pml_system_is_terminal(PML_OUTPUT) || pml_system_is_terminal(PML_ERRORS)) {
        code_page_before = GetConsoleOutputCP();
        if (SetConsoleOutputCP(CP_UTF8))
            atexit(restore_code_page);
    }
}

uint64_t pml_system_seed(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return ((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) ^ (uint64_t)GetCurrentProcessId() << 32;
}

/* ---- interrupts ---- */

static void (*tidy_up)(void);
static SRWLOCK beginning = SRWLOCK_INIT; /* held while something is begun that must be tidied up */

/* Windows calls this in a thread of its own while the others go on. They cannot begin anything any more, and the process
 * ends here. */
static BOOL WINAPI interrupted(DWORD reason)
{
    (void)reason;
    AcquireSRWLockExclusive(&beginning);
    tidy_up();
    restore_code_page();
    TerminateProcess(GetCurrentProcess(), STATUS_CONTROL_C_EXIT);
    return FALSE;
}

void pml_system_on_interrupt(void (*tidy)(void))
{
    tidy_up = tidy;
    SetConsoleCtrlHandler(interrupted, TRUE);
}

void pml_system_hold_interrupts(bool held)
{
    if (held)
        AcquireSRWLockExclusive(&beginning);
    else
        ReleaseSRWLockExclusive(&beginning);
}

/* ---- streams ---- */

static HANDLE handle_of(enum pml_stream stream)
{
    return GetStdHandle(stream == PML_OUTPUT ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
}

bool pml_system_is_terminal(enum pml_stream stream)
{
    DWORD mode;
    return GetConsoleMode(handle_of(stream), &mode);
}

void pml_system_print(enum pml_stream stream, const char *text)
{
    DWORD written;
    (void)WriteFile(handle_of(stream), text, (DWORD)strlen(text), &written, NULL);
}

/* ---- the machine ---- */

unsigned pml_system_processors(void)
{
    const DWORD online = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return online < 1 ? 1 : online;
}

void *pml_system_allocate(size_t alignment, size_t size)
{
    return size > SIZE_MAX - alignment ? NULL : _aligned_malloc(size > 0 ? size : 1, alignment);
}

void pml_system_free(void *memory)
{
    _aligned_free(memory);
}
