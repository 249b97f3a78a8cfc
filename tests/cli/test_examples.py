"""The files of docs/examples, and what docs/GALLERY.md says: python3 tests/cli/test_examples.py path/to/privatemail

nginx runs its examples (test_faults.py, test_gateway.py and test_relay_proxy.py run the other two), with certificates made
here; systemd-analyze and promtool read theirs where they are installed; PostgreSQL gets its roles, is dumped and restored,
and has a replica that takes over; removed bytes are looked for in all files of a store; what Docker reads is only read, as
there is no daemon here. Needs numpy, cbor2, yaml, PostgreSQL, nginx, openssl, curl, sqlite3. Ends with 'N passed, N
failed'; exits non-zero when something failed."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import examples_files  # noqa: E402
import examples_gallery  # noqa: E402
import examples_nginx  # noqa: E402
import examples_postgres  # noqa: E402
from harness import Tester  # noqa: E402
from serving import make_galleries  # noqa: E402


def main():
    if len(sys.argv) < 2:
        print("usage: test_examples.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        os.chmod(folder, 0o755)
        make_galleries(tester)
        examples_nginx.run_all(tester)
        examples_files.run_all(tester)
        examples_gallery.run_all(tester)
        examples_postgres.run_all(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
