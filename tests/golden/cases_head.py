"""Inputs of the golden vectors of heads and looks: small packs of version 0.4, queries, looks."""
import random

import cases
from cases_front import fronts_of, modality_features, rows
from reference import SLOT_CLASS, SLOT_ONE, Front, NONE, Pack, bits_from_floats
from reference_head import Head


def some_head(source, d, labels, size=1 << 38):
    H = len(labels)
    return Head(d, labels, [source.randint(-size, size) for _ in range(H)], [source.randint(1, 32) for _ in range(H)],
                rows(source, H, d))


def tied_head(source, d):
    """Rows that are equal, in twos and threes, and labels from one end of int32 to the other."""
    base = rows(source, 3, d)
    order = [0, 1, 1, 2, 0, 2, 1, 0, 2]
    labels = [-2147483648, -70000, -1, 0, 1, 2, 255, 65536, 2147483647]
    return Head(d, labels, [(0, 5, -9)[i] for i in order], [(3, 4, 5)[i] for i in order], [base[i] for i in order])


def extreme_head(source, d):
    full = [[source.choice((-127, 127)) for _ in range(d)] for _ in range(6)]
    return Head(d, list(range(6)), [(-1) ** i << 50 for i in range(6)], [32] * 6, full)


def make_head_packs():
    source = random.Random("packs of version 0.4")
    labels = sorted(source.sample(range(-500, 500), 70))
    return [(name, Pack(fields)) for name, fields in (
        ("q: a head of nine labels, some tied", dict(
            kind=SLOT_ONE, d=11, head=tied_head(source, 11), **cases.response_part(source, 11, 1, 5),
            **cases.sketching("q", 8, 11), model="a model with a head")),
        ("r: a head of 70 labels behind eight modalities", dict(
            kind=SLOT_CLASS, d=13, classes=cases.class_table([-1, 4]), fronts=fronts_of("m", 13),
            head=some_head(source, 13, labels), **cases.response_part(source, 13, 2, 4), **cases.sketching("r", 8, 13))),
        ("s: a head of extremes", dict(
            kind=SLOT_ONE, d=37, head=extreme_head(source, 37), **cases.response_part(source, 37, 1, 3))),
        ("t: one label, and a front that maps to zero", dict(
            kind=SLOT_ONE, d=4, fronts=fronts_of("o", 4), head=some_head(source, 4, [7]),
            **cases.response_part(source, 4, 1, 2))))]


def guess_cases(packs):
    """[(name, pack, modality, bits)]; queries that a front maps to zero are not among them."""
    source, chosen = random.Random("guesses"), []
    for index, (name, pack) in enumerate(packs):
        fronts = [front for _, front in pack.fronts] or [Front(NONE, pack.d, pack.d)]
        for modality, front in enumerate(fronts):
            for number in range(4):
                bits = modality_features(source, front, number)
                if front.map(bits):
                    chosen.append(("%s, modality %d, %d" % (name[0], modality, number), index, modality, bits))
    return chosen


def look_cases():
    """[(name, features per look, times, looks)]: features begin anew where a look's patterns end, looks are added so often."""
    source = random.Random("looks")

    def look(count, scale=1.0):
        return bits_from_floats([source.randint(-30000, 30000) * scale for _ in range(count - 1)] + [31000 * scale])

    opposite = look(20)
    nearly = opposite[:-1] + bits_from_floats([30000.0])
    aligned = [0x3F800000] + [0] * 6
    against = [0xBF800000] + [0] * 6
    return [("one", 16, 1, [look(16)]), ("two of other scales", 31, 1, [look(31, 2.0 ** -100), look(31, 2.0 ** 90)]),
            ("nine", 64, 1, [look(64) for _ in range(9)]),
            ("one feature", 1, 1, [bits_from_floats([v]) for v in (2.5, -1.0, 7.0)]),
            ("opposite but for one feature", 20, 1, [opposite, [pattern ^ 0x80000000 for pattern in nearly]]),
            ("no mean", 7, 3, [aligned, against]), ("as large as sums get", 7, 512, [aligned]),
            ("the other direction", 7, 512, [against]),
            ("sums that no float has", 40, 51, [look(40) for _ in range(10)]),
            ("subnormals", 4, 1, [[1, 3, 0x7FFFFF, 0x80400000], [0x80000009, 77, 0x1000, 0]]),
            ("4096 features", 4096, 2, [look(33)]), ("4097 features", 4097, 2, [look(33), look(33)]),
            ("very many features, all large", 1000000, 1, [bits_from_floats([1.0, -1.0, 0.75])])]
