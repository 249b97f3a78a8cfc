// SPDX-License-Identifier: Apache-2.0
// What a server believes after a message (docs/PRIVACY.md, section 12): P(item | message) for each of N items, all equally
// likely before. In: messages as the server has them, and public items: { slots, cells, places, centres }.

/** p_hi and p_lo of SPEC 5.11. */
export function odds(epsilon, symbols) {
    const keep = Math.floor(2 ** 40 * Math.exp(epsilon) / (Math.exp(epsilon) + symbols - 1) - 2 ** -7);
    return { high: keep / 2 ** 40, low: (2 ** 40 - keep) / 2 ** 40 / (symbols - 1) };
}

/** From logarithms of likelihoods, up to a common summand. */
function normalise(logs) {
    const most = logs.reduce((largest, value) => Math.max(largest, value), -Infinity);
    const likely = logs.map((value) => Math.exp(value - most));
    const sum = likely.reduce((total, value) => total + value, 0);
    return likely.map((value) => value / sum);
}

/** Theorem 11. `symbols`: the cell that was named in each slot, of `cells` there are. */
export function response({ slots, cells }, symbols, count, epsilon) {
    const { high, low } = odds(epsilon, count);
    return normalise(Float64Array.from(slots, (slot, item) => Math.log(symbols[slot] === cells[item] ? high : low)));
}

// ---- Gaussian ----------------------------------------------------------------------------------------------------

const ROOT_TWO_PI = Math.sqrt(2 * Math.PI);

/** ln P(N > z) of a standard normal N: by the series around 0, and by the continued fraction from 3 on. */
function logAbove(z) {
    if (z < -3)
        return Math.log1p(-Math.exp(logAbove(-z)));
    if (z < 3) {
        let [term, sum] = [z, z];
        for (let n = 3; n < 160; n += 2)
            sum += term *= z * z / n;
        return Math.log(0.5 - sum * Math.exp(-z * z / 2) / ROOT_TWO_PI);
    }
    let fraction = z;
    for (let n = 200; n > 0; n--)
        fraction = z + n / fraction;
    return -z * z / 2 - Math.log(ROOT_TWO_PI * fraction);
}

/** ln P(low < N < high), of the tail where both are, so that nothing is lost by subtraction. */
function logBetween(low, high) {
    if (high < 0)
        return logBetween(-high, -low);
    const tail = (z) => (z === Infinity ? 0 : Math.exp(logAbove(z)));
    if (low <= 0)
        return Math.log1p(-tail(high) - tail(-low));
    const above = logAbove(low);
    return high === Infinity ? above : above + Math.log1p(-Math.exp(logAbove(high) - above));
}

/** ln F(value | place) of theorem 12, of values of one byte. */
function logValue(value, place, { shift, coarsen }) {
    const [unit, deviation] = [2 ** coarsen, 2 ** shift];
    const start = value * unit - Math.floor(unit / 2);
    return logBetween(value <= -127 ? -Infinity : (start - place - 0.5) / deviation,
        value >= 127 ? Infinity : (start + unit - place - 0.5) / deviation);
}

/** Grid, shift and coarsening of SPEC 5.8, from what a receipt says: μ = (Δ + g·√c)/σ, σ = g·2^s, step = g·2^e. */
export function calibration({ sigma, mu, sensitivity }, step, slots, dimensions) {
    const root = Math.sqrt(slots > 1 ? 2 * dimensions : dimensions);
    const grid = Math.max(1, Math.round((mu * sigma - sensitivity) / root));
    return { grid, shift: Math.round(Math.log2(sigma / grid)), coarsen: Math.round(Math.log2(step / grid)) };
}

/** Theorem 12. `values`: the released integers, slot by slot. */
export function gaussian({ slots, places, centres }, values, noise) {
    const dimensions = places.length / slots.length;
    const onGrid = (place) => Math.floor(place / noise.grid + 0.5);
    const fixed = centres.map((centre, at) => logValue(values[at], onGrid(centre), noise));
    return normalise(Float64Array.from(slots, (slot, item) => {
        let sum = 0;
        for (let t = 0; t < dimensions; t++) {
            const at = slot * dimensions + t;
            sum += logValue(values[at], onGrid(places[item * dimensions + t]), noise) - fixed[at];
        }
        return sum;
    }));
}

// ---- in a crowd --------------------------------------------------------------------------------------------------

/** ln π(0 … most) of section 11, kept near 1 by a common factor: π(0) may be too small for a number. */
function logLaw(clusters, copies, most) {
    const [scaled, logs] = [[1], [-clusters]];
    let scale = -clusters;
    for (let k = 1; k <= most; k++) {
        let sum = 0;
        for (let c = 1; c <= Math.min(copies, k); c++)
            sum += c * scaled[k - c];
        scaled[k] = clusters / (copies * k) * sum;
        logs[k] = Math.log(scaled[k]) + scale;
        if (scaled[k] > 2 ** 500 || scaled[k] < 2 ** -500) {
            const factor = 1 / scaled[k];
            scale += Math.log(scaled[k]);
            for (let c = 0; c < Math.min(copies, k + 1); c++)
                scaled[k - c] *= factor;
        }
    }
    return logs;
}

/** Theorem 13, for one own message. `counts`: how often each symbol is left when what all others asked is taken out. */
export function crowd({ slots, cells }, cellCount, counts, { clients, clusters, copies }, floor) {
    const symbols = counts.length;
    const rate = clients * Math.floor(clusters * 2 ** 29) / 2 ** 29 / symbols;
    const law = logLaw(rate, copies, Math.max(...counts));
    const logs = counts.map((count) => (count > 0 ? law[count - 1] - law[count] : -Infinity));
    const most = Math.max(...logs);
    const ratios = logs.map((value) => Math.exp(value - most));
    const sum = ratios.reduce((total, value) => total + value, 0);
    const { high, low } = odds(floor, symbols);
    return normalise(Float64Array.from(slots, (slot, item) =>
        Math.log((high - low) * ratios[slot * cellCount + cells[item]] + low * sum)));
}

/** { largest, entropy }, the latter in bits. */
export function summarise(posterior) {
    return {
        largest: posterior.reduce((most, value) => Math.max(most, value), 0),
        entropy: posterior.reduce((bits, value) => (value > 0 ? bits - value * Math.log2(value) : bits), 0),
    };
}
