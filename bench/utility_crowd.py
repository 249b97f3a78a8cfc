# SPDX-License-Identifier: Apache-2.0
"""What is found in a crowd, and what comes down, by `privatemail evaluate --crowd`; response alone beside it."""
import os
import tempfile

from plot import Figure, Panel
from utility_data import cached, digest_of
from utility_large import SKETCH, folder_of
from utility_own import build_of, markdown

EPSILON = 0.1
# What is assumed, the options of the plan, and the share of the gallery that comes down with the answers to fakes.
ALL = ["--delta", "1e-6", "--honest", "1", "--copies-max", "20", "--floor", "10"]
SETTINGS = [("10^6 clients, all honest", ["--crowd", "1000000", *ALL], 0.02),
            ("10^5 clients, all honest", ["--crowd", "100000", *ALL], 0.03),
            ("10^6 clients, half of them honest (default plan)", ["--crowd", "1000000"], 0.02),
            ("10^5 clients, half of them honest (default plan)", ["--crowd", "100000"], 0.03),
            ("the relay makes the fakes, any number of clients",
             ["--noise", "relay", "--delta", "1e-6", "--copies-max", "20", "--floor", "10"], 0.02)]


def list_share(program, public, options, total, epsilon):
    """The share of own messages, when `total` comes down: as `pack --crowd` divides it. A relay's fakes cost phones nothing.
    None when no plan keeps the promise, or when it leaves too few items for a list."""
    if "--noise" in options:
        return total
    with tempfile.TemporaryDirectory() as folder:
        packed = program.run("pack", "--features", public, *options, "--epsilon", epsilon, "--share", total, "--out",
                             os.path.join(folder, "pack"), "--json", may_fail=epsilon != EPSILON)
        return packed and packed["share"]


def crowd_row(program, case, options, total, epsilon=EPSILON):
    files = case.files()
    words = [word for part, (features, labels) in files.items()
             for word in (f"--{part}", features, f"--{part}-labels", labels)]

    def compute():
        share = list_share(program, files["public"][0], options, total, epsilon)
        measured = share and program.run("evaluate", *words, *options, "--epsilon", epsilon, "--share", share, "--json",
                                         may_fail=epsilon != EPSILON)
        return measured and measured["rows"][0]
    return cached(compute, "crowd", case.digest, options, total, epsilon, build_of(program))


def table_crowd(program, cases, _):
    data, table = {}, []
    for name, options, total in SETTINGS:
        rows = data[name] = [crowd_row(program, case, options, total) for case in cases]

        def each(value, digits=2):
            return " · ".join(f"{value(row):.{digits}f}" for row in rows)
        relay = [round(row["fakes"], -3) for row in rows]
        fakes = each(lambda row: row["fakes"]) if rows[0]["clients"] else \
            f"0; {min(relay):,.0f} to {max(relay):,.0f} per epoch by the relay"
        table.append([name, f"{rows[0]['floor']:g}", " · ".join(str(row["cells"]) for row in rows), fakes,
                      each(lambda row: 100 * row["carried"]) + " %", each(lambda row: row["carried_recall"]),
                      each(lambda row: row["instance_recall"]), each(lambda row: row["local"]["carried_recall"])])
    head = ["if the relay mixes and", "floor ε₀", "cells", "fakes per client", "comes down", "in the answer", "found by sketches",
            "response alone, same ε and down-link"]
    return None, data, markdown(head, table)


# Large galleries ---------------------------------------------------------------------------------------------------

LARGE = [(count, options, total) for count in (100_000,) for total in (0.001, 0.01)
         for _, options, _ in (SETTINGS[0], SETTINGS[1], SETTINGS[4])]


def large_row(program, cases, count, options, total):
    def compute():
        folder, gallery = folder_of(cases, count)
        public = os.path.join(folder, "public.npy")
        share = list_share(program, public, options, total, EPSILON)
        return program.run("evaluate", "--public", public, "--queries", os.path.join(folder, "queries.npy"), "--gallery",
                           gallery, "--sketch", SKETCH, *options, "--epsilon", EPSILON, "--share", share, "--json")["rows"][0]
    return cached(compute, "large crowd", [case.digest for case in cases], count, options, total, build_of(program),
                  digest_of("utility_large"))


def table_large_crowd(program, cases, _):
    """The pooled galleries of utility_large.py in a crowd."""
    names = {str(options): name for name, options, _ in SETTINGS}
    data = [{"items": count, "crowd": names[str(options)], "total": total, **large_row(program, cases, count, options, total)}
            for count, options, total in LARGE]
    table = [[f"{row['items']:,}", row["crowd"], f"{100 * row['total']:g} %", str(row["cells"]),
              f"{row['fakes']:.2f}" if row["clients"] else "0", f"{100 * row['carried']:.3f} %",
              f"{row['carried_recall']:.3f} ± {row['carried_recall_se']:.3f}", f"{row['instance_recall']:.3f}",
              f"{row['local']['carried_recall']:.3f}"] for row in data]
    head = ["items", "if the relay mixes and", "planned", "m", "fakes per client", "comes down", "in the answer",
            f"found, sketches of {SKETCH}", "response alone, same ε and down-link"]
    return None, data, markdown(head, table)


# The paper's figure 6 again, where one message alone says nothing ---------------------------------------------------

SMALL = [0.01, 0.03, 0.1, 1, 10]
CROWDS = {100_000: "10^5", 1_000_000: "10^6"}
TOTAL = 0.02  # comes down, the answers to fakes included
ALONE, LOOKS = "linespoints pt 5 ps 0.6 lw 2 lc rgb '#8a8f98'", {
    100_000: "linespoints pt 7 ps 0.7 lw 2.5 lc rgb '#3b7dd8'", 1_000_000: "linespoints pt 7 ps 0.7 lw 2.5 lc rgb '#c2452d'"}


def figure_crowd(program, cases, _):
    figure = Figure(f"Fig. 6 in a crowd: finding against privacy, when {100 * TOTAL:g} % of the gallery comes down",
                    "Above: share of the true 8 nearest found. Below: class recall@8, which flatters. δ = 10⁻⁶, floor ε₀ = 10. "
                    "The crowd's ε holds if an independent relay mixes and n clients are honest.",
                    [(LOOKS[clients], f"in a crowd of n = {text}") for clients, text in CROWDS.items()]
                    + [(ALONE, "response alone, same ε and down-link (nobody is trusted)")], len(cases))
    data = {case.name: {clients: [(epsilon, crowd_row(program, case, ["--crowd", str(clients), *ALL], TOTAL, epsilon))
                                  for epsilon in SMALL] for clients in CROWDS} for case in cases}
    lines = []
    for value, label in (("instance_recall", "true 8 nearest found"), ("class_recall", "class recall@8")):
        for case in cases:
            panel = Panel(case.name, "ε", label, "set logscale x; set xrange [0.008:12]; set yrange [0:1.02]")
            for clients in CROWDS:
                panel.add(LOOKS[clients], [(epsilon, row[value]) for epsilon, row in data[case.name][clients] if row])
            panel.add(ALONE, [(epsilon, row["local"][value]) for epsilon, row in data[case.name][1_000_000] if row])
            figure.panels.append(panel)
    for case in cases:
        methods = [(f"in a crowd, n = {text}", [row for _, row in data[case.name][clients]])
                   for clients, text in CROWDS.items()]
        methods.append(("response alone", [row and row["local"] for _, row in data[case.name][1_000_000]]))
        table = [[name, *(f"{row['instance_recall']:.2f} ({row['class_recall']:.2f})" if row else "no plan" for row in rows)]
                 for name, rows in methods]
        lines += [f"{case.name}: true 8 nearest found (class recall@8)", "",
                  *markdown(["method"] + [f"ε = {epsilon:g}" for epsilon in SMALL], table), ""]
    return figure, {name: {str(clients): rows for clients, rows in of.items()} for name, of in data.items()}, lines
