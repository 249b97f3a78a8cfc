# SPDX-License-Identifier: Apache-2.0
"""DP-dSNE, the unsupervised private embedding that the paper compares with: t-SNE of several sites which share public
rows, with clipped and noised gradients.

The paper names it and says no more, so this is assumed:
* Two sites: the client with its query, the server with its gallery. Both know the map of the shared public rows.
* Averaging makes the sites agree about the shared rows. Here they agree from the start, for these rows are public, and
  no noise is spent on them. That is the best case for the method.
* Each site places its own rows among the shared ones by descending t-SNE's objective. The server's rows are its own and
  get no noise. The client starts at the centre of the map, and the gradient of its row is clipped and noised at each of
  T steps, with the early exaggeration of t-SNE. All T noised gradients are released; the place is computed from them.
* A query is replaced by any other, so a clipped gradient moves by twice the clipping norm. T such releases are one
  Gaussian mechanism of √T times the sensitivity, exactly, also when a step depends on those before.
* Steps, clipping norm and how far the steps can reach are the best on public rows, as for the other baselines.
"""
import numpy as np

from utility_baselines import DRAWS, noise_ratio, run
from utility_data import cached, digest_of

SOURCES = "utility_dsne", "utility_baselines", "utility_data"
SHARED, PERPLEXITY, DESCENT, EXAGGERATED, EXAGGERATION = 1000, 30, 350, 100, 12
STEPS, CLIPS, REACHES = (1, 5, 20), (0.2, 0.8), (0.25, 0.5, 1.0)


METHODS = {"dsne": ("DP-dSNE", True), "dsne_free": ("DP-dSNE without noise (NOT PRIVATE)", False)}


def squared(rows, others):
    return np.maximum((rows ** 2).sum(1)[:, None] + (others ** 2).sum(1) - 2 * rows @ others.T, 0)


def affinities(squares, perplexity=PERPLEXITY):
    """Rows of weights that sum to 1 and have this perplexity; an infinite distance weighs nothing."""
    finite = np.where(np.isfinite(squares), squares, np.nan)
    shifted = squares - np.nanmin(finite, axis=1, keepdims=True)
    low, high = np.zeros(len(squares)), np.full(len(squares), np.inf)
    precision = 1 / np.maximum(np.nanmean(finite, axis=1), 1e-300)
    for _ in range(60):
        weights = np.exp(-precision[:, None] * shifted)
        total = weights.sum(1)
        entropy = np.log(total) + precision * (weights * np.where(weights > 0, shifted, 0)).sum(1) / total
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, precision, low), np.where(wide, high, precision)
        precision = np.where(np.isinf(high), 2 * precision, (low + high) / 2)
    return weights / total[:, None]


def map_of(rows):
    """t-SNE of a few rows in two dimensions, exact: (n, 2)."""
    squares = squared(rows, rows)
    np.fill_diagonal(squares, np.inf)
    joint = affinities(squares)
    joint = (joint + joint.T) / (2 * len(rows))
    centred = rows - rows.mean(0)
    places = centred @ np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
    places *= 1e-2 / places[:, 0].std()
    rate, move, gains = max(50.0, len(rows) / 4), np.zeros_like(places), np.ones_like(places)
    for step in range(DESCENT):
        near = 1 / (1 + squared(places, places))
        np.fill_diagonal(near, 0)
        force = (joint * (EXAGGERATION if step < EXAGGERATED else 1) - near / near.sum()) * near
        slope = 4 * (force.sum(1)[:, None] * places - force @ places)
        gains = np.maximum(np.where(slope * move < 0, gains + 0.2, gains * 0.8), 0.01)
        move = (0.5 if step < EXAGGERATED else 0.8) * move - rate * gains * slope
        places = places + move
    return places - places.mean(0)


class Sites:
    """The shared map, and rows placed in it."""

    def __init__(self, case):
        self.rows = case.public[:SHARED]
        self.shared = map_of(self.rows)
        self.radius = float(np.linalg.norm(self.shared, axis=1).max())
        self.gallery = self.settle(self.weights(case.gallery))
        self.queries = self.weights(case.queries)
        # of public rows at the start: what clipping norms are taken from
        self.slopes = np.linalg.norm(self.slope(self.weights(case.public[-SHARED:]), 0, EXAGGERATION), axis=1)

    def weights(self, rows):
        return affinities(squared(rows, self.rows)).astype(np.float32)

    def slope(self, weights, places, exaggeration=1):
        """The gradient of Kullback and Leibler's divergence by the places (rows * 2, or 0: the centre)."""
        places = np.zeros((len(weights), 2)) + places
        near = 1 / (1 + squared(places, self.shared))
        force = (exaggeration * weights - near / near.sum(1, keepdims=True)) * near
        return 2 * (force.sum(1)[:, None] * places - force @ self.shared)

    def settle(self, weights, steps=30):
        """A site's own rows, without noise: from the mean of the neighbours' places down the slope."""
        places = weights @ self.shared
        for _ in range(steps):
            slope = self.slope(weights, places)
            length = np.linalg.norm(slope, axis=1, keepdims=True)
            places = places - slope * np.minimum(1, 0.02 * self.radius / np.maximum(length, 1e-300))
        return places

    def release(self, weights, steps, clip, reach, epsilon, rng):
        """Where T clipped and noised steps of the client lead. epsilon None: no noise (NOT PRIVATE)."""
        norm = float(np.quantile(self.slopes, clip))
        rate = reach * self.radius / (steps * norm)
        deviation = 0 if epsilon is None else noise_ratio(epsilon) * 2 * norm * np.sqrt(steps)
        places = np.zeros((len(weights), 2))
        for _ in range(steps):
            slope = clipped(self.slope(weights, places, EXAGGERATION), norm)
            places = places - rate * (slope + deviation * rng.normal(size=places.shape))
        return places

    def distances(self, steps, clip, reach, noise=True):
        def of(_, epsilon, rng):
            places = self.release(self.queries, steps, clip, reach, epsilon if noise else None, rng)
            return squared(places, self.gallery).astype(np.float32)
        return of


def clipped(rows, norm):
    return rows * np.minimum(1, norm / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))


def choices():
    return [(steps, clip, reach) for steps in STEPS for clip in CLIPS for reach in REACHES]


def best_choices(case, epsilons, shares):
    """{(epsilon or None, share): choice}, on public rows alone."""
    inside, best = case.inside(), {}
    sites = Sites(inside)
    for choice in choices():
        for epsilon in [None, *epsilons]:
            method = sites.distances(*choice, noise=epsilon is not None)
            for row in run(inside, method, epsilon or 0, shares, draws=2 if epsilon else 1, seed=1):
                key, found = (epsilon, row["share"]), (row["instance_recall"], choice)
                best[key] = max(best.get(key, found), found)
    return {key: choice for key, (_, choice) in best.items()}


def dsne_rows(case, epsilons, shares):
    best, sites, rows = best_choices(case, epsilons, shares), Sites(case), []
    for (epsilon, share), choice in best.items():
        noise = epsilon is not None
        row, = run(case, sites.distances(*choice, noise=noise), epsilon or 0, [share], DRAWS if noise else 1)
        rows.append({**row, "noise": noise, "steps": choice[0], "clip": choice[1], "reach": choice[2]})
    return rows


def dsne(case, epsilons, shares, noise=True):
    rows = cached(lambda: dsne_rows(case, epsilons, shares), "dsne", case.digest, epsilons, shares, digest_of(*SOURCES))
    chosen = [row for row in rows if row["noise"] == noise]
    return chosen if noise else [{**row, "epsilon": epsilon} for epsilon in epsilons for row in chosen]


# Checks of bench/utility.py --check ------------------------------------------------------------------------------

def check_dsne(checks, case):
    sites, share = Sites(case), 0.05
    count = case.count(share) / len(case.gallery)
    entropies = [-(row[row > 0] * np.log(row[row > 0])).sum() for row in sites.queries.astype(float)]
    checks.near(np.exp(np.median(entropies)), PERPLEXITY, 0.1, "DP-dSNE: perplexity of a query's neighbours")
    place, weights = np.array([[0.7, -1.3]]), sites.queries[:1]

    def divergence(point):
        near = 1 / (1 + squared(point, sites.shared)[0])
        used = weights[0] > 0
        return (weights[0][used] * np.log(weights[0][used] / (near / near.sum())[used])).sum()
    numeric = [(divergence(place + step) - divergence(place - step)) / 2e-4 for step in 1e-4 * np.eye(2)]
    checks.near(np.abs(sites.slope(weights, place)[0] - numeric).max(), 0, 1e-3, "DP-dSNE: its gradient is that of the divergence")
    far = sites.release(1e6 * sites.queries, 1, 0.2, 1.0, None, np.random.default_rng(0))
    checks.expect(np.linalg.norm(far, axis=1).max() <= sites.radius * (1 + 1e-9), "DP-dSNE clips what a step can move")
    many = np.repeat(weights, 4000, axis=0)
    spread = sites.release(many, 5, 0.2, 1.0, 1, np.random.default_rng(0)) - \
        sites.release(weights, 5, 0.2, 1.0, None, np.random.default_rng(0))
    # all gradients are clipped to the same length while noise dominates, so the last place holds the noise of all steps
    wanted = noise_ratio(1) * 2 * sites.radius
    checks.expect(0.95 * wanted < spread.std() < 1.35 * wanted, f"DP-dSNE adds the noise of all its steps: {spread.std():.4g}, "
                  f"wanted about {wanted:.4g}")
    free, = run(case, sites.distances(20, 0.2, 1.0, noise=False), 0, [share], 1)
    little, = run(case, sites.distances(20, 0.2, 1.0), 1e-3, [share], 4)
    checks.expect(free["instance_recall"] > 3 * count, f"DP-dSNE without noise finds {free['instance_recall']:.2f}")
    checks.near(little["instance_recall"], count, 0.05, "DP-dSNE: little ε is a random download")
