# Makes CMake find nothing on this machine but its compiler, as if no library were installed:
# -DCMAKE_PROJECT_INCLUDE=hide_libraries.cmake
set(CMAKE_IGNORE_PREFIX_PATH / /usr /usr/local)
set(CMAKE_IGNORE_PATH /usr/bin /bin) # pkg-config
set(ENV{PRIVATEMAIL_CACHE} /nonexistent) # BearSSL's sources
set(ENV{HOME} /nonexistent)
