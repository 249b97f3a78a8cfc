// SPDX-License-Identifier: Apache-2.0
// The gateway's side of docs/SPEC.md section 10, written from RFC 9180, 9292 and 9458 with node's own cryptography:
// another implementation than the C, to compare it with.
import {
    createCipheriv, createDecipheriv, createHmac, createPrivateKey, createPublicKey, diffieHellman, randomBytes,
} from 'node:crypto';

const KEM = 0x0020;
const SUITE = [0x0001, 0x0003]; // HKDF-SHA256, ChaCha20-Poly1305
const CHUNK = 4096;
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI = Buffer.from('302a300506032b656e032100', 'hex');

const u16 = (value) => Buffer.from([value >> 8, value & 255]);
const hmac = (key, ...parts) => createHmac('sha256', key).update(Buffer.concat(parts)).digest();

/** RFC 5869. */
const extract = (salt, ikm) => hmac(salt.length > 0 ? salt : Buffer.alloc(32), ikm);

function expand(prk, info, size) {
    const blocks = [];
    for (let last = Buffer.alloc(0); 32 * blocks.length < size; blocks.push(last))
        last = hmac(prk, last, info, Buffer.from([blocks.length + 1]));
    return Buffer.concat(blocks).subarray(0, size);
}

// ---- HPKE, base mode (RFC 9180) ----

const labelled = (suite, label, ...rest) => Buffer.concat([Buffer.from('HPKE-v1'), suite, Buffer.from(label), ...rest]);
const labelledExtract = (suite, salt, label, ikm) => extract(salt, labelled(suite, label, ikm));
const labelledExpand = (suite, prk, label, info, size) =>
    expand(prk, Buffer.concat([u16(size), labelled(suite, label, info)]), size);

const privateKey = (raw) => createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: 'der', type: 'pkcs8' });
const publicKey = (raw) => createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' });
export const publicOf = (raw) =>
    createPublicKey(privateKey(raw)).export({ format: 'der', type: 'spki' }).subarray(SPKI.length);

/** { key, nonce, exporter } of both sides: `own` is the private key, `other` the public one. */
function context(own, other, enc, recipient, info) {
    const kem = Buffer.concat([Buffer.from('KEM'), u16(KEM)]);
    const suite = Buffer.concat([Buffer.from('HPKE'), u16(KEM), ...SUITE.map(u16)]);
    const empty = Buffer.alloc(0);
    const shared = diffieHellman({ privateKey: privateKey(own), publicKey: publicKey(other) });
    const secret = labelledExpand(kem, labelledExtract(kem, empty, 'eae_prk', shared), 'shared_secret',
        Buffer.concat([enc, recipient]), 32);
    const schedule = Buffer.concat([Buffer.from([0]), labelledExtract(suite, empty, 'psk_id_hash', empty),
        labelledExtract(suite, empty, 'info_hash', info)]);
    const prk = labelledExtract(suite, secret, 'secret', empty);
    return {
        key: labelledExpand(suite, prk, 'key', schedule, 32),
        nonce: labelledExpand(suite, prk, 'base_nonce', schedule, 12),
        exported: (label, size) => labelledExpand(suite,
            labelledExpand(suite, prk, 'exp', schedule, 32), 'sec', Buffer.from(label), size),
    };
}

// ---- sealed messages (SPEC 10.3, 10.4) ----

function encrypt(key, nonce, aad, plaintext) {
    const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 });
    cipher.setAAD(aad, { plaintextLength: plaintext.length });
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key, nonce, aad, sealed) {
    const cipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 });
    cipher.setAAD(aad, { plaintextLength: sealed.length - 16 });
    cipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
}

function u64(value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return bytes;
}

const varint = (value) => (value < 64 ? Buffer.from([value]) : value < 16384 ? u16(0x4000 | value)
    : Buffer.from([0x80 | (value >>> 24), (value >>> 16) & 255, (value >>> 8) & 255, value & 255]));
const counted = (text) => Buffer.concat([varint(text.length), Buffer.from(text)]);

export function configuration(id, secret) {
    const one = Buffer.concat([Buffer.from([id]), u16(KEM), publicOf(secret), u16(8), u16(1), u16(3), u16(1), u16(1)]);
    return Buffer.concat([u16(one.length), one]);
}

const headerOf = (id) => Buffer.concat([Buffer.from([id]), u16(KEM), ...SUITE.map(u16)]);
const infoOf = (header) => Buffer.concat([Buffer.from('message/bhttp epoch request\0'), header]);

function requestOf(epoch, release) {
    return Buffer.concat([Buffer.from([0]), counted('POST'), counted('https'), counted(''), counted('/v1/query'),
        counted(Buffer.concat([counted('epoch'), counted(BigInt(epoch).toString(16).padStart(16, '0'))])),
        counted(release), Buffer.from([0])]);
}

/** The message that a client with this ephemeral private key seals. */
export function sealMessage({ id, secret }, ephemeral, epoch, pack, release) {
    const [header, enc, recipient] = [headerOf(id), publicOf(ephemeral), publicOf(secret)];
    const { key, nonce } = context(ephemeral, recipient, enc, recipient, infoOf(header));
    const sealed = encrypt(key, nonce, Buffer.concat([u64(epoch), pack]), requestOf(epoch, release));
    return Buffer.concat([header, enc, sealed]);
}

/** { release, enc, secret }: what was inside, and what the answer is sealed with. Throws for anything else. */
export function openMessage({ id, secret }, epoch, pack, message) {
    const [header, enc, sealed] = [message.subarray(0, 7), message.subarray(7, 39), message.subarray(39)];
    if (!header.equals(headerOf(id)))
        throw new Error('another header');
    const { key, nonce, exported } = context(secret, enc, enc, publicOf(secret), infoOf(header));
    const plaintext = decrypt(key, nonce, Buffer.concat([u64(epoch), pack]), sealed);
    const size = plaintext.length - requestOf(epoch, Buffer.alloc(0)).length; // a varint of one byte: size below 64
    const release = plaintext.subarray(plaintext.length - 1 - size, plaintext.length - 1);
    if (!plaintext.equals(requestOf(epoch, release)))
        throw new Error('another request inside');
    return { release, enc, secret: exported('message/bhttp epoch response', 32) };
}

/** Seals status and content, padded to `size` bytes. */
export function sealAnswer({ enc, secret }, status, content, size, random = randomBytes(32)) {
    const prk = extract(Buffer.concat([enc, random]), secret);
    const key = expand(prk, Buffer.from('key'), 32);
    const nonce = expand(prk, Buffer.from('nonce'), 12);
    const zero = Buffer.from([0]);
    const inside = Buffer.concat([Buffer.from([1]), varint(status), zero, counted(content), zero]);
    const plaintext = Buffer.concat([inside, Buffer.alloc(size - inside.length)]);
    const parts = [random];
    for (let at = 0, number = 0n; at < size; at += CHUNK, number++) {
        const last = at + CHUNK >= size;
        const own = Buffer.from(nonce);
        own.writeBigUInt64BE(own.readBigUInt64BE(4) ^ number, 4);
        const part = encrypt(key, own, Buffer.from(last ? 'final' : ''), plaintext.subarray(at, at + CHUNK));
        parts.push(last ? Buffer.from([0]) : varint(part.length), part);
    }
    return Buffer.concat(parts);
}
