#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's words: the sentence model in numpy gives what it gave when it was compared, phrases are split as the page
splits them, and nothing that measures the fronts trains them.

    test_words.py

Where the model's package is not installed, only the lists are checked.
"""
import os
import sys
import unittest

import numpy

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "demo"))

import demo_phrases  # noqa: E402
import demo_words  # noqa: E402
import demo_words_model  # noqa: E402

SENTENCES = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day",
             "a photo of an ankle boot, high-heeled!", "stilettos"]
# The first number of each row, and the cosines with the first one: what this code gave on the day when all its numbers
# were compared with those of sentence-transformers (PyTorch), which differed by 1.5e-7 at most. They guard against later
# changes; they are no second source.
FIRST = [-0.0338769, 0.0050499, -0.0024832, -0.0162913, -0.1501777, -0.0932099]
COSINES = [0.9999999, 0.6945774, 0.9429151, 0.2568761, 0.2039738, 0.0786207]


class Lists(unittest.TestCase):
    def test_there_are_phrases_of_every_class(self):
        for names in (demo_phrases.NAMES_OF, demo_phrases.HELD_OUT_PHRASES, demo_phrases.HELD_OUT_WORDS):
            self.assertEqual(len(names), 10)
            self.assertTrue(all(demo_words.words_of(phrase) for phrases in names for phrase in phrases))

    def test_what_measures_does_not_train(self):
        trained = {tuple(demo_words.words_of(phrase)) for phrases in demo_phrases.NAMES_OF for phrase in phrases}
        words = {word for phrase in trained for word in phrase} | set(demo_phrases.LOOKS)
        for phrase, _, kind in demo_words.held_out():
            with self.subTest(phrase):
                found = demo_words.words_of(phrase)
                self.assertNotIn(tuple(found), trained)
                self.assertNotIn(tuple(found[1:]), trained if found[0] in demo_phrases.LOOKS else ())
                if kind == "word":
                    self.assertFalse(set(found) & words)

    def test_phrases_are_split_as_typed(self):
        self.assertEqual(demo_words.words_of("A photo of White T-shirts, button-down"),
                         ["white", "tshirts", "button", "down"])


@unittest.skipIf(demo_words_model.find_model() is None, "the sentence model is not installed (setup.sh --page)")
class Sentences(unittest.TestCase):
    def test_the_numbers_are_those_that_were_compared(self):
        rows = demo_words_model.Model(demo_words_model.find_model()).embed(SENTENCES)
        numpy.testing.assert_allclose(rows[:, 0], FIRST, atol=2e-6)
        numpy.testing.assert_allclose(rows @ rows[0], COSINES, atol=2e-6)


if __name__ == "__main__":
    unittest.main()
