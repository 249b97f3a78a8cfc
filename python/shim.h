/* SPDX-License-Identifier: Apache-2.0
 * The core as flat functions for ctypes (python/src/privatemail/_core.py): numbers and pointers go in and out, and no
 * structures. Nothing is computed here. Functions that return int return a pml_status. ctypes lets other threads run
 * during a call; the classes in Python take care that no object is used by two threads at a time. */
#ifndef PRIVATEMAIL_PYTHON_SHIM_H
#define PRIVATEMAIL_PYTHON_SHIM_H

#include <privatemail.h>
#include <privatemail_platform.h>

PML_API const char *pmlpy_version(void);
PML_API const char *pmlpy_status_text(int status);
PML_API double pmlpy_recall_ceiling(double epsilon, double share);
PML_API double pmlpy_epsilon_for(double probability, double share);

/* ---- pack: a view of bytes that Python keeps alive. `pinned` and `model` may be NULL ---- */

typedef struct pmlpy_pack pmlpy_pack;
PML_API int pmlpy_pack_open(pmlpy_pack **pack, const void *bytes, size_t size, const uint8_t *pinned,
                            const char *model);
PML_API void pmlpy_pack_free(pmlpy_pack *pack);

/* features, slots, slot_kind, cells, prototypes, classes, anchors, neighbours, dimensions, sketch, directions, labels,
 * modalities. */
enum { PMLPY_PACK_NUMBERS = 13 };
PML_API int pmlpy_pack_describe(const pmlpy_pack *pack, uint8_t id[PML_ID_SIZE], uint32_t numbers[PMLPY_PACK_NUMBERS]);
PML_API const char *pmlpy_pack_model(const pmlpy_pack *pack);
PML_API int pmlpy_pack_modality(const pmlpy_pack *pack, size_t index, const char **name, uint32_t *features);
PML_API int pmlpy_release_rows(const pmlpy_pack *pack, const void *release, size_t size, float *rows, size_t capacity);

/* ---- budget: its bytes are Python's ---- */

/* The six of pml_budget_caps and the twelve of pml_budget_left, in their order. */
PML_API int pmlpy_budget_create(uint8_t budget[PML_BUDGET_SIZE], const uint8_t owner[16], const double caps[6]);
PML_API int pmlpy_budget_restore(uint8_t budget[PML_BUDGET_SIZE], const uint8_t owner[16], const void *bytes,
                                 size_t size);
PML_API int pmlpy_budget_remaining(const uint8_t budget[PML_BUDGET_SIZE], double left[12]);

/* ---- client ---- */

typedef struct pmlpy_client pmlpy_client;

/* Callbacks into Python. One that succeeded sets *done, which was 0, to PMLPY_DONE. The result cannot tell: a signal
 * handler may raise before the first line of a callback runs, and what ctypes returns then is whatever its memory
 * holds, often 0. */
enum { PMLPY_DONE = 0x53544f52 };
typedef void (*pmlpy_persist_fn)(int *done, const uint8_t *bytes, size_t size);
typedef void (*pmlpy_entropy_fn)(int *done, uint8_t *out, size_t size);

/* `policy` is NULL, or the eight of pml_crowd in their order. `entropy` is NULL outside of tests: the system's. */
PML_API int pmlpy_client_new(pmlpy_client **client, const pmlpy_pack *pack, int mechanism, double epsilon, double delta,
                             unsigned value_bytes, int substitute, const double *policy, pmlpy_persist_fn persist,
                             pmlpy_entropy_fn entropy);
PML_API void pmlpy_client_free(pmlpy_client *client); /* wipes first */

/* Wipes all that the core has of a client, whatever it was doing, and makes all other functions refuse the client, but
 * for pmlpy_client_free. It is for a client whose thread is gone because another one forked, and may be called twice.
 * In a callback of the client it leaves the wiping to the core, which still runs: to the core the callback fails. */
PML_API void pmlpy_client_forget(pmlpy_client *client);
PML_API int pmlpy_client_arm(pmlpy_client *client, uint8_t budget[PML_BUDGET_SIZE]);
PML_API int pmlpy_client_disarm(pmlpy_client *client, uint8_t budget[PML_BUDGET_SIZE]);
PML_API void pmlpy_client_wipe(pmlpy_client *client);
PML_API int pmlpy_client_release(pmlpy_client *client, const float *features, size_t count, int32_t label,
                                 uint32_t modality, uint8_t *out, size_t capacity);

/* epsilon, delta, sensitivity, sigma, mu, keep, bytes, messages. */
PML_API int pmlpy_client_receipt(const pmlpy_client *client, double receipt[8]);

/* `features` is NULL unless the bundle is one of a query, and `kept` unless it is one of a kept cell. */
PML_API int pmlpy_crowd_arm(pmlpy_client *client, uint8_t budget[PML_BUDGET_SIZE], int bundle);
PML_API int pmlpy_crowd_begin(pmlpy_client *client, const float *features, size_t count, int32_t label,
                              uint32_t modality, const void *kept, size_t kept_size);
PML_API size_t pmlpy_crowd_left(const pmlpy_client *client);
PML_API int pmlpy_crowd_next(pmlpy_client *client, uint8_t *out, size_t capacity, unsigned *own);

/* ---- ranking ---- */

/* Ranks a whole answer. Six numbers per match: item, label, slot, score, payload's offset and size. `summary`: found,
 * carried, gallery. Wipes whatever it has allocated. */
PML_API int pmlpy_rank(const pmlpy_pack *pack, const float *features, size_t count, int32_t label, uint32_t modality,
                       int all_slots, int crowd, const void *answer, size_t size, int64_t *matches, size_t limit,
                       uint64_t summary[3]);

#endif
