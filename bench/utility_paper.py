# SPDX-License-Identifier: Apache-2.0
"""NOT PRIVATE: for comparison only. The paper's way of searching, with and without its noise, and t-SNE.

The client embeds the query among public rows, the server its gallery among the same rows; the query is taken over by
aligning the public ones. Every variant but `withheld` lets the query's true label into the iterations after the noise,
so that none is private whatever its epsilon says (docs/PRIVACY.md, section 10).
"""
import itertools

import numpy as np

from paper_formulas import (CLASSIC, ITERATIONS, SIGMA_Q, align, code_embedding, code_iterations, code_kernel, code_labels,
                            paper_labels, paper_sensitivity, proof_kernel)
from utility_data import TOP, cached, digest_of, measure, stop, summary

PUBLIC = 1000
QUERIES = 200                     # a dense graph for each of them
SOURCES = "utility_paper", "paper_formulas", "utility_data"


class Search:
    """The paper's search on one data set. graph: "printed", the label graph of the paper, or "code", that of its code."""

    def __init__(self, case, graph, dimensions=2, sigma=None, alpha=None):
        self.case, self.graph, self.dimensions = case, graph, dimensions
        self.sigma, self.alpha = sigma or case.sigma, case.alpha if alpha is None else alpha
        self.public, self.public_labels = case.public[:PUBLIC], case.public_labels[:PUBLIC]
        self.rng = np.random.default_rng(7)
        n, gallery = len(self.public), len(case.gallery)
        self.client_codes, server_codes = (SIGMA_Q * self.rng.normal(size=(rows, dimensions)) for rows in (n + 1, gallery + n))
        self.client_weights = np.zeros((n + 1, n + 1))
        self.client_weights[1:, 1:] = code_kernel(self.public, self.sigma)
        self.server_start = (code_kernel(np.r_[case.gallery, self.public], self.sigma),
                             self.label_graph(np.r_[case.labels, self.public_labels]), server_codes, self.alpha)

    def label_graph(self, labels):
        return paper_labels(labels, self.sigma) if self.graph == "printed" else code_labels(labels)

    def server(self, iterations=ITERATIONS):
        """The server's embedding after each of its first iterations: (gallery, public rows)."""
        gallery = len(self.case.gallery)
        return [(rows[:gallery], rows[gallery:]) for rows in itertools.islice(code_iterations(*self.server_start), iterations)]

    def client(self, query, withheld):
        """Weights and label graph of one query among the public rows."""
        row = np.exp(((self.public - self.case.queries[query]) ** 2).sum(1) / -self.sigma ** 2)
        self.client_weights[0, 1:] = self.client_weights[1:, 0] = row
        if not withheld:
            return self.client_weights, self.label_graph(np.r_[self.case.query_labels[query], self.public_labels])
        public = self.label_graph(self.public_labels)
        return self.client_weights, lambda rows: np.r_[np.zeros((1, rows.shape[1])), public(rows[1:])]

    def noise(self, epsilon, published):
        """The deviation that the paper's theorem 2 asks for; `published`: the variance, which the code gives numpy."""
        sensitivity = paper_sensitivity(len(self.public), np.linalg.norm(self.client_codes), alpha=self.alpha, typo=published,
                                        kernel=lambda squared: proof_kernel(squared, self.sigma), classes=self.case.classes)
        deviation = CLASSIC * sensitivity / epsilon
        return deviation ** 2 if published else deviation

    @staticmethod
    def distances_of(rows, place):
        gallery, public = place
        matrix, shift = align(rows[1:], public)
        return ((gallery - rows[0] @ matrix - shift) ** 2).sum(1)

    def distances(self, epsilon, queries, published, withheld=False):
        """queries * gallery; epsilon None: no noise, and the graph is not made again from the embedding."""
        place, scale = self.server()[-1], None if epsilon is None else self.noise(epsilon, published)
        result = []
        for query in queries:
            weights, graph = self.client(query, withheld)
            rows = code_embedding(weights, graph, self.client_codes, scale, self.rng, self.alpha, self.sigma)
            result.append(self.distances_of(rows, place))
        return np.array(result)


def chosen_queries(case, most=QUERIES):
    return np.arange(min(most, len(case.queries)))


def rows_of(case, distances, queries, epsilon, shares):
    counts = [TOP] + [case.count(share) for share in shares]
    found = measure(case, distances, counts, queries)
    return [{"epsilon": epsilon, "share": share, "carried": count, **summary([found[count]])}
            for share, count in zip([None] + shares, counts)]


# Fig. 6: curves over epsilon -------------------------------------------------------------------------------------

def smlq_rows(case, epsilons, shares):
    queries = chosen_queries(case)
    rows = rows_of(case, Search(case, "printed").distances(None, queries, False), queries, 0, shares)
    return [{**row, "epsilon": epsilon} for epsilon in epsilons for row in rows]


def noisy_rows(case, epsilons, shares, published):
    search, queries = Search(case, "code" if published else "printed"), chosen_queries(case)
    return [row for epsilon in epsilons
            for row in rows_of(case, search.distances(epsilon, queries, published), queries, epsilon, shares)]


def tsne_rows(case, epsilons, shares):
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        stop("t-SNE needs scikit-learn: build/venv/bin/pip install scikit-learn, or leave it out with --without-tsne")
    joined = np.r_[case.gallery, case.queries].astype(np.float32)
    rows = TSNE(n_components=2, init="pca", random_state=0, n_jobs=1).fit_transform(joined).astype(np.float64)
    gallery, queries = rows[:len(case.gallery)], rows[len(case.gallery):]
    distances = (gallery ** 2).sum(1) - 2 * queries @ gallery.T
    found = rows_of(case, distances, np.arange(len(queries)), 0, shares)
    return [{**row, "epsilon": epsilon} for epsilon in epsilons for row in found]


METHODS = {
    "smlq": ("SMLQ without noise (NOT PRIVATE)", smlq_rows),
    "tsne": ("t-SNE (NOT PRIVATE)", tsne_rows),
    "printed": ("the paper's formulas (NOT PRIVATE)", lambda *case: noisy_rows(*case, published=False)),
    "published": ("the paper's code (NOT PRIVATE)", lambda *case: noisy_rows(*case, published=True)),
}


def comparison(name, case, epsilons, shares):
    return cached(lambda: METHODS[name][1](case, epsilons, shares), "paper-" + name, case.digest, epsilons, shares,
                  digest_of(*SOURCES))


# Fig. 3: convergence ---------------------------------------------------------------------------------------------

VARIANTS = (("printed", False), ("code", False), ("code", True))


def convergence(case, iterations=10):
    """Class recall@8 of SMLQ without noise after each iteration: [{graph, withheld, recall, recall_se}]."""
    return cached(lambda: [one_convergence(case, graph, withheld, iterations) for graph, withheld in VARIANTS],
                  "convergence", case.digest, iterations, digest_of(*SOURCES))


def one_convergence(case, graph, withheld, iterations):
    search, queries = Search(case, graph), chosen_queries(case)
    places = search.server(iterations)
    distances = np.zeros((iterations, len(queries), len(case.gallery)))
    for index, query in enumerate(queries):
        weights, labels = search.client(query, withheld)
        for step, rows in enumerate(itertools.islice(code_iterations(weights, labels, search.client_codes, search.alpha),
                                                     iterations)):
            distances[step, index] = search.distances_of(rows, places[step])
    found = [summary([measure(case, step, [TOP], queries)[TOP]]) for step in distances]
    return {"graph": graph, "withheld": withheld, "recall": [row["class_recall"] for row in found],
            "recall_se": [row["class_recall_se"] for row in found]}


# Fig. 5: its parameters ------------------------------------------------------------------------------------------

def parameter_recall(case, epsilon, dimensions, alpha, sigma):
    """Class recall@8 for one choice: without noise; the code; the code with the label withheld after the noise."""
    def compute():
        queries, result = chosen_queries(case, 100), {}
        for name, graph, own_epsilon, withheld in (("smlq", "printed", None, False), ("published", "code", epsilon, False),
                                                   ("withheld", "code", epsilon, True)):
            search = Search(case, graph, dimensions, sigma, alpha)
            distances = search.distances(own_epsilon, queries, True, withheld)
            values = summary([measure(case, distances, [TOP], queries)[TOP]])
            result[name], result[name + "_se"] = values["class_recall"], values["class_recall_se"]
        return result
    return cached(compute, "parameters", case.digest, epsilon, dimensions, alpha, sigma, digest_of(*SOURCES))
