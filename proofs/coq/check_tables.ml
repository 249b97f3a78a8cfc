(* SPDX-License-Identifier: Apache-2.0
   Runs the checker that Coq extracted (KeepCheck.v) on lines "a k m P" of standard input, with ε = a/2^k: one line each
   with two letters, the verdict (P private, B broken, U unknown) and the place (E exact, M one more, O elsewhere).
   Consecutive lines of one ε are judged together, because e^ε is enclosed once for each of them. *)
open Keep_check

let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))
let integer n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

let letters (verdict, place) =
  (match verdict with Private -> "P" | Broken -> "B" | Unknown -> "U")
  ^ match place with Exact -> "E" | One_more -> "M" | Elsewhere -> "O"

let flush_group (a, k) points =
  List.iter (fun result -> print_endline (letters result)) (judge (integer a) (integer k) (List.rev points))

let rec read epsilon points =
  match input_line stdin with
  | exception End_of_file -> flush_group epsilon points
  | line ->
      Scanf.sscanf line "%d %d %d %d" (fun a k m p ->
          let point = (integer m, integer p) in
          if (a, k) = epsilon then read epsilon (point :: points)
          else (
            flush_group epsilon points;
            read (a, k) [ point ]))

let () = read (0, 0) []
