#!/usr/bin/env python3
"""Runs Frama-C Eva over the drivers of proofs/eva/drivers and judges what it says (proofs/eva/check_behaviour.sh).

A driver is proved when nothing stops the analysis before its end, every alarm is listed in alarms.txt, and every entry
of that list for this driver is still needed. A full run also wants every function of core and transport reached by some
driver, except those of unreached.txt.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from planted import Failure, read_list  # noqa: E402

WORK = ROOT / "build" / "eva"
LIMIT = 900  # seconds that one driver may take

# Eva does not know addresses as numbers, so rounding one up becomes an offset that the driver chooses, 0 to 7.
REWRITES = [
    ("core/client.c", "(pml_client *)(((uintptr_t)memory + 7) & ~(uintptr_t)7)",
     "(pml_client *)(void *)((uint8_t *)memory + eva_offset)"),
    ("core/ranking.c", "(pml_ranking *)(((uintptr_t)memory + 7) & ~(uintptr_t)7)",
     "(pml_ranking *)(void *)((uint8_t *)memory + eva_offset)"),
    ("core/guess.c", "(int8_t *)(((uintptr_t)memory + 7) & ~(uintptr_t)7)", "(int8_t *)memory + eva_offset"),
    ("core/looks.c", "(pml_looks *)(((uintptr_t)memory + 3) & ~(uintptr_t)3)",
     "(pml_looks *)(void *)((uint8_t *)memory + eva_offset)"),
    # An empty assembler statement that may read and write all memory, for Eva: it does nothing.
    ("core/base/wipe.c", '__asm__ volatile("" : : "r"(memory) : "memory");', ""),
]

# The same in other words, for Eva. Every comparison is false for a NaN, but Eva 25 concludes that only from x == x.
# `down` is 32 bits wide, so by the contracts of mask_less and select32 (proofs/wp) the smaller of two numbers is chosen.
# A mask of no bits or all chooses one of the two; for any other the expression stays. The same for bits of a power of two.
SAME = [
    ("core/base/base.h", "return epsilon >= PML_EPSILON_MIN", "return epsilon == epsilon && epsilon >= PML_EPSILON_MIN"),
    ("core/base/base.h", "return delta >= 0x1p-50", "return delta == delta && delta >= 0x1p-50"),
    ("core/base/base.h", "crowd->clusters >= 0.0 &&", "crowd->clusters == crowd->clusters && crowd->clusters >= 0.0 &&"),
    ("core/base/base.h", "crowd->relay_clusters >= 0.0 &&",
     "crowd->relay_clusters == crowd->relay_clusters && crowd->relay_clusters >= 0.0 &&"),
    ("core/base/elementary.c", "    return from_bits((uint64_t)(exponent + 1023) << 52);",
     "    return exponent >= -1022 && exponent <= 1023 ? pow(2.0, exponent)\n"
     "                                                 : from_bits((uint64_t)(exponent + 1023) << 52);"),
    ("core/privacy/budget.c", "return epsilon >= 0.0", "return epsilon == epsilon && epsilon >= 0.0"),
    ("core/privacy/budget.c", "!(half >= 0.0 &&", "!(half == half && half >= 0.0 &&"),
    ("core/privacy/ceiling.c", "epsilon >= 0.0 &&", "epsilon == epsilon && share == share && epsilon >= 0.0 &&"),
    ("core/privacy/normal.c", "return v >= low", "return v == v && v >= low"),
    ("core/privacy/crowd_account.c", "(use->floor >= PML_CROWD_FLOOR_MIN",
     "(use->floor == use->floor && use->floor >= PML_CROWD_FLOOR_MIN"),
    ("core/privacy/crowd_account.c", "!(epsilon >= 0.0 &&", "!(epsilon == epsilon && epsilon >= 0.0 &&"),
    ("core/privacy/crowd_account.c", "!(delta >= PML_CROWD_DELTA_MIN", "!(delta == delta && delta >= PML_CROWD_DELTA_MIN"),
    ("core/privacy/crowd_account.c", "!(delta0 >= PML_CROWD_DELTA_MIN",
     "!(delta0 == delta0 && delta0 >= PML_CROWD_DELTA_MIN"),
    ("core/privacy/crowd_plan.c", "goal->honest > 0.0 &&", "goal->honest == goal->honest && goal->honest > 0.0 &&"),
    ("core/privacy/crowd_shuffle.c", "shuffle->floor >= 0x1p-16 &&",
     "shuffle->floor == shuffle->floor && shuffle->floor >= 0x1p-16 &&"),
    ("core/privacy/crowd_shuffle.c", "!(epsilon >= 0.0 &&", "!(epsilon == epsilon && epsilon >= 0.0 &&"),
    ("core/stages/calibrate.c", "!(certificate->sensitivity >= 0x1p-8 &&",
     "!(certificate->sensitivity == certificate->sensitivity && certificate->row_bound == certificate->row_bound &&\n"
     "          certificate->sensitivity >= 0x1p-8 &&"),
    ("core/stages/quantise.c", "down = select32(mask_less(down, 9), down, 9);", "down = down < 9 ? down : 9;"),
    ("core/stages/quantise.c", "down = select32(mask_less(down, 16), down, 16);", "down = down < 16 ? down : 16;"),
    ("core/stages/gaussian.c", "int64_t place = ", "int64_t place = own == 0 ? centres[at] : own == ~(uint64_t)0 ? row[i] : "),
]

# Hints: Eva follows each value by itself from here on, so that a place and what is left behind it stay related; and
# bounds that it tries before it gives up on a loop.
HINTS = [
    ("transport/binary_http.c", "    const uint8_t *bytes = reader->at;\n", "    //@ split size;\n"),
    ("transport/binary_http.c", "    const uint8_t *rest = take(reader, more);\n", "    //@ split more;\n"),
    ("transport/keys.c", "    const uint8_t *bytes = *at + 2;\n", "    //@ split size;\n"),
    ("core/privacy/crowd_losses.c", "    for (uint32_t bit = 1u << 23; bit > 0; bit /= 2u) {\n", "    //@ loop unroll 24;\n"),
    ("core/privacy/crowd_shuffle.c", "    for (int i = 0; i < BUCKETS; i++)\n        b->chance[i] = 0.0;\n", "    //@ loop unroll 24;\n"),
    ("core/privacy/normal.c", "    for (int n = 0; n < 100; n++) {\n",
     "    //@ loop widen_hints i.low, -37.0, 0x1p-30, 37.0, 64.0; loop widen_hints i.high, -37.0, 0x1p-30, 37.0, 64.0;\n"),
]

# The empty assembler statement that hides a value from the compiler does nothing to it, so it is left out.
# The four memory functions get the contracts of Frama-C's library.
FOLDERS = ("", "core", "core/include", "core/base", "core/pack", "core/privacy", "core/stages", "transport",
           "transport/include", "proofs/eva")
BASE = ["frama-c", "-c11", "-machdep", "gcc_x86_64", "-eva", "-warn-special-float", "none", "-warn-invalid-pointer",
        "-eva-msg-key=-initial-state,-final-states", "-eva-domains", "equality,symbolic-locations",
        "-eva-split-return", "auto", "-eva-no-alloc-returns-null",
        "-eva-slevel-function", "main:0"]


@dataclass
class Driver:
    name: str
    quick: bool = False
    sources: list = field(default_factory=list)
    stubs: list = field(default_factory=list)
    options: list = field(default_factory=list)
    defines: list = field(default_factory=list)


@dataclass
class Result:
    driver: Driver
    problems: list
    alarms: int = 0
    used: set = field(default_factory=set)
    reached: set = field(default_factory=set)
    statements: tuple = (0, 0)
    seconds: float = 0.0


def read_driver(path):
    driver = Driver(path.stem.removeprefix("drive_"))
    for line in path.read_text().splitlines()[:20]:
        match = re.search(r"eva: (\w+) ?([^*]*)", line)
        if match and match[1] == "quick":
            driver.quick = True
        elif match:
            getattr(driver, match[1]).extend(match[2].split())
    if driver.sources == ["core"]:  # all but what the stubs stand for
        left_out = {"base/sha256.c", "base/chacha20.c"}
        driver.sources = sorted({str(p.relative_to(ROOT / "core")) for p in (ROOT / "core").rglob("*.c")} - left_out)
    return driver


# ---- the tree --------------------------------------------------------------------------------------------------------


def replace_once(path, before, after):
    text = path.read_text()
    if text.count(before) != 1:
        sys.exit(f"{path}: '{before}' stands there {text.count(before)} times, not once")
    path.write_text(text.replace(before, after))


def without_contracts(text):
    """The same lines without annotations. They are proofs/wp's to prove, and Eva would take each for granted."""
    text = re.sub(r"/\*@.*?\*/", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//@[^\n]*", "", text)


def make_tree(tree, changed=()):
    """A copy of the sources for Eva; `changed` has texts for some of the files."""
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("core", "transport", "proofs/eva"):
        shutil.copytree(ROOT / folder, tree / folder)
    for file in changed:
        (tree / file).write_text(changed[file])
    for folder in ("core", "transport"):
        for path in sorted((tree / folder).rglob("*.[ch]")):
            path.write_text(without_contracts(path.read_text()))
    for file, before, hint in HINTS:
        replace_once(tree / file, before, hint + before)
    for file, before, after in SAME:
        replace_once(tree / file, before, after)
    for file, before, after in REWRITES:
        replace_once(tree / file, before, after)
        path = tree / file
        path.write_text("#include <stddef.h>\nextern size_t eva_offset;\n" + path.read_text())


# ---- one run ---------------------------------------------------------------------------------------------------------


def analyse(driver, tree, logs):
    """The log and the rows of Frama-C's table of properties."""
    table = logs / f"{driver.name}.csv"
    table.unlink(missing_ok=True)
    paths = " ".join(f"-I{tree / folder}" for folder in FOLDERS)
    files = [tree / "proofs/eva/drivers" / f"drive_{driver.name}.c", tree / "proofs/eva/offset.c"]
    files += [tree / "proofs/eva" / stub for stub in driver.stubs]
    files += [tree / (s if s.startswith("transport/") else f"core/{s}") for s in driver.sources]
    command = BASE + [f"-cpp-extra-args={paths} -include string.h -include math.h -D'__asm__(...)=' {' '.join(driver.defines)}"] + driver.options
    command += [str(file) for file in files]
    command += ["-then", "-nonterm", "-report-csv", str(table), "-metrics", "-metrics-eva-cover"]
    log = logs / f"{driver.name}.log"
    with log.open("w") as out:
        try:
            status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, timeout=LIMIT, cwd=tree).returncode
        except subprocess.TimeoutExpired:
            return log.read_text(), None, f"took more than {LIMIT} seconds"
    if status != 0 or not table.exists():
        return log.read_text(), None, f"frama-c failed: {log}"
    with table.open(newline="") as rows:
        return log.read_text(), list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)), None


def alarm_of(row):
    """The alarm as alarms.txt names it, without the line, so that edits elsewhere in the file do not matter."""
    function = re.sub(r"_\d+$", "", row["function"])  # Frama-C numbers functions of one name
    return row["file"], function, row["property kind"], " ".join(row["property"].split())


def judge(driver, tree, logs, listed):
    start = time.time()
    log, rows, failure = analyse(driver, tree, logs)
    result = Result(driver, [failure] if failure else [])
    result.seconds = time.time() - start
    if failure:
        return result
    result.problems += unfinished(log.replace(f"{tree}/", ""), rows, driver)
    # What a contract demands is judged at each call: "precondition of".
    found = [row for row in rows if row["status"] in ("Unknown", "Invalid", "Invalid or unreachable")
             and row["property kind"] != "precondition"]
    for row in found:
        alarm = alarm_of(row)
        result.alarms += 1
        entry = next((e for e in listed if e.covers(driver.name, alarm)), None)
        if entry and entry not in result.used:
            result.used.add(entry)
        else:
            result.problems.append(f"alarm: {row['file']}:{row['line']} {alarm[1]} {alarm[2]} {alarm[3]}")
    match = re.search(r"(\d+) statements reached \(out of (\d+)\)", log)
    result.statements = (int(match[1]), int(match[2])) if match else (0, 0)
    result.reached = reached_of(log, driver)
    return result


def unfinished(log, rows, driver):
    """Where the analysis stops for good, so that nothing is known of what comes behind, and asserts that it never meets."""
    stops = re.findall(r"^\[nonterm:\w+\] (\S+?): Warning:\s+(.*)", log, re.MULTILINE)
    problems = [f"nothing is analysed behind {place}: {what}" for place, what in stops]
    problems += [f"never met: {row['file']}:{row['line']} {row['property']}" for row in rows
                 if row["file"] == f"drive_{driver.name}.c" and row["property kind"] == "user assertion"
                 and row["status"] in ("Dead", "Untried", "Inconsistent")]
    return problems


def reached_of(log, driver):
    """The functions of the driver's sources that were reached, as (file, name), from the metrics.

    Frama-C numbers functions of one name in several files: they count when as many were reached as there are."""
    variants = {}
    section = log.partition("Statements analyzed by Eva")[2]
    for name, count in re.findall(r"<?\b([A-Za-z_]\w*)>?: (\d+) stmts out of \d+", section):
        if int(count) > 0:
            variants.setdefault(re.sub(r"_\d+$", "", name), set()).add(name)
            variants.setdefault(name, set()).add(name)
    files = {s if s.startswith("transport/") else f"core/{s}" for s in driver.sources}
    defined = {(file, name) for file, name in FUNCTIONS if file in files}
    alike = {}
    for _, name in defined:
        alike[name] = alike.get(name, 0) + 1
    return {(file, name) for file, name in defined if len(variants.get(name, ())) >= alike[name]}


# ---- the list of alarms ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    drivers: tuple
    file: str
    function: str
    kind: str
    property: str

    def covers(self, driver, alarm):
        return driver in self.drivers and alarm == (self.file, self.function, self.kind, self.property)


def read_alarms():
    entries, reason = [], ""
    for number, line in enumerate((HERE / "alarms.txt").read_text().splitlines(), 1):
        if line.startswith("alarm "):
            parts = [part.strip() for part in line[6:].split(" | ")]
            if len(parts) != 5:
                sys.exit(f"alarms.txt:{number}: not drivers | file | function | kind | property")
            if not reason:
                sys.exit(f"alarms.txt:{number}: no 'because' before this line")
            entries.append(Entry(tuple(parts[0].split()), *parts[1:]))
        elif line.startswith("because "):
            reason = line
    return entries


# ---- functions -------------------------------------------------------------------------------------------------------


def functions_of(folder):
    names = set()
    for path in sorted((ROOT / folder).rglob("*.c")):
        for match in re.finditer(r"^(?!typedef|struct \w+ \{|enum|union|#|_Static)[A-Za-z_][\w \*]*?\b(\w+)\([^;]*?\)\n\{",
                                 path.read_text(), re.MULTILINE):
            names.add((path.relative_to(ROOT).as_posix(), match[1]))
    return names


def check_coverage(results):
    reached = set().union(*(result.reached for result in results))
    allowed = {tuple(line.split()[:2]) for line in (HERE / "unreached.txt").read_text().splitlines()
               if line and not line.startswith("#")}
    whole = {file for file, name in allowed if name == "*"}  # files that no driver analyses
    stale = whole & {file for file, _ in reached}
    allowed = {(f, n) for f, n in allowed if n != "*"} | {(f, n) for f, n in FUNCTIONS if f in whole - stale}
    missed = FUNCTIONS - reached
    print(f"functions analysed {len(reached)} of {len(FUNCTIONS)}")
    problems = [f"function never reached: {file}: {name}" for file, name in sorted(missed - allowed)]
    problems += [f"unreached.txt: {file} is analysed now" for file in sorted(stale)]
    problems += [f"unreached.txt: {file} {name} is reached or gone" for file, name in sorted(allowed - missed)]
    return problems


# ---- planted bugs ----------------------------------------------------------------------------------------------------


def plant(bug, drivers, listed):
    """The first alarm that only the bug raises."""
    folder = bug.name.replace(" ", "-")
    tree, logs = WORK / "planted" / folder, WORK / "planted" / "logs" / folder
    logs.mkdir(parents=True, exist_ok=True)
    with_bug = bug.apply(ROOT)
    make_tree(tree, {bug.file: with_bug})
    result = judge(drivers[bug.killers[0]], tree, logs, listed)
    shutil.rmtree(tree)
    alarms = [problem for problem in result.problems if problem.startswith("alarm")]
    if not alarms:
        raise Failure((result.problems or ["no new alarm"])[0])
    return alarms[0]


def run_planted(drivers, listed, names, jobs):
    bugs = [bug for bug in read_list(HERE / "planted_behaviour.txt") if not names or bug.name in names]
    if len(bugs) < max(len(names), 1):
        sys.exit(f"{len(bugs)} bugs have one of these names: {', '.join(names)}")

    def line(bug):
        try:
            return f"found {bug.name} by {bug.killers[0]}: {plant(bug, drivers, listed)}"
        except Failure as failure:
            return f"MISSED {bug.name} by {bug.killers[0]}: {failure}"

    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for text in pool.map(line, bugs):
            failed += text.startswith("MISSED")
            print(text, flush=True)
    print(f"{len(bugs) - failed} proved, {failed} failed")
    return failed


# ---- all -------------------------------------------------------------------------------------------------------------


def report(result):
    driver = result.driver
    word = "FAILED" if result.problems else "proved"
    print(f"{word} {driver.name} ({len(result.reached)} functions, {result.alarms} alarms, {result.seconds:.0f} s)",
          flush=True)
    for problem in result.problems:
        print(f"    {problem}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--jobs", type=int, default=2, help="drivers at a time")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    drivers = {d.name: d for d in map(read_driver, sorted((HERE / "drivers").glob("drive_*.c")))}
    listed = read_alarms()
    unknown = {name for entry in listed for name in entry.drivers} - set(drivers)
    if not options.planted:
        unknown |= set(options.names) - set(drivers)
    if unknown:
        sys.exit(f"no such driver: {', '.join(sorted(unknown))}")
    if options.planted:
        return run_planted(drivers, listed, options.names, options.jobs) > 0
    chosen = [d for d in drivers.values() if (d.name in options.names if options.names else d.quick or not options.quick)]
    tree, logs = WORK / f"tree-{os.getpid()}", WORK / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    make_tree(tree)
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda driver: judge(driver, tree, logs, listed), chosen):
            stale = [e for e in listed if result.driver.name in e.drivers and e not in result.used]
            if not any("frama-c failed" in p or "took more" in p for p in result.problems):
                result.problems += [f"alarms.txt: no longer appears: {e.file} {e.function} {e.kind} {e.property}" for e in stale]
            report(result)
            results.append(result)
    shutil.rmtree(tree, ignore_errors=True)
    failed = sum(bool(result.problems) for result in results)
    reached, total = (sum(r.statements[i] for r in results) for i in (0, 1))
    print(f"statements reached {reached} of {total} ({100 * reached // max(total, 1)} %), over all drivers")
    if len(chosen) == len(drivers):
        problems = check_coverage(results)
        for problem in problems:
            print(f"    {problem}")
        failed += bool(problems)
    print(f"{len(results) - sum(bool(r.problems) for r in results)} proved, {failed} failed")
    return failed > 0


FUNCTIONS = functions_of("core") | functions_of("transport")

if __name__ == "__main__":
    sys.exit(main())
