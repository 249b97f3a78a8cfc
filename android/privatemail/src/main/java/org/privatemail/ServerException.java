// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.io.IOException;

/**
 * A server that was reached and did not do what it was asked for. {@link #code()} says how: it refused (4xx) or
 * redirected (3xx) at once, or at every attempt it was at fault (5xx) or sent no sound answer (200). Messages stay
 * stored, so asking again later is free.
 */
public final class ServerException extends IOException {
    private static final long serialVersionUID = 1;

    private final int code;
    private final long retryAfter;
    private final String name;
    private final boolean afterOthers;

    /** {@code retryAfter}: milliseconds that the server wants to be left alone; 0 when it does not say. */
    ServerException(int code, @NonNull String message, long retryAfter) {
        this(code, message, retryAfter, "");
    }

    ServerException(int code, String message, long retryAfter, String name) {
        this(code, message, retryAfter, name, false);
    }

    private ServerException(int code, String message, long retryAfter, String name, boolean afterOthers) {
        super(message);
        this.code = code;
        this.retryAfter = retryAfter;
        this.name = name;
        this.afterOthers = afterOthers;
    }

    /** The status of HTTP, such as 503. A 409 means that the server does not serve the pinned pack: ask later. */
    public int code() {
        return code;
    }

    long retryAfter() {
        return retryAfter;
    }

    /** What the server calls the error, such as {@code epoch}; empty when it does not say. */
    String name() {
        return name;
    }

    /** The same, after attempts that may have reached the server. */
    ServerException afterOthers() {
        return new ServerException(code, getMessage(), retryAfter, name, true);
    }

    /** Whether the server refused, and was not asked before, so that it has taken nothing. */
    boolean tookNothing() {
        return code >= 400 && code < 500 && !afterOthers;
    }

    /** Whether the same request may fare better a little later. */
    boolean passes() {
        return code >= 500 || code == 200;
    }
}
