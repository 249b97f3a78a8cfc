#!/usr/bin/env bash
# Apple systems: builds and tests the Swift package on this machine, once as it is and once optimised with the thread
# sanitiser; uses it by its path from a package in an empty folder; resolves the documentation's links; compiles and
# inspects objects and frameworks for iOS, its simulators and macOS. Without a Swift toolchain only the objects are checked, and without build/release's command no search
# against a real service: the last line counts what was skipped, and without Swift the package has no row.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh

out=build/platforms/ios
options=(-j 2 -Xswiftc -warnings-as-errors -Xcc -Werror)
# The build, which also writes what the documentation is made of.
plain=(--scratch-path "$out/swift" -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$out/graph")

# ---- package -----------------------------------------------------------------------------------------------------

# SwiftPM's own warnings (of files it does not know, say) are no errors to it.
build_without_warnings() {
    swift build "${options[@]}" "${plain[@]}" >"$out/build.log" 2>&1 || { cat "$out/build.log"; return 1; }
    ! grep -F 'warning:' "$out/build.log"
}

documentation() {
    mkdir -p "$out/library"
    cp "$out/graph/PrivateMail.symbols.json" "$out/library"
    docc convert ios/Sources/PrivateMail/PrivateMail.docc --additional-symbol-graph-dir "$out/library" \
        --output-path "$out/documentation" --fallback-display-name PrivateMail \
        --fallback-bundle-identifier PrivateMail --warnings-as-errors
}

# A package of a few lines in an empty folder: README's program, and C on the exported C product.
empty_package() {
    local folder=$out/empty
    rm -rf "$folder/Sources"
    mkdir -p "$folder"/Sources/{ask,version}
    awk '/^```swift$/ { inside = 1; text = ""; next }
         /^```$/ && inside { inside = 0; if (text ~ /struct Ask /) printf "%s", text }
         inside { text = text $0 "\n" }' ios/README.md >"$folder/Sources/ask/Ask.swift"
    cat >"$folder/Sources/version/main.c" <<'C'
#include <privatemail.h>
#include <stdio.h>
int main(void) { return puts(pml_version()) < 0; }
C
    cat >"$folder/Package.swift" <<SWIFT
// swift-tools-version: 6.0
import PackageDescription
let package = Package(
    name: "empty", platforms: [.macOS(.v13)], dependencies: [.package(name: "PrivateMail", path: "$PWD")],
    targets: [
        .executableTarget(name: "ask", dependencies: [.product(name: "PrivateMail", package: "PrivateMail")]),
        .executableTarget(name: "version", dependencies: [.product(name: "CPrivateMail", package: "PrivateMail")]),
    ])
SWIFT
    swift build -j 2 --package-path "$folder" --scratch-path "$out/empty-build"
}

# $out/empty-build/debug/ask against a server of its own.
ask_server() {
    local command=$PRIVATEMAIL_COMMAND folder=$PWD/$out/asked tries address id server status=0
    rm -rf "$folder"
    mkdir -p "$folder/here"
    "$command" sample --out "$folder/shapes" &&
        "$command" pack --features "$folder/shapes/public.npy" --labels "$folder/shapes/public_labels.npy" \
            --slots class --response-only --out "$folder/shapes.pmpk" &&
        "$command" index --pack "$folder/shapes.pmpk" --features "$folder/shapes/gallery.npy" \
            --labels "$folder/shapes/gallery_labels.npy" --store "sqlite:$folder/shapes.store" || return 1
    "$command" serve --pack "$folder/shapes.pmpk" --store "sqlite:$folder/shapes.store" --listen 127.0.0.1:0 \
        >"$folder/told" 2>"$folder/log" &
    server=$!
    for tries in {1..1200}; do
        [ ! -s "$folder/told" ] && kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    address=$(grep -oE 'http://[0-9.:]+' "$folder/told" | head -n 1)
    id=$("$command" inspect "$folder/shapes.pmpk" --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["pack"])')
    (cd "$folder/here" && timeout 300 ../../empty-build/debug/ask "$address" "$id") >"$folder/found" || status=$?
    kill "$server"
    cat "$folder/found"
    [ "$status" = 0 ] && grep -qxE '[0-9]+ of [1-9][0-9]* items' "$folder/found"
}

# The version that CMakeLists.txt has.
version() { sed -nE 's/^    VERSION ([0-9.]+)$/\1/p' CMakeLists.txt; }

c_product() { diff <("$out/empty-build/debug/version") <(version); }

# The Swift sources with the pod's modules and flags instead of SwiftPM's.
pod_modules() {
    rm -rf "$out/pod"
    mkdir -p "$out/pod"
    swiftc -typecheck -swift-version 6 -warnings-as-errors -module-name PrivateMail -module-cache-path "$out/pod" \
        -package-name PrivateMail -Xcc -fmodule-map-file=ios/Pod/pod.modulemap -Xcc -I -Xcc core/include -Xcc -Werror ios/Sources/PrivateMail/*.swift
}

# run_tests NAME OPTION...: every test counts as one check.
run_tests() {
    local name=$1 log=$out/$1.log status=0 test result
    shift
    swift test "${options[@]}" --disable-swift-testing "$@" >"$log" 2>&1 || status=$?
    while read -r test result; do
        case $result in
        passed) pass "$name: $test" ;;
        skipped) skip "$name: $test: there is no build/release/cli/privatemail" ;;
        *) fail "$name: $test" ;;
        esac
    done < <(sed -nE "s/^Test Case '([^']+)' (passed|failed|skipped) .*/\1 \2/p" "$log")
    if [ "$status" != 0 ] || ! grep -q '^Test Case .* passed' "$log"; then
        fail "$name: swift test ended with code $status"
        grep -E 'error|WARNING: ThreadSanitizer' "$log" | head -n 40 | sed 's/^/        /' || tail -n 40 "$log"
    fi
}

package_row() {
    local equal
    equal=$(sed -n 's/^golden: //p' "$out/tests.log")
    echo "| iOS / macOS Swift package (Linux) | yes | Swift 6 on Linux | ${equal:--} | - | - | - |"
}

# ---- objects -----------------------------------------------------------------------------------------------------

objects() {
    local word rest status=0
    scripts/build-xcframework.sh --objects "$out/objects" >"$out/objects.log" 2>&1 || status=$?
    while read -r word rest; do
        case $word in
        ok) pass "$rest" ;;
        FAILED) fail "$rest" ;;
        esac
    done <"$out/objects.log"
    if [ "$status" != 0 ] || ! grep -q '^ok' "$out/objects.log"; then
        fail "build-xcframework.sh --objects ended with code $status"
        tail -n 20 "$out/objects.log" | sed 's/^/        /'
    fi
}

object_row() { # PLATFORM TARGET
    local text
    text=$(awk -v target="$2" '$1 == "text" && $2 == target { print $3, $4 }' "$out/objects.log")
    echo "| $1 | yes | no (objects only) | - | ${text:-?} | - | - |"
}

# ---- all of it ---------------------------------------------------------------------------------------------------

rm -rf "$out/library" "$out/documentation" "$out/objects" "$out/temporary"
mkdir -p "$out/temporary"
export TMPDIR=$PWD/$out/temporary # SwiftPM leaves things there
[ ! -x build/release/cli/privatemail ] || export PRIVATEMAIL_COMMAND=$PWD/build/release/cli/privatemail

if command -v swift >/dev/null; then
    check "swift build without warnings" build_without_warnings
    if command -v docc >/dev/null; then
        check "documentation without broken links" documentation
    else
        skip "documentation: there is no docc"
    fi
    must "a package in an empty folder builds, by this one's path" empty_package && {
        check "its C program runs, on the exported C product" c_product
        if [ -n "${PRIVATEMAIL_COMMAND:-}" ]; then
            check "its program of ten lines searches" ask_server
        else
            skip "a search from an empty folder: there is no build/release/cli/privatemail"
        fi
    }
    check "the pod's modules suffice for the Swift sources" pod_modules
    run_tests tests "${plain[@]}"
    run_tests optimised-threads --scratch-path "$out/swift-thread" -c release --sanitize=thread
    row=$(package_row)
else
    skip "the Swift package: there is no Swift toolchain"
    row=
fi
if command -v ruby >/dev/null; then
    check "the podspec has the files and definitions of Package.swift" ruby tests/ios/check_podspec.rb "$(version)"
else
    skip "the podspec: there is no ruby"
fi
objects

{
    [ -z "$row" ] || echo "$row"
    object_row 'iOS arm64' arm64-apple-ios15.0
    object_row 'iOS simulator arm64' arm64-apple-ios15.0-simulator
    object_row 'iOS simulator x86_64' x86_64-apple-ios15.0-simulator
    object_row 'macOS arm64' arm64-apple-macos13.0
    object_row 'macOS x86_64' x86_64-apple-macos13.0
} >"$out.rows"
cat "$out.rows"

sum_up
