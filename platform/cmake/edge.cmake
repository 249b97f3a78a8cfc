# SPDX-License-Identifier: Apache-2.0
# The library's sources for build systems of microcontrollers that have their own way of making a library.
#
#   pml_edge_sources(OUT [GAUSSIAN] [CROWD] [FRONT] [HEAD])    sets OUT to absolute paths, and OUT_DEFINITIONS to the
#                                                             macros that go with them; response is always there
set(pml_edge_top ${CMAKE_CURRENT_LIST_DIR}/../..)
include(${pml_edge_top}/core/sources.cmake)
set(PML_EDGE_INCLUDES ${pml_edge_top}/core/include ${pml_edge_top}/platform)
set(PML_EDGE_PRIVATE_INCLUDES ${pml_edge_top}/core)
# A chip with fused multiply-add would otherwise release other bytes than all other devices.
set(PML_EDGE_OPTIONS -std=c11 -ffp-contract=off)

function(pml_edge_sources out)
    cmake_parse_arguments(with "GAUSSIAN;CROWD;FRONT;HEAD" "" "" ${ARGN})
    set(core ${PML_CORE_SOURCES} ${PML_CORE_RESPONSE_SOURCES})
    set(definitions PML_WITH_RESPONSE=1)
    foreach(part GAUSSIAN CROWD FRONT HEAD)
        if(with_${part})
            list(APPEND core ${PML_CORE_${part}_SOURCES})
            list(APPEND definitions PML_WITH_${part}=1)
        else()
            list(APPEND definitions PML_WITH_${part}=0)
        endif()
    endforeach()
    if(with_CROWD)
        list(APPEND core ${PML_CORE_CROWD_ACCOUNTING_SOURCES})
    endif()
    if(with_GAUSSIAN OR with_FRONT)
        list(APPEND core ${PML_CORE_EXPONENTIAL_SOURCES})
    endif()
    if(with_GAUSSIAN OR with_CROWD)
        list(APPEND core ${PML_CORE_NORMAL_SOURCES})
    endif()
    list(TRANSFORM core PREPEND ${pml_edge_top}/core/)
    # Kernels of other architectures compile to nothing.
    file(GLOB kernels ${pml_edge_top}/platform/kernels_*.c)
    set(${out} ${core} ${kernels} PARENT_SCOPE)
    set(${out}_DEFINITIONS ${definitions} PARENT_SCOPE)
endfunction()
