// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.List;

/** The golden vectors, and what the tests make of them. */
final class Golden {
    static final int ONE = 0;
    static final int CLASS = 1;
    static final int RESPONSE_ONLY = 3;
    static final int NAMED = 11;
    static final int FRONTS = 13;

    static final byte[] OWNER = "owner of budget ".getBytes(StandardCharsets.US_ASCII);

    private static final String VECTORS = System.getProperty("privatemail.vectors");
    private static final List<String[]> LINES = read(VECTORS);

    private Golden() {}

    private static List<String[]> read(String path) {
        List<String[]> lines = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                new FileInputStream(path), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (!line.startsWith("#")) {
                    lines.add(line.split("\t", -1));
                }
            }
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
        return lines;
    }

    /** The fields behind the kind, of all lines of a kind. */
    static List<String[]> lines(String kind) {
        return of(LINES, kind);
    }

    /** The same of the vectors of heads and looks, in the file beside. */
    static List<String[]> heads(String kind) {
        return of(read(VECTORS.replace("vectors.txt", "head_vectors.txt")), kind);
    }

    /** The same of the vectors of coded sketches. */
    static List<String[]> sketches(String kind) {
        return of(read(VECTORS.replace("vectors.txt", "sketch_vectors.txt")), kind);
    }

    private static List<String[]> of(List<String[]> lines, String kind) {
        List<String[]> found = new ArrayList<>();
        for (String[] line : lines) {
            if (line[0].equals(kind)) {
                String[] fields = new String[line.length - 1];
                System.arraycopy(line, 1, fields, 0, fields.length);
                found.add(fields);
            }
        }
        return found;
    }

    // ---- packs ----

    static byte[] packBytes(int index) {
        return Hex.bytes(lines("pack").get(index)[1]);
    }

    static Pack pack(int index) {
        return Pack.open(direct(packBytes(index)), Hex.bytes(lines("pack").get(index)[2]));
    }

    static ByteBuffer direct(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length);
        buffer.put(bytes);
        buffer.flip();
        return buffer;
    }

    // ---- queries ----

    static FloatBuffer direct(float[] features) {
        FloatBuffer buffer = Pack.newFloats(features.length);
        buffer.put(features);
        buffer.flip();
        return buffer;
    }

    /** A query that every pack without fronts takes. */
    static float[] features(Pack pack) {
        return features(pack.features());
    }

    static float[] features(int count) {
        float[] features = new float[count];
        for (int i = 0; i < features.length; i++) {
            features[i] = (i * 37 + 11) % 19 - 9.25f;
        }
        return features;
    }

    /** A query of a vector: its modality is counted in the pack, and has no name in a pack without fronts. */
    static Query query(Pack pack, float[] features, String label, String modality) {
        return Query.of(features, Integer.parseInt(label)).modality(nameOf(pack, modality));
    }

    static Query direct(Pack pack, float[] features, String label, String modality) {
        return Query.of(direct(features), Integer.parseInt(label)).modality(nameOf(pack, modality));
    }

    private static String nameOf(Pack pack, String modality) {
        return pack.modalities().get(Integer.parseInt(modality)).name();
    }

    /** A class that the pack {@link #CLASS} knows. */
    static final int LABEL = -7;

    /** The fields of an answer to the pack {@link #CLASS}. */
    static byte[] answerBytes() {
        return Hex.bytes(lines("answer").get(1)[2]);
    }

    // ---- budgets ----

    static Budget budget(BudgetStore store) {
        return Budget.open(store, OWNER, Budget.Caps.of(4000.0, 250.0, 1e-5).crowd(4000.0, 16.0, 1e-5));
    }

    static Budget budget() {
        return budget(new MemoryStore());
    }
}
