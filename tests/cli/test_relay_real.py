#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From client to gateway and back, all parts real: `serve --ohttp-key`, `relay`, and clients that seal and open with the
independent implementation of tests/transport.

    tests/cli/test_relay_real.py PROGRAM [NAME...]
"""
import os
import signal
import statistics
import sys
import time

import test_relay
from harness import ROOT, wait_until
from relaying import Client, Relay
from serving import CBOR, Server

sys.path.insert(0, os.path.join(ROOT, "tests", "transport"))
sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import reference_transport as transport  # noqa: E402
from reference_formats import write_release  # noqa: E402

CHACHA, CELLS = 3, 8


def start(tester, pack, name):
    """A gateway of its own for a scenario."""
    tester.succeeds("index", "index", "--pack", "crowd.pmpk", "--features", "public.npy", "--labels", "labels.npy",
                    "--cells-per-item", "1", "--store", "sqlite:%s.store" % name)
    tester.succeeds("keys", "keys", "--out", name + ".keys", "--public", name + ".ohttp-keys")
    return Server(tester, "--ohttp-key", name + ".keys", names=("crowd",), stores=["sqlite:%s.store" % name])


class Phone(Client):
    """Seals releases of these cells, and opens the answers."""

    def __init__(self, relay, pack, cells, keys=None, sealed_for=None, named=None):
        told = relay.epoch(pack)
        keys = keys or relay.request("GET", "/v1/keys")[2]
        self.cells, self.length = cells, told["answer"]
        sealed = [transport.seal(keys[2], keys[5:37], CHACHA,
                                 transport.request(write_release(pack, 1, bytes([cell])), sealed_for or told["epoch"]),
                                 sealed_for or told["epoch"], named or pack) for cell in cells]
        self.openers = [opener for _, opener in sealed]
        super().__init__(relay, pack, told["epoch"], messages=[message for message, _ in sealed])

    def open(self, body):
        """Status and content of each answer; None where it cannot be opened."""
        found = []
        for i, opener in enumerate(self.openers):
            try:
                plain = transport.open_answer(opener, body[i * self.length:(i + 1) * self.length])
                found.append(transport.read_response(plain))
            except Exception:
                found.append(None)
        return found if len(body) == len(self.openers) * self.length else []


def plain_answers(gateway, pack):
    """What POST /v1/query says to each cell."""
    return [gateway.request("POST", "/v1/query", write_release(pack, 1, bytes([cell])), CBOR).body
            for cell in range(CELLS)]


def test_from_phone_to_gateway_and_back(tester, pack):
    id = pack[8:24]
    with start(tester, pack, "whole") as gateway:
        expected = plain_answers(gateway, id)
        tester.check(len({len(answer) for answer in expected}) > 1, "cells have answers of different lengths")
        with Relay(tester, gateway.url, "--noise", "20,4", epoch=2, clients=5) as relay:
            tester.check(relay.request("GET", "/v1/keys")[2] == tester.read("whole.ohttp-keys"), "the keys are the file's")
            phones = [Phone(relay, id, cells) for cells in ([0], [1, 2], [3, 3, 4], [5, 6], [7])]
            tester.check({phone.epoch for phone in phones} == {phones[0].epoch}, "one epoch")
            tester.check([phone.post()[0] for phone in phones] == [201] * 5, "all are taken")
            for phone in phones:
                status, body = phone.collect(60)
                tester.check(status == 200 and len(body) == phone.length * len(phone.cells), "answers of one length")
                tester.check(phone.open(body) == [(200, expected[cell]) for cell in phone.cells],
                             "each opens to what the server says to cells %s" % phone.cells)
                other = phones[0] if phone is not phones[0] else phones[1]
                tester.check(other.open(body[:other.length])[:1] in ([], [None]), "and nobody else can open it")


def test_what_cannot_be_opened_looks_the_same(tester, pack):
    """Wrong key, epoch and pack: the answers have the same length, and those of the others are right."""
    id = pack[8:24]
    with start(tester, pack, "wrong") as gateway:
        expected = plain_answers(gateway, id)
        with Relay(tester, gateway.url, epoch=2, clients=5) as relay:
            keys = relay.request("GET", "/v1/keys")[2]
            stranger = keys[:5] + transport.public_key(os.urandom(32)) + keys[37:]
            now = relay.epoch(id)["epoch"]
            phones = [Phone(relay, id, [1]), Phone(relay, id, [1], keys=stranger), Phone(relay, id, [1], sealed_for=now - 60),
                      Phone(relay, id, [1], named=b"\1" * 16), Phone(relay, id, [2, 3])]
            tester.check([phone.post()[0] for phone in phones] == [201] * 5, "the relay cannot tell")
            bodies = [phone.collect(60) for phone in phones]
            tester.check([len(body) for _, body in bodies] == [phone.length * len(phone.cells) for phone in phones], "lengths")
            tester.check([phones[i].open(bodies[i][1]) for i in (1, 2, 3)] == [[None]] * 3, "these open to nothing")
            tester.check(phones[0].open(bodies[0][1]) == [(200, expected[1])] and
                         phones[4].open(bodies[4][1]) == [(200, expected[2]), (200, expected[3])], "the others are right")


def test_keys_are_rotated(tester, pack):
    id = pack[8:24]
    with start(tester, pack, "rotated") as gateway, Relay(tester, gateway.url, epoch=1, clients=2) as relay:
        old = relay.request("GET", "/v1/keys")[2]
        tester.succeeds("a new key", "keys", "rotated.keys", "--add", "--public", "rotated.new")
        gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: relay.request("GET", "/v1/keys")[2] != old)
        tester.check(relay.request("GET", "/v1/keys")[2] == tester.read("rotated.new"), "the relay gives out the new keys")
        expected = plain_answers(gateway, id)
        phones = [Phone(relay, id, [1], keys=old), Phone(relay, id, [2])]
        for phone in phones:
            phone.post()
        tester.check([phone.open(phone.collect(30)[1]) for phone in phones] == [[(200, expected[1])], [(200, expected[2])]],
                     "old and new keys work in one epoch")


def test_times_do_not_tell_the_cell(tester, pack):
    """How long the relay takes to hand out an answer, for the smallest and the largest cell: Mann and Whitney's test."""
    id, rounds = pack[8:24], 150
    with start(tester, pack, "times") as gateway:
        sizes = [len(answer) for answer in plain_answers(gateway, id)]
        cells = [sizes.index(min(sizes)), sizes.index(max(sizes))]
        with Relay(tester, gateway.url, "--log", "off", epoch=1, clients=2) as relay:
            phones = [Phone(relay, id, [cell]) for cell in cells]
            tester.check([phone.post()[0] for phone in phones] == [201] * 2, "both are taken")
            for phone in phones:
                phone.collect(30)
            times, lengths = ([], []), set()
            for i in range(rounds):
                for which in ((0, 1) if i % 2 else (1, 0)):
                    began = time.perf_counter()
                    lengths.add(len(phones[which].get()[2]))
                    times[which].append(time.perf_counter() - began)
            tester.check(len(lengths) == 1, "one length: %s" % lengths)
            above = sum((a > b) + 0.5 * (a == b) for a in times[0] for b in times[1])
            z = (above - rounds ** 2 / 2) / (rounds ** 2 * (2 * rounds + 1) / 12) ** 0.5
            tester.check(abs(z) < 5, "times: z = %.1f, medians %.2f and %.2f ms"
                         % (z, *(1000 * statistics.median(some) for some in times)))


if __name__ == "__main__":
    sys.exit(0 if test_relay.run(sys.modules["__main__"], sys.argv[1], sys.argv[2:]) else 1)
