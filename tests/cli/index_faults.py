"""Indexing that is killed, finds the disk full, or is not alone: the store becomes the same, or does not become."""
import os
import resource
import signal
import subprocess
import time

import numpy as np

from harness import INPUT, OUTPUT, WHOLE

ROWS = 40000
INDEX = ["index", "--pack", "p.pmpk", "--features", "gallery.npy", "--labels", "classes.npy", "--cells-per-item", "2"]


def make_large(tester):
    """A gallery that takes long enough to be stopped in the middle, and its store."""
    source = np.random.default_rng(8)
    labels = np.arange(ROWS) % 10
    features = (source.standard_normal((10, 48))[labels] + source.standard_normal((ROWS, 48))).astype("f4")
    tester.save("gallery.npy", features)
    tester.save("classes.npy", labels.astype("i4"))
    tester.save("public.npy", features[:300])
    tester.save("public_labels.npy", labels[:300].astype("i4"))
    tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "public_labels.npy", *WHOLE, "--dims", "2",
                    "--out", "p.pmpk")
    started = time.time()
    tester.succeeds("the whole store", *INDEX, "--store", "sqlite:whole")
    return time.time() - started


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
    process.wait(timeout=60)
    process.stderr.close()


def size_of(tester, name):
    try:
        return os.path.getsize(tester.path(name))
    except FileNotFoundError:
        return 0


def remove_leftovers(tester, name):
    """What a killed process may leave: FILE.tmp-…"""
    for found in os.listdir(tester.folder):
        if found.startswith(name + ".tmp-"):
            os.remove(tester.path(found))


def complete(tester, what, name, *more):
    """Goes on, and compares. Answers where it went on."""
    report = tester.json(what, *INDEX, "--store", "sqlite:" + name, *more)
    tester.check(report and tester.read(name) == tester.read("whole"), what + ": the same bytes")
    left = [found for found in os.listdir(tester.folder) if found.startswith(name + ".")]
    tester.check(not left, "%s: left %s" % (what, left))
    os.remove(tester.path(name))
    return report["resumed_at"] if report else -1


def test_killed_at_any_time(tester, seconds):
    resumed = []
    for part in (0.1, 0.3, 0.5, 0.7, 0.9):
        process = start(tester, *INDEX, "--store", "sqlite:killed")
        time.sleep(part * seconds)
        kill(process)
        remove_leftovers(tester, "killed")
        force = ["--force"] if os.path.exists(tester.path("killed")) else []
        resumed.append(complete(tester, "killed at %g" % part, "killed", *force))
    tester.check(all(at in (0, ROWS) or at % 4096 == 0 for at in resumed), "going on at checkpoints: %s" % resumed)


def test_killed_after_checkpoints(tester):
    """Three checkpoints or more must be there; several kills in a row lose nothing either."""
    whole, last = size_of(tester, "whole"), 0
    for part in (0.2, 0.4, 0.6):
        process = start(tester, *INDEX, "--store", "sqlite:often")
        reached = wait_until(lambda: size_of(tester, "often.building") > part * whole, process)
        kill(process)
        tester.check(reached and not os.path.exists(tester.path("often")), "killed in the middle")
    process = start(tester, *INDEX, "--store", "sqlite:often")
    wait_until(lambda: any(name.startswith("often.tmp-") for name in os.listdir(tester.folder)), process)
    kill(process)
    remove_leftovers(tester, "often")
    if not os.path.exists(tester.path("often")):
        last = complete(tester, "killed while finishing", "often")
        tester.check(last == ROWS, "all items were there: %d" % last)
    process = start(tester, *INDEX, "--store", "sqlite:often")
    wait_until(lambda: size_of(tester, "often.building") > 0.5 * whole, process)
    kill(process)
    done = tester.run(*INDEX, "--store", "sqlite:often")
    tester.check(done.returncode == 0 and b"items are there from an earlier run" in done.stderr, "it says so: %r" % done.stderr)
    os.remove(tester.path("often"))


def test_signals(tester):
    """A signal keeps what is done, too, and leaves no half file."""
    for number in (signal.SIGTERM, signal.SIGINT):
        process = start(tester, *INDEX, "--store", "sqlite:signal")
        wait_until(lambda: size_of(tester, "signal.building") > 500000, process)
        kill(process, number)
        tester.check(process.returncode == -number, "signal %d: exit code %s" % (number, process.returncode))
        tester.check(not [name for name in os.listdir(tester.folder) if name.startswith("signal.tmp")], "no half file")
        tester.check(complete(tester, "signal", "signal") > 0, "what was done is kept")


def test_other_inputs_start_anew(tester):
    process = start(tester, *INDEX, "--store", "sqlite:other")
    wait_until(lambda: size_of(tester, "other.building") > 500000, process)
    kill(process)
    done = tester.run(*INDEX[:-1], "1", "--store", "sqlite:other")
    tester.check(done.returncode == 0 and b"starting again" in done.stderr, "other options: %r" % done.stderr)
    os.remove(tester.path("other"))


def test_lists_of_a_share_go_on(tester):
    """They need all items, so they are made before the first: the store becomes the same all the same."""
    # 4,000 rows a class: small enough to compare all with all, large enough to be stopped.
    shared = [*INDEX[:-2], "--share", "0.02"]
    tester.succeeds("the whole store with a share", *shared, "--store", "sqlite:share.whole")
    process = start(tester, *shared, "--store", "sqlite:share")
    reached = wait_until(lambda: size_of(tester, "share.building") > 0.5 * size_of(tester, "share.whole"), process)
    kill(process)
    tester.check(reached and not os.path.exists(tester.path("share")), "killed in the middle of a share")
    report = tester.json("a share goes on", *shared, "--store", "sqlite:share", "--threads", "1")
    tester.check(report["resumed_at"] > 0 and tester.read("share") == tester.read("share.whole"),
                 "a share goes on at %s" % report["resumed_at"])
    process = start(tester, *shared, "--store", "sqlite:anew")
    wait_until(lambda: size_of(tester, "anew.building") > 500000, process)
    kill(process)
    done = tester.run(*INDEX[:-2], "--share", "0.03", "--store", "sqlite:anew")
    tester.check(done.returncode == 0 and b"starting again" in done.stderr, "another share: %r" % done.stderr)
    for first, then in (([], ["--voters", "public.npy"]), (["--voters", "public.npy"], ["--voters", "voters.npy"])):
        tester.save("voters.npy", np.load(tester.path("public.npy"))[1:])
        process = start(tester, *shared, *first, "--store", "sqlite:voted")
        wait_until(lambda: size_of(tester, "voted.building") > 500000, process)
        kill(process)
        done = tester.run(*shared, *then, "--store", "sqlite:voted")
        tester.check(done.returncode == 0 and b"starting again" in done.stderr, "other voters: %r" % done.stderr)
        os.remove(tester.path("voted"))
    for name in ("share", "share.whole", "anew"):
        os.remove(tester.path(name))


def test_two_at_once(tester):
    first = start(tester, *INDEX, "--store", "sqlite:both")
    wait_until(lambda: size_of(tester, "both.building") > 0, first)
    done = tester.run(*INDEX, "--store", "sqlite:both")
    tester.check(done.returncode == OUTPUT and b"(process %d) is writing it" % first.pid in done.stderr,
                 "the second of two: exit code %d, %r" % (done.returncode, done.stderr))
    tester.check(first.wait(timeout=60) == 0, "the first of two")
    first.stderr.close()
    tester.fails("it is there", OUTPUT, ["both", "--force"], *INDEX, "--store", "sqlite:both")
    complete(tester, "replaced", "both", "--force")


def test_only_stores_are_replaced(tester):
    for name in ("gallery.npy", "p.pmpk"):
        tester.fails("over an input", OUTPUT, [name, "not a store"], *INDEX, "--store", "sqlite:" + name, "--force")
    tester.fails("over a folder", OUTPUT, ["not a plain file"], *INDEX, "--store", "sqlite:" + tester.folder, "--force")
    tester.fails("in no folder", OUTPUT, ["absent/s", "make it first"], *INDEX, "--store", "sqlite:absent/s")


def test_size_limit(tester):
    """Anybody can make the disk seem full: in the middle, and while finishing."""
    for part in (0.3, 0.98):
        limit = int(part * size_of(tester, "whole"))
        done = tester.run(*INDEX, "--store", "sqlite:limited",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        tester.check(done.returncode == OUTPUT and b"limits" in done.stderr and
                     not os.path.exists(tester.path("limited")), "limit: %d, %r" % (done.returncode, done.stderr))
        tester.check(complete(tester, "after the limit", "limited") > 0, "what was done is kept")


def test_full_disk(tester):
    """A small disk of its own: too small for the items, then for the copy, then large enough."""
    disk, whole = tester.path("disk"), size_of(tester, "whole")
    os.mkdir(disk)
    mount = ["mount", "-t", "tmpfs", "-o", "size=%d" % (whole // 2), "none", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        print("full disk: no right to mount a small one; the size limit stands for it")
        return
    try:
        for size in (whole // 2, whole * 3 // 2):
            subprocess.run(["mount", "-o", "remount,size=%d" % size, disk], check=True)
            done = tester.run(*INDEX, "--store", "sqlite:disk/s")
            tester.check(done.returncode == OUTPUT and b"free some space" in done.stderr and
                         os.listdir(disk) in (["s.building"], ["s.building", "s.building-journal"]),
                         "full disk: %d, %r, %s" % (done.returncode, done.stderr, os.listdir(disk)))
        subprocess.run(["mount", "-o", "remount,size=%d" % (whole * 4), disk], check=True)
        report = tester.json("room again", *INDEX, "--store", "sqlite:disk/s")
        tester.check(report["resumed_at"] > 0 and tester.read("disk/s") == tester.read("whole"), "room again")
    finally:
        subprocess.run(["umount", disk], check=True)


def test_closed_folder(tester):
    os.mkdir(tester.path("closed"), 0o555)
    os.chmod(tester.folder, 0o755)

    def become_nobody():
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

    done = tester.run(*INDEX, "--store", "sqlite:closed/s", preexec_fn=become_nobody)
    tester.check(done.returncode == OUTPUT and b"you may not write there" in done.stderr and
                 not os.listdir(tester.path("closed")), "closed folder: %d, %r" % (done.returncode, done.stderr))


def test_damaged(tester):
    """A store that was changed is refused by whoever opens it, one in the making by whoever goes on with it."""
    whole = bytearray(tester.read("whole"))
    tester.succeeds("release", "privatize", "--pack", "p.pmpk", "--features", "public.npy", "--labels",
                    "public_labels.npy", "--row", "0", "--epsilon", "4", "--out", "r.cbor")
    find = ["find", "--release", "r.cbor", "--pack", "p.pmpk", "--store"]
    tester.succeeds("find", *find, "sqlite:whole")
    whole[5 * len(whole) // 8 // 4096 * 4096 + 3] ^= 1  # the number of rows of a page
    tester.write("damaged", bytes(whole))
    tester.write("cut", tester.read("whole")[:-8192])
    tester.write("text", b"no store\n")
    for name, needle in (("damaged", "is damaged"), ("cut", "is damaged"), ("text", "is not a store"), ("no", "cannot be")):
        tester.fails(name, INPUT, [name, needle], *find, "sqlite:" + name)
    tester.write("text.building", b"somebody's notes\n" * 20)
    before = tester.read("text.building")
    os.remove(tester.path("text"))
    tester.fails("a foreign file", OUTPUT, ["text.building", "remove it"], *INDEX, "--store", "sqlite:text")
    tester.check(tester.read("text.building") == before, "and it is kept")


def run_all(tester):
    seconds = make_large(tester)
    test_killed_at_any_time(tester, seconds)
    for test in (test_killed_after_checkpoints, test_signals, test_other_inputs_start_anew,
                 test_lists_of_a_share_go_on, test_two_at_once, test_only_stores_are_replaced, test_size_limit,
                 test_full_disk, test_closed_folder, test_damaged):
        test(tester)
