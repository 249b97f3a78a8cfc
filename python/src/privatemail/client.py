# SPDX-License-Identifier: Apache-2.0
"""The client: from a query to the one private message that leaves the device."""
from __future__ import annotations

import ctypes
import os
import weakref
from dataclasses import dataclass, field
from typing import Callable, Optional, Sequence

from numpy.typing import ArrayLike

from . import _core
from ._core import check, lib
from .budget import Budget
from .errors import ArgumentError, PrivacyError, StateError, Status
from .pack import Pack, Ranking

_MECHANISMS = {"response": 1, "gaussian": 2}
_BUNDLES = {"query": 1, "kept": 2, "idle": 3}
_CLIENTS: "weakref.WeakSet[Client]" = weakref.WeakSet()


@dataclass(frozen=True)
class CrowdPolicy:
    """How to ask in a crowd: the app's choice, which `plan_crowd` makes. Its promise holds if the relay mixes and does
    not join the server, and at least `clients` honest clients take part in every epoch. Nobody can verify that, so the
    floor, the client's ε, holds in any case."""

    clients: int  #: n, honest clients per epoch that the promise counts on
    clusters: float  #: κ, mean clusters of fakes per client, 0 to 4
    copies: int  #: v, the largest size of a cluster, 1 to 64
    own: int = 1  #: w, own messages per bundle, 1 to 8
    relay_clusters: float = 0.0  #: R, mean clusters that the relay adds per epoch
    cover: bool = False  #: idle clients send own messages too
    delta0: float = 0.0  #: what an own message is booked with; 0 with mu 0: only the floor is promised
    mu: float = 0.0  #: the same


@dataclass(frozen=True)
class Receipt:
    """What one release costs and how it is made. All of it is public."""

    epsilon: float  #: ε of a release; in a crowd the floor
    delta: float  #: δ; in a crowd the δ₀ of one own message
    sensitivity: float  #: Gaussian: the certified Δ of the pack; else 0
    sigma: float  #: Gaussian: standard deviation of the noise; else 0
    mu: float  #: what a release adds to Σμ² is its square
    keep: float  #: response: probability that the true cell is released; else 0
    bytes: int  #: length of a release
    messages: int  #: most messages of a bundle; 1 without a crowd


@dataclass(frozen=True)
class Bundle:
    """What one client hands to the relay in one epoch, as a whole: its own messages and fakes, in random order. Which
    are its own must never be told to anybody."""

    messages: "tuple[bytes, ...]" = field(repr=False)
    own: "tuple[int, ...]" = field(repr=False)  #: places of the own messages, first that of the drawn cell

    @property
    def kept(self) -> bytes:
        """The message of the drawn cell, to be sent again in a later epoch by `Client.bundle(kept=...)`."""
        if not self.own:
            raise StateError("an idle bundle has no own message", Status.STATE)
        return self.messages[self.own[0]]


class Client:
    """Makes releases: `arm`, `release`, `arm`, `release`, … With a `crowd` it makes bundles instead: `arm_bundle`,
    `bundle`, …

    `epsilon` is the privacy of one release, up to 16; there is no default. In a crowd it is the floor. `mechanism` is
    "response" or "gaussian", which needs a `delta` and a pack that was made for it. `budget` pays for every release.
    With `substitute`, bad features and unknown labels are replaced by a public default, so that the absence of a
    message tells nothing.

    Rules that privacy rests on:

    * Send the same bytes again when the network fails. Never make a second release because the first was lost.
    * Keep the release of a photo and use it again. n releases about one photo cost n times ε.
    * Arm before private data is in memory.

    Threads: calls from several threads wait for each other. Processes: in a process that was forked the client is
    wiped and closed, because both would send the same noise otherwise. It cannot be copied or pickled either.

    Use it as a context manager, or close it: that wipes the noise. Python's own copies of features cannot be wiped.
    """

    def __init__(self, pack: Pack, *, epsilon: float, budget: Budget, mechanism: str = "response", delta: float = 0.0,
                 value_bytes: int = 0, substitute: bool = False, crowd: Optional[CrowdPolicy] = None,
                 _entropy: Optional[Callable[[int], bytes]] = None) -> None:
        if mechanism not in _MECHANISMS:
            raise PrivacyError(f"mechanism is 'response' or 'gaussian', not {mechanism!r}", Status.MECHANISM)
        self.pack, self.budget, self.crowd = pack, budget, crowd
        self._guard = _core.Guard()
        self._failure: Optional[BaseException] = None
        # The callbacks must live as long as the client. They must not keep it alive: it would never be wiped.
        self._callbacks = (_persist_callback(weakref.ref(self)), _entropy_callback(_entropy))
        handle = ctypes.c_void_p()
        check(lib.client_new(ctypes.byref(handle), pack._handle, _MECHANISMS[mechanism], epsilon, delta, value_bytes,
                             substitute, _policy_numbers(crowd), *self._callbacks), "client")
        self._handle: Optional[ctypes.c_void_p] = handle
        self._finalizer = weakref.finalize(self, _free, handle, pack, self._callbacks)
        _CLIENTS.add(self)
        numbers = (ctypes.c_double * 8)()
        check(lib.client_receipt(handle, numbers), "client")
        self.receipt = _receipt(list(numbers))  #: what one release costs

    # ---- releases

    def arm(self) -> None:
        """Pays for one release, stores the budget, and draws all randomness. When it raises an Error, nothing was
        charged. When a signal handler raises, look at `budget.left`."""
        self._pay(lib.client_arm)

    def release(self, features: ArrayLike, *, label: int = 0, modality: Optional[str] = None) -> bytes:
        """The message of a query: send it, and keep it. When it raises FeaturesError, the client stays armed."""
        query, size = self.pack._query(features, label, modality), self.receipt.bytes
        out = (ctypes.c_uint8 * size)()
        with self._guard:
            check(lib.client_release(self._ready(), *query, out, size), "release")
        return bytes(out)

    def disarm(self) -> None:
        """Gives a release that was not made back: wipes the noise and refunds the budget."""
        self._pay(lib.client_disarm)

    def rank(self, features: ArrayLike, answer: bytes, *, limit: int = 8, label: int = 0,
             modality: Optional[str] = None, scope: str = "own") -> Ranking:
        """`Pack.rank`, for the pack of this client."""
        return self.pack.rank(features, answer, limit=limit, label=label, modality=modality, scope=scope,
                              crowd=self.crowd is not None)

    # ---- bundles

    def arm_bundle(self, kind: str = "query") -> None:
        """Pays for a bundle and draws its fakes: "query", "kept" for a cell that is sent again, or "idle"."""
        if kind not in _BUNDLES:
            raise ArgumentError(f"a bundle is one of {', '.join(_BUNDLES)}, not {kind!r}", Status.ARGUMENT)
        self._pay(lib.crowd_arm, _BUNDLES[kind])

    def bundle(self, features: Optional[ArrayLike] = None, *, kept: Optional[bytes] = None, label: int = 0,
               modality: Optional[str] = None) -> Bundle:
        """The bundle that was armed: of `features`, of a `kept` message, or of neither when it is idle. Hand it over
        as a whole, in one epoch."""
        query = (None, 0, 0, 0) if features is None else self.pack._query(features, label, modality)
        out, own = (ctypes.c_uint8 * self.receipt.bytes)(), ctypes.c_uint()
        messages: "list[bytes]" = []
        places: "dict[int, int]" = {}
        with self._guard:
            handle = self._ready()
            check(lib.crowd_begin(handle, *query, kept, len(kept) if kept else 0), "bundle")
            while lib.crowd_left(handle) > 0:
                check(lib.crowd_next(handle, out, len(out), ctypes.byref(own)), "bundle")
                if own.value > 0:
                    places[own.value] = len(messages)
                messages.append(bytes(out))
        return Bundle(tuple(messages), tuple(places[number] for number in sorted(places)))

    # ---- life

    def wipe(self) -> None:
        """Forgets the noise. What was paid for it is lost."""
        with self._guard:
            lib.client_wipe(self._ready())

    def close(self) -> None:
        """Wipes and frees the client. It may be called twice."""
        with self._guard:
            if self._handle is not None:
                lib.client_forget(self._handle)  # first, so that no fork between here and the end keeps the noise
            self._handle = None
            self._finalizer()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> "tuple[object, ...]":
        raise TypeError("a client cannot be copied: a copy would release the same noise again")

    def _ready(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise StateError("the client is closed", Status.STATE)
        return self._handle

    def _pay(self, function: Callable[..., int], *arguments: int) -> None:
        """Calls a function that charges or refunds the budget."""
        self.budget._check_process()
        with self._guard, self.budget._guard:
            handle = self._ready()
            self._failure = None
            status = function(handle, self.budget._bytes, *arguments)
            failure, self._failure = self._failure, None
            check(status, "budget" if failure else "client", failure)

    def _wipe_after_fork(self) -> None:
        """In the child, where no other thread is: whatever the parent was doing, its noise is not ours."""
        self._guard.after_fork()
        if self._handle is not None:
            lib.client_forget(self._handle)
            self._handle = None


def _receipt(numbers: "Sequence[float]") -> Receipt:
    epsilon, delta, sensitivity, sigma, mu, keep, length, messages = numbers
    return Receipt(epsilon, delta, sensitivity, sigma, mu, keep, int(length), int(messages))


def _free(handle: ctypes.c_void_p, _pack: Pack, _callbacks: "tuple[object, ...]") -> None:
    """The pack and the callbacks are arguments so that they live until the client is gone."""
    lib.client_free(handle)


def _persist_callback(client: "weakref.ref[Client]") -> Callable[..., None]:
    def persist(done: "ctypes._Pointer[ctypes.c_int]", data: "ctypes._Pointer[ctypes.c_uint8]", size: int) -> None:
        self = client()
        if self is None:
            return
        try:
            self.budget._persist(ctypes.string_at(data, size))
        except BaseException as failure:  # nothing may pass through C
            self._failure = failure
            return
        done[0] = _core.DONE  # the last act: what a signal handler raises before it means that nothing was stored
    return _core.BYTES_FN(persist)


def _entropy_callback(source: Optional[Callable[[int], bytes]]) -> Callable[..., None]:
    """NULL is the system's source. Tests replay the randomness of the golden vectors."""
    if source is None:
        return _core.BYTES_FN()

    def draw(done: "ctypes._Pointer[ctypes.c_int]", out: "ctypes._Pointer[ctypes.c_uint8]", size: int) -> None:
        try:
            drawn = source(size)
        except BaseException:  # nothing may pass through C
            return
        if len(drawn) == size:
            ctypes.memmove(out, drawn, size)
            done[0] = _core.DONE
    return _core.BYTES_FN(draw)


def _policy_numbers(crowd: Optional[CrowdPolicy]) -> "Optional[ctypes.Array[ctypes.c_double]]":
    if crowd is None:
        return None
    limits = ((crowd.clients, 1 << 32), (crowd.copies, 1 << 16), (crowd.own, 1 << 16))
    if not all(isinstance(count, int) and 0 <= count <= most for count, most in limits):
        raise PrivacyError("clients, copies and own of a policy are counts", Status.CROWD)
    return (ctypes.c_double * 8)(crowd.clients, crowd.clusters, crowd.copies, crowd.own, crowd.relay_clusters,
                                 crowd.cover, crowd.delta0, crowd.mu)


def _wipe_all() -> None:
    for client in list(_CLIENTS):
        client._wipe_after_fork()


os.register_at_fork(after_in_child=_wipe_all)
