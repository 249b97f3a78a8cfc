# SPDX-License-Identifier: Apache-2.0
"""What measures the rest: what a private search finds, whether its promise can be broken, how many must ask
together, and which way to search fits."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

from ._command import Path, Rows, run, workplace
from .client import CrowdPolicy
from .pack import Pack

Numbers = Union[float, Sequence[float]]


@dataclass(frozen=True)
class EvaluationRow:
    """What was found with one ε and one share. Where the report has the key with _se, that is its standard error."""

    epsilon: float  #: ε of a release
    share: float  #: share of the gallery that was asked for
    carried: float  #: mean share of the gallery that an answer carried
    cells: Optional[int]  #: m, cells per slot; None for the Gaussian
    instance_recall: float  #: share of the 8 truly nearest items among the first 8 results
    instance_recall_se: Optional[float]
    carried_recall: float  #: share of the 8 truly nearest items in the answer
    baseline: float  #: instance recall of a random download as large as the answer
    bytes_up: float  #: mean length of a release
    bytes_down: float  #: mean length of an answer
    report: "dict[str, Any]"  #: all keys of the row: docs/CLI.md


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` measured."""

    rows: "tuple[EvaluationRow, ...]"
    report: "dict[str, Any]"  #: all keys of `privatemail evaluate --json`


_ROW = ("epsilon", "share", "carried", "cells", "instance_recall", "instance_recall_se", "carried_recall", "baseline",
        "bytes_up", "bytes_down")


def evaluate(public: Rows, gallery: Rows, queries: Rows, *, public_labels: Optional[Rows] = None,
             gallery_labels: Optional[Rows] = None, queries_labels: Optional[Rows] = None, mechanism: str = "response",
             epsilon: Optional[Numbers] = None, share: Optional[Numbers] = None, delta: Optional[float] = None,
             slots: str = "one", crowd: Optional[int] = None, releases: Optional[int] = None,
             sketch: Optional[int] = None, seed: int = 0, threads: Optional[int] = None,
             **options: Any) -> Evaluation:
    """Measures what a private search finds: builds packs from the public rows, indexes the gallery, makes `releases`
    (4) of every query, answers them, and compares the first 8 results with the 8 items that are truly nearest.

    `epsilon` and `share` may be lists: every ε is measured with every share. `crowd` asks in a crowd of that many
    clients. Other options are those of `privatemail evaluate`. The result describes the queries: it is no private
    release."""
    with workplace() as place:
        report = run("evaluate", public=place.rows("public", public), gallery=place.rows("gallery", gallery),
                     queries=place.rows("queries", queries), mechanism=mechanism, epsilon=epsilon, share=share,
                     public_labels=place.labels("public_labels", public_labels),
                     gallery_labels=place.labels("gallery_labels", gallery_labels),
                     queries_labels=place.labels("queries_labels", queries_labels), delta=delta, slots=slots,
                     crowd=crowd, releases=releases, sketch=sketch, seed=seed, threads=threads, **options)
    rows = tuple(EvaluationRow(report=row, **{key: row[key] for key in _ROW}) for row in report["rows"])
    return Evaluation(rows, report)


@dataclass(frozen=True)
class Audit:
    """The outcome of an attack on a promise."""

    violated: bool  #: a lower bound of ε is above the promise: it is broken
    epsilon: float  #: ε that was promised
    delta: float  #: δ that was promised
    epsilon_lower: float  #: a lower bound of the true ε, which holds with probability 0.999
    trials: int  #: releases made of each of two records
    report: "dict[str, Any]"  #: all keys of `privatemail audit --json`


def audit(pack: Union[Pack, Path], *, epsilon: Optional[float] = None, mechanism: Optional[str] = "response",
          delta: Optional[float] = None, trials: int = 100_000, crowd: Optional[int] = None,
          seconds: Optional[float] = None, **options: Any) -> Audit:
    """Attacks the promise of a pack as a stranger would: makes many releases of two made-up records and counts how
    well they can be told apart. With `crowd`, every trial is an epoch of that many clients. A promise that stands is
    not proved by it. Other options are those of `privatemail audit`."""
    with workplace() as place:
        report = run("audit", accept=(0, 6), pack=place.pack(pack), epsilon=epsilon, delta=delta, trials=trials,
                     mechanism=None if crowd else mechanism, crowd=crowd, seconds=seconds, **options)
    keys = ("violated", "epsilon", "delta", "epsilon_lower", "trials")
    return Audit(report=report, **{key: report[key] for key in keys})


@dataclass(frozen=True)
class CrowdPlan:
    """How to ask in a crowd, and what that promises."""

    #: ε of all queries together, if the relay mixes and does not join the server, and so many clients are honest
    epsilon: float
    delta: float  #: δ that ε is for
    floor: float  #: ε₀ of one drawn cell, which holds whoever works together
    promise: str  #: "crowd", or "floor" when no more than the floor is promised
    fakes: float  #: mean fakes per client, or per epoch when the relay makes them
    answers: float  #: mean answers that a client with a query gets
    policy: CrowdPolicy  #: for Client(..., epsilon=plan.floor, crowd=plan.policy)
    report: "dict[str, Any]"  #: all keys of `privatemail crowd --json`


def plan_crowd(cells: int, *, clients: Optional[int] = None, epsilon: Optional[float] = None,
               delta: Optional[float] = None, honest: Optional[float] = None, floor: Optional[float] = None,
               queries: Optional[int] = None, own: Optional[int] = None, noise: str = "clients", cover: bool = False,
               **options: Any) -> CrowdPlan:
    """Plans which fakes keep (`epsilon`, `delta`) towards the server when `clients` ask in every epoch and the share
    `honest` (0.5) of them is honest. `cells` are slots times cells of the pack. `noise` "relay" lets the relay make
    all fakes: then `clients` is left out. Raises PrivacyError when no policy keeps the promise. Other options are
    those of `privatemail crowd`: with `clusters` and `copies` instead of `epsilon` it tells what that policy
    gives."""
    report = run("crowd", cells=cells, clients=clients, epsilon=epsilon, delta=delta, honest=honest, floor=floor,
                 queries=queries, own=own, noise=noise, **options)
    counted = int(report["clients"] * report["honest"])
    booked = report["mu"] is not None
    policy = CrowdPolicy(clients=counted, clusters=report["clusters"], copies=report["copies"], own=report["own"],
                         relay_clusters=report["relay_clusters"], cover=cover,
                         delta0=report["delta0"] if booked else 0.0, mu=report["mu"] if booked else 0.0)
    keys = ("epsilon", "delta", "floor", "promise", "fakes", "answers")
    return CrowdPlan(policy=policy, report=report, **{key: report[key] for key in keys})


@dataclass(frozen=True)
class Advice:
    """Which way to search fits."""

    choice: str  #: "ship", "response", "crowd" or "none"
    why: str  #: in sentences
    found_most: float  #: of the 8 nearest, by the ceiling that no method exceeds
    found: Optional[float]  #: as measured on `features`; None without them
    alternatives: "tuple[dict[str, Any], ...]"  #: the ways that were not chosen, each with its reason
    report: "dict[str, Any]"  #: all keys of `privatemail advise --json`


def advise(items: int, bytes_down: int, *, users: Optional[int] = None, changes_per_day: Optional[float] = None,
           sketch: Optional[int] = None, features: Optional[Rows] = None, **options: Any) -> Advice:
    """Says which way to search a gallery of so many `items` fits when a query may bring down so many bytes: ship the
    whole index to the devices, ask alone, ask in a crowd of `users`, or do not ask. With `features`, rows of the
    gallery, the ways are measured. Other options are those of `privatemail advise`."""
    with workplace() as place:
        report = run("advise", items=items, bytes_down=bytes_down, users=users, changes_per_day=changes_per_day,
                     sketch=sketch, features=place.rows("features", features), **options)
    chosen = report["chosen"]
    return Advice(choice=report["choice"], why=report["why"], found_most=chosen["found_most"], found=chosen["found"],
                  alternatives=tuple(report["alternatives"]), report=report)
