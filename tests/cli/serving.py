"""What the tests of the service share: a gallery, a running server, requests over real sockets."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

import numpy as np

import flow
from harness import OWN, ROOT, WHOLE, wait_until

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
import reference_server  # noqa: E402

NETWORK = 8
CBOR = {"Content-Type": "application/cbor"}
QUERY = ["--features", "query.npy", "--labels", "query_labels.npy"]
PLAIN = ["--plain-sketches"]


def make_galleries(tester, *options):
    """Two packs of one collection, each with a store; payloads for some items; releases of both mechanisms. Options of the
    packs."""
    flow.make_collection(tester)
    os.mkdir(tester.path("payloads"))
    for i in range(0, 200, 2):
        tester.write("payloads/%d.bin" % i, b"payload of %d" % i * (i % 7))
    for name, seed in (("p", 3), ("old", 4)):
        tester.succeeds("pack", "pack", "--features", "public.npy", "--labels", "labels.npy", "--seed", seed,
                        *WHOLE, *options, "--out", name + ".pmpk")
        tester.check(answer_form(tester, name) == ((1, 16) if options else (2, 14)), "the kind of sketches of " + name)
        tester.succeeds("index", "index", "--pack", name + ".pmpk", "--features", "public.npy", "--labels",
                        "labels.npy", "--payloads", "payloads", *OWN, "--store", "sqlite:%s.store" % name)
        for mechanism in ("response", "gaussian"):
            tester.succeeds("release", "privatize", "--pack", name + ".pmpk", *QUERY, "--epsilon", "8",
                            "--mechanism", mechanism, "--out", "%s-%s.cbor" % (name, mechanism))


def pack_id(tester, name="p"):
    return tester.read(name + ".pmpk")[8:24].hex()


def answer_form(tester, name="p"):
    """(version of answers, bytes of a sketch) of a pack."""
    data = tester.read(name + ".pmpk")
    return 2 if data[6] == 5 else 1, int.from_bytes(data[78:80], "little")


def reference_gallery(tester, name="p"):
    payloads = [b"payload of %d" % i * (i % 7) if i % 2 == 0 else b"" for i in range(200)]
    return reference_server.Gallery(tester.read(name + ".pmpk"), np.load(tester.path("public.npy")),
                                    np.load(tester.path("labels.npy")), payloads=payloads)


class Service:
    """A command that serves on a free port until it is stopped, and says with --json where; its log is in `log`."""

    def __init__(self, tester, name, arguments, environment=None):
        # Not in the tester's folder, which must stay as it is while a command fails.
        self.tester, self.name, self.log_file = tester, name, tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen([str(argument) for argument in arguments], cwd=tester.folder,
                                        stdout=subprocess.PIPE, stderr=self.log_file, env=environment)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the %s did not start: %s" % (name, self.log()))
        self.told = json.loads(line)
        self.address = self.told["listen"]
        self.host, port = self.address.rsplit(":", 1)
        self.port, self.url = int(port), "http://" + self.address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.log_file.close()

    def log(self):
        with open(self.log_file.name, encoding="utf-8") as stream:
            return stream.read()

    def wait_for_log(self, part, seconds=60):
        return wait_until(lambda: part in self.log(), seconds)

    def stop(self, seconds=60):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=seconds)
        self.tester.check(code == 0, "the %s stops with exit code %d: %s" % (self.name, code, self.log()[-2000:]))


class Server(Service):
    """privatemail serve. `stores`: URIs instead of the packs' files; `prefix`: a command that runs it."""

    def __init__(self, tester, *options, names=("p",), stores=None, listen="127.0.0.1:0", prefix=()):
        arguments = [*prefix, tester.program, "serve", "--listen", listen, "--json"]
        for name in names:
            arguments += ["--pack", name + ".pmpk"]
        for uri in stores or ["sqlite:%s.store" % name for name in names]:
            arguments += ["--store", uri]
        super().__init__(tester, "server", arguments + list(options))

    def request(self, method, path, body=None, headers=None, **options):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            return ask(connection, method, path, body, headers or {}, **options)
        finally:
            connection.close()

    def post(self, body, **headers):
        return self.request("POST", "/v1/query", body, dict(CBOR, **headers))

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=30)

    def metric(self, name):
        text = self.request("GET", "/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.split("\n") if line.startswith("privatemail_" + name))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def error(self):
        """The name of an error, whose document must be as SPEC 7 says; None when it is not."""
        with contextlib.suppress(ValueError, KeyError):
            document = json.loads(self.body)
            if self.headers["Content-Type"] == "application/json" and document["message"].endswith("."):
                return document["error"]
        return None


def ask(connection, method, path, body=None, headers=None, **options):
    connection.request(method, path, body, headers or {}, **options)
    response = connection.getresponse()
    return Answer(response.status, response.headers, response.read())


def raw_post(body, extra=""):
    return ("POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\nContent-Length: %d\r\n%s\r\n"
            % (len(body), extra)).encode() + body


def read_all(connection, seconds=30):
    """What comes until the other side closes; None when it does not."""
    connection.settimeout(seconds)
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    except socket.timeout:
        return None
    return data
