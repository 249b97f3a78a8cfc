(* SPDX-License-Identifier: Apache-2.0
   core/base/base.h: the masks by which secrets choose are all ones or zero as they should, on 64-bit words. A word is
   an integer from 0 to 2^64 - 1; C's unsigned subtraction is that modulo 2^64. `hide` returns its argument.
   - mask_nonzero, mask_equal, mask_less and the two selects do what their names say (theorems *_correct).
   - Reducing cell + shift by masks, as pml_response_emit does, is the remainder modulo m (moved_correct). *)
From Coq Require Import ZArith Lia Bool.
Open Scope Z_scope.

Definition B64 : Z := 2 ^ 64.
Definition ones : Z := B64 - 1.
Definition word (v : Z) : Prop := 0 <= v < B64.
Definition wrap (v : Z) : Z := v mod B64.
Definition spread (top : Z) : Z := wrap (0 - top). (* 0 - (x >> 63) *)

Definition mask_nonzero (v : Z) : Z := spread (Z.shiftr (Z.lor v (wrap (0 - v))) 63).
Definition complement (v : Z) : Z := ones - v.
Definition mask_equal (a b : Z) : Z := complement (mask_nonzero (Z.lxor a b)).
Definition mask_less (a b : Z) : Z := spread (Z.shiftr (wrap (wrap a - wrap b)) 63).
Definition select (mask yes no : Z) : Z := Z.lxor no (Z.land mask (Z.lxor yes no)).

Lemma top_bit x : word x -> Z.shiftr x 63 = if Z.ltb x (2 ^ 63) then 0 else 1.
Proof.
  unfold word, B64. intros H. rewrite Z.shiftr_div_pow2 by lia.
  destruct (Z.ltb_spec x (2 ^ 63)); [apply Z.div_small; lia|].
  symmetry. apply (Z.div_unique x (2 ^ 63) 1 (x - 2 ^ 63)); lia.
Qed.

Lemma spread_bit (b : bool) : spread (if b then 0 else 1) = if b then 0 else ones.
Proof. destruct b; reflexivity. Qed.

Lemma lor_at_least_l a b : 0 <= a -> 0 <= b -> a <= Z.lor a b.
Proof.
  intros Ha Hb. assert (H : Z.land (Z.lor a b) a = a).
  { rewrite Z.land_comm, Z.lor_comm. apply Z.bits_inj'. intros n _. rewrite Z.land_spec, Z.lor_spec.
    destruct (Z.testbit a n), (Z.testbit b n); reflexivity. }
  rewrite <- H at 1. rewrite <- (Z.lor_ldiff_and (Z.lor a b) a) at 2.
  assert (E : Z.land (Z.ldiff (Z.lor a b) a) (Z.land (Z.lor a b) a) = 0).
  { apply Z.bits_inj'. intros n _. rewrite !Z.land_spec, Z.ldiff_spec, Z.lor_spec, Z.bits_0.
    destruct (Z.testbit a n), (Z.testbit b n); reflexivity. }
  rewrite <- (Z.lxor_lor _ _ E), <- (Z.add_nocarry_lxor _ _ E).
  assert (0 <= Z.ldiff (Z.lor a b) a) by (apply Z.ldiff_nonneg; left; apply Z.lor_nonneg; auto). lia.
Qed.

Lemma lor_word a b : word a -> word b -> word (Z.lor a b).
Proof.
  unfold word. intros [Ha Ha'] [Hb Hb']. split; [apply Z.lor_nonneg; auto|].
  destruct (Z.eq_dec (Z.lor a b) 0) as [->|Hne]; [reflexivity|].
  apply Z.log2_lt_pow2; [assert (0 <= Z.lor a b) by (apply Z.lor_nonneg; auto); lia|].
  rewrite Z.log2_lor by assumption.
  assert (Z.log2 a < 64) by (destruct (Z.eq_dec a 0) as [->|]; [reflexivity|apply Z.log2_lt_pow2; [lia|exact Ha']]).
  assert (Z.log2 b < 64) by (destruct (Z.eq_dec b 0) as [->|]; [reflexivity|apply Z.log2_lt_pow2; [lia|exact Hb']]).
  lia.
Qed.

Theorem mask_nonzero_correct v : word v -> mask_nonzero v = if Z.eqb v 0 then 0 else ones.
Proof.
  intros Hv. unfold mask_nonzero. destruct (Z.eqb_spec v 0) as [->|Hne]; [reflexivity|].
  assert (Hw : wrap (0 - v) = B64 - v).
  { unfold wrap, word, B64 in *. symmetry. apply (Z.mod_unique _ _ (-1)); lia. }
  rewrite Hw. assert (Hc : word (B64 - v)) by (unfold word, B64 in *; lia).
  rewrite top_bit by now apply lor_word.
  destruct (Z.ltb_spec (Z.lor v (B64 - v)) (2 ^ 63)) as [H|H]; [exfalso|reflexivity].
  unfold word in *. pose proof (lor_at_least_l v (B64 - v) ltac:(lia) ltac:(lia)).
  pose proof (lor_at_least_l (B64 - v) v ltac:(lia) ltac:(lia)). rewrite Z.lor_comm in H1. unfold B64 in *. lia.
Qed.

Theorem mask_equal_correct a b : word a -> word b -> mask_equal a b = if Z.eqb a b then ones else 0.
Proof.
  intros Ha Hb. unfold mask_equal. rewrite mask_nonzero_correct.
  - destruct (Z.eqb_spec a b) as [->|Hne].
    + rewrite Z.lxor_nilpotent. reflexivity.
    + destruct (Z.eqb_spec (Z.lxor a b) 0) as [E|]; [apply Z.lxor_eq in E; contradiction|reflexivity].
  - unfold word in *. split; [apply Z.lxor_nonneg; lia|].
    destruct (Z.eq_dec (Z.lxor a b) 0) as [->|Hne]; [reflexivity|].
    assert (0 <= Z.lxor a b) by (apply Z.lxor_nonneg; lia).
    apply Z.log2_lt_pow2; [lia|]. pose proof (Z.log2_lxor a b ltac:(lia) ltac:(lia)).
    assert (Z.log2 a < 64) by (destruct (Z.eq_dec a 0) as [->|]; [reflexivity|apply Z.log2_lt_pow2; [lia|apply Ha]]).
    assert (Z.log2 b < 64) by (destruct (Z.eq_dec b 0) as [->|]; [reflexivity|apply Z.log2_lt_pow2; [lia|apply Hb]]).
    lia.
Qed.

(* a and b are signed here; their difference is taken modulo 2^64. *)
Theorem mask_less_correct a b : - 2 ^ 63 < a - b < 2 ^ 63 -> mask_less a b = if Z.ltb a b then ones else 0.
Proof.
  intros H. unfold mask_less.
  assert (E : wrap (wrap a - wrap b) = if Z.ltb a b then a - b + B64 else a - b).
  { unfold wrap. rewrite <- Zminus_mod. unfold B64. destruct (Z.ltb_spec a b).
    - symmetry. apply (Z.mod_unique _ _ (-1)); lia.
    - apply Z.mod_small. lia. }
  rewrite E. destruct (Z.ltb_spec a b).
  - rewrite top_bit by (unfold word, B64; lia). destruct (Z.ltb_spec (a - b + B64) (2 ^ 63)); [unfold B64 in *;
    lia|reflexivity].
  - rewrite top_bit by (unfold word, B64; lia). destruct (Z.ltb_spec (a - b) (2 ^ 63)); [reflexivity|lia].
Qed.

Theorem select_correct yes no (condition : bool) : word yes -> word no ->
  select (if condition then ones else 0) yes no = if condition then yes else no.
Proof.
  intros Hy Hn. unfold select. destruct condition.
  - assert (E : Z.land ones (Z.lxor yes no) = Z.lxor yes no).
    { rewrite Z.land_comm. change ones with (Z.ones 64). rewrite Z.land_ones by lia.
      apply Z.bits_inj'. intros n Hn0. destruct (Z.lt_ge_cases n 64).
      - apply Z.mod_pow2_bits_low. lia.
      - rewrite Z.mod_pow2_bits_high by lia. rewrite Z.lxor_spec.
        assert (High : forall v, word v -> Z.testbit v n = false).
        { intros v [Hv Hv']. destruct (Z.eq_dec v 0) as [->|]; [apply Z.bits_0|].
          apply Z.bits_above_log2; [lia|]. apply Z.lt_le_trans with 64; [apply Z.log2_lt_pow2; [lia|exact Hv']|lia]. }
        rewrite !High by assumption. reflexivity. }
    rewrite E, (Z.lxor_comm yes no), <- Z.lxor_assoc, Z.lxor_nilpotent. apply Z.lxor_0_l.
  - rewrite Z.land_0_l. apply Z.lxor_0_r.
Qed.

(* moved = cell + shift; moved -= cells & ~mask_less(moved, cells) *)
Theorem moved_correct m j t : 0 < m < 2 ^ 32 -> 0 <= j < m -> 0 <= t < m ->
  (j + t) - Z.land m (complement (mask_less (j + t) m)) = (j + t) mod m.
Proof.
  intros Hm Hj Ht. rewrite mask_less_correct by lia. destruct (Z.ltb_spec (j + t) m).
  - change (complement ones) with 0. rewrite Z.land_0_r, Z.mod_small by lia. lia.
  - change (complement 0) with (Z.ones 64). rewrite Z.land_ones, Z.mod_small by lia.
    apply (Z.mod_unique _ _ 1); lia.
Qed.
