#!/usr/bin/env bash
# Checks the proofs: theorems (Coq), contracts (Frama-C WP), absence of undefined behaviour (Frama-C Eva), and the law of
# the real code's output over every random word. docs/SOUNDNESS.md says what each of them proves.
#
#   scripts/prove.sh              everything, in under 30 minutes on two cores
#   scripts/prove.sh --quick      the part that runs before every change lands
#   scripts/prove.sh --planted    puts bugs into copies of the sources: a proof must fail for each, and its name is printed
#   scripts/prove.sh coq wp       only these; parts: coq wp eva law
#
# Every line 'proved NAME …' is one theorem, file or driver. The last line is 'N proved, N failed'. Logs are in
# build/proofs. Needs scripts/setup.sh --proofs, which this script runs.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; }

options=() parts=()
for argument in "$@"; do
    case $argument in
    --quick | --planted) options+=("$argument") ;;
    coq | wp | eva | law) parts+=("$argument") ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done
[ ${#parts[@]} -gt 0 ] || parts=(coq wp eva law)

mkdir -p build/proofs
scripts/setup.sh --proofs || { echo "0 proved, 1 failed"; exit 1; }

# Each part ends with a sum of its own: 'N proved, N failed'. One that has none has failed.
proved=0 failed=0
for part in "${parts[@]}"; do
    log=build/proofs/$part.log start=$SECONDS
    "proofs/$part/check.sh" "${options[@]}" 2>&1 | tee "$log" | sed '$d'
    if tail -n 1 "$log" | grep -qxE '[0-9]+ proved, [0-9]+ failed'; then
        read -r good _ bad _ < <(tail -n 1 "$log")
    else
        tail -n 1 "$log"
        good=0 bad=1
    fi
    echo "$part: $good proved, $bad failed, $((SECONDS - start)) s"
    proved=$((proved + good)) failed=$((failed + bad))
done
echo "$proved proved, $failed failed"
[ "$failed" = 0 ]
