/* SPDX-License-Identifier: Apache-2.0
 * Conducts the layers of a model forward, then the slopes of its losses backward. */
#include "label_network.h"

#include "label_losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

struct shape {
    size_t inputs, outputs;
};

static size_t find_shapes(const struct pml_network *network, struct shape shapes[PML_LAYERS])
{
    const size_t inputs = network->inputs, hidden = network->hidden, latent = network->latent;
    const struct shape all[PML_LAYERS] = {
        [PML_LAYER_SCORE] = {network->model == PML_LABEL_LINEAR ? inputs : hidden, network->labels},
        [PML_LAYER_ENCODE] = {inputs, hidden},
        [PML_LAYER_SPREAD] = {hidden, 2 * latent},
        [PML_LAYER_DECODE] = {inputs + latent, hidden},
        [PML_LAYER_EMBED] = {hidden, hidden},
        [PML_LAYER_CARRY] = {inputs + latent, hidden},
        [PML_LAYER_NAME] = {hidden, hidden},
        [PML_LAYER_PLACE] = {hidden, 2 * latent},
    };
    static const size_t counts[PML_LABEL_MODELS] = {1, 2, PML_LAYERS};
    memcpy(shapes, all, sizeof all);
    return counts[network->model];
}

pml_outcome pml_network_make(struct pml_network *network, struct pml_generator *generator)
{
    struct shape shapes[PML_LAYERS];
    network->count = find_shapes(network, shapes);
    memset(network->layers, 0, sizeof network->layers);
    for (size_t i = 0; i < network->count; i++) {
        /* Variances stay what they are through a layer before pml_rectify_forward, and shrink in others. */
        const bool rectified = i == PML_LAYER_ENCODE || i == PML_LAYER_DECODE || i == PML_LAYER_NAME;
        const double deviation = sqrt((rectified ? 2.0 : 0.5) / (double)shapes[i].inputs);
        if (pml_layer_make(&network->layers[i], shapes[i].inputs, shapes[i].outputs, deviation, generator) != PML_DONE)
            return PML_NO_MEMORY;
    }
    return PML_DONE;
}

void pml_network_free(struct pml_network *network)
{
    for (size_t i = 0; i < PML_LAYERS; i++)
        pml_layer_free(&network->layers[i]);
}

static pml_outcome make_stage(struct pml_stage *stage, size_t rows, size_t columns)
{
    return pml_matrix_allocate(&stage->value, rows, columns) == PML_DONE &&
                   pml_matrix_allocate(&stage->slope, rows, columns) == PML_DONE
               ? PML_DONE
               : PML_NO_MEMORY;
}

static void free_stage(struct pml_stage *stage)
{
    pml_matrix_free(&stage->value);
    pml_matrix_free(&stage->slope);
}

pml_outcome pml_pass_make(struct pml_pass *pass, const struct pml_network *network, size_t batch)
{
    const size_t hidden = network->hidden, latent = network->latent, labels = network->labels;
    const bool mixture = network->model == PML_LABEL_MIXTURE;
    *pass = (struct pml_pass){0};
    bool made = pml_matrix_allocate(&pass->rows, batch, network->inputs) == PML_DONE &&
                pml_matrix_allocate(&pass->marks, batch, labels) == PML_DONE &&
                pml_matrix_allocate(&pass->noise, batch, latent) == PML_DONE &&
                make_stage(&pass->scores, batch, labels) == PML_DONE;
    if (network->model != PML_LABEL_LINEAR)
        made = made && make_stage(&pass->hidden, batch, hidden) == PML_DONE;
    if (mixture) {
        pass->scratch = malloc((2 * latent + labels) * sizeof *pass->scratch);
        made = made && pass->scratch && make_stage(&pass->latent, batch, 2 * latent) == PML_DONE &&
               make_stage(&pass->joined, batch, network->inputs + latent) == PML_DONE &&
               make_stage(&pass->decoded, batch, hidden) == PML_DONE &&
               make_stage(&pass->embedded, batch, hidden) == PML_DONE &&
               make_stage(&pass->names, labels, hidden) == PML_DONE &&
               make_stage(&pass->named, labels, hidden) == PML_DONE &&
               make_stage(&pass->components, labels, 2 * latent) == PML_DONE;
    }
    return made ? PML_DONE : PML_NO_MEMORY;
}

void pml_pass_free(struct pml_pass *pass)
{
    struct pml_stage *stages[] = {&pass->hidden, &pass->latent, &pass->joined, &pass->decoded,   &pass->embedded,
                                  &pass->scores, &pass->names,  &pass->named,  &pass->components};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        free_stage(stages[i]);
    pml_matrix_free(&pass->rows);
    pml_matrix_free(&pass->marks);
    pml_matrix_free(&pass->noise);
    free(pass->scratch);
    *pass = (struct pml_pass){0};
}

void pml_pass_resize(struct pml_pass *pass, size_t count)
{
    struct pml_stage *stages[] = {&pass->hidden,  &pass->latent,   &pass->joined,
                                  &pass->decoded, &pass->embedded, &pass->scores};
    pass->rows.rows = pass->marks.rows = pass->noise.rows = count;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        stages[i]->value.rows = stages[i]->slope.rows = count;
}

/* ---- forward ---- */

/* Each row beside its z: joined = (row, z). */
static void join(const struct pml_network *network, struct pml_pass *pass)
{
    const struct pml_latents rows = {&pass->latent.value, &pass->latent.slope, network->latent};
    for (size_t i = 0; i < pass->rows.rows; i++) {
        double *out = pml_matrix_row(&pass->joined.value, i);
        memcpy(out, pml_matrix_row(&pass->rows, i), network->inputs * sizeof *out);
        pml_latent_draw(&rows, i, pml_matrix_row(&pass->noise, i), out + network->inputs);
    }
}

/* What `score` gets. */
static struct pml_stage *last_stage(const struct pml_network *network, struct pml_pass *pass)
{
    return network->model == PML_LABEL_MIXTURE ? &pass->embedded : &pass->hidden;
}

static void forward(const struct pml_network *network, struct pml_pass *pass)
{
    const struct pml_layer *layers = network->layers;
    if (network->model == PML_LABEL_LINEAR) {
        pml_layer_forward(&layers[PML_LAYER_SCORE], &pass->rows, 0.0, &pass->scores.value);
        return;
    }
    pml_layer_forward(&layers[PML_LAYER_ENCODE], &pass->rows, 0.0, &pass->hidden.value);
    pml_rectify_forward(&pass->hidden.value);
    if (network->model == PML_LABEL_MIXTURE) {
        pml_layer_forward(&layers[PML_LAYER_SPREAD], &pass->hidden.value, 0.0, &pass->latent.value);
        join(network, pass);
        pml_layer_forward(&layers[PML_LAYER_DECODE], &pass->joined.value, 0.0, &pass->decoded.value);
        pml_rectify_forward(&pass->decoded.value);
        pml_layer_forward(&layers[PML_LAYER_EMBED], &pass->decoded.value, 0.0, &pass->embedded.value);
        pml_layer_forward(&layers[PML_LAYER_CARRY], &pass->joined.value, 1.0, &pass->embedded.value);
    }
    pml_layer_forward(&layers[PML_LAYER_SCORE], &last_stage(network, pass)->value, 0.0, &pass->scores.value);
}

/* The component of each label, from its embedding. */
static void place_labels(const struct pml_network *network, struct pml_pass *pass)
{
    const struct pml_layer *layers = network->layers;
    const struct pml_matrix *embeddings = &layers[PML_LAYER_SCORE].weights.values;
    for (size_t c = 0; c < network->labels; c++)
        for (size_t j = 0; j < network->hidden; j++)
            pml_matrix_row(&pass->names.value, c)[j] = pml_matrix_row(embeddings, j)[c];
    pml_layer_forward(&layers[PML_LAYER_NAME], &pass->names.value, 0.0, &pass->named.value);
    pml_rectify_forward(&pass->named.value);
    pml_layer_forward(&layers[PML_LAYER_PLACE], &pass->named.value, 0.0, &pass->components.value);
}

void pml_network_score(const struct pml_network *network, struct pml_pass *pass)
{
    memset(pass->noise.values, 0, pass->noise.rows * pass->noise.columns * sizeof(double));
    forward(network, pass);
}

/* ---- backward ---- */

static void clear(struct pml_matrix *matrix)
{
    memset(matrix->values, 0, matrix->rows * matrix->columns * sizeof(double));
}

/* From the components back to the embeddings. */
static void unplace_labels(struct pml_network *network, struct pml_pass *pass)
{
    struct pml_layer *layers = network->layers;
    struct pml_matrix *embeddings = &layers[PML_LAYER_SCORE].weights.slope;
    pml_layer_backward(&layers[PML_LAYER_PLACE], &pass->named.value, &pass->components.slope, 0.0, &pass->named.slope);
    pml_rectify_backward(&pass->named.value, &pass->named.slope);
    pml_layer_backward(&layers[PML_LAYER_NAME], &pass->names.value, &pass->named.slope, 0.0, &pass->names.slope);
    for (size_t c = 0; c < network->labels; c++)
        for (size_t j = 0; j < network->hidden; j++)
            pml_matrix_row(embeddings, j)[c] += pml_matrix_row(&pass->names.slope, c)[j];
}

/* From the embedding back to the hidden layer of the encoder, and the divergence on the way. */
static double unjoin(struct pml_network *network, struct pml_pass *pass)
{
    struct pml_layer *layers = network->layers;
    const struct pml_latents rows = {&pass->latent.value, &pass->latent.slope, network->latent};
    const struct pml_latents components = {&pass->components.value, &pass->components.slope, network->latent};
    pml_layer_backward(&layers[PML_LAYER_EMBED], &pass->decoded.value, &pass->embedded.slope, 0.0,
                       &pass->decoded.slope);
    pml_rectify_backward(&pass->decoded.value, &pass->decoded.slope);
    pml_layer_backward(&layers[PML_LAYER_DECODE], &pass->joined.value, &pass->decoded.slope, 0.0, &pass->joined.slope);
    pml_layer_backward(&layers[PML_LAYER_CARRY], &pass->joined.value, &pass->embedded.slope, 1.0, &pass->joined.slope);
    clear(&pass->latent.slope);
    clear(&pass->components.slope);
    for (size_t i = 0; i < pass->rows.rows; i++)
        pml_latent_back(&rows, i, pml_matrix_row(&pass->noise, i),
                        pml_matrix_row(&pass->joined.slope, i) + network->inputs);
    place_labels(network, pass);
    const double divergence =
        pml_loss_mixture(&rows, &components, &pass->noise, &pass->marks, network->divergence, pass->scratch);
    unplace_labels(network, pass);
    pml_layer_backward(&layers[PML_LAYER_SPREAD], &pass->hidden.value, &pass->latent.slope, 0.0, &pass->hidden.slope);
    return divergence;
}

struct pml_losses pml_network_learn(struct pml_network *network, struct pml_pass *pass)
{
    struct pml_layer *layers = network->layers;
    struct pml_stage *last = last_stage(network, pass);
    struct pml_losses losses = {0.0, 0.0, 0.0};
    forward(network, pass);
    clear(&pass->scores.slope);
    losses.entropy = pml_loss_entropy(&pass->scores.value, &pass->marks, 1.0, &pass->scores.slope);
    if (network->model == PML_LABEL_LINEAR) {
        pml_layer_backward(&layers[PML_LAYER_SCORE], &pass->rows, &pass->scores.slope, 0.0, NULL);
        return losses;
    }
    if (network->model == PML_LABEL_MIXTURE)
        losses.contrast = pml_loss_contrast(&pass->scores.value, &pass->marks, network->contrast, &pass->scores.slope);
    pml_layer_backward(&layers[PML_LAYER_SCORE], &last->value, &pass->scores.slope, 0.0, &last->slope);
    if (network->model == PML_LABEL_MIXTURE)
        losses.divergence = unjoin(network, pass);
    pml_rectify_backward(&pass->hidden.value, &pass->hidden.slope);
    pml_layer_backward(&layers[PML_LAYER_ENCODE], &pass->rows, &pass->hidden.slope, 0.0, NULL);
    return losses;
}
