# What users of the command read: the pages of README.md and doc/, and manual pages, which are made of what --help prints.
install(
  FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/retryq
  COMPONENT command)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/doc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/retryq
  COMPONENT command
  FILES_MATCHING
  PATTERN "*.md")
# What the command's help and the pages refer to.
install(
  FILES ${PROJECT_SOURCE_DIR}/examples/README.md ${PROJECT_SOURCE_DIR}/examples/planning.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/retryq/examples
  COMPONENT command)
install(
  PROGRAMS ${PROJECT_SOURCE_DIR}/examples/lines_worker.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/retryq/examples
  COMPONENT command)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/examples/pictures
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/retryq/examples
  COMPONENT command)

set(manual_directory ${PROJECT_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${manual_directory})
set(manual_pages)
foreach(command "" work plan declare send queues waiting "waiting list" "waiting show" "waiting release"
                "waiting park" "waiting drop" parked "parked list" "parked show" "parked replay" "parked edit" "parked drop"
                doctor completions)
  string(REPLACE " " ";" words "${command}")
  string(STRIP "retryq ${command}" name)
  string(REPLACE " " "-" name "${name}")
  add_custom_command(
    OUTPUT ${manual_directory}/${name}.1
    COMMAND retryq_command ${words} --help | awk -v name=${name} -v version=${PROJECT_VERSION} -f
            ${PROJECT_SOURCE_DIR}/cmake/man_page.awk > ${manual_directory}/${name}.1
    DEPENDS retryq_command ${PROJECT_SOURCE_DIR}/cmake/man_page.awk
    COMMENT "Writing the manual page ${name}"
    VERBATIM)
  list(APPEND manual_pages ${manual_directory}/${name}.1)
endforeach()
add_custom_target(retryq_manual_pages ALL DEPENDS ${manual_pages})
install(
  FILES ${manual_pages}
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  COMPONENT command)
