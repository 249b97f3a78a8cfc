# shellcheck shell=bash
# How demo_belief.sh and demo_figure.sh begin; they source it. It goes to the top of the sources, prints the comment at the
# script's head for --help and takes no other argument. It sets `program`, the command, and `folder`, which is empty.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
script=$(basename "$0" .sh)
program=build/release/cli/privatemail
folder=build/${script/_/-}

usage() { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "demo/$script.sh"; }

case ${1:-} in
'') ;;
--help | -h) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac

[ -x "$program" ] || { echo "$script: there is no $program: run scripts/demo.sh first" >&2; exit 1; }
rm -rf "$folder"
mkdir -p "$folder"
