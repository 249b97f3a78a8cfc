"""A client of a gateway, written from SPEC 10 and the RFCs alone: HPKE by pyhpke, the rest by cryptography."""
import hashlib
import hmac
import struct

import cbor2
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from pyhpke import AEADId, CipherSuite, KDFId, KEMId

PATH = "/.well-known/ohttp-gateway"
SINGLE = {"Content-Type": "message/ohttp-req"}
EPOCH = {"Content-Type": "application/x-privatemail-epoch"}
CHUNK, TAG = 4096, 16
# AEAD: its id in HPKE, bytes of its key, its cipher
AEADS = {1: (AEADId.AES128_GCM, 16, AESGCM), 3: (AEADId.CHACHA20_POLY1305, 32, ChaCha20Poly1305)}


def varint(number):
    for size, mark in ((1, 0x00), (2, 0x40), (4, 0x80)):
        if number < 1 << 8 * size - 2:
            data = bytearray(number.to_bytes(size, "big"))
            data[0] |= mark
            return bytes(data)
    raise ValueError(number)


def read_varint(data, at):
    size = 1 << (data[at] >> 6)
    return int.from_bytes(bytes([data[at] & 0x3F]) + data[at + 1:at + size], "big"), at + size


def string(data):
    return varint(len(data)) + data


def read_keys(configuration):
    """[(id, public key)] of application/ohttp-keys, each of which must offer both AEADs."""
    keys, at = [], 0
    while at < len(configuration):
        length, number, kem = struct.unpack(">HBH", configuration[at:at + 5])
        if (length, kem, configuration[at + 37:at + 47]) != (45, 0x20, bytes.fromhex("00080001000300010001")):
            raise ValueError(configuration[at:at + 47].hex())
        keys.append((number, configuration[at + 5:at + 37]))
        at += 47
    return keys


def crowd_release(pack, slots, cells, slot, cell):
    """SPEC 2: the release that a message of a crowd holds."""
    symbol, size = slot * cells + cell, ((slots * cells - 1).bit_length() + 7) // 8
    return cbor2.dumps({0: 1, 1: pack, 2: 1 if slots == 1 else 3, 4: symbol.to_bytes(size, "little")}, canonical=True)


def binary_request(content, fields=b"", method=b"POST", path=b"/v1/query"):
    return b"\0" + string(method) + string(b"https") + b"\0" + string(path) + string(fields) + string(content) + b"\0"


def epoch_request(release, epoch):
    return binary_request(release, string(b"epoch") + string(b"%016x" % epoch))


def read_response(plaintext):
    """(status, content) of a Binary HTTP response that is padded with zeros."""
    if plaintext[0] != 1:
        raise ValueError("no response")
    status, at = read_varint(plaintext, 1)
    fields, at = read_varint(plaintext, at)
    size, at = read_varint(plaintext, at + fields)
    if any(plaintext[at + size:]):
        raise ValueError("padding is not zero")
    return status, plaintext[at:at + size]


class Sealed:
    """One sealed request, with what opens its answer."""

    def __init__(self, key, plaintext, info, aad, label, aead=3):
        number, public = key
        kind, self.size, self.cipher = AEADS[aead]
        suite = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, kind)
        header = struct.pack(">BHHH", number, 0x20, 1, aead)
        self.enc, context = suite.create_sender_context(suite.kem.deserialize_public_key(public),
                                                        info=info + b"\0" + header)
        self.bytes = header + self.enc + context.seal(plaintext, aad)
        self.secret = context.export(label, max(self.size, 12))

    def answer_keys(self, nonce):
        """RFC 9458, 4.4"""
        prk = hmac.digest(self.enc + nonce, self.secret, hashlib.sha256)
        expand = lambda info, size: hmac.digest(prk, info + b"\1", hashlib.sha256)[:size]
        return self.cipher(expand(b"key", self.size)), expand(b"nonce", 12)


class Single(Sealed):
    """RFC 9458: a request on its own."""

    def __init__(self, key, plaintext, aead=3):
        super().__init__(key, plaintext, b"message/bhttp request", b"", b"message/bhttp response", aead)

    def open(self, reply):
        nonce = reply[:max(self.size, 12)]
        cipher, iv = self.answer_keys(nonce)
        return cipher.decrypt(iv, reply[len(nonce):], b"")


class Message(Sealed):
    """SPEC 10.3: a message of an epoch."""

    def __init__(self, key, epoch, pack, release, inner_epoch=None, plaintext=None):
        plaintext = plaintext or epoch_request(release, epoch if inner_epoch is None else inner_epoch)
        super().__init__(key, plaintext, b"message/bhttp epoch request", struct.pack(">Q", epoch) + pack,
                         b"message/bhttp epoch response")

    def open(self, answer):
        """The plaintext. Raises when a tag, a length or an order is wrong."""
        cipher, iv = self.answer_keys(answer[:32])
        plaintext, at, number, last = b"", 32, 0, False
        while not last:
            length, at = read_varint(answer, at)
            last = length == 0
            end = len(answer) if last else at + length
            if (not last and length != CHUNK + TAG) or not TAG < end - at <= CHUNK + TAG:
                raise ValueError("chunk of %d bytes" % length)
            own = (int.from_bytes(iv, "big") ^ number).to_bytes(12, "big")
            plaintext += cipher.decrypt(own, answer[at:end], b"final" if last else b"")
            at, number = end, number + 1
        return plaintext


def batch(epoch, pack, messages, count=None, size=None):
    """SPEC 10.6: the body of a request; `count` and `size` may lie."""
    return struct.pack(">Q16sII", epoch, pack, len(messages) if count is None else count,
                       len(messages[0]) if size is None else size) + b"".join(messages)


def read_answers(body):
    """(epoch, pack, gallery's digest, [answers])"""
    epoch, pack, digest, count, size = struct.unpack(">Q16sQII", body[:40])
    if len(body) != 40 + count * size:
        raise ValueError("%d bytes for %d answers of %d" % (len(body), count, size))
    return epoch, pack, digest, [body[40 + i * size:40 + (i + 1) * size] for i in range(count)]
