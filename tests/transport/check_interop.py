#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the C seals the reference opens, and the other way round; with the same randomness both write the same bytes.

    build/venv/bin/python tests/transport/check_interop.py build/release/transport_eval [ROUNDS]
"""
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reference_transport as reference

EVAL = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
SIZES = [512, 4095, 4096, 4097, 8191, 8192, 8193, 20000]
counts = {}


def expect(name, right):
    counts[name] = counts.get(name, 0) + 1
    if not right:
        sys.exit(f"interop: {name}: differs (case {counts[name]})")


class C:
    """The C, one process for all calls."""

    def __init__(self):
        self.process = subprocess.Popen([EVAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, name, *arguments):
        texts = (argument.hex() or "-" for argument in arguments)
        self.process.stdin.write(" ".join([name, *texts]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"interop: {EVAL} ended in {name}")
        if line.startswith("refused"):
            return None
        return [b"" if text == "-" else bytes.fromhex(text) for text in line.split()]


def packed(opener):
    aead, secret, enc = opener
    return aead.to_bytes(2, "big") + secret.ljust(32, b"\0") + enc


def number(value, size=8):
    return value.to_bytes(size, "big")


def messages(c, draw, gateway, public):
    identity, epoch, pack = draw.randrange(256), draw.randrange(1 << 64), draw.randbytes(16)
    release, ephemeral = draw.randbytes(draw.choice([1, 27, 63, 64, 200, 5000])), draw.randbytes(32)
    keys = reference.configuration((identity, public))
    sealed, opener = c("message", keys, number(epoch), pack, release, ephemeral)
    ours, our_opener = reference.seal(identity, public, reference.CHACHA, reference.request(release, epoch), epoch, pack,
                                      ephemeral)
    expect("message: same bytes", sealed == ours and opener == packed(our_opener))
    plain, their_opener = reference.open_sealed(identity, gateway, sealed, epoch, pack)
    expect("message: the reference opens", plain == reference.request(release, epoch) and packed(their_opener) == opener)

    fresh, fresh_opener = reference.seal(identity, public, reference.CHACHA, reference.request(release, epoch), epoch, pack)
    opened = c("message_open", gateway, bytes([identity]), number(epoch), pack, fresh)
    expect("message: C opens", opened == [number(200, 2), release, packed(fresh_opener)])
    expect("message: C refuses another epoch",
           c("message_open", gateway, bytes([identity]), number(epoch ^ 1), pack, fresh) is None)
    lying, _ = reference.seal(identity, public, reference.CHACHA, reference.request(release, epoch ^ 1), epoch, pack)
    expect("message: C finds another epoch inside",
           c("message_open", gateway, bytes([identity]), number(epoch), pack, lying)[0] == number(409, 2))
    answers(c, draw, fresh_opener)


def answers(c, draw, opener):
    size, status, nonce = draw.choice(SIZES), draw.choice([200, 400, 409, 503]), draw.randbytes(32)
    content = draw.randbytes(draw.choice([0, 63, 64, draw.randrange(size - 8), size - 9]))
    plain = reference.response(status, content, size)
    expect("answer: reference is padded", len(plain) == size)
    sealed, = c("answer", packed(opener), number(status), content, number(size), nonce)
    expect("answer: same bytes", sealed == reference.seal_answer(opener, plain, nonce))
    expect("answer: the reference opens", reference.read_response(reference.open_answer(opener, sealed)) == (status, content))
    again = reference.seal_answer(opener, plain, draw.randbytes(32))
    expect("answer: C opens",
           c("answer_open", packed(opener), again, number(draw.choice([1, 17, 4096, 10 ** 6]))) == [number(status, 2), content])
    at = draw.randrange(len(again))
    changed = again[:at] + bytes([again[at] ^ 1 << draw.randrange(8)]) + again[at + 1:]
    expect("answer: C refuses a change", c("answer_open", packed(opener), changed, number(1000)) is None)


def singles(c, draw, gateway, public):
    identity, aead, ephemeral = draw.randrange(256), draw.choice([reference.AES, reference.CHACHA]), draw.randbytes(32)
    plain = reference.request(draw.randbytes(draw.randrange(300)))
    keys = reference.configuration((identity, public))
    sealed, opener = c("request", keys, number(aead), plain, ephemeral)
    ours, our_opener = reference.seal(identity, public, aead, plain, ephemeral=ephemeral)
    expect("request: same bytes", sealed == ours and opener == packed(our_opener))
    expect("request: the reference opens", reference.open_sealed(identity, gateway, sealed)[0] == plain)
    fresh, fresh_opener = reference.seal(identity, public, aead, plain)
    expect("request: C opens",
           c("request_open", gateway, bytes([identity]), fresh) == [number(200, 2), plain, packed(fresh_opener)])

    answer, nonce = reference.response(200, draw.randbytes(draw.randrange(1000)), 512), draw.randbytes(reference.key_size(aead))
    sealed, = c("response", packed(fresh_opener), answer, nonce)
    expect("response: same bytes", sealed == reference.seal_response(fresh_opener, answer, nonce))
    expect("response: the reference opens", reference.open_response(fresh_opener, sealed) == answer)
    again = reference.seal_response(fresh_opener, answer, draw.randbytes(reference.key_size(aead)))
    expect("response: C opens", c("response_open", packed(fresh_opener), again) == [answer])


def example(c):
    """SPEC 10.8: the document's bytes."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/SPEC.md"), encoding="utf-8") as file:
        section = re.search(r"^### 10\.8 Example$(.*?)^## ", file.read(), re.M | re.S).group(1)
    values, name = {}, None
    for name_here, digits in re.findall(r"^    ([a-z ]{16})([0-9a-f]+)$", section, re.M):
        name = name_here.strip() or name
        values[name] = values.get(name, b"") + bytes.fromhex(digits)
    message, opener = c("message", values["configuration"], values["epoch"], values["pack id"], values["release"],
                        values["ephemeral key"])
    expect("example: message", message == values["message"] and opener[2:34] == values["response secret"])
    opened = c("message_open", values["private key"], b"\1", values["epoch"], values["pack id"], message)
    expect("example: message opens", opened == [number(200, 2), values["release"], opener])
    answer, = c("answer", opener, number(200), values["content"], number(40), values["response nonce"])
    expect("example: answer", answer == values["answer"])
    expect("example: answer opens", c("answer_open", opener, answer, number(1)) == [number(200, 2), values["content"]])


def main():
    c, draw = C(), random.Random(10)
    example(c)
    for _ in range(ROUNDS):
        gateway = draw.randbytes(32)
        public = reference.public_key(gateway)
        identity, other = draw.randrange(256), reference.public_key(draw.randbytes(32))
        expect("keys: C takes the first", c("keys", reference.configuration((identity, public), (1, other))) ==
               [bytes([identity]), number(reference.CHACHA, 2), public])
        messages(c, draw, gateway, public)
        singles(c, draw, gateway, public)
    for name, count in counts.items():
        print(f"{count:5d}  {name}")
    c.process.stdin.close()
    sys.exit(c.process.wait())


main()
