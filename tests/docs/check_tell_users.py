#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/TELL-USERS.md says what docs/PRIVACY.md proves, and no more: python3 tests/docs/check_tell_users.py [FILE]

Every factor and chance is computed again, every section and theorem that is named exists, every way has its three
sentences, settings and list, and claims that nobody can keep stand in the lists of what must not be claimed only. Then
the check breaks the page on purpose and must notice. Ends with 'N passed, N failed'."""
import math
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
RELAY = "In a crowd whose relay makes the fakes"
WAYS = {"Ask alone: response": 4, "Ask in a crowd": 0.1, RELAY: 0.1, "The Gaussian embedding": 4, "Ship the whole index": None,
        "A fixed selection, and no search message": None}
WITH_DELTA = ("Ask in a crowd", RELAY, "The Gaussian embedding")
# What the settings of a crowd rest on; nobody else need take part when the relay makes the fakes.
RESTS_ON = {"Ask in a crowd": "If RELAY is honest and enough people take part, whatever", RELAY: "If RELAY is honest, whatever"}
NOT_CLAIMED = "What must not be claimed:"
FORBIDDEN = re.compile(r"anonym|no[- ]?one can|nobody can|nobody will|cannot be traced|untraceable|guarantee|completely|impossible|"
                       r"unbreakable|never learn|learns nothing|knows nothing|100 %|fully private|military", re.I)
# Sentences that may say such a word outside of a list, because they deny it.
DENIED = ("none of them means anything that can be checked",)


def factor_text(epsilon):
    """e^ε as the page prints it: with at least two digits, and whole from 10 on, rounded up: it is a most."""
    value = math.exp(epsilon)
    digits = 0 if value >= 10 else 1 if value >= 5 else 2
    return "%.*f" % (digits, math.ceil(value * 10 ** digits) / 10 ** digits)


def normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def more_than_epsilon_gaussian(epsilon, delta):
    """P(ln P/Q > ε) of the Gaussian that is (ε, δ)-DP and no better: PRIVACY, theorem 4. It is larger than δ."""
    low, high = 1e-3, 10.0
    for _ in range(100):
        mu = (low + high) / 2
        told = normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if told < delta else (low, mu)
    return normal(low / 2 - epsilon / low)


def more_than_epsilon_crowd(epsilon, rate, copies):
    """The same of one message in a crowd, and its δ: theorem A with γ = 0, Λ = rate and v = copies."""
    counts = int(1.1 * rate * (copies + 1))
    law = [math.exp(-rate)]
    for k in range(1, counts):
        law.append(rate / (copies * k) * sum(c * law[k - c] for c in range(1, min(copies, k) + 1)))
    chance = delta = 0.0
    for i in range(1, counts):
        for j in range(counts):
            p, q = law[i - 1] * law[j], math.exp(epsilon) * law[i] * (law[j - 1] if j else 0.0)
            if p > q:
                chance, delta = chance + p, delta + p - q
    return chance, delta


def parts(text):
    """{way: (sentences, settings, not claimed)}"""
    sections = dict(re.findall(r"^##+ (.*?)\n(.*?)(?=^##+ |\Z)", text, re.M | re.S))
    found = {}
    for way in WAYS:
        body = sections.get(way, "")
        head, _, rest = body.partition("Settings text")
        settings, _, claims = rest.partition(NOT_CLAIMED)
        found[way] = (re.findall(r"^\d\. (\*.*?\*.*?)(?=^\d\. |^\S|\Z)", head, re.M | re.S), settings, claims, head)
    return found


def spaced(text):
    """On one line."""
    return re.sub(r"\s+", " ", text)


def spoken(sentence):
    """What users read, on one line."""
    return spaced(re.match(r"\*(.*?)\*", sentence, re.S).group(1))


def outside_lists(text):
    """The page without its lists of what must not be claimed."""
    kept, listing = [], False
    for line in text.splitlines():
        if line.strip() == NOT_CLAIMED:
            listing = True
        elif line.startswith("#"):
            listing = False
        elif not listing:
            kept.append(line)
    return "\n".join(kept)


def sections_of_privacy():
    privacy = (DOCS / "PRIVACY.md").read_text(encoding="utf-8")
    return (set(re.findall(r"^## (\d+)\.", privacy, re.M)),
            set(re.findall(r"\*\*Theorem (\w+)[′ (.]", privacy)), privacy)


def check_ways(text):
    for way, (sentences, settings, claims, head) in parts(text).items():
        yield len(sentences) == 3, "%s has three sentences, not %d" % (way, len(sentences))
        yield claims.count("\n* ") >= 3, "%s has a list of what must not be claimed" % way
        for sentence in sentences:
            yield bool(re.search(r"\*\s*\(.+\)|\(\[?.+\)", sentence, re.S)), "%s: no source behind %s" % (way, sentence)
        rows = re.findall(r"^\| [a-z, ]+ \| ([\d.]+) \| (.*) \|$", settings, re.M)
        yield (len(rows) == 3) == (WAYS[way] is not None), "%s: settings for three ε: %s" % (way, rows)
        for epsilon, words in rows:
            told = re.findall(r"(?:a factor of|at most) ([\d.,]*\d)", words)
            floor = [factor_text(8)] if "crowd" in way else []
            yield told == [factor_text(float(epsilon))] + floor, "%s, ε = %s: factors %s" % (way, epsilon, told)
        for words in [spoken(sentence) for sentence in sentences] + [words for _, words in rows]:
            if way in WITH_DELTA and factor_text(8) not in re.findall(r"factor is at most (\d+)", words):
                yield ("at most" in words) == ("plus a chance of one in" in words), "%s: δ is added: %s" % (way, words)
        if WAYS[way] is not None:
            allowed = [factor_text(WAYS[way])] + ([factor_text(8)] if "crowd" in way else [])
            told = [number for sentence in sentences
                    for number in re.findall(r"(?:at most|factor of) ([\d.]*\d)", spoken(sentence))]
            yield told == allowed, "%s: its factors are %s, not %s" % (way, allowed, told)
            yield "For ε = %g" % WAYS[way] in head or way == RELAY and "For the same ε" in spaced(head), "%s: which ε" % way
        if way in RESTS_ON:
            yield "factor is at most %s" % factor_text(8) in spaced(head), "%s: the floor stands beside it" % way
            yield all(words.startswith(RESTS_ON[way]) for _, words in rows), "%s: its settings name what they rest on" % way
        if way == RELAY:
            yield "people" not in " ".join(words for _, words in rows), "%s: it does not need many people" % way
            yield "if there are any" in spoken(sentences[0]) if sentences else False, "%s: perhaps nobody else asks" % way


CROWD = more_than_epsilon_crowd(0.1, 112, 8)


def check_numbers(text):
    flat = spaced(text)
    for epsilon, told in re.findall(r"e\^([\d.]+) = ([\d.]+\d)", flat):
        yield told == factor_text(float(epsilon)), "e^%s is %s, not %s" % (epsilon, factor_text(float(epsilon)), told)
    chances = {"one in 1,000,000": "10⁻⁶", "one in 100,000": "10⁻⁵"}
    for way, (sentences, settings, _, head) in parts(text).items():
        told = set(re.findall(r"one in [\d,]*\d", spaced(" ".join(sentences) + settings)))
        yield (all("δ = " + chances.get(chance, "?") in head for chance in told) or way == RELAY and told == {"one in 1,000,000"},
               "%s: chances %s" % (way, told))
    for cells, epsilon, told in ((96, 4, "0.36"), (96, 8, "0.97")):
        value = math.exp(epsilon) / (math.exp(epsilon) + cells - 1)
        yield "%.2f" % value == told and "probability %s" % told in flat, "guessing one of %d: %s" % (cells, value)
    value = more_than_epsilon_gaussian(4, 1e-5)
    yield "%.1f in 100,000" % (value * 1e5) in flat, "the odds change by more than e^4: %g" % value
    yield "one in {:,.0f}".format(round(1 / CROWD[0], -2)) in flat, "the odds change by more than e^0.1: %g" % CROWD[0]
    yield 9e-7 < CROWD[1] <= 1e-6, "δ of the crowd with Λ = 112 and v = 8: %g" % CROWD[1]
    for count, epsilon in re.findall(r"\((\d+) searches of ε = (\d+) add up", flat):
        yield "e^%d" % (int(count) * int(epsilon)) in flat, "%s searches at ε = %s" % (count, epsilon)
    yield "two at ε = 4 have a factor of %s" % factor_text(8) in flat, "two searches"
    yield "%s to 1 at ε = 4" % factor_text(4) in flat, "odds"


def check_sources(text):
    sections, theorems, privacy = sections_of_privacy()
    for number in re.findall(r"§(\d+)", text):
        yield number in sections, "PRIVACY has no section %s" % number
    for name in re.findall(r"theorem (\w+)", text):
        yield name in theorems, "PRIVACY has no theorem %s" % name
    for fact in ("That a query was made", "What happens afterwards", "they\nare always stated together", "cannot count the others"):
        yield spaced(fact).lower() in spaced(privacy).lower(), "PRIVACY says: %s" % fact


def check_words(text):
    for line in re.sub(r"\n  +", " ", outside_lists(text)).splitlines():
        if not any(denial in line for denial in DENIED):
            word = FORBIDDEN.search(line)
            yield word is None, "'%s' outside of a list: %s" % (word and word.group(), line)


def faults_of(text):
    results = [result for check in (check_ways, check_numbers, check_sources, check_words) for result in check(text)]
    return len(results), [what for good, what in results if not good]


BREAKS = [("at most 55 times", "at most 20 times"), ("a factor of 7.4 per", "a factor of 2 per"), ("e^8 = 2981", "e^8 = 298"),
          ("e^4 = 55)", "e^5 = 148)"),  # 148.41 rounded down
          ("one in 1,000,000", "one in 100,000"), ("(theorem A:", "(theorem Z:"), ("(§11)\n2.", "(§99)\n2."),
          ("Your picture stays on this device.", "Your search is anonymous."),
          ("The service sees that you searched, and when.", "No one can see that you searched."),
          ("the factor is at most 2981", "nothing happens"), ("probability 0.36", "probability 0.03"),
          ("If RELAY is honest and enough people take part, whatever the service concludes from a search is at most 1.65",
           "Whatever the service concludes from a search is at most 1.65"),
          (", plus a chance of one in 100,000. You will", ". You will"), ("; otherwise at most 2981 times. Results", ". Results"),
          (", plus a\n   chance of one in 100,000.*", ".*"), ("5.6 in 100,000", "1 in 100,000"), ("one in 7,600", "one in 1,000,000"),
          (" if there are any.", "."), ("| If RELAY is honest, whatever", "| Whatever"),
          ("If RELAY is honest, whatever", "If RELAY is honest and enough people take part, whatever"),
          ("the same for everybody, and the search runs here", "and the search runs here, completely private"),
          ("Say *per search*.", "It cannot be traced.")]


def main():
    text = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else DOCS / "TELL-USERS.md").read_text(encoding="utf-8")
    count, faults = faults_of(text)
    for old, new in BREAKS:
        count += 1
        if old not in text or not faults_of(text.replace(old, new, 1))[1]:
            faults.append("nobody notices '%s' in place of '%s'" % (new, old))
    for fault in faults:
        print("FAILED:", fault)
    print("%d passed, %d failed" % (count - len(faults), len(faults)))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
