/* SPDX-License-Identifier: Apache-2.0
 * privatize: makes releases of one query. In: a pack, features, a class. Out: releases and what they cost; nothing else
 * about the query leaves this file. */
#include "budget_file.h"
#include "output.h"
#include "pack_file.h"
#include "privatize_options.h"
#include "receipt.h"

#include <privatemail_platform.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 }; /* what a small file takes of most disks */

struct job {
    const struct privatize_arguments *arguments;
    struct pack_file file;
    pml_config config;
    struct budget_file budget;
    void *memory; /* the client's */
    pml_client *client;
    struct pml_features features;
    int32_t label;
    uint8_t *release;
    char **paths; /* `repeat` of them */
    struct receipt receipt;
};

/* ---- before the price is paid ---- */

static int name_outputs(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    size_t length = strlen(arguments->out) + 24;
    job->paths = calloc((size_t)arguments->repeat, sizeof *job->paths);
    for (size_t i = 0; job->paths && i < arguments->repeat; i++) {
        job->paths[i] = malloc(length);
        if (!job->paths[i])
            break;
        if (arguments->has_repeat)
            snprintf(job->paths[i], length, "%s.%zu", arguments->out, i);
        else
            snprintf(job->paths[i], length, "%s", strcmp(arguments->out, "-") == 0 ? "stdout" : arguments->out);
    }
    if (!job->paths || !job->paths[arguments->repeat - 1])
        return command_no_memory(&command_privatize);
    return -1;
}

static int check_class(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    uint32_t slot;
    if (job->file.info.slot_kind == PML_SLOTS_ONE)
        return -1;
    if (!arguments->has_label && !arguments->labels)
        return command_fail(&command_privatize, EXIT_USAGE,
                            "%s has classes. Give the query's with --label Y or --labels "
                            "QL.npy.",
                            arguments->pack);
    if (arguments->has_label && pml_pack_slot(&job->file.pack, (int32_t)arguments->label, &slot) != PML_OK)
        return command_fail(&command_privatize, EXIT_USAGE,
                            "%s has no such class. Use --label with a class of the pack.", arguments->pack);
    return -1;
}

static int make_client(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    bool gaussian = strcmp(arguments->mechanism, "gaussian") == 0;
    job->config = (pml_config){.mechanism = gaussian ? PML_GAUSSIAN : PML_RESPONSE,
                               .epsilon = arguments->epsilon,
                               .delta = gaussian ? arguments->delta : 0.0,
                               .value_bytes = (unsigned)arguments->value_bytes,
                               .entropy = pml_platform_entropy,
                               .persist = budget_file_store,
                               .persist_context = &job->budget,
                               .kernels = pml_platform_kernels()};
    size_t size = pml_client_size(&job->file.pack, &job->config);
    job->memory = malloc(size > 0 ? size : 1);
    if (!job->memory)
        return command_no_memory(&command_privatize);
    int status = pml_client_init(&job->client, job->memory, size, &job->file.pack, &job->config);
    if (status == PML_OK)
        status = pml_client_receipt(job->client, &job->receipt.price);
    if (status == PML_ERROR_SECTION)
        return command_fail(&command_privatize, EXIT_PRIVACY, "%s has no %s, which %s needs. Use --mechanism %s.",
                            arguments->pack, gaussian ? "anchors" : "prototypes", mechanism_name(job->config.mechanism),
                            gaussian ? "response" : "gaussian");
    if (status != PML_OK)
        return command_status(&command_privatize, arguments->pack, status);
    job->release = malloc(job->receipt.price.bytes);
    if (!job->release)
        return command_no_memory(&command_privatize);
    return -1;
}

static int check_output(const struct job *job, const char *path)
{
    const struct {
        const char *path, *what;
    } inputs[] = {
        {job->arguments->pack, "the pack"},           {job->arguments->features, "the features"},
        {job->arguments->labels, "the labels"},       {job->budget.path, "the budget"},
        {job->budget.lock_path, "the budget's lock"},
    };
    int code = -1;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0] && code < 0; i++)
        code = output_apart(&command_privatize, path, inputs[i].path, inputs[i].what);
    return code < 0 ? output_check(&command_privatize, path, job->arguments->force) : code;
}

/* Before anything is paid, since a price for a release that cannot be written is lost; and while the budget is locked,
 * since another that spends from it may have written to the same names. */
static int check_outputs(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    int code = -1;
    if (strcmp(arguments->out, "-") == 0)
        return -1;
    for (size_t i = 0; i < arguments->repeat && code < 0; i++)
        code = check_output(job, job->paths[i]);
    if (code < 0)
        code = output_try(&command_privatize, job->paths[0],
                          (job->receipt.price.bytes + BLOCK - 1) / BLOCK * BLOCK * (size_t)arguments->repeat);
    return code;
}

/* ---- paying ---- */

static int open_budget(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    if (!arguments->budget) {
        fprintf(stderr, "privatemail privatize: no --budget: nothing is being counted. Every release of the same photo "
                        "adds its epsilon; see --budget.\n");
        return -1;
    }
    int code =
        budget_file_open(&command_privatize, &job->budget, arguments->budget, arguments->owner, arguments->budget_new);
    if (code >= 0)
        return code;
    job->receipt.budget_path = arguments->budget;
    if (pml_budget_remaining(&job->budget.budget, &job->receipt.left) != PML_OK)
        return command_status(&command_privatize, arguments->budget, PML_ERROR_BUDGET);
    double more = receipt_releases_left(&job->receipt);
    if (more < (double)arguments->repeat)
        return command_fail(
            &command_privatize, EXIT_BUDGET,
            "%s is spent: it pays for %.0f more such releases, and %llu are asked for. Send a release that "
            "was already made, or choose a smaller --epsilon.",
            arguments->budget, more, (unsigned long long)arguments->repeat);
    return -1;
}

static int pay(struct job *job)
{
    int status = PML_OK;
    if (!job->arguments->budget)
        status = budget_file_throwaway(&job->budget, job->config.mechanism, job->config.delta);
    if (status == PML_OK)
        status = pml_client_arm(job->client, &job->budget.budget);
    if (status == PML_ERROR_PERSIST)
        return command_fail(&command_privatize, EXIT_OUTPUT,
                            "the budget could not be stored, so no release was made: %s", job->budget.message.text);
    return status == PML_OK
               ? -1
               : command_status(&command_privatize, job->arguments->budget ? job->arguments->budget : "paying", status);
}

/* Gives the price back: nothing has left. */
static void refund(struct job *job)
{
    int status = pml_client_disarm(job->client, &job->budget.budget);
    if (status != PML_OK && status != PML_ERROR_STATE && job->arguments->budget)
        fprintf(stderr, "privatemail privatize: %s: the price could not be given back (%s). It stays spent.\n",
                job->arguments->budget, pml_status_text(status));
}

/* ---- the query ---- */

static int read_query(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    struct pml_message message = {""};
    struct pml_labels labels = {0};
    int failed = pml_features_read(arguments->features, &job->features, &message);
    if (failed)
        return command_input(&command_privatize, failed, &message);
    if (arguments->row >= job->features.rows)
        return command_fail(&command_privatize, EXIT_USAGE, "%s has %zu rows. Choose --row 0 to %zu.",
                            arguments->features, job->features.rows, job->features.rows - 1);
    job->label = arguments->has_label ? (int32_t)arguments->label : 0;
    if (!arguments->labels)
        return -1;
    int code = -1;
    failed = pml_labels_read(arguments->labels, &labels, &message);
    if (failed)
        code = command_input(&command_privatize, failed, &message);
    else if (labels.rows != job->features.rows)
        code = command_fail(&command_privatize, EXIT_INPUT,
                            "%s has %zu labels, but %s has %zu rows. Give one label a row.", arguments->labels,
                            labels.rows, arguments->features, job->features.rows);
    else
        job->label = labels.values[arguments->row];
    pml_labels_free(&labels);
    return code;
}

static int write_release(struct job *job, size_t index, size_t size)
{
    if (strcmp(job->arguments->out, "-") != 0)
        return output_write(&command_privatize, job->paths[index], job->arguments->force, job->release, size);
    if (fwrite(job->release, 1, size, stdout) != size || fflush(stdout) != 0)
        return command_fail(&command_privatize, EXIT_OUTPUT, "stdout cannot be written. Name a file for --out.");
    return -1;
}

/* Armed on entry. */
static int make_release(struct job *job, size_t index)
{
    const struct privatize_arguments *arguments = job->arguments;
    const float *query = job->features.values + (size_t)arguments->row * job->features.columns;
    size_t size;
    int status = pml_client_load(job->client, query, job->features.columns, job->label);
    if (status == PML_OK)
        status = pml_client_release(job->client, job->release, job->receipt.price.bytes, &size);
    if (status == PML_ERROR_LABEL)
        return command_status(&command_privatize, arguments->labels ? arguments->labels : "--label", status);
    if (status != PML_OK)
        return command_status(&command_privatize, arguments->features, status);
    int code = write_release(job, index, size);
    if (code >= 0)
        fprintf(stderr, "privatemail privatize: the price of this release stays spent.\n");
    return code;
}

/* After a failure among several: what is there was paid for, and is as good as any. */
static void tell_written(const struct job *job, size_t written)
{
    if (written > 0)
        fprintf(stderr, "privatemail privatize: %zu of %llu were written and paid: %s to %s. Use them as they are.\n",
                written, (unsigned long long)job->arguments->repeat, job->paths[0], job->paths[written - 1]);
}

/* The first is paid, and its noise drawn, before the query is in memory: how long that takes depends on the noise. */
static int release_all(struct job *job)
{
    int code = pay(job);
    if (code < 0)
        code = read_query(job);
    size_t written = 0, wanted = (size_t)job->arguments->repeat;
    while (written < wanted && code < 0) {
        if (written > 0)
            code = pay(job);
        if (code < 0)
            code = make_release(job, written);
        written += code < 0;
        if (wanted > 1 && code < 0)
            progress_show(NULL, "releases", (double)written / (double)wanted);
    }
    progress_end();
    if (code >= 0) {
        refund(job);
        tell_written(job, written);
    }
    return code;
}

/* ---- command ---- */

static void close_job(struct job *job)
{
    volatile int32_t *label = &job->label; /* volatile: a compiler may not leave this out as useless */
    *label = 0;
    pml_features_free(&job->features);
    pml_client_wipe(job->client);
    budget_file_close(&job->budget);
    for (size_t i = 0; job->paths && i < job->arguments->repeat; i++)
        free(job->paths[i]);
    free(job->paths);
    free(job->release);
    free(job->memory);
    pack_file_close(&job->file);
}

static void report(struct job *job)
{
    job->receipt.pack = job->file.id;
    job->receipt.paths = job->paths;
    job->receipt.count = (size_t)job->arguments->repeat;
    if (job->arguments->budget && pml_budget_remaining(&job->budget.budget, &job->receipt.left) != PML_OK)
        job->receipt.budget_path = NULL;
    if (job->arguments->json)
        receipt_write(&job->receipt);
    else
        receipt_print(strcmp(job->arguments->out, "-") == 0 ? stderr : stdout, &job->receipt);
}

static int run(int argc, char **argv)
{
    struct privatize_arguments arguments = {0};
    int code = privatize_options(argc, argv, &arguments);
    if (code >= 0)
        return code;
    struct job job = {.arguments = &arguments, .budget = {.lock = -1}};
    code =
        pack_file_open_pinned(&command_privatize, arguments.pack, arguments.pack_id ? arguments.id : NULL, &job.file);
    if (code >= 0)
        return code;
    int (*const steps[])(struct job *) = {name_outputs, check_class,   make_client,
                                          open_budget,  check_outputs, release_all};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code < 0; i++)
        code = steps[i](&job);
    if (code < 0) {
        report(&job);
        code = EXIT_OK;
        if (strcmp(arguments.out, "-") != 0 && fflush(stdout) != 0)
            code = command_fail(&command_privatize, EXIT_OUTPUT,
                                "everything was written to %s and paid; only this receipt could not be printed. Free "
                                "space where stdout goes, and do not make the release again.",
                                arguments.out);
    }
    close_job(&job);
    return code;
}

static const char help[] =
    "Usage: privatemail privatize --pack P.pmpk --features Q.npy --epsilon E --out R.cbor [OPTIONS]\n\n"
    "Makes one differentially private release of a query and tells what it cost. Only the release may leave the\n"
    "device. To send it again, send the same bytes: a new release of the same photo costs again.\n\n"
    "Options:\n"
    "  --pack P.pmpk       the pack\n"
    "  --pack-id HEX       takes no other pack than the one with this id, 32 hexadecimal digits: a pack made for one\n"
    "                      person would mark that person. Default: any\n"
    "  --features Q.npy    float32 features, as for privatemail pack\n"
    "  --row I             the row that is the query. Default 0\n"
    "  --label Y           its class (visible to other users of this machine while it runs: better use --labels), or\n"
    "  --labels QL.npy     the classes of all rows; one of both unless the pack has one slot\n"
    "  --mechanism M       response (a cell a slot) or gaussian (a noisy embedding). Default response\n"
    "  --epsilon E         privacy of one release, 1e-6 to 16; no default\n"
    "  --delta D           gaussian only: 1e-15 to below 1. Default 1e-5\n"
    "  --value-bytes B     gaussian only: bytes of a coordinate, 1 or 2. Default 1\n"
    "  --budget FILE       pays from this budget, all releases of one person. Default: nothing is counted\n"
    "  --budget-new ER[,EG,D]  starts FILE, which must not exist: ER for response (0 to 4095), EG at delta D for\n"
    "                      gaussian releases (1e-6 to 256)\n"
    "  --owner NAME        whose budget it is; 16 bytes of it count. Default 'default'\n"
    "  --repeat N          N independent releases to R.cbor.0, R.cbor.1, ...; 1 to 10000. Together they cost N times\n"
    "                      epsilon and reveal accordingly more: for experiments\n"
    "  --out R.cbor        the release; - is stdout, unless that is a terminal\n"
    "  --force             replace the file of --out\n"
    "  --json              JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help              this text\n\n"
    "Keep FILE out of backups: an old copy put back spends again what was spent since.\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 an output cannot be written,\n"
    "5 the budget is spent, damaged or another's, 6 the pack cannot give this promise, 7 entropy or memory failed.\n\n"
    "Example: privatemail privatize --pack collection.pmpk --features query.npy --label 3 --epsilon 4 \\\n"
    "             --budget me.budget --budget-new 20 --out query.cbor\n";

const struct command command_privatize = {"privatize", "make a private release of a query", help, run};
