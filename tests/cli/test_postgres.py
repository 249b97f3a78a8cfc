"""Tests of index, find and serve with PostgreSQL: python3 tests/cli/test_postgres.py path/to/privatemail

Starts a PostgreSQL of its own. Needs numpy, cbor2. Ends with 'N passed, N failed'; exits non-zero when something
failed."""
import sqlite3
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

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
    passed, failed = killed.passed + tester.passed, killed.failed + tester.failed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
