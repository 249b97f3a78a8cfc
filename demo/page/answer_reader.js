// SPDX-License-Identifier: Apache-2.0
// Candidates by slot, to show them. In: the bytes of an answer (docs/SPEC.md section 3) that the core has validated.

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

/** [{ slot, count, first: [{ item, label, payload }, …] }, …] with the first `limit` of each slot. */
export function readSlots(bytes, limit) {
    const reader = new Reader(bytes);
    const [, , slots] = reader.item();
    return Array.from({ length: slots }, () => {
        const [slot, count] = reader.item();
        const first = [];
        for (let i = 0; i < count; i++) {
            const [item, label, , payload] = reader.item();
            if (i < limit)
                first.push({ item, label, payload });
        }
        return { slot, count, first };
    });
}
