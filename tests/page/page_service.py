# SPDX-License-Identifier: Apache-2.0
"""The page on a small sample gallery: builds it in a folder, serves it, stops it, decodes what was sent to it."""
import ctypes
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIMENSIONS = 2
START_ROW = 12  # of the queries: the second one of the first class
EPSILON = 6
PACK_ROOM = 64  # more words of 8 bytes than a pml_pack has


class Service:
    def __init__(self, program, wasm, folder):
        self.program, self.wasm, self.folder = os.path.abspath(program), wasm, folder
        self.process, self.address = None, "127.0.0.1:0"
        self.page = self.path("page")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"privatemail {arguments[0]}: {done.stderr.decode()}")
        return done.stdout

    def prepare(self):
        names = json.loads(self.run("sample", "--out", "shapes", "--json"))["names"]
        with open(self.path("names.json"), "w", encoding="utf-8") as file:
            json.dump(names, file)
        for pack, cells in (("first", "4"), ("other", "5")):
            self.run("pack", "--features", "shapes/public.npy", "--labels", "shapes/public_labels.npy",
                     "--slots", "class", "--cells", cells, "--dims", str(DIMENSIONS), "--codes", "class",
                     "--gaussian", "--rows-are-public",
                     "--out", pack + ".pmpk")
            self.run("index", "--pack", pack + ".pmpk", "--features", "shapes/gallery.npy",
                     "--labels", "shapes/gallery_labels.npy", "--payloads", "shapes/images/gallery",
                     "--cells-per-item", "1", "--store", f"sqlite:{pack}.store")
        self.id = json.loads(self.run("inspect", "first.pmpk", "--json"))["pack"]
        shutil.copytree(os.path.join(ROOT, "demo", "page"), self.page)
        shutil.copytree(self.wasm, os.path.join(self.page, "wasm"), ignore=shutil.ignore_patterns("objects"))
        subprocess.run([sys.executable, os.path.join(ROOT, "demo", "demo_page.py"), self.path("shapes"), self.page,
                        "--pack", self.id, "--names", self.path("names.json"), "--kind", "drawn pictures of shapes",
                        "--start", str(START_ROW), "--epsilon", str(EPSILON)],
                       check=True, timeout=60)

    def start(self, pack="first"):
        """At the same address as before, once it has one."""
        self.process = subprocess.Popen(
            [self.program, "serve", "--pack", pack + ".pmpk", "--store", f"sqlite:{pack}.store", "--files", self.page,
             "--listen", self.address, "--log", "off", "--grace", "0", "--json"],
            cwd=self.folder, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("privatemail serve does not start")
        self.address = json.loads(line)["listen"]

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)
            self.process.stdout.close()
            self.process = None

    def decode(self, release):
        """What `privatemail decode` reads in it; fails unless every byte is as it must be."""
        with open(self.path("sent.cbor"), "wb") as file:
            file.write(release)
        seen = json.loads(self.run("decode", "sent.cbor", "--pack", "first.pmpk", "--json"))
        return seen[0] if isinstance(seen, list) else seen

    def anchors(self):
        """Slot and code of each of the pack's anchors, as the C library gives them."""
        library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.dirname(self.program)), "libprivatemail.so"))
        with open(self.path("first.pmpk"), "rb") as file:
            data = file.read()
        place = ctypes.create_string_buffer(data, len(data))
        pack, slot, code = (ctypes.c_uint64 * PACK_ROOM)(), ctypes.c_uint32(), (ctypes.c_int16 * DIMENSIONS)()
        if library.pml_pack_open(pack, place, ctypes.c_size_t(len(data)), None, None) != 0:
            raise RuntimeError("the library does not open the pack")
        found = []
        while library.pml_pack_anchor_slot(pack, ctypes.c_size_t(len(found)), ctypes.byref(slot)) == 0:
            if library.pml_pack_anchor_code(pack, ctypes.c_size_t(len(found)), code) != 0:
                raise RuntimeError(f"anchor {len(found)} has no code")
            found.append((slot.value, *code))
        return found

    def resend(self, release, row):
        """What the command finds with the same bytes."""
        with open(self.path("sent.cbor"), "wb") as file:
            file.write(release)
        return json.loads(self.run("query", "--server", f"http://{self.address}", "--pack", "first.pmpk", "--features",
                                   "shapes/queries.npy", "--labels", "shapes/queries_labels.npy", "--row", str(row),
                                   "--resend", "sent.cbor", "--top", "8", "--json"))
