"""Guesses (SPEC 5.19) and looks (5.20). Slow and exact."""
import hashlib
import struct
from math import isqrt

from reference import row_of
from reference_formats import inverse_norm
from reference_front import MATRIX, Front, need, quantise, read_front


class Head(Front):
    """A matrix whose rows belong to labels."""

    def __init__(self, d_in, labels, offsets, gains, rows):
        super().__init__(MATRIX, len(labels), d_in, offsets=offsets, gains=gains, rows=rows)
        self.labels = labels

    def label_bytes(self):
        return struct.pack("<%di" % self.d, *self.labels)

    def file(self):
        data = bytearray(b"PMFR\0\0\2\0" + bytes(56) + self.record() + self.body() + self.label_bytes())
        struct.pack_into("<QII", data, 40, len(data), self.d, 1)
        data[8:40] = hashlib.sha256(data[40:]).digest()
        return bytes(data)


def guess(pack, bits, modality=0):
    """[(label, score)] of all labels, the likeliest first."""
    scores = pack.head.values(row_of(pack, bits, modality))
    assert all(abs(score) < 1 << 55 for score in scores)
    return [(label, -score) for score, label in sorted((-score, label) for score, label in zip(scores, pack.head.labels))]


def read_head_file(data):
    need(len(data) >= 128 and data[:8] == b"PMFR\0\0\2\0")
    size, d, flag = struct.unpack_from("<QII", data, 40)
    need(data[8:40] == hashlib.sha256(data[40:]).digest() and size == len(data) and 1 <= d <= 4096 and flag == 1)
    need(data[56:64] == bytes(8) and data[80:96] == bytes(16) and data[64:68] == struct.pack("<HH", MATRIX, 0))
    front = read_front(data[64:128], data[128:-4 * d], d)
    labels = list(struct.unpack("<%di" % d, data[-4 * d:]))
    need(labels == sorted(set(labels)))
    return Head(front.d_in, labels, front.offsets, front.gains, front.rows)


def toward_zero(value):
    """The pattern of the binary32 number next to an integer, toward zero."""
    size = abs(value)
    drop = max(size.bit_length() - 24, 0)
    return struct.unpack("<I", struct.pack("<f", (-1 if value < 0 else 1) * float(size >> drop << drop) if size else 0.0))[0]


def look_terms(bits):
    """What a look adds, per feature."""
    q = quantise(bits)
    if len(q) <= 4096:
        r, shift = inverse_norm(q), 9
    else:
        r, shift = isqrt((1 << 60) // (sum(value * value for value in q) // 256 + 1)), 13
    terms = [(1 if value > 0 else -1) * (abs(value) * r >> shift) for value in q]
    assert all(abs(term) <= 1 << 21 for term in terms)
    return terms


def mean_of_looks(looks, times=1):
    """Patterns of the mean's features, each look so often; None when there is no mean."""
    sums = [times * sum(column) for column in zip(*map(look_terms, looks))]
    return [toward_zero(value) for value in sums] if any(sums) else None
