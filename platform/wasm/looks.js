// SPDX-License-Identifier: Apache-2.0
// Several looks at one photo, such as crops, flips or a burst, become one query: one release, one ε.
import { toInteger } from './arguments.js';
import { OPEN } from './budget.js';
import { STATUS } from './machine.js';

const FEATURES_MAX = 1000000;

/** Made by PrivateMail.looks; close it when done, which wipes it. */
export class Looks {
    #machine;
    #features;
    #size;
    #memory = 0;
    #numbers;
    #address;

    constructor(key, machine, features) {
        if (key !== OPEN)
            throw new TypeError('looks are made by PrivateMail.looks');
        this.#machine = machine;
        this.#features = toInteger(machine, features, 1, FEATURES_MAX);
        this.#size = machine.core.pml_looks_size(features);
        this.#memory = machine.take(this.#size);
        this.#numbers = machine.take(4 * features);
        machine.call('pml_looks_begin', machine.small, this.#memory, this.#size, features);
        this.#address = machine.view().getUint32(machine.small, true);
    }

    #checkOpen() {
        if (this.#memory === 0)
            throw this.#machine.error(STATUS.STATE);
    }

    /** Adds a look, of as many numbers as were announced. One that is refused adds nothing. 512 at most. */
    add(look) {
        const machine = this.#machine;
        this.#checkOpen();
        if (!Number.isInteger(look?.length))
            throw machine.error(STATUS.ARGUMENT);
        if (look.length !== this.#features)
            throw machine.error(STATUS.DIMENSION);
        try {
            machine.floats(this.#numbers, this.#features).set(look);
            machine.call('pml_looks_add', this.#address, this.#numbers, this.#features);
        } finally {
            machine.wipe(this.#numbers, 4 * this.#features);
        }
    }

    /** The mean's features in a Float32Array, for a query; of no particular scale. More looks may be added. */
    mean() {
        const machine = this.#machine;
        this.#checkOpen();
        try {
            machine.call('pml_looks_mean', this.#address, this.#numbers, this.#features);
            return machine.floats(this.#numbers, this.#features).slice();
        } finally {
            machine.wipe(this.#numbers, 4 * this.#features);
        }
    }

    /** Wipes them. Closing twice does nothing. */
    close() {
        if (this.#memory === 0)
            return;
        this.#machine.give(this.#memory, this.#size);
        this.#machine.give(this.#numbers, 4 * this.#features);
        this.#memory = 0;
    }
}
