#!/usr/bin/env python3
"""Reads the library's machine code for branches that could depend on a secret, also of CPUs that are not here.

    tests/check_branches.py           x86-64, by gcc and the system's clang, -O2 and -O3
    tests/check_branches.py --all     also -O1 and -Os, the Swift toolchain's clang, -mtune=znver3, aarch64, Cortex-M0,
                                      Cortex-M4, Cortex-M55 and wasm

Every file of the core and every kernel is compiled as for a release, to the assembly that becomes its object, with the
lines of the source in it (-g1 changes no instruction). tests/constant_time/allowed.txt names the files and functions
that see no secret, and in all others every line that may decide something, with the reason why that is public. These
are found, and are failures unless their line is on the list:

  * A conditional branch, forwards or backwards: compilers also jump back to the head of a loop for a choice within it.
    A loop is allowed by its head, with the reason why its count is public. A branch that a compiler made of a mask lies
    on a line that computes, which is on no list.
  * A jump through a table, a division (its time depends on the operands), and a call of a helper that the compiler
    brings along (__aeabi_lmul, __udivdi3), which may hold any of these.
  * On Cortex-M4 and Cortex-M55, what an IT block makes conditional and is not plain arithmetic: a load, a store or a
    call that is left out shows in time.

Conditional moves and selects (cmov, csel, wasm's select) and plain arithmetic in IT blocks are not looked for: they
take the same time either way. The Cortex-M0 has none of them, so that every choice there is a branch.

The lines follow inlining: a function on the list is one of the source, whichever symbol its code ended up in.
Where a compiler gives a branch no line or its neighbour's, as it may for the end of a loop or a branch that it moved,
allowed.txt has the symbol, the CPU, the line and how many such branches there may be.

Whether what a listed line decides upon is public is not seen here. Valgrind sees it on x86-64 (tests/check_secrets.sh).

Two bugs are planted in a copy of core/stages/quantise.c: a branch on the sign of a value, which must be found in every build,
and a choice by a bit instead of a mask, which must be found in every build whose compiler makes a branch of it.
"""
import argparse
import collections
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tests/constant_time/allowed.txt"
FLAGS = ("-S", "-g1", "-std=c11", "-ffreestanding", "-ffp-contract=off", "-fvisibility=hidden",
         "-Icore", "-Icore/include", "-Icore/stages", "-Iplatform")

# ---- compilers ---------------------------------------------------------------------------------------------------

Build = collections.namedtuple("Build", "cpu command")

ARM = re.compile(r"(?P<branch>b(?:eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)(?:\.[nw])?|cbn?z|wlstp?\S*|letp?)"
                 r"|(?P<table>tb[bh])|(?P<division>[us]div)|(?P<block>it[te]*)|(?P<call>blx?|b)")
SYNTAX = {
    "x86-64": re.compile(r"(?P<branch>j(?!mp)\w+|loop\w*)|(?P<division>i?div[bwlq]?)|(?P<call>call\w*|jmp)"),
    "aarch64": re.compile(r"(?P<branch>b\.\w+|b(?:eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)|cbn?z|tbn?z)"
                          r"|(?P<table>br)|(?P<division>[us]div)|(?P<call>bl|b)"),
    "cortex-m0": ARM,
    "cortex-m4": ARM,
    "cortex-m55": ARM,
    "wasm": re.compile(r"(?P<branch>br_if|if)|(?P<table>br_table)|(?P<division>i\d\d\.(?:div|rem)_[us])"
                       r"|(?P<call>call)"),
}
# What an IT block may make conditional.
PLAIN = re.compile(r"(mov|mvn|add|sub|rsb|adc|sbc|and|orr|orn|eor|bic|lsl|lsr|asr|neg|uxt|sxt)")
HELPER = re.compile(r"__(?!aeabi_mem(cpy|move|set|clr)[48]?\b)\w+")


def clangs(wide):
    """Pairs of a name and a compiler, None where there is none."""
    system = "/usr/bin/clang" if os.access("/usr/bin/clang", os.X_OK) else shutil.which("clang")  # as CMakePresets.json
    found = [("clang", system)]
    if wide:
        swift = shutil.which("swiftc")
        beside = Path(swift).resolve().parent / "clang" if swift else None
        found.append(("the Swift toolchain's clang", str(beside) if beside and beside.exists() else None))
    return found


def builds(wide):
    """A build for each compiler, CPU and level; and the names of the compilers that are missing."""
    levels = ("-O1", "-O2", "-O3", "-Os") if wide else ("-O2", "-O3")
    commands = [("x86-64", "gcc", ["gcc", "-fPIC"])] if platform.machine() == "x86_64" else []
    for name, clang in clangs(wide):
        commands.append(("x86-64", name, [clang, "--target=x86_64-linux-gnu", "-fPIC"]))
    if wide:
        commands += [(cpu, name, [*command, "-mtune=znver3"]) for cpu, name, command in commands]
        gcc = "arm-none-eabi-gcc"
        commands += [("aarch64", "aarch64-linux-gnu-gcc", ["aarch64-linux-gnu-gcc", "-fPIC"]),
                     ("cortex-m0", gcc, [gcc, "-mthumb", "-mcpu=cortex-m0"]),
                     ("cortex-m4", gcc, [gcc, "-mthumb", "-mcpu=cortex-m4"]),
                     ("cortex-m55", gcc, [gcc, "-mthumb", "-mcpu=cortex-m55", "-mfloat-abi=hard"])]
        for name, clang in clangs(wide):
            commands += [("aarch64", name, [clang, "--target=aarch64-linux-gnu", "-fPIC"]),
                         ("cortex-m0", name, [clang, "--target=thumbv6m-none-eabi", "-mcpu=cortex-m0"]),
                         ("cortex-m4", name, [clang, "--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"]),
                         ("wasm", name, [clang, "--target=wasm32", "-mbulk-memory", "-mmutable-globals"])]
    there = [(cpu, command) for cpu, _, command in commands if command[0] and shutil.which(command[0])]
    missing = sorted({name for _, name, command in commands if not command[0] or not shutil.which(command[0])})
    return [Build(cpu, (*command, level)) for cpu, command in there for level in levels], missing


def assemble(command, source):
    done = subprocess.run([*command, *FLAGS, str(source), "-o", "-"], cwd=ROOT, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(" ".join([*command, str(source)]) + "\n" + done.stderr)
    return done.stdout


# ---- sources -----------------------------------------------------------------------------------------------------


class Source:
    """The lines of a file and the functions they are in."""

    def __init__(self, path):
        self.lines = [self.plain(line) for line in path.read_text().splitlines()]
        self.functions, function = [], None
        for line in path.read_text().splitlines():
            head = re.match(r"(?!typedef|_Static_assert|__attribute__)[A-Za-z][^(=;]*?(\w+)\(", line)
            if head and not line.endswith(";"):
                function = head[1]
            self.functions.append(function)
            if line.startswith("}"):
                function = None

    @staticmethod
    def plain(line):
        return " ".join(re.sub(r"/\*.*?\*/", "", line).split())


# ---- what is allowed ---------------------------------------------------------------------------------------------


class Allowed:
    """tests/constant_time/allowed.txt, whose head says how it is written."""

    def __init__(self, sources):
        self.files, self.functions, self.lines, self.unnamed = set(), set(), set(), {}
        file = None
        for number, line in enumerate(ALLOWED.read_text().splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            text, _, reason = (part.strip() for part in line.partition("  # "))
            error = f"{ALLOWED.relative_to(ROOT)}:{number}: "
            if line[0] != " ":
                file = text
                if file != "unnamed" and file not in sources:
                    sys.exit(error + "there is no such file")
                self.files |= {file} if reason else set()
            elif not reason:
                sys.exit(error + "the reason is missing")
            elif file == "unnamed":
                place, _, code = text.partition(": ")
                symbol, cpus, count = place.split()
                for cpu in SYNTAX if cpus == "*" else [cpus]:
                    self.unnamed[symbol, cpu, code] = int(count)
            else:
                self.add(sources[file], file, *text.split(": ", 1)) or sys.exit(error + "there is no such line")

    def add(self, source, file, function, code=None):
        if code is None:
            self.functions.add((file, function))
            return function in source.functions
        self.lines.add((file, function, code))
        return (function, code) in zip(source.functions, source.lines)

    def allows(self, file, function, code):
        return file in self.files or (file, function) in self.functions or (file, function, code) in self.lines


# ---- machine code ------------------------------------------------------------------------------------------------

Finding = collections.namedtuple("Finding", "symbol kind instruction file line")


def findings(assembly, cpu):
    """Everything in the assembly that may take different times, and its line, which is 0 where it has none."""
    files, symbol, place, conditional = {}, None, (None, 0), 0
    for text in assembly.splitlines():
        text = re.split(r"#" if cpu in ("x86-64", "wasm") else r"//|@", text)[0].rstrip()
        if file := re.match(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]+)"', text):
            files[file[1]] = Path(file[2]).name
        elif location := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", text):
            place = files[location[1]], int(location[2])
        elif label := re.match(r"(\w+)(?:\.\w+)*:", text):
            symbol = label[1]
        elif instruction := re.match(r"\s+([a-z]\S*)(?:\s+(.*))?$", text):
            name, operands = instruction[1], instruction[2] or ""
            inside, conditional = conditional > 0, max(0, conditional - 1)
            match = SYNTAX[cpu].fullmatch(name)
            kind = match.lastgroup if match else None
            if kind == "block":
                conditional, kind = len(name) - 1, None
            elif inside and not PLAIN.match(name):
                kind = "conditional"
            elif (name in ("mov", "add") and operands.startswith("pc,")) or (name.endswith("jmp") and "*" in operands):
                kind = "table"
            elif kind == "call":
                kind = "helper" if HELPER.match(operands) else None
            if kind:
                yield Finding(symbol, kind, " ".join(text.split()), *place)


# ---- checks ------------------------------------------------------------------------------------------------------


class Library:
    """Its sources and what is allowed in them."""

    def __init__(self):
        core = re.findall(r"^ +([\w/]+\.c)$", (ROOT / "core/sources.cmake").read_text(), re.MULTILINE)
        kernels = sorted(path.name for path in (ROOT / "platform").glob("kernels_*.c"))
        files = [f"core/{name}" for name in core] + [f"platform/{name}" for name in kernels]
        headers = [str(path.relative_to(ROOT)) for room in ("core", "platform") for path in (ROOT / room).rglob("*.h")]
        self.sources = {Path(file).name: (file, Source(ROOT / file)) for file in (*files, *headers)}
        self.allowed = Allowed(dict(self.sources.values()))
        self.files = [file for file in files if file not in self.allowed.files]

    def found(self, build, path, source=None):
        """All findings in one file, `source` when it is a changed copy, and those that are not allowed."""
        everything = list(findings(assemble(build.command, path), build.cpu))
        unnamed = collections.defaultdict(list)
        for finding in everything:
            code = "no line"
            if finding.file in self.sources and finding.line > 0:
                file, held = self.sources[finding.file]
                held = source if source and finding.file == Path(path).name else held
                function, code = held.functions[finding.line - 1], held.lines[finding.line - 1]
                if self.allowed.allows(file, function, code):
                    continue
            if (self.sources[Path(path).name][0], finding.symbol) not in self.allowed.functions:
                unnamed[finding.symbol, build.cpu, code].append(finding)
        return everything, [f"{one.symbol}: {one.kind} `{one.instruction}` on {one.file}:{one.line}: {place[2]}"
                            for place, ones in unnamed.items() if len(ones) > self.allowed.unnamed.get(place, 0)
                            for one in ones]

    def check(self, build):
        return [text for file in self.files for text in self.found(build, file)[1]]


PLANTED_BRANCH = ("""        uint32_t bits = bits_of(features + i) & (uint32_t)valid;
""", """        uint32_t bits = bits_of(features + i) & (uint32_t)valid;
        if (bits >> 31 != 0)
            pml_wipe(out + i, 1);
""")
PLANTED_BIT = ("""        uint32_t fits = ~(uint32_t)mask_less(rest, scale.max);
        rest -= scale.max & fits;
        scale.reciprocal = scale.reciprocal << 1 | (1 & fits);
""", """        uint32_t fits = (uint32_t)hide(rest - scale.max) >> 31 ^ 1;
        rest -= scale.max & (0 - fits);
        scale.reciprocal = scale.reciprocal << 1 | fits;
""")


class Planted:
    """core/stages/quantise.c with a bug in it."""

    def __init__(self, library, folder, name, bug):
        whole = (ROOT / "core/stages/quantise.c").read_text()
        if whole.count(bug[0]) != 1:
            sys.exit(f"core/stages/quantise.c has no place for the planted {name}")
        self.library, self.path = library, Path(folder) / name / "quantise.c"
        self.path.parent.mkdir()
        self.path.write_text(whole.replace(*bug).replace('"stages.h"', '"stages/stages.h"'))
        self.source = Source(self.path)

    def branches(self, build):
        """How many more branches it has than the file without the bug, and what was found."""
        everything, wrong = self.library.found(build, self.path, self.source)
        clean, _ = self.library.found(build, "core/stages/quantise.c")
        return sum(one.kind == "branch" for one in everything) - sum(one.kind == "branch" for one in clean), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="all CPUs, compilers and levels")
    options = parser.parse_args()
    passed, failed = 0, 0

    def report(fine, text, details=()):
        nonlocal passed, failed
        passed, failed = passed + fine, failed + (not fine)
        print("ok" if fine else "FAILED", text, *(f"\n    {detail}" for detail in details), flush=True)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        library = Library()
        branch = Planted(library, folder, "branch", PLANTED_BRANCH)
        bit = Planted(library, folder, "bit", PLANTED_BIT)
        every, missing = builds(options.all)
        made = 0
        results = pool.map(lambda build: (library.check(build), branch.branches(build), bit.branches(build)), every)
        for build, (wrong, (_, planted), (more, chosen)) in zip(every, results):
            name = f"{build.cpu}: {' '.join(build.command)}"
            report(not wrong, name, wrong)
            report(bool(planted), name + ", the planted branch is found")
            if more > 0:
                made += 1
                report(bool(chosen), name + ", the branch that was made of a bit is found")
        if options.all:
            report(made > 0, f"of the planted bit {made} of {len(every)} builds made a branch")
    for name in missing:
        print("skipped", name + ": it is not installed")
    print(f"{passed} passed, {failed} failed" + (f", {len(missing)} skipped" if missing else ""))
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
