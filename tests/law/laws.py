# SPDX-License-Identifier: Apache-2.0
"""The laws that PRIVACY.md states, in exact fractions, and as power series: the coefficient of z^c is the number of
sequences of c words that end there. At z = 2^-w, with words of w bits, a series is a probability."""
import functools
import itertools
import math
from fractions import Fraction


# ---- power series, up to z^depth ----------------------------------------------------------------------------------

def times(first, second):
    result = [0] * len(first)
    for i, a in enumerate(first):
        if a:
            for j in range(len(first) - i):
                result[i + j] += a * second[j]
    return result


def product(series, depth):
    return functools.reduce(times, series, [1] + [0] * depth)


def plus(first, second):
    return [a + b for a, b in zip(first, second)]


def scaled(series, factor):
    return [a * factor for a in series]


def word(values, depth):
    """One word that is one of `values` values."""
    return [0, values] + [0] * (depth - 1)


def below(bound, bits, depth):
    """A value of below(bound), SPEC 5.10, whichever: rejected words, then one that is not."""
    rejected = 2 ** bits % bound
    return [0] + [(2 ** bits - rejected) * rejected ** (c - 1) for c in range(1, depth + 1)]


def restarted(success, failure):
    """Failures, any number of them, then a success."""
    before = [1] + [0] * (len(failure) - 1)
    for c in range(1, len(failure)):
        before[c] = sum(failure[i] * before[c - i] for i in range(1, c + 1))
    return times(success, before)


# ---- response: theorem 7 ------------------------------------------------------------------------------------------

def response(cells, slots, keep, coin_bits, slot, cell):
    """P(symbols | slot, cell)."""
    kept = Fraction(keep, 2 ** coin_bits)
    other = (1 - kept) / (cells - 1)
    return {symbols: (kept if symbols[slot] == cell else other) / cells ** (slots - 1)
            for symbols in itertools.product(range(cells), repeat=slots)}


def response_words(cells, slots, bits, depth):
    return product([word(2 ** bits, depth)] * 2 + [below(cells - 1, bits, depth)] +
                   [below(cells, bits, depth)] * slots, depth)


# ---- the fakes: PRIVACY 11, "What is drawn" -----------------------------------------------------------------------

def poisson_trial(value, rate, bits, depth):
    """part(q) counts `value`, and thinning keeps it: (1 − x)·x^n/n! in one trial, x = rate/2^bits."""
    counted = product([word(rate, depth)] * value + [word(2 ** bits - rate, depth)], depth)
    thinned = product([below(i, bits, depth) for i in range(2, value + 1)], depth)
    return scaled(times(counted, thinned), Fraction(1, math.factorial(value)))


def poisson(rate, bits, depth):
    """A series per value 0 … depth − 1."""
    failure = [0] * (depth + 1)
    for value in range(2, depth):
        counted = product([word(rate, depth)] * value + [word(2 ** bits - rate, depth)], depth)
        for last in range(2, value + 1):  # below(last) is not 0, those before it are
            words = product([below(i, bits, depth) for i in range(2, last + 1)], depth)
            failure = plus(failure, scaled(times(counted, words), Fraction(last - 1, math.factorial(last))))
    return [restarted(poisson_trial(value, rate, bits, depth), failure) for value in range(depth)]


def clusters(rate, bits, depth):
    """A series per number of clusters, which is the sum of eight parts."""
    part, law = poisson(rate, bits, depth), [[1] + [0] * depth]
    for _ in range(8):
        longer = [[0] * (depth + 1) for _ in range(len(law) + depth - 1)]
        for i, first in enumerate(law):
            for j, second in enumerate(part):
                longer[i + j] = plus(longer[i + j], times(first, second))
        law = longer
    return law


def arrangements(sizes):
    """All orders of sizes[0] messages of entry 0, and so on; all are equally likely."""
    return set(itertools.permutations([entry for entry, size in enumerate(sizes) for _ in range(size)]))


# ---- bounds of e^x, which is in no fraction -----------------------------------------------------------------------

def exponential(x, terms=80):
    """A lower and an upper bound of e^x, for a fraction −1 ≤ x ≤ 8."""
    total = sum(Fraction(x) ** n / math.factorial(n) for n in range(terms))
    rest = Fraction(abs(x)) ** terms / math.factorial(terms) * 2
    return total - rest, total + rest
