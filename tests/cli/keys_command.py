"""privatemail keys: making, adding and dropping, and what it refuses."""
import os
import re
import subprocess

from harness import INPUT, OUTPUT, USAGE, read_schemas, schema_faults
from sealed import read_keys


def listed(tester, *arguments):
    document = tester.json("keys", "keys", *arguments)
    faults = schema_faults(read_schemas()["keys"], document)
    tester.check(not faults, "keys: %s" % faults)
    return [key["id"] for key in document["keys"]]


def private_parts(tester, name):
    """The private keys of a file, newest first, by OpenSSL's own command, with their public keys."""
    found = []
    for block in re.findall(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n", tester.read(name), re.S):
        shown = [subprocess.run(["openssl", "pkey", *form, "-outform", "DER"], input=block, capture_output=True,
                                check=True).stdout[-32:] for form in ((), ("-pubout",))]
        found.append(shown)
    return found


def test_keys(tester):
    made = tester.succeeds("keys", "keys", "--out", "a.keys", "--public", "a.public")
    mode = os.stat(tester.path("a.keys")).st_mode & 0o777
    tester.check(mode == 0o600, "only the owner can read it: %o" % mode)
    (secret, public), = private_parts(tester, "a.keys")
    first, = listed(tester, "a.keys")
    tester.check(read_keys(tester.read("a.public")) == [(first, public)], "the configuration has OpenSSL's public key")
    tester.check(secret.hex().encode() not in made.stdout and b"BEGIN" not in made.stdout and
                 re.fullmatch(rb"key \d+, made [\dT:-]+Z: clients seal for this one\n", made.stdout),
                 "nothing private is shown: %s" % made.stdout)
    tester.check(listed(tester, "a.keys", "--add", "--public", "b.public") == [(first + 1) % 256, first], "in front")
    tester.check([key for key, _ in read_keys(tester.read("b.public"))] == [(first + 1) % 256, first], "also for clients")
    tester.check(private_parts(tester, "a.keys")[1] == [secret, public], "the old key is the old one")
    tester.check(os.stat(tester.path("a.keys")).st_mode & 0o777 == 0o600, "still only the owner")
    tester.check(listed(tester, "a.keys", "--drop", first) == [(first + 1) % 256], "dropped")
    tester.check(secret not in b"".join(sum(private_parts(tester, "a.keys"), [])), "destroyed")
    tester.check(listed(tester, "a.keys", "--add", "--drop", (first + 1) % 256) == [(first + 2) % 256], "both at once")
    for _ in range(7):
        tester.succeeds("more", "keys", "a.keys", "--add")
    tester.fails("a ninth", USAGE, ["8 keys"], "keys", "a.keys", "--add")


def test_refusals(tester):
    tester.succeeds("keys", "keys", "--out", "c.keys")
    own, = listed(tester, "c.keys")
    tester.fails("never replaced", OUTPUT, ["c.keys", "exists"], "keys", "--out", "c.keys")
    tester.fails("nor that for clients", OUTPUT, ["a.public", "exists"], "keys", "--out", "d.keys", "--public", "a.public")
    tester.fails("nor the keys by it", USAGE, ["--public"], "keys", "c.keys", "--public", "./c.keys")
    tester.fails("neither", USAGE, ["--out"], "keys")
    tester.fails("both", USAGE, ["--out"], "keys", "c.keys", "--out", "d.keys")
    tester.fails("new and add", USAGE, ["--add"], "keys", "--out", "d.keys", "--add")
    tester.fails("the only key", USAGE, ["only key"], "keys", "c.keys", "--drop", own)
    tester.fails("no such key", USAGE, ["has no key"], "keys", "c.keys", "--drop", (own + 1) % 256)
    tester.fails("no such key", USAGE, ["has no key 256"], "keys", "c.keys", "--drop", 256)
    tester.fails("no such file", INPUT, ["none.keys"], "keys", "none.keys")
    good = tester.read("c.keys")
    head = good[:good.index(b"-----")]
    other = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], capture_output=True, check=True).stdout
    locked = subprocess.run(["openssl", "genpkey", "-algorithm", "x25519", "-aes256", "-pass", "pass:x"],
                            capture_output=True, check=True).stdout
    for what, content in (("empty", b""), ("comments", b"# nothing\n\n"), ("twice", good + good),
                          ("no head", good[good.index(b"-----"):]), ("cut", good[:-40]), ("another kind", head + other),
                          ("a passphrase", head + locked), ("a bad id", good.replace(b"key ", b"key 7")[:-1] + b"x"),
                          ("id 256", re.sub(rb"key \d+", b"key 256", good)), ("a bad date", good.replace(b"Z\n", b"\n")),
                          ("too long", good + b"#" * 20000), ("zeros", bytes(100))):
        tester.write("bad.keys", content)
        os.chmod(tester.path("bad.keys"), 0o600)
        done = tester.fails(what, INPUT, ["bad.keys"], "keys", "bad.keys")
        tester.check(b"BEGIN" not in done.stderr and good[-60:-40] not in done.stderr, what + ": shows nothing")
    os.chmod(tester.path("c.keys"), 0o644)
    tester.fails("everybody can read it", INPUT, ["chmod"], "keys", "c.keys")
    os.chmod(tester.path("c.keys"), 0o640)
    listed(tester, "c.keys")
