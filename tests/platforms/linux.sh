#!/usr/bin/env bash
# Linux: builds the library and its unit tests for aarch64 and armv7 by the toolchain files of platform/cmake, and runs
# the suite under user-mode QEMU: the whole one on aarch64, that of the device on armv7, where no operator works
# (PML_TEST_LONG=1: the whole one there too). x86-64 is the reference, in the build that scripts/test.sh makes: golden
# bytes, memory (the rest runs there). The oldest CMake that the library needs builds it there, and it finds a JDK.
#
# Under emulation the statistical tests have a tenth of their rounds (PML_TEST_QUICK), too few for one test of
# test_battery, which leaves itself out. PML_TEST_LONG=1: ten times as many rounds instead.
# 32-bit compilers have no integers of 128 bits: test_certificate, which needs them, leaves itself out on armv7.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh
source tests/platforms/suite.sh

out=build/platforms/linux

needs gcc aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc qemu-aarch64-static qemu-arm-static cmake ninja

has_tools() { [ "$1" = aarch64 ] || { [ "$1" = armv7 ] && [ -n "${PML_TEST_LONG:-}" ]; }; } # PRESET

build() { # PRESET FOLDER
    if [ "$1" = release ]; then
        cmake --preset release && cmake --build --preset release
    else
        cmake --preset "$1" -B "$2" -DPRIVATEMAIL_TOOLS="$(has_tools "$1" && echo ON || echo OFF)" &&
            cmake --build "$2" -j "$jobs"
    fi
}

is_for() { # MACHINE PROGRAM
    readelf -h "$2" | grep -E "Machine: +$1\$"
}

# The whole suite of the core; of the server's what stands on nothing but the C library.
all_programs_ran() { # PRESET FOLDER
    local source result=0 sources=(tests/core/test_*.c tests/privacy/test_*.c)
    ! has_tools "$1" || sources+=(tests/tools/test_{builder*,clusters}.c tests/common/test_{files,npy}.c)
    for source in "${sources[@]}"; do
        grep "^$(basename "$source" .c) " "$2/outcomes" || { echo "$source did not run"; result=1; }
    done
    return $result
}

left_out() { # NAME PRESET FOLDER
    local source program reason='its libraries are not in the toolchain'
    has_tools "$2" || reason='for operators (PML_TEST_LONG=1)'
    for source in tests/{common,tools,lab,server}/test_*.c; do
        program=$(basename "$source" .c)
        grep -q "^$program " "$3/outcomes" || echo "-       $1: $program left out: $reason"
    done
}

# Code and constants of the library's objects, in KiB.
text_of() { # SIZE-TOOL LIBRARY
    "$1" -A "$2" | awk '/^\.(text|rodata)/ { n += $2 } END { printf "%.1f KiB", n / 1024 }'
}

# platform NAME PRESET MACHINE PREFIX RUNS
platform() {
    local name=$1 preset=$2 machine=$3 prefix=$4 runs=$5 folder=$out/$2 memory
    [ "$preset" != release ] || folder=build/release # scripts/test.sh has made it
    if ! must "$name: library and tests build" build "$preset" "$folder"; then
        echo "| $name | no | no | - | - | - | - |" >>"$out.rows"
        return
    fi
    check "$name: they are for $machine" is_for "$machine" "$folder/tests/test_golden"
    if [ "$preset" = release ]; then
        run_tests "$name" "$folder" -R '^test_(golden|memory)$'
    else
        run_tests "$name" "$folder"
        check "$name: the suite is complete" all_programs_ran "$preset" "$folder"
        left_out "$name" "$preset" "$folder"
    fi
    memory=$(memory_of "$folder")
    check "$name: test_memory printed the client's memory" test -n "$memory"
    echo "| $name | yes | $runs | $(golden_of "$folder") | $(text_of "${prefix}size" "$folder/libprivatemail.a")" \
        "| ${memory:--} | - |" >>"$out.rows"
}

# The dispatch and all kernels that it may choose, on another CPU than the best.
kernels_on() { # CPU EXPECTED
    PML_TEST_QUICK=1 PML_EXPECTED_KERNELS=$2 qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu "$1" \
        "$out/aarch64/tests/test_kernels"
}

refuses() { ! "$@"; }

# The shared library with the Java classes' entry points, for a desktop's Java.
jni_is_found() {
    rm -rf "$out/jni"
    cmake -B "$out/jni" -DPRIVATEMAIL_JNI=ON -DPRIVATEMAIL_TESTS=OFF -DPRIVATEMAIL_TOOLS=OFF &&
        cmake --build "$out/jni" -j "$jobs" && nm -D --defined-only "$out/jni/libprivatemail.so" | grep JNI_OnLoad
}

mkdir -p "$out"
: >"$out.rows"
check "$releases golden releases are compiled into test_golden" golden_is_compiled
platform "Linux x86-64 (gcc)" release "Advanced Micro Devices X86-64" "" yes
check "Linux x86-64: the oldest CMake builds the library alone and inside another project" \
    tests/install/library_test.sh build/cmake-3.21/cmake/data/bin/cmake
check "Linux x86-64: PRIVATEMAIL_JNI finds jni.h" jni_is_found
platform "Linux aarch64" aarch64 AArch64 aarch64-linux-gnu- qemu-user
check "Linux aarch64: a Cortex-A53 gets NEON kernels" kernels_on cortex-a53 neon || true
check "Linux aarch64: a Cortex-A76 gets kernels of dot products" kernels_on cortex-a76 neon_dotprod || true
check "Linux aarch64: it is seen when a CPU gets others" refuses kernels_on cortex-a53 neon_dotprod || true
platform "Linux armv7" armv7 ARM arm-linux-gnueabihf- qemu-user

cat "$out.rows"
sum_up
