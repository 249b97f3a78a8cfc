#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults and attacks at the relay: it is killed in each phase, the gateway is gone, late or lies, the disk is full.

    tests/cli/test_relay_faults.py PROGRAM [NAME...]
"""
import concurrent.futures
import json
import os
import signal
import sys
import threading
import time

import test_relay
from harness import wait_until
from relay_parts import next_second
from relaying import ANSWER, Client, Gateway, Relay, crowd, new_message


def deleted_files(relay):
    """What the relay has open and nobody can open by a name."""
    folder = "/proc/%d/fd" % relay.process.pid
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(os.path.join(folder, name)))
        except FileNotFoundError:
            pass
    return [link for link in links if link.endswith("(deleted)")]


# ---- kill -9 ----

def killed_in(tester, pack, phase):
    """Kills the relay in a phase; another one takes its place. Nothing is left, and nothing was answered twice."""
    spool, hold = tester.path("spool-" + phase), threading.Event()
    os.mkdir(spool)
    with Gateway(pack) as gateway:
        gateway.on_epoch = lambda number, messages, reply: (hold.wait(60), reply)[1] if phase == "fetching" else reply
        with Relay(tester, gateway.url, "--spool", spool, clients=3 if phase == "open" else 2) as relay:
            clients = crowd(relay, gateway.id, [2, 3])
            if phase == "fetching":
                wait_until(lambda: gateway.requests)
            elif phase == "ready":
                tester.check(clients[0].is_own(clients[0].collect()[1]), "one has its answers")
            tester.check(len(deleted_files(relay)) >= 2, "%s: the spool has no name" % phase)
            tester.check(os.listdir(spool) == [], "%s: nor while it runs" % phase)
            relay.kill()
        hold.set()
        tester.check(os.listdir(spool) == [], "%s: nothing is left on the disk" % phase)
        next_second()                   # an epoch that opens within the same second has the same number
        with Relay(tester, gateway.url, "--spool", spool) as relay:
            for client in clients:
                client.relay = relay
                status, _, body = client.get()
                tester.check((status, json.loads(body)["error"]) == (410, "lost"), "%s: the ticket is lost" % phase)
            status, told = clients[0].post()
            tester.check((status, told["error"]) == (409, "epoch"), "%s: its bundle belongs to no epoch: %d" % (phase, status))
            again = crowd(relay, gateway.id, [2, 3])
            tester.check(all(client.is_own(client.collect()[1]) for client in again), "%s: sent again, it is answered" % phase)
        sent = gateway.messages()
        tester.check(len(sent) == len(set(sent)), "%s: no message went twice" % phase)
        tester.check(len(sent) == (5 if phase == "open" else 10), "%s: %d messages" % (phase, len(sent)))


def test_killed_while_open(tester, pack):
    killed_in(tester, pack, "open")


def test_killed_while_fetching(tester, pack):
    killed_in(tester, pack, "fetching")


def test_killed_when_ready(tester, pack):
    killed_in(tester, pack, "ready")


# ---- a gateway that lies ----

def changed(head, at, value):
    return [value if i == at else old for i, old in enumerate(head)]


LIES = {
    "a status": lambda number, head, answers: (500, head, answers),
    "another epoch": lambda number, head, answers: (200, changed(head, 0, head[0] + 1), answers),
    "another pack": lambda number, head, answers: (200, changed(head, 1, b"x" * 16), answers),
    "two galleries": lambda number, head, answers: (200, changed(head, 2, b"gallery%d" % number), answers),
    "another count": lambda number, head, answers: (200, changed(head, 3, head[3] - 1), answers),
    "another length": lambda number, head, answers: (200, changed(head, 4, ANSWER // 2), answers),
    "an answer less": lambda number, head, answers: (200, head, answers[:-ANSWER]),
    "a byte less": lambda number, head, answers: (200, head, answers[:-1]),
    "a byte more": lambda number, head, answers: (200, head, answers + b"x"),
    "nothing": lambda number, head, answers: None,
}


def lie(tester, pack, name):
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay:
        gateway.on_epoch = lambda number, messages, reply: LIES[name](number, *reply[1:])
        clients = crowd(relay, gateway.id, [1100, 2])
        for client in clients:
            status, body = client.collect()
            tester.check((status, json.loads(body).get("error")) == (410, "lost"), "%s: %d" % (name, status))
        seen = len(gateway.requests)
        gateway.on_epoch = None
        later = crowd(relay, gateway.id, [1, 1])
        tester.check(all(client.is_own(client.collect()[1]) for client in later), "%s: the next epoch is fine" % name)
        sent = gateway.messages()
        tester.check(len(sent) == len(set(sent)) and seen <= 2, "%s: nothing is tried again" % name)
        tester.check(relay.metric("relay_epochs_lost_total") == 1, "%s: it is counted" % name)


def test_a_gateway_that_lies(tester, pack):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: lie(tester, pack, name), LIES))


def test_a_gateway_that_is_late(tester, pack):
    too_late, hold = [], threading.Event()
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--gateway-timeout", 5) as relay:
        gateway.on_epoch = lambda number, messages, reply: (hold.wait(60), too_late.append(number), reply)[2]
        clients = crowd(relay, gateway.id, [1, 1])
        tester.check([client.collect(40)[0] for client in clients] == [410, 410], "too late is lost")
        hold.set()
        wait_until(lambda: too_late)
        time.sleep(1)
        tester.check([client.get()[0] for client in clients] == [410, 410], "also when the answers come after all")


def test_a_gateway_that_is_gone(tester, pack):
    with Gateway(pack) as gateway:
        with Relay(tester, gateway.url) as relay:
            clients = crowd(relay, gateway.id, [1])         # not full, so it does not end, before the gateway is gone
            gateway.go()
            clients += crowd(relay, gateway.id, [1])
            time.sleep(3)
            tester.check([client.get()[0] for client in clients] == [202, 202], "the epoch goes on: nothing is lost")
            status, _, _ = relay.request("GET", "/v1/pack/%s/epoch" % ("ef" * 16))
            tester.check(status == 503, "of a new pack nothing is known: %d" % status)
            tester.check(relay.request("GET", "/v1/keys")[2] == gateway.keys, "the keys stay")
            tester.check(relay.request("GET", "/v1/pack/" + gateway.id.hex())[2] == pack, "and the packs")


def test_a_pack_that_goes_and_comes_back(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay:
        clients = crowd(relay, gateway.id, [1])
        gateway.serves = False
        clients += crowd(relay, gateway.id, [1])
        tester.check([client.collect()[0] for client in clients] == [410, 410], "its epoch is lost")
        tester.check(relay.request("GET", "/v1/pack/%s/epoch" % gateway.id.hex())[0] == 404, "it is not there")
        tester.check(not gateway.requests, "nothing was sent")
        gateway.serves = True
        tester.check(wait_until(lambda: relay.request("GET", "/v1/pack/%s/epoch" % gateway.id.hex())[0] == 200, 30),
                     "it comes back")
        clients = crowd(relay, gateway.id, [1, 1])
        tester.check(all(client.is_own(client.collect()[1]) for client in clients), "with new epochs")


def test_a_gallery_that_changes(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay:
        clients = crowd(relay, gateway.id, [2])
        gateway.length = 2 * ANSWER + 1
        clients += crowd(relay, gateway.id, [1])
        for client in clients:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body, 2 * ANSWER + 1), "all answers have the new length: %d" % status)
        tester.check(relay.epoch(gateway.id)["answer"] == 2 * ANSWER + 1, "the next epoch tells it")


def test_another_pack_under_an_id(tester, pack):
    with Gateway(pack) as gateway:
        gateway.pack = pack[:-1] + bytes([pack[-1] ^ 1])
        with Relay(tester, gateway.url) as relay:
            tester.check(relay.request("GET", "/v1/pack/%s/epoch" % gateway.id.hex())[0] == 404, "a pack is checked by its id")


# ---- the disk ----

def test_a_spool_that_is_full(tester, pack):
    room = 10 * (130 + ANSWER)
    with Gateway(pack) as gateway, \
            Relay(tester, gateway.url, "--spool-bytes", room, clients=3) as relay:
        clients = crowd(relay, gateway.id, [4, 5])
        epoch = relay.epoch(gateway.id)["epoch"]
        late = Client(relay, gateway.id, epoch, 2)
        status, told = late.post()
        tester.check((status, told["error"]) == (503, "busy"), "no room: %d" % status)
        small = Client(relay, gateway.id, epoch, 1)
        tester.check(small.post()[0] == 201, "what fits is taken")
        for client in [*clients, small]:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "nothing is lost that was taken: %d" % status)
        tester.check(late.get()[0] == 410, "what was refused is not there")


def test_a_disk_that_is_full(tester, pack):
    """The same by the system: no file may have more than 40,000 bytes. Answers are set aside when a bundle is taken."""
    with Gateway(pack) as gateway, \
            Relay(tester, gateway.url, clients=3, prefix=("prlimit", "--fsize=40000:40000")) as relay:
        clients = crowd(relay, gateway.id, [30, 30])
        late = Client(relay, gateway.id, relay.epoch(gateway.id)["epoch"], 10)
        status, told = late.post()
        tester.check((status, told["error"]) == (503, "busy"), "no room: %d" % status)
        for client in [*clients, *crowd(relay, gateway.id, [0])]:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "the epoch goes on: %d" % status)
        clients = crowd(relay, gateway.id, [1, 1, 0])
        tester.check(all(client.is_own(client.collect()[1]) for client in clients), "and the next one has room")


# ---- the end ----

def test_a_graceful_stop(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--grace", 60, epoch=30, clients=5) as relay:
        clients = crowd(relay, gateway.id, [1, 2, 1])
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(client.get, 30) for client in clients]
            wait_until(lambda: relay.metric("relay_waiting") == 3)
            began = time.monotonic()
            relay.process.send_signal(signal.SIGTERM)
            tester.check([job.result()[0] for job in waiting] == [410] * 3, "those who wait are told")
        tester.check(relay.process.wait(60) == 0 and time.monotonic() - began < 25, "it ends at once")
        tester.check(not gateway.requests, "an epoch that was open is dropped")


def test_stopping_while_fetching(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--grace", 60) as relay:
        hold = threading.Event()
        gateway.on_epoch = lambda number, messages, reply: (hold.wait(60), reply)[1]
        client = crowd(relay, gateway.id, [1, 2])[0]
        wait_until(lambda: gateway.requests)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.get, 30)
            wait_until(lambda: relay.metric("relay_waiting") == 1)
            began = time.monotonic()
            relay.stop()
            tester.check(waiting.result()[0] == 410 and time.monotonic() - began < 25, "it does not wait for the gateway")
        hold.set()


def test_hostile_bytes(tester, pack):
    """Bundles with random changes: the relay says something sensible to each, and lives."""
    count = 20000 if test_relay.LONG else 300
    with Gateway(pack) as gateway, Relay(tester, gateway.url, epoch=3600, clients=2) as relay:
        epoch = relay.epoch(gateway.id)["epoch"]
        sound = Client(relay, gateway.id, epoch, 3)
        seen = set()
        for i in range(count):
            body = bytearray(Client(relay, gateway.id, epoch, messages=[new_message() for _ in range(i % 4)]).bytes())
            for _ in range(1 + i % 3):
                at = int.from_bytes(os.urandom(2), "big") % len(body)
                if i % 2:
                    body[at] ^= 1 << i % 8
                else:
                    del body[at:at + 1 + i % 5]
                    body = body or bytearray(1)
            seen.add(sound.post(bytes(body))[0])
        tester.check(seen <= {201, 400, 409} and 400 in seen, "statuses: %s" % seen)
        tester.check(sound.post()[0] == 201, "it still takes a sound one")


if __name__ == "__main__":
    sys.exit(0 if test_relay.run(sys.modules["__main__"], sys.argv[1], sys.argv[2:]) else 1)
