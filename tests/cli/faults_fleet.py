"""Several services behind nginx: one is killed, packs are rolled out, and clients that are slow on purpose."""
import hashlib
import json
import os
import signal
import socket
import tempfile
import time

import numpy as np

from crowd import Crowd, Front
from faults_database import check_crowd, wait_for_crowd
from harness import read_budget, wait_until
from postgres import free_port
from serving import NETWORK, Server, pack_id


def start(tester, database, names=("p",), port=None):
    return Server(tester, "--threads", 2, names=names, stores=[database.uri()], listen="127.0.0.1:%d" % (port or free_port()))


def restart(server, tester, database, names=("p",), number=signal.SIGTERM):
    """Another one in its place."""
    server.process.send_signal(number)
    server.process.wait(timeout=60)
    port = server.port
    server.__exit__()
    return start(tester, database, names, port)


def query(tester, front, *more):
    """The real client, through nginx."""
    return tester.run("query", "--server", "https://localhost:%d" % front.port, "--ca",
                      os.path.join(front.folder, "certificate.pem"), "--pack", "p.pmpk", "--features", "query.npy",
                      "--labels", "query_labels.npy", *more)


RECOVERY = 2.2  # seconds: nginx tries a server again after one, counted in whole ones
PAYING = ["--epsilon", 4, "--budget", "person.budget"]


def spent_of(tester, name):
    return read_budget(tester.read(name))[0]


def test_killed(tester, database, releases):
    """kill -9 of one of two services, again and again, under load: clients send the same bytes again, budgets pay once."""
    first, second = start(tester, database), start(tester, database)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with Front(folder, [first.port, second.port]) as front:
            with Crowd("localhost", front.port, releases, tls=front.tls) as crowd:
                crowd.wait_for_answer(0)
                for kill in range(4):
                    done = query(tester, front, *PAYING, *(["--budget-new", "100"] if kill == 0 else []))
                    tester.check(done.returncode == 0, "query %d: %r" % (kill, done.stderr))
                    if kill % 2:
                        first = restart(first, tester, database, number=signal.SIGKILL)
                    else:
                        second = restart(second, tester, database, number=signal.SIGKILL)
                    time.sleep(RECOVERY)
                wait_for_crowd(crowd)
            check_crowd(tester, crowd, "killed")
            one, spent = price_of_one(tester), spent_of(tester, "person.budget")
            tester.check(spent == 4 * one > 0, "four queries, paid once each: %d" % spent)
            found = crowd.statuses()
            print("figure: 4 x kill -9 of one of two services behind nginx: %d queries answered, 0 wrong, 0 lost; %d "
                  "attempts failed and were sent again, the slowest answer in %.2f s" %
                  (crowd.answered, sum(found.values()) - found.get(200, 0), crowd.slowest()))
        # Nobody is there: the client gives up, its budget has paid once, and the same bytes get their answer later.
        with Front(folder, [free_port()]) as front:
            done = query(tester, front, *PAYING, "--keep", "kept.cbor", "--retries", 1)
            tester.check(done.returncode == NETWORK and spent_of(tester, "person.budget") == spent + one,
                         "nobody answers: %r" % done.stderr)
        with Front(folder, [first.port]) as front:
            done = query(tester, front, "--resend", "kept.cbor")
            tester.check(done.returncode == 0 and spent_of(tester, "person.budget") == spent + one,
                         "the same bytes later cost nothing: %r" % done.stderr)
    for server in (first, second):
        server.__exit__()


def price_of_one(tester):
    """What one release at this epsilon costs, by a budget of its own."""
    tester.succeeds("one", "privatize", "--pack", "p.pmpk", "--features", "query.npy", "--labels", "query_labels.npy",
                    "--epsilon", 4, "--budget", "one.budget", "--budget-new", 100, "--out", "one.cbor")
    return spent_of(tester, "one.budget")


def test_front(tester, database, releases):
    """The example is what it says: TLS, balance, caches, no way to what is inside."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with start(tester, database) as first, start(tester, database) as second, \
                Front(folder, [first.port, second.port]) as front:
            for release, expected in releases * 4:
                tester.check(front.post(release).body == expected, "through nginx")
            counts = [server.metric("queries_total") for server in (first, second)]
            tester.check(min(counts) > 0 and sum(counts) == 8, "both are asked: %s" % counts)
            for path in ("/v1/pack/" + pack_id(tester), "/v1/pack/%s/gallery" % pack_id(tester)):
                began = time.monotonic()
                states = [front.get(path).headers["X-Cache"] for _ in range(3)]
                late = time.monotonic() - began > 4  # a gallery is kept for five seconds
                tester.check(states == ["MISS", "HIT", "HIT"] or (late and path.endswith("gallery") and states[0] == "MISS"),
                             "%s: %s" % (path, states))
            tester.check(front.get("/v1/pack/" + pack_id(tester), Range="bytes=0-7").body == tester.read("p.pmpk")[:8],
                         "a range from nginx's cache")
            tester.check(json.loads(front.get("/v1/packs").body)["packs"][0]["pack"] == pack_id(tester), "which packs there are")
            version = json.loads(front.get("/v1/pack/%s/gallery" % pack_id(tester)).body)["version"]
            manifest = front.get("/v1/part/" + version).body
            path = path_of_part = "/v1/part/" + manifest[56:88].hex()  # of the first cell
            parts = [front.get(path) for _ in range(3)]
            tester.check([part.headers["X-Cache"] for part in parts] == ["MISS", "HIT", "HIT"] and
                         parts[0].body == parts[2].body and parts[0].status == 200, "parts are held")
            again = front.get(path, **{"If-None-Match": parts[0].headers["ETag"]})
            tester.check(again.status == 304, "and not sent twice: %d" % again.status)
            for path in ("/metrics", "/healthz", "/", "/v1/gallery/%s/0/0" % version[:16]):
                tester.check(front.get(path).status == 404, "%s is not for others" % path)
        with open(os.path.join(folder, "privatemail.log"), encoding="utf-8") as stream:
            log = stream.read()
        tester.check(len(log.split("\n")) > 10 and "127.0.0.1" not in log and "/v1/" not in log, "the log tells no path")
        tester.check(hashlib.sha256(parts[0].body).hexdigest() == path_of_part[9:], "a part is what its name says")
        with Front(folder, [free_port()], rate="2r/s") as front:
            began = time.monotonic()
            found = [front.post(releases[0][0]).status for _ in range(40)]
            most = 22 + 2 * (time.monotonic() - began)  # a burst of twenty, and two a second
            tester.check(set(found) <= {502, 503} and found.count(502) <= most, "the limit of requests: %s" % found)


def change_gallery(tester, database, servers):
    """An item goes and comes back: services follow without a restart, and the version is the one from before."""
    change = ["index", "--pack", "p.pmpk", "--store", database.uri()]
    tester.write("first.txt", b"0\n")
    tester.save("first.npy", np.load(tester.path("public.npy"))[:1])
    tester.save("first_labels.npy", np.load(tester.path("labels.npy"))[:1])
    before = versions_of(tester, servers)
    tester.check(len(before) == 1, "one version: %s" % before)
    tester.succeeds("remove", *change, "--remove", "first.txt")
    follow = wait_until(lambda: not versions_of(tester, servers) & before)
    tester.check(follow and len(versions_of(tester, servers)) == 1,
                 "services follow: %s, %s" % (versions_of(tester, servers), [server.log()[-2000:] for server in servers]))
    tester.succeeds("add", *change, "--add", "first.npy", "--ids", "first.txt", "--labels", "first_labels.npy", "--payloads",
                    "payloads")
    tester.check(wait_until(lambda: versions_of(tester, servers) == before), "the same items are the same version")


def versions_of(tester, servers):
    path = "/v1/pack/%s/gallery" % pack_id(tester)
    return {json.loads(server.request("GET", path).body)["version"] for server in servers}


def test_rollout(tester, database, old_releases, new_releases):
    """Half of the servers have the new pack: nobody is lost. First all servers, then the devices."""
    servers = [start(tester, database, ("old",)), start(tester, database, ("old",))]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with Front(folder, [server.port for server in servers]) as front:
            with Crowd("localhost", front.port, old_releases, tls=front.tls) as crowd:
                crowd.wait_for_answer(0)
                servers[0] = restart(servers[0], tester, database, ("p", "old"))
                time.sleep(RECOVERY)
                early = [front.post(new_releases[0][0]) for _ in range(20)]  # a device that is too early
                while len({answer.status for answer in early}) < 2 and len(early) < 500:  # nginx chooses
                    early.append(front.post(new_releases[0][0]))
                found = {answer.status for answer in early}
                tester.check(found == {200, 409}, "half done: %s" % found)
                tester.check(all(answer.body == new_releases[0][1] for answer in early if answer.status == 200) and
                             all(answer.error() == "pack" for answer in early if answer.status == 409), "200 or told why")
                servers[1] = restart(servers[1], tester, database, ("p", "old"))
                time.sleep(RECOVERY)
                late = [front.post(new_releases[0][0]) for _ in range(20)]
                tester.check(all(answer.body == new_releases[0][1] for answer in late), "done: the same bytes are answered")
                change_gallery(tester, database, servers)
                tester.check(front.post(new_releases[0][0]).body == new_releases[0][1], "the gallery as it was")
            check_crowd(tester, crowd, "rollout")
            found = crowd.statuses()
            print("figure: rollout of a pack and of a gallery over two services behind nginx: %d queries with the old pack "
                  "answered, 0 wrong, 0 lost, %d attempts sent again; a device too early got 409 %d of %d times, and its "
                  "answer for the same bytes when all servers had the pack" %
                  (crowd.answered, sum(found.values()) - found.get(200, 0), sum(a.status == 409 for a in early), len(early)))
    for server in servers:
        server.__exit__()


def besiege(tester, server, release):
    """Queries per second and the slowest one, alone and beside three hundred slow connections; when all those were closed."""
    def rate(seconds):
        with Crowd(server.host, server.port, [release]) as crowd:
            time.sleep(seconds)
            wait_for_crowd(crowd)
        check_crowd(tester, crowd, "slow clients")
        return crowd.answered / seconds, crowd.slowest()
    alone, _ = rate(2)
    slow = []
    for _ in range(300):
        slow.append(socket.create_connection((server.host, server.port), timeout=30))
        slow[-1].sendall(b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Le")
    start_time = time.monotonic()
    beside, slowest = rate(2)
    closed = wait_until(lambda: server.metric("connections ") <= 2)
    took = time.monotonic() - start_time
    tester.check(closed, "all slow ones are closed: %d are left" % server.metric("connections "))
    for connection in slow:
        connection.close()
    return alone, beside, slowest, took


def test_slow_loris(tester, database, releases):
    """Three hundred connections that send a byte now and then: others are served as before. Who waits for them does so every
    time; on a busy machine somebody may wait for that."""
    with Server(tester, "--threads", 2, "--timeout", 2, stores=[database.uri()]) as server:
        for _ in range(3):
            alone, beside, slowest, took = besiege(tester, server, releases[0])
            if slowest < 2:
                break
        tester.check(slowest < 2, "nobody waited for them: %.2f s" % slowest)
        print("figure: 300 slow connections: %.0f queries/s instead of %.0f, the slowest in %.2f s; all 300 closed after %.1f s" %
              (beside, alone, slowest, took))


def run_all(tester, database, releases, old_releases):
    test_front(tester, database, releases)
    test_killed(tester, database, releases)
    test_rollout(tester, database, old_releases, releases)
    test_slow_loris(tester, database, releases)
