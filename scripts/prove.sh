#!/usr/bin/env bash
# Checks the proofs: theorems (Coq), contracts (Frama-C WP), absence of undefined behaviour (Frama-C Eva), that all
# loops end, and the law of the real code's output over every random word. docs/SOUNDNESS.md says what each proves.
#
#   scripts/prove.sh              everything, in under 30 minutes on two cores
#   scripts/prove.sh --quick      the part that runs before every change lands
#   scripts/prove.sh --planted    puts bugs into copies of the sources: a proof must fail for each, and its name is printed
#   scripts/prove.sh coq wp       only these; parts: coq wp eva loops law
#
# Every line 'proved NAME …' is one theorem, file or driver. The last line is 'N proved, N failed'. Logs are in
# build/proofs. Needs scripts/setup.sh --proofs, which this script runs.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; }

quick= planted= parts=()
for argument in "$@"; do
    case $argument in
    --quick) quick=--quick ;;
    --planted) planted=--planted ;;
    coq | wp | eva | loops | law) parts+=("$argument") ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done
[ ${#parts[@]} -gt 0 ] || parts=(coq wp eva loops law)

python=build/venv/bin/python
mkdir -p build/proofs
scripts/setup.sh --proofs || { echo "0 proved, 1 failed"; exit 1; }

# ---- the parts: each ends with a sum, 'N proved, N failed' or 'N passed, N failed' --------------------------------

# The thresholds of the real function, judged by the checker that Coq extracted.
tables() {
    cmake --preset release >/dev/null && cmake --build --preset release --target math_eval >/dev/null &&
        "$python" proofs/coq/check_tables.py "$@" build/release/math_eval
}

# Two sums in one; a log without a sum has failed.
sums_of() {
    tail -qn 1 "$@" | awk -v wanted=$# '
        /^[0-9]+ (proved|passed), [0-9]+ failed$/ { good += $1; bad += $3; sums++ }
        END { print good + 0 " proved, " bad + (sums < wanted) " failed" }'
}

coq() {
    local theorems=build/proofs/theorems.log thresholds=build/proofs/thresholds.log
    proofs/coq/check_theorems.sh | tee "$theorems" | sed '$d'
    tables | tee "$thresholds" | sed '$d'
    sums_of "$theorems" "$thresholds"
}

# A theorem holds or does not. What can be planted are gaps in its file, and bugs in the C code that the tables judge.
coq_planted() {
    local gaps=build/proofs/gaps.log log=build/proofs/planted.log
    proofs/coq/check_gaps.sh | tee "$gaps" | sed '$d'
    proofs/coq/check_theorems.sh >/dev/null
    "$python" proofs/coq/check_tables.py --planted | tee "$log" | grep -E 'WRONG|^(refused|MISSED)'
    sums_of "$gaps" "$log"
}

wp() { proofs/wp/check_contracts.sh $quick; }
wp_planted() { proofs/wp/check_contracts.sh --planted; }

eva() { proofs/eva/check_behaviour.sh $quick; }
eva_planted() { proofs/eva/check_behaviour.sh --planted; }

loops() { "$python" proofs/loops/check_loops.py; }
loops_planted() { "$python" proofs/loops/check_loops.py --planted; }

law() { "$python" tests/law/check_law.py; }
law_planted() {
    cmake --preset release >/dev/null && cmake --build --preset release >/dev/null &&
        scripts/mutants.sh --killer check_law
}

# The versions of the tools.
versions() {
    local command
    for command in "coqc --version" "frama-c -version" "why3 --version" "z3 --version" "cvc4 --version" "clang --version"; do
        echo "with $command: $($command | head -n 1)"
    done
}

# ---- all of them -------------------------------------------------------------------------------------------------

versions
proved=0 failed=0
for part in "${parts[@]}"; do
    log=build/proofs/$part.log start=$SECONDS
    "$part${planted:+_planted}" 2>&1 | tee "$log" | sed '$d'
    status=${PIPESTATUS[0]}
    if tail -n 1 "$log" | grep -qxE '[0-9]+ (proved|passed), [0-9]+ failed'; then
        read -r good _ bad _ < <(tail -n 1 "$log")
    else
        tail -n 1 "$log"
        good=0 bad=1
    fi
    # A sum of nothing is no proof, and a part that ends badly has failed whatever its sum says.
    if [ "$bad" = 0 ] && { [ "$good" = 0 ] || [ "$status" != 0 ]; }; then bad=1; fi
    echo "$part: $good proved, $bad failed, $((SECONDS - start)) s"
    proved=$((proved + good)) failed=$((failed + bad))
done
echo "$proved proved, $failed failed"
[ "$failed" = 0 ]
