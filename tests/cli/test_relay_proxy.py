#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The relay behind docs/examples/nginx-relay.conf: TLS, uploads that are not held up, and nothing written down.

    tests/cli/test_relay_proxy.py PROGRAM
"""
import http.client
import os
import sys
import tempfile
import time

import crowd as fronts
import test_relay
from harness import wait_until
from relaying import BUNDLE, Client, Gateway, Relay, request_on


class RelayFront(fronts.Front):
    """nginx with the relay's example."""
    example, host = "nginx-relay.conf", "relay.example"

    def adapt(self, text, ports, rate):
        return text, (("server 127.0.0.1:8090;", "server 127.0.0.1:%d;" % ports[0]), ("rate=2r/s", "rate=" + rate))

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=60, context=self.tls)
        return request_on(connection, method, path, body, headers)


def test_behind_nginx(tester, pack):
    with Gateway(pack) as gateway, Relay(tester, gateway.url, clients=3) as relay, \
            tempfile.TemporaryDirectory() as folder, RelayFront(folder, [relay.port]) as front:
        before = set(os.listdir(folder))
        epoch = relay.epoch(gateway.id)["epoch"]
        clients = [Client(front, gateway.id, epoch, count) for count in (1, 3, 700)]
        tester.check([client.post()[0] for client in clients] == [201] * 3, "bundles through the proxy")
        for client in clients:
            status, body = client.collect()
            tester.check(status == 200 and client.is_own(body), "answers through the proxy: %d" % status)
        tester.check(front.request("DELETE", "/v1/ticket/" + clients[0].ticket.hex())[0] == 204, "DELETE")
        tester.check([front.request("GET", path)[0] for path in ("/metrics", "/healthz", "/v1/relay", "/v1/keys")]
                     == [404, 404, 200, 200], "what is inside stays there")
        written = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name not in before]
        tester.check(not [path for path in written if os.path.getsize(path) > 0], "the proxy writes nothing: %s" % written)


def test_an_upload_is_not_held_up(tester, pack):
    """An epoch ends while the proxy receives: the upload began before, so it belongs to it."""
    with Gateway(pack) as gateway, Relay(tester, gateway.url) as relay, tempfile.TemporaryDirectory() as folder, \
            RelayFront(folder, [relay.port]) as front:
        epoch = relay.epoch(gateway.id)["epoch"]
        fast = [Client(relay, gateway.id, epoch) for _ in range(2)]
        slow = Client(front, gateway.id, epoch, 2)
        watching = http.client.HTTPConnection(relay.host, relay.port, timeout=60)

        def others():
            """Requests that the relay is busy with; this one is alone on its connection, so none before it counts."""
            watching.request("GET", "/metrics")
            text = watching.getresponse().read().decode()
            return int(text.split("\nprivatemail_requests_in_flight ")[1].split()[0]) - 1

        def trickle(body):
            yield body[:100]
            tester.check(wait_until(lambda: others() == 1), "the relay sees that it began")
            time.sleep(0.2)
            tester.check(fast[1].post()[0] == 201, "then the crowd is full")
            tester.check(wait_until(lambda: relay.epoch(gateway.id)["epoch"] > epoch), "the epoch ends")
            time.sleep(2)
            yield body[100:]

        body = slow.bytes()
        tester.check(fast[0].post()[0] == 201, "one is there")
        tester.check(wait_until(lambda: others() == 0), "the relay has nothing to do")
        status, _, told = front.request("POST", slow.path, trickle(body), dict(BUNDLE, **{"Content-Length": str(len(body))}))
        tester.check(status == 201, "the slow one is taken: %d %s" % (status, told))
        tester.check(slow.is_own(slow.collect()[1]), "and answered")
        tester.check(len({number for number, _, _ in gateway.requests}) == 1, "in the same epoch")
        watching.close()


if __name__ == "__main__":
    sys.exit(0 if test_relay.run(sys.modules["__main__"], sys.argv[1], sys.argv[2:]) else 1)
