// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Through a relay: every epoch takes one bundle of this device at most, with one photo's messages among fakes. A
 * photo's cell is drawn once and kept; when its bundle was lost, the cell is sent again in a later epoch, which does
 * not pay the floor.
 */
final class CrowdWay implements Way {
    private static final int SENDS = 3; // of one search: a relay that loses every bundle would spend the budget
    private static final int EPOCHS = 10; // that a search waits unless told otherwise
    private static final long SHORTEST_PAUSE = 250;
    private static final long LONGEST_PAUSE = 5000;

    private final Relay settings;
    private final RelayClient relay;
    private final KeyPin keys;
    private final MessageFolder folder;
    private final Arming arming;
    private final Options options;
    private final BundleSealer sealer = new BundleSealer(Sealer.ofThisMachine());

    /** Paid for and not sent, by photo and pack. Guarded by {@link #arming}. */
    private final Map<String, CrowdBundle> unsent = new HashMap<>();
    /** Held by whoever sends a bundle and waits for its answers. */
    private final ReentrantLock turn = new ReentrantLock(true);
    private Round round; // the last one, while its answers may be had; guarded by turn
    private volatile RelayClient.Description described;
    private volatile boolean closed;

    CrowdWay(Relay settings, MessageFolder folder, Arming arming, Options options) {
        this.settings = settings;
        this.folder = folder;
        this.arming = arming;
        this.options = options;
        relay = new RelayClient(settings.address());
        keys = new KeyPin(settings.keys(), folder);
    }

    /** A bundle that was sent, or may have been. */
    private static final class Round {
        final String name;
        final BundleSealer.Sealed sealed;

        Round(String name, BundleSealer.Sealed sealed) {
            this.name = name;
            this.sealed = sealed;
        }
    }

    @Override
    public CrowdBundle.Kind kind() {
        return CrowdBundle.Kind.QUERY;
    }

    @Override
    public void ready(Client client) throws IOException {
        describe();
        keys.choose(packOf(client), relay.keys());
    }

    @Override
    public byte[] make(Client client, Sought sought) {
        CrowdBundle bundle = client.bundle(sought.query);
        unsent.put(nameOf(client, sought), bundle);
        return bundle.kept();
    }

    @Override
    public Ranking send(Client client, Sought sought, byte[] kept) throws IOException {
        Clock clock = new Clock();
        clock.lock();
        try {
            for (int sent = 0; sent < SENDS; sent++) {
                String name = nameOf(client, sought);
                if (round == null || !round.name.equals(name) || isUnsent(name)) {
                    enter(client, name, kept, clock);
                }
                byte[][] answers = collect(clock);
                if (answers != null) {
                    return rank(client, sought, answers);
                }
            }
            throw new ServerException(HttpURLConnection.HTTP_GONE, "the relay lost every bundle", 0);
        } finally {
            leave();
        }
    }

    /** Takes part in the open epoch without a query. Returns whether it did: not when it has taken part already. */
    boolean idle(Client client) throws IOException {
        if (!turn.tryLock()) {
            return false; // a search takes part
        }
        try {
            String pack = packOf(client);
            describe();
            SealKey key = keys.choose(pack, relay.keys());
            RelayClient.Epoch epoch = relay.epoch(pack);
            if (epoch.number <= lastOf(pack)) {
                return false;
            }
            CrowdBundle bundle = arming.use(client, CrowdBundle.Kind.IDLE, client::idleBundle);
            BundleSealer.Sealed sealed = sealer.seal(bundle, key, epoch, client.pack().id());
            try {
                post(pack, sealed);
                return true;
            } catch (ServerException refusal) {
                if (refusal.code() == HttpURLConnection.HTTP_CONFLICT) {
                    return false; // the epoch closed meanwhile
                }
                throw refusal;
            } finally {
                sealed.wipe();
            }
        } finally {
            leave();
        }
    }

    /** Does not wait for a search that is running, which ends at its next question. */
    @Override
    public void close() {
        closed = true;
        if (turn.tryLock()) {
            leave();
        }
    }

    private void leave() {
        if (closed) {
            forgetRound();
        }
        turn.unlock();
    }

    private boolean isUnsent(String name) {
        synchronized (arming) {
            return unsent.containsKey(name);
        }
    }

    // ---- into an epoch ----

    /** Sends the bundle of a photo in an epoch that has none of this device, and makes it the round. */
    private void enter(Client client, String name, byte[] kept, Clock clock) throws IOException {
        describe();
        forgetRound();
        String pack = packOf(client);
        SealKey key = keys.choose(pack, relay.keys());
        RelayClient.Epoch epoch = nextEpoch(pack, clock);
        CrowdBundle bundle = paidFor(client, name, kept);
        while (true) {
            BundleSealer.Sealed sealed = sealer.seal(bundle, key, epoch, client.pack().id());
            setUnsent(name, null);
            round = new Round(name, sealed); // also when the network fails now: it may have arrived
            try {
                post(pack, sealed);
                return;
            } catch (ServerException refusal) {
                boolean late = refusal.code() == HttpURLConnection.HTTP_CONFLICT && refusal.name().equals("epoch");
                if (!refusal.tookNothing()) {
                    if (late) {
                        return; // an earlier attempt may have been in time: the ticket tells
                    }
                    throw refusal;
                }
                forgetRound();
                setUnsent(name, bundle); // nobody has it, so it is still paid for
                if (!late) {
                    throw refusal.code() == HttpURLConnection.HTTP_CONFLICT ? RelayClient.unsound() : refusal;
                }
                epoch = nextEpoch(pack, clock);
            }
        }
    }

    /** The bundle that was made for a photo and not sent, else one with its kept cell. */
    private CrowdBundle paidFor(Client client, String name, byte[] kept) {
        synchronized (arming) {
            CrowdBundle bundle = unsent.get(name);
            if (bundle == null) {
                bundle = arming.use(client, CrowdBundle.Kind.KEPT, () -> client.keptBundle(kept));
                unsent.put(name, bundle);
            }
            return bundle;
        }
    }

    private void setUnsent(String name, CrowdBundle bundle) {
        synchronized (arming) {
            if (bundle == null) {
                unsent.remove(name);
            } else {
                unsent.put(name, bundle);
            }
        }
    }

    /** The open epoch, as soon as that is one in which this device has sent nothing. */
    private RelayClient.Epoch nextEpoch(String pack, Clock clock) throws IOException {
        long last = lastOf(pack);
        while (true) {
            RelayClient.Epoch epoch = relay.epoch(pack);
            if (epoch.number > last) {
                if (epoch.answerSize > options.answerLimit()) {
                    throw new PrivateMailException(Status.ANSWER, "longer than the limit of " + options.answerLimit()
                            + " bytes", null);
                }
                return epoch;
            }
            clock.pause(1000 * epoch.closes);
        }
    }

    /** The epoch is noted before the bundle is sent: after a crash it counts as one that has a bundle. */
    private void post(String pack, BundleSealer.Sealed sealed) throws IOException {
        folder.writeNote(pack + ".epoch", Long.toString(sealed.epoch).getBytes(StandardCharsets.US_ASCII));
        relay.post(pack, sealed.bytes);
    }

    /** The number of the last epoch that this device sent a bundle in; 0 when there was none. */
    private long lastOf(String pack) throws IOException {
        byte[] note = folder.readNote(pack + ".epoch", 20);
        try {
            return note == null ? 0 : Long.parseLong(new String(note, StandardCharsets.US_ASCII));
        } catch (NumberFormatException damaged) {
            throw new IOException("the note of the last epoch is damaged", damaged);
        }
    }

    /** Refuses a relay that promises less than the policy counts on. */
    private void describe() throws IOException {
        if (described == null) {
            RelayClient.Description found = relay.describe();
            Crowd crowd = options.crowd();
            boolean noise = crowd.relayClusters() <= 0.0
                    || found.clusters >= crowd.relayClusters() && found.copies == crowd.copies();
            if (found.clients < crowd.clients() || !noise) {
                throw new PrivateMailException(Status.CROWD, "the relay promises less than the policy counts on", null);
            }
            described = found;
        }
    }

    // ---- and back ----

    /** The own answers of the round; null when they are lost. The round ends, unless the time is up. */
    private byte[][] collect(Clock clock) throws IOException {
        BundleSealer.Sealed sealed = round.sealed;
        while (true) {
            try {
                byte[][] answers = relay.answers(sealed.ticket, sealed.own(), sealed.answerSize, clock.left());
                relay.forget(sealed.ticket);
                return answers;
            } catch (ServerException other) {
                if (other.code() == HttpURLConnection.HTTP_GONE) {
                    forgetRound();
                    return null;
                }
                if (other.code() != HttpURLConnection.HTTP_ACCEPTED) {
                    throw other;
                }
                clock.pause(Math.min(other.retryAfter(), LONGEST_PAUSE));
            }
        }
    }

    /** After the connection's end, whose time must not depend on what was found. */
    private Ranking rank(Client client, Sought sought, byte[][] answers) throws IOException {
        try {
            List<Ranking> found = new ArrayList<>();
            for (int i = 0; i < answers.length; i++) {
                if (answers[i] != null) {
                    found.add(rank(client, sought, round.sealed.openers[i], answers[i]));
                }
            }
            return Ranking.merge(found, sought.limit);
        } finally {
            forgetRound();
        }
    }

    private Ranking rank(Client client, Sought sought, Sealer.Opener opener, byte[] answer) throws IOException {
        try (OpenedAnswer opened = sealer.open(opener, new ByteArrayInputStream(answer), answer.length)) {
            int status = opened.status();
            if (status == HttpURLConnection.HTTP_OK) {
                return sought.rank(client, opened);
            }
            String error = Json.text(new String(Exchange.readSome(opened, answer.length), StandardCharsets.UTF_8),
                    "error");
            // Whatever it says: inside, a server could say it to one cell alone, and see who sends again or takes
            // another pack. That a pack is gone the relay tells everybody.
            throw new ServerException(HttpURLConnection.HTTP_OK, "the server refused the message: " + status + " "
                    + error, 0);
        } catch (PrivateMailException damaged) {
            if (damaged.status() == Status.SEALED) {
                throw new ServerException(HttpURLConnection.HTTP_OK, "the server sent no sound answer", 0);
            }
            throw damaged;
        }
    }

    private void forgetRound() {
        if (round != null) {
            round.sealed.wipe();
            round = null;
        }
    }

    private static String nameOf(Client client, Sought sought) {
        return packOf(client) + sought.photo;
    }

    private static String packOf(Client client) {
        return Hexadecimal.encode(client.pack().id());
    }

    /** How long a search may still wait. */
    private final class Clock {
        private final long begun = System.nanoTime();

        private long leftMilliseconds() throws IOException {
            if (closed) {
                throw new IllegalStateException("the search is closed");
            }
            long seconds = settings.longest() > 0 ? settings.longest()
                    : EPOCHS * (described == null ? 3600 : described.epochSeconds);
            long left = 1000 * seconds - (System.nanoTime() - begun) / 1_000_000;
            if (left <= 0) {
                throw new CrowdNotFilledException();
            }
            return left;
        }

        /** Seconds, rounded up. */
        long left() throws IOException {
            return (leftMilliseconds() + 999) / 1000;
        }

        void pause(long milliseconds) throws IOException {
            long pause = Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, milliseconds));
            Exchange.sleep(Math.min(pause, leftMilliseconds()));
            leftMilliseconds();
        }

        void lock() throws IOException {
            try {
                if (!turn.tryLock(leftMilliseconds(), TimeUnit.MILLISECONDS)) {
                    throw new CrowdNotFilledException();
                }
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted before its turn came");
            }
        }
    }
}
