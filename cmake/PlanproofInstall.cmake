# Installs the program, the library with its headers, and what find_package(planproof) needs.
include(CMakePackageConfigHelpers)

# Of the headers only the public ones: planproof/*.h.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/planproof DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS planproof EXPORT planproofTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT planproofTargets NAMESPACE planproof::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/planproof)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/planproofConfig.cmake.in ${PROJECT_BINARY_DIR}/planproofConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/planproof)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/planproofConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/planproofConfig.cmake
              ${PROJECT_BINARY_DIR}/planproofConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/PlanproofDependencies.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/planproof)
if(TARGET planproof_program)
  install(TARGETS planproof_program DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT CMAKE_CROSSCOMPILING)  # cli/CMakeLists.txt: the program writes them
    set(shell_files ${PROJECT_BINARY_DIR}/share)
    install(FILES ${shell_files}/planproof.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${shell_files}/planproof
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${shell_files}/_planproof DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${shell_files}/planproof.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

# What `pip install` puts into the wheel (pyproject.toml): the program, and Z3's module beside it.
if(SKBUILD)
  install(TARGETS planproof_program DESTINATION planproof/bin COMPONENT wheel)
  if(TARGET planproof_z3)
    install(TARGETS planproof_z3 LIBRARY DESTINATION planproof/bin COMPONENT wheel)
  endif()
endif()
