# SPDX-License-Identifier: Apache-2.0
"""What the first index of a large gallery costs, step by step, beside FAISS at the same recall; and what changes cost.

    build/venv/bin/python bench/index_speed.py --data DIR [--items N] [--threads N] [--nlist N,...] [--before PROGRAM] [--json]

The gallery is that of bench/utility_large.py, of a million items unless told otherwise. All lines come from one run of
bench_index, and FAISS's from the same run of this program: IndexIVFFlat, float32, inner products, with the fewest lists
looked at that reach our recall of the 16 nearest of 1000 items, all by exact truth in float32. Of several numbers of lists
the one that is fastest by these 1000. `seconds` pass on the clock; `CPU` are those of all threads, which other programs on
the machine change less."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True    # keeps the source tree clean
import numpy as np  # noqa: E402
from utility_data import ROOT, Program, load_cases, stop  # noqa: E402
from utility_large import folder_of  # noqa: E402

REACH, SAMPLE = 16, 1000
SHARE, CELLS, SKETCH = 0.01, 44, 256
STEPS = ["rows", "neighbours", "lists", "sketches"]    # of bench_index: a first index
CHANGES = ["items that come", "items that go"]
CHANGED = 1000


class Line:
    """One row of the table: what, seconds on the clock and of processors, recall or None, and what it is compared with."""

    def __init__(self, what, seconds, used, recall=None, note=""):
        self.what, self.seconds, self.used, self.recall, self.note = what, seconds, used, recall, note

    def values(self):
        return {"what": self.what, "seconds": self.seconds, "cpu": self.used, "recall": self.recall, "note": self.note}


def total(what, lines):
    return Line(what, sum(line.seconds for line in lines), sum(line.used for line in lines))


# Truth -----------------------------------------------------------------------------------------------------------

class Truth:
    """The true neighbours of some items, by inner products of float32."""

    def __init__(self, rows):
        self.places = np.sort(np.random.default_rng(0).choice(len(rows), min(SAMPLE, len(rows)), replace=False))
        own = rows[self.places]
        best, near = np.full((len(own), 0), 0, np.float32), np.zeros((len(own), 0), np.int64)
        for first in range(0, len(rows), 50_000):    # the best so far and those of the next piece
            scores = own @ rows[first:first + 50_000].T
            best = np.concatenate([best, scores], axis=1)
            near = np.concatenate([near, np.broadcast_to(np.arange(first, first + scores.shape[1]), scores.shape)], axis=1)
            kept = np.argpartition(-best, REACH, axis=1)[:, :REACH + 1]
            best, near = np.take_along_axis(best, kept, 1), np.take_along_axis(near, kept, 1)
        order = np.argsort(-best, axis=1, kind="stable")
        self.lists = self.others(np.take_along_axis(near, order, 1))

    def others(self, lists):
        """Without the item itself."""
        return [set(found[found != own][:REACH]) for found, own in zip(lists, self.places)]

    def recall(self, lists):
        """`lists`: a set of each of the items."""
        return float(np.mean([len(true & found) / REACH for true, found in zip(self.lists, lists)]))


# Ours ------------------------------------------------------------------------------------------------------------

def own_lines(program, folder, gallery, threads, truth):
    """A line for each step of bench_index, by its name."""
    pack = os.path.join(folder, "speed.pmpk")
    program.run("pack", "--features", os.path.join(folder, "public.npy"), "--cells", CELLS, "--sketch", SKETCH, "--out", pack,
                "--force")
    with tempfile.TemporaryDirectory() as temporary:
        neighbours = os.path.join(temporary, "neighbours.npy")
        done = subprocess.run([os.path.join(ROOT, "build", "release", "bench", "bench_index"), "--pack", pack, "--features",
                               gallery, "--share", str(SHARE), "--threads", str(threads), "--neighbours", neighbours, "--json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            stop(f"bench_index ended with {done.returncode}: {done.stderr.strip()}")
        lists = np.load(neighbours).reshape(-1, REACH)
    lines = {row["what"]: Line(row["what"], row["seconds"], row["of processors"]) for row in json.loads(done.stdout)["rows"]}
    recalls = {row["what"]: row["recall"] for row in json.loads(done.stdout)["rows"]}
    lines["neighbours"].recall = truth.recall([set(found) for found in lists[truth.places]])
    for name in CHANGES:
        lines[name].recall, lines[name].note = recalls[name], "recall by truth in int8"
    return lines


# FAISS -----------------------------------------------------------------------------------------------------------

def clocked(act):
    """What it returns, seconds, seconds of processors."""
    start, used = time.monotonic(), time.process_time()
    result = act()
    return result, time.monotonic() - start, time.process_time() - used


class Lists:
    """An index of FAISS with so many lists, and what it took to make."""

    def __init__(self, faiss, rows, count):
        self.count, columns = count, rows.shape[1]
        self.coarse = faiss.IndexFlatIP(columns)    # FAISS does not keep it alive
        self.index = faiss.IndexIVFFlat(self.coarse, columns, count, faiss.METRIC_INNER_PRODUCT)
        self.index.cp.niter, self.index.cp.max_points_per_centroid = 10, 39    # the least that it does not warn of
        def fill():
            self.index.train(rows)
            self.index.add(rows)
        _, self.seconds, self.used = clocked(fill)

    def tune(self, rows, truth, recall):
        """The fewest lists looked at that reach the recall; seconds that all items would take."""
        own = np.ascontiguousarray(rows[truth.places])
        for self.probes in range(1, self.count + 1):
            self.index.nprobe = self.probes
            (_, found), seconds, _ = clocked(lambda: self.index.search(own, REACH + 1))
            self.recall = truth.recall(truth.others(found))
            if self.recall >= recall:
                break
        self.expected = self.seconds + seconds * len(rows) / len(own)


def faiss_line(rows, truth, recall, threads, counts):
    """The best of FAISS, or None where it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(threads)
    best = None
    for count in counts or [int(len(rows) ** 0.5 * factor) for factor in (1, 2)]:
        lists = Lists(faiss, rows, count)
        lists.tune(rows, truth, recall)
        print(f"FAISS with {count} lists, {lists.probes} looked at: recall {lists.recall:.4f}, about {lists.expected:.0f} s",
              file=sys.stderr, flush=True)
        best = lists if best is None or lists.expected < best.expected else best
    _, seconds, used = clocked(lambda: best.index.search(rows, REACH + 1))
    return Line("neighbours by FAISS", best.seconds + seconds, best.used + used, best.recall,
                f"IndexIVFFlat, {best.count} lists, {best.probes} looked at; {best.seconds:.1f} s of it to fill the index")


# The command ----------------------------------------------------------------------------------------------------

def timed_command(what, *command):
    """A line for a run of the command, a store on disk included."""
    used, start = os.times(), time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        stop(f"{what}: {done.stderr.strip()}")
    seconds, now = time.monotonic() - start, os.times()
    return Line(what, seconds, now.children_user + now.children_system - used.children_user - used.children_system)


def command_lines(chosen, folder, gallery, rows):
    """The first index, CHANGED items more and CHANGED less; and the first index by an older program, if there is one."""
    pack, source = os.path.join(folder, "speed.pmpk"), np.random.default_rng(1)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        more, less = os.path.join(temporary, "more.npy"), os.path.join(temporary, "less.txt")
        near = rows[source.integers(len(rows), size=CHANGED)]
        np.save(more, (near + 0.02 * source.standard_normal(near.shape)).astype("<f4"))
        with open(less, "w", encoding="utf-8") as stream:
            stream.writelines(f"{item}\n" for item in source.choice(len(rows), CHANGED, replace=False))
        store = "sqlite:" + os.path.join(temporary, "store")
        index = [chosen.program, "index", "--pack", pack, "--store", store]
        whole = timed_command("index, all of it", *index, "--features", gallery, "--list", round(SHARE * len(rows)))
        lines = [whole, timed_command(f"index --add, {CHANGED} items", *index, "--add", more),
                 timed_command(f"index --remove, {CHANGED} items", *index, "--remove", less)]
        if chosen.before:
            lines.append(timed_command("index by an older program", chosen.before, "index", "--pack", pack, "--features", gallery,
                                       "--share", SHARE, "--store", "sqlite:" + os.path.join(temporary, "older")))
    for line in lines[1:]:
        line.note = f"{line.seconds / whole.seconds:.2f} of the whole index"
    return lines


# All of it -------------------------------------------------------------------------------------------------------

def lines_of(chosen):
    folder, gallery = folder_of(load_cases(chosen.data), chosen.items)
    rows = np.load(gallery)
    truth = Truth(rows)
    own = own_lines(Program(chosen.program), folder, gallery, chosen.threads, truth)
    lines = [own[name] for name in STEPS] + [total("all of these", [own[name] for name in STEPS])]
    other = faiss_line(rows, truth, own["neighbours"].recall, chosen.threads, chosen.nlist)
    if other:
        other.note += f"; ours is {other.seconds / own['neighbours'].seconds:.1f} times as fast, " \
                      f"{other.used / own['neighbours'].used:.1f} by CPU"
        lines.append(other)
    return lines + [own[name] for name in CHANGES] + command_lines(chosen, folder, gallery, rows)


def write(lines, items):
    print(f"| {items} items | seconds | CPU | recall | |\n|---|---|---|---|---|")
    for line in lines:
        recall = "" if line.recall is None else f"{line.recall:.4f}"
        print(f"| {line.what} | {line.seconds:.2f} | {line.used:.2f} | {recall} | {line.note} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", metavar="DIR", required=True)
    parser.add_argument("--items", type=int, default=1_000_000, help="at least 3000. Default 1000000")
    parser.add_argument("--threads", type=int, default=2, help="Default 2")
    parser.add_argument("--nlist", type=lambda text: [int(part) for part in text.split(",")], help="numbers of lists to try")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "cli", "privatemail"))
    parser.add_argument("--before", metavar="PROGRAM", help="an older command, whose index is timed too")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.items < 3000:
        stop("--items must be at least 3000")
    lines = lines_of(chosen)
    if chosen.json:
        print(json.dumps({"items": chosen.items, "lines": [line.values() for line in lines]}))
    else:
        write(lines, chosen.items)


if __name__ == "__main__":
    main()
