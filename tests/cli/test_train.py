"""Tests of `privatemail train`: python3 test_train.py path/to/privatemail. Needs numpy only."""
import hashlib
import os
import struct

import numpy as np

from harness import INPUT, OUTPUT, USAGE, run_tests, schema_faults

METHODS = ("signs", "gauss", "pca", "dct", "lda", "cca", "codes", "mnse", "kpca", "kda", "kmfa")
GRAPHS = ("kpca", "kda", "kmfa")
KERNELS = ("codes", "mnse", *GRAPHS)
LABELLED = ("lda", "codes", "mnse", "kda", "kmfa")
KINDS = {"signs": 2, **dict.fromkeys(KERNELS, 4)}  # the others: a matrix, 3
CLASSES, ROWS = 5, 300


def make_rows(tester, seed=3):
    """Pairs of two modalities that know their class, roughly: 24 and 9 features, none negative."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, 2 * ROWS)
    for name, columns, noise in (("image", 24, 0.5), ("text", 9, 0.3)):
        rows = np.abs(rng.normal(size=(CLASSES, columns)))[labels] + noise * np.abs(rng.normal(size=(2 * ROWS, columns)))
        tester.save(name + ".npy", rows[:ROWS].astype("<f4"))
        tester.save(name + "_test.npy", rows[ROWS:].astype("<f4"))
    tester.save("labels.npy", (labels[:ROWS] * 7 - 3).astype("<i4"))
    tester.save("labels_test.npy", (labels[ROWS:] * 7 - 3).astype("<i4"))


IMAGE = ("--features", "image.npy")
BOTH = (*IMAGE, "--with", "text=text.npy")
LABELS = ("--labels", "labels.npy")
TEST = ("--test", "image_test.npy", "--test-labels", "labels_test.npy")
TEST_BOTH = (*TEST, "--test-with", "text=text_test.npy")


def arguments_of(method):
    given = BOTH if method in ("cca", "codes", "mnse") else IMAGE
    return ("train", "--method", method, *given, *(LABELS if method in LABELLED else ()),
            "--dimensions", "4", *(("--centres", "24") if method in KERNELS else ()))


def check_file(tester, name, method, inputs):
    """SPEC 1.2: the header, the hash, the size that follows from the record."""
    data = tester.read(name)
    kind, root, found, centres, zero = struct.unpack_from("<HHIII", data, 64)
    body = {2: 0, 3: 4 * (12 + inputs), 4: 8 * 4 + centres * (12 + inputs + 4)}[kind]
    tester.check(data[:8] == b"PMFR\0\0\1\0" and data[8:40] == hashlib.sha256(data[40:]).digest()
                 and struct.unpack_from("<QI", data, 40) == (len(data), 4) and len(data) == 128 + body
                 and (kind, root, found, zero) == (KINDS.get(method, 3), 0, inputs, 0) and not any(data[80:96]),
                 "%s of %s is a front file" % (name, method))


def test_methods(tester, schemas):
    for method in METHODS:
        out = method + ".pmfr"
        pair = method in ("cca", "codes", "mnse")
        made = tester.json(method, *arguments_of(method), "--out", out, *(TEST_BOTH if pair else TEST),
                           *(() if method in LABELLED else LABELS))
        faults = schema_faults(schemas["train"], made)
        tester.check(not faults, "%s: %s" % (method, faults))
        tester.check(made["method"] == method and made["bytes"] == len(tester.read(out)), "%s: what was made" % method)
        check_file(tester, out, method, 24)
        chance = 1.0 / CLASSES
        if pair:
            check_file(tester, method + ".text.pmfr", method, 9)
            tester.check(min(made["map_image_query"], made["map_text_query"]) > 2 * chance,
                         "%s finds across modalities: %s, %s" % (method, made["map_image_query"], made["map_text_query"]))
        else:
            tester.check(made["map_image_query"] is None and made["out_with"] is None, "%s is one modality" % method)
            tester.check(0.1 < made["kept_of_8"] <= 1 and made["distance_error"] > 0, "%s: neighbours" % method)
        tester.check(made["accuracy"] > 2 * chance and made["precision_at_8"] > 2 * chance,
                     "%s finds classes: %s, %s" % (method, made["accuracy"], made["precision_at_8"]))


def test_mnse(tester):
    made = tester.json("mnse", *arguments_of("mnse"), "--out", "theorem.pmfr")
    steps = made["objective"]
    tester.check(steps and all(later <= earlier for earlier, later in zip(steps, steps[1:])), "the objective never rises")
    tester.check(made["lipschitz"] > 0 and made["eta"] > 0 and made["gamma"] >= 0
                 and made["condition"] == (made["gamma"] > 2 * made["eta"]), "the theorem's constants")
    text = tester.succeeds("mnse text", *arguments_of("mnse"), "--out", "theorem.pmfr", "--force").stdout.decode()
    tester.check("Lipschitz constant" in text and "condition" in text, "mnse: text")


def test_uncertainty(tester, schemas):
    """Rows that are certain change nothing; others widen kernels; what a chosen ridge reaches stands beside it."""
    rng = np.random.default_rng(4)
    deviations = rng.uniform(0, 3, ROWS)
    each = (deviations ** 2).astype("<f4")
    for name, rows in (("image", deviations), ("image_test", np.ones(ROWS))):
        tester.save("noisy_" + name + ".npy", (np.load(tester.path(name + ".npy")) + rows[:, None] * rng.normal(size=(ROWS, 24)))
                    .astype("<f4"))
    test, different = ("--test", "noisy_image_test.npy", *TEST[2:]), 0
    tester.save("zero.npy", np.zeros(ROWS, "<f4"))
    tester.save("each.npy", each)
    tester.save("all.npy", np.repeat(each[:, None], 24, axis=1))
    for method in GRAPHS:
        command = ("train", "--method", method, "--features", "noisy_image.npy", *LABELS, "--dimensions", "4", "--centres", "24")
        plain = tester.json(method, *command, "--out", "certain.pmfr", *test)
        tester.check(plain["uncertainty"] is None and plain["ridge_nn_accuracy"] is None
                     and (plain["ridge"] is None) == (method == "kpca"), "%s of certain rows" % method)
        made = {}
        for name in ("zero", "each", "all"):
            made[name] = tester.json(name, *command, "--uncertainty", name + ".npy", "--out", name + ".pmfr", "--force", *test)
            faults = schema_faults(schemas["train"], made[name])
            tester.check(not faults, "%s, %s: %s" % (method, name, faults))
            tester.check(made[name]["ridge_nn_accuracy"] == plain["nn_accuracy"], "%s: the ridge stands beside it" % method)
        tester.check(tester.read("zero.pmfr") == tester.read("certain.pmfr") and made["zero"]["uncertainty"] == 0,
                     "%s: an uncertainty of 0 changes no byte" % method)
        tester.check(tester.read("each.pmfr") != tester.read("certain.pmfr") and made["each"]["uncertainty"] > 0,
                     "%s: uncertainty does" % method)
        different += made["each"]["nn_accuracy"] != plain["nn_accuracy"]
        tester.check(tester.read("each.pmfr") == tester.read("all.pmfr"), "%s: per row or per feature, the same" % method)
        tester.check(made["each"]["nn_accuracy"] > 2 / CLASSES, "%s finds classes: %s" % (method, made["each"]["nn_accuracy"]))
        os.remove(tester.path("certain.pmfr"))
    tester.check(different > 0, "the two accuracies can be told apart")
    text = tester.succeeds("text", *arguments_of("kda"), "--uncertainty", "each.npy", "--validate", "--out", "each.pmfr",
                           "--force").stdout.decode()
    tester.check("with a chosen ridge" in text, "uncertainty: text")
    made = tester.json("ridge", *arguments_of("kda"), "--ridge", "0.2", "--validate", "--out", "each.pmfr", "--force")
    tester.check(made["ridge"] == 0.2 and made["ridge_nn_accuracy"] > 0.5, "a given ridge, beside a chosen one")


def test_defaults(tester):
    for given, method in ((IMAGE, "pca"), ((*IMAGE, *LABELS), "lda"), (BOTH, "cca"), ((*BOTH, *LABELS), "codes")):
        made = tester.json(method, "train", *given, "--dimensions", "3", "--centres", "20", "--out", "default.pmfr", "--force")
        tester.check(made["method"] == method, "%s is the default of %s" % (method, given))
        if method in ("cca", "codes"):
            os.remove(tester.path("default.text.pmfr"))
    os.remove(tester.path("default.pmfr"))


def test_determinism(tester):
    for method in METHODS:
        for name, more in (("one", ("--threads", "1")), ("two", ("--threads", "3"))):
            tester.succeeds(method, *arguments_of(method), "--seed", "5", "--out", name + ".pmfr", "--force", *more)
        tester.check(tester.read("one.pmfr") == tester.read("two.pmfr"), "%s: the same seed gives the same bytes" % method)
        if method in ("signs", "gauss", "codes"):
            tester.succeeds(method, *arguments_of(method), "--seed", "6", "--out", "two.pmfr", "--force")
            tester.check(tester.read("one.pmfr") != tester.read("two.pmfr"), "%s: another seed, other bytes" % method)


def test_validate(tester, schemas):
    for method in ("lda", "codes", "kpca"):
        made = tester.json("validate", *arguments_of(method), "--validate", "--out", "held.pmfr", "--force")
        faults = schema_faults(schemas["train"], made)
        tester.check(not faults and (method not in LABELLED or made["accuracy"] > 0.5),
                     "validate: %s, %s" % (faults, made["accuracy"]))
        tester.succeeds("all rows", *arguments_of(method), "--out", "all.pmfr", "--force")
        tester.check(tester.read("held.pmfr") == tester.read("all.pmfr"), "%s is trained with all rows in the end" % method)


def test_notes(tester):
    done = tester.succeeds("notes", "train", "--method", "dct", *BOTH, *LABELS, "--dimensions", "4", "--centres", "9",
                           "--seed", "1", "--uncertainty", "labels.npy", "--ridge", "1", "--out", "notes.pmfr")
    text = done.stderr.decode()
    tester.check(all("--%s. It is ignored" % option in text
                     for option in ("with", "labels", "centres", "seed", "uncertainty", "ridge")),
                 "what dct does not use: %s" % text)
    tester.check(not os.path.exists(tester.path("notes.text.pmfr")), "one modality, one file")


def test_roots(tester):
    for method in ("lda", "codes"):
        tester.succeeds("roots", *arguments_of(method), "--root", "--out", "root.pmfr", "--force")
        tester.check(struct.unpack_from("<H", tester.read("root.pmfr"), 66)[0] == 1, "%s: the front remembers roots" % method)
    rows = np.load(tester.path("image.npy"))
    rows[7, 3] = -0.5
    tester.save("negative.npy", rows)
    tester.fails("roots of negative numbers", INPUT, ("negative.npy", "row 7"), "train", "--method", "pca", "--root",
                 "--features", "negative.npy", "--dimensions", "3", "--out", "no.pmfr")


def test_wide(tester):
    made = tester.json("wide", "train", "--method", "signs", "--inputs", "1000000", "--dimensions", "64", "--out", "wide.pmfr")
    tester.check(made["features"] == 1000000 and made["bytes"] == 128, "signs of a million features are 128 bytes")
    tester.fails("inputs of pca", USAGE, ("--inputs",), "train", "--method", "pca", "--inputs", "9", *IMAGE,
                 "--dimensions", "4", "--out", "no.pmfr")


def bad_rows(tester):
    image, labels = np.load(tester.path("image.npy")), np.load(tester.path("labels.npy"))
    nan = image.copy()
    nan[11, 2] = np.nan
    tester.save("nan.npy", nan)
    tester.save("short_labels.npy", labels[:-1])
    tester.save("one_class.npy", np.zeros(ROWS, "<i4"))
    tester.save("short_text.npy", np.load(tester.path("text.npy"))[:-2])
    tester.save("narrow.npy", image[:, :10])
    tester.save("equal.npy", np.ones((ROWS, 24), "<f4"))
    tester.save("few.npy", image[:10])
    tester.save("few_labels.npy", labels[:10])
    tester.save("short_variance.npy", np.zeros(ROWS - 1, "<f4"))
    tester.save("wide_variance.npy", np.zeros((ROWS, 9), "<f4"))
    for name, bad in (("negative_variance", -0.1), ("nan_variance", np.nan)):
        variance = np.zeros(ROWS, "<f4")
        variance[13] = bad
        tester.save(name + ".npy", variance)
    tester.save("double_variance.npy", np.zeros(ROWS))


def test_errors(tester):
    bad_rows(tester)
    lda, codes, kda = arguments_of("lda"), arguments_of("codes"), arguments_of("kda")
    cases = (
        ("NaN", INPUT, ("nan.npy", "row 11"), ("train", "--features", "nan.npy", "--dimensions", "4")),
        ("labels of another length", INPUT, ("short_labels.npy", "299"),
         ("train", *IMAGE, "--labels", "short_labels.npy", "--dimensions", "4")),
        ("pairs of different length", INPUT, ("short_text.npy", "298"),
         ("train", *IMAGE, "--with", "text=short_text.npy", "--dimensions", "4")),
        ("one class", INPUT, ("one class",), ("train", *IMAGE, "--labels", "one_class.npy", "--dimensions", "1")),
        ("one class, codes", INPUT, ("one class",), ("train", *BOTH, "--labels", "one_class.npy", "--dimensions", "1")),
        ("equal rows", INPUT, ("vary",), ("train", "--features", "equal.npy", "--dimensions", "4")),
        ("equal rows, kernels", INPUT, ("vary",), ("train", "--features", "equal.npy", "--with", "text=text.npy", *LABELS,
                                                   "--dimensions", "4", "--centres", "8")),
        ("fewer rows than centres", INPUT, ("10 rows", "24 centres"),
         ("train", "--method", "codes", "--features", "few.npy", "--labels", "few_labels.npy", "--dimensions", "2",
          "--centres", "24")),
        ("k too large for lda", INPUT, ("at most 4",), (*lda[:-1], "5")),
        ("k too large for pca", INPUT, ("at most 24",), ("train", *IMAGE, "--dimensions", "25")),
        ("k too large for dct", INPUT, ("at most 24",), ("train", "--method", "dct", *IMAGE, "--dimensions", "25")),
        ("k too large for cca", INPUT, ("at most 9",), ("train", *BOTH, "--dimensions", "10")),
        ("k too large for codes", INPUT, ("at most 5",), ("train", *BOTH, *LABELS, "--dimensions", "6")),
        ("k too large for mnse", INPUT, ("at most 4",), ("train", "--method", "mnse", *BOTH, *LABELS, "--dimensions", "5")),
        ("k too large for kda", INPUT, ("at most 4",), ("train", "--method", "kda", *IMAGE, *LABELS, "--centres", "24", "--dimensions", "5")),
        ("k too large for kpca", INPUT, ("at most 24",), ("train", "--method", "kpca", *IMAGE, "--centres", "24", "--dimensions", "25")),
        ("one class, kda", INPUT, ("one class",), ("train", "--method", "kda", *IMAGE, "--labels", "one_class.npy",
                                                   "--dimensions", "1", "--centres", "8")),
        ("negative uncertainty", INPUT, ("negative_variance.npy", "row 13"), (*kda, "--uncertainty", "negative_variance.npy")),
        ("NaN as uncertainty", INPUT, ("nan_variance.npy", "row 13"), (*kda, "--uncertainty", "nan_variance.npy")),
        ("uncertainty in doubles", INPUT, ("double_variance.npy", "float32"), (*kda, "--uncertainty", "double_variance.npy")),
        ("uncertainty of fewer rows", INPUT, ("299 rows", "300 rows"), (*kda, "--uncertainty", "short_variance.npy")),
        ("uncertainty of other features", INPUT, ("9 numbers", "24 features"), (*kda, "--uncertainty", "wide_variance.npy")),
        ("uncertainty of roots", INPUT, ("--root",), (*kda, "--root", "--uncertainty", "zero.npy")),
        ("no such uncertainty", INPUT, ("absent.npy",), (*kda, "--uncertainty", "absent.npy")),
        ("a ridge of 0", USAGE, ("--ridge",), (*kda, "--ridge", "0")),
        ("a ridge below 0", USAGE, ("--ridge",), (*kda, "--ridge", "-1")),
        ("kda without labels", USAGE, ("--labels",), ("train", "--method", "kda", *IMAGE, "--dimensions", "2")),
        ("test of another width", INPUT, ("narrow.npy", "10", "24"), (*lda, "--test", "narrow.npy")),
        ("no such file", INPUT, ("absent.npy",), ("train", "--features", "absent.npy", "--dimensions", "4")),
        ("a method that is none", USAGE, ("--method", "tsne"), ("train", "--method", "tsne", *IMAGE, "--dimensions", "2")),
        ("lda without labels", USAGE, ("--labels",), ("train", "--method", "lda", *IMAGE, "--dimensions", "2")),
        ("mnse of one modality", USAGE, ("--with",), ("train", "--method", "mnse", *IMAGE, *LABELS, "--dimensions", "2")),
        ("a modality without a name", USAGE, ("--with",), ("train", *IMAGE, "--with", "text.npy", "--dimensions", "2")),
        ("a modality with a bad name", USAGE, ("--with",), ("train", *IMAGE, "--with", "Te xt=text.npy", "--dimensions", "2")),
        ("no dimensions", USAGE, ("--dimensions",), ("train", *IMAGE)),
        ("dimensions of 0", USAGE, ("--dimensions",), ("train", *IMAGE, "--dimensions", "0")),
        ("too many centres", USAGE, ("--centres",), (*codes[:-1], "5000")),
        ("test and validate", USAGE, ("--validate",), (*lda, *TEST, "--validate")),
        ("half a test", USAGE, ("--test-with",), (*codes, *TEST)),
        ("a test of another name", USAGE, ("--test-with",), (*codes, *TEST, "--test-with", "words=text_test.npy")),
        ("test labels alone", USAGE, ("--test",), (*lda, "--test-labels", "labels_test.npy")),
    )
    for what, code, needles, command in cases:
        tester.fails(what, code, needles, *command, "--out", "no.pmfr")
    tester.fails("out is an input", USAGE, ("image.npy",), "train", *IMAGE, "--dimensions", "3", "--out", "image.npy", "--force")
    tester.fails("out is the uncertainty", USAGE, ("zero.npy",), *kda, "--uncertainty", "zero.npy", "--out", "zero.npy", "--force")
    tester.write("there.text.pmfr", b"old")
    tester.fails("the second file exists", OUTPUT, ("there.text.pmfr",), *arguments_of("cca"), "--out", "there.pmfr")
    tester.fails("no such folder", OUTPUT, ("absent",), *lda, "--out", "absent/no.pmfr")


def test_full_disk(tester):
    """No file remains, nor half of a pair."""
    for method, most in (("gauss", 200), ("codes", 800), ("cca", 260), ("kda", 700)):
        tester.fails_when_full(method, most, *arguments_of(method), "--out", "full.pmfr")


def test_distances(tester):
    """Signs keep distances as well as normal numbers do, from 16 dimensions on: the mean of eight seeds within 0.01."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 96)) * np.linspace(2, 0.2, 96)
    tester.save("wide_rows.npy", rows[:400].astype("<f4"))
    tester.save("wide_test.npy", rows[400:].astype("<f4"))
    before = 1.0
    for k in (16, 32, 64):
        errors = {method: np.mean([tester.json("distances", "train", "--method", method, "--features", "wide_rows.npy",
                                               "--dimensions", k, "--seed", seed, "--test", "wide_test.npy", "--out",
                                               "distance.pmfr", "--force")["distance_error"] for seed in range(8)])
                  for method in ("signs", "gauss")}
        tester.check(abs(errors["signs"] - errors["gauss"]) < 0.01, "k = %d: signs are as good as normal numbers: %s" % (k, errors))
        tester.check(errors["signs"] < before, "k = %d: more dimensions, smaller errors: %s" % (k, errors))
        before = errors["signs"]


def run_all(tester, schemas):
    make_rows(tester)
    test_methods(tester, schemas)
    test_mnse(tester)
    test_uncertainty(tester, schemas)
    test_defaults(tester)
    test_determinism(tester)
    test_validate(tester, schemas)
    test_notes(tester)
    test_roots(tester)
    test_wide(tester)
    test_errors(tester)
    test_full_disk(tester)
    test_distances(tester)


run_tests(run_all)
