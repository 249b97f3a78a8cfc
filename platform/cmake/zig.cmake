# SPDX-License-Identifier: Apache-2.0
# Windows, macOS and Linux of any age by zig, whose C compiler is a clang with the headers and import libraries of all
# three. It is PyPI's package ziglang, which scripts/setup.sh --platforms installs; a zig in PATH does as well.
#
#   -DPRIVATEMAIL_TARGET=x86_64-windows-gnu     or aarch64-windows-gnu, aarch64-macos, x86_64-macos, and
#                        x86_64-linux-gnu.2.17, aarch64-linux-gnu.2.17 for a glibc of 2012 and later
#
# The tests for 64-bit Windows on x86 run under wine. Programs for macOS run only there.
set(PRIVATEMAIL_TARGET "" CACHE STRING "Zig's name of the system to build for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PRIVATEMAIL_TARGET)
if(PRIVATEMAIL_TARGET MATCHES "^([^-]+)-windows-gnu$")
    set(CMAKE_SYSTEM_NAME Windows)
elseif(PRIVATEMAIL_TARGET MATCHES "^([^-]+)-macos$")
    set(CMAKE_SYSTEM_NAME Darwin)
elseif(PRIVATEMAIL_TARGET MATCHES "^([^-]+)-linux-gnu[.0-9]*$")
    set(CMAKE_SYSTEM_NAME Linux)
else()
    message(FATAL_ERROR "PRIVATEMAIL_TARGET is '${PRIVATEMAIL_TARGET}', not one of those that zig.cmake names.")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})

file(GLOB environments ${CMAKE_CURRENT_LIST_DIR}/../../build/venv/lib/python3*/site-packages/ziglang)
find_program(PRIVATEMAIL_ZIG zig HINTS ${environments} REQUIRED)
find_program(CMAKE_AR llvm-ar REQUIRED)
find_program(CMAKE_RANLIB llvm-ranlib REQUIRED)
set(CMAKE_C_COMPILER ${PRIVATEMAIL_ZIG} cc)
set(CMAKE_C_COMPILER_TARGET ${PRIVATEMAIL_TARGET})
# Else zig writes for a debugger where it was called, and how: in objects, and in what it links of its own. Those for
# Windows name their own path even so.
add_compile_options(-g0)
if(CMAKE_SYSTEM_NAME STREQUAL "Windows")
    add_compile_options("SHELL:-Xclang -object-file-name=object")
    set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
    set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
endif()

# Nothing of this machine is of use there. Libraries for Linux have the names of this machine's: nowhere is where to look.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/nowhere CACHE STRING "Where libraries for the target are")
    set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_FIND_ROOT_PATH})
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

if(CMAKE_SYSTEM_NAME STREQUAL "Windows" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    # Debian puts it outside of PATH.
    find_program(PRIVATEMAIL_WINE NAMES wine64 wine HINTS /usr/lib/wine)
    if(PRIVATEMAIL_WINE)
        set(CMAKE_CROSSCOMPILING_EMULATOR ${PRIVATEMAIL_WINE})
    endif()
endif()
