#!/usr/bin/env bash
# Builds the Android library, an AAR for arm64-v8a, armeabi-v7a, x86_64 and x86, from API 24 on. Needs neither Gradle nor
# the SDK, and no NDK either: clang, lld, a JDK and Python are enough. Two builds of one source give the same bytes.
#
#   scripts/build-aar.sh [--out FILE] [--ndk PATH] [--abi ABI]...
#
#   --out FILE     where the AAR goes (build/aar/privatemail.aar); what it is made of stays in FILE.parts. Beside it come
#                  privatemail.pom, privatemail-sources.jar and, when there is a javadoc, privatemail-javadoc.jar; and
#                  when there is a Kotlin compiler, the layer for Kotlin: privatemail-kotlin.jar, its sources and POM
#   --abi ABI      only this one; may be given several times
#   --ndk PATH     compile the native part by this NDK (r27 or later) and CMake instead of the system's clang
#   --help         this text
#
#   BEARSSL_DIR          folder of BearSSL's sources, unless scripts/setup.sh fetched them
#   PRIVATEMAIL_KOTLIN   folder of the jars of a Kotlin compiler and of kotlinx.coroutines, unless scripts/setup.sh
#                        --platforms put them into build/venv
set -euo pipefail

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
die() { echo "build-aar: $*" >&2; exit 1; }

out='' ndk='' abis=()
while [ $# -gt 0 ]; do
    case $1 in
    --out | --ndk | --abi)
        [ -n "${2:-}" ] || die "$1 wants a value; see --help"
        case $1 in
        --out) out=$(realpath -m "$2") ;;
        --ndk) ndk=$(realpath -m "$2") ;;
        --abi)
            case $2 in
            arm64-v8a | armeabi-v7a | x86_64 | x86) abis+=("$2") ;;
            *) die "there is no ABI $2: take arm64-v8a, armeabi-v7a, x86_64 or x86" ;;
            esac
            ;;
        esac
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done

cd "$(dirname "$0")/.."
out=${out:-$PWD/build/aar/privatemail.aar}
parts=$out.parts
api=24
[ ${#abis[@]} -gt 0 ] || abis=(arm64-v8a armeabi-v7a x86_64 x86)
clang=/usr/bin/clang # not the first in the path: a Swift toolchain brings one of its own
module=android/privatemail
kotlin=${PRIVATEMAIL_KOTLIN:-$(echo build/venv/lib/python3*/site-packages/run_kotlin_kernel/jars)}
bearssl=${BEARSSL_DIR:-${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}/bearssl}

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || die "there is no $1: run scripts/setup.sh --platforms, or install $2"
}

# ---- native code by clang and lld ------------------------------------------------------------------------------

# What every phone of an ABI runs. -meabi gnu: memcpy and not __aeabi_memcpy.
target_flags() {
    case $1 in
    arm64-v8a) echo "--target=aarch64-linux-android$api" ;;
    armeabi-v7a) echo "--target=armv7a-linux-androideabi$api -mthumb -mfpu=vfpv3-d16 -mfloat-abi=softfp -meabi gnu" ;;
    x86_64) echo "--target=x86_64-linux-android$api" ;;
    x86) echo "--target=i686-linux-android$api -mstackrealign" ;;
    esac
}

# Headers of our own, so that none of this machine's libc comes in: Android's jni.h, and one file under several names.
make_headers() {
    local jni=/usr/include/android/nativehelper/jni.h name
    [ -f "$jni" ] || die "there is no $jni: run scripts/setup.sh --platforms, or install android-libnativehelper-dev"
    mkdir -p "$parts/include/sys"
    cp "$jni" android/aar/bionic_declarations.h "$parts/include"
    for name in $(sed -nE 's/^\/\* -+ (.*\.h) -+ \*\/$/\1/p' android/aar/bionic_declarations.h); do
        echo '#include <bionic_declarations.h>' >"$parts/include/$name"
    done
}

compile() { # ABI OBJECT SOURCE FLAG...
    local abi=$1 object=$2 source=$3
    shift 3
    "$clang" $(target_flags "$abi") -std=c11 -O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections \
        -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror \
        -nostdlibinc -isystem "$parts/include" -I. -Icore -Icore/include -Iplatform -Itransport/include "$@" \
        -c "$source" -o "$object"
}

# The files of a list in transport/transport_sources.cmake.
transport_list() { sed -n "/^set($1\$/,/^)/s/^ *\(.*\.c\)\$/\1/p" transport/transport_sources.cmake; }

# What a client needs of transport/ and of BearSSL, in an archive: the library exports nothing of it. Of BearSSL's
# sources warnings are none of ours.
build_transport() { # ABI FOLDER
    local abi=$1 folder=$2/transport source
    mkdir -p "$folder"
    for source in $(transport_list PML_TRANSPORT_CLIENT_SOURCES) $(transport_list PML_TRANSPORT_BEARSSL_SOURCES); do
        compile "$abi" "$folder/$(basename "$source" .c).o" "transport/$source" -ffreestanding -isystem "$bearssl/inc"
    done
    for source in $(transport_list PML_BEARSSL_SOURCES); do
        compile "$abi" "$folder/bearssl_$(basename "$source" .c).o" "$bearssl/$source" -w -I"$bearssl/inc" \
            -I"$bearssl/src" -ffile-prefix-map="$bearssl=bearssl"
    done
    llvm-ar rcsD "$2/libtransport.a" "$folder"/*.o
}

# An empty libc.so with the names and versions of the real one: the linker asks for no more.
make_libc() { # ABI FOLDER
    local folder=$2
    awk '!/^#/ && NF == 2 { print "void " $2 "(void); void " $2 "(void) {}" }' android/aar/libc.symbols >"$folder/libc.c"
    awk '!/^#/ && NF == 2 { names[$1] = names[$1] " " $2 ";" }
         END { for (version in names) print version " { global:" names[version] " };" }' \
        android/aar/libc.symbols | sort >"$folder/libc.map"
    "$clang" $(target_flags "$1") -fPIC -fno-builtin -Wno-incompatible-library-redeclaration -c "$folder/libc.c" \
        -o "$folder/libc.o"
    ld.lld -shared -soname libc.so --version-script "$folder/libc.map" -o "$folder/libc.so" "$folder/libc.o"
}

build_by_clang() { # ABI
    local abi=$1 folder=$parts/$1 source objects=()
    mkdir -p "$folder/objects"
    for source in core/*.c core/*/*.c; do
        compile "$abi" "$folder/objects/$(basename "$source" .c).o" "$source" -ffreestanding
    done
    compile "$abi" "$folder/objects/entropy.o" platform/entropy.c
    # Freestanding: the compiler's headers of vector instructions want a whole libc otherwise.
    for source in platform/kernels_*.c; do
        compile "$abi" "$folder/objects/$(basename "$source" .c).o" "$source" -ffreestanding
    done
    # The static library is for users of an NDK, who have the helpers from there.
    llvm-ar rcsD "$folder/libprivatemail.a" "$folder"/objects/*.o
    objects=("$folder"/objects/*.o)
    for source in "$module"/src/main/c/*.c android/aar/integer_helpers.c; do
        compile "$abi" "$folder/$(basename "$source" .c).o" "$source"
        objects+=("$folder/$(basename "$source" .c).o")
    done
    build_transport "$abi" "$folder"
    make_libc "$abi" "$folder"
    ld.lld -shared -soname libprivatemail.so -o "$folder/libprivatemail.so" --no-undefined -Bsymbolic --gc-sections \
        --strip-all --hash-style=gnu --build-id=sha1 --enable-new-dtags -z max-page-size=16384 -z relro -z now \
        -z noexecstack -z text "${objects[@]}" "$folder/libtransport.a" --exclude-libs ALL "$folder/libc.so"
}

# ---- native code by an NDK -------------------------------------------------------------------------------------

build_by_ndk() { # ABI
    local folder=$parts/$1
    cmake -S . -B "$folder/cmake" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$ndk/build/cmake/android.toolchain.cmake" \
        -DCMAKE_BUILD_TYPE=Release -DANDROID_ABI="$1" -DANDROID_PLATFORM="android-$api" -DANDROID_STL=none \
        -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON -DPRIVATEMAIL_TESTS=OFF -DPRIVATEMAIL_TOOLS=OFF \
        -DPRIVATEMAIL_WERROR=OFF >/dev/null
    cmake --build "$folder/cmake" -j 2 --target privatemail privatemail_shared >/dev/null
    cp "$folder/cmake/libprivatemail.a" "$folder"
    "$ndk"/toolchains/llvm/prebuilt/*/bin/llvm-strip --strip-unneeded -o "$folder/libprivatemail.so" \
        "$folder/cmake/libprivatemail.so"
}

# ---- Java ------------------------------------------------------------------------------------------------------

# Against stubs of the few Android classes it names; a phone has the real ones. -g and -parameters: an IDE shows the
# names of parameters. -notimestamp: the same documentation from every build.
build_java() {
    mkdir -p "$parts/stubs" "$parts/classes" "$parts/javadoc"
    find tests/android/stubs -name '*.java' -print0 | sort -z |
        xargs -0 javac --release 8 -Xlint:-options -d "$parts/stubs"
    find "$module/src/main/java" -name '*.java' -print0 | sort -z |
        xargs -0 javac --release 8 -g -parameters -Xlint:all,-options -Werror -cp "$parts/stubs" -d "$parts/classes"
    if command -v javadoc >/dev/null; then
        find "$module/src/main/java" -name '*.java' -print0 | sort -z |
            xargs -0 javadoc -quiet --release 8 -notimestamp -Xdoclint:all,-missing -Werror -cp "$parts/stubs" \
                -d "$parts/javadoc"
    else
        echo "build-aar: there is no javadoc, so there is no jar of the documentation" >&2
    fi
}

# ---- Kotlin ----------------------------------------------------------------------------------------------------

# Its own jar: an app in Java needs neither it nor the libraries of Kotlin. Language 2.2: any later compiler reads it.
build_kotlin() {
    local jars=("${kotlin:-none}"/*.jar) path
    if [ ! -f "${jars[0]}" ]; then
        echo "build-aar: there is no Kotlin compiler, so there is no privatemail-kotlin.jar" >&2
        return
    fi
    path=$(IFS=:; echo "${jars[*]}")
    java -cp "$path" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -jvm-target 1.8 \
        -language-version 2.2 -api-version 2.2 -module-name privatemail-kotlin -Xexplicit-api=strict -java-parameters \
        -Werror -cp "$parts/classes:$path" -d "$parts/kotlin" android/kotlin/src/main/kotlin
}

# ---- all of it -------------------------------------------------------------------------------------------------

need javac openjdk-17-jdk-headless
need python3 python3
[ -f "$bearssl/inc/bearssl.h" ] || die "there are no sources of BearSSL in $bearssl: run scripts/setup.sh, or set BEARSSL_DIR"
if [ -n "$ndk" ]; then
    [ -f "$ndk/build/cmake/android.toolchain.cmake" ] ||
        die "$ndk is not an NDK: it has no build/cmake/android.toolchain.cmake"
    need cmake cmake
    need ninja ninja-build
else
    [ -x "$clang" ] || die "there is no $clang: run scripts/setup.sh --platforms, or install clang"
    need ld.lld lld
    need llvm-ar llvm
fi
[ ! -d "$out" ] || die "--out wants the name of a file, and $out is a folder"
rm -rf "$parts"
rm -f "$out" "${out%.aar}"{.pom,-sources.jar,-javadoc.jar} "${out%.aar}"-kotlin{.pom,.jar,-sources.jar,-javadoc.jar}
mkdir -p "$parts"

if [ -n "$ndk" ]; then
    ndk_version=$(sed -n 's/^Pkg.Revision *= *\([0-9]*\).*/\1/p' "$ndk/source.properties")
    for abi in "${abis[@]}"; do build_by_ndk "$abi"; done
else
    ndk_version=25 # the NDK whose clang has the version that Debian 12's has
    make_headers
    # Two at a time, since a machine that builds for phones may be small.
    for ((i = 0; i < ${#abis[@]}; i += 2)); do
        running=()
        for abi in "${abis[@]:i:2}"; do
            build_by_clang "$abi" &
            running+=($!)
        done
        for job in "${running[@]}"; do wait "$job"; done
    done
fi
build_java
build_kotlin
python3 android/aar/package_aar.py --parts "$parts" --out "$out" --bearssl-licence "$bearssl/LICENSE.txt" --api "$api" \
    --ndk "$ndk_version" "${abis[@]}"
echo "$out"
