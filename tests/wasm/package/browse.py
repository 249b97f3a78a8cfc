#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a page in a headless Chromium and prints its body once that has a text: browse.py URL"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "demo"))
from browser import Browser  # noqa: E402

with Browser() as browser:
    page = browser.open(sys.argv[1])
    try:
        page.wait_for("document.body && document.body.textContent.trim() !== ''", 120)
    finally:
        print(page.console_errors(), file=sys.stderr)
    print(page.evaluate("document.body.textContent.trim()"))
