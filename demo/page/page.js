// SPDX-License-Identifier: Apache-2.0
// The page's conductor: takes choices, has the device make a release, posts it, shows each stage.
//
//     choice ─► device.release ─► POST /v1/query ──────────────────► device.rank ─► cards
//     choice ─► device.bundle ─► the relay, with many neighbours ─┘
//
// Only `post`, the relay's client and `observe` send anything after the page is loaded. The last one tells nothing
// about the choice: it calls the demonstration's neighbours together and asks what was counted.
import { readSlots } from './answer_reader.js';
import { Device } from './device.js';
import * as show from './show.js';
import * as showBelief from './show_belief.js';
import * as showCrowd from './show_crowd.js';
import * as showWords from './show_words.js';

const PAUSE = 400; // milliseconds without a change before a search is paid for
const TOP = 8;
const SHOWN_PER_SLOT = 12;
const SHOWN_IN_CROWD = 80; // where one slot is all that comes
const CROWD_SECONDS = 120; // that an epoch may take
const LOOK = 250; // milliseconds between two looks at the epoch

const element = (id) => document.getElementById(id);

/** A failure that the person can do something about. */
class Trouble extends Error {
    constructor(message, { resend = false } = {}) {
        super(message);
        this.resend = resend;
    }
}

// ---- network -----------------------------------------------------------------------------------------------------

const SERVER_GONE = 'The server does not answer. Start it again with scripts/demo.sh. Your message is kept: ' +
    'sending the same bytes again costs nothing.';

const CROWD_GONE = 'The relay or its crowd does not answer. Start them again with scripts/demo.sh. The drawn group ' +
    'is kept: sending it again costs nothing of the floor.';

async function refusal(response) {
    const { error, message } = await response.json().catch(() => ({}));
    if (error === 'pack')
        return new Trouble('The server has another pack now and cannot read this message. Reload the page to get it.');
    return new Trouble(`The server refuses the message (${response.status}): ${message ?? response.statusText}`,
        { resend: true });
}

/** The answer's bytes. The body is the release and nothing else. */
async function post(release) {
    let response;
    try {
        response = await fetch('v1/query', {
            method: 'POST',
            headers: { 'Content-Type': 'application/cbor', Accept: 'application/cbor-seq' },
            body: release,
        });
        if (response.ok)
            return new Uint8Array(await response.arrayBuffer());
    } catch {
        throw new Trouble(SERVER_GONE, { resend: true });
    }
    throw await refusal(response);
}

/** Of the demonstration's observer: 'gather' (the neighbours come), 'crowd' (who is there), 'crowd?seen' (what the
 * server saw, too). */
async function observe(device, what, method) {
    try {
        const response = await fetch(`${device.crowd.observer}/${what}`, { method });
        if (response.ok)
            return await response.json();
    } catch { /* told below */ }
    throw new Trouble(CROWD_GONE, { resend: true });
}

// ---- search ------------------------------------------------------------------------------------------------------

async function makePrivate(make) {
    try {
        return await make();
    } catch (error) {
        if (error.name === 'PML_ERROR_SPENT')
            throw new Trouble('The budget is spent, so this device refuses to send anything new. What was sent ' +
                'before can still be asked again, or choose a smaller ε. A demonstration may reset its budget.');
        if (error.name === 'PML_ERROR_PERSIST')
            throw new Trouble('The budget could not be stored, so nothing was sent. Allow this page to store data, ' +
                'and reload.');
        throw error;
    }
}

async function search(device, truth, choice) {
    const release = await makePrivate(() => device.release(choice));
    show.received(device, release);
    (release.symbols ? showBelief.named : showBelief.blurred)(device, release, choice);
    show.budget(device, release);
    const answer = await post(release.bytes);
    const result = await rank(device, answer, choice);
    const slots = readSlots(answer, SHOWN_PER_SLOT);
    show.names(release, slots, device);
    show.found(device, release, slots, result, choice, truth[choice.number]);
}

/** Nothing is made, paid or sent when the table knows none of them. */
function checkWords(device, { words }) {
    if (words !== null && device.words.read(words).features === null)
        throw new Trouble('None of these words is in the demo’s word list, so nothing was sent. Try the name of a ' +
            'piece of clothing.');
}

async function searchWords(device, choice) {
    checkWords(device, choice);
    const release = await makePrivate(() => device.release(choice));
    showWords.received(device, release);
    showBelief.named(device, release, choice);
    show.budget(device, release);
    const answer = await post(release.bytes);
    const result = await rank(device, answer, choice);
    showWords.found(device, release, readSlots(answer, SHOWN_IN_CROWD), result);
}

async function rank(device, answer, choice) {
    try {
        return await device.rank(answer, choice, TOP);
    } catch {
        throw new Trouble('What came back is no answer to this message. Send the same bytes again.', { resend: true });
    }
}

/** Shows how the epoch fills until `done` is settled. */
async function watch(device, done) {
    let over = false;
    done.catch(() => {}).finally(() => { over = true; });
    while (!over) {
        const { bundles, needed } = await observe(device, 'crowd', 'GET');
        showCrowd.filling({ bundles, needed }, bundles < needed ? 'open' : 'fetching');
        await Promise.race([done.catch(() => {}), new Promise((resume) => setTimeout(resume, LOOK))]);
    }
}

/** Hands the bundle over, calls the neighbours, and opens the answer to the own message. */
async function askCrowd(device, bundle) {
    try {
        const sent = await device.relay.send(bundle.pack.id, bundle.messages);
        showCrowd.handed(sent);
        await observe(device, bundle.pack.id === device.pack.id ? 'gather' : 'gather?words', 'POST');
        const answers = sent.answers({ seconds: CROWD_SECONDS });
        await watch(device, answers);
        return { sent, answer: (await answers)[0].bytes };
    } catch (error) {
        throw error instanceof Trouble ? error : new Trouble(`${CROWD_GONE} (${error.message})`, { resend: true });
    }
}

async function searchInCrowd(device, truth, choice) {
    checkWords(device, choice);
    const bundle = await makePrivate(() => device.bundle(choice));
    show.budget(device, bundle);
    showCrowd.waiting();
    const { sent, answer } = await askCrowd(device, bundle);
    const result = await rank(device, answer, choice);
    const slots = readSlots(answer, SHOWN_IN_CROWD);
    if (choice.words === null)
        show.found(device, { ...bundle, sent }, slots, result, choice, truth[choice.number]);
    else
        showWords.found(device, { ...bundle, sent }, slots, result);
    const { bundles, needed, seen, asked } = await observe(device, 'crowd?seen', 'GET');
    showCrowd.filling({ bundles, needed }, 'done');
    showCrowd.mixed(device, bundle.pack, seen, bundles);
    showBelief.mixed(device, { seen, asked, clients: bundles }, choice);
}

/** Words are asked by response, alone or in a crowd: their pack has no anchors. */
function readChoice() {
    const byWords = document.querySelector('input[name="modality"]:checked').value === 'text';
    const mechanism = document.querySelector('input[name="mechanism"]:checked').value;
    return {
        number: Number(document.querySelector('input[name="query"]:checked').value),
        words: byWords ? element('words').dataset.sought : null,
        mechanism: byWords && mechanism === 'gaussian' ? 'response' : mechanism,
        epsilon: Number(element('epsilon').value),
    };
}

function showChoice(device, nearest) {
    const choice = readChoice();
    showWords.choice(device, choice.words);
    show.choice(device, choice);
    showBelief.choice(device, choice, nearest[choice.number]);
}

function wayOf({ words, mechanism }) {
    if (mechanism === 'crowd')
        return searchInCrowd;
    return words === null ? search : (device, truth, choice) => searchWords(device, choice);
}

function tell(trouble) {
    element('alert').hidden = trouble === null;
    element('alert-text').textContent = trouble?.message ?? '';
    element('again').hidden = !trouble?.resend;
}

/** One search at a time; of the choices made meanwhile the last one is searched next. */
function searcher(device, truth) {
    let timer = 0;
    let running = false;
    let wanted = null;

    async function work() {
        if (running)
            return;
        running = true;
        while (wanted !== null) {
            const choice = wanted;
            wanted = null;
            const trouble = await wayOf(choice)(device, truth, choice).then(() => null, (error) => error);
            tell(trouble);
            if (timer === 0 && wanted === null)
                document.body.dataset.state = trouble ? 'trouble' : 'done';
        }
        running = false;
    }

    return (pause) => {
        document.body.dataset.state = 'searching';
        clearTimeout(timer);
        timer = setTimeout(() => {
            timer = 0;
            wanted = readChoice();
            work();
        }, pause);
    };
}

// ---- start -------------------------------------------------------------------------------------------------------

function listen(device, nearest, later) {
    const changed = () => {
        showChoice(device, nearest);
        later(PAUSE);
    };
    element('epsilon').addEventListener('input', changed);
    for (const input of document.querySelectorAll('input[type="radio"]'))
        input.addEventListener('change', changed);
    // What is being typed is no query yet: every one is paid for.
    element('words').addEventListener('submit', (event) => {
        event.preventDefault();
        element('words').dataset.sought = element('typed').value;
        changed();
    });
    element('again').addEventListener('click', () => later(0));
    element('reset').addEventListener('click', async () => {
        await device.reset();
        show.budget(device, null);
        if (document.body.dataset.state === 'trouble')
            later(0);
    });
}

async function start() {
    if (typeof WebAssembly !== 'object')
        throw new Trouble('This browser has no WebAssembly, so the private step cannot run here. Use a browser of ' +
            '2021 or later.');
    const [device, { queries: truth, nearest }, map] = await Promise.all([
        Device.open(),
        ...['truth.json', 'map.json'].map((name) => fetch(name).then((response) => response.json())),
    ]);
    show.setUp(device);
    showBelief.setUp(device, map);
    showWords.setUp(device);
    showChoice(device, nearest);
    const later = searcher(device, truth);
    listen(device, nearest, later);
    later(0);
}

start().catch((error) => {
    tell(error instanceof Trouble ? error
        : new Trouble(`The page could not be set up (${error.message}). Start scripts/demo.sh again and reload.`));
    document.body.dataset.state = 'trouble';
});
