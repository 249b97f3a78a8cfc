"""Inputs of the golden vectors of fronts: small packs of version 0.3 and queries of their modalities."""
import random

from reference import KERNELS, MATRIX, NONE, SIGNS, Front, bits_from_floats

SIGN = 0x80000000
MOST = (1 << 32) - 1


def seed_bytes(name, count=32):
    return random.Random("seed " + name).randbytes(count)


def row(source, d):
    values = [source.randint(-127, 127) for _ in range(d)]
    values[source.randrange(d)] = source.choice((-127, 127))
    return values


def rows(source, count, d):
    return [row(source, d) for _ in range(count)]


def matrix(source, d, d_in, root=False, size=1 << 38):
    return Front(MATRIX, d, d_in, root, offsets=[source.randint(-size, size) for _ in range(d)],
                 gains=[source.randint(1, 32) for _ in range(d)], rows=rows(source, d, d_in))


def kernels(source, d, d_in, p, root=False):
    return Front(KERNELS, d, d_in, root, offsets=[source.randint(-1 << 36, 1 << 36) for _ in range(d)],
                 bandwidths=[source.choice((20000, 65536, 300000)) for _ in range(p)],
                 amplitudes=[source.randint(1, 255) for _ in range(p)], centres=rows(source, p, d_in),
                 coefficients=rows(source, p, d))


def every_kind(source, d):
    """Eight modalities: each kind, without and with roots."""
    return [("as-is", Front(NONE, d, d)), ("as-is_root", Front(NONE, d, d, True)),
            ("signs", Front(SIGNS, d, 31, seed=seed_bytes("signs"))),
            ("signs_root", Front(SIGNS, d, 40, True, seed=seed_bytes("signs, roots"))),
            ("image", matrix(source, d, 9)), ("image_root", matrix(source, d, 10, True)),
            ("text", kernels(source, d, 7, 5)), ("0123456789abcde", kernels(source, d, 8, 6, True))]


def extremes(source, d):
    """What the bounds of SPEC 5.18 are about: largest gains, offsets, bandwidths, amplitudes, coefficients."""
    full = [[source.choice((-127, 127)) for _ in range(6)] for _ in range(d)]
    return [("as-is", Front(NONE, d, d)),
            ("m", Front(MATRIX, d, 6, offsets=[(-1) ** i << 50 for i in range(d)], gains=[32] * d, rows=full)),
            ("k", Front(KERNELS, d, 6, offsets=[(-1) ** i << 53 for i in range(d)], bandwidths=[MOST, 1, 65536, 1],
                        amplitudes=[255] * 4, centres=full[:3] + [[0, 0, 0, 0, 0, -1]],
                        coefficients=[[127 * (-1) ** (i + c) for i in range(d)] for c in range(4)])),
            ("narrow", Front(KERNELS, d, 3, offsets=[0] * d, bandwidths=[MOST, MOST], amplitudes=[1, 255],
                             centres=[[127, 0, 0], [0, 1, -1]], coefficients=rows(source, 2, d)))]


def to_zero(source, d):
    """Fronts that map some queries, or all, to zero; the first maps none so."""
    narrow = dict(bandwidths=[MOST], amplitudes=[1], centres=[[1, 1, 1, 1]], coefficients=rows(source, 1, d))
    difference = [[3 * (i + 1), -3 * (i + 1), 0] for i in range(d)]
    return [("as-is", Front(NONE, d, d)),
            ("never", Front(MATRIX, d, 3, offsets=[0] * d, gains=[1] * d, rows=[[0] * 3] * d)),
            ("sometimes", Front(MATRIX, d, 3, offsets=[0] * d, gains=[7] * d, rows=difference)),
            ("far", Front(KERNELS, d, 4, offsets=[0] * d, **narrow))]


def fronts_of(name, d):
    """The fronts of the golden packs m to p. Modality 0 takes the pack's own features, so that every test can ask it."""
    source = random.Random("fronts " + name)
    return {"m": every_kind, "n": extremes, "o": to_zero}[name](source, d) if name != "p" else \
        [("as-is", Front(NONE, d, d)), ("counts", Front(SIGNS, d, 50, True, seed=seed_bytes("signs alone")))]


def modality_features(source, front, like=None):
    """Patterns of a query, at any scale; `like` chooses what they look like."""
    count, like = front.d_in, source.randrange(4) if like is None else like
    scale = 2.0 ** source.randint(-20, 10)
    if like == 0 and front.centres:
        near = source.choice(front.centres)
        return bits_from_floats([(value * 16 + source.randint(-200, 200)) * scale for value in near])
    if like <= 1:
        values = [source.randint(-30000, 30000) * scale for _ in range(count)]
    elif like == 2:                                                  # a histogram
        values = [max(0, source.randint(-20, 60)) * scale for _ in range(count)]
    else:
        return [source.randrange(1, 0x7F800000) | source.choice((0, SIGN)) for _ in range(count)]
    values[source.randrange(count)] = 40000 * scale
    return bits_from_floats(values)


def special_bits(count):
    """[(name, bits)]: what roots and quantising could get wrong."""
    one, smallest, largest = 0x3F800000, 1, 0x7F7FFFFF
    return [(name, (bits * count)[:count]) for name, bits in (
        ("subnormals", [smallest, 3, 0x7FFFFF, SIGN | 0x400000, SIGN | 9, 77, 0x1000]),
        ("one subnormal", [0, smallest, 0, SIGN, 0, 0, 0, 0, 0]),
        ("subnormals and the smallest normal", [0x00800000, 0x7FFFFF, SIGN | smallest, 0x00400000, 0x3FFFFF]),
        ("subnormals and larger", [0x04000000, 0x7FFFFF, 0x03FFFFFF, 0x00800001, SIGN | 0x01234567, smallest]),
        ("huge", [largest, SIGN | largest, 0x7F000000, 0x7E800000, smallest, 0x77777777]),
        ("negative zeros", [SIGN, 0, one, SIGN, SIGN | one]),
        ("powers of two", [0x3F800000 - (i << 23) for i in range(23)]),
        ("squares", bits_from_floats([float(i * i) for i in (127, 1, 2, 3, 63, 64, 90, 126, 5, 30)])),
        ("half way", bits_from_floats([254.0 ** 2] + [float((2 * i + 1) ** 2) for i in range(0, 126, 13)])))]


def front_cases(packs):
    """[(name, pack index, modality, bits)]."""
    source, cases = random.Random("front cases"), []
    for index, (name, pack) in enumerate(packs):
        for v, (modality, front) in enumerate(pack.fronts):
            chosen = [("%d" % i, modality_features(source, front, i % 4)) for i in range(8)]
            chosen += special_bits(front.d_in) if name[0] == "m" else []
            if name[0] == "m" and front.centres:
                chosen += [("a centre", bits_from_floats([float(value) for value in front.centres[0]])),
                           ("against a centre", bits_from_floats([-2.0 * value for value in front.centres[1]]))]
            if name[0] == "o" and modality == "sometimes":
                chosen += [("equal", bits_from_floats([2.5, 2.5, -1.0])), ("nearly", bits_from_floats([2.5, 2.4, -1.0])),
                           ("only the third", bits_from_floats([0.0, 0.0, 8.0]))]
            cases += [("%s, %s, %s" % (name[0], modality, title), index, v, bits) for title, bits in chosen]
    return cases
