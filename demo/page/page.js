// SPDX-License-Identifier: Apache-2.0
// The page's conductor: takes choices, has the device make a release, posts it, shows each stage.
//
//     choice ─► device.release ─► POST /v1/query ─► device.rank ─► cards
//
// Only `post` sends anything after the page is loaded.
import { readSlots } from './answer_reader.js';
import { Device } from './device.js';
import * as show from './show.js';

const PAUSE = 400; // milliseconds without a change before a search is paid for
const TOP = 8;
const SHOWN_PER_SLOT = 12;
const CLOUD = 1500;

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

// ---- search ------------------------------------------------------------------------------------------------------

async function makeRelease(device, number, choice) {
    try {
        return await device.release(number, choice);
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
    const release = await makeRelease(device, choice.number, choice);
    show.received(device, release);
    show.budget(device, release);
    const answer = await post(release.bytes);
    const result = await device.rank(answer, choice.number, choice, TOP).catch(() => {
        throw new Trouble('What came back is no answer to this message. Send the same bytes again.', { resend: true });
    });
    const slots = readSlots(answer, SHOWN_PER_SLOT);
    const own = device.queries[choice.number].label;
    show.names(release, slots, device);
    show.answer(device, slots, result, own);
    show.result(device, result, truth[choice.number]);
    show.receipt(device, release, result);
    show.figures(device, release, result, truth[choice.number]);
}

function readChoice() {
    return {
        number: Number(document.querySelector('input[name="query"]:checked').value),
        mechanism: document.querySelector('input[name="mechanism"]:checked').value,
        epsilon: Number(element('epsilon').value),
    };
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
            const trouble = await search(device, truth, choice).then(() => null, (error) => error);
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

function listen(device, later) {
    const changed = () => {
        show.choice(device, readChoice());
        later(PAUSE);
    };
    element('epsilon').addEventListener('input', changed);
    for (const input of document.querySelectorAll('input[type="radio"]'))
        input.addEventListener('change', changed);
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
    const [device, { queries: truth }] = await Promise.all([
        Device.open(),
        fetch('truth.json').then((response) => response.json()),
    ]);
    show.setUp(device, device.publicPoints(CLOUD));
    show.choice(device, readChoice());
    const later = searcher(device, truth);
    listen(device, later);
    later(0);
}

start().catch((error) => {
    tell(error instanceof Trouble ? error
        : new Trouble(`The page could not be set up (${error.message}). Start scripts/demo.sh again and reload.`));
    document.body.dataset.state = 'trouble';
});
