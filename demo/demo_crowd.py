#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The crowd of the demo: runs a relay, calls neighbours together when the page asks, and tells what the server saw.

    demo_crowd.py BUILD GATEWAY --pack P.pmpk --features F.npy --labels L.npy --keys KEYS
                  --clients N --clusters K --copies V [--words-pack W.pmpk] [--floor E0] [--port N] [--relay-port N]

BUILD is the folder of the build, GATEWAY the URL of `privatemail serve --ohttp-key KEYS`. Prints one line of JSON with
what the page must know: {"relay": URL, "observer": URL, "keys": the key configuration in base64, "clients": N,
"clusters": K, "copies": V}. Then serves until SIGTERM. The relay's way to the gateway leads through the observer,
which passes everything on and keeps a copy of the last epoch's requests. With the demo's own key it counts what is in
them: no service keeps messages, so a demonstration must read along. Two requests are for the page:

    POST /gather   N neighbours (demo_neighbours) ask in the open epoch; with ?words, of the pack for words, in which they
                   ask with pictures: nobody can tell
    GET  /crowd    {"bundles": N, "needed": N, "seen": null or what demo_observer writes, "asked": null or how often the
                   neighbours really asked for each symbol}; with ?seen it is counted. The last is for the page's map of
                   what a server believes that knows what everybody else asked.
"""
import argparse
import base64
import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

PIECE = 1 << 18
EPOCH_TYPE = "application/x-privatemail-epoch"
PASSED_ON = ("Content-Type", "Content-Length", "Accept", "If-None-Match", "Range")
PASSED_BACK = ("Content-Type", "Content-Length", "ETag", "Cache-Control", "Retry-After", "Content-Range")


class Crowd:
    """Who is there, and what was sent to the gateway in the last epoch."""

    def __init__(self, arguments):
        self.arguments, self.relay, self.pack = arguments, None, arguments.pack
        self.one_at_a_time, self.lock = threading.Lock(), threading.Lock()
        self.sent, self.asked, self.epoch, self.requests, self.seen = 0, None, b"", [], None

    def program(self, name):
        return os.path.join(self.arguments.build, name)

    def start_relay(self, observer):
        a = self.arguments
        self.process = subprocess.Popen(
            [self.program("cli/privatemail"), "relay", "--gateway", observer, "--epoch", "1", "--clients",
             str(a.clients + 1), "--listen", f"127.0.0.1:{a.relay_port}", "--allow-origin", "*", "--log", "off",
             "--grace", "0", "--json"], stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("demo_crowd: the relay does not start")
        self.relay = "http://" + json.loads(line)["listen"]

    def for_the_page(self, observer):
        a = self.arguments
        with urllib.request.urlopen(a.gateway + "/.well-known/ohttp-gateway") as answer:
            keys = base64.b64encode(answer.read()).decode()
        return {"relay": self.relay, "observer": observer, "keys": keys, "clients": a.clients, "clusters": a.clusters,
                "copies": a.copies}

    def gather(self, pack):
        """One crowd after the other: the last one may still be fetching its answers."""
        a = self.arguments
        with self.one_at_a_time:
            self.sent, self.asked, self.pack = 0, None, pack
            command = [self.program("demo/demo_neighbours"), self.relay, pack, a.features, a.labels, str(a.clients),
                       str(a.clusters), str(a.copies), str(a.floor)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                for line in process.stdout:
                    told = json.loads(line)
                    self.sent, self.asked = told["sent"], told.get("asked", self.asked)

    def keep(self, body):
        with self.lock:
            if body[:8] != self.epoch:
                self.epoch, self.requests = body[:8], []
            self.requests.append(body)
            self.seen = None

    def count(self):
        with self.lock:
            if self.seen is None and self.requests:
                done = subprocess.run([self.program("demo/demo_observer"), self.arguments.keys, self.pack],
                                      input=b"".join(self.requests), stdout=subprocess.PIPE, check=True)
                self.seen = json.loads(done.stdout)
            return self.seen

    def describe(self, counted):
        return {"bundles": self.sent + 1, "needed": self.arguments.clients + 1,
                "seen": self.count() if counted else None, "asked": self.asked if counted else None}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    crowd = None  # set by main

    def log_message(self, *_):
        """Nothing: the demo's log is no place for requests."""

    def tell(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path)
        if path.path == "/crowd":
            self.tell(self.crowd.describe(path.query == "seen"))
        else:
            self.pass_on(None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path in ("/gather", "/gather?words"):
            arguments = self.crowd.arguments
            pack = arguments.pack if self.path == "/gather" else arguments.words_pack
            threading.Thread(target=self.crowd.gather, args=(pack,), daemon=True).start()
            self.tell({"neighbours": arguments.clients})
            return
        if self.headers.get("Content-Type") == EPOCH_TYPE:
            self.crowd.keep(body)
        self.pass_on(body)

    def pass_on(self, body):
        gateway = urllib.parse.urlsplit(self.crowd.arguments.gateway)
        connection = http.client.HTTPConnection(gateway.hostname, gateway.port, timeout=120)
        try:
            connection.request(self.command, self.path, body,
                               {name: self.headers[name] for name in PASSED_ON if name in self.headers})
            answer = connection.getresponse()
        except OSError:
            connection.close()
            self.send_error(502)
            return
        self.send_response_only(answer.status)
        for name in PASSED_BACK:
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.end_headers()
        while piece := answer.read(PIECE):
            self.wfile.write(piece)
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("gateway")
    for name in ("pack", "features", "labels", "keys"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--words-pack")
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--clusters", type=float, required=True)
    parser.add_argument("--copies", type=int, required=True)
    parser.add_argument("--floor", type=float, default=8)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--relay-port", type=int, default=0)
    crowd = Handler.crowd = Crowd(parser.parse_args())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", crowd.arguments.port), Handler)
    observer = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        crowd.start_relay(observer)
        print(json.dumps(crowd.for_the_page(observer)), flush=True)
        crowd.process.wait()
        sys.exit("demo_crowd: the relay ended")
    finally:
        if crowd.relay:
            crowd.process.terminate()
            crowd.process.wait()


if __name__ == "__main__":
    main()
