# pkg-config files, relative to where they lie, so that the installed tree can be moved: retryq, and one for each library on
# top of it. `--static` adds what the static library needs; where there is no shared one, that is always named.
set(retryq_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH retryq_prefix_from_pkgconfig ${CMAKE_INSTALL_PREFIX}/${retryq_pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" retryq_prefix_from_pkgconfig ${retryq_prefix_from_pkgconfig})

# retryq_pkgconfig(<name> <library> <description> REQUIRES <package>... [PRIVATE <package>...])
function(retryq_pkgconfig name library description)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "REQUIRES;PRIVATE")
  string(JOIN ", " requires ${arg_REQUIRES})
  string(JOIN ", " requires_private ${arg_PRIVATE})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/retryq.pc.in ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc @ONLY)
  install(
    FILES ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc
    DESTINATION ${retryq_pkgconfig_dir}
    COMPONENT development)
endfunction()

set(public absl_any_invocable absl_flat_hash_map absl_status absl_statusor absl_strings absl_time)
set(private libevent_core libevent_openssl libevent_pthreads openssl)
if(TARGET retryq_shared)
  retryq_pkgconfig(retryq retryq "${PROJECT_DESCRIPTION}" REQUIRES ${public} PRIVATE ${private})
else()
  retryq_pkgconfig(retryq retryq "${PROJECT_DESCRIPTION}" REQUIRES ${public} ${private})
endif()
retryq_pkgconfig(retryq-testing retryq_testing "RabbitMQ in memory and in simulated time, for tests with retryq"
                 REQUIRES retryq)
if(TARGET retryq_prometheus)
  retryq_pkgconfig(retryq-prometheus retryq_prometheus "Metrics of retryq for Prometheus" REQUIRES retryq
                   prometheus-cpp-core)
endif()
if(TARGET retryq_opentelemetry)
  retryq_pkgconfig(retryq-opentelemetry retryq_opentelemetry "Spans of retryq for OpenTelemetry" REQUIRES retryq
                   opentelemetry_api)
endif()
