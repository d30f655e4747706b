# Libraries without package files, as targets: for the build, and for those who find an installed planproof.
# What is installed names these targets, and no path of the machine that built it.

# planproof_system_library(TARGET NAME PACKAGE): an imported target for a library that has no package file. Where it is missing,
# the build remembers that (cmake/PlanproofPackages.cmake), and an installed planproof is not found.
function(planproof_system_library target name package)
  if(TARGET ${target})
    return()
  endif()
  find_library(PLANPROOF_LIBRARY_${name} ${name})
  if(NOT PLANPROOF_LIBRARY_${name})
    if(COMMAND planproof_lacks)
      planproof_lacks(${name} ${package})
    else()
      message(FATAL_ERROR "\n  planproof: ${name} is missing: apt-get install ${package}\n")
    endif()
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${PLANPROOF_LIBRARY_${name}}")
endfunction()
planproof_system_library(planproof_system::gmp gmp libgmp-dev)
planproof_system_library(planproof_system::gmpxx gmpxx libgmp-dev)
planproof_system_library(planproof_system::mpfr mpfr libmpfr-dev)
planproof_system_library(planproof_system::mpfi mpfi libmpfi-dev)
planproof_system_library(planproof_system::sqlite3 sqlite3 libsqlite3-dev)
planproof_system_library(planproof_system::zlib z zlib1g-dev)
# Recorded numbers of PyTorch programs, and what they are read with: not of the prover alone.
if(NOT PLANPROOF_PROVER_ONLY)
  planproof_system_library(planproof_system::minizip minizip libminizip-dev)
  planproof_system_library(planproof_system::yaml yaml libyaml-dev)
  planproof_system_library(planproof_system::nettle nettle nettle-dev)
endif()
