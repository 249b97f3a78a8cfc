/* SPDX-License-Identifier: Apache-2.0
 * Reads the fronts of a pack to be built. In: front files, which may be damaged. */
#include "fronts.h"

#include "files.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The length of a name that a modality may have; 0 when it may not. */
static size_t name_length(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return 0;
    }
    return length <= PML_MODALITY_NAME_MAX ? length : 0;
}

static bool is_named(const struct pml_named_front *front, const char *name, size_t length)
{
    return strlen(front->name) == length && memcmp(front->name, name, length) == 0;
}

static pml_outcome check_name(const struct pml_fronts *fronts, const char *text, size_t length,
                              struct pml_message *message)
{
    if (text[length] != '=' || text[length + 1] == 0)
        return pml_say(message, "'%s' is not NAME=FILE, such as text=words.pmfr.", text);
    if (name_length(text, length) == 0)
        return pml_say(message, "'%.*s' cannot name a modality: use 1 to %u of the characters a to z, 0 to 9, _ and -.",
                       (int)length, text, PML_MODALITY_NAME_MAX);
    for (size_t i = 0; i < fronts->count; i++)
        if (is_named(&fronts->list[i], text, length))
            return pml_say(message, "the modality %s has two fronts. Give one, or name the other differently.",
                           fronts->list[i].name);
    if (fronts->count == PML_MODALITIES_MAX)
        return pml_say(message, "a pack has at most %u modalities. Leave some out.", PML_MODALITIES_MAX);
    return PML_DONE;
}

pml_outcome pml_fronts_refuse(const char *path, const uint8_t *bytes, size_t size, const char *what, const char *maker,
                              struct pml_message *message)
{
    enum { VERSION_AT = 4, LEAST = 8 };
    if (size >= LEAST && memcmp(bytes, "PMFR", VERSION_AT) == 0) {
        const unsigned major = bytes[4] + 256u * bytes[5], minor = bytes[6] + 256u * bytes[7];
        if (major != 0 || minor < 1 || minor > 2) {
            pml_say(message,
                    "%s is a front file of version %u.%u; this program reads 0.1 and 0.2. Use a newer privatemail, or "
                    "make the file with this one (%s).",
                    path, major, minor, maker);
            return PML_OTHER_VERSION;
        }
    }
    pml_say(message, "%s is not a %s, or is damaged or cut short. Make it again with %s.", path, what, maker);
    return PML_DAMAGED;
}

static pml_outcome read_file(struct pml_fronts *fronts, const char *path, struct pml_message *message)
{
    const struct pml_named_front *first = &fronts->list[0];
    struct pml_named_front *added = &fronts->list[fronts->count];
    size_t size = 0;
    const pml_outcome outcome = pml_file_read(path, SIZE_MAX / 2, &fronts->files[fronts->count], &size, message);
    if (outcome != PML_DONE)
        return outcome == PML_NO_MEMORY ? outcome : PML_DAMAGED;
    if (pml_front_open(&added->front, fronts->files[fronts->count], size) != PML_OK)
        return pml_fronts_refuse(path, fronts->files[fronts->count], size, "front", "privatemail train", message);
    if (added->front.labels) {
        pml_say(message, "%s is a head, which guesses labels, and no front. Give it with --head.", path);
        return PML_DAMAGED;
    }
    if (fronts->count > 0 && added->front.outputs != first->front.outputs) {
        pml_say(message,
                "%s maps to %lu features, but the front of %s to %lu. All must end in the same number: train them "
                "together.",
                path, (unsigned long)added->front.outputs, first->name, (unsigned long)first->front.outputs);
        return PML_DAMAGED;
    }
    return PML_DONE;
}

pml_outcome pml_fronts_read(struct pml_fronts *fronts, const char *path, struct pml_message *message)
{
    const pml_outcome outcome = read_file(fronts, path, message);
    if (outcome == PML_DONE) {
        fronts->count++;
    } else {
        free(fronts->files[fronts->count]);
        fronts->files[fronts->count] = NULL;
    }
    return outcome;
}

pml_outcome pml_fronts_add(struct pml_fronts *fronts, const char *text, struct pml_message *message)
{
    const size_t length = strcspn(text, "=");
    pml_outcome outcome = check_name(fronts, text, length, message);
    if (outcome != PML_DONE)
        return outcome;
    memset(&fronts->list[fronts->count], 0, sizeof fronts->list[0]);
    memcpy(fronts->list[fronts->count].name, text, length);
    return pml_fronts_read(fronts, text + length + 1, message);
}

void pml_fronts_free(struct pml_fronts *fronts)
{
    for (size_t i = 0; i < fronts->count; i++)
        free(fronts->files[i]);
    *fronts = (struct pml_fronts){0};
}

static pml_outcome find(const struct pml_fronts *fronts, const char *name, size_t length, size_t *modality,
                        struct pml_message *message)
{
    if (fronts->count == 0)
        return pml_say(message, "the modality %.*s needs a front. Give it with --front %.*s=FILE.", (int)length, name,
                       (int)length, name);
    for (*modality = 0; *modality < fronts->count; ++*modality)
        if (is_named(&fronts->list[*modality], name, length))
            return PML_DONE;
    return pml_say(message, "there is no front of the modality %.*s. Give it with --front, or correct the name.",
                   (int)length, name);
}

pml_outcome pml_fronts_find(const struct pml_fronts *fronts, const char *name, size_t *modality,
                            struct pml_message *message)
{
    *modality = 0;
    return name ? find(fronts, name, strlen(name), modality, message) : PML_DONE;
}

pml_outcome pml_fronts_split(const struct pml_fronts *fronts, const char *text, size_t *modality, const char **file,
                             struct pml_message *message)
{
    const size_t length = strcspn(text, "=");
    if (text[length] != '=' || text[length + 1] == 0)
        return pml_say(message, "'%s' is not NAME=FILE, such as text=words.npy.", text);
    *file = text + length + 1;
    return find(fronts, text, length, modality, message);
}

pml_front pml_fronts_of(const struct pml_fronts *fronts, size_t modality, size_t columns)
{
    if (modality < fronts->count)
        return fronts->list[modality].front;
    return (pml_front){.kind = PML_FRONT_NONE, .inputs = (uint32_t)columns, .outputs = (uint32_t)columns};
}
