// SPDX-License-Identifier: Apache-2.0
package org.privatemail.example;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.privatemail.Budget;
import org.privatemail.Client;
import org.privatemail.FileBudgetStore;
import org.privatemail.Match;
import org.privatemail.Options;
import org.privatemail.Pack;
import org.privatemail.PrivateMailException;
import org.privatemail.Ranking;
import org.privatemail.Status;

/**
 * The example's search against a server on this machine that answers with a golden answer, and against the real one:
 * {@code SearchTest VECTORS FOLDER [ADDRESS PACK FEATURES LABELS]}, the last two being the gallery's, as .npy.
 */
public final class SearchTest {
    private static final byte[] OWNER = new byte[16];
    private static final double EPSILON = 4.0;

    private static int passed;
    private static int failed;

    /** What the server is to answer next; the last is answered for ever. */
    private static final List<Integer> statuses = new ArrayList<>();
    private static String answerType = "application/cbor-seq";
    private static final List<byte[]> messages = new ArrayList<>();
    private static final List<String> heads = new ArrayList<>();

    private static String[] golden;
    private static byte[] answer;

    private static void check(String name, boolean good) {
        System.out.println((good ? "ok      " : "FAILED  ") + name);
        if (good) {
            passed++;
        } else {
            failed++;
        }
    }

    private static byte[] bytes(String hexadecimal) {
        byte[] bytes = new byte[hexadecimal.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hexadecimal.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    private static float[] floats(String hexadecimal) {
        float[] floats = new float[hexadecimal.length() / 8];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = Float.intBitsToFloat(Integer.parseUnsignedInt(hexadecimal.substring(8 * i, 8 * i + 8), 16));
        }
        return floats;
    }

    private static String[][] lines(List<String> lines, String kind) {
        return lines.stream().filter(line -> line.startsWith(kind + "\t")).map(line -> line.split("\t", -1))
                .toArray(String[][]::new);
    }

    private static void serve(HttpExchange exchange) throws IOException {
        heads.add(exchange.getRequestMethod() + " " + exchange.getRequestURI() + " "
                + exchange.getRequestHeaders().getFirst("Content-Type") + " "
                + exchange.getRequestHeaders().getFirst("Accept"));
        try (InputStream in = exchange.getRequestBody()) {
            messages.add(in.readAllBytes());
        }
        int status = statuses.size() > 1 ? statuses.remove(0) : statuses.get(0);
        exchange.getResponseHeaders().set("Content-Type", answerType);
        exchange.getResponseHeaders().set("Location", "/elsewhere");
        byte[] body = status == 200 ? answer : new byte[1];
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static void expect(Integer... answers) {
        statuses.clear();
        statuses.addAll(Arrays.asList(answers));
        messages.clear();
        heads.clear();
    }

    private static double spent(Budget budget) {
        return budget.remaining().epsilonSpent();
    }

    private static boolean allEqual(List<byte[]> messages) {
        return messages.stream().allMatch(message -> Arrays.equals(message, messages.get(0)));
    }

    /** item:label:slot:score:offset:size of every match, as the golden vectors have it. */
    private static boolean isGolden(Ranking ranking) {
        String[] wanted = golden[8].split(",");
        List<Match> found = ranking.matches();
        for (int i = 0; i < wanted.length; i++) {
            String[] fields = wanted[i].split(":");
            int offset = Integer.parseInt(fields[4]);
            Match match = found.get(i);
            if (match.item() != Long.parseUnsignedLong(fields[0]) || match.label() != Integer.parseInt(fields[1])
                    || match.slot() != Integer.parseInt(fields[2])
                    || Math.round(match.score() * (1 << 30)) != Integer.parseInt(fields[3])
                    || !Arrays.equals(match.payload(),
                            Arrays.copyOfRange(answer, offset, offset + Integer.parseInt(fields[5])))) {
                return false;
            }
        }
        return ranking.bytes() == answer.length;
    }

    private static boolean fails(Search search, String photo) {
        try {
            search.find(photo, floats(golden[4]), Integer.parseInt(golden[5]));
            return false;
        } catch (IOException expected) {
            return true;
        }
    }

    private static void testSearch(Search search, Budget budget, int releaseBytes) throws IOException {
        float[] features = floats(golden[4]);
        int label = Integer.parseInt(golden[5]);

        expect(200);
        search.prepare();
        search.prepare();
        check("preparing twice pays once", spent(budget) == EPSILON);
        check("the ranking is the golden one", isGolden(search.find("one", features, label)));
        check("the request is a POST of CBOR, for a sequence of CBOR",
                heads.equals(List.of("POST /v1/query application/cbor application/cbor-seq")));
        check("one message of " + releaseBytes + " bytes was sent",
                messages.size() == 1 && messages.get(0).length == releaseBytes);
        check("the message is stored", search.knows("one") && !search.knows("two"));
        byte[] first = messages.get(0);

        expect(200);
        check("the same photo again gives the same list", isGolden(search.find("one", features, label)));
        check("by the same bytes, at no price", Arrays.equals(messages.get(0), first) && spent(budget) == EPSILON);

        expect(503, 503, 200);
        check("a server that fails twice is asked three times", isGolden(search.find("two", features, label)));
        check("with the same bytes, for one price",
                messages.size() == 3 && allEqual(messages) && spent(budget) == 2 * EPSILON);

        expect(503);
        check("a server that fails for good is an IOException", fails(search, "three") && messages.size() == 3);
        byte[] lost = messages.get(0);
        expect(200);
        check("which costs nothing to repeat", isGolden(search.find("three", features, label))
                && Arrays.equals(messages.get(0), lost) && spent(budget) == 3 * EPSILON);

        expect(302);
        check("a redirection is not followed",
                fails(search, "three") && heads.stream().noneMatch(head -> head.contains("elsewhere")));
        answerType = "text/html";
        expect(200);
        check("another media type is refused", fails(search, "three"));
        answerType = "application/cbor-seq";
    }

    private static void testLimits(Search search, Budget budget) throws IOException {
        float[] features = floats(golden[4]);
        int label = Integer.parseInt(golden[5]);
        expect(200);
        double before = spent(budget);
        search.find("four", new float[features.length], label);
        check("features that are no query are sent like any other",
                messages.size() == 1 && spent(budget) == before + EPSILON);
        search.prepare();
        try {
            search.find("../five", features, label);
            check("a photo's name is no path", false);
        } catch (IllegalArgumentException expected) {
            check("a photo's name is no path", true);
        }
        search.close();
        check("closing gives back what was paid and not used", spent(budget) == before + EPSILON);
    }

    private static void testSpent(Search search) throws IOException {
        float[] features = floats(golden[4]);
        expect(200);
        search.find("six", features, Integer.parseInt(golden[5]));
        try {
            search.find("seven", features, Integer.parseInt(golden[5]));
            check("a spent budget refuses", false);
        } catch (PrivateMailException refused) {
            check("a spent budget refuses", refused.status() == Status.SPENT && messages.size() == 1);
        }
        check("but not what was paid before", isGolden(search.find("six", features, Integer.parseInt(golden[5]))));
    }

    private static void testUnstored(Search search, Budget budget) {
        expect(200);
        double before = spent(budget);
        check("a message that cannot be stored is not sent", fails(search, "eight") && messages.isEmpty());
        check("its price is lost", spent(budget) == before + EPSILON);
    }

    private static Pack open(byte[] bytes) {
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
        direct.put(bytes);
        direct.flip();
        return Pack.open(direct, null);
    }

    /** What a .npy file of version 1 holds, little-endian. */
    private static ByteBuffer array(String path) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Paths.get(path))).order(ByteOrder.LITTLE_ENDIAN);
        file.position(10 + file.getShort(8));
        return file.slice().order(ByteOrder.LITTLE_ENDIAN);
    }

    /** With an ε that fails to release the true cell once in a million times, an item of the gallery finds itself. */
    private static void testRealServer(String[] arguments, Path folder) throws IOException {
        final double largest = 16.0;
        final int item = 200;
        Pack pack = open(Files.readAllBytes(Paths.get(arguments[3])));
        FloatBuffer gallery = array(arguments[4]).asFloatBuffer();
        float[] features = new float[pack.features()];
        gallery.position(item * features.length);
        gallery.get(features);
        int label = array(arguments[5]).getInt(4 * item);
        Budget budget = Budget.open(new FileBudgetStore(folder.resolve("budget").toFile()), OWNER,
                Budget.Caps.of(largest, 0.0, 0.0));
        try (Search search = new Search(pack, budget, folder.toFile(), new URL(arguments[2]), largest)) {
            List<Match> found = search.find("itself", features, label).matches();
            check("privatemail serve: an item of the gallery finds itself",
                    !found.isEmpty() && found.get(0).item() == item && found.get(0).label() == label);
            check("privatemail serve: the same message has the same answer",
                    search.find("itself", features, label).matches().size() == found.size());
        }
    }

    /** The example of android/README.md, which is not public. */
    private static void testReadme(Path folder, byte[] packBytes, byte[] packId, int releaseBytes) throws Exception {
        File file = Files.write(folder.resolve("pack"), packBytes).toFile();
        Method make = Class.forName("org.example.FirstMessage").getDeclaredMethod("make", File.class, File.class,
                byte[].class, byte[].class, float[].class, int.class);
        make.setAccessible(true);
        byte[] message = (byte[]) make.invoke(null, folder.toFile(), file, packId, OWNER, floats(golden[4]),
                Integer.parseInt(golden[5]));
        check("README's example makes a message", message.length == releaseBytes);
    }

    public static void main(String[] arguments) throws Exception {
        List<String> lines = Files.readAllLines(Paths.get(arguments[0]));
        // Of the query's own slot, with a ranking that the example's eight matches hold.
        golden = Stream.of(lines(lines, "answer")).filter(line -> line[6].equals("0") && !line[8].equals("-")
                && Integer.parseInt(line[7]) <= 8).findFirst().orElseThrow(IllegalStateException::new);
        answer = bytes(golden[3]);
        byte[] packBytes = bytes(lines(lines, "pack")[Integer.parseInt(golden[2])][2]);
        Pack pack = open(packBytes);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", SearchTest::serve);
        server.start();
        try {
            URL address = new URL("http", "127.0.0.1", server.getAddress().getPort(), "/v1/query");
            Path folder = Files.createTempDirectory(Paths.get(arguments[1]), "search");
            File messageFolder = Files.createDirectory(folder.resolve("messages")).toFile();
            FileBudgetStore store = new FileBudgetStore(folder.resolve("budget").toFile());
            Budget budget = Budget.open(store, OWNER, Budget.Caps.of(6 * EPSILON, 0.0, 0.0));
            int releaseBytes;
            try (Client client = new Client(pack, Options.response(EPSILON))) {
                releaseBytes = client.receipt().bytes();
            }
            try (Search search = new Search(pack, budget, messageFolder, address, EPSILON)) {
                testSearch(search, budget, releaseBytes);
            }
            testLimits(new Search(pack, budget, messageFolder, address, EPSILON), budget);
            File noFolder = folder.resolve("none").toFile();
            try (Search search = new Search(pack, budget, noFolder, address, EPSILON)) {
                testUnstored(search, budget);
            }
            Budget reopened = Budget.open(store, OWNER, Budget.Caps.of(1.0, 0.0, 0.0));
            check("the budget's file has what was spent", spent(reopened) == spent(budget));
            Budget small = Budget.open(new FileBudgetStore(folder.resolve("small").toFile()), OWNER,
                    Budget.Caps.of(EPSILON, 0.0, 0.0));
            try (Search search = new Search(pack, small, messageFolder, address, EPSILON)) {
                testSpent(search);
            }
            testReadme(Files.createDirectory(folder.resolve("readme")), packBytes, pack.id(), releaseBytes);
            if (arguments.length > 2) {
                testRealServer(arguments, Files.createDirectory(folder.resolve("real")));
            } else {
                System.out.println("skipped privatemail serve: none is running; build build/release first");
            }
        } finally {
            server.stop(0);
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
