#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the proofs of this folder into build/proofs/coq, in the order of _CoqProject. Prints one line per theorem.
# A theorem counts as proved when its file compiles, no file leaves a gap (Admitted and the like), and Coq says that it
# rests on nothing but the axioms below. Ends with 'N proved, N failed'; the exit status is 0 when none failed.
#     proofs/coq/check_theorems.sh
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../../build/proofs/coq
mkdir -p "$build"
cd "$build" || exit 1

# The axioms of Coq's own real numbers (Coq.Reals of version 8.16), and no others.
allowed='ClassicalDedekindReals.sig_not_dec ClassicalDedekindReals.sig_forall_dec
    FunctionalExtensionality.functional_extensionality_dep'
gaps='Axiom|Axioms|Admitted|admit|Abort|Parameter|Parameters|Conjecture|give_up|Unset Guard Checking|bypass_check'

command -v coqc >/dev/null || { echo "coqc is not installed (Debian: coq)"; exit 1; }
mapfile -t files < <(grep '\.v$' "$here/_CoqProject")
for file in "$here"/*.v; do
    [[ " ${files[*]} " == *" $(basename "$file") "* ]] || { echo "$(basename "$file") is not in _CoqProject"; exit 1; }
done

theorems() { sed -nE "s/^Theorem ([A-Za-z0-9_']+).*/\1/p" "$here/$1"; }

proved=0 failed=0 broken=0 questions=
rm -f ./*.vo ./*.vok ./*.vos ./*.glob ./*.ml ./*.mli
echo 'From Coq Require Import String.' >Assumptions.v
for file in "${files[@]}"; do
    cp "$here/$file" .
    if ((broken)) || grep -nwE "$gaps" "$file" || ! coqc -q -w -all -R . PrivateMail "$file"; then
        broken=1 # what follows may rest on it
        echo "failed $file"
        failed=$((failed + $(theorems "$file" | wc -l)))
        ((failed)) || failed=1
        continue
    fi
    echo "From PrivateMail Require ${file%.v}." >>Assumptions.v
    for name in $(theorems "$file"); do
        printf -v question 'Check "theorem %s"%%string.\nPrint Assumptions PrivateMail.%s.\n' {,}"${file%.v}.$name"
        questions+=$question
    done
done
printf '%s' "$questions" >>Assumptions.v
coqc -q -w -all -R . PrivateMail Assumptions.v >assumptions.txt ||
    { echo "failed Assumptions.v"; failed=$((failed + 1)); }

# Axioms stand at the beginning of a line, their types behind a colon or on lines of their own.
judgement=$(awk -v allowed="$allowed" '
    function finish() {
        if (name == "") return
        print (known && bad == "" ? "proved " name : "failed " name ": rests on" (known ? bad : " what Coq did not say"))
    }
    BEGIN { n = split(allowed, list, /[ \n]+/); for (i = 1; i <= n; i++) fine[list[i]] = 1 }
    /^"theorem / { finish(); name = $2; sub(/"%string.*|".*/, "", name); known = 0; bad = ""; next }
    /^ +: string/ { next }
    /^Closed under the global context/ { known = 1; next }
    /^Axioms:/ { known = 1; next }
    /^[A-Za-z]/ { if (name != "" && !($1 in fine)) bad = bad " " $1 }
    END { finish() }' assumptions.txt)
printf '%s\n' "$judgement"
proved=$(grep -c '^proved ' <<<"$judgement")
failed=$((failed + $(grep -c '^failed ' <<<"$judgement")))
echo "$proved proved, $failed failed"
((failed == 0 && proved > 0))
