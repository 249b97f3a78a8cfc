/* SPDX-License-Identifier: Apache-2.0
 * The primitives of the transport, by OpenSSL. */
#ifndef PML_CRYPTO_OPENSSL_H
#define PML_CRYPTO_OPENSSL_H

#include <privatemail_transport.h>

/* With ChaCha20-Poly1305 and AES-128-GCM. For any number of threads. */
const pml_crypto *pml_crypto_openssl(void);

/* OpenSSL's generator, as a pml_entropy_fn. */
int pml_entropy_openssl(void *context, uint8_t *out, size_t size);

#endif
