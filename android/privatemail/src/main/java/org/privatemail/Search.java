// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Searches, from features to what was found: the whole way of an app, over HTTP.
 *
 * <pre>{@code
 * Search search = new Search(new URL("https://search.example"), () -> PACK_ID, "mobilenet-v3 224",
 *                            Options.response(4.0), budget, folder);
 * search.prepare();                                              // early: fetches the pack, pays
 * Ranking found = search.search("IMG 4711", features, label);
 * }</pre>
 *
 * <ul>
 *   <li><b>The pack</b> is fetched by the id that the {@link PackSource} names, checked against that id and the model,
 *       and kept in the folder. What the server says about packs is not looked at.
 *   <li><b>The message</b> of a photo is stored before it is sent. When the network fails, when the server is busy, and
 *       when the photo is searched for again, the same bytes are sent again, which costs nothing.
 *   <li><b>A second payment</b> for a photo is needed when its message was made with a pack that is no longer served.
 *       It is made only when the app says so: see {@link PaysAgainException}.
 *   <li><b>Nothing tells what was found.</b> An answer is ranked after the connection's end. Features that cannot be
 *       used are sent as a public default ({@link Options#substitute}): silence would tell of them.
 * </ul>
 *
 * Methods write to the disk and wait for the network: stay off the main thread. An app on Android needs the permission
 * {@code android.permission.INTERNET}. One search object per folder: two at work on one photo may pay for it twice.
 */
public final class Search implements AutoCloseable {
    /** Matches that a search gives unless told otherwise. */
    public static final int DEFAULT_LIMIT = 20;

    private static final String MESSAGE_TYPE = "application/cbor";
    private static final String ANSWER_TYPE = "application/cbor-seq";
    private static final String PACK_TYPE = "application/octet-stream";

    private final URL server;
    private final PackSource packSource;
    private final Options options;
    private final Budget budget;
    private final SearchFolder folder;

    /** Guards what follows, and all that makes a message. */
    private final Object making = new Object();
    private final Map<String, Client> clients = new HashMap<>();
    private Client armed;
    private boolean closed;

    /**
     * Neither reads the folder nor uses the network.
     *
     * @param server the server's address without {@code /v1}, such as {@code https://search.example}
     * @param packSource names the pack that everybody uses now
     * @param model the name of the model that makes the features, as in {@link Pack#open}, or null to accept any
     * @param options of every message; {@link Options#substitute} is set in any case
     * @param budget what this person may spend
     * @param folder keeps packs and messages. It must exist: {@code Context.getFilesDir()} or a folder in it. Messages
     *     are public, so a backup may hold them; whoever deletes them pays anew
     */
    public Search(@NonNull URL server, @NonNull PackSource packSource, @Nullable String model, @NonNull Options options,
                  @NonNull Budget budget, @NonNull File folder) {
        Exchange.address(server, "");
        this.server = server;
        this.packSource = Objects.requireNonNull(packSource, "packSource");
        this.options = options.substitute(true);
        this.budget = Objects.requireNonNull(budget, "budget");
        this.folder = new SearchFolder(Objects.requireNonNull(folder, "folder"), model);
    }

    // ---- packs ----

    /** Whether the pinned pack is on the device, so that it need not be fetched. */
    public boolean hasPack() throws IOException {
        return folder.hasPack(pinnedId());
    }

    /**
     * Keeps a pack that came with the app, such as an asset.
     *
     * @param stream read to its end, not closed
     * @throws PrivateMailException as {@link Pack#open}; then nothing is kept
     */
    public void addPack(@NonNull InputStream stream) throws IOException {
        folder.storePack(stream, null);
    }

    /**
     * The pinned pack. Fetches it when it is not on the device, or damaged there.
     *
     * @throws ServerException the server does not have it (404), or fails
     * @throws PrivateMailException what the server sent is not the pinned pack, or not of the app's model
     */
    @NonNull
    public Pack pack() throws IOException {
        return clientOf(pinnedId()).pack();
    }

    // ---- searches ----

    /**
     * Pays for the next new message and draws its noise. Call it when idle, before a photo is at hand; a search that
     * needs it calls it otherwise. {@link #close} takes the price back. Calling it again does nothing.
     *
     * @throws IOException as {@link #pack}
     * @throws PrivateMailException as {@link #pack}, as the constructor of {@link Client}, and as {@link Client#arm}
     */
    public void prepare() throws IOException {
        arm(clientOf(pinnedId()));
    }

    /**
     * Whether a message of this photo was made with a pack that is still on the device. Then a search costs nothing,
     * if the server still serves that pack.
     */
    public boolean knows(@NonNull String photo) throws IOException {
        for (String pack : folder.packsOf(photo)) {
            if (keptClientOf(pack) != null) {
                return true;
            }
        }
        return false;
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
     * Searches for what is nearest to a photo. Pays when no message of the photo was ever made. When the network fails,
     * or the server, the same message is sent up to three times, after pauses that grow and are at least as long as the
     * server asks for. After an exception the message is kept, and searching again sends the same.
     *
     * @param photo a name of its own, of 1 to 100 bytes in UTF-8, which stays on the device
     * @param features as in {@link Client}; they remain the caller's, who wipes them
     * @param limit most matches wanted, 1 to {@link Client#MATCHES_MAX}
     * @param payAgain whether to pay once more when the photo's message was made with a pack that is gone
     * @throws PaysAgainException that is the case, and {@code payAgain} is false or has been made use of
     * @throws ServerException the server refuses, or fails at every attempt
     * @throws IOException the network fails at every attempt; or a file, and when that is the new message, it was not
     *     sent and its price is lost
     * @throws PrivateMailException as {@link #prepare}, {@link Client#release} and {@link Client#answer}
     */
    @NonNull
    public Ranking search(@NonNull String photo, @NonNull float[] features, int label, @NonNull Client.Scope scope,
                          int limit, boolean payAgain) throws IOException, PaysAgainException {
        Client.requireAnswer(scope, limit);
        Query query = new Query(photo, features, label, scope, limit);
        Set<String> notServed = new HashSet<>();
        boolean paid = false;
        String pinned = pinnedId();
        while (true) {
            Ranking found = sendStored(query, pinned, notServed);
            if (found != null) {
                return found;
            }
            if (!notServed.contains(pinned)) {
                makeMessage(query, pinned, payAgain && !paid);
                paid = true;
                continue;
            }
            pinned = pinnedId(); // whatever the server says is current: everybody's, or none
            if (notServed.contains(pinned)) {
                throw new ServerException(HttpURLConnection.HTTP_CONFLICT,
                        "the server does not serve the pinned pack " + pinned, 0);
            }
        }
    }

    /** Deletes the messages of a photo, such as one that was deleted. Searching for it again pays again. */
    public void forget(@NonNull String photo) throws IOException {
        synchronized (making) {
            folder.removeMessages(photo);
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
     * Sends what was made before, which costs nothing: with the pinned pack, else with an older one that the server
     * may still serve. Returns null when no message has its pack served; adds those packs to {@code notServed}.
     */
    private Ranking sendStored(Query query, String pinned, Set<String> notServed) throws IOException {
        List<String> packs = folder.packsOf(query.photo);
        if (packs.remove(pinned)) {
            packs.add(0, pinned);
        }
        packs.removeAll(notServed);
        for (String pack : packs) {
            Client client = pack.equals(pinned) ? clientOf(pack) : keptClientOf(pack);
            if (client == null || client.pack().features() != query.features.length) {
                continue;
            }
            try {
                return Exchange.post(Exchange.address(server, "/v1/query"), folder.message(query.photo, pack),
                        MESSAGE_TYPE, ANSWER_TYPE, this::readAll, answer -> rank(client, query, answer));
            } catch (ServerException refusal) {
                if (refusal.code() != HttpURLConnection.HTTP_CONFLICT) {
                    throw refusal;
                }
                notServed.add(pack);
            }
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

    /** Stored before anybody sees it. The file is begun first: when that fails, nothing is lost. */
    private void makeMessage(Query query, String pinned, boolean payAgain) throws IOException, PaysAgainException {
        Client client = clientOf(pinned);
        client.pack().requireCount(query.features.length);
        synchronized (making) {
            List<String> known = folder.packsOf(query.photo);
            if (known.contains(pinned)) {
                return; // another thread made it meanwhile
            }
            if (!known.isEmpty() && !payAgain) {
                throw new PaysAgainException(client.receipt());
            }
            File begun = folder.beginMessage();
            try {
                arm(client);
                byte[] message = client.release(query.features, query.label).bytes();
                armed = null;
                folder.storeMessage(begun, message, query.photo, pinned);
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

    // ---- clients ----

    private String pinnedId() throws IOException {
        byte[] id = packSource.id();
        Pack.requireId(id);
        return Hexadecimal.encode(id);
    }

    private Client clientOf(String pack) throws IOException {
        Client client = knownClientOf(pack);
        if (client != null) {
            return client;
        }
        return remember(pack, Exchange.get(Exchange.address(server, "/v1/pack/" + pack), PACK_TYPE,
                in -> folder.storePack(in, pack)));
    }

    /** Returns null when the pack is not on the device, or not of the app's model any more. */
    private Client keptClientOf(String pack) throws IOException {
        try {
            return knownClientOf(pack);
        } catch (PrivateMailException unusable) {
            return null;
        }
    }

    private Client knownClientOf(String pack) throws IOException {
        synchronized (making) {
            requireOpen();
            Client client = clients.get(pack);
            Pack kept = client == null ? folder.openPack(pack) : null;
            return kept == null ? client : remember(pack, kept);
        }
    }

    private Client remember(String id, Pack pack) {
        synchronized (making) {
            requireOpen();
            Client client = clients.get(id);
            if (client == null) {
                client = new Client(pack, options);
                clients.put(id, client);
            }
            return client;
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the search is closed");
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
}
