/* SPDX-License-Identifier: Apache-2.0
 * Key configurations of arbitrary bytes: every length up to 7, then one entry that a usable key fits in, alone and
 * with a second one behind it, whose lengths are told and whose other bytes are arbitrary.
 * eva: quick
 * eva: sources transport/keys.c transport/capsule.c transport/hpke.c base/wipe.c
 * eva: options -eva-slevel 2000 -eva-auto-loop-unroll 20 -eva-interprocedural-splits
 * eva: options -eva-split-return-function next_entry:full */
#include "primitives.h"

enum { MOST = 52 };
static uint8_t bytes[MOST], out[PML_KEY_CONFIGURATION_SIZE];

/* `first` and `second` are lengths of entries, or 0 when they are arbitrary. */
static void choose(size_t size, uint8_t first, uint8_t second)
{
    pml_seal_key key;
    uint8_t *configuration = bytes + MOST - size; /* ends where the object ends */
    ANY(bytes);
    if (first > 0)
        configuration[0] = 0, configuration[1] = first;
    if (second > 0)
        configuration[2 + first] = 0, configuration[3 + first] = second;
    (void)pml_keys_choose(&crypto, configuration, size, &key);
    ANY(key);
    (void)pml_keys_hold(configuration, size, &key);
}

static void run(void)
{
    pml_private_key private_key;
    pml_seal_key key;
    //@ loop unroll 7;
    for (size_t size = 1; size <= 7; size++)
        choose(size, 0, 0);
    choose(39, 37, 0);
    choose(43, 41, 0);
    choose(42, 41, 0);
    choose(52, 41, 7);
    choose(52, 7, 41);
    (void)pml_keys_choose(MAYBE(&crypto), MAYBE(bytes), 1, MAYBE(&key));
    (void)pml_keys_hold(MAYBE(bytes), 1, MAYBE(&key));
    ANY(private_key);
    (void)pml_keys_write((uint8_t)any_u32(), MAYBE(private_key.public_key), MAYBE(out), any_size(sizeof out));
    (void)pml_key_complete(MAYBE(&crypto), MAYBE(&private_key));
}

int main(void)
{
    run();
    return 0;
}
