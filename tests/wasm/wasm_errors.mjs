// SPDX-License-Identifier: Apache-2.0
// Every error that a page can provoke, failing hosts, and calls that do not fit the state.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
    Budget, Client, fails, golden, library, makeFeatures, memoryStore, newBudget, owner, Pack, PrivateMail,
    PrivateMailError, root, sealed, seen, test, withCrypto,
} from './wasm_harness.mjs';

const pack = await library.openPack(golden.packs[1].bytes);
const responseOnly = await library.openPack(golden.packs[3].bytes);
const label = pack.classes()[0].label;
const features = makeFeatures(pack.info.features, 1);
const release = golden.releases.find((one) => one.pack === 1);
const answer = golden.answers.find((one) => one.pack === 1);

await test('the version is that of privatemail.h and package.json', () => {
    const { version } = JSON.parse(readFileSync(new URL('platform/wasm/package.json', root), 'utf8'));
    assert.equal(library.version, version);
});

await test('packs are refused for what is wrong with them', async () => {
    const good = golden.packs[1].bytes;
    const changed = (at, value) => good.map((byte, i) => (i === at ? value : byte));
    await fails('PACK_VERSION', () => library.openPack(changed(0, 0)));
    await fails('PACK_VERSION', () => library.openPack(sealed(changed(4, 9))));
    await fails('PACK_SIZE', () => library.openPack(good.slice(0, -1)));
    await fails('PACK_VERSION', () => library.openPack(new Uint8Array()));
    await fails('PACK_HASH', () => library.openPack(changed(200, good[200] ^ 1)));
    await fails('PACK', () => library.openPack(sealed(changed(84, 1))));
    await fails('PACK_ID', () => library.openPack(good, { id: golden.packs[0].id }));
    const { id: own } = golden.packs[1];
    assert.equal((await library.openPack(good, { id: own.toUpperCase() })).info.id, own);
    const inDisguise = [`0x${own}`, ` ${own}`, `${own}\n`, own.match(/../g).join('-'), own.replace(/..$/, '-$&')];
    for (const id of ['', '00', 'no id', `${own}00`, own.slice(1), ...inDisguise, new Uint8Array(15), 7])
        await fails('ARGUMENT', () => library.openPack(good, { id }));
    for (const bytes of [undefined, null, 'text', [1, 2], 4])
        await fails('ARGUMENT', () => library.openPack(bytes));
});

await test('a demand for a model is a name and nothing else', async () => {
    const { bytes, model } = golden.packs.find((one) => one.model);
    for (const bad of [`${model}\0`, `${model}\0more`, 'x'.repeat(1e6), null, 7, [model], { toString: () => model }])
        await fails('ARGUMENT', () => library.openPack(bytes, { model: bad }));
    for (const other of ['', ` ${model}`, model.slice(1), model.toUpperCase(), 'x'.repeat(65), '\ud800'])
        await fails('PACK_MODEL', () => library.openPack(bytes, { model: other }));
    assert.equal((await library.openPack(bytes, { model })).info.model, model);
});

await test('a pack whose codes are all equal gives no Gaussian client', async () => {
    const bytes = golden.packs[0].bytes.slice(); // one slot: sections 1 to 5 precede the codes of the anchors
    const { features, anchors, dimensions, prototypes } = (await library.openPack(bytes)).info;
    let at = 96;
    for (const size of [prototypes * features, 4 * prototypes, anchors * features, 4 * anchors, 8])
        at = Math.ceil((at + size) / 16) * 16;
    bytes.fill(0, at, at + 2 * anchors * dimensions);
    const flat = await library.openPack(sealed(bytes));
    await fails('SENSITIVITY', () => flat.client({ mechanism: 'gaussian', epsilon: 1, delta: 1e-5 }));
});

await test('clients are refused for what is wrong with their options', async () => {
    for (const epsilon of [undefined, 0, -1, NaN, 17, '4', true, [4], 4n])
        await fails('EPSILON', () => pack.client({ epsilon }));
    await fails('EPSILON', () => pack.client());
    await fails('DELTA', () => pack.client({ epsilon: 1, delta: 1e-5 }));
    await fails('DELTA', () => pack.client({ epsilon: 1, mechanism: 'gaussian' }));
    for (const mechanism of ['laplace', 'toString', 1, null])
        await fails('MECHANISM', () => pack.client({ epsilon: 1, mechanism }));
    await fails('SECTION', () => responseOnly.client({ epsilon: 1, mechanism: 'gaussian', delta: 1e-5 }));
    for (const answerLimit of [0, -1, 1.5, NaN, Infinity, '16', null])
        await fails('ARGUMENT', () => pack.client({ epsilon: 1, answerLimit }));
    await fails('ARGUMENT', () => pack.client({ epsilon: 1, valueBytes: 1 }));
    await fails('ARGUMENT', () => pack.client({ epsilon: 1, mechanism: 'gaussian', delta: 1e-5, valueBytes: 3 }));
    for (const Made of [Pack, Client, Budget])
        assert.throws(() => new Made(), TypeError);
});

await test('features and labels are refused, the client stays armed', async () => {
    const client = pack.client({ epsilon: 1 });
    await client.arm(await newBudget());
    await fails('DIMENSION', () => client.release(features.subarray(1), label));
    await fails('DIMENSION', () => client.release([], label));
    await fails('DIMENSION', () => client.release(new Float32Array(1e6), label));
    await fails('FEATURES', () => client.release(features.map(() => 0), label));
    for (const bad of [NaN, Infinity, -Infinity])
        await fails('FEATURES', () => client.release(features.with?.(3, bad) ?? [...features].fill(bad, 3, 4), label));
    await fails('LABEL', () => client.release(features, 12345));
    for (const bad of [undefined, null, 1.5, '3', 2 ** 31, NaN])
        await fails('ARGUMENT', () => client.release(features, bad));
    for (const bad of [undefined, null, 3, {}])
        await fails('ARGUMENT', () => client.release(bad, label));
    assert.equal(client.release([...features], label).bytes.length, client.receipt.bytes);
    client.close();
});

await test('modalities are refused by name, and by the number of their features', async () => {
    const fronts = await library.openPack(golden.packs[13].bytes);
    const client = fronts.client({ epsilon: 1 });
    const inCrowd = fronts.client({ epsilon: 1, crowd: { copies: 1, clients: 1000, clusters: 1, delta0: 1e-12, mu: 0.03 } });
    const [text, known] = [makeFeatures(7, 1), 4];
    await client.arm(await newBudget());
    await inCrowd.armBundle(await newBudget(), 'query');
    for (const modality of ['', 'audio', 'Text', 'text ', 'text\0', null, 6, ['text']]) {
        const { message } = await fails('MODALITY', () => client.release(text, known, { modality }));
        assert.ok(message.includes("'image', 'image_root', 'text'"), message);
        await fails('MODALITY', () => inCrowd.bundle(text, known, { modality }));
        await fails('MODALITY', () => client.answer(new Uint8Array(), text, known, { modality }));
    }
    for (const length of [0, 6, 8, 13, 1e6]) // 13 is what the collection is made of
        await fails('DIMENSION', () => client.release(new Float32Array(length).fill(1), known, { modality: 'text' }));
    await fails('DIMENSION', () => client.release(text, known)); // the first modality has 13
    await fails('FEATURES', () => client.release(text.map(() => 0), known, { modality: 'text' }));
    assert.equal(client.release(text, known, { modality: 'text' }).bytes.length, client.receipt.bytes);
    inCrowd.bundle(text, known, { modality: 'text' });
    const [asIs, roots] = [undefined, 'as-is_root'].map((modality) => ({ modality, scope: 'all' }));
    const { bytes } = golden.answers.find((one) => one.pack === 13);
    const scores = async (options) => (await client.answer(bytes, makeFeatures(13, 2), known, options)).matches
        .map(({ score }) => score);
    assert.notDeepEqual(await scores(asIs), await scores(roots)); // which one it is arrives
    const old = pack.client({ epsilon: 1 });
    await old.arm(await newBudget());
    await fails('MODALITY', () => old.release(features, label, { modality: 'text' }));
    old.release(features, label, { modality: '' });
    [client, inCrowd, old].forEach((one) => one.close());
});

await test('with substitute, bad input gives a release all the same', async () => {
    const client = pack.client({ epsilon: 1, substitute: true });
    const budget = await newBudget();
    for (const [bad, number] of [[features.map(() => NaN), label], [features, 12345]]) {
        await client.arm(budget);
        assert.equal(client.release(bad, number).bytes.length, client.receipt.bytes);
    }
    client.close();
});

await test('a call that does not fit the state is refused', async () => {
    const client = pack.client({ epsilon: 1 });
    const budget = await newBudget();
    await fails('STATE', () => client.release(features, label));
    await fails('STATE', () => client.disarm(budget));
    await client.arm(budget);
    await fails('STATE', () => client.arm(budget));
    client.release(features, label);
    await fails('STATE', () => client.release(features, label));
    await fails('STATE', () => client.disarm(budget));
    assert.equal(budget.remaining().epsilonSpent, 1);
    for (const other of [undefined, {}, new Uint8Array(64)])
        await fails('ARGUMENT', () => client.arm(other));
    client.close();
    client.close();
    await fails('STATE', () => client.arm(budget));
    await fails('STATE', () => client.release(features, label));
    await fails('STATE', () => client.answer(answer.bytes, answer.features, answer.label));
    await fails('STATE', () => client.receipt);
});

await test('disarm gives the price back, and only to the budget that paid', async () => {
    const client = pack.client({ epsilon: 2 });
    const budget = await newBudget();
    await client.arm(budget);
    assert.equal(budget.remaining().epsilonSpent, 2);
    const foreign = await newBudget({ owner: new Uint8Array(16).fill(8), epsilon: 9 });
    await fails('BUDGET', () => client.disarm(foreign));
    await client.disarm(budget);
    assert.equal(budget.remaining().epsilonSpent, 0);
    await fails('STATE', () => client.release(features, label));
    client.close();
});

await test('entropy that fails, throws, is short, stuck or absent arms nothing and costs nothing', async () => {
    const client = pack.client({ epsilon: 1 });
    const budget = await newBudget();
    const fill = (array) => array.set(array.map((_, i) => i));
    const hosts = {
        throws: { getRandomValues(array) { fill(array); throw new Error('no entropy'); } },
        'answers nothing': { getRandomValues: (array) => void fill(array) },
        'is short': { getRandomValues: (array) => (fill(array), array.subarray(1)) },
        'is stuck': { getRandomValues: (array) => array.fill(90) },
        'writes nothing': { getRandomValues: (array) => array },
        'has no function': {},
        'is absent': undefined,
    };
    for (const host of Object.values(hosts))
        await withCrypto(host, async () => {
            await fails('ENTROPY', () => client.arm(budget));
            await fails('STATE', () => client.release(features, label));
        });
    assert.equal(budget.remaining().epsilonSpent, 0);
    await client.arm(budget);
    assert.equal(budget.remaining().epsilonSpent, 1);
    client.close();
});

await test('where there is no global crypto, node has one all the same', () => withCrypto(undefined, async () => {
    const other = await PrivateMail.load();
    const client = (await other.openPack(golden.packs[1].bytes)).client({ epsilon: 1 });
    await client.arm(await newBudget());
    assert.ok(client.release(features, label).bytes.length > 0);
    client.close();
}));

/** Ways in which a store fails; `fault` is thrown where something is. */
const fault = new Error('the disk is full');
const failures = {
    throws() { throw fault; },
    rejects: () => Promise.reject(fault),
    'answers false': () => false,
    'answers false later': () => Promise.resolve(false),
};

for (const [name, save] of Object.entries(failures))
    await test(`a store that ${name} arms nothing and costs nothing`, async () => {
        const store = memoryStore();
        const budget = await newBudget({ store });
        const client = pack.client({ epsilon: 1 });
        const { save: works } = store;
        store.save = save;
        const error = await fails('PERSIST', () => client.arm(budget));
        assert.ok(name.includes('false') || error.cause === fault);
        await fails('STATE', () => client.release(features, label));
        assert.equal(budget.remaining().epsilonSpent, 0);
        store.save = works;
        await client.arm(budget);
        store.save = save;
        await fails('PERSIST', () => client.disarm(budget));
        assert.equal(budget.remaining().epsilonSpent, 1); // lost
        await fails('STATE', () => client.release(features, label));
        await fails('PERSIST', () => newBudget({ store: { load: () => null, save } }));
        await fails('PERSIST', () => newBudget({ store: { load: save, save: works } }));
        client.close();
    });

await test('nothing can be done with a client before the store has answered', async () => {
    let answerStore;
    const store = memoryStore();
    const budget = await newBudget({ store });
    const client = pack.client({ epsilon: 1 });
    const { save } = store;
    store.save = (bytes) => new Promise((resolve) => {
        answerStore = () => resolve(save(bytes));
    });
    const armed = client.arm(budget);
    await new Promise(setImmediate);
    await fails('STATE', () => client.release(features, label));
    await fails('STATE', () => client.arm(budget));
    await fails('STATE', () => client.disarm(budget));
    answerStore();
    await armed;
    assert.ok(client.release(features, label).bytes.length > 0);
    const closed = client.arm(budget);
    await new Promise(setImmediate);
    client.close();
    answerStore();
    await fails('STATE', () => closed);
});

await test('budgets: restored, spent, damaged, foreign', async () => {
    const store = memoryStore();
    const budget = await newBudget({ store, epsilon: 2, epsilonGaussian: 0, delta: 0 });
    const client = pack.client({ epsilon: 1.5 });
    await client.arm(budget);
    const again = await library.openBudget({ owner, store });
    assert.deepEqual(again.remaining(), budget.remaining());
    assert.equal(again.remaining().epsilonSpent, 1.5);
    client.release(features, label);
    await fails('SPENT', () => client.arm(again));
    client.close();
    const bytes = store.load();
    await fails('BUDGET', () => library.openBudget({ owner: new Uint8Array(16), store }));
    for (const stored of [bytes.slice(1), bytes.map((byte, i) => (i === 98 ? 0 : byte)), new Uint8Array(64)])
        await fails('BUDGET', () => library.openBudget({ owner, store: { load: () => stored, save() {} } }));
    await fails('ARGUMENT', () => library.openBudget({ owner, store: { load: () => 'text', save() {} } }));
    await fails('ARGUMENT', () => library.openBudget({ owner: 'me', epsilon: 1, store: memoryStore() }));
    await fails('ARGUMENT', () => library.openBudget({ owner, epsilon: 1 }));
    await fails('ARGUMENT', () => library.openBudget());
    await fails('EPSILON', () => newBudget({ epsilon: -1 }));
});

await test('what is no release is not decoded', async () => {
    assert.ok(pack.rows(release.bytes).length > 0);
    const { bytes: good } = release;
    for (const bytes of [good.slice(1), good.slice(0, -1), new Uint8Array(), new Uint8Array(100000)]) {
        await fails('RELEASE', () => pack.rows(bytes));
        await fails('RELEASE', () => pack.releaseSymbols(bytes));
    }
    await fails('PACK_ID', () => responseOnly.releaseSymbols(release.bytes));
    await fails('SECTION', () => responseOnly.rows(golden.releases.find((one) => one.pack === 3).bytes));
    await fails('ARGUMENT', () => pack.rows('text'));
});

await test('what is no answer is refused, and the next one is ranked', async () => {
    const client = pack.client({ epsilon: 1 });
    const ask = (source, options = answer.options) => client.answer(source, answer.features, answer.label, options);
    await fails('ANSWER', () => ask(answer.bytes.slice(0, -1)));
    await fails('ANSWER', () => ask([answer.bytes, new Uint8Array(1)]));
    await fails('ANSWER', () => ask(new Uint8Array()));
    await fails('PACK_ID', () => ask(golden.answers[0].bytes));
    for (const source of [undefined, 5, [1, 2, 3], {}])
        await fails('ARGUMENT', () => ask(source));
    for (const options of [{ limit: 0 }, { limit: 257 }, { limit: 1.5 }, { scope: 'some' }, { scope: 'toString' }])
        await fails('ARGUMENT', () => ask(answer.bytes, options));
    await fails('LABEL', () => client.answer(answer.bytes, answer.features, 12345));
    await fails('DIMENSION', () => client.answer(answer.bytes, answer.features.subarray(1), answer.label));
    assert.equal((await ask(answer.bytes)).bytes, answer.bytes.length);
    client.close();
});

await test('an answer is kept up to its limit, and no further', async () => {
    const { length } = answer.bytes;
    const ask = (client, source) => client.answer(source, answer.features, answer.label, answer.options);
    const [exact, less] = [length, length - 1].map((answerLimit) => pack.client({ epsilon: 1, answerLimit }));
    const bytewise = Array.from(answer.bytes, (byte) => Uint8Array.of(byte));
    for (const source of [answer.bytes, bytewise]) {
        assert.equal((await ask(exact, source)).bytes, length);
        const error = await fails('ANSWER', () => ask(less, source));
        assert.match(error.cause.message, new RegExp(`limit of ${length - 1} bytes`));
    }
    let pulled = 0;
    let cancelled = false;
    const client = pack.client({ epsilon: 1 });
    const head = answer.bytes.slice(0, 40); // sound so far, then a piece that says nothing wrong but is too long
    const endless = new ReadableStream({
        pull: (controller) => controller.enqueue(pulled++ === 0 ? head : new Uint8Array(16 * 2 ** 20 - 39)),
        cancel() {
            cancelled = true;
        },
    }, { highWaterMark: 0 });
    const error = await fails('ANSWER', () => ask(client, endless));
    assert.match(error.cause.message, /limit of 16777216 bytes/);
    assert.ok(cancelled && pulled === 2);
    assert.equal((await ask(client, answer.bytes)).bytes, length); // the client goes on
    for (const one of [exact, less, client])
        one.close();
});

await test('one answer at a time; a broken or closed one ends', async () => {
    const client = pack.client({ epsilon: 1 });
    const ask = (source) => client.answer(source, answer.features, answer.label, answer.options);
    const lost = new Error('connection lost');
    let waiting;
    const half = async function* () {
        yield answer.bytes.slice(0, 40);
        await new Promise((resolve) => {
            waiting = resolve;
        });
        yield answer.bytes.slice(40);
    };
    const first = ask(half());
    await new Promise(setImmediate);
    await fails('STATE', () => ask(answer.bytes));
    waiting();
    assert.equal((await first).bytes, answer.bytes.length);
    await assert.rejects(ask((async function* () {
        yield answer.bytes.slice(0, 40);
        throw lost;
    })()), lost);
    let cancelled = false;
    await fails('ANSWER', () => ask(new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(100)),
        cancel() {
            cancelled = true;
        },
    })));
    assert.ok(cancelled);
    const last = ask(half());
    await new Promise(setImmediate);
    client.close();
    waiting();
    await fails('STATE', () => last);
});

await test('memory that does not grow is an error', async () => {
    const { grow } = WebAssembly.Memory.prototype;
    WebAssembly.Memory.prototype.grow = () => {
        throw new RangeError('no');
    };
    try {
        await fails('MEMORY', () => library.openPack(new Uint8Array(1 << 20)));
    } finally {
        WebAssembly.Memory.prototype.grow = grow;
    }
    await fails('PACK_VERSION', () => library.openPack(new Uint8Array(1 << 20)));
});

// Buffers are made here as large as they must be, and pages open no front files.
await test('every status was seen but BUFFER and FRONT', () => {
    const missing = Array.from({ length: 29 }, (_, i) => -1 - i).filter((status) => !seen.has(status));
    assert.deepEqual(missing, [-3, -29]);
});
