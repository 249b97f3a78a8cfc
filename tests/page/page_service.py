# SPDX-License-Identifier: Apache-2.0
"""The page on a small sample gallery: builds it in a folder, serves it with a crowd, stops it, decodes what it sent."""
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request

import numpy

from page_words import CLUSTERS, COPIES, NEIGHBOURS, make_words

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
from reference_formats import pack_symbols, write_release  # noqa: E402

DIMENSIONS = 2
CELLS = 4
START_ROW = 12  # of the queries: the second one of the first class
EPSILON = 6
PATIENCE = 300  # seconds, far more than any command takes on a busy machine
RELEASE_HEAD = 25  # bytes of a crowd release before its symbol


class Service:
    def __init__(self, program, wasm, folder):
        self.program, self.wasm, self.folder = os.path.abspath(program), wasm, folder
        self.process, self.address = None, "127.0.0.1:0"
        self.gateway = self.crowd = self.held = None
        self.page = self.path("page")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(f"privatemail {arguments[0]}: {done.stderr.decode()}")
        return done.stdout

    def prepare(self):
        names = json.loads(self.run("sample", "--out", "shapes", "--json"))["names"]
        with open(self.path("names.json"), "w", encoding="utf-8") as file:
            json.dump(names, file)
        for pack, cells in (("first", str(CELLS)), ("other", "5")):
            self.run("pack", "--features", "shapes/public.npy", "--labels", "shapes/public_labels.npy",
                     "--slots", "class", "--cells", cells, "--dims", str(DIMENSIONS), "--codes", "class",
                     "--gaussian", "--rows-are-public",
                     "--out", pack + ".pmpk")
            self.run("index", "--pack", pack + ".pmpk", "--features", "shapes/gallery.npy",
                     "--labels", "shapes/gallery_labels.npy", "--payloads", "shapes/images/gallery",
                     "--cells-per-item", "1", "--store", f"sqlite:{pack}.store")
        self.id = json.loads(self.run("inspect", "first.pmpk", "--json"))["pack"]
        self.release_size = RELEASE_HEAD + -(-(len(names) * CELLS - 1).bit_length() // 8)
        shutil.copytree(os.path.join(ROOT, "demo", "page"), self.page)
        shutil.copytree(self.wasm, os.path.join(self.page, "wasm"), ignore=shutil.ignore_patterns("objects"))
        self.words, self.words_pack = make_words(self, names)
        self.run("keys", "--out", "gateway.keys")
        self.start_crowd()
        self.map = self.path("map")
        subprocess.run([sys.executable, os.path.join(ROOT, "demo", "demo_map.py"),
                        os.path.dirname(os.path.dirname(self.program)), self.path("shapes"), self.map,
                        "--pack", self.path("first.pmpk"), "--words-pack", self.path("words.pmpk"), "--items", "300"],
                       check=True, timeout=PATIENCE)
        subprocess.run([sys.executable, os.path.join(ROOT, "demo", "demo_page.py"), self.path("shapes"), self.page,
                        "--pack", self.id, "--names", self.path("names.json"), "--kind", "drawn pictures of shapes",
                        "--map", self.map, "--start", str(START_ROW), "--epsilon", str(EPSILON), "--crowd", self.path("crowd.json"),
                        "--words", self.path("words.json"), "--words-pack", self.words_pack],
                       check=True, timeout=PATIENCE)

    def start_crowd(self):
        """A gateway, and a relay with its neighbours. crowd.json tells the page where they are."""
        self.gateway = self.spawn([self.program, "serve", "--pack", "first.pmpk", "--store", "sqlite:first.store",
                                   "--pack", "words.pmpk", "--store", "sqlite:words.store",
                                   "--ohttp-key", "gateway.keys", "--listen", "127.0.0.1:0", "--log", "off",
                                   "--grace", "0", "--json"])
        address = json.loads(self.gateway.stdout.readline())["listen"]
        build = os.path.dirname(os.path.dirname(self.program))
        program = os.path.join(ROOT, "demo", "demo_crowd.py")
        self.crowd = self.spawn([sys.executable, program, build, f"http://{address}", "--pack", "first.pmpk",
                                 "--features", "shapes/public.npy", "--labels", "shapes/public_labels.npy",
                                 "--keys", "gateway.keys", "--clients", str(NEIGHBOURS), "--clusters", str(CLUSTERS),
                                 "--copies", str(COPIES), "--words-pack", "words.pmpk"])
        told = self.crowd.stdout.readline()
        with open(self.path("crowd.json"), "wb") as file:
            file.write(told)
        self.relay, self.observer = (json.loads(told)[name] for name in ("relay", "observer"))

    def spawn(self, command):
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE)

    def start(self, pack="first"):
        """At the same address as before, once it has one."""
        self.process = self.spawn(
            [self.program, "serve", "--pack", pack + ".pmpk", "--store", f"sqlite:{pack}.store", "--pack", "words.pmpk",
             "--store", "sqlite:words.store", "--files", self.page, "--connect-to", self.relay, "--connect-to", self.observer, "--listen", self.address, "--log", "off",
             "--grace", "0", "--json"])
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("privatemail serve does not start")
        self.address = json.loads(line)["listen"]
        if self.held:
            self.held.close()

    def stop(self):
        self.end(self.process)
        if self.process:  # nobody else gets its port meanwhile, and whoever connects is refused
            host, port = self.address.rsplit(":", 1)
            self.held = socket.socket()
            self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.held.bind((host, int(port)))
        self.process = None

    def stop_crowd(self):
        for process in (self.crowd, self.gateway):
            self.end(process)
        self.crowd = self.gateway = None

    @staticmethod
    def end(process):
        if process:
            process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()

    def decode(self, release, pack="first"):
        """What `privatemail decode` reads in it; fails unless every byte is as it must be."""
        with open(self.path("sent.cbor"), "wb") as file:
            file.write(release)
        seen = json.loads(self.run("decode", "sent.cbor", "--pack", pack + ".pmpk", "--json"))
        return seen[0] if isinstance(seen, list) else seen

    def open_bundle(self, bundle, size):
        """What the gateway can read in it, by the program that reads for the demo."""
        count = (len(bundle) - 24) // size
        request = bundle[:8] + bytes.fromhex(self.id) + count.to_bytes(4, "big") + size.to_bytes(4, "big") + bundle[24:]
        program = os.path.join(os.path.dirname(os.path.dirname(self.program)), "demo", "demo_observer")
        done = subprocess.run([program, "gateway.keys", "first.pmpk"], cwd=self.folder, input=request,
                              capture_output=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())
        return json.loads(done.stdout)

    def ask(self, release):
        """The server's answer to a release, as JSON."""
        request = urllib.request.Request(f"http://{self.address}/v1/query", release,
                                         {"Content-Type": "application/cbor", "Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def believe(self, release, *options, words=False):
        """What `privatemail map` says a server believes about the items on the page's map."""
        pack, modality = ("words.pmpk", ["--modality", "image"]) if words else ("first.pmpk", [])
        self.run("map", "--method", "pca", "--features", "map/items.npy", "--labels", "map/items_labels.npy", "--pack", pack,
                 *modality, "--release", self.write("sent.cbor", release), "--out", "map.svg", "--posterior", "posterior.npy",
                 "--force", "--json", *map(str, options))
        return numpy.load(self.path("posterior.npy"))

    def last_epoch(self, pack=None):
        """The releases of the last epoch, all of them and those that neighbours really asked; `pack`: id of one slot."""
        with urllib.request.urlopen(self.observer + "/crowd?seen", timeout=PATIENCE) as answer:
            told = json.load(answer)
        symbols = len(told["asked"])
        releases = [write_release(bytes.fromhex(pack or self.id), 1 if pack else 3, pack_symbols([symbol], symbols))
                    for symbol in range(symbols)]
        return ([release for release, count in zip(releases, counts) for _ in range(count)]
                for counts in (told["seen"]["counts"], told["asked"]))

    def resend(self, release, row):
        """What the command finds with the same bytes."""
        with open(self.path("sent.cbor"), "wb") as file:
            file.write(release)
        return json.loads(self.run("query", "--server", f"http://{self.address}", "--pack", "first.pmpk", "--features",
                                   "shapes/queries.npy", "--labels", "shapes/queries_labels.npy", "--row", str(row),
                                   "--resend", "sent.cbor", "--top", "8", "--json"))
