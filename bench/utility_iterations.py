# SPDX-License-Identifier: Apache-2.0
"""The paper's iteration looked at: its Fig. 2, the embedding after one, two and three iterations, and its theorem 1,
whether the objective falls at every one of them.

Rows of the paper are NOT PRIVATE. Rows of ours that leave a device are made by the command."""
import itertools
import os
import sys
import tempfile

import numpy as np

from paper_formulas import ALPHA, SIGMA, code_iterations, code_kernel, code_labels, code_step, paper_labels
from plot import Figure, Panel
from plot_sheet import GREY, Scatter, Sheet
from utility_data import ROOT, cached, digest_of
from utility_embedding import build_pack
from utility_looks import NOT_PRIVATE_LOOKS, OWN
from utility_own import markdown

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
import reference_server as server  # noqa: E402

SOURCES = "utility_iterations", "utility_embedding", "utility_data", "paper_formulas"
ITERATIONS, EPSILON, CLASSES, STEPS, ROWS = 3, 8, 10, 12, 1000
GRAPHS = {"printed": "label graph as printed", "code": "label graph of the code", "own": "our server's sparse graph"}


def shown_classes(case):
    """Ten classes, evenly spread, so that colours can be told apart."""
    return np.arange(0, case.classes, max(1, case.classes // CLASSES))[:CLASSES]


def start_of(rows, dimensions=2):
    return np.random.default_rng(7).normal(size=(rows, dimensions))


def label_graph(graph, labels, sigma):
    return paper_labels(labels, sigma) if graph == "printed" else code_labels(labels)


# Fig. 2 ----------------------------------------------------------------------------------------------------------

def error_of(points, labels):
    """The share of points whose nearest other point is of another class."""
    points, labels = np.asarray(points, float), np.asarray(labels)
    squares = ((points[:, None, :] - points[None, :, :]) ** 2).sum(2)
    np.fill_diagonal(squares, np.inf)
    return float((labels[squares.argmin(1)] != labels).mean())


def paper_places(case, graph):
    """Of the public rows, of all classes: the gallery's would need a dense graph of every item."""
    steps = code_iterations(code_kernel(case.public, case.sigma), label_graph(graph, case.public_labels, case.sigma),
                            start_of(len(case.public)), case.alpha)
    return list(itertools.islice(steps, ITERATIONS))


def own_places(program, case, folder, epsilon):
    """Of ours, after each iteration: the gallery's places, and those of one release of each query, by the command."""
    path, data, _ = build_pack(program, case, folder, "--slots", "class", "--codes", "class", "--dims", 2, "--alpha",
                               case.alpha)
    files, pack = case.files(), server.ServerPack(data)
    stores = []
    for iteration in range(ITERATIONS):
        stores.append("sqlite:" + os.path.join(folder, f"{iteration}.store"))
        program.run("index", "--pack", path, "--features", files["gallery"][0], "--labels", files["gallery"][1],
                    "--cells-per-item", 1, "--iterations", iteration, "--store", stores[-1])
    items = [server.Gallery(data, case.raw[case.parts["gallery"]], case.labels, iterations=iteration).places
             for iteration in range(ITERATIONS)]
    released, release = [[] for _ in stores], os.path.join(folder, "release.cbor")
    for row, label in enumerate(case.query_labels):
        if label not in shown_classes(case):
            continue
        program.run("privatize", "--pack", path, "--features", files["queries"][0], "--labels", files["queries"][1],
                    "--row", row, "--mechanism", "gaussian", "--epsilon", epsilon, "--value-bytes", 2, "--out", release,
                    "--force")
        for places, store in zip(released, stores):
            found = program.run("find", "--release", release, "--pack", path, "--store", store, "--top", 0, "--json")
            places.append(found["slots"][pack.slot_of(label)]["place"])
    return items, released


def embeddings(program, case, epsilon=EPSILON):
    def compute():
        with tempfile.TemporaryDirectory() as folder:
            items, released = own_places(program, case, folder, epsilon)
        shown = {"public": np.isin(case.public_labels, shown_classes(case)), "items": np.isin(case.labels, shown_classes(case))}
        return {**{graph: [rows[shown["public"]].tolist() for rows in paper_places(case, graph)] for graph in ("printed", "code")},
                "items": [rows[shown["items"]].tolist() for rows in items], "released": released}
    return cached(compute, "iterations", case.digest, epsilon, digest_of(*SOURCES))


def figure_2(program, cases, _):
    case = next((case for case in cases if case.folder.startswith("cub")), cases[0])
    found, chosen = embeddings(program, case), shown_classes(case).tolist()

    def places_of(labels):
        return [chosen.index(label) for label in labels.tolist() if label in chosen]
    rows = (("printed", "paper, label graph as printed", places_of(case.public_labels)),
            ("code", "paper, label graph of its code", places_of(case.public_labels)),
            ("items", "ours, the gallery's items", places_of(case.labels)),
            ("released", f"ours, queries released at ε = {EPSILON}", places_of(case.query_labels)))
    sheet = Sheet(f"Fig. 2: the embedding over three iterations ({case.name})",
                  f"{len(chosen)} of {case.classes} classes, one colour each; all were embedded. The paper's rows are NOT PRIVATE.\n"
                  "Grey: the items among which the server places what was released. Each frame has its own scale.", ITERATIONS)
    lines = []
    for key, text, labels in rows:
        errors = [error_of(points, labels) for points in found[key]]
        for iteration, points in enumerate(found[key]):
            panel = Scatter(text if iteration == 0 else "", f"iteration {iteration + 1}; 1-NN error {errors[iteration]:.2f}")
            if key == "released":
                panel.add(found["items"][iteration], GREY, 2.5)
            panel.add_classes(points, labels, 5 if key == "released" else 3.5)
            sheet.panels.append(panel)
        lines.append([text, *(f"{error:.2f}" for error in errors)])
    lines.append(["chance", *[f"{1 - 1 / len(chosen):.2f}"] * ITERATIONS])
    data = {key: [error_of(points, labels) for points in found[key]] for key, _, labels in rows}
    return sheet, data, markdown(["1-NN error of the class"] + [f"iteration {t + 1}" for t in range(ITERATIONS)], lines)


# Theorem 1 -------------------------------------------------------------------------------------------------------

def objective(weights, labels, rows, alpha):
    """v of the paper: tr(XᵀL_X X) − α tr(XᵀL_Y X). `labels`: L_Y as a function of rows."""
    own = weights.sum(1)[:, None] * rows - weights @ rows
    return float((rows * own).sum() - alpha * (rows * labels(rows)).sum())


def descent(weights, labels, rows, alpha, steps=STEPS, step=code_step):
    """The objective at the start and after every iteration, and the length of the embedding."""
    values, lengths = [objective(weights, labels, rows, alpha)], [float(np.linalg.norm(rows))]
    for _ in range(steps):
        rows = step(weights, labels, rows, alpha)
        values.append(objective(weights, labels, rows, alpha))
        lengths.append(float(np.linalg.norm(rows)))
    return values, lengths


def rises(values, tolerance=1e-12):
    """How many steps end higher than they began, by more than rounding."""
    return sum(after > before + tolerance * max(abs(before), abs(after)) for before, after in zip(values, values[1:]))


def own_graph(program, case, folder):
    """The anchors' graph of SPEC 6.2 made symmetric, for there is no objective of an asymmetric one; its update as it is."""
    _, data, _ = build_pack(program, case, folder, "--slots", "class", "--codes", "random", "--dims", 2)
    pack = server.ServerPack(data)
    graph = server.feature_graph(pack, pack.anchors, pack.anchor_slots, np.arange(pack.n))
    weights = np.zeros((pack.n, pack.n))
    np.put_along_axis(weights, graph.neighbours, graph.weights, 1)
    return (weights + weights.T) / 2, pack.anchor_codes.astype(float), lambda _w, _l, rows, _a: graph.step(rows, rows)


def descents(program, case, rows=ROWS):
    def compute():
        features, labels = case.public[:rows], case.public_labels[:rows]
        weights, result = code_kernel(features, case.sigma), {}
        for graph in ("printed", "code"):
            result[graph] = descent(weights, label_graph(graph, labels, case.sigma), start_of(len(features)), case.alpha)
        with tempfile.TemporaryDirectory() as folder:
            sparse, start, step = own_graph(program, case, folder)
        result["own"] = descent(sparse, lambda points: 0 * points, start, 0, step=step)
        return {name: {"objective": values, "length": lengths, "rises": rises(values)}
                for name, (values, lengths) in result.items()}
    return cached(compute, "descent", case.digest, rows, STEPS, digest_of(*SOURCES))


def figure_descent(program, cases, _):
    looks = dict(zip(GRAPHS, (*NOT_PRIVATE_LOOKS[:2], f"linespoints pt 7 ps 0.6 lw 2.5 lc rgb '{OWN}'")))
    figure = Figure("Theorem 1: does the objective fall at every iteration?",
                    f"v(X_t) divided by v(X_0), {ROWS} public rows. It falls with every graph but that of the code, which is not "
                    "positive semidefinite.",
                    [(looks[name], text) for name, text in GRAPHS.items()], len(cases))
    data, rows = {}, []
    for case in cases:
        data[case.name] = found = descents(program, case)
        panel = Panel(case.name, "iteration", "v(X_t) / v(X_0)", "set logscale y; set format y '10^{%L}'")
        for name, text in GRAPHS.items():
            values = np.array(found[name]["objective"]) / found[name]["objective"][0]
            panel.add(looks[name], [(t, value) for t, value in enumerate(values) if value > 0])
            growth = found[name]["length"][-1] / found[name]["length"][0]
            rows.append([case.name, text, *(f"{values[t]:.3g}" for t in (0, 1, 2, 3, 5, STEPS)), str(found[name]["rises"]),
                         f"{growth:.3g}"])
        figure.panels.append(panel)
    head = ["set", "graph"] + [f"t = {t}" for t in (0, 1, 2, 3, 5, STEPS)] + [f"rises in {STEPS}", "length, times"]
    return figure, data, markdown(head, rows)


# Checks of bench/utility.py --check ------------------------------------------------------------------------------

def check_descent(checks, case):
    weights, start = code_kernel(case.public, SIGMA), start_of(len(case.public))
    labels = case.public_labels
    for alpha in (0, ALPHA, 3):
        for sigma in (0.3, SIGMA):
            values, _ = descent(code_kernel(case.public, sigma), paper_labels(labels, sigma), start, alpha)
            checks.expect(rises(values) == 0 and values[-1] < values[0],
                          f"theorem 1: the objective falls at every iteration (α = {alpha:g}, σ = {sigma:g})")

    def long_step(weights, graph, rows, alpha):
        return rows + 5 * (code_step(weights, graph, rows, alpha) - rows)
    checks.expect(rises(descent(weights, paper_labels(labels), start, 0, step=long_step)[0]) > 0,
                  "theorem 1: five times the step, and the objective is seen to rise")
    sparse = np.triu(np.random.default_rng(3).random((8, 8)) < 0.4, 1).astype(float)
    sparse += sparse.T
    rows = start_of(8)
    pairs = sum(sparse[i, j] * ((rows[i] - rows[j]) ** 2).sum() for i in range(8) for j in range(i))
    checks.near(objective(sparse, lambda points: 0 * points, rows, 0), pairs, 1e-9, "the objective is the sum over the edges")
    checks.near(error_of([[0, 0], [0, 1], [9, 0], [9, 1.5]], [0, 0, 1, 0]), 0.5, 1e-12, "1-NN error of four points")
