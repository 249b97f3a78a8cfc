// SPDX-License-Identifier: Apache-2.0
// The map of the gallery, every picture shaded by what the server believes. In: public places of pictures, and the message
// as the server has it. The one thing here that the server lacks is the ring: where the picture that is sought would be.
import * as belief from './belief.js';
import { count, element, say } from './show_parts.js';

const FULL = 32; // times as likely as before: glows in full
const MARGIN = 16;
const LINE = 14; // height of a name
const LETTER = 7; // about as wide as a letter of a name is
const HINTS = {
    response: 'The server knows the chances. It weighs each picture by how well the message fits it: one group of every ' +
        'class fits, and all that it can tell is in these colours.',
    gaussian: 'The server knows the noise. It weighs each picture by how well the blurred points fit it.',
    words: 'The server knows the chances. The pictures of the group that was named fit the message; which of them is ' +
        'meant, or whether the group was drawn by lot, it cannot tell.',
    wordsCrowd: 'Shown is the most that anybody could tell: a server that knows what all the others asked, and takes it ' +
        'out. The search finds all the same.',
    crowd: 'Shown is the most that anybody could tell: a server that knows what all the others asked, and takes it out.',
};

let map = null; // { places, labels, pictures, words }
let told = null; // the last message: { way, posterior(ε) or fixed }
let ring = null; // item that is nearest to what is sought
let shown = null; // its posterior

/** Of one item, 0 to 1: nothing learnt, up to FULL times as likely. */
const shadeOf = (probability, items) => Math.min(1, Math.max(0, Math.log(probability * items) / Math.log(FULL)));

/** The belief that is shown; null: none. For tests. */
export const current = () => shown;

// ---- drawing -----------------------------------------------------------------------------------------------------

/** Of all places: { left, bottom, wide, high }. */
function extent() {
    const [[left, right], [bottom, top]] = [0, 1].map((axis) => map.places.filter((_, at) => at % 2 === axis).reduce(
        ([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]));
    return { left, bottom, wide: right - left, high: top - bottom };
}

function frame(width, height) {
    const { left, bottom, wide, high } = extent();
    const scale = Math.min((width - 2 * MARGIN) / wide, (height - 2 * MARGIN) / high);
    return (item) => [width / 2 + scale * (map.places[2 * item] - left - wide / 2),
        height / 2 - scale * (map.places[2 * item + 1] - bottom - high / 2)];
}

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function dot(context, [x, y], radius) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
}

/** Grey dots first, then the glowing ones, the likeliest last. */
function drawDots(context, place, shades) {
    const radius = Math.min(3, Math.max(1.6, 50 / Math.sqrt(shades.length)));
    const order = [...shades.keys()].sort((a, b) => shades[a] - shades[b]);
    const [grey, glow] = [colourOf('faint'), colourOf('glow')];
    for (const item of order) {
        context.fillStyle = grey;
        context.globalAlpha = 1 - shades[item];
        dot(context, place(item), radius);
        context.fillStyle = glow;
        context.globalAlpha = shades[item] * 0.22;
        dot(context, place(item), radius + 5 * shades[item]);
        context.globalAlpha = shades[item];
        dot(context, place(item), radius + 1.2 * shades[item]);
    }
    context.globalAlpha = 1;
}

function median(values) {
    return values.sort((a, b) => a - b)[values.length >> 1];
}

/** In the middle of their pictures, or a little below where another name is. */
function drawNames(context, place, names) {
    const taken = [];
    context.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
    context.textAlign = 'center';
    context.lineWidth = 3;
    context.strokeStyle = colourOf('card');
    context.fillStyle = colourOf('soft');
    for (const label of new Set(map.labels)) {
        const places = [...map.labels.keys()].filter((item) => map.labels[item] === label).map(place);
        const name = names[label];
        let [x, y] = [0, 1].map((axis) => median(places.map((point) => point[axis])));
        while (taken.some((other) => Math.abs(other.y - y) < LINE &&
            Math.abs(other.x - x) < LETTER / 2 * (other.length + name.length)))
            y += LINE / 2;
        taken.push({ x, y, length: name.length });
        context.strokeText(name, x, y);
        context.fillText(name, x, y);
    }
}

function drawRing(context, place) {
    context.strokeStyle = colourOf('device');
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(...place(ring), 9, 0, 2 * Math.PI);
    context.stroke();
}

function draw(names) {
    const canvas = element('belief-map');
    const { clientWidth: width, clientHeight: height } = canvas;
    if (width === 0)
        return;
    [canvas.width, canvas.height] = [width, height].map((side) => Math.round(side * devicePixelRatio));
    const context = canvas.getContext('2d');
    const items = map.labels.length;
    const place = frame(width, height);
    context.scale(devicePixelRatio, devicePixelRatio);
    drawDots(context, place, Array.from({ length: items }, (_, item) => (shown ? shadeOf(shown[item], items) : 0)));
    drawNames(context, place, names);
    if (ring !== null)
        drawRing(context, place);
}

// ---- words -------------------------------------------------------------------------------------------------------

const timesText = (factor) => (factor < 10 ? factor.toFixed(2) : count(Math.round(factor)));

function tellBelief() {
    const items = map.labels.length;
    if (shown === null) {
        say('belief-text', `Before a message: each of these ${count(items)} pictures is as likely as any other.`);
        return;
    }
    const { largest, entropy } = belief.summarise(shown);
    const glowing = shown.filter((probability) => probability * items > 2).length;
    say('belief-text', glowing === 0
        ? `Grey: the server has learnt next to nothing. Its likeliest picture is ${timesText(largest * items)} times as ` +
            'likely as before the message.'
        : `${count(glowing)} of ${count(items)} pictures glow: the server holds each up to ` +
            `${timesText(largest * items)} times as likely as before.`);
    say('belief-figures', `Likeliest picture: 1 in ${count(Math.round(1 / largest))}. Left to know: ${entropy.toFixed(1)} of ` +
        `${Math.log2(items).toFixed(1)} bits.`);
    element('belief-map').setAttribute('aria-label',
        `Map of ${count(items)} pictures. ${element('belief-text').textContent}`);
}

// ---- in use ------------------------------------------------------------------------------------------------------

export function setUp(device, loaded) {
    map = loaded;
    const { wide, high } = extent();
    element('belief-map').style.aspectRatio = Math.min(1.5, Math.max(1, wide / high));
    new ResizeObserver(() => draw(device.names)).observe(element('belief-map'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(device.names));
}

function show(device, posterior) {
    shown = posterior;
    tellBelief();
    draw(device.names);
}

const wayOf = (words, mechanism) => (words === null ? mechanism : mechanism === 'crowd' ? 'wordsCrowd' : 'words');

/** What is chosen now, before its message is made: the last message, as if it had been made with this ε. A Gaussian
 * message has another length of step then, so it stays as it was. Of another way to ask nothing is known yet. */
export function choice(device, { words, mechanism, epsilon }, nearest) {
    const way = wayOf(words, mechanism);
    ring = words === null ? nearest : null;
    say('belief-hint', HINTS[way]);
    if (told?.way !== way)
        told = null;
    show(device, told === null ? null : told.believe(epsilon));
}

/** Response: the groups that were named. */
export function named(device, { symbols, pack }, { words, epsilon }) {
    const items = words === null ? map.pictures : map.words;
    keep(device, words === null ? 'response' : 'words', epsilon,
        (value) => belief.response(items, symbols, pack.cells, value));
}

/** Gaussian: SPEC 2 has the step at byte 25, and the values at the end. */
export function blurred(device, { bytes, pack: { slots, dimensions }, receipt }, { epsilon }) {
    const step = new DataView(bytes.buffer, bytes.byteOffset).getUint32(25);
    const values = [...new Int8Array(bytes.slice(bytes.length - slots * dimensions).buffer)];
    const posterior = belief.gaussian(map.pictures, values, belief.calibration(receipt, step, slots, dimensions));
    keep(device, 'gaussian', epsilon, () => posterior);
}

/** In a crowd: `seen` counts all messages, `asked` what the others really asked; `clients` made fakes. */
export function mixed(device, { seen, asked, clients }, choice) {
    if (asked === null)
        return;
    const items = choice.words === null ? map.pictures : map.words;
    const { cells } = device.packOf(choice);
    const left = seen.counts.map((number, symbol) => number - asked[symbol]);
    keep(device, wayOf(choice.words, 'crowd'), choice.epsilon,
        (value) => belief.crowd(items, cells, left, { ...device.crowd, clients }, value));
}

function keep(device, way, epsilon, believe) {
    told = { way, believe };
    show(device, believe(epsilon));
}
