// SPDX-License-Identifier: Apache-2.0
// Memory: how much a client takes, how deep the stack gets, that neither grows, and that nothing private stays.
import assert from 'node:assert/strict';
import {
    golden, instances, library, makeFeatures, makePack, newBudget, openAlone, PrivateMail, STACK_PATTERN, test,
    withEntropy,
} from './wasm_harness.mjs';

const seedOf = (salt) => Uint8Array.from({ length: 32 }, (_, i) => 31 * i + 7 * salt + 1);
const answerOf = (index) => golden.answers.find((one) => one.pack === index);

export let clientMemory = 0;
export let stackDepth = 0;

await test('a client of 100 slots, 8 cells and 512 features has the memory of the table', async () => {
    const pack = await library.openPack(makePack(512, 100, 8));
    const client = pack.client({ epsilon: 4 });
    clientMemory = client.memorySize;
    assert.equal(clientMemory, 1128);
    await client.arm(await newBudget());
    assert.equal(client.release(makeFeatures(512, 1), 99).bytes.length, 64);
    client.close();
});

const MAP_TO_ZERO = ['never', 'far', 'narrow']; // all queries, or nearly all, which is refused

/** A whole life of both clients of a pack in each modality, with everything that a page can call. */
async function live(pack, index, salt) {
    for (const { name, features } of pack.modalities().filter(({ name }) => !MAP_TO_ZERO.includes(name)))
        await liveIn(name, pack, index, salt, makeFeatures(features, salt));
}

async function liveIn(modality, pack, index, salt, features) {
    const label = pack.classes()[salt % pack.info.classes]?.label ?? 0;
    const budget = await newBudget();
    for (const options of [{ epsilon: 1 }, { epsilon: 1, mechanism: 'gaussian', delta: 1e-5 }]) {
        if (options.mechanism ? pack.info.anchors === 0 : pack.info.cells === 0)
            continue;
        const client = pack.client(options);
        await withEntropy(seedOf(salt), async () => {
            await client.arm(budget);
            client.release(features, label, { modality });
            await client.arm(budget);
            assert.throws(() => client.release(features.map(() => NaN), label, { modality }));
            await client.disarm(budget);
            await client.arm(budget);
        });
        if (answerOf(index) && pack.info.sketch > 0) {
            await assert.rejects(client.answer(answerOf(index).bytes.slice(0, 60), features, label, { modality }));
            await client.answer(answerOf(index).bytes, features, label, { modality, scope: 'all' });
        }
        client.close();
    }
    if (pack.info.cells > 0)
        await liveInACrowd(modality, pack, index, salt, features, label, budget);
}

async function liveInACrowd(modality, pack, index, salt, features, label, budget) {
    const crowd = { clients: 1000, clusters: 2, copies: 8, own: 2, cover: true, delta0: 1e-12, mu: 0.03 };
    const client = pack.client({ epsilon: 8, crowd });
    await withEntropy(seedOf(salt), async () => {
        await client.armBundle(budget, 'query');
        assert.throws(() => client.bundle(features.map(() => NaN), label, { modality }));
        const { messages } = client.bundle(features, label, { modality });
        await client.armBundle(budget, 'kept');
        client.keptBundle(messages.find(({ own }) => own === 1).bytes);
        await client.armBundle(budget, 'idle');
        client.idleBundle();
        await client.armBundle(budget, 'query');
    });
    const answer = golden.crowdAnswers.find((one) => one.pack === index);
    if (answer)
        await client.answer(answer.bytes, features, label, { modality, scope: 'all' });
    client.close();
}

await test('the stack stays within half of what it has', async () => {
    for (const [index, { bytes }] of golden.packs.entries()) {
        const { pack, stack, stackSize } = await openAlone(bytes);
        await live(pack, index, 1);
        stackDepth = Math.max(stackDepth, stack());
        assert.ok(stack() > 500 && stack() <= stackSize / 2, `${stack()} of ${stackSize} bytes`);
    }
});

await test('so does the stack of plans and accounting, and their memory is used again', async () => {
    const alone = await PrivateMail.load();
    const { memory, __stack_pointer: { value: size } } = instances.last;
    const use = { cells: 125, floor: 8 };
    let grown;
    for (let i = 0; i < 5; i++) {
        const goal = { ...use, clients: 100000 + i, epsilon: 0.1, delta: 1e-6, queries: 1 + i };
        const { policy } = alone.planCrowd(goal);
        alone.crowdEpsilon(policy, { ...use, queries: 10 }, 1e-6);
        alone.crowdDelta(policy, use, 0.1);
        alone.crowdMu(policy, 125, 1e-10);
        grown ??= memory.buffer.byteLength;
    }
    assert.equal(memory.buffer.byteLength, grown);
    const depth = size - new Uint8Array(memory.buffer, 0, size).findIndex((byte) => byte !== STACK_PATTERN);
    stackDepth = Math.max(stackDepth, depth);
    assert.ok(depth > 200 && depth <= size / 2, `${depth} of ${size} bytes`);
});

/** The whole linear memory after the life of clients with other secrets. */
async function residue(index, salt) {
    const { pack, memory } = await openAlone(golden.packs[index].bytes);
    await live(pack, index, salt);
    return memory().slice();
}

for (const [index, { name }] of golden.packs.entries())
    if (answerOf(index))
        await test(`other features, labels and entropy leave the same memory: ${name}`, async () => {
            const first = await residue(index, 1);
            for (const salt of [2, 3, 4]) {
                const other = await residue(index, salt);
                const different = first.findIndex((byte, i) => byte !== other[i]);
                assert.equal(different, -1, `byte ${different} depends on a secret`);
            }
        });

const holds = (memory, secret) =>
    Buffer.from(memory.buffer).includes(Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength));

await test('features are in memory within a call only, noise until it is used', async () => {
    const { pack, memory } = await openAlone(golden.packs[1].bytes);
    const features = makeFeatures(pack.info.features, 5);
    const most = Math.max(...features.map(Math.abs));
    const quantised = Int8Array.from(features, (x) => Math.sign(x) * Math.floor(127 * Math.abs(x) / most + 0.5));
    const client = pack.client({ epsilon: 1, mechanism: 'gaussian', delta: 1e-5 });
    const budget = await newBudget();
    const armed = [];
    for (const salt of [1, 2]) {
        await withEntropy(seedOf(salt), () => client.arm(budget));
        armed.push(memory().slice());
        client.release(features, pack.classes()[0].label);
    }
    assert.notDeepEqual(armed[0], armed[1]); // so a comparison of memory does see noise
    assert.ok(!holds(memory(), features.subarray(0, 2)) && !holds(memory(), quantised.subarray(0, 8)));
    memory().set(quantised, memory().length - 64);
    assert.ok(holds(memory(), quantised.subarray(0, 8))); // so the search does find what is there
    client.close();
});

await test('memory is flat over 100,000 releases and 2,000 clients', async () => {
    const { pack, memory } = await openAlone(golden.packs[3].bytes);
    const features = makeFeatures(pack.info.features, 6);
    const label = pack.classes()[0]?.label ?? 0;
    const budget = await newBudget({ epsilon: 4000 });
    const client = pack.client({ epsilon: 1 / 64 });
    const heap = () => {
        globalThis.gc();
        return process.memoryUsage().heapUsed;
    };
    let size, used;
    for (let i = 0; i < 101000; i++) {
        await client.arm(budget);
        client.release(features, label);
        if (i === 1000)
            [size, used] = [memory().length, heap()];
    }
    for (let i = 0; i < 2000; i++)
        pack.client({ epsilon: 1 }).close();
    assert.equal(memory().length, size);
    assert.ok(heap() - used < 2e6, `${heap() - used} bytes more`);
    assert.equal(budget.remaining().epsilonSpent, 101000 / 64);
    client.close();
});
