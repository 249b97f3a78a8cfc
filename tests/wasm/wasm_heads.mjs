// SPDX-License-Identifier: Apache-2.0
// Guesses of labels and several looks, against the golden vectors.
import assert from 'node:assert/strict';
import { fails, golden, heads, library, test } from './wasm_harness.mjs';

await test('guesses are the golden ones', async () => {
    const packs = await Promise.all(heads.packs.map(({ bytes }) => library.openPack(bytes)));
    for (const [index, { labels }] of heads.packs.entries())
        assert.equal(packs[index].info.labels, labels);
    for (const { pack: index, features, modality, guesses } of heads.guesses) {
        const pack = packs[index];
        const { name } = pack.modalities()[modality];
        for (const count of [1, Math.min(guesses.length, 64)])
            assert.deepEqual(pack.guess(features, { count, modality: name }), guesses.slice(0, count));
    }
    assert.ok(heads.guesses.length > 20);
});

await test('what cannot be guessed is refused', async () => {
    const pack = await library.openPack(heads.packs[1].bytes);
    const plain = await library.openPack(golden.packs[0].bytes);
    const features = new Float32Array(13).fill(1);
    await fails('SECTION', () => plain.guess(new Float32Array(8).fill(1)));
    await fails('ARGUMENT', () => pack.guess(features, { count: 0 }));
    await fails('ARGUMENT', () => pack.guess(features, { count: 65 }));
    await fails('ARGUMENT', () => pack.guess(undefined));
    await fails('DIMENSION', () => pack.guess(features.subarray(1)));
    await fails('MODALITY', () => pack.guess(features, { modality: 'sound' }));
    await fails('FEATURES', () => pack.guess(new Float32Array(13)));
    assert.equal(pack.guess(features).length, 5);
    assert.equal(plain.info.labels, 0);
});

await test('means of looks are the golden ones', async () => {
    for (const { features, times, looks, mean } of heads.looks) {
        const sums = library.looks(features);
        for (const look of looks) {
            const whole = Float32Array.from({ length: features }, (_, i) => look[i % look.length]);
            for (let i = 0; i < times; i++)
                sums.add(whole);
        }
        if (mean)
            assert.ok(sums.mean().every((value, i) => Object.is(value, mean[i % mean.length])));
        else
            await fails('FEATURES', () => sums.mean());
        sums.close();
    }
});

await test('a refused look adds nothing, and closed looks are gone', async () => {
    const looks = library.looks(2);
    await fails('STATE', () => looks.mean());
    looks.add([3, 4]);
    const before = looks.mean();
    await fails('FEATURES', () => looks.add([NaN, 1]));
    await fails('FEATURES', () => looks.add([0, 0]));
    await fails('DIMENSION', () => looks.add([1, 2, 3]));
    await fails('ARGUMENT', () => looks.add(undefined));
    assert.deepEqual(looks.mean(), before);
    for (let i = 1; i < 512; i++)
        looks.add([1, 2]);
    await fails('STATE', () => looks.add([1, 2]));
    looks.close();
    looks.close();
    await fails('STATE', () => looks.mean());
    await fails('STATE', () => looks.add([1, 2]));
    for (const count of [0, -1, 1.5, 1000001])
        await fails('ARGUMENT', () => library.looks(count));
});
