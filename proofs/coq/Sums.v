(* SPDX-License-Identifier: Apache-2.0
   Finite sums of real numbers over lists, ranges and tuples. Every probability in this folder is such a sum: a law on
   finitely many outcomes is a function, and the probability of a set is the sum of the function over its members.
   Nothing here is about privacy. *)
From Coq Require Import Reals Lra List Lia Arith.
Import ListNotations.
Open Scope R_scope.

(* 1 where the condition holds, 0 elsewhere: the probability of a set is the sum of law times indicator. *)
Definition ind (b : bool) : R := if b then 1 else 0.

Fixpoint lsum {A : Type} (l : list A) (f : A -> R) : R :=
  match l with
  | [] => 0
  | a :: rest => f a + lsum rest f
  end.

(* f(0) + … + f(n-1) *)
Definition sumn (n : nat) (f : nat -> R) : R := lsum (seq 0 n) f.

Fixpoint lprod {A : Type} (l : list A) (f : A -> R) : R :=
  match l with
  | [] => 1
  | a :: rest => f a * lprod rest f
  end.

(* All lists of `length` numbers below m, each once (tuples_spec, tuples_NoDup). *)
Fixpoint tuples (m length : nat) : list (list nat) :=
  match length with
  | O => [[]]
  | S rest => flat_map (fun a => map (cons a) (tuples m rest)) (seq 0 m)
  end.

Section Lists.
Context {A : Type}.
Implicit Types (l : list A) (f g : A -> R).

Lemma lsum_ext l f g : (forall a, In a l -> f a = g a) -> lsum l f = lsum l g.
Proof.
  induction l as [|a l IH]; simpl; intros H; [reflexivity|].
  rewrite (H a (or_introl eq_refl)), IH; [reflexivity|]. intros; apply H; now right.
Qed.

Lemma lsum_le l f g : (forall a, In a l -> f a <= g a) -> lsum l f <= lsum l g.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  assert (f a <= g a) by (apply H; now left).
  assert (lsum l f <= lsum l g) by (apply IH; intros; apply H; now right). lra.
Qed.

Lemma lsum_zero l : lsum l (fun _ => 0) = 0.
Proof. induction l; simpl; lra. Qed.

Lemma lsum_nonneg l f : (forall a, In a l -> 0 <= f a) -> 0 <= lsum l f.
Proof. intros H. rewrite <- (lsum_zero l). apply lsum_le. exact H. Qed.

Lemma lsum_plus l f g : lsum l (fun a => f a + g a) = lsum l f + lsum l g.
Proof. induction l; simpl; lra. Qed.

Lemma lsum_minus l f g : lsum l (fun a => f a - g a) = lsum l f - lsum l g.
Proof. induction l; simpl; lra. Qed.

Lemma lsum_scal l c f : lsum l (fun a => c * f a) = c * lsum l f.
Proof. induction l; simpl; lra. Qed.

Lemma lsum_scal_r l c f : lsum l (fun a => f a * c) = lsum l f * c.
Proof. induction l; simpl; lra. Qed.

Lemma lsum_const l c : lsum l (fun _ => c) = INR (length l) * c.
Proof. induction l; [simpl; lra|]. simpl lsum. simpl length. rewrite S_INR. lra. Qed.

Lemma lsum_app l l' f : lsum (l ++ l') f = lsum l f + lsum l' f.
Proof. induction l; simpl; lra. Qed.

Lemma lsum_In l f a : (forall b, In b l -> 0 <= f b) -> In a l -> f a <= lsum l f.
Proof.
  induction l as [|b l IH]; simpl; intros H HI; [easy|].
  assert (0 <= lsum l f) by (apply lsum_nonneg; intros; apply H; now right).
  destruct HI as [->|HI]; [lra|].
  assert (0 <= f b) by (apply H; now left).
  assert (f a <= lsum l f) by (apply IH; auto). lra.
Qed.

(* A set that is part of another has the smaller sum. *)
Lemma lsum_incl l l' f :
  NoDup l -> incl l l' -> (forall a, In a l' -> 0 <= f a) -> lsum l f <= lsum l' f.
Proof.
  revert l'. induction l as [|a l IH]; intros l' HN HI H; simpl.
  - now apply lsum_nonneg.
  - destruct (in_split a l') as (l1 & l2 & ->); [apply HI; now left|].
    rewrite lsum_app; simpl. inversion HN; subst.
    assert (lsum l f <= lsum (l1 ++ l2) f).
    { apply IH; [assumption| |].
      - intros b Hb. assert (Hb' : In b (l1 ++ a :: l2)) by (apply HI; now right).
        apply in_app_or in Hb'. apply in_or_app. destruct Hb' as [|[->|]]; auto. contradiction.
      - intros b Hb. apply H. apply in_app_or in Hb. apply in_or_app. destruct Hb; [left|right; right]; auto. }
    rewrite lsum_app in H0. lra.
Qed.

(* Lists with the same members, each once, have the same sum. *)
Lemma lsum_same l l' f : NoDup l -> NoDup l' -> (forall a, In a l <-> In a l') -> lsum l f = lsum l' f.
Proof.
  revert l'. induction l as [|a l IH]; intros l' HN HN' HI; simpl.
  - destruct l' as [|b l']; [reflexivity|]. exfalso. apply (proj2 (HI b)). now left.
  - destruct (in_split a l') as (l1 & l2 & ->); [apply HI; now left|].
    rewrite lsum_app; simpl. inversion HN; subst.
    rewrite (IH (l1 ++ l2)).
    + rewrite lsum_app. lra.
    + assumption.
    + now apply NoDup_remove_1 in HN'.
    + intros b. apply NoDup_remove_2 in HN'. split; intros Hb.
      * assert (In b (l1 ++ a :: l2)) as Hc by (apply HI; now right).
        apply in_app_or in Hc. apply in_or_app. destruct Hc as [|[->|]]; auto. contradiction.
      * assert (In b (a :: l)) as Hc.
        { apply HI. apply in_app_or in Hb. apply in_or_app. destruct Hb; [left|right; right]; auto. }
        destruct Hc as [->|]; auto. contradiction.
Qed.

Lemma lprod_ext l f g : (forall a, In a l -> f a = g a) -> lprod l f = lprod l g.
Proof.
  induction l as [|a l IH]; simpl; intros H; [reflexivity|].
  rewrite (H a (or_introl eq_refl)), IH; [reflexivity|]. intros; apply H; now right.
Qed.

Lemma lprod_nonneg l f : (forall a, In a l -> 0 <= f a) -> 0 <= lprod l f.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  apply Rmult_le_pos; [apply H; now left | apply IH; intros; apply H; now right].
Qed.

Lemma lprod_pos l f : (forall a, In a l -> 0 < f a) -> 0 < lprod l f.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  apply Rmult_lt_0_compat; [apply H; now left | apply IH; intros; apply H; now right].
Qed.
End Lists.

Section TwoLists.
Context {A B : Type}.

Lemma lsum_exchange (l : list A) (l' : list B) (f : A -> B -> R) :
  lsum l (fun a => lsum l' (f a)) = lsum l' (fun b => lsum l (fun a => f a b)).
Proof.
  induction l as [|a l IH]; simpl.
  - now rewrite lsum_zero.
  - rewrite IH, <- lsum_plus. reflexivity.
Qed.

Lemma lsum_map (l : list A) (h : A -> B) (f : B -> R) : lsum (map h l) f = lsum l (fun a => f (h a)).
Proof. induction l; simpl; congruence. Qed.

Lemma lsum_flat_map (l : list A) (h : A -> list B) (f : B -> R) :
  lsum (flat_map h l) f = lsum l (fun a => lsum (h a) f).
Proof. induction l; simpl; [reflexivity|]. rewrite lsum_app. congruence. Qed.
End TwoLists.

Lemma sumn_S n f : sumn (S n) f = sumn n f + f n.
Proof. unfold sumn. rewrite seq_S, lsum_app. simpl. lra. Qed.

Lemma sumn_0 f : sumn 0 f = 0.
Proof. reflexivity. Qed.

Lemma sumn_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sumn n f = sumn n g.
Proof. intros H. apply lsum_ext. intros a Ha. apply in_seq in Ha. apply H. lia. Qed.

Lemma sumn_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sumn n f <= sumn n g.
Proof. intros H. apply lsum_le. intros a Ha. apply in_seq in Ha. apply H. lia. Qed.

Lemma sumn_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sumn n f.
Proof. intros H. apply lsum_nonneg. intros a Ha. apply in_seq in Ha. apply H. lia. Qed.

Lemma sumn_plus n f g : sumn n (fun i => f i + g i) = sumn n f + sumn n g.
Proof. apply lsum_plus. Qed.

Lemma sumn_minus n f g : sumn n (fun i => f i - g i) = sumn n f - sumn n g.
Proof. apply lsum_minus. Qed.

Lemma sumn_scal n c f : sumn n (fun i => c * f i) = c * sumn n f.
Proof. apply lsum_scal. Qed.

Lemma sumn_scal_r n c f : sumn n (fun i => f i * c) = sumn n f * c.
Proof. apply lsum_scal_r. Qed.

Lemma sumn_const n c : sumn n (fun _ => c) = INR n * c.
Proof. unfold sumn. rewrite lsum_const, seq_length. reflexivity. Qed.

Lemma sumn_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sumn n f = 0.
Proof. intros H. rewrite (sumn_ext n f (fun _ => 0)) by assumption. rewrite sumn_const. lra. Qed.

Lemma sumn_exchange n m f : sumn n (fun i => sumn m (f i)) = sumn m (fun j => sumn n (fun i => f i j)).
Proof. apply lsum_exchange. Qed.

Lemma sumn_In n f i : (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sumn n f.
Proof.
  intros H Hi. apply (lsum_In (seq 0 n) f).
  - intros j Hj. apply in_seq in Hj. apply H. lia.
  - apply in_seq. lia.
Qed.

Lemma sumn_le_n n n' f : (n <= n')%nat -> (forall i, (i < n')%nat -> 0 <= f i) -> sumn n f <= sumn n' f.
Proof.
  intros Hn H. apply lsum_incl.
  - apply seq_NoDup.
  - intros a Ha. apply in_seq in Ha. apply in_seq. lia.
  - intros a Ha. apply in_seq in Ha. apply H. lia.
Qed.

Lemma sumn_add a b f : sumn (a + b) f = sumn a f + sumn b (fun j => f (a + j)%nat).
Proof.
  induction b as [|b IH].
  - rewrite Nat.add_0_r. rewrite sumn_0. lra.
  - rewrite Nat.add_succ_r, !sumn_S, IH. lra.
Qed.

Lemma sumn_cut n c f : (c <= n)%nat -> sumn n f = sumn c f + sumn (n - c) (fun j => f (c + j)%nat).
Proof. intros H. rewrite <- sumn_add. f_equal. lia. Qed.

(* The first term apart. *)
Lemma sumn_S_first n f : sumn (S n) f = f O + sumn n (fun i => f (S i)).
Proof. change (S n) with (1 + n)%nat. rewrite sumn_add. unfold sumn at 1. simpl. lra. Qed.

(* a·b numbers are b blocks of a. *)
Lemma sumn_blocks a b f : sumn (b * a) f = sumn b (fun i => sumn a (fun j => f (j + a * i)%nat)).
Proof.
  induction b as [|b IH]; [reflexivity|].
  rewrite sumn_S, <- IH. replace (S b * a)%nat with (b * a + a)%nat by lia.
  rewrite sumn_add. f_equal. apply sumn_ext. intros j _. f_equal. lia.
Qed.

(* Only one term is there. *)
Lemma sumn_single n k f : (k < n)%nat -> sumn n (fun i => if Nat.eqb i k then f i else 0) = f k.
Proof.
  induction n as [|n IH]; intros Hk; [lia|]. rewrite sumn_S.
  destruct (Nat.eq_dec k n) as [->|Hne].
  - rewrite Nat.eqb_refl, sumn_zero; [lra|].
    intros i Hi. destruct (Nat.eqb_spec i n); [lia|reflexivity].
  - rewrite IH by lia. destruct (Nat.eqb_spec n k); [lia|lra].
Qed.

Lemma sumn_ind_single n k : (k < n)%nat -> sumn n (fun i => ind (Nat.eqb i k)) = 1.
Proof. intros Hk. unfold ind. exact (sumn_single n k (fun _ => 1) Hk). Qed.

(* How many of 0 … n-1 are below k. *)
Lemma sumn_ind_below n k : (k <= n)%nat -> sumn n (fun i => ind (Nat.ltb i k)) = INR k.
Proof.
  intros Hk. replace n with (k + (n - k))%nat by lia. rewrite sumn_add.
  rewrite (sumn_ext k _ (fun _ => 1)), (sumn_zero (n - k)), sumn_const; [lra| |].
  - intros i Hi. unfold ind. destruct (Nat.ltb_spec (k + i) k); [lia|reflexivity].
  - intros i Hi. unfold ind. destruct (Nat.ltb_spec i k); [reflexivity|lia].
Qed.

Lemma sumn_reverse n f : sumn n f = sumn n (fun i => f (n - 1 - i)%nat).
Proof.
  revert f. induction n as [|n IH]; intros f; [reflexivity|].
  rewrite sumn_S, sumn_S_first, IH, Rplus_comm. f_equal.
  - f_equal. lia.
  - apply sumn_ext. intros i Hi. f_equal. lia.
Qed.

(* ---- tuples ---- *)

Lemma lsum_tuples_S m n (h : list nat -> R) :
  lsum (tuples m (S n)) h = sumn m (fun a => lsum (tuples m n) (fun l => h (a :: l))).
Proof.
  simpl tuples. rewrite lsum_flat_map. apply lsum_ext. intros a _. apply lsum_map.
Qed.

Lemma tuples_spec m n l : In l (tuples m n) <-> length l = n /\ Forall (fun a => (a < m)%nat) l.
Proof.
  revert l. induction n as [|n IH]; intros l; simpl.
  - split.
    + intros [<-|[]]. split; [reflexivity|constructor].
    + intros [H _]. apply length_zero_iff_nil in H. now left.
  - rewrite in_flat_map. split.
    + intros (a & Ha & Hl). apply in_map_iff in Hl. destruct Hl as (l' & <- & Hl').
      apply IH in Hl'. apply in_seq in Ha. simpl. split; [lia|]. constructor; [lia|tauto].
    + intros [HL HF]. destruct l as [|a l]; [easy|]. inversion HF; subst. exists a. split.
      * apply in_seq. lia.
      * apply in_map. apply IH. simpl in HL. split; [lia|assumption].
Qed.

Lemma NoDup_app_parts {A} (l l' : list A) :
  NoDup l -> NoDup l' -> (forall a, In a l -> ~ In a l') -> NoDup (l ++ l').
Proof.
  induction l as [|a l IH]; simpl; intros H1 H2 H3; [assumption|].
  inversion H1; subst. constructor.
  - intros HI. apply in_app_or in HI. destruct HI; [contradiction|]. apply (H3 a); auto.
  - apply IH; auto.
Qed.

Lemma tuples_NoDup m n : NoDup (tuples m n).
Proof.
  induction n as [|n IH]; simpl.
  - constructor; [easy|constructor].
  - generalize (seq_NoDup m 0). generalize (seq 0 m). intros s Hs.
    induction s as [|a s IHs]; simpl; [constructor|]. inversion Hs; subst.
    apply NoDup_app_parts; [|auto|].
    + clear -IH. induction (tuples m n) as [|l t IHt]; simpl; [constructor|]. inversion IH; subst.
      constructor; [|auto]. intros HI. apply in_map_iff in HI. destruct HI as (l' & E & HI').
      injection E as ->. contradiction.
    + intros l Hl HI. apply in_map_iff in Hl. destruct Hl as (l' & <- & _).
      apply in_flat_map in HI. destruct HI as (b & Hb & HI). apply in_map_iff in HI.
      destruct HI as (l'' & E & _). injection E as -> _. contradiction.
Qed.

Lemma tuples_count m n : lsum (tuples m n) (fun _ => 1) = INR m ^ n.
Proof.
  induction n as [|n IH]; [simpl; lra|].
  rewrite lsum_tuples_S, (sumn_ext m _ (fun _ => INR m ^ n)) by (intros; exact IH).
  rewrite sumn_const. simpl. lra.
Qed.

(* A product over places sums, over all tuples, to the product of the sums. *)
Fixpoint product_at (law : nat -> nat -> R) (at_ : nat) (l : list nat) : R :=
  match l with
  | [] => 1
  | a :: rest => law at_ a * product_at law (S at_) rest
  end.

Lemma tuples_product_le m n (law : nat -> nat -> R) :
  (forall s a, 0 <= law s a) -> (forall s, sumn m (law s) <= 1) ->
  forall at_, 0 <= lsum (tuples m n) (product_at law at_) <= 1.
Proof.
  intros H0 H1. induction n as [|n IH]; intros at_.
  - simpl. lra.
  - rewrite lsum_tuples_S. simpl product_at.
    rewrite (sumn_ext m _ (fun a => law at_ a * lsum (tuples m n) (product_at law (S at_))))
      by (intros; apply lsum_scal).
    rewrite sumn_scal_r. specialize (IH (S at_)). specialize (H1 at_).
    assert (0 <= sumn m (law at_)) by (apply sumn_nonneg; intros; apply H0). split; nra.
Qed.
