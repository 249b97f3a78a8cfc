# SPDX-License-Identifier: Apache-2.0
"""How well `privatemail groups` finds classes that it is not told, for bench/utility.py: k-means, spectral clustering and
robust spectral clustering on digits and leaves, with random edges added to the graph or noise to the features.

The defaults of the command were chosen with seed 0; what is printed is the mean of seeds 1 and 2, which draw other random
edges, other noise and other starts of k-means. The rows are the same."""
import os

import numpy as np

from utility_data import FOLDER, cached, digest_of
from utility_own import build_of, markdown

SETS = {"digits64": 10, "usps256": 10, "leaves100": 100}
BLIND = {"cifar100_effnetlite4_rp256": 100}    # played no part in choosing the defaults; minutes, so these only
SEEDS = (1, 2)
NOISES = (0.0, 0.1, 0.3)          # random edges, as a share of all
SHARES = (0.02, 0.05, 0.10, 0.20, 0.40)
CHOICES = {"defaults": [], "symmetric": ["--laplacian", "symmetric"], "plain": ["--laplacian", "plain"],
           "1 round": ["--rounds", "1"], "5 rounds": ["--rounds", "5"], "20 rounds": ["--rounds", "20"],
           "5 neighbours": ["--neighbours", "5"], "15 neighbours": ["--neighbours", "15"], "20 neighbours": ["--neighbours", "20"]}


def files_of(data, name, seed, spread):
    """Paths of features and labels; with a spread, of features to which normal numbers were added: as many standard
    deviations of all features."""
    folder = os.path.join(data, name)
    features, labels = (os.path.join(folder, part + ".npy") for part in ("features", "labels"))
    os.makedirs(os.path.join(FOLDER, "groups"), exist_ok=True)
    if spread == 0:
        return features, labels
    rows = np.load(features)
    out = os.path.join(FOLDER, "groups", f"{name}-{seed}-{spread}.npy")
    noise = np.random.default_rng(seed).normal(size=rows.shape) * rows.std() * spread
    np.save(out, (rows + noise).astype("<f4"))
    return out, labels


def find(program, data, name, options, spread=0):
    """The reports of `privatemail groups`, one per seed."""
    def compute(seed):
        features, labels = files_of(data, name, seed, spread)
        out = os.path.join(FOLDER, "groups", "groups.npy")
        return program.run("groups", "--features", features, "--labels", labels, "--count", (SETS | BLIND)[name], "--seed", seed, *options,
                           "--threads", 1, "--out", out, "--force", "--json")
    return [cached(lambda chosen=seed: compute(chosen), "groups", name, seed, spread, options, build_of(program),
                   digest_of("utility_groups")) for seed in SEEDS]


def mean(reports, key):
    return float(np.mean([report[key] for report in reports]))


def show(reports, key="nmi"):
    """A star when a round was dropped, in any of the runs, because it would have made most rows one group."""
    return f"{mean(reports, key):.3f}" + ("*" if any(report["collapsed"] for report in reports) else "")


def robust(share, noise):
    return ["--method", "rsc", "--remove", share, "--noise", noise]


def table_noise(program, data, names):
    rows, found = [], {}
    for name in names:
        kinds = [(f"{100 * noise:g} % of random edges" if noise else "none", noise, 0) for noise in NOISES]
        for title, noise, spread in [*kinds, ("1 standard deviation in features", 0.0, 1)]:
            reports = {"kmeans": find(program, data, name, ["--method", "kmeans"], spread),
                       "spectral": find(program, data, name, ["--method", "spectral", "--noise", noise], spread)}
            reports |= {f"rsc {share}": find(program, data, name, robust(share, noise), spread) for share in SHARES}
            found[f"{name}, {title}"] = reports
            first = reports["rsc 0.05"]
            rows.append([name, title, *(show(each) for each in reports.values()), show(first, "cross_first").rstrip("*"),
                         show(first, "cross_all").rstrip("*")])
    head = ["set", "noise", "k-means", "spectral", *(f"rsc, {100 * share:g} %" for share in SHARES), "first suspects", "all edges"]
    return found, markdown(head, rows)


def table_choices(program, data, names):
    found = {choice: {name: find(program, data, name, options) for name in names} for choice, options in CHOICES.items()}
    rows = [[choice, *(text for each in reports.values() for text in (show(each), show(each, "cross_first").rstrip("*")))]
            for choice, reports in found.items()]
    return found, markdown(["choice", *(text for name in names for text in (name, "first suspects"))], rows)


def table_blind(program, data):
    found, rows = {}, []
    for name in BLIND:
        if not os.path.isdir(os.path.join(data, name)):
            continue
        found[name] = {method: find(program, data, name, ["--method", method]) for method in ("kmeans", "spectral", "rsc")}
        robust_runs = found[name]["rsc"]
        rows.append([name, *(show(each) for each in found[name].values()), f"{mean(robust_runs, 'cross_first'):.3f}",
                     f"{mean(robust_runs, 'cross_all'):.3f}"])
    return found, markdown(["set", "k-means", "spectral", "rsc, 5 %", "first suspects", "all edges"], rows)


def table_groups(program, _, __, data):
    names = [name for name in SETS if data and os.path.isdir(os.path.join(data, name))]
    if not names:
        return None, {}, ["Groups: give --data with " + ", ".join(SETS) + "."]
    noise, noise_lines = table_noise(program, data, names)
    choices, choice_lines = table_choices(program, data, names)
    blind, blind_lines = table_blind(program, data)
    lines = ["Normalised mutual information of groups and classes; * a round was not kept", "", *noise_lines, "",
             "The same without noise, for other options of rsc; first suspects: share that join different classes", "", *choice_lines, "",
             "Defaults, on a set that played no part in choosing them", "", *blind_lines]
    return None, {"noise": noise, "choices": choices, "blind": blind}, lines
