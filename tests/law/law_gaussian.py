# SPDX-License-Identifier: Apache-2.0
"""The normal deviate of core/stages/gaussian.c, level by level (PRIVACY.md, theorem 6), and all levels at once.

Each level is run over every outcome of the level below it, so each is exact whatever real numbers the others stand for:
less compares digits; half and step count comparisons; propose counts halves and steps; deviate rounds. Then the whole
is run with digits of few bits, where every probability has an upper and a lower bound."""
import math
from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 50
SLACK = mpf("1e-40")  # of mpmath's integrals


def share(pairs):
    return sum((Fraction(count, factors) for factors, count in pairs), Fraction(0))


def counted(found):
    return {(outcome, factors): count for outcome, pairs in found.items() if outcome is not None for factors, count in pairs}


# ---- level by level -----------------------------------------------------------------------------------------------

LIMBS = 20


def check_less(programs, tally):
    """All paths of two numbers of binary digits, of which `a` and `b` are known and 1: to the last tie."""
    for a, b in ((0, 0), (0, 1), (1, 0), (2, 2), (3, 1), (1, 3)):
        found = programs.free(1, "less %d %d %d" % (2 ** 62, a, b))
        ideal = 1 - Fraction(1, 2 ** (b - a + 1)) if b >= a else Fraction(1, 2 ** (a - b + 1))
        tie = Fraction(1, 2 ** (LIMBS - min(a, b)))
        tally.check(None not in found and share(found[1]) == ideal - tie / 2 and share(found[0]) == 1 - share(found[1]),
                    "less of binary numbers with %d and %d digits known: %s − %s" % (a, b, ideal, tie / 2))


def check_half(programs, tally):
    """Links: u < ½, then each comparison that is less. n of them have probability ½^n/n!."""
    bits, most = 2, 20
    expected = {(1, 2 ** bits): 2 ** (bits - 1)}
    for comparisons in range(1, most + 1):  # the last was not less, so there were as many links
        outcome = (comparisons % 2 == 0) + 2 + 4 * comparisons
        expected[outcome, 2 ** (bits + comparisons)] = 2 ** (bits - 1)
    tally.same(counted(programs.level(bits, 1, 2 ** (bits + most))), expected,
               "half is whether a descent from ½ has an even number of links")


def check_step(programs, tally):
    """Links: each comparison that is less and whose trial passes: n of them, t with a comparison with x, in
    comb(n, t)·(2k)^(n−t) of (2k+2)^n ways. Together they have probability x^n/n!·((2k + x)/(2k + 2))^n."""
    for k in range(6):
        found = counted(programs.level(1, 1, 10 ** 9, 1 + k))
        expected, values = {}, 2 * k + 2
        for links in range(30):
            for trials in range(links + 1):
                ways = math.comb(links, trials) * (2 * k) ** (links - trials)
                base = 2 ** (links + trials) * values ** links
                for end, factors in ((0, 2), (1, 2 * values), (2, 4 * values)):
                    outcome = (links % 2 == 0) + 2 * end + 8 * links + (trials << 10)
                    if base * factors <= 10 ** 9:
                        expected[outcome, base * factors] = ways
        tally.same(found, expected, "step(%d) is whether a descent from x has an even number of links" % k)


def check_propose(programs, tally):
    """k is accepted after k + k(k−1) halves that are true, one that is not and k + 1 steps. The exponents sum to
    k²/2 + (k + 1)·x(2k + x)/(2k + 2) = (k + x)²/2."""
    found = {outcome: sum(count for _, count in pairs) for outcome, pairs in programs.level(1, 2, 0).items()}
    accepted = {outcome: count for outcome, count in found.items() if outcome is None or outcome & 1 or outcome >> 30}
    expected = {1 + 2 * k + (k * k << 8) + (k + 1 << 20): 1 for k in range(32)}
    tally.same(accepted, expected, "propose accepts k = 0 to 31 after k² halves, one more and k + 1 steps")
    tally.check(2 * 32 + (32 << 8) in found, "and starts again at 32")


def check_deviate(programs, tally):
    """Of every k to 3, first digit and sign, the value is the nearest: ±2^s(k + x)."""
    bits = 3
    for shift in range(bits):
        found = {outcome: share(pairs) for outcome, pairs in programs.level(bits, 3, 2 ** 40, shift).items()}
        expected = {}
        for k in range(4):
            for digit in range(2 ** bits):  # x is anywhere from digit/8 to (digit + 1)/8, as likely as not
                middle = (k + Fraction(2 * digit + 1, 2 ** (bits + 1))) * 2 ** shift
                for sign in (-1, 1):
                    value = 1000 + sign * math.floor(middle + Fraction(1, 2))
                    expected[value] = expected.get(value, 0) + Fraction(1, 4 * 2 ** bits * 2)
        tally.check(found == expected, "deviate of shift %d is rounded to nearest and has a fair sign" % shift)


# ---- all levels ---------------------------------------------------------------------------------------------------

def bounded(tally, found, laws, most, what):
    """Each probability is at least what was counted, and at most that and what was cut off."""
    cut, wrong = share(found.pop(None, [])), []
    for outcome, law in laws.items():
        low = share(found.get(outcome, []))
        high = low + cut
        if mpf(low.numerator) / low.denominator > law + SLACK or law > mpf(high.numerator) / high.denominator + SLACK:
            wrong.append("    %s: counted %.9f, not %.9f" % (outcome, low, law))
    tally.check(not wrong and cut < most and found.keys() <= laws.keys(), "%s: within %.1e" % (what, cut))
    print(*wrong[:3], sep="\n", end="\n" if wrong else "")


def check_whole(programs, tally):
    e = mp.exp(mpf(-1) / 2)
    bounded(tally, programs.free(1, "half %d" % 2 ** 34), {0: 1 - e, 1: e}, 1e-4, "half has e^(−1/2)")
    for k in range(3):
        law = {}
        for digit in range(4):
            low, high = mpf(digit) / 4, mpf(digit + 1) / 4
            true = mp.quad(lambda x: mp.exp(-x * (2 * k + x) / (2 * k + 2)), [low, high])
            law.update({2 * digit + 1: true, 2 * digit: mpf(1) / 4 - true})
        bounded(tally, programs.free(2, "step %d %d" % (2 ** 26, k)), law, 0.02,
                "step(%d) has e^(−x(2k+x)/(2k+2)), x in quarters" % k)
    law = {0: mpf(1)}
    for half in range(64):  # k and the first binary digit of x
        accepted = (1 - e) * mp.sqrt(2 * mp.pi) * (mp.ncdf(mpf(half + 1) / 2) - mp.ncdf(mpf(half) / 2))
        law[1 + half] = accepted
        law[0] -= accepted
    bounded(tally, programs.free(1, "propose %d" % 2 ** 25), law, 0.15, "propose has (1 − e^(−1/2))·e^(−(k+x)²/2), x in halves")
    for bits, shift, most in ((1, 0, 0.47), (2, 1, 0.6)):
        unit = mpf(2) ** -shift
        law = {1000 + v: mp.ncdf((v + 0.5) * unit) - mp.ncdf((v - 0.5) * unit) for v in range(-80, 81)}
        bounded(tally, programs.free(bits, "deviate %d %d" % (2 ** 24, shift)), law, most,
                "round(%d·N) has its probabilities" % 2 ** shift)


def check(programs, tally):
    for one in (check_less, check_half, check_step, check_propose, check_deviate, check_whole):
        one(programs, tally)
