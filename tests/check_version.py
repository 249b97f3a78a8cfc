#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every place that states the version states that of CMakeLists.txt, and CHANGELOG.md begins with it.

    tests/check_version.py [--print]

--print prints the version and checks nothing. Ends with 'N passed, N failed'.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = r"(\d+\.\d+\.\d+)"

# Which file, how it states the version, whether it must be there. A file that is there must state it at least once.
PLACES = [
    ("platform/wasm/package.json", r'^  "version": "' + VERSION + '"', True),
    ("android/privatemail/build.gradle.kts", r'^version = "' + VERSION + '"', True),
    ("android/*/build.gradle.kts", r'^ *version(?:Name)? = "' + VERSION + '"', True),
    ("android/*/src/main/java/org/privatemail/PrivateMail.java", r'such as \{@code "' + VERSION + '"', True),
    ("android/README.md", r"org\.privatemail:[a-z-]+:" + VERSION, True),
    ("ios/Sources/PrivateMail/Curve.swift", r'as in "' + VERSION + '"', True),
    ("docs/openapi.yaml", r"^  version: " + VERSION, True),
    ("core/include/privatemail.h", r'^/\* "' + VERSION + r'" \*/', True),
    ("tests/install/CMakeLists.txt", r"^ *find_package\(privatemail (\d+\.\d+) REQUIRED", True),
    ("CHANGELOG.md", r"\A.*?^## " + VERSION, True),
    ("*.podspec", r"\.version *= *['\"]" + VERSION, False),
    ("*library.json", r'"version": *"' + VERSION + '"', False),
    ("*library.properties", r"^version=" + VERSION, False),
    ("*idf_component.yml", r'^version: *"?' + VERSION, False),
    ("*.pdsc", r'<release version="' + VERSION + '"', False),
    ("*pom*.xml", r"<artifactId>privatemail[a-z-]*</artifactId>\s*<version>" + VERSION, False),
]
# They speak of versions that were, or of other people's.
PAST = ("CHANGELOG.md", "tests/compat/*", "demo/*", "docs/figures/*", "tests/check_version.py")


def files():
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                          capture_output=True, text=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def text_of(name):
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def project_version():
    return re.search(r"^project\(privatemail\s+VERSION " + VERSION, text_of("CMakeLists.txt"), re.M).group(1)


def macros():
    """The version of the header's macros."""
    return ".".join(re.findall(r"^#define PML_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text_of("core/include/privatemail.h"), re.M))


def stated(version, known):
    """What is wrong in the places of the table."""
    for pattern, statement, required in PLACES:
        found = [name for name in known if fnmatch.fnmatch(name, pattern)]
        if required and not found:
            yield "there is no %s" % pattern
        for name in found:
            values = re.findall(statement, text_of(name), re.M | re.S)
            if not values:
                yield "%s does not state the version as `%s`" % (name, statement)
            for value in values:
                fits = value == version or version.startswith(value + ".")  # some state the minor version only
                yield None if fits else "%s says %s, and CMakeLists.txt %s" % (name, value, version)


def left_over(version, known):
    """Older versions of the project that some other file still speaks of."""
    older = set(re.findall(r"(?<![\d.])" + VERSION + r"(?![\d.])", text_of("CHANGELOG.md"))) - {version}
    for name in known:
        if not any(fnmatch.fnmatch(name, past) for past in PAST):
            for value in older:
                if re.search(r"(?<![\d.])" + re.escape(value) + r"(?![\d.])", text_of(name)):
                    yield "%s speaks of %s" % (name, value)


def main():
    version = project_version()
    if sys.argv[1:] == ["--print"]:
        print(version)
        return 0
    known = files()
    faults = [None if macros() == version else "the macros of privatemail.h say %s" % macros()]
    faults += list(stated(version, known)) + (list(left_over(version, known)) or [None])
    wrong = [fault for fault in faults if fault]
    for fault in wrong:
        print("FAILED:", fault)
    print("%d passed, %d failed" % (len(faults) - len(wrong), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
