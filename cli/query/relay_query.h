/* SPDX-License-Identifier: Apache-2.0
 * A query, or an idle bundle, through a relay. Only sealed messages leave the device; the answers are opened and ranked
 * here. */
#ifndef CLI_RELAY_QUERY_H
#define CLI_RELAY_QUERY_H

#include "ask_options.h"

/* Asks, waits and prints. Changes the arguments when a kept cell has to be sent again. */
exit_code relay_query(const struct command *command, struct ask_arguments *arguments);

#endif
