// SPDX-License-Identifier: Apache-2.0
// Packs with coded sketches and answers of version 2, against the golden vectors.
import assert from 'node:assert/strict';
import { coded, fails, library, sealed, test } from './wasm_harness.mjs';

const packs = [];

await test('packs of version 0.5 open under their pinned id', async () => {
    for (const { bytes, id, sketch } of coded.packs) {
        const pack = await library.openPack(bytes, { id });
        assert.equal(pack.info.sketch, sketch);
        packs.push(pack);
    }
    assert.ok(packs.length >= 20);
});

const inPieces = (bytes, size) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));

const clientOf = (pack, crowd) => pack.client(crowd ? { epsilon: 1, crowd: { copies: 1 } } : { epsilon: 1 });

for (const wanted of [...coded.answers, ...coded.crowdAnswers])
    await test(`golden answer of version 2: ${wanted.name}`, async () => {
        const pack = packs[wanted.pack];
        const client = clientOf(pack, coded.crowdAnswers.includes(wanted));
        const options = { ...wanted.options, modality: pack.modalities()[wanted.modality].name };
        for (const source of [wanted.bytes, inPieces(wanted.bytes, 1), inPieces(wanted.bytes, 7)]) {
            const { matches, bytes } = await client.answer(source, wanted.features, wanted.label, options);
            assert.equal(bytes, wanted.bytes.length);
            assert.deepEqual(
                matches.map(({ item, label, slot, score }) => [item, label, slot, score * 2 ** 30].map(String)),
                wanted.matches.map((match) => match.slice(0, 4)));
            assert.deepEqual(
                matches.map(({ payload }) => payload),
                wanted.matches.map(([, , , , at, size]) => wanted.bytes.slice(Number(at), Number(at) + Number(size))));
        }
        client.close();
    });

await test('packs of version 0.5 are refused or taken as the reference does', async () => {
    for (const { status, pack, changes } of coded.edits) {
        const bytes = coded.packs[pack].bytes.slice();
        for (const [offset, byte] of changes)
            bytes[offset] = byte;
        if (status === 'OK')
            await library.openPack(sealed(bytes));
        else
            await fails(status, () => library.openPack(sealed(bytes)));
    }
    for (const { status, bytes } of coded.refusedPacks)
        await fails(status, () => library.openPack(bytes));
});

await test('answers of version 2 are refused or taken as the reference does', async () => {
    for (const { status, pack: index, bytes, crowd } of coded.refusedAnswers) {
        const pack = packs[index];
        const client = clientOf(pack, crowd);
        const ask = () => client.answer(inPieces(bytes, 5), new Float32Array(pack.info.features).fill(1), 0, { scope: 'all' });
        if (status === 'OK')
            await ask();
        else
            await fails(status, ask);
        client.close();
    }
    assert.ok(coded.refusedAnswers.length > 80);
});
