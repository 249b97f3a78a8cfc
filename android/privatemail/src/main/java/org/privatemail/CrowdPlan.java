// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.nio.ByteBuffer;

/** The policy with fewest fakes that reaches a {@link Goal}. Nothing of it touches a query. */
public final class CrowdPlan {
    /** Numbers that the native library hands over. */
    private static final int NUMBERS = 8;

    private final double[] numbers;

    private CrowdPlan(double[] numbers) {
        this.numbers = numbers;
    }

    /** The policy, not yet {@link Crowd#promising}. */
    @NonNull
    public Crowd crowd() {
        return Crowd.of((long) numbers[0], numbers[1], (int) numbers[2]).own((int) numbers[3])
                .relayClusters(numbers[4]);
    }

    /** Mean fakes per client, or, when the relay makes them, per epoch. */
    public double fakes() {
        return numbers[5];
    }

    /** δ of the policy at the ε asked for. */
    public double delta() {
        return numbers[6];
    }

    /** Whether fakes are needed: false when the floor alone keeps the promise. */
    public boolean needed() {
        return numbers[7] != 0.0;
    }

    /** What is asked of a crowd. An immutable value: {@link #of}, then who makes the fakes and the rest. */
    public static final class Goal {
        private final Crowd.Use use;
        private final double epsilon;
        private final double delta;
        private final long clients;
        private final boolean relay;
        private final double honest;
        private final int copiesMax;
        private final int own;

        private Goal(Crowd.Use use, double epsilon, double delta, long clients, boolean relay, double honest,
                     int copiesMax, int own) {
            this.use = use;
            this.epsilon = epsilon;
            this.delta = delta;
            this.clients = clients;
            this.relay = relay;
            this.honest = honest;
            this.copiesMax = copiesMax;
            this.own = own;
        }

        /**
         * (ε, δ) for all queries of one person. Half of the clients are counted on, clusters have up to 8 messages,
         * and a bundle has one own message, unless said otherwise.
         *
         * @param epsilon 2^-20 to 16
         * @param delta 2^-50 to below 1
         */
        @NonNull
        public static Goal of(@NonNull Crowd.Use use, double epsilon, double delta) {
            return new Goal(use, epsilon, delta, 0, false, 0.5, 8, 1);
        }

        /** One query: {@link Crowd.Use#of}. */
        @NonNull
        public static Goal of(int cells, double floor, double epsilon, double delta) {
            return of(Crowd.Use.of(cells, floor), epsilon, delta);
        }

        /** The clients make the fakes; so many are promised per epoch, 1 to 2^32. */
        @NonNull
        public Goal clients(long clients) {
            return new Goal(use, epsilon, delta, clients, false, honest, copiesMax, own);
        }

        /** The relay makes all fakes; no client is counted on. */
        @NonNull
        public Goal relay() {
            return new Goal(use, epsilon, delta, 0, true, honest, copiesMax, own);
        }

        /** The share of the promised clients that the plan counts on, above 0 to 1. */
        @NonNull
        public Goal honest(double honest) {
            return new Goal(use, epsilon, delta, clients, relay, honest, copiesMax, own);
        }

        /** The largest cluster, 1 to 64. Large clusters need fewer fakes, and more when clients stay away. */
        @NonNull
        public Goal copiesMax(int copiesMax) {
            return new Goal(use, epsilon, delta, clients, relay, honest, copiesMax, own);
        }

        /** Own messages per bundle, 1 to 8. */
        @NonNull
        public Goal own(int own) {
            return new Goal(use, epsilon, delta, clients, relay, honest, copiesMax, own);
        }

        /**
         * Finds the policy. Takes milliseconds, and 2 MiB of memory while it runs.
         *
         * @throws PrivateMailException CROWD when the goal is out of range or no policy reaches it; EPSILON, DELTA
         */
        @NonNull
        public CrowdPlan plan() {
            ByteBuffer scratch = ByteBuffer.allocateDirect(Native.planScratch());
            double[] numbers = new double[NUMBERS];
            PrivateMailException.check(Native.crowdPlan(use.cells, use.queries, use.floor, clients, honest, epsilon,
                    delta, copiesMax, own, relay, scratch, scratch.capacity(), numbers));
            return new CrowdPlan(numbers);
        }
    }
}
