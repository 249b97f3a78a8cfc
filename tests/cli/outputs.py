"""What an output may take the place of, and that nobody pays for one that cannot be written."""
import contextlib
import os
import pty
import resource
import select
import signal
import subprocess

from bad_input import PACK, PRIVATIZE, changed
from harness import CONTROL_C_EXIT, OUTPUT, USAGE, read_budget, wait_until

UNIT = 1 << 20


def test_inputs_are_kept(tester):
    """Neither under another spelling nor with --force: inputs, the budget and its lock."""
    tester.succeeds("a budget", *changed(PRIVATIZE, budget="me.budget", budget_new="40", out="kept.cbor"))
    folder = os.path.basename(tester.folder)
    for name in ("p.pmpk", "query.npy", "query_labels.npy", "me.budget", "me.budget.lock"):
        for out in (name, "./" + name, "../%s/%s" % (folder, name), tester.path(name)):
            tester.fails("release over " + out, USAGE, ["--out"],
                         *changed(PRIVATIZE, budget="me.budget", out=out), "--force")
    for out in ("./new.budget", "new.budget.lock"):
        tester.fails("release over a new budget", USAGE, ["--out"],
                     *changed(PRIVATIZE, budget="new.budget", budget_new="20", out=out))
    os.rename(tester.path("p.pmpk"), tester.path("series.1"))
    tester.fails("one of many over the pack", USAGE, ["series.1"],
                 *changed(PRIVATIZE, pack="series.1", out="./series", repeat="3"), "--force")
    os.rename(tester.path("series.1"), tester.path("p.pmpk"))
    for out in ("public.npy", "./public.npy", "./labels.npy"):
        tester.fails("pack over " + out, USAGE, ["--out"], *changed(PACK, out=out), "--force")


def test_a_file_named_like_the_lock_is_kept(tester):
    """The lock is removed at the end; a file with something in it is no lock."""
    tester.write("other.budget.lock", b"somebody's")
    tester.fails("a file in the lock's place", OUTPUT, ["other.budget.lock"],
                 *changed(PRIVATIZE, budget="other.budget", budget_new="20", out="other.cbor"))
    assert tester.read("other.budget.lock") == b"somebody's"
    os.unlink(tester.path("other.budget.lock"))


def test_plain_files_only(tester):
    """--force replaces plain files; links, also dangling ones, and pipes stay."""
    names = ["pipe"]
    os.mkfifo(tester.path("pipe"))
    if not tester.leaves_out("outputs that are links", "wine follows links of Linux by itself"):
        names += ["alias", "dangling"]
        os.symlink("kept.cbor", tester.path("alias"))
        os.symlink("nowhere", tester.path("dangling"))
    before, spent = tester.read("kept.cbor"), read_budget(tester.read("me.budget"))
    for name in names:
        kind = os.lstat(tester.path(name)).st_mode
        for force in ([], ["--force"]):
            for arguments in (changed(PACK, out=name), changed(PRIVATIZE, budget="me.budget", out=name)):
                done = tester.run(*arguments, *force)
                tester.check(done.returncode == OUTPUT and b"not a plain file" in done.stderr and
                             os.lstat(tester.path(name)).st_mode == kind, "%s stays: %r" % (name, done.stderr))
    tester.check(tester.read("kept.cbor") == before, "what a link leads to stays")
    tester.check(read_budget(tester.read("me.budget")) == spent, "an output that is refused costs nothing")
    for name in names:
        os.remove(tester.path(name))


def test_one_output_is_paid_once(tester):
    """Of many that want the same name at the same time, only the one that gets it pays."""
    for i in range(5):
        tester.succeeds("a budget", *changed(PRIVATIZE, budget="race", budget_new="2000", out="before.%d" % i))
        codes = tester.run_at_once([changed(PRIVATIZE, budget="race", out="race.%d" % i)] * 12)
        spent = read_budget(tester.read("race"))[0]
        tester.check(codes.count(0) == 1 and codes.count(OUTPUT) == 11 and spent == 8 * UNIT,
                     "twelve for one output: exit codes %s, spent %g" % (codes, spent / UNIT))
        os.remove(tester.path("race"))


def test_closed_pipe(tester):
    """A reader that is gone is an error like a full disk: it is told, and no lock is left."""
    if tester.leaves_out("a pipe that nobody reads", "its error has no number of its own there"):
        return
    for to_file in (False, True):
        reading, writing = os.pipe()
        os.close(reading)
        command = changed(PRIVATIZE, budget="piped", out="piped.cbor" if to_file else "-",
                          **({} if os.path.exists(tester.path("piped")) else {"budget_new": "2000"}))
        done = subprocess.run([tester.program] + command, cwd=tester.folder, stdout=writing, stderr=subprocess.PIPE, timeout=60)
        os.close(writing)
        tester.check(done.returncode == OUTPUT and b"privatemail" in done.stderr and
                     not os.path.exists(tester.path("piped.lock")), "a closed pipe: %d, %r" % (done.returncode, done.stderr))
        tester.check(os.path.exists(tester.path("piped.cbor")) == to_file, "a release that was written stays")


def start(tester, *arguments, **options):
    return subprocess.Popen([tester.program] + [str(argument) for argument in arguments], cwd=tester.folder,
                            stdout=subprocess.DEVNULL, **options)


def wait_for(path):
    wait_until(lambda: os.path.exists(path), 60, 0.001)


def test_failure_among_many(tester):
    """What was written before a failure is told: it was paid for."""
    os.mkdir(tester.path("purse"))
    process = start(tester, *changed(PRIVATIZE, budget="purse/b", budget_new="4000", epsilon="0.25", repeat="10000",
                                     out="many"), stderr=subprocess.PIPE)
    wait_for(tester.path("many.2"))
    os.rename(tester.path("purse"), tester.path("lost"))
    text = process.communicate(timeout=60)[1].decode()
    written = len([name for name in os.listdir(tester.folder) if name.startswith("many.")])
    tester.check(process.returncode == OUTPUT and "%d of 10000 releases were written" % written in text and
                 "nothing was released" not in text, "failure among many: %d written, %r" % (written, text))


def test_interrupted(tester):
    """A signal that ends the process takes its half file and its lock with it. Wine makes Ctrl-C out of SIGINT."""
    os.mkdir(tester.path("stopped"))
    numbers = [signal.SIGINT] if tester.windows else [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
    for i, number in enumerate(numbers * 4):
        process = start(tester, *changed(PRIVATIZE, budget="stopped/b%d" % i, budget_new="4000", epsilon="0.25",
                                         repeat="10000", out="stopped/r%d" % i), stderr=subprocess.DEVNULL)
        wait_for(tester.path("stopped/r%d.%d" % (i, 1 + i)))
        process.send_signal(number)
        code = process.wait(timeout=60)
        left = [name for name in os.listdir(tester.path("stopped")) if ".tmp-" in name or name.endswith(".lock")]
        expected = CONTROL_C_EXIT if tester.windows else -number
        tester.check(code == expected and not left, "signal %d: exit code %d, left %s" % (number, code, left))


def test_size_limit(tester):
    """A limit on the size of files is like a full disk."""
    if tester.leaves_out("a limit on the size of files", "the signal would end wine"):
        return
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    before = tester.snapshot()
    done = tester.run(*PACK, preexec_fn=limit)
    tester.check(done.returncode == OUTPUT and b"limits" in done.stderr and tester.snapshot() == before,
                 "size limit: exit code %d, %r" % (done.returncode, done.stderr))


def test_budget_is_private(tester):
    mask = os.umask(0o022)
    for mode in (0o600, 0o640):
        options = {} if mode == 0o640 else dict(budget_new="40")
        tester.succeeds("a private budget", *changed(PRIVATIZE, budget="secret", **options), "--force")
        found = os.stat(tester.path("secret")).st_mode & 0o777
        tester.check(found & 0o007 == 0 if tester.windows else found == mode, "permissions of a budget: %o instead of %o" % (found, mode))
        os.chmod(tester.path("secret"), 0o640)
    os.umask(mask)
    os.remove(tester.path("new.cbor"))


def test_progress(tester):
    """On a terminal many releases show how far they are, and the bar is gone at the end."""
    if tester.leaves_out("progress on a terminal", "wine draws a console of its own"):
        return
    ours, theirs = pty.openpty()
    process = start(tester, *changed(PRIVATIZE, repeat="40", out="bar"), stderr=theirs)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):
        while part := os.read(ours, 4096):
            seen += part
    os.close(ours)
    tester.check(process.wait(timeout=60) == 0 and b"releases" in seen and b" 50 %" in seen and
                 seen.endswith(b" \r"), "progress: %r" % seen[-200:])


def test_waiting(tester):
    """Whoever waits for a budget is told so, on a terminal."""
    if tester.leaves_out("waiting on a terminal", "wine draws a console of its own"):
        return
    first = start(tester, *changed(PRIVATIZE, budget="busy", budget_new="4000", epsilon="0.25", repeat="10000",
                                   out="busy.first"), stderr=subprocess.DEVNULL)
    wait_for(tester.path("busy.first.1"))
    ours, theirs = pty.openpty()
    second = start(tester, *changed(PRIVATIZE, budget="busy", out="busy.second"), stderr=theirs)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):
        while b"waiting" not in seen and select.select([ours], [], [], 20)[0]:
            seen += os.read(ours, 4096)
    first.terminate()
    first.wait(timeout=60)
    tester.check(b"waiting" in seen and second.wait(timeout=60) == 0, "waiting: %r" % seen)
    os.close(ours)


def run_all(tester):
    for test in (test_inputs_are_kept, test_a_file_named_like_the_lock_is_kept, test_plain_files_only,
                 test_one_output_is_paid_once, test_closed_pipe, test_failure_among_many,
                 test_interrupted, test_size_limit, test_budget_is_private, test_progress, test_waiting):
        test(tester)
