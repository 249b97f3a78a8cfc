// SPDX-License-Identifier: Apache-2.0
// Several clients and budgets on one store: together they spend what one may.
import assert from 'node:assert/strict';
import { fails, golden, library, makeFeatures, memoryStore, newBudget, owner, test } from './wasm_harness.mjs';

const pack = await library.openPack(golden.packs[1].bytes);
const label = pack.classes()[0].label;
const features = makeFeatures(pack.info.features, 1);
const CHANGED = /changed: open it anew/;

const later = (work) => (...values) => new Promise((resolve) => setImmediate(() => resolve(work(...values))));

/** Each answers stores of one place. */
const places = {
    'one store': () => {
        const store = memoryStore();
        return () => store;
    },
    'one store that takes its time': () => {
        const { load, save } = memoryStore();
        const store = { load: later(load), save: later(save) };
        return () => store;
    },
    'two stores of one place': () => {
        const { load, save } = memoryStore();
        return () => ({ load: later(load), save: later(save) });
    },
};

await test('a budget is created once', async () => {
    const { load, save } = memoryStore();
    const client = pack.client({ epsilon: 1 });
    let other;
    const hesitant = {
        save,
        async load() { // lets another one go ahead before it says that there is none
            const bytes = load();
            other ??= newBudget({ store: { load, save } }).then((budget) => client.arm(budget));
            await Promise.race([other, new Promise((resolve) => setTimeout(resolve, 50))]);
            return bytes;
        },
    };
    await newBudget({ store: hesitant });
    await other;
    assert.equal((await newBudget({ store: { load, save } })).remaining().epsilonSpent, 1);
    client.close();
});

await test('a budget of version 1 becomes one of version 2 with the next charge, and gains nothing', async () => {
    const old = golden.budgets.filter(({ bytes, numbers }) => bytes.length === 64 && numbers[0] > 0n);
    assert.equal(old.length, 2);
    for (const { bytes, owner: name } of old) {
        const store = memoryStore();
        store.save(bytes);
        const caps = { epsilonFloor: 8, epsilonCrowd: 1, deltaCrowd: 1e-5 };
        const budget = await library.openBudget({ owner: name, store, ...caps });
        const before = budget.remaining();
        assert.equal(store.load().length, 64);
        const client = pack.client({ epsilon: 0.25 });
        await client.arm(budget);
        assert.equal(store.load().length, 112);
        const after = (await library.openBudget({ owner: name, store, ...caps })).remaining();
        assert.deepEqual(after, { ...before, epsilonSpent: before.epsilonSpent + 0.25 });
        assert.equal(after.floorCap + after.crowdMu2Cap + after.crowdDelta0Cap + after.crowdDelta, 0);
        client.close();
    }
});

await test('clients that arm at once pay one after the other', async () => {
    const saved = [];
    const spentOf = (bytes) => new DataView(bytes.buffer).getUint32(96, true);
    const { load, save } = memoryStore();
    const store = { load, save: async (bytes) => (save(bytes), saved.push(spentOf(bytes))) };
    const budget = await newBudget({ store });
    const clients = Array.from({ length: 5 }, () => pack.client({ epsilon: 1 }));
    await Promise.all(clients.map((client) => client.arm(budget)));
    assert.deepEqual(saved, [0, 1, 2, 3, 4, 5].map((count) => count * 2 ** 20));
    for (const client of clients)
        client.close();
});

for (const [name, place] of Object.entries(places)) {
    await test(`two budgets in turn cannot spend twice: ${name}`, async () => {
        const storeOf = place();
        const first = await newBudget({ store: storeOf(), epsilon: 8 });
        const second = await newBudget({ store: storeOf() });
        const client = pack.client({ epsilon: 4 });
        for (const spent of [4, 8]) {
            await client.arm(first);
            client.release(features, label);
            const { cause } = await fails('PERSIST', () => client.arm(second));
            assert.match(cause.message, CHANGED);
            await fails('STATE', () => client.release(features, label)); // the noise is gone
            assert.deepEqual([first, second].map((budget) => budget.remaining().epsilonSpent), [spent, 0]);
        }
        const anew = await newBudget({ store: storeOf() });
        assert.equal(anew.remaining().epsilonSpent, 8);
        await fails('SPENT', () => client.arm(anew));
        client.close();
    });

    await test(`eight budgets at once cannot spend twice: ${name}`, async () => {
        const storeOf = place();
        const cap = 20;
        let released = 0;
        const spend = async () => {
            const client = pack.client({ epsilon: 1 });
            let budget = await newBudget({ store: storeOf(), epsilon: cap });
            for (;;) {
                try {
                    await client.arm(budget);
                    client.release(features, label);
                    released++;
                } catch (error) {
                    if (!CHANGED.test(error.cause?.message))
                        throw error;
                    budget = await newBudget({ store: storeOf(), epsilon: cap });
                }
            }
        };
        await Promise.all(Array.from({ length: 8 }, () => fails('SPENT', spend)));
        assert.equal(released, cap);
        assert.equal((await newBudget({ store: storeOf() })).remaining().epsilonSpent, cap);
    });
}

await test('a refund is lost when another budget spent meanwhile', async () => {
    const store = memoryStore();
    const budget = await newBudget({ store });
    const [one, other] = [pack.client({ epsilon: 1 }), pack.client({ epsilon: 1 })];
    await one.arm(budget);
    await other.arm(await newBudget({ store }));
    await fails('PERSIST', () => one.disarm(budget));
    await fails('STATE', () => one.release(features, label));
    assert.equal((await newBudget({ store })).remaining().epsilonSpent, 2);
    one.close();
    other.close();
});

await test('a charge that does not fit the state leaves an armed client armed, whatever its budget', async () => {
    const store = memoryStore();
    const [budget, outdated] = [await newBudget({ store }), await newBudget({ store })];
    const client = pack.client({ epsilon: 1 });
    await client.arm(budget);
    await fails('STATE', () => client.arm(outdated));
    assert.ok(client.release(features, label).bytes.length > 0);
    client.close();
});

await test('a store that lost the budget, or hands out something else, arms nothing', async () => {
    const { load, save } = memoryStore();
    const store = { load, save };
    const budget = await newBudget({ store });
    const client = pack.client({ epsilon: 1 });
    const failures = [
        ['PERSIST', () => null], ['PERSIST', () => undefined], ['PERSIST', () => new Uint8Array()],
        ['PERSIST', () => load().slice(1)], ['PERSIST', () => Promise.reject(new Error('lost'))],
        ['ARGUMENT', () => 'text'],
    ];
    for (const [status, fault] of failures) {
        store.load = fault;
        await fails(status, () => client.arm(budget));
        await fails('STATE', () => client.release(features, label));
    }
    store.load = () => load().buffer;
    await client.arm(budget);
    assert.equal((await library.openBudget({ owner, store })).remaining().epsilonSpent, 1);
    client.close();
});
