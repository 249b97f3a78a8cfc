"""What a gateway makes of sealed requests and messages, as seen by the client of sealed.py."""
import json
import os
import struct
import time

import cbor2

from sealed import (CHUNK, EPOCH, PATH, SINGLE, TAG, Message, Single, batch, binary_request, crowd_release, epoch_request,
                    read_answers, read_keys, read_response)
from served_parts import describe, served
from serving import answer_form, reference_gallery

SLOTS, CELLS = 5, 8
NEAREST = 32     # of a Gaussian answer's slot, by default


class Client:
    """What a client knows of a gateway: its keys, and the lengths of one pack."""

    def __init__(self, tester, server, name="p", slots=SLOTS):
        self.tester, self.server, self.slots = tester, server, slots
        self.pack = tester.read(name + ".pmpk")[8:24]
        self.gallery = describe(server, self.pack.hex())
        self.parts = served(server, self.pack.hex())[0]
        self.sealed, self.form = self.gallery["sealed"], answer_form(tester, name)
        self.keys = read_keys(server.request("GET", PATH).body)
        self.epoch = int(time.time())

    def release(self, slot, cell):
        return crowd_release(self.pack, self.slots, CELLS, slot, cell)

    def message(self, slot, cell, **options):
        return Message(self.keys[0], self.epoch, self.pack, self.release(slot, cell), **options)

    def post(self, messages, epoch=None, pack=None, **lies):
        body = batch(self.epoch if epoch is None else epoch, pack or self.pack, messages, **lies)
        return self.server.request("POST", PATH, body, EPOCH)

    def ask(self, messages, **options):
        """The answers to whole messages, whose lengths and order of things must be as SPEC 10.6 says."""
        reply = self.post([message.bytes for message in messages], **options)
        self.tester.check(reply.status == 200 and
                          reply.headers["Content-Type"] == "application/x-privatemail-answers" and
                          reply.headers["Cache-Control"] == "no-store", "batch: %d %s" % (reply.status, reply.body[:200]))
        epoch, pack, digest, answers = read_answers(reply.body)
        self.tester.check((epoch, pack, "%016x" % digest) == (options.get("epoch", self.epoch), self.pack,
                                                              self.gallery["version"][:16]), "head of the answers")
        self.tester.check(len(answers) == len(messages) and {len(answer) for answer in answers} ==
                          {self.sealed["answer"]}, "every answer has the public length")
        return answers

    def single(self, plaintext, aead=3, key=None):
        request = Single(key or self.keys[0], plaintext, aead)
        reply = self.server.request("POST", PATH, request.bytes, SINGLE)
        self.tester.check(reply.status == 200 and reply.headers["Content-Type"] == "message/ohttp-res" and
                          reply.headers["Cache-Control"] == "no-store", "single: %d %s" % (reply.status, reply.body[:200]))
        return request.open(reply.body), len(reply.body)


def name_of(content):
    """The error's name; "" for what is no error."""
    try:
        return json.loads(content)["error"]
    except ValueError:
        return ""


def inside(message, answer):
    """(status, content); (0, b"") when the answer is not for this message."""
    try:
        return read_response(message.open(answer))
    except Exception:  # whatever the library raises
        return 0, b""


def header(client, slots):
    version, size = client.form
    return cbor2.dumps([version, client.pack, slots, size, client.gallery["items"]])


# ---- requests on their own ----

def test_single(tester, server):
    """RFC 9458 with both AEADs: what /v1/query returns, all replies to releases of one length being equally long."""
    client = Client(tester, server)
    lengths = {}
    other = bytes(16)
    for aead in (1, 3):
        for mechanism in ("response", "gaussian"):
            release = tester.read("p-%s.cbor" % mechanism)
            plaintext, size = client.single(binary_request(release), aead)
            status, content = read_response(plaintext)
            tester.check(status == 200 and content == server.post(release).body, "%s: the answer of /v1/query" % mechanism)
            lengths[mechanism, aead] = size
            old = tester.read("old-%s.cbor" % mechanism)
            for what, body, wanted in (("another pack", old.replace(old[5:21], other), (409, "pack")),
                                       ("rubbish", os.urandom(len(release)), (400, "release"))):
                plaintext, size = client.single(binary_request(body), aead)
                status, content = read_response(plaintext)
                tester.check((status, name_of(content)) == wanted, "%s: %d %s" % (what, status, content))
                tester.check(size == lengths[mechanism, aead], "%s: as long as an answer" % what)
        found = set()
        for cell in range(CELLS):
            for slot in range(SLOTS):
                plaintext, size = client.single(binary_request(client.release(slot, cell)), aead)
                found.add(size)
                tester.check(read_response(plaintext) == (200, header(client, 1) + client.parts.part(slot, cell)),
                             "cell (%d, %d)" % (slot, cell))
        tester.check(len(found) == 1, "all cells have one length: %s" % found)
    tester.check(lengths["response", 3] - lengths["response", 1] == 16, "they differ by the nonce alone")
    test_longest(tester, client)


def longest_gaussian(tester):
    """Bytes of the longest list of every slot, by SPEC 10.5, together."""
    gallery, length = reference_gallery(tester), 0
    for slot in range(SLOTS):
        sizes = sorted((len(gallery.payloads[row]) for row in range(len(gallery.labels)) if gallery.slots[row] == slot),
                       reverse=True)[:NEAREST]
        length += 24 + sum(size + gallery.pack.L + 21 for size in sizes)
    return length


def constant(length):
    """SPEC 8.1: rounded up."""
    step = 2 ** max(0, length.bit_length() - 1 - 5)
    return -(-length // step) * step


def test_longest(tester, client):
    """The constants are those of SPEC 10.5."""
    parts = [[len(client.parts.part(slot, cell)) for cell in range(CELLS)] for slot in range(SLOTS)]
    longest = constant(len(header(client, 1)) + max(map(max, parts)))
    tester.check(client.parts.manifest.longest == longest, "the manifest's constant length")
    for content, release in ((len(header(client, SLOTS)) + longest_gaussian(tester), tester.read("p-gaussian.cbor")),
                             (len(header(client, SLOTS)) + sum(map(max, parts)), tester.read("p-response.cbor")),
                             (longest, client.release(0, 0))):
        plaintext, _ = client.single(binary_request(release))
        wanted = max(512, 1 + 2 + 1 + (4 if content >= 16384 else 2) + content + 1)
        tester.check(len(plaintext) == wanted, "A is %d and not %d" % (len(plaintext), wanted))
    plain = len(plaintext)
    sealed = 32 + (plain - 1) // CHUNK * (2 + CHUNK + TAG) + 1 + (plain - 1) % CHUNK + 1 + TAG
    tester.check(client.sealed == {"message": len(client.message(0, 0).bytes), "answer": sealed}, "sealed: %s" % client.sealed)


def test_single_inside(tester, server):
    """What is no query gets its refusal inside."""
    client = Client(tester, server)
    release = client.release(1, 2)
    for what, plaintext, wanted in (
            ("another path", binary_request(release, path=b"/metrics"), (404, "not_found")),
            ("another method", binary_request(release, method=b"GET"), (404, "not_found")),
            ("no Binary HTTP", b"GET / HTTP/1.1\r\n\r\n", (400, "request")),
            ("nothing", b"", (400, "request")),
            ("cut short", binary_request(release)[:-10], (400, "request")),
            ("no release", binary_request(b""), (400, "release"))):
        plaintext, _ = client.single(plaintext)
        status, content = read_response(plaintext)
        tester.check((status, name_of(content)) == wanted and len(plaintext) == 512, "%s: %d %s" % (what, status, content))
    status, content = read_response(client.single(binary_request(release, b"\x0ccontent-type\x10application/cbor") +
                                                  bytes(100))[0])
    tester.check(status == 200, "a content-type and padding: %d %s" % (status, content))


def test_single_outside(tester, server):
    client = Client(tester, server)
    good = Single(client.keys[0], binary_request(client.release(0, 0))).bytes
    missing = next(number for number in range(256) if number not in dict(client.keys))
    reply = server.request("POST", PATH, bytes([missing]) + good[1:], SINGLE)
    problem = json.loads(reply.body)
    tester.check(reply.status == 400 and reply.headers["Content-Type"] == "application/problem+json" and
                 problem["type"] == "https://iana.org/assignments/http-problem-types#ohttp-key" and problem["title"],
                 "a key that is not there: %d %s" % (reply.status, reply.body))
    flipped = bytearray(good)
    flipped[-1] ^= 1
    for what, body in (("nothing", b""), ("a header", good[:7]), ("cut", good[:-1]), ("flipped", bytes(flipped)),
                       ("another KEM", good[:1] + b"\0\x10" + good[3:]), ("another AEAD", good[:5] + b"\0\x02" + good[7:]),
                       ("a zero key", good[:7] + bytes(32) + good[39:]),
                       ("a message of an epoch", client.message(0, 0).bytes)):
        reply = server.request("POST", PATH, body, SINGLE)
        tester.check(reply.status == 400 and reply.error() == "sealed", "%s: %d %s" % (what, reply.status, reply.body))
    for headers in ({}, {"Content-Type": "application/cbor"}, dict(SINGLE, **{"Content-Encoding": "gzip"})):
        reply = server.request("POST", PATH, good, headers)
        tester.check(reply.status == 415 and reply.error() == "type", "type %s" % headers)
    reply = server.request("PUT", PATH, good, SINGLE)
    tester.check(reply.status == 405 and reply.headers["Allow"] == "GET, HEAD, POST", "another method")
    reply = server.request("POST", PATH, bytes(32 + 1024 * 256 + 1), EPOCH)
    tester.check(reply.status == 413 and reply.error() == "size", "too long: %d" % reply.status)


# ---- whole epochs ----

def test_batch(tester, server, name="p", slots=SLOTS):
    """Every cell gets its own part, in the order of the messages, and all answers are equally long."""
    client = Client(tester, server, name, slots)
    asked = [(slot, cell) for cell in range(CELLS) for slot in range(slots)]
    messages = [client.message(*pair) for pair in asked]
    tester.check({len(message.bytes) for message in messages} == {client.sealed["message"]}, "messages look alike")
    for pair, message, answer in zip(asked, messages, client.ask(messages)):
        tester.check(inside(message, answer) == (200, header(client, 1) + client.parts.part(*pair)), "cell %s" % (pair,))
    same = client.message(0, 0)
    first, second = client.ask([same, same])
    tester.check(first != second and same.open(first) == same.open(second), "the same message, sealed anew")
    return client


def test_batch_inside(tester, server):
    """What is wrong with a message shows inside its answer alone."""
    client = Client(tester, server)
    other = Client(tester, server, "old")
    epoch, pack, key = client.epoch, client.pack, client.keys[0]
    response = tester.read("p-response.cbor")
    room = len(binary_request(client.release(0, 0), bytes(23)))

    def filled(request):
        return request + bytes(room - len(request))

    def holding(release=b"", plaintext=None):
        return Message(key, epoch, pack, release, plaintext=plaintext)

    # A response release is one byte longer here; a sender may leave out the last byte, which says that no trailers follow.
    cases = [
        ("good", client.message(2, 3), None),
        ("another epoch inside", client.message(2, 3, inner_epoch=epoch + 1), (409, "epoch")),
        ("another pack inside", holding(other.release(2, 3)), (409, "pack")),
        ("an unknown pack inside", holding(client.release(2, 3).replace(pack, bytes(16))), (409, "pack")),
        ("a slot too many", holding(crowd_release(pack, SLOTS, CELLS, SLOTS, 0)), (400, "release")),
        ("no release", holding(os.urandom(len(client.release(0, 0)))), (400, "release")),
        ("another kind", holding(plaintext=epoch_request(response, epoch)[:-1]), (400, "release")),
        ("no epoch", holding(plaintext=filled(binary_request(client.release(0, 0)[:6]))), (409, "epoch")),
        ("another path", holding(plaintext=filled(binary_request(b"", path=b"/metrics"))), (404, "not_found")),
        ("no Binary HTTP", holding(plaintext=bytes(room)), (400, "request")),
        ("good again", client.message(2, 4), None),
    ]
    answers = client.ask([message for _, message, _ in cases])
    for (what, message, wanted), answer in zip(cases, answers):
        status, content = inside(message, answer)
        tester.check(status == 200 if wanted is None else (status, name_of(content)) == wanted,
                     "%s: %d %s" % (what, status, content[:100]))


def opens(message, answer):
    return inside(message, answer)[0] > 0


def chunk_heads(answer):
    """Where the framing of an answer has fixed bytes: these bytes."""
    whole = (len(answer) - 32 - 1 - TAG - 1) // (2 + CHUNK + TAG)
    return b"".join(answer[32 + i * (2 + CHUNK + TAG):][:2] for i in range(whole)) + \
        answer[32 + whole * (2 + CHUNK + TAG):][:1]


def test_batch_unreadable(tester, server):
    """What cannot be opened gets an answer that nobody can open, of the same length and form, and hurts nobody else."""
    client = Client(tester, server)
    good = client.message(1, 1)
    missing = next(number for number in range(256) if number not in dict(client.keys))
    spoilt = []
    for at in (7, 20, 38, 39, len(good.bytes) - 17, len(good.bytes) - 1):
        data = bytearray(good.bytes)
        data[at] ^= 0x04
        spoilt.append(bytes(data))
    spoilt.append(bytes([missing]) + good.bytes[1:])
    spoilt.append(good.bytes[:7] + bytes(32) + good.bytes[39:])
    spoilt.append(good.bytes[:7] + os.urandom(len(good.bytes) - 7))
    spoilt.append(Message(client.keys[0], client.epoch + 1, client.pack, client.release(1, 1)).bytes)
    spoilt.append(Message(client.keys[0], client.epoch, bytes(16), client.release(1, 1)).bytes)
    reply = client.post([good.bytes, *spoilt, good.bytes])
    answers = read_answers(reply.body)[3]
    tester.check(opens(good, answers[0]) and opens(good, answers[-1]), "the good ones get theirs")
    tester.check(not any(opens(good, answer) for answer in answers[1:-1]), "nobody opens the others")
    tester.check({len(answer) for answer in answers} == {client.sealed["answer"]}, "all of one length")
    tester.check(len({chunk_heads(answer) for answer in answers}) == 1, "and of one form")
    tester.check(len({answer[:32] for answer in answers}) == len(answers), "no two begin alike")


def test_batch_outside(tester, server):
    client = Client(tester, server)
    good = client.message(1, 1).bytes
    now = int(time.time())

    def refused(what, status, error, reply):
        tester.check(reply.status == status and reply.error() == error, "%s: %d %s" % (what, reply.status, reply.body[:100]))

    refused("count 0", 400, "sealed", client.post([good], count=0))
    refused("count 0, no message", 400, "sealed", client.post([], count=0, size=len(good)))
    refused("count 1025", 400, "sealed", client.post([good] * 1025))
    refused("too few", 400, "sealed", client.post([good] * 3, count=4))
    refused("too many", 400, "sealed", client.post([good] * 3, count=2))
    refused("count 2^32 - 1", 400, "sealed", client.post([good], count=2 ** 32 - 1))
    refused("size 0", 400, "sealed", client.post([good], size=0))
    refused("size 2^32 - 1", 400, "sealed", client.post([good], size=2 ** 32 - 1))
    refused("longer messages", 400, "sealed", client.post([good + b"x"]))
    refused("shorter messages", 400, "sealed", client.post([good[:-1]]))
    refused("two as one", 400, "sealed", client.post([good[:60] + good[60:] + good]))
    refused("another AEAD", 400, "sealed", client.post([good, good[:5] + b"\0\x01" + good[7:]]))
    refused("another KEM", 400, "sealed", client.post([good, good[:1] + b"\0\x10" + good[3:]]))
    refused("another pack", 404, "not_found", client.post([good], pack=os.urandom(16)))
    refused("no head", 400, "sealed", server.request("POST", PATH, bytes(31), EPOCH))
    refused("nothing", 400, "sealed", server.request("POST", PATH, b"", EPOCH))
    for epoch in (now + 3700, now - 90100, 0, 2 ** 64 - 1):
        refused("epoch %d" % epoch, 409, "epoch", client.post([good], epoch=epoch))
    for epoch in (now + 3500, now - 89900):  # a clock that differs, and messages that say the same
        message = Message(client.keys[0], epoch, client.pack, client.release(3, 5))
        answer, = client.ask([message], epoch=epoch)
        tester.check(inside(message, answer)[0] == 200, "epoch %d" % epoch)
    for size in (1, 1024):
        reply = client.post([good] * size)
        tester.check(reply.status == 200 and len(reply.body) == 40 + size * client.sealed["answer"], "count %d" % size)


def test_cut_batches(tester, server):
    """Bytes of a request that were cut or changed: refused, or answers of the right lengths."""
    client = Client(tester, server)
    body = bytearray(batch(client.epoch, client.pack, [client.message(0, cell).bytes for cell in range(3)]))
    for at in range(0, len(body), 7):
        changed = body[:]
        changed[at] ^= 0x80
        reply = server.request("POST", PATH, bytes(changed), EPOCH)
        tester.check(reply.status in (400, 404, 409) or
                     (reply.status == 200 and len(reply.body) == 40 + 3 * client.sealed["answer"]),
                     "byte %d changed: %d" % (at, reply.status))
        reply = server.request("POST", PATH, bytes(body[:at]), EPOCH)
        tester.check(reply.status == 400 and reply.error() == "sealed", "cut to %d: %d" % (at, reply.status))
    tester.check(struct.unpack(">I", body[24:28])[0] == 3, "three messages")
