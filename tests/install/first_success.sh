#!/usr/bin/env bash
# From a fresh Debian to a program that runs, for each way to get the library: takes the blocks of docs/PACKAGES.md,
# "From a fresh Debian", and runs each, as printed, in a chroot of its own in which nothing else is installed. Prints a
# row for each: the name, the packages it asks apt for, seconds of apt and pip, seconds of the rest, what it printed last.
#
#   tests/install/first_success.sh [NAME]...      only the blocks with these headings
#
# Needs root, debootstrap, Debian's packages and PyPI. The fresh Debian is made once, in build/first-success. The block for
# Swift sees this machine's toolchain, and is skipped where there is none. Mounts and processes end with each block, since
# each has namespaces of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."

names=()
case ${1:-} in -*) ;; *) names=("$@"); set -- ;; esac
source tests/platforms/frame.sh

document=docs/PACKAGES.md
out=$PWD/build/first-success
base=$out/base

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    skip "a fresh Debian needs root and debootstrap"
    sum_up
    exit
fi

# ---- the fresh Debian ------------------------------------------------------------------------------------------

# Packages come from where this machine's do, and it trusts whom this machine trusts.
make_base() {
    local mirror
    mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[.*\] )?(http[^ ]*).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -v security | head -n 1)
    rm -rf "$base.new"
    debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$base.new" "$mirror" &&
        chroot "$base.new" apt-get clean &&
        echo 'APT::Get::Assume-Yes "true";' >"$base.new/etc/apt/apt.conf.d/assume-yes" &&
        cp -L /etc/ssl/certs/ca-certificates.crt "$base.new/etc/trusted.crt" &&
        cp /etc/resolv.conf "$base.new/etc" && mv "$base.new" "$base"
}

# What a user has: the repository, and an archive of it.
copy_project() { # FOLDER
    mkdir -p "$1/privatemail" &&
        git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -c |
        tar -x -C "$1/privatemail" && tar -czf "$1/privatemail.tar.gz" -C "$1" privatemail
}

# ---- blocks ----------------------------------------------------------------------------------------------------

headings() { sed -n '/^## From a fresh Debian$/,/^## /s/^### //p' "$document"; }

block() { # HEADING
    awk -v wanted="### $1" '
        /^#/ && !inside { here = $0 == wanted }
        here && /^```$/ { inside = 0 }
        inside { print }
        here && /^```sh$/ { inside = 1 }' "$document"
}

# What it asks apt for; the command may go on in the next line.
packages() {
    sed -e ':join' -e '/\\$/ { N; s/\\\n *//; b join' -e '}' "$1" |
        sed -nE 's/^apt-get install( --no-install-recommends)? //p' | tr '\n' ' '
}

# The block, and around it what writes the time at which each command starts into the file times. The page asks for
# apt-get update before each block.
script() { # HEADING
    echo 'set -euo pipefail; cd; exec 7>times; BASH_XTRACEFD=7; PS4="+\$EPOCHREALTIME "; set -x'
    echo 'apt-get update'
    block "$1"
    echo ': end'
}

in_debian() { # ROOT
    local root=$1 toolchain='' path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    if grep -q '^swift ' "$root/root/block.sh"; then
        toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
        path=/opt/swift/bin:$path
        mkdir -p "$root/opt/swift"
    fi
    unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" bash -euc '
        [ -z "$2" ] || mount --bind -o ro "$2" "$1/opt/swift"
        exec chroot "$1" env -i PATH="$3" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PIP_CERT=/etc/trusted.crt ${https_proxy:+https_proxy="$https_proxy"} \
            ${http_proxy:+http_proxy="$http_proxy"} bash -c "cd; exec bash block.sh"' - "$root" "$toolchain" "$path"
}

# Seconds of apt and pip (not of building this project by pip), and of the rest.
seconds() { # TIMES
    awk '/^\+[0-9]+\.[0-9]+ / {
             now = substr($1, 2)
             if (then) if (fetches) fetching += now - then; else rest += now - then
             then = now
             fetches = $2 == "apt-get" || $0 ~ /pip install [^\/]*$/ || $2 ~ /setup\.sh$/
         }
         END { printf "| %.0f | %.0f |", fetching, rest }' "$1"
}

run_block() { # HEADING
    local root
    [ -n "$(block "$1")" ] || { echo "$document has no block '$1'"; return 1; }
    root=$out/$(tr -cs 'A-Za-z\n' - <<<"$1")
    rm -rf "$root"
    cp -a "$base" "$root" && copy_project "$root/root" && script "$1" >"$root/root/block.sh" &&
        in_debian "$root" >"$root.log" 2>&1 || { tail -n 30 "$root.log"; rm -rf "$root"; return 1; }
    echo "| $1 | $(packages "$root/root/block.sh")$(seconds "$root/root/times")" \
        "$(tail -n 1 "$root.log" | tr -d '\r') |" >>"$out/rows"
    rm -rf "$root"
}

# ---- all of it -------------------------------------------------------------------------------------------------

mkdir -p "$out"
echo '| way | packages | seconds of packages | of the rest | printed |
|---|---|---|---|---|' >"$out/rows"
[ -d "$base" ] || must "a fresh Debian" make_base || { sum_up; exit 1; }
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(headings)
for name in "${names[@]}"; do
    if [ "$name" = Swift ] && ! command -v swift >/dev/null; then
        skip "Swift: there is no toolchain"
    else
        check "$name" run_block "$name"
    fi
done
cat "$out/rows"
sum_up
