// SPDX-License-Identifier: Apache-2.0
// Sealed messages and the client of a relay, beside an implementation of the gateway's side that shares no code with
// the C, over HTTP. The real relay and gateway are in tests/page.
import assert from 'node:assert/strict';
import { createHash, webcrypto } from 'node:crypto';
import { configuration, sealMessage } from './gateway_reference.mjs';
import { key, serve, withRelay as startRelay } from './relay_reference.mjs';
import { fails, golden, library, newBudget, RelayError, test, withCrypto } from './wasm_harness.mjs';

const hostRandom = (array) => webcrypto.getRandomValues(array);
const answer = golden.crowdAnswers[0];
const pack = await library.openPack(golden.packs[0].bytes);
const id = pack.info.id;
const crowd = { clients: 100000, clusters: 4, copies: 8, own: 2, delta0: 1e-12, mu: 0.03 };

const client = pack.client({ epsilon: 8, crowd });
await client.armBundle(await newBudget(), 'query');
const { messages } = client.bundle(answer.features, answer.label);
const sealedSize = messages[0].bytes.length + 104;
const openerSize = 66; // of a pml_opener
const withRelay = (change, run) =>
    startRelay({ pack: id, messageSize: sealedSize, answer: answer.bytes, change }, run);
const normal = () => false;
const PATIENTLY = { seconds: 60 }; // far more than a busy machine takes

async function refused(code, run) {
    await assert.rejects(run, (error) => {
        assert.ok(error instanceof RelayError, error.stack);
        assert.equal(error.code, code, error.message);
        return true;
    });
}

/** The host's generator repeats these bytes. */
const withBytes = (bytes, run) =>
    withCrypto({ getRandomValues: (array) => (array.set(bytes.subarray(0, array.length)), array) }, run);

await test('sealed messages are those of another implementation, byte by byte', async () => {
    for (let round = 0; round < 8; round++)
        await withRelay(normal, async (url, state) => {
            const ephemeral = createHash('sha256').update(`ephemeral ${round}`).digest();
            state.epoch -= 1000 * round;
            const relay = await library.openRelay(url);
            const { bundle, bytes, epoch, ticket } =
                await withBytes(ephemeral, () => relay.send(id, messages.slice(0, 3)));
            assert.equal(epoch, state.epoch);
            assert.equal(ticket, ephemeral.subarray(0, 16).toString('hex'));
            assert.deepEqual(Buffer.from(bytes), state.bundles[0]);
            for (const [i, sealed] of bundle.entries())
                assert.deepEqual(Buffer.from(sealed),
                    sealMessage(key, ephemeral, epoch, Buffer.from(id, 'hex'), Buffer.from(messages[i].bytes)));
        });
});

await test('answers to the own messages are fetched, opened and ranked, and then forgotten', () =>
    withRelay(normal, async (url, state) => {
        const relay = await library.openRelay(url, { keys: state.keys });
        assert.deepEqual(Buffer.from(relay.keys), state.keys);
        const handed = await relay.send(id, messages);
        assert.equal(state.bundles[0].length, 24 + sealedSize * messages.length);
        assert.ok(handed.bundle.every((sealed) => sealed.length === sealedSize));
        assert.equal(new Set(handed.bundle.map(String)).size, messages.length);
        const answers = await handed.answers(PATIENTLY);
        assert.deepEqual(answers.map(({ own }) => own), [1, 2]);
        const own = [1, 2].map((wanted) => messages.find(({ own }) => own === wanted).bytes);
        assert.deepEqual(state.opened, own.map((bytes) => Buffer.from(bytes)));
        assert.deepEqual(Buffer.from(answers[0].bytes), Buffer.from(answer.bytes));
        const { matches } = await client.answer(answers[0].bytes, answer.features, answer.label);
        assert.ok(matches.length > 0);
        const questions = state.asked.filter((line) => line.startsWith('GET /v1/ticket/'));
        assert.equal(questions.length, 2); // of the own messages alone
        for (const end = Date.now() + 60000; state.deleted.length === 0 && Date.now() < end;) // nobody waits for it
            await new Promise((resume) => setTimeout(resume, 10));
        assert.deepEqual(state.deleted, [handed.ticket]);
        assert.deepEqual(await handed.answers(), []); // what opened them is gone
    }));

await test('an epoch that closed meanwhile is sealed for again, and a full one is waited for', () => {
    let closed = 0, waited = 0;
    return withRelay((request, state, reply) => {
        if (request.method === 'POST' && closed++ === 0)
            state.epoch += 5;
        if (request.url.includes('?wait=') && waited++ < 2) {
            reply(202, { state: 'open' });
            return true;
        }
        return false;
    }, async (url, state) => {
        const first = state.epoch;
        const handed = await (await library.openRelay(url)).send(id, messages);
        assert.equal(handed.epoch, first + 5);
        assert.equal((await handed.answers(PATIENTLY)).length, 2);
        assert.equal(waited, 4);
    });
});

await test('keys that do not hold the pinned one are refused', () => withRelay(normal, async (url, state) => {
    const [pinned, next] = [state.keys, configuration(8, createHash('sha256').update('next').digest())];
    state.keys = Buffer.concat([next, pinned]); // rotation with overlap
    const relay = await library.openRelay(url, { keys: pinned });
    assert.equal((await relay.send(id, messages)).bundle[0][0], pinned[2]); // a relay cannot put one in front
    assert.deepEqual(Buffer.from(relay.keys), pinned);
    state.keys = next;
    await fails('KEYS', () => library.openRelay(url, { keys: pinned }));
    const longer = Buffer.concat([pinned, Buffer.from([0])]);
    for (const bad of [Buffer.alloc(0), pinned.subarray(1), Buffer.from('keys'), longer]) {
        state.keys = bad;
        await fails('KEYS', () => library.openRelay(url));
    }
}));

await test('a relay that lies is not believed', async () => {
    const lies = [
        ['relay', (state) => { state.message = sealedSize + 1; }],
        ['relay', (state) => { state.epoch += 4000; }],
        ['relay', (state) => { state.epoch -= 90000; }],
        ['relay', (state) => { state.epoch = 'now'; }],
        ['relay', (state) => { state.answer = 0; }],
        ['relay', (state) => { state.closes = 'soon'; }],
    ];
    for (const [code, lie] of lies)
        await withRelay(normal, async (url, state) => {
            lie(state);
            const relay = await library.openRelay(url);
            await refused(code, () => relay.send(id, messages));
            assert.equal(state.bundles.length, 0);
        });
    const changes = [
        (sealed) => sealed.subarray(0, -1),
        (sealed) => sealed.subarray(0, 32 + 2 * (4096 + 18)), // whole chunks are missing
        (sealed) => Buffer.from(sealed).fill(sealed[5000] ^ 1, 5000, 5001),
        (sealed) => Buffer.from(sealed).fill(sealed[0] ^ 1, 0, 1),
        () => Buffer.alloc(0),
    ];
    for (const change of changes)
        await withRelay((request, state, reply) => {
                if (!request.url.includes('?wait='))
                return false;
            serve(request, state, (status, value) => reply(status, change(value)), Buffer.alloc(0), answer.bytes);
            return true;
        }, async (url) => {
            const handed = await (await library.openRelay(url)).send(id, messages);
            await fails('SEALED', () => handed.answers(PATIENTLY));
        });
    await withRelay((request, state, reply) => {
        if (request.url.includes('?wait='))
            reply(200, Buffer.alloc(state.answer + 1));
        return request.url.includes('?wait=');
    }, async (url) => {
        const handed = await (await library.openRelay(url)).send(id, messages);
        await refused('relay', () => handed.answers(PATIENTLY));
    });
});

await test('refusals, waiting too long and a relay that is gone have their names', async () => {
    await withRelay(normal, async (url, state) => {
        const relay = await library.openRelay(url);
        const lost = await relay.send(id, messages);
        state.bundles.length = 0;
        await refused('lost', () => lost.answers(PATIENTLY));
        const handed = await relay.send(id, messages);
        state.inside = 409;
        await refused('refused', () => handed.answers(PATIENTLY));
        await refused('not_found', () => relay.send('00'.repeat(16), messages));
    });
    await withRelay((request, state, reply) => {
        if (request.url.includes('?wait='))
            reply(202, { state: 'open' });
        return request.url.includes('?wait=');
    }, async (url) => {
        const handed = await (await library.openRelay(url)).send(id, messages);
        await refused('late', () => handed.answers({ seconds: 0.2 }));
    });
    let gone;
    await withRelay(normal, async (url) => { gone = url; });
    await refused('unreachable', () => library.openRelay(gone));
    await refused('relay', () => library.openRelay('http://relay.example'));
    await assert.rejects(library.openRelay('no address'), TypeError);
});

/** Ends only when the client hangs up, or after `most` bytes. Returns how many there were, a little later. */
async function endless(response, status, most = 64 * 2 ** 20) {
    const piece = Buffer.alloc(65536, 0x20);
    response.writeHead(status).setMaxListeners(0);
    let sent = 0;
    for (; sent < most && !response.destroyed; sent += piece.length)
        if (!response.write(piece))
            await new Promise((resume) => {
                response.once('drain', resume);
                response.once('close', resume);
            });
    response.end();
    return sent;
}

await test('replies without an end are hung up on', async () => {
    const answered = (path) => (request) => request.method === 'GET' && request.url.includes(path);
    const epochIs = (status) => ({ path: '/epoch', status, run: (relay) => relay.epoch(id) });
    const cases = [
        { path: '/v1/keys', status: 200, run: (relay, url) => library.openRelay(url) },
        epochIs(200),
        epochIs(500), // a refusal
        { path: '?wait=', status: 200, run: async (relay) => (await relay.send(id, messages)).answers(PATIENTLY) },
        { path: '?wait=', status: 410, run: async (relay) => (await relay.send(id, messages)).answers(PATIENTLY) },
    ];
    for (const { path, status, run } of cases) {
        let hostile = false;
        let sent;
        await withRelay((request, state, reply, response) => {
            if (!hostile || !answered(path)(request))
                return false;
            sent = endless(response, status);
            return true;
        }, async (url) => {
            const relay = await library.openRelay(url);
            hostile = true;
            await refused('relay', () => run(relay, url));
            const bytes = await sent;
            assert.ok(bytes < 16 * 2 ** 20, `${path} ${status}: ${bytes} bytes were taken`); // buffers of the sockets
        });
    }
});

await test('a reply that says to wait is not read for ever either', async () => {
    let sent;
    await withRelay((request, state, reply, response) => {
        if (!request.url.includes('?wait=') || sent)
            return false;
        sent = endless(response, 202);
        return true;
    }, async (url) => {
        const handed = await (await library.openRelay(url)).send(id, messages);
        assert.equal((await handed.answers(PATIENTLY)).length, 2);
        assert.ok(await sent < 16 * 2 ** 20, `${await sent} bytes were taken`);
    });
});

await test('a refusal of any form is a RelayError', async () => {
    for (const text of ['null', '7', '"text"', '[]', '{', '', '{"error": {}, "message": {"toString": 1}}'])
        await withRelay((request, state, reply) => {
            if (request.url.endsWith('/epoch'))
                reply(503, Buffer.from(text));
            return request.url.endsWith('/epoch');
        }, async (url) => {
            const relay = await library.openRelay(url);
            await refused('relay', () => relay.epoch(id));
        });
});

await test('announced sizes are checked before anything is sent', () => withRelay(normal, async (url, state) => {
    const relay = await library.openRelay(url);
    const size = state.answer;
    state.answer = 16 * 2 ** 20 + 1;
    await refused('relay', () => relay.send(id, messages));
    state.answer = size;
    const [narrow, fitting] = [await library.openRelay(url, { answerLimit: size - 1 }),
        await library.openRelay(url, { answerLimit: size })];
    await refused('relay', () => narrow.send(id, messages));
    state.message = 2 ** 45; // an array of so many bytes cannot be made
    await refused('relay', () => fitting.send(id, messages));
    state.message = sealedSize;
    assert.equal(state.bundles.length, 0);
    assert.equal((await (await fitting.send(id, messages)).answers(PATIENTLY)).length, 2);
    for (const wrong of [0, -1, 1.5, NaN, '7', null])
        await fails('ARGUMENT', () => library.openRelay(url, { answerLimit: wrong }));
}));

/** What opens answers, as it leaves the linear memory; `run` may look while it works. */
async function withOpeners(run) {
    const { slice } = Uint8Array.prototype;
    const openers = [];
    Uint8Array.prototype.slice = function (...range) {
        const copy = slice.apply(this, range);
        if (copy.length === openerSize)
            openers.push(copy);
        return copy;
    };
    try {
        await run(openers);
    } finally {
        Uint8Array.prototype.slice = slice;
    }
}

await test('what opens answers is wiped, whatever happens to the bundle', async () => {
    const isZero = (opener) => opener.every((byte) => byte === 0);
    const wiped = (openers) => {
        assert.ok(openers.length > 0);
        assert.ok(openers.every(isZero), `${openers.filter((one) => !isZero(one)).length} are left`);
    };
    await withRelay(normal, (url) => withOpeners(async (openers) => { // that is what is looked at
        const handed = await (await library.openRelay(url)).send(id, messages);
        assert.equal(openers.length, messages.length);
        assert.equal(openers.filter((opener) => !isZero(opener)).length, crowd.own);
        await handed.answers(PATIENTLY);
        wiped(openers);
    }));
    const failures = [
        ['unreachable', (request, reply, response) => response.destroy()],
        ['relay', (request, reply) => reply(503, Buffer.from('null'))],
        ['duplicate', (request, reply) => reply(409, { error: 'duplicate' })],
    ];
    for (const [code, fail] of failures)
        await withRelay((request, state, reply, response) => {
            if (request.method === 'POST')
                fail(request, reply, response);
            return request.method === 'POST';
        }, async (url) => {
            const relay = await library.openRelay(url);
            await withOpeners(async (openers) => {
                await refused(code, () => relay.send(id, messages));
                wiped(openers);
            });
        });
    await withRelay(normal, async (url) => {
        const relay = await library.openRelay(url);
        await withOpeners(async (openers) => {
            let calls = 0;
            const stops = { getRandomValues: (array) => {
                if (calls++ > messages.length)
                    throw new Error('dry');
                return hostRandom(array);
            } };
            const own = messages.filter(({ own }) => own > 0);
            await fails('ENTROPY', () => withCrypto(stops, () => relay.send(id, [...own, ...messages])));
            wiped(openers);
        });
    });
});

await test('no randomness, no sealed message', () => withRelay(normal, async (url, state) => {
    const relay = await library.openRelay(url);
    let calls = 0;
    const stops = { getRandomValues: (array) => { // the ticket is drawn, the key is not
        if (calls++ > 0)
            throw new Error('dry');
        return hostRandom(array);
    } };
    await fails('ENTROPY', () => withCrypto(stops, () => relay.send(id, messages)));
    assert.equal(state.bundles.length, 0);
}));
client.close();
