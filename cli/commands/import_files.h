// The files of an import: those named, and within folders those whose names are a tool's own.
//
// Thread-safety: functions without state; they read folders. Links within folders are not followed, so that
// "latest.json" is not read twice. Errors: NotFound what can't be read; InvalidArgument more than
// kMaxImportFiles, or a folder with no file of the tool.
#ifndef FLEETMARK_CLI_COMMANDS_IMPORT_FILES_H_
#define FLEETMARK_CLI_COMMANDS_IMPORT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::cli {

inline constexpr size_t kMaxImportFiles = 100'000;

// In order of their names within a folder. "-" stays as it is.
absl::StatusOr<std::vector<std::string>> ImportFiles(const std::string& format,
                                                     const std::vector<std::string>& named);

// What the folders of a path say of its records, for tools that don't write it: SuperBench's time
// (outputs/2026-03-04_10-11-12/…), ReFrame's system (perflogs/SYSTEM/PARTITION/…). Empty: nothing.
std::string TimeInPath(const std::string& path);
std::string SystemInPath(const std::string& path);

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_COMMANDS_IMPORT_FILES_H_
