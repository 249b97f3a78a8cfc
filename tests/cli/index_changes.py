"""Galleries that change: `index --add` and `--remove`, `gallery` and `publish`. After every change the store holds what the
independent implementation makes of the items that are left."""
import os
import shutil
import sqlite3

import numpy as np

from harness import INPUT, OUTPUT, USAGE, read_schemas, schema_faults
from index_content import check_store
from reference_server import Gallery, quantise_rows
from reference_store import Record, Store, Version

FEATURES, CLASSES = 24, 4
PACKS = {"lists": ["--slots", "class", "--cells", "6", "--gaussian", "--rows-are-public", "--dims", "2"],
         "one": ["--cells", "9"], "plain": ["--slots", "class", "--cells", "5", "--plain-sketches"]}
LISTS = {"lists": {"length": 7}, "one": {"length": 12}, "plain": {"cells_per_item": 2}}
WORDS = {"lists": ["--list", "7"], "one": ["--list", "12"], "plain": ["--cells-per-item", "2"]}


class Model:
    """The items that there should be: {number: (row, class, payload)}."""

    def __init__(self, tester, name):
        self.tester, self.name, self.items = tester, name, {}
        self.source = np.random.default_rng(len(name))
        self.centres = np.random.default_rng(1).standard_normal((CLASSES, FEATURES))

    def draw(self, numbers):
        """New rows of these numbers, in files."""
        labels = self.source.integers(CLASSES, size=len(numbers))
        rows = (self.centres[labels] + self.source.standard_normal((len(numbers), FEATURES))).astype("f4")
        rows[len(numbers) // 2] = rows[0]
        tester = self.tester
        tester.save("rows.npy", rows)
        tester.save("rows_labels.npy", labels.astype("i4"))
        tester.write("ids.txt", b"".join(b"%d\n" % number for number in numbers))
        shutil.rmtree(tester.path("payloads"), ignore_errors=True)
        os.mkdir(tester.path("payloads"))
        for number, row, label in zip(numbers, rows, labels):
            payload = self.source.bytes(int(number) % 50)
            if payload:
                tester.write("payloads/%d.bin" % number, payload)
            self.items[number] = (row, int(label), payload)
        return ["--labels", "rows_labels.npy", "--payloads", "payloads"]

    def remove(self, numbers):
        for number in numbers:
            del self.items[number]
        self.tester.write("gone.txt", "".join("%d\r\n" % number for number in numbers).encode())

    def gallery(self):
        numbers = list(self.items)
        rows, labels, payloads = zip(*self.items.values())
        features = np.array(rows)
        gallery = Gallery(self.tester.read(self.name + ".pmpk"), features, np.array(labels), numbers, list(payloads),
                          **LISTS[self.name])
        gallery.rows = quantise_rows(features)
        return gallery

    def run(self, what, *words):
        report = self.tester.json(what, "index", "--pack", self.name + ".pmpk", "--store", "sqlite:" + self.name, *words)
        faults = schema_faults(read_schemas()["index"], report)
        self.tester.check(not faults, "%s: %s" % (what, faults))
        check_store(self.tester, self.name, self.gallery(), report, LISTS[self.name].get("cells_per_item", 0), 0)
        return report


def make_packs(tester):
    source = np.random.default_rng(5)
    labels = np.arange(200) % CLASSES
    centres = np.random.default_rng(1).standard_normal((CLASSES, FEATURES))
    tester.save("public.npy", (centres[labels] + source.standard_normal((200, FEATURES))).astype("f4"))
    tester.save("public_labels.npy", labels.astype("i4"))
    for name, options in PACKS.items():
        tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "public_labels.npy", *options, "--out",
                        name + ".pmpk")


def test_changes(tester):
    for name in PACKS:
        model = Model(tester, name)
        numbers = [int(number) for number in model.source.permutation(400)[:150]]
        more = model.draw(numbers)
        first = model.run("first", "--features", "rows.npy", "--ids", "ids.txt", *more, *WORDS[name])
        some = numbers[:8] + [1000 + i for i in range(9)]
        more = model.draw(some)
        added = model.run("add", "--add", "rows.npy", "--ids", "ids.txt", *more)
        tester.check((added["added"], added["replaced"], added["removed"]) == (9, 8, 0), "add: %s" % added)
        tester.check(0 < added["new_parts"] <= added["parts"], "new parts: %s" % added)
        model.remove(numbers[20:31])
        gone = model.run("remove", "--remove", "gone.txt")
        tester.check((gone["added"], gone["replaced"], gone["removed"]) == (0, 0, 11), "remove: %s" % gone)
        model.remove(numbers[40:43])
        more = model.draw([1009, 1010, 1011])
        both = model.run("both", "--add", "rows.npy", *more, "--remove", "gone.txt")  # numbers follow the largest
        tester.check((both["added"], both["removed"], both["items"]) == (3, 3, 148), "both: %s" % both)
        shown = tester.json("gallery", "gallery", "--store", "sqlite:" + name)
        tester.check(shown["history"] == [report["version"] for report in (both, gone, added)], "history: %s" % shown)
        check_anew(tester, model, both)
        tester.check(first["version"] not in shown["history"], "three versions are kept")


def check_anew(tester, model, report):
    """The same items from nothing, in another order: the same version, another store."""
    numbers = sorted(model.items, key=lambda number: number * 7919 % 1013)
    tester.save("rows.npy", np.array([model.items[number][0] for number in numbers]))
    tester.save("rows_labels.npy", np.array([model.items[number][1] for number in numbers], "i4"))
    tester.write("ids.txt", b"".join(b"%d\n" % number for number in numbers))
    shutil.rmtree(tester.path("payloads"), ignore_errors=True)
    os.mkdir(tester.path("payloads"))
    for number in numbers:
        tester.write("payloads/%d" % number, model.items[number][2])
    anew = tester.json("anew", "index", "--pack", model.name + ".pmpk", "--store", "dir:anew", "--features", "rows.npy",
                       "--labels", "rows_labels.npy", "--ids", "ids.txt", "--payloads", "payloads", *WORDS[model.name])
    tester.check(anew["version"] == report["version"], model.name + ": indexed anew, the same version")
    shutil.rmtree(tester.path("anew"))


def test_versions(tester):
    """Back, on from there, and fewer of them."""
    schema = read_schemas()["gallery"]
    shown = tester.json("gallery", "gallery", "--store", "sqlite:lists", "--pack", "lists.pmpk")
    tester.check(not schema_faults(schema, shown) and shown["private"] and not shown["building"] and shown["keep"] == 3 and
                 shown["list"] == 7 and shown["version"] == shown["history"][0], "gallery: %s" % shown)
    back = tester.json("switch", "gallery", "--store", "sqlite:lists", "--switch", shown["history"][2])
    tester.check(back["version"] == shown["history"][2] and back["history"][1:] == shown["history"][:2], "back: %s" % back)
    text = tester.succeeds("text", "gallery", "--store", "sqlite:lists").stdout.decode()
    tester.check(back["version"] in text and shown["version"] in text, "text: %s" % text)
    tester.write("gone.txt", b"1000\n")
    changed = tester.json("on from there", "index", "--pack", "lists.pmpk", "--store", "sqlite:lists", "--remove", "gone.txt")
    tester.check(changed["items"] == back["items"] - 1, "a change starts from what is served")
    fewer = tester.json("keep", "gallery", "--store", "sqlite:lists", "--keep", 1)
    tester.check(fewer["history"] == [changed["version"]] and fewer["swept"] > 0, "keep: %s" % fewer)
    store = Store(tester.path("lists"))
    (version, record, _), = store.pointers.values()
    tester.check(set(store.parts) == Version(store, version).needed() and set(store.private) == Record(store, record).blobs,
                 "nothing of other versions is left")
    tester.fails("not kept", INPUT, ["not kept"], "gallery", "--store", "sqlite:lists", "--switch", shown["version"])
    tester.fails("no version", USAGE, ["--switch"], "gallery", "--store", "sqlite:lists", "--switch", "abc")
    tester.fails("keep none", USAGE, ["--keep"], "gallery", "--store", "sqlite:lists", "--keep", "0")
    tester.fails("no store", INPUT, ["absent"], "gallery", "--store", "sqlite:absent")
    tester.fails("another pack", INPUT, ["no gallery"], "gallery", "--store", "sqlite:lists", "--pack", "one.pmpk")
    done = tester.succeeds("by id", "gallery", "--store", "sqlite:lists", "--pack", tester.read("lists.pmpk")[8:24].hex())
    tester.check(changed["version"] in done.stdout.decode(), "by id")


def test_publish(tester):
    schema = read_schemas()["publish"]
    told = tester.json("publish", "publish", "--store", "sqlite:one", "--pack", "one.pmpk", "--to", "dir:web")
    tester.check(not schema_faults(schema, told) and told["copied"] == told["blobs"] > 0, "publish: %s" % told)
    one, web = Store(tester.path("one")), Store(tester.path("web"))
    (version, record, _), = web.pointers.values()
    tester.check(version.hex() == told["version"] and record == bytes(32) and not web.private and
                 set(web.parts) == Version(one, version).needed(), "nothing private goes along")
    shown = tester.json("gallery", "gallery", "--store", "dir:web")
    tester.check(not shown["private"] and shown["history"] == [told["version"]], "a copy: %s" % shown)
    tester.write("gone.txt", b"1000\n")
    remove = ["index", "--pack", "one.pmpk", "--remove", "gone.txt", "--store"]
    tester.fails("a copy cannot be changed", INPUT, ["published"], *remove, "dir:web")
    tester.fails("a copy has no versions", INPUT, ["published"], "gallery", "--store", "dir:web", "--keep", "1")
    changed = tester.json("change", *remove, "sqlite:one")
    told = tester.json("publish again", "publish", "--store", "sqlite:one", "--to", "dir:web")
    web = Store(tester.path("web"))
    tester.check(told["version"] == changed["version"] and told["copied"] < told["blobs"] and told["swept"] == 0 and
                 version in web.parts, "the version before stays: %s" % told)
    tester.write("gone.txt", b"1001\n")
    tester.succeeds("change", *remove, "sqlite:one")
    told = tester.json("publish again", "publish", "--store", "sqlite:one", "--to", "dir:web")
    tester.check(told["swept"] > 0 and version not in Store(tester.path("web")).parts, "but not for ever: %s" % told)
    told = tester.json("private", "publish", "--store", "sqlite:one", "--to", "sqlite:backup", "--private")
    tester.write("gone.txt", b"1002\n")
    versions = [tester.json("change " + where, *remove, where)["version"] for where in ("sqlite:backup", "sqlite:one")]
    tester.check(told["private"] and versions[0] == versions[1], "a private copy can be changed")
    tester.fails("over an original", OUTPUT, ["--private"], "publish", "--store", "sqlite:one", "--to", "sqlite:backup",
                 same=False)
    tester.fails("onto itself", USAGE, ["--to"], "publish", "--store", "sqlite:one", "--to", "sqlite:one")
    tester.fails("nothing private", OUTPUT, ["--private"], "publish", "--store", "dir:web", "--to", "dir:other", "--private",
                 same=False)
    tester.fails("no gallery", INPUT, ["no gallery"], "publish", "--store", "sqlite:one", "--pack", "lists.pmpk", "--to",
                 "dir:nowhere")


def test_drift(tester):
    """Lists keep their length; when the gallery has grown by more than a tenth, index says what that means."""
    model = Model(tester, "one")
    base = ["index", "--pack", "one.pmpk", "--store", "sqlite:drift"]
    model.draw(range(100))
    first = tester.json("first", *base, "--features", "rows.npy", "--share", "0.1")
    tester.check((first["list"], first["drift"], first["share"]) == (10, 0, 0.1), "first: %s" % first)
    model.draw(range(10))
    done = tester.run(*base, "--add", "rows.npy", "--json")
    tester.check(done.returncode == 0 and not done.stderr and b'"drift":0.1' in done.stdout, "a tenth: %r" % done.stderr)
    done = tester.run(*base, "--add", "rows.npy", "--json")
    tester.check(done.returncode == 0 and b"20 % more" in done.stderr and b"0.0833" in done.stderr and
                 b"--force" in done.stderr and b'"list":10,' in done.stdout, "a fifth: %r" % done.stderr)


def test_bad_changes(tester):
    """Every one leaves the gallery as it was."""
    model = Model(tester, "lists")
    base = ["index", "--pack", "lists.pmpk", "--store"]
    model.draw(range(30))
    rows = ["--add", "rows.npy", "--labels", "rows_labels.npy"]
    tester.write("unknown.txt", b"1001\n424242\n")
    tester.write("twice.txt", b"1001\n1002\n1001\n")
    tester.write("words.txt", b"1001\nx\n")
    store = Store(tester.path("lists"))
    state = Record(store, list(store.pointers.values())[0][1]).states[0]
    tester.write("all.txt", b"".join(b"%d\n" % item for item in state.rows))
    tester.write("same.txt", b"7\n" * 30)
    tester.save("narrow.npy", np.zeros((3, FEATURES - 1), "f4") + 1)
    before = tester.json("before", "gallery", "--store", "sqlite:lists")

    def fails(what, code, needles, *words, store="sqlite:lists"):
        tester.fails(what, code, needles, *base, store, *words)

    fails("unknown", INPUT, ["424242", "not in the gallery"], "--remove", "unknown.txt")
    fails("twice", INPUT, ["1001", "twice"], "--remove", "twice.txt")
    fails("words", INPUT, ["words.txt", "line 2"], "--remove", "words.txt")
    fails("no file", INPUT, ["absent.txt"], "--remove", "absent.txt")
    fails("all", INPUT, ["no item would be left"], "--remove", "all.txt")
    fails("an id twice", INPUT, ["same.txt", "lines 1 and 2"], *rows, "--ids", "same.txt")
    fails("no labels", USAGE, ["--labels"], "--add", "rows.npy")
    fails("narrow", INPUT, ["narrow.npy"], "--add", "narrow.npy", "--labels", "rows_labels.npy")
    fails("labels without rows", USAGE, ["--labels"], "--remove", "unknown.txt", "--labels", "rows_labels.npy")
    for option in (["--list", "3"], ["--share", "0.1"], ["--cells-per-item", "1"], ["--iterations", "1"], ["--force"],
                   ["--voters", "rows.npy"]):
        fails("chosen once", USAGE, [option[0], "--features"], *rows, *option)
    tester.fails("another pack", INPUT, ["no finished gallery"], "index", "--pack", "one.pmpk", "--store", "sqlite:lists",
                 "--remove", "unknown.txt")
    fails("no store", INPUT, ["absent"], *rows, store="sqlite:absent")
    after = tester.json("after", "gallery", "--store", "sqlite:lists")
    tester.check(before == after, "the gallery is as it was")


def test_lost_blobs(tester):
    """A store that lacks something says so, and what is served stays."""
    for shelf, needle in (("private", "index"), ("parts", "gallery")):
        shutil.copy(tester.path("lists"), tester.path("lost"))
        with sqlite3.connect(tester.path("lost")) as database:
            database.execute("DELETE FROM " + shelf)
        database.close()
        tester.write("gone.txt", b"1001\n")
        if shelf == "private":
            tester.fails("lost", OUTPUT, ["lacks", "--force"], "index", "--pack", "lists.pmpk", "--store", "sqlite:lost",
                         "--remove", "gone.txt", same=False)
        tester.fails("lost " + needle, INPUT, ["lacks"], "gallery", "--store", "sqlite:lost", same=False)
        tester.fails("lost", INPUT, ["lacks"], "publish", "--store", "sqlite:lost", "--to", "dir:lost.web", same=False)
        for end in ("", "-wal", "-shm", ".lock"):
            if os.path.exists(tester.path("lost" + end)):
                os.remove(tester.path("lost" + end))


def run_all(tester):
    make_packs(tester)
    for test in (test_changes, test_versions, test_publish, test_drift, test_bad_changes, test_lost_blobs):
        test(tester)
