(* SPDX-License-Identifier: Apache-2.0
   Theorems 3 and 3b for any k coordinates: the class costs nothing in the Gaussian mechanism.
   - Theorem 3: when every row of slot s lies in a box with widths w_{s,i} and every other slot holds the centre of its
     box, the matrices of any two records differ by at most sqrt(Σ_i max_s w²_{s,i}), whether the slot is the same or
     not (box_sensitivity).
   - Theorem 3b: the same for balls of diameter ρ (ball_sensitivity); with two slots it is even ρ/√2 (two_rows_ball).
   - The hypotheses are met: rows lie in the boxes of Support.v (certified_box), and, when no code is longer than R, in
     balls of diameter ρ_s = R + (1-β)/(2Kβ)·‖u_s‖ around ½Q_s + ½·(1+β)/(2Kβ)·u_s (row_in_ball, certified_ball).
   Distances are squared, so that no root is taken but that of ‖u_s‖. *)
From Coq Require Import Reals Lra Lia List Arith FunctionalExtensionality.
From PrivateMail Require Import Sums Support.
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

(* ---- where rows lie ---- *)

(* Cauchy and Schwarz *)
Lemma dot_square_nonneg k x : 0 <= dot k x x.
Proof. apply sumn_nonneg. intros. apply Rle_0_sqr. Qed.

Lemma dot_combination k s t x y :
  dot k (fun i => s * x i + t * y i) (fun i => s * x i + t * y i) =
  s * s * dot k x x + 2 * (s * t) * dot k x y + t * t * dot k y y.
Proof.
  unfold dot. rewrite <- !sumn_scal, <- !sumn_plus. apply sumn_ext. intros. ring.
Qed.

Definition norm (k : nat) (x : row) : R := sqrt (dot k x x).

Lemma norm_square k x : norm k x * norm k x = dot k x x.
Proof. apply sqrt_sqrt, dot_square_nonneg. Qed.

Lemma norm_nonneg k x : 0 <= norm k x.
Proof. apply sqrt_pos. Qed.

Lemma dot_below_norms k x y : dot k x y <= norm k x * norm k y.
Proof.
  pose proof (norm_nonneg k x). pose proof (norm_nonneg k y). pose proof (norm_square k x).
  pose proof (norm_square k y).
  pose proof (dot_square_nonneg k (fun i => norm k y * x i + - norm k x * y i)) as Hc. rewrite dot_combination in Hc.
  destruct (Rle_lt_or_eq_dec 0 (norm k x * norm k y)) as [Hpos|Hzero]; [now apply Rmult_le_pos|nra|].
  (* One of them has length 0. *)
  rewrite <- Hzero. apply Rnot_lt_le. intros Hd.
  destruct (Rmult_integral _ _ (eq_sym Hzero)) as [E|E]; rewrite E in *.
  - pose proof (dot_square_nonneg k (fun i => - (dot k y y + 1) * x i + (2 * dot k x y) * y i)) as Hn.
    rewrite dot_combination in Hn. nra.
  - pose proof (dot_square_nonneg k (fun i => (2 * dot k x y) * x i + - (dot k x x + 1) * y i)) as Hn.
    rewrite dot_combination in Hn. nra.
Qed.

Section Rows.
Variables (G k n K : nat) (beta : R).
Hypothesis beta_range : 0 < beta <= 1.
Hypothesis some : (1 <= K <= n)%nat.
Variables (code : nat -> row) (slot label : nat -> row).

(* A record: its slot, and whatever neighbours and weights its features lead to. *)
Definition private_row (y : nat) (J : list nat) (w : nat -> R) : row := row_of code (slot y) (label y) J w.

Section Boxes.
Variables (unit : R) (up down : nat -> row) (widest : row). (* unit is 4096 on the device *)
Hypothesis unit_positive : 0 < unit.
Hypothesis certificate : forall s i, (s < G)%nat -> (i < k)%nat ->
  above k n K beta code (label s) (axis unit i) (up s i) /\
  above k n K beta code (label s) (minus (axis unit i)) (down s i) /\
  0 <= up s i + down s i <= 2 * unit * widest i.

Definition box_low (s : nat) : row := fun i => slot s i / 2 - down s i / (2 * unit).
Definition box_high (s : nat) : row := fun i => slot s i / 2 + up s i / (2 * unit).
Definition box_centre (s : nat) : row := fun i => slot s i / 2 + (up s i - down s i) / (4 * unit).

Lemma box_centre_is_middle : box_centre = middle box_low box_high.
Proof. extensionality s. extensionality i. unfold box_centre, middle, box_low, box_high. field. lra. Qed.

Lemma row_in_its_box s J w : (s < G)%nat -> choice n K beta J w -> in_box k box_low box_high s (private_row s J w).
Proof.
  intros Hs HJ i Hi. destruct (certificate s i Hs Hi) as (H1 & H2 & _).
  apply (row_in_box k n K beta beta_range some code); assumption.
Qed.

Lemma box_widths s i : (s < G)%nat -> (i < k)%nat -> 0 <= box_high s i - box_low s i <= widest i.
Proof.
  intros Hs Hi. destruct (certificate s i Hs Hi) as (_ & _ & H1 & H2). unfold box_low, box_high.
  replace (slot s i / 2 + up s i / (2 * unit) - (slot s i / 2 - down s i / (2 * unit)))
    with ((up s i + down s i) / (2 * unit)) by (field; lra).
  split.
  - apply Rmult_le_pos; [assumption|]. apply Rlt_le, Rinv_0_lt_compat. lra.
  - apply Rmult_le_reg_r with (2 * unit); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Theorem certified_box y y' J w J' w' : (y < G)%nat -> (y' < G)%nat -> choice n K beta J w -> choice n K beta J' w' ->
  frobenius2 G k (matrix box_centre (private_row y J w) y) (matrix box_centre (private_row y' J' w') y') <=
  sumn k (fun i => square (widest i)).
Proof.
  intros. rewrite box_centre_is_middle. apply box_sensitivity; auto using box_widths, row_in_its_box.
Qed.

Theorem certified_two_slots y y' J w J' w' : (y < G)%nat -> (y' < G)%nat -> y <> y' ->
  choice n K beta J w -> choice n K beta J' w' ->
  2 * frobenius2 G k (matrix box_centre (private_row y J w) y) (matrix box_centre (private_row y' J' w') y') <=
  sumn k (fun i => square (widest i)).
Proof.
  intros. rewrite box_centre_is_middle. apply box_two_slots; auto using box_widths, row_in_its_box.
Qed.
End Boxes.

(* ---- the radius of theorem 3b ---- *)

Variable longest : R. (* R *)
Hypothesis longest_nonneg : 0 <= longest.
Hypothesis codes_short : forall j, (j < n)%nat -> norm k (code j) <= longest.

Definition half_length : R := (1 - beta) / (2 * INR K * beta).
Definition ball_centre (s : nat) : row := fun i => slot s i / 2 + (1 + beta) / (2 * INR K * beta) * label s i / 2.
Definition diameter (s : nat) : R := longest + half_length * norm k (label s).

Theorem row_in_ball s J w : choice n K beta J w ->
  distance2 k (private_row s J w) (ball_centre s) <= square (diameter s / 2).
Proof.
  intros HJ. pose proof HJ as (Hlen & _ & Hn & Hw). assert (HK : 0 < INR K) by (apply lt_0_INR; lia).
  pose proof (weights_positive K beta (proj1 beta_range) (proj1 some) J w Hlen Hw) as Hpos. set (W := lsum J w) in *.
  assert (HWlow : INR K * beta <= W).
  { unfold W. rewrite <- Hlen, <- lsum_const. apply lsum_le. intros j Hj. now apply Hw. }
  assert (HWhigh : W <= INR K).
  { unfold W. rewrite <- (Rmult_1_r (INR K)), <- Hlen, <- lsum_const. apply lsum_le. intros j Hj. now apply Hw. }
  set (h := fun i => / W * lsum J (fun j => w j * code j i)).
  set (e := / W - (1 + beta) / (2 * INR K * beta)). set (u := label s). pose proof beta_range as Hb.
  assert (HiK : 0 < / INR K) by now apply Rinv_0_lt_compat.
  assert (Hib : 1 <= / beta) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (He : - half_length <= e <= half_length).
  { assert (H1 : / INR K <= / W) by (apply Rinv_le_contravar; lra).
    assert (H2 : / W <= / INR K * / beta) by (rewrite <- Rinv_mult; apply Rinv_le_contravar; nra).
    unfold e, half_length.
    replace ((1 + beta) / (2 * INR K * beta)) with (/ INR K * / beta / 2 + / INR K / 2) by (field; lra).
    replace ((1 - beta) / (2 * INR K * beta)) with (/ INR K * / beta / 2 - / INR K / 2) by (field; lra). lra. }
  assert (Hdot : forall x, dot k h x <= longest * norm k x).
  { intros x. assert (E : dot k h x = / W * lsum J (fun j => w j * dot k (code j) x)).
    { unfold dot, sumn. rewrite (lsum_ext J _ (fun j => lsum (seq 0 k) (fun i => w j * (code j i * x i))))
        by (intros; symmetry; apply lsum_scal).
      rewrite lsum_exchange, <- lsum_scal. apply lsum_ext. intros i _. unfold h. rewrite Rmult_assoc. f_equal.
      rewrite <- lsum_scal_r. apply lsum_ext. intros. ring. }
    rewrite E. apply Rle_trans with (/ W * lsum J (fun j => w j * (longest * norm k x))).
    - apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat; assumption|]. apply lsum_le. intros j Hj.
      apply Rmult_le_compat_l; [destruct (Hw j Hj); lra|]. eapply Rle_trans; [apply dot_below_norms|].
      apply Rmult_le_compat_r; [apply norm_nonneg|]. apply codes_short. auto.
    - rewrite lsum_scal_r. fold W. right. field. lra. }
  assert (Hh : norm k h <= longest).
  { pose proof (Hdot h) as H. rewrite <- norm_square in H. pose proof (norm_nonneg k h).
    destruct (Rle_lt_or_eq_dec _ _ H0) as [H1|<-]; [nra|assumption]. }
  assert (Hu : - (longest * norm k u) <= dot k h u <= longest * norm k u).
  { split; [|apply Hdot]. pose proof (Hdot (minus u)) as H. rewrite dot_minus in H.
    replace (norm k (minus u)) with (norm k u) in H; [lra|].
    unfold norm. f_equal. unfold dot, minus. apply sumn_ext. intros. ring. }
  assert (E : distance2 k (private_row s J w) (ball_centre s) =
              / 4 * dot k (fun i => 1 * h i + e * u i) (fun i => 1 * h i + e * u i)).
  { unfold distance2, dot. rewrite <- sumn_scal. apply sumn_ext. intros i _. unfold private_row, row_of, ball_centre.
    fold W. unfold square, h, e, u. field. repeat split; lra. }
  rewrite E, dot_combination. rewrite <- !norm_square. unfold square, diameter. fold u.
  pose proof (norm_nonneg k u). pose proof (norm_nonneg k h). set (N := norm k u) in *. set (H' := norm k h) in *.
  assert (e * dot k h u <= half_length * (longest * N)).
  { assert (0 <= longest * N) by now apply Rmult_le_pos. nra. }
  assert (e * e * (N * N) <= half_length * half_length * (N * N)).
  { apply Rmult_le_compat_r; [nra|]. nra. }
  assert (H' * H' <= longest * longest) by nra.
  lra.
Qed.

Theorem certified_ball rho y y' J w J' w' : (forall s, (s < G)%nat -> 0 <= diameter s <= rho) ->
  (y < G)%nat -> (y' < G)%nat -> choice n K beta J w -> choice n K beta J' w' ->
  frobenius2 G k (matrix ball_centre (private_row y J w) y) (matrix ball_centre (private_row y' J' w') y') <=
  square rho.
Proof.
  intros Hrho Hy Hy' HJ HJ'.
  assert (Hin : forall s J w, (s < G)%nat -> choice n K beta J w -> in_ball k ball_centre rho s (private_row s J w)).
  { intros s J0 w0 Hs HJ0. eapply Rle_trans; [now apply row_in_ball|]. specialize (Hrho s Hs). apply square_le. lra. }
  apply ball_sensitivity; auto.
Qed.
End Rows.
