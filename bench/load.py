"""Load on loopback: queries per second, latency and memory, for both stores and both mechanisms.

    python3 bench/load.py path/to/privatemail [--items N] [--seconds S] [--folder DIR]

Draws a gallery, packs and indexes it (one slot, and twenty classes; f = 1 %), starts `privatemail serve` and wrk on this
machine, and prints the table of docs/SCALE.md. --folder keeps what was made for the next run. Needs PostgreSQL, wrk,
numpy. --check: a small gallery and seconds instead of minutes, and no figures to be believed."""
import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "tests", "cli"))
from postgres import Postgres  # noqa: E402
from served_parts import Gallery  # noqa: E402

FEATURES, CENTRES, CLASSES, PUBLIC, RELEASES, NEAREST = 16, 400, 20, 5000, 100, 32
PACKS = {"one slot": [], "20 classes": ["--labels", "public_labels.npy", "--slots", "class"]}


def run(folder, *arguments):
    done = subprocess.run([str(argument) for argument in arguments], cwd=folder, capture_output=True, timeout=3600)
    if done.returncode != 0:
        raise SystemExit("%s: %s" % (arguments[:2], done.stderr.decode()))
    return done.stdout


def make_data(folder, items):
    kept = os.path.join(folder, "gallery.npy")
    if os.path.exists(kept):
        if np.load(kept, mmap_mode="r").shape[0] != items:
            raise SystemExit("load: %s holds another number of items: choose another --folder" % folder)
        return
    source = np.random.default_rng(9)
    centres = 2 * source.standard_normal((CENTRES, FEATURES))
    which = source.integers(CENTRES, size=items)
    features = (centres[which] + source.standard_normal((items, FEATURES))).astype("f4")
    labels = (which % CLASSES).astype("i4")
    for name, array in (("public.npy", features[:PUBLIC]), ("public_labels.npy", labels[:PUBLIC]),
                        ("labels.npy", labels), ("gallery.npy", features)):
        np.save(os.path.join(folder, name), array)


def make_pack(program, folder, name, share):
    pack = name.replace(" ", "-")
    if not os.path.exists(os.path.join(folder, pack + ".pmpk")):
        run(folder, program, "pack", "--features", "public.npy", *PACKS[name], "--cells", round(1 / share),
            "--prototypes-per-cell", 1, "--gaussian", "--codes", "random", "--rows-are-public", "--out", pack + ".pmpk")
    os.makedirs(os.path.join(folder, pack), exist_ok=True)
    for mechanism in ("response", "gaussian"):
        for row in range(RELEASES // 10):
            out = "%s/%s-%d" % (pack, mechanism, row)
            if not os.path.exists(os.path.join(folder, out + ".0")):
                labels = ["--labels", "public_labels.npy"] if name != "one slot" else []
                run(folder, program, "privatize", "--pack", pack + ".pmpk", "--features", "public.npy", *labels, "--row",
                    row, "--epsilon", 4, "--mechanism", mechanism, "--repeat", 10, "--out", out)
        with open(os.path.join(folder, pack, mechanism + ".list"), "w", encoding="utf-8") as stream:
            for row in range(RELEASES // 10):
                for i in range(10):
                    stream.write(os.path.join(folder, pack, "%s-%d.%d\n" % (mechanism, row, i)))
    return pack


def index(program, folder, pack, name, uri):
    labels = [] if name == "one slot" else ["--labels", "labels.npy"]
    if uri.startswith("sqlite:") and os.path.exists(os.path.join(folder, uri[7:])):
        return None
    return json.loads(run(folder, program, "index", "--pack", pack + ".pmpk", "--features", "gallery.npy", *labels,
                          "--cells-per-item", 1, "--store", uri, "--json"))["seconds"]


def cpu_seconds(process):
    with open("/proc/%d/stat" % process, encoding="utf-8") as stream:
        fields = stream.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def database_seconds(database):
    """CPU time so far of all processes of PostgreSQL that live now."""
    with open(os.path.join(database.data, "postmaster.pid"), encoding="utf-8") as stream:
        parent = int(stream.readline())
    children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True).stdout.split()
    return sum(cpu_seconds(int(child)) for child in children if os.path.exists("/proc/" + child))


class Service:
    def __init__(self, program, folder, pack, uri, *options):
        self.process = subprocess.Popen([program, "serve", "--pack", pack + ".pmpk", "--store", uri, "--listen",
                                         "127.0.0.1:0", "--log", "off", "--json", "--nearest", str(NEAREST),
                                         *map(str, options)],
                                        cwd=folder, stdout=subprocess.PIPE)
        self.url = "http://" + json.loads(self.process.stdout.readline())["listen"]

    def metric(self, name):
        text = subprocess.run(["curl", "-s", self.url + "/metrics"], capture_output=True, text=True).stdout
        return sum(float(line.split()[-1]) for line in text.split("\n") if line.startswith("privatemail_" + name))

    def seconds(self):
        """CPU time so far."""
        return cpu_seconds(self.process.pid)

    def megabytes(self):
        with open("/proc/%d/status" % self.process.pid, encoding="utf-8") as stream:
            return int(re.search(r"VmHWM:\s+(\d+)", stream.read())[1]) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def milliseconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def load(url, seconds, *arguments, connections=8):
    """Requests per second, p50 and p99 in ms, bytes per request."""
    text = subprocess.run(["wrk", "-t1", "-c%d" % connections, "-d%gs" % seconds, "--timeout", "30s", "--latency", "-s",
                           os.path.join(HERE, "load.lua"), url, "--", *arguments],
                          capture_output=True, text=True, timeout=seconds + 120).stdout
    if "Non-2xx" in text or "Socket errors" in text or "Requests/sec" not in text:
        raise SystemExit("wrk: " + text)
    read = re.search(r"(\d+) requests in [0-9.]+\w+, ([0-9.]+)(B|KB|MB|GB) read", text)
    size = float(read[2]) * {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}[read[3]] / int(read[1])
    return (float(re.search(r"Requests/sec:\s+([0-9.]+)", text)[1]),
            *(milliseconds(re.search(r"\s%d%%\s+(\S+)" % part, text)[1]) for part in (50, 99)), size)


def fill_cache(url, releases):
    """Every release once."""
    with open(releases, encoding="utf-8") as stream:
        for name in stream:
            subprocess.run(["curl", "-sSf", "-o", os.devnull, "-H", "Content-Type: application/cbor", "--data-binary",
                            "@" + name.strip(), url + "/v1/query"], check=True)


def constant(folder, pack, size):
    """wrk's arguments for a body of this length that never changes: the beginning of the pack, from memory."""
    with open(os.path.join(folder, pack + ".pmpk"), "rb") as stream:
        data = stream.read()
    if len(data) < size:
        raise SystemExit("the pack has fewer bytes than an answer: use more public rows")
    return ["get", "/v1/pack/" + data[8:24].hex(), "bytes=0-%d" % (size - 1)]


def measure(program, folder, pack, uri, mechanism, seconds, database, *options):
    """The figures of one line; options may leave out the cache."""
    releases = os.path.join(folder, pack, mechanism + ".list")
    with Service(program, folder, pack, uri, *options) as service:
        def counts():
            return np.array([service.metric("queries_total"), service.metric("queries_from_store_total"),
                             service.seconds(), database_seconds(database)])
        if "--cache-bytes" not in options:
            fill_cache(service.url, releases)
        load(service.url, 1, releases)  # opens the connections to the database
        before = counts()
        rate, middle, late, size = load(service.url, seconds, releases)
        queries, touched, own, other = counts() - before
        line = {"rate": rate, "p50": middle, "p99": late, "bytes": size, "megabytes": service.megabytes(),
                "touched": touched / queries, "cpu": 1000 * own / queries, "database": 1000 * other / queries}
        if mechanism == "response" and not options:  # by turns, because others use this machine too
            same = constant(folder, pack, int(size))
            pairs = [(load(service.url, seconds, releases)[0], load(service.url, seconds, *same)[0]) for _ in range(3)]
            line["constant"] = sorted((answers / plain, plain) for answers, plain in pairs)[1]
        return line


def brute_force(folder, pack):
    """Queries per second of numpy, one core, over the same places; CPU milliseconds of one."""
    database = sqlite3.connect(os.path.join(folder, pack + ".store"))

    def part(name):
        return database.execute("SELECT bytes FROM parts WHERE name = ?", (bytes.fromhex(name),)).fetchone()[0]
    gallery = Gallery(part, database.execute("SELECT version FROM pointers").fetchone()[0].hex())
    data, k = part(gallery.manifest.places[0][0]), gallery.manifest.dimensions
    count = int.from_bytes(data[20:24], "little")
    places = np.frombuffer(data, "<f4", count * k, 32 + 8 * count).reshape(-1, k).astype("f8")
    database.close()
    start, own, count = time.time(), time.process_time(), 0
    while time.time() - start < 3:
        distances = ((places - places[count]) ** 2).sum(axis=1)
        nearest = np.argpartition(distances, NEAREST)[:NEAREST]
        nearest[np.argsort(distances[nearest])]
        count += 1
    return count / (time.time() - start), 1000 * (time.process_time() - own) / count


def report(program, folder, database, items, seconds, share, names):
    print("%d items, %d features, f = %g, epsilon 4, two cores shared with wrk (8 connections)\n" % (items, FEATURES, share))
    print("| slots | mechanism | store | cache | queries/s | p50 ms | p99 ms | bytes | MB | CPU ms per query: service, "
          "database | touch the store | goal |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    times = []
    for name in names:
        pack = make_pack(program, folder, name, share)
        uris = {"SQLite": "sqlite:%s.store" % pack, "PostgreSQL": database.uri()}
        for store, uri in uris.items():
            took = index(program, folder, pack, name, uri)
            if took is not None:
                times.append("%s, %s: indexed in %.0f s" % (name, store, took))
        for store, uri in uris.items():
            for mechanism in ("response", "gaussian"):
                for options in ([], ["--cache-bytes", 0]):
                    line = measure(program, folder, pack, uri, mechanism, seconds, database, *options)
                    goal = ""
                    if "constant" in line:
                        goal = "%.2f x a constant body (%.0f/s)" % line["constant"]
                    if mechanism == "gaussian" and name == "one slot" and options:
                        slow, cpu = brute_force(folder, pack)
                        goal = "%.0f x numpy (%.1f/s); CPU 1/%.0f of its %.0f ms" % (
                            line["rate"] / slow, slow, cpu / (line["cpu"] + line["database"]), cpu)
                    print("| %s | %s | %s | %s | %.0f | %.1f | %.1f | %.0f | %.0f | %.3f, %.3f | %.1f %% | %s |" % (
                        name, mechanism, store, "off" if options else "on",
                        line["rate"], line["p50"], line["p99"], line["bytes"], line["megabytes"], line["cpu"],
                        line["database"], 100 * line["touched"], goal), flush=True)
    size = database.query("SELECT pg_total_relation_size('privatemail_parts')")
    times.append("PostgreSQL: %.0f bytes an item and pack, without what index alone reads" % (int(size) / items / len(names)))
    print("\n" + "\n".join(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--items", type=int, default=1000000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    items, seconds, share = (20000, 1, 0.05) if given.check else (given.items, given.seconds, 0.01)
    with tempfile.TemporaryDirectory() as temporary, \
            Postgres("shared_buffers=1GB", "maintenance_work_mem=512MB", "max_wal_size=8GB") as database:
        folder = os.path.abspath(given.folder or temporary)
        make_data(folder, items)
        report(os.path.abspath(given.program), folder, database, items, seconds, share,
               list(PACKS)[:1] if given.check else PACKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
