# SPDX-License-Identifier: Apache-2.0
# The library as a component of ESP-IDF: the top CMakeLists.txt comes here when ESP-IDF reads it. ESP-IDF links with
# --gc-sections, so that what an app does not call takes no flash. The entropy callback is the app's.
include(${CMAKE_CURRENT_LIST_DIR}/edge.cmake)
pml_edge_sources(sources GAUSSIAN CROWD FRONT HEAD)
idf_component_register(SRCS ${sources} INCLUDE_DIRS ${PML_EDGE_INCLUDES} PRIV_INCLUDE_DIRS ${PML_EDGE_PRIVATE_INCLUDES})
target_compile_definitions(${COMPONENT_LIB} PRIVATE ${sources_DEFINITIONS})
target_compile_options(${COMPONENT_LIB} PRIVATE ${PML_EDGE_OPTIONS})
