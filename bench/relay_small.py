# SPDX-License-Identifier: Apache-2.0
"""A small service: three people per epoch, and the relay's own noise for (0.1, 1e-6) with 125 cells.

    python3 bench/relay_small.py path/to/privatemail [--data DIR --set NAME] [--epochs N] [--seconds S] [--trials N]

Starts `serve` with keys and a real relay. In every epoch three `query --relay` ask as processes. One epoch is not
measured; then come N of S seconds. Afterwards `audit` attacks the server's view of the relay's policy in whole epochs.
Prints the table of docs/SCALE.md. Without --data it takes the sample gallery. --check: one epoch and 1000 audited ones."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "tests", "cli"))
import numpy as np  # noqa: E402
from harness import Tester  # noqa: E402
from relay import CELLS, seconds_of  # noqa: E402
from relay_parts import Gateway  # noqa: E402
from relaying import Relay  # noqa: E402
from utility_data import Program, load_cases, sample_case  # noqa: E402

PEOPLE, TOP, SHARE, FLOOR = 3, 8, "0.02", "10"
EPSILON, DELTA, COPIES = "0.1", "1e-6", "20"


def prepare(tester, case):
    for name, rows in case.parts.items():
        tester.save(name + ".npy", case.raw[rows])
    tester.succeeds("pack", "pack", "--features", "public.npy", "--cells", CELLS, "--out", "one.pmpk")
    tester.succeeds("index", "index", "--pack", "one.pmpk", "--features", "gallery.npy", "--share", SHARE, "--store",
                    "sqlite:one.store")
    tester.succeeds("keys", "keys", "--out", "keys")
    return tester.read("one.pmpk")[8:24]


class Ends(threading.Thread):
    """Notes when epochs end: when the relay names the next one."""

    def __init__(self, relay, pack):
        super().__init__(daemon=True)
        self.relay, self.pack, self.ends, self.over = relay, pack, {}, False

    def run(self):
        last = self.relay.epoch(self.pack)["epoch"]
        while not self.over:
            now = self.relay.epoch(self.pack)["epoch"]
            if now != last:
                self.ends[last], last = time.monotonic(), now
            time.sleep(0.05)


def ask(tester, relay, rows):
    """Three people in one epoch; what each was told, and when the last one had the answer."""
    people = [subprocess.Popen([tester.program, "query", "--relay", relay.url, "--pack", "one.pmpk", "--features", "queries.npy",
                                "--row", str(row), "--noise", "relay", "--epsilon", EPSILON, "--delta", DELTA, "--copies-max",
                                COPIES, "--floor", FLOOR, "--top", str(TOP), "--json"], cwd=tester.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for row in rows]
    done = [person.communicate(timeout=300) for person in people]
    if any(person.returncode != 0 for person in people):
        raise SystemExit("relay_small: a query failed: %s" % done)
    return [json.loads(out) for out, _ in done], time.monotonic()


def serve(tester, case, pack, epochs, seconds):
    """What `epochs` epochs cost and found, after one that is not measured. Between the answers of one epoch and those of
    the next the relay draws and sends the noise of one epoch, whatever else it waits for."""
    told, waits = [], []
    with Gateway(tester, "--log", "off") as server, \
            Relay(tester, server.url, "--log", "off", "--noise-for", "%s,%s,%s" % (EPSILON, DELTA, COPIES), epoch=seconds,
                  clients=PEOPLE) as relay:
        noise = relay.epoch(pack)["noise"]
        ends = Ends(relay, pack)
        ends.start()
        for epoch in range(epochs + 1):
            answers, when = ask(tester, relay, range(PEOPLE * epoch, PEOPLE * (epoch + 1)))
            state = seconds_of(relay.process), seconds_of(server.process), server.metric("queries_total")
            if epoch == 0:
                before = state
                continue
            told += answers
            waits.append(when - ends.ends[answers[0]["epoch"]])
        ends.over = True
        ends.join()
    found = np.mean([len({result["id"] for result in one["results"]} & set(case.truth[PEOPLE + i])) / TOP
                     for i, one in enumerate(told)])
    busy_relay, busy_server, messages = ((b - a) / epochs for a, b in zip(before, state))
    return {"noise": noise, "relay": busy_relay, "server": busy_server, "messages": messages, "found": found,
            "wait": float(np.median(waits)), "share": np.mean([one["share"] for one in told])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--data", metavar="DIR")
    parser.add_argument("--set", metavar="NAME")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=20, help="of an epoch. Default 20: the noise is drawn meanwhile")
    parser.add_argument("--trials", type=int, default=10000, help="epochs that are audited per record. Default 10000")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    if chosen.check:
        chosen.epochs, chosen.trials = 1, 1000
    case = (load_cases(chosen.data, [chosen.set] if chosen.set else None)[0] if chosen.data
            else sample_case(Program(chosen.program)))
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(chosen.program, folder)
        tester.patience = 900
        seen = serve(tester, case, prepare(tester, case), chosen.epochs, chosen.seconds)
        noise = seen["noise"]
        audit = tester.json("audit", "audit", "--pack", "one.pmpk", "--relay-clusters", repr(noise["clusters"]), "--copies",
                            noise["copies"], "--delta", DELTA, "--floor", FLOOR, "--trials", chosen.trials)
    print("| %d clients per epoch of %d s, noise of the relay for (%s, %s), %d cells; %s, %d items; load before %.1f | |\n|---|---|"
          % (PEOPLE, chosen.seconds, EPSILON, DELTA, CELLS, case.name, len(case.gallery), load))
    print("| noise | %.0f clusters of 1 to %d on average, %.0f fakes |" % (noise["clusters"], noise["copies"],
                                                                       noise["clusters"] * (noise["copies"] + 1) / 2))
    print("| messages per epoch at the server | %.0f, the mean of %d epochs |" % (seen["messages"], chosen.epochs))
    print("| CPU per epoch | relay %.1f s, server %.1f s |" % (seen["relay"], seen["server"]))
    print("| the last answer is there | %.1f s after the epoch's end (median) |" % seen["wait"])
    print("| found of the true %d | %.2f, with %.2f %% of the gallery per answer, floor %s |" % (TOP, seen["found"],
                                                                                   100 * seen["share"], FLOOR))
    print("| server's view audited | %d epochs per record, %.0f messages each, in %.0f s: epsilon of at least %.3f proved, "
          "%.3f accounted, violated: %s |" % (audit["trials"], audit["releases"] / audit["trials"] / 2, audit["seconds"],
                                             audit["epsilon_lower"], audit["epsilon"], "yes" if audit["violated"] else "no"))
    return 1 if tester.failed or audit["violated"] else 0


if __name__ == "__main__":
    sys.exit(main())
