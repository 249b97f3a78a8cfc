/* SPDX-License-Identifier: Apache-2.0
 * A budget in a file. It is locked while a process spends from it, and every charge replaces the whole file. */
#ifndef CLI_BUDGET_FILE_H
#define CLI_BUDGET_FILE_H

#include "command.h"

#include <privatemail.h>

struct budget_file {
    char *path;      /* owned; NULL: nothing is stored */
    char *lock_path; /* owned */
    int lock;        /* descriptor, −1 when there is none */
    bool is_new;     /* this process made it … */
    bool on_disk;    /* … and has stored it */
    pml_budget budget;
    struct pml_message message; /* why the last store failed */
};

/* What a new budget allows, as options say it; NULL is nothing of it. */
struct budget_caps {
    const char *local; /* "EPS_RESPONSE" or "EPS_RESPONSE,EPS_GAUSSIAN,DELTA" */
    const char *crowd; /* "EPS_FLOOR" or "EPS_FLOOR,EPS_CROWD,DELTA" */
};

/* Opens the budget at `path`, waiting while another process spends from it. With any caps it makes a new one, and the file
 * must not exist; without, it must exist. After a failure there is nothing to close. */
exit_code budget_file_open(const struct command *command, struct budget_file *file, const char *path, const char *owner,
                           struct budget_caps fresh);

/* The 16 bytes that stand for the owner of this name. */
void budget_file_owner(const char *owner, uint8_t tag[16]);

/* The largest possible budget for this client. It pays for at least one release, or one bundle of a policy that is booked
 * with nothing but the floor. */
pml_status budget_unlimited(pml_budget *budget, const pml_config *config);

/* The same in memory, instead of a file. */
pml_status budget_file_throwaway(struct budget_file *file, const pml_config *config);

/* A pml_persist_fn; the context is the struct budget_file. */
int budget_file_store(void *context, const uint8_t *bytes, size_t size);

/* Unlocks. Removes a new budget from which nothing was spent. */
void budget_file_close(struct budget_file *file);

#endif
