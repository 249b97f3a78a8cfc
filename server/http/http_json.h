/* SPDX-License-Identifier: Apache-2.0
 * An answer as JSON (SPEC 7). */
#ifndef PML_HTTP_JSON_H
#define PML_HTTP_JSON_H

#include "server/service/service.h"

/* Like pml_service_answer. */
int pml_http_answer_json(const struct pml_service *service, const void *release, size_t size, struct pml_bytes *text);

#endif
