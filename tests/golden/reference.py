"""Reference for the arithmetic of SPEC 5: slow, exact (integers, fractions, 120 digit decimals).

`from reference import *` also gives the formats and the random words.
"""
from decimal import Decimal, ROUND_CEILING, ROUND_FLOOR, getcontext
from fractions import Fraction
from functools import lru_cache
from math import cos, floor, isqrt, pi, sin

from reference_formats import *   # noqa: F401,F403
from reference_formats import dot, inverse_norm, pack_symbols, read_release, unpack_symbols, write_release
from reference_front import *     # noqa: F401,F403
from reference_front import UNIT, exp31, kernel, quantise, quantise_exact, round_half_up
from reference_random import *    # noqa: F401,F403
from reference_random import KeyStream, deviate

getcontext().prec = 120

RESPONSE, GAUSSIAN = 1, 2
ONE = 65536


def ceil_divide(a, b):
    return -(-a // b)


def ceil_root(v):
    return isqrt(v - 1) + 1 if v else 0


def decimal_floor(x):
    return int(x.to_integral_value(ROUND_FLOOR))


# Scores and weights (5.3 to 5.5) ----------------------------------------------------------------------

def row_of(pack, bits, modality=0):
    """The row of a query. One that cannot be used becomes the public row, as with `substitute`."""
    front = pack.fronts[modality][1] if pack.fronts else None
    row = front.map(bits) if front else quantise(bits)
    return row or [127] + [0] * (pack.d - 1)


def ranked(query, rows, norms):
    """Row indices by score, larger first, ties by smaller index."""
    return sorted(range(len(rows)), key=lambda index: (-dot(query, rows[index]) * norms[index], index))


def nearest_cell(pack, query, slot):
    part = slice(slot * pack.M, (slot + 1) * pack.M)
    return pack.cells[part][ranked(query, pack.prototypes[part], pack.prototype_norms[part])[0]]


def floor_weight(pack):
    return max(1, kernel(-UNIT, pack.bandwidth) >> 15)


def neighbour_weights(pack, query):
    """[(anchor, weight)] of the K anchors nearest to the query."""
    own_norm, least, result = inverse_norm(query), floor_weight(pack), []
    for index in ranked(query, pack.anchors, pack.anchor_norms)[:pack.K]:
        cosine = dot(query, pack.anchors[index]) * pack.anchor_norms[index] * own_norm
        weight = (kernel(cosine, pack.bandwidth) + (1 << 14)) >> 15
        result.append((index, min(max(weight, least), ONE)))
    return result


def label_weight(pack, s, t):
    return (exp31(min(pack.bandwidth * (s - t) ** 2 << 10, (1 << 32) - 1)) + (1 << 14)) >> 15


def label_row(pack, slot):
    """U_s of SPEC 5.6."""
    if pack.alpha == 0:
        return [0] * pack.k
    slots = [pack.slot_of_anchor(index) for index in range(pack.n)]
    order = sorted(range(pack.n), key=lambda index: (abs(slots[index] - slot), index))[:pack.K]
    weights = [label_weight(pack, slot, slots[index]) for index in order]
    return [sum(weight * (pack.slot_codes[slot][i] - pack.anchor_codes[index][i])
                for weight, index in zip(weights, order)) for i in range(pack.k)]


# Certificate (5.7) -------------------------------------------------------------------------------------------

def axis(k, index, sign=1):
    return [sign * 4096 if i == index else 0 for i in range(k)]


def directions(k):
    if k != 2:
        return [axis(k, i) for i in range(k)]
    result = []
    for i in range(64):
        exact = (4096 * cos(pi * i / 64), 4096 * sin(pi * i / 64))
        assert all(abs(abs(value) % 1 - 0.5) > 1e-6 for value in exact)   # doubles are good enough here
        result.append([floor(value + 0.5) for value in exact])
    return result


def support(pack, slot_label_row, least, v):
    """H_s(v): the largest ratio that K of the anchors, weighted from `least` to 65536, can reach."""
    a = sorted((dot(code, v) for code in pack.anchor_codes), reverse=True)[:pack.K]
    label = pack.alpha * dot(slot_label_row, v)
    ratios = []
    for t in range(pack.K + 1):
        numerator = 256 * (ONE * sum(a[:t]) + least * sum(a[t:])) + label
        assert abs(numerator) < 1 << 63
        ratios.append(ceil_divide(numerator, 256 * (ONE * t + least * (pack.K - t))))
    return max(ratios)


class Certificate:
    """floor_weight, delta (in 1/256 units), row_bound, centres[slot][coordinate] (exact fractions)."""

    def __init__(self, pack):
        self.floor_weight = floor_weight(pack)
        self.label_rows = [label_row(pack, slot) for slot in range(pack.G)]
        widest, bounds, self.centres = {}, [], []

        def reach(slot, v):
            return support(pack, self.label_rows[slot], self.floor_weight, v)

        for slot in range(pack.G):
            for index, v in enumerate(directions(pack.k)):
                width = reach(slot, v) + reach(slot, [-value for value in v])
                widest[index] = max(width, widest.get(index, width))
            centre = []
            for i, code in enumerate(pack.slot_codes[slot]):
                up, down = reach(slot, axis(pack.k, i)), reach(slot, axis(pack.k, i, -1))
                centre.append(Fraction(8192 * code + up - down, 16384))
                bounds += [abs(4096 * code + up), abs(4096 * code - down)]
            self.centres.append(centre)
        if pack.k == 2:
            self.delta = ceil_divide(max(widest.values()) * (65536 + 28), 32 * 65536)
        else:
            squares = sum(ceil_divide(width, 32) ** 2 for width in widest.values())
            self.delta = ceil_root(squares)
            ball = self.ball(pack)
            if ball < self.delta and ball < 1 << 28:
                self.delta = ball
                self.centres = [self.ball_centre(pack, slot) for slot in range(pack.G)]
                bounds += [-floor(-8192 * abs(value)) for centre in self.centres for value in centre]
        self.row_bound = ceil_divide(max(bounds), 8192)
        self.accepted = 0 < self.delta < 1 << 28 and self.row_bound < 1 << 20

    def ball(self, pack):
        radius = ceil_root(65536 * max(sum(value * value for value in code) for code in pack.anchor_codes))
        longest = max(sum(ceil_divide(abs(value), 65536) ** 2 for value in row) for row in self.label_rows)
        return radius + ceil_divide(pack.alpha * (65536 - self.floor_weight) * ceil_root(longest),
                                    2 * pack.K * self.floor_weight)

    def ball_centre(self, pack, slot):
        least, factor = pack.K * self.floor_weight, pack.alpha * (65536 + self.floor_weight)
        centre = []
        for code, value in zip(pack.slot_codes[slot], self.label_rows[slot]):
            whole, rest = divmod(value, least)
            pull = factor * whole + factor * rest // least
            centre.append(Fraction(8192 * code + floor(Fraction(pull, 4096) + Fraction(1, 2)), 16384))
        return centre


# Calibration (5.8) -------------------------------------------------------------------------------------------

@lru_cache(maxsize=None)
def decimal_pi():
    """Gauss and Legendre."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), Decimal(1)
    for _ in range(8):
        mean = (a + b) / 2
        b, t, p, a = (a * b).sqrt(), t - p * (a - mean) ** 2, 2 * p, mean
    return (a + b) ** 2 / (4 * t)


def normal_cumulative(x):
    """Phi(x) = 1/2 + density(x) * (x + x^3/3 + x^5/15 + ...); absolute error below 1e-100 for |x| < 30."""
    square, term, total, n = x * x, x, Decimal(0), 1
    while abs(term) > Decimal("1e-119") * max(abs(total), Decimal("1e-60")):
        total += term
        n += 2
        term = term * square / n
    return Decimal("0.5") + total * (-square / 2).exp() / (2 * decimal_pi()).sqrt()


def gaussian_delta(ratio, epsilon):
    """delta of the Gaussian mechanism with sigma = ratio * sensitivity."""
    a, b = 1 / (2 * ratio), epsilon * ratio
    return normal_cumulative(a - b) - epsilon.exp() * normal_cumulative(-a - b)


@lru_cache(maxsize=None)
def noise_ratio(epsilon, delta):
    """The smallest sigma/sensitivity for (epsilon, delta), to 40 digits, rounded up."""
    exact_epsilon, exact_delta = Decimal(epsilon), Decimal(delta)
    low = high = Decimal(1)
    while gaussian_delta(high, exact_epsilon) > exact_delta:
        high *= 2
    while gaussian_delta(low, exact_epsilon) <= exact_delta:
        low /= 2
    while high - low > Decimal("1e-40"):
        middle = (low + high) / 2
        if gaussian_delta(middle, exact_epsilon) > exact_delta:
            low = middle
        else:
            high = middle
    return high


class Calibration:
    """r, s, g, e, step, mu. `robust` says whether an r off by 1e-6 of itself would give the same integers."""

    def __init__(self, pack, certificate, epsilon, delta, value_bytes):
        self.r = r = noise_ratio(epsilon, delta)
        count = pack.k if pack.G == 1 else 2 * pack.k
        root = Decimal(isqrt(count << 40) + 1) / (1 << 20)
        self.s = next((s for s in range(8, 23) if 1 << s >= 64 * r * root), 22)
        assert 1 << self.s >= 8 * r * root
        wanted = r * certificate.delta / 256 / ((1 << self.s) - r * root)
        exact = wanted * (1 + Decimal(1) / (1 << 40))
        self.g = max(1, int(exact.to_integral_value(ROUND_CEILING)))
        off = abs(wanted - wanted.to_integral_value())
        edge = min(abs((1 << s) / (64 * r * root) - 1) for s in range(8, 23))
        self.robust = (wanted < Decimal("0.99") or off >= max(Decimal("1e-3"), wanted * Decimal("1e-5"))) \
            and edge > Decimal("1e-5")
        self.sigma = self.g << self.s
        self.mu = (Decimal(certificate.delta) / 256 + self.g * root) / self.sigma
        most = ceil_divide(certificate.row_bound, self.g) + 1 + (6 << self.s)
        self.limit = 127 if value_bytes == 1 else 32767
        self.e = next(e for e in range(64) if (most + (1 << e)) >> e <= self.limit)
        self.step = self.g << self.e
        assert self.step < 1 << 32


# Releases (5.9 to 5.12) --------------------------------------------------------------------------------------

def response_threshold(epsilon, m):
    """P of SPEC 5.11, and its distance from the next integer below or above."""
    exponential = Decimal(epsilon).exp()
    exact = (1 << 40) * exponential / (exponential + m - 1) - Decimal(2) ** -7
    return decimal_floor(exact), abs(exact - exact.to_integral_value())


def response_draw(stream, m, G, epsilon):
    """(P, T, [U_0 ... U_{G-1}])."""
    threshold, _ = response_threshold(epsilon, m)
    low = stream.word()
    high = stream.word()
    value = (low + (high << 32)) >> 24
    other = stream.below(m - 1)
    return threshold, 0 if value < threshold else 1 + other, [stream.below(m) for _ in range(G)]


def encode_response(pack, bits, label, epsilon, seed, modality=0):
    query, slot = row_of(pack, bits, modality), pack.slot_of(label)
    _, shift, symbols = response_draw(KeyStream(seed), pack.m, pack.G, epsilon)
    symbols[slot] = (nearest_cell(pack, query, slot) + shift) % pack.m
    return write_release(pack.id, RESPONSE, pack_symbols(symbols, pack.m))


def update(pack, label_rows, query, slot):
    """SPEC 5.9: the neighbours with their weights, and the numerators of the row's coordinates."""
    weights = neighbour_weights(pack, query)
    total = sum(weight for _, weight in weights)
    numerators = []
    for i in range(pack.k):
        mean = pack.slot_codes[slot][i] * total + sum(w * pack.anchor_codes[j][i] for j, w in weights)
        numerators.append(256 * mean + pack.alpha * label_rows[slot][i])
    return weights, numerators


def private_row(pack, label_rows, query, slot, g):
    """The row on the grid of step g."""
    weights, numerators = update(pack, label_rows, query, slot)
    total = sum(weight for _, weight in weights)
    return [round_half_up(Fraction(numerator, 512 * total * g)) for numerator in numerators]


def encode_gaussian(pack, bits, label, epsilon, delta, value_bytes, seed, modality=0):
    certificate = Certificate(pack)
    assert certificate.accepted
    calibration = Calibration(pack, certificate, epsilon, delta, value_bytes)
    g, limit, stream, values = calibration.g, calibration.limit, KeyStream(seed), []
    for slot in range(pack.G):
        if slot == pack.slot_of(label):
            row = private_row(pack, certificate.label_rows, row_of(pack, bits, modality), slot, g)
        else:
            row = [round_half_up(centre / g) for centre in certificate.centres[slot]]
        for coordinate in row:
            noisy = Fraction(coordinate + deviate(stream, calibration.s), 1 << calibration.e)
            values.append(min(max(round_half_up(noisy), -limit), limit))
    content = b"".join(value.to_bytes(value_bytes, "big", signed=True) for value in values)
    return write_release(pack.id, GAUSSIAN, content, calibration.step)


def decode_rows(pack, release):
    """The embedding rows of a release, exact, slot by slot; [] when the pack cannot tell."""
    fields = read_release(release)
    assert fields[0] == 1 and fields[1] == pack.id
    if fields[2] == RESPONSE:
        if not pack.cell_codes:
            return []
        symbols = unpack_symbols(fields[4], pack.m, pack.G)
        return [Fraction(a + b, 2) for slot, symbol in enumerate(symbols)
                for a, b in zip(pack.slot_codes[slot], pack.cell_codes[slot * pack.m + symbol])]
    width = len(fields[4]) // (pack.G * pack.k)
    step = int.from_bytes(fields[3], "big")
    return [Fraction(step * int.from_bytes(fields[4][i:i + width], "big", signed=True))
            for i in range(0, len(fields[4]), width)]


# Sketches and ranking of answers (5.13) ----------------------------------------------------------------------

def sketch(pack, query):
    """Sketch of a quantised vector: int8 numbers, or bytes when it is coded."""
    if pack.code:
        return pack.code.sketch(query)
    return quantise_exact([dot(row, query) for row in pack.sketch]) if pack.L else []


def sketch_score(a, b):
    return dot(a, b) * inverse_norm(a) * inverse_norm(b) >> 30


def scorer(pack, query):
    """The score of a candidate's sketch, as a function."""
    if pack.code:
        own = pack.code.coordinates(query)
        return lambda other: pack.code.score(own, other)
    own = sketch(pack, query)
    return lambda other: sketch_score(own, other)


def rank_answer(pack, slots, offsets, bits, label, all_slots, limit, modality=0):
    """Best matches as (item, label, slot, score, payload offset, payload size).

    Of several candidates with one item number the first in the ranking counts.
    """
    score_of, own_slot, found = scorer(pack, row_of(pack, bits, modality)), pack.slot_of(label), []
    for slot, candidates in enumerate(slots):
        if all_slots or slot == own_slot:
            for (item, candidate_label, other, payload), offset in zip(candidates, offsets[slot]):
                found.append((-score_of(other), item, len(found), candidate_label, slot, offset,
                              len(payload)))
    matches, seen = [], set()
    for score, item, _, candidate_label, slot, offset, size in sorted(found):
        if item not in seen:
            seen.add(item)
            matches.append((item, candidate_label, slot, -score, offset, size))
    return matches[:limit]
