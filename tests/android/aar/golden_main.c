/* SPDX-License-Identifier: Apache-2.0
 * Loads the libprivatemail.so of an AAR (its path is the argument) and compares what it makes with the golden vectors.
 * Prints one line a family, 'N of N' last; fails unless all are equal. */
#include "bare_system.h"
#include "privatemail_platform.h"
#include "privatemail_public.h"
#include "shared_object.h"

#include "golden/sketch_vectors.h"
#include "golden/vectors.h"

/* Called by pointers from the library's own symbol table. */
#define FUNCTIONS(X)                                                                                                   \
    X(pml_pack_open)                                                                                                   \
    X(pml_pack_describe)                                                                                               \
    X(pml_budget_create)                                                                                               \
    X(pml_budget_restore)                                                                                              \
    X(pml_budget_remaining)                                                                                            \
    X(pml_client_size)                                                                                                 \
    X(pml_client_init)                                                                                                 \
    X(pml_client_arm)                                                                                                  \
    X(pml_client_release)                                                                                              \
    X(pml_client_release_size)                                                                                         \
    X(pml_release_rows)                                                                                                \
    X(pml_crowd_arm)                                                                                                   \
    X(pml_crowd_begin)                                                                                                 \
    X(pml_crowd_left)                                                                                                  \
    X(pml_crowd_next)                                                                                                  \
    X(pml_ranking_begin)                                                                                               \
    X(pml_ranking_feed)                                                                                                \
    X(pml_ranking_finish)                                                                                              \
    X(pml_platform_entropy)                                                                                            \
    X(pml_platform_kernels)

#define FIELD(name) __typeof__(name) *name;
static struct {
    FUNCTIONS(FIELD)
} library;

static int find_functions(const struct shared_object *object)
{
#define FIND(name)                                                                                                     \
    library.name = (__typeof__(name) *)shared_object_symbol(object, #name);                                            \
    if (!library.name) {                                                                                               \
        bare_print("not exported: " #name "\n");                                                                       \
        return 0;                                                                                                      \
    }
    FUNCTIONS(FIND)
    return 1;
}

static _Alignas(16) uint8_t memory[1 << 16];
static float numbers[4096];

static int scripted_entropy(void *context, uint8_t *out, size_t size)
{
    memcpy(out, context, size);
    return 0;
}

static int keep_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes;
    return size == PML_BUDGET_SIZE ? 0 : -1;
}

static pml_client *make_client(const pml_pack *pack, pml_config *config)
{
    pml_client *client = NULL;
    size_t size = library.pml_client_size(pack, config);
    if (size == 0 || size > sizeof memory)
        return NULL;
    return library.pml_client_init(&client, memory, size, pack, config) == PML_OK ? client : NULL;
}

static int release_is_golden(const struct golden_release *g)
{
    static const uint8_t owner[16] = "owner of budget";
    static uint8_t out[4096];
    pml_pack pack;
    pml_budget budget;
    const pml_budget_caps caps = {.epsilon_response = 1000.0, .epsilon_gaussian = 100.0, .delta = 1e-5};
    const pml_query query = {.features = numbers, .count = g->d, .label = g->label, .modality = g->modality};
    pml_config config = {.mechanism = (pml_mechanism)g->mechanism,
                         .epsilon = g->epsilon,
                         .delta = g->delta,
                         .value_bytes = g->mechanism == PML_GAUSSIAN ? (unsigned)g->value_bytes : 0,
                         .entropy = scripted_entropy,
                         .entropy_context = (void *)(uintptr_t)g->seed,
                         .persist = keep_nothing,
                         .kernels = library.pml_platform_kernels()};
    const struct golden_pack *golden = golden_packs + g->pack;
    if (library.pml_pack_open(&pack, golden->bytes, golden->size, golden->id, NULL) != PML_OK ||
        library.pml_budget_create(&budget, owner, &caps) != PML_OK)
        return 0;
    pml_client *client = make_client(&pack, &config);
    memcpy(numbers, g->bits, g->d * sizeof *numbers);
    if (!client || library.pml_client_arm(client, &budget) != PML_OK ||
        library.pml_client_release(client, &query, out, sizeof out) != PML_OK)
        return 0;
    const size_t size = library.pml_client_release_size(client);
    if (size != g->release_size || memcmp(out, g->release, size) != 0)
        return 0;
    return g->row_count == 0 || (library.pml_release_rows(&pack, out, size, numbers, g->row_count) == PML_OK &&
                                 memcmp(numbers, g->rows, g->row_count * sizeof *numbers) == 0);
}

/* Message by message, with which of them are own. */
static int bundle_is_golden(const struct golden_bundle *g)
{
    static const uint8_t owner[16] = "owner of budget";
    static uint8_t out[64];
    pml_pack pack;
    pml_budget budget;
    const pml_budget_caps caps = {.epsilon_floor = 1000.0, .epsilon_crowd = 16.0, .delta_crowd = 1e-5};
    const pml_crowd policy = {.clients = 1000,
                              .clusters = g->clusters,
                              .copies = g->copies,
                              .own = g->own_messages,
                              .cover = g->cover != 0,
                              .delta0 = 1e-12,
                              .mu = 0.03};
    const pml_query query = {.features = numbers, .count = g->d, .label = g->label, .modality = g->modality};
    const pml_crowd_content content = {g->bits ? &query : NULL, g->kept, g->kept_size};
    pml_config config = {.epsilon = g->epsilon,
                         .entropy = scripted_entropy,
                         .entropy_context = (void *)(uintptr_t)g->seed,
                         .persist = keep_nothing,
                         .crowd = &policy,
                         .kernels = library.pml_platform_kernels()};
    const struct golden_pack *golden = golden_packs + g->pack;
    if (library.pml_pack_open(&pack, golden->bytes, golden->size, golden->id, NULL) != PML_OK ||
        library.pml_budget_create(&budget, owner, &caps) != PML_OK)
        return 0;
    pml_client *client = make_client(&pack, &config);
    if (g->bits)
        memcpy(numbers, g->bits, g->d * sizeof *numbers);
    if (!client || library.pml_crowd_arm(client, &budget, (pml_bundle)g->kind) != PML_OK ||
        library.pml_crowd_begin(client, &content) != PML_OK || library.pml_crowd_left(client) != g->count)
        return 0;
    const size_t size = library.pml_client_release_size(client);
    for (size_t i = 0; i < g->count; i++) {
        unsigned own;
        if (library.pml_crowd_next(client, out, sizeof out, &own) != PML_OK || own != g->own[i] ||
            memcmp(out, g->bytes + i * size, size) != 0)
            return 0;
    }
    return library.pml_crowd_left(client) == 0 && g->size == g->count * size;
}

static int same_matches(const struct golden_answer *g, const pml_match *matches)
{
    for (size_t i = 0; i < g->match_count; i++) {
        const struct golden_match *want = g->matches + i;
        const pml_match *have = matches + i;
        if (want->item != have->item || want->score != have->score || want->label != have->label ||
            want->slot != have->slot || want->payload_offset != have->payload_offset ||
            want->payload_size != have->payload_size)
            return 0;
    }
    return 1;
}

/* In pieces of 7 bytes, as no network does, to cross every boundary. A pack without sketches ranks nothing. */
static int answer_is_golden(const struct golden_answer *g, const uint8_t *bytes, size_t size, bool crowd)
{
    static pml_match matches[PML_MATCHES_MAX];
    pml_pack pack;
    pml_pack_info info;
    pml_answer_summary summary;
    const pml_query query = {.features = numbers, .count = g->d, .label = g->label, .modality = g->modality};
    const pml_ranking_config config = {.matches = matches,
                                       .capacity = g->limit,
                                       .scope = g->all_slots ? PML_ALL_SLOTS : PML_OWN_SLOT,
                                       .crowd = crowd,
                                       .kernels = library.pml_platform_kernels()};
    pml_ranking *ranking;
    if (library.pml_pack_open(&pack, bytes, size, NULL, NULL) != PML_OK ||
        library.pml_pack_describe(&pack, &info) != PML_OK)
        return 0;
    memcpy(numbers, g->bits, g->d * sizeof *numbers);
    pml_status begun = library.pml_ranking_begin(&ranking, memory, sizeof memory, &pack, &query, &config);
    if (info.sketch == 0)
        return begun == PML_ERROR_SECTION;
    if (begun != PML_OK)
        return 0;
    for (size_t at = 0; at < g->size; at += 7)
        if (library.pml_ranking_feed(ranking, g->bytes + at, g->size - at < 7 ? g->size - at : 7) != PML_OK)
            return 0;
    return library.pml_ranking_finish(ranking, &summary) == PML_OK && summary.found == g->match_count &&
           summary.bytes == g->size && same_matches(g, matches);
}

static size_t golden_among(const struct golden_answer *answers, size_t count, bool crowd)
{
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        const struct golden_pack *pack = golden_packs + answers[i].pack;
        good += (size_t)answer_is_golden(answers + i, pack->bytes, pack->size, crowd);
    }
    return good;
}

/* The same of answers of version 2, whose packs are others. */
static size_t golden_among_coded(const struct golden_answer *answers, size_t count, bool crowd)
{
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        const struct golden_coded_pack *pack = golden_coded_packs + answers[i].pack;
        good += (size_t)answer_is_golden(answers + i, pack->bytes, pack->size, crowd);
    }
    return good;
}

static int budget_is_golden(const struct golden_budget *g)
{
    pml_budget budget;
    pml_budget_left left;
    return library.pml_budget_restore(&budget, g->owner, g->bytes, g->size) == PML_OK &&
           library.pml_budget_remaining(&budget, &left) == PML_OK && left.epsilon_cap == g->response_cap / 1048576.0 &&
           left.epsilon_spent == g->response_spent / 1048576.0 && left.mu2_cap == (double)g->gaussian_cap * 0x1p-40 &&
           left.mu2_spent == (double)g->gaussian_spent * 0x1p-40 && left.delta == (double)g->delta * 0x1p-64 &&
           left.floor_cap == g->floor_cap * 0x1p-20 && left.floor_spent == g->floor_spent * 0x1p-20 &&
           left.crowd_mu2_cap == (double)g->crowd_cap * 0x1p-40 &&
           left.crowd_mu2_spent == (double)g->crowd_spent * 0x1p-40 &&
           left.crowd_delta == (double)g->crowd_delta * 0x1p-64 &&
           left.crowd_delta0_cap == (double)g->delta0_cap * 0x1p-64 &&
           left.crowd_delta0_spent == (double)g->delta0_spent * 0x1p-64;
}

/* ---- entropy: the real one; system calls and flags have other numbers on every CPU ---- */

static int old_kernel;          /* knows no getrandom */
static unsigned opened, closed; /* files, by the library */

static long library_syscall(long number, long a, long b, long c)
{
    enum { NOT_IMPLEMENTED = 38 };
    if (!old_kernel)
        return syscall(number, a, b, c);
    *__errno() = NOT_IMPLEMENTED;
    return -1;
}

static int library_open(const char *path, int flags, int mode)
{
    opened++;
    return bare_equal(path, "/dev/urandom") ? open(path, flags, mode) : -1;
}

static int library_close(int file)
{
    closed++;
    return close(file);
}

static int entropy_differs(void)
{
    uint8_t first[32] = {0}, second[32] = {0}, zero[32] = {0};
    return library.pml_platform_entropy(NULL, first, 32) == 0 && library.pml_platform_entropy(NULL, second, 32) == 0 &&
           memcmp(first, second, 32) != 0 && memcmp(first, zero, 32) != 0;
}

static int entropy_works(void)
{
    old_kernel = 0;
    int good = entropy_differs() && opened == 0;
    old_kernel = 1;
    return good && entropy_differs() && opened == 2 && closed == 2;
}

static int report(const char *what, size_t good, size_t all)
{
    bare_print(what);
    bare_print(" ");
    bare_print_number(good);
    bare_print(" of ");
    bare_print_number(all);
    bare_print("\n");
    return good == all && all > 0;
}

/* The Java side's files: not called from C. */
static void not_called(void)
{
    __builtin_trap();
}

int bare_main(const char *path)
{
    static const struct import imports[] = {
        {"__errno", (uintptr_t)__errno},
        {"memcmp", (uintptr_t)memcmp},
        {"memcpy", (uintptr_t)memcpy},
        {"memmove", (uintptr_t)memmove},
        {"memset", (uintptr_t)memset},
        {"getauxval", (uintptr_t)getauxval},
        {"syscall", (uintptr_t)library_syscall},
        {"open", (uintptr_t)library_open},
        {"read", (uintptr_t)read},
        {"close", (uintptr_t)library_close},
        {"flock", (uintptr_t)not_called},
        {"fsync", (uintptr_t)not_called},
        {"openat", (uintptr_t)not_called},
        {"renameat", (uintptr_t)not_called},
        {"strlen", (uintptr_t)not_called},
        {"unlinkat", (uintptr_t)not_called},
        {"write", (uintptr_t)not_called},
        {NULL, 0},
    };
    const struct shared_object *object = path ? shared_object_load(path, imports) : NULL;
    if (!object || !find_functions(object))
        return 2;
    size_t releases = 0, bundles = 0, budgets = 0;
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++)
        releases += (size_t)release_is_golden(golden_releases + i);
    for (size_t i = 0; i < GOLDEN_BUNDLE_COUNT; i++)
        bundles += (size_t)bundle_is_golden(golden_bundles + i);
    for (size_t i = 0; i < GOLDEN_BUDGET_COUNT; i++)
        budgets += (size_t)budget_is_golden(golden_budgets + i);
    int good = report("releases", releases, GOLDEN_RELEASE_COUNT);
    good &= report("answers", golden_among(golden_answers, GOLDEN_ANSWER_COUNT, false), GOLDEN_ANSWER_COUNT);
    good &= report("answers in a crowd", golden_among(golden_crowd_answers, GOLDEN_CROWD_ANSWER_COUNT, true),
                   GOLDEN_CROWD_ANSWER_COUNT);
    good &= report("answers of version 2", golden_among_coded(golden_coded_answers, GOLDEN_CODED_ANSWER_COUNT, false),
                   GOLDEN_CODED_ANSWER_COUNT);
    good &= report("answers of version 2 in a crowd",
                   golden_among_coded(golden_coded_crowd_answers, GOLDEN_CODED_CROWD_ANSWER_COUNT, true),
                   GOLDEN_CODED_CROWD_ANSWER_COUNT);
    good &= report("bundles", bundles, GOLDEN_BUNDLE_COUNT);
    good &= report("budgets", budgets, GOLDEN_BUDGET_COUNT);
    good &= report("entropy", (size_t)entropy_works(), 1);
    return good ? 0 : 1;
}
