// SPDX-License-Identifier: Apache-2.0
// A client: arm, release, answer; in a crowd armBundle, bundle, answer. The states are those of privatemail.h; the core
// keeps them.
import { AnswerBytes, piecesOf, toBytes, toInteger, toNumber } from './arguments.js';
import { Budget, CHANGE, OPEN } from './budget.js';
import { fillPolicy } from './crowd.js';
import { CHUNK_SIZE, STATUS } from './machine.js';

const MECHANISMS = new Map([['response', 1], ['gaussian', 2]]);
const RECEIPTS = [undefined, 'response', 'gaussian', 'crowd']; // the last: of a crowd, when the pack has several slots
const BUNDLES = new Map([['query', 1], ['kept', 2], ['idle', 3]]);
const SCOPES = new Map([['own', 0], ['all', 1]]);
const MATCHES_MAX = 256;
const ANSWER_LIMIT = 16 * 2 ** 20; // bytes
const SCORE_UNIT = 2 ** 30;

/** Makes releases of one pack with one ε, or bundles, and ranks answers. Made by Pack.client; close it when done. */
export class Client {
    #machine;
    #pack;
    #memory;
    #size;
    #policySize;
    #answerLimit;
    #substitute;
    #address = 0;
    #ranking = 0; // of the answer under way
    #waiting = false; // for a store

    constructor(key, machine, pack, options) {
        if (key !== OPEN)
            throw new TypeError('clients are made by Pack.client');
        const {
            mechanism = 'response', epsilon, delta = 0, valueBytes = 0, substitute = false, answerLimit = ANSWER_LIMIT,
            crowd,
        } = options;
        const number = MECHANISMS.get(mechanism);
        if (number === undefined)
            throw machine.error(STATUS.MECHANISM);
        this.#machine = machine;
        this.#pack = pack;
        this.#substitute = substitute === true;
        this.#answerLimit = toInteger(machine, answerLimit, 1, Number.MAX_SAFE_INTEGER);
        // A policy goes before the client: it is copied, so the page cannot change it after an arm.
        this.#policySize = crowd === undefined ? 0 : machine.sizeOf('crowd');
        this.#size = machine.core.pml_wasm_client_size(pack.address, number, this.#policySize > 0 ? machine.small : 0);
        this.#memory = machine.take(this.#policySize + this.#size);
        const policy = this.#policySize > 0 ? this.#memory : 0;
        try {
            if (policy !== 0)
                fillPolicy(machine, policy, crowd);
            machine.call('pml_wasm_client_init', machine.small, this.#memory + this.#policySize, this.#size,
                pack.address, number, toNumber(epsilon), toNumber(delta), toInteger(machine, valueBytes, 0, 2),
                this.#substitute, policy);
        } catch (error) {
            machine.give(this.#memory, this.#policySize + this.#size);
            throw error;
        }
        this.#address = machine.view().getUint32(machine.small, true);
    }

    /** Also after each wait: others may close the client meanwhile. */
    #checkOpen() {
        if (this.#address === 0)
            throw this.#machine.error(STATUS.STATE);
    }

    #checkState() {
        this.#checkOpen();
        if (this.#waiting)
            throw this.#machine.error(STATUS.STATE);
    }

    /** Bytes of memory that the core uses for this client. */
    get memorySize() {
        return this.#size;
    }

    /** What one release costs and how it is made; in a crowd one own message, and the floor. All of it is public. */
    get receipt() {
        this.#checkState();
        const receipt = this.#machine.ask('receipt', 'pml_client_receipt', this.#address);
        return { ...receipt, mechanism: RECEIPTS[receipt.mechanism] };
    }

    /** Pays for one release from `budget`, whose store has it before the promise is kept, and draws the randomness. */
    arm(budget) {
        return this.#pay(budget, 'pml_client_arm');
    }

    /**
     * The same for one bundle of a crowd: 'query' (a photo's cell is drawn), 'kept' (a photo's kept cell is sent again)
     * or 'idle' (no query in this epoch, which costs nothing).
     */
    async armBundle(budget, kind) {
        if (!BUNDLES.has(kind))
            throw this.#machine.error(STATUS.ARGUMENT);
        return this.#pay(budget, 'pml_crowd_arm', BUNDLES.get(kind));
    }

    /** Gives up an armed release or bundle and takes its price back. When the store fails, the price is lost. */
    disarm(budget) {
        return this.#pay(budget, 'pml_client_disarm');
    }

    async #pay(budget, call, ...values) {
        const machine = this.#machine;
        this.#checkState();
        if (!(budget instanceof Budget))
            throw machine.error(STATUS.ARGUMENT);
        this.#waiting = true; // nothing else can be done until the store has answered
        let changed = false;
        try {
            await budget[CHANGE]((bytes) => {
                this.#checkOpen();
                machine.write(machine.budget, bytes);
                machine.call(call, this.#address, machine.budget, ...values);
                changed = true;
                return machine.toStore;
            });
            this.#checkOpen();
        } catch (error) {
            if (changed && this.#address !== 0)
                machine.core.pml_client_wipe(this.#address); // it is armed, but nobody paid
            throw error;
        } finally {
            this.#waiting = false;
        }
    }

    /** Calls the core with an address and a query; of what is copied here nothing stays. */
    #callWith(address, { features, label, modality }, name, ...values) {
        const machine = this.#machine;
        const { features: place, labelled } = this.#pack;
        const number = this.#pack.find(modality);
        const count = this.#pack.counts[number];
        const known = label === undefined && !labelled ? 0 : toInteger(machine, label, -(2 ** 31), 2 ** 31 - 1);
        if (!Number.isInteger(features?.length))
            throw machine.error(STATUS.ARGUMENT);
        try {
            if (features.length === count)
                machine.floats(place, count).set(features);
            machine.call(name, address, place, features.length, known, number, ...values);
        } finally {
            machine.wipe(place, 4 * count);
        }
    }

    /**
     * The message for the server: { bytes, receipt, rows }. `features`: a Float32Array, or an array of numbers, as long
     * as the modality says; the caller's to wipe. `label`: the class, as the pack's maker numbered it; packs of one
     * slot need none. `modality`: a name of pack.modalities(), the first unless given; another name is refused with
     * PML_ERROR_MODALITY. Time depends on it, so it is not hidden; the bytes do not tell it. `rows`: what the server
     * sees, or null when the pack has no codes. Needs an `arm` each; when the network fails, send the same bytes again.
     */
    release(features, label, { modality } = {}) {
        const machine = this.#machine;
        this.#checkState();
        const size = machine.core.pml_client_release_size(this.#address);
        const query = { features, label, modality };
        this.#callWith(this.#address, query, 'pml_wasm_client_release', machine.chunk, size);
        const bytes = machine.bytes(machine.chunk, size).slice();
        return { bytes, receipt: this.receipt, rows: this.#pack.rowsOf(bytes) };
    }

    /**
     * The bundle for the relay that `armBundle` paid for as 'query': { bytes, messages: [{ bytes, own }, …], receipt }.
     * `bytes` are all messages in their order; hand them over as a whole. `own` is 0 for a fake, else 1 to the policy's
     * `own`: the answer to it is worth ranking. Keep the message whose `own` is 1, and never tell which it was.
     */
    bundle(features, label, { modality } = {}) {
        this.#checkState();
        this.#callWith(this.#address, { features, label, modality }, 'pml_wasm_bundle_query');
        return this.#bundle();
    }

    /** The bundle that was armed as 'kept'. `message`: the photo's one whose `own` was 1. */
    keptBundle(message) {
        const machine = this.#machine;
        this.#checkState();
        const kept = toBytes(machine, message);
        if (kept.length > CHUNK_SIZE)
            throw machine.error(STATUS.RELEASE);
        machine.write(machine.chunk, kept);
        try {
            machine.call('pml_wasm_bundle_kept', this.#address, machine.chunk, kept.length);
        } finally {
            machine.wipe(machine.chunk, kept.length);
        }
        return this.#bundle();
    }

    /** The bundle that was armed as 'idle': fakes, and cover when the policy says so. Often empty. */
    idleBundle() {
        this.#checkState();
        this.#machine.call('pml_crowd_begin', this.#address, 0);
        return this.#bundle();
    }

    #bundle() {
        const machine = this.#machine;
        const size = machine.core.pml_client_release_size(this.#address);
        const bytes = new Uint8Array(size * machine.core.pml_crowd_left(this.#address));
        const messages = [];
        for (let at = 0; at < bytes.length; at += size) {
            machine.call('pml_crowd_next', this.#address, machine.chunk, size, machine.small);
            bytes.set(machine.bytes(machine.chunk, size), at);
            messages.push({ bytes: bytes.slice(at, at + size), own: machine.view().getUint32(machine.small, true) });
        }
        machine.wipe(machine.chunk, size);
        machine.wipe(machine.small, 4);
        return { bytes, messages, receipt: this.receipt };
    }

    /**
     * Ranks an answer by the true features: { matches, carried, gallery, share, bytes }. `source`: the answer's bytes,
     * or an iterable or ReadableStream of its pieces. `modality`: that of the release. `scope`: 'own' slot or 'all'. A
     * match has item (BigInt), label, slot, score (cosine) and payload. In a crowd it is the answer to one own message,
     * which has one slot. After an error ask for the same bytes again, never make a new release.
     */
    async answer(source, features, label, { modality, scope = 'own', limit = 10 } = {}) {
        const machine = this.#machine;
        this.#checkState();
        toInteger(machine, limit, 1, MATCHES_MAX);
        if (!SCOPES.has(scope))
            throw machine.error(STATUS.ARGUMENT);
        if (this.#ranking !== 0) // one answer at a time
            throw machine.error(STATUS.STATE);
        const room = MATCHES_MAX * machine.sizeOf('match');
        const matches = machine.take(room);
        const size = machine.core.pml_ranking_size(this.#pack.address);
        const memory = machine.take(size);
        try {
            this.#callWith(memory, { features, label, modality }, 'pml_wasm_ranking_begin', size, this.#pack.address,
                SCOPES.get(scope), this.#substitute, this.#policySize > 0, matches, limit, machine.small);
            this.#ranking = machine.view().getUint32(machine.small, true);
            return this.#ranked(await this.#feed(source), matches);
        } finally {
            this.#ranking = 0;
            machine.give(memory, size);
            machine.give(matches, room);
        }
    }

    /** Feeds what arrives and keeps it, because payloads are in it. */
    async #feed(source) {
        const machine = this.#machine;
        const answer = new AnswerBytes(machine, this.#answerLimit);
        for await (const piece of piecesOf(machine, source)) {
            const kept = answer.append(piece);
            for (let at = 0; at < kept.length; at += CHUNK_SIZE) {
                this.#checkOpen();
                const part = kept.subarray(at, at + CHUNK_SIZE);
                machine.write(machine.chunk, part);
                machine.call('pml_ranking_feed', this.#ranking, machine.chunk, part.length);
            }
        }
        this.#checkOpen();
        return answer;
    }

    #ranked(answer, place) {
        const machine = this.#machine;
        const summary = machine.ask('answer_summary', 'pml_ranking_finish', this.#ranking);
        const matches = [];
        for (let i = 0; i < summary.found; i++) {
            const match = machine.read('match', place + i * machine.sizeOf('match'));
            const start = Number(match.payload_offset);
            matches.push({
                item: match.item,
                label: match.label,
                slot: match.slot,
                score: match.score / SCORE_UNIT,
                payload: answer.slice(start, start + match.payload_size),
            });
        }
        const [carried, gallery, bytes] = [summary.carried, summary.gallery, summary.bytes].map(Number);
        return { matches, carried, gallery, share: carried / gallery, bytes };
    }

    /** Wipes the client and an answer under way, and gives its memory back. An armed release is lost, and so is its price. */
    close() {
        if (this.#address === 0)
            return;
        this.#machine.core.pml_client_wipe(this.#address);
        this.#machine.core.pml_ranking_wipe(this.#ranking);
        this.#machine.give(this.#memory, this.#policySize + this.#size);
        this.#address = 0;
    }
}
