// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/** A candidate of an answer that is near to the true query. Private: which ones were found tells about the query. */
public final class Match {
    private final long item;
    private final int label;
    private final int slot;
    private final double score;
    private final byte[] payload;

    Match(long item, int label, int slot, double score, byte[] payload) {
        this.item = item;
        this.label = label;
        this.slot = slot;
        this.score = score;
        this.payload = payload;
    }

    /** The server's number of the item; unsigned. */
    public long item() {
        return item;
    }

    /** The item's class. */
    public int label() {
        return label;
    }

    /** The slot it came in. */
    public int slot() {
        return slot;
    }

    /** Cosine of the sketches, -1 to 1. */
    public double score() {
        return score;
    }

    /** What the server sent with the item; a copy. */
    @NonNull
    public byte[] payload() {
        return payload.clone();
    }
}
