"""What `privatemail index` writes: everything in the store against the independent implementation of SPEC."""
import os
import random
import socket
import sys
import tempfile

import numpy as np

from harness import INPUT, ROOT, USAGE, golden, read_schemas, schema_faults

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
import cases_sketch  # noqa: E402
from reference_server import Gallery, quantise_rows  # noqa: E402
from reference_store import Record, Store, Version, constant_length, pages_of  # noqa: E402


def check_lists(tester, name, gallery, version):
    pack = gallery.pack
    lists = [[gallery.part(slot, cell) for cell in range(version.cells)] for slot in range(pack.G)]
    tester.check(all(version.part(slot, cell) == lists[slot][cell] for slot in range(pack.G)
                     for cell in range(version.cells)), name + ": lists")
    longest = max((len(part) for row in lists for part in row), default=0)
    tester.check(version.longest == (constant_length(pack, len(gallery.labels), longest) if version.cells else 0),
                 name + ": constant length")


def check_places(tester, name, gallery, version, iterations):
    for slot in range(gallery.pack.G if version.dimensions else 0):
        items, places, payloads, pages, told = version.places(slot)
        rows = np.flatnonzero(gallery.slots == slot)
        rows = rows[np.argsort(gallery.ids[rows])]
        tester.check(items.tolist() == gallery.ids[rows].tolist() and told == iterations and
                     payloads.tolist() == [len(gallery.payloads[row]) for row in rows], name + ": items of the places")
        tester.check(np.allclose(places, gallery.places[rows], rtol=1e-4, atol=1e-3), name + ": places")
        right = pages_of(items.tolist(), 16, 64)
        tester.check([first for first, _ in pages] == [page[0] for page in right] and
                     all(data == gallery.page(slot, page) for (_, data), page in zip(pages, right)), name + ": pages")


def check_private(tester, name, gallery, store, version, cells_per_item, iterations):
    """What index remembers is what it was given; nothing else is in the store."""
    pack = gallery.pack
    pointer = store.pointers[pack.id]
    record = Record(store, pointer[1])
    state = record.states[0]
    tester.check(record.pack == state.pack == pack.id and record.history[0][0] == pointer[0] and pointer[2] == bytes(32),
                 name + ": record")
    tester.check((state.items, state.list, state.cells_per_item, state.iterations, state.d, state.L) ==
                 (len(gallery.labels), gallery.length, cells_per_item, iterations, pack.d, pack.L), name + ": state")
    order = np.argsort(gallery.ids).tolist()
    tester.check(state.pages == pages_of(gallery.ids[order].tolist(), 128, 512), name + ": pages of items")
    same = all(state.rows[int(gallery.ids[row])][:2] == (gallery.labels[row], gallery.slots[row]) and
               state.rows[int(gallery.ids[row])][2].tolist() == gallery.rows[row].tolist() and
               state.rows[int(gallery.ids[row])][5] == gallery.payloads[row] for row in order)
    tester.check(same and len(state.rows) == len(order), name + ": items that index remembers")
    tester.check(set(store.private) == record.blobs, name + ": nothing else is private")
    needed = set().union(*(Version(store, kept).needed() for kept, _ in record.history))
    tester.check(set(store.parts) == needed, name + ": no other parts")


def check_report(tester, name, gallery, report, version, cells_per_item):
    pack = gallery.pack
    sizes = sorted(len(gallery.listed(slot, cell)) for slot in range(pack.G) for cell in range(version.cells))
    told = [report[key] for key in ("smallest_cell", "median_cell", "largest_cell", "empty_cells", "cells")]
    middle = [sizes[0], (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2, sizes[-1]] if sizes else [None] * 3
    tester.check(told == middle + [sizes.count(0), len(sizes)], "%s: cells %s" % (name, told))
    lists = "none" if not pack.m else "list" if gallery.length else "own"
    payloads = [payload for payload in gallery.payloads if payload]
    tester.check((report["version"], report["items"], report["dimensions"], report["lists"], report["list"]) ==
                 (version.name.hex(), len(gallery.labels), version.dimensions, lists, gallery.length) and
                 (report["cells_per_item"], report["payloads"], report["payload_bytes"]) ==
                 (cells_per_item, len(payloads), sum(map(len, payloads))), "%s: report %s" % (name, report))


def check_store(tester, name, gallery, report, per_item, iterations):
    pack = gallery.pack
    store = Store(tester.path(name))
    version = Version(store, store.pointers[pack.id][0])
    cells_per_item = per_item if pack.m and not gallery.length else 0
    iterations = iterations if pack.n else 0
    tester.check(store.head in (None, [0x504D4C53, 3]), name + ": head")
    tester.check((version.pack, version.items, version.list, version.slots, version.cells, version.dimensions) ==
                 (pack.id, len(gallery.labels), gallery.length, pack.G, pack.m, pack.k if pack.n else 0), name + ": manifest")
    check_lists(tester, name, gallery, version)
    check_places(tester, name, gallery, version, iterations)
    check_private(tester, name, gallery, store, version, cells_per_item, iterations)
    check_report(tester, name, gallery, report, version, cells_per_item)
    return store


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
    coded = [(name, pack) for name, pack, _ in cases_sketch.make_packs() if not pack.fronts]
    tester.check(len(packs) >= 6 and len(coded) >= 6 and all(pack.code for _, pack in coded), "golden packs with sketches")
    packs += coded
    for number, (name, pack) in enumerate(packs):
        tester.write("pack", pack.bytes)
        features, labels = make_gallery(tester, pack, 30, number)
        ids, lists, more = list(range(30)), {"cells_per_item": 1 + number % 2}, ["--cells-per-item", 1 + number % 2]
        if number % 4 == 0:
            lists, more = {"millionths": 50000}, ["--share", 0.05]
        elif number % 4 == 3:
            lists, more = {"length": 1 + number}, ["--list", 1 + number]
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
        out = "%s %d" % ("store", number)
        uri = ("dir:" if number % 5 == 2 else "sqlite:") + out
        report = tester.json(name, "index", "--pack", "pack", "--features", "features.npy", "--labels", "labels.npy",
                             "--iterations", 2, "--store", uri, *more)
        faults = schema_faults(schemas["index"], report)
        tester.check(not faults and report["pack"] == pack.id.hex() and report["store"] == uri and
                     report["resumed"] == "" and report["added"] == 30, "%s: %s" % (name, faults))
        gallery = Gallery(pack.bytes, features, labels, ids, [payloads.get(item, b"") for item in ids], iterations=2, **lists)
        gallery.rows = quantise_rows(features)
        check_store(tester, out, gallery, report, lists.get("cells_per_item", 0), 2)
    left = [name for name in os.listdir(tester.folder) if ".tmp" in name or name.endswith(("-wal", "-shm"))]
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
    store = Store(tester.path("nolabels"))
    rows = Record(store, store.pointers[one.id][1]).states[0].rows
    tester.check(len(rows) == 20 and all(row[0] == 0 for row in rows.values()), "without labels all are of class 0")


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

    for name in ("pack", "store"):
        fails("no " + name, USAGE, ["--" + name], **{name: None})
    fails("no features", USAGE, ["--features", "--add"], features=None, labels=None)
    fails("two ways", USAGE, ["--features", "--add"], add="features.npy")
    for value in ("0", "1048577"):
        fails("list", USAGE, ["--list"], list=value)
    fails("keep", USAGE, ["--keep"], keep="0")
    fails("no labels", USAGE, ["--labels"], labels=None)
    for value in ("0", "3"):
        fails("cells", USAGE, ["--cells-per-item"], cells_per_item=value)
    for value in ("0", "0.51", "-0.1", "nan", "1e-7"):
        fails("share", USAGE, ["--share"], share=value)
    fails("two kinds of lists", USAGE, ["--share", "--cells-per-item"], share="0.1", cells_per_item="1")
    fails("two lengths", USAGE, ["--share", "--list"], share="0.1", list="1")
    fails("iterations", USAGE, ["--iterations", "64"], iterations="65")
    for value in ("0", "257"):
        fails("threads", USAGE, ["--threads"], threads=value)
    fails("pack without sketches", INPUT, ["bare", "sketches"], pack="bare")
    fails("no pack", INPUT, ["features.npy"], pack="features.npy")
    for uri in ("bad", "sqlite:", "postgresql:x"):
        fails("store " + uri, USAGE, ["--store"], store=uri)
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
        kinds = [("pipe", os.mkfifo), ("folder", os.mkdir), ("socket", make_socket)]
        if not tester.leaves_out("payloads that are links", "wine follows links of Linux by itself"):
            kinds += [("link", lambda path: os.symlink("/etc/hostname", path)),
                      ("link to nothing", lambda path: os.symlink("absent", path))]
        for what, make in kinds:
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
