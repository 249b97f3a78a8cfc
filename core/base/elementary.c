/* SPDX-License-Identifier: Apache-2.0
 * exp and log. In: a double. Out: a double within PML_ELEMENTARY_ERROR. Branches and divides:
 * of what depends on a query only the Gaussian's weights come here (PRIVACY 1). */
#include "elementary.h"

/* ln 2 in two parts: the first has 37 bits, so its product with an exponent (11 bits) is exact. */
#define LN2_HIGH 0x1.62e42fefap-1
#define LN2_LOW 0x1.cf79abc9e3b3ap-40

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double pml_not_a_number(void)
{
    return from_bits(0x7FF8000000000000u);
}

double pml_infinity(void)
{
    return from_bits(0x7FF0000000000000u);
}

static double power_of_two(int exponent)
{
    return from_bits((uint64_t)(exponent + 1023) << 52);
}

double pml_exp(double x)
{
    if (x < -700.0)
        return 0.0;
    int k = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
    double r = (x - k * LN2_HIGH) - k * LN2_LOW; /* |r| ≤ 0.35 */
    double sum = 1.0;
    for (int n = 14; n > 0; n--) /* r^15/15! < 2^-62 */
        sum = 1.0 + sum * r / n;
    return sum * power_of_two(k);
}

double pml_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int k = (int)(bits >> 52) - 1023;
    double m = from_bits((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    if (m > 1.4142135623730951)
        m *= 0.5, k++;
    double s = (m - 1.0) / (m + 1.0); /* |s| ≤ 0.1716 */
    double square = s * s, sum = 0.0;
    for (int n = 23; n > 1; n -= 2) /* 2 atanh s = 2s(1 + s²/3 + s⁴/5 + …); the next term is below 2^-60 */
        sum = square * (sum + 1.0 / n);
    return k * LN2_HIGH + (k * LN2_LOW + 2.0 * s * sum + 2.0 * s);
}
