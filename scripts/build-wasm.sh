#!/usr/bin/env bash
# Builds privatemail.wasm (the whole core and the client's part of the transport, freestanding) and puts privatemail.js
# with its modules, its types and its README beside it: all that a page or an npm package needs, and nothing else.
#
#   scripts/build-wasm.sh [--out DIR] [--tarball FILE]
#
#   --out DIR         build/wasm unless given
#   --tarball FILE    also makes the npm package, for npm install FILE; it is not published anywhere
#
# Needs clang and lld (scripts/setup.sh installs them). CLANG and WASM_LD name other ones than /usr/bin's. Two builds by
# the same tools give the same bytes. Fails when the file is larger than 76 KiB, about 18 of them for sealing and 4.5 for
# fronts. BearSSL's sources are where scripts/setup.sh puts them, or in BEARSSL_DIR.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
die() { echo "build-wasm: $*" >&2; exit 1; }

out=build/wasm
tarball=
while [ $# -gt 0 ]; do
    case $1 in
    --out)
        [ -n "${2:-}" ] || die "--out needs a folder"
        out=$2
        [ "${out#/}" != "$out" ] || out=$here/$out
        shift
        ;;
    --tarball)
        [ -n "${2:-}" ] || die "--tarball needs the name of a file"
        tarball=$2
        [ "${tarball#/}" != "$tarball" ] || tarball=$here/$tarball
        shift
        ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done

clang=${CLANG:-/usr/bin/clang}
linker=${WASM_LD:-/usr/bin/wasm-ld}
for tool in "$clang" "$linker"; do
    command -v "$tool" >/dev/null || die "there is no $tool: run scripts/setup.sh, or set CLANG and WASM_LD"
done

bearssl=${BEARSSL_DIR:-${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}/bearssl}
[ -f "$bearssl/inc/bearssl.h" ] || die "there are no sources of BearSSL in $bearssl: run scripts/setup.sh, or set BEARSSL_DIR"

size_limit=$((76 * 1024)) # 4 of them are coded sketches
stack_size=8192

objects=$(mktemp -d) # not in the folder, which may be a page's
trap 'rm -rf "$objects"' EXIT

# -mbulk-memory: memcpy and memset are instructions of every browser since 2021.
flags=(--target=wasm32 -std=c11 -ffreestanding -mbulk-memory -mmutable-globals -ffp-contract=off
       -fvisibility=hidden -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Werror -I. -Icore -Icore/include
       -Itransport/include -isystem "$objects/include" -isystem "$bearssl/inc")

theirs=(--target=wasm32 -std=c11 -ffreestanding -mbulk-memory -mmutable-globals -fvisibility=hidden
        -isystem "$objects/include" -I"$bearssl/inc" -I"$bearssl/src")

# What privatemail.js calls; the linker leaves out the rest. glue.c names its own exports.
exports=(__heap_base __stack_pointer
         pml_status_text pml_version pml_recall_ceiling pml_epsilon_for
         pml_pack_open pml_pack_describe pml_pack_model pml_pack_modality pml_pack_class pml_pack_anchor_slot pml_pack_anchor_code
         pml_budget_restore pml_budget_remaining
         pml_client_arm pml_client_disarm pml_client_release_size pml_client_receipt pml_client_wipe
         pml_ranking_size pml_ranking_feed pml_ranking_finish pml_ranking_wipe
         pml_release_rows
         pml_guess_size pml_looks_size pml_looks_begin pml_looks_add pml_looks_mean
         pml_crowd_arm pml_crowd_begin pml_crowd_left pml_crowd_next
         pml_crowd_scratch pml_crowd_delta pml_crowd_epsilon pml_crowd_mu pml_crowd_plan
         pml_keys_hold pml_message_size pml_open_status pml_open_end pml_opener_wipe)

mkdir -p "$out" "$objects/include"
cp platform/wasm/memory.h "$objects/include/string.h"
# list NAME FOLDER: one list of transport/transport_sources.cmake.
list() { sed -n "/^set($1\$/,/^)/s|^ *\([a-z0-9_/]*\.c\)\$|$2/\1|p" transport/transport_sources.cmake; }

sources=($(sed -nE 's/^ +([a-z0-9_/]+\.c)$/core\/\1/p' core/sources.cmake) platform/wasm/{glue,memory}.c
         $(list PML_TRANSPORT_CLIENT_SOURCES transport) $(list PML_TRANSPORT_BEARSSL_SOURCES transport))
for source in "${sources[@]}"; do
    case $source in
    */kernels_portable.c) level=-O2 ;; # where a client spends its time
    *) level=-Os ;;                    # a page is downloaded more often than it is run
    esac
    "$clang" "${flags[@]}" $level -c "$source" -o "$objects/$(basename "$source" .c).o"
done

for source in $(list PML_BEARSSL_SOURCES "$bearssl"); do
    "$clang" "${theirs[@]}" -Os -c "$source" -o "$objects/$(basename "$source" .c).o"
done

# The stack comes first in memory, so that an overflow traps instead of overwriting data.
"$linker" --no-entry --strip-all --gc-sections --stack-first -z stack-size=$stack_size \
    "${exports[@]/#/--export=}" "$objects"/*.o -o "$out/privatemail.wasm"
cp platform/wasm/*.js platform/wasm/*.d.ts platform/wasm/{package.json,README.md} LICENSE "$out"
cp "$bearssl/LICENSE.txt" "$out/LICENSE-BearSSL"

size=$(wc -c <"$out/privatemail.wasm")
printf 'privatemail.wasm: %d bytes (limit %d)\n' "$size" "$size_limit"
[ "$size" -lt "$size_limit" ] || die "privatemail.wasm is larger than its limit"

# As npm pack makes it, but with the same bytes each time: names sorted, one date, no owner.
if [ -n "$tarball" ]; then
    mkdir -p "$(dirname "$tarball")"
    (cd "$out" && tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r --format=ustar \
        --transform='s|^|package/|' -cf - *.js *.d.ts privatemail.wasm package.json README.md LICENSE LICENSE-BearSSL) |
        gzip -9n >"$tarball"
    printf '%s: %d bytes\n' "$(basename "$tarball")" "$(wc -c <"$tarball")"
fi
