// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Objects;

/**
 * What a client promises. An immutable value: {@link #response}, {@link #crowd} or {@link #gaussian}, then what differs
 * from the defaults.
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
    private final Crowd crowd;

    private Options(Mechanism mechanism, double epsilon, double delta, int valueBytes, boolean substitute,
                    int answerLimit, Crowd crowd) {
        this.mechanism = mechanism;
        this.epsilon = epsilon;
        this.delta = delta;
        this.valueBytes = valueBytes;
        this.substitute = substitute;
        this.answerLimit = answerLimit;
        this.crowd = crowd;
    }

    /** Pure ε for every release, 2^-20 to 16. Take this unless you need the embedding. */
    @NonNull
    public static Options response(double epsilon) {
        return new Options(Mechanism.RESPONSE, epsilon, 0.0, 0, false, DEFAULT_ANSWER_LIMIT, null);
    }

    /**
     * Asks in a crowd: {@link Client#armBundle} and bundles, not {@link Client#arm} and releases. The promise of the
     * policy holds if the relay mixes and does not join the server, and at least {@link Crowd#clients} clients are
     * honest; the floor holds in any case.
     *
     * @param floor ε₀ of a photo whose cell is drawn, 2^-16 to 16
     */
    @NonNull
    public static Options crowd(double floor, @NonNull Crowd crowd) {
        return new Options(Mechanism.RESPONSE, floor, 0.0, 0, false, DEFAULT_ANSWER_LIMIT,
                Objects.requireNonNull(crowd, "crowd"));
    }

    /** (ε, δ) for every release: ε 2^-20 to 16, δ 2^-50 to below 1. */
    @NonNull
    public static Options gaussian(double epsilon, double delta) {
        return new Options(Mechanism.GAUSSIAN, epsilon, delta, 1, false, DEFAULT_ANSWER_LIMIT, null);
    }

    /** Gaussian: bytes of a released coordinate, 1 (the default) or 2. Response has none: 0. */
    @NonNull
    public Options valueBytes(int valueBytes) {
        return new Options(mechanism, epsilon, delta, valueBytes, substitute, answerLimit, crowd);
    }

    /**
     * false (the default): bad features and unknown labels are errors, and then the <em>absence</em> of a message tells
     * that the input was bad. true: they are replaced by a public default and the release is sent all the same.
     */
    @NonNull
    public Options substitute(boolean substitute) {
        return new Options(mechanism, epsilon, delta, valueBytes, substitute, answerLimit, crowd);
    }

    /** Longest answer that {@link Client#answer} accepts, in bytes; it keeps that much on the heap while it reads. */
    @NonNull
    public Options answerLimit(int bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("the limit of an answer is at least 1 byte, not " + bytes);
        }
        return new Options(mechanism, epsilon, delta, valueBytes, substitute, bytes, crowd);
    }

    @NonNull
    public Mechanism mechanism() {
        return mechanism;
    }

    /** ε of one release; in a crowd the floor. */
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

    /** The policy of the crowd, or null without one. */
    @Nullable
    public Crowd crowd() {
        return crowd;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        if (!(other instanceof Options)) {
            return false;
        }
        Options that = (Options) other;
        return mechanism == that.mechanism && Double.compare(epsilon, that.epsilon) == 0
                && Double.compare(delta, that.delta) == 0 && valueBytes == that.valueBytes
                && substitute == that.substitute && answerLimit == that.answerLimit
                && Objects.equals(crowd, that.crowd);
    }

    @Override
    public int hashCode() {
        return Objects.hash(mechanism, epsilon, delta, valueBytes, substitute, answerLimit, crowd);
    }

    @Override
    @NonNull
    public String toString() {
        return mechanism + " epsilon=" + epsilon + " delta=" + delta + " valueBytes=" + valueBytes + " substitute="
                + substitute + " answerLimit=" + answerLimit + (crowd == null ? "" : " crowd=" + crowd);
    }
}
