// SPDX-License-Identifier: Apache-2.0
// Sealed messages (privatemail_transport.h, docs/SPEC.md section 10): the C seals a release for the gateway's key, and
// opens the answer. An answer is handed out only after its last tag was checked.
import { toBytes, toExactBytes } from './arguments.js';
import { CHUNK_SIZE, ID_SIZE, STATUS } from './machine.js';

/** Gives `work` places of these sizes; they are wiped and given back. */
function withPlaces(machine, sizes, work) {
    const places = sizes.map((size) => machine.take(size));
    try {
        return work(...places);
    } finally {
        places.forEach((place, i) => machine.give(place, sizes[i]));
    }
}

/** Writes a key configuration into the memory for `work`. */
function withConfiguration(machine, configuration, work) {
    const bytes = toBytes(machine, configuration);
    if (bytes.length > CHUNK_SIZE)
        throw machine.error(STATUS.KEYS);
    machine.write(machine.chunk, bytes);
    return work(machine.chunk, bytes.length);
}

/** The key to seal for: the first usable one of application/ohttp-keys. */
export function chooseKey(machine, configuration) {
    const size = machine.sizeOf('seal_key');
    return withPlaces(machine, [size], (key) => withConfiguration(machine, configuration, (place, length) => {
        machine.call('pml_wasm_keys_choose', place, length, key);
        return machine.bytes(key, size).slice();
    }));
}

/** Throws PML_ERROR_KEYS unless the configuration still holds the key. */
export function checkHolds(machine, configuration, key) {
    withPlaces(machine, [key.length], (place) => withConfiguration(machine, configuration, (text, length) => {
        machine.write(place, key);
        machine.call('pml_keys_hold', text, length, place);
    }));
}

/** Bytes of the message that holds a release of `size` bytes. */
export const messageSize = (machine, size) => machine.core.pml_message_size(size);

/** { sealed, opener } of one release. The opener opens the answer: secret, and the caller's to wipe. */
export function seal(machine, key, epoch, pack, release) {
    const [id, bytes] = [toExactBytes(machine, pack, ID_SIZE), toBytes(machine, release)];
    const [sealedSize, openerSize] = [messageSize(machine, bytes.length), machine.sizeOf('opener')];
    return withPlaces(machine, [key.length, ID_SIZE, bytes.length, sealedSize, openerSize],
        (keyPlace, idPlace, releasePlace, sealed, opener) => {
            machine.write(keyPlace, key);
            machine.write(idPlace, id);
            machine.write(releasePlace, bytes);
            machine.call('pml_wasm_message_seal', keyPlace, Math.floor(epoch / 2 ** 32), epoch % 2 ** 32, idPlace,
                releasePlace, bytes.length, sealed, sealedSize, opener);
            return {
                sealed: machine.bytes(sealed, sealedSize).slice(),
                opener: machine.bytes(opener, openerSize).slice(),
            };
        });
}

/** { status, content } of a sealed answer: the HTTP status inside, and what came with it. */
export function openAnswer(machine, opener, answer) {
    const bytes = toBytes(machine, answer);
    const content = new Uint8Array(bytes.length);
    let size = 0;
    const waiting = machine.core.pml_wasm_open_buffer(); // for its tag
    const sizes = [machine.sizeOf('open'), opener.length, waiting, CHUNK_SIZE + waiting];
    return withPlaces(machine, sizes, (open, openerPlace, buffer, out) => {
        machine.write(openerPlace, opener);
        machine.call('pml_wasm_open_begin', open, openerPlace, buffer, waiting, bytes.length);
        for (let at = 0; at < bytes.length; at += CHUNK_SIZE) {
            const part = bytes.subarray(at, at + CHUNK_SIZE);
            machine.write(machine.chunk, part);
            machine.call('pml_wasm_open_feed', open, machine.chunk, part.length, out, CHUNK_SIZE + waiting,
                machine.small);
            const opened = machine.view().getUint32(machine.small, true);
            content.set(machine.bytes(out, opened), size);
            size += opened;
        }
        machine.call('pml_open_end', open, machine.small);
        return { status: machine.view().getUint32(machine.small, true), content: content.subarray(0, size) };
    });
}
