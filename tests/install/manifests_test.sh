#!/usr/bin/env bash
# The descriptions of the library for registries of embedded software: one version, the sources that there are, and
# packages that build a program of ten lines. ESP-IDF and Zephyr are stood in for by the functions of theirs that are
# called; the packages of Arduino, CMSIS and PlatformIO are unpacked and compiled by what they say. What reads descriptions
# in the registries' own ways is in descriptions_test.sh.
#
#   tests/install/manifests_test.sh [--help]        about a minute
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh
needs c++ cc cmake make python3 unzip xmllint

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
version=$(sed -n 's/^    VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt)

# A description that is not that of this version must be found.
other_version_is_found() {
    mkdir "$out/copy"
    cp -r --parents CMakeLists.txt LICENSE android/gradle.properties core platform scripts library.json idf_component.yml "$out/copy"
    "$out/copy/scripts/manifests.py" --check &&
        sed -i "s/^    VERSION $version\$/    VERSION 99.0.0/" "$out/copy/CMakeLists.txt" &&
        ! "$out/copy/scripts/manifests.py" --check 2>"$out/found" && cat "$out/found" && [ "$(wc -l <"$out/found")" = 3 ]
}

same_packages() {
    scripts/manifests.py --packages "$out/packages" --url https://example.org/privatemail &&
        (cd / && TZ=Asia/Tokyo "$OLDPWD/scripts/manifests.py" --packages "$out/again" --url https://example.org/privatemail) &&
        diff -r "$out/packages" "$out/again"
}

builds() { # FOLDER [OPTION...]: a stand-in's project, whose program runs
    local folder=$1
    shift
    cmake -S "tests/install/$folder" -B "$out/$folder" -DPRIVATEMAIL_SOURCE="$PWD" "$@" &&
        cmake --build "$out/$folder" -j 2 && "$out/$folder/program"
}

zephyr_is_off_by_default() {
    cmake -S tests/install/zephyr -B "$out/off" -DPRIVATEMAIL_SOURCE="$PWD" &&
        ! cmake --build "$out/off" >"$out/off.log" 2>&1 &&
        grep -E 'privatemail\.h|undefined reference to .pml_' "$out/off.log"
}

# Every option that CMake reads is one of Kconfig, and the other way round.
zephyr_options() {
    diff <(sed -n 's/^config PRIVATEMAIL_//p' zephyr/Kconfig | sort) \
        <(sed -n 's/.*foreach(part \(.*\))/\1/p' zephyr/CMakeLists.txt | tr ' ' '\n' | sort) &&
        grep -qx '  cmake: zephyr' zephyr/module.yml && [ -e zephyr/CMakeLists.txt ] &&
        grep -qx '  kconfig: zephyr/Kconfig' zephyr/module.yml
}

# From what "export" packs. (PlatformIO itself reads the description in descriptions_test.sh.)
platformio() {
    python3 - "$out/platformio" <<'END' && tests/install/build_platformio.py "$out/platformio" && "$out/platformio/program"
import json, pathlib, shutil, sys
out = pathlib.Path(sys.argv[1])
for pattern in json.load(open("library.json"))["export"]["include"]:
    for path in pathlib.Path().glob(pattern):
        files = path.rglob("*") if path.is_dir() else [path]
        for file in filter(pathlib.Path.is_file, files):
            (out / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, out / file)
END
}

arduino() (
    unzip -q "$out/packages/PrivateMail-$version.zip" -d "$out/arduino" && cd "$out/arduino/PrivateMail" &&
        grep -qx "version=$version" library.properties && grep -qx 'url=https://example.org/privatemail' library.properties && grep -qx 'includes=privatemail.h' library.properties &&
        cc -std=gnu11 -Os -Isrc -c src/privatemail.c -o library.o &&
        cc -Isrc "$here/ten_lines.c" library.o -o program && ./program &&
        printf '%s\n' '#include <stdio.h>' 'struct { void begin(long) {} void println(const char *text) { puts(text); } } Serial;' \
            'void setup(); void loop();' '#include "examples/Release/Release.ino"' 'int main() { setup(); loop(); }' >main.cpp &&
        c++ -std=gnu++17 -Wall -Wextra -Werror -I. -Isrc main.cpp library.o -o sketch && ./sketch
)

cmsis() (
    local file
    unzip -q "$out/packages/PrivateMail.PrivateMail.$version.pack" -d "$out/cmsis" && cd "$out/cmsis" &&
        xmllint --noout PrivateMail.PrivateMail.pdsc &&
        [ "$(xmllint --xpath 'string(/package/releases/release[1]/@version)' *.pdsc)" = "$version" ] &&
        [ "$(xmllint --xpath 'string(//component/@Cversion)' *.pdsc)" = "$version" ] &&
        [ -e "$(xmllint --xpath 'string(/package/license)' *.pdsc)" ] &&
        for file in $(xmllint --xpath '//file/@name' *.pdsc | grep -o '"[^"]*"' | tr -d '"'); do
            [ -e "$file" ] || { echo "$file is not in the pack"; return 1; }
        done
)

makefile() {
    mkdir "$out/make"
    scripts/amalgamate.py "$out/make" && cp tests/install/ten_lines.c "$out/make/program.c" &&
        sed -n "/^cat >Makefile /,/^END\$/p" docs/PACKAGES.md | sed '1d;$d' >"$out/make/Makefile" &&
        (cd "$out/make" && env -i PATH=/usr/bin:/bin make && env -i ./program)
}

fetched() {
    git archive --format=tar -o "$out/privatemail.tar" HEAD && cmake -S tests/install/fetched -B "$out/fetched" \
        -DPRIVATEMAIL_URL="file://$out/privatemail.tar" && cmake --build "$out/fetched" -j 2 --target program &&
        "$out/fetched/program"
}

here=$PWD/tests/install
check "the descriptions are those of this version and these sources" scripts/manifests.py --check
check "another version is found in each of them" other_version_is_found
check "two runs make the same packages" same_packages
check "PlatformIO: library.json names all that a program needs" platformio
check "ESP-IDF: the component registers all that a program needs" builds espidf
check "Zephyr: the module has all that a program needs" builds zephyr -DCONFIG_PRIVATEMAIL=y
check "Zephyr: and with all options" builds zephyr -DCONFIG_PRIVATEMAIL=y -DCONFIG_PRIVATEMAIL_GAUSSIAN=y \
    -DCONFIG_PRIVATEMAIL_CROWD=y -DCONFIG_PRIVATEMAIL_FRONT=y -DCONFIG_PRIVATEMAIL_HEAD=y
check "Zephyr: without CONFIG_PRIVATEMAIL there is no library" zephyr_is_off_by_default
check "Zephyr: Kconfig and CMake have the same options" zephyr_options
check "Arduino: the library and its sketch compile, and the sketch reports" arduino
check "CMSIS: the pack has what its description names" cmsis
check "make: the makefile of docs/PACKAGES.md works as printed, in an empty environment" makefile
check "FetchContent: a program of ten lines builds and runs" fetched
sum_up
