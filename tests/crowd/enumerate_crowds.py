#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole small crowds, enumerated, against the theorems of PRIVACY 11.

    python3 tests/crowd/enumerate_crowds.py

Every client's bundle is drawn in all ways: the number of clusters with its cut, their symbols and sizes, and the own
message by randomized response. What the server sees is the histogram of all messages of the epoch. Its law is computed
for every record of the asker and all data of the others, and its exact δ is compared with the theorem's. Nothing here
uses that counts of different symbols are independent, which is what the proofs rest on.
"""
import itertools
import math
import os
import sys
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "golden")]

import mpmath
import numpy
from mpmath import mpf

import exact_crowd as exact
from reference import response_threshold

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)
ROUNDING = 1e-12                  # of the doubles here, in δ


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, title, cases):
        """cases: (is it right, what it was) of each point."""
        wrong = [what for right, what in cases if not right]
        self.passed += not wrong and bool(cases)
        self.failed += bool(wrong) or not cases
        print("%-78s %5d points%s" % (title, len(cases), ", %d WRONG" % len(wrong) if wrong else ""))
        for what in wrong[:5]:
            print("    wrong:", what)


# ---- laws of histograms: {counts of each symbol: probability}, or the same as an array ----------------------------

def unit(symbol, symbols, count=1):
    return tuple(count if s == symbol else 0 for s in range(symbols))


def plus(first, second):
    """The law of a sum of independent histograms."""
    result = {}
    for a, p in first.items():
        for b, q in second.items():
            key = tuple(map(sum, zip(a, b)))
            result[key] = result.get(key, 0.0) + p * q
    return result


def mixture(parts):
    result = {}
    for weight, law in parts:
        for key, p in law.items():
            result[key] = result.get(key, 0.0) + weight * p
    return result


def nothing(symbols):
    return {unit(0, symbols, 0): 1.0}


def poisson_law(mean, cut):
    """Probabilities of 0 … cut, all above going to the cut; and the probability of that."""
    chances = [math.exp(-mean) * mean ** k / math.factorial(k) for k in range(cut + 1)]
    above = float(mpmath.gammainc(cut + 1, 0, mean, regularized=True))
    chances[-1] += above
    return chances, above


def clusters_of(symbols, copies, mean, cut):
    """Law of the messages from one source's clusters."""
    one = mixture((1 / (symbols * copies), {unit(s, symbols, size): 1.0})
                  for s in range(symbols) for size in range(1, copies + 1))
    chances, above = poisson_law(mean, cut)
    parts, many = [], nothing(symbols)
    for chance in chances:
        parts.append((chance, many))
        many = plus(many, one)
    return mixture(parts), above


def response(true, symbols, floor):
    """[(probability, symbol)] of the drawn cell."""
    odds = math.inf if floor is None else math.exp(floor)
    high = 1.0 if floor is None else odds / (odds + symbols - 1)
    return [(high if s == true else (1 - high) / (symbols - 1), s) for s in range(symbols)]


def messages(chosen, symbols):
    """Law of the messages of a bundle's own part: chosen is [(probability, list of symbols)]."""
    return mixture((p, {tuple(listed.count(s) for s in range(symbols)): 1.0}) for p, listed in chosen)


class Epoch:
    """The noise of all sources and the own messages of the others, as one array; `room` counts per symbol."""

    def __init__(self, symbols, sources, others):
        self.symbols, law = symbols, nothing(symbols)
        for part in others:
            law = plus(law, part)
        room = 1 + sum(max(max(key) for key in part) for part in list(sources) + [law]) + 2 * symbols
        self.array = numpy.zeros((room,) * symbols)
        for key, p in law.items():
            self.array[key] += p
        for part in sources:
            self.array = self.shifted(self.array, part)

    @staticmethod
    def shifted(array, law):
        result = numpy.zeros_like(array)
        for key, p in law.items():
            to = tuple(slice(k, None) for k in key)
            of = tuple(slice(0, size - k) for k, size in zip(key, array.shape))
            result[to] += p * array[of]
        return result

    def view(self, own):
        """What the server sees when the asker's own messages have this law."""
        array = self.shifted(self.array, own)
        assert abs(array.sum() - 1) < 1e-9          # nothing fell out of the array
        return array


def delta_of(p, q, epsilon):
    return float(numpy.maximum(p - math.exp(epsilon) * q, 0).sum())


def largest(views, epsilon):
    return max(delta_of(p, q, epsilon) for p, q in itertools.permutations(views, 2))


def others_data(symbols, askers):
    """All data of the other askers; the order among them does not matter to a histogram."""
    return itertools.combinations_with_replacement(range(symbols), askers - 1)


# ---- theorem A, presence ------------------------------------------------------------------------------------------

# symbols, clients, askers, copies, mean clusters, floor, cut, mean of the relay's clusters
CROWDS = [
    (2, 1, 1, 1, 0.8, 2.0, 6, 0), (2, 2, 2, 2, 0.7, 1.0, 5, 0), (2, 3, 3, 2, 0.5, 3.0, 4, 0), (2, 4, 4, 2, 0.6, 4.0, 4, 0),
    (2, 4, 2, 3, 0.4, 2.0, 3, 0), (3, 2, 2, 2, 0.9, 2.0, 4, 0), (3, 3, 3, 2, 0.4, 1.5, 3, 0), (3, 4, 4, 1, 0.7, 3.0, 3, 0),
    (4, 2, 2, 1, 0.8, 2.0, 3, 0), (4, 3, 3, 1, 0.5, 4.0, 3, 0), (4, 4, 4, 1, 0.5, 2.5, 2, 0), (2, 2, 2, 2, 0.5, 2.0, 5, 1.5),
    (3, 1, 1, 2, 0.0, 2.0, 0, 2.0), (2, 3, 3, 2, 0.5, None, 4, 0), (3, 2, 2, 1, 0.6, None, 4, 0),
]


def noise_of(crowd):
    """The sources' laws, Λ, and how far the cuts may put the epoch from the ideal."""
    symbols, clients, _, copies, mean, _, cut, relay = crowd
    one, above = clusters_of(symbols, copies, mean, cut)
    sources, error = [one] * clients, clients * above
    if relay:
        more, above = clusters_of(symbols, copies, relay, 14)
        sources, error = sources + [more], error + above
    return sources, (clients * mean + relay) / symbols, error


def check_theorem_a(tally):
    below, floors, presence, covered = [], [], [], []
    for crowd in CROWDS:
        symbols, _, askers, copies, _, floor, _, _ = crowd
        sources, rate, error = noise_of(crowd)
        known = exact.Crowd(rate, copies)
        owns = [messages([(p, [s]) for p, s in response(true, symbols, floor)], symbols) for true in range(symbols)]
        cover = messages([(1 / symbols, [s]) for s in range(symbols)], symbols)
        for data in others_data(symbols, askers):
            epoch = Epoch(symbols, sources, [owns[true] for true in data])
            views = [epoch.view(own) for own in owns]
            idle, hidden = epoch.view(nothing(symbols)), epoch.view(cover)
            for epsilon in EPSILONS:
                paid = (1 + math.exp(epsilon)) * error + ROUNDING
                bound = float(known.delta(epsilon, floor, symbols)) + paid
                found = largest(views, epsilon)
                below.append((found <= bound, (crowd, data, epsilon, found, bound)))
                found = max(max(delta_of(v, idle, epsilon), delta_of(idle, v, epsilon)) for v in views)
                bound_add = float(known.presence(epsilon)) + paid
                presence.append((found <= bound_add, (crowd, data, epsilon, found, bound_add)))
                found = max(max(delta_of(v, hidden, epsilon), delta_of(hidden, v, epsilon)) for v in views)
                covered.append((found <= bound, (crowd, data, epsilon, found, bound)))
            if floor is not None:
                floors.append((largest(views, floor) <= ROUNDING, (crowd, data)))
    tally.check("theorem A: no crowd is above it, all data of the others", below)
    tally.check("the floor: an epoch's delta at epsilon0 is 0", floors)
    tally.check("presence: query against idle, both ways", presence)
    tally.check("presence with cover: query against cover is within theorem A", covered)


def check_tightness(tally):
    """Without randomized response the adversary lacks nothing that the proof gives it: equality."""
    equal, presence, cut = [], [], []
    for symbols, clients, copies, mean in ((2, 1, 1, 1.5), (2, 2, 2, 0.6), (3, 1, 2, 1.0), (2, 1, 3, 0.9)):
        one, above = clusters_of(symbols, copies, mean, 14)
        known = exact.Crowd(clients * mean / symbols, copies)
        owns = [messages([(1.0, [true])], symbols) for true in range(symbols)]
        epoch = Epoch(symbols, [one] * clients, [])
        views, idle = [epoch.view(own) for own in owns], epoch.view(nothing(symbols))
        for epsilon in EPSILONS:
            slack = (1 + math.exp(epsilon)) * clients * above + ROUNDING
            found, bound = largest(views, epsilon), float(known.delta(epsilon))
            equal.append((abs(found - bound) <= slack, (symbols, clients, copies, epsilon, found, bound)))
            found = max(max(delta_of(v, idle, epsilon), delta_of(idle, v, epsilon)) for v in views)
            bound = float(known.presence(epsilon))
            presence.append((abs(found - bound) <= slack, (symbols, clients, copies, epsilon, found, bound)))
        short, _ = clusters_of(symbols, copies, mean, 1)          # a cut that nobody pays for is seen
        views = [Epoch(symbols, [short] * clients, []).view(own) for own in owns]
        cut.append((any(largest(views, e) > float(known.delta(e)) * 1.05 for e in EPSILONS), (symbols, copies)))
    tally.check("theorem A is exact where nothing is given away", equal)
    tally.check("presence is exact", presence)
    tally.check("clusters cut at 1 without paying are above the theorem", cut)


# ---- several own messages -----------------------------------------------------------------------------------------

def copies_delta(law, copies_of_pair, epsilon):
    """δ of independent copies of theorem A's pair, by the full product."""
    size = min(len(law) - 1, 26 if copies_of_pair == 2 else 200)
    law = numpy.array([float(value) for value in law[:size + 1]])
    i, j = numpy.arange(1, size + 1), numpy.arange(size)
    after = numpy.concatenate(([0.0], law))
    p, q = numpy.outer(law[i - 1], law[j]).ravel(), numpy.outer(law[i], after[j]).ravel()
    lost, p_all, q_all = 1 - float(p.sum()) ** copies_of_pair, p, q
    for _ in range(copies_of_pair - 1):
        p_all, q_all = numpy.outer(p_all, p).ravel(), numpy.outer(q_all, q).ravel()
    return float(numpy.maximum(p_all - math.exp(epsilon) * q_all, 0).sum()) + lost


def check_own_messages(tally):
    lists = {"overlapping": lambda z: [z, (z + 1) % 4], "disjoint": lambda z: [z, z ^ 1] if z < 2 else [z, 5 - z],
             "pairs": lambda z: [z, (z + 2) % 4]}
    below, equal, twice, apart = [], [], [], []
    for clients, copies, mean, floor, cut in ((1, 1, 1.2, 2.0, 8), (2, 1, 0.8, None, 6), (2, 2, 0.5, 1.0, 4)):
        one, above = clusters_of(4, copies, mean, cut)
        known = exact.Crowd(clients * mean / 4, copies)
        coin = float(exact.coin(floor, 4))
        epoch = Epoch(4, [one] * clients, [])
        for epsilon in EPSILONS:
            slack = (1 + math.exp(epsilon)) * clients * above + ROUNDING
            double = copies_delta(known.law, 2, epsilon)
            for name, listed in lists.items():
                views = [epoch.view(messages([(p, listed(s)) for p, s in response(true, 4, floor)], 4))
                         for true in range(4)]
                found = largest(views, epsilon)
                below.append((found <= coin * double + slack, (name, clients, floor, epsilon, found, coin * double)))
                if floor is None and name != "overlapping":
                    equal.append((abs(found - double) <= slack + 1e-9, (name, epsilon, found, double)))
            views = [epoch.view(messages([(p * q, [s, t]) for p, s in response(x, 4, floor)
                                          for q, t in response(y, 4, floor)], 4))
                     for x, y in itertools.combinations(range(4), 2)]
            found = largest(views, epsilon)
            apart.append((found <= double + slack, (clients, floor, epsilon, found, double)))
    one, _ = clusters_of(2, 1, 6.0, 24)
    views = [Epoch(2, [one], []).view(messages([(1.0, [true, true])], 2)) for true in range(2)]
    for epsilon in EPSILONS[:5]:
        twice.append((largest(views, epsilon) > copies_delta(exact.Crowd(3, 1).law, 2, epsilon) * 1.2, epsilon))
    tally.check("several own messages: w copies of the pair, times the coin", below)
    tally.check("several own messages: exact for disjoint lists", equal)
    tally.check("own messages drawn apart, different true symbols: w copies of the pair", apart)
    tally.check("the same symbol twice is worse than w copies", twice)


def check_kept_cell(tally):
    """Two epochs with one drawn cell: the coin's factor counts once. Two different coins would be wrong."""
    below, once = [], []
    for clients, copies, mean, floor in ((1, 1, 2.0, 2.0), (2, 2, 0.8, 1.0)):
        one, above = clusters_of(2, copies, mean, 9)
        known = exact.Crowd(clients * mean / 2, copies)
        epoch = Epoch(2, [one] * clients, [])
        of_cell = [epoch.view(messages([(1.0, [s])], 2)).ravel() for s in range(2)]
        views = [sum(p * numpy.outer(of_cell[s], of_cell[s]) for p, s in response(true, 2, floor)) for true in range(2)]
        for epsilon in EPSILONS:
            coin, double = float(exact.coin(floor, 2)), copies_delta(known.law, 2, epsilon)
            slack = 2 * (1 + math.exp(epsilon)) * clients * above + ROUNDING
            found = largest(views, epsilon)
            below.append((found <= coin * double + slack, (clients, epsilon, found, coin * double)))
        found, wrong = largest(views, 0.0), coin ** 2 * copies_delta(known.law, 2, 0.0)
        once.append((found > wrong * 1.05, (clients, found, wrong)))
    tally.check("a kept cell in two epochs: two copies, times the coin once", below)
    tally.check("the coin's factor taken twice would be below the truth", once)


# ---- theorem B ----------------------------------------------------------------------------------------------------

def check_theorem_b(tally):
    below, equal, falling = [], [], []
    for symbols, clients, askers, fakes, floor in ((2, 4, 4, 0, 2.0), (2, 4, 3, 1, 1.0), (3, 3, 3, 0, 2.0),
                                                   (3, 4, 4, 1, 3.0), (4, 3, 3, 1, 2.0), (4, 4, 4, 0, 1.0),
                                                   (2, 3, 1, 2, 2.0), (3, 4, 1, 2, 1.5), (4, 4, 1, 1, 3.0), (4, 1, 1, 0, 2.0)):
        uniform = messages([(1 / symbols, [s]) for s in range(symbols)], symbols)
        owns = [messages([(p, [s]) for p, s in response(true, symbols, floor)], symbols) for true in range(symbols)]
        for data in others_data(symbols, askers):
            epoch = Epoch(symbols, [uniform] * (fakes * clients), [owns[true] for true in data])
            views = [epoch.view(own) for own in owns]
            for epsilon in EPSILONS:
                bound = float(exact.shuffle_delta(fakes * clients, askers, symbols, floor, epsilon))
                found = largest(views, epsilon)
                case = (symbols, clients, askers, fakes, floor, data, epsilon, found, bound)
                below.append((found <= bound + ROUNDING, case))
                if askers == 1:
                    equal.append((abs(found - bound) <= ROUNDING, case))
    for symbols, floor, epsilon in itertools.product((2, 3, 4), (1.0, 4.0), (0.0, 0.3, 1.0)):
        values = [exact.uniform_delta(blanket, symbols, floor, epsilon) for blanket in range(14)]
        falling += [(after <= before + mpf(10) ** -50, (symbols, floor, epsilon)) for before, after in
                    zip(values, values[1:])]
    tally.check("theorem B: no crowd is above it, all data of the others", below)
    tally.check("theorem B is exact when the others have no query", equal)
    tally.check("theorem B does not grow with the blanket", falling)


# ---- the drawn cell as it is drawn, in integers --------------------------------------------------------------------

def check_floor(tally):
    ratios, coins, limits = [], [], []
    for symbols in (2, 3, 4, 125, 1000, 65536, 2 ** 20 - 1, 2 ** 20):
        for floor in (2.0 ** -16, 0.001, 0.5, 1.0, 4.0, 8.0, 10.0, 16.0):
            threshold, _ = response_threshold(floor, symbols)
            odds = Decimal(floor).exp()
            high = Decimal(threshold) / 2 ** 40
            low = (1 - high) / (symbols - 1)
            each = Decimal(1) / symbols
            ratios.append((all(a <= odds * b for a, b in itertools.permutations((high, low, each), 2)), (symbols, floor)))
            coins.append((0 <= high - low <= (odds - 1) / (odds + symbols - 1), (symbols, floor)))
    for symbols in range(2 ** 20 - 40, 2 ** 20 - 30):
        limits.append((response_threshold(2.0 ** -20, symbols)[0] * symbols < 2 ** 40, symbols))
    tally.check("floor: true, other and cover symbols are within e^epsilon0 of each other", ratios)
    tally.check("floor: the coin is at most 1 - gamma, and not negative", coins)
    tally.check("floor: 2^-20 would be too small for as many symbols", limits)


def main():
    tally = Tally()
    check_theorem_a(tally)
    check_tightness(tally)
    check_own_messages(tally)
    check_kept_cell(tally)
    check_theorem_b(tally)
    check_floor(tally)
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
