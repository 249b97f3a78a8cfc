(* SPDX-License-Identifier: Apache-2.0
   §11: how well two records can be told apart by independent counts. A place has the law π or the law of 1 + a number
   of law π, under either record; `excess_of K E places 1 1` is the sum of [P - E·Q]₊ over all counts below K.
   `copies w` are w independent copies of theorem A's pair: in one place of each pair the first record adds a
   message, in the other the second record.
   - The order of places does not matter, and a place with one law under both records does not help (excess_order,
     excess_common).
   - Further places never lower what all sums stay below (excess_part). So k copies are a part of w copies for k ≤ w
     (fewer_copies), and one half of each pair is a part of the pair (half_of_pairs).
   - Two lists of w different symbols differ in k pairs of symbols, k ≤ w (lists_are_pairs). *)
From Coq Require Import Reals Lra Lia List Arith Bool Permutation.
From PrivateMail Require Import Sums CompoundPoisson.
Import ListNotations.
Open Scope R_scope.

Definition positive_part (x : R) : R := Rmax 0 x.

Lemma positive_part_above x : x <= positive_part x.
Proof. apply Rmax_r. Qed.

Lemma positive_part_nonneg x : 0 <= positive_part x.
Proof. apply Rmax_l. Qed.

Lemma positive_part_below x y : 0 <= y -> x <= y -> positive_part x <= y.
Proof. intros. now apply Rmax_lub. Qed.

Lemma positive_part_scal c x : 0 <= c -> positive_part (c * x) = c * positive_part x.
Proof. intros Hc. unfold positive_part. rewrite <- RmaxRmult, Rmult_0_r by assumption. reflexivity. Qed.

Lemma positive_part_sum n f : positive_part (sumn n f) <= sumn n (fun k => positive_part (f k)).
Proof.
  apply positive_part_below.
  - apply sumn_nonneg. intros. apply positive_part_nonneg.
  - apply sumn_le. intros. apply positive_part_above.
Qed.

(* true: the record adds one message here. Under the first record, and under the second. *)
Definition place : Type := (bool * bool)%type.
Definition differs (x : place) : bool := xorb (fst x) (snd x).

Fixpoint copies (w : nat) : list place :=
  match w with
  | O => []
  | S rest => (true, false) :: (false, true) :: copies rest
  end.

Section Places.
Variable pi : nat -> R.
Hypothesis pi_nonneg : forall k, 0 <= pi k.
Hypothesis pi_sum : forall n, sumn n pi <= 1.
Variable E : R. (* e^ε *)
Hypothesis E_nonneg : 0 <= E.

Definition previous : nat -> R := shifted 1 pi. (* π(k-1), 0 for k = 0 *)
Definition count_law (added : bool) : nat -> R := if added then previous else pi.

Lemma previous_nonneg k : 0 <= previous k.
Proof. now apply shifted_nonneg. Qed.

Lemma previous_sum n : sumn n previous <= 1.
Proof. apply Rle_trans with (sumn n pi); [now apply shifted_sum|apply pi_sum]. Qed.

Lemma count_law_nonneg b k : 0 <= count_law b k.
Proof. destruct b; [apply previous_nonneg|apply pi_nonneg]. Qed.

Lemma count_law_sum b n : sumn n (count_law b) <= 1.
Proof. destruct b; [apply previous_sum|apply pi_sum]. Qed.

Fixpoint excess_of (K : nat) (places : list place) (P Q : R) : R :=
  match places with
  | [] => positive_part (P - E * Q)
  | x :: rest => sumn K (fun k => excess_of K rest (P * count_law (fst x) k) (Q * count_law (snd x) k))
  end.

Lemma excess_of_nonneg K l P Q : 0 <= excess_of K l P Q.
Proof.
  revert P Q. induction l as [|x l IH]; intros P Q; simpl; [apply positive_part_nonneg|]. apply sumn_nonneg. auto.
Qed.

Lemma excess_of_scal K l c P Q : 0 <= c -> excess_of K l (c * P) (c * Q) = c * excess_of K l P Q.
Proof.
  intros Hc. revert P Q. induction l as [|x l IH]; intros P Q; simpl.
  - rewrite <- positive_part_scal by assumption. f_equal. ring.
  - rewrite <- sumn_scal. apply sumn_ext. intros k _. rewrite <- IH. f_equal; ring.
Qed.

Theorem excess_order K l l' P Q : Permutation l l' -> excess_of K l P Q = excess_of K l' P Q.
Proof.
  intros H. revert P Q. induction H as [|x l l' _ IH|x y l|l l' l'' _ IH1 _ IH2]; intros P Q; simpl.
  - reflexivity.
  - apply sumn_ext. auto.
  - rewrite sumn_exchange. apply sumn_ext. intros j _. apply sumn_ext. intros i _. f_equal; ring.
  - now rewrite IH1.
Qed.

Lemma same_law K b l P Q : excess_of K ((b, b) :: l) P Q = sumn K (count_law b) * excess_of K l P Q.
Proof.
  simpl. rewrite <- sumn_scal_r. apply sumn_ext. intros k _.
  rewrite (Rmult_comm P), (Rmult_comm Q), excess_of_scal by apply count_law_nonneg. reflexivity.
Qed.

Theorem excess_common K l P Q : excess_of K l P Q <= excess_of K (filter differs l) P Q.
Proof.
  revert P Q. induction l as [|x l IH]; intros P Q; [apply Rle_refl|]. cbn [filter].
  destruct (differs x) eqn:Ex.
  - simpl. apply sumn_le. auto.
  - replace x with (fst x, fst x) by (destruct x as [[] []]; discriminate Ex || reflexivity).
    rewrite same_law. pose proof (count_law_sum (fst x) K). pose proof (excess_of_nonneg K l P Q). specialize (IH P Q).
    assert (0 <= sumn K (count_law (fst x))) by (apply sumn_nonneg; intros; apply count_law_nonneg). nra.
Qed.

Lemma excess_grows K K' l P Q : (K <= K')%nat -> excess_of K l P Q <= excess_of K' l P Q.
Proof.
  intros HK. revert P Q. induction l as [|x l IH]; intros P Q; simpl; [apply Rle_refl|].
  eapply Rle_trans; [apply sumn_le; intros; apply IH|]. apply sumn_le_n; [assumption|]. intros. apply excess_of_nonneg.
Qed.

Lemma excess_of_sum K l n p q :
  excess_of K l (sumn n p) (sumn n q) <= sumn n (fun i => excess_of K l (p i) (q i)).
Proof.
  revert p q. induction l as [|x l IH]; intros p q; simpl.
  - rewrite <- sumn_scal, <- sumn_minus. apply positive_part_sum.
  - rewrite sumn_exchange. apply sumn_le. intros k _. rewrite <- !sumn_scal_r. apply IH.
Qed.

(* A little less of P costs as much, and more of Q costs nothing. *)
Lemma excess_of_change K l d P P' Q Q' : 0 <= d -> P <= P' + d -> Q' <= Q ->
  excess_of K l P Q <= excess_of K l P' Q' + d.
Proof.
  revert d P P' Q Q'. induction l as [|x l IH]; intros d P P' Q Q' Hd HP HQ; simpl.
  - pose proof (positive_part_above (P' - E * Q')). pose proof (positive_part_nonneg (P' - E * Q')).
    apply positive_part_below; nra.
  - apply Rle_trans with (sumn K (fun k =>
      excess_of K l (P' * count_law (fst x) k) (Q' * count_law (snd x) k) + d * count_law (fst x) k)).
    + apply sumn_le. intros k _. pose proof (count_law_nonneg (fst x) k). pose proof (count_law_nonneg (snd x) k).
      apply IH; nra.
    + rewrite sumn_plus, sumn_scal. pose proof (count_law_sum (fst x) K). nra.
Qed.

(* One more place, whose counts below K have all but eta of their law. *)
Lemma one_more_place K x l eta P Q : 0 <= P -> 0 <= Q -> 0 <= eta -> 1 - eta <= sumn K (count_law (fst x)) ->
  excess_of K l P Q <= excess_of K (x :: l) P Q + eta * P.
Proof.
  intros HP HQ He Hp. simpl.
  apply Rle_trans with (excess_of K l (sumn K (fun k => P * count_law (fst x) k))
    (sumn K (fun k => Q * count_law (snd x) k)) + eta * P).
  - pose proof (count_law_sum (snd x) K). apply excess_of_change.
    + nra.
    + rewrite sumn_scal. nra.
    + rewrite sumn_scal. nra.
  - apply Rplus_le_compat_r, excess_of_sum.
Qed.

Lemma more_places K extra l eta : 0 <= eta -> (forall b, 1 - eta <= sumn K (count_law b)) ->
  excess_of K l 1 1 <= excess_of K (extra ++ l) 1 1 + INR (length extra) * eta.
Proof.
  intros He Hall. induction extra as [|x extra IH]; [simpl; lra|].
  eapply Rle_trans; [exact IH|].
  replace (INR (length (x :: extra)) * eta) with (eta * 1 + INR (length extra) * eta)
    by (change (length (x :: extra)) with (S (length extra)); rewrite S_INR; ring).
  rewrite <- Rplus_assoc. apply Rplus_le_compat_r. apply (one_more_place K x (extra ++ l)); auto; lra.
Qed.

(* π is a law: its sums come as near to 1 as one likes. *)
Hypothesis pi_complete : complete pi.

Theorem excess_part extra l l' D : Permutation l' (extra ++ l) ->
  (forall K, excess_of K l' 1 1 <= D) -> forall K, excess_of K l 1 1 <= D.
Proof.
  intros Hperm HD K. apply le_epsilon. intros eta Heta.
  set (n := INR (length extra)). assert (Hn : 0 <= n) by apply pos_INR.
  set (small := eta / (n + 1)). assert (Hsmall : 0 < small) by (apply Rdiv_lt_0_compat; lra).
  destruct (pi_complete small Hsmall) as [K' HK']. set (N := (K + S K')%nat).
  assert (Hall : forall b, 1 - small <= sumn N (count_law b)).
  { intros b. destruct b; simpl.
    - apply Rle_trans with (sumn (S K') previous).
      + rewrite sumn_S_first. unfold previous at 1, shifted. simpl Nat.ltb. cbv iota. rewrite Rplus_0_l.
        rewrite (sumn_ext K' _ pi); [assumption|]. intros i _. unfold previous, shifted.
        destruct (Nat.ltb_spec (S i) 1); [lia|]. f_equal. lia.
      + apply sumn_le_n; [unfold N; lia|]. intros. apply previous_nonneg.
    - apply Rle_trans with (sumn K' pi); [assumption|]. apply sumn_le_n; [unfold N; lia|auto]. }
  pose proof (more_places N extra l small ltac:(lra) Hall) as H.
  rewrite <- (excess_order N l' (extra ++ l) 1 1 Hperm) in H. specialize (HD N).
  pose proof (excess_grows K N l 1 1 ltac:(unfold N; lia)). fold n in H.
  assert (n * small <= eta).
  { replace eta with ((n + 1) * small) by (unfold small; field; lra). nra. }
  lra.
Qed.

Lemma copies_add d k : copies (d + k) = copies d ++ copies k.
Proof. induction d as [|d IH]; [reflexivity|]. simpl. now rewrite IH. Qed.

Lemma copies_apart w : Permutation (copies w) (repeat (false, true) w ++ repeat (true, false) w).
Proof.
  induction w as [|w IH]; [constructor|]. simpl. rewrite perm_swap. constructor.
  apply Permutation_cons_app. exact IH.
Qed.

Theorem fewer_copies k w D : (k <= w)%nat -> (forall K, excess_of K (copies w) 1 1 <= D) ->
  forall K, excess_of K (copies k) 1 1 <= D.
Proof.
  intros Hk. replace w with (w - k + k)%nat by lia. rewrite copies_add.
  apply (excess_part (copies (w - k))). reflexivity.
Qed.

(* w places where the first record adds a message and the second none, or the other way round. *)
Theorem half_of_pairs w D : (forall K, excess_of K (copies w) 1 1 <= D) ->
  forall K, excess_of K (repeat (true, false) w) 1 1 <= D /\ excess_of K (repeat (false, true) w) 1 1 <= D.
Proof.
  intros HD K. split.
  - exact (excess_part _ _ _ D (copies_apart w) HD K).
  - refine (excess_part (repeat (true, false) w) _ _ D _ HD K). rewrite copies_apart. apply Permutation_app_comm.
Qed.
End Places.

(* One copy is the double sum of theorem A. *)
Lemma one_copy pi E K : excess_of pi E K (copies 1) 1 1 =
  sumn K (fun i => sumn K (fun j => positive_part (previous pi i * pi j - E * (pi i * previous pi j)))).
Proof.
  simpl. apply sumn_ext. intros i _. apply sumn_ext. intros j _. f_equal. ring.
Qed.

(* ---- lists of symbols ---- *)

Definition member (s : nat) (L : list nat) : bool := existsb (Nat.eqb s) L.
Definition list_of (symbols w : nat) (L : list nat) : Prop :=
  NoDup L /\ length L = w /\ forall s, In s L -> (s < symbols)%nat.

Lemma member_spec s L : member s L = true <-> In s L.
Proof.
  unfold member. rewrite existsb_exists. split.
  - intros (x & Hx & E). apply Nat.eqb_eq in E. now subst.
  - intros H. exists s. split; [assumption|apply Nat.eqb_refl].
Qed.

(* What each record adds, symbol by symbol. *)
Definition places_of (L L' : list nat) (at_ n : nat) : list place :=
  map (fun s => (member s L, member s L')) (seq at_ n).

Lemma members_counted symbols w L : list_of symbols w L -> length (filter (fun s => member s L) (seq 0 symbols)) = w.
Proof.
  intros (HN & <- & Hin). apply Permutation_length, NoDup_Permutation; [apply NoDup_filter, seq_NoDup|assumption|].
  intros s. rewrite filter_In, member_spec, in_seq. split; [tauto|]. intros H. specialize (Hin s H). split; [lia|tauto].
Qed.

Lemma filter_places {A : Type} (f : A -> place) (p : place -> bool) l :
  length (filter p (map f l)) = length (filter (fun s => p (f s)) l).
Proof. induction l as [|a l IH]; [reflexivity|]. simpl. destruct (p (f a)); simpl; now rewrite IH. Qed.

(* Places where the laws differ are of two kinds. *)
Definition first_only (x : place) : bool := andb (fst x) (negb (snd x)).
Definition second_only (x : place) : bool := andb (negb (fst x)) (snd x).

Lemma two_kinds l : Permutation (filter differs l)
  (repeat (false, true) (length (filter second_only l)) ++ repeat (true, false) (length (filter first_only l))).
Proof.
  induction l as [|[[] []] l IH]; simpl; [constructor|exact IH| | |exact IH].
  - apply Permutation_cons_app. exact IH.
  - now constructor.
Qed.

Lemma kinds_counted l :
  (length (filter first_only l) + length (filter (fun x => andb (fst x) (snd x)) l) = length (filter fst l) /\
   length (filter second_only l) + length (filter (fun x => andb (fst x) (snd x)) l) = length (filter snd l))%nat.
Proof. induction l as [|[[] []] l IH]; simpl; lia. Qed.

(* Equally many symbols are in one list only as in the other only, at most w: as many pairs. *)
Theorem lists_are_pairs symbols w L L' : list_of symbols w L -> list_of symbols w L' ->
  exists k, (k <= w)%nat /\ Permutation (filter differs (places_of L L' 0 symbols)) (copies k).
Proof.
  intros HL HL'. set (l := places_of L L' 0 symbols). exists (length (filter first_only l)).
  pose proof (kinds_counted l) as [H1 H2]. pose proof (two_kinds l) as H.
  assert (Hf : length (filter fst l) = w).
  { unfold l, places_of. rewrite filter_places. now apply members_counted. }
  assert (Hs : length (filter snd l) = w).
  { unfold l, places_of. rewrite filter_places. now apply members_counted. }
  split; [lia|]. replace (length (filter second_only l)) with (length (filter first_only l)) in H by lia.
  rewrite H. symmetry. apply copies_apart.
Qed.

Lemma list_and_none symbols w L : list_of symbols w L ->
  Permutation (filter differs (places_of L [] 0 symbols)) (repeat (true, false) w) /\
  Permutation (filter differs (places_of [] L 0 symbols)) (repeat (false, true) w).
Proof.
  intros HL. pose proof (members_counted symbols w L HL) as Hw.
  assert (Hno : forall l : list nat, filter (fun _ => false) l = []) by (induction l; auto).
  assert (Hall : forall f : nat -> bool, (forall s, f s = false) -> length (filter f (seq 0 symbols)) = O).
  { intros f Hf. rewrite (filter_ext f (fun _ => false) Hf), Hno. reflexivity. }
  split; rewrite two_kinds; unfold places_of; rewrite !filter_places; unfold first_only, second_only.
  - rewrite Hall by (intros; apply andb_false_r).
    rewrite (filter_ext _ (fun s => member s L)) by (intros; apply andb_true_r). rewrite Hw. reflexivity.
  - rewrite (Hall (fun s => fst (member s [], member s L) && _)%bool) by reflexivity.
    rewrite (filter_ext _ (fun s => member s L)) by reflexivity. rewrite Hw, app_nil_r. reflexivity.
Qed.
