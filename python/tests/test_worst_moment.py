# SPDX-License-Identifier: Apache-2.0
"""Signals, threads and forks that come at the worst moment: whatever was released must have been paid for, and once."""
import ctypes
import os
import signal
import sys
import threading
import time

import pytest

import privatemail

PATIENCE = 60  # seconds, far more than anything takes on a busy machine
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


class Stopped:
    """Runs `work` in a thread that stops for once where `here` is true of a frame, until the `with` block ends.
    `result` is what `work` returned or raised."""

    def __init__(self, work, here):
        self._work, self._here = work, here
        self._arrived, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.result = None

    def _run(self):
        sys.settrace(self._trace)
        self.result = outcome(self._work)

    def _trace(self, frame, _event, _argument):
        if not self._arrived.is_set() and self._here(frame):
            self._arrived.set()
            self._go.wait(PATIENCE)
        return self._trace

    def __enter__(self):
        self._thread.start()
        assert self._arrived.wait(PATIENCE), "the thread never came to the place where it should stop"
        return self

    def __exit__(self, *_):
        self._go.set()
        self._thread.join()


def outcome(work):
    try:
        return work()
    except privatemail.Error as failure:
        return failure


def in_child(work, meanwhile=lambda: None):
    """The text that `work` returns in a forked child, where nothing of pytest must run. `meanwhile` runs here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = work()
        except BaseException as failure:
            text = repr(failure)
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    meanwhile()
    os.waitpid(child, 0)
    with open(reader, encoding="utf-8") as file:
        return file.read()


def kind_of(work):
    return type(outcome(work)).__name__


def enters(function):
    """True of a frame of the function of this name."""
    return lambda frame: frame.f_code.co_name == function


class Waiting:
    """Runs `work` in a thread and shows that it waits for what the `with` block stands in. `result` is as above."""

    def __init__(self, work):
        self.result = None
        self._thread = threading.Thread(target=self._run, args=(work,))
        self._thread.start()
        self._thread.join(0.2)
        assert self._thread.is_alive(), "it did not wait"

    def _run(self, work):
        self.result = outcome(work)

    def join(self):
        self._thread.join()
        return self.result


# ---- signals


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_leaves_no_release_unpaid(pack):
    """A signal that comes while the core draws makes Python raise before the first line of the callback."""
    def interrupt(_number, frame):
        if frame.f_code.co_name == "persist":
            raised.append(frame.f_lineno)
            raise KeyboardInterrupt

    def arm(delay):
        signal.setitimer(signal.ITIMER_REAL, delay)
        result = outcome(client.arm)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return result

    raised, stored, trial, deadline = [], [], 0, time.monotonic() + PATIENCE
    budget = privatemail.Budget(epsilon=4000, store=stored.append)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with privatemail.Client(pack, epsilon=1 / 1024, budget=budget) as client:
            while len(raised) < 100 and time.monotonic() < deadline:
                charged, trial = budget.data, trial % 100 + 1
                if isinstance(arm(trial * 1e-6), privatemail.PersistError):
                    assert budget.data == charged
                    continue
                assert charged != budget.data == stored[-1]
                client.wipe()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(raised) == 100


# ---- threads


def test_two_threads_cannot_open_one_file(tmp_path):
    def open_it():
        return privatemail.FileBudget(tmp_path / "me.budget", epsilon=8)

    def has_made_the_lock(frame):
        return frame.f_code.co_name == "_lock_file" and "lock" in frame.f_locals

    with Stopped(open_it, has_made_the_lock) as first:
        second = outcome(open_it)
    assert isinstance(first.result, privatemail.FileBudget) and isinstance(second, privatemail.BudgetError)
    first.result.close()
    open_it().close()


def test_a_file_that_could_not_be_opened_may_be_opened_later(tmp_path):
    path = tmp_path / "folder" / "me.budget"
    with pytest.raises(FileNotFoundError):
        privatemail.FileBudget(path, epsilon=8)
    path.parent.mkdir()
    privatemail.FileBudget(path, epsilon=8).close()


@pytest.mark.parametrize("read", [lambda budget: budget.data, lambda budget: budget.left.epsilon_spent])
def test_a_budget_is_not_read_while_it_changes(pack, read):
    def store(_data):
        pass

    budget = privatemail.Budget(epsilon=8, store=store)
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        with Stopped(client.arm, enters("store")):
            reader = Waiting(lambda: read(budget))
    assert reader.join() == read(budget) and budget.left.epsilon_spent == 4


def test_a_store_that_reads_its_budget_is_refused(pack):
    def store(_data):
        reasons.append((outcome(lambda: budget.data), outcome(lambda: budget.left)))

    reasons = []
    budget = privatemail.Budget(epsilon=8, store=store)
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        client.arm()
    assert [type(reason) for reason in reasons[0]] == [privatemail.StateError] * 2


def test_a_file_is_not_closed_while_it_is_written(pack, tmp_path):
    path = tmp_path / "me.budget"
    budget = privatemail.FileBudget(path, epsilon=8)
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        with Stopped(client.arm, enters("_replace")) as arming:
            closing = Waiting(budget.close)
        closing.join()
    assert arming.result is None
    with privatemail.FileBudget(path) as again:
        assert again.left.epsilon_spent == 4


# ---- forks


def core_memory(client):
    """Address and size of what the core has of a client. The first field of the shim's structure points to it."""
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.argtypes, usable.restype = (ctypes.c_void_p,), ctypes.c_size_t
    core = ctypes.c_void_p.from_address(client._handle.value).value
    return core, usable(client._handle) - (core - client._handle.value)


@pytest.fixture(scope="module")
def noisy(shapes):
    """A pack whose releases have much noise: the Gaussian's, a number per dimension."""
    return privatemail.build_pack(shapes.public, gaussian=True, rows_are_public=True)


def test_a_fork_while_another_thread_arms_wipes_the_noise(noisy, shapes):
    def store(_data):
        pass

    def child():
        kept = ctypes.string_at(*memory)
        return f"{sum(kept[place] != 0 for place in noise)} {kind_of(lambda: client.release(shapes.queries[0]))}"

    budget = privatemail.Budget(epsilon_gaussian=8, delta=1e-6, store=store)
    with privatemail.Client(noisy, epsilon=4, delta=1e-6, mechanism="gaussian", budget=budget) as client:
        memory = core_memory(client)
        before = ctypes.string_at(*memory)
        with Stopped(client.arm, enters("store")) as arming:
            drawn = ctypes.string_at(*memory)
            noise = [place for place, (old, new) in enumerate(zip(before, drawn)) if old != new]
            told = in_child(child)
        assert arming.result is None and len(noise) > 16
        assert told == "0 StateError"
        assert len(client.release(shapes.queries[0])) == client.receipt.bytes


def test_a_store_that_forks_gives_the_child_nothing(pack, shapes):
    def store(_data):
        children.append(os.fork())

    children, (reader, writer) = [], os.pipe()
    client = privatemail.Client(pack, epsilon=4, budget=privatemail.Budget(epsilon=8, store=store))
    armed = kind_of(client.arm)
    if children == [0]:  # nothing of pytest must run here
        os.write(writer, f"{armed} {kind_of(lambda: client.release(shapes.queries[0]))}".encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(children[0], 0)
    with open(reader, encoding="utf-8") as file:
        assert file.read() == "PersistError StateError"
    assert armed == "NoneType" and len(client.release(shapes.queries[0])) == client.receipt.bytes
    client.close()


def test_a_child_cannot_spend_the_budget_of_its_parent(pack):
    def arm_another():
        with privatemail.Client(pack, epsilon=4, budget=budget) as client:
            client.arm()

    budget = privatemail.Budget(epsilon=8)
    assert in_child(lambda: kind_of(arm_another)) == "StateError"
    assert kind_of(arm_another) == "NoneType"


def test_a_child_can_use_the_guard_that_another_thread_held(pack):
    def store(_data):
        pass

    budget = privatemail.Budget(epsilon=8, store=store)
    with privatemail.Client(pack, epsilon=4, budget=budget) as client:
        with Stopped(client.arm, enters("store")):
            assert in_child(lambda: f"{budget.left.epsilon_spent} {client.close()}") == "0.0 None"


def test_a_child_opens_the_file_after_its_parent(tmp_path):
    def open_it():
        return privatemail.FileBudget(tmp_path / "me.budget", epsilon=8)

    def keep_trying():
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if kind_of(open_it) == "FileBudget":
                return "opened"
            time.sleep(0.01)
        return "refused"

    budget = open_it()
    assert in_child(lambda: kind_of(open_it)) == "BudgetError"
    assert in_child(keep_trying, meanwhile=budget.close) == "opened"


def test_a_child_has_no_lock_of_its_parent(tmp_path):
    """Closing it later would take away the lock that the child itself may have on that file by then."""
    with privatemail.FileBudget(tmp_path / "me.budget", epsilon=8) as budget:
        lock = budget._lock
        os.fstat(lock)
        assert "Bad file descriptor" in in_child(lambda: str(os.fstat(lock)))
        assert (tmp_path / "me.budget.lock").exists()


# ---- what is printed by accident


def test_private_values_are_not_in_the_text_of_results(pack, store, shapes):
    bundle = privatemail.Bundle((b"message",), (0,))
    assert repr(bundle) == "Bundle()"
    with privatemail.Client(pack, epsilon=16, budget=privatemail.Budget(epsilon=16)) as client:
        client.arm()
        ranking = client.rank(shapes.queries[0], privatemail.find(pack, store, client.release(shapes.queries[0])).answer)
    assert repr(ranking) == f"Ranking(carried={ranking.carried}, gallery={ranking.gallery})"
