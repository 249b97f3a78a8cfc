#!/usr/bin/env bash
# macOS by zig: compiles and links the library and the whole command for both CPUs, and for one all unit tests, and looks
# at what came out. Nothing of it can run here.
#
# The libraries that the command stands on are not here for macOS either. Their headers are Debian's (they are the same
# on every system but for a few constants), and each is linked as a stub, a text file that names what Debian's build of it
# exports. So what is shown is: every file compiles with Apple's headers without a warning, every call fits the
# library's declaration, and every symbol is either macOS's own (zig brings the list) or exported by the library at
# Debian's version. Not shown: that the libraries of a Mac agree, and that the program does there what it does here.
#
# Memory and golden bytes are not measured; that the core gives the same bytes on both CPUs, the Linux rows show.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh

out=$PWD/build/platforms/macos
needs cmake dpkg ninja pkg-config gcc nm llvm-nm llvm-objdump llvm-size
export ZIG_GLOBAL_CACHE_DIR=$PWD/build/platforms/zig ZIG_LOCAL_CACHE_DIR=$PWD/build/platforms/zig

# ---- the libraries' stand-ins ------------------------------------------------------------------------------------

# Library, Debian's package of its headers, its name for pkg-config.
libraries='curl       libcurl4-openssl-dev  -
           sqlite3    libsqlite3-dev        -
           png        libpng-dev            -
           z          zlib1g-dev            -
           pq         libpq-dev             libpq
           microhttpd libmicrohttpd-dev     libmicrohttpd
           crypto     libssl-dev            libcrypto'

# headers PACKAGE: copies them to where a compiler looks first.
headers() {
    local file place
    for file in $(dpkg -L "$1" | grep -E '^/usr/include/.*\.h$' | grep -v /internal/); do
        place=${file#/usr/include/}
        place=${place#"$(gcc -print-multiarch)"/}
        place=$out/root/include/${place#postgresql/}
        mkdir -p "$(dirname "$place")"
        cp -L "$file" "$place"
    done
}

# stub LIBRARY: Apple's text form of a dynamic library, with the names that Debian's exports.
stub() {
    local targets='[ arm64-macos, x86_64-macos ]'
    printf -- '--- !tapi-tbd\ntbd-version: 4\ntargets: %s\ninstall-name: "@rpath/lib%s.dylib"\n' "$targets" "$1"
    printf 'exports:\n  - targets: %s\n    symbols: [ ' "$targets"
    nm -D --defined-only "$(gcc -print-file-name="lib$1.so")" | awk '{ sub(/@.*/, "", $3); print "_" $3 }' | sort -u |
        paste -sd, | sed 's/,/, /g; s/$/ ]\n.../'
}

package() { # LIBRARY NAME
    printf 'Name: %s\nDescription: a stub\nVersion: %s\nLibs: -L%s -l%s\nCflags: -I%s\n' "$2" \
        "$(pkg-config --modversion "$2")" "$out/root/lib" "$1" "$out/root/include"
}

stand_ins() {
    local library package name
    rm -rf "$out/root"
    mkdir -p "$out/root/lib/pkgconfig"
    while read -r library package name; do
        headers "$package"
        stub "$library" >"$out/root/lib/lib$library.tbd"
        [ "$name" = - ] || package "$library" "$name" >"$out/root/lib/pkgconfig/$name.pc"
    done <<<"$libraries"
}

# ---- build -------------------------------------------------------------------------------------------------------

# build CPU TESTS
build() {
    PKG_CONFIG_LIBDIR=$out/root/lib/pkgconfig cmake -G Ninja -B "$out/$1" --toolchain platform/cmake/zig.cmake \
        -DPRIVATEMAIL_TARGET="$1-macos" -DCMAKE_FIND_ROOT_PATH="$out/root" -DPRIVATEMAIL_WERROR=ON \
        -DPRIVATEMAIL_TESTS="$2" &&
        cmake --build "$out/$1" -j 2
}

# relink CPU: the command once more, with the stubs as they are now.
relink() {
    rm -f "$out/$1/cli/privatemail"
    cmake --build "$out/$1" --target privatemail_cli
}

# ---- look --------------------------------------------------------------------------------------------------------

is_for() { # MACHINE PROGRAM
    llvm-objdump -m --private-headers "$2" >"$out/headers" &&
        grep -qE "^ *MH_MAGIC_64 +$1 .* EXECUTE .*NOUNDEFS" "$out/headers" && grep -qE 'platform +macos' "$out/headers"
}

# The system's, and the stand-ins: nothing of this machine.
links_to() { # PROGRAM
    diff <(llvm-objdump -m --dylibs-used "$1" | sed -nE 's|^\s+(.*/)?lib([A-Za-z0-9]+)\..*|\2|p' | sort -u) \
        <(awk '{ print $1 }' <<<"$libraries" | cat - <(echo System) | sort)
}

# Two names are the linker's own.
exports() { # LIBRARY
    diff <(llvm-objdump -m --exports-trie "$1" | awk '/^0x/ { print $2 }' |
        grep -vxE '__mh_dylib_header|___dso_handle' | sed 's/^_//' | sort) <(declared)
}

# Every command that the program has here, it has there.
has_commands() { # PROGRAM
    local missing
    llvm-nm "$1" >"$out/symbols"
    missing=$(comm -13 <(grep -oE '_command_[a-z]+$' "$out/symbols" | sort) \
        <(sed -nE 's/^const struct command (command_[a-z]+).*/_\1/p' cli/command_*.c | sort))
    echo "missing: $missing"
    [ -z "$missing" ] && grep -q ' _command_serve$' "$out/symbols"
}

text_of() { # LIBRARY
    llvm-size -A "$1" | awk '/^__(text|const|cstring|literal)/ { n += $2 } END { print n }'
}

# A name that the stub lacks stops the link, or the link would show nothing.
missing_name_is_seen() { # CPU
    local stub=$out/root/lib/libcurl.tbd result=1
    cp "$stub" "$out/kept.tbd"
    sed -i 's/_curl_easy_perform, //' "$stub"
    if ! relink "$1" >"$out/relink.log" 2>&1 && grep -q curl_easy_perform "$out/relink.log"; then result=0; fi
    mv "$out/kept.tbd" "$stub"
    relink "$1" && return $result
}

# platform NAME CPU MACHINE TESTS: the tests for one CPU are enough, since only their compiling is seen.
platform() {
    local name=$1 cpu=$2 folder=$out/$2
    if ! must "$name: all compiles without warnings and links" build "$cpu" "$4"; then
        echo "| $name | no | no | - | - | - | - |" >>"$out.rows"
        return
    fi
    check "$name: the command is a complete program for this CPU and macOS" is_for "$3" "$folder/cli/privatemail"
    check "$name: it wants the libraries that it names and no other" links_to "$folder/cli/privatemail"
    check "$name: it has every command" has_commands "$folder/cli/privatemail"
    check "$name: the shared library exports what the headers declare" exports "$folder/libprivatemail.dylib"
    check "$name: a name that a library lacks stops the link" missing_name_is_seen "$cpu"
    echo "| $name | yes | no (linked with stubs) | - | $(kib "$(text_of "$folder/libprivatemail.a")") | - | - |" \
        >>"$out.rows"
}

mkdir -p "$out"
: >"$out.rows"
if must "headers and stubs of the libraries that the command stands on" stand_ins; then
    platform "macOS arm64, with the command (zig)" aarch64 ARM64 ON
    platform "macOS x86_64, with the command (zig)" x86_64 X86_64 OFF
fi

cat "$out.rows"
sum_up
