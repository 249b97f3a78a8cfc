// SPDX-License-Identifier: Apache-2.0
package org.privatemail.aar;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;

/** A server of HTTP that does what a test orders, and remembers what it was asked. */
final class SearchListener implements AutoCloseable {
    /** Instead of a status: ends the connection without a word, in the middle of the answer, or sends another type. */
    static final int DROP = -1;
    static final int HALF = -2;
    static final int PAGE = -3;
    /** Instead of a status: a whole answer that is none. */
    static final int UNSOUND = -4;

    private final HttpServer server;
    private final List<Integer> orders = new ArrayList<>();

    final List<byte[]> messages = new ArrayList<>();
    final List<String> heads = new ArrayList<>();
    final List<Long> times = new ArrayList<>();
    /** Of the last query that came, in milliseconds since 1970. */
    long lastDate;
    /** Opens with the next query. */
    volatile CountDownLatch asked = new CountDownLatch(1);
    final List<String> fetched = new ArrayList<>();
    /** What is sent for a pack, by id. */
    final Map<String, byte[]> packs = new HashMap<>();
    /** The status for others; 302 leads to the pack that is called elsewhere. */
    int packCode = 404;
    byte[] answer;
    /** The field Retry-After; null for none. */
    String retryAfter;
    /** What a refusal with 409 calls current. */
    String current = "";

    SearchListener() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::serve);
        server.setExecutor(Executors.newCachedThreadPool(runnable -> {
            Thread thread = new Thread(runnable);
            thread.setDaemon(true);
            return thread;
        }));
        server.start();
    }

    URL address() throws IOException {
        return new URL("http", "127.0.0.1", server.getAddress().getPort(), "/below/");
    }

    /** What queries get next; the last for ever. Forgets what was seen. */
    synchronized void order(Integer... next) {
        orders.clear();
        orders.addAll(Arrays.asList(next));
        messages.clear();
        heads.clear();
        times.clear();
        fetched.clear();
        asked = new CountDownLatch(1);
    }

    @Override
    public void close() {
        server.stop(0);
    }

    private synchronized void serve(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (path.startsWith("/below/v1/pack/")) {
            String id = path.substring("/below/v1/pack/".length());
            fetched.add(id);
            byte[] pack = packs.get(id);
            send(exchange, pack == null ? packCode : 200, "application/octet-stream",
                    pack == null ? new byte[1] : pack);
            return;
        }
        times.add(System.nanoTime() / 1_000_000);
        lastDate = System.currentTimeMillis();
        heads.add(exchange.getRequestMethod() + " " + path + " " + exchange.getRequestHeaders().getFirst("Content-Type")
                + " " + exchange.getRequestHeaders().getFirst("Accept") + " "
                + exchange.getRequestHeaders().getFirst("User-Agent"));
        try (InputStream in = exchange.getRequestBody()) {
            messages.add(in.readAllBytes());
        }
        asked.countDown();
        obey(exchange, orders.size() > 1 ? orders.remove(0) : orders.get(0));
    }

    private void obey(HttpExchange exchange, int order) throws IOException {
        switch (order) {
            case 200:
                send(exchange, 200, "application/cbor-seq", answer);
                break;
            case DROP:
                exchange.close();
                break;
            case HALF:
                exchange.getResponseHeaders().set("Content-Type", "application/cbor-seq");
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer, 0, answer.length / 2);
                exchange.getResponseBody().flush();
                exchange.close();
                break;
            case PAGE:
                send(exchange, 200, "text/html", answer);
                break;
            case UNSOUND:
                send(exchange, 200, "application/cbor-seq", Arrays.copyOf(answer, answer.length - 1));
                break;
            default:
                send(exchange, order, "application/json", ("{\"error\":\"pack\",\"message\":\"no\",\"current\":[\""
                        + current + "\"]}").getBytes(StandardCharsets.UTF_8));
        }
    }

    private void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.getResponseHeaders().set("Location", "/below/v1/pack/elsewhere");
        if (retryAfter != null) {
            exchange.getResponseHeaders().set("Retry-After", retryAfter);
        }
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
