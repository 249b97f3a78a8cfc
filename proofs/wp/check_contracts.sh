#!/usr/bin/env bash
# Proves the contracts of the core with Frama-C WP: one line per file, unproved goals by name, and a sum at the end.
#
#   proofs/wp/check_contracts.sh            all units of units.txt, two at a time
#   proofs/wp/check_contracts.sh --quick    only those marked quick
#   proofs/wp/check_contracts.sh --smoke    also asks the provers whether any contract contradicts itself
#   proofs/wp/check_contracts.sh --planted  plants the bugs of planted_contracts.txt, one at a time, and expects the named function to fail
#   proofs/wp/check_contracts.sh UNIT...    only these
#
#   PML_WP_TIMEOUT  seconds per goal and prover (180; of those marked quick the slowest took four)
#
# What Frama-C printed is in build/proofs/wp.
set -uo pipefail
cd "$(dirname "$0")/../.."

logs=$PWD/build/proofs/wp
mkdir -p "$logs"
export WHY3CONFIG=$logs/why3.conf

# prove DIRECTORY UNIT SOURCE FUNCTIONS LEMMAS MODEL LOG: runs Frama-C, once for the functions and once for the lemmas;
# fails when a run does. The sources are those of DIRECTORY. A clause that is named 'given' is taken for granted:
# `ending` below says where one may stand.
prove() {
    local options=(-c11 -machdep gcc_x86_64 -cpp-extra-args=-Icore "$3" -wp -wp-rte -warn-special-float none
        -wp-driver proofs/wp/words.driver -wp-model "$6" -wp-prover "z3,cvc4" -wp-par 2
        -wp-timeout "${PML_WP_TIMEOUT:-180}")
    (
        cd "$1" || exit 2
        frama-c "${options[@]}" ${PML_WP_SMOKE:+-wp-smoke-tests} -wp-fct "$4" -wp-prop=-given || exit
        if [ "$5" != - ]; then frama-c "${options[@]}" -wp-prop "$5"; fi
    ) >"$7" 2>&1
}

# Names of the goals that a log does not show as proved.
unproved() {
    sed -nE 's/^\[wp\] \[(Failed|Timeout|Unknown|Stepout)\] (Goal|Smoke-test) typed_cast_(real_)?words_([^ ]+).*/\4/p' "$1" | sort -u
}

# unit DIRECTORY UNIT SOURCE FUNCTIONS LEMMAS MODEL: proves and prints the line of a unit.
unit() {
    local log=$logs/$2.log start=$SECONDS wanted annotated proved all ended last ran=yes runs=1 lemmas=0
    prove "$1" "$2" "$3" "$4" "$5" "$6" "$log" || ran=no
    wanted=$(tr ',' '\n' <<<"$4" | wc -l)
    annotated=$(tr ',' '\n' <<<"$4" | sed 's/^/annotating function /' | grep -cxFf - <(grep -o 'annotating.*' "$log" | sort -u))
    read -r proved all ended last < <(awk '/^\[wp\] Proved goals:/ { p += $4; n += $6; runs++; last = $6 }
        END { print p + 0, n + 0, runs + 0, last + 0 }' "$log")
    [ "$5" = - ] || { runs=2 lemmas=$(tr ',' '\n' <<<"$5" | wc -l); }
    # Every run must have come to its end, and the second one must have had every lemma.
    if [ "$ran" = yes ] && [ "$ended" = "$runs" ] && [ "$last" -ge "$lemmas" ] && [ "$all" -gt "$lemmas" ] &&
        [ "$proved" = "$all" ] && [ "$annotated" = "$wanted" ]; then
        echo "proved $3 (functions $wanted, goals $proved of $all, $((SECONDS - start)) s)"
        return 0
    fi
    echo "FAILED $3 (functions $annotated of $wanted, goals $proved of $all, $((SECONDS - start)) s): $log"
    unproved "$log" | sed 's/^/    /'
    [ "$ended" = "$runs" ] || tail -n 5 "$log" | sed 's/^/    /'
    return 1
}

if [ "${1:-}" = --unit ]; then
    shift
    unit "$@"
    exit
fi

for tool in frama-c why3 z3 cvc4; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: scripts/setup.sh --proofs"; exit 2; }
done
[ -s "$WHY3CONFIG" ] || why3 config detect -C "$WHY3CONFIG" >/dev/null 2>&1

# The units that an extended regular expression of names selects: name, mark, source, functions, lemmas, model.
units() {
    awk -v names="^($1)\$" -v marks="$2" '!/^#/ && NF == 6 && $1 ~ names && $2 ~ marks' proofs/wp/units.txt
}

planted() {
    exec python3 proofs/wp/plant_contracts.py "$0"
}

marks=. names='.*'
case ${1:-} in
--quick) marks=quick ;;
--smoke) export PML_WP_SMOKE=1 ;;
--planted) planted ;;
--help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
'') ;;
*) names=$(IFS='|'; echo "$*") ;;
esac

# The axioms about bits, as theorems of Z3 about words of 64 bits.
axioms() {
    local all proved
    all=$(grep -c '^(check-sat)' proofs/wp/words.smt2)
    proved=$(timeout 600 z3 proofs/wp/words.smt2 | grep -c '^unsat$')
    [ "$proved" = "$all" ] && [ "$all" -gt 0 ] && echo "proved proofs/wp/words.smt2 (axioms $proved of $all)" ||
        echo "FAILED proofs/wp/words.smt2 (axioms $proved of $all)"
}

# A lemma that no unit proves would be taken for granted by all of them.
listed() {
    local unlisted
    unlisted=$(grep -rhoE --include='*.[ch]' '\blemma [a-z0-9_]+' core proofs/wp | awk '{ print $2 }' | sort -u |
        grep -vxFf <(awk '!/^#/ { print $5 }' proofs/wp/units.txt | tr ',' '\n'))
    [ -z "$unlisted" ] || echo "FAILED proofs/wp/units.txt: it leaves out the lemmas" $unlisted
}

# Every contract says when the function ends. Only the two functions that draw until a word will do have this given.
ending() {
    local silent given
    silent=$(find core proofs/wp -name '*.[ch]' -exec awk '/\/\*@|\/\/@/ { contract = ends = 0 }
        /^(\/\*@|\/\/@|   ) (terminates [^;]*; )?assigns / { contract = 1 } /terminates / { ends = 1 }
        /\*\/|\/\/@/ { if (contract && !ends) print FILENAME ":" FNR; contract = 0 }' {} + | sort)
    given=$(grep -rhoE --include='*.[ch]' '\bgiven:.*' core proofs/wp | sort | tr '\n' ' ')
    [ -z "$silent" ] || echo "FAILED proofs/wp: these contracts do not say when they end:" $silent
    [ "$given" = "given: draws_end; given: draws_end; " ] ||
        echo "FAILED core/base/random.h: given to more or less than the two draws: $given"
}

# Every unit that was asked for must say how it ended.
if [ "$names" = '.*' ]; then
    wanted=$(grep -cvE '^(#|$)' proofs/wp/units.txt)
    [ "$marks" = . ] || wanted=$(grep -vE '^(#|$)' proofs/wp/units.txt | grep -cw "$marks")
else
    wanted=$#
fi

results=$(mktemp)
trap 'rm -f "$results"' EXIT
[ "$names" = '.*' ] && { axioms; listed; ending; } | tee "$results"
units "$names" "$marks" | awk '{ print $1, $3, $4, $5, $6 }' |
    xargs -r -P 2 -L 1 bash "$0" --unit . | tee -a "$results"
good=$(grep -c '^proved' "$results")
bad=$(grep -c '^FAILED' "$results")
ended=$(grep -cE '^(proved|FAILED) .*\(functions ' "$results")
if [ "$ended" -lt "$wanted" ]; then
    echo "FAILED: $((wanted - ended)) of $wanted units did not end"
    bad=$((bad + wanted - ended))
fi
echo "$good proved, $bad failed"
[ "$bad" = 0 ] && [ "$good" -gt 0 ]
