#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/release.sh makes the same bytes twice, with sums, bill of materials and notes that fit, and fails by name.

    tests/check_release.py [--all]

    --all       every artefact; otherwise those of the source and of the library alone. Takes about ten minutes

Works in a clone of the files as they are, so that what is not committed yet is tested too. Ends with 'N passed, N failed'.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
EPOCH = 1700000000
results = []


def check(good, what):
    results.append(bool(good))
    if not good:
        print("FAILED:", what)


def clone(folder):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    if (ROOT / "build" / "venv").is_dir():  # a Kotlin compiler; git ignores build
        (folder / "build").mkdir()
        (folder / "build" / "venv").symlink_to(ROOT / "build" / "venv")
    commit(folder, "init", "-q")


def commit(folder, *first):
    """Commits all that is there, at a time that does not change."""
    date = {"GIT_AUTHOR_DATE": "%d +0000" % EPOCH, "GIT_COMMITTER_DATE": "%d +0000" % EPOCH}
    for arguments in ([first] if first else []) + [("add", "-A"), ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "all")]:
        subprocess.run(["git", *arguments], cwd=folder, check=True, env={**os.environ, **date})


def release(folder, *arguments, path=os.environ["PATH"]):
    return subprocess.run(["scripts/release.sh", *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=7200,
                          env={**os.environ, "PATH": path})


def path_without(tool, folder):
    """A PATH of one folder, which has all programs of the PATH but one."""
    folder.mkdir()
    for place in os.environ["PATH"].split(":"):
        for program in pathlib.Path(place).iterdir() if os.path.isdir(place) else ():
            if program.name != tool and not os.path.lexists(folder / program.name):
                (folder / program.name).symlink_to(program)
    return str(folder)


def check_linked(made, bill):
    """The bill names the libraries that the command links, and no others."""
    sonames = {"SQLite": "libsqlite3", "libpq": "libpq", "libmicrohttpd": "libmicrohttpd", "libcurl": "libcurl",
               "libpng": "libpng16", "OpenSSL": "libcrypto"}
    told = {relation["relatedSpdxElement"][len("SPDXRef-"):] for relation in bill["relationships"]
            if relation["relationshipType"] == "DYNAMIC_LINK"}
    with tempfile.TemporaryDirectory() as folder:
        archive, = made.glob("privatemail-command-*.tar.gz")
        with tarfile.open(archive) as packed:
            pathlib.Path(folder, "command").write_bytes(packed.extractfile("./bin/privatemail").read())
        shown = subprocess.run(["readelf", "-d", "command"], cwd=folder, check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(\w+)\.so", shown)) - {"libc", "libm"}
    check({sonames.get(name, name) for name in told} == needed, "the bill's libraries: %s, %s" % (sorted(told), sorted(needed)))


def check_names(there):
    """Every ecosystem finds its artefact under the name that it looks for."""
    maven = {"privatemail-%s%s" % (VERSION, end) for end in (".aar", ".pom", "-sources.jar", "-javadoc.jar")}
    maven |= {"privatemail-kotlin-%s%s" % (VERSION, end) for end in (".jar", ".pom", "-sources.jar", "-javadoc.jar")}
    found = {name for name in there if name.endswith((".aar", ".jar", ".pom"))}
    check(found == maven, "Maven's names: %s" % sorted(found ^ maven))
    others = {"PrivateMail-%s.zip" % VERSION, "PrivateMail.PrivateMail.%s.pack" % VERSION, "privatemail-%s.tgz" % VERSION,
              "privatemail-%s-windows-x86_64.tar.gz" % VERSION, "privatemail-%s.tar.gz" % VERSION}
    check(others <= there, "other names: %s" % sorted(others - there))


def check_licences(name, names):
    """Whoever gets BearSSL's code gets its licence."""
    inside = any(system in name for system in ("-linux-", "-windows-")) or name.endswith(".tgz")
    check(any(entry.endswith("LICENSE-BearSSL") for entry in names) == inside, name + ": BearSSL's licence")


def check_folder(made, clone_folder, everything):
    sums = dict(reversed(line.split("  ")) for line in (made / "SHA256SUMS").read_text().splitlines())
    there = {path.name for path in made.iterdir()} - {"SHA256SUMS"}
    check(set(sums) == there, "sums of all files: %s, %s" % (sorted(sums), sorted(there)))
    for name, told in sums.items():
        check(hashlib.sha256((made / name).read_bytes()).hexdigest() == told, "the sum of " + name)
    bill = json.loads((made / ("privatemail-%s.spdx.json" % VERSION)).read_text())
    listed = {entry["fileName"][2:]: {sum_["algorithm"]: sum_["checksumValue"] for sum_ in entry["checksums"]} for entry in bill["files"]}
    check(bill["spdxVersion"] == "SPDX-2.3" and bill["creationInfo"]["created"] == "2023-11-14T22:13:20Z", "the bill's head")
    check(set(listed) == there - {"privatemail-%s.spdx.json" % VERSION}, "the bill names all files: %s" % sorted(listed))
    check(all(listed[name]["SHA256"] == sums[name] for name in listed), "the bill has the same sums")
    ids = [entry["SPDXID"] for entry in bill["packages"] + bill["files"]]
    ends = {end for relation in bill["relationships"] for end in (relation["spdxElementId"], relation["relatedSpdxElement"])}
    check(len(ids) == len(set(ids)) and ends <= set(ids) | {"SPDXRef-DOCUMENT"}, "the bill's relations")
    check({"BearSSL", "PrivateMail"} <= {entry["name"] for entry in bill["packages"]}, "the bill's packages")
    tools = {relation["spdxElementId"] for relation in bill["relationships"] if relation["relationshipType"] == "BUILD_TOOL_OF"}
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    check({"SPDXRef-GCC", "SPDXRef-CMake", "SPDXRef-Python"} <= tools and
          any(entry["name"] == "GCC" and entry["versionInfo"] == gcc for entry in bill["packages"]), "the bill's tools: %s" % tools)
    if everything:
        check_linked(made, bill)
        check((made / "LEFT-OUT.txt").read_text() == "", "nothing is left out")
        check_names(there)
    notes, log = (made / "NOTES.md").read_text(), (clone_folder / "CHANGELOG.md").read_text()
    section = log.split("\n## %s\n" % VERSION)[1].split("\n## ")[0].strip()
    check(notes.strip() == "# PrivateMail %s\n\n%s" % (VERSION, section), "the notes are the section of CHANGELOG.md")
    for name in (name for name in there if name.endswith((".tar.gz", ".tgz"))):
        with tarfile.open(made / name) as archive:
            members = archive.getmembers()
        check(members and all((entry.uid, entry.gid) == (0, 0) and entry.mtime == EPOCH for entry in members), name + ": owners, times")
        names = [entry.name for entry in members if entry.isfile()]
        check(not [entry for entry in names if ".git/" in entry or entry.endswith((".o", "~"))], name + ": nothing is left over")
        check(any(entry.endswith("LICENSE") for entry in names), name + ": the licence")
        check_licences(name, names)


def check_refusals(folder):
    for arguments, words in ((["0.0.1"], "not 0.0.1"), ([VERSION, "--only", "nothing"], "there is no artefact nothing"),
                             ([VERSION, "--out", "docs"], "no release is in it")):
        done = release(folder, *arguments)
        check(done.returncode == 1 and words in done.stderr, "%s: %d, %s" % (arguments, done.returncode, done.stderr))
    check(release(folder).returncode == 2 and release(folder, VERSION, "--wrong").returncode == 2, "usage")
    (folder / "README.md").write_text("changed\n")
    done = release(folder, VERSION)
    check(done.returncode == 1 and "not committed" in done.stderr, "what is not committed: %s" % done.stderr)
    (folder / "scripts" / "build-wasm.sh").write_text("#!/bin/sh\necho it broke\nexit 1\n")
    commit(folder)
    done = release(folder, VERSION, "--only", "npm", "--out", "never")
    check(done.returncode == 1 and "npm failed" in done.stderr and "it broke" in done.stderr, "an artefact that fails: %s" % done.stderr)
    check(not (folder / "never").exists(), "nothing of a release that failed is left")
    done = release(folder, VERSION, "--only", "npm", "--out", "without", path=path_without("wasm-ld", folder.parent / "bin"))
    told = "npm: left out, there is no wasm-ld here"
    check(done.returncode == 0 and told in done.stderr and told in (folder / "without" / "LEFT-OUT.txt").read_text(),
          "what is left out is named: %s" % done.stderr)
    log = folder / "CHANGELOG.md"
    log.write_text(log.read_text().replace("## %s\n" % VERSION, "## Unreleased\n"))
    commit(folder)
    check(release(folder, VERSION, "--only", "source").returncode == 1, "a version without notes")


def main():
    everything = sys.argv[1:] == ["--all"]
    if sys.argv[1:] and not everything:
        print(__doc__, file=sys.stderr)
        return 2
    wanted = [] if everything else ["--only", "source", "--only", "library"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, "clone")
        folder.mkdir()
        clone(folder)
        made = pathlib.Path(temporary, "made")
        done = release(folder, VERSION, *wanted, "--out", made, "--check")
        check(done.returncode == 0 and "the same bytes" in done.stderr, "two runs: %s" % done.stderr)
        check("set addresses in android/gradle.properties" in done.stderr, "addresses that nobody can open are named")
        if done.returncode == 0:
            check_folder(made, folder, everything)
        again = release(folder, VERSION, "--only", "source", "--only", "library", "--out", made)
        check(again.returncode == 0, "into the same folder once more: %s" % again.stderr)
        check_refusals(folder)
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
