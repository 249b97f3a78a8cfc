/* SPDX-License-Identifier: Apache-2.0
 * Finds the kind of store that a URI's scheme names, and calls it. */
#include "store.h"
#include "common/message.h"
#include "store_content.h"
#include "store_kind.h"

#include <stdio.h>
#include <string.h>

static const struct pml_store_kind *const kinds[] = {&pml_store_sqlite, &pml_store_postgres};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The kind, and in *target what follows the colon; NULL with a message. */
static const struct pml_store_kind *find_kind(const char *uri, const char **target, struct pml_message *message)
{
    char forms[128] = "";
    const char *colon = strchr(uri, ':');
    for (size_t i = 0; i < KINDS; i++) {
        size_t length = strlen(kinds[i]->scheme);
        if (colon && (size_t)(colon - uri) == length && memcmp(uri, kinds[i]->scheme, length) == 0 && colon[1] != 0) {
            *target = colon + 1;
            return kinds[i];
        }
        strncat(forms, i > 0 ? " or " : "", sizeof forms - strlen(forms) - 1);
        strncat(forms, kinds[i]->form, sizeof forms - strlen(forms) - 1);
    }
    /* only the scheme: behind it there may be a password */
    const size_t length = strcspn(uri, ":");
    pml_say(message, "'%.*s' does not name a store: it must be %s.", (int)(length < 200 ? length : 200), uri, forms);
    return NULL;
}

pml_outcome pml_store_check(const char *uri, struct pml_message *message)
{
    const char *target;
    return find_kind(uri, &target, message) ? PML_DONE : PML_REFUSED;
}

bool pml_store_shared(const char *uri)
{
    const char *target;
    const struct pml_store_kind *kind = find_kind(uri, &target, NULL);
    return kind && kind->shared;
}

void pml_store_show(const char *uri, char shown[PML_STORE_SHOWN_MAX])
{
    const char *target;
    const struct pml_store_kind *kind = find_kind(uri, &target, NULL);
    if (kind && kind->show)
        kind->show(target, shown);
    else
        snprintf(shown, PML_STORE_SHOWN_MAX, "%s", uri);
}

enum pml_cell_lists_kind pml_store_cell_lists(const struct pml_store_info *info)
{
    return info->share > 0 ? PML_LISTS_SHARE : info->cells_per_item > 0 ? PML_LISTS_OWN : PML_LISTS_NONE;
}

pml_outcome pml_store_open(struct pml_store **store, const char *uri, const uint8_t *pack, struct pml_message *message)
{
    const char *target;
    const struct pml_store_kind *kind = find_kind(uri, &target, message);
    *store = NULL;
    pml_outcome outcome = kind ? kind->open(store, target, pack, message) : PML_REFUSED;
    if (outcome == PML_DONE)
        (*store)->kind = kind;
    return outcome;
}

void pml_store_close(struct pml_store *store)
{
    if (store)
        store->kind->close(store);
}

const struct pml_store_info *pml_store_describe(const struct pml_store *store)
{
    return &store->info;
}

pml_outcome pml_store_cells(struct pml_store *store, const struct pml_cell *cells, size_t count, pml_take_fn take,
                            void *context)
{
    const struct pml_wanted wanted = {.cells = cells, .count = count};
    return count > 0 ? store->kind->read(store, &wanted, take, context) : PML_DONE;
}

pml_outcome pml_store_nearest(struct pml_store *store, const struct pml_point *points, size_t count, uint32_t nearest,
                              pml_take_fn take, void *context)
{
    const struct pml_wanted wanted = {.points = points, .nearest = nearest, .count = count};
    if (store->info.dimensions == 0)
        return PML_ABSENT;
    return count > 0 ? store->kind->read(store, &wanted, take, context) : PML_DONE;
}

pml_outcome pml_store_items(struct pml_store *store, pml_take_fn take, void *context)
{
    return store->kind->items(store, take, context);
}

pml_outcome pml_store_cell_size(struct pml_store *store, struct pml_cell cell, uint64_t *size)
{
    return store->kind->cell_size(store, cell, size);
}

pml_outcome pml_store_sizes(struct pml_store *store, enum pml_sized sized, pml_size_fn take, void *context)
{
    return store->kind->sizes(store, sized, take, context);
}

pml_outcome pml_store_ping(struct pml_store *store)
{
    return store->kind->ping(store);
}

pml_outcome pml_store_begin(struct pml_store_writer **writer, const char *uri, const struct pml_store_info *info,
                            const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message)
{
    const char *target;
    const struct pml_store_kind *kind = find_kind(uri, &target, message);
    *writer = NULL;
    pml_outcome outcome = kind ? kind->begin(writer, target, info, source, force, done, message) : PML_REFUSED;
    if (outcome == PML_DONE)
        (*writer)->kind = kind;
    return outcome;
}

pml_outcome pml_store_add(struct pml_store_writer *writer, const struct pml_store_item *item,
                          struct pml_message *message)
{
    pml_outcome outcome = pml_store_check_item(&writer->info, item, message);
    return outcome == PML_DONE ? writer->kind->add(writer, item, message) : outcome;
}

pml_outcome pml_store_checkpoint(struct pml_store_writer *writer, struct pml_message *message)
{
    return writer->kind->checkpoint(writer, message);
}

pml_outcome pml_store_finish(struct pml_store_writer *writer, struct pml_message *message)
{
    return writer->kind->finish(writer, message);
}

void pml_store_abandon(struct pml_store_writer *writer)
{
    if (writer)
        writer->kind->abandon(writer);
}
