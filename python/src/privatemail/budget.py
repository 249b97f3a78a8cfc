# SPDX-License-Identifier: Apache-2.0
"""Budgets: how much one person may still spend, over all packs and servers."""
from __future__ import annotations

import ctypes
import fcntl
import os
import stat
import tempfile
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Callable, ClassVar, Optional, Union

from . import _core
from ._core import check, lib
from .errors import ArgumentError, BudgetError, StateError, Status

Owner = Union[str, bytes]
_BUDGETS: "weakref.WeakSet[Budget]" = weakref.WeakSet()
_OPENING = threading.Lock()  # held while a file is looked up in FileBudget._open_files and put there


@dataclass(frozen=True)
class BudgetLeft:
    """What a budget allows, and what of it is spent."""

    epsilon_cap: float  #: most Σε over response releases
    epsilon_spent: float  #: spent of it
    mu2_cap: float  #: most Σμ² over Gaussian releases
    mu2_spent: float  #: spent of it
    delta: float  #: δ of the Gaussian cap
    floor_cap: float  #: most Σε₀ over cells drawn for a crowd
    floor_spent: float  #: spent of it
    crowd_mu2_cap: float  #: most Σμ² over own messages in a crowd
    crowd_mu2_spent: float  #: spent of it
    crowd_delta0_cap: float  #: most Σδ₀ over them
    crowd_delta0_spent: float  #: spent of it
    crowd_delta: float  #: δ of the crowd's cap, Σδ₀ included


class Budget:
    """What one person may spend. A new one is in memory, and is lost when the program ends: give `store`, or use
    FileBudget.

    `epsilon` is the most Σε of response releases, 0 to 4095. `epsilon_gaussian` with `delta` is for Gaussian releases,
    `floor`, and `epsilon_crowd` with `delta_crowd`, are for bundles of a crowd. What is left out is 0: none of it.
    `owner` names the person, so that a budget is not mistaken for somebody else's: text of at most 16 bytes.

    `store` is called with the budget's bytes before a client is armed. It must write them durably, and raise an
    exception when it cannot: then nothing is charged. It must not use the budget or its clients.

    Several clients, in any threads, may spend from one budget, but only in the process that made it.
    """

    def __init__(self, *, epsilon: float = 0.0, epsilon_gaussian: float = 0.0, delta: float = 0.0, floor: float = 0.0,
                 epsilon_crowd: float = 0.0, delta_crowd: float = 0.0, owner: Owner = "default",
                 store: Optional[Callable[[bytes], None]] = None) -> None:
        caps = (ctypes.c_double * 6)(epsilon, epsilon_gaussian, delta, floor, epsilon_crowd, delta_crowd)
        self._start(store)
        check(lib.budget_create(self._bytes, _owner_tag(owner), caps), "budget")

    @staticmethod
    def restore(data: bytes, *, owner: Owner = "default",
                store: Optional[Callable[[bytes], None]] = None) -> "Budget":
        """Reads the bytes that `store` was given. A copy from a backup spends again what was spent since."""
        self = Budget.__new__(Budget)
        self._start(store)
        check(lib.budget_restore(self._bytes, _owner_tag(owner), data, len(data)), "budget")
        return self

    def _start(self, store: Optional[Callable[[bytes], None]]) -> None:
        self._bytes = _core.BudgetBytes()
        self._guard = _core.Guard()
        self._store = store
        self._process = os.getpid()
        _BUDGETS.add(self)

    @property
    def data(self) -> bytes:
        """The bytes to store."""
        with self._guard:
            return bytes(self._bytes)

    @property
    def left(self) -> BudgetLeft:
        """What is allowed, and what of it is spent."""
        numbers = (ctypes.c_double * 12)()
        with self._guard:
            check(lib.budget_remaining(self._bytes, numbers), "budget")
        return BudgetLeft(*numbers)

    def _persist(self, data: bytes) -> None:
        """Called by the core, through a client that is being armed."""
        if self._store is not None:
            self._store(data)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise StateError("the budget was opened by another process; open it in this one", Status.STATE)

    def _after_fork(self) -> None:
        self._guard.after_fork()

    def __reduce__(self) -> "tuple[object, ...]":
        raise TypeError("a budget cannot be copied: a copy would spend the same again")

    def __repr__(self) -> str:
        left = self.left
        return f"<privatemail.{type(self).__name__}: ε {left.epsilon_spent:g} of {left.epsilon_cap:g} spent>"


class FileBudget(Budget):
    """A budget in a file, which `privatemail privatize --budget` reads too. Use it as a context manager, or close it.

    A file that exists is opened, and its own caps hold: then none may be given. Otherwise `caps`, those of Budget,
    make a new one. The file is replaced and flushed before a client is armed. While it is open nobody else can open
    it: BudgetError."""

    _open_files: ClassVar["set[str]"] = set()

    def __init__(self, path: "Union[str, os.PathLike[str]]", *, owner: Owner = "default", **caps: Any) -> None:
        self._start(None)
        self._path = os.path.realpath(path)
        self._lock: Optional[int] = _take_lock(self._path, self._open_files)
        try:
            if os.path.exists(self._path):
                if caps:
                    raise BudgetError(f"{self._path} exists, and its own caps hold. Leave {', '.join(caps)} out.")
                with open(self._path, "rb") as file:
                    data = file.read(4096)
                check(lib.budget_restore(self._bytes, _owner_tag(owner), data, len(data)), self._path)
            elif not caps:
                raise BudgetError(f"{self._path} does not exist. Give the caps of a new budget, such as epsilon=20.")
            else:
                self._bytes = Budget(owner=owner, **caps)._bytes
        except BaseException:
            self.close()
            raise

    def _persist(self, data: bytes) -> None:
        if self._lock is None:
            raise StateError("the budget is closed", Status.STATE)
        _replace(self._path, data)

    def close(self) -> None:
        """Lets others open the file. It may be called twice."""
        with self._guard:
            self._unlock()

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is None:
            return
        try:
            if self._process == os.getpid():
                os.unlink(self._path + ".lock")  # while it is held, as whoever waits for it looks
        finally:
            os.close(lock)
            self._open_files.discard(self._path)  # last: closing would release the lock of the next who opens it

    def _after_fork(self) -> None:
        """The parent has the lock, and we have a descriptor of its file. Closing that later would release a lock that
        this process may have taken on the same file by then."""
        super()._after_fork()
        lock, self._lock = getattr(self, "_lock", None), None
        if lock is not None:
            os.close(lock)

    def __enter__(self) -> "FileBudget":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_lock", None) is not None:
            self._unlock()  # nobody else has it any more


def _owner_tag(owner: Owner) -> bytes:
    tag = owner.encode() if isinstance(owner, str) else bytes(owner)
    if len(tag) > 16:
        raise ArgumentError(f"an owner has at most 16 bytes, not {len(tag)}", Status.ARGUMENT)
    return tag.ljust(16, b"\0")


def _take_lock(path: str, open_files: "set[str]") -> int:
    """A lock beside the file, because every charge replaces the file itself. The command takes the same. Locks are of
    the process, so `open_files` keeps its own threads apart: whoever puts the path there may go on."""
    with _OPENING:
        if path in open_files:
            raise _busy(path)
        open_files.add(path)
    try:
        return _lock_file(path)
    except BaseException:
        open_files.discard(path)
        raise


def _busy(path: str) -> BudgetError:
    return BudgetError(f"{path} is open already, here or in another process. Close it there first.", Status.BUDGET)


def _lock_file(path: str) -> int:
    """The descriptor of the file that stands beside `path`, locked."""
    while True:
        lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held, named = os.fstat(lock), os.stat(path + ".lock")
            if (held.st_ino, held.st_dev) == (named.st_ino, named.st_dev):
                return lock
        except FileNotFoundError:
            pass  # whoever had it has just removed it
        except (BlockingIOError, PermissionError):
            os.close(lock)
            raise _busy(path) from None
        os.close(lock)


def _replace(path: str, data: bytes) -> None:
    """All or nothing, also when the power fails."""
    folder = os.path.dirname(path)
    descriptor, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + ".tmp-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if os.path.exists(path):
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _forget_files() -> None:
    """In the child of a fork: what the parent has open is not open here, and its other threads are gone."""
    global _OPENING
    _OPENING = threading.Lock()
    FileBudget._open_files.clear()
    for budget in list(_BUDGETS):
        budget._after_fork()


os.register_at_fork(after_in_child=_forget_files)
