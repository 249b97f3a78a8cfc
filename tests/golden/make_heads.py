#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden guesses and means of looks, from the reference: head_vectors.h for C, head_vectors.txt for every other language.

    python3 tests/golden/make_heads.py [--check]

With --check it compares the files instead and exits 1 if one differs.
"""
import pathlib
import sys

import cases_head
from reference_head import guess, mean_of_looks
from vectors_text import Header, patterns, quoted, write_or_check

TARGET = pathlib.Path(__file__).with_name("head_vectors.h")

STRUCTS = """\
/* Golden guesses and looks. Written by make_heads.py: do not edit. Features are IEEE-754 binary32 patterns. */
#ifndef GOLDEN_HEAD_VECTORS_H
#define GOLDEN_HEAD_VECTORS_H

#include <stddef.h>
#include <stdint.h>

/* the head alone, as a front file, too */
struct golden_head {
    const char *name; const uint8_t *bytes; size_t size; uint32_t labels; const uint8_t *file; size_t file_size;
};

/* all labels of the head, the likeliest first */
struct golden_guess {
    const char *name; unsigned pack, modality; const uint32_t *bits; size_t d; const int32_t *labels;
    const int64_t *scores; size_t count;
};

/* each look is added `times`; feature i of look l is bits[l·period + i % period], of the mean mean[i % period]; mean is NULL
 * when there is none */
struct golden_looks {
    const char *name; size_t d, times, period; const uint32_t *bits; size_t looks; const uint32_t *mean;
};
"""

PLAIN_HEAD = """\
# Golden guesses and looks. Written by make_heads.py: do not edit. Fields and numbers are written as in vectors.txt.
# head    name  pack's bytes  labels  front file
# guess   name  head  features  modality  all guesses, the likeliest first: label:score,...
# looks   name  features per look  times that each is added  patterns per look  looks, one behind the other  mean ("-" when
#         there is none). Feature i has pattern i modulo the patterns per look; so has the mean's.
"""


def write_heads(header, packs):
    rows = []
    for number, (name, pack) in enumerate(packs):
        data = header.array("uint8_t", "head_pack_%d" % number, pack.bytes)
        file = header.array("uint8_t", "head_file_%d" % number, pack.head.file())
        rows.append([quoted(name), data, str(len(pack.bytes)), str(pack.head.d), file, str(len(pack.head.file()))])
        header.plain("head", name, pack.bytes.hex(), pack.head.d, pack.head.file().hex())
    header.table("head", "golden_heads", rows)


def write_guesses(header, packs):
    rows = []
    for number, (name, index, modality, bits) in enumerate(cases_head.guess_cases(packs)):
        guesses, prefix = guess(packs[index][1], bits, modality), "guess_%d" % number
        labels = ["(-2147483647 - 1)" if label == -2147483648 else str(label) for label, _ in guesses]
        header.lines.append("static const int32_t %s_labels[%d] = {%s};" % (prefix, len(labels), ", ".join(labels)))
        header.lines.append("static const int64_t %s_scores[%d] = {%s};" % (
            prefix, len(labels), ", ".join("INT64_C(%d)" % score for _, score in guesses)))
        rows.append([quoted(name), str(index), str(modality), header.array("uint32_t", prefix + "_bits", bits),
                     str(len(bits)), prefix + "_labels", prefix + "_scores", str(len(guesses))])
        header.plain("guess", name, index, patterns(bits), modality, ",".join("%d:%d" % pair for pair in guesses))
    header.table("guess", "golden_guesses", rows)


def write_looks(header):
    rows = []
    for number, (name, d, times, looks) in enumerate(cases_head.look_cases()):
        period, prefix = len(looks[0]), "looks_%d" % number
        mean = (mean_of_looks([(look * (d // period + 1))[:d] for look in looks], times) or [])[:period]
        every = [pattern for look in looks for pattern in look]
        rows.append([quoted(name), str(d), str(times), str(period), header.array("uint32_t", prefix, every),
                     str(len(looks)), header.array("uint32_t", prefix + "_mean", mean)])
        header.plain("looks", name, d, times, period, patterns(every), patterns(mean))
    header.table("looks", "golden_looks_cases", rows)


def main():
    header, packs = Header(), cases_head.make_head_packs()
    header.lines, header.plain_lines = [STRUCTS], [PLAIN_HEAD]
    write_heads(header, packs)
    write_guesses(header, packs)
    write_looks(header)
    return write_or_check({TARGET: header.text(), TARGET.with_suffix(".txt"): "".join(header.plain_lines)})


if __name__ == "__main__":
    sys.exit(main())
