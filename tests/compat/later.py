"""Files of versions that are not made yet: real ones with another number, which must be refused by naming it.

Whatever proves a file is made right again, so that the number alone is wrong."""
import contextlib
import hashlib
import http.server
import json
import os
import shutil
import sqlite3
import struct
import sys
import threading

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "server"))

from harness import BUDGET, INPUT  # noqa: E402
from reference_store import digest  # noqa: E402

NETWORK = 8
LATER = 9
UPDATE = "Use a newer privatemail"
QUERY = ["--features", "queries.npy", "--labels", "queries_labels.npy", "--row", "3"]
CROWD = ["--crowd", "100000", "--epsilon", "0.5", "--delta", "1e-6", "--floor", "8"]


def resealed(data, offset, new):
    """A pack or a front file with other bytes from `offset` on and a hash that fits."""
    data = data[:offset] + new + data[offset + len(new):]
    return data[:8] + hashlib.sha256(data[40:]).digest() + data[40:]


@contextlib.contextmanager
def replay(kind, body, requests=None):
    """A server that sends the same to everybody; what it is asked is counted in `requests`."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if requests is not None:
                requests.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield "http://127.0.0.1:%d" % server.server_address[1]
        server.shutdown()


# ---- galleries ----


class Folder:
    """A store in a folder, some of whose blobs are changed. What leads to them gets their new names."""

    def __init__(self, path):
        self.path = path

    def files(self, *shelves):
        return [os.path.join(self.path, shelf, name) for shelf in shelves
                for name in sorted(os.listdir(os.path.join(self.path, shelf)))]

    def read(self, path):
        with open(path, "rb") as stream:
            return stream.read()

    def replace(self, path, content):
        old, new = os.path.basename(path), hashlib.sha256(content).hexdigest()
        os.remove(path)
        with open(os.path.join(os.path.dirname(path), new), "wb") as stream:
            stream.write(content)
        for other in self.files("part", "private"):
            if os.path.exists(other) and bytes.fromhex(old) in self.read(other):
                self.replace(other, self.read(other).replace(bytes.fromhex(old), bytes.fromhex(new)))
        for pointer in self.files("gallery"):
            text = self.read(pointer).replace(old.encode(), new.encode())
            with open(pointer, "wb") as stream:
                stream.write(text)

    def of_kind(self, letters):
        return next((path for path in self.files("part", "private") if self.read(path)[:4] == letters), None)

    def make_later(self, letters):
        path = self.of_kind(letters)
        content = self.read(path)
        self.replace(path, content[:4] + struct.pack("<I", LATER) + content[8:])

    def begin_building(self, content):
        """An unfinished run of index."""
        name = hashlib.sha256(content).hexdigest()
        with open(os.path.join(self.path, "private", name), "wb") as stream:
            stream.write(content)
        pointer, = self.files("gallery")
        text = self.read(pointer).replace(b"}", b', "building": "%s"}' % name.encode())
        with open(pointer, "wb") as stream:
            stream.write(text)


def check_later_blobs(tester):
    """Every kind of blob of a gallery (SPEC 8). No command reads a later one, and none replaces it, not even by force."""
    pack = ["--pack", "one.pmpk"]
    find = ["find", "--release", "one-gaussian.cbor", *pack]
    index = ["index", "--features", "queries.npy", "--labels", "queries_labels.npy", *pack]
    remove = ["index", "--remove", "one_id.txt", *pack]
    tester.write("one_id.txt", b"3\n")
    tester.succeeds("voters", *index, "--voters", "queries.npy", "--store", "dir:voted.folder")
    shutil.copytree(tester.path("one.folder"), tester.path("unfinished.folder"))
    Folder(tester.path("unfinished.folder")).begin_building(b"PMGB" + struct.pack("<I", 1) + bytes(68))
    for letters, source, commands in (
            (b"PMGM", "one", (find, ["gallery"], index + ["--force"], remove, ["publish", "--to", "dir:other.folder"])),
            (b"PMGP", "one", (find,)),
            (b"PMGR", "one", (["gallery"], index + ["--force"], remove, ["publish", "--to", "dir:other.folder"])),
            (b"PMGS", "one", (["gallery"], index + ["--force"], remove)),
            (b"PMGI", "one", (remove,)),
            (b"PMGV", "voted", (remove,)),
            (b"PMGB", "unfinished", (index + ["--force"],))):
        name = "later-%s.folder" % letters.decode()
        shutil.copytree(tester.path(source + ".folder"), tester.path(name))
        for command in commands:  # before: each does something
            if command[0] in ("find", "gallery"):
                tester.succeeds("%s %s as it is" % (letters, command[0]), *command, "--store", "dir:" + name)
        Folder(tester.path(name)).make_later(letters)
        for command in commands:
            tester.fails("a later %s: %s" % (letters, command), INPUT, [name, "version 9", "version 1", UPDATE], *command,
                         "--store", "dir:" + name)
    store = "dir:later-PMGP.folder"
    shutil.copytree(tester.path("one.folder"), tester.path("target.folder"))
    tester.fails("later places are not published", INPUT, ["later-PMGP", "version 9", UPDATE], "publish", "--private",
                 "--store", store, "--to", "dir:target.folder")
    tester.fails("nor is a later gallery replaced by that", INPUT, ["later-PMGM", "version 9", UPDATE], "publish",
                 "--private", "--store", "dir:target.folder", "--to", "dir:later-PMGM.folder")
    tester.fails("nor served", INPUT, ["version 9", UPDATE], "serve", *pack, "--store", "dir:later-PMGM.folder", "--listen",
                 "127.0.0.1:0")


# ---- answers and relays ----


def check_later_answers(tester):
    answer = tester.read("one-response.answer")
    tester.check(answer[:2] in (b"\x85\x01", b"\x85\x02"), "an answer says its version first")
    later = answer[:1] + bytes([LATER]) + answer[2:]
    tester.write("later.answer", later)
    tester.fails("a later answer", INPUT, ["later.answer", "version 9", "1 and 2", UPDATE], "decode", "later.answer",
                 "--pack", "one.pmpk", *QUERY)
    requests = []
    with replay("application/cbor-seq", later, requests) as url:
        tester.fails("a later answer from a server", NETWORK, [url, "version 9", "1 and 2", UPDATE], "query", "--server", url,
                     "--pack", "one.pmpk", *QUERY, "--resend", "one-response.cbor")
    tester.check(len(requests) == 1, "what will not change is not asked again: %s" % requests)
    cut = answer[:-1]
    tester.write("cut.answer", cut)
    done = tester.fails("a cut one", INPUT, ["cut.answer"], "decode", "cut.answer", "--pack", "one.pmpk", *QUERY)
    tester.check(b"version" not in done.stderr, "is not a later one: %s" % done.stderr)


def check_later_relay(tester):
    about = json.dumps({"version": LATER, "epoch_seconds": 1, "clients": 100000, "noise": None}).encode()
    with replay("application/json", about) as url:
        tester.fails("a later relay", NETWORK, [url, "version 9", "version 1", UPDATE], "query", "--relay", url, "--pack",
                     "one.pmpk", *QUERY, *CROWD, "--keep", "new.kept")


# ---- all ----


def check_later_fronts(tester, name):
    """Front files: a front or a head, whichever it is."""
    data = tester.read(name + ".pmfr")
    is_head = data[52:56] != bytes(4)
    columns = struct.unpack_from("<I", data, 48)[0]
    tester.save("rows.npy", np.ones((4, columns), np.float32))
    option = ["--head", "later.pmfr"] if is_head else ["--front", "text=later.pmfr"]
    for major, minor in ((0, LATER), (1, 1)):
        tester.write("later.pmfr", resealed(data, 4, struct.pack("<HH", major, minor)))
        tester.fails("a later front", INPUT, ["later.pmfr", "version %d.%d" % (major, minor), "0.1 and 0.2", UPDATE], "pack",
                     "--features", "rows.npy", *option, "--out", "never.pmpk")
    tester.write("later.pmfr", data[:-1])
    done = tester.fails("a cut front", INPUT, ["later.pmfr", "cut short"], "pack", "--features", "rows.npy", *option, "--out",
                        "never.pmpk")
    tester.check(b"version" not in done.stderr, "is not a later one: %s" % done.stderr)


def check_later_kept(tester):
    kept = tester.read("one.kept")
    body = kept[:4] + struct.pack("<I", LATER) + kept[8:-8]
    tester.check(kept[-8:] == struct.pack("<Q", digest([kept[:-8]])), "the digest of a kept cell is that of SPEC 8.4")
    tester.write("later.kept", body + struct.pack("<Q", digest([body])))
    tester.fails("a later kept cell", INPUT, ["later.kept", "version 9", "version 1", UPDATE], "privatize", "--pack",
                 "one.pmpk", *CROWD, "--keep", "later.kept", "--out", "never.cbor", "--own-out", "never.json")


def check_later_versions(tester):
    """What a version after ours may write is refused by a sentence that names the version."""
    tester.write("later.pmpk", resealed(tester.read("one.pmpk"), 6, struct.pack("<H", LATER)))
    tester.fails("a later pack", INPUT, ["later.pmpk", "0.9", "0.1 to 0.5", UPDATE], "inspect", "later.pmpk")
    release = tester.read("one-response.cbor")
    tester.write("later.cbor", release[:2] + bytes([LATER]) + release[3:])
    tester.fails("a later release", INPUT, ["later.cbor", "version 9", UPDATE], "decode", "later.cbor", "--pack", "one.pmpk")
    budget = tester.read("me.budget")
    budget = budget[:4] + struct.pack("<I", LATER) + budget[8:-8]
    tester.write("later.budget", budget + hashlib.sha256(budget).digest()[:8])
    tester.fails("a later budget", BUDGET, ["later.budget", "version 9", UPDATE], "privatize", "--pack", "one.pmpk", *QUERY,
                 "--epsilon", "1", "--budget", "later.budget", "--out", "never.cbor")
    kept = "one.store" if os.path.exists(tester.path("one.store")) else "one.gallery"
    shutil.copy(tester.path(kept), tester.path("later.store"))
    with sqlite3.connect(tester.path("later.store")) as store:
        store.execute("PRAGMA user_version = %d" % LATER)
    store.close()
    tester.fails("a later store", INPUT, ["later.store", "version 9", UPDATE], "find", "--release", "one-response.cbor",
                 "--pack", "one.pmpk", "--store", "sqlite:later.store")
    check_later_answers(tester)
    if os.path.exists(tester.path("one.folder")):
        check_later_blobs(tester)
    if os.path.exists(tester.path("one.kept")):
        check_later_kept(tester)
        check_later_relay(tester)
