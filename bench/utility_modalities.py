# SPDX-License-Identifier: Apache-2.0
"""What fronts and voters give, for bench/utility.py: words that find pictures and pictures that find words, alone and in a
crowd; a supervised front on photographs; public rows that vote where queries are unlike the items.

Fronts are trained on public rows with their classes, by `privatemail train`. All figures are the real client's."""
import os

import numpy as np

from utility_data import FOLDER, QUERIES, cached, digest_of
from utility_large import SKETCH, UNLIKE, folder_of
from utility_own import build_of, markdown

PAIRS = "wikipedia_img128"        # has text.npy, and split.npy: 1 is train, which is public here
DIMENSIONS, CENTRES = 9, 128      # of the fronts of pairs: a dimension less than classes
LDA = 64
CROWD = ["--crowd", "1000000"]
UNLIKE_SIZES = [100_000, 1_000_000]
METHODS = {"codes": "ridge regression to class codes", "mnse": "MNSE"}


# Pairs of pictures and words ---------------------------------------------------------------------------------------

def pair_files(data):
    """{part: path}: public and other rows of both modalities, and their classes."""
    source, folder = os.path.join(data, PAIRS), os.path.join(FOLDER, "pairs")
    image, text, labels, split = (np.load(os.path.join(source, name + ".npy")) for name in ("features", "text", "labels", "split"))
    os.makedirs(folder, exist_ok=True)
    paths = {}
    for part, rows in (("public", split == 1), ("rest", split != 1)):
        for name, values in (("image", image.astype("<f4")), ("text", text.astype("<f4")), ("labels", labels.astype("<i4"))):
            paths[part, name] = os.path.join(folder, f"{part}_{name}.npy")
            np.save(paths[part, name], values[rows])
    return paths


def train_pair(program, files, method):
    out = os.path.join(FOLDER, "pairs", method + ".pmfr")
    program.run("train", "--method", method, "--features", files["public", "image"], "--with", "text=" + files["public", "text"],
                "--labels", files["public", "labels"], "--dimensions", DIMENSIONS, "--centres", CENTRES, "--root", "--out", out,
                "--force")
    return ["--front", "image=" + out, "--front", "text=" + out.replace(".pmfr", ".text.pmfr")]


def ask_pair(program, files, fronts, ask, search, options, public, voters):
    words = [*fronts, "--modality", search, "--ask", ask, "--public-modality", ask, "--public", files["public", ask],
             *(["--with", f"{search}={files['public', search]}"] if public == "both" else []), "--gallery", files["rest", search], "--gallery-labels", files["rest", "labels"],
             "--queries", files["rest", ask], "--queries-labels", files["rest", "labels"], "--releases", 16]
    words += ["--voters", files["public", ask] if voters else "none"]
    return program.run("evaluate", *words, *options, "--json")["rows"]


# What cells are made from, and whether public rows of the asked modality vote
WAYS = [("both", False), ("both", True), ("asked", True)]
# Asked, searched, options, share and ε
QUESTIONS = [("text", "image", [], 0.05, [4, 6]), ("image", "text", [], 0.10, [4]), ("text", "image", CROWD, 0.05, [0.1])]


def pairs(program, data):
    def compute():
        rows, files = [], pair_files(data)
        for method in METHODS:
            fronts = train_pair(program, files, method)
            for ask, search, crowd, share, epsilons in QUESTIONS:
                for public, voters in WAYS:
                    found = ask_pair(program, files, fronts, ask, search,
                                     [*crowd, "--share", share, "--epsilon", ",".join(map(str, epsilons))], public, voters)
                    rows += [{"method": method, "ask": ask, "search": search, "crowd": bool(crowd), "public": public,
                              "voters": voters, **row} for row in found]
        return rows
    return cached(compute, "fronts-pairs", build_of(program), digest_of("utility_modalities"))


def pair_lines(rows):
    table = [[f"{row['ask']} → {row['search']}" + (", in a crowd of 10^6" if row["crowd"] else ""), METHODS[row["method"]],
              "both" if row["public"] == "both" else row["ask"], "items, public rows" if row["voters"] else "items",
              f"{row['epsilon']:g}", f"{100 * row['carried']:.1f} %",
              f"{row['precision_at_8']:.3f} ± {row['precision_at_8_se']:.3f}", f"{row['exact_precision_at_8']:.3f}",
              f"{row['random_precision_at_8']:.3f}", f"{row['instance_recall']:.3f} ± {row['instance_recall_se']:.3f}"]
             for row in rows]
    return markdown(["asked → searched", "front", "cells of", "who votes", "ε", "comes down", "class precision@8", "not private", "random download",
                     "true 8 found"], table)


# A supervised front on photographs ---------------------------------------------------------------------------------

def photographs(program, case):
    """Without a front, and with LDA of the public rows."""
    files = case.files()
    words = [word for part, (features, labels) in files.items()
             for word in (f"--{part}", features, f"--{part}-labels", labels)]

    def compute():
        front = os.path.join(FOLDER, "split", case.digest[:16], "lda.pmfr")
        program.run("train", "--method", "lda", "--features", files["public"][0], "--labels", files["public"][1], "--dimensions",
                    LDA, "--out", front, "--force")
        settings = [*words, "--epsilon", 4, "--share", 0.02, "--releases", 16, "--json"]
        return [program.run("evaluate", *settings, *options)["rows"][0] for options in ([], ["--front", "image=" + front])]
    return cached(compute, "fronts-lda", case.digest, build_of(program), digest_of("utility_modalities"))


def photograph_lines(cases, rows):
    table = []
    for case, (without, front) in zip(cases, rows):
        for name, row in (("none", without), (f"LDA, {LDA} of {case.raw.shape[1]}", front)):
            table.append([case.name, name, f"{row['precision_at_8']:.3f} ± {row['precision_at_8_se']:.3f}",
                          f"{row['exact_precision_at_8']:.3f}", f"{row['random_precision_at_8']:.3f}",
                          f"{row['original_recall']:.3f}", f"{row['instance_recall']:.3f}", f"{row['bytes_down']:.0f}"])
    return markdown(["set", "front", "class precision@8", "not private", "random download", "true 8 by the features found",
                     "true 8 behind the front found", "bytes down"], table)


# Queries unlike the items ------------------------------------------------------------------------------------------

def unlike(program, cases, count):
    """Public rows as queries, against moved copies of other rows; the other public rows vote, or nobody does."""
    def compute():
        folder, gallery = folder_of(cases, count)
        voters = os.path.join(folder, "voters.npy")
        np.save(voters, np.load(os.path.join(folder, "public.npy"))[QUERIES:])
        share, epsilons = UNLIKE
        rows = []
        for queries in ("unlike.npy", "queries.npy"):
            for words in (["--voters", "none"], ["--voters", voters]):
                found = program.run("evaluate", "--public", os.path.join(folder, "public.npy"), "--queries",
                                    os.path.join(folder, queries), "--gallery", gallery, "--sketch", SKETCH, "--share", share,
                                    "--epsilon", ",".join(map(str, epsilons)), *words, "--json")["rows"][0]
                rows.append({**found, "items": count, "asked": queries, "voters": words[1] == voters})
        return rows
    return cached(compute, "fronts-unlike", [case.digest for case in cases], count, build_of(program), digest_of("utility_modalities"))


def unlike_lines(rows):
    table = [[f"{row['items']:,}", "like the items" if row["asked"] == "queries.npy" else "unlike the items",
              "public rows too" if row["voters"] else "items", f"{row['carried_recall']:.3f} ± {row['carried_recall_se']:.3f}",
              f"{row['instance_recall']:.3f}", f"{row['popular']:.3f}", f"{row['baseline']:.3f}"] for row in rows]
    return markdown(["items", "queries", "who votes", "in the answer", "found", "popular", "random"], table)


def table_modalities(program, cases, _, data=None):
    result, lines = {}, []
    if data and os.path.exists(os.path.join(data, PAIRS, "text.npy")):
        result["pairs"] = pairs(program, data)
        lines += pair_lines(result["pairs"])
    result["photographs"] = [photographs(program, case) for case in cases]
    lines += photograph_lines(cases, result["photographs"])
    return None, result, lines


def table_voters(program, cases, _):
    rows = [row for count in UNLIKE_SIZES for row in unlike(program, cases, count)]
    return None, rows, unlike_lines(rows)
