# SPDX-License-Identifier: Apache-2.0
"""Accounting of a crowd (PRIVACY 11) with mpmath at 60 digits. Written from the theorems, not from the library."""
from bisect import bisect_left
from functools import cached_property, lru_cache

import mpmath
import numpy
from mpmath import mp, mpf

mp.dps = 60

CUT_ERROR = mpf(2) ** -173        # of one client's sampler
TAIL = mpf(10) ** -45             # of a law that may be left out, and is added


def uniform_sizes(rate, copies):
    """Clusters of every size per symbol."""
    return [mpf(rate) / copies] * copies


def law_of(rates):
    """π(0 … K+1) and π(>K). rates[c − 1]: mean number of clusters of size c per symbol."""
    total = mpmath.fsum(rates)
    law, mean = [mpmath.exp(-total)], sum(c * float(rate) for c, rate in enumerate(rates, 1))
    weights = [c * rate for c, rate in enumerate(rates, 1)]
    covered = law[0]
    while True:
        k = len(law)
        law.append(mpmath.fdot(zip(weights, reversed(law[-len(weights):]))) / k)
        if k > mean and 1 - covered < TAIL:
            return law, max(1 - covered, mpf(0)) + mpf(10) ** -55
        covered += law[-1]


class Pair:
    """Two laws with atoms (p, q): P = Σp, Q = Σq. δ(ε) = Σ[p − e^ε q]₊, `lost` of P's mass being added."""

    def __init__(self, atoms, lost):
        self.atoms, self.lost = atoms, lost

    @cached_property
    def ranked(self):
        """The atoms' q/p, ascending, and the sums of p and of q up to each."""
        order = sorted((q / p, p, q) for p, q in self.atoms)
        below_p, below_q = [mpf(0)], [mpf(0)]
        for _, p, q in order:
            below_p.append(below_p[-1] + p)
            below_q.append(below_q[-1] + q)
        return [ratio for ratio, _, _ in order], below_p, below_q


def added(law, tail):
    """One count: with the message against without it."""
    return Pair([(law[i - 1], law[i]) for i in range(1, len(law))], tail)


def removed(law, tail):
    """One count: without the message against with it."""
    return Pair([(law[j], law[j - 1] if j else mpf(0)) for j in range(len(law) - 1)], tail)


def delta_single(pair, epsilon):
    odds = mpmath.exp(epsilon)
    return mpmath.fsum(p - odds * q for p, q in pair.atoms if p > odds * q) + pair.lost


def delta_product(first, second, epsilon):
    """δ(ε) of two independent pairs. For an atom of the first those of the second count whose q/p is below a bound."""
    odds, terms = mpmath.exp(epsilon), []
    ratios, below_p, below_q = second.ranked
    for p, q in first.atoms:
        count = bisect_left(ratios, p / (odds * q))
        terms.append(p * below_p[count] - odds * q * below_q[count])
    return mpmath.fsum(terms) + first.lost + second.lost


def coin(floor, symbols):
    """1 − γ; a floor of None means that the true symbol is always sent."""
    if floor is None:
        return mpf(1)
    odds = mpmath.exp(mpf(floor))
    return (odds - 1) / (odds + symbols - 1)


class Crowd:
    """Theorem A, presence, C and D for clusters of mean `rate` (Λ) per symbol and sizes 1 … copies."""

    def __init__(self, rate, copies, clients=0):
        self.law, self.tail = law_of(uniform_sizes(rate, copies))
        self.clients = clients
        self.with_it, self.without = added(self.law, self.tail), removed(self.law, self.tail)

    def cut(self, epsilon):
        return (1 + mpmath.exp(epsilon)) * self.clients * CUT_ERROR

    def delta(self, epsilon, floor=None, symbols=2):
        pair = delta_product(self.with_it, self.without, mpf(epsilon))
        return coin(floor, symbols) * pair + self.cut(epsilon)

    def presence(self, epsilon):
        return max(delta_single(self.with_it, epsilon), delta_single(self.without, epsilon)) + self.cut(epsilon)

    def moments(self, alpha, least):
        """M of theorem D and π[0 … k₁]."""
        first, second = self.powers(alpha)
        return max(mpf(1), first * second[least + 1]), mpmath.fsum(self.law[:least + 1])

    @lru_cache(maxsize=None)
    def powers(self, alpha):
        """M₁, and M₂ for every first k."""
        law, after = self.law, [mpf(0)]
        ratios = [law[k - 1] / law[k] for k in range(1, len(law))]
        first = mpmath.fsum(law[k] * ratios[k - 1] ** alpha for k in range(1, len(law)))
        for k in range(len(law) - 2, 0, -1):
            after.append(after[-1] + law[k] * ratios[k - 1] ** (1 - alpha))
        return first, [None] + after[::-1]


def epsilon_by(delta_at, delta, high=32):
    """The smallest ε with delta_at(ε) ≤ δ, to 1e-6; None when there is none up to `high`."""
    low = mpf(0)
    high = mpf(high)
    if delta_at(high) > delta:
        return None
    while high - low > mpf("1e-6"):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


# ---- many messages ------------------------------------------------------------------------------------------------

def normal_cdf(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gaussian_delta(mu, epsilon):
    return normal_cdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def certificate_holds(points, mu, delta0):
    """points: [(ε_i, an upper bound of δ∞(ε_i))], ascending, the first at 0."""
    assert points[0][0] == 0
    if points[-1][1] > delta0:
        return False
    return all(bound <= delta0 + (1 - delta0) * gaussian_delta(mu, following)
               for (_, bound), (following, _) in zip(points, points[1:]))


def certificate_points(crowd, delta0, steps=60):
    """A grid for theorem C, from 0 to where δ∞ is at most δ0; None when that is nowhere."""
    end = epsilon_by(crowd.delta, delta0)
    if end is None:
        return None
    return [(end * i / steps, crowd.delta(end * i / steps)) for i in range(steps)] + [(end, crowd.delta(end))]


def certificate_mu(points, delta0):
    """The least μ that theorem C gives on this grid, rounded up at 1e-6 of it."""
    low, high = mpf("1e-4"), mpf(16)
    while high / low > 1 + mpf("1e-6"):
        middle = mpmath.sqrt(low * high)
        low, high = (low, middle) if certificate_holds(points, middle, delta0) else (middle, high)
    return high


def certified_delta(mu, delta0, messages, epsilon):
    return messages * delta0 + gaussian_delta(mu * mpmath.sqrt(messages), epsilon)


def moments_delta(crowd, messages, alpha, least, epsilon):
    moment, lost = crowd.moments(alpha, least)
    shape = mpmath.exp(-(alpha - 1) * epsilon) / alpha * (1 - 1 / alpha) ** (alpha - 1)
    return messages * (lost + 2 * crowd.tail) + moment ** messages * shape


def discretised(pair, step, half, up):
    """Losses of a pair on a grid of 2·half points, rounded up or down; what lies above the grid is infinite."""
    grid, infinite = numpy.zeros(2 * half), float(pair.lost)
    for p, q in pair.atoms:
        if q == 0:
            infinite += float(p)
            continue
        place = float(mpmath.log(p / q)) / step
        index = (numpy.ceil(place) if up else numpy.floor(place)) + half
        if index >= 2 * half:
            infinite += float(p)
        else:
            grid[int(max(index, 0))] += float(p)   # below the grid: rounded up, of mass that is negligible
    return grid, infinite


def many_epsilon(crowd, messages, delta, up, step=8e-6, half=1 << 18):
    """ε of `messages` independent copies of theorem A's pair, by convolution of losses: a bound from the side of `up`."""
    spectrum, finite = numpy.ones(half + 1, dtype=complex), 1.0
    for pair in (crowd.with_it, crowd.without):
        grid, infinite = discretised(pair, step, half, up)
        spectrum *= numpy.fft.rfft(numpy.roll(grid, -half))
        finite *= 1 - infinite
    total = numpy.maximum(numpy.roll(numpy.fft.irfft(spectrum ** messages), half), 0)
    losses = (numpy.arange(2 * half) - half) * step
    lost = 1 - finite ** messages

    def delta_at(epsilon):
        above = losses > epsilon
        return lost + float(numpy.sum(total[above] * -numpy.expm1(epsilon - losses[above])))
    low, high = 0.0, step * half / 2
    if delta_at(high) > delta:
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


# ---- theorem B ----------------------------------------------------------------------------------------------------

def half_tail(s):
    """Tails T(s, 0 … s+1) of Bin(s, ½)."""
    tails = [mpf(0)] * (s + 2)
    for k in range(s, -1, -1):
        tails[k] = tails[k + 1] + mpmath.binomial(s, k) * mpf(2) ** -s
    return tails


def uniform_delta(blanket, symbols, floor, epsilon):
    """The inner δ of theorem B: the asker's message among `blanket` uniform ones."""
    messages, odds = blanket + 1, mpmath.exp(mpf(epsilon))
    rest = mpf(messages) / (mpmath.exp(mpf(floor)) - 1)
    share, total = mpf(2) / symbols, mpf(0)
    for s in range(messages + 1):
        start = int(mpmath.floor((odds * (s + rest) - rest) / (1 + odds))) + 1
        if start > s:
            continue
        chance = mpmath.binomial(messages, s) * share ** s * (1 - share) ** (messages - s)
        tail = half_tail(s)[start]
        edge = mpmath.binomial(s - 1, start - 1) * mpf(2) ** (1 - s) if s else mpf(0)
        total += chance * ((1 + odds) * s / 4 * edge - (odds - 1) * (mpf(s) / 2 + rest) * tail)
    return coin(floor, symbols) * symbols / messages * total


def shuffle_delta(fakes, askers, symbols, floor, epsilon):
    """Theorem B: `fakes` = r·n uniform messages, `askers` = n_q."""
    chance = 1 - coin(floor, symbols)
    return mpmath.fsum(mpmath.binomial(askers - 1, kept) * chance ** kept * (1 - chance) ** (askers - 1 - kept)
                       * uniform_delta(fakes + kept, symbols, floor, epsilon) for kept in range(askers))
