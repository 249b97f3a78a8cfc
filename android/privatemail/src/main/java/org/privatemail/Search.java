// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
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

    private static final String MESSAGE_TYPE = "application/cbor";
    private static final String ANSWER_TYPE = "application/cbor-seq";

    private final PackSource packs;
    private final Options options;
    private final Budget budget;
    private final MessageFolder folder;

    /** Guards what follows, and all that makes a message. */
    private final Object making = new Object();
    private final Map<String, Client> clients = new HashMap<>();
    private Client armed;
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
        this.packs = Objects.requireNonNull(packs, "packs");
        this.options = options.substitute(true);
        this.budget = Objects.requireNonNull(budget, "budget");
        this.folder = new MessageFolder(Objects.requireNonNull(folder, "folder"));
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
        arm(clientOf(packs.pinned()));
    }

    /**
     * {@link #search(String, float[], int, Client.Scope, int, boolean)} among the query's own slot, for
     * {@link #DEFAULT_LIMIT} matches, and never for a second price.
     */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull float[] features, int label)
            throws IOException, PaysAgainException {
        return search(photo, features, label, Client.Scope.OWN_SLOT, DEFAULT_LIMIT, false);
    }

    /**
     * Searches for what is nearest to a photo. When the network fails, or the server, the same message is sent up to
     * three times, after pauses that grow and are at least as long as the server asks for. After an exception the
     * message is kept, and the next call sends the same.
     *
     * @param photo a name of its own, of 1 to 100 bytes in UTF-8, which stays on the device
     * @param features as in {@link Client}; they remain the caller's, who wipes them
     * @param limit most matches wanted, 1 to {@link Client#MATCHES_MAX}
     * @param payAgain whether to pay once more when the photo's message was made with a pack that is gone
     * @throws PaysAgainException that is the case, and {@code payAgain} is false or was made use of
     * @throws ServerException the server refuses, or fails at every attempt
     * @throws IOException the network fails at every attempt, or a file. When that was the new message, it was not
     *     sent, its price is lost, and the next call pays anew
     * @throws PrivateMailException as {@link #prepare}, {@link Client#release} and {@link Client#answer}
     */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull float[] features, int label, @NonNull Client.Scope scope,
                          int limit, boolean payAgain) throws IOException, PaysAgainException {
        Client.requireAnswer(scope, limit); // mistakes of the app are told before anything is paid
        Query query = new Query(photo, features, label, scope, limit);
        Set<String> gone = new HashSet<>(); // packs that the server does not serve
        boolean paid = false;
        String pinned = packs.pinned();
        while (true) {
            Ranking found = sendStored(query, pinned, gone);
            if (found != null) {
                return found;
            }
            if (!gone.contains(pinned)) {
                makeMessage(query, pinned, payAgain && !paid);
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
        synchronized (making) {
            folder.remove(photo);
        }
    }

    /** Takes back what was paid for a message that was not made. Later calls throw {@link IllegalStateException}. */
    @Override
    public void close() {
        synchronized (making) {
            closed = true;
            try {
                disarm();
            } finally {
                for (Client client : clients.values()) {
                    client.close();
                }
            }
        }
    }

    // ---- messages ----

    private static final class Query {
        final String photo;
        final float[] features;
        final int label;
        final Client.Scope scope;
        final int limit;

        Query(String photo, float[] features, int label, Client.Scope scope, int limit) {
            this.photo = photo;
            this.features = features;
            this.label = label;
            this.scope = scope;
            this.limit = limit;
        }
    }

    /**
     * Sends what was made before, which costs nothing: with the pinned pack, else with an older one as long as that is
     * served. Returns null when there is no such message; adds packs that are not served to {@code gone}.
     */
    private Ranking sendStored(Query query, String pinned, Set<String> gone) throws IOException {
        List<String> made = folder.packsOf(query.photo);
        if (made.remove(pinned)) {
            made.add(0, pinned);
        }
        made.removeAll(gone);
        for (String pack : made) {
            Client client = pack.equals(pinned) ? clientFor(query, pack) : oldClientFor(query, pack);
            if (client != null) {
                try {
                    return Exchange.post(packs.address("/v1/query"), folder.read(query.photo, pack), MESSAGE_TYPE,
                            ANSWER_TYPE, this::readAll, answer -> rank(client, query, answer));
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

    private static Ranking rank(Client client, Query query, byte[] answer) throws IOException {
        try {
            return client.answer(new ByteArrayInputStream(answer), query.features, query.label, query.scope,
                    query.limit);
        } catch (PrivateMailException unsound) {
            if (unsound.status() == Status.ANSWER || unsound.status() == Status.PACK_ID) {
                throw new ServerException(HttpURLConnection.HTTP_OK, "the server sent no sound answer", 0);
            }
            throw unsound;
        }
    }

    /** Stored before anybody sees it. Its file is begun first: when that fails, nothing is lost. */
    private void makeMessage(Query query, String pinned, boolean payAgain) throws IOException, PaysAgainException {
        Client client = clientFor(query, pinned);
        synchronized (making) {
            List<String> made = folder.packsOf(query.photo);
            if (made.contains(pinned)) {
                return; // another thread was quicker
            }
            if (!made.isEmpty() && !payAgain) {
                throw new PaysAgainException(client.receipt());
            }
            File begun = folder.begin();
            try {
                arm(client);
                byte[] message = client.release(query.features, query.label).bytes();
                armed = null;
                folder.finish(begun, message, query.photo, pinned);
            } finally {
                begun.delete();
            }
        }
    }

    private void arm(Client client) {
        synchronized (making) {
            if (armed != client) {
                disarm(); // of another pack
                client.arm(budget);
                armed = client;
            }
        }
    }

    private void disarm() {
        if (armed != null) {
            Client client = armed;
            armed = null;
            try {
                client.disarm(budget);
            } catch (PrivateMailException lost) {
                // The refund could not be stored: this person has one message less. The opposite would be a leak.
            }
        }
    }

    private byte[] readAll(InputStream in) throws IOException {
        int limit = options.answerLimit();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] piece = new byte[1 << 16];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            if (count > limit - bytes.size()) {
                throw new PrivateMailException(Status.ANSWER, "longer than the limit of " + limit + " bytes", null);
            }
            bytes.write(piece, 0, count);
        }
        return bytes.toByteArray();
    }

    // ---- clients ----

    private Client clientFor(Query query, String pack) throws IOException {
        Client client = clientOf(pack);
        client.pack().requireCount(query.features.length);
        return client;
    }

    /**
     * Returns null when an old message is useless because its pack is: not to be had any more, not of the app's model,
     * without what the options need, or of another number of features.
     */
    private Client oldClientFor(Query query, String pack) throws IOException {
        try {
            return clientFor(query, pack);
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
        synchronized (making) {
            Client client = knownClientOf(pack);
            if (client != null) {
                return client;
            }
        }
        Pack opened = packs.open(pack);
        synchronized (making) {
            Client client = knownClientOf(pack);
            if (client == null) {
                client = new Client(opened, options);
                clients.put(pack, client);
            }
            return client;
        }
    }

    private Client knownClientOf(String pack) {
        if (closed) {
            throw new IllegalStateException("the search is closed");
        }
        return clients.get(pack);
    }
}
