# find_package(Raddle): the raddle that this file was installed with, and raddle_add_test (see Raddle.cmake).
get_filename_component(_raddle_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(RADDLE_EXECUTABLE raddle HINTS "${_raddle_prefix}/bin"
  DOC "raddle, the model checker for multithreaded programs")
unset(_raddle_prefix)
include("${CMAKE_CURRENT_LIST_DIR}/Raddle.cmake")
