// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/**
 * A call that the library refused; {@link #status()} says why. Never holds anything of a query.
 *
 * <p>Unchecked: most statuses are mistakes in the app or a damaged file, which no caller can repair on the spot. Those
 * that an app lives with are {@link Status#SPENT}, {@link Status#PERSIST} and {@link Status#ANSWER}.
 */
public final class PrivateMailException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Status status;

    PrivateMailException(Status status) {
        this(status, null, null);
    }

    /** {@code detail} and {@code cause} may be null. */
    PrivateMailException(Status status, String detail, Throwable cause) {
        super(status + ": " + status.text() + (detail == null ? "" : " (" + detail + ")"), cause);
        this.status = status;
    }

    static void check(int code) {
        if (code != 0) {
            throw new PrivateMailException(Status.of(code));
        }
    }

    /** Why; never {@link Status#OK}. */
    @NonNull
    public Status status() {
        return status;
    }
}
