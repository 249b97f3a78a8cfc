"""Answers from parts: what is kept in memory, and what a front end can put together itself."""
import hashlib
import json
import socket
import time

import cbor2
import numpy as np

from harness import OWN
from served_parts import describe, served
from serving import Server, answer_form, pack_id, raw_post, read_all, reference_gallery


def symbols_of(tester, release, cells):
    """The cells that a release names, by the command."""
    done = tester.json("find", "find", "--release", release, "--pack", "p.pmpk", "--store", "sqlite:p.store", "--top", 0)
    found = [slot["cell"] for slot in done["slots"]]
    tester.check(all(cell < cells for cell in found), "cells of the release")
    return found


def check_parts(tester, server, names):
    """Parts are proved by their names, have tags, and never change."""
    for name in names:
        part = server.request("GET", "/v1/part/" + name)
        tester.check(part.status == 200 and part.headers["ETag"] == '"%s"' % name and
                     hashlib.sha256(part.body).hexdigest() == name and
                     part.headers["Content-Type"] == "application/octet-stream" and
                     part.headers["Cache-Control"] == "public, max-age=31536000, immutable", "part: %s" % part.headers)
        for tag in ('"%s"' % name, "*"):
            again = server.request("GET", "/v1/part/" + name, headers={"If-None-Match": tag})
            tester.check((again.status, again.body) == (304, b"") and again.headers["ETag"] == '"%s"' % name, "not modified")
        head = server.request("HEAD", "/v1/part/" + name)
        tester.check((head.status, head.headers["Content-Length"]) == (200, str(len(part.body))), "HEAD")


def test_parts_are_the_answer(tester):
    """Header and parts, fetched one by one, are the answer to the release, byte for byte."""
    release = tester.read("p-response.cbor")
    with Server(tester) as server:
        path = "/v1/pack/%s/gallery" % pack_id(tester)
        answer = server.request("GET", path)
        told = json.loads(answer.body)
        tester.check(answer.status == 200 and answer.headers["Content-Type"] == "application/json" and
                     answer.headers["ETag"] == '"%s"' % told["version"] and
                     answer.headers["Cache-Control"] == "public, max-age=5", "gallery: %s" % answer.headers)
        gallery, header = served(server, pack_id(tester))
        manifest = gallery.manifest
        tester.check((told["pack"], told["items"], told["slots"], told["cells"], told["list"]) ==
                     (pack_id(tester), 200, 5, manifest.cells, manifest.list) and
                     (manifest.pack.hex(), manifest.items, manifest.slots) == (pack_id(tester), 200, 5), "gallery: %s" % told)
        version, size = answer_form(tester)
        tester.check(cbor2.loads(header) == [version, bytes.fromhex(pack_id(tester)), 5, size, 200], "header")
        cells = symbols_of(tester, "p-response.cbor", told["cells"])
        tester.check(gallery.answer(header, cells) == server.post(release).body == reference_gallery(tester).answer(release),
                     "the parts are the answer")
        check_parts(tester, server, [told["version"], manifest.parts[0][0][0], manifest.parts[4][manifest.cells - 1][0],
                                     manifest.places[2][0], gallery.pages(3)[0]])
        again = server.request("GET", path, headers={"If-None-Match": '"%s"' % told["version"]})
        tester.check(again.status == 304, "the gallery is not modified")
        name = manifest.parts[0][0][0]
        for wrong in ("", "/", name[:-1], name + "0", name + "/", "/" + name, name.upper(), "0" * 64,
                      hashlib.sha256(b"other").hexdigest(), "x" * 64):
            for tags in (None, "*", '"%s"' % wrong):
                found = server.request("GET", "/v1/part/" + wrong, headers={"If-None-Match": tags} if tags else None)
                tester.check((found.status, found.error()) == (404, "not_found") and "ETag" not in found.headers,
                             "%s with the tag %s: %d" % (wrong, tags, found.status))
        for wrong in ("/v1/part", "/v1/pack/x/gallery", "/v1/pack/%s/gallery/" % pack_id(tester), "/v1/packs/",
                      "/v1/gallery/%s/0/0" % told["version"][:16]):
            tester.check(server.request("GET", wrong).status == 404, "404 for " + wrong)
        for there in ("/v1/part/" + name, "/v1/packs", path):
            tester.check(server.request("POST", there, b"x").status == 405, there + " is read only")
        log = server.log()
        tester.check(" GET /v1/part/NAME 200 " in log and name not in log, "the log tells no part")


def test_packs(tester):
    with Server(tester, names=("p", "old")) as server:
        answer = server.request("GET", "/v1/packs")
        told = json.loads(answer.body)
        tester.check(answer.headers["Cache-Control"] == "public, max-age=60" and told == {"packs": [
            {"pack": pack_id(tester, name), "version": describe(server, pack_id(tester, name))["version"], "items": 200,
             "bytes": len(tester.read(name + ".pmpk"))} for name in ("p", "old")]}, "packs: %s" % told)
        tester.check(server.told["packs"] == [{"pack": each["pack"], "version": each["version"], "gallery": each["items"]}
                                              for each in told["packs"]], "told at the start: %s" % server.told)
        head = server.request("HEAD", "/v1/packs")
        tester.check((head.status, head.headers["Content-Length"]) == (200, str(len(answer.body))), "HEAD")


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
            for _ in range(2):
                server.post(gaussian)
            tester.check(server.metric("queries_from_store_total") == touched + (1 if limit == 1 << 20 else 2),
                         "cache of %d: a Gaussian query's pages" % limit)
            server.post(release, Accept="application/json")
            tester.check(server.metric("queries_total") == 13, "JSON is counted too")


def test_two_packs_share_it(tester):
    with Server(tester, names=("p", "old")) as server:
        for _ in range(2):
            for name in ("p", "old"):
                release = tester.read(name + "-response.cbor")
                tester.check(server.post(release).body == reference_gallery(tester, name).answer(release), "two packs")
        tester.check(server.metric("queries_from_store_total") == 2, "each pack's parts are its own")


def test_many_slots(tester, *options):
    """As many parts as an answer can have, for clients that read fast and slowly."""
    source = np.random.default_rng(1)
    tester.save("wide.npy", source.standard_normal((2048, 8)).astype("f4"))
    tester.save("wide_labels.npy", (np.arange(2048) % 1024).astype("i4"))
    rows = ["--features", "wide.npy", "--labels", "wide_labels.npy"]
    tester.succeeds("pack", "pack", *rows, "--slots", "class", "--cells", 2, "--prototypes-per-cell", 1, *options, "--out", "wide.pmpk")
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


def run_all(tester, *options):
    """Options of the packs."""
    test_many_slots(tester, *options)
    for test in (test_parts_are_the_answer, test_packs, test_from_memory, test_two_packs_share_it):
        test(tester)
