# Finds libevent 2.1, which Debian packages without a CMake package of its own.
#
#   find_package(Libevent 2.1 REQUIRED COMPONENTS core pthreads)
#
# Components: core, extra (HTTP, DNS, RPC), openssl, pthreads; core is always looked for. Each component found gives an
# imported target Libevent::<component>, with the libraries that it needs itself. Also set: Libevent_FOUND,
# Libevent_VERSION, Libevent_<component>_FOUND. Hints: Libevent_ROOT, CMAKE_PREFIX_PATH.

find_path(Libevent_INCLUDE_DIR event2/event.h)
mark_as_advanced(Libevent_INCLUDE_DIR)

if(Libevent_INCLUDE_DIR)
  # On Debian the configuration lies in the directory of the architecture, not beside event.h.
  find_file(Libevent_CONFIG_HEADER event2/event-config.h HINTS ${Libevent_INCLUDE_DIR})
  mark_as_advanced(Libevent_CONFIG_HEADER)
  if(Libevent_CONFIG_HEADER)
    file(STRINGS ${Libevent_CONFIG_HEADER} _libevent_line REGEX "define EVENT__VERSION ")
    if(_libevent_line MATCHES "\"([0-9.]+)")
      set(Libevent_VERSION ${CMAKE_MATCH_1})
    endif()
  endif()
endif()

set(_libevent_components core ${Libevent_FIND_COMPONENTS})
list(REMOVE_DUPLICATES _libevent_components)

foreach(_component IN LISTS _libevent_components)
  find_library(Libevent_${_component}_LIBRARY event_${_component})
  mark_as_advanced(Libevent_${_component}_LIBRARY)
  if(Libevent_INCLUDE_DIR AND Libevent_${_component}_LIBRARY)
    set(Libevent_${_component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Libevent
  REQUIRED_VARS Libevent_core_LIBRARY Libevent_INCLUDE_DIR
  VERSION_VAR Libevent_VERSION
  HANDLE_COMPONENTS)

if(Libevent_FOUND)
  foreach(_component IN LISTS _libevent_components)
    if(Libevent_${_component}_FOUND AND NOT TARGET Libevent::${_component})
      add_library(Libevent::${_component} UNKNOWN IMPORTED)
      set_target_properties(
        Libevent::${_component} PROPERTIES IMPORTED_LOCATION "${Libevent_${_component}_LIBRARY}"
                                           INTERFACE_INCLUDE_DIRECTORIES "${Libevent_INCLUDE_DIR}")
      if(NOT _component STREQUAL "core")
        set_property(TARGET Libevent::${_component} APPEND PROPERTY INTERFACE_LINK_LIBRARIES Libevent::core)
      endif()
      if(_component STREQUAL "pthreads")
        find_package(Threads REQUIRED)
        set_property(TARGET Libevent::pthreads APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
      elseif(_component STREQUAL "openssl")
        find_package(OpenSSL REQUIRED)
        set_property(TARGET Libevent::openssl APPEND PROPERTY INTERFACE_LINK_LIBRARIES OpenSSL::SSL OpenSSL::Crypto)
      endif()
    endif()
  endforeach()
endif()

unset(_component)
unset(_libevent_components)
unset(_libevent_line)
