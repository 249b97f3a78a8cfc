(* SPDX-License-Identifier: Apache-2.0
   Theorems A and A′: the own messages of one asker in a crowd. S symbols have counts h_0 … h_{S-1}; clusters give every
   symbol an independent count of law π (Epoch.v proves that they do), and the asker's messages add one to each
   symbol of L(z), a public list of w different symbols. With w = 1 it is z itself. z is the true symbol with
   probability p_hi and each other one with p_lo. The sets of histograms here are finite; the
   probability of any set is the supremum over its finite parts, so the same inequalities hold for all sets.
   - Lists of w symbols are no easier to tell apart than w independent copies of theorem A's pair (two_lists), and a
     list is no easier to tell from none (presence_of_list). With w = 1: D bounds all finite sums of
     [π(i-1)π(j) - e^ε π(i)π(j-1)]₊ (two_cells).
   - The view of an epoch is then (ε, (p_hi - p_lo)·D)-DP (coin_view), and with an accepted threshold
     p_hi - p_lo ≤ (e^ε₀ - 1)/(e^ε₀ + S - 1) = 1 - γ (coin_share). Together, with π of CompoundPoisson.v: crowd_private
     for theorem A, lists_private for A′, presence_private for whether there was a query at all.
   - Whatever is done with z, it stays ε₀-DP: the floor (crowd_floor). With cover the floor hides presence too
     (cover_floor).
   - D may be the sum over i ≤ K+1, j ≤ K with twice the tail π(>K) added, as crowd_law.c adds it (truncated_sum). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums Threshold CompoundPoisson Excess.
Import ListNotations.
Open Scope R_scope.

Lemma product_at_nonneg law : (forall s k, 0 <= law s k) -> forall l at_, 0 <= product_at law at_ l.
Proof. intros H. induction l as [|a l IH]; intros at_; simpl; [lra|]. apply Rmult_le_pos; auto. Qed.

Lemma largest_count (T : list (list nat)) : exists K, forall h, In h T -> Forall (fun k => (k < K)%nat) h.
Proof.
  induction T as [|h T [K HK]]; [exists O; easy|].
  assert (Hh : exists K', Forall (fun k => (k < K')%nat) h).
  { clear. induction h as [|x h [K' H]]; [exists O; constructor|]. exists (Nat.max (S x) K').
    constructor; [lia|]. eapply Forall_impl; [|exact H]. cbv beta. intros. lia. }
  destruct Hh as [K' HK']. exists (Nat.max K K'). intros g [<-|Hg].
  - eapply Forall_impl; [|exact HK']. cbv beta. intros. lia.
  - eapply Forall_impl; [|exact (HK g Hg)]. cbv beta. intros. lia.
Qed.

Section Counts.
Variable pi : nat -> R.
Hypothesis pi_nonneg : forall k, 0 <= pi k.
Hypothesis pi_sum : forall n, sumn n pi <= 1.
Variable epsilon : R.

(* The probability of histogram h when the messages are those of L. *)
Definition counts (L : list nat) (s : nat) : nat -> R := count_law pi (member s L).
Definition histogram (L : list nat) (h : list nat) : R := product_at (counts L) 0 h.

Lemma histogram_nonneg L h : 0 <= histogram L h.
Proof. apply product_at_nonneg. intros. now apply count_law_nonneg. Qed.

Lemma all_histograms L L' K n at_ P Q :
  lsum (tuples K n) (fun h =>
    positive_part (P * product_at (counts L) at_ h - exp epsilon * (Q * product_at (counts L') at_ h)))
  = excess_of pi (exp epsilon) K (places_of L L' at_ n) P Q.
Proof.
  revert at_ P Q. induction n as [|n IH]; intros at_ P Q.
  - simpl. rewrite Rplus_0_r. f_equal. ring.
  - rewrite lsum_tuples_S. unfold places_of. simpl. apply sumn_ext. intros k _. fold (places_of L L' (S at_) n).
    rewrite <- IH. apply lsum_ext. intros h _. f_equal. unfold counts. ring.
Qed.

Lemma histograms_apart symbols L L' D T :
  (forall K, excess_of pi (exp epsilon) K (places_of L L' 0 symbols) 1 1 <= D) ->
  NoDup T -> (forall h, In h T -> length h = symbols) ->
  lsum T (histogram L) <= exp epsilon * lsum T (histogram L') + D.
Proof.
  intros HD HN Hlen. destruct (largest_count T) as [K HK].
  assert (H : lsum T (fun h => histogram L h - exp epsilon * histogram L' h) <= D).
  { eapply Rle_trans; [|apply (HD K)]. rewrite <- all_histograms.
    eapply Rle_trans; [|apply (lsum_incl T (tuples K symbols)); [assumption| |]].
    - apply lsum_le. intros h _. rewrite !Rmult_1_l. apply positive_part_above.
    - intros h Hh. apply tuples_spec. auto.
    - intros h _. apply positive_part_nonneg. }
  rewrite lsum_minus, lsum_scal in H. lra.
Qed.

Hypothesis pi_complete : complete pi.

Theorem two_lists symbols w L L' D T : list_of symbols w L -> list_of symbols w L' ->
  (forall K, excess_of pi (exp epsilon) K (copies w) 1 1 <= D) ->
  NoDup T -> (forall h, In h T -> length h = symbols) ->
  lsum T (histogram L) <= exp epsilon * lsum T (histogram L') + D.
Proof.
  intros HL HL' HD. destruct (lists_are_pairs symbols w L L' HL HL') as (k & Hk & Hperm).
  pose proof (exp_pos epsilon). apply histograms_apart. intros K.
  eapply Rle_trans; [apply excess_common; auto|]. rewrite (excess_order _ _ K _ _ 1 1 Hperm).
  apply fewer_copies with w; auto; lra.
Qed.

(* With a list and without one. *)
Theorem presence_of_list symbols w L D T : list_of symbols w L ->
  (forall K, excess_of pi (exp epsilon) K (copies w) 1 1 <= D) ->
  NoDup T -> (forall h, In h T -> length h = symbols) ->
  lsum T (histogram L) <= exp epsilon * lsum T (histogram []) + D /\
  lsum T (histogram []) <= exp epsilon * lsum T (histogram L) + D.
Proof.
  intros HL HD HN Hlen. destruct (list_and_none symbols w L HL) as [H1 H2]. pose proof (exp_pos epsilon).
  pose proof (half_of_pairs pi pi_nonneg pi_sum (exp epsilon) ltac:(lra) pi_complete w D HD) as Hhalf.
  split; apply (histograms_apart symbols); auto; intros K; (eapply Rle_trans; [apply excess_common; auto|]).
  - rewrite (excess_order _ _ K _ _ 1 1 H1). apply Hhalf.
  - rewrite (excess_order _ _ K _ _ 1 1 H2). apply Hhalf.
Qed.

(* ---- theorem A's sum ---- *)

(* One summand of δ∞. *)
Definition excess (i j : nat) : R :=
  positive_part (previous pi i * pi j - exp epsilon * (pi i * previous pi j)).
Definition square (K : nat) : R := sumn K (fun i => sumn K (fun j => excess i j)).

Lemma excess_nonneg i j : 0 <= excess i j.
Proof. apply positive_part_nonneg. Qed.

Lemma excess_below i j : excess i j <= previous pi i * pi j.
Proof.
  pose proof (previous_nonneg pi pi_nonneg i). pose proof (pi_nonneg j). pose proof (pi_nonneg i).
  pose proof (previous_nonneg pi pi_nonneg j). pose proof (exp_pos epsilon).
  assert (0 <= previous pi i * pi j) by now apply Rmult_le_pos.
  assert (0 <= exp epsilon * (pi i * previous pi j)) by (apply Rmult_le_pos; [lra|now apply Rmult_le_pos]).
  apply positive_part_below; lra.
Qed.

Lemma list_of_one symbols a : (a < symbols)%nat -> list_of symbols 1 [a].
Proof.
  intros Ha. repeat split; [constructor; [easy|constructor]|]. intros s [<-|[]]. exact Ha.
Qed.

Theorem two_cells symbols a b D T : (a < symbols)%nat -> (b < symbols)%nat -> (forall K, square K <= D) ->
  NoDup T -> (forall h, In h T -> length h = symbols) ->
  lsum T (histogram [a]) <= exp epsilon * lsum T (histogram [b]) + D.
Proof.
  intros Ha Hb HD. apply (two_lists symbols 1); try now apply list_of_one. intros K. rewrite one_copy. apply HD.
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
  { apply Rle_trans with (sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess i j) + previous pi i * tail)).
    - apply sumn_le. intros i _. rewrite (sumn_cut n (K + 1)) by (unfold n; lia). apply Rplus_le_compat_l.
      apply Rle_trans with (sumn (n - (K + 1)) (fun j => previous pi i * pi (K + 1 + j)%nat)).
      + apply sumn_le. intros. apply excess_below.
      + rewrite sumn_scal. apply Rmult_le_compat_l; [now apply previous_nonneg|apply Htail].
    - rewrite sumn_plus, sumn_scal_r. apply Rplus_le_compat_l. pose proof (previous_sum pi pi_nonneg pi_sum (K + 2)).
      assert (0 <= tail) by (specialize (Htail O); rewrite sumn_0 in Htail; exact Htail). nra. }
  lra.
Qed.
End Counts.

(* ---- the view: z is drawn ---- *)

Definition drawn (hi lo : R) (true_symbol z : nat) : R := if Nat.eqb z true_symbol then hi else lo.

Section Coin.
Context {O : Type}.
(* What is seen, o, when z was drawn: nothing else of the record enters. *)
Variables (symbols : nat) (kernel : nat -> O -> R) (hi lo : R).
Hypothesis kernel_nonneg : forall z o, 0 <= kernel z o.

Definition view (x : nat) (o : O) : R := sumn symbols (fun z => drawn hi lo x z * kernel z o).

(* Randomized response as a coin: the true symbol with hi - lo, otherwise a uniform one. *)
Lemma view_coin x o : (x < symbols)%nat ->
  view x o = (hi - lo) * kernel x o + lo * sumn symbols (fun z => kernel z o).
Proof.
  intros Hx. unfold view.
  rewrite (sumn_ext symbols _ (fun z => (if Nat.eqb z x then (hi - lo) * kernel z o else 0) + lo * kernel z o)).
  - rewrite sumn_plus, sumn_scal, (sumn_single symbols x (fun z => (hi - lo) * kernel z o)) by assumption. reflexivity.
  - intros z _. unfold drawn. destruct (Nat.eqb z x); lra.
Qed.

Theorem coin_view epsilon a b D T : (a < symbols)%nat -> (b < symbols)%nat -> 0 <= epsilon -> 0 <= lo -> lo <= hi ->
  lsum T (kernel a) <= exp epsilon * lsum T (kernel b) + D ->
  lsum T (view a) <= exp epsilon * lsum T (view b) + (hi - lo) * D.
Proof.
  intros Ha Hb He Hlo Hhi Hab. pose proof (exp_at_least_1 epsilon He).
  rewrite (lsum_ext T (view a) _ (fun o _ => view_coin a o Ha)), (lsum_ext T (view b) _ (fun o _ => view_coin b o Hb)).
  rewrite !lsum_plus, !lsum_scal. set (U := lsum T (fun o => sumn symbols (fun z => kernel z o))).
  assert (HU : 0 <= lo * U).
  { apply Rmult_le_pos; [assumption|]. apply lsum_nonneg. intros. apply sumn_nonneg. auto. }
  assert ((hi - lo) * lsum T (kernel a) <= (hi - lo) * (exp epsilon * lsum T (kernel b) + D))
    by (apply Rmult_le_compat_l; lra).
  nra.
Qed.

Lemma drawn_sum x : (x < symbols)%nat -> sumn symbols (drawn hi lo x) = hi + (INR symbols - 1) * lo.
Proof.
  intros Hx. rewrite (sumn_ext symbols _ (fun z => (if Nat.eqb z x then hi - lo else 0) + lo)).
  - rewrite sumn_plus, (sumn_single symbols x (fun _ => hi - lo)), sumn_const by assumption. ring.
  - intros z _. unfold drawn. destruct (Nat.eqb z x); ring.
Qed.

(* A mixture is no easier to tell from a law than its worst part. *)
Theorem mixture_view epsilon a (other : O -> R) D T : (a < symbols)%nat -> 0 <= lo -> 0 <= hi ->
  hi + (INR symbols - 1) * lo = 1 ->
  (forall z, (z < symbols)%nat -> lsum T (kernel z) <= exp epsilon * lsum T other + D /\
                                  lsum T other <= exp epsilon * lsum T (kernel z) + D) ->
  lsum T (view a) <= exp epsilon * lsum T other + D /\ lsum T other <= exp epsilon * lsum T (view a) + D.
Proof.
  intros Ha Hlo Hhi Hone Hz.
  assert (Hview : lsum T (view a) = sumn symbols (fun z => drawn hi lo a z * lsum T (kernel z))).
  { unfold view, sumn. rewrite lsum_exchange. apply lsum_ext. intros. apply lsum_scal. }
  assert (Hdrawn : forall z, 0 <= drawn hi lo a z) by (intros; unfold drawn; destruct (Nat.eqb _ _); assumption).
  assert (Hall : forall c, c = sumn symbols (fun z => drawn hi lo a z * c)).
  { intros c. rewrite sumn_scal_r, drawn_sum, Hone by assumption. ring. }
  rewrite Hview. split.
  - rewrite (Hall (exp epsilon * lsum T other + D)). apply sumn_le. intros z Hz0. apply Rmult_le_compat_l; [auto|].
    now apply Hz.
  - rewrite (Hall (lsum T other)), (Hall D) at 1. rewrite <- sumn_scal, <- sumn_plus. apply sumn_le. intros z Hz0.
    replace (exp epsilon * (drawn hi lo a z * lsum T (kernel z)) + drawn hi lo a z * D)
      with (drawn hi lo a z * (exp epsilon * lsum T (kernel z) + D)) by ring.
    apply Rmult_le_compat_l; [auto|]. now apply Hz.
Qed.
End Coin.

(* ---- the promises of an epoch ---- *)

(* The floor: the sum is over any finite list of things that can be seen. *)
Theorem crowd_floor {O : Type} (kernel : nat -> O -> R) (symbols a b : nat) epsilon0 P (T : list O) :
  0 <= epsilon0 -> (2 <= symbols)%nat -> accepted epsilon0 (INR symbols) P -> (forall z o, 0 <= kernel z o) ->
  let see := view symbols kernel (p_hi P) (p_lo P (INR symbols)) in
  lsum T (see a) <= exp epsilon0 * lsum T (see b).
Proof.
  intros He HS HA HK see.
  assert (HS' : 2 <= INR symbols) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  destruct (threshold_ratios _ _ _ He HS' HA) as (H1 & H2 & H3 & H4). pose proof (exp_at_least_1 epsilon0 He).
  rewrite <- lsum_scal. apply lsum_le. intros o _. unfold see, view. rewrite <- sumn_scal. apply sumn_le. intros z _.
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


(* Cover: an idle client that sends the list of a uniform symbol looks to everybody like one with a query, within
   e^ε₀. *)
Theorem cover_floor {O : Type} (kernel : nat -> O -> R) (symbols a : nat) epsilon0 P (T : list O) :
  0 <= epsilon0 -> (2 <= symbols)%nat -> accepted epsilon0 (INR symbols) P -> (forall z o, 0 <= kernel z o) ->
  let see := view symbols kernel (p_hi P) (p_lo P (INR symbols)) in
  let idle := fun o => sumn symbols (fun z => / INR symbols * kernel z o) in
  lsum T (see a) <= exp epsilon0 * lsum T idle /\ lsum T idle <= exp epsilon0 * lsum T (see a).
Proof.
  intros He HS HA HK see idle.
  assert (HS' : 2 <= INR symbols) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  destruct (coin_share _ _ _ He HS' HA) as [[Hlo Hle] _].
  destruct (threshold_ratios _ _ _ He HS' HA) as (_ & _ & H3 & H4).
  pose proof (exp_at_least_1 epsilon0 He). set (hi := p_hi P) in *. set (m := INR symbols) in *.
  assert (Hsum : hi + (m - 1) * p_lo P m = 1) by (unfold p_lo; fold hi; field; lra).
  set (lo := p_lo P m) in *. assert (Him : / m * m = 1) by (field; lra).
  assert (0 < / m) by (apply Rinv_0_lt_compat; lra).
  (* lo ≤ 1/S ≤ hi ≤ e^ε₀·lo *)
  assert (Hlo1 : lo <= / m) by nra. assert (Hhi1 : / m <= hi) by nra.
  assert (Hhi : hi <= exp epsilon0 * / m) by nra. assert (Hlo2 : / m <= exp epsilon0 * lo) by nra.
  split; rewrite <- lsum_scal; apply lsum_le; intros o _; unfold see, idle, view; rewrite <- sumn_scal; apply sumn_le;
    intros z _; specialize (HK z o); rewrite <- Rmult_assoc; apply Rmult_le_compat_r; try assumption; unfold drawn;
    destruct (Nat.eqb z a); nra.
Qed.

(* Theorem A′: w own messages L(z), a fixed list of w different symbols for every z, and D above every finite sum of w
   independent copies of theorem A's pair. *)
Section Epoch.
Variables (Lambda : R) (v symbols : nat) (epsilon0 P epsilon : R).
Hypothesis Lambda_nonneg : 0 <= Lambda.
Hypothesis size : (1 <= v)%nat.
Hypothesis cells : (2 <= symbols)%nat.
Hypothesis epsilon0_nonneg : 0 <= epsilon0.
Hypothesis threshold : accepted epsilon0 (INR symbols) P.
Hypothesis epsilon_nonneg : 0 <= epsilon.
Let law := pi Lambda v.
Variables (w : nat) (L : nat -> list nat) (D : R).
Hypothesis lists : forall z, (z < symbols)%nat -> list_of symbols w (L z).
Hypothesis bound : forall K, excess_of law (exp epsilon) K (copies w) 1 1 <= D.
Variable T : list (list nat).
Hypothesis different : NoDup T.
Hypothesis histograms : forall h, In h T -> length h = symbols.

Definition share : R := (exp epsilon0 - 1) / (exp epsilon0 + INR symbols - 1). (* 1 - γ *)
Definition epoch_view : nat -> list nat -> R :=
  view symbols (fun z => histogram law (L z)) (p_hi P) (p_lo P (INR symbols)).

Lemma law_nonneg k : 0 <= law k.
Proof. now apply pi_nonneg. Qed.

Lemma law_sum n : sumn n law <= 1.
Proof. now apply pi_sum. Qed.

Lemma law_complete : complete law.
Proof. now apply pi_complete. Qed.

Lemma cells_R : 2 <= INR symbols.
Proof. replace 2 with (INR 2) by (simpl; lra). apply le_INR. exact cells. Qed.

Theorem lists_private a b : (a < symbols)%nat -> (b < symbols)%nat ->
  lsum T (epoch_view a) <= exp epsilon * lsum T (epoch_view b) + share * D.
Proof.
  intros Ha Hb. destruct (coin_share _ _ _ epsilon0_nonneg cells_R threshold) as [[Hlo0 Hlo] Hshare].
  assert (HD0 : 0 <= D)
    by (eapply Rle_trans; [apply (excess_of_nonneg law (exp epsilon) O (copies w) 1 1)|apply bound]).
  eapply Rle_trans.
  - apply (coin_view symbols _ _ _ (fun z h => histogram_nonneg law law_nonneg (L z) h) epsilon a b D); try assumption.
    apply (two_lists law law_nonneg law_sum epsilon law_complete symbols w); auto.
  - apply Rplus_le_compat_l, Rmult_le_compat_r; assumption.
Qed.

(* Whether there was a query. *)
Theorem presence_private a : (a < symbols)%nat ->
  lsum T (epoch_view a) <= exp epsilon * lsum T (histogram law []) + D /\
  lsum T (histogram law []) <= exp epsilon * lsum T (epoch_view a) + D.
Proof.
  intros Ha. destruct (coin_share _ _ _ epsilon0_nonneg cells_R threshold) as [[Hlo0 Hlo] _].
  apply mixture_view; try assumption; [lra| |].
  - unfold p_lo. pose proof cells_R. field. lra.
  - intros z Hz. apply (presence_of_list law law_nonneg law_sum epsilon law_complete symbols w); auto.
Qed.
End Epoch.

(* Theorem A with all its parts: clusters of mean Λ per symbol and size up to v, an accepted threshold of ε₀ among S
   symbols, and δ∞ bounded by the sum over i ≤ K+1, j ≤ K and twice the tail beyond K. *)
Theorem crowd_private Lambda v symbols epsilon0 P epsilon a b K tail (T : list (list nat)) :
  0 <= Lambda -> (1 <= v)%nat -> (2 <= symbols)%nat -> 0 <= epsilon0 -> accepted epsilon0 (INR symbols) P ->
  0 <= epsilon -> (a < symbols)%nat -> (b < symbols)%nat ->
  (forall n, sumn n (fun j => pi Lambda v (K + 1 + j)%nat) <= tail) ->
  NoDup T -> (forall h, In h T -> length h = symbols) ->
  let D := sumn (K + 2) (fun i => sumn (K + 1) (fun j => excess (pi Lambda v) epsilon i j)) + 2 * tail in
  let see := epoch_view Lambda v symbols P (fun z => [z]) in
  lsum T (see a) <= exp epsilon * lsum T (see b) + share symbols epsilon0 * D.
Proof.
  intros HL Hv HS He0 HA He Ha Hb Htail HN Hlen D see.
  apply (lists_private Lambda v symbols epsilon0 P epsilon) with (w := 1%nat); try assumption.
  - intros. now apply list_of_one.
  - intros n. rewrite one_copy. apply truncated_sum; [intros; now apply pi_nonneg|intros; now apply pi_sum|exact Htail].
Qed.
