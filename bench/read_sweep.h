/* SPDX-License-Identifier: Apache-2.0
 * The roofline of memory: how fast bytes can be read at all. */
#ifndef BENCH_READ_SWEEP_H
#define BENCH_READ_SWEEP_H

#include <stddef.h>
#include <stdint.h>

/* Reads `size` bytes once, front to back, with the widest loads of the kernels' vector unit. Returns their sum as words, so
 * that no read can be left out. */
uint64_t read_sweep(const void *bytes, size_t size);

#endif
