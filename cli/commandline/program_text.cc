#include "cli/commandline/program_text.h"

namespace fleetmark::cli {

const std::vector<NamedText>& EnvironmentVariables() {
  static const auto* const kVariables = new std::vector<NamedText>{
      {"FLEETMARK_TOKEN", "your token, where --token-file names no file"},
      {"NO_COLOR", "not empty: no colours"},
  };
  return *kVariables;
}

const char* OutputText() {
  return "table is for people: aligned, with times relative to now. wide has more columns and absolute times "
         "(UTC). csv has all columns, exact numbers and one header line. json is one document with the field "
         "names of the collector's interface.\n"
         "Only results go to standard output; progress, hints and errors go to standard error. Text that "
         "came "
         "from a node is printed without its control characters.";
}

const std::vector<NamedText>& Files() {
  static const auto* const kFiles = new std::vector<NamedText>{};
  return *kFiles;
}

}  // namespace fleetmark::cli
