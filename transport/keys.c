/* SPDX-License-Identifier: Apache-2.0
 * Key configurations (SPEC 10.1).
 * In: a configuration that anybody may have made. Never reads beyond `size`. */
#include "capsule.h"

#include "core/base/base.h"

static unsigned load_be16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* One key of a configuration: everything between its length and the next one's. */
struct entry {
    const uint8_t *bytes; /* id, KEM, public key */
    const uint8_t *suites;
    size_t suites_size;
    bool usable; /* of our KEM */
};

#define ENTRY_PUBLIC_KEY 3u
#define ENTRY_SUITES (ENTRY_PUBLIC_KEY + PML_KEY_SIZE + 2u)

/* Takes the first entry off the configuration. Returns false when it is malformed. A key of another KEM has a length that
 * we do not know, so nothing inside it can be checked. */
static bool next_entry(const uint8_t **at, size_t *left, struct entry *entry)
{
    if (*left < 2)
        return false;
    const size_t size = load_be16(*at);
    if (size > *left - 2 || size < ENTRY_PUBLIC_KEY)
        return false;
    const uint8_t *bytes = *at + 2;
    *at += 2 + size;
    *left -= 2 + size;
    *entry = (struct entry){.bytes = bytes};
    if (load_be16(bytes + 1) != HPKE_KEM_X25519)
        return true;
    if (size < ENTRY_SUITES)
        return false;
    entry->suites = bytes + ENTRY_SUITES;
    entry->suites_size = load_be16(entry->suites - 2);
    entry->usable = true;
    return entry->suites_size == size - ENTRY_SUITES && entry->suites_size > 0 && entry->suites_size % 4 == 0;
}

static bool offers(const struct entry *entry, unsigned aead)
{
    for (size_t i = 0; i < entry->suites_size; i += 4) {
        if (load_be16(entry->suites + i) == HPKE_KDF_SHA256 && load_be16(entry->suites + i + 2) == aead)
            return true;
    }
    return false;
}

/* The table's first AEAD that the entry offers; 0 when there is none. */
static uint16_t choose_aead(const pml_crypto *crypto, const struct entry *entry)
{
    for (size_t i = 0; i < crypto->aeads; i++) {
        if (entry->usable && offers(entry, crypto->aead[i].id))
            return crypto->aead[i].id;
    }
    return 0;
}

pml_status pml_keys_choose(const pml_crypto *crypto, const void *configuration, size_t size, pml_seal_key *key)
{
    if (!key)
        return PML_ERROR_ARGUMENT;
    *key = (pml_seal_key){0};
    if (!crypto || !configuration)
        return PML_ERROR_ARGUMENT;
    const uint8_t *at = configuration;
    pml_seal_key chosen = {0};
    struct entry entry;
    while (size > 0) {
        if (!next_entry(&at, &size, &entry))
            return PML_ERROR_KEYS;
        const uint16_t aead = choose_aead(crypto, &entry);
        if (chosen.aead == 0 && aead != 0) {
            chosen.id = entry.bytes[0];
            chosen.aead = aead;
            memcpy(chosen.public_key, entry.bytes + ENTRY_PUBLIC_KEY, PML_KEY_SIZE);
        }
    }
    *key = chosen;
    return chosen.aead != 0 ? PML_OK : PML_ERROR_KEYS;
}

pml_status pml_keys_hold(const void *configuration, size_t size, const pml_seal_key *key)
{
    if (!configuration || !key)
        return PML_ERROR_ARGUMENT;
    const uint8_t *at = configuration;
    bool held = false;
    struct entry entry;
    while (size > 0) {
        if (!next_entry(&at, &size, &entry))
            return PML_ERROR_KEYS;
        held = held || (entry.usable && entry.bytes[0] == key->id && offers(&entry, key->aead) &&
                        memcmp(entry.bytes + ENTRY_PUBLIC_KEY, key->public_key, PML_KEY_SIZE) == 0);
    }
    return held ? PML_OK : PML_ERROR_KEYS;
}

/* ---- the gateway's ---- */

pml_status pml_key_complete(const pml_crypto *crypto, pml_private_key *key)
{
    if (!crypto || !key)
        return PML_ERROR_ARGUMENT;
    if (crypto->x25519_base(key->public_key, key->secret) == 0)
        return PML_OK;
    pml_wipe(key, sizeof *key);
    return PML_ERROR_KEYS;
}

pml_status pml_keys_write(uint8_t id, const uint8_t public_key[PML_KEY_SIZE], uint8_t *out, size_t capacity)
{
    static const uint8_t suites[] = {
        0x00, 0x08,
        0x00, HPKE_KDF_SHA256,
        0x00, PML_AEAD_CHACHA20_POLY1305,
        0x00, HPKE_KDF_SHA256,
        0x00, PML_AEAD_AES_128_GCM,
    };
    if (!public_key || !out)
        return PML_ERROR_ARGUMENT;
    if (capacity < PML_KEY_CONFIGURATION_SIZE) {
        memset(out, 0, capacity);
        return PML_ERROR_BUFFER;
    }
    const uint8_t head[] = {0x00, PML_KEY_CONFIGURATION_SIZE - 2, id, 0x00, HPKE_KEM_X25519};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, public_key, PML_KEY_SIZE);
    memcpy(out + sizeof head + PML_KEY_SIZE, suites, sizeof suites);
    return PML_OK;
}
