#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one whole query costs a device, from arm to the ranked list: instructions, bytes, and an estimate of the energy of
both. Prints the tables of docs/RESULTS.md, "Energy per query".

Instructions are counted, not estimated: by QEMU with -icount on Cortex-M4, M55, A53 and A76 without an operating system,
and by callgrind on x86-64. The same program runs everywhere and must send the same message and find the same list. Rows
are generated (256 features); the pack, the store and the answers are made by build/release/cli/privatemail. Energy is
these counts times assumed ranges, in the order of data sheets and papers: nothing was measured with a meter.

Exit codes: 0 done; 1 a message, a list or a limit is wrong; 2 wrong options; 3 a tool or the release build is missing.

Example: build/venv/bin/python bench/energy.py --json > energy.json        # about a minute
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
OUT = os.path.join("build", "energy")
COMMAND = os.path.join("build", "release", "cli", "privatemail")
FEATURES, PUBLIC, GALLERY = 256, 4000, 7000
COUNTS = (140, 1000)  # candidates of an answer
SHARES = ("0.02", "0.142857")  # of the gallery
STAGES = ("open", "init", "arm", "release", "begin", "feed", "finish")
QUERY = STAGES[2:]
FUNCTIONS = dict(zip(STAGES, ("pml_pack_open_with", "pml_client_init", "pml_client_arm", "pml_client_release",
                              "pml_ranking_begin", "pml_ranking_feed", "pml_ranking_finish")))
# Instructions of the portable kernels per candidate with coded sketches on a Cortex-M4, so that nobody makes them many
# more unseen.
LIMIT_PER_CANDIDATE = 10000

BOARD = "platform/baremetal"
FLAGS = ["-std=c11", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Icore", "-Icore/include", "-Iplatform", "-Ibench",
         "-DNDEBUG"] + [f"-DPML_WITH_{part}=1" for part in ("RESPONSE", "GAUSSIAN", "CROWD", "FRONT", "HEAD")]
BARE = ["-ffreestanding", "-fno-pic", "-ffunction-sections", "-fno-tree-loop-distribute-patterns", "-I" + BOARD,
        "-Itests/baremetal"]
M_SOURCES = [f"{BOARD}/startup.c"]
A_SOURCES = ["tests/baremetal/virt_start.S"]
BARE_SOURCES = [f"{BOARD}/semihosting.c", f"{BOARD}/memory_functions.c", "tests/baremetal/report.c",
                "tests/baremetal/instruction_clock.c", "bench/energy_query.c", "bench/energy_firmware.c"]
LINK = ["-nostdlib", "-Wl,--build-id=none", "-Wl,--gc-sections"]


class Target:
    def __init__(self, name, level, compiler, cpu, start, link, machine):
        self.name, self.level, self.compiler, self.cpu, self.start = name, level, compiler, cpu, start
        self.link, self.machine = link, machine
        self.folder = os.path.join(OUT, name.lower().replace(" ", "-"))


def cortex_m(name, cpu, floats, board):
    return Target(name, "-Os", "arm-none-eabi-gcc", [f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=hard"] + floats, M_SOURCES,
                  ["-L" + BOARD, f"-T{board}.ld"], ["qemu-system-arm", "-M", board])


def cortex_a(name, cpu, sets):
    return Target(name, "-O2", "aarch64-linux-gnu-gcc", [f"-DSETS_THAT_RUN={sets}"], A_SOURCES,
                  ["-static", "-no-pie", "-Wl,--no-warn-rwx-segments", "-Ttests/baremetal/virt.ld"],
                  ["qemu-system-aarch64", "-M", "virt", "-cpu", cpu, "-net", "none"])


BOARDS = [cortex_m("Cortex-M4", "cortex-m4", ["-mfpu=fpv4-sp-d16"], "mps2-an386"),
          cortex_m("Cortex-M55", "cortex-m55", [], "mps3-an547"),
          cortex_a("Cortex-A53", "cortex-a53", 2), cortex_a("Cortex-A76", "cortex-a76", 3)]
HOST = Target("x86-64", "-O3", "gcc", [], [], [], [])

# Assumed, lowest and highest, and what kind of source they follow. Nothing was measured with a meter here, and no figure
# was compared with its source again: orders of magnitude.
NANOJOULES_PER_INSTRUCTION = {
    "Cortex-M4": (0.05, 0.8, "vendors' data sheets, 15 to 200 µA/MHz at 3 V, and 1 to 1.3 cycles per instruction"),
    "Cortex-M55": (0.05, 0.4, "vendors' data sheets, 15 to 60 µA/MHz at 3 V, and 1 to 2 cycles per instruction"),
    "Cortex-A53": (0.1, 0.5, "papers that metered boards with small and large cores"),
    "Cortex-A76": (0.1, 0.6, "reviewers' watts per core, divided by instructions per second"),
    "x86-64": (0.5, 3.0, "watts per busy core, divided by instructions per second"),
}
MICROJOULES_PER_BYTE = {
    "BLE": (0.1, 2.0, "vendors' data sheets, 14 to 20 mW at 1.3 to 0.7 Mbit/s of data; ten times as much in papers, with "
                      "short packets"),
    "Wi-Fi": (0.1, 7.0, "papers that metered phones, 137 nJ per bit and 133 mW (Huang and others, MobiSys 2012), 7 µJ per "
                        "byte (Balasubramanian and others, IMC 2009); a tenth of that in newer radios at full speed"),
    "LTE": (0.5, 4.0, "a paper that metered phones, 52 nJ per bit and 1288 mW, at 3 to 100 Mbit/s (Huang and others)"),
}
LTE_TAIL_JOULES = 12.3  # 11.6 s at 1.06 W after the last byte: the same paper


def fail(message, code=1):
    print("energy: " + message, file=sys.stderr)
    sys.exit(code)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(str(word) for word in command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


# Programs --------------------------------------------------------------------------------------------------------

def core_sources():
    """All but what no device needs."""
    text = open("core/sources.cmake").read()
    lists = re.findall(r"^set\((\w+)\n(.*?)^\)", text, re.M | re.S)
    names = [name for title, body in lists if "PUBLIC" not in title and "SHUFFLE" not in title
             for name in re.findall(r"^ +([a-z0-9_/]+\.c)$", body, re.M)]
    kernels = sorted(name for name in os.listdir("platform") if re.fullmatch(r"kernels_(?!select)\w+\.c", name))
    return ["core/" + name for name in names] + ["platform/" + name for name in kernels]


def compile_objects(target, sources, flags):
    os.makedirs(target.folder, exist_ok=True)
    objects = []
    for source in sources:
        objects.append(os.path.join(target.folder, os.path.splitext(os.path.basename(source))[0] + ".o"))
        run(target.compiler, target.level, *FLAGS, *target.cpu, *flags, "-c", source, "-o", objects[-1])
    return objects


def build_host():
    program = os.path.join(HOST.folder, "energy_host")
    run(HOST.compiler, *compile_objects(HOST, core_sources() + ["bench/energy_query.c", "bench/energy_host.c"], []), "-o",
        program)
    return program


# Material --------------------------------------------------------------------------------------------------------

def generate_rows():
    """48 hidden dimensions, 200 crowded places, noise."""
    import numpy as np
    random = np.random.default_rng(1)
    hidden = 48
    mixing, places = random.standard_normal((hidden, FEATURES)), random.standard_normal((200, hidden))
    for name, count in (("public", PUBLIC), ("gallery", GALLERY), ("query", 1)):
        inner = places[random.integers(0, len(places), count)] + 0.7 * random.standard_normal((count, hidden))
        rows = inner @ mixing / hidden ** 0.5 + 0.3 * random.standard_normal((count, FEATURES))
        np.save(os.path.join(OUT, name + ".npy"), rows.astype("<f4"))
        rows.astype("<f4").tofile(os.path.join(OUT, name + ".rows"))


def prepare(host):
    """Packs, the release that a fixed seed gives, and the answers to it. Returns the cases."""
    generate_rows()
    features, cases = os.path.join(OUT, "query.rows"), []
    for sketches, options in (("coded", []), ("plain", ["--plain-sketches"])):
        pack, release = (os.path.join(OUT, sketches + end) for end in (".pmpk", ".cbor"))
        run(COMMAND, "pack", "--features", os.path.join(OUT, "public.npy"), "--out", pack, "--force", *options)
        message = re.search(r"^message (\w+)$", run(host, "portable", pack, features), re.M)[1]
        with open(release, "wb") as file:
            file.write(bytes.fromhex(message))
        for count, share in zip(COUNTS, SHARES):
            store, answer = (os.path.join(OUT, f"{sketches}{count}{end}") for end in (".store", ".answer"))
            run(COMMAND, "index", "--pack", pack, "--features", os.path.join(OUT, "gallery.npy"), "--share", share, "--store",
                "sqlite:" + store, "--force")
            run(COMMAND, "find", "--release", release, "--pack", pack, "--store", "sqlite:" + store, "--out", answer, "--force")
            cases.append({"sketches": sketches, "candidates": count, "pack": pack, "features": features,
                          "answer": answer, "message": message, "bytes up": len(message) // 2,
                          "bytes down": os.path.getsize(answer), "pack bytes": os.path.getsize(pack)})
    return cases


# Counting --------------------------------------------------------------------------------------------------------

def read_counts(text):
    """Blocks of what the firmware prints, one per set of kernels."""
    for block in re.split(r"^kernels ", text, flags=re.M)[1:]:
        counts = {name: int(value) for name, value in re.findall(r"^figure (\w+) (\d+)$", block, re.M)}
        yield block.split()[0], counts, block


def count_on_board(target, objects, case):
    program = os.path.join(target.folder, f"{case['sketches']}{case['candidates']}.elf")
    run(target.compiler, target.level, *FLAGS, *target.cpu, *BARE, *LINK, *target.link,
        *(f'-DENERGY_{name}="{case[name.lower()]}"' for name in ("PACK", "ANSWER", "FEATURES")), "bench/energy_material.S",
        *target.start, *objects, "-lgcc", "-o", program)
    text = subprocess.run([*target.machine, "-nographic", "-icount", "shift=0", "-semihosting-config",
                           "enable=on,target=native", "-kernel", program], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300).stdout
    if "FAILED" in text or "kernels " not in text:
        fail(f"{target.name}: {text}")
    return list(read_counts(text))


def count_on_host(program, kernels, case):
    counts_file = os.path.join(HOST.folder, "callgrind.out")
    block = run("valgrind", "--tool=callgrind", f"--callgrind-out-file={counts_file}", program, kernels, case["pack"],
                case["features"], case["answer"])
    text = run("callgrind_annotate", "--inclusive=yes", "--threshold=100", counts_file)
    counts = {}
    for stage, function in FUNCTIONS.items():
        found = re.search(rf"^ *([\d,]+) .*:{function}\b", text, re.M)
        if not found:
            fail(f"callgrind saw no {function}")
        counts[stage] = int(found[1].replace(",", ""))
    return kernels, counts, block


def count_all(cases, host):
    rows, lists = [], {}
    def take(target, case, found):
        for kernels, counts, block in found:
            message, matches = (re.search(rf"^{word} (.*)$", block, re.M)[1].strip() for word in ("message", "matches"))
            wanted = lists.setdefault(case["answer"], matches)
            if message != case["message"] or matches != wanted or not matches:
                fail(f"{target.name}, {kernels}: message {message}, list {matches}; expected {case['message']}, {wanted}")
            rows.append({"cpu": target.name, "level": target.level, "kernels": kernels, "sketches": case["sketches"],
                         "candidates": case["candidates"], "stages": counts, "query": sum(counts[stage] for stage in QUERY)})
    for target in BOARDS:
        note(target.name)
        objects = compile_objects(target, core_sources() + BARE_SOURCES, BARE)
        for case in cases:
            take(target, case, count_on_board(target, objects, case))
    note(HOST.name)
    for case in cases:
        take(HOST, case, [count_on_host(host, kernels, case) for kernels in ("portable", "avx2")])
    # On a Cortex-A76 NEON without dot products is neither the best set nor the portable one.
    return [row for row in rows if (row["cpu"], row["kernels"]) != ("Cortex-A76", "neon")]


def per_candidate(rows, cpu, kernels, sketches):
    few, many = (found(rows, cpu, kernels, sketches, count) for count in COUNTS)
    return (many["query"] - few["query"]) / (many["candidates"] - few["candidates"])


# Reporting -------------------------------------------------------------------------------------------------------

def note(text):
    if sys.stderr.isatty():
        print(f"\r{text}      ", end="", file=sys.stderr, flush=True)


def thousands(count):
    return f"{count / 1000:,.0f}" if count >= 10000 else f"{count / 1000:.1f}"


def digits(value):
    """Two of them."""
    return f"{value:.2g}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def kernels_of(rows, cpu):
    """Portable, then the best."""
    return list(dict.fromkeys(row["kernels"] for row in rows if row["cpu"] == cpu))


def found(rows, cpu, kernels, sketches, candidates):
    return next(row for row in rows if (row["cpu"], row["kernels"], row["sketches"], row["candidates"]) ==
                (cpu, kernels, sketches, candidates))


def lines_of(rows, cases, cpu, sketches):
    """Instructions and bytes of a query: what it costs at least, and per candidate."""
    best = kernels_of(rows, cpu)[-1]
    few, many = (next(case for case in cases if (case["sketches"], case["candidates"]) == (sketches, count)) for count in COUNTS)
    slope = per_candidate(rows, cpu, best, sketches)
    bytes_slope = (many["bytes down"] - few["bytes down"]) / (COUNTS[1] - COUNTS[0])
    return (found(rows, cpu, best, sketches, COUNTS[0])["query"] - COUNTS[0] * slope, slope,
            few["bytes up"] + few["bytes down"] - COUNTS[0] * bytes_slope, bytes_slope)


def turning_point(rows, cases, cpu, sketches, nanojoules, microjoules):
    """Candidates from which on the radio takes more than the CPU; None: never."""
    fixed, slope, fixed_bytes, bytes_slope = lines_of(rows, cases, cpu, sketches)
    gain = bytes_slope * microjoules * 1000 - slope * nanojoules
    return max(0, (fixed * nanojoules - fixed_bytes * microjoules * 1000) / gain) if gain > 0 else None


def print_instructions(rows):
    few, many = COUNTS
    print(f"| CPU, level | kernels | sketches | open, init | arm | release | begin | feed, finish: {few} | **query: {few}** | "
          f"**query: {many:,}** | per candidate |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for cpu in NANOJOULES_PER_INSTRUCTION:
        for sketches in ("coded", "plain"):
            for kernels in kernels_of(rows, cpu):
                row = found(rows, cpu, kernels, sketches, few)
                stages = row["stages"]
                cells = [stages["open"] + stages["init"], stages["arm"], stages["release"], stages["begin"],
                         stages["feed"] + stages["finish"]]
                print(f"| {cpu}, {row['level']} | {kernels} | {sketches} | " + " | ".join(map(thousands, cells)) +
                      f" | **{thousands(row['query'])}** | **{thousands(found(rows, cpu, kernels, sketches, many)['query'])}** | "
                      f"{thousands(per_candidate(rows, cpu, kernels, sketches))} |")


def print_energy(cases, rows):
    print("| mJ per query | " + " | ".join(f"{case['sketches']}, {case['candidates']:,}" for case in cases) + " |")
    print("|---|" + "---|" * len(cases))
    print("| *bytes up and down* | " + " | ".join(f"*{case['bytes up']} + {case['bytes down']:,}*" for case in cases) + " |")
    for cpu, (low, high, _) in NANOJOULES_PER_INSTRUCTION.items():
        counts = [found(rows, cpu, kernels_of(rows, cpu)[-1], case["sketches"], case["candidates"])["query"] for case in cases]
        print(f"| {cpu}: {low} – {high} nJ per instruction | " +
              " | ".join(f"{digits(count * low * 1e-6)} – {digits(count * high * 1e-6)}" for count in counts) + " |")
    for radio, (low, high, _) in MICROJOULES_PER_BYTE.items():
        counts = [case["bytes up"] + case["bytes down"] for case in cases]
        print(f"| {radio}: {low} – {high} µJ per byte | " +
              " | ".join(f"{digits(count * low * 1e-3)} – {digits(count * high * 1e-3)}" for count in counts) + " |")
    print("| LTE: its tail, once | " + " | ".join([f"{LTE_TAIL_JOULES * 1000:,.0f}"] * len(cases)) + " |")


def print_turns(cases, rows):
    """The worst that the ranges allow for the CPU, and their geometric middles."""
    print("| the radio takes more from so many candidates on | " + " | ".join(MICROJOULES_PER_BYTE) + " |")
    print("|---|" + "---|" * len(MICROJOULES_PER_BYTE))
    for cpu, (low, high, _) in NANOJOULES_PER_INSTRUCTION.items():
        cells = []
        for least, most, _ in MICROJOULES_PER_BYTE.values():
            turns = [turning_point(rows, cases, cpu, "coded", (low * high) ** 0.5, (least * most) ** 0.5),
                     turning_point(rows, cases, cpu, "coded", high, least)]
            cells.append(", ".join("never" if turn is None else f"{turn:.0f}" for turn in turns))
        print(f"| {cpu}: middle of the ranges, worst | " + " | ".join(cells) + " |")


def print_tables(cases, rows):
    print("Thousands of instructions:\n")
    print_instructions(rows)
    print("\nEnergy, estimated:\n")
    print_energy(cases, rows)
    print()
    print_turns(cases, rows)
    print("\nWhere the ranges come from:\n")
    for name, (_, _, source) in {**NANOJOULES_PER_INSTRUCTION, **MICROJOULES_PER_BYTE}.items():
        print(f"* {name}: {source}.")


def check_tools():
    if not os.access(COMMAND, os.X_OK):
        fail(f"there is no {COMMAND}: build the release preset", 3)
    tools = {"valgrind", "callgrind_annotate", HOST.compiler} | {part for board in BOARDS
                                                                for part in (board.compiler, board.machine[0])}
    for tool in sorted(tools):
        if not shutil.which(tool):
            fail(f"no {tool}: run scripts/setup.sh --platforms", 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="the numbers on stdout instead of the tables")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    check_tools()
    os.makedirs(HOST.folder, exist_ok=True)
    note("material")
    host = build_host()
    cases = prepare(host)
    rows = count_all(cases, host)
    note("")
    if chosen.json:
        json.dump({"bench": "energy", "cases": cases, "rows": rows, "nanojoules per instruction": NANOJOULES_PER_INSTRUCTION,
                   "microjoules per byte": MICROJOULES_PER_BYTE, "LTE tail, joules": LTE_TAIL_JOULES}, sys.stdout, indent=1,
                  ensure_ascii=False)
        print()
    else:
        print_tables(cases, rows)
    most = per_candidate(rows, "Cortex-M4", "portable", "coded")
    if most > LIMIT_PER_CANDIDATE:
        fail(f"a candidate takes {most:.0f} instructions on a Cortex-M4, more than {LIMIT_PER_CANDIDATE}")


if __name__ == "__main__":
    main()
