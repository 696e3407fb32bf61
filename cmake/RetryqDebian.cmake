# Debian packages, made by `cpack` in a build of the preset "debian": the library, what one builds with, and the command with
# its systemd unit.
set(library_package libretryq${retryq_soversion})
set(doc ${CMAKE_INSTALL_DATADIR}/doc)

configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/retryq@.service.in ${PROJECT_BINARY_DIR}/retryq@.service @ONLY)
install(
  FILES ${PROJECT_BINARY_DIR}/retryq@.service
  DESTINATION lib/systemd/system
  COMPONENT command)
install(
  FILES ${PROJECT_SOURCE_DIR}/cmake/debian/orders.conf
  DESTINATION ${doc}/retryq/examples
  COMPONENT command)
foreach(package_of_component ${library_package}:library libretryq-dev:development retryq:command)
  string(REPLACE ":" ";" package_of_component ${package_of_component})
  list(POP_FRONT package_of_component package component)
  install(
    FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${doc}/${package}
    RENAME copyright
    COMPONENT ${component})
  install(FILES ${retryq_sbom} DESTINATION ${doc}/${package} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development command)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "The retryq project" CACHE STRING "Who maintains the packages, with an address")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Programs built on it go on with later ones of the same soname.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${PROJECT_DESCRIPTION}: library")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libretryq-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${library_package} ${same_version}, libabsl-dev, libevent-dev, libssl-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "prometheus-cpp-dev, opentelemetry-cpp-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}: headers and static libraries")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME retryq)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION net)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "${library_package} ${same_version}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS rabbitmq-server)
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/cmake/debian/postinst ${PROJECT_SOURCE_DIR}/cmake/debian/prerm
    ${PROJECT_SOURCE_DIR}/cmake/debian/postrm)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "${PROJECT_DESCRIPTION}: command")

include(CPack)
