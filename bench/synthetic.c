/* SPDX-License-Identifier: Apache-2.0
 * Makes up rows, packs and clients from sizes and seeds. */
#include "synthetic.h"
#include "common/generator.h"
#include "harness.h"
#include "privatemail_platform.h"
#include "tools/pack/pack_bytes.h"

#include <stdlib.h>
#include <string.h>

enum { CLUSTERS = 64, SPREAD = 1000 };

void synthetic_check(int status)
{
    if (status != PML_OK)
        bench_stop(pml_status_text(status));
}

/* ---- rows ---- */

/* Row i stands around centre i mod CLUSTERS, half as far from it as centres are from the origin. */
float *synthetic_features(size_t rows, size_t columns, uint64_t seed)
{
    struct pml_generator centres = pml_generator_start(1, 0), around = pml_generator_start(seed, 1);
    float *values = bench_allocate(rows * columns * sizeof *values);
    float *places = bench_allocate(CLUSTERS * columns * sizeof *places);
    for (size_t i = 0; i < CLUSTERS * columns; i++)
        places[i] = (float)pml_generator_normal(&centres, SPREAD);
    for (size_t i = 0; i < rows * columns; i++)
        values[i] =
            places[i / columns % CLUSTERS * columns + i % columns] + (float)pml_generator_normal(&around, SPREAD / 2);
    free(places);
    return values;
}

struct pml_rows synthetic_rows(size_t rows, size_t columns, uint64_t seed)
{
    struct pml_generator generator = pml_generator_start(seed, 2);
    struct pml_rows result;
    if (pml_rows_allocate(&result, rows, columns) != 0)
        bench_stop("out of memory. Close other programs, or measure smaller sizes.");
    for (size_t i = 0; i < rows * columns; i += 8) {
        uint64_t word = pml_generator_next(&generator);
        for (size_t j = i; j < i + 8 && j < rows * columns; j++, word >>= 8)
            result.values[j] = (int8_t)((int)(word & 0xFF) - 127 - ((word & 0xFF) == 0xFF));
    }
    for (size_t i = 0; i < rows; i++) {
        result.values[i * columns] = 127; /* every row reaches it */
        pml_rows_measure(&result, i);
    }
    return result;
}

/* ---- pack ---- */

static int16_t *draw_codes(size_t count, uint64_t stream)
{
    struct pml_generator generator = pml_generator_start(1, stream);
    int16_t *codes = bench_allocate(count * sizeof *codes);
    for (size_t i = 0; i < count; i++)
        codes[i] = (int16_t)(pml_generator_normal(&generator, 4000));
    return codes;
}

static uint32_t *make_lists(size_t rows, unsigned neighbours)
{
    uint32_t *lists = bench_allocate(rows * neighbours * sizeof *lists);
    for (size_t i = 0; i < rows; i++)
        for (unsigned j = 0; j < neighbours; j++)
            lists[i * neighbours + j] = (uint32_t)((i + 1 + j) % rows);
    return lists;
}

static void number(uint32_t *values, size_t count, size_t step, size_t below)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (uint32_t)(i * step % below);
}

void synthetic_pack(struct synthetic_pack *pack, const struct pml_rows *rows, int mechanism, unsigned neighbours,
                    size_t slots, unsigned cells)
{
    const bool gaussian = mechanism == PML_GAUSSIAN;
    const struct pml_rows single = pml_rows_slice(rows, 0, 1);
    const size_t prototypes = gaussian ? cells : rows->count / slots, all = slots * prototypes;
    int32_t *labels = bench_allocate(slots * sizeof *labels);
    uint32_t *class_slots = bench_allocate(slots * sizeof *class_slots);
    uint32_t starts[2] = {0, (uint32_t)rows->count}, *of = bench_allocate(all * sizeof *of);
    number(class_slots, slots, 1, slots);
    number(of, all, 1, cells);
    for (size_t i = 0; i < slots; i++)
        labels[i] = (int32_t)i;
    struct pml_slot_map map = {slots > 1 ? slots : 0, slots, labels, class_slots, NULL, starts};
    struct pml_code_book codes = {2, draw_codes(2 * slots, 3), gaussian ? draw_codes(2 * rows->count, 4) : NULL,
                                  draw_codes(2 * slots * cells, 5)};
    uint32_t *lists = gaussian && rows->count > neighbours ? make_lists(rows->count, neighbours) : NULL;
    struct pml_rows sketch = synthetic_rows(64, rows->columns, 9);
    struct pml_pack_parts parts = {
        .slot_kind = slots > 1 ? PML_SLOTS_CLASS : PML_SLOTS_ONE,
        .map = &map,
        .anchors = gaussian ? rows : &single,
        .codes = &codes,
        .prototypes = rows->values,
        .prototype_cells = of,
        .lists = lists,
        .projection = sketch.values,
        .cells = cells,
        .prototype_count = (uint32_t)prototypes,
        .neighbours = neighbours,
        .lambda = 65536,
        .sketch = 64,
        .response_only = !gaussian,
    };
    size_t size;
    if (pml_pack_bytes(&parts, &pack->bytes, &size) != 0)
        bench_stop("out of memory. Close other programs, or measure smaller sizes.");
    uint8_t *page = bench_allocate(size); /* a device maps its pack, so it begins a page; malloc's begin anywhere */
    memcpy(page, pack->bytes, size);
    free(pack->bytes);
    pack->bytes = page;
    synthetic_check(pml_pack_open(&pack->pack, pack->bytes, size, NULL, NULL));
    pml_rows_free(&sketch);
    free(labels);
    free(class_slots);
    free(of);
    free(lists);
    free(codes.slots);
    free(codes.anchors);
    free(codes.cells);
}

void synthetic_pack_free(struct synthetic_pack *pack)
{
    free(pack->bytes);
    pack->bytes = NULL;
}

/* ---- client ---- */

static int store_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

void synthetic_client(struct synthetic_client *client, const pml_pack *pack, pml_mechanism mechanism,
                      const struct pml_kernels *kernels)
{
    static const uint8_t owner[16] = "bench";
    const bool gaussian = mechanism == PML_GAUSSIAN;
    const pml_config config = {.mechanism = mechanism,
                               .epsilon = 4.0,
                               .delta = gaussian ? 1e-5 : 0.0,
                               .entropy = pml_platform_entropy,
                               .persist = store_nothing,
                               .kernels = kernels};
    const size_t size = pml_client_size(pack, &config);
    synthetic_check(pml_client_init(&client->client, bench_allocate(size), size, pack, &config));
    const pml_budget_caps caps = {
        .epsilon_response = 10.0, .epsilon_gaussian = gaussian ? 10.0 : 0.0, .delta = gaussian ? 1e-5 : 0.0};
    synthetic_check(pml_budget_create(&client->full, owner, &caps));
    client->capacity = pml_client_release_size(client->client);
    client->message = bench_allocate(client->capacity);
}

void synthetic_client_free(struct synthetic_client *client)
{
    pml_client_wipe(client->client);
    free(client->client); /* it stands at the start of its memory, which is aligned */
    free(client->message);
}

void synthetic_arm(struct synthetic_client *client)
{
    pml_client_wipe(client->client);
    client->budget = client->full;
    synthetic_check(pml_client_arm(client->client, &client->budget));
}

size_t synthetic_release(struct synthetic_client *client, const float *features, size_t count, int32_t label)
{
    const pml_query query = {.features = features, .count = count, .label = label};
    synthetic_arm(client);
    synthetic_check(pml_client_release(client->client, &query, client->message, client->capacity));
    return client->capacity;
}
