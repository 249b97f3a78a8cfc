/* SPDX-License-Identifier: Apache-2.0
 * Writes grey PNG files. */
#ifndef CLI_SAMPLE_PNG_H
#define CLI_SAMPLE_PNG_H

#include "common/message.h"

#include <stdint.h>

/* 8 bits per pixel, top row first. Not atomic: for files in a folder that is renamed when it is complete. Returns
 * PML_DONE, or PML_REFUSED with a message. */
pml_outcome sample_png_write(const char *path, const uint8_t *pixels, unsigned width, unsigned height,
                             struct pml_message *message);

#endif
