# SPDX-License-Identifier: Apache-2.0
# Bare-metal Cortex-M with GNU Arm Embedded (Debian: gcc-arm-none-eabi). Needs PRIVATEMAIL_CPU.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)

# A program needs a board's linker script, which CMake's own trials do not have.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PRIVATEMAIL_CPU)

set(pml_cpu_cortex-m0 "-mfloat-abi=soft")
set(pml_cpu_cortex-m4 "-mfloat-abi=hard -mfpu=fpv4-sp-d16")
set(pml_cpu_cortex-m7 "-mfloat-abi=hard -mfpu=fpv5-d16")
set(pml_cpu_cortex-m55 "-mfloat-abi=hard")
if(NOT DEFINED pml_cpu_${PRIVATEMAIL_CPU})
    message(FATAL_ERROR "PRIVATEMAIL_CPU is '${PRIVATEMAIL_CPU}': give cortex-m0, cortex-m4, cortex-m7 or cortex-m55, "
                        "or use a toolchain file of your own.")
endif()

# A section for each function and table, so that the linker leaves out what is not used.
set(CMAKE_C_FLAGS_INIT
    "-mcpu=${PRIVATEMAIL_CPU} -mthumb ${pml_cpu_${PRIVATEMAIL_CPU}} -ffunction-sections -fdata-sections")
set(CMAKE_ASM_FLAGS_INIT "-mcpu=${PRIVATEMAIL_CPU} -mthumb ${pml_cpu_${PRIVATEMAIL_CPU}}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
