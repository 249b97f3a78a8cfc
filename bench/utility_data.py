# SPDX-License-Identifier: Apache-2.0
"""Data sets, the measure all methods share, the command, and the cache of results, for bench/utility.py."""
import hashlib
import json
import os
import subprocess
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FOLDER = os.path.join(ROOT, "build", "bench")
TOP = 8
PUBLIC_SHARE, QUERIES = 0.35, 500

# The paper's appendix A by the first letters of a data set's folder; other sets take Cars196's.
PAPER_TABLE = {"cub": {"name": "CUB-200", "sigma": 5.0, "alpha": 0.5}, "cifar": {"name": "CIFAR-100", "sigma": 6.0, "alpha": 0.6},
               "cars": {"name": "Cars196", "sigma": 6.0, "alpha": 0.6}}


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def stop(message):
    sys.exit("utility: " + message)


# The command -----------------------------------------------------------------------------------------------------

class Program:
    """The `privatemail` command; its JSON as Python values."""

    def __init__(self, path):
        self.path = path
        if not os.access(path, os.X_OK):
            stop(f"there is no program {path}: run scripts/demo.sh or build the release preset, or give --program PATH")

    def run(self, *arguments, may_fail=False):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode == 0:
            return json.loads(done.stdout) if "--json" in arguments else done.stdout
        if may_fail:
            return None
        stop(f"privatemail {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")


# Data ------------------------------------------------------------------------------------------------------------

class Case:
    """One data set, split into public rows, gallery and queries; what is true about it."""

    def __init__(self, folder, features, labels, seed=0, queries=QUERIES):
        short = next((key for key in PAPER_TABLE if folder.startswith(key)), None)
        table = PAPER_TABLE.get(short, {"name": folder, "sigma": 6.0, "alpha": 0.6})
        self.folder, self.name, self.sigma, self.alpha = folder, table["name"], table["sigma"], table["alpha"]
        self.seed = seed
        order = np.random.default_rng(seed).permutation(len(labels))
        public = int(PUBLIC_SHARE * len(labels))
        queries = min(queries, len(labels) // 10)
        self.parts = {"public": order[:public], "queries": order[public:public + queries], "gallery": order[public + queries:]}
        self.raw, self.raw_labels = np.ascontiguousarray(features, "<f4"), np.ascontiguousarray(labels, "<i4")
        self.public, self.queries, self.gallery = (unit(self.raw[self.parts[part]].astype(np.float64))
                                                   for part in ("public", "queries", "gallery"))
        self.public_labels, self.query_labels, self.labels = (self.raw_labels[self.parts[part]]
                                                              for part in ("public", "queries", "gallery"))
        self.classes = int(labels.max()) + 1
        self.digest = hashlib.sha256(self.raw.tobytes() + self.raw_labels.tobytes() + b"%d %d" % (seed, queries)).hexdigest()
        self._learn_truth()

    def _learn_truth(self):
        self.cosines = (self.queries @ self.gallery.T).astype(np.float32)
        self.truth = np.argsort(-self.cosines, axis=1, kind="stable")[:, :TOP]

    def inside(self, seed=1):
        """A case made of the public rows alone: to choose parameters without looking at gallery or queries."""
        rows = self.parts["public"]
        return Case(self.folder, self.raw[rows], self.raw_labels[rows], seed)

    def count(self, share):
        return max(TOP, round(share * len(self.gallery)))

    def files(self):
        """The split as files for the command: {part: (features, labels)}."""
        folder = os.path.join(FOLDER, "split", self.digest[:16])
        os.makedirs(folder, exist_ok=True)
        paths = {}
        for part, rows in self.parts.items():
            paths[part] = tuple(os.path.join(folder, name) for name in (part + ".npy", part + "_labels.npy"))
            for path, values in zip(paths[part], (self.raw[rows], self.raw_labels[rows])):
                if not os.path.exists(path):
                    np.save(path + ".tmp.npy", values)
                    os.replace(path + ".tmp.npy", path)
        return paths


def load_cases(folder, names=None, seed=0):
    """The named sets of a folder; without names those of the paper; without any of them, all."""
    if not os.path.isdir(folder):
        stop(f"there is no folder {folder}: --data takes a folder of data sets, each with features.npy and labels.npy")
    present = sorted(name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, "features.npy")))
    chosen = names or [name for key in PAPER_TABLE for name in present if name.startswith(key)] or present
    missing = [name for name in chosen if name not in present]
    if missing or not chosen:
        stop(f"{folder} holds no {', '.join(missing) or 'data set'}: it has {', '.join(present) or 'none'}")
    return [Case(name, *(np.load(os.path.join(folder, name, part + ".npy")) for part in ("features", "labels")), seed)
            for name in chosen]


def sample_case(program, per_class=250):
    """Drawn shapes, pooled and split like every other set."""
    folder = os.path.join(FOLDER, f"sample-{per_class}")
    if not os.path.isdir(folder):
        os.makedirs(FOLDER, exist_ok=True)
        program.run("sample", "--out", folder, "--no-images", "--per-class", per_class)
    features, labels = (np.concatenate([np.load(os.path.join(folder, part + suffix)) for part in ("public", "gallery", "queries")])
                        for suffix in (".npy", "_labels.npy"))
    return Case("shapes", features, labels)


# The measure -----------------------------------------------------------------------------------------------------

def measure(case, distances, counts, queries=None):
    """What a device finds when the `count` items nearest by `distances` (queries * gallery) are carried to it and it
    ranks them exactly: {count: (instance recall, class recall, precision)}, each an array over the queries."""
    queries = np.arange(len(distances)) if queries is None else queries
    most, truth, labels = max(counts), case.truth[queries], case.query_labels[queries]
    nearest = np.argpartition(distances, most - 1, axis=1)[:, :most]
    ranks = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1)
    nearest = np.take_along_axis(nearest, ranks, axis=1)
    cosines = np.take_along_axis(case.cosines[queries], nearest, axis=1)
    result = {}
    for count in counts:
        best = np.argpartition(-cosines[:, :count], TOP - 1, axis=1)[:, :TOP]
        found = np.take_along_axis(nearest, best, axis=1)
        same = case.labels[found] == labels[:, None]
        result[count] = ((found[:, :, None] == truth[:, None, :]).any(2).mean(1), same.any(1).astype(float), same.mean(1))
    return result


def summary(samples):
    """Rows of `measure` over several draws as means with standard errors over the queries."""
    values = {}
    for name, draws in zip(("instance_recall", "class_recall", "precision"), zip(*samples)):
        of_queries = np.mean(draws, axis=0)
        values[name] = float(of_queries.mean())
        values[name + "_se"] = float(of_queries.std(ddof=1) / np.sqrt(len(of_queries)))
    return values


# The cache -------------------------------------------------------------------------------------------------------

def digest_of(*modules):
    """Of the sources that made a result: a changed method is computed again."""
    text = hashlib.sha256()
    for module in modules:
        with open(os.path.join(ROOT, "bench", module + ".py"), "rb") as file:
            text.update(file.read())
    return text.hexdigest()[:16]


def cached(compute, kind, *key):
    """The JSON value of compute(), kept under build/bench/cache by `kind` and everything in `key`."""
    name = hashlib.sha256(json.dumps(key, default=str).encode()).hexdigest()[:20]
    path = os.path.join(FOLDER, "cache", f"{kind}-{name}.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    value = json.loads(json.dumps(compute()))
    write_json(path, value)
    return value


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(path + ".tmp", path)
