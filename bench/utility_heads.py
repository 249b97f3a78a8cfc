# SPDX-License-Identifier: Apache-2.0
"""What a head and several looks give, for bench/utility.py: labels guessed on the device, and the mean of moved digits.

Heads are trained by `privatemail train --head` on the public rows and tested on all others, in the arithmetic of the device.
Splits are shuffled by seeds 0, 1 and 2. Nothing was tuned: shrinkage and equal priors are what was tried first, on seed 0."""
import os

import numpy as np

from utility_data import FOLDER, TOP, Case, cached, digest_of, stop
from utility_own import build_of, markdown

SEEDS = (0, 1, 2)
DIGITS, DIGIT_QUERIES, DIGIT_GALLERY, SIDE = "usps256", 500, 3000, 16
SHIFTS = [(down, right) for down in (0, -1, 1) for right in (0, -1, 1)]
EPSILON, SHARE = 4, 0.05


def save(folder, name, values):
    path = os.path.join(folder, name + ".npy")
    np.save(path, values)
    return path


# Heads -------------------------------------------------------------------------------------------------------------

def shares_right(ranked, labels):
    """Top-1 and top-5 of lists of labels, the likeliest first."""
    return [float((ranked[:, :count] == labels[:, None]).any(1).mean()) for count in (1, 5)]


def vote(train, train_labels, test, classes):
    """Labels by the number of the 8 nearest rows that have them, of equals the one whose rows are nearer."""
    cosines = test @ train.T
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :TOP]
    scores = np.zeros((len(test), classes))
    for place in range(TOP):
        column = nearest[:, place]
        np.add.at(scores, (np.arange(len(test)), train_labels[column]), 1 + 1e-3 * cosines[np.arange(len(test)), column])
    return np.argsort(-scores, axis=1, kind="stable")[:, :5]


def by_means(train, train_labels, test, classes):
    means = np.stack([train[train_labels == c].mean(0) for c in range(classes)])
    return np.argsort(-(test @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T), axis=1, kind="stable")[:, :5]


def head_of(program, case, folder):
    """The trained head's file, and what train says about it on all rows that are not public."""
    others = np.concatenate([case.parts["queries"], case.parts["gallery"]])
    public = case.files()["public"]
    out = os.path.join(folder, "head.pmfr")
    said = program.run("train", "--head", "--features", public[0], "--labels", public[1], "--out", out, "--force", "--test",
                       save(folder, "others", case.raw[others]), "--test-labels",
                       save(folder, "others_labels", case.raw_labels[others]), "--json")
    return out, said


def measure_heads(program, case, private):
    """`private`: also with slots by class, the class from the head or from a vote of public rows."""
    def compute():
        folder = os.path.join(FOLDER, "heads", case.digest[:16])
        os.makedirs(folder, exist_ok=True)
        head, said = head_of(program, case, folder)
        rest = np.concatenate([case.queries, case.gallery])
        labels = np.concatenate([case.query_labels, case.labels])
        rows = {"vote": shares_right(vote(case.public, case.public_labels, rest, case.classes), labels),
                "means": shares_right(by_means(case.public, case.public_labels, rest, case.classes), labels),
                "head": [said["accuracy"], said["accuracy_5"]], "bytes": said["bytes"], "rows": len(rest)}
        files = case.files()
        words = [word for part in ("public", "gallery", "queries")
                 for word in (f"--{part}", files[part][0], f"--{part}-labels", files[part][1])]
        for source in ("predicted", "head") if private else ():
            row = program.run("evaluate", *words, "--slots", "class", "--class-from", source, *(["--head", head] if source == "head" else []),
                              "--epsilon", EPSILON, "--share", SHARE, "--releases", 2, "--json")["rows"][0]
            rows["private_" + source] = {key: row[key] for key in ("class_recall", "class_recall_se", "precision_at_8", "precision_at_8_se")}
        return rows
    return cached(compute, "heads", case.digest, private, build_of(program), digest_of("utility_heads"))


def table_heads(program, cases, share):
    """Label guesses on the device, as top-1 / top-5; seed 0 was looked at while it was built, 1 and 2 were not."""
    table, values = [], []
    for case in cases:
        for seed in SEEDS:
            split = case if case.seed == seed else Case(case.folder, case.raw, case.raw_labels, seed)
            found = measure_heads(program, split, seed == 1)
            values.append({"name": case.name, "seed": seed, **found})
            table.append([case.name, str(seed), str(found["rows"]), *(" / ".join(f"{value:.3f}" for value in found[method])
                                                                     for method in ("vote", "means", "head")), f"{found['bytes']:,}"])
    lines = ["### Label heads", "", *markdown(["set", "split", "rows asked", "8-NN vote of public rows", "nearest class mean",
                                               "LDA head, int8", "bytes"], table), ""]
    table = [[row["name"], {"predicted": "8-NN vote", "head": "LDA head"}[source],
              *(f"{row['private_' + source][key]:.3f} ± {row['private_' + source][key + '_se']:.3f}" for key in ("class_recall", "precision_at_8"))]
             for row in values if "private_head" in row for source in ("predicted", "head")]
    lines += [f"A private search with a slot per class, ε = {EPSILON}, share {SHARE:g}, split 1:", "",
              *markdown(["set", "class from", "class recall at 8", "class precision at 8"], table), ""]
    return None, values, lines


# Looks -------------------------------------------------------------------------------------------------------------

def moved(pictures, down, right):
    """Pictures moved by a pixel or none; what comes in is background."""
    square = pictures.reshape(-1, SIDE, SIDE)
    wide = np.pad(square, ((0, 0), (1, 1), (1, 1)), constant_values=square.min())
    return wide[:, 1 - down:1 - down + SIDE, 1 - right:1 - right + SIDE].reshape(len(pictures), -1)


def measure_looks(program, data, seed):
    def compute():
        source = os.path.join(data, DIGITS)
        if not os.path.isdir(source):
            stop(f"there is no {source}: --figure looks needs the digits")
        folder = os.path.join(FOLDER, "looks", str(seed))
        os.makedirs(folder, exist_ok=True)
        features, labels = (np.load(os.path.join(source, name + ".npy")) for name in ("features", "labels"))
        random = np.random.default_rng(seed)
        order = random.permutation(len(labels))
        asked, gallery, public = np.split(order, [DIGIT_QUERIES, DIGIT_QUERIES + DIGIT_GALLERY])
        looks = np.stack([moved(features[asked], *shift) for shift in SHIFTS], axis=1)
        looks = np.stack([burst[random.permutation(len(SHIFTS))] for burst in looks])    # one look is the first of them
        words = ["--queries-labels", save(folder, "queries_labels", labels[asked].astype("<i4"))]
        for part, chosen in (("gallery", gallery), ("public", public)):
            words += [f"--{part}", save(folder, part, features[chosen].astype("<f4")), f"--{part}-labels",
                      save(folder, part + "_labels", labels[chosen].astype("<i4"))]
        rows = {}
        for count in (1, 9):
            queries = save(folder, f"queries_{count}", np.ascontiguousarray(looks[:, :count]).reshape(-1, SIDE * SIDE).astype("<f4"))
            rows[str(count)] = program.run("evaluate", *words, "--queries", queries, "--looks", count, "--epsilon", EPSILON,
                                           "--share", SHARE, "--json")["rows"][0]
        return rows
    return cached(compute, "looks", seed, build_of(program), digest_of("utility_heads"))


def table_looks(program, cases, share, data):
    """A burst of nine pictures of a digit by a hand that shakes, each moved by up to a pixel: one of them asks, or their mean."""
    table, values = [], []
    for seed in SEEDS:
        found = measure_looks(program, data, seed)
        values.append({"seed": seed, **found})
        for count, row in found.items():
            table.append([str(seed), count, f"{row['exact_precision_at_8']:.3f}",
                          f"{row['precision_at_8']:.3f} ± {row['precision_at_8_se']:.3f}"])
    lines = ["### Several looks at one photo", "", *markdown(
        ["split", "looks", "class precision at 8, not private", f"the same, private: ε = {EPSILON}, share {SHARE:g}"], table), ""]
    return None, values, lines
