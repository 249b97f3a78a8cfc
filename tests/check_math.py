#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the library's real functions with mpmath at 60 digits: stated errors, and bounds on their right side.

    python3 tests/check_math.py path/to/math_eval

Bounds that the library finds by bisection are not solved for again: δ(μ, ε) grows with μ and falls with ε, so
"μ is at most the exact one" is the same as "δ at μ is at most the δ asked for", which is one exact evaluation.
"""
import itertools
import math
import random
import subprocess
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 60

ELEMENTARY_ERROR = mpf(2) ** -50
NORMAL_ERROR = mpf("1e-13")
SHOWN = 5                         # failures printed of each check


class Evaluator:
    """The library, through its tool; None for verbs that the build does not have."""

    def __init__(self, program):
        self.program = program

    def __call__(self, verb, points):
        lines = "".join("%s %s\n" % (verb, " ".join(float(v).hex() for v in point)) for point in points)
        answer = subprocess.run([self.program], input=lines, capture_output=True, text=True, check=True).stdout.split()
        if len(answer) != len(points):
            raise SystemExit("%s answered %d lines to %d" % (self.program, len(answer), len(points)))
        return [float.fromhex(word) for word in answer]

    def has(self, verb):
        answer = subprocess.run([self.program], input=verb + " 0x1p-1 0x1p-1\n", capture_output=True, text=True)
        return answer.stdout.strip() != "?"


class Tally:
    """Counts checks, not their points, and says the worst of each."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, title, cases, remark=""):
        """cases: (is it right, what it was) of each point."""
        wrong = [what for right, what in cases if not right]
        self.failed += bool(wrong)
        self.passed += not wrong
        print("%-58s %7d points%s%s" % (title, len(cases), remark and ", " + remark,
                                        ", %d WRONG" % len(wrong) if wrong else ""))
        for what in wrong[:SHOWN]:
            print("    wrong:", what)

    def relative(self, title, points, results, exact, bound):
        """The largest relative error against `exact`; where that is 0, the result must be 0."""
        cases, worst, where = [], mpf(0), None
        for point, result in zip(points, results):
            truth = exact(*map(mpf, point))
            error = abs(mpf(result) - truth) / abs(truth) if truth else (mpf(0) if result == 0 else mpf("inf"))
            if error > worst:
                worst, where = error, point
            cases.append((error <= bound, (point, result, mpmath.nstr(error, 5))))
        self.check(title, cases, "worst %s of %s at %s" % (mpmath.nstr(worst, 4), mpmath.nstr(bound, 4), where))


# ---- exact functions ----------------------------------------------------------------------------------------------

def normal_cdf(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def normal_inverse(p):
    """Φ⁻¹, by Newton's steps on the logarithm, which is concave: they overshoot once at most."""
    if p > 0.5:
        return -normal_inverse(1 - p)
    x, goal = mpf(0), mpmath.log(p)
    for _ in range(100):
        now = normal_cdf(x)
        move = (mpmath.log(now) - goal) * now / mpmath.npdf(x)
        x -= move
        if abs(move) < mpf(10) ** -40:
            return x
    raise ArithmeticError("no inverse of %s" % p)


def gaussian_delta(mu, epsilon):
    """δ(ε) of the Gaussian mechanism with shift μ (Balle and Wang 2018, theorem 8)."""
    if mu == 0:
        return mpf(0)
    return normal_cdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def recall_ceiling(epsilon, share):
    return share * mpmath.exp(epsilon) / (1 + share * (mpmath.exp(epsilon) - 1))


def epsilon_for(share, probability):
    return mpmath.log(probability / share * (1 - share) / (1 - probability))


# ---- points -------------------------------------------------------------------------------------------------------

def around(x, steps=8):
    """x and the doubles next to it."""
    below = above = x
    found = [x]
    for _ in range(steps):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
        found += [below, above]
    return found


def scales(source, low, high, count):
    """Both signs, exponents from low to high."""
    return [source.choice((-1, 1)) * math.ldexp(source.uniform(1, 2), source.randint(low, high)) for _ in range(count)]


def inside(values, low, high):
    return [(v,) for v in values if low <= v <= high]


# ---- checks -------------------------------------------------------------------------------------------------------

def check_elementary(evaluate, tally, source):
    halves = [x for k in range(-1009, 1010) for x in around((k + 0.5) * math.log(2), 1)]    # where k changes
    points = inside([source.uniform(-700, 700) for _ in range(4000)] + [source.uniform(-2, 2) for _ in range(2000)] +
                    scales(source, -60, 8, 2000) + around(0.0) + around(-700.0) + around(700.0) + halves, -700, 700)
    tally.relative("exp", points, evaluate("exp", points), mpmath.exp, ELEMENTARY_ERROR)
    below = [(math.nextafter(-700.0, -math.inf),), (-1e6,), (-math.inf,)]
    tally.check("exp below -700 is 0", [(v == 0, v) for v in evaluate("exp", below)])

    tiny, huge = 2.0 ** -1022, math.nextafter(math.inf, 0)
    near_one = [1 + s * math.ldexp(source.uniform(1, 2), -source.randint(2, 53)) for s in (-1, 1) for _ in range(1500)]
    points = inside([abs(v) for v in scales(source, -1022, 1022, 4000)] + near_one + around(1.0, 40) +
                    [x for k in range(-40, 41) for x in around(math.ldexp(math.sqrt(2), k), 4) + around(2.0 ** k, 4)] +
                    [tiny, huge], tiny, huge)
    tally.relative("log", points, evaluate("log", points), mpmath.log, ELEMENTARY_ERROR)


def check_exp31(evaluate, tally, source):
    """SPEC 5.5: an integer at most 8 away from 2^31 e^(-x/2^27), which never grows with x."""
    halved = 2.0 ** 58 / 3098164009                      # so far the result falls to half
    xs = {0, 1, 2, 2 ** 32 - 2, 2 ** 32 - 1} | {source.randrange(2 ** 32) for _ in range(4000)}
    xs |= {source.randrange(2 ** 27) for _ in range(6000)}
    xs |= {int(n * halved) + i for n in range(1, 46) for i in range(-40, 41)}
    points = sorted(x for x in xs if 0 <= x < 2 ** 32)
    results = evaluate("exp31", [(x,) for x in points])
    errors = [abs(value - mpf(2) ** 31 * mpmath.exp(-mpf(x) / 2 ** 27)) for x, value in zip(points, results)]
    tally.check("exponential of integers, at most 8 off", [(error <= 8, (x, error)) for x, error in zip(points, errors)],
                "worst %.2f" % max(errors))
    tally.check("exponential of integers never grows", [(a >= b, (a, b)) for a, b in zip(results, results[1:])])
    tally.check("exponential of integers at its ends", [(results[0] == 2 ** 31, results[0]), (results[-1] == 0, results[-1])])


def check_normal(evaluate, tally, source):
    points = inside([source.uniform(-37, 37) for _ in range(4000)] + [source.uniform(-3, 3) for _ in range(3000)] +
                    [source.uniform(-2.5, -2) for _ in range(5000)] + scales(source, -60, 5, 1500) +
                    around(0.0) + around(2.5, 40) + around(-2.5, 40) + around(-37.0) + around(37.0) + [i / 8 for i in range(-296, 297)], -37, 37)
    tally.relative("normal distribution", points, evaluate("cdf", points), normal_cdf, NORMAL_ERROR)
    beyond = [(math.nextafter(-37.0, -math.inf),), (-1e300,), (math.nextafter(37.0, math.inf),), (1e300,)]
    tally.check("normal distribution beyond 37", [(v == w, v) for v, w in
                                                  zip(evaluate("cdf", beyond), (0, 0, 1, 1))])


def check_delta(evaluate, tally, source):
    mus = [2.0 ** k for k in range(-40, 7)] + [source.uniform(0, 64) for _ in range(20)]
    epsilons = [0.0] + [2.0 ** k for k in range(-20, 9)] + [source.uniform(0, 16) for _ in range(10)]
    points = list(itertools.product(mus, epsilons)) + [(64.0, 256.0)]
    cases = []
    for point, result in zip(points, evaluate("delta", points)):
        exact = gaussian_delta(*map(mpf, point))
        cases.append((exact <= result <= exact + mpf("1e-10"), (point, result, mpmath.nstr(exact, 12))))
    tally.check("delta is an upper bound, within 1e-10", cases)
    cases = []
    for point, result in zip(points, evaluate("delta_below", points)):
        exact = gaussian_delta(*map(mpf, point))
        cases.append((exact - mpf("1e-10") <= result <= exact, (point, result, mpmath.nstr(exact, 12))))
    tally.check("delta below is a lower bound, within 1e-10", cases)


EPSILONS = [2.0 ** -20, 2.0 ** -14, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 4, 6, 8, 12, 16]
DELTAS = [2.0 ** -50, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3, 0.1, 0.5, 0.99]


def check_ratio(evaluate, tally, source):
    points = list(itertools.product(EPSILONS, DELTAS))
    points += [(math.exp(source.uniform(math.log(2.0 ** -20), math.log(16))), 2.0 ** source.uniform(-50, -0.01))
               for _ in range(1500)]
    cases, looseness = [], []
    step = 1 + mpf("1e-6")
    for (epsilon, delta), ratio, mu in zip(points, evaluate("ratio", points), evaluate("mu", points)):
        what = (epsilon, delta, ratio, mu)
        sound = gaussian_delta(1 / mpf(ratio), mpf(epsilon)) <= delta and gaussian_delta(mpf(mu), mpf(epsilon)) <= delta
        cases.append((sound and mpf(mu) * mpf(ratio) >= 1, what))
        if epsilon >= 0.01 and delta >= 1e-9:
            looseness.append((gaussian_delta(step / mpf(ratio), mpf(epsilon)) > delta and
                              gaussian_delta(step * mpf(mu), mpf(epsilon)) > delta, what))
    tally.check("ratio is an upper, mu a lower bound", cases)
    tally.check("ratio and mu within 1e-6", looseness)
    wide = list(itertools.product([16.5, 40, 64, 100, 200, 256], DELTAS))      # what budgets ask for
    tally.check("mu is a lower bound up to epsilon 256",
                [(gaussian_delta(mpf(mu), mpf(e)) <= d < gaussian_delta(mpf(mu) * step, mpf(e)), (e, d, mu))
                 for (e, d), mu in zip(wide, evaluate("mu", wide))])
    known = {0.1: ("30.75", 2), 1: ("3.731", 3), 2: ("1.994", 3), 4: ("1.082", 3), 8: ("0.601", 3)}
    ratios = evaluate("ratio", [(e, 1e-5) for e in known])
    tally.check("ratio at delta 1e-5 as published",
                [(float(text) - 10.0 ** -digits < ratio <= float(text), (e, ratio, text))
                 for (e, (text, digits)), ratio in zip(known.items(), ratios)])


def check_gaussian_recall_ceiling(evaluate, tally, source):
    shares = [1e-200, 1e-30, 1e-9, 1e-4, 0.01, 0.05, 0.3, 0.5, 0.9, 1 - 1e-9, 1 - 2.0 ** -53]
    points = list(itertools.product([2.0 ** -30, 0.01, 0.25, 1, 2, 4, 8, 32, 64], shares))
    points += [(source.uniform(0, 8), 10.0 ** -source.uniform(0, 20)) for _ in range(300)]
    cases = []
    for (mu, share), result in zip(points, evaluate("gaussian_recall_ceiling", points)):
        exact = normal_cdf(normal_inverse(mpf(share)) + mu)
        cases.append((exact <= result <= min(exact * (1 + mpf("1e-10")), 1), (mu, share, result)))
    tally.check("gaussian recall ceiling is an upper bound, within 1e-10", cases)
    least = list(itertools.product([1, 8, 30, 36, 40, 64], [1e-290, 1e-291, 1e-300, 5e-324]))
    tally.check("gaussian recall ceiling of the least shares is an upper bound",
                [(normal_cdf(normal_inverse(mpf(share)) + mu) <= v <= 1, (mu, share, v))
                 for (mu, share), v in zip(least, evaluate("gaussian_recall_ceiling", least))])
    ends = [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (3.0, 1.0)]
    tally.check("gaussian recall ceiling at its ends", [(v == share, (mu, share, v)) for (mu, share), v in
                                               zip(ends, evaluate("gaussian_recall_ceiling", ends))])


def check_recall_ceiling(evaluate, tally, source):
    epsilons = [0.0, 2.0 ** -20, 0.01, 0.5, 1, 2, 4, 6, 8, 16, 32, 64]
    shares = [0.0, 2.0 ** -60, 1e-9, 1e-3, 0.01, 0.02, 0.05, 0.3, 0.5, 0.9, 1 - 2.0 ** -53, 1.0]
    points = list(itertools.product(epsilons, shares))
    points += [(source.uniform(0, 16), 10.0 ** -source.uniform(0, 9)) for _ in range(2000)]
    cases = []
    for (epsilon, share), result in zip(points, evaluate("recall_ceiling", points)):
        exact = recall_ceiling(mpf(epsilon), mpf(share))
        cases.append((exact <= result <= min(exact * (1 + mpf("1e-14")), 1), (epsilon, share, result)))
    tally.check("recall ceiling is an upper bound, within 1e-14", cases)
    published = {(4, 0.02): 0.53, (4, 0.05): 0.74, (6, 0.01): 0.80, (8, 0.01): 0.97}
    tally.check("recall ceiling as published", [(abs(v - known) <= 0.005, (point, v)) for (point, known), v in
                                       zip(published.items(), evaluate("recall_ceiling", list(published)))])
    pairs = [(share, share + (1 - share) * t) for share in (1e-9, 1e-6, 1e-3, 0.02, 0.3, 0.5, 0.9)
             for t in (0.0, 1e-12, 1e-3, 0.1, 0.5, 0.99, 0.999999)]
    pairs += [tuple(sorted((source.uniform(1e-6, 1), source.uniform(1e-6, 1)))) for _ in range(1000)]
    cases = []
    for (share, probability), result in zip(pairs, evaluate("epsilon_for", [(p, share) for share, p in pairs])):
        exact = epsilon_for(mpf(share), mpf(probability))
        cases.append((exact <= result <= exact + (exact + 1) * mpf("1e-14"), (share, probability, result)))
    tally.check("epsilon of a chance is an upper bound, within 1e-14", cases)


def check_keep(evaluate, tally):
    """P·(m−1)/(2^40−P) between e^−ε and e^ε, in integers: e^ε lies between `low` and low+1 over 2^200."""
    every = [2.0 ** -20, 1.0, 16.0]
    some = [2.0 ** -19, 1e-4, 0.01, 0.1, 0.5, 2, 3.7, 4, 6, 8, 12]
    chosen = sorted(set(range(2, 300)) | set(range(2, 65537, 97)) | {65535, 65536} | {2 ** i for i in range(1, 17)})
    floors = [2.0 ** -16, 0.5, 8.0, 16.0]  # of a crowd, whose messages choose among more symbols than a slot has cells
    crowds = sorted(set(range(65537, 2 ** 20, 997)) | {65537, 2 ** 20 - 1, 2 ** 20})
    points = list(itertools.product(every, range(2, 65537))) + list(itertools.product(some, chosen))
    points += itertools.product(floors, crowds)
    powers = {e: int(mpmath.floor(mpmath.exp(mpf(e)) * mpf(2) ** 150)) for e in every + some + floors}
    inverse = {e: int(mpmath.ceil(mpmath.exp(-mpf(e)) * mpf(2) ** 150)) for e in every + some + floors}
    cases = []
    for (epsilon, m), result in zip(points, evaluate("keep", points)):
        keep, rest = int(result), 2 ** 40 - int(result)
        upper = keep * (m - 1) << 150 <= powers[epsilon] * rest
        lower = keep * (m - 1) << 150 >= inverse[epsilon] * rest
        near = (keep + 2) * (m - 1) << 150 > powers[epsilon] * (rest - 2)
        cases.append((0 < keep and upper and lower and near, (epsilon, m, keep)))
    tally.check("keep: both ratios within e^epsilon, and not 2 less", cases)
    outside = [(2.0 ** -21, 2), (16.0001, 2), (1, 1), (1, 0), (2.0 ** -17, 65537),
               (1, 2 ** 20 + 1), (math.nan, 2), (-1, 2)]
    tally.check("keep out of range is 0", [(v == 0, v) for v in evaluate("keep", outside)])


def check_refusals(evaluate, tally, gaussian):
    outside = {"recall_ceiling": [(-1e-9, 0.5), (64.1, 0.5), (1, -1e-9), (1, 1.0001), (math.nan, 0.5), (1, math.nan)],
               "epsilon_for": [(0.5, 0), (1, 0.5), (0.4, 0.5), (0.5, math.nan), (math.nan, 0.5)]}
    if gaussian:
        outside.update({
            "ratio": [(2.0 ** -21, 1e-5), (257, 1e-5), (1, 2.0 ** -51), (1, 1), (math.nan, 0.5), (1, math.nan)],
            "mu": [(0, 1e-5), (257, 1e-5), (1, 0), (1, 1), (math.nan, 0.5), (1, math.nan)],
            "gaussian_recall_ceiling": [(-1, 0.5), (65, 0.5), (1, -0.1), (1, 1.1), (math.nan, 0.5), (1, math.nan)]})
    for verb, points in outside.items():
        tally.check(verb + " out of range is not a number",
                    [(math.isnan(v), (point, v)) for point, v in zip(points, evaluate(verb, points))])


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: check_math.py path/to/math_eval")
    evaluate, tally, source = Evaluator(sys.argv[1]), Tally(), random.Random("mathematics")
    gaussian, response = evaluate.has("cdf"), evaluate.has("keep")
    check_elementary(evaluate, tally, source)
    check_recall_ceiling(evaluate, tally, source)
    if gaussian:
        check_normal(evaluate, tally, source)
        check_delta(evaluate, tally, source)
        check_ratio(evaluate, tally, source)
        check_gaussian_recall_ceiling(evaluate, tally, source)
    if response:
        check_keep(evaluate, tally)
    if evaluate.has("exp31"):
        check_exp31(evaluate, tally, source)
    check_refusals(evaluate, tally, gaussian)
    for built, name in ((gaussian, "Gaussian"), (response, "response")):
        if not built:
            print("left out: the %s is not in this build" % name)
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
