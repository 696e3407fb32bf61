# How every target of this repository is compiled: warnings, protection, sanitizers, the compiler cache.

# Our own targets link this privately, so that our warnings never reach those who use the library.
add_library(retryq_compile INTERFACE)
# Those who install it have no use for warnings, which cost a tenth of what the command takes to be compiled.
if(RETRYQ_WARNINGS)
  target_compile_options(
    retryq_compile
    INTERFACE
      -Wall
      -Wextra
      -Wpedantic
      -Wconversion
      -Wsign-conversion
      -Wdouble-promotion
      -Wshadow
      -Wcast-align
      -Wcast-qual
      -Wformat=2
      -Wnon-virtual-dtor
      -Woverloaded-virtual
      -Wold-style-cast
      -Wundef
      -Wunused
      # Options are structs filled by designated initializers: what is left out has its default.
      -Wno-missing-field-initializers
      # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651, fixed in 13).
      $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
      # Where files are compiled as one, GCC takes what is local to each for a header's.
      $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
      $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond;-Wduplicated-branches;-Wlogical-op;-Wsuggest-override>
      $<$<CXX_COMPILER_ID:Clang>:-Wimplicit-fallthrough;-Winconsistent-missing-destructor-override>
      -Werror)
else()
  target_compile_options(retryq_compile INTERFACE -w)
endif()

if(RETRYQ_HARDEN)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported() # links executables as PIE, too
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "RETRYQ_HAS${flag}" has_flag)
    check_cxx_compiler_flag(${flag} ${has_flag})
    if(${has_flag})
      add_compile_options(${flag})
    endif()
  endforeach()
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  add_link_options(LINKER:-z,relro,-z,now)
endif()

set(retryq_sanitize ${RETRYQ_SANITIZE})
if(RETRYQ_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "RETRYQ_FUZZ needs clang: configure with --preset fuzz or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # The library is instrumented for coverage; only the fuzzers get libFuzzer's main().
  string(JOIN "," retryq_sanitize fuzzer-no-link ${RETRYQ_SANITIZE})
endif()
if(retryq_sanitize)
  target_compile_options(retryq_compile INTERFACE -fsanitize=${retryq_sanitize} -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  # Whoever links a sanitized static library needs the runtime too.
  add_link_options(-fsanitize=${retryq_sanitize})
endif()
# With -fsanitize=function, which is a part of "undefined", clang 14 cannot compile coroutines.
if(RETRYQ_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(retryq_compile INTERFACE -fno-sanitize=function)
endif()

# To be linked behind the former by the command and the tests, which read no bytes by pointers of their own. Of
# UndefinedBehaviorSanitizer it leaves out the checks of each pointer that is followed, which take as long to compile as all its
# others. A null pointer that is followed ends a program in any case, and AddressSanitizer says where.
add_library(retryq_compile_quickly INTERFACE)
if(RETRYQ_SANITIZE MATCHES undefined)
  target_compile_options(retryq_compile_quickly INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
endif()

if(RETRYQ_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "RETRYQ_COVERAGE needs clang: configure with --preset coverage or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # src/ is compiled so that it counts; whatever links it needs the runtime.
  add_link_options(-fprofile-instr-generate)
endif()

if(RETRYQ_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(RETRYQ_CCACHE_PROGRAM ccache)
  mark_as_advanced(RETRYQ_CCACHE_PROGRAM)
  if(RETRYQ_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${RETRYQ_CCACHE_PROGRAM})
  endif()
endif()
