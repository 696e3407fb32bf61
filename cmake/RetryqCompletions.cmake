# What completes the command in bash, zsh and fish: the command itself writes it, and it is installed where those shells
# look by themselves.
set(RETRYQ_ZSH_COMPLETIONS_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    CACHE STRING "Where completions for zsh are installed, relative to the prefix")

set(bash_completions ${PROJECT_BINARY_DIR}/completions/retryq)
set(zsh_completions ${PROJECT_BINARY_DIR}/completions/_retryq)
set(fish_completions ${PROJECT_BINARY_DIR}/completions/retryq.fish)

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions)
foreach(shell bash zsh fish)
  add_custom_command(
    OUTPUT ${${shell}_completions}
    COMMAND retryq_command completions ${shell} > ${${shell}_completions}
    DEPENDS retryq_command
    COMMENT "Writing completions for ${shell}"
    VERBATIM)
endforeach()
add_custom_target(retryq_completions ALL DEPENDS ${bash_completions} ${zsh_completions} ${fish_completions})

install(
  FILES ${bash_completions}
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  COMPONENT command)
install(
  FILES ${zsh_completions}
  DESTINATION ${RETRYQ_ZSH_COMPLETIONS_DIR}
  COMPONENT command)
install(
  FILES ${fish_completions}
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  COMPONENT command)
