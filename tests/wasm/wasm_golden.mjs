// SPDX-License-Identifier: Apache-2.0
// The same bytes as every other platform: all golden releases, answers and budgets.
import assert from 'node:assert/strict';
import { fails, golden, library, newBudget, test, withEntropy } from './wasm_harness.mjs';

const packs = [];
export let releasesEqual = 0;

await test('golden packs open under their pinned id', async () => {
    for (const { bytes, id, model } of golden.packs) {
        const pack = await library.openPack(bytes, { id });
        assert.equal(pack.info.id, id);
        assert.equal(pack.info.model, model);
        assert.equal(pack.info.size, bytes.length);
        assert.equal(pack.classes().length, pack.info.classes);
        assert.ok(pack.modalities().length >= 1);
        packs.push(pack);
    }
    assert.ok(packs.length >= 8);
});

await test('golden packs open for the model that they name, and for no other', async () => {
    for (const { bytes, id, model } of golden.packs) {
        const demanded = model || 'any name';
        if (model)
            assert.equal((await library.openPack(bytes, { id, model })).info.model, model);
        else
            await fails('PACK_MODEL', () => library.openPack(bytes, { id, model: demanded }));
        const { message } = await fails('PACK_MODEL', () => library.openPack(bytes, { model: `${demanded}s` }));
        assert.ok(message.endsWith(`it names '${model || '(none)'}', not '${demanded}s'`), message);
    }
    assert.ok(golden.packs.some(({ model }) => model) && golden.packs.some(({ model }) => !model));
});

/** SPEC 1, from the definition: where the starts and the codes of the anchors are. */
function anchorsOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const [d, n, k, G, C, present, M] = [view.getUint32(48, true), view.getUint32(52, true), view.getUint16(58, true),
        view.getUint16(60, true), view.getUint32(68, true), view.getUint32(80, true), view.getUint32(84, true)];
    let [at, starts, codes] = [96];
    for (const [section, size] of [8 * C, G * M * d, 4 * G * M, n * d, 4 * n, 4 * (G + 1), 2 * n * k].entries()) {
        if (present >> section & 1) {
            [starts, codes] = [section === 5 ? at : starts, section === 6 ? at : codes];
            at = Math.ceil((at + size) / 16) * 16;
        }
    }
    return Array.from({ length: n }, (_, anchor) => {
        let slot = 0;
        while (view.getUint32(starts + 4 * (slot + 1), true) <= anchor)
            slot++;
        return { slot, code: Int16Array.from({ length: k }, (_, i) => view.getInt16(codes + 2 * (k * anchor + i), true)) };
    });
}

await test('anchors of the golden packs', async () => {
    let compared = 0;
    for (const [index, { bytes }] of golden.packs.entries()) {
        const pack = packs[index];
        const anchors = pack.info.anchors > 0 ? anchorsOf(bytes) : [];
        assert.equal(pack.info.anchors, anchors.length);
        for (const [number, anchor] of anchors.entries())
            assert.deepEqual(pack.anchor(number), anchor);
        await fails(anchors.length > 0 ? 'ARGUMENT' : 'SECTION', () => pack.anchor(anchors.length));
        for (const bad of [-1, 0.5, NaN, '0', undefined, 2 ** 32])
            await fails('ARGUMENT', () => pack.anchor(bad));
        compared += anchors.length;
    }
    assert.ok(compared > 50);
});

await test('the second pack is described as it was made', () => {
    const { features, anchors, neighbours, dimensions, slots, slotKind, cells, prototypes, classes, sketch } = packs[1].info;
    assert.deepEqual({ features, anchors, neighbours, dimensions, slots, slotKind, cells, prototypes, classes, sketch }, {
        features: 13, anchors: 22, neighbours: 5, dimensions: 2, slots: 4, slotKind: 'class', cells: 6, prototypes: 18, classes: 4,
        sketch: 16,
    });
    assert.deepEqual(packs[1].classes(), [-7, 0, 3, 1000000].map((label, slot) => ({ label, slot })));
    assert.equal(packs[1].info.cellCodes, true);
    assert.equal(packs[1].info.lists, true);
});

await test('the pack with fronts lists its modalities', () => {
    const kinds = ['none', 'none', 'signs', 'signs', 'matrix', 'matrix', 'kernels', 'kernels'];
    const modalities = packs[13].modalities();
    assert.deepEqual(modalities.map(({ kind }) => kind), kinds);
    assert.deepEqual(modalities.map(({ root }) => root), kinds.map((_, index) => index % 2 === 1));
    assert.deepEqual(modalities[6], { name: 'text', features: 7, kind: 'kernels', root: false });
    assert.equal(modalities[7].name, '0123456789abcde');
    modalities.pop(); // a copy
    assert.equal(packs[13].modalities().length, 8);
    for (const pack of packs.slice(0, 13)) // of the versions 0.1 and 0.2
        assert.deepEqual(pack.modalities(), [{ name: '', features: pack.info.features, kind: 'none', root: false }]);
});

/** SPEC 2, from the definition: w bits a slot, slot 0 first, least significant bit first. */
function symbolsOf(bytes, slots, cells) {
    const width = Math.ceil(Math.log2(cells));
    const body = bytes.subarray(bytes.length - Math.ceil(slots * width / 8));
    return Uint32Array.from({ length: slots }, (_, slot) => {
        let symbol = 0;
        for (let bit = 0; bit < width; bit++)
            symbol += (body[(slot * width + bit) >> 3] >> ((slot * width + bit) & 7) & 1) * 2 ** bit;
        return symbol;
    });
}

/** Vectors count modalities, pages name them. */
const modalityOf = ({ pack, modality }) => packs[pack].modalities()[modality].name;

for (const wanted of golden.releases)
    await test(`golden release ${wanted.name}`, async () => {
        const pack = packs[wanted.pack];
        const client = pack.client(wanted.options);
        const budget = await newBudget();
        await withEntropy(wanted.entropy, () => client.arm(budget));
        const { bytes, receipt, rows } = client.release(wanted.features, wanted.label,
            { modality: modalityOf(wanted) });
        assert.deepEqual(bytes, wanted.bytes);
        assert.equal(receipt.bytes, bytes.length);
        assert.equal(receipt.epsilon, wanted.options.epsilon);
        assert.deepEqual(rows && new Uint32Array(rows.buffer), wanted.rows && new Uint32Array(wanted.rows.buffer));
        if (receipt.mechanism === 'response')
            assert.deepEqual(pack.releaseSymbols(bytes), symbolsOf(bytes, pack.info.slots, pack.info.cells));
        else
            await fails('MECHANISM', () => pack.releaseSymbols(bytes));
        client.close();
        releasesEqual++;
    });

function inPieces(bytes, size) {
    return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
}

async function* slowly(pieces) {
    for (const piece of pieces) {
        await null;
        yield piece;
    }
}

/** A stream that uses one buffer for all its pieces. */
async function* sparingly(bytes) {
    const buffer = new Uint8Array(5);
    for (let at = 0; at < bytes.length; at += buffer.length) {
        const piece = bytes.subarray(at, at + buffer.length);
        buffer.set(piece);
        yield buffer.subarray(0, piece.length);
        buffer.fill(0xee);
    }
}

const deliveries = {
    whole: (bytes) => bytes,
    'as an ArrayBuffer': (bytes) => bytes.slice().buffer,
    'byte by byte': (bytes) => inPieces(bytes, 1),
    'from an async generator': (bytes) => slowly(inPieces(bytes, 7)),
    'in one buffer used again': sparingly,
    'from a ReadableStream': (bytes) => new Blob([bytes]).stream(),
};

const crowd = { copies: 1 }; // for what is ranked, any policy will do

for (const wanted of [...golden.answers, ...golden.crowdAnswers])
    await test(`golden answer ${wanted.name}`, async () => {
        const pack = packs[wanted.pack];
        const client = pack.client(golden.crowdAnswers.includes(wanted)
            ? { epsilon: 1, crowd }
            : pack.info.cells > 0 ? { epsilon: 1 } : { epsilon: 1, mechanism: 'gaussian', delta: 1e-5 });
        const options = { ...wanted.options, modality: modalityOf(wanted) };
        const ask = (source) => client.answer(source, wanted.features, wanted.label, options);
        if (pack.info.sketch === 0) {
            await fails('SECTION', () => ask(wanted.bytes));
            return;
        }
        for (const [name, deliver] of Object.entries(deliveries)) {
            const { matches, carried, gallery, share, bytes } = await ask(deliver(wanted.bytes));
            assert.equal(bytes, wanted.bytes.length, name);
            assert.ok(carried >= matches.length && gallery >= 1 && share === carried / gallery, name);
            assert.deepEqual(
                matches.map(({ item, label, slot, score }) => [item, label, slot, score * 2 ** 30].map(String)),
                wanted.matches.map((match) => match.slice(0, 4)), name);
            assert.deepEqual(
                matches.map(({ payload }) => payload),
                wanted.matches.map(([, , , , at, size]) => wanted.bytes.slice(Number(at), Number(at) + Number(size))),
                name);
        }
        client.close();
    });

for (const wanted of golden.bundles)
    await test(`golden ${wanted.name}`, async () => {
        const pack = packs[wanted.pack];
        const client = pack.client(wanted.options);
        const budget = await newBudget();
        await withEntropy(wanted.entropy, () => client.armBundle(budget, wanted.kind));
        const modality = modalityOf(wanted);
        const { bytes, messages, receipt } = wanted.kind === 'query'
            ? client.bundle(wanted.features, wanted.label, { modality })
            : wanted.kind === 'kept' ? client.keptBundle(wanted.kept) : client.idleBundle();
        assert.deepEqual(bytes, wanted.bytes);
        assert.deepEqual(messages.map(({ own }) => own), wanted.own);
        assert.deepEqual(Uint8Array.from(messages.flatMap((one) => [...one.bytes])), wanted.bytes);
        assert.ok(messages.length <= receipt.messages && messages.every((one) => one.bytes.length === receipt.bytes));
        const { cellCodes, dimensions } = pack.info;
        assert.ok(messages.every((one) => !cellCodes || pack.rows(one.bytes).length === dimensions));
        assert.equal(receipt.mechanism, pack.info.slots > 1 ? 'crowd' : 'response');
        assert.equal(budget.remaining().floorSpent, wanted.kind === 'query' ? wanted.options.epsilon : 0);
        client.close();
    });

for (const [index, wanted] of golden.budgets.entries())
    await test(`golden budget ${index}`, async () => {
        const store = { load: () => wanted.bytes, save: () => assert.fail('nothing changed') };
        const left = (await library.openBudget({ owner: wanted.owner, store })).remaining();
        const [epsilonCap, epsilonSpent, mu2Cap, mu2Spent, delta, floorCap, floorSpent, crowdCap, crowdSpent,
            crowdDelta, delta0Cap, delta0Spent] = wanted.numbers.map(Number);
        assert.deepEqual(left, {
            epsilonCap: epsilonCap * 2 ** -20,
            epsilonSpent: epsilonSpent * 2 ** -20,
            mu2Cap: mu2Cap * 2 ** -40,
            mu2Spent: mu2Spent * 2 ** -40,
            delta: delta * 2 ** -64,
            floorCap: floorCap * 2 ** -20,
            floorSpent: floorSpent * 2 ** -20,
            crowdMu2Cap: crowdCap * 2 ** -40,
            crowdMu2Spent: crowdSpent * 2 ** -40,
            crowdDelta0Cap: delta0Cap * 2 ** -64,
            crowdDelta0Spent: delta0Spent * 2 ** -64,
            crowdDelta: crowdDelta * 2 ** -64,
        });
    });

await test('the curve and its inverse', () => {
    assert.ok(Math.abs(library.curve(4, 0.02) - 0.527) < 0.001);
    const epsilon = library.curveEpsilon(0.02, 0.9);
    assert.ok(library.curve(epsilon, 0.02) >= 0.9 && library.curve(epsilon - 1e-6, 0.02) < 0.9);
    assert.ok(Number.isNaN(library.curve(-1, 0.5)) && Number.isNaN(library.curveEpsilon(0.5, 0.4)));
});
