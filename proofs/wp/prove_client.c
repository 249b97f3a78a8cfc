/* SPDX-License-Identifier: Apache-2.0
 * The client's states: who is armed has paid, and what was paid for once is refunded at most once, to the budget that
 * paid. The contracts of what it calls stand first. Those of charge and refund are proved in prove_budget.c, which also
 * says what they make of a budget. The others are assumed: the pipeline writes to the client's noise and never to its
 * state, and the app's callback writes to neither client nor budget. */
#include "../../core/client.h"
#include "../../core/query.h"
#include "../../core/stages/stages.h"

/*@ predicate same{L, M}(pml_budget *a, pml_budget *b) =
      \forall integer k; 0 <= k < PML_BUDGET_SIZE ==> \at(a->bytes[k], L) == \at(b->bytes[k], M); */

/* What the app gave comes back when it is called: its entropy and its store. */
//@ axiomatic app { predicate app_returns; }

/* The second budget is what a charge, or a refund, that succeeded made of the first. */
/*@ axiomatic books {
      predicate charged(pml_budget before, pml_budget after);
      predicate refunded(pml_budget before, pml_budget after);
    } */

/*@ requires \valid_read(budget) && \valid_read(price) && \valid(changed) && \separated(changed, budget, price);
    terminates \true;
    assigns *changed;
    ensures \result == PML_OK ==> charged(*budget, *changed); */
pml_status pml_budget_charge(const pml_budget *budget, const struct pml_price *price, pml_budget *changed);

/*@ requires \valid_read(budget) && \valid_read(price) && \valid(changed) && \separated(changed, budget, price);
    terminates \true;
    assigns *changed;
    ensures \result == PML_OK ==> refunded(*budget, *changed); */
pml_status pml_budget_refund(const pml_budget *budget, const struct pml_price *price, pml_budget *changed);

/*@ terminates \true;
    assigns \nothing; */
struct pml_price pml_client_price(const pml_client *client);

/*@ terminates draws_end && app_returns;
    assigns client->random, client->shift; */
pml_status pml_pipeline_draw(pml_client *client);

/*@ terminates \true;
    assigns client->random, client->shift; */
void pml_pipeline_wipe_noise(pml_client *client);

//@ terminates \true; assigns \nothing;
void pml_wipe_stack(void);

/*@ requires \valid(budget) && \valid_read(changed) && \valid_read(client) && \separated(budget, changed, client);
    terminates app_returns;
    assigns *budget;
    ensures \result != PML_OK ==> same{Pre, Post}(budget, budget);
    ensures \result == PML_OK ==> *budget == *changed; */
static pml_status store(const pml_client *client, const pml_budget *changed, pml_budget *budget);

/*@ requires \valid(client) && \valid(budget) && \separated(client, budget);
    requires client->state == CLIENT_IDLE;
    terminates draws_end && app_returns;
    assigns *client, *budget;
    ensures armed: client->state == CLIENT_ARMED <==> \result == PML_OK;
    ensures paid: \result == PML_OK ==> charged(\old(*budget), *budget);
    ensures failed: \result != PML_OK ==> client->state == CLIENT_IDLE && same{Pre, Post}(budget, budget); */
pml_status pml_client_pay(pml_client *client, pml_budget *budget);

/*@ requires (client == \null || \valid(client)) && (budget == \null || \valid(budget)) && \separated(client, budget);
    terminates draws_end && app_returns;
    assigns *client, *budget;
    ensures not_idle: client != \null && budget != \null && \old(client->state) != CLIENT_IDLE ==>
      \result != PML_OK && client->state == \old(client->state) && same{Pre, Post}(budget, budget);
    ensures paid: \result == PML_OK ==> client->state == CLIENT_ARMED && charged(\old(*budget), *budget); */
pml_status pml_client_arm(pml_client *client, pml_budget *budget);

/*@ requires (client == \null || \valid(client)) && (budget == \null || \valid(budget)) && \separated(client, budget);
    terminates app_returns;
    assigns *client, *budget;
    ensures unarmed: client != \null && budget != \null && \old(client->state) != CLIENT_ARMED ==>
      \result == PML_ERROR_STATE && client->state == \old(client->state) && same{Pre, Post}(budget, budget);
    ensures kept: client != \null && budget != \null && client->state == CLIENT_ARMED ==>
      \result != PML_OK && same{Pre, Post}(budget, budget);
    ensures once: \result == PML_OK ==> client->state == CLIENT_IDLE && refunded(\old(*budget), *budget);
    ensures payer: \result == PML_OK ==> \forall integer k; 0 <= k < PML_BUDGET_IDENTITY ==>
      \old(client->charged[k]) == \old(budget->bytes[PML_BUDGET_IDENTITY_AT + k]); */
pml_status pml_client_disarm(pml_client *client, pml_budget *budget);

#include "../../core/client.c"

/*@ requires \valid(client) && \valid(budget) && \separated(client, budget);
    terminates app_returns;
    assigns *client, *budget;
    ensures \result == PML_OK ==> \false; */
static pml_status disarm_twice(pml_client *client, pml_budget *budget)
{
    if (pml_client_disarm(client, budget) != PML_OK)
        return PML_ERROR_STATE;
    //@ ghost Once: ;
    pml_status status = pml_client_disarm(client, budget);
    //@ assert twice: same{Once, Here}(budget, budget);
    return status;
}
