/* SPDX-License-Identifier: Apache-2.0
 *
 * PrivateMail: search a remote collection without revealing what you look for.
 *
 * The device turns a feature vector x (and, if it knows it, a class) into one small differentially private message,
 * the *release*. A server answers with candidates for every slot. The device keeps those nearest to its true x.
 *
 *     pml_pack_open ─► pml_client_init ─► pml_client_arm ─► pml_client_release ─► (network)
 *                  └─► pml_ranking_begin ─► pml_ranking_feed … ─► pml_ranking_finish ◄─ (network)
 *
 * A client makes releases; a ranking reads one answer. Neither needs the other.
 *
 * Rules that privacy rests on (docs/PRIVACY.md proves what they buy):
 *
 *   One arm, one release.   `arm` pays the price and draws all randomness. `release` uses the randomness up when it
 *                           writes a message. Never copy, fork or serialise a client that is armed.
 *   Resend bytes.           When the network fails, send the same bytes again: that is free. Never make a second
 *                           release because the first was lost, and never choose among several.
 *   Keep the bytes.         Store the release of a photo and reuse it. n releases about one photo cost n times ε.
 *   Arm early.              Call `arm` before private data is in memory, when idle: its duration depends on the noise.
 *   Do not leak afterwards. Fetching, logging or sharing a result tells others which one it was. Put what you display
 *                           (a thumbnail, for example) into the payload.
 *   ε and δ are yours.      They come from the app, never from the pack.
 *
 * Threads: one client, one ranking and one budget belong to one thread at a time. Any number of clients and rankings
 * may share one pack.
 * Memory: no function allocates. Every buffer is the caller's, of any alignment unless its type says otherwise.
 * Errors: every function returns PML_OK (0) or a negative pml_status, unless its type says otherwise. On error the
 * buffer or structure that it fills is zeroed, and nothing is spent.
 * Callbacks must not call back into the client or the budget they are called for.
 */
#ifndef PRIVATEMAIL_H
#define PRIVATEMAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PML_VERSION_MAJOR 0
#define PML_VERSION_MINOR 9
#define PML_VERSION_PATCH 0

/* Only Windows has the two defines: PML_BUILDING_SHARED compiles the DLL, and PML_SHARED, in programs that link the DLL,
 * saves a jump per call. Programs that link the static library define neither. */
#if defined(_WIN32) && defined(PML_BUILDING_SHARED)
#define PML_API __declspec(dllexport)
#elif defined(_WIN32) && defined(PML_SHARED)
#define PML_API __declspec(dllimport)
#elif defined(__GNUC__)
#define PML_API __attribute__((visibility("default")))
#else
#define PML_API
#endif

#if defined(__GNUC__)
#define PML_CHECKED __attribute__((warn_unused_result))
#else
#define PML_CHECKED
#endif

/* ---- limits (docs/SPEC.md) ------------------------------------------------------------------------------------ */

#define PML_FEATURES_MAX 4096u
#define PML_ANCHORS_MAX 1048576u
#define PML_NEIGHBOURS_MAX 64u
#define PML_DIMENSIONS_MAX 16u
#define PML_SLOTS_MAX 1024u
#define PML_CELLS_MAX 65536u        /* of a slot */
#define PML_PROTOTYPES_MAX 1048576u /* of all slots */
#define PML_CLASSES_MAX 65536u
#define PML_SKETCH_MAX 256u
#define PML_DIRECTIONS_MAX 1024u
#define PML_CANDIDATES_MAX 1048576u /* of one slot in an answer */
#define PML_PAYLOAD_MAX 65535u      /* bytes of one payload */
#define PML_MATCHES_MAX 256u
#define PML_EPSILON_MIN (1.0 / 1048576.0)
#define PML_EPSILON_MAX 16.0
#define PML_ID_SIZE 16u
#define PML_MODEL_MAX 64u /* bytes of a model's name */
#define PML_MODALITIES_MAX 8u
#define PML_MODALITY_NAME_MAX 15u     /* bytes of a modality's name */
#define PML_FRONT_INPUTS_MAX 1000000u /* features that a front of signs takes; others take PML_FEATURES_MAX */
#define PML_FRONT_CENTRES_MAX 4096u
#define PML_LABELS_MAX 4096u /* of a head */
#define PML_GUESSES_MAX 64u  /* of one query */
#define PML_LOOKS_MAX 512u   /* at one photo */
#define PML_BUDGET_SIZE 112u
#define PML_CROWD_CELLS_MAX 1048576u      /* S, symbols that a message chooses from: slots × cells */
#define PML_CROWD_CLIENTS_MAX 4294967296u /* n, honest clients per epoch: 2^32 */
#define PML_CROWD_CLUSTERS_MAX 4.0        /* κ, mean clusters per client */
#define PML_CROWD_CLUSTERS_CUT 63u        /* more clusters than that are never drawn */
#define PML_CROWD_COPIES_MAX 64u          /* v, messages of a cluster */
#define PML_CROWD_OWN_MAX 8u              /* w, own messages of a bundle */
#define PML_CROWD_RELAY_MAX 16777216.0    /* R, mean clusters of the relay per epoch: 2^24 */
#define PML_CROWD_FLOOR_MIN (1.0 / 65536.0)
#define PML_CROWD_DELTA_MIN (1.0 / 1152921504606846976.0) /* of δ₀: 2^-60 */
#define PML_CROWD_DELTA0_MAX (1.0 / 1024.0)               /* of δ₀: 2^-10 */

/* ---- status --------------------------------------------------------------------------------------------------- */

/* The one list of all statuses, as X(name, number, text). Java, Swift, JavaScript and Python have the same names and
 * numbers (tests/check_status.py). Numbers follow each other; a new status goes to the end. */
#define PML_STATUS_LIST(X)                                                                                             \
    X(PML_OK, 0, "success")                                                                                            \
    X(PML_ERROR_ARGUMENT, -1, "a null pointer, or an argument out of range")                                           \
    X(PML_ERROR_MEMORY, -2, "memory too small: ask pml_client_size or pml_ranking_size")                               \
    X(PML_ERROR_BUFFER, -3, "output buffer too small")                                                                 \
    X(PML_ERROR_STATE, -4, "wrong order of calls: arm, then release; begin, feed, finish")                             \
    X(PML_ERROR_EPSILON, -5, "epsilon out of range, or too small for the noise to fit")                                \
    X(PML_ERROR_DELTA, -6, "delta must be 0 for response and between 2^-50 and 1 for the Gaussian")                    \
    X(PML_ERROR_MECHANISM, -7, "mechanism unknown or left out of this build")                                          \
    X(PML_ERROR_DIMENSION, -8, "wrong number of features for this pack")                                               \
    X(PML_ERROR_FEATURES, -9, "a feature is not finite, or all are zero")                                              \
    X(PML_ERROR_LABEL, -10, "the pack has no such class")                                                              \
    X(PML_ERROR_PACK, -11, "the pack contradicts itself")                                                              \
    X(PML_ERROR_PACK_VERSION, -12, "not a pack, or a version that this library does not read")                         \
    X(PML_ERROR_PACK_SIZE, -13, "the pack is truncated or too long")                                                   \
    X(PML_ERROR_PACK_HASH, -14, "the pack is damaged: hash mismatch")                                                  \
    X(PML_ERROR_PACK_ID, -15, "the pack, release or answer belongs to another pack")                                   \
    X(PML_ERROR_SECTION, -16, "the pack lacks a section that this call needs")                                         \
    X(PML_ERROR_SENSITIVITY, -17, "the pack's codes give no usable sensitivity")                                       \
    X(PML_ERROR_ENTROPY, -18, "the entropy source failed")                                                             \
    X(PML_ERROR_PERSIST, -19, "the budget could not be stored")                                                        \
    X(PML_ERROR_BUDGET, -20, "the budget is damaged or belongs to somebody else")                                      \
    X(PML_ERROR_SPENT, -21, "the budget is spent")                                                                     \
    X(PML_ERROR_RELEASE, -22, "not a release of this pack")                                                            \
    X(PML_ERROR_ANSWER, -23, "not a valid answer: truncated, lying lengths, or beyond a limit")                        \
    X(PML_ERROR_PACK_MODEL, -24, "the pack is for another model")                                                      \
    X(PML_ERROR_CROWD, -25, "the crowd's policy is out of range, too small or changed")                                \
    X(PML_ERROR_KEYS, -26, "no key that can be used")                                                                  \
    X(PML_ERROR_SEALED, -27, "sealed bytes do not open")                                                               \
    X(PML_ERROR_MODALITY, -28, "the pack has no such modality")                                                        \
    X(PML_ERROR_FRONT, -29, "the front is not sound")

#define PML_STATUS_ENTRY(name, number, text) name = (number),
typedef enum pml_status { PML_STATUS_LIST(PML_STATUS_ENTRY) } pml_status;
#undef PML_STATUS_ENTRY

/* Returns the English text of the list above, and a text for numbers that are no status too. Never returns NULL. */
PML_API const char *pml_status_text(int status);

/* "0.9.0" */
PML_API const char *pml_version(void);

/* ---- pack: what device and server both know -------------------------------------------------------------------- */

#define PML_PACK_SECTIONS 21u

/* A view of a pack's bytes, which must outlive it and must not change; nothing is copied. Its size is public so that it
 * can be a local or static variable. */
typedef struct pml_pack {
    /* Do not rely on the contents: they may change. Call pml_pack_describe. */
    const uint8_t *bytes;
    const uint8_t *section[PML_PACK_SECTIONS]; /* NULL when absent */
    uint64_t size;
    uint32_t features, anchors, cells, prototypes, classes, lambda, inputs, labels, directions;
    uint16_t neighbours, dimensions, slots, slot_kind, alpha, sketch, modalities;
} pml_pack;

/* Validates the pack completely: sizes, hash, every field, every row's norm (reads each byte twice). `pinned_id`:
 * the 16 bytes the app expects, or NULL for any. A hash stops damage, not a hostile author; what a hostile pack can
 * do is bounded by PRIVACY.md (it cannot weaken ε), but a pack made for one user marks that user: pin ids.
 * `model`: the name of the model that makes the app's features, or NULL to accept any. Features of another model find
 * nothing; with a name given, such a pack is refused with PML_ERROR_PACK_MODEL. To tell both names, open the pack
 * again with NULL and call pml_pack_model. */
PML_API PML_CHECKED pml_status pml_pack_open(pml_pack *pack, const void *bytes, size_t size, const uint8_t *pinned_id,
                                             const char *model);

struct pml_kernels; /* core/base/kernels.h */

/* The same with kernels, from platform/ (pml_platform_kernels); NULL means the portable ones. What is accepted does not
 * depend on them, the time does: nearly all of it is the hash, and a CPU that has instructions for SHA-256 makes it several
 * times as fast. */
PML_API PML_CHECKED pml_status pml_pack_open_with(pml_pack *pack, const void *bytes, size_t size,
                                                  const uint8_t *pinned_id, const char *model,
                                                  const struct pml_kernels *kernels);

/* Returns the name of the model whose features the pack was made from, as UTF-8 without control characters; "" when the
 * pack names none. Points into the pack's bytes. */
PML_API const char *pml_pack_model(const pml_pack *pack);

typedef enum pml_slot_kind { PML_SLOTS_ONE = 0, PML_SLOTS_CLASS = 1, PML_SLOTS_GROUP = 2 } pml_slot_kind;

/* The letters are those of docs/SPEC.md. */
typedef struct pml_pack_info {
    uint8_t id[PML_ID_SIZE];
    uint64_t size;       /* bytes */
    uint32_t features;   /* d: of a query, unless the pack has modalities */
    uint32_t modalities; /* V; 0 if features are used as they are */
    uint32_t inputs;     /* the most features that a front keeps in memory: for PML_FRONT_MEMORY; 0 if none does */
    uint32_t anchors;    /* n; 0 if the pack does not support the Gaussian */
    uint32_t neighbours; /* K */
    uint32_t dimensions; /* k; 0 if the pack has no codes */
    uint32_t slots;      /* G */
    pml_slot_kind slot_kind;
    uint32_t cells;      /* m, cells per slot; 0 if the pack does not support response */
    uint32_t prototypes; /* M, prototypes per slot */
    uint32_t classes;    /* C */
    uint32_t lambda;     /* 1/σ² in 2^-16 */
    uint32_t alpha;      /* α in 2^-8 */
    uint32_t sketch;     /* L, bytes per sketch; 0 if the pack does not support ranking */
    uint32_t directions; /* P, of coded sketches; 0 if sketches are plain */
    uint32_t labels;     /* H, labels that pml_pack_guess knows; 0 if the pack has no head */
    bool cell_codes;     /* response releases decode to rows */
    bool lists;          /* neighbour lists of the anchors are there */
} pml_pack_info;

PML_API PML_CHECKED pml_status pml_pack_describe(const pml_pack *pack, pml_pack_info *info);

/* A pack may take queries of several modalities, such as pictures and words. Each has a *front*, which maps its features
 * to the d features that everything else is made of (SPEC 1.1, 5.18): so words find pictures. */
typedef enum pml_front_kind {
    PML_FRONT_NONE = 1,    /* features as they are */
    PML_FRONT_SIGNS = 2,   /* sums of features with signs from a seed; up to a million features */
    PML_FRONT_MATRIX = 3,  /* a matrix and an offset */
    PML_FRONT_KERNELS = 4, /* a sum of Gaussian kernels */
} pml_front_kind;

typedef struct pml_modality {
    const char *name;  /* points into the pack's bytes */
    uint32_t features; /* that a query of this modality has */
    pml_front_kind kind;
    bool root; /* roots are taken of the features first */
} pml_modality;

/* The index-th modality. A pack without fronts has one, without a name. Returns PML_ERROR_MODALITY beyond the last. */
PML_API PML_CHECKED pml_status pml_pack_modality(const pml_pack *pack, size_t index, pml_modality *modality);

/* The number of the modality with a name, for pml_query. Returns PML_ERROR_MODALITY when the pack has none of it. */
PML_API PML_CHECKED pml_status pml_pack_find_modality(const pml_pack *pack, const char *name, uint32_t *index);

/* ---- query: what must stay private ------------------------------------------------------------------------------ */

/* Writes features `first` … `first + count − 1` to `out`. Called for all features in order, in pieces of at most 32, twice:
 * it must write the same numbers both times. */
typedef void (*pml_features_fn)(void *context, size_t first, size_t count, float *out);

typedef struct pml_query {
    const float *features; /* finite numbers, not all zero, of any scale (they are normalised) */
    size_t count;          /* as many as the modality has features; those of the pack when it has no fronts */
    int32_t label;         /* the class, as the pack's maker numbered it; ignored by packs with one slot */
    uint32_t modality;     /* whose features they are: pml_pack_find_modality. 0 for a pack without fronts. Not hidden:
                              time depends on it. The release's bytes and length do not tell it. */
    pml_features_fn read;  /* instead of `features` (then NULL): features that are not in memory as a whole */
    void *read_context;    /* passed through */
} pml_query;

/* A function that takes a query keeps nothing of it but what it says, and leaves nothing of it on the stack below it.
 * The structure and its array are the caller's, and the caller's to wipe. */


/* ---- guess: a label for a query ---------------------------------------------------------------------------------- */

/* A pack may have a *head*, which tells the likely labels of a query on the device (SPEC 5.19). A guess is as private as
 * the query: show it to the device's owner, or make it the `label` of the query, and send it nowhere. Builds without heads
 * (PRIVATEMAIL_HEAD) refuse packs that have one, and lack the functions of this part and the next. */
typedef struct pml_guess {
    int32_t label;
    int64_t score; /* only comparable with others of the same query */
} pml_guess;

/* Returns the bytes that pml_pack_guess needs, at any alignment: PML_GUESS_MEMORY. 0 when the pack has no head. */
PML_API size_t pml_guess_size(const pml_pack *pack);

/* Writes the `count` likeliest labels of a query, the likeliest first; `count` is 1 to PML_GUESSES_MAX and at most the
 * pack's labels. The query's own `label` is ignored. `kernels`: NULL means the portable ones. `memory` is wiped before it
 * returns; the guesses are the caller's to wipe. Time and addresses depend on pack, modality and `count` only. Returns
 * PML_ERROR_SECTION when the pack has no head, and PML_ERROR_FEATURES for features that are not finite or all zero. */
PML_API PML_CHECKED pml_status pml_pack_guess(const pml_pack *pack, const struct pml_kernels *kernels,
                                              const pml_query *query, void *memory, size_t size, pml_guess *guesses,
                                              size_t count);

/* ---- looks: several views of one photo ---------------------------------------------------------------------------- */

/* Crops, flips or a burst of one photo become one query, which finds more than any of them (SPEC 5.20), at the price of
 * one release. Begin, add every look, then take the mean as the features of the query. */
typedef struct pml_looks pml_looks;

/* Returns the bytes for looks of so many features, at any alignment: PML_LOOKS_MEMORY. 0 when `features` is 0 or more than
 * PML_FRONT_INPUTS_MAX. */
PML_API size_t pml_looks_size(size_t features);

PML_API PML_CHECKED pml_status pml_looks_begin(pml_looks **looks, void *memory, size_t size, size_t features);

/* Adds a look. Each counts the same, whatever its scale. One whose features are not finite or all zero is refused with
 * PML_ERROR_FEATURES, one of another number of features with PML_ERROR_DIMENSION, one after PML_LOOKS_MAX with
 * PML_ERROR_STATE; a refused look adds nothing. */
PML_API PML_CHECKED pml_status pml_looks_add(pml_looks *looks, const float *features, size_t count);

/* Writes the mean's features, of no particular scale. Looks may be added afterwards. Returns PML_ERROR_STATE before the
 * first look, and PML_ERROR_FEATURES when the looks cancel each other, so that there is no mean. */
PML_API PML_CHECKED pml_status pml_looks_mean(const pml_looks *looks, float *features, size_t count);

/* Forgets all looks; more may be added. What was added stays in memory until then, and is the caller's to wipe. */
PML_API void pml_looks_wipe(pml_looks *looks);

/* ---- budget: what a person has left, over all packs and servers ------------------------------------------------- */

/* The bytes are the stored form: write them as they are. A copy put back from a backup spends again what was spent
 * since: keep budgets out of backups. */
typedef struct pml_budget {
    uint8_t bytes[PML_BUDGET_SIZE];
} pml_budget;

/* What a budget allows, fixed at creation. Response releases add their ε up to `epsilon_response`; Gaussian releases add
 * their μ² up to what (epsilon_gaussian, delta) allows. Together: (epsilon_response + epsilon_gaussian, delta)-DP for
 * everything ever released, in any order and adaptively (PRIVACY.md, composition). A field left out is 0: none of it.
 *
 * A crowd has two ledgers. The floor's: the ε₀ of every photo whose cell is drawn, up to `epsilon_floor`; it holds
 * against everybody. The crowd's: what the own messages add to (epsilon_crowd, delta_crowd); it holds against a server
 * that does not work together with the relay, while as many honest clients take part as the policy says. */
typedef struct pml_budget_caps {
    double epsilon_response; /* 0 to 4095 */
    double epsilon_gaussian; /* 0 (then delta is 0), or PML_EPSILON_MIN to 256 */
    double delta;            /* of all Gaussian releases together: 2^-50 to below 1 */
    double epsilon_floor;    /* 0 to 4095 */
    double epsilon_crowd;    /* 0 (then delta_crowd is 0, and only policies without a promise are paid for), or
                                PML_EPSILON_MIN to 16 */
    double delta_crowd;      /* of all crowd messages together: 2^-49 to below 1 */
} pml_budget_caps;

/* `owner`: 16 bytes that name the person (for example a hash of an account), so that a budget is not mistaken for
 * somebody else's. Make one budget per owner. */
PML_API PML_CHECKED pml_status pml_budget_create(pml_budget *budget, const uint8_t owner[16],
                                                 const pml_budget_caps *caps);

/* Reads the stored form, of this version (PML_BUDGET_SIZE bytes) or of version 1 (64 bytes), which allows nothing in a
 * crowd. Returns PML_ERROR_BUDGET when it is damaged or belongs to another owner. */
PML_API PML_CHECKED pml_status pml_budget_restore(pml_budget *budget, const uint8_t owner[16], const void *bytes,
                                                  size_t size);

typedef struct pml_budget_left {
    double epsilon_cap, epsilon_spent; /* Σ ε of response releases */
    double mu2_cap, mu2_spent;         /* Σ μ² of Gaussian releases */
    double delta;                      /* of the Gaussian cap */
    double floor_cap, floor_spent;     /* Σ ε₀ of cells drawn for a crowd */
    double crowd_mu2_cap, crowd_mu2_spent;
    double crowd_delta0_cap, crowd_delta0_spent;
    double crowd_delta; /* of the crowd's cap, Σ δ₀ included */
} pml_budget_left;

PML_API PML_CHECKED pml_status pml_budget_remaining(const pml_budget *budget, pml_budget_left *left);

/* ---- client: from a query to a release -------------------------------------------------------------------------- */

/* PML_CROWD is what a message of a crowd says when the pack has several slots (SPEC 2); a configuration has `crowd`. */
typedef enum pml_mechanism { PML_RESPONSE = 1, PML_GAUSSIAN = 2, PML_CROWD = 3 } pml_mechanism;

/* Writes `size` random bytes from the system's cryptographic source and returns 0; returns anything else on failure.
 * Called once per arm, with size 32. platform/ has one for every OS; on bare metal it is yours. */
typedef int (*pml_entropy_fn)(void *context, uint8_t *out, size_t size);

/* Stores the budget's bytes durably (written, flushed, renamed) and returns 0; returns anything else on failure.
 * Called by arm before it returns PML_OK, and by disarm. A crash after it loses the price, never gains one. Two budgets
 * restored from one place spend twice unless this compares what is stored with what was restored. */
typedef int (*pml_persist_fn)(void *context, const uint8_t *bytes, size_t size);

/* How to ask in a crowd (SPEC 5.17): the app's choice, never a pack's. Plan it with privatemail_crowd.h. The promise it
 * makes holds if the relay mixes and does not join the server, and at least `clients` honest clients take part in every
 * epoch. Nobody can verify that, so the client's ε, the floor, holds in any case. */
typedef struct pml_crowd {
    uint64_t clients;      /* n, honest clients per epoch that the promise counts on, 0 to 2^32 */
    double clusters;       /* κ, mean clusters of fakes per client, 0 to 4; 0 when `clients` is 0 */
    uint32_t copies;       /* v, the largest size of a cluster, 1 to 64 */
    uint32_t own;          /* w, own messages per bundle, 1 to 8 and at most the pack's cells: a drawn cell, its list */
    double relay_clusters; /* R, mean clusters that the relay itself adds per epoch, 0 to 2^24 */
    bool cover;            /* idle clients send own messages with uniform cells too */
    double delta0, mu;     /* what one own message is booked with, 2^-60 to 2^-10 and 2^-20 to 16; both 0: only the
                              floor is promised */
} pml_crowd;

typedef struct pml_config {
    /* PML_RESPONSE or PML_GAUSSIAN; 0 means PML_RESPONSE. Response: pure ε, for retrieval; costs 2 bytes of memory per
     * slot. Gaussian: (ε, δ), a noisy embedding; costs 20 bytes per coordinate of each slot and 16 per neighbour. */
    pml_mechanism mechanism;
    /* Privacy of one release, PML_EPSILON_MIN … 16. 0 is an error: there is no default. */
    double epsilon;
    /* 0 for response (anything else is an error); 2^-50 … below 1 for the Gaussian. */
    double delta;
    /* Gaussian: bytes per released coordinate, 1 or 2; 0 means 1. Response: 0. */
    unsigned value_bytes;
    /* false: bad features and unknown labels are errors, and then the *absence* of a message tells that the input was
     * bad. true: they are replaced by a public default and the release is sent all the same. */
    bool substitute;
    pml_entropy_fn entropy; /* required */
    void *entropy_context;  /* passed through; may be NULL */
    pml_persist_fn persist; /* required; an app that wants no storage passes a function that returns 0 */
    void *persist_context;  /* passed through; may be NULL */
    /* NULL, or the policy of a crowd, for a response client: ε is then the floor, 2^-16 … 16. Must not change while the
     * client lives. The memory does not grow with the slots: PML_CROWD_MEMORY. */
    const pml_crowd *crowd;
    /* Distance kernels, from platform/ (pml_platform_kernels). NULL means the portable ones. */
    const struct pml_kernels *kernels;
} pml_config;

typedef struct pml_client pml_client;

/* Memory of a client, a ranking, a guess or looks, in bytes, at any alignment. One byte less is refused.
 *
 *     object     features  slots  neighbours  dimensions  bytes
 *     response   512       100    -           -           1128
 *     response   64        10     -           -           504
 *     response   512       1      -           -           936
 *     crowd      512       -      -           -           1352
 *     Gaussian   512       100    10          2           5088
 *     Gaussian   512       1      10          2           1128
 *     ranking    512       -      -           -           1776
 *     plain      512       -      -           -           1008
 *
 * (printed by tests/test_memory; a ranking by coded sketches of 512 directions, and by plain ones of 256 bytes). The pack
 * is never copied. Use the macros for static storage, the functions otherwise:
 * they agree. */
#ifdef __cplusplus
#define PML_SIZE(x) static_cast<size_t>(x)
#else
#define PML_SIZE(x) ((size_t)(x))
#endif
#define PML_ROUND8(x) ((PML_SIZE(x) + 7u) & ~PML_SIZE(7))
#define PML_CLIENT_FIXED 416u
#define PML_CROWD_FIXED 424u
#define PML_RANKING_FIXED 240u
#define PML_GUESS_FIXED 8u
#define PML_LOOKS_FIXED 16u
#define PML_RESPONSE_MEMORY(features, slots)                                                                           \
    (PML_CLIENT_FIXED + PML_ROUND8(features) + PML_ROUND8(2u * PML_SIZE(slots)))
#define PML_GAUSSIAN_MEMORY(features, slots, neighbours, dimensions)                                                   \
    (PML_CLIENT_FIXED + PML_ROUND8(features) + 16u * PML_SIZE(slots) * PML_SIZE(dimensions) +                          \
     PML_ROUND8(4u * PML_SIZE(slots) * PML_SIZE(dimensions)) + 16u * PML_SIZE(neighbours))
#define PML_CROWD_MEMORY(features) (PML_CLIENT_FIXED + PML_CROWD_FIXED + PML_ROUND8(features))
/* `sketch` and `directions` are those of pml_pack_info. */
#define PML_RANKING_MEMORY(features, sketch, directions)                                                               \
    (PML_RANKING_FIXED + PML_ROUND8(features) +                                                                        \
     ((directions) > 0 ? 2u * PML_SIZE(directions) : PML_ROUND8(sketch)))
#define PML_GUESS_MEMORY(features) (PML_GUESS_FIXED + PML_ROUND8(features))
#define PML_LOOKS_MEMORY(features) (PML_LOOKS_FIXED + 4u * PML_SIZE(features))
/* For a pack with fronts add this to any of them but that of looks. `inputs` is that of pml_pack_info: 0 when all fronts
 * are of signs or none. */
#define PML_FRONT_MEMORY(inputs, features) (PML_ROUND8(inputs) + 8u * PML_SIZE(features))

/* Returns the bytes of a client; 0 when the pack lacks what the mechanism needs. */
PML_API size_t pml_client_size(const pml_pack *pack, const pml_config *config);

/* Lays the client out in `memory` and does all that depends on pack and configuration only: certificate, calibration,
 * public centres. `memory`, `pack` and what the configuration points to must outlive the client;
 * it must not be moved or copied. */
PML_API PML_CHECKED pml_status pml_client_init(pml_client **client, void *memory, size_t size, const pml_pack *pack,
                                               const pml_config *config);

/* A client is IDLE or ARMED. A call in another state returns PML_ERROR_STATE and changes nothing.
 *
 *     call     in     when it succeeds                          when it fails
 *     arm      IDLE   → ARMED: paid, stored, noise drawn        stays IDLE, nothing charged
 *     release  ARMED  → IDLE: bytes written, noise wiped        stays ARMED, nothing used up, output zeroed
 *     disarm   ARMED  → IDLE: noise wiped, price refunded       wrong budget: stays ARMED. Store failed: → IDLE, the
 *                                                               noise is wiped and the price is lost
 *     wipe     any    → IDLE: noise wiped, price not refunded   cannot fail
 *
 * arm charges the budget, stores it through `persist`, and only then is the client armed. When the entropy or the
 * storage fails, nothing is charged. */
PML_API PML_CHECKED pml_status pml_client_arm(pml_client *client, pml_budget *budget);

/* Returns the bytes per release of this client: a function of pack and configuration. */
PML_API size_t pml_client_release_size(const pml_client *client);

/* Writes the release of a query: pml_client_release_size bytes; the rest of `capacity` is zeroed. Of the query nothing
 * is kept. A null pointer, a short buffer, a wrong number of features, and bad features or an unknown label without
 * `substitute`, leave the client armed for another try: no noise has met a query, and no byte has been written. */
PML_API PML_CHECKED pml_status pml_client_release(pml_client *client, const pml_query *query, uint8_t *out,
                                                  size_t capacity);

/* Gives an unused release back: wipes the noise, then refunds the budget that paid. */
PML_API PML_CHECKED pml_status pml_client_disarm(pml_client *client, pml_budget *budget);

PML_API void pml_client_wipe(pml_client *client);

/* What one release costs and how it is made. All of it is public. */
typedef struct pml_receipt {
    pml_mechanism mechanism;
    double epsilon, delta; /* in a crowd: the floor, and the δ₀ of one own message */
    double sensitivity;    /* Gaussian: certified Δ of this pack, in embedding units, before the grid's pad; else 0 */
    double sigma;          /* Gaussian: standard deviation of the noise, in embedding units; else 0 */
    double mu;    /* what a release adds to Σμ² is its square. Gaussian: (Δ + pad)/σ; crowd: of one own message */
    double keep;  /* response: probability that the true cell is the one released; else 0 */
    size_t bytes; /* length of a release */
    size_t messages; /* the most releases that one bundle can have; 1 without a crowd */
} pml_receipt;

PML_API PML_CHECKED pml_status pml_client_receipt(const pml_client *client, pml_receipt *receipt);

/* ---- crowd: a query among the queries of others ------------------------------------------------------------------ */

/* A client whose configuration has a `crowd` hands a *bundle* of messages to a relay in every epoch: its own ones and
 * fakes, in random order, all of one length. The relay mixes the messages of all clients, so the server cannot tell
 * whose they are. Such a client is armed by pml_crowd_arm and writes by pml_crowd_next; pml_client_arm and
 * pml_client_release refuse it with PML_ERROR_CROWD, and these functions refuse every other client likewise.
 * pml_client_disarm, _wipe, _receipt and _release_size are for both. Builds without the crowd (PRIVATEMAIL_CROWD) lack
 * these functions, and refuse the configuration with PML_ERROR_MECHANISM.
 *
 *     call         in       when it succeeds                                  when it fails
 *     crowd_arm    IDLE     → ARMED: paid, stored, fakes drawn                stays IDLE, nothing charged
 *     crowd_begin  ARMED    → WRITING, or IDLE when the bundle is empty       stays ARMED, nothing used up
 *     crowd_next   WRITING  one message written; after the last → IDLE        stays WRITING, nothing used up
 *     disarm       ARMED    as above; WRITING is too late: what has met a query is spent
 *     wipe         any      as above
 *
 * One bundle per epoch. Hand it over as a whole: a relay must not see a part of it. What may be resent are the bytes, in
 * the same epoch. */
typedef enum pml_bundle {
    PML_BUNDLE_QUERY = 1, /* a photo's cell is drawn and sent: costs the floor ε₀ and `own` messages of the crowd */
    PML_BUNDLE_KEPT = 2,  /* a photo's kept cell is sent again: costs `own` messages of the crowd (SPEC 4, kept cell) */
    PML_BUNDLE_IDLE = 3   /* no query in this epoch: fakes, and cover when the policy says so. Costs nothing */
} pml_bundle;

/* Draws all that does not depend on the query. Returns PML_ERROR_CROWD when the policy has changed since init, and
 * PML_ERROR_SPENT also when the policy makes no promise and the budget keeps one. */
PML_API PML_CHECKED pml_status pml_crowd_arm(pml_client *client, pml_budget *budget, pml_bundle bundle);

/* What the bundle is about. Exactly the part that `crowd_arm` was told about is given; the rest is zero. */
typedef struct pml_crowd_content {
    const pml_query *query; /* PML_BUNDLE_QUERY */
    const void *kept;       /* PML_BUNDLE_KEPT: the message of an earlier bundle whose `own` was 1 … */
    size_t kept_size;       /* … and its length */
} pml_crowd_content;

/* Makes the own messages: the drawn cell and its public list (SPEC 5.15). Of the query nothing is kept but them. `content`
 * may be NULL when idle. Errors are those of pml_client_release, PML_ERROR_RELEASE and PML_ERROR_PACK_ID for a kept
 * message, and PML_ERROR_CROWD when the policy has changed. */
PML_API PML_CHECKED pml_status pml_crowd_begin(pml_client *client, const pml_crowd_content *content);

/* Returns how many messages are still to be written: 0 when the client is not writing. */
PML_API size_t pml_crowd_left(const pml_client *client);

/* Writes the next message, pml_client_release_size bytes; the rest of `capacity` is zeroed. *own is 0 for a fake, else 1
 * to `own`: the answer to it is worth ranking. Keep the message whose *own is 1, and never tell anybody which it was. */
PML_API PML_CHECKED pml_status pml_crowd_next(pml_client *client, uint8_t *out, size_t capacity, unsigned *own);

/* ---- ranking: keep what is nearest to the true query ------------------------------------------------------------- */

typedef enum pml_scope { PML_OWN_SLOT = 0, PML_ALL_SLOTS = 1 } pml_scope;

typedef struct pml_match {
    uint64_t item;           /* the server's number of the item */
    uint64_t payload_offset; /* where its payload stands in the answer's bytes … */
    uint32_t payload_size;   /* … and its length */
    int32_t score;           /* cosine of the sketches, in 2^-30 */
    int32_t label;           /* the item's class */
    uint32_t slot;           /* the slot it came in; PML_NO_SLOT in an unused entry */
} pml_match;

#define PML_NO_SLOT 0xFFFFFFFFu

typedef struct pml_ranking_config {
    pml_match *matches; /* required: the result, best first; must outlive the ranking */
    size_t capacity;    /* entries of `matches`, 1 … PML_MATCHES_MAX */
    pml_scope scope;    /* candidates of the query's own slot, or of all slots */
    /* false: bad features and unknown labels are errors. true: they give an empty result, after the same work. */
    bool substitute;
    /* true: this is the answer to one message of a crowd. It has one slot, any of the pack's (SPEC 3). */
    bool crowd;
    const struct pml_kernels *kernels; /* as in pml_config */
} pml_ranking_config;

/* Ranks one answer as it streams in, in fixed memory: begin, any number of feeds of any length, finish. It needs no
 * client, ε or budget: a device that stored a query's release can rank its answer at any time. */
typedef struct pml_ranking pml_ranking;

/* Returns the bytes of a ranking; 0 when the pack has no sketches. */
PML_API size_t pml_ranking_size(const pml_pack *pack);

/* Lays the ranking out in `memory`, which with `pack` must outlive it and must not be moved. Keeps a sketch of the
 * query, until finish or wipe. `memory` may be used for the next ranking then. */
PML_API PML_CHECKED pml_status pml_ranking_begin(pml_ranking **ranking, void *memory, size_t size, const pml_pack *pack,
                                                 const pml_query *query, const pml_ranking_config *config);

/* The status does not depend on the query, and neither do time and addresses. After an error finish or wipe, and ask
 * the server for the same bytes again; never make a new release. */
PML_API PML_CHECKED pml_status pml_ranking_feed(pml_ranking *ranking, const void *bytes, size_t size);

typedef struct pml_answer_summary {
    size_t found;     /* entries of `matches` filled, best first */
    uint64_t carried; /* candidates in the answer */
    uint64_t gallery; /* items the server says it has; share f = carried / gallery */
    uint64_t bytes;   /* length of the answer */
} pml_answer_summary;

/* Ends the ranking and forgets the query. `matches` holds the result only when the whole answer, all slots of it, was
 * valid; it is zeroed otherwise. Feeding or finishing again returns PML_ERROR_STATE. */
PML_API PML_CHECKED pml_status pml_ranking_finish(pml_ranking *ranking, pml_answer_summary *summary);

/* Gives a ranking up: forgets the query and zeroes `matches`. Changes nothing after finish. */
PML_API void pml_ranking_wipe(pml_ranking *ranking);

/* ---- what a release says, and what ε buys ------------------------------------------------------------------------ */

/* The embedding rows of any release of this pack, slots × dimensions floats: what the server sees. A message of a crowd
 * has one row. `rows` has room for `capacity` floats. Returns PML_ERROR_SECTION when the pack has no codes. */
PML_API PML_CHECKED pml_status pml_release_rows(const pml_pack *pack, const void *release, size_t size, float *rows,
                                                size_t capacity);

/* g_ε(f) = f·e^ε / (1 + f·(e^ε − 1)): the best chance that any ε-DP method has to bring the right cell when the answer
 * carries the share f of a gallery whose items are equally often wanted; one cell per slot reaches it. It is also the
 * ceiling of class recall@k over C equally likely classes, with f = k/C. Returns NaN for arguments out of range
 * (0 ≤ f ≤ 1, 0 ≤ ε ≤ 64). */
PML_API double pml_recall_ceiling(double epsilon, double share);

/* Returns the ε that reaches the chance `probability` at `share` (both strictly between 0 and 1, probability ≥ share),
 * rounded up; NaN otherwise, and for a share below 1e-100. */
PML_API double pml_epsilon_for(double probability, double share);

#ifdef __cplusplus
}
#endif
#endif
