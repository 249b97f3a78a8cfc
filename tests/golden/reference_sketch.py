"""Coded sketches (SPEC 1, sections 17 to 20, and 5.13). Slow and exact."""
import struct

from reference_formats import dot, inverse_norm

DEPTHS = range(1, 8)
BLOCK = 8                         # directions that share their bytes
SCORE_LIMIT = 1 << 30
FACTORS = (32, 31, 33, 30, 34, 29, 35, 28, 36)     # in 1/32: an item is coded at nine lengths


class SketchCode:
    """counts {bits: blocks}, levels {bits: 2^bits numbers}; per direction a row, a middle and a width. Directions with more
    bits come first."""

    def __init__(self, counts, levels, directions, middles, widths):
        self.counts = {bits: counts.get(bits, 0) for bits in DEPTHS}
        self.levels = {bits: list(levels.get(bits, [0] * (1 << bits))) for bits in DEPTHS}
        self.directions, self.middles, self.widths = directions, middles, widths
        self.norms = [inverse_norm(row) for row in directions]
        self.depths = [bits for bits in reversed(DEPTHS) for _ in range(BLOCK * self.counts[bits])]
        self.P, self.L = len(directions), sum(bits * count for bits, count in self.counts.items())
        self._check()

    def _check(self):
        assert 8 <= self.P <= 1024 and self.P == len(self.depths) == len(self.middles) == len(self.widths)
        assert 1 <= self.L <= 256
        assert all(count >= 0 for count in self.counts.values())
        for bits, levels in self.levels.items():
            assert len(levels) == 1 << bits and all(-127 <= level <= 127 for level in levels)
            assert levels == sorted(levels) if self.counts[bits] else not any(levels)
        assert all(any(row) and all(-127 <= value <= 127 for value in row) for row in self.directions)
        sizes = [abs(middle) + width for middle, width in zip(self.middles, self.widths)]
        assert all(width >= 0 for width in self.widths) and max(sizes) <= 32767
        assert sum(sizes) < 1 << 19 and sum(size * size for size in sizes) < 1 << 32

    def sections(self):
        """The bytes of sections 17 to 20."""
        head = struct.pack("<8H", *[self.counts[bits] for bits in DEPTHS], 0)
        levels = b"".join(struct.pack("%db" % len(part), *part) for part in self.levels.values())
        return [head + levels + bytes(2),
                b"".join(struct.pack("%db" % len(row), *row) for row in self.directions),
                struct.pack("<%dI" % self.P, *self.norms),
                struct.pack("<%dh" % (2 * self.P), *self.middles, *self.widths)]

    def values(self, i):
        """The values of direction i, in 2^-13 of a row's length."""
        return [self.middles[i] + (self.widths[i] * level + 64) // 128 for level in self.levels[self.depths[i]]]

    def cosines(self, row):
        """The cosines of a row and the directions, in 2^-60."""
        own = inverse_norm(row)
        return [dot(row, direction) * norm * own for direction, norm in zip(self.directions, self.norms)]

    def codes(self, row, factor=32):
        """With the factor 32 those of the nearest values."""
        codes = []
        for i, cosine in enumerate(self.cosines(row)):
            values, twice = self.values(i), (cosine >> 46) * factor >> 5
            codes.append(sum(twice >= below + above for below, above in zip(values, values[1:])))
        return codes

    def pack_codes(self, codes):
        """The bytes of a sketch, as a list of numbers."""
        text, used = 0, 0
        for code, bits in zip(codes, self.depths):
            text |= code << used
            used += bits
        return list(text.to_bytes(self.L, "little"))

    def unpack_codes(self, sketch):
        text, codes = int.from_bytes(bytes(sketch), "little"), []
        for bits in self.depths:
            codes.append(text & (1 << bits) - 1)
            text >>= bits
        return codes

    def sketch(self, row):
        """Of nine lengths the one whose direction is nearest to the row's; of equal ones the first."""
        own, best = self.coordinates(row), None
        for factor in FACTORS:
            made = self.pack_codes(self.codes(row, factor))
            exact = self.exact_score(own, made)
            if best is None or exact > best[0]:
                best = exact, made
        return best[1]

    def coordinates(self, row):
        """What a device keeps of its query."""
        return [(cosine + (1 << 47)) >> 48 for cosine in self.cosines(row)]

    def decoded(self, sketch):
        return [self.values(i)[code] for i, code in enumerate(self.unpack_codes(sketch))]

    def exact_score(self, coordinates, sketch):
        """dot * r of SPEC 5.13."""
        values = self.decoded(sketch)
        return dot(coordinates, values) * inverse_norm(values)

    def score(self, coordinates, sketch):
        return min(max(self.exact_score(coordinates, sketch) >> 12, -SCORE_LIMIT), SCORE_LIMIT)
