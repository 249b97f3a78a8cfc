#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of "Speed" in docs/RESULTS.md and docs/PLATFORMS.md, between their markers, and its figures, from
what scripts/bench.sh left in build/bench. Tables and figures of parts that were not measured stay as they are.

    build/venv/bin/python bench/speed_report.py [--out docs/figures]
"""
import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True    # keeps the source tree clean
from speed_tables import TABLES, NotMeasured, Results  # noqa: E402
from utility_data import FOLDER, ROOT, stop  # noqa: E402
from plot import Figure, Panel  # noqa: E402
from utility_looks import LOOKS  # noqa: E402

PARTS = ("kernels", "query", "query-best", "pack", "pack-best", "open", "rank", "noise", "peers", "growth")


def load():
    results = Results()
    for part in PARTS:
        path = os.path.join(FOLDER, f"speed-{part}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                results[part] = json.load(file)
    return results


def made_of(results, makers):
    """{name: what its maker makes}, and the names of those that need a part that was not measured."""
    made, left = {}, []
    for name, make in makers.items():
        try:
            made[name] = make(results)
        except NotMeasured:
            left.append(name)
    return made, left


def replace(path, tables):
    """Puts each table between its markers; a file need not have all."""
    with open(path, encoding="utf-8") as file:
        text = old = file.read()
    for name, lines in tables.items():
        text = re.sub(rf"(<!-- speed: {name} -->\n).*?(<!-- end -->)", lambda found: found[1] + "\n".join(lines) + "\n" + found[2],
                      text, flags=re.S)
    if text != old:
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".tmp", path)


# Figures ---------------------------------------------------------------------------------------------------------

LOGARITHMIC = "set logscale xy; set format '10^{%T}'"
QUERY_LOOKS = (("release", LOOKS["own"], "release: quantise, scan, bytes"), ("scan", LOOKS["own_sketch"], "the scan in it"),
               ("read", LOOKS["trivial"], "a vectorised read of the same bytes"), ("arm", LOOKS["projection"], "arm: entropy and noise"))


def query_figure(results):
    kernel = results["query"]["rows"][0]["kernel"]
    figure = Figure("What a query costs", f"Kernel {kernel}, one thread; medians. Budget storage excluded.",
                    [(look, text) for _, look, text in QUERY_LOOKS], 2)
    for mechanism in ("gaussian", "response"):
        rows = [row for row in results["query"]["rows"] if row["mechanism"] == mechanism and row["d"] == 512]
        panel = Panel(f"{mechanism.capitalize()}, d = 512", "rows n", "microseconds", LOGARITHMIC)
        for key, look, _ in QUERY_LOOKS:
            panel.add(look, sorted((row["n"], row[key]["median"]) for row in rows))
        figure.panels.append(panel)
    for mechanism in ("gaussian", "response"):
        rows = [row for row in results["growth"]["rows"] if row["mechanism"] == mechanism]
        panel = Panel(f"{mechanism.capitalize()}: instructions of a scan (callgrind)", "n · d", "instructions", LOGARITHMIC)
        panel.add("points pt 7 ps 0.7 lc rgb '#d7263d'", sorted((row["n"] * row["d"], row["instructions"]) for row in rows))
        fit = results["growth"]["fits"][mechanism]
        panel.add(LOOKS["curve"], sorted((row["n"] * 512, row["n"] * (512 * fit["a product"] + fit["a row"]) + fit["a call"])
                                         for row in rows if row["d"] == 512))
        figure.panels.append(panel)
    figure.legend += [("points pt 7 ps 0.7 lc rgb '#d7263d'", "instructions counted"),
                      (LOOKS["curve"], "the fitted line at d = 512; other points have n = 2000")]
    return figure


def peers_figure(results):
    rows, columns = results["peers"]["parts"]["scan"], []
    for row in rows:
        if row["method"] not in columns:
            columns.append(row["method"])
    tics = ", ".join(f"'{index + 1}' {index + 1}" for index in range(len(columns)))
    legend = [("points pt 7 ps 0.01 lc rgb 'white'", f"{index + 1}: {name}".replace("_", " ")) for index, name in enumerate(columns)]
    figure = Figure("The nearest 10 of n rows, one query, one thread", "Quartiles over the rounds; d = 512; lower is faster.", legend, 2)
    for n in sorted({row["n"] for row in rows}):
        panel = Panel(f"n = {n}", "method", "microseconds per query",
                      f"set logscale y; set xtics ({tics}); set xrange [0.3:{len(columns) + 0.7}]")
        for own, colour in ((True, "#d7263d"), (False, "#3b7dd8")):
            panel.add(f"yerrorbars pt 7 ps 0.8 lw 2 lc rgb '{colour}'",
                      [(columns.index(row["method"]) + 1, row["time"]["median"], row["time"]["low"], row["time"]["high"])
                       for row in rows if row["n"] == n and row["method"].startswith("ours") == own], "1:2:3:4")
        figure.panels.append(panel)
    return figure


FIGURES = {"speed-query.svg": query_figure, "speed-peers.svg": peers_figure}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="DIR", default=os.path.join(ROOT, "docs", "figures"), help="where the SVG goes")
    chosen = parser.parse_args()
    results = load()
    if not results:
        stop(f"there are no measurements in {FOLDER}: run scripts/bench.sh")
    tables, old_tables = made_of(results, TABLES)
    figures, old_figures = made_of(results, FIGURES)
    for document in ("docs/RESULTS.md", "docs/PLATFORMS.md"):
        replace(os.path.join(ROOT, document), tables)
    for name, figure in figures.items():
        figure.draw(os.path.join(chosen.out, name))
    print("written:", ", ".join([*tables, *figures]))
    if old_tables + old_figures:
        print("left as they were, because a part was not measured:", ", ".join(old_tables + old_figures))


if __name__ == "__main__":
    main()
