// The reader `regex`: regex.h behind the readers' interface.
#include <nlohmann/json.hpp>

#include "plugins/parse/reader_functions.h"
#include "plugins/parse/regex.h"
#include "plugins/parse/regex_spec.h"

namespace fleetmark::parse {

std::string CheckRegexOptions(const Options& options) {
  std::string error;
  const auto spec = RegexSpecFromJson(options, &error);
  if (spec && RegexReader::Create(*spec, &error)) return "";
  return error;
}

void ReadRegex(const Options& options, Report& report) {
  std::string error;
  const auto spec = RegexSpecFromJson(options, &error);
  const auto reader = spec ? RegexReader::Create(*spec, &error) : std::nullopt;
  if (!reader) return report.Invalid(0, error);
  const ReadResult result = reader->Read(report.text().all());
  for (size_t i = 0; i < result.problems.size(); ++i) {
    report.Invalid(result.problem_lines[i], result.problems[i]);
  }
  for (const Reading& reading : result.readings) {
    for (const double value : reading.values) {
      report.Add({reading.name, value, reading.unit, reading.better, reading.labels, std::nullopt}, 0);
    }
  }
}

}  // namespace fleetmark::parse
