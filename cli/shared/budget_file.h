/* SPDX-License-Identifier: Apache-2.0
 * A budget kept in a file: locked while a process spends from it, replaced whole at every charge. */
#ifndef CLI_BUDGET_FILE_H
#define CLI_BUDGET_FILE_H

#include "command.h"

#include <privatemail.h>

struct budget_file {
    char *path;      /* owned; NULL: nothing is stored */
    char *lock_path; /* owned */
    int lock;        /* descriptor, −1 when there is none */
    bool is_new;     /* made by this process … */
    bool on_disk;    /* … and stored by now */
    pml_budget budget;
    struct pml_message message; /* why the last store failed */
};

/* Opens the budget at `path`, waiting while another process spends from it. `fresh`: "EPS_RESPONSE" or
 * "EPS_RESPONSE,EPS_GAUSSIAN,DELTA" makes a new one, which must not exist; NULL wants one that does. −1 to go on,
 * else the exit code, with a message printed and nothing to close. */
int budget_file_open(const struct command *command, struct budget_file *file, const char *path, const char *owner,
                     const char *fresh);

/* The largest budget there can be for this mechanism: it pays for at least one release with these parameters. */
pml_status budget_unlimited(pml_budget *budget, pml_mechanism mechanism, double delta);

/* The same in memory, instead of a file. */
pml_status budget_file_throwaway(struct budget_file *file, pml_mechanism mechanism, double delta);

/* A pml_persist_fn; the context is the struct budget_file. */
int budget_file_store(void *context, const uint8_t *bytes, size_t size);

/* Unlocks. A new budget from which nothing was spent is taken away again. */
void budget_file_close(struct budget_file *file);

#endif
