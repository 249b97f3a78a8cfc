"""The inputs of the golden vectors: small packs, feature vectors, answers. Integers from random.Random only."""
import random
import struct
from math import isqrt

from cases_front import fronts_of, modality_features, seed_bytes
from reference import (SLOT_CLASS, SLOT_GROUP, SLOT_ONE, Pack, bits_from_floats, row_of, sketch, write_answer)

SIGMA = {"one": 65536, "1.2": 45511, "1.5": 29127, "6": 1820, "0.25": 1048576}   # round(65536 / sigma^2)

REJECT_SEED = "reject 2040"       # a word of below(65175) is rejected
DRAWS = [                         # response draws: (name of the seed, m, G, epsilon)
    ("draw 0", 2, 1, 1.0), ("draw 1", 2, 40, 0.5), ("draw 2", 3, 7, 2.0), ("draw 3", 16, 10, 4.0),
    ("draw 4", 100, 30, 1.0), ("draw 5", 4096, 20, 8.0), ("draw 6", 65536, 16, 16.0), ("draw 7", 5, 200, 0.1),
    (REJECT_SEED, 65175, 16, 8.0),
]


def random_row(source, d):
    """An int8 row with one entry of full size."""
    row = [source.randint(-127, 127) for _ in range(d)]
    row[source.randrange(d)] = source.choice((-127, 127))
    return row


def near(source, row, spread):
    """A row near `row`, clamped to int8."""
    moved = [min(max(value + source.randint(-spread, spread), -127), 127) for value in row]
    return moved if any(moved) else row


def clusters(source, d, count_per_slot, spread=40):
    """Rows around one centre per slot, ordered by slot, and the starts."""
    rows, starts = [], [0]
    for count in count_per_slot:
        centre = random_row(source, d)
        rows += [near(source, centre, spread) for _ in range(count)]
        starts.append(len(rows))
    return rows, starts


def codes(source, count, k, size):
    return [[source.randint(-size, size) for _ in range(k)] for _ in range(count)]


def on_sphere(source, pole, radius, spread):
    """A code of about this radius near a pole."""
    direction = [1000 * value + source.randint(-spread, spread) for value in pole]
    length = isqrt(sum(value * value for value in direction))
    return [value * radius // length for value in direction]


def sphere_part(source, d, counts, k, radius, neighbours, bandwidth, alpha):
    """Codes near two opposite poles: rows then reach the ball's whole diameter. Slots lie on the line between the poles."""
    pole = [source.randint(-9, 9) for _ in range(k)]
    fields = gaussian_part(source, d, counts, k, 1, neighbours, bandwidth, alpha)
    fields["anchor_codes"] = [on_sphere(source, [-value if i % 2 else value for value in pole], radius, 900)
                              for i in range(sum(counts))]
    fields["slot_codes"] = [[value * (slot + 1) * 300 for value in pole] for slot in range(len(counts))]
    return fields


def class_table(labels):
    return [(label, slot) for slot, label in enumerate(labels)]


def gaussian_part(source, d, counts, k, size, neighbours, bandwidth, alpha=0, spread=40):
    rows, starts = clusters(source, d, counts, spread)
    return dict(anchors=rows, starts=starts, neighbours=neighbours, bandwidth=bandwidth, alpha=alpha,
                anchor_codes=codes(source, len(rows), k, size), slot_codes=codes(source, len(counts), k, size))


def response_part(source, d, G, m, k=0, size=0, spread=60, per_cell=1):
    """Prototypes, per_cell times as many as cells: the first m of a slot in a cell each, the others in any."""
    first, _ = clusters(source, d, [m] * G, spread)
    more, rows, cells = random.Random("more prototypes %d %d" % (d, m)), [], []
    for slot in range(G):
        rows += first[slot * m:(slot + 1) * m]
        rows += [near(more, more.choice(first), spread) for _ in range(m * (per_cell - 1))]
        cells += list(range(m)) + [more.randrange(m) for _ in range(m * (per_cell - 1))]
    return dict(m=m, prototypes=rows, cells=cells,
                **({"cell_codes": codes(source, G * m, k, size)} if k else {}))


def sketching(name, length, d):
    """A projection: mostly random rows, one of them zero, one of extreme values."""
    source = random.Random("sketch " + name)
    rows = [random_row(source, d) for _ in range(length)]
    rows[1], rows[2] = [0] * d, [source.choice((-127, 127)) for _ in range(d)]
    return dict(sketch=rows)


def tied_fields(source):
    """Identical anchors, identical codes, proportional anchors, identical prototypes, a floor weight of 1."""
    base = [random_row(source, 10) for _ in range(3)]
    small = [12, -5, 0, 3, 7, -9, 1, 0, -2, 4]
    anchors = [base[0]] * 3 + [base[1]] * 2 + [small, base[0]] + [base[1]] * 2 + [base[2]] * 3 \
        + [[2 * value for value in small], base[0]]
    code = [[1000, -2000], [1000, -2000], [-500, 700]]
    return dict(kind=SLOT_CLASS, d=10, classes=class_table([5, 6]), anchors=anchors, starts=[0, 7, 14],
                neighbours=4, bandwidth=SIGMA["0.25"], anchor_codes=[code[i % 3] for i in range(14)],
                slot_codes=[[300, 300], [300, 300]], prototypes=[base[1], base[0], base[0], base[2], base[2], small],
                m=3, cells=[0, 1, 2, 0, 1, 2], cell_codes=[[1, -1], [0, 0], [7, 8], [-32767, 32767], [32767, 32767], [-5, -6]],
                **sketching("h", 8, 10))


def packs_with_fronts():
    """Of version 0.3."""
    source = random.Random("packs of version 0.3")
    packs = [
        ("m: eight modalities, every kind of front", dict(
            kind=SLOT_CLASS, d=13, classes=class_table([-1, 4]), fronts=fronts_of("m", 13),
            **gaussian_part(source, 13, [6, 5], 2, 8000, 3, SIGMA["1.2"], 100),
            **response_part(source, 13, 2, 5, 2, 8000, per_cell=2), **sketching("m", 16, 13), model="several models")),
        ("n: fronts of extremes", dict(
            kind=SLOT_ONE, d=5, fronts=fronts_of("n", 5), **response_part(source, 5, 1, 7))),
        ("o: fronts that map to zero", dict(
            kind=SLOT_ONE, d=4, fronts=fronts_of("o", 4), **response_part(source, 4, 1, 4), **sketching("o", 8, 4))),
        ("p: signs alone, whose fronts have no bodies", dict(
            kind=SLOT_ONE, d=24, fronts=fronts_of("p", 24), **response_part(source, 24, 1, 16))),
    ]
    # Of a row of zeros the first prototype would be the nearest: it must not be that of the public row too.
    packs[2][1]["prototypes"][0] = [-127, 9, -50, 41]
    return packs


def make_packs():
    """[(name, Pack)]; those with fronts are the last."""
    source = random.Random("packs")
    packs = [
        ("a: one slot", dict(
            kind=SLOT_ONE, d=8, **gaussian_part(source, 8, [12], 2, 4000, 3, SIGMA["one"]),
            **response_part(source, 8, 1, 4), **sketching("a", 8, 8))),
        ("b: class slots, all sections", dict(
            kind=SLOT_CLASS, d=13, classes=class_table([-7, 0, 3, 1000000]),
            **gaussian_part(source, 13, [6, 3, 8, 5], 2, 12000, 5, SIGMA["1.2"], round(0.6 * 256)),
            **response_part(source, 13, 4, 6, 2, 12000, per_cell=3), **sketching("b", 16, 13), with_lists=True)),
        ("c: group slots, three coordinates", dict(
            kind=SLOT_GROUP, d=9, classes=[(-100, 2), (-1, 0), (4, 1), (5, 0), (6, 2), (70000, 1)],
            **gaussian_part(source, 9, [5, 7, 4], 3, 6000, 4, SIGMA["1.5"], 64),
            **response_part(source, 9, 3, 5, 3, 6000), **sketching("c", 24, 9))),
        ("d: response only, no codes", dict(
            kind=SLOT_CLASS, d=12, classes=class_table(range(10, 110, 10)), **response_part(source, 12, 10, 8, per_cell=2),
            **sketching("d", 32, 12))),
        ("e: response only, with codes", dict(
            kind=SLOT_CLASS, d=10, classes=class_table([1, 2, 3]), slot_codes=codes(source, 3, 2, 9001),
            **response_part(source, 10, 3, 4, 2, 9000), **sketching("e", 16, 10))),
        ("f: gaussian only, one coordinate", dict(
            kind=SLOT_CLASS, d=11, classes=class_table([-2147483648, 2147483647]),
            **gaussian_part(source, 11, [7, 6], 1, 300, 1, SIGMA["one"]), with_lists=True)),
        ("g: wide bandwidth", dict(
            kind=SLOT_CLASS, d=24, classes=class_table([-3, 8, 9]),
            **gaussian_part(source, 24, [13, 17, 10], 2, 32767, 10, SIGMA["6"], 256, 127),
            **response_part(source, 24, 3, 2, 2, 32767), **sketching("g", 256, 24))),
        ("h: small bandwidth, ties", tied_fields(source)),
        ("i: smallest bandwidth, sixteen coordinates, every anchor a neighbour", dict(
            kind=SLOT_ONE, d=8, **gaussian_part(source, 8, [12], 16, 900, 12, (1 << 32) - 1, 0, 2))),
        ("j: widest bandwidth, greatest alpha", dict(
            kind=SLOT_GROUP, d=8, classes=[(-2, 1), (-1, 0), (0, 1)],
            **gaussian_part(source, 8, [6, 7], 2, 32767, 3, 1, 1024, 127))),
    ]
    source = random.Random("packs, more")
    packs.append(("k: response only, for a microcontroller", dict(
        kind=SLOT_CLASS, d=64, classes=class_table(range(10)), **response_part(source, 64, 10, 4),
        **sketching("k", 32, 64))))
    source = random.Random("packs of version 0.2")
    packs.append(("l: names its model", dict(
        kind=SLOT_ONE, d=7, slot_codes=codes(source, 1, 2, 5000), **response_part(source, 7, 1, 6, 2, 5000),
        **sketching("l", 8, 7), model="caf\u00e9-net v2, 224\u00d7224, mean 0.5 \U0001f4f7 " + "x" * 26)))
    source = random.Random("packs whose sensitivity is that of a ball")
    packs.append(("q: codes on a sphere, eight coordinates", dict(
        kind=SLOT_CLASS, d=10, classes=class_table([2, 30, 400]),
        **sphere_part(source, 10, [8, 6, 9], 8, 24000, 3, SIGMA["1.5"], 40))))
    packs += packs_with_fronts()
    packs[6][1]["anchor_codes"][:3] = [[32767, -32767], [-32767, 32767], [32767, 32767]]
    return [(name, Pack(fields)) for name, fields in packs]


def features(source, pack, label=None, modality=0):
    """Patterns of a feature vector, near a row of the label's slot when there is no front, at a random scale."""
    if pack.fronts:
        bits = None
        while bits is None or pack.fronts[modality][1].map(bits) is None:
            bits = modality_features(source, pack.fronts[modality][1])
        return bits
    slot = 0 if label is None else pack.slot_of(label)
    if pack.anchors:
        row = pack.anchors[source.randrange(pack.starts[slot], pack.starts[slot + 1])]
    else:
        row = pack.prototypes[slot * pack.M + source.randrange(pack.M)]
    scale = 2.0 ** source.randint(-20, 10)
    return bits_from_floats([(value * 1024 + source.randint(-30000, 30000)) * scale for value in row])


def release_cases(packs):
    """[(name, pack index, mechanism, epsilon, delta, value bytes, label, seed, bits, modality)]."""
    source, cases = random.Random("releases"), []
    epsilons = {1: (0.5, 1.0, 2.0, 4.0, 8.0, 16.0), 2: (1.0, 2.0, 4.0, 8.0, 16.0, 0.5)}
    for index, (name, pack) in enumerate(packs):
        labels = [label for label, _ in pack.classes] or [0]
        for mechanism, usable in ((1, pack.prototypes), (2, pack.anchors)):
            if not usable:
                continue
            modalities = [v for v, (modality, _) in enumerate(pack.fronts) if modality not in ("never", "far")] or [0]
            count = max(6 if index == 1 else 4, len(modalities))
            chosen = [(epsilons[mechanism][(i + 2 * index) % 6], labels[i % len(labels)]) for i in range(count)]
            if index in (0, 1, 3):
                chosen.append((0.1, labels[-1]))
            for i, (epsilon, label) in enumerate(chosen):
                delta, width = (0.0, 0) if mechanism == 1 else ((1e-5, 1e-6)[i // 2 % 2], 1 + i % 2)
                if index == 1 and epsilon == 0.1 and mechanism == 2:
                    width = 2                                     # two bytes that need e > 0
                title = "%s %s %d" % (name[0], ("response", "gaussian")[mechanism - 1], i)
                modality = modalities[i % len(modalities)]
                cases.append((title, index, mechanism, epsilon, delta, width, label, seed_bytes(title),
                              features(source, pack, label, modality), modality))
    return cases


def update_cases(packs):
    """[(pack index, bits, label)], of packs without fronts: near an anchor, an anchor itself, opposite to an anchor, anything."""
    source, cases = random.Random("updates"), []
    for index, (_, pack) in enumerate(packs):
        if not pack.anchors or pack.fronts:
            continue
        labels = [label for label, _ in pack.classes] or [0]
        anchor = source.choice(pack.anchors)
        chosen = [features(source, pack, labels[0]), bits_from_floats([float(value) for value in anchor]),
                  bits_from_floats([-0.5 * value for value in anchor]),
                  bits_from_floats([float(value) for value in random_row(source, pack.d)])]
        cases += [(index, bits, labels[i % len(labels)]) for i, bits in enumerate(chosen)]
    return cases


def quantise_cases():
    """[(name, bits)]: ordinary, subnormal, huge, ties at one half, single, negative zero."""
    source = random.Random("quantise")
    smallest, largest = 0x00000001, 0x7F7FFFFF
    sign = 0x80000000
    return [
        ("one feature", bits_from_floats([-3.25])),
        ("one subnormal feature", [smallest]),
        ("single nonzero", [0, sign, 0, bits_from_floats([1e-3])[0], 0]),
        ("negative largest", bits_from_floats([-8.0, 4.0, 2.0, 1.0, 0.0625, 0.03125])),
        ("ties, largest 254", bits_from_floats([float(i) for i in range(-254, 255)])),
        ("ties scaled down into subnormals", [i | (sign if i % 3 == 0 else 0) for i in range(255)]),
        ("one off the ties", bits_from_floats([127.0, 0.5, 1.5, 63.5, 126.5]) + [0x3EFFFFFF, 0x3F000001,
                                                                                 0x42FCFFFF, 0x42FD0001]),
        ("subnormals against each other", [smallest, 2, 3, 0x7FFFFF, 0x400000, sign | 0x200000, 0x3FFFFF]),
        ("subnormals against normals", [0x00800000, 0x7FFFFF, smallest, sign | 0x00810000, sign | 0x7FFFFF]),
        ("huge", [largest, sign | largest, largest - 1, 0x7F000000, 0x7E800000, 0x3F800000, smallest]),
        ("huge and subnormal", [sign | largest, smallest, 0x7FFFFF, sign]),
        ("all equal", [0x3DCCCCCD] * 16),
        ("any patterns", [source.randrange(0x3D000000, 0x42000000) | source.choice((0, sign)) for _ in range(64)]),
        ("any exponents", [source.randrange(1, 0x7F800000) | source.choice((0, sign)) for _ in range(32)]),
        ("many features", [source.randrange(0x3C000000, 0x3F800000) | source.choice((0, sign)) for _ in range(300)]),
    ]


def sketch_cases(packs):
    """[(pack index, bits)] for every pack with sketches and without fronts."""
    source = random.Random("sketches")
    cases = []
    for index, (_, pack) in enumerate(packs):
        if pack.L and not pack.fronts:
            label = pack.classes[-1][0] if pack.classes else None
            single = [0] * pack.d
            single[source.randrange(pack.d)] = bits_from_floats([-0.7])[0]
            cases += [(index, features(source, pack, label)), (index, single)]
    return cases


def answer_slots(source, pack, items, counts, labels_of, modality):
    """Random candidates: repeated sketches (equal scores), a zero sketch, repeated items, empty payloads."""
    slots, known = [], []
    for slot, count in enumerate(counts):
        rows = []
        for i in range(count):
            fresh = sketch(pack, row_of(pack, features(source, pack, labels_of(slot), modality), modality))
            row = source.choice(known) if known and i % 3 == 2 else fresh
            row = [0] * pack.L if i == 5 else row
            known.append(row)
            payload = source.randbytes(source.choice((0, 1, 5, 23, 24, 40)))
            rows.append((source.choice(items), labels_of(slot), row, payload))
        slots.append(rows)
    return slots


def answers_of(source, packs, name, index, gallery, counts, limit, modes, items, only=None, modality=0):
    """One answer as several cases. only: the one slot of a crowd's answer."""
    pack = packs[index][1]
    by_slot = [[label for label, slot in pack.classes if slot == wanted] for wanted in range(pack.G)]
    slots = answer_slots(source, pack, items, counts,
                         lambda slot: source.choice(by_slot[slot]) if pack.classes else None, modality)
    slots = [[(item, 0 if label is None else label, row, payload) for item, label, row, payload in rows]
             for rows in slots]
    data, offsets = write_answer(pack, gallery, slots, only)
    return [(name + title, index, slots, offsets, data, features(source, pack, label, modality), label, all_slots, limit,
             modality)
            for title, label, all_slots in modes]


def answer_cases(packs):
    """[(name, pack index, slots, offsets, bytes, bits, label, all slots, limit, modality)]."""
    source = random.Random("answers")
    large = [65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 40) - 1, 7, 8]
    return (answers_of(source, packs, "a, one slot", 0, 30, [14], 5, [("", 0, 0)], range(30))
            + answers_of(source, packs, "b, class slots", 1, 1000, [7, 0, 12, 5], 8,
                         [(", own slot", 3, 0), (", own slot is empty", 0, 0), (", own slot is short", 1000000, 0),
                          (", all slots", -7, 1)], [0, 1, 23, 24, 255, 256, 300, 700, 701, 998, 999])
            + answers_of(source, packs, "c, group slots, large items", 2, 1 << 40, [4, 6, 9], 8,
                         [(", own slot", 6, 0), (", all slots", 5, 1)], large)
            + answers_of(source, packs, "f, no sketches", 5, 9, [4, 5], 5, [(", all slots", 2147483647, 1)], range(9))
            + [case for v in (2, 5, 6) for case in answers_of(
                random.Random("answers of modality %d" % v), packs, "m, modality %d" % v, 13, 40, [9, 6], 6,
                [(", own slot", 4, 0), (", all slots", -1, 1)], range(40), None, v)])


def crowd_answer_cases(packs):
    """The same for answers to one message of a crowd, whose one slot is the query's own or another."""
    source = random.Random("crowd answers")
    return (answers_of(source, packs, "a, crowd", 0, 30, [9], 5, [("", 0, 0)], range(30), 0)
            + answers_of(source, packs, "b, crowd, slot 2", 1, 1000, [0, 0, 12, 0], 8,
                         [(", own slot", 3, 0), (", of another slot", -7, 0), (", all slots", -7, 1)],
                         [0, 1, 23, 24, 255, 256, 300, 700, 701, 998, 999], 2)
            + answers_of(source, packs, "c, crowd, slot 0", 2, 1 << 40, [5, 0, 0], 8, [(", all slots", 6, 1)],
                         [65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 40) - 1, 7, 8], 0)
            + answers_of(source, packs, "b, crowd, empty", 1, 7, [0, 0, 0, 0], 3, [("", 3, 1)], range(7), 3)
            + answers_of(source, packs, "m, crowd, modality 7", 13, 40, [0, 9], 6, [("", 4, 1)], range(40), 1, 7))


def bundle_cases(packs):
    """[(name, pack index, floor, policy, bits, label, kept symbol, modality)]: a query when there are bits, a kept cell when there is
    a symbol, else an idle client."""
    source, cases = random.Random("bundles"), []

    def policy(clusters, copies, own, cover=False):
        return dict(clusters=clusters, copies=copies, own=own, cover=cover)

    chosen = [("query", 0, 8.0, policy(0.5, 8, 1)), ("query", 0, 1.0, policy(4.0, 3, 4)),
              ("query", 1, 8.0, policy(1.25, 20, 1)), ("query", 1, 2.0, policy(3.9, 64, 6)),
              ("query", 7, 4.0, policy(2.0, 1, 3)), ("query", 10, 10.0, policy(0.0, 8, 2)),
              ("query", 3, 0.5, policy(1e-9, 5, 8)), ("query", 3, 16.0, policy(0.7, 2, 8)),
              ("kept", 0, 8.0, policy(1.0, 8, 2)), ("kept", 1, 8.0, policy(2.5, 4, 5)), ("kept", 7, 6.0, policy(0.3, 8, 3)),
              ("idle", 0, 8.0, policy(2.0, 8, 1)), ("idle", 1, 8.0, policy(2.0, 8, 3, True)),
              ("idle", 10, 8.0, policy(0.0, 8, 1)), ("idle", 11, 3.0, policy(1.0, 2, 2, True)),
              ("cover unused", 11, 3.0, policy(1.0, 2, 2, True)), ("query", 13, 8.0, policy(0.5, 4, 2), 4),
              ("query", 13, 4.0, policy(1.0, 2, 1), 7), ("idle", 13, 8.0, policy(1.0, 3, 1, True)),
              ("query", 16, 6.0, policy(1.0, 3, 2), 1)]
    for number, (kind, index, floor, chosen_policy, *rest) in enumerate(chosen):
        modality = rest[0] if rest else 0
        pack = packs[index][1]
        label = source.choice(pack.classes)[0] if pack.classes else 0
        bits, kept = None, None
        if kind in ("query", "cover unused"):
            bits = features(source, pack, label if pack.classes else None, modality)
        if kind == "kept":
            kept = source.randrange(pack.G * pack.m)
        cases.append(("bundle %d, %s" % (number, kind), index, floor, chosen_policy, bits, label, kept, modality))
    return cases


def float_bits_exact(value):
    """The binary32 pattern of an exact rational that binary32 can hold."""
    pattern = bits_from_floats([float(value)])[0]
    assert struct.unpack("<f", struct.pack("<I", pattern))[0] == value
    return pattern
