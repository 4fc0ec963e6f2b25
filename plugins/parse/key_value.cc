// The reader `keyvalue`: "key=value" or "key: value", one a line or several separated by white space
// (a=1 b=2). A value may be followed by its unit.
#include <algorithm>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/metric_options.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

struct Pair {
  std::string_view key;
  std::string_view value;
  size_t line = 0;
};

// "a=1 b=2 c="x y"": every word has the separator.
bool IsListOfPairs(std::string_view text) {
  const auto words = Words(text);
  return words.size() > 1 && std::all_of(words.begin(), words.end(), [](std::string_view word) {
           const size_t at = word.find('=');
           return at != std::string_view::npos && at > 0;
         });
}

std::string_view Unquoted(std::string_view text) {
  text = Trim(text);
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

void AddPair(std::string_view text, std::string_view separator, size_t line, std::vector<Pair>* pairs) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return;
  const std::string_view key = Unquoted(text.substr(0, at));
  if (!key.empty()) pairs->push_back({key, Unquoted(text.substr(at + separator.size())), line});
}

std::vector<Pair> Pairs(const Text& text, const std::string& separator) {
  std::vector<Pair> pairs;
  for (const Line& line : text.lines()) {
    const std::string_view trimmed = Trim(line.text);
    if (trimmed.empty() || trimmed[0] == '#' || trimmed[0] == ';') continue;
    if (separator.empty() && IsListOfPairs(trimmed)) {
      for (const std::string_view word : Words(trimmed)) AddPair(word, "=", line.number, &pairs);
      continue;
    }
    const size_t first = trimmed.find_first_of("=:");
    if (separator.empty() && first == std::string_view::npos) continue;
    AddPair(trimmed, separator.empty() ? trimmed.substr(first, 1) : std::string_view(separator), line.number,
            &pairs);
  }
  return pairs;
}

// Every key whose value is a number, with a known unit or none behind it.
void ReadEveryPair(const std::vector<Pair>& pairs, Report& report) {
  for (const Pair& pair : pairs) {
    const Quantity quantity = ReadQuantity(pair.value);
    if (quantity.number.kind == NumberKind::kNotFinite)
      report.AddText({pair.key, "1", "none"}, pair.value, {}, pair.line);
    if (quantity.number.kind != NumberKind::kNumber) continue;
    const auto unit = quantity.unit.empty() ? UnitSpelling{"1"} : FindUnit(quantity.unit);
    if (unit)
      report.Add({pair.key, unit->unit, BetterOfUnit(unit->unit), unit->scale}, quantity.number.value, {},
                 pair.line);
  }
}

void ReadWanted(const MetricOption& metric, const std::vector<Pair>& pairs, Report& report) {
  bool found = false;
  for (const Pair& pair : pairs) {
    if (pair.key != metric.source) continue;
    found = true;
    const Quantity quantity = ReadQuantity(pair.value);
    const auto unit = FindUnit(quantity.unit);
    // A unit behind the number must be the one asked for.
    const bool fits = quantity.unit.empty() || (unit && unit->unit == metric.unit && unit->scale == 1);
    if (quantity.number.kind == NumberKind::kNumber && fits) {
      report.Add({metric.name, metric.unit, metric.better, metric.scale}, quantity.number.value,
                 metric.labels, pair.line);
    } else if (quantity.number.kind == NumberKind::kNotFinite) {
      report.Warning(pair.line, Join({"'", metric.source, "' is not finite and left out"}));
    } else {
      report.Invalid(pair.line, Join({"'", metric.source, "' is not a number in ", metric.unit}));
    }
  }
  if (!found) report.Invalid(0, Join({"there is no key '", metric.source, "'"}));
}

}  // namespace

std::string CheckKeyValueOptions(const Options& options) { return CheckMetricOptions(options, "key", {}); }

void ReadKeyValue(const Options& options, Report& report) {
  const std::vector<Pair> pairs = Pairs(report.text(), StringIn(options, "separator"));
  const std::vector<MetricOption> metrics = MetricOptions(options, "key");
  if (metrics.empty()) return ReadEveryPair(pairs, report);
  for (const MetricOption& metric : metrics) ReadWanted(metric, pairs, report);
}

}  // namespace fleetmark::parse
