/* SPDX-License-Identifier: Apache-2.0
 * An answer as JSON (SPEC 7). */
#ifndef PML_HTTP_JSON_H
#define PML_HTTP_JSON_H

#include "server/service/service.h"

/* An answer of this service. Returns PML_DONE, PML_NO_MEMORY, or PML_DAMAGED when a part is no list. `text` must be empty,
 * and is unless PML_DONE is returned. */
pml_outcome pml_http_answer_json(const struct pml_service *service, const struct pml_parts *parts,
                                 struct pml_bytes *text);

#endif
