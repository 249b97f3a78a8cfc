// SPDX-License-Identifier: Apache-2.0
// Features of typed words, without a network: the sum of the rows of a small table, one for each word that it knows.
// The rows were made beforehand by a sentence model (demo_words.py), which is far too large for a page.

const WORD = /[a-z]+/g;
const T_SHIRT = /\bt[- ]shirt/g; // whose letter alone says nothing
const LETTERS = 80; // that are read of what is typed

export class Words {
    #places;
    #ignored;
    #vectors;
    #size;

    constructor({ words, vectors, ignored }) {
        this.#places = new Map(words.map((word, place) => [word, place]));
        this.#ignored = new Set(ignored);
        this.#vectors = new Int8Array(vectors.buffer, vectors.byteOffset, vectors.length);
        this.#size = vectors.length / words.length;
    }

    get list() {
        return [...this.#places.keys()];
    }

    /** { features or null when no word is known, known: [word, …], unknown: [word, …] }. */
    read(text) {
        const typed = (text.slice(0, LETTERS).toLowerCase().replace(T_SHIRT, 'tshirt').match(WORD) ?? [])
            .filter((word) => !this.#ignored.has(word));
        const known = typed.filter((word) => this.#places.has(word));
        const unknown = typed.filter((word) => !this.#places.has(word));
        return { features: known.length > 0 ? this.#sum(known) : null, known, unknown };
    }

    #sum(words) {
        const features = new Float32Array(this.#size);
        for (const word of words) {
            const start = this.#places.get(word) * this.#size;
            for (let i = 0; i < this.#size; i++)
                features[i] += this.#vectors[start + i];
        }
        return features;
    }
}
