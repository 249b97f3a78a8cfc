// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.util.Arrays;
import java.util.List;

/** Guesses of labels and several looks, against the golden vectors. */
final class HeadTest {
    private static final int TIED = 0;
    private static final int FRONTS = 1;

    private HeadTest() {}

    static void run() {
        Check.test("heads: guesses are the golden ones", HeadTest::guesses);
        Check.test("heads: a buffer is read from its position to its limit", HeadTest::buffer);
        Check.test("heads: what cannot be guessed is refused", HeadTest::refusals);
        Check.test("looks: means are the golden ones", HeadTest::means);
        Check.test("looks: a refused look adds nothing", HeadTest::badLooks);
        Check.test("looks: closed twice, used never again", HeadTest::closed);
    }

    private static Pack pack(int index) {
        return Pack.open(Golden.direct(Hex.bytes(Golden.heads("head").get(index)[1])), null);
    }

    private static Query query(Pack pack, String[] line) {
        return Query.of(Hex.floats(line[2]), 12345).modality(pack.modalities().get(Integer.parseInt(line[3])).name());
    }

    private static void guesses() {
        List<String[]> lines = Golden.heads("guess");
        Check.that(lines.size() > 20, "there are guesses");
        for (String[] line : lines) {
            Pack pack = pack(Integer.parseInt(line[1]));
            String[] wanted = line[4].split(",");
            Check.equal(wanted.length, pack.labels());
            int most = Math.min(wanted.length, Pack.GUESSES_MAX);
            for (int count : new int[] {1, most}) {
                List<Guess> found = pack.guess(query(pack, line), count);
                Check.equal(count, found.size());
                for (int i = 0; i < count; i++) {
                    Check.equal(wanted[i], found.get(i).label() + ":" + found.get(i).score());
                }
            }
        }
    }

    private static void buffer() {
        Pack pack = pack(TIED);
        String[] line = Golden.heads("guess").get(0);
        float[] features = Hex.floats(line[2]);
        java.nio.FloatBuffer buffer = Pack.newFloats(features.length + 3);
        buffer.position(2);
        buffer.put(features);
        buffer.position(2).limit(2 + features.length);
        Check.equal(line[4].split(":")[0], "" + pack.guess(Query.of(buffer, 0), 1).get(0).label());
        Check.equal(2, buffer.position());
    }

    private static void refusals() {
        Pack pack = pack(FRONTS);
        Query query = Query.of(Golden.features(13), 0);
        Check.refuses(Status.SECTION, () -> Golden.pack(Golden.CLASS).guess(query, 1));
        Check.refuses(Status.ARGUMENT, () -> pack.guess(query, 0));
        Check.refuses(Status.ARGUMENT, () -> pack.guess(query, 65));
        Check.refuses(Status.ARGUMENT, () -> pack(TIED).guess(Query.of(Golden.features(11), 0), 10));
        Check.refuses(Status.DIMENSION, () -> pack.guess(Query.of(Golden.features(12), 0), 1));
        Check.refuses(Status.MODALITY, () -> pack.guess(query.modality("sound"), 1));
        Check.refuses(Status.FEATURES, () -> pack.guess(Query.of(new float[13], 0), 1));
        Check.equal(0, Golden.pack(Golden.CLASS).labels());
    }

    private static void means() {
        for (String[] line : Golden.heads("looks")) {
            int features = Integer.parseInt(line[1]);
            int times = Integer.parseInt(line[2]);
            int period = Integer.parseInt(line[3]);
            float[] patterns = Hex.floats(line[4]);
            try (Looks looks = new Looks(features)) {
                for (int look = 0; look < patterns.length / period; look++) {
                    float[] all = new float[features];
                    for (int i = 0; i < features; i++) {
                        all[i] = patterns[look * period + i % period];
                    }
                    for (int t = 0; t < times; t++) {
                        looks.add(all);
                    }
                }
                if (line[5].equals("-")) {
                    Check.refuses(Status.FEATURES, looks::mean);
                    continue;
                }
                float[] wanted = Hex.floats(line[5]);
                float[] mean = looks.mean();
                for (int i = 0; i < features; i++) {
                    Check.equal(Float.floatToRawIntBits(wanted[i % period]), Float.floatToRawIntBits(mean[i]));
                }
            }
        }
    }

    private static void badLooks() {
        try (Looks looks = new Looks(2)) {
            Check.refuses(Status.STATE, looks::mean);
            looks.add(new float[] {3, 4});
            float[] before = looks.mean();
            Check.refuses(Status.FEATURES, () -> looks.add(new float[] {Float.NaN, 1}));
            Check.refuses(Status.FEATURES, () -> looks.add(new float[2]));
            Check.refuses(Status.DIMENSION, () -> looks.add(new float[3]));
            Check.that(Arrays.equals(before, looks.mean()), "the mean is as before");
            for (int i = 1; i < Looks.MAX; i++) {
                looks.add(new float[] {1, 2});
            }
            Check.refuses(Status.STATE, () -> looks.add(new float[] {1, 2}));
        }
        Check.throwing(IllegalArgumentException.class, () -> new Looks(0));
        Check.throwing(IllegalArgumentException.class, () -> new Looks(-1));
        Check.throwing(IllegalArgumentException.class, () -> new Looks(1_000_001));
    }

    private static void closed() {
        Looks looks = new Looks(2);
        looks.close();
        looks.close();
        Check.throwing(IllegalStateException.class, () -> looks.add(new float[] {1, 2}));
        Check.throwing(IllegalStateException.class, looks::mean);
    }
}
