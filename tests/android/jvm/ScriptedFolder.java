// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.charset.StandardCharsets;

/** What the tests' library sees when it flushes a folder. */
final class ScriptedFolder {
    static {
        PrivateMail.version(); // loads the library
    }

    private ScriptedFolder() {}

    /** Looks for a file of this name from now on. */
    static void watch(String name) {
        watch(name.getBytes(StandardCharsets.UTF_8), false);
    }

    /** The disk fails whenever a folder is flushed. */
    static void fail() {
        watch(new byte[0], true);
    }

    private static native void watch(byte[] name, boolean fails);

    /** Bytes that the file had when its folder was last flushed; -1 when it was not there, or nothing was flushed. */
    static native long flushed();
}
