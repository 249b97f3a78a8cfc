# SPDX-License-Identifier: Apache-2.0
"""`bench/utility.py --check`: with much epsilon a private method is as good as its non-private self, with little it is as
good as a random download; guesses respect the promise's ceiling and, where theory says so, reach it."""
import math
import re

import numpy as np

import utility_baselines as baselines
import utility_dsne as dsne
import utility_inference as inference
import utility_iterations as iterations
import utility_large as large
import utility_paper as paper
import utility_projections as projections
from plot_sheet import Scatter, Sheet
from utility_data import TOP, Case, measure, sample_case, summary, unit

SHARE = 0.05


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, holds, text):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(("ok      " if holds else "FAILED  ") + text, flush=True)

    def near(self, value, wanted, tolerance, text):
        self.expect(abs(value - wanted) <= tolerance, f"{text}: {value:.4g}, wanted {wanted:.4g} ± {tolerance:.2g}")


def check_formulas(checks):
    for epsilon, ratio in ((0.1, 30.75), (1, 3.731), (4, 1.082), (8, 0.601)):
        checks.near(baselines.noise_ratio(epsilon), ratio, 0.0006 * ratio + 0.0005,
                    f"σ/Δ of the Gaussian at ε = {epsilon}, δ = 1e-5")
    for epsilon, share, most in ((0.5, 0.02, 0.0326), (1, 0.02, 0.053), (4, 0.02, 0.53), (4, 0.05, 0.74), (8, 0.01, 0.97)):
        checks.near(baselines.curve(epsilon, share), most, 0.01 * most, f"g at ε = {epsilon}, f = {share}")
    checks.near(inference.pure_ceiling(0, 96), 1 / 96, 1e-12, "ceiling of a guess among 96 at ε = 0")
    checks.near(inference.gaussian_ceiling(0, 96), 1 / 96, 1e-9, "ceiling of a guess among 96 at μ = 0")
    # two alternatives: the best test of two normals a distance μ apart
    checks.near(inference.gaussian_ceiling(1.5, 2), baselines.phi(0.75), 1e-9, "ceiling of a guess between two at μ = 1.5")


def check_measure(checks, case):
    count = case.count(SHARE)
    exact = summary([measure(case, -case.cosines, [TOP, count])[TOP]])
    checks.near(exact["instance_recall"], 1, 0, "true 8 nearest found by the features themselves")
    farthest = summary([measure(case, case.cosines, [count])[count]])
    checks.near(farthest["instance_recall"], 0, 0, "true 8 nearest found among the farthest")


def check_baselines(checks, case):
    def found(distances, epsilon):
        return baselines.run(case, distances, epsilon, [SHARE])[0]

    trivial, free = found(baselines.random_distances, 0), baselines.run(case, lambda c, *_: -c.cosines, 0, [SHARE], 1)[0]
    share = case.count(SHARE) / len(case.gallery)
    checks.near(trivial["instance_recall"], share, 5 * trivial["instance_recall_se"], "a random download finds its share")
    for kind in ("random", "pca"):
        whole = baselines.Projection(kind, case, 32, 1.0)
        noiseless = summary([measure(case, distances_without_noise(whole, case), [case.count(SHARE)])[case.count(SHARE)]])
        much, little = found(whole.distances, 1e6), found(whole.distances, 1e-3)
        checks.near(much["instance_recall"], noiseless["instance_recall"], 0.01, f"{kind} projection: much ε is no noise")
        checks.expect(noiseless["instance_recall"] > 3 * share, f"{kind} projection without noise finds more than its share")
        checks.near(little["instance_recall"], share, 0.05, f"{kind} projection: little ε is a random download")
        wanted = baselines.noise_ratio(1) * 2 * whole.radius
        noise = whole.release(case.public, 1, np.random.default_rng(0)) - whole.place(case.public)
        checks.near(noise.std(), wanted, 0.02 * wanted, f"{kind} projection adds the noise that two radii ask for")
        checks.expect(np.linalg.norm(whole.place(100 * case.queries), axis=1).max() <= whole.radius * (1 + 1e-9),
                      f"{kind} projection clips")
    for prototype in (False, True):
        response = baselines.ClassResponse(case, prototype)
        much, little = found(response.distances, 30), found(response.distances, 1e-6)
        checks.near(much["class_recall"], 1, 0,
                    f"class response ({'prototype' if prototype else 'random'}): much ε finds the class")
        checks.expect(little["instance_recall"] < 3 * share, "and little ε finds little")
    checks.expect(free["instance_recall"] == 1, "features: everything carried is found")


def distances_without_noise(projection, case):
    queries, gallery = projection.place(case.queries), projection.place(case.gallery)
    return (gallery ** 2).sum(1) - 2 * queries @ gallery.T


def check_paper(checks, case):
    """NOT PRIVATE: the paper's code finds by the query's label, also under its noise. Its label graph takes classes as
    numbers, so they are spread as far as those of the paper's sets."""
    case = Case("shapes", case.raw, case.raw_labels * 8)
    search, queries = paper.Search(case, "code"), np.arange(24)
    recalls = {withheld: measure(case, search.distances(0.1, queries, True, withheld), [TOP], queries)[TOP][1].mean()
               for withheld in (False, True)}
    checks.expect(recalls[False] > recalls[True] + 0.2, "the paper's code (NOT PRIVATE) leaks the label: recall "
                  f"{recalls[False]:.2f}, withheld {recalls[True]:.2f}")


def check_inference(checks, program):
    guesser, releases, epsilon = inference.Guesser(program, "one slot"), 96 * 40, 4
    checks.expect(len(set(guesser.cells)) == len(guesser.cells), "every prototype is its own cell")
    for mechanism in ("response", "gaussian"):
        rows = inference.rows_of(guesser, mechanism, epsilon, releases, np.random.default_rng(1))
        checks.expect(all(row["respected"] for row in rows), f"{mechanism}: no guess beats the promise")
        row = rows[0]
        if mechanism == "response":
            checks.near(row["accuracy"], row["ceiling"], 5 * math.sqrt(row["ceiling"] / row["guesses"]),
                        "response reaches its ceiling")
            low = inference.interval(row["accuracy"] * row["guesses"], row["guesses"], inference.SURE)[0]
            checks.expect(low > inference.pure_ceiling(epsilon / 2, row["alternatives"]),
                          "a promise of half its ε would be seen broken")


def check_large(checks):
    """Copies of rows are drawn like each other, and nearest to what they are copies of, or to what they were moved towards."""
    source = np.random.default_rng(0)
    rows = unit(source.standard_normal((300, large.COLUMNS))).astype(np.float32)
    lists = large.neighbours_of(rows, np.repeat([0, 1], 150))
    checks.expect(all(((lists[part] // 150) == part[0] // 150).all() for part in (np.arange(150), np.arange(150, 300))),
                  "neighbours are of the same set")
    made = large.copies(source, rows, lists, np.arange(300))
    checks.near(np.linalg.norm(made, axis=1).max(), 1, 1e-5, "copies have length 1")
    nearest = (made @ rows.T).argmax(1)
    checks.expect(((nearest == np.arange(300)) | (nearest[:, None] == lists).any(1)).all() and
                  (nearest == np.arange(300)).mean() > 0.9, "a copy is nearest to its row, or to a neighbour of it")


def check_sheet(checks):
    """Where the points of a sheet are drawn, read from its text."""
    panel, sheet = Scatter("a < b"), Sheet("title", "note", 2)
    panel.add_classes([(0, 0), (1, 0), (1, 2), (1, 2)], [0, 1, 1, 1])
    sheet.panels.append(panel)
    text = sheet.text()
    places = []
    for path in re.findall(r' d="([^"]*)"', text):
        at = np.zeros(2)
        for step in re.findall(r"m(-?\d+) (-?\d+)h0", path):
            at = at + np.array(step, float)
            places.append(at)
    (x, y), right, up = places[0], places[1], places[2]
    if right[1] < up[1]:
        right, up = up, right
    checks.expect(len(places) == 3 and abs(up[0] - right[0]) == 0 and abs(abs(up[1] - y) - 2 * (right[0] - x)) <= 2 and up[1] < y,
                  "a sheet keeps shapes, puts larger values higher, and draws a point once")
    checks.expect("a &lt; b" in text, "a sheet escapes its texts")


def check(program):
    checks, case = Checks(), sample_case(program, 60)
    check_large(checks)
    check_sheet(checks)
    check_formulas(checks)
    check_measure(checks, case)
    check_baselines(checks, case)
    dsne.check_dsne(checks, case)
    iterations.check_descent(checks, case)
    projections.check_projections(checks)
    check_paper(checks, case)
    check_inference(checks, program)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed
