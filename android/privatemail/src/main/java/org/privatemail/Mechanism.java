// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

/** How a query is made private. */
public enum Mechanism {
    /** Per slot the number of a cell, by randomized response: pure ε, for retrieval. */
    RESPONSE(1),
    /** Per slot a noisy point of the embedding: (ε, δ). */
    GAUSSIAN(2),
    /**
     * One cell of all slots together: what a message of a crowd says when the pack has several slots. A client of a
     * crowd has {@link #RESPONSE} and {@link Options#crowd}.
     */
    CROWD(3);

    final int code;

    Mechanism(int code) {
        this.code = code;
    }

    static Mechanism of(int code) {
        return values()[code - RESPONSE.code];
    }
}
