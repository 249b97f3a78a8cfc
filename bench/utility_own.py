# SPDX-License-Identifier: Apache-2.0
"""What the library itself finds, by `privatemail evaluate`: rows for the figures, and the tables of docs/RESULTS.md that
have no figure."""
import hashlib

from utility_data import cached, stop
from utility_large import SKETCH, large

EPSILONS, SHARES = [0.5, 1, 2, 4, 6, 8], [0.01, 0.02, 0.05, 0.1]


def build_of(program):
    with open(program.path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def own(program, case, mechanism, epsilons=EPSILONS, shares=SHARES, slots=("--slots", "one")):
    """The report of `privatemail evaluate`; with one slot no class is used. None when this build has no such command."""
    options = [word for part, (features, labels) in case.files().items()
               for word in (f"--{part}", features, f"--{part}-labels", labels)]

    def compute():
        if "evaluate" not in program.run("--help"):
            return None
        return program.run("evaluate", *options, "--mechanism", mechanism, *slots, "--epsilon",
                           ",".join(map(str, epsilons)), "--share", ",".join(map(str, shares)), "--json")
    return cached(compute, "own", case.digest, mechanism, epsilons, shares, slots, build_of(program))


def as_method(report, value):
    """Its rows with another value in place of what is found by sketches. Classes are only known of the latter."""
    return [{**row, "instance_recall": row[value], "instance_recall_se": row[value + "_se"],
             "class_recall": None, "class_recall_se": None} for row in report["rows"]]


def carried(report):
    """With what the answer carries: the measure of all other methods, whose devices rank exactly."""
    return as_method(report, "carried_recall")


def needed(report):
    if report is None:
        stop("this figure needs `privatemail evaluate`, which this build lacks: build the release preset again")
    return report


def points(rows, share, value="instance_recall"):
    return [(row["epsilon"], row[value], row[value + "_se"]) for row in rows if row["share"] == share]


def markdown(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


# Tables ------------------------------------------------------------------------------------------------------------

def share_lines(case, report):
    def cell(row):
        return f"{row['carried_recall']:.2f} / {row['instance_recall']:.2f} ({row['curve']:.2f})"

    lines = []
    for share in SHARES:
        rows = [row for row in report["rows"] if row["share"] == share]
        if rows:
            lines.append([f"{100 * share:g} %", *map(cell, rows), f"{rows[0]['popular']:.2f}", f"{rows[0]['baseline']:.2f}",
                          f"{rows[0]['bytes_down']:.0f}"])
    head = ["f"] + [f"ε = {epsilon:g}" for epsilon in EPSILONS] + ["popular", "random", "bytes down"]
    return [f"{case.name}, {report['gallery']} items: in the answer / found by sketches of {report['sketch']} bytes (g_ε(f))",
            "", *markdown(head, lines)]


def summary_lines(reports):
    """All sets in one table: a cell has one number per set."""
    def cell(rows):
        return " · ".join(f"{row:.2f}" for row in rows)

    lines = []
    for share in SHARES:
        of_share = [[row for row in report["rows"] if row["share"] == share] for report in reports.values()]
        if all(of_share):
            lines.append([f"{100 * share:g} %", " · ".join(f"{rows[0]['bytes_down'] / 1000:.1f}" for rows in of_share),
                          cell(rows[0]["popular"] for rows in of_share),
                          *(cell(row["carried_recall"] for row in same) for same in zip(*of_share))])
    return [" · ".join(reports) + ": share of the true 8 nearest in the answer", "",
            *markdown(["f", "kB down", "nothing asked"] + [f"ε = {epsilon:g}" for epsilon in EPSILONS], lines)]


SLOT_KINDS = (("one slot", ("--slots", "one")), ("one slot, two listings", ("--slots", "one", "--cells-per-item", 2)),
              ("10 groups, class known", ("--slots", "group", "--slot-count", 10)),
              ("10 groups, class guessed", ("--slots", "group", "--slot-count", 10, "--class-from", "predicted")),
              ("one slot per class, class known", ("--slots", "class")),
              ("one slot per class, class guessed", ("--slots", "class", "--class-from", "predicted")))


def table_slots(program, cases, _):
    """What slots for classes find at the down-link of one slot."""
    epsilons, shares, data, lines = [1, 2, 4, 8], [0.05, 0.1], {}, []
    for case in cases:
        data[case.name] = reports = {text: needed(own(program, case, "response", epsilons, shares, words))
                                     for text, words in SLOT_KINDS}
        rows = [[text, str(report["slots"]), f"{100 * share:g} %", f"{100 * of_share[0]['carried']:.1f} %",
                 f"{of_share[0]['bytes_down']:.0f}", str(of_share[0]["bytes_up"]),
                 *(f"{row['carried_recall']:.2f} ({row['class_recall']:.2f})" for row in of_share)]
                for share in shares for text, report in reports.items()
                for of_share in [[row for row in report["rows"] if row["share"] == share]]]
        lines += [f"{case.name}: true 8 nearest in the ranked part of the answer (class recall@8)", "",
                  *markdown(["slots", "G", "f", "carried", "bytes down", "bytes up"] + [f"ε = {epsilon:g}" for epsilon in epsilons], rows)]
    return None, data, lines


CODES = "random", "lda", "spectral", "pca"


def table_codes(program, cases, _):
    """What the Gaussian's embedding keeps without noise, and what is left with it."""
    epsilon, shares, data, rows = 8, [0.05, 0.1], {}, []
    for codes in CODES:
        data[codes] = reports = [needed(own(program, case, "gaussian", [epsilon], shares, ("--slots", "one", "--codes", codes)))
                                 for case in cases]
        for index, share in enumerate(shares):
            found = [report["rows"][index] for report in reports]
            rows.append([codes, f"{100 * share:g} %", *(" · ".join(f"{row[key]:.3f}" for row in found)
                                                        for key in ("carried_without_noise", "carried_recall", "popular"))])
    names = " · ".join(case.name for case in cases)
    return None, data, [f"{names}: true 8 nearest in the answer", "",
                        *markdown(["codes", "f", "without noise (NOT PRIVATE)", f"ε = {epsilon}", "nothing asked"], rows)]


def table_defaults(program, cases, _):
    """How many cells, how long a sketch, means of how many rows: f = 2 %."""
    share, epsilons, data, lines = 0.02, [1, 2, 4, 6, 8], {}, []
    for case in cases:
        found = {cells: needed(own(program, case, "response", epsilons, [share], ("--slots", "one", "--cells", cells)))["rows"]
                 for cells in (4, 11, 28, 60, 125, 250, "auto")}
        sketches = {length: needed(own(program, case, "response", [8], [share], ("--slots", "one", "--sketch", length)))["rows"][0]
                    for length in (32, 64, 96, 131)}
        means = {least: needed(own(program, case, "response", [4], [share], ("--slots", "one", "--rows-per-prototype", least,
                                                                             "--releases", 32)))["rows"][0] for least in (1, 2, 8)}
        data[case.name] = {"cells": found, "sketches": sketches, "means": means}
        rows = [[str(cells), *(f"{row['carried_recall']:.3f}" for row in rows)] for cells, rows in found.items()]
        rows[-1] = ["auto: " + ", ".join(str(row["cells"]) for row in found["auto"]), *rows[-1][1:]]
        lines += [f"{case.name}: true 8 nearest in an answer of 2 %, by the number of cells m", "",
                  *markdown(["m"] + [f"ε = {epsilon:g}" for epsilon in epsilons], rows),
                  "Sketches at ε = 8: " + ", ".join(f"{length} bytes {row['instance_recall']:.3f} of {row['carried_recall']:.3f}"
                                                     for length, row in sketches.items()), "",
                  "Prototypes that are means of at least so many rows, at ε = 4: " +
                  ", ".join(f"{least}: {row['carried_recall']:.3f} ± {row['carried_recall_se']:.3f}" for least, row in means.items()), ""]
    return None, data, lines


def table_large(program, cases, _):
    """Galleries of 100,000 and a million items."""
    data, unlike = large(program, cases, build_of(program))
    rows = [[f"{row['count']:,}", f"{100 * row['share']:g} %", f"{row['epsilon']:g}", str(row["cells"]),
             f"{row['carried_recall']:.3f} ± {row['carried_recall_se']:.3f}", f"{row['instance_recall']:.3f}", f"{row['curve']:.3f}",
             f"{row['popular']:.3f}", f"{row['baseline']:.3f}", str(row["bytes_up"]), f"{row['bytes_down']:.0f}",
             f"{row['index']['seconds']:.0f}"] for row in data]
    lines = [f"Queries unlike the items, f = {100 * row['share']:g} %, ε = {row['epsilon']:g}: {row['carried_recall']:.3f} ± "
             f"{row['carried_recall_se']:.3f}; popular {row['popular']:.3f}, random {row['baseline']:.3f}" for row in unlike]
    head = ["items", "f", "ε", "m", "in the answer", f"found, sketches of {SKETCH}", "g_ε(f)", "popular", "random", "bytes up",
            "bytes down", "index, seconds"]
    return None, [data, unlike], lines + [""] + markdown(head, rows)
