#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts deliberate bugs into a copy of the installed package, one at a time, and shows that a test finds each.

    check_mutants.py        by the Python of an environment that has privatemail and pytest

The bugs are in python_mutants.txt. A test that fails without a bug finds none. Bugs of shim.c need cmake and cc.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import privatemail

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import planted  # noqa: E402

PACKAGE = pathlib.Path(privatemail.__file__).parent


def fails(folder, test):
    """Whether the test fails with the package in this folder. It must be one failure, not a crash of pytest."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / test], cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return done.returncode == 1


@functools.lru_cache(maxsize=None)
def core_library():
    """The core as a static library, which shim.c is linked with. It is built once."""
    folder = tempfile.TemporaryDirectory()
    for command in (["cmake", "-S", ROOT, "-B", folder.name, "-DCMAKE_BUILD_TYPE=Release", "-DPRIVATEMAIL_TESTS=OFF",
                     "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"],
                    ["cmake", "--build", folder.name, "--target", "privatemail"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder  # which is removed when this program ends


def plant(mutant, package):
    """Puts the bug into a copy of the package."""
    if mutant.file.endswith(".py"):
        (package / mutant.file).write_text(mutant.apply(package))
        return
    source = package / mutant.file
    source.write_text(mutant.apply(ROOT / "python"))
    folders = ["-I%s" % (ROOT / folder) for folder in ("python", "core/include", "platform")]
    subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", *folders, source,
                    pathlib.Path(core_library().name) / "libprivatemail.a", "-lm",
                    "-o", package / "libprivatemail_python.so"], check=True)


def survives(mutant):
    """Why the bug was not found; None when it was."""
    test = mutant.killers[0]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "privatemail"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if fails(folder, test):
            return "the test fails without it"
        try:
            plant(mutant, copy)
        except planted.Failure as failure:
            return str(failure)
        return None if fails(folder, test) else "no test fails"


def main():
    mutants = planted.read_list(HERE / "python_mutants.txt")
    alive = 0
    for mutant in mutants:
        reason = survives(mutant)
        alive += reason is not None
        print("%-8s%s%s" % ("FAILED" if reason else "ok", mutant.name, ": " + reason if reason else ""))
    print("%d passed, %d failed" % (len(mutants) - alive, alive))
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
