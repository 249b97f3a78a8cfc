# SPDX-License-Identifier: Apache-2.0
"""The tables of "Speed" in docs/RESULTS.md, as lines of markdown, from the JSON of the benches."""
import textwrap


DEFAULT_SKETCH = 131  # bytes


class NotMeasured(KeyError):
    """A part that a table needs is not there."""


class Results(dict):
    """What each part measured, by its name."""

    def __missing__(self, part):
        raise NotMeasured(part)


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows]


def number(value):
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def time(quartiles):
    """Microseconds with their quartiles, in the unit that reads best."""
    for unit, size in (("s", 1e6), ("ms", 1e3), ("µs", 1), ("ns", 1e-3)):
        if quartiles["median"] >= size or unit == "ns":
            low, median, high = (number(quartiles[key] / size) for key in ("low", "median", "high"))
            return f"{median} {unit} ({low} – {high})"


def times(quartiles):
    return f"{number(quartiles['median'])} ({number(quartiles['low'])} – {number(quartiles['high'])})"


def percent(share):
    return f"{100 * share:.1f} %"


# Tables ----------------------------------------------------------------------------------------------------------

def kernels(results):
    rows = results["kernels"]["rows"]
    widths = sorted({row["d"] for row in rows if row["what"] == "dots_s8"})
    lines = []
    for name in dict.fromkeys(row["kernel"] for row in rows):
        of = {(row["what"], row["d"]): row for row in rows if row["kernel"] == name}
        dots = [of["dots_s8", d] for d in widths]
        rest = [next(row for (what, _), row in of.items() if what == wanted) for wanted in ("quantise", "sha256")]
        lines.append([name] + [f"{number(row['products per ns'])} ({number(row['times portable'])}×)" for row in dots]
                     + [f"{time(row['time'])} ({number(row['times portable'])}×)" for row in rest])
    return table(["kernel"] + [f"d = {d}" for d in widths] + ["quantise 512 features", "SHA-256 of 16384 bytes"], lines)


def query(results):
    lines = []
    for part in ("query", "query-best"):
        for row in results[part]["rows"]:
            if part == "query" or (row["d"] == 512 and row["n"] >= 1000 and row["kernel"] != results["query"]["rows"][0]["kernel"]):
                lines.append([row["mechanism"], row["kernel"], str(row["n"]), str(row["d"]), time(row["arm"]), time(row["quantise"]),
                              time(row["scan"]), time(row["release"]), number(row["scan by read"]),
                              number(row["scan by roofline"])])
    return table(["mechanism", "kernel", "n", "d", "arm", "quantise", "scan", "release", "scan by read",
                  "scan by roofline"], lines)


def scan(results):
    return table(["n", "method", "one query", "times ours", "same as FAISS IndexFlatL2", "same as the int8 reference"],
                 [[str(row["n"]), row["method"], time(row["time"]), times(row["times ours"]),
                   percent(row["same as FAISS IndexFlatL2"]),
                   percent(row["same as the int8 reference"]) if "same as the int8 reference" in row else "-"]
                  for row in results["peers"]["parts"]["scan"]])


def graph(results):
    lines = [[row["method"], time(row["time"]), times(row["times ours"])] for row in results["peers"]["parts"]["graph"]]
    return table(["10 nearest of 20000 × 512, all rows", "time", "times ours"], lines)


def pack(results):
    of = {(row["kernel"], row["what"]): row for part in ("pack", "pack-best") for row in results[part]["rows"]}
    names, whats = (list(dict.fromkeys(key[index] for key in of)) for index in (0, 1))
    return table(["20000 × 512, 100 cells, one thread"] + names,
                 [[what] + [time(of[name, what]["time"]) for name in names] for what in whats])


def opened(results):
    """For "Speed": pack opening."""
    rows = results["open"]["rows"]
    return table([f"opening a pack of {number(rows[0]['bytes'] / 1e6)} MB", "open", "SHA-256 of its bytes", "read of its bytes",
                  "open by hash", "open by read", "MB per second"],
                 [[row["kernel"], time(row["open"]), time(row["hash"]), time(row["read"]), number(row["open by hash"]),
                   number(row["open by read"]), number(row["MB/s"])] for row in rows])


def ranked(results):
    rows = results["rank"]["rows"]
    return table([f"ranking {rows[0]['candidates']} candidates, {rows[0]['kernel']}", "directions", "bytes", "rank", "SHA-256 of the bytes",
                  "read of the bytes", "speed by read and hash", "ns per candidate", "GB per second"],
                 [[f"{row['sketches']}, {row['sketch']}", str(row["directions"]), str(row["bytes"]), time(row["rank"]), time(row["hash"]),
                   time(row["read"]), number(row["speed of read and hash"]), number(row["ns per candidate"]), number(row["GB/s"])]
                  for row in rows])


def release(results):
    return table(["method", "time", "times ours"], [[row["method"], time(row["time"]), times(row["times ours"])]
                                                    for row in results["peers"]["parts"]["release"]])


def noise(results):
    lines = [[row["method"], time(row["time"]), times(row["times ours"]),
              f"{row['deviation by that wanted']:.3f} of {row['drawn']}" if "drawn" in row else "-"]
             for row in results["peers"]["parts"]["noise"]]
    return table(["one normal deviate, σ = 1024", "time", "times ours", "deviation by that wanted"], lines)


def draws(results):
    return table(["draw", "of them at once", "time", "million per second"],
                 [[row["draw"], str(row["draws"]), time(row["time"]), number(row["million per second"])]
                  for row in results["noise"]["rows"]])


def sets(results):
    if "sets" not in results["peers"]["parts"]:
        raise NotMeasured("sets")
    return table(["set", "n", "d", "int8, ours", "FAISS 8-bit quantiser", "ours as the int8 reference"],
                 [[row["set"], str(row["n"]), str(row["d"]), percent(row["top 10 of int8 in float32's"]),
                   percent(row["FAISS 8-bit quantiser"]), percent(row["same as the int8 reference"])]
                  for row in results["peers"]["parts"]["sets"]])


def growth(results):
    return table(["mechanism", "instructions a product", "a row", "a call", "farthest from the line"],
                 [[name, f"{fit['a product']:.3f}", number(fit["a row"]), f"{fit['a call']:.0f}", percent(fit["farthest off"])]
                  for name, fit in results["growth"]["fits"].items()])


def machine(results):
    stated = results["peers"]["versions"]
    line = (f"Measured with faiss-cpu {stated['faiss-cpu']} (compiled for {stated['FAISS was compiled for']}; measured at "
            f"{' and at '.join(stated['FAISS levels'])}), numpy {stated['numpy']}, usearch {stated['usearch']}, scikit-learn "
            f"{stated['scikit-learn']}, opendp {stated['opendp']}; on {stated['CPU']}.")
    return textwrap.wrap(line, 120, break_on_hyphens=False)


# Goals -----------------------------------------------------------------------------------------------------------

def goal_values(results):
    """[(goal, what was measured, met)]"""
    parts, own = results["peers"]["parts"], results["query"]["rows"][0]["kernel"]

    def found(rows, **wanted):
        return next(row for row in rows if all(row[key] == value for key, value in wanted.items()))

    def slower(rows, method):
        return [row["times ours"]["median"] for row in rows if row["method"].startswith(method)]
    beyond = found(results["query"]["rows"], mechanism="gaussian", n=262144, d=512)["scan by read"]
    level = results["peers"]["versions"]["FAISS levels"][0]
    flat, small = slower(parts["scan"], f"FAISS IndexFlatL2, {level}"), slower(parts["scan"], f"FAISS 8-bit quantiser, {level}")
    ours = [row for row in parts["scan"] if row["method"].startswith("ours")]
    graph_row, paper = slower(parts["graph"], "FAISS IndexFlatL2, all rows")[0], "the paper's dense client iteration"
    response, gaussian = (found(parts["release"], mechanism=name, method=f"{paper} (NOT PRIVATE), float64")["times ours"]["median"]
                          for name in ("response", "gaussian"))
    opendp, off = slower(parts["noise"], "OpenDP")[0], max(fit["farthest off"] for fit in results["growth"]["fits"].values())
    opening = found(results["open"]["rows"], kernel=own)["open by hash"]
    ranking = found(results["rank"]["rows"], sketch=DEFAULT_SKETCH)["speed of read and hash"]
    values = [
        ("Gaussian scan of 262144 × 512 at most 1.25 times a read of its bytes", f"{beyond:.2f}", beyond <= 1.25),
        ("Scan in cache at least 4 times as fast as FAISS IndexFlatL2", pairs(parts["scan"], flat), min(flat) >= 4),
        ("and twice as fast as its 8-bit quantiser", pairs(parts["scan"], small), min(small) >= 2),
        ("with the same neighbours for 99 %, and exactly those of the int8 reference",
         ", ".join(percent(min(row[key] for row in ours)) for key in ("same as FAISS IndexFlatL2", "same as the int8 reference")),
         all(row["same as FAISS IndexFlatL2"] >= 0.99 and row["same as the int8 reference"] == 1 for row in ours)),
        ("Graph of 20000 × 512 at least 3 times as fast as FAISS IndexFlatL2 searching all rows", f"{graph_row:.2f}", graph_row >= 3),
        ("Opening a pack at most 1.3 times as long as hashing its bytes", f"{opening:.2f}", opening <= 1.3),
        (f"Ranking an answer (sketches of {DEFAULT_SKETCH} bytes) at least half as fast as reading and hashing its bytes", f"{ranking:.2f}",
         ranking >= 0.5),
        ("Response release (100 slots of 8 cells, d = 512) at least 1000 times as fast as the paper's client", f"{response:.0f}",
         response >= 1000),
        ("Gaussian release with 1000 anchors at least 100 times", f"{gaussian:.0f}", gaussian >= 100),
        ("Exact normal deviates at least 10 times as fast as OpenDP's", f"{opendp:.1f}", opendp >= 10),
        ("Instructions linear in n·d within 5 %", f"{100 * off:.1f} % off", off <= 0.05)]
    if "sets" in parts:
        least = min(row["top 10 of int8 in float32's"] for row in parts["sets"])
        values.append(("Top 10 of int8 among those of float32 for 97 % on every data set", f"{percent(least)} at least", least >= 0.97))
    return own, values


def best_values(results):
    """What the CPU's best kernel reaches against FAISS's best level, by the beginning of a goal; nothing where that is ours."""
    best, parts = results["query-best"]["rows"][0]["kernel"], results["peers"]["parts"]
    level = results["peers"]["versions"]["FAISS levels"][-1]

    def ratios(rows, method):
        of = {(row["method"], row.get("n")): row["times ours"]["median"] for row in rows}
        return [of[name, n] / of[f"ours, {best}", n] for name, n in of if name == method]
    if best == results["query"]["rows"][0]["kernel"]:
        return best, {}
    beyond = next(row["scan by read"] for row in results["query-best"]["rows"]
                  if (row["mechanism"], row["n"], row["d"]) == ("gaussian", 262144, 512))
    return best, {"Gaussian scan": f"{beyond:.2f}",
                  "Scan in cache": pairs(parts["scan"], ratios(parts["scan"], f"FAISS IndexFlatL2, {level}")),
                  "and twice": pairs(parts["scan"], ratios(parts["scan"], f"FAISS 8-bit quantiser, {level}")),
                  "Opening": f"{next(row['open by hash'] for row in results['open']['rows'] if row['kernel'] == best):.2f}",
                  "Graph": f"{ratios(parts['graph'], f'FAISS IndexFlatL2, all rows, {level}')[0]:.2f}"}


def pairs(rows, values):
    """Ratios beside the sizes they belong to."""
    return ", ".join(f"{value:.1f} (n = {n})" for n, value in zip(dict.fromkeys(row["n"] for row in rows), values))


def goals(results):
    own, values = goal_values(results)
    best, others = best_values(results)
    return table([f"goal (one thread, kernel {own})", "measured", "met", f"{best}, FAISS at its best"],
                 [[goal, value, "yes" if met else "**no**", next((others[start] for start in others if goal.startswith(start)), "-")]
                  for goal, value, met in values])


def summary(results):
    """For docs/PLATFORMS.md."""
    own, parts = results["query"]["rows"][0]["kernel"], results["peers"]["parts"]
    scan_rows = [row for row in parts["scan"] if row["n"] == 1000]
    level = results["peers"]["versions"]["FAISS levels"][0]
    of = {row["method"]: row for row in scan_rows}
    lines = [["nearest 10 of 1000 × 512, exact", time(scan_rows[0]["time"]), "FAISS IndexFlatL2",
              time(of[f"FAISS IndexFlatL2, {level}"]["time"])]]
    lines += [["graph of 20000 × 512", time(parts["graph"][0]["time"]), "FAISS IndexFlatL2",
               time(next(row for row in parts["graph"] if row["method"].startswith("FAISS"))["time"])]]
    for row, other in zip(parts["release"][::3], parts["release"][1::3]):
        lines.append([f"whole {row['mechanism']} release, d = 512", time(row["time"]), "the paper's client (NOT PRIVATE)",
                      time(other["time"])])
    lines.append(["one exact normal deviate", time(parts["noise"][0]["time"]), "OpenDP", time(parts["noise"][1]["time"])])
    return table([f"one thread, kernel {own}", "ours", "beside it", "theirs"], lines)


TABLES = {function.__name__: function for function in
          (goals, machine, kernels, query, scan, graph, pack, opened, ranked, release, noise, draws, sets, growth, summary)}
