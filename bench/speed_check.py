#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the benches run, is their JSON whole, do their results agree? Not how fast: `python bench/speed_check.py`, half a
minute. Other people's libraries are asked where they are installed. Ends with 'N passed, N failed'."""
import importlib.util
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True    # keeps the source tree clean
from speed_report import FIGURES, made_of  # noqa: E402
from speed_tables import TABLES, Results  # noqa: E402
from utility_check import Checks  # noqa: E402
from utility_data import ROOT  # noqa: E402

PROGRAMS = os.path.join(ROOT, "build", "release", "bench")
# What every row of a bench has.
ROWS = {"bench_kernels": {"what", "kernel", "d", "time", "times portable"},
        "bench_query": {"mechanism", "kernel", "n", "d", "arm", "release", "quantise", "scan", "read", "scan by read",
                        "scan by roofline"},
        "bench_pack": {"what", "kernel", "n", "d", "time"},
        "bench_rank": {"sketches", "kernel", "sketch", "directions", "candidates", "bytes", "rank", "read", "hash", "speed of read and hash",
                       "ns per candidate", "GB/s"},
        "bench_open": {"kernel", "bytes", "open", "hash", "read", "open by hash", "open by read", "MB/s"},
        "bench_noise": {"draw", "draws", "time", "million per second"}}
PEERS = ("faiss", "usearch", "sklearn", "opendp")


def run(*command):
    return subprocess.run(list(command), capture_output=True, text=True, timeout=300)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def is_sound(value):
    """Times rise from quartile to quartile and are none of them zero."""
    return not isinstance(value, dict) or 0 < value["low"] <= value["median"] <= value["high"]


def check_program(checks, name, keys):
    program = os.path.join(PROGRAMS, name)
    done = run(program, "--quick", "--json")
    found = parsed(done.stdout)
    checks.expect(done.returncode == 0 and found and found["bench"] == name and found["rows"], f"{name} runs and prints JSON")
    rows = found["rows"] if found else []
    checks.expect(rows and all(keys <= set(row) for row in rows), f"{name}: rows are complete")
    checks.expect(rows and all(is_sound(value) for row in rows for value in row.values()), f"{name}: times are sound")
    plain, usage = run(program, "--quick", "--rounds", "1"), run(program, "--help")
    checks.expect(plain.returncode == 0 and len(plain.stdout.splitlines()) == len(rows), f"{name} prints one line per row without --json")
    checks.expect(usage.returncode == 0 and "example:" in usage.stdout and "exit codes:" in usage.stdout, f"{name} --help")
    for wrong in (["--rounds", "0"], ["--bogus"], ["--rounds"]):
        done = run(program, *wrong)
        checks.expect(done.returncode == 2 and done.stderr.startswith(name + ":") and not done.stdout, f"{name} {' '.join(wrong)}")
    return rows


def check_kernels(checks, rows):
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    checks.expect(kernels[:1] == ["portable"], "the portable kernel is measured first")
    for kernel in kernels:
        done = run(os.path.join(PROGRAMS, "bench_query"), "--quick", "--json", "--kernel", kernel)
        found = parsed(done.stdout)
        checks.expect(found and all(row["kernel"] == kernel for row in found["rows"]), f"bench_query --kernel {kernel}")
    for name in ("bench_query", "bench_pack", "bench_open", "bench_rank"):
        done = run(os.path.join(PROGRAMS, name), "--quick", "--kernel", "bogus")
        checks.expect(done.returncode == 2 and "bogus" in done.stderr, f"{name} names a kernel that it does not know")


def check_growth(checks):
    found = parsed(run(sys.executable, os.path.join(ROOT, "bench", "growth.py"), "--quick", "--json").stdout)
    for mechanism in ("response", "gaussian"):
        off = found["fits"][mechanism]["farthest off"] if found else 1
        checks.expect(off <= 0.05, f"{mechanism}: instructions of a scan are linear in n·d ({100 * off:.2f} % off)")


def check_report(checks, rows):
    """Parts that were measured alone: their tables are written, the others stay."""
    results = Results(kernels={"rows": rows["bench_kernels"]}, noise={"rows": rows["bench_noise"]})
    tables, left = made_of(results, TABLES)
    checks.expect(set(tables) == {"kernels", "draws"} and all(len(lines) > 2 for lines in tables.values()),
                  "the report of two parts has their tables")
    checks.expect(set(left) == set(TABLES) - set(tables), "and leaves the others")
    checks.expect(made_of(results, FIGURES) == ({}, list(FIGURES)), "and the figures")


def main():
    checks, skipped = Checks(), 0
    rows = {name: check_program(checks, name, keys) for name, keys in ROWS.items()}
    check_report(checks, rows)
    check_kernels(checks, rows["bench_kernels"])
    check_growth(checks)
    done = run(sys.executable, "-c", f"import sys; sys.path.insert(0, {os.path.join(ROOT, 'bench')!r}); import speed_report")
    checks.expect(done.returncode == 0, "the report has all its modules: " + done.stderr[-200:])
    if all(importlib.util.find_spec(name) for name in PEERS):
        done = run(sys.executable, os.path.join(ROOT, "bench", "peers.py"), "--quick")
        print(done.stdout.rsplit("\n", 2)[0])
        checks.expect(done.returncode == 0, "all of bench/peers.py --quick")
    else:
        skipped = 1
        print("skipped bench/peers.py: scripts/bench.sh installs what it needs")
    print(f"{checks.passed} passed, {checks.failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
