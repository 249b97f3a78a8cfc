#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plants gaps into copies of the smallest file of theorems: check_theorems.sh must fail for each, with the reason that
# is named here, and pass without one. Prints one line per gap and ends with 'N proved, N failed'.
#     proofs/coq/check_gaps.sh
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../../build/proofs/gaps copy=$here/../../build/proofs/gaps/proofs/coq
rm -rf "$root"
mkdir -p "$copy"
cp "$here/check_theorems.sh" "$copy"
printf 'Waiting.v\nMore.v\n' >"$copy/_CoqProject"
echo 'Definition more := 0.' >"$copy/More.v"
{ echo '# 3 proved, 0 failed'; grep 'Waiting\.v' "$here/README.md"; } >"$copy/README.md"

noticed=0 missed=0

# check STATUS WHAT LINE: does check_theorems.sh end with this status and print such a line?
check() {
    "$copy/check_theorems.sh" >"$root/log" 2>&1
    if [ $? = "$1" ] && grep -qE "$3" "$root/log"; then
        echo "coq, $2: $(grep -m 1 -E "$3" "$root/log")"
        noticed=$((noticed + 1))
    else
        echo "failed coq: $2 was not noticed"
        missed=$((missed + 1))
    fi
}

restore() { sed -E "${1:-}" "$here/Waiting.v" >"$copy/Waiting.v"; }

restore
check 0 "no gap" '^3 proved, 0 failed$'
rm "$copy/More.v"
check 1 "a file that is gone" '^failed More\.v$'
echo 'Definition more := 0.' >"$copy/More.v"
restore 's/^Theorem waiting_but/Lemma waiting_but/'
check 1 "a theorem that is gone" '^failed waiting_but: '
restore '$ s/^Qed\.$/Admitted./'
check 1 "a proof that is left out" '^failed Waiting\.v$'
restore '$ s/$/\nAxiom all : forall n, n = 0.\nTheorem one : 1 = 0.\nProof. apply all. Qed./'
check 1 "an axiom" '^failed Waiting\.v$'
restore '$ s/$/\nVariable all : forall n, n = 0.\nTheorem one : 1 = 0.\nProof. apply all. Qed./'
check 1 "an axiom by another name" 'rests on Waiting\.all$'
echo "$noticed proved, $missed failed"
((missed == 0))
