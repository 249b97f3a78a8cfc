"""Checks of the reference's fronts, roots and exponential. test_reference.py runs them."""
import math
import random
import struct
from decimal import Decimal
from fractions import Fraction

import cases
import cases_front
from reference import (KERNELS, MATRIX, NONE, SIGNS, UNIT, Front, KeyStream, Refused, bits_from_floats, dot, exp31,
                       floats_from_bits, kernel, quantise, quantise_roots, read_front_file)

PACKS = cases.make_packs()


def test_roots_are_near_the_root():
    source = random.Random(7)
    chosen = [bits for _, bits in cases.quantise_cases()]
    chosen += [[source.randrange(1, 0x7F800000) | source.choice((0, 1 << 31)) for _ in range(64)] for _ in range(20)]
    for bits in chosen:
        values = [Fraction(value) for value in floats_from_bits(bits)]
        largest, row = max(map(abs, values)), quantise_roots(bits)
        assert max(map(abs, row)) == 127
        for q, value in zip(row, values):
            exact = 127 * math.sqrt(abs(value) / largest)
            assert abs(abs(q) - exact) < 0.5 + 0.006 * 127 / max(exact, 1) and q * value >= 0   # h is floored to 2^-16
            assert q != 0 or exact < 1.01
        assert quantise_roots([pattern ^ 0x80000000 for pattern in bits]) == [-q for q in row]
    assert quantise_roots(bits_from_floats([16129.0, 1.0, 4.0, -9.0, 3969.0])) == [127, 1, 2, -3, 63]


def test_exponential():
    """At most 8 away, never growing, exact at 0."""
    step, source = (1 << 58) / 3098164009, random.Random(8)
    chosen = {0, 1, 2, (1 << 32) - 1} | {source.randrange(1 << 32) for _ in range(4000)}
    chosen |= {source.randrange(1 << 27) for _ in range(4000)}
    chosen |= {int(n * step) + i for n in range(1, 47) for i in range(-3, 4) if n * step + 4 < 1 << 32}
    chosen, last, worst = sorted(chosen), 1 << 31, 0
    assert exp31(0) == 1 << 31
    for x in chosen:
        value = exp31(x)
        assert 0 <= value <= last
        last = value
        worst = max(worst, abs(value - (1 << 31) * (Decimal(-x) / (1 << 27)).exp()))
    assert 1 < worst <= 8, worst
    assert kernel(UNIT, 1 << 31) == 1 << 31 and kernel(-UNIT, (1 << 32) - 1) == exp31((1 << 32) - 1) == 0


def test_signs_are_achlioptas():
    front = Front(SIGNS, 30, 2000, seed=cases.seed_bytes("statistics"))
    counts, stream = {1: 0, -1: 0, 0: 0}, KeyStream(front.seed)
    for j in range(2000):
        unit = [0] * 2000
        if j < 3:                                               # a unit vector shows its row of signs
            unit[j] = 1
        signs = []
        for i in range(30):
            if i % 11 == 0:
                u = stream.below(6 ** 11)
            signs.append({0: 1, 1: -1}.get(u // 6 ** (i % 11) % 6, 0))
            counts[signs[-1]] += 1
        if j < 3:
            assert front.values(unit) == signs
    assert all(abs(counts[sign] / 60000 - p) < 0.01 for sign, p in ((1, 1 / 6), (-1, 1 / 6), (0, 2 / 3)))


def test_fronts_against_doubles():
    seen = set()
    for name, index, v, bits in cases_front.front_cases(PACKS):
        front = PACKS[index][1].fronts[v][1]
        q = quantise_roots(bits) if front.root else quantise(bits)
        y, length = front.values(q), math.sqrt(dot(q, q))
        assert all(abs(value) < 1 << 55 for value in y)
        seen.add((front.kind, front.root, any(y)))
        if front.kind == MATRIX:
            loose = [dot(row, q) / length * gain * 2 ** 30 + offset
                     for row, gain, offset in zip(front.rows, front.gains, front.offsets)]
            assert all(abs(a - b) <= 1e-6 * 2 ** 48 for a, b in zip(y, loose))
        if front.kind == KERNELS:
            loose = list(map(float, front.offsets))
            for centre, bandwidth, amplitude, row in zip(front.centres, front.bandwidths, front.amplitudes,
                                                         front.coefficients):
                cosine = dot(q, centre) / length / math.sqrt(dot(centre, centre))
                value = amplitude * 2 ** 24 * math.exp(-bandwidth / 65536 * (1 - cosine))
                loose = [a + value * b for a, b in zip(loose, row)]
            tolerance = 127 * sum(amplitude * (2 + 2 ** 24 * min(1, bandwidth / 65536 * 1e-7))
                                  for amplitude, bandwidth in zip(front.amplitudes, front.bandwidths))
            assert all(abs(a - b) <= tolerance + abs(b) * 1e-12 for a, b in zip(y, loose)), name
        row = front.map(bits)
        assert (row is None) == (not any(y)) and (row is None or max(map(abs, row)) == 127)
    assert {(kind, root, True) for kind in (NONE, SIGNS, MATRIX, KERNELS) for root in (False, True)} <= seen
    assert {(MATRIX, False, False), (KERNELS, False, False)} <= seen


def test_front_files_read_back_and_nothing_else_does():
    for _, pack in PACKS:
        for _, front in pack.fronts:
            data = front.file()
            assert vars(read_front_file(data)) == vars(front)
            for size in range(0, len(data), 7):
                assert refused(read_front_file, data[:size])
            for bit in range(0, 8 * len(data), 61):
                assert refused(read_front_file, data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:])


def refused(reader, *arguments):
    try:
        reader(*arguments)
    except (Refused, struct.error):
        return True
    return False
