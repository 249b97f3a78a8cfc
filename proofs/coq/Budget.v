(* SPDX-License-Identifier: Apache-2.0
   §6: what many releases cost together. A strategy may choose every step, its ε and its δ by all earlier outputs;
   `run s t` is the probability of transcript t. Transcripts have their latest output first, so a step knows its number
   and its past. `paid price t` adds the prices of all steps of t, each of which may depend on what came before it.
   - Steps with a ratio of at most e^ε are together within e^(what was paid), and within e^E under a cap E
     (composition, composition_cap): the response half of theorem 8.
   - Steps that are (ε, δ)-DP are together (E, D)-DP when neither sum can pass its cap (composition_delta): basic
     composition with a filter, for any finite list of outputs.
   - What a step does with a small probability can be left out, and costs what these probabilities add up to
     (leave_out). Theorems D and E rest on it.
   - When every price is rounded up, the cap down, and the sum of prices is at most the cap, then the sum of the true ε
     is at most the true cap, for any unit (never_undercharged). *)
From Coq Require Import Reals Lra Lia List ZArith.
From PrivateMail Require Import Sums Exponential Excess.
Import ListNotations.
Open Scope R_scope.

Section Adaptive.
Context {Output : Type}.

Definition step : Type := list Output -> Output -> R.

Fixpoint run (s : step) (t : list Output) : R :=
  match t with
  | [] => 1
  | o :: past => s past o * run s past
  end.

Fixpoint paid (price : list Output -> R) (t : list Output) : R :=
  match t with
  | [] => 0
  | _ :: past => price past + paid price past
  end.

Theorem composition (epsilon : list Output -> R) (s s' : step) :
  (forall past o, 0 <= s past o <= exp (epsilon past) * s' past o) ->
  forall t, 0 <= run s t <= exp (paid epsilon t) * run s' t.
Proof.
  intros Hs. induction t as [|o past IH]; simpl; [rewrite exp_0; lra|].
  destruct (Hs past o) as [H2 H3]. split; [now apply Rmult_le_pos|]. rewrite exp_plus.
  replace (exp (epsilon past) * exp (paid epsilon past) * (s' past o * run s' past))
    with (exp (epsilon past) * s' past o * (exp (paid epsilon past) * run s' past)) by ring.
  apply Rmult_le_compat; tauto.
Qed.

(* A strategy that never spends more than the cap, whatever comes out. *)
Definition within_cap (price : list Output -> R) (cap : R) : Prop :=
  forall past, 0 <= price past /\ price past + paid price past <= cap.

Lemma paid_below price cap t : within_cap price cap -> paid price t <= cap.
Proof. intros H. destruct t as [|o past]; simpl; [destruct (H []); simpl in *; lra|apply H]. Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof.
  intros H. replace y with (x + (y - x)) by ring. rewrite exp_plus. pose proof (exp_pos x).
  pose proof (exp_above_line (y - x) ltac:(lra)). nra.
Qed.

Theorem composition_cap (epsilon : list Output -> R) (s s' : step) E (T : list (list Output)) :
  (forall past o, 0 <= s past o <= exp (epsilon past) * s' past o) -> within_cap epsilon E ->
  lsum T (run s) <= exp E * lsum T (run s').
Proof.
  intros Hs Hcap. rewrite <- lsum_scal. apply lsum_le. intros t _.
  destruct (composition epsilon s s' Hs t) as [H0 H]. eapply Rle_trans; [exact H|].
  pose proof (exp_pos (paid epsilon t)). apply Rmult_le_compat_r; [nra|]. now apply exp_le, paid_below.
Qed.

(* ---- probabilities that are left out ---- *)

Variable outputs : list Output.

(* All transcripts of n steps. *)
Fixpoint transcripts (n : nat) : list (list Output) :=
  match n with
  | O => [[]]
  | S n' => flat_map (fun past => map (fun o => o :: past) outputs) (transcripts n')
  end.

Lemma transcripts_S n F : lsum (transcripts (S n)) F =
  lsum (transcripts n) (fun past => lsum outputs (fun o => F (o :: past))).
Proof. simpl. rewrite lsum_flat_map. apply lsum_ext. intros. apply lsum_map. Qed.

(* A law that may lack mass, such as the part of an infinite law on finitely many outputs. *)
Definition sublaw (s : step) : Prop := (forall past o, 0 <= s past o) /\ (forall past, lsum outputs (s past) <= 1).

Lemma run_nonneg s : (forall past o, 0 <= s past o) -> forall t, 0 <= run s t.
Proof. intros H. induction t as [|o past IH]; simpl; [lra|]. now apply Rmult_le_pos. Qed.

(* What is lost grows in each step by at most the step's share of the probability to get there. The part of the cap that
   is not yet used pays for it, whatever the strategy does. *)
Lemma lost_under_cap (s : step) (share lost : list Output -> R) cap : sublaw s ->
  lost [] = 0 -> (forall past, lsum outputs (fun o => lost (o :: past)) <= share past * run s past + lost past) ->
  within_cap share cap -> forall n, lsum (transcripts n) lost <= cap.
Proof.
  intros [Hs0 Hs1] H0 Hstep Hcap n.
  assert (H : lsum (transcripts n) (fun t => lost t + run s t * (cap - paid share t)) <= cap).
  { induction n as [|n IH]; [simpl; rewrite H0; lra|].
    rewrite transcripts_S. eapply Rle_trans; [|exact IH]. apply lsum_le. intros past _.
    rewrite lsum_plus. simpl run. simpl paid.
    rewrite (lsum_ext outputs (fun o => _ * _ * _)
      (fun o => s past o * (run s past * (cap - (share past + paid share past))))) by (intros; ring).
    rewrite lsum_scal_r. specialize (Hstep past). destruct (Hcap past) as [_ Hc].
    pose proof (run_nonneg s Hs0 past) as Hr. specialize (Hs1 past).
    assert (0 <= run s past * (cap - (share past + paid share past))) by (apply Rmult_le_pos; lra).
    nra. }
  eapply Rle_trans; [|exact H]. apply lsum_le. intros t _. pose proof (run_nonneg s Hs0 t).
  pose proof (paid_below share cap t Hcap). nra.
Qed.

Theorem leave_out (s good : step) (share : list Output -> R) cap n E (other : list Output -> R) : sublaw s ->
  (forall past o, 0 <= good past o <= s past o) ->
  (forall past, lsum outputs (fun o => s past o - good past o) <= share past) -> within_cap share cap ->
  lsum (transcripts n) (fun t => positive_part (run s t - E * other t)) <=
  lsum (transcripts n) (fun t => positive_part (run good t - E * other t)) + cap.
Proof.
  intros Hs Hgood Hshare Hcap. destruct Hs as [Hs0 Hs1] eqn:Hs'. clear Hs'.
  assert (Hbelow : forall t, 0 <= run good t <= run s t).
  { induction t as [|o past IH]; simpl; [lra|]. destruct (Hgood past o).
    split; [now apply Rmult_le_pos|]. apply Rmult_le_compat; tauto. }
  assert (Hlost : lsum (transcripts n) (fun t => run s t - run good t) <= cap).
  { apply (lost_under_cap s share _ cap Hs); [simpl; lra| |assumption]. intros past. simpl run.
    apply Rle_trans with (lsum outputs (fun o =>
      (s past o - good past o) * run s past + good past o * (run s past - run good past))).
    - apply lsum_le. intros. lra.
    - rewrite lsum_plus, !lsum_scal_r. destruct (Hbelow past). specialize (Hshare past).
      assert (Hg1 : lsum outputs (good past) <= 1)
        by (eapply Rle_trans; [apply lsum_le; intros; apply Hgood|apply Hs1]).
      nra. }
  eapply Rle_trans; [|apply Rplus_le_compat_l, Hlost]. rewrite <- lsum_plus. apply lsum_le. intros t _.
  destruct (Hbelow t). pose proof (positive_part_above (run good t - E * other t)).
  pose proof (positive_part_nonneg (run good t - E * other t)). apply positive_part_below; lra.
Qed.

(* ---- (ε, δ) ---- *)

Theorem composition_delta (epsilon delta : list Output -> R) (s s' : step) E D n (set : list Output -> bool) :
  sublaw s -> (forall past o, 0 <= s' past o) ->
  (forall past, lsum outputs (fun o => positive_part (s past o - exp (epsilon past) * s' past o)) <= delta past) ->
  within_cap epsilon E -> within_cap delta D ->
  lsum (transcripts n) (fun t => ind (set t) * run s t) <=
  exp E * lsum (transcripts n) (fun t => ind (set t) * run s' t) + D.
Proof.
  intros Hs Hs' Hdelta HE HD.
  (* What of s is within e^ε of s'. *)
  set (good := fun past o => Rmin (s past o) (exp (epsilon past) * s' past o)).
  assert (Hgood : forall past o, 0 <= good past o <= s past o).
  { intros past o. unfold good. pose proof (proj1 Hs past o). pose proof (Hs' past o).
    pose proof (exp_pos (epsilon past)).
    split; [apply Rmin_glb; nra|apply Rmin_l]. }
  assert (Hrun : forall t, run good t <= exp E * run s' t).
  { intros t. destruct (composition epsilon good s') with (t := t) as [_ H].
    - intros past o. split; [apply Hgood|apply Rmin_r].
    - eapply Rle_trans; [exact H|]. apply Rmult_le_compat_r; [now apply run_nonneg|]. now apply exp_le, paid_below. }
  assert (H : lsum (transcripts n) (fun t => positive_part (run s t - exp E * run s' t)) <=
              lsum (transcripts n) (fun t => positive_part (run good t - exp E * run s' t)) + D).
  { apply (leave_out s good delta); try assumption. intros past. eapply Rle_trans; [|apply Hdelta]. apply lsum_le.
    intros o _. unfold good, positive_part, Rmin, Rmax. destruct (Rle_dec _ _), (Rle_dec _ _); lra. }
  rewrite (lsum_ext _ (fun t => positive_part (run good t - _)) (fun _ => 0)), lsum_zero in H.
  2:{ intros t _. specialize (Hrun t). apply Rmax_left. lra. }
  assert (lsum (transcripts n) (fun t => ind (set t) * run s t - exp E * (ind (set t) * run s' t)) <= D).
  { apply Rle_trans with (lsum (transcripts n) (fun t => positive_part (run s t - exp E * run s' t))); [|lra].
    apply lsum_le. intros t _. pose proof (positive_part_above (run s t - exp E * run s' t)).
    pose proof (positive_part_nonneg (run s t - exp E * run s' t)). unfold ind. destruct (set t); lra. }
  rewrite lsum_minus, lsum_scal in H0. lra.
Qed.
End Adaptive.

(* ---- the ledger ---- *)

Definition sum (l : list R) : R := lsum l (fun x => x).

Definition price_of (unit e : R) (price : Z) : Prop := e * unit <= IZR price.  (* rounded up *)
Definition cap_of (unit e : R) (cap : Z) : Prop := IZR cap <= e * unit.        (* rounded down *)

Definition charged (prices : list Z) : Z := fold_right Z.add 0%Z prices.

Theorem never_undercharged unit cap_epsilon cap epsilons prices :
  0 < unit -> cap_of unit cap_epsilon cap -> Forall2 (price_of unit) epsilons prices ->
  (charged prices <= cap)%Z -> sum epsilons <= cap_epsilon.
Proof.
  intros Hu Hcap HF Hsum.
  assert (H : sum epsilons * unit <= IZR (charged prices)).
  { clear Hsum. induction HF as [|e p es ps He HF IH]; [unfold sum; simpl; lra|].
    replace (charged (p :: ps)) with (p + charged ps)%Z by reflexivity. rewrite plus_IZR.
    replace (sum (e :: es)) with (e + sum es) by reflexivity. unfold price_of in He. lra. }
  apply IZR_le in Hsum. unfold cap_of in Hcap.
  apply Rmult_le_reg_r with unit; lra.
Qed.

(* C's conversion to an integer rounds down, and one more where something is left rounds up. *)
Theorem ceiling_is_price unit e (whole : Z) : IZR whole <= e * unit < IZR whole + 1 ->
  price_of unit e (if Rlt_dec (IZR whole) (e * unit) then whole + 1 else whole)%Z /\ cap_of unit e whole.
Proof.
  intros H. unfold price_of, cap_of. split; [|lra].
  destruct (Rlt_dec (IZR whole) (e * unit)); [rewrite plus_IZR|]; lra.
Qed.
