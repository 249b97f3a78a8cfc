"""Checks of the reference's heads and looks. test_reference.py runs them."""
import hashlib
import struct
from fractions import Fraction

import cases_head
from reference import Refused, dot, floats_from_bits, inverse_norm, quantise, row_of
from reference_head import guess, look_terms, mean_of_looks, read_head_file, toward_zero

HEAD_PACKS = cases_head.make_head_packs()


def test_guesses_are_ordered_and_by_the_formula():
    ties = 0
    for _, index, modality, bits in cases_head.guess_cases(HEAD_PACKS):
        pack = HEAD_PACKS[index][1]
        guesses, q = guess(pack, bits, modality), row_of(pack, bits, modality)
        assert sorted(label for label, _ in guesses) == pack.head.labels
        assert all((-a[1], a[0]) < (-b[1], b[0]) for a, b in zip(guesses, guesses[1:]))
        ties += any(a[1] == b[1] for a, b in zip(guesses, guesses[1:]))
        i = pack.head.labels.index(guesses[0][0])
        assert guesses[0][1] == dot(q, pack.head.rows[i]) * pack.head.gains[i] * inverse_norm(q) + pack.head.offsets[i]
    assert ties >= 3


def test_head_files_are_read_and_refused():
    data = HEAD_PACKS[0][1].head.file()
    head = read_head_file(data)
    assert (head.labels, head.rows) == (HEAD_PACKS[0][1].head.labels, HEAD_PACKS[0][1].head.rows)
    for offset, new in ((6, b"\1"), (52, b"\0"), (56, b"\1"), (66, b"\1"), (len(data) - 8, data[-4:])):
        changed = bytearray(data)
        changed[offset:offset + len(new)] = new
        changed[8:40] = hashlib.sha256(changed[40:]).digest()
        refused = False
        try:
            read_head_file(bytes(changed))
        except Refused:
            refused = True
        assert refused


def test_looks_weigh_the_same_at_every_scale():
    for _, d, _, looks in cases_head.look_cases():
        for bits in looks[:2] if d < 1000000 else ():
            bits = (bits * d)[:d]
            terms, q = look_terms(bits), quantise(bits)
            size = sum(Fraction(term) ** 2 for term in terms)
            assert abs(float(size) ** 0.5 / 2 ** 21 - 1) < 1e-3
            assert all(term * value > 0 or term == 0 for term, value in zip(terms, q))
            assert look_terms([pattern ^ 0x80000000 for pattern in bits]) == [-term for term in terms]


def test_sums_become_floats_toward_zero():
    for value in (0, 1, -1, 3, 1 << 21, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, -(1 << 24) - 1, (1 << 30), -(1 << 30),
                  (1 << 30) - 1, 0x1234567, -0x2ABCDEF1):
        near = floats_from_bits([toward_zero(value)])[0]
        assert abs(near) <= abs(value) and abs(value) - abs(near) < max(1, abs(value) >> 23) and near * value >= 0
        assert abs(value) >= 1 << 24 or near == value
    assert mean_of_looks([[0x3F800000, 0], [0xBF800000, 0]]) is None
