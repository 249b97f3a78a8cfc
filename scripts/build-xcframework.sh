#!/usr/bin/env bash
# Builds the C library for Apple systems: static, with headers, module map and privacy manifest.
#
#   scripts/build-xcframework.sh [FOLDER]
#       FOLDER/CPrivateMail.xcframework (build/xcframework). Needs macOS with Xcode; ends with code 3 where there is none.
#
#   scripts/build-xcframework.sh --objects FOLDER
#       The same frameworks on any system, by clang and LLVM without Xcode and its SDKs, not joined to an xcframework.
#       Checks every object and framework.
set -euo pipefail
caller=$PWD
cd "$(dirname "$0")/.."

# What the slices are: folder of the xcframework, target, and Xcode's name of its SDK.
slices='ios-arm64                   arm64-apple-ios15.0             iphoneos
        ios-arm64_x86_64-simulator  arm64-apple-ios15.0-simulator   iphonesimulator
        ios-arm64_x86_64-simulator  x86_64-apple-ios15.0-simulator  iphonesimulator
        macos-arm64_x86_64          arm64-apple-macos13.0           macosx
        macos-arm64_x86_64          x86_64-apple-macos13.0          macosx'
name=CPrivateMail
headers=(core/include/privatemail.h core/include/privatemail_public.h core/include/privatemail_crowd.h
         platform/privatemail_platform.h)
flags=(-Os -std=c11 -ffp-contract=off -fvisibility=hidden -Wall -Wextra -Wconversion -Wsign-conversion
       -DPML_WITH_RESPONSE=1 -DPML_WITH_GAUSSIAN=1 -DPML_WITH_CROWD=1 -DPML_WITH_FRONT=1 -DPML_WITH_HEAD=1
       -Icore -Icore/include -Iplatform)
failed=0

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
die() { echo "xcframework: $1" >&2; exit "${2:-1}"; }

ok() { echo "ok      $*"; }
fail() { echo "FAILED  $*"; failed=1; }

# ---- tools -----------------------------------------------------------------------------------------------------

find_xcode() {
    [ "$(uname)" = Darwin ] || die "an xcframework needs macOS with Xcode; --objects FOLDER works here" 3
    xcodebuild -version >/dev/null 2>&1 || die "xcodebuild does not run: install Xcode, then xcode-select --switch" 3
    libtool() { xcrun libtool "$@"; }
    lipo() { xcrun lipo "$@"; }
}

find_llvm() {
    local config=/usr/bin/llvm-config tool
    [ -x "$config" ] || config=llvm-config
    bin=$("$config" --bindir 2>/dev/null) || die "there is no llvm-config: run scripts/setup.sh, or install llvm"
    for tool in llvm-libtool-darwin llvm-lipo llvm-nm llvm-otool llvm-size; do
        [ -x "$bin/$tool" ] || die "there is no $bin/$tool: run scripts/setup.sh, or install llvm"
    done
    clang=/usr/bin/clang
    [ -x "$clang" ] || clang=clang
    libtool() { "$bin/llvm-libtool-darwin" "$@"; }
    lipo() { "$bin/llvm-lipo" "$@"; }
    # All that the library needs of an SDK.
    mkdir -p "$out/declarations"
    echo 'void arc4random_buf(void *buffer, __SIZE_TYPE__ size);' >"$out/declarations/stdlib.h"
    mkdir -p "$out/declarations/sys"
    echo 'int sysctlbyname(const char *name, void *old, __SIZE_TYPE__ *old_size, void *new, __SIZE_TYPE__ new_size);' \
        >"$out/declarations/sys/sysctl.h"
}

# compile TARGET SDK ARGUMENT...
compile() {
    local target=$1 sdk=$2
    shift 2
    if [ -n "$objects" ]; then
        "$clang" -target "$target" -ffreestanding -nostdlibinc -isystem "$out/declarations" -Werror "${flags[@]}" "$@"
    else
        xcrun --sdk "$sdk" clang -target "$target" "${flags[@]}" "$@" </dev/null
    fi
}

# ---- building --------------------------------------------------------------------------------------------------

sources() { # TARGET
    grep -oE '^ +[a-z0-9_/]+\.c' core/sources.cmake | sed 's|^ *|core/|'
    echo platform/entropy.c
    echo platform/kernels_select.c
    case $1 in
    x86_64-*) ls platform/kernels_avx*.c ;;
    *) ls platform/kernels_neon*.c ;;
    esac
}

build_slice() { # TARGET SDK
    local target=$1 sdk=$2 source
    mkdir -p "$out/$target"
    for source in $(sources "$target"); do
        compile "$target" "$sdk" -c "$source" -o "$out/$target/$(basename "$source" .c).o"
    done
    libtool -static -o "$out/$target/$name.a" "$out/$target"/*.o
}

version() {
    awk '/^#define PML_VERSION_(MAJOR|MINOR|PATCH) / { v = v (v ? "." : "") $3 } END { print v }' "${headers[0]}"
}

write_info() { # PLATFORM MINIMUM
    cat <<PLIST
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>CFBundleDevelopmentRegion</key><string>en</string>
	<key>CFBundleExecutable</key><string>$name</string>
	<key>CFBundleIdentifier</key><string>privatemail.$name</string>
	<key>CFBundleInfoDictionaryVersion</key><string>6.0</string>
	<key>CFBundleName</key><string>$name</string>
	<key>CFBundlePackageType</key><string>FMWK</string>
	<key>CFBundleShortVersionString</key><string>$(version)</string>
	<key>CFBundleSupportedPlatforms</key><array><string>$1</string></array>
	<key>CFBundleVersion</key><string>$(version)</string>
	<key>$([ "$1" = MacOSX ] && echo LSMinimumSystemVersion || echo MinimumOSVersion)</key><string>$2</string>
</dict>
</plist>
PLIST
}

write_module_map() {
    local header
    echo "framework module $name {"
    for header in "${headers[@]}"; do
        echo "    header \"$(basename "$header")\""
    done
    printf '    export *\n}\n'
}

# make_framework VARIANT ARCHIVE...: a framework of all that was built for one folder of the xcframework.
make_framework() {
    local variant=$1 framework=$out/$1/$name.framework content resources platform=iPhoneOS minimum=15.0 part
    shift
    rm -rf "$framework"
    content=$framework resources=$framework
    case $variant in
    macos-*) # versioned, as macOS wants it
        platform=MacOSX minimum=13.0
        content=$framework/Versions/A
        resources=$content/Resources
        ;;
    *-simulator) platform=iPhoneSimulator ;;
    esac
    mkdir -p "$content/Headers" "$content/Modules" "$resources"
    lipo -create "$@" -output "$content/$name"
    cp "${headers[@]}" "$content/Headers"
    write_module_map >"$content/Modules/module.modulemap"
    write_info "$platform" "$minimum" >"$resources/Info.plist"
    cp ios/Sources/PrivateMail/PrivacyInfo.xcprivacy "$resources"
    if [ "$content" != "$framework" ]; then
        ln -s A "$framework/Versions/Current"
        for part in "$name" Headers Modules Resources; do
            ln -s "Versions/Current/$part" "$framework/$part"
        done
    fi
}

# ---- checks of objects -----------------------------------------------------------------------------------------

# What a target must say of itself: cpu, platform, oldest system.
identity() {
    local cpu=ARM64 platform=macos
    case $1 in x86_64-*) cpu=X86_64 ;; esac
    case $1 in *-simulator) platform=iossimulator ;; *-ios*) platform=ios ;; esac
    echo "$cpu $platform $(grep -oE '[0-9]+\.[0-9]+' <<<"${1#*-apple-}")"
}

# check TEXT EXPECTED FOUND
check() {
    if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: expected '${2//$'\n'/ }', found '${3//$'\n'/ }'"; fi
}

api() { grep -hoE '^PML_API .*' "${headers[@]}" | grep -oE 'pml_[a-z0-9_]+\(' | sed 's/^/_/; s/($//' | sort; }

check_slice() { # TARGET
    local target=$1 object symbols taken text
    local all=("$out/$target"/*.o)
    check "$target: ${#all[@]} objects, CPU, platform and oldest system" "$(identity "$target")" "$(
        for object in "${all[@]}"; do
            "$bin/llvm-otool" -hv -l "$object" | awk '/^MH_MAGIC_64/ { cpu = $2 }
                $1 == "platform" { platform = $2 } $1 == "minos" { oldest = $2 } END { print cpu, platform, oldest }'
        done | sort -u)"
    symbols=$("$bin/llvm-nm" -m "${all[@]}")
    check "$target: exports the public functions only" "$(api)" \
        "$(awk '$2 ~ /^\(__/ && $3 == "external" { print $NF }' <<<"$symbols" | sort)"
    taken=$(comm -23 <(awk '/\(undefined\)/ { print $NF }' <<<"$symbols" | sort -u) \
        <(awk '$2 ~ /^\(__/ { print $NF }' <<<"$symbols" | sort -u) |
        grep -vxE '_mem(cpy|move|set|cmp)|_+bzero|_arc4random_buf|_sysctlbyname|___stack_chk_(fail|guard)' || true)
    check "$target: takes memory functions, arc4random_buf and sysctlbyname only" "" "$taken"
    check "$target: no writable data" "" "$("$bin/llvm-size" -m "${all[@]}" |
        awk '/^\tSection \(__DATA/ && !/__const\):/ && $NF > 0' | sort -u)"
    text=$("$bin/llvm-size" -m "${all[@]}" |
        awk '/^\tSection \((__TEXT|__DATA), / && !/__eh_frame/ { n += $NF } END { printf "%.1f", n / 1024 }')
    echo "text    $target $text KiB"
}

# Values of property lists that have nothing to say: App Store Connect refuses a privacy manifest with an empty text or
# dictionary in it. The lists of a manifest may be empty, and are customary.
empty_values() {
    python3 - "$@" <<'PYTHON'
import plistlib, sys

LISTS = ["NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes", "NSPrivacyAccessedAPITypes"]

def empty(name, value):
    if value in ("", {}) or value == [] and name not in LISTS:
        yield name
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from empty(key if isinstance(value, dict) else f"{name}[{key}]", one)

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        print(*empty(path, plistlib.load(file)))
PYTHON
}

check_framework() { # VARIANT ARCHITECTURES
    local framework=$out/$1/$name.framework resources header missing=
    resources=$framework
    case $1 in macos-*) resources=$framework/Resources ;; esac
    check "$1: architectures" "$2" "$(lipo -archs "$framework/$name" | tr ' ' '\n' | sed '/^$/d' | sort | xargs)"
    for header in "${headers[@]}"; do
        cmp -s "$header" "$framework/Headers/$(basename "$header")" || missing+=" $header"
    done
    cmp -s ios/Sources/PrivateMail/PrivacyInfo.xcprivacy "$resources/PrivacyInfo.xcprivacy" || missing+=" manifest"
    check "$1: headers and manifest" "" "$missing"
    check "$1: property lists without empty values" "" \
        "$(empty_values "$resources/Info.plist" "$resources/PrivacyInfo.xcprivacy")"
    # A program that sees the framework and nothing else of the project.
    rm -rf "$out/modules"
    if echo "@import $name; int main(void) { return pml_platform_entropy(0, 0, 0) != 0 || pml_version()[0] == 0; }" |
        "$clang" -target arm64-apple-macos13.0 -ffreestanding -nostdlibinc -fmodules \
            -fmodules-cache-path="$out/modules" -F "$out/$1" -Wall -Werror -fsyntax-only -x objective-c -; then
        ok "$1: the module is usable"
    else
        fail "$1: the module is not usable"
    fi
}

# ---- all of it -------------------------------------------------------------------------------------------------

objects='' folder=$PWD/build/xcframework
case ${1:-} in
--help | -h) usage; exit 0 ;;
--objects)
    objects=yes
    shift
    [ $# = 1 ] || { usage >&2; exit 2; }
    ;;
-*) usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { usage >&2; exit 2; }
[ $# = 0 ] || folder=$1
case $folder in /*) out=$folder ;; *) out=$caller/$folder ;; esac

if [ -n "$objects" ]; then find_llvm; else find_xcode; fi

while read -r variant target sdk; do
    rm -rf "${out:?}/$target"
    build_slice "$target" "$sdk"
    [ -z "$objects" ] || check_slice "$target"
done <<<"$slices"

frameworks=()
for variant in $(awk '{ print $1 }' <<<"$slices" | uniq); do
    make_framework "$variant" $(awk -v v="$variant" -v out="$out" -v name="$name" \
        '$1 == v { print out "/" $2 "/" name ".a" }' <<<"$slices")
    frameworks+=(-framework "$out/$variant/$name.framework")
    [ -z "$objects" ] || check_framework "$variant" \
        "$(awk -v v="$variant" '$1 == v { sub(/-.*/, "", $2); print $2 }' <<<"$slices" | sort | xargs)"
done

if [ -z "$objects" ]; then
    rm -rf "$out/$name.xcframework"
    xcodebuild -create-xcframework "${frameworks[@]}" -output "$out/$name.xcframework"
    echo "$out/$name.xcframework"
fi
exit $failed
