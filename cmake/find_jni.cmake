# Finds jni.h: JAVA_INCLUDE_PATH and JAVA_INCLUDE_PATH2. JAVA_HOME, as a variable or in the environment, says which JDK;
# else it is the one of the javac in PATH, since FindJNI knows the usual places of old JDKs only.
if(NOT DEFINED JAVA_HOME AND NOT DEFINED ENV{JAVA_HOME})
    find_program(PRIVATEMAIL_JAVAC javac)
    if(PRIVATEMAIL_JAVAC)
        file(REAL_PATH ${PRIVATEMAIL_JAVAC} javac)
        cmake_path(GET javac PARENT_PATH JAVA_HOME)
        cmake_path(GET JAVA_HOME PARENT_PATH JAVA_HOME)
    endif()
endif()
# Not REQUIRED: a JDK for servers has no AWT, which is not needed.
find_package(JNI QUIET)
if(NOT JAVA_INCLUDE_PATH)
    message(FATAL_ERROR "PRIVATEMAIL_JNI needs the jni.h of a JDK. Install one, or set JAVA_HOME to its folder.")
endif()
