(* SPDX-License-Identifier: Apache-2.0
   A computable enclosure of e^x for x = a/2^k ≥ 0, in integers: `enclosure a k` is a pair (L, U) with
   L ≤ 2^128·e^x ≤ U (enclosure_correct), or None where 128 terms of the series are too few. The series is summed
   with every term rounded down for L and up for U, and the rest of it is at most (x^N/N!)·e^x (exp_remainder). *)
From Coq Require Import Reals Lra Lia ZArith Arith.
From PrivateMail Require Import Sums.
Open Scope R_scope.

Definition term (x : R) (n : nat) : R := x ^ n / INR (fact n).
Definition partial (x : R) (n : nat) : R := sumn n (term x).

Lemma term_nonneg x n : 0 <= x -> 0 <= term x n.
Proof.
  intros Hx. unfold term. apply Rmult_le_pos; [now apply pow_le|]. apply Rlt_le, Rinv_0_lt_compat, INR_fact_lt_0.
Qed.

Lemma term_S x n : term x (S n) = term x n * x / INR (S n).
Proof.
  unfold term. rewrite fact_simpl, mult_INR. simpl pow. field.
  split; [apply INR_fact_neq_0 | apply not_0_INR; lia].
Qed.

Lemma sumn_sum_f_R0 f n : sumn (S n) f = sum_f_R0 f n.
Proof. induction n as [|n IH]; [unfold sumn; simpl; lra|]. rewrite sumn_S, IH. reflexivity. Qed.

Lemma exp_series x : Un_cv (fun n => partial x (S n)) (exp x).
Proof.
  unfold exp. destruct (exist_exp x) as [l Hl]. simpl. intros e He. destruct (Hl e He) as [N HN].
  exists N. intros n Hn. specialize (HN n Hn). unfold partial. rewrite sumn_sum_f_R0.
  erewrite sum_eq; [exact HN|]. intros i _. unfold term, Rdiv. apply Rmult_comm.
Qed.

Lemma partial_below_exp x n : 0 <= x -> partial x n <= exp x.
Proof.
  intros Hx. apply Rle_trans with (partial x (S n)).
  - unfold partial. apply sumn_le_n; [lia|]. intros. now apply term_nonneg.
  - unfold partial. rewrite sumn_sum_f_R0. apply sum_incr.
    + intros e He. destruct (exp_series x e He) as [N HN]. exists N. intros i Hi. specialize (HN i Hi).
      unfold partial in HN. rewrite sumn_sum_f_R0 in HN. exact HN.
    + intros i. now apply term_nonneg.
Qed.

(* 1 + x ≤ e^x for x ≥ 0. The standard library's own proof needs one more axiom. *)
Lemma exp_above_line x : 0 <= x -> 1 + x <= exp x.
Proof.
  intros Hx. pose proof (partial_below_exp x 2 Hx) as H. unfold partial, sumn, term in H. simpl in H. lra.
Qed.

Lemma fact_product n k : (fact n * fact k <= fact (n + k))%nat.
Proof.
  induction k as [|k IH]; [simpl; rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r, !fact_simpl. nia.
Qed.

Lemma term_product x n k : 0 <= x -> term x (n + k) <= term x n * term x k.
Proof.
  intros Hx. unfold term. rewrite pow_add.
  replace (x ^ n / INR (fact n) * (x ^ k / INR (fact k))) with (x ^ n * x ^ k / INR (fact n * fact k)).
  2:{ rewrite mult_INR. field. split; apply INR_fact_neq_0. }
  apply Rmult_le_compat_l; [apply Rmult_le_pos; now apply pow_le|].
  apply Rinv_le_contravar.
  - apply lt_0_INR. pose proof (lt_O_fact n). pose proof (lt_O_fact k). nia.
  - apply le_INR, fact_product.
Qed.

Theorem exp_remainder x n : 0 <= x -> exp x <= partial x n + term x n * exp x.
Proof.
  intros Hx. set (B := partial x n + term x n * exp x).
  assert (HB : forall k, partial x k <= B).
  { intros k. apply Rle_trans with (partial x (n + k)).
    - apply sumn_le_n; [lia|]. intros. now apply term_nonneg.
    - unfold partial at 1. rewrite sumn_add. unfold B. apply Rplus_le_compat_l.
      apply Rle_trans with (term x n * partial x k).
      + unfold partial. rewrite <- sumn_scal. apply sumn_le. intros. now apply term_product.
      + apply Rmult_le_compat_l; [now apply term_nonneg|]. now apply partial_below_exp. }
  apply Rnot_lt_le. intros Hlt. destruct (exp_series x (exp x - B)) as [N HN]; [lra|].
  specialize (HN N (le_n N)). unfold R_dist in HN. apply Rabs_def2 in HN. specialize (HB (S N)). lra.
Qed.

(* ---- in integers ---- *)

Definition bits : Z := 128.
Definition one : Z := Z.pow 2 128.
Definition terms_used : nat := 128.

(* The term n, rounded down and up, and the sums of the terms before it, all in 2^-128. `scale` is 2^k. *)
Fixpoint series (a scale : Z) (n : nat) : (Z * Z) * (Z * Z) :=
  match n with
  | O => ((one, one), (0%Z, 0%Z))
  | S n' =>
      let '((low, up), (low_sum, up_sum)) := series a scale n' in
      let divisor := (scale * Z.of_nat n)%Z in
      ((low * a / divisor, up * a / divisor + 1), (low_sum + low, up_sum + up))%Z
  end.

Definition enclosure (a k : Z) : option (Z * Z) :=
  let '((_, rest), (low_sum, up_sum)) := series a (Z.pow 2 k) terms_used in
  if Z.ltb rest one then Some (low_sum, up_sum * one / (one - rest) + 1)%Z else None.

Lemma div_below p d : (0 < d)%Z -> IZR (p / d) <= IZR p / IZR d < IZR (p / d + 1).
Proof.
  intros Hd. assert (0 < IZR d) by now apply IZR_lt.
  pose proof (Z.mul_div_le p d Hd). pose proof (Z.mul_succ_div_gt p d Hd). split.
  - apply Rmult_le_reg_r with (IZR d); [assumption|].
    replace (IZR p / IZR d * IZR d) with (IZR p) by (field; lra). rewrite <- mult_IZR. apply IZR_le. lia.
  - apply Rmult_lt_reg_r with (IZR d); [assumption|].
    replace (IZR p / IZR d * IZR d) with (IZR p) by (field; lra). rewrite <- mult_IZR. apply IZR_lt. lia.
Qed.

Lemma series_correct a scale n : (0 <= a)%Z -> (0 < scale)%Z ->
  let x := IZR a / IZR scale in
  let '((low, up), (low_sum, up_sum)) := series a scale n in
  (0 <= low)%Z /\ IZR low <= IZR one * term x n <= IZR up /\
  IZR low_sum <= IZR one * partial x n <= IZR up_sum.
Proof.
  intros Ha Hs x. assert (Hs' : 0 < IZR scale) by now apply IZR_lt. assert (Ha' : 0 <= IZR a) by now apply IZR_le.
  induction n as [|n IH].
  - cbn [series]. unfold term, partial. rewrite sumn_0. simpl pow. simpl fact. simpl INR.
    split; [unfold one; now apply Z.pow_nonneg|]. split; lra.
  - cbn [series]. destruct (series a scale n) as [[low up] [low_sum up_sum]].
    destruct IH as (H0 & [Hl Hu] & [Hls Hus]).
    set (d := (scale * Z.of_nat (S n))%Z).
    assert (Hd : (0 < d)%Z) by (unfold d; lia). assert (Hd' : 0 < IZR d) by now apply IZR_lt.
    assert (Et : IZR one * term x (S n) = IZR one * term x n * IZR a / IZR d).
    { rewrite term_S. unfold x, d. rewrite mult_IZR, <- INR_IZR_INZ. field.
      split; [apply not_0_INR; lia | lra]. }
    split; [|split].
    + apply Z.div_pos; lia.
    + rewrite Et. pose proof (div_below (low * a) d Hd) as [H1 _]. pose proof (div_below (up * a) d Hd) as [_ H2].
      rewrite mult_IZR in H1, H2. split.
      * apply Rle_trans with (1 := H1). apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|].
        apply Rmult_le_compat_r; assumption.
      * apply Rlt_le, Rle_lt_trans with (2 := H2).
        apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|]. apply Rmult_le_compat_r; assumption.
    + unfold partial in *. rewrite sumn_S, !plus_IZR. lra.
Qed.

Lemma some_pair (a b c d : Z) : Some (a, b) = Some (c, d) -> a = c /\ b = d.
Proof. intros H. now injection H. Qed.

Theorem enclosure_correct a k L U : (0 <= a)%Z -> (0 <= k)%Z -> enclosure a k = Some (L, U) ->
  IZR L <= IZR one * exp (IZR a / IZR (2 ^ k)) <= IZR U.
Proof.
  intros Ha Hk. unfold enclosure. set (scale := (2 ^ k)%Z).
  assert (Hs : (0 < scale)%Z) by (unfold scale; apply Z.pow_pos_nonneg; lia).
  pose proof (series_correct a scale terms_used Ha Hs) as H. cbv zeta in H.
  destruct (series a scale terms_used) as [[low rest] [low_sum up_sum]].
  destruct H as (_ & [_ Hr] & [Hl Hu]). set (x := IZR a / IZR scale) in *.
  assert (Hx : 0 <= x).
  { unfold x. apply Rmult_le_pos; [now apply IZR_le|]. apply Rlt_le, Rinv_0_lt_compat. now apply IZR_lt. }
  destruct (Z.ltb_spec rest one) as [Hlt|]; [|discriminate]. intros E. apply some_pair in E. destruct E as [<- <-].
  assert (Hone : 0 < IZR one) by (apply IZR_lt; reflexivity).
  pose proof (partial_below_exp x terms_used Hx). pose proof (exp_remainder x terms_used Hx) as Hrem.
  split; [apply Rle_trans with (1 := Hl); apply Rmult_le_compat_l; lra|].
  assert (Hgap : 0 < IZR (one - rest)) by (apply IZR_lt; lia).
  apply Rlt_le. eapply Rle_lt_trans; [|apply div_below; lia].
  apply Rmult_le_reg_r with (IZR (one - rest)); [assumption|].
  replace (IZR (up_sum * one) / IZR (one - rest) * IZR (one - rest)) with (IZR (up_sum * one)) by (field; lra).
  rewrite mult_IZR, minus_IZR in *.
  set (E := exp x) in *. set (T := partial x terms_used) in *. set (t := term x terms_used) in *.
  assert (0 < E) by apply exp_pos.
  assert (IZR one * E * (IZR one - IZR rest) <= IZR one * E * (IZR one - IZR one * t)).
  { apply Rmult_le_compat_l; nra. }
  assert (E * (1 - t) <= T) by lra.
  assert (IZR one * (E * (1 - t)) <= IZR one * T) by (apply Rmult_le_compat_l; lra).
  nra.
Qed.
