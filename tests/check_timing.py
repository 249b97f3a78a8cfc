#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the time of a call depend on the secret? Welch's t-test on two classes of secrets (as dudect: Reparaz, Balasch,
Verbauwhede 2017), measured in random order.

    python3 tests/check_timing.py path/to/timing [--report] [--count N]

A case passes when |t| < 10 with all measurements and with the slowest cropped at several quantiles; a planted leak must
reach |t| > 30. Without a leak |t| > 10 has a probability below 1e-20 for normal means, so a failure is no accident of
sampling; but another program on the same core can be one, so a failing case is measured up to three times.
--report prints the same and always answers 0: for machines that are not quiet.
"""
import argparse
import math
import subprocess
import sys

SOUND, LEAKS = 10.0, 30.0
QUANTILES = (1.0, 0.99, 0.95, 0.9, 0.75, 0.5)
TURNS = 3


def measure(program, case, count):
    """Durations of the two classes, in ticks."""
    text = subprocess.run([program, case, str(count)], capture_output=True, text=True, check=True).stdout
    classes = ([], [])
    for line in text.splitlines():
        kind, ticks = line.split()
        classes[int(kind)].append(int(ticks))
    return classes


def moments(values):
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)


def welch(classes, limit):
    """t and the difference of means, of the measurements up to `limit`."""
    kept = [[ticks for ticks in kind if ticks <= limit] for kind in classes]
    if min(map(len, kept)) < 100:
        return 0.0, 0.0
    (mean0, error0), (mean1, error1) = map(moments, kept)
    if error0 + error1 == 0:
        return (0.0 if mean0 == mean1 else math.inf), mean1 - mean0
    return (mean1 - mean0) / math.sqrt(error0 + error1), mean1 - mean0


def worst(classes):
    """The largest |t| over all crops, with the difference in ticks and the quantile it was found at."""
    ordered = sorted(classes[0] + classes[1])
    found = []
    for quantile in QUANTILES:
        t, difference = welch(classes, ordered[math.ceil(quantile * len(ordered)) - 1])
        found.append((abs(t), difference, quantile))
    return max(found), ordered[len(ordered) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--count", type=int, default=200000)
    options = parser.parse_args()
    passed = failed = 0
    cases = subprocess.run([options.program], capture_output=True, text=True, check=True).stdout.split()
    for case in cases:
        planted = case.startswith("leak-")
        for turn in range(TURNS):
            (t, difference, quantile), median = worst(measure(options.program, case, options.count))
            right = t > LEAKS if planted else t < SOUND
            if right:
                break
        passed, failed = passed + right, failed + (not right)
        print("%-27s |t| %7.1f at quantile %.2f, difference %+.2f of %d ticks%s%s" %
              (case, t, quantile, difference, median, ", turn %d" % (turn + 1) if turn > 0 else "",
               "" if right else ", NOT FOUND" if planted else ", LEAK"), flush=True)
    if options.report:
        print("report: %d as wanted, %d not" % (passed, failed))
        return 0
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
