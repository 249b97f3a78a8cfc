(* SPDX-License-Identifier: Apache-2.0
   Theorem B: shuffling alone, and independent fakes. B uniform messages and the asker's symbol z are seen as a
   histogram of N = B + 1 messages; z is her true symbol with probability hi and each other one with lo,
   hi + (S-1)·lo = 1. With γ = S·lo, 1 - γ = hi - lo and c = γN/((1-γ)S); c = N/(e^ε₀ - 1) when
   hi = e^ε₀·lo (coin_ratio).
   - A histogram has the probability M(h)·(1-γ)(S/N)·(h_a + c), M the law of N uniform messages (shuffled_law).
   - Of N uniform messages, s fall on a or b with the law Bin(N, 2/S), and of these k on a with Bin(s, ½) (pair_counts).
   - So the epoch is (ε, (1-γ)·(S/N)·Σ_s Bin(N, 2/S)(s)·D(s))-DP (shuffle_private), with D(s) as PRIVACY prints it.
   - A coin that tells less than that one, as the device's does, is bounded by the same δ (shuffle_rounded).
   - When B is drawn, and seen, δ is the mean over B (shuffle_mixture). It does not grow with B (more_fakes).
   Clusters, more fakes and other clients' messages are independent of the asker, so whoever sees them too sees no
   more. *)
From Coq Require Import Reals Lra Lia List Arith Bool.
From PrivateMail Require Import Sums Exponential Threshold Excess Crowd Splitting Epoch Binomial.
Import ListNotations.
Open Scope R_scope.

Section Shuffle.
Variables (symbols B : nat) (hi lo : R).
Hypothesis cells : (2 <= symbols)%nat.
Hypothesis lo_nonneg : 0 <= lo.
Hypothesis lo_below : lo < hi.
Let N := S B.

(* The histogram of B uniform messages and z. *)
Definition with_message (z : nat) (h : list nat) : R :=
  without (ways symbols 1 B) (seen h) z 1 / INR symbols ^ B.
Definition shuffled : nat -> list nat -> R := view symbols with_message hi lo.

Definition c : R := INR N * lo / (hi - lo).
Definition uniform (h : list nat) : R := ways symbols 1 N (seen h) / INR symbols ^ N.

Lemma symbols_R : 2 <= INR symbols.
Proof. replace 2 with (INR 2) by (simpl; lra). apply le_INR. exact cells. Qed.

Lemma N_R : 0 < INR N.
Proof. apply lt_0_INR. unfold N. lia. Qed.

Lemma messages_of h : ways symbols 1 N (seen h) * sumn symbols (fun z => INR (seen h z)) =
                      ways symbols 1 N (seen h) * INR N.
Proof.
  assert (H : forall l, In l (tuples (symbols * 1) N) -> fits symbols 1 l (seen h) = true ->
    sumn symbols (fun z => INR (seen h z)) = INR N).
  { intros l Hl Hfit. apply tuples_spec in Hl. destruct Hl as [Hlen Hall]. rewrite Nat.mul_1_r in Hall.
    rewrite (sumn_ext symbols _ (fun z => INR (sent 1 l z)))
      by (intros s Hs; now rewrite (proj1 (fits_spec symbols 1 l _) Hfit)).
    rewrite <- Hlen. clear -Hall. induction l as [|t l IH].
    - rewrite sumn_zero; [reflexivity|]. reflexivity.
    - inversion Hall; subst. cbn [sent length]. rewrite Nat.div_1_r, Nat.mod_1_r.
      rewrite (sumn_ext symbols _ (fun z => ind (Nat.eqb z t) + INR (sent 1 l z))).
      + rewrite sumn_plus, IH, sumn_ind_single, S_INR by assumption. ring.
      + intros z _. rewrite plus_INR, Nat.eqb_sym. unfold ind. destruct (Nat.eqb z t); simpl; lra. }
  unfold ways. rewrite <- !lsum_scal_r. apply lsum_ext. intros l Hl. unfold ind.
  destruct (fits symbols 1 l (seen h)) eqn:E; [|ring]. rewrite (H l Hl E). reflexivity.
Qed.

Theorem shuffled_law a h : (a < symbols)%nat ->
  shuffled a h = uniform h * ((hi - lo) * (INR symbols / INR N) * (INR (seen h a) + c)).
Proof.
  intros Ha. pose proof symbols_R. pose proof N_R. assert (Hp : INR symbols ^ B <> 0) by (apply pow_nonzero; lra).
  assert (Hz : forall z, (z < symbols)%nat ->
    with_message z h = INR (seen h z) * (ways symbols 1 N (seen h) / (INR N * INR symbols ^ B))).
  { intros z Hz. unfold with_message. pose proof (ways_weighted symbols 1 ltac:(lia) (le_n 1) N (seen h) z Hz) as H1.
    replace (N - 1)%nat with B in H1 by (unfold N; lia). unfold sumn in H1. simpl seq in H1. simpl lsum in H1.
    simpl (INR 1) in H1. rewrite Rplus_0_r, Rmult_1_l in H1.
    replace (INR (seen h z) * (ways symbols 1 N (seen h) / (INR N * INR symbols ^ B)))
      with (INR (seen h z) * ways symbols 1 N (seen h) / (INR N * INR symbols ^ B)) by (field; lra).
    rewrite H1. field. lra. }
  unfold shuffled. rewrite view_coin by assumption. rewrite (Hz a Ha).
  rewrite (sumn_ext symbols _ _ Hz), sumn_scal_r.
  pose proof (messages_of h) as Hm. unfold uniform, c. unfold N at 2. simpl pow. fold N.
  set (W := ways symbols 1 N (seen h)) in *. set (total := sumn symbols (fun z => INR (seen h z))) in *.
  replace (lo * (total * (W / (INR N * INR symbols ^ B)))) with (lo * (W * total) / (INR N * INR symbols ^ B))
    by (field; lra).
  rewrite Hm. field. repeat split; lra.
Qed.

(* ---- two symbols among N uniform messages ---- *)

Variables (a b : nat).
Hypothesis a_symbol : (a < symbols)%nat.
Hypothesis b_symbol : (b < symbols)%nat.
Hypothesis different : a <> b.

Lemma one_draw (x y z : R) :
  sumn symbols (fun t => if Nat.eqb t a then x else if Nat.eqb t b then y else z) = x + y + (INR symbols - 2) * z.
Proof.
  rewrite (sumn_ext symbols _ (fun t => (if Nat.eqb t a then x - z else 0) + (if Nat.eqb t b then y - z else 0) + z)).
  - rewrite !sumn_plus, (sumn_single symbols a (fun _ => x - z)), (sumn_single symbols b (fun _ => y - z)), sumn_const
      by assumption. ring.
  - intros t _. destruct (Nat.eqb_spec t a), (Nat.eqb_spec t b); try congruence; ring.
Qed.

Definition two_ways (F : nat -> nat -> R) (s : nat) : R := sumn (S s) (fun k => INR (choose s k) * F k (s - k)%nat).

Theorem pair_counts n (F : nat -> nat -> R) :
  lsum (tuples (symbols * 1) n) (fun l => F (sent 1 l a) (sent 1 l b)) =
  sumn (S n) (fun s => INR (choose n s) * (two_ways F s * (INR symbols - 2) ^ (n - s))).
Proof.
  revert F. induction n as [|n IH]; intros F.
  - unfold two_ways, sumn. simpl. ring.
  - rewrite lsum_tuples_S, Nat.mul_1_r.
    rewrite (sumn_ext symbols _ (fun t => if Nat.eqb t a
      then lsum (tuples (symbols * 1) n) (fun l => F (S (sent 1 l a)) (sent 1 l b))
      else if Nat.eqb t b then lsum (tuples (symbols * 1) n) (fun l => F (sent 1 l a) (S (sent 1 l b)))
      else lsum (tuples (symbols * 1) n) (fun l => F (sent 1 l a) (sent 1 l b)))).
    2:{ intros t _. rewrite Nat.mul_1_r. cbn [sent]. rewrite Nat.div_1_r, Nat.mod_1_r.
        destruct (Nat.eqb_spec t a), (Nat.eqb_spec t b); try congruence; reflexivity. }
    rewrite one_draw, (IH (fun i j => F (S i) j)), (IH (fun i j => F i (S j))), (IH F).
    rewrite (pascal_sum n (fun s j => two_ways F s * (INR symbols - 2) ^ j)).
    rewrite <- sumn_scal, <- !sumn_plus. apply sumn_ext. intros s _.
    assert (E : two_ways F (S s) = two_ways (fun i j => F (S i) j) s + two_ways (fun i j => F i (S j)) s).
    { unfold two_ways. rewrite (pascal_sum s F), <- sumn_plus. apply sumn_ext. intros. ring. }
    rewrite E. simpl pow. ring.
Qed.

(* ---- the sets ---- *)

Lemma one_histogram T l : NoDup T -> (forall h, In h T -> length h = symbols) ->
  0 <= lsum T (fun h => ind (fits symbols 1 l (seen h))) <= 1.
Proof.
  intros HN Hlen. induction T as [|h T IH]; [simpl; lra|]. inversion HN; subst. simpl.
  assert (IH' : 0 <= lsum T (fun h => ind (fits symbols 1 l (seen h))) <= 1)
    by (apply IH; [assumption|intros; apply Hlen; now right]).
  unfold ind at 1 3. destruct (fits symbols 1 l (seen h)) eqn:E; [|lra].
  rewrite (lsum_ext T _ (fun _ => 0)); [rewrite lsum_zero; lra|]. intros h' Hh'. unfold ind.
  destruct (fits symbols 1 l (seen h')) eqn:E'; [|reflexivity]. exfalso. apply H1. replace h with h'; [assumption|].
  assert (L : length h = symbols) by (apply Hlen; now left).
  assert (L' : length h' = symbols) by (apply Hlen; now right).
  apply nth_ext with (d := O) (d' := O); [congruence|]. intros s Hs. rewrite L' in Hs.
  pose proof (proj1 (fits_spec _ _ _ _) E s Hs) as H. pose proof (proj1 (fits_spec _ _ _ _) E' s Hs) as H'.
  unfold seen in *. congruence.
Qed.

(* Bin(N, 2/S) *)
Definition pair_law (s : nat) : R :=
  INR (choose N s) * (2 / INR symbols) ^ s * (1 - 2 / INR symbols) ^ (N - s).

Variables (epsilon : R) (k0 : nat -> nat).
Hypothesis epsilon_nonneg : 0 <= epsilon.
Hypothesis k0_first : forall s, first_positive (exp epsilon) c s (k0 s).

Definition shuffle_delta : R :=
  (hi - lo) * (INR symbols / INR N) * sumn (S N) (fun s => pair_law s * D (exp epsilon) c s (k0 s)).

(* The bracket of the proof, for a sequence of messages. *)
Definition bracket (i j : nat) : R := positive_part (INR i + c - exp epsilon * (INR j + c)).

Lemma c_nonneg : 0 <= c.
Proof.
  pose proof N_R. unfold c. apply Rmult_le_pos; [apply Rmult_le_pos; lra|]. apply Rlt_le, Rinv_0_lt_compat. lra.
Qed.

Lemma delta_is_mean : shuffle_delta = (hi - lo) * (INR symbols / INR N) / INR symbols ^ N *
  lsum (tuples (symbols * 1) N) (fun l => bracket (sent 1 l a) (sent 1 l b)).
Proof.
  pose proof symbols_R as HS. pose proof (exp_at_least_1 epsilon epsilon_nonneg). pose proof c_nonneg.
  unfold shuffle_delta. set (q := (hi - lo) * (INR symbols / INR N)). rewrite pair_counts.
  unfold Rdiv at 1. rewrite Rmult_assoc. f_equal. rewrite <- sumn_scal. apply sumn_ext. intros s Hs.
  rewrite <- (excess_of_coins (exp epsilon) c s (k0 s)) by (assumption || apply k0_first).
  assert (E : sumn (S s) (fun k => coin s k * positive_part (INR k + c - exp epsilon * (INR (s - k) + c))) =
              two_ways bracket s / 2 ^ s).
  { unfold two_ways, Rdiv. rewrite <- sumn_scal_r. apply sumn_ext. intros k _. unfold coin, bracket, Rdiv. ring. }
  rewrite E. unfold pair_law. pose proof (two_power s).
  replace (1 - 2 / INR symbols) with ((INR symbols - 2) / INR symbols) by (field; lra).
  unfold Rdiv. rewrite !Rpow_mult_distr, !pow_inv by lra.
  replace (INR symbols ^ N) with (INR symbols ^ s * INR symbols ^ (N - s)) by (rewrite <- pow_add; f_equal; lia).
  assert (INR symbols ^ s <> 0) by (apply pow_nonzero; lra).
  assert (INR symbols ^ (N - s) <> 0) by (apply pow_nonzero; lra).
  field. repeat split; try assumption; lra.
Qed.

Theorem shuffle_private T : NoDup T -> (forall h, In h T -> length h = symbols) ->
  lsum T (shuffled a) <= exp epsilon * lsum T (shuffled b) + shuffle_delta.
Proof.
  intros HN Hlen. rewrite delta_is_mean. set (E := exp epsilon).
  pose proof symbols_R as HS. pose proof N_R as HNR. assert (HSN : 0 < INR symbols ^ N) by (apply pow_lt; lra).
  assert (HSi : 0 <= / INR symbols ^ N) by (apply Rlt_le, Rinv_0_lt_compat; lra).
  set (q := (hi - lo) * (INR symbols / INR N)).
  assert (Hq : 0 <= q).
  { unfold q. apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat. lra. }
  assert (H : lsum T (fun h => shuffled a h - E * shuffled b h) <=
    q / INR symbols ^ N * lsum (tuples (symbols * 1) N) (fun l => bracket (sent 1 l a) (sent 1 l b))).
  { apply Rle_trans with (lsum T (fun h => q / INR symbols ^ N *
      lsum (tuples (symbols * 1) N) (fun l => ind (fits symbols 1 l (seen h)) * bracket (sent 1 l a) (sent 1 l b)))).
    - apply lsum_le. intros h _. rewrite !shuffled_law by assumption. unfold uniform, ways. fold q.
      replace (lsum (tuples (symbols * 1) N)
          (fun l => ind (fits symbols 1 l (seen h)) * bracket (sent 1 l a) (sent 1 l b)))
        with (lsum (tuples (symbols * 1) N) (fun l => ind (fits symbols 1 l (seen h))) * bracket (seen h a) (seen h b)).
      + set (W := lsum (tuples (symbols * 1) N) (fun l => ind (fits symbols 1 l (seen h)))).
        assert (HW : 0 <= W) by (apply lsum_nonneg; intros; unfold ind; destruct (fits _ _ _ _); lra).
        set (x := INR (seen h a)). set (y := INR (seen h b)).
        replace (W / INR symbols ^ N * (q * (x + c)) - E * (W / INR symbols ^ N * (q * (y + c))))
          with (q / INR symbols ^ N * (W * (x + c - E * (y + c)))) by (field; lra).
        apply Rmult_le_compat_l; [now apply Rmult_le_pos|]. apply Rmult_le_compat_l; [assumption|].
        apply positive_part_above.
      + rewrite <- lsum_scal_r. apply lsum_ext. intros l _. unfold ind.
        destruct (fits symbols 1 l (seen h)) eqn:Ef; [|ring].
        rewrite !(proj1 (fits_spec _ _ _ _) Ef) by assumption. reflexivity.
    - rewrite lsum_scal. apply Rmult_le_compat_l; [now apply Rmult_le_pos|].
      rewrite lsum_exchange. apply lsum_le. intros l _. rewrite lsum_scal_r.
      pose proof (one_histogram T l HN Hlen).
      assert (0 <= bracket (sent 1 l a) (sent 1 l b)) by apply positive_part_nonneg. nra. }
  rewrite lsum_minus, lsum_scal in H. lra.
Qed.
End Shuffle.

(* hi = e^ε₀·lo, as in ideal randomized response: PRIVACY's c. *)
Theorem coin_ratio B lo epsilon0 : 0 < lo -> 0 < epsilon0 ->
  c B (exp epsilon0 * lo) lo = INR (S B) / (exp epsilon0 - 1).
Proof.
  intros Hlo He. pose proof (exp_above_line epsilon0 ltac:(lra)). unfold c. field. nra.
Qed.

(* The device's threshold is rounded down, so its coin tells less than the ideal one, whose c is PRIVACY's. It is a
   mixture of that and of a uniform symbol, and the ideal δ bounds it. *)
Theorem shuffle_rounded symbols B hi lo hi' lo' a b epsilon k0 T :
  (2 <= symbols)%nat -> 0 <= lo -> lo < hi -> hi + (INR symbols - 1) * lo = 1 ->
  hi' + (INR symbols - 1) * lo' = 1 -> 0 <= hi' - lo' <= hi - lo ->
  (a < symbols)%nat -> (b < symbols)%nat -> a <> b -> 0 <= epsilon ->
  (forall s, first_positive (exp epsilon) (c B hi lo) s (k0 s)) ->
  NoDup T -> (forall h, In h T -> length h = symbols) ->
  lsum T (shuffled symbols B hi' lo' a) <=
  exp epsilon * lsum T (shuffled symbols B hi' lo' b) + shuffle_delta symbols B hi lo epsilon k0.
Proof.
  intros HS Hlo Hhi Hone Hone' Hless Ha Hb Hab He Hk HN Hlen. pose proof (symbols_R symbols HS) as HSR.
  pose proof (exp_at_least_1 epsilon He) as HE. set (share := (hi' - lo') / (hi - lo)).
  assert (Hshare : 0 <= share <= 1).
  { unfold share. split.
    - apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat. lra.
    - apply Rmult_le_reg_r with (hi - lo); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (Hd : share * (hi - lo) = hi' - lo') by (unfold share; field; lra).
  set (rest := lo' - share * lo). assert (Hrest : 0 <= rest).
  { assert (INR symbols * rest = 1 - share).
    { replace (INR symbols * rest) with (INR symbols * lo' - share * (INR symbols * lo)) by (unfold rest; ring).
      replace (INR symbols * lo') with (1 - (hi' - lo')) by lra. replace (INR symbols * lo) with (1 - (hi - lo)) by lra.
      rewrite <- Hd. ring. }
    nra. }
  set (all := fun h => sumn symbols (fun z => with_message symbols B z h)).
  assert (Hmix : forall x, (x < symbols)%nat ->
    lsum T (shuffled symbols B hi' lo' x) = share * lsum T (shuffled symbols B hi lo x) + rest * lsum T all).
  { intros x Hx. rewrite <- !lsum_scal, <- lsum_plus. apply lsum_ext. intros h _. unfold shuffled.
    rewrite !view_coin by assumption. fold (all h). unfold rest, share. field. lra. }
  assert (Hall : 0 <= lsum T all).
  { apply lsum_nonneg. intros h _. apply sumn_nonneg. intros z _. unfold with_message.
    apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra]. unfold without, ways.
    destruct (Nat.leb _ _); [|lra]. apply lsum_nonneg. intros l _. unfold ind. destruct (fits _ _ _ _); lra. }
  pose proof (shuffle_private symbols B hi lo HS Hlo Hhi a b Ha Hb Hab epsilon k0 He Hk T HN Hlen) as Hideal.
  pose proof (shuffle_private symbols B hi lo HS Hlo Hhi a b Ha Hb Hab epsilon k0 He Hk [] (NoDup_nil _)
    ltac:(intros h [])) as Hdelta. simpl in Hdelta.
  rewrite !Hmix by assumption. set (D := shuffle_delta _ _ _ _ _ _) in *.
  set (A := lsum T (shuffled symbols B hi lo a)) in *. set (A' := lsum T (shuffled symbols B hi lo b)) in *.
  assert (share * A <= share * (exp epsilon * A' + D)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= rest * lsum T all) by now apply Rmult_le_pos. nra.
Qed.

(* B is drawn with the law p, and seen. *)
Theorem shuffle_mixture {O : Type} (count : nat) (p delta : nat -> R) (P Q : nat -> O -> R) epsilon
    (T : nat -> list O) :
  (forall B, 0 <= p B) -> (forall B, (B < count)%nat -> lsum (T B) (P B) <= exp epsilon * lsum (T B) (Q B) + delta B) ->
  sumn count (fun B => p B * lsum (T B) (P B)) <=
  exp epsilon * sumn count (fun B => p B * lsum (T B) (Q B)) + sumn count (fun B => p B * delta B).
Proof.
  intros Hp H. rewrite <- sumn_scal, <- sumn_plus. apply sumn_le. intros B HB. specialize (H B HB).
  specialize (Hp B). nra.
Qed.

(* ---- one more uniform message ---- *)

Fixpoint remove (i : nat) (l : list nat) : list nat :=
  match l, i with
  | [], _ => []
  | _ :: rest, O => rest
  | t :: rest, S i' => t :: remove i' rest
  end.

Lemma sum_removed m n (F : list nat -> R) : forall i, (i <= n)%nat ->
  lsum (tuples m (S n)) (fun l => F (remove i l)) = INR m * lsum (tuples m n) F.
Proof.
  revert F. induction n as [|n IH]; intros F i Hi; rewrite lsum_tuples_S.
  - replace i with O by lia. simpl remove. now rewrite sumn_const.
  - destruct i as [|i]; simpl remove; [now rewrite sumn_const|].
    rewrite (sumn_ext m _ (fun t => INR m * lsum (tuples m n) (fun l => F (t :: l))))
      by (intros t _; apply (IH (fun l => F (t :: l))); lia).
    now rewrite sumn_scal, lsum_tuples_S.
Qed.

(* Every message is missing once. *)
Lemma sent_removed s : forall l, sumn (length l) (fun i => INR (sent 1 (remove i l) s)) =
  (INR (length l) - 1) * INR (sent 1 l s).
Proof.
  induction l as [|t l IH]; [unfold sumn; simpl; ring|]. cbn [length]. rewrite sumn_S_first. cbn [remove sent].
  set (first := (if Nat.eqb (t / 1) s then S (t mod 1) else O)).
  rewrite (sumn_ext (length l) _ (fun i => INR first + INR (sent 1 (remove i l) s))) by (intros; apply plus_INR).
  rewrite sumn_plus, sumn_const, IH, S_INR, plus_INR. ring.
Qed.

Theorem more_fakes symbols B hi lo a b epsilon k0 k0' :
  (2 <= symbols)%nat -> 0 <= lo -> lo < hi -> (a < symbols)%nat -> (b < symbols)%nat -> a <> b -> 0 <= epsilon ->
  (forall s, first_positive (exp epsilon) (c B hi lo) s (k0 s)) ->
  (forall s, first_positive (exp epsilon) (c (S B) hi lo) s (k0' s)) ->
  shuffle_delta symbols (S B) hi lo epsilon k0' <= shuffle_delta symbols B hi lo epsilon k0.
Proof.
  intros HS Hlo Hhi Ha Hb Hab He Hk Hk'.
  rewrite (delta_is_mean symbols (S B) hi lo HS Hlo Hhi a b), (delta_is_mean symbols B
    hi lo HS Hlo Hhi a b) by assumption.
  set (E := exp epsilon). pose proof (symbols_R symbols HS) as HSR. set (m := INR symbols) in *.
  assert (HN : 0 < INR (S B)) by (apply lt_0_INR; lia). assert (HN' : 0 < INR (S (S B))) by (apply lt_0_INR; lia).
  assert (Hm : 0 < m ^ S B) by (apply pow_lt; lra).
  set (K := m * lo * (1 - E)). set (A := (hi - lo) * m).
  assert (HA : 0 <= A) by (unfold A; apply Rmult_le_pos; lra).
  (* The bracket with its factor is convex in the mean number of messages. *)
  assert (Hbracket : forall n i j, 0 < INR (S n) ->
    (hi - lo) * (m / INR (S n)) * bracket n hi lo epsilon i j =
    positive_part (A * ((INR i - E * INR j) / INR (S n)) + K)).
  { intros n i j Hn. unfold bracket. rewrite <- positive_part_scal.
    - f_equal. fold E. unfold c, A, K. field. lra.
    - apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat. lra. }
  assert (Hsum : forall n, 0 < INR (S n) -> (hi - lo) * (m / INR (S n)) / m ^ S n *
      lsum (tuples (symbols * 1) (S n)) (fun l => bracket n hi lo epsilon (sent 1 l a) (sent 1 l b)) =
    / m ^ S n * lsum (tuples (symbols * 1) (S n)) (fun l =>
      positive_part (A * ((INR (sent 1 l a) - E * INR (sent 1 l b)) / INR (S n)) + K))).
  { intros n Hn. rewrite (lsum_ext _ (fun l => positive_part _)
      (fun l => (hi - lo) * (m / INR (S n)) * bracket n hi lo epsilon (sent 1 l a) (sent 1 l b)))
      by (intros; symmetry; now apply Hbracket).
    rewrite lsum_scal. unfold Rdiv. ring. }
  rewrite !Hsum by assumption. rewrite Nat.mul_1_r.
  set (f := fun l => positive_part (A * ((INR (sent 1 l a) - E * INR (sent 1 l b)) / INR (S B)) + K)).
  assert (Hconvex : lsum (tuples symbols (S (S B))) (fun l =>
      positive_part (A * ((INR (sent 1 l a) - E * INR (sent 1 l b)) / INR (S (S B))) + K)) <=
    lsum (tuples symbols (S (S B))) (fun l => sumn (S (S B)) (fun i => / INR (S (S B)) * f (remove i l)))).
  { apply lsum_le. intros l Hl. apply tuples_spec in Hl. destruct Hl as [Hlen _].
    eapply Rle_trans; [|apply sumn_le; intros i _; right; unfold f; apply positive_part_scal, Rlt_le,
      Rinv_0_lt_compat, HN'].
    eapply Rle_trans; [|apply positive_part_sum]. right. f_equal.
    pose proof (sent_removed a l) as Hra. pose proof (sent_removed b l) as Hrb. rewrite Hlen in Hra, Hrb.
    rewrite (sumn_ext (S (S B)) _ (fun i => A / (INR (S (S B)) * INR (S B)) * INR (sent 1 (remove i l) a) -
      A * E / (INR (S (S B)) * INR (S B)) * INR (sent 1 (remove i l) b) + K / INR (S (S B)))) by (intros; field; lra).
    rewrite sumn_plus, sumn_minus, !sumn_scal, sumn_const, Hra, Hrb.
    replace (INR (S (S B)) - 1) with (INR (S B)) by (rewrite (S_INR (S B)); ring). field. lra. }
  assert (Htotal : lsum (tuples symbols (S (S B)))
      (fun l => sumn (S (S B)) (fun i => / INR (S (S B)) * f (remove i l))) = m * lsum (tuples symbols (S B)) f).
  { unfold sumn. rewrite lsum_exchange.
    rewrite (lsum_ext (seq 0 (S (S B))) _ (fun _ => / INR (S (S B)) * (m * lsum (tuples symbols (S B)) f))).
    - fold (sumn (S (S B)) (fun _ => / INR (S (S B)) * (m * lsum (tuples symbols (S B)) f))). rewrite sumn_const.
      field. lra.
    - intros i Hi. apply in_seq in Hi. rewrite lsum_scal. f_equal. apply sum_removed. lia. }
  rewrite Htotal in Hconvex. change (m ^ S (S B)) with (m * m ^ S B).
  apply Rle_trans with (/ (m * m ^ S B) * (m * lsum (tuples symbols (S B)) f)).
  - apply Rmult_le_compat_l; [|assumption]. apply Rlt_le, Rinv_0_lt_compat. apply Rmult_lt_0_compat; lra.
  - right. fold f. field. lra.
Qed.
