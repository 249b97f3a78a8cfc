// SPDX-License-Identifier: Apache-2.0
// What stands for the phone: the pictures it knows, the WebAssembly core, the budget, the releases it keeps. In: a
// picture's number and a choice { mechanism, epsilon }. Out: bytes that may be sent. After `open` nothing here talks to
// the network.
import { PrivateMail } from './wasm/privatemail.js';

const OWNER = new TextEncoder().encode('demonstration 01'); // 16 bytes
const DELTA = 1e-5;
const CAPS = { epsilon: 40, epsilonGaussian: 20, delta: DELTA };
const BUDGET_KEY = 'privatemail.budget';
const RELEASES_KEY = 'privatemail.releases';

const toText = (bytes) => btoa(String.fromCharCode(...bytes));
export const fromText = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** Of this tab: it outlives a reload, or reloading would be a way to spend twice. A new tab starts a new budget, a
 * duplicated one spends its copy: limits of a demonstration. An app has one budget a person. */
const budgetStore = {
    load() {
        const text = sessionStorage.getItem(BUDGET_KEY);
        return text === null ? null : fromText(text);
    },
    save(bytes) {
        sessionStorage.setItem(BUDGET_KEY, toText(bytes));
    },
};

async function fetchOf(path, read) {
    const response = await fetch(path);
    if (!response.ok)
        throw new Error(`${path}: ${response.status}`);
    return read(response);
}

function toQuery({ label, picture, features }) {
    const bytes = fromText(features);
    return { label, picture: `data:image/png;base64,${picture}`, features: new Float32Array(bytes.buffer) };
}

export class Device {
    #library;
    #pack;
    #budget;
    #kept; // releases by choice

    /** Everything is loaded at once, also the pictures: loading one when it is chosen would tell which. */
    static async open() {
        const device = new Device();
        const known = await fetchOf('device.json', (response) => response.json());
        device.gallery = known.gallery;
        device.names = known.names;
        device.start = known.start;
        device.epsilon = known.epsilon;
        device.queries = known.queries.map(toQuery);
        device.#library = await PrivateMail.load();
        const bytes = await fetchOf(`v1/pack/${known.pack}`, (response) => response.arrayBuffer());
        // A pack made for one person would mark that person. Here the id comes from the server that sends the pack, so
        // it pins nothing: a demonstration's limit. An app pins an id that it was shipped with.
        device.#pack = await device.#library.openPack(bytes, { id: known.pack });
        device.#kept = new Map(JSON.parse(sessionStorage.getItem(RELEASES_KEY) ?? '[]'));
        device.#budget = await device.#openBudget();
        return device;
    }

    #openBudget() {
        return this.#library.openBudget({ owner: OWNER, ...CAPS, store: budgetStore });
    }

    get pack() {
        return this.#pack.info;
    }

    /** [{ slot, name, label }, …], by slot. */
    slots() {
        return this.#pack.classes().map(({ label, slot }) => ({ slot, name: this.names[label], label }));
    }

    /** [{ slot, x, y }, …]: the first two coordinates of at most `limit` anchors, taken evenly. */
    publicPoints(limit) {
        const { anchors } = this.pack;
        const stride = Math.ceil(anchors / limit);
        return Array.from({ length: Math.ceil(anchors / stride) || 0 }, (_, i) => {
            const { slot, code: [x, y] } = this.#pack.anchor(i * stride);
            return { slot, x, y };
        });
    }

    #client({ mechanism, epsilon }) {
        return this.#pack.client({ mechanism, epsilon, delta: mechanism === 'gaussian' ? DELTA : 0 });
    }

    /** { bytes, receipt, rows, symbols, fresh, milliseconds }. The bytes of the same picture and choice are reused,
     * which is free; new ones are paid for, and kept before anybody can send them. */
    async release(number, choice) {
        const key = [this.pack.id, number, choice.mechanism, choice.epsilon].join(' ');
        const client = this.#client(choice);
        try {
            const fresh = !this.#kept.has(key);
            const start = performance.now();
            if (fresh) {
                const { features, label } = this.queries[number];
                await client.arm(this.#budget);
                this.#kept.set(key, toText(client.release(features, label).bytes));
            }
            const milliseconds = performance.now() - start;
            sessionStorage.setItem(RELEASES_KEY, JSON.stringify([...this.#kept]));
            const seen = this.#decode(fromText(this.#kept.get(key)), choice);
            return { ...seen, receipt: client.receipt, fresh, milliseconds };
        } finally {
            client.close();
        }
    }

    /** What the server sees in it. */
    #decode(bytes, { mechanism }) {
        return {
            bytes,
            rows: mechanism === 'gaussian' ? this.#pack.rows(bytes) : null,
            symbols: mechanism === 'response' ? this.#pack.releaseSymbols(bytes) : null,
        };
    }

    /** Ranks an answer by the true features; validates all of it first. */
    async rank(answer, number, choice, limit) {
        const client = this.#client(choice);
        try {
            const { features, label } = this.queries[number];
            return await client.answer(answer, features, label, { limit });
        } finally {
            client.close();
        }
    }

    /** What is spent of each cap, as a share and in words. */
    budget() {
        const { epsilonCap, epsilonSpent, mu2Cap, mu2Spent } = this.#budget.remaining();
        return {
            response: {
                share: epsilonSpent / epsilonCap,
                text: `ε ${Number(epsilonSpent.toFixed(2))} of ${epsilonCap}`,
            },
            gaussian: {
                share: mu2Spent / mu2Cap,
                text: `${(100 * mu2Spent / mu2Cap).toFixed(0)} % of ε ${CAPS.epsilonGaussian}, δ 10⁻⁵`,
            },
        };
    }

    /** Another person: nothing spent, nothing kept. */
    async reset() {
        sessionStorage.removeItem(BUDGET_KEY);
        sessionStorage.removeItem(RELEASES_KEY);
        this.#kept.clear();
        this.#budget = await this.#openBudget();
    }

    /** The best chance that any method has to bring the right cell. */
    ceiling(epsilon, share) {
        return this.#library.curve(epsilon, share);
    }
}
