// SPDX-License-Identifier: Apache-2.0
// Crowds: policies, plans, what bundles cost, and what is refused. The bytes are in wasm_golden.mjs.
import assert from 'node:assert/strict';
import { fails, golden, library, makeFeatures, memoryStore, newBudget, openAlone, test } from './wasm_harness.mjs';

const pack = await library.openPack(golden.packs[1].bytes);
const label = pack.classes()[0].label;
const features = makeFeatures(pack.info.features, 1);
const crowd = { clients: 100000, clusters: 0.5, copies: 8, own: 2, delta0: 1e-12, mu: 0.03 };
const use = { cells: 125, floor: 8 };

await test('policies out of range are refused', async () => {
    const bad = [
        { own: 0 }, { own: pack.info.cells + 1 }, { own: 9 }, { own: -1 }, { own: 1.5 }, { own: '2' },
        { copies: 65 }, { copies: 0 }, { copies: undefined }, { copies: NaN }, { copies: 2 ** 32 + 8 },
        { clusters: NaN }, { clusters: -0.5 }, { clusters: 4.1 }, { clusters: '1' }, { clients: 0 }, { clients: -1 },
        { clients: NaN }, { clients: 1.5 }, { clients: 2 ** 32 + 1 }, { clients: Infinity }, { relayClusters: NaN },
        { relayClusters: -1 }, { relayClusters: 1e9 }, { delta0: 0 }, { mu: 0 }, { delta0: NaN }, { mu: Infinity },
        { delta0: 0.5 },
    ];
    for (const change of bad)
        await fails('CROWD', () => pack.client({ epsilon: 8, crowd: { ...crowd, ...change } }));
    await fails('CROWD', () => pack.client({ epsilon: 8, crowd: null }));
    await fails('MECHANISM', () => pack.client({ epsilon: 8, delta: 1e-5, mechanism: 'gaussian', crowd }));
    for (const epsilon of [0, -1, 16.1, 1e-6, NaN, undefined])
        await fails('EPSILON', () => pack.client({ epsilon, crowd }));
    pack.client({ epsilon: 8, crowd: { ...crowd, own: pack.info.cells, cover: true, relayClusters: 7 } }).close();
});

await test('a plan, and what its policy gives', () => {
    const goal = { ...use, clients: 100000, epsilon: 0.1, delta: 1e-6, honest: 1, copiesMax: 20 };
    const { policy, fakes, delta, needed } = library.planCrowd(goal);
    assert.ok(needed && fakes > 0.1 && fakes <= 0.36 && delta <= 1e-6, `${fakes} fakes`);
    assert.ok(policy.clients === 100000 && policy.copies <= 20 && policy.own === 1 && policy.relayClusters === 0);
    const epsilon = library.crowdEpsilon(policy, use, 1e-6);
    assert.ok(epsilon <= 0.1 && epsilon > 0.09, `epsilon ${epsilon}`);
    assert.ok(library.crowdDelta(policy, use, 0.1) <= 1e-6 && library.crowdDelta(policy, use, 0.05) > 1e-6);
    assert.ok(library.crowdEpsilon(policy, { ...use, queries: 10 }, 1e-6) > 2 * epsilon);
    const mu = library.crowdMu(policy, 125, 1e-10);
    assert.ok(mu > 0 && mu < 1);
    pack.client({ epsilon: 8, crowd: { ...policy, delta0: 1e-10, mu } }).close();
    const relay = library.planCrowd({ ...use, relay: true, epsilon: 0.1, delta: 1e-6, copiesMax: 20 });
    assert.ok(relay.fakes <= 35500 && relay.policy.relayClusters > 0 && relay.policy.clients === 0);
    assert.equal(library.planCrowd({ ...goal, own: 3 }).policy.own, 3);
    const floor = library.planCrowd({ cells: 125, floor: 1, clients: 1000, epsilon: 1, delta: 1e-6 });
    assert.ok(!floor.needed && floor.fakes === 0);
});

await test('plans and accounting out of range are refused', async () => {
    const goal = { ...use, clients: 100000, epsilon: 0.1, delta: 1e-6 };
    const bad = [
        { clients: 0 }, { clients: -5 }, { clients: 3 }, { clients: 2 ** 53 }, { clients: '9' }, { honest: 0 },
        { honest: 1.5 }, { honest: NaN }, { copiesMax: 65 }, { copiesMax: 0 }, { own: 0 }, { own: 9 }, { cells: 1 },
        { cells: -1 }, { cells: undefined }, { floor: NaN }, { floor: undefined }, { queries: 0 }, { queries: 2 ** 33 },
    ];
    for (const change of bad)
        await fails('CROWD', () => library.planCrowd({ ...goal, ...change }));
    await fails('CROWD', () => library.planCrowd());
    for (const epsilon of [0, -1, NaN, 17, '1'])
        await fails('EPSILON', () => library.planCrowd({ ...goal, epsilon }));
    for (const delta of [0, 1, NaN, undefined]) {
        await fails('DELTA', () => library.planCrowd({ ...goal, delta }));
        await fails('DELTA', () => library.crowdEpsilon(crowd, use, delta));
        await fails('DELTA', () => library.crowdMu(crowd, 125, delta));
    }
    await fails('EPSILON', () => library.crowdDelta(crowd, use, NaN));
    await fails('CROWD', () => library.crowdDelta({ ...crowd, clusters: NaN }, use, 0.1));
    await fails('CROWD', () => library.crowdEpsilon({ ...crowd, copies: 65 }, use, 1e-6));
    await fails('CROWD', () => library.crowdDelta(crowd, { cells: 0, floor: 8 }, 0.1));
    await fails('CROWD', () => library.crowdDelta(crowd));
    await fails('CROWD', () => library.crowdMu({ clients: 10, copies: 8 }, 125, 1e-12));
});

await test('each kind of bundle costs what it should', async () => {
    const store = memoryStore();
    const budget = await newBudget({ store });
    const client = pack.client({ epsilon: 8, crowd });
    await client.armBundle(budget, 'query');
    const once = budget.remaining();
    assert.equal(once.floorSpent, 8);
    assert.ok(Math.abs(once.crowdMu2Spent - 2 * 0.03 ** 2) < 1e-11 && Math.abs(once.crowdDelta0Spent - 2e-12) < 1e-18);
    await client.disarm(budget);
    assert.equal(budget.remaining().floorSpent + budget.remaining().crowdMu2Spent, 0);
    await client.armBundle(budget, 'query');
    const kept = client.bundle(features, label).messages.find(({ own }) => own === 1).bytes;
    await client.armBundle(budget, 'kept');
    assert.deepEqual(client.keptBundle(kept).messages.find(({ own }) => own === 1).bytes, kept);
    await client.armBundle(budget, 'idle');
    client.idleBundle();
    const twice = budget.remaining();
    assert.deepEqual([twice.floorSpent, twice.crowdMu2Spent], [8, 2 * once.crowdMu2Spent]);
    assert.equal(twice.epsilonSpent + twice.mu2Spent, 0);
    assert.equal(store.load().length, 112);
    client.close();
});

await test('a full budget, and one without a crowd, pay for no bundle', async () => {
    const caps = { epsilon: 9, epsilonGaussian: 0, delta: 0, epsilonFloor: 8, epsilonCrowd: 1, deltaCrowd: 1e-6 };
    const budget = await newBudget(caps);
    const none = await newBudget({ ...caps, epsilonFloor: 0, epsilonCrowd: 0, deltaCrowd: 0 });
    const client = pack.client({ epsilon: 8, crowd });
    const unpromising = pack.client({ epsilon: 1, crowd: { clients: 1000, clusters: 0.5, copies: 8 } });
    await client.armBundle(budget, 'query');
    const kept = client.bundle(features, label).messages.find(({ own }) => own === 1).bytes;
    const before = budget.remaining();
    await fails('SPENT', () => client.armBundle(budget, 'query')); // the floor is used up
    await fails('SPENT', () => unpromising.armBundle(budget, 'kept'));
    await fails('SPENT', () => client.armBundle(none, 'query'));
    assert.deepEqual(budget.remaining(), before);
    await client.armBundle(budget, 'kept');
    client.keptBundle(kept);
    for (const change of [{ epsilonFloor: -1 }, { epsilonFloor: 4096 }, { epsilonFloor: NaN }, { epsilonCrowd: 17 },
        { epsilonCrowd: NaN }])
        await fails('EPSILON', () => newBudget({ ...caps, ...change }));
    for (const change of [{ deltaCrowd: 0 }, { deltaCrowd: 1 }, { epsilonCrowd: 0 }])
        await fails('DELTA', () => newBudget({ ...caps, ...change }));
    client.close();
    unpromising.close();
});

await test('calls out of order, and those of clients without a crowd, are refused', async () => {
    const budget = await newBudget();
    const client = pack.client({ epsilon: 8, crowd });
    const other = pack.client({ epsilon: 1 });
    await fails('STATE', () => client.bundle(features, label));
    await fails('STATE', () => client.idleBundle());
    await fails('CROWD', () => client.arm(budget));
    await fails('CROWD', () => other.armBundle(budget, 'query'));
    for (const kind of [undefined, 'toString', 1, 'QUERY'])
        await fails('ARGUMENT', () => client.armBundle(budget, kind));
    await fails('ARGUMENT', () => client.armBundle({}, 'idle'));
    assert.equal(budget.remaining().epsilonSpent + budget.remaining().floorSpent, 0);
    await other.arm(budget);
    await fails('CROWD', () => other.bundle(features, label));
    await fails('CROWD', () => other.idleBundle());
    await client.armBundle(budget, 'idle');
    await fails('CROWD', () => client.release(features, label));
    await fails('STATE', () => client.armBundle(budget, 'idle'));
    await fails('ARGUMENT', () => client.bundle(features, label));
    client.idleBundle();
    await fails('STATE', () => client.idleBundle());
    client.close();
    await fails('STATE', () => client.idleBundle());
    await fails('STATE', () => client.armBundle(budget, 'idle'));
    other.close();
});

await test('bad input leaves the client armed', async () => {
    const budget = await newBudget();
    const client = pack.client({ epsilon: 8, crowd });
    await client.armBundle(budget, 'query');
    await fails('FEATURES', () => client.bundle(features.map(() => NaN), label));
    await fails('LABEL', () => client.bundle(features, 12345));
    await fails('DIMENSION', () => client.bundle(features.subarray(1), label));
    await fails('ARGUMENT', () => client.bundle(undefined, label));
    await fails('ARGUMENT', () => client.keptBundle(new Uint8Array(3)));
    const { bytes, messages } = client.bundle(features, label);
    const kept = messages.find(({ own }) => own === 1).bytes;
    await client.armBundle(budget, 'kept');
    for (const bad of [new Uint8Array(), kept.slice(1), kept.slice(0, -1), bytes, new Uint8Array(1e5)])
        await fails('RELEASE', () => client.keptBundle(bad));
    await fails('ARGUMENT', () => client.keptBundle('text'));
    await fails('PACK_ID', () => client.keptBundle(golden.bundles[0].bytes));
    assert.deepEqual(client.keptBundle(kept).messages.find(({ own }) => own === 1).bytes, kept);
    await fails('MECHANISM', () => pack.releaseSymbols(kept));
    client.close();
});

await test('a page that changes its policy after an arm changes nothing', async () => {
    const mine = { ...crowd };
    const client = pack.client({ epsilon: 8, crowd: mine });
    const budget = await newBudget();
    Object.assign(mine, { copies: 64, own: 1, mu: 0.001 });
    await client.armBundle(budget, 'query');
    assert.ok(Math.abs(budget.remaining().crowdMu2Spent - 2 * 0.03 ** 2) < 1e-11);
    const { messages } = client.bundle(features, label);
    assert.deepEqual(messages.map(({ own }) => own).filter((own) => own > 0).sort(), [1, 2]);
    client.close();
});

await test('a policy that changes within the memory is refused, and costs nothing', async () => {
    const { pack: alone, memory } = await openAlone(golden.packs[1].bytes);
    const clusters = 0.4321;
    const client = alone.client({ epsilon: 8, crowd: { ...crowd, clusters } });
    const budget = await newBudget();
    const pattern = Buffer.from(Float64Array.of(clusters).buffer);
    const places = [];
    for (let at = Buffer.from(memory().buffer).indexOf(pattern); at >= 0;
        at = Buffer.from(memory().buffer).indexOf(pattern, at + 1))
        places.push(at);
    assert.equal(places.length, 2); // the client's policy, and what it was when the client was made
    const change = (value) => new DataView(memory().buffer).setFloat64(places[0], value, true);
    change(0.5);
    await fails('CROWD', () => client.armBundle(budget, 'query'));
    assert.equal(budget.remaining().floorSpent, 0);
    change(clusters);
    await client.armBundle(budget, 'query');
    change(NaN);
    await fails('CROWD', () => client.bundle(features, label));
    await client.disarm(budget);
    assert.equal(budget.remaining().floorSpent, 0);
    client.close();
});
