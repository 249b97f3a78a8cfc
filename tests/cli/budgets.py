"""Budgets in files: what is spent stays spent, whoever spends at the same time and whenever a process dies."""
import os
import random
import signal
import subprocess
import time

from bad_input import PRIVATIZE, changed
from harness import BUDGET, INPUT, OUTPUT, USAGE, read_budget, wait_until

UNIT = 1 << 20


def spend(tester, out, **options):
    return changed(PRIVATIZE, out=out, **options)


def test_counting(tester):
    first = tester.json("new budget", *spend(tester, "b0.cbor", budget="mine", budget_new="12,4,1e-6", owner="ann"))
    left = first["budget"]
    tester.check(left["epsilon_spent"] == 4 and left["releases_left"] == 2, "budget: 4 of 12 spent")
    tester.check(read_budget(tester.read("mine"))[:2] == (4 * UNIT, 12 * UNIT), "budget: the file says so too")
    tester.check(tester.read("mine")[8:24] == b"ann" + bytes(13), "budget: the owner's tag")
    gaussian = tester.json("gaussian", *spend(tester, "b1.cbor", budget="mine", owner="ann", mechanism="gaussian",
                                              epsilon="1"))
    spent = read_budget(tester.read("mine"))
    tester.check(spent[0] == 4 * UNIT and abs(spent[2] / 2**40 - gaussian["mu"] ** 2) < 1e-9, "budget: mu^2 is counted")
    tester.check(not [name for name in os.listdir(tester.folder) if name.endswith(".lock")], "no lock is left")
    before = tester.read("mine")
    tester.fails("more than is left", BUDGET, ["mine", "2 more"],
                 *spend(tester, "b2.cbor", budget="mine", owner="ann", repeat="3"))
    tester.json("the rest", *spend(tester, "b2.cbor", budget="mine", owner="ann", repeat="2"))
    tester.check(read_budget(tester.read("mine"))[0] == 12 * UNIT, "budget: --repeat 2 costs twice")
    tester.fails("spent", BUDGET, ["mine", "spent"], *spend(tester, "b3.cbor", budget="mine", owner="ann"))
    tester.write("mine", before)


def test_gaussian_count(tester):
    """How many more it pays for is counted in whole units, each price rounded up: not one more than that."""
    told = tester.json("small prices", *spend(tester, "g.cbor", budget="g", budget_new="1,256,0.9", epsilon="0.001",
                                              mechanism="gaussian", value_bytes="2"))
    spent, cap = read_budget(tester.read("g"))[2:]
    tester.check(told["budget"]["releases_left"] == (cap - spent) // spent, "Gaussian releases left: %s, not %d" %
                 (told["budget"], (cap - spent) // spent))


def test_bad(tester):
    whole = tester.read("mine")
    tester.fails("foreign", BUDGET, ["mine", "owner"], *spend(tester, "b4.cbor", budget="mine", owner="bob"))
    tester.fails("no owner", BUDGET, ["mine", "owner"], *spend(tester, "b4.cbor", budget="mine"))
    for name, content in (("damaged", whole[:45] + bytes([whole[45] ^ 1]) + whole[46:]), ("cut", whole[:63]),
                          ("long", whole + b"\0"), ("nothing", b""), ("alien", os.urandom(64)), ("big", bytes(100000))):
        tester.write(name + ".budget", content)
        tester.fails(name + " budget", BUDGET, [name + ".budget"],
                     *spend(tester, "b4.cbor", budget=name + ".budget", owner="ann"))
    tester.fails("absent", INPUT, ["absent.budget", "--budget-new"], *spend(tester, "b4.cbor", budget="absent.budget"))
    tester.fails("exists", OUTPUT, ["mine", "--budget-new"],
                 *spend(tester, "b4.cbor", budget="mine", budget_new="3", owner="ann"))
    for text in ("x", "1,2", "1,2,3,4", "-1", "5000", "nan", "1,0,1e-5", "1,300,1e-5", "1,2,0", "", "1,,1"):
        tester.fails("--budget-new " + text, USAGE, ["budget-new"],
                     *spend(tester, "b4.cbor", budget="new.budget", budget_new=text))
    tester.fails("no Gaussian cap", BUDGET, ["new.budget"],
                 *spend(tester, "b4.cbor", budget="new.budget", budget_new="9", mechanism="gaussian"))
    tester.fails("same file", USAGE, ["--out"], *spend(tester, "mine", budget="mine", owner="ann", force=True))
    os.link(tester.path("mine"), tester.path("second"))
    tester.fails("hard link", BUDGET, ["second"], *spend(tester, "b4.cbor", budget="second", owner="ann"))
    os.remove(tester.path("second"))
    if tester.leaves_out("a budget that is a link", "wine follows links of Linux by itself"):
        return
    os.symlink("mine", tester.path("link"))
    tester.succeeds("link", *spend(tester, "b4.cbor", budget="link", owner="ann"))
    tester.check(os.path.islink(tester.path("link")) and read_budget(tester.read("mine"))[0] == 8 * UNIT,
                 "a link spends from the file behind it")


def test_refund(tester):
    """A query that cannot be used costs nothing; a new budget that paid for nothing is not left behind."""
    for options in (dict(features="absent.npy"), dict(features="nan.npy"), dict(labels="foreign.npy"), dict(row="6"),
                    dict(features="eleven.npy", labels=None, label="7")):
        code = USAGE if "row" in options else INPUT
        tester.fails("refund %s" % options, code, [], *spend(tester, "b5.cbor", budget="mine", owner="ann", **options))
        tester.fails("refund new %s" % options, code, [],
                     *spend(tester, "b5.cbor", budget="fresh.budget", budget_new="9", **options))


def test_shared(tester):
    tester.succeeds("shared", *spend(tester, "s.cbor", budget="shared", budget_new="11", epsilon="1"))
    codes = tester.run_at_once([spend(tester, "s%d.cbor" % i, budget="shared", epsilon="1") for i in range(20)])
    written = sum(os.path.exists(tester.path("s%d.cbor" % i)) for i in range(20))
    tester.check(codes.count(0) == 10 and codes.count(BUDGET) == 10 and written == 10,
                 "twenty spend from ten: exit codes %s, %d releases" % (codes, written))
    tester.check(read_budget(tester.read("shared"))[0] == 11 * UNIT, "a shared budget is spent exactly")
    tester.check(not os.path.exists(tester.path("shared.lock")), "no lock is left")


def test_killed(tester):
    """Whenever it is killed, the budget can be read and has paid for all that was written."""
    folder = tester.path("killed")
    os.mkdir(folder)
    base = spend(tester, "killed/r", budget="killed/budget", epsilon="0.25", repeat="800")
    tester.succeeds("killed", *changed(base, repeat="1", budget_new="4000"))
    source, worst, rounds, seen = random.Random(9), None, 25, set()
    for i in range(rounds):
        process = subprocess.Popen([tester.program] + changed(base, out="killed/r%d" % i), cwd=tester.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: i % 3 == 0 or os.path.exists(os.path.join(folder, "r%d.1" % i)), 20, 0.001)
        time.sleep(source.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        spent = read_budget(tester.read("killed/budget"))
        releases = [name for name in os.listdir(folder) if name[0] == "r" and ".tmp" not in name and ".try" not in name]
        seen.add(len(releases))
        if spent is None or spent[0] < len(releases) * UNIT // 4:
            worst = (spent, len(releases))
    tester.check(worst is None, "killed: budget %s" % (worst,))
    tester.check(len(seen) > rounds // 4, "killed: the kills hit while releases were made (%d counts)" % len(seen))
    tester.succeeds("after kills", *changed(base, repeat="1", out="killed/after"))


def run_all(tester):
    for test in (test_counting, test_gaussian_count, test_bad, test_refund, test_shared, test_killed):
        test(tester)
