"""What a person gets who gives no options: a small pack of means, and answers of 2 % of the gallery."""
import os
import sys

import numpy as np

from harness import INPUT, ROOT, read_schemas, schema_faults

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
from reference_server import ServerPack, quantise_rows  # noqa: E402

ROWS, FEATURES, GALLERY = 2500, 512, 3000  # a pack without anchors is as large for any number of rows
PACK = ["pack", "--features", "many.npy"]


def make_rows(tester):
    source = np.random.default_rng(6)
    centres = source.standard_normal((60, FEATURES))
    rows = centres[source.integers(60, size=ROWS + GALLERY)] + source.standard_normal((ROWS + GALLERY, FEATURES))
    tester.save("many.npy", rows[:ROWS].astype("f4"))
    tester.save("many_labels.npy", np.arange(ROWS) % 3)
    tester.save("many_gallery.npy", rows[ROWS:].astype("f4"))


def test_default_pack(tester):
    done = tester.succeeds("default", *PACK, "--out", "default.pmpk")
    tester.check(b"28 cells per slot, chosen for epsilon 4 and answers of the share 0.02" in done.stderr,
                 "the choice is told: %r" % done.stderr)
    built = tester.json("default", *PACK, "--out", "default.pmpk", "--force")
    faults = schema_faults(read_schemas()["pack"], built)
    keys = ("slots", "anchors", "cells", "epsilon", "share", "rows_per_prototype", "gaussian_memory")
    tester.check(not faults and [built[key] for key in keys] == [1, 0, 28, 4, 0.02, 2, None], "default: %s %s" % (built, faults))
    tester.check(built["bytes"] < 1 << 20, "a default pack of %d features has %d bytes" % (FEATURES, built["bytes"]))
    shown = tester.json("inspect", "inspect", "default.pmpk")
    tester.check((shown["slot_kind"], shown["cell_codes"], shown["lists"]) == ("one", True, False), "codes: %s" % shown)
    only = tester.json("response only", *PACK, "--response-only", "--out", "only.pmpk", "--force")
    tester.check(only["pack"] == built["pack"], "--response-only is the default")
    chosen = tester.json("cells", *PACK, "--cells", 7, "--out", "seven.pmpk")
    tester.check((chosen["cells"], chosen["epsilon"], chosen["share"]) == (7, None, None), "--cells: nothing is chosen")
    chosen = tester.json("epsilon", *PACK, "--epsilon", 2, "--out", "seven.pmpk", "--force")
    tester.check((chosen["cells"], chosen["epsilon"], chosen["share"]) == (11, 2, 0.02), "--epsilon 2: %s" % chosen)
    chosen = tester.json("share", *PACK, "--share", 0.1, "--out", "seven.pmpk", "--force")
    tester.check((chosen["cells"], chosen["epsilon"], chosen["share"]) == (10, 4, 0.1), "--share 0.1: %s" % chosen)
    done = tester.succeeds("labels", *PACK, "--labels", "many_labels.npy", "--out", "labels.pmpk")
    tester.check(b"labels are not used" in done.stderr and tester.read("labels.pmpk") == tester.read("default.pmpk"),
                 "labels without --slots: %r" % done.stderr)


def test_default_answers(tester):
    made = tester.json("index", "index", "--pack", "default.pmpk", "--features", "many_gallery.npy", "--store",
                       "sqlite:default.store")
    tester.check((made["lists"], made["list"], made["share"], made["cells_per_item"]) == ("list", 60, 0.02, 0), "lists: %s" % made)
    for row in range(5):
        tester.succeeds("release", "privatize", "--pack", "default.pmpk", "--features", "many.npy", "--row", row,
                        "--epsilon", 4, "--out", "default.cbor", "--force")
        told = tester.json("find", "find", "--release", "default.cbor", "--pack", "default.pmpk", "--store",
                           "sqlite:default.store")
        tester.check((told["carried"], told["gallery"], told["share"]) == (60, 3000, 0.02), "2 %%: %s" % told["carried"])
        seen = tester.json("decode", "decode", "default.cbor", "--pack", "default.pmpk")
        tester.check(len(seen["slots"][0]["row"]) == 2, "a release decodes into its embedding row")


def copies_in(data, rows):
    """How many rows are prototypes of the pack, or its anchors."""
    pack = ServerPack(data)
    held = {row.tobytes() for row in pack.prototypes.reshape(-1, pack.d)}
    if pack.anchors is not None:
        held |= {row.tobytes() for row in pack.anchors}
    return sum(row.tobytes() in held for row in quantise_rows(rows).astype(np.int64))


def test_public_rows(tester):
    """Ten rows far from all others: each would be a prototype of its own."""
    source = np.random.default_rng(7)
    rows = np.concatenate([source.standard_normal(24) + 0.05 * source.standard_normal((90, 24)),
                           4 * source.standard_normal((10, 24))]).astype("f4")
    tester.save("far.npy", rows)
    pack = ["pack", "--features", "far.npy", "--cells", 20]
    public = [*pack, "--rows-are-public"]
    for what, command, copied in (("means", pack, lambda count: count == 0),
                                  ("means of public rows", public, lambda count: count == 0),
                                  ("rows", [*public, "--rows-per-prototype", 1], lambda count: count > 0),
                                  ("anchors", [*public, "--gaussian"], lambda count: count == 100)):
        tester.succeeds(what, *command, "--out", "far.pmpk", "--force")
        count = copies_in(tester.read("far.pmpk"), rows)
        tester.check(copied(count), "%s: %d rows are in the pack" % (what, count))
    labels = np.arange(100) % 4
    labels[50] = 9
    tester.save("far_labels.npy", labels)
    classes = ["pack", "--features", "far.npy", "--labels", "far_labels.npy", "--slots", "class", "--out", "classes.pmpk"]
    tester.fails("a class of one row", INPUT, ["far.npy", "Class 9", "everybody", "--rows-are-public"], *classes)
    tester.succeeds("a class of one public row", *classes, "--rows-are-public")


def run_all(tester):
    make_rows(tester)
    test_default_pack(tester)
    test_default_answers(tester)
    test_public_rows(tester)
