// Any bytes as a series' file: read or refused, and what is read can be searched for changes whose places lie
// in it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/commands/series_file.h"
#include "common/detect/series_analysis.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto series = fleetmark::cli::ParseSeriesFile({reinterpret_cast<const char*>(data), size});
  if (!series.ok()) return 0;
  if (series->values.empty() || series->values.size() != series->indices.size()) abort();
  for (const auto& finding : fleetmark::detect::AnalyseSeries(series->values, {})) {
    if (finding.index >= series->values.size() || finding.onset_low > finding.onset_high) abort();
    if (finding.onset_high >= series->values.size() || !(finding.p_value >= 0 && finding.p_value <= 1))
      abort();
  }
  return 0;
}
