"""The network between service and database is cut, silently, and comes back. Two network namespaces of our own, joined by
one virtual cable: the service and its clients in one, PostgreSQL in the other. Runs itself again inside the first."""
import json
import os
import subprocess
import sys
import time

SERVICE, DATABASE = "198.18.97.1", "198.18.97.2"  # of RFC 2544's range for tests, nowhere but in these namespaces


class Cable:
    """Two namespaces, `near` and `far`, and a cable that can be cut."""

    def __init__(self):
        self.near, self.far = "pml-near-%d" % os.getpid(), "pml-far-%d" % os.getpid()

    def ip(self, *words, check=True):
        return subprocess.run(["ip", *words], check=check, capture_output=True)

    def __enter__(self):
        for name in (self.near, self.far):
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        self.ip("-n", self.near, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.far)
        for name, address in ((self.near, SERVICE), (self.far, DATABASE)):
            self.ip("-n", name, "address", "add", address + "/24", "dev", "cable")
            self.ip("-n", name, "link", "set", "cable", "up")
        return self

    def __exit__(self, *_):
        for name in (self.near, self.far):
            self.ip("netns", "delete", name, check=False)


def permitted():
    name = "pml-try-%d" % os.getpid()
    made = os.geteuid() == 0 and subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return made


def run_all(tester, releases):
    from harness import OWN
    from postgres import Postgres
    if not permitted():
        print("skipped: network cut: no right to make network namespaces")
        return
    with Cable() as cable, Postgres(address=DATABASE, prefix=["ip", "netns", "exec", cable.far]) as database:
        tester.succeeds("index", "index", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads",
                        *OWN, "--pack", "p.pmpk", "--store", database.uri())
        pairs = json.dumps([[release.hex(), answer.hex()] for release, answer in releases])
        done = subprocess.run(["ip", "netns", "exec", cable.near, sys.executable, __file__, tester.program, tester.folder,
                               database.uri(DATABASE), cable.far], input=pairs, text=True, capture_output=True, timeout=300)
        print(done.stdout, end="")
        tester.check(done.returncode == 0, "the network was cut: %s%s" % (done.stdout, done.stderr))


def inside(program, folder, uri, far, releases):
    from crowd import Crowd
    from faults_database import check_crowd, wait_for_crowd
    from harness import Tester, wait_until
    from serving import Server
    tester = Tester(program, folder)

    def cut_cable(cut):
        """Frames go to nobody, both ways, and nobody is told."""
        for where, address in (([], DATABASE), (["-n", far], SERVICE)):
            to = ["replace", address, "lladdr", "02:00:00:00:00:99", "nud", "permanent"] if cut else ["delete", address]
            subprocess.run(["ip", *where, "neighbour", *to, "dev", "cable"], check=True)

    with Server(tester, "--cache-bytes", 0, "--threads", 2, stores=[uri]) as server:
        with Crowd(server.host, server.port, releases) as crowd:
            wait_for_crowd(crowd)
            cut_cable(True)
            cut = time.monotonic()
            time.sleep(8)
            wait_until(lambda: crowd.during(cut, time.monotonic()), 60)
            health = server.request("GET", "/healthz").status
            joined = time.monotonic()
            cut_cable(False)
            back = crowd.wait_for_answer(joined)
            time.sleep(0.5)
        found = crowd.during(cut, joined)  # later ones may be held up until it is joined
        tester.check(set(found) == {503}, "while it is cut: %s" % found)
        tester.check(health == 503, "healthz while it is cut: %d" % health)
        slowest = crowd.slowest(cut - 1)  # also those under way when it was cut
        tester.check(1 < slowest < 15, "they notice, and nobody waits longer than 5 s: %.1f s" % slowest)
        tester.check(back is not None and back < 20, "back after %s s" % back)
        check_crowd(tester, crowd, "cut")
        print("figure: network to the database cut for %.1f s: %d queries got 503, the slowest in %.1f s; answers again %.1f s "
              "after it was joined; %d answered, 0 wrong, 0 lost" %
              (joined - cut, found.get(503, 0), slowest, back or -1, crowd.answered))
    return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(inside(*sys.argv[1:5], [(bytes.fromhex(a), bytes.fromhex(b)) for a, b in json.load(sys.stdin)]))
