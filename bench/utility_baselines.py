# SPDX-License-Identifier: Apache-2.0
"""Other private ways to ask, under the same adjacency (the query is replaced by any other), and what no way exceeds.

A method turns queries into distances (queries * gallery) by which a server ranks its gallery; utility_data.measure does
the rest alike for all.
"""
import math

import numpy as np

from utility_data import TOP, cached, digest_of, measure, summary

DELTA = 1e-5
DIMENSIONS, RADII = (1, 2, 4, 8, 16, 32, 64), (0.5, 0.9, 1.0)
DRAWS = 4


# Formulas --------------------------------------------------------------------------------------------------------

def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def phi_inverse(p):
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if phi(middle) < p else (low, middle)
    return high


def noise_ratio(epsilon, delta=DELTA):
    """Deviation over sensitivity of the analytic Gaussian mechanism (docs/PRIVACY.md, theorem 4)."""
    low, high = 1e-3, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        left, right = 0.5 / middle - epsilon * middle, -0.5 / middle - epsilon * middle
        # e^epsilon * phi(right) as one exponential, or it overflows
        tail = phi(right)
        excess = phi(left) - (math.exp(epsilon + math.log(tail)) if tail > 0 else 0)
        low, high = (middle, high) if excess > delta else (low, middle)
    return high


def curve(epsilon, share):
    """g: the most any pure epsilon mechanism finds when the answer carries this share (PRIVACY section 8)."""
    return share * math.exp(epsilon) / (1 + share * math.expm1(epsilon))


# Methods ---------------------------------------------------------------------------------------------------------

class Projection:
    """Private projection: a public map to k dimensions, clipped to a public radius, plus Gaussian noise."""

    def __init__(self, kind, case, dimensions, quantile):
        self.centre = case.public.mean(0)
        centred = case.public - self.centre
        if kind == "pca":
            self.matrix = np.linalg.eigh(centred.T @ centred)[1][:, :-dimensions - 1:-1]
        else:
            rng = np.random.default_rng(dimensions)
            self.matrix = rng.normal(size=(centred.shape[1], dimensions)) / math.sqrt(dimensions)
        norms = np.linalg.norm(centred @ self.matrix, axis=1)
        self.radius = float(np.quantile(norms, quantile))

    def place(self, rows):
        places = (rows - self.centre) @ self.matrix
        norms = np.linalg.norm(places, axis=1, keepdims=True)
        return places * np.minimum(1, self.radius / np.maximum(norms, 1e-300))

    def release(self, rows, epsilon, rng):
        """Two clipped places are at most two radii apart."""
        places = self.place(rows)
        return places + rng.normal(size=places.shape) * noise_ratio(epsilon) * 2 * self.radius

    def distances(self, case, epsilon, rng):
        released = self.release(case.queries, epsilon, rng).astype(np.float32)
        gallery = self.place(case.gallery).astype(np.float32)
        return (gallery ** 2).sum(1) - 2 * released @ gallery.T          # the query's own norm changes no order


class ClassResponse:
    """k-ary randomized response over the classes; the server sends the released class, then what looks like it.

    `prototype`: nearest to the public mean of the class first; otherwise in random order. Uses the query's true class.
    """

    def __init__(self, case, prototype):
        self.prototype = prototype
        means = np.array([case.public[case.public_labels == label].sum(0) if (case.public_labels == label).any()
                          else case.public.sum(0) for label in range(case.classes)])
        self.likeness = (means / np.linalg.norm(means, axis=1, keepdims=True)) @ case.gallery.T
        self.members = case.labels == np.arange(case.classes)[:, None]

    def distances(self, case, epsilon, rng):
        keep = math.exp(epsilon) / (math.exp(epsilon) + case.classes - 1)
        others = (case.query_labels + rng.integers(1, case.classes, len(case.queries))) % case.classes
        released = np.where(rng.random(len(case.queries)) < keep, case.query_labels, others)
        order = self.likeness[released] if self.prototype else rng.random(case.cosines.shape)
        return -order - 4.0 * self.members[released]


def random_distances(case, _, rng):
    return rng.random(case.cosines.shape, dtype=np.float32)


# Runs ------------------------------------------------------------------------------------------------------------

def run(case, distances, epsilon, shares, draws=DRAWS, seed=0):
    """One row for every share."""
    counts, rng = [case.count(share) for share in shares], np.random.default_rng([seed, round(1000 * epsilon)])
    samples = [measure(case, distances(case, epsilon, rng), counts) for _ in range(draws)]
    return [{"epsilon": epsilon, "share": share, "carried": count, **summary([sample[count] for sample in samples])}
            for share, count in zip(shares, counts)]


def best_projections(kind, case, epsilons, shares):
    """{(epsilon, share): (dimensions, quantile)}, the best on public rows alone."""
    inside, best = case.inside(), {}
    for dimensions in DIMENSIONS:
        if dimensions > case.public.shape[1]:
            continue
        for quantile in RADII:
            projection = Projection(kind, inside, dimensions, quantile)
            for epsilon in epsilons:
                for row in run(inside, projection.distances, epsilon, shares, draws=2, seed=1):
                    key = epsilon, row["share"]
                    found = row["instance_recall"], dimensions, quantile
                    best[key] = max(best.get(key, found), found)
    return {key: found[1:] for key, found in best.items()}


def projection_rows(kind, case, epsilons, shares):
    rows = []
    for (epsilon, share), (dimensions, quantile) in best_projections(kind, case, epsilons, shares).items():
        row, = run(case, Projection(kind, case, dimensions, quantile).distances, epsilon, [share])
        rows.append({**row, "dimensions": dimensions, "quantile": quantile})
    return rows


def response_rows(prototype, case, epsilons, shares):
    response = ClassResponse(case, prototype)
    return [row for epsilon in epsilons for row in run(case, response.distances, epsilon, shares)]


def constant_rows(distances, case, epsilons, shares, draws):
    """A method that does not know epsilon, repeated for each of them."""
    rows = run(case, distances, 0, shares, draws)
    return [{**row, "epsilon": epsilon} for epsilon in epsilons for row in rows]


METHODS = {
    "trivial": ("a random share, no query sent", lambda *case: constant_rows(random_distances, *case, DRAWS)),
    "projection": ("private random projection", lambda *case: projection_rows("random", *case)),
    "pca": ("private PCA", lambda *case: projection_rows("pca", *case)),
    "class_random": ("class response, random items", lambda *case: response_rows(False, *case)),
    "class_prototype": ("class response, nearest to the class mean", lambda *case: response_rows(True, *case)),
    "features": ("features themselves (NOT PRIVATE)", lambda *case: constant_rows(lambda c, *_: -c.cosines, *case, 1)),
}


def baseline(name, case, epsilons, shares):
    return cached(lambda: METHODS[name][1](case, epsilons, shares), "baseline-" + name, case.digest, epsilons, shares,
                  TOP, digest_of("utility_baselines", "utility_data"))
