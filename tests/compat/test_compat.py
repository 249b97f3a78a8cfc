"""Files of older versions still give what they gave: python3 tests/compat/test_compat.py path/to/privatemail

With --record FOLDER it writes expected.json instead: run it once, with the command of the version that made the files.
Ends with 'N passed, N failed'; exits non-zero when something failed."""
import glob
import json
import os
import shutil
import struct
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))

from harness import INPUT, Tester, read_budget  # noqa: E402
from later import CROWD, QUERY, check_later_fronts, check_later_versions, replay  # noqa: E402
from sealed_kept import check_sealed  # noqa: E402


def names(tester, ending):
    return sorted(os.path.basename(path)[:-len(ending)] for path in glob.glob(tester.path("*" + ending)))


def pack_of(release):
    return release.split("-")[0] + ".pmpk"


def kept_galleries(tester):
    """Releases, and the stores that answer them: of 0.9 and later, which are read."""
    for kind, ending in (("sqlite", ".gallery"), ("dir", ".folder")):
        for name in names(tester, ending):
            for mechanism in ("response", "gaussian"):
                yield "%s-%s" % (name, mechanism), "%s:%s%s" % (kind, name, ending)


def without_file(document):
    return {key: value for key, value in document.items() if key != "file"}


def look(tester):
    """What the command says about every file of the folder it runs in."""
    said = {"inspect": {}, "decode": {}, "query": {}, "guess": {}, "rank": {}, "find": {}}
    for name in names(tester, ".pmpk"):
        shown = tester.json("inspect " + name, "inspect", name + ".pmpk")
        said["inspect"][name] = {key: value for key, value in shown.items() if not key.endswith("_memory")}
        if shown["labels"] > 0:
            said["guess"][name] = tester.json("guess " + name, "guess", "--pack", name + ".pmpk", "--features", name + ".npy")
    for name in names(tester, ".cbor"):
        decoded = tester.json("decode " + name, "decode", name + ".cbor", "--pack", pack_of(name))
        said["decode"][name] = without_file(decoded)
    for name in names(tester, ".crowd"):                     # an answer to one message of a crowd
        labels = ["--labels", name + "_labels.npy"] if os.path.exists(tester.path(name + "_labels.npy")) else []
        said["rank"][name] = tester.json("rank " + name, "decode", name + ".crowd", "--pack", name + ".pmpk", "--features",
                                         name + ".npy", *labels)
    for release, store in kept_galleries(tester):
        found = tester.json("find in " + store, "find", "--release", release + ".cbor", "--pack", pack_of(release), "--store",
                            store)
        said["find"][release + " " + store] = {key: value for key, value in found.items() if "seconds" not in key}
    for answer in names(tester, ".answer"):
        with replay("application/cbor-seq", tester.read(answer + ".answer")) as url:
            said["query"][answer] = tester.json("query " + answer, "query", "--server", url, "--pack", pack_of(answer), *QUERY,
                                                "--resend", answer + ".cbor")
    return said


def includes(now, then):
    """All that was said then is said now; documents may have gained keys."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(key in now and includes(now[key], then[key]) for key in then)
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(includes, now, then))
    return now == then


def without_noise(document):
    """Without what follows from the certified sensitivity."""
    table = [{key: value for key, value in row.items() if key not in ("sigma", "ratio", "mu", "ceiling")}
             for row in document["table"]]
    kept = {key: value for key, value in document.items() if key not in ("sensitivity", "row_bound")}
    return dict(kept, table=table)


def check_tightened(tester, name, now, then):
    """A later certificate may prove less sensitivity, never more. Then less noise gives the same promise."""
    tester.check(now["row_bound"] <= then["row_bound"] and
                 all(new["sigma"] <= old["sigma"] for new, old in zip(now["table"], then["table"])),
                 "%s has less sensitivity, but more noise" % name)
    return without_noise(now), without_noise(then)


def compare(tester, said, expected):
    for what, documents in expected.items():
        for name, document in documents.items():
            now = said[what].get(name)
            if what == "inspect" and now and (now.get("sensitivity") or 0) < (document.get("sensitivity") or 0):
                said[what][name], document = check_tightened(tester, name, now, document)
            tester.check(includes(said[what].get(name), document),
                         "%s %s differs: %s" % (what, name, said[what].get(name)))


def check_stores(tester):
    """Stores of 0.1 are not read any more, and whoever has one is told what to do."""
    for name in names(tester, ".store"):
        tester.fails("the store " + name, INPUT, [name + ".store", "0.1", "privatemail index --pack"], "find", "--release",
                     name + "-response.cbor", "--pack", name + ".pmpk", "--store", "sqlite:%s.store" % name)


def check_budget(tester):
    spent, cap, gaussian_spent, gaussian_cap = read_budget(tester.read("me.budget"))
    tester.check(spent == 4 * 4 << 20 and cap == 100 << 20 and 0 < gaussian_spent < gaussian_cap, "the kept budget")
    tester.succeeds("spend", "privatize", "--pack", "response.pmpk", *QUERY, "--epsilon", "1", "--budget", "me.budget",
                    "--out", "new.cbor")
    now = read_budget(tester.read("me.budget"))
    tester.check(now == (spent + (1 << 20), cap, gaussian_spent, gaussian_cap), "an old budget pays on: %s" % (now,))


def check_galleries(tester):
    """A kept store gives the kept answer, byte for byte, and goes on changing."""
    for release, store in kept_galleries(tester):
        tester.succeeds("answer from " + store, "find", "--release", release + ".cbor", "--pack", pack_of(release), "--store",
                        store, "--out", "now.answer", "--force")
        tester.check(tester.read("now.answer") == tester.read(release + ".answer"), "%s gives other bytes" % store)
    for name in names(tester, ".gallery"):
        tester.write("one_id.txt", b"3\n")
        done = tester.json("remove from " + name, "index", "--pack", name + ".pmpk", "--store", "sqlite:%s.gallery" % name,
                           "--remove", "one_id.txt")
        tester.check(done["removed"] == 1, "a kept gallery changes: %s" % done)


def check_kept_cell(tester):
    """A kept cell is sent again, and only the crowd's part is paid."""
    before = tester.read("crowd.budget")
    tester.succeeds("a kept cell", "privatize", "--pack", "one.pmpk", *CROWD, "--keep", "one.kept", "--budget",
                    "crowd.budget", "--out", "again.cbor", "--own-out", "again.json")
    after = tester.read("crowd.budget")
    floors = [struct.unpack_from("<I", data, 100)[0] for data in (before, after)]
    tester.check(before != after and floors == [8 << 20, 8 << 20], "the floor is paid once: %s" % floors)


def expected_path(version):
    return os.path.join(HERE, version, "expected.json")


def main():
    record = sys.argv[3] if len(sys.argv) == 4 and sys.argv[2] == "--record" else None
    if len(sys.argv) != 2 and not record:
        print("usage: test_compat.py path/to/privatemail [--record FOLDER]", file=sys.stderr)
        return 2
    passed = failed = 0
    for version in [record] if record else sorted(next(os.walk(HERE))[1]):
        with tempfile.TemporaryDirectory() as folder:
            tester = Tester(sys.argv[1], os.path.join(folder, version))
            shutil.copytree(os.path.join(HERE, version), tester.folder)
            said = look(tester)
            if record:
                with open(expected_path(version), "w", encoding="utf-8") as stream:
                    json.dump(said, stream, indent=1, sort_keys=True)
                    stream.write("\n")
                return 0
            with open(expected_path(version), encoding="utf-8") as stream:
                compare(tester, said, json.load(stream))
            check_stores(tester)
            if os.path.exists(tester.path("gateway.keys")):
                check_sealed(tester)
            check_galleries(tester)
            if os.path.exists(tester.path("one.kept")):
                check_kept_cell(tester)
            for name in names(tester, ".pmfr"):
                check_later_fronts(tester, name)
            if os.path.exists(tester.path("one.pmpk")):    # a whole set, which the command made
                check_budget(tester)
                check_later_versions(tester)
            passed, failed = passed + tester.passed, failed + tester.failed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
