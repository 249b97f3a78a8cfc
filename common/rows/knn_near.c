/* SPDX-License-Identifier: Apache-2.0
 * Neighbours of items and of guests in the clusters nearest to them. In the first round every row visits the cluster that is
 * nearest to it, in the second the next, until it has seen enough. A row visits one cluster a round, so no two threads
 * change one list; and all visitors of a cluster are compared with its members at once, tile by tile. */
#include "knn_near.h"
#include "kmeans.h"
#include "knn_reach.h"
#include "tiles.h"

#include <stdlib.h>

enum {
    ROWS_A_CLUSTER = 16, /* of the sample that clusters are made of */
    VISITS_LEAST = 4,    /* rows that look at fewer clusters miss more at their borders */
    VISITS_MOST = 16,
    MEMBERS_LEAST = 64,
    PIECE_MOST = 512 /* visitors that a thread takes at once */
};

/* Clusters and their members, or the visitors of this round. */
struct grouping {
    uint32_t *starts, *rows; /* rows of cluster c: rows[starts[c]] … rows[starts[c + 1] − 1], ascending */
};

/* The items, or the guests. */
struct flock {
    const struct pml_rows *rows;
    unsigned reach;
    uint32_t *neighbours; /* the result: `reach` items of each row, … */
    int64_t *scores;      /* … their scores, … */
    float *limits;        /* … and what none that may enter is below */
    uint32_t *near;       /* `visits` clusters of each row, nearest first */
    uint32_t *seen;       /* items that each row has looked at */
};

struct near {
    size_t looked_at, cluster_count;
    unsigned visits, threads;
    struct pml_rows centres;
    const struct pml_rows *items;
    struct grouping members;
};

/* ---- clusters ---- */

/* About as many as each row looks at items, so that finding the nearest costs no more than looking; but neither too large
 * nor too small ones. */
size_t pml_knn_near_clusters(size_t items, size_t looked_at)
{
    const size_t least = (items * VISITS_LEAST + looked_at - 1) / looked_at,
                 size = looked_at / VISITS_MOST > MEMBERS_LEAST ? looked_at / VISITS_MOST : MEMBERS_LEAST,
                 most = items / size < looked_at ? items / size : looked_at, wanted = least > most ? least : most;
    return wanted < items ? wanted : items;
}

/* Centres from a sample: k-means of all rows would cost more than the search it is for. */
static pml_outcome find_centres(struct near *near)
{
    const struct pml_rows *rows = near->items;
    const size_t wanted = pml_knn_near_clusters(rows->count, near->looked_at), most = wanted * ROWS_A_CLUSTER;
    uint32_t *indices = malloc(rows->count * sizeof *indices), *clusters = malloc(rows->count * sizeof *clusters);
    struct pml_rows sample = {0};
    struct pml_kmeans result = {.clusters = clusters};
    pml_outcome outcome =
        indices && clusters ? pml_rows_allocate(&near->centres, wanted, rows->columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_rows_gather(rows, indices, pml_rows_sample(rows->count, most, 0, indices), &sample);
    if (outcome == PML_DONE) {
        result.centres = near->centres.values;
        outcome = pml_kmeans(&sample, wanted, 0, near->threads, NULL, &result);
    }
    if (outcome == PML_DONE) {
        near->centres.count = near->cluster_count = result.distinct;
        for (size_t i = 0; i < result.distinct; i++)
            pml_rows_measure(&near->centres, i);
        const size_t visits = 2 * (near->looked_at * result.distinct / rows->count + 1); /* some clusters are small */
        near->visits = (unsigned)(visits < result.distinct ? visits : result.distinct);
    }
    pml_rows_free(&sample);
    free(indices);
    free(clusters);
    return outcome;
}

/* Finds for a tile of rows the clusters that they may visit. */
struct finding {
    const struct near *near;
    const struct flock *flock;
};

static void find_for_tile(const struct finding *finding, size_t first, size_t count, struct pml_tile *tile,
                          int64_t *scores)
{
    const struct pml_rows *centres = &finding->near->centres;
    const unsigned visits = finding->near->visits;
    int32_t dots[PML_TILE * PML_TILE] = {0};
    float limits[PML_TILE];
    pml_tile_fill(tile, finding->flock->rows, NULL, first, count);
    for (size_t i = 0; i < PML_TILE; i++)
        limits[i] = i < count ? pml_limit_of_score(INT64_MIN) : INFINITY;
    for (size_t i = 0; i < count * visits; i++) {
        scores[i] = INT64_MIN;
        finding->flock->near[first * visits + i] = UINT32_MAX;
    }
    for (size_t centre = 0; centre < centres->count; centre++) {
        if (centre % PML_TILE == 0)
            pml_tile_multiply(tile, centres, NULL, centre,
                              centres->count - centre < PML_TILE ? centres->count - centre : PML_TILE, dots);
        const int32_t *own = dots + centre % PML_TILE * PML_TILE;
        const float inverse = (float)centres->inverse[centre];
        for (size_t at = 0; at < count; at += PML_SEVERAL) {
            if (!pml_reaches_any(own + at, inverse, limits + at))
                continue;
            for (size_t i = at; i < at + PML_SEVERAL && i < count; i++) {
                const struct pml_nearest nearest = {scores + i * visits, finding->flock->near + (first + i) * visits,
                                                    visits};
                if (pml_reaches(own[i], inverse, limits[i]) &&
                    pml_nearest_offer(&nearest, own[i] * (int64_t)centres->inverse[centre], (uint32_t)centre))
                    limits[i] = pml_limit_of(&nearest);
            }
        }
    }
}

static pml_outcome find_piece(void *context, size_t piece)
{
    const struct finding *finding = context;
    const size_t first = piece * PML_TILE, left = finding->flock->rows->count - first;
    struct pml_tile tile;
    int64_t *scores = malloc(PML_TILE * finding->near->visits * sizeof *scores);
    const pml_outcome outcome =
        scores && pml_tile_allocate(&tile, finding->flock->rows->columns) == PML_DONE ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        find_for_tile(finding, first, left < PML_TILE ? left : PML_TILE, &tile, scores);
        pml_tile_free(&tile);
    }
    free(scores);
    return outcome;
}

/* Where there is one cluster, all visit it. */
static pml_outcome find_near_clusters(const struct near *near, const struct flock *flock)
{
    struct finding finding = {near, flock};
    const size_t count = flock->rows->count;
    for (size_t i = 0; near->cluster_count == 1 && i < count; i++)
        flock->near[i] = 0;
    if (near->cluster_count == 1)
        return PML_DONE;
    return pml_parallel(near->threads, (count + PML_TILE - 1) / PML_TILE, find_piece, &finding, NULL);
}

/* ---- groups ---- */

/* Whether a row is to visit another cluster. */
static bool seeks(const struct near *near, const struct flock *flock, size_t row)
{
    return flock->seen[row] < near->looked_at || flock->seen[row] <= flock->reach;
}

/* The rows that visit a cluster in this round, by their clusters. */
static size_t group(const struct near *near, const struct flock *flock, unsigned round, struct grouping *visitors)
{
    const size_t count = flock->rows->count, clusters = near->cluster_count;
    uint32_t *starts = visitors->starts;
    for (size_t c = 0; c <= clusters; c++)
        starts[c] = 0;
    for (size_t i = 0; i < count; i++)
        if (seeks(near, flock, i))
            starts[flock->near[i * near->visits + round] + 1]++;
    for (size_t c = 0; c < clusters; c++)
        starts[c + 1] += starts[c];
    const size_t all = starts[clusters];
    for (size_t i = count; i-- > 0;)
        if (seeks(near, flock, i))
            visitors->rows[--starts[flock->near[i * near->visits + round] + 1]] = (uint32_t)i;
    /* Each entry has moved down to the start of its cluster: one place too high for it. */
    for (size_t c = 0; c < clusters; c++)
        starts[c] = starts[c + 1];
    starts[clusters] = (uint32_t)all;
    return all;
}

/* ---- a round ---- */

struct round {
    const struct near *near;
    const struct flock *flock;
    const struct grouping *visitors;
    size_t piece; /* visitors */
    bool themselves;
};

/* Offers members of a tile to visitors; dots[v·PML_TILE + j] is of visitor v and member j. */
static void rank(const struct round *round, const uint32_t *visitors, size_t visitor_count, const uint32_t *members,
                 size_t count, const int32_t *dots)
{
    const struct flock *flock = round->flock;
    const uint32_t *exact = round->near->items->inverse;
    float inverse[PML_TILE] = {0};
    for (size_t j = 0; j < count; j++)
        inverse[j] = (float)exact[members[j]];
    for (size_t v = 0; v < visitor_count; v++, dots += PML_TILE) {
        const size_t row = visitors[v];
        const struct pml_nearest nearest = {flock->scores + row * flock->reach, flock->neighbours + row * flock->reach,
                                            flock->reach};
        for (size_t at = 0; at < count; at += PML_SEVERAL) {
            if (!pml_any_reaches(dots + at, inverse + at, flock->limits[row]))
                continue;
            for (size_t j = at; j < at + PML_SEVERAL && j < count; j++)
                if (pml_reaches(dots[j], inverse[j], flock->limits[row]) && !(round->themselves && members[j] == row) &&
                    pml_nearest_offer(&nearest, dots[j] * (int64_t)exact[members[j]], members[j]))
                    flock->limits[row] = pml_limit_of(&nearest);
        }
    }
}

/* Visitors of one cluster, at most a piece of them, look at the members `first` … `end` − 1. */
static void look(const struct round *round, const uint32_t *visitors, size_t visitor_count, size_t first, size_t end,
                 struct pml_tile *tile)
{
    const struct near *near = round->near;
    int32_t dots[PML_TILE * PML_TILE] = {0};
    for (size_t v = 0; v < visitor_count; v++)
        round->flock->seen[visitors[v]] += (uint32_t)(end - first);
    for (; first < end; first += PML_TILE) {
        const uint32_t *members = near->members.rows + first;
        const size_t count = end - first < PML_TILE ? end - first : PML_TILE;
        pml_tile_fill(tile, near->items, members, 0, count);
        for (size_t v = 0; v < visitor_count; v += PML_TILE) {
            const size_t some = visitor_count - v < PML_TILE ? visitor_count - v : PML_TILE;
            pml_tile_multiply(tile, round->flock->rows, visitors + v, 0, some, dots);
            rank(round, visitors + v, some, members, count, dots);
        }
    }
}

/* A piece of the visitors, cluster by cluster. */
static pml_outcome visit_piece(void *context, size_t piece)
{
    const struct round *round = context;
    const struct near *near = round->near;
    const uint32_t *starts = round->visitors->starts;
    const size_t all = starts[near->cluster_count], first = piece * round->piece,
                 end = first + round->piece < all ? first + round->piece : all;
    size_t low = 0,
           high = near->cluster_count; /* the cluster of the first visitor: starts[low] ≤ first < starts[high] */
    struct pml_tile tile;
    if (pml_tile_allocate(&tile, near->items->columns) != PML_DONE)
        return PML_NO_MEMORY;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (starts[middle] <= first)
            low = middle;
        else
            high = middle;
    }
    for (size_t at = first; at < end; low++) {
        const size_t last = starts[low + 1] < end ? starts[low + 1] : end;
        if (last > at)
            look(round, round->visitors->rows + at, last - at, near->members.starts[low], near->members.starts[low + 1],
                 &tile);
        at = last > at ? last : at;
    }
    pml_tile_free(&tile);
    return PML_DONE;
}

static pml_outcome visit(const struct near *near, const struct flock *flock, const struct grouping *visitors)
{
    const size_t all = visitors->starts[near->cluster_count], share = all / (8 * (size_t)near->threads + 1);
    struct round round = {.near = near, .flock = flock, .visitors = visitors, .themselves = flock->rows == near->items};
    round.piece = share < PML_TILE ? PML_TILE : share < PIECE_MOST ? share / PML_TILE * PML_TILE : PIECE_MOST;
    return pml_parallel(near->threads, (all + round.piece - 1) / round.piece, visit_piece, &round, NULL);
}

/* ---- all rounds ---- */

static void clear(const struct flock *flock, size_t row)
{
    const struct pml_nearest nearest = {flock->scores + row * flock->reach, flock->neighbours + row * flock->reach,
                                        flock->reach};
    pml_nearest_clear(&nearest);
    flock->limits[row] = pml_limit_of(&nearest);
    flock->seen[row] = 0;
}

/* Rows that saw too few items even in all clusters that they visited look at all items. */
static pml_outcome look_everywhere(const struct near *near, const struct flock *flock, struct grouping *visitors)
{
    struct near all = *near;
    uint32_t starts[2] = {0, (uint32_t)near->items->count};
    struct grouping few = {visitors->starts, visitors->rows};
    size_t count = 0;
    for (size_t i = 0; i < flock->rows->count; i++)
        if (flock->seen[i] <= flock->reach && flock->seen[i] < near->items->count) {
            clear(flock, i);
            few.rows[count++] = (uint32_t)i;
        }
    if (count == 0)
        return PML_DONE;
    all.cluster_count = 1;
    all.members.starts = starts;
    few.starts[0] = 0;
    few.starts[1] = (uint32_t)count;
    return visit(&all, flock, &few);
}

static pml_outcome visit_all(const struct near *near, const struct flock *flock, struct grouping *visitors,
                             const struct pml_progress *progress)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < flock->rows->count; i++)
        clear(flock, i);
    for (unsigned round = 0; round < near->visits && outcome == PML_DONE; round++) {
        if (group(near, flock, round, visitors) == 0)
            break;
        outcome = visit(near, flock, visitors);
        pml_progress_tell(progress, (double)(round + 1) / near->visits);
    }
    return outcome == PML_DONE ? look_everywhere(near, flock, visitors) : outcome;
}

/* ---- all of it ---- */

static pml_outcome start_flock(struct flock *flock, const struct near *near, const struct pml_knn_side *side)
{
    const size_t count = side->rows->count + 1; /* never nothing */
    *flock = (struct flock){.rows = side->rows,
                            .reach = side->reach,
                            .neighbours = side->lists,
                            .scores = malloc(count * (side->reach + 1) * sizeof *flock->scores),
                            .limits = malloc(count * sizeof *flock->limits),
                            .near = malloc(count * near->visits * sizeof *flock->near),
                            .seen = malloc(count * sizeof *flock->seen)};
    return flock->scores && flock->limits && flock->near && flock->seen ? PML_DONE : PML_NO_MEMORY;
}

static void free_flock(struct flock *flock)
{
    free(flock->scores);
    free(flock->limits);
    free(flock->near);
    free(flock->seen);
}

static pml_outcome start_grouping(struct grouping *grouping, size_t rows, size_t clusters)
{
    grouping->starts = malloc((clusters + 2) * sizeof *grouping->starts);
    grouping->rows = malloc((rows + 1) * sizeof *grouping->rows);
    return grouping->starts && grouping->rows ? PML_DONE : PML_NO_MEMORY;
}

static void free_grouping(struct grouping *grouping)
{
    free(grouping->starts);
    free(grouping->rows);
}

/* The lists of one side, if it wants some. The items come first, because they are the members of the clusters too. */
static pml_outcome search_side(struct near *near, const struct pml_knn_side *side, bool wanted,
                               const struct pml_progress *progress)
{
    struct flock flock = {0};
    struct grouping visitors = {0};
    const bool items = side->rows == near->items;
    pml_outcome outcome = start_flock(&flock, near, side);
    if (outcome == PML_DONE)
        outcome = find_near_clusters(near, &flock);
    if (outcome == PML_DONE)
        outcome = start_grouping(&visitors, side->rows->count, near->cluster_count);
    if (outcome == PML_DONE && items) {
        for (size_t i = 0; i < side->rows->count; i++)
            flock.seen[i] = 0;
        outcome = start_grouping(&near->members, side->rows->count, near->cluster_count);
        if (outcome == PML_DONE)
            group(near, &flock, 0, &near->members);
    }
    if (outcome == PML_DONE && wanted)
        outcome = visit_all(near, &flock, &visitors, progress);
    free_flock(&flock);
    free_grouping(&visitors);
    return outcome;
}

pml_outcome pml_knn_near(const struct pml_knn_side *items, const struct pml_knn_side *guests, size_t looked_at,
                         unsigned threads, const struct pml_progress *progress)
{
    struct near near = {
        .looked_at = looked_at, .cluster_count = 1, .visits = 1, .threads = threads, .items = items->rows};
    pml_outcome outcome = looked_at > 0 ? find_centres(&near) : PML_DONE;
    if (outcome == PML_DONE)
        outcome = search_side(&near, items, looked_at > 0 && items->reach > 0, progress);
    if (outcome == PML_DONE && guests->reach > 0 && guests->rows->count > 0)
        outcome = search_side(&near, guests, true, NULL);
    free_grouping(&near.members);
    pml_rows_free(&near.centres);
    return outcome;
}
