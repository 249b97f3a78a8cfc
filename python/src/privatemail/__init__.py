# SPDX-License-Identifier: Apache-2.0
"""Search a remote collection without revealing what you look for.

    pack = privatemail.build_pack(public)                      # operator: public rows → pack
    privatemail.index(pack, gallery, pathlib.Path("store"))    # operator: gallery → store

    budget = privatemail.Budget(epsilon=20)                    # device
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        client.arm()                                           # pays, and draws the noise
        release = client.release(features)                     # the one message that leaves the device
    answer = privatemail.find(pack, store, release).answer     # server
    ranking = pack.rank(features, answer)                      # device: the nearest of the answer

python/README.md explains it, docs/PRIVACY.md proves what it promises.
"""
from importlib.metadata import version as _version

from ._command import run
from .budget import Budget, BudgetLeft, FileBudget
from .client import Bundle, Client, CrowdPolicy, Receipt
from .errors import (ArgumentError, BudgetError, EntropyError, Error, FaultError, FeaturesError, InputError,
                     MessageError, MissingError, NetworkError, OutputError, PackError, PersistError, PrivacyError,
                     SpentError, StateError, Status)
from .gallery import Found, Gallery, Sample, build_pack, change_index, find, index, sample
from .lab import Advice, Audit, CrowdPlan, Evaluation, EvaluationRow, advise, audit, evaluate, plan_crowd
from .pack import Pack, PackInfo, Ranking, epsilon_for, recall_ceiling

__version__ = _version("privatemail")

__all__ = [
    "Advice", "ArgumentError", "Audit", "Budget", "BudgetError", "BudgetLeft", "Bundle", "Client", "CrowdPlan",
    "CrowdPolicy", "EntropyError", "Error", "Evaluation", "EvaluationRow", "FaultError", "FeaturesError", "FileBudget",
    "Found", "Gallery", "InputError", "MessageError", "MissingError", "NetworkError", "OutputError", "Pack",
    "PackError", "PackInfo", "PersistError", "PrivacyError", "Ranking", "Receipt", "Sample", "SpentError", "StateError",
    "Status", "__version__", "advise", "audit", "build_pack", "change_index", "epsilon_for", "evaluate", "find",
    "index", "plan_crowd", "recall_ceiling", "run", "sample",
]
