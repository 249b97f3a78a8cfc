(* SPDX-License-Identifier: Apache-2.0
   Theorems 2(b) and 3 for k = 2: the 64 directions of certificate.c. The table of cosines stands here as in C
   (check_tables.py compares them), and every sector between neighbouring directions is checked in integers.
   - A vector z of the plane with |⟨z, v_i⟩| ≤ m for all 64 directions has ‖z‖ ≤ ρ·m/4096, ρ = 1 + 28/65536
     (direction_bound): a sector's worst vector is the corner where both limits meet.
   - So two rows of one slot differ by at most ρ·max_i W(v_i)/8192 (plane_one_slot), and the matrices of any two records
     too (plane_sensitivity), with the centres of the boxes in all other slots.
   Corners are at most 1 + 25/65536 away, and some are farther than 1 + 24/65536 (corners): ρ has a little room. *)
From Coq Require Import Reals Lra Lia List Arith ZArith Bool.
From PrivateMail Require Import Sums Support ClassCost.
Import ListNotations.

Open Scope Z_scope.

(* round(4096·cos(πi/64)), i = 0 … 32 *)
Definition cosines : list Z :=
  [4096; 4091; 4076; 4052; 4017; 3973; 3920; 3857; 3784; 3703; 3612; 3513; 3406; 3290; 3166; 3035; 2896; 2751; 2598;
   2440; 2276; 2106; 1931; 1751; 1567; 1380; 1189; 995; 799; 601; 401; 201; 0].
Definition cosine (i : nat) : Z := nth i cosines 0.

(* Direction i, also for i = 64, which is the opposite of direction 0. *)
Definition across (i : nat) : Z := if Nat.leb i 32 then cosine i else - cosine (64 - i).
Definition along (i : nat) : Z := if Nat.leb i 32 then cosine (32 - i) else cosine (i - 32).

Definition determinant (i : nat) : Z := across i * along (S i) - along i * across (S i).
Definition gram (i j : nat) : Z := across i * across j + along i * along j.

(* The corner of a sector is at most `limit`/65536·m/4096 away. *)
Definition sector_fits (limit : Z) (i : nat) : bool :=
  (Z.ltb 0 (determinant i) && Z.leb (gram i (S i)) (gram i i) && Z.leb (gram i (S i)) (gram (S i) (S i)) &&
   Z.leb ((gram i i + gram (S i) (S i) - 2 * gram i (S i)) * (4096 * 65536) ^ 2) (limit ^ 2 * determinant i ^ 2)).

Lemma all_sectors_fit : forallb (sector_fits 65564) (seq 0 64) = true.
Proof. vm_compute. reflexivity. Qed.

Example corners : forallb (sector_fits 65561) (seq 0 64) = true /\ forallb (sector_fits 65560) (seq 0 64) = false.
Proof. vm_compute. split; reflexivity. Qed.

Open Scope R_scope.

Definition rho : R := 1 + 28 / 65536.

Section Plane.
Variables (x y m : R).
Definition product (i : nat) : R := x * IZR (across i) + y * IZR (along i).
Definition turn (i : nat) : R := IZR (across i) * y - IZR (along i) * x. (* determinant of v_i and z *)

Lemma sector_bound i : (i < 64)%nat -> 0 <= m -> 0 <= turn i -> turn (S i) <= 0 ->
  product i <= m -> product (S i) <= m -> x * x + y * y <= square (rho * m / 4096).
Proof.
  intros Hi Hm Ht Ht' Hp Hp'.
  assert (Hfit : sector_fits 65564 i = true).
  { pose proof all_sectors_fit as H. rewrite forallb_forall in H. apply H, in_seq. lia. }
  unfold sector_fits in Hfit. rewrite !andb_true_iff in Hfit. destruct Hfit as [[[Hd Hg] Hg'] Hc].
  apply Z.ltb_lt, IZR_lt in Hd. apply Z.leb_le, IZR_le in Hg, Hg', Hc.
  change ((4096 * 65536) ^ 2)%Z with 72057594037927936%Z in Hc. change (65564 ^ 2)%Z with 4298638096%Z in Hc.
  unfold gram, determinant in *. rewrite Z.pow_2_r in Hc.
  repeat rewrite ?mult_IZR, ?plus_IZR, ?minus_IZR in Hd; repeat rewrite ?mult_IZR, ?plus_IZR, ?minus_IZR in Hg;
    repeat rewrite ?mult_IZR, ?plus_IZR, ?minus_IZR in Hg'; repeat rewrite ?mult_IZR, ?plus_IZR, ?minus_IZR in Hc.
  unfold turn, product in *. set (a := IZR (across i)) in *. set (b := IZR (along i)) in *.
  set (a' := IZR (across (S i))) in *. set (b' := IZR (along (S i))) in *. set (d := a * b' - b * a') in *.
  set (p := x * a + y * b) in *. set (p' := x * a' + y * b') in *.
  set (u := x * b' - y * a'). set (u' := a * y - b * x).
  set (g11 := a * a + b * b) in *. set (g12 := a * a' + b * b') in *. set (g22 := a' * a' + b' * b') in *.
  assert (Hu : 0 <= u) by (unfold u; lra). assert (Hu' : 0 <= u') by (unfold u'; lra).
  (* d·z = u·v + u'·v' *)
  assert (E1 : d * (x * x + y * y) = u * p + u' * p') by (unfold d, u, u', p, p'; ring).
  assert (E2 : d * (u + u') = (g22 - g12) * p + (g11 - g12) * p') by (unfold d, u, u', p, p', g11, g12, g22; ring).
  clearbody g11 g12 g22 p p' d u u'.
  assert (H1 : d * (x * x + y * y) <= (u + u') * m) by nra.
  assert (H2 : d * (u + u') <= (g11 + g22 - 2 * g12) * m).
  { rewrite E2. assert ((g22 - g12) * p <= (g22 - g12) * m) by (apply Rmult_le_compat_l; lra).
    assert ((g11 - g12) * p' <= (g11 - g12) * m) by (apply Rmult_le_compat_l; lra). lra. }
  assert (H3 : d * d * (x * x + y * y) <= (g11 + g22 - 2 * g12) * (m * m)).
  { apply Rle_trans with (d * (u + u') * m); [|nra]. rewrite (Rmult_assoc d d), (Rmult_assoc d (u + u')).
    apply Rmult_le_compat_l; lra. }
  assert (Hdd : 0 < d * d) by nra.
  apply Rmult_le_reg_l with (d * d); [assumption|]. eapply Rle_trans; [exact H3|].
  replace (square (rho * m / 4096)) with (4298638096 / 72057594037927936 * (m * m)) by (unfold square, rho; field).
  assert (g11 + g22 - 2 * g12 <= 4298638096 * (d * d) / 72057594037927936) by lra.
  assert (0 <= m * m) by nra. nra.
Qed.

(* Half a turn passes z or its opposite. *)
Lemma sector_exists n : 0 <= turn 0 -> turn n <= 0 -> (1 <= n)%nat ->
  exists i, (i < n)%nat /\ 0 <= turn i /\ turn (S i) <= 0.
Proof.
  intros H0. induction n as [|n IH]; intros Hn Hpos; [lia|].
  destruct (Rle_dec 0 (turn n)) as [H|H]; [exists n; auto|]. destruct n as [|n]; [contradiction|].
  destruct (IH ltac:(lra) ltac:(lia)) as (i & Hi & Hs). exists i. split; [lia|exact Hs].
Qed.

Lemma opposite : product 64 = - product 0 /\ turn 64 = - turn 0.
Proof.
  unfold product, turn. change (across 64) with (- across 0)%Z. change (along 64) with (- along 0)%Z.
  rewrite !opp_IZR. split; ring.
Qed.

Lemma half_plane : 0 <= m -> 0 <= turn 0 -> (forall i, (i < 64)%nat -> - m <= product i <= m) ->
  x * x + y * y <= square (rho * m / 4096).
Proof.
  intros Hm H0 Hall. destruct opposite as [Eo Et].
  destruct (sector_exists 64 H0 ltac:(lra) ltac:(lia)) as (i & Hi & Ht & Ht').
  apply (sector_bound i); try assumption; [apply Hall; assumption|].
  destruct (Nat.eq_dec i 63) as [->|Hne]; [rewrite Eo; specialize (Hall O ltac:(lia)); lra|]. apply Hall. lia.
Qed.
End Plane.

Theorem direction_bound x y m : 0 <= m -> (forall i, (i < 64)%nat -> - m <= product x y i <= m) ->
  x * x + y * y <= square (rho * m / 4096).
Proof.
  intros Hm Hall. destruct (Rle_dec 0 (turn x y 0)) as [H|H]; [now apply half_plane|].
  replace (x * x + y * y) with (- x * - x + - y * - y) by ring. apply half_plane.
  - assumption.
  - replace (turn (- x) (- y) 0) with (- turn x y 0) by (unfold turn; ring). lra.
  - intros i Hi. replace (product (- x) (- y) i) with (- product x y i) by (unfold product; ring).
    specialize (Hall i Hi). lra.
Qed.

(* ---- rows ---- *)

Definition direction (i : nat) : row := fun c => if Nat.eqb c 0 then IZR (across i) else IZR (along i).

Lemma dot_direction (f : row) i : dot 2 f (direction i) = product (f 0%nat) (f 1%nat) i.
Proof. unfold dot, product, direction, sumn. simpl. ring. Qed.

Section Rows.
Variables (G n K : nat) (beta : R).
Hypothesis beta_range : 0 < beta <= 1.
Hypothesis some : (1 <= K <= n)%nat.
Variables (code slot label : nat -> row).
(* Ĥ_s(v_i) and Ĥ_s(-v_i), and the largest sum of the two *)
Variables (up down : nat -> nat -> R) (W : R).
Hypothesis certificate : forall s i, (s < G)%nat -> (i < 64)%nat ->
  above 2 n K beta code (label s) (direction i) (up s i) /\
  above 2 n K beta code (label s) (minus (direction i)) (down s i) /\ 0 <= up s i + down s i <= W.

Let private := private_row code slot label.

Theorem plane_one_slot s J w J' w' : (s < G)%nat -> choice n K beta J w -> choice n K beta J' w' ->
  distance2 2 (private s J w) (private s J' w') <= square (rho * W / 8192).
Proof.
  intros Hs HJ HJ'. set (f := private s J w). set (f' := private s J' w').
  assert (Hm : 0 <= W / 2) by (destruct (certificate s O Hs ltac:(lia)) as (_ & _ & H); lra).
  replace (rho * W / 8192) with (rho * (W / 2) / 4096) by field.
  replace (distance2 2 f f')
    with ((f 0%nat - f' 0%nat) * (f 0%nat - f' 0%nat) + (f 1%nat - f' 1%nat) * (f 1%nat - f' 1%nat))
    by (unfold distance2, sumn, square; simpl; ring).
  apply direction_bound; [assumption|]. intros i Hi. destruct (certificate s i Hs Hi) as (Hup & Hdown & H).
  pose proof (two_rows 2 n K beta beta_range some code (slot s) (label s) J w J' w' _ _ _ HJ HJ' Hup Hdown) as H1.
  pose proof (two_rows 2 n K beta beta_range some code (slot s) (label s) J' w' J w _ _ _ HJ' HJ Hup Hdown) as H2.
  fold (private s J w) in H1, H2. fold (private s J' w') in H1, H2. fold f f' in H1, H2.
  unfold private, private_row in f, f'. fold f f' in H1, H2. rewrite !dot_direction in H1, H2.
  replace (product (f 0%nat - f' 0%nat) (f 1%nat - f' 1%nat) i)
    with (product (f 0%nat) (f 1%nat) i - product (f' 0%nat) (f' 1%nat) i) by (unfold product; ring).
  lra.
Qed.

(* Directions 0 and 32 are the axes, so the boxes are among what is certified. *)
Lemma above_axis M c lab : (c < 2)%nat -> above 2 n K beta code lab (direction (32 * c)) M ->
  above 2 n K beta code lab (axis 4096 c) M.
Proof. intros Hc. apply above_same. destruct c as [|[|c]]; [| |lia]; intros [|[|j]] Hj; try lia; reflexivity. Qed.

Lemma above_opposite_axis M c lab : (c < 2)%nat -> above 2 n K beta code lab (minus (direction (32 * c))) M ->
  above 2 n K beta code lab (minus (axis 4096 c)) M.
Proof.
  intros Hc. apply above_same. unfold minus. destruct c as [|[|c]]; [| |lia]; intros [|[|j]] Hj; try lia; reflexivity.
Qed.

Theorem plane_sensitivity y y' J w J' w' : (y < G)%nat -> (y' < G)%nat ->
  choice n K beta J w -> choice n K beta J' w' ->
  let centre := box_centre slot 4096 (fun s c => up s (32 * c)%nat) (fun s c => down s (32 * c)%nat) in
  frobenius2 G 2 (matrix centre (private y J w) y) (matrix centre (private y' J' w') y') <= square (rho * W / 8192).
Proof.
  intros Hy Hy' HJ HJ' centre. destruct (Nat.eq_dec y y') as [<-|Hne].
  - rewrite same_slot by assumption. now apply plane_one_slot.
  - assert (HW : 0 <= W) by (destruct (certificate y O Hy ltac:(lia)) as (_ & _ & H); lra).
    assert (H2 : 2 * frobenius2 G 2 (matrix centre (private y J w) y) (matrix centre (private y' J' w') y') <=
                 sumn 2 (fun _ => square (W / 8192))).
    { apply (certified_two_slots G 2 n K beta beta_range some code slot label 4096); try assumption; [lra|].
      intros s c Hs Hc. destruct (certificate s (32 * c)%nat Hs ltac:(lia)) as (H1 & H2 & H3).
      split; [now apply above_axis|]. split; [now apply above_opposite_axis|]. lra. }
    rewrite sumn_const in H2. simpl INR in H2.
    assert (square (W / 8192) <= square (rho * W / 8192)) by (apply square_le; unfold rho; lra). lra.
Qed.
End Rows.
