# SPDX-License-Identifier: Apache-2.0
# 32-bit ARM Linux (ARMv7-A with NEON and VFPv4, hard float) by Debian's cross compiler. The tests run under user-mode
# QEMU; -DPRIVATEMAIL_EMULATED_CPU=max (any of `qemu-arm-static -cpu help`) shows them another CPU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7l)

set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard")

set(CMAKE_FIND_ROOT_PATH /usr/arm-linux-gnueabihf)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(PRIVATEMAIL_EMULATED_CPU cortex-a7 CACHE STRING "CPU that QEMU shows to the tests")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm-static -L /usr/arm-linux-gnueabihf -cpu ${PRIVATEMAIL_EMULATED_CPU})
