/* SPDX-License-Identifier: Apache-2.0
 * Computes approximately which rows made-up queries become. */
#include "audit_rows.h"

#include "common/rows/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for a list of anchors. */
struct anchors {
    double scores[PML_NEIGHBOURS_MAX];
    uint32_t indices[PML_NEIGHBOURS_MAX];
};

static struct pml_best begin_list(struct anchors *anchors, unsigned length)
{
    return (struct pml_best){anchors->scores, anchors->indices, length, 0};
}

static void find_extremes(struct audit_rows *rows, size_t coordinate)
{
    const pml_pack_info *info = &rows->file->info;
    int16_t code[PML_DIMENSIONS_MAX];
    for (size_t negative = 0; negative < 2; negative++) {
        struct anchors room = {0};
        struct pml_best largest = begin_list(&room, info->neighbours);
        for (size_t i = 0; i < info->anchors; i++) {
            if (pml_pack_anchor_code(&rows->file->pack, i, code) == PML_OK)
                pml_best_offer(&largest, negative ? -code[coordinate] : code[coordinate], (uint32_t)i);
        }
        memcpy(rows->extremes[coordinate][negative], room.scores, sizeof room.scores);
    }
}

pml_status audit_rows_open(struct audit_rows *rows, const struct pack_file *file)
{
    memset(rows, 0, sizeof *rows);
    rows->file = file;
    rows->inverse_norms = malloc((file->info.anchors + 1) * sizeof *rows->inverse_norms);
    for (size_t i = 0; rows->inverse_norms && i < file->info.anchors; i++)
        rows->inverse_norms[i] = pml_inverse_norm(pml_pack_anchor(&file->pack, i), file->info.features) * 0x1p-30;
    for (size_t i = 0; i < file->info.dimensions; i++)
        find_extremes(rows, i);
    return rows->inverse_norms ? PML_OK : PML_ERROR_MEMORY;
}

void audit_rows_close(struct audit_rows *rows)
{
    free(rows->inverse_norms);
    rows->inverse_norms = NULL;
}

static int32_t dot(const int8_t *left, const int8_t *right, size_t count)
{
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += left[i] * right[i];
    return sum;
}

pml_status audit_rows_sum(const struct audit_rows *rows, const float *features, struct audit_sum *sum)
{
    const pml_pack_info *info = &rows->file->info;
    const pml_pack *pack = &rows->file->pack;
    int8_t query[PML_FEATURES_MAX];
    int16_t code[PML_DIMENSIONS_MAX];
    memset(sum, 0, sizeof *sum);
    int64_t scratch[PML_FRONT_MEMORY(PML_FEATURES_MAX, PML_FEATURES_MAX) / sizeof(int64_t)];
    pml_status status = pml_front_map(&rows->file->front, NULL, features, rows->file->front.inputs, scratch, query);
    if (status != PML_OK)
        return status;
    struct anchors room;
    struct pml_best nearest = begin_list(&room, info->neighbours);
    double inverse_norm = pml_inverse_norm(query, info->features) * 0x1p-30, lambda = info->lambda / 65536.0;
    for (size_t i = 0; i < info->anchors; i++) {
        int32_t product = dot(query, pml_pack_anchor(pack, i), info->features);
        pml_best_offer(&nearest, product * rows->inverse_norms[i] * inverse_norm, (uint32_t)i);
    }
    for (size_t j = 0; j < nearest.held && status == PML_OK; j++) {
        double weight = fmax(exp(-lambda * (1.0 - nearest.scores[j])), 0x1p-16);
        status = pml_pack_anchor_code(pack, nearest.indices[j], code);
        for (size_t i = 0; i < info->dimensions && status == PML_OK; i++)
            sum->codes[i] += weight * code[i];
        sum->weight += weight;
    }
    return status;
}

void audit_rows_label(const struct audit_rows *rows, uint32_t slot, double *out)
{
    const pml_pack_info *info = &rows->file->info;
    const pml_pack *pack = &rows->file->pack;
    int16_t own[PML_DIMENSIONS_MAX], code[PML_DIMENSIONS_MAX];
    struct anchors room;
    struct pml_best nearest = begin_list(&room, info->neighbours);
    memset(out, 0, PML_DIMENSIONS_MAX * sizeof *out);
    if (info->alpha == 0 || pml_pack_slot_code(pack, slot, own) != PML_OK)
        return;
    for (size_t i = 0; i < info->anchors; i++) {
        uint32_t of;
        if (pml_pack_anchor_slot(pack, i, &of) == PML_OK)
            pml_best_offer(&nearest, -fabs((double)of - slot), (uint32_t)i);
    }
    for (size_t j = 0; j < nearest.held; j++) {
        double away = nearest.scores[j], weight = exp(-info->lambda / 65536.0 * away * away / 2.0);
        if (pml_pack_anchor_code(pack, nearest.indices[j], code) != PML_OK)
            return;
        for (size_t i = 0; i < info->dimensions; i++)
            out[i] += info->alpha / 256.0 * weight * (own[i] - code[i]);
    }
}

double audit_rows_distance(const struct audit_rows *rows, const struct audit_sum *first, const struct audit_sum *second,
                           const double *label_row)
{
    double square = 0.0;
    for (size_t i = 0; i < rows->file->info.dimensions; i++) {
        double difference = (first->codes[i] + label_row[i]) / (2.0 * first->weight) -
                            (second->codes[i] + label_row[i]) / (2.0 * second->weight);
        square += difference * difference;
    }
    return sqrt(square);
}

/* The support function of PRIVACY.md, theorem 1, along one axis; `label` is the label row's part. */
static double support(const struct audit_rows *rows, const double *largest, double label)
{
    size_t neighbours = rows->file->info.neighbours;
    double floor_weight = fmax(exp(-2.0 * rows->file->info.lambda / 65536.0), 0x1p-16);
    double rest = 0.0, most = -INFINITY, full = 0.0;
    for (size_t j = 0; j < neighbours; j++)
        rest += largest[j];
    for (size_t t = 0; t <= neighbours; t++) {
        double weight = (double)t + floor_weight * (double)(neighbours - t);
        most = fmax(most, (full + floor_weight * rest + label) / weight);
        if (t < neighbours) {
            full += largest[t];
            rest -= largest[t];
        }
    }
    return most;
}

/* Squared distance of a record's row from the centre that stands in its slot when the record is another's. */
static double centre_distance(const struct audit_rows *rows, const struct audit_sum *sum, uint32_t slot)
{
    double label_row[PML_DIMENSIONS_MAX], square = 0.0;
    audit_rows_label(rows, slot, label_row);
    for (size_t i = 0; i < rows->file->info.dimensions; i++) {
        double centre = 0.25 * (support(rows, rows->extremes[i][0], label_row[i]) -
                                support(rows, rows->extremes[i][1], -label_row[i]));
        double difference = (sum->codes[i] + label_row[i]) / (2.0 * sum->weight) - centre;
        square += difference * difference;
    }
    return square;
}

double audit_rows_apart(const struct audit_rows *rows, const struct audit_pair *pair, const struct audit_sum sums[2])
{
    double label_row[PML_DIMENSIONS_MAX];
    uint32_t first = pair->sides[0].slot, second = pair->sides[1].slot;
    if (first != second)
        return sqrt(centre_distance(rows, &sums[0], first) + centre_distance(rows, &sums[1], second));
    audit_rows_label(rows, first, label_row);
    return audit_rows_distance(rows, &sums[0], &sums[1], label_row);
}

void audit_rows_extreme(const struct audit_rows *rows, const double *direction, size_t count, float *target)
{
    const pml_pack_info *info = &rows->file->info;
    struct anchors room;
    struct pml_best furthest = begin_list(&room, count < info->neighbours ? (unsigned)count : info->neighbours);
    for (size_t j = 0; j < info->anchors; j++) {
        int16_t code[PML_DIMENSIONS_MAX];
        double score = 0.0;
        if (pml_pack_anchor_code(&rows->file->pack, j, code) != PML_OK)
            return;
        for (size_t i = 0; i < info->dimensions; i++)
            score += direction[i] * code[i];
        pml_best_offer(&furthest, score, (uint32_t)j);
    }
    for (size_t j = 0; j < furthest.held; j++)
        audit_add_row(target, pml_pack_anchor(&rows->file->pack, furthest.indices[j]), info->features, 1.0);
}
