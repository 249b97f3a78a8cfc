// SPDX-License-Identifier: Apache-2.0
// The public points of a pack's map. In: the bytes of a pack (docs/SPEC.md section 1) that the core has validated.

const HEADER = 112;
const ANCHOR_STARTS = 5;
const ANCHOR_CODES = 6;

/** Where section `wanted` begins: sections follow one another, each rounded up to 16 bytes. */
function sectionStart(view, wanted) {
    const [d, n, k, G, m, C, present] = [view.getUint32(48, true), view.getUint32(52, true), view.getUint16(58, true),
        view.getUint16(60, true), view.getUint32(64, true), view.getUint32(68, true), view.getUint32(80, true)];
    const sizes = [8 * C, G * m * d, 4 * G * m, n * d, 4 * n, 4 * (G + 1), 2 * n * k];
    let at = HEADER;
    for (let section = 0; section < wanted; section++) {
        if (present >> section & 1)
            at = Math.ceil(at / 16) * 16 + sizes[section];
    }
    return Math.ceil(at / 16) * 16;
}

/** [{ slot, x, y }, …]: the first two coordinates of at most `limit` anchors, evenly taken. */
export function anchorPoints(pack, { anchors, slots, dimensions }, limit) {
    const view = new DataView(pack.buffer, pack.byteOffset, pack.byteLength);
    const starts = sectionStart(view, ANCHOR_STARTS);
    const codes = sectionStart(view, ANCHOR_CODES);
    const stride = Math.ceil(anchors / limit);
    const points = [];
    let slot = 0;
    for (let anchor = 0; anchor < anchors; anchor += stride) {
        while (slot + 1 < slots && view.getUint32(starts + 4 * (slot + 1), true) <= anchor)
            slot++;
        const at = codes + 2 * dimensions * anchor;
        points.push({ slot, x: view.getInt16(at, true), y: view.getInt16(at + 2, true) });
    }
    return points;
}
