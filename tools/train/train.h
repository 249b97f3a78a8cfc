/* SPDX-License-Identifier: Apache-2.0
 * Trains fronts (SPEC 1.1, 5.18): finds the signs, the matrix or the kernels that map features of one modality, or
 * of two, to the features of a pack. Training is in doubles, so another machine may give other bytes. The same
 * machine gives the same bytes for the same rows, options and seed. */
#ifndef PML_TRAIN_H
#define PML_TRAIN_H

#include "common/npy.h"
#include "common/progress.h"

#include <privatemail_public.h>

#include <stdbool.h>

#define PML_TRAIN_MODALITIES 2u
#define PML_TRAIN_STEPS 8u /* of mnse at most */

typedef enum pml_train_method {
    PML_TRAIN_SIGNS, /* sparse random signs (Achlioptas) */
    PML_TRAIN_GAUSS, /* a random matrix of normal numbers */
    PML_TRAIN_PCA,   /* the directions that hold most of the rows */
    PML_TRAIN_DCT,   /* the lowest frequencies of a cosine transform */
    PML_TRAIN_LDA,   /* the directions in which classes differ most */
    PML_TRAIN_CCA,   /* the directions in which two modalities agree most */
    PML_TRAIN_CODES, /* kernels, fitted to a code per class by ridge regression */
    PML_TRAIN_MNSE,  /* kernels, by multi-modal nonlinear supervised embedding */
    PML_TRAIN_KPCA,  /* kernels: the directions that hold most of the rows */
    PML_TRAIN_KDA,   /* kernels: the directions in which classes differ most */
    PML_TRAIN_KMFA,  /* kernels: the directions in which classes are apart where they meet */
    PML_TRAIN_METHODS
} pml_train_method;

/* What a method needs and what it uses. */
struct pml_train_trait {
    const char *name;
    bool labels;        /* needs the class of each row */
    bool pair;          /* needs two modalities */
    bool may_pair;      /* takes two modalities */
    bool centres, seed; /* uses these options */
    bool lapack;        /* needs LAPACKE */
    bool head;          /* can train a head */
};

extern const struct pml_train_trait pml_train_traits[PML_TRAIN_METHODS];

/* Whether a method is two graphs, and so takes a ridge and uncertain rows. */
static inline bool pml_train_is_graph(pml_train_method method)
{
    return method == PML_TRAIN_KPCA || method == PML_TRAIN_KDA || method == PML_TRAIN_KMFA;
}

/* Whether this build knows LAPACKE, and it can be loaded. Call it before threads are started. */
bool pml_train_has_lapack(void);

/* A view of rows: those of `indices`, in this order. Row i of both modalities belongs together. */
struct pml_train_set {
    const struct pml_features *features[PML_TRAIN_MODALITIES];
    size_t modalities;
    const int32_t *labels; /* per row of the features; NULL without */
    /* Variances of the first modality's features, per row or per feature of each row; NULL when rows are certain. For
     * methods of graphs. */
    const struct pml_features *uncertainty;
    const uint32_t *indices;
    size_t count;
    bool root;
    const pml_front *front; /* for a head: the front of the pack, which maps the rows first; NULL: none */
};

struct pml_train_options {
    pml_train_method method;
    size_t dimensions; /* k, what the front ends in */
    size_t centres;    /* p, for kernels */
    bool head;    /* a head, which tells labels (SPEC 5.19), instead of a front; then dimensions is not looked at */
    double ridge; /* of kda and kmfa; 0 when held-out rows choose it */
    uint64_t seed;
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

/* The constants of the theorem behind mnse, of the rows it was trained with: seen on the mapped rows as the method
 * scales them. */
struct pml_train_theorem {
    double objective[PML_TRAIN_STEPS]; /* after each step; it never rises */
    size_t steps;
    double lipschitz; /* L, the larger one of both modalities */
    double eta;       /* the largest distance between two rows of one pair */
    double gamma;     /* the least distance between rows of different classes, of any modality */
    double delta;     /* the condition holds for all radii below; 0 when it holds for none */
};

/* Front files, to be freed by pml_train_free. */
struct pml_train_result {
    uint8_t *bytes[PML_TRAIN_MODALITIES];
    size_t sizes[PML_TRAIN_MODALITIES];
    double widths[PML_TRAIN_MODALITIES]; /* of the kernels; 0 without */
    double ridge;                        /* of kda and kmfa; 0 without */
    double uncertainty;                  /* mean variance per feature of the rows, of length 1; 0 without */
    struct pml_train_theorem theorem;
};

/* Returns PML_DONE, or another outcome with a message: one class only, fewer rows than centres, more dimensions than
 * the method can give, rows that do not vary. */
pml_outcome pml_train(const struct pml_train_options *options, const struct pml_train_set *set,
                      struct pml_train_result *result, struct pml_message *message);

/* A front of signs needs no rows, only how many features they have: 1 … PML_FRONT_INPUTS_MAX. */
pml_outcome pml_train_signs(const struct pml_train_options *options, size_t inputs, bool root,
                            struct pml_train_result *result, struct pml_message *message);

void pml_train_free(struct pml_train_result *result);

/* Deals a set out at random: a third, rounded down, goes to `held`, the rest to `kept`. Both share `indices`, of
 * set->count entries, which the caller frees. */
void pml_train_split(const struct pml_train_set *set, uint64_t seed, uint32_t *indices, struct pml_train_set *kept,
                     struct pml_train_set *held);

#endif
