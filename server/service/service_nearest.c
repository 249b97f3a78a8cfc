/* SPDX-License-Identifier: Apache-2.0
 * What the slots get for a Gaussian release (SPEC 6.5). The nearest items are found in memory; their candidates come from
 * pages, all of them in one reading of the store. */
#include "service_state.h"

#include <stdlib.h>

/* The items that a slot gets, and the pages that have their candidates. */
struct chosen {
    struct pml_near *near; /* nearest first; then by item, with their ranks in `row` */
    size_t count;
    size_t first_page, page_count; /* among the pages of the answer */
};

struct answer {
    const struct pml_service *service;
    struct chosen *slots;
    struct pml_name *names; /* of pages */
    struct pml_part **pages;
    size_t page_count, page_room;
};

static int by_item(const void *left, const void *right)
{
    const struct pml_near *a = left, *b = right;
    return (a->item > b->item) - (a->item < b->item);
}

/* Items ascend, so those of one page follow each other. */
static pml_outcome choose_pages(struct answer *answer, const struct pml_places *places, struct chosen *chosen)
{
    chosen->first_page = answer->page_count;
    if (answer->page_count + chosen->count > answer->page_room) {
        const size_t room = 2 * (answer->page_count + chosen->count);
        struct pml_name *names = realloc(answer->names, room * sizeof *names);
        if (!names)
            return PML_NO_MEMORY;
        answer->names = names;
        answer->page_room = room;
    }
    const struct pml_page *last = NULL;
    for (size_t i = 0; i < chosen->count; i++) {
        const struct pml_page *page = pml_places_page(places, chosen->near[i].item);
        if (page != last)
            answer->names[answer->page_count++] = page->name;
        last = page;
    }
    chosen->page_count = answer->page_count - chosen->first_page;
    return PML_DONE;
}

static pml_outcome choose(struct answer *answer, uint32_t slot, const double *place)
{
    const struct pml_places *places = pml_service_places(answer->service, slot);
    struct chosen *chosen = &answer->slots[slot];
    const pml_outcome outcome =
        pml_places_nearest(places, place, answer->service->options.nearest, &chosen->near, &chosen->count);
    if (outcome != PML_DONE)
        return outcome;
    for (size_t i = 0; i < chosen->count; i++)
        chosen->near[i].row = i;
    qsort(chosen->near, chosen->count, sizeof *chosen->near, by_item);
    return choose_pages(answer, places, chosen);
}

/* The candidates of the chosen items, nearest first. Pages and items both ascend. */
static bool find_candidates(const struct answer *answer, uint32_t slot, struct pml_candidate *candidates)
{
    const struct chosen *chosen = &answer->slots[slot];
    size_t next = 0;
    for (size_t i = 0; i < chosen->page_count; i++) {
        const struct pml_part *page = answer->pages[chosen->first_page + i];
        struct pml_candidate candidate;
        struct pml_list list;
        if (!pml_list_open(&list, &answer->service->info, page->bytes, page->size, 0) || list.slot != slot)
            return false;
        while (next < chosen->count && pml_list_next(&list, &candidate))
            if (candidate.item == chosen->near[next].item)
                candidates[chosen->near[next++].row] = candidate;
    }
    return next == chosen->count;
}

static pml_outcome write_slot(const struct answer *answer, uint32_t slot, struct pml_part **part)
{
    const size_t count = answer->slots[slot].count;
    struct pml_candidate *candidates = malloc((count + 1) * sizeof *candidates);
    struct pml_bytes bytes = {0};
    pml_outcome outcome = !candidates                                 ? PML_NO_MEMORY
                          : find_candidates(answer, slot, candidates) ? PML_DONE
                                                                      : PML_DAMAGED;
    if (outcome == PML_DONE)
        outcome = pml_answer_write_list(&bytes, &answer->service->info, slot, candidates, count);
    if (outcome == PML_DONE && !(*part = pml_part_copy(bytes.bytes, bytes.size)))
        outcome = PML_NO_MEMORY;
    pml_bytes_free(&bytes);
    free(candidates);
    return outcome;
}

static pml_outcome answer_places(struct answer *answer, const double *places, struct pml_part **parts, bool *touched)
{
    const pml_pack_info *info = &answer->service->info;
    pml_outcome outcome = PML_DONE;
    for (uint32_t slot = 0; slot < info->slots && outcome == PML_DONE; slot++)
        outcome = choose(answer, slot, places + (size_t)slot * info->dimensions);
    if (outcome != PML_DONE)
        return outcome;
    answer->pages = calloc(answer->page_count + 1, sizeof(struct pml_part *));
    if (!answer->pages)
        return PML_NO_MEMORY;
    outcome = pml_service_fetch(answer->service, answer->names, answer->page_count, answer->pages, touched);
    for (uint32_t slot = 0; slot < info->slots && outcome == PML_DONE; slot++)
        outcome = write_slot(answer, slot, &parts[slot]);
    return outcome;
}

pml_outcome pml_service_nearest(const struct pml_service *service, const pml_release_view *view,
                                struct pml_part **parts, bool *touched)
{
    const size_t slots = service->info.slots;
    struct answer answer = {.service = service, .slots = calloc(slots, sizeof *answer.slots)};
    double *places = malloc(slots * service->info.dimensions * sizeof *places);
    pml_outcome outcome = answer.slots && places ? pml_service_place(service, view, places) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = answer_places(&answer, places, parts, touched);
    for (size_t i = 0; i < answer.page_count && answer.pages; i++)
        pml_part_unref(answer.pages[i]);
    for (size_t slot = 0; slot < slots && answer.slots; slot++)
        free(answer.slots[slot].near);
    free(answer.slots);
    free(answer.names);
    free(answer.pages);
    free(places);
    return outcome;
}
