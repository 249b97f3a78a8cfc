"""A PostgreSQL of one's own, from Debian's packages: in a new folder, on a socket there (and a port of 127.0.0.1 when
one is wanted), under a user that is not root, and gone afterwards.

    python3 tests/cli/postgres.py [--replica] COMMAND [ARGUMENT...]

runs a command that finds it in PML_TEST_POSTGRES ("host=... user=... dbname=..."). With --replica there is a streaming
replica too: PML_TEST_REPLICA leads to it, PML_TEST_HOSTS is the URI of both, and PML_TEST_STOP and PML_TEST_START are
commands that stop the first at once, and start it again. Exit code: the command's; 77 when PostgreSQL is not installed."""
import glob
import os
import random
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

SKIPPED = 77
PORTS = range(20000, 32000)  # below those that Linux gives to whoever asks for any (ip_local_port_range)
SETTINGS = ["fsync=off", "shared_buffers=128MB", "max_connections=100"]


def find_binaries():
    """The folder of initdb and its like; None when there is none."""
    found = [path for path in glob.glob("/usr/lib/postgresql/*/bin") if os.path.exists(path + "/initdb")]
    return max(found, key=lambda path: int(path.split("/")[4])) if found else None


marks = []  # of the ports that this process has drawn


def free_port(host="127.0.0.1"):
    """A port on which nobody listens. While this process lives, no other one draws it: it is marked by an abstract socket."""
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            mark.bind("\0privatemail-%d" % port)
            socket.create_server((host, port)).close()
        except OSError:
            mark.close()
            continue
        marks.append(mark)
        return port
    raise OSError("no port from %d to %d is free" % (PORTS[0], PORTS[-1]))


class Postgres:
    """`folder`: where its data are made, the log of writes apart from them; `address`: where it listens beside its
    socket, "" for nowhere; `prefix`: a command that runs it; `primary`: the one whose replica it is."""

    def __init__(self, *settings, folder=None, address="", prefix=(), primary=None):
        self.binaries = find_binaries()
        if not self.binaries:
            raise FileNotFoundError("PostgreSQL is not installed: scripts/setup.sh --services installs it")
        self.folder = tempfile.mkdtemp(prefix="pml-postgres.")
        self.data = os.path.join(folder or self.folder, "data")
        self.owner, self.prefix = [], list(prefix)
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            for path in {self.folder, folder or self.folder}:
                shutil.chown(path, "postgres", "postgres")
            self.owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.address, self.port = address, free_port() if address else 5432
        self.settings = SETTINGS + ["listen_addresses=" + address, "port=%d" % self.port,
                                    "unix_socket_directories=" + self.folder, *settings]
        self.conninfo = "host=%s port=%d user=tests dbname=postgres" % (self.folder, self.port)
        self.log = os.path.join(self.folder, "log")
        if primary:  # -R makes standby.signal
            self.run("pg_basebackup", "-d", primary.conninfo, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        else:
            self.run("initdb", "-U", "tests", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8", "-X",
                     os.path.join(self.folder, "wal"))
        if address and not primary:
            with open(self.data + "/pg_hba.conf", "a", encoding="utf-8") as stream:
                stream.write("host all all all trust\n")
        self.start()

    def run(self, program, *arguments, check=True):
        return subprocess.run(self.prefix + self.owner + [os.path.join(self.binaries, program), "-D", self.data,
                                                          *arguments],
                              cwd=self.folder, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=120)

    def start(self):
        self.run("pg_ctl", *self.start_arguments())

    def start_arguments(self):
        return ["-w", "-l", self.log, "-o", " ".join("-c '%s'" % setting for setting in self.settings), "start"]

    def command(self, program, *arguments):
        """For a shell."""
        whole = self.prefix + self.owner + [os.path.join(self.binaries, program), "-D", self.data, *arguments]
        return "cd %s && %s >/dev/null 2>&1" % (shlex.quote(self.folder), shlex.join(whole))

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-w", "-m", mode, "stop")

    def query(self, text, user="tests"):
        """The rows as text, columns divided by |."""
        done = subprocess.run([os.path.join(self.binaries, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text,
                               self.conninfo.replace("user=tests", "user=" + user)],
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def uri(self, host=None):
        return "postgres:" + (self.conninfo if not host else
                              "host=%s port=%d user=tests dbname=postgres" % (host, self.port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-w", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def run_with_replica(command):
    with Postgres(address="127.0.0.1") as primary, Postgres(address="127.0.0.1", primary=primary) as replica:
        hosts = "postgres://tests@127.0.0.1:%d,127.0.0.1:%d/postgres" % (primary.port, replica.port)
        found = {"PML_TEST_POSTGRES": primary.conninfo, "PML_TEST_REPLICA": replica.conninfo, "PML_TEST_HOSTS": hosts,
                 "PML_TEST_STOP": primary.command("pg_ctl", "-w", "-m", "immediate", "stop"),
                 "PML_TEST_START": primary.command("pg_ctl", *primary.start_arguments())}
        return subprocess.run(command, env=dict(os.environ, **found)).returncode


def main():
    if not find_binaries():
        print("no PostgreSQL here: scripts/setup.sh --services installs it", file=sys.stderr)
        return SKIPPED
    if sys.argv[1] == "--replica":
        return run_with_replica(sys.argv[2:])
    with Postgres() as database:
        return subprocess.run(sys.argv[1:], env=dict(os.environ, PML_TEST_POSTGRES=database.conninfo)).returncode


if __name__ == "__main__":
    sys.exit(main())
