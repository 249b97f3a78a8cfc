#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole law of what the mechanisms draw, from the real code and without chance.

    python3 tests/law/check_law.py [PART...] [--changed FILE]

The mechanisms are compiled with words of 1 to 4 bits instead of 32 and run over every sequence of words, so that their
probabilities are counted, not estimated. Counts are integers and must be the integers that the theorems of PRIVACY.md
say. A law that no fraction can state, such as e^(−1/2), must lie between what was counted and that plus what was cut
off. Parts are below, poisson, response, bundle, gaussian; all by default.

--changed: a source of the core with a bug in it, used in place of the one with its name (scripts/mutants.py).
Needs a C compiler and mpmath. Ends with 'N passed, N failed'; exits non-zero when something failed.
"""
import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

sys.dont_write_bytecode = True  # the tree of sources stays as it is
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=c11", "-O2", "-w", "-ffp-contract=off", "-D_POSIX_C_SOURCE=200809L"]
FOLDERS = [ROOT / "core" / folder for folder in ("", "include", "base", "stages")]

import law_gaussian  # noqa: E402
import laws  # noqa: E402


class Programs:
    """The C programs of this folder, each compiled once for every number of bits."""

    def __init__(self, folder, changed):
        self.folder, self.changed, self.made = Path(folder), changed, {}

    def source(self, path):
        if self.changed and Path(self.changed).name == Path(path).name:
            return str(Path(self.changed).resolve())
        return str(ROOT / path)

    def compile(self, name, sources, bits, **definitions):
        key = (name, bits, *definitions.items())
        if key not in self.made:
            target = self.folder / "-".join(map(str, [name, bits, *definitions.values()]))
            gaussian = self.source("core/stages/gaussian.c")
            options = ["-DPML_WORD_BITS=%d" % bits, '-DLAW_GAUSSIAN="%s"' % gaussian]
            options += ["-D%s=%d" % item for item in definitions.items()]
            files = [HERE / source if "/" not in source else self.source(source) for source in sources]
            subprocess.run([os.environ.get("CC", "cc"), *FLAGS, *options, *("-I%s" % path for path in (HERE, *FOLDERS)),
                            *map(str, files), "-o", str(target)], check=True)
            self.made[key] = target
        return self.made[key]

    def ask(self, program, question):
        done = subprocess.run([program], input=question + "\n", capture_output=True, text=True, check=True)
        return [line.split() for line in done.stdout.splitlines() if line != "end"]

    def words(self, bits, coin, question):
        """{(words, outcome): count}, and the share that was cut off; or the one number that was written."""
        sources = ["law_words.c", "words.c", "core/base/random.c", "core/base/elementary.c", "core/stages/response.c",
                   "core/stages/bundle.c"]
        lines = self.ask(self.compile("words", sources, bits, PML_COIN_BITS=coin), question)
        if len(lines[-1]) == 1:
            return int(lines[-1][0])
        depth = int(question.split()[1])
        counts = {(int(words), int(outcome)): int(count) for words, outcome, count in lines[:-1]}
        cut = Fraction(int(lines[-1][2]), 2 ** (bits * depth))
        assert cut + sum(Fraction(count, 2 ** (bits * words)) for (words, _), count in counts.items()) == 1
        return counts, cut

    def choices(self, program, question):
        """{outcome: [(product, count)]}; outcome is None for what was cut off."""
        found = defaultdict(list)
        for outcome, factors, count in self.ask(program, question):
            found[None if outcome == "cut" else int(outcome)].append((int(factors), int(count)))
        return found

    def free(self, bits, question):
        return self.choices(self.compile("choices", ["law_choices.c", "choices.c", "core/stages/bundle.c"], bits), question)

    def level(self, bits, level, most, number=0):
        program = self.compile("level", ["law_hooks.c", "choices.c", "weak_gaussian.c"], bits, LAW_LEVEL=level)
        return self.choices(program, "%d %d" % (most, number))


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, right, what):
        self.passed += bool(right)
        self.failed += not right
        print("ok    " if right else "FAILED", what, flush=True)
        if not right and os.environ.get("PRIVATEMAIL_FIRST_FAILURE"):
            sys.exit(1)

    def same(self, counts, expected, what):
        """Integers: those that were counted, and those that the theorem says. Zeros may be left out."""
        expected = {key: value for key, value in expected.items() if value != 0}
        wrong = [key for key in counts.keys() | expected.keys() if counts.get(key, 0) != expected.get(key, 0)]
        self.check(not wrong, "%s: %d counts of %d sequences" % (what, len(counts), sum(counts.values())))
        for key in sorted(wrong)[:3]:
            print("    %s: counted %s, not %s" % (key, counts.get(key, 0), expected.get(key, 0)))


def expand(law, series):
    """{(words, outcome): count} of a law whose number of words is independent of the outcome."""
    return {(c, outcome): p * count for outcome, p in law.items() for c, count in enumerate(series) if count}


# ---- words --------------------------------------------------------------------------------------------------------

def check_below(programs, tally):
    bits, depth = 4, 4
    expected, counts = {}, {}
    for bound in range(1, 2 ** bits + 1):
        found, _ = programs.words(bits, 6, "below %d %d" % (depth, bound))
        counts.update({(bound, *key): count for key, count in found.items()})
        uniform = {value: Fraction(1, bound) for value in range(bound)}
        for key, count in expand(uniform, laws.below(bound, bits, depth)).items():
            expected[(bound, *key)] = count
    tally.same(counts, expected, "below(1) to below(16) of 4-bit words is uniform")


def check_poisson(programs, tally):
    bits, depth = 3, 10
    for rate in range(2 ** (bits - 1) + 1):
        counts, cut = programs.words(bits, 5, "poisson %d %d" % (depth, rate))
        series = laws.poisson(rate, bits, depth)
        expected = {(c, value): count for value, one in enumerate(series) for c, count in enumerate(one)}
        tally.same(counts, expected, "counting with x = %d/8, then thinning" % rate)
        x, inside = Fraction(rate, 2 ** bits), True
        for value in range(depth):
            counted = sum(Fraction(count, 2 ** (bits * c)) for (c, v), count in counts.items() if v == value)
            low, high = (bound * x ** value / math.factorial(value) for bound in laws.exponential(-x))
            inside = inside and counted <= high and low <= counted + cut
        tally.check(inside, "is Poisson with mean %d/8, within the %.1e that was cut off" % (rate, cut))


# ---- response -----------------------------------------------------------------------------------------------------

def number_of(symbols, cells):
    value = 0
    for symbol in symbols:
        value = value * cells + symbol
    return value


def response_counts(programs, bits, coin, depth, cells, slots, keep):
    """{(slot, cell, words, outcome): count}."""
    counts = {}
    for slot in range(slots):
        for cell in range(cells):
            found, _ = programs.words(bits, coin, "response %d %d %d %d %d %d" % (depth, cells, slots, keep, slot, cell))
            counts.update({(slot, cell, *key): count for key, count in found.items()})
    return counts


def check_response(programs, tally):
    for bits, coin, depth, cells, slots, keeps in [
            (3, 5, 5, 2, 1, range(33)), (3, 5, 5, 3, 1, range(33)), (3, 5, 5, 4, 1, (0, 8, 13, 31, 32)),
            (3, 5, 6, 3, 2, (0, 11, 20, 32)), (3, 5, 6, 5, 2, (7, 19)), (2, 3, 8, 3, 3, (3, 6)), (3, 6, 5, 4, 2, (1, 17, 63))]:
        counts, expected = {}, {}
        words = laws.response_words(cells, slots, bits, depth)
        for keep in keeps:
            for key, count in response_counts(programs, bits, coin, depth, cells, slots, keep).items():
                counts[(keep, *key)] = count
            for slot in range(slots):
                for cell in range(cells):
                    law = {number_of(symbols, cells): p for symbols, p in
                           laws.response(cells, slots, keep, coin, slot, cell).items()}
                    expected.update({(keep, slot, cell, *key): count for key, count in expand(law, words).items()})
        tally.same(counts, expected, "response, %d cells, %d slots, %d thresholds of %d" %
                   (cells, slots, len(keeps), 2 ** coin))
    check_promise(programs, tally)


def check_promise(programs, tally):
    """The ratio of any two records' counts is at most e^ε, and the threshold is the largest that keeps it so."""
    bits, coin, depth, slots = 3, 6, 5, 2
    held = tight = uniform = True
    for cells in (2, 3, 4):
        for epsilon in (Fraction(1, 2), 1, Fraction(3, 2), 2, 3):
            least, most = laws.exponential(epsilon)
            keep = programs.words(bits, coin, "keep %d %r" % (cells, float(epsilon)))
            law = defaultdict(dict)
            for (slot, cell, words, outcome), count in response_counts(programs, bits, coin, depth, cells, slots, keep).items():
                if words == 3 + slots:
                    law[slot, cell][outcome] = count
            whole = {len(one) for one in law.values()} == {cells ** slots}
            worst = max(Fraction(one[outcome], other[outcome]) for one in law.values() for other in law.values()
                        for outcome in one if outcome in other)
            held = held and whole and worst <= least
            uniform = uniform and worst >= 1
            next_one = Fraction(keep + 2, 2 ** coin)
            tight = tight and (next_one >= 1 or next_one * (cells - 1) / (1 - next_one) > most)
    tally.check(held and uniform, "response: no event has a ratio above e^ε, for all pairs of records of 2 to 4 cells")
    tally.check(tight, "response: a threshold larger by 2 of 64 has one")


# ---- fakes --------------------------------------------------------------------------------------------------------

def check_bundle(programs, tally):
    bits = 2
    for depth, rate, symbols, copies in ((12, 1, 3, 2), (12, 2, 4, 3), (12, 1, 2, 4)):
        counts, cut = programs.words(bits, 3, "draw %d %d %d %d" % (depth, rate, symbols, copies))
        many, expected = laws.clusters(rate, bits, depth), {}
        one = [laws.below(symbols, bits, depth), laws.below(copies, bits, depth)]
        for number in range(2):  # two clusters need more words
            words = laws.product([laws.below(symbols, bits, depth), many[number], *(one * number)], depth)
            chance = Fraction(1, symbols * (symbols * copies) ** number)
            first = symbols * (symbols * copies) ** number
            expected.update({(c, outcome): chance * count for outcome in range(first, 2 * first)
                             for c, count in enumerate(words)})
        tally.same(counts, expected, "bundles of %d symbols, clusters to %d" % (symbols, copies))
    for symbols, copies, parts in ((2, 2, (0, 1)), (3, 1, (0, 1)), (1, 1, (0, 1, 31))):
        check_parts(programs, tally, symbols, copies, parts)
    for own, sizes in ((1, [1]), (1, [2]), (2, [1]), (1, [1, 2]), (2, [1, 1]), (0, [2, 2]), (3, []), (1, [3])):
        entries = [1] * own + sizes
        total, depth = sum(entries), sum(entries) + 2
        counts, _ = programs.words(3, 5, "pick %d %d %s" % (depth, own, " ".join(map(str, sizes))))
        orders = laws.arrangements(entries)
        law = {number_of((1, *order), 8): Fraction(1, len(orders)) for order in orders}
        words = laws.product([laws.below(left, 3, depth) for left in range(1, total + 1)], depth)
        tally.same(counts, expand(law, words), "order of %d own and clusters of %s is uniform" % (own, sizes))


def check_parts(programs, tally, symbols, copies, parts):
    """Eight parts, their sum, its cut at 63, and a symbol and a size for each cluster."""
    ways = {0: 1}
    for _ in range(8):
        longer = defaultdict(int)
        for total, count in ways.items():
            for part in parts:
                longer[total + part] += count
        ways = longer
    expected = {}
    for total, count in ways.items():
        outcomes = symbols * (symbols * copies) ** min(total, 63)
        expected.update({(total << 20 | outcome, len(parts) ** 8 * outcomes): count for outcome in range(outcomes)})
    most = max(factors for _, factors in expected)
    found = programs.free(1, "parts %d %d %d %d %s" % (most, 5, symbols, copies, " ".join(map(str, parts))))
    counts = {(outcome, factors): count for outcome, pairs in found.items() for factors, count in pairs}
    tally.same(counts, expected, "%d symbols, clusters to %d, when each of eight parts is in %s" % (symbols, copies, parts))


CHECKS = {"below": check_below, "poisson": check_poisson, "response": check_response, "bundle": check_bundle,
          "gaussian": law_gaussian.check}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="of " + ", ".join(CHECKS))
    parser.add_argument("--changed", metavar="FILE", help="a source of the core with a bug in it")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(CHECKS):
        parser.error("there is no part " + ", ".join(sorted(unknown)))
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(folder, options.changed)
        for part in options.parts or CHECKS:
            CHECKS[part](programs, tally)
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0 or tally.passed == 0


if __name__ == "__main__":
    sys.exit(main())
