#ifndef RETRYQ_EXPORT_H_
#define RETRYQ_EXPORT_H_

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "retryq needs C++20 or newer: compile with -std=c++20, or set CMAKE_CXX_STANDARD to 20"
#endif

// Visibility of symbols in the shared library. All code is compiled with hidden visibility:
// programs can link only to the classes and functions marked RETRYQ_EXPORT, and nothing else is
// part of the binary interface. https://gcc.gnu.org/wiki/Visibility
//
// A class is marked if it has members that are defined in the library, or virtual members: its type
// information must be the same object on both sides of the boundary. Plain structs need no mark.
// RETRYQ_NO_EXPORT excludes private classes that are nested in a marked class.
#define RETRYQ_EXPORT [[gnu::visibility("default")]]
#define RETRYQ_NO_EXPORT [[gnu::visibility("hidden")]]

#endif  // RETRYQ_EXPORT_H_
