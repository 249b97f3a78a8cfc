#!/usr/bin/env bash
# What the core costs on a small device (Cortex-M4, -Os), and the transport with BearSSL's part: code and constants,
# writable data, stack; and what they take from outside, there and on this machine. Fails when a limit is exceeded.
set -euo pipefail
cd "$(dirname "$0")/.."

text_limit_full=32768
text_limit_response=17408
text_limit_front=2560      # what fronts add, with the exponential
text_limit_head=2048       # what heads and looks add to that
text_limit_client=3072     # what the client of a crowd adds
text_limit_accounting=6144 # what its accounting adds
stack_limit=2048
text_limit_transport=16384 # a client's part, with what it takes of BearSSL
stack_limit_transport=2560

flags=(-Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=c11 -ffreestanding -ffunction-sections
       -ffp-contract=off -Wall -Wextra -Wconversion -Wsign-conversion -Werror -Icore -Icore/include -fcallgraph-info=su)
out=build/size
headers=(core/include/privatemail.h core/include/privatemail_public.h core/include/privatemail_crowd.h)
failed=0

fail() { echo "size: $*"; failed=1; }

# Files of one list of core/sources.cmake or transport/transport_sources.cmake.
list() { sed -n "/^set($1\$/,/^)/p" core/sources.cmake transport/transport_sources.cmake | grep -oE '^ +[a-z0-9_/]+\.c'; }

# Prints the symbols that the objects take from outside, beyond the four of memory and the compiler's own helpers.
foreign() {
    local nm=$1 ld=$2
    shift 2
    "$ld" -r -o "$out/core.o" "$@"
    "$nm" -u "$out/core.o" | awk '{ print $2 }' | grep -vxE \
        'mem(cpy|move|set|cmp)|__aeabi_[a-z0-9_]+|__[a-z]+[sdt]i[234]|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail' || true
}

# build NAME RESPONSE GAUSSIAN FRONT CROWD TEXT_LIMIT: leaves the bytes of code in $text. FRONT is 0, 1, or head for heads
# and looks too; CROWD is 0, client or all.
build() {
    local name=$1 response=$2 gaussian=$3 front=$4 crowd=$5 limit=$6 dir=$out/$1 sources source stack
    rm -rf "$dir"
    mkdir -p "$dir"
    sources=$(list PML_CORE_SOURCES)
    [ "$gaussian" = 0 ] || sources+=" $(list PML_CORE_GAUSSIAN_SOURCES)"
    [ "$response" = 0 ] || sources+=" $(list PML_CORE_RESPONSE_SOURCES)"
    [ "$front" = 0 ] || sources+=" $(list PML_CORE_FRONT_SOURCES)"
    [ "$front" != head ] || sources+=" $(list PML_CORE_HEAD_SOURCES)"
    [ "$gaussian$front" = 00 ] || sources+=" $(list PML_CORE_EXPONENTIAL_SOURCES)"
    [ "$gaussian$crowd" = 00 ] || sources+=" $(list PML_CORE_NORMAL_SOURCES)"
    [ "$crowd" = 0 ] || sources+=" $(list PML_CORE_CROWD_SOURCES)"
    [ "$crowd" != all ] || sources+=" $(list PML_CORE_CROWD_ACCOUNTING_SOURCES)"
    for source in $sources; do
        arm-none-eabi-gcc "${flags[@]}" -DPML_WITH_RESPONSE="$response" -DPML_WITH_GAUSSIAN="$gaussian" \
            -DPML_WITH_CROWD="$([ "$crowd" = 0 ] && echo 0 || echo 1)" \
            -DPML_WITH_FRONT="$([ "$front" = 0 ] && echo 0 || echo 1)" \
            -DPML_WITH_HEAD="$([ "$front" = head ] && echo 1 || echo 0)" \
            -c "core/$source" -o "$dir/$(basename "$source" .c).o"
    done

    stack=$(python3 scripts/stack_depth.py "${headers[@]}" --taken $(taken "$dir"/*.o) --graphs "$dir"/*.ci) ||
        fail "$name: the stack has no bound"
    report "$name" "$limit" "$stack_limit" "$stack" "$dir"/*.o
}

# Functions whose address is taken: by an absolute relocation that is not a call, nor a function's own table of jumps.
taken() {
    arm-none-eabi-objdump -r "$@" | awk '
        /^RELOCATION RECORDS FOR/ { inside = substr($4, 2, length($4) - 3) }
        $2 ~ /^R_ARM_(ABS32|MOV|THM_MOV)/ && $3 != inside { sub(/^\.text\./, "", $3); print $3 }' | sort -u
}

# report NAME TEXT_LIMIT STACK_LIMIT "STACK CHAIN" OBJECT...: prints a row and compares it with the limits.
report() {
    local name=$1 limit=$2 deepest=$3 chain=${4#* } stack=${4%% *} data unknown
    shift 4
    read -r text data < <(arm-none-eabi-size -A "$@" | awk '
        /^\.(text|rodata)/ { text += $2 }
        /^\.(data|bss)/    { data += $2 }
        END                { print text + 0, data + 0 }')
    printf '%-14s %6d %6s %5d %6d %5d  %s\n' "$name" "$text" "$limit" "$data" "${stack:-0}" "$deepest" "$chain"
    [ "$limit" = - ] || [ "$text" -lt "$limit" ] || fail "$name: $text bytes of code, the limit is $limit"
    [ "$data" = 0 ] || fail "$name: $data bytes of writable data"
    [ "${stack:-0}" -lt "$deepest" ] || fail "$name: $stack bytes of stack, the limit is $deepest"
    unknown=$(foreign arm-none-eabi-nm arm-none-eabi-ld "$@")
    [ -z "$unknown" ] || fail "$name: takes from outside:" $unknown
}

# What a client of a crowd links besides the core: our objects, and those of BearSSL that they pull in.
build_transport() {
    local dir=$out/transport source stack
    local bearssl=${BEARSSL_DIR:-${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}/bearssl}
    rm -rf "$dir"
    mkdir -p "$dir/ours" "$dir/table" "$dir/theirs"
    for source in $(list PML_TRANSPORT_CLIENT_SOURCES) ../core/base/wipe.c; do
        arm-none-eabi-gcc "${flags[@]}" -I. -Itransport/include -c "transport/$source" \
            -o "$dir/ours/$(basename "$source" .c).o"
    done
    for source in $(list PML_TRANSPORT_BEARSSL_SOURCES); do
        arm-none-eabi-gcc "${flags[@]}" -I. -Itransport/include -isystem "$bearssl/inc" -c "transport/$source" \
            -o "$dir/table/$(basename "$source" .c).o"
    done
    for source in $(list PML_BEARSSL_SOURCES); do
        arm-none-eabi-gcc -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -fcallgraph-info=su \
            -I"$bearssl/inc" -I"$bearssl/src" -c "$bearssl/$source" -o "$dir/theirs/$(basename "$source" .c).o"
    done
    arm-none-eabi-ar rcs "$dir/theirs.a" "$dir"/theirs/*.o
    arm-none-eabi-ld -r -M -o "$dir/transport.o" "$dir"/ours/*.o "$dir"/table/*.o "$dir/theirs.a" > "$dir/map"
    # What was not pulled in does not count for the stack either. Of BearSSL our table calls only the curve by pointer.
    for source in "$dir"/theirs/*.o; do
        grep -qF "theirs.a($(basename "$source"))" "$dir/map" || rm "${source%.o}.ci"
    done
    stack=$(python3 scripts/stack_depth.py transport/include/privatemail_transport.h \
        --taken $(taken "$dir"/ours/*.o "$dir"/table/*.o "$dir"/theirs/*.o) \
        --graphs "$dir"/ours/*.ci --graphs "$dir"/table/*.ci --graphs "$dir"/theirs/ec_*.ci \
        --graphs $(ls "$dir"/theirs/*.ci | grep -v /ec_)) ||
        fail "transport: the stack has no bound"
    report transport "$text_limit_transport" "$stack_limit_transport" "$stack" "$dir/transport.o"
}

printf '%-14s %6s %6s %5s %6s %5s  %s\n' build text limit data stack limit "deepest calls"
build gaussian-only 0 1 0 0 -
build response-only 1 0 0 0 $text_limit_response
build response-front 1 0 1 0 $((text + text_limit_front))
build response-head 1 0 head 0 $((text + text_limit_head))
build full 1 1 head 0 $text_limit_full
build crowd-client 1 1 head client $((text + text_limit_client))
build crowd 1 1 head all $((text + text_limit_accounting))
build_transport
echo "text is .text + .rodata. Stack is without the caller's own callbacks (entropy, persist)."

host=(build/release/CMakeFiles/privatemail_core.dir/core/*.o build/release/CMakeFiles/privatemail_core.dir/core/*/*.o)
if [ -e "${host[0]}" ]; then
    unknown=$(foreign nm ld "${host[@]}")
    [ -z "$unknown" ] || fail "build/release: takes from outside:" $unknown
    data=$(size -A "${host[@]}" | awk '/^\.(data|bss)/ && !/^\.data\.rel\.ro/ { n += $2 } END { print n + 0 }')
    [ "$data" = 0 ] || fail "build/release: $data bytes of writable data"
else
    fail "build/release is not built"
fi

exit $failed
