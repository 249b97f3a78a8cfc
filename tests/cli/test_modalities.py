"""Pictures that words find, from the front files to the ranked answer, against the reference:
python3 tests/cli/test_modalities.py path/to/privatemail

Needs numpy and cbor2. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402
from harness import INPUT, OWN, USAGE, Tester, read_release, read_schemas, schema_faults  # noqa: E402
from relay_parts import FEW, Gateway, Neighbours  # noqa: E402
from relaying import Relay  # noqa: E402

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from reference import scorer, unpack_symbols  # noqa: E402
from reference_fronts import NONE, Front, random_kernels, random_matrix  # noqa: E402
from reference_reader import section_start  # noqa: E402
from reference_server import ServerPack, first_ranked, scores_of, sketch_rows  # noqa: E402
from reference_store import read_gallery  # noqa: E402

IMAGE, TEXT, OUT = 20, 6, 8             # features
PUBLIC, GALLERY, QUERIES = 90, 150, 30  # rows
FRONTS = ["--front", "image=image.pmfr", "--front", "text=text.pmfr"]


def make_data(tester):
    """Both modalities are views of the same things."""
    source = np.random.default_rng(17)
    things = source.standard_normal((PUBLIC + GALLERY + QUERIES, 5))
    image = things @ source.standard_normal((5, IMAGE)) + 0.2 * source.standard_normal((len(things), IMAGE))
    text = np.exp(things @ source.standard_normal((5, TEXT)))  # a histogram: never negative
    fronts = {"image": random_matrix(source, IMAGE, OUT), "text": random_kernels(source, TEXT, OUT, 12)}
    data = {}
    for name, rows in (("image", image), ("text", text)):
        parts = np.split(rows.astype("f4"), [PUBLIC, PUBLIC + GALLERY])
        for part, values in zip(("public", "gallery", "queries"), parts):
            tester.save("%s_%s.npy" % (part, name), values)
            data[part, name] = fronts[name].rows(values)
        tester.write(name + ".pmfr", fronts[name].file())
    tester.save("classes.npy", (np.arange(PUBLIC) % 3).astype("i4"))
    return fronts, data


def test_pack(tester, fronts, data):
    base = ["pack", "--features", "public_image.npy", *FRONTS, "--cells", "4", "--gaussian", "--rows-are-public"]
    for threads in (1, 2):
        tester.succeeds("pack", *base, "--with", "text=public_text.npy", "--threads", threads, "--out",
                        "both%d.pmpk" % threads)
    both = tester.read("both1.pmpk")
    tester.check(both == tester.read("both2.pmpk"), "fronts: the same bytes with any number of threads")
    pack = ServerPack(both)
    tester.check(both[6:8] == b"\5\0" and pack.d == OUT and pack.code, "fronts: a pack of version 0.5 and their dimension")
    bodies = b"".join(fronts[name].body() for name in ("image", "text"))
    records = b"".join(fronts[name].record(name.encode()) for name in ("image", "text")) + bytes(6 * 64)
    whole = records + bodies
    tester.check(both[section_start(both, 13):section_start(both, 17)] == whole + bytes(-len(whole) % 16), "fronts: record and body are those of the files")
    tester.succeeds("plain", *base, "--with", "text=public_text.npy", "--plain-sketches", "--out", "plain.pmpk")
    plain = tester.read("plain.pmpk")
    tester.check(plain[6:8] == b"\3\0" and not ServerPack(plain).code and plain.endswith(records + bodies),
                 "plain sketches: a pack of version 0.3")
    for name, rows in (("both1", np.concatenate([data["public", "image"], data["public", "text"]])),
                       ("image", data["public", "image"]), ("text", data["public", "text"])):
        if name != "both1":
            tester.succeeds(name, *base[:2], "public_%s.npy" % name, *base[3:], "--modality", name, "--out", name + ".pmpk")
        anchors = ServerPack(tester.read(name + ".pmpk")).anchors
        tester.check(sorted(anchors.tolist()) == sorted(rows.tolist()), "fronts: anchors of %s are mapped rows" % name)
    tester.succeeds("no front", "pack", "--features", "public_image.npy", "--cells", "4", "--out", "none.pmpk")
    tester.check(tester.read("none.pmpk")[6:8] == b"\5\0" and ServerPack(tester.read("none.pmpk")).fronts is None, "without fronts")
    tester.succeeds("no front", "pack", "--features", "public_image.npy", "--cells", "4", "--plain-sketches", "--out", "old.pmpk")
    tester.check(tester.read("old.pmpk")[6:8] == b"\2\0", "without fronts and with plain sketches: version 0.2 as ever")
    tester.succeeds("by class", *base, "--with", "text=public_text.npy", "--labels", "classes.npy", "--slots", "class",
                    "--out", "class.pmpk")
    by_class = ServerPack(tester.read("class.pmpk"))
    rows = np.concatenate([data["public", "image"], data["public", "text"]])
    for slot in range(3):
        own = by_class.anchors[by_class.anchor_slots == slot]
        right = rows[np.arange(2 * PUBLIC) % PUBLIC % 3 == slot]
        tester.check(sorted(own.tolist()) == sorted(right.tolist()), "fronts: row i of either modality has class i")
    crowd = tester.json("crowd", "pack", "--features", "public_image.npy", *FRONTS, "--with", "text=public_text.npy",
                        "--crowd", "1000", "--out", "crowd.pmpk")
    tester.check(crowd["crowd"]["clients"] == 500 and tester.read("crowd.pmpk")[6] == 5, "fronts: a pack for a crowd")


def test_inspect(tester, fronts):
    shown = tester.json("inspect", "inspect", "both1.pmpk")
    faults = schema_faults(read_schemas()["inspect"], shown)
    tester.check(not faults, "inspect with fronts: %s" % faults)
    right = [{"name": name, "features": front.inputs, "kind": kind, "root": front.root, "centres": front.centres,
              "bytes": len(front.body())}
             for (name, front), kind in zip(fronts.items(), ("matrix", "kernels"))]
    tester.check(shown["modalities"] == right and shown["features"] == OUT, "inspect: %s" % shown["modalities"])
    text = tester.succeeds("inspect", "inspect", "both1.pmpk").stdout.decode()
    tester.check("text: 6 features, front of kind kernels with 12 centres on square roots" in text, "inspect: text")


def test_index(tester, data):
    pack = ServerPack(tester.read("both1.pmpk"))
    for modality, options in (("image", []), ("image", ["--modality", "image"]), ("text", ["--modality", "text"])):
        tester.succeeds("index", "index", "--pack", "both1.pmpk", "--features", "gallery_%s.npy" % modality, *options, *OWN,
                        "--store", "sqlite:items.store", "--force")
        rows = data["gallery", modality]
        stored, listed = read_gallery(tester.path("items.store"), tester.read("both1.pmpk"))
        cells = {item: cell for _, cell, item in listed}
        scores = scores_of(rows, pack.prototypes[0], pack.prototype_norms[0])
        right = pack.prototype_cells[0][first_ranked(scores, 1)[:, 0]]
        tester.check([cells[i] for i in range(GALLERY)] == right.tolist(), "index %s: cells of mapped rows" % modality)
        sketches = [list(stored[i][3]) for i in range(GALLERY)]
        tester.check(sketches == sketch_rows(pack, rows).tolist(), "index %s: sketches of mapped rows" % modality)


class Asked:
    """What a query must find: its cell, and the items of that cell by their sketches."""

    def __init__(self, tester, data, modality):
        self.pack, rows = ServerPack(tester.read("both1.pmpk")), data["queries", modality]
        self.gallery, self.rows = sketch_rows(self.pack, data["gallery", "image"]).tolist(), rows.tolist()
        self.items = {item: cell for _, cell, item in read_gallery(tester.path("both1.store"), tester.read("both1.pmpk"))[1]}
        scores = scores_of(rows, self.pack.prototypes[0], self.pack.prototype_norms[0])
        self.cells = self.pack.prototype_cells[0][first_ranked(scores, 1)[:, 0]]

    def results(self, row):
        score = scorer(self.pack, self.rows[row])
        items = [item for item, cell in self.items.items() if cell == self.cells[row]]
        return sorted(items, key=lambda item: (-score(self.gallery[item]), item))[:8]


def test_query(tester, data):
    """At epsilon 16 a release of 4 cells names the true one, but for one in three million: then the next one does."""
    tester.succeeds("index", "index", "--pack", "both1.pmpk", "--features", "gallery_image.npy", *OWN,
                    "--store", "sqlite:both1.store")
    seen = set()
    for modality in ("image", "text"):
        right, options = Asked(tester, data, modality), [] if modality == "image" else ["--modality", modality]
        for row in range(QUERIES):
            asked = ["--pack", "both1.pmpk", "--features", "queries_%s.npy" % modality, "--row", row, *options]
            for _ in range(2):
                done = tester.succeeds("privatize", "privatize", *asked, "--epsilon", "16", "--out", "r.cbor", "--force")
                release = tester.read("r.cbor")
                symbol = unpack_symbols(read_release(release)[4], right.pack.m, right.pack.G)[0]
                if symbol == right.cells[row]:
                    break
            seen.add((len(release), done.stdout, done.stderr))
            tester.check(symbol == right.cells[row], "privatize %s: row %d is in cell %d, not %d"
                         % (modality, row, right.cells[row], symbol))
            if row % 10:
                continue
            tester.succeeds("find", "find", "--release", "r.cbor", "--pack", "both1.pmpk", "--store", "sqlite:both1.store",
                            "--out", "a.cbor", "--force")
            found = tester.json("decode", "decode", "a.cbor", *asked, "--top", "8")["results"]
            tester.check([result["id"] for result in found] == right.results(row), "decode %s ranks by the mapped query" % modality)
    tester.check(len(seen) == 1, "what is printed and sent does not tell the modality: %s" % seen)


def test_server(tester, data):
    """The same from a server, and through a relay."""
    right = Asked(tester, data, "text")
    asked = ["--pack", "both1.pmpk", "--features", "queries_text.npy", "--modality", "text"]
    tester.succeeds("keys", "keys", "--out", "keys", "--public", "keys.public")
    with Gateway(tester, name="both1") as server, Relay(tester, server.url) as relay, Neighbours(tester, relay.url, pack="both1"):
        for row in (0, 7):
            direct = tester.json("query", "query", "--server", server.url, *asked, "--row", row, "--epsilon", "16")["results"]
            tester.check([result["id"] for result in direct] == right.results(row), "query %d finds pictures by words" % row)
        relayed = tester.json("relay", "query", "--relay", relay.url, *asked, "--row", "3", "--crowd", "2", *FEW, "--wait",
                              "60")["results"]
        tester.check([result["id"] for result in relayed] == right.results(3), "and through a relay")
    for name in os.listdir(tester.folder):
        if name.endswith((".cell", ".epoch", ".ohttp-keys", ".budget")):
            os.remove(tester.path(name))


def test_audit(tester):
    """Behind a front, too, the audit finds records that can be told apart. For the Gaussian it cannot reach as far: nobody
    knows a query that a front maps to a given anchor."""
    for modality in ("image", "text"):
        for mechanism, epsilon, trials, least in (("response", 1, 100000, 0.5), ("gaussian", 8, 10000, 0.3)):
            for _ in range(5):  # now and then the first releases choose a poor event, and a bound holds with 0.999
                done = json.loads(tester.run("audit", "--pack", "both1.pmpk", "--modality", modality, "--mechanism", mechanism,
                                             "--epsilon", epsilon, "--trials", trials, "--json").stdout)
                if least < done["epsilon_lower"] <= epsilon and not done["violated"]:
                    break
            tester.check(least < done["epsilon_lower"] <= epsilon and not done["violated"],
                         "audit of %s, %s: %s" % (modality, mechanism, done))


def test_bad_input(tester, fronts):
    source = np.random.default_rng(3)
    whole = fronts["text"].file()
    tester.write("other.pmfr", random_matrix(source, TEXT, OUT + 1).file())
    tester.write("wide.pmfr", Front(NONE, OUT, OUT).file())
    for name, content in (("short", whole[:-1]), ("shorter", whole[:100]), ("nothing", b""), ("long", whole + b"x"),
                          ("spoilt", whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]),
                          ("sealed", None)):
        if content is None:  # sound hash, unsound record
            front = Front(9, TEXT, OUT)
            content = front.file()
        tester.write(name + ".pmfr", content)
        tester.fails("front " + name, INPUT, [name + ".pmfr"], "pack", "--features", "public_image.npy", "--front",
                     "image=image.pmfr", "--front", "text=%s.pmfr" % name, "--out", "new.pmpk")
    base = ["pack", "--features", "public_image.npy", "--out", "new.pmpk"]
    image, text = "image=image.pmfr", "text=text.pmfr"
    cases = (
        ("an absent file", INPUT, ["absent.pmfr"], ["--front", "image=absent.pmfr"]),
        ("other dimensions", INPUT, ["other.pmfr", "9", "8"], ["--front", image, "--front", "text=other.pmfr"]),
        ("two of one name", USAGE, ["image"], ["--front", image, "--front", "image=text.pmfr"]),
        ("a name in capitals", USAGE, ["Image"], ["--front", "Image=image.pmfr"]),
        ("a name that is too long", USAGE, ["a" * 16], ["--front", "a" * 16 + "=image.pmfr"]),
        ("no name", USAGE, ["image.pmfr"], ["--front", "image.pmfr"]),
        ("an empty name", USAGE, ["''"], ["--front", "=image.pmfr"]),
        ("nine", USAGE, ["8"], [word for i in range(9) for word in ("--front", "m%d=image.pmfr" % i)]),
        ("features of another length", INPUT, ["20", "6", "text"], ["--front", image, "--front", text, "--modality", "text"]),
        ("an unknown modality", USAGE, ["sound"], ["--front", image, "--modality", "sound"]),
        ("a modality without fronts", USAGE, ["image", "--front"], ["--modality", "image"]),
        ("rows of an unknown modality", USAGE, ["sound"], ["--front", image, "--with", "sound=public_text.npy"]),
        ("rows of another length", INPUT, ["text", "20"], ["--front", image, "--front", text, "--with", "text=public_image.npy"]),
        ("rows of the same modality", USAGE, ["image"], ["--front", image, "--with", "image=public_image.npy"]),
        ("fewer rows than classes", INPUT, ["150", "90"], ["--front", image, "--front", text, "--with", "text=gallery_text.npy",
                                                           "--labels", "classes.npy", "--slots", "class"]),
    )
    for name, code, needles, options in cases:
        tester.fails("pack: " + name, code, needles, *base, *options)
    asked = {"index": ["--features", "gallery_image.npy", "--store", "sqlite:new.store"],
             "privatize": ["--features", "queries_image.npy", "--epsilon", "4", "--out", "new.cbor"],
             "audit": ["--mechanism", "response", "--epsilon", "1", "--trials", "1000"]}
    for command, options in asked.items():
        tester.fails(command + ": unknown", USAGE, ["sound", "image, text"], command, "--pack", "both1.pmpk", *options,
                     "--modality", "sound")
        tester.fails(command + ": none", USAGE, ["image"], command, "--pack", "none.pmpk", *options, "--modality", "image")
        if command != "audit":
            tester.fails(command + ": another length", INPUT, ["text", "6", "20"], command, "--pack", "both1.pmpk", *options,
                         "--modality", "text")
    index = ["index", "--pack", "both1.pmpk", *asked["index"]]
    tester.fails("voters of another length", INPUT, ["public_text.npy", "image"], *index, "--voters", "public_text.npy")
    tester.fails("voters and own cells", USAGE, ["--cells-per-item"], *index, "--voters", "public_image.npy", *OWN)
    tester.fails("labels of nobody", USAGE, ["--voters-labels"], *index, "--voters-labels", "classes.npy")
    tester.fails("too few labels", INPUT, ["classes.npy", "150"], *index, "--voters", "gallery_image.npy", "--voters-labels",
                 "classes.npy")


def main():
    if len(sys.argv) != 2:
        print("usage: test_modalities.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        fronts, data = make_data(tester)
        test_pack(tester, fronts, data)
        test_inspect(tester, fronts)
        test_index(tester, data)
        test_query(tester, data)
        test_server(tester, data)
        test_audit(tester)
        test_bad_input(tester, fronts)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
