/* SPDX-License-Identifier: Apache-2.0
 * train --method cgmvae: labels of which a row may have several. */
#ifndef CLI_TRAIN_LABELS_H
#define CLI_TRAIN_LABELS_H

#include "cli/shared/command.h"

/* Whether the arguments ask for it. */
bool train_labels_asked(int argc, char **argv);

/* The whole command, from options to report. */
exit_code train_labels_run(int argc, char **argv);

#endif
