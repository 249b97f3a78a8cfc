(* SPDX-License-Identifier: Apache-2.0
   Theorem D: what q own messages tell together, by moments of order α > 1. Each message is a step of an adaptive
   strategy (Budget.v); an epoch with w own messages is w steps. Where the record decides, the step is theorem A's pair:
   counts (i, j) with probability π(i-1)π(j) under one record and π(i)π(j-1) under the other. Every other step has one
   law under both records, whatever it is.
   `power u` stands for u^α. All that is used of it is that it is multiplicative and has u^α ≥ 1 + α(u - 1), Bernoulli's
   inequality. Whole α are proved to be so (whole_power), and have PRIVACY's factor (whole_factor). Real ones are too,
   but Coq's own real powers rest on one more axiom.
   - (g - e^ε·q)₊ ≤ g^α·q^(1-α)·e^(-(α-1)ε)·(1/α)(1 - 1/α)^(α-1) (excess_below_moment), with equality at
     g = e^ε·q·α/(α-1) (excess_reaches_moment).
   - For any steps of which a part of small mass is left out, δ is at most what is left out and the moments of the rest
     (moments_compose).
   - With M₁ and M₂ above all finite sums of PRIVACY's two series, and M = max(1, M₁M₂),
     δ = q·π[0 … k₁] + M^q·e^(-(α-1)ε)·(1/α)(1 - 1/α)^(α-1) (messages_private). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums CompoundPoisson Excess Splitting Budget.
Import ListNotations.
Open Scope R_scope.

Definition is_power (alpha : R) (power : R -> R) : Prop :=
  (forall u, 0 < u -> 0 < power u) /\
  (forall u u', 0 < u -> 0 < u' -> power (u * u') = power u * power u') /\
  (forall u, 0 < u -> alpha * u - (alpha - 1) <= power u).

Theorem whole_power n : is_power (INR n) (fun u => u ^ n).
Proof.
  repeat split.
  - intros u Hu. now apply pow_lt.
  - intros u u' _ _. apply Rpow_mult_distr.
  - intros u Hu. induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. simpl pow.
    assert (0 <= INR n * ((u - 1) * (u - 1))) by (apply Rmult_le_pos; [apply pos_INR|apply Rle_0_sqr]). nra.
Qed.

Section Order.
Variables (alpha : R) (power : R -> R).
Hypothesis order : 1 < alpha.
Hypothesis powers : is_power alpha power.

(* g^α·q^(1-α) = q·(g/q)^α, 0 where g = 0 *)
Definition moment (g q : R) : R := if Rlt_dec 0 g then q * power (g / q) else 0.

(* e^(-(α-1)ε)·(1/α)(1 - 1/α)^(α-1), written as a quotient of powers *)
Definition factor (epsilon : R) : R := exp epsilon / ((alpha - 1) * power (alpha / (alpha - 1) * exp epsilon)).

Lemma power_1 : power 1 = 1.
Proof.
  destruct powers as (H0 & H1 & _). specialize (H0 1 ltac:(lra)). specialize (H1 1 1 ltac:(lra) ltac:(lra)).
  rewrite Rmult_1_r in H1. nra.
Qed.

Lemma moment_nonneg g q : (0 < g -> 0 < q) -> 0 <= moment g q.
Proof.
  intros Hq. unfold moment. destruct (Rlt_dec 0 g) as [H|H]; [|lra]. specialize (Hq H). destruct powers as (H0 & _).
  apply Rlt_le, Rmult_lt_0_compat; [assumption|]. apply H0, Rdiv_lt_0_compat; assumption.
Qed.

Lemma moment_product g q g' q' : 0 <= g -> 0 <= g' -> (0 < g -> 0 < q) -> (0 < g' -> 0 < q') ->
  moment (g * g') (q * q') = moment g q * moment g' q'.
Proof.
  intros Hg Hg' Hq Hq'. unfold moment. destruct powers as (_ & H1 & _).
  destruct (Rlt_dec 0 g) as [H|H], (Rlt_dec 0 g') as [H'|H'], (Rlt_dec 0 (g * g')) as [Hp|Hp]; try ring; try nra.
  specialize (Hq H). specialize (Hq' H').
  replace (g * g' / (q * q')) with (g / q * (g' / q')) by (field; lra).
  rewrite H1 by (apply Rdiv_lt_0_compat; assumption). ring.
Qed.

Lemma ratio_positive : 0 < alpha / (alpha - 1).
Proof. apply Rdiv_lt_0_compat; lra. Qed.

Lemma factor_positive epsilon : 0 < factor epsilon.
Proof.
  pose proof (exp_pos epsilon) as He. pose proof ratio_positive as Hr. destruct powers as (H0 & _). unfold factor.
  apply Rdiv_lt_0_compat; [assumption|]. apply Rmult_lt_0_compat; [lra|]. apply H0, Rmult_lt_0_compat; assumption.
Qed.

(* The right side of the inequality, in the unit u = g(α-1)/(α e^ε q). *)
Lemma moment_in_units epsilon g q : 0 < g -> 0 < q ->
  factor epsilon * moment g q =
  power (g * (alpha - 1) / (alpha * (exp epsilon * q))) * (exp epsilon * q / (alpha - 1)).
Proof.
  intros Hg Hq. pose proof (exp_pos epsilon) as He. pose proof ratio_positive as Hr. destruct powers as (H0 & H1 & _).
  unfold moment, factor. destruct (Rlt_dec 0 g); [|contradiction]. set (e := exp epsilon) in *.
  assert (Hu : 0 < g * (alpha - 1) / (alpha * (e * q))).
  { apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|]. apply Rmult_lt_0_compat; [lra|].
    now apply Rmult_lt_0_compat. }
  assert (Hre : 0 < alpha / (alpha - 1) * e) by now apply Rmult_lt_0_compat.
  replace (g / q) with (g * (alpha - 1) / (alpha * (e * q)) * (alpha / (alpha - 1) * e))
    by (field; repeat split; lra).
  rewrite (H1 _ _ Hu Hre). specialize (H0 _ Hre). field. split; lra.
Qed.

Theorem excess_below_moment epsilon g q : 0 <= g -> 0 <= q -> (0 < g -> 0 < q) ->
  positive_part (g - exp epsilon * q) <= factor epsilon * moment g q.
Proof.
  intros Hg Hq Hpos. pose proof (exp_pos epsilon). pose proof (factor_positive epsilon).
  destruct (Rle_lt_or_eq_dec _ _ Hg) as [Hlt|<-].
  - specialize (Hpos Hlt). rewrite moment_in_units by assumption. set (e := exp epsilon) in *.
    assert (He : 0 < e * q) by nra. set (u := g * (alpha - 1) / (alpha * (e * q))).
    assert (Hu : 0 < u) by (unfold u; apply Rdiv_lt_0_compat; [nra|apply Rmult_lt_0_compat; lra]).
    assert (Hscale : 0 < e * q / (alpha - 1)) by (apply Rdiv_lt_0_compat; lra).
    destruct powers as (H1 & _ & H2). specialize (H1 u Hu). specialize (H2 u Hu). apply positive_part_below.
    + apply Rmult_le_pos; lra.
    + apply Rle_trans with ((alpha * u - (alpha - 1)) * (e * q / (alpha - 1))).
      * right. unfold u. field. repeat split; nra.
      * apply Rmult_le_compat_r; lra.
  - assert (0 <= moment 0 q) by (apply moment_nonneg; lra).
    apply positive_part_below; [apply Rmult_le_pos; lra|nra].
Qed.

Theorem excess_reaches_moment epsilon q : 0 < q ->
  let g := exp epsilon * q * (alpha / (alpha - 1)) in
  positive_part (g - exp epsilon * q) = factor epsilon * moment g q.
Proof.
  intros Hq g. pose proof (exp_pos epsilon). set (e := exp epsilon) in *.
  assert (Hr : 1 < alpha / (alpha - 1)).
  { apply Rmult_lt_reg_r with (alpha - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (He : 0 < e * q) by nra. assert (Hg : e * q < g) by (unfold g; nra).
  rewrite moment_in_units by lra. fold e. replace (g * (alpha - 1) / (alpha * (e * q))) with 1
    by (unfold g; field; repeat split; nra).
  rewrite power_1, Rmult_1_l. unfold positive_part. rewrite Rmax_right by lra. unfold g. field. lra.
Qed.

(* ---- any adaptive steps ---- *)

Section Steps.
Context {Output : Type}.
Variables (outputs : list Output) (s s' good : @step Output).
Variables (share : list Output -> R) (left_out : R) (M : R) (uses : list Output -> nat) (q : nat).
Hypothesis s_law : sublaw outputs s.
Hypothesis good_part : forall past o, 0 <= good past o <= s past o.
Hypothesis s'_nonneg : forall past o, 0 <= s' past o.
Hypothesis possible : forall past o, 0 < good past o -> 0 < s' past o.
Hypothesis shares : forall past, lsum outputs (fun o => s past o - good past o) <= share past.
(* A step may count as several messages, or as none. *)
Hypothesis M_range : 1 <= M.
Hypothesis moments : forall past, lsum outputs (fun o => moment (good past o) (s' past o)) <= M ^ uses past.
Hypothesis share_cap : within_cap share left_out.
Hypothesis few : within_cap (fun past => INR (uses past)) (INR q).

Fixpoint used (t : list Output) : nat :=
  match t with
  | [] => O
  | _ :: past => (uses past + used past)%nat
  end.

Lemma used_below t : (used t <= q)%nat.
Proof.
  assert (E : paid (fun past => INR (uses past)) t = INR (used t)).
  { induction t as [|o past IH]; simpl; [reflexivity|]. now rewrite IH, plus_INR. }
  apply INR_le. rewrite <- E. now apply paid_below.
Qed.

Lemma run_possible t : 0 < run good t -> 0 < run s' t.
Proof.
  induction t as [|o past IH]; simpl; intros H; [lra|].
  assert (0 <= run good past) by (apply run_nonneg; apply good_part). destruct (good_part past o).
  assert (0 < good past o) by nra. apply Rmult_lt_0_compat; [now apply possible|]. apply IH. nra.
Qed.

Lemma moment_of_run n : lsum (transcripts outputs n) (fun t => moment (run good t) (run s' t)) <= M ^ q.
Proof.
  assert (Hgood : forall t, 0 <= run good t) by (intros; apply run_nonneg; apply good_part).
  assert (Hm : forall t, 0 <= moment (run good t) (run s' t)) by (intros; apply moment_nonneg, run_possible).
  assert (H : lsum (transcripts outputs n) (fun t => moment (run good t) (run s' t) * / M ^ used t) <= 1).
  { induction n as [|n IH].
    - simpl. unfold moment. destruct (Rlt_dec 0 1); [|lra]. replace (1 / 1) with 1 by field. rewrite power_1. lra.
    - rewrite transcripts_S. eapply Rle_trans; [|exact IH]. apply lsum_le. intros past _.
      assert (Hpow : forall k, 0 < M ^ k) by (intros; apply pow_lt; lra).
      rewrite (lsum_ext outputs _ (fun o => moment (good past o) (s' past o) *
        (moment (run good past) (run s' past) * / M ^ used (o :: past)))).
      + cbn [used]. rewrite lsum_scal_r. specialize (moments past). set (m := moment (run good past) (run s' past)).
        replace (m * / M ^ used past) with (M ^ uses past * (m * / M ^ (uses past + used past))).
        * apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; [apply Hm|].
          apply Rlt_le, Rinv_0_lt_compat, Hpow.
        * rewrite pow_add. pose proof (Hpow (uses past)). pose proof (Hpow (used past)). field. split; lra.
      + intros o _. cbn [run].
        rewrite moment_product; [ring|apply good_part|apply Hgood|apply possible|apply run_possible]. }
  rewrite <- (Rmult_1_r (M ^ q)). assert (Hq : 0 < M ^ q) by (apply pow_lt; lra).
  eapply Rle_trans; [|apply Rmult_le_compat_l; [apply Rlt_le, Hq|exact H]].
  rewrite <- lsum_scal. apply lsum_le. intros t _. specialize (Hm t).
  assert (Hle : M ^ used t <= M ^ q) by (apply Rle_pow; [assumption|apply used_below]).
  assert (Hpos : 0 < M ^ used t) by (apply pow_lt; lra).
  assert (1 <= M ^ q * / M ^ used t).
  { apply Rmult_le_reg_r with (M ^ used t); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  nra.
Qed.

Theorem moments_compose epsilon n :
  lsum (transcripts outputs n) (fun t => positive_part (run s t - exp epsilon * run s' t)) <=
  left_out + M ^ q * factor epsilon.
Proof.
  eapply Rle_trans; [apply (leave_out outputs s good share left_out); assumption|].
  rewrite Rplus_comm. apply Rplus_le_compat_l.
  apply Rle_trans with (lsum (transcripts outputs n) (fun t => factor epsilon * moment (run good t) (run s' t))).
  - apply lsum_le. intros t _. apply excess_below_moment.
    + apply run_nonneg. apply good_part.
    + now apply run_nonneg.
    + apply run_possible.
  - rewrite lsum_scal, Rmult_comm. apply Rmult_le_compat_r; [|apply moment_of_run].
    apply Rlt_le, factor_positive.
Qed.
End Steps.
End Order.

Theorem whole_factor m epsilon : (1 <= m)%nat ->
  factor (INR (S m)) (fun u => u ^ S m) epsilon =
  exp (- INR m * epsilon) * (/ INR (S m) * (1 - / INR (S m)) ^ m).
Proof.
  intros Hm. assert (H : 0 < INR m) by (apply lt_0_INR; lia). assert (H' : 0 < INR (S m)) by (apply lt_0_INR; lia).
  unfold factor. pose proof (exp_pos epsilon). set (e := exp epsilon) in *.
  replace (INR (S m) - 1) with (INR m) by (rewrite S_INR; ring).
  replace (1 - / INR (S m)) with (/ (INR (S m) / INR m)) by (rewrite S_INR in *; field; lra).
  assert (Hr : 0 < INR (S m) / INR m) by now apply Rdiv_lt_0_compat. set (r := INR (S m) / INR m) in *.
  assert (Er : INR (S m) = r * INR m) by (unfold r; field; lra).
  replace (exp (- INR m * epsilon)) with (/ e ^ m)
    by (unfold e; rewrite exp_power, <- exp_Ropp; f_equal; ring).
  rewrite pow_inv by lra. rewrite Rpow_mult_distr. simpl pow. rewrite Er.
  assert (0 < r ^ m) by now apply pow_lt. assert (0 < e ^ m) by now apply pow_lt. field. repeat split; lra.
Qed.

(* ---- theorem A's pair ---- *)

Lemma paid_scal {Output : Type} c (price : list Output -> R) t : paid (fun past => c * price past) t = c * paid price t.
Proof. induction t as [|o past IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma within_cap_scal {Output : Type} c (price : list Output -> R) cap : 0 <= c -> within_cap price cap ->
  within_cap (fun past => c * price past) (c * cap).
Proof. intros Hc H past. rewrite paid_scal. destruct (H past). split; nra. Qed.

Section Messages.
Variables (Lambda : R) (v : nat).
Hypothesis Lambda_positive : 0 < Lambda.
Hypothesis size : (1 <= v)%nat.
Let law := pi Lambda v.

Variables (alpha : R) (power : R -> R) (M1 M2 : R) (k1 q : nat).
Hypothesis order : 1 < alpha.
Hypothesis powers : is_power alpha power.
(* Σ_{k≥1} π(k-1)^α π(k)^(1-α) and Σ_{k>k₁} π(k)^α π(k-1)^(1-α) *)
Hypothesis first_series : forall n, sumn n (fun k => moment power (previous law k) (law k)) <= M1.
Hypothesis second_series :
  forall n, sumn n (fun k => if Nat.ltb k1 k then moment power (law k) (previous law k) else 0) <= M2.

(* The strategy: whether the record decides on what is shown next, and the law of what is shown where it does not. *)
Variables (K : nat) (decides : list (nat * nat) -> bool) (other : @step (nat * nat)).
Let grid := list_prod (seq 0 K) (seq 0 K).
Hypothesis other_law : sublaw grid other.
Definition deciding (past : list (nat * nat)) : nat := if decides past then 1 else 0.
Hypothesis few : within_cap (fun past => INR (deciding past)) (INR q).

Definition first_record : @step (nat * nat) :=
  fun past o => if decides past then previous law (fst o) * law (snd o) else other past o.
Definition second_record : @step (nat * nat) :=
  fun past o => if decides past then law (fst o) * previous law (snd o) else other past o.
Definition kept_part : @step (nat * nat) :=
  fun past o => if decides past then (if Nat.ltb k1 (snd o) then previous law (fst o) * law (snd o) else 0)
                else other past o.

Lemma law_positive k : 0 < law k.
Proof. now apply pi_positive. Qed.

Lemma law_nonneg k : 0 <= law k.
Proof. apply Rlt_le, law_positive. Qed.

Lemma law_sum n : sumn n law <= 1.
Proof. apply pi_sum; [assumption|lra]. Qed.

Lemma previous_positive k : (1 <= k)%nat -> 0 < previous law k.
Proof. intros Hk. unfold previous, shifted. destruct (Nat.ltb_spec k 1); [lia|apply law_positive]. Qed.

Lemma over_grid (f g : nat -> R) : lsum grid (fun o => f (fst o) * g (snd o)) = sumn K f * sumn K g.
Proof.
  unfold grid, sumn at 1. generalize (seq 0 K) at 1 3. induction l as [|i l IH]; simpl; [ring|].
  rewrite lsum_app, IH, lsum_map. simpl. rewrite lsum_scal. unfold sumn. ring.
Qed.

Lemma pair_nonneg i j : 0 <= previous law i * law j.
Proof. apply Rmult_le_pos; [apply previous_nonneg; apply law_nonneg|apply law_nonneg]. Qed.

Lemma first_record_law : sublaw grid first_record.
Proof.
  destruct other_law as [H0 H1]. split.
  - intros past o. unfold first_record. destruct (decides past); [apply pair_nonneg|apply H0].
  - intros past. unfold first_record. destruct (decides past); [|apply H1]. rewrite over_grid.
    pose proof (law_sum K). pose proof (previous_sum law law_nonneg law_sum K).
    assert (0 <= sumn K law) by (apply sumn_nonneg; intros; apply law_nonneg).
    assert (0 <= sumn K (previous law)) by (apply sumn_nonneg; intros; apply previous_nonneg; apply law_nonneg).
    nra.
Qed.

Lemma kept_below past o : 0 <= kept_part past o <= first_record past o.
Proof.
  unfold kept_part, first_record. pose proof (pair_nonneg (fst o) (snd o)). pose proof (proj1 other_law past o).
  destruct (decides past), (Nat.ltb k1 (snd o)); lra.
Qed.

Lemma left_out_mass past :
  lsum grid (fun o => first_record past o - kept_part past o) <= sumn (S k1) law * INR (deciding past).
Proof.
  unfold first_record, kept_part, deciding. destruct (decides past); simpl INR.
  - rewrite (lsum_ext grid _ (fun o => previous law (fst o) * (if Nat.ltb k1 (snd o) then 0 else law (snd o)))).
    + rewrite (over_grid (previous law) (fun j => if Nat.ltb k1 j then 0 else law j)).
      pose proof (previous_sum law law_nonneg law_sum K).
      assert (Hsmall : sumn K (fun j => if Nat.ltb k1 j then 0 else law j) <= sumn (S k1) law).
      { apply Rle_trans with (sumn (S k1 + K) (fun j => if Nat.ltb k1 j then 0 else law j)).
        - apply sumn_le_n; [lia|]. intros j _. destruct (Nat.ltb k1 j); [lra|apply law_nonneg].
        - rewrite sumn_add, (sumn_zero K), Rplus_0_r.
          + apply sumn_le. intros j Hj. destruct (Nat.ltb_spec k1 j); [lia|lra].
          + intros j _. destruct (Nat.ltb_spec k1 (S k1 + j)); [reflexivity|lia]. }
      assert (0 <= sumn K (fun j => if Nat.ltb k1 j then 0 else law j)).
      { apply sumn_nonneg. intros j _. destruct (Nat.ltb k1 j); [lra|apply law_nonneg]. }
      assert (0 <= sumn K (previous law)) by (apply sumn_nonneg; intros; apply previous_nonneg; apply law_nonneg).
      nra.
    + intros o _. destruct (Nat.ltb k1 (snd o)); ring.
  - rewrite (lsum_ext grid _ (fun _ => 0)) by (intros; ring). rewrite lsum_zero. lra.
Qed.

Lemma kept_possible past o : decides past = true -> 0 < kept_part past o -> (1 <= fst o)%nat /\ (k1 < snd o)%nat.
Proof.
  intros Ed H. unfold kept_part in H. rewrite Ed in H. destruct (Nat.ltb_spec k1 (snd o)); [|lra]. split; [|assumption].
  destruct (fst o) as [|i]; [|lia]. unfold previous, shifted in H. simpl in H. lra.
Qed.

Definition largest : R := Rmax 1 (M1 * M2).

Lemma step_moment past :
  lsum grid (fun o => moment power (kept_part past o) (second_record past o)) <= largest ^ deciding past.
Proof.
  unfold deciding. destruct (decides past) eqn:Ed; simpl pow.
  - rewrite Rmult_1_r. apply Rle_trans with (M1 * M2); [|apply Rmax_r].
    set (g := fun k => if Nat.ltb k1 k then moment power (law k) (previous law k) else 0).
    rewrite (lsum_ext grid _ (fun o => moment power (previous law (fst o)) (law (fst o)) * g (snd o))).
    + rewrite (over_grid (fun k => moment power (previous law k) (law k)) g).
      specialize (first_series K). specialize (second_series K). fold g in second_series.
      apply Rmult_le_compat; try assumption; apply sumn_nonneg; intros k _.
      * apply (moment_nonneg alpha power powers). intros. apply law_positive.
      * unfold g. destruct (Nat.ltb_spec k1 k); [|lra]. apply (moment_nonneg alpha power powers). intros.
        apply previous_positive. lia.
    + intros o _. unfold kept_part, second_record, g. rewrite Ed. destruct (Nat.ltb_spec k1 (snd o)).
      * apply (moment_product alpha power powers);
          [apply previous_nonneg; apply law_nonneg|apply law_nonneg|intros; apply law_positive|].
        intros _. apply previous_positive. lia.
      * rewrite Rmult_0_r. unfold moment. destruct (Rlt_dec 0 0); [lra|reflexivity].
  - eapply Rle_trans; [|apply (proj2 other_law past)]. apply lsum_le. intros o _.
    unfold kept_part, second_record. rewrite Ed. unfold moment. pose proof (proj1 other_law past o).
    destruct (Rlt_dec 0 (other past o)) as [Hp|]; [|assumption].
    replace (other past o / other past o) with 1 by (field; lra). rewrite (power_1 alpha power powers). lra.
Qed.

Theorem messages_private epsilon n :
  lsum (transcripts grid n) (fun t => positive_part (run first_record t - exp epsilon * run second_record t)) <=
  INR q * sumn (S k1) law + largest ^ q * factor alpha power epsilon.
Proof.
  rewrite (Rmult_comm (INR q)).
  apply (moments_compose alpha power order powers grid first_record second_record kept_part
    (fun past => sumn (S k1) law * INR (deciding past)) _ largest deciding q).
  - apply first_record_law.
  - apply kept_below.
  - intros past o. unfold second_record. destruct (decides past); [|apply other_law].
    apply Rmult_le_pos; [apply law_nonneg|apply previous_nonneg; apply law_nonneg].
  - intros past o H. destruct (decides past) eqn:Ed.
    + destruct (kept_possible past o Ed H). unfold second_record. rewrite Ed.
      apply Rmult_lt_0_compat; [apply law_positive|apply previous_positive; lia].
    + unfold kept_part, second_record in *. rewrite Ed in *. exact H.
  - apply left_out_mass.
  - apply Rmax_l.
  - apply step_moment.
  - apply within_cap_scal; [apply sumn_nonneg; intros; apply law_nonneg|exact few].
  - exact few.
Qed.
End Messages.

(* The hypotheses can be met: for clusters of one message, Λ > 0 and α = 2, the first series is below 1 + 1/Λ. *)
Section OneMessage.
Variable Lambda : R.
Hypothesis Lambda_positive : 0 < Lambda.

Lemma second_moment g q : 0 < g -> 0 < q -> moment (fun u => u ^ 2) g q = g * g / q.
Proof. intros Hg Hq. unfold moment. destruct (Rlt_dec 0 g); [|contradiction]. simpl. field. lra. Qed.

Example first_series_met n :
  sumn n (fun k => moment (fun u => u ^ 2) (previous (poisson Lambda) k) (poisson Lambda k)) <= 1 + / Lambda.
Proof.
  assert (Hpos : forall k, 0 < poisson Lambda k) by (intros; now apply poisson_positive).
  assert (0 < / Lambda) by now apply Rinv_0_lt_compat.
  apply Rle_trans with (sumn n (fun k =>
    previous (previous (poisson Lambda)) k + / Lambda * previous (poisson Lambda) k)).
  - apply sumn_le. intros k _. unfold previous, shifted. destruct k as [|k].
    + simpl. unfold moment. destruct (Rlt_dec 0 0); lra.
    + destruct (Nat.ltb_spec (S k) 1); [lia|]. replace (S k - 1)%nat with k by lia. rewrite second_moment by auto.
      assert (Ek : poisson Lambda (S k) = Lambda / INR (S k) * poisson Lambda k).
      { apply Rmult_eq_reg_l with (INR (S k)); [|apply not_0_INR; lia]. rewrite poisson_S. field.
        apply not_0_INR. lia. }
      rewrite Ek. assert (0 < INR (S k)) by (apply lt_0_INR; lia). pose proof (Hpos k).
      rewrite S_INR in *. replace (poisson Lambda k * poisson Lambda k / (Lambda / (INR k + 1) * poisson Lambda k))
        with (/ Lambda * (INR k * poisson Lambda k) + / Lambda * poisson Lambda k) by (field; repeat split; lra).
      rewrite poisson_weighted. unfold shifted. destruct (Nat.ltb k 1); right; field; lra.
  - rewrite sumn_plus, sumn_scal.
    assert (Hsum : forall m, sumn m (poisson Lambda) <= 1) by (intros; apply poisson_sum; lra).
    assert (Hnon : forall k, 0 <= poisson Lambda k) by (intros; apply Rlt_le, Hpos).
    pose proof (previous_sum (poisson Lambda) Hnon Hsum n).
    pose proof (previous_sum (previous (poisson Lambda)) (previous_nonneg _ Hnon) (previous_sum _ Hnon Hsum) n). nra.
Qed.
End OneMessage.
