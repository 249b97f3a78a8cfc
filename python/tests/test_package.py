# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: pack, index, find, evaluate, audit, plans, and what it says when a library is missing."""
import importlib.metadata
import logging
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import privatemail
from privatemail import _command, _core

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_one_version_everywhere():
    project = re.search(r"project\(privatemail\s+VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert privatemail.__version__ == project == importlib.metadata.version("privatemail")
    assert _core.lib.version().decode() == project
    printed = subprocess.run([pathlib.Path(sys.executable).with_name("privatemail"), "--version"], check=True,
                             capture_output=True, text=True).stdout
    assert printed == f"privatemail {project}\n"


def test_it_is_installed_and_typed():
    folder = pathlib.Path(privatemail.__file__).parent
    assert ROOT / "python" not in folder.parents
    assert (folder / "py.typed").exists()
    assert all(hasattr(privatemail, name) and (getattr(privatemail, name).__doc__ or name == "__version__")
               for name in privatemail.__all__)


def test_every_status_has_a_class_and_a_sentence():
    for status in privatemail.Status:
        error = _core.error(status)
        assert error.status == status and isinstance(error, privatemail.Error)
        assert status == privatemail.Status.OK or type(error) is not privatemail.Error
        assert str(error) == _core.lib.status_text(status).decode()
    assert type(_core.error(-999)) is privatemail.Error


# ---- the whole way


def test_the_same_rows_make_the_same_pack(shapes, pack):
    again = privatemail.build_pack(shapes.public.astype(np.float64), epsilon=8, share=0.1, threads=1)
    assert again.data == pack.data and again.info.slots == 1 and again.info.features == shapes.public.shape[1]
    assert repr(pack).startswith("<privatemail.Pack " + pack.id)


def test_a_private_query_finds(pack, store, shapes):
    found = []
    budget = privatemail.Budget(epsilon=16 * len(shapes.queries))
    with privatemail.Client(pack, epsilon=16, budget=budget) as client:
        for query in shapes.queries:
            client.arm()
            answer = privatemail.find(pack, store, client.release(query))
            ranking = client.rank(query, answer.answer)
            assert len(ranking.items) == 8 and answer.gallery == len(shapes.gallery) == ranking.gallery
            assert ranking.payloads == tuple(b"payload of %d" % item for item in ranking.items)
            assert (np.diff(ranking.scores) <= 0).all()
            cosines = shapes.gallery @ query / np.linalg.norm(shapes.gallery, axis=1)
            found.append(np.isin(np.argsort(-cosines)[:8], ranking.items).mean())
    assert np.mean(found) > 0.5


def test_classes_modalities_and_gaussian(shapes, tmp_path):
    pack = privatemail.build_pack(shapes.public, labels=shapes.public_labels, slots="class", gaussian=True,
                                  rows_are_public=True, model="shapes, 32x32")
    assert pack.info.slots == pack.info.classes == 6 and pack.model == "shapes, 32x32" and pack.modalities == ()
    privatemail.index(pack, shapes.gallery, f"dir:{tmp_path / 'g'}", labels=shapes.gallery_labels)
    query, label = shapes.queries[0], int(shapes.queries_labels[0])
    budget = privatemail.Budget(epsilon_gaussian=16, delta=1e-5)
    with privatemail.Client(pack, epsilon=8, delta=1e-6, mechanism="gaussian", budget=budget) as client:
        client.arm()
        with pytest.raises(privatemail.FeaturesError) as info:
            client.release(query, label=12345)
        assert info.value.status == privatemail.Status.LABEL
        release = client.release(query, label=label)
    assert client.receipt.sigma > 0 and budget.left.mu2_spent > 0
    assert pack.rows(release).shape == (6, pack.info.dimensions)
    ranking = pack.rank(query, privatemail.find(pack, tmp_path / "g", release, nearest=16).answer, label=label)
    assert set(ranking.labels.tolist()) == {label}
    with pytest.raises(privatemail.MessageError):
        privatemail.build_pack(shapes.public).rows(release)


def test_a_gallery_changes(pack, shapes, tmp_path):
    store = tmp_path / "gallery"
    first = privatemail.index(pack, shapes.gallery[:100], store, share=0.2, ids=np.arange(1000, 1100))
    second = privatemail.change_index(pack, store, add=shapes.gallery[100:120], remove=[1000, 1001])
    assert (first.items, second.items, second.added, second.removed) == (100, 118, 20, 2)
    assert first.version != second.version == privatemail.run("gallery", store=f"dir:{store}")["version"]
    with pytest.raises(privatemail.InputError):
        privatemail.change_index(pack, store, remove=[77])
    with pytest.raises(privatemail.ArgumentError):
        privatemail.change_index(pack, store)
    with pytest.raises(privatemail.Error):
        privatemail.index(pack, shapes.gallery, store)


def test_evaluate(shapes, caplog):
    with caplog.at_level(logging.INFO, "privatemail"):
        result = privatemail.evaluate(shapes.public, shapes.gallery, shapes.queries, epsilon=[8, 16], share=0.2,
                                      releases=2, threads=1)
    assert [row.epsilon for row in result.rows] == [8, 16] and result.report["mechanism"] == "response"
    for row in result.rows:
        assert row.baseline < row.instance_recall <= row.carried_recall <= 1
        assert row.report["queries"] == len(shapes.queries) and row.bytes_up > 0


def test_audit(pack):
    for _ in range(3):  # a bound that holds with probability 0.999
        result = privatemail.audit(pack, epsilon=2, trials=20_000)
        if not result.violated:
            break
    assert not result.violated and 0 < result.epsilon_lower <= result.epsilon == 2 and result.trials == 20_000


def test_advise():
    advice = privatemail.advise(20_000, 100_000, changes_per_day=50)
    assert advice.choice == "ship" and advice.found is None and "20" in advice.why
    assert {way["way"] for way in advice.alternatives} == {"response", "crowd", "none"}
    crowd = privatemail.advise(100_000, 400_000, users=50_000)
    assert crowd.choice == "crowd" and 0.5 < crowd.found_most <= 1 and crowd.report["chosen"]["floor"] == 8
    rows = privatemail.sample(classes=10, per_class=100).gallery
    measured = privatemail.advise(5_000, 400_000, sketch=64, features=rows, days=1, seed=3)
    assert measured.found is not None and measured.report["measured_rows"] > 0
    with pytest.raises(privatemail.ArgumentError, match="--sketch"):
        privatemail.advise(5_000, 400_000, sketch=7)


def test_a_crowd(pack, shapes, store):
    plan = privatemail.plan_crowd(pack.info.cells, clients=100_000, epsilon=0.5, delta=1e-6)
    assert plan.promise == "crowd" and plan.epsilon <= 0.5 and plan.policy.clients == 50_000
    budget = privatemail.Budget(floor=plan.floor, epsilon_crowd=2, delta_crowd=1e-5)
    with privatemail.Client(pack, epsilon=plan.floor, crowd=plan.policy, budget=budget) as client:
        with pytest.raises(privatemail.PrivacyError):
            client.arm()
        with pytest.raises(privatemail.ArgumentError):
            client.arm_bundle("nothing")
        client.arm_bundle()
        bundle = client.bundle(shapes.queries[0])
        answer = privatemail.find(pack, store, bundle.kept).answer
        assert len(client.rank(shapes.queries[0], answer).items) == 8
        client.arm_bundle("kept")
        assert client.bundle(kept=bundle.kept).kept == bundle.kept
        client.arm_bundle("idle")
        with pytest.raises(privatemail.StateError):
            client.bundle().kept
    assert budget.left.floor_spent == plan.floor and budget.left.crowd_mu2_spent > 0
    with pytest.raises(privatemail.PrivacyError):
        privatemail.plan_crowd(1 << 20, clients=10, epsilon=0.001, delta=1e-12)


def test_ceilings():
    assert privatemail.recall_ceiling(4, 0.02) == pytest.approx(0.527, abs=1e-3)
    assert privatemail.recall_ceiling(privatemail.epsilon_for(0.9, 0.05), 0.05) == pytest.approx(0.9)
    assert np.isnan(privatemail.recall_ceiling(4, 2))


# ---- bad input


@pytest.mark.parametrize("bad", [
    lambda rows: np.where(np.arange(rows.size).reshape(rows.shape) == 7, np.nan, rows),
    lambda rows: rows[0],
    lambda rows: rows[:0],
    lambda rows: rows.astype(str),
    lambda rows: rows[None],
])
def test_bad_rows(shapes, bad):
    with pytest.raises(privatemail.FeaturesError):
        privatemail.build_pack(bad(shapes.public))


def test_bad_labels(shapes):
    for labels in (shapes.public_labels.astype(float), shapes.public_labels[:, None],
                   shapes.public_labels.astype(np.int64) + (1 << 40)):
        with pytest.raises(privatemail.FeaturesError):
            privatemail.build_pack(shapes.public, labels=labels, slots="class")
    with pytest.raises(privatemail.InputError):
        privatemail.build_pack(shapes.public, labels=shapes.public_labels[:-1], slots="class")


def test_bad_options(shapes, pack, tmp_path):
    with pytest.raises(privatemail.ArgumentError, match="--share"):
        privatemail.build_pack(shapes.public, share=7)
    with pytest.raises(privatemail.ArgumentError, match="nonsense"):
        privatemail.build_pack(shapes.public, nonsense=1)
    with pytest.raises(privatemail.ArgumentError):
        privatemail.run("nothing")
    with pytest.raises(privatemail.InputError):
        privatemail.find(pack, tmp_path / "absent", b"no release")
    with pytest.raises(privatemail.InputError):
        privatemail.build_pack(tmp_path / "absent.npy")
    assert not list(tmp_path.iterdir())


# ---- libraries that may be missing


def linked():
    return subprocess.run(["ldd", _command.PROGRAM], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("library, package, call", [
    ("libpq", "libpq-dev", lambda folder: privatemail.run("gallery", store="postgres:host=/nowhere dbname=x")),
    ("libsqlite3", "libsqlite3-dev", lambda folder: privatemail.run("gallery", store=f"sqlite:{folder}/absent")),
    ("libcurl", "libcurl4-openssl-dev", lambda folder: privatemail.run("query")),
    ("libmicrohttpd", "libmicrohttpd-dev", lambda folder: privatemail.run("serve")),
    ("libpng", "libpng-dev", lambda folder: privatemail.run("sample", out=folder / "s", size=1)),
])
def test_what_is_missing_is_named(library, package, call, tmp_path):
    """With the library the call fails for another reason; without it, for this one."""
    with pytest.raises(privatemail.Error) as info:
        call(tmp_path)
    missing = library not in linked()
    if library == "libpng" and missing:  # bad options are told first
        with pytest.raises(privatemail.Error) as info:
            privatemail.run("sample", out=tmp_path / "s", per_class=8)
    assert isinstance(info.value, privatemail.MissingError) == missing, info.value
    assert (package in str(info.value)) == missing


def test_training_works_or_names_lapacke(shapes, tmp_path):
    np.save(tmp_path / "f.npy", shapes.public)
    try:
        privatemail.run("train", method="pca", features=tmp_path / "f.npy", dimensions=8,
                        out=tmp_path / "front.pmfr")
    except privatemail.MissingError as missing:
        assert "liblapacke-dev" in str(missing)
    else:
        pack = privatemail.build_pack(shapes.public, front={"image": tmp_path / "front.pmfr"})
        assert pack.modalities == (("image", shapes.public.shape[1]),)


def test_the_search_of_the_readme_runs(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "python" / "README.md").read_text(), re.S).group(1)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert len(re.findall(r"[0-9]+", done.stdout)) >= 16
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gallery", "me.budget"]


def test_the_example_runs():
    done = subprocess.run([sys.executable, ROOT / "python" / "example.py"], check=True, capture_output=True, text=True)
    shares = [float(share) for share in re.findall(r"found ([0-9.]+) of the 8 nearest", done.stdout)]
    assert len(shares) == 2 and shares[0] > 0.6 and shares[0] > shares[1] > 0.15
