#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the proofs of this folder into build/proofs/coq, in the order of _CoqProject. Prints one line per theorem.
# A theorem counts as proved when its file compiles, no file leaves a gap (Admitted and the like), and Coq says that the
# theorems of its file together rest on nothing but the axioms below. A file that _CoqProject names and that is not here
# fails, and so does a README that names a main theorem or a number of theorems that there is not. Ends with
# 'N proved, N failed'; the exit status is 0 when none failed.
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
: >theorems.txt
rm -f ./*.v ./*.vo ./*.vok ./*.vos ./*.glob ./*.ml ./*.mli # copies of an earlier run would stand in for a missing file
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
    # One question per file: Coq walks through everything below the theorems for each, which takes half a second.
    all= base=${file%.v}
    for name in $(theorems "$file"); do
        all+="@PrivateMail.$base.$name, "
        echo "$base $name" >>theorems.txt
    done
    if [ -n "$all" ]; then
        questions+="Check \"theorems $base\"%string."$'\n'
        questions+="Definition of_$base := (${all}tt). Print Assumptions of_$base."$'\n'
    fi
done
printf '%s' "$questions" >>Assumptions.v
coqc -q -w -all -R . PrivateMail Assumptions.v >assumptions.txt ||
    { echo "failed Assumptions.v"; failed=$((failed + 1)); }

# Axioms stand at the beginning of a line, their types behind a colon or on lines of their own.
judgement=$(awk -v allowed="$allowed" '
    BEGIN { n = split(allowed, list, /[ \n]+/); for (i = 1; i <= n; i++) fine[list[i]] = 1 }
    FNR == NR { of[++theorems] = $1; named[theorems] = $1 "." $2; next }
    /^"theorems / { file = $2; sub(/"%string.*|".*/, "", file); next }
    /^ +: string/ { next }
    /^Closed under the global context/ { known[file] = 1; next }
    /^Axioms:/ { known[file] = 1; next }
    /^[A-Za-z]/ { if (file != "" && !($1 in fine)) bad[file] = bad[file] " " $1 }
    END {
        for (i = 1; i <= theorems; i++) {
            rests = of[i] in known ? bad[of[i]] : " what Coq did not say"
            print (rests == "" ? "proved " named[i] : "failed " named[i] ": its file rests on" rests)
        }
    }' theorems.txt assumptions.txt)
printf '%s\n' "$judgement"
proved=$(grep -c '^proved ' <<<"$judgement")
failed=$((failed + $(grep -c '^failed ' <<<"$judgement")))

# The README's table has files in its third column and their main theorems in the fourth.
promised=
((broken)) || promised=$(awk '
    FNR == NR { there[$1 ".v " $2] = 1; next }
    split($0, column, "|") >= 6 && column[4] ~ /\.v/ {
        files = split(column[4], file, /[ ,]+/)
        while (match(column[5], /`[^`]+`/)) {
            name = substr(column[5], RSTART + 1, RLENGTH - 2)
            column[5] = substr(column[5], RSTART + RLENGTH)
            found = 0
            for (i = 1; i <= files; i++) found += (file[i] " " name) in there
            if (!found) print "failed " name ": the README names it, but it is no theorem of" column[4]
        }
    }
    match($0, /# [0-9]+ proved, 0 failed/) {
        said = substr($0, RSTART + 2) + 0
        if (said != length(there)) print "failed README.md: it says " said " theorems, here are " length(there)
    }' theorems.txt "$here/README.md")
[ -z "$promised" ] || printf '%s\n' "$promised"
failed=$((failed + $(grep -c '^failed ' <<<"$promised")))
echo "$proved proved, $failed failed"
((failed == 0 && proved > 0))
