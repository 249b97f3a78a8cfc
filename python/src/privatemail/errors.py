# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. Every error of this package is an `Error`, and its text is the sentence of the C library or of
the command `privatemail`."""
from __future__ import annotations

import enum
from typing import Optional


class Status(enum.IntEnum):
    """The statuses of core/include/privatemail.h, by the same names and numbers."""

    OK = 0
    ARGUMENT = -1
    MEMORY = -2
    BUFFER = -3
    STATE = -4
    EPSILON = -5
    DELTA = -6
    MECHANISM = -7
    DIMENSION = -8
    FEATURES = -9
    LABEL = -10
    PACK = -11
    PACK_VERSION = -12
    PACK_SIZE = -13
    PACK_HASH = -14
    PACK_ID = -15
    SECTION = -16
    SENSITIVITY = -17
    ENTROPY = -18
    PERSIST = -19
    BUDGET = -20
    SPENT = -21
    RELEASE = -22
    ANSWER = -23
    PACK_MODEL = -24
    CROWD = -25
    KEYS = -26
    SEALED = -27
    MODALITY = -28
    FRONT = -29


class Error(Exception):
    """The base of all errors of this package. `status` is that of the C library, or None when the error is not its."""

    def __init__(self, message: str, status: Optional[Status] = None) -> None:
        super().__init__(message)
        self.status = status


class ArgumentError(Error, ValueError):
    """An argument is out of range, or an option of a command is."""


class StateError(Error):
    """The order of calls is wrong, the client is closed, or it was armed in another process."""


class PrivacyError(Error, ValueError):
    """Parameters, policy or pack cannot give the promise that was asked for."""


class FeaturesError(Error, ValueError):
    """Features, a label or a modality are not what the pack takes: not finite, all zero, wrong shape or type."""


class PackError(Error):
    """A pack is damaged, of another version or model, or lacks what the call needs."""


class BudgetError(Error):
    """The budget is damaged, belongs to somebody else, or is in use."""


class SpentError(BudgetError):
    """The budget is spent. Nothing was charged."""


class PersistError(BudgetError):
    """The budget could not be stored. Nothing was charged. The reason is the error's `__cause__`."""


class EntropyError(Error):
    """The system has no randomness to give. Nothing was charged."""


class MessageError(Error):
    """A release or an answer is not valid, or belongs to another pack."""


class InputError(Error):
    """A file, a store or an array cannot be read, or is not what it should be."""


class OutputError(Error):
    """A file or a store cannot be written, or exists already."""


class FaultError(Error):
    """The machine fails: out of memory, or the command ended in a way that it should not."""


class NetworkError(Error):
    """A server cannot be reached or refuses."""


class MissingError(Error):
    """The package was built without a library that this needs. The text names the Debian package to install."""


_S = Status
_CLASSES: "dict[type[Error], list[Status]]" = {
    ArgumentError: [_S.ARGUMENT, _S.MEMORY, _S.BUFFER],
    StateError: [_S.STATE],
    PrivacyError: [_S.EPSILON, _S.DELTA, _S.MECHANISM, _S.SENSITIVITY, _S.CROWD],
    FeaturesError: [_S.DIMENSION, _S.FEATURES, _S.LABEL, _S.MODALITY],
    PackError: [_S.PACK, _S.PACK_VERSION, _S.PACK_SIZE, _S.PACK_HASH, _S.PACK_MODEL, _S.SECTION, _S.FRONT],
    BudgetError: [_S.BUDGET],
    SpentError: [_S.SPENT],
    PersistError: [_S.PERSIST],
    EntropyError: [_S.ENTROPY],
    MessageError: [_S.RELEASE, _S.ANSWER, _S.PACK_ID, _S.KEYS, _S.SEALED],
}
CLASS_OF_STATUS = {status: kind for kind, statuses in _CLASSES.items() for status in statuses}

# The exit codes of the command (docs/CLI.md).
CLASS_OF_EXIT = {2: ArgumentError, 3: InputError, 4: OutputError, 5: BudgetError, 6: PrivacyError, 7: FaultError,
                 8: NetworkError}
