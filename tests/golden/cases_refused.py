"""Packs of version 0.5 and answers of version 2 that a reader refuses, beside some that it must take."""
import struct

from reference import Pack, SLOT_ONE
from reference_formats import cbor_bytes, cbor_head, cbor_integer, inverse_norm
from reference_lists import leb, write_header, write_list
from reference_reader import CODE, DIRECTION_NORMS, DIRECTIONS, RANGES, section_start

OK, PACK, SIZE, VERSION, ANSWER = "OK", "PACK", "PACK_SIZE", "PACK_VERSION", "ANSWER"
AT_MINOR, AT_SKETCH, AT_PRESENT = 6, 78, 80


# Packs ---------------------------------------------------------------------------------------------------------

class Edits:
    """Collects (name, status, pack index, {offset: byte}); size and hash are made right after a change."""

    def __init__(self, packs):
        self.cases = []
        self.packs = packs
        self.by_name = {name[0]: index for index, (name, _, _) in enumerate(packs)}

    def add(self, name, status, pack, *changes):
        """changes: (section or None, offset, bytes)."""
        index, edit = self.by_name[pack], {}
        data = self.packs[index][1].bytes
        for section, offset, new in changes:
            start = 0 if section is None else section_start(data, section)
            edit.update({start + offset + i: byte for i, byte in enumerate(new)})
        assert max(edit) < len(data)
        self.cases.append((name, status, index, edit))


def u16(value):
    return struct.pack("<H", value)


def i16(value):
    return struct.pack("<h", value)


def header_edits(edits):
    present = struct.unpack_from("<I", edits.packs[0][1].bytes, AT_PRESENT)[0]
    for name, pack, minor in (("one without a model", "a", 1), ("any older one", "a", 2), ("that of fronts", "r", 3),
                              ("that of heads", "s", 4), ("heads and fronts", "t", 4), ("a later one", "a", 6)):
        edits.add("version 0.%d, %s" % (minor, name), VERSION, pack, (None, AT_MINOR, u16(minor)))
    for section in range(CODE, RANGES + 1):
        edits.add("without section %d" % section, PACK, "a",
                  (None, AT_PRESENT, struct.pack("<I", present & ~(1 << section))))
    edits.add("section 21", PACK, "a", (None, AT_PRESENT, struct.pack("<I", present | 1 << 21)))
    for length in (0, 2, 257):
        edits.add("L = %d" % length, PACK, "a", (None, AT_SKETCH, u16(length)))


def code_edits(edits):
    edits.add("no blocks", PACK, "a", (CODE, 0, u16(0)))
    edits.add("a block more", PACK, "a", (CODE, 0, u16(2)))
    edits.add("as many blocks as the number can hold", PACK, "a", (CODE, 0, u16(65535)))
    edits.add("a block of another depth", PACK, "a", (CODE, 0, u16(0) + u16(1)))
    edits.add("257 blocks", PACK, "a", (None, AT_SKETCH, u16(257)), (CODE, 0, u16(257)))
    edits.add("two blocks of 1 bit for one of 2", SIZE, "b", (CODE, 0, u16(2) + u16(0)), (CODE, 18, bytes(4)))
    edits.add("blocks of 8 bits", PACK, "a", (CODE, 14, u16(1)))
    for last in (270, 271):
        edits.add("byte %d of the code is not 0" % last, PACK, "a", (CODE, last, b"\1"))
    edits.add("equal levels", OK, "a", (CODE, 16, b"\x05\x05"))
    edits.add("levels that descend", PACK, "a", (CODE, 16, b"\x7f\x7e"))
    edits.add("levels that ascend only without their signs", PACK, "a", (CODE, 16, b"\x01\xff"))
    edits.add("a level of -128", PACK, "a", (CODE, 16, b"\x80"))
    edits.add("a level of -127", OK, "a", (CODE, 16, b"\x81"))
    edits.add("the last of 128 levels below the one before it", PACK, "g", (CODE, 269, b"\x81"))
    edits.add("a level of 2 bits, which has no blocks", PACK, "a", (CODE, 18, b"\1"))
    edits.add("a last level of 7 bits, which has no blocks", PACK, "a", (CODE, 269, b"\xff"))


def direction_edits(edits):
    packs, by_name = edits.packs, edits.by_name
    row, d = list(packs[by_name["a"]][1].code.directions[7]), packs[by_name["a"]][1].d
    for name, status, value in (("-127", OK, -127), ("-128", PACK, -128)):
        changed = [value] + row[1:]
        edits.add("a direction with " + name, status, "a", (DIRECTIONS, 7 * d, struct.pack("%db" % d, *changed)),
                  (DIRECTION_NORMS, 28, struct.pack("<I", inverse_norm(changed))))
    edits.add("a direction of zeros", PACK, "a", (DIRECTIONS, 7 * d, bytes(d)), (DIRECTION_NORMS, 28, bytes(4)))
    norm = inverse_norm(row)
    for difference in (-1, 1):
        edits.add("a norm off by %d" % difference, PACK, "a", (DIRECTION_NORMS, 28, struct.pack("<I", norm + difference)))
    edits.add("something behind the directions", PACK, "a", (DIRECTIONS, 8 * d, b"\1"))


def range_edits(edits):
    """Of pack a: eight middles, then eight widths."""
    edits.add("a width of -1", PACK, "a", (RANGES, 0, i16(5)), (RANGES, 16, i16(-1)))
    edits.add("a width of -32768", PACK, "a", (RANGES, 16, i16(-32768)))
    for middle, width, status in ((32767, 0, OK), (32767, 1, PACK), (-32767, 0, OK), (-32767, 1, PACK), (-32768, 0, PACK),
                                  (0, 32767, OK), (1, 32767, PACK), (-1, 32766, OK)):
        edits.add("middle %d, width %d" % (middle, width), status, "a", (RANGES, 14, i16(middle)), (RANGES, 30, i16(width)))
    for pack, what in (("h", "squares"), ("i", "sizes")):
        code = edits.packs[edits.by_name[pack]][1].code
        sizes = [abs(middle) + width for middle, width in zip(code.middles, code.widths)]
        smallest = sizes.index(min(sizes))
        at, width = 2 * (code.P + smallest), code.widths[smallest]
        edits.add("%s one beyond their limit" % what, PACK, pack, (RANGES, at, i16(width + 1)))
        first = max(range(code.P), key=lambda i: code.widths[i])
        edits.add("%s one further from their limit" % what, OK, pack,
                  (RANGES, 2 * (code.P + first), i16(code.widths[first] - 1)))


def pack_edits(packs):
    edits = Edits(packs)
    header_edits(edits)
    code_edits(edits)
    direction_edits(edits)
    range_edits(edits)
    return edits.cases


def whole_packs(packs):
    """[(name, status, bytes)] of packs that no change of some bytes makes."""
    pack = packs[0][1]
    sections = pack.sections()
    without = pack.assemble(sections[:CODE])
    plain = Pack(dict(kind=SLOT_ONE, d=pack.d, m=pack.m, prototypes=pack.prototypes, cells=pack.cells, minor=5))
    eight = packs[[name[0] for name, _, _ in packs].index("s")][1]
    both = eight.sections()
    both[11] = bytes([1] * 8 * eight.d)
    return [("version 0.5 without coded sketches", VERSION, plain.bytes),
            ("lengths of sketches without sketches", PACK, without),
            ("a projection and directions", PACK, eight.assemble(both)),
            ("one byte less", SIZE, pack.assemble(sections[:-1] + [sections[-1][:-1]])),
            ("one byte more", SIZE, pack.assemble(sections[:-1] + [sections[-1] + b"\0"]))]


# Answers -------------------------------------------------------------------------------------------------------

LAST = (1 << 64) - 1
HIGHEST, LOWEST = (1 << 31) - 1, -(1 << 31)


def one_list(pack, name, status, data, count=1, form=0, base=0):
    """Of a pack with one slot."""
    return name, status, write_header(pack, 1, 9) + write_list(0, count, form, base, data)


def number_cases(pack):
    """Numbers in base 128, and what they add up to. L = 1."""
    full = b"\xff" * 9

    def two(*gaps):
        return b"".join(leb(gap) + b"S" for gap in gaps)

    return [one_list(pack, *case) for case in (
        ("one candidate", OK, b"\0S"), ("item 127", OK, b"\x7fS"), ("item 128", OK, b"\x80\1S"),
        ("0 in two bytes", ANSWER, b"\x80\0S"), ("127 in two bytes", ANSWER, b"\xff\0S"),
        ("128 in three bytes", ANSWER, b"\x80\x81\0S"), ("0 in ten bytes", ANSWER, b"\x80" * 9 + b"\0S"),
        ("item 2^64 - 1", OK, full + b"\1S"), ("item 2^64", ANSWER, b"\x80" * 9 + b"\2S"),
        ("item 2^70 - 1", ANSWER, full + b"\x7fS"), ("eleven bytes", ANSWER, full + b"\x81\1S"),
        ("bytes without end", ANSWER, b"\xff" * 40), ("a number cut off", ANSWER, b"\x80"),
        ("2^64 - 1 is the last", OK, two(0, LAST - 1), 2), ("beyond it by 1", ANSWER, two(1, LAST - 1), 2),
        ("beyond it by much", ANSWER, two(LAST, LAST), 2), ("behind the last", ANSWER, two(LAST, 0), 2),
        ("a difference of 1", OK, two(LAST - 1, 0), 2),
        ("class 2^31 - 1", OK, b"\0\0S", 1, 1, HIGHEST), ("class 2^31", ANSWER, b"\0\1S", 1, 1, HIGHEST),
        ("from the lowest class to the highest", OK, b"\0" + leb((1 << 32) - 1) + b"S", 1, 1, LOWEST),
        ("one beyond", ANSWER, b"\0" + leb(1 << 32) + b"S", 1, 1, LOWEST),
        ("class 2^31 from 0", ANSWER, b"\0" + leb(1 << 31) + b"S", 1, 1),
        ("class 2^32 from 0", ANSWER, b"\0" + leb(1 << 32) + b"S", 1, 1),
        ("class 2^64 - 1 from -1", ANSWER, b"\0" + leb(LAST) + b"S", 1, 1, -1),
        ("class 2^64 from -1", ANSWER, b"\0" + leb(LAST + 1) + b"S", 1, 1, -1),
        ("class 2^31 - 1 from -1", OK, b"\0" + leb(1 << 31) + b"S", 1, 1, -1),
        ("class 0 in two bytes", ANSWER, b"\0\x80\0S", 1, 1),
        ("payload of 1", OK, b"\0S\1p", 1, 2), ("payload size in two bytes", ANSWER, b"\0S\x81\0p", 1, 2),
        ("payload of 65536", ANSWER, b"\0S" + leb(65536) + bytes(65), 1, 2),
        ("payload of 2^64 + 1", ANSWER, b"\0S" + leb(LAST + 2) + b"p", 1, 2),
        ("payload longer than the list", ANSWER, b"\0S\2p", 1, 2), ("payload shorter", ANSWER, b"\0S\1pp", 1, 2),
        ("classes and payloads", OK, b"\0\5S\1p\0\0S\0", 2, 3, -3))]


def list_cases(pack):
    """The fields of a list, and its string against its count."""
    head, data = write_header(pack, 1, 9), b"\0S"
    ends = [("count 0 with a candidate", ANSWER, data, 0), ("no candidates", OK, b"", 0),
            ("count 1 without a candidate", ANSWER, b"", 1), ("count 2 with one", ANSWER, data, 2),
            ("count 1 with two", ANSWER, data * 2, 1), ("a string one byte too short", ANSWER, data[:1], 1),
            ("a string one byte too long", ANSWER, data + b"\0", 1), ("form 3 without need", OK, b"\0\0S\0", 1, 3),
            ("form 4", ANSWER, data, 1, 4), ("form 7", ANSWER, b"\0\0S\0", 1, 7), ("form -1", ANSWER, data, 1, -1),
            ("form 2^32", ANSWER, data, 1, 1 << 32), ("count 2^20 + 1", ANSWER, data, (1 << 20) + 1),
            ("count 2^32 + 1", ANSWER, data, (1 << 32) + 1), ("count -1", ANSWER, data, -1),
            ("class 2^31 of the list", ANSWER, data, 1, 0, 1 << 31), ("class -2^31 - 1", ANSWER, data, 1, 0, LOWEST - 1),
            ("class -2^31", OK, data, 1, 0, LOWEST)]
    fields = cbor_integer(0) + cbor_integer(1) + cbor_integer(0) + cbor_integer(0)
    wholes = [("a list of four", cbor_head(4, 4) + fields), ("a list of six", cbor_head(4, 6) + fields + cbor_bytes(data) + b"\0"),
              ("a list of two, as in version 1", cbor_head(4, 2) + cbor_integer(0) + cbor_integer(0)),
              ("a list of no fixed length", b"\x9f" + fields + cbor_bytes(data) + b"\xff"),
              ("a list as a map", cbor_head(5, 5) + fields + cbor_bytes(data)),
              ("candidates as text", cbor_head(4, 5) + fields + cbor_head(3, 2) + data),
              ("candidates as an array", cbor_head(4, 5) + fields + cbor_head(4, 1) + b"\0"),
              ("a string of no fixed length", cbor_head(4, 5) + fields + b"\x5f" + cbor_bytes(data) + b"\xff"),
              ("a size not in its shortest form", cbor_head(4, 5) + fields + b"\x58\2" + data),
              ("a size of 2^64 - 1", cbor_head(4, 5) + fields + cbor_head(2, LAST) + data),
              ("a class as bytes", cbor_head(4, 5) + fields[:-1] + b"\x40" + cbor_bytes(data)),
              ("a count not in its shortest form", cbor_head(4, 5) + b"\0\x18\1\0\0" + cbor_bytes(data)),
              ("slot 1 of one", write_list(1, 1, 0, 0, data)), ("nothing behind the header", b""),
              ("a second list", write_list(0, 1, 0, 0, data) + write_list(1, 0, 0, 0, b"")),
              ("a byte too many", write_list(0, 1, 0, 0, data) + b"\0"),
              ("a byte too few", write_list(0, 1, 0, 0, data)[:-1])]
    return [one_list(pack, *case) for case in ends] + [(name, ANSWER, head + rest) for name, rest in wholes]


def header_cases(pack):
    rest = write_list(0, 1, 0, 0, b"\0S")
    version_1 = cbor_head(4, 2) + b"\0\1" + cbor_head(4, 4) + b"\0\0" + cbor_bytes(b"S") + cbor_bytes(b"")
    other = bytearray(write_header(pack, 1, 9) + rest)
    other[18] ^= 1
    longer = (cbor_head(4, 5) + cbor_integer(2) + cbor_bytes(pack.id) + cbor_integer(1) + cbor_integer(pack.L + 1)
              + cbor_integer(9))
    return [("version 0", ANSWER, write_header(pack, 1, 9, 0) + rest),
            ("version 1 with lists of version 2", ANSWER, write_header(pack, 1, 9, 1) + rest),
            ("version 1", ANSWER, write_header(pack, 1, 9, 1) + version_1),
            ("version 2 with lists of version 1", ANSWER, write_header(pack, 1, 9) + version_1),
            ("version 3", ANSWER, write_header(pack, 1, 9, 3) + rest), ("another pack", "PACK_ID", bytes(other)),
            ("longer sketches", ANSWER, longer + rest), ("no slots", ANSWER, write_header(pack, 0, 9)),
            ("two slots of one", ANSWER, write_header(pack, 2, 9) + rest + write_list(1, 0, 0, 0, b"")),
            ("an empty gallery", ANSWER, write_header(pack, 1, 0) + rest), ("nothing", ANSWER, b"")]


def slot_cases(pack):
    """Of a pack with four slots."""
    def lists(header, *slots):
        return write_header(pack, header, 9) + b"".join(write_list(slot, 0, 0, 0, b"") for slot in slots)

    return [("four slots", OK, lists(4, 0, 1, 2, 3)), ("three of four", ANSWER, lists(4, 0, 1, 2)),
            ("in another order", ANSWER, lists(4, 0, 2, 1, 3)), ("one twice", ANSWER, lists(4, 0, 1, 1, 2)),
            ("a fifth", ANSWER, lists(4, 0, 1, 2, 3, 4)), ("three slots said", ANSWER, lists(3, 0, 1, 2)),
            ("one slot said", ANSWER, lists(1, 0)), ("crowd, any slot", OK, lists(1, 3)),
            ("crowd, beyond the last", ANSWER, lists(1, 4)), ("crowd, two lists", ANSWER, lists(1, 0, 1)),
            ("crowd, no list", ANSWER, lists(1)), ("crowd, four slots", ANSWER, lists(4, 0, 1, 2, 3))]


def answer_cases(packs):
    """[(name, status, pack index, bytes, whether it answers one message of a crowd)]."""
    four = [name[0] for name, _, _ in packs].index("q")
    pack = packs[0][1]
    assert pack.L == 1 and pack.G == 1 and packs[four][1].G == 4
    return [(name, status, 0, data, 0) for name, status, data in
            number_cases(pack) + list_cases(pack) + header_cases(pack)] \
        + [(name, status, four, data, int(name.startswith("crowd"))) for name, status, data in slot_cases(packs[four][1])]
