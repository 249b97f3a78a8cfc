/* SPDX-License-Identifier: Apache-2.0
 * Stage: the sketch (SPEC 5.13), a sparse random projection. In: a (secret) int8 row. Out: a (secret) short int8 row.
 * The projection is public and may decide branches; the row's values never do. */
#include "exact.h"
#include "stages.h"

/* Entries of the projection, two per byte below 252. */
struct entries {
    pml_random random;
    uint32_t word;
    unsigned bytes; /* of `word` still unused */
    int second;     /* the entry left over from the last byte, −1 for none */
};

static int next_entry(struct entries *e)
{
    if (e->second >= 0) {
        int entry = e->second;
        e->second = -1;
        return entry;
    }
    for (;;) {
        if (e->bytes == 0) {
            e->word = pml_random_word(&e->random);
            e->bytes = 4;
        }
        uint32_t byte = e->word & 0xFF;
        e->word >>= 8;
        e->bytes--;
        if (byte < 252) {
            e->second = (int)(byte / 6 % 6);
            return (int)(byte % 6);
        }
    }
}

int pml_sketch(const pml_pack *pack, const int8_t *row, int8_t *out)
{
    if (!pack || !row || !out || !pack_view(pack)->bytes)
        return PML_ERROR_ARGUMENT;
    const struct pack_view *v = pack_view(pack);
    if (v->L == 0)
        return PML_ERROR_SECTION;
    uint8_t key[32] = {0};
    memcpy(key, v->bytes + 88, 24);
    struct entries entries = {.second = -1};
    pml_random_start(&entries.random, key);
    int32_t sums[PML_SKETCH_MAX];
    uint64_t max = 0;
    for (size_t i = 0; i < v->L; i++) {
        int32_t sum = 0;
        for (size_t j = 0; j < v->d; j++) {
            int entry = next_entry(&entries);
            if (entry < 2)
                sum += entry == 0 ? row[j] : -row[j];
        }
        sums[i] = sum;
        uint32_t sign = 0 - ((uint32_t)sum >> 31);
        uint64_t size = ((uint32_t)sum ^ sign) - sign;
        max = select64(mask_less((int64_t)max, (int64_t)size), size, max);
    }
    max |= 1 & ~mask_nonzero(max); /* all zero: any divisor does */
    for (size_t i = 0; i < v->L; i++) {
        uint32_t sign = 0 - ((uint32_t)sums[i] >> 31);
        uint32_t size = pml_scale_127(((uint32_t)sums[i] ^ sign) - sign, max);
        out[i] = (int8_t)(int32_t)((size ^ sign) - sign);
    }
    pml_wipe(sums, sizeof sums);
    return PML_OK;
}
