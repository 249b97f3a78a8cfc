# SPDX-License-Identifier: Apache-2.0
"""Large galleries for bench/utility.py: all sets of 256 features pooled, and copies of their items that are moved a
little towards one of their neighbours, until there are as many as wanted. Queries are drawn like the items: more such
copies. Public rows are never copied; some of them serve as queries that are unlike the items."""
import os
import time

import numpy as np

from utility_data import FOLDER, PUBLIC_SHARE, QUERIES, cached, digest_of, stop, unit

COLUMNS, NEIGHBOURS, PIECE = 256, 8, 20_000
SKETCH = 256                      # bytes
SETTINGS = [(0.001, [4, 6, 8]), (0.01, [2, 4, 6])]
UNLIKE = (0.01, [6])              # share and ε of the queries that are unlike the items
SIZES = [100_000, 1_000_000]


def pooled(cases):
    """Unit rows of all sets of COLUMNS features, shuffled: public ones, others, and the set of each of the others."""
    rows = [unit(case.raw.astype(np.float32)) for case in cases if case.raw.shape[1] == COLUMNS]
    if not rows:
        stop(f"none of the data sets has {COLUMNS} features, which the large galleries are pooled from")
    sets = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    order = np.random.default_rng(cases[0].seed).permutation(len(sets))
    rows, sets, public = np.concatenate(rows)[order], sets[order], int(PUBLIC_SHARE * len(sets))
    return rows[:public], rows[public:], sets[public:]


def neighbours_of(rows, sets):
    """NEIGHBOURS of each row in its own set."""
    lists = np.zeros((len(rows), NEIGHBOURS), np.int64)
    for which in range(sets.max() + 1):
        own = np.flatnonzero(sets == which)
        for first in range(0, len(own), 2000):
            part = own[first:first + 2000]
            cosines = rows[part] @ rows[own].T
            cosines[np.arange(len(part)), np.arange(first, first + len(part))] = -2
            lists[part] = own[np.argpartition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]]
    return lists


def copies(source, rows, lists, own):
    """Copies of rows[own]: up to half the way to a neighbour, and noise of a tenth of their length."""
    other = lists[own, source.integers(NEIGHBOURS, size=len(own))]
    step = source.uniform(0, 0.5, (len(own), 1)).astype(np.float32)
    noise = source.standard_normal((len(own), COLUMNS), np.float32) * np.float32(0.1 / COLUMNS ** 0.5)
    return unit(rows[own] + step * (rows[other] - rows[own]) + noise)


def write_gallery(path, source, rows, lists, count):
    out = np.lib.format.open_memmap(path + ".tmp", "w+", np.dtype("<f4"), (count, COLUMNS))
    for first in range(0, count, PIECE):
        out[first:first + PIECE] = copies(source, rows, lists, np.arange(first, min(first + PIECE, count)) % len(rows))
    out.flush()
    del out
    os.replace(path + ".tmp", path)


def folder_of(cases, count):
    """A folder with public.npy, queries.npy and a gallery of this size."""
    folder = os.path.join(FOLDER, f"large-{cases[0].seed}" if cases[0].seed else "large")
    os.makedirs(folder, exist_ok=True)
    gallery = os.path.join(folder, f"gallery-{count}.npy")
    if not os.path.exists(gallery):
        public, rows, sets = pooled(cases)
        lists, source = neighbours_of(rows, sets), np.random.default_rng(cases[0].seed + 1)
        np.save(os.path.join(folder, "public.npy"), public)
        np.save(os.path.join(folder, "unlike.npy"), public[:QUERIES])
        np.save(os.path.join(folder, "queries.npy"), copies(source, rows, lists, source.integers(len(rows), size=QUERIES)))
        write_gallery(gallery, source, rows, lists, count)
    return folder, gallery


def index_seconds(program, folder, gallery, share, cells):
    """What `privatemail index` takes, a store on disk included."""
    pack, store = os.path.join(folder, "large.pmpk"), os.path.join(folder, "large.store")
    program.run("pack", "--features", os.path.join(folder, "public.npy"), "--cells", cells,
                "--sketch", SKETCH, "--out", pack, "--force")
    start = time.monotonic()
    program.run("index", "--pack", pack, "--features", gallery, "--share", share, "--store", "sqlite:" + store, "--force")
    seconds = time.monotonic() - start
    size = os.path.getsize(store)
    os.remove(store)
    return {"seconds": seconds, "store": size}


def evaluate(program, folder, gallery, queries, share, epsilons):
    """Queries unlike the items are public rows, which must not vote for themselves."""
    return program.run("evaluate", "--public", os.path.join(folder, "public.npy"), "--queries", os.path.join(folder, queries),
                       "--gallery", gallery, "--slots", "one", "--sketch", SKETCH, "--share", share,
                       "--epsilon", ",".join(map(str, epsilons)), "--voters", "none", "--json")["rows"]


def large(program, cases, build, sizes=SIZES):
    """One row a size, share and ε; and, a size, what queries unlike the items find."""
    rows, unlike = [], []

    def kept(compute, *key):
        return cached(compute, "large", [case.digest for case in cases], *key, build, digest_of("utility_large"))

    for count in sizes:
        for share, epsilons in SETTINGS:
            def compute():
                folder, gallery = folder_of(cases, count)
                found = evaluate(program, folder, gallery, "queries.npy", share, epsilons)
                indexed = index_seconds(program, folder, gallery, share, found[-1]["cells"])
                return [{**row, "index": indexed} for row in found]
            rows += [{**row, "count": count} for row in kept(compute, count, share, epsilons)]
        unlike += kept(lambda: evaluate(program, *folder_of(cases, count), "unlike.npy", *UNLIKE), count, UNLIKE)
    return rows, unlike
