#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the reference of the crowd itself: known values of the accounting, the sampler, bundles and budgets.

    python3 tests/crowd/check_crowd.py
"""
import math
import os
import random
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "golden")]

import mpmath
import numpy
from mpmath import mpf

import cases
import exact_crowd as exact
import reference_crowd as crowd
from reference import KeyStream, cbor_read_head, write_budget

PACKS = dict(cases.make_packs())
POLICY = {"clusters": 0.75, "copies": 5, "own": 2, "cover": True}


def near(value, printed, digits=3):
    """Equal to a printed value of so many digits, half a unit of the last one allowed."""
    unit = 10.0 ** (math.floor(math.log10(abs(printed))) - digits + 1)
    return abs(float(value) - printed) <= 0.501 * unit


def raises(function, *arguments):
    try:
        function(*arguments)
    except AssertionError:
        return True
    return False


# ---- accounting ---------------------------------------------------------------------------------------------------

def test_delta_of_known_crowds():
    for rate, copies, epsilon, printed in ((26.6, 20, 0.1, 9.96e-7), (112, 8, 0.1, 9.47e-7), (60, 20, 0.057, 1.00e-6)):
        assert near(exact.Crowd(rate, copies).delta(epsilon), printed), (rate, copies)


def test_delta_by_the_double_sum():
    """The sum of theorem A as it stands, term by term."""
    for rate, copies in ((0.7, 1), (3, 2), (5, 4)):
        known = exact.Crowd(rate, copies)
        law = known.law
        for epsilon in (0, 0.1, 1, 3):
            odds = mpmath.exp(mpf(epsilon))
            total = mpmath.fsum(max(law[i - 1] * law[j] - odds * law[i] * (law[j - 1] if j else 0), 0)
                                for i in range(1, len(law)) for j in range(len(law) - 1))
            assert total <= known.delta(epsilon) <= total + mpf(10) ** -40


def test_law_is_compound_poisson():
    """Against sums of Poisson variables, size by size."""
    rates = [mpf("0.3"), mpf("0.5"), mpf(0), mpf("0.2")]
    law, _ = exact.law_of(rates)
    known = [mpf(1)] + [mpf(0)] * 30
    for size, rate in enumerate(rates, 1):
        poisson = [mpmath.exp(-rate) * rate ** n / mpmath.factorial(n) for n in range(31)]
        known = [mpmath.fsum(known[k - size * n] * poisson[n] for n in range(k // size + 1)) for k in range(31)]
    assert all(abs(a - b) < mpf(10) ** -50 for a, b in zip(law, known))


def test_honest_share():
    for rate, copies, printed in ((112, 8, 0.100), (56, 8, 0.151), (28, 8, 0.246), (40, 20, 0.074), (20, 20, 0.129)):
        assert abs(float(exact.epsilon_by(exact.Crowd(rate, copies).delta, 1e-6)) - printed) < 5.1e-4
    assert exact.epsilon_by(exact.Crowd(10, 20).delta, 1e-6) is None        # e^-10 is above 1e-6


def test_noise_that_is_needed():
    """Fakes per symbol for δ = 1e-6: enough with the printed number, not enough with 2 % less."""
    for copies, epsilon, fakes, delta in ((8, 0.1, 502, 1e-6), (20, 0.1, 279.2, 1e-6), (3, 1, 35, 1e-6),
                                          (6, 0.5, 63.5, 1e-6), (20, 0.1, 446, 1e-8), (1, 1, 43, 1e-6)):
        rate = 2 * fakes / (copies + 1)
        assert exact.Crowd(rate, copies).delta(epsilon) <= delta, (copies, epsilon)
        assert exact.Crowd(0.98 * rate, copies).delta(epsilon) > delta, (copies, epsilon)


def test_presence_is_below_theorem_a():
    for rate, copies in ((2, 1), (12, 3), (40, 20)):
        known = exact.Crowd(rate, copies)
        for epsilon in (0, 0.05, 0.5, 2):
            assert 0 < known.presence(epsilon) <= known.delta(epsilon)
        assert known.delta(50) >= known.law[0]                  # no ε helps below Λ = ln(1/δ)


def test_certificate_of_known_crowd():
    known = exact.Crowd(40, 20)
    for delta0, printed_mu, printed in ((1e-9, 0.0230, (0.082, 0.282, 0.974)), (1e-12, 0.0279, (0.102, 0.348, 1.20))):
        points = exact.certificate_points(known, mpf(delta0))
        mu = exact.certificate_mu(points, mpf(delta0))
        assert printed_mu * 0.995 < mu < printed_mu * 1.02, float(mu)       # the grid here is coarse
        assert not exact.certificate_holds(points, mu * mpf("0.999"), mpf(delta0))
        for messages, epsilon in zip((1, 10, 100), printed):
            found = exact.epsilon_by(lambda e: exact.certified_delta(mu, mpf(delta0), messages, e), mpf("1e-6"))
            assert epsilon * 0.99 < found < epsilon * 1.03, (messages, float(found))


def test_moments_of_known_crowd():
    known = exact.Crowd(40, 20)
    for messages, printed, alphas in ((1, 0.086, (150, 200, 250, 300)), (10, 0.254, (60, 80, 100)),
                                      (100, 0.850, (15, 20, 25, 30, 35))):
        best = min(exact.epsilon_by(lambda e: exact.moments_delta(known, messages, mpf(alpha), least, e), mpf("1e-6"))
                   or math.inf for alpha in alphas for least in range(60, 140, 10))
        assert printed * 0.98 < best < printed * 1.03, (messages, float(best))


def test_copies_of_a_pair_by_convolution():
    known = exact.Crowd(40, 20)
    for messages, printed in ((1, 0.074), (10, 0.232), (100, 0.785)):
        low, high = (exact.many_epsilon(known, messages, 1e-6, up) for up in (False, True))
        assert low <= high <= low + 2e-5 * messages and low - 6e-4 < printed < high + 6e-4, (messages, low, high)
    one = exact.epsilon_by(known.delta, 1e-6)
    assert exact.many_epsilon(known, 1, 1e-6, False) - 2e-6 <= one <= exact.many_epsilon(known, 1, 1e-6, True) + 2e-6


def test_several_own_messages():
    known = exact.Crowd(112, 8)
    for own, printed in ((1, 0.100), (2, 0.142), (4, 0.204), (8, 0.294)):
        low, high = (exact.many_epsilon(known, own, 1e-6, up) for up in (False, True))
        assert low - 6e-4 < printed < high + 6e-4, (own, low, high)
    law = known.law
    twice = exact.Pair([(law[i - 2], law[i]) for i in range(2, len(law))], 2 * known.tail)
    back = exact.Pair([(law[j], law[j - 2] if j > 1 else mpf(0)) for j in range(len(law) - 2)], 2 * known.tail)
    assert near(exact.epsilon_by(lambda e: exact.delta_product(twice, back, e), 1e-6), 0.210)


def test_shuffling_alone():
    """Theorem B in doubles, each bucket of B at its lower end, against the printed values."""
    def log_binomial(n, k):
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    def inner(blanket, symbols, floor, epsilon):
        messages, odds, share = blanket + 1, math.exp(epsilon), 2 / symbols
        rest, mean = messages / (math.exp(floor) - 1), messages * share
        spread, total = math.sqrt(mean), 0.0
        for s in range(max(int(mean - 10 * spread), 1), min(int(mean + 12 * spread) + 12, messages) + 1):
            start = math.floor((odds * (s + rest) - rest) / (1 + odds)) + 1
            if start > s:
                continue
            chance = math.exp(log_binomial(messages, s) + s * math.log(share) + (messages - s) * math.log1p(-share))
            edge = math.exp(log_binomial(s - 1, start - 1) + (1 - s) * math.log(2))
            ks = range(start, min(s, start + int(12 * math.sqrt(s)) + 12) + 1)
            tail = math.fsum(math.exp(log_binomial(s, k) - s * math.log(2)) for k in ks)
            total += chance * ((1 + odds) * s / 4 * edge - (odds - 1) * (s / 2 + rest) * tail)
        return float(exact.coin(floor, symbols)) * symbols / messages * total
    assert abs(inner(30, 4, 3, 0.5) / float(exact.uniform_delta(30, 4, 3, 0.5)) - 1) < 1e-6

    def outer(clients, symbols, floor, epsilon):
        chance = 1 - float(exact.coin(floor, symbols))
        mean, spread = clients * chance, math.sqrt(clients * chance)
        edges = [int(mean + spread * x / 2) for x in range(-13, 14)]
        total = 1e-10
        for low, high in zip(edges, edges[1:]):
            mass = math.fsum(math.exp(log_binomial(clients - 1, b) + b * math.log(chance)
                                      + (clients - 1 - b) * math.log1p(-chance)) for b in range(low, high))
            total += mass * inner(low, symbols, floor, epsilon)
        return total
    for clients, floor, printed in ((10 ** 4, 8, 4.48), (10 ** 5, 8, 1.14), (10 ** 4, 6, 1.13), (10 ** 5, 6, 0.31)):
        assert outer(clients, 125, floor, printed * 1.03) <= 1e-6, (clients, floor)
        assert outer(clients, 125, floor, printed * 0.96) > 1e-6, (clients, floor)


def test_cut_of_the_sampler():
    worst = mpmath.nsum(lambda k: mpmath.exp(-4) * mpf(4) ** k / mpmath.factorial(k), [64, mpmath.inf])
    bound = mpmath.exp(-4) * mpf(4) ** 64 / mpmath.factorial(64) * 65 / 61
    assert worst <= bound < exact.CUT_ERROR
    assert (1 + mpmath.exp(16)) * 2 ** 32 * exact.CUT_ERROR < mpf(2) ** -117
    assert exact.Crowd(4, 2, 2 ** 32).delta(1) - exact.Crowd(4, 2).delta(1) > 0


# ---- draws --------------------------------------------------------------------------------------------------------

def poisson_counts(mean, draws, seed):
    stream, rate = KeyStream(cases.seed_bytes(seed)), crowd.cluster_rate(mean)
    return numpy.bincount([crowd.cluster_count(stream, rate) for _ in range(draws)], minlength=64)


def test_cluster_count_is_poisson():
    for mean in (0.0, 0.05, 0.75, 4.0):
        draws = 8000
        counts = poisson_counts(mean, draws, "clusters %g" % mean)
        expected = [draws * math.exp(-mean) * mean ** k / math.factorial(k) for k in range(64)]
        kept = [k for k in range(64) if expected[k] >= 8]
        statistic = sum((counts[k] - expected[k]) ** 2 / expected[k] for k in kept)
        assert statistic < len(kept) + 5 * math.sqrt(2 * len(kept)) + 5, (mean, statistic)


def test_cluster_rate_is_rounded_down():
    assert crowd.cluster_rate(4) == 1 << 31 and crowd.cluster_rate(0.75) == 3 << 27
    assert crowd.cluster_rate(2.0 ** -29) == 1 and crowd.cluster_rate(2.0 ** -29 * 0.999) == 0
    assert raises(crowd.cluster_rate, 4.0000001) and raises(crowd.cluster_rate, -1e-9)


def test_fakes_and_order_do_not_depend_on_the_query():
    """Two queries, one seed: the bundles differ in the own messages only, and these stand at the same places."""
    for name, pack in response_packs():
        policy, seed = dict(POLICY, own=min(2, pack.m), clusters=2.5), cases.seed_bytes("two queries")
        one, other = (crowd.bundle(pack, 16.0, policy, seed, true_symbol=symbol)
                      for symbol in (0, pack.G * pack.m - 1))
        assert [number for number, _ in one] == [number for number, _ in other] and len(one) > policy["own"]
        assert all(a == b for a, b in zip(one, other) if a[0] == 0) and one != other


def response_packs():
    return [(name, pack) for name, pack in PACKS.items() if pack.m]


def test_public_list():
    for name, pack in response_packs():
        for count in {1, min(pack.m, 3), min(pack.m, 8)}:
            for symbol in range(min(pack.G * pack.m, 40)):
                chosen = crowd.public_list(pack, symbol, count)
                assert chosen[0] == symbol and len(set(chosen)) == count
                assert {other // pack.m for other in chosen} == {symbol // pack.m}
                assert chosen == crowd.public_list(pack, symbol, min(pack.m, 8))[:count]


def test_bundle_has_own_messages_clusters_and_one_length():
    for name, pack in response_packs():
        policy = dict(POLICY, own=min(2, pack.m))
        for number in range(12):
            seed = cases.seed_bytes("bundle %d" % number)
            draws = crowd.Draws(seed, pack.G * pack.m, 2.0, policy)
            symbol = number % (pack.G * pack.m)
            sent = crowd.bundle(pack, 2.0, policy, seed, true_symbol=symbol)
            data = b"".join(release for _, release in sent)
            assert len({len(release) for _, release in sent}) == 1
            assert len(sent) == policy["own"] + sum(size for _, size in draws.clusters)
            own = {number: crowd.crowd_symbol(pack, release) for number, release in sent if number}
            drawn = (symbol + draws.shift) % (pack.G * pack.m)
            assert [own[k] for k in sorted(own)] == crowd.public_list(pack, drawn, policy["own"])
            fakes = sorted(crowd.crowd_symbol(pack, release) for number, release in sent if not number)
            assert fakes == sorted(symbol for symbol, size in draws.clusters for _ in range(size))
            assert crowd.read_bundle(pack, data) == [crowd.crowd_symbol(pack, release) for _, release in sent]
            assert raises(crowd.read_bundle, pack, data[:-1])
            idle = crowd.bundle(pack, 2.0, dict(policy, cover=False), seed)
            assert len(idle) == len(sent) - policy["own"] and not any(number for number, _ in idle)
            assert len(crowd.bundle(pack, 2.0, policy, seed)) == len(sent)
            kept = next(release for number, release in sent if number == 1)
            again = crowd.bundle(pack, 2.0, policy, cases.seed_bytes("again"), kept=kept)
            assert next(release for number, release in again if number == 1) == kept


def test_own_message_is_anywhere():
    """The place of the own message is uniform: with one cluster of 3 it is each of 4 places equally often."""
    class Fixed:
        clusters = [(7, 3)]
    draws, places = Fixed(), [0] * 4
    draws.stream = KeyStream(cases.seed_bytes("order of sending"))
    for _ in range(4000):
        places[[number for number, _ in crowd.ordered(draws, [5])].index(1)] += 1
    assert all(abs(count - 1000) < 150 for count in places), places


def test_flattened_release():
    for name, pack in response_packs():
        release = crowd.crowd_release(pack, pack.G * pack.m - 1)
        assert release[22] == (1 if pack.G == 1 else 3) and release[0] == 0xA4
        major, size, at = cbor_read_head(release, 24)
        assert major == 2 and size == ((pack.G * pack.m - 1).bit_length() + 7) // 8 == len(release) - at


# ---- budgets ------------------------------------------------------------------------------------------------------

def test_budget_of_version_1_gains_nothing():
    owner = bytes(range(16))
    for amounts in ((1 << 20, 1 << 19, 5 << 40, 3 << 40, 77), (9, 9, 0, 0, 0)):      # the second is full
        old = write_budget(owner, *amounts)
        new = crowd.upgrade_budget(old)
        _, fields = crowd.read_budget_2(new)
        assert len(old) == 64 and len(new) == 112 and crowd.upgrade_budget(new) == new
        assert [fields[k] for k in ("response_cap", "response_spent", "gaussian_cap", "gaussian_spent", "delta")] \
            == list(amounts)
        assert not any(fields[k] for k in crowd.BUDGET_NAMES if k.split("_")[0] in ("floor", "crowd", "delta0"))
        assert crowd.charge(new, crowd.crowd_prices(8.0, {"own": 1, "mu": 0.02, "delta0": 1e-12})) is None


def test_budget_charges_all_or_nothing():
    policy = {"own": 2, "mu": 0.03, "delta0": 2.0 ** -40}
    prices = crowd.crowd_prices(8.0, policy)
    assert prices["floor"] == 8 << 20 and prices["delta0"] == 2 << 24
    assert prices["crowd"] == 2 * math.ceil(mpf(0.03) ** 2 * 2 ** 40 * (1 + mpf(2) ** -48))
    caps = {"floor_cap": 16 << 20, "crowd_cap": 3 * prices["crowd"], "crowd_delta": 1 << 40, "delta0_cap": 1 << 30}
    budget = crowd.write_budget_2(bytes(16), **caps)
    once = crowd.charge(budget, prices)
    twice = crowd.charge(once, prices)
    assert crowd.charge(twice, prices) is None                             # the floor is spent
    resent = crowd.charge(twice, crowd.crowd_prices(8.0, policy, kept=True))
    fields = crowd.read_budget_2(resent)[1]
    assert fields["crowd_spent"] == 3 * prices["crowd"] and fields["floor_spent"] == 16 << 20
    assert crowd.charge(resent, crowd.crowd_prices(8.0, policy, kept=True)) is None
    only_floor = crowd.crowd_prices(8.0, {"own": 1, "mu": 0.0, "delta0": 0.0})
    assert crowd.charge(budget, only_floor) is None
    assert crowd.charge(crowd.write_budget_2(bytes(16), floor_cap=8 << 20), only_floor) is not None
    source = random.Random("damage")
    for _ in range(60):
        at = source.randrange(112)
        broken = resent[:at] + bytes([resent[at] ^ 1 << source.randrange(8)]) + resent[at + 1:]
        assert raises(crowd.read_budget_2, broken)


def main():
    passed = failed = 0
    for name, test in sorted(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in name):
            try:
                started = time.monotonic()
                test()
                passed += 1
                print("%-55s %6.1f s" % (name, time.monotonic() - started))
            except Exception:                                              # noqa: BLE001
                failed += 1
                print("FAILED", name)
                traceback.print_exc()
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
