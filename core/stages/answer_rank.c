/* SPDX-License-Identifier: Apache-2.0
 * Keeps the best candidates of an answer. In: a public candidate, the secret sketch and slot. Out: a sorted list.
 * Every candidate walks through the whole list with masked swaps: nothing shows which slot or which item won. */
#include "answer.h"
#include "base/exact.h"

static const pml_match empty = {UINT64_MAX, 0, 0, INT32_MIN, 0, PML_NO_SLOT};

void pml_rank_start(struct shortlist *shortlist)
{
    for (size_t i = 0; i < shortlist->capacity; i++)
        shortlist->matches[i] = empty;
}

/* yes where the mask is set */
static pml_match pick(uint64_t mask, const pml_match *yes, const pml_match *no)
{
    pml_match m;
    m.item = select64(mask, yes->item, no->item);
    m.payload_offset = select64(mask, yes->payload_offset, no->payload_offset);
    m.payload_size = select32(mask, yes->payload_size, no->payload_size);
    m.score = (int32_t)select32(mask, (uint32_t)yes->score, (uint32_t)no->score);
    m.label = (int32_t)select32(mask, (uint32_t)yes->label, (uint32_t)no->label);
    m.slot = select32(mask, yes->slot, no->slot);
    return m;
}

void pml_rank_compare(struct shortlist *shortlist, size_t at, const uint8_t *sketch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int32_t value = (int8_t)sketch[i];
        shortlist->dot += shortlist->sketch[at + i] * value;
        shortlist->squares += (uint32_t)(value * value);
    }
}

/* ⌊dot·r·r'/2^30⌋: cosine in 2^-30 */
static int32_t cosine(const struct shortlist *shortlist)
{
    uint64_t score = (uint64_t)multiply_signed(shortlist->dot, pml_inverse_sqrt(shortlist->squares));
    uint64_t product =
        multiply((uint32_t)score, shortlist->inverse) +
        (multiply((uint32_t)(score >> 32), shortlist->inverse) << 32); /* modulo 2^64, |product| ≤ 2^60 */
    const uint64_t offset = (uint64_t)1 << 62;
    return (int32_t)((int64_t)((product + offset) >> 30) - (int64_t)(offset >> 30));
}

/* a before b */
static uint64_t ranks_before(const pml_match *a, const pml_match *b)
{
    uint64_t equal = mask_equal((uint32_t)a->score, (uint32_t)b->score);
    return mask_less(b->score, a->score) | (equal & mask_less_unsigned(a->item, b->item));
}

void pml_rank_offer(struct shortlist *shortlist, pml_match candidate)
{
    candidate.score = cosine(shortlist);
    shortlist->dot = 0;
    shortlist->squares = 0;
    uint64_t counts = (shortlist->all | mask_equal(candidate.slot, shortlist->slot)) & ~shortlist->none;
    uint64_t placed = 0;
    const uint64_t item = candidate.item;
    candidate = pick(counts, &candidate, &empty);
    for (size_t i = 0; i < shortlist->capacity; i++) {
        pml_match held = shortlist->matches[i];
        uint64_t same = counts & mask_equal(held.item, item) & ~mask_equal(held.slot, PML_NO_SLOT);
        uint64_t take = ranks_before(&candidate, &held) | (same & placed);
        shortlist->matches[i] = pick(take, &candidate, &held);
        candidate = pick(take, &held, &candidate);
        candidate = pick(same, &empty, &candidate); /* of one item the better stays, the other is dropped */
        placed |= take;
    }
}

size_t pml_rank_count(const struct shortlist *shortlist)
{
    size_t count = 0;
    while (count < shortlist->capacity && shortlist->matches[count].slot != PML_NO_SLOT)
        count++;
    return count;
}
