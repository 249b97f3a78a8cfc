"""The examples of docs/examples that others read: systemd, Prometheus, Docker, a shell."""
import glob
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile

import numpy as np
import yaml

from examples_nginx import EXAMPLES, read_text, write_file
from harness import OWN, ROOT
from serving import Server

UNIT_PATHS = {"/usr/local/lib/privatemail/": EXAMPLES + "/"}


def example(name):
    return read_text(EXAMPLES, name)


def is_known(tester, arguments, what):
    """A command of privatemail and its options exist."""
    done = tester.run(arguments[0], "--help")
    if not tester.check(done.returncode == 0, "%s: there is no privatemail %s" % (what, arguments[0])):
        return
    known = set(re.findall(r"(?<= )--[a-z][a-z-]*", done.stdout.decode()))
    for option in arguments[1:]:
        if option.startswith("--"):
            tester.check(option.split("=")[0] in known, "%s: privatemail %s has no %s" % (what, arguments[0], option))


# ---- systemd ----

def test_units(tester):
    units = [os.path.basename(path) for end in ("service", "path") for path in glob.glob("%s/*.%s" % (EXAMPLES, end))]
    tester.check(len(units) == 5, "units: %s" % units)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name in units:
            text = example(name).replace("/usr/local/bin/privatemail", tester.program)
            for old, new in UNIT_PATHS.items():
                text = text.replace(old, new)
            paths.append(os.path.join(folder, name.replace("@.", "@8081.")))
            write_file(paths[-1], text.encode())
            for line in re.findall(r"^ExecStart=((?:.*\\\n)*.*)$", text, re.M):
                arguments = shlex.split(line.replace("\\\n", " "))
                tester.check(os.access(arguments[0], os.X_OK), "%s starts %s" % (name, arguments[0]))
                if arguments[0] == tester.program:
                    is_known(tester, arguments[1:], name)
            described = re.search(r"^# /etc/systemd/system/(\S+?)[:;\s]", text)
            tester.check(described and described[1] == name, "%s says where it belongs" % name)
        if not shutil.which("systemd-analyze"):
            print("no systemd-analyze here: units are read, not verified")
            return
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True, timeout=60)
        tester.check(done.returncode == 0 and folder not in done.stderr, "systemd-analyze verify: %s" % done.stderr)


# ---- Prometheus ----

def test_alerts(tester):
    rules = [rule for group in yaml.safe_load(example("alerts.yml"))["groups"] for rule in group["rules"]]
    with Server(tester) as server:
        server.post(tester.read("p-response.cbor"))
        told = server.request("GET", "/metrics").body.decode()
    # A request counts when it is over, which may be after the next one began: its metric's type is told at once.
    metrics = set(re.findall(r"^(?:# TYPE )?(privatemail_\w+)", told, re.M))
    for rule in rules:
        for name in re.findall(r"\bprivatemail_\w+", rule["expr"]):
            tester.check(name in metrics, "%s: serve has no metric %s" % (rule["alert"], name))
        for route in re.findall(r'route="([^"]*)"', rule["expr"]):
            tester.check('route="%s"' % route in told, "%s: serve has no route %s" % (rule["alert"], route))
    if not shutil.which("promtool"):
        print("no promtool here: alerts are read, not checked by Prometheus")
        return
    done = subprocess.run(["promtool", "check", "rules", os.path.join(EXAMPLES, "alerts.yml")], capture_output=True, text=True,
                          timeout=60)
    tester.check(done.returncode == 0, "promtool: %s" % (done.stdout + done.stderr))


# ---- Docker: read only. There is no daemon where the tests run ----

def installed_packages(stage):
    """What a stage of the Dockerfile installs."""
    return re.search(r"apt-get install -y --no-install-recommends \\\n(.*?)&&", stage, re.S)[1].replace("\\\n", " ").split()


def test_dockerfile(tester):
    _, build, run = example("Dockerfile").split("\nFROM ")
    tester.check("USER privatemail" in run and run.index("USER") < run.index("ENTRYPOINT"), "it does not run as root")
    tester.check("HEALTHCHECK" in run and "/healthz" in run, "health is checked")
    setup = read_text(ROOT, "scripts", "setup.sh")
    for package in installed_packages(build):
        tester.check(re.search(r"[\s(]%s[\s)]" % re.escape(package), setup), "setup.sh does not know %s" % package)
    for option in re.findall(r"-D(PRIVATEMAIL_\w+)", build):
        tester.check("option(" + option in read_text(ROOT, "CMakeLists.txt"), "there is no option " + option)
    if not shutil.which("dpkg") or not os.path.exists("/etc/debian_version") or not example_release():
        print("not Debian 12: packages that run the image are not compared")
        return
    # Every library that the command itself names belongs to a package that the image has.
    needed = re.findall(r"NEEDED\s+(\S+)", subprocess.run(["objdump", "-p", tester.program], capture_output=True, text=True,
                                                          check=True).stdout)
    packages = {line.split(":")[0] for name in needed if not re.match(r"(libc|libm|ld-linux\S*|libasan|libubsan|libtsan)\.so", name)
                for line in subprocess.run(["dpkg", "-S", "*/" + name], capture_output=True, text=True).stdout.splitlines()[:1]}
    missing = packages - set(installed_packages(run))
    tester.check(packages and not missing, "the image lacks %s" % missing)


def example_release():
    with open("/etc/debian_version", encoding="ascii") as stream:
        return stream.read().startswith("12.")


def texts_of(value):
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts_of(inner)]
    return [text for inner in value for text in texts_of(inner)] if isinstance(value, list) else [str(value)]


def test_compose(tester):
    document = yaml.safe_load(example("compose.yaml"))
    services = document["services"]
    tester.check({"db", "index", "serve-1", "serve-2", "nginx"} <= set(services), "services: %s" % list(services))
    for name, service in services.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./") and source not in ("./data", "./tls"):
                tester.check(os.path.isfile(os.path.join(EXAMPLES, source)), "%s: there is no %s" % (name, source))
            elif not source.startswith("."):
                tester.check(source in document["volumes"], "%s: no volume %s" % (name, source))
        for other in service.get("depends_on", {}):
            tester.check(other in services, "%s depends on %s" % (name, other))
        for network in service["networks"]:
            tester.check(network in document["networks"], "%s: no network %s" % (name, network))
        if service["image"] == "privatemail" and "entrypoint" not in service:
            is_known(tester, service["command"], name)
    for command in re.split(r"\|\|", services["index"]["command"][0]):
        arguments = shlex.split(command)
        tester.check(arguments.pop(0) == "privatemail", "the job runs privatemail")
        is_known(tester, arguments, "index")
    build = services["serve-1"]["build"]
    context = os.path.join(EXAMPLES, build["context"])
    tester.check(os.path.isfile(os.path.join(context, build["dockerfile"])) and os.path.samefile(context, ROOT), "the Dockerfile")
    # The services that nginx is told of are those of its example.
    changed = re.findall(r"s/([\d.:]+)/([\w-]+):(\d+)/", " ".join(services["nginx"]["command"]))
    tester.check(sorted(new for _, new, _ in changed) == ["serve-1", "serve-2"] and
                 all("server %s " % old in example("nginx.conf") for old, _, _ in changed) and
                 all("0.0.0.0:" + port in services["serve-1"]["command"] for _, _, port in changed), "nginx finds them: %s" % changed)
    given = set(re.findall(r"\$\{(\w+)", " ".join(texts_of(services))))
    told = set(re.findall(r'"(\w+)=\$\(', example("compose.yaml")))
    tester.check(given == told, "passwords: %s are wanted, %s are made" % (given, told))


# ---- what the path unit starts ----

FAKE = """#!/bin/sh
echo "$*" >> "$TOLD"
case "$*" in *wrong*) exit 3 ;; *full*) exit 4 ;; esac
"""


def test_inbox(tester):
    """Batches in their order; wrong ones are put aside; others stay when the store cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        inbox = folder + "/inbox"
        write_file(folder + "/bin/privatemail", FAKE.encode())
        os.chmod(folder + "/bin/privatemail", stat.S_IRWXU)
        environment = dict(os.environ, PATH="%s/bin:%s" % (folder, os.environ["PATH"]), TOLD=folder + "/told", PACK="p.pmpk",
                           STORE="sqlite:my store")

        def batch(name, *files, ready=True):
            for file in files + (("ready",) if ready else ()):
                write_file("%s/%s/%s" % (inbox, name, file), b"")

        def run():
            write_file(folder + "/told", b"")
            done = subprocess.run([os.path.join(EXAMPLES, "privatemail-index.sh"), inbox], env=environment, capture_output=True,
                                  text=True)
            return done.returncode, read_text(folder, "told").splitlines(), done.stderr
        os.mkdir(inbox)
        tester.check(run() == (0, [], ""), "nothing to do")
        batch("1 first", "features.npy", "ids.txt", "labels.npy", "payloads/7.png")
        batch("2", "remove.txt", "features.npy")
        batch("3", "remove.txt")
        batch("4", "features.npy", ready=False)
        code, told, said = run()
        at = "index --store sqlite:my store --pack p.pmpk "
        first = inbox + "/1 first/"
        tester.check(code == 0 and told == [
            at + "--add %sfeatures.npy --ids %sids.txt --labels %slabels.npy --payloads %spayloads" % (first, first, first, first),
            at + "--remove %s/2/remove.txt --add %s/2/features.npy" % (inbox, inbox),
            at + "--remove %s/3/remove.txt" % inbox], "in order: %d %s %s" % (code, told, said))
        tester.check(os.listdir(inbox) == ["4"], "what was taken in is gone, what is not ready stays")
        batch("5 wrong", "features.npy")
        batch("6", "remove.txt")
        code, told, said = run()
        tester.check(code == 3 and len(told) == 2 and os.listdir(inbox) == ["4"] and "5 wrong" in said and
                     os.listdir(inbox + ".failed")[0].startswith("5 wrong."), "a wrong one: %d %s" % (code, told))
        batch("7 full", "remove.txt")
        batch("8", "remove.txt")
        code, told, _ = run()
        tester.check(code == 4 and len(told) == 1 and sorted(os.listdir(inbox)) == ["4", "7 full", "8"],
                     "the store cannot be written: %d %s" % (code, told))


def test_inbox_for_real(tester):
    """The same with the command itself: a batch comes in, a wrong one does not."""
    with tempfile.TemporaryDirectory() as folder:
        store, inbox = "sqlite:%s/inbox.store" % folder, folder + "/inbox"
        tester.succeeds("index", "index", "--pack", "p.pmpk", "--features", "public.npy", "--labels", "labels.npy", *OWN, "--store",
                        store)
        os.mkdir(folder + "/bin")
        os.symlink(tester.program, folder + "/bin/privatemail")
        for name, gone in (("1", b"0\n1\n"), ("2", b"999\n")):
            write_file("%s/%s/remove.txt" % (inbox, name), gone)
            write_file("%s/%s/ready" % (inbox, name), b"")
        np.save(inbox + "/1/features.npy", np.load(tester.path("public.npy"))[:1])
        np.save(inbox + "/1/labels.npy", np.load(tester.path("labels.npy"))[:1])
        write_file(inbox + "/1/ids.txt", b"5000\n")
        before = tester.json("gallery", "gallery", "--store", store)["items"]
        environment = dict(os.environ, PATH="%s/bin:%s" % (folder, os.environ["PATH"]), PACK=tester.path("p.pmpk"), STORE=store)
        done = subprocess.run([os.path.join(EXAMPLES, "privatemail-index.sh"), inbox], env=environment, capture_output=True,
                              text=True)
        after = tester.json("gallery", "gallery", "--store", store)
        tester.check(done.returncode == 3 and after["items"] == before - 1 and len(after["history"]) == 2,
                     "one batch is one version: %d, %s items, %s" % (done.returncode, after["items"], done.stderr))
        tester.check(os.listdir(inbox) == [] and len(os.listdir(inbox + ".failed")) == 1, "the wrong one is put aside")


def run_all(tester):
    test_units(tester)
    test_alerts(tester)
    test_dockerfile(tester)
    test_compose(tester)
    test_inbox(tester)
    test_inbox_for_real(tester)
