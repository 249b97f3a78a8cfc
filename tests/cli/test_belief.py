#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `privatemail map --release`: python3 test_belief.py path/to/privatemail. The posteriors are compared with
tests/lab/bayes.py."""
import json
import math
import os
import random
import sys
import tempfile

import numpy

from harness import INPUT, ROOT, USAGE, Tester, golden, reference

sys.path.insert(0, os.path.join(ROOT, "tests", "lab"))
import bayes  # noqa: E402
import reference_crowd  # noqa: E402

CLASS, ONE, SPHERE = 1, 0, 12  # packs of tests/golden
ITEMS = 40
PACKS = golden.make_packs()


class Gallery:
    """Items of a golden pack, some of them near its anchors, as files and as the reference takes them."""

    def __init__(self, tester, index, name):
        self.tester, self.name, self.pack = tester, name, PACKS[index][1]
        source = random.Random("items of " + name)
        labels = [label for label, _ in self.pack.classes] or [0]
        self.labels = [labels[i % len(labels)] for i in range(ITEMS)]
        self.bits = [golden.features(source, self.pack, label) for label in self.labels]
        self.items = list(zip(self.bits, self.labels))
        values = numpy.array(self.bits, "<u4").view("<f4").reshape(ITEMS, -1)
        numpy.save(tester.path(name + ".npy"), values)
        numpy.save(tester.path(name + "_labels.npy"), numpy.array(self.labels, "<i4"))
        self.write(name + ".pmpk", self.pack.bytes)

    def write(self, name, data):
        with open(self.tester.path(name), "wb") as file:
            file.write(data)
        return name

    def options(self, release, *options):
        labels = ["--labels", self.name + "_labels.npy"] if self.pack.G > 1 else []
        return ["map", "--method", "pca", "--features", self.name + ".npy", *labels, "--pack", self.name + ".pmpk", "--out",
                "map.svg", "--force", "--json", "--release", self.write("release.cbor", release), *options]

    def believed(self, what, release, *options):
        """(posterior, JSON) of the command."""
        done = self.tester.succeeds(what, *self.options(release, "--posterior", "posterior.npy", *options))
        found = numpy.load(self.tester.path("posterior.npy"))
        return found, json.loads(done.stdout)

    def compare(self, what, release, expected, *options):
        found, told = self.believed(what, release, *options)
        check = self.tester.check
        check(found.dtype == numpy.float64 and abs(found.sum() - 1) < 1e-12, what + ": it sums to 1")
        error = numpy.abs(found / expected - 1).max()
        check(error < 1e-9, f"{what}: it is that of Bayes' rule (off by {error:.1e})")
        check(told["posterior_max"] == found.max() and abs(told["posterior_gain"] - ITEMS * found.max()) < 1e-9 and
              abs(told["posterior_entropy"] + (found * numpy.log2(found)).sum()) < 1e-9 and
              abs(told["prior_entropy"] - math.log2(ITEMS)) < 1e-12, what + ": the JSON says so")
        return found


def check_response(gallery, epsilon):
    for seed in range(3):
        bits, label = gallery.items[7 * seed]
        release = reference.encode_response(gallery.pack, bits, label, epsilon, bytes([seed + 1] * 32))
        expected = bayes.response(gallery.pack, gallery.items, release, epsilon)
        found = gallery.compare(f"response of {gallery.name}, ε = {epsilon}, {seed}", release, expected, "--epsilon", epsilon)
        gallery.tester.check(found.max() / found.min() <= math.exp(epsilon) * (1 + 1e-12),
                             "no item is more than e^ε times as likely as another")


def check_gaussian(gallery, epsilon, delta, width):
    for seed in range(2):
        bits, label = gallery.items[11 * seed + 3]
        release = reference.encode_gaussian(gallery.pack, bits, label, epsilon, delta, width, bytes([seed + 9] * 32))
        expected = bayes.gaussian(gallery.pack, gallery.items, release, epsilon, delta)
        gallery.compare(f"Gaussian of {gallery.name}, ε = {epsilon}, {width} bytes, {seed}", release, expected,
                        "--epsilon", epsilon, "--delta", delta)


def check_limits(gallery, epsilon, delta):
    """Values at the limits, where the tail beyond them counts."""
    pack = gallery.pack
    bits, label = gallery.items[0]
    release = bytearray(reference.encode_gaussian(pack, bits, label, epsilon, delta, 1, bytes([7] * 32)))
    release[-pack.G * pack.k:] = bytes([127, 129] * (pack.G * pack.k))[:pack.G * pack.k]
    expected = bayes.gaussian(pack, gallery.items, bytes(release), epsilon, delta)
    gallery.compare("Gaussian at the limits", bytes(release), expected, "--epsilon", epsilon, "--delta", delta)


def check_crowd(gallery, floor, own, relay):
    """An epoch of six clients. One asks, two others ask too, and their messages are known."""
    pack = gallery.pack
    policy = {"clients": 6, "clusters": 2.3, "copies": 3, "own": own, "cover": False, "relay": relay}
    options = ["--crowd", 6, "--clusters", 2.3, "--copies", 3, "--own", own, "--floor", floor]
    options += ["--relay-clusters", relay] if relay else []
    epoch, known, counts = [], [], [0] * (pack.G * pack.m)
    for client in range(6):
        asks = client < 3
        true = reference_crowd.symbol_of(pack, *gallery.items[5 * client]) if asks else None
        for number, release in reference_crowd.bundle(pack, floor, policy, bytes([client + 1] * 32), true_symbol=true):
            epoch.append(release)
            if number > 0 and client > 0:
                known.append(release)
            else:
                counts[reference_crowd.crowd_symbol(pack, release)] += 1
    random.Random(3).shuffle(epoch)
    expected = bayes.crowd(pack, gallery.items, counts, policy, floor)
    what = f"crowd of {gallery.name}, floor {floor}, {own} own, relay {relay}"
    first = gallery.compare(what, b"".join(epoch), expected, *options, "--known",
                            gallery.write("known.cborseq", b"".join(known)))
    left = list(epoch)
    for message in known:
        left.remove(message)
    again = gallery.compare(what + ", what is left", b"".join(left), expected, *options)
    gallery.tester.check((first == again).all(), "it is the same when the others' messages are taken out beforehand")
    return epoch, options


def check_refusals(gallery, epoch, policy):
    t = gallery.tester
    bits, label = gallery.items[0]
    response = reference.encode_response(gallery.pack, bits, label, 2.0, bytes([1] * 32))
    gaussian = reference.encode_gaussian(gallery.pack, bits, label, 8.0, 1e-3, 1, bytes([1] * 32))
    stranger = gallery.write("stranger.cborseq", b"".join(epoch) * 2)
    for what, code, release, options in (
            ("no ε", USAGE, response, []),
            ("ε out of range", INPUT, response, ["--epsilon", 17]),
            ("a Gaussian release with another ε", INPUT, gaussian, ["--epsilon", 1, "--delta", 1e-3]),
            ("a Gaussian release without δ", INPUT, gaussian, ["--epsilon", 8]),
            ("a message of a crowd, without the crowd", USAGE, epoch[0], ["--epsilon", 2]),
            ("an epoch with ε", USAGE, b"".join(epoch), [*policy, "--epsilon", 2]),
            ("a response as an epoch", INPUT, response, policy),
            ("known messages that are not there", INPUT, b"".join(epoch), [*policy, "--known", stranger]),
            ("clusters out of range", USAGE, b"".join(epoch), [*policy, "--clusters", 5]),
            ("bytes that are no release", INPUT, b"no release", ["--epsilon", 2]),
            ("a policy without --crowd", USAGE, response, ["--epsilon", 2, "--copies", 3])):
        done = t.run(*gallery.options(release, *options))
        t.check(done.returncode == code and done.stderr, f"{what}: refused with {done.returncode}: {done.stderr.decode()}")
        t.check(b"posterior" not in done.stdout, what + ": nothing is told")
    done = t.run("map", "--method", "pca", "--features", gallery.name + ".npy", "--pack", gallery.name + ".pmpk", "--out",
                 "m.svg", "--release", "release.cbor", "--epsilon", "2")
    t.check(done.returncode == INPUT and b"--labels" in done.stderr, "classes are asked for")
    t.check(not os.path.exists(t.path("m.svg")), "no map is left behind")


def check_picture(gallery):
    """Grey when nothing is learnt, in colour when something is."""
    t = gallery.tester
    pictures = []
    for epsilon in (0.001, 12):
        bits, label = gallery.items[0]
        release = reference.encode_response(gallery.pack, bits, label, epsilon, bytes([1] * 32))
        t.succeeds("a picture", *gallery.options(release, "--epsilon", epsilon))
        with open(t.path("map.svg"), encoding="utf-8") as file:
            pictures.append(file.read())
    t.check(pictures[0] != pictures[1], "the belief is to be seen in the picture")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        t = Tester(sys.argv[1], folder)
        classes, one, sphere = Gallery(t, CLASS, "classes"), Gallery(t, ONE, "one"), Gallery(t, SPHERE, "sphere")
        for gallery in (classes, one):
            check_response(gallery, 1.0)
            check_response(gallery, 6.0)
            check_crowd(gallery, 3.0, 2, 0)
        epoch, policy = check_crowd(classes, 6.0, 1, 7.5)
        check_gaussian(classes, 8.0, 1e-3, 1)
        check_gaussian(one, 2.0, 1e-5, 2)
        check_gaussian(sphere, 12.0, 1e-2, 1)
        check_limits(classes, 8.0, 1e-3)
        check_picture(classes)
        check_refusals(classes, epoch, policy)
    print(f"{t.passed} passed, {t.failed} failed")
    return t.failed > 0


if __name__ == "__main__":
    sys.exit(main())
