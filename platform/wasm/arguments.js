// SPDX-License-Identifier: Apache-2.0
// What callers hand over, checked where JavaScript would convert or ignore.
import { STATUS } from './machine.js';

export function toBytes(machine, value) {
    if (value instanceof Uint8Array)
        return value;
    if (value instanceof ArrayBuffer)
        return new Uint8Array(value);
    if (ArrayBuffer.isView(value))
        return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    throw machine.error(STATUS.ARGUMENT);
}

export function toExactBytes(machine, value, size) {
    const bytes = toBytes(machine, value);
    if (bytes.length !== size)
        throw machine.error(STATUS.ARGUMENT);
    return bytes;
}

export function toInteger(machine, value, least, most) {
    if (!Number.isInteger(value) || value < least || value > most)
        throw machine.error(STATUS.ARGUMENT);
    return value;
}

/** The core refuses NaN, with the status that fits. */
export const toNumber = (value) => (typeof value === 'number' ? value : NaN);

/** What arrived of an answer, in one piece that doubles: a stream may come byte by byte, or use its buffer again. */
export class AnswerBytes {
    #machine;
    #limit;
    #bytes = new Uint8Array();
    #size = 0;

    constructor(machine, limit) {
        this.#machine = machine;
        this.#limit = limit;
    }

    /** Answers the copy that is kept of `piece`. */
    append(piece) {
        const end = this.#size + piece.length;
        if (end > this.#limit)
            throw this.#machine.error(STATUS.ANSWER, new Error(`longer than the limit of ${this.#limit} bytes`));
        if (end > this.#bytes.length) {
            const larger = new Uint8Array(Math.min(this.#limit, Math.max(end, 2 * this.#bytes.length)));
            larger.set(this.#bytes);
            this.#bytes = larger;
        }
        this.#bytes.set(piece, this.#size);
        const copy = this.#bytes.subarray(this.#size, end);
        this.#size = end;
        return copy;
    }

    slice(start, end) {
        return this.#bytes.slice(start, end);
    }
}

/** Pieces of a byte array, an iterable or a stream (which browsers do not all iterate). */
export async function* piecesOf(machine, source) {
    if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
        yield toBytes(machine, source);
    } else if (typeof source?.getReader === 'function') {
        const reader = source.getReader();
        let ended = false;
        try {
            for (;;) {
                const { done, value } = await reader.read();
                ended = done;
                if (done)
                    return;
                yield toBytes(machine, value);
            }
        } finally {
            if (!ended)
                await reader.cancel().catch(() => {});
            reader.releaseLock();
        }
    } else if (source?.[Symbol.asyncIterator] || source?.[Symbol.iterator]) {
        for await (const piece of source)
            yield toBytes(machine, piece);
    } else {
        throw machine.error(STATUS.ARGUMENT);
    }
}
