# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium through the DevTools protocol over a pipe. Standard library only.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:8080/", width=1280)
        page.wait_for("document.body?.dataset.state === 'done'")
        page.screenshot("page.png")
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


class BrowserError(Exception):
    pass


def find_chromium():
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    raise BrowserError("there is no chromium: run scripts/setup.sh --page")


class Browser:
    def __init__(self):
        self._program = find_chromium()
        self._profile = tempfile.mkdtemp(prefix="privatemail-browser-")
        self._number = 0
        self._buffer = b""
        self._pages = {}

    def __enter__(self):
        # Chromium reads commands from descriptor 3 and answers on 4; the shell puts them there.
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (theirs_in, theirs_out)]
        command = [self._program, "--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + self._profile,
                   "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
                   "--disable-background-networking", "--hide-scrollbars", "--force-prefers-reduced-motion",
                   "about:blank"]
        if os.getuid() == 0:
            command.insert(1, "--no-sandbox")
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", *command],
                                         pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        for end in (theirs_in, theirs_out, *theirs):
            os.close(end)
        self._in, self._out = ours_in, ours_out
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _receive(self, seconds):
        """The next message, None when none came in time. Events are handed to their page."""
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                return None
            piece = os.read(self._in, 1 << 20)
            if not piece:
                self._log.seek(0)
                raise BrowserError("chromium ended: " + self._log.read()[-2000:].decode(errors="replace"))
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        page = self._pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.events.append((message["method"], message["params"]))
        return message

    def call(self, method, parameters=None, session=None, seconds=120):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self._receive(end - time.monotonic())
            if answer and answer.get("id") == message["id"]:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
        raise BrowserError(f"{method}: no answer in {seconds} seconds")

    def listen(self, seconds):
        self._receive(seconds)

    def open(self, url, width=1280, height=900, before=None):
        """`before`: JavaScript to run before the page's own."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(domain + ".enable")
        page.resize(width, height)
        page.show_as("light")
        if before:
            page.call("Page.addScriptToEvaluateOnNewDocument", {"source": before})
        page.call("Page.navigate", {"url": url})
        return page


class Page:
    def __init__(self, browser, session):
        self._browser, self._session = browser, session
        self.events = []

    def call(self, method, parameters=None):
        return self._browser.call(method, parameters, self._session)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def show_as(self, scheme):
        """As for a person who prefers a light or a dark scheme."""
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def wait_for(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not self._holds(condition):
            if time.monotonic() > end:
                raise BrowserError(f"not within {seconds} seconds: {condition}")
            self._browser.listen(0.05)

    def _holds(self, condition):
        try:
            return self.evaluate(condition)
        except BrowserError as error:
            if "context" in str(error) or "navigated" in str(error):
                return False  # one document goes, the next is not there yet
            raise

    def screenshot(self, path):
        """All of the page, however long."""
        data = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def console_errors(self):
        """What the console shows in red."""
        found = []
        for method, parameters in self.events:
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str(parameters["args"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        """[(method, URL, body), ...] of all that the page asked for, the body in bytes."""
        found = []
        for method, parameters in self.events:
            if method == "Network.requestWillBeSent":
                request = parameters["request"]
                body = b"".join(base64.b64decode(part["bytes"]) for part in request.get("postDataEntries", [])
                                if "bytes" in part)
                found.append((request["method"], request["url"], body))
        return found
