"""What the tests of faults share: clients that go on asking whatever happens, and nginx in front of services."""
import contextlib
import http.client
import os
import re
import ssl
import subprocess
import threading
import time

from harness import ROOT, wait_until
from postgres import free_port
from serving import CBOR, ask


class Crowd:
    """Threads that post releases over and over, and know the right answers. A client that gets no answer sends the same
    bytes again, as devices do; every attempt is noted as (when, status, seconds), 0 for a connection that failed."""

    def __init__(self, host, port, releases, threads=4, tls=None, patience=60):
        self.host, self.port, self.releases, self.tls, self.patience = host, port, releases, tls, patience
        self.attempts, self.wrong, self.lost, self.answered, self.lock = [], [], 0, 0, threading.Lock()
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def attempt(self, release):
        start, status, answer = time.monotonic(), 0, None
        maker = http.client.HTTPConnection if not self.tls else http.client.HTTPSConnection
        options = {"context": self.tls} if self.tls else {}
        connection = maker(self.host, self.port, timeout=30, **options)
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = ask(connection, "POST", "/v1/query", release, CBOR)
            status = answer.status
        connection.close()
        with self.lock:
            self.attempts.append((start, status, time.monotonic() - start))
        return answer

    def work(self, number):
        while not self.ended.is_set():
            release, expected = self.releases[number % len(self.releases)]
            number += 1
            end = time.monotonic() + self.patience
            while True:
                answer = self.attempt(release)
                if answer and answer.status == 200:
                    break
                if answer and (answer.status not in (502, 503) or (answer.status == 503 and not answer.headers["Retry-After"])):
                    self.note_wrong(answer)
                    break
                if time.monotonic() > end:
                    with self.lock:
                        self.lost += 1
                    return
                time.sleep(0.05)
            if answer.status == 200:
                with self.lock:
                    self.answered += 1
                if answer.body != expected:
                    self.note_wrong(answer)

    def note_wrong(self, answer):
        with self.lock:
            self.wrong.append((answer.status, len(answer.body)))

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def statuses(self, since=0.0, until=float("inf")):
        """{status: how often} of the attempts that began then."""
        found = {}
        with self.lock:
            for when, status, _ in self.attempts:
                if since <= when < until:
                    found[status] = found.get(status, 0) + 1
        return found

    def during(self, since, until):
        """The same of the attempts that began and ended then."""
        found = {}
        with self.lock:
            for when, status, seconds in self.attempts:
                if since <= when and when + seconds <= until:
                    found[status] = found.get(status, 0) + 1
        return found

    def slowest(self, since=0.0):
        with self.lock:
            return max((seconds for when, _, seconds in self.attempts if when >= since), default=0.0)

    def first_answer(self, since):
        """Seconds from then to the end of the first answer that was asked for later; None when there is none."""
        with self.lock:
            found = [when + seconds for when, status, seconds in self.attempts if when >= since and status == 200]
        return min(found) - since if found else None

    def wait_for_answer(self, since, seconds=30):
        wait_until(lambda: self.first_answer(since) is not None, seconds)
        return self.first_answer(since)


class Front:
    """nginx with docs/examples/nginx.conf, in front of services on these ports."""
    example, host = "nginx.conf", "search.example"

    def adapt(self, text, ports, rate):
        """What differs from one example to the other: the text, and more replacements."""
        servers = "\n".join("        server 127.0.0.1:%d max_fails=1 fail_timeout=1s;" % port for port in ports)
        return (re.sub(r"( *server 127\.0\.0\.1:\d+ .*\n)+", servers + "\n", text),
                (("rate=5r/s", "rate=" + rate), ("/var/log/nginx/", self.folder + "/"),
                 ("/var/cache/nginx/", self.folder + "/cache-")))

    def __init__(self, folder, ports, rate="100000r/s"):
        self.folder, self.port = folder, free_port()
        with open(os.path.join(ROOT, "docs", "examples", self.example), encoding="utf-8") as stream:
            text, more = self.adapt(stream.read(), ports, rate)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "certificate.pem"],
                       cwd=folder, check=True, capture_output=True)
        for old, new in (*more, ("listen 443 ssl", "listen 127.0.0.1:%d ssl" % self.port),
                         ("/etc/ssl/%s.pem" % self.host, "certificate.pem"), ("/etc/ssl/%s.key" % self.host, "key.pem"),
                         ("server_name " + self.host, "server_name localhost"),
                         ("\nhttp {", "\npid %s/nginx.pid;\n%shttp {\n    client_body_temp_path %s/body;\n    proxy_temp_path "
                          "%s/proxy;" % (folder, "user root;\n" if os.geteuid() == 0 else "", folder, folder))):
            if old not in text:
                raise AssertionError("docs/examples/%s has no %s" % (self.example, old))
            text = text.replace(old, new)
        with open(os.path.join(folder, self.example), "w", encoding="utf-8") as stream:
            stream.write(text)
        self.process = subprocess.Popen(["nginx", "-p", folder, "-c", self.example, "-g", "daemon off;"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.tls = ssl.create_default_context(cafile=os.path.join(folder, "certificate.pem"))
        wait_until(self.answers, 60)

    def answers(self):
        with contextlib.suppress(OSError):
            return self.get("/")

    def get(self, path, **headers):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=self.tls)
        try:
            return ask(connection, "GET", path, headers=headers)
        finally:
            connection.close()

    def post(self, release):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=self.tls)
        try:
            return ask(connection, "POST", "/v1/query", release, CBOR)
        finally:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
