// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * Several looks at one photo, such as crops, flips or a burst, become one query. Their mean finds more than any of them,
 * at the price of one release.
 *
 * <pre>{@code
 * try (Looks looks = new Looks(pack.features())) {
 *     for (Bitmap crop : crops) {
 *         looks.add(model.features(crop));
 *     }
 *     Release release = client.release(looks.mean(), label);
 * }
 * }</pre>
 *
 * Calls from several threads are served one after the other. {@link #close} wipes its memory; later calls throw
 * {@link IllegalStateException}.
 */
public final class Looks implements AutoCloseable {
    /** Most looks at one photo. */
    public static final int MAX = 512;

    private final int features;
    private final ByteBuffer memory;
    private final FloatBuffer copied; /* a look on its way in, or the mean on its way out */
    private boolean closed;

    /**
     * No looks yet.
     *
     * @param features of a look, as many as the query's {@link Modality} has
     * @throws IllegalArgumentException when that is less than 1 or more than a million
     */
    public Looks(int features) {
        int size = Native.looksSize(features);
        if (size == 0) {
            throw new IllegalArgumentException("a look has 1 to 1000000 features, not " + features);
        }
        this.features = features;
        memory = ByteBuffer.allocateDirect(size);
        copied = Pack.newFloats(features);
        PrivateMailException.check(Native.looksBegin(memory, features));
    }

    /**
     * Adds a look. Each counts the same, whatever its scale. One that is refused adds nothing.
     *
     * @throws PrivateMailException FEATURES when a number is not finite or all are zero, DIMENSION when there are not as
     *     many as were announced, STATE after {@link #MAX} looks
     */
    public synchronized void add(@NonNull float[] look) {
        requireOpen();
        if (look.length != features) {
            throw new PrivateMailException(Status.DIMENSION, "a look has " + features + ", not " + look.length, null);
        }
        try {
            copied.clear();
            copied.put(look);
            PrivateMailException.check(Native.looksAdd(this, memory, copied, features));
        } finally {
            Native.wipe(copied, 4 * features);
        }
    }

    /**
     * The features of the mean, of no particular scale, for a {@link Query}. More looks may be added afterwards.
     *
     * @throws PrivateMailException STATE before the first look, FEATURES when the looks cancel each other
     */
    @NonNull
    public synchronized float[] mean() {
        requireOpen();
        float[] mean = new float[features];
        try {
            PrivateMailException.check(Native.looksMean(this, memory, copied, features));
            copied.clear();
            copied.get(mean);
        } finally {
            Native.wipe(copied, 4 * features);
        }
        return mean;
    }

    /** Wipes all memory of the looks. Closing twice does nothing. */
    @Override
    public synchronized void close() {
        closed = true;
        Native.wipe(memory, memory.capacity());
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the looks are closed");
        }
    }
}
