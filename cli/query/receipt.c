/* SPDX-License-Identifier: Apache-2.0
 * Prints what a release cost. In: public numbers only. */
#include "receipt.h"

#include "cli/shared/pack_file.h"

#include <inttypes.h>
#include <math.h>

/* How often a budget pays `price`, both in the budget's units of 2^-bits (SPEC 4) and the price rounded up as there, so
 * that the count is exact. */
static double times_paid(double cap, double spent, double price, int bits)
{
    return floor(ldexp(cap - spent, bits) / ceil(ldexp(price, bits)));
}

static double square_up(double mu)
{
    return mu * mu * (1.0 + 0x1p-48);
}

double receipt_releases_left(const struct receipt *receipt)
{
    const pml_budget_left *left = &receipt->left;
    const pml_receipt *price = &receipt->price;
    if (price->mechanism == PML_GAUSSIAN)
        return times_paid(left->mu2_cap, left->mu2_spent, square_up(price->mu), 40);
    if (!receipt->crowd)
        return times_paid(left->epsilon_cap, left->epsilon_spent, price->epsilon, 20);
    double more = receipt->bundle == PML_BUNDLE_QUERY
                      ? times_paid(left->floor_cap, left->floor_spent, price->epsilon, 20)
                      : INFINITY;
    if (price->mu > 0.0 && receipt->bundle != PML_BUNDLE_IDLE) { /* w own messages per bundle, each rounded up */
        const double own = receipt->crowd->policy.own;
        more =
            fmin(more, floor(times_paid(left->crowd_mu2_cap, left->crowd_mu2_spent, square_up(price->mu), 40) / own));
        more = fmin(more, floor(times_paid(left->crowd_delta0_cap, left->crowd_delta0_spent, price->delta, 64) / own));
    }
    return more;
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
    else if (receipt->crowd)
        fprintf(stream, "budget: %s has spent floor %.6g of %.6g, crowd mu^2 %.6g of %.6g, delta0 %.3g of %.3g",
                receipt->budget_path, left->floor_spent, left->floor_cap, left->crowd_mu2_spent, left->crowd_mu2_cap,
                left->crowd_delta0_spent, left->crowd_delta0_cap);
    else
        fprintf(stream, "budget: %s has spent epsilon %.6g of %.6g", receipt->budget_path, left->epsilon_spent,
                left->epsilon_cap);
    if (isfinite(more))
        fprintf(stream, "; it pays for %.0f more %s like this\n", more, receipt->crowd ? "bundles" : "releases");
    else
        fprintf(stream, "; a bundle like this costs nothing\n");
}

void receipt_print_promises(FILE *stream, const struct receipt *receipt)
{
    const struct crowd_promise *promise = receipt->crowd;
    char assumption[CROWD_ASSUMPTION_MAX];
    fprintf(stream, "floor: epsilon %g, whoever works together against it%s\n", promise->floor,
            receipt->bundle == PML_BUNDLE_KEPT ? "; it was paid when the cell was drawn" : "");
    crowd_promise_assumption(promise, assumption);
    if (promise->crowded)
        fprintf(stream, "crowd: epsilon %.4g, delta %g, %s\n", promise->epsilon, promise->delta, assumption);
    else
        fprintf(stream, "crowd: no promise, only the floor holds\n");
    fprintf(stream, "noise: the true cell is kept with probability %.6g", receipt->price.keep);
    if (promise->fakes > 0.0)
        fprintf(stream, "; %.4g fakes per %s on average, in clusters of 1 to %" PRIu32 " equal messages",
                promise->fakes, promise->clients == 0 ? "epoch by the relay" : "client", promise->policy.copies);
    fputc('\n', stream);
}

static void print_crowd(FILE *stream, const struct receipt *receipt)
{
    static const char *const names[] = {[PML_BUNDLE_QUERY] = "a bundle",
                                        [PML_BUNDLE_KEPT] = "a kept cell sent again, a bundle",
                                        [PML_BUNDLE_IDLE] = "an idle bundle, about no query,"};
    for (size_t i = 0; i < receipt->count; i++)
        fprintf(stream, "%s: %s of %zu message%s, %zu bytes each\n", receipt->paths[i], names[receipt->bundle],
                receipt->messages[i], receipt->messages[i] == 1 ? "" : "s", receipt->price.bytes);
    receipt_print_promises(stream, receipt);
    receipt_print_budget(stream, receipt);
    fprintf(stream, "Hand over each bundle as a whole, in one epoch. Never tell which of its messages are own.\n");
}

void receipt_print(FILE *stream, const struct receipt *receipt)
{
    const pml_receipt *price = &receipt->price;
    if (receipt->crowd) {
        print_crowd(stream, receipt);
        return;
    }
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
    json_number(json, "floor_cap", left->floor_cap);
    json_number(json, "floor_spent", left->floor_spent);
    json_number(json, "crowd_mu2_cap", left->crowd_mu2_cap);
    json_number(json, "crowd_mu2_spent", left->crowd_mu2_spent);
    json_number(json, "crowd_delta0_cap", left->crowd_delta0_cap);
    json_number(json, "crowd_delta0_spent", left->crowd_delta0_spent);
    json_number(json, "crowd_delta", left->crowd_delta);
    json_number(json, "releases_left", receipt_releases_left(receipt));
    json_close(json, '}');
}

void receipt_write_promises(struct json *json, const struct receipt *receipt)
{
    const struct crowd_promise *promise = receipt->crowd;
    const pml_crowd *policy = &promise->policy;
    char assumption[CROWD_ASSUMPTION_MAX];
    crowd_promise_assumption(promise, assumption);
    json_text(json, "bundle",
              receipt->bundle == PML_BUNDLE_QUERY  ? "query"
              : receipt->bundle == PML_BUNDLE_KEPT ? "kept"
                                                   : "idle");
    json_number(json, "floor", promise->floor);
    json_text(json, "promise", promise->crowded ? "crowd" : "floor");
    json_text(json, "assumption", promise->crowded ? assumption : NULL);
    json_count(json, "clients", promise->clients);
    json_number(json, "honest", promise->honest);
    json_number(json, "clusters", policy->clusters);
    json_count(json, "copies", policy->copies);
    json_count(json, "own", policy->own);
    json_number(json, "relay_clusters", policy->relay_clusters);
    json_number(json, "fakes", promise->fakes);
    json_number(json, "delta0", policy->mu > 0.0 ? policy->delta0 : NAN);
}

static void write_crowd(struct json *json, const struct receipt *receipt)
{
    receipt_write_promises(json, receipt);
    json_open(json, "messages", '[');
    for (size_t i = 0; i < receipt->count; i++)
        json_count(json, NULL, receipt->messages[i]);
    json_close(json, ']');
}

void receipt_write(const struct receipt *receipt)
{
    struct json json = {0};
    const pml_receipt *price = &receipt->price;
    const struct crowd_promise *crowd = receipt->crowd;
    const bool gaussian = price->mechanism == PML_GAUSSIAN;
    const double mu = crowd ? crowd->policy.mu : price->mu;
    json_open(&json, NULL, '{');
    json_text(&json, "pack", receipt->pack);
    json_text(&json, "mechanism", mechanism_name(price->mechanism));
    json_number(&json, "epsilon", crowd ? crowd->epsilon : price->epsilon);
    json_number(&json, "delta", crowd ? crowd->delta : price->delta);
    json_number(&json, "sensitivity", gaussian ? price->sensitivity : NAN);
    json_number(&json, "sigma", gaussian ? price->sigma : NAN);
    json_number(&json, "mu", mu > 0.0 ? mu : NAN);
    json_number(&json, "keep", gaussian ? NAN : price->keep);
    json_count(&json, "bytes", price->bytes);
    if (crowd)
        write_crowd(&json, receipt);
    json_open(&json, "releases", '[');
    for (size_t i = 0; i < receipt->count; i++)
        json_text(&json, NULL, receipt->paths[i]);
    json_close(&json, ']');
    receipt_write_budget(&json, receipt);
    json_close(&json, '}');
}
