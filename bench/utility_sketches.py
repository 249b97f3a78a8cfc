# SPDX-License-Identifier: Apache-2.0
"""What sketches cost and find: coded and plain ones of 16 to 256 bytes, at one share and at one down-link."""
from plot import Figure, Panel
from utility_own import markdown, needed, own

CODED, PLAIN, SHARE, EPSILONS = (16, 32, 48, 64, 96, 131, 160, 192, 224), (16, 32, 64, 96, 128, 192, 256), 0.02, [4, 8]
RELEASES = ("--releases", 16)
LOOKS = {(True, 8): "linespoints pt 7 ps 0.6 lw 2.5 lc rgb '#1f5fa8'", (True, 4): "linespoints pt 7 ps 0.6 lw 2.5 dt 2 lc rgb '#1f5fa8'",
         (False, 8): "linespoints pt 7 ps 0.6 lw 1.5 lc rgb '#b0413e'", (False, 4): "linespoints pt 7 ps 0.6 lw 1.5 dt 2 lc rgb '#b0413e'"}


def measured(program, case, coded, length, share=SHARE):
    words = ("--slots", "one", *RELEASES, "--sketch", length, *(() if coded else ("--plain-sketches",)))
    return needed(own(program, case, "response", EPSILONS, [share], words))


def per_candidate(report):
    row = report["rows"][0]
    return row["bytes_down"] / (row["carried"] * report["gallery"])


def found(reports, index):
    return " · ".join(f"{report['rows'][index]['instance_recall']:.3f}" for report in reports)


def kept(reports):
    """Of what is in the answer, what is found, at the larger ε."""
    return " · ".join(f"{report['rows'][-1]['instance_recall'] / report['rows'][-1]['carried_recall']:.3f}" for report in reports)


def line_of(text, share, reports):
    return [text, f"{100 * share:.3g} %", " · ".join(f"{per_candidate(report):.1f}" for report in reports),
            " · ".join(f"{report['rows'][0]['bytes_down']:.0f}" for report in reports),
            *(found(reports, index) for index in range(len(EPSILONS))), kept(reports)]


def figure_sketches(program, cases, _):
    figure = Figure("What a sketch's bytes find", f"Bytes of a candidate against the true 8 nearest found; f = {100 * SHARE:g} %, one slot, no payload.",
                    [(look, f"{'coded' if coded else 'plain (int8)'}, ε = {epsilon}") for (coded, epsilon), look in LOOKS.items()], len(cases))
    data = {case.name: {"coded": {length: measured(program, case, True, length) for length in CODED},
                        "plain": {length: measured(program, case, False, length) for length in PLAIN}} for case in cases}
    for case in cases:
        panel = Panel(case.name, "bytes per candidate", "true 8 nearest found", "set yrange [0:1]; set xrange [0:*]")
        for (coded, epsilon), look in LOOKS.items():
            reports = data[case.name]["coded" if coded else "plain"].values()
            panel.add(look, [(per_candidate(report), next(row["instance_recall"] for row in report["rows"] if row["epsilon"] == epsilon))
                             for report in reports])
        figure.panels.append(panel)

    def all_of(kind, length):
        return [data[case.name][kind][length] for case in cases]

    plain, coded = all_of("plain", PLAIN[-1]), all_of("coded", 131)
    wider = SHARE * per_candidate(plain[0]) / per_candidate(coded[0])
    data["same bytes"] = same = [measured(program, case, True, 131, round(wider, 6)) for case in cases]
    lines = [line_of(f"plain, {length}", SHARE, all_of("plain", length)) for length in (64, 128, 256)]
    lines += [line_of(f"coded, {length}", SHARE, all_of("coded", length)) for length in (32, 64, 96, 131, 224)]
    lines.append(line_of("coded, 131, as many bytes as plain, 256", wider, same))
    names = " · ".join(case.name for case in cases)
    return figure, data, [f"{names}, split {cases[0].seed}", "",
                          *markdown(["sketch, bytes", "f", "bytes per candidate", "bytes down", *(f"found, ε = {epsilon}" for epsilon in EPSILONS),
                                     "found of what the answer brings, ε = 8"], lines)]
