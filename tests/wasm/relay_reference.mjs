// SPDX-License-Identifier: Apache-2.0
// A relay that is its own gateway (docs/SPEC.md sections 10 and 11), over HTTP, for a client to meet what a true relay
// does not do. It answers every message with the same bytes.
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { configuration, openMessage, sealAnswer } from './gateway_reference.mjs';

const ANSWER = 9000; // bytes of plaintext: three chunks
export const key = { id: 7, secret: createHash('sha256').update('the key of a gateway').digest() };
export const keys = configuration(key.id, key.secret);

/** `pack`: its id in hexadecimal. `messageSize`: of a sealed message. `answer`: the bytes that every message gets.
 * `change` may do without the rest by returning true. `run` gets the relay's URL and state. */
export async function withRelay({ pack, messageSize, answer, change = () => false }, run) {
    const state = {
        pack, keys, epoch: Math.floor(Date.now() / 1000), message: messageSize, answer: 32 + ANSWER + 3 * 16 + 5,
        closes: 0, inside: 200, bundles: [], opened: [], asked: [], deleted: [],
    };
    const server = createServer(async (request, response) => {
        const pieces = [];
        for await (const piece of request)
            pieces.push(piece);
        const body = Buffer.concat(pieces);
        const reply = (status, value) => {
            const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value ?? null));
            response.writeHead(status).end(status === 204 ? undefined : bytes);
        };
        state.asked.push(`${request.method} ${request.url}`);
        if (change(request, state, reply, response) !== true)
            serve(request, state, reply, body, answer);
    });
    await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
    try {
        await run(`http://127.0.0.1:${server.address().port}`, state);
    } finally {
        server.closeAllConnections?.();
        server.close();
    }
}

export function serve({ method, url }, state, reply, body, answer) {
    const [, ticket, index] = url.match(/^\/v1\/ticket\/([0-9a-f]{32})\/?(\d+)?/) ?? [];
    if (url === '/v1/keys')
        return reply(200, state.keys);
    if (url === `/v1/pack/${state.pack}/epoch`)
        return reply(200, {
            pack: state.pack, epoch: state.epoch, closes: state.closes, message: state.message, answer: state.answer,
        });
    if (url === `/v1/pack/${state.pack}/bundle` && method === 'POST') {
        if (body.readBigUInt64BE(0) !== BigInt(state.epoch))
            return reply(409, { error: 'epoch', message: 'another epoch is open', epoch: state.epoch });
        state.bundles.push(body);
        return reply(201, { ticket: body.subarray(8, 24).toString('hex'), epoch: state.epoch });
    }
    if (!ticket)
        return reply(404, { error: 'not_found', message: 'there is nothing here' });
    if (method === 'DELETE') {
        state.deleted.push(ticket);
        return reply(204);
    }
    const bundle = state.bundles.at(-1);
    if (bundle?.subarray(8, 24).toString('hex') !== ticket)
        return reply(410, { error: 'lost', message: 'no such ticket' });
    const at = 24 + Number(index) * state.message;
    const message = bundle.subarray(at, at + state.message);
    let opened;
    try {
        opened = openMessage(key, state.epoch, Buffer.from(state.pack, 'hex'), message);
    } catch {
        return reply(200, randomBytes(state.answer)); // as a gateway does
    }
    state.opened.push(Buffer.from(opened.release));
    return reply(200, sealAnswer(opened, state.inside, answer, ANSWER));
}
