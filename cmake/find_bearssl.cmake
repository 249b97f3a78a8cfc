# Finds BearSSL for transport/: its library where that is for the target, else its sources, which scripts/setup.sh
# fetches. Sets PRIVATEMAIL_BEARSSL_FOUND. Debian's library is for the building machine, and is not instrumented.
if(CMAKE_CROSSCOMPILING OR CMAKE_C_FLAGS MATCHES "sanitize=memory")
    set(PRIVATEMAIL_BEARSSL_LIBRARY "" CACHE FILEPATH "BearSSL's library")
else()
    # The static one first: it gives only what is used, and the command runs where there is no BearSSL.
    find_library(PRIVATEMAIL_BEARSSL_LIBRARY NAMES libbearssl.a bearssl DOC "BearSSL's library")
    find_path(PRIVATEMAIL_BEARSSL_INCLUDE bearssl.h DOC "Folder of BearSSL's headers")
endif()
find_path(PRIVATEMAIL_BEARSSL inc/bearssl.h
    HINTS $ENV{BEARSSL_DIR} $ENV{PRIVATEMAIL_CACHE}/bearssl $ENV{HOME}/.cache/privatemail/bearssl
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
    DOC "Folder of BearSSL's sources")
if((PRIVATEMAIL_BEARSSL_LIBRARY AND PRIVATEMAIL_BEARSSL_INCLUDE) OR PRIVATEMAIL_BEARSSL)
    set(PRIVATEMAIL_BEARSSL_FOUND ON)
else()
    set(PRIVATEMAIL_BEARSSL_FOUND OFF)
endif()
