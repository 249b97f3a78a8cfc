/* SPDX-License-Identifier: Apache-2.0
 * Stage: the likeliest labels (SPEC 5.19). In: a secret row and a public head of any author. Out: secret guesses, the best
 * first. Reads every row of the head once, in order, and keeps the best by masks: time and addresses depend on the head and
 * the number of guesses only. */
#include "base/exact.h"
#include "pack/front.h"
#include "stages.h"

/* Labels come in ascending order, so of equal scores the earlier one stays before the later one. Once the new guess has
 * found its place, all behind it move by one, equal or not. */
static void insert(pml_guess *guesses, size_t count, int32_t label, int64_t score)
{
    uint64_t found = 0;
    size_t i = 0;
    do { /* at least one: a loop that may be empty is asked for it in the middle of the arithmetic */
        const pml_guess held = guesses[i];
        found |= mask_less(held.score, score);
        guesses[i].label = (int32_t)select32(found, (uint32_t)label, (uint32_t)held.label);
        guesses[i].score = (int64_t)select64(found, (uint64_t)score, (uint64_t)held.score);
        label = (int32_t)select32(found, (uint32_t)held.label, (uint32_t)label);
        score = (int64_t)select64(found, (uint64_t)held.score, (uint64_t)score);
    } while (++i < count);
}

void pml_head_guess(const pml_front *head, const struct pml_kernels *kernels, const int8_t *row, pml_guess *guesses,
                    size_t count)
{
    const uint32_t inverse = pml_inverse_norm(row, head->inputs);
    int32_t dots[PML_KERNEL_ROWS];
    for (size_t i = 0; i < count; i++)
        guesses[i] = (pml_guess){.score = -((int64_t)1 << 62)};
    for (size_t at = 0; at < head->outputs; at += PML_KERNEL_ROWS) {
        const size_t rows = head->outputs - at < PML_KERNEL_ROWS ? head->outputs - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, head->values + at * head->inputs, head->inputs, rows, dots);
        for (size_t i = 0; i < rows; i++)
            insert(guesses, count, head_label(head, at + i), matrix_sum(head, at + i, dots[i], inverse));
    }
    pml_wipe(dots, sizeof dots);
}
