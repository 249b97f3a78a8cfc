// SPDX-License-Identifier: Apache-2.0
// Puts what happened into the cards. In: what the device made, what the server answered.
import * as crowd from './show_crowd.js';
import {
    bytesText, count, element, factorText, fill, make, percent, pictureOf, release, say,
} from './show_parts.js';

const HEX_PER_LINE = 16;
const FEW = 24; // pictures in the strip
const HINTS = {
    response: 'Names one group of pictures for each class: the right one with a known chance, else another by lot.',
    gaussian: 'Sends one point for each class, blurred by noise. For work on maps; for search take Response.',
    wordsCrowd: 'Names one of a few groups, among the messages of many people and fakes. A relay mixes them all.',
    words: 'Names one of a few groups of pictures: the one that fits, with a known chance, else another by lot.',
    crowd: 'Names one group of one class, among the messages of many people and fakes. A relay mixes them all.',
};
const BADGES = {
    alone: { received: 'all the server ever sees', answer: 'an answer for every class' },
    crowd: { received: 'knows what, not who', answer: 'the answer to your own message' },
};

// ---- once --------------------------------------------------------------------------------------------------------

export function setUp(device) {
    say('gallery', `The gallery: ${device.gallery}.`);
    say('pack', `Pack ${device.pack.id}, ${bytesText(device.pack.size)}.`);
    element('epsilon').value = device.epsilon;
    element('strip').style.setProperty('--columns', device.queries.length > FEW ? 12 : 8);
    element('strip').append(...device.queries.map(({ label, picture }, number) => make('label', {},
        make('input', { type: 'radio', name: 'query', value: number, checked: number === device.start }),
        make('img', { src: picture, alt: `${device.names[label]}, picture ${number + 1}`, width: 40, height: 40 }))));
    document.querySelector('[value="crowd"]').closest('label').hidden = device.crowd === null;
    budget(device, null);
}

// ---- 1: on this device ---------------------------------------------------------------------------------------------

export function choice(device, { number, words, mechanism, epsilon }) {
    const { label, picture } = device.queries[number];
    Object.assign(element('query-picture'), { src: picture, alt: `The picture you look for: ${device.names[label]}` });
    say('query-class', device.names[label]);
    const inCrowd = mechanism === 'crowd';
    say('epsilon-name', inCrowd ? 'The floor' : 'Privacy loss');
    say('epsilon-letter', inCrowd ? 'ε₀' : 'ε');
    say('epsilon-text', epsilon);
    say('epsilon-odds', inCrowd ? 'What holds even if all others work together. In the crowd far less is shown.'
        : `${words === null ? 'No picture makes' : 'No words make'} what the server sees more than ` +
        `${factorText(epsilon)} times as likely as ${words === null ? 'another picture does' : 'other words do'}` +
        `${mechanism === 'gaussian' ? ', plus a chance of δ = 10⁻⁵' : ''}.`);
    say('mechanism-hint', HINTS[words === null ? mechanism : inCrowd ? 'wordsCrowd' : 'words']);
    arrange(inCrowd);
    if (inCrowd)
        crowd.promises(device.promise(device.packOf({ words }), epsilon));
}

/** The cards that this way has. */
function arrange(inCrowd) {
    const badges = BADGES[inCrowd ? 'crowd' : 'alone'];
    document.body.dataset.way = inCrowd ? 'crowd' : 'alone';
    element('card-relay').hidden = !inCrowd;
    element('promises').hidden = !inCrowd;
    element('hex').hidden = inCrowd;
    say('received-badge', badges.received);
    say('answer-badge', badges.answer);
}

export function budget(device, made) {
    for (const [name, { share, text }] of Object.entries(device.budget()))
        fill(`meter-${name}`, `spent-${name}`, share, text);
    say('paid', made === null ? 'Nothing is spent yet.' : paidText(made));
    element('paid').dataset.fresh = made?.fresh ?? '';
}

function paidText({ fresh, messages, receipt: { epsilon } }) {
    if (messages)
        return fresh ? `Paid ε₀ ${epsilon} of the floor, and one message of the crowd.`
            : 'The same group again: paid one message of the crowd, nothing of the floor.';
    return fresh ? `Paid ε ${epsilon} for a new message.` : 'Same bytes again: free.';
}

// ---- 2: what the server received -----------------------------------------------------------------------------------

/** Bytes from `start` on; the spaces fall where those of the whole message do. */
export function hexText(bytes, start, end) {
    const space = (at) => (at % HEX_PER_LINE === HEX_PER_LINE - 1 ? '\n' : ' ');
    const digits = (byte) => byte.toString(16).padStart(2, '0');
    return Array.from(bytes.subarray(start, end), (byte, i) => digits(byte) + space(start + i)).join('');
}

/** The last bytes of a release, which depend on the query; those before say which pack, mechanism and step. */
export function bodySize({ slots, cells }, rows) {
    return rows ? rows.length : Math.ceil(slots * Math.ceil(Math.log2(cells)) / 8);
}

const NUMBERS = 2; // of a point that are shown

const pointText = (rows, slot, dimensions) =>
    Array.from(rows.slice(slot * dimensions, slot * dimensions + Math.min(NUMBERS, dimensions)),
        (value) => count(Math.round(value))).join(', ') + (dimensions > NUMBERS ? ', …' : '');

export function received(device, { bytes, rows, receipt: { sigma } }) {
    const { slots } = device.pack;
    const body = bodySize(device.pack, rows);
    const start = bytes.length - body;
    const sizes = `${bytes.length} bytes: ${start} (pale) are the same for everybody, ${body} are the message. It says`;
    element('hex').replaceChildren(hexText(bytes, 0, start), make('b', {}, hexText(bytes, start)));
    if (rows) {
        say('meaning', `${sizes}: one point for each of the ${slots} classes, of ${rows.length / slots} numbers, blurred ` +
            `by noise of σ = ${count(Math.round(sigma))}.`);
        say('received-hint', `One of the ${slots} points stems from your picture, the others from fixed public places; ` +
            'which can be guessed no better than ε and δ allow.');
        element('received').replaceChildren(make('ul', { className: 'points' }, ...device.slots().map(({ slot, name }) =>
            make('li', {}, make('span', {}, name), make('b', {}, pointText(rows, slot, rows.length / slots))))));
    } else {
        say('meaning', `${sizes}: for each of the ${slots} classes, one of its ${device.pack.cells} groups of ` +
            'similar pictures.');
        say('received-hint', `${slots - 1} of these ${slots} were drawn by lot, and even the one that was meant may ` +
            'be. Which is which can be guessed no better than ε allows.');
    }
}

/** Response: what each named group looks like, by its first picture. */
export function names({ symbols }, slots, device) {
    release('names');
    if (!symbols)
        return;
    const classes = device.slots();
    element('received').replaceChildren(make('ul', { className: 'named' }, ...slots.map(({ slot, first }) => {
        const { name } = classes[slot];
        const example = first.length > 0 ? pictureOf('names', first[0].payload, '')
            : make('span', { className: 'nothing' });
        return make('li', {}, example, make('span', {}, name), make('small', {}, `group ${symbols[slot] + 1}`));
    })));
}

// ---- when an answer is there ---------------------------------------------------------------------------------------

export function found(device, made, slots, ranked, { number }, truth) {
    answer(device, slots, ranked, device.queries[number].label);
    result(device, ranked, truth);
    receipt(device, made, ranked);
    figures(device, made, ranked, truth);
}

// ---- 3: what came back ---------------------------------------------------------------------------------------------

export const answerText = ({ carried, gallery, share, bytes }) =>
    `${count(carried)} of ${count(gallery)} pictures (${percent(share)}), ${bytesText(bytes)}. ` +
    'The pictures are inside, so that nothing has to be fetched afterwards.';

function answer(device, slots, { carried, gallery, share, bytes }, own) {
    release('answer');
    say('answer-text', answerText({ carried, gallery, share, bytes }));
    const classes = device.slots();
    const rows = slots.map(({ slot, count: all, first }) => {
        const { name, label } = classes[slot];
        const more = all - first.length;
        const row = make('li', { className: label === own ? 'own' : '' },
            make('b', {}, name),
            make('small', {}, more > 0 ? `+ ${count(more)} more` : all === 0 ? 'empty group' : ''),
            make('span', { className: 'pictures' }, ...first.map(({ payload }) => pictureOf('answer', payload, ''))));
        if (slots.length === 1)
            row.append(make('em', {}, label === own ? 'the group that was drawn, of your class'
                : 'another group was drawn, of a class that does not fit'));
        else if (label === own)
            row.append(make('em', {}, 'the only row your device looks at'));
        return row;
    });
    element('answer').replaceChildren(make('ul', { className: slots.length === 1 ? 'slots only' : 'slots' }, ...rows));
}

// ---- 4: what you see -----------------------------------------------------------------------------------------------

const isIn = (truth, { item }) => truth.some((best) => best.item === Number(item));
const foundOf = (matches, truth) => matches.filter((match) => isIn(truth, match)).length;

function result(device, { matches }, truth) {
    release('result');
    element('result').replaceChildren(...matches.map((match) => {
        const { item, label, score, payload } = match;
        const right = isIn(truth, match);
        const alt = `${device.names[label]}, item ${item}, similarity ${score.toFixed(2)}`;
        return make('li', { className: right ? 'right' : '' }, pictureOf('result', payload, alt),
            make('small', { title: right ? 'one of the true 8 best' : '' }, `${right ? '✓ ' : ''}${score.toFixed(2)}`));
    }));
    const found = foundOf(matches, truth);
    const words = found > 0 ? `${found} of them (✓) are among the true ${truth.length} best of the whole gallery.`
        : `None of the true ${truth.length} best is in what came for your class. That is the price of privacy.`;
    say('result-text', matches.length > 0 ? `The ${matches.length} most similar of your class. ${words}`
        : 'Nothing came for your class: the group that was drawn is empty, or of another class. That is the price of ' +
            'privacy.');
    element('truth').replaceChildren(...truth.map(({ item, picture }) => make('li',
        { className: matches.some((match) => Number(match.item) === item) ? 'right' : '' },
        make('img', { src: `data:image/png;base64,${picture}`, alt: `item ${item}`, width: 28, height: 28 }))));
}

// ---- 5: receipt, and the figures above ------------------------------------------------------------------------------

/** Of a response, one cell in m comes down, whatever the cells that were named hold this time. */
const ceilingOf = (device, { receipt: { mechanism, epsilon } }, { share }) =>
    device.ceiling(epsilon, mechanism === 'response' ? 1 / device.pack.cells : share);

export function receipt(device, made, result) {
    const { mechanism, epsilon, delta, keep, sigma, sensitivity } = made.receipt;
    const isByWords = made.pack.id !== device.pack.id;
    const rows = made.messages ? crowdReceipt(device, made, result) : [
        ['asked with', isByWords ? 'words (modality text)' : 'a picture'],
        ['mechanism', mechanism === 'response' ? 'response (pure ε)' : 'Gaussian (ε, δ)'],
        ['ε', epsilon],
        ['δ', delta === 0 ? '0' : '10⁻⁵'],
        mechanism === 'response' ? ['right group named with chance', keep.toFixed(4)]
            : ['noise σ / sensitivity Δ', (sigma / sensitivity).toFixed(3)],
        ...(isByWords ? [] : [['best any method can do, g(ε, f)', ceilingOf(device, made, result).toFixed(4)]]),
        ['message', `${made.bytes.length} bytes`],
        ['answer', `${count(result.bytes)} bytes`],
        ['private step', made.fresh ? `${made.milliseconds.toFixed(1)} ms` : 'not needed: kept bytes'],
        ['budget spent', device.budget()[mechanism].text],
    ];
    element('receipt').replaceChildren(...rows.map(([name, value]) =>
        make('div', {}, make('dt', {}, name), make('dd', {}, String(value)))));
}

function crowdReceipt(device, { pack, receipt: { epsilon, keep }, messages, fresh, milliseconds, sent }, { bytes }) {
    const promise = device.promise(pack, epsilon);
    const { floor, crowd: share } = device.budget();
    return [
        ['way', 'in a crowd, through a relay'],
        ['floor ε₀', epsilon],
        ['ε in the crowd, δ', `${promise.epsilon.toFixed(2)}, ${crowd.deltaText(promise.delta)}`],
        ['right group drawn with chance', keep.toFixed(4)],
        ['messages', `${messages.length}, of them 1 own`],
        ['each, sealed', `${sent.messageSize} bytes`],
        ['answer, opened', `${count(bytes)} bytes`],
        ['answer, sealed', `${count(sent.answerSize)} bytes`],
        ['private step', `${milliseconds.toFixed(1)} ms${fresh ? '' : ', the group was kept'}`],
        ['floor spent', floor.text],
        ['crowd spent', share.text],
    ];
}

function figures(device, made, result, truth) {
    const { matches, share, bytes } = result;
    const { mechanism, keep } = made.receipt;
    const named = mechanism !== 'gaussian';
    say('figure-up', bytesText(made.sent?.bytes.length ?? made.bytes.length));
    say('figure-down', bytesText(made.sent?.answerSize ?? bytes));
    say('figure-share', percent(share));
    say('figure-chance-name', named ? 'chance of the right group' : 'limit of any method at this ε');
    say('figure-chance', named ? percent(keep) : `≤ ${percent(ceilingOf(device, made, result))}`);
    say('figure-found-name', 'of the true 8 best, found');
    say('figure-found', `${foundOf(matches, truth)} of ${truth.length}`);
}
