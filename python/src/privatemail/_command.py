# SPDX-License-Identifier: Apache-2.0
"""Runs the command `privatemail`, which the package brings with it. Arrays go to it as temporary .npy files, and its
JSON comes back."""
from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Iterator, Mapping, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CLASS_OF_EXIT, Error, FaultError, FeaturesError, MissingError, Status
from .pack import Pack

PROGRAM = pathlib.Path(__file__).with_name("bin") / "privatemail"
_MISSING = re.compile(r"built without|which this build does not know|there is no (LAPACKE|ARPACK) here")
_log = logging.getLogger("privatemail")

Path = Union[str, "os.PathLike[str]"]
Rows = Union[ArrayLike, "os.PathLike[str]"]  #: an array, or the path of a .npy file


def rows_of(name: str, value: ArrayLike) -> NDArray[np.float32]:
    """Rows of features as the command reads them, or FeaturesError."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise FeaturesError(f"{name}: features are numbers, not {array.dtype}", Status.FEATURES)
    if array.ndim != 2 or 0 in array.shape:
        raise FeaturesError(f"{name}: rows of features have two dimensions, not the shape {array.shape}",
                            Status.DIMENSION)
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(array, dtype="<f4")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size > 0:
        raise FeaturesError(f"{name}: row {bad[0]} has a feature that is not finite", Status.FEATURES)
    return rows


def labels_of(name: str, value: ArrayLike) -> NDArray[np.int32]:
    """Classes of rows as the command reads them, or FeaturesError."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise FeaturesError(f"{name}: labels are one row of integers, not {array.dtype} of the shape {array.shape}",
                            Status.LABEL)
    if array.size > 0 and not (-(1 << 31) <= int(array.min()) and int(array.max()) < 1 << 31):
        raise FeaturesError(f"{name}: labels have 32 bits", Status.LABEL)
    return np.ascontiguousarray(array, dtype="<i4")


class Workplace:
    """A temporary folder, and what the command finds in it."""

    def __init__(self, folder: str) -> None:
        self._folder = pathlib.Path(folder)

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def rows(self, name: str, value: "Rows | None") -> "str | None":
        """The file of rows of features."""
        if value is None or isinstance(value, os.PathLike):
            return None if value is None else os.fspath(value)
        np.save(self.path(name + ".npy"), rows_of(name, value))
        return self.path(name + ".npy")

    def labels(self, name: str, value: "Rows | None") -> "str | None":
        """The file of labels."""
        if value is None or isinstance(value, os.PathLike):
            return None if value is None else os.fspath(value)
        np.save(self.path(name + ".npy"), labels_of(name, value))
        return self.path(name + ".npy")

    def numbers(self, name: str, value: "ArrayLike | None") -> "str | None":
        """The file of numbers of items, one per line."""
        if value is None:
            return None
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise FeaturesError(f"{name}: numbers of items are one row of integers", Status.ARGUMENT)
        pathlib.Path(self.path(name)).write_text("".join(f"{number}\n" for number in numbers.tolist()))
        return self.path(name)

    def payloads(self, value: "Mapping[int, bytes] | os.PathLike[str] | None") -> "str | None":
        """The folder of payloads, one file per item."""
        if value is None or isinstance(value, os.PathLike):
            return None if value is None else os.fspath(value)
        folder = self._folder / "payloads"
        folder.mkdir()
        for number, payload in value.items():
            (folder / f"{int(number)}.bin").write_bytes(payload)
        return str(folder)

    def bytes(self, name: str, value: bytes) -> str:
        pathlib.Path(self.path(name)).write_bytes(value)
        return self.path(name)

    def pack(self, value: "Pack | Path") -> str:
        return self.bytes("pack.pmpk", value.data) if isinstance(value, Pack) else os.fspath(value)


@contextlib.contextmanager
def workplace() -> Iterator[Workplace]:
    with tempfile.TemporaryDirectory(prefix="privatemail-") as folder:
        yield Workplace(folder)


def store_uri(store: Path) -> str:
    """A path is a folder; text says its kind itself: "dir:FOLDER", "sqlite:FILE", "postgres:URI"."""
    return store if isinstance(store, str) else "dir:" + os.fspath(store)


def _arguments(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield option
        elif isinstance(value, Mapping):
            yield from (f"{option}={key}={_text(of)}" for key, of in value.items())
        elif isinstance(value, (list, tuple, np.ndarray)):
            yield f"{option}={','.join(map(_text, value))}"
        else:
            yield f"{option}={_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def run(name: str, *arguments: str, accept: Sequence[int] = (0,), **options: Any) -> "dict[str, Any]":
    """Runs a command of docs/CLI.md and returns its JSON.

    Options are keywords: `rows_per_prototype=2` is --rows-per-prototype 2. True gives a flag, a list its values with
    commas between them, a mapping {"image": path} the option image=path, once per key, and None or False nothing;
    `with_` is --with. What the command says on its way goes to the logger "privatemail".

    Raises the error of the exit code, with the command's sentence. MissingError names the Debian packages that a build
    without a library asks for.
    """
    command = [str(PROGRAM), name, *arguments, *_arguments({**options, "json": True})]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          env={**os.environ, "LC_ALL": "C"}, check=False)
    messages = done.stderr.strip()
    if done.returncode not in accept or (done.returncode != 0 and not done.stdout.strip()):
        raise _error(name, done.returncode, messages)
    if messages:
        _log.info("%s", messages)
    result: "dict[str, Any]" = json.loads(done.stdout)
    return result


def _error(name: str, code: int, messages: str) -> Error:
    text = messages.replace(f"privatemail {name}: ", "") or f"privatemail {name} ended with {code}"
    if _MISSING.search(text):
        return MissingError(text)
    return CLASS_OF_EXIT.get(code, FaultError)(text)


def main() -> None:
    """The command itself, as `privatemail` of the environment."""
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
