/* SPDX-License-Identifier: Apache-2.0
 * What is asked of the operating system: files, folders, the terminal, interrupts, processors. system_posix.c and
 * the files of windows/ each have all of it; of common/, tools/, lab/, the stores and the commands that need no network,
 * nothing else calls a system, but for what Windows does not have: PostgreSQL, and libraries that are loaded. Threads are
 * POSIX threads everywhere; clock.h has the clock.
 *
 * Paths and names are UTF-8. A folder is the descriptor of one that is open, or PML_HERE. Functions return 0 or an errno,
 * unless they say something else. */
#ifndef PML_SYSTEM_H
#define PML_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PML_HERE = -100 }; /* no folder: the name is a path of its own */

/* ---- what there is ---- */

enum pml_kind { PML_KIND_FILE, PML_KIND_FOLDER, PML_KIND_LINK, PML_KIND_OTHER };

struct pml_found {
    enum pml_kind kind;
    uint64_t size;           /* bytes of a file */
    uint64_t names;          /* hard links that lead to it */
    uint64_t device, number; /* both equal: it is the same file */
    int64_t changed_seconds; /* when its content last changed, since 1970 */
    uint32_t changed_nanoseconds;
};

/* Looks at the link itself unless `follow`. */
int pml_system_look(int folder, const char *name, bool follow, struct pml_found *found);
int pml_system_look_open(int file, struct pml_found *found);

static inline bool pml_found_same(const struct pml_found *left, const struct pml_found *right)
{
    return left->device == right->device && left->number == right->number;
}

/* Whether there is anything at the path; a link that leads nowhere is nothing. */
bool pml_system_exists(const char *path);

/* Whether we may write to the file or folder at the path: 0 or an errno. */
int pml_system_may_write(const char *path);

/* The path without links, to be freed; NULL with errno. */
char *pml_system_real_path(const char *path);

/* Whether one file has several paths even without links: Windows has short names. There, paths that end in a dot or a
 * space are EINVAL, since they would be those of other files. */
extern const bool pml_system_spells_names_in_many_ways;

/* Whether names that differ in the case of letters alone may be those of one file. */
extern const bool pml_system_ignores_case;

/* What follows the last separator of folders. */
const char *pml_system_last_name(const char *path);

bool pml_system_is_separator(char letter);

/* Whether the path says itself where it begins, as by a root or the letter of a disk: no folder can stand before it. */
bool pml_system_is_absolute(const char *path);

/* ---- files ---- */

/* Opens what is there for reading. A pipe does not make us wait. Without `follow` a link is ELOOP. */
int pml_system_open(int folder, const char *name, bool follow, int *file);

/* Makes a file and opens it for writing; what exists is EEXIST. With `hidden` only its owner may read it. It takes over
 * the permissions and the group of the plain file at the path `like`, if there is one; `like` may be NULL. */
int pml_system_create(int folder, const char *name, bool hidden, const char *like, int *file);

/* Opens or makes a file that is there to be locked. A link is ELOOP. */
int pml_system_open_lock(int folder, const char *name, int *file);

/* Two kinds of locks, which on POSIX do not see each other: one belongs to the opened file (flock), the other to the
 * process (fcntl), as Python's lockf and network file systems know it. Both end with the descriptor or the process.
 * Without `wait` a lock that somebody else holds is EWOULDBLOCK. */
enum pml_lock { PML_LOCK_OF_FILE, PML_LOCK_OF_PROCESS };
int pml_system_lock(int file, enum pml_lock kind, bool wait);

/* Reads up to `size` bytes, fewer only at the end of the file. */
int pml_system_read(int file, void *bytes, size_t size, size_t *got);
int pml_system_write(int file, const void *bytes, size_t size);
int pml_system_close(int file); /* a folder too */

/* Puts a file that was opened for writing, or the names in a folder, on the disk. Where folders need no flush this does
 * nothing. */
int pml_system_flush(int file);

/* Puts all files of the folder's disk on the disk, where that is cheaper than one by one; elsewhere it does nothing, and
 * the constant is false: flush each. */
extern const bool pml_system_flushes_together;
int pml_system_flush_together(int folder);

/* Gives a file another name; what has that name is replaced, and at no moment is there nothing. Whoever has it open reads
 * the old one to its end on POSIX; Windows may wait up to two seconds for him, and then give up: EACCES. */
int pml_system_rename(int folder, const char *name, int other_folder, const char *other);

/* Gives the file `from` the name `path`, and flushes the folder of both. If `exclusive`, an existing file at `path` is
 * EEXIST. After an error `from` still exists, unless only the flush of the folder failed. */
int pml_system_commit(const char *from, const char *path, bool exclusive);

/* Removes a file. Without a folder it may be called from the function of pml_system_on_interrupt. */
int pml_system_remove(int folder, const char *name);

/* ---- folders ---- */

/* With `hidden` only the owner may look into it; on Windows it is as open as the folder around it, and what must be hidden
 * there are its files. */
int pml_system_make_folder(int folder, const char *name, bool hidden);

/* Without `follow` a link is ELOOP or ENOTDIR. */
int pml_system_open_folder(int folder, const char *name, bool follow, int *opened);

/* Calls `take` for each name but "." and "..", until it returns something else than 0, which is returned. */
typedef int (*pml_entry_fn)(void *context, const char *name);
int pml_system_list(int folder, pml_entry_fn take, void *context);

/* Moves a folder to where there is nothing, or an empty folder. */
int pml_system_move_folder(const char *from, const char *path);

/* Removes a folder with all that is in it, as far as that is possible. Links are removed, not followed. */
void pml_system_remove_folder(const char *path);

/* ---- the process ---- */

/* The errno of an error in the system's own numbers, as a library may report it; on POSIX it is one. */
int pml_system_error(int number);

/* Call it first in main. Makes the arguments UTF-8, and the standard streams such that every byte stays what it is. */
void pml_system_start(int *argc, char ***argv);

/* A number that is most likely another one in every process and at every moment. */
uint64_t pml_system_seed(void);

/* Calls `tidy` before somebody's interrupt, such as Ctrl-C, ends the process. What `tidy` may do is what a signal handler
 * may do. From then on a limit on the size of files is EFBIG, a pipe that nobody reads is EPIPE, and neither ends anything. */
void pml_system_on_interrupt(void (*tidy)(void));

/* From `true` to `false` no interrupt tidies up, so that what is begun and what is remembered of it stay together. On POSIX,
 * this does nothing: the order of the two is enough, but for a temporary file that a thread makes while another one is
 * interrupted, which stays. */
void pml_system_hold_interrupts(bool held);

/* Standard output and error. */
enum pml_stream { PML_OUTPUT = 1, PML_ERRORS = 2 };
bool pml_system_is_terminal(enum pml_stream stream);
void pml_system_print(enum pml_stream stream, const char *text); /* at once; may be called from `tidy` */

unsigned pml_system_processors(void); /* at least 1 */

/* Memory at an address that `alignment`, a power of two, divides; NULL when there is none. NULL may be freed. */
void *pml_system_allocate(size_t alignment, size_t size);
void pml_system_free(void *memory);

#endif
