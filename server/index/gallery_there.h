/* SPDX-License-Identifier: Apache-2.0
 * What a store has of a pack already when index begins: a gallery, its record, what an earlier run has done. All return
 * PML_DONE, or another outcome with a message: PML_OTHER_VERSION when this program does not know the version of what is
 * there, so that it is left alone. */
#ifndef PML_GALLERY_THERE_H
#define PML_GALLERY_THERE_H

#include "record.h"

/* Whether the manifest that is served, if there is one, may be replaced. One that is lost or damaged may be. */
pml_outcome pml_there_known(struct pml_store *store, const struct pml_pointer *pointer, struct pml_message *message);

/* Refuses a gallery that is there, unless it shall be replaced. */
pml_outcome pml_there_replaceable(const struct pml_pointer *pointer, bool force, struct pml_message *message);

/* How far an earlier run with the same inputs has come. One that is lost or damaged has done nothing. */
pml_outcome pml_there_unfinished(struct pml_store *store, const struct pml_pointer *pointer, const uint8_t inputs[32],
                                 struct pml_building *building, enum pml_stage *done, struct pml_message *message);

/* The versions that stay: none when the record is lost or damaged. */
pml_outcome pml_there_record(struct pml_store *store, const struct pml_pointer *pointer, struct pml_record *record,
                             struct pml_message *message);

#endif
