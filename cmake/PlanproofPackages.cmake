# Finds compilers and libraries, and says in one line which packages bring those that are missing.

# planproof_lacks(NAME PACKAGES...): remembers that NAME is missing, and the Debian packages that bring it.
function(planproof_lacks name)
  set_property(GLOBAL APPEND PROPERTY PLANPROOF_MISSING "${name}")
  set_property(GLOBAL APPEND PROPERTY PLANPROOF_MISSING_PACKAGES ${ARGN})
endfunction()

# planproof_stop_if_missing(): the end of the configuration if anything is missing. CMake leaves an indented line as it is.
function(planproof_stop_if_missing)
  get_property(missing GLOBAL PROPERTY PLANPROOF_MISSING)
  if(NOT missing)
    return()
  endif()
  get_property(packages GLOBAL PROPERTY PLANPROOF_MISSING_PACKAGES)
  list(REMOVE_DUPLICATES missing)
  list(REMOVE_DUPLICATES packages)
  list(LENGTH missing count)
  string(REPLACE ";" ", " missing "${missing}")
  string(REPLACE ";" " " packages "${packages}")
  set(verb "is")
  if(count GREATER 1)
    set(verb "are")
  endif()
  message(FATAL_ERROR
    "\n  planproof: ${missing} ${verb} missing: run scripts/setup.sh, or apt-get install ${packages} (docs/install.md)\n")
endfunction()

# planproof_find_tools(): to be called before project(), which takes eight lines to say that there is no compiler. Python's
# build tools set CXX, whether or not there is such a compiler.
function(planproof_find_tools)
  if(CMAKE_GENERATOR STREQUAL "Ninja" AND NOT CMAKE_MAKE_PROGRAM)
    find_program(PLANPROOF_ANY_NINJA NAMES ninja ninja-build samu NO_CACHE)
    if(NOT PLANPROOF_ANY_NINJA)
      planproof_lacks(ninja ninja-build)
    endif()
  endif()
  if(NOT CMAKE_CXX_COMPILER AND NOT CMAKE_TOOLCHAIN_FILE)
    set(names c++ g++ clang++ icpx)
    set(what "a C++ compiler")
    separate_arguments(named UNIX_COMMAND "$ENV{CXX}")
    if(named)
      list(GET named 0 names)
      set(what "the C++ compiler ${names} (by the variable CXX)")
    endif()
    find_program(PLANPROOF_ANY_COMPILER NAMES ${names} NO_CACHE)
    if(NOT PLANPROOF_ANY_COMPILER)
      planproof_lacks("${what}" g++)
    endif()
  endif()
  planproof_stop_if_missing()
endfunction()

# planproof_find_package(NAME PACKAGES...): find_package, where NAME is needed. A macro, since what it finds belongs to
# the caller.
macro(planproof_find_package name)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    planproof_lacks(${name} ${ARGN})
  endif()
endmacro()

# planproof_find_header(VARIABLE HEADER PACKAGE): the directory of a header that is needed.
macro(planproof_find_header variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    planproof_lacks(${header} ${package})
  endif()
endmacro()
