/* SPDX-License-Identifier: Apache-2.0 */
#include "hpke.h"

#include "core/base/base.h"

#define LABEL(text) ((pml_piece){text, sizeof(text) - 1})
#define EMPTY ((pml_piece){NULL, 0})

static const char version[] = {'H', 'P', 'K', 'E', '-', 'v', '1'};

/* The KEM and the whole suite label what is derived for them. */
static const uint8_t kem_suite[] = {'K', 'E', 'M', 0x00, HPKE_KEM_X25519};

struct suite {
    uint8_t id[10];
};

static struct suite suite_of(const pml_aead *aead)
{
    return (struct suite){{'H', 'P', 'K', 'E', 0x00, HPKE_KEM_X25519, 0x00, HPKE_KDF_SHA256, (uint8_t)(aead->id >> 8),
                           (uint8_t)aead->id}};
}

static int labeled_extract(const pml_crypto *crypto, pml_piece suite_id, pml_piece salt, pml_piece label, pml_piece ikm,
                           uint8_t out[32])
{
    const pml_piece pieces[] = {{version, sizeof version}, suite_id, label, ikm};
    return crypto->hkdf_extract(out, salt.bytes, salt.size, pieces, 4);
}

static int labeled_expand(const pml_crypto *crypto, pml_piece suite_id, const uint8_t prk[32], pml_piece label,
                          pml_piece info, uint8_t *out, size_t size)
{
    const uint8_t length[2] = {(uint8_t)(size >> 8), (uint8_t)size};
    const pml_piece pieces[] = {{length, sizeof length}, {version, sizeof version}, suite_id, label, info};
    return crypto->hkdf_expand(out, size, prk, pieces, 5);
}

/* Section 4.1, ExtractAndExpand. */
static int shared_secret(const pml_crypto *crypto, const uint8_t dh[32], const uint8_t enc[PML_KEY_SIZE],
                         const uint8_t public_key[PML_KEY_SIZE], uint8_t out[32])
{
    const pml_piece id = {kem_suite, sizeof kem_suite};
    uint8_t context[2 * PML_KEY_SIZE], prk[32];
    memcpy(context, enc, PML_KEY_SIZE);
    memcpy(context + PML_KEY_SIZE, public_key, PML_KEY_SIZE);
    int failed = labeled_extract(crypto, id, EMPTY, LABEL("eae_prk"), (pml_piece){dh, 32}, prk);
    if (!failed)
        failed = labeled_expand(crypto, id, prk, LABEL("shared_secret"), (pml_piece){context, sizeof context}, out, 32);
    pml_wipe(prk, sizeof prk);
    return failed;
}

/* Section 5.1, KeySchedule in base mode: there is no pre-shared key, so `psk` and `psk_id` are empty. */
static int key_schedule(pml_hpke *hpke, const pml_crypto *crypto, const uint8_t shared[32], pml_piece info)
{
    const struct suite suite = suite_of(hpke->aead);
    const pml_piece id = {suite.id, sizeof suite.id};
    uint8_t context[65] = {0}, secret[32]; /* mode 0, hash of psk_id, hash of info */
    const pml_piece whole = {context, sizeof context};
    const bool done =
        labeled_extract(crypto, id, EMPTY, LABEL("psk_id_hash"), EMPTY, context + 1) == 0 &&
        labeled_extract(crypto, id, EMPTY, LABEL("info_hash"), info, context + 33) == 0 &&
        labeled_extract(crypto, id, (pml_piece){shared, 32}, LABEL("secret"), EMPTY, secret) == 0 &&
        labeled_expand(crypto, id, secret, LABEL("key"), whole, hpke->key, hpke->aead->key_size) == 0 &&
        labeled_expand(crypto, id, secret, LABEL("base_nonce"), whole, hpke->nonce, sizeof hpke->nonce) == 0 &&
        labeled_expand(crypto, id, secret, LABEL("exp"), whole, hpke->exporter, sizeof hpke->exporter) == 0;
    pml_wipe(secret, sizeof secret);
    return done ? 0 : -1;
}

/* What both sides do with the result of their Diffie-Hellman, and wipe it. */
static int finish(pml_hpke *hpke, const pml_crypto *crypto, const pml_aead *aead, uint8_t dh[32], const uint8_t *enc,
                  const uint8_t *public_key, pml_piece info, bool agreed)
{
    uint8_t shared[32];
    hpke->aead = aead;
    const bool done = agreed && shared_secret(crypto, dh, enc, public_key, shared) == 0 &&
                      key_schedule(hpke, crypto, shared, info) == 0;
    pml_wipe(dh, 32);
    pml_wipe(shared, sizeof shared);
    if (!done)
        pml_wipe(hpke, sizeof *hpke);
    return done ? 0 : -1;
}

int pml_hpke_send(pml_hpke *hpke, const pml_crypto *crypto, const pml_aead *aead,
                  const uint8_t public_key[PML_KEY_SIZE], pml_piece info, const uint8_t ephemeral[PML_KEY_SIZE],
                  uint8_t enc[PML_KEY_SIZE])
{
    uint8_t dh[32];
    const bool agreed = crypto->x25519_base(enc, ephemeral) == 0 && crypto->x25519(dh, ephemeral, public_key) == 0;
    return finish(hpke, crypto, aead, dh, enc, public_key, info, agreed);
}

int pml_hpke_receive(pml_hpke *hpke, const pml_crypto *crypto, const pml_aead *aead, const pml_private_key *key,
                     pml_piece info, const uint8_t enc[PML_KEY_SIZE])
{
    uint8_t dh[32];
    const bool agreed = crypto->x25519(dh, key->secret, enc) == 0;
    return finish(hpke, crypto, aead, dh, enc, key->public_key, info, agreed);
}

int pml_hpke_export(const pml_hpke *hpke, const pml_crypto *crypto, pml_piece context, uint8_t *out, size_t size)
{
    const struct suite suite = suite_of(hpke->aead);
    return labeled_expand(crypto, (pml_piece){suite.id, sizeof suite.id}, hpke->exporter, LABEL("sec"), context, out,
                          size);
}
