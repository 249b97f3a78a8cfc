/* SPDX-License-Identifier: Apache-2.0
 * The budget in the last two pages of an nRF51's flash, written in turn: while one is erased and written the other
 * holds the state before. A record is complete when its two marks, written last, are each other's complement.
 *
 * Power lost in the middle leaves the older record, or blank flash when there was none. That is right: arm has not
 * answered, so nothing was released for the price. A complete record is never passed over, even when its content is
 * damaged: going back to the older one would spend twice. Neither is one whose marks are damaged in a few bits
 * (DAMAGED_BITS), fewer than a cut leaves: then the budget is refused for good. Marks damaged beyond that look like a
 * cut, and one price is given back. A cut in the very microseconds in which a mark changes may look like damage: that
 * refuses what could have been paid, and leaks nothing.
 *
 * The 20,000 erasures that a page stands allow 40,000 releases and refunds. */
#include "board.h"
#include "firmware.h"

#include <stdbool.h>

enum {
    BUDGET_WORDS = 28,
    OLD_WORDS = 16, /* of version 1 (SPEC 4), before the marks: they stand at one place in both */
    PAGE_SIZE = 1024,
    /* A cut between two words leaves 16 or more, as numbers stay below 2^16; one in the middle of an erasure leaves so
     * few once in 100,000 times. */
    DAMAGED_BITS = 4
};

struct record {
    uint32_t budget[OLD_WORDS];
    uint32_t number;     /* of the writing, from 1 */
    uint32_t complement; /* ~number */
    uint32_t rest[BUDGET_WORDS - OLD_WORDS];
};

/* nRF51 Series Reference Manual, chapter NVMC. A test puts a controller in its place that loses power. */
#if !defined(NVMC_REGISTER)
#define NVMC_REGISTER(offset) (*(volatile uint32_t *)(0x4001E000u + (offset)))
#endif
#define NVMC_READY NVMC_REGISTER(0x400)
#define NVMC_CONFIG NVMC_REGISTER(0x504)
#define NVMC_ERASE_PAGE NVMC_REGISTER(0x508)

enum { READ_ONLY = 0, WRITE = 1, ERASE = 2 };

static volatile struct record *page(unsigned index)
{
    return (volatile struct record *)(firmware_flash_end + index * PAGE_SIZE);
}

/* A word of the budget. */
static volatile uint32_t *word_of(volatile struct record *record, unsigned index)
{
    return index < OLD_WORDS ? record->budget + index : record->rest + (index - OLD_WORDS);
}

/* In how many bits the marks are not each other's complement. */
static unsigned wrong_bits(const volatile struct record *record)
{
    unsigned count = 0;
    uint32_t number = record->number;
    for (uint32_t wrong = ~(number ^ record->complement); wrong != 0; wrong &= wrong - 1)
        count++;
    return count;
}

static bool is_complete(const volatile struct record *record)
{
    return wrong_bits(record) == 0;
}

static bool is_damaged(const volatile struct record *record)
{
    unsigned wrong = wrong_bits(record);
    return wrong > 0 && wrong <= DAMAGED_BITS;
}

static bool is_blank(volatile struct record *record)
{
    bool blank = record->number == UINT32_MAX && record->complement == UINT32_MAX;
    for (unsigned i = 0; i < BUDGET_WORDS; i++)
        blank = blank && *word_of(record, i) == UINT32_MAX;
    return blank;
}

/* The complete record written last, or NULL. */
static volatile struct record *newest(void)
{
    volatile struct record *first = page(0), *second = page(1);
    if (!is_complete(first) || !is_complete(second))
        return is_complete(first) ? first : is_complete(second) ? second : NULL;
    return first->number > second->number ? first : second;
}

static void wait(void)
{
    while (!NVMC_READY)
        ;
}

static void set_mode(uint32_t mode)
{
    NVMC_CONFIG = mode;
    wait();
}

static bool write_word(volatile uint32_t *place, uint32_t word)
{
    *place = word;
    wait();
    return *place == word;
}

/* An erasure that is cut may leave any bits: from zeros on hardly ever marks that fit, or almost. The complement goes
 * first, for the reason that it is the first to come. */
static void erase(volatile struct record *record)
{
    if (is_complete(record)) {
        set_mode(WRITE);
        write_word(&record->complement, 0);
        write_word(&record->number, 0);
    }
    set_mode(ERASE);
    NVMC_ERASE_PAGE = (uint32_t)record;
    wait();
}

/* The complement comes first: in a blank number, which is all ones, it is wrong by all the zeros of the true one. */
static bool write_record(volatile struct record *record, const uint8_t *bytes, uint32_t number)
{
    bool written = true;
    erase(record);
    set_mode(WRITE);
    for (unsigned i = 0; i < BUDGET_WORDS && written; i++, bytes += 4)
        written = write_word(word_of(record, i), (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
                                                     (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
    written = written && write_word(&record->complement, ~number) && write_word(&record->number, number);
    set_mode(READ_ONLY);
    return written;
}

int board_store(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    if (size != BUDGET_WORDS * 4 || is_damaged(page(0)) || is_damaged(page(1)))
        return -1;
    volatile struct record *last = newest();
    return write_record(last == page(0) ? page(1) : page(0), bytes, last ? last->number + 1 : 1) ? 0 : -1;
}

enum board_stored board_restore(uint8_t *bytes, size_t *size)
{
    volatile struct record *last = newest();
    if (is_damaged(page(0)) || is_damaged(page(1)))
        return BOARD_DAMAGED;
    if (!last) /* the first record of all goes to page 0: when it was cut short, there is nothing in page 1 */
        return is_blank(page(1)) ? BOARD_BLANK : BOARD_DAMAGED;
    const size_t stored = last->budget[1] == 1 ? OLD_WORDS * 4 : BUDGET_WORDS * 4; /* the version */
    if (*size < stored)
        return BOARD_DAMAGED;
    for (unsigned i = 0; i < stored; i++)
        bytes[i] = (uint8_t)(*word_of(last, i / 4) >> (8 * (i % 4)));
    *size = stored;
    return BOARD_STORED;
}
