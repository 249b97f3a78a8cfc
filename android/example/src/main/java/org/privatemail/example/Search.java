// SPDX-License-Identifier: Apache-2.0
package org.privatemail.example;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import org.privatemail.Budget;
import org.privatemail.Client;
import org.privatemail.Options;
import org.privatemail.Pack;
import org.privatemail.PrivateMailException;
import org.privatemail.Ranking;

/**
 * A search, from features to a ranked list; nothing of Android in it. For one thread, which is not the main one: it waits
 * for the network.
 *
 * <p>What an app must do beyond calling the library is here: arm early, store the message before it is sent, send the
 * same bytes again when the network fails or the same photo is searched for again.
 */
final class Search implements AutoCloseable {
    private static final String RELEASE_TYPE = "application/cbor";
    private static final String ANSWER_TYPE = "application/cbor-seq";
    private static final int TIMEOUT_MILLISECONDS = 20_000;
    private static final int ATTEMPTS = 3;
    private static final int MATCHES = 8;

    private final Client client;
    private final Budget budget;
    private final File messages;
    private final URL server;
    private boolean armed;

    /**
     * @param budget what this person has left
     * @param messages a folder that keeps the message of every photo; messages are public, so a backup may hold it
     * @param server the whole address, such as {@code https://search.example/v1/query}
     * @param epsilon of one message
     */
    Search(Pack pack, Budget budget, File messages, URL server, double epsilon) {
        // A query that the library cannot use is sent all the same, as a public default: silence would tell of it.
        client = new Client(pack, Options.response(epsilon).substitute(true));
        this.budget = budget;
        this.messages = messages;
        this.server = server;
    }

    /** Whether the message of this photo is there: then a search costs nothing. */
    boolean knows(String photo) {
        return fileOf(photo).exists();
    }

    /** Pays for the next message and draws its noise: to be called when idle, before a photo is at hand. */
    void prepare() {
        if (!armed) {
            client.arm(budget);
            armed = true;
        }
    }

    /**
     * The best matches of a photo. {@code photo}: a name of its own, of letters and digits, which stays on the device. The
     * features remain the caller's, who wipes them.
     *
     * @throws IOException the network failed, more than once: calling again costs nothing. Or the message could not be
     *     stored: then it was not sent, its price is lost, and calling again pays anew
     */
    Ranking find(String photo, float[] features, int label) throws IOException {
        byte[] message = messageOf(photo, features, label);
        for (int attempt = 1; ; attempt++) {
            try {
                byte[] answer = ask(message);
                // After the connection's end, whose time must not depend on what was found.
                return client.answer(new ByteArrayInputStream(answer), features, label, Client.Scope.OWN_SLOT, MATCHES);
            } catch (IOException failure) {
                if (attempt == ATTEMPTS) {
                    throw failure;
                }
            }
        }
    }

    /** Gives back what was paid for a message that was not made. */
    @Override
    public void close() {
        try {
            if (armed) {
                client.disarm(budget);
            }
        } catch (PrivateMailException lost) {
            // The refund could not be stored: this person has one message less. The other way round would be a leak.
        } finally {
            client.close();
        }
    }

    private File fileOf(String photo) {
        if (!photo.matches("[A-Za-z0-9]+")) {
            throw new IllegalArgumentException("a photo's name has letters and digits only");
        }
        return new File(messages, photo + "-" + hexadecimal(client.pack().id()) + ".cbor");
    }

    /** The stored message of this photo and pack, or a new one, stored before anybody sees it. */
    private byte[] messageOf(String photo, float[] features, int label) throws IOException {
        File file = fileOf(photo);
        if (file.exists()) {
            byte[] message = new byte[(int) file.length()];
            try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
                in.readFully(message);
            }
            return message;
        }
        prepare();
        byte[] message = client.release(features, label).bytes();
        armed = false;
        File incomplete = new File(messages, "incomplete");
        try (FileOutputStream out = new FileOutputStream(incomplete)) {
            out.write(message);
            out.getFD().sync();
        }
        if (!incomplete.renameTo(file)) {
            throw new IOException("cannot store the message as " + file);
        }
        return message;
    }

    /** Sends a message and answers what the server answered, all of it. */
    private byte[] ask(byte[] message) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) server.openConnection();
        try {
            connection.setConnectTimeout(TIMEOUT_MILLISECONDS);
            connection.setReadTimeout(TIMEOUT_MILLISECONDS);
            connection.setInstanceFollowRedirects(false);
            connection.setRequestMethod("POST");
            connection.setRequestProperty("Content-Type", RELEASE_TYPE);
            connection.setRequestProperty("Accept", ANSWER_TYPE);
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(message.length);
            try (OutputStream out = connection.getOutputStream()) {
                out.write(message);
            }
            if (connection.getResponseCode() != HttpURLConnection.HTTP_OK) {
                throw new IOException("the server answered " + connection.getResponseCode());
            }
            if (!ANSWER_TYPE.equals(connection.getContentType())) {
                throw new IOException("the server answered with " + connection.getContentType());
            }
            try (InputStream in = connection.getInputStream()) {
                return readAll(in);
            }
        } finally {
            connection.disconnect();
        }
    }

    private byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] piece = new byte[1 << 16];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            if (count > client.options().answerLimit() - bytes.size()) {
                throw new IOException("the answer is too long");
            }
            bytes.write(piece, 0, count);
        }
        return bytes.toByteArray();
    }

    private static String hexadecimal(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
