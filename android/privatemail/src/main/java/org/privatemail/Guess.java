// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/** A likely label of a query, from {@link Pack#guess}. As private as the query: nothing that leaves the device tells it. */
public final class Guess {
    private final int label;
    private final long score;

    Guess(int label, long score) {
        this.label = label;
        this.score = score;
    }

    /** The label, as the head's maker numbered it. */
    public int label() {
        return label;
    }

    /** Larger is likelier; comparable only with other guesses of the same query. */
    public long score() {
        return score;
    }

    @Override
    @NonNull
    public String toString() {
        return "label " + label;
    }
}
