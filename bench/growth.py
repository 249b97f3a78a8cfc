#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a scan grow as it should? Instructions of one scan, counted by callgrind, for several n and d, both mechanisms, and
the line a·n·d + b·n + c that is nearest to them: the products, what a row costs besides, what a call costs.

    build/venv/bin/python bench/growth.py [--json] [--quick]

Needs valgrind and the release build. Valgrind knows no AVX-512, so the kernel is AVX2 or, elsewhere, what it runs there.
"""
import argparse
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True    # keeps the source tree clean
import numpy as np  # noqa: E402

from utility_data import ROOT, stop  # noqa: E402

STAGES = {"response": "pml_prototypes_cell", "gaussian": "pml_neighbours_find"}
SIZES = [(n, 512) for n in (1000, 2000, 4000, 8000, 16000)] + [(2000, d) for d in (64, 128, 256, 1024, 2048)]
SMALL = [(n, d) for n in (160, 320, 640) for d in (64, 128)]


def instructions(program, mechanism, n, d):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={STAGES[mechanism]}",
               program, "--repeat", "1", "--mechanism", mechanism, "--n", str(n), "--d", str(d)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        stop("valgrind is missing: scripts/setup.sh installs it")
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if done.returncode != 0 or not found or int(found[1]) == 0:
        stop(f"callgrind counted nothing for {mechanism}, n = {n}, d = {d}: {done.stderr.strip()[-300:]}")
    return int(found[1])


def fitted(rows):
    """The nearest line, relative to what was counted, and how far off it is."""
    counted = np.array([row["instructions"] for row in rows], float)
    terms = np.array([[row["n"] * row["d"], row["n"], 1] for row in rows], float)
    factors = np.linalg.lstsq(terms / counted[:, None], np.ones(len(rows)), rcond=None)[0]
    off = terms @ factors / counted - 1
    return {"a product": factors[0], "a row": factors[1], "a call": factors[2], "farthest off": float(np.abs(off).max())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds")
    parser.add_argument("--json", action="store_true", help="the numbers on stdout")
    chosen = parser.parse_args()
    program = os.path.join(ROOT, "build", "release", "bench", "bench_query")
    if not os.access(program, os.X_OK):
        stop(f"there is no {program}: build the release preset")
    result = {"bench": "growth", "rows": [], "fits": {}}
    for mechanism in STAGES:
        rows = []
        for n, d in SMALL if chosen.quick else SIZES:
            if sys.stderr.isatty():
                print(f"\r{mechanism}: n = {n}, d = {d}      ", end="", file=sys.stderr, flush=True)
            slots = min(n // 8, 1024) if mechanism == "response" else 1   # which must divide n: bench_query --help
            rows.append({"mechanism": mechanism, "n": n // slots * slots, "d": d,
                         "instructions": instructions(program, mechanism, n, d)})
        result["rows"] += rows
        result["fits"][mechanism] = fitted(rows)
    if sys.stderr.isatty():
        print("", file=sys.stderr)
    if chosen.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    for row in result["rows"]:
        print("{mechanism:9} n = {n:6} d = {d:5} {instructions:11} instructions".format(**row))
    for mechanism, fit in result["fits"].items():
        print(f"{mechanism}: {fit['a product']:.4f} per product, {fit['a row']:.1f} per row, {fit['a call']:.0f} per call; "
              f"farthest off {100 * fit['farthest off']:.1f} %")


if __name__ == "__main__":
    main()
