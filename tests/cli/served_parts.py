"""A gallery as a front end sees it: the manifest and the parts of SPEC 8, read by their names and proved by them."""
import base64
import hashlib
import json
import struct


class Manifest:
    """SPEC 8.1."""

    def __init__(self, data):
        (magic, version, self.pack, self.items, self.list, self.slots, self.cells, self.dimensions,
         self.longest) = struct.unpack("<4sI16sQIIIIQ", data[:56])
        count = self.slots * self.cells + (self.slots if self.dimensions else 0)
        if (magic, version, len(data)) != (b"PMGM", 1, 56 + 36 * count):
            raise ValueError("no manifest")
        entries = [(data[at:at + 32].hex(), int.from_bytes(data[at + 32:at + 36], "little"))
                   for at in range(56, len(data), 36)]
        self.places = entries[self.slots * self.cells:]
        self.parts = [entries[slot * self.cells:(slot + 1) * self.cells] for slot in range(self.slots)]


class Gallery:
    """`get` fetches a part by its name; what it brings must fit."""

    def __init__(self, get, version):
        self.get, self.version = get, version
        self.manifest = Manifest(self.fetch(version))

    def fetch(self, name):
        data = self.get(name)
        if hashlib.sha256(data).hexdigest() != name:
            raise ValueError("%s is not what its name says" % name)
        return data

    def part(self, slot, cell):
        name, size = self.manifest.parts[slot][cell]
        data = self.fetch(name)
        if len(data) != size:
            raise ValueError("%s has %d bytes, not %d" % (name, len(data), size))
        return data

    def answer(self, header, cells):
        """To a response release that names these cells."""
        return header + b"".join(self.part(slot, cell) for slot, cell in enumerate(cells))

    def pages(self, slot):
        """Names of the pages of a slot (SPEC 8.2)."""
        data = self.fetch(self.manifest.places[slot][0])
        count, pages = struct.unpack("<II", data[20:28])
        start = 32 + count * (8 + 4 * self.manifest.dimensions + 2)
        return [data[start + 40 * i + 8:start + 40 * i + 40].hex() for i in range(pages)]


def describe(server, pack):
    """What the server tells of a pack's gallery."""
    return json.loads(server.request("GET", "/v1/pack/%s/gallery" % pack).body)


def served(server, pack):
    """The gallery that a server serves now, and the header of its answers."""
    told = describe(server, pack)
    gallery = Gallery(lambda name: server.request("GET", "/v1/part/" + name).body, told["version"])
    return gallery, base64.b64decode(told["header"])
