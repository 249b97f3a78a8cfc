/* SPDX-License-Identifier: Apache-2.0
 * Pictures in a build that has no libpng (cmake/find_parts.cmake). */
#include "sample_png.h"

pml_outcome sample_png_write(const char *path, const uint8_t *pixels, unsigned width, unsigned height,
                             struct pml_message *message)
{
    (void)pixels;
    (void)width;
    (void)height;
    return pml_say(message,
                   "%s: this command was built without pictures. Give --no-images, or " PML_PICTURES_REMEDY ".", path);
}
