# SPDX-License-Identifier: Apache-2.0
"""Plants the bugs of planted_contracts.txt in a copy of the sources, one at a time: the proof of the named function must fail.

Usage: plant_contracts.py CHECK, where CHECK is check_contracts.sh. Called by check_contracts.sh --planted.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def bugs():
    """The blocks of planted_contracts.txt as dictionaries."""
    lines = [line for line in (HERE / "planted_contracts.txt").read_text().splitlines() if not line.startswith("#")]
    for block in "\n".join(lines).strip().split("\n\n"):
        yield dict(line.split(": ", 1) for line in block.splitlines())


def unit(name):
    """Source, functions and lemmas of a unit."""
    for line in (HERE / "units.txt").read_text().splitlines():
        words = line.split()
        if len(words) == 5 and words[0] == name:
            return words[2:]
    sys.exit(f"planted_contracts.txt: no unit {name}")


def main():
    found = missed = 0
    environment = dict(os.environ, PML_WP_TIMEOUT=os.environ.get("PML_WP_TIMEOUT", "5"))
    for number, bug in enumerate(bugs(), 1):
        with tempfile.TemporaryDirectory() as folder:
            for part in ("core", "proofs"):
                shutil.copytree(ROOT / part, pathlib.Path(folder) / part)
            path = pathlib.Path(folder) / bug["file"]
            text = path.read_text()
            if text.count(bug["old"]) != 1:
                sys.exit(f"planted_contracts.txt: not once in {bug['file']}: {bug['old']}")
            path.write_text(text.replace(bug["old"], bug["new"]))
            source, _, _ = unit(bug["unit"])
            result = subprocess.run(["bash", sys.argv[1], "--unit", folder, f"planted-{number}", source, bug["fails"],
                                     "-"], capture_output=True, text=True, env=environment, cwd=ROOT)
        goals = [line.strip() for line in result.stdout.splitlines() if line.startswith("    " + bug["fails"])]
        if goals:
            found += 1
            print(f"found in {bug['fails']} ({goals[0]}): {bug['new']}", flush=True)
        else:
            missed += 1
            print(f"MISSED in {bug['fails']}: {bug['new']}\n{result.stdout}", flush=True)
    print(f"{found} found, {missed} missed")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
