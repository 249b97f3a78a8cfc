#!/usr/bin/env bash
# Checks who may know whom: headers between the rooms (scripts/rooms.py), symbols between the stages; and that file names
# are unique and no file names a folder of somebody's machine. The stages are looked up in build/release.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
fail() { echo "rooms: $*"; failed=1; }

# What git has or would have.
files() {
    local file
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
        if [ -e "$file" ]; then echo "$file"; fi
    done
}

# ---- headers ---------------------------------------------------------------------------------------------------

# The plan of the house and its picture.
python3 scripts/rooms.py || failed=1

# The core takes nothing from a C library, and needs no search path but its own two.
while IFS=: read -r file line; do
    header=$(sed -E 's/.*[<"]([^>"]+)[>"].*/\1/' <<<"$line")
    case "$header" in stdint.h | stddef.h | stdbool.h | limits.h) continue ;; esac
    [ -e "core/$header" ] || [ -e "core/include/$header" ] || [ -e "$(dirname "$file")/$header" ] || fail "$file includes $header"
done < <(files 'core/*.c' 'core/*.h' | xargs grep -E '^[[:space:]]*# *include')
while read -r file; do
    ${CC:-cc} -std=c11 -ffreestanding -fsyntax-only -Icore -Icore/include -DPML_WITH_RESPONSE=1 -DPML_WITH_GAUSSIAN=1 -x c "$file" ||
        fail "$file does not compile with -Icore -Icore/include alone"
done < <(files 'core/*.c' 'core/*.h')

# ---- stages ----------------------------------------------------------------------------------------------------

# A stage never calls another; the conductors (query, pipeline and its parts, client, ranking) call them in order.
allowed=' answer>answer_rank '
objects=build/release/CMakeFiles/privatemail_core.dir/core
stages=$(files 'core/stages/*.c' core/privacy/budget.c | sed -E 's|core/(.*)\.c|\1|')

symbols() { # OPTION OF NM: "symbol stage" of all stages
    local stage
    for stage in $stages; do
        nm -g "$1" "$objects/$stage.c.o" 2>/dev/null | awk -v stage="${stage##*/}" '{ print $NF, stage }'
    done | sort
}

if [ -d "$objects" ]; then
    for stage in $stages; do
        [ -e "$objects/$stage.c.o" ] || fail "there is no stage $stage in build/release"
    done
    while read -r symbol user owner; do
        case "$allowed" in *" $user>$owner "*) continue ;; esac
        fail "$user.c uses $symbol of $owner.c"
    done < <(join <(symbols --undefined-only) <(symbols --defined-only))
else
    fail "build/release is not built"
fi

# ---- names and paths -------------------------------------------------------------------------------------------

while read -r name; do
    fail "several files are called $name:" $(files | grep -E "(^|/)$name\$")
done < <(files | grep -v '^tests/compat/[0-9]' | sed 's|.*/||' | grep -vxE 'README\.md|CMakeLists\.txt|AndroidManifest\.xml|build\.gradle\.kts' | sort | uniq -d)

while read -r place; do
    fail "a path of one machine: $place"
done < <(files | tr '\n' '\0' | xargs -0 -r grep -nIE '(^|[^A-Za-z0-9_.~-])/(work|root|home|Users)/' || true)

exit $failed
