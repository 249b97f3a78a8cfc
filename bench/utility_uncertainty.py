# SPDX-License-Identifier: Apache-2.0
"""Kernel methods of graph embedding with uncertain rows (NGEU), for bench/utility.py: digits with noise that is known per
sample, and the USPS column of that paper's Table 1. Fronts are trained by `privatemail train` and measured in the arithmetic
of the device, by the vote of the 5 nearest training rows. Beside them stands the paper's own form in floats, where the
uncertainty of every query is known, which no device knows."""
import os
import tempfile

import numpy as np

from utility_data import cached, digest_of, stop, unit
from utility_own import build_of, markdown

SPLITS = (1, 2, 3)                # grids of the trainers were chosen with split 0
TRAINED, NEAREST = 500, 5
NOISES = {"the same noise, 0.3": (0.3, 0.3), "noise 0.05 … 0.6": (0.05, 0.6)}
DIMENSIONS = {"kpca": 32, "kda": 9, "kmfa": 32}      # the largest of the paper's lists; of kda one fewer than classes
USPS_KDA = 8                      # its list ends there
NAMES = {"kpca": "KPCA", "kda": "KDA", "kmfa": "KMFA"}
NO_RIDGE = 1e-9
WIDTHS, RIDGES = (1.4, 1.0, 0.7, 0.5, 0.35), (1e-9, 1e-3, 0.01, 0.1, 1.0)
# Table 1, USPS: graph embedding, and with uncertainty.
PAPER = {"kpca": (0.9417, 0.9143), "kda": (0.8840, 0.9442), "kmfa": (0.8999, 0.9004)}
USPS_TRAINED, USPS_CHOOSING, USPS_HELD, USPS_TEST, USPS_CENTRES = 6000, 2000, slice(6291, 7291), slice(7291, 9298), 256
USPS_PARTS = (0.1, 0.4, 2.0)      # of the squared distance to the nearest row; chosen with 2000 rows, on the held-out ones


def load(data, name):
    folder = os.path.join(data, name)
    if not os.path.exists(os.path.join(folder, "features.npy")):
        stop(f"there is no {folder}: give --data the folder of the data sets")
    return np.load(os.path.join(folder, "features.npy")).astype("<f4"), np.load(os.path.join(folder, "labels.npy")).astype("<i4")


def squares(left, right):
    return np.maximum(0.0, (left ** 2).sum(1)[:, None] - 2 * left @ right.T + (right ** 2).sum(1)[None])


def vote(rows, labels, queries, wanted):
    """Accuracy of the 5 nearest; of classes with as many votes the one that is nearer wins."""
    near = labels[np.argsort(squares(queries, rows), axis=1, kind="stable")[:, :NEAREST]]
    votes = (near[:, :, None] == near[:, None, :]).sum(2)
    return float(np.mean(near[np.arange(len(near)), votes.argmax(1)] == wanted))


# The command -------------------------------------------------------------------------------------------------------

def train(program, method, centres, rows, test, dimensions, more=()):
    """rows: features, labels and variances; test: features and labels. {nn_accuracy, ridge_nn_accuracy, …}"""
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for option, values in zip(("features", "labels", "uncertainty", "test", "test-labels"), (*rows, *test)):
            if values is not None:
                path = os.path.join(folder, option + ".npy")
                np.save(path, np.ascontiguousarray(values))
                words += ["--" + option, path]
        return program.run("train", "--method", method, *words, "--dimensions", dimensions, "--centres", centres,
                           *more, "--out", os.path.join(folder, "front.pmfr"), "--json")


# The paper's form, in floats ---------------------------------------------------------------------------------------

def kernel(left, left_variances, right, right_variances, width):
    """Equation (8) for e^(−|x − z|²/width²) and normal distributions, divided by its value for x = z and mean variances."""
    total = width ** 2 + 2 * (left_variances[:, None] + right_variances[None])
    mean = width ** 2 + 4 * right_variances.mean()
    return (mean / total) ** (left.shape[1] / 2) * np.exp(-squares(left, right) / total)


def discriminants(kernels, labels, ridge, dimensions):
    """KDA by its definition: the scatter between classes over that within them, with a ridge."""
    mean = kernels.mean(0)
    between, within = np.zeros((2, len(mean), len(mean)))
    for label in np.unique(labels):
        own = kernels[labels == label]
        between += len(own) * np.outer(own.mean(0) - mean, own.mean(0) - mean)
        within += (own - own.mean(0)).T @ (own - own.mean(0))
    size = within / np.trace(within) + ridge * kernels / np.trace(kernels) + 1e-11 * np.eye(len(mean)) / len(mean)
    half = np.linalg.inv(np.linalg.cholesky((size + size.T) / 2))
    return half.T @ np.linalg.eigh(half @ between @ half.T)[1][:, :-dimensions - 1:-1]


def floats(rows, test, uncertain):
    """KDA of rows of length 1, with or without uncertainty: ridge 1e-9, and a ridge chosen on a third of the rows."""
    def unit_of(features, variances):
        length = np.linalg.norm(features.astype(np.float64), axis=1)
        return features / length[:, None], variances / length ** 2 if uncertain else np.zeros(len(features))

    def accuracy(x, u, labels, z, v, wanted, width, ridge):
        fitted = discriminants(kernel(x, u, x, u, width), labels, ridge, DIMENSIONS["kda"])
        mapped, asked = (kernel(*part, x, u, width) @ fitted for part in ((x, u), (z, v)))
        return vote(unit(mapped - mapped.mean(0)), labels, unit(asked - mapped.mean(0)), wanted)    # by cosines, as devices do

    x, u = unit_of(rows[0], rows[2])
    z, v = unit_of(test[0], test[2])
    third = len(x) // 3
    median = np.sqrt(np.median(squares(x, x)[np.triu_indices(len(x), 1)]))
    found = {(width, ridge): accuracy(x[third:], u[third:], rows[1][third:], x[:third], u[:third], rows[1][:third],
                                      width * median, ridge) for width in WIDTHS for ridge in RIDGES}
    bare = max((key for key in found if key[1] == NO_RIDGE), key=found.get)
    return [accuracy(x, u, rows[1], z, v, test[1], key[0] * median, key[1]) for key in (bare, max(found, key=found.get))]


# Digits ------------------------------------------------------------------------------------------------------------

def noisy_digits(data, split, least, most):
    """Rows and test rows: features with noise, labels, variances."""
    features, labels = load(data, "digits64")
    rng = np.random.default_rng(split)
    order = rng.permutation(len(features))
    deviations = rng.uniform(least, most, len(features))
    rows = (features[order] / 16 + deviations[:, None] * rng.normal(size=features.shape)).astype("<f4")
    parts = (rows, labels[order], (deviations ** 2).astype("<f4"))
    return [part[:TRAINED] for part in parts], [part[TRAINED:] for part in parts]


def digits(program, data, split, noise):
    def compute():
        rows, test = noisy_digits(data, split, *NOISES[noise])
        certain = (rows[0], rows[1], None)
        result = {"5-NN, no reduction": vote(rows[0], rows[1], test[0], test[1])}
        for method, name in NAMES.items():
            def run(of, *more):
                return train(program, method, TRAINED, of, test[:2], DIMENSIONS[method], more)
            both = run(rows)
            if method == "kpca":
                result[name], result[name + ", uncertainty"] = both["ridge_nn_accuracy"], both["nn_accuracy"]
                continue
            result[name + ", no ridge"] = run(certain, "--ridge", NO_RIDGE)["nn_accuracy"]
            result[name + ", ridge chosen"] = both["ridge_nn_accuracy"]
            result[name + ", uncertainty, no ridge"] = run(rows, "--ridge", NO_RIDGE)["nn_accuracy"]
            result[name + ", uncertainty, ridge chosen"] = both["nn_accuracy"]
        for uncertain, name in ((False, "KDA in floats"), (True, "KDA in floats, uncertainty, also of queries")):
            result[name + ", no ridge"], result[name + ", ridge chosen"] = floats(rows, test, uncertain)
        return result
    return cached(compute, "uncertainty-digits", split, noise, build_of(program), digest_of("utility_uncertainty"))


def digit_lines(results):
    def cell(values):
        return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"
    table = [[name, *(cell([one[name] for one in results[noise]]) for noise in NOISES)] for name in next(iter(results.values()))[0]]
    return markdown(["digits64, 500 training rows", *NOISES], table)


# USPS, the paper's protocol ----------------------------------------------------------------------------------------

def usps_run(program, data, method, trained, part, asked, *more):
    """The first `trained` rows; their variance is a part of the squared distance to the nearest of them, None for certain."""
    def compute():
        features, labels = load(data, "usps256")
        rows = features[:trained].astype(np.float64)
        apart = squares(rows, rows)
        np.fill_diagonal(apart, np.inf)
        variances = None if part is None else (part * apart.min(1) / rows.shape[1]).astype("<f4")    # per feature
        dimensions = USPS_KDA if method == "kda" else DIMENSIONS[method]
        made = train(program, method, USPS_CENTRES, (features[:trained], labels[:trained], variances),
                     (features[asked], labels[asked]), dimensions, more)
        return {key: made[key] for key in ("nn_accuracy", "ridge_nn_accuracy")}
    return cached(compute, "uncertainty-usps", method, trained, part, str(asked), more, build_of(program),
                  digest_of("utility_uncertainty"))


def usps(program, data, method):
    best = max(USPS_PARTS, key=lambda part: usps_run(program, data, method, USPS_CHOOSING, part, USPS_HELD)["nn_accuracy"])
    both = usps_run(program, data, method, USPS_TRAINED, best, USPS_TEST)
    result = {"part": best, "certain": both["ridge_nn_accuracy"], "uncertain": both["nn_accuracy"]}
    if method != "kpca":
        for key, part in (("bare", None), ("uncertain_bare", best)):
            result[key] = usps_run(program, data, method, USPS_TRAINED, part, USPS_TEST, "--ridge", NO_RIDGE)["nn_accuracy"]
    return result


def usps_lines(found, plain):
    def cell(value):
        return "" if value is None else f"{value:.4f}"
    table = [[NAMES[method], cell(PAPER[method][0]), cell(PAPER[method][1]), cell(one.get("bare")), cell(one["certain"]),
              cell(one.get("uncertain_bare")), cell(one["uncertain"]), f"{one['part']:g}"] for method, one in found.items()]
    return [*markdown(["USPS, 6000 training rows", "paper", "paper, uncertainty", "no ridge", "ridge chosen", "uncertainty, no ridge",
                       "uncertainty, ridge chosen", "part"], table), f"5-NN of the pixels: {plain:.4f}; the paper has 0.9457.", ""]


def table_uncertainty(program, _cases, _share, data=None):
    if not data:
        stop("uncertain rows need the data sets digits64 and usps256: give --data DIR")
    results = {noise: [digits(program, data, split, noise) for split in SPLITS] for noise in NOISES}
    lines = digit_lines(results)
    features, labels = load(data, "usps256")
    plain = vote(features[:USPS_TRAINED], labels[:USPS_TRAINED], features[USPS_TEST], labels[USPS_TEST])
    found = {method: usps(program, data, method) for method in NAMES}
    return None, {"digits": results, "usps": found, "usps_plain": plain}, lines + usps_lines(found, plain)
