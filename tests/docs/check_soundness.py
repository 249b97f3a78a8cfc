#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of docs/SOUNDNESS.md, and those of the pages in proofs/, are those of the files that they speak of.

    tests/docs/check_soundness.py

Counts theorems, contracts, drivers, alarms, reasons, loops, planted bugs and exceptions of constant time, and looks for
the sentences that state them. What only a run of the tools prints (goals, seconds) is not looked at. First it looks for
other numbers, which it must not find. The last line is 'N passed, N failed'.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "proofs"
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / part) for part in ("scripts", "tests", "proofs/eva", "proofs/loops")]
import check_behaviour  # noqa: E402
import check_branches  # noqa: E402
import check_loops  # noqa: E402
from planted import read_list  # noqa: E402


def count(pattern, *paths):
    return sum(len(re.findall(pattern, path.read_text(), re.MULTILINE)) for path in paths)


def bugs(path):
    return len(read_list(path))


def contracts():
    """(names, different functions of the core among them)"""
    names = check_loops.contracts()
    sources = "".join(path.read_text() for path in (ROOT / "core").rglob("*.[ch]"))
    return len(names), len({name for name in names if re.search(rf"\b{name}\(", sources)})


def loops():
    """(all, counted, by a variant, with a reason)"""
    hows = [how for _, how in check_loops.judge(ROOT)[0]]
    return len(hows), *(hows.count(how) for how in ("counted", "variant", "reason"))


def facts():
    """(page, sentence with # where numbers stand, the numbers)"""
    theorems = re.search(r"# (\d+) proved, 0 failed", (PROOFS / "coq/README.md").read_text())[1]
    lines = sum(len(path.read_text().splitlines()) for path in (PROOFS / "coq").glob("*.v"))
    names, functions = contracts()
    axioms = count(r"^\s*axiom ", PROOFS / "wp/words.mlw")
    drivers = len(list((PROOFS / "eva/drivers").glob("drive_*.c")))
    analysed = len(check_behaviour.FUNCTIONS)
    alarms = check_behaviour.read_alarms()
    reasons = count(r"^because ", PROOFS / "eva/alarms.txt")
    raised = sum(len(alarm.drivers) for alarm in alarms)
    all_loops, counted, variants, argued = loops()
    library = check_branches.Library()
    allowed = library.allowed
    exceptions = check_branches.ALLOWED.read_text().partition("\nunnamed\n")[2]
    soundness, eva, loop_page = ROOT / "docs/SOUNDNESS.md", PROOFS / "eva/README.md", PROOFS / "loops/README.md"
    yield soundness, "| theorems | # in Coq, # lines", (theorems, f"{round(lines, -2):,}")
    yield soundness, "# names, which are # functions of the core", (names, functions)
    yield soundness, "of # axioms on words", (axioms,)
    yield soundness, "# drivers, # of # functions", (drivers, analysed, analysed)
    yield soundness, "all # functions of the .c files", (analysed,)
    yield soundness, "# alarms (# different ones)", (raised, len(alarms))
    yield eva, "It leaves # alarms, counted by driver: # different ones, with # reasons", (raised, len(alarms), reasons)
    yield soundness, "# loops: # counted, # by a variant, # with a reason", (all_loops, counted, variants, argued)
    yield loop_page, "There are # loops: # are counted, # have only a variant, # have a reason", (
        all_loops, counted, variants, argued)
    yield loop_page, "puts # bugs into copies", (bugs(PROOFS / "loops/planted_loops.txt"),)
    yield soundness, "# bugs for contracts, # for behaviour, # for loops, # for the law, # gaps", (
        bugs(PROOFS / "wp/planted_contracts.txt"), bugs(PROOFS / "eva/planted_behaviour.txt"),
        bugs(PROOFS / "loops/planted_loops.txt"), bugs(ROOT / "tests/mutants/law.txt"),
        count(r"^check 1 ", PROOFS / "coq/check_gaps.sh"))
    yield soundness, "| # bugs, each found |", (sum(map(bugs, (ROOT / "tests/mutants").glob("*.txt"))),)
    yield soundness, "# sources in full; # files see no secret", (len(library.files), len(allowed.files))
    yield soundness, "has # whole functions and # lines", (len(allowed.functions), len(allowed.lines))
    yield soundness, "it has # entries, each with a symbol", (len(re.findall(r"^ +\S", exceptions, re.MULTILINE)),)
    yield soundness, "| # reasons |", (reasons,)


def states(page, sentence, numbers):
    text = sentence
    for number in numbers:
        text = text.replace("#", str(number), 1)
    return " ".join(text.split()) in " ".join(page.read_text().split())


def main():
    passed = failed = 0
    for page, sentence, numbers in facts():
        others = [("1" + str(number)) for number in numbers]
        if states(page, sentence, others):
            print(f"FAILED: {page.name} states other numbers, too: {sentence}")
            failed += 1
        elif not states(page, sentence, numbers):
            print(f"FAILED: {page.relative_to(ROOT)} does not say '{sentence}' with {', '.join(map(str, numbers))}")
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
