(* SPDX-License-Identifier: Apache-2.0
   Theorems 11 and 13: what a reader believes, who knows N items and finds each equally likely before. The belief in
   item i after message o is ℓ_i/Σ_j ℓ_j with ℓ_i = P(o | item i), by Bayes' rule.
   - A factor that all ℓ_i have in common cancels (common_factor).
   - Response: with H items whose slot's symbol is their cell, the belief is p_hi/(H·p_hi + (N-H)·p_lo) or
     p_lo/(H·p_hi + (N-H)·p_lo) (response_belief). The other symbols of a release do not enter: ℓ_i is
     m^-(G-1)·q(o_y | j) by response_law.
   - Crowd: with R(z) = Π_{s∈L(z)} π(h_s - 1)/π(h_s), P(h | item of symbol a) is a common factor times
     (p_hi - p_lo)·R(a) + p_lo·Σ_z R(z) (crowd_likelihood).
   - When any two ℓ differ by at most e^ε, N times a belief is at most e^ε (belief_bounded). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums CompoundPoisson Excess Crowd Splitting Epoch.
Import ListNotations.
Open Scope R_scope.

Definition belief (N : nat) (likelihood : nat -> R) (i : nat) : R := likelihood i / sumn N likelihood.

Theorem common_factor N c likelihood i : c <> 0 -> sumn N likelihood <> 0 ->
  belief N (fun j => c * likelihood j) i = belief N likelihood i.
Proof. intros Hc Hs. unfold belief. rewrite sumn_scal. field. split; assumption. Qed.

Definition hits (N : nat) (hit : nat -> bool) : R := sumn N (fun i => ind (hit i)). (* H *)

Theorem response_belief N hi lo (hit : nat -> bool) i :
  belief N (fun j => if hit j then hi else lo) i =
  (if hit i then hi else lo) / (hits N hit * hi + (INR N - hits N hit) * lo).
Proof.
  unfold belief, hits. f_equal.
  rewrite (sumn_ext N _ (fun j => ind (hit j) * hi + (1 - ind (hit j)) * lo)).
  - rewrite sumn_plus, !sumn_scal_r, sumn_minus, sumn_const. ring.
  - intros j _. unfold ind. destruct (hit j); ring.
Qed.

Theorem belief_bounded N likelihood epsilon i : (i < N)%nat -> (forall j, 0 < likelihood j) ->
  (forall j, likelihood i <= exp epsilon * likelihood j) -> INR N * belief N likelihood i <= exp epsilon.
Proof.
  intros Hi Hpos Hratio. assert (HN : 0 < INR N) by (apply lt_0_INR; lia).
  assert (H : INR N * likelihood i <= exp epsilon * sumn N likelihood).
  { rewrite <- sumn_const, <- sumn_scal. apply sumn_le. auto. }
  assert (Hs : 0 < sumn N likelihood).
  { apply Rlt_le_trans with (likelihood i); [apply Hpos|]. apply sumn_In; [|assumption]. intros. apply Rlt_le, Hpos. }
  unfold belief. apply Rmult_le_reg_r with (sumn N likelihood); [assumption|].
  replace (INR N * (likelihood i / sumn N likelihood) * sumn N likelihood) with (INR N * likelihood i) by (field; lra).
  exact H.
Qed.

Lemma lprod_mult {A : Type} (l : list A) f g : lprod l (fun a => f a * g a) = lprod l f * lprod l g.
Proof. induction l as [|a l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Section Crowd.
Variable pi : nat -> R.
Hypothesis pi_positive : forall k, 0 < pi k.
Variables (symbols : nat) (L : nat -> list nat) (h : list nat).
Hypothesis histogram_length : length h = symbols.

(* R(z); factors of symbols outside L(z) are 1. *)
Definition ratio (z : nat) : R :=
  lprod (seq 0 symbols) (fun s => if member s (L z) then previous pi (seen h s) / pi (seen h s) else 1).

Lemma histogram_ratio z : histogram pi (L z) h = lprod (seq 0 symbols) (fun s => pi (seen h s)) * ratio z.
Proof.
  unfold histogram, ratio. rewrite product_of_list, histogram_length, <- lprod_mult. apply lprod_ext. intros s _.
  rewrite Nat.sub_0_r. fold (seen h s). unfold counts, count_law. pose proof (pi_positive (seen h s)).
  destruct (member s (L z)); [field; lra|ring].
Qed.

Theorem crowd_likelihood hi lo a : (a < symbols)%nat ->
  view symbols (fun z => histogram pi (L z)) hi lo a h =
  lprod (seq 0 symbols) (fun s => pi (seen h s)) * ((hi - lo) * ratio a + lo * sumn symbols ratio).
Proof.
  intros Ha. rewrite view_coin, histogram_ratio by assumption.
  rewrite (sumn_ext symbols _ (fun z => lprod (seq 0 symbols) (fun s => pi (seen h s)) * ratio z))
    by (intros; apply histogram_ratio).
  rewrite sumn_scal. ring.
Qed.
End Crowd.
