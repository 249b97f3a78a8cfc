/* SPDX-License-Identifier: Apache-2.0
 * Writes grey PNG files by libpng. */
#include "sample_png.h"

#include "common/files.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

pml_outcome sample_png_write(const char *path, const uint8_t *pixels, unsigned width, unsigned height,
                             struct pml_message *message)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_GRAY;

    FILE *file = fopen(path, "wb");
    if (!file) {
        int error = errno;
        return pml_say(message, "cannot create %s (%s): %s.", path, strerror(error), pml_file_advice(error));
    }
    errno = 0;
    int written = png_image_write_to_stdio(&image, file, 0, pixels, (png_int_32)width, NULL);
    int reason = errno;
    /* Small pictures stay in the buffer until here, so a full disk shows now. */
    if (fclose(file) != 0) {
        written = 0;
        reason = errno;
    }
    if (!written)
        return pml_say(message, "cannot write %s (%s): %s.", path, reason ? strerror(reason) : image.message,
                       pml_file_advice(reason));
    return PML_DONE;
}
