/* SPDX-License-Identifier: Apache-2.0
 *
 * PrivateMail: search a remote collection without revealing what you look for.
 *
 * The device turns a feature vector x (and, if it knows it, a class) into one small differentially private message,
 * the *release*. A server answers with candidates for every slot; the device keeps what is nearest to its true x.
 *
 *     pml_pack_open ─► pml_client_init ─► pml_client_arm ─► pml_client_load ─► pml_client_release ─► (network)
 *                                                                      ─► pml_answer_begin / feed / finish
 *
 * Rules that privacy rests on (docs/PRIVACY.md proves what they buy):
 *
 *   One arm, one release.   `arm` pays the price and draws all randomness; the first `release` uses it up, whatever
 *                           its outcome. Never copy, fork or serialise a client that is armed.
 *   Resend bytes.           When the network fails, send the same bytes again: that is free. Never make a second
 *                           release because the first was lost, and never choose among several.
 *   Keep the bytes.         Store the release of a photo and reuse it. n releases about one photo cost n times ε.
 *   Arm early.              `arm` before private data is in memory, when idle: its duration depends on the noise.
 *   Nothing afterwards.     What the app fetches, logs or shows to others after `answer` must not depend on what was
 *                           found: the payload carries what is shown.
 *   ε and δ are yours.      They come from the app, never from the pack.
 *
 * Threads: one client (and one budget) belongs to one thread at a time; any number of clients may share one pack.
 * Memory: no call allocates. Every buffer is the caller's, of any alignment unless its type says otherwise.
 * Errors: every call answers 0 (PML_OK) or a negative pml_status. On error the buffer or structure that it fills is
 * zeroed, and nothing is spent (a release that failed after arm: refunded by disarm).
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
#define PML_VERSION_MINOR 2
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
#define PML_CANDIDATES_MAX 1048576u /* of one slot in an answer */
#define PML_PAYLOAD_MAX 65535u      /* bytes of one payload */
#define PML_MATCHES_MAX 256u
#define PML_EPSILON_MIN (1.0 / 1048576.0)
#define PML_EPSILON_MAX 16.0
#define PML_ID_SIZE 16u
#define PML_MODEL_MAX 64u /* bytes of a model's name */
#define PML_BUDGET_SIZE 64u

/* ---- status --------------------------------------------------------------------------------------------------- */

typedef enum pml_status {
    PML_OK = 0,
    PML_ERROR_ARGUMENT = -1,      /* a pointer is null, or a field of the configuration is out of range */
    PML_ERROR_MEMORY = -2,        /* the client's memory is smaller than pml_client_size says */
    PML_ERROR_BUFFER = -3,        /* the output buffer is too small */
    PML_ERROR_STATE = -4,         /* the call does not fit the client's state: see the table at pml_client_arm */
    PML_ERROR_EPSILON = -5,       /* ε is not a number, out of range, or so small that the noise does not fit */
    PML_ERROR_DELTA = -6,         /* δ must be 0 for response and between 2^-50 and 1 for the Gaussian */
    PML_ERROR_MECHANISM = -7,     /* the mechanism is unknown or was left out of this build */
    PML_ERROR_DIMENSION = -8,     /* the vector has not as many features as the pack */
    PML_ERROR_FEATURES = -9,      /* a feature is NaN or infinite, or all are zero */
    PML_ERROR_LABEL = -10,        /* the pack knows no such class */
    PML_ERROR_PACK = -11,         /* a field of the pack is out of its range or contradicts another */
    PML_ERROR_PACK_VERSION = -12, /* not a pack, or a version this library does not read */
    PML_ERROR_PACK_SIZE = -13,    /* the pack is truncated, or longer than it says */
    PML_ERROR_PACK_HASH = -14,    /* the pack is damaged: its hash does not fit */
    PML_ERROR_PACK_ID = -15,      /* a sound pack, release or answer, but of another pack than the one expected */
    PML_ERROR_SECTION = -16,      /* the pack lacks a section that this mechanism or call needs */
    PML_ERROR_SENSITIVITY = -17,  /* the pack's codes give a sensitivity of zero or beyond 2^20: refused */
    PML_ERROR_ENTROPY = -18,      /* the entropy callback failed, was short, or gave 32 equal bytes */
    PML_ERROR_PERSIST = -19,      /* the persist callback failed: not armed, nothing charged in memory */
    PML_ERROR_BUDGET = -20,       /* the budget is damaged, foreign, or not a budget */
    PML_ERROR_SPENT = -21,        /* the budget cannot pay for one more release */
    PML_ERROR_RELEASE = -22,      /* the bytes are not a release of this pack */
    PML_ERROR_ANSWER = -23,       /* the bytes are not an answer: truncated, lying lengths, or beyond a limit */
    PML_ERROR_PACK_MODEL = -24,   /* the pack names another model than the one demanded, or none */
} pml_status;

/* One English sentence, never null, also for numbers that are no status. */
PML_API const char *pml_status_text(int status);

/* "0.2.0" */
PML_API const char *pml_version(void);

/* ---- pack: what device and server both know -------------------------------------------------------------------- */

/* A view of a pack's bytes, which must outlive it and must not change; nothing is copied. Opaque; its size is public so
 * that it can be a local or static variable. */
typedef struct pml_pack {
    uint64_t opaque[20];
} pml_pack;

/* Validates the pack completely: sizes, hash, every field, every row's norm (reads each byte twice). `pinned_id`:
 * the 16 bytes the app expects, or NULL for any. A hash stops damage, not a hostile author; what a hostile pack can
 * do is bounded by PRIVACY.md (it cannot weaken ε), but a pack made for one user marks that user: pin ids.
 * `model`: the name of the model that makes the app's features, or NULL to accept any. Features of another model find
 * nothing; with a name given, such a pack is refused with PML_ERROR_PACK_MODEL. To tell both names, open the pack
 * again with NULL and call pml_pack_model. */
PML_API PML_CHECKED int pml_pack_open(pml_pack *pack, const void *bytes, size_t size, const uint8_t *pinned_id,
                                      const char *model);

/* The name of the model whose features the pack was made from, as UTF-8 without control characters; "" when the pack
 * names none. Lies in the pack's bytes. */
PML_API const char *pml_pack_model(const pml_pack *pack);

enum { PML_SLOTS_ONE = 0, PML_SLOTS_CLASS = 1, PML_SLOTS_GROUP = 2 };

typedef struct pml_pack_info {
    uint8_t id[PML_ID_SIZE];
    uint64_t size;       /* bytes */
    uint32_t features;   /* d */
    uint32_t anchors;    /* n; 0: no anchors, no Gaussian */
    uint32_t neighbours; /* K */
    uint32_t dimensions; /* k; 0: no codes */
    uint32_t slots;      /* G */
    uint32_t slot_kind;  /* PML_SLOTS_… */
    uint32_t cells;      /* m a slot; 0: none, no response */
    uint32_t prototypes; /* M a slot */
    uint32_t classes;    /* C */
    uint32_t lambda;     /* 1/σ² in 2^-16 */
    uint32_t alpha;      /* α in 2^-8 */
    uint32_t sketch;     /* L, bytes of a sketch; 0: none, no answers */
    bool cell_codes;     /* response releases decode to rows */
    bool lists;          /* neighbour lists of the anchors are there */
} pml_pack_info;

PML_API PML_CHECKED int pml_pack_describe(const pml_pack *pack, pml_pack_info *info);

/* ---- budget: what a person has left, over all packs and servers ------------------------------------------------- */

/* Two caps fixed at creation: response releases add their ε up to `epsilon_response`; Gaussian releases add their μ²
 * up to what (epsilon_gaussian, delta) allows. Together: (epsilon_response + epsilon_gaussian, delta)-DP for
 * everything ever released, in any order and adaptively (PRIVACY.md, composition).
 * The 64 bytes are the stored form: write them as they are. A copy put back from a backup spends again what was
 * spent since: keep budgets out of backups. */
typedef struct pml_budget {
    uint8_t bytes[PML_BUDGET_SIZE];
} pml_budget;

/* `owner`: 16 bytes that name the person (for example a hash of an account), so that a budget is not mistaken for
 * another's; one budget an owner. epsilon_response: 0 to 4095. epsilon_gaussian: 0 (then delta is 0) or
 * PML_EPSILON_MIN to 256. */
PML_API PML_CHECKED int pml_budget_create(pml_budget *budget, const uint8_t owner[16], double epsilon_response,
                                          double epsilon_gaussian, double delta);

/* Reads the stored form. PML_ERROR_BUDGET when it is damaged or belongs to another owner. */
PML_API PML_CHECKED int pml_budget_restore(pml_budget *budget, const uint8_t owner[16], const void *bytes, size_t size);

/* Writes the stored form (PML_BUDGET_SIZE bytes) after checking it. */
PML_API PML_CHECKED int pml_budget_save(const pml_budget *budget, uint8_t *out, size_t capacity);

typedef struct pml_budget_left {
    double epsilon_cap, epsilon_spent; /* Σ ε of response releases */
    double mu2_cap, mu2_spent;         /* Σ μ² of Gaussian releases */
    double delta;                      /* of the Gaussian cap */
} pml_budget_left;

PML_API PML_CHECKED int pml_budget_remaining(const pml_budget *budget, pml_budget_left *left);

/* ---- client ---------------------------------------------------------------------------------------------------- */

enum { PML_RESPONSE = 1, PML_GAUSSIAN = 2 };

/* Writes `size` random bytes from the system's cryptographic source; answers how many it wrote. Anything but `size`
 * is a failure. Called once per arm, with size 32. platform/ has one for every OS; on bare metal it is yours. */
typedef size_t (*pml_entropy_fn)(void *context, uint8_t *out, size_t size);

/* Stores the budget's 64 bytes durably (written, flushed, renamed) and answers 0, or anything else on failure. Called
 * by arm before it answers PML_OK, and by disarm. A crash after it loses the price, never gains one. Two budgets restored
 * from one place spend twice unless this compares what is stored with what was restored. */
typedef int (*pml_persist_fn)(void *context, const uint8_t *bytes, size_t size);

struct pml_kernels; /* core/kernels.h */

typedef struct pml_config {
    /* PML_RESPONSE or PML_GAUSSIAN; 0 means PML_RESPONSE. Response: pure ε, for retrieval; costs 2·G bytes of memory.
     * Gaussian: (ε, δ), a noisy embedding; costs 20·G·k + 16·K bytes. */
    int mechanism;
    /* Privacy of one release, PML_EPSILON_MIN … 16. 0 is an error: there is no default. */
    double epsilon;
    /* 0 for response (anything else is an error); 2^-50 … below 1 for the Gaussian. No memory. */
    double delta;
    /* Gaussian: bytes of a released coordinate, 1 or 2; 0 means 1. Response: 0. No memory. */
    unsigned value_bytes;
    /* false: bad features and unknown labels are errors, and then the *absence* of a message tells that the input was
     * bad. true: they are replaced by a public default and the release is sent all the same. No memory. */
    bool substitute;
    pml_entropy_fn entropy; /* required */
    void *entropy_context;  /* passed through; may be NULL */
    pml_persist_fn persist; /* required; an app that wants no storage passes a function that answers 0 */
    void *persist_context;  /* passed through; may be NULL */
    /* Distance kernels, from platform/ (pml_platform_kernels). NULL means the portable ones. */
    const struct pml_kernels *kernels;
} pml_config;

typedef struct pml_client pml_client;

/* Memory of a client, in bytes, at any alignment. One byte less is refused.
 *
 *     mechanism  d     K    G     m    k    bytes
 *     response   512   -    100   8    -    1568
 *     response   64    -    10    4    -    944
 *     response   512   -    1     100  -    1376
 *     Gaussian   512   10   100   -    2    5528
 *     Gaussian   512   10   1     -    2    1568
 *
 * (printed by tests/test_memory). The pack is never copied. Use the macro for static storage, the function otherwise:
 * they agree. */
#ifdef __cplusplus
#define PML_SIZE(x) static_cast<size_t>(x)
#else
#define PML_SIZE(x) ((size_t)(x))
#endif
#define PML_ROUND8(x) ((PML_SIZE(x) + 7u) & ~PML_SIZE(7))
#define PML_MEMORY_FIXED 856u
#define PML_MEMORY_SIZE(d, K, G, m, k, mechanism)                                                                      \
    (PML_MEMORY_FIXED + PML_ROUND8(d) + 0u * PML_SIZE(m) +                                                             \
     ((mechanism) == PML_GAUSSIAN ? 16u * PML_SIZE(G) * PML_SIZE(k) + PML_ROUND8(4u * PML_SIZE(G) * PML_SIZE(k)) +     \
                                        16u * PML_SIZE(K)                                                              \
                                  : PML_ROUND8(2u * PML_SIZE(G))))

/* 0 when the pack lacks what the mechanism needs. */
PML_API size_t pml_client_size(const pml_pack *pack, const pml_config *config);

/* Lays the client out in `memory` and does all that depends on pack and configuration only: certificate, calibration,
 * public centres. `memory`, `pack` and what the configuration points to must outlive the client;
 * it must not be moved or copied. */
PML_API PML_CHECKED int pml_client_init(pml_client **client, void *memory, size_t size, const pml_pack *pack,
                                        const pml_config *config);

/* States and calls. A call in a state not listed answers PML_ERROR_STATE and changes nothing.
 *
 *     IDLE ──arm──► ARMED ──load──► LOADED ──release──► SPENT ──arm──► …
 *     disarm  from ARMED, LOADED, FAILED: wipes, refunds, → IDLE, also when storing the refund fails (price lost)
 *     load    from ARMED or LOADED (overwrites). When it fails → ARMED, and nothing of x is kept.
 *     release from ARMED or LOADED: wipes the noise, whatever happens. Success → SPENT. Failure → FAILED: no byte has
 *             left, so disarm may still refund, but nothing else can be done but arming anew.
 *     wipe    from any state → IDLE; the price is not refunded.
 *
 * arm pays first: it charges the budget, stores it through `persist`, and only then is armed. When the entropy or the
 * storage fails, nothing is charged. */
PML_API PML_CHECKED int pml_client_arm(pml_client *client, pml_budget *budget);

/* The query. `features`: d finite numbers, not all zero, of any scale (they are normalised). `label`: the class, as
 * the pack's maker numbered it; ignored by packs with one slot. Nothing of x itself is kept after the call, neither in
 * the client nor on the stack below it; the array `features` is the caller's, and the caller's to wipe. */
PML_API PML_CHECKED int pml_client_load(pml_client *client, const float *features, size_t count, int32_t label);

/* Bytes of a release of this client: a function of pack and configuration. */
PML_API size_t pml_client_release_size(const pml_client *client);

/* Writes the release. Its length is pml_client_release_size. */
PML_API PML_CHECKED int pml_client_release(pml_client *client, uint8_t *out, size_t capacity, size_t *written);

PML_API PML_CHECKED int pml_client_disarm(pml_client *client, pml_budget *budget);

PML_API void pml_client_wipe(pml_client *client);

/* What one release costs and how it is made. All of it is public. */
typedef struct pml_receipt {
    int mechanism;
    double epsilon, delta;
    double sensitivity; /* Gaussian: certified Δ of this pack, in embedding units, before the grid's pad; else 0 */
    double sigma;       /* Gaussian: standard deviation of the noise, in embedding units; else 0 */
    double mu;          /* Gaussian: (Δ + pad)/σ, what a release adds to Σμ² is its square; else 0 */
    double keep;        /* response: probability that the true cell is the one released; else 0 */
    size_t bytes;       /* length of a release */
} pml_receipt;

PML_API PML_CHECKED int pml_client_receipt(const pml_client *client, pml_receipt *receipt);

/* ---- answer: keep what is nearest to the true x ----------------------------------------------------------------- */

enum { PML_OWN_SLOT = 0, PML_ALL_SLOTS = 1 };

typedef struct pml_match {
    uint64_t item;           /* the server's number of the item */
    uint64_t payload_offset; /* where its payload stands in the answer's bytes … */
    uint32_t payload_size;   /* … and its length */
    int32_t score;           /* cosine of the sketches, in 2^-30 */
    int32_t label;           /* the item's class */
    uint32_t slot;           /* the slot it came in; PML_NO_SLOT in an unused entry */
} pml_match;

#define PML_NO_SLOT 0xFFFFFFFFu

/* Re-ranks an answer as it streams in, in fixed memory: begin, any number of feeds of any length, finish. May be
 * called in any state of the client, but one answer at a time. `matches` (capacity 1 … PML_MATCHES_MAX) belongs to
 * the client from begin to finish. The whole answer is validated, all slots of it, before anything is handed out; the
 * status does not depend on x or label, and neither do time and addresses in feed. After an error, ask for the same
 * bytes again, never for a new release. With `substitute` set, invalid input gives an empty result. */
PML_API PML_CHECKED int pml_answer_begin(pml_client *client, const float *features, size_t count, int32_t label,
                                         int scope, pml_match *matches, size_t capacity);
PML_API PML_CHECKED int pml_answer_feed(pml_client *client, const void *bytes, size_t size);

typedef struct pml_answer_summary {
    size_t found;     /* entries of `matches` filled, best first */
    uint64_t carried; /* candidates in the answer */
    uint64_t gallery; /* items the server says it has; share f = carried / gallery */
    uint64_t bytes;   /* length of the answer */
} pml_answer_summary;

PML_API PML_CHECKED int pml_answer_finish(pml_client *client, pml_answer_summary *summary);

/* ---- what a release says, and what ε buys ------------------------------------------------------------------------ */

/* The G×k embedding rows of any release of this pack: what the server sees. `rows` has room for `capacity` floats;
 * PML_ERROR_SECTION when the pack has no codes. */
PML_API PML_CHECKED int pml_release_rows(const pml_pack *pack, const void *release, size_t size, float *rows,
                                         size_t capacity);

/* g_ε(f) = f·e^ε / (1 + f·(e^ε − 1)): the best chance that any ε-DP method has to bring the right cell when the answer
 * carries the share f of a gallery whose items are equally often wanted; one cell per slot reaches it. Also the ceiling of class recall@k over C
 * equally likely classes, with f = k/C. NaN for arguments out of range (0 ≤ f ≤ 1, 0 ≤ ε ≤ 64). */
PML_API double pml_curve(double epsilon, double share);

/* The ε that reaches the chance `probability` at `share` (both strictly between 0 and 1, probability ≥ share), rounded
 * up; NaN otherwise, and for a share below 1e-100. */
PML_API double pml_curve_epsilon(double share, double probability);

#ifdef __cplusplus
}
#endif
#endif
