# Stands in for an NDK's toolchain file, so that what scripts/build-aar.sh --ndk and CMakeLists.txt do for Android runs
# where there is no NDK: clang and lld, with headers, libc.so and helpers that scripts/build-aar.sh made before, in the
# folder PRIVATEMAIL_PARTS of the environment. It does not show that a real NDK agrees.

set(parts $ENV{PRIVATEMAIL_PARTS})
set(targets
    "arm64-v8a:--target=aarch64-linux-android24"
    "armeabi-v7a:--target=armv7a-linux-androideabi24 -mthumb -mfpu=vfpv3-d16 -mfloat-abi=softfp -meabi gnu"
    "x86_64:--target=x86_64-linux-android24"
    "x86:--target=i686-linux-android24 -mstackrealign")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_ABI)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# What CMake's own Android platform sets; it would ask for a real NDK.
set(CMAKE_SYSTEM_NAME Linux)
set(ANDROID TRUE)
set(CMAKE_PLATFORM_NO_VERSIONED_SONAME TRUE)

# Only a real NDK makes use of these.
set(unused ${ANDROID_PLATFORM} ${ANDROID_STL} ${ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES})

set(CMAKE_C_COMPILER /usr/bin/clang)
foreach(target ${targets})
    if(target MATCHES "^${ANDROID_ABI}:(.*)")
        set(CMAKE_C_FLAGS_INIT "${CMAKE_MATCH_1} -nostdlibinc -isystem ${parts}/include")
    endif()
endforeach()
set(CMAKE_SHARED_LINKER_FLAGS_INIT
    "-fuse-ld=lld -nostdlib ${parts}/${ANDROID_ABI}/integer_helpers.o ${parts}/${ANDROID_ABI}/libc.so -Wl,--no-undefined")
