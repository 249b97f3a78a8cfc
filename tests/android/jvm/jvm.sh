#!/usr/bin/env bash
# The Android API in a real Java virtual machine: the same Java, the same shim, the same core, under -Xcheck:jni.
# Compiles the shim by gcc and clang, with the jni.h of the JDK and of Android, and looks at what the library exports.
#
#   tests/android/jvm/jvm.sh      builds in build/platforms/android/jvm; the last line is 'N passed, N failed'
#
#   JAVA_HOME                     the JDK to use instead of the javac in the path
#
# golden.txt in that folder says how many golden releases were equal, such as '73 of 73'.
set -euo pipefail

cd "$(dirname "$0")/../../.."
source tests/platforms/frame.sh

die() { echo "jvm: $*" >&2; exit 1; }

out=build/platforms/android/jvm
shim=android/privatemail/src/main/c
android_jni=/usr/include/android/nativehelper
clang=/usr/bin/clang # not the first in the path: a Swift toolchain brings one of its own

if [ -n "${JAVA_HOME:-}" ]; then
    java=$JAVA_HOME
else
    javac=$(command -v javac) || die "there is no javac: run scripts/setup.sh --platforms, or set JAVA_HOME"
    java=$(dirname "$(dirname "$(readlink -f "$javac")")")
fi
[ -f "$java/include/jni.h" ] || die "$java has no include/jni.h: install a whole JDK, or set JAVA_HOME to one"
[ -f "$android_jni/jni.h" ] || die "there is no $android_jni/jni.h: run scripts/setup.sh --platforms"
[ -x "$clang" ] || die "there is no $clang: run scripts/setup.sh --platforms"

# ---- native ----------------------------------------------------------------------------------------------------

flags=(-std=c11 -O2 -fPIC -fvisibility=hidden -ffp-contract=off -I. -Icore -Icore/include -Iplatform -Itransport/include
       -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
       -Wvla -Wundef -Wcast-qual -Wpointer-arith -Werror)
jdk_jni=(-isystem "$java/include" -isystem "$java/include/linux")

# Every file, also when one fails, so that all complaints are seen at once.
compile_shim() { # COMPILER FLAG...
    local compiler=$1 source result=0
    shift
    for source in "$shim"/*.c; do
        "$compiler" "${flags[@]}" "$@" -fsyntax-only "$source" || result=1
    done
    return $result
}

# What a client needs of transport/, in an archive: the library does not export what comes out of one.
build_transport() {
    local source
    mkdir -p "$out/transport"
    for source in $(sed -n '/set(PML_TRANSPORT_CLIENT_SOURCES/,/)/s/ *\(.*\.c\)$/\1/p' transport/transport_sources.cmake) \
        bearssl/crypto_bearssl.c; do
        gcc "${flags[@]}" -ffreestanding -c "transport/$source" -o "$out/transport/$(basename "$source" .c).o" || return 1
    done
    ar rcs "$out/libtransport.a" "$out"/transport/*.o
}

# The library as it is shipped, and one whose entropy the tests write and whose flushes of folders they see.
build_libraries() {
    local source others=() transport=("$out/libtransport.a" -lbearssl -Wl,--exclude-libs,ALL)
    for source in platform/*.c; do
        [ "$source" = platform/entropy.c ] || others+=("$source")
    done
    mkdir -p "$out/shipped" "$out/scripted"
    build_transport &&
        gcc "${flags[@]}" -ffreestanding -nostdlib -r -o "$out/core.o" core/*.c core/*/*.c &&
        gcc "${flags[@]}" "${jdk_jni[@]}" -shared -Wl,--no-undefined -o "$out/shipped/libprivatemail.so" \
            "$out/core.o" platform/*.c "$shim"/*.c "${transport[@]}" &&
        gcc "${flags[@]}" "${jdk_jni[@]}" -shared -Wl,--no-undefined -Wl,--wrap=fsync \
            -o "$out/scripted/libprivatemail.so" "$out/core.o" "${others[@]}" "$shim"/*.c \
            tests/android/jvm/scripted_{entropy,folder}.c "${transport[@]}"
}

# Exactly JNI_OnLoad and what the headers declare.
exports_are_the_api() {
    diff <(nm -D --defined-only "$out/shipped/libprivatemail.so" | awk '{ print $NF }' | sort) \
        <({ echo JNI_OnLoad
            sed -nE 's/^PML_API .*[ *](pml_[a-z0-9_]+)\(.*/\1/p' core/include/*.h platform/*.h; } | sort)
}

# ---- Java ------------------------------------------------------------------------------------------------------

build_java() {
    rm -rf "$out/classes" "$out/stubs"
    mkdir -p "$out/classes" "$out/stubs"
    find tests/android/stubs -name '*.java' -print0 |
        xargs -0 "$java/bin/javac" --release 8 -Xlint:-options -d "$out/stubs" &&
        find android/privatemail/src/main/java -name '*.java' -print0 |
        xargs -0 "$java/bin/javac" --release 8 -Xlint:all,-options -Xdoclint:all,-missing -Werror -cp "$out/stubs" \
            -d "$out/classes"
}

build_tests() {
    "$java/bin/javac" -Xlint:all -Werror -cp "$out/stubs:$out/classes" -d "$out/tests" tests/android/jvm/*.java
}

# A group of tests in a machine of its own. A machine that warns of the shim fails, whatever the tests say.
run() { # LIBRARY GROUP OPTION...
    local library=$1 group=$2
    shift 2
    counted "$group" "$java/bin/java" -Xcheck:jni -ea "$@" -Djava.library.path="$out/$library" \
        -Dprivatemail.vectors="$PWD/tests/golden/vectors.txt" \
        -Dprivatemail.golden="$out/golden.txt" -Dprivatemail.folder="$PWD/$out/folder" \
        -cp "$out/tests:$out/classes:$out/stubs" org.privatemail.JvmTests "$group"
    check "$group: -Xcheck:jni says nothing" silent "$out/$group.log"
}

silent() { ! grep -E 'WARNING|FATAL ERROR|in native method' "$1"; }

# ---- all of it -------------------------------------------------------------------------------------------------

rm -rf "$out"
mkdir -p "$out/folder" "$out/tests"
check "the shim compiles by gcc with the JDK's jni.h" compile_shim gcc "${jdk_jni[@]}"
check "the shim compiles by gcc with Android's jni.h" compile_shim gcc -isystem "$android_jni"
check "the shim compiles by clang with the JDK's jni.h" compile_shim "$clang" "${jdk_jni[@]}"
check "the shim compiles by clang with Android's jni.h" compile_shim "$clang" -isystem "$android_jni"
build_libraries || die "the library does not build"
check "the library exports JNI_OnLoad and the public C API, nothing else" exports_are_the_api
build_java || die "the API does not compile"
build_tests || die "the tests do not compile"
run scripted calls
run scripted threads
run scripted files
run scripted relay
run scripted memory -Xmx48m -Xms48m -XX:+UseSerialGC -XX:+AlwaysPreTouch
run shipped shipped
sum_up
