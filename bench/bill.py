"""What a large service takes, from what one query costs: python3 bench/bill.py [--items N] [--rate Q] ...

Prints the tables of docs/SCALE.md: for every epsilon and every chance that the answer holds the right cell, the share f
that must be sent (g of PRIVACY 8, turned round), the bytes of an answer, the down-link, and the cores and memory behind
it. What sending costs is measured by bench/load.py and given by --gigabytes (bytes / CPU of the service, from memory) and
--database-gigabytes (bytes / CPU of PostgreSQL, with the cache off).

    python3 bench/bill.py --crowd build/release/cli/privatemail

prints the table of asking in a crowd instead, for noise of the relay as that command plans it."""
import argparse
import json
import math
import subprocess
import sys

CANDIDATES_MAX, CELLS_MAX = 1 << 20, 65536


def share(epsilon, chance):
    """The f with g_epsilon(f) = chance."""
    return chance / (chance + (1 - chance) * math.exp(epsilon))


def chance(epsilon, part):
    return part * math.exp(epsilon) / (1 + part * (math.exp(epsilon) - 1))


def amount(value, unit):
    for prefix, factor in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return "%.3g %s%s" % (value / factor, prefix, unit)
    return "%.3g %s" % (value, unit)


def planned_fakes(command, cells, given):
    """Fakes per epoch that a relay adds, from the command's plan."""
    done = subprocess.run([command, "crowd", "--noise", "relay", "--cells", str(cells), "--epsilon", str(given.epsilon),
                           "--delta", str(given.delta), "--copies-max", "20", "--json"], check=True, capture_output=True,
                          text=True)
    return json.loads(done.stdout)["fakes"]


def crowd(given):
    """One own message per query; the fakes' answers go from the server to the relay and no further."""
    print("| floor | cells | right cell in the answer | items | bytes per answer | down-link of phones | fakes per epoch | "
          "per query | server to relay | cores that send |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for cells in (4096, 65536, 1 << 20):
        fakes = planned_fakes(given.crowd, cells, given)
        for floor in (10, 12, 16):
            items = given.items / cells
            size = items * given.bytes
            each = fakes / (given.rate * given.epoch)
            inside = size * given.rate * (1 + each)
            print("| %g | %d | %.0f %% | %s | %s | %s | %s | %.2g | %s | %.0f |" % (
                floor, cells, 100 / (1 + (cells - 1) * math.exp(-floor)), amount(items, "").strip(), amount(size, "B"),
                amount(8 * size * given.rate, "bit/s"), amount(fakes, "").strip(), each, amount(8 * inside, "bit/s"),
                math.ceil(inside / (given.gigabytes * 1e9))))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("--items", type=float, default=1e9)
    parser.add_argument("--rate", type=float, default=1e6, help="queries per second")
    parser.add_argument("--bytes", type=float, default=27, help="of a candidate")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="that one core sends per second")
    parser.add_argument("--database-gigabytes", type=float, default=1.0, help="that one core of PostgreSQL reads per second")
    parser.add_argument("--missed", type=float, default=0.01, help="share of parts that are not in memory")
    parser.add_argument("--crowd", metavar="COMMAND", help="the table of a crowd, planned by this privatemail")
    parser.add_argument("--epsilon", type=float, default=0.1, help="of the crowd's promise")
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--epoch", type=float, default=60, help="seconds")
    given = parser.parse_args()
    if given.crowd:
        return crowd(given)
    print("| epsilon | right cell in the answer | f | items | bytes per answer | down-link | cores that send | cores of the "
          "database | fits |")
    print("|---|---|---|---|---|---|---|---|---|")
    for epsilon in (4, 6, 8, 10, 12, 16):
        for wanted in (0.5, 0.9):
            part = share(epsilon, wanted)
            items = max(1.0, part * given.items)
            size = items * given.bytes
            fits = []
            if items > CANDIDATES_MAX:
                fits.append("no: %.0f slots at least" % math.ceil(items / CANDIDATES_MAX))
            if 1 / part > CELLS_MAX:
                fits.append("no: m is at most 65536")
            print("| %g | %.0f %% | %.2g | %s | %s | %s | %.0f | %.0f | %s |" % (
                epsilon, 100 * wanted, part, amount(items, "").strip(), amount(size, "B"),
                amount(8 * size * given.rate, "bit/s"), math.ceil(size * given.rate / (given.gigabytes * 1e9)),
                math.ceil(given.rate * given.missed * size / (given.database_gigabytes * 1e9)), "; ".join(fits) or "yes"))
    print()
    print("| f | " + " | ".join("epsilon %g" % epsilon for epsilon in (2, 4, 6, 8, 10, 12)) + " | bytes per answer |")
    print("|---|" + "---|" * 7)
    for part in (0.1, 0.01, 1e-3, 1e-4, 1.6e-5):
        print("| %g | %s | %s |" % (part, " | ".join("%.3g" % chance(epsilon, part) for epsilon in (2, 4, 6, 8, 10, 12)),
                                    amount(part * given.items * given.bytes, "B")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
