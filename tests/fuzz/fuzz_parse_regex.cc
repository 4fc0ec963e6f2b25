// Input: a RegexSpec as JSON on the first line, then the text to read. Whatever both hold, the reader ends,
// and what it reads is finite.
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/parse/regex.h"
#include "plugins/parse/regex_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view first_line = input.substr(0, input.find('\n'));
  const nlohmann::json json = nlohmann::json::parse(first_line, nullptr, false);
  std::string error;
  const auto spec = fleetmark::parse::RegexSpecFromJson(json, &error);
  if (!spec) return error.empty() ? abort(), 0 : 0;
  const auto reader = fleetmark::parse::RegexReader::Create(*spec, &error);
  if (!reader) return error.empty() ? abort(), 0 : 0;
  const auto result = reader->Read(input.substr(first_line.size()));
  if (result.problems.empty() && result.readings.empty()) abort();
  for (const auto& reading : result.readings) {
    if (reading.values.empty()) abort();
    for (const double value : reading.values) {
      if (!std::isfinite(value)) abort();
    }
  }
  return 0;
}
