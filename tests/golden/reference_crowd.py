"""Bundles of a crowd (SPEC 5.14 to 5.17) and budgets of version 2 (SPEC 4), from the same words as the device.

A policy is a dict: clusters, copies, own, cover; the fields that are only accounted for are not needed here.
"""
import hashlib
import math
import struct
from fractions import Fraction

from reference import (KeyStream, RESPONSE, dot, nearest_cell, pack_symbols, read_release,
                       response_threshold, row_of, unpack_symbols, write_release)

CROWD = 3                         # mechanism number of flattened slots
CLUSTERS_MAX = 63
BUDGET_FIELDS = "<4sI16sQQIIQQQQQQII"
BUDGET_NAMES = ("gaussian_cap", "delta", "response_cap", "floor_cap", "crowd_cap", "crowd_delta", "delta0_cap",
                "gaussian_spent", "crowd_spent", "delta0_spent", "response_spent", "floor_spent")


# Draws -------------------------------------------------------------------------------------------------------

def cluster_rate(mean):
    """q of SPEC 5.16: the mean is q/2^29."""
    assert 0 <= mean <= 4
    return math.floor(Fraction(mean) * 2 ** 29)


def poisson_part(stream, q):
    """Poisson with mean q/2^32, exactly."""
    while True:
        n = 0
        while stream.word() < q:
            n += 1
        if all(stream.below(i) == 0 for i in range(2, n + 1)):
            return n


def cluster_count(stream, q):
    return min(sum(poisson_part(stream, q) for _ in range(8)), CLUSTERS_MAX)


class Draws:
    """Steps 1 to 4 of SPEC 5.16; `stream` goes on with step 5."""

    def __init__(self, seed, symbols, floor, policy):
        self.stream = stream = KeyStream(seed)
        threshold, _ = response_threshold(floor, symbols)
        low = stream.word()
        high = stream.word()
        other = stream.below(symbols - 1)
        self.shift = 0 if (low + (high << 32)) >> 24 < threshold else 1 + other
        self.cover = stream.below(symbols)
        self.clusters = []
        for _ in range(cluster_count(stream, cluster_rate(policy["clusters"]))):
            symbol = stream.below(symbols)
            self.clusters.append((symbol, 1 + stream.below(policy["copies"])))


def ordered(draws, own):
    """[(own number or 0, symbol)] in the order of sending: step 5, by looking at every message that is left."""
    waiting = [(number, symbol) for number, symbol in enumerate(own, 1)]
    for symbol, size in draws.clusters:
        waiting += [(0, symbol)] * size
    sent = []
    while waiting:
        sent.append(waiting.pop(draws.stream.below(len(waiting))))
    return sent


# The public list (5.15) --------------------------------------------------------------------------------------

def public_list(pack, symbol, count):
    slot, cell = divmod(symbol, pack.m)
    assert 1 <= count <= min(8, pack.m)
    part = slice(slot * pack.M, (slot + 1) * pack.M)
    rows, norms, cells = pack.prototypes[part], pack.prototype_norms[part], pack.cells[part]
    start = rows[cells.index(cell)] if cell in cells else rows[0]
    best = {}
    for row, norm, owner in zip(rows, norms, cells):
        score = dot(start, row) * norm
        best[owner] = max(score, best.get(owner, score))
    others = [other for other in range(pack.m) if other != cell]
    others.sort(key=lambda other: (0, -best[other], other) if other in best else (1, 0, other))
    return [slot * pack.m + chosen for chosen in [cell] + others[:count - 1]]


# Bundles -----------------------------------------------------------------------------------------------------

def crowd_release(pack, symbol):
    if pack.G == 1:
        return write_release(pack.id, RESPONSE, pack_symbols([symbol], pack.m))
    return write_release(pack.id, CROWD, pack_symbols([symbol], pack.G * pack.m))


def crowd_symbol(pack, release):
    """The symbol of a crowd release, checked."""
    fields = read_release(release)
    symbols = pack.G * pack.m
    assert fields[0] == 1 and fields[1] == pack.id and fields[2] == (RESPONSE if pack.G == 1 else CROWD)
    symbol, = unpack_symbols(fields[4], symbols, 1)
    assert symbol < symbols and crowd_release(pack, symbol) == release
    return symbol


def symbol_of(pack, bits, label, modality=0):
    slot = pack.slot_of(label)
    return slot * pack.m + nearest_cell(pack, row_of(pack, bits, modality), slot)


def bundle(pack, floor, policy, seed, true_symbol=None, kept=None):
    """[(own number or 0, release)] of a query's symbol, of a kept release, or, without both, of an idle client."""
    symbols = pack.G * pack.m
    draws, own = Draws(seed, symbols, floor, policy), []
    if true_symbol is not None:
        own = public_list(pack, (true_symbol + draws.shift) % symbols, policy["own"])
    elif kept is not None:
        own = public_list(pack, crowd_symbol(pack, kept), policy["own"])
    elif policy["cover"]:
        own = public_list(pack, draws.cover, policy["own"])
    return [(number, crowd_release(pack, symbol)) for number, symbol in ordered(draws, own)]


def read_bundle(pack, data):
    """The symbols of a bundle's bytes."""
    length = len(crowd_release(pack, 0))
    assert len(data) % length == 0
    return [crowd_symbol(pack, data[at:at + length]) for at in range(0, len(data), length)]


# Budgets -----------------------------------------------------------------------------------------------------

def write_budget_2(owner, **amounts):
    """All amounts already in the units of SPEC 4; those left out are 0."""
    assert len(owner) == 16 and set(amounts) <= set(BUDGET_NAMES)
    values = [amounts.get(name, 0) for name in BUDGET_NAMES]
    named = dict(zip(BUDGET_NAMES, values))
    for what in ("gaussian", "response", "floor", "crowd", "delta0"):
        assert named[what + "_spent"] <= named[what + "_cap"]
    data = struct.pack(BUDGET_FIELDS, b"PMLB", 2, owner, *values)
    return data + hashlib.sha256(data).digest()[:8]


def read_budget_2(data):
    """(owner, amounts by name) of a budget of version 1 or 2; AssertionError when it is damaged."""
    assert len(data) in (64, 112) and hashlib.sha256(data[:-8]).digest()[:8] == data[-8:]
    if len(data) == 64:
        magic, version, owner, *values = struct.unpack("<4sI16sQQIIQ", data[:-8])
        assert (magic, version) == (b"PMLB", 1)
        names = ("gaussian_cap", "delta", "response_cap", "response_spent", "gaussian_spent")
    else:
        magic, version, owner, *values = struct.unpack(BUDGET_FIELDS, data[:-8])
        assert (magic, version) == (b"PMLB", 2)
        names = BUDGET_NAMES
    amounts = {name: 0 for name in BUDGET_NAMES}
    amounts.update(zip(names, values))
    write_budget_2(owner, **amounts)                # its checks
    return owner, amounts


def upgrade_budget(data):
    """Version 2 of any budget: what version 1 lacks is 0."""
    owner, amounts = read_budget_2(data)
    return write_budget_2(owner, **amounts)


def crowd_prices(floor, policy, kept=False):
    """{ledger: price} of a bundle; policy has delta0, mu and own."""
    squared = math.ceil(Fraction(policy["mu"]) ** 2 * 2 ** 40 * (1 + Fraction(1, 2 ** 48)))
    return {"crowd": policy["own"] * squared, "delta0": policy["own"] * math.ceil(Fraction(policy["delta0"]) * 2 ** 64),
            "floor": 0 if kept else math.ceil(Fraction(floor) * 2 ** 20)}


def charge(data, prices):
    """The budget after the prices, or None when one cap does not allow it: all or nothing."""
    owner, amounts = read_budget_2(data)
    if prices["crowd"] == prices["delta0"] == 0 and amounts["crowd_cap"] > 0:
        return None                                 # only the floor: it would break the crowd's promise
    for ledger, price in prices.items():
        amounts[ledger + "_spent"] += price
        if amounts[ledger + "_spent"] > amounts[ledger + "_cap"]:
            return None
    return write_budget_2(owner, **amounts)
