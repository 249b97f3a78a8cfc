/* SPDX-License-Identifier: Apache-2.0
 * A budget in a file. No other process spends from it until it is closed. */
#define _POSIX_C_SOURCE 200809L
#include "budget_file.h"

#include "common/files.h"
#include "common/leftovers.h"
#include "common/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lock ---- */

static bool same_file(int descriptor, const char *path)
{
    struct pml_found opened, named;
    return pml_system_look_open(descriptor, &opened) == 0 && pml_system_look(PML_HERE, path, true, &named) == 0 &&
           pml_found_same(&opened, &named);
}

/* A lock is empty. A file of that name that is not empty belongs to somebody and must not be removed. Returns 0 or an
 * errno. */
static int wait_for_lock(int descriptor)
{
    struct pml_found opened;
    int error = pml_system_look_open(descriptor, &opened);
    if (error == 0 && opened.size != 0)
        error = EEXIST;
    if (error == 0)
        error = pml_system_lock(descriptor, PML_LOCK_OF_PROCESS, false);
    if (error != EWOULDBLOCK)
        return error;
    if (pml_system_is_terminal(PML_ERRORS))
        fprintf(stderr, "privatemail: another process is spending from this budget; waiting for it to end.\n");
    return pml_system_lock(descriptor, PML_LOCK_OF_PROCESS, true);
}

/* We lock a file beside the budget, not the budget itself, because every charge replaces the budget's file. Whoever is
 * done removes the lock file, so after waiting we may hold a lock on a file that is gone; then we try again. Returns 0
 * or an errno. */
static int take_lock(struct budget_file *file)
{
    for (;;) {
        int error = pml_system_open_lock(PML_HERE, file->lock_path, &file->lock);
        if (error != 0)
            return error;
        error = wait_for_lock(file->lock);
        if (error == 0 && same_file(file->lock, file->lock_path)) {
            pml_system_hold_interrupts(true);
            pml_leftover_set(PML_LEFTOVER_LOCK, file->lock_path);
            pml_system_hold_interrupts(false);
            return 0;
        }
        pml_system_close(file->lock);
        file->lock = -1;
        if (error != 0)
            return error;
    }
}

void budget_file_close(struct budget_file *file)
{
    pml_budget_left left;
    if (file->lock >= 0) {
        if (file->is_new && file->on_disk && pml_budget_remaining(&file->budget, &left) == PML_OK &&
            left.epsilon_spent <= 0.0 && left.mu2_spent <= 0.0 && left.floor_spent <= 0.0 &&
            left.crowd_mu2_spent <= 0.0)
            (void)pml_system_remove(PML_HERE, file->path);
        /* Forgotten before it is removed: an interrupt in between must not remove the next one's lock. Removed while it is
         * held: see take_lock. */
        pml_system_hold_interrupts(true);
        pml_leftover_set(PML_LEFTOVER_LOCK, NULL);
        (void)pml_system_remove(PML_HERE, file->lock_path);
        pml_system_hold_interrupts(false);
        pml_system_close(file->lock);
    }
    free(file->path);
    free(file->lock_path);
    *file = (struct budget_file){.lock = -1};
}

/* ---- store ---- */

int budget_file_store(void *context, const uint8_t *bytes, size_t size)
{
    struct budget_file *file = context;
    if (!file->path)
        return 0;
    if (pml_file_write(file->path, bytes, size, PML_FILE_PRIVATE, &file->message) != PML_DONE)
        return -1;
    file->on_disk = true;
    return 0;
}

/* ---- open ---- */

/* One number, or three; `form` says what they are. */
static exit_code read_caps(const struct command *command, const char *form, const char *text, double caps[3])
{
    char *end = NULL;
    size_t count = 0;
    caps[0] = caps[1] = caps[2] = 0.0;
    for (const char *at = text; at && count < 3; at = end + 1) {
        caps[count++] = strtod(at, &end);
        if (end != at && *end == 0 && (count == 1 || count == 3))
            return EXIT_OK;
        if (end == at || *end != ',')
            break;
    }
    return text ? command_fail(command, EXIT_USAGE, "%s, not '%s'.", form, text) : EXIT_OK;
}

static exit_code make_new(const struct command *command, struct budget_file *file, const uint8_t tag[16],
                          struct budget_caps fresh)
{
    double local[3], crowd[3];
    struct pml_found found;
    exit_code code =
        read_caps(command, "--budget-new needs EPS_RESPONSE or EPS_RESPONSE,EPS_GAUSSIAN,DELTA (such as 20,8,1e-6)",
                  fresh.local, local);
    if (code == EXIT_OK)
        code = read_caps(command, "--budget-crowd needs EPS_FLOOR or EPS_FLOOR,EPS_CROWD,DELTA (such as 80,2,1e-6)",
                         fresh.crowd, crowd);
    if (code != EXIT_OK)
        return code;
    if (pml_system_look(PML_HERE, file->path, false, &found) == 0)
        return command_fail(command, EXIT_OUTPUT,
                            "%s exists already. Leave --budget-new out to spend from it, or name another file.",
                            file->path);
    pml_budget_caps allowed = {.epsilon_response = local[0], .epsilon_gaussian = local[1], .delta = local[2]};
    pml_status status = pml_budget_create(&file->budget, tag, &allowed);
    if (status != PML_OK)
        return command_fail(
            command, EXIT_USAGE,
            "--budget-new %s: %s. Give 0 to 4095 for response; for gaussian 1e-6 to 256 with a delta of "
            "1e-15 to below 1, or nothing.",
            fresh.local, pml_status_text(status));
    allowed.epsilon_floor = crowd[0];
    allowed.epsilon_crowd = crowd[1];
    allowed.delta_crowd = crowd[2];
    status = pml_budget_create(&file->budget, tag, &allowed);
    if (status != PML_OK)
        return command_fail(
            command, EXIT_USAGE,
            "--budget-crowd %s: %s. Give 0 to 4095 for the floor; for the crowd 1e-6 to 16 with a delta of "
            "2e-15 to below 1, or nothing.",
            fresh.crowd, pml_status_text(status));
    file->is_new = true;
    return EXIT_OK;
}

static exit_code read_old(const struct command *command, struct budget_file *file, const uint8_t tag[16])
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct pml_found found;
    /* A charge replaces the file under this name only. Another name would keep the old file and spend from it again. */
    if (pml_system_look(PML_HERE, file->path, true, &found) == 0 && (found.kind != PML_KIND_FILE || found.names > 1))
        return command_fail(command, EXIT_BUDGET,
                            "%s must be a file with one name (no folder, no second hard link). "
                            "Use the file itself.",
                            file->path);
    if (pml_file_read(file->path, 4096, &bytes, &size, &file->message) != PML_DONE)
        return command_fail(command, EXIT_BUDGET, "%s Check --budget.", file->message.text);
    pml_status status = pml_budget_restore(&file->budget, tag, bytes, size);
    const unsigned version = size > 8 && memcmp(bytes, "PMLB", 4) == 0 ? bytes[4] : 1; /* SPEC 4 */
    free(bytes);
    file->on_disk = true;
    if (status == PML_ERROR_BUDGET && version > 2)
        return command_fail(command, EXIT_BUDGET,
                            "%s is a budget of version %u; this command reads 1 and 2. Use a newer privatemail.",
                            file->path, version);
    return status == PML_OK ? EXIT_OK : command_status(command, file->path, status);
}

static exit_code name_files(const struct command *command, struct budget_file *file, const char *path, bool fresh)
{
    struct pml_found found, itself;
    const int error = pml_system_look(PML_HERE, path, true, &found);
    if (error != 0 && !fresh)
        return command_fail(command, EXIT_INPUT, "%s: %s. Check --budget, or start one with --budget-new EPSILON.",
                            path, strerror(error));
    /* Follow a link to the file behind it, so that all its names have one lock. */
    const bool is_link =
        error == 0 && pml_system_look(PML_HERE, path, false, &itself) == 0 && itself.kind == PML_KIND_LINK;
    file->path = is_link ? pml_system_real_path(path) : strdup(path);
    const bool has_many_names = error == 0 && pml_system_spells_names_in_many_ways;
    char *one_name = has_many_names ? pml_system_real_path(path) : NULL;
    if (has_many_names && !one_name)
        return command_fail(command, EXIT_INPUT,
                            "%s: the system does not tell its full path (%s), so it cannot be locked. Move it to another "
                            "disk.",
                            path, strerror(errno));
    const char *locked = one_name ? one_name : file->path;
    const size_t length = locked ? strlen(locked) + 6 : 0;
    file->lock_path = file->path && length > 0 ? malloc(length) : NULL;
    if (file->lock_path)
        snprintf(file->lock_path, length, "%s.lock", locked);
    free(one_name);
    if (!file->lock_path)
        return command_fail(command, EXIT_FAULT, "%s: %s.", path, strerror(errno));
    return EXIT_OK;
}

void budget_file_owner(const char *owner, uint8_t tag[16])
{
    memset(tag, 0, 16);
    memcpy(tag, owner, strlen(owner) < 16 ? strlen(owner) : 16);
}

exit_code budget_file_open(const struct command *command, struct budget_file *file, const char *path, const char *owner,
                           struct budget_caps fresh)
{
    const bool is_fresh = fresh.local || fresh.crowd;
    uint8_t tag[16];
    *file = (struct budget_file){.lock = -1};
    budget_file_owner(owner, tag);
    exit_code code = name_files(command, file, path, is_fresh);
    const int error = code == EXIT_OK ? take_lock(file) : 0;
    if (error != 0)
        code = command_fail(command, EXIT_OUTPUT, "%s cannot be locked (%s: %s): %s.", path, file->lock_path,
                            strerror(error), pml_file_advice(error));
    if (code == EXIT_OK)
        code = is_fresh ? make_new(command, file, tag, fresh) : read_old(command, file, tag);
    if (code != EXIT_OK)
        budget_file_close(file);
    return code;
}

pml_status budget_unlimited(pml_budget *budget, const pml_config *config)
{
    static const uint8_t tag[16] = "not counted";
    const pml_budget_caps gaussian = {.epsilon_gaussian = 256.0, .delta = config->delta},
                          response = {.epsilon_response = 4095.0}, floor = {.epsilon_floor = 4095.0};
    return pml_budget_create(budget, tag,
                             config->mechanism == PML_GAUSSIAN ? &gaussian
                             : config->crowd                   ? &floor
                                                               : &response);
}

pml_status budget_file_throwaway(struct budget_file *file, const pml_config *config)
{
    *file = (struct budget_file){.lock = -1};
    return budget_unlimited(&file->budget, config);
}
