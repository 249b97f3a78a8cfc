// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/** 100,000 releases: memory of every kind is what it was after 20,000. Run it in a machine of its own. */
final class FlatMemoryTest {
    private static final int FIRST = 20_000;
    private static final int ALL = 100_000;
    private static final long RESIDENT_SLACK = 6L << 20;
    private static final long HEAP_SLACK = 512L << 10;
    private static final long PATIENCE = 60_000_000_000L; // nanoseconds

    private FlatMemoryTest() {}

    static void run() {
        Check.test("100,000 releases with flat memory", FlatMemoryTest::releases);
        Check.test("5,000 clients, made and closed, leave no direct memory", FlatMemoryTest::clients);
    }

    private static void releases() throws Exception {
        Pack pack = Golden.pack(Golden.CLASS);
        float[] features = Golden.features(pack);
        Budget budget = Golden.budget();
        try (Client client = new Client(pack, Options.response(1.0 / 64))) {
            long[] before = null;
            for (int i = 1; i <= ALL; i++) {
                client.arm(budget);
                client.release(features, Golden.LABEL);
                if (i == FIRST) {
                    before = measure();
                }
            }
            long[] after = measure(before[2]);
            Check.equal(ALL / 64.0, budget.remaining().epsilonSpent());
            print(FIRST, before);
            print(ALL, after);
            Check.that(after[0] - before[0] < RESIDENT_SLACK, "resident memory grew by " + (after[0] - before[0]));
            Check.that(after[1] - before[1] < HEAP_SLACK, "the heap grew by " + (after[1] - before[1]));
            Check.that(after[2] <= before[2], "direct memory grew by " + (after[2] - before[2]));
            Check.that(after[3] <= before[3], "there are " + (after[3] - before[3]) + " direct buffers more");
        }
    }

    private static void print(int releases, long[] use) {
        System.out.printf("        after %d releases: resident %d KiB, heap %d KiB, direct %d bytes in %d buffers%n",
                releases, use[0] >> 10, use[1] >> 10, use[2], use[3]);
    }

    private static void clients() throws Exception {
        Pack pack = Golden.pack(Golden.CLASS);
        long[] before = measure();
        for (int i = 0; i < 5000; i++) {
            try (Client client = new Client(pack, Options.gaussian(1.0, 1e-5))) {
                client.receipt();
            }
        }
        long[] after = measure(before[2]);
        Check.that(after[2] <= before[2], "direct memory grew by " + (after[2] - before[2]));
    }

    /** Resident bytes, heap bytes in use, direct bytes, direct buffers; after collecting garbage. */
    private static long[] measure() throws Exception {
        long[] found = {0, 0, -1, 0};
        for (int unchanged = 0; unchanged < 3;) {
            long direct = found[2];
            System.gc();
            Thread.sleep(50); // direct memory is freed by a thread of its own
            found = use();
            unchanged = found[2] == direct ? unchanged + 1 : 0;
        }
        return found;
    }

    /** The same when there is no more direct memory than this, or when a patient look has found more. */
    private static long[] measure(long direct) throws Exception {
        long[] found = measure();
        for (long end = System.nanoTime() + PATIENCE; found[2] > direct && System.nanoTime() < end;) {
            found = measure();
        }
        return found;
    }

    private static long[] use() throws IOException {
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if (pool.getName().equals("direct")) {
                return new long[] {resident(), heap, pool.getMemoryUsed(), pool.getCount()};
            }
        }
        throw new IllegalStateException("there is no pool of direct buffers");
    }

    private static long resident() throws IOException {
        try (BufferedReader reader = new BufferedReader(new FileReader("/proc/self/status"))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("\\D", "")) << 10;
                }
            }
        }
        throw new IOException("/proc/self/status has no VmRSS");
    }
}
