"""find and query: what they tell, and what a query does when server and network misbehave."""
import contextlib
import http.server
import os
import resource
import shutil
import ssl
import subprocess
import threading
import time

import numpy as np

from harness import (BUDGET, INPUT, OUTPUT, PRIVACY, USAGE, read_budget, read_schemas, reference, schema_faults,
                     wait_until)
from serving import NETWORK, QUERY, Server, pack_id, reference_gallery, reference_server

UNIT = 1 << 20


def test_find(tester, schemas):
    gallery = reference_gallery(tester)
    for mechanism in ("response", "gaussian"):
        release = tester.read("p-%s.cbor" % mechanism)
        base = ["find", "--release", "p-%s.cbor" % mechanism, "--pack", "p.pmpk", "--store", "sqlite:p.store"]
        told = tester.json("find", *base, "--top", "3", "--out", "answer.cbor")
        faults = schema_faults(schemas["find"], told)
        tester.check(not faults, "find: %s" % faults)
        expected = gallery.answer(release)
        tester.check(tester.read("answer.cbor") == expected and told["bytes"] == len(expected), "find: the answer")
        chosen = gallery.chosen(release)
        carried = sum(len(rows) for rows in chosen)
        tester.check(told["carried"] == carried and told["gallery"] == 200 and told["share"] == carried / 200 and
                     told["mechanism"] == mechanism and told["pack"] == pack_id(tester), "find: %s" % told)
        for slot, rows in zip(told["slots"], chosen):
            first = [{"item": item, "class": label} for item, label, _, _ in gallery.candidates(rows)[:3]]
            tester.check(slot["count"] == len(rows) and slot["candidates"] == first, "find: slot %s" % slot)
            tester.check(("cell" in slot) == (mechanism == "response") and
                         ("place" in slot) == (mechanism == "gaussian"), "find: keys of a slot")
        text = tester.succeeds("find as text", *base).stdout.decode()
        tester.check(text.count("\n") == 6 and "%d of 200" % carried in text, "find: %r" % text)
        os.remove(tester.path("answer.cbor"))
    told = tester.json("find --nearest", *base, "--nearest", "2")
    tester.check([slot["count"] for slot in told["slots"]] == [2] * 5, "find: --nearest")


def test_find_refuses(tester):
    base = ["find", "--release", "p-response.cbor", "--pack", "p.pmpk", "--store", "sqlite:p.store"]
    tester.fails("another pack's release", INPUT, ["old-response.cbor"], "find", "--release", "old-response.cbor",
                 *base[3:])
    tester.fails("another pack's store", INPUT, ["old.store"], *base[:-1], "sqlite:old.store")
    tester.fails("no release", INPUT, ["p.pmpk"], "find", "--release", "p.pmpk", *base[3:])
    tester.fails("no store", INPUT, ["absent"], *base[:-1], "sqlite:absent")
    for name in ("p.pmpk", "p.store", "p-response.cbor"):
        tester.fails("over " + name, USAGE, ["--out"], *base, "--out", "./" + name, "--force")
    tester.fails("exists", OUTPUT, ["p-gaussian.cbor"], *base, "--out", "p-gaussian.cbor")
    tester.fails("--nearest 0", USAGE, ["--nearest"], *base, "--nearest", "0")


# ---- query ----

def query(url, *options, epsilon=("--epsilon", "8")):
    return ["query", "--server", url, "--pack", "p.pmpk", *QUERY, *epsilon, *options]


def test_query(tester, schemas, server):
    """Results are those that the reference ranks first in the server's answer to the release that was sent."""
    gallery = reference_gallery(tester)
    bits = reference.bits_from_floats(np.load(tester.path("query.npy"))[2])
    label = int(np.load(tester.path("query_labels.npy"))[2])
    for mechanism in ("response", "gaussian"):
        for scope in ("own", "all"):
            told = tester.json("query", *query(server.url, "--mechanism", mechanism, "--row", "2", "--scope", scope,
                                               "--top", "5", "--keep", "kept.cbor", "--force"))
            faults = schema_faults(schemas["query"], told)
            tester.check(not faults, "query: %s" % faults)
            release = tester.read("kept.cbor")
            rows = gallery.chosen(release)
            slots = [gallery.candidates(each) for each in rows]
            best = reference.rank_answer(gallery.pack, slots, [[0] * len(each) for each in slots], bits, label,
                                         scope == "all", 5)
            tester.check([(each["id"], each["class"], each["score"]) for each in told["results"]] ==
                         [(item, kind, score / 2**30) for item, kind, _, score, _, _ in best],
                         "%s, %s: the reference's results" % (mechanism, scope))
            answer = server.post(release).body
            tester.check((told["bytes_up"], told["bytes_down"], told["carried"], told["gallery"], told["attempts"]) ==
                         (len(release), len(answer), sum(map(len, rows)), 200, 1) and told["share"] ==
                         told["carried"] / 200 and told["epsilon"] == 8 and told["budget"] is None, "query: %s" % told)
            again = tester.json("resend", *query(server.url, "--resend", "kept.cbor", "--row", "2", "--scope", scope,
                                                 "--top", "5", epsilon=()))
            tester.check(again["results"] == told["results"] and again["epsilon"] is None and
                         again["mechanism"] == mechanism and not schema_faults(schemas["query"], again), "--resend")
    text = tester.succeeds("query as text", *query(server.url)).stdout.decode()
    tester.check("item " in text and "epsilon 8" in text, "query: %r" % text)
    os.remove(tester.path("kept.cbor"))


def test_payloads(tester, server):
    """Also when the first answer broke off."""
    answer = server.post(tester.read("p-response.cbor")).body
    for replies in ([(200, answer, len(answer))], [(200, answer, len(answer) // 2), (200, answer, len(answer))]):
        with Liar(replies) as liar:
            check_payloads(tester, liar.url)
    check_payloads(tester, server.url)
    tester.fails("no folder", OUTPUT, ["found"], *query(server.url, "--payloads", "found"))


def test_long_answers(tester, server):
    """A server that sends without end does not fill the memory: what --payloads keeps has a limit."""
    pack, count, payload = reference_server.ServerPack(tester.read("p.pmpk")), 1000, bytes(65535)
    long = reference_server.write_slots(pack, count, [[(item, 0, [1 + item % 7] * pack.L, payload) for item in range(count)]] +
                                        [[]] * (pack.G - 1))
    os.mkdir(tester.path("found"))
    base = ["--scope", "all", "--payloads", "found"]
    for options, limit, room in (([], 16 << 20, 64 << 20), (["--most-bytes", "1000"], 1000, 32 << 20),
                                 (["--most-bytes", len(long) - 1], len(long) - 1, 1 << 30)):
        with Liar([(200, long, len(long))] * 3) as liar:
            command = query(liar.url, *base, *options, "--keep", "long.cbor")
            done = tester.run(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (room, room)))
            text = done.stderr.decode()
            tester.check(done.returncode == NETWORK and "more than %d bytes" % limit in text and "--most-bytes" in text and
                         "--resend long.cbor" in text and not done.stdout, "a long answer: %s" % text)
            tester.check(len(liar.bodies) == 1 and not os.listdir(tester.path("found")), "it is asked for once")
        os.remove(tester.path("long.cbor"))
    with Liar([(200, long, len(long))]) as liar:
        told = tester.json("as long as that", *query(liar.url, *base, "--most-bytes", len(long)))
        tester.check(told["bytes_down"] == len(long) and tester.read("found/%d.payload" % told["results"][0]["id"]) ==
                     payload, "a long answer that is wanted")
    shutil.rmtree(tester.path("found"))
    with Liar([(200, long, len(long))]) as liar:
        tester.json("nothing is kept without --payloads", *query(liar.url, "--scope", "all"))
    for options in (["--most-bytes", "0"], ["--most-bytes", str((1 << 30) + 1)]):
        tester.fails("--most-bytes", USAGE, ["--most-bytes"], *query(server.url, "--payloads", ".", *options))


def check_payloads(tester, url):
    os.mkdir(tester.path("found"))
    told = tester.json("payloads", *query(url, "--scope", "all", "--payloads", "found"))
    names = sorted(os.listdir(tester.path("found")))
    wanted = sorted("%d.payload" % each["id"] for each in told["results"])
    tester.check(names and names == wanted, "payloads: %s" % names)
    for each in told["results"]:
        number = each["id"]
        expected = b"payload of %d" % number * (number % 7) if number % 2 == 0 else b""
        tester.check(tester.read("found/%d.payload" % number) == expected, "payload of %d" % number)
        os.remove(tester.path("found/%d.payload" % number))
    os.rmdir(tester.path("found"))


def test_budget(tester, server):
    told = tester.json("a budget", *query(server.url, "--budget", "q.budget", "--budget-new", "20"))
    tester.check(told["budget"]["epsilon_spent"] == 8 and told["budget"]["releases_left"] == 1, "budget: %s" % told)
    tester.json("the rest", *query(server.url, "--budget", "q.budget"))
    tester.fails("spent", BUDGET, ["q.budget", "spent"], *query(server.url, "--budget", "q.budget"))
    tester.check(read_budget(tester.read("q.budget"))[:2] == (16 * UNIT, 20 * UNIT), "what is refused costs nothing")
    os.remove(tester.path("q.budget"))


def test_usage(tester, server):
    for what, options in (("--top", ["--top", "0"]), ("--top", ["--top", "257"]), ("--scope", ["--scope", "most"]),
                          ("--retries", ["--retries", "21"]), ("--timeout", ["--timeout", "0"]),
                          ("--resend", ["--resend", "p-response.cbor"]), ("--owner", ["--owner", "x"])):
        tester.fails(what, USAGE, [what], *query(server.url, *options))
    for url in ("127.0.0.1:80", "ftp://127.0.0.1", "http://", "https://x/?a=b", "file:///etc/passwd", "http://x/#y"):
        tester.fails("--server " + url, USAGE, ["--server"], *query(url))
    for url in ("http://u:SECRETPW@127.0.0.1:1", "https://SECRETPW@127.0.0.1:1", "http://:SECRETPW@127.0.0.1:1",
                "http://u:SECRETPW@127.0.0.1:1/?a=b", "ftp://u:SECRETPW@127.0.0.1", "http://u:SECRET PW@127.0.0.1",
                "http://u:1/SECRETPW@127.0.0.1:1", "u:SECRETPW@127.0.0.1"):
        for options in ([], ["--json"]):
            done = tester.fails("--server " + url, USAGE, ["--server", "@"], *query(url, "--retries", "0", *options))
            tester.check(b"SECRET" not in done.stderr + done.stdout, "no password is shown: %r" % done.stderr)
    for wrong in (["--servr=http://u:SECRETPW@127.0.0.1:1"], ["http://u:SECRETPW@127.0.0.1:1"]):
        done = tester.fails("query %s" % wrong, USAGE, ["http" if wrong[0][0] == "h" else "--servr"], "query", *wrong)
        tester.check(b"SECRET" not in done.stderr, "no password is shown: %r" % done.stderr)
    tester.fails("no epsilon", USAGE, ["--epsilon"], *query(server.url, epsilon=()))
    tester.fails("another pack's release", INPUT, ["old-response.cbor"],
                 *query(server.url, "--resend", "old-response.cbor", epsilon=()))
    tester.fails("keep over an input", USAGE, ["--keep"], *query(server.url, "--keep", "./query.npy", "--force"))
    tester.fails("keep exists", OUTPUT, ["p.store"], *query(server.url, "--keep", "p.store"))
    tester.succeeds("no sketches", "pack", "--features", "public.npy", "--out", "one.pmpk")
    done = tester.run(*[each if each != "p.pmpk" else "one.pmpk" for each in query(server.url)])
    tester.check(done.returncode == NETWORK and pack_id(tester) in done.stderr.decode() and
                 "/v1/pack/" + pack_id(tester) in done.stderr.decode(), "409 tells what to fetch: %r" % done.stderr)
    os.remove(tester.path("one.pmpk"))


# ---- servers that misbehave ----

class Liar(http.server.ThreadingHTTPServer):
    """Gives the replies of a list, one a request, and keeps what it was sent. A reply is (status, body, how much of
    it), or None to close without one."""
    daemon_threads = True

    def __init__(self, replies, context=None):
        super().__init__(("127.0.0.1", 0), LiarHandler)
        self.replies, self.bodies, self.lines = list(replies), [], []
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = "%s://127.0.0.1:%d" % ("https" if context else "http", self.server_address[1])
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass


class LiarHandler(http.server.BaseHTTPRequestHandler):
    def parse_request(self):
        self.server.lines.append(self.raw_requestline)  # also of CONNECT
        return super().parse_request()

    def do_POST(self):
        self.server.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers)))
        reply = self.server.replies.pop(0) if self.server.replies else (500, b"", 0)
        self.close_connection = True
        if not reply:
            return
        status, body, some = reply
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body[:some])

    def log_message(self, *_):
        pass


def test_retries(tester, server):
    """Whatever fails, the same bytes are sent again, and one release is paid."""
    answer = server.post(tester.read("p-response.cbor")).body
    failures = [None, (503, b"{}", 2), (200, answer, len(answer) // 2), (200, b"x" * 100, 100),
                (200, answer[:-1], len(answer))]
    with Liar(failures + [(200, answer, len(answer))]) as liar:
        told = tester.json("retries", *query(liar.url + "/", "--retries", "5", "--budget", "r.budget", "--budget-new",
                                             "100", "--keep", "r.cbor"))
        bodies = {body for _, body, _ in liar.bodies}
        tester.check(told["attempts"] == 6 and len(liar.bodies) == 6 and bodies == {tester.read("r.cbor")},
                     "six attempts, one release: %d, %d" % (told["attempts"], len(bodies)))
        path, _, headers = liar.bodies[0]
        tester.check(path == "/v1/query" and set(headers) == {"Host", "User-Agent", "Content-Type", "Accept",
                                                              "Content-Length"}, "what is sent: %s" % headers)
        tester.check(read_budget(tester.read("r.budget"))[0] == 8 * UNIT, "one release is paid")
    os.remove(tester.path("r.cbor"))
    for reply in (None, (500, b"", 0), (200, answer, 10), (200, b"", 0), (200, answer + b"\0", len(answer) + 1),
                  (200, answer + b"x", len(answer) + 1)):
        with Liar([reply] * 2) as liar:
            tester.fails("nothing but %r" % (reply and reply[0]), NETWORK, [liar.url, "--keep"],
                         *query(liar.url, "--retries", "1"))
            tester.check(len(liar.bodies) == 2 and liar.bodies[0][1] == liar.bodies[1][1], "the same twice")
    for status in (302, 400, 404, 408, 409, 413, 429):
        with Liar([(status, b"{}", 2), (200, answer, len(answer))]) as liar:
            done = tester.run(*query(liar.url, "--keep", "r.cbor"))
            tester.check(done.returncode == NETWORK and len(liar.bodies) == 1 and not done.stdout and
                         b"--resend r.cbor" in done.stderr, "%d is final: %r" % (status, done.stderr))
            kept = tester.read("r.cbor")
            again = tester.json("sent again", *query(liar.url, "--resend", "r.cbor", epsilon=()))
            tester.check(liar.bodies[1][1] == kept and again["budget"] is None, "what was kept is sent again")
            os.remove(tester.path("r.cbor"))
    os.remove(tester.path("r.budget"))


def test_environment(tester, server):
    """A release goes to the server that was named, whatever proxies and passwords the environment names."""
    answer = server.post(tester.read("p-response.cbor")).body
    os.mkdir(tester.path("home"))
    tester.write("home/.netrc", b"machine 127.0.0.1 login u password SECRETPW\ndefault login u password SECRETPW\n")
    tester.write("home/.curlrc", b"proxy = 127.0.0.1:1\n")
    with Liar([(200, answer, len(answer))] * 9) as proxy, Liar([(200, answer, len(answer))] * 9) as liar:
        names = [name for each in ("http_proxy", "https_proxy", "all_proxy") for name in (each, each.upper())]
        environment = dict(os.environ, **{name: proxy.url for name in names}, no_proxy="", NO_PROXY="",
                           HOME=tester.path("home"), CURL_HOME=tester.path("home"), NETRC=tester.path("home/.netrc"))
        done = tester.run(*query(liar.url), env=environment)
        tester.check(done.returncode == 0 and len(liar.bodies) == 1 and not proxy.bodies,
                     "no proxy: %r, %d and %d requests" % (done.stderr, len(liar.bodies), len(proxy.bodies)))
        tester.check(all("Authorization" not in headers for _, _, headers in liar.bodies), "no password is sent")
        for url in ("http://search.invalid", "https://search.invalid", liar.url.replace("http", "https")):
            done = tester.run(*query(url, "--retries", "0"), env=environment)
            tester.check(done.returncode == NETWORK and not proxy.lines, "%s: %r, the proxy was told %s" %
                         (url, done.stderr, proxy.lines))
    for name in (".netrc", ".curlrc"):
        os.remove(tester.path("home/" + name))
    os.rmdir(tester.path("home"))


def test_unreachable(tester):
    tester.fails("nobody listens", NETWORK, ["127.0.0.1:1", "--keep"], *query("http://127.0.0.1:1", "--retries", "0"))
    with Liar([(200, b"", 0)]) as liar:
        text = tester.run(*query(liar.url.replace("127.0.0.1", "0.0.0.0"), "--retries", "0")).stderr.decode()
        tester.check("not encrypted" in text, "plain HTTP beyond this machine: " + text)
        text = tester.run(*query("http://127.0.0.invalid", "--retries", "0")).stderr.decode()
        tester.check("not encrypted" in text, "a name that begins like this machine: " + text)
        text = tester.run(*query(liar.url, "--retries", "0")).stderr.decode()
        tester.check("not encrypted" not in text, "plain HTTP on this machine: " + text)


def test_slow_server(tester, server):
    """The budget is free for others while the network takes its time, and time has an end."""
    with Liar([]) as liar:
        release = threading.Event()
        liar.replies = type("Waiting", (list,), {"pop": lambda self, _: release.wait(60) and None,
                                                 "__bool__": lambda self: True})()
        command = [tester.program, *query(liar.url, "--retries", "0", "--timeout", "12", "--budget", "s.budget",
                                          "--budget-new", "100")]
        start = time.monotonic()
        waiting = subprocess.Popen(command, cwd=tester.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until(lambda: liar.bodies)
        tester.json("another query", *query(server.url, "--budget", "s.budget"))
        tester.check(waiting.poll() is None, "the first still waits")
        text = waiting.communicate(timeout=60)[1].decode()
        tester.check(waiting.returncode == NETWORK and 11.5 < time.monotonic() - start < 28, "--timeout: %s" % text)
        tester.check(read_budget(tester.read("s.budget"))[0] == 16 * UNIT, "both are paid")
        release.set()
    os.remove(tester.path("s.budget"))


def test_tls(tester, server):
    """Certificates are verified."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem",
                    "-out", "certificate.pem"], cwd=tester.folder, check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tester.path("certificate.pem"), tester.path("key.pem"))
    answer = server.post(tester.read("p-response.cbor")).body
    with Liar([(200, answer, len(answer))] * 2, context) as liar:
        tester.fails("an unknown certificate", NETWORK, ["certificate"], *query(liar.url, "--retries", "0"))
        tester.check(not liar.bodies, "nothing is sent to an unknown server")
        tester.json("a known one", *query(liar.url, "--ca", "certificate.pem"))
        tester.fails("another name", NETWORK, ["certificate"],
                     *query(liar.url.replace("127.0.0.1", "localhost"), "--ca", "certificate.pem", "--retries", "0"))
    for name in ("key.pem", "certificate.pem"):
        os.remove(tester.path(name))


def test_unusable_query(tester, server):
    """Nothing is sent and nothing is paid for a query that cannot be made."""
    base = query(server.url, "--budget", "u.budget", "--budget-new", "20")
    wait_until(lambda: server.metric("requests_in_flight") == 1)  # those before are counted when they are over
    before = server.metric('requests_total{route="/v1/query"')
    tester.fails("no such row", USAGE, ["query.npy"], *base, "--row", "99")
    tester.fails("no features", INPUT, ["absent.npy"],
                 *[each if each != "query.npy" else "absent.npy" for each in base])
    tester.fails("no anchors", PRIVACY, ["response"], "query", "--server", server.url, "--pack", "only.pmpk", *QUERY,
                 "--epsilon", "8", "--mechanism", "gaussian")
    tester.check(server.metric('requests_total{route="/v1/query"') == before, "nothing was sent")
    tester.check(not os.path.exists(tester.path("u.budget")), "nothing was paid")


def run_answers(tester):
    """What reads answers."""
    schemas = read_schemas()
    test_find(tester, schemas)
    with Server(tester) as server:
        test_query(tester, schemas, server)
        test_payloads(tester, server)
        test_long_answers(tester, server)
        test_retries(tester, server)


def run_all(tester):
    schemas = read_schemas()
    test_find(tester, schemas)
    test_find_refuses(tester)
    tester.succeeds("a pack without anchors", "pack", "--features", "public.npy", "--labels", "labels.npy",
                    "--slots", "class", "--response-only", "--out", "only.pmpk")
    with Server(tester) as server:
        test_query(tester, schemas, server)
        for test in (test_payloads, test_long_answers, test_budget, test_usage, test_retries, test_slow_server, test_tls,
                     test_environment, test_unusable_query):
            test(tester, server)
    test_unreachable(tester)
