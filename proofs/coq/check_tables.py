#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the thresholds of the C function pml_response_keep with theorem 7, by the checker that Coq proved correct,
and the table of cosines and the constants of the C sources with those that the theorems are about.

    proofs/coq/check_theorems.sh                                    # compiles the proofs and extracts the checker
    python3 proofs/coq/check_tables.py build/release/math_eval
    python3 proofs/coq/check_tables.py --planted                    # plants bugs into copies of the C sources

A verdict "private" means accepted by theorem 7 (KeepCheck.private_release_is_private), "broken" that the ratio exceeds
e^ε (KeepCheck.broken_correct). Both are proved for every ε, m and P; what is trusted beyond Coq is its extraction to
OCaml, check_tables.ml, which reads and prints, and this file, which asks for the table.
"""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

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


# What stands in a C source and in a theorem: what it is, where in C, what it is there (a function of the numbers found),
# where in Coq, and what it is there.
LINKS = [
    ("the 64 directions", "core/stages/certificate.c", r"cosine\[33\] = \{(.*?)\}", lambda *x: x,
     "Directions.v", r"cosines : list Z :=(.*?)\]\.", lambda *x: x),
    ("the room between two directions, ρ", "core/stages/certificate.c", r"widest \* \(65536 \+ (\d+)\), \(int64_t\)32 \* (\d+)",
     lambda *x: x, "Directions.v", r"rho : R := 1 \+ (\d+) / (\d+)\.", lambda *x: x),
    ("the values of the coin", "core/stages/response.c", r"define PML_COIN_BITS (\d+)", lambda bits: 2 ** bits,
     "KeepCheck.v", r"values : Z := (\d+)\.", lambda x: x),
    ("the same, of theorem 7", "core/stages/response.c", r"define PML_COIN_BITS (\d+)", lambda bits: 2 ** bits,
     "Threshold.v", r"two40 : R := (\d+)\.", lambda x: x),
    ("what the threshold is below", "core/stages/response.c", r"- 0x1p-(\d+)\)", lambda bits: 2 ** bits,
     "Response.v", r"Theorem response_private_as_computed .*? - / (\d+)\)", lambda x: x),
    ("the bits of a word", "core/base/random.h", r"define PML_WORD_BITS (\d+)", lambda bits: bits,
     "Response.v", r"replace \(2 \^ (\d+) \* 2 \^ \1\)", lambda x: x),
    ("the most cells of a slot", "core/include/privatemail.h", r"define PML_CELLS_MAX (\d+)u", lambda x: x,
     "Threshold.v", r"Theorem threshold_low_slot .*? m <= (\d+)", lambda x: x),
    ("the most symbols of a crowd", "core/include/privatemail.h", r"define PML_CROWD_CELLS_MAX (\d+)u", lambda x: x,
     "Threshold.v", r"Theorem threshold_low_crowd .*? m <= (\d+)", lambda x: x),
    ("the least ε", "core/include/privatemail.h", r"define PML_EPSILON_MIN \(1\.0 / (\d+)\.0\)", lambda x: x,
     "Threshold.v", r"Theorem threshold_low_slot epsilon m P : / (\d+) ", lambda x: x),
    ("the least floor", "core/include/privatemail.h", r"define PML_CROWD_FLOOR_MIN \(1\.0 / (\d+)\.0\)", lambda x: x,
     "Threshold.v", r"Theorem threshold_low_crowd epsilon m P : / (\d+) ", lambda x: x),
    ("the parts of the sampler", "core/stages/bundle.c", r"part < (\d+);", lambda x: x,
     "Sampler.v", r"Theorem eight_parts .*? poisson \((\d+) \* x\)", lambda x: x),
    ("the cut of the sampler", "core/include/privatemail.h", r"define PML_CROWD_CLUSTERS_CUT (\d+)u", lambda x: x + 1,
     "Sampler.v", r"Theorem cut_is_negligible .*? poisson kappa \((\d+) \+ j\)", lambda x: x),
    ("the most clusters", "core/include/privatemail.h", r"define PML_CROWD_CLUSTERS_MAX (\d+)\.0", lambda x: x,
     "Sampler.v", r"Theorem cut_is_negligible kappa n : 0 <= kappa <= (\d+)", lambda x: x),
]


def numbers(path, pattern, meaning):
    """What the groups of the one place that fits have: whole numbers."""
    found = re.findall(pattern, path.read_text(), re.S)
    if len(found) != 1:
        return "%d places in %s" % (len(found), path.name)
    return meaning(*(int(word) for word in re.findall(r"\d+", " ".join(found[0]) if isinstance(found[0], tuple) else found[0])))


def check_links(tally, tree):
    for what, source, in_c, of_c, theorem, in_coq, of_coq in LINKS:
        ours, proved = numbers(tree / source, in_c, of_c), numbers(ROOT / "proofs/coq" / theorem, in_coq, of_coq)
        same = ours == proved and not isinstance(ours, str)
        tally.failed += not same
        tally.passed += same
        print("%s: %s as in %s%s" % (what, source, theorem, "" if same else ": WRONG, %s and %s" % (ours, proved)))


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


def check_all(checker, program, tree, most=None):
    """The tables of the program, at most so many points of each, and the constants of the sources in `tree`."""
    tally, more = Tally(), []
    for title, points in table().items():
        points = points[:most]
        values = thresholds(program, points)
        words = judge(checker, points, values)
        tally.check("%s: accepted by theorem 7" % title, points, values, [word[0] == "P" for word in words])
        tally.check("%s: the formula of SPEC 5.11, or one more" % title, points, values,
                    [word[1] in "EM" for word in words])
        more += [point + (value,) for point, value, word in zip(points, values, words) if word[1] == "M"]
        # What theorem 7 does not accept is recognised: two more than the formula always is too much.
        high = [value + 2 - (word[1] == "M") for value, word in zip(values, words)]
        tally.check("%s: two more than the formula breaks ε" % title, points, high,
                    [word[0] == "B" for word in judge(checker, points, high)])
    check_links(tally, tree)
    print("one more than the formula: %d points" % len(more))
    for epsilon, m, value in more[:SHOWN]:
        print("    ε = %r, m = %d: %d" % (epsilon, m, value))
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed == 0


# Bugs in C. Each must turn one of the lines above wrong.
PLANTED = [
    ("a threshold too high by one", "core/stages/response.c", "(cells - 1))) - 0x1p-7)", "(cells - 1))) - 0x1p-7) + 1"),
    ("a threshold that is rounded to the nearest", "core/stages/response.c", "(cells - 1))) - 0x1p-7)", "(cells - 1))) + 0.5)"),
    ("a cosine too high by one", "core/stages/certificate.c", "cosine[33] = {4096, 4091,", "cosine[33] = {4096, 4092,"),
    ("less room between two directions", "core/stages/certificate.c", "(65536 + 28)", "(65536 + 24)"),
    ("a sampler of seven parts", "core/stages/bundle.c", "part < 8; part++", "part < 7; part++"),
    ("a sampler that is cut earlier", "core/include/privatemail.h", "PML_CROWD_CLUSTERS_CUT 63u", "PML_CROWD_CLUSTERS_CUT 31u"),
]


def plant(checker):
    """Each bug, in a copy of the core that is compiled by itself, must turn a line wrong."""
    found = 0
    for what, name, before, after in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            for part in ("core", "platform", "tests"):
                shutil.copytree(ROOT / part, tree / part)
            text = (tree / name).read_text()
            if text.count(before) != 1:
                raise SystemExit("%s: '%s' stands there %d times" % (name, before, text.count(before)))
            (tree / name).write_text(text.replace(before, after))
            sources = sorted(str(path) for path in (tree / "core").rglob("*.c"))
            subprocess.run(["cc", "-std=c11", "-O2", "-ffp-contract=off", "-w", "-Icore", "-Icore/include", "-Iplatform", "-Itests",
                            "tests/programs/math_eval.c", *sources, "-o", "math_eval"], cwd=tree, check=True)
            missed = check_all(checker, tree / "math_eval", tree, 4000)
        print("%s: %s" % ("MISSED" if missed else "refused", what))
        found += not missed
    print("%d passed, %d failed" % (found, len(PLANTED) - found))
    return found == len(PLANTED)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-") and sys.argv[1] != "--planted":
        raise SystemExit("usage: check_tables.py path/to/math_eval | --planted")
    checker = build_checker()
    if sys.argv[1] == "--planted":
        return not plant(checker)
    return not check_all(checker, sys.argv[1], ROOT)


if __name__ == "__main__":
    sys.exit(main())
