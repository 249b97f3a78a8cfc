"""Tests of queries through a relay: python3 tests/cli/test_relay_query.py path/to/privatemail [NAME...]

Real servers with keys, real relays, real clients as processes. What is found is what the server would answer to the same
drawn cell; the floor is paid once, whatever fails; keys are pinned; nothing of a tampered answer is used. NAME runs only
the tests of these names. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import json
import os
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import numpy as np  # noqa: E402
from flow import make_collection  # noqa: E402
from harness import BUDGET, INPUT, PRIVACY, USAGE, Tester, read_schemas, schema_faults, wait_until  # noqa: E402
from reference_crowd import read_budget_2  # noqa: E402
from relay_parts import (FEW, ROWS, Asking, Gateway, Gone, Meddler, Neighbours, idle, kept_message,  # noqa: E402
                         next_second, query)
from relaying import Relay  # noqa: E402
from serving import NETWORK, pack_id  # noqa: E402

SLOTS = {"one": ["--slots", "one", "--cells", "16"], "class": ["--slots", "class", "--cells", "5"]}
UNIT = 1 << 20


def payload(tester, item):
    """Long for the items of one class: most answers end in the first chunk of several, the rest is padding."""
    return b"payload of %d" % item + b"." * (400 if np.load(tester.path("labels.npy"))[item] == 7 else 0)


def make_world(tester):
    make_collection(tester)
    tester.save("rows.npy", np.load(tester.path("public.npy"))[:ROWS])
    tester.save("row_labels.npy", np.load(tester.path("labels.npy"))[:ROWS])
    os.mkdir(tester.path("payloads"))
    for i in range(200):
        tester.write("payloads/%d.bin" % i, payload(tester, i))
    for name, options in SLOTS.items():
        tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "labels.npy", *options, "--out",
                        name + ".pmpk")
        tester.succeeds("index", "index", "--pack", name + ".pmpk", "--features", "public.npy", "--labels",
                        "labels.npy", "--share", "0.1", "--payloads", "payloads", "--store", "sqlite:%s.store" % name)
    tester.succeeds("keys", "keys", "--out", "keys", "--public", "keys.public")


def forget(tester):
    """A new device: nothing is pinned or kept."""
    for name in os.listdir(tester.folder):
        if name.endswith((".cell", ".epoch", ".ohttp-keys", ".budget", ".kept")):
            os.remove(tester.path(name))


def spent(tester, name):
    return read_budget_2(tester.read(name))[1]


def told_right(tester, told, what):
    faults = schema_faults(read_schemas()["query"], told)
    tester.check(not faults, "%s: %s" % (what, faults))


def direct(tester, server, message, row, pack="one"):
    """What the server answers to the same message when it is asked without a relay."""
    tester.write("direct.cbor", message)
    labels = ["--labels", "row_labels.npy"] if pack == "class" else []
    return tester.json("direct", "query", "--server", server.url, "--pack", pack + ".pmpk", "--features", "rows.npy",
                       "--row", row, *labels, "--resend", "direct.cbor")


# ---- what is found ----

def test_crowd(tester):
    """Twenty people in one epoch: everybody gets the answer to the own cell, and the bytes add up."""
    for pack in SLOTS:
        with Gateway(tester, name=pack) as server, Relay(tester, server.url, clients=20, epoch=2) as relay:
            people = [Asking(tester, query(relay.url, row, "--json", crowd=20, pack=pack)) for row in range(20)]
            done = [person.end() for person in people]
            epochs = set()
            for row, (code, told, text) in enumerate(done):
                if not tester.check(code == 0 and told, "%s %d: %d %s" % (pack, row, code, text)):
                    continue
                told_right(tester, told, "%s %d" % (pack, row))
                epochs.add(told["epoch"])
                found = direct(tester, server, kept_message(tester, "rows.npy.%d.cell" % row), row, pack)
                tester.check(told["results"] == found["results"] and told["carried"] == found["carried"],
                             "%s %d: %s, not %s" % (pack, row, told["results"], found["results"]))
                tester.check((told["bundle"], told["floor"], told["promise"], told["clients"], told["attempts"]) ==
                             ("query", 16, "floor", 20, 1) and told["relay"]["clients"] == 20, told)
                tester.check(told["messages"] * 130 < told["bytes_up"] < told["messages"] * 134 + 8000 and
                             told["bytes_down"] > 512, "%s %d: %d bytes up" % (pack, row, told["bytes_up"]))
            tester.check(len(epochs) <= 2 and any(told["results"] for _, told, _ in done if told), "%s: %s" % (pack, epochs))
            tester.check(tester.read(pack + ".pmpk.ohttp-keys") == tester.read("keys.public"), "the keys are pinned")
        forget(tester)


def test_own(tester):
    """Several own messages: their answers are merged, and payloads belong to what was found."""
    os.mkdir(tester.path("found"))
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Neighbours(tester, relay.url):
        told = tester.json("three own", *query(relay.url, 3, "--own", "3", "--payloads", "found", "--top", "20"))
        told_right(tester, told, "own")
        one = direct(tester, server, kept_message(tester, "rows.npy.3.cell"), 3)
        tester.check(told["messages"] >= 3 and told["own"] == 3 and told["carried"] > one["carried"], told)
        tester.check(told["results"][0]["score"] >= one["results"][0]["score"], "more lists find no less")
        scores = [result["score"] for result in told["results"]]
        tester.check(scores == sorted(scores, reverse=True) and len({result["id"] for result in told["results"]}) ==
                     len(scores) > 8, "the best first, each once: %s" % told["results"])
        tester.check(all(tester.read("found/%d.payload" % result["id"]) == payload(tester, result["id"])
                         for result in told["results"]), "payloads")
    shutil.rmtree(tester.path("found"))
    forget(tester)


def test_text(tester):
    """Both promises stand next to each other, always with what the second rests on."""
    with Gateway(tester) as server, Relay(tester, server.url, clients=2) as relay, Neighbours(tester, relay.url):
        text = tester.succeeds("text", *query(relay.url, 1)).stdout.decode()
        tester.check("floor: epsilon 16, whoever" in text and "crowd: no promise, only the floor holds" in text, text)
        tester.check("says that it mixes at least 2 bundles" in text and "nobody can verify" in text, text)
    with Gateway(tester) as server, Relay(tester, server.url, clients=20) as relay:
        promising = ["--clusters", "4", "--copies", "8", "--honest", "1", "--delta", "0.01"]
        people = [Asking(tester, query(relay.url, row, crowd=20, policy=promising)) for row in range(2, 21)]
        text = tester.succeeds("promise", *query(relay.url, 21, crowd=20, policy=promising)).stdout.decode()
        tester.check("floor: epsilon 8, whoever" in text and "if the relay mixes and does not join the server, and at least 20 "
                     "clients are honest" in text, text)
        tester.check(all(person.process.wait(300) == 0 for person in people), "all of them")
        for person in people:
            person.process.communicate()
    forget(tester)


# ---- what it costs ----

def test_wait(tester):
    """No crowd, no answer: exit code 8. The same command then sends the same cell in a later epoch; its floor is paid once."""
    paying = ["--budget", "me.budget", "--wait", "8", "--json"]
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay) as between:
        command = query(between.url, 5, *paying)
        done = tester.run(*command, "--budget-crowd", "20")
        text = done.stderr.decode()
        tester.check(done.returncode == NETWORK and not done.stdout and "--wait" in text and "same command" in text, text)
        cell, before = tester.read("rows.npy.5.cell"), spent(tester, "me.budget")
        tester.check(before["floor_spent"] == 16 * UNIT, before)
        sent = len(between.bodies())
        done = tester.run(*command)
        tester.check(done.returncode == NETWORK and b"already" in done.stderr and len(between.bodies()) == sent,
                     "once per epoch: %s" % done.stderr)
        tester.check(spent(tester, "me.budget") == before, "and nothing is paid for that")
        with Neighbours(tester, relay.url):
            code, told, text = Asking(tester, query(between.url, 5, "--budget", "me.budget", "--json")).end()
        if tester.check(code == 0 and told, text):
            told_right(tester, told, "kept")
            tester.check(told["bundle"] == "kept" and tester.read("rows.npy.5.cell") == cell, told)
            found = direct(tester, server, kept_message(tester, "rows.npy.5.cell"), 5)
            tester.check(told["results"] == found["results"], "what is found is that of the kept cell")
        tester.check(spent(tester, "me.budget")["floor_spent"] == 16 * UNIT, "the floor is paid once")
        epochs = [struct.unpack_from(">Q", body)[0] for body in between.bodies()]
        tester.check(len(epochs) == 2 and epochs[0] < epochs[1], "a later epoch: %s" % epochs)
        tester.fails("another floor", USAGE, ["--floor 16"], *query(between.url, 5, policy=[*FEW[:4], "--floor", "8"]))
        os.utime(tester.path("rows.npy"))
        tester.fails("changed features", INPUT, ["rows.npy.5.cell", "--keep"], *query(between.url, 5))
    forget(tester)


def test_crowd_ledger(tester):
    """Where a crowd's promise is kept, every epoch books it, and the floor is booked once."""
    promising = ["--clusters", "4", "--copies", "8", "--honest", "1", "--delta", "0.01"]
    with Gateway(tester) as server, Relay(tester, server.url, clients=2) as relay:
        tester.fails("the relay says less", PRIVACY, [relay.url, "2 clients", "--crowd"],
                     *query(relay.url, 6, crowd=20, policy=promising))
    with Gateway(tester) as server, Relay(tester, server.url, "--noise", "160,4") as relay:
        command = ["query", "--relay", relay.url, "--pack", "one.pmpk", "--features", "rows.npy", "--row", "6", "--budget",
                   "me.budget", "--relay-clusters", "160", "--copies", "4", "--delta", "0.2", "--json"]
        done = tester.run(*command, "--wait", "8", "--budget-crowd", "16,16,0.5")
        tester.check(done.returncode == NETWORK, "nobody else is there: %s" % done.stderr)
        first = spent(tester, "me.budget")
        tester.check(first["floor_spent"] == 8 * UNIT and first["crowd_spent"] > 0 and first["delta0_spent"] > 0, first)
        with Neighbours(tester, relay.url):
            code, told, text = Asking(tester, [*command, "--wait", "60"]).end()
        tester.check(code == 0 and told["promise"] == "crowd" and told["bundle"] == "kept", "%d %s" % (code, text))
        second = spent(tester, "me.budget")
        tester.check((second["floor_spent"], second["crowd_spent"], second["delta0_spent"]) ==
                     (8 * UNIT, 2 * first["crowd_spent"], 2 * first["delta0_spent"]), "%s after %s" % (second, first))
    forget(tester)


def test_two_at_once(tester):
    """Two commands with one budget: both are paid, and they go into two epochs."""
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay) as between:
        tester.check(tester.run(*query(between.url, 8, "--budget", "me.budget", "--budget-crowd", "50", "--wait", "8"))
                     .returncode == NETWORK, "the budget begins")
        with Neighbours(tester, relay.url):
            os.symlink("me.budget", tester.path("alias.budget"))  # which is the same budget
            both = [Asking(tester, query(between.url, row, "--budget", name, "--json"))
                    for row, name in ((9, "me.budget"), (10, "alias.budget"))]
            done = [one.end() for one in both]
        tester.check([code for code, _, _ in done] == [0, 0], done)
        tester.check(len({told["epoch"] for _, told, _ in done if told}) == 2, "two epochs: %s" % done)
        epochs = [struct.unpack_from(">Q", body)[0] for body in between.bodies()]
        tester.check(len(epochs) == len(set(epochs)), "one bundle per epoch: %s" % epochs)
        tester.check(spent(tester, "me.budget")["floor_spent"] == 3 * 16 * UNIT, spent(tester, "me.budget"))
        tester.fails("spent", BUDGET, ["me.budget", "spent", "--floor"],
                     *query(between.url, 11, "--budget", "me.budget"), same=False)
    forget(tester)


def test_interrupt(tester):
    """Ended by a signal at any time: what was drawn is paid, kept whole and sent again; nothing is paid twice."""
    with Gateway(tester) as server, Relay(tester, server.url, clients=20) as relay:  # which no epoch has
        for number, seconds in enumerate((0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.5)):
            row, name = 12 + number, "stop%d.budget" % number
            one = Asking(tester, query(relay.url, row, "--budget", name, "--budget-crowd", "16"))
            if seconds >= 0.5:
                wait_until(lambda: os.path.exists(tester.path("rows.npy.%d.cell" % row)), 40)
            time.sleep(seconds)
            one.process.send_signal(signal.SIGINT)
            code, _, text = one.end()
            kept, paid = (os.path.exists(tester.path(path)) for path in ("rows.npy.%d.cell" % row, name))
            tester.check(code == -signal.SIGINT and not (kept and not paid), "%g: %d %s %s %s" % (seconds, code, kept, paid, text))
            tester.check(not paid or spent(tester, name)["floor_spent"] in (0, 16 * UNIT), "what is paid")
            tester.check(not [other for other in os.listdir(tester.folder) if ".tmp-" in other or
                              (other.endswith(".lock") and not other.endswith(".store.lock"))],
                         "nothing is left over")
    next_second()
    with Gateway(tester) as server, Relay(tester, server.url) as relay:
        with Neighbours(tester, relay.url):
            told = tester.json("afterwards", *query(relay.url, row, "--budget", name))
        tester.check(told["bundle"] == "kept" and told["budget"]["floor_spent"] == 16, told)
    forget(tester)


# ---- what fails on the way ----

def test_killed_relay(tester):
    """The relay is killed between post and answer: the kept cell is sent in a later epoch of the next relay."""
    with Gateway(tester) as server:
        first = Relay(tester, server.url)
        with Meddler(first) as between:
            one = Asking(tester, query(between.url, 20, "--budget", "me.budget", "--budget-crowd", "16", "--json"))
            tester.check(wait_until(lambda: between.asked("GET", "/v1/ticket/")), "it waits for its answer")
            between.relay = Gone()
            first.kill()
            cell = tester.read("rows.npy.20.cell")
            next_second()
            with Relay(tester, server.url) as second, Neighbours(tester, second.url):
                between.relay = second
                code, told, text = one.end()
            if tester.check(code == 0 and told, text):
                tester.check((told["attempts"], told["bundle"]) == (2, "kept") and "sent again" in text, told)
                found = direct(tester, server, kept_message(tester, "rows.npy.20.cell"), 20)
                tester.check(told["results"] == found["results"] and tester.read("rows.npy.20.cell") == cell, "the same cell")
            tester.check(spent(tester, "me.budget")["floor_spent"] == 16 * UNIT, "the floor is paid once")
            bodies = between.bodies()
            tester.check(len(bodies) == 2 and bodies[0][:8] < bodies[1][:8], "a later epoch")
            own = {bodies[0][24 + i:24 + i + 39] for i in range(0, len(bodies[0]) - 24, 130)}
            tester.check(not any(part in bodies[1] for part in own), "sealed anew")
        first.__exit__()
    forget(tester)


def test_slow_relay(tester):
    """A relay that answered before, and is late at last, is slow: not one that cannot be reached."""
    over, asked = threading.Event(), []

    def change(_, path, status, body):
        asked.append(path)
        if "/v1/ticket/" in path or sum(other.endswith("/epoch") for other in asked) == 4:
            over.wait(60)
        return status, body

    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay, change) as between:
        for needle in ("did not answer within --wait", "in the open epoch"):    # the second asks for an epoch once more
            tester.fails("slow", NETWORK, [needle, "same command"], *query(between.url, 28, "--wait", "8"), same=False)
        over.set()
    forget(tester)


def test_broken_connections(tester):
    """Every kind of request is cut off once: the same bytes are sent again, and the answer is right."""
    cut = set()

    def change(method, path, status, body):
        kind = method, path.split("/")[-1].split("?")[0] if "ticket" not in path else "ticket"
        if kind in cut or status == 202:
            return status, body
        cut.add(kind)
        return None if len(cut) % 2 else (503, b"{}")

    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay, change) as between:
        with Neighbours(tester, relay.url):
            told = tester.json("cut off", *query(between.url, 22))
        found = direct(tester, server, kept_message(tester, "rows.npy.22.cell"), 22)
        tester.check(told["results"] == found["results"] and len(cut) >= 5, "%s" % cut)
        bodies = between.bodies()
        by_epoch = {body[:8]: body for body in bodies}
        tester.check(len(bodies) > len(by_epoch) and set(by_epoch.values()) == set(bodies), "the same bytes in an epoch")
    forget(tester)


def test_tampered_answers(tester):
    """A named error, exit code 8, and nothing of it is printed or tried again."""
    def at(place):
        return lambda body: body[:place] + bytes([body[place] ^ 1]) + body[place + 1:]

    changes = {"first byte": at(0), "last byte": lambda body: at(len(body) - 1)(body),
               "the middle": lambda body: at(len(body) // 2)(body), "cut": lambda body: body[:-1],
               "cut in a chunk": lambda body: body[:34],
               "the first chunk alone": lambda body: body[:32 + 2 + 4112],
               "without the last chunk's tag": lambda body: body[:-16] + bytes(16), "longer": lambda body: body + b"\0", "none": lambda body: b"",
               "random": lambda body: os.urandom(len(body))}
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Neighbours(tester, relay.url):
        for number, (what, tamper) in enumerate(changes.items()):
            def change(method, path, status, body, tamper=tamper):
                return (status, tamper(body)) if "/v1/ticket/" in path and status == 200 and method == "GET" else (status, body)
            with Meddler(relay, change) as between:
                done = tester.run(*query(between.url, 24 + number % 8, "--keep", "%d.kept" % number, "--json"))
                text = done.stderr.decode()
                tester.check(done.returncode == NETWORK and not done.stdout and "cannot be opened" in text and
                             "Nothing of it was used" in text, "%s: %d %s" % (what, done.returncode, text))
                tester.check(len(between.bodies()) == 1, "%s: nothing is tried again" % what)
        os.mkdir(tester.path("found"))
        with Meddler(relay) as between:     # the relay must not see that an answer was too long
            done = tester.run(*query(between.url, 23, "--payloads", "found", "--most-bytes", "1"))
            tester.check(done.returncode == NETWORK and b"--most-bytes" in done.stderr, "too long: %s" % done.stderr)
            tester.check(len(between.asked("DELETE", "/v1/ticket/")) == 1, "its ticket is given back as any other")
    forget(tester)


def test_foreign_answers(tester):
    """The answer to another message of the epoch is no answer to the own one."""
    answers = []

    def change(method, path, status, body):
        if "/v1/ticket/" not in path or status != 200 or method != "GET":
            return status, body
        answers.append(body)
        return status, answers[0]

    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay, change) as between:
        both = [Asking(tester, query(between.url, row, "--json")) for row in (26, 27)]
        codes = sorted(one.end()[0] for one in both)
        tester.check(codes == [0, NETWORK], "one of two has its own answer: %s" % codes)
    forget(tester)


def test_strange_relays(tester):
    """Epochs far away, wrong lengths and nonsense: a named error, and nothing is paid."""
    def replaced(part, **members):
        def change(_, path, status, body):
            if not path.endswith(part):
                return status, body
            return status, json.dumps({**json.loads(body), **members}).encode()
        return change

    now = int(time.time())
    cases = {"ahead": (replaced("/epoch", epoch=now + 3700), NETWORK, ["ahead of", "clock"]),
             "behind": (replaced("/epoch", epoch=now - 86500), NETWORK, ["behind", "clock"]),
             "no number": (replaced("/epoch", epoch="x"), NETWORK, ["invalid"]),
             "a fraction": (replaced("/epoch", epoch=now + 0.5), NETWORK, ["invalid"]),
             "long messages": (replaced("/epoch", message=4096), NETWORK, ["4096 bytes"]),
             "huge answers": (replaced("/epoch", answer=1 << 40), NETWORK, ["relay"]),
             "another version": (replaced("/relay", version=2), NETWORK, ["version 2", "newer"]),
             "endless epochs": (replaced("/relay", epoch_seconds=100000), NETWORK, ["invalid"]),
             "not JSON": (lambda _, path, status, body: (status, b"\xff" * 2000 if path.endswith("/relay") else body),
                          NETWORK, ["invalid"]),
             "no pack": (lambda _, path, status, body: (404, b"{}") if path.endswith("/epoch") else (status, body),
                         NETWORK, ["404", pack_id(tester, "one")]),
             "no token": (lambda method, path, status, body: (401, b"{}") if method == "POST" else (status, body),
                          NETWORK, ["--token"])}
    with Gateway(tester) as server, Relay(tester, server.url) as relay:
        for what, (change, code, needles) in cases.items():
            with Meddler(relay, change) as between:
                tester.fails(what, code, needles, *query(between.url, 30, "--wait", "30"), same=False)
                paid = os.path.exists(tester.path("rows.npy.30.cell"))
                tester.check(paid == (what == "no token"), "%s: nothing is drawn before there is an epoch" % what)
    forget(tester)


def test_closed_epoch(tester):
    """The epoch closed before the bundle came: the same messages are sealed again, and nothing is paid again."""
    late = []
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay) as between:
        def open_epoch():
            return json.loads(relay.request("GET", "/v1/pack/%s/epoch" % pack_id(tester, "one"))[2])["epoch"]

        def request(method, path, body=None, headers=None):
            if method == "POST" and not late:
                late.append(body)
                wait_until(lambda: open_epoch() != struct.unpack_from(">Q", body)[0])
            return relay.request(method, path, body, headers)

        between.relay = type("Late", (), {"request": staticmethod(request)})
        with Neighbours(tester, relay.url, count=2):
            told = tester.json("late", *query(between.url, 31, "--budget", "me.budget", "--budget-crowd", "16"))
        bodies = between.bodies()
        epochs = [body[:8] for body in bodies]  # a slow machine may be late once more
        tester.check(len(bodies) >= 2 and len({len(body) for body in bodies}) == 1 and epochs == sorted(set(epochs)) and
                     told["attempts"] == 1 and told["budget"]["floor_spent"] == 16, told)
    forget(tester)


def test_doubtful_bundle(tester):
    """The reply to the bundle is lost, and the epoch closes: it is not sent in a second epoch that nobody paid for. An epoch
    takes two: the neighbour and the bundle, or somebody else in its place. So none closes while a bundle is on its way."""
    for arrives in (True, False):
        posts = []
        with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay) as between:
            def open_epoch(relay=relay):
                return json.loads(relay.request("GET", "/v1/pack/%s/epoch" % pack_id(tester, "one"))[2])["epoch"]

            def request(method, path, body=None, headers=None, relay=relay, posts=posts, arrives=arrives):
                if method == "POST":
                    posts.append(body)
                    if len(posts) == 1 and arrives:
                        relay.request(method, path, body, headers)
                    elif len(posts) == 1:
                        tester.run(*idle(relay.url))
                    if len(posts) == 1:
                        wait_until(lambda: open_epoch() != struct.unpack_from(">Q", body)[0])
                        raise OSError
                return relay.request(method, path, body, headers)

            between.relay = type("Doubtful", (), {"request": staticmethod(request)})
            with Neighbours(tester, relay.url):
                told = tester.json("doubtful", *query(between.url, 39, "--keep", "%d.kept" % arrives))
            epochs = [struct.unpack_from(">Q", body)[0] for body in posts]
            tester.check(posts[0] == posts[1] and told["attempts"] == (1 if arrives else 2) and
                         len(set(epochs)) == told["attempts"], "%s: every epoch is paid for: %s" % (arrives, epochs))
            found = direct(tester, server, kept_message(tester, "%d.kept" % arrives), 39)
            tester.check(told["results"] == found["results"], "and answered")
    forget(tester)


# ---- keys ----

def test_keys(tester):
    """Pinned with the pack: goes on when the key is still there, is refused when it is not."""
    pin = "one.pmpk.ohttp-keys"
    shutil.copy(tester.path("keys"), tester.path("turned"))
    tester.succeeds("another key", "keys", "--out", "other", "--public", "other.public")
    tester.succeeds("overlap", "keys", "turned", "--add", "--public", "turned.public")
    old, both = tester.read("keys.public"), tester.read("turned.public")
    tester.check(len(both) == 2 * len(old) and both.endswith(old[2:]), "the new key is in front")
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Neighbours(tester, relay.url):
        tester.json("first", *query(relay.url, 32, "--server", server.url))
        tester.check(tester.read(pin) == old, "the first is pinned")
        tester.fails("file of another key", INPUT, ["other.public", relay.url], *query(relay.url, 33, "--ohttp-keys",
                                                                                       "other.public"), same=False)
        tester.write("garbage.public", b"\0\x2bgarbage")
        tester.fails("no configuration", INPUT, ["garbage.public"], *query(relay.url, 33, "--ohttp-keys", "garbage.public"),
                     same=False)
        tester.fails("no file", INPUT, ["absent"], *query(relay.url, 33, "--ohttp-keys", "absent"), same=False)
        tester.check(not os.path.exists(tester.path("rows.npy.33.cell")) and tester.read(pin) == old, "nothing was drawn")
        tester.json("the right file", *query(relay.url, 33, "--ohttp-keys", "keys.public"))
        os.remove(tester.path(pin))
        tester.fails("a key that the server does not have", INPUT, [relay.url, "other.public"],
                     *query(relay.url, 34, "--ohttp-keys", "other.public"), same=False)
        tester.check(not os.path.exists(tester.path("rows.npy.34.cell")) and not os.path.exists(tester.path(pin)),
                     "nothing was drawn or pinned")
    tester.write(pin, old)
    with Gateway(tester, keys="other") as server, Relay(tester, server.url) as relay:
        tester.fails("another key", PRIVACY, [relay.url, pin, "--ohttp-keys"], *query(relay.url, 34))
        tester.check(tester.read(pin) == old, "the pin stays")
    with Gateway(tester, keys="turned") as server, Relay(tester, server.url) as relay, Neighbours(tester, relay.url):
        tester.json("overlap", *query(relay.url, 34))
        tester.check(tester.read(pin) == old, "the pin stays with overlap")
    tester.succeeds("drop", "keys", "turned", "--drop", str(old[2]), "--public", "dropped.public")
    with Gateway(tester, keys="turned") as server, Relay(tester, server.url) as relay:
        tester.fails("the old key is gone", PRIVACY, [pin, "--ohttp-keys"], *query(relay.url, 35))
        shutil.copy(tester.path("one.pmpk"), tester.path("far.pmpk"))
        with Neighbours(tester, relay.url, pack="far"):  # they have a pin of their own
            tester.json("the app brings the new one", *query(relay.url, 35, "--ohttp-keys", "dropped.public"))
            tester.check(tester.read(pin) == tester.read("dropped.public"), "the pin is replaced")
        with Gateway(tester, keys="other") as second:
            tester.fails("the server's own keys", PRIVACY, [second.url, relay.url],
                         *query(relay.url, 36, "--server", second.url), same=False)
        tester.write(pin, b"damaged")
        tester.fails("damaged pin", INPUT, [pin], *query(relay.url, 36), same=False)
    for name in ("other", "turned", "other.public", "turned.public", "dropped.public", "garbage.public", "far.pmpk"):
        os.remove(tester.path(name))
    forget(tester)


# ---- idle, relay's noise, options ----

def test_idle(tester):
    with Gateway(tester) as server, Relay(tester, server.url) as relay, Meddler(relay) as between:
        told = tester.json("idle", *idle(between.url))
        told_right(tester, told, "idle")
        tester.check(told["bundle"] == "idle" and "results" not in told and told["kept"] is None, told)
        tester.check(len(between.bodies()[0]) == 24 + 130 * told["messages"] and not between.asked("GET", "ticket"), "sent")
        tester.json("with a budget", *idle(between.url, "--budget", "i.budget", "--budget-crowd", "5"))
        tester.check(not os.path.exists(tester.path("i.budget")) or spent(tester, "i.budget")["floor_spent"] == 0, "free")
        with Neighbours(tester, relay.url):
            told = tester.json("cover", *idle(between.url, "--cover", "--own", "2"))
        tester.check(told["messages"] >= 2 and len(set(path.split("?")[0] for path in between.asked("GET", "ticket"))) == 2,
                     "a cover's answers are fetched as a query's: %s" % between.asked("GET", "ticket"))
    forget(tester)


def test_relay_noise(tester):
    """One message each; what the relay says is compared with what the promise needs."""
    noise = ["--noise", "relay", "--epsilon", "1", "--delta", "0.001", "--copies-max", "4"]
    command = ["query", "--pack", "one.pmpk", "--features", "rows.npy", *noise]
    planned = tester.json("plan", "crowd", "--cells", 16, *noise)
    clusters, copies = planned["relay_clusters"], planned["copies"]
    enough = "%r,%d" % (clusters + 1, copies)
    with Gateway(tester) as server:
        for given in (["--noise", "%r,%d" % (clusters * 0.9, copies)], ["--noise", "%r,1" % clusters], []):
            with Relay(tester, server.url, *given, clients=1 if given else 2) as relay:
                tester.fails("less noise: %s" % given, PRIVACY, [relay.url, "adds"], *command, "--relay", relay.url,
                             same=False)
                tester.check(not os.path.exists(tester.path("rows.npy.0.cell")), "nothing was drawn")
        with Relay(tester, server.url, "--noise", enough, clients=1) as relay:
            told = tester.json("alone", *command, "--relay", relay.url, "--row", 37, "--wait", 60)
            told_right(tester, told, "relay noise")
            tester.check(told["messages"] == 1 and told["promise"] == "crowd" and told["relay_clusters"] == clusters and
                         told["relay"]["clusters"] == clusters + 1 and "adds its fakes" in told["assumption"], told)
            found = direct(tester, server, kept_message(tester, "rows.npy.37.cell"), 37)
            tester.check(told["results"] == found["results"], "the relay's fakes do not matter")
            tester.fails("a policy that was given stays", PRIVACY, ["adds"], "query", "--pack", "one.pmpk", "--features",
                         "rows.npy", "--relay-clusters", repr(clusters + 2), "--copies", copies, "--delta", "0.001",
                         "--relay", relay.url, same=False)
        with Relay(tester, server.url, "--noise-for", "1,0.001,8", clients=1) as relay:
            told = tester.json("planned there", *command, "--relay", relay.url, "--row", 38, "--wait", 60)
            tester.check(told["epsilon"] <= 1 and told["promise"] == "crowd" and
                         told["relay_clusters"] <= told["relay"]["clusters"], told)
    forget(tester)


def test_options(tester):
    base = query("http://127.0.0.1:1", 0, wait=None)
    tester.fails("no crowd", USAGE, ["--crowd"], "query", "--relay", "http://127.0.0.1:1", "--pack", "one.pmpk",
                 "--features", "rows.npy", "--epsilon", "1")
    tester.fails("crowd without relay", USAGE, ["--relay"], "query", "--server", *base[2:])
    tester.fails("nobody to ask", USAGE, ["--server", "--relay"], "query", *base[3:])
    tester.fails("plain http", USAGE, ["http", "--plain-http"], *query("http://relay.invalid", 0))
    tester.fails("plain http of the server", USAGE, ["--server", "--plain-http"], *base, "--server", "http://s.invalid")
    tester.fails("told so", NETWORK, ["relay.invalid"], *query("http://relay.invalid", 0, "--plain-http", "--wait", "1"))
    for option in (["--ohttp-keys", "f"], ["--wait", "3"], ["--idle"], ["--plain-http"], ["--cover"], ["--token", "f"]):
        tester.fails("without a relay: " + option[0], USAGE, [option[0], "--relay"], "query", "--server",
                     "http://127.0.0.1:1", "--pack", "one.pmpk", "--features", "rows.npy", "--epsilon", "1", *option)
    for option in (["--resend", "f"], ["--retries", "1"], ["--wait", "0"], ["--wait", "604801"], ["--cover"],
                   ["--mechanism", "gaussian"], ["--idle"]):
        done = tester.run(*base, *option)
        tester.check(done.returncode == USAGE and not done.stdout, "%s: %s" % (option, done.stderr))
    tester.fails("no features", USAGE, ["--features"], *[word for word in base if word not in ("--features", "rows.npy")])
    start = time.monotonic()
    tester.fails("nobody there", NETWORK, ["127.0.0.1:1"], *base, "--wait", "2")
    tester.check(time.monotonic() - start < 20, "it does not wait longer than told")


TESTS = [test_crowd, test_own, test_text, test_wait, test_crowd_ledger, test_two_at_once, test_interrupt, test_killed_relay,
         test_slow_relay, test_broken_connections, test_tampered_answers, test_foreign_answers, test_strange_relays,
         test_closed_epoch, test_doubtful_bundle, test_keys, test_idle, test_relay_noise, test_options]


def main():
    wanted = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        make_world(tester)
        for test in TESTS:
            if not wanted or test.__name__ in wanted:
                start = time.monotonic()
                test(tester)
                if "-v" in wanted or os.environ.get("PML_TEST_VERBOSE"):
                    print("%s: %.1f s" % (test.__name__, time.monotonic() - start), flush=True)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.exit(main())
