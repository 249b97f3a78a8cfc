#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does it still find the right pictures? Figures and tables of docs/RESULTS.md: the library against other methods, the
paper's figures, what a server learns. Non-private methods are marked NOT PRIVATE everywhere.

    bench/utility.py --figure 6 --data DIR      one of 2, 3, 5, 6, 7, epsilon, bytes, slots, codes, large,
                                                defaults, crowd, large-crowd, 6-crowd, public, inference, modalities,
                                                voters, heads, looks, uncertainty, labels, groups, descent, dsne,
                                                projections, maps, map-sheet, finding, sketches, or all
    bench/utility.py --check                    do the methods behave? 'N passed, N failed', under 20 seconds

Figures go to build/bench as SVG, their numbers beside them as JSON and, as markdown, to stdout. Intermediate results are
kept in build/bench/cache, so that only what changed is computed again. Needs numpy (build/venv/bin/python), gnuplot and
the release build; t-SNE also scikit-learn: build/venv/bin/pip install scikit-learn
"""
import argparse
import inspect
import os
import sys
import time

sys.dont_write_bytecode = True    # keeps the source tree clean
from utility_data import FOLDER, ROOT, Program, load_cases, sample_case, write_json  # noqa: E402
from utility_figures import FIGURES, SHARES  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", choices=[*FIGURES, "all"], help="which to draw")
    parser.add_argument("--check", action="store_true", help="test the methods on the sample gallery")
    parser.add_argument("--data", metavar="DIR", help="folder of data sets, each with features.npy (float32, n * d) and "
                                                      "labels.npy; without it the sample gallery is used")
    parser.add_argument("--sets", metavar="A,B", help="which of them. Default: CUB-200, CIFAR-100, Cars196 where they are")
    parser.add_argument("--split", type=int, default=0, metavar="SEED", help="another split of the sets. Default 0")
    parser.add_argument("--share", type=float, default=0.02, choices=SHARES,
                        help="share of the gallery carried, for figures 5 and 6. Default 0.02")
    parser.add_argument("--without-tsne", action="store_true", help="leave t-SNE out of figure 6")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "cli", "privatemail"),
                        help="the privatemail command. Default: that of build/release")
    parser.add_argument("--out", metavar="DIR", default=FOLDER, help="where the SVG goes. Default build/bench")
    chosen = parser.parse_args()
    if chosen.check == bool(chosen.figure):
        parser.error("give either --figure or --check")
    return chosen


def draw(name, program, cases, chosen):
    file, make = FIGURES[name]
    start = time.monotonic()
    takes = inspect.signature(make).parameters
    extra = {"data": chosen.data} if "data" in takes else {"with_tsne": not chosen.without_tsne} if "with_tsne" in takes else {}
    figure, data, lines = make(program, cases, chosen.share, **extra)
    path = os.path.join(chosen.out, file + ".svg")
    if figure:
        figure.draw(path)
    write_json(os.path.join(FOLDER, file + ".json"), data)
    print("\n".join(lines))
    print(f"{os.path.relpath(path) if figure else name}: {time.monotonic() - start:.0f} s", file=sys.stderr)


def main():
    chosen = arguments()
    program = Program(chosen.program)
    if chosen.check:
        from utility_check import check
        sys.exit(check(program) > 0)
    names = chosen.sets.split(",") if chosen.sets else None
    cases = load_cases(chosen.data, names, chosen.split) if chosen.data else [sample_case(program)]
    for name in FIGURES if chosen.figure == "all" else [chosen.figure]:
        draw(name, program, cases, chosen)


if __name__ == "__main__":
    main()
