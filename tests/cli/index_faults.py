"""Indexing that is killed, finds the disk full, or is not alone: the gallery becomes the same, or stays as it was."""
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

from harness import CONTROL_C_EXIT, OUTPUT, ROOT, WHOLE

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
from reference_store import Record, Store, Version  # noqa: E402

ROWS = 40000
# 4,000 rows a class: small enough to compare all with all, large enough to be stopped.
INDEX = ["index", "--pack", "p.pmpk", "--features", "gallery.npy", "--labels", "classes.npy", "--share", "0.02"]
CHANGE = ["index", "--pack", "p.pmpk", "--add", "more.npy", "--labels", "more_labels.npy", "--remove", "gone.txt"]


def make_large(tester):
    """A gallery that takes long enough to be stopped in the middle, and its store. Answers the seconds, and the version."""
    source = np.random.default_rng(8)
    labels = np.arange(ROWS) % 10
    features = (source.standard_normal((10, 48))[labels] + source.standard_normal((ROWS, 48))).astype("f4")
    tester.save("gallery.npy", features)
    tester.save("classes.npy", labels.astype("i4"))
    tester.save("public.npy", features[:300])
    tester.save("public_labels.npy", labels[:300].astype("i4"))
    tester.save("more.npy", features[:500] + 1)
    tester.save("more_labels.npy", labels[:500].astype("i4"))
    tester.write("gone.txt", b"".join(b"%d\n" % i for i in range(100, 700)))
    tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "public_labels.npy", *WHOLE, "--dims", "2",
                    "--out", "p.pmpk")
    started = time.monotonic()
    report = tester.json("the whole store", *INDEX, "--store", "sqlite:whole")
    return time.monotonic() - started, report["version"]


def start(tester, *arguments, **options):
    return subprocess.Popen([tester.program, *map(str, arguments)], cwd=tester.folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, **options)


def wait_until(true, process):
    """Until it is true; False when the process ended before."""
    while not true():
        if process.poll() is not None:
            return False
        time.sleep(0.0005)
    return True


def kill(process, number=signal.SIGKILL):
    process.send_signal(number)
    process.wait(timeout=300)
    process.stderr.close()


def size_of(tester, name):
    """With what SQLite keeps beside it."""
    return sum(os.path.getsize(tester.path(name + end)) for end in ("", "-wal") if os.path.exists(tester.path(name + end)))


def remove_store(tester, name):
    for end in ("", "-wal", "-shm", ".lock"):
        if os.path.exists(tester.path(name + end)):
            os.remove(tester.path(name + end))
    shutil.rmtree(tester.path(name), ignore_errors=True)


def check_whole(tester, what, name):
    """Everything that is kept is there, and nothing else. Answers the version that is served."""
    tester.succeeds(what, "gallery", "--store", "sqlite:" + name)  # closes what a killed process left open
    tester.succeeds(what, "gallery", "--store", "sqlite:" + name, "--keep", "3")
    store = Store(tester.path(name))
    (version, record, _), = store.pointers.values()
    kept = Record(store, record)
    needed = set().union(*(Version(store, each).needed() for each, _ in kept.history))
    tester.check(set(store.parts) == needed and set(store.private) == kept.blobs, what + ": all that is needed, and no more")
    return version.hex()


def complete(tester, what, name, right, *more):
    """Goes on, and compares. Answers where it went on."""
    report = tester.json(what, *INDEX, "--store", "sqlite:" + name, *more)
    tester.check(report and report["version"] == right, what + ": the same version")
    tester.check(check_whole(tester, what, name) == right, what + ": it is served")
    remove_store(tester, name)
    return report["resumed"] if report else None


def test_killed_at_any_time(tester, seconds, right):
    resumed = []
    for part in (0.1, 0.3, 0.5, 0.7, 0.9):
        process = start(tester, *INDEX, "--store", "sqlite:killed")
        time.sleep(part * seconds)
        kill(process)
        resumed.append(complete(tester, "killed at %g" % part, "killed", right, "--force"))
    tester.check(set(resumed) <= {"", "rows", "neighbours"}, "going on at stages: %s" % resumed)


def kill_after(tester, name, *arguments):
    """Kills an index when a stage is behind it. False, and nothing is there, when it was ready before somebody saw that."""
    process = start(tester, *arguments, "--store", "sqlite:" + name)

    def reached():
        done = tester.run("gallery", "--store", "sqlite:" + name, "--json")
        return done.returncode == 0 and b'"building":true' in done.stdout

    found = wait_until(reached, process)
    kill(process)
    if found and reached():
        return True
    remove_store(tester, name)
    return False


def test_killed_after_a_stage(tester, right):
    """Several kills in a row lose nothing either."""
    kills = 0
    for _ in range(20):
        kills = kills + 1 if kill_after(tester, "often", *INDEX) else 0
        if kills == 2:
            break
    tester.check(kills == 2, "killed in the middle")
    done = tester.run(*INDEX, "--store", "sqlite:often")
    tester.check(done.returncode == 0 and b"an earlier run had" in done.stderr, "it says so: %r" % done.stderr)
    tester.check(check_whole(tester, "often", "often") == right, "the same version")
    remove_store(tester, "often")


def test_signals(tester, right):
    """A signal keeps what is done, too."""
    for number in [signal.SIGINT] if tester.windows else [signal.SIGTERM, signal.SIGINT]:
        for _ in range(10):
            process = start(tester, *INDEX, "--store", "sqlite:signal")
            wait_until(lambda: size_of(tester, "signal") > 500000, process)
            kill(process, number)
            if process.returncode != 0:
                break
            remove_store(tester, "signal")  # it was ready before the signal came
        expected = CONTROL_C_EXIT if tester.windows else -number
        tester.check(process.returncode == expected, "signal %d: exit code %s" % (number, process.returncode))
        complete(tester, "signal", "signal", right, "--force")


def test_other_inputs_start_anew(tester):
    """Other options, other voters: what was done is thrown away, and that is said."""
    tester.save("voters.npy", np.load(tester.path("public.npy"))[1:])
    shared = INDEX[:-2]
    for first, then in ((["--share", "0.02"], ["--share", "0.03"]), (["--share", "0.02"], ["--cells-per-item", "1"]),
                        (["--list", "80"], ["--list", "80", "--voters", "public.npy"]),
                        (["--voters", "public.npy"], ["--voters", "voters.npy"])):
        tester.check(any(kill_after(tester, "other", *shared, *first) for _ in range(10)), "killed in the middle")
        done = tester.run(*shared, *then, "--store", "sqlite:other")
        tester.check(done.returncode == 0 and b"other inputs" in done.stderr, "other inputs: %r" % done.stderr)
        check_whole(tester, "other inputs", "other")
        remove_store(tester, "other")


def test_two_at_once(tester, right):
    for _ in range(10):
        first = start(tester, *INDEX, "--store", "sqlite:both")
        wait_until(lambda: size_of(tester, "both") > 0, first)
        done = tester.run(*INDEX, "--store", "sqlite:both")
        if first.poll() is None:
            break
        remove_store(tester, "both")  # the first was ready before the second came
    tester.check(done.returncode == OUTPUT and b"writ" in done.stderr,
                 "the second of two: exit code %d, %r" % (done.returncode, done.stderr))
    tester.check(first.wait(timeout=300) == 0, "the first of two")
    first.stderr.close()
    tester.fails("it is there", OUTPUT, ["--force", "--add"], *INDEX, "--store", "sqlite:both")
    complete(tester, "replaced", "both", right, "--force")


def test_folder(tester):
    """A store in a folder: one writer, and whenever it is killed, a file that has its name is whole."""
    for _ in range(10):
        first = start(tester, *INDEX, "--store", "dir:folder")
        wait_until(lambda: os.path.exists(tester.path("folder/gallery")), first)
        done = tester.run(*INDEX, "--store", "dir:folder")
        if first.poll() is None:
            break
        shutil.rmtree(tester.path("folder"))  # the first was ready before the second came
    tester.check(done.returncode == OUTPUT and b"another privatemail index is writing it" in done.stderr,
                 "the second of two in a folder: exit code %d, %r" % (done.returncode, done.stderr))
    kill(first)
    small = ["index", "--pack", "p.pmpk", "--features", "more.npy", "--labels", "more_labels.npy", "--store", "dir:folder"]
    started = time.monotonic()
    right = tester.json("after a kill", *small, "--force")["version"]
    seconds = time.monotonic() - started
    for part in (0.2, 0.5, 0.8):
        shutil.rmtree(tester.path("folder"))
        process = start(tester, *small)
        time.sleep(part * seconds)
        kill(process)
        for place, _, names in os.walk(tester.path("folder")):
            for name in names if os.path.basename(place) in ("part", "private") else ():
                with open(os.path.join(place, name), "rb") as stream:
                    whole = hashlib.sha256(stream.read()).hexdigest() == name
                tester.check(whole, "killed at %g: %s is whole" % (part, name))
        report = tester.json("after a kill", *small, "--force")
        tester.check(report and report["version"] == right, "killed at %g: the same version" % part)
        tester.check(os.listdir(tester.path("folder/new")) == [], "killed at %g: nothing is left" % part)
    shutil.rmtree(tester.path("folder"))


def test_killed_changes(tester, seconds):
    """A change that is killed leaves the version before, or is done."""
    shutil.copy(tester.path("whole"), tester.path("changed"))
    before = check_whole(tester, "before", "changed")
    after = tester.json("changed", *CHANGE, "--store", "sqlite:changed")["version"]
    tester.check(check_whole(tester, "after", "changed") == after != before, "a new version")
    for part in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7):
        remove_store(tester, "changed")
        shutil.copy(tester.path("whole"), tester.path("changed"))
        process = start(tester, *CHANGE, "--store", "sqlite:changed")
        time.sleep(part * seconds)
        kill(process)
        found = check_whole(tester, "change killed at %g" % part, "changed")
        tester.check(found in (before, after), "change killed at %g" % part)
        if found == before:
            again = tester.json("again", *CHANGE, "--store", "sqlite:changed")
            tester.check(again["version"] == after, "the same change again")
    remove_store(tester, "changed")


def test_only_stores_are_written(tester):
    for name in ("gallery.npy", "p.pmpk"):
        tester.fails("over an input", OUTPUT, [name, "not a store"], *INDEX, "--store", "sqlite:" + name, "--force", same=False)
    tester.fails("over a folder", OUTPUT, [], *INDEX, "--store", "sqlite:" + tester.folder, "--force", same=False)
    tester.fails("in no folder", OUTPUT, ["absent/s"], *INDEX, "--store", "sqlite:absent/s")
    for name in ("gallery.npy.lock", "p.pmpk.lock"):
        if os.path.exists(tester.path(name)):
            os.remove(tester.path(name))


def test_size_limit(tester, right):
    """Anybody can make the disk seem full: at several places."""
    whole = size_of(tester, "whole")
    for part in (0.1, 0.4):
        limit = int(part * whole)
        done = tester.run(*INDEX, "--store", "sqlite:limited",
                          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                              resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
        tester.check(done.returncode == OUTPUT, "limit: %d, %r" % (done.returncode, done.stderr))
        complete(tester, "after the limit", "limited", right, "--force")


def test_closed_folder(tester):
    if tester.leaves_out("a folder that is closed", "wine runs for one user"):
        return
    os.mkdir(tester.path("closed"), 0o555)
    os.chmod(tester.folder, 0o755)

    def become_nobody():
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

    done = tester.run(*INDEX, "--store", "sqlite:closed/s", preexec_fn=become_nobody)
    tester.check(done.returncode == OUTPUT and not os.listdir(tester.path("closed")),
                 "closed folder: %d, %r" % (done.returncode, done.stderr))


def run_all(tester):
    seconds, right = make_large(tester)
    test_killed_at_any_time(tester, seconds, right)
    for test in (test_killed_after_a_stage, test_signals, test_two_at_once, test_size_limit):
        test(tester, right)
    test_folder(tester)
    test_killed_changes(tester, seconds)
    for test in (test_other_inputs_start_anew, test_only_stores_are_written, test_closed_folder):
        test(tester)
