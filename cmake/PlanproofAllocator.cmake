# A third of the time of a large proof goes into small allocations, of which jemalloc needs half. Only programs are linked
# with it: who uses the library chooses an allocator for all of a program.
add_library(planproof_allocator INTERFACE)
if(PLANPROOF_JEMALLOC AND PLANPROOF_STATIC AND NOT PLANPROOF_SANITIZE AND NOT PLANPROOF_FUZZ)
  find_library(PLANPROOF_LIBRARY_jemalloc NAMES libjemalloc_pic.a)
  if(PLANPROOF_LIBRARY_jemalloc)
    target_link_libraries(planproof_allocator INTERFACE ${PLANPROOF_LIBRARY_jemalloc} Threads::Threads ${CMAKE_DL_LIBS})
  endif()
endif()
