"""Answers from parts: what is kept in memory, and what a front end can put together itself."""
import base64
import concurrent.futures
import json
import shutil
import socket
import time

import cbor2
import numpy as np

from harness import OWN
from serving import Server, pack_id, raw_post, read_all, reference_gallery


def read_gallery(server, name):
    return json.loads(server.request("GET", "/v1/pack/%s/gallery" % name).body)


def symbols_of(tester, release, cells):
    """The cells that a release names, by the command."""
    done = tester.json("find", "find", "--release", release, "--pack", "p.pmpk", "--store", "sqlite:p.store", "--top", 0)
    found = [slot["cell"] for slot in done["slots"]]
    tester.check(all(cell < cells for cell in found), "cells of the release")
    return found


def test_store_replaced(tester):
    """A service goes on with the store it opened, whatever its path leads to by now."""
    shutil.copy(tester.path("p.store"), tester.path("replaced.store"))
    releases = [tester.read("p-%s.cbor" % mechanism) for mechanism in ("response", "gaussian")]
    for name in ("public", "labels"):
        tester.save("reversed_%s.npy" % name, np.load(tester.path(name + ".npy"))[::-1])
    with Server(tester, "--threads", "8", "--cache-bytes", "0", stores=["sqlite:replaced.store"]) as server:
        expected = [server.post(release).body for release in releases]
        tester.succeeds("another gallery", "index", "--pack", "p.pmpk", "--features", "reversed_public.npy", "--labels",
                        "reversed_labels.npy", *OWN, "--store", "sqlite:replaced.store", "--force")
        with concurrent.futures.ThreadPoolExecutor(16) as crowd:
            answers = list(crowd.map(lambda i: server.post(releases[i % 2]), range(160)))
        tester.check(all((answer.status, answer.body) == (200, expected[i % 2]) for i, answer in enumerate(answers)),
                     "answers of the store that was opened: %s" % sorted(answer.status for answer in answers))
    with Server(tester, stores=["sqlite:replaced.store"]) as server:
        tester.check(server.post(releases[0]).body != expected[0], "a new service has the new gallery")


def test_parts_are_the_answer(tester):
    """Header and parts, fetched one by one, are the answer to the release, byte for byte."""
    release = tester.read("p-response.cbor")
    with Server(tester) as server:
        answer = server.request("GET", "/v1/pack/%s/gallery" % pack_id(tester))
        gallery = json.loads(answer.body)
        tester.check(answer.status == 200 and answer.headers["Content-Type"] == "application/json" and
                     answer.headers["ETag"] == '"%s"' % gallery["gallery"] and
                     answer.headers["Cache-Control"] == "public, max-age=60", "gallery: %s" % answer.headers)
        tester.check((gallery["pack"], gallery["items"], gallery["slots"]) == (pack_id(tester), 200, 5) and
                     len(gallery["gallery"]) == 16, "gallery: %s" % gallery)
        whole, path = base64.b64decode(gallery["header"]), "/v1/gallery/%s/" % gallery["gallery"]
        tester.check(cbor2.loads(whole) == [1, bytes.fromhex(pack_id(tester)), 5, 16, 200], "header")
        for slot, cell in enumerate(symbols_of(tester, "p-response.cbor", gallery["cells"])):
            part = server.request("GET", path + "%d/%d" % (slot, cell))
            tag = '"%s.%d.%d"' % (gallery["gallery"], slot, cell)
            tester.check(part.status == 200 and part.headers["ETag"] == tag and
                         part.headers["Content-Type"] == "application/cbor-seq" and
                         "immutable" in part.headers["Cache-Control"], "part %d: %s" % (slot, part.headers))
            again = server.request("GET", path + "%d/%d" % (slot, cell), headers={"If-None-Match": tag})
            tester.check((again.status, again.body) == (304, b"") and again.headers["ETag"] == tag, "not modified")
            head = server.request("HEAD", path + "%d/%d" % (slot, cell))
            tester.check((head.status, head.headers["Content-Length"]) == (200, str(len(part.body))), "HEAD")
            whole += part.body
        tester.check(whole == server.post(release).body == reference_gallery(tester).answer(release),
                     "the parts are the answer")
        again = server.request("GET", "/v1/pack/%s/gallery" % pack_id(tester),
                               headers={"If-None-Match": '"%s"' % gallery["gallery"]})
        tester.check(again.status == 304, "the gallery is not modified")
        for wrong in ("", "0", "0/", "/0", "0/0/", "0/0/0", "00/0", "0/00", "5/0", "0/%d" % gallery["cells"], "-1/0",
                      "+0/0", "0/99999999999", "4294967296/0", "x/0", "0/0x", " 0/0"):
            found = server.request("GET", (path + wrong).replace(" ", "%20"))
            tester.check((found.status, found.error()) == (404, "not_found"), "%s: %d" % (wrong, found.status))
            for tags in ("*", '"x", *', '"%s.%s"' % (gallery["gallery"], wrong.replace("/", "."))):
                found = server.request("GET", (path + wrong).replace(" ", "%20"), headers={"If-None-Match": tags})
                tester.check((found.status, found.error()) == (404, "not_found") and "ETag" not in found.headers,
                             "%s with the tag %s: %d" % (wrong, tags, found.status))
        for there in ("0/0", "4/%d" % (gallery["cells"] - 1)):
            found = server.request("GET", path + there, headers={"If-None-Match": "*"})
            tester.check((found.status, found.body) == (304, b""), "any tag of a part that is there: %d" % found.status)
        for wrong in ("/v1/gallery/", "/v1/gallery/0/0/0", "/v1/gallery/%s" % gallery["gallery"],
                      "/v1/gallery/%016x/0/0" % (int(gallery["gallery"], 16) ^ 1), "/v1/pack/x/gallery",
                      "/v1/pack/%s/gallery/" % pack_id(tester)):
            tester.check(server.request("GET", wrong).status == 404, "404 for " + wrong)
        tester.check(server.request("POST", path + "0/0", b"x").status == 405, "parts are read only")
        log = server.log()
        tester.check(" GET /v1/gallery/D/SLOT/CELL 200 " in log and gallery["gallery"] not in log,
                     "the log tells no cell")


def test_from_memory(tester):
    """The second answer comes from memory; a small cache forgets; without one everything comes from the store."""
    release, gaussian = tester.read("p-response.cbor"), tester.read("p-gaussian.cbor")
    expected = reference_gallery(tester).answer(release)
    for limit in (1 << 20, 500, 0):
        with Server(tester, "--cache-bytes", limit) as server:
            for _ in range(10):
                tester.check(server.post(release).body == expected, "cache of %d" % limit)
            touched, hits = server.metric("queries_from_store_total"), server.metric("cache_hits_total")
            tester.check(server.metric("queries_total") == 10, "queries are counted")
            tester.check({1 << 20: touched == 1 and hits == 45, 500: touched == 10, 0: touched == 10 and hits == 0}[limit],
                         "cache of %d: %d of 10 touch the store, %d hits" % (limit, touched, hits))
            tester.check(server.metric("cache_bytes") <= limit == server.metric("cache_limit_bytes"), "the limit holds")
            server.post(gaussian)
            tester.check(server.metric("queries_from_store_total") == touched + 1, "a Gaussian query reads the store")
            server.post(release, Accept="application/json")
            tester.check(server.metric("queries_total") == 12, "JSON is counted too")


def test_two_packs_share_it(tester):
    with Server(tester, names=("p", "old")) as server:
        for _ in range(2):
            for name in ("p", "old"):
                release = tester.read(name + "-response.cbor")
                tester.check(server.post(release).body == reference_gallery(tester, name).answer(release), "two packs")
        tester.check(server.metric("queries_from_store_total") == 2, "each pack's parts are its own")


def test_many_slots(tester):
    """As many parts as an answer can have, for clients that read fast and slowly."""
    source = np.random.default_rng(1)
    tester.save("wide.npy", source.standard_normal((2048, 8)).astype("f4"))
    tester.save("wide_labels.npy", (np.arange(2048) % 1024).astype("i4"))
    rows = ["--features", "wide.npy", "--labels", "wide_labels.npy"]
    tester.succeeds("pack", "pack", *rows, "--slots", "class", "--cells", 2, "--prototypes-per-cell", 1, "--out", "wide.pmpk")
    tester.succeeds("index", "index", *rows, "--pack", "wide.pmpk", *OWN, "--store", "sqlite:wide.store")
    tester.succeeds("release", "privatize", *rows, "--pack", "wide.pmpk", "--epsilon", 4, "--out", "wide.cbor")
    tester.succeeds("find", "find", "--release", "wide.cbor", "--pack", "wide.pmpk", "--store", "sqlite:wide.store", "--out",
                    "wide.answer")
    release, expected = tester.read("wide.cbor"), tester.read("wide.answer")
    with Server(tester, names=("wide",)) as server:
        for _ in range(3):
            tester.check(server.post(release).body == expected, "1024 parts")
        with server.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.sendall(raw_post(release, "Connection: close\r\n"))
            time.sleep(0.3)
            tester.check(read_all(connection, 20).endswith(expected), "1024 parts, read slowly")


def run_all(tester):
    for test in (test_many_slots, test_store_replaced, test_parts_are_the_answer, test_from_memory, test_two_packs_share_it):
        test(tester)
