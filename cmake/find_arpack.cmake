# Finds the header of ARPACK for tools/algebra, which loads the library when it runs. Sets PRIVATEMAIL_ARPACK_FOUND and
# PRIVATEMAIL_ARPACK_INCLUDE. It is for the building machine, and not instrumented.
set(PRIVATEMAIL_ARPACK_FOUND OFF)
if(NOT CMAKE_CROSSCOMPILING AND NOT WIN32 AND NOT CMAKE_C_FLAGS MATCHES "sanitize=memory")
    find_path(PRIVATEMAIL_ARPACK_INCLUDE arpack.h PATH_SUFFIXES arpack arpack-ng DOC "Folder of arpack.h")
    mark_as_advanced(PRIVATEMAIL_ARPACK_INCLUDE)
    if(PRIVATEMAIL_ARPACK_INCLUDE)
        set(PRIVATEMAIL_ARPACK_FOUND ON)
    endif()
endif()
