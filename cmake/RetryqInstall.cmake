# cmake --install: headers, libraries, a CMake package, pkg-config files, the command and what completes it in shells. All
# of it can be moved together to another prefix.
#
# Components, for `cmake --install … --component`: library (what programs linked to the shared library need to run),
# development, command.
include(CMakePackageConfigHelpers)
include(RetryqPkgConfig)

set(retryq_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retryq)

# retryq_install(<target> <name>): a library, in an export set of its own, so that who looks for another one need not have
# what this one depends on
function(retryq_install target name)
  install(
    TARGETS ${target}
    EXPORT retryq-${name}
    ARCHIVE COMPONENT development
    LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  install(
    EXPORT retryq-${name}
    NAMESPACE retryq::
    DESTINATION ${retryq_package_dir}
    COMPONENT development)
endfunction()

# All that are installed.
add_custom_target(retryq_libraries)
foreach(name static shared testing prometheus opentelemetry)
  if(TARGET retryq_${name})
    add_dependencies(retryq_libraries retryq_${name})
    retryq_install(retryq_${name} ${name})
  endif()
endforeach()

set(retryq_unbuilt_headers)
if(NOT TARGET retryq_prometheus)
  list(APPEND retryq_unbuilt_headers PATTERN prometheus_metrics.h EXCLUDE)
endif()
if(NOT TARGET retryq_opentelemetry)
  list(APPEND retryq_unbuilt_headers PATTERN opentelemetry.h EXCLUDE)
endif()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development
  FILES_MATCHING
  PATTERN "*.h" ${retryq_unbuilt_headers})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/retryqConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/retryqConfig.cmake INSTALL_DESTINATION ${retryq_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/retryqConfigVersion.cmake COMPATIBILITY ${retryq_compatibility})
install(
  FILES ${PROJECT_BINARY_DIR}/retryqConfig.cmake ${PROJECT_BINARY_DIR}/retryqConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/FindLibevent.cmake ${PROJECT_SOURCE_DIR}/cmake/FindOpenTelemetry.cmake
  DESTINATION ${retryq_package_dir}
  COMPONENT development)

if(TARGET retryq_command)
  include(RetryqCompletions)
  include(RetryqPages)
  include(RetryqSbom)
  install(FILES ${retryq_sbom} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/retryq COMPONENT command)
  # Where the command is linked to the shared library, it finds that beside itself wherever both are moved.
  file(RELATIVE_PATH libraries_from_command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  if(BUILD_SHARED_LIBS)
    set_target_properties(retryq_command PROPERTIES INSTALL_RPATH $ORIGIN/${libraries_from_command})
  endif()
  install(TARGETS retryq_command RUNTIME COMPONENT command)
  # All that the component command consists of, and nothing else.
  add_custom_target(retryq_command_alone DEPENDS retryq_command retryq_completions retryq_manual_pages)
endif()
