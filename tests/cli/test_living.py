"""A gallery that lives: python3 tests/cli/test_living.py path/to/privatemail [--sequences N] [--kinds sqlite,dir,postgres]
[--seed N]

Random sequences of add, replace, remove and kill -9 on every kind of store, with a service that answers all the while.
Whatever was killed, the gallery is the one before or the one after; in the end it is the one that index makes of the
final items from nothing, byte for byte; and every answer is of exactly one version. Ends with 'N passed, N failed';
exits non-zero when something failed, 77 when there is no PostgreSQL for a kind that was asked for."""
import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402

import postgres  # noqa: E402
from harness import INPUT, Tester, wait_until  # noqa: E402
from serving import CBOR, Service, pack_id  # noqa: E402

COLUMNS, CLASSES, MOST, LIST = 12, 3, 90, 7
STEPS = 6  # changes of a sequence


class Settings:
    """A pack, how its gallery is indexed, and releases that ask all of its cells."""

    def __init__(self, tester, name, pack_options, index_options):
        self.name, self.index_options, self.labelled = name, index_options, "class" in pack_options
        self.pack = name + ".pmpk"
        tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "public_labels.npy", *pack_options,
                        "--out", self.pack)
        self.id = pack_id(tester, name)
        self.releases = []
        for i in range(6):
            mechanism = "gaussian" if "--gaussian" in pack_options and i % 2 else "response"
            out = "%s-%d.cbor" % (name, i)
            tester.succeeds("release", "privatize", "--pack", self.pack, "--features", "public.npy", "--row", i,
                            *(["--labels", "public_labels.npy"] if self.labelled else []), "--epsilon", 0.5,
                            "--mechanism", mechanism, "--out", out)
            self.releases.append(tester.read(out))


def make_settings(tester):
    source = np.random.default_rng(5)
    centres = source.normal(size=(20, COLUMNS))
    np.save(tester.path("public.npy"),
            (centres[np.arange(300) % 20] + 0.4 * source.normal(size=(300, COLUMNS))).astype("<f4"))
    np.save(tester.path("public_labels.npy"), (np.arange(300) % CLASSES).astype("<i4"))
    return [
        Settings(tester, "plain", ["--slots", "one", "--cells", "6"], ["--list", LIST]),
        Settings(tester, "voters", ["--slots", "class", "--cells", "4"],
                 ["--list", 3, "--voters", "public.npy", "--voters-labels", "public_labels.npy"]),
        Settings(tester, "both", ["--slots", "one", "--cells", "5", "--gaussian", "--rows-are-public"], ["--list", LIST]),
        Settings(tester, "own", ["--slots", "class", "--cells", "4"], ["--cells-per-item", 2]),
    ]


class Gallery:
    """What the gallery should hold: number -> (features, class, payload)."""

    def __init__(self, source):
        self.source, self.items = source, {}

    def draw(self, number):
        features = self.source.normal(size=COLUMNS)
        if self.items and self.source.random() < 0.2:  # the same picture twice
            features = self.items[self.source.choice(list(self.items))][0]
        payload = self.source.bytes(int(self.source.integers(1, 40))) if self.source.random() < 0.5 else b""
        return (features.astype("<f4"), int(self.source.integers(CLASSES)), payload)

    def write(self, tester, name, numbers, items):
        """Files of these items, and the options that name them."""
        folder = tester.path(name + "-payloads")
        os.makedirs(folder, exist_ok=True)
        for old in os.listdir(folder):
            os.unlink(os.path.join(folder, old))
        for number in numbers:
            if items[number][2]:
                with open(os.path.join(folder, "%d.bin" % number), "wb") as stream:
                    stream.write(items[number][2])
        np.save(tester.path(name + ".npy"), np.array([items[number][0] for number in numbers], "<f4"))
        np.save(tester.path(name + "-labels.npy"), np.array([items[number][1] for number in numbers], "<i4"))
        tester.write(name + "-ids.txt", b"".join(b"%d\n" % number for number in numbers))
        return ["--ids", name + "-ids.txt", "--labels", name + "-labels.npy", "--payloads", folder]


class Asker(threading.Thread):
    """Asks a service all the time, and keeps what it got: (release, answer). `patient`: told to come later, as by a database
    that was held up, it does so for half a minute."""

    def __init__(self, service, releases, patient):
        super().__init__()
        self.service, self.releases, self.patient = service, releases, patient
        self.answers, self.faults, self.over = set(), [], False

    def run(self):
        connection = http.client.HTTPConnection(self.service.host, self.service.port, timeout=60)
        turn, put_off = 0, None
        while not self.over:
            turn += put_off is None
            release = turn % len(self.releases)
            try:
                connection.request("POST", "/v1/query", self.releases[release], CBOR)
                reply = connection.getresponse()
                body = reply.read()
            except (OSError, http.client.HTTPException) as fault:
                self.faults.append(repr(fault))
                connection.close()
                continue
            if self.patient and reply.status == 503 and reply.headers["Retry-After"]:
                put_off = put_off or time.monotonic()
                if time.monotonic() < put_off + 30:
                    time.sleep(int(reply.headers["Retry-After"]))
                    continue
            put_off = None
            if reply.status == 200:
                self.answers.add((release, body))
            else:
                self.faults.append("%d %r" % (reply.status, body[:200]))
            time.sleep(0.002)
        connection.close()


class Sequence:
    def __init__(self, tester, settings, store, seed, serve):
        self.tester, self.settings, self.store, self.serve = tester, settings, store, serve
        self.random, self.gallery = random.Random(seed), Gallery(np.random.default_rng(seed))
        self.what = "%s in %s, seed %d" % (settings.name, store.split(":")[0], seed)
        self.expected = []  # for every version that there was: the answers to all releases
        self.kills = 0

    def describe(self):
        return self.tester.json(self.what + ": gallery", "gallery", "--store", self.store, "--pack", self.settings.pack)

    def index_options(self):
        return ["--store", self.store, "--pack", self.settings.pack]

    def remember(self, version):
        """What this version answers, by a command that reads it once."""
        answers = []
        for release in self.settings.releases:
            self.tester.write("asked.cbor", release)
            self.tester.succeeds(self.what + ": find", "find", "--pack", self.settings.pack, "--store", self.store,
                                 "--release", "asked.cbor", "--out", "found.answer", "--force")
            answers.append(self.tester.read("found.answer"))
        self.expected.append((version, answers))

    def maybe_killed(self, *arguments):
        """Runs a command, and kills it at some moment, often; returns its exit code, None when it was killed."""
        command = [self.tester.program, *map(str, arguments), "--json"]
        process = subprocess.Popen(command, cwd=self.tester.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if self.random.random() < 0.5:
            try:
                process.wait(timeout=self.random.random() * 0.08)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                process.stderr.close()
                self.kills += 1
                return None
        text = process.stderr.read().decode(errors="replace")
        process.stderr.close()
        code = process.wait()
        self.tester.check(code == 0 or "no item" in text or "not in the gallery" in text,
                          "%s: %s: exit code %d, %s" % (self.what, arguments, code, text))
        return code

    def change(self, *arguments):
        """One change, killed any number of times: each time the gallery is the old or the new one. When the new one is there
        already, a removal of the same items is refused."""
        before = self.describe()["version"]
        for _ in range(40):
            code = self.maybe_killed("index", *self.index_options(), *arguments)
            after = self.describe()["version"]
            if code is not None or after != before:
                break
        if code is None and "--add" in arguments:  # once more changes nothing
            self.tester.succeeds(self.what + ": again", "index", *self.index_options(), *arguments)
            self.tester.check(self.describe()["version"] == after, self.what + ": the same items again change nothing")
        if code is None and "--remove" in arguments:
            again = self.tester.run("index", *self.index_options(), *arguments)
            self.tester.check(again.returncode == INPUT, self.what + ": what is gone cannot be removed")
        if after != before:
            self.remember(after)

    def first(self):
        numbers = self.random.sample(range(1, 4 * MOST), self.random.randint(1, MOST))
        self.gallery.items = {number: self.gallery.draw(number) for number in numbers}
        files = self.gallery.write(self.tester, "first", numbers, self.gallery.items)
        arguments = ["index", *self.index_options(), "--features", "first.npy", *files, *self.settings.index_options]
        for _ in range(40):
            code = self.maybe_killed(*arguments)
            if code is not None:
                break
            there = self.tester.run("gallery", "--store", self.store, "--pack", self.settings.pack, "--json")
            if there.returncode == 0 and json.loads(there.stdout)["version"]:
                break
        self.remember(self.describe()["version"])

    def step(self):
        items = self.gallery.items
        if self.random.random() < 0.45 and len(items) > 2:
            gone = self.random.sample(sorted(items), self.random.randint(1, max(1, len(items) // 3)))
            self.tester.write("gone.txt", b"".join(b"%d\n" % number for number in gone))
            for number in gone:
                del items[number]
            self.change("--remove", "gone.txt")
        else:
            numbers = self.random.sample(range(1, 4 * MOST), self.random.randint(1, 20))
            if items and self.random.random() < 0.5:  # some are replaced
                numbers = list({*numbers, *self.random.sample(sorted(items), min(len(items), 5))})
            new = {number: self.gallery.draw(number) for number in numbers}
            files = self.gallery.write(self.tester, "more", numbers, new)
            items.update(new)
            self.change("--add", "more.npy", *files)

    def from_nothing(self):
        """The version that index makes of the final items alone."""
        numbers = sorted(self.gallery.items, key=lambda number: self.random.random())
        files = self.gallery.write(self.tester, "all", numbers, self.gallery.items)
        fresh = "sqlite:fresh.store"
        for name in os.listdir(self.tester.folder):
            if name.startswith("fresh.store"):
                os.unlink(self.tester.path(name))
        self.tester.succeeds(self.what + ": from nothing", "index", "--store", fresh, "--pack", self.settings.pack,
                             "--features", "all.npy", *files, *self.settings.index_options)
        return self.tester.json(self.what, "gallery", "--store", fresh, "--pack", self.settings.pack)

    def run(self):
        self.first()
        asker = service = None
        if self.serve:
            service = Service(self.tester, "service", [self.tester.program, "serve", "--json", "--listen", "127.0.0.1:0",
                                                       "--pack", self.settings.pack, "--store", self.store])
            asker = Asker(service, self.settings.releases, self.store.startswith("postgres:"))
            asker.start()
        for _ in range(STEPS):
            self.step()
        there, fresh = self.describe(), self.from_nothing()
        self.tester.check((there["version"], there["items"], there["list"]) ==
                          (fresh["version"], fresh["items"], fresh["list"]),
                          "%s: %d items after %d kills are not those from nothing" % (self.what, there["items"], self.kills))
        self.tester.check(there["items"] == len(self.gallery.items), self.what + ": number of items")
        if self.serve:
            self.finish(asker, service, there["version"])

    def finish(self, asker, service, version):
        self.tester.check(wait_until(lambda: self.served(service) == version, 60), self.what + ": the service follows")
        asker.over = True
        asker.join()
        service.__exit__(None, None, None)
        good = {(release, answers[release]) for _, answers in self.expected for release in range(len(answers))}
        self.tester.check(asker.answers and asker.answers <= good,
                          "%s: %d answers are of no version" % (self.what, len(asker.answers - good)))
        self.tester.check(not asker.faults, "%s: %s" % (self.what, asker.faults[:3]))

    def served(self, service):
        connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
        connection.request("GET", "/v1/pack/%s/gallery" % self.settings.id)
        told = json.loads(connection.getresponse().read())
        connection.close()
        return told["version"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--sequences", type=int, default=24)
    parser.add_argument("--kinds", default="sqlite,dir")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    database = None
    if "postgres" in kinds:
        try:
            database = postgres.Postgres()
        except FileNotFoundError as fault:
            print(fault, file=sys.stderr)
            return postgres.SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(options.program, folder)
        every = make_settings(tester)
        for i in range(options.sequences):
            kind, settings = kinds[i % len(kinds)], every[i // len(kinds) % len(every)]
            if kind == "postgres":
                database.query("drop table if exists privatemail_parts, privatemail_private, privatemail_pointers")
                store = "postgres:" + database.conninfo
            else:
                store = "%s:store-%d" % (kind, i)
            Sequence(tester, settings, store, options.seed * 100000 + i, serve=i % 4 == 0).run()
            subprocess.run("rm -rf store-*", shell=True, cwd=folder, check=True)
            if sys.stderr.isatty():
                print("\r%d of %d sequences" % (i + 1, options.sequences), end="", file=sys.stderr)
    if database:
        database.__exit__(None, None, None)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
