"""Tests of `privatemail evaluate`: python3 tests/cli/test_evaluate.py path/to/privatemail

Needs numpy and cbor2. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from harness import INPUT, OWN, PRIVACY, USAGE, Tester, read_schemas, schema_faults  # noqa: E402
from reference_crowd import public_list  # noqa: E402
from reference_fronts import random_kernels, random_matrix  # noqa: E402
from reference_store import read_gallery  # noqa: E402
from reference_server import (DevicePack, ServerPack, first_ranked, inverse_norm, quantise_rows, scores_of,  # noqa: E402
                              sketch_rows, sketch_scores, write_slots)

TOP = 8
PARTS = ("public", "gallery", "queries")
FILES = [word for part in PARTS for word in ("--" + part, part + ".npy")]
LABELS = [word for part in PARTS for word in ("--%s-labels" % part, part + "_labels.npy")]
ONE = [*FILES, *LABELS]


# The same in Python: from the stores that index makes ---------------------------------------------------------------

class Truth:
    def __init__(self, tester):
        self.features = {part: np.load(tester.path(part + ".npy")).astype(float) for part in PARTS}
        self.labels = {part: np.load(tester.path(part + "_labels.npy")) for part in PARTS}
        unit = {part: rows / np.linalg.norm(rows, axis=1, keepdims=True) for part, rows in self.features.items()}
        self.nearest = np.argsort(-(unit["queries"] @ unit["gallery"].T), axis=1, kind="stable")[:, :TOP]
        to_public = np.argsort(-(unit["queries"] @ unit["public"].T), axis=1, kind="stable")[:, :TOP]
        self.guesses = []
        for row in self.labels["public"][to_public].tolist():
            self.guesses.append(max(row, key=lambda label: (row.count(label), -row.index(label))))

    def popular(self):
        """The gallery, those first that most of it and of the public rows have among their nearest (SPEC 6.5, without
        cells)."""
        rows = quantise_rows(self.features["gallery"].astype("f4"))
        norms = np.array([inverse_norm(row.tolist()) for row in rows])
        scores = scores_of(rows, rows, norms)
        np.fill_diagonal(scores, 1 << 62)  # first among its own nearest: its vote for itself
        votes = np.zeros(len(rows), np.int64)
        for rank, named in enumerate(first_ranked(scores, 17).T):
            np.add.at(votes, named, 232792560 // (rank + 4))
        for rank, named in enumerate(first_ranked(scores_of(quantise_rows(self.features["public"].astype("f4")), rows, norms), 16).T):
            np.add.at(votes, named, 232792560 // (rank + 4))
        return np.argsort(-votes, kind="stable")

    def index(self, tester, cells, share, *options, epsilon=None, queries="queries.npy", listing=("--voters", "public.npy"),
              asking=(), mapped=None):
        """Own cells of the queries, lists and sketches of the gallery, for one slot. Options of the pack, of the gallery's
        index and of the queries'. The cells are chosen for the share and this ε, or given. mapped: rows of queries and gallery
        behind fronts."""
        tester.succeeds("pack", "pack", "--features", "public.npy",
                        *(["--epsilon", epsilon, "--share", share] if epsilon else ["--cells", cells]), *options, "--out", "p.pmpk", "--force")
        tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", "gallery.npy", "--share", share,
                        "--store", "sqlite:gallery.store", "--force", *listing)
        tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", queries,
                        *OWN, "--store", "sqlite:queries.store", "--force", *asking)
        items, listed = read_gallery(tester.path("gallery.store"), tester.read("p.pmpk"))
        _, own = read_gallery(tester.path("queries.store"), tester.read("p.pmpk"))
        self.lists = [[item for _, cell, item in listed if cell == which] for which in range(cells)]
        self.own = {item: cell for _, cell, item in own}
        self.pack = ServerPack(tester.read("p.pmpk"))
        asked, gallery = mapped or [quantise_rows(self.features[part].astype("f4")) for part in ("queries", "gallery")]
        self.sketches = np.array([np.frombuffer(items[item][3], "u1" if self.pack.code else "i1") for item in sorted(items)])
        tester.check((self.sketches == sketch_rows(self.pack, gallery)).all(), "the store's sketches are the reference's")
        self.scores = sketch_scores(self.pack, asked, self.sketches.astype(np.int64))
        self.whole = scores_of(asked, gallery, np.array([inverse_norm(row.tolist()) for row in gallery]))

    def ranked(self, query, items):
        """By sketches, as the device ranks an answer."""
        return sorted(items, key=lambda item: (-self.scores[query, item], item))

    def ranked_whole(self, query, items):
        """By whole rows, as the device ranks a download."""
        return sorted(items, key=lambda item: (-self.whole[query, item], item))

    def answer_bytes(self, cell):
        """Bytes of the answer that lists a cell; evaluate gives items their classes."""
        listed = [(item, int(self.labels["gallery"][item]), self.sketches[item].tolist(), b"") for item in sorted(self.lists[cell])]
        return len(write_slots(self.pack, len(self.sketches), [listed]))

    def chances(self, query, carried):
        """Of every item, best first: the item, and the chance that it is among the best TOP of `carried` random items."""
        count = self.whole.shape[1]
        all_sets = math.comb(count, carried)
        return [(item, sum(math.comb(before, k) * math.comb(count - 1 - before, carried - 1 - k)
                           for k in range(min(TOP, before + 1))) / all_sets)
                for before, item in enumerate(self.ranked_whole(query, range(count)))]

    def baseline(self, query, carried):
        """Expected recall of the best TOP of `carried` random items."""
        nearest = set(self.nearest[query])
        return sum(chance for item, chance in self.chances(query, carried) if item in nearest) / len(nearest)


def curve(epsilon, share):
    return share * math.exp(epsilon) / (1 + share * math.expm1(epsilon))


# Tests --------------------------------------------------------------------------------------------------------------

def make_data(tester):
    tester.succeeds("sample", "sample", "--out", "shapes", "--no-images", "--per-class", "110", "--classes", "10")
    for part in PARTS:
        for name in (part + ".npy", part + "_labels.npy"):
            os.rename(tester.path("shapes/" + name), tester.path(name))
    for name in ("features", "labels"):  # two queries a class are few: some of the gallery become queries
        end = ".npy" if name == "features" else "_labels.npy"
        gallery, queries = np.load(tester.path("gallery" + end)), np.load(tester.path("queries" + end))
        tester.save("queries" + end, np.concatenate([queries, gallery[-40:]]))
        tester.save("gallery" + end, gallery[:-40])


def check_schema(tester, what, report):
    faults = schema_faults(read_schemas()["evaluate"], report)
    tester.check(not faults, "%s: %s" % (what, faults))
    for row in report["rows"]:
        tester.check(math.isclose(row["curve"], curve(row["epsilon"], row["carried"]), rel_tol=1e-9),
                     "%s: curve of %s" % (what, row))
        tester.check(math.isclose(row["ceiling_popular"], curve(row["epsilon"], row["popular"]), rel_tol=1e-9),
                     "%s: ceiling of %s" % (what, row))
        tester.check(row["instance_recall"] <= row["carried_recall"] + 1e-12 and 0 <= row["instance_recall_se"] < 0.2,
                     "%s: nothing is found that was not carried: %s" % (what, row))


def test_sample_gallery(tester):
    """Without files, without options about them."""
    report = tester.json("sample", "evaluate", "--slots", "class", "--epsilon", "2,8", "--share", "0.01,0.05,0.1",
                         "--releases", "1")
    check_schema(tester, "sample", report)
    tester.check(report["skipped"] == [0.01] and (report["gallery"], report["slots"]) == (2400, 20), "sample: data")
    tester.check([(row["epsilon"], row["share"]) for row in report["rows"]] ==
                 [(e, s) for e in (2, 8) for s in (0.05, 0.1)], "sample: rows")
    for row in report["rows"]:
        tester.check(math.isclose(row["carried"], round(row["share"] * 120) / 120), "sample: carried %g" % row["carried"])
    for low, high in zip(report["rows"][:2], report["rows"][2:]):
        tester.check(high["carried_recall"] > low["carried_recall"] + 3 * low["carried_recall_se"], "more for more ε")


def test_figures(tester, truth):
    """At ε = 16 noise is as good as gone, so every figure but the baseline is known."""
    found = [figures_of(tester, truth, *words) for words in (
        ((), ()), (("--plain-sketches",), ("--plain-sketches",)), (("--gallery", "gallery.npy"), ("--with-gallery",)), (("--refine", "0"), ("--refine", "0")),
        (("--refine", "1", "--gallery", "gallery.npy"), ("--refine", "1", "--with-gallery")))]
    tester.check(len({pack for *_, pack in found}) == len(found), "each is another pack")


def figures_of(tester, truth, packed, measured):
    """Checks the figures of packs that `pack` builds with some options, and evaluate with others."""
    share, cells, queries = 0.07, 114, len(truth.features["queries"])
    truth.index(tester, cells, share, *packed, epsilon=16)
    report = tester.json("figures", "evaluate", *ONE, "--epsilon", "16", "--share", share, "--releases", "3",
                         "--threads", "2", *measured)
    check_schema(tester, "figures", report)
    row, count = report["rows"][0], len(truth.features["gallery"])
    carried = math.floor(share * count + 0.5)
    tester.check(row["cells"] == cells and math.isclose(row["carried"], carried / count), "cells %s" % row)
    tester.check(all(len(items) == carried for items in truth.lists), "every list is of that size")
    reached, found, classes, precise = [], [], [], []
    for query in range(queries):
        items = truth.lists[truth.own[query]]
        best = truth.ranked(query, items)[:TOP]
        right = [truth.labels["gallery"][item] == truth.labels["queries"][query] for item in best]
        reached.append(np.isin(truth.nearest[query], items).mean())
        found.append(np.isin(truth.nearest[query], best).mean())
        classes.append(any(right))
        precise.append(np.mean(right))
    for name, values in (("carried_recall", reached), ("instance_recall", found), ("class_recall", classes),
                         ("precision", precise)):
        error = np.std(values, ddof=1) / math.sqrt(queries)
        tester.check(abs(row[name] - np.mean(values)) < 0.006 and abs(row[name + "_se"] - error) < 0.006,
                     "%s: %g, not %g" % (name, row[name], np.mean(values)))
    expected = np.mean([truth.baseline(query, carried) for query in range(queries)])
    # six standard errors of 180 draws, which need not be those of this sample
    tester.check(abs(row["baseline"] - expected) < 0.04 and 0 < row["baseline_se"] < 0.04,
                 "baseline: %g +- %g, not %g" % (row["baseline"], row["baseline_se"], expected))
    same = truth.popular()[:carried].tolist()
    expected = np.mean([np.isin(truth.nearest[query], truth.ranked_whole(query, same)[:TOP]).mean() for query in range(queries)])
    tester.check(math.isclose(row["popular"], expected, rel_tol=1e-9) and row["popular_se"] > 0,
                 "popular: %g, not %g" % (row["popular"], expected))
    up = tester.json("inspect", "inspect", "p.pmpk")["table"][0]["response_bytes"]
    tester.check(row["bytes_up"] == up and row["queries"] == queries and row["releases"] == 3, "bytes: %s" % row)
    size = np.mean([truth.answer_bytes(truth.own[query]) for query in range(queries)])
    tester.check(report["sketch"] == truth.pack.L and abs(row["bytes_down"] - size) < 1, "bytes down: %g, not %g" % (row["bytes_down"], size))
    tester.check(report["voters"] == len(truth.features["public"]), "public rows vote")
    return row["carried_recall"], row["instance_recall"], tester.read("p.pmpk")


def test_noise(tester, truth):
    """Recall at a small ε: the right list with probability p, another one otherwise."""
    share, epsilon, cells = 0.1, 2.0, 5  # 0.55·(0.1·e²)^0.37/0.1
    truth.index(tester, cells, share, epsilon=epsilon)
    keep = math.exp(epsilon) / (math.exp(epsilon) + cells - 1)
    expected = []
    for query, nearest in enumerate(truth.nearest):
        reached = [np.isin(nearest, items).mean() for items in truth.lists]
        own = reached[truth.own[query]]
        expected.append(keep * own + (1 - keep) * (sum(reached) - own) / (cells - 1))
    row = tester.json("noise", "evaluate", *ONE, "--epsilon", epsilon, "--share", share, "--releases", "40")["rows"][0]
    tester.check(row["cells"] == cells, "cells %s" % row["cells"])
    tester.check(abs(row["carried_recall"] - np.mean(expected)) < 0.03,
                 "ε = 2: %g, not %g" % (row["carried_recall"], np.mean(expected)))


def test_crowd_slots(tester, rows, slots=10, share=0.4):
    """The rule of a crowd for one of G·m symbols: G times as many fakes and wrong draws per cell of a slot."""
    ask = ["evaluate", *ONE, "--slots", "class", "--epsilon", "1", "--share", share, "--releases", "1", "--delta", "1e-6"]

    def cells(total, fakes, floor):
        rule = 0.6 * total ** -0.3 * (slots * (0.1 * fakes + math.exp(-floor))) ** -0.6
        return max(2, math.floor(min(rule, rows / slots / 4) + 0.5))

    for floor in (5, 6, 12):
        row = tester.json("auto of slots", *ask, "--noise", "relay", "--floor", floor)["rows"][0]
        tester.check(row["cells"] == cells(share, 0, floor), "floor %d, %d rows: %s" % (floor, rows, row))
    row = tester.json("auto of slots", *ask, "--crowd", "5000", "--honest", "1", "--floor", "7")["rows"][0]
    fakes = row["fakes"] / (slots * row["cells"])
    total = share * (1 + row["fakes"])
    tester.check(row["cells"] == cells(total, fakes, 7) < cells(total, 0, 7), "clients' fakes: %s" % row)


def ask_again(tester, what, command, figures, near):
    """A report whose rows have these figures, or the third. At a floor or ε of 16 a draw misses its cell once in 200,000:
    about one report in 250 is off by that, and hardly three."""
    for _ in range(3):
        report = tester.json(what, *command)
        if all(row[name] is None or abs(row[name] - value) < near for row in report["rows"] for name, value in figures.items()):
            break
    return report


def test_crowd(tester, truth):
    """At a floor of 16 the true cell is sent, so what is found is known; fakes only add to what comes down."""
    cells, own, share, count = 40, 2, 0.14, len(truth.features["gallery"])
    truth.index(tester, cells, share / own, "--soft")
    pack, reached, found = DevicePack(tester.read("p.pmpk")), [], []
    for query, nearest in enumerate(truth.nearest):
        items = set().union(*(truth.lists[cell] for cell in public_list(pack, truth.own[query], own)))
        reached.append(np.isin(nearest, list(items)).mean())
        found.append(np.isin(nearest, truth.ranked(query, items)[:TOP]).mean())
    listed = len(truth.lists[0]) / count
    common = ["evaluate", *ONE, "--epsilon", "1,0.5", "--share", share, "--own", own, "--cells", cells, "--floor", "16",
              "--delta", "1e-6"]
    figures = {"carried_recall": np.mean(reached), "instance_recall": np.mean(found)}
    relay = ask_again(tester, "relay", [*common, "--noise", "relay"], figures, 0.001)
    clients = ask_again(tester, "clients", [*common, "--crowd", "600", "--honest", "1"], figures, 0.001)
    for what, report in (("relay", relay), ("clients", clients)):
        check_schema(tester, what, report)
        for row in report["rows"]:
            plan = tester.json("plan", "crowd", "--cells", cells, "--epsilon", row["epsilon"], "--delta", "1e-6", "--own",
                               own, "--floor", "16", *(["--noise", "relay"] if what == "relay" else
                                                       ["--clients", "600", "--honest", "1"]))
            tester.check(all(row[key] == plan[key] for key in ("fakes", "clusters", "copies", "clients", "floor")) and
                         row["own_messages"] == own and "if the relay mixes" in row["assumption"], "%s: %s" % (plan, row))
            for name, value in figures.items():
                tester.check(abs(row[name] - value) < 0.001, "%s, %s: %g, not %g" % (what, name, row[name], value))
            messages = own + (row["fakes"] if what == "clients" else 0)
            tester.check(abs(row["carried"] / listed - row["bytes_up"] / 26) < 1e-9, "answers to all messages: %s" % row)
            spread = 0 if what == "relay" else (row["clusters"] * (row["copies"] + 1) * (2 * row["copies"] + 1) / 6 / (
                4 * row["queries"])) ** 0.5
            tester.check(abs(row["carried"] / listed - messages) <= 6 * spread + 1e-9, "%s: %g messages, not %g" % (
                what, row["carried"] / listed, messages))
            local = row["local"]
            tester.check(abs(local["carried"] - min(0.5, row["carried"])) < 1 / count and
                         local["carried_recall"] < row["carried_recall"] - 0.2, "%s: response alone: %s" % (what, local))
    auto = tester.json("auto", "evaluate", *ONE, "--crowd", "100000", "--share", "0.1", "--releases", "1")
    check_schema(tester, "auto", auto)
    tester.check([row["epsilon"] for row in auto["rows"]] == [0.1, 0.5, 1] and auto["delta"] == 1e-8 and
                 auto["rows"][0]["cells"] <= auto["rows"][2]["cells"], "defaults: %s" % auto["rows"])
    flat = tester.json("classes", "evaluate", *ONE, "--slots", "class", "--cells", "4", "--noise", "relay", "--epsilon", "1",
                       "--share", "0.4", "--releases", "1", "--floor", "16")["rows"][0]
    whole = tester.json("classes", "evaluate", *ONE, "--slots", "class", "--cells", "4", "--epsilon", "16",
                        "--share", "0.4", "--releases", "1", "--soft")["rows"][0]
    # One of 60 draws may miss its cell: that comes once in 4,000 runs.
    tester.check(abs(flat["carried_recall"] - whole["carried_recall"]) < 0.018 and
                 math.isclose(flat["carried"] * 10, whole["carried"], rel_tol=0.05), "one slot of ten: %s %s" % (flat, whole))
    test_crowd_slots(tester, len(truth.features["public"]))
    text = tester.succeeds("text", *common, "--crowd", "2000", "--releases", "1").stdout.decode()
    tester.check("if the relay mixes and does not join the server, and at least 1000 clients are honest" in text and
                 "floor" in text and "local" in text, text)
    some = ["evaluate", *ONE, "--crowd", "1000"]
    for what, words in (("gaussian", ["--mechanism", "gaussian"]), ("own cells", ["--cells-per-item", "1"]),
                        ("taken", ["--clusters", "1", "--copies", "2"]),
                        ("own", ["--own", "9"]), ("copies", ["--copies-max", "65"]), ("delta", ["--delta", "2"]),
                        ("honest", ["--honest", "0"]), ("floor", ["--floor", "nan"]),
                        ("more own than cells", ["--own", "5", "--cells", "4"])):
        tester.fails(what, USAGE, [], *some, *words)
    tester.fails("no crowd", USAGE, ["--crowd"], "evaluate", *ONE, "--floor", "8")
    tester.fails("huge", USAGE, ["--crowd"], "evaluate", *ONE, "--crowd", "4294967297")
    tester.fails("no plan", PRIVACY, ["--crowd"], "evaluate", *ONE, "--crowd", "10", "--epsilon", "0.01")


FRONTS = ["--front", "image=image.pmfr", "--front", "text=text.pmfr"]


def expect_fronts(truth, count):
    """Figures at an ε without noise, after truth.index; `count` items are carried."""
    same = truth.labels["queries"][:, None] == truth.labels["gallery"][None]
    best = [truth.ranked(query, truth.lists[truth.own[query]])[:TOP] for query in range(len(same))]
    return {"carried_recall": np.mean([np.isin(near, truth.lists[truth.own[i]]).mean() for i, near in enumerate(truth.nearest)]),
            "instance_recall": np.mean([np.isin(near, best[i]).mean() for i, near in enumerate(truth.nearest)]),
            "original_recall": np.mean([np.isin(near, best[i]).mean() for i, near in enumerate(truth.original)]),
            "precision_at_8": np.mean([same[i, best[i]].sum() / TOP for i in range(len(same))]),
            "exact_precision_at_8": np.mean([same[i, truth.nearest[i]].mean() for i in range(len(same))]),
            "random_precision_at_8": np.mean([sum(chance for item, chance in truth.chances(i, count) if same[i, item]) / TOP
                                              for i in range(len(same))])}


def test_fronts(tester, truth):
    """One modality asks for another or for itself, public rows vote: every figure is known where there is no noise."""
    source = np.random.default_rng(23)
    project = source.standard_normal((160, 7)) / 10
    words = {part: np.exp(rows @ project).astype("f4") for part, rows in truth.features.items()}
    fronts = {"image": random_matrix(source, 160, 24), "text": random_kernels(source, 7, 24, 40)}
    for name, front in fronts.items():
        tester.write(name + ".pmfr", front.file())
    for part, rows in words.items():
        tester.save("words_%s.npy" % part, rows)
    mapped = fronts["image"].rows(truth.features["gallery"].astype("f4"))
    gallery = mapped.astype(float)
    share, cells, keep = 0.07, 30, (truth.nearest, len(truth.features["gallery"]))
    carried = math.floor(share * keep[1] + 0.5)
    voters = ["--voters", "words_public.npy"]
    for ask, queries, asked in (("text", "words_queries.npy", fronts["text"].rows(words["queries"])),
                                ("image", "queries.npy", fronts["image"].rows(truth.features["queries"].astype("f4")))):
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (asked.astype(float), gallery)]
        truth.original = keep[0]
        truth.nearest = np.argsort(-(unit[0] @ unit[1].T), axis=1, kind="stable")[:, :TOP]
        given = [*FRONTS, "--with", "text=words_public.npy"]
        for vote in (False, True):
            truth.index(tester, cells, share, *given, queries=queries, asking=["--modality", ask], mapped=(asked, mapped),
                        listing=[*voters, "--voters-modality", "text"] if vote else [])
            right = expect_fronts(truth, carried)
            drawn = {name: value for name, value in right.items() if not name.startswith("random")}
            report = ask_again(tester, "fronts", ["evaluate", *ONE[:5], queries, *LABELS, *given, "--ask", ask, "--epsilon", "16",
                                                  "--cells", cells, "--share", share, "--releases", "4",
                                                  *(voters + ["--voters-modality", "text"] if vote else ["--voters", "none"])],
                               drawn, 0.003)
            check_schema(tester, "fronts", report)
            row = report["rows"][0]
            tester.check((report["ask"], report["modality"], report["dimensions"], report["voters"]) ==
                         (ask, "image", 24, len(words["public"]) if vote else 0), "fronts: %s" % report)
            for name, value in right.items():
                if name == "original_recall" and ask == "text":
                    tester.check(row[name] is None, "nothing to compare words with")
                    continue
                near = 0.05 if name.startswith("random") else 0.003
                tester.check(abs(row[name] - value) < near, "%s asks, %s: %g, not %g" % (ask, name, row[name], value))
    truth.nearest = keep[0]
    none = tester.json("no fronts", "evaluate", *ONE, "--epsilon", "16", "--share", share)
    tester.check(none["rows"][0]["original_recall"] == none["rows"][0]["instance_recall"] and none["ask"] is None,
                 "without fronts both are the same")
    swapped = tester.json("public words", "evaluate", "--public", "words_public.npy", *ONE[2:5], "words_queries.npy", *LABELS, *FRONTS,
                          "--public-modality", "text", "--ask", "text", "--epsilon", "16", "--share", share)
    check_schema(tester, "public words", swapped)
    tester.check((swapped["modality"], swapped["ask"]) == ("image", "text"), "public words: %s" % swapped)
    tester.fails("public words: pictures", INPUT, ["public.npy", "text"], "evaluate", *ONE, *FRONTS, "--public-modality", "text")
    crowd = tester.json("crowd", "evaluate", *ONE[:5], "words_queries.npy", *LABELS, *given, "--ask", "text", *voters, "--crowd",
                        "100000", "--epsilon", "1", "--share", "0.1", "--releases", "1")
    check_schema(tester, "crowd of words", crowd)
    guessed = tester.json("guessed", "evaluate", *ONE[:5], "words_queries.npy", *LABELS, *given, "--ask", "text", "--slots",
                          "class", "--class-from", "predicted", "--epsilon", "8", "--share", "0.4", "--releases", "1", *voters,
                          "--voters-labels", "public_labels.npy")
    check_schema(tester, "classes of words", guessed)
    text = tester.succeeds("text", "evaluate", *ONE[:5], "words_queries.npy", *LABELS, *given, "--ask", "text", "--epsilon", "8",
                           "--share", "0.1").stdout.decode()
    tester.check("text asks for image" in text and "precision@8" in text, text)
    for what, code, needles, words in (("ask", USAGE, ["sound"], [*FRONTS, "--ask", "sound"]),
                                       ("no fronts", USAGE, ["text", "--front"], ["--ask", "text"]),
                                       ("narrow", INPUT, ["queries.npy", "text", "7"], [*FRONTS, "--ask", "text"]),
                                       ("own lists", USAGE, ["--voters"], ["--voters", "public.npy", "--cells-per-item", "1"]),
                                       ("no voters of these", USAGE, ["--voters"], ["--voters", "none", "--voters-modality", "text"]),
                                       ("gallery and classes", USAGE, ["--with-gallery"], ["--with-gallery", "--slots", "class"]),
                                       ("rows of the gallery", USAGE, ["--with-gallery"],
                                        ["--with-gallery", "--rows-per-prototype", "1"]),
                                       ("refine", USAGE, ["--refine", "64"], ["--refine", "65"]),
                                       ("no voters", USAGE, ["--voters"], ["--voters-labels", "public_labels.npy"]),
                                       ("damaged", INPUT, ["gallery.npy"], ["--front", "image=gallery.npy"])):
        tester.fails("fronts: " + what, code, needles, "evaluate", *ONE, *words)
    tester.fails("a sample with fronts", USAGE, ["--front"], "evaluate", "--front", "image=image.pmfr")


def test_codes(tester, few, standard):
    """Codes that follow the rows keep neighbours; random ones do not. Noise comes on top of both."""
    def row(*words):
        return tester.json("codes", "evaluate", *ONE, *few, "--mechanism", "gaussian", "--delta", "1e-6", *words)["rows"][0]

    kept = {kind: row("--codes", kind, "--dims", 6)["carried_without_noise"] for kind in ("pca", "spectral", "random")}
    tester.check(kept["pca"] > 0.8 and kept["spectral"] > 0.6 and kept["random"] < 0.6, "neighbours are kept: %s" % kept)
    same = row("--codes", "pca", "--iterations", 0, "--neighbours", 10)
    tester.check(same["carried_without_noise"] == standard["rows"][0]["carried_without_noise"] >= same["carried_recall"],
                 "the default is pca without iterations, and noise takes some of it: %s" % same)
    response = tester.json("response", "evaluate", *ONE, *few)["rows"][0]
    tester.check(response["carried_without_noise"] is None, "response has no row")


def test_kinds(tester, truth):
    """Everything that can be chosen."""
    few = ["--epsilon", "16", "--share", "0.1", "--releases", "1"]
    for what, words in (("own", ["--cells-per-item", "1"]), ("two", ["--cells-per-item", "2"])):
        report = tester.json(what, "evaluate", *ONE, *few, *words)
        check_schema(tester, what, report)
        row = report["rows"][0]
        tester.check(row["cells"] == 10 * (1 + (what == "two")) and 0.05 < row["carried"] < 0.2 and
                     report["lists"] == "own", "%s: %s" % (what, row))
    report = tester.json("cells", "evaluate", *ONE, *few, "--cells", "3", "--sketch", "64", "--seed", "7")
    tester.check(report["rows"][0]["cells"] == 3 and (report["sketch"], report["seed"]) == (64, 7), "cells, sketch, seed")
    few_means = tester.json("means", "evaluate", *ONE, *few, "--cells", "50", "--rows-per-prototype", "100")["rows"][0]
    rows = tester.json("rows", "evaluate", *ONE, *few, "--cells", "50", "--rows-per-prototype", "1")["rows"][0]
    tester.check(few_means["carried_recall"] < rows["carried_recall"] - 0.2, "means of 100 rows leave 3 cells: %g, %g" %
                 (few_means["carried_recall"], rows["carried_recall"]))
    tester.save("lonely.npy", np.where(np.arange(len(truth.labels["public"])) == 5, 999, truth.labels["public"]))
    lonely = [word if word != "public_labels.npy" else "lonely.npy" for word in (*FILES, *LABELS)]
    report = tester.json("a class of one row", "evaluate", *lonely, *few, "--slots", "class")
    tester.check(report["slots"] == 11, "evaluate takes a class of one row")
    unlabelled = tester.json("no labels", "evaluate", *FILES, *few)
    check_schema(tester, "no labels", unlabelled)
    tester.check(unlabelled["slot_kind"] == "one" and
                 all(unlabelled["rows"][0][name] is None for name in ("class_recall", "precision", "in_class_gain")),
                 "no labels: no classes")
    gaussian = tester.json("gaussian", "evaluate", *ONE, *few, "--mechanism", "gaussian", "--delta", "1e-6")
    check_schema(tester, "gaussian", gaussian)
    count = len(truth.features["gallery"])
    tester.check(gaussian["rows"][0]["cells"] is None and gaussian["delta"] == 1e-6 and
                 math.isclose(gaussian["rows"][0]["carried"], math.floor(0.1 * count + 0.5) / count), "gaussian: %s" % gaussian)
    test_codes(tester, few, gaussian)


def test_classes(tester, truth):
    """Slots by class: a true class finds its class always, a guess as often as it is right."""
    few, by_class = [*FILES, *LABELS, "--epsilon", "16", "--share", "0.25", "--releases", "1"], ["--slots", "class"]
    known = tester.json("true", "evaluate", *few, *by_class)
    guessed = tester.json("predicted", "evaluate", *few, *by_class, "--class-from", "predicted")
    everything = tester.json("all", "evaluate", *few, *by_class, "--scope", "all")
    grouped = tester.json("group", "evaluate", *few, "--slots", "group", "--slot-count", "3")
    for what, report in (("true", known), ("predicted", guessed), ("all", everything), ("group", grouped)):
        check_schema(tester, what, report)
    tester.check((known["slots"], grouped["slots"]) == (10, 3), "--slot-count 3 gives 3 slots")
    right = np.mean(np.array(truth.guesses) == truth.labels["queries"])
    tester.check(known["rows"][0]["class_recall"] == 1 == known["rows"][0]["precision"], "the class is known")
    tester.check(0.5 < right < 1 and math.isclose(guessed["rows"][0]["class_recall"], right) and
                 guessed["class_from"] == "predicted", "the class is guessed: %s, %g" % (guessed["rows"][0], right))
    tester.check(everything["rows"][0]["carried_recall"] >= known["rows"][0]["carried_recall"] and
                 everything["scope"] == "all" and known["scope"] == "own", "all slots hold more")


def test_text(tester):
    text = tester.succeeds("help", "evaluate", "--help").stdout.decode()
    tester.check(all(word in text for word in ("Usage:", "--json", "Exit codes:", "Example:")), "evaluate help")
    tester.check(b"\n  evaluate " in tester.succeeds("overview", "--help").stdout, "evaluate is in the overview")
    done = tester.succeeds("table", "evaluate", *FILES, "--epsilon", "4", "--share", "0.001,0.1", "--releases", "1")
    tester.check(b"0.001" in done.stderr and b"skipped" in done.stderr, "a note: %r" % done.stderr)
    lines = done.stdout.decode().split("\n")
    tester.check(lines[2].split()[0] == "epsilon" and lines[3].split()[:2] == ["4", "0.1"], "table: %s" % lines)
    for sketch in (8, 160):
        done = tester.succeeds("hint", "evaluate", *FILES, "--epsilon", "8", "--share", "0.1", "--sketch", sketch)
        tester.check((b"sketches of 8 bytes are too coarse" in done.stderr) == (sketch == 8) and
                     (sketch == 8 or not done.stderr), "sketches of %d bytes: %r" % (sketch, done.stderr))


def test_nothing_is_left(tester):
    """Neither in the temporary folder nor in the current one, also when it is interrupted."""
    os.mkdir(tester.path("temporary"))
    environment = {**os.environ, "TMPDIR": tester.path("temporary")}
    before = tester.snapshot()
    for number in (None, signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([tester.program, "evaluate", "--share", "0.1", "--epsilon", "1" if not number else
                                    "1,2,4,8", "--releases", "1" if not number else "1000"], cwd=tester.folder,
                                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number:
            time.sleep(1.5)
            process.send_signal(number)
        code = process.wait(timeout=300)
        tester.check(code == (-number if number else 0) and tester.snapshot() == before and
                     not os.listdir(tester.path("temporary")), "signal %s: exit code %d" % (number, code))


def test_bad_options(tester, truth):
    def fails(what, code, needles, *words):
        tester.fails(what, code, needles, "evaluate", *words)

    for name, values in (("epsilon", ("0", "17", "1,,2", "1,x", "nan", ",", ",".join(["1"] * 17))),
                         ("share", ("0", "0.6", "-1", "0.1;0.2")), ("cells", ("1", "65537", "many")),
                         ("cells-per-item", ("0", "3")), ("rows-per-prototype", ("0", "1025")), ("releases", ("0", "1001")), ("sketch", ("7", "100000")),
                         ("threads", ("0", "257")), ("slot-count", ("0", "3")), ("mechanism", ("both",)), ("slots", ("two",)),
                         ("class-from", ("guess",)), ("scope", ("some",)), ("delta", ("0.1",))):
        for value in values:
            fails("%s %s" % (name, value), USAGE, ["--" + name], "--%s=%s" % (name, value))
    fails("delta", USAGE, ["--delta"], "--mechanism", "gaussian", "--delta", "1")
    fails("cells of the Gaussian", USAGE, ["--cells"], "--mechanism", "gaussian", "--cells", "4")
    fails("codes of response", USAGE, ["--mechanism gaussian"], "--codes", "pca")
    fails("iterations of response", USAGE, ["--mechanism gaussian"], "--iterations", "0")
    fails("codes", USAGE, ["--codes must be"], "--mechanism", "gaussian", "--codes", "none")
    fails("dims", USAGE, ["--dims must be 1 to 16"], "--mechanism", "gaussian", "--dims", "17")
    fails("lda of nothing", USAGE, ["--public-labels"], *FILES, "--mechanism", "gaussian", "--codes", "lda")
    fails("cells twice", USAGE, ["--cells-per-item"], "--cells", "4", "--cells-per-item", "1")
    fails("predicted for one slot", USAGE, ["--class-from"], "--class-from", "predicted")
    fails("one of three", USAGE, ["--gallery"], "--public", "public.npy")
    fails("labels alone", USAGE, ["--queries-labels"], *FILES[:4], "--queries-labels", "queries_labels.npy")
    fails("labels of some", USAGE, ["--gallery-labels"], *FILES, "--queries-labels", "queries_labels.npy")
    fails("classes without labels", USAGE, ["--public-labels"], *FILES, "--slots", "class")
    fails("all too small", USAGE, ["--share"], *FILES, "--share", "0.001")
    fails("no file", INPUT, ["absent"], *FILES[:5], "absent")
    tester.save("narrow.npy", truth.features["queries"][:, :-1].astype("f4"))
    fails("narrow", INPUT, ["narrow.npy", "159", "160"], *FILES[:5], "narrow.npy")
    tester.save("short.npy", truth.labels["queries"][:-1])
    fails("short", INPUT, ["short.npy"], *FILES, *LABELS[:5], "short.npy")
    tester.save("strange.npy", truth.labels["queries"] + 500)
    fails("unknown class", INPUT, ["row 0", "queries"], *FILES, *LABELS[:5], "strange.npy", "--slots", "class")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["test_crowd"]):
        print("usage: test_evaluate.py path/to/privatemail [test_crowd]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        make_data(tester)
        truth = Truth(tester)
        for test in (test_figures, test_noise, test_crowd, test_fronts, test_kinds, test_classes, test_bad_options):
            if len(sys.argv) == 2 or test is test_crowd:
                test(tester, truth)
        for test in (test_sample_gallery, test_text, test_nothing_is_left) if len(sys.argv) == 2 else ():
            test(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
