#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NOT PRIVATE: for comparison only. A figure for each defect of the PrivateMail paper and its published code.

    python3 bench/paper_defects.py            a table
    python3 bench/paper_defects.py --json     the same as JSON
    python3 bench/paper_defects.py --check    are the figures in their ranges? "N passed, N failed"

Items 1 to 8 are those of docs/PRIVACY.md section 10, item 9 is about its section 9. Seeds are fixed; needs numpy only.
"""
import itertools
import json
import math
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")        # small matrices: threads only cost
import numpy as np

from graph_bounds import (anchored_sensitivity, attack_full_graph, full_bound, full_rows, label_rows, random_pack)
from paper_formulas import (ALPHA, CLASSES, CLASSIC, DELTA, DIMENSIONS, PUBLIC, SIGMA, SIGMA_Q, align, code_embedding,
                            code_kernel, code_labels, lemma_m, paper_labels, paper_sensitivity, proof_kernel, sparse_operator,
                            squared_distances, unit)


def result(number, defect, computed, figure, **values):
    return {"number": number, "defect": defect, "computed": computed, "figure": figure,
            "values": {name: float(value) for name, value in values.items()}}


def gaussian_delta(ratio, epsilon):
    """Exact delta of Gaussian noise of deviation ratio * sensitivity (PRIVACY theorem 4)."""
    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2
    return phi(0.5 / ratio - epsilon * ratio) - math.exp(epsilon) * phi(-0.5 / ratio - epsilon * ratio)


def bisect(is_low, low, high):
    """The place between low and high up to which is_low holds."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return high


# 1 -----------------------------------------------------------------------------------------------------------

def variance_as_deviation():
    """The code gives numpy's `scale`, a deviation, the value 2 ln(1.25/delta) D^2/eps^2, a variance."""
    n = PUBLIC + 1
    q_norm = SIGMA_Q * math.sqrt(n * DIMENSIONS)
    values = {}
    for name, typo in (("code", True), ("paper", False)):
        sensitivity = paper_sensitivity(n, q_norm, typo=typo)
        for epsilon in (0.01, 0.1):
            right, used = CLASSIC * sensitivity / epsilon, (CLASSIC * sensitivity / epsilon) ** 2
            values["%s_%g" % (name, epsilon)] = right / used
    return result(1, "a variance used as a deviation", "deviation needed / used, Cars196, n = 1001, eps 0.01 and 0.1",
                  "%.0f and %.0f (with lemma 1 as printed in the paper: %.0f and %.0f)" % tuple(values.values()), **values)


# 2 ------------------------------------------------------------------------------------------------------------

def code_recall(rng, label_graph, variants, queries, per_class=15):
    """Hits of the code's class recall@8 in one draw of random features; variants: (what the query puts in, noise)."""
    gallery, public = np.repeat(np.arange(CLASSES), per_class), rng.integers(0, CLASSES, PUBLIC)
    x, public_x = unit(rng.normal(size=(len(gallery), 64))), unit(rng.normal(size=(PUBLIC, 64)))
    server_q, client_q = (SIGMA_Q * rng.normal(size=(n + PUBLIC, DIMENSIONS)) for n in (len(gallery), 1))
    server = code_embedding(code_kernel(np.r_[x, public_x]), label_graph(np.r_[gallery, public]), server_q, None, rng)
    hits = np.zeros(len(variants))
    for query in rng.choice(len(gallery), queries, replace=False):
        weights = code_kernel(np.r_[x[query:query + 1], public_x])
        for index, (client_graph, scale) in enumerate(variants):
            rows = code_embedding(weights, client_graph(gallery[query], public), client_q, scale, rng)
            matrix, shift = align(rows[1:], server[len(gallery):])
            distance = np.linalg.norm(server[:len(gallery)] - rows[0] @ matrix - shift, axis=1)
            distance[query] = np.inf
            hits[index] += gallery[query] in gallery[np.argsort(distance)[:8]]
    return hits


def label_leak(draws=4, queries=15):
    """The code on features that are noise: what it still finds comes from the label of the query alone."""
    n = PUBLIC + 1
    right = CLASSIC * paper_sensitivity(n, SIGMA_Q * math.sqrt(n * DIMENSIONS), typo=True) / 0.01

    def joined(graph):
        return lambda label, public: graph(np.r_[label, public])

    def withheld(_, public):
        return lambda rows: np.r_[np.zeros((1, DIMENSIONS)), code_labels(public)(rows[1:])]

    rng = np.random.default_rng(2)
    code = [(joined(code_labels), right ** 2), (joined(code_labels), right), (withheld, right ** 2)]
    hits = sum(code_recall(rng, code_labels, code, queries) for _ in range(draws))
    printed = sum(code_recall(rng, paper_labels, [(joined(paper_labels), right ** 2)], queries) for _ in range(draws))
    recall = dict(zip(("true", "right_noise", "withheld", "paper_graph"), np.r_[hits, printed] / (draws * queries)))
    return result(2, "iterates with the true label after the noise",
                  "recall@8 of the code on random features, eps 0.01, %d queries (guessing: 0.08)" % (draws * queries),
                  "%.2f; deviation corrected as in 1: %.2f; query left out of the label graph: %.2f; the label graph that the "
                  "paper prints: %.2f" % tuple(recall.values()), **recall)


# 3, 4 --------------------------------------------------------------------------------------------------------

def three_kernels():
    """exp(-d^2/s) in the paper's (2), exp(-d^2/2s^2) in its proof, exp(-d^2/s^2) in the code."""
    kernels = {"text": lambda s: math.exp(-s / SIGMA), "proof": proof_kernel, "code": lambda s: math.exp(-s / SIGMA ** 2)}
    values = {}
    for name, kernel in kernels.items():
        values.update({name + "_2": kernel(2), name + "_4": kernel(4), name + "_m": lemma_m(PUBLIC + 1, kernel=kernel)})
    names = ("text", "proof", "code")
    shown = ["%.3f, %.3f, %.3f" % tuple(values[name + at] for name in names) for at in ("_2", "_4", "_m")]
    return result(3, "three kernels", "paper (2), proof, code: weights at d^2 = 2 and 4, sigma = 6; lemma 1's M of each",
                  "%s; %s; M %s" % tuple(shown), **values)


def squared_norm():
    """Lemma 1 bounds the squared norm of a row by M and uses M as the norm. A pair for which the lemma is false."""
    n, m = PUBLIC, lemma_m(PUBLIC + 1)

    def row_norm(alpha):
        """Row n+1 of the paper's (5), every class 0, and a record of class 97 is added."""
        rng = np.random.default_rng(4)
        x = unit(rng.normal(size=(n, 16)))
        before = np.r_[x, np.zeros((1, 16))]            # the paper's padding, label 0
        after = np.r_[x, x[:1]]
        rows = []
        for features, label in ((before, 0), (after, CLASSES - 1)):
            weights = np.exp(((features[:n] - features[n]) ** 2).sum(1) / (-2 * SIGMA ** 2))
            labels = np.full(n, proof_kernel(label ** 2))
            rows.append(np.r_[weights - alpha * labels, alpha * labels.sum() - weights.sum()] / weights.sum())
        return np.linalg.norm(rows[0] - rows[1])

    limit = bisect(lambda alpha: row_norm(alpha) > lemma_m(n, alpha), 0.001, 0.9)
    values = {"m": m, "root": math.sqrt(m), "factor": 1 / math.sqrt(m), "limit": limit, "norm_0.4": row_norm(0.4),
              "m_0.4": lemma_m(n, 0.4), "excess_0.4": row_norm(0.4) / lemma_m(n, 0.4)}
    return result(4, "a squared norm used as a norm", "M for Cars196, the norm it bounds; alphas for which lemma 1 is false",
                  "M = %.3f, needed %.3f (%.2f times); false for alpha from 0.001 to %.2f, e.g. 0.4: row norm %.3f > M = %.3f"
                  % (m, values["root"], values["factor"], limit, values["norm_0.4"], values["m_0.4"]), **values)


# 5 ------------------------------------------------------------------------------------------------------------

def sparse_graph(n=PUBLIC):
    """The paper calls its graph sparse and bounds a dense one. One added record can be everybody's nearest."""
    rng = np.random.default_rng(5)
    x = unit(np.c_[np.full(n, math.sqrt(1.5)), unit(rng.normal(size=(n, 255)))])   # 0.9 apart; their axis is nearer
    padding, hub = np.zeros((1, 256)), np.eye(1, 256)
    q = rng.normal(size=(n + 1, DIMENSIONS))
    values = {}
    for neighbours, alpha in ((1, ALPHA), (1, 0), (8, 0)):
        change = sparse_operator(np.r_[x, padding], neighbours, alpha) - sparse_operator(np.r_[x, hub], neighbours, alpha)
        name = "%d_%g" % (neighbours, alpha)
        values["rows_" + name] = float((np.abs(change).max(1) > 0.05).mean())
        values["matrix_" + name] = np.linalg.norm(change) / (lemma_m(n, alpha) * math.sqrt(n + 1))
        values["change_" + name] = np.linalg.norm(change @ q) / 2 / paper_sensitivity(n, np.linalg.norm(q), alpha=alpha)
    return result(5, "a dense bound for a sparse graph", "a record added that is nearest to all, n = 1000: change / bound",
                  "%.0f %% of rows change; alpha 0.6, K = 1: |M|_F %.2f of its bound, embedding %.2f; alpha 0: embedding "
                  "%.0f (K = 1), %.0f (K = 8)" % (100 * values["rows_1_0.6"], values["matrix_1_0.6"], values["change_1_0.6"],
                                                  values["change_1_0"], values["change_8_0"]), **values)


# 6 ------------------------------------------------------------------------------------------------------------

def all_rows_change():
    """The paper lets every row change completely; ours is one row among public anchors. Same codes, both bounds."""
    ratios = {}
    for neighbours in (1, 4, 8, 16, 32):
        of_seeds = []
        for seed in range(3):
            codes, labels, slot_codes = random_pack(60 + seed)
            ours = anchored_sensitivity(codes, label_rows(codes, labels, slot_codes, neighbours), neighbours)
            of_seeds.append(paper_sensitivity(PUBLIC, np.linalg.norm(codes)) / ours)
        ratios["K%d" % neighbours] = float(np.mean(of_seeds))
    return result(6, "every row may change", "paper's bound / anchored, n = 1000, k = 2, sigma 6, alpha 0.6; "
                  "adding a record / replacing one", ", ".join("%s: %.0f" % item for item in ratios.items()), **ratios)


# 7 -----------------------------------------------------------------------------------------------------------

def classic_formula():
    """Definition 3 prints ln(1.25 delta): the root of a negative number. The right formula, beyond its proof."""
    values = {"misprint": 2 * math.log(1.25 * DELTA)}
    for epsilon in (0.1, 0.5, 1, 2, 4, 8, 16):
        needed = bisect(lambda r: gaussian_delta(r, epsilon) > DELTA, 1e-3, 1e4)
        values["delta_%g" % epsilon] = gaussian_delta(CLASSIC / epsilon, epsilon)
        values["noise_%g" % epsilon] = CLASSIC / epsilon / needed
    for delta in (1e-2, 1e-5, 1e-9):
        root = math.sqrt(2 * math.log(1.25 / delta))
        values["fails_%g" % delta] = bisect(lambda e: gaussian_delta(root / e, e) <= delta, 0.5, 30)
    return result(7, "the Gaussian mechanism misprinted, proved for eps <= 1 only",
                  "2 ln(1.25 delta); true delta of the classic deviation for 1e-5; eps at which it starts to fail",
                  "%.1f; eps 1: %.1e, 4: %.1e, 8: %.1e, 16: %.1e; fails from %.2f (delta 0.01: %.2f); noise at eps 0.1 "
                  "%.2f times what is needed" % (values["misprint"], values["delta_1"], values["delta_4"], values["delta_8"],
                                                 values["delta_16"], values["fails_1e-05"], values["fails_0.01"],
                                                 values["noise_0.1"]), **values)


# 8 -----------------------------------------------------------------------------------------------------------

GRID = 2.0 ** 52


def polar(a, b):
    """The pair of normal deviates that numpy's np.random.normal makes of two 53-bit uniforms, or None."""
    x, y = a / GRID, b / GRID
    square = x * x + y * y
    if square >= 1 or square == 0:
        return None
    factor = math.sqrt(-2.0 * math.log(square) / square)
    return factor * y, factor * x


def reachable(output, centre):
    """Can centre + polar(a, b) be `output`? Tries all (a, b) near enough; says yes when they are too many."""
    noise = [output[0] - centre[0], output[1] - centre[1]]
    r = math.hypot(*noise)
    radius = math.exp(-r * r / 4)
    error = 2.0 ** -52 * (2 / (r * r) + 3) * r            # of the forward computation, then of both roundings
    error += sum(math.ulp(v) for v in (*output, *noise)) / 2
    reach = GRID * (radius * max(r / 2, 1 / r) * error + radius * 2.0 ** -52 * (r * r + 4)) + 1
    if reach > 40:
        return True
    b, a = (round(v / r * radius * GRID) for v in noise)
    span = range(-int(reach) - 1, int(reach) + 2)
    for i, j in itertools.product(span, span):
        pair = polar(a + i, b + j)
        if pair and (centre[0] + pair[0], centre[1] + pair[1]) == output:
            return True
    return False


def clone_generator(words):
    """The state of a Mersenne Twister from 624 of its outputs: its last step is undone bit by bit."""
    def undo(value, shift, mask):
        answer = value
        for _ in range(32):
            answer = value ^ ((answer << shift if shift > 0 else answer >> -shift) & mask)
        return answer & 0xFFFFFFFF
    state = [undo(undo(undo(undo(int(w), -18, 0xFFFFFFFF), 15, 0xEFC60000), 7, 0x9D2C5680), -11, 0xFFFFFFFF) for w in words]
    clone = np.random.RandomState()
    clone.set_state(("MT19937", np.array(state, dtype=np.uint32), 624, 0, 0.0))
    return clone


def float_noise(samples=300):
    """Outputs of 0 + noise that no noise could have made of a record at distance 1; and a predicted generator.

    In doubles, as numpy adds. The code's tensors are of 32 bits, which rounds the sum and hides this by luck.
    """
    twister, twin = np.random.RandomState(8), np.random.RandomState(8)
    here, there, impossible, true_found, same = (0.0, 0.0), (0.6, 0.8), 0, 0, 0
    for _ in range(samples):
        pair = None
        while pair is None:
            pair = polar(*(2 * twister.random_sample(2) - 1) * GRID)
        same += pair == tuple(twin.normal(size=2).tolist())
        true_found += reachable(pair, here)
        impossible += not reachable(pair, there)
    victim = np.random.RandomState()
    clone = clone_generator(victim.randint(0, 2 ** 32, 624, dtype=np.uint32))
    predicted = float((victim.normal(size=1000) == clone.normal(size=1000)).mean())
    values = {"impossible": impossible / samples, "true_found": true_found / samples, "numpy": same / samples,
              "predicted": predicted}
    return result(8, "float noise on floats, a generator that is not cryptographic",
                  "outputs of (0, 0) + noise impossible for (0.6, 0.8), sigma 1; normals predicted after 624 words",
                  "%.2f (impossible for the true record: %.2f; noise equal to numpy's: %.2f); %.2f"
                  % (values["impossible"], 1 - values["true_found"], values["numpy"], predicted), **values)


# 9 ------------------------------------------------------------------------------------------------------------

def full_graph():
    """PRIVACY section 9: the bound is never beaten; what it and an actual hub cost against the anchored graph."""
    single, several, tried = attack_full_graph()
    values = {"worst_1": single, "worst_more": several, "tried": tried}
    codes, labels, slot_codes = random_pack(60)
    q = np.r_[slot_codes, codes]
    diameter = math.sqrt(squared_distances(q).max())
    x = unit(np.c_[np.full(len(q), 1.2), unit(np.random.default_rng(90).normal(size=(len(q), 255)))])
    far, hub, zero = x.copy(), x.copy(), np.zeros_like(q)[None]
    far[0], hub[0] = -np.eye(256)[0], np.eye(256)[0]
    ordered = q[np.argsort(-np.linalg.norm(q, axis=1))][None]    # the private row has the largest code
    for neighbours in (1, 8):
        u = label_rows(codes, labels, slot_codes, neighbours)
        norms = np.linalg.norm(u, axis=1)
        norms, anchored = np.r_[norms, norms[labels]], anchored_sensitivity(codes, u, neighbours)    # anchors: as their slots
        for changed in (1, 2):
            bound = full_bound(diameter, norms, proof_kernel(4), neighbours, changed, ALPHA)
            values["bound_%d_%d" % (neighbours, changed)] = float(bound) / anchored
        change = [full_rows(rows[None], ordered, zero, SIGMA, neighbours, 0) for rows in (far, hub)]
        values["hub_%d" % neighbours] = np.linalg.norm(change[0] - change[1]) / anchored
    shown = [values[name % k] for k in (1, 8) for name in ("bound_%d_1", "bound_%d_2", "hub_%d")]
    return result(9, "(the full graph, for the record)",
                  "largest change / bound of %d attacks, K = 1 and K > 1; bound (class public, hidden) and an actual "
                  "change over the anchored bound, n = 1000" % tried,
                  "%.3f, %.3f; K = 1: %.0f, %.0f, %.0f; K = 8: %.1f, %.1f, %.1f" % (single, several, *shown), **values)


# -------------------------------------------------------------------------------------------------------------

ITEMS = (variance_as_deviation, label_leak, three_kernels, squared_norm, sparse_graph, all_rows_change, classic_formula,
         float_noise, full_graph)

# (item, value, least, most). Narrow where the figure is a formula, wide where it is a simulation.
RANGES = (
    (1, "code_0.01", 383, 384), (1, "code_0.1", 3833, 3835), (1, "paper_0.01", 360, 361), (1, "paper_0.1", 3604, 3605),
    (2, "true", 0.7, 1), (2, "right_noise", 0.7, 1), (2, "withheld", 0, 0.12), (2, "paper_graph", 0, 0.12),
    (3, "text_2", 0.716, 0.717), (3, "proof_2", 0.972, 0.973), (3, "code_2", 0.945, 0.946), (3, "text_m", 2.7, 2.8),
    (3, "code_m", 0.90, 0.91),
    (4, "m", 0.808, 0.809), (4, "root", 0.899, 0.9), (4, "limit", 0.44, 0.46), (4, "excess_0.4", 1.1, 1.15),
    (5, "rows_1_0.6", 0.99, 1), (5, "matrix_1_0.6", 1.7, 1.8), (5, "change_1_0.6", 0, 0.1), (5, "change_1_0", 50, 150),
    (5, "change_8_0", 5, 20),
    (6, "K1", 150, 260), (6, "K8", 150, 260), (6, "K32", 150, 260),
    (7, "misprint", -22.6, -22.5), (7, "delta_1", 0, 1e-5), (7, "delta_4", 0, 1e-5), (7, "delta_8", 0, 1e-5),
    (7, "delta_16", 3e-4, 4e-4), (7, "fails_1e-05", 8.4, 8.5), (7, "noise_0.1", 1.57, 1.58),
    (8, "impossible", 0.85, 1), (8, "true_found", 1, 1), (8, "predicted", 1, 1),
    (9, "worst_1", 0.9, 1 + 1e-9), (9, "worst_more", 0.7, 1 + 1e-9), (9, "bound_8_1", 5, 6), (9, "bound_8_2", 10, 11.5),
    (9, "bound_1_1", 30, 36), (9, "hub_8", 2, 5.5),
)


def check(results):
    values = {entry["number"]: entry["values"] for entry in results}
    failed = 0
    for number, name, least, most in RANGES:
        if not least <= values[number][name] <= most:
            failed += 1
            print("item %d: %s = %g, not in %g ... %g" % (number, name, values[number][name], least, most))
    print("%d passed, %d failed" % (len(RANGES) - failed, failed))
    return failed


def main():
    if sys.argv[1:] not in ([], ["--json"], ["--check"]):
        raise SystemExit(__doc__)
    results = [item() for item in ITEMS]
    if sys.argv[1:] == ["--check"]:
        sys.exit(check(results) > 0)
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(results, indent=1))
        return
    for entry in results:
        print("%(number)d  %(defect)s\n     %(computed)s:\n     %(figure)s" % entry)


if __name__ == "__main__":
    main()
