// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;

/** FileBudgetStore: damage, crashes, a full disk, several processes. */
final class BudgetFileTest {
    private static final int KILLS = 24;
    private static final File FOLDER = new File(System.getProperty("privatemail.folder"));

    private BudgetFileTest() {}

    static void run() {
        Check.test("file: made at first use, kept, private; only its lock beside it", BudgetFileTest::kept);
        Check.test("file: version 1 pays on, and is stored as version 2", BudgetFileTest::upgraded);
        Check.test("file: damaged, empty, too long, a folder, a link: refused and left", BudgetFileTest::damaged);
        Check.test("file: two stores of one file in one process", BudgetFileTest::twoStores);
        Check.test("file: a folder that is not there, a name that is too long", BudgetFileTest::noFolder);
        Check.test("file: a leftover of a crash is neither read nor in the way", BudgetFileTest::leftover);
        Check.test("file: a process killed " + KILLS + " times while it arms: never damaged, never more left",
                BudgetFileTest::killed);
        Check.test("file: a save waits while another process holds the lock", BudgetFileTest::heldLock);
        Check.test("file: two processes at once: every charge counts once", BudgetFileTest::twoProcesses);
        Check.test("file: a disk that takes no byte: nothing is charged, the old file stays", BudgetFileTest::fullDisk);
    }

    private static File fresh(String name) throws IOException {
        File file = new File(FOLDER, name);
        for (String suffix : new String[] {"", ".new", ".lock"}) {
            File old = new File(FOLDER, name + suffix);
            if (old.exists() && !old.delete()) {
                throw new IOException(old + " cannot be removed");
            }
        }
        return file;
    }

    private static byte[] read(File file) throws IOException {
        byte[] bytes = new byte[200];
        try (FileInputStream stream = new FileInputStream(file)) {
            int count = stream.read(bytes);
            return Arrays.copyOf(bytes, Math.max(count, 0));
        }
    }

    private static void write(File file, byte[] bytes) throws IOException {
        try (FileOutputStream stream = new FileOutputStream(file)) {
            stream.write(bytes);
        }
    }

    private static Budget open(File file) {
        return Golden.budget(new FileBudgetStore(file));
    }

    private static Client client() {
        return new Client(Golden.pack(Golden.CLASS), Options.response(FileBudgetChild.PRICE));
    }

    private static double spent(File file) {
        return open(file).remaining().epsilonSpent();
    }

    private static void upgraded() throws IOException {
        String[] old = Golden.lines("budget").get(1); /* Σ ε of 8, nothing spent */
        File file = fresh("old.budget");
        write(file, Hex.bytes(old[0]));
        Check.equal(64, read(file).length);
        Budget budget = Budget.open(new FileBudgetStore(file), Hex.bytes(old[1]), Budget.Caps.of(1.0, 0.0, 0.0));
        try (Client client = client()) {
            client.arm(budget);
        }
        Check.equal(112, read(file).length);
        Check.equal(FileBudgetChild.PRICE, budget.remaining().epsilonSpent());
        Check.equal(8.0, budget.remaining().epsilonCap());
    }

    private static void kept() throws IOException {
        File file = fresh("kept.budget");
        Budget budget = open(file);
        Check.equal(112, read(file).length);
        try (Client client = client()) {
            client.arm(budget);
            Check.equal(FileBudgetChild.PRICE, spent(file));
            client.disarm(budget);
            Check.equal(0.0, spent(file));
        }
        Check.equal("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath())));
        Check.that(!new File(FOLDER, file.getName() + ".new").exists(), "the new file is left");
        Check.equal(0L, new File(FOLDER, file.getName() + ".lock").length());
    }

    private static void damaged() throws Exception {
        File file = fresh("damaged.budget");
        open(file);
        byte[] good = read(file);
        byte[] changed = good.clone();
        changed[50] ^= 1;
        for (byte[] bad : new byte[][] {changed, new byte[0], Arrays.copyOf(good, 63), Arrays.copyOf(good, 65)}) {
            write(file, bad);
            Check.refuses(Status.BUDGET, () -> open(file));
            Check.equal(bad, read(file));
        }
        Check.that(file.delete() && file.mkdir(), "a folder in its place");
        Check.refuses(Status.PERSIST, () -> open(file));
        Check.that(file.delete(), "the folder is gone");
        File target = new File(FOLDER, "target of a link");
        write(target, good);
        Check.equal(0, new ProcessBuilder("ln", "-s", target.getPath(), file.getPath()).start().waitFor());
        Check.refuses(Status.PERSIST, () -> open(file));
        Check.equal(good, read(target));
        Check.throwing(IllegalArgumentException.class, () -> new FileBudgetStore(new File("a\0b")));
        Check.throwing(IllegalArgumentException.class, () -> new FileBudgetStore(new File("/")));
    }

    private static void twoStores() throws IOException {
        File file = fresh("twice.budget");
        Budget first = open(file);
        FileBudgetStore store = new FileBudgetStore(file);
        byte[] seen = store.load();
        try (Client client = client()) {
            client.arm(first);
            IOException stale = Check.throwing(IOException.class, () -> store.save(seen)); // would give the price back
            Check.that(stale.getMessage().endsWith(": it was changed by somebody else (errno 116)"), "" + stale);
            Check.equal(FileBudgetChild.PRICE, spent(file));
            FileBudgetStore blind = new FileBudgetStore(file);
            Check.throwing(IOException.class, () -> blind.save(seen));
            Check.equal(FileBudgetChild.PRICE, spent(file));
            Check.throwing(IOException.class, () -> store.save(new byte[63]));
        }
    }

    private static void noFolder() throws IOException {
        File nowhere = new File(new File(FOLDER, "no such folder"), "budget");
        Throwable cause = Check.refuses(Status.PERSIST, () -> open(nowhere)).getCause();
        Check.that(cause instanceof IOException, "" + cause);
        Check.equal("cannot replace " + nowhere + ": there is no such folder (errno 2)", cause.getMessage());
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < 251; i++) {
            name.append('n');
        }
        cause = Check.refuses(Status.PERSIST, () -> open(new File(FOLDER, name.toString()))).getCause();
        Check.that(cause.getMessage().endsWith(": the name is too long (errno 36)"), "" + cause);
        File file = fresh("no folder");
        write(file, new byte[1]);
        cause = Check.refuses(Status.PERSIST, () -> open(new File(file, "budget"))).getCause();
        Check.that(cause.getMessage().endsWith(": the system refused (errno 20)"), "" + cause); // one without a text
        open(fresh(name.substring(1)));
    }

    private static void leftover() throws IOException {
        File file = fresh("leftover.budget");
        Budget budget = open(file);
        write(new File(FOLDER, "leftover.budget.new"), new byte[30]);
        Check.equal(0.0, spent(file));
        try (Client client = client()) {
            client.arm(budget);
        }
        Check.equal(FileBudgetChild.PRICE, spent(file));
    }

    // ---- other processes ----

    private static ProcessBuilder child(String... arguments) {
        String java = new File(System.getProperty("java.home"), "bin/java").getPath();
        List<String> command = new ArrayList<>(Arrays.asList(java, "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path")));
        for (String name : new String[] {"java.library.path", "privatemail.vectors"}) {
            command.add("-D" + name + "=" + System.getProperty(name));
        }
        command.add("org.privatemail.FileBudgetChild");
        command.addAll(Arrays.asList(arguments));
        return new ProcessBuilder(command).redirectErrorStream(true);
    }

    /** A child says how much is spent after every arm. What it said must never come back. */
    private static void killed() throws Exception {
        File file = fresh("killed.budget");
        Random random = new Random(4711);
        double acknowledged = 0.0;
        int arms = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            // Where a flush to the disk takes long, the child gets longer: it is to be killed in the middle of arms.
            int longest = arms > 2 * kill ? 30 : 300;
            Process process = child("endless", file.getPath()).start();
            BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()));
            String line = reader.readLine();
            Thread killer = new Thread(() -> {
                try {
                    Thread.sleep(random.nextInt(longest));
                } catch (InterruptedException impossible) {
                    throw new AssertionError(impossible);
                }
                process.toHandle().destroyForcibly(); // SIGKILL; what it said before can still be read
            });
            killer.start();
            for (; line != null && line.endsWith(";"); line = reader.readLine()) {
                acknowledged = Double.parseDouble(line.substring(0, line.length() - 1));
                arms++;
            }
            killer.join();
            Check.equal(128 + 9, process.waitFor());
            Check.equal(112, read(file).length);
            double left = spent(file);
            Check.that(left >= acknowledged, "spent " + left + ", but " + acknowledged + " was acknowledged");
            Check.that(left <= acknowledged + FileBudgetChild.PRICE, "spent " + left + " of " + acknowledged);
        }
        System.out.println("        killed after " + arms + " acknowledged arms in all");
        Check.that(arms > KILLS, "the children did not get to arm");
    }

    /** flock(1) holds the lock, shared so that only an exclusive one waits, until it is told to end. */
    private static void heldLock() throws Exception {
        File file = fresh("held.budget");
        Budget budget = open(file);
        Process holder = new ProcessBuilder("flock", "--shared", file.getPath() + ".lock", "sh", "-c",
                "echo held; read end").start();
        Check.equal("held", new BufferedReader(new InputStreamReader(holder.getInputStream())).readLine());
        try (Client client = client()) {
            FutureTask<Void> arm = Check.start(() -> {
                client.arm(budget);
                return null;
            });
            Check.waits(arm);
            Check.equal(0.0, spent(file)); // reading waits for nobody
            holder.getOutputStream().close();
            Check.join(arm);
            Check.equal(FileBudgetChild.PRICE, spent(file));
        } finally {
            holder.destroy();
        }
    }

    private static void twoProcesses() throws Exception {
        File file = fresh("shared.budget");
        int arms = 300;
        Process first = child("some", file.getPath(), "" + arms).start();
        Process second = child("some", file.getPath(), "" + arms).start();
        String said = drain(first) + drain(second);
        Check.that(first.waitFor() == 0 && second.waitFor() == 0, said);
        Check.equal(2 * arms * FileBudgetChild.PRICE, spent(file));
    }

    /** Not a full disk but the same to the store: a limit of 0 bytes a file, under which every write fails. */
    private static void fullDisk() throws Exception {
        File file = fresh("full.budget");
        open(file);
        byte[] before = read(file);
        ProcessBuilder limited = child("refused", file.getPath());
        List<String> command = new ArrayList<>(Arrays.asList("sh", "-c", "ulimit -f 0 && exec \"$@\"", "sh"));
        command.addAll(limited.command());
        Process process = limited.command(command).start();
        String said = drain(process);
        Check.that(process.waitFor() == 0, said);
        Check.equal(before, read(file));
        Check.that(!new File(FOLDER, "full.budget.new").exists(), "the new file is left");
    }

    private static String drain(Process process) throws IOException {
        StringBuilder text = new StringBuilder();
        BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()));
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            text.append(line).append('\n');
        }
        return text.toString();
    }
}
