# SPDX-License-Identifier: Apache-2.0
# Stands in for Visual Studio, so that what CMakeLists.txt does for Microsoft's compiler runs where there is none: clang
# behind cl's options and for Microsoft's ABI, with LLVM's librarian and linker, and the few declarations and imports that
# the library needs of Windows, which tests/platforms/windows.sh puts into the folder PRIVATEMAIL_SDK of the environment.
# It does not show that cl.exe itself agrees.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)

set(sdk $ENV{PRIVATEMAIL_SDK})
set(CMAKE_C_COMPILER ${sdk}/clang-cl)
set(CMAKE_C_COMPILER_TARGET x86_64-pc-windows-msvc)
set(CMAKE_AR llvm-lib)
set(CMAKE_LINKER lld-link)
set(CMAKE_MT llvm-mt)
set(CMAKE_RC_COMPILER llvm-rc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# Without Microsoft's C library, and what it has for stack cookies.
set(CMAKE_C_FLAGS_INIT "-imsvc ${sdk} /GS- /Zl")
set(CMAKE_C_STANDARD_LIBRARIES "" CACHE STRING "")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "/nodefaultlib /noentry /libpath:${sdk} msvcrt.lib floating.obj")
