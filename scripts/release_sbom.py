#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the bill of materials of a release as SPDX 2.3 JSON on stdout.

    release_sbom.py --version V --commit C --epoch SECONDS FOLDER

FOLDER holds the artefacts. Each is a file with its sums. What they were made with is a package each: BearSSL, whose code
is inside, what the command links, and what it loads when it is there, with the versions that pkg-config tells; what
the packages for Python and for Kotlin ask their package managers for; and the tools that are here, which the same bytes
need in the same versions.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Name, licence, how it is used, name for pkg-config. BearSSL has no file for pkg-config.
PARTS = [
    ("BearSSL", "MIT", "STATIC_LINK", None),
    ("SQLite", "blessing", "DYNAMIC_LINK", "sqlite3"),
    ("libpq", "PostgreSQL", "DYNAMIC_LINK", "libpq"),
    ("libmicrohttpd", "LGPL-2.1-or-later", "DYNAMIC_LINK", "libmicrohttpd"),
    ("libcurl", "curl", "DYNAMIC_LINK", "libcurl"),
    ("libpng", "Libpng", "DYNAMIC_LINK", "libpng"),
    ("OpenSSL", "Apache-2.0", "DYNAMIC_LINK", "openssl"),
    ("LAPACKE", "BSD-3-Clause", "OPTIONAL", "lapacke"),
    ("ARPACK", "BSD-3-Clause", "OPTIONAL", "arpack"),
    ("numpy", "BSD-3-Clause", "RUNTIME", None),
    ("kotlin-stdlib", "Apache-2.0", "RUNTIME", None),
    ("kotlinx-coroutines-core", "Apache-2.0", "RUNTIME", None),
]
# Name, licence, command that prints the version, where it stands in what is printed.
TOOLS = [
    ("CMake", "BSD-3-Clause", "cmake --version", r"version (\S+)"),
    ("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1", "gcc -dumpfullversion", r"(\S+)"),
    ("Clang", "Apache-2.0 WITH LLVM-exception", "clang --version", r"version (\S+)"),
    ("LLD", "Apache-2.0 WITH LLVM-exception", "wasm-ld --version", r"LLD (\S+)"),
    ("OpenJDK", "GPL-2.0-only WITH Classpath-exception-2.0", "javac -version", r"javac (\S+)"),
    ("gzip", "GPL-3.0-or-later", "gzip --version", r"gzip (\S+)"),
    ("Python", "PSF-2.0", "{python} --version", r"Python (\S+)"),
] + [(name, licence, "{python} -m pip show " + name, r"Version: (\S+)") for name, licence in (
    ("ziglang", "MIT"), ("kotlin-jupyter-kernel", "Apache-2.0"), ("auditwheel", "MIT"), ("build", "MIT"))]
HOW = {"OPTIONAL": "OPTIONAL_DEPENDENCY_OF", "RUNTIME": "RUNTIME_DEPENDENCY_OF"}  # these point from the part to the whole


VENV = pathlib.Path("build/venv/bin/python")  # of scripts/setup.sh
SETUP = pathlib.Path(__file__).with_name("setup.sh")  # it fetches BearSSL's sources, and knows their sum


def version_of(module):
    if module is None:
        return None
    done = subprocess.run(["pkg-config", "--modversion", module], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def tools():
    """[(name, licence, version)] of those that are here."""
    python = str(VENV) if VENV.exists() else sys.executable
    for name, licence, command, pattern in TOOLS:
        words = command.format(python=python).split()
        if shutil.which(words[0]):
            found = re.search(pattern, subprocess.run(words, capture_output=True, text=True).stdout)
            if found:
                yield name, licence, found[1]


def package(name, licence, version):
    made = {"SPDXID": "SPDXRef-" + name, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if version:
        made["versionInfo"] = version
    return made


def sums(path):
    with open(path, "rb") as stream:
        data = stream.read()
    return [{"algorithm": name.upper(), "checksumValue": hashlib.new(name, data).hexdigest()} for name in ("sha1", "sha256")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--epoch", required=True, type=int)
    parser.add_argument("folder")
    given = parser.parse_args()
    made = datetime.datetime.fromtimestamp(given.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    own = dict(package("PrivateMail", "Apache-2.0", given.version), sourceInfo="git commit " + given.commit)
    files, relations = [], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-PrivateMail")]
    for number, name in enumerate(sorted(os.listdir(given.folder))):
        key = "SPDXRef-File-%d" % number
        files.append({"SPDXID": key, "fileName": "./" + name, "checksums": sums(os.path.join(given.folder, name)),
                      "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})
        relations.append((key, "GENERATED_FROM", "SPDXRef-PrivateMail"))
    others = [package(name, licence, version_of(module)) for name, licence, _, module in PARTS]
    others[0]["checksums"] = [{"algorithm": "SHA256",
                               "checksumValue": re.search(r"^bearssl_sha256=(\w{64})$", SETUP.read_text(), re.M)[1]}]
    for name, _, how, _ in PARTS:
        relations.append(("SPDXRef-" + name, HOW[how], "SPDXRef-PrivateMail") if how in HOW else
                         ("SPDXRef-PrivateMail", how, "SPDXRef-" + name))
    for name, licence, version in tools():
        others.append(package(name, licence, version))
        relations.append(("SPDXRef-" + name, "BUILD_TOOL_OF", "SPDXRef-PrivateMail"))
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": "PrivateMail-" + given.version,
        "documentNamespace": "urn:privatemail:%s:%s" % (given.version, given.commit),
        "creationInfo": {"created": made, "creators": ["Tool: scripts/release_sbom.py"]},
        "packages": [own] + others, "files": files,
        "relationships": [{"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}
                          for left, kind, right in relations]}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
