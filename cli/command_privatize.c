/* SPDX-License-Identifier: Apache-2.0
 * privatize: makes releases of one query. In: a pack, secret features, a secret class. Out: releases in files, and what
 * they cost. */
#include "cli/query/private_query.h"
#include "cli/query/privatize_options.h"
#include "cli/shared/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 }; /* what a small file takes on most disks */

struct job {
    const struct privatize_arguments *arguments;
    struct private_query query;
    char **paths;     /* `repeat` of them */
    char **own_paths; /* the same, or NULL */
    size_t *messages; /* of each bundle */
};

/* ---- outputs ---- */

static char **make_names(const struct privatize_arguments *arguments, const char *name)
{
    size_t length = strlen(name) + 24;
    char **names = calloc((size_t)arguments->repeat, sizeof *names);
    for (size_t i = 0; names && i < arguments->repeat; i++) {
        names[i] = malloc(length);
        if (!names[i])
            break;
        if (arguments->has_repeat)
            snprintf(names[i], length, "%s.%zu", name, i);
        else
            snprintf(names[i], length, "%s", strcmp(name, "-") == 0 ? "stdout" : name);
    }
    return names;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

static exit_code name_outputs(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    const size_t last = (size_t)arguments->repeat - 1;
    job->paths = make_names(arguments, arguments->out);
    job->own_paths = arguments->own_out ? make_names(arguments, arguments->own_out) : NULL;
    job->messages = calloc(last + 1, sizeof *job->messages);
    if (!job->paths || !job->paths[last] || !job->messages ||
        (arguments->own_out && (!job->own_paths || !job->own_paths[last])))
        return command_no_memory(&command_privatize);
    return EXIT_OK;
}

static exit_code check_output(const struct job *job, const char *path, const char *option)
{
    exit_code code = private_query_apart(&job->query, path, option);
    return code == EXIT_OK ? output_check(&command_privatize, path, job->arguments->force) : code;
}

/* A cell that is kept for the first time. */
static exit_code check_keep(const struct job *job)
{
    const struct query_arguments *query = &job->arguments->query;
    if (!query->keep || query->crowd.kept)
        return EXIT_OK;
    exit_code code = private_query_apart(&job->query, query->keep, "keep");
    if (code == EXIT_OK)
        code = output_check(&command_privatize, query->keep, false);
    return code == EXIT_OK ? output_try(&command_privatize, query->keep, CROWD_KEPT_FILE_MAX) : code;
}

/* What is sent and what must not be sent are two files. */
static exit_code check_own_output(const struct job *job, size_t index)
{
    if (output_is(job->own_paths[index], job->paths[index]))
        return command_fail(&command_privatize, EXIT_USAGE, "--own-out %s would overwrite --out. Choose another file.",
                            job->own_paths[index]);
    return check_output(job, job->own_paths[index], "own-out");
}

/* Before anything is paid, because the price of a release that cannot be written would be lost; and while the budget is
 * locked, because another process that spends from it may have written to the same names. */
static exit_code check_outputs(struct job *job)
{
    const struct privatize_arguments *arguments = job->arguments;
    const pml_receipt *price = &job->query.receipt.price;
    exit_code code = check_keep(job);
    for (size_t i = 0; job->own_paths && i < arguments->repeat && code == EXIT_OK; i++)
        code = check_own_output(job, i);
    if (code == EXIT_OK && job->own_paths)
        code = output_try(&command_privatize, job->own_paths[0], (size_t)BLOCK * (size_t)arguments->repeat);
    if (strcmp(arguments->out, "-") == 0)
        return code;
    for (size_t i = 0; i < arguments->repeat && code == EXIT_OK; i++)
        code = check_output(job, job->paths[i], "out");
    if (code == EXIT_OK)
        code = output_try(&command_privatize, job->paths[0],
                          (price->bytes * price->messages + BLOCK - 1) / BLOCK * BLOCK * (size_t)arguments->repeat);
    return code;
}

/* The places of the own messages in the bundle, counted from 0: first that of the drawn cell, then of its list. */
static exit_code write_own(const struct job *job, size_t index)
{
    const struct crowd_bundle *bundle = &job->query.bundle;
    char text[256] = "{\"own\": [";
    size_t length = strlen(text);
    for (unsigned number = 1; number <= PML_CROWD_OWN_MAX; number++) {
        for (size_t i = 0; i < bundle->count; i++) {
            if (bundle->own[i] == number)
                length += (size_t)snprintf(text + length, sizeof text - length, "%s%zu", number > 1 ? ", " : "", i);
        }
    }
    length += (size_t)snprintf(text + length, sizeof text - length, "]}\n");
    return output_write_private(&command_privatize, job->own_paths[index], job->arguments->force, text, length);
}

static exit_code write_release(struct job *job, size_t index)
{
    const struct private_query *query = &job->query;
    if (strcmp(job->arguments->out, "-") != 0)
        return output_write(&command_privatize, job->paths[index], job->arguments->force, query->release, query->size);
    if (fwrite(query->release, 1, query->size, stdout) != query->size || fflush(stdout) != 0)
        return command_fail(&command_privatize, EXIT_OUTPUT, "stdout cannot be written. Name a file for --out.");
    return EXIT_OK;
}

/* ---- releases ---- */

/* The client is armed on entry. */
static exit_code make_release(struct job *job, size_t index)
{
    exit_code code = private_query_release(&job->query);
    if (code != EXIT_OK)
        return code;
    job->messages[index] = job->query.bundle.count;
    code = private_query_keep(&job->query);
    if (code == EXIT_OK && job->own_paths)
        code = write_own(job, index);
    if (code == EXIT_OK)
        code = write_release(job, index);
    if (code != EXIT_OK)
        fprintf(stderr, "privatemail privatize: the price of this release stays spent.\n");
    return code;
}

/* After a failure among several releases: those that were written are paid for and can be used. */
static void tell_written(const struct job *job, size_t written)
{
    if (written > 0)
        fprintf(stderr,
                "privatemail privatize: %zu of %llu releases were written and paid for: %s to %s. They can be used.\n",
                written, (unsigned long long)job->arguments->repeat, job->paths[0], job->paths[written - 1]);
}

static exit_code release_all(struct job *job)
{
    exit_code code = private_query_pay(&job->query);
    if (code == EXIT_OK)
        code = private_query_read(&job->query);
    size_t written = 0, wanted = (size_t)job->arguments->repeat;
    while (written < wanted && code == EXIT_OK) {
        if (written > 0)
            code = private_query_pay(&job->query);
        if (code == EXIT_OK)
            code = make_release(job, written);
        written += code == EXIT_OK;
        if (wanted > 1 && code == EXIT_OK)
            progress_show(NULL, "releases", (double)written / (double)wanted);
    }
    progress_end();
    if (code != EXIT_OK) {
        private_query_refund(&job->query);
        tell_written(job, written);
    }
    return code;
}

/* ---- command ---- */

static void close_job(struct job *job)
{
    private_query_close(&job->query);
    free_names(job->paths, (size_t)job->arguments->repeat);
    free_names(job->own_paths, (size_t)job->arguments->repeat);
    free(job->messages);
}

static void report(struct job *job)
{
    struct receipt *receipt = &job->query.receipt;
    receipt->paths = job->paths;
    receipt->count = (size_t)job->arguments->repeat;
    receipt->messages = job->messages;
    private_query_settle(&job->query);
    if (job->arguments->query.json)
        receipt_write(receipt);
    else
        receipt_print(strcmp(job->arguments->out, "-") == 0 ? stderr : stdout, receipt);
}

static exit_code run(int argc, char **argv)
{
    struct privatize_arguments arguments = {0};
    exit_code code = privatize_options(argc, argv, &arguments);
    if (code != EXIT_OK)
        return code;
    struct job job = {.arguments = &arguments};
    code = private_query_open(&job.query, &command_privatize, &arguments.query);
    if (code == EXIT_OK)
        code = name_outputs(&job);
    if (code == EXIT_OK)
        code = private_query_client(&job.query);
    if (code == EXIT_OK)
        code = private_query_budget(&job.query, arguments.repeat);
    if (code == EXIT_OK)
        code = check_outputs(&job);
    if (code == EXIT_OK)
        code = release_all(&job);
    if (code == EXIT_OK) {
        report(&job);
        if (strcmp(arguments.out, "-") != 0 && (fflush(stdout) != 0 || ferror(stdout) != 0))
            code =
                command_fail(&command_privatize, EXIT_OUTPUT,
                             "the release was written to %s and paid for; only this receipt could not be printed. Free "
                             "space where stdout goes, and do not make the release again.",
                             arguments.out);
    }
    close_job(&job);
    return code;
}

static const char help[] =
    "Usage: privatemail privatize --pack P.pmpk --features Q.npy --epsilon E --out R.cbor [OPTIONS]\n"
    "       privatemail privatize --pack P.pmpk --features Q.npy --epsilon E --crowd N --out B.cbor [OPTIONS]\n\n"
    "Makes one differentially private release of a query and prints what it cost. Only the release may leave the\n"
    "device. To send it again, send the same bytes: a new release of the same photo costs again.\n\n"
    "With --crowd it makes the bundle of one epoch: own messages and fakes, for a relay that mixes the bundles of\n"
    "many. The floor holds against everybody, the crowd's promise if the relay mixes and does not join the server, and\n"
    "enough clients are honest.\n\n"
    "Options:\n"
    "  --pack P.pmpk       the pack\n"
    "  --pack-id HEX       accept only the pack with this id, 32 hexadecimal digits: a pack made for one person would\n"
    "                      mark that person. Default: any\n"
    "  --model NAME        accept only a pack of this model (privatemail pack --model). Default: any\n"
    "  --features Q.npy    float32, as for privatemail pack; --modality NAME: whose features\n"
    "  --row I             the row that is the query. Default 0\n"
    "  --label Y           its class (visible to other users of this machine while it runs: better use --labels), or\n"
    "  --labels QL.npy     the classes of all rows; give one of both unless the pack has one slot\n"
    "  --mechanism M       response (one cell per slot) or gaussian (a noisy embedding). Default response\n"
    "  --epsilon E         privacy of one release, 1e-6 to 16; no default. In a crowd, what to plan for\n"
    "  --delta D           1e-15 to below 1. Default 1e-5 for gaussian, 1e-8 in a crowd\n"
    "  --value-bytes B     gaussian only: bytes per coordinate, 1 or 2. Default 1\n"
    "  --crowd N           clients that are promised per epoch, 1 to 4294967296. --honest H, --floor E0, --own W,\n"
    "                      --copies-max V and --noise WHO: see privatemail crowd --help\n"
    "  --clusters K        instead of --epsilon: K clusters per client, 0 to 4, of at most --copies V, 1 to 64\n"
    "  --relay-clusters R  the same of the relay's clusters per epoch, 0 to 16777216, with --copies V\n"
    "  --keep FILE         keeps the drawn cell, for this device alone. If FILE exists, sends its cell again, in a\n"
    "                      later epoch: no features are read and no floor is paid\n"
    "  --idle              a bundle without a query: fakes alone, which cost nothing. With --cover also the list of\n"
    "                      a uniform cell, so that the number of messages does not tell\n"
    "  --own-out FILE      which messages are own, for this device alone: only their answers are worth ranking\n"
    "  --budget FILE       pay from this budget. Use one for all releases of one person. Default: nothing is counted\n"
    "  --budget-new ER[,EG,D]  start the budget FILE, which must not exist: epsilon ER in total for response (0 to\n"
    "                      4095), EG at delta D for gaussian releases (1e-6 to 256)\n"
    "  --budget-crowd EF[,EC,D]  the same for a crowd: EF in total of the floors (0 to 4095), EC at D (1e-6 to 16)\n"
    "  --owner NAME        whose budget it is; only the first 16 bytes count. Default 'default'\n"
    "  --repeat N          make N independent releases R.cbor.0, R.cbor.1, ...; 1 to 10000. For experiments: together\n"
    "                      they cost N times epsilon and reveal more accordingly\n"
    "  --out R.cbor        the release or bundle; - is stdout, unless that is a terminal\n"
    "  --force             replace the files of --out and --own-out\n"
    "  --json              JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help              this text\n\n"
    "Keep FILE out of backups: an old copy put back spends again what was spent since.\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 an output cannot be written,\n"
    "5 the budget is spent, damaged or somebody else's, 6 the pack cannot give this promise, 7 no entropy or out of\n"
    "memory.\n\n"
    "Example: privatemail privatize --pack collection.pmpk --features query.npy --label 3 --epsilon 4 \\\n"
    "             --budget me.budget --budget-new 20 --out query.cbor\n"
    "         privatemail privatize --pack collection.pmpk --features query.npy --epsilon 0.1 --crowd 1000000 \\\n"
    "             --out bundle.cbor --own-out own.json\n";

const struct command command_privatize = {"privatize", "make a private release of a query", help, run};
