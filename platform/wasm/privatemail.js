// SPDX-License-Identifier: Apache-2.0
//
// PrivateMail in browsers and node (18 or later): the C core as WebAssembly. README.md beside this file shows its use;
// privatemail.h has the rules that privacy rests on.
//
//     PrivateMail.load ─► openPack ─► pack.client ─► client.arm ─► client.release ─► (network) ─► client.answer
//
// A pack and its clients live in one WebAssembly instance.
import { toBytes, toExactBytes, toInteger } from './arguments.js';
import { Budget, memoryStore, OPEN } from './budget.js';
import { Client } from './client.js';
import { accountCrowd, planCrowd } from './crowd.js';
import { Looks } from './looks.js';
import { CHUNK_SIZE, ID_SIZE, Machine, PrivateMailError, STATUS } from './machine.js';
import { Relay, RelayError } from './relay.js';

export { Budget, Client, Looks, memoryStore, PrivateMailError, Relay, RelayError };

const SLOT_KINDS = ['one', 'class', 'group'];
const GUESSES_MAX = 64;
const FRONT_KINDS = [undefined, 'none', 'signs', 'matrix', 'kernels'];

const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** An id; empty when the text is none. */
function fromHex(text) {
    const digits = /^[0-9a-f]{32}$/i.test(text) ? text.match(/../g) : [];
    return Uint8Array.from(digits, (two) => parseInt(two, 16));
}

// ---- pack ------------------------------------------------------------------------------------------------------

/** What device and server both know. Made by PrivateMail.openPack. */
export class Pack {
    #machine;
    #address;
    #numbers; // features, rows or symbols: as many as the pack's largest of them
    #info;
    #modalities;

    constructor(key, machine, bytes, id, model) {
        if (key !== OPEN)
            throw new TypeError('packs are made by PrivateMail.openPack');
        this.#machine = machine;
        this.#address = machine.take(machine.sizeOf('pack'));
        const place = machine.take(bytes.length);
        machine.write(place, bytes);
        if (id)
            machine.write(machine.small, id);
        const open = (name) => machine.call('pml_pack_open', this.#address, place, bytes.length, id ? machine.small : 0, name);
        if (model === undefined)
            open(0);
        else
            this.#openFor(model, open);
        const raw = machine.ask('pack_info', 'pml_pack_describe', this.#address);
        this.#modalities = Array.from({ length: Math.max(raw.modalities, 1) }, (_, index) => this.#modality(index));
        const inputs = this.#modalities.map(({ features }) => features);
        this.#numbers = machine.take(4 * Math.max(...inputs, raw.slots * Math.max(raw.dimensions, 1)));
        this.#info = Object.freeze({
            id: toHex(raw.id),
            model: machine.text(machine.core.pml_pack_model(this.#address)),
            size: Number(raw.size),
            features: raw.features,
            anchors: raw.anchors,
            neighbours: raw.neighbours,
            dimensions: raw.dimensions,
            slots: raw.slots,
            slotKind: SLOT_KINDS[raw.slot_kind],
            cells: raw.cells,
            prototypes: raw.prototypes,
            classes: raw.classes,
            lambda: raw.lambda / 65536,
            alpha: raw.alpha / 256,
            sketch: raw.sketch,
            labels: raw.labels,
            cellCodes: raw.cell_codes,
            lists: raw.lists,
        });
    }

    /** Demands the model's name; when the pack has another one, the error names both. */
    #openFor(model, open) {
        const machine = this.#machine;
        const name = new TextEncoder().encode(`${model}\0`);
        if (typeof model !== 'string' || model.includes('\0') || name.length > CHUNK_SIZE)
            throw machine.error(STATUS.ARGUMENT);
        machine.write(machine.chunk, name);
        try {
            open(machine.chunk);
        } catch (error) {
            if (error.status !== STATUS.PACK_MODEL)
                throw error;
            open(0);
            const found = machine.text(machine.core.pml_pack_model(this.#address)) || '(none)';
            throw new PrivateMailError(error.status, `${error.message}: it names '${found}', not '${model}'`);
        }
    }

    /** Its id (to pin), the name of its model, counts and parameters, as in privatemail.h. */
    get info() {
        return this.#info;
    }

    #modality(index) {
        const raw = this.#machine.ask('modality', 'pml_pack_modality', this.#address, index);
        return Object.freeze({ ...raw, kind: FRONT_KINDS[raw.kind] });
    }

    /**
     * What may be asked for: [{ name, features, kind, root }, …]. A query has as many `features` as its modality;
     * `kind` says how its front maps them. A pack without fronts has one modality, whose name is ''.
     */
    modalities() {
        return [...this.#modalities];
    }

    /** The number of a modality; undefined is the first. */
    #find(name) {
        const index = name === undefined ? 0 : this.#modalities.findIndex((one) => one.name === name);
        if (index >= 0)
            return index;
        const { status, message } = this.#machine.error(STATUS.MODALITY);
        const known = this.#modalities.map((one) => `'${one.name}'`).join(', ');
        throw new PrivateMailError(status, `${message}: it has ${known}, not '${name}'`);
    }

    /** The classes: [{ label, slot }, …]; none when there is one slot. */
    classes() {
        const machine = this.#machine;
        return Array.from({ length: this.#info.classes }, (_, index) => {
            machine.call('pml_pack_class', this.#address, index, machine.small, machine.small + 4);
            const view = machine.view();
            return { label: view.getInt32(machine.small, true), slot: view.getUint32(machine.small + 4, true) };
        });
    }

    /** A public point of the embedding: { slot, code }, where `code` has k coordinates in an Int16Array. */
    anchor(index) {
        const machine = this.#machine;
        const number = toInteger(machine, index, 0, 2 ** 32 - 1);
        const [slot, code] = [machine.small, machine.small + 4];
        machine.call('pml_pack_anchor_code', this.#address, number, code);
        machine.call('pml_pack_anchor_slot', this.#address, number, slot);
        const bytes = machine.bytes(code, 2 * this.#info.dimensions).slice();
        return { slot: machine.view().getUint32(slot, true), code: new Int16Array(bytes.buffer) };
    }

    /**
     * A client. `epsilon` has no default: it is the app's promise. `mechanism`: 'response' or 'gaussian', which needs
     * `delta` and takes `valueBytes` 1 or 2. `substitute`: bad input gives a release all the same, see privatemail.h.
     * `crowd`: the policy of a crowd, for bundles: { clients, clusters, copies, own, relayClusters, cover, delta0, mu }
     * as in privatemail.h, 1 for `own` and 0 for what is left out; `epsilon` is then the floor.
     * `answerLimit`: bytes of an answer beyond which it is refused, 16 MiB unless given.
     */
    client(options) {
        const pack = {
            address: this.#address,
            find: (modality) => this.#find(modality),
            counts: this.#modalities.map(({ features }) => features),
            features: this.#numbers,
            labelled: this.#info.slotKind !== 'one',
            rowsOf: (bytes) => this.#rowsOrNull(bytes),
        };
        return new Client(OPEN, this.#machine, pack, options ?? {});
    }

    /**
     * The likeliest labels of features, by the pack's head: [{ label, score }, …], the likeliest first; `score` is a
     * BigInt. They are as private as the features: show them to the device's owner, or take one as a query's label.
     * `count`: 1 to 64, 5 or all labels unless given. `modality`: as for a release. Refused with PML_ERROR_SECTION when
     * the pack has no head (info.labels is 0).
     */
    guess(features, { count = Math.min(5, this.#info.labels || 5), modality } = {}) {
        const machine = this.#machine;
        const number = this.#find(modality);
        const wanted = toInteger(machine, count, 1, GUESSES_MAX);
        const size = Math.max(machine.core.pml_guess_size(this.#address), 1);
        if (!Number.isInteger(features?.length))
            throw machine.error(STATUS.ARGUMENT);
        const inputs = this.#modalities[number].features;
        const each = machine.sizeOf('guess');
        const [memory, guesses] = [machine.take(size), machine.take(GUESSES_MAX * each)];
        try {
            if (features.length === inputs)
                machine.floats(this.#numbers, inputs).set(features);
            machine.call('pml_wasm_pack_guess', this.#address, this.#numbers, features.length, number, memory, size,
                guesses, wanted);
            return Array.from({ length: wanted }, (_, i) => machine.read('guess', guesses + i * each));
        } finally {
            machine.wipe(this.#numbers, 4 * inputs);
            machine.give(memory, size);
            machine.give(guesses, GUESSES_MAX * each);
        }
    }

    /** Lets the core read a release and fill `count` numbers. */
    #decode(release, count, call) {
        const machine = this.#machine;
        const bytes = toBytes(machine, release);
        if (bytes.length > CHUNK_SIZE)
            throw machine.error(STATUS.RELEASE);
        machine.write(machine.chunk, bytes);
        try {
            call(machine.chunk, bytes.length);
            return machine.bytes(this.#numbers, 4 * count).slice().buffer;
        } finally {
            machine.wipe(machine.chunk, bytes.length);
            machine.wipe(this.#numbers, 4 * count);
        }
    }

    /** The G×k embedding rows of a release, slot by slot, in a Float32Array: what the server sees; in a crowd one. */
    rows(release) {
        const { slots, dimensions } = this.#info;
        try {
            return this.#rows(release, dimensions);
        } catch (error) {
            if (error.status !== STATUS.BUFFER)
                throw error;
            return this.#rows(release, slots * dimensions);
        }
    }

    #rows(release, count) {
        return new Float32Array(this.#decode(release, count, (bytes, size) =>
            this.#machine.call('pml_release_rows', this.#address, bytes, size, this.#numbers, count)));
    }

    #rowsOrNull(release) {
        try {
            return this.rows(release);
        } catch (error) {
            if (error.status === STATUS.SECTION)
                return null;
            throw error;
        }
    }

    /** The number of the cell that a response release names for each slot, in a Uint32Array. */
    releaseSymbols(release) {
        return new Uint32Array(this.#decode(release, this.#info.slots, (bytes, size) =>
            this.#machine.call('pml_wasm_release_symbols', this.#address, bytes, size, this.#numbers)));
    }
}

// ---- the library -----------------------------------------------------------------------------------------------

/** node 18 has no global crypto. */
async function cryptoOfHost() {
    const own = globalThis.crypto || !globalThis.process?.versions?.node
        ? undefined
        : (await import(/* webpackIgnore: true */ /* @vite-ignore */ 'node:crypto')).webcrypto;
    return () => globalThis.crypto ?? own;
}

async function readAll(source) {
    if (typeof source !== 'string' && !(source instanceof URL))
        return source;
    const url = String(source);
    if (url.startsWith('file:') && globalThis.process?.versions?.node)
        return (await import(/* webpackIgnore: true */ /* @vite-ignore */ 'node:fs/promises')).readFile(new URL(url));
    const response = await fetch(url);
    if (!response.ok)
        throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return response.arrayBuffer();
}

export class PrivateMail {
    #module;
    #crypto;
    #machine; // for what needs no pack
    #spare; // after a pack was refused

    /** Loads privatemail.wasm: its bytes, or a URL; without an argument the file beside this one. */
    static async load(source = new URL('privatemail.wasm', import.meta.url)) {
        const library = new PrivateMail();
        library.#module = await WebAssembly.compile(await readAll(source));
        library.#crypto = await cryptoOfHost();
        library.#machine = await Machine.start(library.#module, library.#crypto);
        return library;
    }

    get version() {
        return this.#machine.text(this.#machine.core.pml_version());
    }

    /**
     * Validates a pack completely. `id`: the one to expect, as in Pack.info.id. Pin it: see privatemail.h. `model`: the
     * name of the model that makes your features; a pack of another model is refused with PML_ERROR_PACK_MODEL.
     */
    async openPack(bytes, { id, model } = {}) {
        const all = toBytes(this.#machine, bytes);
        const pinned = id === undefined ? undefined
            : toExactBytes(this.#machine, typeof id === 'string' ? fromHex(id) : id, ID_SIZE);
        const machine = this.#spare ?? await Machine.start(this.#module, this.#crypto);
        this.#spare = undefined;
        const start = machine.take(0);
        try {
            return new Pack(OPEN, machine, all, pinned, model);
        } catch (error) {
            machine.takeBack(start);
            this.#spare = machine;
            throw error;
        }
    }

    /**
     * The budget of `owner` (16 bytes that name a person) from `store`, or a new one with these caps when it has none:
     * `epsilon` for response releases; `epsilonGaussian` and `delta` for Gaussian ones; `epsilonFloor` (of all
     * photos whose cell is drawn), `epsilonCrowd` and `deltaCrowd` (of all own messages) for a crowd. All but the first
     * are 0 unless given.
     * `store`: { load(), save(bytes) }, each may answer a promise. load: the bytes saved, or null when there is no budget yet.
     * save: keeps them durably, or throws, rejects or answers false. load comes before every save: when it answers
     * other bytes than this budget last saw, another one spent meanwhile; the charge fails with PML_ERROR_PERSIST, and
     * the budget is to be opened anew. Stores are called one after the other, so none may wait for another charge. One
     * budget an owner, one page at a time: README.md says how to lock.
     */
    openBudget(options) {
        return Budget[OPEN](this.#machine, options ?? {});
    }

    /** Several looks at one photo, each of so many features, that become one query. Close them when done. */
    looks(features) {
        return new Looks(OPEN, this.#machine, features);
    }

    /**
     * The crowd's policy with fewest fakes: { policy, fakes, delta, needed }. `cells`: slots × cells of the pack.
     * `relay`: the relay makes all fakes, and no `clients` are counted on; else `honest` of them are. `needed` is false
     * when the floor alone keeps the promise. Refused with PML_ERROR_CROWD when no policy reaches (epsilon, delta).
     */
    planCrowd(goal) {
        return planCrowd(this.#machine, goal ?? {});
    }

    /** δ at `epsilon` of a policy for { cells, floor, queries }; never below the truth. */
    crowdDelta(policy, use, epsilon) {
        return accountCrowd(this.#machine, 'pml_crowd_delta', policy, use ?? {}, epsilon);
    }

    /** The least ε for `delta` of a policy for { cells, floor, queries }; never below the truth. */
    crowdEpsilon(policy, use, delta) {
        return accountCrowd(this.#machine, 'pml_crowd_epsilon', policy, use ?? {}, delta);
    }

    /**
     * The μ that one own message is booked with next to `delta0`: the policy's `delta0` and `mu` go together. A policy that
     * was planned with a δ of 1e-6 is often too small for a delta0 of 1e-9: PML_ERROR_CROWD. Plan with δ = delta0, or
     * choose delta0 from δ/1000 to δ/10.
     */
    crowdMu(policy, cells, delta0) {
        return accountCrowd(this.#machine, 'pml_crowd_mu', policy, { cells, floor: 0 }, delta0);
    }

    /**
     * A relay at `url`, https unless it is this machine. `keys`: the gateway's key configuration that the app pinned with
     * the pack; one from the relay that does not hold its key any more is refused with PML_ERROR_KEYS. Without it the
     * relay's word is taken: a relay that gives out a key of its own could read the messages. `answerLimit`: bytes of a
     * sealed answer, 16 MiB unless given; a relay that announces longer ones gets no bundle.
     */
    openRelay(url, options) {
        return Relay[OPEN](this.#machine, this.#crypto, url, options);
    }

    /** The best chance that any method has to bring the right cell when the answer carries `share` of the gallery. */
    curve(epsilon, share) {
        return this.#machine.core.pml_recall_ceiling(epsilon, share);
    }

    /** The ε that reaches the chance `probability` at `share`; NaN when there is none. */
    curveEpsilon(share, probability) {
        return this.#machine.core.pml_epsilon_for(probability, share);
    }
}
