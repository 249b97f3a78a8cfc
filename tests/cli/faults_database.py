"""A database that goes away, and comes back; a disk that is full."""
import os
import subprocess
import tempfile
import time

from crowd import Crowd
from harness import OUTPUT, OWN, wait_until
from index_faults import INDEX as LARGE
from index_faults import make_large
from postgres import Postgres
from serving import Server


ENOUGH = 20  # answers, to say something about a crowd


def wait_for_crowd(crowd):
    wait_until(lambda: crowd.answered > ENOUGH, 60)


def check_crowd(tester, crowd, what):
    tester.check(not crowd.wrong, "%s: wrong answers %s" % (what, crowd.wrong[:5]))
    tester.check(crowd.lost == 0 and crowd.answered > ENOUGH, "%s: %d answered, %d lost" % (what, crowd.answered, crowd.lost))


def test_stopped(tester, database, releases):
    """PostgreSQL is stopped for two seconds and started: 503 meanwhile, at once, and answers again by itself."""
    for mode in ("fast", "immediate"):
        with Server(tester, "--cache-bytes", 0, "--threads", 2, stores=[database.uri()]) as server:
            with Crowd(server.host, server.port, releases) as crowd:
                wait_for_crowd(crowd)
                stopped = time.monotonic()
                database.stop(mode)
                gone = time.monotonic()
                time.sleep(2)
                wait_until(lambda: sum(crowd.during(gone, time.monotonic()).values()) > ENOUGH, 60)
                health = server.request("GET", "/healthz")
                answer = server.post(releases[0][0])
                tester.check((health.status, answer.status, answer.error(), answer.headers["Retry-After"]) ==
                             (503, 503, "store", "1"), "%s: %d and %d while it is gone" % (mode, health.status, answer.status))
                up = time.monotonic()
                database.start()
                started = time.monotonic()
                back = crowd.wait_for_answer(up)
                time.sleep(0.5)
            between = crowd.during(gone, up)  # later ones may be held up until it is there again
            tester.check(set(between) == {503}, "%s: while it is gone: %s" % (mode, between))
            tester.check(back is not None and back < (started - up) + 15, "%s: back after %s s" % (mode, back))
            tester.check(crowd.slowest(stopped - 1) < 15, "%s: the slowest took %.1f s" % (mode, crowd.slowest(stopped - 1)))
            check_crowd(tester, crowd, mode)
            tester.check(server.request("GET", "/healthz").status == 200, "healthy again")
            print("figure: PostgreSQL stopped (%s) for %.1f s: %d queries got 503, the slowest of all in %.2f s; answers "
                  "again %.1f s after it was started; %d answered, 0 wrong, 0 lost" %
                  (mode, started - stopped, between[503], crowd.slowest(stopped - 1),
                   max(0.0, up + back - started), crowd.answered))


def test_stopped_behind_cache(tester, database, releases):
    """What is in memory is answered while the database is gone."""
    response = releases[:1]
    with Server(tester, "--threads", 2, stores=[database.uri()]) as server:
        with Crowd(server.host, server.port, response) as crowd:
            wait_for_crowd(crowd)
            database.stop()
            gone = time.monotonic()
            time.sleep(1.5)
            wait_until(lambda: sum(crowd.statuses(gone).values()) > ENOUGH, 60)
            end = time.monotonic()
            database.start()
        found = crowd.statuses(gone, end)
        tester.check(set(found) == {200}, "from memory: %s" % found)
        check_crowd(tester, crowd, "from memory")
        print("figure: PostgreSQL gone, parts in memory: %d of %d response queries answered" %
              (found[200], sum(found.values())))


def small_disk(path, megabytes):
    mount = ["mount", "-t", "tmpfs", "-o", "size=%dm,mode=0755" % megabytes, "none", path]
    return os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0


def test_full_disk(tester, releases):
    """The database's disk is full while it is indexed and served: indexing says so and goes on later, serving goes on."""
    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory() as folder:
        if not small_disk(disk, 96):
            print("skipped: full disk: no right to mount a small one")
            return
        try:
            run_full_disk(tester, releases, disk, type(tester)(tester.program, folder))
        finally:
            subprocess.run(["umount", disk], check=True)


def run_full_disk(tester, releases, disk, large):
    os.chmod(disk, 0o755)
    with Postgres(folder=disk) as database:
        tester.succeeds("index", "index", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads",
                        *OWN, "--pack", "p.pmpk", "--store", database.uri())
        make_large(large)
        free = os.statvfs(disk)
        filler = os.path.join(disk, "filler")
        with open(filler, "wb") as stream:
            stream.write(bytes(free.f_bavail * free.f_bsize - (4 << 20)))
        with Server(tester, "--cache-bytes", 0, stores=[database.uri()]) as server:
            with Crowd(server.host, server.port, releases, threads=2) as crowd:
                done = large.run(*LARGE, "--store", database.uri())
                full = time.monotonic()
                wait_until(lambda: sum(crowd.statuses(full).values()) > ENOUGH, 60)
            tester.check(done.returncode == OUTPUT and b"disk is full" in done.stderr,
                         "full disk: exit code %d, %r" % (done.returncode, done.stderr))
            check_crowd(tester, crowd, "full disk")
            tester.check(set(crowd.statuses(full)) == {200}, "served while it is full: %s" % crowd.statuses(full))
        os.remove(filler)
        report = large.json("room again", *LARGE, "--store", database.uri())
        whole = large.json("whole", "gallery", "--store", "sqlite:whole")
        tester.check(report["version"] == whole["version"], "room again: the same version")
        tester.passed += large.passed
        tester.failed += large.failed
        print("figure: the database's disk full: indexing stopped with a message, was done when there "
              "was room, same version; meanwhile %d queries answered, 0 wrong, 0 lost" %
              crowd.answered)


def run_all(tester, database, releases):
    test_stopped(tester, database, releases)
    test_stopped_behind_cache(tester, database, releases)
