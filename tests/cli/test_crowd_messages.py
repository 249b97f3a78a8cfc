"""Tests of bundles: python3 tests/cli/test_crowd_messages.py path/to/privatemail

`privatize --crowd` makes what the reference would accept, says both promises, books both ledgers, and keeps which
messages are own to a file of the device. `decode`, `find` and `serve` read it. Ends with 'N passed, N failed'; exits
non-zero when something failed."""
import json
import os
import struct
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402
from bad_input import changed  # noqa: E402
from flow import make_collection  # noqa: E402
from harness import BUDGET, INPUT, OUTPUT, PRIVACY, USAGE, Tester, read_schemas, schema_faults  # noqa: E402
from reference import quantise, scorer, sketch  # noqa: E402
from reference_crowd import crowd_prices, crowd_release, public_list, read_budget_2, read_bundle, symbol_of  # noqa: E402
from reference_formats import write_budget  # noqa: E402
from served_parts import served  # noqa: E402
from serving import Server  # noqa: E402
from reference_server import DevicePack as Pack, Gallery, write_slots  # noqa: E402

SLOTS = {"one": ["--slots", "one", "--cells", "16"], "class": ["--slots", "class", "--cells", "5"]}
SLOTS.update({"plain-" + name: [*options, "--plain-sketches"] for name, options in SLOTS.items()})
CROWD = ["privatize", "--pack", "one.pmpk", "--features", "query.npy", "--crowd", "4000", "--epsilon", "1",
         "--out", "new.cbor"]
POLICY = ["privatize", "--pack", "one.pmpk", "--features", "query.npy", "--crowd", "4000", "--clusters", "2",
          "--copies", "4", "--honest", "1", "--floor", "16", "--out", "many.cbor"]


def make_packs(tester):
    make_collection(tester)
    for name, options in SLOTS.items():
        tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "labels.npy", *options, "--out",
                        name + ".pmpk")
        tester.succeeds("index", "index", "--pack", name + ".pmpk", "--features", "public.npy", "--labels",
                        "labels.npy", "--share", "0.1", "--store", "sqlite:%s.store" % name)
    tester.succeeds("pack", "pack", "--features", "public.npy", "--cells", "16", "--seed", 9, "--out", "other.pmpk")


def packs(tester):
    return {name: Pack(tester.read(name + ".pmpk")) for name in SLOTS}


def true_symbol(tester, pack, row=0):
    features = np.load(tester.path("query.npy"))[row]
    bits = [struct.unpack("<I", struct.pack("<f", value))[0] for value in features]
    return symbol_of(pack, bits, int(np.load(tester.path("query_labels.npy"))[row]))


def receipt(tester, schema, what, command):
    told = tester.json(what, *command)
    faults = schema_faults(schema, told)
    tester.check(not faults, "%s: %s" % (what, faults))
    return told


# ---- what is promised ----

def test_receipts(tester, schema):
    plan = receipt(tester, schema, "plan", changed(CROWD, out="a.cbor"))
    tester.check((plan["epsilon"], plan["delta"], plan["floor"], plan["promise"]) == (1, 1e-8, 8, "crowd"), plan)
    tester.check(plan["assumption"] == "if the relay mixes and does not join the server, and at least 2000 clients are "
                 "honest", plan)
    tester.check((plan["clients"], plan["honest"], plan["own"], plan["mechanism"]) == (4000, 0.5, 1, "response"), plan)
    planned = tester.json("crowd", "crowd", "--cells", 16, "--clients", 4000, "--epsilon", 1)
    shared = ("clusters", "copies", "fakes", "mu", "delta0", "epsilon")
    tester.check(all(plan[key] == planned[key] for key in shared), "as crowd plans it: %s, %s" % (plan, planned))
    tester.check(plan["mu"] > 0 and plan["delta0"] <= 1e-9, plan)
    for i, delta in enumerate(("1e-4", "1e-6", "1e-14")):  # the last one has delta0 below 1e-12
        wide = receipt(tester, schema, "delta", changed(CROWD, out="delta%d.cbor" % i, delta=delta))
        planned = tester.json("crowd", "crowd", "--cells", 16, "--clients", 4000, "--epsilon", 1, "--delta", delta)
        tester.check(all(wide[key] == planned[key] for key in shared), "delta %s: %s, %s" % (delta, wide, planned))
        tester.check(0 < 10 * wide["delta0"] <= wide["delta"] * 1.0001, "a budget of this delta pays for five: %s" % wide)
    same = receipt(tester, schema, "as it is", changed(CROWD, out="b.cbor", epsilon=None, clusters=repr(plan["clusters"]),
                                                       copies=str(plan["copies"])))
    tester.check(0.99 < same["epsilon"] <= 1 and same["promise"] == "crowd", "the policy of a plan: %s" % same)
    few = receipt(tester, schema, "few fakes", changed(CROWD, out="c.cbor", epsilon=None, clusters="0.01", copies="1"))
    tester.check((few["promise"], few["epsilon"], few["delta"], few["assumption"], few["mu"]) ==
                 ("floor", 8, 0, None, None), few)
    enough = receipt(tester, schema, "epsilon above the floor", changed(CROWD, out="d.cbor", epsilon="9"))
    tester.check((enough["promise"], enough["fakes"], enough["epsilon"], enough["messages"]) == ("floor", 0, 8, [1]), enough)
    relay = receipt(tester, schema, "relay", changed(CROWD, out="e.cbor", crowd=None, noise="relay", own="3"))
    tester.check(relay["messages"] == [3] and relay["relay_clusters"] > 0 and relay["clusters"] == 0 and
                 "adds its fakes" in relay["assumption"], relay)
    policy = receipt(tester, schema, "relay as it is",
                     changed(CROWD, out="relay.cbor", crowd=None, epsilon=None, own="3", copies=str(relay["copies"]),
                             relay_clusters=repr(relay["relay_clusters"])))
    tester.check(0.99 < policy["epsilon"] <= 1 and (policy["clients"], policy["assumption"], policy["fakes"]) ==
                 (0, relay["assumption"], relay["fakes"]), policy)
    both = receipt(tester, schema, "both", changed(CROWD, out="both.cbor", epsilon=None, clusters=repr(plan["clusters"]),
                                                   copies=str(plan["copies"]), relay_clusters="500"))
    tester.check(both["epsilon"] < same["epsilon"] and both["assumption"] == "if the relay mixes, adds its fakes and "
                 "does not join the server, and at least 2000 clients are honest", both)
    text = tester.succeeds("text", *changed(CROWD, out="f.cbor")).stdout.decode()
    tester.check("floor: epsilon 8, whoever" in text and "crowd: epsilon 1, delta 1e-08, if the relay mixes and does "
                 "not join the server, and at least 2000 clients are honest" in text, text)
    text = tester.succeeds("text", *changed(CROWD, out="g.cbor", epsilon=None, clusters="0", copies="1")).stdout.decode()
    tester.check("only the floor holds" in text, text)


# ---- what is sent, and what is kept ----

def test_bundles(tester, schema):
    for name in ("one", "class"):
        pack = packs(tester)[name]
        command = changed(POLICY, pack=name + ".pmpk", own="3", own_out=name + ".own", repeat="300",
                          out=name + ".cbor", labels="query_labels.npy")
        told = receipt(tester, schema, name, command)
        tester.check(told["mechanism"] == ("response" if name == "one" else "crowd"), told["mechanism"])
        true, symbols = true_symbol(tester, pack), pack.G * pack.m
        counts, firsts, fakes, drawn = [], [], np.zeros(symbols), 0
        for i, path in enumerate(told["releases"]):
            sent = read_bundle(pack, tester.read(path))
            with open(tester.path("%s.own.%d" % (name, i)), encoding="utf-8") as stream:
                own = json.load(stream)["own"]
            tester.check(len(sent) == told["messages"][i] and len(set(own)) == 3, "%s: %s of %s" % (path, own, sent))
            tester.check([sent[at] for at in own] == public_list(pack, sent[own[0]], 3), "%s: the list of its cell" % path)
            drawn += sent[own[0]] == true
            firsts.append(own[0] == 0)
            counts.append(len(sent))
            for at, symbol in enumerate(sent):
                fakes[symbol] += at not in own
        tester.check(drawn >= 297, "%s: at floor 16 the true cell is sent, not %d of 300" % (name, drawn))
        # means: 5 fakes, of variance 2 · E[C²] = 15; an order that is uniform puts one of 4 to 8 messages first
        tester.check(abs(np.mean(counts) - 8) < 6 * (15 / 300) ** 0.5, "%s: %g messages" % (name, np.mean(counts)))
        tester.check(0.04 < np.mean(firsts) < 0.33, "%s: the drawn cell is first in %g" % (name, np.mean(firsts)))
        expected = fakes.sum() / symbols
        spread = (((fakes - expected) ** 2).sum() / expected) / (3 * (symbols - 1))  # a cluster counts E[C²]/E[C] = 3 times
        tester.check(0.04 < spread < 5, "%s: fakes are uniform: %g" % (name, spread))
        tester.check(os.stat(tester.path(name + ".own.0")).st_mode & 0o77 == 0, "only the owner reads which are own")


def test_places(tester):
    before = tester.snapshot()
    tester.fails("own over out", USAGE, ["own-out", "--out"], *changed(CROWD, own_out="new.cbor"))
    tester.fails("own over the pack", USAGE, ["own-out", "the pack"], *changed(CROWD, own_out="one.pmpk"))
    tester.fails("own exists", OUTPUT, ["a.cbor", "--force"], *changed(CROWD, own_out="a.cbor"))
    tester.fails("own in no folder", OUTPUT, ["nowhere"], *changed(CROWD, own_out="nowhere/own"))
    tester.fails("own without a crowd", USAGE, ["own-out", "--crowd"], *changed(CROWD, crowd=None, own_out="kept"))
    tester.check(tester.snapshot() == before, "nothing was written")
    done = tester.run(*changed(CROWD, out="-", own_out="o.json"))
    own = json.loads(tester.read("o.json"))["own"]
    tester.check(done.returncode == 0 and len(own) == 1, "a bundle on stdout: %s" % done.stderr)
    tester.check(own[0] < len(read_bundle(packs(tester)["one"], done.stdout)), "its own message is in it")


# ---- what it costs ----

def amounts(tester, name):
    return read_budget_2(tester.read(name))[1]


def test_budgets(tester, schema):
    told = receipt(tester, schema, "new", changed(CROWD, out="h.cbor", own="2", budget="me", budget_crowd="20,4,1e-4"))
    prices = crowd_prices(8, {"mu": told["mu"], "delta0": told["delta0"], "own": 2})
    kept = amounts(tester, "me")
    tester.check({ledger: kept[ledger + "_spent"] for ledger in prices} == prices, "%s, not %s" % (kept, prices))
    tester.check((kept["response_spent"], kept["response_cap"], kept["floor_cap"]) == (0, 0, 20 << 20), kept)
    left = told["budget"]
    tester.check((left["floor_spent"], left["releases_left"]) == (8, 1) and left["crowd_mu2_spent"] > 0, left)
    tester.json("again", *changed(CROWD, out="i.cbor", own="2", budget="me"))
    tester.check(amounts(tester, "me")["delta0_spent"] == 2 * prices["delta0"], "every bundle books its messages")
    tester.fails("floor spent", BUDGET, ["me", "spent", "0 more", "--floor"], *changed(CROWD, budget="me"))
    small = changed(CROWD, budget="small", budget_crowd="4000,0.5,1e-6")
    tester.fails("crowd spent", BUDGET, ["small", "spent", "0 more"], *small)
    # Only the floor is booked where no promise is kept; a promise that is kept refuses bundles without one.
    receipt(tester, schema, "floor alone", changed(CROWD, out="j.cbor", budget="floor", budget_crowd="20"))
    kept = amounts(tester, "floor")
    tester.check((kept["floor_spent"], kept["crowd_spent"], kept["delta0_spent"]) == (8 << 20, 0, 0), kept)
    tester.json("keeping", *changed(CROWD, out="k.cbor", budget="keeps", budget_crowd="80,4,1e-4"))
    tester.fails("no promise", BUDGET, ["keeps", "only the floor"],
                 *changed(CROWD, epsilon=None, clusters="0.01", copies="1", budget="keeps"))
    both = receipt(tester, schema, "both", changed(CROWD, out="l.cbor", budget="both", budget_new="4,1,1e-6",
                                                   budget_crowd="80,4,1e-4"))["budget"]
    tester.check((both["epsilon_cap"], both["epsilon_spent"], both["floor_cap"]) == (4, 0, 80), both)
    tester.succeeds("response from it", *changed(CROWD, out="m.cbor", crowd=None, epsilon="4", budget="both"))
    tester.check(amounts(tester, "both")["response_spent"] == 4 << 20, "both kinds are paid")


def test_old_budgets(tester, schema):
    owner = b"default" + bytes(9)
    for name, spent in (("old", 1 << 20), ("full", 20 << 20)):
        tester.write(name, write_budget(owner, 20 << 20, spent, 0, 0, 0))
        tester.fails(name + " in a crowd", BUDGET, [name, "crowd", "--budget-crowd"], *changed(CROWD, budget=name))
        tester.check(len(tester.read(name)) == 64, "nothing was spent of " + name)
    tester.fails("full", BUDGET, ["full", "spent"], *changed(CROWD, crowd=None, budget="full"))
    tester.succeeds("response", *changed(CROWD, out="n.cbor", crowd=None, budget="old"))
    kept = amounts(tester, "old")
    tester.check(len(tester.read("old")) == 112 and kept["response_spent"] == 2 << 20 and kept["floor_cap"] == 0, kept)
    for text in ("x", "1,2", "1,2,3,4", "-1", "5000", "nan", "1,0,1e-5", "1,17,1e-5", "1,2,0", "1,2,1", "", "1,,1"):
        tester.fails("--budget-crowd " + text, USAGE, ["budget-crowd"], *changed(CROWD, budget="never", budget_crowd=text))
    tester.fails("no budget", USAGE, ["budget-crowd", "--budget"], *changed(CROWD, budget_crowd="20"))


# ---- who reads it ----

def test_decode(tester, schema):
    whole, pack = tester.read("many.cbor"), packs(tester)["one"]
    symbols, length = read_bundle(pack, whole), len(crowd_release(pack, 0))
    seen = tester.json("decode", "decode", "many.cbor", "--pack", "one.pmpk")
    tester.check([item["slots"][0]["symbol"] for item in seen] == symbols and
                 [item["message"] for item in seen] == list(range(len(symbols))), seen)
    tester.check(not any(schema_faults(schema, item) for item in seen) and b"own" not in json.dumps(seen).encode(), seen)
    text = tester.succeeds("text", "decode", "many.cbor", "--pack", "one.pmpk").stdout.decode()
    tester.check("many.cbor, message %d: response" % (len(symbols) - 1) in text, text)
    flat, classes = tester.read("class.cbor.0"), packs(tester)["class"]
    seen = tester.json("decode", "decode", "class.cbor.0", "--pack", "class.pmpk")
    tester.check([item["slots"][0]["slot"] * 5 + item["slots"][0]["symbol"] for item in seen] ==
                 read_bundle(classes, flat) and all(len(item["slots"]) == 1 for item in seen), seen)
    rows = [item["slots"][0]["row"] for item in seen]
    tester.check(all(len(row) == 2 for row in rows), "rows of single slots: %s" % rows)
    other = Pack(tester.read("other.pmpk"))
    foreign, first = crowd_release(other, 3), whole[:length]
    for name, data, needle in (
            ("cut", whole[:-1], "cut short"), ("one byte more", whole + b"\0", "cut short"),
            ("foreign message", whole + foreign, "another pack"), ("foreign", foreign + whole, "another pack"),
            ("damaged", whole + first[:-1] + b"\xff", "message"), ("other version", whole + first[:2] + b"\x02" + first[3:], "message"),
            ("a longer message", first + tester.read("class.cbor.0")[:length], "another pack"),
            ("nothing", b"", "not a release")):
        tester.write("bad.cbor", data)
        tester.fails("bundle: " + name, INPUT, ["bad.cbor", needle], "decode", "bad.cbor", "--pack", "one.pmpk")
    os.truncate(tester.path("bad.cbor"), (1 << 28) + 1)    # takes no room: it is a hole
    tester.check(tester.run("decode", "bad.cbor", "--pack", "one.pmpk").returncode == INPUT, "more than any epoch is refused")
    tester.succeeds("response", *changed(CROWD, pack="class.pmpk", labels="query_labels.npy", crowd=None, out="r.cbor"))
    response = tester.read("r.cbor")
    for name, data in (("two responses", response * 2), ("response among messages", flat + response),
                       ("messages after a response", response + flat)):
        tester.write("bad.cbor", data)
        tester.fails("bundle: " + name, INPUT, ["bad.cbor"], "decode", "bad.cbor", "--pack", "class.pmpk")
    tester.write("bad.cbor", whole)
    tester.fails("find takes one", INPUT, ["bad.cbor"], "find", "--release", "bad.cbor", "--pack", "one.pmpk", "--store",
                 "sqlite:one.store")


def test_answers(tester, schema):
    """A message of a crowd is answered like the slot of a response release that names the same cell."""
    for name in ("class", "plain-class"):
        check_answers(tester, schema, name)


def check_answers(tester, schema, name):
    pack = packs(tester)[name]
    right = Gallery(tester.read(name + ".pmpk"), np.load(tester.path("public.npy")), np.load(tester.path("labels.npy")),
                    millionths=100000)
    tester.check((pack.code is None) == (name != "class"), "%s: the kind of its sketches" % name)
    with Server(tester, names=(name,)) as server:
        gallery = served(server, pack.id.hex())[0]
        for symbol in range(pack.G * pack.m):
            slot, cell = divmod(symbol, pack.m)
            tester.write("m.cbor", crowd_release(pack, symbol))
            found = tester.json("find", "find", "--release", "m.cbor", "--pack", name + ".pmpk", "--store",
                                "sqlite:%s.store" % name, "--top", 100, "--out", "m.answer", "--force")
            tester.check(not schema_faults(schema, found) and found["mechanism"] == "crowd", found)
            tester.check([(item["slot"], item["cell"]) for item in found["slots"]] == [(slot, cell)], found)
            answer = server.post(tester.read("m.cbor"))
            tester.check(answer.status == 200 and answer.body == tester.read("m.answer") and
                         answer.body.endswith(gallery.part(slot, cell)), "symbol %d: header and part are the answer" % symbol)
            expected = right.write([right.listed(slot, cell) if each == slot else [] for each in range(pack.G)], slot)
            tester.check(answer.body == expected, "%s, symbol %d: the answer is the reference's" % (name, symbol))
            shown = json.loads(server.post(tester.read("m.cbor"), Accept="application/json").body)
            tester.check([item["slot"] for item in shown["slots"]] == [slot] and
                         [c["item"] for c in shown["slots"][0]["candidates"]] ==
                         [c["item"] for c in found["slots"][0]["candidates"]], "symbol %d as JSON: %s" % (symbol, shown))


def test_ranking(tester, schema):
    """The answers to own messages become one list: every item once, as the reference ranks the union of their lists."""
    for name, scope in (("plain-one", "own"), ("plain-class", "all"), ("one", "own"), ("class", "own"), ("class", "all")):
        pack = packs(tester)[name]
        bundle = changed(POLICY, pack=name + ".pmpk", labels="query_labels.npy", own="3", out="rank.cbor", own_out="rank.own")
        tester.succeeds("bundle", *bundle, "--force")
        tester.succeeds("lists that overlap", "index", "--pack", name + ".pmpk", "--features", "public.npy", "--labels",
                        "labels.npy", "--share", "0.3", "--store", "sqlite:rank.store", "--force")
        symbols, own = read_bundle(pack, tester.read("rank.cbor")), json.loads(tester.read("rank.own"))["own"]
        answers, lists = [], {}
        for at, symbol in enumerate(symbols):
            tester.write("m.cbor", crowd_release(pack, symbol))
            answers.append("rank%d.answer" % at)
            found = tester.json("find", "find", "--release", "m.cbor", "--pack", name + ".pmpk", "--store",
                                "sqlite:rank.store", "--top", 1000, "--out", answers[-1], "--force")
            lists[at] = found["slots"][0]
        rows, label = np.load(tester.path("public.npy")), int(np.load(tester.path("query_labels.npy"))[0])
        score = scorer(pack, own_row(tester))
        ranked = [candidate["item"] for at in own for candidate in lists[at]["candidates"]
                  if scope == "all" or lists[at]["slot"] == pack.slot_of(label)]
        expected = sorted((-score(sketch(pack, row_of(rows[item]))), item) for item in set(ranked))[:20]
        command = ["decode", "--pack", name + ".pmpk", "--features", "query.npy", "--labels", "query_labels.npy", "--top", 20,
                   "--scope", scope]
        told = tester.json("rank", *command, *answers, "--own", "rank.own")
        tester.check(not schema_faults(schema, told), schema_faults(schema, told))
        tester.check([(round(-result["score"] * 2 ** 30), result["id"]) for result in told["results"]] == expected,
                     "%s, %s: %s, not %s" % (name, scope, told["results"], expected))
        tester.check((told["answers"], told["carried"]) == (3, sum(lists[at]["count"] for at in own)), told)
        tester.check(len(ranked) > len(set(ranked)), "%s: no lists overlap" % name)
        same = tester.json("own ones alone", *command, *[answers[at] for at in reversed(own)])
        tester.check(same == told, "in any order: %s" % same)
    text = tester.succeeds("in words", *command, *answers).stdout.decode()
    tester.check("  1. item " in text and "answer: " in text, text)
    whole = tester.read(answers[0])
    tester.write("rank.own", b'{"own": [%d]}\n' % len(answers))
    tester.fails("too few answers", INPUT, ["rank.own", "%d answers" % len(answers)], *command, *answers, "--own", "rank.own")
    for bad in ("", "{}", '{"own": []}\n', '{"own": [1, ]}\n', '{"own": [1]}', '{"own": [-1]}\n',
                '{"own": [0, 1, 2, 3, 4, 5, 6, 7, 8]}\n'):
        tester.write("rank.own", bad.encode())
        tester.fails("own file %r" % bad, INPUT, ["rank.own", "own-out"], *command, *answers, "--own", "rank.own")
    for what, data in (("cut", whole[:-1]), ("longer", whole + b"\0"), ("empty", b""), ("damaged", b"\xff" + whole[1:])):
        tester.write("bad.answer", data)
        tester.fails("answer: " + what, INPUT, ["bad.answer"], *command, *answers, "bad.answer")
    tester.fails("another pack", INPUT, [answers[0]], *changed(command[:1], pack="one.pmpk", features="query.npy"), *answers)
    tester.fails("absent", INPUT, ["absent"], *command, "absent")
    for option, value in (("--own", "rank.own"), ("--top", 3), ("--scope", "all"), ("--row", 1), ("--label", 3)):
        tester.fails(option, USAGE, [option, "--features"], "decode", "many.cbor", "--pack", "one.pmpk", option, value)
    tester.fails("top", USAGE, ["--top"], *command[:-4], *answers, "--top", 257)
    tester.fails("scope", USAGE, ["--scope"], *command[:-2], *answers, "--scope", "some")
    tester.fails("no class", USAGE, ["--label"], "decode", *answers, "--pack", "class.pmpk", "--features", "query.npy")


def test_merging(tester):
    """Many small answers of a server that gives one item several sketches: the best of each item counts, in any order."""
    for name in ("one", "plain-one"):
        check_merging(tester, name)


def check_merging(tester, name):
    pack, rows = packs(tester)[name], np.load(tester.path("public.npy"))
    score, random, best, names = scorer(pack, own_row(tester)), np.random.default_rng(7), {}, []
    for i in range(12):
        items = random.integers(9, size=4)
        if pack.code:       # in such a list every item is there once
            items = np.unique(items)
        candidates = [(int(item), 0, sketch(pack, row_of(rows[random.integers(len(rows))])), b"") for item in items]
        for item, _, other, _ in candidates:
            best[item] = max(best.get(item, -2 ** 31), score(other))
        names.append("small%d.answer" % i)
        tester.write(names[-1], write_slots(pack, len(rows), [candidates]))
    ranked = sorted((-score, item) for item, score in best.items())
    for top in (1, 3, 8, 9, 20):
        for order in (names, names[::-1], list(random.permutation(names))):
            told = tester.json("merge", "decode", *order, "--pack", name + ".pmpk", "--features", "query.npy", "--top", top)
            tester.check([(round(-result["score"] * 2 ** 30), result["id"]) for result in told["results"]] == ranked[:top],
                         "%s, top %d: %s, not %s" % (name, top, told["results"], ranked))


def row_of(features):
    return quantise([struct.unpack("<I", struct.pack("<f", value))[0] for value in features])


def own_row(tester):
    return row_of(np.load(tester.path("query.npy"))[0])


# ---- bad input ----

def test_options(tester):
    refused = [dict(crowd=value) for value in ("0", "-1", "4294967297", "99999999999999999999", "x", "nan", "1.5")]
    refused += [dict(honest=value) for value in ("0", "-1", "1.01", "nan", "inf", "1e-9")]
    refused += [dict(floor=value) for value in ("0", "-8", "17", "nan", "1e-6")]
    refused += [dict(own=value) for value in ("0", "9", "-1")] + [dict(copies_max=value) for value in ("0", "65", "-1")]
    refused += [dict(delta=value) for value in ("0", "1", "-1", "1e-20", "nan")]
    refused += [dict(epsilon=value) for value in ("0", "-1", "17", "nan", "1e-9")]
    refused += [dict(epsilon=None, clusters=value, copies="4") for value in ("-0.1", "4.1", "nan", "1e300")]
    refused += [dict(epsilon=None, copies=value, clusters="1") for value in ("0", "65", "-3", "1000")]
    refused += [dict(epsilon=None, relay_clusters=value, copies="4", crowd=None) for value in ("-1", "2e7", "nan")]
    refused += [dict(noise="server"), dict(mechanism="gaussian"), dict(value_bytes="2"), dict(clusters="1", copies="4")]
    for options in refused:
        name = [key for key in options if options[key] is not None][0].replace("_", "-")
        tester.fails(str(options), USAGE, ["--" + name if name not in ("mechanism", "value-bytes") else "Leave"],
                     *changed(CROWD, **options))
    tester.fails("no epsilon", USAGE, ["--epsilon", "--clusters"], *changed(CROWD, epsilon=None))
    tester.fails("clusters alone", USAGE, ["--copies"], *changed(CROWD, epsilon=None, clusters="1"))
    tester.fails("copies alone", USAGE, ["--clusters"], *changed(CROWD, epsilon=None, copies="2"))
    tester.fails("taken by a relay", USAGE, ["--noise relay"],
                 *changed(CROWD, epsilon=None, clusters="1", copies="2", noise="relay"))
    for option in ("honest", "floor", "own", "copies_max", "clusters", "copies"):
        tester.fails(option + " without a crowd", USAGE, ["--" + option.replace("_", "-"), "--crowd"],
                     *changed(CROWD, crowd=None, **{option: "1"}))
    tester.fails("more own than cells", USAGE, ["--own"], *changed(CROWD, pack="class.pmpk", label="7", own="6"))
    tester.fails("no plan", PRIVACY, ["--crowd"], *changed(CROWD, crowd="10", epsilon="0.01"))
    tester.fails("features after paying", INPUT, ["absent.npy"], *changed(CROWD, features="absent.npy", budget="never",
                                                                         budget_crowd="80,4,1e-4"))
    tester.check(not os.path.exists(tester.path("never")), "a budget from which nothing was spent is not left")


def main():
    with tempfile.TemporaryDirectory() as folder:
        tester, schemas = Tester(sys.argv[1], folder), read_schemas()
        make_packs(tester)
        tester.succeeds("a bundle", *POLICY)
        while len(read_bundle(packs(tester)["one"], tester.read("many.cbor"))) < 3:
            tester.succeeds("a bundle", *POLICY, "--force")
        test_receipts(tester, schemas["privatize"])
        test_bundles(tester, schemas["privatize"])
        test_places(tester)
        test_budgets(tester, schemas["privatize"])
        test_old_budgets(tester, schemas["privatize"])
        test_decode(tester, schemas["decode"])
        test_answers(tester, schemas["find"])
        test_ranking(tester, schemas["decode --features"])
        test_merging(tester)
        test_options(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return tester.failed > 0


if __name__ == "__main__":
    sys.exit(main())
