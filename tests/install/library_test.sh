#!/usr/bin/env bash
# The library alone, and inside another project, where there is a C compiler called cc, make and CMake, but no Ninja, no
# program called gcc and nothing that the tools and tests need.
#
#   library_test.sh [CMAKE]        the CMake to use instead of the one in PATH
set -euo pipefail
cmake=$(realpath "$(command -v "${1:-cmake}")")
here=$(dirname "$(realpath "$0")")
source=$(realpath "$here/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/bin"
for tool in make ar ranlib ld nm; do
    ln -s "$(command -v "$tool")" "$work/bin"
done
ln -s /usr/bin/clang "$work/bin/cc"
# A CMake that is somewhere else than its data finds them by the link's target.
ln -s "$cmake" "$work/bin/cmake"

alone() { env -i HOME="$work" PATH="$work/bin" "$@"; }

alone cmake --version

echo "== the library alone"
alone cmake -S "$source" -B "$work/library" -DPRIVATEMAIL_TESTS=OFF -DPRIVATEMAIL_TOOLS=OFF
alone cmake --build "$work/library" -j 2
alone cmake --install "$work/library" --prefix "$work/prefix"
cc -I"$work/prefix/include" "$here/consumer.c" "$(find "$work/prefix" -name libprivatemail.a)" -o "$work/consumer"
"$work/consumer"
for line in "CMAKE_C_COMPILER:[A-Z]*=$work/bin/cc" 'CMAKE_GENERATOR:INTERNAL=Unix Makefiles' \
    PRIVATEMAIL_WERROR:BOOL=OFF; do
    grep -x "$line" "$work/library/CMakeCache.txt"
done

echo "== inside another project"
alone cmake -S "$here" -B "$work/project" -DPRIVATEMAIL_SOURCE="$source"
alone cmake --build "$work/project" -j 2
"$work/project/consumer_static"
alone cmake --install "$work/project" --prefix "$work/installed"
# Only what is asked for: no shared library, and nothing of ours in somebody else's prefix.
[ -z "$(find "$work/project" -name '*.so*' -o -name '*.dylib')" ]
[ "$(cd "$work/installed" && find . -type f)" = ./bin/consumer_static ]
