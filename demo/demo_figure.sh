#!/usr/bin/env bash
# Draws what a server sees of one query at ε = 1, 4 and 8 (docs/figures/what-the-server-sees.svg): releases one drawn
# star 200 times under both mechanisms, which nobody should do with a real query, and plots what the releases say.
#
#   demo/demo_figure.sh           about half a minute; writes build/demo-figure/what-the-server-sees.svg
#   demo/demo_figure.sh --help    this text
#
# Needs build/release and build/venv: run scripts/demo.sh or scripts/test.sh first.
set -euo pipefail
. "$(dirname "$0")/demo_begin.sh"

sample=$folder/shapes
pack=$folder/shapes.pmpk
row=4 # of the queries: a star
epsilons=(1 4 8)
delta=1e-5
repeats=200
query=(--pack "$pack" --features "$sample/queries.npy" --labels "$sample/queries_labels.npy" --row "$row")

mkdir "$folder/releases"
"$program" sample --out "$sample"
"$program" pack --features "$sample/public.npy" --labels "$sample/public_labels.npy" --slots class --cells 8 \
    --dims 2 --codes class --gaussian --rows-are-public --out "$pack"

# release_often MECHANISM EPSILON [OPTION...]: receipts and what a server decodes. Without a budget: none would pay for
# this, and the program's warning that nothing is counted is known here.
release_often() {
    local mechanism=$1 epsilon=$2 name=$1-$2 releases=() i
    shift 2
    "$program" privatize "${query[@]}" --mechanism "$mechanism" --epsilon "$epsilon" "$@" --repeat "$repeats" \
        --out "$folder/releases/$name.cbor" --json >"$folder/releases/$name.json" 2>"$folder/warnings"
    for ((i = 0; i < repeats; i++)); do
        releases+=("$folder/releases/$name.cbor.$i")
    done
    "$program" decode "${releases[@]}" --pack "$pack" --json >"$folder/releases/$name-seen.json"
    echo "$mechanism, ε = $epsilon: $repeats releases made and decoded"
}

for epsilon in "${epsilons[@]}"; do
    release_often gaussian "$epsilon" --delta "$delta"
    release_often response "$epsilon"
done
build/venv/bin/python demo/demo_plot.py "$folder/releases" "$pack" \
    "$sample/queries.npy" "$sample/queries_labels.npy" "$row" \
    "$(printf '%s/images/queries/%04d.png' "$sample" "$row")" "$folder/what-the-server-sees.svg" "${epsilons[@]}"
echo "$folder/what-the-server-sees.svg"
