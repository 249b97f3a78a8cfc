"""A gallery changes while it is served: python3 tests/cli/test_follow.py path/to/privatemail [SCENARIO...]

Answers are of one version, new ones come in time, and broken ones do not. Needs numpy, cbor2, nginx, openssl. Ends with
'N passed, N failed'; exits non-zero when something failed."""
import base64
import json
import os
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

from crowd import Front  # noqa: E402
from gateway_messages import CELLS, SLOTS, Client, inside  # noqa: E402
from harness import OWN, Tester  # noqa: E402
from served_parts import Gallery, describe  # noqa: E402
from serving import Server, make_galleries, pack_id  # noqa: E402

LATEST = 2.0  # seconds after the change, until no answer has what was removed
BUSY = 0.1       # seconds that an answer may take on a busy machine
AT_ONCE = 5.0  # seconds after a signal; nobody polls then


def index(tester, store, *options, name="p"):
    return tester.json("index", "index", "--pack", name + ".pmpk", "--store", store, *options)


def make_store(tester, store, name="p"):
    index(tester, store, "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads", *OWN, name=name)


def remove(tester, store, *items):
    tester.write("gone.txt", "".join("%d\n" % item for item in items).encode())
    index(tester, store, "--remove", "gone.txt")


def find(tester, store, mechanism="response", name="p"):
    """(the answer by the command, the items in it)"""
    told = tester.json("find", "find", "--release", "%s-%s.cbor" % (name, mechanism), "--pack", name + ".pmpk", "--store",
                       store, "--top", 200, "--out", "found.answer", "--force")
    return tester.read("found.answer"), [candidate["item"] for slot in told["slots"] for candidate in slot["candidates"]]


def wait_for(condition, seconds=20.0):
    """Seconds that it took; None when it did not happen."""
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        if condition():
            return time.monotonic() - start
        time.sleep(0.03)
    return None


class Asking(threading.Thread):
    """Asks again and again: [(when it began, when it ended, status, body)]"""

    def __init__(self, server, release):
        super().__init__()
        self.server, self.release, self.answers, self.over = server, release, [], False
        self.start()

    def run(self):
        while not self.over:
            began = time.monotonic()
            answer = self.server.post(self.release)
            self.answers.append((began, time.monotonic(), answer.status, answer.body))

    def end(self):
        self.over = True
        self.join()
        return self.answers


def held_up(stalls, since, until):
    """Seconds in which nothing was answered, beyond what a busy machine's answers take: there the server looks later."""
    return sum(max(0.0, min(ended, until) - max(began, since) - BUSY) for began, ended in stalls)


def switch(tester, store, again=False):
    """Items go under load: every answer is that of one version, and none is late. On a busy machine a new version may be,
    but not again. Whether all was in time."""
    make_store(tester, store)
    releases = {mechanism: tester.read("p-%s.cbor" % mechanism) for mechanism in ("response", "gaussian")}
    known = {mechanism: [find(tester, store, mechanism)[0]] for mechanism in releases}
    switched = []
    with Server(tester, "--threads", 2, stores=[store]) as server:
        before = describe(server, pack_id(tester))
        asking = {mechanism: Asking(server, release) for mechanism, release in releases.items()}
        for step in range(2):
            items = sorted(set(find(tester, store)[1] + find(tester, store, "gaussian")[1]))[:20]
            wait_for(lambda: all(each.answers for each in asking.values()), 60)
            time.sleep(0.3)
            remove(tester, store, *items)
            switched.append(time.monotonic())
            for mechanism in releases:
                known[mechanism].append(find(tester, store, mechanism)[0])
                tester.check(not set(items) & set(find(tester, store, mechanism)[1]), "removed from %s" % mechanism)
            time.sleep(LATEST + 0.5)
            wait_for(lambda: all(any(body == known[mechanism][-1] for _, _, _, body in each.answers[-10:])
                                 for mechanism, each in asking.items()), 8)
        ended = {mechanism: each.end() for mechanism, each in asking.items()}
        late = {}
        for mechanism, found in ended.items():
            tester.check(len(found) > 50 and {status for _, _, status, _ in found} == {200}, "%s: all answered" % mechanism)
            tester.check({body for _, _, _, body in found} <= set(known[mechanism]), "%s %s: of one version" % (store, mechanism))
            stalls = [(began, ended) for began, ended, _, _ in found if ended - began > BUSY]
            late[mechanism] = [began for began, _, _, body in found for step, when in enumerate(switched)
                               if began > when + LATEST and body in known[mechanism][:step + 1] and
                               began > when + LATEST + held_up(stalls, when, began)]
        if any(late.values()) and not again:
            return False
        for mechanism, found in ended.items():
            tester.check(not late[mechanism], "%s %s: %d answers of an old version" % (store, mechanism, len(late[mechanism])))
            tester.check({body for _, _, _, body in found} == set(known[mechanism]), "%s %s: of all versions" % (store, mechanism))
        after = describe(server, pack_id(tester))
        tester.check(after["items"] == before["items"] - 40 and after["version"] != before["version"] and
                     server.metric("gallery_switches_total") == 2 and server.metric("gallery_failures_total") == 0 and
                     server.metric("gallery_items") == after["items"], "told: %s" % after)
        line = "gallery " + after["version"]
        tester.check(server.wait_for_log(line) and server.log().count(line) == 1, "the log tells the version")
    return not any(late.values())


def test_signal(tester):
    """Without polling a new version comes with SIGHUP, at once: at least one time of two, on a busy machine."""
    store = "dir:signal"
    make_store(tester, store)
    with Server(tester, "--poll", 0, stores=[store]) as server:
        old = describe(server, pack_id(tester))["version"]
        remove(tester, store, 3)
        time.sleep(1.5)
        tester.check(describe(server, pack_id(tester))["version"] == old, "nobody looks")
        server.process.send_signal(signal.SIGHUP)
        took = wait_for(lambda: describe(server, pack_id(tester))["version"] != old)
        tester.check(took is not None, "SIGHUP: nothing comes")
        for name in (old, describe(server, pack_id(tester))["version"]):
            tester.check(server.request("GET", "/v1/part/" + name).status == 200, "both versions are given out")
        remove(tester, store, 4)
        server.process.send_signal(signal.SIGHUP)
        again = wait_for(lambda: server.metric("gallery_switches_total") == 2)
        tester.check(took is not None and again is not None and min(took, again) < AT_ONCE, "SIGHUP: %s s, %s s" % (took, again))
        tester.check(server.request("GET", "/v1/part/" + old).status == 404, "the third forgets the first")


def point(tester, folder, version):
    """The pointer of a folder, written as index does."""
    path = tester.path("%s/gallery/%s" % (folder, pack_id(tester)))
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    old = json.loads(text)["version"]
    with open(path + ".new", "w", encoding="utf-8") as stream:
        stream.write(text.replace(old, version))
    os.rename(path + ".new", path)
    return old


def test_broken(tester):
    """A version that cannot be read does not replace the one that can; it is told once. Damage is never sent."""
    store, release = "dir:broken", tester.read("p-response.cbor")
    make_store(tester, store)
    with Server(tester, "--cache-bytes", 0, stores=[store]) as server:
        expected = server.post(release).body
        tester.write("broken/part/" + "1" * 64, b"PMGM and nothing of it")
        for wrong in ("0" * 63 + "1", "1" * 64):
            good = point(tester, "broken", wrong)
            failures = server.metric("gallery_failures_total")
            tester.check(wait_for(lambda: server.metric("gallery_failures_total") >= failures + 2), "it is refused, again")
            tester.check(server.post(release).body == expected and describe(server, pack_id(tester))["version"] == good,
                         "the old version stays")
            point(tester, "broken", good)
            time.sleep(1.2)
        tester.check(server.log().count("stays as it was") == 2 and server.metric("gallery_switches_total") == 0,
                     "told once each")
        part = Gallery(lambda name: tester.read("broken/part/" + name), good).manifest.parts
        for name in {name for slot in part for name, _ in slot}:
            data = bytearray(tester.read("broken/part/" + name))
            data[-1] ^= 1
            tester.write("broken/part/" + name, bytes(data))
        answer = server.post(release)
        tester.check((answer.status, answer.error()) == (503, "store"), "damaged: %d" % answer.status)
        found = server.request("GET", "/v1/part/" + part[0][0][0])
        tester.check((found.status, found.error()) == (503, "store"), "a damaged part: %d" % found.status)
        os.remove(tester.path("broken/part/" + part[0][0][0]))
        answer = server.post(release)
        tester.check((answer.status, answer.error()) == (503, "store"), "missing: %d" % answer.status)
        make = ["--features", "public.npy", "--labels", "labels.npy", *OWN, "--force"]
        tester.check(tester.run("index", "--pack", "p.pmpk", "--store", store, *make).returncode in (0, 4), "index again")


def test_one_store_for_all(tester):
    """A store of any kind may hold the galleries of several packs; each is looked for in all stores."""
    for kind in ("sqlite:both.store", "dir:both"):
        for name in ("p", "old"):
            make_store(tester, kind, name)
        with Server(tester, names=("p", "old"), stores=[kind]) as server:
            for name in ("p", "old"):
                tester.check(server.post(tester.read(name + "-response.cbor")).body == find(tester, kind, name=name)[0],
                             "%s of %s" % (name, kind))
    with Server(tester, names=("p", "old"), stores=["sqlite:old.store", "dir:both"]) as server:
        tester.check(server.post(tester.read("p-response.cbor")).body == find(tester, "dir:both")[0], "from the second")


class Files(Front):
    """nginx with docs/examples/nginx-gallery.conf: a store of the kind dir:, and no service."""
    example, host = "nginx-gallery.conf", "gallery.example"

    def __init__(self, folder, root):
        self.root = root
        super().__init__(folder, [])

    def adapt(self, text, ports, rate):
        return text, (("/srv/privatemail/shown", self.root), ("/var/log/nginx/", self.folder + "/"))


def test_plain_files(tester):
    """A front end reads pointer, manifest and parts from nginx, and has the answer that the service gives."""
    store, release = "dir:files", tester.read("p-response.cbor")
    make_store(tester, store)
    os.chmod(tester.folder, 0o755)
    with tempfile.TemporaryDirectory() as folder, Server(tester, stores=[store]) as server:
        os.chmod(folder, 0o755)
        with Files(folder, tester.path("files")) as front:
            for step in range(2):
                pointer = front.get("/gallery/" + pack_id(tester))
                version = json.loads(pointer.body)["version"]
                tester.check(pointer.headers["Content-Type"] == "application/json" and
                             pointer.headers["Cache-Control"] == "public, max-age=5", "pointer: %s" % pointer.headers)
                gallery = Gallery(lambda name: front.get("/part/" + name).body, version)
                part = front.get("/part/" + version)
                tester.check("immutable" in part.headers["Cache-Control"], "parts: %s" % part.headers)
                told = tester.json("find", "find", "--release", "p-response.cbor", "--pack", "p.pmpk", "--store", store)
                cells = [slot["cell"] for slot in told["slots"]]
                wait_for(lambda: describe(server, pack_id(tester))["version"] == version)
                header = base64.b64decode(describe(server, pack_id(tester))["header"])
                tester.check(gallery.answer(header, cells) == server.post(release).body, "the answer, from plain files")
                remove(tester, store, *range(step, 60, 2))
            names = os.listdir(tester.path("files/private"))
            for path in ["/private/" + names[0], "/lock", "/", "/gallery/", "/part/", "/new/"]:
                tester.check(front.get(path).status == 404, "%s is not handed out" % path)


def test_gateway(tester):
    """An epoch is answered from one version; the next version is in memory before it comes."""
    store = "sqlite:epochs.store"
    make_store(tester, store)
    tester.succeeds("keys", "keys", "--out", "follow.keys")
    with Server(tester, "--ohttp-key", "follow.keys", stores=[store]) as server:
        for step in range(3):
            client = Client(tester, server)
            asked = [(slot, cell) for cell in range(CELLS) for slot in range(SLOTS)]
            messages = [client.message(*pair) for pair in asked]
            answers = client.ask(messages)
            tester.check(all(inside(message, answer)[1].endswith(client.parts.part(*pair))
                             for pair, message, answer in zip(asked, messages, answers)), "version %d" % step)
            tester.check(server.metric("queries_from_store_total") == 0, "from memory")
            remove(tester, store, *range(10 * step, 10 * step + 10))
            tester.check(wait_for(lambda: server.metric("gallery_switches_total") == step + 1), "it comes")
        server.process.send_signal(signal.SIGHUP)
        tester.check(server.wait_for_log("the keys were read again"), "SIGHUP reads the keys too")


def test_switch(tester):
    for store in ("sqlite:store-living", "dir:living"):
        if not switch(tester, store):
            switch(tester, store + "-again", again=True)


def test_told(tester):
    """A request that finds its version gone has the next one looked for; what is served then is told all the same."""
    store, release = "dir:told", tester.read("p-response.cbor")
    make_store(tester, store)
    with Server(tester, "--poll", 0, "--cache-bytes", 0, stores=[store]) as server:
        asked = find(tester, store)[1]
        remove(tester, store, asked[0])
        tester.json("gallery", "gallery", "--store", store, "--pack", "p.pmpk", "--keep", 1)
        tester.check(server.post(release).body == find(tester, store)[0], "the version that is there")
        version = describe(server, pack_id(tester))["version"]
        tester.check(server.metric("gallery_switches_total") == 1 and version not in server.log(), "by a request")
        for _ in range(2):
            server.process.send_signal(signal.SIGHUP)
            tester.check(server.wait_for_log("gallery " + version), "told at the next look")
        remove(tester, store, asked[1])
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.metric("gallery_switches_total") == 2)
        later = describe(server, pack_id(tester))["version"]
        tester.check(server.wait_for_log("gallery " + later) and server.log().count(": gallery ") == 2, "each is told once")


SCENARIOS = (test_switch, test_signal, test_told, test_broken, test_one_store_for_all, test_plain_files, test_gateway)


def main():
    if len(sys.argv) < 2:
        print("usage: test_follow.py path/to/privatemail [SCENARIO...]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        make_galleries(tester)
        for scenario in SCENARIOS:
            if not sys.argv[2:] or scenario.__name__ in sys.argv[2:]:
                scenario(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
