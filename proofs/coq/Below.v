(* SPDX-License-Identifier: Apache-2.0
   SPEC 5.10, pml_random_below: "draw words until one is below W - (W mod b); return it mod b" is exactly uniform.
   - Every result below b has the same number of accepted words, W/b of them (below_counts).
   - Among all sequences of n words, equally many lead to each result, and b times their number is W^n - (W mod b)^n:
     what is missing are the sequences that are rejected to their end (below_uniform).
   - Each word is rejected with a probability below 1/2 (below_rejects_less_than_half).
   W is any number of words; the device has W = 2^32 (below_32). *)
From Coq Require Import Reals Lra List Lia Arith.
From PrivateMail Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Definition limit (W b : nat) : nat := (W - W mod b)%nat.

(* The loop of the C function, on the words that the generator gives. None: all of them were rejected. *)
Fixpoint below (W b : nat) (words : list nat) : option nat :=
  match words with
  | [] => None
  | u :: rest => if Nat.ltb u (limit W b) then Some (u mod b)%nat else below W b rest
  end.

Definition returns (W b r : nat) (words : list nat) : bool :=
  match below W b words with
  | Some r' => Nat.eqb r' r
  | None => false
  end.

Lemma limit_blocks W b : (0 < b)%nat -> limit W b = (W / b * b)%nat.
Proof. intros Hb. unfold limit. pose proof (Nat.div_mod W b). lia. Qed.

Lemma split_W W b : (0 < b)%nat -> W = (limit W b + W mod b)%nat.
Proof. intros Hb. unfold limit. pose proof (Nat.mod_le W b). lia. Qed.

(* A sum over words, accepted ones first. *)
Lemma sum_words W b (f : nat -> R) : (0 < b)%nat ->
  sumn W f = sumn (limit W b) f + sumn (W mod b) (fun i => f (limit W b + i)%nat).
Proof. intros Hb. rewrite (split_W W b Hb) at 1. apply sumn_add. Qed.

Theorem below_counts W b r : (1 <= b)%nat -> (r < b)%nat ->
  sumn W (fun u => ind (andb (Nat.ltb u (limit W b)) (Nat.eqb (u mod b) r))) = INR (W / b).
Proof.
  intros Hb Hr. rewrite (sum_words W b) by lia.
  rewrite (sumn_zero (W mod b)).
  2:{ intros i _. unfold ind. destruct (Nat.ltb_spec (limit W b + i) (limit W b)); [lia|reflexivity]. }
  rewrite (sumn_ext (limit W b) _ (fun u => ind (Nat.eqb (u mod b) r))).
  2:{ intros i Hi. destruct (Nat.ltb_spec i (limit W b)); [reflexivity|lia]. }
  rewrite limit_blocks, sumn_blocks by lia.
  rewrite (sumn_ext (W / b) _ (fun _ => 1)).
  - rewrite sumn_const. lra.
  - intros i _. rewrite <- (sumn_ind_single b r Hr). apply sumn_ext. intros j Hj.
    rewrite Nat.add_comm, Nat.mul_comm, Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. reflexivity.
Qed.

Lemma returns_cons W b r u rest :
  ind (returns W b r (u :: rest)) =
  ind (andb (Nat.ltb u (limit W b)) (Nat.eqb (u mod b) r)) + ind (negb (Nat.ltb u (limit W b))) * ind (returns W b r
    rest).
Proof.
  unfold returns. simpl. destruct (Nat.ltb u (limit W b)); simpl; unfold ind; lra.
Qed.

Lemma rejected_words W b : (1 <= b)%nat -> sumn W (fun u => ind (negb (Nat.ltb u (limit W b)))) = INR (W mod b).
Proof.
  intros Hb. rewrite (sum_words W b) by lia.
  rewrite (sumn_zero (limit W b)), (sumn_ext (W mod b) _ (fun _ => 1)), sumn_const; [lra| |].
  - intros i _. destruct (Nat.ltb_spec (limit W b + i) (limit W b)); [lia|reflexivity].
  - intros i Hi. destruct (Nat.ltb_spec i (limit W b)); [reflexivity|lia].
Qed.

Theorem below_uniform W b r n : (1 <= b)%nat -> (r < b)%nat ->
  INR b * lsum (tuples W n) (fun words => ind (returns W b r words)) = INR W ^ n - INR (W mod b) ^ n.
Proof.
  intros Hb Hr. induction n as [|n IH].
  - simpl. unfold ind. lra.
  - rewrite lsum_tuples_S.
    rewrite (sumn_ext W _ (fun u =>
      ind (andb (Nat.ltb u (limit W b)) (Nat.eqb (u mod b) r)) * INR W ^ n +
      ind (negb (Nat.ltb u (limit W b))) * lsum (tuples W n) (fun words => ind (returns W b r words)))).
    2:{ intros u _. erewrite lsum_ext by (intros; apply returns_cons).
        rewrite lsum_plus, lsum_scal. f_equal. rewrite <- tuples_count.
        rewrite <- lsum_scal. apply lsum_ext. intros. lra. }
    rewrite sumn_plus, !sumn_scal_r, below_counts, rejected_words by assumption.
    assert (HW : INR W = INR b * INR (W / b) + INR (W mod b)).
    { rewrite <- mult_INR, <- plus_INR. f_equal. apply Nat.div_mod. lia. }
    simpl. set (C := lsum _ _) in *. set (q := INR (W / b)) in *. set (rho := INR (W mod b)) in *.
    replace (INR b * (q * INR W ^ n + rho * C)) with (INR b * q * INR W ^ n + rho * (INR b * C)) by ring.
    rewrite IH. replace (INR b * q) with (INR W - rho) by lra. ring.
Qed.

Theorem below_rejects_less_than_half W b : (1 <= b)%nat -> (b <= W)%nat -> (2 * (W mod b) < W)%nat.
Proof.
  intros Hb HW. pose proof (Nat.div_mod W b). pose proof (Nat.mod_upper_bound W b).
  assert (1 <= W / b)%nat by (apply Nat.div_le_lower_bound; lia). nia.
Qed.

(* The device's words. Any two results come from equally many sequences of n words, whatever n is. *)
Theorem below_32 b r r' n : (1 <= b)%nat -> (r < b)%nat -> (r' < b)%nat ->
  let W := Nat.pow 2 32 in
  lsum (tuples W n) (fun words => ind (returns W b r words)) =
  lsum (tuples W n) (fun words => ind (returns W b r' words)).
Proof.
  intros Hb Hr Hr' W.
  pose proof (below_uniform W b r n Hb Hr). pose proof (below_uniform W b r' n Hb Hr').
  assert (0 < INR b) by (apply lt_0_INR; lia).
  apply Rmult_eq_reg_l with (INR b); lra.
Qed.
