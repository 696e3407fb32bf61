# cmake --install: the library, its headers and a package, so that find_package(retryq) gives retryq::retryq
# and retryq::testing.
include(CMakePackageConfigHelpers)

set(retryq_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retryq)

install(TARGETS retryq retryq_testing EXPORT retryqTargets)
if(TARGET retryq_prometheus)
  install(TARGETS retryq_prometheus EXPORT retryqTargets)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT retryqTargets NAMESPACE retryq:: DESTINATION ${retryq_package_dir})
if(TARGET retryq_command)
  install(TARGETS retryq_command)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/retryqConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/retryqConfig.cmake INSTALL_DESTINATION ${retryq_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/retryqConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/retryqConfig.cmake ${PROJECT_BINARY_DIR}/retryqConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindLibevent.cmake DESTINATION ${retryq_package_dir})
