"""The examples of docs/examples that nginx reads: a published folder, certificates of devices, tokens."""
import contextlib
import hashlib
import http.client
import http.server
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading

from crowd import Front
from harness import ROOT, wait_until
from postgres import free_port
from serving import Server, ask, pack_id

EXAMPLES = os.path.join(ROOT, "docs", "examples")
FOR_EVER, SECONDS = "public, max-age=31536000, immutable", "public, max-age=5"
LOGS = "/var/log/nginx/"


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def new_folder():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield folder


def read_text(*names):
    with open(os.path.join(*names), encoding="utf-8") as stream:
        return stream.read()


# ---- a published folder ----

class GalleryFront(Front):
    example, host = "nginx-gallery.conf", "gallery.example"

    def __init__(self, folder, shown):
        self.shown = shown
        super().__init__(folder, [])

    def adapt(self, text, ports, rate):
        return text, (("/srv/privatemail/shown", self.shown), (LOGS, self.folder + "/"))

    def status(self, method, path):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=10, context=self.tls)
        try:
            return ask(connection, method, path).status
        finally:
            connection.close()


def write_file(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(content)


def make_folder(folder):
    """What SPEC 9 says of dir:, with everything in it that must not be served. Returns (pointer's path, part's path)."""
    part = b"a part" * 100
    name, pack = hashlib.sha256(part).hexdigest(), "0123456789abcdef" * 2
    write_file(folder + "/part/" + name, part)
    write_file(folder + "/private/" + name, b"features")
    write_file(folder + "/new/" + name, b"half of a p")
    write_file(folder + "/lock", b"")
    write_file(folder + "/gallery/" + pack, json.dumps({"pack": pack, "version": name}).encode())
    os.symlink("/etc/hostname", folder + "/part/" + "0" * 64)
    return "/gallery/" + pack, "/part/" + name


def test_folder(tester):
    with new_folder() as folder:
        pointer, part = make_folder(folder + "/shown")
        with GalleryFront(folder, folder + "/shown") as front:
            got = front.get(pointer)
            tester.check(got.status == 200 and got.headers["Cache-Control"] == SECONDS and
                         got.headers["Content-Type"] == "application/json" and "version" in json.loads(got.body),
                         "the pointer: %d %s" % (got.status, got.headers))
            got = front.get(part)
            tester.check(got.status == 200 and got.headers["Cache-Control"] == FOR_EVER and
                         hashlib.sha256(got.body).hexdigest() == part[6:], "a part: %d %s" % (got.status, got.headers))
            again = front.get(part, **{"If-None-Match": got.headers["ETag"]})
            tester.check(again.status == 304, "a part that is known: %d" % again.status)
            name = part[6:]
            for path in ("/private/" + name, "/new/" + name, "/lock", "/part/", "/part", "/gallery/", "/", "/part/" + name + "0",
                         "/part/../private/" + name, "/part/%2e%2e/private/" + name, "/part/" + name.upper(),
                         "/gallery/../lock", "/part/" + "f" * 64):
                got = front.get(path)
                tester.check(got.status == 404 and b"features" not in got.body, "%s: %d" % (path, got.status))
            tester.check(front.status("GET", "/part/" + "0" * 64) == 403, "a link is not followed")
            for method in ("PUT", "DELETE", "POST"):
                tester.check(front.status(method, part) in (403, 405), method + " is refused")
            tester.check(front.status("HEAD", part) == 200, "HEAD")
        told = read_text(folder, "gallery.log") + read_text(folder, "gallery.error.log")
        tester.check(len(told) > 0 and name not in told and "/part" not in told and "127.0.0.1" not in
                     read_text(folder, "gallery.log"), "logs have no names of parts: %s" % told[-500:])


# ---- certificates and tokens ----

AUTHORITY = """[ca]
default_ca = devices
[devices]
database = index.txt
certificate = devices.pem
private_key = devices.key
default_md = sha256
default_crl_days = 2
default_days = 2
new_certs_dir = .
serial = serial
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def make_certificates(folder):
    """An authority of devices and its list of revoked ones; a device, one that was revoked, and a stranger's."""
    for name in ("devices", "stranger-authority"):
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=" + name, "-keyout", name + ".key", "-out", name + ".pem")
    write_file(folder + "/ca.conf", AUTHORITY.encode())
    write_file(folder + "/index.txt", b"")
    write_file(folder + "/serial", b"01\n")
    for name, authority in (("device", "devices"), ("lost", "devices"), ("stranger", "stranger-authority")):
        openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
                "-keyout", name + ".key", "-out", name + ".csr")
        openssl(folder, "ca", "-batch", "-config", "ca.conf", "-cert", authority + ".pem", "-keyfile", authority + ".key",
                "-in", name + ".csr", "-out", name + ".pem", "-notext")
    openssl(folder, "ca", "-config", "ca.conf", "-revoke", "lost.pem")
    openssl(folder, "ca", "-config", "ca.conf", "-gencrl", "-out", "devices.crl")


class AuthFront(Front):
    example, host = "nginx-auth.conf", "search.example"

    def __init__(self, folder, ports, tokens_port):
        self.tokens_port, self.token_port = tokens_port, free_port()
        make_certificates(folder)
        super().__init__(folder, ports)

    def adapt(self, text, ports, rate):
        text, more = super().adapt(text, ports, rate)
        return text, (("127.0.0.1:8070", "127.0.0.1:%d" % self.tokens_port), (LOGS, self.folder + "/"),
                      ("/etc/privatemail/", self.folder + "/"),
                      ("listen 8443 ssl", "listen 127.0.0.1:%d ssl" % self.token_port))

    def curl(self, port, path, *options):
        """(status, body); status 0 when there is no answer."""
        with tempfile.NamedTemporaryFile() as body:
            done = subprocess.run(["curl", "--silent", "--noproxy", "*", "--cacert", "certificate.pem", "--output", body.name,
                                   "--write-out", "%{http_code}", *options, "https://localhost:%d%s" % (port, path)],
                                  cwd=self.folder, capture_output=True, text=True, timeout=30)
            return int(done.stdout or 0), body.read()


class Tokens:
    """The example that knows tokens."""

    def __init__(self, path):
        self.port = free_port()
        self.process = subprocess.Popen([sys.executable, os.path.join(EXAMPLES, "privatemail-tokens.py"), path, str(self.port)],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wait_until(self.listens, 60)

    def listens(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=10):
            return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.said = self.process.communicate(timeout=20)[0]


def test_certificates(tester, front, release, expected):
    def post(who, *options):
        given = ["--cert", who + ".pem", "--key", who + ".key"] if who else []
        return front.curl(front.port, "/v1/query", *given, *options, "-H", "Content-Type: application/cbor", "--data-binary",
                          "@" + release)
    tester.check(post("device") == (200, expected), "a device is let in")
    for who in (None, "stranger", "lost"):
        status, body = post(who)
        tester.check(status in (0, 400) and body != expected, "%s is refused: %d" % (who or "nobody", status))
    tester.check(post("device", "--tls-max", "1.2")[0] == 0, "TLS 1.2 would show the certificate")
    device = ["--cert", "device.pem", "--key", "device.key"]
    tester.check(front.curl(front.port, "/v1/pack/" + pack_id(tester), *device) == (200, tester.read("p.pmpk")), "the pack")
    for path in ("/metrics", "/healthz", "/v1/part/" + "0" * 64, "/token", "/"):
        tester.check(front.curl(front.port, path, *device)[0] == 404, path + " stays inside")


def test_tokens(tester, front, release, expected, tokens):
    """tokens: (file, a token in it)"""
    path, token = tokens

    def post(*options):
        return front.curl(front.token_port, "/v1/query", *options, "-H", "Content-Type: application/cbor", "--data-binary",
                          "@" + release)

    def bearer(text):
        return "-H", "Authorization: Bearer " + text
    tester.check(post(*bearer(token)) == (200, expected), "who has a token is let in")
    refused = [(), bearer(token[:-1]), bearer(""), bearer(secrets.token_hex(16)), ("-u", "user:" + token),
               bearer(hashlib.sha256(token.encode()).hexdigest())]
    for options in refused:
        status, body = post(*options)
        tester.check(status == 401 and body != expected, "%s is refused: %d" % (options, status))
    address = "/v1/pack/" + pack_id(tester)
    tester.check(front.curl(front.token_port, address)[0] == 401, "the pack is not for strangers")
    tester.check(front.curl(front.token_port, address, *bearer(token)) == (200, tester.read("p.pmpk")), "the pack")
    for inside in ("/metrics", "/healthz", "/v1/part/" + "0" * 64, "/token", "/"):
        tester.check(front.curl(front.token_port, inside, *bearer(token))[0] == 404, inside + " stays inside")
    later = secrets.token_hex(16)
    tester.check(post(*bearer(later))[0] == 401, "a token that is not known yet")
    with open(path, "a", encoding="ascii") as stream:
        stream.write(hashlib.sha256(later.encode()).hexdigest() + "  # given today\n")
    tester.check(post(*bearer(later)) == (200, expected), "it is known without a restart")
    write_file(path, b"")
    tester.check(post(*bearer(token))[0] == 401, "and taken back")
    os.remove(path)
    tester.check(post(*bearer(token))[0] == 401, "without a file nobody is let in")


class Recorder(http.server.BaseHTTPRequestHandler):
    """Stands for the service, and keeps what it is told about who asks."""
    told = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.told.append(str(self.headers))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_nothing_is_passed_on(tester, folder, tokens, token):
    """The service does not learn who asks."""
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    with AuthFront(folder, [service.server_port], tokens.port) as front:
        body = ["--data-binary", "x", "-H", "Content-Type: application/cbor"]
        found = [front.curl(front.token_port, "/v1/query", "-H", "Authorization: Bearer " + token, *body)[0],
                 front.curl(front.port, "/v1/query", "--cert", "device.pem", "--key", "device.key", *body)[0]]
    service.shutdown()
    service.server_close()
    told = "".join(Recorder.told)
    tester.check(found == [200, 200] and len(Recorder.told) == 2, "both ask: %s" % found)
    for secret in (token, "Authorization", "Bearer", "device", "127.0.0.1", "Forwarded"):
        tester.check(secret not in told, "the service is told %s: %s" % (secret, told))


def test_authentication(tester):
    token = secrets.token_hex(16)
    release = tester.path("p-response.cbor")
    with new_folder() as folder, Server(tester) as server:
        path = folder + "/tokens.txt"
        write_file(path, ("# tokens\n%s # the first\n" % hashlib.sha256(token.encode()).hexdigest()).encode())
        expected = server.post(tester.read("p-response.cbor")).body
        with Tokens(path) as tokens, AuthFront(folder, [server.port], tokens.port) as front:
            test_certificates(tester, front, release, expected)
            with new_folder() as other:
                test_nothing_is_passed_on(tester, other, tokens, token)
            test_tokens(tester, front, release, expected, (path, token))
            with open(os.path.join(folder, "privatemail.log"), encoding="utf-8") as stream:
                log = stream.read()
        told = log + read_text(folder, "privatemail.error.log") + tokens.said.decode() + server.log()
        tester.check(len(log.split("\n")) > 10, "requests are counted")
        for secret in (token, "CN=", "Bearer", "/v1/part/"):
            tester.check(secret not in told, "%s is written down: %s" % (secret, told[-1000:]))
        tester.check("127.0.0.1" not in log, "an address is written down")


def run_all(tester):
    test_folder(tester)
    test_authentication(tester)
