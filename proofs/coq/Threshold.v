(* SPDX-License-Identifier: Apache-2.0
   Theorem 7, the two ratios. P is the integer threshold of SPEC 5.11 and the true cell is kept with probability
   p_hi = P/2^40; every other cell has p_lo = (1 - p_hi)/(m - 1).
   - When P is at most 2^40·p, p = e^ε/(e^ε + m - 1), and at least 2^40/m, then p_hi/p_lo and p_lo/p_hi are both at
     most e^ε, and P lies strictly between 0 and 2^40 (threshold_ratios).
   - When P is above 2^40·p, the first ratio exceeds e^ε (threshold_too_high). So the upper limit is the best possible.
   - A threshold that loses at most 1.02 by rounding is at least 2^40/m: for ε ≥ 2^-20 with m ≤ 2^16, and for
     ε ≥ 2^-16 with m ≤ 2^20 (threshold_low_slot, threshold_low_crowd).
   - When the double that C computes is within 2^-7 of 2^40·p - 2^-7, its whole part satisfies both
     (computed_threshold_slot, computed_threshold_crowd). *)
From Coq Require Import Reals Lra Lia ZArith.
From PrivateMail Require Import Exponential.
Open Scope R_scope.

Definition two40 : R := 1099511627776.

(* The ideal probability of the true cell among m. *)
Definition ideal (epsilon m : R) : R := exp epsilon / (exp epsilon + m - 1).

Definition p_hi (P : R) : R := P / two40.
Definition p_lo (P m : R) : R := (1 - p_hi P) / (m - 1).

Definition accepted (epsilon m P : R) : Prop := P <= two40 * ideal epsilon m /\ two40 / m <= P.

Lemma exp_at_least_1 e : 0 <= e -> 1 <= exp e.
Proof. intros H. pose proof (exp_above_line e H). lra. Qed.

(* P ≤ 2^40·p, without the quotient. *)
Lemma below_ideal epsilon m P : 1 < m -> (P <= two40 * ideal epsilon m <-> P * (m - 1) <= exp epsilon * (two40 - P)).
Proof.
  intros Hm. pose proof (exp_pos epsilon) as He. unfold ideal.
  set (E := exp epsilon) in *. assert (HD : 0 < E + m - 1) by lra.
  replace (two40 * (E / (E + m - 1))) with (two40 * E / (E + m - 1)) by (field; lra).
  split; intros H.
  - apply Rmult_le_compat_r with (r := E + m - 1) in H; [|lra].
    replace (two40 * E / (E + m - 1) * (E + m - 1)) with (two40 * E) in H by (field; lra). lra.
  - apply Rmult_le_reg_r with (E + m - 1); [lra|].
    replace (two40 * E / (E + m - 1) * (E + m - 1)) with (two40 * E) by (field; lra). lra.
Qed.

Lemma above_low m P : 0 < m -> (two40 / m <= P <-> two40 <= P * m).
Proof.
  intros Hm. split; intros H.
  - apply Rmult_le_compat_r with (r := m) in H; [|lra].
    replace (two40 / m * m) with two40 in H by (field; lra). exact H.
  - apply Rmult_le_reg_r with m; [lra|]. replace (two40 / m * m) with two40 by (field; lra). exact H.
Qed.

Lemma accepted_range epsilon m P : 0 <= epsilon -> 2 <= m -> accepted epsilon m P -> 0 < P < two40.
Proof.
  intros He Hm [Hu Hl]. apply below_ideal in Hu; [|lra]. apply above_low in Hl; [|lra].
  pose proof (exp_pos epsilon). unfold two40 in *. split; nra.
Qed.

Theorem threshold_ratios epsilon m P : 0 <= epsilon -> 2 <= m -> accepted epsilon m P ->
  0 < p_lo P m /\ 0 < p_hi P /\
  p_hi P <= exp epsilon * p_lo P m /\ p_lo P m <= exp epsilon * p_hi P.
Proof.
  intros He Hm HA. pose proof (accepted_range _ _ _ He Hm HA) as [HP0 HP1].
  destruct HA as [Hu Hl]. apply below_ideal in Hu; [|lra]. apply above_low in Hl; [|lra].
  pose proof (exp_at_least_1 epsilon He) as HE. unfold p_lo, p_hi.
  set (E := exp epsilon) in *.
  replace ((1 - P / two40) / (m - 1)) with ((two40 - P) / (two40 * (m - 1))) by (unfold two40; field; lra).
  assert (H2 : 0 < two40) by (unfold two40; lra).
  assert (HD : 0 < two40 * (m - 1)) by nra.
  repeat split.
  - apply Rdiv_lt_0_compat; lra.
  - apply Rdiv_lt_0_compat; lra.
  - apply Rmult_le_reg_r with (two40 * (m - 1)); [lra|].
    replace (P / two40 * (two40 * (m - 1))) with (P * (m - 1)) by (field; lra).
    replace (E * ((two40 - P) / (two40 * (m - 1))) * (two40 * (m - 1))) with (E * (two40 - P)) by (field; lra).
    exact Hu.
  - apply Rmult_le_reg_r with (two40 * (m - 1)); [lra|].
    replace ((two40 - P) / (two40 * (m - 1)) * (two40 * (m - 1))) with (two40 - P) by (field; lra).
    replace (E * (P / two40) * (two40 * (m - 1))) with (E * (P * (m - 1))) by (field; lra).
    assert (0 < P * (m - 1)) by nra. nra.
Qed.

Theorem threshold_too_high epsilon m P : 2 <= m -> P < two40 -> two40 * ideal epsilon m < P ->
  exp epsilon * p_lo P m < p_hi P.
Proof.
  intros Hm HP H. assert (H2 : 0 < two40) by (unfold two40; lra).
  assert (Hu : exp epsilon * (two40 - P) < P * (m - 1)).
  { apply Rnot_le_lt. intros Hc. apply below_ideal in Hc; lra. }
  unfold p_lo, p_hi.
  replace ((1 - P / two40) / (m - 1)) with ((two40 - P) / (two40 * (m - 1))) by (field; lra).
  apply Rmult_lt_reg_r with (two40 * (m - 1)); [nra|].
  replace (P / two40 * (two40 * (m - 1))) with (P * (m - 1)) by (field; lra).
  replace (exp epsilon * ((two40 - P) / (two40 * (m - 1))) * (two40 * (m - 1))) with (exp epsilon * (two40 - P))
    by (field; lra).
  exact Hu.
Qed.

(* ---- the lower limit, from the rounding ---- *)

(* p - 1/m is at least (m-1)/m · e/(e + m) for every e ≤ e^ε - 1. *)
Lemma ideal_above_uniform epsilon e m : 0 < e -> e <= epsilon -> 2 <= m ->
  (m - 1) / m * (e / (e + m)) <= ideal epsilon m - 1 / m.
Proof.
  intros He Hle Hm. unfold ideal. pose proof (exp_above_line epsilon ltac:(lra)) as HE.
  set (E := exp epsilon) in *.
  replace (E / (E + m - 1) - 1 / m) with ((m - 1) / m * ((E - 1) / (E - 1 + m))) by (field; lra).
  apply Rmult_le_compat_l; [apply Rlt_le, Rdiv_lt_0_compat; lra|].
  set (x := E - 1). assert (e <= x) by (unfold x; lra).
  replace (e / (e + m)) with (1 - m / (e + m)) by (field; lra).
  replace (x / (x + m)) with (1 - m / (x + m)) by (field; lra).
  apply Rplus_le_compat_l, Ropp_le_contravar. unfold Rdiv.
  apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
Qed.

Lemma low_from_loss epsilon e m M P :
  0 < e -> e <= epsilon -> 2 <= m -> m <= M -> 1.02 * (2 * (e + M)) <= two40 * e ->
  two40 * ideal epsilon m - 1.02 <= P -> two40 / m <= P.
Proof.
  intros He Hle Hm HM Hbig HP. pose proof (ideal_above_uniform epsilon e m He Hle Hm) as H.
  assert (Hhalf : 1 / 2 <= (m - 1) / m).
  { apply Rmult_le_reg_r with (2 * m); [lra|].
    replace (1 / 2 * (2 * m)) with m by field. replace ((m - 1) / m * (2 * m)) with (2 * (m - 1)) by (field; lra).
    lra. }
  assert (Hq : e / (e + M) <= e / (e + m)).
  { unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra. }
  assert (Hq0 : 0 < e / (e + M)) by (apply Rdiv_lt_0_compat; lra).
  assert (Hq1 : 1 / 2 * (e / (e + M)) <= (m - 1) / m * (e / (e + m))) by (apply Rmult_le_compat; lra).
  assert (Hq2 : 1.02 <= two40 * (1 / 2 * (e / (e + M)))).
  { apply Rmult_le_reg_r with (2 * (e + M)); [lra|].
    replace (two40 * (1 / 2 * (e / (e + M))) * (2 * (e + M))) with (two40 * e) by (field; lra). exact Hbig. }
  replace (two40 / m) with (two40 * (1 / m)) by (field; lra).
  assert (0 < two40) by (unfold two40; lra).
  assert (two40 * (1 / 2 * (e / (e + M))) <= two40 * (ideal epsilon m - 1 / m)) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Theorem threshold_low_slot epsilon m P : / 1048576 <= epsilon -> 2 <= m <= 65536 ->
  two40 * ideal epsilon m - 1.02 <= P -> two40 / m <= P.
Proof.
  intros He [Hm HM] HP. apply (low_from_loss epsilon (/ 1048576) m 65536); try lra. unfold two40. lra.
Qed.

Theorem threshold_low_crowd epsilon m P : / 65536 <= epsilon -> 2 <= m <= 1048576 ->
  two40 * ideal epsilon m - 1.02 <= P -> two40 / m <= P.
Proof.
  intros He [Hm HM] HP. apply (low_from_loss epsilon (/ 65536) m 1048576); try lra. unfold two40. lra.
Qed.

(* ---- from what C computes: Y is the double before its conversion to an integer, P its whole part ---- *)

Lemma computed_bounds epsilon m Y P :
  Rabs (Y - (two40 * ideal epsilon m - / 128)) <= / 128 -> IZR P <= Y < IZR P + 1 ->
  IZR P <= two40 * ideal epsilon m /\ two40 * ideal epsilon m - 1.02 <= IZR P.
Proof.
  intros HY [H1 H2]. unfold Rabs in HY. destruct (Rcase_abs _) in HY; lra.
Qed.

Theorem computed_threshold_slot epsilon m Y P :
  / 1048576 <= epsilon -> 2 <= m <= 65536 ->
  Rabs (Y - (two40 * ideal epsilon m - / 128)) <= / 128 -> IZR P <= Y < IZR P + 1 -> accepted epsilon m (IZR P).
Proof.
  intros He Hm HY HP. destruct (computed_bounds _ _ _ _ HY HP) as [Hu Hl]. split; [exact Hu|].
  now apply (threshold_low_slot epsilon).
Qed.

Theorem computed_threshold_crowd epsilon m Y P :
  / 65536 <= epsilon -> 2 <= m <= 1048576 ->
  Rabs (Y - (two40 * ideal epsilon m - / 128)) <= / 128 -> IZR P <= Y < IZR P + 1 -> accepted epsilon m (IZR P).
Proof.
  intros He Hm HY HP. destruct (computed_bounds _ _ _ _ HY HP) as [Hu Hl]. split; [exact Hu|].
  now apply (threshold_low_crowd epsilon).
Qed.
