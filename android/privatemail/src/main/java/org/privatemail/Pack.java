// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What device and server both know of a collection. Public, immutable, shared by any number of clients and threads.
 *
 * <p>The bytes stay where they are, in a direct buffer that the pack keeps reachable: a mapped file
 * ({@code FileChannel.map}), or {@link ByteBuffer#allocateDirect}. Nobody may change them while the pack is in use; a
 * mapped file must not be shortened.
 */
public final class Pack {
    private static final int ID_SIZE = 16;

    /** Numbers that {@link Native#packDescribe} fills in: features, slots, dimensions, cells, classes, labels. */
    private static final int NUMBERS = 6;

    /** Most labels that {@link #guess} can be asked for. */
    public static final int GUESSES_MAX = 64;

    /* Kept reachable, in shrunk apps by consumer-rules.pro: native memory points into them. */
    private final ByteBuffer bytes;
    private final ByteBuffer view;
    private final byte[] id = new byte[ID_SIZE];
    private final int[] numbers = new int[NUMBERS];
    private final String model;
    private final List<Modality> modalities;

    private Pack(ByteBuffer bytes, ByteBuffer view) {
        this.bytes = bytes;
        this.view = view;
        Native.packDescribe(view, id, numbers);
        byte[] name = Native.packModel(view);
        model = name.length == 0 ? null : new String(name, StandardCharsets.UTF_8);
        modalities = Collections.unmodifiableList(modalitiesOf(view));
    }

    private static List<Modality> modalitiesOf(ByteBuffer view) {
        List<Modality> found = new ArrayList<>();
        int[] numbers = new int[Native.MODALITY_NUMBERS];
        for (String name = Native.packModality(view, 0, numbers); name != null;
                name = Native.packModality(view, found.size(), numbers)) {
            found.add(new Modality(name, numbers[0], Modality.Kind.of(numbers[1]), numbers[2] != 0));
        }
        return found;
    }

    /**
     * Validates a pack completely: sizes, hash, every field, every row.
     *
     * @param bytes direct; the pack is what lies between position and limit, which stay as they are
     * @param pinnedId the 16 bytes of {@link #id()} that the app expects, or null for any. Pin it: a pack made for one
     *     user marks that user
     * @throws IllegalArgumentException when the buffer is not direct or the id has not 16 bytes
     * @throws PrivateMailException PACK, PACK_VERSION, PACK_SIZE, PACK_HASH or PACK_ID
     */
    @NonNull
    public static Pack open(@NonNull ByteBuffer bytes, @Nullable byte[] pinnedId) {
        if (!bytes.isDirect()) {
            throw new IllegalArgumentException(
                    "a pack must lie in a direct buffer: map the file or use allocateDirect");
        }
        if (pinnedId != null) {
            requireId(pinnedId);
        }
        ByteBuffer own = bytes.slice();
        ByteBuffer view = ByteBuffer.allocateDirect(Native.packSize());
        PrivateMailException.check(Native.packOpen(view, own, own.capacity(), pinnedId));
        return new Pack(own, view);
    }

    /**
     * The same, and refuses a pack that was not made from features of the app's own model: features of another model
     * with as many numbers would find nothing, and nobody would notice why.
     *
     * @param model the name that {@code privatemail pack --model} was given, or null to accept any pack
     * @throws PrivateMailException also PACK_MODEL, with a message that has both names
     */
    @NonNull
    public static Pack open(@NonNull ByteBuffer bytes, @Nullable byte[] pinnedId, @Nullable String model) {
        Pack pack = open(bytes, pinnedId);
        if (model != null && !model.equals(pack.model)) {
            String found = pack.model == null ? "none" : "'" + pack.model + "'";
            throw new PrivateMailException(Status.PACK_MODEL, "it names " + found + ", not '" + model + "'", null);
        }
        return pack;
    }

    /**
     * The id that {@code privatemail pack} printed, to be pinned.
     *
     * @param hexadecimal 32 lower-case digits
     */
    @NonNull
    public static byte[] idOf(@NonNull String hexadecimal) {
        byte[] id = Hexadecimal.decode(hexadecimal);
        if (id == null) {
            throw new IllegalArgumentException("not lower-case hexadecimal digits: " + hexadecimal);
        }
        requireId(id);
        return id;
    }

    static void requireId(byte[] id) {
        if (id.length != ID_SIZE) {
            throw new IllegalArgumentException("a pack's id has 16 bytes, not " + id.length);
        }
    }

    /** 16 bytes, the first half of the pack's hash; a copy. */
    @NonNull
    public byte[] id() {
        return id.clone();
    }

    /** The name of the model that makes the features, and of its preprocessing; null when the pack names none. */
    @Nullable
    public String model() {
        return model;
    }

    /**
     * What may be asked for, in the order of the pack; unmodifiable, never empty. A pack without fronts has one
     * modality, without a name.
     */
    @NonNull
    public List<Modality> modalities() {
        return modalities;
    }

    /** The number of a modality; null is the first. */
    int find(@Nullable String name) {
        for (int i = 0; i < modalities.size(); i++) {
            if (name == null || name.equals(modalities.get(i).name())) {
                return i;
            }
        }
        throw new PrivateMailException(Status.MODALITY, "it has " + modalities + ", not '" + name + "'", null);
    }

    /** Features that the collection is made of; those of a query too, unless the pack has {@link #modalities}. */
    public int features() {
        return numbers[0];
    }

    /** Slots, each of which every release fills. */
    public int slots() {
        return numbers[1];
    }

    /** Coordinates of the embedding; 0 when the pack has no codes. */
    public int dimensions() {
        return numbers[2];
    }

    /** Cells a slot; 0 when the pack serves no response. */
    public int cells() {
        return numbers[3];
    }

    /** Classes that the pack knows; 0 with one slot, where labels are ignored. */
    public int classes() {
        return numbers[4];
    }

    /** Labels that {@link #guess} knows; 0 when the pack has no head. */
    public int labels() {
        return numbers[5];
    }

    /**
     * The likeliest labels of a query, by the head of the pack. They are as private as the query: show them to the
     * device's owner, or take one as the query's label, and send them nowhere. Features of an array are copied, and the
     * copy is wiped.
     *
     * @param query its own label is ignored
     * @param count 1 to {@link #GUESSES_MAX}, and at most {@link #labels}
     * @return the likeliest first
     * @throws PrivateMailException SECTION when the pack has no head; MODALITY, DIMENSION, FEATURES for the query;
     *     ARGUMENT when the count is out of range
     */
    @NonNull
    public List<Guess> guess(@NonNull Query query, int count) {
        int modality = query.requireIn(this);
        if (labels() == 0) {
            throw new PrivateMailException(Status.SECTION, "it has no head", null);
        }
        if (count < 1 || count > Math.min(GUESSES_MAX, labels())) {
            throw new PrivateMailException(Status.ARGUMENT, "it guesses 1 to " + Math.min(GUESSES_MAX, labels()), null);
        }
        ByteBuffer memory = ByteBuffer.allocateDirect(Native.guessSize(this, view));
        long[] found = new long[2 * count];
        FloatBuffer features = query.buffer();
        FloatBuffer copy = features == null ? newFloats(query.array().length) : null;
        try {
            if (copy != null) {
                copy.put(query.array());
                copy.flip();
                features = copy;
            }
            PrivateMailException.check(Native.guess(this, view, features, features.position(), features.remaining(),
                    modality, memory, memory.capacity(), found, count));
        } finally {
            if (copy != null) {
                Native.wipe(copy, 4 * copy.capacity());
            }
        }
        List<Guess> guesses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            guesses.add(new Guess((int) found[2 * i], found[2 * i + 1]));
        }
        return guesses;
    }

    /**
     * The embedding rows of any release of this pack, {@code float[slots][dimensions]}, or {@code float[1][dimensions]}
     * of a message of a crowd: what the server sees. null when the pack has no codes for the release's mechanism.
     *
     * @throws PrivateMailException RELEASE when the bytes are none, PACK_ID when they are another pack's
     */
    @Nullable
    public float[][] rows(@NonNull byte[] release) {
        ByteBuffer message = ByteBuffer.allocateDirect(release.length);
        message.put(release);
        float[][] rows = new float[1][dimensions()];
        int status = decode(message, rows);
        if (status == Status.BUFFER.code()) { /* it has as many rows as the pack has slots */
            rows = new float[slots()][dimensions()];
            status = decode(message, rows);
        }
        if (status == Status.SECTION.code()) {
            return null;
        }
        PrivateMailException.check(status);
        return rows;
    }

    private int decode(ByteBuffer message, float[][] rows) {
        FloatBuffer flat = newFloats(rows.length * dimensions());
        int status = Native.rows(this, view, message, message.capacity(), flat, flat.capacity());
        for (float[] row : rows) {
            flat.get(row);
        }
        return status;
    }

    ByteBuffer view() {
        return view;
    }

    /** A direct buffer that a {@link Query} takes. */
    static FloatBuffer newFloats(int count) {
        return ByteBuffer.allocateDirect(count * 4).order(ByteOrder.nativeOrder()).asFloatBuffer();
    }
}
