/* SPDX-License-Identifier: Apache-2.0
 * Validates a pack (SPEC 1). In: hostile bytes. Out: a view whose every pointer, count and row is sound, or an error.
 * Never reads a byte past `size`. */
#include "base/exact.h"
#include "front.h"

static bool has(uint32_t sections, int section)
{
    return (sections >> section & 1) != 0;
}

/* Sketches are plain, coded or absent. */
static bool sketches_agree(const pml_pack *pack, uint32_t sections)
{
    const uint32_t all = (uint32_t)0xF << PML_SECTION_SKETCH_CODE, coded = sections & all;
    const bool plain = has(sections, PML_SECTION_SKETCH);
    if ((coded != 0 && coded != all) || (coded && plain) || pack->sketch > PML_SKETCH_MAX)
        return false;
    return plain ? pack->sketch >= 8 : (pack->sketch > 0) == (coded != 0);
}

/* Which sections go together, and which counts they demand. */
static bool counts_agree(const pml_pack *pack, uint32_t sections)
{
    const uint32_t anchors = 0x78; /* sections 3 to 6 */
    bool response = has(sections, PML_SECTION_PROTOTYPES);
    bool gaussian = (sections & anchors) != 0;
    bool codes = has(sections, PML_SECTION_SLOT_CODES);
    if (has(sections, PML_SECTION_FRONTS) != has(sections, PML_SECTION_FRONT_BODIES) ||
        has(sections, PML_SECTION_HEAD_SIZE) != has(sections, PML_SECTION_HEAD))
        return false;
    if (sections >> PML_SECTION_COUNT != 0 || !(response || gaussian))
        return false;
    if (response != has(sections, PML_SECTION_PROTOTYPE_NORMS) ||
        response != has(sections, PML_SECTION_PROTOTYPE_CELLS) || (gaussian && (sections & anchors) != anchors))
        return false;
    if ((gaussian && !codes) || (has(sections, PML_SECTION_CELL_CODES) && !(codes && response)))
        return false;
    if (has(sections, PML_SECTION_LISTS) && !(gaussian && pack->anchors > pack->neighbours))
        return false;
    if (response ? (pack->cells < 2 || pack->cells > PML_CELLS_MAX || pack->prototypes < pack->cells ||
                    (uint64_t)pack->slots * pack->prototypes > PML_PROTOTYPES_MAX)
                 : (pack->cells | pack->prototypes) != 0)
        return false;
    if (!sketches_agree(pack, sections))
        return false;
    if (gaussian ? (pack->anchors < 1 || pack->anchors > PML_ANCHORS_MAX || pack->neighbours < 1 ||
                    pack->neighbours > PML_NEIGHBOURS_MAX || pack->neighbours > pack->anchors || pack->lambda < 1 ||
                    pack->alpha > 1024)
                 : (pack->anchors | pack->neighbours | pack->lambda | pack->alpha) != 0)
        return false;
    return codes ? pack->dimensions >= 1 && pack->dimensions <= PML_DIMENSIONS_MAX : pack->dimensions == 0;
}

static bool slots_agree(const pml_pack *pack, uint32_t sections)
{
    bool classes = has(sections, PML_SECTION_CLASSES);
    if (pack->slots < 1 || pack->slots > PML_SLOTS_MAX || pack->classes > PML_CLASSES_MAX)
        return false;
    switch (pack->slot_kind) {
    case PML_SLOTS_ONE:
        return pack->slots == 1 && pack->classes == 0 && !classes && pack->alpha == 0;
    case PML_SLOTS_CLASS:
        return pack->classes == pack->slots && classes && (pack->slots > 1 || pack->alpha == 0);
    case PML_SLOTS_GROUP:
        return pack->classes >= pack->slots && classes && (pack->slots > 1 || pack->alpha == 0);
    default:
        return false;
    }
}

bool pml_all_zero(const uint8_t *bytes, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++)
        any |= bytes[i];
    return any == 0;
}

/* Places the sections one after the other; every product is below 2^33 by the limits, so uint64_t is exact. */
static pml_status place_sections(pml_pack *pack, const uint8_t *bytes, size_t size, uint32_t sections)
{
    const uint64_t rows = (uint64_t)pack->slots * pack->prototypes;
    uint64_t sizes[PML_SECTION_COUNT] = {
        8 * (uint64_t)pack->classes,
        rows * pack->features,
        4 * rows,
        (uint64_t)pack->anchors * pack->features,
        4 * (uint64_t)pack->anchors,
        4 * ((uint64_t)pack->slots + 1),
        2 * (uint64_t)pack->anchors * pack->dimensions,
        2 * (uint64_t)pack->slots * pack->dimensions,
        2 * (uint64_t)pack->slots * pack->cells * pack->dimensions,
        4 * (uint64_t)pack->anchors * pack->neighbours,
        2 * rows,
        (uint64_t)pack->sketch * pack->features,
        PML_MODEL_SIZE,
        PML_FRONTS_SIZE,
        0,
        PML_HEAD_SIZE_SIZE,
        0,
        PML_SKETCH_CODE_SIZE,
    };
    uint64_t end = PML_PACK_HEADER;
    for (int i = 0; i < PML_SECTION_COUNT; i++) {
        pack->section[i] = NULL;
        if (!has(sections, i))
            continue;
        uint64_t start = (end + 15) & ~(uint64_t)15;
        if (start + sizes[i] > size)
            return PML_ERROR_PACK_SIZE;
        if (!pml_all_zero(bytes + end, (size_t)(start - end)))
            return PML_ERROR_PACK;
        pack->section[i] = bytes + start;
        end = start + sizes[i];
#if PML_WITH_FRONT
        if (i == PML_SECTION_FRONTS) { /* its records tell the size of the next section */
            pml_status status = pml_fronts_measure(pack, &sizes[PML_SECTION_FRONT_BODIES]);
            if (status != PML_OK)
                return status;
        }
#endif
#if PML_WITH_HEAD
        if (i == PML_SECTION_HEAD_SIZE && !pml_head_measure(pack, &sizes[PML_SECTION_HEAD]))
            return PML_ERROR_PACK;
#endif
        if (i == PML_SECTION_SKETCH_CODE) {
            if (!pml_sketch_measure(pack))
                return PML_ERROR_PACK;
            sizes[PML_SECTION_DIRECTIONS] = (uint64_t)pack->directions * pack->features;
            sizes[PML_SECTION_DIRECTION_NORMS] = sizes[PML_SECTION_DIRECTION_RANGES] = 4 * (uint64_t)pack->directions;
        }
    }
    return end == size ? PML_OK : PML_ERROR_PACK_SIZE;
}

/* A version is the newest thing in a pack; the older things it may have too. Does this build have them? */
static bool version_agrees(uint32_t minor, uint32_t sections)
{
    const bool fronts = has(sections, PML_SECTION_FRONTS), head = has(sections, PML_SECTION_HEAD),
               coded = has(sections, PML_SECTION_SKETCH_CODE);
    const uint32_t newest = coded ? 5 : head ? 4 : fronts ? 3 : 0;
    return (newest > 0 ? minor == newest : minor < 3) && (PML_WITH_FRONT || !fronts) && (PML_WITH_HEAD || !head);
}

pml_status pml_pack_check_header(pml_pack *pack, const uint8_t *bytes, size_t size)
{
    if (size < 8 || memcmp(bytes, "PMPK", 4) != 0 || load_le16(bytes + 4) != 0)
        return PML_ERROR_PACK_VERSION;
    const uint32_t minor = load_le16(bytes + 6);
    if (minor < 1 || minor > 5)
        return PML_ERROR_PACK_VERSION;
    if (size < PML_PACK_HEADER || load_le64(bytes + 40) != size)
        return PML_ERROR_PACK_SIZE;
    pack->bytes = bytes;
    pack->size = size;
    pack->features = load_le32(bytes + 48);
    pack->anchors = load_le32(bytes + 52);
    pack->neighbours = (uint16_t)load_le16(bytes + 56);
    pack->dimensions = (uint16_t)load_le16(bytes + 58);
    pack->slots = (uint16_t)load_le16(bytes + 60);
    pack->slot_kind = (uint16_t)load_le16(bytes + 62);
    pack->cells = load_le32(bytes + 64);
    pack->classes = load_le32(bytes + 68);
    pack->lambda = load_le32(bytes + 72);
    pack->alpha = (uint16_t)load_le16(bytes + 76);
    pack->sketch = (uint16_t)load_le16(bytes + 78);
    uint32_t sections = load_le32(bytes + 80);
    pack->prototypes = load_le32(bytes + 84);
    if (pack->features < 1 || pack->features > PML_FEATURES_MAX || !slots_agree(pack, sections) ||
        !counts_agree(pack, sections) || (minor < 2 && has(sections, PML_SECTION_MODEL)))
        return PML_ERROR_PACK;
    if (!version_agrees(minor, sections))
        return PML_ERROR_PACK_VERSION;
    return place_sections(pack, bytes, size, sections);
}

bool pml_values_sound(const uint8_t *values, size_t count)
{
    uint8_t bad = 0; /* in one byte, and no branch for each: so a compiler takes many at once */
    for (size_t i = 0; i < count; i++)
        bad = (uint8_t)(bad | (values[i] == 0x80));
    return bad == 0;
}

bool pml_rows_sound(const uint8_t *rows, const uint8_t *norms, size_t count, size_t features)
{
    for (; count > 0; count--, rows += features, norms += 4) {
        uint32_t norm2 = 0;
        for (size_t i = 0; i < features; i++) {
            const int16_t value = (int8_t)rows[i];
            norm2 += (uint32_t)(value * value);
        }
        if (!pml_values_sound(rows, features) || !pml_is_inverse_sqrt(load_le32(norms), norm2))
            return false;
    }
    return true;
}

static bool cells_sound(const uint8_t *cells, size_t count, uint32_t of_slot)
{
    for (size_t i = 0; i < count; i++)
        if (load_le16(cells + 2 * i) >= of_slot)
            return false;
    return true;
}

static bool codes_sound(const uint8_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pack_code(codes, i) == -32768)
            return false;
    return true;
}

static bool classes_sound(const pml_pack *pack, const uint8_t *classes)
{
    uint8_t used[PML_SLOTS_MAX / 8] = {0};
    uint32_t distinct = 0;
    for (size_t i = 0; i < pack->classes; i++) {
        const uint8_t *entry = classes + 8 * i;
        uint32_t slot = load_le16(entry + 4);
        if (load_le16(entry + 6) != 0 || slot >= pack->slots || (pack->slot_kind == PML_SLOTS_CLASS && slot != i))
            return false;
        if (i > 0 && (int32_t)load_le32(entry - 8) >= (int32_t)load_le32(entry))
            return false;
        distinct += (used[slot / 8] >> slot % 8 & 1) == 0;
        used[slot / 8] = (uint8_t)(used[slot / 8] | 1u << slot % 8);
    }
    return distinct == pack->slots;
}

static bool starts_sound(const pml_pack *pack, const uint8_t *starts)
{
    for (size_t s = 0; s < pack->slots; s++)
        if (pack_u32(starts, s) >= pack_u32(starts, s + 1))
            return false;
    return pack_u32(starts, 0) == 0 && pack_u32(starts, pack->slots) == pack->anchors;
}

static bool lists_sound(const pml_pack *pack, const uint8_t *lists)
{
    for (size_t i = 0; i < pack->anchors; i++) {
        const uint8_t *list = lists + 4 * i * pack->neighbours;
        for (size_t a = 0; a < pack->neighbours; a++) {
            uint32_t neighbour = pack_u32(list, a);
            if (neighbour >= pack->anchors || neighbour == i)
                return false;
            for (size_t b = 0; b < a; b++)
                if (pack_u32(list, b) == neighbour)
                    return false;
        }
    }
    return true;
}

/* Bytes of one character of UTF-8 (shortest form, no surrogate) that is no control character; else 0. The text ends with
 * a zero byte, which no longer character contains, so nothing behind it is read. */
static size_t character_size(const uint8_t *text)
{
    const uint8_t lead = text[0];
    if (lead < 0x80)
        return lead >= 0x20 && lead != 0x7F;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const uint8_t low = lead == 0xC2 || lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    return size;
}

size_t pml_model_length(const char *name)
{
    size_t length = 0;
    while (name && name[length] != 0) {
        size_t size = character_size((const uint8_t *)name + length);
        length += size;
        if (size == 0 || length > PML_MODEL_MAX)
            return 0;
    }
    return length;
}

static bool model_sound(const uint8_t *name)
{
    if (name[PML_MODEL_MAX] != 0)
        return false;
    size_t length = pml_model_length((const char *)name);
    return length > 0 && pml_all_zero(name + length, PML_MODEL_SIZE - length);
}

/* Sections whose counts are 0 when they are absent need not be asked for. */
pml_status pml_pack_check_content(const pml_pack *pack)
{
    const uint8_t *const *s = pack->section;
    const size_t rows = (size_t)pack->slots * pack->prototypes;
    bool sound =
        (!s[PML_SECTION_CLASSES] || classes_sound(pack, s[PML_SECTION_CLASSES])) &&
        pml_rows_sound(s[PML_SECTION_PROTOTYPES], s[PML_SECTION_PROTOTYPE_NORMS], rows, pack->features) &&
        pml_rows_sound(s[PML_SECTION_ANCHORS], s[PML_SECTION_ANCHOR_NORMS], pack->anchors, pack->features) &&
        (!s[PML_SECTION_ANCHOR_STARTS] || starts_sound(pack, s[PML_SECTION_ANCHOR_STARTS])) &&
        codes_sound(s[PML_SECTION_ANCHOR_CODES], (size_t)pack->anchors * pack->dimensions) &&
        codes_sound(s[PML_SECTION_SLOT_CODES], (size_t)pack->slots * pack->dimensions) &&
        (!s[PML_SECTION_CELL_CODES] ||
         codes_sound(s[PML_SECTION_CELL_CODES], (size_t)pack->slots * pack->cells * pack->dimensions)) &&
        (!s[PML_SECTION_LISTS] || lists_sound(pack, s[PML_SECTION_LISTS])) &&
        cells_sound(s[PML_SECTION_PROTOTYPE_CELLS], rows, pack->cells) &&
        (!s[PML_SECTION_SKETCH] || pml_values_sound(s[PML_SECTION_SKETCH], (size_t)pack->sketch * pack->features)) &&
        (!s[PML_SECTION_SKETCH_CODE] || pml_sketch_code_sound(pack)) &&
        (!s[PML_SECTION_MODEL] || model_sound(s[PML_SECTION_MODEL]));
#if PML_WITH_FRONT
    sound = sound && pml_fronts_sound(pack);
#endif
#if PML_WITH_HEAD
    sound = sound && pml_head_sound(pack);
#endif
    return sound ? PML_OK : PML_ERROR_PACK;
}
