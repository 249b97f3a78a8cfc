/* SPDX-License-Identifier: Apache-2.0
 * A client, its query and room for a message, for tests that run once for each mechanism. One file per program includes
 * it. */
#ifndef TEST_EACH_MECHANISM_H
#define TEST_EACH_MECHANISM_H

#include "support.h"

static int mechanism; /* every test runs for each */
static struct fixture f;
static float features[64];
static uint8_t out[512];

/* `untouched`: what is in the room for a message. */
static inline void begin_client(uint8_t untouched)
{
    setup_fixture(&f, PACK_CLASS, mechanism, 1.0);
    setup_client(&f);
    make_features(&f.pack, 1, features);
    memset(out, untouched, sizeof out);
}

#endif
