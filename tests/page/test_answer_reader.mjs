// SPDX-License-Identifier: Apache-2.0
// The page's reader of answers gives what the golden vectors say, of both versions: node tests/page/test_answer_reader.mjs
// Ends with 'N passed, N failed'.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

// As a module whatever node thinks of the ending .js.
const source = readFileSync(new URL('../../demo/page/answer_reader.js', import.meta.url));
const { readSlots } = await import(`data:text/javascript;base64,${source.toString('base64')}`);

const linesOf = (name) => readFileSync(new URL(`../golden/${name}`, import.meta.url), 'utf8').split('\n')
    .map((line) => line.split('\t'));
const fromHex = (text) => Uint8Array.from(Buffer.from(text, 'hex'));
const numbers = (text) => text.split(':').map(Number);
const counts = { passed: 0, failed: 0 };

function test(name, run) {
    try {
        run();
        counts.passed++;
    } catch (error) {
        counts.failed++;
        console.log(`FAILED ${name}`, error);
    }
}

/** Every match is among the candidates of its slot, with its class and payload. */
function checkAnswer(bytes, matches) {
    const slots = readSlots(bytes, Infinity);
    for (const { count, first } of slots)
        assert.equal(first.length, count);
    for (const [item, label, slot, , at, size] of matches) {
        const { first } = slots.find((one) => one.slot === slot);
        const payload = bytes.slice(at, at + size);
        assert.ok(first.some((one) => one.item === item && one.label === label && Buffer.compare(one.payload, payload) === 0),
            `item ${item} of slot ${slot}`);
    }
    for (const limit of [0, 1, 3]) // the first are the first
        assert.deepEqual(readSlots(bytes, limit),
            slots.map(({ slot, count, first }) => ({ slot, count, first: first.slice(0, limit) })));
    return slots.reduce((sum, { count }) => sum + count, 0);
}

for (const file of ['vectors.txt', 'sketch_vectors.txt']) {
    let ranked = 0;
    for (const [kind, name, , bytes, , , , , matches] of linesOf(file))
        if (kind === 'answer' || kind === 'crowd_answer')
            test(`${file}: ${name}`, () => {
                const wanted = matches === '-' ? [] : matches.split(',').map(numbers);
                assert.ok(checkAnswer(fromHex(bytes), wanted) >= wanted.length);
                ranked += wanted.length;
            });
    test(`${file} has answers`, () => assert.ok(ranked > 50));
}

const taken = Object.fromEntries(linesOf('sketch_vectors.txt')
    .filter(([kind, , status]) => kind === 'refused_answer' && status === 'OK').map(([, name, , , bytes]) => [name, fromHex(bytes)]));
const candidate = (item, label, payload = '') => ({ item, label, payload: Uint8Array.from(Buffer.from(payload)) });

test('lists by hand', () => {
    const wanted = {
        'one candidate': [candidate(0, 0)],
        'item 128': [candidate(128, 0)],
        'item 2^64 - 1': [candidate(2 ** 64, 0)], // the nearest Number
        'from the lowest class to the highest': [candidate(0, 2 ** 31 - 1)],
        'class 2^31 - 1 from -1': [candidate(0, 2 ** 31 - 1)],
        'class -2^31': [candidate(0, -(2 ** 31))],
        'payload of 1': [candidate(0, 0, 'p')],
        'classes and payloads': [candidate(0, 2, 'p'), candidate(1, -3)],
        'no candidates': [],
    };
    for (const [name, first] of Object.entries(wanted))
        assert.deepEqual(readSlots(taken[name], 9), [{ slot: 0, count: first.length, first }], name);
});

test('slots by hand', () => {
    assert.deepEqual(readSlots(taken['four slots'], 9).map(({ slot }) => slot), [0, 1, 2, 3]);
    assert.deepEqual(readSlots(taken['crowd, any slot'], 9), [{ slot: 3, count: 0, first: [] }]);
});

console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;
