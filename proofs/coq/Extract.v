(* SPDX-License-Identifier: Apache-2.0
   Writes the checker of KeepCheck.v as OCaml, for check_tables.py. Integers stay Coq's own binary numbers: no number
   type of OCaml's takes the place of a proved one. *)
From Coq Require Import ZArith Extraction ExtrOcamlBasic.
From PrivateMail Require Import KeepCheck.
Extraction Language OCaml.
Extraction "keep_check.ml" judge.
