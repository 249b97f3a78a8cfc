#!/usr/bin/env bash
# WebAssembly: builds privatemail.wasm twice (same bytes, size limit, imports) and runs tests/wasm under node.
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

rm -rf "$out" "$out.rows"
mkdir -p "$out"
check "privatemail.wasm builds and is small" scripts/build-wasm.sh --out "$out/first"
check "a second build, from another folder" env -C / "$PWD/scripts/build-wasm.sh" --out "$PWD/$out/second"
check "both builds are the same" cmp "$out/first/privatemail.wasm" "$out/second/privatemail.wasm"
check "it imports entropy and persist, nothing else" imports_are_two "$out/first/privatemail.wasm"

counted node node --expose-gc tests/wasm/run_wasm_tests.mjs "$out/first" "$out.rows"
[ -s "$out.rows" ] || echo '| WebAssembly (node) | no | no | - | - | - | - |' >"$out.rows"
sum_up
