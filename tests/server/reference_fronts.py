"""Fronts (SPEC 1.1, 1.2, 5.18) from the specification alone: writes front files, and maps rows with Python's integers.

Fronts of signs are left to tests/golden."""
import hashlib
import math
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from reference import inverse_norm, quantise  # noqa: E402

NONE, SIGNS, MATRIX, KERNELS = 1, 2, 3, 4


def exp31(x):
    """2^31·e^(−x/2^27), SPEC 5.5."""
    t = x * 3098164009
    f, u = (t >> 26) % (1 << 32), 469564
    for c in (5478403, 41145185, 238331739, 1031755646, 2977043890):
        u = c - (f * u >> 32)
    return ((1 << 31) - (f * u >> 33)) >> (t >> 58)


def kernel(gamma, width):
    return exp31(min((width * (((1 << 60) - gamma) >> 30)) >> 19, (1 << 32) - 1))


def roots(features):
    """SPEC 5.1, roots of numbers that are normal: |x| = f·2^e with 24 bits in f."""
    parts = []
    for x in np.asarray(features, np.float32).astype(float):
        mantissa, exponent = math.frexp(abs(x))
        parts.append((int(mantissa * (1 << 24)), exponent - 24 if x else -10000, x < 0))
    largest = max(parts, key=lambda part: (part[1], part[0]))
    r = ((1 << 55) - 1) // largest[0]
    row = []
    for f, e, negative in parts:
        h = (f * r >> 39) >> min(largest[1] - e, 16)
        q = (math.isqrt(64516 * h >> 16) + 1) // 2
        row.append(-q if negative else q)
    return row


def plain(features):
    return quantise(np.asarray(features, "<f4").view("<u4").tolist())


def scaled(values):
    """SPEC 5.13's rounding of integers to −127 … 127."""
    top = max(abs(value) for value in values)
    return [(1 if value > 0 else -1) * ((254 * abs(value) + top) // (2 * top)) for value in values]


class Front:
    """matrix: (offsets, gains, rows); kernels: (offsets, widths, amplitudes, centres, coefficients); none: ()."""

    def __init__(self, kind, inputs, outputs, parts=(), root=False):
        self.kind, self.inputs, self.outputs, self.parts, self.root = kind, inputs, outputs, parts, root
        self.centres = len(parts[1]) if kind == KERNELS else 0

    def body(self):
        if self.kind == MATRIX:
            offsets, gains, rows = self.parts
            return b"".join(struct.pack("<qI", b, g) for b, g in zip(offsets, gains)) + rows.astype("i1").tobytes()
        if self.kind == KERNELS:
            offsets, widths, amplitudes, centres, coefficients = self.parts
            return (np.array(offsets, "<i8").tobytes()
                    + b"".join(struct.pack("<III", inverse_norm(c.tolist()), w, a)
                               for c, w, a in zip(centres, widths, amplitudes))
                    + centres.astype("i1").tobytes() + coefficients.astype("i1").tobytes())
        return b""

    def record(self, name=b""):
        return struct.pack("<HHIII16s32s", self.kind, self.root, self.inputs, self.centres, 0, name, b"")

    def file(self):
        body = self.body()
        rest = struct.pack("<QI12s", 128 + len(body), self.outputs, b"") + self.record() + body
        return b"PMFR" + struct.pack("<HH", 0, 1) + hashlib.sha256(rest).digest() + rest

    def map(self, features):
        q = roots(features) if self.root else plain(features)
        norm = inverse_norm(q)
        if self.kind == NONE:
            return q
        if self.kind == MATRIX:
            offsets, gains, rows = self.parts
            return scaled([sum(int(a) * b for a, b in zip(row, q)) * g * norm + b0
                           for row, g, b0 in zip(rows, gains, offsets)])
        offsets, widths, amplitudes, centres, coefficients = self.parts
        weights = []
        for centre, width, amplitude in zip(centres, widths, amplitudes):
            dot = sum(int(a) * b for a, b in zip(centre, q))
            weights.append(amplitude * (kernel(dot * inverse_norm(centre.tolist()) * norm, width) >> 7))
        return scaled([sum(v * int(c) for v, c in zip(weights, coefficients[:, i])) + offsets[i]
                       for i in range(self.outputs)])

    def rows(self, features):
        return np.array([self.map(row) for row in features], np.int64)


def random_matrix(source, inputs, outputs):
    return Front(MATRIX, inputs, outputs, (source.integers(-(1 << 36), 1 << 36, outputs).tolist(),
                                           source.integers(1, 33, outputs).tolist(),
                                           source.integers(-127, 128, (outputs, inputs))))


def random_kernels(source, inputs, outputs, centres, root=True):
    points = np.array([(roots if root else plain)(row) for row in source.random((centres, inputs), np.float32) + 0.01])
    return Front(KERNELS, inputs, outputs, (source.integers(-(1 << 30), 1 << 30, outputs).tolist(),
                                            source.integers(1 << 18, 1 << 20, centres).tolist(),
                                            source.integers(1, 256, centres).tolist(), points,
                                            source.integers(-127, 128, (centres, outputs))), root)
