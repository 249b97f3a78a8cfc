"""From features to the row that everything else is made of: quantise (SPEC 5.1), the exponential of integers (5.5), fronts
(1.1, 1.2, 5.18). Slow and exact."""
import hashlib
import struct
from fractions import Fraction
from math import floor, isqrt

from reference_formats import dot, inverse_norm
from reference_random import KeyStream

UNIT = 1 << 60                    # a cosine of 1
NONE, SIGNS, MATRIX, KERNELS = 1, 2, 3, 4
RECORDS, RECORD_SIZE, HEADER_SIZE = 8, 64, 128
NAME_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz0123456789_-"
OFFSET_BITS = {MATRIX: 50, KERNELS: 53}


def round_half_up(x):
    """Rounding of SPEC: floor(x + 1/2), for an exact rational x."""
    return floor(Fraction(x) + Fraction(1, 2))


# Quantise (5.1) ------------------------------------------------------------------------------------------------

def floats_from_bits(bits):
    """binary32 patterns as Python floats, which hold them exactly."""
    return list(struct.unpack("<%df" % len(bits), struct.pack("<%dI" % len(bits), *bits)))


def bits_from_floats(values):
    return list(struct.unpack("<%dI" % len(values), struct.pack("<%df" % len(values), *values)))


def quantise_exact(values):
    """sign * floor(127|x|/M + 1/2) of exact numbers; all zero when M = 0."""
    exact = [Fraction(value) for value in values]
    largest = max(abs(value) for value in exact)
    if largest == 0:
        return [0] * len(exact)
    return [(1 if value > 0 else -1) * round_half_up(127 * abs(value) / largest) for value in exact]


def quantise(bits):
    row = quantise_exact(floats_from_bits(bits))
    assert any(row)
    return row


def quantise_roots(bits):
    """The same of about the square roots of the features' sizes."""
    parts = []                                        # |x| = f * 2^e; e counts from the smallest normal number's
    for pattern in bits:
        exponent, fraction = pattern >> 23 & 255, pattern & 0x7FFFFF
        assert exponent < 255
        parts.append((fraction | (1 << 23 if exponent else 0), max(exponent, 1)))
    E, F = max((e, f) for f, e in parts if f)         # larger exponents first: their mantissas have the hidden bit
    while F < 1 << 23:                                # then all are subnormal
        F, parts = 2 * F, [(2 * f, e) for f, e in parts]
    R = ((1 << 55) - 1) // F
    row = []
    for (f, e), pattern in zip(parts, bits):
        h = (f * R >> 39) >> min(E - e, 16)
        size = (isqrt(64516 * h >> 16) + 1) // 2
        row.append(-size if pattern >> 31 else size)
    return row


# The exponential (5.5) -----------------------------------------------------------------------------------------

def exp31(x):
    """About 2^31 * e^(-x/2^27), of an integer x from 0 to 2^32 - 1."""
    assert 0 <= x < 1 << 32
    t = x * 3098164009
    n, f, u = t >> 58, (t >> 26) % (1 << 32), 469564
    for c in (5478403, 41145185, 238331739, 1031755646, 2977043890):
        u = c - (f * u >> 32)
    return ((1 << 31) - (f * u >> 33)) >> n


def kernel(cosine, bandwidth):
    """About 2^31 * e^(-lambda * (1 - cosine))."""
    assert -UNIT <= cosine <= UNIT
    return exp31(min(bandwidth * (UNIT - cosine) >> 49, (1 << 32) - 1))


# Fronts --------------------------------------------------------------------------------------------------------

class Front:
    """kind, d (out), d_in, root; signs: seed; matrix: offsets, gains, rows; kernels: offsets, bandwidths, amplitudes,
    centres, coefficients [p rows of d]; norms: those of the centres, unless a test wants wrong ones."""

    def __init__(self, kind, d, d_in, root=False, **fields):
        take = fields.get
        self.kind, self.d, self.d_in, self.root = kind, d, d_in, root
        self.seed = take("seed", bytes(32))
        self.offsets, self.gains, self.rows = take("offsets", []), take("gains", []), take("rows", [])
        self.bandwidths, self.amplitudes = take("bandwidths", []), take("amplitudes", [])
        self.centres, self.coefficients = take("centres", []), take("coefficients", [])
        self.norms = take("norms", [inverse_norm(row) for row in self.centres])

    def body(self):
        if self.kind == MATRIX:
            heads = b"".join(struct.pack("<qI", *pair) for pair in zip(self.offsets, self.gains))
            return heads + b"".join(struct.pack("%db" % self.d_in, *row) for row in self.rows)
        if self.kind == KERNELS:
            heads = b"".join(struct.pack("<III", *head) for head in zip(self.norms, self.bandwidths, self.amplitudes))
            return (struct.pack("<%dq" % self.d, *self.offsets) + heads
                    + b"".join(struct.pack("%db" % len(row), *row) for row in self.centres + self.coefficients))
        return b""

    def record(self, name=b""):
        return struct.pack("<HHIII16s32s", self.kind, self.root, self.d_in, len(self.centres), 0, name, self.seed)

    def file(self):
        data = bytearray(b"PMFR\0\0\1\0" + bytes(56) + self.record() + self.body())
        struct.pack_into("<QI", data, 40, len(data), self.d)
        data[8:40] = hashlib.sha256(data[40:]).digest()
        return bytes(data)

    def values(self, q):
        """The d integers y of a quantised row."""
        if self.kind == NONE:
            return list(q)
        if self.kind == SIGNS:
            return self._signed_sums(q)
        own_norm = inverse_norm(q)
        if self.kind == MATRIX:
            return [dot(row, q) * gain * own_norm + offset
                    for row, gain, offset in zip(self.rows, self.gains, self.offsets)]
        y = list(self.offsets)
        for centre, norm, bandwidth, amplitude, row in zip(self.centres, self.norms, self.bandwidths, self.amplitudes,
                                                           self.coefficients):
            value = amplitude * (kernel(dot(q, centre) * norm * own_norm, bandwidth) >> 7)
            y = [total + value * coefficient for total, coefficient in zip(y, row)]
        return y

    def _signed_sums(self, q):
        stream, y = KeyStream(self.seed), [0] * self.d
        for value in q:
            for i in range(self.d):
                if i % 11 == 0:
                    u = stream.below(6 ** 11)
                u, digit = divmod(u, 6)
                y[i] += value * {0: 1, 1: -1}.get(digit, 0)
        return y

    def map(self, bits):
        """The row, or None when all of it is zero."""
        assert len(bits) == self.d_in
        y = self.values(quantise_roots(bits) if self.root else quantise(bits))
        assert all(abs(value) < 1 << 55 for value in y)
        row = quantise_exact(y)
        return row if any(row) else None


class Refused(Exception):
    """Not a front."""


def need(condition):
    if not condition:
        raise Refused


def body_size(kind, d, d_in, p):
    return {MATRIX: d * (12 + d_in), KERNELS: 8 * d + p * (12 + d_in + d)}.get(kind, 0)


def int8_rows(data, count, length):
    rows = [list(struct.unpack_from("%db" % length, data, i * length)) for i in range(count)]
    need(all(value != -128 for row in rows for value in row))
    return rows


def read_record(record, d):
    """(kind, root, d_in, p, name, seed), checked but for the name."""
    kind, root, d_in, p, zero, name, seed = struct.unpack("<HHIII16s32s", record)
    need(NONE <= kind <= KERNELS and root <= 1 and zero == 0)
    need(1 <= d_in <= (1000000 if kind == SIGNS else 4096))
    need(1 <= p <= 4096 if kind == KERNELS else p == 0)
    need(kind != NONE or d_in == d)
    need(kind == SIGNS or seed == bytes(32))
    return kind, root, d_in, p, name, seed


def read_front(record, body, d):
    kind, root, d_in, p, _, seed = read_record(record, d)
    need(len(body) == body_size(kind, d, d_in, p))
    fields = {}
    if kind == MATRIX:
        heads = list(struct.iter_unpack("<qI", body[:12 * d]))
        fields = dict(offsets=[b for b, _ in heads], gains=[g for _, g in heads], rows=int8_rows(body[12 * d:], d, d_in))
        need(all(1 <= gain <= 32 for gain in fields["gains"]))
    if kind == KERNELS:
        heads, rest = list(struct.iter_unpack("<III", body[8 * d:8 * d + 12 * p])), body[8 * d + 12 * p:]
        fields = dict(offsets=list(struct.unpack("<%dq" % d, body[:8 * d])), bandwidths=[head[1] for head in heads],
                      amplitudes=[head[2] for head in heads], centres=int8_rows(rest, p, d_in),
                      coefficients=int8_rows(rest[p * d_in:], p, d))
        need(all(any(centre) for centre in fields["centres"]))
        need(all(inverse_norm(centre) == head[0] for centre, head in zip(fields["centres"], heads)))
        need(all(bandwidth >= 1 and 1 <= amplitude <= 255 for _, bandwidth, amplitude in heads))
    need(all(abs(offset) <= 1 << OFFSET_BITS[kind] for offset in fields.get("offsets", [])))
    return Front(kind, d, d_in, bool(root), seed=seed, **fields)


def read_front_file(data):
    need(len(data) >= HEADER_SIZE and data[:8] == b"PMFR\0\0\1\0")
    size, d = struct.unpack_from("<QI", data, 40)
    need(data[8:40] == hashlib.sha256(data[40:]).digest() and size == len(data) and 1 <= d <= 4096)
    need(data[52:64] == bytes(12) and data[80:96] == bytes(16))
    return read_front(data[64:128], data[128:], d)


def read_fronts(records, bodies, d):
    """[(name, Front)] of sections 13 and 14."""
    need(len(records) == RECORDS * RECORD_SIZE)
    result, used, over = [], 0, False
    for v in range(RECORDS):
        record = records[v * RECORD_SIZE:(v + 1) * RECORD_SIZE]
        if not any(record):
            over = True
            continue
        kind, _, d_in, p, raw, _ = read_record(record, d)
        name = raw.rstrip(b"\0")
        need(not over and 1 <= len(name) <= 15 and all(byte in NAME_CHARACTERS for byte in name))
        need(name.decode() not in [other for other, _ in result])
        size = body_size(kind, d, d_in, p)
        result.append((name.decode(), read_front(record, bodies[used:used + size], d)))
        used += size
    need(result and used == len(bodies))
    return result
