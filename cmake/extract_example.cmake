# Writes the first ```c block of MARKDOWN to OUTPUT:
#   cmake -D MARKDOWN=README.md -D OUTPUT=example.c -P extract_example.cmake
# string(FIND) and not a regular expression, since CMake's are always greedy.

file(READ ${MARKDOWN} text)
set(fence "\n```c\n")

string(FIND "${text}" "${fence}" start)
if(start EQUAL -1)
    message(FATAL_ERROR "${MARKDOWN} has no C example.")
endif()
string(SUBSTRING "${text}" 0 ${start} before)
string(LENGTH "${fence}" fence_length)
math(EXPR start "${start} + ${fence_length}")
string(SUBSTRING "${text}" ${start} -1 code)
string(FIND "${code}" "\n```" end)
if(end EQUAL -1)
    message(FATAL_ERROR "The C example of ${MARKDOWN} does not end.")
endif()
string(SUBSTRING "${code}" 0 ${end} code)

# Compilers then name the line of the README.
string(REGEX REPLACE "[^\n]" "" newlines "${before}")
string(LENGTH "${newlines}" line)
math(EXPR line "${line} + 3")
file(WRITE ${OUTPUT} "#line ${line} \"${MARKDOWN}\"\n${code}\n")
