"""What docs/GALLERY.md says about erasing (after its steps the bytes of an item are in no file of the store), about restoring
a backup and about moving between stores."""
import os
import subprocess

from harness import OWN
from postgres import Postgres
from serving import Server

MARK = b"the bytes that have to go"


def holds_mark(*paths):
    """Files at or below these paths that have the mark."""
    found = []
    for path in paths:
        files = [path] if os.path.isfile(path) else [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
        for file in files:
            with open(file, "rb") as stream:
                if MARK in stream.read():
                    found.append(file)
    return found


def make_inputs(tester):
    os.mkdir(tester.path("marked"))
    tester.write("marked/77.bin", MARK)
    tester.write("marked.txt", b"77\n")


def fill_and_remove(tester, store):
    tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", "public.npy", "--labels", "labels.npy", "--payloads",
                    "marked", *OWN, "--store", store)
    tester.succeeds("remove", "index", "--pack", "p.pmpk", "--remove", "marked.txt", "--store", store)


def keep_one(tester, store):
    tester.succeeds("keep 1", "gallery", "--store", store, "--pack", "p.pmpk", "--keep", 1)


def test_sqlite(tester):
    store = tester.path("erased.store")
    fill_and_remove(tester, "sqlite:" + store)
    files = [store, store + "-wal", store + "-shm"]
    tester.check(holds_mark(*files), "a version before has the item")
    with Server(tester, stores=["sqlite:" + store]) as server:
        keep_one(tester, "sqlite:" + store)
        done = subprocess.run(["sqlite3", "-cmd", ".timeout 20000", store, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"],
                              capture_output=True, text=True)
        tester.check(done.returncode == 0 and done.stdout.startswith("0|"), "vacuum: %s" % (done.stdout + done.stderr))
        tester.check(not holds_mark(*(file for file in files if os.path.exists(file))), "SQLite's files have it no more")
        tester.check(server.post(tester.read("p-response.cbor")).status == 200, "served all the while")


def test_folder(tester):
    fill_and_remove(tester, "dir:erased")
    tester.check(holds_mark(tester.path("erased")), "a version before has the item")
    keep_one(tester, "dir:erased")
    tester.check(not holds_mark(tester.path("erased")), "the folder has it no more: %s" % holds_mark(tester.path("erased")))


def test_published(tester):
    """A published folder has the version before until it is published once more."""
    publish = ["publish", "--store", "dir:source", "--pack", "p.pmpk", "--to", "dir:shown"]
    tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", "public.npy", "--labels", "labels.npy", "--payloads",
                    "marked", *OWN, "--store", "dir:source")
    tester.succeeds("publish", *publish)
    private = tester.path("shown/private")
    tester.check(not os.path.isdir(private) or not os.listdir(private), "nothing private is published")
    tester.succeeds("remove", "index", "--pack", "p.pmpk", "--remove", "marked.txt", "--store", "dir:source")
    tester.succeeds("publish", *publish)
    tester.check(holds_mark(tester.path("shown")), "readers that are a moment behind")
    tester.succeeds("publish", *publish)
    tester.check(not holds_mark(tester.path("shown")), "published twice, it is gone")


def test_postgres(tester):
    with Postgres() as database:
        data = os.path.join(database.data, "base")
        fill_and_remove(tester, database.uri())
        database.query("CHECKPOINT")
        tester.check(holds_mark(data), "a version before has the item")
        keep_one(tester, database.uri())
        database.query("VACUUM FULL privatemail_parts, privatemail_private")
        database.query("CHECKPOINT")
        tester.check(not holds_mark(data), "PostgreSQL's tables have it no more: %s" % holds_mark(data))
        tester.check(holds_mark(os.path.join(database.folder, "wal")), "its log of writes still has it, as the document says")


# ---- backups, moves ----

def version_in(tester, store):
    return tester.json("gallery", "gallery", "--store", store, "--pack", "p.pmpk")["version"]


def test_restore(tester):
    """A copy of a SQLite store that is in use, put back after a change."""
    path = tester.path("kept.store")
    store = "sqlite:" + path
    tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", "public.npy", "--labels", "labels.npy", *OWN, "--store",
                    store)
    before = version_in(tester, store)
    with Server(tester, stores=[store]):
        done = subprocess.run(["sqlite3", path, ".backup '%s.copy'" % path], capture_output=True, text=True)
        tester.check(done.returncode == 0, "backup: %s" % done.stderr)
        tester.succeeds("remove", "index", "--pack", "p.pmpk", "--remove", "marked.txt", "--store", store)
    tester.check(version_in(tester, store) != before, "it was changed")
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.remove(path + end)
    os.rename(path + ".copy", path)
    tester.check(version_in(tester, store) == before, "it is as it was")
    tester.succeeds("remove again", "index", "--pack", "p.pmpk", "--remove", "marked.txt", "--store", store)
    with Server(tester, stores=[store]) as server:
        tester.check(server.post(tester.read("p-response.cbor")).status == 200, "and is served")


def test_moves(tester):
    """From kind to kind the version stays, and every copy can be changed."""
    with Postgres() as database:
        stores = ["sqlite:kept.store", database.uri(), "dir:moved", "sqlite:moved.store"]
        version = version_in(tester, stores[0])
        for here, there in zip(stores, stores[1:]):
            tester.succeeds("publish", "publish", "--store", here, "--pack", "p.pmpk", "--to", there, "--private")
            tester.check(version_in(tester, there) == version, "the same version in " + there.split(":")[0])
        tester.write("other.txt", b"5\n")
        for store in stores:
            tester.succeeds("change", "index", "--pack", "p.pmpk", "--remove", "other.txt", "--store", store)
        tester.check(len({version_in(tester, store) for store in stores}) == 1, "the same change, the same version")


def run_all(tester):
    make_inputs(tester)
    test_restore(tester)
    test_moves(tester)
    test_sqlite(tester)
    test_folder(tester)
    test_published(tester)
    test_postgres(tester)
