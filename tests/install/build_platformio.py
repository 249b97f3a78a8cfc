#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds FOLDER/program from tests/install/ten_lines.c and a PlatformIO library, as its library.json says.

    build_platformio.py FOLDER

FOLDER is the unpacked library: the files of srcFilter are compiled with the flags, as PlatformIO does it.
"""
import json
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
build = json.loads((folder / "library.json").read_text())["build"]
rules = build["srcFilter"]
assert rules[0] == "-<*>" and all(rule.startswith("+<") and rule.endswith(">") for rule in rules[1:])
program = pathlib.Path(__file__).with_name("ten_lines.c").resolve()
subprocess.run(["cc", "-std=c11", "-O1", *build["flags"], *(rule[2:-1] for rule in rules[1:]), program, "-o", "program"],
               cwd=folder, check=True)
