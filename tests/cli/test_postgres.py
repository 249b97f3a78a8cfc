"""Tests of index, find and serve with PostgreSQL: python3 tests/cli/test_postgres.py path/to/privatemail

Starts a PostgreSQL of its own. Needs numpy, cbor2. Ends with 'N passed, N failed'; exits non-zero when something
failed."""
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import index_faults  # noqa: E402
from harness import INPUT, OUTPUT, OWN, Tester  # noqa: E402
from postgres import Postgres, find_binaries  # noqa: E402
from served_parts import served  # noqa: E402
from serving import Server, make_galleries, pack_id, reference_gallery  # noqa: E402

INDEX = ["index", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads", *OWN]


def versions_of(database):
    """The versions that are served; a kill may come before there is a table of them."""
    if database.query("SELECT to_regclass('privatemail_pointers') IS NULL") == "t":
        return []
    return [name for name in database.query("SELECT encode(version, 'hex') FROM privatemail_pointers").split() if int(name, 16)]


def test_killed(tester, database):
    """kill -9 at any time: the same gallery in the end, and none before it."""
    index_faults.make_large(tester)
    expected = tester.json("whole", "gallery", "--store", "sqlite:whole")
    for part in (0.2, 0.5, 0.8, 1.1):
        process = index_faults.start(tester, *index_faults.INDEX, "--store", database.uri())
        time.sleep(part * 2)
        index_faults.kill(process)
        done = versions_of(database)
        tester.check(done in ([], [expected["version"]]), "killed at %g: whole or none: %s" % (part, done))
        report = tester.json("killed at %g" % part, *index_faults.INDEX, "--store", database.uri(),
                             *(["--force"] if done else []))
        tester.check(versions_of(database) == [report["version"]] == [expected["version"]], "killed at %g: the same" % part)
        tester.fails("it is there", OUTPUT, ["--force"], *index_faults.INDEX, "--store", database.uri())
        database.query("DROP TABLE privatemail_parts, privatemail_private, privatemail_pointers")


def test_served(tester, database):
    """Two packs in one database: the answers of the reference, byte for byte."""
    tester.fails("nothing is indexed", INPUT, ["no store", "privatemail index"], "serve", "--pack", "p.pmpk",
                 "--store", database.uri(), "--listen", "127.0.0.1:0")
    for name in ("p", "old"):
        report = tester.json("index " + name, *INDEX, "--pack", name + ".pmpk", "--store", database.uri())
        tester.check("tests" not in report["store"] and report["items"] == 200, "report: %s" % report)
    for stores in ([database.uri()], ["sqlite:old.store", database.uri()]):
        with Server(tester, names=("p", "old"), stores=stores) as server:
            for name in ("p", "old"):
                gallery = reference_gallery(tester, name)
                for mechanism in ("response", "gaussian"):
                    release = tester.read("%s-%s.cbor" % (name, mechanism))
                    answer = server.post(release)
                    tester.check(answer.body == gallery.answer(release), "%s, %s: the reference's" % (name, mechanism))
            tester.check(server.request("GET", "/healthz").status == 200, "healthy")
    for mechanism in ("response", "gaussian"):
        release = "p-%s.cbor" % mechanism
        tester.succeeds("find", "find", "--release", release, "--pack", "p.pmpk", "--store", database.uri(), "--out",
                        mechanism + ".answer")
        tester.check(tester.read(mechanism + ".answer") == reference_gallery(tester).answer(tester.read(release)),
                     "find: the reference's, " + mechanism)
    tester.check(pack_id(tester)[:8] not in open(database.log, encoding="utf-8").read(),
                 "PostgreSQL's log knows nothing")


def test_refused(tester, database):
    """A reader needs no more than SELECT; who may not write is told."""
    database.query("CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    uri = database.uri().replace("user=tests", "user=reader")
    with Server(tester, stores=[uri]) as server:
        tester.check(server.post(tester.read("p-response.cbor")).status == 200, "a reader reads")
    tester.fails("may not write", OUTPUT, ["role"], *INDEX, "--pack", "p.pmpk", "--store", uri, "--force")
    tester.fails("no such place", OUTPUT, ["Check the URI"], *INDEX, "--pack", "p.pmpk", "--store",
                 "postgres:host=/nowhere dbname=x")


def test_lying_rows(tester, database):
    """Bytes that do not fit their name are not passed on, nor are those that are missing."""
    release = tester.read("p-response.cbor")
    with Server(tester, "--cache-bytes", "0", stores=[database.uri()]) as server:
        gallery, _ = served(server, pack_id(tester))
        told = tester.json("find", "find", "--release", "p-response.cbor", "--pack", "p.pmpk", "--store", database.uri())
        slot, cell = next((each["slot"], each["cell"]) for each in told["slots"] if each["count"] > 2)
        name, expected, whole = gallery.manifest.parts[slot][cell][0], server.post(release).body, gallery.part(slot, cell)
        for what, data in (("cut", whole[:-1]), ("a byte more", whole + b"\0"), ("nothing", b""),
                           ("one bit", whole[:-1] + bytes([whole[-1] ^ 1])), ("another", gallery.part(slot, cell ^ 1)),
                           ("missing", None), ("whole", whole)):
            if data is None:
                database.query("DELETE FROM privatemail_parts WHERE name = '\\x%s'" % name)
            else:
                database.query("INSERT INTO privatemail_parts VALUES ('\\x%s', '\\x%s') ON CONFLICT (name) DO UPDATE SET "
                               "bytes = excluded.bytes" % (name, data.hex()))
            for answer in (server.post(release), server.post(release, Accept="application/json"),
                           server.request("GET", "/v1/part/" + name)):
                tester.check((answer.status, answer.error()) == ((200, None) if data == whole else (503, "store")),
                             "%s: %d" % (what, answer.status))
        tester.check(server.post(release).body == expected, "the row that was written")


# A password where libpq sees a name, a host or a port; what is not understood is not passed on.
WITH_PASSWORDS = ["postgres:u:SECRETPW@host/db", "postgres:/u:SECRETPW@host/db", "postgres:u:SECRETPW",
                  "postgres:SECRETPW@db", "postgres:u/SECRETPW", "postgres:///u:SECRETPW@host/db",
                  "postgres://u:12/SECRETPW@host/db", "postgres://u:SECRETPW/x@host/db", "postgres:dbname=u:SECRETPW@host/db",
                  "postgres:u:SECRETPW@host/db?sslmode=require", "postgres:postgres:/u:SECRETPW@host/db"]


def test_passwords(tester, database):
    """No message shows a password, and PostgreSQL, which would log it, is not asked."""
    where = {"PGHOST": database.folder, "PGPORT": str(database.port), "PGUSER": "tests"}
    os.environ.update(where)
    for uri in WITH_PASSWORDS:
        for code, command in ((INPUT, ["serve", "--listen", "127.0.0.1:0"]), (OUTPUT, INDEX),
                              (INPUT, ["find", "--release", "p-response.cbor"])):
            done = tester.fails("%s %s" % (command[0], uri), code, ["postgres://", "%40"], *command, "--pack", "p.pmpk",
                                "--store", uri)
            tester.check(b"SECRET" not in done.stderr + done.stdout, "%s %s: %r" % (command[0], uri, done.stderr))
    for uri in ("postgres:postgres", "postgres:///postgres", "postgres:postgresql:///postgres", "postgres:postgres:///postgres"):
        tester.succeeds("find " + uri, "find", "--release", "p-response.cbor", "--pack", "p.pmpk", "--store", uri)
    for name in where:
        del os.environ[name]
    with open(database.log, encoding="utf-8") as stream:
        tester.check("SECRET" not in stream.read(), "PostgreSQL's log shows no password")


def main():
    if len(sys.argv) != 2:
        print("usage: test_postgres.py path/to/privatemail", file=sys.stderr)
        return 2
    if not find_binaries():
        print("PostgreSQL is not installed: scripts/setup.sh --services installs it", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other, Postgres() as database:
        killed, tester = Tester(sys.argv[1], folder), Tester(sys.argv[1], other)
        test_killed(killed, database)
        make_galleries(tester)
        test_served(tester, database)
        test_refused(tester, database)
        test_passwords(tester, database)
        test_lying_rows(tester, database)
    passed, failed = killed.passed + tester.passed, killed.failed + tester.failed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
