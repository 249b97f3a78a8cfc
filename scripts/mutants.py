#!/usr/bin/env python3
"""Puts deliberate privacy bugs into the sources, one at a time, and shows that a test finds each (scripts/mutants.sh).

The bugs are in tests/mutants/*.txt (read by planted.py, in the syntax of tests/mutants/README.md). What does not change
is compiled once; a bug costs one file, one link and one test. Bugs above core and transport are linked into programs of
build/release.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted import Failure, read_list

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"  # the copy; sources are taken from it and from nowhere else
OBJECTS = WORK / "objects"

FLAGS = ["-std=c11", "-O1", "-w", "-ffp-contract=off", "-DPML_WITH_RESPONSE=1", "-DPML_WITH_GAUSSIAN=1",
         "-DPML_WITH_CROWD=1"]
# A file with a bug is compiled outside its folder, and must still find the headers beside it.
BESIDE = ("core/base", "core/pack", "core/privacy", "core/stages", "transport", "transport/include")
PATHS = [f"-I{TREE}/{folder}" for folder in ("", "core", "core/include", *BESIDE, "platform", "tests")]
TIMEOUT = 600  # seconds a test may take; the slowest takes thirty where nothing else runs


# ---- the list ----------------------------------------------------------------------------------------------------


def read_lists():
    mutants = [mutant for path in sorted((ROOT / "tests/mutants").glob("*.txt")) for mutant in read_list(path)]
    for mutant in mutants:
        if not mutant.file.endswith(".c"):
            sys.exit(f"{mutant.place}: '{mutant.name}' needs a .c file: only that is compiled again")
    names = [mutant.name for mutant in mutants]
    for name in {name for name in names if names.count(name) > 1}:
        sys.exit(f"two mutants are called '{name}'")
    return mutants


# ---- building ----------------------------------------------------------------------------------------------------


def run(command, **options):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", **options)


def find_unity():
    home = os.environ.get("PRIVATEMAIL_CACHE", Path.home() / ".cache/privatemail")
    for folder in (os.environ.get("UNITY_DIR"), Path(home) / "unity"):
        if folder and (Path(folder) / "unity.c").exists():
            return Path(folder)
    sys.exit("The tests need Unity. Run scripts/setup.sh.")


def compile_file(source, target, *options):
    done = run(["gcc", *FLAGS, *PATHS, *options, "-c", source, "-o", target])
    if done.returncode != 0:
        raise Failure("does not compile\n" + done.stdout)


RUN_ONE = WORK / "run_one.o"


def compile_run_one():
    WORK.mkdir(parents=True, exist_ok=True)
    compile_file(ROOT / "tests/support/run_one.c", RUN_ONE, f"-I{find_unity()}")


def run_one(program):
    """What lets a program of Unity run one of its tests."""
    return [RUN_ONE, "-Wl,--wrap=UnityDefaultTestRun"] if program.startswith("test_") else []


# ---- above core and transport: the programs of the release build ----


RELEASE = ROOT / "build" / "release"


def is_copied(file):
    """Whether it is compiled in the copy, and not in the release build."""
    return file.startswith(("core/", "platform/", "transport/"))


class Release:
    """Programs of build/release with one object replaced, or in front of the archive that holds it without the bug."""

    def __init__(self):
        if not (RELEASE / "build.ninja").exists():
            sys.exit("Bugs above core and transport need the release build: cmake --preset release && cmake --build --preset release")
        if run(["cmake", "--build", RELEASE]).returncode != 0:
            sys.exit("build/release does not build")
        database = json.loads(run(["ninja", "-t", "compdb"], cwd=RELEASE).stdout)
        self.compiling = {os.path.relpath(RELEASE / entry["file"], ROOT): entry for entry in database
                          if entry["file"].endswith(".c")}

    def compile(self, file, source, target):
        entry = self.compiling[file]
        command = entry["command"].replace(f"-o {entry['output']}", f"-o {shlex.quote(str(target))}")
        command = command.replace(entry["file"], shlex.quote(str(source)))
        done = run(["sh", "-c", f"{command} -w -I{(ROOT / file).parent}"], cwd=RELEASE)
        if done.returncode != 0:
            raise Failure("does not compile\n" + done.stdout)

    @staticmethod
    def find(program):
        return next(path for path in RELEASE.rglob(program) if path.is_file())

    def link(self, program, folder, changed=None):
        """`changed` is a file whose object lies in `folder`."""
        path = self.find(program).relative_to(RELEASE)
        command = run(["ninja", "-t", "commands", "-s", path], cwd=RELEASE).stdout.strip()
        extra = run_one(program)
        if changed:
            command = command.replace(f" {self.compiling[changed]['output']} ", " ")
            extra.insert(0, folder / "changed.o")
        options = " ".join(shlex.quote(str(part)) for part in ["-o", folder / program, *extra])
        command = command.replace(f" -o {path} ", f" {options} ")
        done = run(["sh", "-c", command], cwd=RELEASE)
        if done.returncode != 0:
            raise Failure("does not link\n" + done.stdout)
        return folder / program


def core_options(file):
    if file == "transport/bearssl/crypto_bearssl.c":
        return ["-ffreestanding", "-DPML_TRANSPORT_AES"]  # as the tests have it
    return ["-ffreestanding"] if file.startswith(("core/", "transport/")) else []


def test_programs(root):
    """The tests of core and transport, one program per file."""
    return sorted(path for room in ("core", "privacy", "transport") for path in (root / "tests" / room).glob("test_*.c"))


def object_of(file):
    return OBJECTS / file.replace("/", "-").replace(".c", ".o")


class Build:
    """Objects of everything as it is, and programs of them with one object replaced."""

    def __init__(self, programs, pool):
        unity = find_unity()
        OBJECTS.mkdir(parents=True)
        for folder in ("core", "platform", "tests", "transport"):
            shutil.copytree(ROOT / folder, TREE / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (TREE / "docs").mkdir()
        shutil.copy(ROOT / "docs/PLATFORMS.md", TREE / "docs")  # test_memory reads its table
        sources = re.findall(r"^\s*([\w/]+\.c)$", (ROOT / "core/sources.cmake").read_text(), re.MULTILINE)
        self.library = [f"core/{name}" for name in sources] + ["platform/entropy.c"]
        self.library += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "transport").rglob("*.c"))]
        self.library += [f"platform/{path.name}" for path in sorted((ROOT / "platform").glob("kernels_*.c"))]
        jobs = [(TREE / file, object_of(file), *core_options(file)) for file in self.library]
        unity_options = [f"-I{unity}", "-DUNITY_INCLUDE_DOUBLE", "-DUNITY_SUPPORT_64",
                         f'-DPML_TESTS_DIR="{TREE}/tests"']
        for file in ["tests/support/support.c", *(self.source(program) for program in programs if program != "check_law")]:
            jobs.append((TREE / file, object_of(file), *unity_options))
        jobs.append((unity / "unity.c", OBJECTS / "unity.o", *unity_options))
        list(pool.map(lambda job: compile_file(*job), jobs))

    @staticmethod
    def source(program):
        return next(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob(f"{program}.c"))

    def link(self, program, folder, changed=None):
        """`changed` is a file of the library; its object lies in `folder`. For check_law it is the file itself."""
        if program == "check_law":
            return folder / Path(changed or "check_law").name
        objects = [folder / "changed.o" if file == changed else object_of(file) for file in self.library]
        if program.startswith("test_"):
            objects += [object_of("tests/support/support.c"), OBJECTS / "unity.o"]
        target = folder / program
        done = run(["gcc", object_of(self.source(program)), *objects, *run_one(program), "-l:libbearssl.a", "-lm", "-o", target])
        if done.returncode != 0:
            raise Failure("does not link\n" + done.stdout)
        return target


# ---- killing -----------------------------------------------------------------------------------------------------

# What may kill, as the list writes it:
#   test_x/test_y        this test of the program test_x.c
#   test_x               the program as a whole: a crash counts too
#   test_x_in_postgres   the same two in a PostgreSQL, with a replica where the program is about one (tests/cli/postgres.py)
#   check_secrets/MODE   valgrind, on tests/programs/secrets.c (tests/check_secrets.sh)
#   check_math           tests/check_math.py, on tests/programs/math_eval.c
#   check_accounting/PART   a part of tests/crowd/check_accounting.py, on tests/programs/crowd_eval.c
#   check_law/PART       a part of tests/law/check_law.py, which compiles the file with the bug by itself
#   test_x.py            tests/cli/test_x.py, on the command
#   test_x.py/WORDS      the same: it says FAILED and these words
#   test_x.py/test_y     only this scenario of it fails; /WORDS may follow


IN_POSTGRES = "_in_postgres"


def program_of(killer):
    name = killer.partition("/")[0].removesuffix(IN_POSTGRES)
    if ".py" in name:
        return "privatemail"
    return {"check_secrets": "secrets", "check_math": "math_eval", "check_accounting": "crowd_eval"}.get(name, name)


def test_command(name, program):
    if not name.endswith(IN_POSTGRES):
        return [program]
    replica = ["--replica"] if "replica" in name else []
    return [sys.executable, ROOT / "tests/cli/postgres.py", *replica, program]


def is_one_test(killer):
    """Whether it is one test of a program of Unity."""
    name, _, part = killer.partition("/")
    return name.startswith("test_") and ".py" not in name and part != ""


def failed_tests(output):
    return set(re.findall(r"^[^\n:]+:\d+:(\w+):FAIL", output, re.MULTILINE))


def scenario_of(part):
    """([scenario], words) of what follows test_x.py/"""
    first, _, rest = part.partition("/")
    return ([first], rest) if first.startswith("test_") else ([], part)


def kills(killer, program):
    """Does this killer see a fault in this program?"""
    name, _, part = killer.partition("/")
    command, words = test_command(name, program), ""
    if name == "check_secrets":
        command = ["valgrind", "-q", "--error-exitcode=9", "--track-origins=no", program, part]
    elif name == "check_math":
        command = [sys.executable, TREE / "tests/check_math.py", program]
    elif name == "check_law":
        command = [sys.executable, TREE / "tests/law/check_law.py", part, *(["--changed", program] if program.exists() else [])]
    elif name == "check_accounting":
        command = [sys.executable, TREE / "tests/crowd/check_accounting.py", program, part]
    elif name.endswith(".py"):
        part, words = scenario_of(part)
        command = [sys.executable, ROOT / "tests/cli" / name, program, *part]
    environment = dict(os.environ)
    if not words:
        environment["PRIVATEMAIL_FIRST_FAILURE"] = "1"
    if is_one_test(killer):
        environment["PML_TEST_ONLY"] = part
    try:
        done = run(command, timeout=TIMEOUT * (3 if name.endswith(".py") else 1), cwd=program.parent, env=environment)
    except subprocess.TimeoutExpired:
        raise Failure(f"hung in {killer}") from None
    if name == "check_secrets":
        return done.returncode == 9
    if name.endswith(".py") and words:
        return any(words in line for line in done.stdout.splitlines() if line.startswith("FAILED:"))
    if is_one_test(killer):
        return part in failed_tests(done.stdout)
    return done.returncode != 0


def kills_soon(killer, program):
    """The same, asked twice if it must be: a test of chance may miss once what it finds nearly always."""
    if kills(killer, program):
        return True
    found = kills(killer, program)
    if found:
        print(f"found at the second attempt only, by {killer}", flush=True)
    return found


def make_folder(name):
    folder = WORK / "run" / name
    folder.mkdir(parents=True)
    return folder


def put_in(build, mutant):
    folder = make_folder(mutant.name)
    changed = folder / Path(mutant.file).name
    with_bug = mutant.apply(TREE if is_copied(mutant.file) else ROOT)
    if isinstance(build, Release):
        changed.write_text((ROOT / mutant.file).read_text())
        build.compile(mutant.file, changed, folder / "same.o")
        changed.write_text(with_bug)
        build.compile(mutant.file, changed, folder / "changed.o")
        same = folder / "same.o"
    else:
        changed.write_text(with_bug)
        compile_file(changed, folder / "changed.o", f"-I{(TREE / mutant.file).parent}", *core_options(mutant.file))
        same = object_of(mutant.file)
    if (folder / "changed.o").read_bytes() == same.read_bytes():
        raise Failure(f"changes nothing: the place in {mutant.file} is not compiled, or means the same")
    return folder


def kill(build, mutant):
    """None when all its killers see it, else the reason."""
    try:
        folder = put_in(build, mutant)
        for killer in mutant.killers:
            if not kills_soon(killer, build.link(program_of(killer), folder, mutant.file)):
                raise Failure(f"SURVIVED {killer}")
        shutil.rmtree(folder)
        return None
    except Failure as failure:
        return str(failure)


def passes(program, killer):
    """Without any bug, by itself: a test that does not exist finds nothing."""
    if is_one_test(killer):
        name, _, part = killer.partition("/")
        done = run(test_command(name, program), timeout=TIMEOUT, env=dict(os.environ, PML_TEST_ONLY=part))
        return done.returncode == 0 and f":{part}:PASS" in done.stdout
    return not kills(killer, program)


def check_unmutated(build, killers, pool, tested):
    """A test that fails anyway would kill everything, and one that does not exist nothing."""
    folder = make_folder(f"none, {type(build).__name__}")
    names = sorted({program_of(killer) for killer in killers})
    programs = dict(zip(names, pool.map(lambda name: build.link(name, folder), names)))
    # Of the command's tests it is the scenario that passes, whatever words one looks for.
    tests = {killer if ".py" not in killer else "/".join([killer.partition("/")[0], *scenario_of(killer.partition("/")[2])[0]])
             for killer in killers}
    # scripts/test.sh runs whole programs. Another mode of check_secrets than those that there are finds nothing at all.
    ordered = sorted((killer for killer in tests if not tested or ("/" in killer and not killer.startswith("check_secrets/"))),
                     key=lambda killer: ".py" not in killer)  # the slow ones first
    def passes_soon(killer):  # a test that fails anyway fails twice; one that fails by chance hardly does
        program = programs[program_of(killer)]
        return passes(program, killer) or passes(program, killer)

    results = pool.map(passes_soon, ordered)
    broken = [killer for killer, passed in zip(ordered, results) if not passed]
    if broken:
        sys.exit("fails or does not exist, without any bug: " + ", ".join(broken))


# ---- finding -----------------------------------------------------------------------------------------------------


def find(build, mutant):
    """Every killer there is."""
    folder = put_in(build, mutant)
    killers = [f"check_secrets/{mode}" for mode in ("kernels", "response", "answer", "gaussian", "front")] + ["check_math"]
    found = [killer for killer in killers if kills(killer, build.link(program_of(killer), folder, mutant.file))]
    for source in test_programs(TREE):
        program = build.link(source.stem, folder, mutant.file)
        try:
            done = run([program], timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            found.append(f"{source.stem} (hung)")
            continue
        failed = sorted(failed_tests(done.stdout))
        found += [f"{source.stem}/{test}" for test in failed] or ([source.stem] if done.returncode != 0 else [])
    shutil.rmtree(folder)
    return found


# ---- the run -----------------------------------------------------------------------------------------------------


def find_all(mutants, pool):
    shutil.rmtree(WORK, ignore_errors=True)
    compile_run_one()
    if not all(is_copied(mutant.file) for mutant in mutants):
        sys.exit("--find knows the tests of core and transport alone")
    build = Build([*(path.stem for path in test_programs(ROOT)), "secrets", "math_eval"], pool)

    def one(mutant):
        try:
            return find(build, mutant)
        except Failure as failure:
            return [str(failure)]

    for mutant, found in zip(mutants, pool.map(one, mutants)):
        print(mutant.name, *(found or ["NOTHING"]), sep="\n    ", flush=True)


def kill_all(mutants, pool, tested):
    builds = {}
    shutil.rmtree(WORK, ignore_errors=True)
    compile_run_one()
    for copied in {is_copied(mutant.file) for mutant in mutants}:
        killers = sorted({killer for mutant in mutants if is_copied(mutant.file) == copied for killer in mutant.killers})
        builds[copied] = Build(sorted({program_of(killer) for killer in killers}), pool) if copied else Release()
        check_unmutated(builds[copied], killers, pool, tested)

    def one(mutant):
        start = time.monotonic()
        failure = kill(builds[is_copied(mutant.file)], mutant)
        word = failure or "killed by " + ", ".join(sorted({killer.partition("/")[0] for killer in mutant.killers}))
        print(f"{word:<28} {time.monotonic() - start:5.1f} s  {mutant.name}", flush=True)
        return failure is None

    passed = sum(pool.map(one, mutants))
    failed = len(mutants) - passed
    print(f"{passed} passed, {failed} failed")
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only bugs whose names contain one of these")
    parser.add_argument("--killer", default="", metavar="NAME", help="only bugs that this test or check kills")
    parser.add_argument("--list", action="store_true", help="print the bugs and what kills them")
    parser.add_argument("--find", action="store_true", help="try every test and print those that kill")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count(),
                        help="bugs at a time (twice the cores: tests of the relay mostly wait)")
    parser.add_argument("--tested", action="store_true",
                        help="scripts/test.sh has just passed: run none of its steps again without a bug")
    options = parser.parse_args()
    mutants = [mutant for mutant in read_lists()
               if (not options.names or any(name in mutant.name for name in options.names))
               and any(killer.startswith(options.killer) for killer in mutant.killers)]
    if not mutants:
        sys.exit("no such mutant")
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:<44} {', '.join(mutant.killers)}")
        return 0
    for tool in ("gcc", "valgrind"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing. Run scripts/setup.sh.")
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.find:
            return find_all(mutants, pool) or 0
        return 0 if kill_all(mutants, pool, options.tested) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:  # of what has no bug in it
        sys.exit(str(failure))
