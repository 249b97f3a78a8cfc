#!/usr/bin/env bash
# From nothing to a picture of what a server sees: installs what is needed, builds, draws a small gallery of shapes,
# packs its public part, privatises one query under both mechanisms, and plots 200 releases at ε = 1, 4 and 8.
#
#   scripts/demo.sh           less than a minute once things are installed and built
#   scripts/demo.sh --help    this text
#
# Everything is in build/demo, which is made anew each time; what the build printed is in build/logs/demo.log.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; }

case ${1:-} in
'') ;;
--help | -h) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac

folder=build/demo
log=build/logs/demo.log
program=build/release/cli/privatemail
sample=$folder/shapes
pack=$folder/shapes.pmpk
row=4 # of the queries: a star
epsilons=(1 4 8)
delta=1e-5
repeats=200
query=(--pack "$pack" --features "$sample/queries.npy" --labels "$sample/queries_labels.npy" --row "$row")

step() { printf '\n== %s\n' "$*"; }
explain() { fold -s -w 100 <<<"$*" | sed 's/^/   > /; s/ $//'; }
indent() { sed 's/^/   /'; }

# quietly COMMAND...: what it says on stderr goes to the log, and to the screen only when it fails.
quietly() {
    "$@" 2>>"$log" || {
        local code=$?
        tail -n 30 "$log" >&2
        echo "demo: '$1 $2' failed; all that was said is in $log" >&2
        exit "$code"
    }
}

# ---- steps -----------------------------------------------------------------------------------------------------

prepare() {
    mkdir -p "$(dirname "$log")"
    : >"$log"
    rm -rf "$folder"
    mkdir -p "$folder/releases"
    step "Looking for tools (the first time, they are installed)"
    scripts/setup.sh
    step "Building"
    quietly cmake --preset release >>"$log"
    quietly cmake --build --preset release --target privatemail_cli >>"$log"
}

make_collection() {
    step "Drawing pictures of shapes, and taking their features"
    "$program" sample --out "$sample" | indent
    explain "Examples of all classes: $sample/contact.png"
    step "Packing the public part: what devices and servers both hold"
    "$program" pack --features "$sample/public.npy" --labels "$sample/public_labels.npy" --slots class --prototypes 8 \
        --dims 2 --codes class --out "$pack" | indent
}

# A device would make one of these two, once, and keep it.
release_once() {
    step "One private release of the query (picture $row of $sample/images/queries), by response"
    "$program" privatize "${query[@]}" --mechanism response --epsilon 4 --budget "$folder/person.budget" \
        --budget-new "20,20,$delta" --out "$folder/response.cbor" | indent
    explain "In other words: for every class the message names one of 8 typical pictures. For the query's class it is" \
        "likely, not certain, to be the right one, for all other classes it is drawn by lot, and nothing in the" \
        "message says which class is meant."

    step "The same query by the Gaussian mechanism, paid from the same budget"
    "$program" privatize "${query[@]}" --mechanism gaussian --epsilon 4 --delta "$delta" \
        --budget "$folder/person.budget" --out "$folder/gaussian.cbor" | indent
    explain "In other words: for every class the message holds a point on a map of the public pictures. The query's" \
        "own point is its true place, blurred by noise about as wide as the whole map; the others are fixed public" \
        "places, blurred likewise."
}

# release_often MECHANISM EPSILON [OPTION...]: receipts and what a server decodes, for the plot. Without a budget: none
# would pay for this, and the program's warning that nothing is counted is known here.
release_often() {
    local mechanism=$1 epsilon=$2 name=$1-$2 releases=() i
    shift 2
    quietly "$program" privatize "${query[@]}" --mechanism "$mechanism" --epsilon "$epsilon" "$@" --repeat "$repeats" \
        --out "$folder/releases/$name.cbor" --json >"$folder/releases/$name.json"
    for ((i = 0; i < repeats; i++)); do
        releases+=("$folder/releases/$name.cbor.$i")
    done
    "$program" decode "${releases[@]}" --pack "$pack" --json >"$folder/releases/$name-seen.json"
    echo "   $mechanism, ε = $epsilon: $repeats releases made and decoded"
}

experiment() {
    step "An experiment nobody should do with a real query: releasing it $repeats times, for three values of ε"
    local epsilon
    for epsilon in "${epsilons[@]}"; do
        release_often gaussian "$epsilon" --delta "$delta"
        release_often response "$epsilon"
    done
}

draw() {
    step "Drawing"
    build/venv/bin/python scripts/demo_plot.py "$folder/releases" "$pack" \
        "$sample/queries.npy" "$sample/queries_labels.npy" "$row" \
        "$(printf '%s/images/queries/%04d.png' "$sample" "$row")" "$folder/what-the-server-sees.svg" "${epsilons[@]}"
}

prepare
ready=$SECONDS
make_collection
release_once
experiment
draw

step "Done: $folder/what-the-server-sees.svg"
explain "Above, the grey points are what a server sees of one query when it is sent as a noisy point, and the red" \
    "ring is where the query really is; below, the bars count how often each prototype was named, the true one in" \
    "red. With ε = 1 a single message says next to nothing, with ε = 8 it says a lot."
echo "   $SECONDS seconds in all, $((SECONDS - ready)) of them after setup and build"
