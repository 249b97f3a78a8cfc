// SPDX-License-Identifier: Apache-2.0
// Policies of a crowd and their accounting (privatemail_crowd.h), in scratch memory that is given back at once.
import { toNumber } from './arguments.js';
import { STATUS } from './machine.js';

/** Whole numbers that the structures of C can hold; the core knows the ranges. */
function toCount(machine, value, most) {
    if (!Number.isInteger(value) || value < 0 || value > most)
        throw machine.error(STATUS.CROWD);
    return value;
}

const toWord = (machine, value) => toCount(machine, value, 2 ** 32 - 1);
const toClients = (machine, value) => toCount(machine, value, Number.MAX_SAFE_INTEGER);

export function fillPolicy(machine, place, policy) {
    const { clients = 0, clusters = 0, copies, own = 1, relayClusters = 0, cover = false, delta0 = 0, mu = 0 } =
        policy ?? {};
    machine.fill('crowd', place, {
        clients: toClients(machine, clients),
        clusters: toNumber(clusters),
        copies: toWord(machine, copies),
        own: toWord(machine, own),
        relay_clusters: toNumber(relayClusters),
        cover: cover === true,
        delta0: toNumber(delta0),
        mu: toNumber(mu),
    });
}

/** Everything that `work` takes is given back. */
function withScratch(machine, work) {
    const start = machine.take(0);
    try {
        return work();
    } finally {
        machine.takeBack(start);
    }
}

/** `name`: pml_crowd_delta, _epsilon or _mu, whose last number is given and whose result is one number. */
export function accountCrowd(machine, name, policy, { cells, queries = 1, floor }, given) {
    return withScratch(machine, () => {
        const [crowd, use] = [machine.take(machine.sizeOf('crowd')), machine.take(machine.sizeOf('crowd_use'))];
        fillPolicy(machine, crowd, policy);
        machine.fill('crowd_use', use, {
            cells: toWord(machine, cells), queries: toWord(machine, queries), floor: toNumber(floor),
        });
        const count = machine.core.pml_crowd_scratch(crowd, use);
        const scratch = machine.take(8 * count);
        const used = name === 'pml_crowd_mu' ? cells : use;
        machine.call(name, crowd, used, toNumber(given), scratch, count, machine.small);
        return machine.view().getFloat64(machine.small, true);
    });
}

export function planCrowd(machine, goal) {
    const {
        cells, queries = 1, floor, clients = 0, honest = 0.5, epsilon, delta, copiesMax = 8, own = 1, relay = false,
    } = goal;
    return withScratch(machine, () => {
        const asked = machine.take(machine.sizeOf('crowd_goal'));
        machine.fill('crowd_goal', asked, {
            'use.cells': toWord(machine, cells),
            'use.queries': toWord(machine, queries),
            'use.floor': toNumber(floor),
            clients: toClients(machine, clients),
            honest: toNumber(honest),
            epsilon: toNumber(epsilon),
            delta: toNumber(delta),
            copies_max: toWord(machine, copiesMax),
            own: toWord(machine, own),
            relay: relay === true,
        });
        const count = machine.core.pml_wasm_plan_scratch();
        const plan = machine.ask('crowd_planned', 'pml_crowd_plan', asked, machine.take(8 * count), count);
        const policy = {
            clients: Number(plan['crowd.clients']),
            clusters: plan['crowd.clusters'],
            copies: plan['crowd.copies'],
            own: plan['crowd.own'],
            relayClusters: plan['crowd.relay_clusters'],
        };
        return { policy, fakes: plan.fakes, delta: plan.delta, needed: plan.needed };
    });
}
