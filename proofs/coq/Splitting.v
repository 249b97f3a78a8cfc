(* SPDX-License-Identifier: Apache-2.0
   §11, Poisson splitting: what the clusters of an epoch send is, for every symbol, an independent number of law π.
   A cluster is one of symbols·v equally likely types: a symbol, and a size from 1 to v. `ways n M` counts the sequences
   of n clusters that send M s messages in every symbol s, so ways n M/(symbols·v)^n is the probability of M when there
   are n clusters.
   - Of n clusters of uniform types, each is as likely as any other to be one that fell into symbol s (ways_weighted).
   - A Poisson number of clusters, of mean m, sends M with probability Π_s π(M s), Λ = m/symbols (cluster_counts).
   - With v = 1 that is the splitting of a Poisson number: independent Poisson counts (poisson_splitting).
   - The numbers of n clients and of the relay add up to a Poisson number of mean n·κ + R (all_clusters), and draws of
     one after those of another are draws of all (draws_append).
   Epoch.v goes on from here to what the adversary sees.
   Sums over the number of clusters stop at the first number that cannot send so few messages; further terms are 0. *)
From Coq Require Import Reals Lra Lia List Arith Bool FunctionalExtensionality.
From PrivateMail Require Import Sums CompoundPoisson.
Import ListNotations.
Open Scope R_scope.

(* Counts per symbol, and what is left when c messages of symbol s are taken out. *)
Definition lower (M : nat -> nat) (s c : nat) : nat -> nat := fun x => if Nat.eqb x s then (M x - c)%nat else M x.

Lemma total_nothing (M : nat -> nat) l : fold_right (fun s t => (M s + t)%nat) O l = O -> forall s, In s l -> M s = O.
Proof.
  induction l as [|a l IH]; simpl; intros H s Hs; [easy|]. destruct Hs as [->|Hs]; [lia|]. apply IH; [lia|assumption].
Qed.

Lemma total_lower M s c l : NoDup l -> In s l -> (c <= M s)%nat ->
  (fold_right (fun x t => (lower M s c x + t)%nat) O l + c = fold_right (fun x t => (M x + t)%nat) O l)%nat.
Proof.
  intros HN Hs Hc. induction l as [|a l IH]; [easy|]. inversion HN; subst. simpl. destruct Hs as [->|Hs].
  - unfold lower at 1. rewrite Nat.eqb_refl.
    assert (E : fold_right (fun x t => (lower M s c x + t)%nat) O l = fold_right (fun x t => (M x + t)%nat) O l).
    { clear -H1. induction l as [|b l IH]; [reflexivity|]. simpl. rewrite IH by (intros H; apply H1; now right).
      unfold lower at 1. destruct (Nat.eqb_spec b s) as [->|]; [exfalso; apply H1; now left|reflexivity]. }
    lia.
  - specialize (IH H2 Hs). unfold lower at 1. destruct (Nat.eqb_spec a s) as [->|]; [contradiction|]. lia.
Qed.

Lemma product_lower (f : nat -> R) M s l : NoDup l -> In s l ->
  exists rest, lprod l (fun x => f (M x)) = f (M s) * rest /\
    forall c, lprod l (fun x => f (lower M s c x)) = f (M s - c)%nat * rest.
Proof.
  intros HN Hs. induction l as [|a l IH]; [easy|]. inversion HN; subst. simpl. destruct Hs as [->|Hs].
  - exists (lprod l (fun x => f (M x))). split; [reflexivity|]. intros c. unfold lower at 1.
    rewrite Nat.eqb_refl. f_equal. apply lprod_ext. intros x Hx. unfold lower.
    destruct (Nat.eqb_spec x s) as [->|]; [contradiction|reflexivity].
  - destruct (IH H2 Hs) as (rest & E1 & E2). exists (f (M a) * rest). rewrite E1. split; [ring|]. intros c.
    rewrite E2. unfold lower. destruct (Nat.eqb_spec a s) as [->|]; [contradiction|]. ring.
Qed.

Lemma power_product (f : nat -> R) r l (M : nat -> nat) :
  (forall s, In s l -> f (M s) = r) -> lprod l (fun s => f (M s)) = r ^ length l.
Proof. induction l as [|a l IH]; simpl; intros H; [reflexivity|]. rewrite H, IH; auto. Qed.

Lemma exp_power x n : exp x ^ n = exp (INR n * x).
Proof.
  induction n as [|n IH]; [simpl; rewrite Rmult_0_l, exp_0; reflexivity|].
  simpl pow. rewrite IH, <- exp_plus, S_INR. f_equal. ring.
Qed.

Section Clusters.
Variables (symbols v : nat).
Hypothesis some_symbol : (1 <= symbols)%nat.
Hypothesis size : (1 <= v)%nat.

(* Type t is symbol t/v with size t mod v + 1. *)
Fixpoint sent (clusters : list nat) (s : nat) : nat :=
  match clusters with
  | [] => O
  | t :: rest => ((if Nat.eqb (t / v) s then S (t mod v) else O) + sent rest s)%nat
  end.

Definition fits (clusters : list nat) (M : nat -> nat) : bool :=
  forallb (fun s => Nat.eqb (sent clusters s) (M s)) (seq 0 symbols).

Definition ways (n : nat) (M : nat -> nat) : R := lsum (tuples (symbols * v) n) (fun l => ind (fits l M)).

(* M without one cluster of size c in symbol s; 0 where there is no room for it. *)
Definition without (F : (nat -> nat) -> R) (M : nat -> nat) (s c : nat) : R :=
  if Nat.leb c (M s) then F (lower M s c) else 0.

Lemma fits_spec l M : fits l M = true <-> forall s, (s < symbols)%nat -> sent l s = M s.
Proof.
  clear some_symbol size. unfold fits. rewrite forallb_forall. split.
  - intros H s Hs. apply Nat.eqb_eq, H, in_seq. lia.
  - intros H s Hs. apply in_seq in Hs. apply Nat.eqb_eq, H. lia.
Qed.

Lemma fits_cons u c l M : (u < symbols)%nat -> (c < v)%nat ->
  ind (fits ((c + v * u)%nat :: l) M) = without (fun M' => ind (fits l M')) M u (S c).
Proof.
  intros Hu Hc. unfold without.
  assert (Hdiv : ((c + v * u) / v = u)%nat).
  { rewrite Nat.mul_comm, Nat.div_add, Nat.div_small by lia. lia. }
  assert (Hmod : ((c + v * u) mod v = c)%nat).
  { rewrite Nat.mul_comm, Nat.mod_add, Nat.mod_small by lia. reflexivity. }
  assert (Hsent : forall s, sent ((c + v * u)%nat :: l) s = ((if Nat.eqb u s then S c else O) + sent l s)%nat)
    by (intros s; simpl sent; rewrite Hdiv, Hmod; reflexivity).
  destruct (Nat.leb_spec (S c) (M u)) as [Hroom|Hroom].
  - f_equal. apply eq_true_iff_eq. rewrite !fits_spec. unfold lower. split; intros H s Hs; specialize (H s Hs).
    + rewrite Hsent in H. destruct (Nat.eqb_spec u s) as [E|Hne]; [subst s; rewrite Nat.eqb_refl; lia|].
      destruct (Nat.eqb_spec s u); [congruence|lia].
    + rewrite Hsent. destruct (Nat.eqb_spec u s) as [E|Hne]; [subst s; rewrite Nat.eqb_refl in H; lia|].
      destruct (Nat.eqb_spec s u); [congruence|lia].
  - unfold ind. destruct (fits _ M) eqn:E; [|reflexivity]. exfalso.
    pose proof (proj1 (fits_spec _ _) E u Hu) as H. rewrite Hsent, Nat.eqb_refl in H. lia.
Qed.

(* The first cluster apart. *)
Lemma ways_S n M : ways (S n) M = sumn symbols (fun u => sumn v (fun c => without (ways n) M u (S c))).
Proof.
  unfold ways at 1. rewrite lsum_tuples_S, sumn_blocks. apply sumn_ext. intros u Hu. apply sumn_ext. intros c Hc.
  rewrite (lsum_ext _ _ (fun l => without (fun M' => ind (fits l M')) M u (S c))) by (intros; now apply fits_cons).
  unfold without, ways. destruct (Nat.leb (S c) (M u)); [reflexivity|apply lsum_zero].
Qed.

Lemma ways_0 M : ways 0 M = ind (fits [] M).
Proof. unfold ways. simpl. lra. Qed.

(* Two clusters can be taken out in either order. *)
Lemma without_commutes F M u c s d :
  without (fun M' => without F M' s d) M u c = without (fun M' => without F M' u c) M s d.
Proof.
  unfold without.
  assert (Hlower : lower (lower M u c) s d = lower (lower M s d) u c).
  { extensionality x. unfold lower. destruct (Nat.eqb x s), (Nat.eqb x u); lia. }
  rewrite <- Hlower. set (result := F (lower (lower M u c) s d)). clearbody result. unfold lower.
  rewrite (Nat.eqb_sym u s). destruct (Nat.eqb_spec s u) as [->|];
    repeat match goal with |- context [Nat.leb ?a ?b] => destruct (Nat.leb_spec a b) end; try reflexivity; lia.
Qed.

Lemma without_scal F r M s c : without (fun M' => r * F M') M s c = r * without F M s c.
Proof. unfold without. destruct (Nat.leb c (M s)); lra. Qed.

Lemma without_sum n (F : nat -> (nat -> nat) -> R) M s c :
  without (fun M' => sumn n (fun i => F i M')) M s c = sumn n (fun i => without (F i) M s c).
Proof. unfold without. destruct (Nat.leb c (M s)); [reflexivity|]. symmetry. now apply sumn_zero. Qed.

Lemma without_ext F F' M s c : (forall M', F M' = F' M') -> without F M s c = without F' M s c.
Proof. intros H. unfold without. destruct (Nat.leb c (M s)); auto. Qed.

(* The messages of s, counted in the first cluster and in the rest. *)
Lemma count_first F M u c s : INR (M s) * without F M u c =
  without (fun M' => INR (M' s) * F M') M u c + (if Nat.eqb s u then INR c * without F M u c else 0).
Proof.
  unfold without. destruct (Nat.leb_spec c (M u)) as [H|H].
  - unfold lower at 2. destruct (Nat.eqb_spec s u) as [->|]; [rewrite minus_INR by assumption|]; lra.
  - destruct (Nat.eqb s u); lra.
Qed.

Theorem ways_weighted n M s : (s < symbols)%nat ->
  INR (M s) * ways n M = INR n * sumn v (fun c => INR (S c) * without (ways (n - 1)) M s (S c)).
Proof.
  intros Hs. revert M. induction n as [|n IH]; intros M.
  - rewrite ways_0. simpl (INR 0). rewrite Rmult_0_l. unfold ind. destruct (fits [] M) eqn:E; [|lra].
    apply (proj1 (fits_spec _ _)) with (s := s) in E; [|assumption]. simpl in E. rewrite <- E. simpl. lra.
  - rewrite ways_S. replace (S n - 1)%nat with n by lia. rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l.
    set (tail := sumn v (fun c => INR (S c) * without (ways n) M s (S c))).
    rewrite <- sumn_scal.
    rewrite (sumn_ext symbols _ (fun u =>
      sumn v (fun c => without (fun M' => INR (M' s) * ways n M') M u (S c)) +
      (if Nat.eqb u s then sumn v (fun c => INR (S c) * without (ways n) M u (S c)) else 0))).
    2:{ intros u _. rewrite <- sumn_scal. rewrite (sumn_ext v _ _ (fun c _ => count_first (ways n) M u (S c) s)).
        rewrite sumn_plus. f_equal. rewrite (Nat.eqb_sym s u). destruct (Nat.eqb u s); [reflexivity|].
        now apply sumn_zero. }
    rewrite sumn_plus, (sumn_single symbols s (fun u => sumn v (fun c => INR (S c) * without (ways n) M u (S c))))
      by assumption.
    fold tail. f_equal.
    rewrite (sumn_ext symbols _ (fun u => INR n * sumn v (fun d => INR (S d) *
      sumn v (fun c => without (fun M' => without (ways (n - 1)) M' u (S c)) M s (S d))))).
    + rewrite sumn_scal. destruct n as [|n]; [simpl (INR 0); lra|]. f_equal. unfold tail.
      rewrite sumn_exchange. apply sumn_ext. intros d _. rewrite sumn_scal. f_equal.
      rewrite (without_ext _ _ M s (S d) (ways_S n)), without_sum. replace (S n - 1)%nat with n by lia.
      apply sumn_ext. intros u _. now rewrite without_sum.
    + intros u _.
      rewrite (sumn_ext v _ (fun c => INR n * sumn v (fun d => INR (S d) *
        without (fun M' => without (ways (n - 1)) M' u (S c)) M s (S d)))).
      * rewrite sumn_scal, sumn_exchange. f_equal. apply sumn_ext. intros d _. now rewrite sumn_scal.
      * intros c _. rewrite (without_ext _ _ M u (S c) IH), without_scal, without_sum. f_equal. apply sumn_ext.
        intros d _. rewrite without_scal, without_commutes. reflexivity.
Qed.

(* ---- a Poisson number of clusters ---- *)

Variable mean : R.
Definition types : R := INR (symbols * v).

(* The probability of M with fewer than N clusters. *)
Definition epoch (N : nat) (M : nat -> nat) : R := sumn N (fun n => poisson mean n * (ways n M / types ^ n)).

Lemma types_positive : 0 < types.
Proof. apply lt_0_INR. nia. Qed.

Lemma epoch_weighted N M s : (s < symbols)%nat ->
  INR (M s) * epoch (S N) M = mean / types * sumn v (fun c => INR (S c) * without (epoch N) M s (S c)).
Proof.
  intros Hs. pose proof types_positive. unfold epoch. rewrite sumn_S_first, Rmult_plus_distr_l.
  assert (H0 : INR (M s) * (poisson mean 0 * (ways 0 M / types ^ 0)) = 0).
  { simpl (types ^ 0). pose proof (ways_weighted 0 M s Hs) as H0. simpl (INR 0) in H0.
    replace (INR (M s) * (poisson mean 0 * (ways 0 M / 1))) with (poisson mean 0 * (INR (M s) * ways 0 M)) by field.
    rewrite H0. ring. }
  rewrite H0, Rplus_0_l, <- sumn_scal.
  rewrite (sumn_ext N _ (fun n => mean / types * sumn v (fun c => INR (S c) *
    without (fun M' => poisson mean n * (ways n M' / types ^ n)) M s (S c)))).
  - rewrite sumn_scal, sumn_exchange. f_equal. apply sumn_ext. intros c _. rewrite sumn_scal, without_sum. reflexivity.
  - intros n _. assert (types ^ n <> 0) by (apply pow_nonzero; lra).
    replace (INR (M s) * (poisson mean (S n) * (ways (S n) M / types ^ S n)))
      with (INR (M s) * ways (S n) M * poisson mean (S n) / types ^ S n) by (simpl pow; field; lra).
    rewrite ways_weighted by assumption. replace (S n - 1)%nat with n by lia.
    rewrite (sumn_ext v (fun c => INR (S c) * without (fun M' => poisson mean n * (ways n M' / types ^ n)) M s (S c))
      (fun c => poisson mean n / types ^ n * (INR (S c) * without (ways n) M s (S c)))).
    + rewrite sumn_scal. set (inner := sumn v _). simpl pow.
      replace (INR (S n) * inner * poisson mean (S n) / (types * types ^ n))
        with (INR (S n) * poisson mean (S n) * inner / (types * types ^ n)) by (field; lra).
      rewrite poisson_S. field. lra.
    + intros c _. unfold without. destruct (Nat.leb (S c) (M s)); field; lra.
Qed.

Definition total (M : nat -> nat) : nat := fold_right (fun s t => (M s + t)%nat) O (seq 0 symbols).

Theorem cluster_counts N M : (total M < N)%nat ->
  epoch N M = lprod (seq 0 symbols) (fun s => pi (mean / INR symbols) v (M s)).
Proof.
  remember (total M) as t eqn:Et. revert M N Et. induction t as [t IH] using (well_founded_induction lt_wf).
  intros M N Et HN. pose proof types_positive. assert (HS : 0 < INR symbols) by (apply lt_0_INR; lia).
  assert (Hv : 0 < INR v) by (apply lt_0_INR; lia). destruct N as [|N]; [lia|].
  destruct (Nat.eq_dec t 0) as [H0|H0].
  - assert (Hnone : forall s, (s < symbols)%nat -> M s = O).
    { intros s Hs. apply (total_nothing M (seq 0 symbols)); [unfold total in Et; lia|apply in_seq; lia]. }
    unfold epoch. rewrite sumn_S_first, (sumn_zero N).
    + rewrite ways_0. replace (fits [] M) with true by (symmetry; apply fits_spec; intros; now rewrite Hnone).
      rewrite (power_product (pi (mean / INR symbols) v) (exp (- (mean / INR symbols)))).
      * rewrite poisson_0, seq_length, exp_power. unfold ind. simpl.
        replace (INR symbols * - (mean / INR symbols)) with (- mean) by (field; lra). field.
      * intros s Hs. apply in_seq in Hs. rewrite Hnone by lia. now apply pi_zero.
    + intros n _. rewrite ways_S, sumn_zero; [field; apply pow_nonzero; lra|]. intros u Hu. apply sumn_zero. intros c _.
      unfold without. rewrite Hnone by assumption. reflexivity.
  - assert (Hsome : exists s, (s < symbols)%nat /\ M s <> O).
    { destruct (List.Exists_dec (fun s => M s <> O) (seq 0 symbols)) as [H1|H1].
      - intros s. destruct (Nat.eq_dec (M s) 0); [right|left]; lia.
      - apply Exists_exists in H1. destruct H1 as (s & Hs & H1). apply in_seq in Hs. exists s. split; [lia|assumption].
      - exfalso. apply H0. rewrite Et. unfold total. revert H1. generalize (seq 0 symbols). induction l as [|a l IHl];
          intros H1; [reflexivity|]. simpl. rewrite IHl by (intros H2; apply H1; now right).
        destruct (Nat.eq_dec (M a) 0) as [->|H2]; [reflexivity|]. exfalso. apply H1. now left. }
    destruct Hsome as (s & Hs & Hpos). assert (Hin : In s (seq 0 symbols)) by (apply in_seq; lia).
    assert (HM : INR (M s) <> 0) by now apply not_0_INR.
    apply Rmult_eq_reg_l with (INR (M s)); [|assumption]. rewrite epoch_weighted by assumption.
    destruct (product_lower (pi (mean / INR symbols) v) M s (seq 0 symbols) (seq_NoDup _ _) Hin) as (rest & E & E').
    rewrite E, <- Rmult_assoc. unfold pi at 1. rewrite messages_weighted, <- sumn_scal, <- sumn_scal_r.
    apply sumn_ext. intros c _. unfold without, shifted.
    destruct (Nat.leb_spec (S c) (M s)), (Nat.ltb_spec (M s) (S c)); try lia; [|ring].
    rewrite (IH (total (lower M s (S c)))); try reflexivity.
    + rewrite E'. unfold types. rewrite mult_INR. unfold pi. field. lra.
    + rewrite Et. pose proof (total_lower M s (S c) (seq 0 symbols) (seq_NoDup _ _) Hin H1). unfold total in *. lia.
    + pose proof (total_lower M s (S c) (seq 0 symbols) (seq_NoDup _ _) Hin H1). unfold total in *. lia.
Qed.
End Clusters.

(* ---- what theorem A takes from it ---- *)

(* With one message per cluster, π is the Poisson law. *)
Lemma pi_one Lambda k : pi Lambda 1 k = poisson Lambda k.
Proof.
  symmetry. apply pi_unique; [lia|apply poisson_0|]. intros j Hj. unfold recurrence.
  assert (0 < INR j) by (apply lt_0_INR; lia). replace (Nat.min 1 j) with 1%nat by lia.
  unfold sumn. simpl seq. simpl lsum. destruct j as [|j]; [lia|]. replace (S j - 1)%nat with j by lia.
  apply Rmult_eq_reg_l with (INR (S j)); [|lra]. rewrite poisson_S. simpl (INR 1). field. lra.
Qed.

(* A Poisson number of uniform symbols has independent Poisson counts, each with its share of the mean. *)
Theorem poisson_splitting symbols mean N M : (1 <= symbols)%nat -> (total symbols M < N)%nat ->
  epoch symbols 1 mean N M = lprod (seq 0 symbols) (fun s => poisson (mean / INR symbols) (M s)).
Proof.
  intros HS HN. rewrite cluster_counts by (assumption || lia). apply lprod_ext. intros. apply pi_one.
Qed.

(* The number of clusters of all clients and of the relay. *)
Fixpoint clusters_of (kappa relay : R) (clients : nat) : nat -> R :=
  match clients with
  | O => poisson relay
  | S rest => cauchy (poisson kappa) (clusters_of kappa relay rest)
  end.

Theorem all_clusters kappa relay clients k :
  clusters_of kappa relay clients k = poisson (INR clients * kappa + relay) k.
Proof.
  revert k. induction clients as [|n IH]; intros k.
  - simpl. f_equal. ring.
  - simpl clusters_of. rewrite (cauchy_ext _ (poisson kappa) _ (poisson (INR n * kappa + relay))) by auto.
    rewrite poisson_superposition, S_INR. f_equal. ring.
Qed.

Theorem draws_append T n n' (F : list nat -> R) :
  lsum (tuples T n) (fun l => lsum (tuples T n') (fun l' => F (l ++ l'))) = lsum (tuples T (n + n')) F.
Proof.
  revert F. induction n as [|n IH]; intros F.
  - simpl. rewrite Rplus_0_r. reflexivity.
  - replace (S n + n')%nat with (S (n + n')) by lia. rewrite !lsum_tuples_S. apply sumn_ext. intros a _.
    apply (IH (fun l => F (a :: l))).
Qed.

(* Two clusters of one message each, in two symbols: two of the four sequences have one in each. *)
Example two_of_four : ways 2 1 2 (fun _ => 1%nat) = 2.
Proof. unfold ways, fits, ind. simpl. lra. Qed.
