# SPDX-License-Identifier: Apache-2.0
"""What is found in a crowd, and what comes down, by `privatemail evaluate --crowd`; response alone beside it."""
import os
import tempfile

from utility_data import cached
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


def list_share(program, public, options, total):
    """The share of own messages, when `total` comes down: as `pack --crowd` divides it. A relay's fakes cost phones nothing."""
    if "--noise" in options:
        return total
    with tempfile.TemporaryDirectory() as folder:
        return program.run("pack", "--features", public, *options, "--epsilon", EPSILON, "--share", total, "--out",
                           os.path.join(folder, "pack"), "--json")["share"]


def crowd_row(program, case, options, total):
    files = case.files()
    words = [word for part, (features, labels) in files.items()
             for word in (f"--{part}", features, f"--{part}-labels", labels)]

    def compute():
        share = list_share(program, files["public"][0], options, total)
        return program.run("evaluate", *words, *options, "--epsilon", EPSILON, "--share", share, "--json")["rows"][0]
    return cached(compute, "crowd", case.digest, options, total, EPSILON, build_of(program))


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
