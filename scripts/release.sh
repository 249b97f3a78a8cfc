#!/usr/bin/env bash
# Makes all artefacts of a version into one folder, with SHA-256 sums, a bill of materials (SPDX 2.3) and notes. The same
# commit gives the same bytes on the same tools, which the bill names.
#
#   scripts/release.sh VERSION [--out DIR] [--only NAME]... [--check]
#
#   VERSION       that of CMakeLists.txt; CHANGELOG.md must have a section for it
#   --out DIR     where they go (build/release-VERSION); the folder must not exist, or be one that this script made
#   --only NAME   only this artefact; may be given several times. The names are those of the list below
#   --check       makes everything twice, at two places, and fails when a byte differs
#   --help        this text
#
# Artefacts whose tools are not here are left out by name and with the reason, on stderr and in LEFT-OUT.txt. One whose
# tools are here and that fails ends the release. What git does not know is in no artefact: commit first.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; }
die() { echo "release: $*" >&2; exit 1; }

version='' out='' check='' only=()
while [ $# -gt 0 ]; do
    case $1 in
    --out | --only)
        [ -n "${2:-}" ] || die "$1 wants a value; see --help"
        if [ "$1" = --only ]; then only+=("$2"); else out=$2; fi
        shift
        ;;
    --check) check=yes ;;
    --help | -h) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) [ -z "$version" ] || { usage >&2; exit 2; }; version=$1 ;;
    esac
    shift
done
[ -n "$version" ] || { usage >&2; exit 2; }
out=${out:-build/release-$version}
[ "${out#/}" != "$out" ] || out=$here/$out

# ---- artefacts -------------------------------------------------------------------------------------------------
# One function per artefact. It runs at the top of a clean copy of the commit, may build in $work, and puts
# files into $target. It calls left_out when a tool is not here. The list is the order in which they are made.
artefacts=(source library command windows aar npm apple python edge)

left_out() { echo "$1" >"$work/left-out"; exit 0; } # within an artefact's own process
need() { command -v "$1" >/dev/null || left_out "there is no $1 here (scripts/setup.sh --platforms installs it)"; }

# Sorted names, no owner, one time: the same tree gives the same bytes.
pack_tree() { # FOLDER NAME.tar.gz
    tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --mode='u+rwX,go+rX,go-w' -C "$1" -cf - . | gzip -9n >"$target/$2"
}

# BearSSL's licence wants to go where its code goes.
bearssl_licence() { # FILE
    local bearssl=${BEARSSL_DIR:-${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}/bearssl}
    [ -f "$bearssl/LICENSE.txt" ] || left_out "there are no sources of BearSSL in $bearssl (scripts/setup.sh)"
    cp "$bearssl/LICENSE.txt" "$1"
}

make_source() {
    git -C "$top" archive --format=tar --prefix="privatemail-$version/" "$commit" | gzip -9n \
        >"$target/privatemail-source-$version.tar.gz" # the sdist of Python is called privatemail-VERSION
}

configure() { # FOLDER OPTION...
    local folder=$1
    shift
    need cmake
    need ninja
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPRIVATEMAIL_TESTS=OFF \
        -DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD=. -ffile-prefix-map=$folder=build" -DCMAKE_INSTALL_PREFIX=/usr \
        -DCMAKE_INSTALL_LIBDIR=lib "$@"
}

make_library() {
    configure "$work/build" -DPRIVATEMAIL_TOOLS=OFF
    cmake --build "$work/build" -j 2
    DESTDIR=$work/tree cmake --install "$work/build"
    cp LICENSE "$work/tree/usr"
    bearssl_licence "$work/tree/usr/LICENSE-BearSSL"
    pack_tree "$work/tree/usr" "privatemail-$version-linux-$(uname -m).tar.gz"
}

make_command() {
    configure "$work/build" -DPRIVATEMAIL_TOOLS=ON -DPRIVATEMAIL_COMMAND=ON
    cmake --build "$work/build" -j 2 --target privatemail_cli
    mkdir -p "$work/tree/bin"
    install -s -m 755 "$work/build/cli/privatemail" "$work/tree/bin/privatemail"
    cp LICENSE docs/CLI.md "$work/tree"
    bearssl_licence "$work/tree/LICENSE-BearSSL"
    pack_tree "$work/tree" "privatemail-command-$version-linux-$(uname -m).tar.gz"
}

# The library and the command by zig, which has Windows' headers: without network and without SQLite.
make_windows() {
    compgen -G 'build/venv/lib/python3*/site-packages/ziglang/zig' >/dev/null || need zig
    need llvm-ar
    export ZIG_GLOBAL_CACHE_DIR=$work/zig ZIG_LOCAL_CACHE_DIR=$work/zig
    configure "$work/build" --toolchain "$PWD/platform/cmake/zig.cmake" -DPRIVATEMAIL_TARGET=x86_64-windows-gnu \
        -DPRIVATEMAIL_TOOLS=ON -DPRIVATEMAIL_COMMAND=ON
    cmake --build "$work/build" -j 2
    DESTDIR=$work/tree cmake --install "$work/build"
    cp LICENSE docs/CLI.md "$work/tree/usr"
    bearssl_licence "$work/tree/usr/LICENSE-BearSSL"
    pack_tree "$work/tree/usr" "privatemail-$version-windows-x86_64.tar.gz"
}

make_aar() {
    need javac
    need ld.lld
    [ -f /usr/include/android/nativehelper/jni.h ] || left_out "there is no jni.h of Android here (scripts/setup.sh --platforms)"
    scripts/build-aar.sh --out "$work/privatemail.aar"
    local file
    for file in "$work"/privatemail*.{aar,jar,pom}; do # as Maven names them: artifact-version[-classifier].ending
        cp "$file" "$target/$(basename "$file" | sed -E "s/^(privatemail(-kotlin)?)((-sources|-javadoc)?\.)/\1-$version\3/")"
    done
}

make_npm() {
    need wasm-ld
    scripts/build-wasm.sh --out "$work/wasm" --tarball "$target/privatemail-$version.tgz"
}

# Where there is Xcode an xcframework, elsewhere the frameworks that it would be made of.
make_apple() {
    if [ "$(uname)" = Darwin ]; then
        scripts/build-xcframework.sh "$work/tree"
    else
        need llvm-config
        scripts/build-xcframework.sh --objects "$work/made"
        mkdir -p "$work/tree"
        find "$work/made" -name '*.framework' -print | sort | while IFS= read -r framework; do
            local place
            place=$work/tree/$(dirname "${framework#"$work/made/"}")
            mkdir -p "$place"
            cp -R "$framework" "$place"
        done
    fi
    cp LICENSE "$work/tree"
    pack_tree "$work/tree" "privatemail-apple-$version.tar.gz"
}

# sdist and wheels.
make_python() {
    need python3
    compgen -G 'build/venv/lib/python3*/site-packages/ziglang/zig' >/dev/null || need zig
    scripts/build-wheels.sh --out "$target"
}

# One pair of files, by itself and packed for Arduino and as a CMSIS-Pack. The descriptions for other package managers of
# boards name sources of the tree, so they belong to the source tarball, which has them at its top.
make_edge() {
    need python3
    mkdir -p "$work/tree"
    python3 scripts/amalgamate.py "$work/tree"
    cp LICENSE "$work/tree"
    pack_tree "$work/tree" "privatemail-amalgamation-$version.tar.gz"
    python3 scripts/manifests.py --packages "$target"
}

# ---- the frame -------------------------------------------------------------------------------------------------

top=$PWD
[ -z "$(git status --porcelain --untracked-files=no)" ] || die "there are changes that are not committed: commit them first"
stated=$(python3 tests/check_version.py --print)
[ "$version" = "$stated" ] || die "CMakeLists.txt says $stated, not $version: change it, and see tests/check_version.py"
python3 tests/check_version.py >/dev/null || die "versions do not agree: run tests/check_version.py"
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC PYTHONDONTWRITEBYTECODE=1
umask 022
for name in "${only[@]}"; do
    [[ " ${artefacts[*]} " == *" $name "* ]] || die "there is no artefact $name: they are ${artefacts[*]}"
done

# One artefact, in a process of its own.
make_one() { # NAME FOLDER
    local name=$1 folder=$2 file
    work=$scratch/made/$name target=$scratch/out/$name
    mkdir -p "$work" "$target"
    # In the background, because bash ignores set -e in a condition.
    (cd "$scratch/checkout" && "make_$name") >"$scratch/$name.log" 2>&1 </dev/null &
    if ! wait $!; then
        sed 's/^/    /' "$scratch/$name.log" >&2
        die "$name failed"
    fi
    if [ -f "$work/left-out" ]; then
        echo "$name: left out, $(cat "$work/left-out")" | tee -a "$folder/LEFT-OUT.txt" >&2
        return
    fi
    for file in "$target"/*; do
        [ -f "$file" ] || die "$name made nothing"
        [ ! -e "$folder/$(basename "$file")" ] || die "$name makes $(basename "$file"), and so does another artefact"
        mv "$file" "$folder"
    done
}

# Builds at a place of its own, so that --check finds a path that got into an artefact.
make_all() { # FOLDER
    local folder=$1 name wanted
    scratch=$folder-work
    mkdir -p "$folder"
    mkdir -p "$scratch/checkout"
    git archive "$commit" | tar -x -C "$scratch/checkout"
    if [ -d build/venv ]; then # tools that scripts/setup.sh installed, such as a Kotlin compiler
        mkdir -p "$scratch/checkout/build"
        ln -s "$top/build/venv" "$scratch/checkout/build/venv"
    fi
    : >"$folder/LEFT-OUT.txt"
    wanted=("${artefacts[@]}")
    [ ${#only[@]} -eq 0 ] || wanted=("${only[@]}")
    for name in "${wanted[@]}"; do
        make_one "$name" "$folder"
        echo "release: $name" >&2
    done
    python3 scripts/release_notes.py "$version" CHANGELOG.md >"$folder/NOTES.md"
    python3 scripts/release_sbom.py --version "$version" --commit "$commit" --epoch "$SOURCE_DATE_EPOCH" \
        "$folder" >"$scratch/sbom"
    mv "$scratch/sbom" "$folder/privatemail-$version.spdx.json"
    (cd "$folder" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >"$scratch/sums")
    mv "$scratch/sums" "$folder/SHA256SUMS"
}

grep -q '^privatemail.url=.*\.example' android/gradle.properties &&
    echo "release: the packages name privatemail.example as their home: set addresses in android/gradle.properties" >&2
[ ! -e "$out" ] || [ -f "$out/SHA256SUMS" ] || die "$out is there, and no release is in it: name another folder by --out"
scratch_top=$(mktemp -d)
trap 'rm -rf "$scratch_top"' EXIT
make_all "$scratch_top/first"
if [ -n "$check" ]; then
    make_all "$scratch_top/elsewhere/second"
    diff -r "$scratch_top/first" "$scratch_top/elsewhere/second" >&2 || die "two runs differ"
    echo "release: two runs give the same bytes" >&2
fi
rm -rf "$out"
mkdir -p "$(dirname "$out")"
cp -R "$scratch_top/first" "$out"
echo "$out"
