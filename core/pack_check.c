/* SPDX-License-Identifier: Apache-2.0
 * Validates a pack (SPEC 1). In: hostile bytes. Out: a view whose every pointer, count and row is sound, or an error.
 * Never reads a byte past `size`. */
#include "exact.h"
#include "pack.h"

static bool has(uint32_t sections, int section)
{
    return (sections >> section & 1) != 0;
}

/* Which sections go together, and which counts they demand. */
static bool counts_agree(const struct pack_view *v, uint32_t sections)
{
    const uint32_t anchors = 0x78; /* sections 3 to 6 */
    bool response = has(sections, PML_SECTION_PROTOTYPES);
    bool gaussian = (sections & anchors) != 0;
    bool codes = has(sections, PML_SECTION_SLOT_CODES);
    if (sections >> PML_SECTION_COUNT != 0 || !(response || gaussian))
        return false;
    if (response != has(sections, PML_SECTION_PROTOTYPE_NORMS) ||
        response != has(sections, PML_SECTION_PROTOTYPE_CELLS) || (gaussian && (sections & anchors) != anchors))
        return false;
    if ((gaussian && !codes) || (has(sections, PML_SECTION_CELL_CODES) && !(codes && response)))
        return false;
    if (has(sections, PML_SECTION_LISTS) && !(gaussian && v->n > v->K))
        return false;
    if (response ? (v->m < 2 || v->m > PML_CELLS_MAX || v->M < v->m || (uint64_t)v->G * v->M > PML_PROTOTYPES_MAX)
                 : (v->m | v->M) != 0)
        return false;
    if (has(sections, PML_SECTION_SKETCH) ? v->L < 8 || v->L > PML_SKETCH_MAX : v->L != 0)
        return false;
    if (gaussian ? (v->n < 1 || v->n > PML_ANCHORS_MAX || v->K < 1 || v->K > PML_NEIGHBOURS_MAX || v->K > v->n ||
                    v->lambda < 1 || v->alpha > 1024)
                 : (v->n | v->K | v->lambda | v->alpha) != 0)
        return false;
    return codes ? v->k >= 1 && v->k <= PML_DIMENSIONS_MAX : v->k == 0;
}

static bool slots_agree(const struct pack_view *v, uint32_t sections)
{
    bool classes = has(sections, PML_SECTION_CLASSES);
    if (v->G < 1 || v->G > PML_SLOTS_MAX || v->C > PML_CLASSES_MAX)
        return false;
    switch (v->kind) {
    case PML_SLOTS_ONE:
        return v->G == 1 && v->C == 0 && !classes && v->alpha == 0;
    case PML_SLOTS_CLASS:
        return v->C == v->G && classes && (v->G > 1 || v->alpha == 0);
    case PML_SLOTS_GROUP:
        return v->C >= v->G && classes && (v->G > 1 || v->alpha == 0);
    default:
        return false;
    }
}

static bool all_zero(const uint8_t *p, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++)
        any |= p[i];
    return any == 0;
}

/* Places the sections one after the other; every product is below 2^33 by the limits, so uint64_t is exact. */
static int place_sections(struct pack_view *v, const uint8_t *bytes, size_t size, uint32_t sections)
{
    const uint64_t rows = (uint64_t)v->G * v->M;
    const uint64_t sizes[PML_SECTION_COUNT] = {
        8 * (uint64_t)v->C,
        rows * v->d,
        4 * rows,
        (uint64_t)v->n * v->d,
        4 * (uint64_t)v->n,
        4 * ((uint64_t)v->G + 1),
        2 * (uint64_t)v->n * v->k,
        2 * (uint64_t)v->G * v->k,
        2 * (uint64_t)v->G * v->m * v->k,
        4 * (uint64_t)v->n * v->K,
        2 * rows,
        (uint64_t)v->L * v->d,
        PML_MODEL_SIZE,
    };
    uint64_t end = PML_PACK_HEADER;
    for (int i = 0; i < PML_SECTION_COUNT; i++) {
        v->section[i] = NULL;
        if (!has(sections, i))
            continue;
        uint64_t start = (end + 15) & ~(uint64_t)15;
        if (start + sizes[i] > size)
            return PML_ERROR_PACK_SIZE;
        if (!all_zero(bytes + end, (size_t)(start - end)))
            return PML_ERROR_PACK;
        v->section[i] = bytes + start;
        end = start + sizes[i];
    }
    return end == size ? PML_OK : PML_ERROR_PACK_SIZE;
}

int pml_pack_check_header(struct pack_view *v, const uint8_t *bytes, size_t size)
{
    if (size < 8 || memcmp(bytes, "PMPK", 4) != 0 || load_le16(bytes + 4) != 0)
        return PML_ERROR_PACK_VERSION;
    const uint32_t minor = load_le16(bytes + 6);
    if (minor < 1 || minor > 2)
        return PML_ERROR_PACK_VERSION;
    if (size < PML_PACK_HEADER || load_le64(bytes + 40) != size)
        return PML_ERROR_PACK_SIZE;
    v->bytes = bytes;
    v->size = size;
    v->d = load_le32(bytes + 48);
    v->n = load_le32(bytes + 52);
    v->K = (uint16_t)load_le16(bytes + 56);
    v->k = (uint16_t)load_le16(bytes + 58);
    v->G = (uint16_t)load_le16(bytes + 60);
    v->kind = (uint16_t)load_le16(bytes + 62);
    v->m = load_le32(bytes + 64);
    v->C = load_le32(bytes + 68);
    v->lambda = load_le32(bytes + 72);
    v->alpha = (uint16_t)load_le16(bytes + 76);
    v->L = (uint16_t)load_le16(bytes + 78);
    uint32_t sections = load_le32(bytes + 80);
    v->M = load_le32(bytes + 84);
    if (v->d < 1 || v->d > PML_FEATURES_MAX || !slots_agree(v, sections) || !counts_agree(v, sections) ||
        (minor < 2 && has(sections, PML_SECTION_MODEL)))
        return PML_ERROR_PACK;
    return place_sections(v, bytes, size, sections);
}

static bool values_sound(const uint8_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] == 0x80)
            return false;
    return true;
}

static bool rows_sound(const uint8_t *rows, const uint8_t *norms, size_t count, size_t d)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t inverse = pml_inverse_norm((const int8_t *)rows + i * d, d);
        if (inverse == 0 || inverse != pack_u32(norms, i))
            return false;
    }
    return values_sound(rows, count * d);
}

static bool cells_sound(const uint8_t *cells, size_t count, uint32_t m)
{
    for (size_t i = 0; i < count; i++)
        if (load_le16(cells + 2 * i) >= m)
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

static bool classes_sound(const struct pack_view *v, const uint8_t *classes)
{
    uint8_t used[PML_SLOTS_MAX / 8] = {0};
    uint32_t distinct = 0;
    for (size_t i = 0; i < v->C; i++) {
        const uint8_t *entry = classes + 8 * i;
        uint32_t slot = load_le16(entry + 4);
        if (load_le16(entry + 6) != 0 || slot >= v->G || (v->kind == PML_SLOTS_CLASS && slot != i))
            return false;
        if (i > 0 && (int32_t)load_le32(entry - 8) >= (int32_t)load_le32(entry))
            return false;
        distinct += (used[slot / 8] >> slot % 8 & 1) == 0;
        used[slot / 8] = (uint8_t)(used[slot / 8] | 1u << slot % 8);
    }
    return distinct == v->G;
}

static bool starts_sound(const struct pack_view *v, const uint8_t *starts)
{
    for (size_t s = 0; s < v->G; s++)
        if (pack_u32(starts, s) >= pack_u32(starts, s + 1))
            return false;
    return pack_u32(starts, 0) == 0 && pack_u32(starts, v->G) == v->n;
}

static bool lists_sound(const struct pack_view *v, const uint8_t *lists)
{
    for (size_t i = 0; i < v->n; i++) {
        const uint8_t *list = lists + 4 * i * v->K;
        for (size_t a = 0; a < v->K; a++) {
            uint32_t neighbour = pack_u32(list, a);
            if (neighbour >= v->n || neighbour == i)
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
    return length > 0 && all_zero(name + length, PML_MODEL_SIZE - length);
}

/* Sections whose counts are 0 when they are absent need not be asked for. */
int pml_pack_check_content(const struct pack_view *v)
{
    const uint8_t *const *s = v->section;
    const size_t rows = (size_t)v->G * v->M;
    bool sound = (!s[PML_SECTION_CLASSES] || classes_sound(v, s[PML_SECTION_CLASSES])) &&
                 rows_sound(s[PML_SECTION_PROTOTYPES], s[PML_SECTION_PROTOTYPE_NORMS], rows, v->d) &&
                 rows_sound(s[PML_SECTION_ANCHORS], s[PML_SECTION_ANCHOR_NORMS], v->n, v->d) &&
                 (!s[PML_SECTION_ANCHOR_STARTS] || starts_sound(v, s[PML_SECTION_ANCHOR_STARTS])) &&
                 codes_sound(s[PML_SECTION_ANCHOR_CODES], (size_t)v->n * v->k) &&
                 codes_sound(s[PML_SECTION_SLOT_CODES], (size_t)v->G * v->k) &&
                 (!s[PML_SECTION_CELL_CODES] || codes_sound(s[PML_SECTION_CELL_CODES], (size_t)v->G * v->m * v->k)) &&
                 (!s[PML_SECTION_LISTS] || lists_sound(v, s[PML_SECTION_LISTS])) &&
                 cells_sound(s[PML_SECTION_PROTOTYPE_CELLS], rows, v->m) &&
                 values_sound(s[PML_SECTION_SKETCH], (size_t)v->L * v->d) &&
                 (!s[PML_SECTION_MODEL] || model_sound(s[PML_SECTION_MODEL]));
    return sound ? PML_OK : PML_ERROR_PACK;
}
