/* SPDX-License-Identifier: Apache-2.0
 * What the relay sends back (SPEC 11.2). All under the lock, but the metrics. */
#ifndef RELAY_REPLIES_H
#define RELAY_REPLIES_H

#include "relay_state.h"

struct pml_http_reply relay_reply_keys(const struct pml_relay *relay);
struct pml_http_reply relay_reply_about(const struct pml_relay *relay);
struct pml_http_reply relay_reply_health(struct pml_relay *relay);
struct pml_http_reply relay_reply_epoch(const struct relay_pack *pack);

/* To a bundle; `body` is what was sent. */
struct pml_http_reply relay_reply_verdict(const struct relay_pack *pack, enum relay_verdict verdict,
                                          const struct pml_bytes *body);

/* All answers of a bundle that is ready, or the one at `index`. */
struct pml_http_reply relay_reply_answers(const struct relay_epoch *epoch, const struct relay_bundle *bundle,
                                          uint32_t index);
struct pml_http_reply relay_reply_waiting(struct pml_relay *relay, const struct relay_epoch *epoch);
struct pml_http_reply relay_reply_lost(void);

bool relay_metrics_write(struct pml_http *http, struct pml_bytes *text); /* locks */

#endif
