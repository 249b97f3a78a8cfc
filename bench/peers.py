#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast are we beside others? Our stages and other people's libraries on the same rows, in one process, on one thread,
in turns: every round measures each of them once, and a ratio is taken within a round. Times are CPU time of the process, so
that a round in which the machine did something else counts no more than others; given are quartiles over the rounds.

    taskset -c 1 build/venv/bin/python bench/peers.py                 all of it, some minutes
    build/venv/bin/python bench/peers.py --part scan,noise --json     scan, graph, release, noise, sets
    build/venv/bin/python bench/peers.py --quick                      small and few: do they agree? 'N passed, N failed'

The part `sets` needs --data DIR, a folder of data sets, each with features.npy: how often int8 finds what float32 finds.
Needs the release build and, from PyPI, faiss-cpu, usearch, scikit-learn and opendp (scripts/bench.sh installs them).
"""
import argparse
import importlib.metadata
import json
import os
import sys
import time

sys.dont_write_bytecode = True    # keeps the source tree clean
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np  # noqa: E402

from peers_library import RESPONSE, Library, Rows, floats, quantise, reference_neighbours, shared  # noqa: E402
from paper_formulas import SIGMA_Q, code_kernel, code_step, paper_labels, unit  # noqa: E402
from utility_data import stop  # noqa: E402

NEIGHBOURS, QUERIES = 10, 16      # FAISS turns to BLAS at 20 queries at once; a device has one


# Measuring -------------------------------------------------------------------------------------------------------

class Method:
    """name, what to run, how much of it is one unit, and how often it runs in a sample."""

    def __init__(self, name, run, units=1, repeats=1):
        self.name, self.run, self.units, self.repeats, self.samples = name, run, units, repeats, []

    def sample(self):
        start = time.process_time_ns()
        for _ in range(self.repeats):
            self.run()
        self.samples.append((time.process_time_ns() - start) / 1e3 / self.units / self.repeats)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)


def in_turns(methods, rounds, what):
    for method in methods:
        method.run()                                                   # warms up
    for index in range(rounds):
        for method in methods:
            method.sample()
        progress(f"{what}: round {index + 1} of {rounds}")
    progress("")


def quartiles(values):
    low, median, high = np.percentile(values, (25, 50, 75))
    return {"low": low, "median": median, "high": high}


def rows_of(methods, **more):
    """One row a method; `times ours`: how much longer it takes than the first."""
    ours = np.array(methods[0].samples)
    return [{"method": method.name, "time": quartiles(method.samples),
             "times ours": quartiles(np.array(method.samples) / ours), **more} for method in methods]


def made_up(rows, columns, seed):
    """Rows of 32 hidden dimensions in `columns` features, and noise: neighbours mean something, as in pictures' features."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(0).normal(size=(32, columns))
    return floats(unit(rng.normal(size=(rows, 32)) @ mixing / np.sqrt(32) + 0.3 * rng.normal(size=(rows, columns))))


# Others ----------------------------------------------------------------------------------------------------------

def own_kernels(library):
    return list(dict.fromkeys((library.own, library.best)))


def import_faiss():
    import faiss
    faiss.omp_set_num_threads(1)
    return faiss


def faiss_levels(faiss):
    """Names of the SIMD levels to measure: AVX2, ours; and the CPU's best, FAISS's default."""
    if not hasattr(faiss, "SIMDConfig"):
        return {"as loaded": lambda: None}
    best, avx2 = faiss.SIMDConfig.get_level(), getattr(faiss, "SIMDLevel_AVX2")
    names = {}
    for level in (avx2, best):
        if faiss.SIMDConfig.is_simd_level_available(level):
            faiss.SIMDConfig.set_level(level)
            names[faiss.SIMDConfig.get_level_name()] = lambda level=level: faiss.SIMDConfig.set_level(level)
    return names


def faiss_indices(faiss, rows):
    flat, quantised = faiss.IndexFlatL2(rows.shape[1]), faiss.IndexScalarQuantizer(rows.shape[1], faiss.ScalarQuantizer.QT_8bit)
    for index in (flat, quantised):
        index.train(rows)
        index.add(rows)
    return {"FAISS IndexFlatL2": flat, "FAISS 8-bit quantiser": quantised}


def faiss_methods(rows, queries, found):
    faiss = import_faiss()
    methods = []
    for level, choose in faiss_levels(faiss).items():
        for name, index in faiss_indices(faiss, rows).items():
            def run(name=f"{name}, {level}", index=index, choose=choose):
                choose()
                found[name] = index.search(queries, NEIGHBOURS)[1]
            methods.append(Method(f"{name}, {level}", run, len(queries)))
    return methods


def numpy_search(rows, norms, queries):
    result = []
    for query in queries:
        distances = norms - 2 * (rows @ query)
        nearest = np.argpartition(distances, NEIGHBOURS)[:NEIGHBOURS]
        result.append(nearest[np.argsort(distances[nearest])])
    return np.array(result)


def other_methods(rows, queries, found):
    from sklearn.neighbors import NearestNeighbors
    from usearch.index import search
    norms, brute = (rows * rows).sum(1), NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute", n_jobs=1).fit(rows)
    small_rows, small_queries = quantise(rows).astype(np.int8), quantise(queries).astype(np.int8)

    def keep(name, compute):
        def run():
            found[name] = compute()
        return Method(name, run, len(queries))
    return [keep("numpy, OpenBLAS", lambda: numpy_search(rows, norms, queries)),
            keep("usearch exact, float32", lambda: search(rows, queries, NEIGHBOURS, "cos", exact=True, threads=1).keys),
            keep("usearch exact, int8", lambda: search(small_rows, small_queries, NEIGHBOURS, "cos", exact=True, threads=1).keys),
            keep("scikit-learn brute", lambda: brute.kneighbors(queries, return_distance=False))]


def cpu():
    """Its name and, where that says little, family and model."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        fields = dict(map(str.strip, line.split(":", 1)) for line in file if ":" in line)
    return f"{fields.get('model name', 'an unnamed CPU')}, family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"


def versions():
    faiss = import_faiss()
    names = {name: importlib.metadata.version(name) for name in ("faiss-cpu", "numpy", "usearch", "scikit-learn", "opendp")}
    return {**names, "FAISS was compiled for": faiss.get_compile_options().strip(), "FAISS levels": list(faiss_levels(faiss)),
            "CPU": cpu()}


# Parts -----------------------------------------------------------------------------------------------------------

def part_scan(library, quick, rounds):
    result = []
    for n in (500,) if quick else (1000, 10000):
        rows, queries = made_up(n, 64 if quick else 512, 1), made_up(QUERIES, 64 if quick else 512, 2)
        packs, found = {kernel: Rows(library, rows, kernel) for kernel in own_kernels(library)}, {}
        methods = []
        for kernel, pack in packs.items():
            def scan(kernel=kernel, pack=pack, queries=queries, found=found):
                found["ours, " + kernel] = pack.scan(queries)
            methods.append(Method("ours, " + kernel, scan, len(queries)))
        methods += faiss_methods(rows, queries, found) + other_methods(rows, queries, found)
        for method in methods:
            method.repeats = max(1, 8000 // n)                         # what the others left in the caches counts for little
        in_turns(methods, rounds, f"scan of {n}")
        many = made_up(500, rows.shape[1], 3)
        exact, flat = reference_neighbours(*packs[library.own].quantised(), many, NEIGHBOURS), import_faiss().IndexFlatL2(rows.shape[1])
        flat.add(rows)
        for row in rows_of(methods, n=n, d=rows.shape[1]):
            row["same as FAISS IndexFlatL2"] = shared(found[row["method"]], flat.search(queries, NEIGHBOURS)[1])
            result.append(row)
        for row, pack in zip(result[-len(methods):], packs.values()):
            scanned = pack.scan(many)
            row.update({"same as FAISS IndexFlatL2": shared(scanned, flat.search(many, NEIGHBOURS)[1]),
                        "same as the int8 reference": float((scanned == exact).all(1).mean())})
            pack.close()
    return result


def part_graph(library, quick, rounds):
    n, d = (400, 64) if quick else (20000, 512)
    rows, found = made_up(n, d, 4), {}
    pack, faiss = Rows(library, rows, library.own), import_faiss()

    def ours():
        found["ours"] = pack.graph()
    methods = [Method(f"ours, {library.own}", ours)]
    if library.best != library.own:
        best = Rows(library.another(library.best), rows, library.best)
        methods.append(Method(f"ours, {library.best}", best.graph))
    for level, choose in faiss_levels(faiss).items():
        index = faiss.IndexFlatL2(d)
        index.add(rows)

        def search(choose=choose, index=index):
            choose()
            found["faiss"] = index.search(rows, NEIGHBOURS + 1)[1]
        methods.append(Method(f"FAISS IndexFlatL2, all rows, {level}", search))
    in_turns(methods, rounds, "graph")
    result = rows_of(methods, n=n, d=d)
    values, inverse = pack.quantised()
    some = np.arange(0, n, max(1, n // 500))
    scores = (values[some].astype(np.float64) @ values.T.astype(np.float64)).astype(np.int64) * inverse.astype(np.int64)
    scores[np.arange(len(some)), some] = -1 << 62           # never itself
    exact = np.argsort(-scores, axis=1, kind="stable")[:, :NEIGHBOURS]
    others = np.array([[j for j in line if j != i][:NEIGHBOURS] for i, line in enumerate(found["faiss"].tolist())])
    result[0]["same as the int8 reference"] = float((found["ours"][some] == exact).all(1).mean())
    result[0]["same as FAISS IndexFlatL2"] = shared(found["ours"], others)
    pack.close()
    return result


def paper_iteration(public, query, labels, rng):
    """NOT PRIVATE: what the paper's client does for one query: the dense graph, one update, noise (Gaussian, float)."""
    rows = np.r_[query[None], public]
    codes = SIGMA_Q * rng.normal(size=(len(rows), 2))
    step = code_step(code_kernel(rows), paper_labels(labels), codes)
    return step + rng.normal(size=step.shape)


def part_release(library, quick, rounds):
    d, public, repeats = (64, 100, 4) if quick else (512, 1000, 64)
    rng, query = np.random.default_rng(5), made_up(1, d, 6)
    anchors, prototypes = made_up(public, d, 7), made_up(96 if quick else 800, d, 8)
    slots = len(prototypes) // 8
    packs = {"response": Rows(library, prototypes, library.own, RESPONSE, NEIGHBOURS, slots, 8),
             "Gaussian": Rows(library, anchors, library.own)}
    labels = rng.integers(0, 98, public + 1)
    wide, result = anchors.astype(np.float64), []
    for name, pack in packs.items():
        methods = [Method(f"our {name} release, {library.own}", lambda pack=pack: pack.release(query, repeats), repeats),
                   Method("the paper's dense client iteration (NOT PRIVATE), float64",
                          lambda: paper_iteration(wide, query[0].astype(np.float64), labels, rng)),
                   Method("the same in float32 (NOT PRIVATE)", lambda: paper_iteration(anchors, query[0], labels, rng))]
        in_turns(methods, rounds, f"release, {name}")
        result += rows_of(methods, mechanism=name.lower(), n=public + 1, d=d,
                          bytes=int(pack.release(query, 1)))
        pack.close()
    return result


def part_noise(library, quick, rounds):
    import opendp.prelude as dp
    dp.enable_features("contrib")
    count, ours, shift = (200, 2000, 10) if quick else (2000, 100000, 10)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)
    measurement, zeros = dp.m.make_gaussian(*space, scale=float(1 << shift)), [0] * count
    found = {"ours": [], "OpenDP": []}
    methods = [Method("ours, exact, ChaCha20 included", lambda: found["ours"].append(library.deviates(shift, ours)), ours),
               Method("OpenDP discrete Gaussian", lambda: found["OpenDP"].append(measurement(zeros)), count),
               Method("numpy normal, rounded (NOT PRIVATE)",
                      lambda: np.rint(np.random.default_rng().normal(scale=1 << shift, size=ours)), ours)]
    in_turns(methods, rounds, "noise")
    result = rows_of(methods)
    for row, name in zip(result, found):
        drawn = np.concatenate([np.asarray(some, float) for some in found[name]])
        row["deviation by that wanted"], row["drawn"] = float(drawn.std() / (1 << shift)), len(drawn)
    return result


def part_sets(library, folder, queries=500):
    result = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "features.npy")
        if not os.path.exists(path):
            continue
        rows = floats(unit(np.load(path).astype(np.float64)))
        rows = rows[np.random.default_rng(0).permutation(len(rows))]
        asked, kept = rows[:queries], np.ascontiguousarray(rows[queries:])
        pack, faiss = Rows(library, kept, library.own), import_faiss()
        flat = faiss.IndexFlatL2(rows.shape[1])
        flat.add(kept)
        truth, scanned = flat.search(asked, NEIGHBOURS)[1], pack.scan(asked)
        small = faiss_indices(faiss, kept)["FAISS 8-bit quantiser"]
        result.append({"set": name, "n": len(kept), "d": rows.shape[1], "queries": len(asked),
                       "top 10 of int8 in float32's": shared(scanned, truth),
                       "FAISS 8-bit quantiser": shared(small.search(asked, NEIGHBOURS)[1], truth),
                       "same as the int8 reference": float((scanned == reference_neighbours(*pack.quantised(), asked, NEIGHBOURS))
                                                           .all(1).mean())})
        pack.close()
    return result or stop(f"{folder} holds no data set: --data takes a folder of folders with features.npy")


# All of it -------------------------------------------------------------------------------------------------------

PARTS = {"scan": (part_scan, 41), "graph": (part_graph, 5), "release": (part_release, 21), "noise": (part_noise, 21)}


def check(parts):
    """What --quick must find: not times, but that all ran and agree."""
    passed = failed = 0
    for name, holds in (
            [(f"scan equals the int8 reference, n = {row['n']}", row["same as the int8 reference"] == 1)
             for row in parts["scan"] if "same as the int8 reference" in row]
            + [(f"{row['method']} finds what FAISS IndexFlatL2 finds: {row['same as FAISS IndexFlatL2']:.3f}",
                row["same as FAISS IndexFlatL2"] > 0.9) for row in parts["scan"]]
            + [("the graph equals the int8 reference", parts["graph"][0]["same as the int8 reference"] == 1),
               ("releases have their length", all(row["bytes"] > 20 for row in parts["release"]))]
            + [(f"{row['method']}: deviation {row['deviation by that wanted']:.3f}", abs(row["deviation by that wanted"] - 1) < 0.15)
               for row in parts["noise"][:2]]):
        passed, failed = passed + holds, failed + (not holds)
        print(("ok      " if holds else "FAILED  ") + name)
    print(f"{passed} passed, {failed} failed")
    return failed


def say(parts):
    for name, rows in parts.items():
        print(f"{name}:")
        for row in rows:
            print("  " + ", ".join(f"{key} {value['median']:.4g} ({value['low']:.4g} … {value['high']:.4g})"
                                   if isinstance(value, dict) else f"{key} {value:.4g}" if isinstance(value, float)
                                   else f"{key} {value}" for key, value in row.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", metavar="A,B", help="scan, graph, release, noise, sets. Default: all, sets with --data only")
    parser.add_argument("--data", metavar="DIR", help="folder of data sets for the part sets")
    parser.add_argument("--rounds", type=int, help="rounds of each part. Default: scan 41, graph 5, release and noise 21")
    parser.add_argument("--quick", action="store_true", help="small sizes, 3 rounds, checks instead of times")
    parser.add_argument("--json", action="store_true", help="the numbers on stdout, times in microseconds of CPU time")
    chosen = parser.parse_args()
    names = chosen.part.split(",") if chosen.part else list(PARTS) + ["sets"] * bool(chosen.data)
    unknown = [name for name in names if name not in PARTS and name != "sets"]
    if unknown or ("sets" in names and not chosen.data):
        parser.error(f"there is no part {unknown[0]}" if unknown else "the part sets needs --data DIR")
    try:
        stated, library = versions(), Library()
    except (ImportError, importlib.metadata.PackageNotFoundError) as missing:
        stop(f"{missing}: build/venv/bin/pip install faiss-cpu usearch scikit-learn opendp (scripts/bench.sh does)")
    parts = {name: part_sets(library, chosen.data) if name == "sets" else
             PARTS[name][0](library, chosen.quick, chosen.rounds or (3 if chosen.quick else PARTS[name][1])) for name in names}
    if chosen.quick:
        sys.exit(check(parts) > 0)
    if chosen.json:
        json.dump({"bench": "peers", "versions": stated, "parts": parts}, sys.stdout, indent=1)
        print()
    else:
        say({"versions": [stated], **parts})


if __name__ == "__main__":
    main()
