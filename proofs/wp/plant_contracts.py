# SPDX-License-Identifier: Apache-2.0
"""Plants the bugs of planted_contracts.txt in a copy of the sources, one at a time: the proof of the named function must fail,
in a time in which it does not fail without the bug.

Usage: plant_contracts.py CHECK, where CHECK is check_contracts.sh. Called by check_contracts.sh --planted.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from planted import Failure, read_list  # noqa: E402


def source_of(unit):
    """The file that Frama-C reads for a unit, and the model."""
    for line in (HERE / "units.txt").read_text().splitlines():
        words = line.split()
        if len(words) == 6 and words[0] == unit:
            return words[2], words[5]
    raise Failure(f"no unit {unit}")


def unproved(folder, name, source, model, function, seconds):
    """The goals of a function that the provers leave open in so many seconds each, or what Frama-C said."""
    result = subprocess.run(["bash", sys.argv[1], "--unit", folder, name, source, function, "-", model],
                            capture_output=True, text=True, env=dict(os.environ, PML_WP_TIMEOUT=str(seconds)), cwd=ROOT)
    if result.returncode == 0:
        return []
    return [line.strip() for line in result.stdout.splitlines() if line.startswith("    " + function)] or [result.stdout]


@functools.cache
def time_of(source, model, function):
    """Seconds per goal that are enough without a bug, or a busy machine would find every bug."""
    for seconds in (5, 20, 60):
        if not unproved(".", "planted-none", source, model, function, seconds):
            return seconds
    raise Failure(f"{function} is not proved without the bug")


def find(bug, number):
    """The goal that fails with this bug."""
    unit, _, function = bug.killers[0].partition("/")
    source, model = source_of(unit)
    seconds = 2 * time_of(source, model, function)  # the machine may be busier now
    with tempfile.TemporaryDirectory() as folder:
        for part in ("core", "proofs"):
            shutil.copytree(ROOT / part, pathlib.Path(folder) / part)
        (pathlib.Path(folder) / bug.file).write_text(bug.apply(ROOT))
        goals = unproved(folder, f"planted-{number}", source, model, function, seconds)
    if not goals or not goals[0].startswith(function):
        raise Failure(f"no goal of {function} fails: {goals}")
    return goals[0]


def main():
    found = missed = 0
    for number, bug in enumerate(read_list(HERE / "planted_contracts.txt"), 1):
        try:
            print(f"found by {find(bug, number)}: {bug.name}", flush=True)
            found += 1
        except Failure as failure:
            print(f"MISSED: {bug.name}: {failure}", flush=True)
            missed += 1
    print(f"{found} proved, {missed} failed")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
