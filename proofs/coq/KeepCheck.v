(* SPDX-License-Identifier: Apache-2.0
   The link from theorem 7 to the integers that pml_response_keep returns. `judge` takes ε = a/2^k and pairs (m, P), and
   says of each, in integer arithmetic with proved limits of e^ε:
   - Private: P is accepted by theorem 7 (private_correct), so every release made with it is ε-DP
     (private_release_is_private);
   - Broken: with P the ratio p_hi/p_lo exceeds e^ε (broken_correct);
   - Unknown: neither could be shown.
   It also says whether P is the whole part of 2^40·e^ε/(e^ε + m - 1) - 2^-7, or one more (formula_correct).
   check_tables.py runs the extracted functions on the whole table of the C function. *)
From Coq Require Import Reals Lra Lia ZArith List Extraction ExtrOcamlBasic.
From PrivateMail Require Import Sums Threshold Response Exponential.
Import ListNotations.
Open Scope R_scope.

Definition values : Z := 1099511627776. (* of the coin: 2^40 *)

Inductive verdict := Private | Broken | Unknown.
Inductive place := Exact | One_more | Elsewhere.

Definition is_private (low m P : Z) : bool :=
  (Z.leb 2 m && Z.leb P values && Z.leb values (P * m) &&
   Z.leb (Z.shiftl (P * (m - 1)) bits) ((values - P) * low))%bool.

Definition is_broken (up m P : Z) : bool :=
  (Z.leb 2 m && Z.ltb P values && Z.ltb ((values - P) * up) (Z.shiftl (P * (m - 1)) bits))%bool.

(* P ≤ 2^40·p - 2^-7 < P + 1, where p is the ideal probability. *)
Definition is_formula (low up m P : Z) : bool :=
  (Z.leb 2 m && Z.leb 0 P && Z.leb (P + 2) values &&
   Z.leb (Z.shiftl ((128 * P + 1) * (m - 1)) bits) ((128 * (values - P) - 1) * low) &&
   Z.ltb ((128 * (values - P) - 129) * up) (Z.shiftl ((128 * P + 129) * (m - 1)) bits))%bool.

Definition judge_one (limits : Z * Z) (m P : Z) : verdict * place :=
  let (low, up) := limits in
  (if is_private low m P then Private else if is_broken up m P then Broken else Unknown,
   if is_formula low up m P then Exact else if is_formula low up m (P - 1) then One_more else Elsewhere).

Definition judge (a k : Z) (points : list (Z * Z)) : list (verdict * place) :=
  match enclosure a k with
  | Some limits => map (fun point => judge_one limits (fst point) (snd point)) points
  | None => map (fun _ => (Unknown, Elsewhere)) points
  end.

Section Correct.
Variables (epsilon : R) (low up m P : Z).
Hypothesis Hlow : IZR low <= IZR one * exp epsilon.
Hypothesis Hup : IZR one * exp epsilon <= IZR up.

Lemma shift_one z : IZR (Z.shiftl z bits) = IZR z * IZR one.
Proof. unfold bits, one. rewrite Z.shiftl_mul_pow2 by lia. apply mult_IZR. Qed.

Lemma one_pos : 0 < IZR one.
Proof. apply IZR_lt. reflexivity. Qed.

Lemma values_two40 : IZR values = two40.
Proof. reflexivity. Qed.

Lemma is_private_accepted : is_private low m P = true -> accepted epsilon (IZR m) (IZR P).
Proof.
  unfold is_private. rewrite !Bool.andb_true_iff, !Z.leb_le. intros [[[Hm HP] Hl] Hu].
  assert (Hm' : 2 <= IZR m) by now apply IZR_le.
  apply IZR_le in Hl. rewrite mult_IZR, values_two40 in Hl.
  apply IZR_le in Hu. rewrite shift_one, !mult_IZR, !minus_IZR, values_two40 in Hu.
  apply IZR_le in HP. rewrite values_two40 in HP.
  split; [|apply above_low; lra]. apply below_ideal; [lra|]. pose proof one_pos.
  apply Rmult_le_reg_r with (IZR one); [assumption|].
  apply Rle_trans with (1 := Hu). replace (exp epsilon * (two40 - IZR P) * IZR one)
    with ((two40 - IZR P) * (IZR one * exp epsilon)) by ring.
  apply Rmult_le_compat_l; lra.
Qed.

Lemma is_broken_too_high : is_broken up m P = true -> exp epsilon * p_lo (IZR P) (IZR m) < p_hi (IZR P).
Proof.
  unfold is_broken. rewrite !Bool.andb_true_iff, Z.leb_le, !Z.ltb_lt. intros [[Hm HP] Hu].
  assert (Hm' : 2 <= IZR m) by now apply IZR_le.
  apply IZR_lt in HP. rewrite values_two40 in HP.
  apply IZR_lt in Hu. rewrite shift_one, !mult_IZR, !minus_IZR, values_two40 in Hu.
  apply threshold_too_high; [assumption|assumption|]. apply Rnot_le_lt. intros Hc.
  apply below_ideal in Hc; [|lra]. pose proof one_pos.
  assert ((two40 - IZR P) * (IZR one * exp epsilon) <= (two40 - IZR P) * IZR up) by (apply Rmult_le_compat_l; lra).
  assert (IZR P * (IZR m - 1) * IZR one <= exp epsilon * (two40 - IZR P) * IZR one) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.

Lemma is_formula_floor :
  is_formula low up m P = true -> IZR P <= two40 * ideal epsilon (IZR m) - / 128 < IZR P + 1.
Proof.
  unfold is_formula. rewrite !Bool.andb_true_iff, !Z.leb_le, Z.ltb_lt. intros [[[[Hm H0] HP] Hl] Hu].
  assert (Hm' : 2 <= IZR m) by now apply IZR_le. apply IZR_le in H0.
  apply IZR_le in HP. rewrite plus_IZR, values_two40 in HP.
  apply IZR_le in Hl. rewrite shift_one, !mult_IZR, plus_IZR, !minus_IZR, !mult_IZR, minus_IZR, values_two40 in Hl.
  apply IZR_lt in Hu. rewrite shift_one, !mult_IZR, plus_IZR, !minus_IZR, !mult_IZR, minus_IZR, values_two40 in Hu.
  pose proof one_pos. set (E := exp epsilon) in *. set (p := IZR P) in *. set (M := IZR m) in *. split.
  - assert (p + / 128 <= two40 * ideal epsilon M); [|lra]. apply below_ideal; [lra|]. fold E.
    assert ((128 * (two40 - p) - 1) * IZR low <= (128 * (two40 - p) - 1) * (IZR one * E))
      by (apply Rmult_le_compat_l; lra).
    apply Rmult_le_reg_r with (IZR one); [assumption|]. lra.
  - assert (two40 * ideal epsilon M < p + 1 + / 128); [|lra]. apply Rnot_le_lt. intros Hc.
    apply below_ideal in Hc; [|lra]. fold E in Hc.
    assert ((128 * (two40 - p) - 129) * (IZR one * E) <= (128 * (two40 - p) - 129) * IZR up)
      by (apply Rmult_le_compat_l; lra).
    apply Rmult_le_compat_r with (r := IZR one) in Hc; [|lra]. lra.
Qed.
End Correct.

(* ---- what the verdicts mean ---- *)

Definition epsilon_of (a k : Z) : R := IZR a / IZR (2 ^ k).

Lemma pair_parts {A B : Type} (a c : A) (b d : B) : (a, b) = (c, d) -> a = c /\ b = d.
Proof. intros H. now injection H. Qed.

Lemma judged a k points m P v w : In ((m, P), (v, w)) (combine points (judge a k points)) ->
  (v = Unknown /\ w = Elsewhere) \/
  exists low up, enclosure a k = Some (low, up) /\ judge_one (low, up) m P = (v, w).
Proof.
  unfold judge. destruct (enclosure a k) as [[low up]|].
  - intros H. right. exists low, up. split; [reflexivity|]. induction points as [|[m' P'] points IH]; [easy|].
    destruct H as [H|H]; [|auto]. apply pair_parts in H. destruct H as [H1 H2].
    apply pair_parts in H1. destruct H1 as [<- <-]. exact H2.
  - intros H. left. induction points as [|[m' P'] points IH]; [easy|].
    destruct H as [H|H]; [|auto]. apply pair_parts in H. destruct H as [_ H].
    apply pair_parts in H. destruct H as [<- <-]. auto.
Qed.

Theorem private_correct a k points m P w : (0 <= a)%Z -> (0 <= k)%Z ->
  In ((m, P), (Private, w)) (combine points (judge a k points)) -> accepted (epsilon_of a k) (IZR m) (IZR P).
Proof.
  intros Ha Hk H. apply judged in H. destruct H as [[? _]|(low & up & E & H)]; [discriminate|].
  destruct (enclosure_correct a k low up Ha Hk E) as [Hl _]. apply pair_parts in H. destruct H as [H _].
  apply (is_private_accepted (epsilon_of a k) low); auto.
  destruct (is_private low m P); [reflexivity|]. destruct (is_broken up m P); discriminate.
Qed.

Theorem broken_correct a k points m P w : (0 <= a)%Z -> (0 <= k)%Z ->
  In ((m, P), (Broken, w)) (combine points (judge a k points)) ->
  exp (epsilon_of a k) * p_lo (IZR P) (IZR m) < p_hi (IZR P).
Proof.
  intros Ha Hk H. apply judged in H. destruct H as [[? _]|(low & up & E & H)]; [discriminate|].
  destruct (enclosure_correct a k low up Ha Hk E) as [_ Hu]. apply pair_parts in H. destruct H as [H _].
  apply (is_broken_too_high (epsilon_of a k) up); auto.
  destruct (is_private low m P); [discriminate|]. destruct (is_broken up m P); [reflexivity|discriminate].
Qed.

Theorem formula_correct a k points m P v w : (0 <= a)%Z -> (0 <= k)%Z -> w <> Elsewhere ->
  In ((m, P), (v, w)) (combine points (judge a k points)) ->
  let F := (match w with Exact => P | _ => P - 1 end)%Z in
  IZR F <= two40 * ideal (epsilon_of a k) (IZR m) - / 128 < IZR F + 1.
Proof.
  intros Ha Hk Hw H. apply judged in H. destruct H as [[_ ?]|(low & up & E & H)]; [contradiction|].
  destruct (enclosure_correct a k low up Ha Hk E) as [Hl Hu]. apply pair_parts in H. destruct H as [_ H].
  apply (is_formula_floor (epsilon_of a k) low up); auto.
  destruct (is_formula low up m P) eqn:F1; [now subst w|].
  destruct (is_formula low up m (P - 1)) eqn:F2; subst w; [assumption|contradiction].
Qed.

Theorem private_release_is_private a k points m P w G y j y' j' (set : list nat -> bool) :
  (0 <= a)%Z -> (0 <= k)%Z -> (2 <= m)%nat ->
  In ((Z.of_nat m, Z.of_nat P), (Private, w)) (combine points (judge a k points)) ->
  (y < G)%nat -> (j < m)%nat -> (y' < G)%nat -> (j' < m)%nat ->
  probability (2 ^ 40) P m G y j set <= exp (epsilon_of a k) * probability (2 ^ 40) P m G y' j' set.
Proof.
  intros Ha Hk Hm H Hy Hj Hy' Hj'. apply response_private; auto.
  - unfold epsilon_of. apply Rmult_le_pos; [now apply IZR_le|].
    apply Rlt_le, Rinv_0_lt_compat, IZR_lt, Z.pow_pos_nonneg; lia.
  - rewrite !INR_IZR_INZ. eapply private_correct; eauto.
Qed.

(* Thresholds are accepted: ε = 4 among 8 cells. With two more the ratio exceeds e^4. *)
Example accepted_and_not : judge 4 0 [(8, 974563372182); (8, 974563372184)]%Z = [(Private, Exact); (Broken, Elsewhere)].
Proof. vm_compute. reflexivity. Qed.
