/* SPDX-License-Identifier: Apache-2.0
 * The rare paths of the Gaussian sampler that no sample reaches: ties of many digits, and far tails. Words are put into
 * the generator's block; what follows them is its key stream. */
#include "base/chacha20.h"
#include "base/random.h"
#include "draws.h"
#include "stages/stages.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_GAUSSIAN

#define KEYS 8u

/* The last `count` words of a block, then the key stream from its beginning. */
static pml_random scripted(const uint8_t key[32], const uint32_t *words, uint32_t count)
{
    pml_random random;
    pml_random_start(&random, key);
    random.used = 16 - count;
    memcpy(random.block + random.used, words, count * sizeof *words);
    return random;
}

struct outcome {
    int32_t value;
    uint32_t counter, used; /* what was consumed */
};

static struct outcome draw_from(pml_random random)
{
    struct outcome o;
    pml_gaussian_draw(&random, 16, &o.value, 1);
    o.counter = random.counter;
    o.used = random.used;
    return o;
}

static bool same(struct outcome a, struct outcome b)
{
    return a.value == b.value && a.counter == b.counter && a.used == b.used;
}

/* half(): u and v agree in seven digits, the eighth decides. The same must follow as when the first one does. */
static void check_tie(const uint8_t key[32], uint32_t last_of_v, uint32_t last_of_u)
{
    const uint32_t first[2] = {2, last_of_v < last_of_u ? 1 : 3}; /* u, v */
    uint32_t words[16];
    for (size_t i = 0; i < 14; i++)
        words[i] = first[1];
    words[14] = last_of_v;
    words[15] = last_of_u;
    TEST_ASSERT_TRUE(same(draw_from(scripted(key, first, 2)), draw_from(scripted(key, words, 16))));
}

static void test_a_tie_of_seven_digits_is_decided_by_the_eighth(void)
{
    for (uint8_t n = 0; n < KEYS; n++) {
        const uint8_t key[32] = {n, 1};
        check_tie(key, 5, 6);
        check_tie(key, 6, 5);
    }
}

/* A key whose stream begins with `count` words that make half() true at once, and one that does not. */
static void find_key(uint8_t key[32], uint64_t *state, size_t count)
{
    static const uint8_t nonce[12] = {0};
    uint32_t block[16];
    size_t high;
    do {
        store_le64(key, draw64(state));
        pml_chacha20_block(key, 0, nonce, block);
        for (high = 0; high < 16 && block[high] >= 0x80000000u; high++)
            ;
    } while (high != count);
}

/* SPEC 5.12 without its ties: true when the number of links of ½ > u > v > … is even */
static bool half_of(pml_random *random)
{
    uint32_t u = pml_random_word(random), v;
    if (u >= 0x80000000u)
        return true;
    for (bool even = false;; even = !even, u = v) {
        v = pml_random_word(random);
        if (v >= u)
            return even;
    }
}

/* k halves in a row make the whole part k, and k·(k−1) more must hold. They do not, and what follows is a deviate that
 * starts after the first of them that failed. Were k given up at once, the deviate would start before them. */
static void check_whole_part(uint32_t k, uint64_t *state)
{
    uint8_t key[32] = {0};
    uint32_t halves[16], script = k < 16 ? k : 16, whole = 0, more = 0;
    memset(halves, 0xFF, sizeof halves);
    find_key(key, state, k - script);
    pml_random random = scripted(key, halves, script), after = random;
    while (half_of(&after))
        whole++;
    while (half_of(&after))
        more++;
    if (whole == k && more < k * (k - 1)) { /* else the word after the halves was one after all */
        TEST_ASSERT_TRUE(same(draw_from(after), draw_from(random)));
    }
}

static void test_no_whole_part_below_32_is_given_up(void)
{
    uint64_t state = 1;
    for (uint32_t k = 2; k < 32; k++)
        for (size_t n = 0; n < rounds(KEYS); n++)
            check_whole_part(k, &state);
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_a_tie_of_seven_digits_is_decided_by_the_eighth);
    RUN_TEST(test_no_whole_part_below_32_is_given_up);
#endif
    return UNITY_END();
}
