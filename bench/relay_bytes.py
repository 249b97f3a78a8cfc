# SPDX-License-Identifier: Apache-2.0
"""Bytes of a query through a relay, all in: requests, replies and their fields, up and down.

    python3 bench/relay_bytes.py path/to/privatemail --data DIR [--sets NAME,...] [--queries N]

Packs and indexes each set for a crowd, starts `serve` with keys and a real relay, and lets N queries ask as processes, in
epochs of 20. The fakes per client are those of the plan for 10^6 clients; of those only 20 are here, so the commands
promise the floor alone. Prints the table of docs/RESULTS.md, what was found beside it. --check: the sample gallery, and
seconds instead of minutes."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "tests", "cli"))
import numpy as np  # noqa: E402
from harness import Tester  # noqa: E402
from relay_parts import Gateway  # noqa: E402
from relaying import Relay  # noqa: E402
from utility_data import Program, load_cases, sample_case  # noqa: E402

CLIENTS, TOP, DOWN = 20, 8, 0.02
# name, options of pack, of relay, and of query after those of the plan
WAYS = [("fakes by clients, planned for 10^6, half honest", ["--crowd", "1000000"], []),
        ("fakes by the relay", ["--noise", "relay"], ["--noise", "5,4"])]


def prepare(tester, case, options):
    """Pack, store and keys; what the plan says."""
    for name, rows in (("public", case.parts["public"]), ("gallery", case.parts["gallery"]), ("queries", case.parts["queries"])):
        tester.save(name + ".npy", case.raw[rows])
    told = tester.json("pack", "pack", "--features", "public.npy", *options, "--epsilon", "0.1", "--share", DOWN, "--force",
                       "--out", "one.pmpk")
    if os.path.exists(tester.path("one.store")):
        os.remove(tester.path("one.store"))
    tester.succeeds("index", "index", "--pack", "one.pmpk", "--features", "gallery.npy", "--share", told["share"], "--store",
                    "sqlite:one.store")
    if not os.path.exists(tester.path("keys")):
        tester.succeeds("keys", "keys", "--out", "keys")
    for name in os.listdir(tester.folder):
        if name.endswith((".cell", ".epoch", ".ohttp-keys")):
            os.remove(tester.path(name))
    return told


def ask(tester, relay, policy, rows):
    """One epoch of people; what each was told."""
    people = [subprocess.Popen([tester.program, "query", "--relay", relay.url, "--pack", "one.pmpk", "--features", "queries.npy",
                                "--row", str(row), *policy, "--top", str(TOP), "--wait", "60", "--json"], cwd=tester.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for row in rows]
    done = [person.communicate(timeout=120)[0] for person in people]
    if any(person.returncode != 0 for person in people):
        raise SystemExit("relay_bytes: a query failed: " + str([person.returncode for person in people]))
    return [json.loads(out) for out in done]


def measure(tester, case, options, noise, queries):
    plan = prepare(tester, case, options)
    crowd = plan["crowd"]
    policy = (["--relay-clusters", "5", "--copies", "4"] if noise else
              ["--crowd", str(CLIENTS), "--clusters", repr(crowd["clusters"]), "--copies", str(crowd["copies"])])
    told = []
    with Gateway(tester) as server, Relay(tester, server.url, *noise, clients=CLIENTS) as relay:
        for start in range(0, queries, CLIENTS):
            told += ask(tester, relay, policy, range(start, start + CLIENTS))
    found = np.mean([len({result["id"] for result in one["results"]} & set(case.truth[row])) / TOP
                     for row, one in enumerate(told)])
    mean = {key: np.mean([one[key] for one in told]) for key in ("messages", "bytes_up", "bytes_down", "share")}
    return plan, mean, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--data", metavar="DIR")
    parser.add_argument("--sets", metavar="NAME,...")
    parser.add_argument("--queries", type=int, default=200, help="a multiple of %d. Default 200" % CLIENTS)
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    names = chosen.sets.split(",") if chosen.sets else None
    cases = load_cases(chosen.data, names, 0) if chosen.data and not chosen.check else [sample_case(Program(chosen.program))]
    queries = CLIENTS if chosen.check else chosen.queries
    print("| set | fakes | cells | messages up | bytes up | bytes down | share down | found |\n|---|---|---|---|---|---|---|---|")
    for case in cases:
        for name, options, noise in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                tester = Tester(chosen.program, folder)
                plan, mean, found = measure(tester, case, options, noise, queries)
                if tester.failed:
                    return 1
            print("| %s, %d items | %s | %d | %.2f | %.0f | %.0f | %.2f %% | %.2f |" % (
                case.name, len(case.gallery), name, plan["cells"], mean["messages"], mean["bytes_up"], mean["bytes_down"],
                100 * mean["share"], found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
