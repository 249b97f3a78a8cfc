// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

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
    private static final int LONGEST_ERROR = 4096;

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

    /** What is asked for. */
    static final class Request {
        final URL address;
        /** What a sound answer has. */
        final String type;
        String method = "GET";
        byte[] message;
        String messageType;
        /** A status that is as good as 200, with a body of the same type. */
        int good = HttpURLConnection.HTTP_OK;
        int milliseconds = TIMEOUT_MILLISECONDS;

        Request(URL address, String type) {
            this.address = address;
            this.type = type;
        }

        Request posting(byte[] bytes, String bytesType) {
            method = "POST";
            message = bytes;
            messageType = bytesType;
            return this;
        }
    }

    static <T> T get(URL address, String type, Reader<T> reader) throws IOException {
        return run(new Request(address, type), reader, body -> body);
    }

    static <B, T> T run(Request request, Reader<B> reader, Taker<B, T> taker) throws IOException {
        long pause = FIRST_PAUSE;
        for (int attempt = 1; ; attempt++) {
            long wanted = 0;
            try {
                return taker.take(once(request, reader));
            } catch (ServerException refusal) {
                wanted = refusal.retryAfter();
                if (!refusal.passes() || attempt == ATTEMPTS || wanted > LONGEST_PAUSE) {
                    throw attempt == 1 ? refusal : refusal.afterOthers();
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

    private static <B> B once(Request request, Reader<B> reader) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) request.address.openConnection();
        try {
            connection.setConnectTimeout(TIMEOUT_MILLISECONDS);
            connection.setReadTimeout(request.milliseconds);
            connection.setInstanceFollowRedirects(false);
            connection.setUseCaches(false);
            connection.setRequestMethod(request.method);
            connection.setRequestProperty("User-Agent", "privatemail"); // else the phone's model and system
            connection.setRequestProperty("Accept", request.type);
            if (request.message != null) {
                send(connection, request.message, request.messageType);
            }
            requireGood(connection, request);
            try (InputStream in = connection.getInputStream()) {
                return reader.read(in);
            }
        } finally {
            connection.disconnect();
        }
    }

    private static void send(HttpURLConnection connection, byte[] message, String type) throws IOException {
        connection.setRequestProperty("Content-Type", type);
        connection.setDoOutput(true);
        connection.setFixedLengthStreamingMode(message.length); // else it may be sent again without our knowing
        try (OutputStream out = connection.getOutputStream()) {
            out.write(message);
        }
    }

    private static void requireGood(HttpURLConnection connection, Request request) throws IOException {
        int code = connection.getResponseCode();
        if (code < 0) {
            throw new IOException("what answers is not a server of HTTP");
        }
        if (code != HttpURLConnection.HTTP_OK && code != request.good) {
            throw new ServerException(code, "the server returned the status " + code, retryAfter(connection),
                    errorName(connection));
        }
        if (!request.type.equals(connection.getContentType())) {
            throw new ServerException(HttpURLConnection.HTTP_OK,
                    "the server sent " + connection.getContentType() + ", not " + request.type, 0);
        }
    }

    /**
     * The name of an error (SPEC 7); empty when what came has none, or broke off. The status has come by then: a
     * refusal whose text is lost is a refusal all the same, and must not be taken for a failure of the network.
     */
    private static String errorName(HttpURLConnection connection) {
        try (InputStream in = connection.getErrorStream()) {
            return in == null ? "" : Json.text(new String(readSome(in, LONGEST_ERROR), StandardCharsets.UTF_8),
                    "error");
        } catch (IOException broken) {
            return "";
        }
    }

    /** What comes, up to a number of bytes. */
    static byte[] readSome(InputStream in, int most) throws IOException {
        byte[] bytes = new byte[most];
        int size = 0;
        for (int count = 0; count >= 0 && size < most; count = in.read(bytes, size, most - size)) {
            size += count;
        }
        return Arrays.copyOf(bytes, size);
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

    static void sleep(long milliseconds) throws InterruptedIOException {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted before the request was made again");
        }
    }
}
