(* SPDX-License-Identifier: Apache-2.0
   SPEC 5.16: the number of clusters is Poisson, and exact but for the cut at 63. part(q) counts words below q, of
   probability x = q/2^32 each, and keeps the count n with probability 1/2·1/3·…·1/n; otherwise it starts again.
   - One attempt returns n with probability (1-x)·x^n/n! (attempt_law). Of all attempts a share (1-x)·e^x returns
     something (attempts_accept), at least 1/2 for x ≤ 1/2 (half_accepted).
   - So n is returned within m attempts with probability (1 - r^m)·Poisson(x)(n), r the share that starts again:
     what is returned has the Poisson law exactly, whenever it is returned (part_is_poisson).
   - Eight parts make Poisson(8x), 8x = q/2^29 (eight_parts).
   - P(Poisson(κ) ≥ 64) ≤ e^-κ·κ^64/64!·65/(65-κ) (cut_tail), which is below 2^-173 for κ ≤ 4 (cut_is_negligible). *)
From Coq Require Import Reals Lra Lia List Arith ZArith.
From PrivateMail Require Import Sums Exponential CompoundPoisson Splitting.
Import ListNotations.
Open Scope R_scope.

Section Part.
Variable x : R.
Hypothesis x_range : 0 <= x <= / 2.

(* n words below q and one that is not; then below(i) = 0 for i = 2 … n. *)
Definition attempt (n : nat) : R := x ^ n * (1 - x) * lprod (seq 2 (n - 1)) (fun i => / INR i).

Lemma kept n : lprod (seq 2 n) (fun i => / INR i) = / INR (fact (S n)).
Proof.
  induction n as [|n IH]; [simpl; field|]. rewrite seq_S.
  assert (Happ : forall l i, lprod (l ++ [i]) (fun i => / INR i) = lprod l (fun i => / INR i) * / INR i).
  { induction l as [|a l IHl]; intros i; simpl; [ring|]. rewrite IHl. ring. }
  rewrite Happ, IH. rewrite (fact_simpl (S n)), mult_INR.
  replace (2 + n)%nat with (S (S n)) by lia. field. split; [apply INR_fact_neq_0|apply not_0_INR; lia].
Qed.

Theorem attempt_law n : attempt n = (1 - x) * (x ^ n / INR (fact n)).
Proof.
  unfold attempt. destruct n as [|n]; [simpl; field|]. replace (S n - 1)%nat with n by lia. rewrite kept.
  field. apply INR_fact_neq_0.
Qed.

Definition accepted_share : R := (1 - x) * exp x.
Definition again : R := 1 - accepted_share.

Theorem attempts_accept : Un_cv (fun n => sumn (S n) attempt) accepted_share.
Proof.
  intros eta Heta. destruct (exp_series x eta Heta) as [N HN]. exists N. intros n Hn. specialize (HN n Hn).
  rewrite (sumn_ext (S n) attempt (fun k => (1 - x) * term x k)) by (intros; apply attempt_law).
  rewrite sumn_scal. fold (partial x (S n)). unfold R_dist, accepted_share in *.
  rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right (1 - x)) by lra.
  pose proof (Rabs_pos (partial x (S n) - exp x)). nra.
Qed.

Theorem half_accepted : / 2 <= accepted_share.
Proof. unfold accepted_share. pose proof (exp_above_line x ltac:(lra)). nra. Qed.

(* n is returned by one of m attempts, all before it starting again. *)
Definition returned (m n : nat) : R := sumn m (fun k => again ^ k * attempt n).

Theorem part_is_poisson m n : returned m n = (1 - again ^ m) * poisson x n.
Proof.
  unfold returned. induction m as [|m IH]; [rewrite sumn_0; simpl; ring|].
  rewrite sumn_S, IH, attempt_law. unfold poisson.
  assert (H : 1 - x = (1 - again) * exp (- x)).
  { unfold again, accepted_share. replace ((1 - (1 - (1 - x) * exp x)) * exp (- x)) with ((1 - x) * (exp x * exp (- x)))
      by ring. rewrite <- exp_plus. replace (x + - x) with 0 by ring. rewrite exp_0. ring. }
  rewrite H. simpl pow. ring.
Qed.

Theorem eight_parts k : clusters_of x x 7 k = poisson (8 * x) k.
Proof. rewrite all_clusters. f_equal. simpl. ring. Qed.
End Part.

(* ---- the cut ---- *)

Lemma poisson_falls kappa j : 0 <= kappa -> poisson kappa (64 + j) <= poisson kappa 64 * (kappa / 65) ^ j.
Proof.
  intros Hk. induction j as [|j IH]; [simpl pow; rewrite Nat.add_0_r; lra|].
  replace (64 + S j)%nat with (S (64 + j)) by lia.
  assert (Hn : 65 <= INR (S (64 + j))).
  { replace 65 with (INR 65) by (simpl; lra). apply le_INR. lia. }
  assert (E : poisson kappa (S (64 + j)) = kappa / INR (S (64 + j)) * poisson kappa (64 + j)).
  { apply Rmult_eq_reg_l with (INR (S (64 + j))); [|lra]. rewrite poisson_S. field. lra. }
  rewrite E. simpl pow. set (p := poisson kappa (64 + j)) in *.
  assert (0 <= p) by now apply poisson_nonneg.
  assert (kappa / INR (S (64 + j)) <= kappa / 65).
  { apply Rmult_le_compat_l; [assumption|]. apply Rinv_le_contravar; lra. }
  assert (0 <= kappa / 65) by lra.
  apply Rle_trans with (kappa / 65 * p); [now apply Rmult_le_compat_r|].
  replace (poisson kappa 64 * (kappa / 65 * (kappa / 65) ^ j)) with (kappa / 65 * (poisson kappa 64 * (kappa / 65) ^ j))
    by ring.
  now apply Rmult_le_compat_l.
Qed.

Lemma geometric r n : 0 <= r < 1 -> sumn n (fun j => r ^ j) <= / (1 - r).
Proof.
  intros Hr. assert (H : sumn n (fun j => r ^ j) * (1 - r) = 1 - r ^ n).
  { induction n as [|n IH]; [rewrite sumn_0; simpl; ring|]. rewrite sumn_S, Rmult_plus_distr_r, IH. simpl pow. ring. }
  apply Rmult_le_reg_r with (1 - r); [lra|]. rewrite H, Rinv_l by lra. pose proof (pow_le r n). lra.
Qed.

Theorem cut_tail kappa n : 0 <= kappa <= 4 ->
  sumn n (fun j => poisson kappa (64 + j)) <= exp (- kappa) * (kappa ^ 64 / INR (fact 64)) * (65 / (65 - kappa)).
Proof.
  intros Hk. apply Rle_trans with (poisson kappa 64 * sumn n (fun j => (kappa / 65) ^ j)).
  - rewrite <- sumn_scal. apply sumn_le. intros j _. now apply poisson_falls.
  - replace (65 / (65 - kappa)) with (/ (1 - kappa / 65)) by (field; lra).
    apply Rmult_le_compat_l; [apply poisson_nonneg; lra|]. apply geometric. lra.
Qed.

Fixpoint factorial (n : nat) : Z :=
  match n with
  | O => 1
  | S n' => Z.of_nat n * factorial n'
  end.

Lemma factorial_is n : INR (fact n) = IZR (factorial n).
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite fact_simpl, mult_INR, IH.
  change (factorial (S n)) with (Z.of_nat (S n) * factorial n)%Z. rewrite mult_IZR, <- INR_IZR_INZ. reflexivity.
Qed.

Lemma exp_4 : 54 <= exp 4.
Proof.
  assert (H : 163 / 60 <= exp 1).
  { apply Rle_trans with (partial 1 6); [|apply partial_below_exp; lra]. unfold partial, term, sumn.
    cbn [seq lsum]. rewrite !factorial_is. change (factorial 5) with 120%Z. change (factorial 4) with 24%Z.
    change (factorial 3) with 6%Z. change (factorial 2) with 2%Z. change (factorial 1) with 1%Z.
    change (factorial 0) with 1%Z. rewrite !pow1. lra. }
  replace 4 with (INR 4 * 1) by (simpl; lra). rewrite <- exp_power.
  apply Rle_trans with ((163 / 60) ^ 4); [simpl; lra|]. apply pow_incr. lra.
Qed.

Theorem cut_is_negligible kappa n : 0 <= kappa <= 4 -> sumn n (fun j => poisson kappa (64 + j)) < / 2 ^ 173.
Proof.
  intros Hk. eapply Rle_lt_trans; [now apply cut_tail|].
  (* e^-κ·κ^64 is largest at κ = 4. *)
  assert (Hmax : exp (- kappa) * kappa ^ 64 <= / exp 4 * 4 ^ 64).
  { set (y := (4 - kappa) / 64). assert (Hy : 0 <= y <= / 16) by (unfold y; lra).
    assert (H : kappa / 4 * exp y <= 1).
    { pose proof (exp_remainder y 1 ltac:(lra)) as H. unfold partial, sumn, term in H. simpl in H.
      pose proof (exp_pos y). assert (kappa / 4 <= 1 - y) by (unfold y; lra). nra. }
    assert (Hpow : (kappa / 4 * exp y) ^ 64 <= 1).
    { rewrite <- (pow1 64). apply pow_incr. split; [|assumption]. apply Rmult_le_pos; [lra|apply Rlt_le, exp_pos]. }
    rewrite Rpow_mult_distr, exp_power in Hpow. replace (INR 64 * y) with (4 - kappa) in Hpow by (unfold y; simpl; lra).
    replace (kappa ^ 64) with ((kappa / 4) ^ 64 * 4 ^ 64) by (rewrite <- Rpow_mult_distr; f_equal; field).
    replace (exp (- kappa)) with (/ exp 4 * exp (4 - kappa)) by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
    assert (0 < / exp 4) by (apply Rinv_0_lt_compat, exp_pos). assert (0 < 4 ^ 64) by (apply pow_lt; lra).
    replace (/ exp 4 * exp (4 - kappa) * ((kappa / 4) ^ 64 * 4 ^ 64))
      with (/ exp 4 * 4 ^ 64 * ((kappa / 4) ^ 64 * exp (4 - kappa))) by ring.
    rewrite <- (Rmult_1_r (/ exp 4 * 4 ^ 64)) at 2. apply Rmult_le_compat_l; [|assumption].
    apply Rlt_le, Rmult_lt_0_compat; assumption. }
  assert (He : / exp 4 <= / 54) by (apply Rinv_le_contravar; [lra|exact exp_4]).
  assert (Hr : 65 / (65 - kappa) <= 65 / 61).
  { apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra. }
  assert (Hr0 : 0 <= 65 / (65 - kappa)) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  pose proof (INR_fact_lt_0 64) as Hf.
  apply Rle_lt_trans with (/ 54 * 4 ^ 64 / INR (fact 64) * (65 / 61)).
  - apply Rmult_le_compat; try assumption.
    + apply Rmult_le_pos; [apply Rlt_le, exp_pos|]. apply Rmult_le_pos; [apply pow_le; lra|].
      apply Rlt_le, Rinv_0_lt_compat. assumption.
    + unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|].
      eapply Rle_trans; [exact Hmax|]. apply Rmult_le_compat_r; [apply pow_le; lra|assumption].
  - rewrite factorial_is. rewrite factorial_is in Hf.
    assert (HZ : (4 ^ Z.of_nat 64 * 65 * 2 ^ Z.of_nat 173 < 54 * 61 * factorial 64)%Z) by (vm_compute; reflexivity).
    apply IZR_lt in HZ. rewrite !mult_IZR in HZ. rewrite <- !pow_IZR in HZ.
    set (f := IZR (factorial 64)) in *. set (big := 4 ^ 64) in *. assert (H2 : 0 < 2 ^ 173) by (apply pow_lt; lra).
    set (two := 2 ^ 173) in *.
    apply Rmult_lt_reg_r with (54 * 61 * f * two); [apply Rmult_lt_0_compat; lra|].
    replace (/ 54 * big / f * (65 / 61) * (54 * 61 * f * two)) with (big * 65 * two) by (field; lra).
    replace (/ two * (54 * 61 * f * two)) with (54 * 61 * f) by (field; lra). exact HZ.
Qed.
