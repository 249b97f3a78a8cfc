/* SPDX-License-Identifier: Apache-2.0
 * Mechanism: the fakes of a bundle and its order (SPEC 5.16; PRIVACY.md, section 11). In: random words, before the query
 * is known. Out: clusters, then message after message. The query's symbols are carried along, and nothing looks at them. */
#include "bundle.h"

/*@ requires \valid(bundle);
    terminates \true;
    assigns *bundle;
    ensures bundle->total == 0;
    ensures \forall integer i; 0 <= i < BUNDLE_ENTRIES ==> bundle->symbol[i] == 0 && bundle->left[i] == 0; */
static void clear(struct bundle *bundle)
{
    memset(bundle, 0, sizeof *bundle);
}

void pml_bundle_draw(pml_random *random, uint32_t rate, uint32_t symbols, uint32_t copies, struct bundle *bundle)
{
    uint32_t clusters = 0;
    clear(bundle);
    bundle->symbol[0] = pml_random_below(random, symbols); /* the cover */
    //@ assert nothing: waiting(bundle, PML_CROWD_OWN_MAX) == waiting(bundle, 0) == 0;
    /*@ loop assigns part, clusters, *random;
        loop invariant 0 <= part <= 8 && usable(random);
        loop variant 8 - part; */
    for (int part = 0; part < 8; part++)
        clusters += pml_random_poisson(random, rate);
    if (clusters > PML_CROWD_CLUSTERS_CUT)
        clusters = PML_CROWD_CLUSTERS_CUT;
    /*@ loop assigns i, *random, bundle->symbol[0 .. BUNDLE_ENTRIES - 1], bundle->left[0 .. BUNDLE_ENTRIES - 1],
          bundle->total;
        loop invariant PML_CROWD_OWN_MAX <= i <= PML_CROWD_OWN_MAX + clusters && usable(random);
        loop invariant \forall integer k; 0 <= k < BUNDLE_ENTRIES ==> bundle->symbol[k] < symbols;
        loop invariant \forall integer k; 0 <= k < PML_CROWD_OWN_MAX ==> bundle->left[k] == 0;
        loop invariant \forall integer k; PML_CROWD_OWN_MAX <= k < i ==> bundle->left[k] <= copies;
        loop invariant \forall integer k; i <= k < BUNDLE_ENTRIES ==> bundle->left[k] == 0;
        loop invariant bundle->total == waiting(bundle, i);
        loop invariant 0 <= bundle->total <= PML_CROWD_COPIES_MAX * (i - PML_CROWD_OWN_MAX);
        loop variant PML_CROWD_OWN_MAX + clusters - i; */
    for (uint32_t i = PML_CROWD_OWN_MAX; i < PML_CROWD_OWN_MAX + clusters; i++) {
        bundle->symbol[i] = pml_random_below(random, symbols);
        bundle->left[i] = (uint8_t)(1 + pml_random_below(random, copies));
        //@ assert size: 1 <= bundle->left[i] <= copies;
        bundle->total += bundle->left[i];
        //@ assert others: waiting(bundle, i) == waiting{LoopCurrent}(bundle, i);
        //@ assert next: waiting(bundle, i + 1) == waiting(bundle, i) + bundle->left[i];
    }
}

void pml_bundle_own(struct bundle *bundle, uint32_t own)
{
    /*@ loop assigns i, bundle->left[0 .. own - 1];
        loop invariant 0 <= i <= own && waiting(bundle, BUNDLE_ENTRIES) == bundle->total + i;
        loop invariant \forall integer k; 0 <= k < BUNDLE_ENTRIES ==>
          bundle->left[k] == (k < i ? 1 : \at(bundle->left[k], Pre));
        loop variant own - i; */
    for (uint32_t i = 0; i < own; i++)
        bundle->left[i] = 1;
    bundle->total += own;
}

/* By masks over all entries: the time does not tell an own message from a fake. */
uint32_t pml_bundle_pick(pml_random *random, struct bundle *bundle, unsigned *own)
{
    const uint32_t chosen = pml_random_below(random, bundle->total);
    uint32_t symbol = 0, sum = 0, before = UINT32_MAX;
    *own = 0;
    //@ assert drawn: chosen == last_word(random) % \at(bundle->total, Pre);
    //@ assert fair: last_word(random) < 0x100000000 - 0x100000000 % \at(bundle->total, Pre);
    /*@ loop assigns i, symbol, sum, before, *own, bundle->left[0 .. BUNDLE_ENTRIES - 1];
        loop invariant 0 <= i <= BUNDLE_ENTRIES;
        loop invariant drawn: last_word(random) == \at(last_word(random), LoopEntry);
        loop invariant sum == waiting{Pre}(bundle, i) && 0 <= sum <= 255 * i;
        loop invariant before == (chosen < sum ? 0 : UINT32_MAX);
        loop invariant chosen >= sum ==> symbol == 0 && *own == 0;
        loop invariant picked: \forall integer k; 0 <= k < i && taken{Pre}(bundle, chosen, k) == 1 ==>
          symbol == bundle->symbol[k] && *own == own_of(k);
        loop invariant later: \forall integer k; i <= k < BUNDLE_ENTRIES ==> bundle->left[k] == \at(bundle->left[k], Pre);
        loop invariant one_less: \forall integer k; 0 <= k < i ==>
          bundle->left[k] == \at(bundle->left[k], Pre) - taken{Pre}(bundle, chosen, k);
        loop invariant passed: \forall integer k; 0 <= k < i ==> waiting{Pre}(bundle, k + 1) <= sum;
        loop invariant waiting(bundle, i) == sum - (chosen < sum ? 1 : 0);
        loop variant BUNDLE_ENTRIES - i; */
    for (uint32_t i = 0; i < BUNDLE_ENTRIES; i++) {
        sum += bundle->left[i];
        const uint32_t here = before & (uint32_t)mask_less(chosen, sum);
        //@ assert sum: sum == waiting{Pre}(bundle, i + 1) && \at(sum, LoopCurrent) <= sum;
        //@ assert here: here == UINT32_MAX * taken{Pre}(bundle, chosen, i);
        before &= ~here;
        symbol |= bundle->symbol[i] & here;
        *own |= (i < PML_CROWD_OWN_MAX ? i + 1 : 0) & here;
        //@ assert not_here: here == 0 ==> symbol == \at(symbol, LoopCurrent) && *own == \at(*own, LoopCurrent);
        //@ assert now: here != 0 ==> symbol == bundle->symbol[i] && *own == own_of(i);
        /*@ assert earlier: \forall integer k; 0 <= k < i && taken{Pre}(bundle, chosen, k) == 1 ==>
              here == 0 && symbol == bundle->symbol[k] && *own == own_of(k); */
        bundle->left[i] = (uint8_t)(bundle->left[i] + here); /* here is 0 or −1 */
        //@ assert others: waiting(bundle, i) == waiting{LoopCurrent}(bundle, i);
    }
    //@ assert still: last_word(random) < 0x100000000 - 0x100000000 % \at(bundle->total, Pre);
    bundle->total--;
    /*@ assert less: \forall integer k; 0 <= k < BUNDLE_ENTRIES ==>
          bundle->left[k] == \at(bundle->left[k], Pre) - taken{Pre}(bundle, chosen, k); */
    return symbol;
}
