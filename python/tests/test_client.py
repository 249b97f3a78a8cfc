# SPDX-License-Identifier: Apache-2.0
"""The client in Python: states, budgets, bad input, threads and processes."""
import copy
import gc
import os
import pickle
import threading

import numpy as np
import pytest

import privatemail


@pytest.fixture
def client(pack):
    with privatemail.Client(pack, epsilon=4, budget=privatemail.Budget(epsilon=8)) as client:
        yield client


def status_of(info):
    return info.value.status


# ---- one arm, one release


def test_a_release_has_the_length_of_the_receipt_and_is_private(client, shapes):
    client.arm()
    release = client.release(shapes.queries[0])
    assert len(release) == client.receipt.bytes
    assert client.receipt.epsilon == 4 and 0 < client.receipt.keep < 1
    assert client.budget.left.epsilon_spent == 4


def test_releases_of_one_query_differ(pack, shapes):
    with privatemail.Client(pack, epsilon=1, budget=privatemail.Budget(epsilon=64)) as client:
        made = set()
        for _ in range(64):
            client.arm()
            made.add(client.release(shapes.queries[0]))
    assert len(made) > 1


def test_order_of_calls(client, shapes):
    with pytest.raises(privatemail.StateError) as info:
        client.release(shapes.queries[0])
    assert status_of(info) == privatemail.Status.STATE and "wrong order of calls" in str(info.value)
    client.arm()
    with pytest.raises(privatemail.StateError):
        client.arm()
    client.release(shapes.queries[0])
    with pytest.raises(privatemail.StateError):
        client.release(shapes.queries[0])
    assert client.budget.left.epsilon_spent == 4


def test_disarming_refunds_and_wiping_does_not(client):
    client.arm()
    client.disarm()
    assert client.budget.left.epsilon_spent == 0
    client.arm()
    client.wipe()
    assert client.budget.left.epsilon_spent == 4
    with pytest.raises(privatemail.StateError):
        client.disarm()


def test_a_closed_client_is_refused(client, shapes):
    client.arm()
    client.close()
    client.close()
    for call in (client.arm, client.disarm, client.wipe, lambda: client.release(shapes.queries[0])):
        with pytest.raises(privatemail.StateError, match="closed"):
            call()
    assert client.budget.left.epsilon_spent == 4


def test_a_client_cannot_be_copied(client):
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            way(client)
        with pytest.raises(TypeError):
            way(client.budget)


def test_a_client_is_freed_without_closing(pack):
    client = privatemail.Client(pack, epsilon=4, budget=privatemail.Budget(epsilon=8))
    finalizer = client._finalizer
    client.arm()
    del client
    gc.collect()
    assert not finalizer.alive


# ---- budget


def test_a_spent_budget_stops(client, shapes):
    for _ in range(2):
        client.arm()
        client.release(shapes.queries[0])
    with pytest.raises(privatemail.SpentError) as info:
        client.arm()
    assert status_of(info) == privatemail.Status.SPENT and "the budget is spent" in str(info.value)
    assert isinstance(info.value, privatemail.BudgetError) and isinstance(info.value, privatemail.Error)
    assert client.budget.left.epsilon_spent == 8


def test_what_cannot_be_stored_is_not_charged(pack):
    def store(data):
        stored.append(data)
        if len(stored) > 1:
            raise OSError("no disk")

    stored = []
    budget = privatemail.Budget(epsilon=8, store=store)
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        client.arm()
        client.wipe()
        with pytest.raises(privatemail.PersistError) as info:
            client.arm()
    assert isinstance(info.value.__cause__, OSError)
    assert stored[0] == budget.data and budget.left.epsilon_spent == 4
    assert privatemail.Budget.restore(stored[0]).left.epsilon_spent == 4


def test_a_store_that_calls_back_is_refused(pack):
    def store(_data):
        client.arm()

    budget = privatemail.Budget(epsilon=8, store=store)
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        with pytest.raises(privatemail.PersistError) as info:
            client.arm()
        assert isinstance(info.value.__cause__, privatemail.StateError)
    assert budget.left.epsilon_spent == 0


def test_a_damaged_budget_and_another_owner_are_refused():
    data = privatemail.Budget(epsilon=8, owner="me").data
    for bytes_, owner in ((data[:-1] + b"?", "me"), (data, "you"), (b"", "me")):
        with pytest.raises(privatemail.BudgetError):
            privatemail.Budget.restore(bytes_, owner=owner)


def test_a_budget_in_a_file(pack, shapes, tmp_path):
    path = tmp_path / "me.budget"
    with pytest.raises(privatemail.BudgetError, match="does not exist"):
        privatemail.FileBudget(path)
    with privatemail.FileBudget(path, epsilon=12) as budget:
        with privatemail.Client(pack, epsilon=4, budget=budget) as client:
            client.arm()
            assert path.read_bytes() == budget.data
            with pytest.raises(privatemail.BudgetError, match="open already"):
                privatemail.FileBudget(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["me.budget"]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(privatemail.BudgetError, match="its own caps hold"):
        privatemail.FileBudget(path, epsilon=99)
    pack.save(tmp_path / "p.pmpk")
    np.save(tmp_path / "q.npy", shapes.queries[:1])
    privatemail.run("privatize", pack=tmp_path / "p.pmpk", features=tmp_path / "q.npy", epsilon=4, budget=path,
                    out=tmp_path / "r.cbor")  # the command spends from the same file
    with privatemail.FileBudget(path) as budget:
        assert budget.left.epsilon_spent == 8


def test_a_closed_file_pays_nothing(pack, tmp_path):
    budget = privatemail.FileBudget(tmp_path / "me.budget", epsilon=8)
    budget.close()
    with privatemail.Client(pack, epsilon=4, budget=budget) as client, pytest.raises(privatemail.PersistError):
        client.arm()
    assert budget.left.epsilon_spent == 0 and not (tmp_path / "me.budget").exists()


# ---- bad input


@pytest.mark.parametrize("bad, status", [
    (lambda x: np.where(np.arange(x.size) == 3, np.nan, x), "FEATURES"),
    (lambda x: np.where(np.arange(x.size) == 3, np.inf, x), "FEATURES"),
    (lambda x: x.astype(np.float64) * 1e300, "FEATURES"),
    (lambda x: np.zeros_like(x), "FEATURES"),
    (lambda x: x[:-1], "DIMENSION"),
    (lambda x: x[:0], "DIMENSION"),
    (lambda x: x[None, :], "DIMENSION"),
    (lambda x: np.float32(1), "DIMENSION"),
    (lambda x: x.astype(np.complex64), "FEATURES"),
    (lambda x: x.astype(str), "FEATURES"),
    (lambda x: x > 0, "FEATURES"),
    (lambda x: [None] * x.size, "FEATURES"),
])
def test_bad_features_leave_the_client_armed(client, shapes, bad, status):
    client.arm()
    with pytest.raises(privatemail.FeaturesError) as info:
        client.release(bad(shapes.queries[0]))
    assert status_of(info) == privatemail.Status[status] and isinstance(info.value, ValueError)
    assert len(client.release(shapes.queries[0])) == client.receipt.bytes


@pytest.mark.parametrize("same", [
    lambda x: x.astype(np.float64),
    lambda x: x.tolist(),
    lambda x: np.repeat(x, 2)[::2],
    lambda x: np.asfortranarray(np.tile(x, (3, 1)))[1],
    lambda x: x.astype(">f4"),
])
def test_the_form_of_an_array_does_not_matter(pack, shapes, same):
    def release_of(features):
        with privatemail.Client(pack, epsilon=16, budget=privatemail.Budget(epsilon=16),
                                _entropy=lambda size: bytes(range(size))) as client:
            client.arm()
            return client.release(features)

    assert release_of(same(shapes.queries[0])) == release_of(shapes.queries[0])


def fail(_size):
    raise OSError("no randomness")


@pytest.mark.parametrize("source", [lambda size: b"\7" * size, lambda size: bytes(range(size - 1)), fail])
def test_a_source_without_entropy_is_refused(pack, source):
    with privatemail.Client(pack, epsilon=4, budget=privatemail.Budget(epsilon=4), _entropy=source) as client:
        with pytest.raises(privatemail.EntropyError):
            client.arm()
    assert client.budget.left.epsilon_spent == 0


def test_bad_features_are_substituted_when_asked(pack, shapes):
    with privatemail.Client(pack, epsilon=4, budget=privatemail.Budget(epsilon=4), substitute=True) as client:
        client.arm()
        assert len(client.release(np.full_like(shapes.queries[0], np.nan))) == client.receipt.bytes


@pytest.mark.parametrize("options, kind, status", [
    ({"epsilon": 0}, privatemail.PrivacyError, "EPSILON"),
    ({"epsilon": 17}, privatemail.PrivacyError, "EPSILON"),
    ({"epsilon": float("nan")}, privatemail.PrivacyError, "EPSILON"),
    ({"epsilon": 4, "delta": 1e-6}, privatemail.PrivacyError, "DELTA"),
    ({"epsilon": 4, "mechanism": "magic"}, privatemail.PrivacyError, "MECHANISM"),
    ({"epsilon": 4, "mechanism": "gaussian", "delta": 1e-6}, privatemail.PackError, "SECTION"),
    ({"epsilon": 4, "crowd": privatemail.CrowdPolicy(clients=-1, clusters=1, copies=1)}, privatemail.PrivacyError,
     "CROWD"),
    ({"epsilon": 4, "crowd": privatemail.CrowdPolicy(clients=9, clusters=99, copies=1)}, privatemail.PrivacyError,
     "CROWD"),
])
def test_bad_parameters(pack, options, kind, status):
    with pytest.raises(kind) as info:
        privatemail.Client(pack, budget=privatemail.Budget(epsilon=8), **options)
    assert status_of(info) == privatemail.Status[status]


def test_bad_packs(pack):
    for data, status in ((b"", "PACK_SIZE"), (pack.data[:-1], "PACK_SIZE"), (b"X" + pack.data[1:], "PACK_VERSION"),
                         (pack.data[:-1] + bytes([pack.data[-1] ^ 1]), "PACK_HASH")):
        with pytest.raises(privatemail.PackError) as info:
            privatemail.Pack(data)
        assert status_of(info) in (privatemail.Status[status], privatemail.Status.PACK_VERSION)
    with pytest.raises(privatemail.MessageError):
        privatemail.Pack(pack.data, pinned_id="00" * 16)
    with pytest.raises(privatemail.ArgumentError):
        privatemail.Pack(pack.data, pinned_id="xyz")
    with pytest.raises(privatemail.PackError) as info:
        privatemail.Pack(pack.data, model="another")
    assert status_of(info) == privatemail.Status.PACK_MODEL
    assert privatemail.Pack(pack.data, pinned_id=pack.id).info == pack.info


def test_bad_answers(pack, store, shapes, client):
    client.arm()
    answer = privatemail.find(pack, store, client.release(shapes.queries[0])).answer
    for bad in (b"", answer[:-1], answer + b"\0", b"\0" + answer[1:]):
        with pytest.raises(privatemail.MessageError):
            pack.rank(shapes.queries[0], bad)
    for limit in (0, 257):
        with pytest.raises(privatemail.ArgumentError):
            pack.rank(shapes.queries[0], answer, limit=limit)
    with pytest.raises(privatemail.ArgumentError):
        pack.rank(shapes.queries[0], answer, scope="none")
    with pytest.raises(privatemail.FeaturesError):
        pack.rank(shapes.queries[0], answer, modality="text")
    with pytest.raises(privatemail.FeaturesError):
        pack.rank(shapes.queries[0], answer, label=1 << 40)


# ---- threads and processes


def test_threads_take_turns(pack, shapes):
    budget, made = privatemail.Budget(epsilon=100), []

    def ask():
        with privatemail.Client(pack, epsilon=1, budget=budget) as client:
            for query in shapes.queries[:10]:
                client.arm()
                made.append(client.release(query))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 80 and budget.left.epsilon_spent == 80


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_client_is_wiped(client, shapes):
    client.arm()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest must run here
        found = b""
        for call in (lambda: client.release(shapes.queries[0]), client.arm):
            try:
                call()
                found += b"?"
            except privatemail.StateError:
                found += b"s"
        os.write(writer, found)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 8) == b"ss"
    assert len(client.release(shapes.queries[0])) == client.receipt.bytes
