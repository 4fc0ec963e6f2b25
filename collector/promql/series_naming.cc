#include "collector/promql/series_naming.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::collector::promql {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

// Words for whole units; those of data and of FLOP are put together below.
constexpr std::array<Words, 30> kUnitWords = {
    {{"1", "ratio"},          {"%", "percent"},     {"ns", "nanoseconds"},  {"us", "microseconds"},
     {"ms", "milliseconds"},  {"s", "seconds"},     {"min", "minutes"},     {"h", "hours"},
     {"B", "bytes"},          {"bit", "bits"},      {"FLOP", "flop"},       {"Hz", "hertz"},
     {"kHz", "kilohertz"},    {"MHz", "megahertz"}, {"GHz", "gigahertz"},   {"1/s", "per_second"},
     {"1/min", "per_minute"}, {"IOPS", "iops"},     {"samples", "samples"}, {"tokens", "tokens"},
     {"W", "watts"},          {"kW", "kilowatts"},  {"J", "joules"},        {"Cel", "celsius"},
     {"V", "volts"},          {"count", "count"},   {"cycles", "cycles"},   {"/s", "per_second"},
     {"/W", "per_watt"},      {"", "ratio"}}};
constexpr std::array<Words, 9> kPrefixes = {{{"Ki", "kibi"},
                                             {"Mi", "mebi"},
                                             {"Gi", "gibi"},
                                             {"Ti", "tebi"},
                                             {"k", "kilo"},
                                             {"M", "mega"},
                                             {"G", "giga"},
                                             {"T", "tera"},
                                             {"P", "peta"}}};

std::string_view WordsFor(std::string_view unit) {
  for (const auto& [known, words] : kUnitWords) {
    if (known == unit) return words;
  }
  return {};
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// Other characters than letters and digits become '_'.
std::string Sanitised(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return out;
}

// "GB" -> "gigabytes"; empty when it is no prefix with a unit.
std::string PrefixedWords(std::string_view unit) {
  for (const auto& [prefix, words] : kPrefixes) {
    if (!unit.starts_with(prefix)) continue;
    const std::string_view base = WordsFor(unit.substr(prefix.size()));
    if (!base.empty() && unit.size() > prefix.size()) return absl::StrCat(View(words), View(base));
  }
  return {};
}

bool IsReserved(std::string_view name) {
  return name == "node" || name == "benchmark" || name == "plugin" || name == "plugin_version" ||
         name == "params" || name.starts_with("node_") || name.starts_with("__");
}

}  // namespace

std::string UnitWords(std::string_view unit) {
  if (const std::string_view words = WordsFor(unit); !words.empty()) return std::string(words);
  if (const std::string words = PrefixedWords(unit); !words.empty()) return words;
  if (const size_t slash = unit.rfind('/'); slash != std::string_view::npos && slash > 0) {
    const std::string_view per = WordsFor(unit.substr(slash));
    if (!per.empty()) return absl::StrCat(UnitWords(unit.substr(0, slash)), "_", View(per));
  }
  return Sanitised(unit);
}

std::string MetricNameOf(const v1::SeriesKey& key) {
  return absl::StrCat("fleetmark_", Sanitised(key.benchmark()), "_", Sanitised(key.metric()), "_",
                      UnitWords(key.unit()));
}

LabelSet LabelsOf(const v1::SeriesKey& key, const std::map<std::string, std::string>& node_labels) {
  std::vector<Label> labels = {{std::string(kMetricName), MetricNameOf(key)},
                               {"node", key.node()},
                               {"benchmark", key.benchmark()},
                               {"plugin", key.plugin()},
                               {"plugin_version", key.plugin_version()},
                               {"params", key.params_digest()}};
  for (const auto& [name, value] : key.labels()) {
    labels.push_back({IsReserved(name) ? absl::StrCat("metric_", name) : name, value});
  }
  for (const auto& [name, value] : node_labels) {
    labels.push_back({absl::StrCat("node_", Sanitised(name)), value});
  }
  return LabelSet(std::move(labels));
}

MetricMetadata MetadataOf(const v1::SeriesKey& key) {
  return {MetricNameOf(key), key.unit(),
          absl::StrCat("Metric ", key.metric(), " of benchmark ", key.benchmark(), " in ", key.unit(), ".")};
}

}  // namespace fleetmark::collector::promql
