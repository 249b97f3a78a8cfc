/* SPDX-License-Identifier: Apache-2.0
 * The budget in flash, over an emulated NVMC that, like the real one, only clears bits until a page is erased; and the
 * same over one that loses power. */
#include "board.h"
#include "firmware.h"
#include "report.h"

enum { SIZE = 112, OLD_SIZE = 64, READY_AT = 0x400 };

static uint8_t bytes[SIZE];

/* ---- a controller that loses power ---- */

static unsigned steps_left; /* until then */

static volatile uint32_t *powered(unsigned offset);

/* A copy of the store under other names; its page() and registers serve the tests, too. */
#define NVMC_REGISTER(offset) (*powered(offset))
#define board_store store_until_cut
#define board_restore restore_until_cut
int store_until_cut(void *context, const uint8_t *stored, size_t size);
enum board_stored restore_until_cut(uint8_t *stored, size_t *size);
#include "budget_flash_example.c"
#undef board_store
#undef board_restore

/* The store asks after every step whether the controller is ready. Without power there are no registers, and nothing
 * that is written gets into the flash. */
static volatile uint32_t *powered(unsigned offset)
{
    static volatile uint32_t nowhere;
    volatile uint32_t *place = (volatile uint32_t *)(0x4001E000u + offset);
    nowhere = 1;
    if (steps_left == 0)
        return &nowhere;
    if (offset == READY_AT && --steps_left == 0) {
        *(volatile uint32_t *)0x4001E504u = READ_ONLY;
        return &nowhere;
    }
    return place;
}

/* ---- what the tests do ---- */

static void fill(uint8_t value)
{
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(value + i);
}

static bool store(uint8_t value)
{
    fill(value);
    return board_store(NULL, bytes, SIZE) == 0;
}

/* Answers whether it was done before the power was gone. */
static bool store_cut(uint8_t value, unsigned steps)
{
    fill(value);
    steps_left = steps;
    return store_until_cut(NULL, bytes, SIZE) == 0;
}

static bool restores(uint8_t value)
{
    size_t size = SIZE;
    bool same = board_restore(bytes, &size) == BOARD_STORED && size == SIZE;
    for (unsigned i = 0; i < SIZE; i++)
        same = same && bytes[i] == (uint8_t)(value + i);
    return same;
}

static bool finds(enum board_stored what)
{
    size_t size = SIZE;
    return board_restore(bytes, &size) == what;
}

static void make_blank(void)
{
    steps_left = 100;
    for (unsigned i = 0; i < 2; i++)
        erase(page(i));
    set_mode(READ_ONLY);
}

/* Clears bits, as a worn cell may. */
static void clear_bits(volatile uint32_t *word, uint32_t bits)
{
    steps_left = 100;
    set_mode(WRITE);
    write_word(word, *word & ~bits);
    set_mode(READ_ONLY);
}

/* ---- tests ---- */

static void test_turns(void)
{
    report_check(finds(BOARD_BLANK), "new flash is blank");
    report_check(board_store(NULL, bytes, SIZE - 1) != 0, "a budget of another size is refused");
    report_check(store(1) && restores(1), "what is stored comes back");
    report_check(store(2) && restores(2) && store(3) && restores(3), "the newest comes back");
    /* 3 is in page 0, 2 in page 1. */
    clear_bits(page(1)->budget, UINT32_MAX);
    report_check(restores(3), "damage to the content of the older one does not matter");
    report_check(store(4) && restores(4), "the older page is erased before it is written");
    clear_bits(page(1)->budget, UINT32_MAX);
    report_check(finds(BOARD_STORED) && bytes[0] == 0 && bytes[4] == 4 + 4,
                 "a complete record is never passed over, its checksum tells of the damage");
}

/* Cuts the power after every step of storing one more than `before` records, and goes on afterwards. */
static void test_cuts(uint8_t before, const char *name)
{
    size_t good = 0, all = 0;
    for (bool done = false; !done && all < 100;) {
        bool right = true;
        make_blank();
        for (uint8_t value = 1; value <= before; value++)
            right = right && store(value);
        done = store_cut((uint8_t)(before + 1), (unsigned)++all);
        right = right && (done ? restores((uint8_t)(before + 1)) : before > 0 ? restores(before) : finds(BOARD_BLANK));
        good += right && store(77) && restores(77) && store(78) && restores(78);
    }
    report_check(all > SIZE / 4 + 2, "a storing has more steps than words");
    report_share(good, all, name);
}

static void test_damaged_marks(void)
{
    size_t good = 0, all = 0;
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            make_blank();
            bool stored = store(1) && store(2) && store(3);
            volatile uint32_t *mark = bit < 32 ? &page(which)->number : &page(which)->complement;
            if ((*mark & 1u << bit % 32) == 0)
                continue;
            clear_bits(mark, 1u << bit % 32);
            good += stored && finds(BOARD_DAMAGED) && !store(4) && finds(BOARD_DAMAGED);
            all++;
        }
    }
    report_share(good, all, "one wrong bit in a mark is damage, not a reason to take the older record");
    make_blank();
    store(1);
    clear_bits(&page(0)->complement, 0x80);
    report_check(finds(BOARD_DAMAGED), "nor, in the first record, to begin anew");
    make_blank();
    store(1);
    store(2);
    clear_bits(&page(0)->complement, UINT32_MAX);
    clear_bits(&page(1)->complement, UINT32_MAX);
    report_check(finds(BOARD_DAMAGED), "no complete record and not blank is damage");
}

/* Firmware that stored budgets of version 1 was replaced. */
static void test_old_records(void)
{
    size_t size = SIZE, less = OLD_SIZE - 1;
    make_blank();
    steps_left = 100;
    set_mode(WRITE);
    for (unsigned i = 0; i < OLD_WORDS; i++)
        write_word(page(0)->budget + i, i == 1 ? 1 : 0x01010101u * i);
    write_word(&page(0)->complement, ~7u);
    write_word(&page(0)->number, 7);
    set_mode(READ_ONLY);
    report_check(board_restore(bytes, &less) == BOARD_DAMAGED && board_restore(bytes, &size) == BOARD_STORED &&
                     size == OLD_SIZE && bytes[4] == 1 && bytes[OLD_SIZE - 1] == OLD_WORDS - 1,
                 "a record of version 1 comes back as it was");
    report_check(store(9) && restores(9) && page(1)->number == 8, "the next one is of this version, and the newest");
}

int main(void)
{
    test_turns();
    test_cuts(0, "power cut in the first storing leaves blank flash");
    test_cuts(1, "power cut in the second storing leaves the first");
    test_cuts(2, "power cut in the third storing leaves the second");
    test_damaged_marks();
    test_old_records();
    return report_end();
}
