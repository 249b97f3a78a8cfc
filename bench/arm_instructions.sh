#!/usr/bin/env bash
# Instructions of the kernels on ARM, counted by QEMU: one query against 16 rows of 512 values, by each set of kernels
# that a CPU runs, which must give the same sums. Fails when dot products of bytes (Cortex-A76) take more than a third, or
# Helium (Cortex-M55) more than a quarter of the portable kernel's, each compiled by gcc as a release is: -O3, on
# Cortex-M also -Os. Prints the table of docs/RESULTS.md.
#
#   bench/arm_instructions.sh [--help]        about 10 seconds; needs scripts/setup.sh --platforms
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
'') ;;
--help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

for tool in arm-none-eabi-gcc aarch64-linux-gnu-gcc qemu-system-arm qemu-system-aarch64; do
    command -v "$tool" >/dev/null || { echo "arm_instructions: no $tool; run scripts/setup.sh --platforms"; exit 1; }
done

out=build/arm_instructions
board=platform/baremetal
sources=(core/base/kernels_portable.c platform/kernels_neon.c platform/kernels_neon_dotprod.c platform/kernels_helium.c platform/kernels_dsp.c
         $board/semihosting.c $board/memory_functions.c tests/baremetal/report.c tests/baremetal/instruction_clock.c
         tests/baremetal/kernels_firmware.c)
flags=(-std=c11 -ffreestanding -ffp-contract=off -fno-pic -nostdlib -Wall -Wextra -Werror -Icore -Icore/include -Iplatform
       -I$board -Wl,--build-id=none)
emulation=(-nographic -icount shift=0 -semihosting-config enable=on,target=native)
failed=0
fail() { echo "arm_instructions: $*"; failed=1; }

figure() { awk -v name="instructions-$1" '$1 == "figure" && $2 == name { print $3 }' "$log"; }

# row CPU LEVEL [SET TIMES]: a line of the table, from what the firmware printed; SET must take TIMES fewer.
row() {
    local cpu=$1 level=$2 set=${3:-} times=${4:-0} portable cell line name
    portable=$(figure portable)
    line="| $cpu, $level | ${portable:--} |"
    for name in dsp neon neon_dotprod helium; do
        cell=$(figure $name)
        [ -z "$cell" ] || cell=$(awk -v n="$cell" -v p="$portable" 'BEGIN { printf "%d (÷ %.1f)", n, p / n }')
        line+=" ${cell:--} |"
    done
    table+=$line$'\n'
    if grep -q '^FAILED' "$log" || [ -z "$portable" ]; then
        fail "$cpu $level:" "$(cat "$log")"
    elif [ -n "$set" ] && [ $((times * $(figure "$set"))) -gt "$portable" ]; then
        fail "$cpu $level: $set takes $(figure "$set") instructions, more than 1/$times of $portable"
    fi
}

# cortex_m BOARD CPU FLOATS LEVEL [SET TIMES]
cortex_m() {
    log=$out/$2$4.log
    arm-none-eabi-gcc "$4" -mcpu="$2" -mthumb $3 "${flags[@]}" -ffunction-sections -Wl,--gc-sections -L$board -T"$1.ld" \
        $board/startup.c "${sources[@]}" -lgcc -o "$out/$2$4.elf"
    timeout 60 qemu-system-arm -M "$1" "${emulation[@]}" -kernel "$out/$2$4.elf" </dev/null >"$log" 2>&1 || true
    row "$2" "${@:4}"
}

# cortex_a CPU SETS LEVEL [SET TIMES]: the first SETS of the list run there.
cortex_a() {
    log=$out/$1$3.log
    aarch64-linux-gnu-gcc "$3" -DSETS_THAT_RUN="$2" "${flags[@]}" -static -no-pie -Wl,--no-warn-rwx-segments \
        -Ttests/baremetal/virt.ld tests/baremetal/virt_start.S "${sources[@]}" -o "$out/$1$3.elf"
    timeout 60 qemu-system-aarch64 -M virt -cpu "$1" -net none "${emulation[@]}" -kernel "$out/$1$3.elf" \
        </dev/null >"$log" 2>&1 || true
    row "$1" "${@:3}"
}

mkdir -p "$out"
table=''
cortex_m mps2-an386 cortex-m4 '-mfloat-abi=hard -mfpu=fpv4-sp-d16' -Os
cortex_m mps2-an386 cortex-m4 '-mfloat-abi=hard -mfpu=fpv4-sp-d16' -O3
cortex_m mps2-an500 cortex-m7 '-mfloat-abi=hard -mfpu=fpv5-d16' -Os
cortex_m mps2-an500 cortex-m7 '-mfloat-abi=hard -mfpu=fpv5-d16' -O3
cortex_m mps3-an547 cortex-m55 -mfloat-abi=hard -Os helium 4
cortex_m mps3-an547 cortex-m55 -mfloat-abi=hard -O3 helium 4
cortex_a cortex-a53 2 -O3
cortex_a cortex-a76 3 -O3 neon_dotprod 3

echo '| CPU, level | portable | DSP | NEON | NEON dotprod | Helium |'
echo '|---|---|---|---|---|---|'
printf %s "$table"
exit $failed
