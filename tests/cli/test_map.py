"""Tests of `privatemail map`: python3 test_map.py path/to/privatemail. Needs numpy only."""
import struct
import xml.etree.ElementTree
import zlib

import numpy as np

from harness import INPUT, OUTPUT, OWN, USAGE, run_tests, schema_faults

METHODS = ("pca", "mds", "sammon", "isomap", "lle", "laplacian", "diffusion", "sne", "ssne", "tsne", "landmark")
CLASSES, ROWS, COLUMNS = 5, 520, 24
ROWS_OF = ("--features", "rows.npy")
LABELS = ("--labels", "labels.npy")


def make_rows(tester, seed=5):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(CLASSES, COLUMNS))
    labels = rng.integers(0, CLASSES, 2 * ROWS)
    rows = (middles[labels] + 0.6 * rng.normal(size=(2 * ROWS, COLUMNS))).astype("<f4")
    tester.save("rows.npy", rows[:ROWS])
    tester.save("labels.npy", (labels[:ROWS] * 4 - 6).astype("<i4"))
    tester.save("public.npy", rows[ROWS:])
    tester.save("public_labels.npy", (labels[ROWS:] * 4 - 6).astype("<i4"))


def nearest_error(places, labels):
    squares = ((places[:, None] - places[None]) ** 2).sum(-1)
    np.fill_diagonal(squares, np.inf)
    return float(np.mean(labels[squares.argmin(1)] != labels))


def read_svg(tester, name):
    """(points, colours of the points, texts)"""
    root = xml.etree.ElementTree.fromstring(tester.read(name))
    tag = "{http://www.w3.org/2000/svg}"
    paths = list(root.iter(tag + "path"))
    return (sum(path.get("d").count("h0") for path in paths), [path.get("stroke") for path in paths],
            [text.text for text in root.iter(tag + "text")])


def read_png(tester, name):
    """(width, height, pixels as numbers of one row after the other with their filters)"""
    data = tester.read(name)
    wide, high, depth, kind = struct.unpack_from(">IIBB", data, 16)
    at, body = 8, b""
    while at < len(data):
        size, what = struct.unpack_from(">I4s", data, at)
        body += data[at + 8:at + 8 + size] if what == b"IDAT" else b""
        at += 12 + size
    return wide, high, depth, kind, len(zlib.decompress(body))


def test_outputs(tester, schemas):
    labels = np.load(tester.path("labels.npy"))
    made = tester.json("svg", "map", *ROWS_OF, *LABELS, "--out", "map.svg", "--measure")
    faults = schema_faults(schemas["map"], made)
    entry = made["maps"][0]
    tester.check(not faults and made["rows"] == ROWS and made["colour"] == "class" and made["groups"] == CLASSES
                 and entry["method"] == "tsne" and entry["skipped"] is None and entry["bytes"] == len(tester.read("map.svg")),
                 "svg: %s, %s" % (faults, made))
    points, colours, texts = read_svg(tester, "map.svg")
    tester.check(points == ROWS and len(set(colours)) == CLASSES, "every row is drawn, in the colour of its class")
    tester.check(texts == ["class"] + [str(label) for label in sorted(set(labels.tolist()))], "the legend: %s" % texts)

    tester.json("npy", "map", *ROWS_OF, *LABELS, "--out", "map.npy")
    places = np.load(tester.path("map.npy"))
    tester.check(places.shape == (ROWS, 2) and places.dtype == np.float32 and abs(places.mean(0)).max() < 1e-3, "npy")
    tester.check(abs(nearest_error(places.astype(float), labels) - entry["nn_error"]) < 1e-9, "nn_error is that of the map")
    tester.check(entry["nn_error"] < 0.05 and entry["trustworthiness"] > 0.8 and entry["purity"][0]["value"] > 0.9
                 and entry["separation"][0]["mean"] > 0.3, "tsne keeps classes together: %s" % entry)

    tester.json("png", "map", *ROWS_OF, "--out", "map.png", "--colour", "cluster", "--clusters", "3", "--method", "pca")
    wide, high, depth, kind, size = read_png(tester, "map.png")
    tester.check((depth, kind) == (8, 2) and size == high * (3 * wide + 1), "png: %d × %d" % (wide, high))
    plain = tester.json("plain", "map", *ROWS_OF, "--out", "plain.svg", "--method", "pca")
    points, colours, texts = read_svg(tester, "plain.svg")
    tester.check(plain["colour"] == "none" and points == ROWS and len(colours) == 1 and not texts, "one colour, no legend")
    text = tester.succeeds("text", "map", *ROWS_OF, *LABELS, "--out", "text.svg", "--method", "pca", "--measure").stdout.decode()
    tester.check("text.svg: map of %d rows by pca" % ROWS in text and "trustworthiness" in text, "text: %s" % text)


def test_all(tester, schemas):
    made = tester.json("all", "map", "--method", "all", *ROWS_OF, *LABELS, "--measure", "--out", "all.npy", "--threads", "2")
    faults = schema_faults(schemas["map"], made)
    tester.check(not faults and [entry["method"] for entry in made["maps"]] == list(METHODS), "all: %s" % faults)
    labels = np.load(tester.path("labels.npy"))
    for entry in made["maps"]:
        method = entry["method"]
        places = np.load(tester.path("all.%s.npy" % method)).astype(float)
        tester.check(entry["out"].endswith("all.%s.npy" % method) and places.shape == (ROWS, 2), "%s has a map" % method)
        tester.check(abs(nearest_error(places, labels) - entry["nn_error"]) < 1e-9, "%s: its own measures" % method)
        tester.check(entry["nn_error"] < 0.6 and entry["trustworthiness"] > 0.6 and entry["stress"] < 0.9, "%s: %s" % (method, entry))
    done = tester.succeeds("table", "map", "--method", "all", *ROWS_OF, "--measure", "--iterations", "10")
    lines = done.stdout.decode().splitlines()
    tester.check(len(lines) == 1 + len(METHODS) and [line.split()[0] for line in lines[1:]] == list(METHODS), "the table")

    tester.save("some.npy", np.load(tester.path("rows.npy"))[:80])
    made = tester.json("skipped", "map", "--method", "all", "--features", "some.npy", "--iterations", "10")
    skipped = {entry["method"]: entry["skipped"] for entry in made["maps"] if entry["skipped"]}
    tester.check(list(skipped) == ["landmark"] and "tsne" in skipped["landmark"] and not schema_faults(schemas["map"], made),
                 "a method that does not fit is skipped: %s" % skipped)


def test_determinism(tester):
    for method in METHODS:
        for name, more in (("one", ("--threads", "1")), ("two", ("--threads", "3"))):
            tester.succeeds(method, "map", "--method", method, *ROWS_OF, "--seed", "5", "--iterations", "20", "--out",
                            name + ".npy", "--force", *more)
        tester.check(tester.read("one.npy") == tester.read("two.npy"), "%s: threads change nothing" % method)


def test_stores(tester):
    """Rows of a store are its sketches, in the order of the items: all of them where a gallery has places or every item its
    own cell, else those that stand in a list."""
    tester.succeeds("pack", "pack", "--features", "public.npy", "--cells", "6", "--out", "one.pmpk")
    tester.succeeds("index", "index", "--pack", "one.pmpk", *ROWS_OF, *LABELS, *OWN, "--store", "sqlite:own.db")
    tester.succeeds("index", "index", "--pack", "one.pmpk", *ROWS_OF, "--share", "0.02", "--store", "sqlite:share.db")
    made = tester.json("store", "map", "--store", "sqlite:own.db", "--pack", "one.pmpk", "--out", "own.npy", "--measure")
    tester.check(made["rows"] == ROWS and made["colour"] == "class" and made["groups"] == CLASSES
                 and made["maps"][0]["nn_error"] < 0.05, "a store knows its classes: %s" % made)
    shared = tester.json("share", "map", "--store", "sqlite:share.db", "--pack", "one.pmpk", "--out", "share.npy")
    tester.check(0 < shared["rows"] < ROWS and shared["colour"] == "cell", "items that a list has, and cells: %s" % shared)
    tester.succeeds("pack", "pack", "--features", "public.npy", "--cells", "6", "--gaussian", "--codes", "random",
                    "--rows-are-public", "--out", "both.pmpk")
    for name, lists in (("places", ["--share", "0.02"]), ("both", OWN)):
        tester.succeeds("index", "index", "--pack", "both.pmpk", *ROWS_OF, *lists, "--store", "sqlite:%s.db" % name)
        tester.succeeds("map", "map", "--store", "sqlite:%s.db" % name, "--pack", "both.pmpk", "--out", name + ".npy")
    tester.check(tester.read("places.npy") == tester.read("both.npy"), "the same items, the same map")
    tester.fails("a store alone", USAGE, ("--pack",), "map", "--store", "sqlite:share.db", "--out", "alone.npy")
    tester.succeeds("plain", "pack", "--features", "public.npy", "--cells", "6", "--plain-sketches", "--out", "plain.pmpk")
    tester.succeeds("index", "index", "--pack", "plain.pmpk", *ROWS_OF, *LABELS, *OWN, "--store", "sqlite:plain.db")
    plain = tester.json("plain", "map", "--store", "sqlite:plain.db", "--pack", "plain.pmpk", "--out", "plain.npy", "--measure")
    tester.check(plain["rows"] == ROWS and plain["maps"][0]["nn_error"] < 0.05, "plain sketches make a map too: %s" % plain)

    cells = {}
    for what, source in (("file", ROWS_OF), ("store", ("--store", "sqlite:own.db"))):
        made = tester.json(what, "map", *source, "--pack", "one.pmpk", "--colour", "cell", "--method", "pca", "--out",
                           what + ".svg")
        cells[what] = read_svg(tester, what + ".svg")[2]
        tester.check(2 <= made["groups"] <= 6 and made["colour"] == "cell", "cells of a %s: %s" % (what, made))
    tester.check(cells["file"] == cells["store"], "rows and their sketches are in the same cells: %s" % cells)

    tester.succeeds("slots", "pack", "--features", "public.npy", "--labels", "public_labels.npy", "--slots", "class",
                    "--cells", "3", "--out", "classes.pmpk")
    made = tester.json("slots", "map", *ROWS_OF, *LABELS, "--pack", "classes.pmpk", "--colour", "cell", "--method", "pca",
                       "--out", "slots.svg")
    tester.check(CLASSES < made["groups"] <= 3 * CLASSES, "cells of every slot: %s" % made)
    tester.fails("slots without labels", USAGE, ("--labels",), "map", *ROWS_OF, "--pack", "classes.pmpk", "--colour", "cell",
                 "--out", "no.svg")
    tester.fails("another pack's store", INPUT, ("own.db",), "map", "--store", "sqlite:own.db", "--pack", "classes.pmpk",
                 "--out", "no.svg")


def bad_rows(tester):
    rows, labels = np.load(tester.path("rows.npy")), np.load(tester.path("labels.npy"))
    for name, value in (("nan", np.nan), ("infinite", np.inf)):
        bad = rows.copy()
        bad[11, 2] = value
        tester.save(name + ".npy", bad)
    zero = rows.copy()
    zero[7] = 0
    tester.save("zero.npy", zero)
    tester.save("short_labels.npy", labels[:-1])
    tester.save("few.npy", rows[:4])
    tester.save("many.npy", np.random.default_rng(0).normal(size=(5001, 3)).astype("<f4"))


def test_errors(tester):
    bad_rows(tester)
    out = ("--out", "no.svg")
    for what, code, needles, command in (
            ("NaN", INPUT, ("nan.npy", "row 11"), ("--features", "nan.npy", *out)),
            ("infinity", INPUT, ("infinite.npy", "row 11"), ("--features", "infinite.npy", *out)),
            ("zeros", INPUT, ("zero.npy", "row 7"), ("--features", "zero.npy", *out)),
            ("labels of another length", INPUT, ("short_labels.npy", "519"), (*ROWS_OF, "--labels", "short_labels.npy", *out)),
            ("too few rows", INPUT, ("at least 5",), ("--features", "few.npy", *out)),
            ("too many for lle", INPUT, ("5000", "laplacian"), ("--features", "many.npy", "--method", "lle", *out)),
            ("too many for sne", INPUT, ("5000", "tsne"), ("--features", "many.npy", "--method", "sne", *out)),
            ("too few for landmark", INPUT, ("500", "tsne"), ("--features", "some.npy", "--method", "landmark", *out)),
            ("perplexity", INPUT, ("601 rows", "--perplexity 173"), (*ROWS_OF, "--perplexity", "200", *out)),
            ("perplexity of 1", USAGE, ("--perplexity",), (*ROWS_OF, "--perplexity", "1", *out)),
            ("more clusters than rows", INPUT, ("--clusters 520",),
             (*ROWS_OF, "--colour", "cluster", "--clusters", "521", *out)),
            ("a method that is none", USAGE, ("--method", "umap"), (*ROWS_OF, "--method", "umap", *out)),
            ("a colour that is none", USAGE, ("--colour", "red"), (*ROWS_OF, "--colour", "red", *out)),
            ("class without labels", USAGE, ("--labels",), (*ROWS_OF, "--colour", "class", *out)),
            ("cell without a pack", USAGE, ("--pack",), (*ROWS_OF, "--colour", "cell", *out)),
            ("an ending that is none", USAGE, ("map.gif", ".svg"), (*ROWS_OF, "--out", "map.gif")),
            ("no out", USAGE, ("--out",), ROWS_OF),
            ("no rows", USAGE, ("--features", "--store"), out),
            ("both rows", USAGE, ("--features", "--store"), (*ROWS_OF, "--store", "sqlite:own.db", *out)),
            ("labels of a store", USAGE, ("--labels",), ("--store", "sqlite:own.db", "--pack", "one.pmpk", *LABELS, *out)),
            ("modality without a pack", USAGE, ("--pack",), (*ROWS_OF, "--modality", "text", *out)),
            ("no such file", INPUT, ("absent.npy",), ("--features", "absent.npy", *out)),
            ("no such store", INPUT, ("absent.db",), ("--store", "sqlite:absent.db", "--pack", "one.pmpk", *out)),
            ("neighbours", USAGE, ("--neighbours",), (*ROWS_OF, "--neighbours", "65", *out)),
            ("out is an input", USAGE, ("rows.npy",), (*ROWS_OF, "--out", "rows.npy", "--force")),
            ("out exists", OUTPUT, ("map.svg", "--force"), (*ROWS_OF, "--out", "map.svg")),
            ("no such folder", OUTPUT, ("absent",), (*ROWS_OF, "--out", "absent/map.svg"))):
        tester.fails(what, code, needles, "map", *command)


def test_notes(tester):
    """What is odd about rows is said, and drawn all the same."""
    rows = np.load(tester.path("rows.npy"))
    rng = np.random.default_rng(1)
    tester.save("copies.npy", rows[rng.integers(0, 40, 200)])
    done = tester.succeeds("copies", "map", "--features", "copies.npy", "--out", "copies.svg")
    copies = 200 - len(np.unique(np.load(tester.path("copies.npy")), axis=0))
    tester.check("%d rows are copies" % copies in done.stderr.decode(), "copies: %s" % done.stderr.decode())
    middles = np.eye(COLUMNS)[:3]
    tester.save("apart.npy", (np.repeat(middles, 30, 0) + 0.02 * rng.normal(size=(90, COLUMNS))).astype("<f4"))
    for method in ("isomap", "lle", "laplacian", "diffusion"):
        done = tester.succeeds(method, "map", "--features", "apart.npy", "--method", method, "--out", method + ".svg")
        tester.check("3 parts" in done.stderr.decode(), "%s: %s" % (method, done.stderr.decode()))
    done = tester.succeeds("few", "map", "--features", "apart.npy", "--out", "few.svg")
    tester.check("perplexity of 29.7" in done.stderr.decode(), "few rows: %s" % done.stderr.decode())
    done = tester.succeeds("unused", "map", *ROWS_OF, "--method", "pca", "--out", "unused.svg", "--perplexity", "9", "--neighbours",
                           "9", "--landmarks", "99", "--iterations", "9")
    text = done.stderr.decode()
    tester.check(all("--%s" % option in text for option in ("perplexity", "neighbours", "landmarks", "iterations"))
                 and text.count("It is ignored") == 4, "what pca does not use: %s" % text)
    done = tester.succeeds("landmark", "map", *ROWS_OF, "--method", "landmark", "--out", "landmark.svg")
    tester.check("tsne is better" in done.stderr.decode(), "landmark: %s" % done.stderr.decode())


def test_full_disk(tester):
    for name in ("full.svg", "full.png"):
        tester.fails_when_full(name, 4100, "map", "--method", "pca", *ROWS_OF, "--out", name)


def run_all(tester, schemas):
    make_rows(tester)
    test_outputs(tester, schemas)
    test_all(tester, schemas)
    test_determinism(tester)
    test_stores(tester)
    test_errors(tester)
    test_notes(tester)
    test_full_disk(tester)


run_tests(run_all)
