"""What `privatemail index` writes: every row of the store against the independent implementation of SPEC."""
import os
import random
import socket
import sqlite3
import struct
import sys
import tempfile

import cbor2
import numpy as np

from harness import INPUT, ROOT, USAGE, golden, read_schemas, reference, schema_faults

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
from reference_server import lists_of_share  # noqa: E402

MASK = (1 << 64) - 1


def digest(values, h=0):
    """SPEC 8."""
    for value in values:
        if isinstance(value, bytes):
            padded = value + bytes(-len(value) % 8)
            words = [len(value), *struct.unpack("<%dQ" % (len(padded) // 8), padded)]
        else:
            words = [value & MASK]
        for word in words:
            z = (h + 0x9E3779B97F4A7C15 & MASK) ^ word
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
            h = z ^ z >> 31
    return h


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def read_store(path):
    database = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
    try:
        return (dict(database.execute("SELECT key, value FROM meta")),
                database.execute("SELECT item, slot, place, digest, candidate FROM items ORDER BY item").fetchall(),
                database.execute("SELECT slot, cell, item FROM cells ORDER BY 1, 2, 3").fetchall(),
                [database.execute("PRAGMA " + name).fetchone()[0] for name in ("application_id", "user_version")])
    finally:
        database.close()


def store_digest(meta, items, cells):
    keys = ("pack", "items", "sketch", "dimensions", "cells_per_item", "share", "iterations")
    values = [meta[key] for key in keys]
    for item, slot, place, own, _ in items:
        values += [item, slot] + ([] if place is None else [place]) + [own]
    return signed(digest(values + [number for row in cells for number in row]))


def shared_cells(pack, rows, share):
    """SPEC 6.5, lists of a share. rows: (item, slot, quantised)."""
    cells = []
    for slot in range(pack.G):
        mine = [(item, query) for item, own, query in rows if own == slot]
        part = slice(slot * pack.M, (slot + 1) * pack.M)
        if mine:
            ids, queries = zip(*mine)
            listed = lists_of_share(np.array(queries), ids, np.array(pack.prototypes[part]),
                                    np.array(pack.prototype_norms[part]), np.array(pack.cells[part]), pack.m,
                                    round(share * 1e6))
            cells += [(slot, cell, ids[row]) for cell, members in enumerate(listed) for row in members]
    return cells


def expected_rows(pack, features, labels, ids, payloads, per_item, share):
    """The items without their places, and the cells."""
    slots = dict(pack.classes)
    items, cells, rows = [], [], []
    for row, label, item in zip(features, labels, ids):
        query = reference.quantise([int(bits) for bits in row.view("u4")])
        slot = slots.get(int(label), 0)
        candidate = cbor2.dumps([item, int(label), struct.pack("%db" % pack.L, *reference.sketch(pack, query)),
                                 payloads.get(item, b"")])
        items.append((item, slot, signed(digest([candidate])), candidate))
        part = slice(slot * pack.M, (slot + 1) * pack.M)
        order = reference.ranked(query, pack.prototypes[part], pack.prototype_norms[part]) if pack.m else []
        own = dict.fromkeys(pack.cells[part][index] for index in order)
        cells += [(slot, cell, item) for cell in list(own)[:per_item]]
        rows.append((item, slot, query))
    if share and pack.m:
        cells = shared_cells(pack, rows, share)
    return sorted(items), sorted(cells)


def check_store(tester, name, pack, report, features, labels, ids, payloads, per_item, share):
    meta, items, cells, head = read_store(tester.path(name))
    expected_items, expected_cells = expected_rows(pack, features, labels, ids, payloads, per_item, share)
    lists = "none" if not pack.m else "share" if share else "own"
    tester.check(head == [0x504D4C53, 2] and meta["done"] == 1 and meta["pack"] == pack.id, name + ": head")
    tester.check([(i, s, d, c) for i, s, _, d, c in items] == expected_items, name + ": items")
    tester.check(cells == expected_cells, name + ": cells")
    k = pack.k if pack.n else 0
    tester.check(all((place is None) if k == 0 else np.isfinite(np.frombuffer(place, "<f4")).all() and
                     len(place) == 4 * k for _, _, place, _, _ in items), name + ": places")
    tester.check(meta["digest"] == store_digest(meta, items, cells), name + ": digest")
    sizes = sorted(sum(1 for slot, cell, _ in cells if (slot, cell) == (s, p))
                   for s in range(pack.G) for p in range(pack.m))
    told = [report[key] for key in ("smallest_cell", "median_cell", "largest_cell", "empty_cells", "cells")]
    middle = [sizes[0], (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2, sizes[-1]] if sizes else [None] * 3
    tester.check(told == middle + [sizes.count(0), len(sizes)], "%s: cells %s" % (name, told))
    tester.check((meta["lists"], meta["cells_per_item"], meta["share"]) ==
                 (lists, per_item if lists == "own" else 0, round(share * 1e6) if lists == "share" else 0),
                 "%s: lists in %s" % (name, meta))
    tester.check((report["items"], report["dimensions"], report["cells_per_item"], report["payloads"]) ==
                 (len(ids), k, per_item if lists == "own" else 0, len(payloads)) and report["lists"] == lists and
                 report["share"] == (share if lists == "share" else None) and
                 report["payload_bytes"] == sum(map(len, payloads.values())), "%s: report %s" % (name, report))


def make_gallery(tester, pack, rows, seed):
    source = np.random.default_rng(seed)
    features = source.standard_normal((rows, pack.d)).astype("f4")
    features[1] = features[0]
    known = [label for label, _ in pack.classes] or [0, 5, -7]
    labels = np.array([known[i] for i in source.integers(len(known), size=rows)], dtype="i4")
    tester.save("features.npy", features)
    tester.save("labels.npy", labels)
    return features, labels


def write_payloads(tester, ids):
    """Some items have one; names come with and without zeros and endings."""
    source = random.Random(3)
    os.mkdir(tester.path("payloads"))
    payloads = {}
    for place, item in enumerate(ids[::2]):
        size = (0, 1, 300, 65535)[place % 4]
        payloads[item] = source.randbytes(size)
        tester.write("payloads/" + ("%d.jpg", "%d", "000%d.tar.gz", "%020d.x")[place % 4] % item, payloads[item])
    return payloads


def test_content(tester):
    schemas = read_schemas()
    packs = [(name, pack) for name, pack in golden.make_packs() if pack.L]
    tester.check(len(packs) >= 6, "golden packs with sketches")
    for number, (name, pack) in enumerate(packs):
        tester.write("pack", pack.bytes)
        features, labels = make_gallery(tester, pack, 30, number)
        ids, per_item, share, more = list(range(30)), 1 + number % 2, 0, ["--cells-per-item", 1 + number % 2]
        if number % 4 in (0, 3):
            share, more = (0.05, 0.3)[number % 2], ["--share", (0.05, 0.3)[number % 2]]
        if number % 3 == 0:
            ids = [int(i) for i in np.random.default_rng(number).permutation(60)[:30]]
            ids[4] = (1 << 63) - 1
            tester.write("ids.txt", b"".join(b"%04d%s" % (i, b"\r\n" if i % 2 else b"\n") for i in ids)[:-1])
            more += ["--ids", "ids.txt"]
        payloads = {}
        if number == 0:
            payloads = write_payloads(tester, ids)
            tester.write("payloads/notes.txt", b"")
            tester.write("payloads/999999", b"")
            tester.write("payloads/.7", b"")
            more += ["--payloads", "payloads"]
        out = "store %d" % number
        report = tester.json(name, "index", "--pack", "pack", "--features", "features.npy", "--labels", "labels.npy",
                             "--iterations", 2, "--store", "sqlite:" + out, *more)
        faults = schema_faults(schemas["index"], report)
        tester.check(not faults and report["pack"] == pack.id.hex() and report["store"] == "sqlite:" + out and
                     report["resumed_at"] == 0, "%s: %s" % (name, faults))
        check_store(tester, out, pack, report, features, labels, ids, payloads, per_item, share)
    left = [name for name in os.listdir(tester.folder) if ".building" in name or ".tmp" in name]
    tester.check(not left, "nothing is left beside: %s" % left)


def test_text(tester):
    text = tester.succeeds("help", "index", "--help").stdout.decode()
    tester.check(all(word in text for word in ("Usage:", "--json", "Exit codes:", "Example:")), "index help")
    tester.check(b"\n  index " in tester.succeeds("overview", "--help").stdout, "index is in the overview")
    one = next(pack for _, pack in golden.make_packs() if pack.L and not pack.classes)
    tester.write("one", one.bytes)
    make_gallery(tester, one, 20, 9)
    done = tester.succeeds("no labels", "index", "--pack", "one", "--features", "features.npy", "--payloads", "payloads",
                           "--store", "sqlite:nolabels")
    tester.check(b"20 items for pack" in done.stdout and b"belong to no item" in done.stderr, "text: %r" % done.stdout)
    _, items, _, _ = read_store(tester.path("nolabels"))
    tester.check(all(cbor2.loads(row[4])[1] == 0 for row in items), "without labels all are of class 0")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


def test_bad_input(tester):
    """Every one leaves all files as they were: nothing is begun before the inputs are right."""
    pack = next(pack for _, pack in golden.make_packs() if pack.L and len(pack.classes) > 1)
    bare = next(pack for _, pack in golden.make_packs() if not pack.L)
    tester.write("p", pack.bytes)
    tester.write("bare", bare.bytes)
    features, labels = make_gallery(tester, pack, 12, 4)
    base = dict(pack="p", features="features.npy", labels="labels.npy", store="sqlite:bad")

    def fails(what, code, needles, **changes):
        options = {**base, **changes}
        words = [word for name, value in options.items() if value is not None
                 for word in ("--" + name.replace("_", "-"), value)]
        tester.fails(what, code, needles, "index", *words)

    for name in ("pack", "features", "store"):
        fails("no " + name, USAGE, ["--" + name], **{name: None})
    fails("no labels", USAGE, ["--labels"], labels=None)
    for value in ("0", "3"):
        fails("cells", USAGE, ["--cells-per-item"], cells_per_item=value)
    for value in ("0", "0.51", "-0.1", "nan", "1e-7"):
        fails("share", USAGE, ["--share"], share=value)
    fails("two kinds of lists", USAGE, ["--share", "--cells-per-item"], share="0.1", cells_per_item="1")
    fails("iterations", USAGE, ["--iterations", "64"], iterations="65")
    for value in ("0", "257"):
        fails("threads", USAGE, ["--threads"], threads=value)
    fails("pack without sketches", INPUT, ["bare", "sketches"], pack="bare")
    fails("no pack", INPUT, ["features.npy"], pack="features.npy")
    for uri in ("bad", "sqlite:", "postgresql:x"):
        fails("store " + uri, USAGE, ["--store", "sqlite:FILE"], store=uri)
    tester.save("narrow.npy", features[:, :-1].copy())
    fails("narrow", INPUT, ["narrow.npy", "features"], features="narrow.npy")
    tester.save("short.npy", labels[:-1])
    fails("short", INPUT, ["short.npy", "11", "12"], labels="short.npy")
    unknown = labels.copy()
    unknown[7] = 4242
    tester.save("unknown.npy", unknown)
    fails("unknown class", INPUT, ["unknown.npy", "row 7", "4242"], labels="unknown.npy")
    for what, text, needles in (
            ("words", "one\n" * 12, ["line 1"]), ("negative", "1\n-2\n" * 6, ["line 2"]),
            ("empty line", "1\n\n" * 6, ["line 2"]), ("large", "9223372036854775808\n" * 12, ["line 1"]),
            ("twice", "\n".join(map(str, [*range(11), 3])), ["lines 4 and 12", "3"]),
            ("few", "1\n2\n", ["2 lines", "12 rows"]), ("many", "\n".join(map(str, range(13))), ["13 lines"])):
        tester.write("ids.txt", text.encode())
        fails("ids: " + what, INPUT, ["ids.txt"] + needles, ids="ids.txt")
    fails("no ids", INPUT, ["absent"], ids="absent")
    for what, files, needles in (("twice", {"7.a": b"", "007.b": b""}, ["7.a", "007.b", "item 7"]),
                                 ("large", {"3": bytes(65536)}, ["/3", "65536", "65535"])):
        os.mkdir(tester.path(what))
        for name, content in files.items():
            tester.write(what + "/" + name, content)
        fails("payloads: " + what, INPUT, needles, payloads=what)
    with tempfile.TemporaryDirectory() as strange:  # apart: a pipe cannot be compared with what it was
        for what, make in (("link", lambda path: os.symlink("/etc/hostname", path)),
                           ("link to nothing", lambda path: os.symlink("absent", path)),
                           ("pipe", os.mkfifo), ("folder", os.mkdir), ("socket", make_socket)):
            for name in ("7", "0007.png"):
                os.mkdir(os.path.join(strange, what + name))
                make(os.path.join(strange, what + name, name))
                fails("payloads: a " + what, INPUT, [name, "plain file"], payloads=os.path.join(strange, what + name))
        os.mkdir(os.path.join(strange, "good"))
        os.symlink("/etc/hostname", os.path.join(strange, "good", "x.png"))
        with open(os.path.join(strange, "good", "3"), "wb") as stream:
            stream.write(b"three")
        os.symlink("good", os.path.join(strange, "way"))  # the folder itself may be reached by a link
        options = [word for name, value in base.items() for word in ("--" + name, value)]
        done = tester.succeeds("payloads by a link", "index", *options[:-1], "sqlite:by_link", "--payloads",
                               os.path.join(strange, "way"))
        tester.check(b"1 files in" in done.stderr and b"payloads: 1 items have one, 5 bytes" in done.stdout,
                     "a link that belongs to no item is counted: %r" % done.stderr)
    fails("no payloads", INPUT, ["absent", "folder"], payloads="absent")
    fails("payloads: a file", INPUT, ["ids.txt", "folder"], payloads="ids.txt")


def run_all(tester):
    for test in (test_content, test_text, test_bad_input):
        test(tester)
