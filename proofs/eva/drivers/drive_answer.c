/* SPDX-License-Identifier: Apache-2.0
 * One step of the parser of answers, from every state that it can be in: a byte of a head, a byte of a number of a list,
 * or a part of a body. The driver makes every state that `holds` allows, takes a step over arbitrary bytes, and asserts
 * that `holds` is true again. A piece of any length is a sequence of such steps.
 * eva: sources stages/answer.c stages/answer_rank.c base/exact.c base/kernels_portable.c
 * eva: stubs stubs_hash.c
 * eva: options -eva-slevel 200 -eva-auto-loop-unroll 40
 * eva: options -eva-split-return-function pml_answer_parse:full,read_head:full,accept:full,go_on:full
 * eva: options -eva-split-return-function take_candidate:full,accept_in_list:full,read_number:full,read_body:full */
#include "core/stages/answer.h"
#include "core/stages/stages.h"
#include "view.h"

/* as in answer.c */
enum { HEADER, VERSION, ID, SLOT_COUNT, SKETCH_LENGTH, GALLERY, SLOT_HEAD, SLOT, COUNT, FORM, BASE, LIST, CANDIDATE };
enum { ITEM = CANDIDATE + 1, LABEL, BODY, PAYLOAD, END };
enum { KEPT = 3 };

static struct answer answer;
static struct shortlist shortlist;
static pml_match matches[KEPT];
static uint8_t bytes[SKETCH + 16], before[SKETCH];
static int8_t plain[SKETCH];
static int16_t coordinates[DIRECTIONS];

/* ---- states ---- */

static bool after_payload(uint8_t field)
{
    return field == CANDIDATE || field == ITEM || field == SLOT_HEAD || field == END;
}

static bool of_other_version(uint8_t field)
{
    return view.directions > 0 ? field == CANDIDATE : field >= FORM && field <= LIST;
}

/* What is true before and after every step of a parser that has found no error. The driver makes every such state. */
static bool holds(const struct answer *a)
{
    const uint8_t version = a->field <= VERSION ? 0 : view.directions > 0 ? 2 : 1;
    const bool in_list = version == 2 && a->field >= ITEM && a->field < END;
    const uint32_t most = a->field == ID            ? PML_ID_SIZE
                          : a->field == BODY        ? view.sketch
                          : after_payload(a->field) ? PML_PAYLOAD_MAX
                                                    : 0;
    if (a->field > END || a->version != version || a->form > 3 || a->body_left > most || of_other_version(a->field))
        return false;
    if (a->head_size == 0)
        return true;
    if (a->body_left != 0 || a->field == END)
        return false;
    if (in_list)
        return a->head_size <= 9;
    const unsigned bytes = a->head_size - 1u, left = a->head_left;
    return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && left > 0 && left <= bytes &&
           a->value >> 8 * (bytes - left) == 0;
}

/* The sums and the place after `count` bytes of a sketch. */
static void compare(size_t count)
{
    shortlist.compared = PML_COMPARED_START;
    ANY(before);
    pml_rank_compare(&shortlist, 0, before, count);
}

static void make_state(uint8_t field)
{
    ANY(matches);
    ANY(answer);
    answer.status = PML_OK;
    answer.open = true;
    answer.first = any_bool();
    answer.one = any_bool();
    answer.field = field;
    answer.version = field <= VERSION ? 0 : view.directions > 0 ? 2 : 1;
    answer.form = (uint8_t)any_size(3);
    answer.head_size = 0;
    answer.body_left = 0;
    compare(field == PAYLOAD ? view.sketch : 0);
}

static void step(size_t size)
{
    if (pml_answer_parse(&answer, &view, &shortlist, bytes + sizeof bytes - size, size) != PML_OK)
        return;
    const bool again = holds(&answer);
    //@ assert again == 1;
    (void)pml_answer_complete(&answer);
}

/* ---- steps ---- */

/* The first byte of a head, each of the 256 values by itself. */
static void first_byte(uint8_t field)
{
    //@ loop unroll 256;
    for (unsigned byte = 0; byte < 256; byte++) {
        make_state(field);
        bytes[sizeof bytes - 1] = (uint8_t)byte;
        step(1);
    }
    ANY(bytes);
}

static void one_byte(uint8_t field, uint8_t size, uint8_t left, uint64_t least, uint64_t most)
{
    make_state(field);
    answer.head_left = left;
    answer.head_size = 1 + size;
    answer.value = Frama_C_unsigned_long_long_interval(least, most); /* so far */
    step(1);
}

/* One of the bytes that follow it. The last one of values that need that many bytes, and of those that do not. */
static void next_byte(uint8_t field, uint8_t size)
{
    uint64_t most = 0;
    //@ loop unroll 8;
    for (uint8_t left = size; left > 0; left--, most = most << 8 | 255) {
        const uint64_t border = left == 1 && size > 1 ? (uint64_t)1 << (4 * size - 8) : 0;
        if (border > 0)
            one_byte(field, size, left, 0, border - 1);
        one_byte(field, size, left, border, most);
    }
}

static void heads(uint8_t field)
{
    first_byte(field);
    if (field == END)
        return;
    next_byte(field, 1);
    next_byte(field, 2);
    next_byte(field, 4);
    next_byte(field, 8);
}

static void numbers(uint8_t field)
{
    //@ loop unroll 10;
    for (uint8_t size = 0; size <= 9; size++) {
        make_state(field);
        answer.head_size = size;
        step(1);
    }
}

static void bodies(void)
{
    //@ loop unroll 16;
    for (uint32_t left = 1; left <= PML_ID_SIZE; left++) {
        make_state(ID);
        answer.body_left = left;
        step(left);
        make_state(ID);
        answer.body_left = left;
        step(1);
    }
    //@ loop unroll 8;
    for (uint32_t left = 1; left <= view.sketch; left++) {
        //@ loop unroll 8;
        for (uint32_t part = 1; part <= left; part++) {
            make_state(BODY);
            compare(view.sketch - left);
            answer.body_left = left;
            step(part);
        }
    }
}

static void payloads(uint8_t field)
{
    make_state(field);
    answer.body_left = Frama_C_unsigned_int_interval(1, PML_PAYLOAD_MAX);
    step(1);
    make_state(field);
    answer.body_left = Frama_C_unsigned_int_interval(sizeof bytes, PML_PAYLOAD_MAX);
    step(sizeof bytes);
}

static void all_fields(void)
{
    //@ loop unroll 20;
    for (uint8_t field = HEADER; field <= END; field++) {
        if (of_other_version(field))
            continue;
        if (after_payload(field))
            payloads(field);
        if (view.directions > 0 && field >= ITEM && field < END)
            numbers(field);
        else
            heads(field);
    }
    bodies();
}

int main(void)
{
    ANY(bytes);
    for (int i = 0; i < DIRECTIONS; i++) /* a cosine in 2^-12 */
        coordinates[i] = (int16_t)Frama_C_interval(-4096, 4096);
    shortlist.kernels = &pml_kernels_portable;
    shortlist.matches = matches;
    shortlist.capacity = KEPT;
    shortlist.inverse = Frama_C_unsigned_int_interval(0, 1u << 30);
    shortlist.slot = any_u32();
    shortlist.all = any_bool() ? ~(uint64_t)0 : 0;
    shortlist.none = any_bool() ? ~(uint64_t)0 : 0;
    for (int i = 0; i < SKETCH; i++) /* a sketch is made by pml_scale_127 */
        plain[i] = (int8_t)Frama_C_interval(-127, 127);
    pml_answer_start(&answer, any_bool());
    pml_rank_start(&shortlist);
    (void)pml_rank_count(&shortlist);
    view_start(SLOTS);
    const bool begins = holds(&answer);
    //@ assert begins == 1;
    view.sketch = SKETCH;
    shortlist.sketch = plain;
    all_fields();
    view_coded();
    shortlist.coded =
        (struct pml_coded){view.section[PML_SECTION_SKETCH_CODE], view.section[PML_SECTION_DIRECTION_RANGES],
                           coordinates, DIRECTIONS, CODED_SKETCH};
    all_fields();
    return 0;
}
