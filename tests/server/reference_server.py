"""Reference for what a server computes (SPEC 6), from the specification alone: numpy, doubles, no cleverness.

`answer` gives the bytes of the answer to one release. `Gallery` keeps what does not depend on the release.
"""
import os
import struct
import sys

import cbor2
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from reference import (RESPONSE, decode_rows, floor_weight, inverse_norm, quantise, read_release,  # noqa: E402
                       unpack_symbols, write_answer)
from reference_codes import coded_rows, coded_scores, read_code  # noqa: E402
from reference_lists import write_answer_2  # noqa: E402

NEGLIGIBLE = 2.0 ** -40
ROWS_AT_ONCE = 256


class ServerPack:
    """A pack read from its bytes (SPEC 1): arrays where the sections are, None where they are not."""

    def __init__(self, data):
        fields = struct.unpack_from("<QIIHHHHIIIHHII", data, 40)
        (size, self.d, self.n, self.K, self.k, self.G, self.kind, self.m, self.C, self.bandwidth, self.alpha, self.L,
         present, self.M) = fields
        assert data[:4] == b"PMPK" and size == len(data)
        self.id, at = data[8:24], 88

        def section(bit, kind, *shape):
            nonlocal at
            if not present >> bit & 1:
                return None
            start = at + -at % 16
            at = start + int(np.prod(shape)) * np.dtype(kind).itemsize
            return np.frombuffer(data[start:at], kind).reshape(shape).astype(np.int64)

        classes = section(0, "<i4", self.C, 2)
        self.slots = {} if classes is None else {int(label): int(slot) & 0xFFFF for label, slot in classes}
        self.prototypes = section(1, "i1", self.G, self.M, self.d)
        self.prototype_norms = section(2, "<u4", self.G, self.M)
        self.anchors = section(3, "i1", self.n, self.d)
        self.anchor_norms = section(4, "<u4", self.n)
        self.starts = section(5, "<u4", self.G + 1)
        self.anchor_codes = section(6, "<i2", self.n, self.k)
        self.slot_codes = section(7, "<i2", self.G, self.k)
        codes = section(8, "<i2", self.G * self.m, self.k)
        self.cell_codes = [] if codes is None else codes.tolist()      # as decode_rows wants them
        section(9, "<u4", self.n, self.K)
        self.prototype_cells = section(10, "<u2", self.G, self.M)
        self.sketch = section(11, "i1", self.L, self.d)
        section(12, "u1", 65)
        self.fronts, bodies = section(13, "u1", 8, 64), 0
        if self.fronts is not None:
            for record in self.fronts.astype("u1"):
                kind, _, inputs, p = struct.unpack_from("<HHII", record.tobytes())
                bodies += {3: self.d * (12 + inputs), 4: 8 * self.d + p * (12 + inputs + self.d)}.get(kind, 0)
            section(14, "u1", bodies)
        head = section(15, "<u4", 4)
        if head is not None:
            section(16, "u1", int(head[0]) * (16 + self.d))
        code, self.code = section(17, "u1", 272), None
        if code is not None:
            P = 8 * int(np.frombuffer(code[:14].astype("u1").tobytes(), "<u2").sum())
            self.code = read_code(code, section(18, "i1", P, self.d), section(19, "<u4", P), section(20, "<i2", 2, P))
            assert self.code.L == self.L
        assert at == size
        if self.anchors is not None:
            self.anchor_slots = np.repeat(np.arange(self.G), np.diff(self.starts))

    def slot_of(self, label):
        return self.slots[int(label)] if self.kind else 0


class DevicePack(ServerPack):
    """The same with prototypes in lists, as the device's reference (tests/golden) has them."""

    def __init__(self, data):
        super().__init__(data)
        self.prototypes = self.prototypes.reshape(-1, self.d).tolist()
        self.prototype_norms = self.prototype_norms.ravel().tolist()
        self.cells = self.prototype_cells.ravel().tolist()


# Features (5.1 to 5.3, 5.13) ---------------------------------------------------------------------------------

def quantise_rows(features):
    """SPEC 5.1 of float32 rows. The first guess may be wrong at a half; 24 bit times 9 bit is exact in a double."""
    size = np.abs(features.astype(np.float64))
    largest = size.max(axis=1, keepdims=True)
    guess = np.floor(127 * (size / largest) + 0.5)
    guess -= (2 * guess - 1) * largest > 254 * size
    guess += (2 * guess + 1) * largest <= 254 * size
    rows = (np.sign(features) * guess).astype(np.int64)
    for index in range(min(3, len(rows))):
        bits = features[index].astype("<f4").view("<u4").tolist()
        assert rows[index].tolist() == quantise(bits)
    return rows


def sketch_rows(pack, rows):
    """int8 numbers, or bytes when sketches are coded."""
    if pack.code:
        return coded_rows(pack.code, rows)
    z = rows @ pack.sketch.T
    largest = np.maximum(np.abs(z).max(axis=1, keepdims=True), 1)
    return np.sign(z) * ((254 * np.abs(z) + largest) // (2 * largest))


def sketch_scores(pack, queries, sketches):
    """Of every query's row and every item's sketch."""
    if pack.code:
        return coded_scores(pack.code, queries, sketches)
    own, other = sketch_rows(pack, queries).astype(object), sketches.astype(object)
    norms = [np.array([inverse_norm(row.tolist()) for row in rows], object) for rows in (own, other)]
    return own @ other.T * norms[1] * norms[0][:, None] >> 30


def scores_of(queries, rows, norms):
    """Exact: a dot product is below 2^26, a score below 2^43."""
    return (queries.astype(np.float64) @ rows.T.astype(np.float64)).astype(np.int64) * norms


def first_ranked(scores, count):
    """Larger score first, ties by smaller index."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]


# Lists of a share (6.5) --------------------------------------------------------------------------------------

COMMON = 232792560      # a multiple of 4 … 20: votes times this are whole numbers


def ranked_by(scores, ids):
    """Larger score first, ties by smaller item number."""
    return sorted(range(len(ids)), key=lambda row: (-int(scores[row]), int(ids[row])))


def divided_vote(scores, inverse):
    """The first 8 cells of one item by score (None: a cell without prototypes), and what of 2^12 each gets."""
    cells = sorted((cell for cell, score in enumerate(scores) if score is not None),
                   key=lambda cell: (-scores[cell], cell))[:8]
    distances = [((1 << 60) - scores[cell] * inverse >> 30) + 1 for cell in cells]
    weights = []
    for distance in distances:
        weight = (distances[0] << 16) // distance
        for _ in range(3):
            weight = weight * weight >> 16
        weights.append(weight)
    return [(cell, (weight << 12) // sum(weights)) for cell, weight in zip(cells, weights)]


def scores_of_cells(rows, prototypes, norms, prototype_cells, cells):
    """Of every row its score with each cell; None: the cell has no prototypes."""
    of_prototypes = scores_of(rows, prototypes, norms)
    scores = [[None] * cells for _ in range(len(rows))]
    for cell in range(cells):
        own = np.flatnonzero(prototype_cells == cell)
        for row in range(len(rows) if len(own) else 0):
            scores[row][cell] = int(of_prototypes[row, own].max())
    return scores


def length_of_lists(millionths, items, slots):
    """What index --share chooses."""
    return max(1, (2 * items * millionths + slots * 1000000) // (2 * slots * 1000000))


def lists_of(rows, ids, prototypes, norms, prototype_cells, cells, wanted, voters=()):
    """Of every cell of one slot the rows that it lists. `voters`: public rows that vote in this slot."""
    count = len(rows)
    wanted = min(wanted, count)
    inverses = np.array([inverse_norm(row.tolist()) for row in rows], dtype=np.int64)
    scores = scores_of_cells(rows, prototypes, norms, prototype_cells, cells)
    votes = [[0] * count for _ in range(cells)]
    between = scores_of(rows, rows, inverses)
    for row in range(count):
        near = [row] + [other for other in ranked_by(between[row], ids) if other != row][:16]
        for cell, part in divided_vote(scores[row], int(inverses[row])):
            for r, other in enumerate(near):
                votes[cell][other] += part * COMMON // (r + 4)
    if len(voters) and count:
        of_cells = scores_of_cells(voters, prototypes, norms, prototype_cells, cells)
        between = scores_of(voters, rows, inverses)
        for guest, row in enumerate(voters):
            for cell, part in divided_vote(of_cells[guest], inverse_norm(row.tolist())):
                for r, item in enumerate(ranked_by(between[guest], ids)[:16], 1):
                    votes[cell][item] += part * COMMON // (r + 3)
    listed = []
    for cell in range(cells):
        order = ranked_by([(scores[row][cell] or 0) * int(inverses[row]) for row in range(count)], ids)
        for r, row in enumerate(order[:wanted]):
            votes[cell][row] += (COMMON // (r + 4)) << 14
        listed.append(sorted(order, key=lambda row: -votes[cell][row])[:wanted])     # ties stay in this order
    return listed


# One step (6.1) ----------------------------------------------------------------------------------------------

class Graph:
    """Neighbours and label neighbours of some rows, with their weights. `own` gives the anchor each row is, or None."""

    def __init__(self, pack, slots, neighbours, weights, own=None):
        self.pack, self.neighbours, self.weights = pack, neighbours, weights
        self.degrees = weights.sum(axis=1, keepdims=True)
        self.labels = np.zeros((len(slots), 0), np.int64)
        if pack.alpha:
            orders = [np.argsort(np.abs(pack.anchor_slots - s), kind="stable") for s in range(pack.G)]
            self.labels = np.array([
                orders[s][:pack.K] if own is None else [j for j in orders[s][:pack.K + 1] if j != own[i]][:pack.K]
                for i, s in enumerate(slots)], dtype=np.int64).reshape(len(slots), -1)
        gaps = pack.anchor_slots[self.labels] - np.asarray(slots)[:, None]
        self.label_weights = np.exp(-(pack.bandwidth / 65536) * gaps ** 2 / 2)

    def step(self, rows, anchors):
        if self.neighbours.shape[1] == 0:
            return rows
        mean = (self.weights[:, :, None] * anchors[self.neighbours]).sum(axis=1) / self.degrees
        u = (self.label_weights[:, :, None] * (rows[:, None, :] - anchors[self.labels])).sum(axis=1)
        return rows / 2 + mean / 2 + self.pack.alpha / 256 / 2 * u / self.degrees


# Frames (6.2 to 6.4) -----------------------------------------------------------------------------------------

def feature_graph(pack, queries, slots, own=None):
    count = pack.K if own is None else min(pack.K, pack.n - 1)
    neighbours, weights = np.zeros((len(queries), count), np.int64), np.zeros((len(queries), count))
    least = floor_weight(pack) / 65536
    for first in range(0, len(queries), ROWS_AT_ONCE):
        part = slice(first, min(first + ROWS_AT_ONCE, len(queries)))
        scores = scores_of(queries[part], pack.anchors, pack.anchor_norms)
        if own is not None:
            scores[np.arange(len(scores)), own[part]] = -(1 << 62)
        nearest = first_ranked(scores, count)
        norms = np.array([inverse_norm(row.tolist()) for row in queries[part]])[:, None]
        cosines = np.take_along_axis(scores, nearest, axis=1) * norms
        exact = np.exp(-(pack.bandwidth / 65536) * (((1 << 60) - cosines) / 2.0 ** 60))
        neighbours[part], weights[part] = nearest, np.clip(exact, least, 1)
    return Graph(pack, slots, neighbours, weights, own)


def nearest_points(points, anchors, count, own=None):
    """The nearest anchors of each point and their squared distances; ties by smaller index."""
    neighbours, squares = np.zeros((len(points), count), np.int64), np.zeros((len(points), count))
    for i, point in enumerate(points):
        distances = ((point - anchors) ** 2).sum(axis=1)
        if own is not None:
            distances[own[i]] = np.inf
        neighbours[i] = np.argsort(distances, kind="stable")[:count]
        squares[i] = distances[neighbours[i]]
    return neighbours, squares


def median_bandwidth(squares):
    """sigma' of 6.3, from the squared distances of the anchors to their neighbours."""
    last = np.sqrt(squares[:, -1:]).ravel()
    if not last.any():
        return 1.0
    middle = np.median(last)
    return middle if middle > 0 else last[last > 0].min()


def align(source, target):
    """The scale, rotation and shift of 6.4."""
    from_mean, to_mean = source.mean(axis=0), target.mean(axis=0)
    a, b = source - from_mean, target - to_mean
    flat = [np.abs(centred).max() <= NEGLIGIBLE * np.abs(points).max()
            for centred, points in ((a, source), (b, target))]
    scale, rotation = 1.0, np.eye(source.shape[1])
    if not any(flat):
        u, s, vt = np.linalg.svd(b.T @ a)
        rank = (s > NEGLIGIBLE * s[0]).sum()
        free_u, free_v = u[:, rank:], vt[rank:].T
        p, _, qt = np.linalg.svd(free_u.T @ free_v)
        rotation = u[:, :rank] @ vt[:rank] + free_u @ p @ qt @ free_v.T
        scale = s.sum() / (a ** 2).sum()
    return scale, rotation, to_mean - scale * rotation @ from_mean


class Frames:
    def __init__(self, pack, iterations):
        self.pack, own = pack, np.arange(pack.n)
        self.least = floor_weight(pack) / 65536
        graph = feature_graph(pack, pack.anchors, pack.anchor_slots, own)
        self.server = [pack.anchor_codes.astype(np.float64)]
        for _ in range(iterations + 1):
            self.server.append(graph.step(self.server[-1], self.server[-1]))
        start = self.server[1]
        neighbours, squares = nearest_points(start, start, min(pack.K, pack.n - 1), own)
        self.bandwidth = median_bandwidth(squares)
        graph = Graph(pack, pack.anchor_slots, neighbours, self.weigh(squares), own)
        self.client = [start]
        for _ in range(iterations):
            self.client.append(graph.step(self.client[-1], self.client[-1]))
        self.similarity = align(self.client[-1], self.server[-1])

    def weigh(self, squares):
        return np.maximum(np.exp(-squares / (2 * self.bandwidth ** 2)), self.least)

    def items(self, rows, slots):
        graph, places = feature_graph(self.pack, rows, slots), self.pack.slot_codes[slots].astype(np.float64)
        for anchors in self.server[:-1]:
            places = graph.step(places, anchors)
        return places.astype(np.float32)

    def place(self, rows):
        neighbours, squares = nearest_points(rows, self.client[0], self.pack.K)
        graph = Graph(self.pack, range(self.pack.G), neighbours, self.weigh(squares))
        for anchors in self.client[:-1]:
            rows = graph.step(rows, anchors)
        scale, rotation, shift = self.similarity
        return scale * rows @ rotation.T + shift


# Answers (6.5) -----------------------------------------------------------------------------------------------

def write_slots(pack, gallery, slots, only=None):
    """The answer, of the version that the pack's sketches have, with these candidates in its slots."""
    return (write_answer_2 if pack.code else write_answer)(pack, gallery, slots, only)[0]


class Gallery:
    """ids, payloads: one per row; ids None: the row's number; payloads None: empty. length: items per list; millionths: of a
    share, which chooses it; 0: own cells.
    front: that maps the features (reference_fronts). voters: public rows that vote, already mapped; voter_labels: their
    classes, None: each votes in every slot."""

    def __init__(self, pack_bytes, features, labels, ids=None, payloads=None, cells_per_item=1, iterations=0,
                 millionths=0, front=None, voters=None, voter_labels=None, length=0):
        self.pack = pack = ServerPack(pack_bytes)
        rows = front.rows(features) if front else quantise_rows(features)
        self.voters, self.voter_slots = np.zeros((0, pack.d), np.int64) if voters is None else voters, None
        if voter_labels is not None:
            self.voter_slots = np.array([pack.slots.get(int(label), -1) if pack.kind else 0 for label in voter_labels])
        self.labels, self.sketches = labels, sketch_rows(pack, rows)
        self.ids = np.arange(len(rows)) if ids is None else np.asarray(ids)
        self.payloads = [b""] * len(rows) if payloads is None else payloads
        self.slots = np.array([pack.slot_of(label) for label in labels])
        self.cells, self.length = np.zeros((len(rows), 0), np.int64), 0
        if pack.prototypes is not None:
            self.length = length_of_lists(millionths, len(rows), pack.G) if millionths else length
            if self.length:
                self._fill_lists(rows)
            else:
                self.cells = np.array([self._first_cells(row, slot, cells_per_item)
                                       for row, slot in zip(rows, self.slots)])
        if pack.anchors is not None:
            self.frames = Frames(pack, iterations)
            self.places = self.frames.items(rows, self.slots)

    def _first_cells(self, row, slot, count):
        """The cells of the first-ranked prototype, and of the first-ranked one in another cell."""
        pack = self.pack
        order = first_ranked(scores_of(row[None], pack.prototypes[slot], pack.prototype_norms[slot]), pack.M)[0]
        return list(dict.fromkeys(pack.prototype_cells[slot][order].tolist()))[:count]

    def _fill_lists(self, rows):
        pack = self.pack
        self.cells = np.full((len(rows), pack.m), -1)       # an item may be in every cell
        for slot in range(pack.G):
            members = np.flatnonzero(self.slots == slot)
            voters = self.voters if self.voter_slots is None else self.voters[self.voter_slots == slot]
            for cell, listed in enumerate(lists_of(
                    rows[members], self.ids[members], pack.prototypes[slot], pack.prototype_norms[slot],
                    pack.prototype_cells[slot], pack.m, self.length, voters)):
                self.cells[members[listed], cell] = cell

    def listed(self, slot, symbol):
        return np.flatnonzero((self.slots == slot) & (self.cells == symbol).any(axis=1))

    def _nearest(self, slot, place, count):
        members = np.flatnonzero(self.slots == slot)
        squares = ((self.places[members].astype(np.float64) - place) ** 2).sum(axis=1)
        return members[np.lexsort((self.ids[members], squares))[:count]]

    def chosen(self, release, nearest=32):
        """Per slot the rows of the gallery that answer this release, in order."""
        pack, fields = self.pack, read_release(release)
        if fields[2] == RESPONSE:
            symbols = unpack_symbols(fields[4], pack.m, pack.G)
            found = [self.listed(slot, symbol) for slot, symbol in enumerate(symbols)]
            return [rows[np.argsort(self.ids[rows])] for rows in found]
        released = np.array([float(value) for value in decode_rows(pack, release)])
        places = self.frames.place(released.astype(np.float32).astype(np.float64).reshape(pack.G, pack.k))
        return [self._nearest(slot, place, nearest) for slot, place in enumerate(places)]

    def candidates(self, rows):
        """As an answer has them: of version 2 in the order of their numbers."""
        if self.pack.code:
            rows = sorted(rows, key=lambda row: self.ids[row])
        return [(int(self.ids[row]), int(self.labels[row]), self.sketches[row].tolist(), self.payloads[row]) for row in rows]

    def write(self, slots, only=None):
        """The answer with these rows in its slots. only: the one slot of a crowd's answer."""
        return write_slots(self.pack, len(self.labels), [self.candidates(rows) for rows in slots], only)

    def part(self, slot, cell):
        """The list of a cell, as an answer has it."""
        return self._list(slot, self.listed(slot, cell))

    def page(self, slot, items):
        """The list of these items of a slot."""
        return self._list(slot, np.flatnonzero(np.isin(self.ids, items)))

    def _list(self, slot, rows):
        rows = rows[np.argsort(self.ids[rows])]
        alone = [rows if each == slot else [] for each in range(self.pack.G)]
        header = cbor2.dumps([2 if self.pack.code else 1, self.pack.id, 1, self.pack.L, len(self.labels)])
        return self.write(alone, slot)[len(header):]

    def answer(self, release, nearest=32):
        return self.write(self.chosen(release, nearest))


def answer(pack_bytes, features, labels, ids, payloads, cells_per_item, iterations, nearest, release_bytes):
    gallery = Gallery(pack_bytes, features, labels, ids, payloads, cells_per_item, iterations)
    return gallery.answer(release_bytes, nearest)
