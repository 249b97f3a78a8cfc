// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The tests' runner: a test passes when it throws nothing. */
final class Check {
    private static final int PATIENCE_SECONDS = 120; // far more than anything takes on a busy machine

    private static int passed;
    private static int failed;
    private static final Set<Status> refusals = EnumSet.noneOf(Status.class);

    private Check() {}

    interface Action {
        void run() throws Exception;
    }

    static void test(String name, Action action) {
        if (counts(name, action)) {
            System.out.println("ok      " + name);
        }
    }

    /** Counts a test and prints it only when it fails; answers whether it passed. */
    static boolean counts(String name, Action action) {
        try {
            action.run();
            passed++;
            return true;
        } catch (Throwable failure) {
            failed++;
            System.out.println("FAILED  " + name);
            failure.printStackTrace(System.out);
            return false;
        }
    }

    /** The exit code: 0 when all passed. */
    static int summary() {
        System.out.println(passed + " passed, " + failed + " failed");
        return failed == 0 ? 0 : 1;
    }

    /** The statuses that were seen so far. */
    static Set<Status> refusals() {
        return refusals;
    }

    // ---- claims ----

    static void that(boolean claim, String what) {
        if (!claim) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object expected, Object actual) {
        that(expected.equals(actual), "expected " + expected + ", got " + actual);
    }

    static void equal(byte[] expected, byte[] actual) {
        that(Arrays.equals(expected, actual), "expected " + Hex.of(expected) + ", got " + Hex.of(actual));
    }

    static PrivateMailException refuses(Status status, Action action) {
        PrivateMailException thrown = throwing(PrivateMailException.class, action);
        equal(status, thrown.status());
        that(thrown.getMessage().startsWith(status + ": " + status.text()), thrown.getMessage());
        refusals.add(status);
        return thrown;
    }

    static <T extends Throwable> T throwing(Class<T> type, Action action) {
        try {
            action.run();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            throw new AssertionError("expected " + type.getSimpleName() + ", got " + thrown, thrown);
        }
        throw new AssertionError("expected " + type.getSimpleName() + ", nothing was thrown");
    }

    // ---- other threads ----

    static <T> FutureTask<T> start(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        startThread(task);
        return task;
    }

    private static Thread startThread(FutureTask<?> task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true); // one that hangs fails its test, not the run
        thread.start();
        return thread;
    }

    /** Starts a task; returns when its thread waits to be woken, however late it comes to that. */
    static void parks(FutureTask<?> task) throws Exception {
        Thread thread = startThread(task);
        for (long end = System.nanoTime() + PATIENCE_SECONDS * 1_000_000_000L;
                thread.getState() != Thread.State.WAITING; Thread.sleep(10)) {
            that(thread.isAlive() && System.nanoTime() < end, "the thread does not wait");
        }
        waits(task);
    }

    /** What the thread answered or threw; an error when it does not end. */
    static <T> T join(FutureTask<T> task) throws Exception {
        try {
            return task.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException late) {
            throw new AssertionError("a thread hangs", late);
        } catch (ExecutionException wrapper) {
            Throwable cause = wrapper.getCause();
            if (cause instanceof Exception) {
                throw (Exception) cause;
            }
            throw (Error) cause;
        }
    }

    /** That a thread waits: it is not done, and in a while is not either. */
    static void waits(FutureTask<?> task) throws Exception {
        throwing(TimeoutException.class, () -> task.get(150, TimeUnit.MILLISECONDS));
    }
}
