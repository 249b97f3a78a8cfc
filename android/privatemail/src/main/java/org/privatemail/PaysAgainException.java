// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/**
 * A message of this photo was made and paid for before, but with a pack that the server, or this device, does not have
 * any more. A new message costs the price of the receipt <em>again</em>, and tells about the same photo again. Nothing
 * was paid: ask the person and search with {@code payAgain}, or leave it.
 */
public final class PaysAgainException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Receipt receipt;

    PaysAgainException(@NonNull Receipt receipt) {
        super("the pack was replaced: a search for this photo costs again");
        this.receipt = receipt;
    }

    /** What a new message costs. */
    @NonNull
    public Receipt receipt() {
        return receipt;
    }
}
