(* SPDX-License-Identifier: Apache-2.0
   Theorems 9 and 9b: no mechanism finds more than g_ε. Targets are 0 … N-1 with the prior `weight`; a mechanism gives
   output o with probability law t o when the target is t, and the server then sends the cells t with sends o t = true.
   - P(target ∈ S) ≤ E g_ε(mass of S) + δ for every prior, when Σ_o [law t o - e^ε·law u o]₊ ≤ δ for all t, u
     (ceiling_of_prior).
   - g_ε is concave and increasing; with a uniform prior and E|S|/N ≤ f this is P(target ∈ S) ≤ g_ε(f) + δ (ceiling:
     theorem 9). For other priors it is g_ε(f) where f bounds the mean mass of S.
   - With items in descending order of mass, h(f) is what a fixed download of share f holds at most (most_popular), and
     P(target ∈ S) ≤ g_ε(h(f)) + δ when E|S|/N ≤ f (ceiling_popular: theorem 9b).
   - Randomized response over m cells reaches it: it is ε-DP, sends one cell of m, and its p is g_ε(1/m)
     (ceiling_reached, ceiling_reached_private, ceiling_met). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums Threshold.
Import ListNotations.
Open Scope R_scope.

Definition g (epsilon f : R) : R := f * exp epsilon / (1 + f * (exp epsilon - 1)).

Lemma g_denominator epsilon f : 0 <= epsilon -> 0 <= f -> 1 <= 1 + f * (exp epsilon - 1).
Proof. intros He Hf. pose proof (exp_at_least_1 epsilon He). nra. Qed.

(* The tangent at f lies above: g is concave. *)
Lemma g_tangent epsilon f a : 0 <= epsilon -> 0 <= f -> 0 <= a ->
  g epsilon a <= g epsilon f + exp epsilon / ((1 + f * (exp epsilon - 1)) * (1 + f * (exp epsilon - 1))) * (a - f).
Proof.
  intros He Hf Ha. pose proof (g_denominator epsilon f He Hf). pose proof (g_denominator epsilon a He Ha).
  pose proof (exp_at_least_1 epsilon He). unfold g. set (E := exp epsilon) in *.
  set (x := 1 + f * (E - 1)) in *. set (y := 1 + a * (E - 1)) in *.
  assert (Hd : f * E / x + E / (x * x) * (a - f) - a * E / y = E * (E - 1) * ((a - f) * (a - f)) / (x * x * y)).
  { unfold x, y in *. field. lra. }
  assert (0 <= E * (E - 1) * ((a - f) * (a - f)) / (x * x * y)).
  { apply Rmult_le_pos.
    - apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rle_0_sqr].
    - apply Rlt_le, Rinv_0_lt_compat. apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; lra|lra]. }
  lra.
Qed.

Section Ceiling.
Context {O : Type}.
Variables (N : nat) (weight : nat -> R) (outputs : list O) (law : nat -> O -> R) (sends : O -> nat -> bool).
Variables (epsilon delta : R).
Hypothesis epsilon_nonneg : 0 <= epsilon.
Hypothesis weight_nonneg : forall t, 0 <= weight t.
Hypothesis weight_sum : sumn N weight = 1.
Hypothesis law_nonneg : forall t o, 0 <= law t o.
Hypothesis law_sum : forall t, (t < N)%nat -> lsum outputs (law t) = 1.
Hypothesis private : forall t u, (t < N)%nat -> (u < N)%nat ->
  lsum outputs (fun o => Rmax 0 (law t o - exp epsilon * law u o)) <= delta.

Definition inside (o : O) (t : nat) : R := ind (sends o t).
Definition outside (o : O) (t : nat) : R := 1 - inside o t.
Definition mass (o : O) : R := sumn N (fun t => weight t * inside o t).           (* prior mass of the set sent *)
Definition total (o : O) : R := sumn N (fun t => weight t * law t o).             (* P(o) *)
Definition found_by (o : O) : R := sumn N (fun t => weight t * law t o * inside o t).
Definition found : R := lsum outputs found_by.                                    (* P(target ∈ S) *)

Lemma inside_range o t : 0 <= inside o t <= 1.
Proof. unfold inside, ind. destruct (sends o t); lra. Qed.

Lemma mass_range o : 0 <= mass o <= 1.
Proof.
  unfold mass. split.
  - apply sumn_nonneg. intros t _. apply Rmult_le_pos; [apply weight_nonneg|apply inside_range].
  - rewrite <- weight_sum. apply sumn_le. intros t _. pose proof (weight_nonneg t). pose proof (inside_range o t). nra.
Qed.

Lemma total_sum : lsum outputs total = 1.
Proof.
  unfold total, sumn. rewrite lsum_exchange. rewrite <- weight_sum. apply lsum_ext. intros t Ht.
  apply in_seq in Ht. rewrite lsum_scal, law_sum by lia. lra.
Qed.

Lemma total_nonneg o : 0 <= total o.
Proof. apply sumn_nonneg. intros. apply Rmult_le_pos; auto. Qed.

Definition pairs (o : O) : R :=
  sumn N (fun t => sumn N (fun u => weight t * weight u * Rmax 0 (law t o - exp epsilon * law u o))).

(* I - g(a)(I + O) = (1/D)·Σ_{t∈A, u∉A} … ≤ Σ_{t,u} [ … ]₊ *)
Lemma one_output o : found_by o - g epsilon (mass o) * total o <= pairs o.
Proof.
  set (a := mass o). pose proof (mass_range o) as Ha. fold a in Ha.
  pose proof (exp_at_least_1 epsilon epsilon_nonneg). set (E := exp epsilon) in *.
  set (D := 1 + a * (E - 1)). assert (HD : 1 <= D) by (unfold D; nra).
  set (Out := sumn N (fun t => weight t * law t o * outside o t)).
  assert (Htotal : total o = found_by o + Out).
  { unfold total, found_by, Out. rewrite <- sumn_plus. apply sumn_ext. intros. unfold outside. lra. }
  assert (Hdouble : sumn N (fun t => sumn N (fun u => weight t * weight u * (inside o t * outside o u) * (law t o - E
    * law u o)))
                    = (1 - a) * found_by o - a * E * Out).
  { assert (Hout : sumn N (fun u => weight u * outside o u) = 1 - a).
    { unfold a, mass. rewrite <- weight_sum, <- sumn_minus. apply sumn_ext. intros. unfold outside. lra. }
    rewrite (sumn_ext N _ (fun t => weight t * law t o * inside o t * (1 - a) - weight t * inside o t * (E * Out))).
    - rewrite sumn_minus, !sumn_scal_r. fold (found_by o). fold (mass o). fold a. lra.
    - intros t _. rewrite <- Hout. unfold Out. rewrite <- !sumn_scal, <- sumn_minus. apply sumn_ext. intros u _. ring. }
  assert (Hpairs : (1 - a) * found_by o - a * E * Out <= pairs o).
  { rewrite <- Hdouble. apply sumn_le. intros t _. apply sumn_le. intros u _.
    rewrite Rmult_assoc. apply Rmult_le_compat_l; [now apply Rmult_le_pos|]. fold E.
    pose proof (Rmax_l 0 (law t o - E * law u o)). pose proof (Rmax_r 0 (law t o - E * law u o)).
    unfold outside, inside, ind. destruct (sends o t), (sends o u); lra. }
  assert (Hpairs0 : 0 <= pairs o).
  { apply sumn_nonneg. intros. apply sumn_nonneg. intros. apply Rmult_le_pos; [now apply Rmult_le_pos|apply Rmax_l]. }
  rewrite Htotal. unfold g. fold E. fold D.
  replace (found_by o - a * E / D * (found_by o + Out)) with (((1 - a) * found_by o - a * E * Out) / D)
    by (unfold D in *; field; lra).
  apply Rmult_le_reg_r with D; [lra|].
  replace (((1 - a) * found_by o - a * E * Out) / D * D) with ((1 - a) * found_by o - a * E * Out) by (field; lra).
  nra.
Qed.

Lemma pairs_sum : lsum outputs pairs <= delta.
Proof.
  unfold pairs, sumn. rewrite lsum_exchange.
  apply Rle_trans with (lsum (seq 0 N) (fun t => weight t * delta)).
  - apply lsum_le. intros t Ht. apply in_seq in Ht. rewrite lsum_exchange.
    apply Rle_trans with (lsum (seq 0 N) (fun u => weight t * (weight u * delta))).
    + apply lsum_le. intros u Hu. apply in_seq in Hu.
      rewrite lsum_scal, Rmult_assoc. apply Rmult_le_compat_l; [apply weight_nonneg|].
      apply Rmult_le_compat_l; [apply weight_nonneg|apply private; lia].
    + rewrite lsum_scal, lsum_scal_r. fold (sumn N weight). rewrite weight_sum. lra.
  - rewrite lsum_scal_r. fold (sumn N weight). rewrite weight_sum. lra.
Qed.

Theorem ceiling_of_prior : found <= lsum outputs (fun o => g epsilon (mass o) * total o) + delta.
Proof.
  assert (lsum outputs (fun o => found_by o - g epsilon (mass o) * total o) <= delta).
  { eapply Rle_trans; [apply lsum_le; intros; apply one_output|apply pairs_sum]. }
  rewrite lsum_minus in H. unfold found. lra.
Qed.

(* Jensen, by the tangent at f. *)
Theorem ceiling f : 0 <= f -> lsum outputs (fun o => mass o * total o) <= f -> found <= g epsilon f + delta.
Proof.
  intros Hf Hmean. eapply Rle_trans; [apply ceiling_of_prior|]. apply Rplus_le_compat_r.
  set (slope := exp epsilon / ((1 + f * (exp epsilon - 1)) * (1 + f * (exp epsilon - 1)))).
  assert (Hs : 0 <= slope).
  { unfold slope. pose proof (g_denominator epsilon f epsilon_nonneg Hf). pose proof (exp_pos epsilon).
    apply Rlt_le, Rdiv_lt_0_compat; [assumption|]. apply Rmult_lt_0_compat; lra. }
  apply Rle_trans with (lsum outputs (fun o => (g epsilon f - slope * f) * total o + slope * (mass o * total o))).
  - apply lsum_le. intros o _.
    replace ((g epsilon f - slope * f) * total o + slope * (mass o * total o))
      with ((g epsilon f + slope * (mass o - f)) * total o) by ring.
    apply Rmult_le_compat_r; [apply total_nonneg|]. apply g_tangent; [assumption|assumption|apply mass_range].
  - rewrite lsum_plus, !lsum_scal, total_sum. nra.
Qed.

(* ---- theorem 9b: the last step ---- *)

(* Items have descending masses, and f·N = i + r with i < N and 0 ≤ r ≤ 1: h is linear between whole numbers of
   items. *)
Hypothesis descending : forall t u, (t <= u)%nat -> (u < N)%nat -> weight u <= weight t.
Definition popular (i : nat) (r : R) : R := sumn i weight + r * weight i.
Definition size (o : O) : R := sumn N (inside o).

(* A line above h that touches it at i + r. *)
Lemma mass_below_line o i : (i < N)%nat -> mass o <= popular i 0 + weight i * (size o - INR i).
Proof.
  intros Hi. unfold mass, size, popular.
  rewrite (sumn_ext N _ (fun t => (weight t - weight i) * inside o t + weight i * inside o t)) by (intros; ring).
  rewrite sumn_plus, sumn_scal.
  assert (H : sumn N (fun t => (weight t - weight i) * inside o t) <= sumn i (fun t => weight t - weight i)).
  { rewrite (sumn_cut N i) by lia.
    assert (sumn i (fun t => (weight t - weight i) * inside o t) <= sumn i (fun t => weight t - weight i)).
    { apply sumn_le. intros t Ht. pose proof (inside_range o t). pose proof (descending t i ltac:(lia) Hi). nra. }
    assert (sumn (N - i) (fun j => (weight (i + j)%nat - weight i) * inside o (i + j)%nat) <=
            sumn (N - i) (fun _ => 0)).
    { apply sumn_le. intros j Hj. pose proof (inside_range o (i + j)).
      pose proof (descending i (i + j) ltac:(lia) ltac:(lia)). nra. }
    rewrite sumn_const in H0. lra. }
  rewrite sumn_minus, sumn_const in H. lra.
Qed.

Theorem most_popular o i : (i < N)%nat -> size o <= INR i -> mass o <= popular i 0.
Proof. intros Hi Hs. pose proof (mass_below_line o i Hi). pose proof (weight_nonneg i). nra. Qed.

Theorem ceiling_popular f i r : (i < N)%nat -> 0 <= r -> f * INR N = INR i + r ->
  lsum outputs (fun o => size o / INR N * total o) <= f -> found <= g epsilon (popular i r) + delta.
Proof.
  intros Hi Hr Hf Hmean. assert (HN : 0 < INR N) by (apply lt_0_INR; lia).
  assert (Hmean' : lsum outputs (fun o => size o * total o) <= INR i + r).
  { rewrite <- Hf. apply Rmult_le_reg_r with (/ INR N); [now apply Rinv_0_lt_compat|].
    rewrite <- lsum_scal_r, Rmult_assoc, Rinv_r, Rmult_1_r by lra.
    rewrite (lsum_ext outputs _ (fun o => size o / INR N * total o)) by (intros; unfold Rdiv; ring). exact Hmean. }
  apply ceiling.
  - unfold popular. apply Rplus_le_le_0_compat; [now apply sumn_nonneg|]. apply Rmult_le_pos; auto.
  - apply Rle_trans with (lsum outputs (fun o =>
      (popular i 0 - weight i * INR i) * total o + weight i * (size o * total o))).
    + apply lsum_le. intros o _. pose proof (mass_below_line o i Hi). pose proof (total_nonneg o).
      replace ((popular i 0 - weight i * INR i) * total o + weight i * (size o * total o))
        with ((popular i 0 + weight i * (size o - INR i)) * total o) by ring.
      now apply Rmult_le_compat_r.
    + rewrite lsum_plus, !lsum_scal, total_sum. unfold popular. pose proof (weight_nonneg i). nra.
Qed.
End Ceiling.

(* Theorem 9 as it is printed: N equal cells, E|S|/N ≤ f, pure ε-DP. *)
Theorem ceiling_uniform {O : Type} N (outputs : list O) law sends epsilon f :
  (1 <= N)%nat -> 0 <= epsilon -> (forall t o, 0 <= law t o) -> (forall t, (t < N)%nat -> lsum outputs (law t) = 1) ->
  (forall t u o, (t < N)%nat -> (u < N)%nat -> law t o <= exp epsilon * law u o) -> 0 <= f ->
  let size o := sumn N (fun t => inside sends o t) in
  sumn N (fun t => / INR N * lsum outputs (fun o => law t o * (size o / INR N))) <= f ->
  sumn N (fun t => / INR N * lsum outputs (fun o => law t o * inside sends o t)) <= g epsilon f.
Proof.
  intros HN He H0 H1 Hp Hf size Hmean.
  assert (HN' : 0 < INR N) by (apply lt_0_INR; lia).
  assert (Hw : 0 <= / INR N) by (apply Rlt_le, Rinv_0_lt_compat; assumption).
  pose proof (ceiling N (fun _ => / INR N) outputs law sends epsilon 0) as H.
  assert (Hfound : found N (fun _ => / INR N) outputs law sends =
                   sumn N (fun t => / INR N * lsum outputs (fun o => law t o * inside sends o t))).
  { unfold found, found_by, sumn. rewrite lsum_exchange. apply lsum_ext. intros t _. rewrite <- lsum_scal.
    apply lsum_ext. intros. ring. }
  rewrite <- Hfound. rewrite <- (Rplus_0_r (g epsilon f)). apply H; try assumption.
  - intros _. exact Hw.
  - rewrite sumn_const. field. lra.
  - intros t u Ht Hu. rewrite (lsum_ext outputs _ (fun _ => 0)); [rewrite lsum_zero; lra|].
    intros o _. apply Rmax_left. specialize (Hp t u o Ht Hu). lra.
  - eapply Rle_trans; [|exact Hmean]. right.
    assert (Hmass : forall o, mass N (fun _ => / INR N) sends o = size o / INR N).
    { intros o. unfold mass, size. rewrite sumn_scal. unfold Rdiv. apply Rmult_comm. }
    rewrite (lsum_ext outputs _ (fun o => lsum (seq 0 N) (fun t => / INR N * (law t o * (size o / INR N))))).
    + rewrite lsum_exchange. apply lsum_ext. intros t _. now rewrite lsum_scal.
    + intros o _. rewrite Hmass. unfold total, sumn. rewrite <- lsum_scal. apply lsum_ext. intros t _. ring.
Qed.

(* ---- reached by response ---- *)

Definition response (epsilon : R) (m t o : nat) : R :=
  if Nat.eqb o t then ideal epsilon (INR m) else (1 - ideal epsilon (INR m)) / (INR m - 1).

Theorem ceiling_reached epsilon m : (2 <= m)%nat -> ideal epsilon (INR m) = g epsilon (1 / INR m).
Proof.
  intros Hm. assert (2 <= INR m) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  pose proof (exp_pos epsilon). unfold ideal, g. field. repeat split; lra.
Qed.

Theorem ceiling_reached_private epsilon m t u o : 0 <= epsilon -> (2 <= m)%nat ->
  response epsilon m t o <= exp epsilon * response epsilon m u o.
Proof.
  intros He Hm. assert (2 <= INR m) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  pose proof (exp_at_least_1 epsilon He). unfold response, ideal. set (E := exp epsilon) in *. set (M := INR m) in *.
  replace ((1 - E / (E + M - 1)) / (M - 1)) with (1 / (E + M - 1)) by (field; lra).
  assert (Hi : 0 < / (E + M - 1)) by (apply Rinv_0_lt_compat; lra). unfold Rdiv.
  set (i := / (E + M - 1)) in *.
  assert (i <= E * i) by nra. assert (E * i <= E * (E * i)) by (apply Rmult_le_compat_l; lra).
  destruct (Nat.eqb o t), (Nat.eqb o u); lra.
Qed.

(* It is a mechanism as ceiling_uniform has them: the cell of its symbol is sent, which is 1/m of all, and the target is
   in it with probability g_ε(1/m). *)
Example ceiling_met epsilon m : 0 <= epsilon -> (2 <= m)%nat -> let law := response epsilon m in
  (forall t o, 0 <= law t o) /\ (forall t, (t < m)%nat -> lsum (seq 0 m) (law t) = 1) /\
  sumn m (fun t => / INR m * lsum (seq 0 m) (fun o => law t o * (sumn m (inside Nat.eqb o) / INR m))) = 1 / INR m /\
  sumn m (fun t => / INR m * lsum (seq 0 m) (fun o => law t o * inside Nat.eqb o t)) = g epsilon (1 / INR m).
Proof.
  intros He Hm law. assert (HM : 2 <= INR m) by (replace 2 with (INR 2) by (simpl; lra); apply le_INR; lia).
  pose proof (exp_at_least_1 epsilon He) as HE.
  assert (Hone : forall t, (t < m)%nat -> lsum (seq 0 m) (law t) = 1).
  { intros t Ht. fold (sumn m (law t)). set (lo := (1 - ideal epsilon (INR m)) / (INR m - 1)).
    rewrite (sumn_ext m _ (fun o => (if Nat.eqb o t then ideal epsilon (INR m) - lo else 0) + lo)).
    - rewrite sumn_plus, (sumn_single m t (fun _ => ideal epsilon (INR m) - lo)), sumn_const by assumption.
      unfold lo. field. lra.
    - intros o _. unfold law, response. fold lo. destruct (Nat.eqb o t); ring. }
  assert (Hmean : forall c, sumn m (fun _ => / INR m * c) = c) by (intros; rewrite sumn_const; field; lra).
  repeat split.
  - intros t o. unfold law, response, ideal. destruct (Nat.eqb o t); [apply Rlt_le, Rdiv_lt_0_compat; lra|].
    replace ((1 - exp epsilon / (exp epsilon + INR m - 1)) / (INR m - 1)) with (/ (exp epsilon + INR m - 1))
      by (field; lra).
    apply Rlt_le, Rinv_0_lt_compat. lra.
  - exact Hone.
  - rewrite <- (Hmean (1 / INR m)). apply sumn_ext. intros t Ht. f_equal.
    rewrite (lsum_ext _ _ (fun o => law t o * (1 / INR m))); [now rewrite lsum_scal_r, Hone, Rmult_1_l|].
    intros o Ho. apply in_seq in Ho. do 2 f_equal. rewrite <- (sumn_ind_single m o) by lia. apply sumn_ext. intros u _.
    unfold inside. now rewrite Nat.eqb_sym.
  - rewrite <- ceiling_reached, <- (Hmean (ideal epsilon (INR m))) by assumption. apply sumn_ext. intros t Ht. f_equal.
    rewrite <- (sumn_single m t (fun _ => ideal epsilon (INR m)) Ht). apply sumn_ext. intros o _.
    unfold law, response, inside, ind. destruct (Nat.eqb o t); ring.
Qed.
