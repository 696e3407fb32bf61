# Finds opentelemetry-cpp 1.9 or newer, whose own CMake package asks for everything that any of its exporters needs, such as
# gRPC. Only what the components here need is looked for.
#
#   find_package(OpenTelemetry COMPONENTS trace exporter_in_memory)
#
# Components: trace (the SDK), exporter_in_memory, exporter_otlp_http; the headers of the API are always looked for. Each
# component found gives an imported target OpenTelemetry::<component>, the headers OpenTelemetry::api. Also set:
# OpenTelemetry_FOUND, OpenTelemetry_VERSION, OpenTelemetry_<component>_FOUND. Hints: OpenTelemetry_ROOT, CMAKE_PREFIX_PATH.

find_path(OpenTelemetry_INCLUDE_DIR opentelemetry/trace/tracer.h)
mark_as_advanced(OpenTelemetry_INCLUDE_DIR)
if(OpenTelemetry_INCLUDE_DIR)
  file(STRINGS ${OpenTelemetry_INCLUDE_DIR}/opentelemetry/version.h _opentelemetry_line REGEX "define OPENTELEMETRY_VERSION ")
  if(_opentelemetry_line MATCHES "\"([0-9.]+)")
    set(OpenTelemetry_VERSION ${CMAKE_MATCH_1})
  endif()
endif()

# How its headers are compiled must be how the library was: where that differs, the pkg-config file of the API says so. Of
# that nothing else is used, as Debian's names directories that do not exist.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(_opentelemetry_api QUIET opentelemetry_api)
endif()
find_package(absl QUIET)

foreach(_component IN LISTS OpenTelemetry_FIND_COMPONENTS)
  find_library(OpenTelemetry_${_component}_LIBRARY opentelemetry_${_component})
  mark_as_advanced(OpenTelemetry_${_component}_LIBRARY)
  if(OpenTelemetry_INCLUDE_DIR AND OpenTelemetry_${_component}_LIBRARY)
    set(OpenTelemetry_${_component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenTelemetry
  REQUIRED_VARS OpenTelemetry_INCLUDE_DIR
  VERSION_VAR OpenTelemetry_VERSION
  HANDLE_COMPONENTS)

if(OpenTelemetry_FOUND AND NOT TARGET OpenTelemetry::api)
  add_library(OpenTelemetry::api INTERFACE IMPORTED)
  set_target_properties(OpenTelemetry::api PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${OpenTelemetry_INCLUDE_DIR}")
  target_compile_options(OpenTelemetry::api INTERFACE ${_opentelemetry_api_CFLAGS_OTHER})
  # Where it was built with Abseil, its variant is Abseil's.
  if("${_opentelemetry_api_CFLAGS_OTHER}" MATCHES "ABSEIL" AND TARGET absl::bad_variant_access)
    target_link_libraries(OpenTelemetry::api INTERFACE absl::bad_variant_access)
  endif()
endif()
if(OpenTelemetry_FOUND)
  foreach(_component IN LISTS OpenTelemetry_FIND_COMPONENTS)
    if(OpenTelemetry_${_component}_FOUND AND NOT TARGET OpenTelemetry::${_component})
      add_library(OpenTelemetry::${_component} UNKNOWN IMPORTED)
      set_target_properties(OpenTelemetry::${_component} PROPERTIES IMPORTED_LOCATION
                                                                    "${OpenTelemetry_${_component}_LIBRARY}")
      target_link_libraries(OpenTelemetry::${_component} INTERFACE OpenTelemetry::api)
      # The libraries that these need beside it, which a static one cannot name.
      foreach(_other resources common)
        find_library(OpenTelemetry_${_other}_LIBRARY opentelemetry_${_other})
        mark_as_advanced(OpenTelemetry_${_other}_LIBRARY)
        if(OpenTelemetry_${_other}_LIBRARY)
          target_link_libraries(OpenTelemetry::${_component} INTERFACE "${OpenTelemetry_${_other}_LIBRARY}")
        endif()
      endforeach()
      if(NOT _component STREQUAL "trace" AND TARGET OpenTelemetry::trace)
        target_link_libraries(OpenTelemetry::${_component} INTERFACE OpenTelemetry::trace)
      endif()
    endif()
  endforeach()
endif()

unset(_component)
unset(_other)
unset(_opentelemetry_line)
