# Sourced by checks that compile the library themselves, from the top folder: the core's files, and all kernels (those of
# other CPUs compile to nothing).
sources() {
    sed -n '/^set(/,/^)/p' core/sources.cmake | grep -oE '^ +[a-z0-9_/]+\.c' | sed -E 's|^ +|core/|'
    ls platform/kernels_*.c
}
export -f sources
