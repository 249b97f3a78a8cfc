#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prepares words for the demo: a table of word features that the page looks up, and rows to pair with the pictures.

    demo_words.py GALLERY FOLDER

GALLERY is what demo_gallery.py wrote. FOLDER gets
    words.json           the words, 384 numbers of 8 bits for each, the words that are passed over, and examples
    text.npy             for each row of public.npy the features of a phrase that names its class
    phrases.npy          features of the phrases that nobody trained with (demo_phrases.py), phrases_labels.npy,
                         and phrases.json: [phrase, class, "phrase" or "word"]
The features of a phrase are the sum of its words' rows: less than what the model makes of the whole phrase, but a page
can do it without the model, and front, page and measurement do the same. Exit code 3: the model is not installed.
"""
import argparse
import base64
import json
import pathlib
import re
import sys

import demo_phrases
import demo_words_model
import numpy

MODEL = "edges and brightness 64; all-MiniLM-L6-v2, sums of words"  # of both modalities: a pack has one name
EXAMPLES = ["ankle boot", "summer dress", "warm sweater", "leather bag"]
LOOKS_SHARE = 0.5  # of the rows that also say how the thing looks
WORD = re.compile(r"[a-z]+")
T_SHIRT = re.compile(r"\bt[- ]shirt")  # whose letter alone says nothing
EXIT_NO_MODEL = 3


def words_of(phrase):
    """As words.js splits what is typed."""
    joined = T_SHIRT.sub("tshirt", phrase.lower())
    return [word for word in WORD.findall(joined) if word not in demo_phrases.IGNORED]


def vocabulary():
    lists = (demo_phrases.NAMES_OF, demo_phrases.HELD_OUT_PHRASES, demo_phrases.HELD_OUT_WORDS)
    named = {word for names in lists for phrases in names for phrase in phrases for word in words_of(phrase)}
    return sorted(named | set(demo_phrases.LOOKS) | set(demo_phrases.WORDS))


def quantise(rows):
    """One scale for all, so that sums of rows stay what they are."""
    return numpy.rint(rows * (127 / numpy.abs(rows).max())).astype(numpy.int8)


class Table:
    def __init__(self, words, vectors):
        self.words, self.vectors = words, vectors
        self.places = {word: place for place, word in enumerate(words)}

    def features(self, phrase):
        return self.vectors[[self.places[word] for word in words_of(phrase)]].astype(numpy.float32).sum(0)

    def describe(self):
        return {
            "model": MODEL,
            "words": self.words,
            "vectors": base64.b64encode(self.vectors.tobytes()).decode(),
            "ignored": demo_phrases.IGNORED,
            "examples": EXAMPLES,
        }


def pair(labels):
    """A phrase for each picture: what its class is called, for half of them with a word for its looks."""
    random = numpy.random.default_rng(0)
    phrases = []
    for label in labels:
        phrase = str(random.choice(demo_phrases.NAMES_OF[label]))
        looks = str(random.choice(demo_phrases.LOOKS)) + " " if random.random() < LOOKS_SHARE else ""
        phrases.append(looks + phrase)
    return phrases


def held_out():
    for kind, names in (("phrase", demo_phrases.HELD_OUT_PHRASES), ("word", demo_phrases.HELD_OUT_WORDS)):
        for label, phrases in enumerate(names):
            yield from ([phrase, label, kind] for phrase in phrases)


def save(path, rows, kind):
    numpy.save(path, numpy.asarray(rows).astype(kind))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gallery", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    place = demo_words_model.find_model()
    if place is None:
        print(f"demo: the Python package {demo_words_model.PACKAGE} is not installed", file=sys.stderr)
        return EXIT_NO_MODEL
    words = vocabulary()
    table = Table(words, quantise(demo_words_model.Model(place).embed(words)))
    phrases = pair(numpy.load(arguments.gallery / "public_labels.npy"))
    unseen = list(held_out())
    arguments.folder.mkdir(parents=True, exist_ok=True)
    save(arguments.folder / "text.npy", [table.features(phrase) for phrase in phrases], "<f4")
    save(arguments.folder / "phrases.npy", [table.features(phrase) for phrase, _, _ in unseen], "<f4")
    save(arguments.folder / "phrases_labels.npy", [label for _, label, _ in unseen], "<i4")
    (arguments.folder / "phrases.json").write_text(json.dumps(unseen), encoding="utf-8")
    (arguments.folder / "words.json").write_text(json.dumps(table.describe()), encoding="utf-8")
    print(f"{len(words)} words, {table.vectors.shape[1]} numbers each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
