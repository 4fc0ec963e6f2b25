// OpenMetrics files, as an operator imports them from other tools.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/exposition/openmetrics.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  fleetmark::OpenMetricsReader reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    const auto sample = reader.Line(line);
    if (sample.ok() && sample->has_value() && (*sample)->name.empty()) __builtin_trap();
  }
  return 0;
}
