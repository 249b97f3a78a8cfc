// SPDX-License-Identifier: Apache-2.0
// Tests of privatemail.wasm and privatemail.js: node --expose-gc run_wasm_tests.mjs FOLDER-OF-BUILD [FILE-FOR-THE-ROW]
import { readFileSync, writeFileSync } from 'node:fs';
import { counts, folder, golden } from './wasm_harness.mjs';

// One after the other: they replace what the host gives. Static imports that wait run side by side.
const { releasesEqual } = await import('./wasm_golden.mjs');
await import('./wasm_heads.mjs');
await import('./wasm_sketches.mjs');
await import('./wasm_crowd.mjs');
await import('./wasm_relay.mjs');
await import('./wasm_errors.mjs');
await import('./wasm_budgets.mjs');
const { clientMemory, stackDepth } = await import('./wasm_memory.mjs');
await import('./wasm_hostile.mjs');
await import('./wasm_readme.mjs');

/** Bytes of the code section: sections are an id, a length in LEB128 and that many bytes. */
function codeSize(wasm) {
    for (let at = 8; at < wasm.length;) {
        const id = wasm[at++];
        let size = 0;
        for (let shift = 0, more = true; more; shift += 7) {
            size += (wasm[at] & 127) * 2 ** shift;
            more = wasm[at++] >= 128;
        }
        if (id === 10)
            return size;
        at += size;
    }
    throw new Error('there is no code section');
}

const text = (codeSize(readFileSync(new URL('privatemail.wasm', folder))) / 1024).toFixed(1);
const row = `| WebAssembly (node) | yes | node | ${releasesEqual} of ${golden.releases.length} | ${text} KiB | ` +
    `${clientMemory} bytes | ${stackDepth} bytes |`;
console.log(row);
if (process.argv[3])
    writeFileSync(process.argv[3], `${row}\n`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
