#!/usr/bin/env bash
# WebAssembly: builds privatemail.wasm and its npm package twice (same bytes, size limit, imports), runs tests/wasm
# under node, and uses the package from TypeScript, node and a browser.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/platforms/frame.sh

out=build/platforms/wasm

needs node
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || { echo "node 18 or later is needed"; exit 1; }

imports_are_two() {
    node -e '
        const { readFileSync } = require("node:fs");
        const module = new WebAssembly.Module(readFileSync(process.argv[1]));
        const imports = WebAssembly.Module.imports(module).map(({ module, name, kind }) => `${module}.${name} ${kind}`);
        console.log(imports.join("\n"));
        process.exitCode = imports.sort().join() === "env.entropy function,env.persist function" ? 0 : 1' "$1"
}

no_leftovers() {
    diff <(ls -A "$1") <(cd platform/wasm && { printf '%s\n' LICENSE LICENSE-BearSSL privatemail.wasm && ls -- *.js *.d.ts *.json *.md; } |
        sort)
}

rm -rf "$out" "$out.rows"
mkdir -p "$out"
check "privatemail.wasm builds and is small" \
    scripts/build-wasm.sh --out "$out/first" --tarball "$out/privatemail.tgz"
check "a second build, from another folder" \
    env -C / "$PWD/scripts/build-wasm.sh" --out "$PWD/$out/second" --tarball "$PWD/$out/second.tgz"
check "both builds are the same" cmp "$out/first/privatemail.wasm" "$out/second/privatemail.wasm"
check "so are both packages" cmp "$out/privatemail.tgz" "$out/second.tgz"
check "nothing else is left in the folder" no_leftovers "$out/first"
check "it imports entropy and persist, nothing else" imports_are_two "$out/first/privatemail.wasm"

counted node node --expose-gc tests/wasm/run_wasm_tests.mjs "$out/first" "$out.rows"
counted npm tests/wasm/package/npm_package.sh "$out/privatemail.tgz"
[ -s "$out.rows" ] || echo '| WebAssembly (node) | no | no | - | - | - | - |' >"$out.rows"
sum_up
