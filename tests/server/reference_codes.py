"""Coded sketches (SPEC 1, sections 17 to 20, and 5.13) of many rows at once: numpy, 64-bit integers. tests/golden has the
same for one row with Python's integers."""
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from reference import inverse_norm  # noqa: E402
from reference_sketch import DEPTHS, FACTORS, SCORE_LIMIT, SketchCode  # noqa: E402


def read_code(numbers, directions, norms, ranges):
    """The SketchCode of sections 17 to 20, given as arrays."""
    data, levels, at = numbers.astype("u1").tobytes(), {}, 16
    counts = np.frombuffer(data[:16], "<u2").tolist()
    for bits in DEPTHS:
        levels[bits] = np.frombuffer(data[at:at + (1 << bits)], "i1").tolist()
        at += 1 << bits
    middles, widths = ranges.tolist()
    code = SketchCode(dict(zip(DEPTHS, counts)), levels, directions.tolist(), middles, widths)
    assert counts[7] == 0 == sum(data[at:]) and code.norms == norms.tolist()
    return code


def cosines_of_rows(code, rows):
    """In 2^-60: below 2^60, so they are exact."""
    own = np.array([inverse_norm(row.tolist()) for row in rows], np.int64)
    return rows @ np.array(code.directions, np.int64).T * np.array(code.norms, np.int64) * own[:, None]


def pack_rows(code, codes):
    """Of every row's codes the bytes."""
    bits = [codes[:, i] >> bit & 1 for i, depth in enumerate(code.depths) for bit in range(depth)]
    return np.packbits(np.array(bits, np.uint8).T, axis=1, bitorder="little").astype(np.int64)


def decoded_rows(code, sketches):
    """The values that the bytes of sketches stand for."""
    bits, at = np.unpackbits(sketches.astype("u1"), axis=1, bitorder="little").astype(np.int64), 0
    decoded = np.zeros((len(sketches), code.P), np.int64)
    for i, depth in enumerate(code.depths):
        codes = (bits[:, at:at + depth] << np.arange(depth)).sum(axis=1)
        decoded[:, i], at = np.array(code.values(i), np.int64)[codes], at + depth
    return decoded


def coded_scores(code, rows, sketches):
    """The score of every row, a query's, with every sketch."""
    coordinates, decoded = cosines_of_rows(code, rows) + (1 << 47) >> 48, decoded_rows(code, sketches)
    norms = np.array([inverse_norm(values.tolist()) for values in decoded], np.int64)
    scores = np.clip((coordinates @ decoded.T * norms) >> 12, -SCORE_LIMIT, SCORE_LIMIT)
    assert scores[0, :3].tolist() == [code.score(code.coordinates(rows[0].tolist()), sketch) for sketch in sketches[:3].tolist()]
    return scores


def coded_rows(code, rows):
    """The sketches of quantised rows: of nine lengths that one whose direction is nearest to the row's own."""
    cosines = cosines_of_rows(code, rows)
    coordinates, values = cosines + (1 << 47) >> 48, [np.array(code.values(i), np.int64) for i in range(code.P)]
    best = np.full(len(rows), -(1 << 62), np.int64)
    sketches = np.zeros((len(rows), code.L), np.int64)
    for factor in FACTORS:
        twice = (cosines >> 46) * factor >> 5
        codes = np.stack([np.searchsorted(v[:-1] + v[1:], twice[:, i], side="right") for i, v in enumerate(values)], axis=1)
        decoded = np.stack([v[codes[:, i]] for i, v in enumerate(values)], axis=1)
        norms = [math.isqrt((1 << 60) // square) if square else 0 for square in (decoded ** 2).sum(axis=1).tolist()]
        exact = (coordinates * decoded).sum(axis=1) * np.array(norms, np.int64)
        better = exact > best
        best[better], sketches[better] = exact[better], pack_rows(code, codes[better])
    for index in range(min(3, len(rows))):
        assert sketches[index].tolist() == code.sketch(rows[index].tolist())
    return sketches
