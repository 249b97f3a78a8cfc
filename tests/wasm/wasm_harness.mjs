// SPDX-License-Identifier: Apache-2.0
// What the tests of privatemail.js share: counting, golden vectors, scripted entropy, packs made on the spot, a look
// into the linear memory.
import assert from 'node:assert/strict';
import { createHash, webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const root = new URL('../../', import.meta.url);
export const folder = pathToFileURL(`${process.argv[2]}/`); // of scripts/build-wasm.sh
export const { Budget, Client, memoryStore, Pack, PrivateMail, PrivateMailError, RelayError } =
    await import(new URL('privatemail.js', folder));

// ---- counting ----

export const counts = { passed: 0, failed: 0 };

export async function test(name, run) {
    try {
        await run();
        counts.passed++;
        console.log(`ok      ${name}`);
    } catch (error) {
        counts.failed++;
        console.log(`FAILED  ${name}\n${String(error?.stack ?? error).replace(/^/gm, '        ')}`);
    }
}

// ---- errors ----

export const seen = new Set(); // statuses that some test provoked

/** `run` must throw, or reject, with the status of this name. */
export async function fails(name, run) {
    let caught;
    try {
        await run();
    } catch (error) {
        caught = error;
    }
    assert.ok(caught instanceof PrivateMailError, `${name} wanted, got ${caught?.stack ?? 'no error'}`);
    assert.equal(caught.name, `PML_ERROR_${name}`);
    assert.ok(caught.message.length > 10);
    seen.add(caught.status);
    return caught;
}

// ---- entropy: the host's generator is replaced, there is no other way to a seed ----

globalThis.crypto ??= webcrypto; // node 18
const hostCrypto = globalThis.crypto;

export async function withCrypto(object, run) {
    Object.defineProperty(globalThis, 'crypto', { value: object, configurable: true, writable: true });
    try {
        return await run();
    } finally {
        Object.defineProperty(globalThis, 'crypto', { value: hostCrypto, configurable: true, writable: true });
    }
}

export function withEntropy(bytes, run) {
    return withCrypto({ getRandomValues: (array) => (array.set(bytes), array) }, run);
}

// ---- the instances that privatemail.js makes ----

export const STACK_PATTERN = 0xa5;
export const instances = { count: 0, last: undefined };
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...values) => {
    const instance = await instantiate.apply(WebAssembly, values);
    const { exports } = instance;
    if (exports?.pml_version) { // node has WebAssembly of its own
        instances.count++;
        instances.last = exports;
        new Uint8Array(exports.memory.buffer, 0, exports.__stack_pointer.value).fill(STACK_PATTERN);
    }
    return instance;
};

/** Opens a pack in an instance of its own: { pack, memory(), stack() }, the bytes and how deep the stack was. */
export async function openAlone(bytes) {
    const pack = await (await PrivateMail.load()).openPack(bytes);
    const exports = instances.last;
    const memory = () => new Uint8Array(exports.memory.buffer);
    const size = exports.__stack_pointer.value;
    const stack = () => size - memory().subarray(0, size).findIndex((byte) => byte !== STACK_PATTERN);
    return { pack, memory, stack, stackSize: size };
}

// ---- golden vectors ----

export const fromHex = (text) => Uint8Array.from(text === '-' ? [] : Buffer.from(text, 'hex'));
const toFloats = (text) =>
    new Float32Array(Uint32Array.from(text.match(/[0-9a-f]{8}/g) ?? [], (digits) => parseInt(digits, 16)).buffer);

const readVectors = (name) => {
    const lines = readFileSync(new URL(`tests/golden/${name}`, root), 'utf8').split('\n').map((line) => line.split('\t'));
    return (kind) => lines.filter(([first]) => first === kind).map(([, ...fields]) => fields);
};
const named = readVectors('vectors.txt');

const answersOf = (kind, lines = named) => lines(kind).map(([name, pack, bytes, features, label, scope, limit, matches, modality]) => ({
    name,
    pack: Number(pack),
    bytes: fromHex(bytes),
    features: toFloats(features),
    label: Number(label),
    options: { scope: scope === '1' ? 'all' : 'own', limit: Number(limit) },
    modality: Number(modality),
    matches: matches === '-' ? [] : matches.split(',').map((match) => match.split(':')),
}));

export const golden = {
    packs: named('pack').map(([name, bytes, id, model]) => ({
        name, bytes: fromHex(bytes), id, model: model === '-' ? '' : model,
    })),
    releases: named('release').map(
        ([name, pack, mechanism, epsilon, delta, valueBytes, entropy, features, label, bytes, rows, modality]) => ({
            name,
            pack: Number(pack),
            options: {
                mechanism: mechanism === '2' ? 'gaussian' : 'response',
                epsilon: Number(epsilon),
                delta: Number(delta),
                valueBytes: mechanism === '2' ? Number(valueBytes) : 0,
            },
            entropy: fromHex(entropy),
            features: toFloats(features),
            label: Number(label),
            bytes: fromHex(bytes),
            rows: rows === '-' ? null : toFloats(rows),
            modality: Number(modality),
        })),
    answers: answersOf('answer'),
    crowdAnswers: answersOf('crowd_answer'),
    bundles: named('bundle').map(
        ([name, pack, kind, floor, clusters, copies, own, cover, entropy, features, label, kept, bytes, marks,
            modality]) => ({
            name,
            pack: Number(pack),
            kind: [, 'query', 'kept', 'idle'][kind],
            options: {
                epsilon: Number(floor),
                crowd: {
                    clients: 1000, clusters: Number(clusters), copies: Number(copies), own: Number(own),
                    cover: cover === '1', delta0: 1e-12, mu: 0.03,
                },
            },
            entropy: fromHex(entropy),
            features: toFloats(features),
            label: Number(label),
            kept: fromHex(kept),
            bytes: fromHex(bytes),
            own: [...fromHex(marks)],
            modality: Number(modality),
        })),
    budgets: named('budget').map(([bytes, owner, ...numbers]) => ({
        bytes: fromHex(bytes), owner: fromHex(owner), numbers: numbers.map(BigInt),
    })),
};

const ofHeads = readVectors('head_vectors.txt');

export const heads = {
    packs: ofHeads('head').map(([, bytes, labels]) => ({ bytes: fromHex(bytes), labels: Number(labels) })),
    guesses: ofHeads('guess').map(([, pack, features, modality, guesses]) => ({
        pack: Number(pack),
        features: toFloats(features),
        modality: Number(modality),
        guesses: guesses.split(',').map((guess) => guess.split(':')).map(([label, score]) => ({
            label: Number(label), score: BigInt(score),
        })),
    })),
    looks: ofHeads('looks').map(([, features, times, period, looks, mean]) => ({
        features: Number(features),
        times: Number(times),
        looks: Array.from({ length: toFloats(looks).length / period }, (_, i) => toFloats(looks).slice(i * period, (i + 1) * period)),
        mean: mean === '-' ? null : toFloats(mean),
    })),
};

const ofSketches = readVectors('sketch_vectors.txt');

export const coded = {
    packs: ofSketches('pack').map(([name, bytes, id, directions, sketch]) => ({
        name, bytes: fromHex(bytes), id, directions: Number(directions), sketch: Number(sketch),
    })),
    answers: answersOf('answer', ofSketches),
    crowdAnswers: answersOf('crowd_answer', ofSketches),
    edits: ofSketches('edit').map(([name, status, pack, changes]) => ({
        name, status, pack: Number(pack), changes: changes.split(',').map((change) => change.split(':').map(Number)),
    })),
    refusedPacks: ofSketches('refused_pack').map(([name, status, bytes]) => ({ name, status, bytes: fromHex(bytes) })),
    refusedAnswers: ofSketches('refused_answer').map(([name, status, pack, bytes, crowd]) => ({
        name, status, pack: Number(pack), bytes: fromHex(bytes), crowd: crowd === '1',
    })),
};

// ---- packs ----

/** Makes the hash right again after a change. */
export function sealed(bytes) {
    const copy = bytes.slice();
    copy.set(createHash('sha256').update(copy.subarray(40)).digest(), 8);
    return copy;
}

/** A response-only pack of class slots; each cell has one prototype of one feature, so that its norm is 127. */
export function makePack(features, slots, cells) {
    const up = (size) => Math.ceil(size / 16) * 16;
    const classes = 96;
    const rows = up(classes + 8 * slots);
    const norms = up(rows + slots * cells * features);
    const cellsOfRows = up(norms + 4 * slots * cells);
    const bytes = new Uint8Array(cellsOfRows + 2 * slots * cells);
    const view = new DataView(bytes.buffer);
    bytes.set(Buffer.from('PMPK'));
    view.setUint16(6, 1, true);
    view.setBigUint64(40, BigInt(bytes.length), true);
    view.setUint32(48, features, true);
    view.setUint16(60, slots, true);
    view.setUint16(62, 1, true);
    view.setUint32(64, cells, true);
    view.setUint32(68, slots, true);
    view.setUint32(80, 0b10000000111, true);
    view.setUint32(84, cells, true);
    for (let slot = 0; slot < slots; slot++) {
        view.setInt32(classes + 8 * slot, slot, true);
        view.setUint16(classes + 8 * slot + 4, slot, true);
    }
    for (let row = 0; row < slots * cells; row++) {
        bytes[rows + row * features + row % features] = 127;
        view.setUint32(norms + 4 * row, Math.floor(2 ** 30 / 127), true);
        view.setUint16(cellsOfRows + 2 * row, row % cells, true);
    }
    return sealed(bytes);
}

// ---- what most tests need ----

export const library = await PrivateMail.load();
export const owner = new Uint8Array(16).fill(7);

export function newBudget(options = {}) {
    return library.openBudget({
        owner, epsilon: 4000, epsilonGaussian: 100, delta: 1e-5, epsilonFloor: 4000, epsilonCrowd: 16, deltaCrowd: 1e-5,
        store: memoryStore(), ...options,
    });
}

/** Features that every pack takes: pseudo-random, different for each salt. */
export function makeFeatures(count, salt) {
    const draw = generator(salt);
    return Float32Array.from({ length: count }, () => draw() - 0.5);
}

/** Mulberry32: numbers from 0 to 1 for the tests. */
export function generator(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let value = Math.imul(state ^ (state >>> 15), state | 1);
        value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
        return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
    };
}
