/* SPDX-License-Identifier: Apache-2.0
 * Grey PNG files by libpng. In: pixels. Out: a file. */
#include "sample_png.h"

#include "common/files.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

int sample_png_write(const char *path, const uint8_t *pixels, unsigned width, unsigned height,
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
        snprintf(message->text, sizeof message->text, "cannot create %s (%s): %s.", path, strerror(error),
                 pml_file_advice(error));
        return -1;
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
        snprintf(message->text, sizeof message->text, "cannot write %s (%s): %s.", path,
                 reason ? strerror(reason) : image.message, pml_file_advice(reason));
    return written ? 0 : -1;
}
