# SPDX-License-Identifier: Apache-2.0
"""NOT PRIVATE: for comparison only. Bounds of docs/PRIVACY.md in doubles: anchored (section 3), full graph (section 9)."""
import itertools
import math

import numpy as np

from paper_formulas import ALPHA, CLASSES, DIMENSIONS, PUBLIC, SIGMA, proof_kernel, squared_distances, unit


def random_pack(seed, n=PUBLIC):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, DIMENSIONS)), np.sort(rng.integers(0, CLASSES, n)), rng.normal(size=(CLASSES, DIMENSIONS))


def label_rows(codes, labels, slot_codes, neighbours):
    """u_s = (L_Y Q)_s of every slot: PRIVACY section 2, without the integers."""
    rows = []
    for slot, code in enumerate(slot_codes):
        nearest = np.argsort(np.abs(labels - slot), kind="stable")[:neighbours]
        weights = np.exp((labels[nearest] - slot) ** 2 / (-2 * SIGMA ** 2))
        rows.append(weights @ (code - codes[nearest]))
    return np.array(rows)


def anchored_sensitivity(codes, u, neighbours, directions=64):
    """PRIVACY theorems 1 to 3 in doubles, k = 2."""
    beta, t = proof_kernel(4), np.arange(neighbours + 1)
    widest = 0
    for angle in np.pi * np.arange(directions) / directions:
        v = np.array([math.cos(angle), math.sin(angle)])
        width = 0
        for sign in (1, -1):
            a = np.sort(codes @ v * -sign)[:neighbours] * -1
            head = np.r_[0, np.cumsum(a)]
            ratios = (head + beta * (head[-1] - head) + ALPHA * sign * (u @ v)[:, None]) / (t + beta * (neighbours - t))
            width = width + ratios.max(1)
        widest = max(widest, width.max() / 2)
    return widest / math.cos(math.pi / (2 * directions))


def full_bound(diameter, u_norms, beta, neighbours, changed, alpha):
    """PRIVACY theorem 10; the first `changed` rows hold the new records. u_norms: [trials] * rows."""
    def squares(h, norms):
        most = h + (neighbours - h) * beta
        spread = h * (1 - beta) / (neighbours * beta * most)
        return ((h / most * np.expand_dims(diameter, -1) + alpha * spread * norms) ** 2).sum(-1) / 4
    return np.sqrt(squares(neighbours, u_norms[..., :changed]) + squares(min(changed, neighbours), u_norms[..., changed:]))


def full_rows(x, q, u, sigma, neighbours, alpha):
    """One update of many full graphs at once: x is trials * rows * features, q and u trials * rows * k."""
    squared = squared_distances(x)
    squared[:, range(x.shape[1]), range(x.shape[1])] = np.inf
    nearest = np.argsort(squared, axis=2, kind="stable")[:, :, :neighbours]
    picked = np.minimum(np.take_along_axis(squared, nearest, 2), 4)
    weights = np.exp(picked / (-2 * sigma ** 2))
    codes = q[np.arange(len(x))[:, None, None], nearest]
    return q / 2 + ((weights[..., None] * codes).sum(2) + alpha * u) / (2 * weights.sum(2)[..., None])


def attack_full_graph(trials=1500):
    """Largest change / bound, for K = 1 and for K > 1, over random small graphs; half have the changed rows' codes apart."""
    rng, worst, tried = np.random.default_rng(9), [0, 0], 0
    for rows, neighbours, sigma, alpha, changed in itertools.product((4, 7), (1, 2, 3), (0.7, 1, 6), (0, 0.6), (1, 2)):
        x, other = (unit(rng.normal(size=(trials, rows, 3))) for _ in range(2))
        other[:, changed:] = x[:, changed:]
        q = rng.normal(size=(trials, rows, 2)) * rng.choice([0.01, 1], size=(trials, 1, 1))
        q[: trials // 2, :changed] += 1
        u = rng.normal(size=q.shape)
        change = full_rows(other, q, u, sigma, neighbours, alpha) - full_rows(x, q, u, sigma, neighbours, alpha)
        bound = full_bound(np.sqrt(squared_distances(q).max((1, 2))), np.linalg.norm(u, axis=2), math.exp(-2 / sigma ** 2),
                           neighbours, changed, alpha)
        several = neighbours > 1
        worst[several] = max(worst[several], (np.linalg.norm(change, axis=(1, 2)) / bound).max())
        tried += trials
    return *worst, tried
