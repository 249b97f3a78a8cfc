"""Tests of `privatemail index`: python3 tests/cli/test_index.py path/to/privatemail

Needs numpy and cbor2. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import index_changes  # noqa: E402
import index_content  # noqa: E402
import index_faults  # noqa: E402
from harness import Tester  # noqa: E402


def main():
    if len(sys.argv) != 2:
        print("usage: test_index.py path/to/privatemail", file=sys.stderr)
        return 2
    passed = failed = 0
    for part in (index_content, index_changes, index_faults):
        with tempfile.TemporaryDirectory() as folder:
            tester = Tester(sys.argv[1], folder)
            part.run_all(tester)
            passed += tester.passed
            failed += tester.failed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
