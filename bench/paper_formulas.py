# SPDX-License-Identifier: Apache-2.0
"""NOT PRIVATE: for comparison only. The formulas of the PrivateMail paper and of its published code.

"The paper" is Vepakomma, Balla, Raskar, "PrivateMail" (arXiv 2102.10802), "the code" the repository it names.
"""
import itertools
import math

import numpy as np

# The paper's table 2, Cars196. The code's query joins 1000 public rows; its 98 test classes are labelled 0 ... 97.
SIGMA, ALPHA, DIMENSIONS, SIGMA_Q, DELTA, ITERATIONS = 6.0, 0.6, 2, 1e-8, 1e-5, 5
PUBLIC, CLASSES = 1000, 98
CLASSIC = math.sqrt(2 * math.log(1.25 / DELTA))       # sigma * epsilon / sensitivity of the classic formula


def proof_kernel(squared, sigma=SIGMA):
    return math.exp(-squared / (2 * sigma ** 2))


def lemma_m(n, alpha=ALPHA, kernel=proof_kernel, typo=False, classes=CLASSES):
    """M of the paper's lemma 1. `typo`: the code writes exp(-c/2s^2) where the paper has exp(-c^2/2s^2)."""
    c, floor, zero = classes - 1, kernel(4), kernel(1)
    a, b, top, far = n * floor + zero - 1, (n + 1) * floor - 1, n + zero - 1, kernel(c * c)
    label = kernel(c) if typo else far
    diagonal = alpha ** 2 * ((n / a) ** 2 + (n / b) ** 2 - 2 * ((n + 1) * label - 1) ** 2 / (n * top))
    other = ((alpha ** 2 + 1) * (a ** -2 + b ** -2) - 2 * alpha * far * floor * (top ** -2 + n ** -2)
             - 2 * (alpha ** 2 * far ** 2 + floor ** 2) / (n * top) + 4 * alpha / (a * b))
    return n * other + diagonal


def paper_sensitivity(n, q_norm, **options):
    """Theorem 2 of the paper."""
    return lemma_m(n, **options) * math.sqrt(n + 1) / 2 * q_norm


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def squared_distances(x):
    norms, result = (x * x).sum(-1), -2 * x @ np.swapaxes(x, -1, -2)
    result += norms[..., :, None]
    result += norms[..., None, :]
    return np.maximum(result, 0, out=result)


def label_kernel(labels, kernel, rows):
    """The matrix kernel(y_i - y_j) times `rows`, by way of the sums of the classes."""
    classes = np.arange(labels.max() + 1)
    sums = np.stack([np.bincount(labels, column, len(classes)) for column in rows.T], axis=1)
    return (kernel(classes[:, None] - classes) @ sums)[labels]


def code_labels(labels):
    """The code's label graph, as a function of rows: the Laplacian of -J|y_i - y_j|J/2, which is J|y_i - y_j|J/2."""
    def apply(rows):
        product = label_kernel(labels, np.abs, rows - rows.mean(0)) / 2
        return product - product.mean(0)
    return apply


def paper_labels(labels, sigma=SIGMA):
    """The paper's label graph, with the kernel of its proof."""
    def gauss(difference):
        return np.exp(difference ** 2 / (-2 * sigma ** 2))
    total = label_kernel(labels, gauss, np.ones((len(labels), 1)))
    return lambda rows: total * rows - label_kernel(labels, gauss, rows)


def code_kernel(rows, sigma=SIGMA):
    weights = squared_distances(rows)
    weights /= -sigma ** 2
    np.exp(weights, out=weights)
    np.fill_diagonal(weights, 0)
    return weights


def code_step(weights, label_graph, rows, alpha=ALPHA):
    """The paper's (4)."""
    total = weights.sum(1)[:, None]
    return rows + (alpha * label_graph(rows) - total * rows + weights @ rows) / (2 * (total + 1e-9))


def code_iterations(weights, label_graph, rows, alpha=ALPHA):
    """The embedding after one, two, three ... of the code's iterations."""
    while True:
        rows = code_step(weights, label_graph, rows, alpha)
        rows *= math.sqrt(len(rows)) / np.linalg.norm(rows)
        yield rows


def code_embedding(weights, label_graph, q, scale, rng, alpha=ALPHA, sigma=SIGMA):
    """The code's client (scale: deviation of its noise) and server (None). Dense; every step uses the label graph."""
    rows = q
    if scale is not None:
        rows = code_step(weights, label_graph, rows, alpha) + rng.normal(scale=scale, size=q.shape)
        weights = code_kernel(rows, sigma)
    return next(itertools.islice(code_iterations(weights, label_graph, rows, alpha), ITERATIONS - 1, None))


def align(p, q):
    """Kabsch and Umeyama: the matrix and the shift that take p closest to q."""
    left, values, right = np.linalg.svd((p - p.mean(0)).T @ (q - q.mean(0)) / len(p))
    if np.linalg.det(left) * np.linalg.det(right) < 0:
        values[-1], left[:, -1] = -values[-1], -left[:, -1]
    matrix = left @ right * values.sum() / p.var(0).sum()
    return matrix, q.mean(0) - p.mean(0) @ matrix


def sparse_operator(x, neighbours, alpha):
    """Diag(L_X)^-1 (alpha L_Y - L_X) on the graph of nearest neighbours; one class, label neighbours by index."""
    n = len(x)
    squared = squared_distances(x)
    np.fill_diagonal(squared, np.inf)
    operator = np.zeros((n, n))
    for i in range(n):
        nearest = np.argsort(squared[i], kind="stable")[:neighbours]
        weights = np.exp(squared[i, nearest] / (-2 * SIGMA ** 2))
        same = [j for j in range(neighbours + 1) if j != i][:neighbours]
        operator[i, i] = alpha * neighbours / weights.sum() - 1
        operator[i, same] -= alpha / weights.sum()
        operator[i, nearest] += weights / weights.sum()
    return operator
