// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;

/** A relay, and the gateway behind it, that do what a test orders and remember what they were sent. */
final class RelayListener implements AutoCloseable {
    /** Instead of a status: the connection ends without a word, after the bundle was taken. */
    static final int TAKEN = -1;
    /** Instead of a status: the same, but nothing was taken. */
    static final int DROP = -2;
    /** Instead of 200: a flipped bit in every answer; a refusal inside; answers cut short. */
    static final int DAMAGED = -3;
    static final int INSIDE = -4;
    static final int SHORT = -5;

    private static final int ANSWER_PLAIN = 5000;

    /** A bundle as it came, with what was in its messages. */
    static final class Bundle {
        long epoch;
        String ticket;
        byte[] bytes;
        final List<byte[]> messages = new ArrayList<>();
        final List<byte[]> releases = new ArrayList<>();
        final List<SealGateway.Inside> insides = new ArrayList<>();
    }

    private final HttpServer server;
    private final byte[] pack;
    private final String packId;
    private final byte[] content;

    SealGateway gateway;
    byte[] keys;
    long epoch = System.currentTimeMillis() / 1000;
    /** How the epoch goes on when it was asked for. */
    int epochStep;
    String description = "{\"version\": 1, \"epoch_seconds\": 1, \"clients\": 100000, \"noise\": null}";
    int answerSize;
    int messageSize;
    int epochStatus = 200;
    /** What bundles and tickets get next; the last for ever. */
    final List<Integer> bundleOrders = new ArrayList<>();
    final List<Integer> ticketOrders = new ArrayList<>();
    /** JSON inside, for INSIDE. */
    int insideStatus = 409;
    String insideBody = "";

    final List<Bundle> bundles = new ArrayList<>();
    final List<String> heads = new ArrayList<>();

    RelayListener(byte[] pack, String packId, byte[] content, int releaseSize)
            throws IOException, GeneralSecurityException {
        this.pack = pack;
        this.packId = packId;
        this.content = content;
        messageSize = releaseSize + 104;
        answerSize = 32 + 4114 + 1 + ANSWER_PLAIN - 4096 + 16;
        gateway = new SealGateway(3, Hex.bytes("11".repeat(32)));
        keys = configuration(gateway.key);
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::serve);
        server.setExecutor(Executors.newCachedThreadPool(runnable -> {
            Thread thread = new Thread(runnable);
            thread.setDaemon(true);
            return thread;
        }));
        server.start();
        order(201);
        orderTickets(200);
    }

    static byte[] configuration(SealKey... keys) {
        byte[] all = {};
        for (SealKey key : keys) {
            all = JavaCrypto.join(all, Hex.bytes("002d"), new byte[] {key.id}, Hex.bytes("0020"), key.publicKey,
                    Hex.bytes("00080001000300010001"));
        }
        return all;
    }

    URL address() throws IOException {
        return new URL("http", "127.0.0.1", server.getAddress().getPort(), "/below/");
    }

    synchronized void order(Integer... next) {
        bundleOrders.clear();
        bundleOrders.addAll(Arrays.asList(next));
        bundles.clear();
        heads.clear();
    }

    synchronized void orderTickets(Integer... next) {
        ticketOrders.clear();
        ticketOrders.addAll(Arrays.asList(next));
    }

    @Override
    public void close() {
        server.stop(0);
    }

    private static int next(List<Integer> orders) {
        return orders.size() > 1 ? orders.remove(0) : orders.get(0);
    }

    private synchronized void serve(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().toString().substring("/below".length());
        heads.add(exchange.getRequestMethod() + " " + path + " "
                + exchange.getRequestHeaders().getFirst("Content-Type"));
        try {
            if (path.equals("/v1/keys")) {
                send(exchange, 200, "application/ohttp-keys", keys);
            } else if (path.equals("/v1/relay")) {
                json(exchange, 200, description);
            } else if (path.equals("/v1/pack/" + packId)) {
                send(exchange, 200, "application/octet-stream", pack);
            } else if (path.equals("/v1/pack/" + packId + "/epoch")) {
                json(exchange, epochStatus, "{\"pack\": \"" + packId + "\", \"epoch\": " + epoch
                        + ", \"closes\": 0, \"message\": " + messageSize + ", \"answer\": " + answerSize + "}");
                epoch += epochStep;
            } else if (path.equals("/v1/pack/" + packId + "/bundle")) {
                takeBundle(exchange);
            } else if (path.startsWith("/v1/ticket/")) {
                giveAnswers(exchange, path.substring("/v1/ticket/".length()).split("\\?")[0]);
            } else {
                json(exchange, 404, "{\"error\": \"not_found\"}");
            }
        } catch (GeneralSecurityException failure) {
            failure.printStackTrace(System.out);
            exchange.close();
        }
    }

    private void takeBundle(HttpExchange exchange) throws IOException, GeneralSecurityException {
        byte[] bytes = exchange.getRequestBody().readAllBytes();
        int order = next(bundleOrders);
        if (order == DROP) {
            exchange.close();
            return;
        }
        if (order > 201) {
            String name = order == 409 ? "epoch" : "other";
            json(exchange, order, "{\"error\": \"" + name + "\", \"epoch\": " + epoch + "}");
            return;
        }
        boolean again = bundles.stream().anyMatch(one -> Arrays.equals(one.bytes, bytes));
        if (!again) {
            bundles.add(read(bytes));
        }
        if (order == TAKEN) {
            exchange.close();
        } else {
            json(exchange, again ? 200 : 201, "{\"ticket\": \"\", \"epoch\": " + epoch + "}");
        }
    }

    private Bundle read(byte[] bytes) throws GeneralSecurityException {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        Bundle bundle = new Bundle();
        bundle.bytes = bytes;
        bundle.epoch = in.getLong();
        byte[] ticket = new byte[16];
        in.get(ticket);
        bundle.ticket = Hex.of(ticket);
        while (in.hasRemaining()) {
            byte[] message = new byte[messageSize];
            in.get(message);
            SealGateway.Inside inside = gateway.open(message, bundle.epoch, Hex.bytes(packId));
            bundle.messages.add(message);
            bundle.insides.add(inside);
            bundle.releases.add(Arrays.copyOfRange(inside.request, 48, inside.request.length - 1));
        }
        return bundle;
    }

    private void giveAnswers(HttpExchange exchange, String ticket) throws IOException, GeneralSecurityException {
        Bundle bundle = bundles.stream().filter(one -> one.ticket.equals(ticket)).findFirst().orElse(null);
        if (exchange.getRequestMethod().equals("DELETE")) {
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
            return;
        }
        int order = bundle == null ? 410 : next(ticketOrders);
        if (order > 200) {
            json(exchange, order, order == 202 ? "{\"state\": \"open\"}" : "{\"error\": \"lost\"}");
            return;
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (SealGateway.Inside inside : bundle.insides) {
            byte[] plain = order == INSIDE
                    ? SealGateway.response(insideStatus, insideBody.getBytes(StandardCharsets.UTF_8), ANSWER_PLAIN)
                    : SealGateway.response(200, content, ANSWER_PLAIN);
            byte[] answer = SealGateway.seal(inside, plain);
            answer[answer.length - 1] ^= (byte) (order == DAMAGED ? 1 : 0);
            out.write(answer);
        }
        byte[] all = out.toByteArray();
        send(exchange, 200, "application/x-privatemail-answers",
                order == SHORT ? Arrays.copyOf(all, all.length - 1) : all);
    }

    private static void json(HttpExchange exchange, int status, String text) throws IOException {
        send(exchange, status, "application/json", text.getBytes(StandardCharsets.UTF_8));
    }

    private static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
