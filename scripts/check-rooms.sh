#!/usr/bin/env bash
# Checks who may know whom: headers between the folders, symbols between the stages; and that file names are unique
# and no file names a folder of somebody's machine. The stages are looked up in build/release.
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

public='privatemail.h privatemail_public.h'
freestanding='stdint.h stddef.h stdbool.h limits.h'

our_headers=$(files '*.h')

# All includes of a folder as "file header". "Quoted" headers lose their path, <sys/headers> keep it.
includes() {
    files "$1/*.c" "$1/*.h" "$1/*.cc" "$1/*.cpp" "$1/*.m" "$1/*.mm" "$1/*.pyx" "$1/*.modulemap" |
        xargs -r grep -HoE '^[[:space:]]*(# *(include|import)|umbrella header|header) *[<"][^>"]+' |
        sed -E 's/^([^:]*):.*"(.*\/)?/\1 /; s/^([^:]*):.*</\1 /'
}

# room FOLDER HEADER...: of our headers, FOLDER includes only its own and those named.
room() {
    local folder=$1 file header
    shift
    while read -r file header; do
        case " $* " in *" $header "*) continue ;; esac
        if grep -qE "(^|/)$header\$" <<<"$our_headers" && ! grep -qE "^$folder/(.*/)?$header\$" <<<"$our_headers"; then
            fail "$file includes $header"
        fi
    done < <(includes "$folder")
}

room core
room platform $public kernels.h
room android privatemail.h privatemail_platform.h
room ios privatemail.h privatemail_platform.h
room server $public privatemail_platform.h kernels.h
room cli $public privatemail_platform.h $(files 'server/*.h' | xargs -rn1 basename)
# The benches measure single stages, so they see the internals, as the tests do, and share the command's options and JSON.
room bench $public privatemail_platform.h command.h $(files 'core/*.h' 'server/*.h' | xargs -rn1 basename)

# The core takes nothing from a C library.
while read -r file header; do
    case " $freestanding " in *" $header "*) continue ;; esac
    [ -e "core/$header" ] || [ -e "core/include/$header" ] || fail "$file includes $header"
done < <(includes core)

for folder in core/*/; do
    [ "$folder" = core/include/ ] || fail "$folder: the core is flat"
done

# ---- stages ----------------------------------------------------------------------------------------------------

# A stage never calls another; the conductors (query, pipeline and its parts, client, ranking) call them in order.
stages='quantise slots prototypes sketch neighbours weights label_row certificate update response gaussian release
        answer answer_rank budget'
allowed=' answer>answer_rank '
objects=build/release/CMakeFiles/privatemail_core.dir/core

symbols() { # OPTION OF NM: "symbol stage" of all stages
    local stage
    for stage in $stages; do
        nm -g "$1" "$objects/$stage.c.o" 2>/dev/null | awk -v stage="$stage" '{ print $NF, stage }'
    done | sort
}

if [ -d "$objects" ]; then
    for stage in $stages; do
        [ -e "$objects/$stage.c.o" ] || fail "there is no stage $stage in build/release"
    done
    while read -r symbol user owner; do
        case "$allowed" in *" $user>$owner "*) continue ;; esac
        fail "core/$user.c uses $symbol of core/$owner.c"
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
