#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link of the documents leads to a file of the project, and every #anchor to a heading there.

    tests/docs/check_links.py

Reads the Markdown files that git knows: links and pictures in brackets, outside of blocks and backticks. Addresses with
a scheme are not fetched. First it looks at a page with wrong links, which it must find. The last line is
'N passed, N failed'.
"""
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()]*\))?)\)")
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


def lines(path):
    """Its lines outside of fenced and indented blocks, with numbers. An indented line goes on with the prose above it."""
    fenced, block = False, True
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not (line.startswith("    ") and block):
            yield number, line
            block = not line


@functools.cache
def anchors(path):
    """The names that renderers give the headings: small letters, digits, hyphens for spaces; -1, -2 for repetitions."""
    names, counts = set(), {}
    for _, line in lines(path):
        if re.match(r"#{1,6} ", line):
            text = re.sub(r"\]\([^)]*\)", "", line.lstrip("#").strip().lower())
            name = re.sub(r"[^\w -]", "", text).replace(" ", "-")
            count = counts[name] = counts.get(name, -1) + 1
            names.add(f"{name}-{count}" if count else name)
        names.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return names


def name_of(path):
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name


def wrong_links(path, known):
    """(count of links, what is wrong). known: the files that there are, or None for all that exist."""
    count, wrong = 0, []
    for number, line in lines(path):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if SCHEME.match(target):
                continue
            count += 1
            name, _, anchor = urllib.parse.unquote(target).partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists() or (known is not None and file.is_file() and file not in known):
                wrong.append(f"{name_of(path)}:{number}: there is no {name}")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                wrong.append(f"{name_of(path)}:{number}: {file.name} has no heading #{anchor}")
    return count, wrong


def self_test():
    """What is wrong with this program."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder).resolve() / "page.md"
        page.write_text("# A `title`, with [words](page.md)\n\n## Twice\n\n## Twice\n\n"
                        "[a](#a-title-with-words) [b](page.md#twice-1) [c](https://example.org/none)\n\n    [d](none.md)\n\n"
                        "```sh\n[e](none.md)\n```\n`[f](none.md)`\n")
        good = wrong_links(page, None)
        page.write_text("# Title\n\n[a](none.md) [b](#none) [c](page.md#twice-1) ![d](none.png)\n")
        anchors.cache_clear()
        bad = wrong_links(page, None)
    return [f"a page with {what} links: {found}" for what, found, right in
            (("right", good, good == (3, [])), ("wrong", bad, bad[0] == 4 and len(bad[1]) == 4)) if not right]


def main():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, check=True).stdout.decode().split("\0")
    known = {(ROOT / name).resolve() for name in listed if name}
    wrong = self_test()
    total = 2
    for path in sorted(path for path in known if path.suffix == ".md" and path.exists()):
        count, found = wrong_links(path, known)
        total += count
        wrong += found
    for line in wrong:
        print("FAILED  " + line)
    print(f"{total - len(wrong)} passed, {len(wrong)} failed")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
