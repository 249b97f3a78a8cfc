#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two audits of others, written from their papers, against releases of the real library; and ours beside them.

    python3 tests/law/outside_audit.py path/to/privatemail path/to/make_releases [--long]

* The distinguishability attack of LDP-Auditor (Arcolezi and Gambs, Revealing the True Cost of Locally Differentially
  Private Protocols: An Auditing Perspective, 2024). The attacker guesses the value that makes the message most likely,
  for k-ary response the symbol itself. True and false positives over a pair of values bound ε from below, by the
  intervals of Clopper and Pearson.
* The hockey-stick tester of DP-Auditorium (Kong, Muñoz Medina, Ribero, Syed, 2023). On one half of the samples of two
  neighbours it learns a test that separates them, for each ε the one with the largest P(test) − e^ε·Q(test). On the
  other half that is estimated; above δ, the mechanism is not (ε, δ)-private.

Both see nothing but messages. A bound above the promise would break it; one near it says that the promise is not wasted.
Then releases with more ε than was promised, and with nearly no noise, which both must find. All bounds of the two hold
together with probability 0.999, and one above its promise is made once more, of four times as many fresh releases:
what is wrong is seen again. Those of our own audit, each with 0.999, are shown and not judged
(tests/cli/test_audit.py does). --long makes ten times as many releases.
Needs numpy. Ends with 'N passed, N failed'; exits non-zero when something failed.
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RISK = 1e-3 / 40          # of one bound: a run makes fewer than 40
SHARES = np.concatenate([np.arange(50, 100) / 100, [0.995], np.arange(100, 320, 10) / 100])  # of ε, that are tested


# ---- Clopper and Pearson -----------------------------------------------------------------------------------------

def beta_share(a, b, x):
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d, result = 1.0, 0.0, 1.0
    for i in range(5000):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + term * d)
        c = 1 + term / c
        result *= c * d
        if abs(c * d - 1) < 1e-13:
            break
    return front * (result - 1)


def lower(successes, trials, risk):
    """p such that so many successes or more have probability `risk`."""
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if beta_share(successes, trials - successes + 1, middle) < risk else (low, middle)
    return low


def upper(successes, trials, risk):
    return 1 - lower(trials - successes, trials, risk)


def ratio(likely, unlikely, delta):
    return max(0.0, math.log((likely - delta) / unlikely)) if likely > delta else 0.0


def check_bounds(tally):
    """Against sums of the binomial probabilities."""
    for successes, trials, risk in ((1, 10, 0.01), (7, 20, 1e-4), (150, 1000, 1e-6), (997, 1000, 1e-3)):
        for p, counts in ((lower(successes, trials, risk), range(successes, trials + 1)),
                          (upper(successes, trials, risk), range(successes + 1))):
            tail = sum(math.exp(math.log(math.comb(trials, k)) + k * math.log(p) + (trials - k) * math.log1p(-p)) for k in counts)
            tally.check(abs(tail / risk - 1) < 1e-6, "bound %g of %d of %d: its tail is %g" % (p, successes, trials, tail))


# ---- the two audits ----------------------------------------------------------------------------------------------

def distinguish(first, second, truth, delta=0.0):
    """LDP-Auditor: how often the guess is the first value, when it is right and when it is wrong."""
    right, wrong = int((first == truth).sum()), int((second == truth).sum())
    return ratio(lower(right, len(first), RISK / 2), upper(wrong, len(second), RISK / 2), delta)


def hockey_stick(first, second, promise, delta):
    """DP-Auditorium: the largest ε of a grid at which P(test) − e^ε·Q(test) is surely above δ. `first` and `second` are
    rows of numbers; the test is a threshold of a score that is learnt from one half."""
    half = len(first) // 2
    score = learn(first[:half], second[:half])
    learnt = [np.sort(score(rows[:half])) for rows in (first, second)]
    held = [score(rows[half:]) for rows in (first, second)]
    cuts = np.unique(np.quantile(np.concatenate(learnt), np.linspace(0, 1, 2001)))
    share = [1 - np.searchsorted(one, cuts, side="left") / len(one) for one in learnt]
    proved, risk = 0.0, RISK / (2 * len(SHARES))
    for epsilon in promise * SHARES:
        cut = cuts[np.argmax(share[0] - math.exp(epsilon) * (share[1] + 3 / len(learnt[1])))]
        counts = [int((one >= cut).sum()) for one in held]
        likely, unlikely = lower(counts[0], len(held[0]), risk), upper(counts[1], len(held[1]), risk)
        if likely - math.exp(epsilon) * unlikely > delta:
            proved = max(proved, float(epsilon))
    return proved


def learn(first, second):
    """A score that grows with P/Q: of counts where there are few values, else by Fisher's linear discriminant."""
    both = np.concatenate([first, second])
    if np.issubdtype(first.dtype, np.unsignedinteger):
        tables = [np.log((np.bincount(first[:, i], minlength=int(both.max()) + 1) + 1.0) /
                         (np.bincount(second[:, i], minlength=int(both.max()) + 1) + 1.0)) for i in range(first.shape[1])]
        return lambda rows: sum(table[rows[:, i]] for i, table in enumerate(tables))
    spread = np.cov(first.T) + np.cov(second.T)
    direction = np.linalg.solve(np.atleast_2d(spread), first.mean(0) - second.mean(0))
    return lambda rows: rows @ direction


# ---- releases ----------------------------------------------------------------------------------------------------

class Bench:
    """A pack of random data, and the releases of two records of it."""

    def __init__(self, command, maker, folder):
        self.command, self.maker, self.folder = command, maker, Path(folder)
        source = np.random.default_rng(5)
        self.labels = np.repeat(np.arange(3), 40).astype("i4")
        self.features = (2 * source.standard_normal((3, 8))[self.labels] + source.standard_normal((120, 8))).astype("f4")
        np.save(self.folder / "rows.npy", self.features)
        np.save(self.folder / "labels.npy", self.labels)
        self.pack("one", "--slots", "one", "--cells", 4)
        self.pack("noisy", "--slots", "one", "--cells", 4, "--gaussian", "--rows-are-public", "--codes", "random",
                  "--neighbours", 1, "--rows-per-prototype", 1)
        self.pack("class", "--slots", "class", "--cells", 6)

    def run(self, *words):
        done = subprocess.run([str(word) for word in (self.command, *words)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in (0, 6):
            sys.exit(done.stdout + done.stderr)
        return done.stdout

    def pack(self, name, *options):
        self.run("pack", "--features", "rows.npy", "--labels", "labels.npy", *options, "--out", name + ".pmpk")

    def bodies(self, pack, mechanism, epsilon, delta, rows, count):
        """Bodies of `count` releases of each of the rows of features."""
        records = b"".join(self.labels[row].tobytes() + self.features[row].tobytes() for row in rows)
        done = subprocess.run([self.maker, self.folder / (pack + ".pmpk"), mechanism, repr(float(epsilon)), repr(float(delta)),
                               str(count)], input=records, capture_output=True)
        if done.returncode != 0:
            sys.exit(done.stderr.decode())
        size = int.from_bytes(done.stdout[:4], sys.byteorder)
        return np.frombuffer(done.stdout[4:], np.uint8).reshape(len(rows), count, size)

    def symbols(self, pack, epsilon, rows, count):
        """[row, release, slot]"""
        slots, bits = {"one": (1, 2), "class": (3, 3)}[pack]
        raw = np.unpackbits(self.bodies(pack, "response", epsilon, 0, rows, count), axis=2, bitorder="little")
        raw = raw[:, :, :slots * bits].reshape(len(rows), count, slots, bits)
        return (raw << np.arange(bits, dtype=np.uint8)).sum(axis=3).astype(np.uint32)

    def values(self, epsilon, delta, rows, count):
        return self.bodies("noisy", "gaussian", epsilon, delta, rows, count).view(np.int8).astype(float)

    def pair(self, pack, slot):
        """Two rows of one class in different cells: what they send at ε = 16 tells which those are."""
        rows = np.flatnonzero(self.labels == slot)
        cells = [int(np.bincount(one[:, slot if pack == "class" else 0]).argmax())
                 for one in self.symbols(pack, 16, rows, 15)]
        other = next(i for i, cell in enumerate(cells) if cell != cells[0])
        return [rows[0], rows[other]], cells[0]

    def far_pair(self, delta):
        """The two rows whose releases have the most distant means, by a few of each."""
        means = self.values(16, delta, range(len(self.labels)), 200).mean(axis=1)
        apart = np.linalg.norm(means[:, None] - means[None], axis=2)
        return [int(i) for i in np.unravel_index(apart.argmax(), apart.shape)]

    def audit(self, pack, mechanism, epsilon, delta, trials):
        """What our own audit proves."""
        options = ["--delta", delta] if mechanism == "gaussian" else []
        report = self.run("audit", "--pack", pack + ".pmpk", "--mechanism", mechanism, "--epsilon", epsilon, "--trials", trials,
                          "--seed-pairs", 8, "--json", *options)
        return json.loads(report)["epsilon_lower"]


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, right, what):
        self.passed += bool(right)
        self.failed += not right
        if not right:
            print("FAILED:", what, flush=True)


def attack(bench, tally, pack, promise, made, trials, ours, least=None):
    """One line of the table. `made`: the ε that the releases are really made with."""
    slot = 1 if pack == "class" else 0
    rows, cell = bench.pair(pack, slot)
    for count in (trials, 4 * trials):
        symbols = bench.symbols(pack, made, rows, count)
        outside = distinguish(symbols[0, :, slot], symbols[1, :, slot], cell)
        stick = hockey_stick(symbols[0], symbols[1], promise, 0.0)
        if made > promise or max(outside, stick) <= promise:
            break
    own = bench.audit(pack, "response", promise, 0, trials) if ours else None
    show("response, %s" % ("4 cells" if pack == "one" else "3 slots of 6 cells"), promise, made, outside, stick, own)
    what = "response of %s, promised %g, made with %g: %.3f, %.3f" % (pack, promise, made, outside, stick)
    if made > promise:
        tally.check(outside > promise, what + ": LDP-Auditor does not find it")
        tally.check(stick > promise, what + ": the hockey-stick test does not find it")
    else:
        tally.check(max(outside, stick) <= promise, what + ": above the promise")
        tally.check(outside >= least * promise, what + ": LDP-Auditor is far from it")
        tally.check(stick >= (least - 0.05) * promise, what + ": the hockey-stick test is far from it")


def attack_gaussian(bench, tally, promise, made, delta, trials, ours):
    """The guess is the record whose mean is nearer, learnt from a tenth of the releases."""
    rows = bench.far_pair(delta)
    values = bench.values(made, delta, rows, trials)
    tenth = trials // 10
    score = learn(values[0, :tenth], values[1, :tenth])
    between = np.concatenate([score(values[0, :tenth]), score(values[1, :tenth])]).mean()
    guesses = [score(one[tenth:]) > between for one in values]
    outside = distinguish(guesses[0], guesses[1], True, delta)
    stick = hockey_stick(values[0], values[1], promise, delta)
    own = bench.audit("noisy", "gaussian", promise, delta, trials) if ours else None
    show("Gaussian, δ = %g" % delta, promise, made, outside, stick, own)
    what = "Gaussian, promised %g, made with %g: %.3f, %.3f" % (promise, made, outside, stick)
    if made > promise:
        tally.check(min(outside, stick) > promise, what + ": one does not find it")
    else:
        tally.check(max(outside, stick) <= promise, what + ": above the promise")


def show(mechanism, promise, made, outside, stick, own):
    print("| %s | %g | %g | %.3f | %s | %s |" % (mechanism, promise, made, outside, "%.3f" % stick if stick > 0 else "none",
                                              "" if own is None else "%.3f" % own), flush=True)


def main():
    words = [word for word in sys.argv[1:] if word != "--long"]
    if len(words) != 2:
        sys.exit(__doc__)
    many = 10 if "--long" in sys.argv else 1
    tally = Tally()
    check_bounds(tally)
    print("| mechanism | promised ε | made with ε | LDP-Auditor | hockey stick | privatemail audit |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(words[0]).resolve(), Path(words[1]).resolve(), folder)
        for pack in ("one", "class"):
            for epsilon in (0.5, 1, 2, 4):
                trials, least = (400000, 0.85) if epsilon < 1 else (200000, 0.9)
                attack(bench, tally, pack, epsilon, epsilon, trials * many, True, least)
        for promise, made in ((1, 2), (4, 5), (4, 16)):
            attack(bench, tally, "one", promise, made, 100000 * many, False)
        for promise, made in ((1, 1), (4, 4), (1, 16)):
            attack_gaussian(bench, tally, promise, made, 0.01, 100000 * many, made == promise)
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
