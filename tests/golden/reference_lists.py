"""Answers of version 2 (SPEC 3 and 3.2): the writer, and a reader that refuses what a reader must refuse."""
from reference_formats import cbor_bytes, cbor_head, cbor_integer, cbor_read_head

CLASSES, PAYLOADS = 1, 2          # bits of a form
ITEM_MAX, CLASS_MAX, COUNT_MAX, PAYLOAD_MAX = (1 << 64) - 1, (1 << 31) - 1, 1 << 20, 65535
UNSIGNED, NEGATIVE, STRING, ARRAY = 0, 1, 2, 4


class AnswerRefused(Exception):
    """Not an answer to a query of this pack; the name of its status is the argument."""


def need(condition, status="ANSWER"):
    if not condition:
        raise AnswerRefused(status)


def leb(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def form_of(candidates):
    """(form, class of the list) as a writer chooses them."""
    labels = [label for _, label, _, _ in candidates]
    return ((CLASSES if len(set(labels)) > 1 else 0) | (PAYLOADS if any(payload for *_, payload in candidates) else 0),
            min(labels, default=0))


def candidate_bytes(pack, candidates, form, base):
    """The byte string of a list, and where in it payloads begin."""
    data, offsets, last = bytearray(), [], -1
    for item, label, sketch, payload in candidates:
        assert last < item <= ITEM_MAX and len(sketch) == pack.L and len(payload) <= PAYLOAD_MAX
        data += leb(item - last - 1)
        if form & CLASSES:
            data += leb(label - base)
        data += bytes(sketch)
        if form & PAYLOADS:
            data += leb(len(payload))
        offsets.append(len(data))
        data += payload
        last = item
    return bytes(data), offsets


def write_header(pack, slots, gallery, version=2):
    return (cbor_head(ARRAY, 5) + cbor_integer(version) + cbor_bytes(pack.id) + cbor_integer(slots)
            + cbor_integer(pack.L) + cbor_integer(gallery))


def write_list(slot, count, form, base, data):
    return (cbor_head(ARRAY, 5) + cbor_integer(slot) + cbor_integer(count) + cbor_integer(form) + cbor_integer(base)
            + cbor_bytes(data))


def write_answer_2(pack, gallery, slots, only=None):
    """slots: per slot a list of (item, label, sketch as bytes, payload), items ascending. only: the one slot of a crowd's
    answer. Returns the bytes and, per slot, the payload offsets."""
    assert pack.code and len(slots) == pack.G and gallery >= 1
    answer, offsets = write_header(pack, pack.G if only is None else 1, gallery), []
    for slot, candidates in enumerate(slots):
        offsets.append([])
        if only not in (None, slot):
            assert not candidates
            continue
        form, base = form_of(candidates)
        data, places = candidate_bytes(pack, candidates, form, base)
        answer += write_list(slot, len(candidates), form, base, data)
        offsets[-1] = [len(answer) - len(data) + place for place in places]
    return answer, offsets


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        need(len(self.data) - self.at >= size)
        self.at += size
        return self.data[self.at - size:self.at]

    def head(self, *majors):
        """(major, value); heads are as short as can be."""
        try:
            major, value, self.at = cbor_read_head(self.data, self.at)
        except (AssertionError, IndexError):
            raise AnswerRefused("ANSWER") from None
        need(major in majors)
        return major, value

    def number(self, most=ITEM_MAX):
        value = self.head(UNSIGNED)[1]
        need(value <= most)
        return value

    def label(self):
        major, value = self.head(UNSIGNED, NEGATIVE)
        need(value <= CLASS_MAX)
        return -1 - value if major == NEGATIVE else value

    def leb(self, most):
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            need(byte != 0 or shift == 0)
            value |= (byte & 127) << shift
            need(value <= most)
            if byte < 128:
                return value
            shift += 7
            need(shift < 70)


def read_list(reader, pack, expected):
    """(slot, candidates, payload offsets) of one list; expected: its slot, or None when any will do."""
    need(reader.head(ARRAY)[1] == 5)
    slot = reader.number(pack.G - 1)
    need(expected in (None, slot))
    count, form, base = reader.number(COUNT_MAX), reader.number(CLASSES | PAYLOADS), reader.label()
    size = reader.head(STRING)[1]
    inner = Reader(reader.take(size))
    start, last, candidates, offsets = reader.at - size, -1, [], []
    for _ in range(count):
        last += 1 + inner.leb(ITEM_MAX)
        need(last <= ITEM_MAX)
        label = base + inner.leb(CLASS_MAX - base) if form & CLASSES else base
        sketch = list(inner.take(pack.L))
        length = inner.leb(PAYLOAD_MAX) if form & PAYLOADS else 0
        offsets.append(start + inner.at)
        candidates.append((last, label, sketch, inner.take(length)))
    need(inner.at == size)
    return slot, candidates, offsets


def read_answer_2(pack, data, crowd=False):
    """(gallery, slots, offsets) as write_answer_2 takes and gives them. crowd: the answer to one message of a crowd."""
    reader = Reader(data)
    need(reader.head(ARRAY)[1] == 5)
    need(reader.number() == 2)
    need(reader.head(STRING)[1] == len(pack.id))
    need(reader.take(len(pack.id)) == pack.id, "PACK_ID")
    lists = reader.number()
    need(lists == (1 if crowd else pack.G) and reader.number() == pack.L)
    gallery = reader.number()
    need(gallery >= 1)
    slots, offsets = [[] for _ in range(pack.G)], [[] for _ in range(pack.G)]
    for expected in range(lists):
        slot, candidates, places = read_list(reader, pack, None if crowd else expected)
        slots[slot], offsets[slot] = candidates, places
    need(reader.at == len(data))
    return gallery, slots, offsets
