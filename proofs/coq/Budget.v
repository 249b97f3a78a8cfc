(* SPDX-License-Identifier: Apache-2.0
   §6: pure ε adds up, and the ledger's integers never charge too little.
   - Steps that may depend on all earlier outputs, each with a ratio of at most e^ε_i, are together e^(Σ ε_i)
     (composition): the response half of theorem 8.
   - When every price is rounded up, the cap down, and the sum of prices is at most the cap, then the sum of the true ε
     is at most the true cap, for any unit (never_undercharged). *)
From Coq Require Import Reals Lra Lia List ZArith.
From PrivateMail Require Import Sums.
Import ListNotations.
Open Scope R_scope.

(* law history output: the step's law. The transcript's latest output comes first. *)
Definition step (O : Type) : Type := list O -> O -> R.

Fixpoint transcript {O : Type} (steps : list (step O)) (outputs : list O) : R :=
  match steps, outputs with
  | s :: steps', o :: outputs' => s outputs' o * transcript steps' outputs'
  | [], [] => 1
  | _, _ => 0
  end.

Definition within {O : Type} (epsilon : R) (s s' : step O) : Prop :=
  forall history o, 0 <= s history o /\ s history o <= exp epsilon * s' history o.

Definition sum (l : list R) : R := lsum l (fun x => x).

Theorem composition {O : Type} (epsilons : list R) (steps steps' : list (step O)) :
  Forall2 (fun e p => within e (fst p) (snd p)) epsilons (combine steps steps') -> length steps = length steps' ->
  forall outputs, 0 <= transcript steps outputs <= exp (sum epsilons) * transcript steps' outputs.
Proof.
  revert steps steps'. induction epsilons as [|e epsilons IH]; intros steps steps' HF Hlen outputs.
  - inversion HF as [E|]. destruct steps, steps'; try discriminate.
    simpl. unfold sum. simpl. rewrite exp_0. destruct outputs; lra.
  - destruct steps as [|s steps], steps' as [|s' steps']; try discriminate; inversion HF as [|? ? ? ? Hs HF']; subst.
    destruct outputs as [|o outputs]; simpl.
    + pose proof (exp_pos (sum (e :: epsilons))). lra.
    + destruct (IH steps steps' HF' ltac:(simpl in Hlen; lia) outputs) as [H0 H1].
      destruct (Hs outputs o) as [H2 H3]. simpl in H2, H3. split; [now apply Rmult_le_pos|].
      replace (sum (e :: epsilons)) with (e + sum epsilons) by reflexivity. rewrite exp_plus.
      replace (exp e * exp (sum epsilons) * (s' outputs o * transcript steps' outputs))
        with (exp e * s' outputs o * (exp (sum epsilons) * transcript steps' outputs)) by ring.
      apply Rmult_le_compat; assumption.
Qed.

(* ---- the ledger ---- *)

Definition price_of (unit e : R) (price : Z) : Prop := e * unit <= IZR price.  (* rounded up *)
Definition cap_of (unit e : R) (cap : Z) : Prop := IZR cap <= e * unit.        (* rounded down *)

Definition charged (prices : list Z) : Z := fold_right Z.add 0%Z prices.

Theorem never_undercharged unit cap_epsilon cap epsilons prices :
  0 < unit -> cap_of unit cap_epsilon cap -> Forall2 (price_of unit) epsilons prices ->
  (charged prices <= cap)%Z -> sum epsilons <= cap_epsilon.
Proof.
  intros Hu Hcap HF Hsum.
  assert (H : sum epsilons * unit <= IZR (charged prices)).
  { clear Hsum. induction HF as [|e p es ps He HF IH]; [unfold sum; simpl; lra|].
    replace (charged (p :: ps)) with (p + charged ps)%Z by reflexivity. rewrite plus_IZR.
    replace (sum (e :: es)) with (e + sum es) by reflexivity. unfold price_of in He. lra. }
  apply IZR_le in Hsum. unfold cap_of in Hcap.
  apply Rmult_le_reg_r with unit; lra.
Qed.

(* C's conversion to an integer rounds down, and one more where something is left rounds up. *)
Theorem ceiling_is_price unit e (whole : Z) : IZR whole <= e * unit < IZR whole + 1 ->
  price_of unit e (if Rlt_dec (IZR whole) (e * unit) then whole + 1 else whole)%Z /\ cap_of unit e whole.
Proof.
  intros H. unfold price_of, cap_of. split; [|lra].
  destruct (Rlt_dec (IZR whole) (e * unit)); [rewrite plus_IZR|]; lra.
Qed.
