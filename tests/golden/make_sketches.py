#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden packs of version 0.5, coded sketches and answers of version 2, from the reference: sketch_vectors.h for C,
sketch_vectors.txt for every other language.

    python3 tests/golden/make_sketches.py [--check]

With --check it compares the files instead and exits 1 if one differs.
"""
import pathlib
import sys

import cases_refused
import cases_sketch
from make_vectors import write_answers
from reference import sketch
from vectors_text import Header, quoted, write_or_check

TARGET = pathlib.Path(__file__).with_name("sketch_vectors.h")
STATUSES = {"OK": 0, "PACK": -11, "PACK_VERSION": -12, "PACK_SIZE": -13, "PACK_ID": -15, "ANSWER": -23}

STRUCTS = """\
/* Golden coded sketches. Written by make_sketches.py: do not edit. Features are IEEE-754 binary32 patterns. */
#ifndef GOLDEN_SKETCH_VECTORS_H
#define GOLDEN_SKETCH_VECTORS_H

#include "vectors.h"

/* needs: 1 when a build must have fronts to open it, 2 when heads */
struct golden_coded_pack {
    const char *name; const uint8_t *bytes; size_t size; const uint8_t *id; uint32_t directions, sketch; unsigned needs;
};

struct golden_coded_sketch { unsigned pack; const int8_t *row; size_t d; const uint8_t *sketch; size_t length; };

/* Golden pack `pack` with other bytes: count pairs of an offset and a byte, then the hash made right. Status 0: it opens. */
struct golden_coded_edit { const char *name; int status; unsigned pack; const uint16_t *changes; size_t count; };

struct golden_refused_pack { const char *name; int status; const uint8_t *bytes; size_t size; };

/* What the ranking of these bytes ends with; crowd: as the answer to one message of a crowd. */
struct golden_refused_answer {
    const char *name; int status; unsigned pack; const uint8_t *bytes; size_t size; int crowd;
};

/* Whether this build opens a pack with these needs. */
#if !GOLDEN_FRONTS
#define GOLDEN_CODED_OPENS(needs) ((needs) == 0)
#elif defined(PML_WITH_HEAD) && !PML_WITH_HEAD
#define GOLDEN_CODED_OPENS(needs) ((needs) <= 1)
#else
#define GOLDEN_CODED_OPENS(needs) ((needs) <= 2)
#endif
"""

PLAIN_HEAD = """\
# Golden coded sketches. Written by make_sketches.py: do not edit. Fields and numbers are written as in vectors.txt.
# pack     name  bytes  id  directions  bytes of a sketch  what a build must have: 0 nothing, 1 fronts, 2 heads
# sketch   pack  row (int8, a byte each)  bytes
# answer, crowd_answer   as in vectors.txt
# edit     name  status  pack  changes: offset:byte,... after which the hash is made right. Status OK: it opens
# refused_pack    name  status  bytes
# refused_answer  name  status  pack  bytes  whether it answers one message of a crowd. Status OK: it is taken
"""


def write_packs(header, packs):
    rows = []
    for number, (name, pack, needs) in enumerate(packs):
        rows.append([quoted(name), header.array("uint8_t", "coded_pack_%d" % number, pack.bytes), str(len(pack.bytes)),
                     header.array("uint8_t", "coded_id_%d" % number, pack.id), str(pack.code.P), str(pack.L), str(needs)])
        header.plain("pack", name, pack.bytes.hex(), pack.id.hex(), pack.code.P, pack.L, needs)
    header.table("coded_pack", "golden_coded_packs", rows)


def write_sketches(header, packs):
    rows = []
    for number, (index, row) in enumerate(cases_sketch.sketch_cases(packs)):
        made = sketch(packs[index][1], row)
        rows.append([str(index), header.array("int8_t", "coded_row_%d" % number, row), str(len(row)),
                     header.array("uint8_t", "coded_sketch_%d" % number, made), str(len(made))])
        header.plain("sketch", index, bytes(value & 255 for value in row).hex(), bytes(made).hex())
    header.table("coded_sketch", "golden_coded_sketches", rows)


def write_refused(header, packs):
    rows = []
    for number, (name, status, index, edit) in enumerate(cases_refused.pack_edits(packs)):
        pairs = [value for pair in sorted(edit.items()) for value in pair]
        rows.append([quoted(name), str(STATUSES[status]), str(index),
                     header.array("uint16_t", "coded_edit_%d" % number, pairs), str(len(edit))])
        header.plain("edit", name, status, index, ",".join("%d:%d" % pair for pair in sorted(edit.items())))
    header.table("coded_edit", "golden_coded_edits", rows)
    rows = []
    for number, (name, status, data) in enumerate(cases_refused.whole_packs(packs)):
        rows.append([quoted(name), str(STATUSES[status]), header.array("uint8_t", "refused_pack_%d" % number, data),
                     str(len(data))])
        header.plain("refused_pack", name, status, data.hex())
    header.table("refused_pack", "golden_refused_packs", rows)
    rows = []
    for number, (name, status, index, data, crowd) in enumerate(cases_refused.answer_cases(packs)):
        rows.append([quoted(name), str(STATUSES[status]), str(index),
                     header.array("uint8_t", "refused_answer_%d" % number, data), str(len(data)), str(crowd)])
        header.plain("refused_answer", name, status, index, data.hex(), crowd)
    header.table("refused_answer", "golden_refused_answers", rows)


def vectors():
    header, packs = Header(), cases_sketch.make_packs()
    header.lines, header.plain_lines = [STRUCTS], [PLAIN_HEAD]
    write_packs(header, packs)
    write_sketches(header, packs)
    write_answers(header, packs, "answer", cases_sketch.answer_cases(packs), "coded_")
    write_answers(header, packs, "crowd_answer", cases_sketch.crowd_answer_cases(packs), "coded_")
    write_refused(header, packs)
    return {TARGET: header.text(), TARGET.with_suffix(".txt"): "".join(header.plain_lines)}


if __name__ == "__main__":
    sys.exit(write_or_check(vectors()))
