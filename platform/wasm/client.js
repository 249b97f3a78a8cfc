// SPDX-License-Identifier: Apache-2.0
// A client: arm, release, answer. The states are those of privatemail.h; the core keeps them.
import { AnswerBytes, piecesOf, toInteger, toNumber } from './arguments.js';
import { Budget, CHANGE, OPEN } from './budget.js';
import { CHUNK_SIZE, STATUS } from './machine.js';

const MECHANISMS = new Map([['response', 1], ['gaussian', 2]]);
const SCOPES = new Map([['own', 0], ['all', 1]]);
const MATCHES_MAX = 256;
const ANSWER_LIMIT = 16 * 2 ** 20; // bytes
const SCORE_UNIT = 2 ** 30;

/** Makes releases of one pack with one ε, and ranks answers. Made by Pack.client; close it when done. */
export class Client {
    #machine;
    #pack;
    #memory;
    #size;
    #mechanism;
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
        } = options;
        const number = MECHANISMS.get(mechanism);
        if (number === undefined)
            throw machine.error(STATUS.MECHANISM);
        this.#machine = machine;
        this.#pack = pack;
        this.#mechanism = mechanism;
        this.#substitute = substitute === true;
        this.#answerLimit = toInteger(machine, answerLimit, 1, Number.MAX_SAFE_INTEGER);
        this.#size = machine.core.pml_wasm_client_size(pack.address, number);
        const memory = machine.take(this.#size);
        try {
            machine.call('pml_wasm_client_init', machine.small, memory, this.#size, pack.address, number,
                toNumber(epsilon), toNumber(delta), toInteger(machine, valueBytes, 0, 2), this.#substitute);
        } catch (error) {
            machine.give(memory, this.#size);
            throw error;
        }
        this.#memory = memory;
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

    /** What one release costs and how it is made. All of it is public. */
    get receipt() {
        this.#checkState();
        return { ...this.#machine.ask('receipt', 'pml_client_receipt', this.#address), mechanism: this.#mechanism };
    }

    /** Pays for one release from `budget`, whose store has it before the promise is kept, and draws the randomness. */
    arm(budget) {
        return this.#pay(budget, 'pml_client_arm');
    }

    /** Gives up an armed release and takes its price back. When the store fails, the price is lost. */
    disarm(budget) {
        return this.#pay(budget, 'pml_client_disarm');
    }

    async #pay(budget, call) {
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
                machine.call(call, this.#address, machine.budget);
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

    /** Calls the core with an address, features, their number and label; of what is copied here nothing stays. */
    #callWith(address, features, label, name, ...values) {
        const machine = this.#machine;
        const { features: place, count, labelled } = this.#pack;
        const known = label === undefined && !labelled ? 0 : toInteger(machine, label, -(2 ** 31), 2 ** 31 - 1);
        if (!Number.isInteger(features?.length))
            throw machine.error(STATUS.ARGUMENT);
        try {
            if (features.length === count)
                machine.floats(place, count).set(features);
            machine.call(name, address, place, features.length, known, ...values);
        } finally {
            machine.wipe(place, 4 * count);
        }
    }

    /**
     * The message for the server: { bytes, receipt, rows }. `features`: a Float32Array, or an array of numbers, as long
     * as the pack says; the caller's to wipe. `label`: the class, as the pack's maker numbered it; packs of one slot
     * need none. `rows`: what the server sees, or null when the pack has no codes. Needs an `arm` each; when the network
     * fails, send the same bytes again.
     */
    release(features, label) {
        const machine = this.#machine;
        this.#checkState();
        const size = machine.core.pml_client_release_size(this.#address);
        this.#callWith(this.#address, features, label, 'pml_wasm_client_release', machine.chunk, size);
        const bytes = machine.bytes(machine.chunk, size).slice();
        return { bytes, receipt: this.receipt, rows: this.#pack.rowsOf(bytes) };
    }

    /**
     * Ranks an answer by the true features: { matches, carried, gallery, share, bytes }. `source`: the answer's bytes,
     * or an iterable or ReadableStream of its pieces. `scope`: 'own' slot or 'all'. A match has item (BigInt), label,
     * slot, score (cosine) and payload. After an error ask for the same bytes again, never make a new release.
     */
    async answer(source, features, label, { scope = 'own', limit = 10 } = {}) {
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
            this.#callWith(memory, features, label, 'pml_wasm_ranking_begin', size, this.#pack.address,
                SCOPES.get(scope), this.#substitute, matches, limit, machine.small);
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
        this.#machine.give(this.#memory, this.#size);
        this.#address = 0;
    }
}
