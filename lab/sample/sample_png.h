/* SPDX-License-Identifier: Apache-2.0
 * Writes grey PNG files. */
#ifndef CLI_SAMPLE_PNG_H
#define CLI_SAMPLE_PNG_H

#include "common/npy.h"

/* 8 bits a pixel, top row first. 0, or −1 with a message. Not atomic: for files in a folder that is renamed when it is
 * complete. */
int sample_png_write(const char *path, const uint8_t *pixels, unsigned width, unsigned height,
                     struct pml_message *message);

#endif
