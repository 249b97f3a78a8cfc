// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.EnumSet;

/** What is refused, and by which name. Answers and stores have tests of their own. */
final class RefusalTest {
    private RefusalTest() {}

    static void run() {
        Check.test("every status is found by its number and has a text", RefusalTest::statuses);
        Check.test("packs: damaged, truncated, of another version, foreign", RefusalTest::packs);
        Check.test("packs: position and limit count, and stay", RefusalTest::packsInLargerBuffers);
        Check.test("packs: of another model, or of none", RefusalTest::models);
        Check.test("options: every field out of range", RefusalTest::options);
        Check.test("options: what the pack does not serve", RefusalTest::packDoesNotServe);
        Check.test("features: NaN, infinite, zero, too few, too many", RefusalTest::features);
        Check.test("features: array-backed, foreign byte order, misaligned", RefusalTest::featureBuffers);
        Check.test("features: position and limit count, and stay", RefusalTest::featuresInLargerBuffers);
        Check.test("substitute: bad queries are released all the same", RefusalTest::substitute);
        Check.test("order of calls: release, arm and disarm in the wrong state", RefusalTest::states);
        Check.test("entropy: failing, short, stuck; nothing is charged", RefusalTest::entropy);
        Check.test("releases: garbage, truncated, of another pack", RefusalTest::releases);
        Check.test("sizes that only the shim could get wrong", RefusalTest::shim);
        Check.test("null arguments", RefusalTest::nulls);
        Check.test("privacy arithmetic", RefusalTest::arithmetic);
    }

    /** Called last of all tests. Java opens no front files: those are for whoever makes packs. */
    static void everyStatusWasSeen() {
        Check.equal(EnumSet.complementOf(EnumSet.of(Status.OK, Status.FRONT)), Check.refusals());
    }

    /** That names and numbers are those of C: tests/check_status.py. */
    private static void statuses() {
        for (Status status : Status.values()) {
            Check.equal(status, Status.of(status.code()));
            Check.that(!status.text().equals("unknown status"), status + " has no text");
        }
    }

    // ---- packs ----

    private static void packs() throws Exception {
        byte[] bytes = Golden.packBytes(Golden.CLASS);
        refusesPack(Status.PACK_SIZE, Arrays.copyOf(bytes, bytes.length - 1));
        refusesPack(Status.PACK_SIZE, Arrays.copyOf(bytes, bytes.length + 1));
        refusesPack(Status.PACK_VERSION, new byte[0]);
        refusesPack(Status.PACK_VERSION, Arrays.copyOf(bytes, 7));
        refusesPack(Status.PACK_VERSION, changed(bytes, 4));
        refusesPack(Status.PACK_HASH, changed(bytes, bytes.length - 1));
        refusesPack(Status.PACK_HASH, changed(bytes, 8));
        refusesPack(Status.PACK, sealed(changed(bytes, 84)));
        Check.refuses(Status.PACK_ID, () -> Pack.open(Golden.direct(bytes), Golden.pack(Golden.ONE).id()));
        Check.throwing(IllegalArgumentException.class, () -> Pack.open(Golden.direct(bytes), new byte[15]));
        Check.throwing(IllegalArgumentException.class, () -> Pack.open(ByteBuffer.wrap(bytes), null));
    }

    private static void refusesPack(Status status, byte[] bytes) {
        Check.refuses(status, () -> Pack.open(Golden.direct(bytes), null));
    }

    private static byte[] changed(byte[] bytes, int at) {
        byte[] copy = bytes.clone();
        copy[at] ^= 1;
        return copy;
    }

    /** Makes the hash of a pack right again (SPEC 1). */
    private static byte[] sealed(byte[] bytes) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(bytes, 40, bytes.length - 40);
        System.arraycopy(digest.digest(), 0, bytes, 8, 32);
        return bytes;
    }

    private static void packsInLargerBuffers() {
        byte[] bytes = Golden.packBytes(Golden.CLASS);
        ByteBuffer larger = ByteBuffer.allocateDirect(bytes.length + 20);
        larger.position(13);
        larger.put(bytes);
        larger.position(13).limit(13 + bytes.length);
        Pack pack = Pack.open(larger.asReadOnlyBuffer(), null);
        Check.equal(Golden.pack(Golden.CLASS).id(), pack.id());
        Pack.open(larger, null);
        Check.equal(13, larger.position());
        Check.equal(13 + bytes.length, larger.limit());
        larger.limit(12 + bytes.length);
        Check.refuses(Status.PACK_SIZE, () -> Pack.open(larger, null));
    }

    private static Pack openFor(int index, String model) {
        return Pack.open(Golden.direct(Golden.packBytes(index)), null, model);
    }

    /** Names that differ from the pack's in one place, or that a conversion of text to bytes might make equal to it. */
    private static void models() {
        String own = Golden.lines("pack").get(Golden.NAMED)[3];
        String camera = "\uD83D\uDCF7"; // one character, four bytes of UTF-8
        Check.that(own.contains(camera), own);
        Check.equal(own, openFor(Golden.NAMED, own).model());
        Check.equal(own, openFor(Golden.NAMED, null).model());
        for (String other : new String[] {"", "another model", own + "x", own + "\0", own.replace(camera, "?"),
                own.replace(camera, "\uD83D"), own.replace('2', '3'), own.substring(0, own.length() - 1)}) {
            PrivateMailException refusal = Check.refuses(Status.PACK_MODEL, () -> openFor(Golden.NAMED, other));
            Check.that(refusal.getMessage().contains("'" + own + "'") && refusal.getMessage().contains("'" + other
                    + "'"), refusal.getMessage());
            Check.refuses(Status.PACK_MODEL, () -> openFor(Golden.CLASS, other));
        }
        Check.that(Check.refuses(Status.PACK_MODEL, () -> openFor(Golden.CLASS, own)).getMessage().contains(
                "it names none, not '" + own + "'"), "a pack without a name");
        byte[] foreign = Golden.pack(Golden.ONE).id();
        Check.refuses(Status.PACK_ID,
                () -> Pack.open(Golden.direct(Golden.packBytes(Golden.NAMED)), foreign, "another model"));
    }

    // ---- options ----

    private static void options() {
        for (double epsilon : new double[] {0.0, -1.0, 16.1, 1e-9, Double.NaN, Double.POSITIVE_INFINITY}) {
            refusesOptions(Status.EPSILON, Options.response(epsilon));
            refusesOptions(Status.EPSILON, Options.gaussian(epsilon, 1e-5));
        }
        for (double delta : new double[] {0.0, -1e-5, 1.0, 1e-16, Double.NaN}) {
            refusesOptions(Status.DELTA, Options.gaussian(1.0, delta));
        }
        for (int bytes : new int[] {-1, 3, Integer.MAX_VALUE}) {
            refusesOptions(Status.ARGUMENT, Options.gaussian(1.0, 1e-5).valueBytes(bytes));
        }
        refusesOptions(Status.ARGUMENT, Options.response(1.0).valueBytes(1));
        Check.throwing(IllegalArgumentException.class, () -> Options.response(1.0).answerLimit(0));
        Check.equal(Options.response(1.0), Options.response(1.0).substitute(true).substitute(false));
        Check.that(!Options.response(1.0).equals(Options.response(1.0).answerLimit(5)), "the limit is no part of it");
    }

    private static void refusesOptions(Status status, Options options) {
        Check.refuses(status, () -> new Client(Golden.pack(Golden.CLASS), options));
    }

    private static void packDoesNotServe() throws Exception {
        Pack responseOnly = Golden.pack(Golden.RESPONSE_ONLY);
        Check.refuses(Status.SECTION, () -> new Client(responseOnly, Options.gaussian(1.0, 1e-5)));
        Pack flat = Pack.open(Golden.direct(sealed(withEqualCodes(Golden.packBytes(Golden.ONE)))), null);
        Check.refuses(Status.SENSITIVITY, () -> new Client(flat, Options.gaussian(1.0, 1e-5)));
        new Client(flat, Options.response(1.0)).close();
    }

    /** Gives all anchors of the pack a the code of the first: sections 1 to 5 precede them (SPEC 1). */
    private static byte[] withEqualCodes(byte[] bytes) {
        ByteBuffer pack = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int features = pack.getInt(48);
        int anchors = pack.getInt(52);
        int dimensions = pack.getShort(58);
        int prototypes = pack.getInt(84);
        int at = 88;
        for (int size : new int[] {prototypes * features, 4 * prototypes, anchors * features, 4 * anchors, 8}) {
            at = (at + 15) / 16 * 16 + size;
        }
        at = (at + 15) / 16 * 16;
        for (int i = dimensions; i < anchors * dimensions; i++) {
            pack.putShort(at + 2 * i, pack.getShort(at + 2 * (i % dimensions)));
        }
        return bytes;
    }

    // ---- queries ----

    private static void features() {
        Pack pack = Golden.pack(Golden.CLASS);
        try (Client client = new Client(pack, Options.response(1.0))) {
            client.arm(Golden.budget());
            for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
                float[] features = Golden.features(pack);
                features[pack.features() - 1] = bad;
                Check.refuses(Status.FEATURES, () -> client.release(features, Golden.LABEL));
                Check.refuses(Status.FEATURES, () -> client.release(Golden.direct(features), Golden.LABEL));
            }
            float[] good = Golden.features(pack);
            Check.refuses(Status.FEATURES, () -> client.release(new float[good.length], Golden.LABEL));
            Check.refuses(Status.LABEL, () -> client.release(good, 12345));
            for (int length : new int[] {0, good.length - 1, good.length + 1}) {
                float[] other = Arrays.copyOf(good, length);
                Check.refuses(Status.DIMENSION, () -> client.release(other, Golden.LABEL));
                Check.refuses(Status.DIMENSION, () -> client.release(Golden.direct(other), Golden.LABEL));
            }
            client.release(good, Golden.LABEL); // none of that used the arm up
        }
    }

    private static void featureBuffers() {
        Pack pack = Golden.pack(Golden.CLASS);
        int bytes = 4 * pack.features();
        FloatBuffer foreign = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
                ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN).asFloatBuffer();
        ByteBuffer odd = ByteBuffer.allocateDirect(bytes + 1);
        odd.position(1);
        FloatBuffer misaligned = odd.slice().order(ByteOrder.nativeOrder()).asFloatBuffer();
        try (Client client = new Client(pack, Options.response(1.0).substitute(true))) {
            client.arm(Golden.budget());
            FloatBuffer heap = FloatBuffer.wrap(Golden.features(pack));
            Check.throwing(IllegalArgumentException.class, () -> client.release(heap, Golden.LABEL));
            Check.throwing(IllegalArgumentException.class, () -> client.release(foreign, Golden.LABEL));
            Check.refuses(Status.ARGUMENT, () -> client.release(misaligned, Golden.LABEL));
            client.release(Golden.direct(Golden.features(pack)).asReadOnlyBuffer(), Golden.LABEL);
        }
    }

    private static void featuresInLargerBuffers() {
        Pack pack = Golden.pack(Golden.CLASS);
        float[] features = Golden.features(pack);
        FloatBuffer larger = Pack.newFloats(features.length + 9);
        larger.put(Float.NaN);
        larger.put(features);
        larger.put(Float.NaN);
        larger.position(1).limit(1 + features.length);
        ScriptedEntropy.seed(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
        try (Client client = new Client(pack, Options.response(16.0))) {
            client.arm(Golden.budget());
            byte[] expected = client.release(features, Golden.LABEL).bytes();
            client.arm(Golden.budget());
            Check.equal(expected, client.release(larger, Golden.LABEL).bytes());
            client.arm(Golden.budget());
            Check.equal(expected, client.release(larger.slice(), Golden.LABEL).bytes());
            Check.equal(1, larger.position());
            Check.equal(1 + features.length, larger.limit());
        } finally {
            ScriptedEntropy.count();
        }
    }

    private static void substitute() {
        Pack pack = Golden.pack(Golden.CLASS);
        float[] good = Golden.features(pack);
        float[] bad = good.clone();
        bad[3] = Float.NaN;
        for (Options options : new Options[] {Options.response(1.0), Options.gaussian(1.0, 1e-5)}) {
            try (Client client = new Client(pack, options.substitute(true))) {
                Budget budget = Golden.budget();
                client.arm(budget);
                int length = client.release(good, Golden.LABEL).bytes().length;
                client.arm(budget);
                Check.equal(length, client.release(bad, Golden.LABEL).bytes().length);
                client.arm(budget);
                Check.equal(length, client.release(good, 12345).bytes().length);
                client.arm(budget);
                Check.refuses(Status.DIMENSION, () -> client.release(new float[1], Golden.LABEL));
            }
        }
    }

    // ---- order and outside world ----

    private static void states() {
        Pack pack = Golden.pack(Golden.CLASS);
        float[] features = Golden.features(pack);
        Budget budget = Golden.budget();
        try (Client client = new Client(pack, Options.response(0.5))) {
            Check.refuses(Status.STATE, () -> client.release(features, Golden.LABEL));
            Check.refuses(Status.STATE, () -> client.disarm(budget));
            client.arm(budget);
            Check.refuses(Status.STATE, () -> client.arm(budget));
            Check.equal(0.5, budget.remaining().epsilonSpent());
            client.release(features, Golden.LABEL);
            Check.refuses(Status.STATE, () -> client.release(features, Golden.LABEL));
            Check.refuses(Status.STATE, () -> client.disarm(budget));
            client.arm(budget);
            client.disarm(budget);
            Check.equal(0.5, budget.remaining().epsilonSpent());
            Check.refuses(Status.STATE, () -> client.release(features, Golden.LABEL));
            client.arm(budget);
            client.wipe();
            Check.equal(1.0, budget.remaining().epsilonSpent());
            Check.refuses(Status.STATE, () -> client.release(features, Golden.LABEL));
            Check.equal(0.5, client.receipt().epsilon());
            Check.equal(Mechanism.RESPONSE, client.receipt().mechanism());
            Check.that(client.receipt().keep() > 0.0 && client.receipt().keep() < 1.0, "keep is a probability");
        }
    }

    private static void entropy() {
        Pack pack = Golden.pack(Golden.CLASS);
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        byte[] before = store.bytes;
        try (Client client = new Client(pack, Options.response(1.0))) {
            ScriptedEntropy.fail();
            Check.refuses(Status.ENTROPY, () -> client.arm(budget));
            ScriptedEntropy.stuck();
            Check.refuses(Status.ENTROPY, () -> client.arm(budget));
            Check.equal(0.0, budget.remaining().epsilonSpent());
            Check.equal(before, store.bytes);
            ScriptedEntropy.count();
            Check.refuses(Status.STATE, () -> client.release(Golden.features(pack), Golden.LABEL));
            client.arm(budget);
        } finally {
            ScriptedEntropy.count();
        }
    }

    private static void releases() {
        Pack pack = Golden.pack(Golden.CLASS);
        try (Client client = new Client(pack, Options.response(1.0))) {
            client.arm(Golden.budget());
            byte[] bytes = client.release(Golden.features(pack), Golden.LABEL).bytes();
            Check.equal(pack.slots(), pack.rows(bytes).length);
            Check.refuses(Status.RELEASE, () -> pack.rows(new byte[0]));
            Check.refuses(Status.RELEASE, () -> pack.rows(Arrays.copyOf(bytes, bytes.length - 1)));
            Check.refuses(Status.RELEASE, () -> pack.rows(changed(bytes, 0)));
            Check.refuses(Status.PACK_ID, () -> Golden.pack(Golden.ONE).rows(bytes));
        }
    }

    private static void shim() {
        Pack pack = Golden.pack(Golden.CLASS);
        int size = Native.clientSize(pack, pack.view(), 1, null);
        ByteBuffer memory = ByteBuffer.allocateDirect(size);
        Check.refuses(Status.MEMORY, () -> PrivateMailException.check(
                Native.clientInit(pack, pack.view(), memory, size - 1, 1, 1.0, 0.0, 0, false, null)));
        Check.refuses(Status.MECHANISM, () -> PrivateMailException.check(
                Native.clientInit(pack, pack.view(), memory, size, 3, 1.0, 0.0, 0, false, null)));
        PrivateMailException.check(Native.clientInit(pack, pack.view(), memory, size, 1, 1.0, 0.0, 0, false, null));
        Budget budget = Golden.budget();
        PrivateMailException.check(Native.settle(null, memory, budget, budget.bytes(), Native.ARM));
        ByteBuffer out = ByteBuffer.allocateDirect(1);
        Check.refuses(Status.BUFFER, () -> PrivateMailException.check(Native.release(null, memory,
                Golden.direct(Golden.features(pack)), 0, pack.features(), Golden.LABEL, 0, out, 1)));
        Check.refuses(Status.MODALITY, () -> PrivateMailException.check(Native.release(null, memory,
                Golden.direct(Golden.features(pack)), 0, pack.features(), Golden.LABEL, 1, out, 1)));
    }

    private static void nulls() {
        Pack pack = Golden.pack(Golden.CLASS);
        Check.throwing(NullPointerException.class, () -> Pack.open(null, null));
        Check.throwing(NullPointerException.class, () -> pack.rows(null));
        Check.throwing(NullPointerException.class, () -> new Client(null, Options.response(1.0)));
        Check.throwing(NullPointerException.class, () -> new Client(pack, null));
        Check.throwing(NullPointerException.class, () -> Golden.budget(null));
        Check.throwing(NullPointerException.class, () -> Budget.open(new MemoryStore(), Golden.OWNER, null));
        try (Client client = new Client(pack, Options.response(1.0))) {
            Check.throwing(NullPointerException.class, () -> client.arm(null));
            Check.throwing(NullPointerException.class, () -> client.disarm(null));
            Check.throwing(NullPointerException.class, () -> client.release((float[]) null, 0));
            Check.throwing(NullPointerException.class, () -> client.release((FloatBuffer) null, 0));
            Check.throwing(NullPointerException.class,
                    () -> client.answer(null, Golden.features(pack), 0, Client.Scope.OWN_SLOT, 1));
        }
    }

    private static void arithmetic() {
        double reached = PrivateMail.curve(4.0, 0.02);
        Check.that(Math.abs(reached - 0.53) < 0.005, "the README says 0.53");
        Check.that(Math.abs(PrivateMail.curveEpsilon(0.02, reached) - 4.0) < 1e-9, "the inverse");
        Check.that(Double.isNaN(PrivateMail.curve(-1.0, 0.5)), "a curve below zero");
        Check.that(Double.isNaN(PrivateMail.curveEpsilon(0.0, 0.5)), "a share of nothing");
        Check.that(PrivateMail.version().matches("\\d+\\.\\d+\\.\\d+"), PrivateMail.version());
    }
}
