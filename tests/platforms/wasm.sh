#!/usr/bin/env bash
# WebAssembly: builds privatemail.wasm twice (same bytes, size limit, imports) and runs tests/wasm under node.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1:-} in
'') ;;
--help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

out=build/platforms/wasm
passed=0 failed=0

# check NAME COMMAND...: one check; what the command printed is shown when it failed.
check() {
    local name=$1
    shift
    if "$@" >"$out/check.log" 2>&1; then
        echo "ok      $name"
        passed=$((passed + 1))
    else
        echo "FAILED  $name"
        sed 's/^/        /' "$out/check.log"
        failed=$((failed + 1))
    fi
}

command -v node >/dev/null || { echo "there is no node: run scripts/setup.sh --platforms"; exit 1; }
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

node --expose-gc tests/wasm/run_wasm_tests.mjs "$out/first" "$out.rows" >"$out/node.log" 2>&1 || failed=$((failed + 1))
sed '/^[0-9]* passed, [0-9]* failed$/d' "$out/node.log"
read -r good bad < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$out/node.log"; echo 0 0)
passed=$((passed + good))

[ "$good" -gt 0 ] || echo "FAILED  the tests did not come to their end"
[ -s "$out.rows" ] || echo '| WebAssembly (node) | no | no | - | - | - | - |' >"$out.rows"
[ "$bad" = 0 ] || failed=$((failed + bad - 1)) # one is counted already
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
