"""Tests of kept and idle bundles: python3 tests/cli/test_crowd_kept.py path/to/privatemail

A kept cell is sent again without its photo and without its floor, and only by the pack, floor and budget that it was
drawn with. An idle bundle costs nothing. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import json
import os
import struct
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402
from bad_input import changed  # noqa: E402
from harness import BUDGET, INPUT, OUTPUT, USAGE, Tester, read_schemas  # noqa: E402
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from reference_store import digest  # noqa: E402
from reference_crowd import crowd_prices, crowd_release, public_list, read_bundle  # noqa: E402
from test_crowd_messages import CROWD, POLICY, amounts, make_packs, packs, receipt  # noqa: E402

OWNER = b"default" + bytes(9)


def idle(**options):
    return changed(changed(POLICY, features=None, own="3"), idle=True, **options)


def kept_file(release, floor=8, owner=OWNER, version=1, magic=b"PMLK"):
    """SPEC 4, from its table."""
    body = magic + struct.pack("<III", version, int(floor * 2 ** 20), len(release)) + owner + release
    return body + struct.pack("<Q", digest([body]))


def own_of(tester, name):
    with open(tester.path(name), encoding="utf-8") as stream:
        return json.load(stream)["own"]


# ---- sent again ----

def test_kept(tester, schema):
    budget = {"budget": "kept.budget"}
    first = changed(CROWD, out="first.cbor", own="2", own_out="first.own", keep="cell",
                    budget_crowd="80,16,1e-4", **budget)
    drawn = receipt(tester, schema, "drawn", first)
    pack, prices = packs(tester)["one"], crowd_prices(8, {"mu": drawn["mu"], "delta0": drawn["delta0"], "own": 2})
    cell = read_bundle(pack, tester.read("first.cbor"))[own_of(tester, "first.own")[0]]
    tester.check(drawn["bundle"] == "query" and amounts(tester, "kept.budget")["floor_spent"] == prices["floor"], drawn)
    tester.check(tester.read("cell") == kept_file(crowd_release(pack, cell)), "the file is that of SPEC 4")
    tester.check(os.stat(tester.path("cell")).st_mode & 0o777 == 0o600, "only the owner reads it")
    again = changed(CROWD, own="2", keep="cell", **budget)
    sizes = set()
    for i in range(1, 13):  # also without the photo; the class of the photo is not asked for
        command = changed(again, out="again%d.cbor" % i, own_out="again%d.own" % i,
                          features=("query.npy", None, "absent.npy")[i % 3])
        sent = receipt(tester, schema, "again", command)
        symbols, own = read_bundle(pack, tester.read("again%d.cbor" % i)), own_of(tester, "again%d.own" % i)
        tester.check([symbols[at] for at in own] == public_list(pack, cell, 2), "the same cell and its list: %s" % sent)
        sizes.add(tuple(symbols))
        spent = amounts(tester, "kept.budget")
        tester.check((spent["floor_spent"], spent["crowd_spent"], spent["delta0_spent"]) ==
                     (prices["floor"], (i + 1) * prices["crowd"], (i + 1) * prices["delta0"]), "%d: %s" % (i, spent))
        tester.check((sent["bundle"], sent["mu"], sent["delta0"], sent["floor"], sent["clusters"]) ==
                     ("kept", drawn["mu"], drawn["delta0"], 8, drawn["clusters"]), sent)
        tester.check(1 < sent["epsilon"] < 1.2, "no new draw hides it: %s" % sent["epsilon"])
    for i in range(5):
        tester.succeeds("once more", *changed(again, budget=None, out="more%d.cbor" % i))
        sizes.add(tuple(read_bundle(pack, tester.read("more%d.cbor" % i))))
    # seven of ten bundles have no fake, and then two orders: seventeen are all the same once in 10^7 runs
    tester.check(len(sizes) > 1, "the fakes are fresh: %s" % sizes)
    text = tester.succeeds("in words", *changed(again, out="words.cbor", features=None)).stdout.decode()
    tester.check("a kept cell sent again" in text and "paid when the cell was drawn" in text, text)
    # A policy that is taken as it is: the same rule.
    policy = changed(CROWD, epsilon=None, clusters=repr(drawn["clusters"]), copies=str(drawn["copies"]), own="2")
    taken = receipt(tester, schema, "taken", changed(policy, out="taken.cbor", features=None, keep="cell"))
    tester.check(abs(taken["epsilon"] - sent["epsilon"]) < 1e-9, "%s, %s" % (taken["epsilon"], sent["epsilon"]))


def test_classes(tester, schema):
    """A pack with classes: the kept message has its slot, so no class is asked for."""
    command = changed(CROWD, pack="class.pmpk", labels="query_labels.npy", out="slot.cbor", own_out="slot.own", keep="slot")
    receipt(tester, schema, "drawn", command)
    pack = packs(tester)["class"]
    cell = read_bundle(pack, tester.read("slot.cbor"))[own_of(tester, "slot.own")[0]]
    tester.check(tester.read("slot") == kept_file(crowd_release(pack, cell), owner=bytes(16)), "no budget, no owner")
    receipt(tester, schema, "again", changed(CROWD, pack="class.pmpk", features=None, out="slot2.cbor",
                                             own_out="slot2.own", keep="slot"))
    symbols = read_bundle(pack, tester.read("slot2.cbor"))
    tester.check(symbols[own_of(tester, "slot2.own")[0]] == cell, "the same cell")


def test_floor_alone(tester, schema):
    """A budget without a crowd's promise: what is sent again costs nothing there."""
    command = changed(CROWD, out="alone.cbor", keep="alone", budget="alone.budget", budget_crowd="8")
    receipt(tester, schema, "drawn", command)
    sent = receipt(tester, schema, "again", changed(CROWD, out="alone2.cbor", keep="alone", budget="alone.budget"))
    tester.check((sent["budget"]["floor_spent"], sent["budget"]["releases_left"]) == (8, None), sent)
    tester.fails("a new draw", BUDGET, ["spent"], *changed(CROWD, budget="alone.budget"))


# ---- refused ----

def test_bad_files(tester):
    pack, other = packs(tester)["one"], packs(tester)["class"]
    good = kept_file(crowd_release(pack, 3))
    foreign = kept_file(crowd_release(other, 3))
    flips = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1:] for at in range(len(good))]
    cases = [("cut", good[:-1], "cut short"), ("grown", good + b"\0", "cut short"), ("empty", b"", "no kept cell"),
             ("a pack", tester.read("one.pmpk")[:4096], "no kept cell"), ("head alone", good[:16], "cut short"),
             ("newer", kept_file(crowd_release(pack, 3), version=2), "newer"),
             ("another pack", foreign, "another pack"),
             ("no release", kept_file(b"\xa0" * 30), "broken"), ("a longer one", kept_file(bytes(65)), "cut short")]
    cases += [("byte %d" % at, data, "broken") for at, data in enumerate(flips)]
    for spends in (True, False):
        command = changed(CROWD, keep="broken", features=None)
        if spends:
            command = changed(command, budget="kept.budget")
        for name, data, needle in cases:
            tester.write("broken", data)
            tester.fails("kept: " + name, INPUT, ["broken", needle], *command)
    tester.write("broken", kept_file(crowd_release(pack, 3), floor=4))
    tester.fails("another floor", USAGE, ["broken", "--floor 4"], *changed(CROWD, keep="broken"))
    tester.write("broken", good)
    tester.succeeds("the file itself is good", *changed(CROWD, keep="broken", out="good.cbor", budget="kept.budget"))
    os.remove(tester.path("broken"))


def test_budgets(tester):
    """The floor of a kept cell is in one budget only."""
    pack = packs(tester)["one"]
    tester.succeeds("somebody's", *changed(CROWD, out="o1.cbor", budget="anna", owner="anna", budget_crowd="80,4,1e-4"))
    again = changed(CROWD, keep="cell")
    tester.fails("of another owner", BUDGET, ["cell", "anna", "--owner"], *changed(again, budget="anna", owner="anna"))
    tester.fails("of a new budget", BUDGET, ["cell", "fresh"], *changed(again, budget="fresh", budget_crowd="80,4,1e-4"))
    tester.write("unpaid", kept_file(crowd_release(pack, 3), owner=bytes(16)))
    tester.fails("never paid", BUDGET, ["unpaid", "kept.budget"], *changed(CROWD, keep="unpaid", budget="kept.budget"))
    tester.fails("no promise", BUDGET, ["kept.budget", "only the floor"],
                 *changed(again, epsilon=None, clusters="0.01", copies="1", budget="kept.budget"))
    tester.succeeds("nothing is counted", *changed(CROWD, keep="unpaid", out="unpaid.cbor"))
    tester.succeeds("small", *changed(CROWD, out="o2.cbor", keep="small", budget="small.budget",
                                      budget_crowd="4000,4,1e-6"))
    small = changed(CROWD, keep="small", budget="small.budget")
    for i in range(100):
        if tester.run(*changed(small, out="small%d.cbor" % i)).returncode != 0:
            break
    tester.check(i < 99, "the crowd's ledger ends")
    tester.fails("crowd spent", BUDGET, ["small.budget", "spent", "0 more"], *small)
    tester.check(amounts(tester, "small.budget")["floor_spent"] == 8 << 20, "the floor was paid once")


def test_places(tester):
    fresh = changed(CROWD, keep="fresh")
    tester.fails("over out", USAGE, ["new.cbor", "the kept cell"], *changed(CROWD, keep="new.cbor"))
    tester.fails("over own-out", USAGE, ["same", "the kept cell"], *changed(CROWD, keep="same", own_out="same"))
    tester.fails("out over a kept cell", USAGE, ["cell", "the kept cell"], *changed(CROWD, keep="cell", out="cell", force=True))
    tester.fails("the pack", INPUT, ["one.pmpk", "no kept cell"], *changed(CROWD, keep="one.pmpk"))
    tester.fails("no folder", OUTPUT, ["nowhere"], *changed(CROWD, keep="nowhere/cell", budget="kept.budget"))
    os.symlink("nothing", tester.path("link"))
    done = tester.run(*changed(CROWD, keep="link"))
    tester.check(done.returncode == OUTPUT and b"link" in done.stderr, "a link to nothing: %s" % done.stderr)
    os.remove(tester.path("link"))
    tester.fails("repeat", USAGE, ["--keep", "--repeat"], *changed(fresh, repeat="2"))
    tester.fails("no crowd", USAGE, ["--keep", "--crowd"], *changed(fresh, crowd=None))
    tester.fails("no features", USAGE, ["--features"], *changed(fresh, features=None))
    tester.fails("bad features", INPUT, ["absent.npy"], *changed(fresh, features="absent.npy", budget="kept.budget"))


# ---- idle ----

def test_idle(tester, schema):
    pack = packs(tester)["one"]
    before = tester.read("kept.budget")
    for cover in (False, True):
        command = idle(out="idle.cbor", repeat="300", force=True, budget="kept.budget",
                       **({"cover": True} if cover else {}))
        told = receipt(tester, schema, "idle", command)
        tester.check((told["bundle"], told["budget"]["releases_left"]) == ("idle", None), told)
        tester.check(tester.read("kept.budget") == before, "nothing is spent")
        bundles = [read_bundle(pack, tester.read(path)) for path in told["releases"]]
        tester.check([len(symbols) for symbols in bundles] == told["messages"], told["messages"])
        # mean 5 fakes of variance 15, and with cover the list of three messages
        mean = np.mean(told["messages"])
        tester.check(abs(mean - (8 if cover else 5)) < 6 * (15 / 300) ** 0.5, "cover %s: %g messages" % (cover, mean))
        tester.check((min(told["messages"]) >= 3) == cover, "without cover a bundle may be empty")
    # a symbol in no other's list comes 113 times, with a standard deviation of 17; the mean of all is 150
    counts = np.bincount([symbol for symbols in bundles for symbol in symbols], minlength=16)
    tester.check(counts.min() > 0.25 * counts.mean(), "all of it is uniform: %s" % counts)
    text = tester.succeeds("in words", *idle(out="words2.cbor", budget="kept.budget")).stdout.decode()
    tester.check("idle" in text and "costs nothing" in text, text)
    tester.succeeds("no class is asked for", *idle(pack="class.pmpk", out="idle2.cbor"))
    tester.succeeds("any budget", *idle(out="idle3.cbor", budget="alone.budget"))
    tester.check(tester.run(*idle(out="idle4.cbor", budget="fresh", budget_crowd="8")).returncode == 0 and
                 not os.path.exists(tester.path("fresh")), "a new budget that pays nothing is not left")
    for option, value in (("features", "query.npy"), ("label", "3"), ("row", "1"), ("keep", "cell"), ("own_out", "o"),
                          ("labels", "query_labels.npy")):
        tester.fails("idle with " + option, USAGE, ["--idle", "--" + option.replace("_", "-")],
                     *idle(out="x.cbor", **{option: value}))
    tester.fails("cover alone", USAGE, ["--cover", "--idle"], *changed(CROWD, cover=True))
    tester.fails("idle without a crowd", USAGE, ["--idle", "--crowd"], *changed(CROWD, crowd=None, features=None, idle=True))


def main():
    with tempfile.TemporaryDirectory() as folder:
        tester, schema = Tester(sys.argv[1], folder), read_schemas()["privatize"]
        make_packs(tester)
        test_kept(tester, schema)
        test_classes(tester, schema)
        test_floor_alone(tester, schema)
        test_bad_files(tester)
        test_budgets(tester)
        test_places(tester)
        test_idle(tester, schema)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return tester.failed > 0


if __name__ == "__main__":
    sys.exit(main())
