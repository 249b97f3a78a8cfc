// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;

/** Packs with coded sketches and answers of version 2, against the golden vectors. */
final class SketchTest {
    private SketchTest() {}

    static void run() {
        Check.test("sketches: packs of version 0.5 open, or are refused", SketchTest::packs);
        Check.test("sketches: answers of version 2", () -> answers("answer", null));
        Check.test("sketches: answers of version 2 in a crowd",
                () -> answers("crowd_answer", Options.crowd(1.0, Crowd.of(0, 0.0, 1))));
        Check.test("sketches: answers of version 2 are refused or taken", SketchTest::refusals);
    }

    private static byte[] packBytes(String index) {
        return Hex.bytes(Golden.sketches("pack").get(Integer.parseInt(index))[1]);
    }

    private static Pack pack(String index) {
        return Pack.open(Golden.direct(packBytes(index)), null);
    }

    private static byte[] sealed(byte[] bytes) {
        try {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            hash.update(bytes, 40, bytes.length - 40);
            System.arraycopy(hash.digest(), 0, bytes, 8, 32);
            return bytes;
        } catch (GeneralSecurityException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static void open(byte[] bytes, String status) {
        if (status.equals("OK")) {
            Pack.open(Golden.direct(bytes), null);
        } else {
            Check.refuses(Status.valueOf(status), () -> Pack.open(Golden.direct(bytes), null));
        }
    }

    private static void packs() {
        List<String[]> lines = Golden.sketches("pack");
        Check.that(lines.size() >= 20, "there are packs");
        for (String[] line : lines) {
            Pack.open(Golden.direct(Hex.bytes(line[1])), Hex.bytes(line[2]));
        }
        for (String[] line : Golden.sketches("edit")) {
            byte[] bytes = packBytes(line[2]);
            for (String change : line[3].split(",")) {
                bytes[Integer.parseInt(change.split(":")[0])] = (byte) Integer.parseInt(change.split(":")[1]);
            }
            open(sealed(bytes), line[1]);
        }
        for (String[] line : Golden.sketches("refused_pack")) {
            open(Hex.bytes(line[2]), line[1]);
        }
    }

    private static void answers(String kind, Options crowd) throws IOException {
        List<String[]> lines = Golden.sketches(kind);
        Check.that(lines.size() >= 8, "there are answers");
        for (String[] line : lines) {
            GoldenTest.rank(pack(line[1]), true, line, crowd);
        }
    }

    private static Ranking ask(Pack pack, byte[] bytes, boolean crowd) throws IOException {
        float[] features = new float[pack.features()];
        Arrays.fill(features, 1.0f);
        Options options = crowd ? Options.crowd(1.0, Crowd.of(0, 0.0, 1)) : Options.response(1.0);
        try (Client client = new Client(pack, options)) {
            return client.answer(new ByteArrayInputStream(bytes), features, 0, Client.Scope.ALL_SLOTS, 8);
        }
    }

    private static void refusals() throws IOException {
        List<String[]> lines = Golden.sketches("refused_answer");
        Check.that(lines.size() > 80, "there are answers to refuse");
        for (String[] line : lines) {
            Pack pack = pack(line[2]);
            byte[] bytes = Hex.bytes(line[3]);
            boolean crowd = line[4].equals("1");
            if (line[1].equals("OK")) {
                ask(pack, bytes, crowd);
            } else {
                Check.refuses(Status.valueOf(line[1]), () -> ask(pack, bytes, crowd));
            }
        }
    }
}
