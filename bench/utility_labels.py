# SPDX-License-Identifier: Apache-2.0
"""Several labels per picture, for bench/utility.py: C-GMVAE against binary relevance, a perceptron and the nearest rows.

A picture is composed of one to three pictures of CIFAR-100: its row is the mean of their rows of length 1, and it has their
classes and superclasses as labels. Pictures to train with, to validate with and to test with are composed of different
rows."""
import os

import numpy as np

from utility_data import FOLDER, cached, digest_of, stop, unit
from utility_own import build_of, markdown

COUNTS = {"train": 8000, "validation": 2000, "test": 4000}
VALIDATION_ROWS = 1500
# The superclass of each class of CIFAR-100, whose classes are numbered by their names in alphabetical order.
SUPERCLASS = np.array([
    4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7, 6, 13, 15, 3, 15, 0, 11, 1, 10, 12,
    14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10, 16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9,
    19, 2, 10, 0, 1, 16, 12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13])
CLASSES, SUPERCLASSES = 100, 20
MEASURES = ("example_f1", "micro_f1", "macro_f1", "hamming")
WAYS = {"nearest rows": "knn", "binary relevance": "binary_relevance", "perceptron": "mlp", "C-GMVAE": None}


def compose(case, rows, count, rng):
    features, labels = unit(case.raw[rows].astype(np.float64)), case.raw_labels[rows]
    pictures, marks = np.zeros((count, features.shape[1])), np.zeros((count, CLASSES + SUPERCLASSES), "u1")
    for picture, mark in zip(pictures, marks):
        parts = rng.choice(len(rows), rng.integers(1, 4), replace=False)
        picture[:] = unit(features[parts].mean(0))
        mark[labels[parts]] = mark[CLASSES + SUPERCLASS[labels[parts]]] = 1
    return pictures.astype("<f4"), marks


def files_of(case):
    """{part: (features, labels)}, and `half` beside `train`."""
    rng = np.random.default_rng(case.seed)
    rest = np.concatenate([case.parts["queries"], case.parts["gallery"]])
    rows = {"train": case.parts["public"], "validation": rest[:VALIDATION_ROWS], "test": rest[VALIDATION_ROWS:]}
    folder = os.path.join(FOLDER, "split", case.digest[:16])
    os.makedirs(folder, exist_ok=True)
    paths = {}
    for part, count in COUNTS.items():
        made = compose(case, rows[part], count, rng)
        for name, most in ((part, count), *((("half", count // 2),) if part == "train" else ())):
            paths[name] = tuple(os.path.join(folder, f"composed-{name}{end}.npy") for end in ("", "-labels"))
            for path, values in zip(paths[name], made):
                np.save(path, values[:most])
    return paths


def tell(program, case):
    def compute():
        files = files_of(case)
        words = [word for part in ("validation", "test") for word in ("--" + part, files[part][0], f"--{part}-labels", files[part][1])]
        return {part: program.run("train", "--method", "cgmvae", "--features", files[part][0], "--labels", files[part][1], *words,
                                  "--out", os.path.join(FOLDER, "labels.pmfr"), "--force", "--json") for part in ("train", "half")}
    return cached(compute, "labels", case.digest, build_of(program), digest_of("utility_labels"))


def lines_of(case, told):
    def cell(measures):
        return " / ".join(f"{measures[name]:.3f}" for name in MEASURES)

    rows = [[name, *(cell(told[part][key] if key else told[part]) for part in ("train", "half"))] for name, key in WAYS.items()]
    rows.append(["head of it in int8, micro-F1", *(f"{told[part]['head_micro_f1']:.3f}" for part in ("train", "half"))])
    return [f"{case.name}, split {case.seed}: example-F1 / micro-F1 / macro-F1 / Hamming accuracy", "",
            *markdown(["", f"{COUNTS['train']} pictures", "half of them"], rows)]


def table_labels(program, cases, _):
    chosen = [case for case in cases if case.folder.startswith("cifar100") and case.classes == CLASSES]
    if not chosen:
        stop("labels needs CIFAR-100: give --data with a folder cifar100…")
    told = [tell(program, case) for case in chosen]
    return None, told, [line for case, measures in zip(chosen, told) for line in lines_of(case, measures)]
