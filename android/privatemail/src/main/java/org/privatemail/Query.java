// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Objects;

/**
 * What is sought: features, their class, and the modality that they are of.
 *
 * <pre>{@code search.search(name, Query.of(features, 0).modality("text")); }</pre>
 *
 * Features are as many finite numbers as the modality has ({@link Modality#features}), not all zero, of any scale. They
 * are not copied: they are read when the query is used, and are yours to wipe. An immutable value otherwise.
 */
public final class Query {
    private final float[] array; // this one or the other is null
    private final FloatBuffer buffer;
    private final int label;
    private final String modality;

    private Query(float[] array, FloatBuffer buffer, int label, String modality) {
        this.array = array;
        this.buffer = buffer;
        this.label = label;
        this.modality = modality;
    }

    /** A query of the pack's first modality. {@code label}: as in {@link Client}. */
    @NonNull
    public static Query of(@NonNull float[] features, int label) {
        return new Query(Objects.requireNonNull(features, "features"), null, label, null);
    }

    /** The same, of a direct buffer in native byte order, from its present position to its limit. */
    @NonNull
    public static Query of(@NonNull FloatBuffer features, int label) {
        return new Query(null, features.duplicate(), label, null); /* whoever moves position and limit later */
    }

    /**
     * The same query of another modality. Which one it is, is not hidden: the time that a release takes depends on it.
     * The release's bytes and their length do not tell it.
     *
     * @param name one of {@link Pack#modalities}, or null for the first. A name that the pack lacks is refused with
     *     {@link Status#MODALITY} when the query is used
     */
    @NonNull
    public Query modality(@Nullable String name) {
        return new Query(array, buffer, label, name);
    }

    int label() {
        return label;
    }

    /** null: an array has them. */
    FloatBuffer buffer() {
        return buffer;
    }

    float[] array() {
        return array;
    }

    /** Returns the number of the query's modality in a pack, or throws what keeps the pack from taking the query. */
    int requireIn(Pack pack) {
        int number = pack.find(modality);
        if (buffer != null && !buffer.isDirect()) {
            throw new IllegalArgumentException("features must lie in a direct buffer, or in a float[]");
        }
        if (buffer != null && buffer.order() != ByteOrder.nativeOrder()) {
            throw new IllegalArgumentException(
                    "features must be in native byte order: use order(ByteOrder.nativeOrder()) before asFloatBuffer()");
        }
        int count = buffer == null ? array.length : buffer.remaining();
        Modality wanted = pack.modalities().get(number);
        if (count != wanted.features()) {
            String whose = wanted.name().isEmpty() ? "the pack" : "the modality '" + wanted.name() + "'";
            throw new PrivateMailException(Status.DIMENSION, whose + " has " + wanted.features() + ", not " + count,
                    null);
        }
        return number;
    }
}
