# SPDX-License-Identifier: Apache-2.0
"""The Python classes make the bytes of the golden vectors, given their randomness. The vectors come from an independent
reference (tests/golden/reference.py)."""
import numpy as np
import pytest
from conftest import floats, golden

import privatemail

PACKS = golden("pack")
SKETCH_PACKS = golden("pack", "sketch_vectors.txt")
RICH = {"epsilon": 4000.0, "epsilon_gaussian": 256.0, "delta": 0.5, "floor": 4000.0}


@pytest.fixture(scope="module")
def packs():
    return [privatemail.Pack(bytes.fromhex(case[2]), model=case[4] or None) for case in PACKS]


def modality_of(pack, number):
    return pack.modalities[int(number)][0] if pack.modalities else None


class Replay:
    """The randomness of a vector. It is asked for once."""

    def __init__(self, text):
        self.bytes, self.calls = bytes.fromhex(text), 0

    def __call__(self, size):
        self.calls += 1
        assert size == len(self.bytes)
        return self.bytes


def test_packs_have_their_ids(packs):
    assert [pack.id for pack in packs] == [case[3] for case in PACKS]
    assert [pack.model for pack in packs] == [case[4] for case in PACKS]


@pytest.mark.parametrize("case", golden("release"), ids=lambda case: case[1])
def test_releases(packs, case):
    _, _, pack, mechanism, epsilon, delta, value_bytes, entropy, features, label, wanted, rows, modality = case
    pack, replay = packs[int(pack)], Replay(entropy)
    with privatemail.Client(pack, epsilon=float(epsilon), delta=float(delta), value_bytes=int(value_bytes),
                            mechanism={"1": "response", "2": "gaussian"}[mechanism],
                            budget=privatemail.Budget(**RICH), _entropy=replay) as client:
        client.arm()
        release = client.release(floats(features), label=int(label), modality=modality_of(pack, modality))
    assert release.hex() == wanted
    assert replay.calls == 1
    if rows:
        assert pack.rows(release).ravel().tobytes() == floats(rows).tobytes()


@pytest.mark.parametrize("case", golden("bundle"), ids=lambda case: case[1])
def test_bundles(packs, case):
    (_, _, pack, kind, epsilon, clusters, copies, own, cover, entropy, features, label, kept, wanted, places,
     modality) = case
    pack = packs[int(pack)]
    policy = privatemail.CrowdPolicy(clients=1000, clusters=float(clusters), copies=int(copies), own=int(own),
                                     cover=cover == "1")
    with privatemail.Client(pack, epsilon=float(epsilon), crowd=policy, budget=privatemail.Budget(**RICH),
                            _entropy=Replay(entropy)) as client:
        client.arm_bundle({"1": "query", "2": "kept", "3": "idle"}[kind])
        bundle = client.bundle(floats(features) if features else None, label=int(label),
                               kept=bytes.fromhex(kept) if kept else None,
                               modality=modality_of(pack, modality) if features else None)
    assert b"".join(bundle.messages).hex() == wanted
    numbers = bytes.fromhex(places)
    assert len(bundle.messages) == len(numbers)
    assert [numbers[place] for place in bundle.own] == sorted(number for number in numbers if number > 0)


ANSWERS = [pytest.param(file, case, id=case[1]) for file in ("vectors.txt", "sketch_vectors.txt")
           for kind in ("answer", "crowd_answer") for case in golden(kind, file)]


@pytest.mark.parametrize("file, case", ANSWERS)
def test_answers(packs, file, case):
    kind, _, pack, answer, features, label, scope, limit, matches, modality = case
    pack = packs[int(pack)] if file == "vectors.txt" else privatemail.Pack(bytes.fromhex(SKETCH_PACKS[int(pack)][2]))
    answer = bytes.fromhex(answer)

    def rank():
        return pack.rank(floats(features), answer, label=int(label), scope=("own", "all")[int(scope)],
                         limit=int(limit), crowd=kind == "crowd_answer", modality=modality_of(pack, modality))

    if pack.info.sketch == 0:
        with pytest.raises(privatemail.PackError) as info:
            rank()
        assert info.value.status == privatemail.Status.SECTION
        return
    ranking = rank()
    wanted = [tuple(map(int, match.split(":"))) for match in matches.split(",") if match]
    assert ranking.items.tolist() == [match[0] for match in wanted]
    assert ranking.labels.tolist() == [match[1] for match in wanted]
    assert ranking.slots.tolist() == [match[2] for match in wanted]
    assert np.array_equal(ranking.scores, np.array([match[3] for match in wanted]) / 2**30)
    assert ranking.payloads == tuple(answer[offset:offset + size] for *_, offset, size in wanted)


@pytest.mark.parametrize("case", golden("budget"), ids=lambda case: case[1][:24])
def test_budgets(case):
    _, data, owner, *numbers = case
    left = privatemail.Budget.restore(bytes.fromhex(data), owner=bytes.fromhex(owner)).left
    units = (20, 20, 40, 40, 64, 20, 20, 40, 40, 64, 64, 64)
    keys = ("epsilon_cap", "epsilon_spent", "mu2_cap", "mu2_spent", "delta", "floor_cap", "floor_spent",
            "crowd_mu2_cap", "crowd_mu2_spent", "crowd_delta", "crowd_delta0_cap", "crowd_delta0_spent")
    assert {key: getattr(left, key) for key in keys} == {key: int(number) / 2**unit for key, number, unit
                                                         in zip(keys, numbers, units)}
