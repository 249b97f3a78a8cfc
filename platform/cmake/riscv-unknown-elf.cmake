# SPDX-License-Identifier: Apache-2.0
# Bare-metal RISC-V with GNU's compiler (Debian: gcc-riscv64-unknown-elf, which makes 32-bit code too). Needs
# PRIVATEMAIL_CPU.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_ASM_COMPILER riscv64-unknown-elf-gcc)

# A program needs a board's linker script, which CMake's own trials do not have.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PRIVATEMAIL_CPU)

set(pml_cpu_rv32imc "-mabi=ilp32")
set(pml_cpu_rv32imac "-mabi=ilp32")
set(pml_cpu_rv64imac "-mabi=lp64")
set(pml_cpu_rv64imafdc "-mabi=lp64d")
if(NOT DEFINED pml_cpu_${PRIVATEMAIL_CPU})
    message(FATAL_ERROR "PRIVATEMAIL_CPU is '${PRIVATEMAIL_CPU}': give rv32imc, rv32imac, rv64imac or rv64imafdc, or use "
                        "a toolchain file of your own.")
endif()

# A section for each function and table, so that the linker leaves out what is not used. Code may be anywhere: medany.
# Firmware of this project has no global pointer. This compiler comes without a C library, so it is freestanding.
set(pml_cpu "-march=${PRIVATEMAIL_CPU} ${pml_cpu_${PRIVATEMAIL_CPU}} -mcmodel=medany")
set(CMAKE_C_FLAGS_INIT "${pml_cpu} -ffreestanding -msmall-data-limit=0 -ffunction-sections -fdata-sections")
set(CMAKE_ASM_FLAGS_INIT "${pml_cpu}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
