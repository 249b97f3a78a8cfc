// SPDX-License-Identifier: Apache-2.0
// The map of a Gaussian release: public pictures as a faint cloud, one released point a class. All of it is public.

const SVG = 'http://www.w3.org/2000/svg';
const SIZE = 360;
const MARGIN = 24;
const LETTER = 6.2; // about as wide as a letter of a label is
const LINE = 13;

function shape(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
        made.setAttribute(key, value);
    made.append(...children);
    return made;
}

const colour = (slot, slots, light) => `hsl(${Math.round(360 * slot / slots)} 60% ${light}%)`;

/** From embedding units to the picture, such that all points and the circle are in it. */
function fit(points, sigma) {
    const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
    const [left, right] = [Math.min(-sigma, ...xs), Math.max(sigma, ...xs)];
    const [bottom, top] = [Math.min(-sigma, ...ys), Math.max(sigma, ...ys)];
    const scale = (SIZE - 2 * MARGIN) / Math.max(right - left, top - bottom);
    return {
        scale,
        place: ({ x, y }) => [SIZE / 2 + scale * (x - (left + right) / 2), SIZE / 2 - scale * (y - (bottom + top) / 2)]
            .map((value) => value.toFixed(1)),
    };
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Above, below, right or left of its point: the first place where it covers nothing, else above. */
function labelPlace([x, y], name, taken) {
    const [px, py, half] = [Number(x), Number(y), LETTER * name.length / 2];
    const places = [[0, -LINE], [0, LINE], [half + 9, 0], [-half - 9, 0]].map(([right, down]) => ({
        x: px + right,
        y: py + down,
        left: px + right - half,
        right: px + right + half,
        top: py + down - LINE / 2,
        bottom: py + down + LINE / 2,
    }));
    const inside = ({ left, right, top, bottom }) => left >= 0 && right <= SIZE && top >= 0 && bottom <= SIZE;
    const place = places.find((box) => inside(box) && !taken.some((other) => overlap(box, other))) ?? places[0];
    taken.push(place);
    return place;
}

/** `rows`: two or more coordinates a class, of which the first two are drawn; `sigma`: of the noise. */
export function drawMap(classes, cloud, rows, sigma) {
    const dimensions = rows.length / classes.length;
    const points = classes.map(({ slot, name }) =>
        ({ slot, name, x: rows[slot * dimensions], y: rows[slot * dimensions + 1] }));
    const { scale, place } = fit([...cloud, ...points], sigma);
    const [x, y] = place({ x: 0, y: 0 });
    const dots = classes.map(({ slot }) => shape('path', {
        class: 'cloud',
        stroke: colour(slot, classes.length, 50),
        d: cloud.filter((point) => point.slot === slot).map((point) => `M${place(point).join(' ')}h0`).join(''),
    }));
    const released = points.map((point) => {
        const [cx, cy] = place(point);
        return shape('circle', { class: 'released', cx, cy, r: 5, fill: colour(point.slot, classes.length, 42) });
    });
    const taken = points.map((point) => {
        const [cx, cy] = place(point).map(Number);
        return { left: cx - 5, right: cx + 5, top: cy - 5, bottom: cy + 5 };
    });
    const labels = points.map((point) => {
        const at = labelPlace(place(point), point.name, taken);
        return shape('text', { x: at.x.toFixed(1), y: at.y.toFixed(1) }, point.name);
    });
    return shape('svg', {
        class: 'map',
        viewBox: `0 0 ${SIZE} ${SIZE}`,
        role: 'img',
        'aria-label': `Map with one released point for each of ${classes.length} classes among public pictures`,
    },
    shape('circle', { class: 'noise', cx: x, cy: y, r: (sigma * scale).toFixed(1) }), ...dots, ...released, ...labels);
}
