"""Tests of `privatemail crowd`: python3 tests/cli/test_crowd.py path/to/privatemail

Plans must keep what they promise, be refused when they cannot, and never show the crowd's promise without the floor and
what it rests on. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import math
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402

from harness import PRIVACY, USAGE, Tester, read_schemas, schema_faults  # noqa: E402

PLAN = ["--cells", 125, "--clients", 100000, "--epsilon", 0.1, "--delta", "1e-6", "--honest", 1]
RELAY = ["--noise", "relay", "--cells", 125, "--epsilon", 0.1, "--delta", "1e-6", "--copies-max", 20]


class Reports:
    def __init__(self, tester):
        self.tester, self.schema = tester, read_schemas()["crowd"]

    def __call__(self, what, *options):
        report = self.tester.json(what, "crowd", *options)
        faults = schema_faults(self.schema, report)
        self.tester.check(not faults, "%s: %s" % (what, faults))
        return report


def test_plans(tester, reports):
    for most, fakes in ((20, 0.36), (8, 0.65)):
        plan = reports("plan", *PLAN, "--copies-max", most)
        tester.check(plan["fakes"] <= fakes and plan["copies"] <= most and plan["needed"], plan)
        tester.check(abs(plan["fakes"] - plan["clusters"] * (plan["copies"] + 1) / 2) < 1e-9, plan)
        tester.check(abs(plan["share"] - (1 + plan["fakes"]) / 125) < 1e-9 and plan["promise"] == "crowd", plan)
        policy = reports("its policy", "--cells", 125, "--clients", 100000, "--delta", "1e-6", "--honest", 1,
                         "--clusters", repr(plan["clusters"]), "--copies", plan["copies"])
        tester.check(0.0999 < policy["epsilon"] <= 0.1, "a plan's policy has its epsilon: %s" % policy)
    default = reports("defaults", "--cells", 125, "--clients", 100000, "--epsilon", 0.1)
    tester.check((default["honest"], default["delta"], default["floor"], default["copies"]) == (0.5, 1e-8, 8, 8), default)
    tester.check(default["by_honest"][1]["epsilon"] <= 0.1 < default["by_honest"][2]["epsilon"], default)
    tester.check(0 < default["mu"] < 0.1, default)
    several = reports("ten queries", *PLAN, "--queries", 10)
    tester.check(several["fakes"] > 5 * default["fakes"] * 0.5, several)


def test_relay(tester, reports):
    plan = reports("relay", *RELAY)
    tester.check(plan["fakes"] <= 35500 and plan["clients"] == 0 == plan["clusters"] and plan["answers"] == 1, plan)
    policy = reports("a relay's policy", "--cells", 125, "--delta", "1e-6", "--relay-clusters",
                     repr(plan["relay_clusters"]), "--copies", plan["copies"])
    tester.check(0.0999 < policy["epsilon"] <= 0.1 and policy["noise"] == "relay", policy)
    text = tester.succeeds("relay in words", "crowd", *RELAY).stdout.decode()
    tester.check("does not join the server" in text and "floor" in text, text)


def test_pack(tester):
    """A pack for a crowd: its cells and lists fit into what may come down, and its plan is that of the command crowd."""
    tester.succeeds("sample", "sample", "--out", "shapes", "--no-images", "--per-class", 240)
    pack = ["pack", "--features", "shapes/public.npy", "--out", "crowd.pmpk", "--force", "--crowd", 100000]
    goal = ["--epsilon", 0.1, "--delta", "1e-6", "--honest", 1, "--copies-max", 20, "--floor", 10]
    built = tester.json("pack", *pack, *goal, "--share", 0.03)
    tester.check(not schema_faults(read_schemas()["pack"], built), "schema: %s" % built)
    crowd, cells, share = built["crowd"], built["cells"], built["share"]
    plan = tester.json("its plan", "crowd", "--clients", 100000, "--cells", cells, *goal)
    tester.check(all(crowd[key] == plan[key] for key in ("clusters", "copies", "fakes", "floor", "delta", "honest")), crowd)
    tester.check(crowd["clients"] == 100000 and crowd["down"] == 0.03 and built["epsilon"] == 0.1, built)
    tester.check(abs(share * (1 + crowd["fakes"]) - 0.03) < 3e-4, "what comes down: %s" % built)
    fakes = crowd["fakes"] / cells
    rule = 0.6 * 0.03 ** -0.3 * (0.1 * fakes + math.exp(-10)) ** -0.6
    tester.check(abs(cells - rule) < 1, "%d cells, by the rule %.1f" % (cells, rule))
    written = tester.read("crowd.pmpk")
    for soft in ([], ["--soft"]):
        tester.succeeds("the same cells", *pack[:-2], "--cells", cells, *soft)
        tester.check((tester.read("crowd.pmpk") == written) == bool(soft), "a crowd's prototypes are soft: %s" % soft)
    least = few_rows(tester) // 36 + 1  # cells of fewer than 36 rows on average
    for count, changes in ((least - 1, False), (least, True)):
        bytes_of = [tester.succeeds("some cells", *pack[:-2], "--cells", count, *soft) and tester.read("crowd.pmpk")
                    for soft in ([], ["--soft"])]
        tester.check((bytes_of[0] != bytes_of[1]) == changes, "%d cells: soft or not" % count)
    done = tester.succeeds("in words", *pack, "--share", 0.03)
    tester.check(b"index --share" in done.stderr and b"fakes per client" in done.stderr, done.stderr)
    default = tester.json("defaults", *pack)
    tester.check([default["crowd"][key] for key in ("honest", "delta", "floor", "copies", "down", "clients")] ==
                 [0.5, 1e-8, 8, 8, 0.02, 50000], default)
    tester.check(default["epsilon"] == 0.1 and default["cells"] < cells, default)
    relay = tester.json("relay", *pack[:-2], "--noise", "relay", *goal[:4], "--copies-max", 20, "--share", 0.03)
    crowd, cells = relay["crowd"], relay["cells"]
    tester.check(not schema_faults(read_schemas()["pack"], relay) and (crowd["noise"], crowd["clients"], crowd["clusters"]) ==
                 ("relay", 0, 0), relay)
    tester.check(cells == round(0.6 * 0.03 ** -0.3 * math.exp(0.6 * 8)), "the floor alone limits the cells: %s" % relay)
    tester.check(relay["share"] == 0.03 == crowd["down"], "nothing comes down for fakes: %s" % relay)
    plan = tester.json("its plan", "crowd", "--noise", "relay", "--cells", cells, *goal[:4], "--copies-max", 20)
    tester.check(all(crowd[key] == plan[key] for key in ("relay_clusters", "copies", "fakes", "noise")), "%s, %s" % (crowd, plan))
    done = tester.succeeds("relay in words", *pack[:-2], "--noise", "relay")
    tester.check(b"whose relay makes the fakes" in done.stderr and b"fakes per epoch" in done.stderr, done.stderr)
    tester.fails("both", USAGE, ["--crowd", "--noise relay"], *pack, "--noise", "relay")
    tester.fails("noise of nobody", USAGE, ["--noise"], *pack, "--noise", "server")
    few = tester.json("few rows", *pack[:-1], 10 ** 9, "--floor", 16)
    tester.check(few["cells"] == few_rows(tester) // 4, "a quarter of the rows: %s" % few)
    floor = tester.json("the floor suffices", *pack, "--epsilon", 8)
    tester.check((floor["crowd"]["fakes"], floor["share"]) == (0, 0.02), floor)
    tester.check(tester.json("no crowd", *pack[:-2])["crowd"] is None, "no crowd")
    tester.fails("too few clients", PRIVACY, ["--crowd"], *pack[:-1], 10)
    for option in ("--own", "--copies", "--clusters", "--relay-clusters"):
        tester.fails(option, USAGE, ["there is no option '%s'" % option], *pack, option, 1)
    for needle, options in (("--crowd", ["--crowd", 0]), ("--crowd", ["--crowd", 2 ** 33]), ("--floor", ["--floor", 17]),
                            ("--floor", ["--floor", "nan"]), ("--honest", ["--honest", 1.5]),
                            ("--delta", ["--delta", 1]), ("--copies-max", ["--copies-max", 65]),
                            ("--epsilon", ["--epsilon", 17]), ("--cells", ["--cells", 50]), ("--share", ["--share", 0.6]),
                            ("--slots", ["--slots", "class", "--labels", "shapes/public_labels.npy"])):
        given = pack[:-2] if needle == "--crowd" else pack
        tester.fails("%s %s" % tuple(options[:2]), USAGE, [needle], *given, *options)
    for option, value in (("--floor", 8), ("--delta", 1e-6), ("--honest", 1), ("--copies-max", 8)):
        tester.fails("%s alone" % option, USAGE, ["--crowd"], *pack[:-2], option, value)


def few_rows(tester):
    return len(np.load(tester.path("shapes/public.npy")))


def test_floor(tester, reports):
    plan = reports("floor suffices", "--cells", 125, "--clients", 1000, "--epsilon", 8)
    tester.check(not plan["needed"] and plan["clusters"] == 0 and plan["promise"] == "floor", plan)
    text = tester.succeeds("in words", "crowd", "--cells", 125, "--clients", 1000, "--epsilon", 8).stdout.decode()
    tester.check("No fakes are needed" in text and "crowd " not in text, text)
    few = reports("few fakes", "--cells", 125, "--clients", 1000, "--clusters", 0.01, "--copies", 8, "--queries", 2)
    tester.check(few["promise"] == "floor" and few["epsilon"] == 16 and few["by_honest"][0]["epsilon"] is None, few)
    text = tester.succeeds("both promises", "crowd", *PLAN).stdout.decode()
    tester.check("if the relay mixes and does not join the server, and at least 100000 clients are honest" in text and
                 "epsilon 8" in text, text)


def test_errors(tester):
    def fails(what, named, *options):
        tester.fails(what, USAGE, [named], "crowd", *options)

    tester.fails("too few clients", PRIVACY, ["--clients"], "crowd", "--cells", 125, "--clients", 1000, "--epsilon", 0.1)
    tester.fails("too small for the relay", PRIVACY, ["--epsilon"], "crowd", "--cells", 1 << 20, "--epsilon", 0.01,
                 "--noise", "relay")
    base = {"--cells": 125, "--clients": 1000, "--epsilon": 0.5}
    wrong = {"--cells": (0, 1, 1048577, "x"), "--clients": (0, 4294967297, -1, "nan"),
             "--epsilon": (0, -1, "nan", "inf", 17), "--delta": (0, 1, -1, "1e-20", "nan"), "--queries": (0, 1048577),
             "--honest": (0, -0.5, 1.5, "1e-9", "nan"), "--own": (0, 9), "--floor": (0, 17, "nan"),
             "--copies-max": (0, 65), "--noise": ("server",)}
    for option, values in wrong.items():
        for value in values:
            options = dict(base, **{option: value})
            fails("%s %s" % (option, value), option, *[word for pair in options.items() for word in pair])
    policy = ["--cells", 125, "--clients", 1000]
    fails("copies", "--copies", *policy, "--clusters", 1, "--copies", 65)
    fails("clusters", "--clusters", *policy, "--clusters", 4.1, "--copies", 8)
    fails("relay clusters", "--relay-clusters", "--cells", 125, "--relay-clusters", 2e7, "--copies", 8)
    fails("no copies", "--copies", *policy, "--clusters", 1)
    fails("plan and policy", "--epsilon", *policy, "--clusters", 1, "--copies", 8, "--epsilon", 1)
    fails("neither", "--epsilon", *policy)
    fails("clients and relay of one policy", "--clusters", "--cells", 125, "--noise", "relay", "--clusters", 1, "--copies", 8)
    fails("clients of a relay", "--clients", *policy, "--epsilon", 1, "--noise", "relay")
    fails("no cells", "--cells", "--clients", 1000, "--epsilon", 1)


def main():
    if len(sys.argv) != 2:
        print("usage: test_crowd.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        reports = Reports(tester)
        test_plans(tester, reports)
        test_relay(tester, reports)
        test_floor(tester, reports)
        test_pack(tester)
        test_errors(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
