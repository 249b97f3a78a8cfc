/* SPDX-License-Identifier: Apache-2.0
 * Stands in for platform/entropy.c in the tests' library alone: random bytes as a test orders them. */
#include "privatemail_platform.h"

#include <jni.h>
#include <stdatomic.h>
#include <string.h>

/* Threads may draw at the same time; scripts are changed only while none does. */
static struct {
    atomic_uint calls;
    bool seeded, stuck, fails;
    uint8_t seed[32];
} script;

/* Another 32 bytes at every call: a number, spread by a few multiplications. */
static void count(uint8_t *out, size_t size)
{
    uint64_t state = atomic_fetch_add(&script.calls, 1u) + UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < size; i++) {
        state = (state ^ state >> 29) * UINT64_C(0xBF58476D1CE4E5B9) + i;
        out[i] = (uint8_t)(state >> 56);
    }
}

int pml_platform_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    if (script.stuck)
        memset(out, 0x5A, size);
    else if (script.seeded && size == sizeof script.seed)
        memcpy(out, script.seed, size);
    else
        count(out, size);
    return script.fails ? -1 : 0;
}

JNIEXPORT void JNICALL Java_org_privatemail_ScriptedEntropy_set(JNIEnv *env, jclass type, jbyteArray seed,
                                                                jboolean fails, jboolean stuck);

JNIEXPORT void JNICALL Java_org_privatemail_ScriptedEntropy_set(JNIEnv *env, jclass type, jbyteArray seed,
                                                                jboolean fails, jboolean stuck)
{
    (void)type;
    script.seeded = seed != NULL;
    if (seed)
        (*env)->GetByteArrayRegion(env, seed, 0, sizeof script.seed, (jbyte *)script.seed);
    script.fails = fails == JNI_TRUE;
    script.stuck = stuck == JNI_TRUE;
}
