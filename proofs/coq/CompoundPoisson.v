(* SPDX-License-Identifier: Apache-2.0
   §11: the law π of the number of messages that clusters send in one symbol.
   The numbers of clusters of sizes 1 … v are independent and Poisson with mean λ = Λ/v each; the law of a sum of
   independent counts is the Cauchy product of their laws. So π is the product of the laws of c·Poisson(λ), c = 1 … v.
   - π(0) = e^-Λ and k·π(k) = (Λ/v)·Σ_{c=1}^{min(v,k)} c·π(k-c): the recurrence that crowd_law.c runs
     (pi_zero, pi_recurrence), and no other sequence satisfies it (pi_unique).
   - π(k) > 0 for every k when Λ > 0 (pi_positive), the sums of π never exceed 1 (pi_sum) and come as near to it as
     one likes (pi_complete).
   - Poisson numbers of several clients add up to one Poisson number (poisson_superposition). *)
From Coq Require Import Reals Lra Lia List Arith.
From PrivateMail Require Import Sums Exponential.
Import ListNotations.
Open Scope R_scope.

Definition cauchy (a b : nat -> R) (k : nat) : R := sumn (S k) (fun i => a i * b (k - i)%nat).

(* The law of a count that is c larger. *)
Definition shifted (c : nat) (a : nat -> R) (k : nat) : R := if Nat.ltb k c then 0 else a (k - c)%nat.

Definition poisson (lambda : R) (k : nat) : R := exp (- lambda) * (lambda ^ k / INR (fact k)).

(* c times a Poisson number: what the clusters of size c send. *)
Definition clusters (lambda : R) (c k : nat) : R := if Nat.eqb (k mod c) 0 then poisson lambda (k / c) else 0.

Fixpoint messages (lambda : R) (v : nat) : nat -> R :=
  match v with
  | O => fun k => if Nat.eqb k 0 then 1 else 0
  | S v' => cauchy (messages lambda v') (clusters lambda (S v'))
  end.

Definition pi (Lambda : R) (v : nat) : nat -> R := messages (Lambda / INR v) v.

(* ---- products of laws ---- *)

Lemma cauchy_ext a a' b b' k :
  (forall i, (i <= k)%nat -> a i = a' i) -> (forall i, (i <= k)%nat -> b i = b' i) -> cauchy a b k = cauchy a' b' k.
Proof. intros Ha Hb. apply sumn_ext. intros i Hi. rewrite Ha, Hb by lia. reflexivity. Qed.

Lemma cauchy_comm a b k : cauchy a b k = cauchy b a k.
Proof.
  unfold cauchy. rewrite sumn_reverse. apply sumn_ext. intros i Hi.
  replace (S k - 1 - i)%nat with (k - i)%nat by lia. replace (k - (k - i))%nat with i by lia. lra.
Qed.

Lemma cauchy_shifted c a b k : cauchy (shifted c a) b k = shifted c (cauchy a b) k.
Proof.
  unfold cauchy, shifted. destruct (Nat.ltb_spec k c) as [H|H].
  - apply sumn_zero. intros i Hi. destruct (Nat.ltb_spec i c); [lra|lia].
  - replace (S k) with (c + S (k - c))%nat by lia. rewrite sumn_add.
    rewrite (sumn_zero c) by (intros i Hi; destruct (Nat.ltb_spec i c); [lra|lia]).
    rewrite Rplus_0_l. apply sumn_ext. intros i Hi. destruct (Nat.ltb_spec (c + i) c); [lia|].
    f_equal; f_equal; lia.
Qed.

Lemma cauchy_scal a b s k : cauchy (fun i => s * a i) b k = s * cauchy a b k.
Proof. unfold cauchy. rewrite <- sumn_scal. apply sumn_ext. intros. lra. Qed.

Lemma cauchy_sum n (a : nat -> nat -> R) b k :
  cauchy (fun i => sumn n (fun c => a c i)) b k = sumn n (fun c => cauchy (a c) b k).
Proof.
  unfold cauchy. rewrite (sumn_ext (S k) _ (fun i => sumn n (fun c => a c i * b (k - i)%nat))).
  - apply sumn_exchange.
  - intros i _. now rewrite sumn_scal_r.
Qed.

(* k·(a∗b)(k): the rule of the product. *)
Lemma cauchy_weighted a b k :
  INR k * cauchy a b k = cauchy (fun i => INR i * a i) b k + cauchy a (fun i => INR i * b i) k.
Proof.
  unfold cauchy. rewrite <- sumn_scal, <- sumn_plus. apply sumn_ext. intros i Hi.
  replace (INR k) with (INR i + INR (k - i)) by (rewrite <- plus_INR; f_equal; lia). lra.
Qed.

Lemma cauchy_nonneg a b k : (forall i, 0 <= a i) -> (forall i, 0 <= b i) -> 0 <= cauchy a b k.
Proof. intros Ha Hb. apply sumn_nonneg. intros. now apply Rmult_le_pos. Qed.

Lemma shifted_nonneg c a k : (forall i, 0 <= a i) -> 0 <= shifted c a k.
Proof. intros Ha. unfold shifted. destruct (Nat.ltb k c); [lra|apply Ha]. Qed.

Lemma shifted_sum c a n : (forall i, 0 <= a i) -> sumn n (shifted c a) <= sumn n a.
Proof.
  intros Ha. destruct (Nat.le_gt_cases n c) as [H|H].
  - rewrite (sumn_zero n (shifted c a)); [now apply sumn_nonneg|].
    intros i Hi. unfold shifted. destruct (Nat.ltb_spec i c); [reflexivity|lia].
  - replace n with (c + (n - c))%nat at 1 by lia. rewrite sumn_add.
    rewrite (sumn_zero c) by (intros i Hi; unfold shifted; destruct (Nat.ltb_spec i c); [reflexivity|lia]).
    rewrite (sumn_ext (n - c) _ a).
    + rewrite Rplus_0_l. apply sumn_le_n; [lia|auto].
    + intros i Hi. unfold shifted. destruct (Nat.ltb_spec (c + i) c); [lia|]. f_equal. lia.
Qed.

Lemma cauchy_by_first a b n : sumn n (cauchy a b) = sumn n (fun i => a i * sumn n (shifted i b)).
Proof.
  rewrite (sumn_ext n _ (fun k => sumn n (fun i => a i * shifted i b k))).
  - rewrite sumn_exchange. apply sumn_ext. intros. apply sumn_scal.
  - intros k Hk. replace n with (S k + (n - S k))%nat by lia. rewrite sumn_add.
    rewrite (sumn_zero (n - S k)).
    + rewrite Rplus_0_r. apply sumn_ext. intros i Hi. unfold shifted. destruct (Nat.ltb_spec k i); [lia|reflexivity].
    + intros i Hi. unfold shifted. destruct (Nat.ltb_spec k (S k + i)); [lra|lia].
Qed.

(* The sum of a product of laws is at most the product of the sums, and nearly reaches it. *)
Lemma cauchy_partial a b n : (forall i, 0 <= a i) -> (forall i, 0 <= b i) -> sumn n (cauchy a b) <= sumn n a * sumn n b.
Proof.
  intros Ha Hb. rewrite cauchy_by_first, <- sumn_scal_r. apply sumn_le. intros i Hi.
  apply Rmult_le_compat_l; [apply Ha|]. now apply shifted_sum.
Qed.

Lemma cauchy_reaches a b n : (forall i, 0 <= a i) -> (forall i, 0 <= b i) ->
  sumn n a * sumn n b <= sumn (n + n) (cauchy a b).
Proof.
  intros Ha Hb. rewrite cauchy_by_first, <- sumn_scal_r.
  apply Rle_trans with (sumn n (fun i => a i * sumn (n + n) (shifted i b))).
  - apply sumn_le. intros i Hi. apply Rmult_le_compat_l; [apply Ha|].
    rewrite (sumn_cut (n + n) i) by lia.
    rewrite (sumn_zero i) by (intros j Hj; unfold shifted; destruct (Nat.ltb_spec j i); [reflexivity|lia]).
    rewrite Rplus_0_l, (sumn_ext (n + n - i) _ b).
    + apply sumn_le_n; [lia|auto].
    + intros j Hj. unfold shifted. destruct (Nat.ltb_spec (i + j) i); [lia|]. f_equal. lia.
  - apply sumn_le_n; [lia|]. intros. apply Rmult_le_pos; [apply Ha|]. apply sumn_nonneg. intros.
    now apply shifted_nonneg.
Qed.

(* A law: the sums come as near to 1 as one likes. *)
Definition complete (a : nat -> R) : Prop := forall eta, 0 < eta -> exists n, 1 - eta <= sumn n a.

Lemma complete_cauchy a b : (forall i, 0 <= a i) -> (forall i, 0 <= b i) -> (forall n, sumn n b <= 1) ->
  complete a -> complete b -> complete (cauchy a b).
Proof.
  intros Ha Hb Hb1 Hca Hcb eta Heta.
  destruct (Hca (Rmin (eta / 2) 1)) as [n Hn]; [apply Rmin_glb_lt; lra|].
  destruct (Hcb (eta / 2)) as [m Hm]; [lra|]. set (N := Nat.max n m). exists (N + N)%nat.
  eapply Rle_trans; [|now apply cauchy_reaches].
  assert (sumn n a <= sumn N a) by (apply sumn_le_n; [lia|auto]).
  assert (sumn m b <= sumn N b) by (apply sumn_le_n; [lia|auto]).
  specialize (Hb1 N). pose proof (Rmin_l (eta / 2) 1). pose proof (Rmin_r (eta / 2) 1).
  assert (0 <= sumn N b) by now apply sumn_nonneg.
  apply Rle_trans with ((1 - Rmin (eta / 2) 1) * sumn N b); [nra|]. apply Rmult_le_compat_r; lra.
Qed.

(* ---- Poisson ---- *)

Lemma poisson_positive l k : 0 < l -> 0 < poisson l k.
Proof.
  intros Hl. unfold poisson. apply Rmult_lt_0_compat; [apply exp_pos|].
  apply Rdiv_lt_0_compat; [now apply pow_lt|apply INR_fact_lt_0].
Qed.

Lemma poisson_nonneg l k : 0 <= l -> 0 <= poisson l k.
Proof.
  intros Hl. unfold poisson. apply Rmult_le_pos; [apply Rlt_le, exp_pos|]. now apply (term_nonneg l k).
Qed.

Lemma poisson_sum l n : 0 <= l -> sumn n (poisson l) <= 1.
Proof.
  intros Hl. unfold poisson. rewrite sumn_scal. fold (term l). fold (partial l n).
  pose proof (partial_below_exp l n Hl). pose proof (exp_pos (- l)).
  replace 1 with (exp (- l) * exp l) by (rewrite <- exp_plus; replace (- l + l) with 0 by lra; apply exp_0).
  apply Rmult_le_compat_l; lra.
Qed.

Lemma poisson_complete l : complete (poisson l).
Proof.
  intros eta Heta. pose proof (exp_pos l). destruct (exp_series l (eta * exp l)) as [N HN]; [nra|].
  specialize (HN N (le_n N)). exists (S N). unfold poisson. rewrite sumn_scal. fold (term l). fold (partial l (S N)).
  unfold R_dist in HN. apply Rabs_def2 in HN. destruct HN as [_ HN].
  replace (1 - eta) with (exp (- l) * (exp l - eta * exp l)).
  - apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|lra].
  - replace (exp (- l) * (exp l - eta * exp l)) with (exp (- l) * exp l * (1 - eta)) by ring.
    rewrite <- exp_plus. replace (- l + l) with 0 by ring. rewrite exp_0. ring.
Qed.

Lemma poisson_S l k : INR (S k) * poisson l (S k) = l * poisson l k.
Proof.
  unfold poisson. fold (term l (S k)). rewrite term_S. unfold term. field.
  split; [apply INR_fact_neq_0|apply not_0_INR; lia].
Qed.

Lemma poisson_0 l : poisson l 0 = exp (- l).
Proof. unfold poisson. simpl. field. Qed.

Lemma poisson_weighted l k : INR k * poisson l k = l * shifted 1 (poisson l) k.
Proof.
  destruct k as [|k]; unfold shifted.
  - change (Nat.ltb 0 1) with true. cbv iota. simpl (INR 0). lra.
  - destruct (Nat.ltb_spec (S k) 1); [lia|]. rewrite poisson_S. replace (S k - 1)%nat with k by lia. reflexivity.
Qed.

Theorem poisson_superposition l l' k : cauchy (poisson l) (poisson l') k = poisson (l + l') k.
Proof.
  induction k as [|k IH].
  - unfold cauchy, sumn. simpl. rewrite !poisson_0, Ropp_plus_distr, exp_plus. lra.
  - apply Rmult_eq_reg_l with (INR (S k)); [|apply not_0_INR; lia].
    rewrite poisson_S, <- IH, cauchy_weighted.
    rewrite (cauchy_ext _ (fun i => l * shifted 1 (poisson l) i) _ (poisson l')); [|intros;
      apply poisson_weighted|auto].
    rewrite (cauchy_ext (poisson l) (poisson l) _ (fun i => l' * shifted 1 (poisson l') i)); [|auto|intros;
      apply poisson_weighted].
    rewrite (cauchy_comm (poisson l) (fun i => _)), !cauchy_scal, !cauchy_shifted.
    unfold shifted. destruct (Nat.ltb_spec (S k) 1); [lia|]. replace (S k - 1)%nat with k by lia.
    rewrite (cauchy_comm (poisson l') (poisson l)). lra.
Qed.

(* ---- clusters of one size, and of all ---- *)

Lemma clusters_nonneg l c k : 0 <= l -> 0 <= clusters l c k.
Proof. intros Hl. unfold clusters. destruct (Nat.eqb _ _); [now apply poisson_nonneg|lra]. Qed.

Lemma clusters_weighted l c k : (1 <= c)%nat -> INR k * clusters l c k = l * INR c * shifted c (clusters l c) k.
Proof.
  intros Hc. unfold shifted. destruct (Nat.ltb_spec k c) as [H|H].
  - unfold clusters. destruct (Nat.eqb_spec (k mod c) 0) as [E|]; [|lra].
    rewrite Nat.mod_small in E by lia. subst k. simpl (INR 0). lra.
  - assert (Emod : (k mod c = (k - c) mod c)%nat).
    { replace k with (k - c + 1 * c)%nat at 1 by lia. apply Nat.mod_add. lia. }
    assert (Ediv : (k / c = (k - c) / c + 1)%nat).
    { replace k with (k - c + 1 * c)%nat at 1 by lia. apply Nat.div_add. lia. }
    unfold clusters. rewrite Emod, Ediv.
    destruct (Nat.eqb_spec ((k - c) mod c) 0) as [E|]; [|lra].
    set (q := ((k - c) / c)%nat). assert (Eq : (k - c = c * q)%nat).
    { unfold q. pose proof (Nat.div_mod (k - c) c). lia. }
    replace (q + 1)%nat with (S q) by lia. replace (INR k) with (INR c * INR (S q)).
    + rewrite Rmult_assoc, poisson_S. lra.
    + rewrite <- mult_INR. f_equal. lia.
Qed.

Lemma clusters_0 l c : (1 <= c)%nat -> clusters l c 0 = exp (- l).
Proof. intros Hc. unfold clusters. rewrite Nat.mod_0_l, Nat.div_0_l by lia. simpl. apply poisson_0. Qed.

Lemma clusters_blocks l c n : (1 <= c)%nat -> sumn (n * c) (clusters l c) = sumn n (poisson l).
Proof.
  intros Hc. rewrite sumn_blocks. apply sumn_ext.
  intros i _. rewrite (sumn_ext c _ (fun j => if Nat.eqb j 0 then poisson l i else 0)).
  - exact (sumn_single c 0 (fun _ => poisson l i) ltac:(lia)).
  - intros j Hj. unfold clusters.
    replace (j + c * i)%nat with (j + i * c)%nat by lia. rewrite Nat.mod_add, Nat.div_add by lia.
    rewrite Nat.mod_small, Nat.div_small by lia. reflexivity.
Qed.

Lemma clusters_sum l c n : (1 <= c)%nat -> 0 <= l -> sumn n (clusters l c) <= 1.
Proof.
  intros Hc Hl. apply Rle_trans with (sumn (n * c) (clusters l c)).
  - apply sumn_le_n; [nia|]. intros. now apply clusters_nonneg.
  - rewrite clusters_blocks by assumption. now apply poisson_sum.
Qed.

Lemma messages_nonneg l v k : 0 <= l -> 0 <= messages l v k.
Proof.
  intros Hl. revert k. induction v as [|v IH]; intros k; simpl.
  - destruct (Nat.eqb k 0); lra.
  - apply cauchy_nonneg; [exact IH|]. intros. now apply clusters_nonneg.
Qed.

Lemma messages_0 l v : messages l v 0 = exp (- (INR v * l)).
Proof.
  induction v as [|v IH].
  - simpl. rewrite Rmult_0_l, Ropp_0, exp_0. reflexivity.
  - simpl messages. unfold cauchy, sumn. simpl seq. simpl lsum. rewrite IH, clusters_0, <- (Rplus_0_r (exp _)) by lia.
    rewrite S_INR, Rplus_0_r, Rplus_0_r, <- exp_plus. f_equal. lra.
Qed.

Lemma messages_sum l v n : 0 <= l -> sumn n (messages l v) <= 1.
Proof.
  intros Hl. induction v as [|v IH].
  - apply Rle_trans with (sumn (S n) (messages l 0)).
    + apply sumn_le_n; [lia|]. intros. now apply messages_nonneg.
    + simpl. rewrite (sumn_single (S n) 0 (fun _ => 1)) by lia. lra.
  - simpl. eapply Rle_trans.
    + apply cauchy_partial; intros; [now apply messages_nonneg|now apply clusters_nonneg].
    + assert (0 <= sumn n (messages l v)) by (apply sumn_nonneg; intros; now apply messages_nonneg).
      assert (0 <= sumn n (clusters l (S v))) by (apply sumn_nonneg; intros; now apply clusters_nonneg).
      pose proof (clusters_sum l (S v) n ltac:(lia) Hl). nra.
Qed.

Lemma messages_complete l v : 0 <= l -> complete (messages l v).
Proof.
  intros Hl. induction v as [|v IH].
  - intros eta Heta. exists 1%nat. unfold sumn. simpl. lra.
  - simpl. apply complete_cauchy; try assumption; intros; [now apply messages_nonneg|now apply clusters_nonneg|
      apply clusters_sum; [lia|assumption]|].
    intros eta Heta. destruct (poisson_complete l eta Heta) as [n Hn]. exists (n * S v)%nat.
    rewrite clusters_blocks by lia. exact Hn.
Qed.

Lemma messages_weighted l v k :
  INR k * messages l v k = sumn v (fun c => l * INR (S c) * shifted (S c) (messages l v) k).
Proof.
  revert k. induction v as [|v IH]; intros k.
  - rewrite sumn_0. simpl. destruct (Nat.eqb_spec k 0) as [->|]; simpl; lra.
  - rewrite sumn_S. simpl messages. set (p := clusters l (S v)). rewrite cauchy_weighted. f_equal.
    + rewrite (cauchy_ext _ (fun i => sumn v (fun c => l * INR (S c) * shifted (S c) (messages l v) i)) _ p);
        [|intros; apply IH|auto].
      rewrite (cauchy_sum v (fun c i => l * INR (S c) * shifted (S c) (messages l v) i)). apply sumn_ext. intros c _.
      rewrite cauchy_scal, cauchy_shifted. reflexivity.
    + rewrite (cauchy_ext (messages l v) (messages l v) _ (fun i => l * INR (S v) * shifted (S v) p i));
        [|auto|intros; apply clusters_weighted; lia].
      rewrite cauchy_comm, cauchy_scal, cauchy_shifted. f_equal. unfold shifted.
      destruct (Nat.ltb k (S v)); [reflexivity|apply cauchy_comm].
Qed.

(* ---- π, as PRIVACY states it ---- *)

Section Pi.
Variables (Lambda : R) (v : nat).
Hypothesis size : (1 <= v)%nat.

Lemma size_R : 0 < INR v.
Proof. apply lt_0_INR. lia. Qed.

Theorem pi_zero : pi Lambda v 0 = exp (- Lambda).
Proof. unfold pi. rewrite messages_0. f_equal. pose proof size_R. field. lra. Qed.

(* Σ_{c=1}^{min(v,k)} c·a(k-c) *)
Definition recurrence (a : nat -> R) (k : nat) : R :=
  Lambda / (INR v * INR k) * sumn (Nat.min v k) (fun i => INR (S i) * a (k - S i)%nat).

Theorem pi_recurrence k : (1 <= k)%nat -> pi Lambda v k = recurrence (pi Lambda v) k.
Proof.
  intros Hk. pose proof size_R. assert (0 < INR k) by (apply lt_0_INR; lia). unfold recurrence.
  apply Rmult_eq_reg_l with (INR k); [|lra]. unfold pi at 1. rewrite messages_weighted.
  rewrite (sumn_cut v (Nat.min v k)) by lia.
  rewrite (sumn_zero (v - Nat.min v k)).
  2:{ intros i Hi. unfold shifted. destruct (Nat.ltb_spec k (S (Nat.min v k + i))); [lra|lia]. }
  rewrite Rplus_0_r.
  rewrite (sumn_ext _ _ (fun i => Lambda / INR v * (INR (S i) * pi Lambda v (k - S i)%nat))).
  - rewrite sumn_scal. field. lra.
  - intros i Hi. unfold shifted. destruct (Nat.ltb_spec k (S i)); [lia|]. unfold pi. lra.
Qed.

Theorem pi_unique a : a O = exp (- Lambda) -> (forall k, (1 <= k)%nat -> a k = recurrence a k) ->
  forall k, a k = pi Lambda v k.
Proof.
  intros H0 Hrec k. induction k as [k IH] using (well_founded_induction lt_wf).
  destruct k as [|k]; [now rewrite pi_zero|].
  rewrite Hrec, pi_recurrence by lia. unfold recurrence. f_equal. apply sumn_ext. intros i Hi. rewrite IH by lia.
  reflexivity.
Qed.

Theorem pi_nonneg k : 0 <= Lambda -> 0 <= pi Lambda v k.
Proof.
  intros HL. apply messages_nonneg. pose proof size_R. apply Rmult_le_pos; [assumption|].
  apply Rlt_le, Rinv_0_lt_compat. assumption.
Qed.

Theorem pi_positive k : 0 < Lambda -> 0 < pi Lambda v k.
Proof.
  intros HL. induction k as [|k IH]; [rewrite pi_zero; apply exp_pos|].
  rewrite pi_recurrence by lia. unfold recurrence. pose proof size_R.
  apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; [assumption|]; apply Rmult_lt_0_compat;
    [assumption|apply lt_0_INR; lia]|].
  replace (Nat.min v (S k)) with (S (Nat.min v (S k) - 1)) by lia. rewrite sumn_S_first.
  replace (S k - 1)%nat with k by lia. simpl (INR 1).
  assert (0 <= sumn (Nat.min v (S k) - 1) (fun i => INR (S (S i)) * pi Lambda v (S k - S (S i))%nat)).
  { apply sumn_nonneg. intros i _. apply Rmult_le_pos; [apply pos_INR|apply pi_nonneg; lra]. }
  lra.
Qed.

Theorem pi_complete : 0 <= Lambda -> complete (pi Lambda v).
Proof.
  intros HL. apply messages_complete. pose proof size_R. apply Rmult_le_pos; [assumption|].
  apply Rlt_le, Rinv_0_lt_compat. assumption.
Qed.

Theorem pi_sum n : 0 <= Lambda -> sumn n (pi Lambda v) <= 1.
Proof.
  intros HL. apply messages_sum. pose proof size_R. apply Rmult_le_pos; [assumption|].
  apply Rlt_le, Rinv_0_lt_compat. assumption.
Qed.
End Pi.
