# planproof_layer(NAME): adds the directory NAME when it has a CMakeLists.txt.
function(planproof_layer name)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/CMakeLists.txt)
    add_subdirectory(${name})
  endif()
endfunction()

# planproof_precompile(TARGET GROUP HEADERS...): with PLANPROOF_QUICK_COMPILATION, reads headers that most sources include once
# per group of targets, which are libraries or programs (these are position-independent in another way). Not with ccache, which
# would have to ignore more than it does; not for single sources, which are what Clang's tools read. GCC 14 refuses headers that
# were read with another -O than that of the target.
function(planproof_precompile target group)
  if(NOT PLANPROOF_QUICK_COMPILATION OR NOT PLANPROOF_UNITY OR PLANPROOF_CCACHE OR PLANPROOF_SANITIZE)
    return()
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 14)
    return()
  endif()
  set(owner planproof_precompiled_${group})
  if(NOT TARGET ${owner})  # of nothing else: whoever takes the headers from it waits for it
    set(source ${PROJECT_BINARY_DIR}/${owner}.cc)
    file(GENERATE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      add_executable(${owner} EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${owner} PRIVATE GTest::gtest GTest::gmock)
    else()
      add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
    endif()
    target_precompile_headers(${owner} PRIVATE ${ARGN})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  # Of what it inlines from precompiled system headers, GCC 12 reports what it is silent about elsewhere.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()

set(PLANPROOF_COMMON_HEADERS
    <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <numeric> <optional> <set> <string> <string_view>
    <unordered_map> <utility> <vector> <gmpxx.h> <nlohmann/json.hpp> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/container/inlined_vector.h> <absl/status/statusor.h> <absl/strings/match.h> <absl/strings/str_cat.h>
    <absl/strings/str_format.h> <absl/strings/str_join.h>)

# With PLANPROOF_QUICK_COMPILATION alone: all but the layers that evaluate, hash and add up terms, which would be a fifth
# slower. GCC takes a quarter less time to compile these so.
set(PLANPROOF_QUICKLY_COMPILED lineage shape_reduction verdict_cache stages frontend inference diagnosis smt strategy)
# What no proof waits for: another quarter.
set(PLANPROOF_MORE_QUICKLY_COMPILED generator mutation cluster witness dumps report cli)

# planproof_library(NAME DEPS...): a static library planproof_NAME from every source below the
# calling directory, except programs (main.cc).
function(planproof_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources)  # a layer of headers only
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
    file(WRITE ${sources} "")
  endif()
  add_library(planproof_${name} STATIC ${sources})
  target_include_directories(planproof_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:include>)
  target_link_libraries(planproof_${name} PUBLIC ${ARGN})
  set_target_properties(planproof_${name} PROPERTIES UNITY_BUILD ${PLANPROOF_UNITY} UNITY_BUILD_BATCH_SIZE 32)
  planproof_precompile(planproof_${name} layers ${PLANPROOF_COMMON_HEADERS})
  # Single sources are what Clang's tools read, which do not know all of these options.
  set(quickly OFF)
  if(PLANPROOF_QUICK_COMPILATION AND PLANPROOF_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(quickly ON)
  endif()
  if(quickly AND name IN_LIST PLANPROOF_QUICKLY_COMPILED)
    target_compile_options(planproof_${name} PRIVATE
                           $<$<CONFIG:Release>:-O1 -finline-functions -finline-small-functions>)
  elseif(quickly AND name IN_LIST PLANPROOF_MORE_QUICKLY_COMPILED)
    target_compile_options(planproof_${name} PRIVATE $<$<CONFIG:Release>:-Og>)
  endif()
  if(PLANPROOF_SANITIZE AND PLANPROOF_SANITIZED_LAYERS AND NOT name IN_LIST PLANPROOF_SANITIZED_LAYERS)
    target_compile_options(planproof_${name} PRIVATE -fno-sanitize=all)
  endif()
endfunction()

# planproof_leave_out(NAME REGEX): compiles no source of planproof_NAME whose path matches.
function(planproof_leave_out name regex)
  get_target_property(sources planproof_${name} SOURCES)
  list(FILTER sources EXCLUDE REGEX "${regex}")
  set_target_properties(planproof_${name} PROPERTIES SOURCES "${sources}")
endfunction()

# planproof_messages(NAME FILE.proto...): protobuf messages in planproof_NAME. FILE is below the calling directory;
# its header is included as FILE.pb.h from the root. Generated code is not held to our warnings.
function(planproof_messages name)
  set(directory ${PROJECT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${directory})
  foreach(proto ${ARGN})
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${proto})
    file(RELATIVE_PATH stem ${PROJECT_SOURCE_DIR} ${source})
    string(REGEX REPLACE "[.]proto$" "" stem ${directory}/${stem})
    add_custom_command(
      OUTPUT ${stem}.pb.cc ${stem}.pb.h
      COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${directory} ${source}
      DEPENDS ${source} VERBATIM)
    target_sources(planproof_${name} PRIVATE ${stem}.pb.cc ${stem}.pb.h)
    set_source_files_properties(${stem}.pb.cc ${stem}.pb.h PROPERTIES
                                COMPILE_OPTIONS "-w" SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  target_include_directories(planproof_${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${directory}>)
endfunction()

# planproof_prefer_archives(PREFIX): imported shared libraries whose target name starts with PREFIX are
# linked as archives where these lie beside them.
function(planproof_prefer_archives prefix)
  get_directory_property(targets IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    string(FIND "${target}" "${prefix}" at)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    if(NOT at EQUAL 0 OR NOT configurations)
      continue()
    endif()
    foreach(configuration IN LISTS configurations)
      get_target_property(location ${target} IMPORTED_LOCATION_${configuration})
      string(REGEX REPLACE "[.]so[.0-9]*$" ".a" archive "${location}")
      if(location AND EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
      endif()
    endforeach()
  endforeach()
endfunction()

include(GoogleTest)

# planproof_test(LAYER DEPS...): one GoogleTest program from every source below the calling directory.
function(planproof_test layer)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  planproof_test_program(${layer} "${sources}" ${ARGN})
endfunction()

# planproof_test_program(LAYER SOURCES DEPS...): the same from these sources. They are compiled several at once, as
# layers are (a third of the time), so that names without linkage are unique in a directory.
function(planproof_test_program layer sources)
  if(NOT sources)
    return()
  endif()
  add_executable(${layer}_tests ${sources})
  set_target_properties(${layer}_tests PROPERTIES UNITY_BUILD ${PLANPROOF_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  target_include_directories(${layer}_tests PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${layer}_tests PRIVATE ${ARGN} GTest::gtest_main GTest::gmock planproof_allocator)
  target_compile_definitions(${layer}_tests PRIVATE PLANPROOF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  planproof_precompile(${layer}_tests tests <gmock/gmock.h> <gtest/gtest.h> ${PLANPROOF_COMMON_HEADERS})
  # One ctest entry per test case, so that failures and skipped tests are counted one by one.
  gtest_discover_tests(${layer}_tests TEST_PREFIX "${layer}." DISCOVERY_MODE PRE_TEST
                       DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES PROPERTIES TIMEOUT 600)
endfunction()
