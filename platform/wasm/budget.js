// SPDX-License-Identifier: Apache-2.0
// Budgets and where they are stored.
import { toBytes, toExactBytes, toNumber } from './arguments.js';
import { BUDGET_SIZE, ID_SIZE, STATUS } from './machine.js';

/** Keys of what is between these files and no part of the API. */
export const OPEN = Symbol('open');
export const CHANGE = Symbol('change');

/**
 * One after the other, for all budgets of the page: comparing and saving must be one step, and two budgets may share a
 * store, or have two stores of one place.
 */
let turn = Promise.resolve();

function inTurn(work) {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
}

const equal = (one, other) => one.length === other.length && one.every((byte, i) => byte === other[i]);

/** What a person has left. Made by PrivateMail.openBudget. */
export class Budget {
    #machine;
    #bytes;
    #known; // what the store holds as far as this budget knows: #bytes, or at first their form in an older version
    #store;

    constructor(key, machine, store) {
        if (key !== OPEN)
            throw new TypeError('budgets are made by PrivateMail.openBudget');
        this.#machine = machine;
        this.#store = store;
    }

    static async [OPEN](machine, options) {
        const {
            owner, epsilon, epsilonGaussian = 0, delta = 0, epsilonFloor = 0, epsilonCrowd = 0, deltaCrowd = 0, store,
        } = options;
        const budget = new Budget(OPEN, machine, store);
        if (typeof store?.load !== 'function' || typeof store?.save !== 'function')
            throw machine.error(STATUS.ARGUMENT);
        const name = toExactBytes(machine, owner, ID_SIZE).slice();
        const caps = [epsilon, epsilonGaussian, delta, epsilonFloor, epsilonCrowd, deltaCrowd].map(toNumber);
        await inTurn(() => budget.#restoreOrCreate(name, caps));
        return budget;
    }

    async #restoreOrCreate(name, caps) {
        const machine = this.#machine;
        const stored = await this.#stored();
        machine.write(machine.small, name);
        if (stored) {
            if (stored.length > BUDGET_SIZE)
                throw machine.error(STATUS.BUDGET);
            machine.write(machine.chunk, stored);
            machine.call('pml_budget_restore', machine.budget, machine.small, machine.chunk, stored.length);
            this.#bytes = machine.bytes(machine.budget, BUDGET_SIZE).slice();
            this.#known = stored.slice();
        } else {
            machine.call('pml_wasm_budget_create', machine.budget, machine.small, ...caps);
            const bytes = machine.bytes(machine.budget, BUDGET_SIZE).slice();
            await this.#ask('save', bytes);
            this.#bytes = bytes;
            this.#known = bytes;
        }
    }

    async #ask(name, ...values) {
        let answer;
        try {
            answer = await this.#store[name](...values.map((bytes) => bytes.slice()));
        } catch (cause) {
            throw this.#machine.error(STATUS.PERSIST, cause);
        }
        if (answer === false)
            throw this.#machine.error(STATUS.PERSIST);
        return answer;
    }

    async #stored() {
        const stored = await this.#ask('load');
        return stored === undefined || stored === null ? null : toBytes(this.#machine, stored);
    }

    /**
     * `work` turns the bytes into new ones, which count once they are stored. The stored bytes rule: when they are not
     * those that this budget knows, another one spent meanwhile.
     */
    [CHANGE](work) {
        return inTurn(async () => {
            const bytes = work(this.#bytes);
            if (!equal(await this.#stored() ?? [], this.#known))
                throw this.#machine.error(STATUS.PERSIST, new Error('the stored budget has changed: open it anew'));
            await this.#ask('save', bytes);
            this.#bytes = bytes;
            this.#known = bytes;
        });
    }

    /** What was spent and of how much: of response, Gaussian, and in a crowd of its floor and its own messages. */
    remaining() {
        const machine = this.#machine;
        machine.write(machine.budget, this.#bytes);
        const left = machine.ask('budget_left', 'pml_budget_remaining', machine.budget);
        return {
            epsilonCap: left.epsilon_cap,
            epsilonSpent: left.epsilon_spent,
            mu2Cap: left.mu2_cap,
            mu2Spent: left.mu2_spent,
            delta: left.delta,
            floorCap: left.floor_cap,
            floorSpent: left.floor_spent,
            crowdMu2Cap: left.crowd_mu2_cap,
            crowdMu2Spent: left.crowd_mu2_spent,
            crowdDelta0Cap: left.crowd_delta0_cap,
            crowdDelta0Spent: left.crowd_delta0_spent,
            crowdDelta: left.crowd_delta,
        };
    }
}

/** A store for demonstrations: what it holds is gone with the page, and a new budget begins. */
export function memoryStore() {
    let kept = null;
    return {
        load: () => kept,
        save: (bytes) => {
            kept = bytes;
        },
    };
}
