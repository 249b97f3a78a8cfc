#!/usr/bin/env bash
# Installs a build, moves the installed tree, and uses it from there through find_package and through pkg-config,
# static and shared. Also checks that the headers are clean C++, and that the shared library exports what they declare
# and nothing else.
#   install_test.sh BUILD
set -euo pipefail
build=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Moved, since an installed package must not remember where it was installed.
cmake --install "$build" --prefix "$work/first"
prefix=$work/moved
mv "$work/first" "$prefix"
library=$(dirname "$(find "$prefix" -name libprivatemail.a)")

echo "== find_package"
cmake -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/consumer"
env -i "$work/consumer/ten_lines"
"$work/consumer/consumer_static"
"$work/consumer/consumer_shared"
"$work/consumer/consumer_transport"

echo "== pkg-config"
export PKG_CONFIG_PATH=$library/pkgconfig
cc "$here/ten_lines.c" -o "$work/ten" $(env -i PATH="$PATH" PKG_CONFIG_PATH="$PKG_CONFIG_PATH" \
    pkg-config --cflags --libs privatemail)
env -i LD_LIBRARY_PATH="$library" "$work/ten"
cc "$here/consumer.c" -o "$work/shared" $(pkg-config --cflags --libs privatemail)
LD_LIBRARY_PATH=$library "$work/shared"
cc -static "$here/consumer.c" -o "$work/static" $(pkg-config --static --cflags --libs privatemail)
"$work/static"
cc "$here/consumer_transport.c" -o "$work/transport" $(pkg-config --cflags --libs privatemail_transport)
LD_LIBRARY_PATH=$library "$work/transport"

echo "== C++"
printf '%s\n' '#include <privatemail_platform.h>' '#include <privatemail_public.h>' '#include <privatemail_transport.h>' \
    'unsigned char memory[PML_GAUSSIAN_MEMORY(512, 100, 10, 2) + PML_RESPONSE_MEMORY(512, 100)];' \
    'unsigned char ranking[PML_RANKING_MEMORY(512, 131, 256)];' |
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Wold-style-cast -Werror -fsyntax-only -I"$prefix/include" -x c++ -

echo "== exported symbols"
find "$prefix/include" -name '*.h' ! -name privatemail_transport.h -exec cat {} + | # which is a library of its own
    sed -nE '/^PML_API/ { :join /;/! { N; b join }; s/\n/ /g; s/[^(]*\b(pml_[a-z0-9_]+) *\(.*/\1/p }' |
    sort > "$work/declared"
nm -D --defined-only "$library/libprivatemail.so" | awk '{ print $3 }' | sort > "$work/exported"
diff "$work/declared" "$work/exported"
wc -l < "$work/exported"
