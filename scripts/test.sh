#!/usr/bin/env bash
# Builds and tests everything: compilers, sanitisers, valgrind, reduced builds, installation, the independent
# implementation, rooms, sizes, fuzzing. One line a step; the last line sums up steps and tests.
#
#   scripts/test.sh           about 15 minutes on two idle cores, after set-up
#   scripts/test.sh --long    also long versions of the statistical tests (PML_TEST_LONG=1), ten minutes per fuzz target,
#                             load, timing, the checks of the benches and of the paper, every artefact of a release
#                             made twice, the commands of docs/PACKAGES.md in a fresh Debian (which needs root), and
#                             all proofs with their planted bugs
#   scripts/test.sh --platforms    phones, boards, browsers, Windows, macOS and fleets of services instead: builds
#                                  and runs them, prints their table
#
#   PRIVATEMAIL_FUZZ_SECONDS  seconds per fuzz target (6; with --long 600)
#   PRIVATEMAIL_STEP_SECONDS  a step that takes longer is stopped and has failed (2400; with --long 36000)
#
# What a step printed is in build/logs or build/logs-platforms.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }

platforms=
for argument in "$@"; do
    case $argument in
    --platforms) platforms=yes ;;
    --long)
        export PML_TEST_LONG=1
        : "${PRIVATEMAIL_FUZZ_SECONDS:=600}" "${PRIVATEMAIL_STEP_SECONDS:=36000}"
        ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
done
export PIP_RETRIES=${PIP_RETRIES:-10} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-60} # tests of packages fetch some
fuzz_seconds=${PRIVATEMAIL_FUZZ_SECONDS:-6}
step_seconds=${PRIVATEMAIL_STEP_SECONDS:-2400}

logs=build/logs${platforms:+-platforms}
mkdir -p "$logs"
rm -f "$logs"/*.log "$logs"/*.sums "$logs"/*.cpu
jobs=$(nproc)

# ---- the steps' frame ------------------------------------------------------------------------------------------

# Sums up a log of ctest -V: the tests that Unity counted, and one for a program that is not Unity's or crashed.
count_tests() {
    awk '
        /^[0-9]+: [0-9]+ Tests [0-9]+ Failures [0-9]+ Ignored/ {
            n = $1; sub(":", "", n)
            bad[n] = $4; good[n] = $2 - $4 - $6
        }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
            n = $0; sub(/.*Test +#/, "", n); sub(/:.*/, "", n)
            ok = / Passed /
            passed += (n in good) ? good[n] : ok
            failed += bad[n] > 0 ? bad[n] : !ok
        }
        /^[0-9]+ (passed|proved), [0-9]+ failed/ { passed += $1; failed += $3 } # the programs in Python
        END { print passed + 0, failed + 0 }' "$1"
}

# ", N skipped" of a log's last sum, if there is one.
skipped() { sed -nE 's/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)$/\1/p' "$1" | tail -n 1; }

# in_time COMMAND...: runs it, and ends it with all its children when a step's time is over. Each job has a process group
# of its own, so that children end too.
in_time() {
    local command watch status
    set -m
    "$@" &
    command=$!
    { sleep "$step_seconds"; echo "stopped after $step_seconds s"; kill -KILL -- "-$command"; } &
    watch=$!
    set +m
    wait "$command"
    status=$?
    kill -KILL -- "-$watch" 2>/dev/null
    wait "$watch" 2>/dev/null
    return $status
}

# step NAME COMMAND...: runs it, prints one line, and the output when it failed. Leaves the sums in $logs/NAME.sums.
step() {
    local name=$1 log=$logs/${1// /-}.log start=$SECONDS word=ok good bad user system TIMEFORMAT='%U %S'
    shift
    [ -t 2 ] && printf '%s ...\r' "$name" >&2
    { time in_time "$@" >"$log" 2>&1 </dev/null || word=FAILED; } 2>"${log%.log}.cpu"
    read -r good bad < <(count_tests "$log")
    read -r user system < <(tail -n 1 "${log%.log}.cpu")
    printf '%-22s %-6s %4d s %5.0f of CPU%s\n' "$name" "$word" $((SECONDS - start)) \
        "$(awk "BEGIN { print ${user:-0} + ${system:-0} }")" \
        "$([ $((good + bad)) -gt 0 ] && echo "   $((good + bad)) tests")$(skipped "$log")"
    [ "$word" = ok ] || sed 's/^/    /' "$log"
    [ "$word" = ok ] && good=$((good + 1)) || bad=$((bad + 1))
    echo "$good $bad" > "${log%.log}.sums"
}

# A step that runs beside others: as many at a time as there are cores, unless at_once says another number.
at_once=$jobs
beside() {
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
        wait -n
    done
    step "$@" &
}

# The sum of all steps; a step that left none has failed.
sum_up() {
    local sums
    wait
    for sums in "$logs"/*.log; do
        cat "${sums%.log}.sums" 2>/dev/null || echo 0 1
    done | awk '{ passed += $1; failed += $2 } END { print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 }'
}

# ---- the steps -------------------------------------------------------------------------------------------------

build() { cmake --preset "$1" && cmake --build --preset "$1"; }

# build_and_test PRESET [OPTION OF CTEST...]
build_and_test() { build "$1" && ctest --preset "$1" -V -j "$jobs" "${@:2}"; }

# For builds whose paths other builds walk in full: a tenth of the rounds, unless --long.
build_and_test_quickly() {
    if [ -z "${PML_TEST_LONG:-}" ]; then local -x PML_TEST_QUICK=1; fi
    build_and_test "$@"
}

# The same without the tools, unless --long: for builds that differ in the core.
test_library_quickly() {
    cmake --preset "$1" -DPRIVATEMAIL_TOOLS="$([ -n "${PML_TEST_LONG:-}" ] && echo ON || echo OFF)" &&
        build_and_test_quickly "$1"
}

python() {
    local python=build/venv/bin/python
    [ -x "$python" ] || python=python3
    "$python" "$@"
}

# The programs of a build whose names begin with PREFIX, for xargs -0; it is an error when there are none.
programs() { find "$1" -maxdepth 1 -type f -perm -u+x -name "$2*" -print0 | sort -z | grep -z .; }

# What reads the formats of the server, in the release build; the sanitisers have the core. Not through ctest: it would
# need its dashboard's configuration. Valgrind is slow, so tests are asked to be quick. It runs one thread at a time: with
# a fair choice among them, or readers that never rest keep a writer from its turn for hours.
valgrind_tests() {
    local formats='npy|candidate|files|gateway|http_fields|store|store_hostile|store_folder'
    programs build/release/tests/server test_ | grep -zE "test_($formats)\$" |
        env -u PML_TEST_LONG PML_TEST_QUICK=1 xargs -0 -r -n 1 -P "$jobs" \
            valgrind -q --fair-sched=yes --leak-check=full --error-exitcode=9
}

# Inputs found are kept in build/corpus, so that the next run starts where this one ended.
fuzz_one() {
    local name seeds
    name=$(basename "$1")
    seeds=build/seeds/${name#fuzz_}
    mkdir -p "build/corpus/$name"
    "$1" -max_total_time="$fuzz_seconds" -timeout=20 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="build/corpus/$name-" "build/corpus/$name" $([ -d "$seeds" ] && echo "$seeds")
}
export -f fuzz_one
export fuzz_seconds

fuzz_all() {
    build fuzz && rm -rf build/seeds && build/release/make_corpus build/seeds &&
        programs build/fuzz/tests fuzz_ | xargs -0 -r -n 1 -P "$jobs" bash -c 'fuzz_one "$0"'
}

page_tests() {
    scripts/build-wasm.sh --out build/page-wasm &&
        node tests/page/test_answer_reader.mjs &&
        python tests/page/test_words.py &&
        python tests/page/test_page.py build/release/cli/privatemail build/page-wasm
}

# The relay is a process of many threads: its tests with a sanitiser in it.
relay_tests() {
    cmake --preset "$1" && cmake --build --preset "$1" --target privatemail_cli || return
    local test
    for test in relay relay_faults relay_real; do
        python tests/cli/test_$test.py "build/$1/cli/privatemail" || return
    done
}

# The commands of the documents, then those that need what --platforms sets up.
all_documents() {
    python tests/docs/run_blocks.py build/release/cli/privatemail &&
        python tests/docs/run_blocks.py build/release/cli/privatemail --platforms
}

# Each tests/platforms/NAME.sh builds and runs one family of platforms in build/platforms/NAME and leaves its rows of
# the matrix in build/platforms/NAME.rows.
platform_families=(linux windows macos baremetal wasm android ios)

matrix() {
    local name
    echo '| platform | builds | runs here | golden bytes | .text | RAM | stack |'
    echo '|---|---|---|---|---|---|---|'
    for name in "${platform_families[@]}"; do
        cat "build/platforms/$name.rows" || return 1
    done
}

all_platforms() {
    local name
    step setup scripts/setup.sh --platforms --page --services
    rm -rf build/platforms/*.rows
    mkdir -p build/platforms
    step release build release
    at_once=$((jobs + 1)) # emulators often wait; the longest steps first
    beside windows tests/platforms/windows.sh
    for name in "${platform_families[@]}"; do
        [[ $name = windows || $name = ios ]] || beside "$name" "tests/platforms/$name.sh"
    done
    beside python tests/install/python_test.sh
    beside secrets tests/check_secrets.sh --all
    beside branches python tests/check_branches.py --all
    beside wipe tests/check_wipe.sh --all
    beside lists python tests/server/test_lists.py build/release/cli/privatemail
    beside descriptions tests/install/descriptions_test.sh
    beside embedding python tests/server/test_embedding.py build/release/place_rows
    wait
    at_once=$jobs
    step ios tests/platforms/ios.sh # by itself: its sanitisers keep all cores busy, and its clients have clocks
    beside databases ctest --preset release -V -R in_postgres
    beside living python tests/cli/test_living.py build/release/cli/privatemail --sequences 4 --kinds postgres --seed 2
    beside faults python tests/cli/test_faults.py build/release/cli/privatemail
    beside page page_tests
    beside documents all_documents
    wait
    if [ -n "${PML_TEST_LONG:-}" ]; then
        step "ARM instructions" bench/arm_instructions.sh
        step "energy" python bench/energy.py
    fi
    matrix
}

# First what keeps all cores busy by itself, then what needs one, as many at a time as there are cores.
everything() {
    local command=build/release/cli/privatemail
    step setup scripts/setup.sh --page --services
    step gcc build_and_test release -E in_postgres
    step clang test_library_quickly clang
    step "response only" test_library_quickly response-only
    step "gaussian only" test_library_quickly gaussian-only
    step "without fronts" build_and_test_quickly no-front
    step "address, undefined" build_and_test asan -E in_postgres
    step memory test_library_quickly msan
    step valgrind valgrind_tests
    step fuzz fuzz_all
    beside secrets tests/check_secrets.sh
    beside branches python tests/check_branches.py
    beside wipe tests/check_wipe.sh
    beside install tests/install/install_test.sh build/release
    beside library tests/install/library_test.sh
    beside amalgamation tests/install/amalgamation_test.sh
    beside manifests tests/install/manifests_test.sh
    beside statuses python tests/check_status.py
    beside version python tests/check_version.py
    beside release python tests/check_release.py
    beside links python tests/docs/check_links.py
    beside soundness python tests/docs/check_soundness.py
    beside "tell users" python tests/docs/check_tell_users.py
    beside "golden vectors" python tests/golden/make_vectors.py --check
    beside "golden heads" python tests/golden/make_heads.py --check
    beside "golden sketches" python tests/golden/make_sketches.py --check
    beside "golden seals" python tests/golden/make_sealed.py --check
    beside reference python tests/golden/test_reference.py
    beside mathematics python tests/check_math.py build/release/math_eval
    beside "crowd theorems" python tests/crowd/check_crowd.py
    beside "whole crowds" python tests/crowd/enumerate_crowds.py
    beside law python tests/law/check_law.py
    beside accounting python tests/crowd/check_accounting.py build/release/crowd_eval
    beside "sealed messages" python tests/transport/check_interop.py build/release/transport_eval
    beside "crowd command" python tests/cli/test_crowd.py $command
    beside "crowd messages" python tests/cli/test_crowd_messages.py $command
    beside "crowd kept" python tests/cli/test_crowd_kept.py $command
    beside "relay query" python tests/cli/test_relay_query.py $command
    beside command python tests/cli/test_cli.py $command
    beside compat python tests/compat/test_compat.py $command
    beside sample python tests/cli/test_sample.py $command
    beside audit python tests/cli/test_audit.py $command
    beside "outside audits" python tests/law/outside_audit.py $command build/release/make_releases
    beside train python tests/cli/test_train.py $command
    beside "train labels" python tests/cli/test_train_labels.py $command
    beside map python tests/cli/test_map.py $command
    beside groups python tests/cli/test_groups.py $command
    beside belief python tests/cli/test_belief.py $command
    beside index python tests/cli/test_index.py $command
    beside evaluate python tests/cli/test_evaluate.py $command
    beside advise python tests/cli/test_advise.py $command
    beside modalities python tests/cli/test_modalities.py $command
    beside heads python tests/cli/test_head.py $command
    beside serve python tests/cli/test_serve.py $command
    beside follow python tests/cli/test_follow.py $command
    beside living python tests/cli/test_living.py $command --sequences 12
    beside gateway python tests/cli/test_gateway.py $command
    beside relay python tests/cli/test_relay.py $command
    beside "relay, faults" python tests/cli/test_relay_faults.py $command
    beside "relay, gateway" python tests/cli/test_relay_real.py $command
    beside "relay, proxy" python tests/cli/test_relay_proxy.py $command
    beside postgres python tests/cli/test_postgres.py $command
    beside examples python tests/cli/test_examples.py $command
    beside rooms scripts/check-rooms.sh
    beside size scripts/size.sh
    wait
    [ -z "${PML_TEST_LONG:-}" ] || long_steps
}

# Measurements, and checks of somebody else's paper: nothing that a change of the code can break unnoticed elsewhere.
long_steps() {
    step "relay, addresses" relay_tests asan
    step "relay, threads" relay_tests tsan
    step living python tests/cli/test_living.py build/release/cli/privatemail --sequences 1000 --kinds sqlite,dir,postgres \
        --seed 4
    step load python bench/load.py build/release/cli/privatemail --check
    step "relay bytes" python bench/relay_bytes.py build/release/cli/privatemail --check
    step "small relay" python bench/relay_small.py build/release/cli/privatemail --check
    step timing python tests/check_timing.py build/release/timing
    step "platforms' tools" scripts/setup.sh --platforms # which the next two need
    step "whole release" python tests/check_release.py --all
    step "first success" tests/install/first_success.sh
    step paper python bench/paper_defects.py --check
    step utility python bench/utility.py --check
    step benches python bench/speed_check.py
    step proofs scripts/prove.sh
    step "planted gaps" scripts/prove.sh --planted
}

if [ -n "$platforms" ]; then all_platforms; else everything; fi
sum_up
