#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the library's accounting of a crowd with 60 digits: no result below the truth, none far above it.

    python3 tests/crowd/check_accounting.py path/to/crowd_eval [delta | large | epsilon | mu | products | shuffle]

With PML_TEST_LONG=1 there are 10,240 parameter sets of one message, otherwise 2,560.

Stated slack: δ of one message within 1e-6 of itself and 1e-21; ε within 1e-6 where it is exact; μ within 2 %; ε of several
messages within 1 %; δ of mixing alone within 1e-6 where every size of the blanket has a bucket of its own. Bounds that
the library finds by a search are not solved for again: δ falls with ε, so that one exact δ tells on which side an ε lies.
"""
import math
import os
import random
import subprocess
import sys
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mpmath
from mpmath import mpf

import exact_crowd as exact

LAWS = 320 if os.environ.get("PML_TEST_LONG") else 80    # of fakes; each with 32 parameter sets for δ and 2 for ε
CERTIFICATES, PRODUCTS, SHUFFLES = 16, 24, 60
OK, CROWD = 0, -25
SHOWN = 5


class Policy:
    """Fields of pml_crowd and cells; `rate` is the exact Λ that the samplers of SPEC 5.16 and 5.17 give."""

    def __init__(self, clients, clusters, copies, relay, cells, own=1):
        self.fields = (clients, clusters, copies, own, relay, cells)
        self.clients, self.copies, self.cells = clients, copies, cells
        drawn = clients * Fraction(math.floor(Fraction(clusters) * 2 ** 29), 2 ** 29)
        parts = math.ceil(2 * relay)
        if parts:
            drawn += parts * Fraction(math.floor(2.0 ** 32 * (relay / parts)), 2 ** 32)
        self.rate = drawn / cells

    def exact(self):
        return exact.Crowd(mpf(self.rate.numerator) / self.rate.denominator, self.copies, self.clients)


def random_policy(source, largest):
    """Laws from next to nothing to `largest` fakes per cell, made by clients, by the relay, or by both."""
    copies = source.choice((1, 2, 3, source.randint(1, 8), source.randint(1, 20)))
    rate = math.exp(source.uniform(math.log(0.05), math.log(max(2 * largest / (copies + 1), 0.1))))
    cells = source.choice((2, 3, source.randint(2, 200), source.randint(2, 1 << 16), 1 << 20))
    share = source.choice((0.0, 1.0, source.random()))
    clients = min(math.ceil(rate * cells * share / source.uniform(0.001, 4)), 1 << 32) if share else 0
    clusters = min(rate * cells * share / clients, 4.0) if clients else 0.0
    return Policy(clients, clusters, copies, min(rate * cells * (1 - share), 2.0 ** 24), cells)


def ask(program, lines):
    """[(status, result)] of the library for "verb number …" tuples."""
    text = "".join("%s %s\n" % (verb, " ".join(float(v).hex() for v in numbers)) for verb, *numbers in lines)
    answer = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answer) == len(lines)
    return [(int(status), float.fromhex(value)) for status, value in (line.split() for line in answer)]


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, title, cases):
        """cases: (is it right, what it was)."""
        wrong = [what for right, what in cases if not right]
        self.failed += bool(wrong) or not cases
        self.passed += bool(cases) and not wrong
        print("%-66s %6d sets%s" % (title, len(cases), ", %d WRONG" % len(wrong) if wrong else ""), flush=True)
        for what in wrong[:SHOWN]:
            print("    wrong:", what)


def floors(source, cells):
    """A floor, 0 for none, and 1 − γ of it."""
    floor = source.choice((0.0, 0.0, 2.0 ** -16, source.uniform(0.1, 16), 8.0))
    return floor, exact.coin(floor or None, cells)


# ---- one message --------------------------------------------------------------------------------------------------

def check_delta(program, tally, source, policies, title, sets):
    cases, lines, truths = [], [], []
    for policy in policies:
        known = policy.exact()
        for _ in range(sets):
            epsilon = source.choice((0.0, source.uniform(0, 0.3), math.exp(source.uniform(-10, 3)), source.uniform(0, 60)))
            floor, told = floors(source, policy.cells)
            pair = exact.delta_product(known.with_it, known.without, mpf(epsilon)) if not 0 < floor <= epsilon else None
            truths.append(mpf(0) if pair is None else told * pair + known.cut(epsilon))
            lines.append(("delta", *policy.fields, 1, floor, epsilon))
    for line, truth, (status, result) in zip(lines, truths, ask(program, lines)):
        right = status == OK and (result == 0 if truth == 0 else
                                  min(truth, 1) * (1 - mpf(10) ** -30) - mpf(10) ** -44 <= result <= truth * (1 + mpf("1e-6")) + mpf("1e-21"))
        cases.append((right, (line, status, result, mpmath.nstr(truth, 15))))
    tally.check(title, cases)


def check_epsilon(program, tally, source, policies):
    cases, lines, knowns = [], [], []
    for policy in policies:
        known = policy.exact()
        for _ in range(2):
            delta = 10.0 ** source.uniform(-14, -1)
            lines.append(("epsilon", *policy.fields, 1, 0.0, delta))
            knowns.append(known)
    for line, known, (status, result) in zip(lines, knowns, ask(program, lines)):
        delta = mpf(line[-1])
        if status == CROWD:                       # no ε up to 256: e^-Λ is above δ
            cases.append((known.delta(64) > delta * (1 - mpf("1e-6")), (line, "none")))
            continue
        sound = status == OK and known.delta(result) <= delta
        tight = result <= 2.0 ** -20 or known.delta(mpf(result) * (1 - mpf("1e-6"))) > delta * (1 - mpf("2e-6"))
        cases.append((sound and tight, (line, status, result, mpmath.nstr(known.delta(result), 12))))
    tally.check("epsilon of one message is an upper bound, within 1e-6", cases)
    floor = [("epsilon", *policies[0].fields[:4], 0.0, policies[0].cells, 3, 8.0, 2.0 ** -60)]
    tally.check("without a crowd epsilon is the floor of all queries",
                [(answer == (OK, 24.0), answer) for answer in ask(program, [floor[0][:2] + (0.0,) + floor[0][3:]])])


# ---- certificates -------------------------------------------------------------------------------------------------

def check_mu(program, tally, source):
    """From crowds that are a little too small for δ₀ to four times as large ones."""
    cases, lines, knowns = [], [], []
    for number in range(CERTIFICATES):
        delta0 = source.choice((1e-6, 1e-9, 1e-12, 2.0 ** -60, 2.0 ** -10))
        rate = -math.log(delta0) * (0.9 if number == 0 else source.uniform(1.02, 4))
        policy = Policy(0, 0.0, source.choice((1, 2, 3, 5)), 7 * rate, 7)
        lines.append(("mu", *policy.fields, 1, 0.0, delta0))
        knowns.append(policy.exact())
    for line, known, (status, mu) in zip(lines, knowns, ask(program, lines)):
        delta0 = mpf(line[-1]) * (1 - mpf(2) ** -30)
        if status == CROWD:
            cases.append((known.law[0] > delta0 * (1 - mpf("1e-6")), (line, "none")))
            continue
        end = exact.epsilon_by(known.delta, delta0, 40)
        points = [(end + mpf("2e-6")) * i / 150 for i in range(151)]
        bounds = [known.delta(e) for e in points]
        def holds(mu):
            return all(b <= delta0 + (1 - delta0) * exact.gaussian_delta(mu, e) for e, b in zip(points, bounds))
        cases.append((status == OK and holds(mpf(mu)) and (mu <= 2.0 ** -20 or not holds(mpf(mu) * mpf("0.98"))), (line, status, mu)))
    tally.check("mu dominates the message, and 0.98 mu does not", cases)


# ---- several messages ---------------------------------------------------------------------------------------------

def check_products(program, tally, source, policies):
    cases, lines, knowns = [], [], []
    for policy in policies:
        own, queries = source.choice(((2, 1), (8, 1), (1, 10), (3, 7), (1, 100), (1, 2)))
        policy.fields = policy.fields[:3] + (own,) + policy.fields[4:]
        lines.append(("epsilon", *policy.fields, queries, 0.0, 10.0 ** source.uniform(-9, -4)))
        knowns.append((policy.exact(), own * queries))
    for line, (known, messages), (status, result) in zip(lines, knowns, ask(program, lines)):
        if status == CROWD:
            cases.append((1 - (1 - known.law[0]) ** messages > 0.9 * line[-1], (line, "none")))
            continue
        low, high = (exact.many_epsilon(known, messages, line[-1], up, step=result / 2 ** 16) for up in (False, True))
        cases.append((status == OK and low * (1 - 1e-7) <= result <= high * 1.01, (line, status, result, low, high)))
    tally.check("epsilon of several messages is an upper bound, within 1 %", cases)
    worked = [(10, 0.232), (100, 0.785)]
    answers = ask(program, [("epsilon", 0, 0.0, 20, 1, 40.0 * 128, 128, q, 0.0, 1e-6) for q, _ in worked])
    tally.check("10 and 100 queries within 1 % of the exact value",
                [(abs(e / known - 1) < 0.01, (q, e)) for (q, known), (_, e) in zip(worked, answers)])


# ---- mixing alone -------------------------------------------------------------------------------------------------

def check_shuffle(program, tally, source):
    cases, lines, truths = [], [], []
    for _ in range(SHUFFLES):
        clients, fakes = source.randint(1, 10), source.choice((0, source.randint(0, 25)))
        cells, floor = source.choice((2, 3, source.randint(2, 12))), source.uniform(0.1, 6)
        epsilon = source.uniform(0, floor * 1.05)
        truths.append(exact.shuffle_delta(fakes, clients, cells, floor, epsilon) if epsilon < floor else mpf(0))
        lines.append(("shuffle_delta", clients, fakes, cells, floor, epsilon))
    for line, truth, (status, result) in zip(lines, truths, ask(program, lines)):
        right = status == OK and truth * (1 - mpf(10) ** -30) <= result <= truth * (1 + mpf("1e-6")) + mpf("1e-21")
        cases.append((right, (line, status, result, mpmath.nstr(truth, 15))))
    tally.check("delta of mixing alone is an upper bound, within 1e-6", cases)
    worked = {(10 ** 4, 8): 4.48, (10 ** 5, 8): 1.14, (10 ** 6, 8): 0.30, (10 ** 4, 6): 1.13, (10 ** 5, 6): 0.31, (10 ** 6, 6): 0.089}
    answers = ask(program, [("shuffle_epsilon", n, 0, 125, floor, 1e-6) for n, floor in worked])
    tally.check("epsilon of mixing alone as worked out",
                [(status == OK and known * 0.985 < e < known * 1.015, (point, e))
                 for (point, known), (status, e) in zip(worked.items(), answers)])


def check_large(program, tally, source):
    """Counts up to thousands; the last ε so large that what is cut off shows."""
    large = [Policy(0, 0.0, copies, 9 * rate, 9)
             for copies, rate in ((1, 1500), (2, 900), (4, 420), (8, 250), (64, 30))]
    check_delta(program, tally, source, large, "delta of large laws is an upper bound, within 1e-6", 4)
    policy = Policy(0, 0.0, 1, 9 * 5000.0, 9)
    known = policy.exact()
    epsilons = (0.05, 0.1, 0.15, 0.18, 0.2, 0.21, 0.22, 0.23, 0.24)
    answers = ask(program, [("delta", *policy.fields, 1, 0.0, epsilon) for epsilon in epsilons])
    tally.check("what is cut off is paid for",
                [(known.delta(e) <= result <= known.delta(e) * (1 + mpf("1e-6")) + mpf("1e-21"),
                  (e, result, mpmath.nstr(known.delta(e), 12))) for e, (_, result) in zip(epsilons, answers)])


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: check_accounting.py path/to/crowd_eval [PART]")
    program, tally, part = sys.argv[1], Tally(), sys.argv[2] if len(sys.argv) == 3 else None
    source = random.Random("accounting")
    policies = [random_policy(source, 40) for _ in range(LAWS)]
    parts = {
        "delta": lambda: check_delta(program, tally, source, policies,
                                     "delta of one message is an upper bound, within 1e-6", 32),
        "large": lambda: check_large(program, tally, source),
        "epsilon": lambda: check_epsilon(program, tally, source, policies),
        "mu": lambda: check_mu(program, tally, source),
        "products": lambda: check_products(program, tally, source,
                                           [random_policy(source, 150) for _ in range(PRODUCTS)]),
        "shuffle": lambda: check_shuffle(program, tally, source),
    }
    for name in [part] if part else parts:
        parts[name]()
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
