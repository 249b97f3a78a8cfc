# SPDX-License-Identifier: Apache-2.0
"""The flat functions of python/shim.h, by ctypes, which lets other threads run while the core works."""
from __future__ import annotations

import ctypes
import pathlib
import threading
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64
from ctypes import c_uint8, c_void_p
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CLASS_OF_STATUS, Error, FeaturesError, StateError, Status

ID_SIZE = 16
BUDGET_SIZE = 112
MATCHES_MAX = 256

# pmlpy_persist_fn and pmlpy_entropy_fn. One that succeeded sets its first argument to DONE.
BYTES_FN = ctypes.CFUNCTYPE(None, POINTER(c_int), POINTER(c_uint8), c_size_t)
DONE = 0x53544F52

BudgetBytes = c_uint8 * BUDGET_SIZE
_BYTES = POINTER(c_uint8)
_QUERY = (POINTER(c_float), c_size_t, c_int32, c_uint32)
_SIGNATURES: "dict[str, tuple[Any, tuple[Any, ...]]]" = {
    "version": (c_char_p, ()),
    "status_text": (c_char_p, (c_int,)),
    "recall_ceiling": (c_double, (c_double, c_double)),
    "epsilon_for": (c_double, (c_double, c_double)),
    "pack_open": (c_int, (POINTER(c_void_p), c_char_p, c_size_t, c_char_p, c_char_p)),
    "pack_free": (None, (c_void_p,)),
    "pack_describe": (c_int, (c_void_p, _BYTES, POINTER(c_uint32))),
    "pack_model": (c_char_p, (c_void_p,)),
    "pack_modality": (c_int, (c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_uint32))),
    "release_rows": (c_int, (c_void_p, c_char_p, c_size_t, POINTER(c_float), c_size_t)),
    "budget_create": (c_int, (_BYTES, c_char_p, POINTER(c_double))),
    "budget_restore": (c_int, (_BYTES, c_char_p, c_char_p, c_size_t)),
    "budget_remaining": (c_int, (_BYTES, POINTER(c_double))),
    "client_new": (c_int, (POINTER(c_void_p), c_void_p, c_int, c_double, c_double, c_uint, c_int, POINTER(c_double),
                           BYTES_FN, BYTES_FN)),
    "client_free": (None, (c_void_p,)),
    "client_forget": (None, (c_void_p,)),
    "client_arm": (c_int, (c_void_p, _BYTES)),
    "client_disarm": (c_int, (c_void_p, _BYTES)),
    "client_wipe": (None, (c_void_p,)),
    "client_release": (c_int, (c_void_p, *_QUERY, _BYTES, c_size_t)),
    "client_receipt": (c_int, (c_void_p, POINTER(c_double))),
    "crowd_arm": (c_int, (c_void_p, _BYTES, c_int)),
    "crowd_begin": (c_int, (c_void_p, *_QUERY, c_char_p, c_size_t)),
    "crowd_left": (c_size_t, (c_void_p,)),
    "crowd_next": (c_int, (c_void_p, _BYTES, c_size_t, POINTER(c_uint))),
    "rank": (c_int, (c_void_p, *_QUERY, c_int, c_int, c_char_p, c_size_t, POINTER(c_int64), c_size_t,
                     POINTER(c_uint64))),
}


class _Library:
    """The functions without their prefix: `lib.pack_open` is pmlpy_pack_open."""

    def __init__(self, path: pathlib.Path) -> None:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, "pmlpy_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers: all names are set above
        raise AttributeError(name)


lib = _Library(pathlib.Path(__file__).with_name("libprivatemail_python.so"))


def error(status: int, subject: str = "") -> Error:
    """The exception of a status: the sentence of the C library, behind what it is about."""
    text = lib.status_text(status).decode()
    known = Status(status) if status in Status._value2member_map_ else None
    kind = CLASS_OF_STATUS.get(known, Error) if known is not None else Error
    return kind(f"{subject}: {text}" if subject else text, known)


def check(status: int, subject: str = "", cause: Optional[BaseException] = None) -> None:
    """Raises unless the status is OK."""
    if status != Status.OK:
        raise error(status, subject) from cause


def features_of(value: ArrayLike) -> NDArray[np.float32]:
    """One query as float32, in one piece. Whether the numbers are finite is the core's question, not ours."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise FeaturesError(f"features are numbers, not {array.dtype}", Status.FEATURES)
    if array.ndim != 1:
        raise FeaturesError(f"one query is one row of features, not an array of shape {array.shape}", Status.DIMENSION)
    with np.errstate(over="ignore"):  # becomes infinite, which the core refuses
        return np.ascontiguousarray(array, dtype=np.float32)


def pointer(array: "NDArray[Any]", kind: Any) -> Any:
    return array.ctypes.data_as(POINTER(kind))


class Guard:
    """Lets one thread at a time in. A call from inside a callback of the same object is refused instead of waiting for
    itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: Optional[int] = None

    def __enter__(self) -> None:
        if self._owner == threading.get_ident():
            raise StateError("this object was called from inside its own callback", Status.STATE)
        self._lock.acquire()
        self._owner = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._owner = None
        self._lock.release()

    def after_fork(self) -> None:
        """In the child: a thread that was in is gone, unless it is the one that forked, from inside a callback."""
        if self._owner != threading.get_ident():
            self._lock, self._owner = threading.Lock(), None
