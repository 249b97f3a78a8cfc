/* SPDX-License-Identifier: Apache-2.0
 * The gateway's key configuration, pinned with the pack (SPEC 10.7): a file beside the pack remembers it. A key that was
 * made for one person would mark that person. */
#ifndef CLI_KEY_PIN_H
#define CLI_KEY_PIN_H

#include "ask_options.h"
#include "relay_link.h"

#include <privatemail_transport.h>

/* The key to seal for: of --ohttp-keys, otherwise of the pin PACK.ohttp-keys, otherwise of the relay. The relay must give it
 * out, and --server must have the relay's configuration. What --ohttp-keys brought, or the first that came from the relay, is
 * pinned. What a relay gives
 * out later never changes it: it could put a key of its own in front. */
exit_code key_pin_get(const struct command *command, const struct ask_arguments *arguments, struct relay_link *link,
                      pml_seal_key *key);

#endif
