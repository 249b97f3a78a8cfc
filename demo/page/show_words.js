// SPDX-License-Identifier: Apache-2.0
// The cards of a search by words. Its pack has one slot: the message names one group of all, and no class.
import { answerText, bodySize, hexText, receipt } from './show.js';
import { bytesText, count, element, make, percent, pictureOf, release, say } from './show_parts.js';

export function setUp(device) {
    element('ask-with').hidden = device.words === null;
    if (device.words === null)
        return;
    const [first] = device.examples;
    element('typed').value = first;
    element('words').dataset.sought = first;
    element('word-list').append(...device.words.list.map((word) => make('option', { value: word })));
    element('examples').append('Try: ', ...device.examples.map((example) => {
        const button = make('button', { type: 'submit' }, example);
        button.addEventListener('click', () => { element('typed').value = example; });
        return button;
    }));
}

// ---- on this device ------------------------------------------------------------------------------------------------

/** `sought`: what was asked for last; null when a picture is. */
export function choice(device, sought) {
    const byWords = sought !== null;
    document.body.dataset.modality = byWords ? 'text' : 'image';
    if (!byWords)
        return;
    const { known, unknown } = device.words.read(sought);
    say('query-words', known.length > 0 ? known.join(' ') : '…');
    say('words-hint', (unknown.length > 0 ? `Not in the demo’s word list, so left out: ${unknown.join(', ')}. ` : '') +
        'The words become numbers here, by a small table; nobody sees them.');
}

// ---- what the server received --------------------------------------------------------------------------------------

export function received(device, { bytes, pack, symbols: [cell] }) {
    const body = bodySize(pack, null);
    const start = bytes.length - body;
    element('hex').replaceChildren(hexText(bytes, 0, start), make('b', {}, hexText(bytes, start)));
    say('received-badge', 'all the server ever sees');
    say('meaning', `${bytes.length} bytes: ${start} (pale) are the same for everybody who asks by words, ${body} ` +
        `${body === 1 ? 'is' : 'are'} the message. It says: group ${cell + 1} of ${pack.cells}.`);
    say('received-hint', 'No word is in it. The group is the one that fits the words best, or another one by lot. ' +
        'Which can be guessed no better than ε allows.');
}

/** All groups there are; of the one that was named its first picture. */
function groups({ pack, symbols: [cell] }, [{ first }]) {
    release('names');
    element('received').replaceChildren(make('ul', { className: 'named' }, ...Array.from({ length: pack.cells },
        (_, group) => make('li', {},
            group === cell && first.length > 0 ? pictureOf('names', first[0].payload, '')
                : make('span', { className: 'nothing' }),
            make('small', {}, `group ${group + 1}`)))));
}

// ---- when an answer is there ---------------------------------------------------------------------------------------

/** ['7 × boot', '1 × sneaker'], the most frequent first. */
function kindsOf(device, matches) {
    const counts = new Map();
    for (const { label } of matches)
        counts.set(label, (counts.get(label) ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a).map(([label, times]) => `${times} × ${device.names[label]}`);
}

export function found(device, made, slots, ranked) {
    const { matches } = ranked;
    const kinds = kindsOf(device, matches);
    if (!made.messages)
        groups(made, slots);
    answer(made, slots, ranked);
    release('result');
    element('result').replaceChildren(...matches.map(({ item, label, score, payload }) => make('li', {},
        pictureOf('result', payload, `${device.names[label]}, item ${item}, similarity ${score.toFixed(2)}`),
        make('small', {}, device.names[label]))));
    say('result-text', matches.length === 0 ? 'Nothing came: the group that was drawn is empty.'
        : `The ${matches.length} pictures of the answer that fit your words best: ${kinds.join(', ')}. If you meant ` +
            'something else, another group was drawn, by lot. That is the price of privacy.');
    receipt(device, made, ranked);
    figures(made, ranked, kinds);
}

function answer(made, [{ count: all, first }], ranked) {
    const { pack, symbols: [cell] } = made;
    release('answer');
    say('answer-badge', made.messages ? 'the answer to your own message' : 'one group, the same for whoever names it');
    say('answer-text', answerText(ranked));
    const more = all - first.length;
    element('answer').replaceChildren(make('ul', { className: 'slots only' }, make('li', {},
        make('b', {}, `group ${cell + 1} of ${pack.cells}`),
        make('small', {}, more > 0 ? `+ ${count(more)} more` : ''),
        make('span', { className: 'pictures' }, ...first.map(({ payload }) => pictureOf('answer', payload, ''))))));
}

function figures({ bytes: alone, sent, receipt: { keep } }, { share, bytes }, kinds) {
    say('figure-up', bytesText((sent?.bytes ?? alone).length));
    say('figure-down', bytesText(sent?.answerSize ?? bytes));
    say('figure-share', percent(share));
    say('figure-chance-name', 'chance of the right group');
    say('figure-chance', percent(keep));
    say('figure-found-name', 'of the 8 shown');
    say('figure-found', kinds[0] ?? 'nothing');
}
