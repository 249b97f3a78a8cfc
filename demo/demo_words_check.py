#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what words find in the demo's gallery, by `privatemail evaluate`, with phrases that nobody trained with.

    demo_words_check.py PROGRAM GALLERY WORDS [--cells 12] [--share 0.001] [--releases 64]

WORDS is what demo_words.py wrote, with the fronts that scripts/demo.sh trained (front.pmfr and front.text.pmfr). Prints
the share of the first 8 results that are of the class that is meant: over all, and of each class.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
from demo_gallery import NAMES

EPSILONS = "2,4,8"
CROWD = 1000000
CROWD_EPSILON = "0.1"


class Check:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        words, gallery = arguments.words, arguments.gallery
        self.command = [
            arguments.program, "evaluate", "--public", gallery / "public.npy",
            "--public-labels", gallery / "public_labels.npy", "--gallery", gallery / "gallery.npy",
            "--gallery-labels", gallery / "gallery_labels.npy", "--front", f"image={words / 'front.pmfr'}",
            "--front", f"text={words / 'front.text.pmfr'}", "--ask", "text", "--voters", words / "text.npy",
            "--cells", str(arguments.cells), "--share", str(arguments.share), "--releases", str(arguments.releases)]

    def run(self, rows, labels, *options):
        """Lines of `evaluate`, for these phrases."""
        numpy.save(self.folder / "queries.npy", rows)
        numpy.save(self.folder / "labels.npy", labels)
        done = subprocess.run([*self.command, "--queries", self.folder / "queries.npy", "--queries-labels",
                               self.folder / "labels.npy", *options, "--json"], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["rows"]


def tell(check, name, rows, labels):
    alone = check.run(rows, labels, "--epsilon", EPSILONS)
    crowd = check.run(rows, labels, "--crowd", str(CROWD), "--epsilon", CROWD_EPSILON)
    columns = [alone[0]["exact_precision_at_8"], *(line["precision_at_8"] for line in alone),
               crowd[0]["precision_at_8"], alone[0]["random_precision_at_8"]]
    print(f"| {name} | {len(rows)} | " + " | ".join(f"{value:.2f}" for value in columns) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "gallery", "words"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--share", type=float, default=0.001)
    parser.add_argument("--releases", type=int, default=64)
    arguments = parser.parse_args()
    rows, labels = (numpy.load(arguments.words / name) for name in ("phrases.npy", "phrases_labels.npy"))
    kinds = numpy.array([kind for _, _, kind in json.loads((arguments.words / "phrases.json").read_text())])
    print("| phrases | how many | not private | " + " | ".join(f"ε = {e}" for e in EPSILONS.split(",")) +
          f" | in a crowd, ε = {CROWD_EPSILON} | random download |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        check = Check(arguments, folder)
        for name, kind in (("new phrases of trained words", "phrase"), ("words that were not trained", "word")):
            tell(check, name, rows[kinds == kind], labels[kinds == kind])
        for label, name in enumerate(NAMES):
            of_class = labels == label
            for kind in ("phrase", "word"):
                tell(check, f"{name}, {kind}s", rows[of_class & (kinds == kind)], labels[of_class & (kinds == kind)])


if __name__ == "__main__":
    main()
