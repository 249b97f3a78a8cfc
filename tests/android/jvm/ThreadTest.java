// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** Eight threads at once. */
final class ThreadTest {
    private static final int THREADS = 8;
    private static final int ROUNDS = 2000;
    private static final Pack PACK = Golden.pack(Golden.CLASS);
    private static final float[] FEATURES = Golden.features(PACK);

    private ThreadTest() {}

    static void run() {
        Check.test("8 threads, one client: every arm is paid, every release is armed", ThreadTest::oneClient);
        Check.test("8 threads, one pack, one budget, a client each: the sum is exact", ThreadTest::oneBudget);
        Check.test("8 threads, a budget that lasts for some: not one release more", ThreadTest::scarceBudget);
        Check.test("8 threads, two budgets in both orders: no deadlock", ThreadTest::twoBudgets);
        Check.test("garbage is collected while calls run: none of it is theirs", ThreadTest::collected);
    }

    /** Nothing but the running call holds the pack: its memory must not be freed under it. */
    private static void collected() throws Exception {
        FutureTask<Void> collector = Check.start(() -> {
            while (!Thread.interrupted()) {
                System.gc();
                ByteBuffer.allocateDirect(4096).putLong(0, -1L); // takes the place of what was freed
            }
            return null;
        });
        ScriptedEntropy.seed(Golden.packBytes(Golden.CLASS)); // any 32 bytes
        try {
            byte[] first = collectable();
            for (int i = 0; i < 300; i++) {
                Check.equal(first, collectable());
            }
        } finally {
            collector.cancel(true);
            ScriptedEntropy.count();
        }
    }

    private static byte[] collectable() {
        Client client = new Client(Golden.pack(Golden.CLASS), Options.response(1.0));
        client.arm(Golden.budget());
        return client.release(FEATURES, Golden.LABEL).bytes();
    }

    /** The sum of what eight threads answer. */
    private static int inParallel(Callable<Integer> work) throws Exception {
        List<FutureTask<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            tasks.add(Check.start(work));
        }
        int sum = 0;
        for (FutureTask<Integer> task : tasks) {
            sum += Check.join(task);
        }
        return sum;
    }

    /** 1 when it went through, 0 when the status was the expected one. */
    private static int attempt(Status expected, Check.Action action) throws Exception {
        try {
            action.run();
            return 1;
        } catch (PrivateMailException refusal) {
            Check.equal(expected, refusal.status());
            return 0;
        }
    }

    private static void oneClient() throws Exception {
        Budget budget = Golden.budget();
        byte[] answer = Golden.answerBytes();
        try (Client client = new Client(PACK, Options.response(0.125))) {
            int[] releases = new int[1];
            int arms = inParallel(() -> {
                int paid = 0;
                for (int i = 0; i < ROUNDS; i++) {
                    paid += attempt(Status.STATE, () -> client.arm(budget));
                    int made = attempt(Status.STATE, () -> client.release(FEATURES, Golden.LABEL));
                    synchronized (releases) {
                        releases[0] += made;
                    }
                    if (i % 16 == 0) {
                        Check.equal(8, client.answer(new ByteArrayInputStream(answer), FEATURES, Golden.LABEL,
                                Client.Scope.ALL_SLOTS, 8).matches().size());
                    }
                }
                return paid;
            });
            Check.equal(arms * 0.125, budget.remaining().epsilonSpent());
            Check.that(arms == releases[0] || arms == releases[0] + 1, arms + " arms, " + releases[0] + " releases");
            Check.that(arms >= ROUNDS, "only " + arms + " arms");
        }
    }

    private static void oneBudget() throws Exception {
        Budget budget = Golden.budget();
        int releases = inParallel(() -> {
            int paid = 0;
            try (Client client = new Client(PACK, Options.response(0.125))) {
                for (int i = 0; i < ROUNDS; i++) {
                    client.arm(budget);
                    if (i % 4 == 0) {
                        client.disarm(budget);
                    } else {
                        client.release(FEATURES, Golden.LABEL);
                        paid++;
                    }
                }
            }
            return paid;
        });
        Check.equal(THREADS * ROUNDS * 3 / 4, releases);
        Check.equal(releases * 0.125, budget.remaining().epsilonSpent());
    }

    private static void scarceBudget() throws Exception {
        Budget budget = Budget.open(new MemoryStore(), Golden.OWNER, Budget.Caps.of(125.0, 0.0, 0.0));
        int releases = inParallel(() -> {
            int paid = 0;
            try (Client client = new Client(PACK, Options.response(0.125))) {
                while (attempt(Status.SPENT, () -> client.arm(budget)) == 1) {
                    client.release(FEATURES, Golden.LABEL);
                    paid++;
                }
            }
            return paid;
        });
        Check.equal(1000, releases);
        Check.equal(125.0, budget.remaining().epsilonSpent());
    }

    private static void twoBudgets() throws Exception {
        Budget first = Golden.budget();
        Budget second = Golden.budget();
        try (Client one = new Client(PACK, Options.response(0.125)); Client two =
                new Client(PACK, Options.response(0.125))) {
            int arms = inParallel(() -> {
                int paid = 0;
                for (int i = 0; i < ROUNDS; i++) {
                    Client client = i % 2 == 0 ? one : two;
                    Budget budget = i / 2 % 2 == 0 ? first : second;
                    paid += attempt(Status.STATE, () -> client.arm(budget));
                    client.wipe();
                }
                return paid;
            });
            double spent = first.remaining().epsilonSpent() + second.remaining().epsilonSpent();
            Check.equal(arms * 0.125, spent);
        }
    }
}
