/* SPDX-License-Identifier: Apache-2.0
 * What the noise costs: exact normal deviates, the draws of a response, the words both are made of.
 * Never prints a deviate. */
#include "base/random.h"
#include "harness.h"
#include "privatemail_platform.h"
#include "stages/stages.h"

#include <string.h>

static const struct command command = {
    .name = "bench_noise",
    .summary = "what the noise costs",
    .help =
        "usage: bench_noise [--rounds R] [--quick] [--json]\n"
        "\n"
        "Times these draws, each by ChaCha20 with a key from the system:\n"
        "  deviates   200 exact normal deviates, rounded to integers: the noise of a Gaussian release of 100 slots\n"
        "  response   the draws of a response release of 100 slots of 8 cells\n"
        "  words      4096 random words\n"
        "\n"
        "  --rounds R  rounds, each of which measures everything once. Default 41\n"
        "  --quick     3 short rounds: shows that it runs, not how fast\n"
        "  --json      the numbers as JSON on stdout, times in microseconds with their quartiles\n"
        "\n"
        "example: taskset -c 1 build/release/bench/bench_noise\n"
        "exit codes: 0, 2 usage, 7 the system has no entropy\n",
};

enum { DEVIATES = 200, WORDS = 4096, SLOTS = 100, CELLS = 8, SHIFT = 10 };

struct noise {
    pml_random random;
    uint64_t keep;
    uint32_t (*draw)(struct noise *noise); /* returns something of what it drew */
    volatile uint32_t taken;
};

static void start(struct noise *noise)
{
    uint8_t key[32];
    if (pml_platform_entropy(NULL, key, sizeof key) != 0)
        bench_stop("the system has no entropy.");
    pml_random_start(&noise->random, key);
    memset(key, 0, sizeof key);
}

static void run(void *context, size_t repeats, double *seconds)
{
    struct noise *noise = context;
    start(noise);
    double begun = bench_now();
    for (size_t i = 0; i < repeats; i++)
        noise->taken += noise->draw(noise);
    *seconds += bench_now() - begun;
}

#if PML_WITH_GAUSSIAN
static uint32_t draw_deviates(struct noise *noise)
{
    int32_t deviates[DEVIATES];
    pml_gaussian_draw(&noise->random, SHIFT, deviates, DEVIATES);
    return (uint32_t)deviates[0];
}
#endif

#if PML_WITH_RESPONSE
static uint32_t draw_response(struct noise *noise)
{
    uint16_t others[SLOTS];
    return pml_response_draw(&noise->random, noise->keep, CELLS, SLOTS, others) + others[0];
}
#endif

static uint32_t draw_words(struct noise *noise)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < WORDS; i++)
        sum += pml_random_word(&noise->random);
    return sum;
}

static const struct {
    const char *name;
    uint32_t (*draw)(struct noise *noise);
    unsigned draws;
} kinds[] = {
#if PML_WITH_GAUSSIAN
    {"deviates", draw_deviates, DEVIATES},
#endif
#if PML_WITH_RESPONSE
    {"response", draw_response, SLOTS},
#endif
    {"words", draw_words, WORDS},
};

int main(int argc, char **argv)
{
    static struct bench bench;
    static struct noise noises[sizeof kinds / sizeof *kinds];
    struct bench_case cases[sizeof kinds / sizeof *kinds];
    struct bench_output output = {0};
    bool quick = false;
    const size_t count = sizeof kinds / sizeof *kinds;
    exit_code code = bench_options(&command, argc, argv, NULL, 0, &bench, &output, &quick);
    if (code != EXIT_OK)
        return (int)code;
    for (size_t i = 0; i < count; i++) {
        noises[i] = (struct noise){.keep = (uint64_t)1 << 39, .draw = kinds[i].draw};
        cases[i] = (struct bench_case){run, &noises[i], {kinds[i].name}};
    }
    bench_measure(&bench, cases, count, "noise");
    bench_begin(&output, command.name, &bench);
    for (size_t i = 0; i < count; i++) {
        bench_row(&output);
        bench_text(&output, "draw", kinds[i].name);
        bench_count(&output, "draws", kinds[i].draws);
        bench_times(&output, "time", &bench.results[i][0]);
        bench_number(&output, "million per second", 1e-6 * kinds[i].draws / bench.results[i][0].median);
        bench_row_end(&output);
    }
    bench_end(&output);
    pml_wipe(noises, sizeof noises);
    bench_free(&bench);
    return EXIT_OK;
}
