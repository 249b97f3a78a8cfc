#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the bill of materials of a release as SPDX 2.3 JSON on stdout.

    release_sbom.py --version V --commit C --epoch SECONDS FOLDER

FOLDER holds the artefacts. Each is a file with its sums. What they were made with is a package each: BearSSL, whose code
is inside, and what the command links, with the versions that pkg-config or the files of this machine tell.
"""
import argparse
import datetime
import hashlib
import os
import subprocess

import json

# Name, licence, how it is used, name for pkg-config. BearSSL has no file for pkg-config.
PARTS = [
    ("BearSSL", "MIT", "STATIC_LINK", None),
    ("SQLite", "blessing", "DYNAMIC_LINK", "sqlite3"),
    ("libpq", "PostgreSQL", "DYNAMIC_LINK", "libpq"),
    ("libmicrohttpd", "LGPL-2.1-or-later", "DYNAMIC_LINK", "libmicrohttpd"),
    ("libcurl", "curl", "DYNAMIC_LINK", "libcurl"),
    ("libcbor", "MIT", "DYNAMIC_LINK", "libcbor"),
    ("libpng", "Libpng", "DYNAMIC_LINK", "libpng"),
    ("OpenSSL", "Apache-2.0", "DYNAMIC_LINK", "openssl"),
]


def version_of(module):
    if module is None:
        return None
    done = subprocess.run(["pkg-config", "--modversion", module], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


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
    relations += [("SPDXRef-PrivateMail", how, "SPDXRef-" + name) for name, _, how, _ in PARTS]
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
