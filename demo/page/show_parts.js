// SPDX-License-Identifier: Apache-2.0
// What all cards are made of: elements, pictures, numbers as text. Keeps nothing but the addresses of the pictures on
// show.

export const element = (id) => document.getElementById(id);

/** The same words again are no news: nobody should hear them twice. */
export const say = (id, text) => {
    const place = element(id);
    if (place.textContent !== text)
        place.textContent = text;
};

export function make(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

/** Pictures come inside the answer: fetching them would tell which were looked at. */
const shownPictures = { names: [], answer: [], result: [] };

export function pictureOf(place, payload, alt) {
    const address = URL.createObjectURL(new Blob([payload], { type: 'image/png' }));
    shownPictures[place].push(address);
    return make('img', { src: address, alt, width: 28, height: 28 });
}

export function release(place) {
    shownPictures[place].forEach((address) => URL.revokeObjectURL(address));
    shownPictures[place] = [];
}

export const count = (number) => number.toLocaleString('en');
/** One figure after the point where none would say 0 or 100. */
export const percent = (share) => `${(100 * share).toFixed(share < 0.0995 || (share >= 0.995 && share < 1) ? 1 : 0)} %`;

export function bytesText(bytes) {
    if (bytes < 1000)
        return `${bytes} bytes`;
    return bytes < 1e6 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
}

/** e^ε, in three figures when it is small. */
export function factorText(epsilon) {
    const factor = Math.exp(epsilon);
    return factor < 100 ? String(Number(factor.toPrecision(3))) : count(Math.round(factor));
}

/** A role=meter with its bar, 0 to 1, and the words beside it. */
export function fill(meter, words, share, text) {
    const place = element(meter);
    Object.assign(place, { ariaValueMin: 0, ariaValueMax: 1, ariaValueNow: share, ariaValueText: text });
    place.firstElementChild.style.width = `${100 * share}%`;
    say(words, text);
}
