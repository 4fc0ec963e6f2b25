// Input: a reader's name, a newline, the text to read; with another first line the reader is chosen by the
// first byte. Whatever the text holds, the reader ends, what it reads is finite and bounded, an outcome that
// is not ok says why, and the answer is JSON.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/parse/reader.h"

namespace {

using fleetmark::parse::ParsedOutput;

constexpr std::string_view kRegexOptions =
    R"j({"metrics":[{"name":"a","unit":"s","better":"lower","pattern":"(?m)^(?P<what>\\w+): +(?P<value>\\S+)"}]})j";

void Check(const ParsedOutput& output) {
  namespace parse = fleetmark::parse;
  const bool ok = output.outcome == parse::Outcome::kOk;
  const bool error = std::any_of(output.problems.begin(), output.problems.end(),
                                 [](const parse::Problem& problem) { return !problem.warning; });
  if (ok == error || (ok && output.metrics.empty())) abort();
  if (output.metrics.size() > parse::kMaxMetrics || output.problems.size() > parse::kMaxProblems) abort();
  for (const parse::Metric& metric : output.metrics) {
    if (!std::isfinite(metric.value) || metric.name.empty() || metric.unit.empty()) abort();
    if (metric.better != "higher" && metric.better != "lower" && metric.better != "none") abort();
  }
  if (!nlohmann::json::accept(parse::ToJson(output))) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const std::string_view first_line = input.substr(0, input.find('\n'));
  const fleetmark::parse::Reader* reader = fleetmark::parse::FindReader(first_line);
  std::string_view text = input.substr(std::min(input.size(), first_line.size() + 1));
  if (reader == nullptr) {
    const auto& readers = fleetmark::parse::Readers();
    reader = &readers[data[0] % readers.size()];
    text = input.substr(1);
  }
  ParsedOutput output;
  std::string error;
  const std::string_view options = reader->name == "regex" ? kRegexOptions : std::string_view();
  if (!fleetmark::parse::ReadOutput(reader->name, text, options, &output, &error)) abort();
  Check(output);
  return 0;
}
