"""Kept files of the way through a relay, and a kept PostgreSQL: read by servers of today."""
import json
import os
import struct

import sealed
from later import CROWD, NETWORK, QUERY
from postgres import Postgres, find_binaries
from relaying import BUNDLE, Gateway, Relay
from serving import Server


class Opener(sealed.Single):
    """What opens the answer to the kept request."""

    def __init__(self, kept):
        self.enc, self.secret = bytes.fromhex(kept["enc"]), bytes.fromhex(kept["secret"])
        _, self.size, self.cipher = sealed.AEADS[3]


def check_gateway(tester):
    """The kept key file gives the kept configuration, and opens the kept request: the answer is the kept one."""
    os.chmod(tester.path("gateway.keys"), 0o600)  # no repository keeps modes
    configuration, expected = tester.read("gateway.ohttp-keys"), tester.read("one-response.answer")
    listed = tester.json("kept keys", "keys", "gateway.keys", "--public", "again.ohttp-keys")
    tester.check([key["id"] for key in listed["keys"]] == [number for number, _ in sealed.read_keys(configuration)] and
                 tester.read("again.ohttp-keys") == configuration, "kept keys are published alike: %s" % listed)
    opener = Opener(json.loads(tester.read("one.opener")))
    kept = sealed.read_response(opener.open(tester.read("one.sealed-answer")))
    tester.check(kept == (200, expected), "the kept answer: %d" % kept[0])
    with Server(tester, "--ohttp-key", "gateway.keys", names=("one",), stores=["sqlite:one.gallery"]) as server:
        tester.check(server.request("GET", sealed.PATH).body == configuration, "served keys are the kept ones")
        reply = server.request("POST", sealed.PATH, tester.read("one.sealed"), sealed.SINGLE)
        tester.check(reply.status == 200 and sealed.read_response(opener.open(reply.body)) == (200, expected),
                     "the kept request: %d" % reply.status)
        tester.check(len(reply.body) == len(tester.read("one.sealed-answer")), "answers have the kept length")


def check_bundle(tester):
    """A relay takes the kept bundle for one of another epoch. With the open epoch's number in it, it is accepted."""
    bundle, pack = tester.read("one.bundle"), tester.read("one.pmpk")
    epoch, = struct.unpack_from(">Q", bundle)
    with Gateway(pack) as gateway:
        gateway.keys = tester.read("gateway.ohttp-keys")
        with Relay(tester, gateway.url, epoch=60) as relay:
            opened = relay.epoch(pack[8:24])["epoch"]
            path = "/v1/pack/%s/bundle" % pack[8:24].hex()
            status, _, reply = relay.request("POST", path, bundle, BUNDLE)
            said = json.loads(reply)
            tester.check(status == 409 and (said["error"], said["epoch"]) == ("epoch", opened) and epoch < opened,
                         "a kept bundle is of an old epoch: %d %s" % (status, said))
            status, _, reply = relay.request("POST", path, struct.pack(">Q", opened) + bundle[8:], BUNDLE)
            tester.check(status == 201 and json.loads(reply)["ticket"] == bundle[8:24].hex(),
                         "a kept bundle in the open epoch: %d %s" % (status, reply))


def check_record(tester):
    """The kept record of epochs: in no epoch up to that one is another bundle sent, and a later one is recorded."""
    name = "crowd.budget.%s.epoch" % tester.read("one.pmpk")[8:24].hex()
    query = ["query", "--pack", "one.pmpk", *QUERY, *CROWD, "--budget", "crowd.budget", "--keep", "one.kept", "--ohttp-keys",
             "gateway.ohttp-keys", "--wait", "5"]
    with Gateway(tester.read("one.pmpk")) as gateway:
        gateway.keys = tester.read("gateway.ohttp-keys")
        with Relay(tester, gateway.url, epoch=60, clients=100000) as relay:
            opened = relay.epoch(gateway.id)["epoch"]
            tester.write(name, b"%020d\n" % (opened + 1))
            tester.fails("an epoch that is recorded", NETWORK, ["already", "epoch %d" % opened], *query, "--relay", relay.url,
                         same=False)
            tester.write(name, tester.read("one.epoch"))
            sent = tester.run(*query, "--relay", relay.url)
            tester.check(sent.returncode == NETWORK and b"already" not in sent.stderr and
                         tester.read(name) == b"%020d\n" % opened > tester.read("one.epoch"),
                         "a kept record of epochs goes on: %s %s" % (tester.read(name), sent.stderr))


def check_own(tester):
    """own.json, which names the own messages of a bundle."""
    query = ["--pack", "one.pmpk", "--features", "queries.npy", "--row", "3"]
    whole = tester.json("rank", "decode", "one-response.answer", *query)
    own = tester.json("rank own ones", "decode", "one-response.answer", *query, "--own", "one.own.json")
    tester.check(whole["results"] and own["results"] == whole["results"], "the kept own.json: %s" % own)


def check_postgres(tester):
    """The kept dump, in a PostgreSQL of today: it answers, and goes on changing."""
    if not find_binaries():
        print("skipped: the kept PostgreSQL store (PostgreSQL is not installed)")
        return
    with Postgres() as database:
        database.query(tester.read("one.sql").decode())
        for release in ("one-response", "one-gaussian"):
            tester.succeeds("find in PostgreSQL", "find", "--release", release + ".cbor", "--pack", "one.pmpk", "--store",
                            database.uri(), "--out", "now.answer", "--force")
            tester.check(tester.read("now.answer") == tester.read(release + ".answer"), "PostgreSQL gives other bytes")
        tester.write("one_id.txt", b"3\n")
        done = tester.json("remove from PostgreSQL", "index", "--pack", "one.pmpk", "--store", database.uri(), "--remove",
                           "one_id.txt")
        tester.check(done["removed"] == 1, "a kept PostgreSQL store changes: %s" % done)


def check_sealed(tester):
    check_gateway(tester)
    check_bundle(tester)
    check_record(tester)
    check_own(tester)
    check_postgres(tester)
