#!/usr/bin/env bash
# No branch and no address depends on a secret, whatever compiler and optimisation: builds tests/programs/secrets.c and
# transport_secrets.c with the library for each and runs them under valgrind's memcheck with the secrets marked undefined.
# Then with a planted leak, which must be found.
#
#   tests/check_secrets.sh          gcc and the system's clang, each with -O2 and -Os
#   tests/check_secrets.sh --all    -O1 to -O3 and -Os, also the Swift toolchain's clang, and all three tuned for AMD's CPUs
#                                   (znver3), where clang prefers branches to conditional moves
#
# Valgrind runs the code of this machine alone, and no AVX-512; tests/check_branches.py reads what it does not run.
set -uo pipefail
cd "$(dirname "$0")/.."

clang=clang
[ -x /usr/bin/clang ] && clang=/usr/bin/clang # as in CMakePresets.json
compilers=(gcc "$clang")
tunings=('')
levels=(-O2 -Os)
skipped=0
skip() { echo "skipped $*"; skipped=$((skipped + 1)); }

case ${1:-} in
'') ;;
--all)
    levels=(-O1 -O2 -O3 -Os)
    swift=$(command -v swiftc) && swift=$(dirname "$(readlink -f "$swift")")/clang
    if [ -x "$swift" ]; then compilers+=("$swift"); else skip "the Swift toolchain's clang: there is none beside swiftc"; fi
    if [ "$(uname -m)" = x86_64 ]; then tunings+=(-mtune=znver3); else skip "-mtune=znver3: this is no x86-64"; fi
    ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
export out

source tests/library_sources.sh

# run COMPILER OPTIONS: for core and transport one line as they are, one with the leak, and what was printed when one
# failed.
run() {
    local program name="$1 $2" status
    program=$(mktemp "$out/secrets.XXXXXX")
    if compile "$@" tests/programs/secrets.c $(sources); then
        expect 0 "$name" kernels response crowd answer gaussian
        expect 9 "$name, the planted leak is found" leak
        expect 0 "$name, fronts" front
        expect 9 "$name, the leak planted behind a front is found" front-leak
        expect 0 "$name, heads and looks" head
        expect 9 "$name, the leak planted behind a head is found" head-leak
    fi
    name="$1 $2, transport"
    if compile "$@" tests/programs/transport_secrets.c -I. -Itransport/include -isystem "$bearssl/inc" \
        -I"$bearssl/src" $(transport_sources); then
        expect 0 "$name"
        expect 9 "$name, the planted leak is found" leak
    fi
    rm -f "$program"
}

# compile COMPILER OPTIONS SOURCE-OR-OPTION...: to $program. DWARF 4: valgrind 3.19 cannot read clang's 5.
compile() {
    local compiler=$1 options=$2
    shift 2
    # shellcheck disable=SC2086
    "$compiler" $options -g1 -gdwarf-4 -std=c11 -ffreestanding -ffp-contract=off -fPIC -fvisibility=hidden -Icore \
        -Icore/include -Iplatform -Itests "$@" -o "$program" >"$program.log" 2>&1 && return
    echo "FAILED $name does not compile"
    sed 's/^/    /' "$program.log"
    return 1
}

# expect STATUS NAME MODE...: with errors valgrind returns 9.
expect() {
    local wanted=$1 name=$2
    shift 2
    valgrind -q --error-exitcode=9 "$program" "$@" >"$program.log" 2>&1
    status=$?
    if [ "$status" = "$wanted" ]; then
        echo "ok $name"
    else
        echo "FAILED $name: valgrind returned $status, not $wanted"
        sed 's/^/    /' "$program.log"
    fi
}
export -f run compile expect

for compiler in "${compilers[@]}"; do
    for tuning in "${tunings[@]}"; do
        for level in "${levels[@]}"; do
            printf '%s\0' run "$compiler" "$level${tuning:+ $tuning}"
        done
    done
done | xargs -0 -n 3 -P "$(nproc)" bash -c '"$@"' check >"$out/log"
cat "$out/log"
passed=$(grep -c '^ok' "$out/log")
failed=$(grep -c '^FAILED' "$out/log")
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ "$failed" = 0 ] && [ "$passed" -ge 24 ]
