# SPDX-License-Identifier: Apache-2.0
"""What is found in addition when public rows vote, when cells are refined, and when packs are built with the gallery too."""
from utility_own import markdown, needed, own

EPSILONS, SHARES = [4, 8], [0.01, 0.02, 0.05]
WAYS = (("items vote, cells as clustered", ("--voters", "none", "--refine", 0)),
        ("public rows vote too", ("--refine", 0)),
        ("and cells are refined (default)", ()),
        ("and packs know the gallery", ("--with-gallery",)))
RELEASES = ("--releases", 32)  # the noise of the releases is then a small part of the standard error


def table_finding(program, cases, _):
    data = {text: {case.name: needed(own(program, case, "response", EPSILONS, SHARES, ("--slots", "one", *RELEASES, *words)))["rows"]
                   for case in cases} for text, words in WAYS}

    def values(text, row):
        return [rows[row]["carried_recall"] for rows in data[text].values()]

    settings = [(row["epsilon"], row["share"]) for row in data[WAYS[0][0]][cases[0].name]]
    lines = [[f"{epsilon:g}", f"{100 * share:g} %", *(" · ".join(f"{value:.3f}" for value in values(text, row)) for text, _ in WAYS)]
             for row, (epsilon, share) in enumerate(settings)]
    lines.append(["", "mean", *(f"{sum(sum(values(text, row)) for row in range(len(settings))) / len(settings) / len(cases):.3f}"
                                for text, _ in WAYS)])
    return None, data, [" · ".join(case.name for case in cases) + f": true 8 nearest in the answer, split {cases[0].seed}", "",
                        *markdown(["ε", "f", *(text for text, _ in WAYS)], lines)]
