#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts the notes of one version out of a CHANGELOG: release_notes.py VERSION CHANGELOG.md"""
import re
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: release_notes.py VERSION CHANGELOG.md")
    with open(sys.argv[2], encoding="utf-8") as stream:
        sections = re.split(r"^## ", stream.read(), flags=re.M)[1:]
    for section in sections:
        head, _, body = section.partition("\n")
        if head.strip() == sys.argv[1]:
            if not body.strip():
                sys.exit("release_notes: the section of %s is empty: write what changed" % sys.argv[1])
            print("# PrivateMail %s\n\n%s" % (head.strip(), body.strip()))
            return
    sys.exit("release_notes: %s has no section ## %s: write one" % (sys.argv[2], sys.argv[1]))


if __name__ == "__main__":
    main()
