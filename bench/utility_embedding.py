# SPDX-License-Identifier: Apache-2.0
"""The Gaussian mechanism's embedding as a server sees it: what k, alpha and the bandwidth do (Fig. 5), and rows before
and after alignment (Fig. 7). Packs, certificates and releases come from the command, the server's frames from
tests/server/reference_server.py."""
import os
import sys
import tempfile

import numpy as np

from utility_data import ROOT, TOP, cached, digest_of, measure, summary

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
import reference_server as server  # noqa: E402

SOURCES = "utility_embedding", "utility_data"
SLOTS = 10                        # of Fig. 5: groups of classes
ITERATIONS = (0, 5)               # of Fig. 5; the paper has 5


def build_pack(program, case, folder, *options):
    path, files = os.path.join(folder, "case.pmpk"), case.files()
    program.run("pack", "--features", files["public"][0], "--labels", files["public"][1], *options,
                "--gaussian", "--rows-are-public", "--out", path, "--force")
    with open(path, "rb") as file:
        return path, file.read(), program.run("inspect", path, "--json")


# Fig. 5 ----------------------------------------------------------------------------------------------------------

def centres_of(pack, frames):
    """The public point of every slot (PRIVACY theorem 2) in doubles: the centre of the box of its possible rows, or that of
    a ball around them where the ball is smaller (SPEC 5.7)."""
    codes, least, t = pack.anchor_codes.astype(float), frames.least, np.arange(pack.K + 1)
    labels = server.Graph(pack, range(pack.G), np.zeros((pack.G, 1), np.int64), np.ones((pack.G, 1)))
    own = pack.slot_codes[:, None, :] - codes[labels.labels]
    u = pack.alpha / 256 * (labels.label_weights[:, :, None] * own).sum(1)
    reach = []
    for sign in (1, -1):
        head = np.vstack([np.zeros(pack.k), np.cumsum(-np.sort(-sign * codes, axis=0)[:pack.K], axis=0)])
        sums = head + least * (head[-1] - head) + sign * u[:, None, :]
        reach.append((sums / (t + least * (pack.K - t))[:, None]).max(1))
    share = pack.K * least
    box = np.linalg.norm((reach[0] + reach[1]).max(0)) / 2
    ball = np.linalg.norm(codes, axis=1).max() + (1 - least) * np.linalg.norm(u, axis=1).max() / (2 * share)
    if pack.k != 2 and ball < box:
        return pack.slot_codes / 2 + (1 + least) * u / (4 * share)
    return pack.slot_codes / 2 + (reach[0] - reach[1]) / 4


def slot_distances(gallery, rows):
    """Of one release: every item's rank in its own slot, so that the same number is carried of each slot."""
    places = gallery.frames.place(rows)
    squares = ((gallery.places - places[gallery.slots]) ** 2).sum(1)
    ranks = np.empty(len(squares))
    order = np.lexsort((squares, gallery.slots))
    starts = np.searchsorted(gallery.slots[order], np.arange(gallery.pack.G))
    ranks[order] = np.arange(len(order)) - starts[gallery.slots[order]]
    return ranks


def parameter_recall(program, case, epsilons, share, dimensions, alpha, bandwidth, neighbours=10, codes="pca",
                     queries=100):
    """Instance recall@8 when the share nearest to the released place of every slot is carried, for each
    (iterations, epsilon); epsilon None: no noise."""
    def compute():
        with tempfile.TemporaryDirectory() as folder:
            _, data, inspected = build_pack(program, case, folder, "--slots", "group", "--slot-count", SLOTS,
                                            "--dims", dimensions, "--alpha", alpha, "--bandwidth", bandwidth,
                                            "--neighbours", neighbours, "--codes", codes)
        sigmas = {None: 0.0, **{row["epsilon"]: row["sigma"] for row in inspected["table"]}}
        chosen, count = np.arange(min(queries, len(case.queries))), case.count(share)
        result = {"sensitivity": inspected["sensitivity"], "rows": []}
        for iterations in ITERATIONS:
            gallery = server.Gallery(data, case.raw[case.parts["gallery"]], case.labels, iterations=iterations)
            slots, true = true_rows(gallery.pack, case, chosen)
            for epsilon in [None, *epsilons]:
                distances = released_distances(gallery, slots, true, sigmas[epsilon])
                result["rows"].append({"iterations": iterations, "epsilon": epsilon,
                                       **summary([measure(case, distances, [count], chosen)[count]])})
        return result
    return cached(compute, "embedding", case.digest, epsilons, share, dimensions, alpha, bandwidth, neighbours, codes, queries,
                  SLOTS, TOP,
                  digest_of(*SOURCES))


def true_rows(pack, case, chosen):
    """The slots of some queries and their rows before any noise."""
    slots = np.array([pack.slot_of(label) for label in case.query_labels[chosen]])
    features = server.quantise_rows(case.raw[case.parts["queries"][chosen]])
    return slots, server.feature_graph(pack, features, slots).step(pack.slot_codes[slots].astype(float), pack.anchor_codes)


def released_distances(gallery, slots, true, sigma):
    rng, centres, result = np.random.default_rng(0), centres_of(gallery.pack, gallery.frames), []
    for slot, row in zip(slots, true):
        rows = centres.copy()
        rows[slot] = row
        result.append(slot_distances(gallery, rows + rng.normal(size=rows.shape) * sigma))
    return np.array(result)


# Fig. 7 ----------------------------------------------------------------------------------------------------------

def alignment(program, case, epsilons, alpha=0.5, shown=12):
    """Released rows, and where the server puts them among its items: of one query of the set at each epsilon."""
    def compute():
        files = case.files()
        with tempfile.TemporaryDirectory() as folder:
            path, data, _ = build_pack(program, case, folder, "--slots", "class", "--alpha", alpha,
                                       "--bandwidth", case.sigma, "--codes", "random", "--dims", 2)
            store = "sqlite:" + os.path.join(folder, "case.store")
            program.run("index", "--pack", path, "--features", files["gallery"][0], "--labels", files["gallery"][1],
                        "--cells-per-item", 1, "--iterations", 5, "--store", store)
            panels = []
            for epsilon in epsilons:
                out = os.path.join(folder, f"{epsilon:g}.cbor")
                receipt = program.run("privatize", "--pack", path, "--features", files["queries"][0],
                                      "--labels", files["queries"][1], "--mechanism", "gaussian", "--epsilon", epsilon,
                                      "--value-bytes", 2, "--out", out, "--json")
                rows = [slot["row"] for slot in program.run("decode", out, "--pack", path, "--json")["slots"]]
                found = program.run("find", "--release", out, "--pack", path, "--store", store, "--top", 0, "--json")
                panels.append({"epsilon": epsilon, "sigma": receipt["sigma"], "rows": rows,
                               "places": [slot["place"] for slot in found["slots"]]})
        gallery = server.Gallery(data, case.raw[case.parts["gallery"]], case.labels)
        pack = gallery.pack
        (slot,), true = true_rows(pack, case, np.arange(1))
        rows = centres_of(pack, gallery.frames)
        rows[slot] = true[0]
        every = max(1, pack.G // shown)

        def some(points, slots):
            return [[*map(float, point), int(slot)] for point, slot in zip(points, slots) if slot % every == 0]
        return {"panels": panels, "slots": pack.G, "slot": int(slot), "true": true[0].tolist(),
                "true_place": gallery.frames.place(rows)[slot].tolist(), "items": some(gallery.places, gallery.slots),
                "anchors": some(gallery.frames.client[0], pack.anchor_slots)}
    return cached(compute, "alignment", case.digest, epsilons, alpha, shown, digest_of(*SOURCES))
