(* SPDX-License-Identifier: Apache-2.0
   Theorems 1 and 2: the support function, and one slot. A row of the slot is f = ½Q_s + (Σ_{j∈J} ω_j·Q_j + u)/(2·Σω_j)
   with K distinct anchors J, weights ω_j in [β, 1] and u = (α/2^16)·U_s. `above v M` says that M is at least H_s(v): it
   bounds the K + 1 quotients that are made of the sorted products. All that a certificate's rounding up has to keep is
   that.
   - No row has ⟨f - ½Q_s, v⟩ > ½M (row_below): the direction of theorem 1 that sensitivity rests on.
   - H_s(v) is the largest of the K + 1 quotients, it is above every value, and a row reaches it, with the K largest
     products and weights that are all β or 1 (support_is_maximum): theorem 1 as it is printed.
   - Two rows of a slot have |⟨f - f', v⟩| ≤ ½(M + M') with M above v and M' above -v (two_rows), hence theorem 2(a) and
     the box that theorem 3 needs (row_in_box). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Section Sorted.
(* The products in descending order. *)
Variables (a : nat -> R) (n K : nat) (beta c : R).
Hypothesis beta_range : 0 <= beta <= 1.
Hypothesis sorted : forall i j, (i <= j)%nat -> (j < n)%nat -> a j <= a i.

Definition vertex (t j : nat) : R := if Nat.ltb j t then 1 else beta.
Definition numerator (t : nat) : R := sumn K (fun j => vertex t j * a j) + c.
Definition denominator (t : nat) : R := INR t + beta * (INR K - INR t).

Lemma vertex_sum t : (t <= K)%nat -> sumn K (vertex t) = denominator t.
Proof.
  intros Ht. rewrite (sumn_ext K _ (fun j => beta + (1 - beta) * ind (Nat.ltb j t))).
  - rewrite sumn_plus, sumn_const, sumn_scal, sumn_ind_below by assumption. unfold denominator. ring.
  - intros j _. unfold vertex, ind. destruct (Nat.ltb j t); ring.
Qed.

Section Bound.
Variable M : R.
Hypothesis quotients : forall t, (t <= K)%nat -> numerator t <= M * denominator t.

(* The best that an anchor's weight can do. *)
Definition best (x : R) : R := if Rle_dec M x then x - M else beta * (x - M).

Lemma best_weight w x : beta <= w <= 1 -> w * (x - M) <= best x.
Proof. intros Hw. unfold best. destruct (Rle_dec M x); nra. Qed.

Lemma best_grows x y : x <= y -> best x <= best y.
Proof. intros H. unfold best. destruct (Rle_dec M x), (Rle_dec M y); nra. Qed.

(* Distinct anchors are no better than the first ones. *)
Lemma first_are_best J : NoDup J -> (forall j, In j J -> (j < n)%nat) ->
  lsum J (fun j => best (a j)) <= sumn (length J) (fun j => best (a j)).
Proof.
  remember (length J) as size eqn:E. revert J E. induction size as [|size IH]; intros J E HN Hn.
  - destruct J; [|discriminate]. rewrite sumn_0. simpl. lra.
  - assert (Hbig : exists j, In j J /\ (size <= j)%nat).
    { destruct (List.Exists_dec (fun j => (size <= j)%nat) J (fun j => le_dec size j)) as [H|H].
      - apply Exists_exists in H. exact H.
      - exfalso. assert (incl J (seq 0 size)).
        { intros j Hj. apply in_seq. destruct (le_dec size j); [|lia]. exfalso. apply H. apply Exists_exists. eauto. }
        pose proof (NoDup_incl_length HN H0). rewrite seq_length in H1. lia. }
    destruct Hbig as (j & Hj & Hsize). destruct (in_split j J Hj) as (l1 & l2 & ->).
    rewrite lsum_app. simpl. rewrite sumn_S.
    assert (lsum (l1 ++ l2) (fun j => best (a j)) <= sumn size (fun j => best (a j))).
    { apply IH.
      - rewrite app_length in *. simpl in E. lia.
      - now apply NoDup_remove_1 in HN.
      - intros i Hi. apply Hn. apply in_app_or in Hi. apply in_or_app. destruct Hi; [left|right; right]; assumption. }
    rewrite lsum_app in H. assert (best (a j) <= best (a size)) by (apply best_grows, sorted;
      [assumption|now apply Hn]).
    lra.
Qed.

(* The anchors with a ≥ M are the first t. *)
Lemma threshold_exists k : (k <= n)%nat -> exists t, (t <= k)%nat /\
  forall j, (j < k)%nat -> best (a j) = vertex t j * (a j - M).
Proof.
  induction k as [|k IH]; intros Hk; [exists O; split; [lia|intros; lia]|].
  destruct (Rle_dec M (a k)) as [H|H].
  - exists (S k). split; [lia|]. intros j Hj. unfold vertex. destruct (Nat.ltb_spec j (S k)); [|lia].
    unfold best. assert (a k <= a j) by (apply sorted; lia). destruct (Rle_dec M (a j)); [lra|contradict n0; lra].
  - destruct (IH ltac:(lia)) as (t & Ht & Hbest). exists t. split; [lia|]. intros j Hj.
    destruct (Nat.eq_dec j k) as [->|]; [|apply Hbest; lia].
    unfold vertex. destruct (Nat.ltb_spec k t); [lia|]. unfold best.
    destruct (Rle_dec M (a k)); [contradiction|reflexivity].
Qed.

(* `rank j` is the place of anchor j in the order. *)
Theorem support_bound J (w : nat -> R) (rank : nat -> nat) : (K <= n)%nat -> length J = K -> NoDup (map rank J) ->
  (forall j, In j J -> (rank j < n)%nat) -> (forall j, In j J -> beta <= w j <= 1) ->
  lsum J (fun j => w j * a (rank j)) + c <= M * lsum J w.
Proof.
  intros HK Hlen HN Hn Hw.
  assert (H1 : lsum J (fun j => w j * (a (rank j) - M)) <= sumn K (fun j => best (a j))).
  { rewrite <- Hlen, <- (map_length rank J). eapply Rle_trans; [apply lsum_le; intros; apply best_weight; auto|].
    rewrite <- (lsum_map J rank (fun i => best (a i))). apply first_are_best; [assumption|].
    intros i Hi. apply in_map_iff in Hi. destruct Hi as (j & <- & Hj). auto. }
  destruct (threshold_exists K HK) as (t & Ht & Hbest). rewrite (sumn_ext K _ _ Hbest) in H1.
  assert (H2 : sumn K (fun j => vertex t j * (a j - M)) = numerator t - c - M * denominator t).
  { unfold numerator. rewrite <- (vertex_sum t Ht), <- sumn_scal.
    rewrite (sumn_ext K _ (fun j => vertex t j * a j - M * vertex t j)) by (intros; ring). rewrite sumn_minus. ring. }
  assert (H3 : lsum J (fun j => w j * (a (rank j) - M)) = lsum J (fun j => w j * a (rank j)) - M * lsum J w).
  { rewrite <- lsum_scal, <- lsum_minus. apply lsum_ext. intros. ring. }
  specialize (quotients t Ht). lra.
Qed.
End Bound.

(* ---- the maximum ---- *)

Hypothesis beta_positive : 0 < beta.
Hypothesis some : (1 <= K)%nat.

Fixpoint largest (f : nat -> R) (t : nat) : R :=
  match t with
  | O => f O
  | S t' => Rmax (largest f t') (f t)
  end.

Lemma largest_above f t t' : (t <= t')%nat -> f t <= largest f t'.
Proof.
  induction t' as [|t' IH]; intros Ht; [replace t with O by lia; apply Rle_refl|]. simpl.
  destruct (Nat.eq_dec t (S t')) as [->|]; [apply Rmax_r|]. eapply Rle_trans; [apply IH; lia|apply Rmax_l].
Qed.

Lemma largest_is_one f t' : exists t, (t <= t')%nat /\ largest f t' = f t.
Proof.
  induction t' as [|t' (t & Ht & IH)]; [exists O; auto|]. simpl. unfold Rmax.
  destruct (Rle_dec _ _); [exists (S t'); auto|exists t; auto].
Qed.

Definition support : R := largest (fun t => numerator t / denominator t) K.

Lemma denominator_positive t : (t <= K)%nat -> 0 < denominator t.
Proof.
  intros Ht. unfold denominator. apply le_INR in Ht. assert (0 < INR K) by (apply lt_0_INR; lia).
  pose proof (pos_INR t). nra.
Qed.

Lemma support_quotients t : (t <= K)%nat -> numerator t <= support * denominator t.
Proof.
  intros Ht. pose proof (denominator_positive t Ht).
  apply Rmult_le_reg_r with (/ denominator t); [now apply Rinv_0_lt_compat|].
  rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. exact (largest_above (fun t => numerator t / denominator t) t K Ht).
Qed.

Definition value (J : list nat) (w : nat -> R) : R := (lsum J (fun j => w j * a j) + c) / lsum J w.

Lemma weights_positive J (w : nat -> R) : length J = K -> (forall j, In j J -> beta <= w j <= 1) -> 0 < lsum J w.
Proof.
  intros Hlen Hw. apply Rlt_le_trans with (lsum J (fun _ => beta)).
  - rewrite lsum_const, Hlen. apply Rmult_lt_0_compat; [apply lt_0_INR; lia|assumption].
  - apply lsum_le. intros j Hj. now apply Hw.
Qed.

Theorem support_is_maximum : (K <= n)%nat ->
  (forall J w, length J = K -> NoDup J -> (forall j, In j J -> (j < n)%nat) -> (forall j, In j J -> beta <= w j <= 1) ->
    value J w <= support) /\
  (exists t, (t <= K)%nat /\ value (seq 0 K) (vertex t) = support).
Proof.
  intros HK. split.
  - intros J w Hlen HN Hn Hw. pose proof (weights_positive J w Hlen Hw) as Hpos.
    apply Rmult_le_reg_r with (lsum J w); [assumption|]. unfold value.
    replace ((lsum J (fun j => w j * a j) + c) / lsum J w * lsum J w) with (lsum J (fun j => w j * a j) + c)
      by (field; lra).
    apply (support_bound support support_quotients J w (fun j => j)); try assumption. now rewrite map_id.
  - destruct (largest_is_one (fun t => numerator t / denominator t) K) as (t & Ht & E). exists t. split; [assumption|].
    unfold support. rewrite E. unfold value, numerator. fold (sumn K (vertex t)). rewrite vertex_sum by assumption.
    reflexivity.
Qed.
End Sorted.

(* ---- rows ---- *)

Definition dot (k : nat) (x y : nat -> R) : R := sumn k (fun i => x i * y i).

Section Rows.
Variables (k n K : nat) (beta : R).
Hypothesis beta_range : 0 < beta <= 1.
Hypothesis some : (1 <= K <= n)%nat.
Variable code : nat -> nat -> R. (* of anchors *)

(* J and ω: which anchors are neighbours, and their weights. *)
Definition choice (J : list nat) (w : nat -> R) : Prop :=
  length J = K /\ NoDup J /\ (forall j, In j J -> (j < n)%nat) /\ (forall j, In j J -> beta <= w j <= 1).

Definition row_of (slot label : nat -> R) (J : list nat) (w : nat -> R) : nat -> R :=
  fun i => slot i / 2 + (lsum J (fun j => w j * code j i) + label i) / (2 * lsum J w).

(* M is at least H_s(v): there is an order of the anchors by descending products, and M bounds the quotients. *)
Definition above (label v : nat -> R) (M : R) : Prop :=
  exists (a : nat -> R) (rank : nat -> nat),
    (forall i j, (i <= j)%nat -> (j < n)%nat -> a j <= a i) /\
    (forall j, (j < n)%nat -> (rank j < n)%nat /\ a (rank j) = dot k (code j) v) /\
    (forall i j, (i < n)%nat -> (j < n)%nat -> rank i = rank j -> i = j) /\
    (forall t, (t <= K)%nat -> numerator a K beta (dot k label v) t <= M * denominator K beta t).

Lemma above_same label v v' M : (forall i, (i < k)%nat -> v i = v' i) -> above label v M -> above label v' M.
Proof.
  intros Hv (a & rank & H1 & H2 & H3 & H4). exists a, rank.
  assert (E : forall x, dot k x v = dot k x v') by (intros; apply sumn_ext; intros; now rewrite Hv).
  repeat split; try assumption; try apply H2; try assumption.
  - rewrite <- E. now apply H2.
  - rewrite <- E. now apply H4.
Qed.

Lemma injective_map (f : nat -> nat) J : NoDup J -> (forall i j, In i J -> In j J -> f i = f j -> i = j) ->
  NoDup (map f J).
Proof.
  induction J as [|x J IH]; intros HN Hf; simpl; [constructor|]. inversion HN; subst. constructor.
  - intros Hx. apply in_map_iff in Hx. destruct Hx as (y & E & Hy). apply H1.
    rewrite (Hf x y); [assumption|now left|now right|congruence].
  - apply IH; [assumption|]. intros. apply Hf; simpl; auto.
Qed.

Lemma row_along slot label J w v : choice J w ->
  dot k (row_of slot label J w) v - dot k slot v / 2 =
  (lsum J (fun j => w j * dot k (code j) v) + dot k label v) / (2 * lsum J w).
Proof.
  intros (Hlen & _ & _ & Hw).
  pose proof (weights_positive K beta (proj1 beta_range) (proj1 some) J w Hlen Hw) as Hpos. set (W := lsum J w) in *.
  assert (E : lsum J (fun j => w j * dot k (code j) v) = sumn k (fun i => lsum J (fun j => w j * code j i) * v i)).
  { unfold dot, sumn. rewrite (lsum_ext J _ (fun j => lsum (seq 0 k) (fun i => w j * (code j i * v i))))
      by (intros; symmetry; apply lsum_scal).
    rewrite lsum_exchange. apply lsum_ext. intros i _. rewrite <- lsum_scal_r. apply lsum_ext. intros. ring. }
  rewrite E. unfold dot. unfold Rdiv. rewrite <- sumn_scal_r, <- sumn_minus, <- sumn_plus, <- sumn_scal_r.
  apply sumn_ext. intros i _. unfold row_of. fold W. field. lra.
Qed.

Theorem row_below slot label J w v M : choice J w -> above label v M ->
  dot k (row_of slot label J w) v - dot k slot v / 2 <= M / 2.
Proof.
  intros HJ (a & rank & Hsorted & Hrank & Hinj & Hq). rewrite row_along by assumption.
  destruct HJ as (Hlen & HN & Hn & Hw).
  pose proof (weights_positive K beta (proj1 beta_range) (proj1 some) J w Hlen Hw) as Hpos.
  assert (H : lsum J (fun j => w j * a (rank j)) + dot k label v <= M * lsum J w).
  { apply (support_bound a n K beta (dot k label v)); try assumption; try lia; try lra.
    - apply injective_map; [assumption|]. intros i j Hi Hj. apply Hinj; auto.
    - intros j Hj. apply Hrank. auto. }
  rewrite (lsum_ext J _ (fun j => w j * dot k (code j) v)) in H
    by (intros j Hj; destruct (Hrank j (Hn j Hj)) as [_ ->]; reflexivity).
  apply Rmult_le_reg_r with (2 * lsum J w); [lra|].
  replace ((lsum J (fun j => w j * dot k (code j) v) + dot k label v) / (2 * lsum J w) * (2 * lsum J w))
    with (lsum J (fun j => w j * dot k (code j) v) + dot k label v) by (field; lra).
  lra.
Qed.

Definition minus (v : nat -> R) : nat -> R := fun i => - v i.

Lemma dot_minus x v : dot k x (minus v) = - dot k x v.
Proof.
  unfold dot, minus. rewrite (sumn_ext k _ (fun i => -1 * (x i * v i))) by (intros; ring). rewrite sumn_scal. ring.
Qed.

Theorem two_rows slot label J w J' w' v M M' : choice J w -> choice J' w' ->
  above label v M -> above label (minus v) M' ->
  dot k (row_of slot label J w) v - dot k (row_of slot label J' w') v <= (M + M') / 2.
Proof.
  intros HJ HJ' HM HM'. pose proof (row_below slot label J w v M HJ HM).
  pose proof (row_below slot label J' w' (minus v) M' HJ' HM') as H'. rewrite !dot_minus in H'. lra.
Qed.

(* The axes: v = unit·e_i, 4096 on the device. *)
Definition axis (unit : R) (i : nat) : nat -> R := fun x => if Nat.eqb x i then unit else 0.

Lemma dot_axis x unit i : (i < k)%nat -> dot k x (axis unit i) = unit * x i.
Proof.
  intros Hi. unfold dot, axis. rewrite <- (sumn_single k i (fun i => unit * x i) Hi). apply sumn_ext. intros j _.
  destruct (Nat.eqb j i); ring.
Qed.

Theorem row_in_box slot label J w i unit M M' : choice J w -> (i < k)%nat -> 0 < unit ->
  above label (axis unit i) M -> above label (minus (axis unit i)) M' ->
  slot i / 2 - M' / (2 * unit) <= row_of slot label J w i <= slot i / 2 + M / (2 * unit).
Proof.
  intros HJ Hi Hunit HM HM'. pose proof (row_below slot label J w _ M HJ HM) as H.
  pose proof (row_below slot label J w _ M' HJ HM') as H'.
  rewrite !dot_minus, !dot_axis in H' by assumption. rewrite !dot_axis in H by assumption.
  assert (E : forall x, x / (2 * unit) * unit = x / 2) by (intros; field; lra).
  split; apply Rmult_le_reg_r with unit; try assumption;
    [rewrite Rmult_minus_distr_r, E|rewrite Rmult_plus_distr_r, E]; lra.
Qed.
End Rows.

(* A certificate exists: with one anchor and no label term, H(v) is its product with v. *)
Example one_anchor code v : above 2 1 1 (/ 2) code (fun _ => 0) v (dot 2 (code O) v).
Proof.
  assert (Hzero : dot 2 (fun _ => 0) v = 0) by (apply sumn_zero; intros; ring).
  exists (fun _ => dot 2 (code O) v), (fun j => j). repeat split; intros; try lra; try assumption.
  - replace j with O by lia. reflexivity.
  - rewrite Hzero. unfold numerator, denominator, vertex, sumn.
    assert (Ht : t = O \/ t = 1%nat) by lia. destruct Ht as [->| ->]; simpl; lra.
Qed.
