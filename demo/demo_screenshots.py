#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the demo's page, lets it search alone, in the crowd, by words and by words in the crowd, and takes its pictures.

    demo_screenshots.py URL FOLDER

Writes FOLDER/page.png (1280 pixels wide), FOLDER/page-390.png (a phone's width), page-crowd.png and page-crowd-390.png,
and where the demo has words page-words.png, page-words-crowd.png and the same with -390.
"""
import os
import sys

from browser import Browser, BrowserError


DONE = "['done', 'trouble'].includes(document.body?.dataset.state)"


def take(page, folder, name, seconds):
    page.wait_for(DONE, seconds)
    if page.evaluate("document.body.dataset.state") != "done":
        raise BrowserError(page.evaluate("document.getElementById('alert-text').textContent"))
    for width, height, file in ((1280, 900, name + ".png"), (390, 844, name + "-390.png")):
        page.resize(width, height)
        page.screenshot(os.path.join(folder, file))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    url, folder = sys.argv[1:]
    try:
        with Browser() as browser:
            page = browser.open(url)
            take(page, folder, "page", 60)
            page.evaluate("document.querySelector('[value=crowd]').click()")
            take(page, folder, "page-crowd", 150)
            if not page.evaluate("document.getElementById('ask-with').hidden"):
                page.evaluate("document.querySelector('[value=text]').click()")
                take(page, folder, "page-words-crowd", 150)
                page.evaluate("document.querySelector('[value=response]').click()")
                take(page, folder, "page-words", 60)
    except BrowserError as error:
        sys.exit(f"demo: {error}")


if __name__ == "__main__":
    main()
