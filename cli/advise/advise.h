/* SPDX-License-Identifier: Apache-2.0
 * The ways to search a gallery, what each of them costs and finds at most, and which of them fits. In: numbers, and perhaps
 * rows of the gallery. Out: one choice and the reasons. Never more found than the ceilings of docs/PRIVACY.md, section 8,
 * allow, and never a message that adds nothing to a download. */
#ifndef CLI_ADVISE_H
#define CLI_ADVISE_H

#include "cli/shared/crowd_policy.h"

struct advise_question {
    uint64_t items, bytes_down, sketch;
    double changes, queries, days; /* changes and queries per day; days over which the first download is spread */
    double found;                  /* the least share of the 8 nearest that is worth a message */
    double epsilon, crowd_epsilon; /* the most that a message may tell, alone and in a crowd */
    double delta;
    struct crowd_arguments crowd;
    const char *features; /* NULL: nothing is measured */
    uint64_t seed, threads;
    bool sketch_given, json;
};

enum { ADVISE_SHIP, ADVISE_RESPONSE, ADVISE_CROWD, ADVISE_NONE, ADVISE_WAYS };
enum { ADVISE_TEXT = 640 };

/* NaN stands for what does not exist for a way, or was not measured. */
struct advise_way {
    const char *name;
    bool fits;
    double epsilon, delta, floor;
    double found_most;              /* the ceiling */
    double found, error, popular;   /* measured; popular: by a fixed download of the same size */
    uint64_t items;                 /* that an answer carries, or the device holds */
    uint64_t items_most;            /* ship: it would fit up to so many; 0 for the other ways */
    double share;                   /* of the gallery in the own answer */
    uint64_t cells;                 /* 0: the way has none */
    double answers;                 /* that come down per query, those to fakes too */
    double bytes;                   /* that come down per query, on average */
    double bytes_once, bytes_daily; /* ship */
    char promise[ADVISE_TEXT], assumption[ADVISE_TEXT];
    char reason[ADVISE_TEXT]; /* why it fits, or why it does not */
};

struct advise_advice {
    struct advise_way ways[ADVISE_WAYS];
    size_t choice;
    uint64_t measured_rows, measured_queries; /* 0: nothing was measured */
    char why[2 * ADVISE_TEXT];
};

/* ---- bytes (advise_bytes.c) ---- */

/* Bytes of an answer that lists `listed` of `items` items without classes and payloads: no such answer of SPEC 3.2 is
 * longer. */
double advise_answer_bytes(double items, double listed, double sketch);

/* The most items that an answer of so many bytes can list, at most `items` and PML_CANDIDATES_MAX. */
uint64_t advise_listed(uint64_t items, double bytes, uint64_t sketch);

/* ---- measuring (advise_measure.c) ---- */

struct advise_measure;

/* Deals the rows of --features out into public rows, a gallery and queries. Close it after a failure too. */
exit_code advise_measure_open(struct advise_measure **measure, const struct advise_question *question);
void advise_measure_close(struct advise_measure *measure);
size_t advise_measure_public(const struct advise_measure *measure);
size_t advise_measure_gallery(const struct advise_measure *measure);
size_t advise_measure_queries(const struct advise_measure *measure);

/* Whether answers of this share hold enough of the sample's items to say anything. */
bool advise_measure_can(const struct advise_measure *measure, double share);

/* Fill in found, error and popular of the way, for its ε and share; in a crowd for its cells, floor and this policy. The
 * whole index finds all but what sketches lose; it has no popular. */
exit_code advise_measure_ship(struct advise_measure *measure, struct advise_way *way);
exit_code advise_measure_response(struct advise_measure *measure, struct advise_way *way);
exit_code advise_measure_crowd(struct advise_measure *measure, const pml_crowd *policy, struct advise_way *way);

/* ---- the ways (advise_ways.c, advise_crowd.c) ---- */

/* The most that any ε-private method finds with answers of this share and at most PML_CELLS_MAX cells. */
double advise_ceiling(double epsilon, double share);

/* Whether what the way finds is worth its message: measured, it must be clearly more than the fixed download finds. */
bool advise_is_enough(const struct advise_question *question, const struct advise_way *way);

/* A way of which nothing is known yet. */
struct advise_way advise_way_make(const char *name);

exit_code advise_ship(const struct advise_question *question, struct advise_measure *measure, struct advise_way *way);
exit_code advise_response(const struct advise_question *question, struct advise_measure *measure,
                          struct advise_way *way);
exit_code advise_crowd(const struct advise_question *question, struct advise_measure *measure, struct advise_way *way);
void advise_none(const struct advise_question *question, const struct advise_way *response, struct advise_way *way);

/* Chooses, and says why. */
void advise_choose(const struct advise_question *question, struct advise_advice *advice);

/* ---- reports (advise_report.c) ---- */

/* "1.3 MB" */
enum { ADVISE_SIZE_TEXT = 32 };
const char *advise_size_text(double bytes, char text[ADVISE_SIZE_TEXT]);

void advise_print(const struct advise_question *question, const struct advise_advice *advice);
void advise_write(const struct advise_question *question, const struct advise_advice *advice); /* JSON */

#endif
