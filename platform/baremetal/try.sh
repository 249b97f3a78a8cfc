#!/usr/bin/env bash
# Builds the example for the BBC micro:bit, starts it under QEMU and prints the message that it sends: from a fresh clone,
# with one command. Needs a C compiler for Cortex-M, CMake, make, Python and QEMU; nothing of PrivateMail has to be built.
#
#   platform/baremetal/try.sh [PACK]
#
# PACK: a pack of 64 features and 10 slots, as the head of example_main.c says. Without one the pack is one of the golden
# vectors (10 classes, 64 features, 4 cells per class). All that is made is in build/try.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1:-} in
-*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; [ "$1" = --help ]; exit ;;
esac
for tool in arm-none-eabi-gcc cmake make python3 qemu-system-arm; do
    command -v "$tool" >/dev/null || {
        echo "there is no $tool: run scripts/setup.sh --platforms, or install gcc-arm-none-eabi, cmake, make, python3" \
            "and qemu-system-arm" >&2
        exit 1
    }
done

out=$PWD/build/try
mkdir -p "$out"
if [ $# -gt 0 ]; then
    cp -- "$1" "$out/collection.pmpk"
else
    awk -F '\t' '$1 == "pack" && $2 ~ /^k:/ { print $3 }' tests/golden/vectors.txt |
        python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' >"$out/collection.pmpk"
fi
echo "pack: $(wc -c <"$out/collection.pmpk") bytes, in flash"

{
    cmake -S platform/baremetal -B "$out/microbit" --toolchain "$PWD/platform/cmake/arm-none-eabi.cmake" \
        -DPRIVATEMAIL_CPU=cortex-m0 -DPRIVATEMAIL_BOARD=microbit -DPRIVATEMAIL_GAUSSIAN=OFF -DPRIVATEMAIL_CROWD=OFF \
        -DPRIVATEMAIL_FRONT=OFF -DPRIVATEMAIL_TRANSPORT=OFF -DPRIVATEMAIL_PACK="$out/collection.pmpk" &&
        cmake --build "$out/microbit" -j 2 --target example
} >"$out/build.log" 2>&1 || {
    tail -n 20 "$out/build.log" >&2
    exit 1
}
arm-none-eabi-size -A "$out/microbit/example.elf" | awk '
    $1 == ".vectors" || $1 == ".text" || $1 == ".rodata" { flash += $2 }
    $1 == ".data" || $1 == ".bss" || $1 == ".stack"      { ram += $2 }
    END { print "firmware: " flash " bytes of flash, pack included; " ram " bytes of RAM, stack included" }'

# Flash as from the factory: the two pages of the budget are blank.
python3 tests/baremetal/budget_pages.py "$out"
status=0
timeout 60 qemu-system-arm -M microbit -nographic -semihosting-config enable=on,target=native \
    -device "loader,file=$out/blank.bin,addr=0x3f800,force-raw=on" -kernel "$out/microbit/example.elf" </dev/null || status=$?
[ "$status" = 0 ] || echo "the firmware ended with $status, a status of privatemail.h without its sign" >&2
exit $status
