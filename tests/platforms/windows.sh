#!/usr/bin/env bash
# Windows by zig and wine: builds the library, the command and the unit tests for 64-bit Windows on x86 and runs them, the
# golden bytes and the system's entropy included; runs the tests of the command; compares packs, galleries, maps and all
# else that it makes with those of the command for Linux, byte for byte; installs the library and uses it from there,
# static and as a DLL; compiles the static library for ARM, where nothing is linked and nothing can run here; and compiles
# and links the library by clang behind the options and the ABI of Microsoft's compiler, for which CMakeLists.txt has
# settings of its own, and compares the golden bytes once more.
#
# Wine is not Windows: BCryptGenRandom, files, locks and Ctrl-C are wine's here, and it follows links of Linux by itself.
# No cl.exe was run; clang stands in for it. The tests of the command say what they leave out, and why.
# Under wine the statistical tests have a tenth of their rounds (PML_TEST_QUICK), as under QEMU.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh
source tests/platforms/suite.sh

out=$PWD/build/platforms/windows
wine=/usr/lib/wine/wine64
zig=$(echo "$PWD"/build/venv/lib/python3*/site-packages/ziglang/zig)
cache=${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}
unity=${UNITY_DIR:-$cache/unity}
python=$PWD/build/venv/bin/python
needs "$wine" "$zig" "$python" "$cache/sqlite3/configure" clang cmake lld-link llvm-ar llvm-dlltool llvm-lib llvm-readobj \
    llvm-size make ninja tclsh
export ZIG_GLOBAL_CACHE_DIR=$PWD/build/platforms/zig ZIG_LOCAL_CACHE_DIR=$PWD/build/platforms/zig
# A Windows of its own, without a screen, whose processes end with this script.
export WINEPREFIX=$out/wine WINEDEBUG=-all DISPLAY=
mkdir -p "$WINEPREFIX"
trap '/usr/lib/wine/wineserver64 -k || true' EXIT
/usr/lib/wine/wineserver64 -p

# start PROGRAM ARGUMENT...: by wine, and again when that ends with 1 and nothing was printed: now and then, on a busy
# machine, wine does not start a program. No program here ends so: Unity's count and the others say what is wrong.
start=$out/start
cat >"$start" <<'END'
#!/bin/bash
printed=$(mktemp -d)
trap 'rm -rf "$printed"' EXIT
for try in 1 2 3; do
    /usr/lib/wine/wine64 "$@" >"$printed/out" 2>"$printed/err"
    code=$?
    [ "$code" = 1 ] && [ ! -s "$printed/out" ] && [ ! -s "$printed/err" ] || break
    sleep "$try"
done
cat "$printed/out"
cat "$printed/err" >&2
exit "$code"
END
chmod +x "$start"

by_zig() { # CPU FOLDER OPTION...
    local cpu=$1 folder=$2
    shift 2
    cmake -G Ninja -B "$folder" --toolchain "$PWD/platform/cmake/zig.cmake" -DPRIVATEMAIL_TARGET="$cpu-windows-gnu" \
        -DPRIVATEMAIL_WINE="$start" "$@"
}

# SQLite in one file, which its sources make, for Windows. Debian has it for Linux only.
build_sqlite() {
    [ ! -f "$out/sqlite/lib/libsqlite3.a" ] || return 0
    mkdir -p "$out/sqlite/include" "$out/sqlite/lib" "$out/sqlite/made"
    (cd "$out/sqlite/made" && "$cache/sqlite3/configure" --disable-tcl --disable-readline && make sqlite3.c) &&
        cp "$out/sqlite/made/sqlite3.h" "$out/sqlite/include" &&
        "$zig" cc --target=x86_64-windows-gnu -O2 -DSQLITE_OMIT_LOAD_EXTENSION -c "$out/sqlite/made/sqlite3.c" \
            -o "$out/sqlite/made/sqlite3.o" && llvm-ar rcs "$out/sqlite/lib/libsqlite3.a" "$out/sqlite/made/sqlite3.o"
}

build() {
    by_zig x86_64 "$out/x86_64" -DCMAKE_FIND_ROOT_PATH="$out/sqlite" -DPRIVATEMAIL_SQLITE=ON -DPRIVATEMAIL_WERROR=ON &&
        cmake --build "$out/x86_64" -j "$jobs"
}

build_arm() {
    by_zig aarch64 "$out/aarch64" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DPRIVATEMAIL_TESTS=OFF \
        -DPRIVATEMAIL_TOOLS=OFF -DPRIVATEMAIL_WERROR=ON && cmake --build "$out/aarch64" -j "$jobs" --target privatemail
}

# ---- look --------------------------------------------------------------------------------------------------------

is_for() { # MACHINE FILE
    [ "$(llvm-readobj --file-headers "$2" | awk '$1 == "Machine:" { print $2 }' | sort -u)" = "IMAGE_FILE_MACHINE_$1" ]
}

exported() { llvm-readobj --coff-exports "$1" | awk '$1 == "Name:" && $2 ~ /^[^.]+$/ { print $2 }' | sort; }

exports_declared() { diff <(exported "$1") <(declared); }

exports_nothing() { [ -z "$(exported "$1")" ]; }

text_of() { # LIBRARY
    llvm-size -A "$1" | awk '/^\.(text|rdata)/ { n += $2 } END { print n }'
}

# ---- run ---------------------------------------------------------------------------------------------------------

all_programs_ran() {
    local source result=0
    for source in tests/core/test_*.c tests/privacy/test_*.c tests/sketch/test_*.c tests/common/test_system.c \
        tests/tools/test_builder.c tests/server/test_service.c tests/server/test_gallery_change.c; do
        grep "^$(basename "$source" .c) " "$out/x86_64/outcomes" || { echo "$source did not run"; result=1; }
    done
    return $result
}

# The two that draw from the system itself, and Windows' own two.
entropy_was_drawn() {
    awk '$1 == "test_entropy" && $3 - $5 >= 4 { found = 1 } END { exit !found }' "$out/x86_64/outcomes"
}

installed_works() {
    rm -rf "$out/prefix" "$out/consumer"
    cmake --install "$out/x86_64" --prefix "$out/prefix" &&
        by_zig x86_64 "$out/consumer" -S tests/install -DCMAKE_FIND_ROOT_PATH="$out/prefix" &&
        cmake --build "$out/consumer" && "$start" "$out/consumer/consumer_static.exe" &&
        WINEPATH=$out/prefix/bin "$start" "$out/consumer/consumer_shared.exe"
}

# The shared one is shared: it does not start without the DLL.
shared_needs_the_dll() { [ -e "$out/consumer/consumer_shared.exe" ] && ! "$wine" "$out/consumer/consumer_shared.exe"; }

# The pair of files of scripts/amalgamate.py: a program of ten lines from a folder that has nothing else.
pair_works() {
    rm -rf "$out/pair"
    scripts/amalgamate.py "$out/pair" && cp tests/install/ten_lines.c "$out/pair/program.c" &&
        "$zig" cc --target=x86_64-windows-gnu -std=c11 -O2 -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Werror \
            -I"$out/pair" "$out/pair/program.c" "$out/pair/privatemail.c" -lbcrypt -o "$out/pair/program.exe" &&
        "$start" "$out/pair/program.exe"
}

golden_of_pair() {
    "$zig" cc --target=x86_64-windows-gnu -O2 -ffp-contract=off -DPML_AMALGAMATION -I"$out/pair" -Icore -Icore/include \
        -Iplatform -Itests -isystem "$unity" -DUNITY_INCLUDE_DOUBLE -DUNITY_SUPPORT_64 tests/core/test_golden.c \
        tests/support/support.c "$unity/unity.c" "$out/pair/privatemail.c" -lbcrypt -o "$out/pair/golden.exe" &&
        "$start" "$out/pair/golden.exe" >"$out/pair/golden.log" &&
        grep -E '^1[0-9] Tests 0 Failures 0 Ignored' "$out/pair/golden.log"
}

# ---- the command -------------------------------------------------------------------------------------------------

write_wrapper() {
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wine" "$out/x86_64/cli/privatemail.exe" >"$out/privatemail" &&
        chmod +x "$out/privatemail" && privatemail --version
}

# The tests of the command start it again by themselves.
privatemail() { "$start" "$out/x86_64/cli/privatemail.exe" "$@"; }

# What is not there says so, and what to do.
network_is_refused() {
    local word
    for word in serve query keys relay; do
        if privatemail "$word" >"$out/refused.log" 2>&1; then return 1; fi
        grep 'without network: use it on Linux or macOS' "$out/refused.log" || return 1
    done
    ! privatemail gallery --store postgres:x >"$out/refused.log" 2>&1 &&
        grep 'without PostgreSQL. Use dir:FOLDER' "$out/refused.log"
}

# Stores are found by the letter of a disk, with either slash, and under names that no code page has all of.
paths_work() {
    local folder="$out/päths 日本" store
    rm -rf "$folder" && mkdir "$folder" &&
        "$python" -c 'import numpy, sys; numpy.save(sys.argv[1], numpy.random.default_rng(1).normal(size=(400, 32)).astype("f4"))' \
            "$folder/rows.npy" && privatemail pack --features "$folder/rows.npy" --cells 4 --out "$folder/päck" || return 1
    for store in "sqlite:Z:${folder//\//\\}\\störe.db" "dir:Z:$folder/störe"; do
        privatemail index --pack "$folder/päck" --features "$folder/rows.npy" --store "$store" &&
            privatemail gallery --store "$store" || return 1
    done
    [ -s "$folder/störe.db" ] && [ -d "$folder/störe/gallery" ]
}

# command_test NAME: a test of tests/cli. What it leaves out is counted; on Linux it leaves nothing of that out.
command_test() {
    local name=$1 before=$passed
    PRIVATEMAIL_WINDOWS=1 counted "test_$name" "$python" "tests/cli/test_$name.py" "$out/privatemail"
    skipped=$((skipped + $(grep -c '^skipped' "$out/test_$name.log" || true)))
    echo "        $((passed - before)) checks of test_$name.py passed"
}

# The release build is there: scripts/test.sh --platforms has made it.
same_bytes() {
    local before=$passed
    counted same_bytes "$python" tests/platforms/same_bytes.py build/release/cli/privatemail "$out/privatemail"
    echo "        $((passed - before)) files and reports have the bytes of Linux"
}

the_command() {
    local name="Windows x86-64"
    must "$name: the command starts" write_wrapper || return 0
    check "$name: what needs a network says so" network_is_refused
    check "$name: paths have letters of disks, either slash, and any letters" paths_work
    same_bytes
    command_test cli
    command_test index
    command_test advise
    command_test audit
}

# ---- Microsoft's compiler ----------------------------------------------------------------------------------------

# All that the library needs of Microsoft's headers and import libraries.
write_sdk() {
    mkdir -p "$out/sdk"
    ln -sf /usr/bin/clang "$out/sdk/clang-cl"
    echo 'typedef long LONG; typedef unsigned long ULONG; typedef unsigned char *PUCHAR;' >"$out/sdk/windows.h"
    printf '%s\n' 'typedef LONG NTSTATUS; typedef void *BCRYPT_ALG_HANDLE;' \
        '#define BCRYPT_USE_SYSTEM_PREFERRED_RNG 2' \
        'NTSTATUS __stdcall BCryptGenRandom(BCRYPT_ALG_HANDLE algorithm, PUCHAR out, ULONG size, ULONG flags);' \
        >"$out/sdk/bcrypt.h"
    cp platform/wasm/memory.h "$out/sdk/string.h" # for BearSSL's sources: the four functions below
    import_library bcrypt BCryptGenRandom
    import_library msvcrt memcpy memmove memset memcmp
    echo 'int _fltused;' >"$out/sdk/floating.c" # a program with floating point wants it of the C library
    "$out/sdk/clang-cl" --target=x86_64-pc-windows-msvc /nologo /Zl /c "/Fo$out/sdk/floating.obj" -- \
        "$out/sdk/floating.c"
}

import_library() { # NAME FUNCTION...
    local name=$1
    shift
    printf '%s\n' "LIBRARY $name.dll" EXPORTS "$@" >"$out/sdk/$name.def"
    llvm-dlltool -m i386:x86-64 -d "$out/sdk/$name.def" -l "$out/sdk/$name.lib"
}

build_msvc() {
    rm -rf "$out/sdk" "$out/msvc"
    write_sdk && PRIVATEMAIL_SDK=$out/sdk cmake -G Ninja -B "$out/msvc" \
        --toolchain "$PWD/tests/platforms/msvc_stand_in.cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
        -DPRIVATEMAIL_TESTS=OFF -DPRIVATEMAIL_TOOLS=OFF -DPRIVATEMAIL_WERROR=ON && cmake --build "$out/msvc" -j "$jobs"
}

# cl.exe refuses what it does not know (D8021); clang, which stands in for it, would not.
no_options_of_gcc() { ! grep -E '"command".* -(f|W|pedantic|std=)' "$out/msvc/compile_commands.json"; }

# The calling convention is the same, so zig's C library and test fit Microsoft's objects.
golden_msvc() {
    "$zig" cc --target=x86_64-windows-gnu -O2 -Icore -Icore/include -Iplatform -Itests -isystem "$unity" \
        -DUNITY_INCLUDE_DOUBLE -DUNITY_SUPPORT_64 tests/core/test_golden.c tests/support/support.c "$unity/unity.c" \
        "$out/msvc/privatemail.lib" "$out/sdk/floating.obj" -lbcrypt -o "$out/msvc/golden.exe" &&
        "$start" "$out/msvc/golden.exe" >"$out/msvc/golden.log" && grep -E '^1[0-9] Tests 0 Failures 0 Ignored' \
        "$out/msvc/golden.log"
}

dll_msvc() { # OPTION...: programs may define PML_SHARED, and need not
    "$zig" cc --target=x86_64-windows-gnu "$@" -Icore/include -Iplatform tests/install/consumer.c \
        "$out/msvc/privatemail_dll.lib" -o "$out/msvc/consumer.exe" && "$start" "$out/msvc/consumer.exe"
}

# ---- all of it ---------------------------------------------------------------------------------------------------

x86_64() {
    local name="Windows x86-64" folder=$out/x86_64 memory
    if ! must "$name: SQLite builds" build_sqlite || ! must "$name: all builds without warnings" build; then
        echo "| $name | no | no | - | - | - | - |" >>"$out.rows"
        return
    fi
    check "$name: they are for this CPU" is_for AMD64 "$folder/tests/test_golden.exe"
    run_tests "$name" "$folder"
    check "$name: the suite is complete" all_programs_ran
    check "$name: the system's entropy was drawn" entropy_was_drawn
    check "$name: the DLL exports what the headers declare" exports_declared "$folder/libprivatemail.dll"
    check "$name: a program with the static library exports nothing" exports_nothing "$folder/tests/test_golden.exe"
    check "$name: installed, it links and runs, static and shared" installed_works
    check "$name: the shared one wants the DLL" shared_needs_the_dll
    check "$name: a program of ten lines runs with the pair of files" pair_works
    check "$name: which gives the golden bytes" golden_of_pair
    the_command
    memory=$(memory_of "$folder")
    check "$name: test_memory printed the client's memory" test -n "$memory"
    echo "| $name, with the command (zig) | yes | wine | $(golden_of "$folder") | $(kib "$(text_of "$folder/libprivatemail.a")")" \
        "| ${memory:--} | - |" >>"$out.rows"
}

aarch64() {
    local name="Windows ARM64" folder=$out/aarch64 builds=no text=-
    if must "$name: the library compiles without warnings" build_arm; then
        builds=yes text=$(kib "$(text_of "$folder/libprivatemail.a")")
        check "$name: it is for this CPU" is_for ARM64 "$folder/libprivatemail.a"
    fi
    echo "| $name (zig) | $builds | no (objects only) | - | $text | - | - |" >>"$out.rows"
}

msvc() {
    local name="Windows x86-64, Microsoft's ABI" builds=no golden="0 of $releases" text=-
    if must "$name: the library builds by cl's options without warnings, as a DLL too" build_msvc; then
        builds=yes text=$(kib "$(text_of "$out/msvc/privatemail.lib")")
        check "$name: cl gets no option of gcc" no_options_of_gcc
        check "$name: the DLL exports what the headers declare" exports_declared "$out/msvc/privatemail.dll"
        if must "$name: the golden bytes" golden_msvc; then golden="$releases of $releases"; fi
        check "$name: a program runs with the DLL" dll_msvc
        check "$name: and with PML_SHARED" dll_msvc -DPML_SHARED
    fi
    echo "| $name (clang for cl) | $builds | wine | $golden | $text | - | - |" >>"$out.rows"
}

mkdir -p "$out"
: >"$out.rows"
check "$releases golden releases are compiled into test_golden" golden_is_compiled
must "wine starts" "$start" cmd /c exit 0
x86_64
aarch64
msvc

cat "$out.rows"
sum_up
