"""What the tests of the command share: running it, looking at folders, and the schemas of docs/CLI.md."""
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import cases as golden  # noqa: E402
import reference  # noqa: E402
from reference_formats import read_release  # noqa: E402,F401

# Whoever runs the tests in the background may ignore these, and the command would inherit that.
for ignored in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)

USAGE, INPUT, OUTPUT, BUDGET, PRIVACY, FAULT = 2, 3, 4, 5, 6, 7
CONTROL_C_EXIT = 0xC000013A & 0xFF  # of Windows, as much as Linux passes on
# A pack with a slot per class and everything in it, and lists of items by their own cell: what most tests look into.
WHOLE = ["--slots", "class", "--cells", "8", "--gaussian", "--rows-are-public"]
OWN = ["--cells-per-item", "1"]
# A message that helps holds one of these.
REMEDY = re.compile(r"\b(add|check|choose|close|compare|convert|explains|fetch|free|give|leave|lists all|make|must|name|needs|"
                    r"put|reduce|remove|renumber|reshape|save|send|shows|start|tells|use|want|wants)\b", re.I)


class Tester:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder
        self.passed = self.failed = 0
        self.patience = 300  # seconds that a command may take: against one that hangs
        self.windows = "PRIVATEMAIL_WINDOWS" in os.environ  # tests/platforms/windows.sh: the command runs under wine

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, **options):
        command = [self.program] + [argument if isinstance(argument, bytes) else str(argument) for argument in arguments]
        done = subprocess.run(command, capture_output=True, cwd=self.folder, timeout=self.patience, **options)
        if self.windows and done.returncode == 1 and not done.stdout and not done.stderr:
            # The command has no exit code 1 (docs/CLI.md): now and then wine does not start it.
            done = subprocess.run(command, capture_output=True, cwd=self.folder, timeout=self.patience, **options)
        return done

    def run_at_once(self, commands):
        """Exit codes of commands that run beside each other."""
        with ThreadPoolExecutor(len(commands)) as pool:
            return list(pool.map(lambda command: self.run(*command).returncode, commands))

    def check(self, true, what):
        if true:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED:", what)
            if os.environ.get("PRIVATEMAIL_FIRST_FAILURE"):  # who only wants to know whether there is one (mutants)
                sys.exit(1)
        return bool(true)

    def leaves_out(self, what, reason):
        """Whether tests of this are left out, which happens on Windows only, and is told."""
        if self.windows:
            print("skipped: %s (%s)" % (what, reason))
        return self.windows

    def succeeds(self, what, *arguments):
        done = self.run(*arguments)
        self.check(done.returncode == 0, "%s: exit code %d, %s" % (what, done.returncode, done.stderr.decode()))
        return done

    def json(self, what, *arguments):
        """The document on stdout, which must be all that is there."""
        done = self.succeeds(what, *arguments, "--json")
        try:
            return json.loads(done.stdout, parse_constant=lambda name: None)
        except ValueError:
            self.check(False, "%s: stdout is no JSON: %r" % (what, done.stdout[:200]))
            return None

    def fails(self, what, code, needles, *arguments, same=True):
        """It fails with this code, a message that names things and a remedy, and leaves every file as it was."""
        before = self.snapshot() if same else None
        done = self.run(*arguments)
        text = done.stderr.decode(errors="replace")
        problems = []
        if done.returncode != code:
            problems.append("exit code %d instead of %d" % (done.returncode, code))
        if done.stdout:
            problems.append("something on stdout")
        if not text.startswith("privatemail"):
            problems.append("the message has no head")
        problems += ["%r is not named" % needle for needle in needles if needle not in text]
        if not REMEDY.search(text.strip().split("\n")[-1].split(":", 1)[-1]):
            problems.append("no remedy")
        if same and self.snapshot() != before:
            problems.append("files changed: %s" % sorted(set(self.snapshot().items()) ^ set(before.items())))
        self.check(not problems, "%s: %s: %s" % (what, "; ".join(problems), text))
        return done

    def snapshot(self):
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if name.endswith(("-shm", "-wal")):  # SQLite's own, of any reader
                    continue
                path = os.path.join(folder, name)
                with open(path, "rb") as stream:
                    found[os.path.relpath(path, self.folder)] = hash(stream.read())
        return found

    def fails_when_full(self, what, most, *arguments):
        """A limit on the size of files, in bytes, is a disk that is full: the command says so, and nothing remains."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        before = self.snapshot()
        done = self.run(*arguments, preexec_fn=limit)
        self.check(done.returncode == OUTPUT and b"full" in done.stderr,
                   "%s on a full disk: %d, %s" % (what, done.returncode, done.stderr.decode()))
        self.check(self.snapshot() == before, "%s on a full disk: nothing remains" % what)

    def write(self, name, content):
        with open(self.path(name), "wb") as stream:
            stream.write(content)
        return name

    def read(self, name):
        with open(self.path(name), "rb") as stream:
            return stream.read()

    def save(self, name, array):
        np.save(self.path(name), array)
        return name


# ---- waiting ----

def wait_until(is_true, seconds=20, pause=0.02):
    """What it said when it became true, or at last; what was true is not asked again. The clock is one that nobody sets."""
    end = time.monotonic() + seconds
    while True:
        value = is_true()
        if value or time.monotonic() >= end:
            return value
        time.sleep(pause)


# ---- budgets ----

def read_budget(data):
    """(response spent, response cap, Gaussian spent, Gaussian cap) in SPEC 4's units; None when it is not sound."""
    import hashlib
    if data[:4] != b"PMLB" or hashlib.sha256(data[:-8]).digest()[:8] != data[-8:]:
        return None
    if len(data) == 64:                                       # version 1
        gaussian_cap, _, cap, spent, gaussian_spent = struct.unpack_from("<QQIIQ", data, 24)
        return spent, cap, gaussian_spent, gaussian_cap
    if len(data) != 112:
        return None
    gaussian_cap, _, cap = struct.unpack_from("<QQI", data, 24)
    gaussian_spent, spent = struct.unpack_from("<Q", data, 72)[0], struct.unpack_from("<I", data, 96)[0]
    return spent, cap, gaussian_spent, gaussian_cap


# ---- schemas ----

def read_schemas():
    """{command: {key: type}} from the tables of docs/CLI.md."""
    schemas, command = {}, None
    with open(os.path.join(ROOT, "docs", "CLI.md"), encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("### "):
                command = line[4:].strip()
                schemas[command] = {}
            elif line.startswith("#"):
                command = None
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if command and line.startswith("|") and cells[0] not in ("key", "---"):
                schemas[command][cells[0]] = cells[1]
    return schemas


def is_of_type(value, kind):
    kind = kind.replace(", optional", "")
    if kind.endswith(" or null"):
        return value is None or is_of_type(value, kind[:-len(" or null")])
    if kind.startswith("list"):
        inner = kind[len("list of "):]
        return isinstance(value, list) and (not inner or all(is_of_type(item, inner) for item in value))
    if isinstance(value, bool):
        return kind == "bool"
    whole = isinstance(value, int)
    return {"text": isinstance(value, str), "integer": whole, "count": whole and value >= 0,
            "number": whole or isinstance(value, float), "object": isinstance(value, dict)}.get(kind, False)


def schema_faults(schema, value, prefix=""):
    """What differs between a document and its table."""
    faults = []
    own = {key[len(prefix):]: kind for key, kind in schema.items()
           if key.startswith(prefix) and "." not in key[len(prefix):]}
    faults += ["%s%s is not documented" % (prefix, key) for key in value if key not in own]
    for key, kind in own.items():
        if key not in value:
            if "optional" not in kind:
                faults.append("%s%s is missing" % (prefix, key))
            continue
        if not is_of_type(value[key], kind):
            faults.append("%s%s is no %s: %r" % (prefix, key, kind, value[key]))
        elif isinstance(value[key], dict):
            faults += schema_faults(schema, value[key], prefix + key + ".")
        elif isinstance(value[key], list) and any(other.startswith(prefix + key + "[].") for other in schema):
            for item in value[key]:
                faults += schema_faults(schema, item, prefix + key + "[].")
    return faults


# ---- whole runs ----

def run_tests(tests):
    """Runs tests(tester, schemas) on the program of the command line in a folder of its own, in which nothing half-written
    may be left. Ends with 'N passed, N failed'."""
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        tests(tester, read_schemas())
        left = [name for name in os.listdir(folder) if ".tmp-" in name]
        tester.check(not left, "nothing half-written is left: %s" % left)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    sys.exit(1 if tester.failed else 0)
