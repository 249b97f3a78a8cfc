# Finds the headers of LAPACKE and CBLAS for tools/algebra, which loads the libraries when it runs. Sets
# PRIVATEMAIL_LAPACKE_FOUND and PRIVATEMAIL_LAPACKE_INCLUDE. They are for the building machine, and not instrumented.
set(PRIVATEMAIL_LAPACKE_FOUND OFF)
if(NOT CMAKE_CROSSCOMPILING AND NOT WIN32 AND NOT CMAKE_C_FLAGS MATCHES "sanitize=memory")
    find_path(PRIVATEMAIL_LAPACKE_HEADER lapacke.h PATH_SUFFIXES lapacke openblas DOC "Folder of lapacke.h")
    find_path(PRIVATEMAIL_CBLAS_HEADER cblas.h PATH_SUFFIXES openblas DOC "Folder of cblas.h")
    mark_as_advanced(PRIVATEMAIL_LAPACKE_HEADER PRIVATEMAIL_CBLAS_HEADER)
    if(PRIVATEMAIL_LAPACKE_HEADER AND PRIVATEMAIL_CBLAS_HEADER)
        set(PRIVATEMAIL_LAPACKE_INCLUDE ${PRIVATEMAIL_LAPACKE_HEADER} ${PRIVATEMAIL_CBLAS_HEADER})
        list(REMOVE_DUPLICATES PRIVATEMAIL_LAPACKE_INCLUDE)
        set(PRIVATEMAIL_LAPACKE_FOUND ON)
    endif()
endif()
