#!/usr/bin/env bash
# The library as one pair of files (scripts/amalgamate.py): its bytes depend on the sources alone, it compiles strictly
# whatever is left out, it has every public function and takes nothing from outside, programs in C and C++ use it from a
# folder that has nothing else, it gives the golden bytes, and it leaves no secret behind.
#
#   tests/install/amalgamation_test.sh [--help]        about a minute
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh
needs c++ clang gcc python3

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
pair=$out/pair
unity=${UNITY_DIR:-${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}/unity}
strict=(-std=c11 -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
        -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wpointer-arith -Werror)

# ---- the files ---------------------------------------------------------------------------------------------------

same_bytes() {
    PYTHONHASHSEED=1 scripts/amalgamate.py "$out/first" &&
        (cd / && PYTHONHASHSEED=2 LC_ALL=C "$OLDPWD/scripts/amalgamate.py" "$out/second") &&
        diff -r "$out/first" "$out/second" && [ "$(ls "$out/first")" = "privatemail.c
privatemail.h" ]
}

# Every source of the lists, and nothing of this machine.
all_sources() {
    local source
    for source in $(sed -n '/^set(/,/^)/p' core/sources.cmake | grep -oE '^ +[a-z0-9_/]+\.c'); do
        grep -qxF "/* ==== core/$source ==== */" "$pair/privatemail.c" || { echo "core/$source is missing"; return 1; }
    done
    ! grep -n "$PWD" "$pair"/* && ! grep -n '^#include "' "$pair"/* | grep -v '#include "privatemail.h"'
}

# An unknown list of sources must stop the script, or the pair would lack it.
unknown_list_stops() {
    mkdir -p "$out/copy"
    cp -r core platform scripts CMakeLists.txt "$out/copy"
    printf 'set(PML_CORE_NEW_SOURCES\n    base/new.c\n)\n' >>"$out/copy/core/sources.cmake"
    ! "$out/copy/scripts/amalgamate.py" "$out/new" 2>"$out/new.log" && grep PML_CORE_NEW_SOURCES "$out/new.log"
}

# ---- compiling ---------------------------------------------------------------------------------------------------

compiles() { # COMPILER OPTION...
    "$@" "${strict[@]}" -c "$pair/privatemail.c" -o "$out/object.o"
}

has_all_functions() {
    gcc -O2 -c "$pair/privatemail.c" -o "$out/object.o" && diff <(nm "$out/object.o" | awk '$2 == "T" { print $3 }' |
        grep -xFf <(declared) | sort) <(declared)
}

takes_only_memory_functions() {
    local foreign
    gcc -O2 -ffreestanding -fno-pic -fno-stack-protector -DPML_WITH_ENTROPY=0 -c "$pair/privatemail.c" -o "$out/object.o" &&
        foreign=$(nm -u "$out/object.o" | awk '{ print $2 }' | grep -vxE 'mem(cpy|move|set|cmp)' || true) &&
        echo "$foreign" && [ -z "$foreign" ] &&
        [ "$(size -A "$out/object.o" | awk '/^\.(data|bss)/ { n += $2 } END { print n + 0 }')" = 0 ]
}

# Ten lines, in a folder that has nothing but them and the pair.
program_runs() {
    mkdir "$out/empty"
    cp "$pair"/* "$out/empty"
    cp tests/install/ten_lines.c "$out/empty/program.c"
    (cd "$out/empty" && env -i PATH=/usr/bin:/bin cc -I. -O2 -ffp-contract=off program.c privatemail.c -o program &&
        env -i ./program)
}

program_in_cpp() {
    cp tests/install/ten_lines.c "$out/program.cpp"
    gcc -O2 -ffp-contract=off -c "$pair/privatemail.c" -o "$out/object.o" &&
        c++ -std=c++11 -Wall -Wextra -Wpedantic -Wold-style-cast -Werror -I"$pair" "$out/program.cpp" "$out/object.o" \
            -o "$out/cpp" && "$out/cpp"
}

# ---- what it computes --------------------------------------------------------------------------------------------

# unit_test NAME COMPILER OPTION...: a test of the core, over the pair instead of the library.
unit_test() {
    local name=$1
    shift
    "$@" -std=c11 -ffp-contract=off -DPML_AMALGAMATION -DUNITY_INCLUDE_DOUBLE -DUNITY_SUPPORT_64 \
        -DPML_TESTS_DIR="\"$PWD/tests\"" -I"$pair" -Icore -Icore/include -Iplatform -Itests -isystem "$unity" \
        "$pair/privatemail.c" "tests/core/$name.c" tests/support/support.c "$unity/unity.c" -lm -o "$out/$name" &&
        PML_TEST_QUICK=1 "$out/$name" | tee "$out/$name.log" && grep -qE '^[1-9][0-9]* Tests 0 Failures' "$out/$name.log"
}

# In one file compilers inline more: no frame may get deeper than what is wiped (tests/check_wipe.sh).
wipes_deep_enough() { # COMPILER OPTION...
    (cd "$out" && "$@" -std=c11 -ffreestanding -ffp-contract=off -fcallgraph-info=su -c "$pair/privatemail.c" -o depth.o) &&
        python3 tests/check_depth.py "$out/depth.ci"
}

# ---- all of it ---------------------------------------------------------------------------------------------------

check "two runs write the same bytes, and two files" same_bytes
must "the pair is written" scripts/amalgamate.py "$pair"
check "it has every source of core/sources.cmake" all_sources
check "a list of sources that the script does not know stops it" unknown_list_stops
for compiler in gcc clang; do
    for level in -O0 -Os; do
        check "$compiler $level compiles it strictly" compiles $compiler $level
    done
    check "$compiler: response only" compiles $compiler -O2 -DPML_WITH_GAUSSIAN=0 -DPML_WITH_CROWD=0 -DPML_WITH_FRONT=0
    check "$compiler: Gaussian only" compiles $compiler -O2 -DPML_WITH_RESPONSE=0
    check "$compiler: without heads" compiles $compiler -O2 -DPML_WITH_HEAD=0
    check "$compiler: without public functions and entropy" compiles $compiler -O2 -DPML_WITH_PUBLIC=0 -DPML_WITH_ENTROPY=0
    check "$compiler: golden bytes" unit_test test_golden $compiler -O2
    check "$compiler: no secret stays in memory or on the stack" unit_test test_residue $compiler -Os
done
check "it defines every public function" has_all_functions
check "it takes four memory functions from outside, and has no writable data" takes_only_memory_functions
check "a program of ten lines runs from an empty folder" program_runs
check "and in C++" program_in_cpp
for level in -Os -O2; do
    check "gcc $level: nothing goes deeper than what is wiped" wipes_deep_enough gcc $level
    if command -v arm-none-eabi-gcc >/dev/null; then
        for cpu in "cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" cortex-m0; do
            check "Cortex-${cpu:7:2} $level: the same" wipes_deep_enough arm-none-eabi-gcc $level -mthumb -mcpu=$cpu
        done
    fi
done
sum_up
