// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import android.content.SharedPreferences;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;

/** Budgets and their stores, but for files. */
final class StoreTest {
    private static final Pack PACK = Golden.pack(Golden.CLASS);

    private StoreTest() {}

    static void run() {
        Check.test("budget: caps, damage, another owner", StoreTest::budgets);
        Check.test("budget: version 1 is read, and becomes version 2 with the next charge", StoreTest::upgraded);
        Check.test("budget: spent to the last, and not beyond", StoreTest::spent);
        Check.test("budget: disarm refunds only to the one that paid", StoreTest::refund);
        Check.test("store: an exception in arm is the cause of PERSIST; nothing is charged", StoreTest::failingArm);
        Check.test("store: an exception in disarm loses the price, and the arm", StoreTest::failingDisarm);
        Check.test("store: an error, and a failure in open, become PERSIST too", StoreTest::failingOpen);
        Check.test("store: a budget that does not fit its store any more is refused", StoreTest::changedBehindTheBack);
        Check.test("store: one that failed after it had stored gains nothing", StoreTest::failureAfterStoring);
        Check.test("store: calls from inside are refused, all of them, and harm nothing", StoreTest::callsFromInside);
        Check.test("preferences: kept, committed, damaged, failing", StoreTest::preferences);
    }

    private static void budgets() {
        Budget.Caps caps = Budget.Caps.of(1.0, 0.0, 0.0);
        MemoryStore store = new MemoryStore();
        Check.refuses(Status.EPSILON, () -> Budget.open(store, Golden.OWNER, Budget.Caps.of(-1.0, 0.0, 0.0)));
        Check.refuses(Status.EPSILON, () -> Budget.open(store, Golden.OWNER, Budget.Caps.of(4096.0, 0.0, 0.0)));
        Check.refuses(Status.DELTA, () -> Budget.open(store, Golden.OWNER, Budget.Caps.of(1.0, 0.0, 1e-5)));
        Check.refuses(Status.DELTA, () -> Budget.open(store, Golden.OWNER, Budget.Caps.of(1.0, 1.0, 0.0)));
        Check.that(store.bytes == null, "a refused budget was stored");
        Check.throwing(IllegalArgumentException.class, () -> Budget.open(store, new byte[15], caps));
        Budget.open(store, Golden.OWNER, caps);
        byte[] good = store.bytes;
        Check.equal(1.0, Budget.open(store, Golden.OWNER, Budget.Caps.of(9.0, 0.0, 0.0)).remaining().epsilonCap());
        Check.refuses(Status.BUDGET, () -> Budget.open(store, new byte[16], caps));
        for (byte[] bad : new byte[][] {new byte[0], new byte[64], new byte[1000], damaged(good)}) {
            store.bytes = bad;
            Check.refuses(Status.BUDGET, () -> Budget.open(store, Golden.OWNER, caps));
            Check.equal(bad, store.bytes);
        }
    }

    /** Two golden budgets are of version 1 and have something left. */
    private static void upgraded() {
        int upgraded = 0;
        for (String[] fields : Golden.lines("budget")) {
            MemoryStore store = new MemoryStore();
            store.bytes = Hex.bytes(fields[0]);
            Budget.Caps caps = Budget.Caps.of(1.0, 0.0, 0.0).crowd(9.0, 1.0, 1e-5);
            Budget budget = Budget.open(store, Hex.bytes(fields[1]), caps);
            Budget.Remaining before = budget.remaining();
            if (store.bytes.length != 64 || before.epsilonCap() == 0.0) {
                continue;
            }
            try (Client client = new Client(PACK, Options.response(0.25)); Client crowd =
                    new Client(PACK, Options.crowd(1.0, Crowd.of(1000, 0.5, 8)))) {
                client.arm(budget);
                Check.equal(112, store.bytes.length);
                Check.refuses(Status.SPENT, () -> crowd.armBundle(budget, CrowdBundle.Kind.QUERY)); // it gained no crowd
            }
            Budget.Remaining after = Budget.open(store, Hex.bytes(fields[1]), caps).remaining();
            Check.equal(before.epsilonCap(), after.epsilonCap());
            Check.equal(before.epsilonSpent() + 0.25, after.epsilonSpent());
            Check.equal(before.mu2Spent(), after.mu2Spent());
            Check.equal(0.0, after.floorCap() + after.crowdMu2Cap() + after.crowdDelta0Cap() + after.crowdDelta());
            upgraded++;
        }
        Check.equal(2, upgraded);
    }

    private static byte[] damaged(byte[] bytes) {
        byte[] copy = bytes.clone();
        copy[44] ^= 1;
        return copy;
    }

    private static void spent() {
        Budget budget = Budget.open(new MemoryStore(), Golden.OWNER, Budget.Caps.of(1.0, 0.0, 0.0));
        try (Client half = new Client(PACK, Options.response(0.5)); Client gaussian =
                new Client(PACK, Options.gaussian(0.5, 1e-5))) {
            for (int i = 0; i < 2; i++) {
                half.arm(budget);
                half.release(Golden.features(PACK), Golden.LABEL);
            }
            Check.refuses(Status.SPENT, () -> half.arm(budget));
            Check.refuses(Status.SPENT, () -> gaussian.arm(budget));
            Check.equal(1.0, budget.remaining().epsilonSpent());
        }
    }

    private static void refund() {
        Budget paying = Golden.budget();
        Budget other = Budget.open(new MemoryStore(), new byte[16], Budget.Caps.of(4000.0, 250.0, 1e-5));
        try (Client client = new Client(PACK, Options.gaussian(0.5, 1e-5)); Client second =
                new Client(PACK, Options.gaussian(0.5, 1e-5))) {
            second.arm(other);
            double price = other.remaining().mu2Spent();
            client.arm(paying);
            Check.refuses(Status.BUDGET, () -> client.disarm(other));
            Check.equal(price, other.remaining().mu2Spent());
            client.disarm(paying);
            Check.equal(0.0, paying.remaining().mu2Spent());
        }
    }

    private static void failingArm() {
        IOException failure = new IOException("the disk is gone");
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        byte[] stored = store.bytes;
        store.before = () -> {
            throw failure;
        };
        try (Client client = new Client(PACK, Options.response(1.0))) {
            PrivateMailException thrown = Check.refuses(Status.PERSIST, () -> client.arm(budget));
            Check.that(thrown.getCause() == failure, "the cause is " + thrown.getCause());
            Check.equal(0.0, budget.remaining().epsilonSpent());
            Check.equal(stored, store.bytes);
            Check.refuses(Status.STATE, () -> client.release(Golden.features(PACK), Golden.LABEL));
            store.before = () -> {};
            client.arm(budget);
            Check.equal(1.0, budget.remaining().epsilonSpent());
        }
    }

    private static void failingDisarm() {
        IOException failure = new IOException("the disk is gone");
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        try (Client client = new Client(PACK, Options.response(1.0))) {
            client.arm(budget);
            store.before = () -> {
                throw failure;
            };
            Check.that(Check.refuses(Status.PERSIST, () -> client.disarm(budget)).getCause() == failure, "the cause");
            Check.equal(1.0, budget.remaining().epsilonSpent());
            Check.refuses(Status.STATE, () -> client.release(Golden.features(PACK), Golden.LABEL));
            Check.refuses(Status.STATE, () -> client.disarm(budget));
        }
    }

    private static void failingOpen() {
        MemoryStore store = new MemoryStore();
        Error error = new StackOverflowError("an error");
        store.before = () -> {
            throw error;
        };
        Check.that(Check.refuses(Status.PERSIST, () -> Golden.budget(store)).getCause() == error, "the cause");
        store.before = () -> {};
        Budget budget = Golden.budget(store);
        store.before = () -> {
            throw error;
        };
        try (Client client = new Client(PACK, Options.response(1.0))) {
            Check.that(Check.refuses(Status.PERSIST, () -> client.arm(budget)).getCause() == error, "the cause");
        }
    }

    private static void changedBehindTheBack() {
        MemoryStore store = new MemoryStore();
        Budget first = Golden.budget(store);
        Budget second = Golden.budget(store);
        try (Client client = new Client(PACK, Options.response(1.0)); Client late =
                new Client(PACK, Options.response(1.0))) {
            client.arm(first);
            Check.refuses(Status.PERSIST, () -> late.arm(second));
            Check.equal(0.0, second.remaining().epsilonSpent());
            Budget anew = Golden.budget(store);
            late.arm(anew);
            Check.equal(2.0, anew.remaining().epsilonSpent());
            Check.refuses(Status.PERSIST, () -> client.disarm(first));
            Check.equal(2.0, Golden.budget(store).remaining().epsilonSpent());
            store.bytes = null;
            Check.refuses(Status.PERSIST, () -> late.disarm(anew));
        }
    }

    private static void failureAfterStoring() {
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        store.after = () -> {
            throw new IOException("too late");
        };
        try (Client client = new Client(PACK, Options.response(1.0))) {
            Check.refuses(Status.PERSIST, () -> client.arm(budget));
            store.after = () -> {};
            Check.refuses(Status.PERSIST, () -> client.arm(budget)); // memory and store differ
            Budget anew = Golden.budget(store);
            Check.equal(1.0, anew.remaining().epsilonSpent());
            client.arm(anew);
            Check.equal(2.0, anew.remaining().epsilonSpent());
        }
    }

    private static void callsFromInside() {
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        Budget other = Golden.budget();
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        try (Client client = new Client(PACK, Options.response(1.0)); Client second =
                new Client(PACK, Options.response(1.0))) {
            Check.Action[] calls = {client::close, client::wipe, second::close, () -> client.arm(budget),
                () -> client.disarm(budget), () -> second.arm(budget), () -> second.arm(other), budget::remaining,
                () -> client.release(Golden.features(PACK), Golden.LABEL), () -> Golden.budget(store)};
            store.before = () -> {
                for (Check.Action call : calls) {
                    try {
                        Check.refuses(Status.STATE, call);
                    } catch (Throwable failure) {
                        wrong.set(failure);
                    }
                }
            };
            client.arm(budget);
            Check.that(wrong.get() == null, "a call was not refused: " + wrong.get());
            Check.equal(1.0, budget.remaining().epsilonSpent());
            client.release(Golden.features(PACK), Golden.LABEL);
            store.before = client::close; // whose refusal leaves the store
            Throwable cause = Check.refuses(Status.PERSIST, () -> client.arm(budget)).getCause();
            Check.equal(Status.STATE, ((PrivateMailException) cause).status());
            Check.equal(1.0, budget.remaining().epsilonSpent());
        }
    }

    // ---- preferences ----

    /** One entry in memory. Like Android's, it shows a change at once, whether the disk takes it or not. */
    private static final class OnePreference implements SharedPreferences, SharedPreferences.Editor {
        private String key;
        private String value;
        private String edited;
        private boolean diskIsFull;

        @Override
        public String getString(String name, String otherwise) {
            return name.equals(key) ? value : otherwise;
        }

        @Override
        public Editor edit() {
            return this;
        }

        @Override
        public Editor putString(String name, String text) {
            key = name;
            edited = text;
            return this;
        }

        @Override
        public boolean commit() {
            value = edited;
            return !diskIsFull;
        }
    }

    private static Budget open(SharedPreferences preferences) {
        return Golden.budget(new PreferencesBudgetStore(preferences, "budget"));
    }

    private static void preferences() {
        OnePreference preferences = new OnePreference();
        try (Client client = new Client(PACK, Options.response(1.0))) {
            client.arm(open(preferences));
            Check.equal(224, preferences.value.length());
            Budget budget = open(preferences);
            Budget stale = open(preferences);
            Check.equal(1.0, budget.remaining().epsilonSpent());
            client.wipe();
            client.arm(budget);
            client.wipe();
            Check.refuses(Status.PERSIST, () -> client.arm(stale));
            preferences.diskIsFull = true;
            Throwable cause = Check.refuses(Status.PERSIST, () -> client.arm(budget)).getCause();
            Check.that(cause instanceof IOException, "the cause is " + cause);
            preferences.diskIsFull = false;
            Check.equal(3.0, open(preferences).remaining().epsilonSpent());
            String good = preferences.value;
            for (String bad : new String[] {"", "zz", good.substring(1), good.substring(2), good + "0", good + "00"}) {
                preferences.value = bad;
                Check.refuses(Status.BUDGET, () -> open(preferences));
                Check.equal(bad, preferences.value);
            }
        }
    }
}
