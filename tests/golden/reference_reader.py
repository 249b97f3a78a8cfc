"""Reads packs of every version by the rules of SPEC 1, and says why one is refused."""
import hashlib
import struct

from reference_formats import SLOT_CLASS, SLOT_GROUP, SLOT_ONE, Pack, inverse_norm
from reference_front import MATRIX, Refused, read_front, read_fronts
from reference_head import Head
from reference_sketch import DEPTHS, SketchCode

HEADER = 88
CLASSES, PROTOTYPES, PROTOTYPE_NORMS, ANCHORS, ANCHOR_NORMS, STARTS, ANCHOR_CODES, SLOT_CODES, CELL_CODES, LISTS, CELLS, \
    PROJECTION, MODEL, FRONTS, BODIES, HEAD_SIZE, HEAD, CODE, DIRECTIONS, DIRECTION_NORMS, RANGES = range(21)


class PackRefused(Exception):
    """The name of the status is the argument."""


def need(condition, status="PACK"):
    if not condition:
        raise PackRefused(status)


class PackReader:
    def __init__(self, data):
        self.data = data
        need(len(data) >= 8 and data[:6] == b"PMPK\0\0", "PACK_VERSION")
        self.minor = struct.unpack_from("<H", data, 6)[0]
        need(1 <= self.minor <= 5, "PACK_VERSION")
        need(len(data) >= HEADER and struct.unpack_from("<Q", data, 40)[0] == len(data), "PACK_SIZE")
        (self.d, self.n, self.K, self.k, self.G, self.kind, self.m, self.C, self.bandwidth, self.alpha, self.L,
         self.present, self.M) = struct.unpack_from("<IIHHHHIIIHHII", data, 48)

    def has(self, *sections):
        """Whether all of them are there; they must come together."""
        there = [self.present >> section & 1 for section in sections]
        need(len(set(there)) == 1)
        return bool(there[0])

    def check_counts(self):
        need(1 <= self.d <= 4096 and 1 <= self.G <= 1024 and self.present >> 21 == 0 and self.alpha <= 1024)
        response, gaussian = self.has(PROTOTYPES, PROTOTYPE_NORMS, CELLS), self.has(3, 4, 5, 6)
        codes, plain, coded = self.has(SLOT_CODES), self.has(PROJECTION), self.has(17, 18, 19, 20)
        need(response or gaussian)
        need(2 <= self.m <= 65536 and self.m <= self.M and self.G * self.M <= 1 << 20 if response else self.m == self.M == 0)
        need(not (plain and coded))
        need(8 <= self.L <= 256 if plain else 1 <= self.L <= 256 if coded else self.L == 0)
        if gaussian:
            need(codes and 1 <= self.n <= 1 << 20 and 1 <= self.K <= min(self.n, 64) and self.bandwidth >= 1)
        else:
            need(self.n == self.K == self.bandwidth == self.alpha == 0)
        need(1 <= self.k <= 16 if codes else self.k == 0)
        need(not self.has(CELL_CODES) or (response and codes))
        need(not self.has(LISTS) or (gaussian and self.n > self.K))
        need(self.has(CLASSES) == (self.kind != SLOT_ONE) and (self.alpha == 0 or self.G > 1))
        need({SLOT_ONE: self.G == 1 and self.C == 0, SLOT_CLASS: self.C == self.G,
              SLOT_GROUP: self.G <= self.C <= 65536}.get(self.kind, False))
        need(not self.has(MODEL) or self.minor >= 2)
        fronts, head = self.has(FRONTS, BODIES), self.has(HEAD_SIZE, HEAD)
        need(coded == (self.minor == 5), "PACK_VERSION")
        need(head == (self.minor == 4) or self.minor == 5, "PACK_VERSION")
        need(fronts == (self.minor == 3) or self.minor >= 4, "PACK_VERSION")

    def place(self):
        """The sections' bytes."""
        rows, known = self.G * self.M, {}
        sizes = {CLASSES: 8 * self.C, PROTOTYPES: rows * self.d, PROTOTYPE_NORMS: 4 * rows, ANCHORS: self.n * self.d,
                 ANCHOR_NORMS: 4 * self.n, STARTS: 4 * (self.G + 1), ANCHOR_CODES: 2 * self.n * self.k,
                 SLOT_CODES: 2 * self.G * self.k, CELL_CODES: 2 * self.G * self.m * self.k, LISTS: 4 * self.n * self.K,
                 CELLS: 2 * rows, PROJECTION: self.L * self.d, MODEL: 65, FRONTS: 512, HEAD_SIZE: 16, CODE: 272}
        end, self.starts = HEADER, {}
        for section in range(21):
            if not self.present >> section & 1:
                continue
            start = -(-end // 16) * 16
            need(start + sizes[section] <= len(self.data), "PACK_SIZE")
            need(not any(self.data[end:start]))
            end = start + sizes[section]
            known[section], self.starts[section] = self.data[start:end], start
            if section == FRONTS:
                sizes[BODIES] = self.bodies_size(known[FRONTS])
            if section == HEAD_SIZE:
                H = struct.unpack_from("<I", known[section])[0]
                need(1 <= H <= 4096 and not any(known[section][4:]))
                sizes[HEAD] = H * (16 + self.d)
            if section == CODE:
                P = 8 * sum(self.blocks(known[CODE]).values())
                sizes.update({DIRECTIONS: P * self.d, DIRECTION_NORMS: 4 * P, RANGES: 4 * P})
        need(end == len(self.data), "PACK_SIZE")
        return known

    def bodies_size(self, records):
        size = 0
        for kind, d_in, p in ((struct.unpack_from("<H2xII", records, 64 * v)) for v in range(8)):
            size += self.d * (12 + d_in) if kind == MATRIX else 8 * self.d + p * (12 + d_in + self.d) if kind == 4 else 0
        return size

    def blocks(self, code):
        *counts, zero = struct.unpack_from("<8H", code)
        need(zero == 0 and not any(code[270:]))
        need(sum(bits * count for bits, count in zip(DEPTHS, counts)) == self.L and 1 <= sum(counts) <= 256)
        return dict(zip(DEPTHS, counts))

    def rows(self, data, count, letter="b", length=None):
        length = length or self.d
        rows = [list(row) for row in struct.iter_unpack("<%d%s" % (length, letter), data)] if count else []
        lowest = {"b": -128, "h": -32768}.get(letter)
        need(len(rows) == count and all(value != lowest for row in rows for value in row))
        return rows

    def normed(self, rows, norms):
        need(all(any(row) for row in rows))
        need([inverse_norm(row) for row in rows] == list(struct.unpack("<%dI" % len(rows), norms)))
        return rows

    def code_of(self, known):
        counts = self.blocks(known[CODE])
        P, at, levels = 8 * sum(counts.values()), 16, {}
        for bits in DEPTHS:
            levels[bits] = self.rows(known[CODE][at:at + (1 << bits)], 1, "b", 1 << bits)[0]
            at += 1 << bits
            need(levels[bits] == sorted(levels[bits]) if counts[bits] else not any(levels[bits]))
        directions = self.normed(self.rows(known[DIRECTIONS], P), known[DIRECTION_NORMS])
        ranges = struct.unpack("<%dh" % (2 * P), known[RANGES])
        middles, widths = list(ranges[:P]), list(ranges[P:])
        sizes = [abs(middle) + width for middle, width in zip(middles, widths)]
        need(min(widths) >= 0 and max(sizes) <= 32767)
        need(sum(sizes) < 1 << 19 and sum(size * size for size in sizes) < 1 << 32)
        return SketchCode(counts, levels, directions, middles, widths)

    def head_of(self, known):
        H = struct.unpack_from("<I", known[HEAD_SIZE])[0]
        record = struct.pack("<HHIII16s32s", MATRIX, 0, self.d, 0, 0, b"", b"")
        front = read_front(record, known[HEAD][:-4 * H], H)
        labels = list(struct.unpack("<%di" % H, known[HEAD][-4 * H:]))
        need(labels == sorted(set(labels)))
        return Head(self.d, labels, front.offsets, front.gains, front.rows)

    def model_of(self, data):
        try:
            name = data.rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise PackRefused("PACK") from None
        need(1 <= len(name.encode()) <= 64 and all(ord(c) >= 32 and not 127 <= ord(c) < 160 for c in name))
        return name

    def fields(self):
        self.check_counts()
        known = self.place()
        need(self.data[8:40] == hashlib.sha256(self.data[40:]).digest(), "PACK_HASH")
        rows, fields = self.G * self.M, dict(kind=self.kind, d=self.d, minor=self.minor, m=self.m, neighbours=self.K,
                                             bandwidth=self.bandwidth, alpha=self.alpha, with_lists=LISTS in known)
        if CLASSES in known:
            table = list(struct.iter_unpack("<iHH", known[CLASSES]))
            labels, slots = [row[0] for row in table], [row[1] for row in table]
            need(labels == sorted(set(labels)) and not any(row[2] for row in table))
            need(sorted(set(slots)) == list(range(self.G)) and (self.kind != SLOT_CLASS or slots == sorted(slots)))
            fields["classes"] = list(zip(labels, slots))
        if PROTOTYPES in known:
            fields["prototypes"] = self.normed(self.rows(known[PROTOTYPES], rows), known[PROTOTYPE_NORMS])
            fields["cells"] = list(struct.unpack("<%dH" % rows, known[CELLS]))
            need(max(fields["cells"]) < self.m)
        if ANCHORS in known:
            fields["anchors"] = self.normed(self.rows(known[ANCHORS], self.n), known[ANCHOR_NORMS])
            fields["starts"] = starts = list(struct.unpack("<%dI" % (self.G + 1), known[STARTS]))
            need(starts == sorted(set(starts)) and starts[0] == 0 and starts[-1] == self.n)
        for section, name, count in ((ANCHOR_CODES, "anchor_codes", self.n), (SLOT_CODES, "slot_codes", self.G),
                                     (CELL_CODES, "cell_codes", self.G * self.m)):
            if section in known:
                fields[name] = self.rows(known[section], count, "h", self.k)
        fields["sketch"] = self.rows(known.get(PROJECTION, b""), self.L if PROJECTION in known else 0)
        fields["model"] = self.model_of(known[MODEL]) if MODEL in known else ""
        if FRONTS in known:
            fields["fronts"] = read_fronts(known[FRONTS], known[BODIES], self.d)
        if HEAD in known:
            fields["head"] = self.head_of(known)
        if CODE in known:
            fields["code"] = self.code_of(known)
        return fields


def section_start(data, section):
    """Where a section of a sound pack begins."""
    reader = PackReader(data)
    reader.place()
    return reader.starts[section]


def read_pack(data):
    """The Pack of these bytes. Lists of section 9 are made again, not read."""
    try:
        return Pack(PackReader(data).fields())
    except Refused:
        raise PackRefused("PACK") from None
