/* SPDX-License-Identifier: Apache-2.0
 * Prints what a release cost. In: public numbers only. */
#include "receipt.h"

#include "cli/shared/pack_file.h"

#include <math.h>

double receipt_releases_left(const struct receipt *receipt)
{
    /* in the budget's units (SPEC 4), and the price rounded up as there, so that the count is exact */
    const pml_budget_left *left = &receipt->left;
    if (receipt->price.mechanism == PML_GAUSSIAN)
        return floor((left->mu2_cap - left->mu2_spent) * 0x1p40 /
                     ceil(receipt->price.mu * receipt->price.mu * 0x1p40 * (1.0 + 0x1p-48)));
    return floor((left->epsilon_cap - left->epsilon_spent) * 0x1p20 / ceil(receipt->price.epsilon * 0x1p20));
}

void receipt_print_budget(FILE *stream, const struct receipt *receipt)
{
    if (!receipt->budget_path)
        return;
    const pml_budget_left *left = &receipt->left;
    double more = receipt_releases_left(receipt);
    if (receipt->price.mechanism == PML_GAUSSIAN)
        fprintf(stream, "budget: %s has spent mu^2 %.6g of %.6g (delta %.3g)", receipt->budget_path, left->mu2_spent,
                left->mu2_cap, left->delta);
    else
        fprintf(stream, "budget: %s has spent epsilon %.6g of %.6g", receipt->budget_path, left->epsilon_spent,
                left->epsilon_cap);
    fprintf(stream, "; it pays for %.0f more releases like this\n", more);
}

void receipt_print(FILE *stream, const struct receipt *receipt)
{
    const pml_receipt *price = &receipt->price;
    if (receipt->count == 1)
        fprintf(stream, "%s: one %s release, %zu bytes\n", receipt->paths[0], mechanism_name(price->mechanism),
                price->bytes);
    else
        fprintf(stream, "%s to %s: %zu %s releases, %zu bytes each\n", receipt->paths[0],
                receipt->paths[receipt->count - 1], receipt->count, mechanism_name(price->mechanism), price->bytes);
    fprintf(stream, "privacy%s: epsilon %g, delta %g", receipt->count > 1 ? " of each" : "", price->epsilon,
            price->delta);
    if (price->mechanism == PML_RESPONSE)
        fprintf(stream, ": whoever sees it can change their odds between two queries at most by the factor %.4g",
                exp(price->epsilon));
    fputc('\n', stream);
    if (price->mechanism == PML_GAUSSIAN)
        fprintf(stream, "noise: sigma %.6g for a certified sensitivity of %.6g (mu %.6g)\n", price->sigma,
                price->sensitivity, price->mu);
    else
        fprintf(stream, "noise: the true cell is kept with probability %.6g\n", price->keep);
    if (receipt->count > 1)
        fprintf(stream, "together: %s %.6g\n", price->mechanism == PML_GAUSSIAN ? "mu" : "epsilon",
                price->mechanism == PML_GAUSSIAN ? price->mu * sqrt((double)receipt->count)
                                                 : price->epsilon * (double)receipt->count);
    receipt_print_budget(stream, receipt);
    fprintf(stream, "Keep the bytes. Sending the same bytes again is free, a new release is not.\n");
}

void receipt_write_budget(struct json *json, const struct receipt *receipt)
{
    const pml_budget_left *left = &receipt->left;
    if (!receipt->budget_path) {
        json_text(json, "budget", NULL);
        return;
    }
    json_open(json, "budget", '{');
    json_text(json, "file", receipt->budget_path);
    json_number(json, "epsilon_cap", left->epsilon_cap);
    json_number(json, "epsilon_spent", left->epsilon_spent);
    json_number(json, "mu2_cap", left->mu2_cap);
    json_number(json, "mu2_spent", left->mu2_spent);
    json_number(json, "delta", left->delta);
    json_number(json, "releases_left", receipt_releases_left(receipt));
    json_close(json, '}');
}

void receipt_write(const struct receipt *receipt)
{
    struct json json = {0};
    const pml_receipt *price = &receipt->price;
    bool gaussian = price->mechanism == PML_GAUSSIAN;
    json_open(&json, NULL, '{');
    json_text(&json, "pack", receipt->pack);
    json_text(&json, "mechanism", mechanism_name(price->mechanism));
    json_number(&json, "epsilon", price->epsilon);
    json_number(&json, "delta", price->delta);
    json_number(&json, "sensitivity", gaussian ? price->sensitivity : NAN);
    json_number(&json, "sigma", gaussian ? price->sigma : NAN);
    json_number(&json, "mu", gaussian ? price->mu : NAN);
    json_number(&json, "keep", gaussian ? NAN : price->keep);
    json_count(&json, "bytes", price->bytes);
    json_open(&json, "releases", '[');
    for (size_t i = 0; i < receipt->count; i++)
        json_text(&json, NULL, receipt->paths[i]);
    json_close(&json, ']');
    receipt_write_budget(&json, receipt);
    json_close(&json, '}');
}
