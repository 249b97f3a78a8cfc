// SPDX-License-Identifier: Apache-2.0
package org.privatemail.aar;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.privatemail.Budget;
import org.privatemail.Client;
import org.privatemail.Crowd;
import org.privatemail.CrowdNotFilledException;
import org.privatemail.FileBudgetStore;
import org.privatemail.Match;
import org.privatemail.Options;
import org.privatemail.Pack;
import org.privatemail.PackSource;
import org.privatemail.PrivateMailException;
import org.privatemail.Relay;
import org.privatemail.Search;
import org.privatemail.Status;

/**
 * Devices that search in a crowd, through {@code privatemail relay --epoch 1 --clients 3} and a real gateway:
 * {@code RelaySearchTest FOLDER RELAY PACK MODEL FEATURES LABELS KEYS}. KEYS is the gateway's key configuration.
 */
public final class RelaySearchTest {
    /** Fails to draw the true cell once in a million times. */
    private static final double FLOOR = 16.0;
    private static final int DEVICES = 3;

    private final String[] arguments;
    private final Pack pack;
    private final List<Device> devices = new ArrayList<>();
    private final ExecutorService pool = Executors.newFixedThreadPool(DEVICES);

    /** One person's phone. */
    private final class Device {
        final Path folder;
        final Budget budget;
        final Search search;

        Device(Path folder, Relay relay) throws IOException {
            this.folder = folder;
            budget = Budget.open(new FileBudgetStore(folder.resolve("budget").toFile()), new byte[16],
                    Budget.Caps.of(0.0, 0.0, 0.0).crowd(10 * FLOOR, 8.0, 1e-6));
            search = search(relay);
        }

        Search search(Relay relay) throws IOException {
            File at = folder.toFile();
            PackSource packs = new PackSource(new URL(arguments[1]), at, arguments[3], pack::id); // by the relay, too
            Crowd crowd = Crowd.of(DEVICES, 0.5, 4).own(2).booked(1e-9, 0.05);
            return Search.through(relay, packs, Options.crowd(FLOOR, crowd), budget, at);
        }

        boolean findsItself(int item) throws Exception {
            List<Match> found = search.search("item " + item, features(item), label(item), Client.Scope.OWN_SLOT, 8,
                    false).matches();
            return !found.isEmpty() && found.get(0).item() == item && found.get(0).label() == label(item);
        }

        double floors() {
            return budget.remaining().floorSpent() / FLOOR;
        }
    }

    private RelaySearchTest(String[] arguments) throws IOException {
        this.arguments = arguments;
        byte[] bytes = Files.readAllBytes(Paths.get(arguments[2]));
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
        direct.put(bytes).flip();
        pack = Pack.open(direct, null);
        Relay relay = relay().keys(Files.readAllBytes(Paths.get(arguments[6])));
        for (int i = 0; i < DEVICES; i++) {
            Path folder = Files.createTempDirectory(Paths.get(arguments[0]), "device");
            devices.add(new Device(folder, i == 0 ? relay : relay())); // the others pin what the relay gives out
        }
    }

    private Relay relay() throws IOException {
        return Relay.at(new URL(arguments[1])).longest(30);
    }

    private float[] features(int item) throws IOException {
        FloatBuffer gallery = SearchTest.array(arguments[4]).asFloatBuffer();
        float[] features = new float[pack.features()];
        gallery.position(item * features.length);
        gallery.get(features);
        return features;
    }

    private int label(int item) throws IOException {
        return SearchTest.array(arguments[5]).getInt(4 * item);
    }

    /** Asks again while its answers are not there: on a busy machine that takes longer than the search waits. */
    private List<Match> insist(Search search, int item) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                return search.search("item " + item, features(item), label(item)).matches();
            } catch (CrowdNotFilledException late) {
                if (tries == 20) {
                    throw late;
                }
            }
        }
    }

    private boolean together(Callable<Boolean> first, Callable<Boolean> second, Callable<Boolean> third)
            throws Exception {
        boolean good = true;
        for (Future<Boolean> each : pool.invokeAll(List.of(first, second, third))) {
            good &= each.get();
        }
        return good;
    }

    private void run() throws Exception {
        Device one = devices.get(0);
        Device two = devices.get(1);
        Device three = devices.get(2);
        SearchTest.check("privatemail relay: three devices find, each its own item", together(
                () -> one.findsItself(200), () -> two.findsItself(100), () -> three.findsItself(7)));
        SearchTest.check("and again with the kept cells, for no second floor", together(
                () -> one.findsItself(200), () -> two.findsItself(100), () -> three.findsItself(7))
                && one.floors() == 1 && two.floors() == 1 && three.floors() == 1);
        try (Search hasty = one.search(relay().longest(3))) {
            boolean alone = false;
            try {
                hasty.search("item 9", features(9), label(9));
            } catch (CrowdNotFilledException expected) {
                alone = true;
            }
            SearchTest.check("a device alone waits in vain, and has paid one floor more", alone && one.floors() == 2);
            boolean idle = two.search.idle() & three.search.idle();
            List<Match> found = insist(hasty, 9);
            SearchTest.check("two idle ones fill its epoch, and it finds without sending again",
                    idle && found.get(0).item() == 9 && one.floors() == 2);
        }
        byte[] other = Files.readAllBytes(Paths.get(arguments[6]));
        other[10] ^= 1;
        try (Search deceived = two.search(relay().keys(other))) {
            Status status = Status.OK;
            try {
                deceived.search("item 3", features(3), label(3));
            } catch (PrivateMailException refusal) {
                status = refusal.status();
            }
            SearchTest.check("keys that are not the gateway's are refused, at no price",
                    status == Status.KEYS && two.floors() == 1);
        }
        Method open = Class.forName("org.example.RelayedSearch").getDeclaredMethod("open", URL.class, byte[].class,
                String.class, String.class, Crowd.class, Budget.class, File.class, File.class);
        open.setAccessible(true);
        File folder = one.folder.toFile();
        StringBuilder id = new StringBuilder();
        for (byte each : pack.id()) {
            id.append(String.format("%02x", each));
        }
        Crowd large = Crowd.of(100_000, 0.5, 4).booked(1e-9, 0.05);
        try (Search readme = (Search) open.invoke(null, new URL(arguments[1]),
                Files.readAllBytes(Paths.get(arguments[6])), id.toString(), arguments[3], large, one.budget, folder,
                folder)) {
            Status status = Status.OK;
            try {
                readme.search("item 200", features(200), label(200));
            } catch (PrivateMailException refusal) {
                status = refusal.status();
            }
            SearchTest.check("README's example refuses a relay of three for a policy of 100,000",
                    status == Status.CROWD && one.floors() == 2);
        }
        pool.shutdown();
    }

    public static void main(String[] arguments) throws Exception {
        new RelaySearchTest(arguments).run();
        SearchTest.sumUp();
    }
}
