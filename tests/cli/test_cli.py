"""Tests of the command, on real files: python3 tests/cli/test_cli.py path/to/privatemail

Needs numpy. Ends with 'N passed, N failed'; exits non-zero when something failed."""
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree of sources stays as it is

import bad_input  # noqa: E402
import budgets  # noqa: E402
import defaults  # noqa: E402
import flow  # noqa: E402
import models  # noqa: E402
import outputs  # noqa: E402
from harness import Tester  # noqa: E402


def main():
    if len(sys.argv) != 2:
        print("usage: test_cli.py path/to/privatemail", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(sys.argv[1], folder)
        for part in (flow, models, bad_input, outputs, budgets, defaults):
            part.run_all(tester)
    print("%d passed, %d failed" % (tester.passed, tester.failed))
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
