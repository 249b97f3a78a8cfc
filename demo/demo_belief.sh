#!/usr/bin/env bash
# Draws what a server believes after one private search (docs/figures/what-a-server-believes.svg): asking alone at ε = 8
# and at ε = 1, and in a crowd at ε = 0.1, each with what the search finds. The gallery is one of drawn shapes.
#
#   demo/demo_belief.sh           about ten seconds; writes build/demo-belief/what-a-server-believes.svg
#   demo/demo_belief.sh --help    this text
#
# The messages are real ones and drawn anew in every run. Needs build/release and build/venv: run scripts/demo.sh or
# scripts/test.sh first.
set -euo pipefail
. "$(dirname "$0")/demo_begin.sh"

shapes=$folder/shapes
pack=$folder/shapes.pmpk
row=16 # of the queries: a star; most queries find more
clients=220 policy=(--clusters 4 --copies 20)
query=(--pack "$pack" --features "$shapes/queries.npy" --row "$row")
gallery=(--features "$shapes/gallery.npy" --labels "$shapes/gallery_labels.npy")

"$program" sample --out "$shapes" --per-class 200
"$program" pack --features "$shapes/public.npy" --cells 32 --out "$pack"
"$program" index --pack "$pack" "${gallery[@]}" --share 0.0625 --store "sqlite:$folder/shapes.store"

# draw NAME RELEASE MESSAGE OPTION...: the map of what is believed after RELEASE, and the answer to MESSAGE.
draw() {
    local name=$1 release=$2 message=$3
    shift 3
    "$program" map "${gallery[@]}" --colour none --pack "$pack" --release "$release" "$@" --out "$folder/$name.svg" --json >"$folder/$name.json"
    "$program" find --pack "$pack" --store "sqlite:$folder/shapes.store" --release "$message" --top 1048576 --json \
        >"$folder/$name-found.json"
}

# Nobody's budget pays for this picture: the warning that nothing is counted is known here.
for epsilon in 8 1; do
    "$program" privatize "${query[@]}" --epsilon "$epsilon" --out "$folder/alone-$epsilon.cbor" 2>"$folder/warnings"
    draw "alone-$epsilon" "$folder/alone-$epsilon.cbor" "$folder/alone-$epsilon.cbor" --epsilon "$epsilon"
done

# An epoch: the asker's bundle, and those of others who are idle. So the file holds fakes and one message.
"$program" privatize "${query[@]}" --crowd "$clients" --honest 1 "${policy[@]}" --delta 1e-6 --floor 8 \
    --out "$folder/asker.cbor" --own-out "$folder/own.json" --json >"$folder/promise.json" 2>>"$folder/warnings"
"$program" privatize --pack "$pack" --idle --crowd "$clients" --honest 1 "${policy[@]}" --delta 1e-6 --floor 8 \
    --repeat $((clients - 1)) --out "$folder/idle.cbor" >/dev/null 2>>"$folder/warnings"
cat "$folder/asker.cbor" "$folder"/idle.cbor.* >"$folder/epoch.cborseq"
size=$(stat -c %s "$folder/alone-8.cbor") # of one message of a pack with one slot
own=$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$folder/own.json")
dd if="$folder/asker.cbor" of="$folder/own.cbor" bs="$size" skip="$own" count=1 status=none
draw crowd "$folder/epoch.cborseq" "$folder/own.cbor" --crowd "$clients" "${policy[@]}" --floor 8

build/venv/bin/python demo/demo_belief_plot.py "$folder" "$shapes" "$row" "$folder/what-a-server-believes.svg"
