"""Tests of index, find and serve with PostgreSQL: python3 tests/cli/test_postgres.py path/to/privatemail

Starts a PostgreSQL of its own. Needs numpy, cbor2. Ends with 'N passed, N failed'; exits non-zero when something
failed."""
import io
import json
import os
import sqlite3
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import cbor2  # noqa: E402

import index_content  # noqa: E402
import index_faults  # noqa: E402
from harness import INPUT, OUTPUT, OWN, Tester  # noqa: E402
from postgres import Postgres, find_binaries  # noqa: E402
from serving import Server, make_galleries, pack_id, reference_gallery  # noqa: E402

INDEX = ["index", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads", *OWN]


def count_done(database):
    """How many galleries are complete; a kill may come before there is a table of them."""
    if database.query("SELECT to_regclass('privatemail_galleries') IS NULL") == "t":
        return 0
    return int(database.query("SELECT count(*) FROM privatemail_galleries WHERE state = 'done'"))


def test_killed(tester, database):
    """kill -9 at any time: the same gallery in the end, and none before it."""
    seconds = index_faults.make_large(tester)
    file = sqlite3.connect(tester.path("whole"))
    expected = file.execute("SELECT value FROM meta WHERE key = 'digest'").fetchone()[0]
    file.close()
    resumed = []
    for part in (0.2, 0.5, 0.8, 1.1):
        process = index_faults.start(tester, *index_faults.INDEX, "--store", database.uri())
        time.sleep(part * seconds)
        index_faults.kill(process)
        done = count_done(database)
        tester.check(done == 0 or part > 1, "killed at %g: none is done" % part)
        report = tester.json("killed at %g" % part, *index_faults.INDEX, "--store", database.uri(),
                             *(["--force"] if done else []))
        resumed.append(report["resumed_at"])
        found = database.query("SELECT digest, items, added FROM privatemail_galleries WHERE state = 'done'")
        tester.check(found == "%d|40000|40000" % expected, "killed at %g: the same content: %s" % (part, found))
        left = database.query("SELECT count(*) FROM pg_tables WHERE tablename ~ '^privatemail_(items|listed)_[0-9]+$'")
        tester.check(left == "1", "killed at %g: %s tables are left" % (part, left))
        tester.fails("it is there", OUTPUT, ["--force"], *index_faults.INDEX, "--store", database.uri())
        clear(database)
    tester.check(all(at % 4096 == 0 or at == 40000 for at in resumed) and any(resumed), "went on at %s" % resumed)


def clear(database):
    """The database as it was before."""
    database.query("DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE tablename ~ "
                   "'^privatemail_(items|cells|listed)_[0-9]+$' OR tablename = 'privatemail_galleries' LOOP "
                   "EXECUTE 'DROP TABLE ' || name; END LOOP; END $$")


def test_served(tester, database):
    """Two packs in one database: the answers of the reference, byte for byte."""
    tester.fails("nothing is indexed", INPUT, ["postgres://", "privatemail index"], "serve", "--pack", "p.pmpk",
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
    tester.fails("no such place", OUTPUT, ["check the URI"], *INDEX, "--pack", "p.pmpk", "--store",
                 "postgres:host=/nowhere dbname=x")


def lies_about(items, fragment):
    """(what, items, fragment) of rows that nobody wrote."""
    stream = io.BytesIO(fragment)
    candidates = [cbor2.load(stream) for _ in items]
    first, rest = candidates[0], b"".join(map(cbor2.dumps, candidates[1:]))
    whole = cbor2.dumps(first)
    yield "cut", items, fragment[:-1]
    yield "a byte more", items, fragment + b"\0"
    yield "one less", items, rest
    yield "one twice", items, whole + fragment
    yield "nothing", items, b""
    yield "no CBOR", items, b"\xff" * len(fragment)
    yield "an item that is not listed", [items[0] + 1000, *items[1:]], fragment
    yield "an item less", items[1:], fragment
    yield "a short sketch", items, cbor2.dumps([first[0], first[1], first[2][1:], first[3]]) + rest
    yield "another class", items, cbor2.dumps([first[0], 1 << 31, *first[2:]]) + rest
    yield "a text", items, cbor2.dumps([*first[:3], "text"]) + rest
    yield "a long head", items, b"\x98\x04" + whole[1:] + rest


def test_lying_rows(tester, database):
    """A cell that is not the list of its candidates is not passed on, though its digest fits."""
    release = tester.read("p-response.cbor")
    told = tester.json("find", "find", "--release", "p-response.cbor", "--pack", "p.pmpk", "--store", database.uri())
    slot, cell = next((each["slot"], each["cell"]) for each in told["slots"] if each["count"] > 2)
    number = database.query("SELECT gallery FROM privatemail_galleries WHERE state = 'done' AND pack = '\\x%s'" %
                            pack_id(tester))
    place = "privatemail_cells_%s WHERE slot = %d AND cell = %d" % (number, slot, cell)
    items, fragment = database.query("SELECT items, encode(fragment, 'hex') FROM " + place).split("|")
    items, fragment = json.loads(items.translate(str.maketrans("{}", "[]"))), bytes.fromhex(fragment)

    def put(items, fragment):
        own = index_content.signed(index_content.digest([slot, cell, *items, fragment]))
        database.query("UPDATE %s SET items = '{%s}', fragment = '\\x%s', digest = %d WHERE %s" % (
            place.split(" ")[0], ",".join(map(str, items)), fragment.hex(), own, place.split(" WHERE ")[1]))

    with Server(tester, "--cache-bytes", "0", stores=[database.uri()]) as server:
        gallery = json.loads(server.request("GET", "/v1/pack/%s/gallery" % pack_id(tester)).body)["gallery"]
        expected = server.post(release).body
        for what, listed, bytes_ in lies_about(items, fragment):
            put(listed, bytes_)
            for answer in (server.post(release), server.post(release, Accept="application/json"),
                           server.request("GET", "/v1/gallery/%s/%d/%d" % (gallery, slot, cell))):
                tester.check((answer.status, answer.error()) == (503, "store"), "%s: %d" % (what, answer.status))
        put(items, fragment)
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
