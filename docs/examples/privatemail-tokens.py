#!/usr/bin/env python3
"""Tells nginx (nginx-auth.conf) whether a token is known: 204 or 401. Writes nothing down.

    privatemail-tokens.py FILE [PORT]

FILE: one SHA-256 per line, in hexadecimal digits; what follows a # is a comment (RELAY.md makes such files). It is read
again when it changes. Tokens must be long and random.
"""
import hashlib
import http.server
import os
import sys


class Tokens:
    def __init__(self, path):
        self.path, self.read_at, self.digests = path, None, frozenset()

    def has(self, token):
        status = os.stat(self.path)
        if self.read_at != (status.st_mtime_ns, status.st_size):
            with open(self.path, encoding="ascii") as stream:
                lines = (line.partition("#")[0].strip().lower() for line in stream)
                self.digests = frozenset(line for line in lines if len(line) == 64)
            self.read_at = status.st_mtime_ns, status.st_size
        return hashlib.sha256(token).hexdigest() in self.digests  # a digest tells nothing by the time it takes


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    tokens = None

    def do_GET(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        try:
            known = scheme.lower() == "bearer" and self.tokens.has(token.strip().encode("latin-1"))
        except (OSError, UnicodeError):  # no file: nobody is let in
            known = False
        self.send_response(204 if known else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    Handler.tokens = Tokens(sys.argv[1])
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8070
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
