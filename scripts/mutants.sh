#!/usr/bin/env bash
# Do the tests find privacy bugs? Puts every bug of tests/mutants/ into a copy of the core, or into programs of the
# release build, one at a time, and runs the test that must then fail. A bug that stays unseen, no longer applies or does
# not compile fails the run.
#
#   scripts/mutants.sh              all of them, about a quarter of an hour
#   scripts/mutants.sh NAME...      those whose names contain one of these
#   scripts/mutants.sh --killer TEST    those that this test or check must find
#   scripts/mutants.sh --list       names and the tests that find them
#   scripts/mutants.sh --find NAME  every test that finds a bug, for writing a new entry
#   scripts/mutants.sh --tested     scripts/test.sh has just passed: its steps are not run again without a bug
#
# Works in build/mutants. Needs what scripts/setup.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
--help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
esac

python=build/venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" scripts/mutants.py "$@"
