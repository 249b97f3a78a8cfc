// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** Exchange, against a server whose connections break in the middle of what it says. */
final class ExchangeTest {
    private static final String TYPE = "application/json";

    private ExchangeTest() {}

    static void run() {
        Check.test("exchange: a refusal that arrives whole has its name", ExchangeTest::whole);
        Check.test("exchange: a refusal that breaks off is a refusal, and not sent again", ExchangeTest::brokenRefusal);
        Check.test("exchange: a fault of the server that breaks off is sent again", ExchangeTest::brokenFault);
    }

    /** Sends the same to everybody, and closes. */
    private static final class Repeating implements AutoCloseable {
        final AtomicInteger requests = new AtomicInteger();
        private final ServerSocket socket;
        private final byte[] told;

        Repeating(String status, String body) throws IOException {
            told = ("HTTP/1.1 " + status + "\r\nContent-Type: " + TYPE + "\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + body).getBytes(StandardCharsets.US_ASCII);
            socket = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
            Check.start(() -> {
                while (true) {
                    try (Socket one = socket.accept()) {
                        serve(one);
                    }
                }
            });
        }

        private void serve(Socket one) throws IOException {
            InputStream in = one.getInputStream();
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                head.append((char) in.read());
            }
            requests.incrementAndGet();
            one.getOutputStream().write(told);
        }

        ServerException refusal() throws IOException {
            URL address = new URL("http", "127.0.0.1", socket.getLocalPort(), "/");
            return Check.throwing(ServerException.class, () -> Exchange.get(address, TYPE, InputStream::read));
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static void whole() throws IOException {
        String body = "{\"error\": \"epoch\"}";
        try (Repeating server = new Repeating("409 Conflict",
                Integer.toHexString(body.length()) + "\r\n" + body + "\r\n0\r\n\r\n")) {
            ServerException refusal = server.refusal();
            Check.equal(409, refusal.code());
            Check.equal("epoch", refusal.name());
            Check.equal(1, server.requests.get());
        }
    }

    private static void brokenRefusal() throws IOException {
        try (Repeating server = new Repeating("409 Conflict", "40\r\n{\"error\": \"ep")) {
            ServerException refusal = server.refusal();
            Check.equal(409, refusal.code());
            Check.equal("", refusal.name());
            Check.that(refusal.tookNothing(), "an attempt counts that was not made");
            Check.equal(1, server.requests.get());
        }
    }

    private static void brokenFault() throws IOException {
        try (Repeating server = new Repeating("503 Service Unavailable", "40\r\n{\"error\": \"bu")) {
            Check.equal(503, server.refusal().code());
            Check.equal(3, server.requests.get());
        }
    }
}
