(* SPDX-License-Identifier: Apache-2.0
   Theorems 8 and E without their Gaussian part: how a ledger of pure ε, one of probabilities of showing, and the bound
   of the Gaussian steps go together. P is the law with the person's records, Q with others; H has the person's records
   in pure steps (responses, draws of cells) and the others' in Gaussian and crowd steps. A transcript may hold more
   than the adversary sees, such as drawn cells: then a bundle that sends a drawn cell again is a step with one law
   under all records, and a drawn cell is paid once, whenever and however often it is sent.
   - P(S) ≤ e^(ε_g)·H(S) + δ for the Gaussian steps gives P(S) ≤ e^(E + ε_g)·Q(S) + δ under the cap E of all pure steps
     (pure_ledger). It is theorem 8, and with the floor's draws among the pure steps the first promise of theorem E.
   - Let each crowd step show the record with a probability that its past decides, at most Δ₀ along any transcript. When
     what is left, with nothing shown, is within (ε, δ_μ), then P(S) ≤ e^(E + ε)·Q(S) + δ_μ + Δ₀ (crowd_ledger): the
     second promise of theorem E.
   Taken from PRIVACY: the bounds of the Gaussian steps (theorem 8's path) and that a crowd step is such a step
   (theorem C). *)
From Coq Require Import Reals Lra Lia List.
From PrivateMail Require Import Sums Excess Budget.
Import ListNotations.
Open Scope R_scope.

Section Ledgers.
Context {Output : Type}.
Variables (P H Q : @step Output) (price : list Output -> R) (E : R).
(* From H to Q only pure steps differ. *)
Hypothesis pure_steps : forall past o, 0 <= H past o <= exp (price past) * Q past o.
Hypothesis pure_cap : within_cap price E.

Theorem pure_ledger epsilon delta (T : list (list Output)) :
  lsum T (run P) <= exp epsilon * lsum T (run H) + delta ->
  lsum T (run P) <= exp (E + epsilon) * lsum T (run Q) + delta.
Proof.
  intros Hg. pose proof (composition_cap price H Q E T pure_steps pure_cap) as Hp. rewrite exp_plus.
  pose proof (exp_pos epsilon). nra.
Qed.

Variables (outputs : list Output) (hidden hidden' : @step Output) (show : list Output -> R) (Delta0 : R).
Hypothesis P_law : sublaw outputs P.
(* The part of each step that shows nothing, with either records. *)
Hypothesis hidden_part : forall past o, 0 <= hidden past o <= P past o.
Hypothesis hidden_part' : forall past o, 0 <= hidden' past o <= H past o.
Hypothesis showing : forall past, lsum outputs (fun o => P past o - hidden past o) <= show past.
Hypothesis show_cap : within_cap show Delta0.

Lemma hidden_below t : run hidden' t <= run H t.
Proof.
  assert (Hb : forall t, 0 <= run hidden' t <= run H t); [|apply Hb].
  clear t. induction t as [|o past IH]; simpl; [lra|]. destruct (hidden_part' past o).
  split; [apply Rmult_le_pos; tauto|]. apply Rmult_le_compat; tauto.
Qed.

Theorem crowd_ledger epsilon delta n (set : list Output -> bool) :
  lsum (transcripts outputs n) (fun t => positive_part (run hidden t - exp epsilon * run hidden' t)) <= delta ->
  let T := filter set (transcripts outputs n) in
  lsum T (run P) <= exp (E + epsilon) * lsum T (run Q) + (delta + Delta0).
Proof.
  intros Hhidden T. apply pure_ledger. pose proof (exp_pos epsilon) as He.
  pose proof (leave_out outputs P hidden show Delta0 n (exp epsilon) (run hidden') P_law hidden_part showing show_cap)
    as Hall.
  assert (Hset : forall l, lsum (filter set l) (fun t => run P t - exp epsilon * run H t) <=
    lsum l (fun t => positive_part (run P t - exp epsilon * run hidden' t))).
  { induction l as [|t l IH]; simpl; [lra|]. pose proof (positive_part_nonneg (run P t - exp epsilon * run hidden' t)).
    pose proof (positive_part_above (run P t - exp epsilon * run hidden' t)). pose proof (hidden_below t).
    destruct (set t); simpl; nra. }
  specialize (Hset (transcripts outputs n)). fold T in Hset. rewrite lsum_minus, lsum_scal in Hset. lra.
Qed.
End Ledgers.

(* A cap can be met: two steps of ε = 1 under a cap of 2, and steps that cost nothing after them. *)
Example two_responses : within_cap (fun past : list bool => match past with [] | [_] => 1 | _ => 0 end) 2.
Proof.
  intros past. set (price := fun p : list bool => match p with [] | [_] => 1 | _ => 0 end).
  assert (Htwo : forall l, 0 <= paid price l <= 2) by (induction l as [|o [|o' [|o'' l]] IH]; simpl in *; lra).
  specialize (Htwo past) as Hp. destruct past as [|o [|o' l]]; simpl in *; lra.
Qed.
