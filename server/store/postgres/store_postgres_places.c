/* SPDX-License-Identifier: Apache-2.0
 * Places as points of PostgreSQL's extension cube, and back. Nothing is rounded: a binary32 number is a binary64 number,
 * and 17 digits name one. */
#include "store_postgres.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define POINT 0x80000000u /* in the head of a cube: both corners are one */

static void put(uint8_t *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static uint64_t get(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

size_t pml_postgres_point(const float *place, uint32_t dimensions, uint8_t bytes[PML_POSTGRES_POINT_MAX])
{
    put(bytes, POINT | dimensions, 4);
    for (uint32_t i = 0; i < dimensions; i++) {
        const double value = (double)place[i];
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        put(bytes + 4 + 8 * i, bits, 8);
    }
    return 4 + 8 * (size_t)dimensions;
}

bool pml_postgres_place(const PGresult *result, int row, int column, uint32_t dimensions, float *place)
{
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(result, row, column);
    if (PQgetisnull(result, row, column) || PQgetlength(result, row, column) != (int)(4 + 8 * dimensions) ||
        get(bytes, 4) != (POINT | dimensions))
        return false;
    for (uint32_t i = 0; i < dimensions; i++) {
        const uint64_t bits = get(bytes + 4 + 8 * i, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || fabs(value) > 3.5e38)
            return false;
        place[i] = (float)value;
        if ((double)place[i] < value || (double)place[i] > value)
            return false;
    }
    return true;
}

void pml_postgres_point_text(const double *place, uint32_t dimensions, char text[PML_POSTGRES_TEXT_MAX])
{
    char *at = text;
    for (uint32_t i = 0; i < dimensions; i++)
        at += sprintf(at, "%c%.17g", i == 0 ? '(' : ',', place[i]);
    sprintf(at, ")");
}
