/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_BUNDLE_H
#define PML_BUNDLE_H
#include "base/random.h"

#define BUNDLE_ENTRIES (PML_CROWD_OWN_MAX + PML_CROWD_CLUSTERS_CUT)

/* What is still to be sent: symbols, and how often each. First the own messages, then the clusters. */
struct bundle {
    uint32_t total; /* of `left` */
    uint32_t symbol[BUNDLE_ENTRIES];
    uint8_t left[BUNDLE_ENTRIES];
};

/*@ axiomatic bundles {
      // the messages of the first n entries that are still to be sent
      logic integer waiting{L}(struct bundle *bundle, integer n) reads bundle->left[0 .. n - 1];
      axiom waiting_none{L}: \forall struct bundle *bundle; waiting(bundle, 0) == 0;
      axiom waiting_next{L}: \forall struct bundle *bundle, integer n, next; 0 <= n && n < next <= n + 1 ==>
        waiting(bundle, next) == waiting(bundle, n) + bundle->left[n];
      // by induction on n: proofs/coq/Waiting.v
      axiom waiting_same{L, M}: \forall struct bundle *bundle, integer n;
        (\forall integer k; 0 <= k < n ==> \at(bundle->left[k], L) == \at(bundle->left[k], M)) ==>
        waiting{L}(bundle, n) == waiting{M}(bundle, n);
      axiom waiting_but{L, M}: \forall struct bundle *bundle, integer n, i; 0 <= i < n &&
        (\forall integer k; 0 <= k < n && k != i ==> \at(bundle->left[k], L) == \at(bundle->left[k], M)) ==>
        waiting{M}(bundle, n) == waiting{L}(bundle, n) + \at(bundle->left[i], M) - \at(bundle->left[i], L);
      axiom waiting_zero{L}: \forall struct bundle *bundle, integer m, n; 0 <= m <= n &&
        (\forall integer k; m <= k < n ==> bundle->left[k] == 0) ==> waiting(bundle, n) == waiting(bundle, m);
    }
    predicate counted(struct bundle *bundle) = bundle->total == waiting(bundle, BUNDLE_ENTRIES);
    // 1 when place `chosen` of the `total` places in a row is one of entry i, otherwise 0
    logic integer taken(struct bundle *bundle, integer chosen, integer i) =
      waiting(bundle, i) <= chosen < waiting(bundle, i + 1) ? 1 : 0;
    logic integer own_of(integer i) = i < PML_CROWD_OWN_MAX ? i + 1 : 0; */

/* bundle.c (SPEC 5.16): draws the cover, which becomes symbol 0 and is not yet sent, and the clusters; `rate` is q. */
/*@ requires usable(random) && \valid(bundle) && \separated(random, bundle);
    requires rate <= 0x80000000 && 1 <= symbols && 1 <= copies <= PML_CROWD_COPIES_MAX;
    terminates draws_end;
    assigns *random, *bundle;
    ensures usable(random) && counted(bundle);
    ensures symbols: \forall integer i; 0 <= i < BUNDLE_ENTRIES ==> bundle->symbol[i] < symbols;
    ensures own: \forall integer i; 0 <= i < PML_CROWD_OWN_MAX ==> bundle->left[i] == 0;
    ensures bundle->total <= PML_CROWD_CLUSTERS_CUT * PML_CROWD_COPIES_MAX;
    ensures clusters: \forall integer i; PML_CROWD_OWN_MAX <= i < BUNDLE_ENTRIES ==> bundle->left[i] <= copies; */
void pml_bundle_draw(pml_random *random, uint32_t rate, uint32_t symbols, uint32_t copies, struct bundle *bundle);

/* The first `own` symbols are own messages. */
/*@ requires \valid(bundle) && own <= PML_CROWD_OWN_MAX && counted(bundle);
    requires bundle->total <= PML_CROWD_CLUSTERS_CUT * PML_CROWD_COPIES_MAX;
    requires \forall integer i; 0 <= i < PML_CROWD_OWN_MAX ==> bundle->left[i] == 0;
    terminates \true;
    assigns bundle->left[0 .. own - 1], bundle->total;
    ensures counted(bundle) && bundle->total == \old(bundle->total) + own;
    ensures \forall integer i; 0 <= i < BUNDLE_ENTRIES ==> bundle->left[i] == (i < own ? 1 : \old(bundle->left[i])); */
void pml_bundle_own(struct bundle *bundle, uint32_t own);

/* The next message's symbol, of a bundle that is not empty; *own is 1 and more for own messages, 0 for a fake. */
/*@ requires usable(random) && \valid(bundle) && \valid(own) && \separated(random, bundle, own);
    requires counted(bundle) && bundle->total > 0;
    terminates draws_end;
    assigns *random, *own, bundle->left[0 .. BUNDLE_ENTRIES - 1], bundle->total;
    ensures usable(random) && random->used > 0;
    ensures uniform: last_word(random) < 0x100000000 - 0x100000000 % \old(bundle->total);
    ensures picked: \let chosen = last_word(random) % \old(bundle->total);
      \forall integer i; 0 <= i < BUNDLE_ENTRIES && \old(taken(bundle, chosen, i)) == 1 ==>
        \result == bundle->symbol[i] && *own == own_of(i);
    ensures one_less: \let chosen = last_word(random) % \old(bundle->total);
      \forall integer i; 0 <= i < BUNDLE_ENTRIES ==>
        bundle->left[i] == \old(bundle->left[i]) - \old(taken(bundle, chosen, i));
    ensures counted(bundle) && bundle->total == \old(bundle->total) - 1; */
uint32_t pml_bundle_pick(pml_random *random, struct bundle *bundle, unsigned *own);

#endif
