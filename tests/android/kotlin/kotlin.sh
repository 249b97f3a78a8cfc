#!/usr/bin/env bash
# What an app sees of the AAR: README's programs of ten lines, in Java and in Kotlin, in an empty folder over the AAR's
# classes and a library for this desktop; and the layer for Kotlin against privatemail serve.
#
#   tests/android/kotlin/kotlin.sh   after tests/android/aar/aar.sh, whose AAR it takes; builds in
#                                    build/platforms/android/kotlin; the last line is 'N passed, N failed'
#
#   PRIVATEMAIL_KOTLIN               folder of the jars of a Kotlin compiler and of kotlinx.coroutines, unless
#                                    scripts/setup.sh --platforms put them into build/venv
#
# Without build/release's command there is no server, and without a compiler no Kotlin: it says what it left out.
set -euo pipefail

cd "$(dirname "$0")/../../.."
source tests/platforms/frame.sh
source tests/android/android_shared.sh

out=$PWD/build/platforms/android/kotlin
aar=$PWD/build/platforms/android/aar/privatemail
jars=("${PRIVATEMAIL_KOTLIN:-none}"/*.jar)
libraries=$(IFS=:; echo "${jars[*]}")

needs cmake java javac unzip

# By the commands of README.
build_desktop() {
    cmake -S . -B "$out/jni" -DPRIVATEMAIL_JNI=ON -DPRIVATEMAIL_TESTS=OFF -DPRIVATEMAIL_TOOLS=OFF &&
        cmake --build "$out/jni" -j 2 && unzip -oq "$aar.aar" classes.jar -d "$out/jni"
}

# README's blocks in Kotlin that are files of their own, one file each; a main is a whole program.
kotlin_of_readme() {
    awk -v folder="$out/readme" '
        /^```kotlin$/ { inside = 1; text = ""; program = 0; next }
        /^```$/ && inside {
            inside = 0
            if (text ~ /^import /) printf "%s", text >(folder "/" (program ? "Ask" : "part" ++n) ".kt")
        }
        inside { text = text $0 "\n" }
        inside && /^fun main/ { program = 1 }' android/README.md
    [ -s "$out/readme/Ask.kt" ]
}

java_of_readme() {
    awk -v file="$out/readme/Ask.java" '
        /^```java$/ { inside = 1; text = ""; wanted = 0; next }
        /^```$/ && inside { inside = 0; if (wanted) printf "%s", text >file }
        inside { text = text $0 "\n" }
        inside && /^final class Ask / { wanted = 1 }' android/README.md
    [ -s "$out/readme/Ask.java" ] &&
        javac -Xlint:all -Werror -cp "$out/jni/classes.jar" -d "$out/java" "$out/readme/Ask.java"
}

# kotlin FOLDER SOURCE...: an app's compiler, with no option but what it is for.
kotlin() {
    local folder=$1
    shift
    java -cp "$libraries" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect \
        -cp "$out/jni/classes.jar:$aar-kotlin.jar:$libraries" -d "$folder" "$@"
}

# A file of README and of the tests is compiled once, in one go: the compiler takes longer to start than to work.
compile_kotlin() {
    kotlin_of_readme && kotlin "$out/classes" -Werror "$out"/readme/*.kt tests/android/kotlin/*.kt
}

# Each line is a mistake that must be an error, and the last is none.
knows_of_null() {
    local line
    printf '%s\n' 'import org.privatemail.*' 'import org.privatemail.kotlin.*' 'fun mistakes(pack: Pack, client: Client) {' \
        'Pack.open(null, null)' 'pack.rows(ByteArray(1)).size' 'pack.model().length' 'client.arm(null)' \
        'pack.describe().model.length' 'client.release(FloatArray(1), 0).bytes().size' '}' >"$out/mistakes.kt"
    ! kotlin "$out/mistakes" "$out/mistakes.kt" 2>"$out/mistakes.log" || return 1
    cat "$out/mistakes.log"
    for line in 4 5 6 7 8; do
        grep -q "mistakes.kt:$line:.*error:.*null" "$out/mistakes.log" || return 1
    done
    ! grep -q 'mistakes.kt:9:' "$out/mistakes.log"
}

# The compiler knows nothing of Gradle, so every name is an error to it. It stops before, when the syntax is wrong.
gradle_syntax() {
    local script
    for script in android/*.gradle.kts android/*/build.gradle.kts; do
        cp "$script" "$out/gradle/$(tr / _ <<<"${script%.gradle.kts}").kts"
    done
    echo 'fun broken( {' >"$out/gradle/broken.kts"
    ! kotlin "$out/gradle/none" -Xallow-any-scripts-in-source-roots "$out"/gradle/*.kts 2>"$out/gradle.log"
    grep -i 'syntax' "$out/gradle.log" | tee "$out/syntax.log"
    grep -q 'broken.kts' "$out/syntax.log" && ! grep -v 'broken.kts' "$out/syntax.log"
}

# A program in a folder that holds nothing: no class and no file of this project but what the path names.
in_empty_folder() { # NAME CLASSPATH CLASS
    local folder=$out/empty/$1
    mkdir -p "$folder"
    (cd "$folder" && java -Xcheck:jni -Djava.library.path="$out/jni" -cp "$2" "$3" "${real[0]}" "$pack_id") |
        tee "$folder.log"
    grep -qE '^[0-9]+ of [1-9][0-9]* items$' "$folder.log"
}

run_test() {
    java -Xcheck:jni -Djava.library.path="$out/jni" -cp "$out/classes:$out/jni/classes.jar:$aar-kotlin.jar:$libraries" \
        org.privatemail.kotlin.test.SuspendingTestKt "${real[@]}" "$model" "$out/real/shapes/gallery.npy" \
        "$out/real/shapes/gallery_labels.npy" "$out/folder"
}

jni_is_content() { ! grep -hE 'WARNING|FATAL ERROR' "$out"/empty/*.log "$out/layer.log"; }

start_servers() { start_server shapes 1 && start_server successor 2; }

# ---- all of it -------------------------------------------------------------------------------------------------

rm -rf "$out"/{readme,java,classes,mistakes,gradle,empty,folder,real}
mkdir -p "$out"/{readme,java,gradle,empty,folder}
must "a library for the desktop's Java builds by README's commands" build_desktop || { sum_up; exit 1; }
must "README's program of ten lines in Java compiles" java_of_readme || { sum_up; exit 1; }

kotlin=
if [ ! -f "${jars[0]}" ]; then
    echo "skipped Kotlin: there is no compiler; run scripts/setup.sh --platforms"
elif must "README's Kotlin and the test of the layer compile" compile_kotlin; then
    kotlin=yes
    check "Kotlin refuses null where it may not be, and wants a look where it may" knows_of_null
    check "the syntax of Gradle's scripts is Kotlin's" gradle_syntax
fi

if [ -x build/release/cli/privatemail ]; then
    trap stop_servers EXIT
    must "privatemail serve serves the sample gallery, with two packs" start_servers || { sum_up; exit 1; }
    pack_id=$(build/release/cli/privatemail inspect "${real[1]}" --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["pack"])')
    check "ten lines of Java in an empty folder search" \
        in_empty_folder java "$out/java:$out/jni/classes.jar" org.example.Ask
    if [ -n "$kotlin" ]; then
        check "ten lines of Kotlin in an empty folder search" \
            in_empty_folder kotlin "$out/classes:$out/jni/classes.jar:$aar-kotlin.jar:$libraries" AskKt
        counted layer run_test
        check "-Xcheck:jni says nothing" jni_is_content
    fi
else
    echo "skipped searches: there is no build/release/cli/privatemail"
fi
sum_up
