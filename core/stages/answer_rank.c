/* SPDX-License-Identifier: Apache-2.0
 * Keeps the best candidates of an answer. In: a public candidate, the secret sketch and slot. Out: a sorted list.
 * Every candidate walks through the whole list with masked swaps: nothing shows which slot or which item won. */
#include "answer.h"
#include "base/exact.h"

static const pml_match empty = {UINT64_MAX, 0, 0, INT32_MIN, 0, PML_NO_SLOT};

void pml_rank_start(struct shortlist *shortlist)
{
    shortlist->compared = PML_COMPARED_START;
    for (size_t i = 0; i < shortlist->capacity; i++)
        shortlist->matches[i] = empty;
}

/* A match as words: fewer instructions choose between two. */
union entry {
    pml_match match;
    uint64_t words[4];
};
_Static_assert(sizeof(pml_match) == sizeof((union entry *)0)->words, "a match has no other bytes");
_Static_assert(offsetof(pml_match, item) == 0 && offsetof(pml_match, score) / 8 == 2, "where drop finds them");

/* Changes places where the mask is set. */
static void swap(uint64_t mask, union entry *a, union entry *b)
{
    for (size_t i = 0; i < 4; i++) {
        const uint64_t change = mask & (a->words[i] ^ b->words[i]);
        a->words[i] ^= change;
        b->words[i] ^= change;
    }
}

/* Where the mask is set it ranks before nothing any more, not even before an empty entry: so it is never kept. Words 0 and
 * 2 have its item and its score. */
static void drop(uint64_t mask, union entry *candidate)
{
    const union entry none = {empty};
    candidate->words[0] = select64(mask, none.words[0], candidate->words[0]);
    candidate->words[2] = select64(mask, none.words[2], candidate->words[2]);
}

void pml_rank_compare(struct shortlist *shortlist, size_t at, const uint8_t *sketch, size_t count)
{
    struct pml_compared *compared = &shortlist->compared;
    if (shortlist->coded.directions > 0) {
        PML_KERNEL(shortlist->kernels, compare)(&shortlist->coded, sketch, count, compared);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int32_t value = (int8_t)sketch[i];
        compared->dot += shortlist->sketch[at + i] * value;
        compared->squares += (uint32_t)(value * value);
    }
}

/* Cosine in 2^-30: ⌊dot·r·r'/2^30⌋ of plain sketches, and ⌊dot·r/2^12⌋ of coded ones, which the pack of a hostile author
 * could make larger than 1. */
static int32_t cosine(const struct shortlist *shortlist)
{
    const int64_t one = (int64_t)1 << 30;
    const uint64_t offset = (uint64_t)1 << 62; /* makes what is shifted positive */
    const bool coded = shortlist->coded.directions > 0;
    const int64_t score = multiply_signed(shortlist->compared.dot, pml_inverse_sqrt(shortlist->compared.squares));
    const uint64_t product = (uint64_t)(coded ? score : cosine_of(score, shortlist->inverse)) + offset;
    int64_t value = (int64_t)(coded ? product >> 12 : product >> 30) - (int64_t)(coded ? offset >> 12 : offset >> 30);
    value = (int64_t)select64(mask_less(one, value), (uint64_t)one, (uint64_t)value);
    return (int32_t)select64(mask_less(value, -one), (uint64_t)-one, (uint64_t)value);
}

/* a before b */
static uint64_t ranks_before(const pml_match *a, const pml_match *b)
{
    uint64_t equal = mask_equal((uint32_t)a->score, (uint32_t)b->score);
    return mask_less(b->score, a->score) | (equal & mask_less_unsigned(a->item, b->item));
}

void pml_rank_offer(struct shortlist *shortlist, const pml_match *offered, bool again)
{
    union entry candidate = {*offered};
    candidate.match.score = cosine(shortlist);
    shortlist->compared = PML_COMPARED_START;
    const uint64_t counts = (shortlist->all | mask_equal(offered->slot, shortlist->slot)) & ~shortlist->none;
    uint64_t placed = 0;
    drop(~counts, &candidate);
    for (size_t i = 0; i < shortlist->capacity; i++) {
        union entry held = {shortlist->matches[i]};
        /* Items that come once come in ascending order, so of equal scores the first stays; behind the new one all move. */
        uint64_t take = placed | mask_less(held.match.score, candidate.match.score), same = 0;
        if (again) {
            same = counts & mask_equal(held.match.item, offered->item) & ~mask_equal(held.match.slot, PML_NO_SLOT);
            take = ranks_before(&candidate.match, &held.match) | (same & placed);
        }
        swap(take, &candidate, &held);
        shortlist->matches[i] = held.match;
        if (again)
            drop(same, &candidate); /* of one item the better stays */
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
