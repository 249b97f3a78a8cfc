/* SPDX-License-Identifier: Apache-2.0
 * The header of a .npy file. */
#ifndef PML_NPY_HEADER_H
#define PML_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PML_NPY_TYPE_MAX 15u
#define PML_NPY_AXES_MAX 8u

struct pml_npy_header {
    char type[PML_NPY_TYPE_MAX + 1]; /* as written, for example "<f4"; "" for a structure */
    bool fortran_order;
    unsigned axes;
    uint64_t shape[PML_NPY_AXES_MAX]; /* each below 2^40 */
};

/* Parses the dictionary that makes up the header: exactly descr, fortran_order and shape, in any order. Returns
 * false when it is anything else. */
bool pml_npy_parse(const char *text, size_t size, struct pml_npy_header *header);

#endif
