# Sourced by checks that compile the library themselves, from the top folder: the core's files, and all kernels (those of
# other CPUs compile to nothing).
sources() {
    sed -n '/^set(/,/^)/p' core/sources.cmake | grep -oE '^ +[a-z0-9_/]+\.c' | sed -E 's|^ +|core/|'
    ls platform/kernels_*.c
}
# The same of transport/, and of BearSSL what it takes, whose folder is $bearssl.
bearssl=${BEARSSL_DIR:-${PRIVATEMAIL_CACHE:-$HOME/.cache/privatemail}/bearssl}
transport_sources() {
    ls transport/*.c transport/bearssl/*.c core/base/wipe.c
    sed -n '/^set(PML_BEARSSL_SOURCES/,/^)/p' transport/transport_sources.cmake | grep -oE 'src/.*\.c' | sed "s|^|$bearssl/|"
}
export bearssl
export -f sources transport_sources
