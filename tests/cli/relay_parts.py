"""What the tests of relayed queries share: a gateway, a relay, people who ask, and somebody in between who meddles."""
import contextlib
import http.client
import http.server
import json
import os
import struct
import subprocess
import threading
import time

from serving import Server

ROWS = 40
KEPT_MESSAGE = 32       # where a kept cell's message begins in its file
# What a small crowd does: few fakes, only the floor is promised.
FEW = ["--clusters", "0.5", "--copies", "4", "--floor", "16"]


class Gateway(Server):
    """privatemail serve with keys."""

    def __init__(self, tester, *options, keys="keys", name="one", listen="127.0.0.1:0"):
        super().__init__(tester, "--ohttp-key", keys, *options, names=(name,), listen=listen)


class Meddler(http.server.ThreadingHTTPServer):
    """Passes requests on to a relay, and gives every reply to `change(method, path, status, body)`, which returns what the
    client gets: (status, body), or None to hang up. It notes what was asked for."""
    daemon_threads = True

    def __init__(self, relay, change=None):
        super().__init__(("127.0.0.1", 0), MeddlerHandler)
        self.relay, self.change, self.seen = relay, change, []
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass

    def asked(self, method, part):
        return [path for seen, path, _ in self.seen if seen == method and part in path]

    def bodies(self):
        return [body for method, _, body in self.seen if method == "POST"]


class MeddlerHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, body))
        headers = {name: self.headers[name] for name in ("Content-Type", "Authorization") if name in self.headers}
        try:
            answer = self.server.relay.request(self.command, self.path, body or None, headers)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
            return
        status, fields, body = answer
        reply = status, body
        if self.server.change:
            reply = self.server.change(self.command, self.path, *reply)
        if reply is None:
            self.close_connection = True
            return
        self.send_response(reply[0])
        for name in ("Content-Type", "Retry-After"):
            if name in fields:
                self.send_header(name, fields[name])
        if reply[0] != 204:
            self.send_header("Content-Length", str(len(reply[1])))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(reply[1])

    do_GET = do_POST = do_DELETE = pass_on

    def log_message(self, *_):
        pass


class Gone:
    """A relay that is not there; at the port of one that was, another program might listen by now."""

    def request(self, *_):
        raise OSError


def next_second():
    """Waits for the clock's next second. A relay that is started then cannot open an epoch of a number that one before it
    had, to which a bundle may have gone."""
    time.sleep(1.02 - time.time() % 1)  # a clock of whole seconds may be a moment late


# ---- people ----

def patient(options, seconds):
    """Ten epochs of a second, as long as people wait by themselves, are over soon on a busy machine."""
    return [*options, *([] if "--wait" in options or seconds is None else ["--wait", str(seconds)])]


def query(url, row=0, *more, crowd=2, policy=FEW, pack="one", wait=30):
    """The command of somebody who asks about a row."""
    return ["query", "--relay", url, "--pack", pack + ".pmpk", "--features", "rows.npy", "--row", str(row),
            *(["--labels", "row_labels.npy"] if pack == "class" else []), "--crowd", str(crowd), *policy,
            *patient(more, wait)]


def idle(url, *more, crowd=2, policy=FEW, pack="one", wait=30):
    return ["query", "--relay", url, "--pack", pack + ".pmpk", "--idle", "--crowd", str(crowd), *policy,
            *patient(more, wait)]


class Asking:
    """A command that runs meanwhile."""

    def __init__(self, tester, command):
        self.process = subprocess.Popen([tester.program, *(str(word) for word in command)], cwd=tester.folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self, seconds=300):
        """(exit code, stdout as JSON or None, stderr)"""
        out, text = self.process.communicate(timeout=seconds)
        return self.process.returncode, json.loads(out) if out else None, text.decode()


class Neighbours:
    """Others who take part in every epoch, with idle bundles, until it ends."""

    people = 0

    def __init__(self, tester, url, count=1, pack="one"):
        Neighbours.people += count
        self.tester, self.ended, self.failed = tester, threading.Event(), []
        self.threads = [threading.Thread(target=self.work, args=(url, Neighbours.people - i, pack)) for i in range(count)]

    def work(self, url, number, pack):
        tester = self.tester
        command = [tester.program, *idle(url, "--wait", "5", "--budget", "neighbour%d.budget" % number, pack=pack)]
        fresh = ["--budget-crowd", "1"]
        while not self.ended.is_set():
            done = subprocess.run(command + (fresh if not os.path.exists(tester.path(command[command.index("--budget") + 1]))
                                             else []), cwd=tester.folder, capture_output=True, timeout=300)
            if done.returncode not in (0, 8):
                self.failed.append(done.stderr.decode())
                return
            time.sleep(0.05)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        for text in self.failed:
            self.tester.check(False, "a neighbour: " + text)


def kept_message(tester, name):
    """The release of a kept cell."""
    data = tester.read(name)
    return data[KEPT_MESSAGE:KEPT_MESSAGE + struct.unpack_from("<I", data, 12)[0]]
