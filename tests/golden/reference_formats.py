"""Bytes of packs, releases, answers and budgets (SPEC 1 to 4)."""
import hashlib
import struct
from math import isqrt

SLOT_ONE, SLOT_CLASS, SLOT_GROUP = 0, 1, 2


def inverse_norm(row):
    """SPEC 5.2: the largest r with r*r*N <= 2^60, N the sum of squares; 0 for a zero row."""
    squares = sum(value * value for value in row)
    return isqrt((1 << 60) // squares) if squares else 0


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Pack:
    """A pack made from a dict of arrays. Keys (all but the first two optional):

    kind, d; classes [(label, slot)], prototypes [G*M rows], cells [G*M numbers below m], anchors [n rows],
    starts [G+1], neighbours (K), bandwidth (lambda), alpha, anchor_codes [n rows], slot_codes [G rows],
    cell_codes [G*m rows], sketch [L rows], with_lists, model (a string), fronts [(name, Front)], head (a Head), code (a
    SketchCode), minor (the version; 5 with a code, 4 with a head, 3 with fronts, 2 with a model, else 1).
    """

    def __init__(self, fields):
        take = fields.get
        self.kind, self.d = fields["kind"], fields["d"]
        self.classes = take("classes", [])
        self.G = 1 if self.kind == SLOT_ONE else 1 + max(slot for _, slot in self.classes)
        self.prototypes, self.anchors = take("prototypes", []), take("anchors", [])
        self.starts, self.K = take("starts", []), take("neighbours", 0)
        self.bandwidth, self.alpha = take("bandwidth", 0), take("alpha", 0)
        self.anchor_codes, self.slot_codes = take("anchor_codes", []), take("slot_codes", [])
        self.cell_codes, self.cells, self.sketch = take("cell_codes", []), take("cells", []), take("sketch", [])
        self.model = take("model", "")
        self.fronts = take("fronts", [])
        self.head = take("head")
        self.code = take("code")
        self.minor = take("minor", 5 if self.code else 4 if self.head else 3 if self.fronts else 2 if self.model else 1)
        self.n, self.M = len(self.anchors), len(self.prototypes) // self.G
        self.L = self.code.L if self.code else len(self.sketch)
        self.m = fields["m"] if self.prototypes else 0
        self.k = len(self.slot_codes[0]) if self.slot_codes else 0
        self.prototype_norms = [inverse_norm(row) for row in self.prototypes]
        self.anchor_norms = [inverse_norm(row) for row in self.anchors]
        self.lists = self._nearest_lists() if take("with_lists", False) else []
        self._check()
        self.bytes = self._write()
        self.id = self.bytes[8:24]

    def _nearest_lists(self):
        """The K nearest other anchors of each anchor, by score, ties by smaller index."""
        lists = []
        for own, query in enumerate(self.anchors):
            ranked = sorted((-dot(query, row) * norm, index) for index, (row, norm)
                            in enumerate(zip(self.anchors, self.anchor_norms)) if index != own)
            lists.append([index for _, index in ranked[:self.K]])
        return lists

    def _check(self):
        """The rules of SPEC 1 that a careless caller could break."""
        assert 1 <= self.d <= 4096 and 1 <= self.G <= 1024 and self.G * self.M <= 1 << 20
        assert self.prototypes or self.anchors
        assert len(self.prototypes) == len(self.cells) == self.G * self.M and self.M >= self.m != 1
        assert all(0 <= cell < self.m for cell in self.cells)
        for row in self.prototypes + self.anchors:
            assert len(row) == self.d and any(row) and all(-127 <= value <= 127 for value in row)
        for rows, count in ((self.anchor_codes, self.n), (self.slot_codes, self.G),
                            (self.cell_codes, self.G * self.m)):
            assert len(rows) in (0, count) and all(len(row) == self.k for row in rows)
            assert all(-32767 <= value <= 32767 for row in rows for value in row)
        if self.anchors:
            assert 1 <= self.K <= min(self.n, 64) and 1 <= self.bandwidth < 1 << 32 and 1 <= self.k <= 16
            assert self.anchor_codes and self.starts[0] == 0 and self.starts[-1] == self.n
            assert len(self.starts) == self.G + 1
            assert all(a < b for a, b in zip(self.starts, self.starts[1:]))
        else:
            assert not (self.K or self.bandwidth or self.alpha or self.starts or self.anchor_codes or self.lists)
        assert not self.cell_codes or (self.prototypes and self.slot_codes)
        assert not self.lists or self.n > self.K
        assert 0 <= self.alpha <= 1024 and (self.alpha == 0 or self.G > 1)
        assert self.code or self.L == 0 or 8 <= self.L <= 256
        assert not self.code or (not self.sketch and all(len(row) == self.d for row in self.code.directions))
        assert len(self.model.encode()) <= 64 and (self.model.isprintable() or not self.model)
        assert all(len(row) == self.d and all(-127 <= value <= 127 for value in row) for row in self.sketch)
        assert len(self.fronts) <= 8 and all(front.d == self.d for _, front in self.fronts)
        assert not self.head or self.head.d_in == self.d
        labels, slots = [label for label, _ in self.classes], [slot for _, slot in self.classes]
        assert labels == sorted(set(labels))
        if self.kind == SLOT_CLASS:
            assert slots == list(range(self.G))
        else:
            assert sorted(set(slots)) == (list(range(self.G)) if self.kind == SLOT_GROUP else [])

    def sections(self):
        """The bytes of all sections, b"" for those that are absent."""
        def integers(letter, rows):
            return b"".join(struct.pack("<%d%s" % (len(row), letter), *row) for row in rows)

        return [
            b"".join(struct.pack("<iHH", label, slot, 0) for label, slot in self.classes),
            integers("b", self.prototypes),
            integers("I", [self.prototype_norms]),
            integers("b", self.anchors),
            integers("I", [self.anchor_norms]),
            integers("I", [self.starts]),
            integers("h", self.anchor_codes),
            integers("h", self.slot_codes),
            integers("h", self.cell_codes),
            integers("I", self.lists),
            integers("H", [self.cells]),
            integers("b", self.sketch),
            self.model.encode().ljust(65, b"\0") if self.model else b"",
            b"".join(front.record(name.encode()) for name, front in self.fronts).ljust(512, b"\0") if self.fronts else b"",
            b"".join(front.body() for _, front in self.fronts),
            struct.pack("<I12x", self.head.d) if self.head else b"",
            self.head.body() + self.head.label_bytes() if self.head else b"",
        ] + (self.code.sections() if self.code else [])

    def _write(self):
        return self.assemble(self.sections())

    def assemble(self, sections):
        """A pack of these sections, sound or not, with this pack's counts."""
        present = sum(1 << bit for bit, section in enumerate(sections) if section or (bit == 14 and self.fronts))
        body = bytearray(88)                        # becomes the header
        for bit, section in enumerate(sections):
            if present >> bit & 1:
                body += bytes(-len(body) % 16) + section
        struct.pack_into("<4sHH", body, 0, b"PMPK", 0, self.minor)
        struct.pack_into("<QIIHHHHIIIHHII", body, 40, len(body), self.d, self.n, self.K, self.k, self.G,
                         self.kind, self.m, len(self.classes), self.bandwidth, self.alpha, self.L, present,
                         self.M)
        body[8:40] = hashlib.sha256(body[40:]).digest()
        return bytes(body)

    def slot_of(self, label):
        """The slot of a label; a pack of one slot has no labels to look up."""
        return 0 if self.kind == SLOT_ONE else dict(self.classes)[label]

    def slot_of_anchor(self, index):
        return max(slot for slot in range(self.G) if self.starts[slot] <= index)


# CBOR, shortest form ---------------------------------------------------------------------------------------

def cbor_head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << 8 * size:
            return bytes([major << 5 | code]) + value.to_bytes(size, "big")
    raise ValueError(value)


def cbor_integer(value):
    return cbor_head(0, value) if value >= 0 else cbor_head(1, -1 - value)


def cbor_bytes(value):
    return cbor_head(2, len(value)) + value


def cbor_read_head(data, offset):
    """(major, value, offset after the head)."""
    major, code = data[offset] >> 5, data[offset] & 31
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(code, 0)
    value = int.from_bytes(data[offset + 1:offset + 1 + size], "big") if size else code
    assert code < 28 and cbor_head(major, value) == data[offset:offset + 1 + size]
    return major, value, offset + 1 + size


# Releases --------------------------------------------------------------------------------------------------

def pack_symbols(symbols, m):
    width, packed = (m - 1).bit_length(), 0
    for index, symbol in enumerate(symbols):
        packed |= symbol << index * width
    return packed.to_bytes((len(symbols) * width + 7) // 8, "little")


def unpack_symbols(data, m, count):
    width, packed = (m - 1).bit_length(), int.from_bytes(data, "little")
    return [packed >> index * width & (1 << width) - 1 for index in range(count)]


def write_release(pack_id, mechanism, content, step=None):
    items = [(0, cbor_integer(1)), (1, cbor_bytes(pack_id)), (2, cbor_integer(mechanism))]
    if step is not None:
        items.append((3, cbor_bytes(step.to_bytes(4, "big"))))
    items.append((4, cbor_bytes(content)))
    return cbor_head(5, len(items)) + b"".join(cbor_integer(key) + value for key, value in items)


def read_release(data):
    """The map of a release as a dict of integers and byte strings."""
    major, count, offset = cbor_read_head(data, 0)
    assert major == 5
    result = {}
    for _ in range(count):
        major, key, offset = cbor_read_head(data, offset)
        assert major == 0 and key > max(result, default=-1)
        major, value, offset = cbor_read_head(data, offset)
        if major == 2:
            value, offset = data[offset:offset + value], offset + value
        result[key] = value
    assert offset == len(data)
    return result


# Answers and budgets ---------------------------------------------------------------------------------------

def write_answer(pack, gallery_size, slots, only=None):
    """slots: per slot a list of (item, label, sketch as integers, payload). only: the one slot of a crowd's answer.

    Returns the bytes and, per slot, the payload offsets.
    """
    assert len(slots) == pack.G and gallery_size >= 1
    data = bytearray(cbor_head(4, 5) + cbor_integer(1) + cbor_bytes(pack.id)
                     + cbor_integer(pack.G if only is None else 1) + cbor_integer(pack.L) + cbor_integer(gallery_size))
    offsets = []
    for slot, candidates in enumerate(slots):
        offsets.append([])
        if only not in (None, slot):
            assert not candidates
            continue
        data += cbor_head(4, 2) + cbor_integer(slot) + cbor_integer(len(candidates))
        for item, label, sketch, payload in candidates:
            assert len(sketch) == pack.L and len(payload) <= 65535
            data += cbor_head(4, 4) + cbor_integer(item) + cbor_integer(label)
            data += cbor_bytes(struct.pack("%db" % pack.L, *sketch)) + cbor_head(2, len(payload))
            offsets[-1].append(len(data))
            data += payload
    return bytes(data), offsets


def write_budget(owner, response_cap, response_spent, gaussian_cap, gaussian_spent, delta):
    """All amounts already in the units of SPEC 4."""
    assert response_spent <= response_cap and gaussian_spent <= gaussian_cap and len(owner) == 16
    assert (gaussian_cap == 0) <= (delta == 0)
    data = struct.pack("<4sI16sQQIIQ", b"PMLB", 1, owner, gaussian_cap, delta, response_cap, response_spent,
                       gaussian_spent)
    return data + hashlib.sha256(data).digest()[:8]
