// SPDX-License-Identifier: Apache-2.0
// Puts what happened into the cards. In: what the device made, what the server answered. Keeps nothing but the
// addresses of the pictures on show.
import { drawMap } from './show_map.js';

const HEX_PER_LINE = 16;
const FEW = 24; // pictures in the strip
const HINTS = {
    response: 'Names one group of pictures for each class: the right one with a known chance, else another by lot.',
    gaussian: 'Sends one point of a map for each class, blurred by noise. For work on maps; for search take Response.',
};

const element = (id) => document.getElementById(id);
const say = (id, text) => {
    element(id).textContent = text;
};

function make(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

const count = (number) => number.toLocaleString('en');
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

function bytesText(bytes) {
    if (bytes < 1000)
        return `${bytes} bytes`;
    return bytes < 1e6 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
}

/** e^ε, in three figures when it is small. */
function factorText(epsilon) {
    const factor = Math.exp(epsilon);
    return factor < 100 ? String(Number(factor.toPrecision(3))) : count(Math.round(factor));
}

/** Pictures come inside the answer: fetching them would tell which were looked at. */
const shownPictures = { names: [], answer: [], result: [] };

function pictureOf(place, payload, alt) {
    const address = URL.createObjectURL(new Blob([payload], { type: 'image/png' }));
    shownPictures[place].push(address);
    return make('img', { src: address, alt, width: 28, height: 28 });
}

function release(place) {
    shownPictures[place].forEach((address) => URL.revokeObjectURL(address));
    shownPictures[place] = [];
}

// ---- once --------------------------------------------------------------------------------------------------------

let cloud = [];

export function setUp(device, points) {
    cloud = points;
    say('gallery', `The gallery: ${device.gallery}.`);
    say('pack', `Pack ${device.pack.id}, ${bytesText(device.pack.size)}.`);
    element('epsilon').value = device.epsilon;
    element('strip').style.setProperty('--columns', device.queries.length > FEW ? 12 : 8);
    element('strip').append(...device.queries.map(({ label, picture }, number) => make('label', {},
        make('input', { type: 'radio', name: 'query', value: number, checked: number === device.start }),
        make('img', { src: picture, alt: `${device.names[label]}, picture ${number + 1}`, width: 40, height: 40 }))));
    budget(device, null);
}

// ---- 1: on this device ---------------------------------------------------------------------------------------------

export function choice(device, { number, mechanism, epsilon }) {
    const { label, picture } = device.queries[number];
    Object.assign(element('query-picture'), { src: picture, alt: `The picture you look for: ${device.names[label]}` });
    say('query-class', device.names[label]);
    say('epsilon-text', epsilon);
    say('epsilon-odds', `No picture makes any message more than ${factorText(epsilon)} times as likely as another ` +
        `picture does${mechanism === 'gaussian' ? ' (but for a chance of δ = 10⁻⁵)' : ''}.`);
    say('mechanism-hint', HINTS[mechanism]);
}

export function budget(device, made) {
    for (const [mechanism, { share, text }] of Object.entries(device.budget())) {
        const meter = element(`meter-${mechanism}`);
        Object.assign(meter, { ariaValueMin: 0, ariaValueMax: 1, ariaValueNow: share, ariaValueText: text });
        meter.firstElementChild.style.width = `${100 * share}%`;
        say(`spent-${mechanism}`, text);
    }
    if (made === null)
        say('paid', 'Nothing is spent yet.');
    else
        say('paid', made.fresh ? `Paid ε ${made.receipt.epsilon} for a new message.` : 'Same bytes again: free.');
    element('paid').dataset.fresh = made?.fresh ?? '';
}

// ---- 2: what the server received -----------------------------------------------------------------------------------

/** Bytes from `start` on; the spaces fall where those of the whole message do. */
function hexText(bytes, start, end) {
    const space = (at) => (at % HEX_PER_LINE === HEX_PER_LINE - 1 ? '\n' : ' ');
    const digits = (byte) => byte.toString(16).padStart(2, '0');
    return Array.from(bytes.subarray(start, end), (byte, i) => digits(byte) + space(start + i)).join('');
}

/** The last bytes of a release, which depend on the query; those before say which pack, mechanism and step. */
function bodySize({ slots, cells }, rows) {
    return rows ? rows.length : Math.ceil(slots * Math.ceil(Math.log2(cells)) / 8);
}

export function received(device, { bytes, rows, receipt: { sigma } }) {
    const { slots } = device.pack;
    const body = bodySize(device.pack, rows);
    const start = bytes.length - body;
    const sizes = `${bytes.length} bytes: ${start} (pale) are the same for everybody, ${body} are the message. It says`;
    element('hex').replaceChildren(hexText(bytes, 0, start), make('b', {}, hexText(bytes, start)));
    if (rows) {
        say('meaning', `${sizes}: one point on the map for each of the ${slots} classes.`);
        say('received-hint', `Dots: public pictures. Circle: the size of the noise (one σ). One of the ${slots} ` +
            'points stems from your picture, the others from fixed public places; which can be guessed no better ' +
            'than ε and δ allow.');
        element('received').replaceChildren(drawMap(device.slots(), cloud, rows, sigma));
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

// ---- 3: what came back ---------------------------------------------------------------------------------------------

export function answer(device, slots, { carried, gallery, share, bytes }, own) {
    release('answer');
    say('answer-text', `${count(carried)} of ${count(gallery)} pictures (${percent(share)}), ${bytesText(bytes)}. ` +
        'The pictures are inside, so that nothing has to be fetched afterwards.');
    const rows = device.slots().map(({ slot, name, label }) => {
        const { count: all, first } = slots[slot];
        const more = all - first.length;
        const row = make('li', { className: label === own ? 'own' : '' },
            make('b', {}, name),
            make('small', {}, more > 0 ? `+ ${count(more)} more` : all === 0 ? 'empty group' : ''),
            make('span', { className: 'pictures' }, ...first.map(({ payload }) => pictureOf('answer', payload, ''))));
        if (label === own)
            row.append(make('em', {}, 'the only row your device looks at'));
        return row;
    });
    element('answer').replaceChildren(make('ul', { className: 'slots' }, ...rows));
}

// ---- 4: what you see -----------------------------------------------------------------------------------------------

const isIn = (truth, { item }) => truth.some((best) => best.item === Number(item));
const foundOf = (matches, truth) => matches.filter((match) => isIn(truth, match)).length;

export function result(device, { matches }, truth) {
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
        : 'Nothing came for your class: its group was empty. That is the price of privacy.');
    element('truth').replaceChildren(...truth.map(({ item, picture }) => make('li',
        { className: matches.some((match) => Number(match.item) === item) ? 'right' : '' },
        make('img', { src: `data:image/png;base64,${picture}`, alt: `item ${item}`, width: 28, height: 28 }))));
}

// ---- 5: receipt, and the figures above ------------------------------------------------------------------------------

/** Of a response, one cell in m comes down, whatever the cells that were named hold this time. */
const ceilingOf = (device, { mechanism, epsilon }, { share }) =>
    device.ceiling(epsilon, mechanism === 'response' ? 1 / device.pack.cells : share);

export function receipt(device, made, result) {
    const { mechanism, epsilon, delta, keep, sigma, sensitivity } = made.receipt;
    const rows = [
        ['mechanism', mechanism === 'response' ? 'response (pure ε)' : 'Gaussian (ε, δ)'],
        ['ε', epsilon],
        ['δ', delta === 0 ? '0' : '10⁻⁵'],
        mechanism === 'response' ? ['right group named with chance', keep.toFixed(4)]
            : ['noise σ / sensitivity Δ', (sigma / sensitivity).toFixed(3)],
        ['best any method can do, g(ε, f)', ceilingOf(device, made.receipt, result).toFixed(4)],
        ['message', `${made.bytes.length} bytes`],
        ['answer', `${count(result.bytes)} bytes`],
        ['private step', made.fresh ? `${made.milliseconds.toFixed(1)} ms` : 'not needed: kept bytes'],
        ['budget spent', device.budget()[mechanism].text],
    ];
    element('receipt').replaceChildren(...rows.map(([name, value]) =>
        make('div', {}, make('dt', {}, name), make('dd', {}, String(value)))));
}

export function figures(device, made, result, truth) {
    const { matches, share, bytes } = result;
    const { mechanism, keep } = made.receipt;
    say('figure-up', bytesText(made.bytes.length));
    say('figure-down', bytesText(bytes));
    say('figure-share', percent(share));
    say('figure-chance-name', mechanism === 'response' ? 'chance of the right group' : 'limit of any method at this ε');
    say('figure-chance', mechanism === 'response' ? percent(keep)
        : `≤ ${percent(ceilingOf(device, made.receipt, result))}`);
    say('figure-found', `${foundOf(matches, truth)} of ${truth.length}`);
}
