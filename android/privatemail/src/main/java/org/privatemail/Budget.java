// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What a person has left, over all packs, servers and clients. May be shared by any number of clients and threads.
 *
 * <p>The caps are fixed when it is created: response releases add their ε up to one, Gaussian releases their μ² up to
 * the other. Together they bound everything ever released. Bundles of a crowd have caps of their own.
 *
 * <p>The stored bytes rule. Before a charge is stored, the store must still hold what this object last saw: if another
 * budget object or another process spent meanwhile, {@link Client#arm} fails with {@link Status#PERSIST}, nothing is
 * charged, and the budget is to be opened anew.
 */
public final class Budget {
    private static final int SIZE = 112;
    private static final int OWNER_SIZE = 16;

    /** Set in a thread while it runs a store's code. */
    private static final ThreadLocal<Boolean> INSIDE_STORE = new ThreadLocal<>();

    private final BudgetStore store;
    private final ReentrantLock lock = new ReentrantLock();
    private final ByteBuffer bytes = ByteBuffer.allocateDirect(SIZE);
    /** What the store holds as far as this object knows: {@link #bytes}, or at first their form in an older version. */
    private byte[] stored;

    private Budget(BudgetStore store) {
        this.store = store;
    }

    /**
     * Restores the stored budget, or creates and stores it at first use.
     *
     * @param owner 16 bytes that name the person, such as a hash of an account, so that a budget is not mistaken for
     *     another's
     * @param caps used at first use only: those of a stored budget never change
     * @throws PrivateMailException BUDGET when the stored bytes are damaged or another owner's; PERSIST with the
     *     store's exception as its cause; EPSILON or DELTA when a cap is out of range
     */
    @NonNull
    public static Budget open(@NonNull BudgetStore store, @NonNull byte[] owner, @NonNull Caps caps) {
        Objects.requireNonNull(store, "store");
        Objects.requireNonNull(caps, "caps");
        if (owner.length != OWNER_SIZE) {
            throw new IllegalArgumentException("an owner has 16 bytes, not " + owner.length);
        }
        refuseInsideStore();
        Budget budget = new Budget(store);
        int status;
        try {
            status = budget.restoreOrCreate(owner, caps);
        } catch (Throwable failure) {
            throw new PrivateMailException(Status.PERSIST, failure.getMessage(), failure);
        }
        PrivateMailException.check(status);
        return budget;
    }

    /** Throws what the store threw, and nothing else. */
    private int restoreOrCreate(byte[] owner, Caps caps) throws IOException {
        synchronized (store) {
            INSIDE_STORE.set(true);
            try {
                stored = store.load();
                if (stored != null) {
                    return Native.budgetRestore(bytes, owner, stored);
                }
                int status = Native.budgetCreate(bytes, owner, caps.response, caps.gaussian, caps.delta, caps.floor,
                        caps.crowd, caps.crowdDelta);
                if (status == Status.OK.code()) {
                    stored = current();
                    store.save(stored.clone());
                }
                return status;
            } finally {
                INSIDE_STORE.remove();
            }
        }
    }

    /** What was spent, and of how much. */
    @NonNull
    public Remaining remaining() {
        double[] numbers = new double[Remaining.NUMBERS];
        lock();
        try {
            PrivateMailException.check(Native.budgetRemaining(bytes, numbers));
        } finally {
            unlock();
        }
        return new Remaining(numbers);
    }

    /** Every call that takes a lock comes here first: a store that calls back would wait for itself, or spend twice. */
    static void refuseInsideStore() {
        if (INSIDE_STORE.get() != null) {
            throw new PrivateMailException(Status.STATE, "called from inside a budget store", null);
        }
    }

    /** Locked after a client's lock, never before it. */
    void lock() {
        refuseInsideStore();
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    ByteBuffer bytes() {
        return bytes;
    }

    /** Called by the native library while the budget is locked. */
    void persist(byte[] changed) throws IOException {
        synchronized (store) {
            INSIDE_STORE.set(true);
            try {
                if (!Arrays.equals(stored, store.load())) {
                    throw new IOException("the stored budget has changed since it was opened: open it anew");
                }
                byte[] saved = changed.clone();
                store.save(changed);
                stored = saved;
            } finally {
                INSIDE_STORE.remove();
            }
        }
    }

    private byte[] current() {
        byte[] copy = new byte[SIZE];
        bytes.duplicate().get(copy);
        return copy;
    }

    /** What a person may ever spend. */
    public static final class Caps {
        private final double response;
        private final double gaussian;
        private final double delta;
        private final double floor;
        private final double crowd;
        private final double crowdDelta;

        private Caps(double response, double gaussian, double delta, double floor, double crowd, double crowdDelta) {
            this.response = response;
            this.gaussian = gaussian;
            this.delta = delta;
            this.floor = floor;
            this.crowd = crowd;
            this.crowdDelta = crowdDelta;
        }

        /**
         * Everything ever released outside a crowd is (response + gaussian, delta)-private.
         *
         * @param response Σ ε of response releases, 0 to 4095
         * @param gaussian ε of all Gaussian releases together, 2^-20 to 256, or 0 for none
         * @param delta δ of all Gaussian releases together, 2^-50 to below 1, or 0 for none
         */
        @NonNull
        public static Caps of(double response, double gaussian, double delta) {
            return new Caps(response, gaussian, delta, 0.0, 0.0, 0.0);
        }

        /**
         * The same, with caps for bundles of a crowd; without them a budget pays for none. The floor holds against
         * everybody; (epsilon, delta) holds if the relay mixes and does not join the server, and as many clients are
         * honest as the policy says.
         *
         * @param floor Σ ε₀ of all photos whose cell is drawn, 0 to 4095
         * @param epsilon ε of all own messages together, 2^-20 to 16; 0 pays only for policies without a promise
         * @param delta δ of all own messages together, 2^-49 to below 1, or 0 with ε = 0
         */
        @NonNull
        public Caps crowd(double floor, double epsilon, double delta) {
            return new Caps(response, gaussian, this.delta, floor, epsilon, delta);
        }
    }

    /** A budget at one moment. */
    public static final class Remaining {
        static final int NUMBERS = 12;

        private final double[] numbers;

        private Remaining(double[] numbers) {
            this.numbers = numbers;
        }

        /** Σ ε that response releases may cost. */
        public double epsilonCap() {
            return numbers[0];
        }

        /** Σ ε that response releases have cost. */
        public double epsilonSpent() {
            return numbers[1];
        }

        /** Σ μ² that Gaussian releases may cost. */
        public double mu2Cap() {
            return numbers[2];
        }

        /** Σ μ² that Gaussian releases have cost. */
        public double mu2Spent() {
            return numbers[3];
        }

        /** δ of the Gaussian cap. */
        public double delta() {
            return numbers[4];
        }

        /** Σ ε₀ that cells drawn for a crowd may cost. */
        public double floorCap() {
            return numbers[5];
        }

        /** Σ ε₀ that cells drawn for a crowd have cost. */
        public double floorSpent() {
            return numbers[6];
        }

        /** Σ μ² that own messages in a crowd may cost. */
        public double crowdMu2Cap() {
            return numbers[7];
        }

        /** Σ μ² that own messages in a crowd have cost. */
        public double crowdMu2Spent() {
            return numbers[8];
        }

        /** Σ δ₀ that own messages in a crowd may cost. */
        public double crowdDelta0Cap() {
            return numbers[9];
        }

        /** Σ δ₀ that own messages in a crowd have cost. */
        public double crowdDelta0Spent() {
            return numbers[10];
        }

        /** δ of the crowd's cap, Σ δ₀ included. */
        public double crowdDelta() {
            return numbers[11];
        }
    }
}
