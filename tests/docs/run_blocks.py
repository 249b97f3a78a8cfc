#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that the documents print, as they are printed.

    run_blocks.py PROGRAM [--platforms] [--long] [DOCUMENT...]

PROGRAM: privatemail. Commands are in blocks that are fenced as sh; every Markdown file of the project is read unless
some are named. The blocks of a document are run one after another by `bash -e`, at the top of a fresh copy of the files
that git knows (a clean clone) with nothing built. Lines at the head of a block say what else there must be:

    # needs scripts/setup.sh                then build/venv is there; also with --page, --services or --platforms
    # needs build/release                   then build/release/cli/privatemail is there
    # needs Swift 6
    # takes minutes                         the block is run with --long only
    # not run here: needs Xcode             the block is only counted

Several needs are separated by commas. Blocks that need --platforms or Swift are run with --platforms, and with it no
others. `privatemail` is on the path, HOME is an empty folder, and what a block leaves running is ended after the
document. One thing is not as printed: the ports 8080 to 8089 are replaced by free ones.

Lines longer than 120 characters fail, outside of tables, blocks and what is indented as one. Commands anywhere else (indented, or in backticks by a Python that has no numpy) and fences without a language fail. So
does what stands in backticks when it begins with a file of the project that does not exist, or with a command of
privatemail followed by an option that its --help does not tell.
"""
import argparse
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "tests" / "cli"))
from postgres import free_port  # noqa: E402

SETUP = "scripts/setup.sh"
NEEDS = {SETUP, SETUP + " --page", SETUP + " --services", SETUP + " --platforms", "build/release", "Swift 6"}
PLATFORM_NEEDS = {SETUP + " --platforms", "Swift 6"}
SECONDS, LONG_SECONDS = 300, 3600  # far more than a block takes on an idle machine
LINE_MAX = 120
FENCE = re.compile(r"```(\w*)")
INDENTED = re.compile(r" {4}(privatemail|cmake|ctest|python3?|pip|curl|swift|gradle|node|npm|git|sudo|apt-get|docker|"
                      r"qemu-\S+|(\./)?(scripts|bench|build|tests)/\S+)( |$)")
PORT = re.compile(r"\b808\d\b")
WRONG_PYTHON = re.compile(r"`python3? [^`]*`")
IN_BACKTICKS = re.compile(r"`([^`]+)`")
OWN_FILE = re.compile(r"(?:scripts|bench|tests|docs|core|platform|common|tools|server|lab|cli|demo|android|ios)/[\w./-]+(?= |$)")
OWN_COMMAND = re.compile(r"(?:privatemail )?(pack|inspect|privatize|decode|audit|sample|index|serve|find|query|"
                         r"evaluate|crowd|keys|relay|train|guess|map|groups|gallery|publish|advise) --")
OPTION = re.compile(r"(?<= )--[a-z][a-z-]*")


class Block:
    def __init__(self, document, line):
        self.place = f"{document}:{line}"
        self.lines = []
        self.needs, self.long, self.excuse = set(), False, None

    def read_head(self):
        """Takes the marks; returns what is wrong with them."""
        for line in self.lines:
            if line.startswith("# needs "):
                self.needs |= {need.strip() for need in line[len("# needs "):].split(",")}
            elif line == "# takes minutes":
                self.long = True
            elif line.startswith("# not run here: "):
                self.excuse = line[len("# not run here: "):]
            else:
                break
        return [f"{self.place}: nobody knows how to get '{need}'" for need in sorted(self.needs - NEEDS)]

    def is_wanted(self, arguments):
        return (bool(self.needs & PLATFORM_NEEDS) == arguments.platforms) and (arguments.long or not self.long)


def wrong_in_backticks(line, program):
    """What it speaks of that does not exist."""
    for text in IN_BACKTICKS.findall(line):
        file, command = OWN_FILE.match(text), OWN_COMMAND.match(text)
        if file and not (ROOT / file[0]).exists():
            yield file[0]
        if command:
            known = help_of(program, command[1])
            yield from (f"{command[1]} {option}" for option in OPTION.findall(text) if option not in known)


@functools.cache
def help_of(program, command):
    told = subprocess.run([program, command, "--help"], capture_output=True, check=True).stdout.decode()
    return set(OPTION.findall(told))


def read_document(path, program):
    """Its blocks of commands, and what is wrong with the rest. An indented line below prose only goes on with it."""
    blocks, wrong, language, block, above = [], [], None, None, ""
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").split("\n"), 1):
        fence = FENCE.match(line)
        if fence and language is None:
            language = fence[1]
            if not language:
                wrong.append(f"{path}:{number}: the fence names no language")
            block = Block(path, number)
        elif fence:
            if language == "sh":
                wrong += block.read_head()
                blocks.append(block)
            language = None
        elif language is not None:
            block.lines.append(line)
        elif INDENTED.match(line) and (not above or INDENTED.match(above)) or WRONG_PYTHON.search(line):
            wrong.append(f"{path}:{number}: a command outside of a block that is run: {line.strip()[:80]}")
        elif len(line) > LINE_MAX and not line.startswith(("|", "    ")):
            wrong.append(f"{path}:{number}: the line has {len(line)} characters, more than {LINE_MAX}")
        else:
            wrong += [f"{path}:{number}: there is no {name}" for name in wrong_in_backticks(line, program)]
        above = line
    return blocks, wrong


def known_files():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


class Clone:
    """A copy of the tree, and the processes that were started in it."""

    def __init__(self, folder, files, program):
        self.tree, self.home, self.path = folder / "privatemail", folder / "home", folder / "bin"
        self.program, self.ports, self.groups = program, {}, []
        for place in (self.home, self.path):
            place.mkdir()
        for name in files:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.tree / name, follow_symlinks=False)
        (self.path / "privatemail").symlink_to(program)
        cache = os.environ.get("PRIVATEMAIL_CACHE", os.path.expanduser("~/.cache/privatemail"))
        self.environment = {**os.environ, "HOME": str(self.home), "PRIVATEMAIL_CACHE": cache,
                            "PATH": f"{self.path}:{os.environ['PATH']}"}

    def _provide(self, needed, name, target):
        place = self.tree / name
        if place.is_symlink():
            place.unlink()
        if needed and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)

    def run(self, block):
        """None, or why it failed."""
        self._provide(any(need.startswith(SETUP) for need in block.needs), "build/venv", ROOT / "build" / "venv")
        self._provide("build/release" in block.needs, "build/release/cli/privatemail", self.program)
        text = PORT.sub(lambda port: self.ports.setdefault(port[0], str(free_port())), "\n".join(block.lines))
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.tree, stdout=output,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=self.environment,
                                       start_new_session=True)
            self.groups.append(process.pid)
            try:
                code = process.wait(LONG_SECONDS if block.long else SECONDS)
            except subprocess.TimeoutExpired:
                code = "none in time"
            output.seek(0)
            said = output.read().decode(errors="replace")
        return None if code == 0 else f"exit code {code}\n{said[-3000:]}"

    def close(self):
        for group in self.groups:
            for name in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(group, name)
                except ProcessLookupError:
                    break


def run_document(blocks, files, program):
    """[(block, None or why it failed), ...]"""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        clone = Clone(pathlib.Path(folder), files, program)
        try:
            return [(block, clone.run(block)) for block in blocks]
        finally:
            clone.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: pathlib.Path(path).resolve(strict=True), metavar="PROGRAM")
    parser.add_argument("documents", nargs="*", metavar="DOCUMENT")
    parser.add_argument("--platforms", action="store_true")
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_intermixed_args()
    files = known_files()
    passed = failed = skipped = 0
    for document in arguments.documents or [name for name in files if name.endswith(".md")]:
        blocks, wrong = read_document(document, arguments.program)
        for line in wrong:
            print("FAILED  " + line)
        failed += len(wrong)
        excused = [block for block in blocks if block.excuse]
        wanted = [block for block in blocks if not block.excuse and block.is_wanted(arguments)]
        skipped += len(blocks) - len(wanted)
        for block in excused:
            print(f"not run {block.place}: {block.excuse}")
        for block, reason in run_document(wanted, files, arguments.program) if wanted else []:
            passed += reason is None
            failed += reason is not None
            print(f"ok      {block.place}" if reason is None else f"FAILED  {block.place}: {reason}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
