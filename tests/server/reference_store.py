"""What a store must hold (SPEC 8 and 9), read without the library: SQLite files and folders, manifests, lists, pages, and
what index remembers."""
import hashlib
import io
import json
import os
import sqlite3
import struct

import cbor2
import numpy as np

MASK = (1 << 64) - 1
NONE = bytes(32)


def digest(values, h=0):
    """SPEC 8.4."""
    for value in values:
        if isinstance(value, bytes):
            padded = value + bytes(-len(value) % 8)
            words = [len(value), *struct.unpack("<%dQ" % (len(padded) // 8), padded)]
        else:
            words = [value & MASK]
        for word in words:
            z = (h + 0x9E3779B97F4A7C15 & MASK) ^ word
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
            h = z ^ z >> 31
    return h


def pages_of(items, mean, most):
    """Ascending item numbers, divided into pages."""
    pages = []
    for item in items:
        if not pages or len(pages[-1]) == most or digest([item]) % mean == 0:
            pages.append([])
        pages[-1].append(item)
    return pages


class Store:
    """All blobs of a store and its pointers: {pack: (version, record, building)}. Every name is checked."""

    def __init__(self, path):
        (self._read_folder if os.path.isdir(path) else self._read_sqlite)(path)
        for shelf in (self.parts, self.private):
            for name, data in shelf.items():
                if hashlib.sha256(data).digest() != name:
                    raise ValueError("%s is not what its name says" % name.hex())

    def _read_sqlite(self, path):
        database = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
        try:
            self.head = [database.execute("PRAGMA " + name).fetchone()[0] for name in ("application_id", "user_version")]
            self.parts = dict(database.execute("SELECT name, bytes FROM parts"))
            self.private = dict(database.execute("SELECT name, bytes FROM private"))
            self.pointers = {row[0]: row[1:] for row in database.execute(
                "SELECT pack, version, record, building FROM pointers")}
        finally:
            database.close()

    def _read_folder(self, path):
        def read(*names):
            with open(os.path.join(path, *names), "rb") as stream:
                return stream.read()

        def shelf(folder):
            there = os.path.isdir(os.path.join(path, folder))
            return {bytes.fromhex(name): read(folder, name) for name in os.listdir(os.path.join(path, folder))} if there else {}

        self.head, self.parts, self.private, self.pointers = None, shelf("part"), shelf("private"), {}
        for name in os.listdir(os.path.join(path, "gallery")):
            told = json.loads(read("gallery", name))
            self.pointers[bytes.fromhex(name)] = tuple(bytes.fromhex(told.get(key, "00" * 32))
                                                       for key in ("version", "record", "building"))


class Version:
    """A version of a gallery: its manifest, lists and places."""

    def __init__(self, store, name):
        self.store, self.name, data = store, name, store.parts[name]
        self.data = data
        (magic, form, self.pack, self.items, self.list, self.slots, self.cells, self.dimensions,
         self.longest) = struct.unpack("<4sI16sQIIIIQ", data[:56])
        self.entries = [(data[at:at + 32], int.from_bytes(data[at + 32:at + 36], "little")) for at in range(56, len(data), 36)]
        if (magic, form) != (b"PMGM", 1) or len(self.entries) != self.slots * (self.cells + (self.dimensions > 0)):
            raise ValueError("no manifest")

    def part(self, slot, cell):
        name, size = self.entries[slot * self.cells + cell]
        data = self.store.parts[name]
        if len(data) != size:
            raise ValueError("a part has %d bytes, not %d" % (len(data), size))
        return data

    def places(self, slot):
        """(item numbers, places, bytes of payloads, [(first item, bytes of the page)], T)."""
        data = self.store.parts[self.entries[self.slots * self.cells + slot][0]]
        magic, form, own, k, iterations, count, pages, zero = struct.unpack_from("<4s7I", data)
        if (magic, form, own, k, zero) != (b"PMGP", 1, slot, self.dimensions, 0):
            raise ValueError("no places")
        at = 32
        items = np.frombuffer(data, "<u8", count, at)
        values = np.frombuffer(data, "<f4", count * k, at + 8 * count).reshape(count, k)
        payloads = np.frombuffer(data, "<u2", count, at + (8 + 4 * k) * count)
        at += (10 + 4 * k) * count
        if len(data) != at + 40 * pages:
            raise ValueError("places of another length")
        found = [(int.from_bytes(data[p:p + 8], "little"), self.store.parts[data[p + 8:p + 40]])
                 for p in range(at, len(data), 40)]
        return items, values, payloads, found, iterations

    def needed(self):
        """Names of all parts."""
        names = {self.name} | {name for name, _ in self.entries}
        for slot in range(self.slots if self.dimensions else 0):
            data = self.store.parts[self.entries[self.slots * self.cells + slot][0]]
            pages = struct.unpack_from("<I", data, 24)[0]
            names |= {data[p + 8:p + 40] for p in range(len(data) - 40 * pages, len(data), 40)}
        return names


def constant_length(pack, items, longest):
    """SPEC 8.1, from the bytes of the longest list."""
    total = len(cbor2.dumps([2 if pack.code else 1, pack.id, 1, pack.L, items])) + longest
    step = 1 << max(0, total.bit_length() - 1 - 5)
    return -(-total // step) * step


def leb(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def listed(part, L):
    """The item numbers of a list (SPEC 3.1, 3.2)."""
    stream = io.BytesIO(part)
    head = cbor2.load(stream)
    if len(head) == 2:
        return [cbor2.load(stream)[0] for _ in range(head[1])]
    _, count, form, _, data = head
    at, item, items = 0, -1, []
    for _ in range(count):
        gap, at = leb(data, at)
        item += gap + 1
        at = leb(data, at)[1] if form & 1 else at
        at += L
        size, at = leb(data, at) if form & 2 else (0, at)
        at += size
        items.append(item)
    return items


def read_gallery(path, pack):
    """Of the gallery of a pack (its bytes): the items {item: (class, slot, row, sketch, place, payload)}, and (slot, cell,
    item) of every place in a list."""
    store = Store(path)
    version, record, _ = store.pointers[pack[8:24]]
    state, version = Record(store, record).states[0], Version(store, version)
    cells = [(slot, cell, item) for slot in range(version.slots) for cell in range(version.cells)
             for item in listed(version.part(slot, cell), state.L)]
    return state.rows, cells


class Record:
    """SPEC 8.5: what index remembers of a gallery."""

    def __init__(self, store, name):
        self.store, data = store, store.private[name]
        magic, form, self.pack, self.keep, count = struct.unpack_from("<4sI16sII", data)
        if (magic, form) != (b"PMGR", 1) or len(data) != 32 + 64 * count:
            raise ValueError("no record")
        self.history = [(data[at:at + 32], data[at + 32:at + 64]) for at in range(32, len(data), 64)]
        self.blobs = {name}
        self.states = [State(store, state) for _, state in self.history]
        for (_, state), read in zip(self.history, self.states):
            self.blobs |= {state} | read.blobs


class State:
    def __init__(self, store, name):
        data = store.private[name]
        (magic, form, self.pack, self.items, self.fixed_at, self.list, self.cells_per_item, self.iterations, self.d, self.L,
         self.k, pages, voters, neighbours, zero) = struct.unpack_from("<4sI16sQQ10I", data)
        if (magic, form, zero) != (b"PMGS", 1, 0) or len(data) != 80 + 76 * pages + 32 * voters + 36 * neighbours:
            raise ValueError("no state")
        at, self.blobs, self.rows, self.pages = 80, set(), {}, []
        for _ in range(pages):
            first, count = struct.unpack_from("<QI", data, at)
            own, payloads = data[at + 12:at + 44], data[at + 44:at + 76]
            self._read_page(store, first, count, own, payloads)
            self.blobs |= {own} | ({payloads} if payloads != NONE else set())
            at += 76
        self.voters = [data[at + 32 * i:at + 32 * i + 32] for i in range(voters)]
        at += 32 * voters
        self.neighbours = [(int.from_bytes(data[p:p + 4], "little"), data[p + 4:p + 36])
                           for p in range(at, len(data), 36)]
        self.blobs |= set(self.voters) | {name for _, name in self.neighbours}

    def _read_page(self, store, first, count, own, payloads):
        """rows: {item: (class, slot, int8 row, sketch, place, payload)}."""
        data = store.private[own]
        magic, form, *shape = struct.unpack_from("<4s5I", data)
        if (magic, form, shape) != (b"PMGI", 1, [count, self.d, self.L, self.k]) or \
                len(data) != 24 + count * (18 + self.d + self.L + 4 * self.k):
            raise ValueError("no page")
        heads = [struct.unpack_from("<QiIH", data, 24 + 18 * i) for i in range(count)]
        at = 24 + 18 * count
        rows = np.frombuffer(data, "i1", count * self.d, at).reshape(count, self.d)
        at += count * self.d
        places = np.frombuffer(data, "<f4", count * self.k, at + count * self.L).reshape(count, self.k)
        all_payloads, start = store.private[payloads] if payloads != NONE else b"", 0
        for i, (item, label, slot, size) in enumerate(heads):
            self.rows[item] = (label, slot, rows[i], data[at + i * self.L:at + (i + 1) * self.L], places[i],
                               all_payloads[start:start + size])
            start += size
        if start != len(all_payloads) or heads[0][0] != first:
            raise ValueError("a page that does not fit its payloads")
        self.pages.append([head[0] for head in heads])
