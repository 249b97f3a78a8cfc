"""The embedding of the server against the reference of SPEC 6.1 to 6.4: test_embedding.py path/to/place_rows

Needs numpy. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import cases  # noqa: E402
from reference import SLOT_CLASS, SLOT_GROUP, SLOT_ONE, Pack  # noqa: E402
from reference_server import Frames, ServerPack  # noqa: E402

ITEMS = 130           # two tiles of the server's and a bit
EXACT = 1e-11         # relative to the size of the anchors' rows; doubles are added up in another order
FLOAT = 2.0 ** -24    # places of items are binary32
SHRINKING = "i: "     # twelve points in sixteen dimensions that shrink at every step: what they span is known less and less


def drawn_packs():
    """Shapes that the golden packs do not have."""
    source = random.Random("packs of the embedding")

    def part(*arguments, **more):
        return cases.gaussian_part(source, 12, *arguments, **more)
    group = [(label, label % 3) for label in range(9)]
    yield "class slots, label graph", dict(
        kind=SLOT_CLASS, classes=cases.class_table(range(5)), **part([30] * 5, 2, 9000, 10, 45511, 179))
    yield "one slot, three dimensions", dict(kind=SLOT_ONE, **part([120], 3, 9000, 10, 65536))
    yield "groups, five dimensions", dict(
        kind=SLOT_GROUP, classes=group, **part([31, 29, 30], 5, 9000, 10, 65536, 77), with_lists=True)
    yield "all others are neighbours", dict(
        kind=SLOT_CLASS, classes=cases.class_table(range(3)), **part([11, 9, 10], 2, 9000, 29, 16384, 256))
    yield "fewer rows per slot than neighbours", dict(
        kind=SLOT_CLASS, classes=cases.class_table(range(20)), **part([2] * 20, 2, 9000, 10, 65536, 128))
    for count in (1, 2, 3):
        yield "%d equal anchors" % count, equal_anchors(count, count, 100)
    yield "one anchor apart", equal_anchors(7, 2, 900)


def equal_anchors(count, neighbours, last):
    """All start from one row but the last: the median of their distances is 0, and the last one gives the bandwidth."""
    return dict(kind=SLOT_ONE, d=2, anchors=[[127, 3]] * count, starts=[0, count], neighbours=neighbours, bandwidth=65536,
                anchor_codes=[[100, 200]] * (count - 1) + [[last, 200]], slot_codes=[[1000, 0]])


def all_cases():
    """(name, bytes of the pack, iterations, tolerance); maybe also the released rows"""
    for name, pack in cases.make_packs():
        for iterations in (0, 1, 5, 22):      # after 22 two of them are best aligned by a reflection
            shrinks = name.startswith(SHRINKING)
            if pack.anchors and not (shrinks and iterations == 22):
                yield name, pack.bytes, iterations, 1e-6 if shrinks else EXACT
    for name, fields in drawn_packs():
        for iterations in (0, 3, 6):
            yield name, Pack({"d": 12, **fields}).bytes, iterations, EXACT
    # between the anchors, where the bandwidth decides how much each of the two nearest counts
    yield "one anchor apart", Pack(equal_anchors(7, 2, 900)).bytes, 4, EXACT, [[600, 200]]


class Case:
    def __init__(self, name, data, iterations, within, released=None):
        self.name, self.data, self.within = "%s, %d iterations" % (name, iterations), data, within
        self.pack, self.iterations = ServerPack(data), iterations
        source = np.random.default_rng(len(data) + iterations)
        self.rows = source.integers(-127, 128, (ITEMS, self.pack.d))
        self.rows[:, 0] = 127
        self.rows[::4] = self.pack.anchors[np.arange(0, ITEMS, 4) % self.pack.n]     # anchors themselves among them
        self.slots = source.integers(0, self.pack.G, ITEMS)
        shape = self.pack.G, self.pack.k
        self.released = source.integers(-40000, 40001, shape).astype("f4")
        if iterations % 2:      # among the anchors, where distances matter
            spread = np.abs(self.pack.anchor_codes).max() // 2
            near = self.pack.anchor_codes[source.integers(0, self.pack.n, self.pack.G)]
            self.released = (near + source.integers(-spread, spread + 1, shape)).astype("f4")
        if released:
            self.released = np.array(released, "f4")

    def request(self):
        return b"".join((struct.pack("=III", len(self.data), self.iterations, ITEMS), self.data,
                         self.rows.astype("i1").tobytes(), self.slots.astype("=u4").tobytes(),
                         self.released.astype("=f4").tobytes()))

    def reply_sizes(self):
        return ITEMS * self.pack.k * 4, self.pack.G * self.pack.k * 8

    def faults(self, items, placed):
        """What differs by more than the tolerance."""
        frames = Frames(self.pack, self.iterations)
        size = max(np.abs(rows).max() for rows in frames.server)
        right = frames.items(self.rows, self.slots).astype("f8")
        apart = np.abs(items - right) > (self.within + FLOAT) * np.maximum(size, np.abs(right))
        if apart.any():
            yield "%d coordinates of items" % apart.sum()
        right = frames.place(self.released.astype("f8"))
        apart = np.abs(placed - right) > self.within * np.maximum(size, np.abs(right).max(axis=1, keepdims=True))
        if apart.any():
            yield "%d coordinates of released rows" % apart.sum()


def ask(program, todo):
    return subprocess.run([program], input=b"".join(case.request() for case in todo), capture_output=True,
                          check=True).stdout


def lists_change_nothing(program):
    """The neighbour lists of a pack are what the server would find without them."""
    fields = {"d": 12, **dict(drawn_packs())["groups, five dimensions"]}
    with_lists, without = (Case("lists", Pack({**fields, "with_lists": lists}).bytes, 5, EXACT) for lists in (True, False))
    without.rows, without.slots, without.released = with_lists.rows, with_lists.slots, with_lists.released
    replies = [ask(program, [case]) for case in (with_lists, without)]
    return len(with_lists.data) > len(without.data) and replies[0] == replies[1]


def equal_anchors_draw(program):
    """They stay where they are; everything else comes half as near at every step."""
    for count in (1, 2, 3):
        case = Case("draw", Pack(equal_anchors(count, count, 100)).bytes, 4, EXACT, [[1700, -1400]])
        placed = np.frombuffer(ask(program, [case])[case.reply_sizes()[0]:], "=f8")
        yield np.abs(placed - [100 + 1600 / 16, 200 - 1600 / 16]).max() <= 1e-9


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: test_embedding.py path/to/place_rows")
    todo, at = [Case(*case) for case in all_cases()], 0
    reply, passed, failed = ask(sys.argv[1], todo), 0, 0
    for case in todo:
        first, second = case.reply_sizes()
        items = np.frombuffer(reply, "=f4", first // 4, at).reshape(ITEMS, -1).astype("f8")
        placed = np.frombuffer(reply, "=f8", second // 8, at + first).reshape(case.pack.G, -1)
        at += first + second
        faults = list(case.faults(items, placed))
        passed, failed = passed + (not faults), failed + bool(faults)
        for fault in faults:
            print("FAIL %s: %s are not the reference's" % (case.name, fault))
    for what, right in (
            ("the reply has another length", at == len(reply)),
            ("the reference has another bandwidth",
             Frames(ServerPack(Pack(equal_anchors(7, 2, 900)).bytes), 3).bandwidth == 400),
            ("lists change what is placed", lists_change_nothing(sys.argv[1])),
            ("equal anchors do not draw rows as they should", all(equal_anchors_draw(sys.argv[1])))):
        passed, failed = passed + right, failed + (not right)
        if not right:
            print("FAIL " + what)
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
