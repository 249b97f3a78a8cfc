#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the demo's page, lets it search once, and takes its picture: demo_screenshots.py URL FOLDER

Writes FOLDER/page.png (1280 pixels wide) and FOLDER/page-390.png (a phone's width).
"""
import os
import sys

from browser import Browser, BrowserError


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    url, folder = sys.argv[1:]
    try:
        with Browser() as browser:
            page = browser.open(url)
            page.wait_for("document.body?.dataset.state === 'done'", 60)
            page.screenshot(os.path.join(folder, "page.png"))
            page.resize(390, 844)
            page.screenshot(os.path.join(folder, "page-390.png"))
    except BrowserError as error:
        sys.exit(f"demo: {error}")


if __name__ == "__main__":
    main()
