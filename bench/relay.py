"""The relay under load: bundles per second, memory, disk, and the time after an epoch's end.

    python3 bench/relay.py path/to/privatemail [--bundles N] [--clients N] [--seconds S]

1. The relay alone: N bundles of one message in one epoch by wrk, a gateway that costs next to nothing, then all answers
   by wrk. Beside it, in the same run, the same bytes up and down through nginx as a plain proxy.
2. One epoch of real clients over HTTP through relay and gateway: each seals a message and opens its answer, which must be
   what the server says to its cell.

Prints the first two tables of "What one relay does" in docs/SCALE.md. Needs wrk, nginx, numpy, cryptography, pyhpke.
--check: small numbers, and no figures to be believed."""
import argparse
import concurrent.futures
import http.client
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
for folder in ("cli", "transport", "golden"):
    sys.path.insert(0, os.path.join(HERE, "..", "tests", folder))
from crowd import free_port  # noqa: E402
from harness import Tester  # noqa: E402
from relaying import BUNDLE, MESSAGE, Gateway, Relay  # noqa: E402
from serving import CBOR, Server  # noqa: E402

ANSWER, THREADS, CONNECTIONS, CELLS = 2048, 2, 64, 125


# ---- processes ----

def memory(process):
    """The most that was in memory, MiB."""
    with open("/proc/%d/status" % process.pid, encoding="utf-8") as stream:
        return int(re.search(r"VmHWM:\s+(\d+)", stream.read())[1]) / 1024


def seconds_of(process):
    """CPU seconds so far."""
    with open("/proc/%d/stat" % process.pid, encoding="utf-8") as stream:
        fields = stream.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(process):
    """CPU seconds of a process's children so far."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="utf-8") as stream:
        return sum(seconds_of(argparse.Namespace(pid=int(child))) for child in stream.read().split())


def spooled(process):
    """MiB on disk in files without names."""
    total, folder = 0, "/proc/%d/fd" % process.pid
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            if os.readlink(path).endswith("(deleted)"):
                total += 512 * os.stat(path).st_blocks
        except OSError:
            pass
    return total / 2 ** 20


def wrk(seconds, url, *arguments):
    """(requests per second, 99th percentile in ms, per thread: sent, taken, other)"""
    done = subprocess.run(["wrk", "-t%d" % THREADS, "-c%d" % CONNECTIONS, "-d%ds" % seconds, "--timeout", "30s", "-s",
                           os.path.join(HERE, "relay.lua"), url, "--", *map(str, arguments)], capture_output=True, text=True)
    found = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit("wrk: " + done.stdout + done.stderr)
    duration, slowest, *counts = map(int, found[1].split())
    threads = [counts[i:i + 3] for i in range(0, len(counts), 3)]
    if any(other for _, _, other in threads):
        raise SystemExit("wrk got other statuses: %s" % threads)
    return sum(taken for _, taken, _ in threads) / duration * 1e6, slowest / 1000, threads


class Nginx:
    """A plain proxy in front of a server that always says the same: both are this nginx."""

    def __init__(self, folder):
        self.port, inner = free_port(), free_port()
        text = """
            daemon off; worker_processes 2; pid %s/nginx.pid; error_log /dev/null crit; %s
            events { worker_connections 1024; }
            http { access_log off; client_body_temp_path %s/body; proxy_temp_path %s/proxy;
                upstream inner { server 127.0.0.1:%d; keepalive 64; }
                server { listen 127.0.0.1:%d; keepalive_requests 1000000;
                    location / { proxy_pass http://inner; proxy_http_version 1.1; proxy_set_header Connection ""; } }
                server { listen 127.0.0.1:%d; keepalive_requests 1000000; location / { return 200 "%s"; } } }
            """ % (folder, "user root;" if os.geteuid() == 0 else "", folder, folder, inner, self.port, inner, "x" * ANSWER)
        path = os.path.join(folder, "plain.conf")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        self.process = subprocess.Popen(["nginx", "-p", folder, "-c", path], stderr=subprocess.DEVNULL)
        time.sleep(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


# ---- 1: the relay alone ----

class CheapGateway(Gateway):
    """The same bytes to everybody, so that the relay is what is measured."""

    def post(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        epoch, pack, count, _ = struct.unpack_from(">Q16sII", body)
        with self.lock:
            self.requests.append((epoch, count, time.monotonic()))
        self.send(handler, 200, "application/x-privatemail-answers",
                  struct.pack(">Q16s8sII", epoch, pack, self.digest, count, ANSWER) + bytes(count * ANSWER))


def relay_alone(tester, pack, bundles, seconds, folder):
    with Nginx(folder) as proxy, CheapGateway(pack, ANSWER) as gateway:
        plain = [wrk(seconds, "http://127.0.0.1:%d/" % proxy.port, "plain", MESSAGE)]
        with Relay(tester, gateway.url, "--log", "off", "--waiting", 8, epoch=3600, clients=4000000) as trial:
            epoch = trial.epoch(gateway.id)["epoch"]
            rate = wrk(2, "http://%s" % trial.told["listen"], "post", gateway.id.hex(), epoch, MESSAGE)[0]
        length = int(2 * bundles / rate) + 3                    # so that at least so many arrive
        with Relay(tester, gateway.url, "--log", "off", "--waiting", 8, epoch=length + 1, clients=bundles) as relay:
            url, epoch = "http://%s" % relay.told["listen"], relay.epoch(gateway.id)["epoch"]
            posted = wrk(length - 1, url, "post", gateway.id.hex(), epoch, MESSAGE)
            counts = [taken for _, taken, _ in posted[2]]
            if sum(counts) < bundles:
                raise SystemExit("only %d bundles in %d s: give --bundles %d" % (sum(counts), length, sum(counts)))
            ticket = "/v1/ticket/%08x%024x?wait=1" % (1, 2)
            while relay.request("GET", ticket)[0] == 202:
                pass
            sent = [when for _, _, when in gateway.requests]
            fetched = time.monotonic() - min(sent)
            disk, answered = spooled(relay.process), seconds_of(relay.process)
            got = wrk(seconds, url, "get", *(count - CONNECTIONS for count in counts))
            crowd, handed = relay.metric("relay_last_crowd"), sum(taken for _, taken, _ in got[2])
            busy = answered / crowd + (seconds_of(relay.process) - answered) / handed
            most = memory(relay.process)
        before = children_of(proxy.process)
        plain.append(wrk(seconds, "http://127.0.0.1:%d/" % proxy.port, "plain", MESSAGE))
        proxy_busy = (children_of(proxy.process) - before) / sum(taken for _, taken, _ in plain[1][2])
    proxied = sum(rate for rate, _, _ in plain) / 2
    mixed = 1 / (1 / posted[0] + fetched / crowd + 1 / got[0])
    print("relay alone: %d bundles in one epoch, messages of %d bytes, answers of %d" % (crowd, MESSAGE, ANSWER))
    print("  taken               %8.0f per second, 99 %% within %.1f ms" % (posted[0], posted[1]))
    print("  sent and answered   %8.0f per second; all answers %.1f s after the epoch's end" % (crowd / fetched, fetched))
    print("  handed out          %8.0f per second, 99 %% within %.1f ms" % (got[0], got[1]))
    print("  all together        %8.0f messages per second" % mixed)
    print("  plain nginx         %8.0f messages per second, before and after: the relay has %.2f of it" % (proxied, mixed / proxied))
    print("  CPU per message     %8.0f us; nginx, and the server behind it, %.0f us" % (1e6 * busy, 1e6 * proxy_busy))
    print("  memory, disk        %8.0f MiB, %.0f MiB" % (most, disk))
    return mixed / proxied


# ---- 2: real clients ----

def seal_all(job):
    """In a process of its own: clients that post, wait, open and compare; returns how many had what."""
    import reference_transport as transport
    from reference_formats import write_release
    host, port, pack, told, keys, cells, expected = job
    connection = http.client.HTTPConnection(host, port, timeout=120)
    clients, counts = [], {"refused": 0, "right": 0, "wrong": 0, "lost": 0}

    def ask(method, path, body=None, headers=None):
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()

    for cell in cells:
        content = transport.request(write_release(pack, 1, bytes([cell])), told["epoch"])
        message, opener = transport.seal(keys[2], keys[5:37], 3, content, told["epoch"], pack)
        ticket = os.urandom(16)
        status, _ = ask("POST", "/v1/pack/%s/bundle" % pack.hex(), struct.pack(">Q", told["epoch"]) + ticket + message, BUNDLE)
        counts["refused"] += status != 201
        clients.append((cell, ticket, opener))
    sent = time.monotonic()
    while ask("GET", "/v1/ticket/%s?wait=30" % clients[0][1].hex())[0] == 202:
        pass
    ready = time.monotonic()
    for cell, ticket, opener in clients:
        status, body = ask("GET", "/v1/ticket/%s/0" % ticket.hex())
        if status != 200 or len(body) != told["answer"]:
            counts["lost"] += 1
            continue
        try:
            right = transport.read_response(transport.open_answer(opener, body)) == (200, expected[cell])
        except Exception:
            right = False
        counts["right" if right else "wrong"] += 1
    return counts, sent, ready, time.monotonic()


def make_service(tester, cells, items):
    source = np.random.default_rng(5)
    centres = 2 * source.standard_normal((400, 16))
    rows = (centres[source.integers(400, size=items)] + source.standard_normal((items, 16))).astype("f4")
    tester.save("gallery.npy", rows)
    tester.save("public_rows.npy", rows[:5000])
    tester.succeeds("pack", "pack", "--features", "public_rows.npy", "--cells", cells, "--out", "service.pmpk")
    tester.succeeds("index", "index", "--pack", "service.pmpk", "--features", "gallery.npy", "--share", "0.01", "--store",
                    "sqlite:service.store")
    tester.succeeds("keys", "keys", "--out", "service.keys")
    return tester.read("service.pmpk")


def plain_answers(gateway, pack, cells):
    from reference_formats import write_release
    return [gateway.request("POST", "/v1/query", write_release(pack, 1, bytes([cell])), CBOR).body for cell in range(cells)]


def real_clients(tester, pack, count, guess):
    id = pack[8:24]
    with Server(tester, "--ohttp-key", "service.keys", "--log", "off", names=("service",)) as gateway:
        expected = plain_answers(gateway, id, CELLS)
        with Relay(tester, gateway.url, "--log", "off", epoch=guess, clients=count) as relay:
            told, keys = relay.epoch(id), relay.request("GET", "/v1/keys")[2]
            opened = time.monotonic() - (guess - told["closes"])
            cells = np.random.default_rng(1).integers(CELLS, size=count).tolist()
            parts = [cells[i::4] for i in range(4)]
            jobs = [(relay.host, relay.port, id, told, keys, part, expected) for part in parts]
            with concurrent.futures.ProcessPoolExecutor(4) as pool:
                results = list(pool.map(seal_all, jobs))
            disk, most, busy = spooled(relay.process), memory(relay.process), (seconds_of(relay.process), seconds_of(gateway.process))
        counts = {name: sum(result[0][name] for result in results) for name in results[0][0]}
        end = max(opened + guess, max(result[1] for result in results))
        print("real clients: %d over HTTP in one epoch, sealed answers of %d bytes" % (count, told["answer"]))
        print("  %(right)d right, %(wrong)d wrong, %(lost)d lost, %(refused)d refused" % counts)
        print("  all answers there   %.1f s after the epoch's end" % (max(result[2] for result in results) - end))
        print("  relay, gateway      %.1f s, %.1f s of CPU; relay %.0f MiB, disk %.0f MiB" % (*busy, most, disk))
        return counts["right"] == count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--bundles", type=int, default=100000)
    parser.add_argument("--clients", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", choices=["alone", "real"])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        options.bundles, options.clients, options.seconds = 2000, 200, 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        tester, fine = Tester(options.program, folder), True
        pack = make_service(tester, CELLS, 10000)
        if options.only in (None, "alone"):
            fine = relay_alone(tester, pack, options.bundles, options.seconds, folder) >= 0.3
        if options.only in (None, "real"):
            fine = real_clients(tester, pack, options.clients, max(3, options.clients // 100)) and fine
    sys.exit(0 if fine and tester.failed == 0 else 1)


if __name__ == "__main__":
    main()
