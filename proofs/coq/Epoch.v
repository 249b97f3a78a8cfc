(* SPDX-License-Identifier: Apache-2.0
   Theorems A and A′ from the draws of everybody: n clients and the relay draw Poisson numbers of clusters with uniform
   symbols and sizes (Splitting.v), the asker draws z and sends L(z), and the adversary sees how often each symbol came.
   - In an epoch in which list L was sent, histogram h has the probability that Crowd.v works with (epoch_histogram).
   - So theorems A and A′ hold for the draws themselves (crowd_private_from_draws, lists_private_from_draws), with
     Λ = (n·κ + R)/S. *)
From Coq Require Import Reals Lra Lia List Arith Bool.
From PrivateMail Require Import Sums Threshold CompoundPoisson Excess Crowd Splitting.
Import ListNotations.
Open Scope R_scope.

Lemma product_of_list (law : nat -> nat -> R) h at_ :
  product_at law at_ h = lprod (seq at_ (length h)) (fun s => law s (nth (s - at_) h O)).
Proof.
  revert at_. induction h as [|k h IH]; intros at_; [reflexivity|]. simpl. rewrite Nat.sub_diag, IH. f_equal.
  apply lprod_ext. intros s Hs. apply in_seq in Hs. replace (s - at_)%nat with (S (s - S at_)) by lia. reflexivity.
Qed.

(* The epoch as it is seen: the clusters' messages, and those of list L. With L = [z] it is theorem A's, with L(z) that
   of theorem A′. Λ is (n·κ + R)/symbols. *)
Definition seen (h : list nat) (s : nat) : nat := nth s h O.

Definition shows (symbols v : nat) (kappa relay : R) (clients N : nat) (L h : list nat) : R :=
  sumn N (fun n => clusters_of kappa relay clients n * (lsum (tuples (symbols * v) n) (fun clusters =>
    ind (forallb (fun s => Nat.eqb (sent v clusters s + (if member s L then 1 else 0)) (seen h s)) (seq 0 symbols)))
    / types symbols v ^ n)).

Lemma total_le (M M' : nat -> nat) l : (forall s, (M s <= M' s)%nat) ->
  (fold_right (fun s t => (M s + t)%nat) O l <= fold_right (fun s t => (M' s + t)%nat) O l)%nat.
Proof. intros H. induction l as [|a l IH]; simpl; [lia|]. specialize (H a). lia. Qed.

Theorem epoch_histogram symbols v kappa relay clients N L h :
  (1 <= symbols)%nat -> (1 <= v)%nat -> length h = symbols -> (total symbols (seen h) < N)%nat ->
  shows symbols v kappa relay clients N L h = histogram (pi ((INR clients * kappa + relay) / INR symbols) v) L h.
Proof.
  intros HS Hv Hlen HN. set (mean := INR clients * kappa + relay). set (law := pi (mean / INR symbols) v).
  set (rest := fun s => if member s L then (seen h s - 1)%nat else seen h s).
  remember (forallb (fun s => orb (negb (member s L)) (Nat.leb 1 (seen h s))) (seq 0 symbols)) as room eqn:Eroom.
  symmetry in Eroom.
  assert (Hshows : shows symbols v kappa relay clients N L h = if room then epoch symbols v mean N rest else 0).
  { unfold shows, epoch, ways. destruct room.
    - rewrite forallb_forall in Eroom. apply sumn_ext. intros n _. rewrite all_clusters. fold mean. f_equal. f_equal.
      apply lsum_ext. intros l _. f_equal. unfold fits. apply eq_true_iff_eq. rewrite !forallb_forall.
      unfold rest. split; intros Hall s Hs; specialize (Hall s Hs); specialize (Eroom s Hs); apply Nat.eqb_eq in Hall;
        apply Nat.eqb_eq; revert Hall Eroom; destruct (member s L); cbn [orb negb]; intros;
        try apply Nat.leb_le in Eroom; lia.
    - apply sumn_zero. intros n _. rewrite (lsum_ext _ _ (fun _ => 0)); [rewrite lsum_zero; unfold Rdiv; ring|].
      intros l _. unfold ind.
      match goal with |- (if ?c then 1 else 0) = 0 => destruct c eqn:E end; [exfalso|reflexivity].
      apply Bool.not_true_iff_false in Eroom. apply Eroom. rewrite forallb_forall in *. intros s Hs.
      specialize (E s Hs). apply Nat.eqb_eq in E. revert E. destruct (member s L); [|reflexivity]. intros E.
      cbn [orb negb]. apply Nat.leb_le. lia. }
  rewrite Hshows. unfold histogram. rewrite product_of_list, Hlen.
  rewrite (lprod_ext _ _ (fun s => counts law L s (seen h s))) by (intros; now rewrite Nat.sub_0_r).
  destruct room.
  - rewrite forallb_forall in Eroom. rewrite cluster_counts; try assumption.
    + apply lprod_ext. intros s Hs. specialize (Eroom s Hs). fold law. unfold rest, counts, count_law.
      revert Eroom. destruct (member s L); [|reflexivity]. cbn [orb negb]. intros Eroom.
      apply Nat.leb_le in Eroom. unfold previous, shifted.
      destruct (Nat.ltb_spec (seen h s) 1); [lia|reflexivity].
    + eapply Nat.le_lt_trans; [|exact HN]. apply total_le. intros s. unfold rest. destruct (member s L); lia.
  - symmetry. revert Eroom. generalize (seq 0 symbols). induction l as [|s l IH]; [discriminate|].
    cbn [forallb lprod]. intros E. apply Bool.andb_false_iff in E.
    destruct E as [E|E]; [|rewrite IH by assumption; ring].
    revert E. unfold counts, count_law. destruct (member s L); [|discriminate]. intros E. apply Nat.leb_gt in E.
    unfold previous, shifted. destruct (Nat.ltb_spec (seen h s) 1); [ring|lia].
Qed.

(* Theorems A and A′ from the draws of everybody. Fewer than N clusters are enough when no histogram of the set has N
   messages. *)
Section Draws.
Variables (symbols v : nat) (kappa relay : R) (clients N : nat) (epsilon0 P epsilon : R).
Hypothesis kappa_nonneg : 0 <= kappa.
Hypothesis relay_nonneg : 0 <= relay.
Hypothesis size : (1 <= v)%nat.
Hypothesis cells : (2 <= symbols)%nat.
Hypothesis epsilon0_nonneg : 0 <= epsilon0.
Hypothesis threshold : accepted epsilon0 (INR symbols) P.
Hypothesis epsilon_nonneg : 0 <= epsilon.
Variable T : list (list nat).
Hypothesis different : NoDup T.
Hypothesis histograms : forall h, In h T -> length h = symbols /\ (total symbols (seen h) < N)%nat.

Definition Lambda : R := (INR clients * kappa + relay) / INR symbols.
Definition seen_by_all (L : nat -> list nat) : nat -> list nat -> R :=
  view symbols (fun z => shows symbols v kappa relay clients N (L z)) (p_hi P) (p_lo P (INR symbols)).

Lemma Lambda_nonneg : 0 <= Lambda.
Proof.
  unfold Lambda. pose proof (pos_INR clients). apply Rmult_le_pos; [nra|].
  apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. lia.
Qed.

Lemma draws_make_epoch L x : lsum T (seen_by_all L x) = lsum T (epoch_view Lambda v symbols P L x).
Proof.
  apply lsum_ext. intros h Hh. destruct (histograms h Hh) as [Hlen Htot]. apply sumn_ext. intros z _.
  rewrite epoch_histogram by (assumption || lia). reflexivity.
Qed.

Theorem lists_private_from_draws w L D a b : (forall z, (z < symbols)%nat -> list_of symbols w (L z)) ->
  (forall K, excess_of (pi Lambda v) (exp epsilon) K (copies w) 1 1 <= D) -> (a < symbols)%nat -> (b < symbols)%nat ->
  lsum T (seen_by_all L a) <= exp epsilon * lsum T (seen_by_all L b) + share symbols epsilon0 * D.
Proof.
  intros HL HD Ha Hb. rewrite !draws_make_epoch.
  apply (lists_private Lambda v symbols epsilon0 P epsilon) with (w := w); try assumption; [apply Lambda_nonneg|].
  intros h Hh. now apply histograms.
Qed.

Theorem crowd_private_from_draws a b K tail : (a < symbols)%nat -> (b < symbols)%nat ->
  (forall n, sumn n (fun j => pi Lambda v (K + 1 + j)%nat) <= tail) ->
  let D := sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess (pi Lambda v) epsilon i j)) + 2 * tail in
  let see := seen_by_all (fun z => [z]) in
  lsum T (see a) <= exp epsilon * lsum T (see b) + share symbols epsilon0 * D.
Proof.
  intros Ha Hb Htail D see. unfold see. rewrite !draws_make_epoch.
  apply crowd_private; try assumption; [apply Lambda_nonneg|]. intros h Hh. now apply histograms.
Qed.
End Draws.
