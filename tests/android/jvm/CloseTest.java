// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/** The end of clients while they are in use, and what is left in their memory. */
final class CloseTest {
    private static final Pack PACK = Golden.pack(Golden.CLASS);
    private static final float[] FEATURES = Golden.features(PACK);

    private CloseTest() {}

    static void run() {
        Check.test("close: twice; every later call is refused; the receipt stays", CloseTest::closedIsClosed);
        Check.test("close: waits for an arm whose store is slow", CloseTest::closeWaitsForArm);
        Check.test("close: does not wait for a blocked stream; its answer fails", CloseTest::closeAbortsAnswer);
        Check.test("close: wakes an answer that waits for another", CloseTest::closeWakesWaitingAnswer);
        Check.test("a blocked stream lets other calls through; a second answer waits", CloseTest::blockedStream);
        Check.test("a buffer that is moved while its call waits is read where it was", CloseTest::movedBuffer);
        Check.test("wipe while an answer is read: it fails with STATE", CloseTest::wipeAbortsAnswer);
        Check.test("calls from a stream: release works, answer does not, close ends all", CloseTest::insideStream);
        Check.test("memory: features and matches are wiped by every call, all by close", CloseTest::memoryIsWiped);
    }

    /** A stream of an answer that waits before its first byte. */
    private static final class BlockedStream extends InputStream {
        final CountDownLatch reached = new CountDownLatch(1);
        final CountDownLatch opened = new CountDownLatch(1);
        private final InputStream rest = new ByteArrayInputStream(Golden.answerBytes());

        @Override
        public int read() {
            throw new AssertionError("byte by byte");
        }

        @Override
        public int read(byte[] out, int first, int count) throws java.io.IOException {
            reached.countDown();
            try {
                opened.await();
            } catch (InterruptedException impossible) {
                throw new AssertionError(impossible);
            }
            return rest.read(out, first, count);
        }
    }

    private static Client client() {
        return new Client(PACK, Options.response(1.0));
    }

    private static Ranking ask(Client client, InputStream stream) throws java.io.IOException {
        return client.answer(stream, FEATURES, Golden.LABEL, Client.Scope.ALL_SLOTS, 8);
    }

    private static Ranking ask(Client client) throws java.io.IOException {
        return ask(client, new ByteArrayInputStream(Golden.answerBytes()));
    }

    private static void closedIsClosed() {
        Budget budget = Golden.budget();
        Client client = client();
        client.arm(budget);
        client.close();
        client.close();
        Check.Action[] calls = {() -> client.arm(budget), () -> client.disarm(budget), client::wipe,
            () -> client.release(FEATURES, Golden.LABEL), () -> client.release(Golden.direct(FEATURES), Golden.LABEL),
            () -> ask(client)};
        for (Check.Action call : calls) {
            Check.throwing(IllegalStateException.class, call);
        }
        Check.equal(1.0, client.receipt().epsilon());
        Check.equal(1.0, budget.remaining().epsilonSpent());
    }

    private static void closeWaitsForArm() throws Exception {
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        CountDownLatch saving = new CountDownLatch(1);
        CountDownLatch finish = new CountDownLatch(1);
        store.before = () -> {
            saving.countDown();
            try {
                finish.await();
            } catch (InterruptedException impossible) {
                throw new AssertionError(impossible);
            }
        };
        Client client = client();
        FutureTask<Void> arm = Check.start(() -> {
            client.arm(budget);
            return null;
        });
        saving.await();
        FutureTask<Void> close = closing(client);
        Check.waits(close);
        finish.countDown();
        Check.join(arm);
        Check.join(close);
        Check.equal(1.0, budget.remaining().epsilonSpent());
        Check.that(isZero(memory(client, "memory")), "the client is not wiped");
    }

    private static FutureTask<Void> closing(Client client) {
        return Check.start(() -> {
            client.close();
            return null;
        });
    }

    private static void closeAbortsAnswer() throws Exception {
        Client client = client();
        BlockedStream stream = new BlockedStream();
        FutureTask<Ranking> answer = Check.start(() -> ask(client, stream));
        stream.reached.await();
        Check.join(closing(client));
        Check.that(isZero(memory(client, "memory")), "the client is not wiped");
        Check.that(isZero(memory(client, "matches")), "the matches are not wiped");
        Check.waits(answer);
        stream.opened.countDown();
        Check.throwing(IllegalStateException.class, () -> Check.join(answer));
        Check.that(isZero(memory(client, "memory")), "written after close");
    }

    private static void closeWakesWaitingAnswer() throws Exception {
        Client client = client();
        BlockedStream stream = new BlockedStream();
        FutureTask<Ranking> first = Check.start(() -> ask(client, stream));
        stream.reached.await();
        FutureTask<Ranking> second = Check.start(() -> ask(client));
        Check.waits(second);
        client.close();
        Check.throwing(IllegalStateException.class, () -> Check.join(second));
        stream.opened.countDown();
        Check.throwing(IllegalStateException.class, () -> Check.join(first));
    }

    private static void blockedStream() throws Exception {
        Budget budget = Golden.budget();
        try (Client client = client()) {
            BlockedStream stream = new BlockedStream();
            FutureTask<Ranking> first = Check.start(() -> ask(client, stream));
            stream.reached.await();
            client.arm(budget);
            client.release(FEATURES, Golden.LABEL);
            FutureTask<Ranking> second = Check.start(() -> ask(client));
            Check.waits(second);
            stream.opened.countDown();
            Check.equal(8, Check.join(first).matches().size());
            Check.equal(8, Check.join(second).matches().size());
        }
    }

    private static void movedBuffer() throws Exception {
        FloatBuffer features = Golden.direct(FEATURES);
        try (Client client = client()) {
            BlockedStream stream = new BlockedStream();
            FutureTask<Ranking> first = Check.start(() -> ask(client, stream));
            stream.reached.await();
            FutureTask<Ranking> second = new FutureTask<>(() -> client.answer(
                    new ByteArrayInputStream(Golden.answerBytes()), features, Golden.LABEL, Client.Scope.ALL_SLOTS, 8));
            Check.parks(second);
            features.position(features.limit());
            stream.opened.countDown();
            Check.equal(Check.join(first).matches().get(7).score(), Check.join(second).matches().get(7).score());
        }
    }

    private static void wipeAbortsAnswer() throws Exception {
        try (Client client = client()) {
            BlockedStream stream = new BlockedStream();
            FutureTask<Ranking> answer = Check.start(() -> ask(client, stream));
            stream.reached.await();
            client.wipe();
            stream.opened.countDown();
            Check.refuses(Status.STATE, () -> Check.join(answer));
            Check.equal(8, ask(client).matches().size());
        }
    }

    /** Calls something before its first byte. */
    private static InputStream calling(Check.Action action) {
        return new ByteArrayInputStream(Golden.answerBytes()) {
            private boolean called;

            @Override
            public synchronized int read(byte[] out, int first, int count) {
                if (!called) {
                    called = true;
                    try {
                        action.run();
                    } catch (Exception failure) {
                        throw new AssertionError(failure);
                    }
                }
                return super.read(out, first, count);
            }
        };
    }

    private static void insideStream() throws Exception {
        Client client = client();
        Ranking ranking = ask(client, calling(() -> {
            Check.refuses(Status.STATE, () -> ask(client));
            client.arm(Golden.budget());
            client.release(FEATURES, Golden.LABEL);
        }));
        Check.equal(8, ranking.matches().size());
        Check.throwing(IllegalStateException.class, () -> ask(client, calling(client::close)));
    }

    // ---- memory ----

    /** A private buffer of a client, whole. */
    private static ByteBuffer memory(Client client, String name) throws Exception {
        java.lang.reflect.Field field = Client.class.getDeclaredField(name);
        field.setAccessible(true);
        ByteBuffer buffer = ((ByteBuffer) field.get(client)).duplicate();
        buffer.clear();
        return buffer;
    }

    private static boolean isZero(ByteBuffer buffer) {
        while (buffer.hasRemaining()) {
            if (buffer.get() != 0) {
                return false;
            }
        }
        return true;
    }

    private static void requireWiped(Client client) throws Exception {
        java.lang.reflect.Field field = Client.class.getDeclaredField("copied");
        field.setAccessible(true);
        FloatBuffer copied = ((FloatBuffer) field.get(client)).duplicate();
        copied.clear();
        while (copied.hasRemaining()) {
            Check.that(Float.floatToRawIntBits(copied.get()) == 0, "features are left");
        }
    }

    private static void memoryIsWiped() throws Exception {
        float[] bad = FEATURES.clone();
        bad[bad.length - 1] = Float.NaN;
        Client client = client();
        client.arm(Golden.budget());
        Check.refuses(Status.FEATURES, () -> client.release(bad, Golden.LABEL));
        requireWiped(client);
        Check.refuses(Status.LABEL, () -> client.release(FEATURES, 12345));
        requireWiped(client);
        client.release(FEATURES, Golden.LABEL);
        requireWiped(client);
        Check.equal(8, ask(client, calling(() -> requireWiped(client))).matches().size());
        Check.that(isZero(memory(client, "matches")), "matches are left");
        Check.refuses(Status.FEATURES, () -> client.answer(new ByteArrayInputStream(new byte[0]), bad, Golden.LABEL,
                Client.Scope.ALL_SLOTS, 8));
        requireWiped(client);
        client.arm(Golden.budget());
        Check.that(!isZero(memory(client, "memory")), "an open client has memory");
        client.close();
        Check.that(isZero(memory(client, "memory")) && isZero(memory(client, "message")), "close left something");
    }
}
