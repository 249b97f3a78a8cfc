/* SPDX-License-Identifier: Apache-2.0
 * Which of many products may belong into a list. Most do not, and floats tell that of several at a time; pml_nearest_offer
 * then looks exactly at those that may. */
#ifndef PML_KNN_REACH_H
#define PML_KNN_REACH_H

#include "nearest.h"

#include <math.h>

#define PML_SEVERAL 32u /* products that are looked at together; a tile has a whole number of them */

/* The product of two rounded floats is within 2^-22 of the exact score; the limit leaves four times as much. */
static inline float pml_limit_of_score(int64_t score)
{
    const double last = (double)score;
    return (float)(last - fabs(last) * 0x1p-20);
}

/* No score below this belongs into the list. */
static inline float pml_limit_of(const struct pml_nearest *nearest)
{
    return pml_limit_of_score(nearest->scores[nearest->length - 1]);
}

static inline bool pml_reaches(int32_t dot, float inverse, float limit)
{
    return (float)dot * inverse >= limit;
}

/* Of several rows with their inverse norms, whether any reaches one limit. */
static inline bool pml_any_reaches(const int32_t *dots, const float *inverse, float limit)
{
    int found = 0;
    for (size_t i = 0; i < PML_SEVERAL; i++)
        found |= -pml_reaches(dots[i], inverse[i], limit); /* all bits: what a vector's comparison gives */
    return found != 0;
}

/* Whether one row reaches any of several limits. */
static inline bool pml_reaches_any(const int32_t *dots, float inverse, const float *limits)
{
    int found = 0;
    for (size_t i = 0; i < PML_SEVERAL; i++)
        found |= -pml_reaches(dots[i], inverse, limits[i]);
    return found != 0;
}

#endif
