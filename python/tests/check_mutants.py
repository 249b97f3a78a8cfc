#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts deliberate bugs into a copy of the installed package, one at a time, and shows that a test finds each.

    check_mutants.py        by the Python of an environment that has privatemail and pytest

The bugs are in python_mutants.txt. A test that fails without a bug finds none.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import privatemail

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(privatemail.__file__).parent
ENTRY = re.compile(r"^mutant (?P<name>.*)\nfile (?P<file>.*)\nkilled by (?P<test>.*)\n(?P<change>(?:[-+ ].*\n)+)", re.M)


def fails(folder, test):
    """Whether the test fails with the package in this folder. It must be one failure, not a crash of pytest."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / test], cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return done.returncode == 1


def survives(mutant):
    """Why the bug was not found; None when it was."""
    lines = mutant["change"].splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in kind) for kind in ("- ", "+ "))
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "privatemail"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if fails(folder, mutant["test"]):
            return "the test fails without it"
        text = (copy / mutant["file"]).read_text()
        if len(re.findall("^" + re.escape(before), text, re.M)) != 1:
            return "it does not apply"
        (copy / mutant["file"]).write_text(text.replace(before, after))
        return None if fails(folder, mutant["test"]) else "no test fails"


def main():
    text = (HERE / "python_mutants.txt").read_text()
    mutants = [match.groupdict() for match in ENTRY.finditer(text)]
    assert len(mutants) == len(re.findall("^mutant ", text, re.M)) > 0, "an entry cannot be read"
    alive = 0
    for mutant in mutants:
        reason = survives(mutant)
        alive += reason is not None
        print("%-8s%s%s" % ("FAILED" if reason else "ok", mutant["name"], ": " + reason if reason else ""))
    print("%d passed, %d failed" % (len(mutants) - alive, alive))
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
