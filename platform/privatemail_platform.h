/* SPDX-License-Identifier: Apache-2.0
 * What PrivateMail needs of an operating system and a CPU. Pass both to pml_config. */
#ifndef PRIVATEMAIL_PLATFORM_H
#define PRIVATEMAIL_PLATFORM_H

#include "privatemail.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pml_entropy_fn over the system's cryptographic generator: getrandom on Linux and Android (/dev/urandom
 * where the kernel is older than 3.17), arc4random_buf on Apple's systems, BCryptGenRandom on Windows. Returns 0, or −1
 * when the system fails. Not in bare-metal builds: there the callback is yours, over a hardware generator; never
 * over a clock, a serial number or rand(). */
PML_API int pml_platform_entropy(void *context, uint8_t *out, size_t size);

/* The best kernels this CPU runs. Never NULL. Ask once and keep what it returns: in a virtual machine the call may
 * take longer than a release. */
PML_API const struct pml_kernels *pml_platform_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
