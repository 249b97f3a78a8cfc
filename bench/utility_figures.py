# SPDX-License-Identifier: Apache-2.0
"""One function a figure of docs/RESULTS.md: (Figure or None, data for JSON, lines of markdown with the numbers)."""
import utility_baselines as baselines
import utility_embedding as embedding
import utility_paper as paper
from plot import Figure, Panel, class_colour
from utility_crowd import figure_crowd, table_crowd, table_large_crowd
from utility_data import TOP
from utility_dsne import METHODS as SITES
from utility_dsne import dsne
from utility_groups import table_groups
from utility_inference import REPEATS, inference
from utility_iterations import figure_2, figure_descent
from utility_looks import CURVE, LOOKS, NOT_PRIVATE_LOOKS, OWN, SHADES, TRIVIAL
from utility_heads import table_heads, table_looks
from utility_labels import table_labels
from utility_map_sheet import figure_map_sheet
from utility_maps import table_maps
from utility_finding import table_finding
from utility_modalities import table_modalities, table_voters
from utility_own import (EPSILONS, SHARES, as_method, carried, markdown, needed, own, points, share_lines, summary_lines,
                         table_codes, table_defaults, table_large, table_slots)
from utility_projections import figure_projections
from utility_sketches import figure_sketches
from utility_public import table_public
from utility_uncertainty import table_uncertainty

PAPER_EPSILONS = [0.1] + EPSILONS
UNIT_RANGE = "set yrange [0:1.02]"


# For app developers ----------------------------------------------------------------------------------------------

def figure_epsilon(program, cases, _):
    figure = Figure("What ε finds, for several shares of the gallery carried",
                    "Share of the true 8 nearest in the answer, one slot, no class sent; "
                    "circles: found when the device ranks by sketches.", [], len(cases))
    data, lines = {}, []
    for share, shade in zip(SHARES, SHADES):
        figure.legend.append((f"linespoints pt 7 ps 0.6 lw 2.5 lc rgb '{shade}'", f"f = {100 * share:g} %, in the answer"))
    figure.legend += [(f"points pt 6 ps 0.6 lc rgb '{CURVE}'", "found by sketches"),
                      (LOOKS["curve"], "g_ε(f), the most for a uniform target"),
                      (LOOKS["trivial"], "fixed download of as many popular items")]
    for case in cases:
        data[case.name] = report = needed(own(program, case, "response"))
        panel = Panel(case.name, "ε", "true 8 nearest in the answer", UNIT_RANGE)
        for share, shade in zip(SHARES, SHADES):
            rows = [row for row in report["rows"] if row["share"] == share]
            panel.add(f"lines lw 1 dt 3 lc rgb '{shade}'", [(row["epsilon"], row["curve"]) for row in rows])
            panel.add(f"lines lw 1 lc rgb '{TRIVIAL}'", [(row["epsilon"], row["popular"]) for row in rows])
            panel.add_with_errors(f"linespoints pt 7 ps 0.6 lw 2.5 lc rgb '{shade}'", points(carried(report), share))
            panel.add(f"points pt 6 ps 0.6 lc rgb '{shade}'", points(report["rows"], share))
        figure.panels.append(panel)
        lines += share_lines(case, report)
    return figure, data, summary_lines(data) + lines


def figure_bytes(program, cases, _):
    figure = Figure("What finding costs in bytes",
                    "Bytes of one answer against the share of the true 8 nearest in it; one slot, without payloads.", [], len(cases))
    data, shown = {}, [1, 2, 4, 8]
    looks = [f"linespoints pt 7 ps 0.6 lw 2.5 lc rgb '{shade}'" for shade in SHADES]
    figure.legend = [(look, f"ε = {epsilon}") for look, epsilon in zip(looks, shown)] + [(LOOKS["trivial"], "fixed download of popular items, nothing asked")]
    for case in cases:
        data[case.name] = report = needed(own(program, case, "response"))
        panel = Panel(case.name, "bytes down (thousands)", "true 8 nearest in the answer", UNIT_RANGE + "; set xrange [0:*]")
        for epsilon, look in zip(shown, looks):
            rows = sorted((row["bytes_down"] / 1000, row["carried_recall"], row["popular"]) for row in report["rows"]
                          if row["epsilon"] == epsilon)
            panel.add(look, [row[:2] for row in rows])
            panel.add(LOOKS["trivial"], [(row[0], row[2]) for row in rows])
        figure.panels.append(panel)
    return figure, data, []


# The paper's figures ---------------------------------------------------------------------------------------------

def figure_3(_, cases, __):
    names = ("label graph as printed", "label graph of the code", "the code's, the query's label withheld")
    figure = Figure("Fig. 3: SMLQ over its iterations (NOT PRIVATE: no noise)",
                    "Class recall@8 of the 8 items nearest in the embedding, k = 2; grey: 8 random items; black: the features.",
                    list(zip(NOT_PRIVATE_LOOKS, (name + " (NOT PRIVATE)" for name in names)))
                    + [(LOOKS["features"], "features, cosine (NOT PRIVATE)"), (LOOKS["trivial"], "8 random items")], len(cases))
    data, rows = {}, []
    for case in cases:
        data[case.name] = curves = paper.convergence(case)
        count = len(curves[0]["recall"])
        panel = Panel(case.name, "iteration", "class recall@8", UNIT_RANGE)
        limits = [(baselines.baseline("features", case, EPSILONS, SHARES)[0]["class_recall"], "features"),
                  (1 - (1 - 1 / case.classes) ** TOP, "trivial")]
        for level, look in limits:
            panel.add(LOOKS[look], [(1, level), (count, level)])
        for look, curve in zip(NOT_PRIVATE_LOOKS, curves):
            panel.add_with_errors(look, list(zip(range(1, count + 1), curve["recall"], curve["recall_se"])))
        figure.panels.append(panel)
        rows += [[case.name, name] + [f"{curve['recall'][t - 1]:.2f}" for t in (1, 3, 5, 7, 10)]
                 for name, curve in zip(names, curves)]
    return figure, data, markdown(["set", "NOT PRIVATE"] + [f"t = {t}" for t in (1, 3, 5, 7, 10)], rows)


def figure_5(program, cases, share):
    """Of one set: CIFAR-100, or the only one."""
    case = next((case for case in cases if case.folder.startswith("cifar")), cases[0])
    start = {"k": 2, "α": case.alpha, "σ": case.sigma}
    sweeps = {"k": (1, 2, 8), "α": (0, 0.6, 1), "σ": (1, 2, 6)}
    own_start, own_sweeps = {"k": 16, "α": 0, "σ": case.sigma}, {**sweeps, "k": (2, 8, 16)}
    top = (("smlq", "SMLQ without noise (NOT PRIVATE)"), ("published", "the paper's code, ε = 0.1 (NOT PRIVATE)"),
           ("withheld", "the same, the query's label withheld (NOT PRIVATE)"))
    bottom = (((0, None), "our row without noise (NOT PRIVATE)", LOOKS["features"]),
              ((5, None), "the same after 5 iterations (NOT PRIVATE)", LOOKS["tsne"]),
              ((0, 8), "our Gaussian, ε = 8", f"linespoints pt 7 ps 0.6 lw 2.5 lc rgb '{OWN}'"),
              ((0, 4), "our Gaussian, ε = 4", LOOKS["own_gaussian"]))
    figure = Figure(f"Fig. 5: what k, α and σ do ({case.name})",
                    "Above: the paper's search, class recall@8. "
                    f"Below: our Gaussian, true 8 nearest found at f = {100 * share:g} %.",
                    [(look, text) for look, (_, text) in zip(NOT_PRIVATE_LOOKS, top)]
                    + [(look, text) for _, text, look in bottom], 3)
    data, rows, lower = {}, [], []
    for name, values in sweeps.items():
        upper = Panel(f"{{/:Italic {name}}}", name, "class recall@8", UNIT_RANGE)
        below = Panel(f"{{/:Italic {name}}}", name, "true 8 nearest found", "set yrange [0:*]")
        settings = [(value, {**start, name: value}) for value in values]
        searched = [(value, paper.parameter_recall(case, 0.1, *choice.values())) for value, choice in settings]
        embedded = [(value, embedding.parameter_recall(program, case, [4, 8], share, *{**own_start, name: value}.values()))
                    for value in own_sweeps[name]]
        data[name] = {"paper": searched, "own": embedded}
        for look, (key, text) in zip(NOT_PRIVATE_LOOKS, top):
            upper.add_with_errors(look, [(value, found[key], found[key + "_se"]) for value, found in searched])
            rows.append([name, text, ", ".join(f"{value:g}: {found[key]:.2f}" for value, found in searched)])
        for (iterations, epsilon), text, look in bottom:
            line = [(value, row["instance_recall"], row["instance_recall_se"])
                    for value, found in embedded for row in found["rows"]
                    if (row["iterations"], row["epsilon"]) == (iterations, epsilon)]
            below.add_with_errors(look, line)
            rows.append([name, text, ", ".join(f"{value:g}: {recall:.3f}" for value, recall, _ in line)])
        figure.panels.append(upper)
        lower.append(below)
    figure.panels += lower
    kinds = "random", "class", "lda", "spectral", "pca"
    for name, values in (("K", [(value,) for value in (1, 10, 32)]), ("codes", [(10, kind) for kind in kinds])):
        data[name] = [(choice[-1], embedding.parameter_recall(program, case, [4, 8], share, *own_start.values(), *choice))
                      for choice in values]
        for setting, text, _ in bottom:
            line = [(value, row["instance_recall"]) for value, found in data[name] for row in found["rows"]
                    if (row["iterations"], row["epsilon"]) == setting]
            rows.append([name, text, ", ".join(f"{value}: {recall:.3f}" for value, recall in line)])
    return figure, data, markdown(["", "", "recall"], rows)


def comparison_rows(program, case, with_tsne):
    """Every method's legend and rows by its name; None where the build has no `evaluate`."""
    methods = {}
    for key, mechanism, text in (("own", "response", "PrivateMail, response"),
                                 ("own_gaussian", "gaussian", "PrivateMail, Gaussian")):
        report = own(program, case, mechanism)
        methods[key] = text, report and carried(report)
        if key == "own":
            methods["own_sketch"] = "the same, the device ranks by sketches", report and report["rows"]
            methods["popular"] = "popular items, no query sent", report and as_method(report, "popular")
    for key, (text, _) in baselines.METHODS.items():
        methods[key] = (text, baselines.baseline(key, case, EPSILONS, SHARES))
    methods.update(site_rows(case))
    for key, (text, _) in paper.METHODS.items():
        if key != "tsne" or with_tsne:
            methods[key] = (text, paper.comparison(key, case, PAPER_EPSILONS, SHARES))
    return methods


def site_rows(case):
    return {key: (text, dsne(case, EPSILONS, SHARES, noise)) for key, (text, noise) in SITES.items()}


def method_lines(case, methods, share):
    def cell(row):
        of_class = "" if row["class_recall"] is None else f" ({row['class_recall']:.2f})"
        return f"{row['instance_recall']:.3f} ± {row['instance_recall_se']:.3f}" + of_class

    lines = []
    for text, rows in methods.values():
        if rows is None:
            lines.append([text] + ["TO-RUN"] * len(EPSILONS))
        for carried_share, note in ((share, ""), (None, f", {TOP} carried")):
            cells = [cell(row) for row in rows or [] if row["share"] == carried_share and row["epsilon"] in EPSILONS]
            if len(set(cells)) == 1:
                cells[1:] = ["same"] * len(cells[1:])
            if cells:
                lines.append([text + note, *cells])
    return [f"{case.name}, {len(case.gallery)} items, {case.count(share)} carried: true 8 nearest found (class recall@8)", "",
            *markdown(["method"] + [f"ε = {epsilon:g}" for epsilon in EPSILONS], lines)]


def figure_6(program, cases, share, with_tsne=True):
    data = {case.name: comparison_rows(program, case, with_tsne) for case in cases}
    methods = data[cases[0].name]
    figure = Figure(f"Fig. 6: finding against privacy, when every answer carries {100 * share:g} % of the gallery",
                    "Above: share of the true 8 nearest found. Below: class recall@8, which flatters. The device ranks what "
                    "is carried. Dashed: NOT PRIVATE.",
                    [(LOOKS[key], text) for key, (text, rows) in methods.items() if rows is not None]
                    + [(LOOKS["curve"], "g_ε(f), the most for a uniform target")], len(cases))
    for value, label in (("instance_recall", "true 8 nearest found"), ("class_recall", "class recall@8")):
        for case in cases:
            panel = Panel(case.name, "ε", label, UNIT_RANGE + "; set xrange [0:8.2]")
            for key, (_, rows) in data[case.name].items():
                panel.add_with_errors(LOOKS[key], points(rows or [], share, value))
            if value == "instance_recall":
                panel.add(LOOKS["curve"], [(step / 10, baselines.curve(step / 10, share)) for step in range(1, 81)])
            figure.panels.append(panel)
    lines = [line for case in cases for line in method_lines(case, data[case.name], share)]
    return figure, {name: {key: rows for key, (_, rows) in methods.items()} for name, methods in data.items()}, lines


def table_dsne(_, cases, share):
    """DP-dSNE beside the other private embeddings: the rows that it has in Fig. 6."""
    data, lines = {}, []
    for case in cases:
        methods = {key: (baselines.METHODS[key][0], baselines.baseline(key, case, EPSILONS, SHARES))
                   for key in ("trivial", "projection", "pca")}
        methods.update(site_rows(case))
        data[case.name] = {key: rows for key, (_, rows) in methods.items()}
        lines += method_lines(case, methods, share)
    return None, data, lines


def figure_7(program, cases, _):
    case = next((case for case in cases if case.folder.startswith("cars")), cases[0])
    epsilons = [1, 4, 16]
    data = embedding.alignment(program, case, epsilons)
    seen = "points pt 7 ps 0.35 lc rgb '#802b3a4a'"
    true = f"points pt 6 ps 1.3 lw 2.5 lc rgb '{OWN}'"
    named = "points pt 2 ps 1.1 lw 2.5 lc rgb '#1b1b1b'"
    figure = Figure(f"Fig. 7: released rows before and after alignment ({case.name}, α = 0.5, one release at each ε)",
                    "Above: the rows as released, among the anchors. Below: where the server places them among its items. "
                    "Windows follow the noise.",
                    [("points pt 7 ps 0.7 lc rgb '#86aef0'", "anchors, items: one colour per class"),
                     (seen, "released rows, one per class"), (named, "the row of the query's class"),
                     (true, "the true place, which only the device knows")], len(epsilons))
    for before in (True, False):
        for shown in data["panels"]:
            rows, cloud = (shown["rows"], data["anchors"]) if before else (shown["places"], data["items"])
            stage = f"noise σ = {shown['sigma'] / 1000:.0f} thousand" if before else "aligned"
            panel = Panel(f"ε = {shown['epsilon']:g}, {stage}",
                          "first coordinate (thousands)", "second coordinate (thousands)", "set xtics auto")
            panel.add(seen, [(x / 1000, y / 1000) for x, y in rows])
            panel.add("points pt 7 ps 0.5 lc rgb variable",
                      [(x / 1000, y / 1000, class_colour(slot, data["slots"])) for x, y, slot in cloud], "1:2:3")
            panel.add(named, [[value / 1000 for value in rows[data["slot"]]]])
            panel.add(true, [[value / 1000 for value in data["true" if before else "true_place"]]])
            figure.panels.append(panel)
    lines = markdown(["ε", "noise σ, embedding units"],
                     [[f"{shown['epsilon']:g}", f"{shown['sigma']:.0f}"] for shown in data["panels"]])
    return figure, data, lines


# What a server learns --------------------------------------------------------------------------------------------

def figure_inference(program, _, __):
    rows = inference(program)
    looks = {"response": (f"points pt 7 ps 0.7 lw 1.5 lc rgb '{OWN}'", f"lines lw 1.5 dt 2 lc rgb '{OWN}'"),
             "gaussian": ("points pt 5 ps 0.6 lw 1.5 lc rgb '#3b7dd8'", "lines lw 1.5 dt 2 lc rgb '#3b7dd8'")}
    figure = Figure("What a server learns",
                    "Best guess of somebody who knows the pack, ε and a list of equally likely queries; 100,000 releases per point.",
                    [(looks["response"][0], "response, guessed right"), (looks["gaussian"][0], "Gaussian, guessed right"),
                     (f"lines lw 1.5 lc rgb '{TRIVIAL}'", "guessing blindly"), (looks["response"][1], "most that pure ε allows"),
                     (looks["gaussian"][1], "most that the Gaussian's μ allows")], 3)
    panels = (("class slots", "class", None), ("class slots", "cell", None), ("one slot", "cell", None),
              ("class slots", "class", 2), ("class slots", "cell", 2), ("one slot", "cell", 2))
    for name, target, repeated in panels:
        what = "epsilon" if repeated is None else "together"
        title = f"{name}: which {target}" + (f", ε = {repeated} each" if repeated else "")
        panel = Panel(title, "ε" if repeated is None else "releases of one query", "guessed right", UNIT_RANGE)
        for mechanism, (marks, line) in looks.items():
            chosen = [row for row in rows if (row["experiment"], row["mechanism"], row["target"]) == (name, mechanism, target)
                      and (row["together"] == 1 if repeated is None else row["epsilon"] == repeated)]
            panel.add(line, [(row[what], row["ceiling"]) for row in chosen])
            panel.add(f"yerrorbars pt -1 lw 1 {marks[marks.index('lc '):]}",
                      [(row[what], row["accuracy"], row["low"], row["high"]) for row in chosen], "1:2:3:4")
            panel.add(marks, [(row[what], row["accuracy"]) for row in chosen])
        blind = 1 / chosen[0]["alternatives"]
        panel.add(f"lines lw 1.5 lc rgb '{TRIVIAL}'", [(chosen[0][what], blind), (chosen[-1][what], blind)])
        figure.panels.append(panel)
    return figure, rows, inference_lines(rows)


def inference_lines(rows):
    lines = []
    for together in REPEATS:
        table = {}
        for row in rows:
            if row["together"] == together and (together == 1 or row["epsilon"] == 2):
                key = row["experiment"], row["target"], row["alternatives"], row["mechanism"]
                table.setdefault(key, []).append(f"{row['accuracy']:.4f} ({row['ceiling']:.4f})")
        columns = sorted({row["epsilon"] for row in rows}) if together == 1 else [2]
        lines += [f"{together} release{'s' * (together > 1)} of one query: guessed right (most that the promise allows)", ""]
        lines += markdown(["pack", "guessed", "of", "mechanism"] + [f"ε = {epsilon:g}" for epsilon in columns],
                          [[*map(str, key), *values] for key, values in table.items()])
    return lines


FIGURES = {"2": ("fig-2-iterations", figure_2), "descent": ("theorem-1-descent", figure_descent),
           "dsne": ("utility-dsne", table_dsne), "projections": ("projections", figure_projections), "map-sheet": ("map-sheet", figure_map_sheet),
           "3": ("fig-3-convergence", figure_3), "5": ("fig-5-parameters", figure_5),
           "6": ("fig-6-privacy-utility", figure_6), "7": ("fig-7-alignment", figure_7),
           "epsilon": ("utility-epsilon", figure_epsilon), "bytes": ("utility-bytes", figure_bytes),
           "inference": ("utility-inference", figure_inference), "slots": ("utility-slots", table_slots),
           "codes": ("utility-codes", table_codes),
           "defaults": ("utility-defaults", table_defaults), "crowd": ("utility-crowd", table_crowd), "6-crowd": ("fig-6-in-a-crowd", figure_crowd),
           "large": ("utility-large", table_large), "large-crowd": ("utility-large-crowd", table_large_crowd),
           "public": ("utility-public", table_public), "modalities": ("utility-modalities", table_modalities),
           "voters": ("utility-voters", table_voters), "finding": ("utility-finding", table_finding),
           "sketches": ("utility-sketches", figure_sketches), "heads": ("utility-heads", table_heads),
           "looks": ("utility-looks", table_looks),
           "uncertainty": ("utility-uncertainty", table_uncertainty), "maps": ("utility-maps", table_maps),
           "groups": ("utility-groups", table_groups), "labels": ("utility-labels", table_labels)}
