"""Inputs of the golden vectors of coded sketches: small packs of version 0.5, rows, answers of version 2."""
import random

import cases
from cases_front import fronts_of
from cases_head import some_head, tied_head
from reference import SLOT_CLASS, SLOT_GROUP, SLOT_ONE, Pack, bits_from_floats, sketch
from reference_lists import candidate_bytes, write_answer_2, write_header, write_list
from reference_sketch import DEPTHS, SketchCode

LAST = (1 << 64) - 1
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1


def some_levels(source, counts):
    """Levels that ascend but for repeated ones, with those of the largest size among them."""
    return {bits: sorted([-127, 127] + [source.randint(-127, 127) for _ in range((1 << bits) - 2)])
            for bits in DEPTHS if counts.get(bits)}


def some_code(name, d, counts, middle=1500, width=4000, **other):
    """Directions are any rows; middles are within ±middle, widths up to `width`."""
    source = random.Random("code " + name)
    P = 8 * sum(counts.values())
    fields = dict(levels=some_levels(source, counts), directions=[cases.random_row(source, d) for _ in range(P)],
                  middles=[source.randint(-middle, middle) for _ in range(P)],
                  widths=[source.randint(width // 3, width) for _ in range(P)])
    return SketchCode(counts, **dict(fields, **other))


def squares_at_their_limit():
    """Eight sizes that add up to 2^32 - 1 in squares; four of them are as large as a size may be."""
    sizes = [32767] * 4
    rest = (1 << 32) - 1 - sum(size * size for size in sizes)
    for a, b, c, d in ((a, b, c, d) for a in range(511, 0, -1) for b in range(40) for c in range(b + 1) for d in range(c + 1)):
        if a * a + b * b + c * c + d * d == rest:
            return sizes + [a, b, c, d]
    raise AssertionError


def split(sizes):
    """Middles and widths of these sizes, of all kinds: middle alone, width alone, both."""
    middles = [(size, -size, 0, size // 2, -(size // 3), 1 - size)[i % 6] for i, size in enumerate(sizes)]
    return middles, [size - abs(middle) for size, middle in zip(sizes, middles)]


def extreme_codes():
    """[(name, d, code)]: what the bounds of SPEC 1 and 5.13 are about."""
    source = random.Random("extreme codes")
    middles, widths = split(squares_at_their_limit())
    full = [[source.choice((-127, 127)) for _ in range(4)] for _ in range(8)]
    sizes = [7281] * 17 + [7282] * 55
    assert sum(sizes) == (1 << 19) - 1
    sums = split(sizes)
    same = [[64, 0, 0, 0] if i % 2 == 0 else [-1, 0, 0, 0] for i in range(8)]
    flat = [0] * 16
    return [
        ("h: sizes as large as may be, squares at their limit", 4,
         some_code("h", 4, {7: 1}, directions=full, middles=middles, widths=widths)),
        ("i: sizes whose sum is at its limit", 3, some_code("i", 3, {2: 3, 1: 6}, middles=sums[0], widths=sums[1])),
        ("j: parallel directions, scores beyond their limit", 4,
         some_code("j", 4, {2: 1}, directions=same, levels={2: [-127, -127, 127, 127]}, middles=[0] * 8, widths=[8000] * 8)),
        ("k: widths of 0, half of them with middles", 6,
         some_code("k", 6, {3: 1, 1: 1}, middles=[0] * 8 + [700 * i - 2000 for i in range(8)], widths=flat)),
        ("l: every value is 0", 6, some_code("l", 6, {1: 2}, middles=flat, widths=flat)),
        ("m: one feature, levels of one sign", 1,
         some_code("m", 1, {3: 1, 2: 1}, levels={3: [-127] * 7 + [-1], 2: [0, 0, 0, 127]})),
        ("n: longest sketches", 2, some_code("n", 2, {7: 36, 4: 1}, 50, 1500)),
    ]


def packs_for_any_build():
    source = random.Random("packs of version 0.5")
    packs = [("%s: depth %d" % ("abcdefg"[bits - 1], bits), dict(
        kind=SLOT_ONE, d=d, code=some_code("depth %d" % bits, d, {bits: 1}), **cases.response_part(source, d, 1, 3)))
        for bits, d in zip(DEPTHS, (5, 8, 3, 11, 13, 7, 9))]
    packs += [(name, dict(kind=SLOT_ONE, d=d, code=code, **cases.response_part(source, d, 1, 2)))
              for name, d, code in extreme_codes()]
    return packs + [
        ("o: class slots, every depth, all other sections", dict(
            kind=SLOT_CLASS, d=13, classes=cases.class_table([-7, 0, 3]),
            **cases.gaussian_part(source, 13, [6, 3, 8], 2, 12000, 4, cases.SIGMA["1.2"], 150),
            **cases.response_part(source, 13, 3, 5, 2, 12000, per_cell=2), with_lists=True, model="codes, \u03bc and \u03c3",
            code=some_code("o", 13, {bits: 1 for bits in DEPTHS}))),
        ("p: group slots, some hundred directions", dict(
            kind=SLOT_GROUP, d=5, classes=[(LOWEST, 1), (-1, 0), (0, 1), (HIGHEST, 2)],
            **cases.response_part(source, 5, 3, 4), code=some_code("p", 5, {7: 1, 4: 3, 2: 6, 1: 28}, 200, 1300))),
        ("q: response only, for a microcontroller", dict(
            kind=SLOT_CLASS, d=64, classes=cases.class_table(range(4)), **cases.response_part(source, 64, 4, 2),
            code=some_code("q", 64, {5: 1, 3: 1, 2: 1}))),
    ]


def make_packs():
    """[(name, Pack, what a build must have: 0 nothing, 1 fronts, 2 heads)]; those that need more are the last."""
    source = random.Random("packs of version 0.5, with more")
    packs = [(name, fields, 0) for name, fields in packs_for_any_build()] + [
        ("r: behind eight modalities", dict(
            kind=SLOT_CLASS, d=13, classes=cases.class_table([-1, 4]), fronts=fronts_of("m", 13),
            **cases.response_part(source, 13, 2, 4), code=some_code("r", 13, {6: 1, 1: 2})), 1),
        ("s: with a head", dict(
            kind=SLOT_ONE, d=11, head=tied_head(source, 11), **cases.response_part(source, 11, 1, 5),
            code=some_code("s", 11, {4: 2})), 2),
        ("t: fronts that map to zero, and a head", dict(
            kind=SLOT_ONE, d=4, fronts=fronts_of("o", 4), head=some_head(source, 4, [-3, 7]),
            **cases.response_part(source, 4, 1, 3), code=some_code("t", 4, {2: 1, 1: 1})), 2)]
    return [(name, Pack(fields), needs) for name, fields, needs in packs]


def rows_of(source, pack):
    """Rows that a sketch is made of: any, a direction, against one, a single feature, and one between two values."""
    code, single = pack.code, [0] * pack.d
    single[source.randrange(pack.d)] = source.choice((-127, 127))
    direction = source.choice(code.directions)
    largest = max(map(abs, direction))
    scaled = [value * 127 // largest for value in direction]
    return [cases.random_row(source, pack.d), scaled, [-value for value in scaled], single]


def sketch_cases(packs):
    """[(pack index, row)]."""
    source = random.Random("coded sketches")
    return [(index, row) for index, (_, pack, _) in enumerate(packs) for row in rows_of(source, pack)]


# Answers -------------------------------------------------------------------------------------------------------

def some_sketch(source, pack, known, i):
    """Of a row, any bytes, all bits the same, or one that was there before (equal scores)."""
    if known and i % 4 == 3:
        return source.choice(known)
    many = pack.code.P > 8 * pack.d        # a row's own sketch then has a score beyond the limit: any bytes tell more
    made = (sketch(pack, cases.random_row(source, pack.d)), list(source.randbytes(pack.L)), [0] * pack.L,
            [255] * pack.L)[((0, 1, 0, 0, 2, 1, 3), (1, 1, 1, 0, 1, 2, 1))[many][i % 7]]
    known.append(made)
    return made


def lists_of(source, pack, wanted):
    """wanted: per slot [(item, label, bytes of payload)]."""
    known, number, slots = [], iter(range(10 ** 6)), []
    for candidates in wanted:
        slots.append([(item, label, some_sketch(source, pack, known, next(number)), source.randbytes(size))
                      for item, label, size in sorted(candidates)])
    return slots


class Answers:
    """Collects cases: (name, pack index, slots, offsets, bytes, bits, label, all slots, limit, modality)."""

    def __init__(self, packs):
        self.packs, self.cases = packs, []
        self.by_name = {name[0]: index for index, (name, _, _) in enumerate(packs)}

    def add(self, name, gallery, wanted, modes, limit=8, only=None, modality=0, forms=None, query=None):
        """modes: [(label, all slots)]. forms: per slot (form, class), when not those of a writer. query: else any."""
        index, source = self.by_name[name[0]], random.Random("answer " + name)
        pack = self.packs[index][1]
        slots = lists_of(source, pack, wanted)
        data, offsets = write_answer_2(pack, gallery, slots, only) if forms is None else \
            self.in_forms(pack, gallery, slots, forms)
        for number, (label, all_slots) in enumerate(modes):
            bits = bits_from_floats(query) if query else \
                cases.features(source, pack, label if pack.classes else None, modality)
            self.cases.append(("%s, %d" % (name, number), index, slots, offsets, data, bits, label, all_slots, limit,
                               modality))

    @staticmethod
    def in_forms(pack, gallery, slots, forms):
        answer, offsets = write_header(pack, pack.G, gallery), []
        for slot, (candidates, (form, base)) in enumerate(zip(slots, forms)):
            data, places = candidate_bytes(pack, candidates, form, base)
            answer += write_list(slot, len(candidates), form, base, data)
            offsets.append([len(answer) - len(data) + place for place in places])
        return answer, offsets


def spaced(*gaps):
    """Items whose differences, less 1, are these."""
    item, items = -1, []
    for gap in gaps:
        item += gap + 1
        items.append(item)
    return items


def answer_cases(packs):
    answers = Answers(packs)
    one = [(0, 1)]
    for name in "abcdefghijklmn":
        answers.add(name + ", one class, no payloads", 100, [[(3 * i, 5, 0) for i in range(12)]], one)
    borders = spaced(0, 127, 128, 16383, 16384, (1 << 21) - 1, 1 << 21, (1 << 63) - 1)
    answers.add("a, borders of the numbers", (1 << 63) - 1, [[(item, 5, 0) for item in borders + [LAST - 1, LAST]]], one)
    answers.add("a, the last item alone", 1, [[(LAST, LOWEST, 0)]], one)
    answers.add("a, the first and the last", 2, [[(0, HIGHEST, 0), (LAST, HIGHEST, 0)]], one, 1)
    answers.add("b, classes from end to end", 40, [[(i, label, 0) for i, label in enumerate(
        (LOWEST, HIGHEST, -1, 0, 127, -129, LOWEST + 127, LOWEST + 128, LOWEST + 16384, 7))]], one)
    answers.add("c, payloads", 40, [[(i * i, -9, size) for i, size in enumerate((0, 1, 127, 128, 0, 200, 23, 24))]], one)
    answers.add("d, classes and payloads", 40, [[(i + 300, i % 3 - 1, i % 4) for i in range(9)]], one)
    for sign in (1.0, -1.0):
        answers.add("j, along all directions, %+d" % sign, 9, [[(i, 0, 0) for i in range(12)]], one, 8, None, 0, None,
                    [sign, 0.0, 0.0, 0.0])
    answers.add("e, empty", 1, [[]], one)
    answers.add("f, more form than need be", 9, [[(i, 4, 0) for i in range(5)]], one, 8, None, 0, [(3, 1)])
    answers.add("g, an empty list of a class", 9, [[]], one, 8, None, 0, [(3, LOWEST)])
    answers.add("o, equal items in two slots", 1000, [
        [(i, -7, i % 3) for i in (0, 23, 24, 255, 700)], [(i, 0, 0) for i in (1, 23, 24, 256, 700, 701)],
        [(i, 3, 40) for i in (0, 24, 998, 999)]], [(-7, 0), (0, 1), (3, 0)])
    answers.add("o, own slot is empty", 50, [[(1, -7, 1)], [], [(2, 3, 0), (3, 2, 0)]], [(0, 0), (0, 1)])
    answers.add("p, classes of groups", 1 << 40, [
        [(i, -1, 0) for i in range(4)], [((1 << 32) + i, (LOWEST, 0)[i % 2], 5 * i) for i in range(5)],
        [(LAST - i, HIGHEST, 0) for i in range(3)]], [(-1, 0), (LOWEST, 0), (HIGHEST, 1)], 6)
    answers.add("q, four slots", 77, [[(i * (slot + 1), slot, 0) for i in range(5)] for slot in range(4)], [(2, 0), (1, 1)])
    for modality in (0, 2, 5, 7):
        answers.add("r, modality %d" % modality, 40, [[(i, -1, 1) for i in range(7)], [(i, 4, 0) for i in range(3, 8)]],
                    [(4, 0), (-1, 1)], 6, None, modality)
    answers.add("s, behind a head", 30, [[(i, i % 2, 0) for i in range(9)]], one)
    answers.add("t, behind fronts and a head", 30, [[(i, 0, 2) for i in range(6)]], one, 8, None, 2)
    return answers.cases


def crowd_answer_cases(packs):
    """Answers to one message of a crowd: their one list is of the query's own slot or of another."""
    answers = Answers(packs)
    answers.add("a, crowd", 30, [[(i, 0, 0) for i in range(6)]], [(0, 1)], 8, 0)
    answers.add("o, crowd, slot 2", 1000, [[], [], [(7 * i, 3, i) for i in range(9)]], [(3, 0), (-7, 0), (-7, 1)], 8, 2)
    answers.add("o, crowd, slot 0, empty", 7, [[], [], []], [(-7, 0)], 3, 0)
    answers.add("p, crowd, slot 1", 1 << 40, [[], [(LAST - 2 * i, (LOWEST, 0)[i % 2], 0) for i in range(5)], []],
                [(-1, 1), (0, 0)], 8, 1)
    answers.add("r, crowd, modality 6", 40, [[], [(i, 4, 3) for i in range(5)]], [(4, 1)], 6, 1, 6)
    return answers.cases
