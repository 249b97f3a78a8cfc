(* SPDX-License-Identifier: Apache-2.0
   Theorem 7: the response mechanism is ε-DP for slot and cell jointly, from its random draws.
   The draws of SPEC 5.11 are v uniform below 2^40, t uniform below m-1 and U_c uniform below m for every slot c. The
   release of a record with slot y and cell j has (j + T) mod m in slot y, T = 0 if v < P else 1 + t, and U_c in every
   other slot c. The probability of a set of releases is the share of all draws whose release is in the set.
   - v, made of two random words of 32 bits as ⌊(lo + 2^32·hi)/2^24⌋, is uniform (coin_is_uniform).
   - A release o has probability m^-(G-1)·q(o_y | j), q = p_hi where o_y = j and p_lo elsewhere (response_law).
   - For every set of releases and every two records, of one slot or of two, the probabilities differ by a factor of at
     most e^ε when P is accepted (response_private). The slots do not enter: the class costs nothing.
   - So they do for every threshold whose double was computed within 2^-7 (response_private_as_computed). *)
From Coq Require Import Reals Lra List Lia Arith ZArith.
From PrivateMail Require Import Sums Threshold.
Import ListNotations.
Open Scope R_scope.

(* ---- the coin ---- *)

Theorem coin_is_uniform (F : nat -> R) :
  sumn (2 ^ 32) (fun hi => sumn (2 ^ 32) (fun lo => F ((lo + 2 ^ 32 * hi) / 2 ^ 24)%nat)) =
  INR (2 ^ 24) * sumn (2 ^ 40) F.
Proof.
  rewrite <- (sumn_blocks (2 ^ 32) (2 ^ 32) (fun u => F (u / 2 ^ 24)%nat)).
  replace (2 ^ 32 * 2 ^ 32)%nat with (2 ^ 40 * 2 ^ 24)%nat by (rewrite <- !Nat.pow_add_r; reflexivity).
  assert (Hk : (2 ^ 24 <> 0)%nat) by (apply Nat.pow_nonzero; lia).
  set (k := (2 ^ 24)%nat) in *. clearbody k. set (D := (2 ^ 40)%nat). clearbody D.
  rewrite sumn_blocks, <- sumn_scal. apply sumn_ext. intros i _.
  rewrite <- sumn_const. apply sumn_ext. intros j Hj. f_equal.
  rewrite Nat.add_comm, Nat.mul_comm, Nat.div_add_l, Nat.div_small by lia. lia.
Qed.

Section Law.
Variables D P m G : nat. (* values of the coin, threshold, cells, slots *)
Hypothesis cells : (2 <= m)%nat.
Hypothesis threshold : (P <= D)%nat.
Hypothesis coin : (0 < D)%nat.

Definition shift (v t : nat) : nat := if Nat.ltb v P then O else S t.

Fixpoint emit (others : list nat) (y symbol : nat) : list nat :=
  match others, y with
  | [], _ => []
  | _ :: rest, O => symbol :: rest
  | u :: rest, S y' => u :: emit rest y' symbol
  end.

Definition release (y j v t : nat) (others : list nat) : list nat := emit others y ((j + shift v t) mod m).

(* How many draws lead into the set, and how many there are. *)
Definition favourable (y j : nat) (set : list nat -> bool) : R :=
  sumn D (fun v => sumn (m - 1) (fun t => lsum (tuples m G) (fun others => ind (set (release y j v t others))))).
Definition all_draws : R := INR D * INR (m - 1) * INR m ^ G.
Definition probability (y j : nat) (set : list nat -> bool) : R := favourable y j set / all_draws.

(* The number of (v, t) that turn cell j into symbol s. *)
Definition ways (j s : nat) : R := if Nat.eqb s j then INR P * INR (m - 1) else INR (D - P).

(* ---- the own slot ---- *)

Lemma other_shift j s : (j < m)%nat -> (s < m)%nat -> s <> j ->
  sumn (m - 1) (fun t => ind (Nat.eqb ((j + S t) mod m) s)) = 1.
Proof.
  intros Hj Hs Hne. set (t0 := if Nat.ltb j s then (s - j - 1)%nat else (s + m - j - 1)%nat).
  assert (Ht0 : (t0 < m - 1)%nat) by (unfold t0; destruct (Nat.ltb_spec j s); lia).
  rewrite <- (sumn_ind_single (m - 1) t0 Ht0). apply sumn_ext. intros t Ht. f_equal.
  assert (Hmod : ((j + S t) mod m = if Nat.ltb (j + S t) m then j + S t else j + S t - m)%nat).
  { destruct (Nat.ltb_spec (j + S t) m).
    - apply Nat.mod_small. assumption.
    - symmetry. apply (Nat.mod_unique _ _ 1); lia. }
  rewrite Hmod. unfold t0.
  destruct (Nat.ltb_spec (j + S t) m), (Nat.ltb_spec j s);
    match goal with |- Nat.eqb ?a ?b = Nat.eqb ?c ?d => destruct (Nat.eqb_spec a b), (Nat.eqb_spec c d) end; lia.
Qed.

Lemma no_other_shift j : (j < m)%nat -> sumn (m - 1) (fun t => ind (Nat.eqb ((j + S t) mod m) j)) = 0.
Proof.
  intros Hj. apply sumn_zero. intros t Ht. unfold ind.
  destruct (Nat.eqb_spec ((j + S t) mod m) j) as [E|]; [|reflexivity]. exfalso.
  destruct (Nat.lt_ge_cases (j + S t) m).
  - rewrite Nat.mod_small in E; lia.
  - rewrite <- (Nat.mod_unique (j + S t) m 1 (j + S t - m)) in E; lia.
Qed.

Lemma ways_count j s : (j < m)%nat -> (s < m)%nat ->
  sumn D (fun v => sumn (m - 1) (fun t => ind (Nat.eqb ((j + shift v t) mod m) s))) = ways j s.
Proof.
  intros Hj Hs. replace D with (P + (D - P))%nat at 1 by lia. rewrite sumn_add.
  rewrite (sumn_ext P _ (fun _ => INR (m - 1) * ind (Nat.eqb j s))).
  2:{ intros v Hv. rewrite <- sumn_const. apply sumn_ext. intros t _. unfold shift.
      destruct (Nat.ltb_spec v P); [|lia]. rewrite Nat.add_0_r, Nat.mod_small by lia. reflexivity. }
  rewrite (sumn_ext (D - P) _ (fun _ => ind (negb (Nat.eqb j s)))).
  2:{ intros v _. unfold shift. destruct (Nat.ltb_spec (P + v) P); [lia|].
      destruct (Nat.eqb_spec j s) as [->|Hne]; simpl.
      - apply no_other_shift. assumption.
      - rewrite other_shift; auto. }
  rewrite !sumn_const. unfold ways. rewrite (Nat.eqb_sym s j). destruct (Nat.eqb j s); simpl; unfold ind; lra.
Qed.

Lemma draw_sum j (H : nat -> R) : (j < m)%nat ->
  sumn D (fun v => sumn (m - 1) (fun t => H ((j + shift v t) mod m))) = sumn m (fun s => ways j s * H s).
Proof.
  intros Hj.
  rewrite (sumn_ext D _ (fun v => sumn m (fun s =>
    sumn (m - 1) (fun t => ind (Nat.eqb ((j + shift v t) mod m) s)) * H s))).
  - rewrite sumn_exchange. apply sumn_ext. intros s Hs. rewrite sumn_scal_r, ways_count; auto.
  - intros v _. rewrite (sumn_ext m _ (fun s => sumn (m - 1) (fun t => ind (Nat.eqb ((j + shift v t) mod m) s) * H s)))
      by (intros; now rewrite sumn_scal_r).
    rewrite sumn_exchange. apply sumn_ext. intros t _.
    set (r := ((j + shift v t) mod m)%nat). assert (Hr : (r < m)%nat) by (apply Nat.mod_upper_bound; lia).
    rewrite <- (sumn_single m r H Hr). apply sumn_ext. intros s _. rewrite (Nat.eqb_sym r s). unfold ind.
    destruct (Nat.eqb s r); lra.
Qed.

(* ---- the slots ---- *)

(* Replacing place y of a uniform tuple by s, with any weights of s: as a sum over tuples themselves. *)
Lemma replaced_slot (weight : nat -> R) n y (h : list nat -> R) : (y < n)%nat ->
  sumn m (fun s => weight s * lsum (tuples m n) (fun others => h (emit others y s))) =
  INR m * lsum (tuples m n) (fun o => weight (nth y o O) * h o).
Proof.
  revert y h. induction n as [|n IH]; intros y h Hy; [lia|]. destruct y as [|y].
  - rewrite (sumn_ext m _ (fun s => INR m * (weight s * lsum (tuples m n) (fun l => h (s :: l))))).
    + rewrite sumn_scal, lsum_tuples_S. f_equal. apply sumn_ext. intros s _. simpl. now rewrite lsum_scal.
    + intros s _. rewrite lsum_tuples_S. simpl. rewrite sumn_const. lra.
  - rewrite (sumn_ext m _ (fun s => sumn m (fun a =>
      weight s * lsum (tuples m n) (fun others => h (a :: emit others y s))))).
    2:{ intros s _. rewrite lsum_tuples_S, <- sumn_scal. reflexivity. }
    rewrite sumn_exchange, lsum_tuples_S, <- sumn_scal. apply sumn_ext. intros a _.
    rewrite (IH y (fun l => h (a :: l))) by lia. reflexivity.
Qed.

Lemma favourable_sum y j set : (y < G)%nat -> (j < m)%nat ->
  favourable y j set = INR m * lsum (tuples m G) (fun o => ways j (nth y o O) * ind (set o)).
Proof.
  intros Hy Hj. unfold favourable, release.
  rewrite (draw_sum j (fun s => lsum (tuples m G) (fun others => ind (set (emit others y s)))) Hj).
  apply (replaced_slot (ways j) G y (fun o => ind (set o))). assumption.
Qed.

Definition hi : R := INR P / INR D.
Definition lo : R := (1 - hi) / (INR m - 1).
Definition q (s j : nat) : R := if Nat.eqb s j then hi else lo.

Lemma ways_q j s : ways j s = INR D * INR (m - 1) * q s j.
Proof.
  assert (0 < INR D) by (apply lt_0_INR; lia).
  assert (2 <= INR m) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  assert (Em : INR (m - 1) = INR m - 1) by (rewrite minus_INR by lia; simpl; lra).
  assert (ED : INR (D - P) = INR D - INR P) by (apply minus_INR; lia).
  unfold ways, q, lo, hi. destruct (Nat.eqb s j); rewrite ?Em, ?ED; field; lra.
Qed.

(* P(o | x, y) = m^-(G-1)·q(o_y | j), summed over any set. *)
Theorem response_law y j set : (y < G)%nat -> (j < m)%nat ->
  probability y j set = / INR m ^ (G - 1) * lsum (tuples m G) (fun o => q (nth y o O) j * ind (set o)).
Proof.
  intros Hy Hj. unfold probability, all_draws. rewrite favourable_sum by assumption.
  rewrite (lsum_ext (tuples m G) _ (fun o => INR D * INR (m - 1) * (q (nth y o O) j * ind (set o)))).
  2:{ intros o _. rewrite ways_q. lra. }
  rewrite lsum_scal. replace G with (S (G - 1)) at 2 by lia.
  assert (INR D <> 0) by (apply not_0_INR; lia).
  assert (INR (m - 1) <> 0) by (apply not_0_INR; lia).
  assert (INR m <> 0) by (apply not_0_INR; lia).
  assert (INR m ^ (G - 1) <> 0) by (apply pow_nonzero; assumption).
  simpl. field. auto.
Qed.

Lemma q_ratio epsilon s j s' j' :
  0 <= epsilon -> 0 < lo -> 0 < hi -> hi <= exp epsilon * lo -> lo <= exp epsilon * hi ->
  q s j <= exp epsilon * q s' j'.
Proof.
  intros He H1 H2 H3 H4. pose proof (exp_at_least_1 epsilon He).
  unfold q. destruct (Nat.eqb s j), (Nat.eqb s' j'); nra.
Qed.

Theorem response_ratio epsilon y j y' j' set :
  0 <= epsilon -> 0 < lo -> 0 < hi -> hi <= exp epsilon * lo -> lo <= exp epsilon * hi ->
  (y < G)%nat -> (j < m)%nat -> (y' < G)%nat -> (j' < m)%nat ->
  probability y j set <= exp epsilon * probability y' j' set.
Proof.
  intros He H1 H2 H3 H4 Hy Hj Hy' Hj'. rewrite !response_law by assumption.
  assert (Hm : 0 < / INR m ^ (G - 1)) by (apply Rinv_0_lt_compat, pow_lt, lt_0_INR; lia).
  assert (lsum (tuples m G) (fun o => q (nth y o O) j * ind (set o)) <=
          exp epsilon * lsum (tuples m G) (fun o => q (nth y' o O) j' * ind (set o))).
  { rewrite <- lsum_scal. apply lsum_le. intros o _.
    pose proof (q_ratio epsilon (nth y o O) j (nth y' o O) j' He H1 H2 H3 H4).
    unfold ind. destruct (set o); lra. }
  replace (exp epsilon * (/ INR m ^ (G - 1) * _)) with
    (/ INR m ^ (G - 1) * (exp epsilon * lsum (tuples m G) (fun o => q (nth y' o O) j' * ind (set o)))) by ring.
  apply Rmult_le_compat_l; lra.
Qed.
End Law.

(* ---- the device: a coin of 40 bits ---- *)

Lemma INR_two40 : INR (2 ^ 40) = two40.
Proof. rewrite pow_INR. simpl (INR 2). unfold two40. replace (1 + 1) with 2 by lra. simpl; lra. Qed.

Theorem response_private epsilon m G P y j y' j' (set : list nat -> bool) :
  0 <= epsilon -> (2 <= m)%nat -> accepted epsilon (INR m) (INR P) ->
  (y < G)%nat -> (j < m)%nat -> (y' < G)%nat -> (j' < m)%nat ->
  probability (2 ^ 40) P m G y j set <= exp epsilon * probability (2 ^ 40) P m G y' j' set.
Proof.
  intros He Hm HA Hy Hj Hy' Hj'.
  assert (HmR : 2 <= INR m) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  pose proof (accepted_range _ _ _ He HmR HA) as [_ HP].
  rewrite <- INR_two40 in HP. apply INR_lt in HP.
  destruct (threshold_ratios epsilon (INR m) (INR P) He HmR HA) as (H1 & H2 & H3 & H4).
  unfold p_lo, p_hi in *. rewrite <- INR_two40 in *.
  assert (0 < 2 ^ 40)%nat by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia).
  apply response_ratio; unfold lo, hi; auto; lia.
Qed.

(* As SPEC 5.11 computes P: Y is the double before the conversion to an integer. *)
Theorem response_private_as_computed epsilon m G P Y y j y' j' (set : list nat -> bool) :
  (/ 1048576 <= epsilon /\ (Z.of_nat m <= 65536)%Z) \/ (/ 65536 <= epsilon /\ (Z.of_nat m <= 1048576)%Z) ->
  (2 <= m)%nat ->
  Rabs (Y - (two40 * ideal epsilon (INR m) - / 128)) <= / 128 -> INR P <= Y < INR P + 1 ->
  (y < G)%nat -> (j < m)%nat -> (y' < G)%nat -> (j' < m)%nat ->
  probability (2 ^ 40) P m G y j set <= exp epsilon * probability (2 ^ 40) P m G y' j' set.
Proof.
  intros Hrange Hm HY HP Hy Hj Hy' Hj'. apply response_private; auto; [lra|].
  rewrite (INR_IZR_INZ P) in *. rewrite (INR_IZR_INZ m) in *.
  assert (2 <= IZR (Z.of_nat m)) by (apply IZR_le; lia).
  destruct Hrange as [[He HM]|[He HM]].
  - apply (computed_threshold_slot epsilon _ Y); auto. split; [assumption|]. apply IZR_le. lia.
  - apply (computed_threshold_crowd epsilon _ Y); auto. split; [assumption|]. apply IZR_le. lia.
Qed.
