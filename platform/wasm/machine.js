// SPDX-License-Identifier: Apache-2.0
// One instance of the core: its functions, its memory, what is where in it. The core allocates nothing, so memory is
// laid out here. Randomness comes from the host's crypto.getRandomValues and from nowhere else.

/** Names of the statuses of privatemail.h, by their negated number. */
const STATUS_NAMES = [
    'OK', 'ARGUMENT', 'MEMORY', 'BUFFER', 'STATE', 'EPSILON', 'DELTA', 'MECHANISM', 'DIMENSION', 'FEATURES', 'LABEL',
    'PACK', 'PACK_VERSION', 'PACK_SIZE', 'PACK_HASH', 'PACK_ID', 'SECTION', 'SENSITIVITY', 'ENTROPY', 'PERSIST',
    'BUDGET', 'SPENT', 'RELEASE', 'ANSWER', 'PACK_MODEL', 'CROWD', 'KEYS', 'SEALED',
    'MODALITY', 'FRONT',
];
export const STATUS = Object.fromEntries(STATUS_NAMES.map((name, index) => [name, -index]));

export const ID_SIZE = 16;
export const BUDGET_SIZE = 112;
export const CHUNK_SIZE = 65536; // of an answer, fed at once; also more than any release has
const PAGE_SIZE = 65536;

/** What every failure throws: `status` and `name` as in privatemail.h (-4, "PML_ERROR_STATE"), `message` in English. */
export class PrivateMailError extends Error {
    constructor(status, message, cause) {
        super(message, cause === undefined ? undefined : { cause });
        this.status = status;
        this.name = `PML_ERROR_${STATUS_NAMES[-status] ?? status}`;
    }
}

/** Views of the memory are made anew for each use: growing detaches them. */
export class Machine {
    #memory;
    #next;
    #free = new Map(); // size → places given back
    #fields = {};
    #source;

    static async start(module, source) {
        const machine = new Machine();
        machine.#source = source;
        const env = {
            entropy: (address, size) => machine.#draw(address, size),
            persist: (address, size) => machine.#keep(address, size),
        };
        const { exports } = await WebAssembly.instantiate(module, { env });
        machine.core = exports;
        machine.#memory = exports.memory;
        machine.#next = exports.__heap_base.value;
        machine.#readFields();
        machine.small = machine.take(256); // one structure, or a number, that a call fills
        machine.budget = machine.take(BUDGET_SIZE);
        machine.chunk = machine.take(CHUNK_SIZE);
        return machine;
    }

    /** A failure of any kind must come back to the core as a number: it has noise to wipe. */
    #draw(address, size) {
        try {
            return this.#source().getRandomValues(this.bytes(address >>> 0, size)).length === size ? 0 : -1;
        } catch {
            return -1;
        }
    }

    /** The core has a budget stored before it is armed. A page's stores take their time: Budget waits for them. */
    #keep(address, size) {
        this.toStore = this.bytes(address >>> 0, size).slice();
        return 0;
    }

    bytes(address, size) {
        return new Uint8Array(this.#memory.buffer, address, size);
    }

    floats(address, count) {
        return new Float32Array(this.#memory.buffer, address, count);
    }

    view() {
        return new DataView(this.#memory.buffer);
    }

    write(address, bytes) {
        this.bytes(address, bytes.length).set(bytes);
    }

    wipe(address, size) {
        this.bytes(address, size).fill(0);
    }

    /** Few sizes are ever asked for, so places given back wait for the next of their size. */
    take(size) {
        const returned = this.#free.get(size)?.pop();
        if (returned !== undefined)
            return returned;
        const place = Math.ceil(this.#next / 16) * 16;
        const missing = place + size - this.#memory.buffer.byteLength;
        if (missing > 0) {
            try {
                this.#memory.grow(Math.ceil(missing / PAGE_SIZE));
            } catch (cause) {
                throw this.error(STATUS.MEMORY, cause);
            }
        }
        this.#next = place + size;
        return place;
    }

    /** Forgets everything from `place` on. */
    takeBack(place) {
        this.wipe(place, this.#next - place);
        this.#next = place;
    }

    give(place, size) {
        this.wipe(place, size);
        if (!this.#free.has(size))
            this.#free.set(size, []);
        this.#free.get(size).push(place);
    }

    text(address) {
        const rest = new Uint8Array(this.#memory.buffer, address);
        return new TextDecoder().decode(rest.slice(0, rest.indexOf(0)));
    }

    error(status, cause) {
        return new PrivateMailError(status, this.text(this.core.pml_status_text(status)), cause);
    }

    /** Calls a function that returns a status. */
    call(name, ...values) {
        const status = this.core[name](...values);
        if (status !== STATUS.OK)
            throw this.error(status);
    }

    #readFields() {
        const view = this.view();
        for (let at = this.core.pml_wasm_fields(); view.getUint32(at, true) !== 0; at += 16) {
            const structure = this.text(view.getUint32(at, true));
            const name = view.getUint32(at + 4, true);
            const number = view.getUint32(at + 8, true);
            const type = String.fromCharCode(view.getUint32(at + 12, true));
            const fields = this.#fields[structure] ??= { size: 0, members: [] };
            if (type === 's')
                fields.size = number;
            else
                fields.members.push({ name: this.text(name), offset: number, type });
        }
    }

    sizeOf(structure) {
        return this.#fields[structure].size;
    }

    /** A structure of C as an object with the same names. 64-bit integers become BigInts, the id an array. */
    read(structure, address) {
        const view = this.view();
        const readers = {
            a: (at) => this.bytes(at, ID_SIZE).slice(),
            b: (at) => view.getUint8(at) !== 0,
            d: (at) => view.getFloat64(at, true),
            i: (at) => view.getInt32(at, true),
            l: (at) => view.getBigInt64(at, true),
            q: (at) => view.getBigUint64(at, true),
            t: (at) => this.text(view.getUint32(at, true)),
            u: (at) => view.getUint32(at, true),
        };
        const { members } = this.#fields[structure];
        return Object.fromEntries(members.map(({ name, offset, type }) => [name, readers[type](address + offset)]));
    }

    /** Fills a structure of C from an object with the same names. */
    fill(structure, address, values) {
        const view = this.view();
        const writers = {
            b: (at, value) => view.setUint8(at, value ? 1 : 0),
            d: (at, value) => view.setFloat64(at, value, true),
            q: (at, value) => view.setBigUint64(at, BigInt(value), true),
            u: (at, value) => view.setUint32(at, value, true),
        };
        for (const { name, offset, type } of this.#fields[structure].members)
            writers[type](address + offset, values[name]);
    }

    /** Calls a function whose last argument is a structure to fill, and returns the structure. */
    ask(structure, name, ...values) {
        this.call(name, ...values, this.small);
        return this.read(structure, this.small);
    }
}
