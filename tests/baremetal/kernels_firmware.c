/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the one list on the chip itself: each against the portable one, and the instructions that it takes for
 * 16 rows of 512 values when the emulator counts them (instruction_clock.h). */
#include "base/kernels.h"
#include "instruction_clock.h"
#include "report.h"

/* How many sets of the list this chip runs, where it was not said when the kernels were compiled. */
#ifndef SETS_THAT_RUN
#define SETS_THAT_RUN PML_KERNEL_COUNT
#endif

#define COLUMNS_MOST 1000u
#define ROWS_MOST 16u
#define MEASURED_COLUMNS 512u
#define REPEATS 64u

struct set {
    const struct pml_kernels *kernels;
    const char *equality, *figure;
};

#define ENTRY(name) {&pml_kernels_##name, "kernels " #name " equal the portable ones", "instructions-" #name},
static const struct set sets[] = {PML_KERNEL_LIST(ENTRY)};

static int8_t query[COLUMNS_MOST + 16], rows[ROWS_MOST * COLUMNS_MOST + 16];

/* ---- equality ---- */

static uint32_t draw(void)
{
    static uint32_t state = 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void fill(uint32_t kind)
{
    for (size_t i = 0; i < sizeof query; i++)
        query[i] = (int8_t)(kind == 0 ? (int32_t)(draw() % 255) - 127 : draw() % 2 == 0 ? 127 : -127);
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (int8_t)(kind == 0 ? (int32_t)(draw() % 256) - 128 : draw() % 2 == 0 ? 127 : -128);
}

static bool equals_portable(const struct pml_kernels *kernels, size_t count, size_t row_count, size_t shift)
{
    int32_t wanted[ROWS_MOST], got[ROWS_MOST + 1];
    got[row_count] = 0x5AFE;
    pml_dots_s8_portable(query + shift, rows + 3 * shift % 16, count, row_count, wanted);
    kernels->dots_s8(query + shift, rows + 3 * shift % 16, count, row_count, got);
    for (size_t i = 0; i < row_count; i++)
        if (got[i] != wanted[i])
            return false;
    return got[row_count] == 0x5AFE;
}

static void check(const struct set *set)
{
    size_t good = 0, all = 0;
    for (uint32_t kind = 0; kind < 2; kind++) {
        fill(kind);
        for (size_t count = 1; count <= 200; count++)
            for (size_t row_count = 1; row_count <= 6; row_count++, all++)
                good += equals_portable(set->kernels, count, row_count, count % 16);
        for (size_t shift = 0; shift < 16; shift++, all++)
            good += equals_portable(set->kernels, COLUMNS_MOST, ROWS_MOST, shift);
    }
    report_share(good, all, set->equality);
}

/* ---- instructions ---- */

static void measure(const struct set *set, uint32_t unit)
{
    int32_t out[ROWS_MOST];
    uint32_t start = instruction_clock_ticks();
    for (size_t i = 0; i < REPEATS; i++)
        set->kernels->dots_s8(query, rows, MEASURED_COLUMNS, ROWS_MOST, out);
    uint64_t instructions = (uint64_t)instruction_clock_between(start, instruction_clock_ticks()) * 2000000 / unit;
    report_figure(set->figure, (size_t)(instructions / REPEATS));
}

int main(void)
{
    const uint32_t unit = instruction_clock_start();
    for (size_t i = 0; i < SETS_THAT_RUN; i++) {
        check(sets + i);
        if (unit > 0) /* without -icount the clock may stand still, or mean nothing */
            measure(sets + i, unit);
    }
    return report_end();
}
