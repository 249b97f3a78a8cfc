"""Tests of `privatemail groups`: python3 test_groups.py path/to/privatemail. Needs numpy only."""
import csv

import numpy as np

from harness import INPUT, OUTPUT, USAGE, run_tests, schema_faults

METHODS, LAPLACIANS = ("kmeans", "spectral", "rsc"), ("plain", "walk", "symmetric")
CLASSES, ROWS, FEATURES = 5, 250, 16
FIND = ("groups", "--features", "rows.npy", "--count", str(CLASSES))
LABELS = ("--labels", "labels.npy")


def make_rows(tester):
    """Clouds that touch, so that some neighbours are of another class."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, CLASSES, ROWS)
    rows = rng.normal(size=(CLASSES, FEATURES))[labels] + 0.55 * rng.normal(size=(ROWS, FEATURES))
    tester.save("rows.npy", rows.astype("<f4"))
    tester.save("labels.npy", (labels * 3 - 4).astype("<i4"))


def entropy(values):
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return -(shares * np.log(shares)).sum()


def nmi(one, other):
    both = entropy(one.astype(np.int64) * 1000 + other)
    return 2 * (entropy(one) + entropy(other) - both) / (entropy(one) + entropy(other))


def test_methods(tester, schemas):
    labels = np.load(tester.path("labels.npy"))
    for method in METHODS:
        for laplacian in LAPLACIANS if method != "kmeans" else (None,):
            what = "%s %s" % (method, laplacian)
            made = tester.json(what, *FIND, *LABELS, "--method", method, "--out", "groups.npy", "--force",
                               *(("--laplacian", laplacian) if laplacian else ()))
            faults = schema_faults(schemas["groups"], made)
            tester.check(not faults, "%s: %s" % (what, faults))
            groups = np.load(tester.path("groups.npy"))
            tester.check(groups.dtype == np.dtype("<i4") and groups.shape == (ROWS,), "%s: int32 labels" % what)
            sizes = np.bincount(groups, minlength=CLASSES).tolist()
            tester.check(sizes == made["sizes"] and sizes == sorted(sizes, reverse=True), "%s: sizes %s" % (what, sizes))
            tester.check(abs(made["nmi"] - nmi(groups, labels)) < 1e-9, "%s: nmi %s" % (what, made["nmi"]))
            tester.check(made["nmi"] > 0.75, "%s finds the classes: %s" % (what, made["nmi"]))
            falls = all(later < earlier for earlier, later in zip(made["traces"], made["traces"][1:]))
            tester.check(falls and (made["traces"][-1:] or [None])[0] == made["trace"], "%s: traces fall" % what)
            tester.check((made["removed"] > 0) == (method == "rsc") and made["laplacian"] == laplacian, "%s: removed" % what)


def test_suspects(tester):
    """One line per removed edge, with what is known of its ends; those of the first lines join different classes."""
    made = tester.json("suspects", *FIND, *LABELS, "--remove", "0.08", "--noise", "0.05", "--out", "groups.npy", "--suspects",
                       "suspects.csv", "--force")
    labels, groups = np.load(tester.path("labels.npy")), np.load(tester.path("groups.npy"))
    with open(tester.path("suspects.csv"), encoding="ascii") as stream:
        lines = list(csv.DictReader(stream))
    tester.check(len(lines) == made["removed"] <= 0.08 * made["edges"], "as many lines as edges: %d" % len(lines))
    tester.check([int(line["order"]) for line in lines] == list(range(1, len(lines) + 1)), "lines are counted")
    scores = [float(line["score"]) for line in lines]
    tester.check(scores == sorted(scores, reverse=True) and scores[-1] > 0, "the most suspect edge first")
    ends = [(int(line["row"]), int(line["neighbour"])) for line in lines]
    tester.check(len(set(ends)) == len(ends) and all(0 <= one < other < ROWS for one, other in ends), "each edge once")
    tester.check(all(int(line["label"]) == labels[one] and int(line["neighbour_label"]) == labels[other]
                     and int(line["group"]) == groups[one] and int(line["neighbour_group"]) == groups[other]
                     for line, (one, other) in zip(lines, ends)), "labels and groups of both ends")
    cross = [labels[one] != labels[other] for one, other in ends]
    first = cross[:int(np.ceil(0.02 * made["edges"]))]
    tester.check(abs(made["cross_first"] - np.mean(first)) < 1e-12 and abs(made["cross_suspects"] - np.mean(cross)) < 1e-12,
                 "shares of different classes")
    tester.check(made["cross_first"] > 0.75 > 3 * made["cross_all"], "wrong edges first: %s of %s" % (made["cross_first"], made["cross_all"]))
    tester.succeeds("without labels", *FIND, "--out", "plain.npy", "--suspects", "plain.csv")
    tester.check(tester.read("plain.csv").startswith(b"order,row,neighbour,weight,score,group,neighbour_group\n1,"), "no labels")


def test_determinism(tester):
    for method in METHODS:
        for name, threads in (("one.npy", "1"), ("two.npy", "3")):
            tester.succeeds(method, *FIND, "--method", method, "--threads", threads, "--out", name, "--force")
        tester.check(tester.read("one.npy") == tester.read("two.npy"), "%s: the same groups with other threads" % method)


def test_pack(tester):
    """The groups are labels that pack and index read. Rows of a gallery get the group of their nearest rows."""
    rows = np.load(tester.path("rows.npy"))
    tester.save("gallery.npy", rows[:90] * 3)
    found = tester.json("groups", *FIND, "--out", "slots.npy", "--gallery", "gallery.npy", "--gallery-out", "gallery_groups.npy")
    groups, given = np.load(tester.path("slots.npy")), np.load(tester.path("gallery_groups.npy"))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = np.argsort(-unit[:90] @ unit.T, axis=1)[:, :8]
    votes = [np.bincount(groups[each], minlength=CLASSES) for each in near]
    sure = [i for i, vote in enumerate(votes) if np.sort(vote)[-1] > np.sort(vote)[-2] + 2]
    tester.check(found["gallery_out"] == "gallery_groups.npy" and given.dtype == np.dtype("<i4") and len(given) == 90
                 and len(sure) > 60 and all(given[i] == votes[i].argmax() for i in sure), "groups of the gallery")
    made = tester.json("pack", "pack", "--features", "rows.npy", "--labels", "slots.npy", "--slots", "class", "--out", "slots.pmpk")
    tester.check(made["slots"] == CLASSES, "a slot per group: %s" % made["slots"])
    tester.succeeds("index", "index", "--pack", "slots.pmpk", "--features", "gallery.npy", "--labels", "gallery_groups.npy",
                    "--store", "sqlite:slots.store")


def test_text(tester):
    text = tester.succeeds("text", *FIND, *LABELS, "--out", "text.npy").stdout.decode()
    tester.check("5 groups by rsc" in text and "mutual information" in text and "edges removed" in text, "text: %s" % text)
    notes = tester.succeeds("notes", *FIND, "--method", "kmeans", "--neighbours", "5", "--laplacian", "plain", "--remove", "0.1",
                            "--rounds", "3", "--noise", "0.1", "--out", "notes.npy").stderr.decode()
    tester.check(all("--%s. It is ignored" % name in notes for name in ("neighbours", "laplacian", "remove", "rounds", "noise")),
                 "what kmeans does not use: %s" % notes)


def test_collapse(tester):
    """Rows without groups: a round that makes one group of most rows is said, and not kept."""
    seen = 0
    for seed in range(6):
        tester.save("cloud.npy", np.random.default_rng(seed).normal(size=(200, 3)).astype("<f4"))
        done = tester.succeeds("cloud", "groups", "--features", "cloud.npy", "--count", "4", "--neighbours", "6", "--remove", "0.1",
                               "--rounds", "20", "--out", "cloud_groups.npy", "--force", "--json")
        said = b"one group" in done.stderr
        tester.check(said == (b'"collapsed": true' in done.stdout or b'"collapsed":true' in done.stdout), "a collapse is said")
        seen += said
    tester.check(seen > 0, "one of six collapses")


def bad_rows(tester):
    rows = np.load(tester.path("rows.npy"))
    nan = rows.copy()
    nan[11, 2] = np.nan
    tester.save("nan.npy", nan)
    tester.save("few.npy", rows[:4])
    tester.save("one.npy", rows[:1])
    tester.save("six.npy", rows[:6])
    tester.save("narrow.npy", rows[:, :9])
    tester.save("long.npy", np.ones((20, 4097), "<f4"))
    tester.save("copies.npy", np.repeat(rows[:3], 20, axis=0))
    tester.save("short_labels.npy", np.load(tester.path("labels.npy"))[:-1])


def test_errors(tester):
    bad_rows(tester)
    cases = (
        ("NaN", INPUT, ("nan.npy", "row 11"), ("--features", "nan.npy", "--count", "3")),
        ("one row", INPUT, ("1 rows", "2 groups"), ("--features", "one.npy", "--count", "2")),
        ("more groups than rows", INPUT, ("4 rows", "5 groups"), ("--features", "few.npy", "--count", "5", "--method", "kmeans")),
        ("as many groups as rows", INPUT, ("4 rows",), ("--features", "few.npy", "--count", "4", "--neighbours", "2")),
        ("fewer rows than neighbours", INPUT, ("--neighbours",), ("--features", "six.npy", "--count", "2")),
        ("copies", INPUT, ("3 distinct",), ("--features", "copies.npy", "--count", "4", "--method", "kmeans")),
        ("a graph in parts", INPUT, ("3 parts", "--neighbours"), ("--features", "copies.npy", "--count", "2")),
        ("labels of another length", INPUT, ("short_labels.npy", "249"), (*FIND[1:], "--labels", "short_labels.npy")),
        ("no such file", INPUT, ("absent.npy",), ("--features", "absent.npy", "--count", "3")),
        ("a method that is none", USAGE, ("--method", "dbscan"), (*FIND[1:], "--method", "dbscan")),
        ("a Laplacian that is none", USAGE, ("--laplacian",), (*FIND[1:], "--laplacian", "round")),
        ("a share above", USAGE, ("--remove", "0.5"), (*FIND[1:], "--remove", "0.6")),
        ("a share below", USAGE, ("--remove",), (*FIND[1:], "--remove", "-0.1")),
        ("no share", USAGE, ("--remove",), (*FIND[1:], "--remove", "nan")),
        ("too much noise", USAGE, ("--noise",), (*FIND[1:], "--noise", "1.5")),
        ("one group", USAGE, ("--count",), ("--features", "rows.npy", "--count", "1")),
        ("too many groups", USAGE, ("--count",), ("--features", "rows.npy", "--count", "1001")),
        ("no neighbours", USAGE, ("--neighbours",), (*FIND[1:], "--neighbours", "0")),
        ("too many rounds", USAGE, ("--rounds",), (*FIND[1:], "--rounds", "21")),
        ("suspects of spectral", USAGE, ("--suspects",), (*FIND[1:], "--method", "spectral", "--suspects", "no.csv")),
        ("one file for both", USAGE, ("--suspects",), (*FIND[1:], "--suspects", "no.npy")),
        ("half a gallery", USAGE, ("--gallery-out",), (*FIND[1:], "--gallery", "few.npy")),
        ("a gallery of another width", INPUT, ("narrow.npy", "9", "16"), (*FIND[1:], "--gallery", "narrow.npy", "--gallery-out", "no2.npy")),
        ("a gallery of NaN", INPUT, ("nan.npy", "row 11"), (*FIND[1:], "--gallery", "nan.npy", "--gallery-out", "no2.npy")),
        ("the gallery's file twice", USAGE, ("no.npy", "--gallery-out"), (*FIND[1:], "--gallery", "few.npy", "--gallery-out", "no.npy")),
        ("long rows", INPUT, ("4097", "4096"), ("--features", "long.npy", "--count", "3")),
        ("no count", USAGE, ("--count",), ("--features", "rows.npy")),
    )
    for what, code, needles, more in cases:
        tester.fails(what, code, needles, "groups", *more, "--out", "no.npy")
    tester.fails("out is an input", USAGE, ("rows.npy",), *FIND, "--out", "rows.npy", "--force")
    tester.fails("out exists", OUTPUT, ("labels.npy",), *FIND, "--out", "labels.npy")
    tester.fails("no such folder", OUTPUT, ("absent",), *FIND, "--out", "absent/no.npy")


def test_full_disk(tester):
    for most in (500, 1000):  # the suspects do not fit; they do, and the groups do not
        tester.fails_when_full("%d bytes" % most, most, *FIND, "--remove", "0.01", "--out", "full.npy", "--suspects", "full.csv")


def run_all(tester, schemas):
    make_rows(tester)
    test_methods(tester, schemas)
    test_suspects(tester)
    test_determinism(tester)
    test_pack(tester)
    test_text(tester)
    test_collapse(tester)
    test_errors(tester)
    test_full_disk(tester)


run_tests(run_all)
