"""docs/openapi.yaml is valid, and the service is what it says: every route, method and status, nothing else."""
import contextlib
import json
import os
import re
import signal
import socket
import time

import jsonschema
import openapi_spec_validator
import yaml

from harness import ROOT, wait_until
from sealed import EPOCH, PATH, SINGLE, Message, Single, batch, binary_request, crowd_release, read_keys
from serve_hostile import asked_anew, begin_request
from served_parts import describe
from serving import CBOR, Answer, Server, pack_id, raw_post, read_all


class Document:
    def __init__(self):
        with open(os.path.join(ROOT, "docs", "openapi.yaml"), encoding="utf-8") as stream:
            self.tree = yaml.safe_load(stream)
        self.seen = set()

    def look(self, node):
        while "$ref" in node:
            path, node = node["$ref"], self.tree
            for name in path[2:].split("/"):
                node = node[name]
        return node

    def expected(self):
        """All (path, method, status) there are; 405 is of the path."""
        found = set()
        for path, item in self.tree["paths"].items():
            for method, operation in item.items():
                if method != "parameters":
                    found |= {(path, method if status != "405" else "other", int(status)) for status in operation["responses"]}
        return found

    def faults(self, path, method, answer):
        """What is wrong with an answer."""
        item = self.tree["paths"][path]
        documented = item.get(method) or next(item[name] for name in ("get", "post") if name in item)
        if str(answer.status) not in documented["responses"]:
            return ["status %d is not documented" % answer.status]
        self.seen.add((path, method if answer.status != 405 else "other", answer.status))
        response, faults = self.look(documented["responses"][str(answer.status)]), []
        for name, header in response.get("headers", {}).items():
            if name not in answer.headers:
                faults.append("no " + name)
            else:
                jsonschema.validate(answer.headers[name], header["schema"])
        contents, kind = response.get("content"), (answer.headers["Content-Type"] or "").split(";")[0]
        if contents and kind not in contents:
            faults.append("type %s" % kind)
        elif not contents and answer.body:
            faults.append("a body")
        elif kind.endswith("json") and method != "head":
            # A whole document, so that its references are found.
            schema = dict(contents[kind]["schema"], components=self.tree["components"])
            faults += [error.message for error in
                       jsonschema.Draft202012Validator(schema).iter_errors(json.loads(answer.body))]
        return faults


def parse(data):
    """A whole answer as it was sent; status 0 when nothing came."""
    if not data:
        return Answer(0, {}, b"")
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")

    class Fields(dict):
        def __missing__(self, name):
            return None
    return Answer(int(lines[0].split()[1]), Fields(line.split(": ", 1) for line in lines[1:]), body)


def requests_of(tester, server, document):
    """(path of the document, method, path, body, header fields)"""
    release, own = tester.read("p-response.cbor"), pack_id(tester)
    told = describe(server, own)
    version, length = told["version"], told["sealed"]["answer"]
    other = bytearray(release)
    other[6] ^= 1
    yield from (("/v1/query", "post", "/v1/query", body, headers) for body, headers in (
        (release, CBOR), (release, dict(CBOR, Accept="application/json")), (b"x", CBOR), (bytes(other), CBOR),
        (bytes(65537), CBOR), (release, {"Content-Type": "text/plain"})))
    for name, path, tag, wrong in (
            ("/v1/pack/{id}", "/v1/pack/" + own, own, "/v1/pack/" + own[::-1]),
            ("/v1/pack/{id}/gallery", "/v1/pack/%s/gallery" % own, "%s.%d" % (version, length), "/v1/pack/%s/gallery" % own[::-1]),
            ("/v1/part/{name}", "/v1/part/" + version, version, "/v1/part/" + version[::-1])):
        for method in ("get", "head"):
            yield name, method, path, None, {}
            yield name, method, path, None, {"If-None-Match": '"%s"' % tag}
            yield name, method, wrong, None, {}
            yield name, method, path, None, {"X": "\x01"}
            if name == "/v1/pack/{id}":
                yield name, method, path, None, {"Range": "bytes=0-9"}
                yield name, method, path, None, {"Range": "bytes=99999999-"}
        yield name, "delete", path, None, {}
    for path in ("/v1/packs", "/healthz", "/metrics"):
        for method in ("get", "head", "delete"):
            yield path, method, path, None, {}
            yield path, "head" if method == "head" else "get", path, None, {"X": "\x01"}
    yield "/v1/query", "get", "/v1/query", None, {}


def sealed_requests(tester, server):
    """The same for the gateway's path."""
    pack, (key, *_), now = bytes.fromhex(pack_id(tester)), read_keys(server.request("GET", PATH).body), int(time.time())
    release = crowd_release(pack, 5, 8, 0, 0)
    single, message = Single(key, binary_request(release)).bytes, Message(key, now, pack, release).bytes
    yield from ((PATH, "post", PATH, body, headers) for body, headers in (
        (single, SINGLE), (single[:-1], SINGLE), (bytes([single[0] ^ 1]) + single[1:], SINGLE), (single, CBOR),
        (batch(now, pack, [message]), EPOCH), (batch(now, pack, [message], count=2), EPOCH),
        (batch(now, bytes(16), [message]), EPOCH), (batch(0, pack, [message]), EPOCH), (bytes(262177), EPOCH)))
    for method in ("get", "head", "delete"):
        yield PATH, method, PATH, None, {}
        yield PATH, "head" if method == "head" else "get", PATH, None, {"X": "\x01"}


def send_late(server, release):
    """What is said to requests whose bodies come too slowly: a byte now and then, or the connection counts as idle."""
    connections = [(path, server.connect()) for path in ("/v1/query", PATH)]
    for path, connection in connections:
        connection.sendall(raw_post(release).replace(b"/v1/query", path.encode())[:-len(release)])
    for i in range(8):
        for _, connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(release[i:i + 1])
        time.sleep(0.7)
    answers = [(path, parse(read_all(connection, 20))) for path, connection in connections]
    for _, connection in connections:
        connection.close()
    return answers


def check_late(tester, document, server):
    """408: a request that does not arrive. A client that was held up itself has been idle, and hears nothing: once more."""
    for _ in range(3):
        answers = send_late(server, tester.read("p-response.cbor"))
        if all(answer.status for _, answer in answers):
            break
    for path, answer in answers:
        tester.check(answer.status == 408 and not document.faults(path, "post", answer), "408: %d" % answer.status)


def check_stopping(tester, document, server):
    """503: a service that is stopping."""
    methods = ("GET", "HEAD")
    waiting = [begin_request(server, ("%s /healthz HTTP/1.1\r\nHost: x\r\n\r" % method).encode(), others)
               for others, method in enumerate(methods)]
    waiting.append(begin_request(server, raw_post(tester.read("p-response.cbor")), len(waiting)))
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: asked_anew(server) == b"")
    for method, connection in zip(methods, waiting):
        connection.sendall(b"\r\n")
        answer = parse(read_all(connection, 20))
        faults = document.faults("/healthz", method.lower(), answer)
        tester.check(answer.status == 503 and not faults, "%s while stopping: %d, %s" % (method, answer.status, faults))
    for connection in waiting:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


def run_all(tester):
    document = Document()
    try:
        openapi_spec_validator.validate(document.tree)
        tester.check(True, "docs/openapi.yaml is valid")
    except Exception as error:  # whatever it says
        tester.check(False, "docs/openapi.yaml: %s" % error)
    tester.succeeds("keys", "keys", "--out", "openapi.keys")
    with Server(tester, "--ohttp-key", "openapi.keys", "--timeout", "4", "--connections", "20", "--threads", "2") as server:
        routes = set(re.findall(r'request_seconds_count{route="(/[^"]+)"}', server.request("GET", "/metrics").body.decode()))
        named = {re.sub(r"{(\w+)}", lambda word: word[1].upper(), path) for path in document.tree["paths"]}
        tester.check(routes == named, "all routes are documented: %s" % (routes ^ named))
        for name, method, path, body, headers in [*requests_of(tester, server, document), *sealed_requests(tester, server)]:
            answer = server.request(method.upper(), path, body, headers)
            faults = document.faults(name, method, answer)
            tester.check(not faults, "%s %s: %s" % (method, path, faults))
        check_late(tester, document, server)
    with Server(tester, "--ohttp-key", "openapi.keys") as server:
        check_stopping(tester, document, server)
    # A query that is told to come later: of too many connections, or of a store that fails (tests/cli/test_faults.py).
    with Server(tester, "--ohttp-key", "openapi.keys", "--connections", "2", "--threads", "2") as server:
        held = [server.connect() for _ in range(20)]
        wait_until(lambda: server.metric("connections ") >= 20)
        answer = server.post(tester.read("p-response.cbor"))
        tester.check(answer.status == 503 and not document.faults("/v1/query", "post", answer), "503: %d" % answer.status)
        answer = server.request("POST", PATH, b"x", SINGLE)
        tester.check(answer.status == 503 and not document.faults(PATH, "post", answer), "sealed: %d" % answer.status)
        for connection in held:
            connection.close()
    with Server(tester) as server:
        for method in ("get", "head", "post"):
            answer = server.request(method.upper(), PATH)
            tester.check(answer.status == 404 and not document.faults(PATH, method, answer), "no keys: %d" % answer.status)
    left = {each for each in document.expected() - document.seen if each[:1] != ("/v1/part/{name}",) or each[2] != 503}
    tester.check(not left, "documented, but never answered: %s" % sorted(left))
