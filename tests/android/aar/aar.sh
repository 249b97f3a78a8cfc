#!/usr/bin/env bash
# The AAR of scripts/build-aar.sh: two builds give the same bytes; what is in it; its libraries on CPUs of their kind,
# the x86_64 one in a Java virtual machine, too, with searches and README's examples on top; and the files of the Gradle
# build, which is not run.
#
#   tests/android/aar/aar.sh      builds in build/platforms/android/aar; the last line is 'N passed, N failed'
#
# In that folder, sizes has the code and constants of each library, ABI/golden.log what it made of the golden vectors.
set -euo pipefail

cd "$(dirname "$0")/../../.."
source tests/platforms/frame.sh
source tests/android/android_shared.sh

here=tests/android/aar
out=$PWD/build/platforms/android/aar
parts=$out/privatemail.aar.parts
clang=/usr/bin/clang
arm64_limit=122880 # 120 KiB; 7 of them are fronts, 5 heads and looks, 3 coded sketches, 4 kernels of hashing

needs "$clang" ld.lld llvm-readelf javac java qemu-aarch64-static qemu-arm-static qemu-i386-static unzip

# ---- builds ----------------------------------------------------------------------------------------------------

# From a copy of the sources in another folder, so that neither folder can be in the bytes.
build_elsewhere() {
    mkdir -p "$out/elsewhere/tests/android"
    cp -r android core platform scripts transport LICENSE "$out/elsewhere"
    cp -r tests/android/stubs "$out/elsewhere/tests/android"
    "$out/elsewhere/scripts/build-aar.sh" --out "$out/second build.aar"
}

same_bytes() {
    local end
    for end in .aar .pom -sources.jar -javadoc.jar -kotlin.jar -kotlin-sources.jar -kotlin-javadoc.jar -kotlin.pom; do
        [ -e "$out/privatemail$end" ] || [[ $end = -kotlin* ]] || return 1
        [ ! -e "$out/privatemail$end" ] || cmp "$out/privatemail$end" "$out/second build$end" || return 1
    done
    sha256sum "$out"/privatemail*.{aar,jar,pom}
}

# The CMake side of an Android build, by a stand-in for an NDK.
build_by_stand_in() {
    local ndk=$out/ndk
    mkdir -p "$ndk/build/cmake" "$ndk/toolchains/llvm/prebuilt/linux/bin"
    cp "$here/ndk_stand_in.cmake" "$ndk/build/cmake/android.toolchain.cmake"
    cp "$(command -v llvm-strip)" "$ndk/toolchains/llvm/prebuilt/linux/bin"
    echo 'Pkg.Revision = 27.2.12479018' >"$ndk/source.properties"
    PRIVATEMAIL_PARTS=$parts scripts/build-aar.sh --ndk "$ndk" --out "$out/ndk.aar" --abi arm64-v8a --abi armeabi-v7a
}

says() { # EXIT PATTERN COMMAND...
    local code=$1 pattern=$2 status=0 text
    shift 2
    text=$("$@" 2>&1) || status=$?
    echo "exit $status: $text"
    [ "$status" = "$code" ] && grep -qE -- "$pattern" <<<"$text"
}

# ---- libraries on their CPUs -----------------------------------------------------------------------------------

# The programs are freestanding: no libc of any kind. -mcpu: the program may divide, the library must not rely on it.
cpu_flags() {
    case $1 in
    arm64-v8a) echo --target=aarch64-linux-android24 ;;
    armeabi-v7a) echo --target=armv7a-linux-androideabi24 -mcpu=cortex-a15 -mfpu=vfpv3-d16 -mfloat-abi=softfp -meabi gnu ;;
    x86_64) echo --target=x86_64-linux-android24 ;;
    x86) echo --target=i686-linux-android24 ;;
    esac
}

runner() {
    case $1 in
    arm64-v8a) echo qemu-aarch64-static ;;
    armeabi-v7a) echo qemu-arm-static -cpu cortex-a15 ;;
    x86_64) if [ "$(uname -m)" != x86_64 ]; then echo qemu-x86_64-static; fi ;;
    x86) echo qemu-i386-static ;;
    esac
}

build_programs() { # ABI
    local abi=$1 folder=$out/$1 name
    mkdir -p "$folder"
    for name in bare_system shared_object golden_main integer_test; do
        "$clang" $(cpu_flags "$abi") -std=gnu11 -O2 -fno-pic -ffreestanding -fomit-frame-pointer -fno-unwind-tables \
            -fno-asynchronous-unwind-tables -ffp-contract=off -nostdlibinc -Wall -Wextra -Werror \
            -Icore/include -Iplatform -Itests -c "$here/$name.c" -o "$folder/$name.o" || return 1
    done
    ld.lld -static -o "$folder/golden" "$folder"/{bare_system,shared_object,golden_main}.o "$parts/$abi/integer_helpers.o" &&
        ld.lld -static -o "$folder/integers" "$folder"/{bare_system,integer_test}.o
}

run_golden() { # ABI AAR LOG
    unzip -p "$2" "jni/$1/libprivatemail.so" >"$out/$1/libprivatemail.so" &&
        $(runner "$1") "$out/$1/golden" "$out/$1/libprivatemail.so" | tee "$out/$1/$3"
}

run_integers() { # ABI
    $(runner "$1") "$out/$1/integers"
}

# ---- Java ------------------------------------------------------------------------------------------------------

# A libc.so by Android's name and versions over this machine's, for the library of the AAR as it is.
build_bridge() {
    mkdir -p "$out/bridge"
    awk '!/^#/ && NF == 2 { names = names " " $2 ";" } END { print "LIBC { global:" names " local: *; };" }' \
        android/aar/libc.symbols >"$out/bridge/bridge.map"
    gcc -shared -fPIC -O2 -fno-builtin -Wall -Wextra -Werror -Wl,-soname,libc.so \
        -Wl,--version-script,"$out/bridge/bridge.map" -o "$out/bridge/libc.so" "$here/bionic_bridge.c" &&
        unzip -oqj "$out/privatemail.aar" jni/x86_64/libprivatemail.so classes.jar -d "$out/bridge"
}

# Against the AAR's own classes and stubs of Android's.
compile_example() {
    mkdir -p "$out/example"
    find android/example/src/main/java -name '*.java' -print0 | xargs -0 javac --release 8 -Xlint:all,-options -Werror \
        -cp "$out/bridge/classes.jar:$parts/stubs" -d "$out/example"
}

compile_readme() {
    mkdir -p "$out/readme"
    rm -f "$out"/readme/*.java
    # A file per block, named after its class.
    awk -v folder="$out/readme" '
        /^```java$/ { inside = 1; text = name = ""; next }
        /^```$/ && inside { inside = 0; printf "%s", text >(folder "/" name ".java") }
        inside { text = text $0 "\n" }
        inside && /^final class / { name = $3 }' android/README.md
    javac --release 8 -Xlint:all,-options -Werror -cp "$out/bridge/classes.jar" -d "$out/readme" "$out"/readme/*.java
}

compile_test() {
    mkdir -p "$out/test"
    javac --release 11 -Xlint:all,-options -Werror -cp "$out/bridge/classes.jar:$out/readme" -d "$out/test" \
        "$here"/*.java
}

through=() # what RelaySearchTest wants to know

# A relay before the first server, which is a gateway.
start_relay() {
    local address
    start relay relay --gateway "${real[0]}" --epoch 1 --clients 3 || return 1
    through=("$out/test" "$address" "${real[1]}" "$model" "$out/real/shapes/gallery.npy"
             "$out/real/shapes/gallery_labels.npy" "$out/real/gateway.ohttp-keys")
}

start_servers() {
    trap stop_servers EXIT
    mkdir -p "$out/real"
    build/release/cli/privatemail keys --out "$out/real/gateway.keys" --public "$out/real/gateway.ohttp-keys" &&
        start_server shapes 1 --ohttp-key "$out/real/gateway.keys" && start_server successor 2 && start_relay &&
        real+=("$model" "$out/real/shapes/gallery.npy" "$out/real/shapes/gallery_labels.npy")
}

run_test() { # CLASS ARGUMENT...
    LD_LIBRARY_PATH=$out/bridge java -Xcheck:jni -Djava.library.path="$out/bridge" \
        -cp "$out/bridge/classes.jar:$out/readme:$out/test" "org.privatemail.aar.$1" "${@:2}"
}

jni_is_content() { ! grep -hE 'WARNING|FATAL ERROR' "$out"/search*.log; }

# ---- Gradle ----------------------------------------------------------------------------------------------------

# Everything that the scripts of the Gradle build name: files, modules, targets of CMake.
gradle_names_exist() { # FILE FOLDER
    local file=$1 folder=$2 name result=0
    while read -r name; do
        echo "$name"
        [ -e "$folder/$name" ] || { echo "$file names $name, which is not there"; result=1; }
    done < <(grep -oE '(from|file|consumerProguardFiles)\("[^"]+"\)|from = "[^"]+"' "$file" | grep -oE '"[^"]+"' | tr -d '"')
    while read -r name; do
        [ -f "$folder/$name/build.gradle.kts" ] || { echo "$file includes $name, which has no script"; result=1; }
    done < <(sed -nE 's/^include\(":([^"]+)"\)$/\1/p' "$file")
    for name in $(sed -nE 's/.*project\(":([a-z]+)"\).*/\1/p' "$file"); do
        grep -qx "include(\":$name\")" android/settings.gradle.kts || { echo "there is no module $name"; result=1; }
    done
    for name in $(sed -nE 's/^ +targets\((.*)\)$/\1/p' "$file" | tr -d '",'); do
        grep -qE "add_library\($name (STATIC|SHARED)\b" CMakeLists.txt || { echo "CMake has no target $name"; result=1; }
    done
    for name in $(grep -oE '"-DPRIVATEMAIL_[A-Z]+' "$file" | sed 's/^"-D//'); do
        grep -qE "^(option|find_path)\($name " CMakeLists.txt cmake/*.cmake || { echo "CMake has no option $name"; result=1; }
    done
    return $result
}

# The manifest names an activity that is there.
example_is_complete() {
    python3 - android/example <<'PYTHON'
import pathlib, sys, xml.etree.ElementTree as xml
folder = pathlib.Path(sys.argv[1]) / "src/main"
names = [a.get("{http://schemas.android.com/apk/res/android}name") for a in
         xml.parse(folder / "AndroidManifest.xml").getroot().iter("activity")]
missing = [n for n in names if not (folder / f"java/org/privatemail/example/{n.lstrip('.')}.java").exists()]
sys.exit(f"no such activity: {missing}" if missing or not names else 0)
PYTHON
}

balanced() { # FILE
    awk '{ line = $0; gsub(/"[^"]*"/, "", line); sub(/\/\/.*/, "", line)
           curly += gsub(/{/, "", line) - gsub(/}/, "", line); round += gsub(/\(/, "", line) - gsub(/\)/, "", line)
           if (curly < 0 || round < 0) exit 1 }
         END { exit curly != 0 || round != 0 }' "$1"
}

same_versions() {
    local version
    version=$(sed -nE 's/^    VERSION ([0-9.]+)$/\1/p' CMakeLists.txt)
    grep -x "version = \"$version\"" android/privatemail/build.gradle.kts &&
        grep -x "version = \"$version\"" android/kotlin/build.gradle.kts &&
        grep "org.privatemail:privatemail:$version" android/README.md
}

# ---- all of it -------------------------------------------------------------------------------------------------

rm -rf "$out"
mkdir -p "$out"
must "the AAR builds without Gradle, SDK and NDK" scripts/build-aar.sh --out "$out/privatemail.aar" ||
    { sum_up; exit 1; }
check "it builds from a copy in another folder" build_elsewhere
check "both have the same bytes" same_bytes
counted aar python3 "$here/check_aar.py" "$out/privatemail.aar" --sizes "$out/sizes" --limit arm64-v8a=$arm64_limit
check "CMake builds it as --ndk does, by a stand-in for an NDK" build_by_stand_in
counted aar-by-cmake python3 "$here/check_aar.py" "$out/ndk.aar" --abi arm64-v8a --abi armeabi-v7a
check "--help explains" says 0 '--ndk PATH' scripts/build-aar.sh --help
check "an unknown option is refused" says 2 '--ndk PATH' scripts/build-aar.sh --everything
check "a folder that is no NDK is refused" says 1 'is not an NDK' scripts/build-aar.sh --ndk "$out" --out "$out/no.aar"
check "a folder for an output is refused, and kept" says 1 'is a folder' scripts/build-aar.sh --out "$out/ndk"
check "an unknown ABI is refused" says 1 'no ABI mips' scripts/build-aar.sh --abi mips

for abi in arm64-v8a armeabi-v7a x86_64 x86; do
    must "$abi: test programs build" build_programs "$abi" || continue
    check "$abi: 64-bit integers and doubles" run_integers "$abi"
    check "$abi: the AAR's library, in pages of 16 KiB, makes the golden bytes" \
        run_golden "$abi" "$out/privatemail.aar" golden.log
done
check "arm64-v8a: so does it on a CPU without dot products of bytes" \
    qemu-aarch64-static -cpu cortex-a53 "$out/arm64-v8a/golden" "$out/arm64-v8a/libprivatemail.so" || true
for abi in arm64-v8a armeabi-v7a; do
    check "$abi: so does CMake's" run_golden "$abi" "$out/ndk.aar" golden_cmake.log
done

check "the AAR's x86_64 library has a libc to load with" build_bridge
check "the example compiles" compile_example
check "README's Java compiles" compile_readme
check "the test of searches compiles" compile_test
if [ -x build/release/cli/privatemail ]; then
    check "privatemail serve serves the sample gallery, with two packs, one of them behind privatemail relay" \
        start_servers
fi
counted search run_test SearchTest tests/golden/vectors.txt "$out/test" "${real[@]}" # on the AAR's x86_64 library
if [ ${#through[@]} -gt 0 ]; then
    counted search-relay run_test RelaySearchTest "${through[@]}"
else
    echo "skipped privatemail relay: none is running; build build/release first"
fi
check "-Xcheck:jni says nothing" jni_is_content

for script in android/*.gradle.kts android/{privatemail,kotlin,example}/build.gradle.kts; do
    check "$script is balanced" balanced "$script"
    check "$script names what is there" gradle_names_exist "$script" "$(dirname "$script")"
done
check "the example's manifest names its activity" example_is_complete
check "one version everywhere" same_versions

sum_up
