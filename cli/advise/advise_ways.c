/* SPDX-License-Identifier: Apache-2.0
 * What shipping the index, asking alone and asking nothing cost and find, and which way fits best. */
#include "advise.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail.h>
#include <stdio.h>
#include <string.h>

/* Without a measurement nothing below this ε is advised: there a message adds hardly anything to a fixed download
 * (docs/RESULTS.md, "What ε and f give"). */
#define EPSILON_UNSEEN 2.0
#define SKETCH_SHORT 64  /* bytes: shorter ones lose much on real galleries (docs/RESULTS.md, "Sketches") */
#define ERRORS_CLEAR 3.0 /* standard errors that make a difference clear */
enum { NEAREST = 8 };    /* what is looked for */

struct advise_way advise_way_make(const char *name)
{
    return (struct advise_way){.name = name,
                               .epsilon = NAN,
                               .delta = NAN,
                               .floor = NAN,
                               .found_most = NAN,
                               .found = NAN,
                               .error = NAN,
                               .popular = NAN,
                               .share = NAN,
                               .answers = NAN,
                               .bytes = NAN,
                               .bytes_once = NAN,
                               .bytes_daily = NAN};
}

/* With the most cells there are and lists that are shorter than a cell, some items stand in no list. */
double advise_ceiling(double epsilon, double share)
{
    const double least = 1.0 / PML_CELLS_MAX;
    return share >= least ? pml_recall_ceiling(epsilon, share) : share / least * pml_recall_ceiling(epsilon, least);
}

bool advise_is_enough(const struct advise_question *question, const struct advise_way *way)
{
    if (isnan(way->found))
        return way->found_most >= question->found;
    return way->found >= question->found && way->found - way->popular > ERRORS_CLEAR * way->error;
}

/* ---- the whole index on the device ---- */

exit_code advise_ship(const struct advise_question *question, struct advise_measure *measure, struct advise_way *way)
{
    const double items = (double)question->items, sketch = (double)question->sketch;
    const double change = sketch + 1.0 + log2(items) / 7.0; /* the number of the item, and its sketch */
    const double room =
        question->days * (question->queries * (double)question->bytes_down - question->changes * change);
    const double most = floor((room - advise_answer_bytes(1.0, 0.0, sketch)) / (sketch + 1.0));
    char once[ADVISE_SIZE_TEXT], allowed[ADVISE_SIZE_TEXT], daily[ADVISE_SIZE_TEXT];
    *way = advise_way_make("ship");
    way->epsilon = way->delta = 0.0;
    way->found_most = 1.0;
    way->share = 1.0;
    way->items = question->items;
    way->items_most = most > 0.0 ? (uint64_t)most : 0;
    way->bytes_once = advise_answer_bytes(items, items, sketch);
    way->bytes_daily = question->changes * change;
    way->bytes = (way->bytes_once / question->days + way->bytes_daily) / question->queries;
    way->fits = way->items_most >= question->items;
    snprintf(way->promise, sizeof way->promise,
             "Nothing about a query leaves the device. That it holds the index, and when it fetches changes, is seen.");
    if (measure) {
        exit_code code = advise_measure_ship(measure, way);
        if (code != EXIT_OK)
            return code;
        way->fits = way->fits && way->found >= question->found;
    }
    advise_size_text(way->bytes_once, once);
    snprintf(way->assumption, sizeof way->assumption,
             "The gallery may be handed to every user: whoever has the index has all of its sketches. Every device has "
             "room for %s.",
             once);
    advise_size_text(way->bytes_daily, daily);
    advise_size_text(question->days * question->queries * (double)question->bytes_down, allowed);
    snprintf(way->reason, sizeof way->reason,
             "The whole index takes %s once and %s per day for changes. Queries of %g days may bring down %s. So it "
             "%s: with these numbers up to %" PRIu64 " items can be shipped.",
             once, daily, question->days, allowed, way->items_most >= question->items ? "fits" : "does not fit",
             way->items_most);
    const size_t length = strlen(way->reason);
    if (!isnan(way->found))
        snprintf(way->reason + length, sizeof way->reason - length,
                 " Ranking by sketches of %" PRIu64 " bytes found %.3f of the 8 nearest%s.", question->sketch, way->found,
                 way->found >= question->found ? "" : ", which is less than --found asks for: take a longer --sketch");
    else if (question->sketch < SKETCH_SHORT)
        snprintf(way->reason + length, sizeof way->reason - length,
                 " Sketches of %" PRIu64 " bytes may lose much: give --features to measure it.", question->sketch);
    return EXIT_OK;
}

/* ---- a message of one's own ---- */

/* What to try: these, up to the most that is allowed, and that most itself. */
static const double ladder[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0};
enum { STEPS = sizeof ladder / sizeof ladder[0] };

static double step_of(size_t step, double most)
{
    return step < STEPS && ladder[step] < most ? ladder[step] : most;
}

static void explain_response(const struct advise_question *question, struct advise_way *way)
{
    char *text = way->reason;
    int length;
    if (!isnan(way->found))
        length = snprintf(text, ADVISE_TEXT,
                          "With epsilon %g and answers of %" PRIu64 " items it found %.3f of the 8 nearest "
                          "(standard error %.3f); a fixed download of that size found %.3f without a message.",
                          way->epsilon, way->items, way->found, way->error, way->popular);
    else
        length = snprintf(text, ADVISE_TEXT,
                          "With epsilon %g and answers of %" PRIu64 " items no method finds more than %.3f of the 8 "
                          "nearest, if all items are wanted equally often. Real galleries found half of such a ceiling or "
                          "more (docs/RESULTS.md): %s.",
                          way->epsilon, way->items, way->found_most,
                          question->features ? "--features has too few rows to measure answers of this share"
                                             : "give --features to measure");
    if (way->fits)
        return;
    const double needed = pml_epsilon_for(question->found, way->share);
    if (isnan(way->found) && needed > question->epsilon)
        snprintf(text + length, ADVISE_TEXT - (size_t)length,
                 " %g would need an epsilon of at least %.2f, and --epsilon allows %g.", question->found, needed,
                 question->epsilon);
    else if (!isnan(way->found) && way->found >= question->found)
        snprintf(text + length, ADVISE_TEXT - (size_t)length, " The message adds nothing that is clear: do not ask.");
    else
        snprintf(text + length, ADVISE_TEXT - (size_t)length, " That is less than the %g that --found asks for.",
                 question->found);
}

static exit_code climb(const struct advise_question *question, struct advise_measure *measure, struct advise_way *way)
{
    for (size_t step = 0;; step++) {
        way->epsilon = step_of(step, question->epsilon);
        if (way->epsilon < EPSILON_UNSEEN && !measure && way->epsilon < question->epsilon)
            continue;
        way->found_most = advise_ceiling(way->epsilon, way->share);
        if (measure) {
            exit_code code = advise_measure_response(measure, way);
            if (code != EXIT_OK)
                return code;
            way->found_most = advise_ceiling(way->epsilon, fmax(way->share, way->popular)); /* theorem 9b */
        }
        way->fits = advise_is_enough(question, way) && (measure || way->epsilon >= EPSILON_UNSEEN);
        if (way->fits || way->epsilon >= question->epsilon)
            return EXIT_OK;
    }
}

exit_code advise_response(const struct advise_question *question, struct advise_measure *measure,
                          struct advise_way *way)
{
    *way = advise_way_make("response");
    way->items = advise_listed(question->items, (double)question->bytes_down, question->sketch);
    if (way->items > question->items / 2) /* lists have at most half of the gallery */
        way->items = question->items / 2;
    way->share = (double)way->items / (double)question->items;
    way->answers = 1.0;
    way->bytes = advise_answer_bytes((double)question->items, (double)way->items, (double)question->sketch);
    way->delta = 0.0;
    snprintf(way->promise, sizeof way->promise,
             "The message is at most e^epsilon times as likely for this query as for any other. Each further message "
             "costs as much again.");
    snprintf(
        way->assumption, sizeof way->assumption,
        "Nobody but the device has to be trusted, as long as the app pins one pack that is the same for everybody.");
    if (way->items < NEAREST) {
        way->epsilon = question->epsilon;
        way->found_most = advise_ceiling(way->epsilon, way->share);
        snprintf(way->reason, sizeof way->reason,
                 "An answer has room for %" PRIu64 " items, and 8 are looked for. Allow more --bytes-down, or a "
                 "shorter --sketch.",
                 way->items);
        return EXIT_OK;
    }
    if (measure && !advise_measure_can(measure, way->share))
        measure = NULL;
    exit_code code = climb(question, measure, way);
    if (code != EXIT_OK)
        return code;
    if (!measure && way->epsilon < EPSILON_UNSEEN)
        snprintf(way->reason, sizeof way->reason,
                 "Alone, a message of epsilon %g adds hardly anything to a fixed download (docs/RESULTS.md), so it is "
                 "not worth sending. Allow a larger --epsilon, or give --users.",
                 way->epsilon);
    else
        explain_response(question, way);
    return EXIT_OK;
}

/* ---- no message ---- */

void advise_none(const struct advise_question *question, const struct advise_way *response, struct advise_way *way)
{
    *way = advise_way_make("none");
    way->fits = true;
    way->epsilon = way->delta = 0.0;
    way->items = response->items;
    way->share = response->share;
    way->found_most = pml_recall_ceiling(0.0, way->share);
    way->found = way->popular = response->popular;
    if (!isnan(way->popular))
        way->found_most = fmax(way->share, way->popular);
    way->bytes_once = response->bytes;
    way->bytes_daily = 0.0;
    way->bytes = way->bytes_once / (question->days * question->queries);
    snprintf(way->promise, sizeof way->promise, "Nothing about a query leaves the device.");
    snprintf(way->assumption, sizeof way->assumption, "Nobody but the device has to be trusted.");
    if (way->items == 0) {
        snprintf(way->reason, sizeof way->reason,
                 "A fixed selection, the same for everybody, needs no message, but no item fits into %" PRIu64
                 " bytes, so it finds nothing.",
                 question->bytes_down);
        return;
    }
    snprintf(way->reason, sizeof way->reason,
             "A fixed selection of %" PRIu64 " items, the same for everybody, needs no message. It holds %.3f of what "
             "is looked for%s.",
             way->items, isnan(way->found) ? way->share : way->found,
             isnan(way->found) ? ", and more where some items are near to many queries" : ", as measured");
}

/* ---- the choice ---- */

/* Whether the fixed selection finds as much as was asked for. */
static bool selection_suffices(const struct advise_question *question, const struct advise_way *none)
{
    return (isnan(none->found) ? none->share : none->found) >= question->found;
}

void advise_choose(const struct advise_question *question, struct advise_advice *advice)
{
    const struct advise_way *ways = advice->ways, *response = &ways[ADVISE_RESPONSE], *crowd = &ways[ADVISE_CROWD];
    const bool suffices = selection_suffices(question, &ways[ADVISE_NONE]);
    advice->choice = ADVISE_NONE;
    if (response->fits && !suffices)
        advice->choice = ADVISE_RESPONSE;
    if (crowd->fits && !suffices && (!response->fits || crowd->epsilon < response->epsilon))
        advice->choice = ADVISE_CROWD;
    if (ways[ADVISE_SHIP].fits)
        advice->choice = ADVISE_SHIP;
    static const char *const heads[] = {
        [ADVISE_SHIP] = "Ship the whole index and ask nothing: it finds all but what sketches lose, and tells nothing.",
        [ADVISE_RESPONSE] = "Ask alone, which needs nobody's trust.",
        [ADVISE_CROWD] = "Ask in a crowd, through a relay that mixes and stays apart from the server; nobody can verify that.",
        [ADVISE_NONE] = "Do not ask.",
    };
    int length = snprintf(advice->why, sizeof advice->why, "%s %s", heads[advice->choice], ways[advice->choice].reason);
    if (advice->choice == ADVISE_CROWD && response->fits && response->epsilon < crowd->floor)
        snprintf(advice->why + length, sizeof advice->why - (size_t)length,
                 " If relay and server join, only epsilon %g is left. Asking alone fits with epsilon %g and needs nobody's "
                 "trust: whoever does not trust the relay asks alone.",
                 crowd->floor, response->epsilon);
    if (advice->choice == ADVISE_NONE && suffices)
        snprintf(advice->why + length, sizeof advice->why - (size_t)length,
                 " That is what --found asks for, without a message.");
    else if (advice->choice == ADVISE_NONE)
        snprintf(advice->why + length, sizeof advice->why - (size_t)length,
                 " No message that is allowed here finds %g of the 8 nearest. Allow more --bytes-down, a larger "
                 "--epsilon, or find people for a crowd (--users).",
                 question->found);
}
