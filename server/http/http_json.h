/* SPDX-License-Identifier: Apache-2.0
 * An answer as JSON (SPEC 7). */
#ifndef PML_HTTP_JSON_H
#define PML_HTTP_JSON_H

#include "server/service/service.h"

/* Returns what pml_service_parts returns. `text` must be empty, and is unless PML_DONE is returned. */
pml_outcome pml_http_answer_json(const struct pml_service *service, const pml_release_view *view,
                                 struct pml_bytes *text);

#endif
