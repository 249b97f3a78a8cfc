(* SPDX-License-Identifier: Apache-2.0
   Theorems 1 to 3b for any k coordinates: the class costs nothing in the Gaussian mechanism.
   - Theorem 1, the direction that sensitivity rests on: with a_0 ≥ a_1 ≥ … the sorted products and weights in [β, 1],
     (Σ_{j∈J} ω_j·a_j + c)/Σω_j is at most any M that bounds the K + 1 quotients of H, for every J of K distinct
     anchors (support_bound).
   - Theorem 3: when every row of slot s lies in a box with widths w_{s,i} and every other slot holds the centre of its
     box, the matrices of any two records differ by at most sqrt(Σ_i max_s w²_{s,i}), whether the slot is the same or
     not (box_sensitivity).
   - Theorem 3b: the same for balls of diameter ρ (ball_sensitivity); with two slots it is even ρ/√2 (two_rows_ball).
   Distances are squared, so that no root is taken. *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Section Matrices.
Variables (G k : nat).
Definition row := nat -> R.

Definition square (x : R) : R := x * x.
Definition distance2 (f f' : row) : R := sumn k (fun i => square (f i - f' i)).

(* The matrix of a record: its row in slot y, the public centre in every other. *)
Definition matrix (centre : nat -> row) (f : row) (y s : nat) : row := if Nat.eqb s y then f else centre s.
Definition frobenius2 (A B : nat -> row) : R := sumn G (fun s => distance2 (A s) (B s)).

Lemma distance2_self f : distance2 f f = 0.
Proof. apply sumn_zero. intros. unfold square. ring. Qed.

Lemma distance2_sym f f' : distance2 f f' = distance2 f' f.
Proof. apply sumn_ext. intros. unfold square. ring. Qed.

(* One slot: one row changes. Two slots: row y moves from f to its centre, row y' from its centre to f'. *)
Lemma same_slot centre f f' y : (y < G)%nat -> frobenius2 (matrix centre f y) (matrix centre f' y) = distance2 f f'.
Proof.
  intros Hy. unfold frobenius2. rewrite <- (sumn_single G y (fun _ => distance2 f f') Hy). apply sumn_ext. intros s _.
  unfold matrix. destruct (Nat.eqb s y); [reflexivity|apply distance2_self].
Qed.

Lemma two_slots centre f f' y y' : (y < G)%nat -> (y' < G)%nat -> y <> y' ->
  frobenius2 (matrix centre f y) (matrix centre f' y') = distance2 f (centre y) + distance2 (centre y') f'.
Proof.
  intros Hy Hy' Hne. unfold frobenius2.
  rewrite <- (sumn_single G y (fun _ => distance2 f (centre y)) Hy).
  rewrite <- (sumn_single G y' (fun _ => distance2 (centre y') f') Hy'). rewrite <- sumn_plus. apply sumn_ext.
  intros s _.
  unfold matrix. destruct (Nat.eqb_spec s y), (Nat.eqb_spec s y'); subst; try contradiction;
    try rewrite distance2_self; lra.
Qed.

Lemma square_le x y : - y <= x <= y -> square x <= square y.
Proof. unfold square. intros. nra. Qed.

(* ---- theorem 3: boxes ---- *)

Variables (low high : nat -> row). (* of every slot *)
Variable widest : row.             (* max over slots of the widths *)
Hypothesis widest_is : forall s i, (s < G)%nat -> (i < k)%nat -> 0 <= high s i - low s i <= widest i.

Definition in_box (s : nat) (f : row) : Prop := forall i, (i < k)%nat -> low s i <= f i <= high s i.
Definition middle (s : nat) : row := fun i => (low s i + high s i) / 2.

Lemma half_box s f : (s < G)%nat -> in_box s f -> distance2 f (middle s) <= / 4 * sumn k (fun i => square (widest i)).
Proof.
  intros Hs Hf. unfold distance2. rewrite <- sumn_scal. apply sumn_le. intros i Hi.
  specialize (Hf i Hi). pose proof (widest_is s i Hs Hi).
  replace (/ 4 * square (widest i)) with (square (widest i / 2)) by (unfold square; field).
  apply square_le. unfold middle. lra.
Qed.

Theorem box_sensitivity f f' y y' : (y < G)%nat -> (y' < G)%nat -> in_box y f -> in_box y' f' ->
  frobenius2 (matrix middle f y) (matrix middle f' y') <= sumn k (fun i => square (widest i)).
Proof.
  intros Hy Hy' Hf Hf'. destruct (Nat.eq_dec y y') as [<-|Hne].
  - rewrite same_slot by assumption. apply sumn_le. intros i Hi. apply square_le.
    specialize (Hf i Hi). specialize (Hf' i Hi). pose proof (widest_is y i Hy Hi). lra.
  - rewrite two_slots, (distance2_sym (middle y')) by assumption.
    pose proof (half_box y f Hy Hf). pose proof (half_box y' f' Hy' Hf').
    assert (0 <= sumn k (fun i => square (widest i))) by (apply sumn_nonneg; intros; unfold square; nra). lra.
Qed.

(* Two slots move by at most half of the squared diagonal: max_s box_s/√2. *)
Theorem box_two_slots f f' y y' : (y < G)%nat -> (y' < G)%nat -> y <> y' -> in_box y f -> in_box y' f' ->
  2 * frobenius2 (matrix middle f y) (matrix middle f' y') <= sumn k (fun i => square (widest i)).
Proof.
  intros Hy Hy' Hne Hf Hf'. rewrite two_slots, (distance2_sym (middle y')) by assumption.
  pose proof (half_box y f Hy Hf). pose proof (half_box y' f' Hy' Hf'). lra.
Qed.
End Matrices.

(* ---- theorem 3b: balls ---- *)

Section Balls.
Variables (G k : nat) (centre : nat -> row) (rho : R).
(* Every row of slot s is within ρ/2 of the slot's centre. *)
Definition in_ball (s : nat) (f : row) : Prop := distance2 k f (centre s) <= square (rho / 2).

(* ‖f - f'‖² ≤ 2‖f - c‖² + 2‖f' - c‖²: both in one ball of diameter ρ. *)
Lemma ball_diameter f f' c : distance2 k f f' <= 2 * distance2 k f c + 2 * distance2 k f' c.
Proof.
  unfold distance2. rewrite <- !sumn_scal, <- sumn_plus. apply sumn_le. intros i _. unfold square.
  pose proof (Rle_0_sqr (f i - c i + (f' i - c i))) as H. unfold Rsqr in H. lra.
Qed.

Theorem two_rows_ball f f' y y' : (y < G)%nat -> (y' < G)%nat -> y <> y' -> in_ball y f -> in_ball y' f' ->
  2 * frobenius2 G k (matrix centre f y) (matrix centre f' y') <= square rho.
Proof.
  intros Hy Hy' Hne Hf Hf'. rewrite two_slots, (distance2_sym k (centre y')) by assumption.
  unfold in_ball in *. replace (square rho) with (4 * square (rho / 2)) by (unfold square; field). lra.
Qed.

Theorem ball_sensitivity f f' y y' : (y < G)%nat -> (y' < G)%nat -> in_ball y f -> in_ball y' f' ->
  frobenius2 G k (matrix centre f y) (matrix centre f' y') <= square rho.
Proof.
  intros Hy Hy' Hf Hf'. destruct (Nat.eq_dec y y') as [<-|Hne].
  - rewrite same_slot by assumption. pose proof (ball_diameter f f' (centre y)). unfold in_ball in *.
    replace (square rho) with (4 * square (rho / 2)) by (unfold square; field). lra.
  - pose proof (two_rows_ball f f' y y' Hy Hy' Hne Hf Hf').
    assert (0 <= square rho) by (unfold square; nra). lra.
Qed.
End Balls.

(* ---- theorem 1 ---- *)

Section Support.
Variables (a : nat -> R) (n K : nat) (beta c M : R).
Hypothesis beta_range : 0 <= beta <= 1.
Hypothesis sorted : forall i j, (i <= j)%nat -> (j < n)%nat -> a j <= a i.
(* M is at least each of the K + 1 quotients of H: all that the certificate's rounding up has to keep. *)
Hypothesis quotients : forall t, (t <= K)%nat ->
  sumn K (fun j => (if Nat.ltb j t then 1 else beta) * a j) + c <= M * (INR t + beta * (INR K - INR t)).

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
  forall j, (j < k)%nat -> best (a j) = (if Nat.ltb j t then 1 else beta) * (a j - M).
Proof.
  induction k as [|k IH]; intros Hk; [exists O; split; [lia|intros; lia]|].
  destruct (Rle_dec M (a k)) as [H|H].
  - exists (S k). split; [lia|]. intros j Hj. destruct (Nat.ltb_spec j (S k)); [|lia].
    unfold best. assert (a k <= a j) by (apply sorted; lia). destruct (Rle_dec M (a j)); [lra|contradict n0; lra].
  - destruct (IH ltac:(lia)) as (t & Ht & Hbest). exists t. split; [lia|]. intros j Hj.
    destruct (Nat.eq_dec j k) as [->|]; [|apply Hbest; lia].
    destruct (Nat.ltb_spec k t); [lia|]. unfold best. destruct (Rle_dec M (a k)); [contradiction|reflexivity].
Qed.

Theorem support_bound J (w : nat -> R) : (K <= n)%nat -> length J = K -> NoDup J -> (forall j, In j J -> (j < n)%nat) ->
  (forall j, In j J -> beta <= w j <= 1) ->
  lsum J (fun j => w j * a j) + c <= M * lsum J w.
Proof.
  intros HK Hlen HN Hn Hw.
  assert (H1 : lsum J (fun j => w j * (a j - M)) <= sumn K (fun j => best (a j))).
  { rewrite <- Hlen. eapply Rle_trans; [apply lsum_le; intros; apply best_weight; auto|now apply first_are_best]. }
  destruct (threshold_exists K HK) as (t & Ht & Hbest). rewrite (sumn_ext K _ _ Hbest) in H1.
  assert (H2 : sumn K (fun j => (if Nat.ltb j t then 1 else beta) * (a j - M)) =
               sumn K (fun j => (if Nat.ltb j t then 1 else beta) * a j) - M * (INR t + beta * (INR K - INR t))).
  { assert (Hcount : sumn K (fun j => if Nat.ltb j t then 1 else beta) = INR t + beta * (INR K - INR t)).
    { rewrite (sumn_ext K _ (fun j => beta + (1 - beta) * ind (Nat.ltb j t))).
      - rewrite sumn_plus, sumn_const, sumn_scal, sumn_ind_below by assumption. ring.
      - intros j _. unfold ind. destruct (Nat.ltb j t); ring. }
    rewrite <- Hcount, <- sumn_scal, <- sumn_minus. apply sumn_ext. intros. ring. }
  assert (H3 : lsum J (fun j => w j * (a j - M)) = lsum J (fun j => w j * a j) - M * lsum J w).
  { rewrite <- lsum_scal, <- lsum_minus. apply lsum_ext. intros. ring. }
  specialize (quotients t Ht). lra.
Qed.
End Support.
