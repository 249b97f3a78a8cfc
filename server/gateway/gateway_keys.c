/* SPDX-License-Identifier: Apache-2.0
 * In: a file of private keys, by its owner. Out: the keys, or a message that shows nothing of them. Never leaves a
 * private key in memory that is given back. */
#define _POSIX_C_SOURCE 200809L
#include "gateway_keys.h"

#include "common/files.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FILE_MAX = 16384, READ_MAX = 1 << 20, LINE_MAX_SIZE = 128 };

static const char title[] = "# Private keys of a PrivateMail gateway, the newest first. Keep this file secret.\n";

void pml_gateway_keys_wipe(struct pml_gateway_keys *keys)
{
    OPENSSL_cleanse(keys, sizeof *keys);
}

const pml_private_key *pml_gateway_keys_find(const struct pml_gateway_keys *keys, uint8_t id)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->keys[i].key.id == id)
            return &keys->keys[i].key;
    }
    return NULL;
}

/* ---- reading ---- */

/* A private key must not make the program ask for a passphrase. */
static int no_passphrase(char *buffer, int size, int writing, void *context)
{
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static bool take_raw(const EVP_PKEY *pair, pml_private_key *key)
{
    size_t secret = sizeof key->secret, public_key = sizeof key->public_key;
    return EVP_PKEY_get_base_id(pair) == EVP_PKEY_X25519 &&
           EVP_PKEY_get_raw_private_key(pair, key->secret, &secret) == 1 && secret == sizeof key->secret &&
           EVP_PKEY_get_raw_public_key(pair, key->public_key, &public_key) == 1 && public_key == sizeof key->public_key;
}

/* "key 7 2026-11-17T08:00:00Z", which stands before each private key. */
static bool read_head(const char *line, struct pml_gateway_key *key)
{
    unsigned id;
    int end = 0;
    if (sscanf(line, "key %3u %20[0-9TZ:-]%n", &id, key->made, &end) != 2 || id > UINT8_MAX)
        return false;
    key->key.id = (uint8_t)id;
    return strlen(key->made) == PML_GATEWAY_DATE_SIZE - 1 && strcmp(line + end, "\n") == 0;
}

/* The key after the head that was read. */
static pml_outcome read_key(BIO *file, const char *name, const char *head, struct pml_gateway_keys *keys,
                            struct pml_message *message)
{
    struct pml_gateway_key *key = &keys->keys[keys->count];
    if (keys->count == PML_GATEWAY_KEYS_MAX)
        return pml_say(message, "%s has more than %u keys. Remove the oldest (privatemail keys %s --drop ID).", name,
                       PML_GATEWAY_KEYS_MAX, name);
    if (!read_head(head, key))
        return pml_say(message,
                       "%s: before each private key stands a line 'key ID DATE', and one of them is not of "
                       "this form. Make a file with privatemail keys.",
                       name);
    if (pml_gateway_keys_find(keys, key->key.id))
        return pml_say(message, "%s has two keys of id %u. Remove one of them.", name, (unsigned)key->key.id);
    EVP_PKEY *pair = PEM_read_bio_PrivateKey(file, NULL, no_passphrase, NULL);
    const bool taken = pair && take_raw(pair, &key->key);
    EVP_PKEY_free(pair);
    if (!taken)
        return pml_say(message,
                       "%s: after the line of key %u there is no X25519 private key as PEM, or it has a "
                       "passphrase. Make a file with privatemail keys.",
                       name, (unsigned)key->key.id);
    keys->count++;
    return PML_DONE;
}

pml_outcome pml_gateway_keys_parse(struct pml_gateway_keys *keys, const char *name, const void *text, size_t size,
                                   struct pml_message *message)
{
    char line[LINE_MAX_SIZE];
    BIO *file = size <= FILE_MAX ? BIO_new_mem_buf(text, (int)size) : NULL;
    pml_outcome outcome = PML_DONE;
    *keys = (struct pml_gateway_keys){0};
    if (!file)
        return size > FILE_MAX ? pml_say(message, "%s is too long for a file of keys. Check its name.", name)
                               : pml_say_memory(message);
    while (outcome == PML_DONE && BIO_gets(file, line, sizeof line) > 0) {
        if (line[0] != '#' && line[0] != '\n')
            outcome = read_key(file, name, line, keys, message);
    }
    BIO_free(file);
    if (outcome == PML_DONE && keys->count == 0)
        outcome = pml_say(message, "%s has no key. Make a file with privatemail keys.", name);
    if (outcome != PML_DONE)
        pml_gateway_keys_wipe(keys);
    return outcome;
}

pml_outcome pml_gateway_keys_read(struct pml_gateway_keys *keys, const char *path, struct pml_message *message)
{
    struct stat found;
    uint8_t *text = NULL;
    size_t size = 0;
    if (stat(path, &found) == 0 && (found.st_mode & S_IRWXO) != 0)
        return pml_say(message, "%s may be read by everybody on this machine. Use chmod o= %s to end that.", path,
                       path);
    pml_outcome outcome = pml_file_read(path, READ_MAX, &text, &size, message);
    if (outcome != PML_DONE)
        return outcome;
    outcome = pml_gateway_keys_parse(keys, path, text, size, message);
    OPENSSL_cleanse(text, size);
    free(text);
    return outcome;
}

/* ---- changing ---- */

static bool make_key(struct pml_gateway_key *key)
{
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    const bool made = pair && take_raw(pair, &key->key);
    const time_t now = time(NULL);
    struct tm parts;
    EVP_PKEY_free(pair);
    return made && gmtime_r(&now, &parts) &&
           strftime(key->made, sizeof key->made, "%Y-%m-%dT%H:%M:%SZ", &parts) == sizeof key->made - 1;
}

pml_outcome pml_gateway_keys_add(struct pml_gateway_keys *keys, struct pml_message *message)
{
    struct pml_gateway_key key = {0};
    uint8_t id = 0;
    if (keys->count == PML_GATEWAY_KEYS_MAX)
        return pml_say(message, "there are %u keys already. Remove the oldest with --drop ID.", PML_GATEWAY_KEYS_MAX);
    if ((keys->count == 0 && RAND_bytes(&id, 1) != 1) || !make_key(&key)) {
        OPENSSL_cleanse(&key, sizeof key);
        pml_say(message, "the system gives no random bytes.");
        return PML_UNAVAILABLE;
    }
    if (keys->count > 0)
        id = keys->keys[0].key.id;
    do
        id++;
    while (pml_gateway_keys_find(keys, id));
    key.key.id = id;
    memmove(&keys->keys[1], &keys->keys[0], keys->count * sizeof keys->keys[0]);
    keys->keys[0] = key;
    keys->count++;
    OPENSSL_cleanse(&key, sizeof key);
    return PML_DONE;
}

pml_outcome pml_gateway_keys_drop(struct pml_gateway_keys *keys, uint8_t id)
{
    size_t at = 0;
    while (at < keys->count && keys->keys[at].key.id != id)
        at++;
    if (at == keys->count)
        return PML_ABSENT;
    keys->count--;
    memmove(&keys->keys[at], &keys->keys[at + 1], (keys->count - at) * sizeof keys->keys[0]);
    OPENSSL_cleanse(&keys->keys[keys->count], sizeof keys->keys[0]);
    return PML_DONE;
}

/* ---- writing ---- */

static bool print_key(BIO *file, const struct pml_gateway_key *key)
{
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, key->key.secret, sizeof key->key.secret);
    const bool printed = pair && BIO_printf(file, "key %u %s\n", (unsigned)key->key.id, key->made) > 0 &&
                         PEM_write_bio_PrivateKey(file, pair, NULL, NULL, 0, NULL, NULL) == 1;
    EVP_PKEY_free(pair);
    return printed;
}

pml_outcome pml_gateway_keys_print(const struct pml_gateway_keys *keys, struct pml_bytes *text)
{
    BIO *file = BIO_new(BIO_s_secmem()); /* wiped when it is freed */
    const char *bytes = NULL;
    bool printed = file && BIO_puts(file, title) > 0;
    for (size_t i = 0; i < keys->count && printed; i++)
        printed = print_key(file, &keys->keys[i]);
    const long size = printed ? BIO_get_mem_data(file, &bytes) : 0;
    const pml_outcome outcome = size > 0 ? pml_bytes_append(text, bytes, (size_t)size) : PML_NO_MEMORY;
    BIO_free(file);
    return outcome;
}

void pml_gateway_keys_forget(struct pml_bytes *text)
{
    if (text->bytes)
        OPENSSL_cleanse(text->bytes, text->capacity);
    pml_bytes_free(text);
}

pml_outcome pml_gateway_keys_publish(const struct pml_gateway_keys *keys, struct pml_bytes *configuration)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < keys->count && outcome == PML_DONE; i++) {
        uint8_t one[PML_KEY_CONFIGURATION_SIZE];
        const pml_private_key *key = &keys->keys[i].key;
        outcome = pml_keys_write(key->id, key->public_key, one, sizeof one) == PML_OK
                      ? pml_bytes_append(configuration, one, sizeof one)
                      : PML_NO_MEMORY;
    }
    return outcome;
}
