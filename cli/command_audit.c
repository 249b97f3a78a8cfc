/* SPDX-License-Identifier: Apache-2.0
 * audit: attacks releases as a stranger would. In: a pack and the promised ε. Out: an ε that the true one is at least, as
 * the releases prove; a smaller promise is broken. */
#include "cli/shared/crowd_policy.h"
#include "common/clock.h"
#include "lab/audit/audit_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CONFIDENCE 0.999
#define SECONDS_MAX 1e6
enum { TRIALS_MIN = 1000, TRIALS_MAX = 1000000000, PILOT_MAX = 1000000, PAIRS_DEFAULT = 16, PARTS_MAX = 262144 };

struct arguments {
    const char *pack, *mechanism, *modality;
    double epsilon, delta, seconds;
    uint64_t trials, seed_pairs;
    struct crowd_arguments crowd;
    bool has_epsilon, has_delta, has_seconds, has_seed_pairs, json;
};

struct audit {
    const struct arguments *arguments;
    struct pack_file file;
    struct audit_bench bench;
    struct crowd_promise promise; /* ε and δ that are attacked; of the crowd, if there is one */
    struct audit_pool pool;
    struct audit_pair pairs[AUDIT_PAIRS_MAX]; /* the first is the one that counts, once it is found */
    struct audit_verdict verdict;
    double start, seconds;
};

/* ---- options ---- */

static exit_code check_promise(struct arguments *arguments)
{
    const bool crowd = arguments->crowd.asked;
    if (!arguments->mechanism && !crowd)
        return command_fail(&command_audit, EXIT_USAGE, "--mechanism is missing. Give response or gaussian.");
    if (!arguments->mechanism)
        arguments->mechanism = "response";
    const bool gaussian = strcmp(arguments->mechanism, "gaussian") == 0;
    if (!gaussian && strcmp(arguments->mechanism, "response") != 0)
        return command_fail(&command_audit, EXIT_USAGE, "--mechanism must be response or gaussian, not '%s'.",
                            arguments->mechanism);
    if (crowd && gaussian)
        return command_fail(&command_audit, EXIT_USAGE, "a crowd asks by response. Leave --mechanism out.");
    if (!arguments->has_epsilon && !crowd)
        return command_fail(&command_audit, EXIT_USAGE, "--epsilon is missing. Give the promise that is attacked.");
    if (arguments->has_epsilon && !(arguments->epsilon >= PML_EPSILON_MIN && arguments->epsilon <= PML_EPSILON_MAX))
        return command_fail(&command_audit, EXIT_USAGE, "--epsilon must be 1e-6 to 16.");
    if (!gaussian && !crowd && arguments->has_delta)
        return command_fail(&command_audit, EXIT_USAGE,
                            "--delta belongs to --mechanism gaussian. Leave it out: response has none.");
    if (!arguments->has_delta)
        arguments->delta = gaussian ? 1e-5 : crowd ? CROWD_DELTA_DEFAULT : 0.0;
    if ((gaussian || crowd) && !(arguments->delta >= 0x1p-50 && arguments->delta < 1.0))
        return command_fail(&command_audit, EXIT_USAGE, "--delta must be 1e-15 to below 1; %g is the default.",
                            gaussian ? 1e-5 : CROWD_DELTA_DEFAULT);
    return EXIT_OK;
}

static exit_code check(struct arguments *arguments)
{
    if (arguments->trials < TRIALS_MIN || arguments->trials > TRIALS_MAX)
        return command_fail(&command_audit, EXIT_USAGE, "--trials must be %d to %d.", TRIALS_MIN, TRIALS_MAX);
    if (arguments->has_seconds && !(arguments->seconds > 0.0 && arguments->seconds <= SECONDS_MAX))
        return command_fail(&command_audit, EXIT_USAGE, "--seconds must be above 0 and at most 1e6.");
    if (!arguments->has_seed_pairs)
        arguments->seed_pairs = PAIRS_DEFAULT;
    if (arguments->seed_pairs < AUDIT_PAIRS_MIN || arguments->seed_pairs > AUDIT_PAIRS_MAX)
        return command_fail(&command_audit, EXIT_USAGE, "--seed-pairs must be %d to %d.", AUDIT_PAIRS_MIN,
                            AUDIT_PAIRS_MAX);
    return EXIT_OK;
}

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    enum { OWN = 9 };
    struct option_spec specs[OWN + CROWD_OPTIONS] = {
        {"delta", OPTION_NUMBER, &arguments->delta, false, false},
        {"seconds", OPTION_NUMBER, &arguments->seconds, false, false},
        {"seed-pairs", OPTION_COUNT, &arguments->seed_pairs, false, false},
        {"epsilon", OPTION_NUMBER, &arguments->epsilon, false, false},
        {"pack", OPTION_TEXT, &arguments->pack, true, false},
        {"mechanism", OPTION_TEXT, &arguments->mechanism, false, false},
        {"trials", OPTION_COUNT, &arguments->trials, true, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
        {"modality", OPTION_TEXT, &arguments->modality, false, false},
    };
    crowd_options_fill(&arguments->crowd, specs + OWN);
    exit_code code = options_parse(&command_audit, argc, argv, specs, OWN + CROWD_OPTIONS, NULL, 0, 0);
    arguments->has_delta = specs[0].given;
    arguments->has_seconds = specs[1].given;
    arguments->has_seed_pairs = specs[2].given;
    arguments->has_epsilon = specs[3].given;
    if (code == EXIT_OK)
        code = crowd_options_check(&command_audit, &arguments->crowd, specs + OWN, arguments->has_epsilon);
    if (code == EXIT_OK)
        code = check_promise(arguments);
    return code == EXIT_OK ? check(arguments) : code;
}

/* ---- the audit ---- */

/* The point in time when this share of the remaining time is over. */
static double deadline(const struct audit *audit, double share)
{
    double now = pml_clock_now(), end = audit->start + audit->arguments->seconds;
    return audit->arguments->has_seconds ? now + share * (end - now) : INFINITY;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Of a crowd's client, the pair that releases of the floor alone tell apart best: its cells differ. */
static pml_status find_pair(struct audit *audit)
{
    return audit_pairs_search(&audit->bench, audit->pairs, (size_t)audit->arguments->seed_pairs,
                              clamp(audit->arguments->trials / 200, 600, 3000), deadline(audit, 0.2));
}

static pml_status measure(struct audit *audit)
{
    uint64_t trials = audit->arguments->trials, pilot = clamp(trials / 20, 1, PILOT_MAX);
    struct audit_plan plan = {.trials = {pilot, pilot, trials - 2 * pilot},
                              .deadlines = {deadline(audit, 0.1), deadline(audit, 0.2), deadline(audit, 1.0)},
                              .risk = 1.0 - CONFIDENCE,
                              .shown = true};
    if (audit->bench.config.crowd)
        return audit_crowd(&audit->bench, &audit->pairs[0], &plan, audit->promise.delta, &audit->verdict);
    return audit->bench.config.mechanism == PML_GAUSSIAN
               ? audit_gaussian(&audit->bench, &audit->pairs[0], &plan, &audit->verdict)
               : audit_response(&audit->bench, &audit->pairs[0], &plan, &audit->verdict);
}

static exit_code take_promise(struct audit *audit)
{
    const struct arguments *arguments = audit->arguments;
    const pml_pack_info *info = &audit->file.info;
    audit->promise = (struct crowd_promise){.epsilon = arguments->epsilon, .delta = arguments->delta};
    if (!arguments->crowd.asked)
        return EXIT_OK;
    if (arguments->crowd.own > info->cells)
        return command_fail(&command_audit, EXIT_USAGE, "%s has %u cells per slot, so --own must be at most that.",
                            arguments->pack, info->cells);
    exit_code code = crowd_policy_make(&command_audit, &arguments->crowd, arguments->epsilon, arguments->delta,
                                       (uint64_t)info->slots * info->cells, &audit->promise);
    const pml_crowd *policy = &audit->promise.policy;
    const double parts = (double)policy->clients + policy->relay_clusters;
    if (code == EXIT_OK && parts > (double)PARTS_MAX)
        return command_fail(
            &command_audit, EXIT_USAGE,
            "an epoch has %.0f bundles or clusters of the relay and all of them are made, so there must "
            "be at most %d. Give a smaller --crowd, or with --noise relay a larger --epsilon.",
            parts, PARTS_MAX);
    return code;
}

/* Opens the bench of the crowd instead of that of its floor. */
static pml_status enter_crowd(struct audit *audit)
{
    pml_crowd policy = audit->promise.policy;
    policy.mu = policy.delta0 = 0.0; /* nothing is counted here */
    audit_bench_close(&audit->bench);
    return audit_bench_open(&audit->bench, &audit->file, PML_RESPONSE, audit->promise.floor, 0.0, &policy);
}

static exit_code examine(struct audit *audit)
{
    const struct arguments *arguments = audit->arguments;
    const bool crowd = arguments->crowd.asked;
    pml_mechanism mechanism = strcmp(arguments->mechanism, "gaussian") == 0 ? PML_GAUSSIAN : PML_RESPONSE;
    exit_code code = take_promise(audit);
    if (code != EXIT_OK)
        return code;
    audit->start = pml_clock_now();
    pml_status status = audit_bench_open(&audit->bench, &audit->file, mechanism,
                                         crowd ? audit->promise.floor : arguments->epsilon, arguments->delta, NULL);
    if (status == PML_OK)
        status = audit_pairs_make(&audit->pool, &audit->file, mechanism, audit->pairs, (size_t)arguments->seed_pairs);
    if (status == PML_OK)
        status = find_pair(audit);
    if (status == PML_OK && crowd)
        status = enter_crowd(audit);
    if (status == PML_OK)
        status = measure(audit);
    progress_end();
    audit->seconds = pml_clock_now() - audit->start;
    if (status == PML_ERROR_MEMORY)
        return command_no_memory(&command_audit);
    if (status != PML_OK)
        return command_status(&command_audit, arguments->pack, status);
    if (!audit->verdict.enough)
        return command_fail(&command_audit, EXIT_USAGE, "--seconds %g is too short for this pack. Give it more time.",
                            arguments->seconds);
    return EXIT_OK;
}

/* ---- report ---- */

static bool is_violated(const struct audit *audit)
{
    return audit->verdict.epsilon_lower > audit->promise.epsilon || audit->verdict.ratio_lower > audit->promise.epsilon;
}

static double found_ratio(const struct audit *audit)
{
    return audit->verdict.distance / audit->bench.receipt.sensitivity;
}

static const char *slots_word(const struct audit *audit)
{
    return audit->pairs[0].sides[0].slot == audit->pairs[0].sides[1].slot ? "same" : "different";
}

/* Both promises. What is attacked is the crowd's, or the floor when only that holds. */
static void print_crowd(const struct audit *audit)
{
    const struct crowd_promise *promise = &audit->promise;
    char assumption[CROWD_ASSUMPTION_MAX];
    crowd_promise_assumption(promise, assumption);
    printf("floor           epsilon %g, whoever works together against it\n", promise->floor);
    if (promise->crowded)
        printf("promise         crowd, epsilon %.4g, delta %g, %s", promise->epsilon, promise->delta, assumption);
    else
        printf("promise         the floor alone, epsilon %g", promise->floor);
    if (promise->policy.relay_clusters > 0.0)
        printf("\nepoch           1 client, %.4g fakes of the relay", promise->fakes);
    else
        printf("\nepoch           %" PRIu64 " clients, %.4g fakes each", promise->policy.clients, promise->fakes);
    printf(" (clusters of 1 to %" PRIu32 ")", promise->policy.copies);
}

static void write_crowd(struct json *json, const struct crowd_promise *promise)
{
    json_number(json, "floor", promise->floor);
    json_text(json, "promise", promise->crowded ? "crowd" : "floor");
    json_count(json, "clients", promise->policy.clients);
    json_number(json, "clusters", promise->policy.clusters);
    json_number(json, "relay_clusters", promise->policy.relay_clusters);
    json_count(json, "copies", promise->policy.copies);
    json_count(json, "own", promise->policy.own);
    json_number(json, "fakes", promise->fakes);
}

static void print_report(const struct audit *audit)
{
    const struct audit_verdict *verdict = &audit->verdict;
    const struct audit_pair *pair = &audit->pairs[0];
    bool gaussian = audit->bench.config.mechanism == PML_GAUSSIAN;
    printf("pack            %s\n", audit->file.id);
    if (audit->bench.config.crowd)
        print_crowd(audit);
    else
        printf("promise         %s, epsilon %g", audit->arguments->mechanism, audit->arguments->epsilon);
    if (gaussian)
        printf(", delta %g (mu %.4g)", audit->arguments->delta, audit->bench.receipt.mu);
    printf("\npair            %s and %s, %s slot%s\n", pair->sides[0].kind, pair->sides[1].kind, slots_word(audit),
           strcmp(slots_word(audit), "same") == 0 ? "" : "s");
    printf("trials          %" PRIu64 " %s per record; %" PRIu64 " releases in all, %.3g per second\n", verdict->trials,
           audit->bench.config.crowd ? "epochs" : "releases", audit_bench_releases(&audit->bench),
           (double)audit_bench_releases(&audit->bench) / audit->seconds);
    printf("epsilon         at least %.4g (confidence %g)\n", verdict->epsilon_lower, CONFIDENCE);
    if (gaussian)
        printf("                at least %.4g, whatever the distribution of the noise\n"
               "mu              at least %.4g\n"
               "distance        %.3g of the certified sensitivity (an estimate)\n",
               verdict->ratio_lower, verdict->mu_lower, found_ratio(audit));
    puts(is_violated(audit) ? "verdict         the promise is broken"
                            : "verdict         no evidence against the promise");
}

static void write_report(const struct audit *audit)
{
    const struct audit_verdict *verdict = &audit->verdict;
    const struct audit_pair *pair = &audit->pairs[0];
    bool gaussian = audit->bench.config.mechanism == PML_GAUSSIAN;
    uint64_t releases = audit_bench_releases(&audit->bench);
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "pack", audit->file.id);
    json_text(&json, "mechanism", audit->bench.config.crowd ? "crowd" : audit->arguments->mechanism);
    json_number(&json, "epsilon", audit->promise.epsilon);
    json_number(&json, "delta", audit->promise.delta);
    if (audit->bench.config.crowd)
        write_crowd(&json, &audit->promise);
    json_count(&json, "trials", verdict->trials);
    json_number(&json, "confidence", CONFIDENCE);
    json_number(&json, "epsilon_lower", verdict->epsilon_lower);
    json_number(&json, "epsilon_lower_model_free", gaussian ? verdict->ratio_lower : NAN);
    json_number(&json, "mu", gaussian ? audit->bench.receipt.mu : NAN);
    json_number(&json, "mu_lower", gaussian ? verdict->mu_lower : NAN);
    json_number(&json, "found_ratio", gaussian ? found_ratio(audit) : NAN);
    json_bool(&json, "violated", is_violated(audit));
    json_open(&json, "pair", '{');
    json_text(&json, "first", pair->sides[0].kind);
    json_text(&json, "second", pair->sides[1].kind);
    json_text(&json, "slots", slots_word(audit));
    json_close(&json, '}');
    json_number(&json, "seconds", audit->seconds);
    json_count(&json, "releases", releases);
    json_number(&json, "releases_per_second", (double)releases / audit->seconds);
    json_close(&json, '}');
}

/* ---- command ---- */

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code != EXIT_OK)
        return code;
    struct audit audit = {.arguments = &arguments};
    code = pack_file_open(&command_audit, arguments.pack, &audit.file);
    if (code != EXIT_OK)
        return code;
    code = pack_file_ask(&command_audit, &audit.file, arguments.modality);
    if (code == EXIT_OK)
        code = examine(&audit);
    if (code == EXIT_OK) {
        if (arguments.json)
            write_report(&audit);
        else
            print_report(&audit);
        if (is_violated(&audit))
            code = command_fail(&command_audit, EXIT_PRIVACY,
                                "%s: releases reveal more than epsilon %g allows. Make no releases with this build; "
                                "please report this.",
                                arguments.pack, audit.promise.epsilon);
    }
    audit_pool_close(&audit.pool);
    audit_bench_close(&audit.bench);
    pack_file_close(&audit.file);
    return code;
}

static const char help[] =
    "Usage: privatemail audit --pack P.pmpk --mechanism M --epsilon E --trials N [OPTIONS]\n"
    "       privatemail audit --pack P.pmpk --crowd N --clusters K --copies V --delta D --trials N [OPTIONS]\n\n"
    "Attacks the promise as a stranger would: makes releases of two made-up records, as a device does, and counts how\n"
    "well they can be told apart. This proves a lower bound of the true epsilon. If the bound is larger than E, the\n"
    "promise is broken. If it is not, this is no proof of the promise: a worse pair of records may exist, or a\n"
    "difference that is not measured (gaussian: of the spread alone). The proofs are in docs/PRIVACY.md.\n\n"
    "With --crowd each trial is a whole epoch: the bundles of all honest clients, mixed. One client has one record or\n"
    "the other, the others are idle. With --noise relay that client is the only one, and all fakes are the relay's.\n"
    "An epsilon at delta can be seen only where delta is not much smaller than 1/N trials.\n\n"
    "Options:\n"
    "  --pack P.pmpk     the pack\n"
    "  --modality NAME   what the records are, when the pack has fronts. Default: the first modality\n"
    "  --mechanism M     response or gaussian; not needed with --crowd\n"
    "  --epsilon E       the promise for one release, 1e-6 to 16; in a crowd, what to plan for\n"
    "  --delta D         1e-15 to below 1. Default 1e-5 for gaussian, 1e-8 in a crowd; response alone has none\n"
    "  --crowd N         clients per epoch, of which the share --honest H (default 0.5) is made, at most 262144.\n"
    "                    --floor E0, --own W, --copies-max V: see privatemail crowd --help\n"
    "  --noise relay     instead of --crowd: the relay makes the fakes, planned for --epsilon\n"
    "  --clusters K      instead of --epsilon: K clusters per client, 0 to 4, of at most --copies V, 1 to 64\n"
    "  --relay-clusters R  the same of the relay's clusters per epoch\n"
    "  --trials N        releases of each of the two records, 1000 to 1000000000; a tenth of them is used to choose "
    "what\n"
    "                    to count. 1000000 gives bounds within a few percent at epsilon 1\n"
    "  --seconds S       stop after about S seconds, with the trials made so far. Default: no limit\n"
    "  --seed-pairs K    pairs of records that the search begins with, 2 to 256. Default 16\n"
    "  --json            JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help            this text\n\n"
    "Exit codes: 0 no evidence against the promise, 2 wrong options, 3 the pack cannot be read, 4 stdout cannot be\n"
    "written, 6 the promise is broken, or the pack cannot give it, 7 no entropy or out of memory.\n\n"
    "Example: privatemail audit --pack collection.pmpk --mechanism response --epsilon 1 --trials 1000000\n"
    "         privatemail audit --pack collection.pmpk --crowd 8 --honest 1 --clusters 4 --copies 2 --delta 0.01 \\\n"
    "             --trials 100000\n";

const struct command command_audit = {"audit", "attack a pack's promise with many releases", help, run};
