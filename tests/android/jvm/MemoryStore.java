// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;

/** A store whose saves fail or do something else when a test says so. */
final class MemoryStore implements BudgetStore {
    interface Visitor {
        void visit() throws IOException;
    }

    /** What happens before a save; the bytes are stored when it throws nothing. */
    Visitor before = () -> {};
    /** What happens after it. */
    Visitor after = () -> {};
    byte[] bytes;

    @Override
    public byte[] load() {
        return bytes == null ? null : bytes.clone();
    }

    @Override
    public void save(byte[] changed) throws IOException {
        before.visit();
        bytes = changed;
        after.visit();
    }
}
