/* SPDX-License-Identifier: Apache-2.0
 * The modalities that a pack is built with: a name and a front file for each (SPEC 1.1, 1.2). */
#ifndef PML_FRONTS_H
#define PML_FRONTS_H

#include "message.h"

#include <privatemail_public.h>

struct pml_named_front {
    char name[PML_MODALITY_NAME_MAX + 1];
    pml_front front;
};

/* In the order of their numbers. A zeroed struct has none: features are used as they are. */
struct pml_fronts {
    struct pml_named_front list[PML_MODALITIES_MAX];
    uint8_t *files[PML_MODALITIES_MAX]; /* what the fronts point into */
    size_t count;
};

/* Adds the front of "NAME=FILE". Returns PML_DONE, or with a message: PML_REFUSED when the text or the name cannot be used,
 * PML_DAMAGED or PML_OTHER_VERSION when the file cannot, PML_NO_MEMORY. */
pml_outcome pml_fronts_add(struct pml_fronts *fronts, const char *text, struct pml_message *message);
/* Adds the front of a file without a name, for trainers. */
pml_outcome pml_fronts_read(struct pml_fronts *fronts, const char *path, struct pml_message *message);
void pml_fronts_free(struct pml_fronts *fronts);

/* Says why a file is no front, or no head: it is of a version that is not known, or anything else. `maker` is what makes
 * one. Returns PML_OTHER_VERSION or PML_DAMAGED. */
pml_outcome pml_fronts_refuse(const char *path, const uint8_t *bytes, size_t size, const char *what, const char *maker,
                              struct pml_message *message);

/* The number of the modality of this name; NULL: the first. Returns PML_DONE, or PML_REFUSED with a message. */
pml_outcome pml_fronts_find(const struct pml_fronts *fronts, const char *name, size_t *modality,
                            struct pml_message *message);

/* Splits "NAME=FILE" into the number of the modality and the file, which points into the text. Returns PML_DONE, or
 * PML_REFUSED with a message. */
pml_outcome pml_fronts_split(const struct pml_fronts *fronts, const char *text, size_t *modality, const char **file,
                             struct pml_message *message);

/* The front of a modality; without fronts, one that uses `columns` features as they are. */
pml_front pml_fronts_of(const struct pml_fronts *fronts, size_t modality, size_t columns);

#endif
