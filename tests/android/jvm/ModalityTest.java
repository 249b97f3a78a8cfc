// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/** Packs with fronts: what they take, by which name, and what they refuse. */
final class ModalityTest {
    /** Whose fronts are of signs, of a matrix with roots, and of kernels, in the pack {@link Golden#FRONTS}. */
    private static final int SIGNS = 2;
    private static final int MATRIX = 5;
    private static final int KERNELS = 6;
    private static final int LABEL = 4;

    private ModalityTest() {}

    static void run() {
        Check.test("modalities: names, features and kinds, in the order of the pack", ModalityTest::lists);
        Check.test("modalities: a pack without fronts has one, without a name", ModalityTest::withoutFronts);
        Check.test("modalities: refused by name and by number of features", ModalityTest::refusals);
        Check.test("modalities: an answer is ranked by that of the query", ModalityTest::ranking);
    }

    private static void lists() {
        Pack pack = Golden.pack(Golden.FRONTS);
        Check.equal(8, pack.modalities().size());
        requireModality(pack, SIGNS, "signs", 31, Modality.Kind.SIGNS, false);
        requireModality(pack, MATRIX, "image_root", 10, Modality.Kind.MATRIX, true);
        requireModality(pack, KERNELS, "text", 7, Modality.Kind.KERNELS, false);
        requireModality(pack, 7, "0123456789abcde", 8, Modality.Kind.KERNELS, true);
        Check.equal(13, pack.features());
        Check.throwing(UnsupportedOperationException.class, () -> pack.modalities().clear());
    }

    private static void requireModality(Pack pack, int number, String name, int features, Modality.Kind kind,
                                        boolean root) {
        Modality found = pack.modalities().get(number);
        Check.equal(name, found.name());
        Check.equal(features, found.features());
        Check.equal(kind, found.kind());
        Check.equal(root, found.root());
    }

    /** Packs of the versions 0.1 and 0.2. */
    private static void withoutFronts() {
        for (int index : new int[] {Golden.CLASS, Golden.NAMED}) {
            Pack pack = Golden.pack(index);
            Check.equal(1, pack.modalities().size());
            requireModality(pack, 0, "", pack.features(), Modality.Kind.NONE, false);
            Query query = Query.of(Golden.features(pack), Golden.LABEL);
            try (Client client = new Client(pack, Options.response(1.0))) {
                client.arm(Golden.budget());
                Check.refuses(Status.MODALITY, () -> client.release(query.modality("text")));
                client.release(query.modality("text").modality(null));
            }
        }
    }

    private static void refusals() {
        Pack pack = Golden.pack(Golden.FRONTS);
        float[] text = Golden.features(7);
        Crowd crowd = Crowd.of(1000, 0.5, 8).booked(1e-12, 0.03);
        try (Client client = new Client(pack, Options.response(1.0));
             Client inCrowd = new Client(pack, Options.crowd(1.0, crowd))) {
            client.arm(Golden.budget());
            inCrowd.armBundle(Golden.budget(), CrowdBundle.Kind.QUERY);
            for (String name : new String[] {"", "audio", "Text", "text ", "tex", "text\0", "0123456789abcdef"}) {
                Query unknown = Query.of(text, LABEL).modality(name);
                PrivateMailException refusal = Check.refuses(Status.MODALITY, () -> client.release(unknown));
                Check.that(refusal.getMessage().contains("image_root: 10 features"), refusal.getMessage());
                Check.that(refusal.getMessage().contains("'" + name + "'"), refusal.getMessage());
                Check.refuses(Status.MODALITY, () -> inCrowd.bundle(unknown));
                Check.refuses(Status.MODALITY, () -> client.answer(new ByteArrayInputStream(new byte[0]), unknown,
                        Client.Scope.ALL_SLOTS, 1));
            }
            for (int length : new int[] {0, 6, 8, 13, 31}) { // 13 is what the collection is made of
                float[] other = Golden.features(length);
                FloatBuffer buffer = Golden.direct(other);
                PrivateMailException refusal = Check.refuses(Status.DIMENSION,
                        () -> client.release(Query.of(other, LABEL).modality("text")));
                Check.that(refusal.getMessage().contains("'text' has 7, not " + length), refusal.getMessage());
                Check.refuses(Status.DIMENSION, () -> client.release(Query.of(buffer, LABEL).modality("text")));
                Check.refuses(Status.DIMENSION, () -> inCrowd.bundle(Query.of(other, LABEL).modality("text")));
            }
            Check.refuses(Status.DIMENSION, () -> client.release(text, LABEL)); // the first modality has 13
            Check.refuses(Status.FEATURES, () -> client.release(Query.of(new float[7], LABEL).modality("text")));
            client.release(Query.of(text, LABEL).modality("text")); // none of that used the arm up
            inCrowd.bundle(Query.of(text, LABEL).modality("text"));
        }
    }

    /** Two modalities with as many features: which one it is must arrive. */
    private static void ranking() throws IOException {
        Pack pack = Golden.pack(Golden.FRONTS);
        Query query = Query.of(Golden.features(pack), LABEL);
        try (Client client = new Client(pack, Options.gaussian(1.0, 1e-5))) {
            List<Double> first = scores(client, query);
            Check.that(first.size() > 4, first.toString());
            Check.equal(first, scores(client, query.modality("as-is")));
            Check.that(!first.equals(scores(client, query.modality("as-is_root"))), "roots change nothing");
        }
    }

    private static List<Double> scores(Client client, Query query) throws IOException {
        List<Double> scores = new ArrayList<>();
        for (String[] fields : Golden.lines("answer")) {
            if (Integer.parseInt(fields[1]) == Golden.FRONTS) {
                InputStream bytes = new ByteArrayInputStream(Hex.bytes(fields[2]));
                for (Match match : client.answer(bytes, query, Client.Scope.ALL_SLOTS, 6).matches()) {
                    scores.add(match.score());
                }
            }
        }
        return scores;
    }
}
