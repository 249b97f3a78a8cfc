# Parts of the command that need libraries. Each part is an option: ON, unless a Python wheel is built (SKBUILD), which has
# the parts whose libraries are found. In a build without a part, whatever needs it says what to do, such as which packages of
# Debian to install: PRIVATEMAIL_<PART>_REMEDY. Windows has no network part and no PostgreSQL, and the others where somebody
# has built their libraries for it. Included by the top CMakeLists.txt.

# pml_find_part(PART TEXT PACKAGE FOUND PACKAGE FOUND...): FOUND is the name of a variable.
function(pml_find_part part text)
    set(all "")
    set(missing "")
    set(pairs ${ARGN})
    while(pairs)
        list(POP_FRONT pairs package found)
        list(APPEND all ${package})
        if(NOT ${found})
            list(APPEND missing ${package})
        endif()
    endwhile()
    set(default ON)
    if(missing AND (DEFINED SKBUILD OR WIN32))
        set(default OFF)
    endif()
    option(PRIVATEMAIL_${part} "Of the command, build ${text} (needs ${all})" ${default})
    if(NOT missing)
        set(missing ${all}) # left out although its libraries are there
    elseif(PRIVATEMAIL_${part})
        list(JOIN missing ", " missing)
        message(FATAL_ERROR "Missing for ${text}: ${missing}. Run scripts/setup.sh, or configure with "
                            "-DPRIVATEMAIL_${part}=OFF, or with -DPRIVATEMAIL_COMMAND=OFF.")
    endif()
    if(NOT PRIVATEMAIL_${part} AND PRIVATEMAIL_TESTS AND NOT WIN32)
        message(FATAL_ERROR "The tests need all parts of the command. Configure with -DPRIVATEMAIL_TESTS=OFF.")
    endif()
    list(JOIN missing " " missing)
    set(remedy "install ${missing} and build again")
    if(WIN32)
        set(remedy "use it on Linux or macOS")
    endif()
    set(PRIVATEMAIL_${part}_REMEDY ${remedy} PARENT_SCOPE)
endfunction()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND AND NOT WIN32) # what it knows is the building machine's
    pkg_check_modules(libmicrohttpd QUIET IMPORTED_TARGET libmicrohttpd)
    pkg_check_modules(libpq QUIET IMPORTED_TARGET libpq)
endif()
find_package(SQLite3 QUIET)
find_package(PNG QUIET)
find_package(CURL QUIET)
find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto)

if(WIN32 AND (PRIVATEMAIL_NETWORK OR PRIVATEMAIL_POSTGRES))
    message(FATAL_ERROR "On Windows the command has neither network nor PostgreSQL. Configure with "
                        "-DPRIVATEMAIL_NETWORK=OFF -DPRIVATEMAIL_POSTGRES=OFF.")
endif()

pml_find_part(SQLITE "the store in a file" libsqlite3-dev SQLite3_FOUND)
pml_find_part(POSTGRES "the store in PostgreSQL" libpq-dev libpq_FOUND)
pml_find_part(PICTURES "pictures of samples and maps" libpng-dev PNG_FOUND)
pml_find_part(NETWORK "serve, relay, keys and query"
    libcurl4-openssl-dev CURL_FOUND libmicrohttpd-dev libmicrohttpd_FOUND
    libssl-dev OPENSSL_FOUND libbearssl-dev PRIVATEMAIL_TRANSPORT)
