# Every library comes from Debian 12 (deploy/install-deps.sh).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)  # module mode: Debian ships no ProtobufConfig.cmake
find_package(absl CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
# The prefix keeps these apart from the variables of gRPC's own find modules.
pkg_check_modules(pc_re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(pc_sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(pc_httplib REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(pc_curl REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(pc_openssl REQUIRED IMPORTED_TARGET openssl)
pkg_check_modules(pc_openblas REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(pc_numa REQUIRED IMPORTED_TARGET numa)
if(NOT FM_CORE_ONLY)
  find_package(gRPC CONFIG REQUIRED)
  find_package(RocksDB CONFIG REQUIRED)
endif()

# Where Debian keeps the static archives (fm_static.cmake).
get_filename_component(FM_LIB_DIR "${Protobuf_LIBRARY}" DIRECTORY)
