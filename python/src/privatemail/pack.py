# SPDX-License-Identifier: Apache-2.0
"""Packs, and the ranking of answers."""
from __future__ import annotations

import ctypes
import os
import pathlib
import weakref
from dataclasses import dataclass, field
from typing import Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import check, lib
from .errors import ArgumentError, FeaturesError, Status

_SLOT_KINDS = ("one", "class", "group")
_NUMBERS = ("features", "slots", "cells", "prototypes", "classes", "anchors", "neighbours", "dimensions", "sketch",
            "directions", "labels")  # python/shim.h


@dataclass(frozen=True)
class PackInfo:
    """What a pack holds. The letters are those of docs/SPEC.md."""

    features: int  #: d, features of a query, behind the fronts when there are any
    slots: int  #: G
    slot_kind: str  #: "one", "class" or "group"
    cells: int  #: m, cells per slot; 0 if the pack does not serve response
    prototypes: int  #: M, prototypes per slot
    classes: int  #: C
    anchors: int  #: n; 0 if the pack does not serve the Gaussian
    neighbours: int  #: K
    dimensions: int  #: k; 0 if the pack has no codes
    sketch: int  #: L, bytes per sketch; 0 if answers cannot be ranked
    directions: int  #: P, of coded sketches; 0 if sketches are plain
    labels: int  #: H, labels that the head knows; 0 without a head


@dataclass(frozen=True)
class Ranking:
    """The best candidates of an answer, the best first. It depends on the query: do not share it."""

    items: NDArray[np.uint64] = field(repr=False)  #: numbers of the items
    scores: NDArray[np.float64] = field(repr=False)  #: cosines of their sketches with the query's
    labels: NDArray[np.int32] = field(repr=False)  #: their classes
    slots: NDArray[np.int32] = field(repr=False)  #: the slots they came in
    payloads: "tuple[bytes, ...]" = field(repr=False)  #: what the server sent with each
    carried: int  #: candidates in the answer
    gallery: int  #: items that the server says it has


class Pack:
    """A pack: the public file that device and server both hold. It never changes, and any number of threads and
    clients may share it.

    `data` is validated completely. `pinned_id` accepts only the pack with this id, as `Pack.id` has it: a pack that
    was made for one person would mark that person. `model` accepts only packs whose features were made by the model
    of this name."""

    def __init__(self, data: Union[bytes, bytearray, memoryview], *, pinned_id: Optional[str] = None,
                 model: Optional[str] = None) -> None:
        self.data = bytes(data)  #: the bytes of the pack
        handle = ctypes.c_void_p()
        pinned = None if pinned_id is None else _id_bytes(pinned_id)
        check(lib.pack_open(ctypes.byref(handle), self.data, len(self.data), pinned,
                            None if model is None else model.encode()), "pack")
        self._handle = handle
        weakref.finalize(self, lib.pack_free, handle)
        identity, numbers = (ctypes.c_uint8 * _core.ID_SIZE)(), (ctypes.c_uint32 * 13)()
        check(lib.pack_describe(handle, identity, numbers), "pack")
        self.id = bytes(identity).hex()  #: 32 hexadecimal digits
        self.info = PackInfo(slot_kind=_SLOT_KINDS[numbers[2]], **dict(zip(_NUMBERS, numbers[:2] + numbers[3:12])))
        self.model = lib.pack_model(handle).decode()  #: the name of the model that made the features, or ""
        self.modalities = tuple(self._modality(index) for index in range(numbers[12]))
        """The names of the modalities, and how many features each has; empty when features are used as they are."""

    @classmethod
    def open(cls, path: "Union[str, os.PathLike[str]]", *, pinned_id: Optional[str] = None,
             model: Optional[str] = None) -> "Pack":
        """Reads a pack from a file."""
        return cls(pathlib.Path(path).read_bytes(), pinned_id=pinned_id, model=model)

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes the pack into a new file."""
        with open(path, "xb") as file:
            file.write(self.data)

    def rank(self, features: ArrayLike, answer: bytes, *, limit: int = 8, label: int = 0,
             modality: Optional[str] = None, scope: str = "own", crowd: bool = False) -> Ranking:
        """Keeps those candidates of an answer that are nearest to the true query. It needs no client and costs
        nothing.

        `limit` is 1 to 256. `label` is the class of the query, for packs with several slots. `scope` is "own" for the
        slot of the query, or "all". `crowd` says that this is the answer to one message of a crowd.

        Raises FeaturesError for the query, and MessageError for an answer that is not valid, which finds nothing.
        """
        if scope not in ("own", "all"):
            raise ArgumentError(f"scope is 'own' or 'all', not {scope!r}", Status.ARGUMENT)
        if not 1 <= limit <= _core.MATCHES_MAX:
            raise ArgumentError(f"limit is 1 to {_core.MATCHES_MAX}, not {limit}", Status.ARGUMENT)
        query, answer = self._query(features, label, modality), bytes(answer)
        matches, sums = np.zeros((limit, 6), np.int64), (ctypes.c_uint64 * 3)()
        check(lib.rank(self._handle, *query, scope == "all", crowd, answer, len(answer),
                       _core.pointer(matches, ctypes.c_int64), limit, sums), "answer")
        matches = matches[: sums[0]]
        payloads = tuple(answer[offset:offset + size] for offset, size in matches[:, 4:].tolist())
        scores: NDArray[np.float64] = np.ldexp(matches[:, 3].astype(np.float64), -30)
        return Ranking(matches[:, 0].astype(np.uint64), scores, matches[:, 1].astype(np.int32), matches[:, 2].astype(np.int32),
                       payloads, int(sums[1]), int(sums[2]))

    def rows(self, release: bytes) -> NDArray[np.float32]:
        """The embedding rows of a release, one per slot: what the server sees of it. A message of a crowd has one
        row."""
        for count in (1, self.info.slots):  # a row too few is refused, so one that fits is a message of a crowd
            rows = np.zeros((count, self.info.dimensions), np.float32)
            pointer = _core.pointer(rows, ctypes.c_float)
            status = lib.release_rows(self._handle, release, len(release), pointer, rows.size)
            if status != Status.BUFFER:
                break
        check(status, "release")
        return rows

    def _modality(self, index: int) -> "tuple[str, int]":
        name, features = ctypes.c_char_p(), ctypes.c_uint32()
        check(lib.pack_modality(self._handle, index, ctypes.byref(name), ctypes.byref(features)), "modality")
        return (name.value or b"").decode(), features.value

    def _query(self, features: ArrayLike, label: int,
               modality: Optional[str]) -> "tuple[object, int, int, int]":
        """The four arguments of a query."""
        array = _core.features_of(features)
        if not -(1 << 31) <= label < 1 << 31:
            raise FeaturesError(f"a label has 32 bits, not {label}", Status.LABEL)
        names = [name for name, _ in self.modalities]
        if modality is not None and modality not in names:
            raise FeaturesError(f"the pack has no modality {modality!r}; it has {names}", Status.MODALITY)
        pointer = _core.pointer(array, ctypes.c_float)  # which keeps the array alive
        return pointer, array.size, label, names.index(modality) if modality is not None else 0

    def __repr__(self) -> str:
        return f"<privatemail.Pack {self.id}: {self.info.slots} slots of {self.info.cells} cells>"


def _id_bytes(text: str) -> bytes:
    try:
        identity = bytes.fromhex(text)
    except ValueError:
        identity = b""
    if len(identity) != _core.ID_SIZE:
        raise ArgumentError(f"an id has 32 hexadecimal digits, not {text!r}", Status.ARGUMENT)
    return identity


def recall_ceiling(epsilon: float, share: float) -> float:
    """The best chance that any ε-private method has to bring the right cell when the answer carries this share of a
    gallery whose items are equally often wanted. NaN for arguments out of range."""
    return float(lib.recall_ceiling(epsilon, share))


def epsilon_for(probability: float, share: float) -> float:
    """The ε that reaches this chance at this share, rounded up. NaN for arguments out of range."""
    return float(lib.epsilon_for(probability, share))
