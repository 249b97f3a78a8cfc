# SPDX-License-Identifier: Apache-2.0
"""The maps of "Dimensionality Reduction", Fig. 3 to 11, and those of its other methods, on one sheet: digits64 and 2500
rows of usps256, laid out and measured by `privatemail map`."""
import os
import sys
import tempfile

import numpy as np

from plot_sheet import Scatter, Sheet
from utility_data import cached, digest_of, stop
from utility_own import build_of, markdown

SETS = {"digits64": None, "usps256": 2500}
NEIGHBOURS = "--neighbours", 12
# (title, method, options). The seed has no map of pca, diffusion, sne, ssne and landmark.
MAPS = [("PCA", "pca", ()), ("Sammon (Fig. 6)", "sammon", ()), ("Isomap, 12 (Fig. 3)", "isomap", NEIGHBOURS),
        ("LLE, 12 (Fig. 4)", "lle", NEIGHBOURS), ("Laplacian, 12 (Fig. 5)", "laplacian", NEIGHBOURS),
        ("diffusion, 12", "diffusion", NEIGHBOURS), ("SNE", "sne", ()), ("symmetric SNE", "ssne", ()),
        *((f"t-SNE, {perplexity} (Fig. {figure})", "tsne", ("--perplexity", perplexity))
          for figure, perplexity in ((7, 5), (8, 10), (9, 30), (10, 50), (11, 100))),
        ("landmark t-SNE", "landmark", ())]
SHOWN, COLUMNS = 600, 7


def rows_of(data, name, most):
    folder = os.path.join(data or "", name)
    if not os.path.exists(os.path.join(folder, "features.npy")):
        stop(f"this figure needs {name}: give --data the folder of the data sets")
    features, labels = (np.load(os.path.join(folder, part + ".npy")) for part in ("features", "labels"))
    order = np.random.default_rng(0).permutation(len(labels))[:most]
    return features[order].astype("<f4"), labels[order].astype("<i4")


def laid_out(program, features, labels, method, options):
    """The report of one map, with the places of the rows that are shown."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("features.npy", "labels.npy", "map.npy")]
        np.save(paths[0], features)
        np.save(paths[1], labels)
        report = program.run("map", "--method", method, "--features", paths[0], "--labels", paths[1], "--out", paths[2], *options,
                             "--measure", "--threads", 1, "--json")["maps"][0]
        return {**report, "out": None, "places": np.round(np.load(paths[2])[:SHOWN].astype(float), 5).tolist()}


def figure_map_sheet(program, _, __, data=None):
    if " map " not in program.run("--help"):
        stop("this figure needs `privatemail map`, which this build lacks: build the release preset again")
    sheet = Sheet("Maps of two galleries by eleven methods",
                  "One colour per digit. Each frame shows 600 of the rows that were laid out; 1-NN error and trustworthiness are of all.\n"
                  "Numbers after a method: its neighbours or its perplexity.", COLUMNS)
    kept, lines = {}, []
    for name, most in SETS.items():
        features, labels = rows_of(data, name, most)
        rows = []
        for title, method, options in MAPS:
            print(f"{name}: {title}", file=sys.stderr, flush=True)
            found = cached(lambda: laid_out(program, features, labels, method, options), "map-sheet", name, most, method, options,
                           build_of(program), digest_of("utility_map_sheet"))
            panel = Scatter(title, f"{name}: error {found['nn_error']:.3f}, trust {found['trustworthiness']:.3f}")
            panel.add_classes(found["places"], labels[:SHOWN])
            sheet.panels.append(panel)
            rows.append([title, *(f"{found[key]:.3f}" for key in ("nn_error", "trustworthiness", "continuity", "stress"))])
            kept[f"{name}: {title}"] = {key: value for key, value in found.items() if key != "places"}
        lines += [f"{name}, {len(labels)} rows of {features.shape[1]}", ""]
        lines += markdown(["map", "1-NN error", "trustworthiness", "continuity", "stress"], rows)
    return sheet, kept, lines
