# Tests that raddle checks under every schedule.
#
#   include(Raddle)
#   raddle_add_test(NAME bank SOURCES bank.c)                 # compiled by raddle
#   raddle_add_test(NAME pool TARGET pool_test ARGS 2)        # a target built by raddle-cc
#
# Further arguments: OPTIONS (of `raddle check`), CFLAGS (for SOURCES), WILL_FAIL (the test passes
# if raddle finds an error), ALLOW_INCOMPLETE (a search that did not finish and found nothing counts as
# skipped instead of failed).
# The tests carry the label `raddle`: `ctest -L raddle` runs them alone.
include_guard(GLOBAL)

find_program(RADDLE_EXECUTABLE raddle DOC "raddle, the model checker for multithreaded programs")

function(raddle_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "WILL_FAIL;ALLOW_INCOMPLETE" "NAME;TARGET;CFLAGS" "SOURCES;ARGS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "raddle_add_test: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_NAME OR (NOT arg_TARGET AND NOT arg_SOURCES) OR (arg_TARGET AND arg_SOURCES))
    message(FATAL_ERROR "raddle_add_test needs NAME and either TARGET or SOURCES")
  endif()
  if(NOT RADDLE_EXECUTABLE)
    message(FATAL_ERROR "raddle_add_test: raddle was not found; set RADDLE_EXECUTABLE")
  endif()
  set(program)
  if(arg_TARGET)
    set(program $<TARGET_FILE:${arg_TARGET}>)
  else()
    foreach(source IN LISTS arg_SOURCES)
      get_filename_component(path "${source}" ABSOLUTE)
      list(APPEND program "${path}")
    endforeach()
    if(arg_CFLAGS)
      list(APPEND program "--cflags=${arg_CFLAGS}")
    endif()
  endif()
  set(command "${RADDLE_EXECUTABLE}" check --quiet --out "${CMAKE_CURRENT_BINARY_DIR}/raddle/${arg_NAME}"
    ${arg_OPTIONS} ${program})
  if(arg_ARGS)
    list(APPEND command -- ${arg_ARGS})
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${command} WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set_tests_properties(${arg_NAME} PROPERTIES LABELS raddle)
  if(arg_WILL_FAIL)
    set_tests_properties(${arg_NAME} PROPERTIES PASS_REGULAR_EXPRESSION "bug ")
  elseif(arg_ALLOW_INCOMPLETE)
    set_tests_properties(${arg_NAME} PROPERTIES SKIP_RETURN_CODE 3)
  endif()
endfunction()
