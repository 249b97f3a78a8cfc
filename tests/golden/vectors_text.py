"""What vectors.h and vectors.txt look like: their heads, arrays and tables."""
import sys

PLAIN_HEAD = """\
# Golden vectors. Written by make_vectors.py: do not edit.
# One case a line, fields separated by a tab, "-" for an empty one. Bytes are hexadecimal; features and rows are
# IEEE-754 binary32 patterns, eight digits each, most significant first. Packs are counted from 0.
# pack     name  bytes  id  model
# release  name  pack  mechanism (1 response, 2 Gaussian)  epsilon  delta  value_bytes  entropy  features  label  bytes  rows
#          modality
# answer   name  pack  bytes  features  label  scope (0 own slot, 1 all)  limit  matches: item:label:slot:score:offset:size,...
#          modality
# crowd_answer  as answer, to one message of a crowd: it has one slot
# bundle   name  pack  kind (1 query, 2 kept, 3 idle)  epsilon  clusters  copies  own  cover  entropy  features  label  kept
#          bytes (all messages)  own (a byte per message)  modality
# budget   bytes  owner  epsilon_cap  epsilon_spent (both in 2^-20)  mu2_cap  mu2_spent (both in 2^-40)  delta (in 2^-64)
#          floor_cap  floor_spent (both in 2^-20)  crowd_mu2_cap  crowd_mu2_spent (both in 2^-40)  crowd_delta
#          crowd_delta0_cap  crowd_delta0_spent (all in 2^-64)
"""

STRUCTS = """\
/* Golden vectors. Written by make_vectors.py: do not edit. Features and rows are IEEE-754 binary32 patterns. */
#ifndef GOLDEN_VECTORS_H
#define GOLDEN_VECTORS_H

#include <stddef.h>
#include <stdint.h>

/* A build without fronts counts what needs none: it comes first. */
#if defined(PML_WITH_FRONT) && !PML_WITH_FRONT
#define GOLDEN_FRONTS 0
#else
#define GOLDEN_FRONTS 1
#endif

struct golden_pack { const char *name; const uint8_t *bytes; size_t size; const uint8_t *id; const char *model; };

/* mechanism: 1 response, 2 gaussian; seed: 32 bytes of entropy; row_count: G*k, or 0 when there are no rows */
struct golden_release {
    const char *name; unsigned pack; int mechanism; double epsilon, delta; int value_bytes;
    const uint8_t *seed; const uint32_t *bits; size_t d; int32_t label;
    const uint8_t *release; size_t release_size; const uint32_t *rows; size_t row_count;
    unsigned modality;
};

struct golden_match {
    uint64_t item; int32_t label; uint32_t slot; int32_t score; uint64_t payload_offset; uint32_t payload_size;
};

/* the best `limit` matches; all_slots 0: only candidates of the slot of `label` are ranked */
struct golden_answer {
    const char *name; unsigned pack; const uint8_t *bytes; size_t size; const uint32_t *bits; size_t d;
    int32_t label; int all_slots; size_t limit; const struct golden_match *matches; size_t match_count;
    unsigned modality;
};

struct golden_certificate { unsigned pack; uint32_t floor_weight; uint64_t delta_q8; uint64_t row_bound; };

/* G*k values each: the centres times 16384, and the label rows U (SPEC 5.6, 5.7) */
struct golden_centres { unsigned pack; const int64_t *centres; const int64_t *label_rows; size_t count; };

/* the neighbours and weights of a query, num of SPEC 5.9, and the row on the grid of step g */
struct golden_update {
    unsigned pack; const uint32_t *bits; size_t d; int32_t label; const uint16_t *anchors; const uint32_t *weights;
    size_t neighbours; const int64_t *num; uint32_t g; const int32_t *row; size_t k;
};

/* r to double precision; g and s do not change when r is off by 1e-6 of itself */
struct golden_calibration {
    unsigned pack; double epsilon, delta; double r; uint32_t g, s, e, step; int value_bytes;
};

/* words: u32 words taken from the key stream in all */
struct golden_deviates { const uint8_t *seed; uint32_t s; const int32_t *values; size_t count; uint64_t words; };

struct golden_below { const uint8_t *seed; uint64_t n; const uint32_t *values; size_t count; uint64_t words; };

struct golden_response_draw {
    const uint8_t *seed; uint32_t m, G; double epsilon; uint64_t P; uint32_t T; const uint16_t *U; uint64_t words;
};

/* SPEC 5.5: about 2^31 e^(-x/2^27) */
struct golden_exponential { uint32_t x, value; };

/* SPEC 5.18: the row of d values, NULL when it is zero */
struct golden_front {
    const char *name; unsigned pack, modality; const uint32_t *bits; size_t count; const int8_t *row; size_t d;
};

/* a front file */
struct golden_front_file { const char *name; unsigned pack, modality; const uint8_t *bytes; size_t size; };

struct golden_quantise { const char *name; const uint32_t *bits; size_t d; const int8_t *q; uint32_t inverse_norm; };

struct golden_sketch { unsigned pack; const uint32_t *bits; size_t d; const int8_t *sketch; size_t length; };

/* kind: 1 query, 2 kept, 3 idle; bits only of a query, kept only of a kept cell; own: per message */
struct golden_bundle {
    const char *name; unsigned pack; int kind; double epsilon, clusters; uint32_t copies, own_messages; int cover;
    const uint8_t *seed; const uint32_t *bits; size_t d; int32_t label; const uint8_t *kept; size_t kept_size;
    const uint8_t *bytes; size_t size; const uint8_t *own; size_t count; unsigned modality;
};

/* bytes are of version 1 or 2, current is the same budget in version 2 */
struct golden_budget {
    const uint8_t *bytes; size_t size; const uint8_t *owner; uint32_t response_cap, response_spent;
    uint64_t gaussian_cap, gaussian_spent, delta; uint32_t floor_cap, floor_spent;
    uint64_t crowd_cap, crowd_spent, crowd_delta, delta0_cap, delta0_spent; const uint8_t *current;
};
"""


class Header:
    """Collects arrays and tables as C text, and the plain lines for other languages."""

    def __init__(self):
        self.lines = [STRUCTS]
        self.plain_lines = [PLAIN_HEAD]

    def plain(self, *fields):
        self.plain_lines.append("\t".join(str(field) or "-" for field in fields) + "\n")

    def array(self, kind, name, values):
        """Emits an array and returns its name; "NULL" when empty."""
        values = list(values)
        if not values:
            return "NULL"
        form = {"uint8_t": "0x%02x", "uint32_t": "0x%08x"}.get(kind, "%d")
        self.lines.append("static const %s %s[%d] = {" % (kind, name, len(values)))
        line = "   "
        for value in values:
            text = " " + form % value + ","
            if len(line) + len(text) > 118:
                self.lines.append(line)
                line = "   "
            line += text
        self.lines += [line, "};"]
        return name

    def table(self, kind, name, rows, counted=None, fronted=0):
        """Emits an array of structs and the macro that counts it, named after `counted` or the struct. The last `fronted`
        need fronts."""
        self.lines.append("\nstatic const struct golden_%s %s[] = {" % (kind, name))
        self.lines += ["    { " + ", ".join(row) + " }," for row in rows]
        macro = "GOLDEN_%s_COUNT" % (counted or kind).upper()
        fewer = " - (GOLDEN_FRONTS ? 0 : %d)" % fronted if fronted else ""
        self.lines += ["};", "#define %s (sizeof %s / sizeof %s[0]%s)\n" % (macro, name, name, fewer)]

    def text(self):
        return "\n".join(self.lines + ["#endif", ""])


def patterns(bits):
    return "".join("%08x" % pattern for pattern in bits)


def quoted(text):
    return '"%s"' % text


def signed(value):
    """A C constant of an int32, INT32_MIN included."""
    return "INT32_MIN" if value == -2147483648 else str(value)


def unsigned(value):
    return "UINT64_C(%d)" % value


def write_or_check(files):
    """Writes the texts, {path: text}; with --check on the command line compares instead. Returns 1 if a file differs."""
    result = 0
    for path, text in files.items():
        if "--check" in sys.argv[1:]:
            same = path.exists() and path.read_text() == text
            print(path.name, "is", "up to date" if same else "out of date")
            result |= not same
        else:
            path.write_text(text)
            print("%s: %d bytes" % (path.name, len(text)))
    return int(result)
