/* SPDX-License-Identifier: Apache-2.0
 * What the tests of transport/ share: hexadecimal, scripted entropy, one gateway with its key, a sink. */
#ifndef TRANSPORT_SUPPORT_H
#define TRANSPORT_SUPPORT_H

#include "privatemail_transport.h"
#include "unity.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

static inline size_t unhex(const char *text, uint8_t *out)
{
    size_t size = strlen(text) / 2;
    for (size_t i = 0; i < size; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

#define ASSERT_HEX(text, bytes)                                                                                        \
    do {                                                                                                               \
        uint8_t expected_[256];                                                                                        \
        const size_t size_ = unhex(text, expected_);                                                                   \
        TEST_ASSERT_EQUAL_HEX8_ARRAY(expected_, bytes, size_);                                                         \
    } while (0)

static inline bool all_zero(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        if (at[i] != 0)
            return false;
    }
    return true;
}

/* ---- entropy that hands out given bytes, and fails when there are no more ---- */

struct script {
    const uint8_t *bytes;
    size_t left;
};

static inline int scripted(void *context, uint8_t *out, size_t size)
{
    struct script *script = context;
    if (size > script->left)
        return -1;
    memcpy(out, script->bytes, size);
    script->bytes += size;
    script->left -= size;
    return 0;
}

static inline int failing(void *context, uint8_t *out, size_t size)
{
    (void)context;
    memset(out, 0xA5, size);
    return -1;
}

static inline int stuck(void *context, uint8_t *out, size_t size)
{
    (void)context;
    memset(out, 0xA5, size);
    return 0;
}

/* Different at each call, the same in each run. */
static inline int counting(void *context, uint8_t *out, size_t size)
{
    uint8_t *count = context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(*count * 31 + i * 7 + 1);
    ++*count;
    return 0;
}

/* ---- a gateway ---- */

#define EPOCH 0x0123456789abcdefu
#define RELEASE_SIZE 27u

struct scene {
    const pml_crypto *crypto;
    pml_private_key private_key;
    pml_seal_key key;
    uint8_t pack_id[PML_ID_SIZE], release[RELEASE_SIZE], count;
};

static inline void set_scene(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->crypto = pml_crypto_bearssl();
    scene->private_key.id = 7;
    (void)counting(&scene->count, scene->private_key.secret, sizeof scene->private_key.secret);
    (void)counting(&scene->count, scene->pack_id, sizeof scene->pack_id);
    (void)counting(&scene->count, scene->release, sizeof scene->release);
    TEST_ASSERT_EQUAL(PML_OK, pml_key_complete(scene->crypto, &scene->private_key));
    uint8_t configuration[PML_KEY_CONFIGURATION_SIZE];
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_write(7, scene->private_key.public_key, configuration, sizeof configuration));
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_choose(scene->crypto, configuration, sizeof configuration, &scene->key));
}

static inline void seal_message(struct scene *scene, uint8_t *message, size_t size, pml_opener *opener)
{
    TEST_ASSERT_EQUAL(PML_OK, pml_message_seal(scene->crypto, &scene->key, EPOCH, scene->pack_id, scene->release,
                                               RELEASE_SIZE, counting, &scene->count, message, size, opener));
}

/* ---- a sink ---- */

struct taken {
    uint8_t *bytes;
    size_t size, capacity, calls;
    pml_status status; /* what the sink returns */
};

static inline pml_status take_content(void *context, const uint8_t *bytes, size_t size)
{
    struct taken *taken = context;
    TEST_ASSERT_TRUE(size > 0 && size <= taken->capacity - taken->size);
    memcpy(taken->bytes + taken->size, bytes, size);
    taken->size += size;
    taken->calls++;
    return taken->status;
}

#endif
