// SPDX-License-Identifier: Apache-2.0
// What stands for the phone: the pictures and words it knows, the WebAssembly core, the budget, the releases it keeps.
// In: a choice { number of a picture, words or null, mechanism, epsilon }. Out: bytes that may be sent. After `open`
// nothing here talks to the network but `relay`, when the page hands it a bundle.
import { PrivateMail } from './wasm/privatemail.js';
import { Words } from './words.js';

const OWNER = new TextEncoder().encode('demonstration 01'); // 16 bytes
const DELTA = 1e-5;
const CAPS = {
    epsilon: 40, epsilonGaussian: 20, delta: DELTA, epsilonFloor: 40, epsilonCrowd: 4, deltaCrowd: DELTA,
};
const DELTA_CROWD = 1e-6; // that the promise of one search in the crowd is told for
const DELTA0 = 1e-7; // that one own message is booked with, beside its μ
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
    #wordsPack; // of the modalities image and text; null when the demo has no words
    #budget;
    #policies = new Map(); // of the crowd, by the id of the pack
    #kept; // releases by choice; of a bundle the message with the drawn cell

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
        await device.#openWords(known.words ?? null);
        device.#kept = new Map(JSON.parse(sessionStorage.getItem(RELEASES_KEY) ?? '[]'));
        device.#budget = await device.#openBudget();
        device.crowd = known.crowd ?? null;
        if (device.crowd !== null)
            await device.#openCrowd(device.crowd);
        return device;
    }

    async #openWords(known) {
        this.words = null;
        this.#wordsPack = null;
        if (known === null)
            return;
        const bytes = await fetchOf(`v1/pack/${known.pack}`, (response) => response.arrayBuffer());
        this.#wordsPack = await this.#library.openPack(bytes, { id: known.pack, model: known.model });
        this.words = new Words({ ...known, vectors: fromText(known.vectors) });
        this.examples = known.examples;
    }

    /** The policy is the app's own. The keys come with it, as the pack's id does: an app ships both. */
    async #openCrowd({ relay, keys, clients, clusters, copies }) {
        const policy = { clients, clusters, copies, own: 1 };
        for (const { id, slots, cells } of [this.#pack, this.#wordsPack].filter(Boolean).map(({ info }) => info)) {
            const mu = this.#library.crowdMu(policy, slots * cells, DELTA0);
            this.#policies.set(id, { ...policy, delta0: DELTA0, mu });
        }
        this.relay = await this.#library.openRelay(relay, { keys: fromText(keys) });
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

    /** Of the pack that a choice asks with. */
    packOf(choice) {
        return this.#packOf(choice).info;
    }

    #packOf({ words }) {
        return words === null ? this.#pack : this.#wordsPack;
    }

    #client(choice) {
        const { mechanism, epsilon } = choice;
        if (mechanism === 'crowd')
            return this.#packOf(choice).client({ epsilon, crowd: this.#policies.get(this.packOf(choice).id) });
        return this.#packOf(choice).client({ mechanism, epsilon, delta: mechanism === 'gaussian' ? DELTA : 0 });
    }

    /** What is sought, as the core takes it, and a name for it: the same words in the same order are the same query. */
    #query({ number, words }) {
        if (words === null) {
            const { features, label } = this.queries[number];
            return { features, label, modality: undefined, name: number };
        }
        const { features, known } = this.words.read(words);
        return { features, label: 0, modality: 'text', name: known.join('-') };
    }

    #keyOf(choice) {
        return [this.#packOf(choice).info.id, this.#query(choice).name, choice.mechanism, choice.epsilon].join(' ');
    }

    /** { bytes, receipt, rows, symbols, pack, fresh, milliseconds }. The bytes of the same query and choice are reused,
     * which is free; new ones are paid for, and kept before anybody can send them. */
    async release(choice) {
        const key = this.#keyOf(choice);
        const client = this.#client(choice);
        try {
            const fresh = !this.#kept.has(key);
            const start = performance.now();
            if (fresh) {
                const { features, label, modality } = this.#query(choice);
                await client.arm(this.#budget);
                this.#kept.set(key, toText(client.release(features, label, { modality }).bytes));
            }
            const milliseconds = performance.now() - start;
            sessionStorage.setItem(RELEASES_KEY, JSON.stringify([...this.#kept]));
            const seen = this.#decode(fromText(this.#kept.get(key)), choice);
            return { ...seen, pack: this.#packOf(choice).info, receipt: client.receipt, fresh, milliseconds };
        } finally {
            client.close();
        }
    }

    /** { messages, symbols, pack, receipt, fresh, milliseconds }: a bundle for one epoch; of words also the group. A picture's cell is drawn once and kept;
     * when it is sent again, only the crowd's share is paid. The fakes are new each time. */
    async bundle(choice) {
        const key = this.#keyOf(choice);
        const client = this.#client(choice);
        try {
            const fresh = !this.#kept.has(key);
            const start = performance.now();
            const { features, label, modality } = this.#query(choice);
            await client.armBundle(this.#budget, fresh ? 'query' : 'kept');
            const { messages } = fresh ? client.bundle(features, label, { modality })
                : client.keptBundle(fromText(this.#kept.get(key)));
            const milliseconds = performance.now() - start;
            const { bytes } = messages.find(({ own }) => own === 1);
            this.#kept.set(key, toText(bytes));
            sessionStorage.setItem(RELEASES_KEY, JSON.stringify([...this.#kept]));
            const symbols = choice.words === null ? null : this.#wordsPack.releaseSymbols(bytes);
            return { messages, symbols, pack: this.packOf(choice), receipt: client.receipt, fresh, milliseconds };
        } finally {
            client.close();
        }
    }

    /** What one search in the crowd promises, with its assumption. */
    promise({ id, slots, cells }, floor) {
        const policy = this.#policies.get(id);
        const epsilon = this.#library.crowdEpsilon(policy, { cells: slots * cells, floor }, DELTA_CROWD);
        return { floor, epsilon, delta: DELTA_CROWD, clients: policy.clients };
    }

    /** What the server sees in it. */
    #decode(bytes, choice) {
        const pack = this.#packOf(choice);
        return {
            bytes,
            rows: choice.mechanism === 'gaussian' ? pack.rows(bytes) : null,
            symbols: choice.mechanism === 'response' ? pack.releaseSymbols(bytes) : null,
        };
    }

    /** Ranks an answer by the true features; validates all of it first. */
    async rank(answer, choice, limit) {
        const client = this.#client(choice);
        try {
            const { features, label, modality } = this.#query(choice);
            return await client.answer(answer, features, label, { modality, limit });
        } finally {
            client.close();
        }
    }

    /** What is spent of each cap, as a share and in words. */
    budget() {
        const left = this.#budget.remaining();
        const pure = (letter, spent, cap) => (
            { share: spent / cap, text: `${letter} ${Number(spent.toFixed(2))} of ${cap}` });
        const noisy = (spent, cap, epsilon) => (
            { share: spent / cap, text: `${(100 * spent / cap).toFixed(0)} % of ε ${epsilon}, δ 10⁻⁵` });
        return {
            response: pure('ε', left.epsilonSpent, left.epsilonCap),
            gaussian: noisy(left.mu2Spent, left.mu2Cap, CAPS.epsilonGaussian),
            floor: pure('ε₀', left.floorSpent, left.floorCap),
            crowd: noisy(left.crowdMu2Spent, left.crowdMu2Cap, CAPS.epsilonCrowd),
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
