// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * How to ask in a crowd: the app's choice, never a pack's. An immutable value: {@link #of}, or {@link CrowdPlan#crowd},
 * then what differs from the defaults.
 *
 * <pre>{@code
 * CrowdPlan plan = CrowdPlan.Goal.of(cells, floor, 0.1, 1e-9).clients(100_000).plan();
 * Crowd crowd = plan.crowd().promising(cells, 1e-9);
 * }</pre>
 *
 * Many people ask in one epoch through a relay that mixes their messages, and the server sees only the mixture. Among
 * the messages are fakes, in clusters of equal ones. The promise that follows from it holds if the relay mixes and does
 * not join the server, and at least {@link #clients} clients are honest; the floor, the client's ε, holds in any case.
 *
 * <p>{@code cells} are the symbols that a message chooses from: {@link Pack#slots} × {@link Pack#cells}. All results of
 * the accounting are rounded outward: the true ones are never above them. Ranges are checked when a {@link Client} is
 * made, and by the accounting.
 */
public final class Crowd {
    private final long clients;
    private final double clusters;
    private final int copies;
    private final int own;
    private final double relayClusters;
    private final boolean cover;
    private final double delta0;
    private final double mu;

    private Crowd(long clients, double clusters, int copies, int own, double relayClusters, boolean cover,
                  double delta0, double mu) {
        this.clients = clients;
        this.clusters = clusters;
        this.copies = copies;
        this.own = own;
        this.relayClusters = relayClusters;
        this.cover = cover;
        this.delta0 = delta0;
        this.mu = mu;
    }

    /**
     * A policy with one own message per bundle, no clusters of the relay, no cover, and no promise but the floor.
     *
     * @param clients honest clients per epoch that the promise counts on, 0 to 2^32
     * @param clusters mean clusters of fakes per client, 0 to 4; 0 when {@code clients} is 0
     * @param copies the largest size of a cluster, 1 to 64
     */
    @NonNull
    public static Crowd of(long clients, double clusters, int copies) {
        return new Crowd(clients, clusters, copies, 1, 0.0, false, 0.0, 0.0);
    }

    /** Own messages per bundle, 1 to 8 and at most the pack's cells: the drawn cell and its public list. */
    @NonNull
    public Crowd own(int own) {
        return new Crowd(clients, clusters, copies, own, relayClusters, cover, delta0, mu);
    }

    /** Mean clusters that the relay itself adds per epoch, 0 to 2^24. */
    @NonNull
    public Crowd relayClusters(double relayClusters) {
        return new Crowd(clients, clusters, copies, own, relayClusters, cover, delta0, mu);
    }

    /** Whether idle clients send own messages with uniform cells too. */
    @NonNull
    public Crowd cover(boolean cover) {
        return new Crowd(clients, clusters, copies, own, relayClusters, cover, delta0, mu);
    }

    /** What one own message is booked with, as {@link #mu(int, double)} found it earlier. */
    @NonNull
    public Crowd booked(double delta0, double mu) {
        return new Crowd(clients, clusters, copies, own, relayClusters, cover, delta0, mu);
    }

    /**
     * The same policy with its promise: every own message is booked with δ₀ and the μ that goes with it.
     *
     * @param delta0 2^-60 to 2^-10. Half of the δ that the budget's crowd cap has is for the sum of them
     * @throws PrivateMailException CROWD when the crowd is too small for it; DELTA
     */
    @NonNull
    public Crowd promising(int cells, double delta0) {
        return booked(delta0, mu(cells, delta0));
    }

    public long clients() {
        return clients;
    }

    public double clusters() {
        return clusters;
    }

    public int copies() {
        return copies;
    }

    public int own() {
        return own;
    }

    public double relayClusters() {
        return relayClusters;
    }

    public boolean cover() {
        return cover;
    }

    /** δ₀ of one own message; 0 when only the floor is promised. */
    public double delta0() {
        return delta0;
    }

    /** μ of one own message; 0 when only the floor is promised. */
    public double mu() {
        return mu;
    }

    /* ---- accounting ---- */

    /** What a policy is used for. */
    public static final class Use {
        final int cells;
        final int queries;
        final double floor;

        private Use(int cells, int queries, double floor) {
            this.cells = cells;
            this.queries = queries;
            this.floor = floor;
        }

        /**
         * One query.
         *
         * @param cells slots × cells of the pack, 2 to 2^20
         * @param floor ε₀ of a drawn cell, 2^-16 to 16; 0 for a kept cell that is sent again
         */
        @NonNull
        public static Use of(int cells, double floor) {
            return new Use(cells, 1, floor);
        }

        /** Queries of one person, each in an epoch of its own, 1 to 2^20. */
        @NonNull
        public Use queries(int queries) {
            return new Use(cells, queries, floor);
        }
    }

    /**
     * δ of the use at ε, 0 to 256.
     *
     * @throws PrivateMailException CROWD for a policy or use out of range, EPSILON
     */
    public double delta(@NonNull Use use, double epsilon) {
        return account(Native.DELTA_AT_EPSILON, use, epsilon);
    }

    /**
     * The least ε of the use for δ, 2^-60 to below 1: of the crowd, or of the floor when that is less.
     *
     * @throws PrivateMailException CROWD for a policy or use out of range, and when there are so few fakes that the
     *     crowd promises nothing; DELTA
     */
    public double epsilon(@NonNull Use use, double delta) {
        return account(Native.EPSILON_FOR_DELTA, use, delta);
    }

    /**
     * The μ that one own message is booked with next to δ₀, 2^-60 to 2^-10. A policy that was planned with δ has fakes for
     * that: one of δ = 1e-6 is often too small for δ₀ = 1e-9. Plan with δ = δ₀, or choose δ₀ from δ/1000 to δ/10.
     *
     * @throws PrivateMailException CROWD when the crowd is too small for it; DELTA
     */
    public double mu(int cells, double delta0) {
        return account(Native.MU_FOR_DELTA0, Use.of(cells, 0.0), delta0);
    }

    private double account(int what, Use use, double at) {
        ByteBuffer policy = policy();
        ByteBuffer scratch =
                ByteBuffer.allocateDirect(Native.crowdScratch(policy, use.cells, use.queries, use.floor));
        double[] found = new double[1];
        PrivateMailException.check(Native.crowdAccount(what, policy, use.cells, use.queries, use.floor, at, scratch,
                scratch.capacity(), found));
        return found[0];
    }

    /** The C library's form of it, in a buffer that nobody else has. */
    ByteBuffer policy() {
        ByteBuffer policy = ByteBuffer.allocateDirect(Native.crowdSize());
        Native.crowdFill(policy, clients, clusters, copies, own, relayClusters, cover, delta0, mu);
        return policy;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Crowd && toString().equals(other.toString());
    }

    @Override
    public int hashCode() {
        return Objects.hash(clients, clusters, copies, own, relayClusters, cover, delta0, mu);
    }

    @Override
    @NonNull
    public String toString() {
        return "clients=" + clients + " clusters=" + clusters + " copies=" + copies + " own=" + own
                + " relayClusters=" + relayClusters + " cover=" + cover + " delta0=" + delta0 + " mu=" + mu;
    }
}
