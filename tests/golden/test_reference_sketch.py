"""Checks of the reference's coded sketches, packs of version 0.5 and answers of version 2. test_reference.py runs them."""
import hashlib
import math
import random
import struct
from fractions import Fraction

import cases
import cases_refused
import cases_sketch
import make_sketches
from reference import dot, rank_answer, row_of, sketch
from reference_lists import AnswerRefused, leb, read_answer_2, write_answer_2
from reference_reader import PackRefused, read_pack
from reference_sketch import FACTORS

CODED = cases_sketch.make_packs()
ANSWERS = cases_sketch.answer_cases(CODED) + cases_sketch.crowd_answer_cases(CODED)


def status_of(read, *arguments):
    try:
        read(*arguments)
        return "OK"
    except (PackRefused, AnswerRefused) as refused:
        return refused.args[0]


def exact_cosine(a, b):
    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


def test_coded_packs_are_read_as_they_were_written():
    depths, lengths = set(), set()
    for name, pack, _ in CODED:
        again = read_pack(pack.bytes)
        assert again.bytes == pack.bytes and again.code.depths == pack.code.depths and pack.bytes[6] == 5, name
        depths |= set(pack.code.depths)
        lengths |= {pack.L, pack.code.P}
    assert depths == set(range(1, 8)) and {1, 256, 8} <= lengths and max(lengths) >= 300
    assert {pack.d % 8 for _, pack, _ in CODED} > {0, 1, 3, 5}


def test_older_packs_are_read_as_they_were_written():
    for _, pack in cases.make_packs():
        assert read_pack(pack.bytes).bytes == pack.bytes


def test_the_code_is_that_of_the_nearest_value():
    """Against exact fractions; of two equally near ones the larger."""
    for index, row in cases_sketch.sketch_cases(CODED):
        code = CODED[index][1].code
        for i, (cosine, chosen) in enumerate(zip(code.cosines(row), code.codes(row))):
            values, x = code.values(i), Fraction(cosine, 1 << 47)
            assert values == sorted(values) and all(abs(v) <= abs(code.middles[i]) + code.widths[i] for v in values)
            nearest = min(abs(x - value) for value in values)
            assert abs(x - values[chosen]) == nearest
            assert all(value == values[chosen] or abs(x - value) > nearest for value in values[chosen + 1:])
            assert abs(cosine / 2 ** 60 - exact_cosine(row, code.directions[i])) < 4e-6
            loose = 8192 * exact_cosine(row, code.directions[i])     # and against doubles
            assert abs(loose - values[chosen]) <= min(abs(loose - value) for value in values) + 0.1


def test_halves_are_rounded_up():
    for index, row in cases_sketch.sketch_cases(CODED):
        code = CODED[index][1].code
        for z, cosine in zip(code.coordinates(row), code.cosines(row)):
            assert -Fraction(1, 2) < z - Fraction(cosine, 1 << 48) <= Fraction(1, 2) and abs(z) <= 1 << 12
    assert {z for index, row in cases_sketch.sketch_cases(CODED) for z in CODED[index][1].code.coordinates(row)} \
        >= {1 << 12, -(1 << 12)}


def test_sketches_are_blocks_of_their_own():
    for index, row in cases_sketch.sketch_cases(CODED):
        code = CODED[index][1].code
        codes, at = code.codes(row), 0
        data = code.pack_codes(codes)
        assert len(data) == CODED[index][1].L and code.unpack_codes(data) == codes
        for first in range(0, code.P, 8):
            bits = code.depths[first]
            word = sum(chosen << bits * i for i, chosen in enumerate(codes[first:first + 8]))
            assert bytes(data[at:at + bits]) == word.to_bytes(bits, "little")
            at += bits


def test_of_nine_lengths_the_nearest_direction_is_taken():
    """Against doubles; and others than the nearest values are taken at times, longer and shorter ones."""
    taken = set()
    for index, row in cases_sketch.sketch_cases(CODED):
        code, chosen = CODED[index][1].code, sketch(CODED[index][1], row)
        made = [code.pack_codes(code.codes(row, factor)) for factor in FACTORS]
        own = code.coordinates(row)

        def cosine(data):
            values = code.decoded(data)
            return dot(own, values) / math.sqrt(dot(values, values)) if any(values) else 0

        taken.add(FACTORS[made.index(chosen)])
        assert cosine(chosen) >= max(map(cosine, made)) - 0.5      # of 4096: r has fourteen bits at least
        exact = [code.exact_score(own, data) for data in made]
        assert made.index(chosen) == exact.index(max(exact))
    assert len(taken) >= 5 and 32 in taken


def test_scores_are_cosines():
    """Within the rounding of the coordinates: half a step of 2^-12 in each of P directions."""
    source, limited = random.Random("scores"), set()
    for index, row in cases_sketch.sketch_cases(CODED):
        code = CODED[index][1].code
        for data in (sketch(CODED[index][1], row), list(source.randbytes(code.L))):
            values, coordinates = code.decoded(data), code.coordinates(row)
            score, size = code.score(coordinates, data), math.sqrt(dot(values, values))
            if size == 0:
                assert score == 0
                continue
            assert abs(dot(coordinates, values)) < 1 << 31 and dot(values, values) < 1 << 32
            loose = sum(exact_cosine(row, direction) * value for direction, value in zip(code.directions, values)) / size
            slack = sum(map(abs, values)) / size * 2.0 ** -13 + abs(loose) * size * 2.0 ** -30 + 1e-6
            assert abs(score / 2 ** 30 - min(max(loose, -1), 1)) <= slack
            limited.add(abs(score) == 1 << 30)
    assert limited == {True, False}


def test_answers_of_version_2_are_read_as_they_were_written():
    forms, carried = set(), set()
    for name, index, slots, offsets, data, bits, label, all_slots, limit, modality in ANSWERS:
        pack = CODED[index][1]
        gallery, again, places = read_answer_2(pack, data, "crowd" in name)
        assert again == slots and places == offsets, name
        if "more form" not in name and "of a class" not in name:
            only = next((s for s, rows in enumerate(slots) if rows), 0) if "crowd" in name else None
            assert write_answer_2(pack, gallery, slots, only) == (data, offsets), name
        for slot in range(pack.G):
            carried |= {row[0] for row in slots[slot]}
            forms.add((len({row[1] for row in slots[slot]}) > 1, any(row[3] for row in slots[slot]), bool(slots[slot])))
    assert len(forms) == 5 and {0, (1 << 64) - 1} <= carried


def test_answers_of_version_2_are_ranked():
    ties = 0
    for name, index, slots, offsets, data, bits, label, all_slots, limit, modality in ANSWERS:
        pack = CODED[index][1]
        matches = rank_answer(pack, slots, offsets, bits, label, all_slots, limit, modality)
        allowed = range(pack.G) if all_slots else [pack.slot_of(label)]
        assert all((a[3], -a[0]) > (b[3], -b[0]) for a, b in zip(matches, matches[1:])), name
        assert len(matches) == min(limit, len({row[0] for slot in allowed for row in slots[slot]}))
        ties += any(a[3] == b[3] for a, b in zip(matches, matches[1:]))
        own = pack.code.coordinates(row_of(pack, bits, modality))
        for item, _, slot, score, offset, size in matches:
            same = [(pack.code.score(own, row[2]), -s) for s in allowed for row in slots[s] if row[0] == item]
            payload = next(row[3] for row in slots[slot] if row[0] == item)
            assert (score, -slot) == max(same) and data[offset:offset + size] == payload
    assert ties >= 10


def test_numbers_in_base_128():
    for value, data in ((0, b"\0"), (127, b"\x7f"), (128, b"\x80\1"), (300, b"\xac\2"), ((1 << 64) - 1, b"\xff" * 9 + b"\1")):
        assert leb(value) == data


def test_refused_packs():
    statuses = set()
    for name, status, index, edit in cases_refused.pack_edits(CODED):
        data = bytearray(CODED[index][1].bytes)
        for offset, byte in edit.items():
            data[offset] = byte
        data[8:40] = hashlib.sha256(data[40:]).digest()
        assert status_of(read_pack, bytes(data)) == status, name
        statuses.add(status)
    for name, status, data in cases_refused.whole_packs(CODED):
        assert status_of(read_pack, data) == status, name
        statuses.add(status)
    assert statuses == {"OK", "PACK", "PACK_SIZE", "PACK_VERSION"}
    data = CODED[0][1].bytes
    assert all(status_of(read_pack, data[:size]) != "OK" for size in range(len(data)))
    longer = bytearray(data + b"\0")
    struct.pack_into("<Q", longer, 40, len(longer))
    assert status_of(read_pack, bytes(longer)) == "PACK_SIZE"


def test_refused_answers():
    for name, status, index, data, crowd in cases_refused.answer_cases(CODED):
        assert status_of(read_answer_2, CODED[index][1], data, crowd) == status, name
    for name, index, _, _, data, *_ in ANSWERS:
        assert all(status_of(read_answer_2, CODED[index][1], data[:size], "crowd" in name) == "ANSWER"
                   for size in range(min(len(data), 300)))


def test_sketch_vectors_are_up_to_date():
    assert all(path.read_text() == text for path, text in make_sketches.vectors().items())
