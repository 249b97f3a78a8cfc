"""Tests of `privatemail train --method cgmvae`: python3 test_train_labels.py path/to/privatemail. Needs numpy only."""
import hashlib
import struct

import numpy as np

from harness import INPUT, OUTPUT, USAGE, run_tests, schema_faults

LABELS, COLUMNS = 6, 16
ROWS = ("train", "--method", "cgmvae", "--features", "rows.npy")
LABELLED = (*ROWS, "--labels", "marks.npy")
TRAIN = (*LABELLED, "--epochs", "25")
TEST = ("--test", "test.npy", "--test-labels", "test_marks.npy")
VALIDATION = ("--validation", "held.npy", "--validation-labels", "held_marks.npy")


def make_rows(tester):
    """Sums of one to three of six directions: `rows`, `held`, `test`."""
    rng = np.random.default_rng(4)
    parts = rng.normal(size=(LABELS, COLUMNS))
    for name, count in (("rows", 300), ("held", 100), ("test", 150)):
        marks = np.zeros((count, LABELS), "u1")
        for row in marks:
            row[rng.choice(LABELS, rng.integers(1, 4), replace=False)] = 1
        tester.save(name + ".npy", (marks @ parts + 0.4 * rng.normal(size=(count, COLUMNS))).astype("<f4"))
        tester.save("marks.npy" if name == "rows" else name + "_marks.npy", marks)


def head_scores(data, rows):
    """SPEC 1.2 and 5.19, in floats: labels and scores."""
    count, = struct.unpack_from("<I", data, 48)
    inputs, = struct.unpack_from("<I", data, 68)
    records = np.frombuffer(data, np.dtype([("offset", "<i8"), ("gain", "<u4")]), count, 128)
    weights = np.frombuffer(data, "i1", count * inputs, 128 + 12 * count).reshape(count, inputs)
    labels = np.frombuffer(data, "<i4", count, 128 + (12 + inputs) * count)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return labels, unit @ (weights * records["gain"][:, None]).T.astype(float) * 2.0 ** 30 + records["offset"]


def f1(predicted, true):
    return 2 * (predicted & true).sum() / (predicted.sum() + true.sum())


def test_report(tester, schemas):
    made = tester.json("cgmvae", *TRAIN, *VALIDATION, *TEST, "--out", "head.pmfr")
    faults = schema_faults(schemas["train --method cgmvae"], made)
    tester.check(not faults, "cgmvae: %s" % faults)
    tester.check(made["measured"] == "test" and made["labels"] == LABELS and made["features"] == COLUMNS, "what was given")
    every = [made, made["binary_relevance"], made["mlp"], made["knn"]]
    tester.check(all(0.8 < way["micro_f1"] <= 1 and way["hamming"] > 0.8 for way in every), "labels are told: %s" % every)
    tester.check(made["last_loss"] < 0.8 * made["first_loss"], "the loss falls")
    data = tester.read("head.pmfr")
    tester.check(data[:8] == b"PMFR\0\0\2\0" and data[8:40] == hashlib.sha256(data[40:]).digest()
                 and struct.unpack_from("<QII", data, 40) == (len(data), LABELS, 1)
                 and len(data) == made["bytes"] == 128 + LABELS * (16 + COLUMNS), "a head file")
    labels, scores = head_scores(data, np.load(tester.path("test.npy")))
    true = np.load(tester.path("test_marks.npy")) > 0
    tester.check(list(labels) == list(range(LABELS)), "labels are numbers of columns")
    tester.check(abs(f1(scores > 0, true) - made["head_micro_f1"]) < 0.02 and made["head_micro_f1"] > 0.75,
                 "above 0 is there: %s, %s" % (f1(scores > 0, true), made["head_micro_f1"]))
    text = tester.succeeds("text", *TRAIN, "--out", "text.pmfr").stdout.decode()
    tester.check("C-GMVAE" in text and "validation rows" in text and "head in int8" in text, "text: %s" % text)


def test_types(tester):
    """Zeros and ones of any type mean the same, and so does the number of threads."""
    marks = np.load(tester.path("marks.npy"))
    outs = []
    for kind in ("u1", "i1", "?", "<i4", "<i8", "<f4"):
        tester.save("typed.npy", marks.astype(kind))
        tester.succeeds(kind, *ROWS, "--labels", "typed.npy", "--epochs", "2", "--seed", "3", "--out", "typed.pmfr", "--force",
                        "--threads", 1 + len(outs) % 3)
        outs.append(tester.read("typed.pmfr"))
    tester.check(len(set(outs)) == 1, "the same labels, the same bytes")
    tester.succeeds("seed", *LABELLED, "--epochs", "2", "--seed", "4", "--out", "typed.pmfr", "--force")
    tester.check(tester.read("typed.pmfr") != outs[0], "another seed, other bytes")
    done = tester.succeeds("notes", *TRAIN, "--dimensions", "4", "--root", "--validate", "--out", "typed.pmfr", "--force")
    tester.check(all("--%s. It is ignored" % name in done.stderr.decode() for name in ("dimensions", "root", "validate")),
                 "what cgmvae does not use: %s" % done.stderr.decode())


def test_errors(tester):
    rows, marks = np.load(tester.path("rows.npy")), np.load(tester.path("marks.npy"))
    other = {"two": marks * 2, "none": marks * 0, "short": marks[:-1], "flat": marks[:, 0], "half": marks * np.float32(0.5),
             "doubles": marks.astype("<f8"), "few_marks": marks[:25], "narrow_marks": marks[:, :4]}
    other["nan_marks"] = marks.astype("<f4")
    other["nan_marks"][7, 1] = np.nan
    other["wide"] = np.zeros((300, 4097), "u1")
    nan = rows.copy()
    nan[11, 2] = np.nan
    for name, values in {**other, "nan": nan, "few": rows[:25], "equal": np.ones_like(rows), "narrow": rows[:, :9]}.items():
        tester.save(name + ".npy", values)
    train = ("train", "--method", "cgmvae", "--features")
    cases = (
        ("labels of 2", INPUT, ("two.npy", "0 and 1"), (*ROWS, "--labels", "two.npy")),
        ("labels of a half", INPUT, ("half.npy", "0 and 1"), (*ROWS, "--labels", "half.npy")),
        ("NaN among labels", INPUT, ("nan_marks.npy", "row 7"), (*ROWS, "--labels", "nan_marks.npy")),
        ("no labels", INPUT, ("no row to train with has a label",), (*ROWS, "--labels", "none.npy")),
        ("other rows", INPUT, ("short.npy", "299", "300"), (*ROWS, "--labels", "short.npy")),
        ("one label per row", INPUT, ("flat.npy", "dimensions"), (*ROWS, "--labels", "flat.npy")),
        ("doubles", INPUT, ("doubles.npy", "<f8"), (*ROWS, "--labels", "doubles.npy")),
        ("too many labels", INPUT, ("wide.npy", "4096"), (*ROWS, "--labels", "wide.npy")),
        ("NaN", INPUT, ("nan.npy", "row 11"), (*train, "nan.npy", "--labels", "marks.npy")),
        ("too few rows", INPUT, ("17 rows", "at least 20"), (*train, "few.npy", "--labels", "few_marks.npy")),
        ("equal rows", INPUT, ("equal",), (*train, "equal.npy", "--labels", "marks.npy")),
        ("features of another model", INPUT, ("9 features", "16"),
         (*TRAIN, "--test", "narrow.npy", "--test-labels", "marks.npy")),
        ("other labels", INPUT, ("4 labels", "6"), (*TRAIN, "--test", "rows.npy", "--test-labels", "narrow_marks.npy")),
        ("no such file", INPUT, ("absent.npy",), (*train, "absent.npy", "--labels", "marks.npy")),
        ("no labels given", USAGE, ("--labels",), ROWS),
        ("half a test", USAGE, ("--test-labels",), (*TRAIN, "--test", "test.npy")),
        ("half a validation", USAGE, ("--validation",), (*TRAIN, "--validation-labels", "held_marks.npy")),
        ("no epochs", USAGE, ("--epochs",), (*LABELLED, "--epochs", "10001")),
        ("an unknown option", USAGE, ("--layers",), (*TRAIN, "--layers", "3")),
    )
    for what, code, needles, command in cases:
        tester.fails(what, code, needles, *command, "--out", "no.pmfr")
    tester.fails("out is an input", USAGE, ("marks.npy",), *TRAIN, "--out", "marks.npy", "--force")
    tester.write("there.pmfr", b"old")
    tester.fails("the file exists", OUTPUT, ("there.pmfr",), *TRAIN, "--out", "there.pmfr")


def test_full_disk(tester):
    tester.fails_when_full("cgmvae", 200, *TRAIN, "--out", "full.pmfr")


def run_all(tester, schemas):
    make_rows(tester)
    test_report(tester, schemas)
    test_types(tester)
    test_errors(tester)
    test_full_disk(tester)


run_tests(run_all)
