"""Tests of `privatemail audit`: python3 tests/cli/test_audit.py path/to/privatemail [--long]

Packs of random data are audited: what is proved must never exceed the promise, and must come near it. Every check is of
chance: one that holds fails less than once in 1000 audits. --long: 10^6 trials, 4·10^5
epochs. Needs numpy. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import json
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402
from harness import INPUT, PRIVACY, USAGE, Tester, read_schemas, schema_faults  # noqa: E402

EPSILONS = (0.5, 1, 2, 4)
KINDS = {"anchor", "negated anchor", "prototype", "negated prototype", "random", "mean of anchors", "refined"}


def make_packs(tester):
    source = np.random.default_rng(11)
    labels = np.repeat(np.arange(4), 15)
    features = (source.standard_normal((4, 8))[labels] + source.standard_normal((60, 8))).astype("f4")
    tester.save("public.npy", features)
    tester.save("labels.npy", labels.astype("i4"))
    base = ["pack", "--features", "public.npy", "--labels", "labels.npy"]
    gaussian = ["--gaussian", "--rows-are-public", "--rows-per-prototype", 1, "--codes", "random"]
    packs = {
        "one": [*gaussian, "--slots", "one", "--neighbours", 1, "--cells", 4],
        "class": [*gaussian, "--slots", "class", "--neighbours", 2, "--cells", 10],
        "alpha": [*gaussian, "--slots", "class", "--neighbours", 3, "--cells", 5, "--alpha", 1, "--bandwidth", 1, "--dims", 3],
        "only": ["--slots", "class", "--cells", 6],
        "flat": ["--slots", "class", "--cells", 2],
    }
    for name, options in packs.items():
        tester.succeeds("pack " + name, *base, *options, "--out", name + ".pmpk")


def audit(tester, schemas, pack, mechanism, epsilon, trials, *more):
    """The report of an audit that must find nothing, checked as far as any report can be."""
    what = "%s of %s, epsilon %g" % (mechanism, pack, epsilon)
    command = [tester.program, "audit", "--pack", pack + ".pmpk", "--mechanism", mechanism, "--epsilon", epsilon,
               "--trials", trials, "--json", *more]
    for _ in range(3):  # a bound holds with 0.999: what is true is violated by chance once, hardly three times
        done = subprocess.run([str(word) for word in command], capture_output=True, cwd=tester.folder)
        if done.returncode == 0:
            break
    if not tester.check(done.returncode == 0 and not done.stderr, "%s: exit code %d, %s %s" %
                        (what, done.returncode, done.stderr.decode(), done.stdout.decode())):
        return None
    report = json.loads(done.stdout)
    faults = schema_faults(schemas["audit"], report)
    tester.check(not faults, "%s: %s" % (what, faults))
    tester.check(0 <= report["epsilon_lower"] <= epsilon and not report["violated"],
                 "%s: at least %g was proved" % (what, report["epsilon_lower"]))
    tester.check((report["epsilon"], report["mechanism"], report["confidence"]) == (epsilon, mechanism, 0.999),
                 what + ": the promise is told")
    tester.check({report["pair"]["first"], report["pair"]["second"]} <= KINDS and
                 report["pair"]["slots"] in ("same", "different"), "%s: pair %s" % (what, report["pair"]))
    tester.check(report["releases"] > 2 * report["trials"] and abs(
        report["releases_per_second"] * report["seconds"] / report["releases"] - 1) < 1e-6, what + ": counts")
    numbers = [report[key] for key in ("epsilon_lower_model_free", "mu", "mu_lower", "found_ratio")]
    if mechanism == "response":
        tester.check(numbers == [None] * 4 and report["delta"] == 0, what + ": nothing Gaussian is told")
    else:
        free, mu, mu_lower, ratio = numbers
        error = (2 / (0.9 * report["trials"])) ** 0.5 / mu  # standard deviation of the ratio
        tester.check(0 <= free <= epsilon and 0 <= mu_lower <= mu and ratio < 1 + 6 * error, "%s: %s" % (what, report))
    return report


def test_response(tester, schemas, long):
    for pack in ("one", "class"):
        for epsilon in EPSILONS:
            trials = (1000000 if long else 200000) if epsilon == 1 else 40000
            least = (0.8 if long else 0.7) if epsilon == 1 else 0.5
            for _ in range(5):    # once in eighty the first releases choose a poor event
                report = audit(tester, schemas, pack, "response", epsilon, trials, "--seed-pairs", 8)
                if report and report["epsilon_lower"] >= least * epsilon:
                    break
            tester.check(report and report["epsilon_lower"] >= least * epsilon and report["trials"] == trials,
                         "response of %s: %s is weak" % (pack, report))
    audit(tester, schemas, "only", "response", 1, 10000)


def test_crowd(tester, schemas, long):
    """Whole epochs: never above what is accounted for, and near it where δ can be seen. A short run proves less."""
    trials, near = (400000, 0.7) if long else (30000, 0.25)
    tester.patience = 600
    relay = ["--noise", "relay", "--epsilon", 1, "--copies-max", 3]
    cases = (("one", ["--crowd", 8, "--clusters", 4, "--copies", 2, "--delta", 0.01], near),
             ("one", ["--crowd", 16, "--epsilon", 1, "--delta", 0.02, "--copies-max", 3], near),
             ("flat", ["--crowd", 8, "--clusters", 4, "--copies", 2, "--delta", 0.03], near),
             ("one", ["--crowd", 3, "--clusters", 4, "--copies", 4, "--delta", 0.05, "--own", 2], 0),
             ("one", ["--crowd", 3, "--clusters", 0, "--copies", 1, "--floor", 1.5], 0.7),
             ("one", [*relay, "--delta", 0.02], near), ("flat", [*relay, "--delta", 0.03], near),
             ("one", [*relay, "--delta", 0.05, "--own", 2], 0))
    for pack, options, least in cases:
        for _ in range(5):  # a bound holds with 0.999, and now and then the first epochs choose a poor event
            report = json.loads(tester.run("audit", "--pack", pack + ".pmpk", "--honest", 1, *options, "--trials", trials,
                                           "--json").stdout)
            if least * report["epsilon"] <= report["epsilon_lower"] <= report["epsilon"]:
                break
        faults = schema_faults(schemas["audit"], report)
        tester.check(not faults and report["mechanism"] == "crowd" and report["trials"] == trials, "%s %s" % (faults, report))
        tester.check(least * report["epsilon"] <= report["epsilon_lower"] <= report["epsilon"] and not report["violated"],
                     "crowd of %s, %s: at least %g of %g was proved" % (pack, options, report["epsilon_lower"], report["epsilon"]))
        policy = ["--cells", 4 if pack == "one" else 8, "--own", report["own"], "--delta", report["delta"] or 1e-8,
                  "--floor", report["floor"]]
        if report["relay_clusters"] > 0:
            told = tester.json("crowd", "crowd", *policy, *relay)
            tester.check(told["relay_clusters"] == report["relay_clusters"] and report["clients"] == report["clusters"] == 0,
                         "the relay's clusters are the only ones: %s, %s" % (told, report))
        else:
            told = tester.json("crowd", "crowd", *policy, "--clients", report["clients"], "--honest", 1, "--clusters",
                               repr(report["clusters"]), "--copies", report["copies"])
        tester.check(told["promise"] == report["promise"] and told["epsilon"] <= report["epsilon"] * (1 + 1e-9),
                     "what is accounted for: %s, %s" % (told, report))
        expected = 2 * trials * ((report["clients"] or 1) * report["fakes"] + report["own"])
        tester.check(abs(report["releases"] / expected - 1) < 0.02, "all clients of all epochs: %s" % report)
    seen = []
    for _ in range(8):
        weak = tester.json("weak", "audit", "--pack", "class.pmpk", "--relay-clusters", 66, "--copies", 20, "--delta", 1e-6,
                           "--floor", 10, "--trials", 2000)
        tester.check(weak["epsilon_lower"] <= 10 and weak["promise"] == "floor", "noise of a relay: %s" % weak)
        seen.append(weak["epsilon_lower"])
    # An audit that guesses the symbols is right once in eight times: six of eight once in 10^4. One that knows them chooses
    # a poor event once in some hundred.
    tester.check(sum(least > 1 for least in seen) >= 6, "among many cells too little noise of a relay is seen: %s" % seen)
    text = tester.succeeds("text", "audit", "--pack", "one.pmpk", "--crowd", 16, "--clusters", 4, "--copies", 2, "--delta", 0.1,
                           "--trials", 1000).stdout.decode()
    tester.check("floor           epsilon 8" in text and "at least 8 clients are honest" in text and
                 "1000 epochs per record" in text, text)
    text = tester.succeeds("text", "audit", "--pack", "one.pmpk", *relay, "--delta", 0.1, "--trials", 1000).stdout.decode()
    tester.check("adds its fakes" in text and "epoch           1 client" in text and "fakes of the relay" in text, text)
    base = ["audit", "--pack", "one.pmpk", "--trials", 1000]
    for what, needle, options in (
            ("nothing", "--mechanism", []), ("no epsilon", "--epsilon", ["--mechanism", "response"]),
            ("no policy", "--epsilon", ["--crowd", 8]), ("noise", "--noise", ["--noise", "nobody", "--epsilon", 1]),
            ("huge relay", "--epsilon", ["--noise", "relay", "--epsilon", 0.015, "--delta", 1e-6, "--copies-max", 1]),
            ("gaussian", "--mechanism", ["--crowd", 8, "--epsilon", 1, "--mechanism", "gaussian"]),
            ("huge", "--crowd", ["--crowd", 1000000, "--epsilon", 1]), ("own", "--own", ["--crowd", 8, "--epsilon", 1, "--own", 5]),
            ("delta", "--delta", ["--crowd", 8, "--epsilon", 1, "--delta", 0]),
            ("both", "--epsilon", ["--crowd", 8, "--epsilon", 1, "--clusters", 1, "--copies", 2])):
        tester.fails("crowd: " + what, USAGE, [needle], *base, *options)
    tester.fails("no plan", PRIVACY, ["--crowd"], *base, "--crowd", 2, "--epsilon", 0.01)


def test_gaussian(tester, schemas, long):
    for pack in ("one", "class", "alpha"):
        for epsilon in EPSILONS if pack != "alpha" else (4,):
            strong = pack == "one" and epsilon == 1
            trials = (1000000 if long else 120000) if strong else 25000
            report = audit(tester, schemas, pack, "gaussian", epsilon, trials, "--seed-pairs", 8)
            tester.check(report and report["epsilon_lower"] >= (0.2 if epsilon >= 2 else 0) * epsilon,
                         "gaussian of %s: %s is weak" % (pack, report))
            if strong and report:
                least = (0.8 if long else 0.7) * report["found_ratio"]
                tester.check(report["epsilon_lower"] >= least and report["epsilon_lower_model_free"] > 0.1,
                             "gaussian of one: %s is weak" % report)
                tester.check(report["found_ratio"] > 0.9, "with one neighbour the search finds the certified distance")
    loose = audit(tester, schemas, "one", "gaussian", 1, 10000, "--delta", 0.01)
    tester.check(loose and loose["delta"] == 0.01, "--delta is told")


def test_time(tester, schemas):
    for mechanism in ("response", "gaussian"):
        report = audit(tester, schemas, "class", mechanism, 1, 1000000000, "--seconds", 4)
        tester.check(report and report["seconds"] < 20 and 1000 < report["trials"] < 1000000000,
                     "--seconds stops: %s" % report)


def test_text(tester):
    text = tester.succeeds("audit --help", "audit", "--help").stdout.decode()
    tester.check(all(word in text for word in ("Usage:", "--json", "Exit codes:", "Example:")), "audit help")
    tester.check(b"\n  audit " in tester.succeeds("overview", "--help").stdout, "audit is in the overview")
    for mechanism in ("response", "gaussian"):
        for _ in range(3):  # as above
            done = tester.run("audit", "--pack", "class.pmpk", "--mechanism", mechanism, "--epsilon", 2, "--trials=5000",
                              "--seed-pairs", "2")
            if done.returncode == 0:
                break
        text = done.stdout.decode()
        tester.check(done.returncode == 0 and not done.stderr and "epsilon         at least" in text and
                     "no evidence against the promise" in text, "audit: text %r" % text)


def test_errors(tester):
    base = {"--pack": "class.pmpk", "--mechanism": "response", "--epsilon": 1, "--trials": 2000}

    def fails(what, code, needles, **changes):
        options = dict(base)
        options.update({"--" + name.replace("_", "-"): value for name, value in changes.items()})
        words = [word for name, value in options.items() if value is not None for word in (name, value)]
        tester.fails(what, code, needles, "audit", *words)

    for name in base:
        fails("no " + name, USAGE, [name], **{name[2:]: None})
    fails("unknown mechanism", USAGE, ["laplace"], mechanism="laplace")
    for epsilon in (0, -1, 17, "nan"):
        fails("epsilon", USAGE, ["--epsilon"], epsilon=epsilon)
    for trials in (0, 999, 1000000001, -5, "1e6"):
        fails("trials", USAGE, ["--trials"], trials=trials)
    for pairs in (0, 1, 257):
        fails("pairs", USAGE, ["--seed-pairs"], seed_pairs=pairs)
    for seconds in (0, -1, 1e7):
        fails("seconds", USAGE, ["--seconds"], seconds=seconds)
    fails("too short", USAGE, ["--seconds"], seconds=1e-6)
    fails("delta of response", USAGE, ["--delta"], delta=0.1)
    for delta in (0, 1, -1, 1e-20):
        fails("delta", USAGE, ["--delta"], mechanism="gaussian", delta=delta)
    fails("no pack there", INPUT, ["absent.pmpk"], pack="absent.pmpk")
    tester.write("cut.pmpk", tester.read("class.pmpk")[:-1])
    fails("a damaged pack", INPUT, ["cut.pmpk"], pack="cut.pmpk")
    fails("no anchors", PRIVACY, ["only.pmpk"], pack="only.pmpk", mechanism="gaussian")
    tester.fails("unknown option", USAGE, ["--trial", "--trials"], "audit", "--trial", "5")
    tester.fails("an argument", USAGE, ["class.pmpk"], "audit", "class.pmpk")


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--long"]):
        print("usage: test_audit.py path/to/privatemail [--long]", file=sys.stderr)
        return 2
    long = len(sys.argv) == 3
    schemas = read_schemas()
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        make_packs(tester)
        test_text(tester)
        test_errors(tester)
        test_time(tester, schemas)
        test_response(tester, schemas, long)
        test_crowd(tester, schemas, long)
        test_gaussian(tester, schemas, long)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
