#!/usr/bin/env bash
# Android: the Java classes in a virtual machine of this computer, the AAR and its libraries, the example, the layer for
# Kotlin and programs of ten lines. Builds in build/platforms/android; rows of the matrix go to
# build/platforms/android.rows. No phone takes part.
#
#   tests/platforms/android.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh

out=build/platforms/android
rows=build/platforms/android.rows

row() { # NAME LIBRARY RUNS GOLDEN TEXT
    local builds=no runs=no
    [ ! -s "$2" ] || builds=yes
    [ -z "$4" ] || runs=$3
    echo "| $1 | $builds | $runs | ${4:--} | ${5:--} | - | - |" >>"$rows"
}

abi_row() { # ABI RUNS
    row "Android $1" "$out/aar/$1/libprivatemail.so" "$2" "$(golden_of "$1")" "$(text_of "$1")"
}

# Code and constants of the AAR's library, in KiB.
text_of() { # ABI
    awk -v abi="$1" '$1 == abi { printf "%.1f KiB", $2 / 1024 }' "$out/aar/sizes" 2>/dev/null || true
}

golden_of() { # ABI
    sed -n 's/^releases //p' "$out/aar/$1/golden.log" 2>/dev/null || true
}

mkdir -p "$out"
: >"$rows"
counted jvm tests/android/jvm/jvm.sh
counted aar tests/android/aar/aar.sh
counted kotlin tests/android/kotlin/kotlin.sh

row "Android JVM (JNI under -Xcheck:jni)" "$out/jvm/shipped/libprivatemail.so" yes \
    "$(cat "$out/jvm/golden.txt" 2>/dev/null || true)" ""
abi_row arm64-v8a "library, qemu-user; no phone"
abi_row armeabi-v7a "library, qemu-user; no phone"
abi_row x86_64 "library, also in a JVM; no phone"
abi_row x86 "library, qemu-user; no phone"

cat "$rows"
sum_up
