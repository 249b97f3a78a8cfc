# SPDX-License-Identifier: Apache-2.0
# 64-bit ARM Linux by Debian's cross compiler. The tests run under user-mode QEMU; -DPRIVATEMAIL_EMULATED_CPU=cortex-a53
# (any of `qemu-aarch64-static -cpu help`) shows them another CPU than the best.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(PRIVATEMAIL_EMULATED_CPU max CACHE STRING "CPU that QEMU shows to the tests")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu ${PRIVATEMAIL_EMULATED_CPU})
