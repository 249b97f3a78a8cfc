// SPDX-License-Identifier: Apache-2.0
// Bytes from elsewhere: whatever is done to packs, answers and releases, the outcome is a result or a status, never a
// trap, and the library goes on working.
import assert from 'node:assert/strict';
import { generator, golden, instances, library, makeFeatures, newBudget, PrivateMailError, sealed, test }
    from './wasm_harness.mjs';

const MUTATIONS = 10000;

/** Some bytes changed, a piece lost, doubled, or the end cut off. */
function mutate(bytes, draw) {
    const at = Math.floor(draw() * bytes.length);
    const size = 1 + Math.floor(draw() * 16);
    switch (Math.floor(draw() * 6)) {
    case 0: return bytes.slice(0, at);
    case 1: return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + size)]);
    case 2: return Uint8Array.from([...bytes.subarray(0, at + size), ...bytes.subarray(at)]);
    case 3: return bytes.map((byte, i) => (i >= at && i < at + size ? (draw() < 0.5 ? 0 : 255) : byte));
    default: return bytes.map((byte, i) => (i === at || draw() < 0.002 ? Math.floor(draw() * 256) : byte));
    }
}

/** Counts results and statuses; everything else is a failure of the test. */
async function outcome(counted, run) {
    try {
        await run();
        counted.fine++;
    } catch (error) {
        if (!(error instanceof PrivateMailError))
            throw error;
        counted[error.name] = (counted[error.name] ?? 0) + 1;
    }
}

const pick = (list, draw) => list[Math.floor(draw() * list.length)];

await test(`${MUTATIONS} hostile packs`, async () => {
    const draw = generator(1);
    const counted = { fine: 0 };
    const budget = await newBudget();
    for (let i = 0; i < MUTATIONS; i++) {
        const changed = mutate(pick(golden.packs, draw).bytes, draw);
        if (i % 2 === 0 && changed.length >= 48)
            new DataView(changed.buffer).setBigUint64(40, BigInt(changed.length), true);
        await outcome(counted, async () => {
            const pack = await library.openPack(i % 8 > 0 && changed.length >= 88 ? sealed(changed) : changed);
            for (const options of [{ epsilon: 0.01 }, { epsilon: 0.01, mechanism: 'gaussian', delta: 0.1 }])
                await outcome({ fine: 0 }, async () => {
                    const client = pack.client({ ...options, substitute: true });
                    await client.arm(budget);
                    client.release(makeFeatures(pack.modalities()[0].features, i), 0);
                    client.close();
                });
        });
    }
    assert.ok(counted.fine > 20 && counted.PML_ERROR_PACK > 1000, JSON.stringify(counted));
});

await test('refused packs leave no instances behind', async () => {
    await outcome({ fine: 0 }, () => library.openPack(new Uint8Array(200)));
    const before = instances.count;
    for (let i = 0; i < 100; i++)
        await outcome({ fine: 0 }, () => library.openPack(new Uint8Array(200 + i)));
    assert.equal(instances.count, before);
});

await test(`${MUTATIONS} hostile answers`, async () => {
    const draw = generator(2);
    const counted = { fine: 0 };
    const answers = golden.answers.filter(({ pack }) => pack <= 2);
    const clients = await Promise.all([0, 1, 2].map(async (index) =>
        (await library.openPack(golden.packs[index].bytes)).client({ epsilon: 1 })));
    for (let i = 0; i < MUTATIONS; i++) {
        const answer = pick(answers, draw);
        await outcome(counted, () => clients[answer.pack].answer(mutate(answer.bytes, draw), answer.features,
            answer.label, answer.options));
    }
    assert.ok(counted.fine > 1000 && counted.PML_ERROR_ANSWER > 1000, JSON.stringify(counted));
    for (const { pack, bytes, features, label, options, matches } of answers)
        assert.equal((await clients[pack].answer(bytes, features, label, options)).matches.length, matches.length);
});

await test(`${MUTATIONS} hostile releases`, async () => {
    const draw = generator(3);
    const counted = { fine: 0 };
    const packs = await Promise.all(golden.packs.map(({ bytes }) => library.openPack(bytes)));
    for (let i = 0; i < MUTATIONS; i++) {
        const { pack, bytes } = pick(golden.releases, draw);
        const changed = mutate(bytes, draw);
        await outcome(counted, () => packs[pack].rows(changed));
        await outcome(counted, () => packs[pack].releaseSymbols(changed));
    }
    assert.ok(counted.fine > 100 && counted.PML_ERROR_RELEASE > 1000, JSON.stringify(counted));
});
