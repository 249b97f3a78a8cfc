/* SPDX-License-Identifier: Apache-2.0
 * In: a URI. Out: the kind of store that its scheme names does the rest.
 * Never knows how a store keeps its items. */
#include "store.h"
#include "common/message.h"
#include "store_content.h"
#include "store_kind.h"

#include <stdio.h>
#include <string.h>

static const struct pml_store_kind *const kinds[] = {&pml_store_sqlite, &pml_store_postgres};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The kind, and in *place what follows the colon; NULL with a message. */
static const struct pml_store_kind *find_kind(const char *uri, const char **place, struct pml_message *message)
{
    char forms[128] = "";
    const char *colon = strchr(uri, ':');
    for (size_t i = 0; i < KINDS; i++) {
        size_t length = strlen(kinds[i]->scheme);
        if (colon && (size_t)(colon - uri) == length && memcmp(uri, kinds[i]->scheme, length) == 0 && colon[1] != 0) {
            *place = colon + 1;
            return kinds[i];
        }
        strncat(forms, i > 0 ? " or " : "", sizeof forms - strlen(forms) - 1);
        strncat(forms, kinds[i]->form, sizeof forms - strlen(forms) - 1);
    }
    /* only the scheme: behind it there may be a password */
    const size_t length = strcspn(uri, ":");
    pml_say(message, "'%.*s' names no store: it must be %s.", (int)(length < 200 ? length : 200), uri, forms);
    return NULL;
}

int pml_store_check(const char *uri, struct pml_message *message)
{
    const char *place;
    return find_kind(uri, &place, message) ? 0 : -1;
}

bool pml_store_shared(const char *uri)
{
    const char *place;
    const struct pml_store_kind *kind = find_kind(uri, &place, NULL);
    return kind && kind->shared;
}

void pml_store_show(const char *uri, char shown[PML_STORE_SHOWN_MAX])
{
    const char *place;
    const struct pml_store_kind *kind = find_kind(uri, &place, NULL);
    if (kind && kind->show)
        kind->show(place, shown);
    else
        snprintf(shown, PML_STORE_SHOWN_MAX, "%s", uri);
}

enum pml_lists pml_store_lists(const struct pml_store_info *info)
{
    return info->share > 0 ? PML_LISTS_SHARE : info->cells_per_item > 0 ? PML_LISTS_OWN : PML_LISTS_NONE;
}

int pml_store_open(struct pml_store **store, const char *uri, const uint8_t *pack, struct pml_message *message)
{
    const char *place;
    const struct pml_store_kind *kind = find_kind(uri, &place, message);
    *store = NULL;
    int status = kind ? kind->open(store, place, pack, message) : -1;
    if (status == 0)
        (*store)->kind = kind;
    return status;
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

int pml_store_cell(struct pml_store *store, uint32_t slot, uint32_t cell, struct pml_fragment *fragment)
{
    return store->kind->cell(store, slot, cell, fragment);
}

int pml_store_cell_size(struct pml_store *store, uint32_t slot, uint32_t cell, uint64_t *size)
{
    return store->kind->cell_size(store, slot, cell, size);
}

int pml_store_nearest(struct pml_store *store, uint32_t slot, const double *place, uint32_t count,
                      struct pml_fragment *fragment)
{
    return store->kind->nearest(store, slot, place, count, fragment);
}

int pml_store_ping(struct pml_store *store)
{
    return store->kind->ping(store);
}

int pml_store_begin(struct pml_store_writer **writer, const char *uri, const struct pml_store_info *info,
                    const uint8_t source[32], bool force, uint64_t *done, struct pml_message *message)
{
    const char *place;
    const struct pml_store_kind *kind = find_kind(uri, &place, message);
    *writer = NULL;
    int status = kind ? kind->begin(writer, place, info, source, force, done, message) : -1;
    if (status == 0)
        (*writer)->kind = kind;
    return status;
}

int pml_store_add(struct pml_store_writer *writer, const struct pml_store_item *item, struct pml_message *message)
{
    int status = pml_store_check_item(&writer->info, item, message);
    return status == 0 ? writer->kind->add(writer, item, message) : status;
}

int pml_store_checkpoint(struct pml_store_writer *writer, struct pml_message *message)
{
    return writer->kind->checkpoint(writer, message);
}

int pml_store_finish(struct pml_store_writer *writer, struct pml_message *message)
{
    return writer->kind->finish(writer, message);
}

void pml_store_abandon(struct pml_store_writer *writer)
{
    if (writer)
        writer->kind->abandon(writer);
}
