"""Clients that are slow, many, rude or gone, and a server that is told to stop."""
import concurrent.futures
import contextlib
import http.client
import os
import random
import re
import shutil
import signal
import socket
import threading
import time

from harness import OWN, wait_until
from serving import CBOR, Server, ask, raw_post, read_all


def statuses(data):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", data or b"")]


def test_large_bodies(tester):
    """Refused as soon as it is known that they are too large."""
    with Server(tester) as server:
        for size in (65537, 10**6, 10**12):
            with server.connect() as connection:
                connection.sendall(("POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\n"
                                    "Content-Length: %d\r\n\r\n" % size).encode() + bytes(1000))
                data = read_all(connection, 20)
                tester.check(statuses(data) == [413] and b'"size"' in data, "%d bytes: %r" % (size, data))
        with server.connect() as connection:
            connection.sendall(b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\n"
                               b"Transfer-Encoding: chunked\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                for _ in range(1000):
                    connection.sendall(b"400\r\n" + bytes(1024) + b"\r\n")
            data = read_all(connection, 20)
            tester.check(data is not None and statuses(data) in ([413], []), "without end: %r" % data)
        tester.check(wait_until(lambda: server.metric('requests_total{route="/v1/query",code="413"}') == 4),
                     "all were told 413")
        answer = server.request("POST", "/v1/query", bytes(65536), CBOR)
        tester.check(answer.status == 400, "65536 bytes are read: %d" % answer.status)
        pieces = [tester.read("p-response.cbor")[i:i + 7] for i in range(0, 40, 7)]
        answer = server.request("POST", "/v1/query", iter(pieces), CBOR, encode_chunked=True)
        tester.check(answer.status == 200, "a release in chunks: %d" % answer.status)


def trickle(connection, data, pause, seconds):
    """Sends byte by byte; how long until the other side closed, what it said, and how long this side was silent at most."""
    start = last = time.monotonic()
    connection.settimeout(pause)
    said, silent = b"", 0.0
    for i in range(int(seconds / pause)):
        try:
            connection.sendall(data[i:i + 1] or b"x")
            silent, last = max(silent, time.monotonic() - last), time.monotonic()
            part = connection.recv(65536)
            said += part
            if not part:
                break
        except socket.timeout:
            continue
        except OSError:
            break
    return time.monotonic() - start, said, max(silent, time.monotonic() - last)


def test_slow_clients(tester):
    """A byte now and then keeps no connection: header, body, reading; others are served meanwhile."""
    release = tester.read("p-response.cbor")
    os.makedirs(tester.path("large"))
    with open(tester.path("large/file"), "wb") as stream:
        stream.truncate(64 << 20)
    with Server(tester, "--timeout", "4", "--threads", "2", "--files", "large") as server, \
            concurrent.futures.ThreadPoolExecutor(16) as pool:
        before = raw_post(release)
        head = before[:len(before) - len(release)]
        slow_heads = [pool.submit(trickle, server.connect(), b"GET /healthz HTTP/1.1\r\nX: " + b"y" * 99, 0.4, 32)
                      for _ in range(4)]
        slow_bodies = []
        for _ in range(4):
            connection = server.connect()
            connection.sendall(head)
            slow_bodies.append(pool.submit(trickle, connection, release[:20], 0.4, 32))
        reader = server.connect()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
        good = [server.post(release).status for _ in range(20)]
        tester.check(good == [200] * 20, "others are served: %s" % good)
        for each in slow_heads:
            seconds, said, _ = each.result()
            tester.check(seconds < 16 and statuses(said) in ([408], []), "slow header: %.1f s, %r" % (seconds, said))
        told = 0
        for each in slow_bodies:
            seconds, said, silent = each.result()
            told += statuses(said) == [408]
            # One that was held up itself counts as idle, and hears nothing.
            tester.check(seconds < 16 and (statuses(said) == [408] or (silent > 3 and not said)),
                         "slow body: %.1f s, %r" % (seconds, said))
        tester.check(server.wait_for_log(" GET files 200 "), "a client that does not read is given up: " + server.log())
        reader.close()
        counted = 'requests_total{route="/v1/query",code="408"}'
        tester.check(wait_until(lambda: told <= server.metric(counted) <= 4), "408 is counted")
        tester.check(wait_until(lambda: server.metric("connections ") == 1), "no connection is left: %g" %
                     server.metric("connections "))
        tester.check(server.post(release).status == 200, "and it still answers")
    shutil.rmtree(tester.path("large"))


def test_many_at_once(tester):
    release = tester.read("p-response.cbor")
    with Server(tester, "--threads", "2", "--connections", "300") as server:
        expected = server.post(release).body
        connections = [server.connect() for _ in range(200)]
        for connection in connections:
            connection.sendall(raw_post(release, "Connection: close\r\n"))
        answers = [read_all(connection) for connection in connections]
        tester.check(all(answer and answer.endswith(expected) for answer in answers), "200 connections at once")
        for connection in connections:
            connection.close()
    with Server(tester, "--threads", "2", "--connections", "20") as server:
        held = [server.connect() for _ in range(60)]
        wait_until(lambda: server.metric("connections ") >= 60)
        answer = server.post(release)
        tester.check((answer.status, answer.error(), answer.headers["Retry-After"]) == (503, "busy", "1"),
                     "too many connections: %d" % answer.status)
        tester.check(server.request("GET", "/healthz").status == 200, "health is told all the same")
        for connection in held:
            connection.close()
        tester.check(wait_until(lambda: server.post(release).status == 200), "served again when they are gone")


def test_pipelining(tester):
    release = tester.read("p-response.cbor")
    with Server(tester) as server:
        expected = server.post(release).body
        with server.connect() as connection:
            health = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
            connection.sendall((raw_post(release) + health) * 10 + raw_post(release, "Connection: close\r\n"))
            data = read_all(connection, 20)
            tester.check(statuses(data) == [200] * 21 and data.count(expected) == 11, "pipelined: %s" % statuses(data))
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        for _ in range(100):
            answer = ask(connection, "POST", "/v1/query", release, CBOR)
        tester.check(answer.body == expected and wait_until(lambda: server.metric("connections ") == 2),
                     "one connection, many requests")
        connection.close()


def test_large_headers(tester):
    """Header fields that leave the service hardly any memory for the answer: an answer, 431, or none, but no harm."""
    release = tester.read("p-response.cbor")
    with Server(tester) as server:
        expected, found = server.post(release).body, {}
        for size in range(14000, 16600, 20):
            with server.connect() as connection:
                with contextlib.suppress(OSError):
                    connection.sendall(raw_post(release, "Connection: close\r\nX: %s\r\n" % ("y" * size)))
                data = read_all(connection, 20)
            status = statuses(data)
            tester.check(status in ([], [431]) or (status == [200] and data.endswith(expected)), "header of %d: %s" % (size, status))
            found[tuple(status)] = found.get(tuple(status), 0) + 1
        tester.check(server.process.poll() is None and found[200,] > 10 and found[431,] > 10, "all kinds: %s" % found)


def test_garbage(tester):
    """Whatever is sent, the server lives and answers the next."""
    source = random.Random(7)
    release = tester.read("p-response.cbor")
    whole = raw_post(release)
    samples = [b"", b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n",
               b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"b" * 100000 + b"\r\n\r\n",
               b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
               b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
               b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
               b"POST /v1/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n"]
    for _ in range(150):
        sample = bytearray(whole)
        for _ in range(source.randrange(1, 6)):
            sample[source.randrange(len(sample))] = source.randrange(256)
        samples.append(bytes(sample[:source.randrange(1, len(sample) + 1)]))
    with Server(tester, "--timeout", "5") as server:
        connections = []
        for sample in samples:
            connections.append(server.connect())
            with contextlib.suppress(OSError):
                connections[-1].sendall(sample)
                connections[-1].shutdown(socket.SHUT_WR)
        tester.check(server.post(release).status == 200, "served amid garbage")
        for connection in connections:
            tester.check(read_all(connection, 20) is not None, "garbage is not kept waiting")
            connection.close()
        length, chunked = b"Content-Length: %d\r\n", b"Transfer-Encoding: chunked\r\n"
        for fields in (length % 4 + chunked, chunked + length % 4, length % 4 + length % 5, length % 5 + length % 5,
                       length % 0 + b"content-length: 5\r\n", chunked + chunked,
                       b"Transfer-Encoding: identity\r\n" + chunked):
            with server.connect() as connection:  # smuggling: the end of the body depends on who reads it
                connection.sendall(b"POST /v1/query HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n0\r\n\r\n"
                                   b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                data = read_all(connection, 20)
                tester.check(statuses(data) == [400] and b'"request"' in data and b"Connection: close" in data,
                             "two lengths, %r: %r" % (fields, data))
        for _ in range(50):  # gone before the answer
            with server.connect() as connection:
                connection.sendall(whole)
        tester.check(server.process.poll() is None and server.post(release).status == 200, "alive after garbage")


SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
LENGTH = b"%d" % len(SMUGGLED)
CHUNKS = b"1\r\nx\r\n0\r\n\r\n"
# Fields that hide or double where a body ends; a proxy may well understand them. Each request has the rest as its body.
MISFRAMED = [
    (b"Content-Length : " + LENGTH, b""), (b"Content-Length\t: " + LENGTH, b""), (b"Content-Length\x0b: " + LENGTH, b""),
    (b"Content-Length\x00: " + LENGTH, b""), (b"\x0bContent-Length: " + LENGTH, b""), (b"X\rContent-Length: " + LENGTH, b""),
    (b"X: y\rContent-Length: " + LENGTH, b""), (b"X: y\r\rContent-Length: " + LENGTH, b""), (b"X: \x01", b""),
    (b"X: \x7f", b""), (b"X: y\x00z", b""), (b"\x00", b""), (b"X: y\r\n\x00X: y", b""), (b"X(y): z", b""), (b": y", b""),
    (b"X: y\nContent-Length : " + LENGTH, b""), (b"X: y\nY: z", b""), (b"Content-Length: " + LENGTH + b"\r\n y", b""),
    (b"Content-Length: " + LENGTH + b"\r\n\ty", b""), (b"Content-Length:\r\n " + LENGTH, b""), (b"X: y\r\n z: 1", b""),
    (b"Content-Length: 5\r\nTransfer-Encoding : chunked", CHUNKS), (b"Transfer-Encoding : chunked", CHUNKS),
    (b"Transfer-Encoding: chunked\r\nContent-Length : 5", CHUNKS), (b"Transfer-Encoding: identity", b""),
    (b"Transfer-Encoding: xchunked", CHUNKS), (b"Transfer-Encoding: gzip, chunked", CHUNKS), (b"Transfer-Encoding:", CHUNKS),
    (b"Transfer-Encoding: chunked\r\n , identity", CHUNKS), (b"Transfer-Encoding: chunked ", CHUNKS)]
# What libmicrohttpd refuses before the service is asked: 400 all the same, its head maybe twice.
MALFORMED = [b"Content-Length: +5", b"Content-Length: 34, 34", b"Content-Length: 0x22", b"Content-Length: -1",
             b"Content-Length: 5 5", b"Content-Length:", b"No colon", b""]  # the last: no Host
# Bodies in chunks as a strict reader would not take them: their ends cannot be told from good ones.
CHUNKED = [b"1\nx\n0\n\n", b"1\nx\r\n0\r\n\r\n", b"1\r\nx\n0\r\n\r\n", b"1\r\nx\r\n0\n\n", b"1;a=b\nx\r\n0\r\n\r\n", CHUNKS,
           b"1\r\nx\r\n0\r\nX: y\n\n", b"1\r\nx\r\n0\r\nContent-Length : 9\r\n\r\n", b"0001\r\nx\r\n00\r\n\r\n"]


def test_framing(tester):
    """Where a request ends is beyond doubt, or nothing behind it is answered: a proxy may see another end."""
    def ask_raw(server, data):
        with server.connect() as connection:
            connection.sendall(data)
            return read_all(connection, 20)

    release = tester.read("p-response.cbor")
    with Server(tester) as server:
        head = b"POST /v1/query HTTP/%s\r\nHost: x\r\nContent-Type: application/cbor\r\n%s\r\n\r\n"
        requests = [head % (b"1.1", fields) + body for fields, body in MISFRAMED]
        requests += [head % (b"1.0", fields) + CHUNKS for fields in
                     (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nConnection: keep-alive")]
        requests += [b"GET /healthz\x00 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"GET /healthz HTTP/1.1\nHost: x\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\n\n"]
        for request in requests:
            data = ask_raw(server, request + SMUGGLED)
            tester.check(data is not None and statuses(data) == [400] and (b'"request"' in data or b"<html>" in data) and
                         b"Connection: close" in data and b"privatemail_" not in data, "%r: %r" % (request, data))
        for fields in MALFORMED:
            request = head if fields else head.replace(b"Host: x\r\n", b"")
            data = ask_raw(server, request % (b"1.1", fields or b"X: y") + SMUGGLED)
            tester.check(data is not None and set(statuses(data)) == {400} and b"privatemail_" not in data,
                         "%r: %r" % (fields, data))
        for body in CHUNKED:
            data = ask_raw(server, head % (b"1.1", b"Transfer-Encoding: chunked") + body + SMUGGLED)
            tester.check(data is not None and statuses(data) == [400] and b'"release"' in data and
                         b"Connection: close" in data and b"privatemail_" not in data, "chunks %r: %r" % (body, data))
        last = SMUGGLED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        for field in ("X:y", "X:  \t y \t", "X:", "X: \xe9: \"(a, b)\"", "!#$%&'*+-.^_`|~09aZ: y", "X: y\r\nX: y"):
            data = ask_raw(server, raw_post(release, field + "\r\n") + last)
            tester.check(statuses(data) == [200, 200] and b"privatemail_" in data, "a sound field, %r: %r" % (field, data))
        data = ask_raw(server, b"\r\nGET /healthz?a=b%00c HTTP/1.1\r\nHost: x\r\n\r\n" + last)
        tester.check(statuses(data) == [200, 200], "a sound line: %r" % data)
        whole = raw_post(release, "".join("X-%d: %s\r\n" % (i, "y" * i) for i in range(120))) + last
        with server.connect() as connection:  # however it is cut
            for i in range(0, len(whole), 97):
                connection.sendall(whole[i:i + 97])
                time.sleep(0.002)
            tester.check(statuses(read_all(connection, 20)) == [200, 200], "a long header in pieces")


def begin_request(server, data, others=0):
    """A request whose last byte has not been sent; the server knows of it, and of this many others. It may also know of a
    request that has been answered just now, so it is asked more than once."""
    connection = server.connect()
    connection.sendall(data[:-1])
    wait_until(lambda: min(server.metric("requests_in_flight") for _ in range(3)) >= 2 + others)
    return connection


def asked_anew(server):
    """What a new connection gets."""
    try:
        with server.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            return read_all(connection, 20)
    except OSError:
        return b""


def test_shutdown(tester):
    release = tester.read("p-response.cbor")
    with Server(tester, "--grace", "60", "--timeout", "120") as server:
        expected = server.post(release).body
        idle = server.connect()
        connection = begin_request(server, raw_post(release))
        health = begin_request(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r", others=1)
        server.process.send_signal(signal.SIGTERM)
        tester.check(wait_until(lambda: asked_anew(server) == b""), "no new connection is served after SIGTERM")
        tester.check(read_all(idle, 20) == b"", "idle connections are closed")
        health.sendall(b"\r\n")
        data = read_all(health, 20)
        tester.check(statuses(data) == [503] and b'"stopping"' in data, "healthz turns 503: %r" % data)
        connection.sendall(release[-1:])
        data = read_all(connection, 20)
        tester.check(data and data.endswith(expected) and b"Connection: close" in data, "a running request is answered")
        tester.check(server.process.wait(timeout=30) == 0, "and then it ends")
    for signals, grace, least, most in (([signal.SIGTERM], 1, 0.9, 25), ([signal.SIGINT, signal.SIGINT], 30, 0, 25)):
        with Server(tester, "--grace", grace) as server:
            connection = begin_request(server, raw_post(release))
            start = time.monotonic()
            for number in signals:
                server.process.send_signal(number)
                wait_until(lambda: asked_anew(server) == b"")  # or the next one of its kind would be lost in it
            code = server.process.wait(timeout=60)
            seconds = time.monotonic() - start
            tester.check(code == 0 and least <= seconds <= most, "grace %d: code %d, %.1f s" % (grace, code, seconds))
            connection.close()


def test_shutdown_under_load(tester):
    """Every answer is whole, or there is none."""
    release = tester.read("p-gaussian.cbor")
    with Server(tester, "--threads", "2") as server:
        expected, wrong, count, stop = server.post(release).body, [], [0], threading.Event()

        def client():
            while not stop.is_set():
                try:
                    answer = server.post(release)
                except (OSError, http.client.HTTPException):
                    continue
                if not ((answer.status == 200 and answer.body == expected) or answer.status == 503):
                    wrong.append((answer.status, len(answer.body)))
                count[0] += 1

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        busy = wait_until(lambda: count[0] > 50, 60)
        server.stop()
        stop.set()
        for thread in threads:
            thread.join()
        tester.check(busy and not wrong, "shutdown under load: %d answers, wrong %s" % (count[0], wrong[:5]))


def test_store_damage(tester):
    """A store that breaks while it is served: 503, never a wrong answer."""
    os.makedirs(tester.path("heavy"))
    for i in range(200):
        tester.write("heavy/%d" % i, bytes([i]) * 30000)
    tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", "public.npy", "--labels", "labels.npy",
                    "--payloads", "heavy", *OWN, "--store", "sqlite:heavy.store")
    shutil.rmtree(tester.path("heavy"))
    os.symlink("p.pmpk", tester.path("heavy.pmpk"))
    release = tester.read("p-response.cbor")
    with Server(tester, names=("heavy",)) as server:
        tester.check(server.post(release).status == 200, "a store that is whole")
        with open(tester.path("heavy.store"), "r+b") as stream:
            stream.seek(65536)
            stream.write(os.urandom(os.path.getsize(tester.path("heavy.store")) - 65536))
        for accept in ("application/cbor-seq", "application/json"):
            answer = server.post(tester.read("p-gaussian.cbor"), Accept=accept)
            tester.check((answer.status, answer.error(), answer.headers["Retry-After"]) == (503, "store", "1"),
                         "a store that was spoilt: %d" % answer.status)
        tester.check(server.metric("store_failures_total") == 2, "store failures are counted")
    os.remove(tester.path("heavy.pmpk"))
    os.remove(tester.path("heavy.store"))


def run_all(tester):
    for test in (test_large_bodies, test_slow_clients, test_many_at_once, test_pipelining, test_large_headers, test_garbage,
                 test_framing, test_shutdown, test_shutdown_under_load, test_store_damage):
        test(tester)
