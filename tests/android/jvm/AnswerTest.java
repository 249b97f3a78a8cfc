// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Answers that are not as they should be, and long ones. */
final class AnswerTest {
    private static final Pack PACK = Golden.pack(Golden.CLASS);
    private static final float[] FEATURES = Golden.features(PACK);

    private AnswerTest() {}

    static void run() {
        Check.test("answers: every truncation, something behind the end", AnswerTest::truncated);
        Check.test("answers: every byte of the structure changed is refused or read as sound", AnswerTest::changed);
        Check.test("answers: of another pack", AnswerTest::foreign);
        Check.test("answers: bad queries, bad limits", AnswerTest::queries);
        Check.test("answers: bad queries with substitute find nothing", AnswerTest::substitute);
        Check.test("answers: exactly the limit, and one byte more", AnswerTest::limit);
        Check.test("answers: longer than a chunk, payloads across chunks", AnswerTest::longAnswer);
        Check.test("answers: a stream that fails leaves the client as it was", AnswerTest::failingStream);
        Check.test("answers: a stream that says it read more than it was asked for", AnswerTest::lyingStream);
        Check.test("answers: bytes outside of an array are not read", AnswerTest::outsideOfAnArray);
    }

    private static Ranking ask(Client client, byte[] bytes) throws IOException {
        return client.answer(new ByteArrayInputStream(bytes), FEATURES, Golden.LABEL, Client.Scope.ALL_SLOTS, 8);
    }

    private static Client client() {
        return new Client(PACK, Options.response(1.0));
    }

    private static void truncated() throws IOException {
        byte[] bytes = Golden.answerBytes();
        try (Client client = client()) {
            for (int length = 0; length < bytes.length; length++) {
                byte[] part = Arrays.copyOf(bytes, length);
                Check.refuses(Status.ANSWER, () -> ask(client, part));
            }
            Check.refuses(Status.ANSWER, () -> ask(client, Arrays.copyOf(bytes, bytes.length + 1)));
            Check.that(ask(client, bytes).matches().size() == 8, "a sound answer after so many others");
        }
    }

    private static void changed() {
        byte[] bytes = Golden.answerBytes();
        int refused = 0;
        try (Client client = client()) {
            for (int at = 0; at < bytes.length; at++) {
                for (int change : new int[] {0x01, 0x20, 0x80, 0xFF}) {
                    byte[] other = bytes.clone();
                    other[at] ^= (byte) change;
                    try {
                        ask(client, other);
                    } catch (PrivateMailException refusal) {
                        Check.that(refusal.status() == Status.ANSWER || refusal.status() == Status.PACK_ID,
                                refusal.getMessage());
                        refused++;
                    } catch (IOException impossible) {
                        throw new AssertionError(impossible);
                    }
                }
            }
        }
        Check.that(refused > bytes.length / 2, "only " + refused + " were refused");
    }

    private static void foreign() {
        byte[] bytes = Golden.answerBytes();
        byte[] changed = bytes.clone();
        changed[5] ^= 1; // the id: behind the array's head, the version and the id's head
        Pack other = Golden.pack(Golden.RESPONSE_ONLY);
        try (Client client = client(); Client otherClient = new Client(other, Options.response(1.0).substitute(true))) {
            Check.refuses(Status.PACK_ID, () -> ask(client, changed));
            Check.refuses(Status.PACK_ID, () -> otherClient.answer(new ByteArrayInputStream(bytes),
                    Golden.features(other), 0, Client.Scope.ALL_SLOTS, 1));
        }
    }

    private static void queries() {
        InputStream never = new InputStream() {
            @Override
            public int read() {
                throw new AssertionError("the stream is read though the query is bad");
            }
        };
        float[] bad = FEATURES.clone();
        bad[0] = Float.NaN;
        Client.Scope own = Client.Scope.OWN_SLOT;
        try (Client client = client()) {
            Check.refuses(Status.FEATURES, () -> client.answer(never, bad, Golden.LABEL, own, 8));
            Check.refuses(Status.FEATURES, () -> client.answer(never, Golden.direct(bad), Golden.LABEL, own, 8));
            Check.refuses(Status.LABEL, () -> client.answer(never, FEATURES, 12345, own, 8));
            Check.refuses(Status.DIMENSION, () -> client.answer(never, new float[1], Golden.LABEL, own, 8));
            for (int limit : new int[] {-1, 0, Client.MATCHES_MAX + 1}) {
                Check.throwing(IllegalArgumentException.class,
                        () -> client.answer(never, FEATURES, Golden.LABEL, own, limit));
            }
            Check.throwing(NullPointerException.class, () -> client.answer(never, FEATURES, Golden.LABEL, null, 8));
        }
    }

    private static void substitute() throws IOException {
        byte[] bytes = Golden.answerBytes();
        float[] bad = FEATURES.clone();
        bad[0] = Float.NaN;
        try (Client client = new Client(PACK, Options.response(1.0).substitute(true))) {
            Ranking ranking = client.answer(new ByteArrayInputStream(bytes), bad, Golden.LABEL,
                    Client.Scope.ALL_SLOTS, 8);
            Check.equal(0, ranking.matches().size());
            Check.equal((long) bytes.length, ranking.bytes());
            Check.equal(8, ask(client, bytes).matches().size());
        }
    }

    private static void limit() throws IOException {
        byte[] bytes = Golden.answerBytes();
        try (Client exact = new Client(PACK, Options.response(1.0).answerLimit(bytes.length)); Client less =
                new Client(PACK, Options.response(1.0).answerLimit(bytes.length - 1))) {
            Check.equal(8, ask(exact, bytes).matches().size());
            Check.refuses(Status.ANSWER, () -> ask(less, bytes));
            Check.refuses(Status.ANSWER, () -> ask(exact, Arrays.copyOf(bytes, bytes.length + 1)));
        }
    }

    /** One slot after the other, the first with payloads that are all different; heads as in SPEC 3. */
    private static byte[] longAnswerBytes(int candidates, int payload) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] sound = Golden.answerBytes();
        out.write(sound, 0, 1 + 1 + 1 + 16); // array, version, id
        out.write(PACK.slots());
        int sketch = sound[20]; // below 24: its own head
        out.write(sketch);
        out.write(new byte[] {0x19, 0x7F, 0x00}); // N
        for (int slot = 0; slot < PACK.slots(); slot++) {
            int count = slot == 0 ? candidates : 0;
            out.write(new byte[] {(byte) 0x82, (byte) slot});
            out.write(count < 24 ? new byte[] {(byte) count} : new byte[] {0x18, (byte) count});
            for (int i = 0; i < count; i++) {
                out.write(0x84);
                out.write(i < 24 ? new byte[] {(byte) i} : new byte[] {0x18, (byte) i});
                out.write(new byte[] {0, (byte) (0x40 | sketch)});
                out.write(new byte[sketch]);
                out.write(new byte[] {0x59, (byte) (payload >> 8), (byte) payload});
                for (int at = 0; at < payload; at++) {
                    out.write(i * 31 + at * 7 + at / 251);
                }
            }
        }
        return out.toByteArray();
    }

    private static void longAnswer() throws IOException {
        int candidates = 40;
        int payload = 20_011;
        byte[] bytes = longAnswerBytes(candidates, payload);
        try (Client client = client()) {
            Ranking ranking = client.answer(new ByteArrayInputStream(bytes), FEATURES, Golden.LABEL,
                    Client.Scope.ALL_SLOTS, Client.MATCHES_MAX);
            Check.equal(candidates, ranking.matches().size());
            Check.equal((long) candidates, ranking.carried());
            for (Match match : ranking.matches()) {
                byte[] found = match.payload();
                Check.equal(payload, found.length);
                for (int at = 0; at < payload; at++) {
                    Check.that(found[at] == (byte) (match.item() * 31 + at * 7 + at / 251), "a byte of a payload");
                }
            }
        }
    }

    private static void failingStream() throws IOException {
        byte[] bytes = Golden.answerBytes();
        IOException failure = new IOException("the network is gone");
        try (Client client = client()) {
            Budget budget = Golden.budget();
            client.arm(budget);
            InputStream stream = new InputStream() {
                private int at;

                @Override
                public int read() throws IOException {
                    if (at == 100) {
                        throw failure;
                    }
                    return bytes[at++] & 255;
                }

                @Override
                public int read(byte[] out, int first, int count) throws IOException {
                    out[first] = (byte) read();
                    return 1;
                }
            };
            IOException thrown = Check.throwing(IOException.class,
                    () -> client.answer(stream, FEATURES, Golden.LABEL, Client.Scope.ALL_SLOTS, 8));
            Check.that(thrown == failure, "what the stream threw");
            Check.equal(8, ask(client, bytes).matches().size());
            client.release(FEATURES, Golden.LABEL); // armed still
        }
    }

    /** Says at its {@code lieAt}-th read that it filled {@code extra} bytes more than there is room for. */
    private static InputStream lying(byte[] bytes, int lieAt, int extra) {
        return new ByteArrayInputStream(bytes) {
            private int reads;

            @Override
            public synchronized int read(byte[] out, int first, int count) {
                int some = super.read(out, first, Math.min(count, 100));
                return ++reads == lieAt ? count + extra : some;
            }
        };
    }

    private static void lyingStream() throws IOException {
        byte[] bytes = Golden.answerBytes();
        try (Client client = client()) {
            for (int lieAt : new int[] {1, 2}) {
                for (int extra : new int[] {1, 5000, Integer.MAX_VALUE - (1 << 16)}) {
                    Check.throwing(IOException.class, () -> client.answer(lying(bytes, lieAt, extra), FEATURES,
                            Golden.LABEL, Client.Scope.ALL_SLOTS, 8));
                }
            }
            Check.equal(8, ask(client, bytes).matches().size());
        }
    }

    /** Sound bytes, then what no array has: nothing of that may reach the answer, and no call may follow the first. */
    private static void outsideOfAnArray() {
        byte[] bytes = Golden.answerBytes();
        ByteBuffer memory = ByteBuffer.allocateDirect(Native.clientSize(PACK, PACK.view(), 1, null));
        ByteBuffer matches = ByteBuffer.allocateDirect(Native.matchesSize(8));
        PrivateMailException.check(
                Native.clientInit(PACK, PACK.view(), memory, memory.capacity(), 1, 1.0, 0.0, 0, false, null));
        PrivateMailException.check(Native.answerBegin(null, memory, Golden.direct(FEATURES), 0, FEATURES.length,
                Golden.LABEL, 0, Client.Scope.ALL_SLOTS.ordinal(), matches, 8));
        for (int[] range : new int[][] {{-1, 10}, {-9000, 10_000}, {bytes.length, 1}, {0, bytes.length + 1}}) {
            Check.throwing(IndexOutOfBoundsException.class,
                    () -> Native.answerFeed(null, memory, bytes, range[0], range[1]));
        }
        PrivateMailException.check(Native.answerFeed(null, memory, bytes, 0, bytes.length));
        long[] summary = new long[4];
        PrivateMailException.check(Native.answerFinish(null, memory, summary, new double[1]));
        Check.equal((long) bytes.length, summary[3]);
    }
}
