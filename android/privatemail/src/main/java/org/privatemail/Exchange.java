// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.MalformedURLException;
import java.net.URL;

/**
 * One request of HTTP. It is made again, with the same bytes and after pauses that grow, when the network fails, when
 * the server is at fault (5xx) and when what it sent is unsound. It is not made again when the server refuses: it would
 * refuse again. Redirections are not followed: a message goes to the server that the app named, or nowhere.
 */
final class Exchange {
    private static final int TIMEOUT_MILLISECONDS = 20_000;
    private static final int ATTEMPTS = 3;
    private static final long FIRST_PAUSE = 250;
    /** A server that wants to be left alone for longer is asked no more: the app may do so later. */
    private static final long LONGEST_PAUSE = 30_000;

    /** Reads what the server sends. */
    interface Reader<B> {
        B read(InputStream in) throws IOException;
    }

    /** Uses what was read, after the connection's end. Throws a {@link ServerException} of 200 when it is unsound. */
    interface Taker<B, T> {
        T take(B body) throws IOException;
    }

    private Exchange() {}

    /** {@code path} below the address of a server, which may have a path of its own. */
    static URL address(URL server, String path) {
        String base = server.toExternalForm();
        boolean web = server.getProtocol().equals("https") || server.getProtocol().equals("http");
        if (!web || server.getHost().isEmpty() || base.indexOf('?') >= 0 || base.indexOf('#') >= 0) {
            throw new IllegalArgumentException("not the address of a server, such as https://search.example");
        }
        try {
            return new URL(base.replaceAll("/+$", "") + path);
        } catch (MalformedURLException impossible) {
            throw new IllegalArgumentException(impossible);
        }
    }

    static <T> T get(URL address, String type, Reader<T> reader) throws IOException {
        return run(address, null, null, type, reader, body -> body);
    }

    static <B, T> T post(URL address, byte[] message, String messageType, String type, Reader<B> reader,
                         Taker<B, T> taker) throws IOException {
        return run(address, message, messageType, type, reader, taker);
    }

    private static <B, T> T run(URL address, byte[] message, String messageType, String type, Reader<B> reader,
                                Taker<B, T> taker) throws IOException {
        long pause = FIRST_PAUSE;
        for (int attempt = 1; ; attempt++) {
            long wanted = 0;
            try {
                return taker.take(once(address, message, messageType, type, reader));
            } catch (ServerException refusal) {
                wanted = refusal.retryAfter();
                if (!refusal.passes() || attempt == ATTEMPTS || wanted > LONGEST_PAUSE) {
                    throw refusal;
                }
            } catch (IOException failure) {
                if (attempt == ATTEMPTS) {
                    throw failure;
                }
            }
            sleep(Math.max(pause, wanted));
            pause *= 2;
        }
    }

    private static <B> B once(URL address, byte[] message, String messageType, String type, Reader<B> reader)
            throws IOException {
        HttpURLConnection connection = (HttpURLConnection) address.openConnection();
        try {
            connection.setConnectTimeout(TIMEOUT_MILLISECONDS);
            connection.setReadTimeout(TIMEOUT_MILLISECONDS);
            connection.setInstanceFollowRedirects(false);
            connection.setUseCaches(false);
            connection.setRequestProperty("User-Agent", "privatemail"); // else the phone's model and system
            connection.setRequestProperty("Accept", type);
            if (message != null) {
                send(connection, message, messageType);
            }
            requireGood(connection, type);
            try (InputStream in = connection.getInputStream()) {
                return reader.read(in);
            }
        } finally {
            connection.disconnect();
        }
    }

    private static void send(HttpURLConnection connection, byte[] message, String type) throws IOException {
        connection.setRequestMethod("POST");
        connection.setRequestProperty("Content-Type", type);
        connection.setDoOutput(true);
        connection.setFixedLengthStreamingMode(message.length); // else it may be sent again without our knowing
        try (OutputStream out = connection.getOutputStream()) {
            out.write(message);
        }
    }

    private static void requireGood(HttpURLConnection connection, String type) throws IOException {
        int code = connection.getResponseCode();
        if (code < 0) {
            throw new IOException("what answers is not a server of HTTP");
        }
        if (code != HttpURLConnection.HTTP_OK) {
            throw new ServerException(code, "the server returned the status " + code, retryAfter(connection));
        }
        if (!type.equals(connection.getContentType())) {
            throw new ServerException(code, "the server sent " + connection.getContentType() + ", not " + type, 0);
        }
    }

    /** Milliseconds; the field has seconds or a date. */
    private static long retryAfter(HttpURLConnection connection) {
        String text = connection.getHeaderField("Retry-After");
        if (text == null) {
            return 0;
        }
        if (text.matches("[0-9]{1,9}")) {
            return 1000L * Integer.parseInt(text);
        }
        return Math.max(connection.getHeaderFieldDate("Retry-After", 0) - System.currentTimeMillis(), 0);
    }

    private static void sleep(long milliseconds) throws InterruptedIOException {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted before the request was made again");
        }
    }
}
