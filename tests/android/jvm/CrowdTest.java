// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Crowds: policies, plans, what bundles cost, and what is refused. The bytes are in GoldenTest. */
final class CrowdTest {
    private static final Pack PACK = Golden.pack(Golden.CLASS);
    private static final float[] FEATURES = Golden.features(PACK);
    private static final Crowd CROWD = Crowd.of(100_000, 0.5, 8).own(2).booked(1e-12, 0.03);

    private CrowdTest() {}

    static void run() {
        Check.test("crowd: policies out of range", CrowdTest::policies);
        Check.test("crowd: a plan, and what the policy gives", CrowdTest::plans);
        Check.test("crowd: plans and accounting out of range", CrowdTest::refusedPlans);
        Check.test("crowd: what each kind of bundle costs", CrowdTest::costs);
        Check.test("crowd: a full budget, and one without a crowd", CrowdTest::spent);
        Check.test("crowd: order of calls, and calls of the other sort", CrowdTest::states);
        Check.test("crowd: bad input leaves the client armed", CrowdTest::input);
        Check.test("crowd: a policy that changes is refused, and costs nothing", CrowdTest::changed);
        Check.test("crowd: caps out of range", CrowdTest::caps);
    }

    private static void refused(Options options) {
        Check.refuses(Status.CROWD, () -> new Client(PACK, options));
    }

    private static void policies() {
        Crowd[] bad = {CROWD.own(0), CROWD.own(PACK.cells() + 1), CROWD.own(9), CROWD.own(-1),
            Crowd.of(1000, 0.5, 65), Crowd.of(1000, 0.5, 0), Crowd.of(1000, 0.5, -1), Crowd.of(1000, Double.NaN, 8),
            Crowd.of(1000, -0.5, 8), Crowd.of(1000, 4.1, 8), Crowd.of(0, 0.5, 8), Crowd.of(-1, 0.5, 8),
            Crowd.of((1L << 32) + 1, 0.5, 8), Crowd.of(Long.MAX_VALUE, 0.5, 8), CROWD.relayClusters(Double.NaN),
            CROWD.relayClusters(-1.0), CROWD.relayClusters(1e9), CROWD.booked(0.0, 0.03), CROWD.booked(1e-12, 0.0),
            CROWD.booked(Double.NaN, 0.03), CROWD.booked(1e-12, Double.POSITIVE_INFINITY), CROWD.booked(0.5, 0.03)};
        for (Crowd crowd : bad) {
            refused(Options.crowd(8.0, crowd));
        }
        for (double floor : new double[] {0.0, -1.0, 16.1, 1e-6, Double.NaN}) {
            Check.refuses(Status.EPSILON, () -> new Client(PACK, Options.crowd(floor, CROWD)));
        }
        Check.throwing(NullPointerException.class, () -> Options.crowd(8.0, null));
        Check.equal(Options.crowd(8.0, CROWD), Options.crowd(8.0, CROWD.own(3).own(2)));
        Check.equal(CROWD.hashCode(), CROWD.own(3).own(2).hashCode());
        Check.that(!Options.crowd(8.0, CROWD).equals(Options.crowd(8.0, CROWD.cover(true))), "cover is no part of it");
        new Client(PACK, Options.crowd(8.0, CROWD.own(PACK.cells()).cover(true).relayClusters(7.0))).close();
    }

    private static void plans() {
        CrowdPlan.Goal goal = CrowdPlan.Goal.of(125, 8.0, 0.1, 1e-6).clients(100_000).honest(1.0).copiesMax(20);
        CrowdPlan plan = goal.plan();
        Crowd crowd = plan.crowd();
        Check.that(plan.needed() && plan.fakes() > 0.1 && plan.fakes() <= 0.36, "fakes " + plan.fakes());
        Check.that(plan.delta() <= 1e-6 && crowd.copies() <= 20 && crowd.own() == 1, crowd.toString());
        Crowd.Use use = Crowd.Use.of(125, 8.0);
        double epsilon = crowd.epsilon(use, 1e-6);
        Check.that(epsilon <= 0.1 && epsilon > 0.09, "epsilon " + epsilon);
        Check.that(crowd.delta(use, 0.1) <= 1e-6 && crowd.delta(use, 0.05) > 1e-6, "delta");
        Check.that(crowd.epsilon(use.queries(10), 1e-6) > 2 * epsilon, "ten queries cost more than one");
        Crowd promising = crowd.promising(125, 1e-10);
        Check.that(promising.mu() > 0.0 && promising.mu() < 1.0, "mu " + promising.mu());
        Check.equal(crowd.mu(125, 1e-10), promising.mu());
        Check.equal(1e-10, promising.delta0());
        CrowdPlan relay = CrowdPlan.Goal.of(125, 8.0, 0.1, 1e-6).copiesMax(20).relay().plan();
        Check.that(relay.fakes() <= 35_500.0 && relay.crowd().relayClusters() > 0.0, "fakes " + relay.fakes());
        Check.equal(0L, relay.crowd().clients());
        Check.equal(3, goal.own(3).plan().crowd().own());
        CrowdPlan idle = CrowdPlan.Goal.of(125, 1.0, 1.0, 1e-6).clients(1000).plan();
        Check.that(!idle.needed() && idle.fakes() == 0.0, "the floor alone keeps it");
    }

    private static void refusedPlans() {
        Crowd.Use use = Crowd.Use.of(125, 8.0);
        CrowdPlan.Goal goal = CrowdPlan.Goal.of(use, 0.1, 1e-6).clients(100_000);
        CrowdPlan.Goal[] bad = {goal.clients(0), goal.clients(-5), goal.clients(3), goal.clients(Long.MAX_VALUE),
            goal.honest(0.0), goal.honest(1.5), goal.honest(Double.NaN), goal.copiesMax(65), goal.copiesMax(0),
            goal.own(0), goal.own(9), CrowdPlan.Goal.of(1, 8.0, 0.1, 1e-6).clients(100_000),
            CrowdPlan.Goal.of(-1, 8.0, 0.1, 1e-6).clients(100_000),
            CrowdPlan.Goal.of(125, Double.NaN, 0.1, 1e-6).clients(100_000),
            CrowdPlan.Goal.of(use.queries(0), 0.1, 1e-6).clients(100_000)};
        for (CrowdPlan.Goal each : bad) {
            Check.refuses(Status.CROWD, each::plan);
        }
        for (double epsilon : new double[] {0.0, -1.0, Double.NaN, 17.0}) {
            Check.refuses(Status.EPSILON, () -> CrowdPlan.Goal.of(use, epsilon, 1e-6).clients(100_000).plan());
        }
        for (double delta : new double[] {0.0, 1.0, Double.NaN}) {
            Check.refuses(Status.DELTA, () -> CrowdPlan.Goal.of(use, 0.1, delta).clients(100_000).plan());
            Check.refuses(Status.DELTA, () -> CROWD.mu(125, delta));
        }
        Check.refuses(Status.EPSILON, () -> CROWD.delta(use, Double.NaN));
        Check.refuses(Status.DELTA, () -> CROWD.epsilon(use, 0.0));
        Check.refuses(Status.CROWD, () -> Crowd.of(1000, Double.NaN, 8).delta(use, 0.1));
        Check.refuses(Status.CROWD, () -> Crowd.of(1000, 0.5, 65).epsilon(use, 1e-6));
        Check.refuses(Status.CROWD, () -> CROWD.delta(Crowd.Use.of(0, 8.0), 0.1));
        Check.refuses(Status.CROWD, () -> Crowd.of(10, 0.0, 8).promising(125, 1e-12));
    }

    private static void costs() {
        MemoryStore store = new MemoryStore();
        Budget budget = Golden.budget(store);
        try (Client client = new Client(PACK, Options.crowd(8.0, CROWD))) {
            client.armBundle(budget, CrowdBundle.Kind.QUERY);
            Budget.Remaining query = budget.remaining();
            Check.equal(8.0, query.floorSpent());
            Check.that(Math.abs(query.crowdMu2Spent() - 2 * 0.03 * 0.03) < 1e-11, "mu² " + query.crowdMu2Spent());
            Check.that(Math.abs(query.crowdDelta0Spent() - 2e-12) < 1e-18, "δ₀ " + query.crowdDelta0Spent());
            client.disarm(budget);
            Check.equal(0.0, budget.remaining().floorSpent() + budget.remaining().crowdMu2Spent());
            client.armBundle(budget, CrowdBundle.Kind.QUERY);
            byte[] kept = client.bundle(FEATURES, Golden.LABEL).kept();
            client.armBundle(budget, CrowdBundle.Kind.KEPT);
            Check.equal(kept, client.keptBundle(kept).kept());
            Check.equal(8.0, budget.remaining().floorSpent());
            Check.equal(2 * query.crowdMu2Spent(), budget.remaining().crowdMu2Spent());
            client.armBundle(budget, CrowdBundle.Kind.IDLE);
            Check.that(client.idleBundle().kept() == null, "an idle bundle has something to keep");
            Check.equal(2 * query.crowdMu2Spent(), budget.remaining().crowdMu2Spent());
            Check.equal(0.0, budget.remaining().epsilonSpent() + budget.remaining().mu2Spent());
            Check.equal(112, store.bytes.length);
        }
    }

    private static void spent() {
        Budget.Caps caps = Budget.Caps.of(9.0, 0.0, 0.0);
        Budget budget = Budget.open(new MemoryStore(), Golden.OWNER, caps.crowd(8.0, 1.0, 1e-6));
        Budget none = Budget.open(new MemoryStore(), Golden.OWNER, caps);
        try (Client client = new Client(PACK, Options.crowd(8.0, CROWD)); Client unpromising =
                new Client(PACK, Options.crowd(1.0, Crowd.of(1000, 0.5, 8)))) {
            client.armBundle(budget, CrowdBundle.Kind.QUERY);
            byte[] kept = client.bundle(FEATURES, Golden.LABEL).kept();
            Budget.Remaining before = budget.remaining();
            Check.refuses(Status.SPENT, () -> client.armBundle(budget, CrowdBundle.Kind.QUERY)); // the floor is used up
            Check.refuses(Status.SPENT, () -> unpromising.armBundle(budget, CrowdBundle.Kind.KEPT));
            Check.refuses(Status.SPENT, () -> client.armBundle(none, CrowdBundle.Kind.QUERY));
            Check.equal(before.crowdMu2Spent(), budget.remaining().crowdMu2Spent());
            client.armBundle(budget, CrowdBundle.Kind.KEPT);
            client.keptBundle(kept);
        }
    }

    private static void states() {
        Budget budget = Golden.budget();
        try (Client client = new Client(PACK, Options.crowd(8.0, CROWD)); Client other =
                new Client(PACK, Options.response(1.0))) {
            Check.refuses(Status.STATE, () -> client.bundle(FEATURES, Golden.LABEL));
            Check.refuses(Status.STATE, client::idleBundle);
            Check.refuses(Status.CROWD, () -> client.arm(budget));
            Check.refuses(Status.CROWD, () -> other.armBundle(budget, CrowdBundle.Kind.QUERY));
            Check.equal(0.0, budget.remaining().epsilonSpent() + budget.remaining().floorSpent());
            other.arm(budget);
            Check.refuses(Status.CROWD, () -> other.bundle(FEATURES, Golden.LABEL));
            other.disarm(budget);
            client.armBundle(budget, CrowdBundle.Kind.IDLE);
            Check.refuses(Status.CROWD, () -> client.release(FEATURES, Golden.LABEL));
            Check.refuses(Status.STATE, () -> client.armBundle(budget, CrowdBundle.Kind.IDLE));
            Check.refuses(Status.ARGUMENT, () -> client.bundle(FEATURES, Golden.LABEL));
            client.idleBundle();
            Check.refuses(Status.STATE, client::idleBundle);
            Check.throwing(NullPointerException.class, () -> client.armBundle(null, CrowdBundle.Kind.IDLE));
            Check.throwing(NullPointerException.class, () -> client.armBundle(budget, null));
            Check.throwing(NullPointerException.class, () -> client.keptBundle(null));
        }
        Client closed = new Client(PACK, Options.crowd(8.0, CROWD));
        closed.close();
        Check.throwing(IllegalStateException.class, closed::idleBundle);
    }

    private static void input() {
        Budget budget = Golden.budget();
        float[] bad = FEATURES.clone();
        bad[1] = Float.NaN;
        try (Client client = new Client(PACK, Options.crowd(8.0, CROWD))) {
            client.armBundle(budget, CrowdBundle.Kind.QUERY);
            Check.refuses(Status.FEATURES, () -> client.bundle(bad, Golden.LABEL));
            Check.refuses(Status.LABEL, () -> client.bundle(FEATURES, 12345));
            Check.refuses(Status.DIMENSION, () -> client.bundle(new float[3], Golden.LABEL));
            Check.refuses(Status.ARGUMENT, () -> client.keptBundle(new byte[3]));
            CrowdBundle bundle = client.bundle(FEATURES, Golden.LABEL);
            byte[] kept = bundle.kept();
            Check.that(bundle.messages().size() >= 2, "there are two own messages");
            client.armBundle(budget, CrowdBundle.Kind.KEPT);
            Check.refuses(Status.RELEASE, () -> client.keptBundle(new byte[0]));
            Check.refuses(Status.RELEASE, () -> client.keptBundle(Arrays.copyOf(kept, kept.length - 1)));
            Check.refuses(Status.RELEASE, () -> client.keptBundle(bundle.bytes()));
            Check.refuses(Status.PACK_ID, () -> client.keptBundle(Hex.bytes(Golden.lines("bundle").get(0)[12])));
            Check.equal(kept, client.keptBundle(kept).kept());
        }
    }

    /** A {@link Crowd} never changes; here the buffer that the library looks at does, as no app can do it. */
    private static void changed() {
        ByteBuffer policy = CROWD.policy();
        ByteBuffer memory = ByteBuffer.allocateDirect(Native.clientSize(PACK, PACK.view(), 1, policy));
        PrivateMailException.check(Native.clientInit(PACK, PACK.view(), memory, memory.capacity(), 1, 8.0, 0.0, 0,
                false, policy));
        Budget budget = Golden.budget();
        Check.Action arm = () -> PrivateMailException.check(
                Native.settle(null, memory, budget, budget.bytes(), CrowdBundle.Kind.QUERY.code));
        Check.Action begin = () -> PrivateMailException.check(Native.bundleBegin(null, memory,
                Golden.direct(FEATURES), 0, FEATURES.length, Golden.LABEL, 0, null, 0));
        Native.crowdFill(policy, 100_000, 0.25, 8, 2, 0.0, false, 1e-12, 0.03);
        Check.refuses(Status.CROWD, arm);
        Check.equal(0.0, budget.remaining().floorSpent());
        Native.crowdFill(policy, 100_000, 0.5, 8, 2, 0.0, false, 1e-12, 0.03);
        PrivateMailException.check(Native.settle(null, memory, budget, budget.bytes(), CrowdBundle.Kind.QUERY.code));
        Native.crowdFill(policy, 100_000, 0.5, 64, 2, 0.0, false, 1e-12, 0.03);
        Check.refuses(Status.CROWD, begin);
        PrivateMailException.check(Native.settle(null, memory, budget, budget.bytes(), Native.DISARM));
        Check.equal(0.0, budget.remaining().floorSpent());
    }

    private static void caps() {
        Budget.Caps none = Budget.Caps.of(1.0, 0.0, 0.0);
        Object[][] bad = {
            {Status.EPSILON, none.crowd(-1.0, 1.0, 1e-6)}, {Status.EPSILON, none.crowd(4096.0, 1.0, 1e-6)},
            {Status.EPSILON, none.crowd(Double.NaN, 1.0, 1e-6)}, {Status.EPSILON, none.crowd(8.0, 17.0, 1e-6)},
            {Status.EPSILON, none.crowd(8.0, Double.NaN, 1e-6)}, {Status.DELTA, none.crowd(8.0, 1.0, 0.0)},
            {Status.DELTA, none.crowd(8.0, 1.0, 1.0)}, {Status.DELTA, none.crowd(8.0, 0.0, 1e-6)}};
        for (Object[] each : bad) {
            MemoryStore store = new MemoryStore();
            Check.refuses((Status) each[0], () -> Budget.open(store, Golden.OWNER, (Budget.Caps) each[1]));
            Check.that(store.bytes == null, "a refused budget was stored");
        }
    }
}
