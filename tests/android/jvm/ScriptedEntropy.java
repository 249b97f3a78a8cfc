// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

/** What the random source of the tests' library does. */
final class ScriptedEntropy {
    static {
        PrivateMail.version(); // loads the library
    }

    private ScriptedEntropy() {}

    /** Other bytes at every call. */
    static void count() {
        set(null, 0, false);
    }

    /** These 32 bytes at every call. */
    static void seed(byte[] seed) {
        set(seed, 0, false);
    }

    /** The last {@code missing} of 32 bytes do not come. */
    static void shortBy(int missing) {
        set(null, missing, false);
    }

    /** All bytes are equal. */
    static void stuck() {
        set(null, 0, true);
    }

    private static native void set(byte[] seed, int missing, boolean stuck);
}
