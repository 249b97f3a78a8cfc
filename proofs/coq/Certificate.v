(* SPDX-License-Identifier: Apache-2.0
   Theorem C up to Blackwell's theorem: a certificate's finitely many inequalities bound δ for every real ε. E stands
   for e^ε, so E > 0 are all of them. `reference E` is the δ of any pair of laws that exchanging the records turns into
   itself, as N(0,1) and N(μ,1) are.
   - The experiment that shows the record with probability δ₀, and otherwise the reference, has
     δ(E) = δ₀ + (1-δ₀)·reference(E), for every E ≥ 0 (shown_or_reference). δ falls with E (delta_falls).
   - For every pair of finite laws δ(P‖Q)(1/E) = 1 - 1/E + δ(Q‖P)(E)/E (delta_of_inverse), so a symmetric pair is known
     by its E ≥ 1 (symmetric_pair).
   - Theorem A's pair is symmetric, and its sums at 1/E are bounded by those at E (pair_of_inverse).
   - So grid points 1 = E_0 < … < E_k with δ∞(E_i) ≤ δ₀ + (1-δ₀)·reference(E_{i+1}) and δ∞(E_k) ≤ δ₀ give
     δ∞(E) ≤ δ₀ + (1-δ₀)·reference(E) for every E > 0 (certificate_holds).
   Not here: that N(0,1) and N(μ,1) have PRIVACY's δ_μ, and that a pair whose δ is nowhere above another's is a
   randomised function of it (Blackwell). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums CompoundPoisson Excess.
Import ListNotations.
Open Scope R_scope.

(* ---- finite pairs ---- *)

Section Pair.
Context {O : Type}.
Variables (outcomes : list O) (P Q : O -> R).

Definition delta (P Q : O -> R) (E : R) : R := lsum outcomes (fun o => positive_part (P o - E * Q o)).

Lemma delta_nonneg E : 0 <= delta P Q E.
Proof. apply lsum_nonneg. intros. apply positive_part_nonneg. Qed.

Theorem delta_falls E E' : (forall o, 0 <= Q o) -> E <= E' -> delta P Q E' <= delta P Q E.
Proof.
  intros HQ HE. apply lsum_le. intros o _. apply positive_part_below; [apply positive_part_nonneg|].
  eapply Rle_trans; [|apply positive_part_above]. specialize (HQ o). nra.
Qed.

Lemma positive_part_both x : positive_part x = x + positive_part (- x).
Proof. unfold positive_part, Rmax. destruct (Rle_dec 0 x), (Rle_dec 0 (- x)); lra. Qed.

Lemma inverse_term E p q : 0 < E -> positive_part (p - / E * q) = p - / E * q + / E * positive_part (q - E * p).
Proof.
  intros HE. rewrite positive_part_both at 1. f_equal. assert (0 < / E) by now apply Rinv_0_lt_compat.
  rewrite <- positive_part_scal by lra. f_equal. field. lra.
Qed.

Theorem delta_of_inverse E : 0 < E -> lsum outcomes P = 1 -> lsum outcomes Q = 1 ->
  delta P Q (/ E) = 1 - / E + / E * delta Q P E.
Proof.
  intros HE HP HQ. unfold delta. rewrite (lsum_ext outcomes _ _ (fun o _ => inverse_term E (P o) (Q o) HE)).
  rewrite lsum_plus, lsum_minus, !lsum_scal, HP, HQ. ring.
Qed.
End Pair.

(* Exchanging the records only renames the outcomes. *)
Theorem symmetric_pair {O : Type} (outcomes : list O) (P Q : O -> R) (exchange : O -> O) E : 0 < E ->
  lsum outcomes P = 1 -> lsum outcomes Q = 1 ->
  (forall f : O -> R, lsum outcomes (fun o => f (exchange o)) = lsum outcomes f) ->
  (forall o, Q (exchange o) = P o) -> (forall o, P (exchange o) = Q o) ->
  delta outcomes P Q (/ E) = 1 - / E + / E * delta outcomes P Q E.
Proof.
  intros HE HP HQ Hperm H1 H2. rewrite delta_of_inverse by assumption. f_equal. f_equal. unfold delta.
  rewrite <- (Hperm (fun o => positive_part (Q o - E * P o))). apply lsum_ext. intros o _. now rewrite H1, H2.
Qed.

(* ---- shown, or the reference ---- *)

Inductive outcome (O : Type) : Type := First | Second | Other (o : O).
Arguments First {O}.
Arguments Second {O}.
Arguments Other {O} o.

Definition shown_first {O : Type} (d : R) (P : O -> R) (o : outcome O) : R :=
  match o with First => d | Second => 0 | Other x => (1 - d) * P x end.
Definition shown_second {O : Type} (d : R) (Q : O -> R) (o : outcome O) : R :=
  match o with First => 0 | Second => d | Other x => (1 - d) * Q x end.

Theorem shown_or_reference {O : Type} (outcomes : list O) (P Q : O -> R) d E : 0 <= d <= 1 -> 0 <= E ->
  delta (First :: Second :: map Other outcomes) (shown_first d P) (shown_second d Q) E =
  d + (1 - d) * delta outcomes P Q E.
Proof.
  intros Hd HE. unfold delta. simpl. rewrite lsum_map. simpl.
  rewrite (lsum_ext outcomes _ (fun o => (1 - d) * positive_part (P o - E * Q o))).
  - rewrite lsum_scal. unfold positive_part. rewrite Rmult_0_r, Rminus_0_r, (Rmax_right 0 d), (Rmax_left 0 (0 - E * d));
      [ring|nra|lra].
  - intros o _. rewrite <- positive_part_scal by lra. f_equal. ring.
Qed.

(* ---- theorem A's pair ---- *)

Section Certificate.
Variable pi : nat -> R.
Hypothesis pi_nonneg : forall k, 0 <= pi k.
Hypothesis pi_sum : forall n, sumn n pi <= 1.

Definition pair_sum (K : nat) (E : R) : R := excess_of pi E K (copies 1) 1 1.

Lemma pair_sum_falls K E E' : E <= E' -> pair_sum K E' <= pair_sum K E.
Proof.
  intros HE. unfold pair_sum. rewrite !one_copy. apply sumn_le. intros i _. apply sumn_le. intros j _.
  apply positive_part_below; [apply positive_part_nonneg|]. eapply Rle_trans; [|apply positive_part_above].
  assert (0 <= pi i * previous pi j) by (apply Rmult_le_pos; [auto|now apply previous_nonneg]). nra.
Qed.

Theorem pair_of_inverse K E : 1 <= E -> pair_sum K (/ E) <= 1 - / E + / E * pair_sum K E.
Proof.
  intros HE. unfold pair_sum. rewrite !one_copy. set (p := sumn K pi). set (r := sumn K (previous pi)).
  assert (Hp : 0 <= p <= 1) by (split; [now apply sumn_nonneg|apply pi_sum]).
  assert (Hr : 0 <= r <= 1).
  { split; [apply sumn_nonneg; intros; now apply previous_nonneg|now apply previous_sum]. }
  assert (HiE : 0 < / E <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  rewrite (sumn_ext K _ (fun i => sumn K (fun j => previous pi i * pi j - / E * (pi i * previous pi j) +
    / E * positive_part (pi i * previous pi j - E * (previous pi i * pi j)))))
    by (intros i _; apply sumn_ext; intros j _; apply inverse_term; lra).
  rewrite (sumn_ext K _ (fun i => previous pi i * p - / E * (pi i * r) +
    / E * sumn K (fun j => positive_part (pi i * previous pi j - E * (previous pi i * pi j)))))
    by (intros i _; unfold p, r; rewrite sumn_plus, sumn_minus, !sumn_scal; reflexivity).
  rewrite sumn_plus, sumn_minus, !sumn_scal, !sumn_scal_r. fold r. fold p.
  rewrite (sumn_exchange K K (fun i j => positive_part (pi i * previous pi j - E * (previous pi i * pi j)))).
  rewrite (sumn_ext K _ (fun i => sumn K (fun j => positive_part (previous pi i * pi j - E * (pi i * previous pi j)))))
    by (intros i _; apply sumn_ext; intros j _; f_equal; ring).
  assert (r * p <= 1) by nra. assert (r * p - / E * (p * r) <= 1 - / E) by nra. lra.
Qed.

Variables (d : R) (reference : R -> R).
Hypothesis d_range : 0 <= d <= 1.
Hypothesis reference_nonneg : forall E, 0 <= reference E.
Hypothesis reference_falls : forall E E', 1 <= E <= E' -> reference E' <= reference E.
Hypothesis reference_symmetric : forall E, 1 <= E -> reference (/ E) = 1 - / E + / E * reference E.

(* Grid points from the first on, each with its bound of δ∞. *)
Fixpoint certificate (E : R) (grid : list R) : Prop :=
  match grid with
  | [] => forall K, pair_sum K E <= d
  | E' :: rest => E <= E' /\ (forall K, pair_sum K E <= d + (1 - d) * reference E') /\ certificate E' rest
  end.

Lemma certificate_above grid : forall E E0, 1 <= E0 <= E -> certificate E0 grid ->
  forall K, pair_sum K E <= d + (1 - d) * reference E.
Proof.
  induction grid as [|E' grid IH]; intros E E0 HE Hc K; simpl in Hc.
  - eapply Rle_trans; [apply (pair_sum_falls K E0 E); lra|]. specialize (Hc K). specialize (reference_nonneg E). nra.
  - destruct Hc as (HE' & Hbound & Hrest). destruct (Rle_dec E E') as [H|H].
    + eapply Rle_trans; [apply (pair_sum_falls K E0 E); lra|]. eapply Rle_trans; [apply Hbound|].
      pose proof (reference_falls E E' ltac:(lra)). nra.
    + apply (IH E E'); [lra|assumption].
Qed.

Theorem certificate_holds grid : certificate 1 grid ->
  forall E, 0 < E -> forall K, pair_sum K E <= d + (1 - d) * reference E.
Proof.
  intros Hc E HE K. destruct (Rle_dec 1 E) as [H1|H1]; [now apply (certificate_above grid E 1); [lra|]|].
  assert (Hi : 1 <= / E) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  pose proof (certificate_above grid (/ E) 1 ltac:(lra) Hc K) as H.
  pose proof (pair_of_inverse K (/ E) Hi) as Hpair. pose proof (reference_symmetric (/ E) Hi) as Href.
  rewrite !Rinv_inv in *. rewrite Href. nra.
Qed.
End Certificate.

(* A reference that the hypotheses allow: a coin that is 3/4 to 1/4 under one record and 1/4 to 3/4 under the other. *)
Definition biased (heads : bool) : R := if heads then 3 / 4 else / 4.
Definition coin_delta : R -> R := delta [true; false] biased (fun heads => biased (negb heads)).

Example reference_met : (forall E, 0 <= coin_delta E) /\ (forall E E', 1 <= E <= E' -> coin_delta E' <= coin_delta E) /\
  (forall E, 1 <= E -> coin_delta (/ E) = 1 - / E + / E * coin_delta E) /\ coin_delta 1 = / 2.
Proof.
  repeat split.
  - intros. apply delta_nonneg.
  - intros E E' H. apply delta_falls; [|lra]. intros []; unfold biased; simpl; lra.
  - intros E HE. apply (symmetric_pair [true; false] _ _ negb); try (unfold biased; simpl; lra); try lra.
    + intros f. simpl. ring.
    + intros []; reflexivity.
    + intros []; reflexivity.
  - unfold coin_delta, delta, biased, positive_part. simpl. rewrite Rmax_right, Rmax_left by lra. lra.
Qed.
