/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_object.h"
#include "bare_system.h"

/* ---- ELF, for this CPU's class --------------------------------------------------------------------------------- */

typedef uintptr_t word;

struct header {
    uint8_t identification[16];
    uint16_t type, machine;
    uint32_t version;
    word entry, segments, sections;
    uint32_t flags;
    uint16_t size, segment_size, segment_count, section_size, section_count, names;
};

struct segment {
    uint32_t type;
#if UINTPTR_MAX > 0xFFFFFFFFu
    uint32_t flags;
#endif
    word offset, address, physical, file_size, memory_size;
#if UINTPTR_MAX <= 0xFFFFFFFFu
    uint32_t flags;
#endif
    word alignment;
};

struct entry {
    word tag, value;
};

struct symbol {
#if UINTPTR_MAX > 0xFFFFFFFFu
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    word value, size;
#else
    uint32_t name;
    word value, size;
    uint8_t info, other;
    uint16_t section;
#endif
};

enum { SEGMENT_LOAD = 1, SEGMENT_DYNAMIC = 2, SEGMENT_RELRO = 0x6474e552 };
enum {
    TAG_PLT_SIZE = 2,
    TAG_STRINGS = 5,
    TAG_SYMBOLS = 6,
    TAG_RELA = 7,
    TAG_RELA_SIZE = 8,
    TAG_REL = 17,
    TAG_REL_SIZE = 18,
    TAG_PLT = 23,
    TAG_COUNT = 32,
    TAG_GNU_HASH = 0x6ffffef5
};

#if defined(__aarch64__)
enum { RELOCATE_ABSOLUTE = 257, RELOCATE_DATA = 1025, RELOCATE_SLOT = 1026, RELOCATE_BASE = 1027, MACHINE = 183 };
#elif defined(__arm__)
enum { RELOCATE_ABSOLUTE = 2, RELOCATE_DATA = 21, RELOCATE_SLOT = 22, RELOCATE_BASE = 23, MACHINE = 40 };
#else
enum { RELOCATE_ABSOLUTE = 1, RELOCATE_DATA = 6, RELOCATE_SLOT = 7, RELOCATE_BASE = 8 };
#if defined(__x86_64__)
enum { MACHINE = 62 };
#else
enum { MACHINE = 3 };
#endif
#endif

/* 64-bit CPUs have relocations with an addend; in those of 32-bit ones it stands where it is to be added. */
#if UINTPTR_MAX > 0xFFFFFFFFu
struct relocation {
    word place, info, addend;
};
enum { TAG_RELOCATIONS = TAG_RELA, TAG_RELOCATIONS_SIZE = TAG_RELA_SIZE, SYMBOL_SHIFT = 32 };
#define RELOCATION_TYPE 0xFFFFFFFFu
#else
struct relocation {
    word place, info;
};
enum { TAG_RELOCATIONS = TAG_REL, TAG_RELOCATIONS_SIZE = TAG_REL_SIZE, SYMBOL_SHIFT = 8 };
#define RELOCATION_TYPE 0xFFu
#endif

#define PAGE ((word)16384)
#define DOWN(x) ((x) & ~(PAGE - 1))
#define UP(x) DOWN((x) + PAGE - 1)

struct shared_object {
    uint8_t *base;
    const struct symbol *symbols;
    const char *strings;
    const uint32_t *hash;
};

static struct shared_object loaded;

static const void *complain(const char *what, const char *name)
{
    bare_print("loader: ");
    bare_print(what);
    bare_print(name);
    bare_print("\n");
    return NULL;
}

/* ---- segments -------------------------------------------------------------------------------------------------- */

static int protection_of(uint32_t flags)
{
    return (flags & 4 ? BARE_READ : 0) | (flags & 2 ? BARE_WRITE : 0) | (flags & 1 ? BARE_EXECUTE : 0);
}

static int failed(long address)
{
    return (unsigned long)address > (unsigned long)-4096;
}

/* Aligned to our pages: the kernel's own may be smaller. */
static uint8_t *reserve(size_t size)
{
    long address = bare_map(NULL, size + PAGE, 0, BARE_PRIVATE | BARE_ANONYMOUS, -1, 0);
    return failed(address) ? NULL : (uint8_t *)UP((word)address);
}

static int map_segment(long file, const struct segment *segment)
{
    word start = DOWN(segment->address), shift = segment->address - start;
    uint8_t *at = loaded.base + start;
    size_t bytes = (size_t)(shift + segment->file_size), all = (size_t)UP(shift + segment->memory_size);
    int protection = protection_of(segment->flags);
    if ((segment->offset - segment->address) % PAGE != 0)
        return 0;
    if (failed(bare_map(at, all, protection, BARE_PRIVATE | BARE_FIXED | BARE_ANONYMOUS, -1, 0)))
        return 0;
    if (segment->file_size > 0 &&
        failed(bare_map(at, bytes, protection, BARE_PRIVATE | BARE_FIXED, file, (size_t)DOWN(segment->offset))))
        return 0;
    /* What follows the file's part within its last page is not the segment's. */
    if (segment->memory_size > segment->file_size)
        memset(at + bytes, 0, (size_t)(segment->memory_size - segment->file_size));
    return 1;
}

/* ---- symbols --------------------------------------------------------------------------------------------------- */

void *shared_object_symbol(const struct shared_object *object, const char *name)
{
    const uint32_t *table = object->hash;
    uint32_t buckets = table[0], first = table[1], words = table[2];
    const uint32_t *bucket = table + 4 + words * (sizeof(word) / 4), *chain = bucket + buckets;
    uint32_t hash = 5381;
    for (const char *c = name; *c != 0; c++)
        hash = hash * 33 + (uint8_t)*c;
    uint32_t index = bucket[hash % buckets];
    if (index < first)
        return NULL;
    for (;; index++) {
        if ((chain[index - first] | 1) == (hash | 1) && bare_equal(name, object->strings + object->symbols[index].name))
            return object->base + object->symbols[index].value;
        if (chain[index - first] & 1)
            return NULL;
    }
}

static word address_of(const struct symbol *symbol, const struct import *imports)
{
    const char *name = loaded.strings + symbol->name;
    if (symbol->section != 0)
        return (word)loaded.base + symbol->value;
    for (; imports->name; imports++)
        if (bare_equal(imports->name, name))
            return imports->address;
    complain("nobody has the symbol ", name);
    return 0;
}

static int relocate(const struct relocation *relocations, size_t bytes, const struct import *imports)
{
    for (size_t i = 0; i < bytes / sizeof *relocations; i++) {
        const struct relocation *r = relocations + i;
        word *place = (word *)(loaded.base + r->place);
#if UINTPTR_MAX > 0xFFFFFFFFu
        word addend = r->addend;
#else
        word addend = *place;
#endif
        word type = r->info & RELOCATION_TYPE, target = 0;
        if (type != RELOCATE_BASE) {
            target = address_of(loaded.symbols + (r->info >> SYMBOL_SHIFT), imports);
            if (target == 0)
                return 0;
        }
        if (type == RELOCATE_BASE)
            *place = (word)loaded.base + addend;
        else if (type == RELOCATE_ABSOLUTE)
            *place = target + addend;
        else if (type == RELOCATE_DATA || type == RELOCATE_SLOT)
            *place = target;
        else
            return complain("unknown relocation", "") != NULL;
    }
    return 1;
}

static int link_up(const struct entry *dynamic, const struct import *imports)
{
    word tags[TAG_COUNT] = {0};
    for (const struct entry *entry = dynamic; entry->tag != 0; entry++) {
        if (entry->tag < TAG_COUNT)
            tags[entry->tag] = entry->value;
        if (entry->tag == TAG_GNU_HASH)
            loaded.hash = (const uint32_t *)(loaded.base + entry->value);
    }
    loaded.symbols = (const struct symbol *)(loaded.base + tags[TAG_SYMBOLS]);
    loaded.strings = (const char *)(loaded.base + tags[TAG_STRINGS]);
    return loaded.hash != NULL &&
           relocate((const struct relocation *)(loaded.base + tags[TAG_RELOCATIONS]), tags[TAG_RELOCATIONS_SIZE],
                    imports) &&
           relocate((const struct relocation *)(loaded.base + tags[TAG_PLT]), tags[TAG_PLT_SIZE], imports);
}

const struct shared_object *shared_object_load(const char *path, const struct import *imports)
{
    const struct entry *dynamic = NULL;
    const struct segment *relro = NULL;
    word end = 0;
    long file = bare_open(path);
    if (file < 0)
        return complain("cannot open ", path);
    long start = bare_map(NULL, 4096, BARE_READ, BARE_PRIVATE, file, 0);
    if (failed(start))
        return complain("cannot map ", path);
    const struct header *header = (const struct header *)start;
    const struct segment *segments = (const struct segment *)(start + (long)header->segments);
    if (header->machine != MACHINE || header->segment_size != sizeof *segments)
        return complain("made for another CPU: ", path);
    for (unsigned i = 0; i < header->segment_count; i++)
        if (segments[i].type == SEGMENT_LOAD)
            end = segments[i].address + segments[i].memory_size;
    loaded.base = reserve((size_t)UP(end));
    if (!loaded.base)
        return complain("no memory for ", path);
    for (unsigned i = 0; i < header->segment_count; i++) {
        if (segments[i].type == SEGMENT_LOAD && !map_segment(file, segments + i))
            return complain("cannot map a segment of ", path);
        if (segments[i].type == SEGMENT_DYNAMIC)
            dynamic = (const struct entry *)(loaded.base + segments[i].address);
        if (segments[i].type == SEGMENT_RELRO)
            relro = segments + i;
    }
    if (!dynamic || !relro || !link_up(dynamic, imports))
        return complain("cannot link ", path);
    word from = DOWN(relro->address);
    if (bare_protect(loaded.base + from, (size_t)(UP(relro->address + relro->memory_size) - from), BARE_READ) != 0)
        return complain("cannot protect ", path);
    return &loaded;
}
