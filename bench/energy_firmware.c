/* SPDX-License-Identifier: Apache-2.0
 * The query of bench/energy.py on a board that QEMU plays, with each set of kernels that it runs. Prints instructions per
 * stage, and what must be the same everywhere: the message and the ranked list. */
#include "energy_query.h"
#include "instruction_clock.h"
#include "report.h"
#include "semihosting.h"

#ifndef SETS_THAT_RUN /* of the list */
#define SETS_THAT_RUN PML_KERNEL_COUNT
#endif

/* energy_material.S */
extern const uint8_t energy_pack[], energy_pack_end[], energy_answer[], energy_answer_end[];
extern const float energy_features[];

#define ENTRY(name) &pml_kernels_##name,
static const struct pml_kernels *const sets[] = {PML_KERNEL_LIST(ENTRY)};

static uint32_t unit, last, ticks[ENERGY_STAGES];

static void done(enum energy_stage stage)
{
    const uint32_t now = instruction_clock_ticks();
    if (stage < ENERGY_STAGES)
        ticks[stage] = instruction_clock_between(last, now);
    last = instruction_clock_ticks();
}

static void run(const struct pml_kernels *kernels)
{
    static const char *const names[] = {"open", "init", "arm", "release", "begin", "feed", "finish"};
    static struct energy_result result;
    const struct energy_material material = {energy_pack, energy_answer, (size_t)(energy_pack_end - energy_pack),
                                             (size_t)(energy_answer_end - energy_answer), energy_features};
    const pml_status status = energy_query(&material, kernels, done, &result);
    semihosting_text("kernels ");
    semihosting_text(kernels->name);
    semihosting_text("\n");
    report_check(status == PML_OK, "query");
    for (size_t i = 0; i < ENERGY_STAGES; i++)
        report_figure(names[i], (size_t)((uint64_t)ticks[i] * 2000000 / unit));
    semihosting_text("message ");
    semihosting_hex(result.message, result.message_size);
    semihosting_text("\nmatches ");
    for (size_t i = 0; i < result.summary.found; i++) {
        semihosting_number((uint32_t)result.matches[i].item);
        semihosting_text(":");
        semihosting_hex((const uint8_t *)&result.matches[i].score, sizeof result.matches[i].score);
        semihosting_text(" ");
    }
    semihosting_text("\n");
}

int main(void)
{
    unit = instruction_clock_start();
    report_check(unit > 0, "the clock ticks");
    for (size_t i = 0; i < SETS_THAT_RUN && unit > 0; i++)
        run(sets[i]);
    return report_end();
}
