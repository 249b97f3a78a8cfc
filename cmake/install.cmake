# What `cmake --install` puts where: the libraries, their headers, a package for find_package, privatemail.pc. Included by
# the top CMakeLists.txt, whose variables it uses.
include(CMakePackageConfigHelpers)

install(TARGETS ${pml_libraries} EXPORT privatemail)
install(FILES
    core/include/privatemail.h
    core/include/privatemail_public.h
    core/include/privatemail_crowd.h
    platform/privatemail_platform.h
    TYPE INCLUDE)
if(PRIVATEMAIL_TRANSPORT)
    install(TARGETS privatemail_transport privatemail_transport_bearssl EXPORT privatemail)
    install(FILES transport/include/privatemail_transport.h TYPE INCLUDE)
endif()

set(pml_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/privatemail)
install(EXPORT privatemail
    NAMESPACE privatemail::
    FILE privatemailConfig.cmake
    DESTINATION ${pml_package_dir})
# Versions 0.x may change without notice, so only the same minor version fits.
write_basic_package_version_file(privatemailConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/privatemailConfigVersion.cmake DESTINATION ${pml_package_dir})

# The prefix is found from where privatemail.pc lies, so an installed tree may be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pml_pc_prefix)
if(WIN32)
    set(pml_pc_libs_private -lbcrypt)
endif()
configure_file(cmake/privatemail.pc.in privatemail.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/privatemail.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(PRIVATEMAIL_TRANSPORT)
    # Where BearSSL's sources were compiled they are in our library.
    if(PRIVATEMAIL_BEARSSL_LIBRARY)
        set(pml_pc_bearssl -lbearssl)
    endif()
    configure_file(cmake/privatemail_transport.pc.in privatemail_transport.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/privatemail_transport.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
