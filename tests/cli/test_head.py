"""Tests of heads and looks on the command line, against the reference: python3 test_head.py path/to/privatemail

Needs numpy only. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import os
import struct
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402
from harness import INPUT, OUTPUT, USAGE, Tester, read_schemas, schema_faults  # noqa: E402
from reference import bits_from_floats, floats_from_bits, quantise  # noqa: E402
from reference_front import read_front_file  # noqa: E402
from reference_head import mean_of_looks, read_head_file  # noqa: E402
from reference_reader import section_start  # noqa: E402

CLASSES, FEATURES, ROWS, LOOKS = 6, 14, 240, 3
TRAIN = ("train", "--head", "--features", "public.npy", "--labels", "public_labels.npy")
TEST = ("--test", "test.npy", "--test-labels", "test_labels.npy")


def make_data(tester):
    """Classes that overlap, with a scatter that is far from round: nearest means fail where LDA does not."""
    source = np.random.default_rng(23)
    spread = np.diag(np.r_[np.full(4, 3.0), np.full(FEATURES - 4, 0.3)])
    means = source.standard_normal((CLASSES, FEATURES))
    labels = source.integers(0, CLASSES, 2 * ROWS)
    rows = means[labels] + source.standard_normal((2 * ROWS, FEATURES)) @ spread
    names = (np.arange(CLASSES) * 11 - 20)[labels].astype("<i4")
    for part, chosen in (("public", slice(0, ROWS)), ("test", slice(ROWS, None))):
        tester.save(part + ".npy", rows[chosen].astype("<f4"))
        tester.save(part + "_labels.npy", names[chosen])
    looks = rows[ROWS:ROWS + 40, None] + 0.5 * source.standard_normal((40, LOOKS, FEATURES))
    tester.save("looks.npy", looks.reshape(-1, FEATURES).astype("<f4"))
    tester.save("looks_labels.npy", names[ROWS:ROWS + 40])
    return rows[ROWS:].astype("<f4"), names[ROWS:]


def best_of(head, row):
    """Labels by falling score, of equals the smaller first (SPEC 5.19)."""
    return [label for _, label in sorted((-score, label) for score, label in zip(head.values(row), head.labels))]


def test_train(tester, schemas, rows, labels):
    made = tester.json("train", *TRAIN, "--out", "head.pmfr", *TEST)
    faults = schema_faults(schemas["train"], made)
    tester.check(not faults, "train --head: %s" % faults)
    head = read_head_file(tester.read("head.pmfr"))
    tester.check(head.labels == sorted(set(labels.tolist())) and made["labels"] == CLASSES and made["dimensions"] == 0
                 and made["bytes"] == 128 + CLASSES * (16 + FEATURES), "a head has a row per label")
    guessed = [best_of(head, quantise(bits_from_floats(row.tolist()))) for row in rows]
    right = [np.mean([label in guesses[:count] for guesses, label in zip(guessed, labels)]) for count in (1, 5)]
    tester.check(abs(made["accuracy"] - right[0]) < 1e-12 and abs(made["accuracy_5"] - right[1]) < 1e-12,
                 "the measured accuracy is the reference's: %s, %s" % (made, right))
    public, known = np.load(tester.path("public.npy")), np.load(tester.path("public_labels.npy"))
    units = lambda values: values / np.linalg.norm(values, axis=1, keepdims=True)  # noqa: E731
    means = np.stack([units(public)[known == label].mean(0) for label in head.labels])
    nearest = np.mean(np.array(head.labels)[np.argmax(units(rows) @ units(means).T, axis=1)] == labels)
    tester.check(made["accuracy"] > nearest + 0.05, "better than the nearest mean: %g, %g" % (made["accuracy"], nearest))
    check_discriminant(tester, head, units(public), known)
    tester.succeeds("again", *TRAIN, "--out", "again.pmfr", "--threads", "1")
    tester.check(tester.read("again.pmfr") == tester.read("head.pmfr"), "the same rows give the same head")
    validated = tester.json("validate", *TRAIN, "--out", "validated.pmfr", "--validate")
    tester.check(abs(validated["accuracy"] - made["accuracy"]) < 0.15 and tester.read("validated.pmfr") == tester.read("head.pmfr"),
                 "validating changes no bytes")


def check_discriminant(tester, head, units, labels):
    """Weights and offsets are those of the formula in doubles, as far as int8 goes and but for one factor."""
    centred = units - units.mean(0)
    means = np.stack([centred[labels == label].mean(0) for label in head.labels])
    within = sum((centred[labels == label] - mean).T @ (centred[labels == label] - mean) for label, mean in zip(head.labels, means))
    within += np.eye(FEATURES) * np.trace(within) / FEATURES * 0.1 / 0.9
    weights = np.linalg.solve(within, means.T).T
    offsets = -(weights * (units.mean(0) + means / 2)).sum(1)
    made = np.array(head.rows, float) * np.array(head.gains)[:, None] * 2.0 ** 30
    factor = (made * weights).sum() / (weights * weights).sum()
    tester.check(np.abs(made / factor - weights).max() < 0.01 * np.abs(weights).max()
                 and np.abs(np.array(head.offsets) / factor - offsets).max() < 0.001 * np.abs(weights).max(),
                 "the head is the linear discriminant")


def test_pack(tester, schemas):
    tester.succeeds("pack", "pack", "--features", "public.npy", "--cells", "4", "--head", "head.pmfr", "--out", "head.pmpk")
    tester.succeeds("plain", "pack", "--features", "public.npy", "--cells", "4", "--out", "plain.pmpk")
    data, file = tester.read("head.pmpk"), tester.read("head.pmfr")[128:]
    tester.check(data[6] == 5 and tester.read("plain.pmpk")[6] == 5 and
                 data[section_start(data, 16):section_start(data, 17)] == file + bytes(-len(file) % 16), "a pack of version 0.5")
    old = ["pack", "--features", "public.npy", "--cells", "4", "--plain-sketches", "--out"]
    tester.succeeds("plain sketches", *old, "old-head.pmpk", "--head", "head.pmfr")
    tester.succeeds("plain sketches, no head", *old, "old.pmpk")
    data = tester.read("old-head.pmpk")
    tester.check(data[6] == 4 and tester.read("old.pmpk")[6] == 2 and data.endswith(file), "a pack of version 0.4")
    tester.check(tester.json("inspect", "inspect", "old-head.pmpk")["labels"] == CLASSES, "inspect: a head in a pack of version 0.4")
    shown = tester.json("inspect", "inspect", "head.pmpk")
    faults = schema_faults(schemas["inspect"], shown)
    tester.check(not faults and shown["labels"] == CLASSES, "inspect: %s" % faults)
    tester.check(tester.json("inspect", "inspect", "plain.pmpk")["labels"] == 0, "inspect without a head")
    tester.check(b"guesses %d labels" % CLASSES in tester.succeeds("inspect", "inspect", "head.pmpk").stdout, "inspect, text")


def test_guess(tester, schemas, rows):
    head = read_head_file(tester.read("head.pmfr"))
    said = tester.json("guess", "guess", "--pack", "head.pmpk", "--features", "test.npy", "--count", "3")
    faults = schema_faults(schemas["guess"], said)
    tester.check(not faults and len(said["rows"]) == len(rows) and said["labels"] == CLASSES, "guess: %s" % faults)
    wanted = [best_of(head, quantise(bits_from_floats(row.tolist())))[:3] for row in rows]
    tester.check([[guess["label"] for guess in row["guesses"]] for row in said["rows"]] == wanted, "guesses of the reference")
    old = tester.json("version 0.4", "guess", "--pack", "old-head.pmpk", "--features", "test.npy", "--count", "3")
    tester.check(old["rows"] == said["rows"], "the same guesses by a pack of version 0.4")
    one = tester.json("row", "guess", "--pack", "head.pmpk", "--features", "test.npy", "--row", "7")
    tester.check([row["row"] for row in one["rows"]] == [7] and len(one["rows"][0]["guesses"]) == 5
                 and one["rows"][0]["guesses"][:3] == said["rows"][7]["guesses"], "one row, five labels")
    text = tester.succeeds("text", "guess", "--pack", "head.pmpk", "--features", "test.npy", "--row", "7").stdout.decode()
    tester.check(text.startswith("row 7: %d (" % wanted[7][0]), "guess, text: %s" % text)
    many = tester.json("many", "guess", "--pack", "head.pmpk", "--features", "test.npy", "--row", "0", "--count", "64")
    tester.check(len(many["rows"][0]["guesses"]) == CLASSES, "no more guesses than labels")


def test_looks(tester, schemas):
    head, looks = read_head_file(tester.read("head.pmfr")), np.load(tester.path("looks.npy")).reshape(-1, LOOKS, FEATURES)
    said = tester.json("looks", "guess", "--pack", "head.pmpk", "--features", "looks.npy", "--looks", LOOKS, "--count", "1")
    means = [mean_of_looks([bits_from_floats(look.tolist()) for look in photo]) for photo in looks]
    tester.check([row["guesses"][0]["label"] for row in said["rows"]] == [best_of(head, quantise(mean))[0] for mean in means],
                 "guesses by the mean of looks")
    tester.save("means.npy", np.array([floats_from_bits(mean) for mean in means], "<f4"))
    files = ["--public", "public.npy", "--public-labels", "public_labels.npy", "--gallery", "test.npy", "--gallery-labels",
             "test_labels.npy", "--queries-labels", "looks_labels.npy", "--epsilon", "16", "--share", "0.5", "--releases", "1"]
    several = tester.json("evaluate", "evaluate", *files, "--queries", "looks.npy", "--looks", LOOKS)
    single = tester.json("evaluate", "evaluate", *files, "--queries", "means.npy")
    faults = schema_faults(schemas["evaluate"], several)
    tester.check(not faults and several["looks"] == LOOKS and single["looks"] == 1, "evaluate --looks: %s" % faults)
    key = "exact_precision_at_8"
    tester.check(several["rows"][0][key] == single["rows"][0][key], "several looks ask as their mean does")


def test_class_from_head(tester):
    files = ["--public", "public.npy", "--public-labels", "public_labels.npy", "--gallery", "test.npy", "--gallery-labels",
             "test_labels.npy", "--queries", "test.npy", "--queries-labels", "test_labels.npy", "--slots", "class", "--epsilon",
             "16", "--share", "0.5", "--releases", "1"]
    said = tester.json("evaluate", "evaluate", *files, "--class-from", "head", "--head", "head.pmfr")
    accuracy = tester.json("train", *TRAIN, "--out", "head.pmfr", *TEST, "--force")["accuracy"]
    tester.check(said["class_from"] == "head" and abs(said["rows"][0]["class_recall"] - accuracy) < 0.02,
                 "class recall is the accuracy of the head: %g, %g" % (said["rows"][0]["class_recall"], accuracy))
    tester.fails("head without --class-from", USAGE, ["--head"], "evaluate", *files, "--head", "head.pmfr")
    tester.fails("--class-from without head", USAGE, ["--head"], "evaluate", *files, "--class-from", "head")
    tester.fails("one slot", USAGE, ["--slots"], "evaluate", *files[:12], "--class-from", "head", "--head", "head.pmfr")
    tester.save("other_labels.npy", np.load(tester.path("public_labels.npy")) + 5)
    tester.succeeds("other", *TRAIN[:-1], "other_labels.npy", "--out", "other.pmfr")
    tester.fails("labels that the pack does not know", INPUT, ["other.pmfr"], "evaluate", *files, "--class-from", "head", "--head",
                 "other.pmfr")


def test_fronts(tester, rows):
    """A head behind a front: trained with it, packed with it, asked through it."""
    tester.succeeds("front", "train", "--method", "gauss", "--features", "public.npy", "--dimensions", "9", "--out", "front.pmfr")
    tester.succeeds("head", *TRAIN, "--front", "front.pmfr", "--out", "behind.pmfr", *TEST)
    tester.succeeds("pack", "pack", "--features", "public.npy", "--front", "picture=front.pmfr", "--head", "behind.pmfr", "--cells",
                    "4", "--out", "behind.pmpk")
    front, head = read_front_file(tester.read("front.pmfr")), read_head_file(tester.read("behind.pmfr"))
    said = tester.json("guess", "guess", "--pack", "behind.pmpk", "--features", "test.npy", "--count", "1")
    wanted = [best_of(head, front.map(bits_from_floats(row.tolist())))[0] for row in rows]
    tester.check(head.d_in == 9 and [row["guesses"][0]["label"] for row in said["rows"]] == wanted, "guesses behind a front")
    tester.fails("a head for other features", INPUT, ["head.pmfr", "14", "9"], "pack", "--features", "public.npy", "--front",
                 "picture=front.pmfr", "--head", "head.pmfr", "--cells", "4", "--out", "never.pmpk")
    tester.fails("a head as a front", INPUT, ["behind.pmfr", "--head"], "pack", "--features", "public.npy", "--front",
                 "picture=behind.pmfr", "--cells", "4", "--out", "never.pmpk")
    tester.fails("a front as a head", INPUT, ["front.pmfr", "--front"], "pack", "--features", "public.npy", "--head", "front.pmfr",
                 "--cells", "4", "--out", "never.pmpk")
    tester.succeeds("narrow", "train", "--method", "signs", "--inputs", "9", "--dimensions", "4", "--out", "narrow.pmfr")
    tester.fails("a front of other rows", INPUT, ["9"], *TRAIN, "--front", "narrow.pmfr", "--out", "never.pmfr")


def test_errors(tester):
    guess = ("guess", "--pack", "head.pmpk", "--features", "test.npy")
    tester.fails("no head", INPUT, ["plain.pmpk", "--head"], "guess", "--pack", "plain.pmpk", "--features", "test.npy")
    tester.fails("too many guesses", USAGE, ["--count"], *guess, "--count", "65")
    tester.fails("no guesses", USAGE, ["--count"], *guess, "--count", "0")
    tester.fails("no such row", USAGE, ["--row"], *guess, "--row", "240")
    tester.fails("no such modality", USAGE, ["text"], *guess, "--modality", "text")
    tester.fails("looks that are left over", INPUT, ["7 looks"], *guess, "--looks", "7")
    tester.fails("too many looks", USAGE, ["--looks"], *guess, "--looks", "513")
    tester.save("narrow.npy", np.ones((2, 3), "<f4"))
    tester.fails("other features", INPUT, ["narrow.npy"], "guess", "--pack", "head.pmpk", "--features", "narrow.npy")
    tester.save("against.npy", np.array([[1.0] * FEATURES, [-1.0] * FEATURES], "<f4"))
    tester.fails("looks that cancel", INPUT, ["photo 0"], "guess", "--pack", "head.pmpk", "--features", "against.npy", "--looks", "2")
    data = bytearray(tester.read("head.pmfr"))
    tester.write("cut.pmfr", bytes(data[:-1]))
    struct.pack_into("<i", data, len(data) - 4, -2147483648)
    tester.write("damaged.pmfr", bytes(data))
    for name in ("cut.pmfr", "damaged.pmfr"):
        tester.fails(name, INPUT, [name], "pack", "--features", "public.npy", "--cells", "4", "--head", name, "--out", "never.pmpk")
    tester.fails("a head without labels", USAGE, ["--labels"], *TRAIN[:4], "--out", "never.pmfr")
    tester.fails("a head by pca", USAGE, ["lda"], *TRAIN, "--method", "pca", "--out", "never.pmfr")
    tester.fails("a head with roots", USAGE, ["--root"], *TRAIN, "--root", "--out", "never.pmfr")
    tester.fails("a front without a head", USAGE, ["--front"], "train", "--method", "pca", "--features", "public.npy",
                 "--dimensions", "4", "--front", "front.pmfr", "--out", "never.pmfr")
    tester.save("one.npy", np.zeros(ROWS, "<i4"))
    tester.fails("one class", INPUT, ["one class"], *TRAIN[:-1], "one.npy", "--out", "never.pmfr")
    tester.save("same.npy", np.tile(np.arange(1, FEATURES + 1, dtype="<f4"), (ROWS, 1)))
    tester.fails("rows that do not vary", INPUT, ["differ"], "train", "--head", "--features", "same.npy", "--labels",
                 "public_labels.npy", "--out", "never.pmfr")
    tester.fails("no such folder", OUTPUT, ["nowhere"], *TRAIN, "--out", "nowhere/head.pmfr")
    tester.check(not [name for name in os.listdir(tester.folder) if name.startswith("never")], "nothing half is left")


def main():
    with tempfile.TemporaryDirectory() as folder:
        tester, schemas = Tester(sys.argv[1], folder), read_schemas()
        rows, labels = make_data(tester)
        test_train(tester, schemas, rows, labels)
        test_pack(tester, schemas)
        test_guess(tester, schemas, rows)
        test_looks(tester, schemas)
        test_class_from_head(tester)
        test_fronts(tester, rows)
        test_errors(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    sys.exit(1 if tester.failed else 0)


main()
