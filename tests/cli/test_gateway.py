"""Tests of the gateway in serve, and of keys, with an independent client: python3 tests/cli/test_gateway.py path/to/privatemail

Needs numpy, cbor2, cryptography, pyhpke, openssl; with PostgreSQL and nginx it tests these too. Ends with 'N passed, N failed'; exits
non-zero when something failed."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import gateway_messages  # noqa: E402
import keys_command  # noqa: E402
from crowd import Front  # noqa: E402
from gateway_messages import CELLS, SLOTS, Client, opens  # noqa: E402
from harness import INPUT, OWN, Tester, wait_until  # noqa: E402
from postgres import Postgres, find_binaries  # noqa: E402
from sealed import PATH, EPOCH, SINGLE, Single, batch, binary_request, read_answers, read_keys, read_response  # noqa: E402
from serving import PLAIN, Server, ask, make_galleries  # noqa: E402

INDEX = ["index", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads", *OWN]


def gateway(tester, *options, **named):
    return Server(tester, "--ohttp-key", "gateway.keys", *options, **named)


def test_keys_over_http(tester, server):
    reply, head = server.request("GET", PATH), server.request("HEAD", PATH)
    tester.check(reply.status == 200 and reply.headers["Content-Type"] == "application/ohttp-keys" and
                 reply.body == tester.read("gateway.public"), "the configuration is that of keys --public")
    tester.check(head.status == 200 and head.body == b"" and head.headers["Content-Length"] == "47", "HEAD")


def test_without_key(tester):
    with Server(tester) as server:
        for method, body in (("GET", None), ("POST", b"x")):
            reply = server.request(method, PATH, body, SINGLE)
            tester.check(reply.status == 404 and reply.error() == "not_found", "%s without keys" % method)
        pack = tester.read("p.pmpk")[8:24].hex()
        tester.check("sealed" not in json.loads(server.request("GET", "/v1/pack/%s/gallery" % pack).body), "not sealed")
    tester.fails("no such file", INPUT, ["none.keys"], "serve", "--pack", "p.pmpk", "--store", "sqlite:p.store",
                 "--ohttp-key", "none.keys", "--listen", "127.0.0.1:0")


def reload(server, part="the keys were read again"):
    server.process.send_signal(signal.SIGHUP)
    return server.wait_for_log(part)


def test_rotation(tester):
    """A new key comes in front while the old one still opens; a dropped one opens nothing."""
    tester.succeeds("keys", "keys", "--out", "turning.keys")
    with Server(tester, "--ohttp-key", "turning.keys") as server:
        old = Client(tester, server)

        def asks(client):
            message = client.message(1, 1)
            answer = read_answers(client.post([message.bytes]).body)[3][0]
            request = Single(client.keys[0], binary_request(client.release(1, 1)))
            return opens(message, answer), server.request("POST", PATH, request.bytes, SINGLE).status

        tester.check(asks(old) == (True, 200), "the first key")
        tester.succeeds("add", "keys", "turning.keys", "--add")
        tester.check(len(read_keys(server.request("GET", PATH).body)) == 1, "nothing changes before the signal")
        tester.check(reload(server), "reloaded: %s" % server.log())
        new = Client(tester, server)
        tester.check([number for number, _ in new.keys] == [(old.keys[0][0] + 1) % 256, old.keys[0][0]], "new in front")
        tester.check(asks(old) == (True, 200) and asks(new) == (True, 200), "both open")
        tester.succeeds("drop", "keys", "turning.keys", "--drop", old.keys[0][0])
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(read_keys(server.request("GET", PATH).body)) == 1)
        tester.check(asks(old) == (False, 400) and asks(new) == (True, 200), "the dropped key opens nothing")
        os.rename(tester.path("turning.keys"), tester.path("away.keys"))
        tester.check(reload(server, "stay as they were"), "a file that is gone: %s" % server.log())
        tester.check(asks(new) == (True, 200), "the keys stay")
        tester.check("BEGIN" not in server.log(), "nothing private in the log")


def test_nothing_is_told(tester, server):
    """Log and metrics have counts alone."""
    client = Client(tester, server)
    queries = server.metric("queries_total")
    message = client.message(4, 7)
    client.ask([message] * 5)
    tester.check(server.metric("queries_total") == queries + 5, "queries are counted")
    tester.check('route="/.well-known/ohttp-gateway"' in server.request("GET", "/metrics").body.decode(), "by route")
    text = server.log() + server.request("GET", "/metrics").body.decode()
    for part in (message.bytes.hex(), message.enc.hex(), client.release(4, 7).hex(), client.pack.hex(), str(client.epoch)):
        tester.check(part not in text, "%s… is not told" % part[:16])
    tester.check("POST /.well-known/ohttp-gateway 200" in server.log(), "a line per request")


def test_filled_cache(tester):
    """All parts are in memory before the first message comes; a cache that is too small is told."""
    with gateway(tester) as server:
        client = Client(tester, server)
        client.ask([client.message(i % SLOTS, i % CELLS) for i in range(SLOTS * CELLS)])
        server.post(tester.read("p-gaussian.cbor"))
        tester.check(server.metric("queries_total") == SLOTS * CELLS + 1 and server.metric("queries_from_store_total") == 0,
                     "every part was read at the start")
        kept = int(server.metric("cache_bytes"))
    with gateway(tester, "--cache-bytes", 1) as server:
        needed = int(re.search(r"--cache-bytes (\d+)", server.log())[1])
        tester.check(kept <= needed < 1.5 * kept, "what the cache needs: %d of %d" % (kept, needed))
    for size, told in ((needed, False), (needed - 1, True)):
        with gateway(tester, "--cache-bytes", size) as server:
            tester.check(("--cache-bytes %d" % needed in server.log()) == told, "%d of %d: %s" % (size, needed, server.log()))


def test_tag(tester, server):
    """A description with lengths has a tag of its own: whoever knows the one without them fetches it."""
    client = Client(tester, server)
    path = "/v1/pack/%s/gallery" % client.pack.hex()
    tag = server.request("GET", path).headers["ETag"]
    tester.check(tag == '"%s.%d"' % (client.gallery["version"], client.sealed["answer"]), "tag %s" % tag)
    tester.check(server.request("GET", path, headers={"If-None-Match": tag}).status == 304 and
                 server.request("GET", path, headers={"If-None-Match": '"%s"' % client.gallery["version"]}).status == 200,
                 "compared")


def test_one_slot(tester):
    """In a pack with one slot a message is a response release."""
    tester.succeeds("pack", "pack", "--features", "public.npy", "--response-only", "--sketch", 16, "--cells", CELLS,
                    "--seed", 3, "--out", "one.pmpk")
    tester.succeeds("index", "index", "--pack", "one.pmpk", "--features", "public.npy", *OWN, "--store", "sqlite:one.store")
    with gateway(tester, names=("one",)) as server:
        client = gateway_messages.test_batch(tester, server, "one", 1)
        plaintext, _ = client.single(binary_request(client.release(0, 3)))
        message = client.message(0, 3)
        inside = message.open(client.ask([message])[0])
        tester.check(len(plaintext) == len(inside) and read_response(plaintext) == read_response(inside), "both ways agree")


def test_memory(tester):
    """One long part makes all answers long: they are made one after the other, and never lie in memory together.
    (AddressSanitizer keeps what was freed: there it needs ASAN_OPTIONS=quarantine_size_mb=1.)"""
    os.mkdir(tester.path("large"))
    tester.write("large/7.bin", bytes(60000))
    tester.succeeds("index", "index", "--pack", "one.pmpk", "--features", "public.npy", "--payloads", "large", *OWN,
                    "--store", "sqlite:large.store")
    with gateway(tester, names=("one",), stores=["sqlite:large.store"]) as server:
        def peak():
            with open("/proc/%d/status" % server.process.pid, encoding="utf-8") as stream:
                return next(int(line.split()[1]) for line in stream if line.startswith("VmHWM"))  # KiB
        client = Client(tester, server, "one", 1)
        tester.check(client.sealed["answer"] > 60000, "long: %s" % client.sealed)
        client.ask([client.message(0, 0)])
        before = peak()
        client.ask([client.message(0, i % CELLS) for i in range(1024)])
        tester.check(peak() - before < 16384, "60 MB of answers take %d KiB" % (peak() - before))


def test_stopped(tester):
    """A batch that runs when the server is told to stop is answered to its end; later ones get 503."""
    with gateway(tester, "--grace", 60) as server:
        client = Client(tester, server)
        message = client.message(0, 0)
        body = batch(client.epoch, client.pack, [message.bytes] * 1024)
        with slow_request(server, body) as stream:
            server.process.send_signal(signal.SIGTERM)
            answers = read_answers(stream())[3]
            tester.check(len(answers) == 1024 and all(opens(message, answer) for answer in answers[::97]), "all of them")
        tester.check(server.process.wait(60) == 0, "it stops")


@contextlib.contextmanager
def slow_request(server, body):
    """Posts an epoch, and waits until the first answers are there; the function it gives reads all of the reply's body."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect((server.host, server.port))
        connection.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                            % (PATH, EPOCH["Content-Type"], len(body))).encode() + body)
        first = bytearray()
        while len(first) < 20000:
            first += connection.recv(4096)

        def rest():
            while part := connection.recv(1 << 16):
                first.extend(part)
            return bytes(first[first.index(b"\r\n\r\n") + 4:])

        yield rest


def test_behind_nginx(tester):
    """With docs/examples/nginx.conf in front: a whole epoch, which is longer than any other body may be."""
    with gateway(tester) as server, tempfile.TemporaryDirectory() as folder, Front(folder, [server.port]) as front:
        client = Client(tester, server)
        messages = [client.message(i % SLOTS, i % CELLS) for i in range(1024)]
        body = batch(client.epoch, client.pack, [message.bytes for message in messages])
        connection = http.client.HTTPSConnection("localhost", front.port, timeout=60, context=front.tls)
        reply = ask(connection, "POST", PATH, body, EPOCH)
        connection.close()
        answers = read_answers(reply.body)[3] if reply.status == 200 else []
        tester.check(len(body) > 65536 and len(answers) == 1024 and
                     all(opens(*pair) for pair in list(zip(messages, answers))[::97]), "through nginx: %d" % reply.status)
        tester.check(front.get(PATH).body == tester.read("gateway.public"), "the keys, through nginx")


def test_postgres(tester):
    """The same from a database; and when that goes away in the middle, the rest of the answers say so inside."""
    with Postgres() as database:
        tester.succeeds("index", *INDEX, "--pack", "p.pmpk", "--store", database.uri())
        with gateway(tester, "--cache-bytes", 0, stores=[database.uri()]) as server, gateway(tester) as file_server:
            client, other = gateway_messages.test_batch(tester, server), Client(tester, file_server)
            tester.check(client.gallery == other.gallery, "lengths and version are those of the file's store")
            messages = [client.message(i % SLOTS, i % CELLS) for i in range(1024)]
            with slow_request(server, batch(client.epoch, client.pack, [message.bytes for message in messages])) as stream:
                database.stop("immediate")
                answers = read_answers(stream())[3]
            tester.check({len(answer) for answer in answers} == {client.sealed["answer"]}, "all of one length")
            inside = [read_response(message.open(answer)) for message, answer in zip(messages, answers)]
            found = [status for status, _ in inside]
            tester.check(found[0] == 200 and found[-1] == 503 and set(found) == {200, 503}, "first %s, then %s" % (found[0], found[-1]))
            tester.check(json.loads(inside[-1][1])["error"] == "store", "inside: %s" % inside[-1][1])
            plaintext, _ = client.single(binary_request(client.release(0, 0)))
            tester.check(read_response(plaintext)[0] == 503 and len(plaintext) == len(messages[0].open(answers[0])),
                         "a request on its own, too")


def test_changing(tester):
    """A gallery changes while an epoch is answered: all of it comes from the version it began with."""
    tester.succeeds("index", *INDEX, "--pack", "p.pmpk", "--store", "sqlite:changing.store")
    with gateway(tester, stores=["sqlite:changing.store"]) as server:
        client = Client(tester, server)
        pairs = [(i % SLOTS, i % CELLS) for i in range(1024)]
        messages = [client.message(*pair) for pair in pairs]
        parts = {pair: client.parts.part(*pair) for pair in set(pairs)}
        with slow_request(server, batch(client.epoch, client.pack, [message.bytes for message in messages])) as stream:
            tester.write("gone.txt", "".join("%d\n" % item for item in range(0, 200, 2)).encode())
            tester.succeeds("remove", "index", "--pack", "p.pmpk", "--remove", "gone.txt", "--store", "sqlite:changing.store")
            tester.check(wait_until(lambda: server.metric("gallery_switches_total") == 1), "the next version comes")
            _, _, version, answers = read_answers(stream())
        tester.check("%016x" % version == client.gallery["version"][:16] and
                     all(read_response(message.open(answer))[1].endswith(parts[pair])
                         for pair, message, answer in zip(pairs, messages, answers)), "an epoch keeps its version")
        tester.check(Client(tester, server).gallery["version"] != client.gallery["version"], "the next one has another")


def test_plain(tester):
    """Answers of version 1."""
    make_galleries(tester, *PLAIN)
    tester.succeeds("keys", "keys", "--out", "gateway.keys")
    with gateway(tester, names=("p", "old")) as server:
        gateway_messages.test_single(tester, server)
        gateway_messages.test_batch(tester, server)


def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        plain, tester = Tester(sys.argv[1], other), Tester(sys.argv[1], folder)
        test_plain(plain)
        keys_command.test_keys(tester)
        keys_command.test_refusals(tester)
        make_galleries(tester)
        tester.succeeds("keys", "keys", "--out", "gateway.keys", "--public", "gateway.public")
        test_without_key(tester)
        with gateway(tester, names=("p", "old")) as server:
            test_keys_over_http(tester, server)
            test_tag(tester, server)
            for test in (gateway_messages.test_single, gateway_messages.test_single_inside,
                         gateway_messages.test_single_outside, gateway_messages.test_batch,
                         gateway_messages.test_batch_inside, gateway_messages.test_batch_unreadable,
                         gateway_messages.test_batch_outside, gateway_messages.test_cut_batches):
                test(tester, server)
            test_nothing_is_told(tester, server)
        test_filled_cache(tester)
        test_one_slot(tester)
        test_memory(tester)
        test_rotation(tester)
        test_stopped(tester)
        if shutil.which("nginx"):
            test_behind_nginx(tester)
        if find_binaries():
            test_changing(tester)
        test_postgres(tester)
        print("%d passed, %d failed" % (plain.passed + tester.passed, plain.failed + tester.failed))
        return plain.failed + tester.failed > 0


sys.exit(main())
