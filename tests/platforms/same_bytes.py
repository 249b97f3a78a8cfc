#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do two builds of the command make the same bytes? python3 same_bytes.py COMMAND OTHER

Runs what draws no randomness of the system with each, in a folder of its own, and compares every file and what was printed:
packs, fronts, galleries in folders and what is in them, samples, maps, plans; and an evaluation whose ten draws, at
ε = 16 among 8 cells, are the true cells but once in 100,000 runs: when the two differ, both evaluate once more. Packs
and parts are named by their hash, so two machines that made them differently would not find each other's. Ends with
'N passed, N failed'."""
import hashlib
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

# Each is run in order; a later one reads what an earlier one wrote.
STEPS = """
sample --out shapes --classes 8 --per-class 40 --no-images
pack --features F --labels L --slots class --cells 8 --gaussian --rows-are-public --out class.pmpk
pack --features F --labels L --rows-are-public --out one.pmpk --json
pack --features shapes/public.npy --labels shapes/public_labels.npy --slots group --slot-count 3 --gaussian --codes spectral
    --rows-are-public --out shapes.pmpk
inspect class.pmpk
inspect one.pmpk --json
train --method signs --inputs 1000 --dimensions 64 --out signs.pmfr
train --method gauss --features F --dimensions 32 --out gauss.pmfr
train --method dct --features F --dimensions 32 --out dct.pmfr
index --pack class.pmpk --features F --labels L --store dir:store --payloads payloads
index --pack one.pmpk --features F --labels L --store dir:store --threads 3
index --pack one.pmpk --add G --labels M --store dir:store
index --pack one.pmpk --remove gone.txt --store dir:store
index --pack shapes.pmpk --features shapes/gallery.npy --labels shapes/gallery_labels.npy --store dir:store
gallery --store dir:store --pack one.pmpk --json
publish --store dir:store --pack one.pmpk --to dir:copy
find --store dir:store --pack class.pmpk --release release.bin --out answer.bin
map --method pca --features F --labels L --out pca.svg
map --method mds --features G --out mds.svg
map --method sammon --features G --out sammon.svg
map --method isomap --features G --out isomap.svg
map --method tsne --features G --out tsne.svg
groups --method kmeans --features F --count 6 --out groups.npy
crowd --cells 64 --clients 1000 --epsilon 1 --json
crowd --cells 256 --epsilon 0.5 --noise relay --json
advise --items 100000 --bytes-down 20000 --users 500 --json
evaluate --public F --gallery G --queries H --cells 8 --epsilon 16 --share 0.2 --releases 1 --json
"""
RELEASE = "privatize --pack class.pmpk --features F.npy --label 2 --epsilon 4 --out release.bin"
# What no two runs have alike: times, and downloads that the system's randomness chose.
CHANCE = re.compile(rb'"(seconds|baseline|baseline_se)": ?[0-9.e+-]+|[0-9.e+-]+ seconds')


def prepare(folder):
    """The inputs, the same everywhere."""
    draw = np.random.default_rng(5)
    centres = draw.normal(size=(6, 64))
    labels = draw.integers(0, 6, 1400)
    rows = (centres[labels] + 0.6 * draw.normal(size=(1400, 64))).astype("<f4")
    for name, first, last in (("F", 0, 1200), ("G", 1200, 1400), ("H", 1200, 1210)):
        np.save(os.path.join(folder, name + ".npy"), rows[first:last])
    np.save(os.path.join(folder, "L.npy"), labels[:1200].astype("<i4"))
    np.save(os.path.join(folder, "M.npy"), labels[1200:].astype("<i4"))
    with open(os.path.join(folder, "gone.txt"), "w") as stream:
        stream.write("".join("%d\n" % number for number in range(7, 1300, 31)))
    os.mkdir(os.path.join(folder, "payloads"))
    for number in range(0, 1200, 5):
        with open(os.path.join(folder, "payloads", "%04d.bin" % number), "wb") as stream:
            stream.write(b"\r\n\x1a%d" % number)  # what a stream of text would change on Windows


def ask(command, folder, step):
    """Its exit code and what it printed."""
    words = [word + ".npy" if word in ("F", "G", "H", "L", "M") else word for word in step.split()]
    for _ in range(3):
        done = subprocess.run([command] + words, cwd=folder, capture_output=True, timeout=600)
        if done.returncode != 1 or done.stdout or done.stderr:  # the command has no exit code 1: wine did not start it
            break
    return done.returncode, CHANCE.sub(b"", done.stdout), CHANCE.sub(b"", done.stderr)


def run(command, folder, release):
    """{step: (exit code, what was printed)} and {file: SHA-256}. A release, which is random, is made where there is none."""
    prepare(folder)
    printed = {}
    if release:
        with open(os.path.join(folder, "release.bin"), "wb") as stream:
            stream.write(release)
    for step in re.sub(r"\n +", " ", STEPS).strip().split("\n"):
        if step.startswith("find") and not release:
            subprocess.run([command] + RELEASE.split(), cwd=folder, capture_output=True, check=True)
        printed[step] = ask(command, folder, step)
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as stream:
                files[os.path.relpath(path, folder)] = hashlib.sha256(stream.read()).hexdigest()
    return printed, files


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: same_bytes.py COMMAND OTHER")
    command, other = (os.path.abspath(path) for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as left, tempfile.TemporaryDirectory() as right:
        printed, files = run(command, left, None)
        with open(os.path.join(left, "release.bin"), "rb") as stream:
            others, other_files = run(other, right, stream.read())
        for step in printed:
            if step.startswith("evaluate") and printed[step] != others[step]:  # an unlikely draw
                printed[step], others[step] = ask(command, left, step), ask(other, right, step)
    passed = failed = 0
    for step, outcome in printed.items():
        good = outcome == others[step] and outcome[0] == 0
        passed, failed = passed + good, failed + (not good)
        if not good:
            print("FAILED  %s: %s, %s" % (step, outcome, others[step]))
    for name in sorted(set(files) | set(other_files)):
        good = files.get(name) == other_files.get(name)
        passed, failed = passed + good, failed + (not good)
        if not good:
            print("FAILED  %s: %s, %s" % (name, files.get(name), other_files.get(name)))
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
