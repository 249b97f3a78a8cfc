/* SPDX-License-Identifier: Apache-2.0
 * The installed transport compiles, links and seals. */
#include <privatemail_platform.h>
#include <privatemail_transport.h>

#include <stdio.h>

int main(void)
{
    static const uint8_t pack_id[PML_ID_SIZE], release[26];
    const pml_crypto *crypto = pml_crypto_bearssl();
    pml_seal_key key = {.id = 1, .aead = PML_AEAD_CHACHA20_POLY1305, .public_key = {9}};
    uint8_t message[130];
    const pml_status status = pml_message_seal(crypto, &key, 1, pack_id, release, sizeof release, pml_platform_entropy,
                                               NULL, message, sizeof message, NULL);
    printf("%s, %zu bytes\n", pml_status_text(status), pml_message_size(sizeof release));
    return status == PML_OK ? 0 : 1;
}
