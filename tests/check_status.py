#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every language names the statuses of PML_STATUS_LIST (core/include/privatemail.h) by the same numbers, in the same
order. Prints what differs and fails.

    python3 tests/check_status.py
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def plain(name):
    """PACK_ID, packID and PML_ERROR_PACK_ID are one name."""
    return re.sub("^PML_(ERROR_)?", "", name).replace("_", "").lower()


def c():
    listed = re.search(r"#define PML_STATUS_LIST\(X\)(.*?[^\\])\n", text("core/include/privatemail.h"), re.S).group(1)
    return [(plain(name), int(number)) for name, number in re.findall(r"X\((\w+), (-?\d+), \"", listed)]


def java():
    source = text("android/privatemail/src/main/java/org/privatemail/Status.java")
    return [(plain(name), int(number)) for name, number in re.findall(r"^    ([A-Z_]+)\((-?\d+)\)[,;]", source, re.M)]


def swift():
    """Success is no error there."""
    source = text("ios/Sources/PrivateMail/Status.swift")
    return [("ok", 0)] + [(plain(name), int(number)) for name, number in
                          re.findall(r"^    case (\w+) = (-\d+)$", source, re.M)]


def javascript():
    listed = re.search(r"STATUS_NAMES = \[(.*?)\]", text("platform/wasm/machine.js"), re.S).group(1)
    return [(plain(name), -index) for index, name in enumerate(re.findall(r"'(\w+)'", listed))]


def python():
    listed = re.search(r"class Status\(.*?(?=\n\n\n)", text("python/src/privatemail/errors.py"), re.S).group(0)
    return [(plain(name), int(number)) for name, number in re.findall(r"^    ([A-Z_]+) = (-?\d+)$", listed, re.M)]


def main():
    wanted = c()
    failed = len(wanted) < 2 or [number for _, number in wanted] != [-index for index in range(len(wanted))]
    if failed:
        print("privatemail.h: the numbers do not follow each other")
    for language, found in (("Java", java()), ("Swift", swift()), ("JavaScript", javascript()),
                            ("Python", python())):
        for name, number in sorted(set(wanted) ^ set(found), key=lambda status: -status[1]):
            print("%s: %s = %d is only in %s" % (language, name, number, "C" if (name, number) in wanted else language))
        if found != wanted:
            failed = True
            print("%s: its statuses are not those of C" % language)
    print("%d statuses in five languages" % len(wanted))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
