// SPDX-License-Identifier: Apache-2.0
// The cards of a search in a crowd: what the relay saw, what the server saw, what is promised. In: what the device
// sealed, and what the demonstration's observer counted. Nothing here marks the own message: only the device knows it.
import { count, element, factorText, fill, make, say } from './show_parts.js';

const SEALED_SHOWN = 8; // messages, each by its first bytes
const SEALED_BYTES = 16;
const SVG = 'http://www.w3.org/2000/svg';
const BARS_HEIGHT = 40;

/** 10⁻⁶ for 1e-6. */
export const deltaText = (delta) => `10${[...String(Math.round(Math.log10(delta)))]
    .map((digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)]).join('')}`;

// ---- what the relay saw -------------------------------------------------------------------------------------------

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');

export function handed({ bundle, messageSize }) {
    const lines = bundle.slice(0, SEALED_SHOWN).map((sealed) => `${hexOf(sealed.subarray(0, SEALED_BYTES))} …`);
    const more = bundle.length - lines.length;
    element('sealed').textContent = lines.join('\n') + (more > 0 ? `\n+ ${more} more` : '');
    say('relay-hint', `From you: ${bundle.length} ${bundle.length === 1 ? 'message' : 'messages'} of ${messageSize} ` +
        'bytes each, sealed for the server. One is meant; the others, if any, are fakes drawn by lot. The relay ' +
        'learns that you took part and how many messages you sent. It has no key to read them. The answers that it ' +
        'brings back are sealed and of one length too.');
}

/** `crowd`: { bundles, needed }. `state`: what the ticket says, or 'done'. */
export function filling({ bundles, needed }, state) {
    fill('meter-epoch', 'epoch-text', Math.min(1, bundles / needed), `${count(bundles)} of ${count(needed)} people`);
    say('epoch-state', {
        open: 'The relay waits until enough people are there, and sends nothing before.',
        fetching: 'All are there. The relay mixes the messages and fetches every answer before it hands out any.',
        done: 'The relay has mixed the messages, fetched all answers, and handed out yours.',
    }[state]);
}

// ---- what the server saw ------------------------------------------------------------------------------------------

function bars(counts, most) {
    const svg = document.createElementNS(SVG, 'svg');
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', counts.map((number, i) =>
        `M${i + 0.1} ${BARS_HEIGHT}V${(BARS_HEIGHT * (1 - number / most)).toFixed(1)}h0.8V${BARS_HEIGHT}`).join(''));
    svg.setAttribute('viewBox', `0 0 ${counts.length} ${BARS_HEIGHT}`);
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('aria-hidden', 'true');
    svg.append(path);
    return svg;
}

/** `pack`: that was asked with; `seen`: { messages, message_size, counts }, one count per symbol. */
export function mixed(device, { slots, cells }, { messages, message_size: size, counts }, people) {
    const most = Math.max(...counts);
    const rows = slots === 1 ? [{ slot: 0, name: `all ${cells} groups` }] : device.slots();
    say('meaning', `${count(messages)} messages of ${count(people)} people, in one random order. Each names one of ` +
        `${count(slots * cells)} groups${slots === 1 ? ' of pictures'
            : `: ${slots} classes with ${cells} groups of similar pictures each`}.`);
    element('received').replaceChildren(make('ul', { className: 'mixed' }, ...rows.map(({ slot, name }) => {
        const own = counts.slice(slot * cells, (slot + 1) * cells);
        const total = own.reduce((sum, number) => sum + number, 0);
        return make('li', {}, bars(own, most), make('b', {}, name), make('small', {}, count(total)));
    })));
    const range = `from ${count(Math.min(...counts))} to ${count(most)} times`;
    say('received-hint', `How often each group was named (${range}). ` +
        `One of the messages is yours, so one bar is higher by one than without you. All of them have ${size} ` +
        'bytes. The server reads them, but does not know whose they are. (The demonstration counts them by reading a ' +
        'copy; the service itself keeps none.)');
}

/** Before the crowd has been answered. */
export function waiting() {
    say('meaning', 'Nothing yet. The relay sends all messages at once when the epoch ends.');
    say('received-hint', '');
    element('received').replaceChildren();
}

// ---- what is promised ---------------------------------------------------------------------------------------------

export function promises({ floor, epsilon, delta, clients }) {
    const odds = (value) => `no picture makes what they see more than ${factorText(value)} times as likely as ` +
        'another picture does';
    const entries = [
        [`If the relay mixes and does not join the server, and at least ${count(clients)} people are honest: ` +
            `ε\u00a0=\u00a0${epsilon.toFixed(2)}`,
            `Towards the server, ${odds(epsilon)}, plus a chance of δ = ${deltaText(delta)}. Nobody can check ` +
            'this assumption from outside.'],
        [`Whatever anybody does, the floor: ε₀\u00a0=\u00a0${floor}`,
            `Even if the relay, the server and all the others work together, ${odds(floor)}.`],
    ];
    element('promise-list').replaceChildren(
        ...entries.flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]));
}
