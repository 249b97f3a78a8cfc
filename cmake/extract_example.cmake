# Writes the first ```c block of MARKDOWN to OUTPUT. The first of EXCERPT must be a part of it, indented or not:
#   cmake -D MARKDOWN=docs/EXAMPLE.md -D EXCERPT=README.md -D OUTPUT=example.c -P extract_example.cmake
# string(FIND) and not a regular expression, since CMake's are always greedy.

function(read_example path code_variable line_variable)
    file(READ ${path} text)
    set(fence "\n```c\n")
    string(FIND "${text}" "${fence}" start)
    if(start EQUAL -1)
        message(FATAL_ERROR "${path} has no C example.")
    endif()
    string(SUBSTRING "${text}" 0 ${start} before)
    string(LENGTH "${fence}" fence_length)
    math(EXPR start "${start} + ${fence_length}")
    string(SUBSTRING "${text}" ${start} -1 code)
    string(FIND "${code}" "\n```" end)
    if(end EQUAL -1)
        message(FATAL_ERROR "The C example of ${path} does not end.")
    endif()
    string(SUBSTRING "${code}" 0 ${end} code)
    string(REGEX REPLACE "[^\n]" "" newlines "${before}")
    string(LENGTH "${newlines}" line)
    math(EXPR line "${line} + 3")
    set(${code_variable} "${code}" PARENT_SCOPE)
    set(${line_variable} ${line} PARENT_SCOPE)
endfunction()

read_example(${MARKDOWN} code line)
read_example(${EXCERPT} excerpt excerpt_line)
string(REPLACE "\n    " "\n" outdented "${code}")
string(FIND "${outdented}" "\n${excerpt}\n" found)
if(found EQUAL -1)
    message(FATAL_ERROR "${EXCERPT}:${excerpt_line}: these lines are not in the example of ${MARKDOWN}.")
endif()

# Compilers then name the line of the document.
file(WRITE ${OUTPUT} "#line ${line} \"${MARKDOWN}\"\n${code}\n")
