# SPDX-License-Identifier: Apache-2.0
"""What a server believes, computed from section 12 of docs/PRIVACY.md alone, without any of its short cuts: every likelihood
is that of the whole message, in exact fractions or 120 digits. Cells, rows and centres are those of tests/golden."""
from decimal import Decimal
from fractions import Fraction

import reference
import reference_crowd


def exact(value):
    """A fraction with 120 digits."""
    return Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else Decimal(value)


def posterior(likelihoods):
    """Bayes' rule with equal priors."""
    total = sum(likelihoods)
    return [float(exact(likelihood / total)) for likelihood in likelihoods]


def odds(epsilon, symbols):
    threshold, _ = reference.response_threshold(epsilon, symbols)
    high = Fraction(threshold, 1 << 40)
    return high, (1 - high) / (symbols - 1)


# Response ------------------------------------------------------------------------------------------------------------

def response(pack, items, release, epsilon):
    """`items`: [(bits of the features, label)]. P(o | item) is a product over all slots."""
    named = reference.unpack_symbols(reference.read_release(release)[4], pack.m, pack.G)
    high, low = odds(epsilon, pack.m)
    likelihoods = []
    for bits, label in items:
        slot = pack.slot_of(label)
        cell = reference.nearest_cell(pack, reference.row_of(pack, bits), slot)
        likelihood = Fraction(1)
        for other, symbol in enumerate(named):
            likelihood *= (high if symbol == cell else low) if other == slot else Fraction(1, pack.m)
        likelihoods.append(likelihood)
    return posterior(likelihoods)


# Gaussian ------------------------------------------------------------------------------------------------------------

def released(place, noise, calibration):
    """The integer that a device sends (SPEC 5.12)."""
    value = reference.round_half_up(Fraction(place + noise, 1 << calibration.e))
    return min(max(value, -calibration.limit), calibration.limit)


def noise_below(bound, calibration):
    """P(round(2^s N) < bound), for an integer."""
    return reference.normal_cumulative((Decimal(bound) - Decimal("0.5")) / (1 << calibration.s))


def value_chance(value, place, calibration):
    """P(value | place): the integers of noise that lead to it are looked for, one by one from a guess on."""
    def first(wanted):
        """The least noise with which at least `wanted` is sent."""
        noise = wanted * (1 << calibration.e) - place
        while released(place, noise, calibration) >= wanted:
            noise -= 1
        while released(place, noise, calibration) < wanted:
            noise += 1
        return noise
    low = 0 if value == -calibration.limit else noise_below(first(value), calibration)
    high = 1 if value == calibration.limit else noise_below(first(value + 1), calibration)
    return high - low


def gaussian(pack, items, release, epsilon, delta):
    fields = reference.read_release(release)
    width = len(fields[4]) // (pack.G * pack.k)
    values = [int.from_bytes(fields[4][at:at + width], "big", signed=True) for at in range(0, len(fields[4]), width)]
    certificate = reference.Certificate(pack)
    calibration = reference.Calibration(pack, certificate, epsilon, delta, width)
    assert int.from_bytes(fields[3], "big") == calibration.step
    centres = [[reference.round_half_up(centre / calibration.g) for centre in slot] for slot in certificate.centres]
    chances = {}

    def chance(value, place):
        if (value, place) not in chances:
            chances[value, place] = value_chance(value, place, calibration)
        return chances[value, place]

    likelihoods = []
    for bits, label in items:
        rows = list(centres)
        slot = pack.slot_of(label)
        rows[slot] = reference.private_row(pack, certificate.label_rows, reference.row_of(pack, bits), slot, calibration.g)
        likelihood = Decimal(1)
        for value, place in zip(values, (place for row in rows for place in row)):
            likelihood *= chance(value, place)
        likelihoods.append(likelihood)
    return posterior(likelihoods)


# In a crowd ----------------------------------------------------------------------------------------------------------

def law(mean, copies, most):
    """π(0 … most) without the factor e^−Λ, as fractions."""
    chances = [Fraction(1)]
    for k in range(1, most + 1):
        chances.append(mean / (copies * k) * sum(c * chances[k - c] for c in range(1, min(copies, k) + 1)))
    return chances


def crowd(pack, items, counts, policy, floor):
    """`counts`: what is left of each symbol. Every drawn cell is tried for every item."""
    symbols = pack.G * pack.m
    mean = policy["clients"] * Fraction(int(Fraction(policy["clusters"]) * (1 << 29)), 1 << 29)
    if policy["relay"] > 0:
        parts = -(-int(2 * Fraction(policy["relay"]).numerator) // Fraction(policy["relay"]).denominator)
        mean += parts * Fraction(int((1 << 32) * (policy["relay"] / parts)), 1 << 32)
    chances = law(mean / symbols, policy["copies"], max(counts))
    high, low = odds(floor, symbols)
    epochs = []
    for drawn in range(symbols):
        own = reference_crowd.public_list(pack, drawn, policy["own"])
        likelihood = Fraction(1)
        for symbol, count in enumerate(counts):
            fakes = count - own.count(symbol)
            likelihood *= chances[fakes] if fakes >= 0 else 0
        epochs.append(likelihood)
    likelihoods = []
    for bits, label in items:
        true = reference_crowd.symbol_of(pack, bits, label)
        likelihoods.append(sum((high if drawn == true else low) * epoch for drawn, epoch in enumerate(epochs)))
    return posterior(likelihoods)
