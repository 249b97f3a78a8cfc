# SPDX-License-Identifier: Apache-2.0
"""Random projections against PCA and a cosine transform: distances kept, time, noise and text, as in Fig. 2, 12 and 13
of "Dimensionality Reduction". The maps are fronts, trained by `privatemail train`; rows are mapped in doubles."""
import glob
import os
import re
import resource
import tempfile

import numpy as np

from plot import Figure, Panel
from utility_data import ROOT, cached, digest_of, stop, unit
from utility_fronts import Distances, project
from utility_own import build_of, markdown

ROWS, SEEDS, REPEATS, WORDS = 3000, 3, 5, 1024
METHODS = {"gauss": ("Gaussian", "linespoints pt 9 ps 0.6 lw 1.5 lc rgb '#3b7dd8'"),
           "signs": ("sparse signs", "linespoints pt 7 ps 0.6 lw 2.5 lc rgb '#d7263d'"),
           "pca": ("PCA", "linespoints pt 5 ps 0.5 lw 1.5 lc rgb '#1b998b'"),
           "dct": ("cosine transform of the row", "linespoints pt 11 ps 0.6 lw 1.5 lc rgb '#b388eb'"),
           "dct2": ("cosine transform of the picture (numpy)", "linespoints pt 13 ps 0.7 lw 1.5 lc rgb '#6a3fb5'")}
SIDE = 16                         # of a picture of usps256
TEXT = "text"


# Rows ------------------------------------------------------------------------------------------------------------

def pictures(data):
    path = os.path.join(data or "", "usps256", "features.npy")
    if not os.path.exists(path):
        stop("this figure needs usps256: give --data the folder of the data sets")
    rows = np.load(path).astype(np.float64)
    return rows[np.random.default_rng(0).permutation(len(rows))[:ROWS]]


def impulses(rows, rng, share=0.1):
    """A tenth of the pixels becomes black or white."""
    hit, white = rng.random(rows.shape) < share, rng.random(rows.shape) < 0.5
    return np.where(hit, np.where(white, rows.max(), rows.min()), rows)


def gaussian(rows, rng, share=0.1):
    """Normal noise whose deviation is a tenth of what lies between black and white."""
    return rows + rng.normal(size=rows.shape) * share * (rows.max() - rows.min())


def paragraphs(folder=ROOT):
    """The project's documents as text: how often each of the most common words stands in a paragraph."""
    texts = []
    for path in sorted(glob.glob(os.path.join(folder, "*.md")) + glob.glob(os.path.join(folder, "docs", "*.md"))):
        with open(path, encoding="utf-8") as file:
            texts += [words for words in (re.findall(r"[a-z]+", part.lower()) for part in re.split(r"\n\s*\n|\n[*|]", file.read()))
                      if len(words) >= 12]
    counts = {}
    for words in texts:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    place = {word: index for index, word in enumerate(sorted(counts, key=lambda word: (-counts[word], word))[:WORDS])}
    rows = np.zeros((len(texts), WORDS))
    for row, words in zip(rows, texts):
        for word in words:
            if word in place:
                row[place[word]] += 1
    return rows[rows.sum(1) > 0]


def sets_of(data):
    """{name: (rows whose distances are true, rows that are mapped, values of k)}. A device brings rows to length 1."""
    rows, rng, few = pictures(data), np.random.default_rng(1), (8, 16, 32, 64, 128)
    text = paragraphs()
    return {"pictures": (unit(rows), unit(rows), few), "10 % impulses": (unit(rows), unit(impulses(rows, rng)), few),
            "10 % Gaussian noise": (unit(rows), unit(gaussian(rows, rng)), few),
            "10 % impulses, divided by the length without noise":
                (unit(rows), impulses(rows, rng) / np.linalg.norm(rows, axis=1, keepdims=True), few),
            TEXT: (unit(text), unit(text), (16, 32, 64, 128, 256))}


# Maps ------------------------------------------------------------------------------------------------------------

def cosines_of_picture(rows, k):
    """The k lowest frequencies of a picture, by the sum of both; no front, for fronts know no rows and columns."""
    steps = np.arange(SIDE)
    basis = np.cos(np.pi * (2 * steps + 1) * steps[:, None] / (2 * SIDE)) * np.where(steps == 0, np.sqrt(1 / SIDE), np.sqrt(2 / SIDE))[:, None]
    order = np.lexsort((steps[:, None].repeat(SIDE, 1).ravel(), (steps[:, None] + steps).ravel()))[:k]
    return np.einsum("ui,nij,vj->nuv", basis, rows.reshape(-1, SIDE, SIDE), basis).reshape(len(rows), -1)[:, order]


def measured(program, clean, noisy, ks, is_text):
    """[{k, method, error, kept}]; random maps are means of three seeds."""
    result, truth = [], [Distances(clean, seed) for seed in range(SEEDS)]
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "rows.npy")
        np.save(path, noisy.astype("<f4"))
        for k in ks:
            for method in METHODS:
                if method == "dct2":
                    each = [] if is_text else [truth[0].after(cosines_of_picture(noisy, k))]
                else:
                    seeds = range(SEEDS if method in ("gauss", "signs") else 1)
                    each = [truth[seed].after(project(program, noisy, path, method, k, seed, work)[0]) for seed in seeds]
                if each:
                    error, kept = np.mean(each, axis=0)
                    result.append({"k": k, "method": method, "error": float(error), "kept": float(kept)})
    return result


def processor_seconds(run):
    """Of the processes that `run` starts: the least of several tries, for others use the machine too."""
    tries = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        tries.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(tries)


def times(program, rows, ks):
    """[{k, method, seconds}] of `privatemail train`, with reading the rows and writing the front."""
    result = []
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "rows.npy")
        np.save(path, rows.astype("<f4"))
        for k in ks:
            for method in ("gauss", "signs", "pca", "dct"):
                seconds = processor_seconds(lambda: program.run("train", "--method", method, "--features", path, "--dimensions", k,
                                                                "--threads", 1, "--out", os.path.join(work, "front.pmfr"),
                                                                "--force", "--json"))
                result.append({"k": k, "method": method, "seconds": seconds})
    return result


# The figure ------------------------------------------------------------------------------------------------------

def figure_projections(program, _, __, data=None):
    sources = digest_of("utility_projections", "utility_fronts", "utility_data")
    found, clock, lines = {}, {}, []
    for name, (clean, noisy, ks) in sets_of(data).items():
        found[name] = cached(lambda: measured(program, clean, noisy, ks, name == TEXT), "projections", name, clean.sum(), noisy.sum(),
                             ks, sources)
        if name in ("pictures", TEXT):
            clock[name] = cached(lambda: times(program, noisy, ks), "projection-times", clean.sum(), ks, sources, build_of(program))
        lines += table_of(name, noisy.shape, found[name])
    lines += time_lines(clock)
    return picture_of(found, clock), {"distances": found, "times": clock}, lines


def table_of(name, shape, rows):
    cells = {(row["k"], row["method"]): f"{row['error']:.3f} / {row['kept']:.2f}" for row in rows}
    return [f"{name}, {shape[0]} rows of {shape[1]}: error of distances / share of the 8 nearest kept", ""] + markdown(
        ["k", *(text for text, _ in METHODS.values())],
        [[str(k), *(cells.get((k, method), "-") for method in METHODS)] for k in sorted({row["k"] for row in rows})])


def time_lines(clock):
    lines = []
    for name, rows in clock.items():
        values = {(row["k"], row["method"]): f"{1000 * row['seconds']:.0f}" for row in rows}
        lines += [f"{name}: milliseconds of the processor to train", ""]
        lines += markdown(["k", *(METHODS[method][0] for method in ("gauss", "signs", "pca", "dct"))],
                          [[str(k), *(values[k, method] for method in ("gauss", "signs", "pca", "dct"))]
                           for k in sorted({row["k"] for row in rows})])
    return lines


def picture_of(found, clock):
    figure = Figure("Random projections against PCA and cosine transforms",
                    "Error: mean |mapped distance / true distance − 1| of 20,000 pairs. Distances without noise are the true ones.",
                    [(look, text) for text, look in METHODS.values()], 3)

    def add(title, label, rows, value, options="set yrange [0:*]"):
        panel = Panel(title, "k", label, "set logscale x 2; " + options)
        for method, (_, look) in METHODS.items():
            panel.add(look, [(row["k"], row[value]) for row in rows if row["method"] == method])
        figure.panels.append(panel)
    add("Fig. 2 (i): pictures", "error of distances", found["pictures"], "error")
    add("Fig. 2 (ii): time to train, pictures", "milliseconds of the processor",
        [{**row, "milliseconds": 1000 * row["seconds"]} for row in clock["pictures"]], "milliseconds")
    add("8 nearest kept, pictures", "share kept", found["pictures"], "kept", "set yrange [0:1]")
    add("Fig. 12: 10 % impulses", "error of distances", found["10 % impulses"], "error")
    add("Fig. 12: 10 % Gaussian noise", "error of distances", found["10 % Gaussian noise"], "error")
    add("Fig. 13: text", "error of distances", found[TEXT], "error")
    return figure


# Checks of bench/utility.py --check ------------------------------------------------------------------------------

def check_projections(checks):
    rng = np.random.default_rng(0)
    rows = unit(rng.normal(size=(400, SIDE * SIDE)))
    truth = Distances(rows, 0)
    error, kept = truth.after(rows)
    checks.expect(error < 1e-12 and kept == 1, "a map that changes nothing keeps all distances")
    checks.near(truth.after(2 * rows)[0], 1, 1e-9, "one that doubles them has error 1")
    error, kept = truth.after(cosines_of_picture(rows, SIDE * SIDE))
    checks.expect(error < 1e-9 and kept == 1, "all frequencies of a picture keep all distances")
    flat = cosines_of_picture(np.ones((1, SIDE * SIDE)), 4)[0]
    checks.near(np.abs(flat - [SIDE, 0, 0, 0]).max(), 0, 1e-9, "the first frequency of a white picture")
    # the factor that the seed prints as d/k and that is √(d/k): a row's image has length √(k/d) on the average
    k, d = 64, SIDE * SIDE
    random = rows @ (rng.normal(size=(d, k)) / np.sqrt(d))
    checks.expect(truth.after(random * np.sqrt(d / k))[0] < 0.12 < 0.8 < truth.after(random * d / k)[0],
                  "random maps need √(d/k), not d/k")
    hit = impulses(rows, rng) != rows
    checks.near(hit.mean(), 0.1, 0.01, "a tenth of the pixels is hit")
    noise = gaussian(rows, rng) - rows
    checks.near(noise.std() / (rows.max() - rows.min()), 0.1, 0.003, "Gaussian noise of a tenth of the range")
    text = paragraphs()
    checks.expect(len(text) > 300 and text.shape[1] == WORDS and (text.sum(1) > 0).all(), f"{len(text)} paragraphs of text")
