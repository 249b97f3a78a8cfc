#!/usr/bin/env bash
# The npm package, used as an app uses it: installed into an empty folder, its types checked by TypeScript, README's
# program of ten lines run by node and by a browser against privatemail serve.
#
#   tests/wasm/package/npm_package.sh TARBALL    builds in build/platforms/wasm/package; the last line is
#                                                'N passed, N failed'
#
# Without npm the package is unpacked as npm would do it. Without build/release's command there is no server, and
# without Chromium no browser: it says what it left out.
set -euo pipefail

cd "$(dirname "$0")/../../.."
tarball=$(realpath "$1")
shift
source tests/platforms/frame.sh

out=$PWD/build/platforms/wasm/package
app=$out/app
here=$PWD/tests/wasm/package
command=$PWD/build/release/cli/privatemail
typescript=/usr/share/nodejs/typescript/lib/typescript.js

needs node tsc

install_package() (
    cd "$app"
    if command -v npm >/dev/null; then
        echo '{ "private": true, "type": "module" }' >package.json
        npm install --offline --no-audit --no-fund --cache "$out/cache" "$tarball"
    else
        echo "there is no npm: unpacked by tar"
        echo '{ "private": true, "type": "module", "dependencies": { "privatemail": "*" } }' >package.json
        mkdir -p node_modules/privatemail && tar -xzf "$tarball" -C node_modules/privatemail --strip-components=1
    fi
)

# What package.json promises is there, and the version is the library's.
package_is_complete() {
    node -e '
        const { existsSync, readFileSync } = require("node:fs");
        const folder = process.argv[2];
        const own = JSON.parse(readFileSync(`${folder}/package.json`));
        const named = [own.types, own.exports["."].types, own.exports["."].default, own.exports["./privatemail.wasm"],
            ...own.files.filter((name) => !name.includes("*"))];
        const missing = named.filter((name) => !existsSync(`${folder}/${name}`));
        console.log(own.version, missing);
        process.exitCode = own.version === process.argv[1] && missing.length === 0 ? 0 : 1' \
        "$(sed -nE 's/^    VERSION ([0-9.]+)$/\1/p' CMakeLists.txt)" "$app/node_modules/privatemail"
}

compile() { # OPTION... FILE...
    (cd "$app" && tsc --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --target es2022 --module node16 \
        --moduleResolution node16 "$@")
}

readme_compiles() {
    awk '/^```ts$/ { inside = 1; next } /^```$/ { inside = 0 } inside' platform/wasm/README.md >"$app/ask.ts"
    compile --lib es2022,dom ask.ts && [ -s "$app/ask.js" ]
}

start_server() {
    local tries
    "$command" sample --out "$out/shapes" &&
        "$command" pack --features "$out/shapes/public.npy" --labels "$out/shapes/public_labels.npy" --slots class \
            --response-only --out "$out/shapes.pmpk" &&
        "$command" index --pack "$out/shapes.pmpk" --features "$out/shapes/gallery.npy" \
            --labels "$out/shapes/gallery_labels.npy" --store "sqlite:$out/shapes.store" || return 1
    "$command" serve --pack "$out/shapes.pmpk" --store "sqlite:$out/shapes.store" --files "$out/page" \
        --listen 127.0.0.1:0 >"$out/server.told" 2>"$out/server.log" &
    server=$!
    for tries in {1..1200}; do
        [ ! -s "$out/server.told" ] && kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    address=$(grep -oE 'http://[0-9.:]+' "$out/server.told" | head -n 1) || { cat "$out/server.log"; return 1; }
    id=$("$command" inspect "$out/shapes.pmpk" --json | node -p 'JSON.parse(require("node:fs").readFileSync(0)).pack')
}

found() { tee "$out/$1.found" && grep -qxE '[0-9]+ of [1-9][0-9]* items' "$out/$1.found"; }

in_node() {
    (cd "$app" && node --input-type=module -e \
        "import { ask } from './ask.js'; console.log(await ask('$address', '$id'));") | found node
}

# A page has no node_modules, so the name is replaced by a path, as bundlers do.
in_browser() {
    mkdir -p "$out/page"
    cp -r "$app/node_modules/privatemail" "$out/page"
    sed "s|from 'privatemail'|from './privatemail/privatemail.js'|" "$app/ask.js" >"$out/page/ask.js"
    echo "import { ask } from './ask.js'; document.body.textContent = await ask(location.origin, '$id').catch(String);" \
        >"$out/page/main.js"
    echo '<!DOCTYPE html><body></body><script type="module" src="main.js"></script>' >"$out/page/index.html"
    timeout 300 python3 "$here/browse.py" "$address/" | found browser
}

rm -rf "$out"
mkdir -p "$app" "$out/page"
must "the npm package installs into an empty folder" install_package || { sum_up; exit 1; }
cp "$here/mistakes.ts" "$app"
check "it has what its package.json names" package_is_complete
check "its types need nothing of a browser or of node" \
    compile --noEmit --lib es2020 node_modules/privatemail/privatemail.d.ts
must "README's ten lines are strict TypeScript" readme_compiles || { sum_up; exit 1; }
check "the types find mistakes" compile --noEmit --lib es2022,dom mistakes.ts
check "the types are those of the classes" node "$here/compare_types.mjs" "$typescript" "$app/node_modules/privatemail"
if [ -x "$command" ]; then
    trap '[ -z "${server:-}" ] || kill "$server" 2>/dev/null || true' EXIT
    must "privatemail serve serves the sample gallery" start_server || { sum_up; exit 1; }
    check "the ten lines search, in node" in_node
    if command -v chromium >/dev/null; then
        check "the ten lines search, in Chromium" in_browser
    else
        echo "skipped a browser: there is no chromium"
    fi
else
    echo "skipped searches: there is no build/release/cli/privatemail"
fi
sum_up
