# SPDX-License-Identifier: Apache-2.0
"""What a server learns: the best guess of somebody who knows the pack, epsilon and a list of equally likely queries.

All releases are made by the command, as a device makes them; the guesser computes the likelihood of each query on the
list from the public specification (tests/golden/reference.py) and names the likeliest. `ceiling` is the most that the
promise lets anybody reach; PRIVACY section 1 implies it as follows. Let A_i be the releases that make the guess i, a the
average of P_i(A_i). A mechanism with P_i(A) <= t(P_j(A)) for all queries i, j, t concave, has, averaged over j and i,
a <= t((1 - a) / (n - 1)). Pure epsilon: t(p) = e^epsilon p, so a <= e^epsilon / (e^epsilon + n - 1). Gaussian:
t(p) = Phi(Phi^-1(p) + mu). What holds for single queries holds for classes: mixtures of them.
"""
import json
import math
import os
import shutil
import sys
import tempfile

import numpy as np

from utility_baselines import phi, phi_inverse
from utility_data import FOLDER, ROOT, cached, digest_of, stop

sys.path[:0] = [os.path.join(ROOT, "demo"), os.path.join(ROOT, "tests", "golden")]
from demo_plot import read_pack  # noqa: E402
from reference import (GAUSSIAN, Certificate, bits_from_floats, nearest_cell, quantise, read_release,  # noqa: E402
                       unpack_symbols, update)

RELEASES = 100_000
REPEATS = (1, 2, 3, 5, 10)
EPSILONS = (0.5, 1, 2, 4, 6, 8)
SURE = 3.29                       # deviations: 99.9 %
CLASSES, CELLS = 12, 8

# name: (options of the pack, what is guessed); the queries are the pack's prototypes, so that all cells are equally likely
EXPERIMENTS = {
    "class slots": (("--slots", "class", "--cells", CELLS, "--prototypes-per-cell", 1), ("class", "cell")),
    "one slot": (("--slots", "one", "--cells", CLASSES * CELLS, "--prototypes-per-cell", 1), ("cell",)),
}


# Ceilings --------------------------------------------------------------------------------------------------------

def pure_ceiling(epsilon, alternatives):
    return 1 / (1 + (alternatives - 1) * math.exp(-epsilon))


def gaussian_ceiling(mu, alternatives):
    low, high = 1 / alternatives, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        reached = phi(phi_inverse((1 - middle) / (alternatives - 1)) + mu)
        low, high = (middle, high) if reached > middle else (low, middle)
    return high


def interval(hits, trials, deviations=1.96):
    """Wilson's."""
    share, square = hits / trials, deviations ** 2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = deviations / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + square / (4 * trials ** 2))
    return middle - half, middle + half


# The queries and their likelihoods -------------------------------------------------------------------------------

class Guesser:
    """A pack, a list of equally likely queries, and how likely each release is under each of them."""

    def __init__(self, program, name):
        options, self.targets = EXPERIMENTS[name]
        self.program, self.name, folder = program, name, os.path.join(FOLDER, "inference")
        sample = os.path.join(folder, "sample")
        os.makedirs(folder, exist_ok=True)
        if not os.path.isdir(sample):
            program.run("sample", "--out", sample, "--no-images", "--classes", CLASSES)
        stem = os.path.join(folder, name.replace(" ", "-"))
        self.pack_path, self.features, self.labels = stem + ".pmpk", stem + ".npy", stem + "-labels.npy"
        program.run("pack", "--features", f"{sample}/public.npy", "--labels", f"{sample}/public_labels.npy", *options,
                    "--rows-per-prototype", 1, "--gaussian", "--codes", "random", "--rows-are-public",
                    "--out", self.pack_path, "--force")
        self.pack = read_pack(self.pack_path)
        labels = {slot: label for label, slot in self.pack.classes}
        rows = np.array(self.pack.prototypes)
        self.classes = np.array([labels.get(index // self.pack.m, 0) for index in range(len(rows))])
        np.save(self.features, rows.astype("<f4"))
        np.save(self.labels, self.classes.astype("<i4"))
        queries = [quantise(bits_from_floats(row.tolist())) for row in rows.astype("<f4")]
        self.slots = np.array([self.pack.slot_of(int(label)) if self.pack.kind else 0 for label in self.classes])
        self.cells = np.array([nearest_cell(self.pack, query, slot) for query, slot in zip(queries, self.slots)])
        certificate = Certificate(self.pack)
        self.centres = np.array(certificate.centres, dtype=float)
        self.rows = np.array([self._row(certificate, query, slot) for query, slot in zip(queries, self.slots)])

    def _row(self, certificate, query, slot):
        weights, numerators = update(self.pack, certificate.label_rows, query, slot)
        return [numerator / (512 * sum(weight for _, weight in weights)) for numerator in numerators]

    def make(self, mechanism, epsilon, repeats):
        """repeats releases of every query: (receipt, what they say: queries * repeats * symbols or values)."""
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None          # each release is flushed to the disk
        folder = tempfile.mkdtemp(dir=memory)
        said = []
        try:
            for row in range(len(self.classes)):
                out = os.path.join(folder, "release")
                receipt = self.program.run("privatize", "--pack", self.pack_path, "--features", self.features, "--labels",
                                           self.labels, "--row", row, "--mechanism", mechanism, "--epsilon", epsilon,
                                           "--repeat", repeats, "--out", out, "--force", "--json")
                said.append(self._read(receipt["releases"]))
        finally:
            shutil.rmtree(folder)
        return receipt, np.array(said)

    def _read(self, paths):
        """All releases of one pack and epsilon have the same length and, up to their content, the same bytes."""
        releases = []
        for path in paths:
            with open(path, "rb") as file:
                releases.append(file.read())
        fields = read_release(releases[0])
        head = releases[0][:-len(fields[4])]
        assert all(release.startswith(head) and len(release) == len(releases[0]) for release in releases)
        content = np.frombuffer(b"".join(release[len(head):] for release in releases), np.uint8).reshape(len(releases), -1)
        if fields[2] == GAUSSIAN:
            return content.view(np.int8).astype(float) * int.from_bytes(fields[3], "big")
        width = (self.pack.m - 1).bit_length()
        bits = np.unpackbits(content, axis=1, count=self.pack.G * width, bitorder="little")
        symbols = bits.reshape(len(releases), self.pack.G, width) @ (1 << np.arange(width))
        assert symbols[0].tolist() == unpack_symbols(fields[4], self.pack.m, self.pack.G)
        return symbols

    def likelihoods(self, receipt, released):
        """Logarithms, up to a constant per release: true query * repeat * query on the list."""
        if receipt["mechanism"] == "response":
            keep, m = receipt["keep"], self.pack.m
            hit = released[:, :, self.slots] == self.cells
            return np.where(hit, math.log(keep * m), math.log((1 - keep) / (m - 1) * m))
        released = released.reshape(*released.shape[:2], self.pack.G, self.pack.k)
        from_centre = ((released - self.centres) ** 2).sum(3)[:, :, self.slots]
        from_row = ((released[:, :, self.slots] - self.rows) ** 2).sum(3)
        return (from_centre - from_row) / (2 * receipt["sigma"] ** 2)

    def hits(self, likelihoods, target, rng):
        """Right guesses; equally likely ones are drawn among."""
        likelihoods = likelihoods + rng.random(likelihoods.shape) * 1e-9
        if target == "cell":
            guess, true = likelihoods.argmax(2), np.arange(len(self.classes))
        else:
            weights = np.exp(likelihoods - likelihoods.max(2, keepdims=True))
            totals = np.stack([weights[:, :, self.classes == label].sum(2) for label in range(CLASSES)], axis=2)
            guess, true = totals.argmax(2), self.classes
        return int((guess == true[:, None]).sum())


# Rows ------------------------------------------------------------------------------------------------------------

def rows_of(guesser, mechanism, epsilon, releases, rng):
    queries = len(guesser.classes)
    receipt, released = guesser.make(mechanism, epsilon, -(-releases // queries))
    single, rows = guesser.likelihoods(receipt, released), []
    for together in REPEATS:
        groups = single.shape[1] // together
        likelihoods = single[:, :groups * together].reshape(queries, groups, together, queries).sum(2)
        for target in guesser.targets:
            alternatives = queries if target == "cell" else CLASSES
            hits, trials = guesser.hits(likelihoods, target, rng), queries * groups
            ceiling = pure_ceiling(together * epsilon, alternatives) if mechanism == "response" else \
                gaussian_ceiling(math.sqrt(together) * receipt["mu"], alternatives)
            low, high = interval(hits, trials)
            rows.append({"experiment": guesser.name, "mechanism": mechanism, "epsilon": epsilon, "together": together,
                         "target": target, "alternatives": alternatives, "guesses": trials, "accuracy": hits / trials,
                         "low": low, "high": high, "ceiling": ceiling,
                         "respected": interval(hits, trials, SURE)[0] <= ceiling})
    return rows


def inference(program, epsilons=EPSILONS, releases=RELEASES, experiments=tuple(EXPERIMENTS)):
    """Rows for every experiment, mechanism and epsilon. A ceiling that is exceeded is an error."""
    rows = []
    for name in experiments:
        guesser = None
        for mechanism in ("response", "gaussian"):
            for epsilon in epsilons:
                def compute():
                    nonlocal guesser
                    guesser = guesser or Guesser(program, name)
                    return rows_of(guesser, mechanism, epsilon, releases, np.random.default_rng(0))
                rows += cached(compute, "inference", name, mechanism, epsilon, releases, digest_of("utility_inference"))
                print(f"{name}, {mechanism}, ε = {epsilon:g}: {releases} releases", file=sys.stderr, flush=True)
    broken = [row for row in rows if not row["respected"]]
    if broken:
        stop("a guess is better than the promise allows: " + json.dumps(broken[0]))
    return rows
