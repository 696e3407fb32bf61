#ifndef RETRYQ_EXPORT_H_
#define RETRYQ_EXPORT_H_

// What the shared library shows. All is compiled with hidden visibility, so that only the classes
// and functions marked RETRYQ_EXPORT can be linked to from outside, and nothing else is part of the
// binary interface. https://gcc.gnu.org/wiki/Visibility
//
// A class is marked if it has members that are defined in the library, or virtual ones: its type
// information must be the same object on both sides of the boundary. Plain structs need no mark.
// RETRYQ_NO_EXPORT takes out what is nested in a marked class and is of nobody's concern.
#define RETRYQ_EXPORT [[gnu::visibility("default")]]
#define RETRYQ_NO_EXPORT [[gnu::visibility("hidden")]]

#endif  // RETRYQ_EXPORT_H_
