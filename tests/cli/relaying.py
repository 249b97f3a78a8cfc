"""What the tests of the relay share: a gateway that can be told to fail, a running relay, clients over real sockets.

The gateway is written from SPEC 10.6 and knows no cryptography: to every message it replies with bytes that follow from
the message, so that a client can tell whether it got its own answer. What it does not open it cannot refuse, so these
tests see the relay alone; test_relay_real.py goes through the real gateway.
"""
import hashlib
import http.client
import http.server
import json
import os
import socket
import struct
import threading
import time

import flow
from serving import Service

MESSAGE, ANSWER = 24 + 1 + 1 + 104, 600
HEADER = bytes([1, 0x00, 0x20, 0x00, 0x01, 0x00, 0x03])
BUNDLE = {"Content-Type": "application/x-privatemail-bundle"}


def make_pack(tester):
    flow.make_collection(tester)
    tester.succeeds("pack", "pack", "--features", "public.npy", "--cells", "8", "--out", "crowd.pmpk")
    return tester.read("crowd.pmpk")


def answer_to(message, length=ANSWER):
    """Bytes that follow from the message and from nothing else."""
    seed = hashlib.sha256(message).digest()
    return (seed * (length // 32 + 1))[:length]


class Gateway:
    """SPEC 10.6, on a free port. `on_epoch` may change or delay an answer: it gets the request's number, the messages and
    the reply (status, head, answers), and returns a reply; None closes the connection without one."""

    def __init__(self, pack, length=ANSWER):
        self.pack, self.id, self.length = pack, pack[8:24], length
        self.keys = struct.pack(">HBH", 45, 1, 0x20) + os.urandom(32) + bytes([0, 8, 0, 1, 0, 3, 0, 1, 0, 1])
        self.requests = []              # (epoch, [message, …], when it came)
        self.digest, self.on_epoch, self.serves = b"gallery1", None, True
        self.lock = threading.Lock()
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                gateway.get(self)

            def do_POST(self):
                gateway.post(self)

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def go(self):
        """Nobody listens at its address any more, and no other program gets it."""
        self.__exit__()
        self.place = socket.socket()
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(self.server.server_address)

    def send(self, handler, status, kind, body):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def get(self, handler):
        path = "/v1/pack/" + self.id.hex()
        if handler.path == "/.well-known/ohttp-gateway":
            self.send(handler, 200, "application/ohttp-keys", self.keys)
        elif handler.path == path and self.serves:
            self.send(handler, 200, "application/octet-stream", self.pack)
        elif handler.path == path + "/gallery" and self.serves:
            self.send(handler, 200, "application/json", json.dumps(
                {"pack": self.id.hex(), "sealed": {"message": MESSAGE, "answer": self.length}}).encode())
        else:
            self.send(handler, 404, "application/json", b"{}")

    def post(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        if len(body) < int(handler.headers["Content-Length"]):
            handler.close_connection = True     # the relay gave up
            return
        epoch, pack, count, size = struct.unpack_from(">Q16sII", body)
        messages = [body[32 + i * size:32 + (i + 1) * size] for i in range(count)]
        sound = (handler.headers["Content-Type"] == "application/x-privatemail-epoch" and pack == self.id and
                 size == MESSAGE and 1 <= count <= 1024 and len(body) == 32 + count * size)
        with self.lock:
            number = len(self.requests)
            self.requests.append((epoch, messages if sound else None, time.monotonic()))
        head = [epoch, pack, self.digest, count, self.length]
        reply = 200, head, b"".join(answer_to(message, self.length) for message in messages)
        if self.on_epoch:
            reply = self.on_epoch(number, messages, reply)
        if reply is None:
            handler.close_connection = True
            return
        status, head, answers = reply
        self.send(handler, status, "application/x-privatemail-answers", struct.pack(">Q16s8sII", *head) + answers)

    def messages(self, epoch=None):
        """All messages that came, in their order; of one epoch."""
        return [message for number, messages, _ in self.requests if epoch in (None, number) for message in messages]


def request_on(connection, method, path, body=None, headers=None):
    """(status, headers, body) of the only request on a connection."""
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


class Relay(Service):
    """privatemail relay, in front of a gateway's URL."""

    def __init__(self, tester, url, *options, epoch=1, clients=2, listen="127.0.0.1:0", prefix=(), environment=None):
        arguments = [*prefix, tester.program, "relay", "--gateway", url, "--epoch", epoch, "--clients", clients,
                     "--listen", listen, "--json", *options]
        super().__init__(tester, "relay", arguments, environment)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def request(self, method, path, body=None, headers=None):
        return request_on(http.client.HTTPConnection(self.host, self.port, timeout=60), method, path, body, headers)

    def json(self, path):
        status, _, body = self.request("GET", path)
        if status != 200:
            raise AssertionError("%s: %d %r" % (path, status, body))
        return json.loads(body)

    def epoch(self, pack):
        return self.json("/v1/pack/%s/epoch" % pack.hex())

    def metric(self, name):
        text = self.request("GET", "/metrics")[2].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.split("\n") if line.startswith("privatemail_" + name))


def new_message():
    return HEADER + os.urandom(MESSAGE - len(HEADER))


class Client:
    """One bundle: its ticket, its messages, what became of them."""

    def __init__(self, relay, pack, epoch, count=1, messages=None, ticket=None):
        self.relay, self.path = relay, "/v1/pack/%s/bundle" % pack.hex()
        self.epoch, self.ticket = epoch, ticket or os.urandom(16)
        self.messages = [new_message() for _ in range(count)] if messages is None else messages

    def bytes(self):
        return struct.pack(">Q", self.epoch) + self.ticket + b"".join(self.messages)

    def post(self, body=None, **headers):
        status, _, reply = self.relay.request("POST", self.path, self.bytes() if body is None else body,
                                              dict(BUNDLE, **headers))
        return status, json.loads(reply)

    def get(self, wait=0, index=None):
        path = "/v1/ticket/%s%s?wait=%d" % (self.ticket.hex(), "" if index is None else "/%d" % index, wait)
        return self.relay.request("GET", path)

    def collect(self, seconds=60):
        """Long polls until there is something else than 202."""
        end = time.monotonic() + seconds
        while True:
            status, headers, body = self.get(wait=5)
            if status != 202 or time.monotonic() > end:
                return status, body

    def is_own(self, body, length=ANSWER):
        return body == b"".join(answer_to(message, length) for message in self.messages)


def crowd(relay, pack, sizes):
    """Posts bundles of these sizes in the open epoch. A client that came just too late seals again, as clients do."""
    clients = []
    for size in sizes:
        for _ in range(3):
            client = Client(relay, pack, relay.epoch(pack)["epoch"], size)
            status, told = client.post()
            if status != 409:
                break
        if status != 201:
            raise AssertionError("a bundle was refused: %d %s" % (status, told))
        clients.append(client)
    return clients
