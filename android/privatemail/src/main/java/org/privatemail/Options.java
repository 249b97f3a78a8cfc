// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Objects;

/**
 * What a client promises. An immutable value: {@link #response} or {@link #gaussian}, then what differs from the
 * defaults.
 *
 * <pre>{@code Options.gaussian(1.0, 1e-5).valueBytes(2).substitute(true)}</pre>
 *
 * Ranges are checked when a {@link Client} is made.
 */
public final class Options {
    /** Bytes of an answer that a client accepts unless told otherwise: 16 MiB. */
    public static final int DEFAULT_ANSWER_LIMIT = 16 << 20;

    private final Mechanism mechanism;
    private final double epsilon;
    private final double delta;
    private final int valueBytes;
    private final boolean substitute;
    private final int answerLimit;

    private Options(Mechanism mechanism, double epsilon, double delta, int valueBytes, boolean substitute,
                    int answerLimit) {
        this.mechanism = mechanism;
        this.epsilon = epsilon;
        this.delta = delta;
        this.valueBytes = valueBytes;
        this.substitute = substitute;
        this.answerLimit = answerLimit;
    }

    /** Pure ε for every release, 2^-20 to 16. Take this unless you need the embedding. */
    @NonNull
    public static Options response(double epsilon) {
        return new Options(Mechanism.RESPONSE, epsilon, 0.0, 0, false, DEFAULT_ANSWER_LIMIT);
    }

    /** (ε, δ) for every release: ε 2^-20 to 16, δ 2^-50 to below 1. */
    @NonNull
    public static Options gaussian(double epsilon, double delta) {
        return new Options(Mechanism.GAUSSIAN, epsilon, delta, 1, false, DEFAULT_ANSWER_LIMIT);
    }

    /** Gaussian: bytes of a released coordinate, 1 (the default) or 2. Response has none: 0. */
    @NonNull
    public Options valueBytes(int valueBytes) {
        return new Options(mechanism, epsilon, delta, valueBytes, substitute, answerLimit);
    }

    /**
     * false (the default): bad features and unknown labels are errors, and then the <em>absence</em> of a message tells
     * that the input was bad. true: they are replaced by a public default and the release is sent all the same.
     */
    @NonNull
    public Options substitute(boolean substitute) {
        return new Options(mechanism, epsilon, delta, valueBytes, substitute, answerLimit);
    }

    /** Longest answer that {@link Client#answer} accepts, in bytes; it keeps that much on the heap while it reads. */
    @NonNull
    public Options answerLimit(int bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("the limit of an answer is at least 1 byte, not " + bytes);
        }
        return new Options(mechanism, epsilon, delta, valueBytes, substitute, bytes);
    }

    @NonNull
    public Mechanism mechanism() {
        return mechanism;
    }

    /** ε of one release. */
    public double epsilon() {
        return epsilon;
    }

    /** δ of one release; 0 for response. */
    public double delta() {
        return delta;
    }

    public int valueBytes() {
        return valueBytes;
    }

    public boolean substitute() {
        return substitute;
    }

    public int answerLimit() {
        return answerLimit;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        if (!(other instanceof Options)) {
            return false;
        }
        Options that = (Options) other;
        return mechanism == that.mechanism && Double.compare(epsilon, that.epsilon) == 0
                && Double.compare(delta, that.delta) == 0 && valueBytes == that.valueBytes
                && substitute == that.substitute && answerLimit == that.answerLimit;
    }

    @Override
    public int hashCode() {
        return Objects.hash(mechanism, epsilon, delta, valueBytes, substitute, answerLimit);
    }

    @Override
    @NonNull
    public String toString() {
        return mechanism + " epsilon=" + epsilon + " delta=" + delta + " valueBytes=" + valueBytes + " substitute="
                + substitute + " answerLimit=" + answerLimit;
    }
}
