#!/usr/bin/env bash
# The Python package in empty environments: its sdist, a wheel that is built where no library is installed, what
# `pip install .` builds here, and the wheels for PyPI. Runs python/tests in them, and its mutants. The wheel for ARM makes
# the bytes of the one for x86-64. It needs PyPI, for scikit-build-core, numpy, pytest, mypy, twine, check-wheel-contents
# and auditwheel. first_success.sh does the same in a fresh Debian.
#
#   PYTHON          the Python to use (python3)
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh

python=${PYTHON:-python3}
out=$PWD/build/python
rm -rf "$out"
mkdir -p "$out"

# environment NAME: an empty one in $out/NAME.
environment() {
    "$python" -m venv "$out/$1" && patiently "$out/$1/bin/pip" install -q --disable-pip-version-check "${@:2}"
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
must "build" environment build build twine check-wheel-contents || sum_up || exit 1
must "sources" copy_sources || sum_up || exit 1
must "sdist" patiently "$out/build/bin/python" -m build -q --sdist --outdir "$out/dist" "$out/sources" ||
    sum_up || exit 1
check "sdist holds what is needed only" sdist_is_small "$out"/dist/*.tar.gz
must "wheel of the sdist, no library installed" patiently "$out/build/bin/pip" wheel -q --no-deps -w "$out/dist" \
    -C "cmake.define.CMAKE_PROJECT_INCLUDE=$PWD/tests/install/hide_libraries.cmake" "$out"/dist/*.tar.gz || sum_up || exit 1
check "twine reads the descriptions of both" "$out/build/bin/twine" check --strict "$out"/dist/*
check "check-wheel-contents finds nothing wrong" "$out/build/bin/check-wheel-contents" "$out"/dist/*.whl
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

echo "== wheels for PyPI"
# made_on NAME COMMAND...: a pack by the command of a wheel, of rows that it draws itself.
made_on() {
    local folder=$out/made-on-$1
    shift
    "$@" sample --no-images --out "$folder/shapes" && "$@" pack --features "$folder/shapes/public.npy" --cells 32 --out "$folder/pack"
}
made_alike() {
    (cd "$out" && python3 -m zipfile -e wheels/*aarch64.whl arm && chmod +x arm/privatemail/bin/privatemail) &&
        mkdir -p "$out/made-on-x86" "$out/made-on-arm" && made_on x86 "$out/pypi/bin/privatemail" &&
        made_on arm qemu-aarch64-static -L /usr/aarch64-linux-gnu "$out/arm/privatemail/bin/privatemail" &&
        diff -r "$out/made-on-x86" "$out/made-on-arm"
}
must "build" patiently scripts/build-wheels.sh --sdist "$(echo "$out"/dist/*.tar.gz)" --out "$out/wheels" ||
    sum_up || exit 1
check "twine reads their descriptions" "$out/build/bin/twine" check --strict "$out"/wheels/*
check "check-wheel-contents finds nothing wrong" "$out/build/bin/check-wheel-contents" "$out"/wheels/*
must "install" environment pypi "$out"/wheels/*"$(uname -m)".whl pytest && counted pypi tests pypi "$PWD/python/tests"
check "ARM's makes the same bytes" made_alike
sum_up
