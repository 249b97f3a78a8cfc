#!/usr/bin/env bash
# The frame of the scripts that build and run platforms: sourced, never run. A script says --help with the comment at its
# head, counts its checks here, keeps what they print in the folder $out, and ends with sum_up.

frame_help() { sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//p}' "$0"; }

case ${1:-} in
'') ;;
--help | -h) frame_help; exit 0 ;;
*) frame_help >&2; exit 2 ;;
esac

passed=0 failed=0 skipped=0

pass() { echo "ok      $*"; passed=$((passed + 1)); }
fail() { echo "FAILED  $*"; failed=$((failed + 1)); }
skip() { echo "skipped $*"; skipped=$((skipped + 1)); }

# must NAME COMMAND...: one check; the end of what the command printed is shown when it failed, and the answer is 1.
must() {
    local name=$1
    shift
    if "$@" >"$out/check.log" 2>&1; then
        pass "$name"
    else
        fail "$name"
        tail -n 40 "$out/check.log" | sed 's/^/        /'
        return 1
    fi
}

# check NAME COMMAND...: the same where the script goes on.
check() { must "$@" || true; }

# patiently COMMAND...: what fetches from a network, which may fail for a moment: up to three times.
patiently() {
    local pause
    for pause in 10 60; do
        "$@" && return
        echo "once more in $pause s: $*"
        sleep "$pause"
    done
    "$@"
}

# counted NAME COMMAND...: a command that counts checks of its own, in a last line 'N passed, N failed', which is added
# up and not repeated. What it printed stays in $out/NAME.log.
counted() {
    local name=$1 log="$out/$1.log" good=0 bad=0
    shift
    "$@" >"$log" 2>&1 || true
    if tail -n 1 "$log" | grep -qxE '[0-9]+ passed, [0-9]+ failed'; then
        read -r good _ bad _ < <(tail -n 1 "$log")
        sed '$d' "$log"
        passed=$((passed + good))
        failed=$((failed + bad))
    else
        cat "$log"
        fail "$name: it died"
    fi
}

# needs TOOL...: ends the script when one is missing.
needs() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "there is no $tool: run scripts/setup.sh --platforms"; exit 1; }
    done
}

# kib BYTES: as the matrix shows them.
kib() { awk -v n="$1" 'BEGIN { printf "%.1f KiB", n / 1024 }'; }

# The functions that the public headers declare, which a shared library must export and nothing else.
declared() {
    cat core/include/privatemail.h core/include/privatemail_public.h core/include/privatemail_crowd.h \
        platform/privatemail_platform.h |
        grep -E '^PML_API' | grep -oE 'pml_[a-z0-9_]+\(' | tr -d '(' | sort
}

sum_up() {
    echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
    [ "$failed" = 0 ]
}
