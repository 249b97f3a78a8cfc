// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;

/** The same bytes as on every other platform. */
final class GoldenTest {
    private GoldenTest() {}

    static void run() throws IOException {
        int releases = 0;
        for (String[] fields : Golden.lines("release")) {
            releases += Check.counts("golden release " + fields[0], () -> release(fields)) ? 1 : 0;
        }
        report("releases: bytes, rows, from arrays and buffers", releases, Golden.lines("release").size());
        try (FileWriter file = new FileWriter(System.getProperty("privatemail.golden"))) {
            file.write(releases + " of " + Golden.lines("release").size() + "\n");
        }
        int answers = 0;
        for (String[] fields : Golden.lines("answer")) {
            answers += Check.counts("golden answer " + fields[0], () -> answer(fields, null)) ? 1 : 0;
        }
        report("answers: matches and payloads, or refused without sketches", answers, Golden.lines("answer").size());
        answers = 0;
        for (String[] fields : Golden.lines("crowd_answer")) {
            answers += Check.counts("golden crowd answer " + fields[0],
                    () -> answer(fields, Options.crowd(1.0, Crowd.of(0, 0.0, 1)))) ? 1 : 0;
        }
        report("answers in a crowd", answers, Golden.lines("crowd_answer").size());
        int bundles = 0;
        for (String[] fields : Golden.lines("bundle")) {
            bundles += Check.counts("golden " + fields[0], () -> bundle(fields)) ? 1 : 0;
        }
        report("bundles: every message, and which are own", bundles, Golden.lines("bundle").size());
        int budgets = 0;
        for (String[] fields : Golden.lines("budget")) {
            budgets += Check.counts("golden budget", () -> budget(fields)) ? 1 : 0;
        }
        report("budgets", budgets, Golden.lines("budget").size());
        Check.test("packs: ids and counts", GoldenTest::packs);
    }

    private static void report(String what, int passed, int all) {
        String word = passed == all ? "ok      golden " : "FAILED  golden ";
        System.out.println(word + what + ": " + passed + " of " + all);
    }

    private static void release(String[] fields) {
        Pack pack = Golden.pack(Integer.parseInt(fields[1]));
        double epsilon = Double.parseDouble(fields[3]);
        Options options = fields[2].equals("1") ? Options.response(epsilon)
                : Options.gaussian(epsilon, Double.parseDouble(fields[4])).valueBytes(Integer.parseInt(fields[5]));
        float[] features = Hex.floats(fields[7]);
        ScriptedEntropy.seed(Hex.bytes(fields[6]));
        try (Client client = new Client(pack, options)) {
            client.arm(Golden.budget());
            compare(fields, client.release(Golden.query(pack, features, fields[8], fields[11])));
            client.arm(Golden.budget());
            compare(fields, client.release(Golden.direct(pack, features, fields[8], fields[11])));
        } finally {
            ScriptedEntropy.count();
        }
    }

    private static void compare(String[] fields, Release release) {
        Check.equal(Hex.bytes(fields[9]), release.bytes());
        byte[] viewed = new byte[release.buffer().remaining()];
        release.buffer().get(viewed);
        Check.equal(release.bytes(), viewed);
        Check.equal(viewed.length, release.receipt().bytes());
        float[][] rows = release.rows();
        if (fields[10].equals("-")) {
            Check.that(rows == null, "there are rows");
            return;
        }
        float[] expected = Hex.floats(fields[10]);
        int at = 0;
        for (float[] row : rows) {
            for (float value : row) {
                Check.equal(expected[at++], value);
            }
        }
        Check.equal(expected.length, at);
    }

    private static void bundle(String[] fields) {
        Pack pack = Golden.pack(Integer.parseInt(fields[1]));
        CrowdBundle.Kind kind = CrowdBundle.Kind.values()[Integer.parseInt(fields[2]) - 1];
        Crowd crowd = Crowd.of(1000, Double.parseDouble(fields[4]), Integer.parseInt(fields[5]))
                .own(Integer.parseInt(fields[6])).cover(fields[7].equals("1")).booked(1e-12, 0.03);
        float[] features = Hex.floats(fields[9]);
        Budget budget = Golden.budget();
        ScriptedEntropy.seed(Hex.bytes(fields[8]));
        try (Client client = new Client(pack, Options.crowd(Double.parseDouble(fields[3]), crowd))) {
            for (boolean array : new boolean[] {true, false}) {
                client.armBundle(budget, kind);
                compare(fields, pack, client.receipt(), kind == CrowdBundle.Kind.IDLE ? client.idleBundle()
                        : kind == CrowdBundle.Kind.KEPT ? client.keptBundle(Hex.bytes(fields[11]))
                        : client.bundle(array ? Golden.query(pack, features, fields[10], fields[14])
                                : Golden.direct(pack, features, fields[10], fields[14])));
            }
        } finally {
            ScriptedEntropy.count();
        }
        double floor = kind == CrowdBundle.Kind.QUERY ? Double.parseDouble(fields[3]) : 0.0;
        Check.equal(2 * floor, budget.remaining().floorSpent());
    }

    private static void compare(String[] fields, Pack pack, Receipt receipt, CrowdBundle bundle) {
        byte[] own = Hex.bytes(fields[13]);
        Check.equal(Hex.bytes(fields[12]), bundle.bytes());
        Check.equal(own.length, bundle.messages().size());
        Check.that(own.length <= receipt.messages(), "more messages than the receipt says");
        Check.equal(pack.slots() > 1 ? Mechanism.CROWD : Mechanism.RESPONSE, receipt.mechanism());
        byte[] kept = null;
        for (int i = 0; i < own.length; i++) {
            CrowdBundle.Message message = bundle.messages().get(i);
            Check.equal((int) own[i], message.own());
            Check.equal(receipt.bytes(), message.bytes().length);
            float[][] rows = pack.rows(message.bytes());
            Check.that(rows == null || rows.length == 1, "a message of a crowd has one row");
            kept = own[i] == 1 && !fields[2].equals("3") ? message.bytes() : kept;
        }
        Check.that(Arrays.equals(kept, bundle.kept()), "the message to keep");
    }

    /** crowd: its options; null for whatever the pack serves. */
    private static void answer(String[] fields, Options crowd) throws IOException {
        boolean sketches = Golden.packBytes(Integer.parseInt(fields[1]))[78] != 0; // SPEC 1: L
        rank(Golden.pack(Integer.parseInt(fields[1])), sketches, fields, crowd);
    }

    /** Ranks the answer of a line, whole and byte by byte, and compares the matches. */
    static void rank(Pack pack, boolean sketches, String[] fields, Options crowd) throws IOException {
        byte[] bytes = Hex.bytes(fields[2]);
        float[] features = Hex.floats(fields[3]);
        Query query = Golden.query(pack, features, fields[4], fields[8]);
        Client.Scope scope = Client.Scope.values()[Integer.parseInt(fields[5])];
        int limit = Integer.parseInt(fields[6]);
        Options plain = pack.cells() > 0 ? Options.response(1.0) : Options.gaussian(1.0, 1e-5);
        Options options = crowd == null ? plain : crowd;
        try (Client client = new Client(pack, options)) {
            InputStream whole = new ByteArrayInputStream(bytes);
            if (!sketches) {
                Check.refuses(Status.SECTION, () -> client.answer(whole, query, scope, limit));
                return;
            }
            compare(fields[7], bytes, client.answer(whole, query, scope, limit));
            InputStream slow = new ByteArrayInputStream(bytes) {
                @Override
                public synchronized int read(byte[] out, int first, int count) {
                    return super.read(out, first, Math.min(count, 1));
                }
            };
            Query direct = Golden.direct(pack, features, fields[4], fields[8]);
            compare(fields[7], bytes, client.answer(slow, direct, scope, limit));
        }
    }

    private static void compare(String expected, byte[] bytes, Ranking ranking) {
        Check.equal((long) bytes.length, ranking.bytes());
        Check.equal((double) ranking.carried() / ranking.gallery(), ranking.share());
        List<Match> matches = ranking.matches();
        String[] lines = expected.equals("-") ? new String[0] : expected.split(",");
        Check.equal(lines.length, matches.size());
        for (int i = 0; i < lines.length; i++) {
            String[] numbers = lines[i].split(":");
            Match match = matches.get(i);
            Check.equal(Long.parseUnsignedLong(numbers[0]), match.item());
            Check.equal(Integer.parseInt(numbers[1]), match.label());
            Check.equal(Integer.parseInt(numbers[2]), match.slot());
            Check.equal(Integer.parseInt(numbers[3]), (int) (match.score() * (1 << 30)));
            int offset = Integer.parseInt(numbers[4]);
            Check.equal(Arrays.copyOfRange(bytes, offset, offset + Integer.parseInt(numbers[5])), match.payload());
        }
    }

    private static void budget(String[] fields) {
        MemoryStore store = new MemoryStore();
        store.bytes = Hex.bytes(fields[0]);
        Budget.Remaining left = Budget.open(store, Hex.bytes(fields[1]), Budget.Caps.of(1.0, 0.0, 0.0)).remaining();
        Check.equal(Double.parseDouble(fields[2]) / (1 << 20), left.epsilonCap());
        Check.equal(Double.parseDouble(fields[3]) / (1 << 20), left.epsilonSpent());
        Check.equal(Double.parseDouble(fields[4]) / (1L << 40), left.mu2Cap());
        Check.equal(Double.parseDouble(fields[5]) / (1L << 40), left.mu2Spent());
        Check.equal(Double.parseDouble(fields[6]) * Math.pow(2, -64), left.delta());
        Check.equal(Double.parseDouble(fields[7]) / (1 << 20), left.floorCap());
        Check.equal(Double.parseDouble(fields[8]) / (1 << 20), left.floorSpent());
        Check.equal(Double.parseDouble(fields[9]) / (1L << 40), left.crowdMu2Cap());
        Check.equal(Double.parseDouble(fields[10]) / (1L << 40), left.crowdMu2Spent());
        Check.equal(Double.parseDouble(fields[11]) * Math.pow(2, -64), left.crowdDelta());
        Check.equal(Double.parseDouble(fields[12]) * Math.pow(2, -64), left.crowdDelta0Cap());
        Check.equal(Double.parseDouble(fields[13]) * Math.pow(2, -64), left.crowdDelta0Spent());
        Check.equal(Hex.bytes(fields[0]), store.bytes);
    }

    private static void packs() {
        List<String[]> packs = Golden.lines("pack");
        for (int i = 0; i < packs.size(); i++) {
            Check.equal(Hex.bytes(packs.get(i)[2]), Golden.pack(i).id());
            String model = packs.get(i)[3];
            Check.equal(model, Golden.pack(i).model() == null ? "-" : Golden.pack(i).model());
        }
        Pack pack = Golden.pack(Golden.CLASS); // what the golden pack b was made of
        Check.equal(13, pack.features());
        Check.equal(4, pack.slots());
        Check.equal(2, pack.dimensions());
        Check.equal(6, pack.cells());
        Check.equal(4, pack.classes());
    }
}
