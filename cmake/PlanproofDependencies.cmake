# Libraries without package files, as targets: for the build, and for those who find an installed planproof.
# What is installed names these targets, and no path of the machine that built it.

# planproof_system_library(TARGET NAME): an imported target for a library that has no package file.
function(planproof_system_library target name)
  if(TARGET ${target})
    return()
  endif()
  find_library(PLANPROOF_LIBRARY_${name} ${name} REQUIRED)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${PLANPROOF_LIBRARY_${name}}")
endfunction()
planproof_system_library(planproof_system::gmp gmp)
planproof_system_library(planproof_system::gmpxx gmpxx)
planproof_system_library(planproof_system::mpfr mpfr)
planproof_system_library(planproof_system::mpfi mpfi)
planproof_system_library(planproof_system::sqlite3 sqlite3)
planproof_system_library(planproof_system::zlib z)
