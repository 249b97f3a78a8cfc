"""Tests of serve, find and query with real clients: python3 tests/cli/test_serve.py path/to/privatemail

Needs numpy, cbor2, openapi_spec_validator, curl and openssl. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import base64
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import cbor2  # noqa: E402

import serve_cache  # noqa: E402
import serve_hostile  # noqa: E402
import serve_openapi  # noqa: E402
import serve_query  # noqa: E402
from harness import INPUT, USAGE, Tester, read_schemas, schema_faults, wait_until  # noqa: E402
from reference_lists import read_answer_2  # noqa: E402
from serving import CBOR, NETWORK, PLAIN, Server, answer_form, make_galleries, pack_id, reference_gallery  # noqa: E402


def read_sequence(data):
    stream, items = io.BytesIO(data), []
    while stream.tell() < len(data):
        items.append(cbor2.load(stream))
    return items


def read_slots(pack, data):
    """Per slot the candidates of an answer: [item, class, sketch, payload]."""
    if pack.code:
        return [[[item, label, bytes(sketch), payload] for item, label, sketch, payload in slot]
                for slot in read_answer_2(pack, data)[1]]
    slots = []
    for item in read_sequence(data)[1:]:
        if len(item) == 2:
            slots.append([])
        else:
            slots[-1].append(item)
    return slots


def test_answers(tester, server):
    """The service's answers are those of the independent reference, byte for byte, whoever asks."""
    gallery = reference_gallery(tester)
    for mechanism in ("response", "gaussian"):
        name = "p-%s.cbor" % mechanism
        release = tester.read(name)
        expected = gallery.answer(release)
        answer = server.post(release)
        tester.check(answer.status == 200 and answer.headers["Content-Type"] == "application/cbor-seq", mechanism)
        tester.check(answer.body == expected, mechanism + ": the answer is the reference's")
        tester.check(answer.headers["Cache-Control"] == "no-store" and answer.headers["Vary"] == "Accept" and
                     answer.headers["X-Content-Type-Options"] == "nosniff", "header fields: %s" % answer.headers)
        curl = subprocess.run(["curl", "-sS", "-H", "Content-Type: application/cbor", "--data-binary", "@" + name,
                               server.url + "/v1/query"], cwd=tester.folder, capture_output=True, timeout=30)
        tester.check(curl.stdout == expected and not curl.stderr, mechanism + ": curl gets the same")
        version, size = answer_form(tester)
        header = read_sequence(answer.body)[0]
        tester.check(header == [version, bytes.fromhex(pack_id(tester)), 5, size, 200], "header %s" % header)
        test_json(tester, server, release, read_slots(gallery.pack, answer.body))


def test_json(tester, server, release, slots):
    """The same candidates as JSON."""
    answer = server.post(release, Accept="application/json")
    document = json.loads(answer.body)
    expected = [{"slot": slot, "candidates": [{"item": item, "class": label, "sketch": base64.b64encode(sketch).decode(),
                                               "payload": base64.b64encode(payload).decode()}
                                              for item, label, sketch, payload in candidates]}
                for slot, candidates in enumerate(slots)]
    tester.check(answer.headers["Content-Type"] == "application/json" and document ==
                 {"pack": pack_id(tester), "gallery": 200, "sketch": answer_form(tester)[1], "slots": expected},
                 "the answer as JSON")


def test_negotiation(tester, server):
    release = tester.read("p-response.cbor")
    for accept, kind in (("*/*", "cbor-seq"), ("application/json;q=0.9, */*;q=0.1", "json"),
                         ("application/json;q=0.1, application/cbor-seq", "cbor-seq"), ("text/html", "cbor-seq")):
        tester.check(server.post(release, Accept=accept).headers["Content-Type"] == "application/" + kind, accept)


def test_refusals(tester, server):
    release = tester.read("p-response.cbor")
    for body in (b"", b"x", release[:-1], release + b"x", bytes(1000), os.urandom(65536)):
        answer = server.post(body)
        tester.check((answer.status, answer.error()) == (400, "release"), "%d bytes of garbage" % len(body))
    for kind in (None, "text/plain", "application/json", "application/x-www-form-urlencoded", "application/cbor-seq"):
        answer = server.request("POST", "/v1/query", release, {"Content-Type": kind} if kind else {})
        tester.check((answer.status, answer.error()) == (415, "type"), "Content-Type %s" % kind)
    tester.check(server.post(release, **{"Content-Encoding": "gzip"}).status == 415, "compressed")
    tester.check(server.request("POST", "/v1/query%00x", release, CBOR).status == 404, "a path that a zero byte ends")
    tester.check(server.request("POST", "/v1/query", release, {"Content-Type": "Application/CBOR; a=b"}).status == 200,
                 "a Content-Type with parameters")
    routes = {"/v1/query": "POST", "/healthz": "GET, HEAD", "/metrics": "GET, HEAD",
              "/v1/pack/" + pack_id(tester): "GET, HEAD"}
    for path, allowed in routes.items():
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"):
            answer = server.request(method, path, headers=CBOR)
            if method not in allowed:
                tester.check(answer.status == 405 and answer.headers["Allow"] == allowed, "%s %s" % (method, path))
    for path in ("/", "/v1", "/v1/query/", "/v1/pack/", "/v1/pack/" + "0" * 32, "/v1/pack/%s/" % pack_id(tester),
                 "/index.html", "/../p.pmpk", "//healthz", "/metrics%00x", "/metrics%00", "/healthz%00.png", "/v1/query%00",
                 "/v1/pack/%s%%00" % pack_id(tester), "%00/metrics"):
        answer = server.request("GET", path)
        tester.check((answer.status, answer.error()) == (404, "not_found"), "404 for " + path)


def test_other_pack(tester):
    with Server(tester, names=("p", "old")) as server:
        tester.check([pack["pack"] for pack in server.told["packs"]] == [pack_id(tester), pack_id(tester, "old")],
                     "both packs are told, the newest first")
        for name in ("p", "old"):
            answer = server.post(tester.read(name + "-response.cbor"))
            tester.check(answer.body == reference_gallery(tester, name).answer(tester.read(name + "-response.cbor")),
                         "two packs at once: " + name)
        release = bytearray(tester.read("p-response.cbor"))
        release[6] ^= 1
        answer = server.post(bytes(release))
        tester.check((answer.status, answer.error()) == (409, "pack") and
                     json.loads(answer.body)["current"] == [pack_id(tester), pack_id(tester, "old")],
                     "409 tells the current packs")


def test_packs(tester, server):
    pack, path = tester.read("p.pmpk"), "/v1/pack/" + pack_id(tester)
    tag = '"%s"' % pack_id(tester)
    for url in (path, path.upper().replace("/V1/PACK", "/v1/pack")):
        answer = server.request("GET", url)
        tester.check(answer.status == 200 and answer.body == pack and answer.headers["ETag"] == tag and
                     "immutable" in answer.headers["Cache-Control"], "the pack: %d" % answer.status)
    answer = server.request("HEAD", path)
    tester.check((answer.status, answer.headers["Content-Length"], answer.body) == (200, str(len(pack)), b""), "HEAD")
    for given, status in ((tag, 304), ("W/" + tag, 304), ('"x", ' + tag, 304), ("*", 304), ('"x"', 200)):
        answer = server.request("GET", path, headers={"If-None-Match": given})
        tester.check(answer.status == status and answer.headers["ETag"] == tag and len(answer.body) ==
                     (len(pack) if status == 200 else 0), "If-None-Match %s: %d" % (given, answer.status))
    size = len(pack)
    end = size - 1
    for given, first, last in (("bytes=0-0", 0, 0), ("bytes=100-199", 100, 199), ("bytes=-5", size - 5, end),
                               ("bytes=%d-" % end, end, end), ("bytes=0-%d" % (9 * size), 0, end)):
        answer = server.request("GET", path, headers={"Range": given})
        tester.check(answer.status == 206 and answer.body == pack[first:last + 1] and
                     answer.headers["Content-Range"] == "bytes %d-%d/%d" % (first, last, size), "Range: " + given)
    answer = server.request("GET", path, headers={"Range": "bytes=%d-" % size})
    tester.check((answer.status, answer.error()) == (416, "range") and
                 answer.headers["Content-Range"] == "bytes */%d" % size, "beyond the end")
    for headers in ({"Range": "bytes=0-1,5-6"}, {"Range": "lines=1-2"}, {"Range": "bytes=0-9", "If-Range": '"x"'}):
        tester.check(server.request("GET", path, headers=headers).body == pack, "the whole pack for %s" % headers)
    answer = server.request("GET", path, headers={"Range": "bytes=0-9", "If-Range": tag})
    tester.check(answer.status == 206 and answer.body == pack[:10], "If-Range with the right tag")


def test_health_and_metrics(tester, server):
    answer = server.request("GET", "/healthz")
    tester.check(answer.status == 200 and json.loads(answer.body) == {"status": "ok"}, "healthz")
    # A request is counted when it is over, which is after its client has the answer.
    counted = 'requests_total{route="/v1/query",code="200"}'
    wait_until(lambda: server.metric("requests_in_flight") == 1)
    before, sent = server.metric(counted), server.metric("sent_bytes_total")
    release = tester.read("p-response.cbor")
    answers = [server.post(release) for _ in range(5)]
    tester.check(wait_until(lambda: server.metric(counted) == before + 5), "requests are counted")
    tester.check(wait_until(lambda: server.metric("sent_bytes_total") >= sent + 5 * len(answers[0].body)),
                 "bytes are counted")
    tester.check(server.metric("packs ") == 1 and wait_until(lambda: server.metric("requests_in_flight") == 1), "gauges")
    text = server.request("GET", "/metrics").body.decode()
    number = r"-?[0-9.]+(e[+-]?[0-9]+)?"
    line = re.compile(r'# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? %s' % number)
    wrong = [each for each in text.split("\n")[:-1] if not line.fullmatch(each)]
    tester.check(not wrong and text.endswith("\n"), "Prometheus' text: %s" % wrong)
    for route in ("/v1/query", "/healthz"):
        buckets = [int(each.rsplit(" ", 1)[1]) for each in text.split("\n")
                   if each.startswith('privatemail_request_seconds_bucket{route="%s"' % route)]
        count = server.metric('request_seconds_count{route="%s"}' % route)
        tester.check(buckets == sorted(buckets) and buckets[-1] <= count and buckets[-1] > 0, "histogram of " + route)


FILES = {"index.html": "text/html; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
         "style.css": "text/css; charset=utf-8", "picture.svg": "image/svg+xml", "picture.png": "image/png",
         "core.wasm": "application/wasm", "data.json": "application/json", "other": "application/octet-stream",
         "sub/index.html": "text/html; charset=utf-8", "empty.css": "text/css; charset=utf-8"}


def test_files(tester):
    os.makedirs(tester.path("page/sub"))
    for name in FILES:
        tester.write("page/" + name, b"" if "empty" in name else b"content of " + name.encode())
    tester.write("page/.secret", b"hidden")
    os.makedirs(tester.path("page/.git"))
    tester.write("page/.git/config", b"hidden")
    os.symlink("../p.pmpk", tester.path("page/link"))
    os.symlink("..", tester.path("page/up"))
    os.mkfifo(tester.path("page/pipe"))
    with Server(tester, "--files", "page") as server:
        for name, kind in FILES.items():
            answer = server.request("GET", "/" + name)
            tester.check(answer.status == 200 and answer.headers["Content-Type"] == kind and
                         answer.body == tester.read("page/" + name), "%s: %d" % (name, answer.status))
            policy = answer.headers["Content-Security-Policy"]
            tester.check("frame-ancestors 'none'" in policy and policy.endswith("connect-src 'self'"), "policy of " + name)
            again = server.request("GET", "/" + name, headers={"If-None-Match": answer.headers["ETag"]})
            tester.check(again.status == 304 and not again.body, "%s has not changed" % name)
        tester.check(server.request("GET", "/").body == b"content of index.html" and
                     server.request("GET", "/sub/").body == b"content of sub/index.html" and
                     server.request("GET", "/?a=b").status == 200, "index.html")
        tester.check(server.request("HEAD", "/app.js").headers["Content-Length"] == "17", "HEAD of a file")
        for path in ("/../p.pmpk", "/%2e%2e/p.pmpk", "/sub/../../p.pmpk", "/..%2fp.pmpk", "/sub/%2e%2e/%2e%2e/p.pmpk",
                     "/.secret", "/%2esecret", "/.git/config", "/link", "/up/p.pmpk", "/pipe", "/sub", "/page", "//",
                     "//etc/passwd", "/etc/passwd", "/sub//index.html", "/index.html/", "/" + "x" * 300,
                     "/./index.html", "/" + "a/" * 2000, "/..\\p.pmpk", "/.%00.html", "/sub/.",
                     "/index.html%00.png", "/%00", "/sub/%00/x"):
            answer = server.request("GET", path)
            tester.check((answer.status, answer.error()) == (404, "not_found"), "%s: %d" % (path[:40], answer.status))
        tester.check(server.request("POST", "/index.html", b"x").status == 405, "files are read only")
        tester.check(server.request("GET", "/healthz").status == 200, "routes go before files")
    with Server(tester, "--files", "page", "--connect-to", "https://relay.example", "--connect-to",
                "http://127.0.0.1:8090") as server:
        tester.check(server.request("GET", "/").headers["Content-Security-Policy"].endswith(
            "; connect-src 'self' https://relay.example http://127.0.0.1:8090"), "pages may ask the origins that were named")
    shutil.rmtree(tester.path("page"))


def test_origins(tester, server):
    origin = {"Origin": "https://app.example"}
    release = tester.read("p-response.cbor")
    tester.check("Access-Control-Allow-Origin" not in server.post(release, **origin).headers, "no origin by default")
    with Server(tester, "--allow-origin", "https://app.example") as other:
        answer = other.post(release, **origin)
        tester.check(answer.headers["Access-Control-Allow-Origin"] == "https://app.example" and
                     answer.headers.get_all("Vary") == ["Accept", "Origin"], "the origin may ask: %s" % answer.headers)
        tester.check("Access-Control-Allow-Origin" not in
                     other.post(release, Origin="https://evil.example").headers, "another may not")
        answer = other.request("OPTIONS", "/v1/query", headers=dict(origin, **{
            "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}))
        tester.check(answer.status == 204 and "POST" in answer.headers["Access-Control-Allow-Methods"] and
                     "Content-Type" in answer.headers["Access-Control-Allow-Headers"], "preflight")
    with Server(tester, "--allow-origin", "*") as other:
        tester.check(other.post(release, **origin).headers["Access-Control-Allow-Origin"] == "*", "any origin")


def test_log(tester):
    release = tester.read("p-response.cbor")
    line = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ [A-Za-z]+ \S+ \d+ \d+ \d+\.\d%s"
    for options, address in (([], ""), (["--log-address"], r" 127\.0\.0\.1")):
        with Server(tester, *options) as server:
            answer = server.post(release)
            server.wait_for_log("POST /v1/query")  # a line is written after its answer
            for method, path, part in (("GET", "/healthz?token=private", "GET /healthz"),
                                       ("GET", "/private/path", "none"),
                                       ("GET", "/v1/pack/" + pack_id(tester), "/v1/pack/ID"),
                                       ("BREW", "/healthz", "other")):
                server.request(method, path)
                server.wait_for_log(part)
            lines = server.log().split("\n")[:-1]
            good = [each for each in lines if re.fullmatch(line % address, each)]
            tester.check(len(good) == len(lines) == 5, "log: %s" % lines)
            tester.check(" POST /v1/query 200 %d " % len(answer.body) in lines[0] and " GET none 404 " in lines[2] and
                         " GET /v1/pack/ID 200 " in lines[3], "log: %s" % lines)
            tester.check("private" not in server.log() and pack_id(tester) not in server.log(), "nothing private")
    with Server(tester, "--log", "off") as server:
        server.post(release)
        server.stop()
        tester.check(server.log() == "", "no log")


def test_listening(tester):
    base = ["serve", "--pack", "p.pmpk", "--store", "sqlite:p.store"]
    taken = socket.create_server(("127.0.0.1", 0))
    tester.fails("port in use", NETWORK, ["another program"], *base, "--listen",
                 "127.0.0.1:%d" % taken.getsockname()[1])
    taken.close()
    tester.fails("an address of others", NETWORK, ["192.0.2.1"], *base, "--listen", "192.0.2.1:8080")
    for text in ("8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999999", "::1:8080", "[::1]",
                 "[]:1"):
        tester.fails("--listen " + text, USAGE, ["--listen"], *base, "--listen", text)
    if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"):
        process = subprocess.Popen([tester.program] + base + ["--listen", "[::1]:0"], cwd=tester.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = process.stdout.readline()
        found = re.search(r"http://(\[::1\]:\d+)/", line)
        if tester.check(found, "listens on IPv6: " + line):
            curl = subprocess.run(["curl", "-sSg", "http://%s/healthz" % found[1]], capture_output=True, timeout=30)
            tester.check(b'"ok"' in curl.stdout, "IPv6 answers")
        process.terminate()
        tester.check(process.wait(timeout=20) == 0, "stops")
        process.stdout.close()


def test_bad_start(tester):
    base = ["serve", "--listen", "127.0.0.1:0"]
    whole = tester.read("p.store")
    tester.write("cut.store", whole[:len(whole) // 2])
    tester.write("text.store", b"no store at all")
    tester.write("nothing.store", b"")
    for name in ("cut", "text", "nothing", "absent"):
        tester.fails("store " + name, INPUT, [name + ".store"], *base, "--pack", "p.pmpk", "--store",
                     "sqlite:%s.store" % name)
    tester.fails("unknown kind", INPUT, ["'cloud'"], *base, "--pack", "p.pmpk", "--store", "cloud:x")
    for uri in ("postgresql://me:hunter2@db/x", "postgres://me:hunt%er2@db/x", "postgres://me:hun/ter2@db/x",
                "postgres://me:hun@ter2@127.0.0.1/x"):
        done = tester.fails("no store by " + uri, INPUT, [], *base, "--pack", "p.pmpk", "--store", uri)
        tester.check(b"hun" not in done.stderr and b"ter2" not in done.stderr, "no password is shown: %r" % done.stderr)
    tester.fails("another pack's store", INPUT, ["old.store"], *base, "--pack", "p.pmpk", "--store", "sqlite:old.store")
    tester.fails("a pack without store", USAGE, ["old.pmpk", "--store"], *base, "--pack", "p.pmpk", "--pack",
                 "old.pmpk", "--store", "sqlite:p.store")
    tester.fails("two stores of a pack", INPUT, ["p.store"], *base, "--pack", "p.pmpk", "--store", "sqlite:p.store",
                 "--store", "sqlite:p.store")
    tester.fails("a pack twice", USAGE, ["same pack"], *base, "--pack", "p.pmpk", "--pack", "p.pmpk", "--store",
                 "sqlite:p.store")
    tester.fails("no pack", USAGE, ["--pack"], *base, "--store", "sqlite:p.store")
    tester.fails("no folder", INPUT, ["--files"], *base, "--pack", "p.pmpk", "--store", "sqlite:p.store", "--files",
                 "p.pmpk")
    for option, value in (("threads", "0"), ("threads", "1000"), ("connections", "0"), ("timeout", "0"),
                          ("grace", "5000"), ("poll", "3601"), ("nearest", "0"), ("cache-bytes", "x"), ("log", "loud"), ("listen", ""),
                          ("connect-to", "relay.example"), ("connect-to", "https://"), ("connect-to", "https://a/b"),
                          ("connect-to", "https://a; script-src *"), ("connect-to", "data:x"),
                          ("connect-to", "https://" + "a" * 1100)):
        tester.fails("--%s %s" % (option, value), USAGE, ["--" + option], "serve", "--pack", "p.pmpk", "--store",
                     "sqlite:p.store", "--" + option, value)
    tester.fails("too many", USAGE, ["16"], *base, "--store", "sqlite:p.store", *["--pack", "p.pmpk"] * 17)


def test_documents(tester, server):
    faults = schema_faults(read_schemas()["serve"], server.told)
    tester.check(not faults, "what serve tells: %s" % faults)
    for command in ("serve", "find", "query"):
        text = tester.succeeds(command + " --help", command, "--help").stdout.decode()
        tester.check(all(word in text for word in ("Usage:", "--json", "Exit codes:", "Example:")), command + " help")


def test_plain(tester):
    """What reads and writes answers, for packs with plain sketches: answers of version 1."""
    make_galleries(tester, *PLAIN)
    with Server(tester, "--threads", "2") as server:
        test_answers(tester, server)
    test_other_pack(tester)
    serve_cache.run_all(tester, *PLAIN)
    serve_query.run_answers(tester)


def main():
    if len(sys.argv) != 2:
        print("usage: test_serve.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        plain, tester = Tester(sys.argv[1], other), Tester(sys.argv[1], folder)
        test_plain(plain)
        make_galleries(tester)
        with Server(tester, "--threads", "2") as server:
            for test in (test_documents, test_answers, test_negotiation, test_refusals, test_packs,
                         test_health_and_metrics, test_origins):
                test(tester, server)
        for test in (test_other_pack, test_files, test_log, test_listening, test_bad_start):
            test(tester)
        serve_cache.run_all(tester)
        serve_openapi.run_all(tester)
        serve_hostile.run_all(tester)
        serve_query.run_all(tester)
    passed, failed = plain.passed + tester.passed, plain.failed + tester.failed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
