# SPDX-License-Identifier: BSD-2-Clause
# What `cmake --install` (and `make install`) puts where; DESTDIR and --prefix are honoured.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
foreach(folder LIBDIR INCLUDEDIR BINDIR LIBEXECDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder} must be relative to the prefix")
  endif()
endforeach()
file(RELATIVE_PATH HONE_PC_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
string(REGEX REPLACE "/$" "" HONE_PC_PREFIX "${HONE_PC_PREFIX}")
configure_file(packaging/hone.pc.in ${PROJECT_BINARY_DIR}/hone.pc @ONLY)
configure_package_config_file(packaging/hone-config.cmake.in ${PROJECT_BINARY_DIR}/hone-config.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hone-config-version.cmake COMPATIBILITY SameMinorVersion)

target_include_directories(hone PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(hone_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS hone hone_static EXPORT hone-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hone_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(module hone_vips hone_video) # found from the command's own place, so that the tree can be moved
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hone)
  endif()
endforeach()
if(TARGET hone_precompiled) # what a package does on the user's machine is done for whoever builds there
  install(FILES ${PROJECT_BINARY_DIR}/libexec/hone/precompiled DESTINATION ${CMAKE_INSTALL_LOCALSTATEDIR}/cache/hone)
endif()
install(EXPORT hone-targets NAMESPACE hone:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/hone-config.cmake ${PROJECT_BINARY_DIR}/hone-config-version.cmake
  DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES man/hone.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# The library's pages come from its headers; without Python there are none.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/hone/*.h)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man3/libhone.3
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/packaging/man3.py ${PROJECT_SOURCE_DIR}/include/hone
            ${PROJECT_BINARY_DIR}/man3
    DEPENDS ${public_headers} ${PROJECT_SOURCE_DIR}/packaging/man3.py ${PROJECT_SOURCE_DIR}/man/hone.1
    COMMENT "Man pages of the library" VERBATIM)
  add_custom_target(man3 ALL DEPENDS ${PROJECT_BINARY_DIR}/man3/libhone.3)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN "*.3")
endif()
install(FILES packaging/completion/hone.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME hone)
install(FILES packaging/completion/_hone DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES README.md LICENSE SECURITY.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES examples/Makefile examples/camera.c examples/filter_array.c examples/frames.c examples/own_queue.c
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY examples/filters examples/tune DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples PATTERN "*.so" EXCLUDE)
