#!/bin/sh
# Proves with Frama-C Eva that core and transport have no undefined behaviour: proofs/eva/README.md.
#   check_behaviour.sh [--quick] [DRIVER...]   every driver, the quick ones, or those that are named
#   check_behaviour.sh --planted               puts bugs into a copy of the sources; Eva must find each
set -eu
command -v frama-c >/dev/null || { echo "frama-c is not there: install frama-c-base" >&2; exit 1; }
exec python3 "$(dirname "$0")/check_behaviour.py" "$@"
