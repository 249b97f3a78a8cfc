/* SPDX-License-Identifier: Apache-2.0
 * Losses and their slopes; tests/tools/test_labels.c compares each with differences. */
#include "label_losses.h"

#include <math.h>

double pml_loss_entropy(const struct pml_matrix *scores, const struct pml_matrix *marks, double weight,
                        struct pml_matrix *slope)
{
    const size_t count = scores->rows * scores->columns;
    const double share = 1.0 / (double)scores->rows;
    double loss = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double score = scores->values[i], small = exp(-fabs(score));
        loss += (score > 0.0 ? score : 0.0) + log1p(small) - marks->values[i] * score;
        const double chance = score > 0.0 ? 1.0 / (1.0 + small) : small / (1.0 + small);
        slope->values[i] += weight * share * (chance - marks->values[i]);
    }
    return loss * share;
}

static double count_marks(const double *marks, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += marks[i];
    return sum;
}

double pml_loss_contrast(const struct pml_matrix *scores, const struct pml_matrix *marks, double weight,
                         struct pml_matrix *slope)
{
    const double share = 1.0 / (double)scores->rows;
    double loss = 0.0;
    for (size_t i = 0; i < scores->rows; i++) {
        const double *score = pml_matrix_row(scores, i), *mark = pml_matrix_row(marks, i);
        const double own = count_marks(mark, scores->columns);
        double largest = score[0], sum = 0.0, mean = 0.0;
        if (own == 0.0)
            continue;
        for (size_t j = 0; j < scores->columns; j++)
            largest = fmax(largest, score[j]);
        for (size_t j = 0; j < scores->columns; j++) {
            sum += exp(score[j] - largest);
            mean += mark[j] * score[j] / own;
        }
        loss += largest + log(sum) - mean;
        for (size_t j = 0; j < scores->columns; j++)
            pml_matrix_row(slope, i)[j] += weight * share * (exp(score[j] - largest) / sum - mark[j] / own);
    }
    return loss * share;
}

/* ---- the mixture ---- */

void pml_latent_draw(const struct pml_latents *rows, size_t row, const double *noise, double *out)
{
    const double *mean = pml_matrix_row(rows->values, row), *logarithm = mean + rows->size;
    for (size_t j = 0; j < rows->size; j++)
        out[j] = mean[j] + exp(0.5 * logarithm[j]) * noise[j];
}

void pml_latent_back(const struct pml_latents *rows, size_t row, const double *noise, const double *slope)
{
    const double *logarithm = pml_matrix_row(rows->values, row) + rows->size;
    double *mean_slope = pml_matrix_row(rows->slope, row), *logarithm_slope = mean_slope + rows->size;
    for (size_t j = 0; j < rows->size; j++) {
        mean_slope[j] += slope[j];
        logarithm_slope[j] += slope[j] * 0.5 * exp(0.5 * logarithm[j]) * noise[j];
    }
}

/* The logarithm of a density without its factor of 2π, which q and p share. */
static double log_density(const struct pml_latents *gaussians, size_t row, const double *point)
{
    const double *mean = pml_matrix_row(gaussians->values, row), *logarithm = mean + gaussians->size;
    double sum = 0.0;
    for (size_t j = 0; j < gaussians->size; j++) {
        const double away = point[j] - mean[j];
        sum -= 0.5 * (logarithm[j] + away * away * exp(-logarithm[j]));
    }
    return sum;
}

/* Slopes of −log of a density, times `weight`: those of its mean and logarithms into the components, those of the point
 * into `back`. */
static void add_slopes(const struct pml_latents *components, size_t row, const double *point, double weight,
                       double *back)
{
    const double *mean = pml_matrix_row(components->values, row), *logarithm = mean + components->size;
    double *mean_slope = pml_matrix_row(components->slope, row), *logarithm_slope = mean_slope + components->size;
    for (size_t j = 0; j < components->size; j++) {
        const double away = point[j] - mean[j], pull = away * exp(-logarithm[j]);
        back[j] += weight * pull;
        mean_slope[j] -= weight * pull;
        logarithm_slope[j] -= weight * 0.5 * (away * pull - 1.0);
    }
}

/* The loss of one row. `point` and `back` have room for a point, `densities` for a number per label. */
static double row_divergence(const struct pml_latents *rows, size_t row, const struct pml_latents *components,
                             const double *noise, const double *mark, double weight, double *point, double *back,
                             double *densities)
{
    const size_t labels = components->values->rows, size = rows->size;
    const double own = count_marks(mark, labels);
    double largest = -INFINITY, sum = 0.0;
    if (own == 0.0)
        return 0.0;
    pml_latent_draw(rows, row, noise, point);
    for (size_t c = 0; c < labels; c++)
        if (mark[c] > 0.0) {
            densities[c] = log(mark[c]) + log_density(components, c, point);
            largest = fmax(largest, densities[c]);
        }
    for (size_t c = 0; c < labels; c++)
        sum += mark[c] > 0.0 ? exp(densities[c] - largest) : 0.0;
    for (size_t j = 0; j < size; j++)
        back[j] = 0.0;
    for (size_t c = 0; c < labels; c++)
        if (mark[c] > 0.0)
            add_slopes(components, c, point, weight * exp(densities[c] - largest) / sum, back);
    pml_latent_back(rows, row, noise, back);
    for (size_t j = 0; j < size; j++) /* of log q: where z lies in units of q's deviation does not change */
        pml_matrix_row(rows->slope, row)[size + j] -= 0.5 * weight;
    return log_density(rows, row, point) - (largest + log(sum / own));
}

double pml_loss_mixture(const struct pml_latents *rows, const struct pml_latents *components,
                        const struct pml_matrix *noise, const struct pml_matrix *marks, double weight, double *scratch)
{
    const size_t count = rows->values->rows;
    double loss = 0.0;
    for (size_t i = 0; i < count; i++)
        loss += row_divergence(rows, i, components, pml_matrix_row(noise, i), pml_matrix_row(marks, i),
                               weight / (double)count, scratch, scratch + rows->size, scratch + 2 * rows->size);
    return loss / (double)count;
}
