// SPDX-License-Identifier: Apache-2.0
// Candidates by slot, to show them. In: the bytes of an answer (docs/SPEC.md section 3) of either version that the core has
// validated.

class Reader {
    #bytes;
    #view;
    #at = 0;

    constructor(bytes) {
        this.#bytes = bytes;
        this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }

    /** Head of a CBOR item: its major type and number. */
    #head() {
        const first = this.#bytes[this.#at++];
        const [type, short] = [first >> 5, first & 31];
        if (short < 24)
            return [type, short];
        const at = this.#at;
        this.#at += 1 << (short - 24);
        switch (short) {
        case 24: return [type, this.#view.getUint8(at)];
        case 25: return [type, this.#view.getUint16(at)];
        case 26: return [type, this.#view.getUint32(at)];
        default: return [type, Number(this.#view.getBigUint64(at))];
        }
    }

    item() {
        const [type, number] = this.#head();
        switch (type) {
        case 0: return number;
        case 1: return -1 - number;
        case 2: return this.#bytes.subarray(this.#at, this.#at += number);
        case 4: return Array.from({ length: number }, () => this.item());
        default: throw new RangeError(`an answer has no CBOR of type ${type}`);
        }
    }
}

/** Reads the candidates of a list of version 2 from their byte string. */
class Candidates {
    #bytes;
    #at = 0;
    #last = -1n; // the item before

    constructor(bytes) {
        this.#bytes = bytes;
    }

    /** A number in base 128. Items may be larger than a Number holds exactly, and they are sums. */
    #number() {
        let [value, shift, byte] = [0n, 0n, 0];
        do {
            byte = this.#bytes[this.#at++];
            value |= BigInt(byte & 127) << shift;
            shift += 7n;
        } while (byte >= 128);
        return value;
    }

    next(form, base, sketch) {
        this.#last += 1n + this.#number();
        const label = form & 1 ? base + Number(this.#number()) : base;
        this.#at += sketch;
        const size = form & 2 ? Number(this.#number()) : 0;
        return { item: Number(this.#last), label, payload: this.#bytes.subarray(this.#at, this.#at += size) };
    }
}

/** A list of version 1: [slot, count], then the candidates. */
function readPlain(reader, limit) {
    const [slot, count] = reader.item();
    const first = [];
    for (let i = 0; i < count; i++) {
        const [item, label, , payload] = reader.item();
        if (i < limit)
            first.push({ item, label, payload });
    }
    return { slot, count, first };
}

/** A list of version 2: all of it is one item, and the candidates a byte string. */
function readCoded(reader, sketch, limit) {
    const [slot, count, form, base, bytes] = reader.item();
    const candidates = new Candidates(bytes);
    return {
        slot, count, first: Array.from({ length: Math.min(count, limit) }, () => candidates.next(form, base, sketch)),
    };
}

/** [{ slot, count, first: [{ item, label, payload }, …] }, …] with the first `limit` of each slot. */
export function readSlots(bytes, limit) {
    const reader = new Reader(bytes);
    const [version, , slots, sketch] = reader.item();
    return Array.from({ length: slots }, () => version === 1 ? readPlain(reader, limit) : readCoded(reader, sketch, limit));
}
