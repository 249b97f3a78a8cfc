#!/usr/bin/env bash
# What the scripts share that run the unit tests by ctest: sourced after frame.sh, never run.

jobs=2
releases=$(grep -c '^release' tests/golden/vectors.txt)

# One line a test program, from a log of ctest -V: "NAME OUTCOME TESTS FAILURES IGNORED"; programs that are not Unity's
# count as one test.
outcomes() {
    awk '
        /^[0-9]+: [0-9]+ Tests [0-9]+ Failures [0-9]+ Ignored/ {
            n = $1 + 0; tests[n] = $2; bad[n] = $4; ignored[n] = $6
        }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
            n = $0; sub(/.*Test +#/, "", n); n += 0
            name = $0; sub(/.*Test +#[0-9]+: /, "", name); sub(/ .*/, "", name)
            if (!(n in tests)) { tests[n] = 1; bad[n] = !/ Passed /; ignored[n] = 0 }
            print name, / Passed / ? "Passed" : "Failed", tests[n], bad[n], ignored[n]
        }' "$1" | sort
}

# run_tests NAME FOLDER OPTION...: counts every test of every program that ctest runs.
run_tests() {
    local name=$1 folder=$2 program outcome tests bad ignored
    shift 2
    [ -n "${PML_TEST_LONG:-}" ] || export PML_TEST_QUICK=1
    ctest --test-dir "$folder" -V -j "$jobs" --timeout 600 "$@" >"$folder/ctest.log" 2>&1 || true
    sed -i 's/\r$//' "$folder/ctest.log" # of programs for Windows
    outcomes "$folder/ctest.log" >"$folder/outcomes"
    while read -r program outcome tests bad ignored; do
        if [ "$outcome" = Passed ]; then
            echo "ok      $name: $program, $((tests - ignored)) tests, $ignored left out" | sed 's/, 0 left out$//'
        else
            echo "FAILED  $name: $program: see $folder/ctest.log"
            grep -F "/$program.c:" "$folder/ctest.log" | grep ':FAIL' | sed 's/^/        /' || true
            [ "$bad" -gt 0 ] || bad=1
        fi
        passed=$((passed + tests - bad - ignored))
        failed=$((failed + bad))
    done <"$folder/outcomes"
}

# The releases in the vectors' text are those of the header that test_golden compares one by one.
golden_is_compiled() {
    local header
    header=$(sed -n '/golden_releases\[\]/,/^};/p' tests/golden/vectors.h | grep -cE '^ +\{ "')
    echo "$header in vectors.h, $releases in vectors.txt"
    [ "$header" = "$releases" ]
}

golden_of() { # FOLDER
    if grep -q '^test_golden Passed' "$1/outcomes"; then echo "$releases of $releases"; else echo "0 of $releases"; fi
}

# Memory of the client that the matrix speaks of, as test_memory printed it.
memory_of() { # FOLDER
    awk '$2 == "response" && $3 == 512 && $4 == 100 { print $NF " bytes" }' "$1/ctest.log"
}
