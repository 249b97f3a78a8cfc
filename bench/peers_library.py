# SPDX-License-Identifier: Apache-2.0
"""Our side of bench/peers.py: the stages, through the shared object that bench/peers_library.c becomes."""
import ctypes
import os
import shutil
import tempfile

import numpy as np

from utility_data import ROOT, stop

RESPONSE, GAUSSIAN = 1, 2


def floats(values):
    return np.ascontiguousarray(values, np.float32)


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


class Library:
    """The shared object. Compared is AVX2, which other libraries are measured with too; elsewhere the best there is."""

    def __init__(self, path=os.path.join(ROOT, "build", "release", "bench", "bench_peers.so"), own="avx2"):
        if not os.path.exists(path):
            stop(f"there is no {path}: build the release preset (cmake --preset release && cmake --build --preset release)")
        self.path, self.c = path, ctypes.CDLL(path)
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        for name, result, arguments in (
                ("peer_best_kernel", ctypes.c_char_p, []), ("peer_limit", ctypes.c_int, [ctypes.c_char_p]),
                ("peer_open", pointer, [pointer, size, size, ctypes.c_int, ctypes.c_uint, size, ctypes.c_uint,
                                       ctypes.c_char_p]),
                ("peer_close", None, [pointer]), ("peer_scan", None, [pointer, pointer, size, pointer]),
                ("peer_rows", None, [pointer, pointer, pointer]), ("peer_graph", None, [pointer, pointer]),
                ("peer_release", size, [pointer, pointer, size]), ("peer_deviates", None, [ctypes.c_uint32, pointer, size])):
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

        self.best = self.c.peer_best_kernel().decode()
        self.own = own if self.c.peer_limit(own.encode()) == 0 else self.best

    def another(self, kernel):
        """A second one whose pack builder takes this kernel: it asks for it once in a process, so from a copied file."""
        with tempfile.NamedTemporaryFile(suffix=".so") as copy:
            shutil.copyfile(self.path, copy.name)
            return Library(copy.name, kernel)

    def deviates(self, shift, count):
        out = np.empty(count, np.int32)
        self.c.peer_deviates(shift, address(out), count)
        return out


class Rows:
    """Rows in a pack: anchors of one slot, or prototypes of `slots` slots of `cells` cells."""

    def __init__(self, library, rows, kernel, mechanism=GAUSSIAN, neighbours=10, slots=1, cells=8):
        self.c, self.neighbours = library.c, neighbours
        rows = floats(rows)
        self.count, self.columns = rows.shape
        self.handle = self.c.peer_open(address(rows), *rows.shape, mechanism, neighbours, slots, cells, kernel.encode())

    def close(self):
        self.c.peer_close(self.handle)

    def scan(self, queries):
        out = np.empty((len(queries), self.neighbours), np.uint32)
        self.c.peer_scan(self.handle, address(queries), len(queries), address(out))
        return out

    def graph(self):
        out = np.empty((self.count, self.neighbours), np.uint32)
        self.c.peer_graph(self.handle, address(out))
        return out

    def release(self, query, repeats):
        """Makes whole releases of one query; returns the length of one."""
        return self.c.peer_release(self.handle, address(query), repeats)

    def quantised(self):
        values, inverse = np.empty((self.count, self.columns), np.int8), np.empty(self.count, np.uint32)
        self.c.peer_rows(self.handle, address(values), address(inverse))
        return values, inverse


def quantise(rows):
    """SPEC 5.1 in numpy, exactly: floats are integers times powers of two, and so are the products here."""
    rows = np.asarray(rows, np.float64)
    return (np.floor(np.abs(rows) * 127 / np.abs(rows).max(1, keepdims=True) + 0.5) * np.sign(rows)).astype(np.int64)


def reference_neighbours(values, inverse, queries, neighbours):
    """The int8 definition of nearest (SPEC 5.3) in numpy: largest dot product times inverse norm, then smallest index."""
    scores = (quantise(queries) @ values.T.astype(np.int64)) * inverse.astype(np.int64)
    return np.argsort(-scores, axis=1, kind="stable")[:, :neighbours]


def shared(left, right):
    """Share of the neighbours that two methods have in common, row by row."""
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(left.tolist(), right.tolist())]))
