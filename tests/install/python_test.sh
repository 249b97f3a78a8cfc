#!/usr/bin/env bash
# The Python package in empty environments: its sdist, a wheel that is built where no library is installed, and what
# `pip install .` builds here. Runs python/tests in both, and its mutants. It needs PyPI, for scikit-build-core, numpy,
# pytest and mypy.
#
#   PYTHON          the Python to use (python3)
#   PML_TEST_LONG   builds and uses the wheel in a fresh Debian too, in which only a C compiler and Python are installed.
#                   Needs root and debootstrap
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh

python=${PYTHON:-python3}
out=$PWD/build/python
rm -rf "$out"
mkdir -p "$out"

# environment NAME: an empty one in $out/NAME.
environment() {
    "$python" -m venv "$out/$1" && "$out/$1/bin/pip" install -q --disable-pip-version-check "${@:2}"
}

# tests NAME [FILE...]: pytest, and its sums as one line.
tests() {
    (cd "$out" && "$out/$1/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$OLDPWD" "${@:2}") >"$out/pytest.log" 2>&1 || true
    cat "$out/pytest.log"
    tail -n 1 "$out/pytest.log" | awk '{
        for (i = 2; i <= NF; i++) {
            if ($i ~ /^passed/) good = $(i - 1)
            if ($i ~ /^(failed|error)/) bad += $(i - 1)
        }
        print good + 0 " passed, " (good + bad > 0 ? bad + 0 : 1) " failed"
    }'
}

# What git knows, and one file that it does not: making an sdist looks at every file, and build/ has very many.
copy_sources() {
    mkdir -p "$out/sources/build" &&
        git ls-files -z | tar --null --files-from=- -c | tar -x -C "$out/sources" && : >"$out/sources/build/leftover.c"
}

# What the sdist must not have: it is for building, and the folder may hold anything.
sdist_is_small() {
    tar -tzf "$1" >"$out/sdist.txt" &&
        ! grep -E '/(build|tests|docs|android|ios|bench|demo|proofs|scripts|\.ci)/' "$out/sdist.txt"
}

tag_is_for_every_python() { [[ $1 == *-py3-none-*.whl ]]; }

needs_only_libc() {
    ldd "$1" | awk '{ print $1 }' | grep -vE '^(linux-vdso|libc|libm|libdl|libpthread|/lib.*/ld-linux[^/]*)\.so' && return 1
    ldd "$1"
}

exports_flat_functions() {
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort >"$out/exported"
    grep -oE '\bpmlpy_[a-z_]+\(' python/shim.h | tr -d '(' | sort -u | diff - "$out/exported"
}

echo "== sdist, and a wheel without any library"
must "build" environment build build || sum_up || exit 1
must "sources" copy_sources || sum_up || exit 1
must "sdist" "$out/build/bin/python" -m build -q --sdist --outdir "$out/dist" "$out/sources" || sum_up || exit 1
check "sdist holds what is needed only" sdist_is_small "$out"/dist/*.tar.gz
must "wheel of the sdist, no library installed" "$out/build/bin/pip" wheel -q --no-deps -w "$out/dist" \
    -C "cmake.define.CMAKE_PROJECT_INCLUDE=$PWD/tests/install/hide_libraries.cmake" "$out"/dist/*.tar.gz || sum_up || exit 1
check "one wheel for every Python" tag_is_for_every_python "$out"/dist/*.whl
must "install" environment bare "$out"/dist/*.whl pytest mypy
package=$(cd "$out" && bare/bin/python -c 'import privatemail, pathlib; print(pathlib.Path(privatemail.__file__).parent)')
check "the command needs libc alone" needs_only_libc "$package/bin/privatemail"
check "the library needs libc alone" needs_only_libc "$package/libprivatemail_python.so"
check "the library exports its functions alone" exports_flat_functions "$package/libprivatemail_python.so"
check "types" "$out/bare/bin/mypy" --strict -p privatemail
counted bare tests bare "$PWD/python/tests"
counted mutants "$out/bare/bin/python" python/tests/check_mutants.py

echo "== pip install ."
must "install" environment here . pytest && counted here tests here "$PWD/python/tests/test_package.py"

# ---- a fresh Debian --------------------------------------------------------------------------------------------

# A Debian of its own, in which the wheel is built from the sdist and the example runs. Packages come from where this
# machine's do.
fresh_debian() {
    local root=$out/debian mirror
    mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[.*\] )?(http[^ ]*).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -v security | head -n 1)
    debootstrap --variant=minbase --include=gcc,libc6-dev,python3-venv,ca-certificates \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" "$mirror"
    cp "$out"/dist/*.tar.gz python/example.py "$root/tmp"
    cp /etc/resolv.conf "$root/etc"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs" # it trusts whom this machine trusts
    chroot "$root" env -i PATH=/usr/bin:/bin HOME=/tmp sh -ec '
        python3 -m venv /tmp/venv
        /tmp/venv/bin/pip install -q /tmp/privatemail-*.tar.gz
        dpkg-query -W -f "\${Package}\n" | grep -E "^lib(pq|curl4|microhttpd|lapacke|cbor|sqlite3|png|bearssl).*-dev$" && exit 1
        /tmp/venv/bin/python /tmp/example.py'
}

if [ -n "${PML_TEST_LONG:-}" ]; then
    echo "== a fresh Debian"
    if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
        check "pip install and the example, with a compiler and Python alone" fresh_debian
        rm -rf "$out/debian"
    else
        skip "a fresh Debian needs root and debootstrap"
    fi
fi
sum_up
