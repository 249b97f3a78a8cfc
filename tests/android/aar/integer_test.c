/* SPDX-License-Identifier: Apache-2.0
 * The helpers of android/aar/integer_helpers.c against what defines them: n = q·d + r, and rounding done in integers;
 * and against the compiler's operators. On the 32-bit CPUs those are the helpers themselves, under the names and with
 * the calling convention that the compiler expects; on the others they are the CPU's own. */
#include "../../../android/aar/integer_helpers.c"

#include "bare_system.h"

enum { EDGES = 4 * 64, RANDOM = 50000 };

static size_t failures;

static void check(int good, const char *what)
{
    if (!good && failures++ < 10) {
        bare_print("wrong: ");
        bare_print(what);
        bare_print("\n");
    }
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The binary64 nearest to value, ties to even. */
static uint64_t rounded(uint64_t value)
{
    if (value == 0)
        return 0;
    int top = 63;
    while (value >> top == 0)
        top--;
    uint64_t mantissa = top <= 52 ? value << (52 - top) : value >> (top - 52);
    if (top > 52) {
        uint64_t cut = value & (((uint64_t)1 << (top - 52)) - 1), half = (uint64_t)1 << (top - 53);
        mantissa += cut > half || (cut == half && (mantissa & 1));
    }
    /* A mantissa that was rounded up to 2^53 carries into the exponent, as it should. */
    return ((uint64_t)(1022 + top) << 52) + mantissa;
}

static void check_division(uint64_t n, uint64_t d)
{
    if (d == 0)
        return;
    uint64_t rest, quotient = divide(n, d, &rest);
    check(rest < d && quotient * d + rest == n, "unsigned division");
    volatile uint64_t top = n, bottom = d;
    check(top / bottom == quotient && top % bottom == rest, "unsigned operators");

    if (n >> 32 == 0 && d >> 32 == 0) {
        volatile uint32_t short_top = (uint32_t)n, short_bottom = (uint32_t)d;
        check(short_top / short_bottom == quotient && short_top % short_bottom == rest,
              "unsigned operators of 32 bits");
#if defined(__arm__)
        check(__aeabi_uidivmod(short_top, short_bottom) == (rest << 32 | quotient), "both results at once");
#endif
    }

    int64_t a = (int64_t)n, b = (int64_t)d;
    if (a == INT64_MIN && b == -1)
        return; /* undefined in C */
    int64_t signed_rest, signed_quotient = divide_signed(a, b, &signed_rest);
    check((uint64_t)signed_quotient * d + (uint64_t)signed_rest == n && magnitude(signed_rest) < magnitude(b) &&
              (signed_rest == 0 || (signed_rest < 0) == (a < 0)),
          "signed division");
    volatile int64_t signed_top = a, signed_bottom = b;
    check(signed_top / signed_bottom == signed_quotient && signed_top % signed_bottom == signed_rest,
          "signed operators");
}

static void check_conversion(uint64_t value)
{
    volatile uint64_t plain = value;
    volatile int64_t with_a_sign = (int64_t)value;
    uint64_t sign = value >> 63 << 63;
    check(bits_of(double_of_unsigned(value)) == rounded(value), "unsigned to double");
    check(bits_of((double)plain) == rounded(value), "unsigned to double, operator");
    check(bits_of(double_of_signed((int64_t)value)) == (rounded(magnitude((int64_t)value)) | sign), "signed to double");
    check(bits_of((double)with_a_sign) == (rounded(magnitude((int64_t)value)) | sign), "signed to double, operator");

    /* And back: every double from an integer of up to 53 bits, and with a fraction. */
    for (int shift = 0; shift < 64; shift += 7) {
        uint64_t whole = value >> 11;
        double scale = shift < 11 ? (double)(1 << shift) : 1.0 / (double)((uint64_t)1 << (shift - 11));
        uint64_t want = shift < 11 ? whole << shift : whole >> (shift - 11);
        volatile double exact = (double)(int64_t)whole * scale;
        check(unsigned_of_double(exact) == want, "double to unsigned");
        check((uint64_t)exact == want, "double to unsigned, operator");
        if (want >> 63)
            continue;
        volatile double negative = -exact;
        check(signed_of_double(exact) == (int64_t)want, "double to signed");
        check(signed_of_double(negative) == -(int64_t)want, "negative double to signed");
        check((int64_t)exact == (int64_t)want && (int64_t)negative == -(int64_t)want, "double to signed, operator");
    }
}

/* 2^i − 1, 2^i, 2^i + 1 and −2^i of every i. */
static uint64_t edge(unsigned index)
{
    uint64_t power = (uint64_t)1 << (index / 4);
    switch (index % 4) {
    case 0:
        return power - 1;
    case 1:
        return power;
    case 2:
        return power + 1;
    default:
        return 0 - power;
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

int bare_main(const char *argument)
{
    (void)argument;
    size_t cases = 0;
    for (unsigned i = 0; i < EDGES; i++) {
        check_conversion(edge(i));
        for (unsigned j = 0; j < EDGES; j++, cases++)
            check_division(edge(i), edge(j));
    }
    uint64_t state = 1;
    for (unsigned i = 0; i < RANDOM; i++, cases++) {
        uint64_t n = next_random(&state), d = next_random(&state), lengths = next_random(&state);
        check_division(n >> (lengths & 63), d >> (lengths >> 6 & 63)); /* of every length */
        check_conversion(n >> (lengths & 63));
    }
    bare_print_number(cases);
    bare_print(" cases, ");
    bare_print_number(failures);
    bare_print(" wrong\n");
    return failures == 0 ? 0 : 1;
}
