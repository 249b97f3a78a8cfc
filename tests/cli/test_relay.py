#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `privatemail relay` (SPEC 11) as real processes, with real HTTP clients and the gateway of relaying.py.

    tests/cli/test_relay.py PROGRAM [NAME...]     all scenarios, or those whose names contain one of these
"""
import concurrent.futures
import hashlib
import json
import os
import resource
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

from harness import INPUT, USAGE, Tester, wait_until
from relaying import (ANSWER, BUNDLE, HEADER, MESSAGE, Client, Gateway, Relay, answer_to, crowd, make_pack,
                      new_message)

NETWORK = 8
LONG = bool(os.environ.get("PML_TEST_LONG"))


# ---- what the interface says ----

def test_interface(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, epoch=300, clients=3) as relay:
        check, id = tester.check, gateway.id
        check(relay.json("/v1/relay") == {"version": 1, "epoch_seconds": 300, "clients": 3, "noise": None}, "/v1/relay")
        status, headers, body = relay.request("GET", "/v1/keys")
        check((status, headers["Content-Type"], body) == (200, "application/ohttp-keys", gateway.keys),
              "the key configuration is the gateway's")
        status, headers, body = relay.request("GET", "/v1/pack/" + id.hex())
        check((status, body, headers["ETag"]) == (200, pack, '"%s"' % id.hex()), "the pack is passed on")
        check(relay.request("GET", "/v1/pack/" + id.hex(), headers={"Range": "bytes=8-23"})[::2] == (206, id),
              "a part of the pack")
        told = relay.epoch(id)
        check(sorted(told) == ["answer", "closes", "epoch", "message", "noise", "pack"], "members of an epoch: %s" % told)
        check((told["pack"], told["message"], told["answer"]) == (id.hex(), MESSAGE, ANSWER), "an epoch: %s" % told)
        check(240 <= told["closes"] <= 300 and abs(told["epoch"] - time.time()) < 60, "its times: %s" % told)
        for method, path, expected in (
                ("GET", "/v1/pack/%s" % ("ab" * 16), 404), ("GET", "/v1/pack/%s/epoch" % ("ab" * 16), 404),
                ("GET", "/v1/pack/%s/gallery" % id.hex(), 404), ("GET", "/v1/pack/x/epoch", 404), ("GET", "/", 404),
                ("POST", "/v1/pack/%s/epoch" % id.hex(), 405), ("GET", "/v1/pack/%s/bundle" % id.hex(), 405),
                ("DELETE", "/v1/keys", 405), ("PUT", "/v1/ticket/%s" % ("cd" * 16), 405),
                ("GET", "/v1/ticket/%s" % ("cd" * 16), 410), ("DELETE", "/v1/ticket/%s" % ("cd" * 16), 410),
                ("GET", "/v1/ticket/cd", 404), ("GET", "/v1/ticket/%s/x" % ("cd" * 16), 404), ("GET", "/healthz", 200)):
            status = relay.request(method, path)[0]
            check(status == expected, "%s %s: %d instead of %d" % (method, path, status, expected))
        check("127.0.0.1" not in relay.log(), "the log has no address")


def test_bundles_that_are_refused(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--bundle-messages", 4, epoch=30, clients=3) as relay:
        epoch = relay.epoch(gateway.id)["epoch"]
        sound = Client(relay, gateway.id, epoch, 2)
        whole = sound.bytes()
        other = HEADER[:-1] + b"\1" + os.urandom(MESSAGE - 7)
        for what, body, expected in (
                ("an empty body", b"", (400, "bundle")), ("half a head", whole[:20], (400, "bundle")),
                ("a message cut short", whole[:-1], (400, "bundle")), ("one byte too many", whole + b"x", (400, "bundle")),
                ("AES", whole + other, (400, "bundle")),
                ("the epoch before", struct.pack(">Q", epoch - 1) + whole[8:], (409, "epoch")),
                ("an epoch to come", struct.pack(">Q", epoch + 1) + whole[8:], (409, "epoch")),
                ("a message twice", whole + whole[24:24 + MESSAGE], (409, "duplicate")),
                ("too many messages", whole + b"".join(new_message() for _ in range(3)), (413, "size"))):
            status, told = sound.post(body)
            tester.check((status, told.get("error")) == expected, "%s: %d %s" % (what, status, told))
            if expected[1] == "epoch":
                tester.check(told["epoch"] == epoch, "409 names the open epoch: %s" % told)
        status, _, body = relay.request("POST", sound.path, whole, {"Content-Type": "application/cbor"})
        tester.check((status, json.loads(body)["error"]) == (415, "type"), "another type: %d" % status)
        status, _, body = relay.request("POST", "/v1/pack/%s/bundle" % ("ab" * 16), whole, BUNDLE)
        tester.check(status == 404, "a pack that is not there: %d" % status)
        tester.check(sound.get()[0] == 410, "nothing of a refused bundle is kept")
        tester.check(sound.post() == (201, {"ticket": sound.ticket.hex(), "epoch": epoch}), "then the sound one")


def test_options(tester, pack):
    start = ["relay", "--gateway", "http://127.0.0.1:9", "--epoch", 1]
    for what, code, needles, arguments in (
            ("one client is no crowd", USAGE, ["--clients", "--noise"], [*start, "--clients", 1]),
            ("nobody without noise", USAGE, ["--clients", "--noise"], [*start, "--clients", 0]),
            ("an epoch of no time", USAGE, ["--epoch"], ["relay", "--gateway", "http://127.0.0.1:9", "--epoch", 0, "--clients", 2]),
            ("no address", USAGE, ["--gateway"], ["relay", "--gateway", "nowhere", "--epoch", 1, "--clients", 2]),
            ("plain HTTP to another machine", USAGE, ["--gateway", "https"],
             ["relay", "--gateway", "http://192.0.2.1", "--epoch", 1, "--clients", 2]),
            ("noise without a size", USAGE, ["--noise"], [*start, "--clients", 1, "--noise", "3"]),
            ("clusters of 65", USAGE, ["--noise"], [*start, "--clients", 1, "--noise", "3,65"]),
            ("no noise", USAGE, ["--noise"], [*start, "--clients", 1, "--noise", "0,8"]),
            ("noise for delta 1", USAGE, ["--noise-for"], [*start, "--clients", 1, "--noise-for", "0.1,1"]),
            ("both", USAGE, ["--noise-for"], [*start, "--clients", 1, "--noise", "3,8", "--noise-for", "0.1,1e-6"]),
            ("a gateway that is not there", NETWORK, ["http://127.0.0.1:9"], [*start, "--clients", 2]),
            ("a spool that is not there", NETWORK, ["nowhere", "--spool"], [*start, "--clients", 2, "--spool", "nowhere"]),
            ("tokens that are not there", INPUT, ["tokens.txt"], [*start, "--clients", 2, "--tokens", "tokens.txt"])):
        tester.fails(what, code, needles, *arguments, "--listen", "127.0.0.1:0", same=False)


# ---- mixing ----

def test_everybody_gets_the_own_answers(tester, pack):
    sizes = [0, 1, 1, 2, 3, 5, 40, 1, 0, 1100, 7]
    with Gateway(pack) as gateway, Relay(tester, gateway.url, epoch=2, clients=len(sizes)) as relay:
        clients = crowd(relay, gateway.id, sizes)
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            answers = list(pool.map(lambda client: client.collect(), clients))
        for client, (status, body) in zip(clients, answers):
            tester.check(status == 200 and client.is_own(body), "a bundle of %d: %d" % (len(client.messages), status))
        big = clients[9]
        for index in (0, 1, 1099):
            tester.check(big.get(index=index)[2] == answer_to(big.messages[index]), "message %d alone" % index)
        tester.check(big.get(index=1100)[0] == 404, "there is no message 1100")
        sent = gateway.messages()
        tester.check(sorted(sent) == sorted(m for client in clients for m in client.messages), "every message goes once")
        tester.check(all(len(messages) <= 1024 for _, messages, _ in gateway.requests), "at most 1024 per request")
        tester.check(len({epoch for epoch, _, _ in gateway.requests}) == 1, "all under one epoch")
        # Every message's place is uniform: places of the large bundle's messages, in its order, have no trend.
        place = {message: i for i, message in enumerate(sent)}
        places = [place[message] for message in big.messages]
        mean = sum(places) / len(places)
        trend = sum((i - 549.5) * (at - mean) for i, at in enumerate(places))
        spread = (sum((i - 549.5) ** 2 for i in range(1100)) * sum((at - mean) ** 2 for at in places)) ** 0.5
        tester.check(abs(trend / spread) < 6 / 1100 ** 0.5, "no trend in the order: %.3f" % (trend / spread))
        tester.check(relay.request("DELETE", "/v1/ticket/" + big.ticket.hex())[0] == 204, "DELETE")
        tester.check(big.get()[0] == 410, "what was deleted is lost")
        tester.check(clients[1].get()[0] == 200, "and nothing else")
        tester.check((relay.metric("relay_epochs_total"), relay.metric("relay_bundles_total")) == (1, len(sizes)),
                     "the metrics count crowds")
        tester.check("bytes" not in relay.request("GET", "/metrics")[2].decode(),
                     "metrics of bytes would tell the number of fakes")


def test_no_answer_before_all_are_there(tester, pack):
    release = threading.Event()

    def late(number, messages, reply):
        if len(messages) < 1024:
            release.wait(55)            # the relay waits for a minute
        return reply

    with Gateway(pack) as gateway, Relay(tester, gateway.url, clients=3) as relay:
        gateway.on_epoch = late
        clients = crowd(relay, gateway.id, [1000, 1, 100])
        wait_until(lambda: len(gateway.requests) == 2)
        time.sleep(1)                   # the first answers are there by now
        states = [client.get() for client in clients]
        tester.check([status for status, _, _ in states] == [202] * 3, "nobody has an answer")
        tester.check(all(json.loads(body) == {"state": "fetching"} for _, _, body in states), "the state is told")
        release.set()
        for client in clients:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "now everybody has: %d" % status)


def test_a_crowd_that_fills_late(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, clients=3) as relay:
        clients = crowd(relay, gateway.id, [4, 2])      # messages do not count, bundles do
        time.sleep(3.5)
        tester.check([client.get()[0] for client in clients] == [202, 202], "the epoch goes on")
        tester.check(not gateway.requests, "nothing was sent")
        tester.check(json.loads(clients[0].get()[2]) == {"state": "open"}, "it is open")
        clients += crowd(relay, gateway.id, [0])
        for client in clients:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "then it ends: %d" % status)
        tester.check(len({client.epoch for client in clients}) == 1, "all in one epoch")


def test_epochs_follow_each_other(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay:
        numbers = []
        for _ in range(3):
            clients = crowd(relay, gateway.id, [1, 1])
            numbers.append(clients[-1].epoch)
            tester.check(all(client.is_own(client.collect()[1]) for client in clients), "every epoch is answered")
        tester.check(numbers == sorted(set(numbers)), "numbers grow: %s" % numbers)
        old = clients[0]
        now = relay.epoch(gateway.id)["epoch"]
        fresh = Client(relay, gateway.id, old.epoch, messages=old.messages)
        tester.check(fresh.post()[0] == 409, "an old bundle under a new ticket is refused")
        tester.check(old.post()[0] == 200, "its own bytes again are harmless")
        tester.check(now > old.epoch and len(gateway.messages()) == 6, "nothing was sent twice")


def test_answers_are_forgotten(tester, pack):
    if not LONG:
        return                          # they are kept for a minute at least
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay:
        began = time.monotonic()
        clients = crowd(relay, gateway.id, [1, 2])
        tester.check(all(client.is_own(client.collect()[1]) for client in clients), "they are there")
        time.sleep(50)
        states = [client.get()[0] for client in clients]
        tester.check(states == [200, 200] or time.monotonic() - began >= 60, "for a minute: %s" % states)
        tester.check(wait_until(lambda: [client.get()[0] for client in clients] == [410, 410]), "and then no more")


# ---- duplicates ----

def test_duplicates(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, clients=3) as relay:   # open until the third is there
        epoch = relay.epoch(gateway.id)["epoch"]
        first = Client(relay, gateway.id, epoch, 3)
        tester.check([first.post()[0] for _ in range(3)] == [201, 200, 200], "the same bytes again")
        changed = Client(relay, gateway.id, epoch, 3, ticket=first.ticket)
        tester.check(changed.post()[1].get("error") == "duplicate", "the ticket with other messages")
        thief = Client(relay, gateway.id, epoch, messages=[new_message(), first.messages[1]])
        status, told = thief.post()
        tester.check((status, told["error"]) == (409, "duplicate"), "somebody else's message: %d" % status)
        honest = Client(relay, gateway.id, epoch, messages=thief.messages[:1])
        tester.check(honest.post()[0] == 201, "of a refused bundle no message counts")
        last = Client(relay, gateway.id, epoch, 1)
        tester.check(last.post()[0] == 201, "a third")
        for client in (first, honest, last):
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "answers: %d" % status)
        tester.check(len(gateway.messages()) == 5, "five messages: %d" % len(gateway.messages()))
        tester.check(thief.get()[0] == 410, "the refused bundle has no ticket")


# ---- slow and vanishing clients ----

def upload(relay, client, meanwhile, cut=None):
    """Sends a bundle's header, and half of it when the relay says that it began to arrive; does something meanwhile; then
    sends the rest. Returns the status, None without one."""
    body = client.bytes()
    head = ("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-privatemail-bundle\r\nContent-Length: %d\r\n"
            "Expect: 100-continue\r\n\r\n" % (client.path, len(body))).encode()
    with socket.create_connection((relay.host, relay.port), timeout=60) as connection:
        connection.sendall(head)
        if not connection.recv(65536).startswith(b"HTTP/1.1 100 "):
            raise AssertionError("the bundle's head was refused")
        connection.sendall(body[:len(body) // 2])
        meanwhile()
        if cut:
            return None
        try:
            connection.sendall(body[len(body) // 2:])
            return int(connection.recv(65536).split()[1])
        except (ConnectionError, IndexError):
            return None


def fill(tester, relay, gateway, clients):
    """Posts the last bundle that an epoch needs, and waits until the next one is open."""
    clients += crowd(relay, gateway.id, [1])
    tester.check(clients[-1].epoch == clients[0].epoch, "the last one is in time")
    tester.check(wait_until(lambda: relay.epoch(gateway.id)["epoch"] > clients[-1].epoch), "the epoch ends")


def test_an_upload_that_began_in_time(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay:
        clients = crowd(relay, gateway.id, [1])
        slow = Client(relay, gateway.id, clients[0].epoch, 3)

        def meanwhile():
            fill(tester, relay, gateway, clients)
            time.sleep(2)               # who does not wait for it has sent the epoch by now

        status = upload(relay, slow, meanwhile)
        tester.check(status == 201, "it is taken after the epoch's end: %s" % status)
        for client in [*clients, slow]:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "and answered with it: %d" % status)
        tester.check({epoch for epoch, _, _ in gateway.requests} == {slow.epoch}, "in the same epoch")


def test_clients_that_vanish(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--timeout", 3) as relay:
        clients = crowd(relay, gateway.id, [1])
        gone = Client(relay, gateway.id, clients[0].epoch, 2)
        upload(relay, gone, lambda: fill(tester, relay, gateway, clients), cut=True)
        tester.check(all(client.is_own(client.collect()[1]) for client in clients), "the epoch does not wait for one that went")
        tester.check(gone.get()[0] == 410, "half a bundle is none")
        later = crowd(relay, gateway.id, [1])
        asleep = Client(relay, gateway.id, later[0].epoch, 2)

        def meanwhile():
            began = time.monotonic()
            fill(tester, relay, gateway, later)
            done = [client.collect() for client in later]
            tester.check(all(client.is_own(body) for client, (_, body) in zip(later, done)), "nor for ever for a slow one")
            tester.check(time.monotonic() - began < 20, "but as long as --timeout: %.1f s" % (time.monotonic() - began))

        upload(relay, asleep, meanwhile)
        tester.check(asleep.get()[0] == 410, "which is not taken")
        tester.check(len(gateway.messages()) == 4, "half bundles send nothing")


def test_many_uploads_at_once(tester, pack):
    """More than would fit into memory if each were as large as it may be: 800 times 4096 messages are 426 MB."""
    with Gateway(pack) as gateway, Relay(tester, gateway.url, epoch=5, clients=800) as relay:
        epoch = relay.epoch(gateway.id)["epoch"]
        clients = [Client(relay, gateway.id, epoch) for _ in range(800)]
        sockets = []
        for client in clients:
            body = client.bytes()
            sockets.append(socket.create_connection((relay.host, relay.port), timeout=60))
            sockets[-1].sendall(("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-privatemail-bundle\r\n"
                                 "Content-Length: %d\r\n\r\n" % (client.path, len(body))).encode() + body[:50])
        statuses = set()
        for client, connection in zip(clients, sockets):
            connection.sendall(client.bytes()[50:])
            statuses.add(connection.recv(65536).split()[1])
            connection.close()
        tester.check(statuses == {b"201"}, "all are taken: %s" % statuses)
        done = [client.collect(40) for client in clients[::100]]
        tester.check(all(client.is_own(body) for client, (_, body) in zip(clients[::100], done)), "and answered")
        huge = struct.pack(">Q", relay.epoch(gateway.id)["epoch"]) + bytes(4096 * MESSAGE)
        tester.check(clients[0].post(huge)[0] == 400, "a large one is read to its end")


def test_waiting_without_connections(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--waiting", 2, epoch=3, clients=4) as relay:
        clients = crowd(relay, gateway.id, [1] * 3)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(client.get, 30) for client in clients[:2]]
            tester.check(wait_until(lambda: relay.metric("relay_waiting") == 2), "two wait")
            began = time.monotonic()
            status, headers, _ = clients[2].get(wait=30)
            tester.check(status == 202 and time.monotonic() - began < 25, "when too many wait, others need not: %d" % status)
            tester.check(1 <= int(headers["Retry-After"]) <= 6, "they are told when to ask: %s" % headers["Retry-After"])
            clients += crowd(relay, gateway.id, [1])
            tester.check([job.result()[0] for job in waiting] == [200, 200], "those who wait get it")
        tester.check(clients[3].is_own(clients[3].collect()[1]), "the others too")
        began = time.monotonic()
        alone = crowd(relay, gateway.id, [1])[0]
        status = alone.get(wait=2)[0]
        tester.check(status == 202 and 1.8 < time.monotonic() - began < 25, "a long poll ends in time")


# ---- admission ----

def test_tokens(tester, pack):
    tokens = ["token-%d" % i for i in range(3)]

    def write(some):
        tester.write("admitted.txt", "".join("%s # %s\n" % (hashlib.sha256(token.encode()).hexdigest(), "x") for token in some).encode())

    write(tokens[:2])
    with Gateway(pack) as gateway, \
            Relay(tester, gateway.url, "--tokens", "admitted.txt", epoch=2, clients=2) as relay:
        epoch = relay.epoch(gateway.id)["epoch"]
        clients = [Client(relay, gateway.id, epoch, 1) for _ in range(4)]
        tester.check(clients[0].post()[1].get("error") == "token", "none")
        tester.check(clients[0].post(Authorization="Bearer " + tokens[2])[0] == 401, "one that is not in the file")
        tester.check(clients[0].post(Authorization="Basic " + tokens[0])[0] == 401, "another scheme")
        tester.check(clients[0].post(Authorization="Bearer " + tokens[0])[0] == 201, "a good one")
        tester.check(clients[0].post(Authorization="Bearer " + tokens[0])[0] == 200, "the same bytes again")
        tester.check(clients[1].post(Authorization="Bearer " + tokens[0])[0] == 401, "nobody counts twice")
        write(tokens)
        relay.process.send_signal(signal.SIGHUP)
        wait_until(lambda: clients[2].post(Authorization="Bearer " + tokens[2])[0] != 401)
        tester.check(clients[2].post(Authorization="Bearer " + tokens[2])[0] == 200, "the file is read again on SIGHUP")
        tester.write("admitted.txt", b"no digest\n")
        relay.process.send_signal(signal.SIGHUP)
        tester.check(relay.wait_for_log("line 1"), "what is wrong with the file is told")
        tester.check(clients[0].is_own(clients[0].collect()[1]), "an answer needs the ticket alone")
        clients = crowd_with(relay, gateway, tokens[:2])
        tester.check(all(client.is_own(client.collect()[1]) for client in clients),
                     "a token is good again in the next epoch, and a bad file changes nothing")
    tester.write("bad.txt", b"\n" + b"0" * 63 + b"\n")
    with Gateway(pack) as gateway:
        tester.fails("a bad file of tokens", INPUT, ["bad.txt", "line 2"], "relay", "--gateway", gateway.url, "--epoch", 1,
                     "--clients", 2, "--listen", "127.0.0.1:0", "--tokens", "bad.txt", same=False)


def crowd_with(relay, gateway, tokens):
    epoch = relay.epoch(gateway.id)["epoch"]
    clients = [Client(relay, gateway.id, epoch, 1) for _ in tokens]
    for client, token in zip(clients, tokens):
        status, told = client.post(Authorization="Bearer " + token)
        if status != 201:
            raise AssertionError("%d %s" % (status, told))
    return clients


# ---- noise ----

def with_key(message, id):
    return bytes([id]) + message[1:]


def test_keys_of_an_epoch(tester, pack):
    """Whoever reads the messages sees which key each is for. So each key of an epoch has the whole noise, and none comes
    or changes while it is open."""
    def takes(key):
        number = relay.epoch(gateway.id)["epoch"]
        client = Client(relay, gateway.id, number, messages=[with_key(new_message(), key), with_key(new_message(), key)])
        status, told = client.post()
        return client, status, told.get("error")

    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--noise", "40,4", epoch=1, clients=3) as relay:
        first, status, _ = takes(1)
        tester.check(status == 201, "the key of the epoch")
        tester.check(takes(2)[1:] == (409, "epoch"), "a bundle for another key is refused")
        mixed = Client(relay, gateway.id, first.epoch, messages=[new_message(), with_key(new_message(), 2)])
        tester.check(mixed.post()[0] == 409, "also one message of a bundle")
        old = gateway.keys
        for _ in range(2):      # a key in front of the old one; then another key of the same id
            gateway.keys = old[:2] + b"\2" + old[3:5] + b"\x12\x34" * 8 + os.urandom(16) + old[37:] + old
            tester.check(wait_until(lambda: relay.epoch(gateway.id)["epoch"] > first.epoch), "other keys: another epoch")
            tester.check(first.get()[0] == 410, "what was sealed before is lost")
            first, status, _ = takes(2)
            tester.check(status == 201, "the new key is taken")
        clients = [first, takes(1)[0], takes(2)[0]]
        tester.check(all(client.is_own(client.collect()[1]) for client in clients), "both keys are answered")
        sent = [message for client in clients for message in client.messages]
        fakes = [message[0] for message in gateway.messages() if message not in sent]
        tester.check(all(20 < fakes.count(key) < 220 for key in (1, 2)), "each has the whole noise: %d and %d" %
                     (fakes.count(1), fakes.count(2)))
        tester.check(len({number for number, _, _ in gateway.requests}) == 1, "nothing else was sent")


def test_noise(tester, pack):
    """The gateway sees more messages than clients sent, all of one length, also when no client sent any."""
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--noise", "40,4", clients=1) as relay:
        tester.check(relay.json("/v1/relay")["noise"] == {"clusters": 40, "copies": 4}, "/v1/relay tells the noise")
        client = crowd(relay, gateway.id, [5])[0]
        status, body = client.collect()
        tester.check(status == 200 and client.is_own(body), "one client is enough: %d" % status)
        first = gateway.messages(client.epoch)
        fakes = [message for message in first if message not in client.messages]
        tester.check(20 < len(fakes) < 220 and len(set(fakes)) == len(fakes), "about 100 fakes, all different: %d" % len(fakes))
        tester.check({message[:7] for message in fakes} == {b"\1" + HEADER[1:]}, "sealed for the gateway's key")
        idle = crowd(relay, gateway.id, [0])[0]
        tester.check(idle.collect() == (200, b""), "an empty bundle has no answers")
        tester.check(len(gateway.messages(idle.epoch)) > 15, "but the relay's fakes go all the same")
        kinds = [message in fakes for message in first]     # by chance they are sorted once in 10^7 epochs
        tester.check(kinds != sorted(kinds) and kinds != sorted(kinds, reverse=True), "they are mixed in")
    with Gateway(pack) as gateway, Relay(tester, gateway.url, "--noise-for", "0.5,1e-6", clients=1) as relay:
        planned = tester.json("plan", "crowd", "--cells", 8, "--epsilon", 0.5, "--delta", 1e-6, "--noise", "relay",
                              "--copies-max", 20)
        told = relay.epoch(gateway.id)["noise"]
        tester.check(planned["relay_clusters"] <= told["clusters"] < 1.01 * planned["relay_clusters"],
                     "the plan is that of `crowd`: %s" % told)
        client = crowd(relay, gateway.id, [1])[0]
        tester.check(client.is_own(client.collect()[1]), "an answer")
        mean = told["clusters"] * (told["copies"] + 1) / 2
        fakes = len(gateway.messages()) - 1
        tester.check(abs(fakes - mean) < 7 * (told["clusters"] * (told["copies"] + 1) ** 2 / 3) ** 0.5,
                     "as many fakes as planned: %d, not %.0f" % (fakes, mean))


def test_empty_epochs(tester, pack):
    """With --clients 0 epochs go whether or not anybody is in them; with 1 only those that somebody is in."""
    for clients in (0, 1):
        with Gateway(pack) as gateway, Relay(tester, gateway.url, "--noise", "40,4", clients=clients) as relay:
            tester.check(relay.json("/v1/relay")["clients"] == clients, "/v1/relay tells --clients %d" % clients)
            relay.epoch(gateway.id)         # the relay now knows the pack; nobody sends a bundle
            wait_until(lambda: len({epoch for epoch, _, _ in gateway.requests}) == 2, 60 if clients == 0 else 3)
            epochs = sorted({epoch for epoch, _, _ in gateway.requests})
            if clients == 1:
                tester.check(not epochs, "with --clients 1 an empty epoch was sent: %s" % epochs)
                continue
            tester.check(len(epochs) >= 2, "with --clients 0 empty epochs are sent: %s" % epochs)
            sizes = [len(gateway.messages(epoch)) for epoch in epochs[:2]]
            tester.check(all(20 < size < 220 for size in sizes), "with about 100 fakes each: %s" % sizes)

            def takes_part():       # epochs end every second here, whoever is on the way to them
                client = Client(relay, gateway.id, relay.epoch(gateway.id)["epoch"])
                return client if client.post()[0] != 409 else None

            client = wait_until(takes_part, 30)
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "who asks among empty epochs gets the answer: %d" % status)


# ---- all ----

class SharedTester(Tester):
    """Several scenarios run at once."""
    lock = threading.Lock()

    def check(self, true, what):
        with self.lock:
            return super().check(true, what)


def run(module, program, names):
    """The functions test_… of a module, some at a time; each gets a tester and a pack."""
    tests = [(name, test) for name, test in sorted(vars(module).items())
             if name.startswith("test_") and callable(test) and (not names or any(part in name for part in names))]
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        tester = SharedTester(program, folder)
        pack = make_pack(tester)

        def guarded(item):
            try:
                item[1](tester, pack)
            except Exception as problem:        # one scenario must not hide the others
                tester.check(False, "%s: %s: %s" % (item[0], type(problem).__name__, problem))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(guarded, tests))
        print("%d passed, %d failed" % (tester.passed, tester.failed))
        return tester.failed == 0 and bool(tests)


if __name__ == "__main__":
    sys.exit(0 if run(sys.modules["__main__"], sys.argv[1], sys.argv[2:]) else 1)
