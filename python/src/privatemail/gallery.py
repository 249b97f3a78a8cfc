# SPDX-License-Identifier: Apache-2.0
"""The operator's side: packs from public rows, galleries in stores, and answers without a network."""
from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._command import Path, Rows, run, store_uri, workplace
from .errors import ArgumentError, Status
from .pack import Pack


def build_pack(features: Rows, *, labels: Optional[Rows] = None, slots: str = "one", epsilon: Optional[float] = None,
               share: Optional[float] = None, cells: Optional[int] = None, gallery: Optional[Rows] = None,
               gaussian: bool = False, rows_are_public: bool = False, crowd: Optional[int] = None,
               delta: Optional[float] = None, floor: Optional[float] = None, honest: Optional[float] = None,
               rows_per_prototype: Optional[int] = None, sketch: Optional[int] = None, model: Optional[str] = None,
               seed: int = 0, threads: Optional[int] = None, **options: Any) -> Pack:
    """Builds a pack from public rows. The same rows and options give the same bytes. A pack is public: it holds means
    of rows, and with `gaussian` the rows themselves.

    `features` has a row per public item; `labels` has their classes, for `slots` "class" or "group". `epsilon` and
    `share` choose the number of cells for releases of this ε and answers of this share of the gallery (4 and 0.02
    unless given); `cells` sets it. `crowd` chooses it for that many clients that ask in a crowd, with `delta`,
    `floor` and `honest`. `gallery` gives rows of the gallery, of which the pack then publishes means. `gaussian`
    needs `rows_are_public`. `model` names what made the features. Other options are those of `privatemail pack`, with
    underscores: docs/CLI.md."""
    with workplace() as place:
        out = place.path("built.pmpk")
        run("pack", features=place.rows("features", features), labels=place.labels("labels", labels), slots=slots,
            epsilon=epsilon, share=share, cells=cells, gallery=place.rows("gallery", gallery), gaussian=gaussian,
            rows_are_public=rows_are_public, crowd=crowd, delta=delta, floor=floor, honest=honest,
            rows_per_prototype=rows_per_prototype, sketch=sketch, model=model, seed=seed, threads=threads, out=out,
            **options)
        return Pack.open(out)


@dataclass(frozen=True)
class Gallery:
    """A gallery in a store, after it was made or changed."""

    version: str  #: the name of the new version
    items: int  #: items of the gallery
    added: int  #: items that came
    replaced: int  #: items that came and whose numbers were there
    removed: int  #: items that went
    share: Optional[float]  #: the share of a slot's items in a list, on average
    report: "dict[str, Any]"  #: all keys of `privatemail index --json`: docs/CLI.md


def _gallery(report: "dict[str, Any]") -> Gallery:
    keys = ("version", "items", "added", "replaced", "removed", "share")
    return Gallery(report=report, **{key: report[key] for key in keys})


Payloads = Union[Mapping[int, bytes], pathlib.PurePath]


def index(pack: Union[Pack, Path], features: Rows, store: Path, *, labels: Optional[Rows] = None,
          ids: Optional[ArrayLike] = None, payloads: Optional[Payloads] = None, share: Optional[float] = None,
          list_length: Optional[int] = None, voters: Optional[Rows] = None, modality: Optional[str] = None,
          keep: Optional[int] = None, threads: Optional[int] = None, force: bool = False, **options: Any) -> Gallery:
    """Makes the gallery of a pack in a store.

    `store` is a path, which becomes a folder of plain files, or text: "dir:FOLDER", "sqlite:FILE" or "postgres:URI".
    `features` has a row per item. `labels` has their classes, which packs with several slots need. `ids` has their
    numbers, 0, 1, 2, … unless given. `payloads` has the bytes that devices get with an item, by number, or is a
    folder of files. `share` is the share of the gallery that an answer carries, 0.02 unless given; or `list_length`
    items per cell. `voters` are public rows that are like queries. `force` replaces the gallery that is there. Other
    options are those of `privatemail index`."""
    with workplace() as place:
        return _gallery(run("index", pack=place.pack(pack), features=place.rows("features", features),
                            store=store_uri(store), labels=place.labels("labels", labels),
                            ids=place.numbers("ids.txt", ids), payloads=place.payloads(payloads), share=share,
                            list=list_length, voters=place.rows("voters", voters), modality=modality, keep=keep,
                            threads=threads, force=force, **options))


def change_index(pack: Union[Pack, Path], store: Path, *, add: Optional[Rows] = None,
                 remove: Optional[ArrayLike] = None, labels: Optional[Rows] = None, ids: Optional[ArrayLike] = None,
                 payloads: Optional[Payloads] = None, modality: Optional[str] = None, keep: Optional[int] = None,
                 threads: Optional[int] = None) -> Gallery:
    """Adds rows to a gallery, or replaces items that have the same numbers, and removes items by their numbers, as one
    new version. `labels`, `ids` and `payloads` are those of the rows that come."""
    if add is None and remove is None:
        raise ArgumentError("nothing to change: give add, remove or both", Status.ARGUMENT)
    with workplace() as place:
        return _gallery(run("index", pack=place.pack(pack), store=store_uri(store), add=place.rows("add", add),
                            remove=place.numbers("remove.txt", remove), labels=place.labels("labels", labels),
                            ids=place.numbers("ids.txt", ids), payloads=place.payloads(payloads), modality=modality,
                            keep=keep, threads=threads))


@dataclass(frozen=True)
class Found:
    """An answer of a store."""

    answer: bytes  #: what a server would send: give it to `Pack.rank`
    carried: int  #: candidates in it
    gallery: int  #: items of the store
    report: "dict[str, Any]"  #: all keys of `privatemail find --json`


def find(pack: Union[Pack, Path], store: Path, release: bytes, *, nearest: Optional[int] = None,
         top: int = 0) -> Found:
    """Answers a release from a store, as a server would. `nearest` is for Gaussian releases: candidates per slot. The
    report names the first `top` candidates of every slot."""
    with workplace() as place:
        out = place.path("answer.cbor")
        report = run("find", pack=place.pack(pack), store=store_uri(store), nearest=nearest, top=top, out=out,
                     release=place.bytes("release.cbor", release))
        return Found(pathlib.Path(out).read_bytes(), report["carried"], report["gallery"], report)


@dataclass(frozen=True)
class Sample:
    """A small gallery of drawn shapes, to try things with."""

    public: NDArray[np.float32]  #: features of the public rows, and so on
    gallery: NDArray[np.float32]
    queries: NDArray[np.float32]
    public_labels: NDArray[np.int32]
    gallery_labels: NDArray[np.int32]
    queries_labels: NDArray[np.int32]


def sample(*, classes: int = 12, per_class: int = 60, size: int = 32, seed: int = 1) -> Sample:
    """Draws pictures of simple shapes and returns their features and classes."""
    with workplace() as place:
        folder = pathlib.Path(place.path("sample"))
        run("sample", out=folder, classes=classes, per_class=per_class, size=size, seed=seed, no_images=True)
        parts = ("public", "gallery", "queries")
        return Sample(*(np.load(folder / f"{part}{kind}.npy") for kind in ("", "_labels") for part in parts))
