# SPDX-License-Identifier: Apache-2.0
"""How many public rows a pack needs: what is found with few and many of them, and with rows of another kind."""
import hashlib
import os

import numpy as np

from utility_data import FOLDER, cached, digest_of
from utility_own import build_of, markdown

COUNTS, EPSILON, SHARE, RELEASES = [100, 250, 1000, 4000], 4, 0.02, 16


def parts_of(case):
    """The split of the case, but with as many public rows as are wanted most; the queries are the same."""
    rows = np.concatenate([case.parts["public"], case.parts["gallery"]])
    most = min(COUNTS[-1], 3 * len(rows) // 5)
    return rows[:most], rows[most:], case.parts["queries"]


def found(program, case, public):
    """Of the true 8 nearest: the row of `privatemail evaluate` with these public features."""
    _, gallery, queries = parts_of(case)
    arrays = {"public": public, "gallery": case.raw[gallery], "queries": case.raw[queries]}

    def compute():
        folder = os.path.join(FOLDER, "public")
        os.makedirs(folder, exist_ok=True)
        paths = {part: os.path.join(folder, part + ".npy") for part in arrays}
        for part, values in arrays.items():
            np.save(paths[part], np.ascontiguousarray(values))
        words = [word for part, path in paths.items() for word in ("--" + part, path)]
        return program.run("evaluate", *words, "--epsilon", EPSILON, "--share", SHARE, "--releases", RELEASES, "--json")["rows"][0]
    return cached(compute, "public", case.digest, hashlib.sha256(public.tobytes()).hexdigest(), EPSILON, SHARE, RELEASES, COUNTS,
                  build_of(program), digest_of("utility_public"))


def kind_of(case):
    """Sets whose folders end alike are features of the same network."""
    return case.folder.partition("_")[2]


def table_public(program, cases, _):
    data, lines = {}, []
    for case in cases:
        public, gallery, _ = parts_of(case)
        others = [other for other in cases if other is not case and kind_of(other) and kind_of(other) == kind_of(case)]
        reports = {f"{count}": found(program, case, case.raw[public[:count]]) for count in COUNTS if count <= len(public)}
        if others:
            reports[f"{len(parts_of(others[0])[0])} of {others[0].name}"] = found(program, case, others[0].raw[parts_of(others[0])[0]])
        data[case.name] = reports
        lines += [[case.name, str(len(gallery)), name, f"{row['instance_recall']:.3f} ± {row['instance_recall_se']:.3f}",
                   f"{row['carried_recall']:.3f}", f"{row['popular']:.3f}"] for name, row in reports.items()]
    head = ["set", "items", "public rows", "found", "in the answer", "nothing asked"]
    return None, data, [f"ε = {EPSILON}, f = {100 * SHARE:g} %: share of the true 8 nearest", "", *markdown(head, lines)]
