#!/usr/bin/env bash
# No branch and no address depends on a secret: valgrind's memcheck with the secrets marked undefined, on the optimised
# code of each build given; and a planted leak must be found.
#
#   tests/check_secrets.sh build/release build/clang
set -uo pipefail
passed=0 failed=0

# check WANTED PROGRAM MODE: WANTED is what valgrind must answer, 0 or 9.
check() {
    valgrind -q --error-exitcode=9 --track-origins=no "$2" "$3" >/dev/null 2>/tmp/secrets.$$
    local code=$?
    if [ "$code" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$2 $3: valgrind answered $code, not $1"
        cat /tmp/secrets.$$
    fi
    rm -f /tmp/secrets.$$
}

for build in "$@"; do
    for mode in kernels response answer gaussian; do
        check 0 "$build/secrets" "$mode"
    done
    check 9 "$build/secrets" leak
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
