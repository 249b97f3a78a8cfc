# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the golden vectors, and one small pack with its gallery."""
import pathlib

import numpy as np
import pytest

import privatemail

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"


def golden(kind, file="vectors.txt"):
    """The cases of one kind, as lists of fields; "-" is an empty one."""
    lines = (GOLDEN / file).read_text(encoding="utf-8").splitlines()
    cases = [["" if field == "-" else field for field in line.split("\t")] for line in lines
             if line.startswith(kind + "\t")]
    assert cases, kind
    return cases


def floats(text):
    """binary32 patterns, the most significant digit first."""
    return np.frombuffer(bytes.fromhex(text), dtype=">u4").astype("<u4").view("<f4")


@pytest.fixture(scope="session")
def shapes():
    return privatemail.sample(classes=6, per_class=60)


@pytest.fixture(scope="session")
def pack(shapes):
    return privatemail.build_pack(shapes.public, epsilon=8, share=0.1)


@pytest.fixture(scope="session")
def store(shapes, pack, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / "gallery"
    privatemail.index(pack, shapes.gallery, folder, share=0.1,
                      payloads={number: b"payload of %d" % number for number in range(len(shapes.gallery))})
    return folder
