/* SPDX-License-Identifier: Apache-2.0
 * Three networks that score labels: a linear one (binary relevance), a perceptron, and a variational autoencoder whose
 * prior is a mixture of Gaussians, one per label that a row has (C-GMVAE). They share layers, losses and training.
 *
 *   linear      row ─ score ─→ scores
 *   perceptron  row ─ encode ─→ hidden ─ score ─→ scores
 *   mixture     row ─ encode ─→ hidden ─ spread ─→ q(z)
 *               (row, z) ─ decode ─→ hidden ─ embed ─→ embedding ─ score ─→ scores
 *               (row, z) ─ carry ─→ embedding: a straight path beside the one through the hidden layer
 *               label's embedding ─ name ─→ hidden ─ place ─→ its component of the prior
 *
 * The weights of `score` are the embeddings of the labels, one per column. */
#ifndef PML_LABEL_NETWORK_H
#define PML_LABEL_NETWORK_H

#include "label_layers.h"

typedef enum pml_label_model {
    PML_LABEL_LINEAR,
    PML_LABEL_PERCEPTRON,
    PML_LABEL_MIXTURE,
    PML_LABEL_MODELS
} pml_label_model;

enum pml_label_layer {
    PML_LAYER_SCORE,
    PML_LAYER_ENCODE,
    PML_LAYER_SPREAD,
    PML_LAYER_DECODE,
    PML_LAYER_EMBED,
    PML_LAYER_CARRY,
    PML_LAYER_NAME,
    PML_LAYER_PLACE,
    PML_LAYERS
};

struct pml_network {
    pml_label_model model;
    size_t inputs, labels, hidden, latent;
    double divergence, contrast; /* weights of these losses, of the mixture only; cross-entropy has weight 1 */
    struct pml_layer layers[PML_LAYERS];
    size_t count; /* layers that the model has: the first ones */
};

/* Sizes, model and weights of losses must be set; this fills the layers. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_network_make(struct pml_network *network, struct pml_generator *generator);
void pml_network_free(struct pml_network *network);

/* What layers give for a batch, and slopes of the loss in it. */
struct pml_stage {
    struct pml_matrix value, slope;
};

struct pml_pass {
    struct pml_matrix rows, marks, noise; /* the batch: the caller fills them */
    struct pml_stage hidden, latent, joined, decoded, embedded, scores;
    struct pml_stage names, named, components; /* a row per label */
    double *scratch;
};

/* Room for `batch` rows. Returns PML_DONE or PML_NO_MEMORY. A zeroed struct may be freed. */
pml_outcome pml_pass_make(struct pml_pass *pass, const struct pml_network *network, size_t batch);
void pml_pass_free(struct pml_pass *pass);

/* How many rows the next batch has: at most those there is room for. */
void pml_pass_resize(struct pml_pass *pass, size_t count);

/* Scores of the batch into pass->scores.value, with z at its mean: noise of zeros. */
void pml_network_score(const struct pml_network *network, struct pml_pass *pass);

/* The losses of a batch, of which the second and the third are 0 without a mixture. */
struct pml_losses {
    double entropy, contrast, divergence;
};

/* Forward with the noise of the pass, and backward: adds the slopes of the weighted losses to those of the layers. */
struct pml_losses pml_network_learn(struct pml_network *network, struct pml_pass *pass);

#endif
