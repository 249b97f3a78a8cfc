// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android;

public final class R {
    private R() {}

    public static final class layout {
        public static final int simple_list_item_1 = 0x01090003;

        private layout() {}
    }
}
