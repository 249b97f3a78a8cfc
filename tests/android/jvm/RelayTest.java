// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.concurrent.FutureTask;

/** Searches in a crowd, through a relay on this machine that does what it is told. */
final class RelayTest {
    private static final double FLOOR = 8.0;
    private static final double MU = 0.03;
    private static final int HASTY = 10; // seconds
    private static final Crowd CROWD = Crowd.of(1000, 0.5, 8).booked(1e-12, MU);
    private static final String[] ANSWER = Golden.lines("crowd_answer").get(0);
    private static final int PACK = Integer.parseInt(ANSWER[1]);
    private static final String ID = Golden.lines("pack").get(PACK)[2];
    private static final float[] FEATURES = Hex.floats(ANSWER[3]);
    private static final int LABEL = Integer.parseInt(ANSWER[4]);

    private static RelayListener relay;
    private static Budget budget;

    private RelayTest() {}

    interface Test {
        void run(File folder) throws Exception;
    }

    static void run() {
        test("finds, pays floor and crowd once, and wipes its ticket", RelayTest::finds);
        test("the cell is kept: later searches pay the crowd alone", RelayTest::kept);
        test("one bundle per epoch, also after a restart", RelayTest::onePerEpoch);
        test("a crowd that is not filled, and fills later", RelayTest::notFilled);
        test("an epoch that closed meanwhile is sealed for anew, at no price", RelayTest::closedMeanwhile);
        test("a bundle whose arrival is unknown", RelayTest::unknownArrival);
        test("a lost bundle is sent again, and not for ever", RelayTest::lost);
        test("refusals cost nothing", RelayTest::refusals);
        test("answers that are damaged, refused inside or cut short", RelayTest::badAnswers);
        test("keys: pinned at first sight, never changed by the relay", RelayTest::pinned);
        test("keys: brought by the app", RelayTest::brought);
        test("a relay that promises less than the policy", RelayTest::promises);
        test("epochs that no clock agrees with, and lengths that do not fit", RelayTest::strangeEpochs);
        test("idle: once per epoch, free, and never next to a search", RelayTest::idle);
        test("own messages are merged", RelayTest::severalOwn);
        test("what is not taken: addresses, options, limits", RelayTest::arguments);
        test("close ends a search that waits", RelayTest::close);
        test("a query of a modality", RelayTest::modality);
    }

    private static void test(String name, Test test) {
        Check.test("relay: " + name, () -> {
            Path at = Files.createTempDirectory(Paths.get(System.getProperty("privatemail.folder")), "relay");
            Pack pack = Golden.pack(PACK);
            budget = Golden.budget();
            try (Client client = new Client(pack, Options.crowd(FLOOR, CROWD));
                 RelayListener started = new RelayListener(Golden.packBytes(PACK), ID, Hex.bytes(ANSWER[2]),
                         client.receipt().bytes())) {
                relay = started;
                test.run(at.toFile());
            }
        });
    }

    // ---- what is asked for, and what it cost ----

    private static Search search(File folder, Relay settings, Crowd crowd) throws IOException {
        PackSource packs = new PackSource(relay.address(), folder, null, () -> Pack.idOf(ID));
        return Search.through(settings, packs, Options.crowd(FLOOR, crowd), budget, folder);
    }

    private static Search search(File folder) throws IOException {
        return search(folder, Relay.at(relay.address()).longest(120), CROWD);
    }

    /** One that waits in vain, which takes so long, and still finds on a machine that stands still for a while. */
    private static Search hasty(File folder) throws IOException {
        return search(folder, Relay.at(relay.address()).longest(HASTY), CROWD);
    }

    private static void find(Search search, String photo) throws Exception {
        Ranking found = search.search(photo, FEATURES, LABEL);
        String[] wanted = ANSWER[7].split(",");
        Check.that(found.matches().size() >= wanted.length, "found " + found.matches().size());
        for (int i = 0; i < wanted.length; i++) {
            Check.equal(Long.parseUnsignedLong(wanted[i].split(":")[0]), found.matches().get(i).item());
        }
    }

    /** How many floors and own messages were paid for. */
    private static void paid(int floors, int own) {
        Budget.Remaining left = budget.remaining();
        Check.equal(floors * FLOOR, left.floorSpent());
        Check.that(Math.abs(left.crowdMu2Spent() - own * MU * MU) < 1e-9, "mu² " + left.crowdMu2Spent());
    }

    private static int code(Check.Action action) {
        return Check.throwing(ServerException.class, action).code();
    }

    private static byte[] keptOf(File folder, String photo) throws IOException {
        return new MessageFolder(folder).read(photo, ID);
    }

    // ---- tests ----

    /** With a relay of its own, for a pack with fronts. */
    private static void modality(File folder) throws Exception {
        String[] words = Golden.lines("crowd_answer").stream().filter(line -> !line[8].equals("0")).findFirst().get();
        int index = Integer.parseInt(words[1]);
        String id = Golden.lines("pack").get(index)[2];
        Options options = Options.crowd(FLOOR, CROWD);
        Query query = Golden.query(Golden.pack(index), Hex.floats(words[3]), words[4], words[8]);
        try (Client client = new Client(Golden.pack(index), options);
             RelayListener other = new RelayListener(Golden.packBytes(index), id, Hex.bytes(words[2]),
                     client.receipt().bytes());
             Search search = Search.through(Relay.at(other.address()).longest(120),
                     new PackSource(other.address(), folder, null, () -> Pack.idOf(id)), options, budget, folder)) {
            Check.refuses(Status.MODALITY, () -> search.search("words", query.modality("audio")));
            Check.refuses(Status.DIMENSION, () -> search.search("words", query.modality(null)));
            paid(0, 0);
            String[] wanted = words[7].split(",");
            Ranking found = search.search("words", query, Client.Scope.ALL_SLOTS, wanted.length, false);
            for (int i = 0; i < wanted.length; i++) {
                Check.equal(Long.parseUnsignedLong(wanted[i].split(":")[0]), found.matches().get(i).item());
            }
            paid(1, 1);
        }
    }

    private static void finds(File folder) throws Exception {
        try (Search search = search(folder)) {
            search.prepare();
            search.prepare();
            paid(1, 1);
            find(search, "one");
            paid(1, 1);
            RelayListener.Bundle bundle = relay.bundles.get(0);
            byte[] kept = keptOf(folder, "one");
            Check.equal(1, relay.bundles.size());
            Check.that(bundle.releases.stream().anyMatch(one -> Arrays.equals(one, kept)), "another cell was sent");
            Check.equal(relay.epoch, bundle.epoch);
            String head = "POST /v1/pack/" + ID + "/bundle application/x-privatemail-bundle";
            Check.that(relay.heads.contains(head), "no such head");
            Check.that(relay.heads.contains("DELETE /v1/ticket/" + bundle.ticket + " null"), "not deleted");
            Check.that(search.isPaid("one"), "the message is not stored");
        }
    }

    private static void kept(File folder) throws Exception {
        relay.epochStep = 1;
        try (Search search = search(folder)) {
            find(search, "one");
            find(search, "one");
            paid(1, 2);
        }
        try (Search search = search(folder)) {
            find(search, "one");
            find(search, "two");
            paid(2, 4);
        }
        Check.equal(4, relay.bundles.size());
        byte[] kept = keptOf(folder, "one");
        for (RelayListener.Bundle bundle : relay.bundles.subList(0, 3)) {
            Check.that(bundle.releases.stream().anyMatch(one -> Arrays.equals(one, kept)), "another cell was sent");
        }
        for (int i = 1; i < 4; i++) {
            Check.that(relay.bundles.get(i).epoch > relay.bundles.get(i - 1).epoch, "an epoch has two bundles");
        }
    }

    private static void onePerEpoch(File folder) throws Exception {
        try (Search search = hasty(folder)) {
            find(search, "one");
            Check.throwing(CrowdNotFilledException.class, () -> find(search, "two"));
            Check.equal(1, relay.bundles.size());
        }
        try (Search search = hasty(folder)) {
            Check.throwing(CrowdNotFilledException.class, () -> find(search, "one"));
            Check.equal(1, relay.bundles.size());
            paid(2, 2); // one, and two, whose bundle nobody got and which is lost with its search
            relay.epoch++;
            find(search, "one");
            paid(2, 3);
        }
    }

    private static void notFilled(File folder) throws Exception {
        try (Search search = hasty(folder)) {
            relay.orderTickets(202);
            long begun = System.nanoTime();
            Check.throwing(CrowdNotFilledException.class, () -> find(search, "one"));
            long waited = (System.nanoTime() - begun) / 1_000_000;
            Check.that(waited >= 1000 * HASTY && waited < 100_000, "waited " + waited);
            relay.orderTickets(202, 202, 200);
            find(search, "one"); // the same bundle
            Check.equal(1, relay.bundles.size());
            paid(1, 1);
        }
    }

    private static void closedMeanwhile(File folder) throws Exception {
        relay.epochStep = 1;
        relay.order(409, 409, 201);
        try (Search search = search(folder)) {
            find(search, "one");
            paid(1, 1);
            Check.equal(1, relay.bundles.size());
        }
    }

    private static void unknownArrival(File folder) throws Exception {
        relay.epochStep = 1;
        try (Search search = search(folder)) {
            relay.order(RelayListener.TAKEN, 201);
            find(search, "one"); // the same bytes, again
            Check.equal(1, relay.bundles.size());
            paid(1, 1);
            relay.order(RelayListener.TAKEN, 409);
            find(search, "one"); // taken in time: the ticket tells
            Check.equal(1, relay.bundles.size());
            paid(1, 2);
            relay.order(RelayListener.DROP, 409, 201);
            find(search, "one"); // not taken, but who knows: sent anew, and paid
            paid(1, 4);
            relay.order(RelayListener.TAKEN);
            Check.throwing(IOException.class, () -> find(search, "one"));
            find(search, "one"); // its answers are there
            Check.equal(1, relay.bundles.size());
            paid(1, 5);
        }
    }

    private static void lost(File folder) throws Exception {
        relay.epochStep = 1;
        try (Search search = search(folder)) {
            relay.orderTickets(410, 200);
            find(search, "one");
            Check.equal(2, relay.bundles.size());
            paid(1, 2);
            relay.orderTickets(410);
            Check.equal(410, code(() -> find(search, "one")));
            paid(1, 5);
        }
    }

    private static void refusals(File folder) throws Exception {
        relay.epochStep = 1;
        try (Search search = search(folder)) {
            for (int refusal : new int[] {400, 401, 413, 415}) {
                relay.order(refusal);
                Check.equal(refusal, code(() -> find(search, "one")));
            }
            paid(1, 1);
            relay.order(201);
            find(search, "one");
            paid(1, 1);
            relay.epochStatus = 404;
            Check.equal(409, code(() -> find(search, "two")));
            paid(2, 2);
        }
    }

    private static void badAnswers(File folder) throws Exception {
        relay.epochStep = 1;
        try (Search search = search(folder)) {
            relay.orderTickets(RelayListener.DAMAGED);
            Check.equal(200, code(() -> find(search, "one")));
            relay.orderTickets(RelayListener.SHORT);
            Check.throwing(IOException.class, () -> find(search, "one"));
            relay.orderTickets(200);
            find(search, "one"); // the round whose answers were cut short
            paid(1, 2);
            relay.orderTickets(RelayListener.INSIDE);
            relay.insideBody = "{\"error\": \"pack\"}";
            Check.equal(200, code(() -> find(search, "one"))); // no reason to take another pack
            relay.insideBody = "{\"error\": \"epoch\"}";
            Check.equal(200, code(() -> find(search, "one")));
            relay.insideStatus = 503;
            Check.equal(200, code(() -> find(search, "one"))); // no reason to try again
            relay.orderTickets(200);
            find(search, "one");
            paid(1, 6);
        }
    }

    private static void pinned(File folder) throws Exception {
        relay.epochStep = 1;
        SealGateway old = relay.gateway;
        SealGateway next = new SealGateway(4, Hex.bytes("22".repeat(32)));
        try (Search search = search(folder)) {
            find(search, "one");
            relay.keys = RelayListener.configuration(next.key);
            Check.refuses(Status.KEYS, () -> find(search, "one"));
            Check.refuses(Status.KEYS, () -> find(search, "two"));
            Check.refuses(Status.KEYS, search::idle);
            relay.keys = new byte[3];
            Check.refuses(Status.KEYS, () -> find(search, "one"));
            relay.keys = RelayListener.configuration(next.key, old.key);
            find(search, "one"); // opened by the old key alone
        }
        paid(1, 2);
        try (Search search = search(folder)) {
            find(search, "one");
            relay.keys = RelayListener.configuration(next.key);
            Check.refuses(Status.KEYS, () -> find(search, "one"));
        }
        Check.equal(3, relay.bundles.size());
    }

    /** What the app brought is never replaced by what a relay says. */
    private static void brought(File folder) throws Exception {
        relay.epochStep = 1;
        byte[] keys = RelayListener.configuration(relay.gateway.key);
        SealGateway other = new SealGateway(5, Hex.bytes("33".repeat(32)));
        try (Search search = search(folder, Relay.at(relay.address()).longest(120).keys(keys), CROWD)) {
            find(search, "one");
            relay.keys = RelayListener.configuration(other.key, relay.gateway.key);
            find(search, "one");
            relay.keys = RelayListener.configuration(other.key);
            Check.refuses(Status.KEYS, () -> find(search, "one"));
        }
        Check.equal(2, relay.bundles.size());
        Check.refuses(Status.KEYS, () -> Relay.at(relay.address()).keys(new byte[5]));
    }

    private static void promises(File folder) throws Exception {
        String[] less = {"{\"version\": 1, \"epoch_seconds\": 1, \"clients\": 999, \"noise\": null}",
            "{\"version\": 1, \"epoch_seconds\": 1, \"noise\": null}", "[]"};
        for (String description : less) {
            relay.description = description;
            try (Search search = search(folder)) {
                boolean sound = description.contains("999");
                if (sound) {
                    Check.refuses(Status.CROWD, () -> find(search, "one"));
                } else {
                    Check.equal(200, code(() -> find(search, "one")));
                }
            }
        }
        Crowd noisy = Crowd.of(0, 0.0, 8).relayClusters(50.0).booked(1e-12, MU);
        for (String noise : new String[] {"null", "{\"clusters\": 49.5, \"copies\": 8}",
            "{\"clusters\": 60, \"copies\": 7}"}) {
            relay.description = "{\"version\": 1, \"epoch_seconds\": 1, \"clients\": 1, \"noise\": " + noise + "}";
            try (Search search = search(folder, Relay.at(relay.address()), noisy)) {
                Check.refuses(Status.CROWD, () -> find(search, "one"));
            }
        }
        paid(0, 0);
        relay.description = "{\"version\": 1, \"epoch_seconds\": 1, \"clients\": 1, \"noise\": "
                + "{\"clusters\": 50.0, \"copies\": 8}}";
        try (Search search = search(folder, Relay.at(relay.address()).longest(120), noisy)) {
            find(search, "one");
        }
        paid(1, 1);
    }

    private static void strangeEpochs(File folder) throws Exception {
        long now = System.currentTimeMillis() / 1000;
        try (Search search = search(folder)) {
            for (long number : new long[] {0, now - 86_500, now + 3700, 999_999_999_999L}) {
                relay.epoch = number;
                Check.equal(200, code(() -> find(search, "one")));
            }
            relay.epoch = now - 86_300;
            relay.messageSize++;
            Check.equal(200, code(() -> find(search, "one")));
            relay.messageSize--;
            relay.answerSize = Options.DEFAULT_ANSWER_LIMIT + 1;
            Check.refuses(Status.ANSWER, () -> find(search, "one"));
        }
        Check.equal(0, relay.bundles.size());
    }

    private static void idle(File folder) throws Exception {
        try (Search search = hasty(folder)) {
            Check.that(search.idle(), "it did not take part");
            Check.that(!search.idle(), "two bundles in one epoch");
            Check.throwing(CrowdNotFilledException.class, () -> find(search, "one"));
            paid(1, 1);
            relay.epoch++;
            find(search, "one");
            paid(1, 1);
            Check.that(!search.idle(), "two bundles in one epoch");
            relay.epoch++;
            relay.order(409);
            Check.that(!search.idle(), "a closed epoch");
            relay.epoch++;
            relay.order(201);
            search.prepare();
            Check.that(search.idle(), "it did not take part");
            paid(1, 1);
            relay.epoch++;
            relay.orderTickets(202);
            FutureTask<Ranking> waiting = Check.start(() -> search.search("one", FEATURES, LABEL));
            while (relay.bundles.size() < 2) {
                Thread.sleep(10);
            }
            Check.that(!search.idle(), "next to a search");
            Check.throwing(CrowdNotFilledException.class, () -> Check.join(waiting));
        }
        Check.throwing(IllegalStateException.class, () -> new Search(new PackSource(relay.address(), folder, null,
                () -> Pack.idOf(ID)), Options.response(1.0), budget, folder).idle());
    }

    private static void severalOwn(File folder) throws Exception {
        Crowd crowd = CROWD.own(2).cover(true);
        try (Search search = search(folder, Relay.at(relay.address()).longest(120), crowd)) {
            find(search, "one");
            paid(1, 2);
            Check.that(relay.bundles.get(0).releases.size() >= 2, "one message");
        }
    }

    private static void arguments(File folder) throws Exception {
        for (String bad : new String[] {"http://relay.example", "http://10.0.0.1", "ftp://127.0.0.1/", "https:///",
            "http://127.0.0.1.example"}) {
            Check.throwing(IllegalArgumentException.class, () -> Relay.at(new URL(bad)));
        }
        for (String good : new String[] {"https://relay.example/a", "http://localhost:1", "http://[::1]:2/"}) {
            Check.equal(new URL(good), Relay.at(new URL(good)).address());
        }
        Check.throwing(IllegalArgumentException.class, () -> Relay.at(relay.address()).longest(0));
        PackSource packs = new PackSource(relay.address(), folder, null, () -> Pack.idOf(ID));
        Check.throwing(IllegalArgumentException.class, () -> Search.through(Relay.at(relay.address()), packs,
                Options.response(1.0), budget, folder));
    }

    private static void close(File folder) throws Exception {
        Search search = search(folder, Relay.at(relay.address()), CROWD);
        relay.orderTickets(202);
        FutureTask<Ranking> waiting = Check.start(() -> search.search("one", FEATURES, LABEL));
        while (relay.bundles.isEmpty()) {
            Thread.sleep(10);
        }
        search.close();
        Check.throwing(IllegalStateException.class, () -> Check.join(waiting));
        Check.throwing(IllegalStateException.class, search::idle);
    }
}
