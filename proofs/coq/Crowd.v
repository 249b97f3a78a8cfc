(* SPDX-License-Identifier: Apache-2.0
   Theorem A: one message in a crowd. S symbols have counts h_0 … h_{S-1}; clusters give every symbol an independent
   count of law π, and the asker's message adds one to the symbol z that was drawn. z is the true symbol with
   probability p_hi and each other one with p_lo. The sets of histograms here are finite; the probability of any set is
   the supremum over its finite parts, so the same inequalities hold for all sets.
   - Only the counts of the two symbols a and b speak: for messages a and b the difference is at most D, where D bounds
     all finite sums of [π(i-1)π(j) - e^ε π(i)π(j-1)]₊ (two_cells).
   - The view of an epoch is (ε, (p_hi - p_lo)·D)-DP (crowd_view), and with an accepted threshold
     p_hi - p_lo ≤ (e^ε₀ - 1)/(e^ε₀ + S - 1) = 1 - γ (coin_share). Together: crowd_private, with π of CompoundPoisson.v.
   - Whatever is done with z, it stays ε₀-DP: the floor (crowd_floor).
   - D may be the sum over i ≤ K+1, j ≤ K with twice the tail π(>K) added, as crowd_law.c adds it (truncated_sum). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums Threshold CompoundPoisson.
Import ListNotations.
Open Scope R_scope.

Definition positive_part (x : R) : R := Rmax 0 x.

Lemma positive_part_above x : x <= positive_part x.
Proof. apply Rmax_r. Qed.

Lemma positive_part_nonneg x : 0 <= positive_part x.
Proof. apply Rmax_l. Qed.

(* ---- products over symbols ---- *)

Lemma product_at_nonneg law : (forall s k, 0 <= law s k) -> forall l at_, 0 <= product_at law at_ l.
Proof. intros H. induction l as [|a l IH]; intros at_; simpl; [lra|]. apply Rmult_le_pos; auto. Qed.

Lemma product_at_ext law law' l : forall at_,
  (forall s k, (at_ <= s)%nat -> law s k = law' s k) -> product_at law at_ l = product_at law' at_ l.
Proof.
  induction l as [|a l IH]; intros at_ H; simpl; [reflexivity|].
  rewrite H, (IH (S at_)) by (intros; try apply H; lia). reflexivity.
Qed.

(* Two laws that differ at one symbol only, there by the factor g. *)
Lemma product_at_change law law' g l : forall at_ a, (a < length l)%nat ->
  (forall s k, s <> (at_ + a)%nat -> law s k = law' s k) ->
  law (at_ + a)%nat (nth a l O) = g * law' (at_ + a)%nat (nth a l O) ->
  product_at law at_ l = g * product_at law' at_ l.
Proof.
  induction l as [|x l IH]; intros at_ a Ha Hother Hat; simpl in Ha; [lia|]. destruct a as [|a]; simpl.
  - rewrite Nat.add_0_r in *. simpl in Hat. rewrite Hat, (product_at_ext law law').
    + lra.
    + intros. apply Hother. lia.
  - rewrite (Hother at_ x) by lia. rewrite (IH (S at_) a).
    + lra.
    + lia.
    + intros. apply Hother. lia.
    + simpl in Hat. replace (S at_ + a)%nat with (at_ + S a)%nat by lia. exact Hat.
Qed.

Section Pair.
Variable pi : nat -> R.
Hypothesis pi_nonneg : forall k, 0 <= pi k.
Hypothesis pi_sum : forall n, sumn n pi <= 1.

Definition previous : nat -> R := shifted 1 pi. (* π(k-1), 0 for k = 0 *)

Lemma previous_nonneg k : 0 <= previous k.
Proof. now apply shifted_nonneg. Qed.

Lemma previous_sum n : sumn n previous <= 1.
Proof. apply Rle_trans with (sumn n pi); [now apply shifted_sum|apply pi_sum]. Qed.

(* The probability of histogram h when the message is z. *)
Definition counts (z s k : nat) : R := if Nat.eqb s z then previous k else pi k.
Definition histogram (z : nat) (h : list nat) : R := product_at (counts z) 0 h.

Lemma histogram_nonneg z h : 0 <= histogram z h.
Proof.
  apply product_at_nonneg. intros s k. unfold counts. destruct (Nat.eqb s z); [apply previous_nonneg|apply pi_nonneg].
Qed.

Variables (epsilon : R) (S a b : nat).
Hypothesis a_symbol : (a < S)%nat.
Hypothesis b_symbol : (b < S)%nat.
Hypothesis different : a <> b.

(* One summand of δ∞. *)
Definition excess (i j : nat) : R := positive_part (previous i * pi j - exp epsilon * (pi i * previous j)).

Lemma excess_nonneg i j : 0 <= excess i j.
Proof. apply positive_part_nonneg. Qed.

Lemma excess_below i j : excess i j <= previous i * pi j.
Proof.
  unfold excess, positive_part. pose proof (previous_nonneg i). pose proof (pi_nonneg j).
  pose proof (pi_nonneg i). pose proof (previous_nonneg j). pose proof (exp_pos epsilon).
  assert (0 <= previous i * pi j) by now apply Rmult_le_pos.
  assert (0 <= exp epsilon * (pi i * previous j)) by (apply Rmult_le_pos; [lra|now apply Rmult_le_pos]).
  apply Rmax_lub; lra.
Qed.

(* All symbols but a and b, whose counts are fixed to i and j. *)
Definition elsewhere (i j s k : nat) : R :=
  if Nat.eqb s a then ind (Nat.eqb k i) else if Nat.eqb s b then ind (Nat.eqb k j) else pi k.

Lemma elsewhere_nonneg i j s k : 0 <= elsewhere i j s k.
Proof. unfold elsewhere, ind. repeat destruct (Nat.eqb _ _); try lra; apply pi_nonneg. Qed.

Lemma elsewhere_sum i j s K : sumn K (elsewhere i j s) <= 1.
Proof.
  assert (Hi : forall x, sumn K (fun k => ind (Nat.eqb k x)) <= 1).
  { intros x. destruct (Nat.lt_ge_cases x K) as [H|H]; [rewrite sumn_ind_single by assumption; lra|].
    rewrite sumn_zero; [lra|]. intros k Hk. unfold ind. destruct (Nat.eqb_spec k x); [lia|reflexivity]. }
  unfold elsewhere. destruct (Nat.eqb s a); [apply Hi|]. destruct (Nat.eqb s b); [apply Hi|]. apply pi_sum.
Qed.

Lemma fixed_counts (f g : nat -> R) h (law : nat -> nat -> R) : length h = S ->
  (forall s k, s <> a -> s <> b -> law s k = pi k) -> (forall k, law a k = f k) -> (forall k, law b k = g k) ->
  product_at law 0 h = f (nth a h O) * g (nth b h O) * product_at (elsewhere (nth a h O) (nth b h O)) 0 h.
Proof.
  intros Hlen Hother Ha Hb. set (i := nth a h O). set (j := nth b h O).
  set (middle := fun s k => if Nat.eqb s a then ind (Nat.eqb k i) else law s k).
  rewrite (product_at_change law middle (f i) h 0 a).
  - rewrite (product_at_change middle (elsewhere i j) (g j) h 0 b).
    + ring.
    + lia.
    + intros s k Hs. simpl in Hs. unfold middle, elsewhere. destruct (Nat.eqb_spec s a); [reflexivity|].
      destruct (Nat.eqb_spec s b); [contradiction|]. now apply Hother.
    + simpl. fold j. unfold middle, elsewhere. destruct (Nat.eqb_spec b a); [congruence|].
      rewrite !Nat.eqb_refl, Hb. unfold ind. lra.
  - lia.
  - intros s k Hs. simpl in Hs. unfold middle. destruct (Nat.eqb_spec s a); [contradiction|reflexivity].
  - simpl. fold i. unfold middle. rewrite !Nat.eqb_refl, Ha. unfold ind. lra.
Qed.

Lemma difference h : length h = S ->
  histogram a h - exp epsilon * histogram b h <=
  excess (nth a h O) (nth b h O) * product_at (elsewhere (nth a h O) (nth b h O)) 0 h.
Proof.
  intros Hlen. unfold histogram.
  rewrite (fixed_counts previous pi h (counts a)), (fixed_counts pi previous h (counts b)); try assumption;
    try (intros s k Hsa Hsb; unfold counts; destruct (Nat.eqb_spec s a); [contradiction|];
         destruct (Nat.eqb_spec s b); [contradiction|]; reflexivity);
    try (intros k; unfold counts; rewrite Nat.eqb_refl; reflexivity).
  - set (i := nth a h O). set (j := nth b h O).
    assert (0 <= product_at (elsewhere i j) 0 h) by (apply product_at_nonneg; intros; apply elsewhere_nonneg).
    replace (previous i * pi j * product_at (elsewhere i j) 0 h - exp epsilon * (pi i * previous j * product_at
      (elsewhere i j) 0 h))
      with ((previous i * pi j - exp epsilon * (pi i * previous j)) * product_at (elsewhere i j) 0 h) by ring.
    apply Rmult_le_compat_r; [assumption|]. apply positive_part_above.
  - intros k. unfold counts. destruct (Nat.eqb_spec a b); [contradiction|reflexivity].
  - intros k. unfold counts. destruct (Nat.eqb_spec b a); [congruence|reflexivity].
Qed.

Definition square (K : nat) : R := sumn K (fun i => sumn K (fun j => excess i j)).

(* All histograms with counts below K, together: symbols other than a and b sum to at most 1. *)
Lemma all_histograms K :
  lsum (tuples K S) (fun h => excess (nth a h O) (nth b h O) * product_at (elsewhere (nth a h O) (nth b h O)) 0 h)
  <= square K.
Proof.
  apply Rle_trans with (lsum (tuples K S) (fun h =>
    sumn K (fun i => sumn K (fun j => excess i j * product_at (elsewhere i j) 0 h)))).
  - apply lsum_le. intros h Hh. apply tuples_spec in Hh. destruct Hh as [Hlen Hall]. rewrite Forall_forall in Hall.
    set (i := nth a h O). set (j := nth b h O).
    assert (Hi : (i < K)%nat) by (apply Hall, nth_In; lia). assert (Hj : (j < K)%nat) by (apply Hall, nth_In; lia).
    assert (H0 : forall i j, 0 <= excess i j * product_at (elsewhere i j) 0 h).
    { intros. apply Rmult_le_pos; [apply excess_nonneg|]. apply product_at_nonneg. intros; apply elsewhere_nonneg. }
    apply Rle_trans with (sumn K (fun j => excess i j * product_at (elsewhere i j) 0 h)).
    + apply (sumn_In K (fun j => excess i j * product_at (elsewhere i j) 0 h)); auto.
    + apply (sumn_In K (fun i => sumn K (fun j => excess i j * product_at (elsewhere i j) 0 h))); auto.
      intros. now apply sumn_nonneg.
  - unfold square, sumn. rewrite lsum_exchange. apply lsum_le. intros i _. rewrite lsum_exchange. apply lsum_le.
    intros j _. rewrite lsum_scal. rewrite <- (Rmult_1_r (excess i j)) at 2.
    apply Rmult_le_compat_l; [apply excess_nonneg|].
    apply (tuples_product_le K S (elsewhere i j)); [intros; apply elsewhere_nonneg|intros; apply elsewhere_sum].
Qed.

Lemma largest_count (T : list (list nat)) : exists K, forall h, In h T -> Forall (fun k => (k < K)%nat) h.
Proof.
  induction T as [|h T [K HK]]; [exists O; easy|].
  assert (Hh : exists K', Forall (fun k => (k < K')%nat) h).
  { clear. induction h as [|x h [K' H]]; [exists O; constructor|]. exists (Nat.max (Datatypes.S x) K').
    constructor; [lia|]. eapply Forall_impl; [|exact H]. cbv beta. intros. lia. }
  destruct Hh as [K' HK']. exists (Nat.max K K'). intros g [<-|Hg].
  - eapply Forall_impl; [|exact HK']. cbv beta. intros. lia.
  - eapply Forall_impl; [|exact (HK g Hg)]. cbv beta. intros. lia.
Qed.

Theorem two_cells D T : (forall K, square K <= D) -> NoDup T -> (forall h, In h T -> length h = S) ->
  lsum T (histogram a) <= exp epsilon * lsum T (histogram b) + D.
Proof.
  intros HD HN Hlen. destruct (largest_count T) as [K HK].
  assert (lsum T (fun h => histogram a h - exp epsilon * histogram b h) <= D).
  { eapply Rle_trans; [|apply (HD K)]. eapply Rle_trans; [|apply all_histograms].
    eapply Rle_trans; [apply lsum_le; intros h Hh; apply difference; now apply Hlen|].
    apply (lsum_incl T (tuples K S)); [assumption| |].
    - intros h Hh. apply tuples_spec. auto.
    - intros h _. apply Rmult_le_pos; [apply excess_nonneg|]. apply product_at_nonneg. intros; apply elsewhere_nonneg. }
  rewrite lsum_minus, lsum_scal in H. lra.
Qed.

(* ---- the view: z is drawn ---- *)

Variables (hi lo : R).
Definition drawn (true_symbol z : nat) : R := if Nat.eqb z true_symbol then hi else lo.
Definition view (true_symbol : nat) (h : list nat) : R := sumn S (fun z => drawn true_symbol z * histogram z h).

(* Randomized response as a coin: the true symbol with hi - lo, otherwise a uniform one. *)
Lemma view_coin x h : (x < S)%nat -> view x h = (hi - lo) * histogram x h + lo * sumn S (fun z => histogram z h).
Proof.
  intros Hx. unfold view.
  rewrite (sumn_ext S _ (fun z => (if Nat.eqb z x then (hi - lo) * histogram z h else 0) + lo * histogram z h)).
  - rewrite sumn_plus, sumn_scal, (sumn_single S x (fun z => (hi - lo) * histogram z h)) by assumption. reflexivity.
  - intros z _. unfold drawn. destruct (Nat.eqb z x); lra.
Qed.

Theorem crowd_view D T : 0 <= epsilon -> 0 <= lo -> lo <= hi ->
  (forall K, square K <= D) -> NoDup T -> (forall h, In h T -> length h = S) ->
  lsum T (view a) <= exp epsilon * lsum T (view b) + (hi - lo) * D.
Proof.
  intros He Hlo Hhi HD HN Hlen. pose proof (two_cells D T HD HN Hlen) as Hab.
  pose proof (exp_at_least_1 epsilon He).
  rewrite (lsum_ext T (view a) (fun h => (hi - lo) * histogram a h + lo * sumn S (fun z => histogram z h)))
    by (intros; now apply view_coin).
  rewrite (lsum_ext T (view b) (fun h => (hi - lo) * histogram b h + lo * sumn S (fun z => histogram z h)))
    by (intros; now apply view_coin).
  rewrite !lsum_plus, !lsum_scal. set (U := lsum T (fun h => sumn S (fun z => histogram z h))).
  assert (HU : 0 <= lo * U).
  { apply Rmult_le_pos; [assumption|]. apply lsum_nonneg. intros. apply sumn_nonneg. intros. apply histogram_nonneg. }
  assert ((hi - lo) * lsum T (histogram a) <= (hi - lo) * (exp epsilon * lsum T (histogram b) + D))
    by (apply Rmult_le_compat_l; lra).
  nra.
Qed.

(* ---- a finite sum that bounds all of them ---- *)

Theorem truncated_sum K tail : (forall n, sumn n (fun j => pi (K + 1 + j)%nat) <= tail) ->
  forall N, square N <= sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess i j)) + 2 * tail.
Proof.
  intros Htail N. set (n := (N + K + 2)%nat).
  assert (Hgrow : square N <= square n).
  { unfold square. apply Rle_trans with (sumn N (fun i => sumn n (fun j => excess i j))).
    - apply sumn_le. intros. apply sumn_le_n; [unfold n; lia|intros; apply excess_nonneg].
    - apply sumn_le_n; [unfold n; lia|]. intros. apply sumn_nonneg. intros. apply excess_nonneg. }
  apply Rle_trans with (1 := Hgrow). unfold square.
  rewrite (sumn_cut n (K + 2)) by (unfold n; lia).
  assert (Hrows : sumn (n - (K + 2)) (fun i => sumn n (fun j => excess (K + 2 + i) j)) <= tail).
  { apply Rle_trans with (sumn (n - (K + 2)) (fun i => pi (K + 1 + i)%nat)); [|apply Htail].
    apply sumn_le. intros i _. apply Rle_trans with (sumn n (fun j => pi (K + 1 + i)%nat * pi j)).
    - apply sumn_le. intros j _. eapply Rle_trans; [apply excess_below|]. unfold previous, shifted.
      destruct (Nat.ltb_spec (K + 2 + i) 1); [lia|]. replace (K + 2 + i - 1)%nat with (K + 1 + i)%nat by lia. lra.
    - rewrite sumn_scal. pose proof (pi_nonneg (K + 1 + i)). pose proof (pi_sum n). nra. }
  assert (Hcolumns : sumn (K + 2) (fun i => sumn n (fun j => excess i j)) <=
                     sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess i j)) + tail).
  { apply Rle_trans with (sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess i j) + previous i * tail)).
    - apply sumn_le. intros i _. rewrite (sumn_cut n (K + 1)) by (unfold n; lia). apply Rplus_le_compat_l.
      apply Rle_trans with (sumn (n - (K + 1)) (fun j => previous i * pi (K + 1 + j)%nat)).
      + apply sumn_le. intros. apply excess_below.
      + rewrite sumn_scal. apply Rmult_le_compat_l; [apply previous_nonneg|apply Htail].
    - rewrite sumn_plus, sumn_scal_r. apply Rplus_le_compat_l. pose proof (previous_sum (K + 2)).
      assert (0 <= tail) by (specialize (Htail O); rewrite sumn_0 in Htail; exact Htail). nra. }
  lra.
Qed.
End Pair.

(* ---- the promises of an epoch ---- *)

(* The floor. `kernel z o` is the probability of what anybody sees, o, when z was drawn: nothing else of the record
   enters. The sum is over any finite list of things that can be seen. *)
Theorem crowd_floor {O : Type} (kernel : nat -> O -> R) (S a b : nat) epsilon0 P (T : list O) :
  0 <= epsilon0 -> (2 <= S)%nat -> accepted epsilon0 (INR S) P -> (forall z o, 0 <= kernel z o) ->
  let see x o := sumn S (fun z => drawn (p_hi P) (p_lo P (INR S)) x z * kernel z o) in
  lsum T (see a) <= exp epsilon0 * lsum T (see b).
Proof.
  intros He HS HA HK see.
  assert (HS' : 2 <= INR S) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  destruct (threshold_ratios _ _ _ He HS' HA) as (H1 & H2 & H3 & H4). pose proof (exp_at_least_1 epsilon0 He).
  rewrite <- lsum_scal. apply lsum_le. intros o _. unfold see. rewrite <- sumn_scal. apply sumn_le. intros z _.
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply HK|].
  unfold drawn. destruct (Nat.eqb z a), (Nat.eqb z b); nra.
Qed.

Theorem coin_share epsilon0 m P : 0 <= epsilon0 -> 2 <= m -> accepted epsilon0 m P ->
  0 <= p_lo P m <= p_hi P /\ p_hi P - p_lo P m <= (exp epsilon0 - 1) / (exp epsilon0 + m - 1).
Proof.
  intros He Hm HA. destruct (threshold_ratios _ _ _ He Hm HA) as (H1 & H2 & _ & _). destruct HA as [Hu Hl].
  apply above_low in Hl; [|lra]. pose proof (exp_at_least_1 epsilon0 He).
  assert (Hp : p_hi P <= ideal epsilon0 m).
  { unfold p_hi. apply Rmult_le_reg_r with two40; [unfold two40; lra|].
    replace (P / two40 * two40) with P by (unfold two40; field). lra. }
  assert (Hq : 1 <= p_hi P * m).
  { unfold p_hi. apply Rmult_le_reg_r with two40; [unfold two40; lra|].
    replace (P / two40 * m * two40) with (P * m) by (unfold two40; field). lra. }
  set (p := p_hi P) in *. unfold p_lo in *. fold p. fold p in H1.
  assert (Hlo : (1 - p) / (m - 1) <= p).
  { apply Rmult_le_reg_r with (m - 1); [lra|]. replace ((1 - p) / (m - 1) * (m - 1)) with (1 - p) by (field; lra).
  lra. }
  split; [lra|].
  replace ((exp epsilon0 - 1) / (exp epsilon0 + m - 1)) with (ideal epsilon0 m - (1 - ideal epsilon0 m) / (m - 1))
    by (unfold ideal; field; lra).
  set (r := ideal epsilon0 m) in *.
  assert ((1 - r) / (m - 1) <= (1 - p) / (m - 1)).
  { unfold Rdiv. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|lra]. }
  lra.
Qed.

(* Theorem A with all its parts: clusters of mean Λ per symbol and size up to v, an accepted threshold of ε₀ among S
   symbols, and δ∞ bounded by the sum over i ≤ K+1, j ≤ K and twice the tail beyond K. *)
Theorem crowd_private Lambda v S epsilon0 P epsilon a b K tail (T : list (list nat)) :
  0 <= Lambda -> (1 <= v)%nat -> (2 <= S)%nat -> 0 <= epsilon0 -> accepted epsilon0 (INR S) P -> 0 <= epsilon ->
  (a < S)%nat -> (b < S)%nat -> a <> b ->
  (forall n, sumn n (fun j => pi Lambda v (K + 1 + j)%nat) <= tail) ->
  NoDup T -> (forall h, In h T -> length h = S) ->
  let law := pi Lambda v in
  let D := sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess law epsilon i j)) + 2 * tail in
  lsum T (view law S (p_hi P) (p_lo P (INR S)) a) <=
  exp epsilon * lsum T (view law S (p_hi P) (p_lo P (INR S)) b) +
  (exp epsilon0 - 1) / (exp epsilon0 + INR S - 1) * D.
Proof.
  intros HL Hv HS He0 HA He Ha Hb Hab Htail HN Hlen law D.
  assert (HS' : 2 <= INR S) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  destruct (coin_share _ _ _ He0 HS' HA) as [[Hlo0 Hlo] Hshare].
  assert (H0 : forall k, 0 <= law k) by (intros; now apply pi_nonneg).
  assert (H1 : forall n, sumn n law <= 1) by (intros; now apply pi_sum).
  assert (HD : forall n, square law epsilon n <= D)
    by (exact (truncated_sum law H0 H1 epsilon S a b Ha Hb Hab K tail Htail)).
  assert (HD0 : 0 <= D).
  { apply Rle_trans with (square law epsilon 0); [unfold square; rewrite sumn_0; lra|apply HD]. }
  eapply Rle_trans; [apply (crowd_view law H0 H1 epsilon S a b Ha Hb Hab _ _ D T); assumption|].
  apply Rplus_le_compat_l. apply Rmult_le_compat_r; assumption.
Qed.
