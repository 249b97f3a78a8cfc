#!/usr/bin/env bash
# What the tests of the AAR and of the layer for Kotlin share: sourced, never run.

# Folder of a Kotlin compiler's jars, which scripts/build-aar.sh takes too; empty when there is none.
kotlin_jars=(build/venv/lib/python3*/site-packages/run_kotlin_kernel/jars)
[ -n "${PRIVATEMAIL_KOTLIN:-}" ] || [ ! -d "${kotlin_jars[0]}" ] || PRIVATEMAIL_KOTLIN=$PWD/${kotlin_jars[0]}
export PRIVATEMAIL_KOTLIN=${PRIVATEMAIL_KOTLIN:-}

# ---- servers of the sample gallery, in $out/real ---------------------------------------------------------------

# Each serves one pack, the second its successor. `real` is what SearchTest wants to know of them: address and pack of
# each.
real=() servers=() model='shapes, 📷 16x16'
stop_servers() { [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null || true; }

# Runs a command of privatemail that listens, in the background; its address is in `address` then.
start() { # NAME ARGUMENT...
    local name=$1 folder=$out/real tries
    shift
    "$PWD/build/release/cli/privatemail" "$@" --listen 127.0.0.1:0 >"$folder/$name.told" 2>"$folder/$name.log" &
    servers+=($!)
    for tries in {1..1200}; do
        [ ! -s "$folder/$name.told" ] && kill -0 "${servers[-1]}" 2>/dev/null || break
        sleep 0.1
    done
    address=$(grep -oE 'http://[0-9.:]+' "$folder/$name.told" | head -n 1) || { cat "$folder/$name.log"; return 1; }
}

start_server() { # NAME SEED OPTION...
    local command=$PWD/build/release/cli/privatemail folder=$out/real address
    mkdir -p "$folder"
    [ -d "$folder/shapes" ] || "$command" sample --out "$folder/shapes" || return 1
    "$command" pack --features "$folder/shapes/public.npy" --labels "$folder/shapes/public_labels.npy" --slots class \
        --cells 8 --response-only --model "$model" --seed "$2" --out "$folder/$1.pmpk" &&
        "$command" index --pack "$folder/$1.pmpk" --features "$folder/shapes/gallery.npy" --cells-per-item 1 \
            --labels "$folder/shapes/gallery_labels.npy" --store "sqlite:$folder/$1.store" || return 1
    start "$1" serve --pack "$folder/$1.pmpk" --store "sqlite:$folder/$1.store" "${@:3}" || return 1
    real+=("$address" "$folder/$1.pmpk")
}
