/* SPDX-License-Identifier: Apache-2.0
 * In: rows and their clusters. Out: clusters of enough different rows, and the means of these rows.
 * Never keeps a centre of k-means as it is: that may be a row, or the mean of rows that have left since. */
#include "thin_clusters.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct crowd {
    const struct pml_rows *rows;
    struct pml_rows centres;
    uint32_t *first, *last; /* rows of each cluster, NONE when it has none */
    uint32_t *next;         /* of each row: the next of its cluster */
    uint32_t *members;      /* scratch: rows of one cluster */
    int32_t *dots;          /* scratch: of one centre with all */
    size_t public_count, least, left;
};

static void append(struct crowd *crowd, uint32_t cluster, uint32_t first, uint32_t last)
{
    if (crowd->first[cluster] == NONE)
        crowd->first[cluster] = first;
    else
        crowd->next[crowd->last[cluster]] = first;
    crowd->last[cluster] = last;
}

static void list_rows(struct crowd *crowd, const uint32_t *clusters)
{
    for (size_t c = 0; c < crowd->centres.count; c++)
        crowd->first[c] = NONE;
    for (uint32_t row = 0; row < crowd->rows->count; row++) {
        crowd->next[row] = NONE;
        append(crowd, clusters[row], row, row);
    }
    crowd->left = 0;
    for (size_t c = 0; c < crowd->centres.count; c++)
        crowd->left += crowd->first[c] != NONE;
}

size_t pml_rows_different(const struct pml_rows *rows, uint32_t *members, size_t count, size_t least)
{
    size_t different = 0;
    for (size_t i = 0; i < count && different < least; i++) {
        const int8_t *row = rows->values + members[i] * rows->columns;
        bool seen = false;
        for (size_t j = 0; j < different && !seen; j++)
            seen = memcmp(row, rows->values + members[j] * rows->columns, rows->columns) == 0;
        if (!seen) {
            const uint32_t member = members[i];
            members[i] = members[different];
            members[different++] = member;
        }
    }
    return different;
}

/* Moves the rows of the gallery to the front. Returns how many they are. */
static size_t gallery_first(size_t public_count, uint32_t *members, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (members[i] >= public_count) {
            const uint32_t member = members[i];
            members[i] = members[found];
            members[found++] = member;
        }
    return found;
}

static void turn(uint32_t *members, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const uint32_t member = members[i];
        members[i] = members[count - 1 - i];
        members[count - 1 - i] = member;
    }
}

size_t pml_rows_open(const struct pml_rows *rows, size_t public_count, uint32_t *members, size_t count, size_t least)
{
    const size_t guarded = gallery_first(public_count, members, count), rest = count - guarded;
    if (pml_rows_different(rows, members, guarded > 0 ? guarded : count, least) >= least)
        return count;
    turn(members, count); /* public rows come first now */
    return guarded > 0 && pml_rows_different(rows, members, rest, least) >= least ? rest : 0;
}

/* Makes the centre the mean of its rows, and sees whether the cluster is thin. */
static pml_outcome move_centre(struct crowd *crowd, size_t cluster, bool *thin)
{
    size_t count = 0;
    for (uint32_t row = crowd->first[cluster]; row != NONE; row = crowd->next[row])
        crowd->members[count++] = row;
    const size_t open = pml_rows_open(crowd->rows, crowd->public_count, crowd->members, count, crowd->least);
    pml_outcome outcome = pml_rows_mean(crowd->rows, crowd->members, NULL, open > 0 ? open : count,
                                        crowd->centres.values + cluster * crowd->rows->columns);
    pml_rows_measure(&crowd->centres, cluster);
    if (outcome == PML_NO_MEMORY)
        return outcome;
    *thin = outcome == PML_REFUSED || open == 0;
    return PML_DONE;
}

static uint32_t nearest_other(const struct crowd *crowd, uint32_t cluster)
{
    const struct pml_rows *centres = &crowd->centres;
    uint32_t nearest = NONE;
    int64_t most = 0;
    pml_dots(centres->values + cluster * centres->columns, centres->values, centres->columns, centres->count,
             crowd->dots);
    for (uint32_t other = 0; other < centres->count; other++) {
        const int64_t score = crowd->dots[other] * (int64_t)centres->inverse[other];
        if (other != cluster && crowd->first[other] != NONE && (nearest == NONE || score > most)) {
            nearest = other;
            most = score;
        }
    }
    return nearest;
}

/* One pass over all clusters. `joined`: one joined another; `thin`: the last one looked at is thin. */
static pml_outcome join_thin(struct crowd *crowd, bool *joined, bool *thin)
{
    *joined = false;
    for (uint32_t cluster = 0; cluster < crowd->centres.count; cluster++) {
        if (crowd->first[cluster] == NONE)
            continue;
        if (move_centre(crowd, cluster, thin) != PML_DONE)
            return PML_NO_MEMORY;
        if (!*thin || crowd->left == 1)
            continue;
        const uint32_t other = nearest_other(crowd, cluster);
        append(crowd, other, crowd->first[cluster], crowd->last[cluster]);
        crowd->first[cluster] = NONE;
        crowd->left--;
        *joined = true;
        bool other_thin; /* its turn comes, in this pass or the next */
        if (move_centre(crowd, other, &other_thin) != PML_DONE)
            return PML_NO_MEMORY;
    }
    return PML_DONE;
}

/* The centres that are left, one behind the other. */
static void gather_centres(struct crowd *crowd, struct pml_kmeans *clusters)
{
    const size_t columns = crowd->rows->columns;
    size_t kept = 0;
    for (size_t c = 0; c < crowd->centres.count; c++)
        if (crowd->first[c] != NONE) {
            memmove(crowd->centres.values + kept * columns, crowd->centres.values + c * columns, columns);
            pml_rows_measure(&crowd->centres, kept++);
        }
    crowd->centres.count = clusters->distinct = kept;
    memcpy(clusters->centres, crowd->centres.values, kept * columns);
}

pml_outcome pml_clusters_thicken(const struct pml_rows *rows, size_t public_count, size_t least, size_t count,
                                 unsigned threads, struct pml_kmeans *clusters, bool *thin)
{
    struct crowd crowd = {.rows = rows, .public_count = public_count, .least = least};
    *thin = false;
    crowd.first = malloc(count * sizeof *crowd.first);
    crowd.last = malloc(count * sizeof *crowd.last);
    crowd.next = malloc(rows->count * sizeof *crowd.next);
    crowd.members = malloc(rows->count * sizeof *crowd.members);
    crowd.dots = malloc(count * sizeof *crowd.dots);
    pml_outcome outcome = crowd.first && crowd.last && crowd.next && crowd.members && crowd.dots
                              ? pml_rows_allocate(&crowd.centres, count, rows->columns)
                              : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        memcpy(crowd.centres.values, clusters->centres, count * rows->columns);
        for (size_t c = 0; c < count; c++)
            pml_rows_measure(&crowd.centres, c);
        list_rows(&crowd, clusters->clusters);
        for (bool joined = true; outcome == PML_DONE && joined;)
            outcome = join_thin(&crowd, &joined, thin);
    }
    if (outcome == PML_DONE) {
        gather_centres(&crowd, clusters);
        outcome = pml_kmeans_assign(rows, &crowd.centres, threads, clusters->clusters);
    }
    pml_rows_free(&crowd.centres);
    free(crowd.first);
    free(crowd.last);
    free(crowd.next);
    free(crowd.members);
    free(crowd.dots);
    return outcome;
}
