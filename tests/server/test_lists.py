"""The answers of the command, byte for byte, against the reference of SPEC 6: test_lists.py path/to/privatemail

Needs numpy and cbor2. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from harness import OWN, Tester  # noqa: E402
from reference_fronts import random_kernels, random_matrix  # noqa: E402
from reference_server import Gallery, answer, quantise_rows  # noqa: E402
from reference_store import Store, Version  # noqa: E402

QUERIES = 20
KINDS = {"coded": [], "plain": ["--plain-sketches"]}     # of sketches: options of the pack
PRIVACY = {"response": ["--epsilon", "4"], "gaussian": ["--epsilon", "8", "--value-bytes", "2"]}

# name: options of the pack; cells an item, iterations, nearest
CASES = {
    "class slots": (["--slots", "class"], 1, 5, 32),
    "class slots, class codes, label graph": (
        ["--slots", "class", "--codes", "class", "--alpha", "0.5", "--bandwidth", "1.2", "--cells", "5"], 2, 5, 7),
    "one slot": (["--slots", "one", "--dims", "3", "--cells", "40"], 1, 2, 50),
    "one slot, class codes": (["--slots", "one", "--codes", "class", "--cells", "3"], 2, 12, 1),
    "groups, label graph": (
        ["--slots", "group", "--slot-count", "4", "--codes", "class", "--alpha", "0.3", "--bandwidth", "1",
         "--neighbours", "4"], 1, 1, 100000),
    "no iterations": (["--slots", "class", "--alpha", "2", "--bandwidth", "2", "--sketch", "8"], 1, 0, 32),
}

# name: options of the pack, share in millionths
SHARES = {
    "class slots, 20 %": (["--slots", "class", "--cells", "6", "--prototypes-per-cell", "2"], 200000),
    "class slots, one item per cell": (["--slots", "class", "--cells", "5"], 1),
    "one slot, 2 %": (["--cells", "60", "--prototypes-per-cell", "1"], 20000),
    "one slot, joined cells, 5 %": (["--cells", "20", "--prototypes-per-cell", "4"], 50000),
    "one slot, half of it": (["--cells", "3"], 500000),
}

# Public rows vote too. name: options of the pack, share in millionths, whether the voters have classes
VOTERS = {
    "voters, 3 %": (["--cells", "30"], 30000, False),
    "voters in every slot": (["--slots", "class", "--cells", "6"], 100000, False),
    "voters in the slots of their classes": (["--slots", "class", "--cells", "6"], 100000, True),
}


def make_gallery(tester):
    """The sample's gallery, some rows of it twice: ties, which the item numbers decide. Some items have payloads."""
    tester.succeeds("sample", "sample", "--out", "shapes", "--no-images", "--per-class", "240")
    features, labels = (np.load(tester.path("shapes/" + name)) for name in ("gallery.npy", "gallery_labels.npy"))
    source = np.random.default_rng(8)
    again = source.choice(len(features), 200, replace=False)
    features, labels = np.concatenate([features, features[again]]), np.concatenate([labels, labels[again]])
    ids = source.permutation(len(features)) * 1000003 + 7
    payloads = [b"" if item % 3 else b"payload of %d" % item for item in ids]
    tester.save("gallery.npy", features)
    tester.save("gallery_labels.npy", labels)
    tester.write("ids.txt", "".join("%d\n" % item for item in ids).encode())
    os.mkdir(tester.path("payloads"))
    for item, payload in zip(ids, payloads):
        if payload:
            tester.write("payloads/%d.txt" % item, payload)
    return features, labels, ids, payloads


def items_of(gallery, rows):
    return [gallery.ids[part].tolist() for part in rows]


def check_answer(tester, name, gallery, release, nearest):
    """One query: privatised, answered by the command, compared. Answers the release's bytes."""
    tester.succeeds(name, "find", "--release", release, "--pack", "pack.pmpk", "--store", "sqlite:gallery.db",
                    "--nearest", nearest, "--out", "answer.cbor", "--force")
    data, right = tester.read("answer.cbor"), gallery.answer(tester.read(release), nearest)
    tester.check(data == right, "%s: the answer of %d bytes is not the reference's %d, whose items are %s"
                 % (name, len(data), len(right), items_of(gallery, gallery.chosen(tester.read(release), nearest))))
    return tester.read(release)


def check_case(tester, name, kind, inputs):
    options, cells, iterations, nearest = CASES[name]
    name = "%s, %s" % (name, kind)
    tester.succeeds(name, "pack", "--features", "shapes/public.npy", "--labels", "shapes/public_labels.npy",
                    "--gaussian", "--rows-are-public", "--out", "pack.pmpk", "--force", *options, *KINDS[kind])
    tester.succeeds(name, "index", "--pack", "pack.pmpk", "--features", "gallery.npy", "--labels",
                    "gallery_labels.npy", "--ids", "ids.txt", "--payloads", "payloads", "--cells-per-item", cells,
                    "--iterations", iterations, "--store", "sqlite:gallery.db", "--force")
    pack = tester.read("pack.pmpk")
    gallery = Gallery(pack, *inputs, cells, iterations)
    tester.check((gallery.pack.code is not None) == (kind == "coded"), "%s: the pack has another kind of sketches" % name)
    for mechanism, privacy in PRIVACY.items():
        for row in range(QUERIES):
            tester.succeeds(name, "privatize", "--pack", "pack.pmpk", "--features", "shapes/queries.npy", "--labels",
                            "shapes/queries_labels.npy", "--row", row, "--mechanism", mechanism, *privacy,
                            "--out", "query.cbor", "--force")
            release = check_answer(tester, "%s, %s, query %d" % (name, mechanism, row), gallery, "query.cbor", nearest)
    return gallery, release


def check_share(tester, name, inputs, options, millionths, index=(), **parts):
    """Lists of a share: all of them, as the store holds them. Answers the lists."""
    tester.succeeds(name, "pack", "--features", "shapes/public.npy", "--labels", "shapes/public_labels.npy", "--out",
                    "share.pmpk", "--force", *options)
    tester.succeeds(name, "index", "--pack", "share.pmpk", "--features", "gallery.npy", "--labels",
                    "gallery_labels.npy", "--ids", "ids.txt", "--share", millionths / 1e6, "--store",
                    "sqlite:share.db", "--force", *index)
    gallery = Gallery(tester.read("share.pmpk"), *inputs[:3], millionths=millionths, **parts)
    store = Store(tester.path("share.db"))
    version = Version(store, store.pointers[gallery.pack.id][0])
    tester.check(version.list == gallery.length, "%s: the length of lists" % name)
    for slot in range(gallery.pack.G):
        for cell in range(gallery.pack.m):
            tester.check(version.part(slot, cell) == gallery.part(slot, cell),
                         "%s: cell %d of slot %d lists other items than it should" % (name, cell, slot))
    return version.entries


def check_voters(tester, inputs):
    """Voters with and without classes; then words that vote for pictures, each behind its front."""
    source = np.random.default_rng(9)
    voters = np.load(tester.path("shapes/public.npy"))[:150] + source.standard_normal((150, 1)).astype("f4")
    labels = np.load(tester.path("shapes/public_labels.npy"))[:150]
    labels[7] = 12345                                        # a class that the pack lacks: it votes nowhere
    tester.save("voters.npy", voters)
    tester.save("voters_labels.npy", labels)
    for name, (options, millionths, classes) in VOTERS.items():
        index = ["--voters", "voters.npy"] + (["--voters-labels", "voters_labels.npy"] if classes else [])
        listed = check_share(tester, name, inputs, options, millionths, index, voters=quantise_rows(voters),
                             voter_labels=labels if classes else None)
        tester.check(listed != check_share(tester, name + ": nobody", inputs, options, millionths), name + ": they matter")
    columns = voters.shape[1]
    words = source.random((200, 9)).astype("f4")
    picture, word = random_matrix(source, columns, 12), random_kernels(source, 9, 12, 20)
    tester.write("picture.pmfr", picture.file())
    tester.write("word.pmfr", word.file())
    tester.save("words.npy", words)
    fronts = ["--front", "picture=picture.pmfr", "--front", "word=word.pmfr", "--with", "word=words.npy"]
    check_share(tester, "words vote for pictures", inputs, [*fronts, "--cells", "20"], 50000,
                ["--voters", "words.npy", "--voters-modality", "word"], front=picture, voters=word.rows(words))


def check_defaults(tester, inputs):
    """Without ids, payloads and numbers of anything: what the specification says then."""
    features, labels, _, _ = inputs
    tester.succeeds("defaults", "index", "--pack", "pack.pmpk", "--features", "gallery.npy", "--labels",
                    "gallery_labels.npy", *OWN, "--store", "sqlite:gallery.db", "--force")
    for mechanism, privacy in PRIVACY.items():
        tester.succeeds("defaults", "privatize", "--pack", "pack.pmpk", "--features", "shapes/queries.npy", "--labels",
                        "shapes/queries_labels.npy", "--mechanism", mechanism, *privacy, "--out", "query.cbor",
                        "--force")
        tester.succeeds("defaults", "find", "--release", "query.cbor", "--pack", "pack.pmpk", "--store",
                        "sqlite:gallery.db", "--out", "answer.cbor", "--force")
        right = answer(tester.read("pack.pmpk"), features, labels, None, None, 1, 0, 32, tester.read("query.cbor"))
        tester.check(tester.read("answer.cbor") == right, "defaults, %s: not the reference's answer" % mechanism)


def check_that_it_matters(tester, gallery, release, inputs):
    """A reference that differs in one parameter answers something else: the comparison can fail."""
    pack, right = tester.read("pack.pmpk"), gallery.answer(release, 32)
    features, labels, ids, payloads = inputs
    others = {
        "iterations": Gallery(pack, *inputs, 1, 1),
        "ids": Gallery(pack, features, labels, ids[::-1], payloads, 1, 0),
        "payloads": Gallery(pack, features, labels, ids, payloads[::-1], 1, 0),
    }
    for name, other in others.items():
        tester.check(other.answer(release, 32) != right, "%s do not matter" % name)
    tester.check(gallery.answer(release, 31) != right, "the number of candidates does not matter")


def main():
    if len(sys.argv) != 2:
        print("usage: test_lists.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        inputs = make_gallery(tester)
        for kind in KINDS:
            for name in CASES:
                gallery, release = check_case(tester, name, kind, inputs)
            check_that_it_matters(tester, gallery, release, inputs)
            check_defaults(tester, inputs)
        for name, (options, millionths) in SHARES.items():
            check_share(tester, name, inputs, options, millionths)
        check_voters(tester, inputs)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
