#!/usr/bin/env bash
# No secret is left in memory or on the stack, whatever compiler and optimisation: builds the core with test_residue for
# each and runs it. And nothing below the public functions goes deeper than what pml_wipe_stack wipes: by gcc's call
# graphs, here and on a Cortex-M4 and a Cortex-M0 if that compiler is installed.
#
#   tests/check_wipe.sh          -Os
#   tests/check_wipe.sh --all    -O0 to -O3, -Os and -flto
set -uo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
'') levels=(-Os) whole_program= least=3 ;;
--all) levels=(-O0 -O1 -O2 -O3 -Os) whole_program="-O2 -flto" least=16 ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

cache=${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}
export unity=${UNITY_DIR:-$cache/unity} out=build/wipe
rm -rf "$out"
mkdir -p "$out"

source tests/library_sources.sh

# run COMPILER OPTIONS: one line, and the output when it failed.
run() {
    local name=${1##*/}${2// /} program
    program=$out/test_residue$name
    # shellcheck disable=SC2086
    if $1 $2 -std=c11 -ffp-contract=off -DUNITY_INCLUDE_DOUBLE -DUNITY_SUPPORT_64 -Icore -Icore/include -Iplatform -Itests \
        -isystem "$unity" $(sources) tests/core/test_residue.c tests/support/support.c "$unity/unity.c" -o "$program" -lm \
        >"$program.log" 2>&1 && "$program" >>"$program.log" 2>&1; then
        echo "ok $1 $2"
    else
        echo "FAILED $1 $2"
        sed 's/^/    /' "$program.log"
    fi
}

# depth COMPILER LEVEL: of each function that wipes the stack, the deepest call must be that wipe.
depth() {
    local folder source
    folder=$(mktemp -d "$out/depth.XXXXXX")
    for source in $(sources); do
        $1 "$2" -std=c11 -ffreestanding -ffp-contract=off -Icore -Icore/include -Iplatform -fcallgraph-info=su -c "$source" \
            -o "$folder/$(basename "$source" .c).o"
    done
    python3 tests/check_depth.py "$folder"/*.ci && echo "ok depth of $1 $2" || echo "FAILED depth of $1 $2"
}
export -f run depth

clang=clang
[ -x /usr/bin/clang ] && clang=/usr/bin/clang # as in CMakePresets.json
{
    for level in "${levels[@]}"; do
        printf '%s\0' run gcc $level run $clang $level depth gcc $level
        if command -v arm-none-eabi-gcc >/dev/null; then
            printf '%s\0' depth "arm-none-eabi-gcc -mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" $level
            printf '%s\0' depth "arm-none-eabi-gcc -mthumb -mcpu=cortex-m0" $level
        fi
    done
    [ -z "$whole_program" ] || printf '%s\0' run gcc "$whole_program"
} | xargs -0 -n 3 -P "$(nproc)" bash -c '"$@"' check >"$out/log"
cat "$out/log"
passed=$(grep -c '^ok' "$out/log")
failed=$(grep -c '^FAILED' "$out/log")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -ge $least ]
