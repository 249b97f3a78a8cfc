#!/usr/bin/env bash
# The descriptions of the packages, read by the tools of those who will read them: PlatformIO, ESP-IDF, Zephyr's
# Kconfig, npm, Maven and SPDX. Each tool is also given a description that is wrong, which must be seen. (The wheel and
# the sdist are looked at by python_test.sh, the podspec by tests/platforms/ios.sh.)
#
#   tests/install/descriptions_test.sh [--help]       half a minute, and a minute more when it fetches the tools
#
# The tools are PyPI's, in an environment of their own in build/descriptions, and Debian's npm and maven; what is not here
# is skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh
needs cc cmake node python3

out=$PWD/build/descriptions
tools=$out/tools/bin
version=$(sed -n 's/^    VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt)

fetch_tools() {
    [ -e "$out/tools/complete" ] && return
    rm -rf "$out/tools"
    python3 -m venv "$out/tools" && patiently "$tools/pip" install -q --disable-pip-version-check platformio \
        idf-component-manager kconfiglib spdx-tools packaging && touch "$out/tools/complete"
}

# The files that git knows, as a registry would get them.
copy_sources() {
    mkdir -p "$out/sources" && git ls-files -z | tar --null --files-from=- -c | tar -x -C "$out/sources"
}

fails() { ! "$@"; }

# ---- PlatformIO ------------------------------------------------------------------------------------------------

# pio pkg pack, which validates library.json. It would fetch the list of licences; here the list is that of packaging.
pio_pack() { # FOLDER ARCHIVE
    env PLATFORMIO_CORE_DIR="$out/pio" PLATFORMIO_SETTING_ENABLE_TELEMETRY=no "$tools/python" - "$@" <<'END'
import sys
from packaging.licenses._spdx import LICENSES
from platformio.__main__ import main
from platformio.package.manifest.schema import ManifestSchema
known = {"licenses": [{"licenseId": entry["id"]} for entry in LICENSES.values()]}
ManifestSchema.load_spdx_licenses = staticmethod(lambda: known)
sys.exit(main(["pio", "pkg", "pack", "-o", sys.argv[2], sys.argv[1]]))
END
}

pio_archive_builds() {
    mkdir "$out/pio-unpacked" && tar -xzf "$out/pio.tar.gz" -C "$out/pio-unpacked" &&
        tests/install/build_platformio.py "$out/pio-unpacked" && "$out/pio-unpacked/program"
}

pio_refuses() { # what it packs as it is
    mkdir "$out/pio-wrong" && cp library.json "$out/pio-wrong" && pio_pack "$out/pio-wrong" "$out/pio-right.tar.gz" &&
        sed -i 's/"version": ".*"/"version": "new"/' "$out/pio-wrong/library.json" &&
        fails pio_pack "$out/pio-wrong" "$out/pio-wrong.tar.gz"
}

# ---- ESP-IDF ---------------------------------------------------------------------------------------------------

idf_pack() { # FOLDER NAME
    (cd "$1" && "$tools/compote" component pack --name privatemail --dest-dir "$out/$2")
}

idf_archive_builds() {
    mkdir "$out/idf-unpacked" && tar -xzf "$out/idf/privatemail_$version.tgz" -C "$out/idf-unpacked" &&
        cmake -S tests/install/espidf -B "$out/idf-build" -DPRIVATEMAIL_SOURCE="$out/idf-unpacked" &&
        cmake --build "$out/idf-build" -j 2 && "$out/idf-build/program"
}

idf_refuses() { # what it packs as it is
    mkdir "$out/idf-wrong" && cp CMakeLists.txt idf_component.yml "$out/idf-wrong" && idf_pack "$out/idf-wrong" idf-right &&
        sed -i 's/^version: .*/version: new/' "$out/idf-wrong/idf_component.yml" && fails idf_pack "$out/idf-wrong" idf-none
}

# ---- Zephyr ----------------------------------------------------------------------------------------------------

# Kconfig's own reading: the options that there are, and that one follows another.
kconfig() { # FILE
    KCONFIG_CONFIG=$out/none "$tools/python" - "$1" <<'END'
import sys
import kconfiglib
read = kconfiglib.Kconfig(sys.argv[1], warn_to_stderr=False)
symbols = read.syms
symbols["PRIVATEMAIL"].set_value("y")
symbols["PRIVATEMAIL_HEAD"].set_value("y")
assert symbols["PRIVATEMAIL_HEAD"].str_value == "n", "heads without fronts"
symbols["PRIVATEMAIL_FRONT"].set_value("y")
assert symbols["PRIVATEMAIL_HEAD"].str_value == "y"
assert not read.warnings, read.warnings
assert all(node.prompt for symbol in read.unique_defined_syms for node in symbol.nodes)
END
}

kconfig_refuses() { sed '/^endif/d' zephyr/Kconfig >"$out/Kconfig" && fails kconfig "$out/Kconfig"; }

# ---- npm -------------------------------------------------------------------------------------------------------

npm_lists() { # FOLDER
    (cd "$1" && npm pack --dry-run --json --cache "$out/npm") >"$out/npm.json" &&
        node -p 'JSON.parse(require("fs").readFileSync(process.argv[1]))[0].files.map(({ path }) => path).sort().join("\n")' \
            "$out/npm.json"
}

# FOLDER: what npm would pack of it is what the tarball has.
npm_packs_the_tarball() {
    diff <(npm_lists "$1") <(tar -tzf "$out/release/privatemail.tgz" | sed 's|^package/||' | LC_ALL=C sort)
}

npm_finds_missing() {
    cp -r "$out/wasm" "$out/npm-wrong" && sed -i 's/"privatemail.wasm", //' "$out/npm-wrong/package.json" &&
        fails npm_packs_the_tarball "$out/npm-wrong"
}

# ---- Maven -----------------------------------------------------------------------------------------------------

write_poms() {
    PYTHONDONTWRITEBYTECODE=1 python3 - "$out" <<'END'
import pathlib, sys
sys.path.insert(0, "android/aar")
import package_aar
out = pathlib.Path(sys.argv[1])
out.joinpath("android.pom").write_bytes(package_aar.pom("privatemail", "aar"))
out.joinpath("kotlin.pom").write_bytes(package_aar.kotlin_pom())
END
}

# Maven does not know the packaging aar, which a plugin of Android's brings: it reads the rest as that of a jar.
maven() { # POM
    sed 's|<packaging>aar<|<packaging>jar<|' "$1" >"$1.xml"
    mvn -o -q -B -Dstyle.color=never -Dmaven.repo.local="$out/m2" -f "$1.xml" validate
}

maven_refuses() { sed 's/artifactId/artefactId/' "$out/android.pom" >"$out/wrong.pom" && fails maven "$out/wrong.pom"; }

# ---- SPDX ------------------------------------------------------------------------------------------------------

bill() {
    python3 scripts/release_sbom.py --version "$version" --commit "$(git rev-parse HEAD)" --epoch 1700000000 "$out/release" \
        >"$out/bill.spdx.json" && "$tools/pyspdxtools" -i "$out/bill.spdx.json"
}

bill_refuses() {
    sed 's/"STATIC_LINK"/"STATIC"/' "$out/bill.spdx.json" >"$out/wrong.spdx.json" &&
        fails "$tools/pyspdxtools" -i "$out/wrong.spdx.json"
}

# ---- all of it -------------------------------------------------------------------------------------------------

mkdir -p "$out"
find "$out" -mindepth 1 -maxdepth 1 ! -name tools -exec rm -rf {} +
must "the tools" fetch_tools && must "the sources" copy_sources || { sum_up; exit 1; }
check "PlatformIO packs the library" pio_pack "$out/sources" "$out/pio.tar.gz"
check "PlatformIO: a program builds from the archive" pio_archive_builds
check "PlatformIO refuses a wrong library.json" pio_refuses
check "ESP-IDF packs the component" idf_pack "$out/sources" idf
check "ESP-IDF: a program builds from the archive" idf_archive_builds
check "ESP-IDF refuses a wrong idf_component.yml" idf_refuses
check "Kconfig reads Zephyr's options" kconfig zephyr/Kconfig
check "Kconfig refuses a wrong file" kconfig_refuses
check "the npm package builds" scripts/build-wasm.sh --out "$out/wasm" --tarball "$out/release/privatemail.tgz"
if command -v npm >/dev/null; then
    check "npm would pack the files of the tarball" npm_packs_the_tarball "$out/wasm"
    check "npm: a file that package.json lacks is found" npm_finds_missing
else
    skip "npm is not here"
fi
if command -v mvn >/dev/null; then
    must "POMs" write_poms && check "Maven reads the AAR's POM" maven "$out/android.pom" &&
        check "Maven reads the Kotlin layer's POM" maven "$out/kotlin.pom" &&
        check "Maven refuses a wrong POM" maven_refuses
else
    skip "Maven is not here"
fi
must "SPDX: the bill of materials is valid" bill &&
    check "SPDX: a wrong one is refused" bill_refuses
sum_up
