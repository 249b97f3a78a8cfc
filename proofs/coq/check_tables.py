#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the thresholds of the C function pml_response_keep with theorem 7, by the checker that Coq proved correct.

    proofs/coq/check_theorems.sh                                               # compiles the proofs and extracts the checker
    python3 proofs/coq/check_tables.py build/release/math_eval
    python3 proofs/coq/check_tables.py --planted build/release/math_eval     # must fail: every threshold one too high

A verdict "private" means accepted by theorem 7 (KeepCheck.private_release_is_private), "broken" that the ratio exceeds
e^ε (KeepCheck.broken_correct). Both are proved for every ε, m and P; what is trusted beyond Coq is its extraction to
OCaml, check_tables.ml, which reads and prints, and this file, which asks for the table.
"""
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/proofs/coq"
SHOWN = 5
CELLS_MAX, CROWD_MAX = 65536, 1048576
EPSILON_MIN, FLOOR_MIN, EPSILON_MAX = 2.0 ** -20, 2.0 ** -16, 16.0
EPSILONS = [EPSILON_MIN, 2.0 ** -20 * 1.75, 1e-5, FLOOR_MIN, 1e-4, 0.001, 0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.693147,
            1.0, 1.5, 2.0, 2.718281828, 3.0, 4.0, 5.5, 6.0, 8.0, 10.0, 12.0, 15.9999, EPSILON_MAX]


def table():
    """Every m up to 4096; then larger slots and crowds up to their limits, sampled."""
    source = random.Random("thresholds")
    slots = [(epsilon, m) for epsilon in EPSILONS for m in range(2, 4097)]
    large, crowd = [], []
    for epsilon in EPSILONS:
        cells = [4097, 10000, CELLS_MAX - 1, CELLS_MAX] + [source.randrange(4097, CELLS_MAX) for _ in range(60)]
        symbols = [CELLS_MAX + 1, CROWD_MAX - 1, CROWD_MAX]
        symbols += [source.randrange(CELLS_MAX, CROWD_MAX) for _ in range(60)]
        large += [(epsilon, m) for m in cells]
        crowd += [(epsilon, m) for m in symbols if epsilon >= FLOOR_MIN]
    anywhere = []
    for _ in range(200):
        epsilon = 2.0 ** source.uniform(-20, 4)
        anywhere += [(epsilon, source.randrange(2, CELLS_MAX + 1)) for _ in range(20)]
    return {"m = 2 … 4096": slots, "m to 65536, sampled": large, "crowds to 2^20, sampled": crowd,
            "any ε, sampled": anywhere}


def thresholds(program, points):
    lines = "".join("keep %s %s\n" % (epsilon.hex(), float(m).hex()) for epsilon, m in points)
    words = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.split()
    if len(words) != len(points) or "?" in words:
        raise SystemExit("%s does not know thresholds: is the response built?" % program)
    return [int(float.fromhex(word)) for word in words]


def build_checker():
    extracted, program = BUILD / "keep_check.ml", BUILD / "check_tables"
    if not extracted.exists():
        raise SystemExit("run proofs/coq/check_theorems.sh first: it extracts the checker")
    (BUILD / "check_tables.ml").write_text((ROOT / "proofs/coq/check_tables.ml").read_text())
    subprocess.run(["ocamlfind", "ocamlopt", "-O3", "-w", "-a", "-o", program.name, "keep_check.mli", "keep_check.ml",
                    "check_tables.ml"], cwd=BUILD, check=True, capture_output=True)
    return program


def judge(checker, points, values):
    lines = []
    for (epsilon, m), value in zip(points, values):
        numerator, denominator = epsilon.as_integer_ratio()
        lines.append("%d %d %d %d\n" % (numerator, denominator.bit_length() - 1, m, value))
    words = subprocess.run([checker], input="".join(lines), capture_output=True, text=True, check=True).stdout.split()
    if len(words) != len(points):
        raise SystemExit("the checker returned %d verdicts for %d points" % (len(words), len(points)))
    return words


class Tally:
    passed = failed = 0

    def check(self, title, points, values, right, remark=""):
        wrong = [(epsilon, m, value) for (epsilon, m), value, fine in zip(points, values, right) if not fine]
        self.failed += bool(wrong)
        self.passed += not wrong
        print("%-58s %6d points%s%s" % (title, len(points), remark, ", %d WRONG" % len(wrong) if wrong else ""))
        for epsilon, m, value in wrong[:SHOWN]:
            print("    wrong: ε = %r, m = %d, P = %d" % (epsilon, m, value))


def main():
    planted = "--planted" in sys.argv[1:]
    names = [word for word in sys.argv[1:] if word != "--planted"]
    if len(names) != 1:
        raise SystemExit("usage: check_tables.py [--planted] path/to/math_eval")
    checker, tally, more = build_checker(), Tally(), []
    for title, points in table().items():
        values = [value + planted for value in thresholds(names[0], points)]
        words = judge(checker, points, values)
        tally.check("%s: accepted by theorem 7" % title, points, values, [word[0] == "P" for word in words])
        tally.check("%s: the formula of SPEC 5.11, or one more" % title, points, values,
                    [word[1] in "EM" for word in words])
        more += [point + (value,) for point, value, word in zip(points, values, words) if word[1] == "M"]
        # What theorem 7 does not accept is recognised: two more than the formula always is too much.
        high = [value + 2 - (word[1] == "M") for value, word in zip(values, words)]
        tally.check("%s: two more than the formula breaks ε" % title, points, high,
                    [word[0] == "B" for word in judge(checker, points, high)])
    print("one more than the formula: %d points" % len(more))
    for epsilon, m, value in more[:SHOWN]:
        print("    ε = %r, m = %d: %d" % (epsilon, m, value))
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
