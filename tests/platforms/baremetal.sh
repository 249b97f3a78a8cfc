#!/usr/bin/env bash
# Cortex-M and RISC-V firmware under QEMU: builds platform/baremetal and tests/baremetal for six boards, compares the
# golden bytes on each, of the library and of the pair of files of scripts/amalgamate.py, measures code, RAM and stack and
# holds them to limits. Rows of the table in docs/PLATFORMS.md go to build/platforms/baremetal.rows, what the programs
# printed to build/platforms/baremetal/BOARD/*.log.
#
#   tests/platforms/baremetal.sh [--help]        about 40 seconds; needs scripts/setup.sh --platforms
#
# What the columns mean here
#   .text   code and constants of the library that golden_firmware links (packs, budgets, releases, rows, answers; not
#           curves, receipts, texts), from the linker's map; without libgcc's arithmetic, which is printed beside it
#   RAM     of the whole example firmware (64 features, 10 slots, 4 cells): used is .data + .bss + the stack that it used,
#           linked is what the linker takes, with the whole stack reserve
#   stack   the deepest call of the library, by paint, the test's small callbacks included
set -euo pipefail
cd "$(dirname "$0")/../.."

# What scripts/size.sh allows the full build. Response only is larger here than there: the Cortex-M0 has but the 16-bit
# instructions.
text_limit_full=32768
text_limit_response=16384
# A quarter of the smallest board, so that the rest is the application's.
ram_limit=4096
# README's promise, and what firmware_sections.ld reserves at least.
stack_limit=2048
# 32-bit RISC-V takes more instructions than Thumb, above all for 64-bit numbers.
text_limit_riscv32=36864
# Words of 64-bit processors are twice as long, and more of the stack is wiped.
ram_limit_64=8192
stack_limit_64=4096
# Of the smallest board.
microbit_ram=16384

out=$PWD/build/platforms/baremetal
rows=$PWD/build/platforms/baremetal.rows
vectors=tests/golden/vectors.txt

source tests/platforms/frame.sh
needs arm-none-eabi-gcc cmake make ninja python3 qemu-system-arm qemu-system-riscv32 qemu-system-riscv64 \
    riscv64-unknown-elf-gcc

below() { [ "$1" -lt "$2" ]; }
between() { [ "$2" -le "$1" ] && [ "$1" -le "$3" ]; }

# ---- build -------------------------------------------------------------------------------------------------------

# build BOARD CPU GAUSSIAN: which also says whether there are crowds and fronts.
build() {
    rm -rf "${out:?}/$1"
    mkdir -p "$out/$1"
    if ! { cmake -G Ninja -S tests/baremetal -B "$out/$1" --toolchain "$PWD/platform/cmake/$toolchain.cmake" \
        -DCMAKE_BUILD_TYPE=MinSizeRel -DPRIVATEMAIL_BOARD="$1" -DPRIVATEMAIL_CPU="$2" -DPRIVATEMAIL_GAUSSIAN="$3" \
        -DPRIVATEMAIL_CROWD="$3" -DPRIVATEMAIL_FRONT="$3" -DPRIVATEMAIL_TRANSPORT="$transport" -DPRIVATEMAIL_PACK="$out/collection.pmpk" &&
        cmake --build "$out/$1" -j 2; } >"$out/$1/build.log" 2>&1; then
        cat "$out/$1/build.log"
        return 1
    fi
}

# ---- run ---------------------------------------------------------------------------------------------------------

# emulate BOARD PROGRAM [PAGES]: its output in PROGRAM.log, its exit code is the answer. A micro:bit gets the two pages
# of its budget from PAGES.bin (tests/baremetal/budget_pages.py): blank, as from the factory, unless told otherwise.
emulate() {
    local options=(-M "$1") emulator=qemu-system-arm
    case $1 in
    microbit) options+=(-device "loader,file=$out/${3:-blank}.bin,addr=0x3f800,force-raw=on") ;;
    riscv*) emulator=qemu-system-${1%-virt} options=(-M virt -bios none) ;;
    esac
    timeout 300 $emulator -nographic -semihosting-config enable=on,target=native "${options[@]}" \
        -kernel "$out/$1/$2.elf" </dev/null >"$out/$1/$2.log" 2>&1
}

# run BOARD PROGRAM: each check of the firmware counts; so does how it ends.
run() {
    local status=0 word name
    emulate "$1" "$2" || status=$?
    while read -r word name; do
        case $word in
        ok) check "$1: $name" true ;;
        FAILED) check "$1: $name" false ;;
        differs:) echo "        differs: $name" ;;
        esac
    done <"$out/$1/$2.log"
    check "$1: $2 ends with 0 ($status)" [ "$status" = 0 ]
}

# figure BOARD PROGRAM NAME: a number that the firmware printed; 0 when it did not.
figure() { awk -v name="$3" '$1 == "figure" && $2 == name { value = $3 } END { print value + 0 }' "$out/$1/$2.log"; }

# equal BOARD WHAT: "good of all", of the line that the firmware printed.
equal() { sed -n "s/^[a-zA-Z]* $2: //p" "$out/$1/golden_firmware.log"; }

# expected GAUSSIAN releases|answers: how many of the vectors a build can make, read from the vectors themselves. A pack
# has response when its m, the u32 at byte 64, is not 0, and fronts when its minor version, at byte 6, is 3.
expected() {
    awk -F '\t' -v gaussian="$1" -v what="$2" '
        $1 == "pack" { alone[packs++] = substr($3, 129, 8) != "00000000" && substr($3, 13, 2) != "03" }
        $1 == "release" && (gaussian == "ON" || $4 == 1 && alone[$3])  { count["releases"]++ }
        $1 == "answer" && (gaussian == "ON" || alone[$3])              { count["answers"]++ }
        END { print count[what] " of " count[what] }' $vectors
}

# ---- measure -----------------------------------------------------------------------------------------------------

# linked MAP ARCHIVE: bytes that the archive's objects put into .text and .rodata, equal strings counted each time.
linked() {
    awk -v archive="$2" '
        /^Linker script and memory map/   { on = 1 }
        /^\.[a-zA-Z]/                     { inside = $1 == ".text" || $1 == ".rodata" }
        on && inside && index($NF, archive "(") && $(NF - 1) ~ /^0x/ { print $(NF - 1) }' "$1" |
        python3 -c 'import sys; print(sum(int(line, 16) for line in sys.stdin))'
}

# static_ram ELF: .data + .bss, without the stack's reserve.
static_ram() { "$tools-size" -A "$1" | awk '$1 == ".data" || $1 == ".bss" { n += $2 } END { print n }'; }

# reserved_ram ELF: all that the linker gave away, with the whole stack.
reserved_ram() {
    local limit top
    limit=$("$tools-nm" "$1" | awk '$3 == "firmware_stack_limit" { print $1 }')
    top=$("$tools-nm" "$1" | awk '$3 == "firmware_bss_end" { print $1 }')
    echo $((16#$top - 16#$limit))
}

# stack_bound BOARD: the deepest that the call graph allows.
stack_bound() {
    local objects=$out/$1/firmware/privatemail/CMakeFiles/privatemail_core.dir/core taken
    taken=$("$tools-objdump" -r "$objects"/*.obj "$objects"/*/*.obj | awk '
        /^RELOCATION RECORDS FOR/ { inside = substr($4, 2, length($4) - 3) } # whose own tables of jumps do not count
        $2 ~ /^R_(ARM_(ABS32|MOV|THM_MOV)|RISCV_(32|64|HI20|PCREL_HI20)$)/ && $3 != inside { sub(/^\.text\./, "", $3); print $3 }' | sort -u)
    python3 scripts/stack_depth.py core/include/privatemail.h --taken $taken --graphs "$objects"/*.ci "$objects"/*/*.ci | cut -d ' ' -f 1
}

# Its own checks are those of golden_firmware; here that it had no other code to fall back on.
same_without_library() {
    [ "$(linked "$out/$1/amalgamated_firmware.map" libprivatemail.a)" = 0 ] &&
        diff <(grep -E '^(ok|FAILED) ' "$out/$1/golden_firmware.log") \
            <(grep -E '^(ok|FAILED) ' "$out/$1/amalgamated_firmware.log")
}

# board NAME CPU GAUSSIAN TEXT_LIMIT PLATFORM: by the toolchain $toolchain, whose tools begin with $tools.
toolchain=arm-none-eabi tools=arm-none-eabi transport=ON
board() {
    local name=$1 gaussian=$3 text_limit=$4 platform=$5 text helpers ram used stack bound kind call golden
    if ! build "$name" "$2" "$gaussian"; then
        check "$name: builds" false
        echo "| $platform | no | no | - | - | - | - |" >>"$rows"
        return
    fi
    check "$name: builds" true
    run "$name" golden_firmware
    for kind in releases answers; do
        check "$name: these are all $kind of the vectors that this build can make" \
            [ "$(equal "$name" "$kind")" = "$(expected "$gaussian" "$kind")" ]
    done
    [ ! -e "$out/$name/kernels_firmware.elf" ] || run "$name" kernels_firmware
    run "$name" amalgamated_firmware
    check "$name: the pair of files needs nothing of the library, and gives as many golden bytes" same_without_library "$name"
    run "$name" metered_example
    check "$name: the example sends a release of its pack" grep -qxE "message a400010150${pack_id}02010443[0-9a-f]{6}" \
        "$out/$name/metered_example.log"

    text=$(linked "$out/$name/golden_firmware.map" libprivatemail.a)
    helpers=$(linked "$out/$name/golden_firmware.map" libgcc.a)
    ram=$(static_ram "$out/$name/metered_example.elf")
    used=$(figure "$name" metered_example example-stack)
    stack=$(figure "$name" golden_firmware stack-deepest)
    bound=$(stack_bound "$name") || bound=0
    for call in open init arm release rows answer; do
        printf '        stack of %-8s %5d bytes\n' "$call" "$(figure "$name" golden_firmware "stack-$call")"
    done
    check "$name: library $text bytes of code and constants, limit $text_limit (and $helpers of libgcc)" \
        below "$text" "$text_limit"
    check "$name: example $ram bytes static + $used stack = $((ram + used)) of RAM, limit $ram_limit" \
        below $((ram + used)) "$ram_limit"
    check "$name: deepest stack $stack bytes, limit $stack_limit" below "$stack" "$stack_limit"
    # Half: the bound adds worst cases up, but not to twice what happens.
    check "$name: that is at most the call graph's bound $bound, and at least half of it" \
        between "$stack" $((bound / 2)) "$bound"
    golden=$(equal "$name" releases)
    echo "| $platform | yes | qemu-system | $golden | $(kib "$text")" \
        "| $((ram + used)) bytes used, $(reserved_ram "$out/$name/metered_example.elf") linked | $stack bytes |" \
        >>"$rows"
}

# ---- what must fail ----------------------------------------------------------------------------------------------

# The comparison, when one bit of one release is another.
flipped_fails() {
    local status=0 all
    all=$(expected OFF releases)
    all=${all% of *}
    emulate microbit flipped_firmware || status=$?
    [ "$status" = 1 ] && grep -q "^FAILED releases: $((all - 1)) of $all\$" "$out/microbit/flipped_firmware.log" &&
        [ "$(grep -c '^FAILED' "$out/microbit/flipped_firmware.log")" = 1 ]
}

# links_with SED_SCRIPT: the example, with the board's script changed so.
links_with() {
    sed "$1" platform/baremetal/microbit.ld >"$out/changed.ld"
    ! cmp -s "$out/changed.ld" platform/baremetal/microbit.ld &&
        ninja -C "$out/microbit" -t commands metered_example.elf | tail -n 1 |
        sed "s|-Tmicrobit.ld|-T$out/changed.ld|; s|=metered_example.map|=changed.map|; s|-o [^ ]*|-o changed.elf|" |
            (cd "$out/microbit" && bash) >"$out/changed.log" 2>&1
}

refused_with() { ! links_with "$1" && grep -q "$2" "$out/changed.log"; }

entropy_refuses() {
    ! arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -ffreestanding -Iplatform/baremetal -c -o "$out/entropy.o" \
        platform/baremetal/entropy_example.c >"$out/entropy.log" 2>&1 && grep -q 'No entropy source' "$out/entropy.log"
}

# refused_after PAGES STATUS: the example, started with such a budget in flash, ends with that status and sends nothing.
refused_after() {
    local status=0
    emulate microbit metered_example "$1" || status=$?
    [ "$status" = "$2" ] && ! grep -q '^message' "$out/microbit/metered_example.log"
}

pack_in_flash() {
    arm-none-eabi-nm "$1" | awk '$3 == "pack_in_flash" { place = $1 } END { exit !(place != "" && place < "00040000") }'
}

# Three messages, each about one of 2^18: that all are equal by chance happens once in 2^36.
entropy_differs() {
    local i
    for i in 1 2 3; do
        emulate microbit metered_example || return 1
        grep '^message' "$out/microbit/metered_example.log"
    done | sort -u >"$out/messages"
    [ "$(wc -l <"$out/messages")" -gt 1 ]
}

microbit_only() {
    local all needed
    run microbit store_firmware
    all=$(reserved_ram "$out/microbit/golden_firmware.elf")
    check "microbit: the test of all vectors takes $all bytes of RAM, stack reserve included, limit $microbit_ram" \
        below "$all" $microbit_ram
    check "microbit: the example's pack lies in flash" pack_in_flash "$out/microbit/metered_example.elf"
    check "microbit: a budget found spent in flash is refused (PML_ERROR_SPENT)" refused_after spent 21
    check "microbit: a budget of version 1 found spent in flash is refused (PML_ERROR_SPENT)" refused_after old 21
    check "microbit: a budget found damaged in flash is refused (PML_ERROR_BUDGET)" refused_after damaged 20
    check "microbit: the example draws from the chip's generator, differently each time" entropy_differs
    check "the entropy example does not compile for a chip that it does not know" entropy_refuses
    check "one wrong bit in one release makes the firmware fail" flipped_fails

    needed=$(reserved_ram "$out/microbit/metered_example.elf")
    check "RAM of exactly the $needed bytes needed links" links_with "s/LENGTH = 16K/LENGTH = $needed/"
    check "RAM of 1 KiB less is refused by the linker, which says why" \
        refused_with "s/LENGTH = 16K/LENGTH = $((needed - 1024))/" 'RAM is too small for the stack reserve'
    check "a stack reserve below the library's limit is refused" \
        refused_with 's/firmware_stack_size = 3K/firmware_stack_size = 1K/' 'firmware_stack_size: PrivateMail'
}

# ---- what the README prints ---------------------------------------------------------------------------------------

readme=platform/baremetal/README.md

# Every object of the lists, the kernels too, and nothing that is not the compiler's or memory_functions.c's.
makefile_as_printed() {
    rm -rf build/objects build/libprivatemail.a
    sed -n '/^```make$/,/^```$/p' $readme | sed '1d;$d' >"$out/Makefile" &&
        make -f "$out/Makefile" CC="arm-none-eabi-gcc -Wall -Wextra -Werror" &&
        arm-none-eabi-nm build/libprivatemail.a | grep -E ' T pml_(client_release|platform_kernels)$' &&
        arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Wl,--gc-sections -Wl,-e,pml_client_release \
            -Wl,-u,pml_client_arm -Wl,-u,pml_platform_kernels -Iplatform/baremetal \
            platform/baremetal/memory_functions.c build/libprivatemail.a -lgcc -o "$out/printed.elf"
}

# From a fresh clone, with one command, and with a pack of the user's own.
example_as_printed() {
    rm -rf build/try
    platform/baremetal/try.sh >"$out/try.log" 2>&1 &&
        grep -xE "message a400010150${pack_id}02010443[0-9a-f]{6}" "$out/try.log" &&
        platform/baremetal/try.sh "$out/collection.pmpk" >"$out/try.log" 2>&1 && grep '^message' "$out/try.log"
}

# A pack that is none ends with the status of the library, and nothing is sent.
example_refuses() {
    local status=0
    echo "no pack" >"$out/none.pmpk"
    platform/baremetal/try.sh "$out/none.pmpk" >"$out/try.log" 2>&1 || status=$?
    [ "$status" = 12 ] && ! grep '^message' "$out/try.log"
}

# ---- all of it ---------------------------------------------------------------------------------------------------

mkdir -p "$out"
: >"$rows"
pack_id=$(awk -F '\t' '$1 == "pack" && $2 ~ /^k:/ { print $4 }' $vectors)
awk -F '\t' '$1 == "pack" && $2 ~ /^k:/ { print $3 }' $vectors |
    python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' >"$out/collection.pmpk"
python3 tests/baremetal/budget_pages.py "$out"

board microbit cortex-m0 OFF $text_limit_response 'Cortex-M0 (microbit, response only)'
if [ -e "$out/microbit/store_firmware.elf" ]; then microbit_only; fi
board mps2-an386 cortex-m4 ON $text_limit_full 'Cortex-M4F (mps2-an386)'
board mps2-an500 cortex-m7 ON $text_limit_full 'Cortex-M7 (mps2-an500)'
board mps3-an547 cortex-m55 ON $text_limit_full 'Cortex-M55 (mps3-an547)'

# BearSSL wants <string.h>, which this compiler lacks.
toolchain=riscv-unknown-elf tools=riscv64-unknown-elf transport=OFF
board riscv32-virt rv32imac ON $text_limit_riscv32 'RISC-V, 32 bits (rv32imac, virt)'
ram_limit=$ram_limit_64 stack_limit=$stack_limit_64
board riscv64-virt rv64imafdc ON $text_limit_full 'RISC-V, 64 bits (rv64gc, virt)'

check "README: the makefile works as printed" makefile_as_printed
check "README: try.sh prints a message" example_as_printed
check "try.sh refuses what is no pack (PML_ERROR_PACK_VERSION)" example_refuses

cat "$rows"
sum_up
