/* SPDX-License-Identifier: Apache-2.0
 *
 * PrivateMail's public arithmetic: what server and pack builder share with the device, bit for bit, and the privacy
 * arithmetic on its own. Nothing here touches a private query; nothing here is needed to make a release.
 */
#ifndef PRIVATEMAIL_PUBLIC_H
#define PRIVATEMAIL_PUBLIC_H

#include "privatemail.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pack ------------------------------------------------------------------------------------------------------ */

/* For builders: writes the hash of a pack's bytes (size ≥ 88) into its place (SPEC 1). Says nothing of the rest. */
PML_API void pml_pack_seal(uint8_t *bytes, size_t size);

/* Returns the bytes of a name that a pack may have for its model (SPEC 1, section 12); 0 when it may not: empty, longer
 * than PML_MODEL_MAX, not sound UTF-8, or with control characters. `name` ends with a zero byte. */
PML_API size_t pml_model_length(const char *name);

/* Rows of the pack: as many int8 values as it has features. NULL when it has none or the index is out of range. */
PML_API const int8_t *pml_pack_anchor(const pml_pack *pack, size_t index);
PML_API const int8_t *pml_pack_prototype(const pml_pack *pack, size_t slot, size_t index);

/* Codes into `out`, one value per dimension. Returns PML_ERROR_SECTION when the pack has none. */
PML_API PML_CHECKED pml_status pml_pack_anchor_code(const pml_pack *pack, size_t index, int16_t *out);
PML_API PML_CHECKED pml_status pml_pack_slot_code(const pml_pack *pack, size_t slot, int16_t *out);

/* All prototypes of a slot: their rows, one behind the other in the pack; and, into arrays of one value per prototype,
 * their inverse norms and the cells they belong to. Returns PML_ERROR_SECTION when the pack has none. */
PML_API PML_CHECKED pml_status pml_pack_prototypes(const pml_pack *pack, size_t slot, const int8_t **rows,
                                                   uint32_t *norms, uint32_t *cells);

/* Slot of an anchor; the neighbours of an anchor into `out`. */
PML_API PML_CHECKED pml_status pml_pack_anchor_slot(const pml_pack *pack, size_t index, uint32_t *slot);
PML_API PML_CHECKED pml_status pml_pack_list(const pml_pack *pack, size_t index, uint32_t *out);

/* The index-th class: its label and slot. */
PML_API PML_CHECKED pml_status pml_pack_class(const pml_pack *pack, size_t index, int32_t *label, uint32_t *slot);

/* Slot of a label, without a branch on it. Returns PML_ERROR_LABEL when the pack has no such class; the slot is always 0
 * with one slot. */
PML_API PML_CHECKED pml_status pml_pack_slot(const pml_pack *pack, int32_t label, uint32_t *slot);

/* ---- fronts ---------------------------------------------------------------------------------------------------- */

/* A view of a front, of a pack or of a file (SPEC 1.1, 1.2). Points into its bytes. */
typedef struct pml_front {
    pml_front_kind kind;
    bool root;
    uint32_t inputs, outputs, centres; /* d_in, d, p */
    const uint8_t *seed;               /* 32 bytes, of signs */
    const uint8_t *body;
    const int8_t *values; /* of the body: rows of the matrix; centres, and behind them their coefficients */
    size_t body_size;
    const uint8_t *labels; /* of a head: `outputs` numbers, int32_t, little-endian, ascending; else NULL */
} pml_front;

#define PML_FRONT_FILE_HEADER 128u /* bytes before the body in a front file */

/* Validates a front file completely. Returns PML_ERROR_FRONT when something is wrong with it. */
PML_API PML_CHECKED pml_status pml_front_open(pml_front *front, const void *bytes, size_t size);

/* For trainers: writes the hash of a front file (size ≥ PML_FRONT_FILE_HEADER) into its place. Says nothing of the rest. */
PML_API void pml_front_seal(uint8_t *bytes, size_t size);

/* The front of a modality; of a pack without fronts, one of kind none. */
PML_API PML_CHECKED pml_status pml_pack_front(const pml_pack *pack, size_t modality, pml_front *front);

/* The head of a pack, as a front of kind matrix with one output per label. Returns PML_ERROR_SECTION when there is none. */
PML_API PML_CHECKED pml_status pml_pack_head(const pml_pack *pack, pml_front *head);

/* SPEC 5.19, for trainers and measurements: the `count` ≥ 1 best labels of a row that a front has mapped, by a head with
 * at least as many labels, branch-free. On a device call pml_pack_guess. */
PML_API void pml_head_guess(const pml_front *head, const struct pml_kernels *kernels, const int8_t *row,
                            pml_guess *guesses, size_t count);

/* Returns the bytes of scratch that pml_front_map needs, to be aligned for int64_t: PML_FRONT_MEMORY, with 0 inputs for
 * signs and none. */
PML_API size_t pml_front_scratch(const pml_front *front);

/* SPEC 5.18: features to the row that cells and sketches are made of, `outputs` int8 values. Returns PML_ERROR_FEATURES
 * when a feature is not finite, all are zero, or all of the result is; PML_ERROR_DIMENSION when `count` is not `inputs`. */
PML_API PML_CHECKED pml_status pml_front_map(const pml_front *front, const struct pml_kernels *kernels,
                                             const float *features, size_t count, int64_t *scratch, int8_t *row);

/* ---- features -------------------------------------------------------------------------------------------------- */

/* SPEC 5.1: count numbers to int8. Returns PML_ERROR_FEATURES when one is not finite or all are zero. */
PML_API PML_CHECKED pml_status pml_quantise(const float *features, size_t count, int8_t *out);

/* SPEC 5.2: 0 for a zero row, and for more than PML_FEATURES_MAX values. */
PML_API uint32_t pml_inverse_norm(const int8_t *row, size_t count);

/* SPEC 5.13: quantised features of an item to its sketch. A NULL for `kernels` means the portable ones. Absent from builds
 * for bare metal. */
PML_API PML_CHECKED pml_status pml_sketch(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row,
                                          int8_t *out);

/* What a sketch tells of its item: an int8 row of `directions` values, those that a coded sketch is decoded to, or of
 * `sketch` values, a plain one as it is. Angles between such rows are nearly those between items. */
PML_API PML_CHECKED pml_status pml_sketch_row(const pml_pack *pack, const int8_t *sketch, int8_t *row);

/* ---- release --------------------------------------------------------------------------------------------------- */

/* Points into the release's bytes. */
typedef struct pml_release_view {
    pml_mechanism mechanism;
    uint32_t step;        /* Gaussian: embedding units per released unit */
    unsigned value_bytes; /* Gaussian */
    unsigned symbol_bits; /* response and crowd */
    const uint8_t *body;
    size_t body_size;
} pml_release_view;

/* The pack id inside a release, to find the pack; returns PML_ERROR_RELEASE when the bytes are no release. */
PML_API PML_CHECKED pml_status pml_release_id(const void *release, size_t size, uint8_t id[PML_ID_SIZE]);

/* Validates every byte against the pack. Returns PML_ERROR_PACK_ID for another pack's release, PML_ERROR_RELEASE for
 * everything else. */
PML_API PML_CHECKED pml_status pml_release_parse(const pml_pack *pack, const void *release, size_t size,
                                                 pml_release_view *view);

/* Released cell of a slot (response), released integer of a coordinate (Gaussian); of a parsed view. In a crowd index 0
 * has the one symbol, slot · cells + cell. */
PML_API uint32_t pml_release_symbol(const pml_release_view *view, size_t slot);
PML_API int32_t pml_release_value(const pml_release_view *view, size_t index);

/* ---- privacy arithmetic ---------------------------------------------------------------------------------------- */

/* All of it rounds outward: what is returned as an upper bound is one. NaN for arguments out of range. What speaks of
 * the Gaussian is absent from builds without it, but for the three functions that the crowd uses too; pml_response_keep is
 * absent from builds without response. */

/* Gaussian mechanism with shift/σ = μ: the σ/Δ that (ε, δ) needs, and the largest μ that (ε, δ) allows, rounded down. */
PML_API double pml_gaussian_ratio(double epsilon, double delta);
PML_API double pml_gaussian_mu(double epsilon, double delta);

/* Ceiling of the chance to bring the right cell with share f under a μ-Gaussian mechanism: Φ(Φ⁻¹(f) + μ). */
PML_API double pml_gaussian_recall_ceiling(double mu, double share);

/* Response: numerator over 2^40 of the probability that the true one of `cells` (in a crowd: of the symbols) is released.
 * 0 when out of range: `cells` is 2 to PML_CROWD_CELLS_MAX. */
PML_API uint64_t pml_response_keep(double epsilon, uint32_t cells);

/* What the device certifies about a pack. `scratch` has room for `count` values: slots × dimensions and
 * 2 per neighbour. */
typedef struct pml_certificate {
    double sensitivity;    /* Δ in embedding units */
    double row_bound;      /* no coordinate of a row is larger */
    uint32_t floor_weight; /* B: β = B/65536 */
} pml_certificate;

PML_API PML_CHECKED pml_status pml_pack_certify(const pml_pack *pack, int64_t *scratch, size_t count,
                                                pml_certificate *certificate);

/* How (ε, δ) becomes noise on a certified pack. */
typedef struct pml_calibration {
    double ratio;     /* σ/Δ that (ε, δ) needs */
    uint32_t grid;    /* g, embedding units per grid step */
    uint32_t shift;   /* s: σ = g·2^s */
    uint32_t coarsen; /* e: released unit = 2^e grid steps */
    uint32_t step;    /* g·2^e */
    double sigma;
    double mu; /* (Δ + pad)/σ, rounded up */
} pml_calibration;

PML_API PML_CHECKED pml_status pml_pack_calibrate(const pml_pack *pack, const pml_certificate *certificate,
                                                  double epsilon, double delta, unsigned value_bytes,
                                                  pml_calibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
