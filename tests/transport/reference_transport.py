# SPDX-License-Identifier: Apache-2.0
"""SPEC section 10 a second time, from the document, on other people's HPKE (pyhpke) and primitives (cryptography)."""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey, KEMKeyPair

AES, CHACHA = 0x0001, 0x0003
CHUNK = 4096


class Refused(Exception):
    pass


def suite(aead):
    return CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId(aead))


def cipher(aead, key):
    return AESGCM(key) if aead == AES else ChaCha20Poly1305(key)


def key_size(aead):
    return 16 if aead == AES else 32


def public_key(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def configuration(*keys):
    """Of (id, public key), SPEC 10.1."""
    entries = (bytes([number]) + b"\0\x20" + public + b"\0\x08" + b"\0\1\0\3" + b"\0\1\0\1" for number, public in keys)
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


# ---- Binary HTTP -------------------------------------------------------------------------------------------------


def varint(value):
    for log, limit in enumerate((1 << 6, 1 << 14, 1 << 30, 1 << 62)):
        if value < limit:
            size = 1 << log
            return (value | log << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError(value)


def read_varint(data, at):
    size = 1 << (data[at] >> 6)
    if at + size > len(data):
        raise Refused("truncated")
    return int.from_bytes(data[at:at + size], "big") & ((1 << (8 * size - 2)) - 1), at + size


def piece(data):
    return varint(len(data)) + data


def request(content, epoch=None, method=b"POST", path=b"/v1/query"):
    fields = b"" if epoch is None else piece(b"epoch") + piece(b"%016x" % epoch)
    return b"\0" + piece(method) + piece(b"https") + b"\0" + piece(path) + piece(fields) + piece(content) + b"\0"


def response(status, content, size=0):
    plain = b"\1" + varint(status) + b"\0" + piece(content) + b"\0"
    return plain + bytes(max(0, size - len(plain)))


def read_response(plain):
    """Status and content of what response() writes."""
    if plain[:1] != b"\1":
        raise Refused("no response")
    status, at = read_varint(plain, 1)
    if plain[at] != 0:
        raise Refused("fields")
    size, at = read_varint(plain, at + 1)
    if at + size >= len(plain) or any(plain[at + size:]):
        raise Refused("content")
    return status, plain[at:at + size]


# ---- requests and messages ----------------------------------------------------------------------------------------


def labels(epoch, pack):
    """info, label of the response, associated data."""
    if epoch is None:
        return b"message/bhttp request", b"message/bhttp response", b""
    return b"message/bhttp epoch request", b"message/bhttp epoch response", epoch.to_bytes(8, "big") + pack


def seal(number, public, aead, plain, epoch=None, pack=b"", ephemeral=None):
    """The sealed bytes, and what opens the answer: (aead, secret, enc)."""
    label, answer_label, aad = labels(epoch, pack)
    header = bytes([number]) + b"\0\x20\0\1" + aead.to_bytes(2, "big")
    pair = None
    if ephemeral:
        private = X25519PrivateKey.from_private_bytes(ephemeral)
        pair = KEMKeyPair(KEMKey.from_pyca_cryptography_key(private),
                          KEMKey.from_pyca_cryptography_key(private.public_key()))
    receiver = KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(public))
    enc, context = suite(aead).create_sender_context(receiver, info=label + b"\0" + header, eks=pair)
    sealed = header + enc + context.seal(plain, aad=aad)
    return sealed, (aead, context.export(answer_label, max(12, key_size(aead))), enc)


def open_sealed(number, secret, sealed, epoch=None, pack=b""):
    label, answer_label, aad = labels(epoch, pack)
    header, enc = sealed[:7], sealed[7:39]
    aead = int.from_bytes(header[5:], "big")
    if header[:5] != bytes([number]) + b"\0\x20\0\1":
        raise Refused("header")
    key = KEMKey.from_pyca_cryptography_key(X25519PrivateKey.from_private_bytes(secret))
    context = suite(aead).create_recipient_context(enc, key, info=label + b"\0" + header)
    plain = context.open(sealed[39:], aad=aad)
    return plain, (aead, context.export(answer_label, max(12, key_size(aead))), enc)


# ---- responses and answers ----------------------------------------------------------------------------------------


def response_keys(opener, nonce):
    aead, secret, enc = opener
    extract = HMAC(enc + nonce, hashes.SHA256())
    extract.update(secret)
    prk = extract.finalize()
    key = HKDFExpand(hashes.SHA256(), key_size(aead), b"key").derive(prk)
    return cipher(aead, key), HKDFExpand(hashes.SHA256(), 12, b"nonce").derive(prk)


def seal_response(opener, plain, nonce):
    box, base = response_keys(opener, nonce)
    return nonce + box.encrypt(base, plain, b"")


def open_response(opener, sealed):
    size = max(12, key_size(opener[0]))
    box, base = response_keys(opener, sealed[:size])
    return box.decrypt(base, sealed[size:], b"")


def chunk_nonce(base, number):
    return (int.from_bytes(base, "big") ^ number).to_bytes(12, "big")


def seal_answer(opener, plain, nonce):
    box, base = response_keys(opener, nonce)
    chunks = [plain[at:at + CHUNK] for at in range(0, len(plain), CHUNK)]
    out = nonce
    for number, chunk in enumerate(chunks[:-1]):
        out += varint(len(chunk) + 16) + box.encrypt(chunk_nonce(base, number), chunk, b"")
    return out + b"\0" + box.encrypt(chunk_nonce(base, len(chunks) - 1), chunks[-1], b"final")


def open_answer(opener, sealed):
    box, base = response_keys(opener, sealed[:32])
    at, number, plain = 32, 0, b""
    while True:
        size, at = read_varint(sealed, at)
        if size == 0:
            return plain + box.decrypt(chunk_nonce(base, number), sealed[at:], b"final")
        plain += box.decrypt(chunk_nonce(base, number), sealed[at:at + size], b"")
        at, number = at + size, number + 1
