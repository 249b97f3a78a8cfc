(* SPDX-License-Identifier: Apache-2.0
   Fair coins, for theorem B. b(s, k) = choose s k/2^s is the law of Bin(s, ½) and T(s, k) its upper tail.
   - Σ_{k≥k₀} k·b(s,k) = (s/2)·T(s-1, k₀-1) and T(s-1, k₀-1) = T(s, k₀) + ½·b(s-1, k₀-1) (tail_mean, tail_step).
   - So Σ_k b(s,k)·[(k + c) - E·(s - k + c)]₊ is PRIVACY's D(s), k₀ the first k at which the bracket is positive
     (excess_of_coins). *)
From Coq Require Import Reals Lra Lia List Arith ZArith.
From PrivateMail Require Import Sums Excess.
Import ListNotations.
Open Scope R_scope.

Fixpoint choose (n k : nat) : nat :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S n', S k' => choose n' k' + choose n' k
  end.

Lemma choose_0 n : choose n 0 = 1%nat.
Proof. now destruct n. Qed.

Lemma choose_beyond n : forall k, (n < k)%nat -> choose n k = O.
Proof.
  induction n as [|n IH]; intros k Hk; destruct k as [|k]; try lia; [reflexivity|]. simpl.
  rewrite !IH by lia. reflexivity.
Qed.

Lemma choose_absorb n : forall k, (S k * choose (S n) (S k) = S n * choose n k)%nat.
Proof.
  induction n as [|n IH]; intros k.
  - destruct k as [|k]; [reflexivity|]. simpl. lia.
  - destruct k as [|k].
    + change (choose (S (S n)) 1) with (choose (S n) 0 + choose (S n) 1)%nat. specialize (IH O).
      rewrite !choose_0 in *. lia.
    + change (choose (S (S n)) (S (S k))) with (choose (S n) (S k) + choose (S n) (S (S k)))%nat.
      pose proof (IH k). pose proof (IH (S k)).
      change (choose (S n) (S k)) with (choose n k + choose n (S k))%nat in *. nia.
Qed.

(* Each of n + 1 draws goes one of two ways. *)
Lemma pascal_sum n (G : nat -> nat -> R) :
  sumn (S (S n)) (fun k => INR (choose (S n) k) * G k (S n - k)%nat) =
  sumn (S n) (fun k => INR (choose n k) * (G (S k) (n - k)%nat + G k (S (n - k)))).
Proof.
  rewrite sumn_S_first.
  rewrite (sumn_ext (S n) _ (fun k =>
    INR (choose n k) * G (S k) (n - k)%nat + INR (choose n (S k)) * G (S k) (n - k)%nat)).
  - rewrite sumn_plus. rewrite (sumn_S n (fun k => INR (choose n (S k)) * G (S k) (n - k)%nat)).
    rewrite (choose_beyond n (S n)) by lia. simpl (INR 0). rewrite Rmult_0_l, Rplus_0_r.
    rewrite (sumn_ext (S n) (fun k => INR (choose n k) * (_ + _))
      (fun k => INR (choose n k) * G (S k) (n - k)%nat + INR (choose n k) * G k (S (n - k)))) by (intros; ring).
    rewrite sumn_plus, (sumn_S_first n (fun k => INR (choose n k) * G k (S (n - k)))), !choose_0.
    rewrite (sumn_ext n (fun i => INR (choose n (S i)) * G (S i) (S (n - S i)))
      (fun k => INR (choose n (S k)) * G (S k) (n - k)%nat)).
    + replace (S n - 0)%nat with (S (n - 0)) by lia. ring.
    + intros i Hi. do 2 f_equal. lia.
  - intros k Hk. change (choose (S n) (S k)) with (choose n k + choose n (S k))%nat. rewrite plus_INR.
    replace (S n - S k)%nat with (n - k)%nat by lia. ring.
Qed.

Definition coin (s k : nat) : R := INR (choose s k) / 2 ^ s.
Definition tail (s k : nat) : R := sumn (S s) (fun j => if Nat.leb k j then coin s j else 0).

Lemma two_power n : 0 < 2 ^ n.
Proof. apply pow_lt. lra. Qed.

Lemma coin_nonneg s k : 0 <= coin s k.
Proof. pose proof (two_power s). apply Rmult_le_pos; [apply pos_INR|]. apply Rlt_le, Rinv_0_lt_compat. lra. Qed.

Lemma coin_beyond s k : (s < k)%nat -> coin s k = 0.
Proof. intros H. unfold coin. rewrite choose_beyond by assumption. simpl. unfold Rdiv. ring. Qed.

Lemma coin_S s k : coin (S s) (S k) = / 2 * (coin s k + coin s (S k)).
Proof.
  unfold coin. change (choose (S s) (S k)) with (choose s k + choose s (S k))%nat. rewrite plus_INR. simpl pow.
  pose proof (two_power s). field. lra.
Qed.

Lemma coin_absorb s k : INR (S k) * coin (S s) (S k) = INR (S s) / 2 * coin s k.
Proof.
  unfold coin. pose proof (choose_absorb s k) as H. apply (f_equal INR) in H. rewrite !mult_INR in H.
  unfold Rdiv. rewrite <- Rmult_assoc, H. simpl pow. pose proof (two_power s). field. lra.
Qed.

Theorem tail_mean s k : sumn (S (S s)) (fun j => if Nat.leb (S k) j then INR j * coin (S s) j else 0) =
  INR (S s) / 2 * tail s k.
Proof.
  rewrite sumn_S_first. simpl Nat.leb at 1. cbv iota. rewrite Rplus_0_l. unfold tail. rewrite <- sumn_scal.
  apply sumn_ext. intros j _. change (Nat.leb (S k) (S j)) with (Nat.leb k j).
  destruct (Nat.leb k j); [apply coin_absorb|ring].
Qed.

Lemma tail_first s k : (k <= s)%nat -> tail s k = coin s k + tail s (S k).
Proof.
  intros Hk. unfold tail.
  rewrite <- (sumn_single (S s) k (coin s)) by lia. rewrite <- sumn_plus. apply sumn_ext. intros j _.
  destruct (Nat.eqb_spec j k) as [->|]; destruct (Nat.leb_spec k k), (Nat.leb_spec (S k) k); try lia; try lra;
    destruct (Nat.leb_spec k j), (Nat.leb_spec (S k) j); try lia; lra.
Qed.

Theorem tail_step s k : tail s k = tail (S s) (S k) + / 2 * coin s k.
Proof.
  assert (H : tail (S s) (S k) = / 2 * (tail s k + tail s (S k))).
  { unfold tail at 1. rewrite sumn_S_first. simpl Nat.leb at 1. cbv iota. rewrite Rplus_0_l.
    rewrite (sumn_ext (S s) _ (fun j => / 2 * ((if Nat.leb k j then coin s j else 0) +
      (if Nat.leb k j then coin s (S j) else 0)))).
    - rewrite sumn_scal, sumn_plus. f_equal. f_equal. unfold tail. rewrite sumn_S, coin_beyond by lia.
      rewrite (sumn_S_first s (fun j => if Nat.leb (S k) j then coin s j else 0)). simpl Nat.leb at 3. cbv iota.
      rewrite Rplus_0_l. replace (if Nat.leb k s then 0 else 0) with 0 by (destruct (Nat.leb k s); reflexivity).
      rewrite Rplus_0_r. apply sumn_ext. intros. reflexivity.
    - intros j _. change (Nat.leb (S k) (S j)) with (Nat.leb k j). rewrite coin_S. destruct (Nat.leb k j); lra. }
  destruct (Nat.le_gt_cases k s) as [Hk|Hk].
  - rewrite (tail_first s k Hk) in *. lra.
  - assert (Hnone : forall k', (s < k')%nat -> tail s k' = 0).
    { intros k' Hk'. apply sumn_zero. intros j Hj. destruct (Nat.leb_spec k' j); [lia|reflexivity]. }
    rewrite !Hnone in * by lia. rewrite coin_beyond by assumption. lra.
Qed.

(* D(s) of theorem B *)
Definition D (E c : R) (s k0 : nat) : R :=
  (1 + E) * (INR s / 4) * coin (s - 1) (k0 - 1) - (E - 1) * (INR s / 2 + c) * tail s k0.

(* k₀ = ⌊(E(s + c) - c)/(1 + E)⌋ + 1 *)
Definition first_positive (E c : R) (s k0 : nat) : Prop :=
  INR k0 - 1 <= (E * (INR s + c) - c) / (1 + E) < INR k0.

Lemma first_positive_exists E c s : 1 <= E -> 0 <= c -> exists k0, first_positive E c s k0.
Proof.
  intros HE Hc. unfold first_positive. set (x := (E * (INR s + c) - c) / (1 + E)). pose proof (pos_INR s).
  assert (Hx : 0 <= x) by (unfold x; apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  destruct (archimed x) as [H1 H2]. exists (Z.to_nat (up x)).
  assert (0 <= up x)%Z by (apply le_IZR; lra). rewrite INR_IZR_INZ, Z2Nat.id by assumption. lra.
Qed.

Theorem excess_of_coins E c s k0 : 1 <= E -> 0 <= c -> first_positive E c s k0 ->
  sumn (S s) (fun k => coin s k * positive_part (INR k + c - E * (INR (s - k) + c))) = D E c s k0.
Proof.
  intros HE Hc [Hlow Hhigh]. set (x := (E * (INR s + c) - c) / (1 + E)) in *.
  assert (Hx : (1 + E) * x = E * (INR s + c) - c) by (unfold x; field; lra).
  assert (Hk0 : (1 <= k0)%nat).
  { destruct k0; [|lia]. simpl in Hhigh. pose proof (pos_INR s). assert (0 <= (1 + E) * x) by (rewrite Hx; nra). nra. }
  rewrite (sumn_ext (S s) _ (fun k => (1 + E) * (if Nat.leb k0 k then INR k * coin s k else 0) -
    (E * (INR s + c) - c) * (if Nat.leb k0 k then coin s k else 0))).
  - rewrite sumn_minus, !sumn_scal. fold (tail s k0). unfold D. destruct s as [|s].
    + unfold tail, sumn. simpl. destruct k0; [lia|]. simpl. lra.
    + destruct k0 as [|k0]; [lia|]. rewrite tail_mean, tail_step. replace (S s - 1)%nat with s by lia.
      replace (S k0 - 1)%nat with k0 by lia. field.
  - intros k Hk. assert (Hbracket : INR k + c - E * (INR (s - k) + c) = (1 + E) * (INR k - x)).
    { rewrite minus_INR by lia. rewrite Rmult_minus_distr_l, Hx. ring. }
    rewrite Hbracket. rewrite <- Hx. unfold positive_part. destruct (Nat.leb_spec k0 k) as [H|H].
    + apply le_INR in H. rewrite Rmax_right by nra. ring.
    + assert (INR k <= INR k0 - 1).
      { replace (INR k0 - 1) with (INR (k0 - 1)) by (rewrite minus_INR by lia; simpl; lra). apply le_INR. lia. }
      rewrite Rmax_left by nra. ring.
Qed.

(* Ten coins: 6 or more heads in 386 of 1024 cases. *)
Example ten_coins : tail 10 6 = 386 / 1024.
Proof. unfold tail, coin, sumn. simpl. lra. Qed.
