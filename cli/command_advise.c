/* SPDX-License-Identifier: Apache-2.0
 * advise: which way to search fits a gallery, its users and their bytes. In: numbers, and perhaps rows of the gallery. Out:
 * one of ship, response, crowd and none, with what each would find, cost and promise. */
#include "cli/advise/advise.h"

#include <math.h>
#include <privatemail_crowd.h>
#include <stdio.h>

/* ---- options ---- */

struct number_limit {
    const char *name;
    double value, least, most;
    const char *text;
};

static exit_code check_numbers(const struct advise_question *q)
{
    static const double most_days = 36500.0, most_rate = 1e9;
    const struct number_limit limits[] = {
        {"items", (double)q->items, 1.0, 1e12, "1 to 10^12"},
        {"bytes-down", (double)q->bytes_down, 1.0, 1e12, "1 to 10^12 bytes per query"},
        {"sketch", (double)q->sketch, 8.0, PML_SKETCH_MAX, "8 to 256"},
        {"changes-per-day", q->changes, 0.0, 1e12, "0 to 10^12"},
        {"queries-per-day", q->queries, 1e-3, most_rate, "0.001 to 10^9"},
        {"days", q->days, 1e-3, most_days, "0.001 to 36500"},
        {"found", q->found, 0.01, 0.99, "0.01 to 0.99: the share of the 8 nearest that is worth a message"},
        {"epsilon", q->epsilon, PML_EPSILON_MIN, PML_EPSILON_MAX, "1e-6 to 16"},
        {"crowd-epsilon", q->crowd_epsilon, PML_EPSILON_MIN, PML_EPSILON_MAX, "1e-6 to 16"},
        {"delta", q->delta, 0x1p-50, 0.999, "1e-15 to 0.999"},
        {"threads", (double)q->threads, 0.0, 256.0, "1 to 256"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (!(limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
            return command_fail(&command_advise, EXIT_USAGE, "--%s must be %s.", limits[i].name, limits[i].text);
    }
    if (q->crowd.asked && !(q->crowd_epsilon < q->crowd.floor))
        return command_fail(
            &command_advise, EXIT_USAGE,
            "--crowd-epsilon must be below --floor: a crowd that promises less than the floor is none.");
    return EXIT_OK;
}

static exit_code parse(int argc, char **argv, struct advise_question *q)
{
    enum { OWN = 14, SKETCH = 2, THREADS = 12 };
    struct option_spec specs[OWN + CROWD_OPTIONS] = {
        {"items", OPTION_COUNT, &q->items, true, false},
        {"bytes-down", OPTION_COUNT, &q->bytes_down, true, false},
        [SKETCH] = {"sketch", OPTION_COUNT, &q->sketch, false, false},
        {"changes-per-day", OPTION_NUMBER, &q->changes, false, false},
        {"queries-per-day", OPTION_NUMBER, &q->queries, false, false},
        {"days", OPTION_NUMBER, &q->days, false, false},
        {"found", OPTION_NUMBER, &q->found, false, false},
        {"epsilon", OPTION_NUMBER, &q->epsilon, false, false},
        {"crowd-epsilon", OPTION_NUMBER, &q->crowd_epsilon, false, false},
        {"delta", OPTION_NUMBER, &q->delta, false, false},
        {"features", OPTION_TEXT, &q->features, false, false},
        {"seed", OPTION_COUNT, &q->seed, false, false},
        [THREADS] = {"threads", OPTION_COUNT, &q->threads, false, false},
        {"json", OPTION_FLAG, &q->json, false, false},
    };
    crowd_options_fill(&q->crowd, specs + OWN);
    specs[OWN + CROWD_CLIENTS].name = "users";
    exit_code code = options_parse(&command_advise, argc, argv, specs, OWN + CROWD_PLAN_OPTIONS, NULL, 0, 0);
    if (!specs[OWN + CROWD_HONEST].given && q->crowd.clients == 1)
        q->crowd.honest = 1.0; /* one person, who is honest to himself: no crowd fits, which the advice says */
    if (code == EXIT_OK)
        code = crowd_options_check(&command_advise, &q->crowd, specs + OWN, true);
    if (code == EXIT_OK && specs[THREADS].given && q->threads == 0)
        return command_fail(&command_advise, EXIT_USAGE, "--threads must not be 0. Leave it out for the default.");
    q->sketch_given = specs[SKETCH].given;
    return code == EXIT_OK ? check_numbers(q) : code;
}

/* ---- command ---- */

static exit_code consider(const struct advise_question *question, struct advise_measure *measure,
                          struct advise_advice *advice)
{
    struct advise_way *ways = advice->ways;
    if (measure) {
        advice->measured_rows = advise_measure_gallery(measure);
        advice->measured_queries = advise_measure_queries(measure);
    }
    exit_code code = advise_ship(question, measure, &ways[ADVISE_SHIP]);
    if (code == EXIT_OK)
        code = advise_response(question, measure, &ways[ADVISE_RESPONSE]);
    if (code == EXIT_OK)
        code = advise_crowd(question, measure, &ways[ADVISE_CROWD]);
    if (code != EXIT_OK)
        return code;
    if (measure && isnan(ways[ADVISE_RESPONSE].found) && isnan(ways[ADVISE_CROWD].found)) {
        fprintf(stderr,
                "privatemail advise: answers of this share hold fewer than 32 of the %zu rows that were dealt to the "
                "gallery, so nothing was measured. Give a file with more rows.\n",
                advise_measure_gallery(measure));
        advice->measured_rows = advice->measured_queries = 0;
    }
    advise_none(question, &ways[ADVISE_RESPONSE], &ways[ADVISE_NONE]);
    advise_choose(question, advice);
    return EXIT_OK;
}

static exit_code run(int argc, char **argv)
{
    struct advise_question question = {.sketch = 131,
                                       .queries = 1.0,
                                       .days = 30.0,
                                       .found = 0.5,
                                       .epsilon = 4.0,
                                       .crowd_epsilon = 1.0,
                                       .delta = CROWD_DELTA_DEFAULT};
    struct advise_measure *measure = NULL;
    struct advise_advice advice = {.choice = ADVISE_NONE};
    exit_code code = parse(argc, argv, &question);
    if (code == EXIT_OK && question.features)
        code = advise_measure_open(&measure, &question);
    if (code == EXIT_OK)
        code = consider(&question, measure, &advice);
    advise_measure_close(measure);
    if (code == EXIT_OK)
        (question.json ? advise_write : advise_print)(&question, &advice);
    return code;
}

static const char help[] =
    "Usage: privatemail advise --items N --bytes-down B [OPTIONS]\n\n"
    "Says which way to search fits: ship the whole index to the devices and ask nothing, ask alone (response), ask in\n"
    "a crowd, or do not ask at all. Shows for each way what it finds at most, by the ceilings that no method can\n"
    "exceed, and with --features what it really found.\n\n"
    "Options:\n"
    "  --items N              items of the gallery, 1 to 10^12\n"
    "  --bytes-down B         bytes that may come down per query, without payloads\n"
    "  --queries-per-day Q    of one device, 0.001 to 10^9. Default: 1\n"
    "  --changes-per-day C    items that come or go, 0 to 10^12. Default: 0\n"
    "  --days D               over which a device's first download of the index is spread. Default: 30\n"
    "  --found P              share of the 8 nearest that is worth a message, 0.01 to 0.99. Default: 0.5\n"
    "  --epsilon E            the most that a message of its own may tell, 1e-6 to 16. Default: 4\n"
    "  --users N              people who ask in one epoch through a relay that somebody else than the server runs, 1\n"
    "                         to 4294967296. Without it no crowd is considered\n"
    "  --crowd-epsilon E      the most that a message in the crowd may tell the server, below the floor. Default: 1\n"
    "  --delta D, --floor E0, --honest H, --copies-max V, --noise WHO\n"
    "                         of the crowd, see privatemail crowd --help. --noise relay needs no --users\n"
    "  --sketch L             bytes of a sketch, 8 to 256. Default: 131\n"
    "  --features F.npy       rows of the gallery, 400 or more: response and crowd are measured on them, as "
    "privatemail\n"
    "                         evaluate does\n"
    "  --seed N               how these rows are dealt out. Default: 0\n"
    "  --threads N            1 to 256. Default: the number of processors\n"
    "  --json                 JSON on stdout instead of text (docs/CLI.md). Default: text\n"
    "  --help                 this text\n\n"
    "Exit codes: 0 a way was chosen, be it none, 2 wrong options, 3 the features cannot be read or do not fit, 4 "
    "stdout\n"
    "cannot be written, 7 no entropy or out of memory.\n\n"
    "Example: privatemail advise --items 100000 --bytes-down 200000 --users 50000\n";

const struct command command_advise = {"advise", "say which way to search fits", help, run};
