// SPDX-License-Identifier: Apache-2.0
// The page of platform/wasm/README.md runs, with a server and a storage that stand for real ones.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { keys, withRelay } from './relay_reference.mjs';
import { golden, memoryStore, newBudget, owner, PrivateMail, root, test } from './wasm_harness.mjs';

await test('the example of the README runs', async () => {
    const text = readFileSync(new URL('platform/wasm/README.md', root), 'utf8');
    const [, script] = text.match(/<script type="module">\nimport .*\n([^]*)<\/script>/);
    const { bytes: answer, features, label } = golden.answers[0];
    const stored = new Map();
    const posted = [];
    let status = 200;
    const page = {
        PrivateMail, owner, features, label,
        localStorage: { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) },
        fetch: async (url, options) => {
            if (!options)
                return new Response(golden.packs[0].bytes);
            assert.equal(new Headers(options.headers).get('Content-Type'), 'application/cbor'); // or a 415 comes back
            posted.push(options.body);
            return new Response(answer, { status });
        },
    };
    const AsyncFunction = (async () => {}).constructor;
    const run = new AsyncFunction(...Object.keys(page), `${script}\nreturn { matches, left: budget.remaining() };`);
    for (const visit of [1, 2]) {
        const { matches, left } = await run(...Object.values(page));
        assert.ok(matches.length > 0 && matches.some(({ payload }) => payload.length > 0));
        assert.equal(posted.length, visit);
        assert.equal(left.epsilonSpent, 4 * visit); // the second visit finds what the first one spent
    }
    status = 503;
    await assert.rejects(run(...Object.values(page)), /503: resend the same bytes/);
    assert.equal(posted.length, 3); // nothing was remade
});

await test("the README's words find pictures", async () => {
    const text = readFileSync(new URL('platform/wasm/README.md', root), 'utf8');
    const [, script] = text.match(/## Words find pictures\n[^]*?```js\n([^]*?)```/);
    const index = golden.packs.findIndex(({ name }) => name.startsWith('m:'));
    const pack = await (await PrivateMail.load()).openPack(golden.packs[index].bytes);
    const isText = (one) => one.pack === index && pack.modalities()[one.modality].name === 'text';
    const { bytes: answer, features: words, label, matches: wanted } = golden.answers.find(isText);
    const client = pack.client({ epsilon: 4 });
    const budget = await newBudget();
    const [printed, asked] = [[], []];
    const page = {
        pack, client, budget, words, label,
        console: { log: (...values) => printed.push(values.join(' ')) },
        ask: async (message) => (asked.push(message), answer),
    };
    const AsyncFunction = (async () => {}).constructor;
    const matches = await new AsyncFunction(...Object.keys(page), `${script}\nreturn matches;`)(...Object.values(page));
    assert.deepEqual(matches.slice(0, wanted.length).map(({ item }) => String(item)), wanted.map(([item]) => item));
    assert.ok(printed.includes('text: 7 features kernels'), printed.join('\n'));
    assert.equal(asked[0].length, client.receipt.bytes);
    client.close();
});

await test("the README's crowd runs", async () => {
    const text = readFileSync(new URL('platform/wasm/README.md', root), 'utf8');
    const [, script] = text.match(/## In a crowd\n[^]*?```js\n([^]*?)```/);
    const { bytes: answer, features, label } = golden.crowdAnswers[0];
    const privatemail = await PrivateMail.load();
    const pack = await privatemail.openPack(golden.packs[0].bytes);
    const page = { privatemail, pack, owner, features, label, store: memoryStore(), keys };
    const messageSize = golden.bundles[0].bytes.length + 104;
    const AsyncFunction = (async () => {}).constructor;
    await withRelay({ pack: pack.info.id, messageSize, answer }, async (url, state) => {
        const here = script.replace('https://relay.example', url);
        const end = '\nreturn { found, kept, left: budget.remaining() };';
        const run = new AsyncFunction(...Object.keys(page), here + end);
        for (const visit of [1, 2]) {
            const { found, kept, left } = await run(...Object.values(page));
            assert.ok(found.length > 0 && found.every(({ payload }) => payload instanceof Uint8Array));
            assert.deepEqual(state.opened.at(-1), Buffer.from(kept));
            assert.equal(left.floorSpent, 8 * visit);
            assert.ok(left.crowdMu2Spent > 0 && left.crowdDelta0Spent > 0.9e-9 * visit);
        }
    });
});
