// SPDX-License-Identifier: Apache-2.0
// A client of a relay that mixes (docs/SPEC.md section 11): seals a bundle for the open epoch, hands it over, waits for
// the epoch's end, opens the answers to the own messages. The relay may be hostile: whatever it does, it reads nothing,
// and no reply takes more memory than its limit.
import { piecesOf, toInteger } from './arguments.js';
import { OPEN } from './budget.js';
import { STATUS } from './machine.js';
import { checkHolds, chooseKey, messageSize, openAnswer, seal } from './sealing.js';

const TICKET_SIZE = 16;
const POLL = 30; // seconds that one question may wait
const AHEAD = 3600; // seconds that the relay's clock may be ahead of ours …
const BEHIND = 86400; // … or behind
const TRIES = 3; // epochs, when one closes between asking for its number and handing over
const SMALL = 65536; // bytes of a reply that is no answer
const ANSWER_LIMIT = 16 * 2 ** 20; // bytes of a sealed answer, as of an answer that a client ranks

/**
 * What went wrong between here and the relay. `code`: the relay's word for it ('epoch', 'lost', 'duplicate', 'token'
 * …), 'unreachable', 'late' (the epoch did not end in time), 'refused' (by the gateway, inside the seal) or 'relay' (it
 * does not do what docs/SPEC.md says). After 'refused' do not send again: a server could refuse one cell alone, and see
 * who does. After any other send the kept cell in a later epoch.
 */
export class RelayError extends Error {
    constructor(code, message, cause) {
        super(message, cause === undefined ? undefined : { cause });
        this.name = 'RelayError';
        this.code = code;
    }
}

const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromHex = (text) => Uint8Array.from(text.match(/../g), (two) => parseInt(two, 16));

const wipe = (openers) => openers.forEach(({ opener }) => opener.fill(0));

/** What a reply in JSON says; nothing when it is none. */
function parse(bytes) {
    try {
        return JSON.parse(new TextDecoder().decode(bytes)) ?? {};
    } catch {
        return {};
    }
}

function toAddress(url) {
    const address = new URL(url);
    const loopback = /^(127(\.\d+){3}|\[::1\]|localhost)$/.test(address.hostname);
    if (address.protocol !== 'https:' && !(address.protocol === 'http:' && loopback))
        throw new RelayError('relay', `${url}: only https hides from the network which bundle is whose`);
    return address.href.replace(/\/+$/, '');
}

/** Made by PrivateMail.openRelay. */
export class Relay {
    #machine;
    #address;
    #random;
    #key;
    #keys;
    #answerLimit;

    constructor(key) {
        if (key !== OPEN)
            throw new TypeError('relays are made by PrivateMail.openRelay');
    }

    static async [OPEN](machine, random, url, { keys, answerLimit = ANSWER_LIMIT } = {}) {
        const relay = new Relay(OPEN);
        relay.#answerLimit = toInteger(machine, answerLimit, 1, Number.MAX_SAFE_INTEGER);
        relay.#machine = machine;
        relay.#random = random;
        relay.#address = toAddress(url);
        const offered = await relay.#take('/v1/keys', SMALL);
        relay.#keys = keys === undefined ? offered : Uint8Array.from(keys); // a relay never changes what is pinned
        relay.#key = chooseKey(machine, relay.#keys);
        checkHolds(machine, offered, relay.#key);
        return relay;
    }

    /** The gateway's key configuration: pin it with the pack. */
    get keys() {
        return this.#keys.slice();
    }

    /** No cookies, no referrer, nothing from a cache, no other place than the one that was named. */
    async #ask(path, options) {
        try {
            return await fetch(`${this.#address}${path}`, {
                credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store', redirect: 'error', ...options,
            });
        } catch (cause) {
            throw new RelayError('unreachable', `${this.#address} does not answer`, cause);
        }
    }

    async #refusal(response) {
        const bytes = await this.#body(response, SMALL).catch(() => new Uint8Array()); // then the status must do
        const { error, message } = parse(bytes);
        return new RelayError(typeof error === 'string' ? error : 'relay',
            `${response.status}: ${typeof message === 'string' ? message : response.statusText}`);
    }

    /** The whole body. It is read into one place of `limit` bytes: pieces of one byte each must not take more. */
    async #body(response, limit) {
        const bytes = new Uint8Array(limit);
        let size = 0;
        try {
            for await (const piece of piecesOf(this.#machine, response.body ?? [])) {
                if (piece.length > limit - size)
                    throw new RelayError('relay', `a reply of more than ${limit} bytes`); // and the rest is cancelled
                bytes.set(piece, size);
                size += piece.length;
            }
        } catch (cause) {
            throw cause instanceof RelayError ? cause : new RelayError('unreachable', 'the reply broke off', cause);
        }
        return bytes.subarray(0, size);
    }

    async #take(path, limit) {
        const response = await this.#ask(path);
        if (response.status !== 200)
            throw await this.#refusal(response);
        return this.#body(response, limit);
    }

    /** The open epoch of a pack: { epoch, closes, message, answer }, as docs/SPEC.md 11.2 has them. */
    async epoch(pack) {
        const told = parse(await this.#take(`/v1/pack/${pack}/epoch`, SMALL));
        const now = Date.now() / 1000;
        if (![told.epoch, told.message, told.answer].every((value) => Number.isSafeInteger(value) && value > 0) ||
            told.epoch > now + AHEAD || told.epoch < now - BEHIND ||
            !Number.isFinite(told.closes) || told.closes < 0)
            throw new RelayError('relay', 'what the relay says about its epoch cannot be true');
        if (told.answer > this.#answerLimit)
            throw new RelayError('relay', `answers of ${told.answer} bytes, more than ${this.#answerLimit}`);
        return told;
    }

    /**
     * Seals the messages of client.bundle, keptBundle or idleBundle for the open epoch of the pack (its id in
     * hexadecimal) and hands them over as a whole. Keep the message whose `own` is 1 before that.
     */
    async send(pack, messages) {
        for (let left = TRIES; ; left--) {
            const epoch = await this.epoch(pack);
            const openers = []; // secret: wiped here unless the relay has the bundle
            try {
                const handed = this.#seal(pack, messages, epoch, openers);
                await this.#post(pack, handed.bytes);
                return new Handed(OPEN, handed, this.#fetcher());
            } catch (error) {
                wipe(openers);
                if (left === 1 || !(error instanceof RelayError) || error.code !== 'epoch')
                    throw error;
            }
        }
    }

    async #post(pack, body) {
        const headers = { 'Content-Type': 'application/x-privatemail-bundle' };
        const response = await this.#ask(`/v1/pack/${pack}/bundle`, { method: 'POST', headers, body });
        if (response.status !== 200 && response.status !== 201)
            throw await this.#refusal(response);
    }

    /** Puts what opens the own answers into `openers`, one by one, so that the caller can wipe them in any case. */
    #seal(pack, messages, { epoch, message, answer }, openers) {
        const machine = this.#machine;
        if (!messages.every(({ bytes }) => messageSize(machine, bytes.length) === message))
            throw new RelayError('relay', 'the relay says a wrong length of messages');
        const bytes = new Uint8Array(8 + TICKET_SIZE + message * messages.length);
        const ticket = bytes.subarray(8, 8 + TICKET_SIZE);
        new DataView(bytes.buffer).setBigUint64(0, BigInt(epoch));
        if (this.#random().getRandomValues(ticket).length !== TICKET_SIZE)
            throw machine.error(STATUS.ENTROPY);
        const bundle = messages.map(({ bytes: release, own }, index) => {
            const { sealed, opener } = seal(machine, this.#key, epoch, fromHex(pack), release);
            bytes.set(sealed, 8 + TICKET_SIZE + index * message);
            if (own > 0)
                openers.push({ own, index, opener });
            else
                opener.fill(0);
            return sealed;
        });
        openers.sort((one, other) => one.own - other.own);
        return { epoch, ticket: toHex(ticket), bytes, bundle, messageSize: message, answerSize: answer, openers };
    }

    /** What a bundle that was handed over may still do. */
    #fetcher() {
        return {
            ask: (path, options) => this.#ask(path, options),
            refusal: (response) => this.#refusal(response),
            body: (response, limit) => this.#body(response, limit),
            open: (opener, answer) => openAnswer(this.#machine, opener, answer),
        };
    }
}

/** A bundle that the relay has. Made by Relay.send. */
class Handed {
    #openers;
    #relay;

    constructor(key, { openers, ...told }, relay) {
        if (key !== OPEN)
            throw new TypeError('bundles are handed over by Relay.send');
        Object.assign(this, told);
        this.#openers = openers;
        this.#relay = relay;
    }

    /**
     * [{ own, bytes }, …]: the opened answers to the own messages, in the order of `own`, for client.answer. Waits for
     * the end of the epoch, `seconds` at most. Only once: what opens them is wiped.
     */
    async answers({ seconds = 600 } = {}) {
        const end = performance.now() + 1000 * seconds;
        const openers = this.#openers;
        this.#openers = [];
        try {
            const answers = [];
            for (const { own, index, opener } of openers) {
                const { status, content } = this.#relay.open(opener, await this.#fetch(index, end));
                if (status !== 200)
                    throw new RelayError('refused', `the gateway refused the message (${status})`);
                answers.push({ own, bytes: content });
            }
            return answers;
        } finally {
            wipe(openers);
            this.#relay.ask(`/v1/ticket/${this.ticket}`, { method: 'DELETE' }).catch(() => {}); // it forgets anyway
        }
    }

    async #fetch(index, end) {
        for (;;) {
            const left = Math.floor((end - performance.now()) / 1000);
            if (left < 0)
                throw new RelayError('late', 'the epoch did not end in time');
            const response = await this.#relay.ask(`/v1/ticket/${this.ticket}/${index}?wait=${Math.min(POLL, left)}`);
            if (response.status === 200)
                return this.#relay.body(response, this.answerSize);
            if (response.status !== 202)
                throw await this.#relay.refusal(response);
            await this.#relay.body(response, SMALL).catch(() => {}); // frees the connection for the next question
            await new Promise((resume) => setTimeout(resume, 100)); // also for a relay that does not wait
        }
    }
}
