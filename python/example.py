#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Features in numpy → pack → index → private query → found. Prints which share of the nearest items was found.

    python python/example.py
"""
import pathlib
import tempfile

import numpy as np

import privatemail

NEAREST = 8


def found_share(epsilon: float, share: float) -> float:
    # Drawn shapes stand for your pictures: rows of features, as your model makes them.
    shapes = privatemail.sample(classes=12, per_class=200)

    with tempfile.TemporaryDirectory() as folder:
        # The operator: a pack from public rows, and the gallery in a store.
        store = pathlib.Path(folder) / "gallery"
        pack = privatemail.build_pack(shapes.public, epsilon=epsilon, share=share)
        privatemail.index(pack, shapes.gallery, store, share=share, voters=shapes.public)

        # The device: one private message per query. The budget allows all of them, of one person each.
        budget = privatemail.Budget(epsilon=epsilon * len(shapes.queries))
        found = []
        with privatemail.Client(pack, epsilon=epsilon, budget=budget) as client:
            for query in shapes.queries:
                client.arm()
                release = client.release(query)
                answer = privatemail.find(pack, store, release).answer  # the server, which sees the release alone
                ranking = client.rank(query, answer, limit=NEAREST)
                found.append(np.isin(nearest(shapes.gallery, query), ranking.items).mean())
        print(f"{len(shapes.gallery)} items, {client.receipt.bytes} bytes up, {len(answer)} bytes down per query")
    return float(np.mean(found))


def nearest(gallery: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The items that are truly nearest, which only this example knows."""
    cosines = gallery @ query / np.linalg.norm(gallery, axis=1)
    return np.argsort(-cosines)[:NEAREST]


if __name__ == "__main__":
    for epsilon in (8.0, 4.0):
        print(f"epsilon {epsilon:g}: found {found_share(epsilon, share=0.05):.2f} of the {NEAREST} nearest")
