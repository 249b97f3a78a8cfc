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
        set(null, false, false);
    }

    /** These 32 bytes at every call. */
    static void seed(byte[] seed) {
        set(seed, false, false);
    }

    /** The source says that it failed. */
    static void fail() {
        set(null, true, false);
    }

    /** All bytes are equal. */
    static void stuck() {
        set(null, false, true);
    }

    private static native void set(byte[] seed, boolean fails, boolean stuck);
}
