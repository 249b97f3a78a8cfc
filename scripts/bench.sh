#!/usr/bin/env bash
# How fast is it? Runs the benches and other people's libraries beside them, each on one core, and writes their numbers to
# build/bench/speed-*.json, the tables of "Speed" in docs/RESULTS.md and docs/PLATFORMS.md, and the figures docs/figures/speed-*.svg.
#
#   scripts/bench.sh                    everything, about ten minutes on an idle machine
#   scripts/bench.sh --only peers,noise those parts, then the tables that need no others; parts:
#                                       kernels query pack open rank noise peers growth
#   scripts/bench.sh --data DIR         also how often int8 finds what float32 finds, on the data sets in DIR
#   scripts/bench.sh --core N           the core to use. Default: the last one
#
# Needs what scripts/setup.sh installs, and installs faiss-cpu, usearch, scikit-learn and opendp into build/venv.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; }
say() { echo "bench: $*" >&2; }

only=kernels,query,pack,open,rank,noise,peers,growth data=() core=$(($(nproc) - 1))
while [ $# -gt 0 ]; do
    case $1 in
    --only) only=${2:?} && shift 2 ;;
    --data) data=(--data "${2:?}") && shift 2 ;;
    --core) core=${2:?} && shift 2 ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done
python=build/venv/bin/python out=build/bench programs=build/release/bench

# run NAME COMMAND...: the JSON it prints becomes build/bench/speed-NAME.json, whole or not at all.
run() {
    local name=$1 start=$SECONDS
    shift
    say "$name"
    taskset -c "$core" "$@" --json > "$out/speed-$name.json.tmp"
    mv "$out/speed-$name.json.tmp" "$out/speed-$name.json"
    say "$name took $((SECONDS - start)) s"
}

# The kernel that is compared (see bench/peers_library.py): AVX2 where it runs.
own() {
    if "$programs/bench_kernels" --quick --json | grep -q '"avx2"'; then echo --kernel avx2; fi
}

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release >&2
"$python" -c 'import faiss, usearch, sklearn, opendp' 2>/dev/null ||
    "$python" -m pip install -q --disable-pip-version-check faiss-cpu usearch scikit-learn opendp >&2
mkdir -p "$out"

case ,$only, in *,kernels,*) run kernels "$programs/bench_kernels" ;; esac
case ,$only, in *,query,*) run query "$programs/bench_query" $(own) && run query-best "$programs/bench_query" ;; esac
case ,$only, in *,pack,*) run pack "$programs/bench_pack" $(own) && run pack-best "$programs/bench_pack" ;; esac
case ,$only, in *,open,*) run open "$programs/bench_open" ;; esac
case ,$only, in *,rank,*) run rank "$programs/bench_rank" $(own) ;; esac
case ,$only, in *,noise,*) run noise "$programs/bench_noise" ;; esac
case ,$only, in *,peers,*) run peers "$python" bench/peers.py "${data[@]}" ;; esac
case ,$only, in *,growth,*) run growth "$python" bench/growth.py ;; esac
"$python" bench/speed_report.py
say "the tables are in docs/RESULTS.md and docs/PLATFORMS.md, the figures in docs/figures"
