(* SPDX-License-Identifier: Apache-2.0
   The sum `waiting` of core/stages/bundle.h. Its contract defines it by the empty sum and one more term, and has three
   axioms that need induction, which the provers of contracts do not do. They are theorems here:
   - equal terms give equal sums (waiting_same);
   - a change of one term changes the sum by as much (waiting_but);
   - terms that are 0 add nothing (waiting_zero). *)
From Coq Require Import ZArith Lia.
Open Scope Z_scope.

Fixpoint waiting (left : nat -> Z) (n : nat) : Z :=
  match n with
  | O => 0
  | S m => waiting left m + left m
  end.

Theorem waiting_same left right n :
  (forall k, (k < n)%nat -> left k = right k) -> waiting left n = waiting right n.
Proof.
  induction n as [|n IH]; intros H; [reflexivity|]. simpl.
  rewrite IH, (H n) by (intros; try apply H; lia). reflexivity.
Qed.

Theorem waiting_but left right n i :
  (i < n)%nat -> (forall k, (k < n)%nat -> k <> i -> left k = right k) ->
  waiting right n = waiting left n + right i - left i.
Proof.
  induction n as [|n IH]; intros Hi H; [lia|]. simpl.
  destruct (Nat.eq_dec i n) as [->|Hn].
  - rewrite (waiting_same left right n) by (intros; apply H; lia). lia.
  - rewrite IH by (lia || (intros; apply H; lia)). rewrite (H n) by lia. lia.
Qed.

Theorem waiting_zero left m n :
  (m <= n)%nat -> (forall k, (m <= k < n)%nat -> left k = 0) -> waiting left n = waiting left m.
Proof.
  induction n as [|n IH]; intros Hm H.
  - replace m with O by lia. reflexivity.
  - destruct (Nat.eq_dec m (S n)) as [->|Hn]; [reflexivity|]. simpl.
    rewrite IH, (H n) by (lia || (intros; apply H; lia)). lia.
Qed.
