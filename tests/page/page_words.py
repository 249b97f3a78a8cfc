# SPDX-License-Identifier: Apache-2.0
"""Words for the page's tests: a small table, the fronts that pair it with the sample's shapes, and what must hold when
a person asks by words. The table is drawn at random, so that no model has to be there."""
import base64
import json
import os

import numpy

MODEL = "shapes 160; words drawn at random"
LOOKS = ["big", "small", "dark", "bright"]
NUMBERS = 24
WORD_CELLS = 12
NEIGHBOURS = 240  # in a crowd. Of 48 symbols: 20 clusters of each
CLUSTERS, COPIES = 4, 4


class Words:
    """What the page's table holds, in numpy."""

    def __init__(self, names):
        self.words = [*names, *LOOKS]
        self.vectors = numpy.random.default_rng(7).integers(-127, 128, (len(self.words), NUMBERS)).astype(numpy.int8)

    def features(self, *words):
        return sum(self.vectors[self.words.index(word)].astype(numpy.float32) for word in words)

    def pair(self, names, labels):
        """A phrase for each public row; every second one with a word for its looks."""
        return [self.features(names[label], *([LOOKS[i // 2 % len(LOOKS)]] if i % 2 else []))
                for i, label in enumerate(labels)]

    def describe(self):
        return {"model": MODEL, "words": self.words, "ignored": ["a", "of"], "examples": ["big star", "ring"],
                "vectors": base64.b64encode(self.vectors.tobytes()).decode()}


def make_words(service, names):
    """words.json, words.pmpk and words.store in the service's folder; returns the table and the pack's id."""
    words = Words(names)
    rows = words.pair(names, numpy.load(service.path("shapes/public_labels.npy")))
    numpy.save(service.path("text.npy"), numpy.array(rows, "<f4"))
    with open(service.path("words.json"), "w", encoding="utf-8") as file:
        json.dump(words.describe(), file)
    service.run("train", "--method", "codes", "--features", "shapes/public.npy", "--labels", "shapes/public_labels.npy",
                "--with", "text=text.npy", "--dimensions", str(len(names)), "--centres", "64", "--out", "front.pmfr")
    service.run("pack", "--features", "shapes/public.npy", "--front", "image=front.pmfr", "--front",
                "text=front.text.pmfr", "--cells", str(WORD_CELLS), "--model", MODEL, "--out", "words.pmpk")
    service.run("index", "--pack", "words.pmpk", "--features", "shapes/gallery.npy", "--modality", "image",
                "--labels", "shapes/gallery_labels.npy", "--payloads", "shapes/images/gallery", "--share", "0.05",
                "--voters", "text.npy", "--voters-modality", "text", "--store", "sqlite:words.store")
    return words, json.loads(service.run("inspect", "words.pmpk", "--json"))["pack"]


# ---- what a person does and sees ----

def ask(t, text, state="done"):
    t.page.evaluate(f"document.getElementById('typed').value = {json.dumps(text)}")
    t.page.evaluate("document.querySelector('#words div button').click()")
    t.settle(state)


def command_finds(t, release, *words):
    """The results of the command, for the same bytes and words."""
    service = t.service
    numpy.save(service.path("asked.npy"), service.words.features(*words)[None].astype("<f4"))
    with open(service.path("sent.cbor"), "wb") as file:
        file.write(release)
    told = service.run("query", "--server", f"http://{service.address}", "--pack", "words.pmpk", "--features",
                       "asked.npy", "--modality", "text", "--model", MODEL, "--resend", "sent.cbor", "--top", "8", "--json")
    return [result["id"] for result in json.loads(told)["results"]]


def check_words(t):
    t.open()
    t.settle()
    count = len(t.sent())
    t.page.evaluate("document.querySelector('[value=text]').click()")
    t.settle()
    release = t.sent()[-1]
    t.check(len(t.sent()) == count + 1 and release == t.shown_bytes(), "words: one query, and its bytes are shown")
    t.check(f"group {t.service.decode(release, 'words')['slots'][0]['symbol'] + 1} of {WORD_CELLS}" in t.text("meaning"),
            "words: the page says which group they name")
    t.check(t.results() == command_finds(t, release, "big", "star"),
            "words: the page finds what the command finds with the same bytes")
    t.check_belief("words", release, "--epsilon", t.text("epsilon-text"), words=True)
    t.check(t.spent()[0] == 12, "words: they are paid for from the same budget")
    check_words_in_crowd(t)
    check_meant(t)
    check_typing(t)
    check_words_leave(t)
    check_words_look(t)
    t.page.evaluate("document.querySelector('[value=image]').click()")
    t.settle()
    t.check(t.text("figure-found-name") == "of the true 8 best, found" and t.text("figure-found").endswith("of 8"),
            "back to the picture, all is as before")


def check_words_in_crowd(t):
    """One island glows alone; in the crowd the map is grey and the search finds."""
    spent, found = t.spent(), t.text("figure-found")
    t.page.evaluate("document.querySelector('[value=crowd]').click()")
    t.settle()
    epoch, asked = t.service.last_epoch(t.service.words_pack)
    t.check(len(asked) == NEIGHBOURS and f"one of {WORD_CELLS} groups" in t.text("meaning"),
            "words in a crowd: the neighbours ask in the same pack")
    glowing = t.check_belief("words in a crowd", b"".join(epoch), "--crowd", NEIGHBOURS + 1, "--clusters", CLUSTERS,
                             "--copies", COPIES, "--floor", t.text("epsilon-text"), "--known",
                             t.service.write("known.cborseq", b"".join(asked)), words=True)
    t.check(glowing == 0 and "Grey" in t.text("belief-text"), f"words in a crowd: the map is grey ({glowing} pixels)")
    t.check(len(t.results()) == 8 and t.text("figure-found") != "nothing" and t.spent() == spent,
            f"words in a crowd: they find {t.text('figure-found')} (alone {found}), and nothing of response is spent")
    t.page.evaluate("document.querySelector('[value=response]').click()")
    t.settle()


def check_meant(t):
    """Of each shape's name; a name that is not drawn rightly (3 in 100) finds another shape, and is asked for again."""
    right = 0
    for name in ("bars", "arrow", "spiral", "square"):
        for _ in range(2):
            t.click("reset")
            ask(t, name)
            if t.text("figure-found").endswith(name):
                right += 1
                break
    t.check(right >= 2, f"words: the names of shapes find those shapes ({right} of 4)")


def check_typing(t):
    t.click("reset")
    ask(t, "a dark ring")
    count, spent = len(t.sent()), t.spent()
    t.page.evaluate("""(() => {
        const typed = document.getElementById('typed');
        typed.value = 'dark star';
        typed.dispatchEvent(new Event('input', { bubbles: true }));
    })()""")
    t.page.evaluate("new Promise((resume) => setTimeout(resume, 800))")
    t.check(len(t.sent()) == count and t.spent() == spent, "words: typing alone sends nothing and costs nothing")
    ask(t, "dark  Ring!")
    t.check(t.sent()[-1] == t.sent()[-2] and t.spent() == spent and "free" in t.text("paid"),
            "words: the same words again send the same bytes, free")
    ask(t, "dark ring of marzipan")
    t.check("left out: marzipan" in t.text("words-hint") and t.text("query-words") == "dark ring",
            "words: a word that the table lacks is named")
    count, spent = len(t.sent()), t.spent()
    ask(t, "marzipan <b>pig</b>", "trouble")
    t.check("word list" in t.text("alert-text") and len(t.sent()) == count and t.spent() == spent,
            "words: when no word is known nothing is sent, and the page says so")
    ask(t, "star")
    t.check(t.page.evaluate("document.getElementById('alert').hidden"), "words: a known word then works")


def check_words_leave(t):
    bodies = t.sent()
    t.check({len(body) for body in bodies[1:]} == {len(bodies[1])}, "words: every message has the same length")
    typed = [word.encode() for word in t.service.words.words + ["marzipan"]]
    t.check(not any(word in body or word in url.encode() for method, url, body in t.page.requests()
                    if method == "POST" for word in typed), "words: no word leaves the page")


def check_words_look(t):
    for width in (1280, 820, 390, 320):
        t.page.resize(width, 844)
        wide = t.page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        t.check(wide <= 0, f"words: {width} pixels hold the page")
        if t.screenshots and width in (1280, 390):
            t.page.screenshot(os.path.join(t.screenshots, f"words-{width}.png"))
    t.page.resize(1280, 900)
    t.check(t.page.evaluate("""document.querySelectorAll('#truth').length === 1 &&
        getComputedStyle(document.getElementById('truth').parentElement).display === 'none'"""),
            "words: nothing is said about the true best, which nobody computed")
