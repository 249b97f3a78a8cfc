"""From features to releases and back, as a person would do it."""
import math
import random

import numpy as np

from harness import WHOLE, golden, read_release, read_schemas, reference, schema_faults


def make_collection(tester):
    """public.npy and labels.npy: five classes in clusters, 16 features."""
    source = np.random.default_rng(5)
    labels = np.repeat(np.array([-3, 0, 1, 7, 100000], dtype="i8"), 40)
    centres = source.standard_normal((5, 16)) * 2
    features = (centres[np.arange(200) // 40] + source.standard_normal((200, 16))).astype("f4")
    order = source.permutation(200)
    tester.save("public.npy", features[order])
    tester.save("labels.npy", labels[order])
    tester.save("query.npy", features[:6])
    tester.save("query_labels.npy", labels[:6].astype("i2"))


def test_help(tester):
    for command in ("pack", "inspect", "privatize", "decode", "sample", "advise"):
        text = tester.succeeds(command + " --help", command, "--help").stdout.decode()
        tester.check(all(word in text for word in ("Usage:", "--json", "Exit codes:", "Example:")), command + " help")
    for arguments in (["--help"], ["--version"]):
        tester.succeeds(arguments[0], *arguments)
    tester.check(tester.run().returncode == 2, "no command: exit code 2")
    tester.fails("unknown command", 2, ["inspct", "'inspect'"], "inspct")


def test_pack(tester, schemas):
    given = ["pack", "--features", "public.npy", "--labels", "labels.npy"]
    base = [*given, *WHOLE, "--seed", "3"]
    built = tester.json("pack", *base, "--out", "p.pmpk")
    tester.check(not schema_faults(schemas["pack"], built), "pack: %s" % schema_faults(schemas["pack"], built))
    data = tester.read("p.pmpk")
    tester.check(built["pack"] == data[8:24].hex() and built["bytes"] == len(data), "pack: id and size are the file's")
    tester.check([built[key] for key in ("anchors", "classes", "slots", "cells", "prototypes", "sketch")]
                 == [200, 5, 5, 8, 8, 14] and data[6] == 5,
                 "pack: counts %s" % built)
    plain = tester.json("plain", *base, "--plain-sketches", "--out", "plain.pmpk")
    tester.check(plain["sketch"] == 16 and tester.read("plain.pmpk")[6] == 2, "plain sketches: %s" % plain)
    tester.check({size: tester.json("bytes", *base, "--sketch", size, "--out", "plain.pmpk", "--force")["sketch"]
                  for size in (8, 13, 14, 16)} == {8: 8, 13: 13, 14: 14, 16: 14}, "no more than 7 bits per feature")
    for threads in (1, 2):
        tester.succeeds("pack again", *base, "--threads", threads, "--out", "again.pmpk", "--force")
        tester.check(tester.read("again.pmpk") == data, "pack: same bytes with %d threads" % threads)
    tester.succeeds("another seed", *base[:-1], "4", "--out", "again.pmpk", "--force")
    tester.check(tester.read("again.pmpk") != data, "pack: the seed matters")
    text = tester.succeeds("text", *base, "--out", "again.pmpk", "--force").stdout.decode()
    tester.check(built["pack"] in text and "sensitivity" in text and "client memory" in text, "pack: text %r" % text)
    gaussian = ["--gaussian", "--rows-are-public"]
    variants = {
        "one": ["--cells", "4", "--dims", "3", *gaussian],
        "for epsilon": ["--share", "0.1", "--epsilon", "2"],
        "group": ["--slots", "group", "--slot-count", "2", "--codes", "class", "--bandwidth", "1.5", "--alpha", "0.5",
                  *gaussian],
        "spectral": ["--codes", "spectral", "--dims", "5", *gaussian],
        "lda": ["--codes", "lda", *gaussian],
        "pca of classes": ["--slots", "class", "--alpha", "0.5", "--bandwidth", "1.5", *gaussian],
        "drawn": ["--codes", "random", *gaussian],
        "only": ["--slots", "class", "--response-only", "--sketch", "12", "--cells", "4", "--prototypes-per-cell", "3"],
    }
    for name, options in variants.items():
        made = tester.json(name, *given, *options, "--out", name + ".pmpk")
        shown = tester.json("inspect " + name, "inspect", name + ".pmpk")
        for schema, document in (("pack", made), ("inspect", shown)):
            faults = schema_faults(schemas[schema], document)
            tester.check(not faults, "%s of %s: %s" % (schema, name, faults))
    tester.check(made["gaussian_memory"] is None and made["sensitivity"] is None and made["bandwidth"] is None,
                 "response-only has no Gaussian")
    for name, command in (("p", base), ("group", [*given, *variants["group"]])):
        made = tester.json(name, *command, "--out", name + ".pmpk", "--force")
        tester.check(made["bandwidth"] == tester.json("inspect", "inspect", name + ".pmpk")["bandwidth"],
                     "pack and inspect tell the same bandwidth")
    tester.check(tester.json("rule", "inspect", "for epsilon.pmpk")["cells"] == 5, "0.55·(0.1·e²)^0.37/0.1 is 4.9")
    only = tester.json("only", "inspect", "only.pmpk")
    tester.check((only["cells"], only["sketch"]) == (4, 12) and 4 < only["prototypes"] <= 12, "at most 3 prototypes for each cell")
    tester.check(tester.json("group", "inspect", "group.pmpk")["slots"] == 2, "--slot-count 2 gives 2 slots")
    dimensions = {name: tester.json(name, "inspect", name + ".pmpk")["dimensions"]
                  for name in ("spectral", "lda", "pca of classes", "drawn", "only")}
    tester.check(dimensions == {"spectral": 5, "lda": 4, "pca of classes": 16, "drawn": 2, "only": 2},
                 "codes that follow 5 classes of rows have as many dimensions as they can: %s" % dimensions)
    big = tester.json("few rows", *given, "--slots", "class", "--cells", "64", "--out", "few.pmpk")
    tester.check(big["repeated"] > 0 and big["prototypes"] == 64, "fewer rows than m: prototypes repeat")


def test_sample(tester, schemas):
    made = tester.json("sample", "sample", "--out", "shapes", "--classes", "2", "--per-class", "8", "--no-images")
    tester.check(not schema_faults(schemas["sample"], made), "sample: %s" % schema_faults(schemas["sample"], made))


def test_gallery(tester, schemas):
    """Rows of a gallery make cells, with a warning, and no row of it is in the pack."""
    source = np.random.default_rng(6)
    gallery = np.concatenate([source.standard_normal((300, 16)).astype("f4"), np.load(tester.path("public.npy"))[:50]])
    tester.save("gallery.npy", gallery)
    base = ["pack", "--features", "public.npy", "--cells", "12", "--gaussian", "--rows-are-public"]
    packs = {}
    for name, words in (("without", []), ("with", ["--gallery", "gallery.npy"]), ("refine", ["--refine", "0"])):
        packs[name] = tester.json(name, *base, *words, "--out", name + ".pmpk")
        tester.check(not schema_faults(schemas["pack"], packs[name]), "pack %s the gallery" % name)
    shown = tester.json("inspect", "inspect", "with.pmpk")
    tester.check([packs["with"][key] for key in ("gallery", "rows_per_prototype", "refine", "anchors")] == [300, 8, 4, 200] and
                 shown["anchors"] == 200, "rows that are not public count, none is an anchor: %s" % packs["with"])
    tester.check([packs["without"][key] for key in ("gallery", "rows_per_prototype", "refine")] == [0, 2, 4] and
                 packs["refine"]["refine"] == 0 and len({pack["pack"] for pack in packs.values()}) == 3, "three packs: %s" % packs)
    data = tester.read("with.pmpk")
    rows = [np.array(reference.quantise(row.view("u4").tolist()), "i1").tobytes() for row in gallery]
    tester.check([sum(row in data for row in part) for part in (rows[:300], rows[300:])] == [0, 50],
                 "only public rows can be read from the pack")
    done = tester.succeeds("warning", *base, "--gallery", "gallery.npy", "--out", "with.pmpk", "--force")
    tester.check(b"WARNING" in done.stderr and b"means of 8 rows or more of gallery.npy" in done.stderr and
                 b"300 rows of the gallery" in done.stdout, "what is published is told: %r" % done.stderr)
    again = tester.succeeds("threads", *base, "--gallery", "gallery.npy", "--threads", "1", "--out", "again.pmpk", "--force")
    tester.check(not again.returncode and tester.read("again.pmpk") == tester.read("with.pmpk"), "same bytes with one thread")
    tester.save("narrow.npy", gallery[:, :8])
    tester.save("few.npy", gallery[:7])
    gallery[5, 3] = np.nan
    tester.save("nan.npy", gallery)
    for what, code, needles, words in (
            ("narrow", 3, ["8 features", "16"], ["--gallery", "narrow.npy"]),
            ("few", 3, ["7 different rows"], ["--gallery", "few.npy"]), ("NaN", 3, ["nan.npy", "row 5"], ["--gallery", "nan.npy"]),
            ("missing", 3, ["none.npy"], ["--gallery", "none.npy"]),
            ("single rows", 3, ["--gallery"], ["--gallery", "gallery.npy", "--rows-per-prototype", "1"]),
            ("classes", 3, ["--slots one"], ["--gallery", "gallery.npy", "--slots", "class", "--labels", "labels.npy"]),
            ("rounds", 2, ["--refine", "64"], ["--refine", "65"])):
        tester.fails("gallery: " + what, code, needles, *base, *words, "--out", "bad.pmpk")
    tester.fails("gallery: its own file", 2, ["gallery"], *base, "--gallery", "gallery.npy", "--out", "gallery.npy", "--force")


def test_inspect(tester, schemas):
    shown = tester.json("inspect", "inspect", "p.pmpk")
    faults = schema_faults(schemas["inspect"], shown)
    tester.check(not faults, "inspect: %s" % faults)
    tester.check([row["epsilon"] for row in shown["table"]] == [0.1, 1, 2, 4, 8], "inspect: the table's epsilons")
    for row in shown["table"]:
        growth, m = math.exp(row["epsilon"]), shown["cells"]
        keep = growth / (growth + m - 1)
        tester.check(abs(row["keep"] - keep) < 1e-9 and abs(row["curve"] - keep) < 1e-9, "inspect: keep and curve")
        tester.check(row["keep"] <= keep and abs(row["ratio"] - row["sigma"] / shown["sensitivity"]) < 1e-9,
                     "inspect: keep is rounded down, ratio is sigma/sensitivity")
    text = tester.succeeds("inspect text", "inspect", "p.pmpk").stdout.decode()
    tester.check(shown["pack"] in text and "certificate" in text, "inspect: text")
    for name, pack in golden.make_packs():
        tester.write("golden.pmpk", pack.bytes)
        shown = tester.json("inspect golden " + name, "inspect", "golden.pmpk")
        faults = schema_faults(schemas["inspect"], shown)
        tester.check(not faults and (shown["slots"], shown["anchors"]) == (pack.G, pack.n), "%s: %s" % (name, faults))


def test_releases(tester, schemas):
    """Against the reference, on the golden pack with everything in it."""
    pack = dict(golden.make_packs())["b: class slots, all sections"]
    tester.write("b.pmpk", pack.bytes)
    source = random.Random("cli")
    bits = golden.features(source, pack, 3)
    tester.save("b.npy", np.array([reference.floats_from_bits(bits)], dtype="f4"))
    count, slot = 200, pack.slot_of(3)
    base = ["privatize", "--pack", "b.pmpk", "--features", "b.npy", "--label", "3", "--repeat", count]
    for mechanism, epsilon, width in (("response", 2, 0), ("gaussian", 8, 1), ("gaussian", 1, 2)):
        extra = ["--value-bytes", width] if width else []
        receipt = tester.json("privatize", *base, "--mechanism", mechanism, "--epsilon", epsilon, *extra,
                              "--out", "r.cbor", "--force")
        faults = schema_faults(schemas["privatize"], receipt)
        tester.check(not faults and len(receipt["releases"]) == count, "privatize: %s" % faults)
        names = ["r.cbor.%d" % i for i in range(count)]
        decoded = tester.json("decode", "decode", *names, "--pack", "b.pmpk")
        one = tester.json("decode one", "decode", names[0], "--pack", "b.pmpk")
        tester.check(one == decoded[0], "decode: one is the first of several")
        faults = sum((schema_faults(schemas["decode"], item) for item in decoded), [])
        tester.check(not faults, "decode: %s" % faults[:3])
        right, differ = 0, set()
        for name, item in zip(names, decoded):
            data = tester.read(name)
            differ.add(data)
            rows = [float(value) for value in reference.decode_rows(pack, data)]
            told = [value for part in item["slots"] for value in part["row"]]
            right += rows == told and len(data) == receipt["bytes"] and read_release(data)[1] == pack.id
        tester.check(right == count, "%s: %d of %d releases decode as the reference says" % (mechanism, right, count))
        tester.check(len(differ) > count // 4, "releases of one query are independent")
    tester.check(decoded[0]["slots"][2]["classes"] == [3], "decode: classes of a slot")
    receipt = tester.json("many", *base, "--epsilon", "2", "--out", "r.cbor", "--force")
    names = ["r.cbor.%d" % i for i in range(count)]
    decoded = tester.json("decode", "decode", *names, "--pack", "b.pmpk")
    own = reference.nearest_cell(pack, reference.quantise(bits), slot)
    kept = sum(item["slots"][slot]["symbol"] == own for item in decoded)
    spread = 6 * math.sqrt(count * receipt["keep"] * (1 - receipt["keep"]))
    tester.check(abs(kept - count * receipt["keep"]) < spread, "response: kept %d of %d, keep %g" %
                 (kept, count, receipt["keep"]))
    text = tester.succeeds("text", "decode", names[0], "--pack", "b.pmpk").stdout.decode()
    tester.check("response" in text and ": cell " in text, "decode: text")


def test_end_to_end(tester, schemas):
    for mechanism in ("response", "gaussian"):
        for row in range(3):
            out = "%s.%d.cbor" % (mechanism, row)
            receipt = tester.json("privatize", "privatize", "--pack", "p.pmpk", "--features", "query.npy", "--labels",
                                  "query_labels.npy", "--row", row, "--mechanism", mechanism, "--epsilon", "4",
                                  "--out", out)
            tester.check(not schema_faults(schemas["privatize"], receipt), "privatize %s" % mechanism)
            seen = tester.json("decode", "decode", out, "--pack", "p.pmpk")
            tester.check(seen["mechanism"] == mechanism and seen["pack"] == receipt["pack"] and
                         len(seen["slots"]) == 5, "decode what was made")
    done = tester.succeeds("stdout", "privatize", "--pack", "one.pmpk", "--features", "query.npy", "--epsilon", "1",
                           "--out", "-")
    tester.check(read_release(done.stdout)[2] == 1, "--out -: stdout is the release and nothing else")


def test_nothing_raw(tester):
    """What is printed is the same whatever the query is, and a release holds its length in public things only."""
    features = np.load(tester.path("query.npy"))
    seen = set()
    for mechanism in ("response", "gaussian"):
        for row in range(6):
            done = tester.succeeds("raw", "privatize", "--pack", "one.pmpk", "--features", "query.npy", "--row", row,
                                   "--mechanism", mechanism, "--epsilon", "4", "--out", "raw.cbor", "--force")
            seen.add((done.stdout, done.stderr, len(tester.read("raw.cbor"))))
            everything = done.stdout + done.stderr + tester.read("raw.cbor")
            leaks = [value for value in features[row] if value.tobytes() in everything or
                     ("%.3f" % abs(value)).encode() in done.stdout + done.stderr]
            tester.check(not leaks, "privatize shows raw values: %s" % leaks)
    tester.check(len(seen) == 2, "what privatize prints depends on the query: %s" % seen)


def run_all(tester):
    schemas = read_schemas()
    tester.check({"pack", "inspect", "privatize", "decode", "sample"} <= set(schemas) and all(schemas.values()),
                 "docs/CLI.md has a table for each command")
    make_collection(tester)
    test_help(tester)
    test_pack(tester, schemas)
    test_gallery(tester, schemas)
    test_sample(tester, schemas)
    test_inspect(tester, schemas)
    test_releases(tester, schemas)
    test_end_to_end(tester, schemas)
    test_nothing_raw(tester)
