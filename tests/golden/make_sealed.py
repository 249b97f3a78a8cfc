#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden sealed messages and answers, which C, Java and Swift must make and open alike: by other people's HPKE.

    build/venv/bin/python tests/golden/make_sealed.py [--check]

Writes tests/golden/sealed.txt and sealed_vectors.h; --check compares them instead.
"""
import hashlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "transport"))
import reference_transport as reference  # noqa: E402

HEAD = """\
# Sealed messages and their answers (docs/SPEC.md, 10.3 and 10.4), made by tests/golden/make_sealed.py. Bytes are
# hexadecimal digits. Fields of a line, between tabs:
# id  gateway's private key  epoch  pack  release  ephemeral private key  message  response nonce  status  content  answer
"""
# id of the key, epoch, bytes of the release, status, bytes of content, A
CASES = [(7, 1_790_000_000, 27, 200, 300, 512), (0, 1, 1, 200, 0, 4096), (255, 2**63, 46, 200, 9000, 9010),
         (1, 1_800_000_123, 63, 409, 60, 4097), (2, 1_800_000_124, 64, 200, 4090, 8192)]


def some(name, size):
    return hashlib.shake_128(name.encode()).digest(size)


def lines():
    for case, (number, epoch, release_size, status, content_size, size) in enumerate(CASES):
        secret, ephemeral, pack = (some(f"{what} {case}", count) for what, count in
                                   (("secret", 32), ("ephemeral", 32), ("pack", 16)))
        release, content, nonce = (some(f"{what} {case}", count) for what, count in
                                   (("release", release_size), ("content", content_size), ("nonce", 32)))
        message, opener = reference.seal(number, reference.public_key(secret), reference.CHACHA,
                                         reference.request(release, epoch), epoch, pack, ephemeral)
        answer = reference.seal_answer(opener, reference.response(status, content, size), nonce)
        yield [str(number), secret.hex(), str(epoch), pack.hex(), release.hex(), ephemeral.hex(), message.hex(),
               nonce.hex(), str(status), content.hex(), answer.hex()]


def header(rows):
    out = """/* SPDX-License-Identifier: Apache-2.0
 * Made by tests/golden/make_sealed.py from the same numbers as sealed.txt. */
/* clang-format off */
#include <stddef.h>
#include <stdint.h>

struct golden_bytes {
    const uint8_t *bytes;
    size_t size;
};

static const struct golden_sealed {
    uint8_t id;
    struct golden_bytes secret;
    uint64_t epoch;
    struct golden_bytes pack, release, ephemeral, message, nonce;
    unsigned status;
    struct golden_bytes content, answer;
} golden_sealed[] = {
"""
    for row in rows:
        fields = [row[0], array(row[1]), row[2] + "u", *map(array, row[3:8]), row[8], *map(array, row[9:])]
        out += "    {" + ",\n     ".join(fields) + "},\n"
    return out + "};\n"


def array(digits):
    values = [str(byte) for byte in bytes.fromhex(digits)] or ["0"]
    rows = [",".join(values[at:at + 32]) for at in range(0, len(values), 32)]
    return "{(const uint8_t[]){" + ",\n       ".join(rows) + f"}}, {len(digits) // 2}}}"


def main():
    rows = list(lines())
    files = {"sealed.txt": HEAD + "".join("\t".join(row) + "\n" for row in rows), "sealed_vectors.h": header(rows)}
    for name, content in files.items():
        if "--check" in sys.argv[1:]:
            if (FOLDER / name).read_text() != content:
                sys.exit(f"tests/golden/{name} is not what make_sealed.py makes")
        else:
            (FOLDER / name).write_text(content)
    print(f"{len(rows)} sealed messages and answers")


main()
