"""Faults under load: python3 tests/cli/test_faults.py path/to/privatemail

Real parts fail: PostgreSQL, a service behind nginx, a disk, a network, clients, a rollout. Nothing may be lost and no
answer wrong; each test prints its figure, which docs/SCALE.md tells. Needs numpy, cbor2, PostgreSQL, nginx, openssl; as
root also ip and mount (else those tests are skipped, and say so). Ends with 'N passed, N failed'; exits non-zero when
something failed."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import faults_database  # noqa: E402
import faults_fleet  # noqa: E402
import faults_network  # noqa: E402
from harness import OWN, Tester  # noqa: E402
from postgres import Postgres  # noqa: E402
from serving import make_galleries, reference_gallery  # noqa: E402

INDEX = ["index", "--features", "public.npy", "--labels", "labels.npy", "--payloads", "payloads", *OWN]


def releases_of(tester, names=("p",), mechanisms=("response", "gaussian")):
    """[(release, the right answer by the reference)]"""
    pairs = []
    for name in names:
        gallery = reference_gallery(tester, name)
        for mechanism in mechanisms:
            release = tester.read("%s-%s.cbor" % (name, mechanism))
            pairs.append((release, gallery.answer(release)))
    return pairs


def main():
    if len(sys.argv) < 2:
        print("usage: test_faults.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        os.chmod(folder, 0o755)
        make_galleries(tester)
        releases = releases_of(tester)
        with Postgres() as database:
            for name in ("p", "old"):
                tester.succeeds("index " + name, *INDEX, "--pack", name + ".pmpk", "--store", database.uri())
            faults_database.run_all(tester, database, releases)
            faults_fleet.run_all(tester, database, releases, releases_of(tester, ("old",)))
        faults_database.test_full_disk(tester, releases)
        faults_network.run_all(tester, releases)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
