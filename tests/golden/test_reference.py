"""Checks of the reference itself: python3 test_reference.py"""
import hashlib
import itertools
import math
import random
import struct
import sys
import traceback
from decimal import Decimal
from fractions import Fraction

import cases
import make_vectors
from reference import *   # noqa: F401,F403
from test_reference_front import *   # noqa: F401,F403
from test_reference_head import *   # noqa: F401,F403
from test_reference_sketch import *   # noqa: F401,F403
from reference import UNIT, WORD, axis, ceil_divide, normal_cumulative, quantise_exact, round_half_up

PACKS = cases.make_packs()


def test_chacha20_matches_rfc_8439():
    first = chacha20_blocks(bytes(32), 0)
    assert first[:16].hex() == "76b8e0ada0f13d90405d6ae55386bd28" and len(first) == 64
    assert chacha20_blocks(bytes(32), 1)[:8].hex() == "9f07e7be5551387a"
    block = chacha20_blocks(bytes(range(32)), 1, 1, bytes.fromhex("000000090000004a00000000"))
    assert block[:16].hex() == "10f1e7e4d13b5915500fdd1fa32071c4" and block[-4:].hex() == "a2503c4e"
    assert chacha20_blocks(bytes(range(32)), 7, 3) == b"".join(chacha20_blocks(bytes(range(32)), i) for i in (7, 8, 9))


def test_key_stream_reads_words_in_order():
    key = cases.seed_bytes("order")
    stream, whole = KeyStream(key), chacha20_blocks(key, 0, 40)
    assert [stream.word() for _ in range(640)] == list(struct.unpack("<640I", whole)) and stream.words == 640


def test_below_is_uniform():
    stream = KeyStream(cases.seed_bytes("uniform"))
    counts = [0] * 3
    for _ in range(6000):
        counts[stream.below(3 << 30) >> 30] += 1
    assert all(abs(count - 2000) < 150 for count in counts)
    assert abs(stream.words - 8000) < 300                       # a quarter of the words is rejected
    assert KeyStream(bytes(32)).below(1) == 0 and KeyStream(bytes(32)).below(WORD) == 0xade0b876


def test_inverse_norm_is_the_largest():
    source = random.Random(1)
    for squares in list(range(1, 200)) + [source.randint(1, 4096 * 127 * 127) for _ in range(500)]:
        row = []                                                # some row with this sum of squares
        rest = squares
        while rest:
            row.append(math.isqrt(rest))
            rest -= row[-1] ** 2
        r = inverse_norm(row)
        assert r * r * squares <= UNIT < (r + 1) ** 2 * squares


def test_quantise_is_nearest_and_symmetric():
    for _, bits in cases.quantise_cases():
        row, values = quantise(bits), [Fraction(value) for value in floats_from_bits(bits)]
        largest = max(map(abs, values))
        assert max(map(abs, row)) == 127 and sum(value * value for value in row) >= 127 ** 2
        for q, value in zip(row, values):
            assert abs(q - 127 * value / largest) <= Fraction(1, 2) and q * value >= 0
        assert quantise([pattern ^ 0x80000000 for pattern in bits]) == [-q for q in row]
    assert quantise(bits_from_floats([254.0, 1.0, -1.0, 253.0])) == [127, 1, -1, 127]


def test_rounding_is_half_up():
    assert [round_half_up(Fraction(i, 2)) for i in (-5, -3, -1, 0, 1, 3)] == [-2, -1, 0, 0, 1, 2]


def test_packs_read_back():
    """A reader that knows only the tables of SPEC 1."""
    for _, pack in PACKS:
        data = pack.bytes
        assert data[:8] == b"PMPK\0\0%c\0" % (3 if pack.fronts else 2 if pack.model else 1)
        assert data[8:40] == hashlib.sha256(data[40:]).digest()
        size, d, n = struct.unpack_from("<QII", data, 40)
        K, k, G, kind = struct.unpack_from("<HHHH", data, 56)
        m, C, bandwidth, alpha, L, present, M = struct.unpack_from("<IIIHHII", data, 64)
        assert (size, kind, bandwidth, alpha) == (len(data), pack.kind, pack.bandwidth, pack.alpha)
        assert (n, K, k, G, m, C) == (pack.n, pack.K, pack.k, pack.G, pack.m, len(pack.classes))
        assert (M, L) == (pack.M, pack.L)
        sizes = [8 * C, G * M * d, 4 * G * M, n * d, 4 * n, 4 * (G + 1), 2 * n * k, 2 * G * k, 2 * G * m * k, 4 * n * K,
                 2 * G * M, L * d, 65, 512, sum(len(front.body()) for _, front in pack.fronts)]
        position, sections = 88, {}
        for bit, length in enumerate(sizes):
            if present >> bit & 1:
                assert (length or bit == 14) and not any(data[position:position + -position % 16])
                position += -position % 16
                sections[bit] = data[position:position + length]
                position += length
        assert position == size and present < 1 << 15 and present >> 13 == (3 if pack.fronts else 0)
        if pack.fronts:
            again = read_fronts(sections[13], sections[14], d)
            assert [(name, vars(front)) for name, front in again] == [(name, vars(front)) for name, front in pack.fronts]
        assert sections.get(12, b"") == (pack.model.encode().ljust(65, b"\0") if pack.model else b"")
        flat = [value for row in pack.anchor_codes for value in row]
        assert struct.unpack("<%dh" % len(flat), sections.get(6, b"")) == tuple(flat)
        assert struct.unpack("<%dI" % len(pack.prototypes), sections.get(2, b"")) == tuple(pack.prototype_norms)
        assert struct.unpack("<%dH" % len(pack.prototypes), sections.get(10, b"")) == tuple(pack.cells)
        for own, row in enumerate(pack.lists):
            assert own not in row and len(set(row)) == K


def test_cbor_heads():
    assert cbor_integer(23).hex() == "17" and cbor_integer(24).hex() == "1818" and cbor_integer(-500).hex() == "3901f3"
    assert cbor_integer(1000000).hex() == "1a000f4240" and cbor_integer(1 << 32).hex() == "1b0000000100000000"
    for value in (0, 23, 24, 255, 256, 65535, 65536, (1 << 64) - 1):
        assert cbor_read_head(cbor_integer(value), 0) == (0, value, len(cbor_integer(value)))


def test_symbols_follow_the_bit_rule():
    source = random.Random(2)
    for m, count in ((2, 11), (5, 3), (8, 10), (65536, 3), (37, 20)):
        symbols = [source.randrange(m) for _ in range(count)]
        data, width = pack_symbols(symbols, m), math.ceil(math.log2(m))
        assert len(data) == -(-count * width // 8) and unpack_symbols(data, m, count) == symbols
        bits = [data[b // 8] >> (b % 8) & 1 for b in range(8 * len(data))]
        assert [sum(bits[c * width + i] << i for i in range(width)) for c in range(count)] == symbols
        assert not any(bits[count * width:])


def test_half_and_step_have_their_probabilities():
    stream, count = KeyStream(cases.seed_bytes("half")), 20000
    assert abs(sum(half(stream) for _ in range(count)) / count - math.exp(-0.5)) < 0.015
    for k, top in ((0, 0x80000000), (1, 0x40000000), (3, 0xC0000000)):
        hits = 0
        for _ in range(5000):
            x = LazyUniform(stream)
            x.limbs.append(top)
            hits += step(stream, k, x)
        exact = top / WORD
        assert abs(hits / 5000 - math.exp(-exact * (2 * k + exact) / (2 * k + 2))) < 0.03


def test_deviates_are_normal():
    for s in (8, 22):
        stream, count = KeyStream(cases.seed_bytes("normal %d" % s)), 12000
        values = [deviate(stream, s) / 2 ** s for _ in range(count)]
        mean = sum(values) / count
        variance = sum(value * value for value in values) / count - mean ** 2
        assert abs(mean) < 4 / math.sqrt(count) and abs(variance - 1) < 4 * math.sqrt(2 / count)
        edges = [-2.5 + i / 4 for i in range(21)]
        expected = [math.erfc(-edge / math.sqrt(2)) / 2 for edge in edges]
        expected = [b - a for a, b in zip([0] + expected, expected + [1])]
        observed = [0] * 22
        for value in values:
            observed[sum(value >= edge - 0.5 / 2 ** s for edge in edges)] += 1
        square = sum((o - count * p) ** 2 / (count * p) for o, p in zip(observed, expected))
        assert square < 50, square                              # 21 degrees of freedom: 1 in 2000


def test_response_keeps_its_promise():
    """Probabilities in 2^-40 differ by a factor of at most e^epsilon, and the draw follows them."""
    for epsilon in (0.1, 0.5, 1.0, 4.0, 16.0):
        for m in (2, 3, 8, 1000, 65536):
            P, _ = response_threshold(epsilon, m)
            other = Fraction((1 << 40) - P, m - 1)
            limit = Fraction(Decimal(epsilon).exp())
            assert P <= limit * other and other <= limit * P
    stream, hits, count = KeyStream(cases.seed_bytes("frequency")), [0] * 5, 10000
    for _ in range(count):
        hits[response_draw(stream, 5, 1, 1.0)[1]] += 1
    expected = [math.e / (math.e + 4)] + [1 / (math.e + 4)] * 4
    assert all(abs(hit / count - p) < 0.02 for hit, p in zip(hits, expected))


def tiny_pack(source, k, alpha, n=4, K=2):
    size = source.choice((3, 500, 32767))
    fields = dict(kind=SLOT_CLASS, d=2, classes=[(0, 0), (1, 1)],
                  **cases.gaussian_part(source, 2, [1, n - 1], k, size, K, source.choice((1, 9000, 65536)), alpha))
    return Pack(fields)


def rows_reachable(pack, certificate, slot):
    """Rows (exact) for every choice of K anchors and of weights among floor, between, 65536."""
    least = certificate.floor_weight
    for chosen in itertools.combinations(range(pack.n), pack.K):
        for weights in itertools.product((least, (least + 65536) // 2, 65536), repeat=pack.K):
            total = sum(weights)
            yield tuple(Fraction(256 * (pack.slot_codes[slot][i] * total + sum(
                w * pack.anchor_codes[j][i] for j, w in zip(chosen, weights)))
                + pack.alpha * certificate.label_rows[slot][i], 512 * total) for i in range(pack.k))


def square_distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def test_certificate_bounds_every_row():
    source, tightness = random.Random(3), []
    for k, alpha in itertools.product((1, 2, 3), (0, 0, 77, 1024)):
        pack = tiny_pack(source, k, alpha)
        certificate = Certificate(pack)
        limit, bound, far = Fraction(certificate.delta, 256) ** 2, certificate.row_bound, []
        for slot in range(2):
            rows = list(set(rows_reachable(pack, certificate, slot)))
            assert all(abs(value) <= bound for row in rows for value in row)
            largest = max((square_distance(a, b) for a, b in itertools.combinations(rows, 2)), default=Fraction(0))
            assert largest <= limit
            tightness.append((k, float(largest / limit) if limit else 1))
            far.append(max(square_distance(row, certificate.centres[slot]) for row in rows))
        assert far[0] + far[1] <= limit                         # another slot: both slots move, to or from a centre
    assert max(ratio for k, ratio in tightness if k < 3) > 0.97   # and the bound is not idle


def test_certificate_holds_at_every_angle():
    """Two anchors, one neighbour: the distance is known exactly."""
    source, closest = random.Random(4), 0
    for _ in range(300):
        fields = dict(kind=SLOT_ONE, d=1, anchors=[[1], [2]], starts=[0, 2], neighbours=1, bandwidth=65536,
                      anchor_codes=cases.codes(source, 2, 2, 32767), slot_codes=[[5, -5]])
        a, b = fields["anchor_codes"]
        ratio = square_distance(a, b) / 4 / Fraction(Certificate(Pack(fields)).delta, 256) ** 2
        assert ratio <= 1
        closest = max(closest, ratio)
    assert closest > 0.999
    around = directions(2) + [[-value for value in directions(2)[0]]]
    for (ax, ay), (bx, by) in zip(around, around[1:]):          # the polygon's corners are within 1 + 28/65536
        assert (4096 * 65536) ** 2 * ((bx - ax) ** 2 + (by - ay) ** 2) <= ((ax * by - ay * bx) * (65536 + 28)) ** 2


def test_support_matches_its_definition():
    source = random.Random(5)
    for _ in range(10):
        pack = tiny_pack(source, 2, 100, 5, 3)
        least, row, v = floor_weight(pack), label_row(pack, 1), [source.randint(-4096, 4096) for _ in range(2)]
        best = max(Fraction(256 * sum(w * dot(pack.anchor_codes[j], v) for j, w in zip(chosen, weights))
                            + pack.alpha * dot(row, v), 256 * sum(weights))
                   for chosen in itertools.combinations(range(5), 3)
                   for weights in itertools.product((least, 65536), repeat=3))
        assert support(pack, row, least, v) == math.ceil(best)
    assert axis(3, 1, -1) == [0, -4096, 0]


def test_weights_against_doubles():
    for index, bits, label in cases.update_cases(PACKS):
        pack, query = PACKS[index][1], quantise(bits)
        norm = math.sqrt(dot(query, query))
        weights = neighbour_weights(pack, query)
        scores = []
        for anchor, weight in weights:
            row = pack.anchors[anchor]
            cosine = dot(query, row) / norm / math.sqrt(dot(row, row))
            scores.append(cosine)
            loose = 65536 * math.exp(-pack.bandwidth / 65536 * (1 - cosine))
            slack = 1 + loose * pack.bandwidth / 65536 * 2e-6
            assert abs(max(loose, floor_weight(pack)) - weight) < slack and 1 <= weight <= 65536
        assert all(a > b - 1e-6 for a, b in zip(scores, scores[1:])) and len(weights) == pack.K


def test_calibration_is_private():
    for x in (-9, -3, -0.5, 0, 0.1, 2, 7):
        assert abs(float(normal_cumulative(Decimal(x))) / (math.erfc(-x / math.sqrt(2)) / 2) - 1) < 1e-12
    assert abs(noise_ratio(1.0, 1e-5) - Decimal("3.7306316")) < Decimal("1e-6")
    for index, epsilon, delta in ((0, 1.0, 1e-5), (1, 0.1, 1e-6), (2, 16.0, 1e-5), (5, 16.0, 1e-5), (8, 0.5, 1e-5)):
        pack = PACKS[index][1]
        for width in (1, 2):
            certificate = Certificate(pack)
            one = Calibration(pack, certificate, epsilon, delta, width)
            assert gaussian_delta(1 / one.mu, Decimal(epsilon)) <= Decimal(delta)
            assert one.e == 0 or ceil_divide(certificate.row_bound, one.g) + (6 << one.s) > (one.limit - 1) << one.e - 1


def test_gaussian_releases_decode_to_row_plus_noise():
    for name, index, mechanism, epsilon, delta, width, label, seed, bits, modality in cases.release_cases(PACKS):
        pack = PACKS[index][1]
        if mechanism != GAUSSIAN:
            continue
        certificate = Certificate(pack)
        one = Calibration(pack, certificate, epsilon, delta, width)
        release = encode_gaussian(pack, bits, label, epsilon, delta, width, seed, modality)
        stream, own = KeyStream(seed), pack.slot_of(label)
        weights, numerators = update(pack, certificate.label_rows, row_of(pack, bits, modality), own)
        exact = [list(centre) for centre in certificate.centres]
        exact[own] = [Fraction(value, 512 * sum(w for _, w in weights)) for value in numerators]
        rows = decode_rows(pack, release)
        assert len(rows) == pack.G * pack.k
        for value, row in zip(rows, itertools.chain(*exact)):
            assert abs(value - row - one.g * deviate(stream, one.s)) <= Fraction(one.step + one.g, 2)
        content = pack.G * pack.k * width
        assert len(release) == 1 + 2 + 18 + 2 + 6 + 1 + len(cbor_bytes(bytes(content)))


def test_response_releases_decode():
    for name, index, mechanism, epsilon, _, _, label, seed, bits, modality in cases.release_cases(PACKS):
        pack = PACKS[index][1]
        if mechanism != RESPONSE:
            continue
        release = encode_response(pack, bits, label, 60.0, seed, modality)   # nearly certain: the own symbol is the nearest
        symbols, own = unpack_symbols(read_release(release)[4], pack.m, pack.G), pack.slot_of(label)
        best = nearest_cell(pack, row_of(pack, bits, modality), own)
        assert symbols[own] == best
        rows = decode_rows(pack, release)
        if pack.cell_codes:
            expected = [Fraction(a + b, 2) for a, b in zip(pack.slot_codes[own],
                                                           pack.cell_codes[own * pack.m + best])]
            assert rows[own * pack.k:(own + 1) * pack.k] == expected
        else:
            assert rows == []


def test_sketches():
    for index, bits in cases.sketch_cases(PACKS):
        pack, query = PACKS[index][1], quantise(bits)
        values = sketch(pack, query)
        z = [sum(pack.sketch[i][j] * query[j] for j in range(pack.d)) for i in range(pack.L)]
        assert values == quantise_exact(z) and len(values) == pack.L
        if any(values):
            assert 0 <= (1 << 30) - sketch_score(values, values) < 1 << 12
        assert sketch_score(values, [0] * pack.L) == 0
    assert sketch_score([3], [-7]) == -((((1 << 30) // 3) * 3 * ((1 << 30) // 7) * 7 + (1 << 30) - 1) >> 30)   # floor


def test_answers_are_ranked():
    chosen = cases.answer_cases(PACKS) + cases.crowd_answer_cases(PACKS)
    for name, index, slots, offsets, data, bits, label, all_slots, limit, modality in chosen:
        pack = PACKS[index][1]
        matches = rank_answer(pack, slots, offsets, bits, label, all_slots, limit, modality)
        items = [match[0] for match in matches]
        assert len(set(items)) == len(items) <= limit
        assert all((a[3], -a[0]) > (b[3], -b[0]) for a, b in zip(matches, matches[1:]))
        allowed = range(pack.G) if all_slots else [pack.slot_of(label)]
        assert len(items) == min(limit, len({row[0] for slot in allowed for row in slots[slot]}))
        own = sketch(pack, row_of(pack, bits, modality))
        for item, _, slot, score, offset, size in matches:
            same = [sketch_score(own, row[2]) for s in allowed for row in slots[s] if row[0] == item]
            assert slot in allowed and score == max(same) and offset + size <= len(data)


def test_budget():
    data = write_budget(bytes(range(16)), 5, 4, 1 << 40, 3, 9)
    assert len(data) == 64 and data[:8] == b"PMLB\1\0\0\0" and data[8:24] == bytes(range(16))
    assert struct.unpack_from("<QQIIQ", data, 24) == (1 << 40, 9, 5, 4, 3)
    assert data[56:] == hashlib.sha256(data[:56]).digest()[:8]


def test_vectors_are_up_to_date():
    assert all(path.read_text() == text for path, text in make_vectors.vectors().items())


def main():
    passed = failed = 0
    for name, function in sorted(globals().items()):
        if name.startswith("test_"):
            try:
                function()
                passed += 1
            except Exception:                                   # a failed check must not hide the others
                failed += 1
                print("FAILED", name)
                traceback.print_exc()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
