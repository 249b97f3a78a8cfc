// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

/** Arming: what is paid for, when the making of a message is refused or fails. */
final class ArmingTest {
    private static final double PRICE = 4.0;

    private ArmingTest() {}

    private interface Test {
        void run(Budget budget, Arming arming, Client client) throws Exception;
    }

    static void run() {
        test("a query that is refused leaves it armed", ArmingTest::refused);
        test("an error before the message is made is paid back", ArmingTest::before);
        test("an error after it was made is not, and the next message is made", ArmingTest::after);
        test("an error whose refund cannot be stored", ArmingTest::notStored);
        Check.test("arming: errors around a crowd's bundles", ArmingTest::bundle);
    }

    private static void test(String name, Test test) {
        Check.test("arming: " + name, () -> {
            Budget budget = Golden.budget();
            try (Client client = new Client(Golden.pack(Golden.CLASS), Options.response(PRICE))) {
                test.run(budget, new Arming(budget), client);
            }
        });
    }

    private static Release make(Client client) {
        return client.release(Golden.features(client.pack()), Golden.LABEL);
    }

    private static void spent(Budget budget, int messages) {
        Check.equal(messages * PRICE, budget.remaining().epsilonSpent());
    }

    private static void refused(Budget budget, Arming arming, Client client) {
        float[] zeros = new float[client.pack().features()];
        Check.refuses(Status.FEATURES, () -> arming.use(client, null, () -> client.release(zeros, Golden.LABEL)));
        spent(budget, 1);
        arming.use(client, null, () -> make(client));
        spent(budget, 1);
    }

    private static void before(Budget budget, Arming arming, Client client) {
        OutOfMemoryError failure = new OutOfMemoryError("of the test");
        Check.that(failure == Check.throwing(OutOfMemoryError.class, () -> arming.use(client, null, () -> {
            throw failure;
        })), "another error");
        spent(budget, 0);
        arming.use(client, null, () -> make(client));
        spent(budget, 1);
    }

    private static void after(Budget budget, Arming arming, Client client) {
        Check.throwing(OutOfMemoryError.class, () -> arming.use(client, null, () -> {
            make(client);
            throw new OutOfMemoryError("of the test");
        }));
        spent(budget, 1);
        arming.use(client, null, () -> make(client));
        spent(budget, 2);
    }

    private static void notStored(Budget unused, Arming unusedToo, Client client) {
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        Arming arming = new Arming(budget);
        Error failure = Check.throwing(OutOfMemoryError.class, () -> arming.use(client, null, () -> {
            store.before = () -> {
                throw new OutOfMemoryError("of the store");
            };
            throw new OutOfMemoryError("of the test");
        }));
        Check.equal("of the test", failure.getMessage());
        store.before = () -> {};
        spent(budget, 1);
        arming.use(client, null, () -> make(client));
        spent(budget, 2);
    }

    private static void bundle() {
        Budget budget = Golden.budget();
        Arming arming = new Arming(budget);
        Options options = Options.crowd(8.0, Crowd.of(1000, 0.5, 8).booked(1e-12, 0.03));
        try (Client client = new Client(Golden.pack(Golden.CLASS), options)) {
            Check.throwing(OutOfMemoryError.class, () -> arming.use(client, CrowdBundle.Kind.IDLE, () -> {
                client.idleBundle();
                throw new OutOfMemoryError("of the test");
            }));
            arming.use(client, CrowdBundle.Kind.IDLE, client::idleBundle);
            float[] features = Golden.features(client.pack());
            Check.throwing(OutOfMemoryError.class, () -> arming.use(client, CrowdBundle.Kind.QUERY, () -> {
                throw new OutOfMemoryError("of the test");
            }));
            Check.equal(0.0, budget.remaining().floorSpent());
            arming.use(client, CrowdBundle.Kind.QUERY, () -> client.bundle(features, Golden.LABEL));
            Check.equal(8.0, budget.remaining().floorSpent());
        }
    }
}
