// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.ByteBuffer;

/**
 * One differentially private message. Immutable, and public: it may be sent, resent and stored. Keep the bytes of a
 * photo and reuse them; a second release about it would cost again.
 */
public final class Release {
    private final Pack pack;
    private final Receipt receipt;
    private final byte[] bytes;

    Release(Pack pack, Receipt receipt, byte[] bytes) {
        this.pack = pack;
        this.receipt = receipt;
        this.bytes = bytes;
    }

    /** What to send; a copy. */
    @NonNull
    public byte[] bytes() {
        return bytes.clone();
    }

    /** What to send; read-only, without a copy. */
    @NonNull
    public ByteBuffer buffer() {
        return ByteBuffer.wrap(bytes).asReadOnlyBuffer();
    }

    /** What it cost. */
    @NonNull
    public Receipt receipt() {
        return receipt;
    }

    /**
     * The embedding rows that the server sees, {@code float[slots][dimensions]}, or null when the pack has no codes for
     * this mechanism.
     */
    @Nullable
    public float[][] rows() {
        return pack.rows(bytes);
    }
}
