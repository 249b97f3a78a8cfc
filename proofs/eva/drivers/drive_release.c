/* SPDX-License-Identifier: Apache-2.0
 * Releases of arbitrary bytes, of every length up to 48, against packs of one slot and of three with response and
 * Gaussian. What is parsed is read back value by value. Where the body is a byte of symbols, its 256 values are taken one by
 * one: Eva would forget that a symbol was found to be in its range.
 * eva: quick
 * eva: sources stages/release.c
 * eva: options -eva-slevel 100 -eva-auto-loop-unroll 40 -eva-split-return-function pml_release_parse:0 */
#include "core/stages/stages.h"
#include "view.h"

enum { MOST = 48, AT_MECHANISM = 22, ONE_BYTE = 26 };
static uint8_t bytes[MOST];

static void use(const uint8_t *release, size_t size)
{
    static float rows[SLOTS * DIMENSIONS];
    pml_release_view parsed;
    (void)pml_release_rows(&view, release, size, rows, SLOTS * DIMENSIONS);
    if (pml_release_parse(&view, release, size, &parsed) != PML_OK)
        return;
    if (parsed.mechanism == PML_GAUSSIAN) {
        for (size_t i = 0; i < (size_t)view.slots * DIMENSIONS; i++)
            (void)pml_release_value(&parsed, i);
    } else {
        for (size_t i = 0; i < (parsed.mechanism == PML_CROWD ? 1 : view.slots); i++)
            (void)pml_release_symbol(&parsed, i);
    }
}

static void every_body(uint8_t *release, pml_mechanism mechanism)
{
    release[AT_MECHANISM] = (uint8_t)mechanism;
    //@ loop unroll 256;
    for (unsigned body = 0; body < 256; body++) {
        release[ONE_BYTE - 1] = (uint8_t)body;
        use(release, ONE_BYTE);
    }
}

static void every_size(void)
{
    //@ loop unroll 48;
    for (size_t size = 1; size <= MOST; size++) {
        uint8_t *release = bytes + MOST - size; /* ends where the object ends */
        ANY(bytes);
        if (size != ONE_BYTE) {
            use(release, size);
            continue;
        }
        every_body(release, PML_RESPONSE);
        every_body(release, PML_CROWD);
        release[AT_MECHANISM] = PML_GAUSSIAN;
        use(release, size);
        release[AT_MECHANISM] = 0;
        use(release, size);
        release[AT_MECHANISM] = (uint8_t)(4 + any_size(251));
        use(release, size);
    }
}

/* Whatever may be missing. */
static void refuse(void)
{
    static float rows[SLOTS * DIMENSIONS];
    pml_release_view parsed;
    uint8_t id[PML_ID_SIZE];
    ANY(bytes);
    (void)pml_release_id(MAYBE(bytes), any_size(MOST), MAYBE(id));
    (void)pml_release_parse(MAYBE(&view), MAYBE(bytes), any_size(ONE_BYTE - 1), MAYBE(&parsed));
    (void)pml_release_rows(MAYBE(&view), MAYBE(bytes), any_size(ONE_BYTE - 1), MAYBE(rows),
                           any_size(SLOTS * DIMENSIONS));
    bytes[AT_MECHANISM] = PML_CROWD;
    bytes[ONE_BYTE - 1] = 2;
    (void)pml_release_rows(&view, bytes, ONE_BYTE, rows, any_size(SLOTS * DIMENSIONS));
    view.section[PML_SECTION_CELL_CODES] = NULL;
    (void)pml_release_rows(&view, bytes, ONE_BYTE, rows, SLOTS * DIMENSIONS);
}

int main(void)
{
    view_start(SLOTS);
    view_prototypes();
    view_codes();
    view_anchors();
    every_size();
    refuse();
    view_start(1);
    view_prototypes();
    view_codes();
    view_anchors();
    every_size();
    return 0;
}
