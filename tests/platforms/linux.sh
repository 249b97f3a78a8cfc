#!/usr/bin/env bash
# Linux: builds the library and its unit tests for aarch64 and armv7 by the toolchain files of platform/cmake, and runs
# the whole suite under user-mode QEMU. x86-64 is the reference: library, golden bytes, memory (scripts/test.sh runs the
# rest there).
#
# Under emulation the statistical tests have a tenth of their rounds (PML_TEST_QUICK), too few for one test of
# test_battery, which leaves itself out. PML_TEST_LONG=1: ten times as many rounds instead.
# 32-bit compilers have no integers of 128 bits: test_certificate, which needs them, leaves itself out on armv7.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1:-} in
'') ;;
--help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

out=build/platforms/linux
jobs=2
passed=0 failed=0

pass() { echo "ok      $*"; passed=$((passed + 1)); }
fail() { echo "FAILED  $*"; failed=$((failed + 1)); }

# check NAME COMMAND...: one check; what the command printed is shown when it failed.
check() {
    local name=$1 log=$out/check.log
    shift
    if "$@" >"$log" 2>&1; then
        pass "$name"
    else
        fail "$name"
        tail -n 40 "$log" | sed 's/^/        /'
        return 1
    fi
}

for tool in gcc aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc qemu-aarch64-static qemu-arm-static cmake ninja; do
    command -v "$tool" >/dev/null || { echo "there is no $tool: run scripts/setup.sh --platforms"; exit 1; }
done

build() { # PRESET FOLDER
    local options=()
    [ "$1" != release ] || options=(-DPRIVATEMAIL_TOOLS=OFF)
    cmake --preset "$1" -B "$2" ${options[@]+"${options[@]}"} && cmake --build "$2" -j "$jobs"
}

is_for() { # MACHINE PROGRAM
    readelf -h "$2" | grep -E "Machine: +$1\$"
}

# One line a test program, from a log of ctest -V: "NAME OUTCOME TESTS FAILURES IGNORED"; programs that are not Unity's
# count as one test.
outcomes() {
    awk '
        /^[0-9]+: [0-9]+ Tests [0-9]+ Failures [0-9]+ Ignored/ {
            n = $1 + 0; tests[n] = $2; bad[n] = $4; ignored[n] = $6
        }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
            n = $0; sub(/.*Test +#/, "", n); n += 0
            name = $0; sub(/.*Test +#[0-9]+: /, "", name); sub(/ .*/, "", name)
            if (!(n in tests)) { tests[n] = 1; bad[n] = !/ Passed /; ignored[n] = 0 }
            print name, / Passed / ? "Passed" : "Failed", tests[n], bad[n], ignored[n]
        }' "$1" | sort
}

# run_tests NAME FOLDER OPTION...: counts every test of every program that ctest runs.
run_tests() {
    local name=$1 folder=$2 program outcome tests bad ignored
    shift 2
    [ -n "${PML_TEST_LONG:-}" ] || export PML_TEST_QUICK=1
    ctest --test-dir "$folder" -V -j "$jobs" --timeout 600 "$@" >"$folder/ctest.log" 2>&1 || true
    outcomes "$folder/ctest.log" >"$folder/outcomes"
    while read -r program outcome tests bad ignored; do
        if [ "$outcome" = Passed ]; then
            echo "ok      $name: $program, $((tests - ignored)) tests, $ignored left out" | sed 's/, 0 left out$//'
        else
            echo "FAILED  $name: $program: see $folder/ctest.log"
            grep -F "/$program.c:" "$folder/ctest.log" | grep ':FAIL' | sed 's/^/        /' || true
            [ "$bad" -gt 0 ] || bad=1
        fi
        passed=$((passed + tests - bad - ignored))
        failed=$((failed + bad))
    done <"$folder/outcomes"
}

# The whole suite of the core; of the server's what stands on nothing but the C library.
all_programs_ran() { # FOLDER
    local source result=0
    for source in tests/test_*.c tests/server/test_builder*.c tests/server/test_{clusters,files,npy}.c; do
        grep "^$(basename "$source" .c) " "$1/outcomes" || { echo "$source did not run"; result=1; }
    done
    return $result
}

left_out() { # NAME FOLDER
    local source program
    for source in tests/server/test_*.c; do
        program=$(basename "$source" .c)
        grep -q "^$program " "$2/outcomes" || echo "-       $1: $program left out: its libraries are not in the toolchain"
    done
}

# Code and constants of the library's objects, in KiB.
text_of() { # SIZE-TOOL LIBRARY
    "$1" -A "$2" | awk '/^\.(text|rodata)/ { n += $2 } END { printf "%.1f KiB", n / 1024 }'
}

# The releases in the vectors' text are those of the header that test_golden compares one by one.
golden_is_compiled() {
    local header
    header=$(sed -n '/golden_releases\[\]/,/^};/p' tests/golden/vectors.h | grep -cE '^ +\{ "')
    echo "$header in vectors.h, $releases in vectors.txt"
    [ "$header" = "$releases" ]
}

golden_of() { # FOLDER
    if grep -q '^test_golden Passed' "$1/outcomes"; then echo "$releases of $releases"; else echo "0 of $releases"; fi
}

# Memory of the client that the matrix speaks of, as test_memory printed it.
memory_of() { # FOLDER
    awk '$2 == "response" && $3 == 512 && $5 == 100 && $6 == 8 { print $NF " bytes" }' "$1/ctest.log"
}

# platform NAME PRESET MACHINE PREFIX RUNS
platform() {
    local name=$1 preset=$2 machine=$3 prefix=$4 runs=$5 folder=$out/$2 memory
    if ! check "$name: library and tests build" build "$preset" "$folder"; then
        echo "| $name | no | no | - | - | - | - |" >>"$out.rows"
        return
    fi
    check "$name: they are for $machine" is_for "$machine" "$folder/tests/test_golden" || true
    if [ "$preset" = release ]; then
        run_tests "$name" "$folder" -R '^test_(golden|memory)$'
    else
        run_tests "$name" "$folder"
        check "$name: the suite is complete" all_programs_ran "$folder" || true
        left_out "$name" "$folder"
    fi
    memory=$(memory_of "$folder")
    check "$name: test_memory printed the client's memory" test -n "$memory" || true
    echo "| $name | yes | $runs | $(golden_of "$folder") | $(text_of "${prefix}size" "$folder/libprivatemail.a")" \
        "| ${memory:--} | - |" >>"$out.rows"
}

# The dispatch and all kernels that it may choose, on another CPU than the best.
kernels_on() { # CPU EXPECTED
    PML_TEST_QUICK=1 PML_EXPECTED_KERNELS=$2 qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu "$1" \
        "$out/aarch64/tests/test_kernels"
}

refuses() { ! "$@"; }

mkdir -p "$out"
: >"$out.rows"
releases=$(grep -c '^release' tests/golden/vectors.txt)
check "$releases golden releases are compiled into test_golden" golden_is_compiled || true
platform "Linux x86-64 (gcc)" release "Advanced Micro Devices X86-64" "" yes
platform "Linux aarch64" aarch64 AArch64 aarch64-linux-gnu- qemu-user
check "Linux aarch64: a Cortex-A53 gets NEON kernels" kernels_on cortex-a53 neon || true
check "Linux aarch64: a Cortex-A76 gets kernels of dot products" kernels_on cortex-a76 neon_dotprod || true
check "Linux aarch64: it is seen when a CPU gets others" refuses kernels_on cortex-a53 neon_dotprod || true
platform "Linux armv7" armv7 ARM arm-linux-gnueabihf- qemu-user

cat "$out.rows"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
