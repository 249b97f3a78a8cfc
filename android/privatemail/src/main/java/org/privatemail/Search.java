// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Searches over HTTP: pays, makes a message, stores it, sends it, and ranks the answer.
 *
 * <pre>{@code
 * PackSource packs = new PackSource(server, cache, "mobilenet-v3 224", () -> PACK_ID);
 * Search search = new Search(packs, Options.response(4.0), budget, folder);
 *
 * search.prepare();                                              // early: fetches the pack, pays
 * Ranking found = search.search("IMG 4711", features, label);
 * }</pre>
 *
 * <ul>
 *   <li><b>One message per photo.</b> A message is stored before it is sent. When the network fails, when the server is
 *       busy, and when the same photo is searched for another time, the same bytes are sent again. That is free.
 *   <li><b>No second payment in silence.</b> When the message of a photo was made with a pack that is no longer served,
 *       a new one is made only if the app says so: see {@link PaysAgainException}.
 *   <li><b>The server does not choose the pack.</b> When it refuses the pack (409), the {@link PackSource} tells which
 *       one is pinned for everybody.
 *   <li><b>Nothing tells what was sought or found.</b> The answer is ranked when the connection has ended. A query that
 *       the library cannot use is sent as a public default ({@link Options#substitute}): silence would tell of it.
 * </ul>
 *
 * Methods write to the disk and wait for the network: stay off the main thread. An app on Android needs the permission
 * {@code android.permission.INTERNET}. One object per folder: two that search for one photo at the same time may both
 * pay for it.
 */
public final class Search implements AutoCloseable {
    /** Matches that a search gives unless told otherwise. */
    public static final int DEFAULT_LIMIT = 20;

    private final PackSource packs;
    private final Options options;
    private final MessageFolder folder;
    private final Way way;

    /** Its monitor guards what follows too. */
    private final Arming arming;
    private final Map<String, Client> clients = new HashMap<>();
    private boolean closed;

    /**
     * Neither reads the folder nor uses the network.
     *
     * @param packs gives the pack, and knows the server
     * @param options how messages are made; {@link Options#substitute} is set in any case
     * @param budget what this person may spend
     * @param folder keeps the message of every photo, and must exist: {@code Context.getFilesDir()} or a folder in it.
     *     Messages are public, so a backup may hold them. Whoever deletes them pays anew
     */
    public Search(@NonNull PackSource packs, @NonNull Options options, @NonNull Budget budget, @NonNull File folder) {
        this(packs, options, budget, folder, null);
    }

    /**
     * Searches in a crowd, through a relay. Then a search waits for the end of an epoch: seconds to hours.
     *
     * @param packs may fetch from the relay too, which passes packs on
     * @param options {@link Options#crowd}
     * @param folder as above, but out of backups: in a crowd a message shows the photo's drawn cell
     */
    public static @NonNull Search through(@NonNull Relay relay, @NonNull PackSource packs, @NonNull Options options,
                                          @NonNull Budget budget, @NonNull File folder) {
        Objects.requireNonNull(relay, "relay");
        if (options.crowd() == null) {
            throw new IllegalArgumentException("a search through a relay needs the options of a crowd");
        }
        return new Search(packs, options, budget, folder, relay);
    }

    private Search(PackSource packs, Options options, Budget budget, File folder, Relay relay) {
        this.packs = Objects.requireNonNull(packs, "packs");
        this.options = options.substitute(true);
        this.folder = new MessageFolder(Objects.requireNonNull(folder, "folder"));
        arming = new Arming(Objects.requireNonNull(budget, "budget"));
        way = relay == null ? new DirectWay(packs, options.answerLimit())
                : new CrowdWay(relay, this.folder, arming, options);
    }

    /**
     * Fetches the pack if need be, pays for the next message and draws its noise. Call it when idle, before a photo is
     * at hand; {@link #close} takes the price back. A search that needs a message and finds nothing prepared pays
     * itself. Calling it twice pays once.
     *
     * @throws IOException as {@link PackSource#open}
     * @throws PrivateMailException as {@link PackSource#open}, the constructor of {@link Client}, {@link Client#arm}
     */
    public void prepare() throws IOException {
        Client client = clientOf(packs.pinned());
        synchronized (arming) {
            requireOpen();
            arming.arm(client, way.kind());
        }
    }

    /**
     * For crowds: takes part in the open epoch without a query, with fakes, and with cover when the policy says so.
     * Call it once per epoch when the app runs anyway: the promise counts on clients that do. It waits for no answers
     * and costs nothing; a price that {@link #prepare} paid is taken back.
     *
     * @return whether it took part: not when this device has sent a bundle in this epoch, or is about to
     * @throws IOException as {@link #search}
     * @throws PrivateMailException KEYS, CROWD as {@link #search}
     */
    public boolean idle() throws IOException {
        if (!(way instanceof CrowdWay)) {
            throw new IllegalStateException("this search has no crowd");
        }
        return ((CrowdWay) way).idle(clientOf(packs.pinned()));
    }

    /**
     * {@link #search(String, Query, Client.Scope, int, boolean)} among the query's own slot, for {@link #DEFAULT_LIMIT}
     * matches, and never for a second price.
     */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull Query query) throws IOException, PaysAgainException {
        return search(photo, query, Client.Scope.OWN_SLOT, DEFAULT_LIMIT, false);
    }

    /** The same, of features of the pack's first modality. */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull float[] features, int label)
            throws IOException, PaysAgainException {
        return search(photo, Query.of(features, label));
    }

    /** {@link #search(String, Query, Client.Scope, int, boolean)} of features of the pack's first modality. */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull float[] features, int label, @NonNull Client.Scope scope,
                          int limit, boolean payAgain) throws IOException, PaysAgainException {
        return search(photo, Query.of(features, label), scope, limit, payAgain);
    }

    /**
     * Searches for what is nearest to a photo. When the network fails, or the server, the same message is sent up to
     * three times, after pauses that grow and are at least as long as the server asks for. After an exception the
     * message is kept, and the next call sends the same.
     *
     * @param photo a name of its own, of 1 to 100 bytes in UTF-8, which stays on the device. Files are named by it, and
     *     a backup may hold them: give a search for words a number, not these words
     * @param query its features remain the caller's, who wipes them
     * @param limit most matches wanted, 1 to {@link Client#MATCHES_MAX}
     * @param payAgain whether to pay once more when the photo's message was made with a pack that is gone
     * @throws PaysAgainException that is the case, and {@code payAgain} is false or was made use of
     * @throws ServerException the server refuses, or fails at every attempt
     * @throws IOException the network fails at every attempt, or a file. When that was the new message, it was not
     *     sent, its price may be lost, and the next call then pays anew
     * @throws CrowdNotFilledException through a relay: its epoch did not end in time
     * @throws PrivateMailException as {@link #prepare}, {@link Client#release} and {@link Client#answer}; through a
     *     relay KEYS when its keys lack the pinned one, CROWD when it promises less than the policy counts on
     */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull Query query, @NonNull Client.Scope scope, int limit,
                          boolean payAgain) throws IOException, PaysAgainException {
        Objects.requireNonNull(query, "query");
        Client.requireAnswer(scope, limit); // mistakes of the app are told before anything is paid
        Way.Sought sought = new Way.Sought(photo, query, scope, limit);
        Set<String> gone = new HashSet<>(); // packs that the server does not serve
        boolean paid = false;
        String pinned = packs.pinned();
        while (true) {
            Ranking found = sendStored(sought, pinned, gone);
            if (found != null) {
                return found;
            }
            if (!gone.contains(pinned)) {
                makeMessage(sought, pinned, payAgain && !paid);
                paid = true;
                continue;
            }
            pinned = packs.pinned(); // everybody's, or none; what the server calls current is not looked at
            if (gone.contains(pinned)) {
                throw new ServerException(HttpURLConnection.HTTP_CONFLICT,
                        "the server does not serve the pinned pack " + pinned, 0);
            }
        }
    }

    /** Whether a message of this photo is stored: then a search costs nothing while the message's pack is served. */
    public boolean isPaid(@NonNull String photo) throws IOException {
        return !folder.packsOf(photo).isEmpty();
    }

    /** Deletes the messages of a photo, when the photo is deleted for example. Searching for it again pays again. */
    public void forget(@NonNull String photo) throws IOException {
        synchronized (arming) {
            folder.remove(photo);
        }
    }

    /** Takes back what was paid for a message that was not made. Later calls throw {@link IllegalStateException}. */
    @Override
    public void close() {
        synchronized (arming) {
            closed = true;
            way.close();
            try {
                arming.disarm();
            } finally {
                for (Client client : clients.values()) {
                    client.close();
                }
            }
        }
    }

    // ---- messages ----

    /**
     * Sends what was made before, which costs nothing: with the pinned pack, else with an older one as long as that is
     * served. Returns null when there is no such message; adds packs that are not served to {@code gone}.
     */
    private Ranking sendStored(Way.Sought sought, String pinned, Set<String> gone) throws IOException {
        List<String> made = folder.packsOf(sought.photo);
        if (made.remove(pinned)) {
            made.add(0, pinned);
        }
        made.removeAll(gone);
        for (String pack : made) {
            Client client = pack.equals(pinned) ? clientFor(sought, pack) : oldClientFor(sought, pack);
            if (client != null) {
                try {
                    return way.send(client, sought, folder.read(sought.photo, pack));
                } catch (ServerException refusal) {
                    if (refusal.code() != HttpURLConnection.HTTP_CONFLICT) {
                        throw refusal;
                    }
                }
            }
            gone.add(pack);
        }
        return null;
    }

    /** Stored before anybody sees it. Its file is begun first: when that fails, nothing is lost. */
    private void makeMessage(Way.Sought sought, String pinned, boolean payAgain)
            throws IOException, PaysAgainException {
        Client client = clientFor(sought, pinned);
        way.ready(client);
        synchronized (arming) {
            List<String> made = folder.packsOf(sought.photo);
            if (made.contains(pinned)) {
                return; // another thread was quicker
            }
            if (!made.isEmpty() && !payAgain) {
                throw new PaysAgainException(client.receipt());
            }
            File begun = folder.begin();
            try {
                byte[] message = arming.use(client, way.kind(), () -> way.make(client, sought));
                folder.finish(begun, message, sought.photo, pinned);
            } finally {
                begun.delete();
            }
        }
    }

    // ---- clients ----

    private Client clientFor(Way.Sought sought, String pack) throws IOException {
        Client client = clientOf(pack);
        sought.query.requireIn(client.pack());
        return client;
    }

    /**
     * Returns null when an old message is useless because its pack is: not to be had any more, not of the app's model,
     * without what the options need, without the query's modality, or of another number of features.
     */
    private Client oldClientFor(Way.Sought sought, String pack) throws IOException {
        try {
            return clientFor(sought, pack);
        } catch (ServerException failure) {
            if (failure.code() != HttpURLConnection.HTTP_NOT_FOUND) {
                throw failure;
            }
        } catch (PrivateMailException unusable) {
            // as said
        }
        return null;
    }

    private Client clientOf(String pack) throws IOException {
        synchronized (arming) {
            Client client = knownClientOf(pack);
            if (client != null) {
                return client;
            }
        }
        Pack opened = packs.open(pack);
        synchronized (arming) {
            Client client = knownClientOf(pack);
            if (client == null) {
                client = new Client(opened, options);
                clients.put(pack, client);
            }
            return client;
        }
    }

    private Client knownClientOf(String pack) {
        requireOpen();
        return clients.get(pack);
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the search is closed");
        }
    }
}
