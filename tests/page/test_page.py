#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the demo's page in a headless Chromium as a person would, and looks at all that leaves it.

    test_page.py PROGRAM WASM [SCREENSHOTS]

PROGRAM: privatemail; WASM: the folder that scripts/build-wasm.sh made; SCREENSHOTS: a folder for pictures of the page.
"""
import base64
import json
import math
import os
import re
import sys
import tempfile

import numpy

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "demo")]

from browser import Browser  # noqa: E402
from page_service import CELLS, CLUSTERS, COPIES, EPSILON, NEIGHBOURS, START_ROW, Service  # noqa: E402
from page_words import check_words  # noqa: E402

SLOTS = 12
PATIENCE = 150  # seconds: an epoch takes its time on a busy machine
HEAD = 24  # bytes of a bundle before its messages: epoch and ticket
SEALED = 104  # bytes that a sealed message has more than its release
START = 1  # the place of START_ROW among the pictures, which are in the order of their classes
CONTRAST = (("ink", "ground"), ("ink", "card"), ("soft", "ground"), ("soft", "card"), ("device", "card"),
            ("server", "card"), ("device", "device-wash"), ("server", "server-wash"), ("pale", "server-wash"),
            ("alert", "alert-wash"), ("card", "device"), ("card", "server"), ("card", "alert"), ("relay", "card"),
            ("relay", "relay-wash"), ("card", "relay"))
LUMINANCE = """(name) => {
    const parts = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim().slice(1).match(/../g);
    const [r, g, b] = parts.map((part) => parseInt(part, 16) / 255)
        .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""
# The colours of the map's dots: how many pixels of the canvas are more orange than grey.
GLOWING = """(() => {
    const { width, height } = document.getElementById('belief-map');
    const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d',
        { willReadFrequently: true });
    context.drawImage(document.getElementById('belief-map'), 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    let glowing = 0;
    for (let at = 0; at < data.length; at += 4)
        glowing += data[at + 3] > 128 && data[at] > data[at + 2] + 80;
    return glowing;
})()"""
# What is shown of the belief, as a function of the module that shows it.
SEEN = f"""((module) => ({{ believed: [...module.current() ?? []], text: document.getElementById('belief-text').textContent,
    glowing: {GLOWING} }}))"""
MODULE = "import('./show_belief.js')"
SLIDE = """(() => {
    const slider = document.getElementById('epsilon');
    slider.value = %s;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
})()"""
NAMELESS = """[...document.querySelectorAll('img:not([alt]), input, button, [role=meter]')].filter((element) =>
    element.tagName === 'IMG' || !(element.labels?.[0]?.textContent.trim() || element.textContent.trim() ||
        element.labels?.[0]?.querySelector('img[alt]')?.alt || element.getAttribute('aria-labelledby'))).length"""


class Tester:
    def __init__(self, service, browser, screenshots):
        self.service, self.browser, self.screenshots = service, browser, screenshots
        self.passed = self.failed = 0
        with open(os.path.join(service.page, "device.json"), encoding="utf-8") as file:
            self.device = json.load(file)

    def check(self, true, what):
        self.passed += bool(true)
        self.failed += not true
        print(("ok      " if true else "FAILED  ") + what, flush=True)

    def open(self, **options):
        self.page = self.browser.open(f"http://{self.service.address}/", **options)

    # ---- what a person does ----

    def settle(self, state="done"):
        self.page.wait_for("['done', 'trouble'].includes(document.body?.dataset.state)", PATIENCE)
        if self.page.evaluate("document.body.dataset.state") != state:
            self.check(False, f"the page is {state}; it says: {self.text('alert-text')}")

    def choose(self, picture=None, mechanism=None, epsilons=(), state="done"):
        """One after the other, faster than the page pays: timers of the browser keep their order, however late they are."""
        steps = [] if picture is None else [f"document.querySelectorAll('#strip input')[{picture}].click()"]
        steps += [f"document.querySelector('[value={mechanism}]').click()"] if mechanism else []
        steps += [SLIDE % epsilon for epsilon in epsilons]
        pause = ";\nawait new Promise((resume) => setTimeout(resume, 20));\n"
        self.page.evaluate("(async () => {\n%s;\n})()" % pause.join(steps))
        self.settle(state)

    def click(self, name):
        self.page.evaluate(f"document.getElementById('{name}').click()")

    # ---- what a person sees ----

    def text(self, name):
        return self.page.evaluate(f"document.getElementById('{name}').textContent")

    def shown_bytes(self):
        return bytes.fromhex(self.text("hex"))

    def spent(self):
        """Σε of response, percent of the Gaussian cap."""
        return (float(re.match(r"ε ([\d.]+) of 40", self.text("spent-response"))[1]),
                int(re.match(r"(\d+) %", self.text("spent-gaussian"))[1]))

    def results(self):
        alts = self.page.evaluate("[...document.querySelectorAll('#result img')].map((picture) => picture.alt)")
        return [int(re.search(r"item (\d+)", alt)[1]) for alt in alts]

    def sent(self):
        """Bodies of all queries posted so far."""
        return [body for method, url, body in self.page.requests() if method == "POST" and url.endswith("/v1/query")]

    def bundles(self):
        """Bodies of all bundles handed over so far."""
        return [body for method, url, body in self.page.requests() if method == "POST" and url.endswith("/bundle")]

    def spent_in_crowd(self):
        """Σε₀ of the floor, percent of the crowd's cap."""
        return (float(re.match(r"ε₀ ([\d.]+) of 40", self.text("spent-floor"))[1]),
                int(re.match(r"(\d+) %", self.text("spent-crowd"))[1]))

    # ---- what must hold after a search ----

    def check_search(self, picture, mechanism, what):
        release, query = self.sent()[-1], self.device["queries"][picture]
        seen = self.service.decode(release)
        found = self.service.resend(release, query["row"])
        self.check(release == self.shown_bytes(), f"{what}: the bytes shown are the bytes sent")
        self.check(seen["mechanism"] == mechanism and seen["pack"] == self.service.id and len(seen["slots"]) == SLOTS,
                   f"{what}: they are a {mechanism} release of the pack")
        self.check(self.results() == [result["id"] for result in found["results"]],
                   f"{what}: the page finds what the command finds with the same bytes")
        rows = self.page.evaluate("""[...document.querySelectorAll('.slots li')].map((row) =>
            row.querySelectorAll('img').length +
            Number(row.querySelector('small').textContent.match(/\\d+/)?.[0] ?? 0))""")
        self.check(len(rows) == SLOTS and sum(rows) == found["carried"], f"{what}: candidates of every slot are shown")
        best = set(self.nearest(query["row"]))
        self.check(self.text("figure-found") == f"{len(best & set(self.results()))} of 8",
                   f"{what}: the count of true neighbours is right")

    def check_belief(self, what, release, *options, words=False, seen=None):
        """The page's map is shaded by what `privatemail map` computes. `seen`: what was shown, unless it still is."""
        seen = seen or self.page.evaluate(f"{MODULE}.then({SEEN})")
        expected = self.service.believe(release, *options, words=words)
        shown = numpy.array(seen["believed"])
        error = numpy.abs(shown / expected - 1).max() if shown.shape == expected.shape else math.inf
        self.check(error < 1e-9, f"{what}: the page believes what the command does (off by {error:.1e})")
        gain = expected.max() * len(expected)
        said = re.search(r"([\d.,]+) times as", seen["text"])
        self.check(said and abs(float(said[1].replace(",", "")) / gain - 1) < 0.05,
                   f"{what}: it says how much likelier the likeliest picture is: {gain:.3g} times")
        return seen["glowing"]

    def nearest(self, row):
        queries, gallery = (numpy.load(self.service.path(f"shapes/{name}.npy")).astype(float)
                            for name in ("queries", "gallery"))
        scores = gallery @ queries[row] / numpy.linalg.norm(gallery, axis=1)
        return numpy.argsort(-scores, kind="stable")[:8].tolist()


def check_first_search(t):
    t.open()
    t.settle()
    t.check(len(t.sent()) == 1, "opening the page makes one query")
    t.check_search(START, "response", "response")
    t.check(t.page.evaluate("document.querySelector('#strip input:checked').value") == str(START) and
            t.device["queries"][START]["row"] == START_ROW, "it is about the picture that the demo starts with")
    t.check(t.spent() == (EPSILON, 0) and t.text("epsilon-text") == str(EPSILON), "it cost the ε that the demo starts with")
    t.check(f"more than {math.exp(EPSILON):.0f} times" in t.text("epsilon-odds"), "the page says what that ε means")
    t.check(t.page.evaluate("document.querySelectorAll('.named li').length") == SLOTS,
            "a group is shown for every class")
    glowing = t.check_belief("response", t.sent()[-1], "--epsilon", EPSILON)
    t.check(glowing > 100, f"the named groups glow on the map ({glowing} pixels)")
    t.check(t.page.evaluate("document.querySelectorAll('.slots .own').length") == 1,
            "one row is marked as the device's own")


def check_choices(t):
    first = t.shown_bytes()
    loaded = len(t.page.requests())
    t.choose(picture=5)
    t.check_search(5, "response", "another picture")
    t.check(t.spent() == (12, 0), "another picture is paid for")
    t.choose(picture=START)
    t.check(t.sent()[-1] == first and t.shown_bytes() == first, "the same picture again sends the same bytes")
    t.check(t.spent() == (12, 0) and "free" in t.text("paid"), "which is free, and the page says so")
    count = len(t.sent())
    t.choose(epsilons=(5.5, 5, 4.5, 4))
    t.check(len(t.sent()) == count + 1, "moving the slider over four values makes one query")
    t.check(t.sent()[-1] not in t.sent()[:-1] and t.spent() == (16, 0), "another ε makes a new release, which costs it")
    t.check_search(START, "response", "another ε")
    check_live(t)
    t.choose(mechanism="gaussian")
    t.check_search(START, "gaussian", "Gaussian")
    t.check(t.spent()[0] == 16 and t.spent()[1] > 0, "a Gaussian release is paid from the Gaussian cap")
    t.check_belief("Gaussian", t.sent()[-1], "--epsilon", 4, "--delta", 1e-5)
    later = [url for _, url, _ in t.page.requests()[loaded:] if not url.startswith(("blob:", "data:"))]
    t.check(set(later) == {f"http://{t.service.address}/v1/query"}, "after loading, nothing is asked but queries")


def check_live(t):
    """While the slider moves, before a new message is made: all is seen at one go, and the page has no time to pay."""
    count, release, epsilons = len(t.sent()), t.sent()[-1], (0.5, 8, 4)
    looks = ", ".join(f"({SLIDE % epsilon}, {SEEN}(module))" for epsilon in epsilons)
    seen = t.page.evaluate(f"{MODULE}.then((module) => [{looks}])")
    brightness = [t.check_belief(f"the slider at {epsilon}", release, "--epsilon", epsilon, seen=each)
                  for epsilon, each in zip(epsilons, seen)]
    t.check(brightness[0] < brightness[2] <= brightness[1], f"the map pales with a smaller ε: {brightness}")
    t.settle()
    t.check(t.sent()[count:] in ([], [release]), "and no message was made for it")


def check_what_leaves(t):
    requests = [entry for entry in t.page.requests() if not entry[1].startswith(("blob:", "data:"))]
    origin = f"http://{t.service.address}/"
    t.check([url for _, url, _ in requests if not url.startswith(origin)] == [t.service.relay + "/v1/keys"] and
            not any("?" in url for _, url, _ in requests), "all requests go to the server, but for the relay's keys")
    t.check(all(body == b"" for method, _, body in requests if method != "POST"), "only queries have a body")
    sizes = {len(t.service.decode(body)["slots"]) for body in t.sent()}
    t.check(sizes == {SLOTS}, "every body is a release and nothing else")
    features = {base64.b64decode(query["features"])[at:at + 8]
                for query in t.device["queries"] for at in range(0, 640, 8)}
    t.check(not any(part in body for part in features for body in t.sent()), "no body holds features")
    paths = [url for method, url, _ in requests if method == "GET"]
    t.check(len(paths) == len(set(paths)), "nothing is loaded twice: choices load nothing")
    t.check(t.page.console_errors() == [], f"the console is clean {t.page.console_errors()}")


def check_crowd(t):
    before, loaded = t.spent(), len(t.page.requests())
    t.choose(mechanism="crowd", epsilons=(EPSILON,))
    asked = [(method, url) for method, url, _ in t.page.requests()[loaded:] if not url.startswith(("blob:", "data:"))]
    t.check(all(url.startswith((t.service.relay, t.service.observer)) for _, url in asked) and
            ("POST", f"{t.service.relay}/v1/pack/{t.service.id}/bundle") in asked,
            "in a crowd the page asks the relay, and the server nothing")
    bundle, size = t.bundles()[-1], t.service.release_size + SEALED
    count = (len(bundle) - HEAD) // size
    seen = t.service.open_bundle(bundle, size)
    t.check(len(bundle) == HEAD + count * size and count >= 1 and seen["messages"] == count,
            f"the bundle is {count} messages of {size} bytes that the gateway's key opens")
    t.check(f"{count} message" in t.text("relay-hint") and f"of {size} bytes" in t.text("relay-hint"),
            "the page says how many the relay saw, and how long they are")
    t.check(f"{NEIGHBOURS + 1} of {NEIGHBOURS + 1} people" in t.text("epoch-text"), "the epoch was full")
    t.check(t.spent() == before and t.spent_in_crowd()[0] == EPSILON and t.spent_in_crowd()[1] > 0,
            "it costs the floor and the crowd's share, and nothing else")
    t.check(f"at least {NEIGHBOURS} people are honest" in t.text("promise-list") and
            f"ε₀\u00a0=\u00a0{EPSILON}" in t.text("promise-list"), "both promises are told, one with its assumption")
    check_histogram(t)
    check_belief_in_crowd(t)
    check_crowd_results(t)
    check_again_in_crowd(t, bundle, size)


def check_histogram(t):
    total = int(re.match(r"([\d,]+) messages", t.text("meaning"))[1].replace(",", ""))
    bars = t.page.evaluate("""[...document.querySelectorAll('.mixed li')].map((row) =>
        [row.querySelector('path').getAttribute('d').split('M').length - 1,
         Number(row.querySelector('small').textContent.replace(',', ''))])""")
    t.check(len(bars) == SLOTS and all(number == CELLS for number, _ in bars), "there is a bar for every group")
    t.check(sum(named for _, named in bars) == total > 5 * NEIGHBOURS, f"the bars are of all {total} messages")


def check_belief_in_crowd(t):
    epoch, asked = t.service.last_epoch()
    t.check(len(asked) == NEIGHBOURS, "the observer knows what all the neighbours asked")
    glowing = t.check_belief("crowd", b"".join(epoch), "--crowd", NEIGHBOURS + 1, "--clusters", CLUSTERS, "--copies", COPIES,
                             "--floor", EPSILON, "--known", t.service.write("known.cborseq", b"".join(asked)))
    t.check(glowing < 100 and "Grey" in t.text("belief-text"), f"in the crowd the map is grey ({glowing} pixels)")


def check_crowd_results(t):
    """What is shown is what the server answers to the cell that was drawn."""
    kept = base64.b64decode(t.page.evaluate(
        "JSON.parse(sessionStorage.getItem('privatemail.releases')).find(([key]) => key.includes('crowd'))[1]"))
    drawn = t.service.ask(kept)["slots"][0]
    items = [candidate["item"] for candidate in drawn["candidates"]]
    own = t.device["queries"][START]["label"]
    fits = [candidate["class"] for candidate in drawn["candidates"]].count(own)
    t.check(t.page.evaluate("document.querySelectorAll('.only li').length") == 1 and
            f"{len(items)} of " in t.text("answer-text"), "the answer to the own message is shown, and no other")
    t.check(set(t.results()) <= set(items) and len(t.results()) == min(8, fits),
            f"the results are of the cell that was drawn: {len(items)} candidates")
    best = set(t.nearest(t.device["queries"][START]["row"]))
    t.check(t.text("figure-found") == f"{len(best & set(t.results()))} of 8", "the count of true neighbours is right")


def check_again_in_crowd(t, first, size):
    floor, share = t.spent_in_crowd()
    t.choose(picture=2)
    t.choose(picture=START)
    again = t.bundles()[-1]
    t.check(t.spent_in_crowd()[0] == floor + EPSILON and t.spent_in_crowd()[1] > share,
            "the same picture again costs nothing of the floor, but the crowd's share")
    messages = [{body[at:at + size] for at in range(HEAD, len(body), size)} for body in (first, again)]
    t.check(not messages[0] & messages[1] and first[:8] < again[:8] and first[8:24] != again[8:24],
            "it is sealed anew, in a later epoch, under another ticket")
    t.check("nothing of the floor" in t.text("paid"), "the page says so")


def check_looks(t):
    for mechanism in ("gaussian", "crowd", "response"):
        t.choose(mechanism=mechanism)
        for width in (1280, 820, 390, 320):
            t.page.resize(width, 844)
            wide = t.page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
            t.check(wide <= 0, f"{mechanism}: {width} pixels hold the page")
            if t.screenshots and width in (1280, 390):
                t.page.screenshot(os.path.join(t.screenshots, f"{mechanism}-{width}.png"))
    t.page.resize(1280, 900)
    t.check(t.page.evaluate(NAMELESS) == 0, "pictures and controls have names")
    for scheme in ("light", "dark"):
        t.page.show_as(scheme)
        pairs = t.page.evaluate(f"{json.dumps(CONTRAST)}.map((pair) => pair.map({LUMINANCE}).sort((a, b) => a - b))")
        ratios = [(high + 0.05) / (low + 0.05) for low, high in pairs]
        t.check(min(ratios) >= 4.5, f"{scheme}: contrast is at least 4.5 (least {min(ratios):.1f})")


def check_keyboard(t):
    t.page.evaluate(f"document.querySelectorAll('#strip input')[{START}].focus()")
    for kind in ("rawKeyDown", "keyUp"):
        t.page.call("Input.dispatchKeyEvent", {"type": kind, "key": "ArrowRight", "code": "ArrowRight",
                                               "windowsVirtualKeyCode": 39})
    t.settle()
    t.check(t.page.evaluate("document.querySelector('#strip input:checked').value") == str(START + 1),
            "the arrow keys choose a picture")


def check_reload(t):
    before, shown = t.spent(), t.shown_bytes()
    t.choose(picture=START, epsilons=(EPSILON,))
    first = t.shown_bytes()
    t.page.events.clear()
    t.page.evaluate("document.body.dataset.state = 'leaving'")
    t.page.call("Page.reload")
    t.settle()
    t.check(t.spent() == before and t.sent() == [first], "reloading neither forgets the budget nor pays again")
    t.check(shown != first, "another picture had other bytes")


def check_budget(t):
    t.choose(picture=5, epsilons=(8,))
    t.choose(picture=3)
    count, spent = len(t.sent()), t.spent()
    t.choose(picture=4, state="trouble")
    t.check("budget is spent" in t.text("alert-text") and "smaller ε" in t.text("alert-text"),
            "a spent budget is told in words, with what to do")
    t.check(len(t.sent()) == count and t.spent() == spent, "then nothing is sent, and nothing is paid")
    t.choose(picture=3)
    t.check(t.page.evaluate("document.getElementById('alert').hidden"), "kept bytes still work")
    t.click("reset")
    t.page.wait_for("document.getElementById('spent-response').textContent === 'ε 0 of 40'")
    t.choose(picture=4)
    t.check(t.spent() == (8, 0), "after a reset it is another person, who pays from the start")


def check_faults(t):
    t.service.stop()
    t.choose(picture=6, state="trouble")
    said, spent = t.text("alert-text"), t.spent()
    t.check("does not answer" in said and "demo.sh" in said, "a server that is gone is told in words, with what to do")
    kept = t.shown_bytes()
    t.service.start()
    t.click("again")
    t.page.wait_for("document.body.dataset.state === 'searching' || document.body.dataset.state === 'done'")
    t.settle()
    t.check(t.sent()[-1] == kept and t.spent() == spent, "sending again sends the same bytes, and is free")
    t.check(t.page.evaluate("document.getElementById('alert').hidden"), "the message goes away when all is well")
    t.service.stop()
    t.service.start("other")
    t.choose(picture=7, state="trouble")
    t.check("Reload" in t.text("alert-text"), "a server with another pack (409) is told in words, with what to do")
    t.service.stop()
    t.service.start()
    t.service.stop_crowd()
    t.choose(picture=8, mechanism="crowd", state="trouble")
    t.check("does not answer" in t.text("alert-text") and "demo.sh" in t.text("alert-text"),
            "a relay that is gone is told in words, with what to do")
    t.open(before="delete globalThis.WebAssembly")
    t.settle("trouble")
    t.check("no WebAssembly" in t.text("alert-text") and t.sent() == [],
            "a browser without WebAssembly is told in words")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    screenshots = sys.argv[3] if len(sys.argv) == 4 else None
    with tempfile.TemporaryDirectory() as folder:
        service = Service(sys.argv[1], sys.argv[2], folder)
        try:
            service.prepare()
            service.start()
            with Browser() as browser:
                tester = Tester(service, browser, screenshots)
                for part in (check_first_search, check_choices, check_what_leaves, check_crowd, check_looks,
                             check_keyboard, check_reload, check_budget, check_words, check_faults):
                    part(tester)
        finally:
            service.stop()
            service.stop_crowd()
    print(f"{tester.passed} passed, {tester.failed} failed")
    return tester.failed > 0


if __name__ == "__main__":
    sys.exit(main())
