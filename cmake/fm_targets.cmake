# How every target of this project is made: warnings, sanitizers, and the layering rules, in one place.
#
#   fm_library(NAME SRCS f.cc... DEPS fm targets... LIBS foreign targets...)
#       a static library for the folder it is declared in. DEPS are the only folders of ours that its
#       files may include; tests/lint/layering_test.py reads them from build/<preset>/layers.json.
#   fm_binary(NAME ...)   a program in build/<preset>/bin
#   fm_test(NAME ...)     a GoogleTest program, run by ctest
#   fm_proto_library(NAME f.proto DEPS fm targets...)
#       the messages of a schema beside its only users; it may import the wire contract's
#   fm_fuzz(NAME ...)     a fuzz target: libFuzzer in the fuzz preset; elsewhere a test that runs the kept
#                         corpus (tests/fuzz/corpus/NAME) and a fixed number of mutations of it
#   fm_npm_modules(DIR STAMP)
#       npm fetches what the folder's lock file names into DIR; STAMP is the variable for the file to depend on
#
# GRPC or ROCKSDB in LIBS marks a target as outside the FM_CORE_ONLY build, as does a DEPS on such a target.

add_library(fm_flags INTERFACE)
target_include_directories(fm_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(fm_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror
                                          -Wno-missing-field-initializers)
target_compile_definitions(fm_flags INTERFACE FM_VERSION="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 reports std::string + char* falsely (GCC bug 105651).
  target_compile_options(fm_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Debian's absl and gRPC headers are not clean of these under clang.
  target_compile_options(fm_flags INTERFACE -Wthread-safety -Wno-sign-conversion)
endif()
if(FM_SANITIZE)
  add_compile_options(-fsanitize=${FM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FM_SANITIZE})
  if(FM_SANITIZE MATCHES thread)
    # protobuf's headers lay out maps differently when they see this macro, and Debian's library was built
    # without it.
    add_compile_options(-U__SANITIZE_THREAD__)
  endif()
endif()
add_link_options(-Wl,--as-needed)

set_property(GLOBAL PROPERTY FM_LAYERS "")

function(_fm_excluded out)
  set(excluded FALSE)
  if(FM_CORE_ONLY)
    foreach(lib IN LISTS ARGN)
      if(lib MATCHES "^gRPC::|^RocksDB::" OR lib IN_LIST FM_EXCLUDED_TARGETS)
        set(excluded TRUE)
      endif()
      if(lib MATCHES "^fm_" AND NOT TARGET ${lib})
        set(excluded TRUE)
      endif()
    endforeach()
  endif()
  set(${out} ${excluded} PARENT_SCOPE)
endfunction()

function(_fm_record_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(JOIN ARG_DEPS "\", \"" deps)
  if(deps)
    set(deps "\"${deps}\"")
  endif()
  set(sources "")
  if(ARG_UNPARSED_ARGUMENTS)
    list(JOIN ARG_UNPARSED_ARGUMENTS "\", \"" sources)
    set(sources "\"${sources}\"")
  endif()
  set_property(GLOBAL APPEND PROPERTY FM_LAYERS
    "{\"target\": \"${name}\", \"folder\": \"${folder}\", \"deps\": [${deps}], \"sources\": [${sources}]}")
endfunction()

function(fm_write_layers)
  get_property(layers GLOBAL PROPERTY FM_LAYERS)
  list(JOIN layers ",\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/layers.json "[\n${text}\n]\n")
endfunction()

function(fm_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LIBS" ${ARGN})
  _fm_excluded(excluded ${ARG_DEPS} ${ARG_LIBS})
  if(excluded)
    return()
  endif()
  _fm_record_layer(${name} ${ARG_SRCS} DEPS ${ARG_DEPS})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE fm_flags)
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

function(fm_proto_library name proto)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(out ${CMAKE_BINARY_DIR}/schemas)
  string(REPLACE .proto .pb base ${folder}/${proto})
  file(GLOB wire_contract ${CMAKE_SOURCE_DIR}/proto/fleetmark/v1/*.proto)
  add_custom_command(
    OUTPUT ${out}/${base}.cc ${out}/${base}.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${out} ${folder}/${proto}
    DEPENDS ${proto} ${wire_contract}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  add_library(${name} STATIC ${out}/${base}.cc)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf ${ARG_DEPS})
  target_include_directories(${name} SYSTEM PUBLIC ${out})
endfunction()

function(fm_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LIBS" ${ARGN})
  _fm_excluded(excluded ${ARG_DEPS} ${ARG_LIBS})
  if(excluded)
    return()
  endif()
  _fm_record_layer(${name} ${ARG_SRCS} DEPS ${ARG_DEPS})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} fm_flags)
endfunction()

function(fm_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SRCS;DEPS;LIBS" ${ARGN})
  _fm_excluded(excluded ${ARG_DEPS} ${ARG_LIBS})
  if(excluded)
    return()
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gmock GTest::gtest_main fm_flags)
  # Tests are compiled once and run once: the time goes into compiling. What they test is optimised.
  target_compile_options(${name} PRIVATE -O0)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "FM_SOURCE_DIR=${CMAKE_SOURCE_DIR};FM_BIN_DIR=${CMAKE_BINARY_DIR}/bin")
endfunction()

function(fm_fuzz name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LIBS" ${ARGN})
  _fm_excluded(excluded ${ARG_DEPS} ${ARG_LIBS})
  if(excluded)
    return()
  endif()
  set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} fm_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(FM_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME ${name} COMMAND ${name} -runs=20000 -max_len=4096 ${corpus})
  else()
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus_driver.cc)
    add_test(NAME ${name} COMMAND ${name} ${corpus})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT 120)
endfunction()

function(fm_npm_modules dir stamp)
  set(file ${dir}/node_modules/.package-lock.json)
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/package.json ${CMAKE_CURRENT_SOURCE_DIR}/package-lock.json ${dir}
    COMMAND ${FM_NPM} ci --prefix ${dir} --no-audit --no-fund --loglevel=error --fetch-retries=5
    # Older versions of npm leave the time of what they unpack.
    COMMAND ${CMAKE_COMMAND} -E touch ${file}
    DEPENDS package.json package-lock.json
    COMMENT "Fetching what the lock file names to ${dir}"
    VERBATIM)
  set(${stamp} ${file} PARENT_SCOPE)
endfunction()
