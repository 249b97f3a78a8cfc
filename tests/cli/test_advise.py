"""Tests of `privatemail advise`: python3 tests/cli/test_advise.py path/to/privatemail

Every choice has a scenario, every number is computed again from docs/CLI.md and docs/PRIVACY.md, and no advice may promise
more than a ceiling or recommend a message that adds nothing. Ends with 'N passed, N failed'; exits non-zero when something
failed."""
import json
import math
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402

from harness import INPUT, ROOT, USAGE, run_tests, schema_faults  # noqa: E402

CELLS, CANDIDATES, FRAME, SEALED = 65536, 2 ** 20, 64, 160
BASE = {"sketch": 131, "queries": 1, "days": 30, "changes": 0, "found": 0.5, "epsilon": 4}


# ---- the formulas, once more ----

def answer_bytes(items, listed, sketch):
    return FRAME + (listed * (sketch + 1 + math.log(items / listed, 2) / 7) if listed else 0)


def listed(items, room, sketch):
    """The most items that fit, counted one by one from an estimate that is too large."""
    count = min(items, CANDIDATES, int(max(room, 0) / (sketch + 1)) + 1)
    while count > 0 and answer_bytes(items, count, sketch) > room:
        count -= 1
    return count


def ceiling(epsilon, share):
    odds = math.exp(epsilon)
    whole = max(share, 1 / CELLS)
    return min(share * CELLS, 1) * whole * odds / (1 + whole * (odds - 1))


def ways_of(report):
    ways = {way["way"]: way for way in report["alternatives"]}
    ways[report["chosen"]["way"]] = report["chosen"]
    return ways


def near(left, right):
    return abs(left - right) <= 1e-9 * max(1, abs(right))


class Advice:
    def __init__(self, tester, schemas):
        self.tester, self.schema = tester, schemas["advise"]

    def __call__(self, what, items, room, *options):
        report = self.tester.json(what, "advise", "--items", items, "--bytes-down", room, *options)
        faults = schema_faults(self.schema, report)
        self.tester.check(not faults, "%s: %s" % (what, faults))
        given = dict(BASE)
        names = {"--sketch": "sketch", "--queries-per-day": "queries", "--days": "days", "--changes-per-day": "changes",
                 "--found": "found", "--epsilon": "epsilon"}
        given.update({names[key]: value for key, value in zip(options[::2], options[1::2]) if key in names})
        self.hold(what, items, room, given, report)
        return report

    def hold(self, what, items, room, given, report):
        """What must hold of every advice."""
        check, ways = self.tester.check, ways_of(report)
        check(sorted(ways) == ["crowd", "none", "response", "ship"], "%s: four ways: %s" % (what, sorted(ways)))
        check(report["choice"] == report["chosen"]["way"] and report["chosen"]["fits"], "%s: the choice fits" % what)
        ship, response, crowd, none = (ways[name] for name in ("ship", "response", "crowd", "none"))
        self.ship(what, items, room, given, ship)
        fit = min(listed(items, room, given["sketch"]), items // 2)
        check(response["items"] == fit == none["items"], "%s: %d items, not %d" % (what, response["items"], fit))
        check(near(response["bytes"], answer_bytes(items, fit, given["sketch"])), "%s: bytes of an answer" % what)
        check(response["epsilon"] <= given["epsilon"], "%s: epsilon is within what is allowed" % what)
        for way in (response, none):
            share = max(way["share"], way["popular"] or 0)
            check(near(way["share"], fit / items), "%s: share" % what)
            check(near(way["found_most"], ceiling(way["epsilon"], share) if way is response else share),
                  "%s: the ceiling of %s: %s" % (what, way["way"], way))
        if crowd["answers"] is not None:
            share = max(crowd["share"], crowd["popular"] or 0)
            check(near(crowd["found_most"], ceiling(crowd["floor"], share)), "%s: the ceiling of the floor" % what)
            check(crowd["bytes"] <= room * (1 + 1e-9) or crowd["items"] == 0, "%s: bytes of a crowd: %s" % (what, crowd))
            own = listed(items, room / crowd["answers"] - SEALED, given["sketch"])
            check(crowd["items"] == min(own, items // 2), "%s: items in a crowd" % what)
        for way in (response, crowd):
            if way["fits"]:
                self.worth(what, given, way)

    def ship(self, what, items, room, given, ship):
        check, sketch = self.tester.check, given["sketch"]
        change = sketch + 1 + math.log(items, 2) / 7
        once, daily = FRAME + items * (sketch + 1), given["changes"] * change
        per_query = (once / given["days"] + daily) / given["queries"]
        check(near(ship["bytes_once"], once) and near(ship["bytes_daily"], daily) and near(ship["bytes"], per_query),
              "%s: bytes of shipping: %s" % (what, ship))
        most = (given["days"] * (given["queries"] * room - daily) - FRAME) // (sketch + 1)
        check(ship["items_most"] == max(0, int(most)), "%s: %s items can be shipped, not %s" % (what, most, ship["items_most"]))
        has_room = items <= ship["items_most"]
        finds = ship["found"] is None or ship["found"] >= given["found"]
        check(ship["fits"] == (has_room and finds) and ship["epsilon"] == 0, "%s: ship: %s" % (what, ship))
        check(abs(items - most) < 2 or has_room == (per_query <= room), "%s: it fits when it is no more bytes" % what)

    def worth(self, what, given, way):
        """A message that is advised finds enough, and clearly more than none."""
        check = self.tester.check
        if way["found"] is None:
            check(way["found_most"] >= given["found"], "%s: found at most %s" % (what, way["found_most"]))
            check(way["way"] == "crowd" or way["epsilon"] >= 2, "%s: unseen, epsilon %s is too small" % (what, way["epsilon"]))
        else:
            check(way["found"] >= given["found"], "%s: found %s" % (what, way["found"]))
            check(way["found"] - way["popular"] > 3 * way["found_error"], "%s: clearly more than popular: %s" % (what, way))
        check(way["items"] >= 8, "%s: room for the 8 that are looked for" % what)


# ---- scenarios: every choice ----

def test_ship(tester, advice):
    report = advice("small gallery", 20000, 100000)
    tester.check(report["choice"] == "ship" and "22726 items" in report["why"], report["why"])
    tester.check(advice("one more than fits", 22727, 100000)["choice"] == "response", "22727 items do not fit")
    tester.check(advice("the last that fits", 22726, 100000)["choice"] == "ship", "22726 items fit")
    changing = advice("it changes too often", 20000, 100000, "--changes-per-day", 400)
    tester.check(changing["choice"] == "response", changing["why"])
    asking = advice("but many ask", 20000, 100000, "--changes-per-day", 400, "--queries-per-day", 2)
    tester.check(asking["choice"] == "ship", asking["why"])
    hopeless = advice("changes alone take more", 20000, 100000, "--changes-per-day", 1000)
    tester.check(ways_of(hopeless)["ship"]["items_most"] == 0, hopeless["why"])
    tester.check(advice("one day", 20000, 100000, "--days", 1)["choice"] == "response", "one day is too short")
    tester.check(advice("short sketches", 40000, 100000, "--sketch", 32)["choice"] == "ship", "short sketches fit")
    tester.check("room for 2.64 MB" in report["chosen"]["assumption"], report["chosen"]["assumption"])
    for items in (1, 2, 8, 15):
        tester.check(advice("%d items" % items, items, 10000)["choice"] == "ship", "%d items are shipped" % items)
        tester.check(advice("%d items, no room" % items, items, 1, "--users", 1000)["choice"] == "none", "not by one byte")
    short = advice("short sketches, not measured", 40000, 100000, "--sketch", 32)
    tester.check("may lose much" in short["why"] and "lose much" not in report["why"], short["why"])
    both = advice("it is better than a crowd", 20000, 100000, "--users", 10 ** 6)
    tester.check(both["choice"] == "ship" and ways_of(both)["crowd"]["fits"], both["why"])


def test_response(tester, advice):
    report = advice("large gallery", 100000, 400000)
    tester.check(report["choice"] == "response" and report["chosen"]["epsilon"] == 4, report["why"])
    tester.check("no method finds more than 0.629" in report["why"], report["why"])
    low = advice("the least epsilon that may do", 100000, 400000, "--found", 0.15)
    tester.check(low["chosen"]["epsilon"] == 2 and low["choice"] == "response", low["why"])
    for most in (0.5, 1, 1.9):
        few = advice("epsilon %g" % most, 100000, 2000000, "--epsilon", most, "--found", 0.2, "--days", 1)
        response = ways_of(few)["response"]
        tester.check(few["choice"] == "none" and not response["fits"] and response["found_most"] > 0.2,
                     "unseen, nothing is asked at epsilon %g: %s" % (most, few["why"]))
    ten = advice("a larger epsilon", 10 ** 6, 200000, "--epsilon", 10)
    tester.check(ten["choice"] == "response" and ten["chosen"]["epsilon"] == 8, ten["why"])
    odd = advice("between two steps", 10 ** 6, 200000, "--epsilon", 6.75)
    tester.check(odd["choice"] == "response" and odd["chosen"]["epsilon"] == 6.75, odd["why"])


def test_crowd(tester, advice):
    report = advice("a crowd", 100000, 400000, "--users", 50000)
    crowd = report["chosen"]
    tester.check(report["choice"] == "crowd" and (crowd["epsilon"], crowd["delta"], crowd["floor"]) == (0.1, 1e-8, 8), report)
    for text in (crowd["promise"], crowd["assumption"]):
        tester.check("if the relay mixes and does not join the server, and at least 25000 clients are honest" in text, text)
    tester.check("floor" in crowd["promise"] and "8" in crowd["promise"] and "nobody can verify" in crowd["assumption"], crowd)
    plan = tester.json("its plan", "crowd", "--cells", crowd["cells"], "--clients", 50000, "--epsilon", 0.1)
    tester.check(plan["promise"] == "crowd" and near(plan["answers"], crowd["answers"]), "%s, %s" % (plan, crowd))
    fakes = tester.json("few cells", "crowd", "--cells", 2, "--clients", 50000, "--epsilon", 0.1)["fakes"] / 2
    total = listed(100000, 400000, 131) / 100000
    rule = 0.6 * total ** -0.3 * (0.1 * fakes + math.exp(-8)) ** -0.6
    tester.check(abs(crowd["cells"] - rule) <= 1, "%d cells, by the rule %.1f" % (crowd["cells"], rule))
    tester.check("only epsilon 8 is left. Asking alone fits with epsilon 4" in report["why"],
                 "the crowd's floor stands beside what asking alone promises: %s" % report["why"])
    alike = advice("the floor is no worse", 100000, 400000, "--users", 50000, "--floor", 4, "--found", 0.4)
    tester.check(alike["choice"] == "crowd" and ("only epsilon" in alike["why"]) == (ways_of(alike)["response"]["epsilon"] < 4),
                 alike["why"])
    few = advice("five people", 100000, 400000, "--users", 5)
    tester.check(few["choice"] == "response" and "No policy" in ways_of(few)["crowd"]["reason"], few["why"])
    alone = advice("one person", 100000, 400000, "--users", 1)
    tester.check(alone["choice"] == "response" and "No policy" in ways_of(alone)["crowd"]["reason"], alone["why"])
    nobody = advice("nobody's crowd", 100000, 400000)
    tester.check(not ways_of(nobody)["crowd"]["fits"] and "--users" in ways_of(nobody)["crowd"]["reason"], nobody)
    relay = advice("the relay's noise", 100000, 400000, "--noise", "relay")
    tester.check(relay["choice"] == "crowd" and relay["chosen"]["answers"] == 1, relay["why"])
    tester.check("adds its fakes and does not join the server" in relay["chosen"]["assumption"], relay["chosen"])
    honest = advice("all are honest", 100000, 400000, "--users", 50000, "--honest", 1)
    tester.check("50000 clients" in honest["chosen"]["promise"] and honest["chosen"]["answers"] < crowd["answers"], honest)
    low = advice("a low floor", 100000, 400000, "--users", 50000, "--floor", 2, "--found", 0.6)
    tester.check(low["choice"] == "response" and not ways_of(low)["crowd"]["fits"], "the floor bounds what is found: %s" % low)
    larger = advice("fewer people need a larger epsilon", 100000, 400000, "--users", 300, "--found", 0.9)
    tester.check(larger["choice"] == "crowd" and larger["chosen"]["epsilon"] > 0.1, larger["why"])


def test_none(tester, advice):
    report = advice("too few bytes", 10 ** 6, 200000)
    tester.check(report["choice"] == "none" and "6.50" in ways_of(report)["response"]["reason"], report["why"])
    tester.check(near(report["chosen"]["found_most"], 1499 / 10 ** 6) and report["chosen"]["epsilon"] == 0, report)
    tiny = advice("no room for 8", 10 ** 6, 1000, "--epsilon", 16, "--found", 0.01)
    tester.check(tiny["choice"] == "none" and "6 items" in ways_of(tiny)["response"]["reason"], tiny["why"])
    huge = advice("more than all cells list", 10 ** 11, 10 ** 8, "--epsilon", 16, "--found", 0.9)
    tester.check(huge["choice"] == "none" and ways_of(huge)["response"]["found_most"] < 0.5, huge["why"])
    half = advice("a selection is enough", 1000, 60000, "--found", 0.3, "--days", 1)
    tester.check(half["choice"] == "none" and "without a message" in half["why"], half["why"])
    least = advice("one byte", 16, 1, "--sketch", 256)
    tester.check(least["choice"] == "none" and least["chosen"]["items"] == 0, least["why"])
    for none in (least, advice("100 bytes", 100, 100)):
        tester.check("no item fits" in none["why"] and "0 items" not in none["why"], none["why"])
    tester.check("no item fits" not in tiny["why"] and "6 items" in tiny["why"], tiny["why"])


# ---- measured ----

def make_rows(tester):
    """Rows in 400 groups, of which answers bring many; and rows without any order, of which nothing can be found."""
    random = np.random.default_rng(5)
    centres = random.normal(size=(400, 24))
    rows = centres[random.integers(400, size=6000)] + 0.2 * random.normal(size=(6000, 24))
    tester.save("groups.npy", rows.astype("f4"))
    tester.save("chaos.npy", random.normal(size=(3000, 256)).astype("f4"))
    tester.save("few.npy", rows[:399].astype("f4"))


def test_measured(tester, advice):
    make_rows(tester)
    common = ["--days", 1, "--sketch", 18, "--features"]
    report = advice("groups", 100000, 140000, *common, "groups.npy", "--epsilon", 6)
    response = report["chosen"]
    tester.check(report["choice"] == "response" and (report["measured_rows"], report["measured_queries"]) == (3800, 200), report)
    tester.check(response["found"] > 0.5 and "it found 0." in report["why"], report["why"])
    ships = {length: ways_of(advice("the index with %d bytes" % length, 20000, 140000, "--sketch", length, "--features",
                                    "chaos.npy", "--found", 0.7, "--days", 10 ** 4))["ship"] for length in (8, 64, 131)}
    tester.check(ships[8]["found"] < 0.4 < ships[64]["found"] < ships[131]["found"] <= 1 and ships[131]["found"] > 0.9, ships)
    tester.check(not ships[8]["fits"] and "longer --sketch" in ships[8]["reason"] and ships[131]["fits"], ships)
    tester.check(ships[131]["popular"] is None and 0 < ships[131]["found_error"] < 0.05, ships[131])
    split = deal(6000)
    tester.check(split == (200, 2000, 3800), split)
    crowd = advice("groups in a crowd", 100000, 400000, *common, "groups.npy", "--users", 10 ** 6)
    tester.check(crowd["choice"] == "crowd" and crowd["chosen"]["found"] > 0.5, crowd["why"])
    chaos = advice("chaos", 3000, 20000, *common, "chaos.npy", "--found", 0.6, "--epsilon", 2)
    tester.check(chaos["choice"] == "none" and ways_of(chaos)["response"]["found_most"] > 0.6,
                 "the ceiling would allow what the rows do not: %s" % chaos["why"])
    tester.check(chaos["chosen"]["found"] == ways_of(chaos)["response"]["popular"], chaos)
    for epsilon in (0.01, 0.25):
        nothing = advice("epsilon %g" % epsilon, 3000, 140000, "--days", 0.2, "--features", "chaos.npy", "--found", 0.01,
                         "--epsilon", epsilon)
        tester.check(nothing["choice"] == "none" and not ways_of(nothing)["response"]["fits"],
                     "epsilon %g adds nothing to a download: %s" % (epsilon, nothing["why"]))
    done = tester.succeeds("too small a share", "advise", "--items", 10 ** 6, "--bytes-down", 20000, "--features",
                           "groups.npy", "--json")
    report = json.loads(done.stdout)
    tester.check(b"more rows" in done.stderr and report["measured_rows"] == 0, done.stderr)
    tester.check("too few rows" in ways_of(report)["response"]["reason"], report)


def deal(rows):
    queries, public = min(rows // 8, 200), min(rows // 3, 5000)
    return queries, public, min(rows - queries - public, 20000)


def test_bytes(tester, advice):
    """Real indexes and real answers are no longer than the formulas say, and not much shorter."""
    tester.succeeds("sample", "sample", "--out", "shapes", "--no-images", "--classes", 40)
    tester.succeeds("pack", "pack", "--features", "shapes/public.npy", "--cells", 2, "--out", "ship.pmpk")
    tester.succeeds("index", "index", "--pack", "ship.pmpk", "--features", "shapes/gallery.npy", "--cells-per-item", 1,
                    "--store", "sqlite:ship.db")
    tester.succeeds("publish", "publish", "--store", "sqlite:ship.db", "--pack", "ship.pmpk", "--to", "dir:shipped")
    items = len(np.load(tester.path("shapes/gallery.npy")))
    room = FRAME + items * 132
    ship = ways_of(advice("its index", items, room, "--days", 1))["ship"]
    tester.check(ship["fits"] and ship["bytes_once"] == room, ship)
    parts = [path for path in pathlib.Path(tester.path("shipped")).rglob("*") if path.is_file()]
    lists = sum(path.stat().st_size for path in parts if path.stat().st_size > items * 20)
    tester.check(0.95 * room < lists <= room + 2 * FRAME + items, "%d bytes were published, %d foretold" % (lists, room))
    measured = tester.json("answers", "evaluate", "--public", "shapes/public.npy", "--gallery", "shapes/gallery.npy",
                           "--queries", "shapes/queries.npy", "--share", 0.1, "--epsilon", 4, "--releases", 1)
    row = measured["results"][0] if "results" in measured else measured["rows"][0]
    count = round(row["carried"] * items)
    foretold = answer_bytes(items, count, measured["sketch"])
    tester.check(0.97 * foretold < row["bytes_down"] <= foretold, "%s bytes, foretold %s" % (row, foretold))


# ---- words, and what is wrong ----

def test_documents(tester, advice):
    """What the command says of real galleries is what docs/RESULTS.md measured."""
    text = pathlib.Path(ROOT, "docs", "RESULTS.md").read_text()
    cells = re.findall(r"\d\.\d\d / (\d\.\d\d) \((\d\.\d\d)\)", text[text.index("## What ε and f give"):][:9000])
    found = [float(value) / float(most) for value, most in cells if float(most) > 0.25]
    tester.check(len(found) > 30 and 0.5 <= min(found) < 0.6, "the least share of a ceiling: %s" % min(found))
    tester.check("half of such a ceiling or more" in advice("words", 100000, 400000)["why"], "it is said")
    crowd = advice("words of a crowd", 100000, 400000, "--users", 50000)["why"]
    tester.check("half of such a ceiling or more" in crowd, crowd)


def test_text(tester):
    for options in ([], ["--users", 50000], ["--noise", "relay"]):
        text = tester.succeeds("in words", "advise", "--items", 100000, "--bytes-down", 400000, *options).stdout.decode()
        tester.check(all(word in text for word in ("choice", "promise", "assumes", "ship:", "none:", "at most")), text)
        if options:
            tester.check("only the floor holds" in text and "nobody can verify" in text, text)


def test_bad_options(tester):
    good = ["--items", 100000, "--bytes-down", 400000]
    tester.fails("nothing", USAGE, ["--items"], "advise")
    tester.fails("no bytes", USAGE, ["--bytes-down"], "advise", "--items", 5000)
    for option, values in (("--items", (0, -1, "1e5", 10 ** 12 + 1)), ("--bytes-down", (0, 10 ** 12 + 1))):
        for value in values:
            given = [value if before == option else word for before, word in zip([None] + good, good)]
            tester.fails("%s %s" % (option, value), USAGE, [option], "advise", *given)
    for option, values in (("--sketch", (7, 257)), ("--changes-per-day", (-1, "nan", 1e13)), ("--queries-per-day", (0, "inf")),
                           ("--days", (0, 1e9)), ("--found", (0, 1, "nan")), ("--epsilon", (0, 17, "nan")),
                           ("--threads", (0, 257)), ("--delta", (0, 1)), ("--crowd-epsilon", (0, 17))):
        for value in values:
            tester.fails("%s %s" % (option, value), USAGE, [option], "advise", *good, option, value)
    zero = tester.fails("no threads", USAGE, ["--threads must not be 0", "default"], "advise", *good, "--threads", 0)
    tester.check(b"must be 0" not in zero.stderr, "0 is not one of the values: %s" % zero.stderr)
    for option, value in (("--users", 0), ("--users", 2 ** 33), ("--floor", 17), ("--honest", 0), ("--copies-max", 65),
                          ("--noise", "server")):
        crowd = [] if option in ("--users", "--noise") else ["--users", 1000]
        tester.fails("%s %s" % (option, value), USAGE, [option], "advise", *good, *crowd, option, value)
    tester.fails("the floor is less", USAGE, ["--crowd-epsilon", "--floor"], "advise", *good, "--users", 50000, "--floor", 1)
    tester.fails("a floor of nobody", USAGE, ["--users"], "advise", *good, "--floor", 4)
    tester.fails("both", USAGE, ["--users", "--noise relay"], "advise", *good, "--users", 9, "--noise", "relay")
    tester.fails("own messages", USAGE, ["there is no option '--own'"], "advise", *good, "--own", 2)
    tester.fails("no file", INPUT, ["absent.npy"], "advise", *good, "--features", "absent.npy")
    tester.fails("few rows", INPUT, ["few.npy", "400"], "advise", *good, "--features", "few.npy")
    with open("/dev/full", "w") as full:
        done = subprocess.run([tester.program, "advise"] + [str(word) for word in good], stdout=full, stderr=subprocess.PIPE)
    tester.check(done.returncode == 4, "a full disk: %d" % done.returncode)


def tests(tester, schemas):
    advice = Advice(tester, schemas)
    for test in (test_ship, test_response, test_crowd, test_none, test_measured, test_bytes, test_documents):
        test(tester, advice)
    test_text(tester)
    test_bad_options(tester)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_advise.py path/to/privatemail")
    run_tests(tests)
