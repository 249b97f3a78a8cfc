"""What docs/GALLERY.md says about PostgreSQL: roles, a dump that is restored, a replica that takes over."""
import json
import os
import shutil
import subprocess
import tempfile

import numpy as np

from examples_nginx import EXAMPLES
from harness import OWN, wait_until
from postgres import SETTINGS, Postgres
from serving import Server, pack_id

FIRST = ["index", "--pack", "p.pmpk", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads", *OWN]
REMOVE = ["index", "--pack", "p.pmpk", "--remove", "first.txt"]
ADD = ["index", "--pack", "p.pmpk", "--add", "first.npy", "--ids", "first.txt", "--labels", "first_labels.npy", "--payloads",
       "payloads"]


def make_change(tester):
    """What REMOVE and ADD read: item 0 goes, and comes back."""
    tester.write("first.txt", b"0\n")
    for whole, part in (("public.npy", "first.npy"), ("labels.npy", "first_labels.npy")):
        tester.save(part, np.load(tester.path(whole))[:1])


def version_of(tester, server):
    return json.loads(server.request("GET", "/v1/pack/%s/gallery" % pack_id(tester)).body)["version"]


def is_answered(tester, server):
    return server.post(tester.read("p-response.cbor")).status == 200


# ---- roles, dumps ----

class Roles:
    """A database made by docs/examples/postgres-roles.sh."""

    def __init__(self, tester, database):
        self.tester, self.folder, self.binaries = tester, database.folder, database.binaries
        environment = dict(os.environ, PGHOST=self.folder, POSTGRES_USER="tests", INDEX_PASSWORD="it's", SERVE_PASSWORD="s")
        done = subprocess.run(["sh", os.path.join(EXAMPLES, "postgres-roles.sh")], env=environment, capture_output=True, text=True)
        tester.check(done.returncode == 0, "roles: %s" % done.stderr)

    def keywords(self, role):
        return "host=%s user=%s dbname=mail" % (self.folder, role)

    def sql(self, role, *arguments):
        return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *arguments, self.keywords(role)], capture_output=True,
                              text=True)

    def run(self, program, *arguments):
        done = subprocess.run([os.path.join(self.binaries, program), *arguments], capture_output=True, text=True)
        self.tester.check(done.returncode == 0, "%s: %s" % (program, done.stderr))

    def grant(self):
        done = self.sql("index", "-f", os.path.join(EXAMPLES, "postgres-grants.sql"))
        self.tester.check(done.returncode == 0, "grants: %s" % done.stderr)


def test_roles(tester, roles):
    store = "postgres:" + roles.keywords("index")
    tester.succeeds("index as index", *FIRST, "--store", store)
    roles.grant()
    with Server(tester, stores=["postgres:" + roles.keywords("serve")]) as server:
        tester.check(is_answered(tester, server), "serve reads as serve")
        before = version_of(tester, server)
        tester.succeeds("remove", *REMOVE, "--store", store)
        tester.check(wait_until(lambda: version_of(tester, server) != before), "serve follows as serve")
    for statement in ("SELECT 1 FROM privatemail_private", "DELETE FROM privatemail_pointers",
                      "INSERT INTO privatemail_parts VALUES ('', '')", "CREATE TABLE mine (a INT)"):
        done = roles.sql("serve", "-c", statement)
        tester.check(done.returncode != 0 and "permission denied" in done.stderr, "%s: %s" % (statement, done.stderr))


def test_dump(tester, roles):
    """What is dumped comes back, with what index needs for the next change."""
    store, dump = "postgres:" + roles.keywords("index"), tester.path("gallery.dump")
    before = tester.json("gallery", "gallery", "--store", store, "--pack", "p.pmpk")["version"]
    roles.run("pg_dump", "--format=custom", "--table=privatemail_*", "--file=" + dump, "--dbname=" + roles.keywords("index"))
    tester.succeeds("add", *ADD, "--store", store)
    roles.run("pg_restore", "--clean", "--if-exists", "--dbname=" + roles.keywords("index"), dump)
    roles.grant()
    after = tester.json("gallery", "gallery", "--store", store, "--pack", "p.pmpk")["version"]
    tester.check(after == before, "the dump is back")
    with Server(tester, stores=["postgres:" + roles.keywords("serve")]) as server:
        tester.check(version_of(tester, server) == before and is_answered(tester, server), "and is served")
        tester.succeeds("add", *ADD, "--store", store)
        tester.check(wait_until(lambda: version_of(tester, server) != before), "and changed")


# ---- a replica ----

class Replica(Postgres):
    def __init__(self, primary):
        self.binaries, self.owner, self.prefix, self.address = primary.binaries, primary.owner, [], ""
        self.folder = tempfile.mkdtemp(prefix="pml-replica.")
        if self.owner:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data, self.log, self.port = self.folder + "/data", self.folder + "/log", 5432
        self.settings = SETTINGS + ["listen_addresses=", "unix_socket_directories=" + self.folder]
        self.conninfo = "host=%s port=5432 user=tests dbname=postgres" % self.folder
        self.run("pg_basebackup", "-h", primary.folder, "-U", "tests", "-R", "-X", "stream", "-c", "fast")
        self.start()


def hosts(*databases):
    return "postgres:host=%s port=%s user=tests dbname=postgres" % (
        ",".join(database.folder for database in databases), ",".join("5432" for _ in databases))


def test_replica(tester):
    with Postgres() as primary, Replica(primary) as replica:
        near, far = hosts(replica, primary), hosts(primary, replica)
        tester.succeeds("index finds the primary", *FIRST, "--store", near)
        tester.check(wait_until(lambda: replica.query("SELECT to_regclass('privatemail_pointers') IS NOT NULL") == "t" and
                              replica.query("SELECT count(*) FROM privatemail_pointers WHERE version <> ''") == "1"),
                     "the replica follows")
        with Server(tester, "--cache-bytes", 0, stores=[near]) as first, Server(tester, "--cache-bytes", 0, stores=[far]) as second:
            both = (first, second)
            before = version_of(tester, first)
            tester.succeeds("remove", *REMOVE, "--store", far)
            tester.check(wait_until(lambda: all(version_of(tester, server) != before for server in both)), "services follow")
            primary.stop("immediate")
            tester.check(all(is_answered(tester, first) for _ in range(20)), "who reads the replica does not notice")
            tester.check(wait_until(lambda: is_answered(tester, second)), "who read the primary goes to the replica")
            done = tester.run(*ADD, "--store", near)
            tester.check(done.returncode != 0 and version_of(tester, first) != before, "without a primary nothing is changed")
            replica.run("pg_ctl", "-w", "promote")
            tester.succeeds("add where the replica took over", *ADD, "--store", near)
            tester.check(wait_until(lambda: all(version_of(tester, server) == before for server in both)),
                         "services follow the new primary")


def run_all(tester):
    make_change(tester)
    with Postgres() as database:
        roles = Roles(tester, database)
        test_roles(tester, roles)
        test_dump(tester, roles)
    test_replica(tester)
