/* SPDX-License-Identifier: Apache-2.0
 * An entropy callback for one chip, to write your own after. Fails rather than guess: then arm returns
 * PML_ERROR_ENTROPY, nothing is charged and nothing can be released.
 *
 * WARNING. All privacy rests on these 32 bytes: whoever can guess them subtracts the noise. A product needs
 *   - a hardware generator whose maker documents its entropy, with its bias correction switched on;
 *   - health tests at start and on every byte (NIST SP 800-90B, 4.4: repetition count, adaptive proportion);
 *   - a limit to the waiting, and a failure when it is reached.
 * Never a clock, a serial number, rand(), noise of an unconnected pin, or a seed that came with the firmware: every
 * device of the series, or the same one after each reset, would then draw the same noise.
 *
 * This file has the first and the third, and of the health tests the repetition count. */
#include "board.h"

#include <stdbool.h>

#if !defined(PRIVATEMAIL_ENTROPY_NRF51)
#error "No entropy source: on an nRF51 define PRIVATEMAIL_ENTROPY_NRF51, elsewhere write your own board_entropy"
#endif

/* nRF51 Series Reference Manual, chapter RNG. */
#define RNG_REGISTER(offset) (*(volatile uint32_t *)(0x4000D000u + (offset)))
#define RNG_START RNG_REGISTER(0x000)
#define RNG_STOP RNG_REGISTER(0x004)
#define RNG_READY RNG_REGISTER(0x100)
#define RNG_CONFIG RNG_REGISTER(0x504)
#define RNG_VALUE RNG_REGISTER(0x508)

enum {
    CORRECT_BIAS = 1,
    /* A corrected byte takes 0.7 ms typically, at 16 MHz less than 2000 rounds of waiting; there is no maximum. */
    WAIT_ROUNDS = 1000000,
    /* SP 800-90B 4.4.1 for 4 bits of entropy per byte, much less than the chip has: a sound generator is stopped by
     * mistake with a chance of 2^-20 at most. */
    REPEATS_MAX = 5
};

static bool next_byte(uint8_t *out)
{
    for (uint32_t round = 0; round < WAIT_ROUNDS; round++)
        if (RNG_READY) {
            RNG_READY = 0;
            *out = (uint8_t)RNG_VALUE;
            return true;
        }
    return false;
}

static int read_bytes(uint8_t *out, size_t size)
{
    unsigned repeats = 1;
    for (size_t i = 0; i < size; i++) {
        if (!next_byte(out + i))
            return -1;
        repeats = i > 0 && out[i] == out[i - 1] ? repeats + 1 : 1;
        if (repeats > REPEATS_MAX)
            return -1;
    }
    return 0;
}

int board_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    RNG_CONFIG = CORRECT_BIAS;
    RNG_READY = 0;
    RNG_START = 1;
    int failed = read_bytes(out, size);
    RNG_STOP = 1;
    return failed;
}
