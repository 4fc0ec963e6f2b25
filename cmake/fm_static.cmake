# fm_link_light(TARGET LIBS our libraries, all of them)
#
# Links a program so that it holds only the parts of gRPC and its dependencies that it uses. Nine tenths of an
# idle gRPC client's memory is library text: measured with one idle TLS stream, a dynamically linked client has
# a proportional set of 14.7 MB, this one 10.2 MB (bench/footprint prints both kinds today). Everything is one
# archive group ahead of the shared libraries, which --as-needed then drops, as nothing is left for them.
#
# Not under sanitizers, whose own link line must stay as it is.
function(fm_link_light target)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  if(FM_SANITIZE OR NOT TARGET ${target})
    return()
  endif()
  file(GLOB absl_archives ${FM_LIB_DIR}/libabsl_*.a)
  list(FILTER absl_archives EXCLUDE REGEX "_test|_testing|benchmark|scoped_mock|mocking|matchers")
  set(archives "")
  foreach(name grpc++ grpc gpr upb address_sorting protobuf re2 cares ssl crypto z sqlite3 yaml-cpp)
    list(APPEND archives ${FM_LIB_DIR}/lib${name}.a)
  endforeach()
  set(ours "")
  foreach(lib IN LISTS ARG_LIBS)
    list(APPEND ours $<TARGET_FILE:${lib}>)
  endforeach()
  add_dependencies(${target} ${ARG_LIBS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_options(${target} PRIVATE -no-pie -Wl,--gc-sections)
  target_link_libraries(${target} PRIVATE
    -Wl,--start-group ${ours} ${archives} ${absl_archives} -Wl,--end-group)
endfunction()
