/* SPDX-License-Identifier: Apache-2.0
 * Nothing secret stays behind: after sealing and opening, whatever the outcome, the stack that the calls used is searched
 * for the ephemeral key, the keys that follow from it, and the release. The calls run on a stack of their own. */
#if defined(__linux__)
#define _GNU_SOURCE
#include <ucontext.h>
#endif

#include "privacy/draws.h"
#include "support/support.h"
#include "transport/capsule.h"

/* Not transport_support.h: support.h has its own scripts and scenes. */
enum { STACK_SIZE = 65536, PATTERN = 0xA5, WINDOW = 8, RELEASE = 27, MESSAGE = RELEASE + 104, SECRETS = 8 };

void setUp(void)
{
}

void tearDown(void)
{
}

#if defined(__linux__) && !SANITISED

static _Alignas(16) uint8_t stack[STACK_SIZE];
static ucontext_t here, there;
static void (*calls)(void);

static void enter(void)
{
    calls();
}

static void run(void (*function)(void))
{
    calls = function;
    memset(stack, PATTERN, sizeof stack);
    TEST_ASSERT_EQUAL(0, getcontext(&there));
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, enter, 0);
    TEST_ASSERT_EQUAL(0, swapcontext(&here, &there));
}

/* ---- what the calls work on ---- */

static const pml_crypto *crypto;
static pml_private_key gateway;
static pml_seal_key key;
static uint8_t pack_id[PML_ID_SIZE], release[RELEASE], ephemeral[32], message[MESSAGE], copy[MESSAGE];
static uint8_t answer[1024], buffer[PML_OPEN_BUFFER], damaged;
static pml_opener opener, gateway_opener;
static pml_opened opened;
static pml_open stream;
static pml_status status;
static unsigned inside;

static int draw(void *context, uint8_t *out, size_t size)
{
    (void)context;
    memcpy(out, ephemeral, size);
    return 0;
}

static void set(unsigned seed, void *to, size_t size)
{
    uint8_t *bytes = to;
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24);
    }
}

static void prepare(void)
{
    crypto = pml_crypto_bearssl();
    set(1, gateway.secret, sizeof gateway.secret);
    set(2, pack_id, sizeof pack_id);
    set(3, release, sizeof release);
    set(4, ephemeral, sizeof ephemeral);
    TEST_ASSERT_EQUAL(PML_OK, pml_key_complete(crypto, &gateway));
    key = (pml_seal_key){.aead = PML_AEAD_CHACHA20_POLY1305};
    memcpy(key.public_key, gateway.public_key, PML_KEY_SIZE);
}

/* ---- what must not be found ---- */

static struct {
    const char *name;
    uint8_t bytes[64];
    size_t size;
} secrets[SECRETS];

static size_t known;

static void add(const char *name, const void *bytes, size_t size)
{
    secrets[known].name = name;
    memcpy(secrets[known].bytes, bytes, size);
    secrets[known++].size = size;
}

static void learn(void)
{
    const pml_aead *aead = pml_aead_find(crypto, PML_AEAD_CHACHA20_POLY1305);
    const pml_binding binding = pml_binding_epoch(9, pack_id);
    uint8_t header[CAPSULE_HEADER], info[CAPSULE_INFO_MAX], enc[32], dh[32], secret[32], answer_key[32], nonce[12];
    pml_hpke hpke;
    known = 0;
    pml_capsule_header(header, 0, PML_AEAD_CHACHA20_POLY1305);
    TEST_ASSERT_EQUAL(0, pml_hpke_send(&hpke, crypto, aead, key.public_key,
                                       pml_capsule_info(binding.request, header, info), ephemeral, enc));
    TEST_ASSERT_EQUAL(0, crypto->x25519(dh, ephemeral, key.public_key));
    TEST_ASSERT_EQUAL(0, pml_hpke_export(&hpke, crypto, binding.response, secret, sizeof secret));
    memcpy(gateway_opener.secret, secret, sizeof secret);
    memcpy(gateway_opener.enc, enc, sizeof enc);
    gateway_opener.aead = PML_AEAD_CHACHA20_POLY1305;
    TEST_ASSERT_EQUAL(0, pml_response_keys(crypto, aead, &gateway_opener, ephemeral, answer_key, nonce));
    add("release", release, sizeof release);
    add("shared point", dh, sizeof dh);
    add("key", hpke.key, sizeof hpke.key);
    add("nonce", hpke.nonce, sizeof hpke.nonce);
    add("exporter", hpke.exporter, sizeof hpke.exporter);
    add("response secret", secret, sizeof secret);
    add("key of the answer", answer_key, sizeof answer_key);
    add("ephemeral key", ephemeral, sizeof ephemeral);
}

/* How many of the first `count` secrets the stack has. */
static unsigned search(const char *scenario, size_t count)
{
    unsigned found = 0;
    for (size_t s = 0; s < count; s++) {
        bool seen = false;
        for (size_t at = 0; at + WINDOW <= sizeof stack; at++) {
            for (size_t i = 0; i + WINDOW <= secrets[s].size; i++)
                seen = seen || memcmp(stack + at, secrets[s].bytes + i, WINDOW) == 0;
        }
        if (seen)
            printf("    %s: %s\n", scenario, secrets[s].name);
        found += seen;
    }
    return found;
}

/* ---- the calls ---- */

static void seal(void)
{
    status = pml_message_seal(crypto, &key, 9, pack_id, release, sizeof release, draw, NULL, message, sizeof message,
                              &opener);
}

static void open_message(void)
{
    memcpy(copy, message, sizeof copy);
    copy[MESSAGE - 1] ^= damaged;
    status = pml_message_open(crypto, &gateway, 9, pack_id, copy, sizeof copy, &opened);
}

static void seal_answer(void)
{
    status =
        pml_answer_seal(crypto, &gateway_opener, 200, release, sizeof release, 512, draw, NULL, answer, sizeof answer);
}

static pml_status drop(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return PML_OK;
}

static void open_answer(void)
{
    answer[300] ^= damaged;
    status = pml_open_begin(&stream, crypto, &gateway_opener, buffer, sizeof buffer, pml_answer_size(512));
    if (status == PML_OK)
        status = pml_open_feed(&stream, answer, (size_t)pml_answer_size(512), drop, NULL);
    if (status == PML_OK)
        status = pml_open_end(&stream, &inside);
}

static void look(const void *bytes)
{
    (void)bytes;
}

static void (*volatile opaque)(const void *) = look;

static void leave_on_stack(void)
{
    uint8_t left[2048]; /* so deep that leaving the function does not overwrite its beginning */
    memset(left, 0, sizeof left);
    memcpy(left, ephemeral, sizeof ephemeral);
    opaque(left);
    status = PML_OK;
}

static void check(const char *name, void (*function)(void), uint8_t damage, pml_status expected, size_t count)
{
    damaged = damage;
    run(function);
    TEST_ASSERT_EQUAL_MESSAGE(expected, status, name);
    TEST_ASSERT_EQUAL_MESSAGE(0, search(name, count), name);
}

static void test_no_secret_is_left_on_the_stack(void)
{
    prepare();
    learn();
    check("seal", seal, 0, PML_OK, SECRETS);
    check("open a message", open_message, 0, PML_OK, SECRETS);
    check("open a damaged message", open_message, 1, PML_ERROR_SEALED, SECRETS);
    check("seal an answer", seal_answer, 0, PML_OK, SECRETS - 1); /* there the random bytes are a public nonce */
    check("open an answer", open_answer, 0, PML_OK, SECRETS - 1);
    check("open a damaged answer", open_answer, 1, PML_ERROR_SEALED, SECRETS - 1);
    TEST_ASSERT_TRUE(is_zero((const uint8_t *)&stream, sizeof stream));
    TEST_ASSERT_TRUE(is_zero(buffer, sizeof buffer));
}

/* The search finds what is there. */
static void test_a_planted_secret_is_found(void)
{
    prepare();
    learn();
    run(leave_on_stack);
    TEST_ASSERT_EQUAL(1, search("planted, as it must be", SECRETS));
}

#else

static void test_no_secret_is_left_on_the_stack(void)
{
    TEST_IGNORE_MESSAGE("needs a stack of its own");
}

static void test_a_planted_secret_is_found(void)
{
    TEST_IGNORE_MESSAGE("needs a stack of its own");
}

#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_no_secret_is_left_on_the_stack);
    RUN_TEST(test_a_planted_secret_is_found);
    return UNITY_END();
}
