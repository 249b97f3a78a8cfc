// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/** The interface of a relay (SPEC 11.2), as a client sees it. What it sends is checked here before anybody uses it. */
final class RelayClient {
    private static final String JSON = "application/json";
    private static final int LONGEST_JSON = 4096;
    /** Seconds that a relay may hold a question for answers, and then so many more for the network. */
    private static final int HELD = 15;
    private static final long AHEAD = 3600;
    private static final long BEHIND = 86_400;

    private final URL address;

    RelayClient(URL address) {
        this.address = address;
    }

    /** What a relay says of itself. */
    static final class Description {
        final long epochSeconds;
        final long clients;
        /** Of the relay's own noise; 0 without. */
        final double clusters;
        final int copies;

        Description(String json) throws ServerException {
            epochSeconds = (long) Json.number(json, "epoch_seconds");
            clients = (long) Json.number(json, "clients");
            clusters = Math.max(0.0, Json.number(json, "clusters"));
            copies = (int) Math.max(0.0, Json.number(json, "copies"));
            require(Json.number(json, "version") == 1 && epochSeconds >= 1 && epochSeconds <= 3600 && clients >= 0);
        }
    }

    /** An epoch that is open. */
    static final class Epoch {
        final long number;
        final long closes;
        final long messageSize;
        final long answerSize;

        Epoch(String json, String pack) throws ServerException {
            number = (long) Json.number(json, "epoch");
            closes = (long) Json.number(json, "closes");
            messageSize = (long) Json.number(json, "message");
            answerSize = (long) Json.number(json, "answer");
            require(Json.text(json, "pack").equals(pack) && closes >= 0 && messageSize > 0 && answerSize > 0);
            long now = System.currentTimeMillis() / 1000;
            if (number > now + AHEAD || number < now - BEHIND) {
                throw new ServerException(HttpURLConnection.HTTP_OK,
                        "the relay's epoch is far from this device's clock", 0);
            }
        }
    }

    private static void require(boolean sound) throws ServerException {
        if (!sound) {
            throw unsound();
        }
    }

    static ServerException unsound() {
        return new ServerException(HttpURLConnection.HTTP_OK, "the relay sent nothing sound", 0);
    }

    byte[] keys() throws IOException {
        return Exchange.get(at("/v1/keys"), "application/ohttp-keys", in -> Exchange.readSome(in, SealKey.LONGEST + 1));
    }

    Description describe() throws IOException {
        return Exchange.run(new Exchange.Request(at("/v1/relay"), JSON), RelayClient::text, Description::new);
    }

    Epoch epoch(String pack) throws IOException {
        try {
            return Exchange.run(new Exchange.Request(at("/v1/pack/" + pack + "/epoch"), JSON), RelayClient::text,
                    json -> new Epoch(json, pack));
        } catch (ServerException refusal) {
            if (refusal.code() == HttpURLConnection.HTTP_NOT_FOUND) {
                throw new ServerException(HttpURLConnection.HTTP_CONFLICT, "the relay does not serve the pack " + pack,
                        0);
            }
            throw refusal;
        }
    }

    /** {@code bundle}: epoch, ticket, messages. When the network fails it may have been taken all the same. */
    void post(String pack, byte[] bundle) throws IOException {
        Exchange.Request request = new Exchange.Request(at("/v1/pack/" + pack + "/bundle"), JSON)
                .posting(bundle, "application/x-privatemail-bundle");
        request.good = HttpURLConnection.HTTP_CREATED;
        Exchange.run(request, RelayClient::text, body -> body);
    }

    /**
     * The sealed answers to the messages for which {@code wanted} is true; null for the others, which are read like
     * them. Throws a {@link ServerException} of 202 while there are none, and of 410 when there will be none.
     *
     * @param seconds that the relay may take before it says so
     */
    byte[][] answers(String ticket, boolean[] wanted, int size, long seconds) throws IOException {
        long held = Math.max(1, Math.min(HELD, seconds));
        Exchange.Request request = new Exchange.Request(at("/v1/ticket/" + ticket + "?wait=" + held),
                "application/x-privatemail-answers");
        request.milliseconds += (int) held * 1000;
        return Exchange.run(request, in -> read(new DataInputStream(in), wanted, size), answers -> answers);
    }

    private static byte[][] read(DataInputStream in, boolean[] wanted, int size) throws IOException {
        byte[][] answers = new byte[wanted.length][];
        byte[] passedOver = new byte[size];
        try {
            for (int i = 0; i < wanted.length; i++) {
                byte[] answer = wanted[i] ? new byte[size] : passedOver;
                in.readFully(answer);
                answers[i] = wanted[i] ? answer : null;
            }
        } catch (EOFException early) {
            throw new IOException("the answers were cut short", early);
        }
        require(in.read() < 0);
        return answers;
    }

    /** Says that the answers are not needed any more; whether that arrives does not matter. */
    void forget(String ticket) {
        Exchange.Request request = new Exchange.Request(at("/v1/ticket/" + ticket), JSON);
        request.method = "DELETE";
        try {
            Exchange.run(request, RelayClient::text, body -> body);
        } catch (IOException itForgetsThemAnyway) {
            // 204, or as said
        }
    }

    private URL at(String path) {
        return Exchange.address(address, path);
    }

    private static String text(InputStream in) throws IOException {
        return new String(Exchange.readSome(in, LONGEST_JSON), StandardCharsets.UTF_8);
    }
}
